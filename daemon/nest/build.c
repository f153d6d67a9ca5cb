/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <string.h>

static void add_loop(struct build *b, unsigned axis, bool reduced)
{
	struct nest *n = b->nest;
	unsigned l = n->npar + n->nred;

	b->axis[l] = (uint8_t)axis;
	n->extent[l] = b->domain.dim[axis];
	if (reduced)
		n->nred++;
	else
		n->npar++;
}

bool build_begin(struct build *b, struct prog *p, const struct shape *domain, uint32_t reduced,
		 bool reduces)
{
	memset(b, 0, sizeof *b);
	b->prog = p;
	b->domain = *domain;
	for (unsigned k = 0; k < domain->ndim; k++)
		if (!domain->dim[k] && !(reduced >> k & 1))
			return false;
	b->unit = prog_unit(p, false);
	b->nest = b->unit->nest;
	b->nest->width = 8;
	for (int red = 0; red < 2; red++)
		for (unsigned k = 0; k < domain->ndim; k++)
			if ((reduced >> k & 1) == (unsigned)red && domain->dim[k] != 1)
				add_loop(b, k, red);
	if (reduces && !b->nest->nred) {
		/* A reduction needs a loop; this one has no axis of its own. */
		unsigned l = b->nest->npar;

		b->axis[l] = LIMIT_NDIM;
		b->nest->extent[l] = 1;
		b->nest->nred = 1;
	}
	b->nest->post = UINT16_MAX;
	return true;
}

uint16_t build_instr(struct build *b, unsigned op, unsigned dtype, unsigned ltype, unsigned x,
		     unsigned y, unsigned z)
{
	struct nest *n = b->nest;

	n->instr[n->ninstr] = (struct nest_instr){(uint16_t)op, (uint8_t)dtype, (uint8_t)ltype,
						  (uint16_t)x,	(uint16_t)y,	(uint16_t)z};
	return n->ninstr++;
}

static unsigned add_access(struct build *b, uint32_t slot, const struct view *v, bool write)
{
	struct nest *n = b->nest;
	struct nest_access *a = &n->access[n->naccess];

	a->slot = slot;
	a->dtype = v->dtype;
	a->write = write;
	a->offset = v->offset;
	a->move = v->move;
	for (unsigned l = 0; l < (unsigned)n->npar + n->nred; l++)
		if (b->axis[l] < LIMIT_NDIM)
			a->stride[l] = v->stride[b->axis[l]];
	return n->naccess++;
}

uint16_t build_load(struct build *b, uint32_t slot, const struct view *v)
{
	b->prog->slot[slot].nread++;
	return build_instr(b, NI_LOAD, v->dtype, v->dtype, add_access(b, slot, v, false), 0, 0);
}

uint16_t build_gather(struct build *b, uint32_t slot, const struct view *v, int64_t extent,
		      int64_t stride, uint16_t place)
{
	unsigned a = add_access(b, slot, v, false);
	struct nest_access *x = &b->nest->access[a];

	x->gather = 1;
	x->gextent = extent;
	x->gstride = stride;
	b->prog->slot[slot].nread++;
	return build_instr(b, NI_GATHER, v->dtype, v->dtype, a, place, 0);
}

uint16_t build_scalar(struct build *b, uint32_t imm, unsigned dtype)
{
	struct nest *n = b->nest;

	n->scalar[n->nscalar] = imm;
	n->scalar_dtype[n->nscalar] = (uint8_t)dtype;
	return build_instr(b, NI_SCALAR, dtype, dtype, n->nscalar++, 0, 0);
}

uint16_t build_cast(struct build *b, uint16_t x, unsigned to)
{
	unsigned from = b->nest->instr[x].dtype;

	return from == to ? x : build_instr(b, OP_CAST, to, from, x, 0, 0);
}

void build_store(struct build *b, uint32_t slot, const struct view *v, uint16_t x)
{
	unsigned a = add_access(b, slot, v, true);

	b->prog->slot[slot].writer = b->unit->id;
	build_instr(b, NI_STORE, v->dtype, v->dtype, a, x, 0);
}

void build_post(struct build *b)
{
	b->nest->post = b->nest->ninstr;
}

void build_end(struct build *b)
{
	struct nest *n = b->nest;

	if (n->post == UINT16_MAX)
		n->post = n->ninstr;
	n->vec = (uint8_t)(n->npar + n->nred ? n->npar + n->nred - 1 : 0);
	for (unsigned k = 0; k < n->naccess; k++) {
		int64_t s = n->npar + n->nred ? n->access[k].stride[n->vec] : 0;

		n->access[k].walk = s == dtype_row(n->access[k].dtype)->bytes ? WALK_UNIT
				    : s					      ? WALK_STRIDED
									      : WALK_SAME;
	}
	prog_summarise(b->unit);
}
