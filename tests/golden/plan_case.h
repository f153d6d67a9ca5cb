/* SPDX-License-Identifier: Apache-2.0 */
/* golden/plan_case.h - plan a partition given as text, for tests. */
#ifndef BRAZE_PLAN_CASE_H
#define BRAZE_PLAN_CASE_H

#include <criterion/criterion.h>

#include "nest/compilepart.h"
#include "part_text.h"

struct plan_case {
	struct part part;
	struct plan *plan; /* NULL when planning failed */
	struct err err;
};

static inline void plan_case_ignore(void *data, const char *pass, const char *text)
{
	(void)data;
	(void)pass;
	(void)text;
}

/* passes: as compilepart_run takes them; every pass is checked. */
static inline struct plan_case plan_case_make(const char *text, const char *passes)
{
	struct plan_case c = {.part = part_text_read(text)};

	if (compilepart_run(&c.plan, &c.part, passes, plan_case_ignore, NULL, &c.err))
		c.plan = NULL;
	return c;
}

static inline struct plan_case plan_case_good(const char *text, const char *passes)
{
	struct plan_case c = plan_case_make(text, passes);

	cr_assert(c.plan, "%s", c.err.text);
	return c;
}

static inline const struct nest *plan_case_nest(const struct plan_case *c, uint32_t step)
{
	cr_assert_lt(step, c->plan->nstep);
	cr_assert(c->plan->step[step].nest);
	return c->plan->step[step].nest;
}

/* The code of a step without loops and accesses must be this. */
static inline void plan_case_code(const struct plan_case *c, uint32_t step, const char *want)
{
	char text[8192];
	const char *code = text;

	nest_print(text, sizeof text, plan_case_nest(c, step), false);
	while (*code && (!strncmp(code, "par", 3) || *code == '@'))
		code += strcspn(code, "\n") + 1;
	cr_assert_str_eq(code, want);
}

static inline void plan_case_free(struct plan_case *c)
{
	plan_free(c->plan);
	part_text_free(&c->part);
}

#endif
