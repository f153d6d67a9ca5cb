/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: broadcasting, reduction, matmul, all in overflow-safe arithmetic. */
#include <stdio.h>
#include <string.h>

#include "ops.h"

const char *shape_text(const struct shape *s, char *buf, size_t n)
{
	size_t at = 0;

	at += (size_t)snprintf(buf, n, "(");
	for (int i = 0; i < s->ndim && at < n; i++)
		at += (size_t)snprintf(buf + at, n - at, "%s%lld", i ? "," : "",
				       (long long)s->dim[i]);
	if (at < n)
		snprintf(buf + at, n - at, s->ndim == 1 ? ",)" : ")");
	return buf;
}

enum status shape_broadcast(struct shape *io, const struct shape *b, struct err *err)
{
	struct shape out = {.ndim = io->ndim > b->ndim ? io->ndim : b->ndim};

	for (int i = 1; i <= out.ndim; i++) {
		int64_t x = i <= io->ndim ? io->dim[io->ndim - i] : 1;
		int64_t y = i <= b->ndim ? b->dim[b->ndim - i] : 1;

		if (x != y && x != 1 && y != 1) {
			char xs[160], ys[160];

			return err_set(err, E_SHAPE,
				       "operands could not be broadcast together with shapes %s %s",
				       shape_text(io, xs, sizeof xs), shape_text(b, ys, sizeof ys));
		}
		out.dim[out.ndim - i] = x == 1 ? y : x;
	}
	*io = out;
	return OK;
}

/* Out of the way of all that are not, which have no room for its text to make. */
static __attribute__((noinline)) enum status too_big(const struct shape *s, struct err *err)
{
	char text[160];

	return err_set(err, E_LIMIT, "array of shape %s is too big",
		       shape_text(s, text, sizeof text));
}

enum status shape_count(int64_t *out, const struct shape *s, unsigned bytes, struct err *err)
{
	uint64_t n = 1, most = LIMIT_ARRAY_BYTES;

	/* An empty array has strides too: NumPy refuses those that pass 64 bits. */
	for (int i = 0; i < s->ndim; i++) {
		if (s->dim[i] < 0)
			return err_set(err, E_INVALID, "negative dimensions are not allowed");
		if (!s->dim[i])
			most = INT64_MAX;
		else if (__builtin_mul_overflow(n, (uint64_t)s->dim[i], &n))
			n = UINT64_MAX;
	}
	if (n > most / (bytes ? bytes : 1))
		return too_big(s, err);
	*out = most == INT64_MAX ? 0 : (int64_t)n;
	return OK;
}

enum status shape_reduce(struct shape *out, const struct shape *s, uint32_t axes, bool keepdims,
			 struct err *err)
{
	struct shape r = {0};

	if (axes >> s->ndim)
		return err_set(err, E_AXIS, "axis is out of bounds for array of dimension %d",
			       s->ndim);
	for (int i = 0; i < s->ndim; i++)
		if (!(axes >> i & 1))
			r.dim[r.ndim++] = s->dim[i];
		else if (keepdims)
			r.dim[r.ndim++] = 1;
	*out = r;
	return OK;
}

enum status shape_matmul(struct shape *out, const struct shape *a, const struct shape *b,
			 struct err *err)
{
	struct shape x = *a, y = *b, r;
	int64_t m, n, k;
	char as[160], bs[160];

	if (!a->ndim || !b->ndim)
		return err_set(err, E_SHAPE, "matmul: operands must have at least one dimension");
	if (a->ndim == 1) {
		x.ndim = 2;
		x.dim[1] = a->dim[0];
		x.dim[0] = 1;
	}
	if (b->ndim == 1) {
		y.ndim = 2;
		y.dim[1] = 1;
	}
	m = x.dim[x.ndim - 2];
	k = x.dim[x.ndim - 1];
	n = y.dim[y.ndim - 1];
	if (y.dim[y.ndim - 2] != k)
		return err_set(err, E_SHAPE,
			       "matmul: shapes %s and %s do not fit (%lld is different from %lld)",
			       shape_text(a, as, sizeof as), shape_text(b, bs, sizeof bs),
			       (long long)k, (long long)y.dim[y.ndim - 2]);
	x.ndim = (uint8_t)(x.ndim - 2);
	y.ndim = (uint8_t)(y.ndim - 2);
	r = x;
	if (shape_broadcast(&r, &y, err))
		return err_context(err, "matmul");
	if (r.ndim + 2 > LIMIT_NDIM)
		return err_set(err, E_LIMIT, "matmul: more than %d dimensions", LIMIT_NDIM);
	if (a->ndim > 1)
		r.dim[r.ndim++] = m;
	if (b->ndim > 1)
		r.dim[r.ndim++] = n;
	*out = r;
	return OK;
}

bool shape_loops_add(struct shape_loops *l, uint32_t *at, const struct shape *s)
{
	unsigned taken = 0;

	*at = 0;
	for (unsigned k = 0; k < s->ndim; k++) {
		unsigned i = 0;

		while (i < l->n && (taken >> i & 1 || l->extent[i] != s->dim[k]))
			i++;
		if (i == LIMIT_NDIM)
			return false;
		if (i == l->n)
			l->extent[l->n++] = s->dim[k];
		taken |= 1u << i;
		*at |= i << 4 * k;
	}
	return true;
}
