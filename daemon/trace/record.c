/* SPDX-License-Identifier: Apache-2.0 */
/* One function per kind of op; the table says which. */
#include "cursor.h"

#include <string.h>

#include "imm.h"

static enum status short_column(struct cursor *k, const char *which)
{
	return err_set(k->err, E_PROTOCOL, "op %zu (%s): the %s column ends early", k->i,
		       k->row->id, which);
}

enum status record_imm(struct cursor *k, uint64_t *out)
{
	if (k->imm >= k->c->nimm)
		return short_column(k, "imm");
	*out = k->c->imm[k->imm++];
	return OK;
}

enum status record_shape(struct cursor *k, struct shape *s)
{
	uint64_t n = 0, d = 0;

	memset(s, 0, sizeof *s);
	if (record_imm(k, &n))
		return E_PROTOCOL;
	if (n > LIMIT_NDIM)
		return err_set(k->err, E_LIMIT, "%s: %llu dimensions, at most %d are possible",
			       k->row->id, (unsigned long long)n, LIMIT_NDIM);
	s->ndim = (uint8_t)n;
	for (unsigned i = 0; i < n; i++) {
		if (record_imm(k, &d))
			return E_PROTOCOL;
		s->dim[i] = (int64_t)d;
	}
	return OK;
}

enum status record_operand(struct cursor *k, struct source *s)
{
	uint32_t word;

	if (k->in >= k->c->nin)
		return short_column(k, "in");
	word = k->c->in[k->in++];
	s->array = NULL;
	s->arg.weak = false;
	if (!(word >> 31)) {
		s->array = trace_array(k->t, word);
		if (!s->array)
			return err_set(k->err, E_UNKNOWN_ARRAY, "op %zu (%s): no array has id %u",
				       k->i, k->row->id, word);
		s->arg.dtype = s->array->view.dtype;
		return OK;
	}
	s->arg.dtype = (uint8_t)word;
	s->arg.weak = word >> 8 & 1;
	if (!dtype_native(s->arg.dtype) || (word & 0x7ffffe00u))
		return err_set(k->err, E_PROTOCOL, "op %zu (%s): bad immediate", k->i, k->row->id);
	for (unsigned w = 0; w < imm_words((enum dtype)s->arg.dtype); w++)
		if (record_imm(k, &s->imm[w]))
			return E_PROTOCOL;
	return OK;
}

/* The number of operands of an operation on a list stands before them. */
enum status record_count(struct cursor *k, unsigned *n)
{
	if (k->in >= k->c->nin)
		return short_column(k, "in");
	*n = k->c->in[k->in++];
	if (!*n || *n > LIMIT_OPERANDS)
		return err_set(k->err, E_LIMIT, "op %zu (%s): %u operands, 1 to %d are possible",
			       k->i, k->row->id, *n, LIMIT_OPERANDS);
	return OK;
}

/* An immediate is cast to the loop's dtype. */
void record_set_operand(struct operand *o, const struct source *s, struct version *v,
			enum dtype loop)
{
	o->version = v;
	if (s->array) {
		view_copy(&o->view, &s->array->view);
		return;
	}
	o->view.dtype = (uint8_t)loop;
	o->view.shape.ndim = 0;
	imm_cast(o->imm, loop, s->imm, (enum dtype)s->arg.dtype);
}

/* Beside arrays of bfloat16, where that is the common type, a number is one of it before it is one
 * of the loop's. */
static void round_numbers(struct op_sig *sig, const struct source *src, const struct op_arg *arg,
			  int first, int n)
{
	bool brain = false;

	if (sig->in[first] != DT_FLOAT32)
		return;
	for (int j = first; j < n; j++)
		brain |= arg[j].dtype == DT_BFLOAT16;
	if (!brain || dtype_common(arg + first, n - first) != DT_BFLOAT16)
		return;
	for (int j = first; j < n; j++)
		if (!src[j].array)
			sig->in[j] = DT_BFLOAT16;
}

static struct node *new_node(struct cursor *k, const struct source *src, const struct op_sig *sig,
			     int nin)
{
	struct node *n = trace_node(k->t, nin);

	n->op = k->op;
	n->dtype = k->dtype;
	for (int j = 0; j < nin; j++)
		record_set_operand(&n->in[j], &src[j],
				   src[j].array ? version_ref(trace_current(src[j].array)) : NULL,
				   (enum dtype)sig->in[j < OP_OPERANDS ? j : OP_OPERANDS - 1]);
	k->t->stats.ops++;
	return n;
}

/* The node makes a new array k->out: `made` is its version's own C-contiguous
 * view, `named` the view the array has of it. */
static enum status define_result(struct cursor *k, struct node *n, const struct view *made,
				 const struct view *named, int64_t count)
{
	uint64_t bytes = (uint64_t)count * dtype_row(made->dtype)->bytes;
	struct version *v = version_create(k->t, bytes, VERSION_PENDING);

	v->home = k->t->home;
	n->out = v;
	view_copy(&n->view, made);
	v->node = n;
	return trace_define(k->t, k->out, named, bytes, v, k->err);
}

enum status record_result(struct cursor *k, const struct source *src, const struct op_sig *sig,
			  int nin, const struct shape *shape)
{
	struct view v;
	int64_t count;
	enum status st = shape_count(&count, shape, dtype_row(sig->out)->bytes, k->err);

	if (st)
		return st;
	view_init(&v, (enum dtype)sig->out, shape);
	return define_result(k, new_node(k, src, sig, nin), &v, &v, count);
}

static enum status record_elementwise(struct cursor *k)
{
	struct source src[3];
	struct op_arg arg[3] = {{0}};
	struct op_sig sig;
	const struct shape *first = NULL;
	struct shape shape;
	bool all = true; /* have the first one's shape */
	enum status st = OK;

	for (int j = 0; j < k->row->arity; j++) {
		st = record_operand(k, &src[j]);
		if (!st && src[j].array) {
			const struct shape *s = &src[j].array->view.shape;

			if (!first)
				first = s;
			else if (!shape_equal(first, s))
				all = false;
		}
		if (st)
			return st;
		arg[j] = src[j].arg;
	}
	st = op_infer(&sig, (enum op)k->op, arg, k->dtype, k->err);
	if (!st)
		round_numbers(&sig, src, arg, k->op == OP_WHERE, k->row->arity);
	if (!st && all && first)
		return record_result(k, src, &sig, k->row->arity, first);
	shape.ndim = 0;
	for (int j = 0; j < k->row->arity && !st; j++)
		if (src[j].array)
			st = shape_broadcast(&shape, &src[j].array->view.shape, k->err);
	return st ? st : record_result(k, src, &sig, k->row->arity, &shape);
}

static enum status record_reduction(struct cursor *k)
{
	struct source src;
	struct op_sig sig;
	struct shape kept, shown;
	struct view made, named;
	uint64_t attr = 0;
	int64_t count, in_count;
	struct node *n;
	enum status st = record_operand(k, &src);

	if (!st)
		st = record_imm(k, &attr);
	if (!st && (!src.array || attr >> 33))
		st = err_set(k->err, E_PROTOCOL, "%s: bad operand or axes", k->row->id);
	if (!st && k->dtype != 255 && !dtype_native(k->dtype))
		st = err_set(k->err, E_DTYPE, "%s: bad accumulator type", k->row->numpy);
	if (!st)
		st = op_infer(&sig, (enum op)k->op, &src.arg, k->dtype, k->err);
	if (!st)
		st = shape_reduce(&kept, &src.array->view.shape, (uint32_t)attr, false, k->err);
	if (!st)
		st = shape_reduce(&shown, &src.array->view.shape, (uint32_t)attr, attr >> 32,
				  k->err);
	if (!st)
		st = shape_count(&count, &kept, dtype_row(sig.out)->bytes, k->err);
	if (!st)
		st = shape_count(&in_count, &src.array->view.shape, 1, k->err);
	if (st)
		return st;
	if (!in_count && count && k->op != OP_SUM && k->op != OP_PROD && k->op != OP_ANY &&
	    k->op != OP_ALL)
		return err_set(k->err, E_INVALID,
			       "zero-size array to reduction operation %s which has no identity",
			       k->row->numpy);
	view_init(&made, (enum dtype)sig.out, &kept);
	view_init(&named, (enum dtype)sig.out, &shown);
	n = new_node(k, &src, &sig, 1);
	n->axes = (uint32_t)attr;
	return define_result(k, n, &made, &named, count);
}

static enum status record_along(struct cursor *k)
{
	struct source src;
	struct op_sig sig;
	uint64_t axis = 0;
	struct version *v;
	enum status st = record_operand(k, &src);

	if (!st)
		st = record_imm(k, &axis);
	if (!st && (!src.array || axis >= src.array->view.shape.ndim))
		st = err_set(k->err, E_PROTOCOL, "%s: bad operand or axis", k->row->id);
	if (!st && k->dtype != 255 && !dtype_native(k->dtype))
		st = err_set(k->err, E_DTYPE, "%s: bad accumulator type", k->row->numpy);
	if (!st)
		st = op_infer(&sig, (enum op)k->op, &src.arg, k->dtype, k->err);
	if (!st)
		st = record_result(k, &src, &sig, 1, &src.array->view.shape);
	if (st)
		return st;
	v = trace_current(trace_array(k->t, k->out));
	if (v->node)
		v->node->axes = 1u << axis;
	return OK;
}

/* places, size, where in the client's program: what is wrong is reported by these. */
static enum status record_index(struct cursor *k)
{
	struct source src[2];
	struct op_arg arg[2];
	struct op_sig sig;
	struct version *v;
	uint64_t site = 0;
	enum status st = record_operand(k, &src[0]);

	if (!st)
		st = record_operand(k, &src[1]);
	if (!st)
		st = record_imm(k, &site);
	if (st)
		return st;
	/* The size is a number of the plan's, by which a failure finds its operation. */
	if (!src[0].array || src[1].array || k->dtype >= LIMIT_NDIM || site > UINT32_MAX)
		return err_set(k->err, E_PROTOCOL, "INDEX: bad operands");
	arg[0] = src[0].arg;
	arg[1] = src[1].arg;
	st = op_infer(&sig, OP_INDEX, arg, k->dtype, k->err);
	if (!st && (int64_t)src[1].imm[0] < 1)
		st = err_set(k->err, E_INDEX, "an axis of size %lld has no element to take",
			     (long long)src[1].imm[0]);
	if (!st)
		st = record_result(k, src, &sig, 2, &src[0].array->view.shape);
	if (st)
		return st;
	v = trace_current(trace_array(k->t, k->out));
	v->node->axes = (uint32_t)site;
	return OK;
}

/* The source's last axis is the one that places count along; the others broadcast
 * with the places. */
static enum status record_take(struct cursor *k)
{
	struct source src[2];
	struct op_arg arg[2];
	struct op_sig sig;
	struct shape shape;
	int64_t count;
	enum status st = record_operand(k, &src[0]);

	if (!st)
		st = record_operand(k, &src[1]);
	if (!st && (!src[0].array || !src[1].array || !src[0].array->view.shape.ndim))
		st = err_set(k->err, E_PROTOCOL, "TAKE: bad operands");
	if (st)
		return st;
	arg[0] = src[0].arg;
	arg[1] = src[1].arg;
	st = op_infer(&sig, OP_TAKE, arg, k->dtype, k->err);
	shape = src[0].array->view.shape;
	shape.ndim--;
	if (!st)
		st = shape_broadcast(&shape, &src[1].array->view.shape, k->err);
	if (!st)
		st = shape_count(&count, &shape, 1, k->err);
	if (!st && count && !src[0].array->view.shape.dim[src[0].array->view.shape.ndim - 1])
		st = err_set(k->err, E_INDEX, "cannot do a non-empty take from an empty axes.");
	return st ? st : record_result(k, src, &sig, 2, &shape);
}

static enum status record_create(struct cursor *k)
{
	struct source src[2];
	struct op_arg none = {0};
	struct op_sig sig;
	struct shape shape = {0};
	uint64_t n = 0;
	enum status st = OK;

	for (int j = 0; j < k->row->arity && !st; j++) {
		st = record_operand(k, &src[j]);
		if (!st && src[j].array)
			st = err_set(k->err, E_PROTOCOL, "%s of an array", k->row->id);
	}
	if (!st && !dtype_native(k->dtype))
		st = err_set(k->err, E_DTYPE, "%s: no such type", k->row->id);
	if (!st)
		st = op_infer(&sig, (enum op)k->op, &none, k->dtype, k->err);
	if (!st && k->op == OP_ARANGE) {
		st = record_imm(k, &n);
		shape.ndim = 1;
		shape.dim[0] = st ? 0 : (int64_t)n;
	} else if (!st) {
		st = record_shape(k, &shape);
	}
	return st ? st : record_result(k, src, &sig, k->row->arity, &shape);
}

/* Does the view cover every byte of a buffer of so many bytes? */
static bool covers(const struct view *v, uint64_t bytes)
{
	int64_t n;

	return view_contiguous(v) && !v->offset &&
	       !shape_count(&n, &v->shape, dtype_row(v->dtype)->bytes, NULL) &&
	       (uint64_t)n * dtype_row(v->dtype)->bytes == bytes;
}

void record_new_version(struct cursor *k, struct node *n, struct buffer *b)
{
	struct version *v = version_create(k->t, b->bytes, VERSION_PENDING);

	v->home = k->t->home;
	v->node = n;
	n->out = v;
	trace_supersede(k->t, b, v);
}

static enum status record_assign(struct cursor *k)
{
	struct source dst, src;
	struct op_sig sig;
	struct view cast;
	struct version *old;
	struct node *n;
	enum status st = record_operand(k, &dst);

	if (!st)
		st = record_operand(k, &src);
	if (!st && !dst.array)
		st = err_set(k->err, E_PROTOCOL, "assignment to a number");
	if (!st && dst.array->frozen)
		st = err_set(k->err, E_READONLY, "assignment destination is read-only");
	if (!st && src.array)
		st = view_broadcast(&cast, &src.array->view, &dst.array->view.shape, k->err);
	if (st)
		return st;
	memset(&sig, 0, sizeof sig);
	sig.in[0] = sig.out = dst.arg.dtype;
	n = new_node(k, &src, &sig, 1);
	n->view = dst.array->view;
	old = dst.array->buffer->current;
	if (!covers(&n->view, dst.array->buffer->bytes))
		n->prev = version_ref(old);
	record_new_version(k, n, dst.array->buffer);
	return OK;
}

static struct version *copy_of(struct trace *t, struct version *v, const struct view *from,
			       const struct view *to, uint64_t bytes)
{
	struct version *copy = version_create(t, bytes, VERSION_PENDING);
	struct node *n = trace_node(t, 1);

	n->op = OP_CAST;
	n->dtype = to->dtype;
	view_copy(&n->view, to);
	view_copy(&n->in[0].view, from);
	n->in[0].version = version_ref(v);
	n->out = copy;
	copy->node = n;
	return copy;
}

struct version *record_copy(struct trace *t, struct version *v)
{
	/* Eight bytes at a time where the size allows, so the copy is a plain loop. */
	enum dtype d = v->bytes % 8 ? DT_UINT8 : DT_UINT64;
	struct shape s = {.ndim = 1, .dim = {(int64_t)(v->bytes / dtype_row(d)->bytes)}};
	struct view all;

	view_init(&all, d, &s);
	return copy_of(t, v, &all, &all, v->bytes);
}

struct version *record_packed(struct trace *t, struct version *v, struct view *view)
{
	struct view from = *view;
	uint64_t bytes = dtype_row(view->dtype)->bytes;

	for (unsigned i = 0; i < view->shape.ndim; i++)
		bytes *= (uint64_t)view->shape.dim[i];
	view_init(view, (enum dtype)from.dtype, &from.shape);
	return copy_of(t, v, &from, view, bytes);
}

/* What touches no byte may have come with any stride and offset, and planning
 * multiplies them all the same. */
static void forget_strides(struct view *v)
{
	for (unsigned i = 0; i < v->shape.ndim; i++)
		if (!v->shape.dim[i]) {
			memset(v->stride, 0, sizeof v->stride);
			v->offset = 0;
			return;
		}
}

static enum status record_view(struct cursor *k)
{
	struct source src;
	struct view v = {.dtype = k->dtype};
	uint64_t word = 0;
	uint64_t n = 0;
	enum status st = record_operand(k, &src);

	if (!st && !src.array)
		st = err_set(k->err, E_PROTOCOL, "view of a number");
	if (!st)
		st = record_imm(k, &n);
	if (!st && n > LIMIT_NDIM)
		st = err_set(k->err, E_LIMIT, "view with more than %d dimensions", LIMIT_NDIM);
	if (!st)
		st = record_imm(k, &word);
	if (st)
		return st;
	v.offset = (int64_t)word;
	v.shape.ndim = (uint8_t)n;
	for (unsigned i = 0; i < 2 * n; i++) {
		st = record_imm(k, &word);
		if (st)
			return st;
		if (i < n)
			v.shape.dim[i] = (int64_t)word;
		else
			v.stride[i - n] = (int64_t)word;
	}
	st = view_retype(&v, (enum dtype)src.array->view.dtype, k->err);
	if (!st)
		st = view_check(&v, trace_current(src.array)->bytes, k->err);
	if (st)
		return st;
	forget_strides(&v);
	return trace_define_view(k->t, k->out, src.array, &v, k->err);
}

static enum status record_import(struct cursor *k)
{
	struct shape shape;
	struct extent e;
	struct view view;
	struct version *v;
	struct storage *s;
	uint64_t offset = 0;
	int64_t count;
	enum status st = record_imm(k, &offset);

	if (!st)
		st = record_shape(k, &shape);
	if (!st && !dtype_native(k->dtype))
		st = err_set(k->err, E_DTYPE, "import of an unknown type");
	if (!st)
		st = shape_count(&count, &shape, dtype_row(k->dtype)->bytes, k->err);
	if (st)
		return st;
	view_init(&view, (enum dtype)k->dtype, &shape);
	count *= dtype_row(k->dtype)->bytes;
	if (count) {
		st = arena_import(k->t->arena, &e, offset, (uint64_t)count, k->err);
		if (st)
			return st;
		s = storage_adopt(k->t, &e, (uint64_t)count);
	} else {
		s = storage_create(k->t, 0, HOME_ARENA, k->err);
		if (!s)
			return E_NOMEM;
	}
	v = version_create(k->t, (uint64_t)count, VERSION_PENDING);
	version_attach(k->t, v, s);
	version_store(k->t, v);
	return trace_define(k->t, k->out, &view, (uint64_t)count, v, k->err);
}

/* The client wrote into the buffer after a fence: a new value in the same place. */
static enum status record_dirty(struct cursor *k, struct array *a)
{
	struct version *old, *v;

	if (a->frozen)
		return err_set(k->err, E_READONLY, "write to a snapshot");
	old = a->buffer->current;
	if (old->state != VERSION_STORED)
		return err_set(k->err, E_PROTOCOL, "array was written without a fence");
	old->storage->plan = 0;
	v = version_create(k->t, old->bytes, VERSION_PENDING);
	version_attach(k->t, v, storage_ref(old->storage));
	version_store(k->t, v);
	trace_supersede(k->t, a->buffer, v);
	return OK;
}

static enum status record_control(struct cursor *k)
{
	struct source src;
	enum status st;

	if (k->op == OP_IMPORT)
		return record_import(k);
	if (k->op == OP_DROP) {
		if (k->in >= k->c->nin)
			return short_column(k, "in");
		return trace_drop(k->t, k->c->in[k->in++], k->err);
	}
	st = record_operand(k, &src);
	if (!st && !src.array)
		st = err_set(k->err, E_PROTOCOL, "%s of a number", k->row->id);
	if (st)
		return st;
	if (k->op == OP_PIN)
		return trace_define_frozen(k->t, k->out, src.array, k->err);
	return record_dirty(k, src.array);
}

static enum status record_each(struct cursor *k)
{
	return k->op == OP_INDEX ? record_index(k) : record_elementwise(k);
}

static enum status record_one(struct cursor *k)
{
	static enum status (*const of_kind[])(struct cursor * k) = {
		[KIND_EW] = record_each,	  [KIND_RED] = record_reduction,
		[KIND_ARGRED] = record_reduction, [KIND_SCAN] = record_along,
		[KIND_SORT] = record_along,	  [KIND_LIB] = record_library,
		[KIND_GATHER] = record_take,	  [KIND_JOIN] = record_join,
		[KIND_CREATE] = record_create,	  [KIND_DRAW] = record_draw,
		[KIND_WRITE] = record_assign,	  [KIND_MOVE] = record_view,
		[KIND_CTL] = record_control,	  [KIND_SEARCH] = record_search,
		[KIND_CHOSEN] = record_chosen,	  [KIND_FOURIER] = record_fourier,
		[KIND_LANE] = record_along,	  [KIND_SOLVER] = record_solver,
		[KIND_GRID] = record_grid,
	};

	if (k->row->kind >= sizeof of_kind / sizeof *of_kind)
		return err_set(k->err, E_INTERNAL, "op of no kind");
	return of_kind[k->row->kind](k);
}

enum status record_ops(struct trace *t, const struct record_columns *c, struct err *err)
{
	struct cursor k = {.t = t, .c = c, .err = err};

	if (c->device > t->ndevice + 1)
		return err_set(err, E_PROTOCOL, "trace for device %u of %u", c->device, t->ndevice);
	t->device = (uint8_t)c->device;
	t->home = c->shared ? HOME_SHARE : HOME_ANY;
	if (c->nout != c->nhead || c->nhead > 4 * LIMIT_OPS_PER_PACKET)
		return err_set(err, E_PROTOCOL, "trace has %zu heads and %zu results", c->nhead,
			       c->nout);
	for (k.i = 0; k.i < c->nhead; k.i++) {
		uint32_t head = c->head[k.i];
		size_t imm = k.imm, used;
		enum status st;

		k.op = (uint16_t)(head & 0xffff);
		k.dtype = (uint8_t)(head >> 16);
		k.nin = head >> 24 & 15;
		k.out = c->out[k.i];
		k.row = op_row(k.op);
		if (!k.row)
			return err_set(err, E_PROTOCOL, "op %zu has number %u, which is none", k.i,
				       k.op);
		if (k.nin != k.row->arity)
			return err_set(err, E_PROTOCOL, "op %zu: %s takes %u operands, not %u", k.i,
				       k.row->id, k.row->arity, k.nin);
		st = record_one(&k);
		if (st)
			return st;
		used = k.imm - imm;
		if ((used > 15 ? 15 : used) != head >> 28)
			return err_set(err, E_PROTOCOL, "op %zu (%s) claims %u immediates, has %zu",
				       k.i, k.row->id, head >> 28, used);
	}
	if (k.in != c->nin || k.imm != c->nimm)
		return err_set(err, E_PROTOCOL, "trace has words that no op uses");
	return OK;
}
