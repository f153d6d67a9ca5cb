/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_run.c - one CMD_RUN packet: its steps in order, then its fetches.
 *
 * Packets come from the broker, yet every length is checked: a mistake there must
 * end as an error of one run. */
#include <stdlib.h>
#include <string.h>

#include "worker.h"

void worker_forget(struct worker *w, uint64_t job)
{
	struct worker_part **at = &w->parts;

	while (*at) {
		struct worker_part *p = *at;

		if (p->job != job) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free(p);
	}
}

/* Bytes that a step with these counts takes. */
static size_t step_bytes(const struct command_step *s)
{
	if (s->kind == STEP_MATMUL)
		return sizeof *s + 3 * sizeof(struct command_place) + sizeof(struct plan_matmul);
	return sizeof *s + s->naccess * (sizeof(struct command_place) + 8 * sizeof(int64_t)) +
	       (size_t)(s->npar + s->nred) * sizeof(int64_t) + s->nscalar * 2 * sizeof(uint64_t);
}

static enum status run_steps(struct worker *w, const char **at, const char *end, uint32_t nstep,
			     struct err *err)
{
	for (uint32_t i = 0; i < nstep; i++) {
		const struct command_step *s = (const struct command_step *)*at;
		enum status st = OK;

		if ((size_t)(end - *at) < sizeof *s || s->bytes > (size_t)(end - *at) ||
		    s->bytes % 8 != 0 || s->npar + s->nred > LIMIT_NDIM || s->bytes < step_bytes(s))
			return err_set(err, E_INTERNAL, "step %u of a run is malformed", i);
		if (bz_cancelled(&w->cancel))
			return err_set(err, E_CANCELLED, "cancelled before step %u", s->index);
		w->progress->thread[0].step = s->index;
		w->progress->thread[0].kernel = s->kernel;
		st = worker_step(w, s, err);
		if (st != OK)
			return st;
		*at += s->bytes;
		worker_poll(w);
	}
	return OK;
}

static enum status run_fetches(struct worker *w, const char *at, const char *end, uint32_t nfetch,
			       char *fetched, struct err *err)
{
	const struct command_fetch *f = (const struct command_fetch *)at;

	if (nfetch > 8 || (size_t)(end - at) != nfetch * sizeof *f)
		return err_set(err, E_INTERNAL, "%u fetches of a run are malformed", nfetch);
	for (uint32_t i = 0; i < nfetch; i++) {
		char *from = NULL;
		enum status st = OK;

		if (f[i].bytes > LIMIT_INLINE_BYTES)
			return err_set(err, E_INTERNAL, "fetch of %u bytes", f[i].bytes);
		st = region_resolve(&from, &w->regions, &f[i].place, 0, f[i].bytes, err);
		if (st != OK)
			return st;
		memcpy(fetched + i * LIMIT_INLINE_BYTES, from, f[i].bytes);
	}
	return OK;
}

void worker_run(struct worker *w, const char *packet, size_t bytes, struct command_done *done,
		char *fetched)
{
	const struct command_run *run = (const struct command_run *)packet;
	const char *at = packet + sizeof *run, *end = packet + bytes;
	struct err err = {0};
	enum status st = OK;
	int64_t begin = worker_clock();

	w->polled_ns = begin;
	if (bytes < sizeof *run) {
		st = err_set(&err, E_INTERNAL, "a run of %zu bytes", bytes);
	} else if (bz_cancelled(&w->cancel)) {
		st = err_set(&err, E_CANCELLED, "cancelled before it began");
	} else {
		pool_spin(w->pool, run->nstep > 1);
		st = run_steps(w, &at, end, run->nstep, &err);
		pool_spin(w->pool, false);
	}
	done->busy_ns = (uint64_t)(worker_clock() - begin);
	if (st == OK)
		st = run_fetches(w, at, end, run->nfetch, fetched, &err);
	if (st == OK)
		done->nfetch = run->nfetch;
	else
		memcpy(done->text, err.text, sizeof done->text);
	done->status = (uint32_t)st;
}
