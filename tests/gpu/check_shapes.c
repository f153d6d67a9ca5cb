/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_shapes.c - layouts of operands, reductions, writing in place, several
 * outputs and matrix products, on the device and on the CPU. */
#include <stdio.h>
#include <string.h>

#include "sections.h"
#include "tap.h"

struct shaped {
	unsigned dtype;
	int ndim;
	int64_t shape[LIMIT_NDIM];
	unsigned layout;     /* enum layout */
	unsigned axes;	     /* reduced */
	uint8_t first, last; /* operations of a range */
	bool keepdims;
	enum sample_style style;
	uint64_t seed;
};

/* ---- Layouts ---- */

enum layout { PLAIN, STRIDED, BACKWARD, TRANSPOSED, STRETCHED, LAYOUTS };
static const char *const layout_name[] = {"contiguous", "every third", "backward", "transposed",
					  "stretched"};

/* An array of t's shape that lies as the layout says, `salt` its content. */
static int operand(braze_array **out, braze_session *s, const struct shaped *t, unsigned layout,
		   uint64_t salt, braze_error *err)
{
	int64_t shape[LIMIT_NDIM], start[LIMIT_NDIM] = {0}, step[LIMIT_NDIM];
	braze_array *base = NULL;
	int rc;

	for (int i = 0; i < t->ndim; i++) {
		shape[i] = t->shape[layout == TRANSPOSED ? t->ndim - 1 - i : i];
		step[i] = layout == STRIDED ? 3 : layout == BACKWARD ? -1 : 1;
		start[i] = layout == BACKWARD ? shape[i] - 1 : 0;
		shape[i] *= layout == STRIDED ? 3 : 1;
	}
	if (layout == STRETCHED)
		shape[0] = 1;
	rc = both_operand(&base, s, t->dtype, t->ndim, shape, t->style, t->seed + salt, err);
	if (rc)
		return rc;
	switch (layout) {
	case STRIDED:
	case BACKWARD:
		rc = braze_slice(out, base, start, t->shape, step, err);
		break;
	case TRANSPOSED:
		rc = braze_transpose(out, base, NULL, err);
		break;
	case STRETCHED:
		rc = braze_broadcast_to(out, base, t->ndim, t->shape, err);
		break;
	default:
		*out = base;
		return 0;
	}
	braze_release(base);
	return rc;
}

/* x + y and x * (x - y), with the second operand in C order and in the same layout. */
static int record_layout(const void *data, braze_session *s, braze_array **out, int *n,
			 braze_error *err)
{
	const struct shaped *t = data;
	braze_array *x = NULL, *y = NULL, *d = NULL;
	int rc = operand(&x, s, t, t->layout, 1, err);

	if (!rc)
		rc = operand(&y, s, t, t->seed & 1 ? PLAIN : t->layout, 2, err);
	if (!rc) {
		braze_arg both[2] = {{.array = x}, {.array = y}};

		rc = braze_apply(&out[0], s, OP_ADD, 2, both, err);
		*n = rc ? 0 : 1;
		if (!rc)
			rc = braze_apply(&d, s, OP_MAXIMUM, 2, both, err);
	}
	if (!rc) {
		braze_arg both[2] = {{.array = x}, {.array = d}};

		rc = braze_apply(&out[1], s, OP_MULTIPLY, 2, both, err);
		*n = rc ? 1 : 2;
	}
	braze_release(x);
	braze_release(y);
	braze_release(d);
	return rc;
}

static void check_layouts(struct both *b, unsigned dtype)
{
	static const int64_t shapes[][4] = {{1, 2048}, {2, 61, 67}, {3, 9, 33, 14}};

	for (unsigned layout = 0; layout < LAYOUTS; layout++)
		for (unsigned k = 0; k < 3; k++) {
			struct shaped t = {.dtype = dtype,
					   .ndim = (int)shapes[k][0],
					   .layout = layout,
					   .style = SAMPLE_SPECIAL,
					   .seed = b->seed + k};
			struct program p = {.record = record_layout, .data = &t};

			if (b->quick && k != 1)
				continue;
			memcpy(t.shape, shapes[k] + 1, (size_t)t.ndim * sizeof *t.shape);
			snprintf(p.name, sizeof p.name, "%s, %d axes, %s", dtype_row(dtype)->name,
				 t.ndim, layout_name[layout]);
			both_check(b, &p);
		}
}

/* ---- Reductions ---- */

static int record_reductions(const void *data, braze_session *s, braze_array **out, int *n,
			     braze_error *err)
{
	const struct shaped *t = data;
	braze_array *x = NULL;
	int rc = operand(&x, s, t, t->layout, 0, err);

	for (int op = t->first; op <= t->last && !rc; op++) {
		bool place = op == OP_ARGMIN || op == OP_ARGMAX;

		/* argmin and argmax take one axis, or all. */
		if (place && (t->axes & (t->axes - 1)) && t->axes != (1u << t->ndim) - 1)
			continue;
		rc = braze_reduce(&out[*n], op, x, t->axes, t->keepdims, -1, err);
		*n += !rc;
		/* Least, greatest and their places. */
		if (rc == E_UNSUPPORTED && (t->dtype == DT_COMPLEX64 || t->dtype == DT_COMPLEX128))
			rc = 0;
	}
	braze_release(x);
	return rc;
}

static void check_reduction(struct both *b, const struct shaped *t, unsigned step)
{
	for (unsigned op = OP_SUM; op <= OP_ARGMAX; op += step) {
		struct shaped one = *t;
		struct program p = {.record = record_reductions, .data = &one};
		int at;

		/* Complex numbers have no order. */
		if (dtype_row(t->dtype)->cls == CLASS_COMPLEX && (op == OP_MIN || op == OP_ARGMIN))
			continue;
		one.first = (uint8_t)op;
		one.last = (uint8_t)(op + step - 1 < OP_ARGMAX ? op + step - 1 : OP_ARGMAX);
		at = snprintf(p.name, sizeof p.name, "%s [", dtype_row(t->dtype)->name);
		for (int i = 0; i < t->ndim; i++)
			at += snprintf(p.name + at, sizeof p.name - (size_t)at, "%s%lld",
				       i ? "," : "", (long long)t->shape[i]);
		snprintf(p.name + at, sizeof p.name - (size_t)at, "] %s, %s to %s over axes %#x",
			 layout_name[t->layout], op_row(one.first)->numpy, op_row(one.last)->numpy,
			 t->axes);
		both_check(b, &p);
	}
}

static void check_reductions(struct both *b, unsigned dtype)
{
	static const struct {
		int ndim;
		int64_t shape[3];
		unsigned axes, layout;
		bool quick;
	} rows[] = {{1, {1}, 1, PLAIN, false},
		    {1, {4099}, 1, PLAIN, true},
		    {1, {200003}, 1, PLAIN, false},
		    {1, {4099}, 1, STRIDED, false},
		    {2, {67, 131}, 1, PLAIN, true},
		    {2, {67, 131}, 2, PLAIN, true},
		    {2, {67, 131}, 2, TRANSPOSED, true},
		    {2, {131, 67}, 3, TRANSPOSED, false},
		    {2, {3, 70001}, 2, PLAIN, false},
		    {2, {70001, 3}, 1, PLAIN, false},
		    {2, {1, 3000}, 1, PLAIN, false},
		    {3, {17, 19, 23}, 2, PLAIN, false},
		    {3, {17, 19, 23}, 5, PLAIN, true},
		    {3, {17, 19, 23}, 6, BACKWARD, false},
		    {3, {17, 19, 23}, 7, STRETCHED, false}};

	for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct shaped t = {.dtype = dtype,
				   .ndim = rows[k].ndim,
				   .layout = rows[k].layout,
				   .axes = rows[k].axes,
				   .keepdims = k & 1,
				   .style = SAMPLE_WIDE,
				   .seed = b->seed + k};

		if (b->quick && !rows[k].quick)
			continue;
		memcpy(t.shape, rows[k].shape, sizeof rows[k].shape);
		check_reduction(b, &t, b->quick || rows[k].ndim == 3 ? 8 : 2);
	}
}

/* ---- Writing ---- */

/* a[1:-1] = a[:-2] + a[2:], then a *= a, then every second element is another's. */
static int record_writes(const void *data, braze_session *s, braze_array **out, int *n,
			 braze_error *err)
{
	const struct shaped *t = data;
	const int64_t count = t->shape[0] - 2, zero = 0, one = 1, two = 2, half = t->shape[0] / 2;
	braze_array *a = NULL, *l = NULL, *r = NULL, *m = NULL, *sum = NULL, *even = NULL;
	braze_arg pair[2], self[2];
	int rc = operand(&a, s, t, PLAIN, 0, err);

	if (!rc)
		rc = braze_slice(&l, a, &zero, &count, &one, err) ||
		     braze_slice(&r, a, &two, &count, &one, err) ||
		     braze_slice(&m, a, &one, &count, &one, err) ||
		     braze_slice(&even, a, &zero, &half, &two, err);
	if (!rc) {
		pair[0] = braze_arg_array(l);
		pair[1] = braze_arg_array(r);
		rc = braze_apply(&sum, s, OP_ADD, 2, pair, err);
	}
	if (!rc)
		rc = braze_assign(m, braze_arg_array(sum), err);
	if (!rc) {
		self[0] = self[1] = braze_arg_array(a);
		rc = braze_apply(&out[0], s, OP_MULTIPLY, 2, self, err);
		*n = rc ? 0 : 1;
	}
	if (!rc)
		rc = braze_assign(even, (braze_arg){.scalar = braze_int(3)}, err);
	if (!rc)
		out[(*n)++] = a;
	else
		braze_release(a);
	braze_release(l);
	braze_release(r);
	braze_release(m);
	braze_release(even);
	braze_release(sum);
	return rc ? err->code ? err->code : rc : 0;
}

static void check_writes(struct both *b, unsigned dtype)
{
	struct shaped t = {.dtype = dtype,
			   .ndim = 1,
			   .shape = {b->quick ? 2000 : 70000},
			   .style = SAMPLE_WIDE,
			   .seed = b->seed};
	struct program p = {.record = record_writes, .data = &t};

	if (dtype == DT_BOOL)
		return; /* three is none */
	snprintf(p.name, sizeof p.name, "%s written in place", dtype_row(dtype)->name);
	both_check(b, &p);
}

/* ---- Products ---- */

static int record_product(const void *data, braze_session *s, braze_array **out, int *n,
			  braze_error *err)
{
	const struct shaped *t = data;
	struct shaped right = *t;
	braze_array *a = NULL, *c = NULL;
	int rc = operand(&a, s, t, t->layout, 0, err);

	right.shape[0] = t->shape[1];
	right.shape[1] = t->shape[0] + 3;
	if (!rc)
		rc = operand(&c, s, &right, PLAIN, 1, err);
	if (!rc)
		rc = braze_matmul(&out[0], a, c, err);
	*n = rc ? 0 : 1;
	braze_release(a);
	braze_release(c);
	return rc;
}

static void check_product(struct both *b, unsigned dtype, unsigned layout, int64_t m, int64_t k)
{
	/* Small values, whose sums are the same in any order. */
	struct shaped t = {.dtype = (uint8_t)dtype,
			   .ndim = 2,
			   .shape = {m, k},
			   .layout = layout,
			   .seed = b->seed + dtype};
	struct program p = {.record = record_product, .data = &t};

	snprintf(p.name, sizeof p.name, "%s product of %lld x %lld, %s", dtype_row(dtype)->name,
		 (long long)m, (long long)k, layout_name[layout]);
	both_check(b, &p);
}

/* Slices of products that the device's library has done so far. */
static double by_library(const struct host *h)
{
	cJSON *page = host_ask(h, "/status");
	const cJSON *row = cJSON_GetObjectItem(page, "device_products");
	double n = cJSON_GetNumberValue(cJSON_GetObjectItem(row, "library"));

	cJSON_Delete(page);
	return n;
}

/* Where the library does singles, it does halves and bytes, too: it refuses none of how they are
 * asked for. */
static void check_library_products(struct both *b)
{
	static const uint8_t types[] = {DT_FLOAT32, DT_FLOAT16, DT_INT8, DT_UINT8};
	bool has = false;

	for (unsigned k = 0; k < sizeof types; k++) {
		double before = by_library(b->host), now;
		unsigned asked = b->checks;

		check_product(b, types[k], PLAIN, 130, 129);
		check_product(b, types[k], TRANSPOSED, 131, 126);
		asked = b->checks - asked; /* by this part */
		now = by_library(b->host);
		has |= now > 0;
		if (asked && has)
			tap_result(now - before >= asked, "%s products by the library",
				   dtype_row(types[k])->name);
		else if (asked)
			tap_note("no library did products of %s", dtype_row(types[k])->name);
	}
}

static void check_products(struct both *b)
{
	static const uint8_t types[] = {DT_INT8,    DT_INT32,	  DT_FLOAT16,	DT_FLOAT32,
					DT_FLOAT64, DT_COMPLEX64, DT_COMPLEX128};

	for (unsigned k = 0; k < sizeof types; k++)
		for (unsigned layout = PLAIN; layout <= TRANSPOSED; layout += TRANSPOSED)
			check_product(b, types[k], layout, 37, 65);
	check_library_products(b);
}

/* A quick run takes some of the types: one of each size and kind, by turns. */
static bool among(unsigned dtype, const char *list)
{
	return strchr(list, dtype_row(dtype)->chr) != NULL;
}

void check_shapes(struct both *b)
{
	const char *all = "?bhilBHILeEfdFD", *some = b->quick ? "heEdF" : all;

	tap_note("layouts, reductions, writing, products");
	for (unsigned d = 0; d < DTYPE_END; d++) {
		if (!dtype_native(d))
			continue;
		if (among(d, some))
			check_layouts(b, d);
		if (among(d, b->quick ? "beEdD" : all))
			check_reductions(b, d);
		if (among(d, b->quick ? "lef" : all))
			check_writes(b, d);
	}
	check_products(b);
}
