/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/reduce.c - reductions, matrix products, casts, copies and assignment. */
#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"

/* NumPy refuses what has no first element to start from. */
static enum status check_empty(const struct op_row *row, int op, const struct braze_array *a,
			       const struct shape *result, struct err *err)
{
	int64_t left = 1;

	if (a->count || op == OP_SUM || op == OP_PROD || op == OP_ANY || op == OP_ALL)
		return OK;
	for (int i = 0; i < result->ndim; i++)
		left *= result->dim[i];
	if (!left)
		return OK;
	return err_set(err, E_INVALID, "zero-size array to reduction operation %s", row->numpy);
}

static enum status check_reduce(int op, const struct braze_array *a, unsigned axes, int dtype,
				struct err *err)
{
	const struct op_row *row = op_row((unsigned)op);
	unsigned all = (1u << a->view.shape.ndim) - 1;

	if (!row || (row->kind != KIND_RED && row->kind != KIND_ARGRED))
		return err_set(err, E_INVALID, "%s is not a reduction", op_text((unsigned)op));
	if (row->kind == KIND_ARGRED && axes != all && __builtin_popcount(axes) != 1)
		return err_set(err, E_AXIS, "%s takes one axis or all of them", row->numpy);
	if (dtype >= 0 && !dtype_row((unsigned)dtype))
		return err_set(err, E_DTYPE, "%s: no such accumulator type", row->numpy);
	return array_usable(a->session, err);
}

enum status record_reduce(struct braze_array **out, int op, struct braze_array *a, unsigned axes,
			  int keepdims, int dtype, struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	unsigned head = dtype < 0 ? DTYPE_NONE : (unsigned)dtype;
	struct shape shape;
	struct op_sig sig;

	enum status st = check_reduce(op, a, axes, dtype, err);
	if (!st)
		st = op_infer(&sig, (enum op)op, &arg, head, err);
	if (!st)
		st = shape_reduce(&shape, &a->view.shape, axes, keepdims != 0, err);
	if (!st)
		st = check_empty(op_row((unsigned)op), op, a, &shape, err);
	if (!st)
		st = near_ready((unsigned)op, sig.in[0], a->count, a, NULL, err);
	if (!st && s->near && near_reduce(out, (enum op)op, &sig, a, axes, &shape))
		return OK;
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 1, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &shape, err);
	if (st)
		return st;
	record_op(s, (unsigned)op, head, (*out)->id, 1, 1);
	record_in(s, a->id);
	record_imm(s, (uint64_t)axes | (uint64_t)(keepdims != 0) << 32);
	return OK;
}

int braze_reduce(braze_array **out, int op, braze_array *a, unsigned axes, int keepdims, int dtype,
		 braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int st = (int)record_reduce(out, op, a, axes, keepdims, dtype, err_of(err));
	if (careful_asks(s, st, *out, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {(enum op)op, 1, &arg, axes, keepdims != 0};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

static enum status matmul(struct braze_array **out, struct braze_array *a, struct braze_array *b,
			  struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg[2] = {{a->view.dtype, false}, {b->view.dtype, false}};
	struct shape shape;
	struct op_sig sig;

	enum status st = array_usable(s, err);
	if (!st && b->session != s)
		st = err_set(err, E_INVALID, "matmul: the operands belong to two sessions");
	if (!st)
		st = op_infer(&sig, OP_MATMUL, arg, DTYPE_NONE, err);
	if (!st)
		st = shape_matmul(&shape, &a->view.shape, &b->view.shape, err);
	if (!st)
		st = near_product_ready(a, b, (enum dtype)sig.out, &shape, err);
	if (!st && s->near && near_product(out, a, b, (enum dtype)sig.out, &shape))
		return OK;
	if (!st)
		st = record_use_two(a, b, err);
	if (!st)
		st = record_room(s, 2, 0, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &shape, err);
	if (st)
		return st;
	record_op(s, OP_MATMUL, s->precision, (*out)->id, 2, 0);
	record_in(s, a->id);
	record_in(s, b->id);
	return OK;
}

int braze_matmul(braze_array **out, braze_array *a, braze_array *b, braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int st = (int)matmul(out, a, b, err_of(err));
	if (careful_asks(s, st, *out, a->count > b->count ? a->count : b->count)) {
		const braze_arg arg[2] = {{.array = a}, {.array = b}};
		const struct recorded r = {.op = OP_MATMUL, .n = 2, .arg = arg};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

enum status record_cast(struct braze_array **out, struct braze_array *a, unsigned dtype,
			struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	struct op_sig sig;

	enum status st = array_usable(s, err);
	if (!st)
		st = op_infer(&sig, OP_CAST, &arg, dtype, err);
	if (!st)
		st = array_type(s, dtype, err);
	if (!st)
		st = near_ready(OP_CAST, dtype, a->count, a, NULL, err);
	if (!st && s->near && near_cast(out, a, (enum dtype)dtype))
		return OK;
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 0, err);
	if (!st)
		st = array_create(out, s, (enum dtype)dtype, &a->view.shape, err);
	if (st)
		return st;
	record_op(s, OP_CAST, dtype, (*out)->id, 1, 0);
	record_in(s, a->id);
	return OK;
}

int braze_cast(braze_array **out, braze_array *a, int dtype, braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int st = (int)record_cast(out, a, (unsigned)dtype, err_of(err));
	if (careful_asks(s, st, *out, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {.op = OP_CAST, .n = 1, .arg = &arg};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

int braze_copy(braze_array **out, braze_array *a, braze_error *err)
{
	return braze_cast(out, a, a->view.dtype, err);
}

/* ---- dst[...] = src ---- */

static enum status check_target(const struct braze_array *dst, struct err *err)
{
	if (dst->buf->flags & BUF_READONLY)
		return err_set(err, E_READONLY, "assignment destination is read-only");
	for (int i = 0; dst->count && i < dst->view.shape.ndim; i++)
		if (dst->view.stride[i] == 0 && dst->view.shape.dim[i] > 1)
			return err_set(err, E_READONLY,
				       "assignment destination repeats its elements on axis %d", i);
	return OK;
}

static enum status check_number(const struct braze_array *dst, const braze_scalar *v,
				struct err *err)
{
	const struct dtype_row *to = dtype_row(dst->view.dtype), *from;
	int64_t x = (int64_t)v->bits[0];

	if (!(from = dtype_row((unsigned)v->dtype)))
		return err_set(err, E_DTYPE, "the value has no known type");
	/* A weak number's size does not count, its class does. */
	bool cast =
		v->weak ? from->cls <= to->cls || (from->cls == CLASS_INT && to->cls != CLASS_BOOL)
			: dtype_same_kind((enum dtype)v->dtype, (enum dtype)dst->view.dtype);
	if (!cast)
		return err_set(err, E_CAST, "cannot cast %s to %s with casting rule 'same_kind'",
			       from->name, to->name);
	if (v->weak && from->cls == CLASS_INT && !dtype_holds((enum dtype)dst->view.dtype, x))
		return err_set(err, E_OVERFLOW, "Python integer %lld out of bounds for %s",
			       (long long)x, to->name);
	return OK;
}

static enum status unspread(const struct shape *from, const struct shape *to, struct err *err)
{
	char a[160], b[160];

	if (!to->ndim)
		return err_set(err, E_SHAPE, "setting an array element with a sequence.");
	return err_set(err, E_SHAPE, "could not broadcast input array from shape %s into shape %s",
		       shape_text(from, a, sizeof a), shape_text(to, b, sizeof b));
}

static enum status check_source(const struct braze_array *dst, const braze_arg *src,
				struct err *err)
{
	const struct braze_array *a = src->array;
	struct view stretched;

	if (!a)
		return check_number(dst, &src->scalar, err);
	if (a->session != dst->session)
		return err_set(err, E_INVALID, "source and destination belong to two sessions");
	if (!dtype_same_kind((enum dtype)a->view.dtype, (enum dtype)dst->view.dtype))
		return err_set(err, E_CAST, "cannot cast %s to %s with casting rule 'same_kind'",
			       dtype_row(a->view.dtype)->name, dtype_row(dst->view.dtype)->name);
	if (!view_broadcast(&stretched, &a->view, &dst->view.shape, err))
		return OK;
	return unspread(&a->view.shape, &dst->view.shape, err);
}

/* What may wait, then what is computed now.  *run: to be told after it is recorded. */
static enum status assign_near(bool *done, uint32_t *run, struct braze_array *dst,
			       const braze_arg *src, struct err *err)
{
	enum status st = near_prepare(dst, src->array, err);

	/* Another thread may have switched meanwhile. */
	bool near = !st && dst->session->near;
	*done = near && near_assign(dst, src);
	*run = near && !*done ? near_run(dst, src->array) : 0;
	return st;
}

/* *near: it was computed in the call. */
static enum status assign(bool *near, struct braze_array *dst, const braze_arg *src,
			  struct err *err)
{
	struct braze_session *s = dst->session;
	unsigned nimm = src->array ? 0 : record_words((unsigned)src->scalar.dtype);
	uint32_t run = 0;

	enum status st = array_usable(s, err);
	if (!st)
		st = check_target(dst, err);
	if (!st)
		st = check_source(dst, src, err);
	if (!st && s->near)
		st = assign_near(near, &run, dst, src, err);
	if (*near)
		return OK;
	if (!st)
		st = src->array ? record_use_two(dst, src->array, err) : record_use(dst, err);
	if (!st)
		st = record_room(s, 2, nimm, err);
	if (st)
		return st;
	record_op(s, OP_ASSIGN, DTYPE_NONE, 0, 2, nimm);
	record_in(s, dst->id);
	if (src->array)
		record_in(s, src->array->id);
	else
		record_scalar(s, &src->scalar);
	dst->buf->version++;
	record_far(s, dst);
	near_recorded(dst->buf, run);
	return OK;
}

int braze_assign(braze_array *dst, braze_arg src, braze_error *err)
{
	struct braze_session *s = dst->session;
	bool near = false;

	lock_take(s);
	int st = (int)assign(&near, dst, &src, err_of(err));
	/* Near there is nothing but a profile, and that counted it. */
	if (!near && careful_asks(s, st, dst, 0))
		st = careful_assigned(dst, &src, err_of(err));
	lock_give(s);
	return st;
}
