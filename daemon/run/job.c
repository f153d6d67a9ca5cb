/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"

/* Small demanded outputs come back with the completion, so that reading a 0-d
 * result touches no shared page. */
static void choose_fetches(struct job *j)
{
	const struct part *p = &j->partition->part;
	struct plan *plan = j->run.plan;

	for (uint32_t i = 0; i < p->nvalue && j->run.nfetch < JOB_FETCH; i++) {
		uint32_t s = plan->value_slot[i];

		if (p->value[i].role != PART_OUTPUT || s == PART_NONE || !p->value[i].bytes ||
		    p->value[i].bytes > LIMIT_INLINE_BYTES)
			continue;
		j->fetch[j->run.nfetch].place = j->place[s];
		j->fetch[j->run.nfetch].bytes = (uint32_t)p->value[i].bytes;
		j->fetched[j->run.nfetch++] = j->partition->value[i];
	}
	j->run.fetch = j->fetch;
}

enum status job_bind(struct job *j, struct trace *t, struct plan *plan, uint32_t region,
		     struct err *err)
{
	const struct part *p = &j->partition->part;

	j->slot = xcalloc(plan->nslot, sizeof *j->slot);
	j->place = xcalloc(plan->nslot, sizeof *j->place);
	j->run.plan = plan;
	for (uint32_t s = 0; s < plan->nslot; s++) {
		uint32_t in = plan->slot[s].input;

		if (in != PART_NONE)
			j->slot[s] = storage_ref(j->partition->value[in]->storage);
		else
			j->slot[s] = storage_create(t, plan->slot[s].bytes, err);
		if (!j->slot[s])
			goto fail;
		j->place[s] = (struct command_place){.region = region,
						     .offset = j->slot[s]->extent.offset};
	}
	for (uint32_t i = 0; i < p->nvalue; i++)
		if (p->value[i].role == PART_OUTPUT)
			version_attach(t, j->partition->value[i],
				       storage_ref(j->slot[plan->value_slot[i]]));
	j->run.place = j->place;
	j->run.imm = p->imm;
	choose_fetches(j);
	return OK;
fail:
	for (uint32_t s = 0; s < plan->nslot; s++)
		storage_unref(t, j->slot[s]);
	free(j->slot);
	free(j->place);
	j->slot = NULL;
	j->place = NULL;
	j->run.plan = NULL;
	return err ? err->code : E_NOMEM;
}

void job_settle(struct job *j, struct trace *t, enum job_end end, const struct err *err)
{
	const struct part *p = &j->partition->part;

	for (uint32_t i = 0; i < p->nvalue; i++) {
		struct version *v = j->partition->value[i];

		/* A recipe stayed pending: if it runs by now, then in a later job. */
		if (v->state != VERSION_RUNNING || p->value[i].role == PART_INPUT ||
		    j->partition->kept[i])
			continue;
		if (end == JOB_DONE && p->value[i].role == PART_OUTPUT) {
			version_store(t, v);
			continue;
		}
		version_detach(t, v);
		if (end == JOB_FAILED)
			version_fail(t, v, err);
		else
			v->state = VERSION_PENDING;
	}
}

void job_free(struct job *j, struct trace *t)
{
	if (j->slot)
		for (uint32_t s = 0; s < j->run.plan->nslot; s++)
			storage_unref(t, j->slot[s]);
	free(j->slot);
	free(j->place);
	partition_free(t, j->partition);
	free(j);
}
