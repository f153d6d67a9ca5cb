/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/model.h - what a program of array operations means: every operation done
 * at once, on memory of its own.  The oracle of fuzz_record, for bool, int8, int32
 * and int64. */
#ifndef BRAZE_FUZZ_MODEL_H
#define BRAZE_FUZZ_MODEL_H

#include "../golden/plan_exec.h"
#include "fuzz.h"

#define MODEL_IDS 24

struct model_buffer {
	uint64_t bytes;
	unsigned refs;
	char *data;
};

struct model_array {
	struct model_buffer *buffer; /* NULL: the id is free */
	struct view view;
	bool frozen;
};

struct model {
	struct model_array array[MODEL_IDS]; /* 0 is no id */
};

/* An operand: an array, or a number. */
struct model_operand {
	const struct model_array *array;
	int64_t number;
};

static inline int64_t model_count(const struct shape *s)
{
	return exec_points(s->dim, s->ndim);
}

static inline struct model_buffer *model_buffer(uint64_t bytes)
{
	struct model_buffer *b = xcalloc(1, sizeof *b);

	b->bytes = bytes;
	b->refs = 1;
	b->data = xcalloc(bytes + 1, 1);
	return b;
}

static inline void model_drop(struct model_array *a)
{
	if (!--a->buffer->refs) {
		free(a->buffer->data);
		free(a->buffer);
	}
	memset(a, 0, sizeof *a);
}

/* The operand's elements over a shape, as type `to`. */
static inline int64_t *model_read(const struct model_operand *o, const struct shape *s, unsigned to)
{
	int64_t n = model_count(s), at = 0, index[LIMIT_NDIM] = {0};
	int64_t *out = xcalloc((size_t)n + 1, sizeof *out);
	struct view wide = {0};

	if (o->array)
		FUZZ_CHECK(!view_broadcast(&wide, &o->array->view, s, NULL));
	if (!n)
		return out;
	do
		out[at++] = exec_wrap(
			to, o->array ? exec_get(exec_at(o->array->buffer->data, &wide, index),
						wide.dtype)
				     : o->number);
	while (exec_next(index, s->dim, s->ndim));
	return out;
}

static inline void model_write(struct model_array *a, const int64_t *x)
{
	int64_t index[LIMIT_NDIM] = {0}, at = 0;

	if (!model_count(&a->view.shape))
		return;
	do
		exec_put(exec_at(a->buffer->data, &a->view, index), a->view.dtype,
			 exec_wrap(a->view.dtype, x[at++]));
	while (exec_next(index, a->view.shape.dim, a->view.shape.ndim));
}

/* A new array, of zeros. */
static inline struct model_array *model_new(struct model *m, unsigned id, unsigned dtype,
					    const struct shape *s)
{
	struct model_array *a = &m->array[id];

	view_init(&a->view, (enum dtype)dtype, s);
	a->buffer = model_buffer((uint64_t)model_count(s) * dtype_row(dtype)->bytes);
	return a;
}

static inline void model_map(struct model *m, unsigned id, unsigned op, const struct op_sig *sig,
			     const struct model_operand *in, const struct shape *s)
{
	int64_t n = model_count(s), *x[3] = {NULL}, *z = xcalloc((size_t)n + 1, sizeof *z);

	for (unsigned k = 0; k < op_row(op)->arity; k++)
		x[k] = model_read(&in[k], s, sig->in[k]);
	for (int64_t i = 0; i < n; i++)
		z[i] = exec_op(op, sig->out, x[0][i], x[1] ? x[1][i] : 0, x[2] ? x[2][i] : 0);
	model_write(model_new(m, id, sig->out, s), z);
	for (unsigned k = 0; k < 3; k++)
		free(x[k]);
	free(z);
}

static inline void model_reduce(struct model *m, unsigned id, unsigned op, const struct op_sig *sig,
				const struct model_array *a, uint32_t axes, bool keep)
{
	struct model_operand in = {a, 0};
	const struct shape *s = &a->view.shape;
	int64_t *x = model_read(&in, s, sig->in[0]), index[LIMIT_NDIM] = {0}, at = 0;
	struct shape kept;
	struct model_array *out;
	struct view spread;
	char *seen;

	FUZZ_CHECK(!shape_reduce(&kept, s, axes, keep, NULL));
	out = model_new(m, id, sig->out, &kept);
	spread = out->view;
	spread.shape = *s;
	for (unsigned k = 0, from = 0; k < s->ndim; k++) {
		bool gone = axes >> k & 1;

		spread.stride[k] = gone ? 0 : out->view.stride[from];
		from += !gone || keep;
	}
	seen = xcalloc(out->buffer->bytes + 1, 1);
	for (int64_t k = 0; (op == OP_PROD || op == OP_ALL) && k < model_count(&kept); k++)
		exec_put(out->buffer->data + k * dtype_row(sig->out)->bytes, sig->out, 1);
	if (model_count(s))
		do {
			char *to = exec_at(out->buffer->data, &spread, index);
			char *mark = seen + (to - out->buffer->data);
			int64_t v = x[at++];

			if (*mark)
				v = exec_op(op, sig->out, exec_get(to, sig->out), v, 0);
			*mark = 1;
			exec_put(to, sig->out, v);
		} while (exec_next(index, s->dim, s->ndim));
	free(seen);
	free(x);
}

static inline void model_assign(struct model_array *to, const struct model_operand *from)
{
	int64_t *x = model_read(from, &to->view.shape, to->view.dtype);

	model_write(to, x);
	free(x);
}

/* Coordinates of the elements that x says, a row for each. */
static inline void model_places(int64_t *to, const struct shape *s, const int64_t *x)
{
	int64_t index[LIMIT_NDIM] = {0}, at = 0;

	if (model_count(s))
		do
			for (unsigned k = 0; x[at] && k < s->ndim; k++)
				*to++ = index[k];
		while (at++, exec_next(index, s->dim, s->ndim));
}

static inline void model_rows(int64_t *to, const int64_t *from, int64_t n, int64_t inner,
			      const int64_t *x)
{
	for (int64_t i = 0; i < n * inner; i++)
		if (x[i / inner])
			*to++ = from[i];
}

#endif
