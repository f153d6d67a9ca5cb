/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <stdlib.h>

/* Free a plan that nobody references; kernels must have been released. */
void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; k < p->nstep; k++) {
		free(p->step[k].nest);
		free(p->step[k].call);
	}
	free(p->slot);
	free(p->step);
	free(p->note);
	free(p->value_slot);
	free(p->most);
	free(p->gpus);
	free(p);
}

uint64_t plan_bytes(const struct plan *p)
{
	uint64_t n = sizeof *p + p->nslot * sizeof *p->slot + p->nstep * sizeof *p->step +
		     p->nnote * sizeof *p->note + p->nvalue * sizeof *p->value_slot +
		     p->nsize * sizeof *p->most + (p->gpus ? sizeof *p->gpus : 0);

	for (uint32_t i = 0; i < p->nstep; i++)
		n += p->step[i].nest ? sizeof *p->step[i].nest : sizeof *p->step[i].call;
	return n;
}

bool plan_tears(const struct plan *p)
{
	for (uint32_t k = 0; k < p->nstep; k++)
		if (p->step[k].tears)
			return true;
	return false;
}
