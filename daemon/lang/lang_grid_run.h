/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_grid_run.h - a grid (lang_grid.h) by the machine, for devices without threads of its
 * own.
 *
 * What a GPU's threads do with it, to the bit but for elementwise functions: turns of the outermost
 * loop in stretches, each by whoever likes, in any order.  Every index is checked; what a turn
 * stores elsewhere than in the one array goes nowhere. */
#ifndef BRAZE_LANG_GRID_RUN_H
#define BRAZE_LANG_GRID_RUN_H

#include "lang_grid.h"

struct lang_grid_run;

/* Takes the grid's program over, also on failure. */
enum status lang_grid_link(struct lang_grid_run **out, struct lang_program *p,
			   const struct lang_grid *g, const struct tier0_isa *isa,
			   const struct tier0_isa *wide, struct err *err) MUST_USE;
void lang_grid_unlink(struct lang_grid_run *r); /* NULL is fine */
const struct lang_grid *lang_grid_linked(const struct lang_grid_run *r);
const struct lang_program *lang_grid_program(const struct lang_grid_run *r);
/* How many turns the outermost loop has, or elements where it tells what is added to a scalar: the
 * array of these stands behind the kernel's.  scalar: what is in the registers that come in, in
 * their order, each as lang_reg has it. */
enum status lang_grid_count(uint64_t *turns, const struct lang_grid_run *r,
			    const struct lang_array *array, const union lang_reg *scalar,
			    struct err *err) MUST_USE;
/* So many of them, [lo, hi).  Any number of threads at once. */
enum status lang_grid_turns(const struct lang_grid_run *r, const struct lang_array *array,
			    const union lang_reg *scalar, uint64_t lo, uint64_t hi,
			    lang_poll_fn *poll, void *data, struct err *err) MUST_USE;

#endif
