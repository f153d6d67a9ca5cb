/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <stdlib.h>

static const char *const reason_text[FUSE_REASON_END] = {[FUSE_OK] = "fused",
#define X(id, text) [FUSE_##id] = text,
							 FUSE_REASONS(X)
#undef X
};

/* What to tell a person about *r; never NULL. */
const char *fuse_reason_text(enum fuse_reason r)
{
	return (unsigned)r < FUSE_REASON_END ? reason_text[r] : "?";
}

/* Free a plan that nobody references; kernels must have been released. */
void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; k < p->nstep; k++) {
		free(p->step[k].nest);
		free(p->step[k].matmul);
	}
	free(p->slot);
	free(p->step);
	free(p->note);
	free(p->value_slot);
	free(p);
}
