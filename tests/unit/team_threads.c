/* SPDX-License-Identifier: Apache-2.0 */
/* team_threads.c - the team of client/c/team.c under ThreadSanitizer, which stops at any race.
 *
 * In:  jobs of several callers at once, with pauses after which the team sleeps, or is awake, or on
 * its way to sleep.  Out: status 0 where each part was done once, by one thread, and all that the
 * parts wrote was there when the job ended.  With an argument every part writes to one place, which
 * the sanitizer must see.  A program of its own, since Criterion does not start under it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "team.h"

#define CALLERS 3
#define JOBS	1500
#define PARTS	96

/* Plain memory: only the team's own order keeps its uses apart. */
struct work {
	uint64_t done[PARTS], out[PARTS], in, spin;
	unsigned here; /* parts done by who has the job; to race: by anybody */
};

static _Atomic unsigned idled, wrong, shared;
static bool race;

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void part_of(void *data, unsigned part, bool here)
{
	struct work *w = data;
	uint64_t x = w->in + part;

	for (uint64_t k = 0; k < w->spin; k++)
		x = x * 3 + k;
	w->done[part]++;
	w->out[part] = x;
	if (here || race)
		w->here++;
}

static void idle(void *data)
{
	(void)data;
	atomic_fetch_add(&idled, 1);
}

static uint64_t wanted(const struct work *w, unsigned part)
{
	uint64_t x = w->in + part;

	for (uint64_t k = 0; k < w->spin; k++)
		x = x * 3 + k;
	return x;
}

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void *caller(void *number)
{
	uint64_t state = (uintptr_t)number + 1, least, now;
	struct work *w = calloc(1, sizeof *w);

	for (unsigned job = 0; w && job < JOBS; job++) {
		unsigned parts = 1 + (unsigned)(draw(&state) % PARTS);

		w->in = draw(&state);
		w->spin = draw(&state) % 8 ? draw(&state) % 64 : 20000;
		w->here = 0;
		client_team.threads(&least, &now);
		client_team.run(part_of, w, parts, idle);
		for (unsigned k = 0; k < PARTS; k++) {
			if (w->done[k] != (k < parts) || (k < parts && w->out[k] != wanted(w, k)))
				atomic_fetch_add(&wrong, 1);
			w->done[k] = 0;
		}
		if (w->here < parts)
			atomic_fetch_add(&shared, 1);
		if (draw(&state) % 16 == 0)
			pause_ns((long)(draw(&state) % 400000)); /* about as long as threads look */
	}
	free(w);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id[CALLERS];

	(void)argv;
	race = argc > 1;
	setenv("BRAZE_THREADS", "4", 1);
	for (uintptr_t k = 0; k < CALLERS; k++)
		if (pthread_create(&id[k], NULL, caller, (void *)k))
			return 2;
	for (unsigned k = 0; k < CALLERS; k++)
		pthread_join(id[k], NULL);
	printf("%u jobs, %u shared, %u wrong, %u waits\n", CALLERS * JOBS, atomic_load(&shared),
	       atomic_load(&wrong), atomic_load(&idled));
	/* No job that others help with would show nothing. */
	return atomic_load(&wrong) || !atomic_load(&shared);
}
