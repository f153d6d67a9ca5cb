/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/apply.c - elementwise operations: check, infer, record.
 *
 * In:  arrays and numbers.  Out: a new array, pending; its op in the columns.
 * Nothing is recorded when an operand does not fit.  Operands of one shape and
 * type, the common case, take a short way that looks the result type up. */
#include <string.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "profile.h"

#define MAX_ARGS 3

/* The op's result has the shape and layout of a. */
static enum status like(struct braze_array **out, struct braze_array *a, enum dtype d,
			struct err *err)
{
	struct braze_session *s = a->session;
	unsigned have = dtype_row(a->view.dtype)->bytes, want = dtype_row(d)->bytes;

	if (unlikely(have != want || !a->contiguous))
		return array_create(out, s, d, &a->view.shape, err);
	enum status st = array_room(s, err);
	if (unlikely(st))
		return st;
	struct braze_array *r = array_take(s, array_take_buffer(s, (uint64_t)a->count * want));
	r->view.dtype = (uint8_t)d;
	r->view.shape.ndim = a->view.shape.ndim;
	for (int i = 0; i < a->view.shape.ndim; i++) {
		r->view.shape.dim[i] = a->view.shape.dim[i];
		r->view.stride[i] = a->view.stride[i];
	}
	r->view.offset = 0;
	r->count = a->count;
	r->contiguous = true;
	record_far(s, r);
	*out = r;
	return OK;
}

static inline bool same_shape(const struct braze_array *a, const struct braze_array *b)
{
	if (a->view.shape.ndim != b->view.shape.ndim)
		return false;
	for (int i = 0; i < a->view.shape.ndim; i++)
		if (a->view.shape.dim[i] != b->view.shape.dim[i])
			return false;
	return true;
}

/* Uses first: they may record a DIRTY, which must stand before the op. */
static inline enum status quick(struct braze_array **out, unsigned op, unsigned type,
				struct braze_array *a, struct braze_array *b, struct err *err)
{
	struct braze_session *s = a->session;
	unsigned n = b ? 2 : 1, loop = s->loop[op][a->view.dtype];

	enum status st = near_ready(op, loop, a->count, a, b, err);
	if (unlikely(st))
		return st;
	if (s->near) {
		bool hand = near_hand(a) && (!b || near_hand(b));

		if (hand ? near_quick(out, op, loop, type, a, b)
			 : near_waits(s->near, op, loop, a->count))
			return OK;
	}
	st = b ? record_use_two(a, b, err) : record_use(a, err);
	if (likely(!st))
		st = record_room(s, n, 0, err);
	if (likely(!st))
		st = like(out, a, (enum dtype)type, err);
	if (unlikely(st))
		return st;
	record_op(s, op, DTYPE_NONE, (*out)->id, n, 0);
	record_in(s, a->id);
	if (b)
		record_in(s, b->id);
	return OK;
}

/* ---- The general way ---- */

struct call {
	struct braze_session *s;
	enum op op;
	int n;
	const braze_arg *arg;
	struct op_sig sig;
	struct shape shape;
};

static enum status check_arity(const struct call *c, struct err *err)
{
	const struct op_row *row = op_row((unsigned)c->op);

	if (!row || row->kind != KIND_EW || row->rule == RULE_HEAD || row->rule == RULE_INDEX)
		return err_set(err, E_INVALID, "%s is not elementwise", op_text((unsigned)c->op));
	if (c->n != row->arity)
		return err_set(err, E_INVALID, "%s takes %d operands, not %d", row->numpy,
			       row->arity, c->n);
	return OK;
}

/* A number that stands for an integer must fit the type it is cast to. */
static enum status check_fits(const struct call *c, int k, struct err *err)
{
	const braze_scalar *v = &c->arg[k].scalar;
	const struct dtype_row *row = dtype_row(c->sig.in[k]);
	int64_t x = (int64_t)v->bits[0];

	if (!v->weak || v->dtype != DT_INT64 || dtype_holds((enum dtype)c->sig.in[k], x))
		return OK;
	/* NumPy compares such a number exactly; braze has no loop for it. */
	if (op_row((unsigned)c->op)->rule == RULE_COMPARE)
		return err_set(err, E_UNSUPPORTED, "comparing %s with %lld, which it cannot hold",
			       row->name, (long long)x);
	return err_set(err, E_OVERFLOW, "Python integer %lld out of bounds for %s", (long long)x,
		       row->name);
}

static enum status infer(struct call *c, struct err *err)
{
	struct op_arg arg[MAX_ARGS];
	bool any = false;

	enum status st = check_arity(c, err);
	if (st)
		return st;
	c->shape.ndim = 0;
	for (int k = 0; k < c->n; k++) {
		const struct braze_array *a = c->arg[k].array;
		if (!a) {
			if (!dtype_row((unsigned)c->arg[k].scalar.dtype))
				return err_set(err, E_DTYPE, "operand %d has no known type", k);
			arg[k].dtype = (uint8_t)c->arg[k].scalar.dtype;
			arg[k].weak = c->arg[k].scalar.weak != 0;
			continue;
		}
		if (c->s && a->session != c->s)
			return err_set(err, E_INVALID, "operand %d belongs to another session", k);
		c->s = a->session;
		any = true;
		arg[k].dtype = a->view.dtype;
		arg[k].weak = false;
	}
	if (!any)
		return err_set(err, E_INVALID, "%s needs at least one array",
			       op_row((unsigned)c->op)->numpy);
	/* As in NumPy, types come before shapes. */
	st = op_infer(&c->sig, c->op, arg, DTYPE_NONE, err);
	for (int k = 0; k < c->n && !st; k++)
		st = c->arg[k].array ? shape_broadcast(&c->shape, &c->arg[k].array->view.shape, err)
				     : check_fits(c, k, err);
	return st;
}

/* Near arrays without axes travel as numbers, as long as an array is left. */
static void send_numbers(braze_arg *plain, struct call *c)
{
	int left = 0;

	for (int k = 0; k < c->n; k++) {
		plain[k] = c->arg[k];
		left += plain[k].array && plain[k].array->view.shape.ndim;
	}
	for (int k = 0; k < c->n && left; k++)
		if (plain[k].array && near_number(&plain[k].scalar, plain[k].array))
			plain[k].array = NULL;
	c->arg = plain;
}

/* Operands that only wait for small writes are waited for, if the operation is near then. */
static enum status settle(const struct call *c, struct err *err)
{
	struct braze_array *operand[MAX_ARGS];
	uint32_t flags = 0;
	int64_t count = 1;
	int n = 0;

	for (int k = 0; k < c->n; k++)
		if (c->arg[k].array) {
			operand[n++] = c->arg[k].array;
			flags |= c->arg[k].array->buf->flags;
		}
	if (likely(!near_unsettled(c->s, flags)) || shape_count(&count, &c->shape, 1, err))
		return OK;
	return near_settle(c->s, c->op, c->sig.in[c->op == OP_WHERE], count, n, operand, err);
}

static enum status general(struct braze_array **out, struct call *c, struct err *err)
{
	struct braze_array *operand[MAX_ARGS];
	int n = 0;
	unsigned nimm = 0;
	braze_arg plain[MAX_ARGS];
	enum status st = infer(c, err);

	if (!st && c->s->near)
		st = settle(c, err);
	if (!st && c->s->near) {
		if (near_apply(out, c->s, c->op, &c->sig, c->n, c->arg, &c->shape))
			return OK;
		send_numbers(plain, c);
	}
	for (int k = 0; k < c->n && !st; k++) {
		if (c->arg[k].array)
			operand[n++] = c->arg[k].array;
		else
			nimm += record_words((unsigned)c->arg[k].scalar.dtype);
	}
	if (!st)
		st = record_used(n, operand, err);
	if (!st)
		st = record_room(c->s, (unsigned)c->n, nimm, err);
	if (!st)
		st = array_create(out, c->s, (enum dtype)c->sig.out, &c->shape, err);
	if (st)
		return st;
	record_op(c->s, (unsigned)c->op, DTYPE_NONE, (*out)->id, (unsigned)c->n, nimm);
	for (int k = 0; k < c->n; k++) {
		if (c->arg[k].array)
			record_in(c->s, c->arg[k].array->id);
		else
			record_scalar(c->s, &c->arg[k].scalar);
	}
	return OK;
}

enum status record_apply(struct braze_array **out, struct braze_session *s, int op, int n,
			 const braze_arg *arg, struct err *err)
{
	struct call c = {.s = s, .op = (enum op)op, .n = n, .arg = arg};
	enum status st = array_usable(s, err);

	return st ? st : general(out, &c, err);
}

/* The second look at an op on arrays alone: out of the way of those that need none. */
static __attribute__((noinline)) int look(braze_array **out, int op, braze_array *a, braze_array *b,
					  struct err *err)
{
	const braze_arg arg[2] = {{.array = a}, {.array = b}};
	const struct recorded r = {.op = (enum op)op, .n = b ? 2 : 1, .arg = arg};

	return careful_recorded(out, &r, err);
}

int braze_binary(braze_array **out, int op, braze_array *a, braze_array *b, braze_error *err)
{
	struct braze_session *s = a->session;
	int st;

	lock_take(s);
	unsigned type = DTYPE_NONE;
	if (likely((unsigned)op < OP_END && a->view.dtype == b->view.dtype))
		type = s->binary[op][a->view.dtype];
	if (likely(type != DTYPE_NONE && b->session == s &&
		   !atomic_load_explicit(&s->state, memory_order_relaxed) && same_shape(a, b))) {
		st = (int)quick(out, (unsigned)op, type, a, b, err_of(err));
	} else {
		braze_arg arg[2] = {{.array = a}, {.array = b}};
		st = (int)record_apply(out, s, op, 2, arg, err_of(err));
	}
	if (careful_asks(s, st, *out, 0))
		st = look(out, op, a, b, err_of(err));
	lock_give(s);
	return st;
}

int braze_unary(braze_array **out, int op, braze_array *a, braze_error *err)
{
	struct braze_session *s = a->session;
	int st;

	lock_take(s);
	unsigned type = (unsigned)op < OP_END ? s->unary[op][a->view.dtype] : DTYPE_NONE;
	if (likely(type != DTYPE_NONE && !atomic_load_explicit(&s->state, memory_order_relaxed))) {
		st = (int)quick(out, (unsigned)op, type, a, NULL, err_of(err));
	} else {
		braze_arg arg = {.array = a};
		st = (int)record_apply(out, s, op, 1, &arg, err_of(err));
	}
	if (careful_asks(s, st, *out, 0))
		st = look(out, op, a, NULL, err_of(err));
	lock_give(s);
	return st;
}

/* Result type of an array and a Python number that gives way to it, so that the
 * loop is that of two arrays of its type; DTYPE_NONE: the general way decides. */
static unsigned number_type(const struct braze_session *s, int op, const struct braze_array *a,
			    const braze_scalar *v)
{
	const struct dtype_row *to = dtype_row(a->view.dtype);

	if ((unsigned)op >= OP_END || !v->weak || s->state)
		return DTYPE_NONE;
	if (v->dtype == DT_FLOAT64
		    ? to->cls < CLASS_FLOAT
		    : v->dtype != DT_INT64 || to->cls == CLASS_BOOL ||
			      !dtype_holds((enum dtype)a->view.dtype, (int64_t)v->bits[0]))
		return DTYPE_NONE;
	return s->binary[op][a->view.dtype];
}

/* Integers by a power of two: what is rounded down is a shift, and what is left are bits. */
static bool is_shift(int *op, braze_scalar *v, const struct braze_array *a)
{
	unsigned cls = dtype_row(a->view.dtype)->cls;
	uint64_t by = v->bits[0];

	if ((*op != OP_FLOOR_DIVIDE && *op != OP_REMAINDER) || v->dtype != DT_INT64 || !v->weak ||
	    (int64_t)by <= 0 || by & (by - 1) || (cls != CLASS_INT && cls != CLASS_UINT) ||
	    !dtype_holds((enum dtype)a->view.dtype, (int64_t)by))
		return false;
	v->bits[0] = *op == OP_REMAINDER ? by - 1 : (uint64_t)__builtin_ctzll(by);
	*op = *op == OP_REMAINDER ? OP_BITWISE_AND : OP_RIGHT_SHIFT;
	return true;
}

/* The result has this type, and lies as the array does. */
static enum status record_one_number(struct braze_array **out, int op, unsigned type,
				     const braze_arg *args, struct err *err)
{
	struct braze_array *a = args[0].array ? args[0].array : args[1].array;
	struct braze_session *s = a->session;
	enum status st = record_use(a, err);

	if (likely(!st))
		st = record_room(s, 2, 1, err);
	if (likely(!st))
		st = like(out, a, (enum dtype)type, err);
	if (unlikely(st))
		return st;
	record_op(s, (unsigned)op, DTYPE_NONE, (*out)->id, 2, 1);
	for (int k = 0; k < 2; k++) {
		if (args[k].array)
			record_in(s, a->id);
		else
			record_scalar(s, &args[k].scalar);
	}
	return OK;
}

/* One array and one number, in this order or the other; the lock is held. */
static enum status with_number(struct braze_array **out, struct braze_session *s, int op,
			       const braze_arg *args, struct err *err)
{
	struct braze_array *a = args[0].array ? args[0].array : args[1].array;
	braze_arg by[2] = {args[0], args[1]};

	if (by[0].array && is_shift(&op, &by[1].scalar, a))
		args = by;
	const braze_scalar *v = args[0].array ? &args[1].scalar : &args[0].scalar;
	unsigned type = a->session == s ? number_type(s, op, a, v) : DTYPE_NONE;

	if (unlikely(type == DTYPE_NONE))
		return record_apply(out, s, op, 2, args, err);
	unsigned loop = s->loop[op][a->view.dtype];
	enum status st = near_ready((unsigned)op, loop, a->count, a, NULL, err);
	if (unlikely(st))
		return st;
	if (s->near && (near_hand(a) ? near_with_number(out, op, type, args)
				     : near_waits(s->near, (unsigned)op, loop, a->count)))
		return OK;
	return record_one_number(out, op, type, args, err);
}

int braze_in_place(braze_array *dst, int op, const braze_arg *x)
{
	struct braze_session *s = dst->session;
	unsigned d = dst->view.dtype, type = DTYPE_NONE;
	braze_arg by = *x;

	lock_take(s);
	if (!by.array && is_shift(&op, &by.scalar, dst))
		x = &by;
	if (s->near && (unsigned)op < OP_END && !s->state)
		type = x->array ? s->binary[op][d] : number_type(s, op, dst, &x->scalar);
	int done = type == d && s->loop[op][d] == d && (!x->array || x->array->session == s) &&
		   near_in_place(dst, (enum op)op, x);
	lock_give(s);
	return done;
}

int braze_parts(braze_array *out[2], braze_array *a)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int done = s->near && !s->state && !s->careful && near_parts(out, a);
	lock_give(s);
	return done;
}

int braze_near_number(braze_scalar *out, const braze_array *a)
{
	lock_take(a->session);
	int is = near_number(out, a);
	lock_give(a->session);
	return is;
}

/* The session of the first operand that is an array; NULL: none is. */
static struct braze_session *session_among(int n, const braze_arg *args)
{
	for (int k = 0; k < n; k++)
		if (args[k].array)
			return args[k].array->session;
	return NULL;
}

static __attribute__((noinline)) int look_any(braze_array **out, int op, int n,
					      const braze_arg *args, struct err *err)
{
	const struct recorded r = {(enum op)op, (unsigned)n, args, 0, false};

	return careful_recorded(out, &r, err);
}

int braze_apply(braze_array **out, braze_session *s, int op, int nargs, const braze_arg *args,
		braze_error *err)
{
	if (nargs < 1 || nargs > MAX_ARGS)
		return (int)err_set(err_of(err), E_INVALID, "%d operands", nargs);
	s = s ? s : session_among(nargs, args);
	if (!s)
		return (int)err_set(err_of(err), E_INVALID, "no operand is an array");
	if (nargs == 2 && args[0].array && args[1].array && args[0].array->session == s)
		return braze_binary(out, op, args[0].array, args[1].array, err);
	if (nargs == 1 && args[0].array && args[0].array->session == s)
		return braze_unary(out, op, args[0].array, err);
	lock_take(s);
	bool mixed = nargs == 2 && !args[0].array != !args[1].array;
	int st = (int)(mixed ? with_number(out, s, op, args, err_of(err))
			     : record_apply(out, s, op, nargs, args, err_of(err)));
	if (careful_asks(s, st, *out, 0))
		st = look_any(out, op, nargs, args, err_of(err));
	lock_give(s);
	return st;
}

int braze_infer(int *dtype, int *ndim, int64_t *shape, int op, int nargs, const braze_arg *args,
		braze_error *err)
{
	struct call c = {.op = (enum op)op, .n = nargs, .arg = args};

	if (nargs < 1 || nargs > MAX_ARGS)
		return (int)err_set(err_of(err), E_INVALID, "%d operands", nargs);
	enum status st = infer(&c, err_of(err));
	if (st)
		return (int)st;
	*dtype = c.sig.out;
	*ndim = c.shape.ndim;
	memcpy(shape, c.shape.dim, (size_t)c.shape.ndim * sizeof(*shape));
	return 0;
}
