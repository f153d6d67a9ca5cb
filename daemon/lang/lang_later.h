/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_later.h - registers whose values nobody knows yet, and what is computed of them.
 *
 * In:  a run whose loops are done elsewhere (lang_afar.h), some of which add up a scalar.  Out: the
 * run goes on without the scalar; what is computed of it, where no way depends on that, is kept
 * with the other operands as they are then, and done when the sums are there. */
#ifndef BRAZE_LANG_LATER_H
#define BRAZE_LANG_LATER_H

#include "lang_afar.h"
#include "lang_steps.h"

#define LATER_NOTHING 0 /* of registers that have their values */

struct later_value;

/* All zero: everything is known. */
struct lang_later {
	unsigned n, cap;
	struct later_value *value;
	uint32_t *of; /* [register]: the value that it has, from 1 on */
	uint32_t nreg;
};

static inline bool lang_later_any(const struct lang_later *l)
{
	return l->n > 0;
}

/* A register is not known any more: sum number `sum` is added to what it has; by: NULL: it is what
 * the register has.  false: no memory. */
bool lang_later_sum(struct lang_later *l, const struct run *r, uint32_t reg, unsigned sum,
		    const struct lang_addition *by) MUST_USE;
/* Is the register one of them? */
bool lang_later_is(const struct lang_later *l, uint32_t reg);
/* Does the instruction read one of them? */
bool lang_later_reads(const struct lang_later *l, const struct lang_ins *i);
/* Can it be done later, as it makes one number of others? */
bool lang_later_can(const struct lang_ins *i);
/* Such an instruction is done later.  false: no memory. */
bool lang_later_put(struct lang_later *l, const struct run *r, uint32_t at) MUST_USE;
/* An instruction that is done now makes what registers have. */
void lang_later_made(struct lang_later *l, const struct lang_ins *i);
/* Sums are told (lang_afar_told): all registers have their values.  Registers that the
 * program does not name are needed for it: room of nreg. */
void lang_later_settle(struct lang_later *l, struct run *r, const struct lang_afar_sum *sum,
		       union lang_reg *room);
void lang_later_free(struct lang_later *l);

#endif
