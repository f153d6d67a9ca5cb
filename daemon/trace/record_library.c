/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that become library steps: random numbers, products, joins, what a mask chooses,
 * Fourier transforms, factors of matrices, sparse matrices. */
#include "cursor.h"

#include <string.h>

#include "imm.h"
#include "loops/compact.h"
#include "loops/sparse.h"
#include "solver.h"

/* A state, from which numbers are drawn into an array of a shape of its own. */
enum status record_draw(struct cursor *k)
{
	struct source src;
	struct op_sig sig;
	struct shape shape;
	enum status st = record_operand(k, &src);

	if (!st)
		st = record_shape(k, &shape);
	if (!st && (!src.array || src.array->view.shape.ndim != 1 ||
		    src.array->view.shape.dim[0] != DRAW_LENGTH))
		st = err_set(k->err, E_PROTOCOL, "%s: the operand is no state", k->row->id);
	if (!st)
		st = op_infer(&sig, (enum op)k->op, &src.arg, k->dtype, k->err);
	return st ? st : record_result(k, &src, &sig, 1, &shape);
}

static enum status record_matmul(struct cursor *k)
{
	struct source src[2];
	struct op_sig sig;
	struct op_arg arg[2];
	struct shape shape;
	enum status st = record_operand(k, &src[0]);

	if (!st)
		st = record_operand(k, &src[1]);
	if (!st && (!src[0].array || !src[1].array))
		st = err_set(k->err, E_PROTOCOL, "matmul of a number");
	if (!st && k->dtype != PRECISION_FULL && k->dtype != PRECISION_TF32)
		st = err_set(k->err, E_PROTOCOL, "matmul: no precision %u", k->dtype);
	if (st)
		return st;
	arg[0] = src[0].arg;
	arg[1] = src[1].arg;
	st = op_infer(&sig, OP_MATMUL, arg, k->dtype, k->err);
	if (!st)
		st = shape_matmul(&shape, &src[0].array->view.shape, &src[1].array->view.shape,
				  k->err);
	return st ? st : record_result(k, src, &sig, 2, &shape);
}

/* A further array of a list that is joined: the result grows along the axis by it. */
static enum status join_one(struct cursor *k, struct shape *shape, const struct shape *own,
			    unsigned axis)
{
	struct shape rest = *own;

	if (own->ndim == shape->ndim)
		rest.dim[axis] = shape->dim[axis];
	if (!shape_equal(&rest, shape))
		return err_set(k->err, E_SHAPE, "%s: the shapes do not fit along axis %u",
			       k->row->numpy, axis);
	if (__builtin_add_overflow(shape->dim[axis], own->dim[axis], &shape->dim[axis]))
		return err_set(k->err, E_LIMIT, "%s: too many elements", k->row->numpy);
	return OK;
}

static enum status join_shape(struct cursor *k, struct shape *out, const struct source *src,
			      unsigned n, unsigned axis, bool stacks)
{
	enum status st = OK;

	*out = src[0].array->view.shape;
	if (axis >= out->ndim + (unsigned)stacks || out->ndim + (unsigned)stacks > LIMIT_NDIM)
		return err_set(k->err, E_PROTOCOL, "%s: bad axis", k->row->id);
	for (unsigned j = 1; j < n && !st; j++) {
		const struct shape *own = &src[j].array->view.shape;

		if (!stacks)
			st = join_one(k, out, own, axis);
		else if (!shape_equal(out, own))
			st = err_set(k->err, E_SHAPE, "%s: the shapes are not the same",
				     k->row->numpy);
	}
	if (st || !stacks)
		return st;
	memmove(out->dim + axis + 1, out->dim + axis, (out->ndim - axis) * sizeof out->dim[0]);
	out->dim[axis] = n;
	out->ndim++;
	return OK;
}

/* A view with a further axis, of one element. */
static void add_axis(struct view *v, unsigned axis)
{
	unsigned behind = v->shape.ndim++ - axis;

	memmove(v->shape.dim + axis + 1, v->shape.dim + axis, behind * sizeof v->shape.dim[0]);
	memmove(v->stride + axis + 1, v->stride + axis, behind * sizeof v->stride[0]);
	v->shape.dim[axis] = 1;
	v->stride[axis] = 0;
}

/* One array after the other along an axis, or along a new one. */
enum status record_join(struct cursor *k)
{
	struct source src[LIMIT_OPERANDS];
	struct op_arg none = {0};
	struct op_sig sig;
	struct shape shape;
	uint64_t attr = 0;
	unsigned n = 0, axis;
	struct node *made;
	enum status st = record_count(k, &n);

	for (unsigned j = 0; j < n && !st; j++) {
		st = record_operand(k, &src[j]);
		if (!st && !src[j].array)
			st = err_set(k->err, E_PROTOCOL, "%s of a number", k->row->id);
	}
	if (!st)
		st = record_imm(k, &attr);
	axis = (unsigned)(attr & 0xff);
	if (!st && ((attr & ~0x1000000ffull) || !dtype_native(k->dtype)))
		st = err_set(k->err, E_PROTOCOL, "%s: bad axis or type", k->row->id);
	if (!st)
		st = op_infer(&sig, (enum op)k->op, &none, k->dtype, k->err);
	if (!st)
		st = join_shape(k, &shape, src, n, axis, attr >> 32);
	if (!st)
		st = record_result(k, src, &sig, (int)n, &shape);
	if (st)
		return st;
	made = trace_current(trace_array(k->t, k->out))->node;
	made->axes = 1u << axis;
	for (unsigned j = 0; j < n && attr >> 32; j++)
		add_axis(&made->in[j].view, axis);
	return OK;
}

/* A mask of *n elements that blocks can be cut of. */
static enum status take_mask(struct cursor *k, struct source *s, int64_t *n)
{
	enum status st = record_operand(k, s);

	if (st)
		return st;
	if (!s->array || s->arg.dtype != DT_BOOL || !compact_lies(&s->array->view))
		return err_set(k->err, E_PROTOCOL, "%s: not a mask that lies in order", k->row->id);
	return shape_count(n, &s->array->view.shape, 1, k->err);
}

static enum status take_ranks(struct cursor *k, struct source *s, int64_t n)
{
	enum status st = record_operand(k, s);

	if (st)
		return st;
	if (!s->array || s->arg.dtype != DT_INT64 || s->array->view.shape.ndim != 1 ||
	    s->array->view.shape.dim[0] != compact_blocks(n))
		return err_set(k->err, E_PROTOCOL, "%s: not the ranks of the mask", k->row->id);
	return OK;
}

/* The same, and how many elements they are said to choose: the worker looks whether that is so. */
static enum status take_count(struct cursor *k, struct source *s, int64_t n, int64_t *count)
{
	uint64_t claimed = 0;
	enum status st = take_ranks(k, s, n);

	if (!st)
		st = record_imm(k, &claimed);
	if (st)
		return st;
	if (claimed > (uint64_t)n)
		return err_set(k->err, E_PROTOCOL, "%s: %llu of %lld elements", k->row->id,
			       (unsigned long long)claimed, (long long)n);
	*count = (int64_t)claimed;
	return OK;
}

static enum status record_ranks(struct cursor *k)
{
	struct source src;
	struct op_sig sig = {.in = {DT_BOOL}, .out = DT_INT64};
	struct shape shape = {.ndim = 1};
	int64_t n = 0;
	enum status st = take_mask(k, &src, &n);

	shape.dim[0] = compact_blocks(n);
	return st ? st : record_result(k, &src, &sig, 1, &shape);
}

/* Elements, or rows, of the first operand. */
static enum status record_compact(struct cursor *k)
{
	struct op_sig sig = {.in = {0, DT_BOOL, DT_INT64}};
	struct shape shape = {0};
	struct source src[3];
	int64_t n = 0;
	enum status st = record_operand(k, &src[0]);

	if (!st)
		st = take_mask(k, &src[1], &n);
	if (st)
		return st;
	if (src[0].array)
		shape = src[0].array->view.shape;
	if (shape.ndim < 1 || shape.ndim > 2 || shape.dim[0] != n)
		return err_set(k->err, E_PROTOCOL, "COMPACT: not of the mask's shape");
	st = take_count(k, &src[2], n, &shape.dim[0]);
	sig.in[0] = sig.out = src[0].arg.dtype;
	return st ? st : record_result(k, src, &sig, 3, &shape);
}

/* A reduction of the elements of the first operand that the mask chooses. */
enum status record_chosen(struct cursor *k)
{
	struct shape none = {0};
	struct source src[3];
	struct op_sig sig;
	int64_t n = 0;
	enum status st = record_operand(k, &src[0]);

	if (!st)
		st = take_mask(k, &src[1], &n);
	if (!st)
		st = take_ranks(k, &src[2], n);
	if (st)
		return st;
	if (!n || !src[0].array || src[0].array->view.shape.ndim != 1 ||
	    src[0].array->view.shape.dim[0] != n)
		return err_set(k->err, E_PROTOCOL, "%s: not of the mask's shape", k->row->id);
	if (k->dtype != 255 && !dtype_native(k->dtype))
		return err_set(k->err, E_DTYPE, "%s: bad accumulator type", k->row->id);
	st = op_infer(&sig, (enum op)k->op, &src[0].arg, k->dtype, k->err);
	sig.in[1] = DT_BOOL;
	sig.in[2] = DT_INT64;
	return st ? st : record_result(k, src, &sig, 3, &none);
}

/* Of a mask with several axes a row of coordinates for each. */
static enum status record_places(struct cursor *k)
{
	struct op_sig sig = {.in = {DT_BOOL, DT_INT64}, .out = DT_INT64};
	struct source src[2];
	struct shape shape = {.ndim = 1};
	int64_t n = 0;
	unsigned axes = 0;
	enum status st = take_mask(k, &src[0], &n);

	if (!st)
		st = take_count(k, &src[1], n, &shape.dim[0]);
	if (st)
		return st;
	axes = src[0].array->view.shape.ndim;
	if (axes > COMPACT_AXES)
		return err_set(k->err, E_LIMIT, "PLACES: %u axes, at most %d are possible", axes,
			       COMPACT_AXES);
	if (axes > 1)
		shape.dim[shape.ndim++] = axes;
	return record_result(k, src, &sig, 2, &shape);
}

/* Elements of one axis, of which there are some, and needles of their type; with values of as many
 * elements there are two, and all are float64. */
static enum status check_search(const struct cursor *k, const struct source *src, int n)
{
	for (int x = 0; x < n; x++)
		if (!src[x].array || src[x].array->view.shape.ndim != 1 ||
		    src[x].arg.dtype != (n == 3 ? DT_FLOAT64 : src[0].arg.dtype))
			return err_set(k->err, E_PROTOCOL, "%s: operand %d", k->row->id, x);
	if (src[0].array->view.shape.dim[0] < n - 1)
		return err_set(k->err, E_PROTOCOL, "%s among too few", k->row->id);
	if (n == 3 && !shape_equal(&src[2].array->view.shape, &src[0].array->view.shape))
		return err_set(k->err, E_PROTOCOL, "%s: as many values as points", k->row->id);
	return OK;
}

enum status record_search(struct cursor *k)
{
	struct source src[3] = {{0}};
	int n = k->op == OP_INTERP ? 3 : 2;
	struct op_sig sig = {.out = k->op == OP_INTERP ? DT_FLOAT64 : DT_INT64};
	enum status st = OK;

	for (int x = 0; x < n && !st; x++)
		st = record_operand(k, &src[x]);
	if (!st)
		st = check_search(k, src, n);
	if (st)
		return st;
	for (int x = 0; x < n; x++)
		sig.in[x] = src[0].arg.dtype;
	return record_result(k, src, &sig, n, &src[1].array->view.shape);
}

/* An axis and the transform's length, which the operand's extent must fit. */
enum status record_fourier(struct cursor *k)
{
	struct source src;
	struct op_sig sig;
	struct shape shape;
	uint64_t axis = 0, length = 0;
	int64_t n = 0;
	enum status st = record_operand(k, &src);

	if (!st)
		st = record_imm(k, &axis);
	if (!st)
		st = record_imm(k, &length);
	if (st)
		return st;
	if (!src.array || axis >= src.array->view.shape.ndim)
		return err_set(k->err, E_PROTOCOL, "%s: bad operand or axis", k->row->id);
	shape = src.array->view.shape;
	if (length <= INT64_MAX)
		n = op_transformed((enum op)k->op, shape.dim[axis], (int64_t)length);
	if (!n)
		return err_set(k->err, E_PROTOCOL, "%s of length %llu along %lld elements",
			       k->row->id, (unsigned long long)length, (long long)shape.dim[axis]);
	shape.dim[axis] = n;
	st = op_infer(&sig, (enum op)k->op, &src.arg, k->dtype, k->err);
	if (!st)
		st = record_result(k, &src, &sig, 1, &shape);
	if (!st)
		trace_current(trace_array(k->t, k->out))->node->axes = 1u << axis;
	return st;
}

/* Matrices, and a word that says what is wanted of each. */
enum status record_solver(struct cursor *k)
{
	struct source src;
	struct op_sig sig;
	struct solver_layout lay;
	struct shape shape;
	uint64_t kind = 0;
	enum status st = record_operand(k, &src);

	if (!st)
		st = record_imm(k, &kind);
	if (st)
		return st;
	if (!src.array || src.array->view.shape.ndim < 2 || kind >= SOLVER_KINDS)
		return err_set(k->err, E_PROTOCOL, "%s: bad operand or kind", k->row->id);
	st = op_infer(&sig, OP_SOLVER, &src.arg, k->dtype, k->err);
	if (st)
		return st;
	shape = src.array->view.shape;
	shape.ndim--;
	if (!solver_lay(&lay, (unsigned)kind, sig.out, shape.dim[shape.ndim],
			shape.dim[shape.ndim - 1]))
		return err_set(k->err, E_PROTOCOL, "%s %s of %lld columns and %lld rows",
			       k->row->id, solver_name((unsigned)kind),
			       (long long)shape.dim[shape.ndim - 1],
			       (long long)shape.dim[shape.ndim]);
	shape.dim[shape.ndim - 1] = lay.bytes / dtype_row(sig.out)->bytes;
	st = record_result(k, &src, &sig, 1, &shape);
	if (!st)
		trace_current(trace_array(k->t, k->out))->node->axes = (uint32_t)kind;
	return st;
}

static enum status record_sparse(struct cursor *k)
{
	struct source src[3] = {{0}};
	struct op_sig sig = {0};
	struct shape shape;
	int64_t rows = 0;
	enum status st = OK;

	for (int x = 0; x < 3 && !st; x++) {
		st = record_operand(k, &src[x]);
		if (!st && !src[x].array)
			st = err_set(k->err, E_PROTOCOL, "%s of a number", k->row->id);
		sig.in[x] = src[x].arg.dtype;
	}
	if (!st &&
	    !sparse_operands(&rows, &src[0].array->view, &src[1].array->view, &src[2].array->view))
		st = err_set(k->err, E_PROTOCOL, "%s: operands", k->row->id);
	if (st)
		return st;
	shape = src[2].array->view.shape;
	shape.dim[0] = rows;
	sig.out = sig.in[2];
	if (sparse_terms(rows, src[0].array->view.shape.dim[0],
			 shape.ndim > 1 ? shape.dim[1] : 1) == SPARSE_MOST)
		return err_set(k->err, E_LIMIT, "%s: too many terms", k->row->id);
	return record_result(k, src, &sig, 3, &shape);
}

enum status record_library(struct cursor *k)
{
	if (k->op == OP_SPARSE)
		return record_sparse(k);
	if (k->op == OP_RANKS)
		return record_ranks(k);
	if (k->op == OP_COMPACT)
		return record_compact(k);
	return k->op == OP_PLACES ? record_places(k) : record_matmul(k);
}
