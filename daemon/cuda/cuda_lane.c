/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_lane.c - the queue, the stream and the two threads of one client.
 *
 * The issuer gives runs to the driver ahead of the device, at most CUDA_SLOTS; how
 * their ends are seen is cuda_wait.c's.  Lanes of clients that have gone are closed when
 * a new client comes. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_blas.h"
#include "cuda_fft.h"
#include "cuda_solver.h"
#include "cuda_sparse.h"
#include "cuda_worker.h"
#include "loops/kernel_abi.h"

#define IDLE_LANES 8 /* lanes without work or memory that may stay open */

/* ---- opening and closing, on the issuer's thread ------------------------------------- */

static enum status slot_open(struct cuda_lane *l, uint32_t i, struct err *err)
{
	struct cuda *c = l->c;
	struct cuda_slot *s = &l->slot[i];
	enum status st = cuda_context_check(
		c, c->api.cuEventCreate(&s->begin, CU_EVENT_BLOCKING_SYNC), err, "an event");

	if (st == OK)
		st = cuda_context_check(c, c->api.cuEventCreate(&s->end, CU_EVENT_BLOCKING_SYNC),
					err, "an event");
	s->cancel = l->stops + i * sizeof(uint32_t);
	s->bounce = l->pinned + 64 + i * CUDA_BOUNCE_BYTES;
	_Static_assert(64 + CUDA_SLOTS * CUDA_ERROR_BYTES <= 4096, "a lane's words fit");
	s->error = l->words + 64 + i * CUDA_ERROR_BYTES;
	s->found = (uint64_t *)(l->pinned + 64 + CUDA_SLOTS * CUDA_BOUNCE_BYTES +
				i * CUDA_ERROR_BYTES);
	return st;
}

bool cuda_lane_edge(struct cuda_lane *l, struct cuda_slot *s)
{
	void *mem = NULL;

	if (!s->edge && !s->no_edge) {
		s->no_edge = l->c->api.cuMemHostAlloc(&mem, CUDA_EDGE_BYTES,
						      CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS;
		s->edge = s->no_edge ? NULL : mem;
	}
	return s->edge != NULL;
}

/* Pinned memory: the mark, which the device writes, then the bounce buffers, then the
 * errors that were found. */
static enum status pinned_open(struct cuda_lane *l, struct err *err)
{
	struct cuda *c = l->c;
	void *mem = NULL;
	size_t bytes = 64 + CUDA_SLOTS * (CUDA_BOUNCE_BYTES + CUDA_ERROR_BYTES);
	enum status st = cuda_context_check(
		c,
		c->api.cuMemHostAlloc(&mem, bytes,
				      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
		err, "%zu bytes of pinned memory", bytes);

	if (st != OK)
		return st;
	l->pinned = mem;
	memset(mem, 0, bytes);
	pthread_mutex_lock(&l->lock);
	l->mark = mem;
	pthread_mutex_unlock(&l->lock);
	return cuda_context_check(c, c->api.cuMemHostGetDevicePointer_v2(&l->mark_device, mem, 0),
				  err, "the device's address of pinned memory");
}

static enum status lane_open(struct cuda_lane *l, struct err *err)
{
	struct cuda *c = l->c;
	uint64_t free_bytes = 0;
	enum status st = cuda_context_check(c, c->api.cuCtxSetCurrent(c->context), err,
					    "the context of a client's thread");

	if (st == OK)
		st = cuda_context_check(c,
					c->api.cuStreamCreate(&l->stream, CU_STREAM_NON_BLOCKING),
					err, "a client's stream");
	if (st != OK || (st = cuda_memory_open(l, err)) != OK || (st = pinned_open(l, err)) != OK ||
	    (st = cuda_words_take(c, &l->stops, err)) != OK ||
	    (st = cuda_memory_take(l, &l->words, 4096, &free_bytes, err)) != OK)
		return st;
	st = cuda_context_check(c, c->api.cuMemsetD32Async(l->words, 0, 1024, l->stream), err,
				"clearing the words of errors");
	for (uint32_t i = 0; i < CUDA_SLOTS && st == OK; i++)
		st = slot_open(l, i, err);
	return st;
}

/* Give back what lane_open took, also when it got no further than half-way. */
static void lane_shut(struct cuda_lane *l)
{
	struct cuda *c = l->c;

	if (l->words)
		cuda_memory_give(l, l->words, 4096);
	if (l->stops)
		cuda_words_give(c, l->stops);
	l->words = l->stops = 0;
	if (l->stream)
		cuda_context_expect(c, c->api.cuStreamSynchronize(l->stream), "ending a stream");
	for (uint32_t i = 0; i < CUDA_SLOTS; i++) {
		if (l->slot[i].begin)
			cuda_context_expect(c, c->api.cuEventDestroy_v2(l->slot[i].begin),
					    "an event");
		if (l->slot[i].end)
			cuda_context_expect(c, c->api.cuEventDestroy_v2(l->slot[i].end),
					    "an event");
		if (l->slot[i].edge)
			cuda_context_expect(c, c->api.cuMemFreeHost(l->slot[i].edge),
					    "pinned memory");
		l->slot[i].begin = l->slot[i].end = NULL;
		l->slot[i].edge = NULL;
	}
	pthread_mutex_lock(&l->lock);
	l->open = false;
	l->mark = NULL;
	pthread_mutex_unlock(&l->lock);
	if (l->pinned)
		cuda_context_expect(c, c->api.cuMemFreeHost(l->pinned), "pinned memory");
	l->pinned = NULL;
	cuda_memory_close(l);
	cuda_side_close(l);
	if (l->stream)
		cuda_context_expect(c, c->api.cuStreamDestroy_v2(l->stream), "a client's stream");
	l->stream = NULL;
}

static void lane_close(struct cuda_lane *l)
{
	while (l->parts)
		cuda_issue_forget(l, l->parts->job);
	while (l->regions.count)
		cuda_region_drop(l, l->regions.item[0].id);
	cuda_table_finish(&l->regions);
	cuda_graph_finish(l);
	free(l->volley.blocks);
	cuda_order_finish(&l->volley.order);
	cuda_blas_close(l);
	cuda_fft_close(l);
	cuda_solver_close(l);
	cuda_sparse_close(l);
	lane_shut(l);
}

/* ---- the issuer ------------------------------------------------------------------------ */

/* The first that is free: one client that waits for each of its runs has the same again
 * and again, and with it the same addresses in what it launches. */
static uint32_t slot_take(struct cuda_lane *l)
{
	uint32_t i = 0;

	while (l->slot[i].taken)
		i++;
	l->slot[i].taken = true;
	return i;
}

/* A slot for the run; it is among the issued from here on, so that the page shows it. */
static void run_begin(struct cuda_lane *l, struct cuda_run *run)
{
	cuda_wait_look(l);
	cuda_wait_hand(l);
	pthread_mutex_lock(&l->lock);
	while (l->nissued == CUDA_SLOTS)
		pthread_cond_wait(&l->moved, &l->lock);
	l->taken_run = NULL;
	run->slot = slot_take(l);
	if (!l->issued)
		l->launches = 0;
	run->serial = l->serial;
	l->serial += run->nstep + 1;
	run->next = NULL;
	*l->issued_tail = run;
	l->issued_tail = &run->next;
	l->nissued++;
	cuda_watch_show(l, false);
	pthread_mutex_unlock(&l->lock);
}

/* Once more if it failed: there may be memory now. */
static void lane_ready(struct cuda_lane *l)
{
	struct err err = {0};
	enum status st = OK;

	if (l->open)
		return;
	st = lane_open(l, &err);
	if (st != OK) {
		log_error("cuda_lane", "client %llu: %s", (unsigned long long)l->client, err.text);
		lane_shut(l);
	}
	pthread_mutex_lock(&l->lock);
	l->err = err;
	l->open = st == OK;
	pthread_mutex_unlock(&l->lock);
}

static void do_item(struct cuda_lane *l, struct cuda_item *item)
{
	if (item->kind == ITEM_ALLOC || item->kind == ITEM_IMPORT || item->kind == ITEM_RUN)
		lane_ready(l);
	switch (item->kind) {
	case ITEM_ALLOC:
		cuda_region_take(l, item->region, item->arg);
		break;
	case ITEM_IMPORT:
		cuda_import_region(l, item);
		break;
	case ITEM_CLEAR:
		cuda_region_clear(l, item->region);
		break;
	case ITEM_EXPORT:
		cuda_export_region(l, item->region, item->arg);
		break;
	case ITEM_DROP:
		cuda_region_drop(l, item->region);
		break;
	case ITEM_FORGET:
		cuda_issue_forget(l, item->arg);
		break;
	case ITEM_RUN:
		run_begin(l, item->run);
		cuda_issue(item->run);
		pthread_mutex_lock(&l->lock);
		item->run->ready = true;
		if (l->handed)
			pthread_cond_broadcast(&l->moved);
		pthread_mutex_unlock(&l->lock);
		break;
	}
}

/* With the lane's lock held. */
static void wait_for_item(struct cuda_lane *l)
{
	pthread_cond_wait(&l->more, &l->lock);
	atomic_fetch_add(&l->c->page->wakes, 1);
}

/* An item has come to an issuer that had nothing to do. */
static void note_gap(struct cuda_lane *l)
{
	int64_t gap = cuda_worker_clock() - l->idle_ns;

	spin_pace_note(&l->gaps, gap);
	l->eager = gap < l->c->spin_ns + (l->c->crowded ? 0 : SPIN_LONG_US * 1000);
	l->idle_ns = 0;
}

static void *issuer_main(void *arg)
{
	struct cuda_lane *l = arg;
	struct cuda *c = NULL;

	lane_ready(l);
	pthread_mutex_lock(&l->lock);
	for (;;) {
		struct cuda_item *item = NULL;

		if (!l->head) {
			pthread_mutex_unlock(&l->lock);
			cuda_wait_idle(l);
			pthread_mutex_lock(&l->lock);
		}
		while (!l->head && !l->stop)
			wait_for_item(l);
		item = l->head;
		if (!item)
			break;
		atomic_fetch_sub(&l->queued, 1);
		l->head = item->next;
		if (!l->head)
			l->tail = &l->head;
		l->busy = true;
		l->taken_run = item->run;
		pthread_mutex_unlock(&l->lock);
		if (l->idle_ns)
			note_gap(l);
		do_item(l, item);
		free(item);
		pthread_mutex_lock(&l->lock);
		l->busy = false;
	}
	while (l->issued)
		pthread_cond_wait(&l->moved, &l->lock);
	pthread_cond_broadcast(&l->moved); /* the waiter ends */
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->waiter, NULL);
	lane_close(l);
	c = l->c;
	free(l);
	atomic_fetch_sub(&c->closing, 1);
	return NULL;
}

/* ---- the command thread -------------------------------------------------------------------- */

static int row_take(struct cuda *c)
{
	for (int i = 0; i < PROGRESS_THREADS; i++) {
		if (!(c->rows >> i & 1)) {
			c->rows |= 1ull << i;
			return i;
		}
	}
	return -1;
}

static bool lane_idle(struct cuda_lane *l)
{
	bool idle = false;

	pthread_mutex_lock(&l->lock);
	idle = l->nregion == 0 && !l->head && !l->busy && !l->issued && l->nparts == 0;
	pthread_mutex_unlock(&l->lock);
	return idle;
}

/* Take it out of the list; its issuer ends when it has done what is queued, and frees
 * it: that may wait for the device, and the command thread must not. */
static void lane_close_later(struct cuda *c, struct cuda_lane **at)
{
	struct cuda_lane *l = *at;

	pthread_mutex_lock(&c->lock);
	*at = l->next;
	if (l->row >= 0)
		c->rows &= ~(1ull << l->row);
	pthread_mutex_unlock(&c->lock);
	atomic_fetch_add(&c->closing, 1);
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	atomic_fetch_add(&l->queued, 1); /* seen by who looks for an item */
	pthread_cond_broadcast(&l->more);
	pthread_mutex_unlock(&l->lock);
}

/* Close idle lanes beyond some, oldest first, unless their memory is being trimmed. */
static void close_idle(struct cuda *c)
{
	struct cuda_lane **at = &c->lanes;
	uint32_t idle = 0;

	if (pthread_mutex_trylock(&c->trimming) != 0)
		return;
	while (*at) {
		if (lane_idle(*at) && ++idle > IDLE_LANES)
			lane_close_later(c, at);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&c->trimming);
}

struct cuda_lane *cuda_lane_of(struct cuda *c, uint64_t client)
{
	struct cuda_lane *l = c->lanes;
	pthread_t issuer;

	while (l && l->client != client)
		l = l->next;
	if (l)
		return l;
	close_idle(c);
	l = xcalloc(1, sizeof *l);
	l->c = c;
	l->client = client;
	l->tail = &l->head;
	l->issued_tail = &l->issued;
	l->serial = 1;
	l->eager = true;
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->freed.lock, NULL);
	pthread_cond_init(&l->more, NULL);
	pthread_cond_init(&l->moved, NULL);
	if (pthread_create(&l->waiter, NULL, cuda_wait_main, l) != 0 ||
	    pthread_create(&issuer, NULL, issuer_main, l) != 0) {
		/* Without threads no client is served: better to begin anew. */
		log_error("cuda_lane", "the threads of a client cannot start");
		_exit(1);
	}
	pthread_detach(issuer);
	pthread_mutex_lock(&c->lock);
	l->row = row_take(c);
	l->next = c->lanes;
	c->lanes = l;
	pthread_mutex_unlock(&c->lock);
	return l;
}

void cuda_lane_give_item(struct cuda_lane *l, const struct cuda_item *like)
{
	struct cuda_item *item = xcalloc(1, sizeof *item);

	*item = *like;
	if (item->run)
		item->run->lane = l;
	cuda_tune_arrive(l->c, item->run != NULL);
	pthread_mutex_lock(&l->lock);
	*l->tail = item;
	l->tail = &item->next;
	atomic_fetch_add(&l->queued, 1);
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
}

void cuda_lane_give(struct cuda_lane *l, enum cuda_item_kind kind, uint32_t region, uint64_t arg,
		    struct cuda_run *run)
{
	cuda_lane_give_item(
		l, &(struct cuda_item){.kind = kind, .region = region, .arg = arg, .run = run});
}

/* With the lane's lock held.  A word that is not there yet: nothing was launched. */
static void stop_issued(struct cuda_lane *l, struct cuda_run *run)
{
	struct cuda *c = l->c;

	run->cancelled = true;
	if (run->over || run->word_set || !l->open)
		return;
	run->word_set = true;
	cuda_context_expect(c, cuda_context_write(c, c->control, l->slot[run->slot].cancel, 1),
			    "cancelling a run");
}

void cuda_lane_cancel(struct cuda_lane *l, uint64_t job)
{
	bool known = false;

	pthread_mutex_lock(&l->lock);
	for (struct cuda_item *i = l->head; i; i = i->next) {
		if (!i->run || TICKET_JOB(i->run->ticket) != job)
			continue;
		i->run->cancelled = true;
		known = true;
	}
	if (l->taken_run && TICKET_JOB(l->taken_run->ticket) == job) {
		l->taken_run->cancelled = true;
		known = true;
	}
	for (struct cuda_run *r = l->issued; r; r = r->next) {
		if (TICKET_JOB(r->ticket) != job)
			continue;
		stop_issued(l, r);
		known = true;
	}
	known |= l->nparts > 0;
	pthread_mutex_unlock(&l->lock);
	/* What the job has gathered goes behind its runs. */
	if (known)
		cuda_lane_give(l, ITEM_FORGET, 0, job, NULL);
}

void cuda_lane_stop_oldest(struct cuda_lane *l)
{
	if (!l->issued)
		return;
	l->issued->hung = true;
	stop_issued(l, l->issued);
}

static bool all_idle(struct cuda *c)
{
	bool idle = true;

	for (struct cuda_lane *l = c->lanes; l; l = l->next) {
		pthread_mutex_lock(&l->lock);
		idle &= !l->head && !l->busy && !l->issued;
		pthread_mutex_unlock(&l->lock);
	}
	return idle;
}

void cuda_lane_finish(struct cuda *c)
{
	static const struct timespec pause = {0, 2000000};

	for (struct cuda_lane *l = c->lanes; l; l = l->next) {
		pthread_mutex_lock(&l->lock);
		for (struct cuda_item *i = l->head; i; i = i->next) {
			if (i->run)
				i->run->cancelled = true;
		}
		if (l->taken_run)
			l->taken_run->cancelled = true;
		for (struct cuda_run *r = l->issued; r; r = r->next)
			stop_issued(l, r);
		pthread_mutex_unlock(&l->lock);
	}
	/* The watch ends the process when one does not stop. */
	while (!all_idle(c)) {
		cuda_watch_tick(c);
		nanosleep(&pause, NULL);
	}
	pthread_mutex_lock(&c->trimming);
	while (c->lanes)
		lane_close_later(c, &c->lanes);
	pthread_mutex_unlock(&c->trimming);
	while (atomic_load(&c->closing))
		nanosleep(&pause, NULL);
}
