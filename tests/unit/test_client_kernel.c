/* SPDX-License-Identifier: Apache-2.0 */
/* braze_kernel_*: arguments that fit and those that do not, results, and a run that is stopped.
 * Memory of the caller's only: no daemon is needed. */
#include <criterion/criterion.h>
#include <string.h>

#include "braze.h"

static braze_kernel *kernel(const char *text)
{
	braze_kernel *k = NULL;
	braze_error err = {0};

	cr_assert(!braze_kernel_create(&k, text, strlen(text), &err), "%s", err.text);
	return k;
}

static braze_kernel_arg memory(void *data, int dtype, const int64_t *shape, const int64_t *strides)
{
	return (braze_kernel_arg){
		.data = data, .dtype = dtype, .ndim = 1, .shape = shape, .strides = strides};
}

static braze_kernel_arg scalar(braze_scalar v)
{
	return (braze_kernel_arg){.scalar = v};
}

Test(client_kernel, arrays_scalars_and_results)
{
	braze_kernel *k = kernel("kernel f(inout x: float32[:], a: complex64, n: int8) -> "
				 "(s: int16, z: complex64, w: complex128) "
				 "{ x[1] += 1; s = n - 100; z = a * 2; w = a + 1j }");
	float x[4] = {1, 2, 3, 4};
	int64_t shape = 2, stride = 8;
	braze_kernel_arg args[] = {memory(x, BRAZE_FLOAT32, &shape, &stride),
				   scalar(braze_complex(1.5, -2)), scalar(braze_int(-3))};
	braze_scalar r[3];
	braze_error err = {0};
	float z[2];
	double w[2];

	cr_assert(!braze_kernel_call(r, k, 3, args, NULL, NULL, &err), "%s", err.text);
	cr_assert(x[0] == 1 && x[1] == 2 && x[2] == 4 && x[3] == 4);
	cr_assert(r[0].dtype == BRAZE_INT16 && (int64_t)r[0].bits[0] == -103);
	memcpy(&z[0], &r[1].bits[0], 4);
	memcpy(&z[1], &r[1].bits[1], 4);
	cr_assert(z[0] == 3 && z[1] == -4);
	memcpy(w, r[2].bits, 16);
	cr_assert(w[0] == 1.5 && w[1] == -1);
	braze_kernel_free(k);
}

Test(client_kernel, memory_without_strides_has_no_gaps)
{
	braze_kernel *k = kernel("kernel f(inout x: int32[:,:]) -> (s: int64) "
				 "{ x[1, 0] += 1; s = sum(x[:, 2]) }");
	int32_t x[2][3] = {{1, 2, 3}, {4, 5, 6}};
	int64_t shape[2] = {2, 3}, huge[2] = {INT64_MAX / 4, 3}, less[2] = {2, -1};
	braze_kernel_arg arg = {.data = x, .dtype = BRAZE_INT32, .ndim = 2, .shape = shape};
	const int64_t *wrong[] = {NULL, huge, less};
	braze_scalar r;
	braze_error err = {0};

	cr_assert(!braze_kernel_call(&r, k, 1, &arg, NULL, NULL, &err), "%s", err.text);
	cr_assert(x[1][0] == 5 && (int64_t)r.bits[0] == 9);
	for (unsigned i = 0; i < 3; i++) {
		arg.shape = wrong[i];
		cr_assert_eq(braze_kernel_call(&r, k, 1, &arg, NULL, NULL, &err), BRAZE_E_SHAPE);
	}
	braze_kernel_free(k);
}

Test(client_kernel, parameters_are_told)
{
	braze_kernel *k = kernel("kernel f(in x: uint8[:,:], out y: bool[:]) -> (s: float64) { }");
	braze_parameter p;

	cr_assert_str_eq(braze_kernel_name(k), "f");
	cr_assert(braze_kernel_parameter(&p, k, 0) && !strcmp(p.name, "x") &&
		  p.dtype == BRAZE_UINT8 && p.ndim == 2 && !p.written && !p.result);
	cr_assert(braze_kernel_parameter(&p, k, 1) && p.written && !p.result && p.ndim == 1);
	cr_assert(braze_kernel_parameter(&p, k, 2) && p.result && p.ndim == 0);
	cr_assert(!braze_kernel_parameter(&p, k, 3) && !braze_kernel_parameter(&p, k, -1));
	braze_kernel_free(k);
	braze_kernel_free(NULL);
}

Test(client_kernel, arguments_that_do_not_fit)
{
	braze_kernel *k = kernel("kernel f(out x: float64[:], n: uint8) { x[0] = n }");
	int64_t shape[] = {2, 1}, strides[] = {8, 8};
	double x[2] = {7, 7};
	braze_kernel_arg good = memory(x, BRAZE_FLOAT64, shape, strides), bad;
	struct {
		braze_kernel_arg x, n;
		int code;
	} cases[] = {
		{good, scalar(braze_double(1)), BRAZE_E_DTYPE},
		{good, scalar(braze_int(256)), BRAZE_E_OVERFLOW},
		{good, scalar((braze_scalar){.dtype = 99}), BRAZE_E_INVALID},
		{good, good, BRAZE_E_DTYPE},
		{good, scalar(braze_int(3)), BRAZE_E_SHAPE},
		{good, scalar(braze_int(3)), BRAZE_E_DTYPE},
		{good, scalar(braze_int(3)), BRAZE_E_READONLY},
	};

	cases[4].x.ndim = 2;
	cases[5].x.dtype = BRAZE_INT64;
	cases[6].x.readonly = 1;
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		braze_kernel_arg args[] = {cases[c].x, cases[c].n};
		braze_error err = {0};
		int rc = braze_kernel_call(NULL, k, 2, args, NULL, NULL, &err);

		cr_assert(rc == cases[c].code && err.code == rc, "case %zu: %d, %s", c, rc,
			  err.text);
		cr_assert(c == 2 || strstr(err.text, c < 4 ? "'n'" : "'x'"), "%s", err.text);
		cr_assert(x[0] == 7);
	}
	bad = good;
	cr_assert(braze_kernel_call(NULL, k, 1, &bad, NULL, NULL, NULL) == BRAZE_E_INVALID);
	braze_kernel_free(k);
}

static int stop(void *count)
{
	++*(int *)count;
	return 1;
}

Test(client_kernel, a_check_ends_the_run)
{
	braze_kernel *k = kernel("kernel f() { while true { } }");
	braze_error err = {0};
	int count = 0;

	cr_assert(braze_kernel_call(NULL, k, 0, NULL, stop, &count, &err) == BRAZE_E_INTERRUPTED);
	cr_assert(count == 1 && err.code == BRAZE_E_INTERRUPTED);
	braze_kernel_free(k);
}

Test(client_kernel, a_wrong_text_gives_no_kernel)
{
	braze_kernel *k = NULL;
	braze_error err = {0};

	cr_assert(braze_kernel_create(&k, "kernel f( { }", 13, &err) == BRAZE_E_INVALID);
	cr_assert(!k && strstr(err.text, "line 1, column 11: the name of a parameter is wanted"));
}
