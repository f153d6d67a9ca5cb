/* SPDX-License-Identifier: Apache-2.0 */
/* nest/compilepart.h - partition in, plan out: every pass in order.
 *
 * Pure: reads *part, allocates the plan on the heap, touches nothing else, so it
 * runs on any thread.  passes: comma-separated names to run, NULL for all
 * (unknown names are an error that lists the known ones). */
#ifndef BRAZE_COMPILEPART_H
#define BRAZE_COMPILEPART_H

#include "form/plan.h"

/* Called after each pass with the nests as text; may be NULL.  Where it is not, and in builds
 * with BRAZE_CHECK, the nests are checked after each pass: a wrong pass is E_INTERNAL by name. */
typedef void pass_dump_fn(void *data, const char *pass, const char *text);

enum status compilepart_run(struct plan **out, const struct part *part, const char *passes,
			    pass_dump_fn *dump, void *data, struct err *err) MUST_USE;

/* The way, one of few, in which op o of a partition without sizes, a product, is computed: it
 * decides the bits.  0: such that it cannot be one of several turns whose sizes differ. */
unsigned compilepart_way(const struct part *part, const struct part_op *o);

/* Are these names of passes, comma separated?  E_INVALID lists the known ones. */
enum status compilepart_names(const char *passes, struct err *err) MUST_USE;

/* The canonical kernel behind a concrete nest: extents, offsets and strides zero,
 * slots renumbered.  What the cache is keyed by and the worker loads. */
void compilepart_spec(struct nest *spec, const struct nest *n);

#endif
