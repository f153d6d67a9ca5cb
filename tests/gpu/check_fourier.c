/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_fourier.c - Fourier transforms on the device and on the CPU, each held against the
 * processor's plain loops.
 *
 * What is compared is whether a result is near enough: the largest difference, over the largest
 * number, in units that grow with the levels of a transform. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "tap.h"
#include "worker/dft.h"

#define ROOM 16.0 /* units in the last place, for each level */

enum fourier_layout { LAST, FIRST, APART, BACK, LAYOUTS };
static const char *const layout_name[] = {"last axis", "first axis", "every second row",
					  "backwards"};

struct transform {
	enum op op;
	bool wide;
	enum fourier_layout layout;
	int64_t n, rows; /* of `rows` transforms of length n */
	uint64_t seed;
};

static int64_t extent(const struct transform *t, bool result)
{
	return t->op == (result ? OP_RFFT : OP_IRFFT) ? t->n / 2 + 1 : t->n;
}

static bool is_real(const struct transform *t, bool result)
{
	return t->op == (result ? OP_IRFFT : OP_RFFT);
}

static int type_of(const struct transform *t, bool result)
{
	if (is_real(t, result))
		return t->wide ? DT_FLOAT64 : DT_FLOAT32;
	return t->wide ? DT_COMPLEX128 : DT_COMPLEX64;
}

/* Numbers of the operand, real and imaginary parts in turns, rounded to its type. */
static double *numbers(const struct transform *t)
{
	int64_t n = extent(t, false), all = t->rows * n;
	double *x = calloc((size_t)all, 2 * sizeof *x);
	struct sample_rng rng = {t->seed};

	for (int64_t k = 0; x && k < 2 * all; k++) {
		double v = (double)(sample_next(&rng) >> 40) / (1 << 24) - 0.5;

		x[k] = k % 2 && is_real(t, false) ? 0 : t->wide ? v : (double)(float)v;
	}
	return x;
}

/* What is to come out. */
static double *wanted(const struct transform *t, const double *x)
{
	int64_t in = extent(t, false), out = extent(t, true);
	struct dft *d = dft_create(t->n);
	double *line = d ? calloc(2 * (size_t)t->n + dft_work(d), sizeof *line) : NULL;
	double *y = calloc((size_t)(t->rows * out), 2 * sizeof *y);

	for (int64_t r = 0; line && y && r < t->rows; r++) {
		memcpy(line, x + 2 * r * in, 2 * sizeof *x * (size_t)in);
		if (t->op == OP_IRFFT)
			dft_complete(line, t->n);
		dft_run(d, line, line + 2 * t->n, t->op == OP_IFFT || t->op == OP_IRFFT);
		memcpy(y + 2 * r * out, line, 2 * sizeof *y * (size_t)out);
	}
	free(line);
	dft_destroy(d);
	return y;
}

/* rows x n numbers as an array of that type. */
static int array_of(braze_array **out, braze_session *s, const double *x, int dtype, int64_t rows,
		    int64_t n, braze_error *err)
{
	int64_t shape[2] = {rows, n};
	braze_array *both = NULL;
	int rc = braze_from_data(&both, s, DT_COMPLEX128, 2, shape, NULL, x, err);
	braze_arg arg = {.array = both};

	if (!rc && (dtype == DT_FLOAT32 || dtype == DT_FLOAT64)) {
		rc = braze_apply(out, s, OP_REAL, 1, &arg, err);
		braze_release(both);
		both = rc ? NULL : *out;
		*out = NULL;
	}
	if (!rc)
		rc = braze_cast(out, both, dtype, err);
	braze_release(both);
	return rc;
}

/* The same numbers where the layout has them; rows become columns for the first axis. */
static int laid(braze_array **out, braze_array *a, const struct transform *t, braze_error *err)
{
	int64_t n = extent(t, false), start[2] = {0, 0}, step[2] = {1, 1};
	int64_t shape[2] = {t->rows, n};
	braze_array *swapped = NULL, *plain = NULL;
	int rc = 0;

	switch (t->layout) {
	case FIRST:
		rc = braze_transpose(&swapped, a, NULL, err);
		if (!rc)
			rc = braze_copy(out, swapped, err);
		braze_release(swapped);
		return rc;
	case APART:
		shape[0] = t->rows / 2;
		step[0] = 2;
		break;
	case BACK:
		start[1] = n - 1;
		step[1] = -1;
		rc = braze_slice(&swapped, a, start, shape, step, err);
		if (!rc)
			rc = braze_copy(&plain, swapped, err);
		if (!rc)
			rc = braze_slice(out, plain, start, shape, step, err);
		braze_release(swapped);
		braze_release(plain);
		return rc;
	default:
		break;
	}
	return braze_slice(out, a, start, shape, step, err);
}

/* |a - b|, its largest, and whether that is at most `most`. */
static int is_near(braze_array **out, braze_session *s, braze_array *a, braze_array *b, double most,
		   braze_error *err)
{
	braze_arg pair[2] = {{.array = a}, {.array = b}};
	braze_array *off = NULL, *size = NULL, *largest = NULL;
	int rc = braze_apply(&off, s, OP_SUBTRACT, 2, pair, err);

	pair[0].array = off;
	if (!rc)
		rc = braze_apply(&size, s, OP_ABSOLUTE, 1, pair, err);
	if (!rc)
		rc = braze_reduce(&largest, OP_MAX, size, 3, 0, -1, err);
	pair[0].array = largest;
	pair[1] = braze_arg_double(most);
	if (!rc)
		rc = braze_apply(out, s, OP_LESS_EQUAL, 2, pair, err);
	braze_release(off);
	braze_release(size);
	braze_release(largest);
	return rc;
}

static double room(const struct transform *t, const double *y)
{
	double largest = 0, unit = t->wide ? 2.2e-16 : 1.2e-7;

	for (int64_t k = 0; k < 2 * t->rows * extent(t, true); k++)
		largest = fmax(largest, fabs(y[k]));
	return ROOM * unit * largest * (1 + log2((double)t->n));
}

/* The wanted rows, where the result has them. */
static int compare(braze_array **out, braze_session *s, const struct transform *t,
		   braze_array *made, const double *y, braze_error *err)
{
	int64_t n = extent(t, true), start[2] = {0, 0}, step[2] = {1, 1};
	int64_t shape[2] = {t->rows, n};
	braze_array *want = NULL, *there = NULL;
	int rc = array_of(&want, s, y, type_of(t, true), t->rows, n, err);

	if (t->layout == APART) {
		shape[0] = t->rows / 2;
		step[0] = 2;
	}
	if (!rc)
		rc = t->layout == FIRST ? braze_transpose(&there, want, NULL, err)
					: braze_slice(&there, want, start, shape, step, err);
	if (!rc)
		rc = is_near(out, s, made, there, room(t, y), err);
	braze_release(want);
	braze_release(there);
	return rc;
}

static int record(const void *data, braze_session *s, braze_array **out, int *n, braze_error *err)
{
	const struct transform *t = data;
	double *x = numbers(t), *y = x ? wanted(t, x) : NULL;
	braze_array *a = NULL, *b = NULL, *made = NULL;
	int rc = array_of(&a, s, x, type_of(t, false), t->rows, extent(t, false), err);

	if (!rc)
		rc = laid(&b, a, t, err);
	if (!rc)
		rc = braze_fourier(&made, (int)t->op, b, t->layout == FIRST ? 0 : 1, t->n, err);
	if (!rc)
		rc = compare(&out[0], s, t, made, y, err);
	*n = rc ? 0 : 1;
	braze_release(a);
	braze_release(b);
	braze_release(made);
	free(x);
	free(y);
	return rc;
}

/* Is the processor's result near?  The device's, which must be the same answer, is then, too. */
static bool is_near_here(struct both *b, const struct transform *t, braze_error *err)
{
	braze_array *out[BOTH_OUTPUTS] = {NULL};
	const void *data = NULL;
	bool near = false;
	int n = 0;

	err->code = braze_set_device(b->session, "cpu", err);
	if (!err->code)
		err->code = record(t, b->session, out, &n, err);
	if (!err->code)
		err->code = braze_data(&data, out[0], NULL, NULL, err);
	near = !err->code && *(const bool *)data;
	braze_release(out[0]);
	return near;
}

static void check(struct both *b, enum op op, bool wide, int64_t n, int64_t rows)
{
	for (unsigned layout = 0; layout < (b->quick ? APART : LAYOUTS); layout++) {
		struct transform t = {.op = op,
				      .wide = wide,
				      .layout = layout,
				      .n = n,
				      .rows = rows,
				      .seed = b->seed + (uint64_t)n};
		struct program p = {.record = record, .data = &t};
		braze_error err = {0};

		snprintf(p.name, sizeof p.name, "%s, %s precision, %lld of length %lld, %s",
			 op_row(op)->numpy, wide ? "double" : "single", (long long)rows,
			 (long long)n, layout_name[layout]);
		if (!is_near_here(b, &t, &err))
			tap_result(false, "%s: %s", p.name,
				   err.code ? err.text : "the processor is far off");
		else
			both_check(b, &p);
	}
}

void check_fourier(struct both *b)
{
	static const int64_t lengths[] = {1,	2,    3,    5,	  7,	8,     12,
					  16,	17,   60,   64,	  100,	127,   243,
					  1000, 1009, 4096, 6561, 9973, 16384, 65537};
	unsigned step = b->quick ? 4 : 1;
	braze_error err = {0};
	int has = 0;

	tap_note("Fourier transforms");
	braze_set_device(b->session, b->host->device, &err);
	if (braze_has_fourier(&has, b->session, NULL, NULL, &err) || !has) {
		tap_result(false, "a library of Fourier transforms: %s",
			   err.code ? err.text : "none");
		return;
	}
	for (enum op op = OP_FFT; op <= OP_IRFFT; op++)
		for (int wide = 0; wide < 2; wide++)
			for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k += step)
				check(b, op, wide, lengths[k], lengths[k] < 2000 ? 12 : 2);
}
