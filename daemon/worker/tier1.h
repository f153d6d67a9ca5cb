/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier1.h - compiled kernels as functions of this process.
 *
 * In: a read-only descriptor of a shared object made by a compile helper.  Out:
 * its entry points.  Functions may be called from any thread until tier1_unload. */
#ifndef BRAZE_TIER1_H
#define BRAZE_TIER1_H

#include "loops/kernel_abi.h"
#include "form/nest.h"

struct tier1 {
	void *object;
	bz_map_fn *map;	      /* nred == 0 */
	bz_reduce_fn *reduce; /* nred > 0, with finish */
	bz_finish_fn *finish;
};

/* Fills *out for a kernel with this nest; fd stays the caller's and may be closed
 * at once.  E_COMPILE when the object does not load or lacks an entry point. */
enum status tier1_load(struct tier1 *out, int fd, const struct nest *spec,
		       struct err *err) MUST_USE;
/* Nobody may be inside one of its functions. */
void tier1_unload(struct tier1 *t);

#endif
