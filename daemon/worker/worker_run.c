/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_run.c - one CMD_RUN packet: its steps in order, then its fetches. */
#include <stdlib.h>
#include <string.h>

#include "steps.h"
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

static enum status run_steps(struct worker *w, const char **at, const char *end, uint32_t nstep,
			     struct err *err)
{
	for (uint32_t i = 0; i < nstep; i++) {
		const struct command_step *s = NULL;
		enum status st = OK;

		if (steps_is_loop(*at, end)) {
			st = worker_loop(w, *at, end, err);
			if (st != OK)
				return st;
			*at += ((const struct command_loop *)*at)->bytes;
			continue;
		}
		st = steps_next(&s, *at, end, i, err);
		if (st != OK)
			return st;
		if (bz_cancelled(&w->cancel))
			return err_set(err, E_CANCELLED, "cancelled before step %u", s->index);
		w->progress->thread[0].step = s->index;
		w->progress->thread[0].kernel = s->kernel;
		st = worker_step(w, s, err);
		if (st != OK)
			return st;
		*at += s->bytes;
		worker_poll_step(w);
	}
	return OK;
}

static enum status run_fetches(struct worker *w, const char *at, const char *end, uint32_t nfetch,
			       char *fetched, struct err *err)
{
	const struct command_fetch *f = NULL;
	enum status st = steps_fetches(&f, at, end, nfetch, err);

	for (uint32_t i = 0; i < nfetch && st == OK; i++) {
		char *from = NULL;

		st = region_resolve(&from, &w->regions, &f[i].place, 0, f[i].bytes, err);
		if (st == OK)
			memcpy(fetched + i * LIMIT_INLINE_BYTES, from, f[i].bytes);
	}
	return st;
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
	w->nfault = 0;
	if (bytes < sizeof *run) {
		st = err_set(&err, E_INTERNAL, "a run of %zu bytes", bytes);
	} else if (bz_cancelled(&w->cancel)) {
		st = err_set(&err, E_CANCELLED, "cancelled before it began");
	} else {
		pool_spin(w->pool, run->nstep > 1 || steps_is_loop(at, end));
		st = run_steps(w, &at, end, run->nstep, &err);
		pool_spin(w->pool, false);
	}
	done->busy_ns = (uint64_t)(worker_clock() - begin);
	if (st == OK)
		st = run_fetches(w, at, end, run->nfetch, fetched, &err);
	if (st == OK) {
		done->nfetch = (uint16_t)run->nfetch;
		done->nfault = w->nfault;
	} else {
		memcpy(done->text, err.text, sizeof done->text);
	}
	done->status = (uint32_t)st;
}
