/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/fourier.c - Fourier transforms: recorded. */
#include "array.h"
#include "careful.h"
#include "lock.h"

static enum status record(struct braze_array **out, enum op op, struct braze_array *a, int axis,
			  int64_t length, struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	struct shape shape = a->view.shape;
	struct op_sig sig;
	enum status st = op_infer(&sig, op, &arg, DTYPE_NONE, err);

	shape.dim[axis] = op_transformed(op, shape.dim[axis], length);
	if (!st && !shape.dim[axis])
		st = err_set(err, E_SHAPE, "%s of length %lld along an axis of %lld elements",
			     op_text(op), (long long)length, (long long)a->view.shape.dim[axis]);
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 2, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &shape, err);
	if (st)
		return st;
	record_op(s, op, DTYPE_NONE, (*out)->id, 1, 2);
	record_in(s, a->id);
	record_imm(s, (uint64_t)axis);
	record_imm(s, (uint64_t)length);
	return OK;
}

int braze_fourier(braze_array **out, int op, braze_array *a, int axis, int64_t length,
		  braze_error *error)
{
	const struct op_row *row = op < 0 ? NULL : op_row((unsigned)op);
	struct err *err = err_of(error);
	int ndim = a->view.shape.ndim;

	if (!row || row->kind != KIND_FOURIER)
		return (int)err_set(err, E_INVALID, "%s is no Fourier transform",
				    op_text((unsigned)op));
	if (axis < -ndim || axis >= ndim)
		return (int)err_set(err, E_AXIS,
				    "axis %d is out of bounds for array of dimension %d", axis,
				    ndim);
	axis += axis < 0 ? ndim : 0;
	lock_take(a->session);
	int st = (int)array_usable(a->session, err);
	if (!st)
		st = (int)record(out, (enum op)op, a, axis, length, err);
	if (careful_asks(a->session, st, *out, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {
			.op = (enum op)op, .n = 1, .arg = &arg, .axes = (unsigned)axis};
		st = careful_recorded(out, &r, err);
	}
	lock_give(a->session);
	return st;
}
