/* SPDX-License-Identifier: Apache-2.0 */
/* Nests that gather, for both kinds of processor; after emit_fixture.h. */
#ifndef BRAZE_GATHER_NEST_H
#define BRAZE_GATHER_NEST_H

#include "emit_fixture.h"

struct gather_case {
	const char *name;
	uint8_t npar, nred;
	int64_t extent[3];
	uint8_t vec;
	int walk;	       /* how the source moves along the last loop: elements */
	int64_t gextent, step; /* of the axis that the places count along: elements */
	int checks;  /* how often the places are looked at; 0: they are used as they are */
	bool behind; /* gathered behind the reductions */
};

static const struct gather_case gather_cases[] = {
	{"map", 1, 0, {203}, 0, 0, 50, 1, 1, false},
	{"short map", 1, 0, {3}, 0, 0, 50, 1, 1, false},
	{"one place", 0, 0, {0}, 0, 0, 50, 1, 1, false},
	{"no place", 1, 0, {0}, 0, 0, 50, 1, 1, false},
	{"rows", 2, 0, {7, 37}, 1, 1, 50, 37, 1, false},
	{"strided rows", 2, 0, {7, 37}, 1, 3, 50, 120, 2, false},
	{"backwards", 2, 0, {5, 21}, 1, -1, 50, -30, 3, false},
	{"one element", 1, 0, {77}, 0, 0, 1, 1, 1, false},
	{"unchecked", 2, 0, {9, 33}, 1, 1, 20, 33, 0, false},
	{"inner sum", 1, 1, {6, 1500}, 1, 1, 50, 7, 1, false},
	{"outer sum", 1, 1, {40, 300}, 0, 0, 50, 1, 2, false},
	{"two reduced loops", 1, 2, {3, 40, 70}, 2, 1, 50, 2, 1, false},
	{"long sum", 0, 1, {140000}, 0, 0, 50, 1, 1, false},
	{"behind a sum", 1, 1, {45, 20}, 1, 0, 50, 1, 1, true},
	{"behind an outer sum", 1, 1, {45, 20}, 0, 0, 50, 1, 1, true},
};
#define NGATHER (sizeof gather_cases / sizeof gather_cases[0])

/* The places: random integers, most of them wrong. */
static inline unsigned gather_places(struct nest *n, const struct gather_case *c, unsigned loops)
{
	unsigned v = nest_load(n, DT_INT64, loops, 1, (1u << loops) - 1);

	for (int k = 0; k < c->checks; k++) {
		unsigned size = nest_put(n, NI_SCALAR, DT_INT64, DT_INT64, 0, 0, 0);

		v = nest_put(n, OP_INDEX, DT_INT64, DT_INT64, v, size, (unsigned)k);
	}
	return v;
}

static inline unsigned gather_put(struct nest *n, const struct gather_case *c, unsigned dtype,
				  unsigned loops)
{
	unsigned place = gather_places(n, c, loops);
	unsigned a =
		nest_access_add(n, dtype, false, loops, c->walk, loops ? 1u << (loops - 1) : 0);

	n->access[a].gather = 1;
	n->access[a].gextent = c->gextent;
	n->access[a].gstride = c->step * dtype_row(dtype)->bytes;
	return nest_put(n, NI_GATHER, dtype, dtype, a, place, 0);
}

/* Everything gathered; summed where there are reduced loops. */
static inline void gather_nest(struct nest *n, const struct gather_case *c, unsigned dtype)
{
	unsigned loops = c->npar + c->nred, v, w = 0;

	n->npar = c->npar;
	n->nred = c->nred;
	n->width = 8;
	memcpy(n->extent, c->extent, sizeof c->extent);
	n->nscalar = 1;
	n->scalar_dtype[0] = DT_INT64;
	v = c->behind ? nest_load(n, dtype, loops, 1, (1u << loops) - 1)
		      : gather_put(n, c, dtype, loops);
	if (c->nred) {
		v = nest_put(n, NI_REDUCE, dtype, dtype, v, 0, OP_MAX);
		n->post = n->ninstr;
	}
	if (c->behind) {
		w = gather_put(n, c, dtype, c->npar);
		v = nest_put(n, OP_MAXIMUM, dtype, dtype, v, w, 0);
	}
	nest_store(n, v, c->npar, 1, (1u << c->npar) - 1);
	nest_finish(n, c->vec);
}

#endif
