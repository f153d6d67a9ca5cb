/* SPDX-License-Identifier: Apache-2.0 */
/* form/nest.c - what can be counted and measured on a nest. */
#include "nest.h"

#include "depend.h"

static int64_t product(const int64_t *e, unsigned n)
{
	int64_t p = 1;

	for (unsigned k = 0; k < n; k++)
		p *= e[k];
	return p;
}

int64_t nest_parallel(const struct nest *n)
{
	return product(n->extent, n->npar);
}

int64_t nest_reduced(const struct nest *n)
{
	return product(n->extent + n->npar, n->nred);
}

bool nest_hands(const struct nest *n, unsigned v, unsigned k)
{
	unsigned result = instr_row(n->instr[v].op)->result, from = nest_section(n, v);

	if (result == RESULT_LATER)
		return from < nest_section(n, k);
	return result == RESULT_HERE && (from == nest_section(n, k) || !nest_everywhere(from));
}

bool nest_fed(const struct nest *n, unsigned k)
{
	uint16_t value[3];

	for (unsigned j = instr_values(value, &n->instr[k]); j-- > 0;)
		if (value[j] >= k || !nest_hands(n, value[j], k))
			return false;
	return true;
}

bool nest_kept(const struct nest *n, unsigned v)
{
	uint16_t value[3];

	for (unsigned k = nest_end(n, nest_section(n, v)); k < n->ninstr; k++)
		for (unsigned j = instr_values(value, &n->instr[k]); j-- > 0;)
			if (value[j] == v)
				return true;
	return false;
}

unsigned nest_gather(const struct nest *n, unsigned a)
{
	unsigned before = 0;

	for (unsigned k = 0; k < a; k++)
		before += n->access[k].gather;
	return before;
}

unsigned nest_gathers(const struct nest *n)
{
	return nest_gather(n, n->naccess);
}

unsigned nest_checks(const struct nest *n)
{
	unsigned count = 0;

	for (unsigned k = 0; k < n->ninstr; k++)
		count += instr_row(n->instr[k].op)->effect == EFFECT_FAULTS;
	return count;
}

unsigned nest_reductions(const struct nest *n)
{
	unsigned count = 0;

	for (unsigned k = 0; k < n->ninstr; k++)
		count += n->instr[k].op == NI_REDUCE;
	return count;
}

void nest_range(int64_t *lo, int64_t *hi, const struct nest *n, unsigned a, unsigned nloop)
{
	const struct nest_access *x = &n->access[a];
	struct depend_access d = {x->offset, x->stride, dtype_row(x->dtype)->bytes};
	int64_t reach = x->gather ? (x->gextent - 1) * x->gstride : 0;

	depend_range(lo, hi, &d, n->extent, nloop);
	if (*lo != *hi)
		*(reach < 0 ? lo : hi) += reach;
}

void nest_touched(int64_t *extent, const struct nest *n)
{
	unsigned nloop = (unsigned)n->npar + n->nred;
	bool nothing = !nest_reduced(n);

	for (unsigned l = 0; l < nloop; l++)
		extent[l] = nothing && l >= n->npar ? 1 : n->extent[l];
}

bool nest_gather_meets(const struct nest *n, unsigned i, unsigned j)
{
	/* Behind the reductions a place is touched though they may be over nothing. */
	unsigned loops = n->npar + (nest_reduced(n) ? n->nred : 0u);
	int64_t ilo, ihi, jlo, jhi;

	nest_range(&ilo, &ihi, n, i, loops);
	nest_range(&jlo, &jhi, n, j, loops);
	return ilo < jhi && jlo < ihi;
}

/* The least k with 4^k >= n, at most `most`. */
static unsigned fours(int64_t n, unsigned most)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll((uint64_t)n - 1) : 0;
	unsigned k = (bits + 1) / 2;

	return k < most ? k : most;
}

/* How far apart neighbours along a loop lie at most: within a cache line 0, a page 1. */
static unsigned reach(const struct nest *n, unsigned loop)
{
	int64_t most = 0;

	for (unsigned a = 0; a < n->naccess; a++) {
		int64_t s = n->access[a].stride[loop];

		s = s < 0 ? -(s + 1) : s;
		most = s > most ? s : most;
	}
	return most <= 64 ? 0 : most <= 4096 ? 1 : 2;
}

uint16_t nest_shape(const struct nest *n)
{
	unsigned loops = (unsigned)n->npar + n->nred, next = loops - 1, shape = 0;

	if (!loops)
		return 0;
	/* The loop that moves next after the vectors'. */
	if (next > 0 && n->vec == next)
		next--;
	shape = fours(n->extent[n->vec], 7);
	shape = shape << 4 | fours(nest_reduced(n), 15);
	shape = shape << 4 | fours(nest_parallel(n), 15);
	shape = shape << 2 | reach(n, n->vec);
	return (uint16_t)(shape << 2 | reach(n, next));
}
