/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_tune.c - subjects of trials: how they are laid out, counted, concluded.
 * See cuda_tune.h. */
#include "cuda_tune.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_worker.h"

#define OFTEN	   50	    /* launches that are worth trials ... */
#define LONG_NS	   20000000 /* ... or so much of the device's time, by ... */
#define LONG_LEAST 3	    /* ... at least so many */

/* ---- subjects ------------------------------------------------------------------------ */

static void trial_free(struct cuda_trial *t)
{
	free(t->reach);
	free(t->block);
	*t = (struct cuda_trial){0};
}

void cuda_tune_forget(struct cuda_kernel *k)
{
	while (k->subjects) {
		struct cuda_subject *s = k->subjects;

		k->subjects = s->next;
		trial_free(&s->trial);
		free(s);
	}
}

static struct cuda_subject *find(const struct cuda_kernel *k, unsigned entry, uint16_t size)
{
	struct cuda_subject *s = k->subjects;

	while (s && (s->g.entry != entry || s->g.size != size))
		s = s->next;
	return s;
}

/* NULL: the kernel has as many as it may. */
static struct cuda_subject *add(struct cuda_kernel *k, const struct cuda_geometry *g)
{
	struct cuda_subject **at = &k->subjects;
	unsigned n = 0;

	for (; *at; at = &(*at)->next)
		n++;
	if (n >= CUDA_GEOMETRIES)
		return NULL;
	*at = xcalloc(1, sizeof **at);
	(*at)->kernel = k;
	(*at)->g = *g;
	return *at;
}

static void tell(struct cuda_kernel *k, const struct cuda_geometry *g, uint64_t trials, uint64_t ns)
{
	struct command_geometry done = {
		.head = {.kind = DONE_GEOMETRY, .bytes = sizeof done, .id = k->id},
		.trials = trials,
		.tuning_ns = ns,
		.geometry = *g};

	cuda_worker_send(k->c, &done, sizeof done);
}

/* ---- laying out a launch --------------------------------------------------------------- */

/* What it takes to make this launch again in other memory. */
static void remember(struct cuda_subject *s, const struct cuda_run *run, uint32_t i,
		     const struct cuda_launches *all, const char *block, size_t bytes,
		     CUfunction function, const struct cuda_facts *facts)
{
	const struct nest *spec = s->kernel->spec;
	const uint64_t *base = (const uint64_t *)(block + sizeof(struct cuda_args));
	struct cuda_trial *t = &s->trial;
	struct err err = {0};

	if (!t->reach)
		t->reach = xcalloc(spec->naccess + 1u, sizeof *t->reach);
	if (!t->block)
		t->block = xcalloc(1, CUDA_ARGS_BYTES);
	t->item = all->item[0];
	t->facts = *facts;
	t->function = function;
	t->part_bytes = all->part_bytes;
	t->part_skip = all->part_skip;
	t->naccess = spec->naccess;
	t->bytes = (uint32_t)bytes;
	memcpy(t->block, block, bytes);
	for (uint32_t a = 0; a < spec->naccess; a++) {
		struct cuda_reach *r = &t->reach[a];

		r->base = base[a];
		if (steps_reach(&r->lo, &r->hi, run->step[i], spec, a, &err) != OK)
			r->lo = r->hi = 0; /* it was the same call that let the step pass */
	}
}

static void share(struct cuda_run *run, struct cuda_subject *s, uint64_t bytes)
{
	run->share = xrealloc(run->share, run->nshare + 1, sizeof *run->share);
	run->share[run->nshare++] = (struct cuda_share){.subject = s, .bytes = bytes};
}

void cuda_tune_shape(struct cuda_run *run, uint32_t i, const struct cuda_launches *all, unsigned x,
		     const char *block, size_t bytes, struct cuda_launch *item)
{
	struct cuda_kernel *k = run->kernel[i];
	struct cuda_tuner *tuner = &k->c->tuner;
	const struct cuda_facts *f = &k->facts[item->entry];
	struct cuda_geometry g = {.units = k->c->units,
				  .size = cuda_geometry_class(item),
				  .entry = (uint8_t)item->entry};
	struct cuda_subject *s = NULL;
	bool fresh = false;

	run->moved += item->bytes;
	if (x > 0) { /* combines what the first launch made: the model will do */
		cuda_geometry_model(&g.best, item, f);
		cuda_geometry_apply(item, &g.best, f);
		return;
	}
	pthread_mutex_lock(&tuner->lock);
	s = find(k, item->entry, g.size);
	if (!s) {
		cuda_geometry_model(&g.model, item, f);
		g.best = g.model;
		s = add(k, &g);
		fresh = s != NULL;
		if (s)
			s->state = tuner->on && !k->untried ? SUBJECT_COUNTED : SUBJECT_OVER;
	}
	if (s && s->state == SUBJECT_COUNTED) {
		remember(s, run, i, all, block, bytes, k->entry[item->entry], f);
		share(run, s, item->bytes);
	}
	if (s)
		g.best = s->g.best;
	pthread_mutex_unlock(&tuner->lock);
	cuda_geometry_apply(item, &g.best, f);
	if (fresh)
		tell(k, &g, 0, 0);
}

/* ---- counting ---------------------------------------------------------------------------- */

/* Is the run's time that of its launches? */
static bool kernels_only(const struct cuda_run *run)
{
	for (uint32_t i = 0; i < run->nstep; i++)
		if (run->step[i]->kind != STEP_KERNEL)
			return false;
	return run->moved > 0;
}

/* Is it worth trials?  Small launches never will be. */
static void consider(struct cuda_tuner *t, struct cuda_subject *s)
{
	if (t->stop || (s->launches < OFTEN && (s->timed < LONG_LEAST || s->busy_ns < LONG_NS)))
		return;
	if (s->kernel->untried || (s->timed && s->busy_ns / s->timed < CUDA_TELLING_NS)) {
		s->state = SUBJECT_OVER;
		trial_free(&s->trial);
		return;
	}
	s->state = SUBJECT_WAITING;
	cuda_code_ref(s->kernel);
	s->later = NULL;
	*t->tail = s;
	t->tail = &s->later;
	t->pending++;
}

void cuda_tune_count(struct cuda_run *run, uint64_t busy_ns)
{
	struct cuda_tuner *t = &run->lane->c->tuner;
	bool timed = false;

	if (!run->nshare || run->err.code != OK)
		return;
	timed = kernels_only(run);
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < run->nshare; i++) {
		struct cuda_subject *s = run->share[i].subject;

		if (s->state != SUBJECT_COUNTED)
			continue;
		s->launches++;
		s->timed += timed;
		if (timed)
			s->busy_ns += (uint64_t)((double)busy_ns * (double)run->share[i].bytes /
						 (double)run->moved);
		consider(t, s);
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- clients' work comes and goes ----------------------------------------------------------- */

void cuda_tune_cancel(struct cuda *c, int64_t now)
{
	struct cuda_tuner *t = &c->tuner;

	if (!t->began_ns || t->cancelled_ns)
		return;
	t->cancelled_ns = now;
	cuda_context_expect(c, cuda_context_write(c, c->control, t->word, 1), "ending a trial");
}

/* With the lock held. */
static void disturb(struct cuda *c)
{
	c->tuner.arrivals++;
	c->tuner.quiet_ns = cuda_worker_clock();
	cuda_tune_cancel(c, c->tuner.quiet_ns);
}

void cuda_tune_arrive(struct cuda *c, bool run)
{
	pthread_mutex_lock(&c->tuner.lock);
	c->tuner.runs += run;
	disturb(c);
	pthread_mutex_unlock(&c->tuner.lock);
}

void cuda_tune_leave(struct cuda *c)
{
	struct cuda_tuner *t = &c->tuner;

	pthread_mutex_lock(&t->lock);
	t->quiet_ns = cuda_worker_clock();
	if (--t->runs == 0 && t->pending)
		pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
}

void cuda_tune_give_back(struct cuda *c)
{
	struct cuda_tuner *t = &c->tuner;

	pthread_mutex_lock(&t->lock);
	disturb(c);
	pthread_cond_signal(&t->more);
	while (t->holds)
		pthread_cond_wait(&t->freed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

/* ---- results ----------------------------------------------------------------------------------
 */

void cuda_tune_conclude(struct cuda *c, struct cuda_subject *s, enum cuda_subject_state state,
			const struct cuda_geometry *g, uint64_t trials, uint64_t ns)
{
	struct cuda_kernel *k = s->kernel;

	pthread_mutex_lock(&c->tuner.lock);
	s->g = *g;
	s->state = state;
	s->launches = s->timed = s->busy_ns = 0;
	if (state == SUBJECT_OVER)
		trial_free(&s->trial);
	c->tuner.pending--;
	pthread_mutex_unlock(&c->tuner.lock);
	if (trials)
		tell(k, g, trials, ns);
	cuda_code_unref(k);
}

/* Those of other GPUs, and nonsense, are left out: the shape itself is brought within
 * bounds when it is used. */
static bool usable(const struct cuda *c, const struct cuda_geometry *g)
{
	return g->units == c->units && g->entry < ENTRY_END && g->state < GEOMETRY_END &&
	       g->state != GEOMETRY_MODEL && g->best.threads;
}

void cuda_tune_accept(struct cuda *c, const char *packet, size_t bytes)
{
	const struct command *head = (const struct command *)packet;
	struct cuda_kernel *k = cuda_table_find(&c->kernels, head->id);
	size_t n = (bytes - sizeof *head) / sizeof(struct cuda_geometry);

	if (!k)
		return;
	pthread_mutex_lock(&c->tuner.lock);
	k->untried = head->arg != 0;
	for (size_t i = 0; i < n; i++) {
		struct cuda_subject *s = NULL;
		struct cuda_geometry g;

		memcpy(&g, packet + sizeof *head + i * sizeof g, sizeof g);
		if (!usable(c, &g) || find(k, g.entry, g.size))
			continue;
		s = add(k, &g);
		if (s)
			s->state = SUBJECT_OVER;
	}
	pthread_mutex_unlock(&c->tuner.lock);
}

/* ---- begin and end
 * -------------------------------------------------------------------------------- */

static bool wanted(void)
{
	const char *text = getenv("BRAZE_WORKER_TUNE");

	return !text || !*text || atoi(text) != 0;
}

enum status cuda_tune_start(struct cuda *c, struct err *err)
{
	struct cuda_tuner *t = &c->tuner;
	int rc = 0;

	if (!wanted())
		return OK;
	t->on = true;
	rc = pthread_create(&t->thread, NULL, cuda_trial_main, c);
	if (rc) {
		t->on = false;
		return err_set(err, E_SYSTEM, "the tuner's thread cannot start: %s", strerror(rc));
	}
	return OK;
}

void cuda_tune_init(struct cuda *c)
{
	struct cuda_tuner *t = &c->tuner;
	pthread_condattr_t attr;

	t->tail = &t->head;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&t->freed, NULL);
}

void cuda_tune_finish(struct cuda *c)
{
	static const struct timespec pause = {0, 1000000};
	struct cuda_tuner *t = &c->tuner;

	pthread_mutex_lock(&t->lock);
	t->stop = true;
	disturb(c);
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
	if (!t->on)
		return;
	/* The watch ends the process when the trial does not stop. */
	while (!t->ended) {
		cuda_watch_tick(c);
		nanosleep(&pause, NULL);
	}
	pthread_join(t->thread, NULL);
	while (t->head) {
		struct cuda_subject *s = t->head;

		t->head = s->later;
		cuda_code_unref(s->kernel);
	}
}
