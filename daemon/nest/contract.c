/* SPDX-License-Identifier: Apache-2.0 */
/* nest/contract.c - a temporary used in one nest becomes a value in it.
 *
 * Loads of what the nest itself stored take the stored value; then stores to
 * temporaries that nothing reads go, and their storage with them (finish.c gives
 * numbers to what is left).  Fusion has done this for what it merged; here every
 * nest gets it, in order, until nothing changes: a dropped store may end reads. */
#include <stdlib.h>

#include "../base/xalloc.h"
#include "wide.h"

/* Loads that packing removed because their value was dead. */
static uint32_t count_loads(const struct nest *n)
{
	uint32_t loads = 0;

	for (unsigned k = 0; k < n->ninstr; k++)
		loads += instr_reads(n->instr[k].op);
	return loads;
}

/* Make the slots' read counts those of the code that is there. */
static void recount(struct prog *p)
{
	for (uint32_t s = 0; s < p->nslot; s++)
		p->slot[s].nread = 0;
	for (uint32_t k = 0; k < p->nunit; k++) {
		const struct nest *n = p->unit[k]->nest;
		const struct plan_call *c = p->unit[k]->call;

		for (unsigned i = 0; n && i < n->ninstr; i++)
			if (instr_reads(n->instr[i].op))
				p->slot[n->access[n->instr[i].a].slot].nread++;
		for (unsigned x = 0; c && x < call_operands(c); x++)
			if (!call_writes(c, x))
				p->slot[c->operand[x].slot].nread++;
	}
}

static bool contract_unit(struct prog *p, struct prog_unit *u, struct wide *w, struct nest *n)
{
	uint32_t before = count_loads(u->nest);
	uint16_t ninstr = u->nest->ninstr;

	wide_copy(w, u->nest, true);
	wide_drop_stores(w, p);
	if (wide_pack(n, w) != FUSE_OK)
		return false;
	wide_commit(w, p);
	*u->nest = *n;
	prog_summarise(u);
	return n->ninstr != ninstr || count_loads(n) != before;
}

/* Remove units without a store. */
static void sweep(struct prog *p)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < p->nunit; k++) {
		struct prog_unit *u = p->unit[k];

		if (u->nest && !u->writes) {
			prog_unit_free(u);
			continue;
		}
		u->pos = kept;
		p->unit[kept++] = u;
	}
	p->nunit = kept;
}

enum status contract_run(struct prog *p, struct err *err)
{
	struct wide *w = xmalloc(sizeof *w);
	struct nest *n = xmalloc(sizeof *n);
	bool changed = true;

	for (int round = 0; round < 4 && changed; round++) {
		changed = false;
		recount(p);
		for (uint32_t k = p->nunit; k-- > 0;)
			if (p->unit[k]->nest)
				changed |= contract_unit(p, p->unit[k], w, n);
		sweep(p);
	}
	free(w);
	free(n);
	return OK;
}
