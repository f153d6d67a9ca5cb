/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cx.c - complex operations against C's own, and NumPy's rules
 * where C has none, at every instruction set this machine can run. */
#include <criterion/criterion.h>

#include <complex.h>
#include <math.h>
#include <string.h>

#include "loops/isa.h"
#include "loops/tier0_ops.h"

#define N 64

static const struct tier0_isa *const isas[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3, &tier0_isa_v4};
static double ra[2 * N], rb[2 * N], rd[2 * N];
static unsigned char rc[N];

static void plain_values(void)
{
	for (int i = 0; i < N; i++) {
		ra[2 * i] = (i % 8 - 3.5) * 0.75;
		ra[2 * i + 1] = (i / 8 - 3.5) * 0.5;
		rb[2 * i] = (i % 5 - 2.25) * 0.5;
		rb[2 * i + 1] = (i % 7 - 3.25) * 0.6;
	}
}

/* CMPLX, which clang's headers lack before C23. */
static double complex make(double re, double im)
{
	double part[2] = {re, im};
	double complex z;

	memcpy(&z, part, sizeof z);
	return z;
}

static double complex at(const double *p, int i)
{
	return make(p[2 * i], p[2 * i + 1]);
}

static double complex c_add(double complex a, double complex b)
{
	return a + b;
}
static double complex c_sub(double complex a, double complex b)
{
	return a - b;
}
static double complex c_mul(double complex a, double complex b)
{
	return a * b;
}
static double complex c_div(double complex a, double complex b)
{
	return a / b;
}
static double complex c_pow(double complex a, double complex b)
{
	return cpow(a, b);
}
static double complex c_neg(double complex a, double complex b)
{
	return -a;
}
static double complex c_square(double complex a, double complex b)
{
	return a * a;
}
static double complex c_recip(double complex a, double complex b)
{
	return 1 / a;
}
static double complex c_sign(double complex a, double complex b)
{
	return a / cabs(a);
}
static double complex c_log2(double complex a, double complex b)
{
	return clog(a) / log(2);
}
static double complex c_log10(double complex a, double complex b)
{
	return clog(a) / log(10);
}
static double complex c_log1p(double complex a, double complex b)
{
	return clog(1 + a);
}
static double complex c_expm1(double complex a, double complex b)
{
	return cexp(a) - 1;
}
static double complex c_exp2(double complex a, double complex b)
{
	return cexp(a * log(2));
}
static double complex c_rint(double complex a, double complex b)
{
	return make(rint(creal(a)), rint(cimag(a)));
}
#define WRAP(name)                                                                                 \
	static double complex w_##name(double complex a, double complex b)                         \
	{                                                                                          \
		return name(a);                                                                    \
	}
WRAP(csqrt)
WRAP(cexp)
WRAP(clog)
WRAP(csin)
WRAP(ccos)
WRAP(ctan)
WRAP(casin)
WRAP(cacos)
WRAP(catan)
WRAP(csinh)
WRAP(ccosh)
WRAP(ctanh)
WRAP(casinh)
WRAP(cacosh)
WRAP(catanh)
WRAP(conj)

static const struct {
	unsigned op;
	double complex (*f)(double complex a, double complex b);
} ops[] = {
	{OP_ADD, c_add},	{OP_SUBTRACT, c_sub},	  {OP_MULTIPLY, c_mul},
	{OP_DIVIDE, c_div},	{OP_POWER, c_pow},	  {OP_NEGATIVE, c_neg},
	{OP_SQUARE, c_square},	{OP_RECIPROCAL, c_recip}, {OP_SIGN, c_sign},
	{OP_LOG2, c_log2},	{OP_LOG10, c_log10},	  {OP_LOG1P, c_log1p},
	{OP_EXPM1, c_expm1},	{OP_EXP2, c_exp2},	  {OP_RINT, c_rint},
	{OP_CONJ, w_conj},	{OP_SQRT, w_csqrt},	  {OP_EXP, w_cexp},
	{OP_LOG, w_clog},	{OP_SIN, w_csin},	  {OP_COS, w_ccos},
	{OP_TAN, w_ctan},	{OP_ARCSIN, w_casin},	  {OP_ARCCOS, w_cacos},
	{OP_ARCTAN, w_catan},	{OP_SINH, w_csinh},	  {OP_COSH, w_ccosh},
	{OP_TANH, w_ctanh},	{OP_ARCSINH, w_casinh},	  {OP_ARCCOSH, w_cacosh},
	{OP_ARCTANH, w_catanh},
};

static void check_near(double complex got, double complex want, double eps, unsigned op, int i)
{
	cr_assert(cabs(got - want) <= eps * (1 + cabs(want)), "%s [%d] is %g%+gi, not %g%+gi",
		  op_row(op)->id, i, creal(got), cimag(got), creal(want), cimag(want));
}

Test(cx, functions_match_libm)
{
	static float fa[2 * N], fb[2 * N], fd[2 * N];

	plain_values();
	for (int i = 0; i < 2 * N; i++) {
		fa[i] = (float)ra[i];
		fb[i] = (float)rb[i];
	}
	for (int level = 0; level <= (int)isa_best(); level++)
		for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
			unsigned op = ops[k].op;

			isas[level]->op[op][DT_COMPLEX128]((char *)rd, (char *)ra, (char *)rb,
							   (char *)rb, N);
			isas[level]->op[op][DT_COMPLEX64]((char *)fd, (char *)fa, (char *)fb,
							  (char *)fb, N);
			for (int i = 0; i < N; i++) {
				check_near(at(rd, i), ops[k].f(at(ra, i), at(rb, i)), 1e-14, op, i);
				check_near(make(fd[2 * i], fd[2 * i + 1]),
					   ops[k].f(make(fa[2 * i], fa[2 * i + 1]),
						    make(fb[2 * i], fb[2 * i + 1])),
					   1e-5, op, i);
			}
		}
}

Test(cx, parts_and_size_are_real)
{
	plain_values();
	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_REAL][DT_COMPLEX128]((char *)rd, (char *)ra, NULL, NULL, N);
		for (int i = 0; i < N; i++)
			cr_assert_eq(rd[i], ra[2 * i]);
		isas[level]->op[OP_IMAG][DT_COMPLEX128]((char *)rd, (char *)ra, NULL, NULL, N);
		for (int i = 0; i < N; i++)
			cr_assert_eq(rd[i], ra[2 * i + 1]);
		isas[level]->op[OP_ABSOLUTE][DT_COMPLEX128]((char *)rd, (char *)ra, NULL, NULL, N);
		for (int i = 0; i < N; i++)
			cr_assert_float_eq(rd[i], cabs(at(ra, i)), 1e-15 * 4);
	}
}

static bool less(double complex a, double complex b, bool or_equal)
{
	double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);

	return (ar < br && !isnan(ai) && !isnan(bi)) ||
	       (ar == br && (or_equal ? ai <= bi : ai < bi));
}

Test(cx, order_is_lexicographic_and_minimum_keeps_nan)
{
	static const double v[8] = {0, 1, -1, NAN, INFINITY, -0.0, 2, -INFINITY};

	for (int i = 0; i < N; i++) {
		ra[2 * i] = v[i % 8];
		ra[2 * i + 1] = v[i / 8];
		rb[2 * i] = v[(i * 3 + 1) % 8];
		rb[2 * i + 1] = v[(i * 5 + i / 8) % 8];
	}
	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned op = OP_EQUAL; op <= OP_GREATER_EQUAL; op++) {
			isas[level]->op[op][DT_COMPLEX128]((char *)rc, (char *)ra, (char *)rb, NULL,
							   N);
			isas[level]->op[OP_MINIMUM][DT_COMPLEX128]((char *)rd, (char *)ra,
								   (char *)rb, NULL, N);
			for (int i = 0; i < N; i++) {
				double complex a = at(ra, i), b = at(rb, i), m;
				bool eq = creal(a) == creal(b) && cimag(a) == cimag(b);
				bool want[] = {eq,
					       !eq,
					       less(a, b, false),
					       less(a, b, true),
					       less(b, a, false),
					       less(b, a, true)};

				cr_assert_eq(rc[i], want[op - OP_EQUAL], "%s [%d]", op_row(op)->id,
					     i);
				m = isnan(creal(a)) || isnan(cimag(a)) || less(a, b, true) ? a : b;
				cr_assert(!memcmp(&m, rd + 2 * i, 16) || isnan(creal(m)) ||
					  isnan(cimag(m)));
			}
		}
}

Test(cx, division_and_sign_of_special_values)
{
	static const double complex one = 1;
	double z[16] = {0, 0, INFINITY, 1, 3, 4, -INFINITY, 2, 1e300, 1e300, 0, INFINITY};

	for (int i = 0; i < 8; i++)
		memcpy(ra + 2 * i, &one, 16);
	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_DIVIDE][DT_COMPLEX128]((char *)rd, (char *)ra, (char *)z, NULL,
							  8);
		cr_assert(isinf(rd[0]) && isnan(rd[1]), "1 / 0 divides by parts");
		cr_assert(fabs(rd[4] - 0.12) < 1e-15 && fabs(rd[5] + 0.16) < 1e-15);
		cr_assert(fabs(rd[8] / 5e-301 - 1) < 1e-15, "no overflow on the way");
		isas[level]->op[OP_SIGN][DT_COMPLEX128]((char *)rd, (char *)z, NULL, NULL, 8);
		cr_assert(rd[0] == 0 && rd[1] == 0);
		cr_assert(rd[2] == 1 && rd[3] == 0);
		cr_assert(rd[6] == -1 && rd[7] == 0);
		cr_assert(rd[10] == 0 && rd[11] == 1);
	}
}

Test(cx, small_whole_powers_are_products)
{
	double complex base = make(1.5, -2), zero = 0, want[8];
	double e[8] = {0, 1, 2, 3, -1, -2, 5, 0.5};

	for (int i = 0; i < 8; i++) {
		memcpy(ra + 2 * i, &base, 16);
		rb[2 * i] = e[i];
		rb[2 * i + 1] = 0;
		want[i] = cpow(base, e[i]);
	}
	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_POWER][DT_COMPLEX128]((char *)rd, (char *)ra, (char *)rb, NULL,
							 8);
		for (int i = 0; i < 8; i++)
			check_near(at(rd, i), want[i], 1e-14, OP_POWER, i);
		cr_assert(rd[4] == 1.5 * 1.5 - 4 && rd[5] == -6, "a square is exact");
	}
	memcpy(ra, &zero, 16);
	memcpy(ra + 2, &zero, 16);
	memcpy(ra + 8, &zero, 16);
	isas[0]->op[OP_POWER][DT_COMPLEX128]((char *)rd, (char *)ra, (char *)rb, NULL, 8);
	cr_assert(rd[0] == 1 && rd[2] == 0 && isnan(rd[8]));
}

/* The imaginary part of the exponent does not matter, infinite or NaN as it may be. */
Test(cx, zero_to_a_power_with_a_positive_real_part_is_zero)
{
	double re[8] = {1, 0.5, INFINITY, 3, 0, -1, NAN, 0};
	double im[8] = {1, -2, INFINITY, NAN, 1, 0, 1, 0};

	memset(ra, 0, sizeof ra);
	ra[2] = -0.0;
	for (int i = 0; i < 8; i++) {
		rb[2 * i] = re[i];
		rb[2 * i + 1] = im[i];
	}
	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_POWER][DT_COMPLEX128]((char *)rd, (char *)ra, (char *)rb, NULL,
							 8);
		for (int i = 0; i < 4; i++)
			cr_assert(rd[2 * i] == 0 && rd[2 * i + 1] == 0, "at %d", i);
		for (int i = 4; i < 7; i++)
			cr_assert(isnan(rd[2 * i]) && isnan(rd[2 * i + 1]), "at %d", i);
		cr_assert(rd[14] == 1 && rd[15] == 0);
	}
}
