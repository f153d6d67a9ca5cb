/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_fourier.c - Fourier transforms along one axis: a library step (call/fourier.h).
 *
 * Axes whose elements follow each other alike on both sides become one loop.  What a library cannot
 * be told of, with a stride along the axis and one from transform to transform, is copied: the
 * operand before, the result behind, with the axis last.  A transform to real numbers may spoil
 * what it reads, so it always gets a copy, into which the nest that makes the operand can be
 * merged. */
#include "call/fourier.h"

#include <string.h>

#include "lower.h"

/* One side: its slot, and the view with the axis last. */
struct side {
	uint32_t slot;
	struct view view;
};

/* The axis behind the others, which keep their order. */
static void axis_last(struct view *v, unsigned axis)
{
	unsigned last = v->shape.ndim - 1u, behind = last - axis;
	int64_t dim = v->shape.dim[axis], stride = v->stride[axis];

	memmove(v->shape.dim + axis, v->shape.dim + axis + 1, behind * sizeof dim);
	memmove(v->stride + axis, v->stride + axis + 1, behind * sizeof stride);
	v->shape.dim[last] = dim;
	v->stride[last] = stride;
}

/* Append axis k of both, or let the loop before it go on. */
static bool put_loop(struct plan_call *c, const struct side *in, const struct side *out, unsigned k)
{
	int64_t n = in->view.shape.dim[k], from = in->view.stride[k], to = out->view.stride[k];
	unsigned l = c->nloop;

	if (n == 1)
		return true;
	if (l && c->operand[0].stride[l - 1] == n * from && c->operand[1].stride[l - 1] == n * to) {
		l--;
		n *= c->extent[l];
	} else if (l == LIMIT_NDIM - FOURIER_AXES) {
		return false;
	}
	c->extent[l] = n;
	c->operand[0].stride[l] = from;
	c->operand[1].stride[l] = to;
	c->nloop = (uint8_t)(l + 1);
	return true;
}

static void put_operand(struct plan_call *c, unsigned x, const struct side *s)
{
	struct call_operand *o = &c->operand[x];

	o->slot = s->slot;
	o->dtype = s->view.dtype;
	o->offset = s->view.offset;
	o->move = s->view.move;
	if (x < 2) {
		unsigned l = c->nloop++, last = s->view.shape.ndim - 1u;

		c->extent[l] = s->view.shape.dim[last];
		o->stride[l] = s->view.stride[last];
	}
}

/* The call; false: it cannot be told of such operands. */
static bool put(struct plan_call *c, const struct part_op *o, const struct side *in,
		const struct side *out)
{
	bool few = true;

	memset(c, 0, sizeof *c);
	c->call = (uint8_t)call_of_op(o->op);
	c->op = o->op;
	c->dtype = in->view.dtype;
	for (unsigned k = 0; k + 1 < in->view.shape.ndim && few; k++)
		few = put_loop(c, in, out, k);
	put_operand(c, 0, in);
	put_operand(c, 1, out);
	if (c->call == CALL_FOURIER_REAL)
		c->operand[2] = c->operand[0];
	return few && fourier_fits(c);
}

/* An array of its own, with a view like this one's in C order. */
static void make(struct side *s, struct prog *p, const struct view *like, int64_t count)
{
	view_init(&s->view, (enum dtype)like->dtype, &like->shape);
	s->view.move = 0;
	s->slot = prog_slot(p, (uint64_t)count * dtype_row(like->dtype)->bytes);
}

static void copy(struct prog *p, const struct side *from, const struct side *to)
{
	struct build b;

	if (!build_begin(&b, p, &from->view.shape, 0, false))
		return;
	build_store(&b, to->slot, &to->view, build_load(&b, from->slot, &from->view));
	build_end(&b);
}

/* What is read, in an array of its own: the axis where it is, or last. */
static enum status own(struct side *s, struct prog *p, unsigned axis, bool last, struct err *err)
{
	struct side made;
	int64_t count = 0;
	enum status st = OK;

	if (last)
		axis_last(&s->view, axis);
	st = shape_count(&count, &s->view.shape, dtype_row(s->view.dtype)->bytes, err);
	if (st)
		return st;
	make(&made, p, &s->view, count);
	copy(p, s, &made);
	*s = made;
	if (!last)
		axis_last(&s->view, axis);
	return OK;
}

/* Of numbers whose transform is real the first, and of an even length the last, are real: NumPy
 * takes their real parts, where a library may want them to be so.  The axis is the copy's last. */
static void make_ends_real(struct prog *p, const struct side *s, int64_t length)
{
	unsigned last = s->view.shape.ndim - 1u;
	bool even = length % 2 == 0;
	struct view ends = s->view;
	struct build b;
	uint16_t x;

	ends.shape.dim[last] = even ? 2 : 1;
	ends.stride[last] *= length / 2;
	if (!build_begin(&b, p, &ends.shape, 0, false))
		return;
	x = build_load(&b, s->slot, &ends);
	x = build_instr(&b, OP_REAL, ends.dtype == DT_COMPLEX128 ? DT_FLOAT64 : DT_FLOAT32,
			ends.dtype, x, 0, 0);
	build_store(&b, s->slot, &ends, build_cast(&b, x, ends.dtype));
	build_end(&b);
}

static void call(struct prog *p, const struct plan_call *c)
{
	struct prog_unit *u = prog_unit(p, true);

	*u->call = *c;
	prog_count_call(p, u);
	prog_summarise(u);
}

/* Both in arrays of their own, the axis last: so there is one loop of transforms. */
static enum status by_copies(struct prog *p, const struct part_op *o, struct side *in,
			     const struct side *out, int64_t count, struct err *err)
{
	struct side made;
	struct plan_call c;
	enum status st = own(in, p, (unsigned)__builtin_ctz(o->axes), true, err);

	if (st)
		return st;
	if (o->op == OP_IRFFT)
		make_ends_real(p, in, out->view.shape.dim[out->view.shape.ndim - 1u]);
	make(&made, p, &out->view, count);
	if (!put(&c, o, in, &made))
		return err_set(err, E_INTERNAL, "%s: how copies lie", op_text(o->op));
	call(p, &c);
	copy(p, &made, out);
	return OK;
}

static enum status lower(struct prog *p, const struct part_op *o, int64_t count, struct err *err)
{
	unsigned axis = (unsigned)__builtin_ctz(o->axes);
	struct side in = {.slot = p->value_slot[o->in[0].value]}, read;
	struct side out = {.slot = p->value_slot[o->out.value]};
	bool spoils = o->op == OP_IRFFT;
	struct plan_call c;
	enum status st = OK;

	part_view(&in.view, p->part, &o->in[0]);
	part_view(&out.view, p->part, &o->out);
	axis_last(&out.view, axis);
	read = in;
	if (spoils) { /* as the copy would lie */
		view_init(&read.view, (enum dtype)in.view.dtype, &in.view.shape);
		read.view.move = 0;
	}
	axis_last(&read.view, axis);
	if (!put(&c, o, &read, &out))
		return by_copies(p, o, &in, &out, count, err);
	if (spoils) {
		st = own(&in, p, axis, false, err);
		if (!st)
			make_ends_real(p, &in, out.view.shape.dim[out.view.shape.ndim - 1u]);
		c.operand[0].slot = c.operand[2].slot = in.slot;
	}
	if (!st)
		call(p, &c);
	return st;
}

/* See lower.h.  Without elements nothing is done. */
enum status lower_fourier(struct prog *p, const struct part_op *o, struct err *err)
{
	struct op_sig sig;
	struct view out;
	int64_t count = 0;
	enum status st = lower_sig(&sig, o, err);

	if (!st && sig.out != o->out.dtype)
		st = err_set(err, E_INTERNAL, "%s: result type", op_text(o->op));
	part_view(&out, p->part, &o->out);
	if (!st)
		st = shape_count(&count, &out.shape, 1, err);
	return st || !count ? st : lower(p, o, count, err);
}
