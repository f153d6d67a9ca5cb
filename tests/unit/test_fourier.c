/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms: the processor's loops against the sum itself; the library step, and what is
 * none. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "call/fourier.h"
#include "worker/dft.h"

#define LONGEST 160

static void by_sum(double *y, const double *x, int n, bool inverse)
{
	for (int k = 0; k < n; k++) {
		y[2 * k] = y[2 * k + 1] = 0;
		for (int j = 0; j < n; j++) {
			double t = (inverse ? 2 : -2) * M_PI * ((double)(j * k % n) / n);

			y[2 * k] += x[2 * j] * cos(t) - x[2 * j + 1] * sin(t);
			y[2 * k + 1] += x[2 * j] * sin(t) + x[2 * j + 1] * cos(t);
		}
	}
}

Test(fourier, loops_of_every_length)
{
	for (int n = 1; n <= LONGEST; n++)
		for (int inverse = 0; inverse < 2; inverse++) {
			double x[2 * LONGEST], want[2 * LONGEST], work[8 * LONGEST];
			struct dft *d = dft_create(n);

			cr_assert(d && dft_work(d) <= 8 * LONGEST);
			for (int k = 0; k < 2 * n; k++)
				x[k] = sin(7.0 * k + 1);
			by_sum(want, x, n, inverse);
			dft_run(d, x, work, inverse);
			for (int k = 0; k < 2 * n; k++)
				cr_expect_lt(fabs(x[k] - want[k]), 1e-14 * (n + 8), "%d of %d", k,
					     n);
			dft_destroy(d);
		}
}

Test(fourier, half_tells_the_rest)
{
	for (int n = 1; n < 12; n++) {
		double x[24], y[24];

		for (int k = 0; k < 24; k++)
			x[k] = k + 1;
		dft_complete(x, n);
		by_sum(y, x, n, true);
		for (int k = 0; k < n; k++)
			cr_expect_lt(fabs(y[2 * k + 1]), 1e-12, "%d of %d is not real", k, n);
	}
}

/* 3 x 5 x 7 numbers, along the axis in the middle; 7 transforms in a row are together. */
static struct plan_call plain(void)
{
	return (struct plan_call){
		.call = CALL_FOURIER,
		.dtype = DT_COMPLEX128,
		.op = OP_FFT,
		.nloop = 4,
		.extent = {3, 7, 5, 5},
		.operand = {{.slot = 1, .dtype = DT_COMPLEX128, .stride = {560, 16, 112, 0}},
			    {.slot = 2, .dtype = DT_COMPLEX128, .stride = {560, 16, 0, 112}}}};
}

Test(fourier, a_step_and_its_units)
{
	struct plan_call c = plain();
	int64_t distance[2], at[2];
	struct call_units u;
	struct fourier f;

	cr_assert_eq(call_check(&c, NULL), OK);
	fourier_of(&f, &c);
	cr_assert(f.n == 5 && f.wide && f.nloop == 2 && f.together == 1);
	cr_assert(f.step[0] == 112 && f.step[1] == 112);
	cr_assert_eq(fourier_batch(&f, distance), 7);
	cr_assert(distance[0] == 16 && distance[1] == 16);
	fourier_unit(at, &f, 2, true);
	cr_assert(at[0] == 1120 && at[1] == 1120);
	fourier_unit(at, &f, 9, false);
	cr_assert(at[0] == 560 + 32 && at[1] == 560 + 32);
	fourier_units(&u, &c, true);
	cr_assert_eq(u.total, 3);
	fourier_units(&u, &c, false);
	cr_assert_eq(u.total, 21);
	cr_assert_eq(u.work * 21, fourier_work(&c));
}

Test(fourier, mistakes_of_a_step)
{
	struct err err;

	for (int mistake = 0; mistake < 12; mistake++) {
		struct plan_call c = plain();

		if (mistake == 0)
			c.op = OP_IRFFT; /* is another call */
		else if (mistake == 1)
			c.dtype = DT_COMPLEX64;
		else if (mistake == 2)
			c.operand[1].dtype = DT_FLOAT64;
		else if (mistake == 3)
			c.extent[3] = 4;
		else if (mistake == 4)
			c.extent[2] = c.extent[3] = 0;
		else if (mistake == 5)
			c.nloop = 1;
		else if (mistake == 6)
			c.operand[0].stride[3] = 16; /* an axis of the result's */
		else if (mistake == 7)
			c.operand[0].stride[2] = -112;
		else if (mistake == 8)
			c.operand[0].stride[1] = 0;
		else if (mistake == 9)
			c.operand[0].stride[1] = 24;
		else if (mistake == 10)
			c.operand[0].offset = 8;
		else
			c.operand[1].stride[1] = 32; /* into the next number along the axis */
		cr_expect_eq(call_check(&c, &err), E_INTERNAL, "mistake %d", mistake);
	}
}

/* To real numbers: what it reads, once more. */
static struct plan_call to_real(void)
{
	struct plan_call c = {.call = CALL_FOURIER_REAL,
			      .dtype = DT_COMPLEX64,
			      .op = OP_IRFFT,
			      .nloop = 3,
			      .extent = {4, 4, 6},
			      .operand = {{.slot = 1, .dtype = DT_COMPLEX64, .stride = {32, 8, 0}},
					  {.slot = 2, .dtype = DT_FLOAT32, .stride = {24, 0, 4}}}};

	c.operand[2] = c.operand[0];
	return c;
}

Test(fourier, mistakes_of_a_step_to_real_numbers)
{
	struct plan_call c = to_real();
	struct err err;

	cr_assert_eq(call_check(&c, NULL), OK);
	for (int mistake = 0; mistake < 5; mistake++) {
		c = to_real();
		if (mistake == 0)
			c.operand[2].slot = 3;
		else if (mistake == 1)
			c.operand[2].stride[0] = 40;
		else if (mistake == 2)
			c.operand[2].offset = 8;
		else if (mistake == 3)
			c.extent[2] = 8;
		else
			c.operand[1].offset = 4; /* real numbers are written in pairs */
		cr_expect_eq(call_check(&c, &err), E_INTERNAL, "mistake %d", mistake);
	}
	c = to_real();
	c.extent[2] = 7; /* another length of as many */
	c.operand[1].stride[0] = 28;
	cr_assert_eq(call_check(&c, NULL), OK);
}

Test(fourier, extents_of_a_transform)
{
	cr_assert_eq(op_transformed(OP_FFT, 6, 6), 6);
	cr_assert_eq(op_transformed(OP_IFFT, 6, 5), 0);
	cr_assert_eq(op_transformed(OP_RFFT, 6, 6), 4);
	cr_assert_eq(op_transformed(OP_RFFT, 5, 5), 3);
	cr_assert_eq(op_transformed(OP_IRFFT, 4, 6), 6);
	cr_assert_eq(op_transformed(OP_IRFFT, 4, 7), 7);
	cr_assert_eq(op_transformed(OP_IRFFT, 4, 8), 0);
	cr_assert_eq(op_transformed(OP_FFT, 0, 0), 0);
	cr_assert_eq(op_transformed(OP_IRFFT, 1, -1), 0);
	cr_assert_eq(op_transformed(OP_IRFFT, INT64_MAX / 2 + 1, INT64_MAX), INT64_MAX);
}
