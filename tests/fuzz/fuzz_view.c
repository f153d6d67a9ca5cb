/* SPDX-License-Identifier: Apache-2.0 */
/* Views and shapes, whatever numbers they are given, against the same questions
 * answered with quotients and limbs instead of clever bounds.
 *
 * In: two views, a number of bytes.  A view that is accepted must lie inside, to
 * the byte; where it is small, every element is visited. */
#include "fuzz.h"
#include "ops.h"

#define SMALL 4096 /* elements that are visited one by one */

static void draw_view(struct view *v, struct fuzz_input *in)
{
	memset(v, 0, sizeof *v);
	v->dtype = (uint8_t)fuzz_below(in, DTYPE_END);
	v->shape.ndim = (uint8_t)fuzz_below(in, LIMIT_NDIM + 1);
	v->offset = fuzz_number(in);
	for (unsigned i = 0; i < v->shape.ndim; i++) {
		v->shape.dim[i] = fuzz_number(in);
		v->stride[i] = fuzz_number(in);
	}
}

/* The number of elements; false: too many, or an extent is negative.  Extents of an
 * empty shape only need to fit 64 bits of strides. */
static bool slow_count(int64_t *n, const struct shape *s, unsigned bytes)
{
	uint64_t most = LIMIT_ARRAY_BYTES, used = 1;

	*n = 0;
	for (unsigned i = 0; i < s->ndim; i++) {
		if (s->dim[i] < 0)
			return false;
		if (!s->dim[i])
			most = INT64_MAX;
	}
	for (unsigned i = 0; i < s->ndim; i++) {
		if (s->dim[i] && (uint64_t)s->dim[i] > most / bytes / used)
			return false;
		used *= s->dim[i] ? (uint64_t)s->dim[i] : 1;
	}
	*n = most == INT64_MAX ? 0 : (int64_t)used;
	return true;
}

/* The bytes a view touches, one element after the other; few enough of them. */
static void slow_range(__int128 *lo, __int128 *hi, const struct view *v)
{
	int64_t index[LIMIT_NDIM] = {0};
	bool more = true, first = true;

	while (more) {
		__int128 at = v->offset;

		for (unsigned i = 0; i < v->shape.ndim; i++)
			at += (__int128)index[i] * v->stride[i];
		if (first || at < *lo)
			*lo = at;
		if (first || at + dtype_row(v->dtype)->bytes > *hi)
			*hi = at + dtype_row(v->dtype)->bytes;
		first = more = false;
		for (unsigned i = v->shape.ndim; i-- > 0 && !more;) {
			more = ++index[i] < v->shape.dim[i];
			if (!more)
				index[i] = 0;
		}
	}
}

static void check_view(const struct view *v, uint64_t bytes)
{
	unsigned size = dtype_row(v->dtype)->bytes;
	bool taken = !view_check(v, bytes, NULL);
	int64_t n, count = 0, a = 0, b = 0;
	__int128 lo, hi;

	FUZZ_CHECK(slow_count(&n, &v->shape, size) == !shape_count(&count, &v->shape, size, NULL));
	FUZZ_CHECK(n == count || !slow_count(&n, &v->shape, size));
	if (!slow_count(&n, &v->shape, size)) {
		FUZZ_CHECK(!taken);
		return;
	}
	if (!n) {
		FUZZ_CHECK(taken);
		return;
	}
	if (n > SMALL)
		return;
	slow_range(&lo, &hi, v);
	FUZZ_CHECK(taken == (lo >= 0 && hi <= bytes && hi <= INT64_MAX));
	if (taken) {
		FUZZ_CHECK(!view_range(&a, &b, v, NULL));
		FUZZ_CHECK(a == lo && b == hi);
	}
}

/* A contiguous view is one whose elements, in C order, follow each other. */
static void check_contiguous(const struct view *v, uint64_t bytes)
{
	struct view dense;
	int64_t n;

	if (view_check(v, bytes, NULL) || shape_count(&n, &v->shape, 1, NULL))
		return;
	view_init(&dense, (enum dtype)v->dtype, &v->shape);
	for (unsigned i = 0; i < v->shape.ndim; i++)
		if (n && v->shape.dim[i] > 1 && v->stride[i] != dense.stride[i]) {
			FUZZ_CHECK(!view_contiguous(v));
			return;
		}
	FUZZ_CHECK(view_contiguous(v));
}

/* Broadcasting gives every axis the larger of two extents that agree or are 1. */
static void check_broadcast(const struct view *a, const struct view *b)
{
	struct shape both = a->shape;
	struct view wide;
	bool fits = true;

	for (unsigned i = 1; i <= a->shape.ndim && i <= b->shape.ndim; i++) {
		int64_t x = a->shape.dim[a->shape.ndim - i], y = b->shape.dim[b->shape.ndim - i];

		fits &= x == y || x == 1 || y == 1;
	}
	FUZZ_CHECK(fits == !shape_broadcast(&both, &b->shape, NULL));
	if (!fits)
		return;
	FUZZ_CHECK(!view_broadcast(&wide, a, &both, NULL) &&
		   !view_broadcast(&wide, b, &both, NULL));
	FUZZ_CHECK(wide.shape.ndim == both.ndim && wide.offset == b->offset);
	for (unsigned i = 1; i <= both.ndim; i++) {
		bool own = i <= b->shape.ndim && b->shape.dim[b->shape.ndim - i] != 1;

		FUZZ_CHECK(wide.stride[both.ndim - i] == (own ? b->stride[b->shape.ndim - i] : 0));
	}
}

static void check_reduced(const struct shape *s, uint32_t axes)
{
	struct shape kept, shown;

	if (shape_reduce(&kept, s, axes, false, NULL)) {
		FUZZ_CHECK(axes >> s->ndim);
		return;
	}
	FUZZ_CHECK(!shape_reduce(&shown, s, axes, true, NULL) && shown.ndim == s->ndim);
	FUZZ_CHECK(kept.ndim + __builtin_popcount(axes) == s->ndim);
	for (unsigned i = 0, k = 0; i < s->ndim; i++)
		if (axes >> i & 1)
			FUZZ_CHECK(shown.dim[i] == 1);
		else
			FUZZ_CHECK(shown.dim[i] == s->dim[i] && kept.dim[k++] == s->dim[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct view a, b;
	struct shape product;
	char text[160];

	draw_view(&a, &in);
	draw_view(&b, &in);
	check_view(&a, (uint64_t)fuzz_number(&in));
	check_view(&b, fuzz_byte(&in) * 64u);
	check_contiguous(&a, LIMIT_ARRAY_BYTES);
	check_broadcast(&a, &b);
	check_reduced(&a.shape, (uint32_t)fuzz_number(&in));
	if (!shape_matmul(&product, &a.shape, &b.shape, NULL))
		FUZZ_CHECK(product.ndim <= LIMIT_NDIM);
	FUZZ_CHECK(shape_text(&a.shape, text, 1 + fuzz_below(&in, sizeof text)) == text);
	return 0;
}
