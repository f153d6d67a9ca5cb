/* SPDX-License-Identifier: Apache-2.0 */
/* A client's whole way in one process: recorded operations, demands, plans, jobs.
 *
 * In: a program, one decision a byte: operations on arrays of bool and integers,
 * views, overlapping copies, snapshots, drops, demands, and jobs that end well,
 * fail or are cancelled.  Each operation is recorded as columns and done at once
 * by the model; every value that the daemon calls stored must be the model's,
 * whatever was fused, recomputed, moved or written in place. */
#include <sys/mman.h>
#include <uv.h>

#include "model.h"
#include "model_run.h"
#include "nest/compilepart.h"
#include "run/job.h"
#include "trace/record.h"

#define ARENA	(1u << 20)
#define FLIGHT	3   /* jobs bound and not yet run */
#define TURNS	120 /* operations of a program */
#define SPACE	512 /* elements of an array */
#define NO_TYPE 255 /* in an op's head */

struct life {
	struct fuzz_input in;
	struct arena *arena;
	char *memory;
	struct trace trace;
	struct model model;
	struct job *flight[FLIGHT];
	unsigned nflight;
	/* The op under construction. */
	uint32_t head, out, operand[LIMIT_OPERANDS + 1];
	uint64_t imm[32];
	unsigned nin, nimm;
};

static struct device cpu = {.name = "cpu"};

static uv_loop_t loop;

/* ---- Recording ---- */

static void begin(struct life *l)
{
	l->nin = l->nimm = 0;
}

static void word(struct life *l, uint64_t w)
{
	l->imm[l->nimm++] = w;
}

static void words_of_shape(struct life *l, const struct shape *s)
{
	word(l, s->ndim);
	for (unsigned k = 0; k < s->ndim; k++)
		word(l, (uint64_t)s->dim[k]);
}

static bool commit(struct life *l, unsigned op, unsigned dtype, unsigned id)
{
	unsigned arity = op_row(op)->arity == OP_LIST ? OP_LIST : l->nin;
	uint32_t head = op | dtype << 16 | arity << 24 | (l->nimm > 15 ? 15 : l->nimm) << 28;
	uint32_t out = id;
	struct record_columns c = {1, 1, l->nin, l->nimm, &head, &out, l->operand, l->imm};
	struct err err = {0};
	enum status st = record_ops(&l->trace, &c, &err);

	FUZZ_CHECK(st == err.code || !st);
	FUZZ_CHECK(st != E_PROTOCOL && st != E_INTERNAL); /* we speak it well */
	return !st;
}

/* A free id, or 0. */
static unsigned free_id(const struct life *l)
{
	for (unsigned k = 1; k < MODEL_IDS; k++)
		if (!l->model.array[k].buffer)
			return k;
	return 0;
}

static unsigned some_id(struct life *l)
{
	unsigned from = fuzz_below(&l->in, MODEL_IDS);

	for (unsigned k = 0; k < MODEL_IDS; k++)
		if (l->model.array[(from + k) % MODEL_IDS].buffer)
			return (from + k) % MODEL_IDS;
	return 0;
}

static void array_operand(struct life *l, struct model_operand *o, unsigned id)
{
	l->operand[l->nin++] = id;
	*o = (struct model_operand){&l->model.array[id], 0};
}

static void number_operand(struct life *l, struct model_operand *o, unsigned dtype, bool weak)
{
	int64_t v = (int8_t)fuzz_byte(&l->in);

	v = dtype == DT_BOOL ? v & 1 : v;
	l->operand[l->nin++] = 1u << 31 | (uint32_t)weak << 8 | dtype;
	word(l, (uint64_t)v);
	*o = (struct model_operand){NULL, v};
}

static unsigned some_dtype(struct life *l)
{
	static const uint8_t types[] = {DT_INT64, DT_INT32, DT_INT8, DT_BOOL};

	return types[fuzz_below(&l->in, sizeof types)];
}

static void some_shape(struct life *l, struct shape *s)
{
	static const struct shape shapes[] = {{1, {24}},   {2, {4, 6}}, {2, {6, 4}}, {3, {2, 3, 4}},
					      {1, {6}},	   {1, {4}},	{2, {3, 4}}, {2, {4, 4}},
					      {2, {4, 1}}, {0, {0}},	{1, {1}},    {1, {0}},
					      {2, {3, 0}}, {1, {520}},	{2, {2, 17}}};

	*s = shapes[fuzz_below(&l->in, sizeof shapes / sizeof shapes[0])];
}

/* Operand k of a map, an array or (not the first) a number; widens the shape. */
static bool map_operand(struct life *l, unsigned k, struct model_operand *in, struct op_arg *arg,
			struct shape *shape)
{
	bool weak = fuzz_below(&l->in, 2), number = k && !fuzz_below(&l->in, 3);
	unsigned from;

	if (number) {
		*arg = (struct op_arg){(uint8_t)(weak ? DT_INT64 : some_dtype(l)), weak};
		number_operand(l, in, arg->dtype, weak);
		return true;
	}
	from = some_id(l);
	if (!from)
		return false;
	array_operand(l, in, from);
	*arg = (struct op_arg){in->array->view.dtype, false};
	if (k)
		return !shape_broadcast(shape, &in->array->view.shape, NULL);
	*shape = in->array->view.shape;
	return true;
}

static void do_map(struct life *l)
{
	static const uint8_t ops[] = {OP_ADD,	     OP_SUBTRACT,    OP_MULTIPLY, OP_MINIMUM,
				      OP_MAXIMUM,    OP_NEGATIVE,    OP_SQUARE,	  OP_LESS,
				      OP_LOGICAL_OR, OP_LOGICAL_AND, OP_WHERE,	  OP_CAST};
	unsigned op = ops[fuzz_below(&l->in, sizeof ops)], id = free_id(l);
	unsigned dtype = op == OP_CAST ? some_dtype(l) : NO_TYPE;
	struct model_operand in[3];
	struct op_arg arg[3];
	struct op_sig sig;
	struct shape shape;

	if (!id)
		return;
	begin(l);
	for (unsigned k = 0; k < op_row(op)->arity; k++)
		if (!map_operand(l, k, &in[k], &arg[k], &shape))
			return;
	if (model_count(&shape) > SPACE || op_infer(&sig, (enum op)op, arg, dtype, NULL))
		return;
	if (commit(l, op, dtype, id))
		model_map(&l->model, id, op, &sig, in, &shape);
}

static void do_reduction(struct life *l)
{
	static const uint8_t ops[] = {OP_SUM, OP_MAX, OP_MIN, OP_PROD, OP_ANY, OP_ALL};
	unsigned op = ops[fuzz_below(&l->in, sizeof ops)], id = free_id(l), from = some_id(l);
	const struct model_array *a = &l->model.array[from];
	bool keep = fuzz_below(&l->in, 2);
	struct model_operand in;
	struct op_sig sig;
	struct op_arg arg;
	uint32_t axes;

	if (!id || !from)
		return;
	axes = fuzz_byte(&l->in) & ((1u << a->view.shape.ndim) - 1);
	arg = (struct op_arg){a->view.dtype, false};
	begin(l);
	array_operand(l, &in, from);
	word(l, axes | (uint64_t)keep << 32);
	if (!op_infer(&sig, (enum op)op, &arg, DTYPE_END, NULL) && commit(l, op, NO_TYPE, id))
		model_reduce(&l->model, id, op, &sig, a, axes, keep);
}

static void do_scan(struct life *l)
{
	static const uint8_t step[] = {OP_SUM, OP_PROD, OP_MIN, OP_MAX};
	unsigned op = OP_CUMSUM + fuzz_below(&l->in, 4), id = free_id(l), from = some_id(l), axis;
	const struct shape *s = &l->model.array[from].view.shape;
	int64_t *x, inner = 1, count = model_count(s);
	struct model_operand in;
	struct op_arg arg;
	struct op_sig sig;

	if (!id || !from || !s->ndim)
		return;
	axis = fuzz_below(&l->in, s->ndim);
	arg = (struct op_arg){l->model.array[from].view.dtype, false};
	begin(l);
	array_operand(l, &in, from);
	word(l, axis);
	if (op_infer(&sig, (enum op)op, &arg, DTYPE_END, NULL) || !commit(l, op, NO_TYPE, id))
		return;
	for (unsigned k = axis + 1; k < s->ndim; k++)
		inner *= s->dim[k];
	x = model_read(&in, s, sig.in[0]);
	for (int64_t i = 0; i < count; i++)
		if (i / inner % s->dim[axis])
			x[i] = exec_op(step[op - OP_CUMSUM], sig.out, x[i - inner], x[i], 0);
	model_write(model_new(&l->model, id, sig.out, s), x);
	free(x);
}

/* What do_join made: n arrays of shape s, each with `inner` elements of a row of the result. */
static void model_join(struct life *l, unsigned id, unsigned dtype, const struct shape *made,
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
static void join_operands(struct life *l, struct model_operand *in, unsigned n, unsigned first)
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
static void do_join(struct life *l)
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

/* Where point `at` of a result of shape s lies in the leading axes of `from`, as a
 * number of rows of its last axis. */
static int64_t row_of(const struct shape *from, const struct shape *s, int64_t at)
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
static void do_take(struct life *l)
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

static void do_matmul(struct life *l)
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
static unsigned some_mask(struct life *l)
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

static bool do_ranks(struct life *l, unsigned mask, unsigned id, int64_t count)
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
static void do_elements(struct life *l, unsigned mask, unsigned ranks, unsigned from,
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

static void do_places(struct life *l, unsigned mask, unsigned ranks, const int64_t *x,
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

/* What a mask chooses: of an array that fits, or where. */
static void do_choose(struct life *l)
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
		if (of->ndim > 0 && of->ndim < 3 && of->dim[0] == n)
			do_elements(l, mask, ranks, from, x, count);
		else
			do_places(l, mask, ranks, x, count);
	}
	free(x);
}

/* FULL or ARANGE; EMPTY with what fills it at once. */
static void do_creation(struct life *l)
{
	static const uint8_t ops[] = {OP_FULL, OP_ARANGE, OP_EMPTY};
	unsigned op = ops[fuzz_below(&l->in, 3)], dtype = some_dtype(l), id = free_id(l);
	struct model_operand in[2] = {{NULL, 0}, {NULL, 0}}, fill;
	struct shape s;
	int64_t *x, n;

	if (!id)
		return;
	dtype = op == OP_ARANGE && dtype == DT_BOOL ? DT_INT8 : dtype;
	some_shape(l, &s);
	begin(l);
	for (unsigned k = 0; k < op_row(op)->arity; k++)
		number_operand(l, &in[k], dtype, false);
	if (op == OP_ARANGE) {
		n = fuzz_below(&l->in, 40);
		s = (struct shape){1, {n}};
		word(l, (uint64_t)n);
	} else {
		words_of_shape(l, &s);
	}
	if (!commit(l, op, dtype, id))
		return;
	n = model_count(&s);
	x = xcalloc((size_t)n + 1, sizeof *x);
	for (int64_t i = 0; i < n; i++)
		x[i] = in[0].number + i * in[1].number;
	model_write(model_new(&l->model, id, dtype, &s), x);
	free(x);
	if (op != OP_EMPTY)
		return;
	begin(l);
	array_operand(l, &fill, id);
	number_operand(l, &fill, DT_INT64, true);
	FUZZ_CHECK(commit(l, OP_ASSIGN, NO_TYPE, 0));
	model_assign(&l->model.array[id], &fill);
}

static void do_assign(struct life *l)
{
	unsigned to = some_id(l), from = some_id(l);
	struct model_array *a = &l->model.array[to];
	struct model_operand in;

	/* Elements that share memory are written in no order; a snapshot never is. */
	for (unsigned k = 0; to && k < a->view.shape.ndim; k++)
		if (!a->view.stride[k] && a->view.shape.dim[k] > 1)
			return;
	if (!to || a->frozen)
		return;
	begin(l);
	array_operand(l, &in, to);
	if (fuzz_below(&l->in, 4))
		array_operand(l, &in, from);
	else
		number_operand(l, &in, DT_INT64, true);
	if (commit(l, OP_ASSIGN, NO_TYPE, 0))
		model_assign(a, &in);
}

/* A slice, a transpose, a broadcast: whatever lies inside the view it is made of. */
static void do_view(struct life *l)
{
	unsigned id = free_id(l), from = some_id(l);
	struct model_array *a = &l->model.array[from], *b = &l->model.array[id];
	struct model_operand in;
	struct view v;

	if (!id || !from)
		return;
	v = a->view;
	for (unsigned k = 0; k < v.shape.ndim; k++) {
		int64_t n = v.shape.dim[k], first = n ? fuzz_below(&l->in, (unsigned)n) % n : 0;
		int64_t step = 1 + fuzz_below(&l->in, 3),
			count = n ? (n - first + step - 1) / step : 0;

		v.offset += first * v.stride[k];
		v.stride[k] *= step;
		v.shape.dim[k] = count;
		if (fuzz_below(&l->in, 3) == 2 && count) {
			v.offset += (count - 1) * v.stride[k];
			v.stride[k] = -v.stride[k];
		}
	}
	if (v.shape.ndim > 1 && fuzz_below(&l->in, 2)) {
		int64_t n = v.shape.dim[0], s = v.stride[0];

		v.shape.dim[0] = v.shape.dim[1];
		v.stride[0] = v.stride[1];
		v.shape.dim[1] = n;
		v.stride[1] = s;
	}
	begin(l);
	array_operand(l, &in, from);
	word(l, v.shape.ndim);
	word(l, (uint64_t)v.offset);
	for (unsigned k = 0; k < v.shape.ndim; k++)
		word(l, (uint64_t)v.shape.dim[k]);
	for (unsigned k = 0; k < v.shape.ndim; k++)
		word(l, (uint64_t)v.stride[k]);
	if (!commit(l, OP_VIEW, v.dtype, id))
		return;
	*b = (struct model_array){a->buffer, v, a->frozen};
	b->buffer->refs++;
}

static void do_pin(struct life *l)
{
	unsigned id = free_id(l), from = some_id(l);
	struct model_array *a = &l->model.array[from], *b = &l->model.array[id];
	struct model_operand in;

	if (!id || !from)
		return;
	begin(l);
	array_operand(l, &in, from);
	if (!commit(l, OP_PIN, NO_TYPE, id))
		return;
	*b = (struct model_array){model_buffer(a->buffer->bytes), a->view, true};
	memcpy(b->buffer->data, a->buffer->data, a->buffer->bytes);
}

static void do_drop(struct life *l)
{
	unsigned id = some_id(l);
	struct model_operand in;

	if (!id)
		return;
	begin(l);
	array_operand(l, &in, id);
	FUZZ_CHECK(commit(l, OP_DROP, NO_TYPE, 0));
	model_drop(&l->model.array[id]);
}

/* ---- Running ---- */

/* Every array whose value is stored has the model's elements. */
static void compare(struct life *l)
{
	for (unsigned id = 1; id < MODEL_IDS; id++) {
		const struct model_array *m = &l->model.array[id];
		const struct array *a = trace_array(&l->trace, id);
		const struct shape *s = &m->view.shape;
		int64_t index[LIMIT_NDIM] = {0};
		const struct version *v;

		FUZZ_CHECK(!a == !m->buffer);
		v = a ? trace_current(a) : NULL;
		if (!v || v->state != VERSION_STORED || !model_count(s))
			continue;
		do {
			char *got = l->memory + v->storage->extent.offset;
			int64_t x = exec_get(exec_at(got, &m->view, index), m->view.dtype);

			FUZZ_CHECK(x == exec_get(exec_at(m->buffer->data, &m->view, index),
						 m->view.dtype));
		} while (exec_next(index, s->dim, s->ndim));
	}
}

static enum job_end inputs(const struct job *j, struct err *err)
{
	const struct part *p = &j->partition->part;

	for (uint32_t k = 0; k < p->nvalue; k++) {
		const struct version *v = j->partition->value[k];

		if (p->value[k].role != PART_INPUT || v->state == VERSION_STORED)
			continue;
		if (v->state == VERSION_FAILED)
			*err = *v->error;
		return v->state == VERSION_FAILED ? JOB_FAILED : JOB_CANCELLED;
	}
	return JOB_DONE;
}

/* The oldest job runs, unless what it reads never came, or it is unlucky. */
static void finish_one(struct life *l, bool lucky)
{
	struct job *j = l->flight[0];
	struct plan *plan = j->run.plan;
	struct err err = {E_LOST, "unlucky"};
	enum job_end end = inputs(j, &err);
	unsigned luck = fuzz_byte(&l->in);
	char *slot[4096];

	memmove(l->flight, l->flight + 1, --l->nflight * sizeof l->flight[0]);
	if (end == JOB_DONE && !lucky && luck < 16)
		end = luck % 2 ? JOB_FAILED : JOB_CANCELLED;
	if (end == JOB_DONE) {
		FUZZ_CHECK(plan->nslot <= sizeof slot / sizeof slot[0]);
		for (uint32_t s = 0; s < plan->nslot; s++)
			slot[s] = l->memory + j->place[s].offset;
		model_run(plan, &j->partition->part, slot, (enum model_way)(luck % MODEL_WAYS));
	}
	job_settle(j, &l->trace, end, &err);
	job_free(j, &l->trace);
	plan_free(plan);
	compare(l);
}

static void ignore(void *data, const char *pass, const char *text)
{
	(void)data;
	(void)pass;
	(void)text;
}

/* False: nothing was pending. */
static bool launch(struct life *l, struct version *const *want, size_t n, bool unfused)
{
	struct job *j = xcalloc(1, sizeof *j);
	struct plan *plan = NULL;
	struct err err = {0};
	enum status st;

	demand_partition(&j->partition, &l->trace, want, n, unfused);
	if (!j->partition) {
		free(j);
		return false;
	}
	st = compilepart_run(&plan, &j->partition->part, NULL, ignore, NULL, &err);
	if (st == E_UNSUPPORTED) {
		job_settle(j, &l->trace, JOB_FAILED, &err);
		job_free(j, &l->trace);
		return true;
	}
	if (st)
		fprintf(stderr, "%s\n", err.text);
	FUZZ_CHECK(!st);
	/* As the pipeline does: an input that failed or was cancelled ends the job. */
	for (uint32_t k = 0; k < j->partition->part.nvalue && !st; k++)
		if (j->partition->part.value[k].role == PART_INPUT &&
		    !j->partition->value[k]->storage)
			st = E_CANCELLED;
	j->run.plan = plan;
	j->device = &cpu;
	if (!st)
		st = job_bind(j, &l->trace, 1, &err);
	if (st) {
		job_settle(j, &l->trace, JOB_CANCELLED, &err);
		job_free(j, &l->trace);
		plan_free(plan);
		return false;
	}
	if (l->nflight == FLIGHT)
		finish_one(l, false);
	l->flight[l->nflight++] = j;
	return true;
}

static void do_demand(struct life *l)
{
	unsigned how = fuzz_below(&l->in, 8), n = 1 + fuzz_below(&l->in, 3);
	struct version *want[3];

	for (unsigned k = 0; k < n; k++) {
		unsigned id = some_id(l);

		if (!id)
			return;
		want[k] = trace_current(trace_array(&l->trace, id));
	}
	launch(l, want, n, how & 1);
	if (how & 2)
		while (l->nflight)
			finish_one(l, false);
}

/* Random integers from a state of words in a row, which nobody names afterwards: other operations
 * would make floats of its type. */
static void do_draw(struct life *l)
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

/* What a fence and a trace that grew too long ask for. */
static void do_cut(struct life *l)
{
	unsigned id = some_id(l), readers = fuzz_below(&l->in, 2);
	struct version **want;
	size_t n;

	if (!id)
		return;
	want = readers ? demand_readers(&l->trace, trace_current(trace_array(&l->trace, id)), &n)
		       : demand_cut(&l->trace, &n);
	launch(l, want, n, false);
	while (n--)
		version_unref(&l->trace, want[n]);
	free(want);
}

/* ---- A program ---- */

static void turn(struct life *l)
{
	unsigned kind = fuzz_below(&l->in, 32);

	if (kind < 10)
		do_map(l);
	else if (kind < 12)
		do_reduction(l);
	else if (kind < 13)
		do_scan(l);
	else if (kind < 17)
		do_assign(l);
	else if (kind < 20)
		do_creation(l);
	else if (kind < 23)
		do_view(l);
	else if (kind < 24)
		do_matmul(l);
	else if (kind < 25 && fuzz_below(&l->in, 2))
		do_take(l);
	else if (kind < 25 && fuzz_below(&l->in, 2))
		do_join(l);
	else if (kind < 25 && fuzz_below(&l->in, 2))
		do_choose(l);
	else if (kind < 25 && fuzz_below(&l->in, 2))
		do_draw(l);
	else if (kind < 25)
		do_pin(l);
	else if (kind < 28)
		do_drop(l);
	else if (kind < 31)
		do_demand(l);
	else
		do_cut(l);
}

/* In the end everything can be read, but for what failed. */
static void read_all(struct life *l)
{
	while (l->nflight)
		finish_one(l, true);
	for (unsigned id = 1; id < MODEL_IDS; id++) {
		struct version *v;

		if (!l->model.array[id].buffer)
			continue;
		v = trace_current(trace_array(&l->trace, id));
		while (launch(l, &v, 1, false) || l->nflight)
			while (l->nflight)
				finish_one(l, true);
		FUZZ_CHECK(v->state == VERSION_STORED || v->state == VERSION_FAILED);
	}
	compare(l);
}

static void close_life(struct life *l)
{
	struct arena_stats stats;

	for (unsigned id = 1; id < MODEL_IDS; id++)
		if (l->model.array[id].buffer)
			model_drop(&l->model.array[id]);
	trace_finish(&l->trace);
	FUZZ_CHECK(!l->trace.npending);
	FUZZ_CHECK(!l->trace.held_bytes);
	arena_get_stats(l->arena, &stats);
	FUZZ_CHECK(stats.live_bytes == stats.leased_bytes);
	munmap(l->memory, ARENA);
	arena_destroy(l->arena);
	uv_run(&loop, UV_RUN_DEFAULT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	struct life l = {.in = {data, size}};
	struct err err;

	if (!started)
		uv_loop_init(&loop);
	started = true;
	FUZZ_CHECK(!arena_create(&l.arena, &loop, ARENA, &err));
	l.memory = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd(l.arena), 0);
	FUZZ_CHECK(l.memory != MAP_FAILED && arena_bytes(l.arena) == ARENA);
	trace_init(&l.trace, l.arena, 0);
	for (int k = 0; k < TURNS && l.in.left; k++)
		turn(&l);
	read_all(&l);
	close_life(&l);
	return 0;
}
