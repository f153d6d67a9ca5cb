/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_trial.c - the tuner's thread: launches made again, timed.
 *
 * In: a subject with its last launch.  Out: its geometry.  Memory for the trials has
 * the shape of the launch's operands: what overlapped there overlaps here, each
 * address is the same modulo 256, and all of it is 0, so that an index which is read
 * from it names an element that is there.  Rounds go over all candidates in turn, so
 * that what changes with time changes all of them alike; the best of the rounds counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_worker.h"

#define QUIET_NS   50000000 /* without a client's work, before a trial */
#define LAUNCH_NS  20000000 /* of a trial, predicted, at most */
#define ROUNDS	   6	    /* the first warms up */
#define SHARE	   4	    /* of free memory: one part of so many may be used */
#define MARGIN	   0.97	    /* of the model's time that the best must stay below */
#define HOPELESS   1.3	    /* times the best: not tried further */
#define BYTES_A_NS 100	    /* moved, where a launch was not timed yet: not too many */
#define ALIGNMENT  256

struct session {
	struct cuda *c;
	CUstream stream; /* all four: NULL or 0 until there is a subject */
	CUevent begin, end;
	CUdeviceptr scratch;

	struct cuda_subject *s;
	struct cuda_launch item; /* cut to what is bounded */
	uint64_t bytes;		 /* of scratch */
	uint64_t part;		 /* where in it accumulators lie */
	uint64_t errors;	 /* and the words of wrong places, which nobody reads */
	char *block;
	struct cuda_shape shape[CUDA_CANDIDATES];
	uint64_t best[CUDA_CANDIDATES]; /* ns; 0: not timed; UINT64_MAX: given up */
	unsigned n;
	uint64_t trials, ns;
};

enum outcome { TRIED, DISTURBED, REFUSED };

/* ---- resources ------------------------------------------------------------------------- */

static enum status session_open(struct session *x, struct err *err)
{
	struct cuda *c = x->c;
	CUdeviceptr word = 0;
	enum status st = OK;

	if (c->tuner.word)
		return OK;
	if (!x->stream)
		st = cuda_context_check(c,
					c->api.cuStreamCreate(&x->stream, CU_STREAM_NON_BLOCKING),
					err, "a stream for trials");
	if (st == OK && !x->begin)
		st = cuda_context_check(c, c->api.cuEventCreate(&x->begin, CU_EVENT_BLOCKING_SYNC),
					err, "an event");
	if (st == OK && !x->end)
		st = cuda_context_check(c, c->api.cuEventCreate(&x->end, CU_EVENT_BLOCKING_SYNC),
					err, "an event");
	if (st == OK)
		st = cuda_context_check(c, c->api.cuMemAlloc_v2(&word, sizeof(uint32_t)), err,
					"a cancel word");
	if (st == OK)
		st = cuda_context_check(c, c->api.cuMemsetD32Async(word, 0, 1, x->stream), err,
					"clearing a cancel word");
	if (st == OK)
		st = cuda_context_check(c, c->api.cuStreamSynchronize(x->stream), err,
					"clearing a cancel word");
	if (st == OK) {
		pthread_mutex_lock(&c->tuner.lock);
		c->tuner.word = word;
		pthread_mutex_unlock(&c->tuner.lock);
	} else if (word) {
		cuda_context_expect(c, c->api.cuMemFree_v2(word), "a cancel word");
	}
	return st;
}

static void session_close(struct session *x)
{
	struct cuda *c = x->c;

	if (c->tuner.word)
		cuda_context_expect(c, c->api.cuMemFree_v2(c->tuner.word), "a cancel word");
	c->tuner.word = 0;
	if (x->begin)
		cuda_context_expect(c, c->api.cuEventDestroy_v2(x->begin), "an event");
	if (x->end)
		cuda_context_expect(c, c->api.cuEventDestroy_v2(x->end), "an event");
	if (x->stream)
		cuda_context_expect(c, c->api.cuStreamDestroy_v2(x->stream), "a stream");
	free(x->block);
}

static void holds(struct cuda *c, bool it_does)
{
	pthread_mutex_lock(&c->tuner.lock);
	c->tuner.holds = it_does;
	pthread_cond_broadcast(&c->tuner.freed);
	pthread_mutex_unlock(&c->tuner.lock);
}

static void scratch_give(struct session *x)
{
	if (!x->scratch)
		return;
	cuda_context_expect(x->c, x->c->api.cuMemFree_v2(x->scratch), "memory of trials");
	atomic_fetch_sub(&x->c->used, x->bytes);
	x->scratch = 0;
	holds(x->c, false);
}

/* false: there is not as much to spare. */
static bool scratch_take(struct session *x)
{
	struct cuda *c = x->c;
	size_t left = 0, total = 0;
	CUdeviceptr addr = 0;

	if (x->scratch)
		return true;
	holds(c, true);
	if (c->api.cuMemGetInfo_v2(&left, &total) == CUDA_SUCCESS && x->bytes <= left / SHARE &&
	    c->api.cuMemAlloc_v2(&addr, x->bytes) == CUDA_SUCCESS) {
		x->scratch = addr;
		atomic_fetch_add(&c->used, x->bytes);
		cuda_context_expect(
			c, c->api.cuMemsetD32Async(addr, 0, x->bytes / sizeof(uint32_t), x->stream),
			"clearing memory for trials");
		return true;
	}
	holds(c, false);
	return false;
}

/* ---- where operands lie in it ------------------------------------------------------------ */

static uint64_t align(uint64_t n)
{
	return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t begin_of(const struct cuda_reach *r)
{
	return r->base + (uint64_t)r->lo;
}

static int by_address(const void *a, const void *b)
{
	const struct cuda_reach *const *x = a, *const *y = b;

	return begin_of(*x) < begin_of(*y) ? -1 : begin_of(*x) > begin_of(*y);
}

/* Pieces of memory that overlap move together; base[a] becomes an offset in scratch. */
static void arrange(struct session *x, uint64_t *base)
{
	const struct cuda_trial *t = &x->s->trial;
	const struct cuda_reach *sorted[LIMIT_NEST_ACCESSES];
	uint64_t end = 0, shift = 0, used = 0;

	for (uint32_t a = 0; a < t->naccess; a++)
		sorted[a] = &t->reach[a];
	qsort(sorted, t->naccess, sizeof *sorted, by_address);
	for (uint32_t k = 0; k < t->naccess; k++) {
		const struct cuda_reach *r = sorted[k];
		uint64_t from = begin_of(r), to = r->base + (uint64_t)r->hi;

		if (k == 0 || from >= end) {
			shift = align(used) + from % ALIGNMENT - from;
			end = from;
		}
		end = to > end ? to : end;
		used = end + shift;
		base[r - t->reach] = r->base + shift;
	}
	x->part = align(used);
	x->errors = align(x->part + t->part_bytes);
	x->bytes = align(x->errors + LIMIT_NEST_CHECKS * sizeof(uint64_t));
}

/* No launch of a trial is longer than LAUNCH_NS, as far as one can tell.  false: it
 * cannot be cut so far. */
static bool cut(struct session *x)
{
	const struct cuda_subject *s = x->s;
	uint64_t ns = s->timed ? s->busy_ns / s->timed : s->trial.item.bytes / BYTES_A_NS;
	double part = ns > LAUNCH_NS ? (double)LAUNCH_NS / (double)ns : 1;
	int64_t points = (int64_t)((double)(x->item.hi - x->item.lo) * part);

	if (part >= 1)
		return true;
	if (points < 1)
		return false;
	x->item.hi = x->item.lo + points;
	x->item.work = (int64_t)((double)x->item.work * part) + 1;
	return true;
}

static bool session_begin(struct session *x, struct cuda_subject *s)
{
	uint64_t base[LIMIT_NEST_ACCESSES];
	struct err err = {0};

	x->s = s;
	x->item = s->trial.item;
	x->trials = x->ns = 0;
	memset(x->best, 0, sizeof x->best);
	if (session_open(x, &err) != OK) {
		log_warn("cuda_trial", "%s", err.text);
		return false;
	}
	if (!x->block)
		x->block = xmalloc(CUDA_ARGS_BYTES);
	memcpy(x->block, s->trial.block, s->trial.bytes);
	arrange(x, base);
	memcpy(x->block + sizeof(struct cuda_args), base, s->trial.naccess * sizeof *base);
	if (!cut(x))
		return false;
	x->n = cuda_geometry_candidates(x->shape, &x->item, &s->trial.facts);
	return x->n > 1;
}

/* ---- one launch --------------------------------------------------------------------------- */

static bool quiet(const struct cuda_tuner *t, int64_t now)
{
	return !t->runs && !t->stop && now - t->quiet_ns >= QUIET_NS;
}

/* Wait until no client has work.  false: the worker ends. */
static bool wait_quiet(struct session *x)
{
	struct cuda_tuner *t = &x->c->tuner;
	bool stop = false;

	pthread_mutex_lock(&t->lock);
	while (!t->stop && !quiet(t, cuda_worker_clock())) {
		int64_t until = t->quiet_ns + QUIET_NS;
		struct timespec at = {until / 1000000000, until % 1000000000};

		if (x->scratch) { /* somebody may want it */
			pthread_mutex_unlock(&t->lock);
			scratch_give(x);
			pthread_mutex_lock(&t->lock);
		} else if (t->runs) {
			pthread_cond_wait(&t->more, &t->lock);
		} else {
			pthread_cond_timedwait(&t->more, &t->lock, &at);
		}
	}
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return !stop;
}

/* Say that a launch begins; false: not now. */
static bool launch_begin(struct session *x, uint64_t *arrivals)
{
	struct cuda_tuner *t = &x->c->tuner;
	int64_t now = cuda_worker_clock();
	bool may = false;

	pthread_mutex_lock(&t->lock);
	may = quiet(t, now);
	*arrivals = t->arrivals;
	if (may) {
		t->began_ns = now;
		t->cancelled_ns = 0;
		x->c->page->trial = x->s->kernel->id;
	}
	pthread_mutex_unlock(&t->lock);
	return may;
}

/* false: somebody came meanwhile, so that the time tells nothing. */
static bool launch_end(struct session *x, uint64_t arrivals)
{
	struct cuda *c = x->c;
	struct cuda_tuner *t = &c->tuner;
	int64_t now = cuda_worker_clock();
	bool cancelled = false, alone = false;

	pthread_mutex_lock(&t->lock);
	x->ns += (uint64_t)(now - t->began_ns);
	cancelled = t->cancelled_ns != 0;
	t->began_ns = t->cancelled_ns = 0;
	alone = t->arrivals == arrivals;
	c->page->trial = 0;
	pthread_mutex_unlock(&t->lock);
	if (cancelled) { /* nobody writes the word any more but who has begun to */
		cuda_context_expect(c, c->api.cuStreamSynchronize(c->control), "ending a trial");
		cuda_context_expect(c, c->api.cuMemsetD32Async(t->word, 0, 1, x->stream),
				    "clearing a cancel word");
	}
	return alone;
}

static enum status fire(struct session *x, unsigned i, struct err *err)
{
	struct cuda *c = x->c;
	const struct cuda_trial *t = &x->s->trial;
	struct cuda_launches all = {.part_skip = t->part_skip};
	struct cuda_launch item = x->item;
	void *params[] = {x->block};
	_Alignas(8) char block[CUDA_ARGS_BYTES];
	enum status st = OK;

	cuda_geometry_apply(&item, &x->shape[i], &t->facts);
	memcpy(block, x->block, t->bytes);
	for (uint32_t a = 0; a < t->naccess; a++)
		((uint64_t *)(block + sizeof(struct cuda_args)))[a] += x->scratch;
	cuda_launch_set(block, &all, &item, c->tuner.word, x->scratch + x->part,
			x->scratch + x->errors);
	params[0] = block;
	st = cuda_context_check(c, c->api.cuEventRecord(x->begin, x->stream), err, "an event");
	if (st == OK)
		st = cuda_context_check(c,
					c->api.cuLaunchKernel(t->function, item.grid, 1, 1,
							      item.threads, 1, 1, 0, x->stream,
							      params, NULL),
					err, "a trial of kernel %u", x->s->kernel->id);
	if (st == OK)
		st = cuda_context_check(c, c->api.cuEventRecord(x->end, x->stream), err,
					"an event");
	if (st == OK)
		st = cuda_context_check(c, c->api.cuEventSynchronize(x->end), err, "a trial");
	return st;
}

static enum outcome try_one(struct session *x, unsigned i, uint64_t *ns)
{
	struct err err = {0};
	uint64_t arrivals = 0;
	enum status st = OK;
	bool alone = false;
	float ms = 0;

	/* What cleared the memory has its own time. */
	cuda_context_expect(x->c, x->c->api.cuStreamSynchronize(x->stream), "clearing memory");
	if (!launch_begin(x, &arrivals))
		return DISTURBED;
	st = fire(x, i, &err);
	alone = launch_end(x, arrivals);
	x->trials++;
	if (st != OK) {
		log_debug("cuda_trial", "%s", err.text);
		return REFUSED;
	}
	if (!alone || x->c->api.cuEventElapsedTime(&ms, x->begin, x->end) != CUDA_SUCCESS)
		return DISTURBED;
	*ns = (uint64_t)((double)ms * 1e6) + 1;
	return TRIED;
}

/* ---- one subject ----------------------------------------------------------------------------- */

static uint64_t fastest(const struct session *x, unsigned *at)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < x->n; i++) {
		if (x->best[i] && x->best[i] < least) {
			least = x->best[i];
			*at = i;
		}
	}
	return least;
}

/* Candidate i once more; false: the trials end without a result. */
static bool turn(struct session *x, unsigned i, unsigned round, enum cuda_subject_state *state)
{
	enum outcome out = DISTURBED;
	uint64_t ns = 0;

	while (out == DISTURBED) {
		*state = SUBJECT_COUNTED;
		if (!wait_quiet(x) || !scratch_take(x))
			return false;
		out = try_one(x, i, &ns);
	}
	*state = SUBJECT_OVER;
	if (out == REFUSED) {
		x->best[i] = UINT64_MAX;
		return i > 0;
	}
	if (round > 0 && (!x->best[i] || ns < x->best[i]))
		x->best[i] = ns;
	return i > 0 || round == 0 || ns >= CUDA_TELLING_NS;
}

static bool rounds(struct session *x, enum cuda_subject_state *state)
{
	unsigned any = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t least = fastest(x, &any);

		for (unsigned i = 0; i < x->n; i++) {
			if (x->best[i] && (double)x->best[i] > HOPELESS * (double)least && i > 0)
				x->best[i] = UINT64_MAX;
			if (x->best[i] != UINT64_MAX && !turn(x, i, round, state))
				return false;
		}
	}
	return true;
}

static void judge(const struct session *x, struct cuda_geometry *g)
{
	unsigned best = 0;

	g->model_ns = g->best_ns = x->best[0];
	g->state = GEOMETRY_KEPT;
	g->model = g->best = x->shape[0];
	if ((double)fastest(x, &best) >= MARGIN * (double)x->best[0])
		return;
	g->state = GEOMETRY_TUNED;
	g->best = x->shape[best];
	g->best_ns = x->best[best];
}

static void try_subject(struct session *x, struct cuda_subject *s)
{
	enum cuda_subject_state state = SUBJECT_OVER;
	struct cuda_geometry g = s->g;

	if (session_begin(x, s) && rounds(x, &state)) {
		judge(x, &g);
		log_debug("cuda_trial", "kernel %u, %s: %u threads, %u blocks: %llu of %llu ns",
			  s->kernel->id, cuda_entry_name(x->item.entry), g.best.threads,
			  g.best.blocks, (unsigned long long)g.best_ns,
			  (unsigned long long)g.model_ns);
	}
	scratch_give(x);
	cuda_tune_conclude(x->c, s, state, &g, x->trials, x->ns);
}

/* The next subject, once there is one; NULL: the worker ends. */
static struct cuda_subject *next(struct cuda_tuner *t)
{
	struct cuda_subject *s = NULL;

	pthread_mutex_lock(&t->lock);
	while (!t->stop && (!t->head || t->runs))
		pthread_cond_wait(&t->more, &t->lock);
	s = t->stop ? NULL : t->head;
	if (s) {
		t->head = s->later;
		if (!t->head)
			t->tail = &t->head;
	}
	pthread_mutex_unlock(&t->lock);
	return s;
}

void *cuda_trial_main(void *arg)
{
	struct cuda *c = arg;
	struct session x = {.c = c};
	struct cuda_subject *s = NULL;

	cuda_context_expect(c, c->api.cuCtxSetCurrent(c->context), "the context of trials");
	while ((s = next(&c->tuner)))
		try_subject(&x, s);
	session_close(&x);
	c->tuner.ended = true;
	return NULL;
}
