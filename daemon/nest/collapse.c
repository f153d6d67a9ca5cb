/* SPDX-License-Identifier: Apache-2.0 */
/* nest/collapse.c - fewer and better loops: order, join, choose the vector loop.
 *
 * Parallel loops may come in any order; reduced loops keep theirs, for the
 * summation tree follows it.  Loops join where every access steps evenly over
 * both.  Last pass over nests: sets vec, width, walk and alone. */
#include <stdlib.h>
#include <string.h>

#include "prog.h"

/* Where there are many rows, short ones go side by side, one in a lane; such as lie in
 * memory element after element, while no operand lies across them, only if very short. */
#define SHORT_REDUCTION 64
#define SHORT_UNIT_ROWS 20
#define MANY_ROWS	64

static uint32_t indexed_loops(const struct nest *n)
{
	uint32_t set = 0;

	for (unsigned k = 0; k < n->ninstr; k++)
		if (instr_names(n->instr[k].op, ARG_LOOP))
			set |= 1u << n->instr[k].a;
	return set;
}

static unsigned bytes_of(unsigned dtype)
{
	return dtype_row(dtype)->bytes;
}

/* How many accesses step by one element along loop l; stores count twice. */
static unsigned unit_votes(const struct nest *n, unsigned l)
{
	unsigned votes = 0;

	for (unsigned k = 0; k < n->naccess; k++)
		if (n->access[k].stride[l] == bytes_of(n->access[k].dtype))
			votes += n->access[k].write ? 2 : 1;
	return votes;
}

/* Should loop a be outside loop b?  The first access, stores first, whose strides
 * differ in size decides. */
static bool outside(const struct nest *n, unsigned a, unsigned b)
{
	for (int write = 1; write >= 0; write--) {
		for (unsigned k = 0; k < n->naccess; k++) {
			int64_t x = llabs(n->access[k].stride[a]);
			int64_t y = llabs(n->access[k].stride[b]);

			if (n->access[k].write == write && x && y && x != y)
				return x > y;
		}
	}
	return a < b;
}

static void permute(struct nest *n, const uint8_t *order)
{
	struct nest_access tmp;
	int64_t extent[LIMIT_NDIM];
	uint8_t where[LIMIT_NDIM];

	memcpy(extent, n->extent, sizeof extent);
	for (unsigned l = 0; l < n->npar; l++) {
		n->extent[l] = extent[order[l]];
		where[order[l]] = (uint8_t)l;
	}
	for (unsigned k = 0; k < n->naccess; k++) {
		tmp = n->access[k];
		for (unsigned l = 0; l < n->npar; l++)
			n->access[k].stride[l] = tmp.stride[order[l]];
	}
	for (unsigned k = 0; k < n->ninstr; k++)
		if (instr_names(n->instr[k].op, ARG_LOOP) && n->instr[k].a < n->npar)
			n->instr[k].a = where[n->instr[k].a];
}

static void order_parallel(struct nest *n)
{
	uint8_t order[LIMIT_NDIM];
	unsigned best = 0, votes = 0;

	if (n->npar < 2)
		return;
	for (unsigned l = 0; l < n->npar; l++) {
		unsigned k = l, v = unit_votes(n, l);

		while (k && outside(n, l, order[k - 1])) {
			order[k] = order[k - 1];
			k--;
		}
		order[k] = (uint8_t)l;
		if (v >= votes) {
			votes = v;
			best = l;
		}
	}
	if (votes) {
		unsigned k = 0;

		while (order[k] != best)
			k++;
		memmove(order + k, order + k + 1, n->npar - k - 1u);
		order[n->npar - 1] = (uint8_t)best;
	}
	permute(n, order);
}

static bool joinable(const struct part *part, const struct nest *n, unsigned l, uint32_t indexed)
{
	if (indexed & (3u << l) || part_size_of(part, n->extent[l]) < part->nsize ||
	    part_size_of(part, n->extent[l + 1]) < part->nsize)
		return false;
	for (unsigned k = 0; k < n->naccess; k++) {
		const int64_t *s = n->access[k].stride;

		if (s[l] != s[l + 1] * n->extent[l + 1])
			return false;
	}
	return true;
}

/* Remove loop l; its stride and extent must already be accounted for. */
static void remove_loop(struct nest *n, unsigned l)
{
	unsigned loops = n->npar + n->nred;

	for (unsigned j = l; j + 1 < loops; j++)
		n->extent[j] = n->extent[j + 1];
	n->extent[loops - 1] = 0;
	for (unsigned k = 0; k < n->naccess; k++) {
		int64_t *s = n->access[k].stride;

		for (unsigned j = l; j + 1 < loops; j++)
			s[j] = s[j + 1];
		s[loops - 1] = 0;
	}
	for (unsigned k = 0; k < n->ninstr; k++)
		if (instr_names(n->instr[k].op, ARG_LOOP) && n->instr[k].a > l)
			n->instr[k].a--;
	if (l < n->npar)
		n->npar--;
	else
		n->nred--;
}

/* Join loops in [first, last) with their right neighbours, innermost first. */
static void join(const struct part *part, struct nest *n, unsigned first, unsigned last)
{
	for (unsigned l = last; l-- > first + 1;) {
		if (!joinable(part, n, l - 1, indexed_loops(n)))
			continue;
		n->extent[l] *= n->extent[l - 1];
		remove_loop(n, l - 1);
	}
}

static void drop_single(struct nest *n)
{
	uint32_t indexed = indexed_loops(n);

	for (unsigned l = n->npar + n->nred; l-- > 0;)
		if (n->extent[l] == 1 && !(indexed >> l & 1) && (l < n->npar || n->nred > 1))
			remove_loop(n, l);
}

static void choose_vec(struct nest *n)
{
	unsigned par = n->npar ? n->npar - 1u : 0, red = n->npar + n->nred - 1u;
	unsigned vpar, vred;

	if (!n->nred || !n->npar) {
		n->vec = (uint8_t)(n->npar + n->nred ? n->npar + n->nred - 1 : 0);
		return;
	}
	vpar = unit_votes(n, par);
	vred = unit_votes(n, red);
	/* The result's store moves along the parallel loop only; it must not decide. */
	for (unsigned k = 0; k < n->naccess; k++) {
		bool still = true;

		for (unsigned l = n->npar; l <= red; l++)
			still &= !n->access[k].stride[l];
		if (still && n->access[k].stride[par] == bytes_of(n->access[k].dtype))
			vpar -= n->access[k].write ? 2 : 1;
	}
	n->vec = (uint8_t)red;
	if (vpar > vred)
		n->vec = (uint8_t)par;
	else if (nest_reduced(n) < (vpar ? SHORT_REDUCTION : SHORT_UNIT_ROWS) &&
		 nest_parallel(n) >= MANY_ROWS)
		n->vec = (uint8_t)par;
}

/* Vectors of 16 lanes have no functions for wider types, not even for what is the
 * same in all lanes. */
static void choose_width(struct nest *n)
{
	unsigned widest = 0;

	for (unsigned k = 0; k < n->ninstr; k++) {
		unsigned a = bytes_of(n->instr[k].dtype), b = bytes_of(n->instr[k].ltype);

		widest = a > widest ? a : widest;
		widest = b > widest ? b : widest;
	}
	n->width = widest <= 4 ? 16 : 8;
}

static bool overlaps(const struct part *part, const struct nest *n, unsigned i, unsigned j)
{
	const struct nest_access *x = &n->access[i], *y = &n->access[j];
	struct depend_access a = {x->offset, x->stride, bytes_of(x->dtype), x->move};
	struct depend_access b = {y->offset, y->stride, bytes_of(y->dtype), y->move};
	unsigned loops = (unsigned)n->npar + n->nred;
	int64_t extent[LIMIT_NDIM];

	if (x->gather | y->gather)
		return x->slot == y->slot && nest_gather_meets(n, i, j);
	nest_touched(extent, n);
	part_largest(part, extent, loops);
	return x->slot == y->slot && depend_test(&a, &b, extent, loops, loops).kind != DEPEND_NONE;
}

static void describe_accesses(const struct part *part, struct nest *n)
{
	for (unsigned k = 0; k < n->naccess; k++) {
		struct nest_access *a = &n->access[k];
		int64_t s = n->npar + n->nred ? a->stride[n->vec] : 0;

		a->walk = s == bytes_of(a->dtype) ? WALK_UNIT : s ? WALK_STRIDED : WALK_SAME;
		a->alone = 1;
		for (unsigned j = 0; j < n->naccess && a->alone; j++)
			a->alone = j == k || !overlaps(part, n, k, j);
	}
}

/* See prog.h. */
enum status collapse_run(struct prog *p, struct err *err)
{
	for (uint32_t k = 0; k < p->nunit; k++) {
		struct nest *n = p->unit[k]->nest;

		if (!n)
			continue;
		drop_single(n);
		order_parallel(n);
		if (n->nred > 1)
			join(p->part, n, n->npar, n->npar + n->nred);
		if (n->npar > 1)
			join(p->part, n, 0, n->npar);
		choose_vec(n);
		choose_width(n);
		describe_accesses(p->part, n);
		prog_summarise(p->unit[k]);
	}
	return OK;
}
