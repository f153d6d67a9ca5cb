/* SPDX-License-Identifier: Apache-2.0 */
/* form/part.c - read and check a partition.
 *
 * part_check proves what the passes rely on: indices in range, every view inside
 * its value, values defined once and before their use, shapes that broadcast. */
#include "part.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "call/grid.h"
#include "loops/compact.h"
#include "loops/sparse.h"
#include "solver.h"

struct check {
	const struct part *p;
	uint8_t *defined; /* [value] */
	struct err *err;
};

typedef enum status check_fn(const struct check *c, unsigned k);

void part_view(struct view *out, const struct part *p, const struct part_ref *r)
{
	const int64_t *d = p->dim + r->dims;

	memset(out, 0, sizeof *out);
	out->dtype = r->dtype;
	out->offset = d[0];
	out->move = p->move ? p->move[r->dims] : 0;
	out->shape.ndim = r->ndim;
	for (unsigned k = 0; k < r->ndim; k++) {
		out->shape.dim[k] = d[1 + k];
		out->stride[k] = d[1 + r->ndim + k];
	}
}

uint32_t *part_last_uses(const struct part *p)
{
	uint32_t *last = xcalloc(p->nvalue, sizeof *last);

	for (uint32_t k = 0; k < p->nop; k++) {
		const struct part_op *o = &p->op[k];
		const struct part_ref *in = part_in(p, o);
		uint32_t prev = p->value[o->out.value].prev;

		for (unsigned i = 0; i < o->nin; i++)
			if (!(in[i].value & PART_IMM))
				last[in[i].value] = k;
		if (prev != PART_NONE)
			last[prev] = k;
	}
	return last;
}

bool part_takes(const struct part *p, uint32_t k, const uint32_t *last)
{
	const struct part_value *v = &p->value[p->op[k].out.value];

	return v->prev != PART_NONE && v->take && last[v->prev] == k &&
	       p->value[v->prev].role != PART_OUTPUT;
}

static enum status check_ref(const struct check *c, unsigned op, const struct part_ref *r)
{
	const struct part *p = c->p;
	struct view v;

	if (!dtype_native(r->dtype))
		return err_set(c->err, E_INTERNAL, "part op %u: dtype %u", op, r->dtype);
	if (r->value & PART_IMM) {
		if ((r->value & ~PART_IMM) >= p->nimm)
			return err_set(c->err, E_INTERNAL, "part op %u: no such immediate", op);
		return OK;
	}
	if (r->value >= p->nvalue)
		return err_set(c->err, E_INTERNAL, "part op %u: no value %u", op, r->value);
	if (r->ndim > LIMIT_NDIM || r->dims > p->ndim || p->ndim - r->dims < 1u + 2u * r->ndim)
		return err_set(c->err, E_INTERNAL, "part op %u: dims out of range", op);
	part_view(&v, p, r);
	if (p->nsize)
		return OK; /* each turn's were proven when they were recorded */
	return view_check(&v, p->value[r->value].bytes, c->err);
}

static enum status check_inputs(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	const struct part_ref *in;
	enum status st = OK;

	if (o->nin > OP_OPERANDS &&
	    (o->in[0].value > c->p->nlist || c->p->nlist - o->in[0].value < o->nin))
		return err_set(c->err, E_INTERNAL, "part op %u: list out of range", k);
	in = part_in(c->p, o);
	for (unsigned i = 0; i < o->nin && !st; i++) {
		st = check_ref(c, k, &in[i]);
		if (!st && !(in[i].value & PART_IMM) && !c->defined[in[i].value])
			st = err_set(c->err, E_INTERNAL, "part op %u reads value %u too early", k,
				     in[i].value);
	}
	return st;
}

/* Does a row of this kind take so many operands in a partition? */
static bool takes(const struct op_row *row, unsigned nin)
{
	if (row->arity == OP_LIST)
		return nin && nin <= LIMIT_OPERANDS;
	return nin == (row->kind == KIND_WRITE ? 1 : row->arity);
}

static bool computes(const struct op_row *row)
{
	return row && row->kind != KIND_CTL && row->kind != KIND_MOVE;
}

static enum status check_out(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	const struct part_value *v = NULL;
	enum status st = check_ref(c, k, &o->out);
	struct view view;

	if (st)
		return st;
	if (o->out.value & PART_IMM)
		return err_set(c->err, E_INTERNAL, "part op %u writes an immediate", k);
	v = &c->p->value[o->out.value];
	part_view(&view, c->p, &o->out);
	if (c->defined[o->out.value])
		return err_set(c->err, E_INTERNAL, "part op %u makes value %u again", k,
			       o->out.value);
	if (o->op != OP_ASSIGN && o->op != OP_GRID &&
	    (v->prev != PART_NONE || !view_contiguous(&view)))
		return err_set(c->err, E_INTERNAL, "part op %u: result is no fresh array", k);
	if (v->prev == PART_NONE)
		return OK;
	if (v->prev >= c->p->nvalue || !c->defined[v->prev])
		return err_set(c->err, E_INTERNAL, "value %u replaces unknown value %u",
			       o->out.value, v->prev);
	if (c->p->value[v->prev].bytes != v->bytes)
		return err_set(c->err, E_INTERNAL, "value %u has another size than value %u",
			       o->out.value, v->prev);
	return OK;
}

static enum status check_reduction(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct view in, out;
	struct shape want;
	enum status st;

	if (o->in[0].value & PART_IMM)
		return err_set(c->err, E_INTERNAL, "part op %u reduces an immediate", k);
	part_view(&in, c->p, &o->in[0]);
	part_view(&out, c->p, &o->out);
	st = shape_reduce(&want, &in.shape, o->axes, false, c->err);
	if (st)
		return st;
	if (want.ndim != out.shape.ndim ||
	    memcmp(want.dim, out.shape.dim, want.ndim * sizeof want.dim[0]))
		return err_set(c->err, E_INTERNAL, "part op %u: result shape", k);
	return OK;
}

/* Every operand must broadcast to the result. */
static enum status check_broadcast(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct view in, out, wide;
	enum status st = OK;

	part_view(&out, c->p, &o->out);
	for (unsigned i = 0; i < o->nin && !st; i++) {
		if (o->in[i].value & PART_IMM)
			continue;
		part_view(&in, c->p, &o->in[i]);
		st = view_broadcast(&wide, &in, &out.shape, c->err);
	}
	return st;
}

/* One axis, the operand's shape. */
static enum status check_along(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct view in, out;

	if (o->in[0].value & PART_IMM || !o->axes || o->axes & (o->axes - 1) ||
	    o->axes >> o->in[0].ndim)
		return err_set(c->err, E_INTERNAL, "part op %u: axis", k);
	part_view(&in, c->p, &o->in[0]);
	part_view(&out, c->p, &o->out);
	if (!shape_equal(&in.shape, &out.shape))
		return err_set(c->err, E_INTERNAL, "part op %u: result shape", k);
	return OK;
}

/* One axis, along which the operands' extents add up to the result's. */
static enum status check_join(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	const struct part_ref *ref = part_in(c->p, o);
	unsigned axis = o->axes ? (unsigned)__builtin_ctz(o->axes) : LIMIT_NDIM;
	struct view in, out;
	int64_t sum = 0;

	if (!o->axes || o->axes & (o->axes - 1) || axis >= o->out.ndim)
		return err_set(c->err, E_INTERNAL, "part op %u: axis of a join", k);
	part_view(&out, c->p, &o->out);
	for (unsigned i = 0; i < o->nin; i++) {
		if (ref[i].value & PART_IMM)
			return err_set(c->err, E_INTERNAL, "part op %u joins an immediate", k);
		part_view(&in, c->p, &ref[i]);
		if (in.shape.ndim != out.shape.ndim ||
		    __builtin_add_overflow(sum, in.shape.dim[axis], &sum))
			return err_set(c->err, E_INTERNAL, "part op %u: operand %u of a join", k,
				       i);
		in.shape.dim[axis] = out.shape.dim[axis];
		if (!shape_equal(&in.shape, &out.shape))
			return err_set(c->err, E_INTERNAL, "part op %u: operand %u of a join", k,
				       i);
	}
	if (sum != out.shape.dim[axis])
		return err_set(c->err, E_INTERNAL, "part op %u: result shape", k);
	return OK;
}

/* A state, which the result's shape does not follow from. */
static enum status check_draw(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct view in;

	part_view(&in, c->p, &o->in[0]);
	if (o->in[0].value & PART_IMM || in.shape.ndim != 1 || in.shape.dim[0] != DRAW_LENGTH)
		return err_set(c->err, E_INTERNAL, "part op %u: no state", k);
	return OK;
}

/* Places are looked up in the last axis of what they are taken from, which must have
 * an element if the result has. */
static enum status check_take(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct view in, out, wide;
	int64_t count = 0;
	enum status st;

	if (o->in[0].value & PART_IMM || o->in[1].value & PART_IMM || !o->in[0].ndim)
		return err_set(c->err, E_INTERNAL, "part op %u takes from no array", k);
	part_view(&out, c->p, &o->out);
	part_view(&in, c->p, &o->in[0]);
	in.shape.ndim--;
	st = shape_count(&count, &out.shape, 1, c->err);
	if (!st && count && in.shape.dim[in.shape.ndim] < 1)
		return err_set(c->err, E_INTERNAL, "part op %u takes from an empty axis", k);
	if (!st)
		st = view_broadcast(&wide, &in, &out.shape, c->err);
	part_view(&in, c->p, &o->in[1]);
	return st ? st : view_broadcast(&wide, &in, &out.shape, c->err);
}

static enum status check_index(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];

	if (!(o->in[1].value & PART_IMM) || o->in[0].value & PART_IMM || o->dtype >= LIMIT_NDIM)
		return err_set(c->err, E_INTERNAL, "part op %u: index", k);
	return check_broadcast(c, k);
}

/* A mask of *n elements, and ranks of it, of types and layouts as steps take them. */
static enum status check_ranks(const struct check *c, unsigned k, const struct view *mask,
			       const struct view *ranks, int64_t *n)
{
	enum status st = shape_count(n, &mask->shape, 1, c->err);

	if (st)
		return st;
	if (mask->dtype != DT_BOOL || !compact_lies(mask) || ranks->dtype != DT_INT64 ||
	    ranks->shape.ndim != 1 || ranks->shape.dim[0] != compact_blocks(*n))
		return err_set(c->err, E_INTERNAL, "part op %u: mask or ranks", k);
	return OK;
}

/* Rows of a source, one for each element of the mask, of which the result has some. */
static bool are_rows(const struct view *source, const struct view *out, int64_t n)
{
	return source->shape.ndim && source->shape.ndim <= 2 && source->shape.dim[0] == n &&
	       source->dtype == out->dtype && out->shape.ndim == source->shape.ndim &&
	       (out->shape.ndim == 1 || out->shape.dim[1] == source->shape.dim[1]);
}

/* Coordinates: a number each of a mask of one axis. */
static bool are_places(const struct view *mask, const struct view *out)
{
	unsigned axes = mask->shape.ndim;

	return axes <= COMPACT_AXES && out->shape.ndim == (axes > 1 ? 2 : 1) &&
	       (axes == 1 || out->shape.dim[1] == axes);
}

/* What a mask chooses: of elements reduced, one. */
static bool are_chosen(const struct part_op *o, const struct view *source, const struct view *mask,
		       const struct view *out, int64_t n)
{
	if (op_row(o->op)->kind == KIND_CHOSEN)
		return n && source->shape.ndim == 1 && source->shape.dim[0] == n &&
		       !out->shape.ndim;
	if (!(o->op == OP_COMPACT ? are_rows(source, out, n) : are_places(mask, out)))
		return false;
	return out->shape.dim[0] <= n;
}

static enum status check_chosen(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	const struct part_ref *ranks_ref = o->op == OP_RANKS ? &o->out : &o->in[o->nin - 1u];
	struct view source, mask, ranks, out;
	int64_t n = 0;
	enum status st = OK;

	for (unsigned i = 0; i < o->nin; i++)
		if (o->in[i].value & PART_IMM)
			return err_set(c->err, E_INTERNAL, "part op %u: a mask of a number", k);
	part_view(&source, c->p, &o->in[0]);
	part_view(&mask, c->p, &o->in[o->nin == 3]);
	part_view(&ranks, c->p, ranks_ref);
	part_view(&out, c->p, &o->out);
	st = check_ranks(c, k, &mask, &ranks, &n);
	if (st || o->op == OP_RANKS)
		return st;
	return are_chosen(o, &source, &mask, &out, n)
		       ? OK
		       : err_set(c->err, E_INTERNAL, "part op %u: result shape", k);
}

/* Elements of one axis, needles among them, perhaps values at the elements. */
static enum status check_search(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	bool lines = o->op == OP_INTERP;
	struct view v[3] = {{0}}, out;
	bool fits = true;

	for (unsigned i = 0; i < o->nin; i++) {
		if (o->in[i].value & PART_IMM)
			return err_set(c->err, E_INTERNAL, "part op %u: a search of a number", k);
		part_view(&v[i], c->p, &o->in[i]);
		fits &= v[i].shape.ndim == 1 && v[i].dtype == (lines ? DT_FLOAT64 : v[0].dtype);
	}
	part_view(&out, c->p, &o->out);
	if (!fits || v[0].shape.dim[0] < (lines ? 2 : 1) ||
	    out.dtype != (lines ? DT_FLOAT64 : DT_INT64) || !shape_equal(&v[1].shape, &out.shape) ||
	    (lines && !shape_equal(&v[2].shape, &v[0].shape)))
		return err_set(c->err, E_INTERNAL, "part op %u: operands of a search", k);
	return OK;
}

/* One axis; the others are the operand's, and that one fits the result's. */
static enum status check_fourier(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	unsigned axis = o->axes ? (unsigned)__builtin_ctz(o->axes) : LIMIT_NDIM;
	struct view in, out;
	int64_t n = 0, made = 0;

	if (o->in[0].value & PART_IMM || !o->axes || o->axes & (o->axes - 1) ||
	    axis >= o->in[0].ndim || o->out.ndim != o->in[0].ndim)
		return err_set(c->err, E_INTERNAL, "part op %u: axis", k);
	part_view(&in, c->p, &o->in[0]);
	part_view(&out, c->p, &o->out);
	n = in.shape.dim[axis];
	made = out.shape.dim[axis];
	in.shape.dim[axis] = made;
	if (!shape_equal(&in.shape, &out.shape) ||
	    made != op_transformed((enum op)o->op, n, o->op == OP_RFFT ? n : made))
		return err_set(c->err, E_INTERNAL, "part op %u: extents of a transform", k);
	return OK;
}

/* Matrices, and a row for each of them. */
static enum status check_solver(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct solver_layout lay;
	struct view in, out;
	unsigned last = 0;

	if (o->in[0].value & PART_IMM || o->in[0].ndim < 2 || o->out.ndim + 1 != o->in[0].ndim)
		return err_set(c->err, E_INTERNAL, "part op %u: axes of matrices", k);
	part_view(&in, c->p, &o->in[0]);
	part_view(&out, c->p, &o->out);
	last = in.shape.ndim - 1u;
	if (out.dtype != in.dtype ||
	    !solver_lay(&lay, o->axes, in.dtype, in.shape.dim[last], in.shape.dim[last - 1]))
		return err_set(c->err, E_INTERNAL, "part op %u: extents of matrices", k);
	in.shape.ndim--;
	in.shape.dim[last - 1] = lay.bytes / dtype_row(in.dtype)->bytes;
	return shape_equal(&in.shape, &out.shape)
		       ? OK
		       : err_set(c->err, E_INTERNAL, "part op %u: extents of factors", k);
}

/* Entries and structure, side by side; a row of what is multiplied for each column that may be
 * named, and rows as many as the structure has. */
static enum status check_sparse(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	struct view v[3] = {{0}}, out;
	int64_t rows = 0;

	for (unsigned i = 0; i < o->nin; i++) {
		if (o->in[i].value & PART_IMM)
			return err_set(c->err, E_INTERNAL, "part op %u: a sparse number", k);
		part_view(&v[i], c->p, &o->in[i]);
	}
	part_view(&out, c->p, &o->out);
	if (!sparse_operands(&rows, &v[0], &v[1], &v[2]) || out.dtype != v[2].dtype ||
	    out.shape.ndim != v[2].shape.ndim || out.shape.dim[0] != rows ||
	    (out.shape.ndim > 1 && out.shape.dim[1] != v[2].shape.dim[1]))
		return err_set(c->err, E_INTERNAL, "part op %u: operands of a sparse product", k);
	return OK;
}

/* A new value of what the first array is, seen as that is; other arrays, whose extents are few
 * enough to be loops; numbers. */
static enum status check_grid(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	const struct part_ref *in = part_in(c->p, o);
	struct shape_loops loops = {0};
	struct view v, out;
	unsigned n = 0;
	uint32_t at = 0;

	for (; n < o->nin && !(in[n].value & PART_IMM); n++) {
		part_view(&v, c->p, &in[n]);
		if (!v.shape.ndim || !shape_loops_add(&loops, &at, &v.shape))
			return err_set(c->err, E_INTERNAL, "part op %u: axes of array %u", k, n);
	}
	for (unsigned i = n; i < o->nin; i++)
		if (!(in[i].value & PART_IMM))
			return err_set(c->err, E_INTERNAL, "part op %u: an array behind numbers",
				       k);
	if (!n || n > LIMIT_GRID_ARRAYS || o->nin - n > CALL_SCALARS || !o->axes ||
	    o->dtype > LIMIT_GRID_HINT)
		return err_set(c->err, E_INTERNAL, "part op %u: loop %u of %u arrays", k, o->axes,
			       n);
	part_view(&v, c->p, &in[0]);
	part_view(&out, c->p, &o->out);
	if (in[0].value != c->p->value[o->out.value].prev || memcmp(&v, &out, sizeof v) != 0)
		return err_set(c->err, E_INTERNAL, "part op %u: what a loop writes", k);
	return OK;
}

/* Of the kinds that have one check each. */
static check_fn *const kind_check[] = {
	[KIND_GATHER] = check_take,	 [KIND_EW] = check_broadcast,
	[KIND_WRITE] = check_broadcast,	 [KIND_RED] = check_reduction,
	[KIND_ARGRED] = check_reduction, [KIND_SCAN] = check_along,
	[KIND_SORT] = check_along,	 [KIND_JOIN] = check_join,
	[KIND_DRAW] = check_draw,	 [KIND_SEARCH] = check_search,
	[KIND_CHOSEN] = check_chosen,	 [KIND_FOURIER] = check_fourier,
	[KIND_LANE] = check_along,	 [KIND_SOLVER] = check_solver,
	[KIND_GRID] = check_grid,
};

/* Do operands and result of an op fit each other? */
static enum status check_shapes(const struct check *c, unsigned k, const struct op_row *row)
{
	const struct part_op *o = &c->p->op[k];
	check_fn *check =
		row->kind < sizeof kind_check / sizeof kind_check[0] ? kind_check[row->kind] : NULL;

	if (o->op == OP_INDEX)
		check = check_index;
	if (row->kind == KIND_LIB) /* of no kind of its own */
		check = o->op == OP_MATMUL   ? NULL
			: o->op == OP_SPARSE ? check_sparse
					     : check_chosen;
	if (check)
		return check(c, k);
	if (o->op == OP_ARANGE &&
	    (o->out.ndim != 1 || !(o->in[0].value & PART_IMM) || !(o->in[1].value & PART_IMM)))
		return err_set(c->err, E_INTERNAL, "part op %u: arange", k);
	return OK;
}

static enum status check_op(const struct check *c, unsigned k)
{
	const struct part_op *o = &c->p->op[k];
	const struct op_row *row = op_row(o->op);
	enum status st;

	if (!computes(row) || !takes(row, o->nin))
		return err_set(c->err, E_INTERNAL, "part op %u: %s with %u operands", k,
			       op_text(o->op), o->nin);
	st = check_inputs(c, k);
	if (!st)
		st = check_out(c, k);
	if (st)
		return st;
	c->defined[o->out.value] = 1;
	return check_shapes(c, k, row);
}

/* Does *p keep every rule of part.h? */
enum status part_check(const struct part *p, struct err *err)
{
	struct check c = {p, NULL, err};
	enum status st = OK;

	if (p->nop > LIMIT_PARTITION_OPS)
		return err_set(err, E_LIMIT, "partition of %u ops, limit %d", p->nop,
			       LIMIT_PARTITION_OPS);
	c.defined = xcalloc(p->nvalue, 1);
	for (uint32_t v = 0; v < p->nvalue && !st; v++) {
		if (p->value[v].role > PART_TEMP)
			st = err_set(err, E_INTERNAL, "value %u has no role", v);
		c.defined[v] = p->value[v].role == PART_INPUT;
	}
	for (uint32_t k = 0; k < p->nop && !st; k++)
		st = check_op(&c, k);
	for (uint32_t v = 0; v < p->nvalue && !st; v++)
		if (!c.defined[v])
			st = err_set(err, E_INTERNAL, "nothing makes value %u", v);
	free(c.defined);
	return st;
}
