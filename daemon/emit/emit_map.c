/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_map.c - bz_map: a nest without reductions.
 *
 * Points [lo, hi) of the flattened loops are taken in runs along the last loop;
 * each run sets the addresses once and goes through emit_c_row. */
#include "emit_c.h"

#define POLL_POINTS "65536" /* between looks at the cancel word */

/* What no other access meets may be stored twice, and vectors of it that fill
 * lines may be written past the caches; the widest type decides where they lie. */
static void plan_stores(struct gen *g)
{
	const struct nest *n = g->n;
	unsigned widest = 0;

	g->again = true;
	for (unsigned i = 0; i < n->ninstr; i++) {
		unsigned a = n->instr[i].a;
		bool writes = instr_writes(n->instr[i].op);
		unsigned bytes = writes ? dtype_row(n->access[a].dtype)->bytes : 0;

		if (!bytes)
			continue;
		g->again = g->again && n->access[a].alone;
		g->past[a] = n->access[a].alone && g->walk[a] == WALK_UNIT && bytes >= 4;
		if (g->past[a] && bytes > widest) {
			g->lead = a;
			widest = bytes;
		}
	}
	for (unsigned a = 0; a < n->naccess && !g->again; a++)
		g->past[a] = false;
	if (!g->again)
		g->lead = EMIT_NO_LEAD;
}

void emit_map(struct gen *g)
{
	unsigned last = g->loops ? g->loops - 1 : 0;

	emit_c_plan_row(g, g->n->vec);
	plan_stores(g);
	text_put(g->o, "void %smap(const struct bz_args *A, i64 lo, i64 hi)\n{\n", g->prefix);
	emit_c_extents(g);
	for (unsigned l = 0; l < g->loops; l++)
		text_put(g->o, "i64 x%u;\n", l);
	/* An empty domain has no point to divide by. */
	text_add(g->o, "if (lo >= hi) return;\n");
	if (g->lead != EMIT_NO_LEAD)
		text_add(g->o, "const bz_s_u64 near = !(A->stream & KERNEL_PAST);\n");
	emit_c_point(g, 0, g->loops, "lo");
	text_add(g->o, "while (lo < hi) {\nif (*A->cancel) break;\ni64 len = hi - lo;\n");
	if (g->loops)
		text_put(g->o, "if (len > E%u - x%u) len = E%u - x%u;\n", last, last, last, last);
	text_add(g->o, "if (len > " POLL_POINTS ") len = " POLL_POINTS ";\n{\n");
	emit_c_addresses(g);
	emit_c_row(g, NULL);
	text_add(g->o, "}\nlo += len;\n");
	if (g->loops)
		text_put(g->o, "x%u += len;\n", last);
	if (g->loops)
		emit_c_carry(g, 0, g->loops);
	text_add(g->o, g->lead != EMIT_NO_LEAD ? "}\nif (!near) bz_nt_end();\n}\n" : "}\n}\n");
}
