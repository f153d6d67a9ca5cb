/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_map.c - bz_map: a nest without reductions.
 *
 * Points [lo, hi) of the flattened loops are taken in runs along the last loop;
 * each run sets the addresses once and goes through emit_c_row. */
#include "emit_c.h"

#define POLL_POINTS "65536" /* between looks at the cancel word */

void emit_map(struct gen *g)
{
	unsigned last = g->loops ? g->loops - 1 : 0;

	emit_c_plan_row(g, g->n->vec, 0, g->n->ninstr);
	text_put(g->o, "void %smap(const struct bz_args *A, i64 lo, i64 hi)\n{\n", g->prefix);
	emit_c_extents(g);
	for (unsigned l = 0; l < g->loops; l++)
		text_put(g->o, "i64 x%u;\n", l);
	emit_c_point(g, 0, g->loops, "lo");
	text_add(g->o, "while (lo < hi) {\nif (*A->cancel) return;\ni64 len = hi - lo;\n");
	if (g->loops)
		text_put(g->o, "if (len > E%u - x%u) len = E%u - x%u;\n", last, last, last, last);
	text_add(g->o, "if (len > " POLL_POINTS ") len = " POLL_POINTS ";\n{\n");
	emit_c_addresses(g, 0, g->n->ninstr);
	emit_c_row(g, 0, g->n->ninstr, NULL);
	text_add(g->o, "}\nlo += len;\n");
	if (g->loops)
		text_put(g->o, "x%u += len;\n", last);
	if (g->loops)
		emit_c_carry(g, 0, g->loops);
	text_add(g->o, "}\n}\n");
}
