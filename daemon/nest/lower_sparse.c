/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_sparse.c - a sparse matrix's product: a library step (call/sparse.h).
 *
 * Entries and structure come as record_library.c demands them, and what is multiplied may lie as it
 * likes, so nothing is cast and nothing copied. */
#include "call/sparse.h"

#include "lower.h"

/* See lower.h.  Where nothing comes out nothing is done. */
enum status lower_sparse(struct prog *p, const struct part_op *o, struct err *err)
{
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	struct view entries, structure, from, out;
	int64_t n = 0;
	enum status st = OK;

	part_view(&out, p->part, &o->out);
	st = shape_count(&n, &out.shape, 1, err);
	if (st || !n)
		return st;
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_SPARSE;
	c->op = o->op;
	c->nloop = SPARSE_LOOPS;
	lower_as_it_lies(c, SPARSE_ENTRIES, &entries, p, &o->in[0]);
	lower_as_it_lies(c, SPARSE_STRUCTURE, &structure, p, &o->in[1]);
	lower_as_it_lies(c, SPARSE_FROM, &from, p, &o->in[2]);
	lower_as_it_lies(c, SPARSE_RESULT, &out, p, &o->out);
	c->dtype = out.dtype;
	n = dtype_row(c->dtype)->bytes;
	c->extent[SPARSE_LOOP_ROWS] = out.shape.dim[0];
	c->extent[SPARSE_LOOP_COLUMNS] = out.shape.ndim > 1 ? out.shape.dim[1] : 1;
	c->extent[SPARSE_LOOP_ENTRIES] = entries.shape.dim[0];
	c->extent[SPARSE_LOOP_STRUCTURE] = structure.shape.dim[0];
	c->extent[SPARSE_LOOP_INNER] = from.shape.dim[0];
	c->operand[SPARSE_ENTRIES].stride[SPARSE_LOOP_ENTRIES] = n;
	c->operand[SPARSE_STRUCTURE].stride[SPARSE_LOOP_STRUCTURE] =
		dtype_row(structure.dtype)->bytes;
	c->operand[SPARSE_FROM].stride[SPARSE_LOOP_INNER] = from.stride[0];
	c->operand[SPARSE_FROM].stride[SPARSE_LOOP_COLUMNS] =
		from.shape.ndim > 1 ? from.stride[1] : 0;
	c->operand[SPARSE_RESULT].stride[SPARSE_LOOP_ROWS] = n * c->extent[SPARSE_LOOP_COLUMNS];
	c->operand[SPARSE_RESULT].stride[SPARSE_LOOP_COLUMNS] = n;
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
