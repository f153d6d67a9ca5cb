/* SPDX-License-Identifier: Apache-2.0 */
/* form/part_size.c - numbers in the place of a partition's sizes, to plan with.
 *
 * Each is a prime: no product of extents, as joined loops have, is the same. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "part.h"

static bool is_prime(int64_t n)
{
	for (int64_t d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

uint32_t part_size_of(const struct part *p, int64_t extent)
{
	uint32_t s = 0;

	while (s < p->nsize && p->number[s] != extent)
		s++;
	return s;
}

void part_largest(const struct part *p, int64_t *extent, unsigned n)
{
	for (unsigned l = 0; p->nsize && l < n; l++) {
		uint32_t s = part_size_of(p, extent[l]);

		if (s < p->nsize)
			extent[l] = p->most[s];
	}
}

/* Is it anywhere in the partition, or the number of an earlier size? */
static bool is_there(const struct part *p, const int64_t *numbers, uint32_t n, int64_t x)
{
	for (uint32_t s = 0; s < n; s++)
		if (numbers[s] == x)
			return true;
	for (uint32_t i = 0; i < p->ndim; i++)
		if (p->dim[i] == x)
			return true;
	return false;
}

static void choose_numbers(const struct part *p, int64_t *numbers)
{
	for (uint32_t s = 0; s < p->nsize; s++) {
		int64_t x = p->most[s];

		while (!is_prime(x) || is_there(p, numbers, s, x))
			x++;
		numbers[s] = x;
	}
}

static void number_extents(const struct part *q, const uint8_t *mark, const struct part_ref *r)
{
	for (uint32_t i = r->dims + 1; i < r->dims + 1 + r->ndim; i++)
		if (!(r->value & PART_IMM) && mark[i])
			q->dim[i] = q->number[mark[i] - 1];
}

/* Strides of a fresh array, and its bytes. */
static void lay_out(const struct part *q, const uint8_t *mark, const struct part_op *o)
{
	int64_t stride = dtype_row(o->out.dtype)->bytes, *dim = q->dim + o->out.dims + 1;
	struct part_value *v = &q->value[o->out.value];

	for (uint32_t a = o->out.ndim; a-- > 0;) {
		if (mark[o->out.dims + 1 + o->out.ndim + a])
			dim[o->out.ndim + a] = stride;
		stride *= dim[a];
	}
	v->bytes = v->bytes > (uint64_t)stride ? v->bytes : (uint64_t)stride;
}

static void follow(const struct part *q, const uint8_t *mark, const uint32_t *maker,
		   const struct part_ref *r)
{
	const struct part_ref *out = NULL;

	for (uint32_t i = r->dims + 1 + r->ndim; i < r->dims + 1 + 2u * r->ndim; i++)
		if (!(r->value & PART_IMM) && mark[i]) {
			out = &q->op[maker[r->value]].out;
			q->dim[i] = q->dim[out->dims + 1 + out->ndim + (mark[i] & ~PART_STRIDE)];
		}
}

static void fill_in(const struct part *q, const uint8_t *mark)
{
	uint32_t *maker = xcalloc(q->nvalue, sizeof *maker);

	for (uint32_t k = 0; k < q->nop; k++) {
		const struct part_op *o = &q->op[k];
		uint32_t prev = q->value[o->out.value].prev;

		for (unsigned j = 0; j < o->nin; j++) {
			number_extents(q, mark, &part_in(q, o)[j]);
			follow(q, mark, maker, &part_in(q, o)[j]);
		}
		number_extents(q, mark, &o->out);
		maker[o->out.value] = k;
		if (prev == PART_NONE)
			lay_out(q, mark, o);
		else
			q->value[o->out.value].bytes = q->value[prev].bytes;
	}
	free(maker);
}

struct part *part_with_numbers(const struct part *p)
{
	size_t values = p->nvalue * sizeof *p->value, dims = p->ndim * sizeof *p->dim;
	struct part *q = xmalloc(sizeof *q + values + dims + p->nsize * sizeof *p->number);
	int64_t *number = NULL;

	*q = *p;
	q->value = (struct part_value *)(q + 1);
	q->dim = (int64_t *)((char *)q->value + values);
	memcpy(q->value, p->value, values);
	memcpy(q->dim, p->dim, dims);
	number = q->dim + p->ndim;
	choose_numbers(p, number);
	q->mark = NULL;
	q->number = number;
	fill_in(q, p->mark);
	return q;
}
