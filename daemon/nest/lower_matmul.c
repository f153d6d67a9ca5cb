/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_matmul.c - a matrix product: a library step, or a reduction nest.
 *
 * Products of two matrices go to the library or to loops of their own (kernels/loops/product.h),
 * those of bool only if they are short; operands of another type are cast into temporaries
 * first.  So do large ones of a vector with a matrix whose memory runs along the axis that
 * is kept: the tree of a sum over the outer axis has too many lanes for a nest (the worker
 * has loops for it, up to a size).  Other products
 * with a vector (a matrix of one row or column is one, if it is long), other ones
 * of bool, and empty ones (k = 0) become multiply and sum over the domain
 * [batch..., m, n | k].  Integers are summed in 64 bits, which wraps alike; float16 is
 * multiplied and summed in float32. */
#include <stdlib.h>
#include <string.h>

#include "call/product.h"
#include "loops/product.h"
#include "lower.h"

struct factors {
	const struct part_op *o;
	uint8_t dtype;
	struct shape domain; /* batch..., m, n, k; 1-D operands: m or n is 1 */
	unsigned nbatch;
	struct view in[2]; /* over the domain */
	struct view out;
};

/* An operand over the domain: its matrix axes on loops `row` and `col`, stride 0
 * elsewhere, batch axes broadcast. */
static enum status place(struct view *out, const struct view *v, const struct factors *f,
			 unsigned row, unsigned col, bool vector_is_row, struct err *err)
{
	struct view batch = *v, wide;
	struct shape bs = {(uint8_t)f->nbatch, {0}};
	unsigned nd = v->shape.ndim, matrix = nd > 1 ? 2 : 1;
	enum status st;

	memcpy(bs.dim, f->domain.dim, f->nbatch * sizeof bs.dim[0]);
	batch.shape.ndim = (uint8_t)(nd - matrix);
	st = view_broadcast(&wide, &batch, &bs, err);
	if (st)
		return st;
	*out = wide;
	out->shape = f->domain;
	out->stride[f->nbatch] = out->stride[f->nbatch + 1] = out->stride[f->nbatch + 2] = 0;
	if (nd > 1) {
		out->stride[row] = v->stride[nd - 2];
		out->stride[col] = v->stride[nd - 1];
	} else {
		out->stride[vector_is_row ? row : col] = v->stride[0];
	}
	return OK;
}

/* Fill *f from the op: the domain, both operands and the result over it. */
static enum status analyse(struct factors *f, const struct part *part, const struct part_op *o,
			   struct err *err)
{
	struct view a, b, out;
	struct shape want;
	unsigned na, nb, from = 0;
	enum status st;

	part_view(&a, part, &o->in[0]);
	part_view(&b, part, &o->in[1]);
	part_view(&out, part, &o->out);
	na = a.shape.ndim;
	nb = b.shape.ndim;
	st = shape_matmul(&want, &a.shape, &b.shape, err);
	if (st)
		return st;
	f->nbatch = want.ndim - (uint32_t)(na > 1) - (uint32_t)(nb > 1);
	if (f->nbatch + 3 > LIMIT_NDIM)
		return err_set(err, E_UNSUPPORTED, "matmul with %u batch axes", f->nbatch);
	if (want.ndim != out.shape.ndim ||
	    memcmp(want.dim, out.shape.dim, want.ndim * sizeof want.dim[0]))
		return err_set(err, E_INTERNAL, "matmul: result shape");
	f->domain.ndim = (uint8_t)(f->nbatch + 3);
	memcpy(f->domain.dim, want.dim, f->nbatch * sizeof want.dim[0]);
	f->domain.dim[f->nbatch] = na > 1 ? a.shape.dim[na - 2] : 1;
	f->domain.dim[f->nbatch + 1] = nb > 1 ? b.shape.dim[nb - 1] : 1;
	f->domain.dim[f->nbatch + 2] = a.shape.dim[na - 1];
	st = place(&f->in[0], &a, f, f->nbatch, f->nbatch + 2, false, err);
	if (!st)
		st = place(&f->in[1], &b, f, f->nbatch + 2, f->nbatch + 1, true, err);
	if (st)
		return st;
	f->out = out;
	f->out.shape = f->domain;
	memset(f->out.stride, 0, sizeof f->out.stride);
	for (unsigned k = 0; k < f->nbatch + 2; k++)
		if (k < f->nbatch || (k == f->nbatch ? na > 1 : nb > 1))
			f->out.stride[k] = out.stride[from++];
	return OK;
}

static enum status as_reduction(struct prog *p, const struct factors *f, struct err *err)
{
	unsigned cls = dtype_row(f->dtype)->cls, red = f->nbatch + 2;
	unsigned narrow = lower_wide(f->dtype), wide = narrow;
	struct build b;
	uint16_t x, y;

	if (!build_begin(&b, p, &f->domain, 1u << red, true))
		return OK;
	x = build_load(&b, p->value_slot[f->o->in[0].value], &f->in[0]);
	x = build_cast(&b, build_cast(&b, x, f->dtype), narrow);
	y = build_load(&b, p->value_slot[f->o->in[1].value], &f->in[1]);
	y = build_cast(&b, build_cast(&b, y, f->dtype), narrow);
	x = build_instr(&b, OP_MULTIPLY, narrow, narrow, x, y, 0);
	if (cls == CLASS_INT || cls == CLASS_UINT)
		wide = cls == CLASS_INT ? DT_INT64 : DT_UINT64;
	x = build_cast(&b, x, wide);
	x = build_instr(&b, NI_REDUCE, wide, wide, x, 0, cls == CLASS_BOOL ? OP_ANY : OP_SUM);
	build_post(&b);
	x = build_cast(&b, x, f->dtype);
	build_store(&b, p->value_slot[f->o->out.value], &f->out, x);
	build_end(&b);
	return OK;
}

/* The operand's slot and view as the library needs it: of the common type. */
static enum status library_operand(uint32_t *slot, struct view *v, struct prog *p,
				   const struct factors *f, unsigned k, struct err *err)
{
	struct view in;
	enum status st = lower_array(slot, &in, p, &f->o->in[k], f->dtype, err);

	if (st)
		return st;
	return k ? place(v, &in, f, f->nbatch + 2, f->nbatch + 1, true, err)
		 : place(v, &in, f, f->nbatch, f->nbatch + 2, false, err);
}

/* The operand that is a vector; 2: neither is. */
static unsigned vector_operand(const struct factors *f)
{
	const int64_t *dim = f->domain.dim + f->nbatch;

	if (f->o->in[0].ndim == 1 || f->o->in[1].ndim == 1)
		return f->o->in[0].ndim == 1 ? 0 : 1;
	return !product_vector(dim[0], dim[1], dim[2]) ? 2 : dim[0] == 1 ? 0 : 1;
}

/* Of two matrices: is it a library's, or that of our own loops? */
static bool is_product(const struct factors *f)
{
	const int64_t *dim = f->domain.dim + f->nbatch;

	return vector_operand(f) == 2 &&
	       (f->dtype != DT_BOOL || product_short(dim[0], dim[1], dim[2]));
}

/* Numbers of bfloat16 lose nothing where TF32 is rounded to. */
static bool of_brains(const struct factors *f)
{
	return f->o->in[0].dtype == DT_BFLOAT16 && f->o->in[1].dtype == DT_BFLOAT16;
}

/* A matrix with a vector is a row of the product of the transposes: whichever side the
 * vector stood on, it is A and the result has one row. */
static enum status as_library(struct prog *p, const struct factors *f, struct err *err)
{
	bool turned = vector_operand(f) == 1;
	const unsigned loop[3] = {f->nbatch + turned, f->nbatch + !turned, f->nbatch + 2};
	const unsigned operand[3] = {turned, !turned, 2};
	struct view v[3];
	uint32_t slot[3];
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	enum status st = library_operand(&slot[0], &v[0], p, f, 0, err);

	if (!st)
		st = library_operand(&slot[1], &v[1], p, f, 1, err);
	if (st)
		return st;
	slot[2] = p->value_slot[f->o->out.value];
	v[2] = f->out;
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_PRODUCT;
	c->dtype = f->dtype;
	c->tf32 = product_tf32(f->dtype) && (f->o->dtype == PRECISION_TF32 || of_brains(f));
	c->nloop = f->domain.ndim;
	memcpy(c->extent, f->domain.dim, f->nbatch * sizeof c->extent[0]);
	for (unsigned l = 0; l < 3; l++)
		c->extent[f->nbatch + l] = f->domain.dim[loop[l]];
	for (unsigned x = 0; x < 3; x++) {
		const struct view *in = &v[operand[x]];
		struct call_operand *o = &c->operand[x];

		o->slot = slot[operand[x]];
		o->dtype = f->dtype;
		o->offset = in->offset;
		o->move = in->move;
		memcpy(o->stride, in->stride, f->nbatch * sizeof o->stride[0]);
		for (unsigned l = 0; l < 3; l++)
			o->stride[f->nbatch + l] = in->stride[loop[l]];
	}
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}

/* Is a product with a vector a step of its own?  Where memory runs across the sums, and where these
 * are short; others, and small ones, are as quick as sums, and fuse. */
static bool steps_alone(const struct factors *f)
{
	unsigned vector = vector_operand(f), inner = f->nbatch + 2;
	unsigned kept = f->nbatch + (vector == 0);
	const int64_t *stride = f->in[!vector].stride, *dim = f->domain.dim;

	if (vector == 2 || (f->o->in[0].ndim == 1 && f->o->in[1].ndim == 1) ||
	    f->dtype == DT_FLOAT16 || dtype_row(f->dtype)->cls < CLASS_FLOAT)
		return false;
	if (f->o->in[0].dtype == f->dtype && f->o->in[1].dtype == f->dtype &&
	    product_rowed(f->dtype, 1, dim[kept], dim[inner], f->in[vector].stride[inner],
			  stride[inner]))
		return true;
	return product_across(dim[kept], dim[inner], stride[kept], stride[inner]);
}

static bool nothing_to_do(const struct factors *f)
{
	for (unsigned k = 0; k < f->nbatch + 2; k++)
		if (!f->domain.dim[k])
			return true;
	return false;
}

/* See lower.h. */
unsigned lower_matmul_way(const struct part *part, const struct part_op *o)
{
	struct factors f = {.o = o};
	struct op_sig sig;
	struct err err;

	if ((o->in[0].value | o->in[1].value) & PART_IMM || lower_sig(&sig, o, &err) ||
	    analyse(&f, part, o, &err) || o->in[0].dtype != sig.out || o->in[1].dtype != sig.out)
		return 0;
	f.dtype = sig.out;
	if (nothing_to_do(&f) || !f.domain.dim[f.nbatch + 2])
		return 0;
	return is_product(&f) || steps_alone(&f) ? MATMUL_STEP : MATMUL_NEST;
}

/* See lower.h. */
enum status lower_matmul(struct prog *p, const struct part_op *o, struct err *err)
{
	struct factors f = {.o = o};
	struct op_sig sig;
	enum status st;

	if ((o->in[0].value | o->in[1].value) & PART_IMM)
		return err_set(err, E_SHAPE, "matmul: operand is a scalar");
	st = lower_sig(&sig, o, err);
	if (!st)
		st = analyse(&f, p->part, o, err);
	if (st)
		return st;
	f.dtype = sig.out;
	if (o->out.dtype != sig.out)
		return err_set(err, E_INTERNAL, "matmul: result type");
	if (nothing_to_do(&f))
		return OK;
	if (o->axes ? o->axes == MATMUL_STEP
		    : f.domain.dim[f.nbatch + 2] && (is_product(&f) || steps_alone(&f)))
		return as_library(p, &f, err);
	return as_reduction(p, &f, err);
}
