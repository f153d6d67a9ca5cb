/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_pin.c - chunks of arenas that the driver knows, so that copies go to
 * and from them directly.
 *
 * Registering touches and locks every page, so it is done for chunks that a copy has
 * covered whole (they are the broker's and filled), after their second use, by the
 * helper, and within BRAZE_WORKER_PIN_MIB.
 *
 * What must hold: a copy never goes through a registered page that is not the file's
 * any more.  Pages that are punched out of the file are replaced for everybody but the
 * device, so the broker sends CMD_RELEASE before it punches and waits for the answer.
 * The chunks then take no new copies, those under way come to their end, they are
 * unregistered, and the answer goes.  None of them can be asked for again before the
 * punch: only a copy that covers a chunk whole asks, and the memory that is going to be
 * punched belongs to no array.  A registration that was asked for before is done before:
 * the helper keeps the order.
 *
 * A client can punch its own arena (the file's seals forbid to resize it, not that).
 * The device then goes on with pages that nobody else sees: the client has damaged its
 * own values, and nothing faults. */
#include <stdlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_error.h"
#include "cuda_worker.h"

struct pin_task {
	struct cuda_task task;
	struct cuda_host *host; /* held */
	uint32_t chunk;
};

/* A chunk's bytes count from when it is asked for. */
static bool reserve(struct cuda *c)
{
	uint64_t bytes = c->chunk_bytes;

	if (atomic_fetch_add(&c->pinned, bytes) + bytes > c->pin_limit) {
		atomic_fetch_sub(&c->pinned, bytes);
		return false;
	}
	atomic_fetch_add(&c->page->registered_bytes, bytes);
	return true;
}

static void unreserve(struct cuda *c)
{
	atomic_fetch_sub(&c->pinned, c->chunk_bytes);
	atomic_fetch_sub(&c->page->registered_bytes, c->chunk_bytes);
}

static void pin_run(struct cuda_task *task)
{
	struct pin_task *t = (struct pin_task *)task;
	struct cuda_host *h = t->host;
	struct cuda *c = h->c;
	struct err err = {0};
	bool good = atomic_load(&c->pin_limit) > 0; /* this one was asked for before a refusal */

	if (good)
		good = cuda_context_check(c,
					  c->api.cuMemHostRegister_v2(
						  h->addr + t->chunk * c->chunk_bytes,
						  c->chunk_bytes, CU_MEMHOSTREGISTER_PORTABLE),
					  &err, "registering memory of region %u", h->id) == OK;
	if (!good) {
		/* Some machines let nothing be registered, or no more: the rings serve, and the
		 * driver is not asked again. */
		if (atomic_exchange(&c->pin_limit, 0))
			log_warn("cuda_pin", "copies are staged from here on: %s", err.text);
		unreserve(c);
	}
	pthread_mutex_lock(&h->lock);
	h->chunk[t->chunk].state = good ? CHUNK_PINNED : CHUNK_REFUSED;
	pthread_mutex_unlock(&h->lock);
	cuda_region_unref(h);
	free(t);
}

static void ask(struct cuda_host *h, uint32_t chunk)
{
	struct pin_task *t = xcalloc(1, sizeof *t);

	t->task.run = pin_run;
	t->host = h;
	t->chunk = chunk;
	cuda_region_ref(h);
	cuda_helper_give(&h->c->pinner, &t->task);
}

void cuda_pin_note(struct cuda_host *h, uint64_t offset, uint64_t n)
{
	uint64_t size = h->c->chunk_bytes;
	uint64_t first = (offset + size - 1) / size, end = (offset + n) / size;

	if (h->c->pin_limit == 0)
		return;
	pthread_mutex_lock(&h->lock);
	for (uint64_t i = first; i < end && i < h->nchunk; i++) {
		struct cuda_chunk *k = &h->chunk[i];

		if (k->state != CHUNK_PLAIN || ++k->uses < CUDA_PIN_USES)
			continue;
		k->uses = 0;
		if (!reserve(h->c))
			continue;
		k->state = CHUNK_ASKED;
		ask(h, (uint32_t)i);
	}
	pthread_mutex_unlock(&h->lock);
}

/* With the host's lock held. */
static bool is_pinned(const struct cuda_host *h, uint64_t chunk)
{
	return chunk < h->nchunk && h->chunk[chunk].state == CHUNK_PINNED;
}

static void use(struct cuda_run *run, struct cuda_host *h, uint32_t chunk)
{
	h->chunk[chunk].users++;
	if (run->npin == run->pin_cap) {
		run->pin_cap = run->pin_cap * 2 + 8;
		run->pin = xrealloc(run->pin, run->pin_cap, sizeof *run->pin);
	}
	run->pin[run->npin++] = (struct cuda_pin){h, chunk};
}

uint64_t cuda_pin_take(struct cuda_run *run, struct cuda_host *h, uint64_t offset, uint64_t n,
		       uint64_t *plain)
{
	uint64_t size = h->c->chunk_bytes, chunk = offset / size, end = (chunk + 1) * size;
	bool pinned = false;

	pthread_mutex_lock(&h->lock);
	pinned = is_pinned(h, chunk);
	if (pinned)
		use(run, h, (uint32_t)chunk);
	while (!pinned && end - offset < n && !is_pinned(h, end / size))
		end += size;
	pthread_mutex_unlock(&h->lock);
	*plain = pinned ? 0 : end - offset < n ? end - offset : n;
	return !pinned ? 0 : end - offset < n ? end - offset : n;
}

void cuda_pin_give(struct cuda_run *run)
{
	for (uint32_t i = 0; i < run->npin; i++) {
		struct cuda_host *h = run->pin[i].host;

		pthread_mutex_lock(&h->lock);
		if (--h->chunk[run->pin[i].chunk].users == 0)
			pthread_cond_broadcast(&h->unused);
		pthread_mutex_unlock(&h->lock);
	}
	free(run->pin);
	run->pin = NULL;
	run->npin = run->pin_cap = 0;
}

/* The helper: no copy begins, the last one ends, the driver forgets it. */
static void let_go(struct cuda_host *h, uint32_t chunk)
{
	struct cuda *c = h->c;
	struct cuda_chunk *k = &h->chunk[chunk];
	struct err err = {0};
	bool good = false;

	pthread_mutex_lock(&h->lock);
	if (k->state != CHUNK_PINNED) {
		pthread_mutex_unlock(&h->lock);
		return;
	}
	k->state = CHUNK_LEAVING;
	while (k->users)
		pthread_cond_wait(&h->unused, &h->lock);
	pthread_mutex_unlock(&h->lock);
	good = cuda_context_check(c, c->api.cuMemHostUnregister(h->addr + chunk * c->chunk_bytes),
				  &err, "unregistering memory of region %u", h->id) == OK;
	unreserve(c);
	/* One that the driver does not forget is never copied through again. */
	if (!good)
		log_error("cuda_pin", "%s", err.text);
	pthread_mutex_lock(&h->lock);
	k->state = good ? CHUNK_PLAIN : CHUNK_REFUSED;
	k->uses = 0;
	pthread_mutex_unlock(&h->lock);
}

struct release_task {
	struct cuda_task task;
	struct cuda *c;
	struct cuda_host *host; /* held; NULL: there is no such region */
	struct command answer;
};

static void release_run(struct cuda_task *task)
{
	struct release_task *t = (struct release_task *)task;
	struct cuda_host *h = t->host;
	uint64_t size = t->c->chunk_bytes, end = t->answer.ticket + t->answer.arg;

	for (uint64_t i = t->answer.ticket / size; h && i < h->nchunk && i * size < end; i++)
		let_go(h, (uint32_t)i);
	cuda_worker_send(t->c, &t->answer, sizeof t->answer);
	if (h)
		cuda_region_unref(h);
	free(t);
}

void cuda_pin_release(struct cuda *c, const struct command *head)
{
	struct release_task *t = xcalloc(1, sizeof *t);

	t->task.run = release_run;
	t->c = c;
	t->host = cuda_table_find(&c->hosts, head->id);
	t->answer = *head;
	t->answer.kind = DONE_RELEASE;
	if (t->host)
		cuda_region_ref(t->host);
	cuda_helper_give(&c->pinner, &t->task);
}

void cuda_pin_finish(struct cuda_host *h)
{
	for (uint32_t i = 0; i < h->nchunk; i++)
		let_go(h, i);
}

uint64_t cuda_pin_limit(uint64_t memory_bytes)
{
	uint64_t eighth = memory_bytes / 8;

	return eighth < CUDA_PIN_MOST ? eighth : CUDA_PIN_MOST;
}
