/* SPDX-License-Identifier: Apache-2.0 */
/* golden/plan_same.h - does a plan do what its partition says?  For tests. */
#ifndef BRAZE_PLAN_SAME_H
#define BRAZE_PLAN_SAME_H

#include <criterion/criterion.h>

#include "nest/compilepart.h"
#include "part_text.h"
#include "plan_exec.h"

/* The plan of a partition given as text, which gives its outputs, in both ways of running a nest.
 * plan_free() frees it. */
static inline struct plan *plan_same(const char *text)
{
	struct part p = part_text_read(text);
	struct plan *plan = NULL;
	struct err err = {0};
	char **want = xcalloc(p.nvalue, sizeof *want);

	cr_assert_eq(compilepart_run(&plan, &p, NULL, NULL, NULL, &err), OK, "%s", err.text);
	for (uint32_t v = 0; v < p.nvalue; v++) {
		want[v] = xcalloc(p.value[v].bytes, 1);
		for (uint64_t i = 0; p.value[v].role == PART_INPUT && i < p.value[v].bytes; i++)
			want[v][i] = (char)(i * 37 + v);
	}
	naive_run(&p, want);
	for (int mode = 0; mode < 2; mode++) {
		char **slot = xcalloc(plan->nslot, sizeof *slot);

		for (uint32_t s = 0; s < plan->nslot; s++) {
			slot[s] = xcalloc(plan->slot[s].bytes, 1);
			if (plan->slot[s].input != PART_NONE)
				memcpy(slot[s], want[plan->slot[s].input], plan->slot[s].bytes);
		}
		exec_plan(plan, &p, slot, (enum exec_mode)mode);
		for (uint32_t v = 0; v < p.nvalue; v++)
			if (p.value[v].role == PART_OUTPUT)
				cr_assert_eq(memcmp(slot[plan->value_slot[v]], want[v],
						    p.value[v].bytes),
					     0);
		for (uint32_t s = 0; s < plan->nslot; s++)
			free(slot[s]);
		free(slot);
	}
	for (uint32_t v = 0; v < p.nvalue; v++)
		free(want[v]);
	free(want);
	part_text_free(&p);
	return plan;
}

#endif
