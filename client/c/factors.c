/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/factors.c - factors of matrices: recorded. */
#include <string.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "solver.h"

static enum status record(struct braze_array **out, struct solver_layout *lay, unsigned kind,
			  struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	struct shape shape = a->view.shape;
	struct op_sig sig;
	enum status st = op_infer(&sig, OP_SOLVER, &arg, DTYPE_NONE, err);
	int64_t columns, rows;

	if (!st && shape.ndim < 2)
		st = err_set(err, E_SHAPE, "%s of an array of %u axes", solver_name(kind),
			     shape.ndim);
	if (st)
		return st;
	columns = shape.dim[shape.ndim - 2];
	rows = shape.dim[shape.ndim - 1];
	if (!solver_lay(lay, kind, sig.out, rows, columns))
		return err_set(err, E_SHAPE, "%s of %lld columns of %lld rows", solver_name(kind),
			       (long long)columns, (long long)rows);
	shape.ndim--;
	shape.dim[shape.ndim - 1] = lay->bytes / dtype_row(sig.out)->bytes;
	st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 1, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &shape, err);
	if (st)
		return st;
	record_op(s, OP_SOLVER, DTYPE_NONE, (*out)->id, 1, 1);
	record_in(s, a->id);
	record_imm(s, kind);
	return OK;
}

/* A part of every matrix's row. */
static int view_of(braze_array **out, braze_array *made, const struct solver_layout *lay,
		   const struct solver_part *p, braze_error *error)
{
	int64_t shape[LIMIT_NDIM], stride[LIMIT_NDIM], element = dtype_row(p->dtype)->bytes;
	int ndim = braze_ndim(made) - 1;

	for (int k = ndim; k-- > 0;) {
		shape[k] = braze_shape(made)[k];
		stride[k] = k + 1 < ndim ? stride[k + 1] * shape[k + 1] : lay->bytes;
	}
	if (p->ndim) {
		shape[ndim] = p->rows;
		stride[ndim++] = element;
	}
	if (p->ndim == 2) {
		shape[ndim] = p->columns;
		stride[ndim++] = p->rows * element;
	}
	return braze_view(out, made, p->dtype, ndim, shape, stride, p->at, error);
}

int braze_factors(braze_array *out[4], const char *what, braze_array *a, braze_error *error)
{
	struct err *err = err_of(error);
	struct braze_array *made = NULL;
	struct solver_layout lay;
	int kind = solver_find(what), st = OK;

	memset(out, 0, 4 * sizeof *out);
	if (kind < 0)
		return (int)err_set(err, E_INVALID, "there are no factors named %s", what);
	lock_take(a->session);
	st = (int)array_usable(a->session, err);
	if (!st)
		st = (int)record(&made, &lay, (unsigned)kind, a, err);
	if (careful_asks(a->session, st, made, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {
			.op = OP_SOLVER, .n = 1, .arg = &arg, .axes = (unsigned)kind};
		st = careful_recorded(&made, &r, err);
	}
	lock_give(a->session);
	for (unsigned x = 0; x <= SOLVER_INFO && !st; x++)
		if (lay.part[x].rows)
			st = view_of(&out[x], made, &lay, &lay.part[x], error);
	if (made)
		braze_release(made);
	for (unsigned x = 0; x <= SOLVER_INFO && st; x++) {
		if (out[x])
			braze_release(out[x]);
		out[x] = NULL;
	}
	return st;
}
