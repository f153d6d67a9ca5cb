/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/along.c - scans, sorts and the like along an axis: checked, then near or recorded. */
#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"

static enum status check(enum op_kind kind, int op, const struct braze_array *a, int *axis,
			 int dtype, struct err *err)
{
	const struct op_row *row = op_row((unsigned)op);
	bool fits = row && (row->kind == kind || (kind == KIND_SCAN && row->kind == KIND_LANE));
	int ndim = a->view.shape.ndim;

	if (!fits)
		return err_set(err, E_INVALID,
			       kind == KIND_SCAN ? "%s is not a scan" : "%s does not sort",
			       op_text((unsigned)op));
	if (*axis < -ndim || *axis >= ndim)
		return err_set(err, E_AXIS, "axis %d is out of bounds for array of dimension %d",
			       *axis, ndim);
	if (dtype >= 0 && !dtype_row((unsigned)dtype))
		return err_set(err, E_DTYPE, "%s: no such accumulator type", row->numpy);
	*axis += *axis < 0 ? ndim : 0;
	return array_usable(a->session, err);
}

/* In the type that the head says, or NONE. */
static enum status record(struct braze_array **out, int op, struct braze_array *a, int axis,
			  unsigned head, struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	bool sorts = op_row((unsigned)op)->kind == KIND_SORT;
	struct op_sig sig;

	enum status st = op_infer(&sig, (enum op)op, &arg, head, err);
	if (!st)
		st = near_ready((unsigned)op, sig.in[0], a->count, a, NULL, err);
	if (!st && s->near &&
	    (sorts ? near_sort : near_scan)(out, (enum op)op, (enum dtype)sig.out, a, axis))
		return OK;
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 1, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &a->view.shape, err);
	if (st)
		return st;
	record_op(s, (unsigned)op, head, (*out)->id, 1, 1);
	record_in(s, a->id);
	record_imm(s, (uint64_t)axis);
	return OK;
}

enum status record_scan(struct braze_array **out, int op, struct braze_array *a, int axis,
			int dtype, struct err *err)
{
	enum status st = check(KIND_SCAN, op, a, &axis, dtype, err);

	return st ? st : record(out, op, a, axis, dtype < 0 ? DTYPE_NONE : (unsigned)dtype, err);
}

static enum status record_sort(struct braze_array **out, int op, struct braze_array *a, int axis,
			       struct err *err)
{
	enum status st = check(KIND_SORT, op, a, &axis, -1, err);

	return st ? st : record(out, op, a, axis, DTYPE_NONE, err);
}

/* What was recorded, with what is watched of it. */
static int ended(braze_array **out, enum status st, int op, braze_array *a, int axis,
		 braze_error *err)
{
	if (careful_asks(a->session, (int)st, *out, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {
			.op = (enum op)op,
			.n = 1,
			.arg = &arg,
			.axes = (unsigned)(axis < 0 ? axis + a->view.shape.ndim : axis)};
		return careful_recorded(out, &r, err_of(err));
	}
	return (int)st;
}

int braze_scan(braze_array **out, int op, braze_array *a, int axis, int dtype, braze_error *err)
{
	lock_take(a->session);
	enum status st = record_scan(out, op, a, axis, dtype, err_of(err));
	int rc = ended(out, st, op, a, axis, err);
	lock_give(a->session);
	return rc;
}

int braze_sort(braze_array **out, int op, braze_array *a, int axis, braze_error *err)
{
	lock_take(a->session);
	enum status st = record_sort(out, op, a, axis, err_of(err));
	int rc = ended(out, st, op, a, axis, err);
	lock_give(a->session);
	return rc;
}

/* *done: in this call. */
static enum status sort_here(bool *done, braze_array *a, int op, int axis, struct err *err)
{
	enum status st = check(KIND_SORT, op, a, &axis, -1, err);

	if (!st)
		st = near_ready((unsigned)op, a->view.dtype, a->count, a, NULL, err);
	*done = !st && a->session->near && near_sort_self(a, axis);
	return st;
}

int braze_sort_self(braze_array *a, int op, int axis, braze_error *err)
{
	struct braze_array *made = NULL;
	bool done = false;

	lock_take(a->session);
	int rc = (int)sort_here(&done, a, op, axis, err_of(err));
	lock_give(a->session);
	if (rc || done)
		return rc;
	rc = braze_sort(&made, op, a, axis, err);
	if (!rc)
		rc = braze_assign(a, braze_arg_array(made), err);
	braze_release(made);
	return rc;
}
