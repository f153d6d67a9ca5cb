/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/record_calls.h - turns of fuzz_record.c that end in library steps and gathers:
 * each is recorded, and done at once by the model. */
#ifndef BRAZE_RECORD_CALLS_H
#define BRAZE_RECORD_CALLS_H

#include "record_life.h"

/* An operation along an axis is recorded; x is its operand in the type that it takes. */
struct along {
	unsigned op, id, axis;
	struct op_sig sig;
	const struct shape *shape;
	int64_t *x, inner, count;
};

static inline bool record_along(struct life *l, struct along *g, unsigned first, unsigned ops)
{
	unsigned from = 0;
	struct model_operand in;
	struct op_arg arg;

	*g = (struct along){.op = first + fuzz_below(&l->in, ops), .inner = 1};
	g->id = free_id(l);
	from = some_id(l);
	g->shape = &l->model.array[from].view.shape;
	if (!g->id || !from || !g->shape->ndim)
		return false;
	g->axis = fuzz_below(&l->in, g->shape->ndim);
	arg = (struct op_arg){l->model.array[from].view.dtype, false};
	begin(l);
	array_operand(l, &in, from);
	word(l, g->axis);
	if (op_infer(&g->sig, (enum op)g->op, &arg, DTYPE_END, NULL) ||
	    !commit(l, g->op, NO_TYPE, g->id))
		return false;
	for (unsigned k = g->axis + 1; k < g->shape->ndim; k++)
		g->inner *= g->shape->dim[k];
	g->count = model_count(g->shape);
	g->x = model_read(&in, g->shape, g->sig.in[0]);
	return true;
}

static inline void model_along(struct life *l, const struct along *g)
{
	model_write(model_new(&l->model, g->id, g->sig.out, g->shape), g->x);
	free(g->x);
}

static inline void do_scan(struct life *l)
{
	static const uint8_t step[] = {OP_SUM, OP_PROD, OP_MIN, OP_MAX};
	struct along g;

	if (!record_along(l, &g, OP_CUMSUM, 4))
		return;
	for (int64_t i = 0; i < g.count; i++)
		if (i / g.inner % g.shape->dim[g.axis])
			g.x[i] = exec_op(step[g.op - OP_CUMSUM], g.sig.out, g.x[i - g.inner],
					 g.x[i], 0);
	model_along(l, &g);
}

/* What do_join made: n arrays of shape s, each with `inner` elements of a row of the result. */
static inline void model_join(struct life *l, unsigned id, unsigned dtype, const struct shape *made,
			      const struct shape *s, const struct model_operand *in, int64_t inner)
{
	int64_t count = model_count(made), row = 0, to = 0;
	int64_t *x = xcalloc((size_t)count + 1, sizeof *x);
	unsigned n = l->operand[0];

	row = inner * n;
	for (unsigned k = 0; k < n && count; k++, to += inner) {
		int64_t *from = model_read(&in[k], s, dtype);

		for (int64_t o = 0; o < count / row; o++)
			memcpy(x + o * row + to, from + o * inner, (size_t)inner * sizeof *x);
		free(from);
	}
	model_write(model_new(&l->model, id, dtype, made), x);
	free(x);
}

/* The first array and others of its shape, as operands. */
static inline void join_operands(struct life *l, struct model_operand *in, unsigned n,
				 unsigned first)
{
	begin(l);
	l->operand[l->nin++] = n;
	for (unsigned k = 0; k < n; k++) {
		unsigned other = k ? some_id(l) : first;

		if (!shape_equal(&l->model.array[other].view.shape,
				 &l->model.array[first].view.shape))
			other = first;
		array_operand(l, &in[k], other);
	}
}

/* Arrays of one shape one after the other, or along a new axis. */
static inline void do_join(struct life *l)
{
	unsigned n = 1 + fuzz_below(&l->in, 6), id = free_id(l), first = some_id(l), axis;
	unsigned dtype = some_dtype(l);
	struct shape s = l->model.array[first].view.shape, made = s;
	bool stacks = fuzz_below(&l->in, 2);
	struct model_operand in[6];
	int64_t inner = 1;

	made.ndim += stacks;
	if (!id || !first || made.ndim < 1 || made.ndim > LIMIT_NDIM)
		return;
	axis = fuzz_below(&l->in, made.ndim);
	join_operands(l, in, n, first);
	word(l, axis | (uint64_t)stacks << 32);
	for (unsigned k = axis; k < s.ndim; k++)
		inner *= s.dim[k];
	for (unsigned k = made.ndim - 1u; stacks && k > axis; k--)
		made.dim[k] = made.dim[k - 1];
	made.dim[axis] = (stacks ? 1 : s.dim[axis]) * n;
	if (model_count(&made) <= SPACE && commit(l, OP_CONCATENATE, dtype, id))
		model_join(l, id, dtype, &made, &s, in, inner);
}

/* Is x of a type, as model_read gives it, before y? */
static inline bool comes_before(unsigned dtype, int64_t x, int64_t y)
{
	return exec_op(OP_LESS, dtype, x, y, 0) != 0;
}

/* A lane of n values, `step` apart, by insertion: their places, or they themselves. */
static inline void sort_lane(int64_t *x, int64_t n, int64_t step, unsigned dtype, bool places)
{
	int64_t *at = xcalloc((size_t)n, sizeof *at), *was = xcalloc((size_t)n, sizeof *was);

	for (int64_t i = 0; i < n; i++) {
		int64_t k = i;

		was[i] = x[i * step];
		for (; k && comes_before(dtype, was[i], was[at[k - 1]]); k--)
			at[k] = at[k - 1];
		at[k] = i;
	}
	for (int64_t i = 0; i < n; i++)
		x[i * step] = places ? at[i] : was[at[i]];
	free(at);
	free(was);
}

static inline void do_sort(struct life *l)
{
	struct along g;

	if (!record_along(l, &g, OP_SORT, 2))
		return;
	for (int64_t i = 0; i < g.count; i++)
		if (i / g.inner % g.shape->dim[g.axis] == 0)
			sort_lane(g.x + i, g.shape->dim[g.axis], g.inner, g.sig.in[0],
				  g.op == OP_ARGSORT);
	model_along(l, &g);
}

static inline bool search_passes(unsigned op, unsigned d, int64_t x, int64_t needle)
{
	return op == OP_SEARCH_LEFT ? comes_before(d, x, needle) : !comes_before(d, needle, x);
}

static inline int64_t search_place(unsigned op, unsigned d, const int64_t *x, int64_t n,
				   int64_t needle)
{
	int64_t base = 0;

	for (int64_t left = n, half = 0; left > 1; left -= half) {
		half = left / 2;
		base += search_passes(op, d, x[base + half - 1], needle) ? half : 0;
	}
	return base + search_passes(op, d, x[base], needle);
}

/* Needles among elements that need not be in order: halving says which places they get. */
static inline void do_search(struct life *l)
{
	unsigned id = free_id(l), x = some_id(l), y = some_id(l);
	struct model_array *a = &l->model.array[x], *b = &l->model.array[y];
	unsigned op = OP_SEARCH_LEFT + fuzz_below(&l->in, 2), d = a->view.dtype;
	struct model_operand in[2];
	int64_t *p, *q;

	if (!id || !x || !y || a->view.shape.ndim != 1 || b->view.shape.ndim != 1 ||
	    b->view.dtype != d || !a->view.shape.dim[0])
		return;
	begin(l);
	array_operand(l, &in[0], x);
	array_operand(l, &in[1], y);
	if (!commit(l, op, NO_TYPE, id))
		return;
	p = model_read(&in[0], &a->view.shape, d);
	q = model_read(&in[1], &b->view.shape, d);
	for (int64_t i = 0; i < b->view.shape.dim[0]; i++)
		q[i] = search_place(op, d, p, a->view.shape.dim[0], q[i]);
	model_write(model_new(&l->model, id, DT_INT64, &b->view.shape), q);
	free(p);
	free(q);
}

/* Where point `at` of a result of shape s lies in the leading axes of `from`, as a
 * number of rows of its last axis. */
static inline int64_t row_of(const struct shape *from, const struct shape *s, int64_t at)
{
	int64_t row = 0, rows = 1;

	for (unsigned k = s->ndim, j = from->ndim - 1u; k-- > 0 && j-- > 0;) {
		row += from->dim[j] == 1 ? 0 : at % s->dim[k] * rows;
		rows *= from->dim[j];
		at /= s->dim[k];
	}
	return row;
}

/* Elements of a's last axis at the places that b names, limited to the axis. */
static inline void do_take(struct life *l)
{
	unsigned id = free_id(l), x = some_id(l), y = some_id(l);
	struct model_array *a = &l->model.array[x], *b = &l->model.array[y];
	struct model_operand in[2];
	struct op_arg arg[2];
	struct op_sig sig;
	struct shape s = a->view.shape;
	int64_t *p, *q, *r, last;

	if (!id || !x || !s.ndim || !s.dim[s.ndim - 1])
		return;
	last = s.dim[--s.ndim];
	if (shape_broadcast(&s, &b->view.shape, NULL) || model_count(&s) > SPACE)
		return;
	begin(l);
	array_operand(l, &in[0], x);
	array_operand(l, &in[1], y);
	arg[0] = (struct op_arg){a->view.dtype, false};
	arg[1] = (struct op_arg){b->view.dtype, false};
	if (op_infer(&sig, OP_TAKE, arg, DTYPE_END, NULL) || !commit(l, OP_TAKE, NO_TYPE, id))
		return;
	p = model_read(&in[0], &a->view.shape, sig.in[0]);
	q = model_read(&in[1], &s, sig.in[1]);
	r = xcalloc((size_t)model_count(&s) + 1, sizeof *r);
	for (int64_t i = 0; i < model_count(&s); i++) {
		int64_t place = q[i] < 0 ? 0 : q[i] < last ? q[i] : last - 1;

		r[i] = p[row_of(&a->view.shape, &s, i) * last + place];
	}
	model_write(model_new(&l->model, id, sig.out, &s), r);
	free(p);
	free(q);
	free(r);
}

static inline void do_matmul(struct life *l)
{
	unsigned id = free_id(l), x = some_id(l), y = some_id(l);
	struct model_array *a = &l->model.array[x], *b = &l->model.array[y], *c;
	struct model_operand in[2];
	struct op_arg arg[2];
	struct op_sig sig;
	struct shape s;
	int64_t *p, *q, *r;

	if (!id || !x || a->view.shape.ndim != 2 || b->view.shape.ndim != 2 ||
	    shape_matmul(&s, &a->view.shape, &b->view.shape, NULL))
		return;
	begin(l);
	array_operand(l, &in[0], x);
	array_operand(l, &in[1], y);
	arg[0] = (struct op_arg){a->view.dtype, false};
	arg[1] = (struct op_arg){b->view.dtype, false};
	if (op_infer(&sig, OP_MATMUL, arg, DTYPE_END, NULL) || !commit(l, OP_MATMUL, NO_TYPE, id))
		return;
	p = model_read(&in[0], &a->view.shape, sig.in[0]);
	q = model_read(&in[1], &b->view.shape, sig.in[1]);
	r = xcalloc((size_t)model_count(&s) + 1, sizeof *r);
	for (int64_t i = 0; i < s.dim[0]; i++)
		for (int64_t j = 0; j < s.dim[1]; j++)
			for (int64_t k = 0, n = a->view.shape.dim[1]; k < n; k++)
				r[i * s.dim[1] + j] =
					exec_op(OP_ADD, sig.out, r[i * s.dim[1] + j],
						exec_op(OP_MULTIPLY, sig.out, p[i * n + k],
							q[k * s.dim[1] + j], 0),
						0);
	c = model_new(&l->model, id, sig.out, &s);
	model_write(c, r);
	free(p);
	free(q);
	free(r);
}

/* Some mask that blocks can be cut of; 0: none at hand. */
static inline unsigned some_mask(struct life *l)
{
	unsigned from = some_id(l);

	for (unsigned k = 0; k < MODEL_IDS; k++) {
		const struct model_array *a = &l->model.array[(from + k) % MODEL_IDS];

		if (a->buffer && a->view.dtype == DT_BOOL && compact_lies(&a->view) &&
		    a->view.shape.ndim <= COMPACT_AXES)
			return (from + k) % MODEL_IDS;
	}
	return 0;
}

static inline bool do_ranks(struct life *l, unsigned mask, unsigned id, int64_t count)
{
	const struct view *v = &l->model.array[mask].view;
	struct shape s = {.ndim = 1, .dim = {compact_blocks(model_count(&v->shape))}};
	struct model_operand in;

	begin(l);
	array_operand(l, &in, mask);
	if (!commit(l, OP_RANKS, NO_TYPE, id))
		return false;
	model_write(model_new(&l->model, id, DT_INT64, &s), &count);
	return true;
}

/* `count` rows that x says, of an array that has one for each element of the mask. */
static inline void do_elements(struct life *l, unsigned mask, unsigned ranks, unsigned from,
			       const int64_t *x, int64_t count)
{
	const struct model_array *a = &l->model.array[from];
	struct shape s = a->view.shape;
	int64_t n = s.dim[0], inner = s.ndim > 1 ? s.dim[1] : 1, *y, *z;
	unsigned id = free_id(l);
	struct model_operand in, other;

	if (!id)
		return;
	begin(l);
	array_operand(l, &in, from);
	array_operand(l, &other, mask);
	array_operand(l, &other, ranks);
	word(l, (uint64_t)count);
	if (!commit(l, OP_COMPACT, NO_TYPE, id))
		return;
	y = model_read(&in, &s, a->view.dtype);
	z = xcalloc((size_t)(count * inner) + 1, sizeof *z);
	model_rows(z, y, n, inner, x);
	s.dim[0] = count;
	model_write(model_new(&l->model, id, a->view.dtype, &s), z);
	free(y);
	free(z);
}

static inline void do_places(struct life *l, unsigned mask, unsigned ranks, const int64_t *x,
			     int64_t count)
{
	const struct shape *of = &l->model.array[mask].view.shape;
	struct shape s = {.ndim = of->ndim > 1 ? 2 : 1, .dim = {count, of->ndim}};
	struct model_operand in;
	unsigned id = free_id(l);
	int64_t *z;

	if (!id)
		return;
	begin(l);
	array_operand(l, &in, mask);
	array_operand(l, &in, ranks);
	word(l, (uint64_t)count);
	if (!commit(l, OP_PLACES, NO_TYPE, id))
		return;
	z = xcalloc((size_t)(count * of->ndim) + 1, sizeof *z);
	model_places(z, of, x);
	model_write(model_new(&l->model, id, DT_INT64, &s), z);
	free(z);
}

/* A reduction of `count` elements that x says. */
static inline void do_reduced(struct life *l, unsigned mask, unsigned ranks, unsigned from,
			      const int64_t *x)
{
	static const enum op ops[] = {OP_CHOSEN_SUM, OP_CHOSEN_ANY, OP_CHOSEN_ALL};
	enum op op = ops[fuzz_below(&l->in, 3)];
	const struct shape *s = &l->model.array[from].view.shape, none = {0};
	const struct op_arg arg = {l->model.array[from].view.dtype, false};
	int64_t *y, made = op == OP_CHOSEN_ALL;
	struct model_operand in, other;
	unsigned id = free_id(l);
	struct op_sig sig;

	if (!id)
		return;
	FUZZ_CHECK(!op_infer(&sig, op, &arg, DTYPE_END, NULL));
	begin(l);
	array_operand(l, &in, from);
	array_operand(l, &other, mask);
	array_operand(l, &other, ranks);
	if (!commit(l, op, NO_TYPE, id))
		return;
	y = model_read(&in, s, sig.in[0]);
	for (int64_t i = 0; i < s->dim[0]; i++) {
		if (x[i] && op == OP_CHOSEN_SUM)
			made = (int64_t)((uint64_t)made + (uint64_t)y[i]);
		else if (x[i])
			made = op == OP_CHOSEN_ANY ? made | (y[i] != 0) : made & (y[i] != 0);
	}
	model_write(model_new(&l->model, id, sig.out, &none), &made);
	free(y);
}

/* What a mask chooses: of an array that fits, perhaps reduced, or where. */
static inline void do_choose(struct life *l)
{
	unsigned mask = some_mask(l), ranks = free_id(l), from = some_id(l);
	struct model_operand in = {&l->model.array[mask], 0};
	const struct shape *s = &l->model.array[mask].view.shape, *of = NULL;
	int64_t *x, count = 0, n = 0;

	if (!mask || !ranks || model_count(s) * s->ndim > SPACE)
		return;
	n = model_count(s);
	x = model_read(&in, s, DT_BOOL);
	for (int64_t i = 0; i < n; i++)
		count += x[i];
	of = &l->model.array[from].view.shape;
	if (do_ranks(l, mask, ranks, count)) {
		if (of->ndim == 1 && n && of->dim[0] == n && fuzz_below(&l->in, 2))
			do_reduced(l, mask, ranks, from, x);
		else if (of->ndim > 0 && of->ndim < 3 && of->dim[0] == n)
			do_elements(l, mask, ranks, from, x, count);
		else
			do_places(l, mask, ranks, x, count);
	}
	free(x);
}

/* Random integers from a state of words in a row, which nobody names afterwards: other operations
 * would make floats of its type. */
static inline void do_draw(struct life *l)
{
	unsigned id = free_id(l), from = 0;
	struct model_operand in[2], of;
	uint64_t state[DRAW_LENGTH];
	struct shape s;
	int64_t *x;

	if (!id)
		return;
	begin(l);
	number_operand(l, &in[0], DT_UINT64, false);
	number_operand(l, &in[1], DT_UINT64, false);
	word(l, DRAW_LENGTH);
	if (!commit(l, OP_ARANGE, DT_UINT64, id))
		return;
	model_new(&l->model, id, DT_UINT64, &(struct shape){1, {DRAW_LENGTH}});
	for (unsigned k = 0; k < DRAW_LENGTH; k++)
		state[k] = (uint64_t)in[0].number + k * (uint64_t)in[1].number;
	from = id;
	id = free_id(l);
	some_shape(l, &s);
	begin(l);
	array_operand(l, &of, from);
	words_of_shape(l, &s);
	if (id && commit(l, OP_DRAW_INTEGERS, DT_INT64, id)) {
		x = xcalloc((size_t)model_count(&s) + 1, sizeof *x);
		draw_loop(&draw_isa_v2, OP_DRAW_INTEGERS, DT_INT64)(x, state, 0, model_count(&s));
		model_write(model_new(&l->model, id, DT_INT64, &s), x);
		free(x);
	}
	begin(l);
	array_operand(l, &of, from);
	FUZZ_CHECK(commit(l, OP_DROP, NO_TYPE, 0));
	model_drop(&l->model.array[from]);
}

/* One of them. */
static inline void do_call(struct life *l)
{
	static void (*const call[])(struct life *) = {do_scan, do_sort,	  do_join,   do_take,
						      do_draw, do_choose, do_matmul, do_search};

	call[fuzz_below(&l->in, sizeof call / sizeof call[0])](l);
}

#endif
