/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_run.c - a CMD_RUN packet on the command thread: checked, copied, and
 * with the arenas and kernels that it names held until it is complete.
 *
 * A malformed packet becomes a run without steps that fails in its turn. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cuda_worker.h"

static void hold_host(struct cuda *c, struct cuda_run *run, uint32_t id)
{
	struct cuda_host *h = NULL;

	for (uint32_t i = 0; i < run->nhost; i++) {
		if (run->host[i]->id == id)
			return;
	}
	h = cuda_table_find(&c->hosts, id);
	if (!h)
		return; /* of the device, or unknown: seen when it is resolved */
	run->host = xrealloc(run->host, run->nhost + 1, sizeof *run->host);
	run->host[run->nhost++] = h;
	cuda_region_ref(h);
}

static void hold_step(struct cuda *c, struct cuda_run *run, uint32_t i)
{
	const struct command_step *s = run->step[i];
	const struct command_place *place = (const struct command_place *)(s + 1);
	struct cuda_kernel *k = NULL;

	for (uint32_t p = 0; p < steps_places(s); p++)
		hold_host(c, run, place[p].region);
	if (s->kind != STEP_COPY)
		k = cuda_table_find(&c->kernels, s->kernel);
	if (k)
		cuda_code_ref(k);
	run->kernel[i] = k;
}

static enum status take_apart(struct cuda *c, struct cuda_run *run, size_t bytes, struct err *err)
{
	const struct command_run *head = (const struct command_run *)run->packet;
	const char *at = run->packet + sizeof *head, *end = run->packet + bytes;
	enum status st = OK;

	/* Each step takes room in the packet, so this bounds the arrays. */
	if (head->nstep > bytes / sizeof(struct command_step))
		return err_set(err, E_INTERNAL, "a run of %zu bytes has no %u steps", bytes,
			       head->nstep);
	run->step = xcalloc(head->nstep + 1, sizeof *run->step);
	run->kernel = xcalloc(head->nstep + 1, sizeof *run->kernel);
	run->told = xcalloc(head->nstep + 1, sizeof *run->told);
	for (uint32_t i = 0; i < head->nstep; i++) {
		st = steps_next(&run->step[i], at, end, i, err);
		if (st != OK)
			return st;
		at += run->step[i]->bytes;
	}
	st = steps_fetches(&run->fetch, at, end, head->nfetch, err);
	if (st != OK)
		return st;
	run->nstep = head->nstep;
	run->nfetch = head->nfetch;
	run->alone = head->alone != 0;
	for (uint32_t i = 0; i < run->nstep; i++)
		hold_step(c, run, i);
	for (uint32_t i = 0; i < run->nfetch; i++)
		hold_host(c, run, run->fetch[i].place.region);
	return OK;
}

struct cuda_run *cuda_run_create(struct cuda *c, const char *packet, size_t bytes)
{
	struct cuda_run *run = xmalloc(sizeof *run + bytes);

	*run = (struct cuda_run){0};
	memcpy(run->packet, packet, bytes);
	run->ticket = ((const struct command *)run->packet)->ticket;
	if (take_apart(c, run, bytes, &run->err) != OK)
		run->nstep = run->nfetch = 0;
	return run;
}

void cuda_run_destroy(struct cuda_run *run)
{
	cuda_pin_give(run);
	for (uint32_t i = 0; i < run->nhost; i++)
		cuda_region_unref(run->host[i]);
	for (uint32_t i = 0; i < run->nstep; i++) {
		if (run->kernel[i])
			cuda_code_unref(run->kernel[i]);
	}
	free(run->host);
	free(run->step);
	free(run->kernel);
	free(run->told);
	free(run->copyout);
	free(run->share);
	free(run);
}
