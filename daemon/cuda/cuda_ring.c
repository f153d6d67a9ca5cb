/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_ring.c - copies between ordinary memory and the device, through two
 * pinned buffers for each direction.
 *
 * While the device moves one buffer, the issuer fills or empties the other.  The
 * buffers and the stream of a direction are shared by all lanes, piece by piece.  An
 * issuer waits for its own stream before it takes a buffer, so that no client's
 * kernels hold up the copies of the others. */
#include <string.h>

#include "base/log.h"
#include "cuda_error.h"
#include "cuda_worker.h"

void cuda_ring_init(struct cuda_ring *r)
{
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->given, NULL);
}

static enum status slot_open(struct cuda *c, struct cuda_ring_slot *s, struct err *err)
{
	void *mem = NULL;
	/* A piece takes less time than a thread that sleeps to be woken: its end is looked for. */
	enum status st =
		cuda_context_check(c, c->api.cuEventCreate(&s->done, CU_EVENT_DISABLE_TIMING), err,
				   "an event of a staging ring");

	if (st == OK)
		st = cuda_context_check(
			c, c->api.cuMemHostAlloc(&mem, CUDA_RING_BYTES, CU_MEMHOSTALLOC_PORTABLE),
			err, "%u bytes of pinned memory", CUDA_RING_BYTES);
	s->mem = mem;
	return st;
}

/* With the ring's lock held. */
static enum status ring_open(struct cuda *c, struct cuda_ring *r, struct err *err)
{
	enum status st = cuda_context_check(
		c, c->api.cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING), err, "a copy stream");

	for (int i = 0; i < 2 && st == OK; i++)
		st = slot_open(c, &r->slot[i], err);
	if (st == OK)
		r->ready = true;
	return st;
}

void cuda_ring_close(struct cuda *c, struct cuda_ring *r)
{
	for (int i = 0; i < 2; i++) {
		if (r->slot[i].done)
			cuda_context_expect(c, c->api.cuEventDestroy_v2(r->slot[i].done),
					    "an event of a staging ring");
		if (r->slot[i].mem)
			cuda_context_expect(c, c->api.cuMemFreeHost(r->slot[i].mem),
					    "pinned memory");
		r->slot[i] = (struct cuda_ring_slot){0};
	}
	if (r->stream)
		cuda_context_expect(c, c->api.cuStreamDestroy_v2(r->stream), "a copy stream");
	r->stream = NULL;
	r->ready = false;
}

/* A free buffer; NULL: there is none, and `wait` was false or the ring is refused. */
static struct cuda_ring_slot *slot_take(struct cuda *c, struct cuda_ring *r, bool wait)
{
	struct cuda_ring_slot *s = NULL;
	struct err err = {0};

	pthread_mutex_lock(&r->lock);
	if (!r->ready && !r->refused && ring_open(c, r, &err) != OK) {
		log_warn("cuda_ring", "copies are not staged: %s", err.text);
		cuda_ring_close(c, r);
		r->refused = true;
	}
	while (r->ready && !s) {
		for (int i = 0; i < 2 && !s; i++) {
			if (!r->slot[i].taken)
				s = &r->slot[i];
		}
		if (!s && !wait)
			break;
		if (!s)
			pthread_cond_wait(&r->given, &r->lock);
	}
	if (s)
		s->taken = true;
	pthread_mutex_unlock(&r->lock);
	return s;
}

static void slot_give(struct cuda_ring *r, struct cuda_ring_slot *s)
{
	pthread_mutex_lock(&r->lock);
	s->taken = false;
	pthread_cond_signal(&r->given);
	pthread_mutex_unlock(&r->lock);
}

/* The piece that begins at `at`: pieces rise to the buffer's size, so that the
 * device has something to do soon. */
static uint64_t piece_of(uint64_t at, uint64_t n)
{
	uint64_t piece = at == 0 ? CUDA_RING_BYTES / 8 : CUDA_RING_BYTES;

	return n - at < piece ? n - at : piece;
}

static enum status up_piece(struct cuda_lane *l, struct cuda_ring_slot *s, CUdeviceptr to,
			    const char *from, uint64_t n, struct err *err)
{
	struct cuda *c = l->c;
	CUresult rc = c->api.cuEventSynchronize(s->done); /* of the copy before */

	if (rc == CUDA_SUCCESS) {
		memcpy(s->mem, from, n);
		rc = c->api.cuMemcpyHtoDAsync_v2(to, s->mem, n, c->up.stream);
	}
	if (rc == CUDA_SUCCESS)
		rc = c->api.cuEventRecord(s->done, c->up.stream);
	/* Copies of a stream are done in order: the last wait is for all of them. */
	if (rc == CUDA_SUCCESS)
		rc = c->api.cuStreamWaitEvent(l->stream, s->done, 0);
	return cuda_context_check(c, rc, err, "copying %llu bytes to the device",
				  (unsigned long long)n);
}

enum status cuda_ring_up(struct cuda_lane *l, CUdeviceptr to, const char *from, uint64_t n,
			 struct err *err)
{
	struct cuda *c = l->c;
	enum status st = cuda_context_check(c, c->api.cuStreamSynchronize(l->stream), err,
					    "waiting before a copy");

	for (uint64_t at = 0; at < n && st == OK;) {
		uint64_t piece = piece_of(at, n);
		struct cuda_ring_slot *s = slot_take(c, &c->up, true);

		if (!s)
			return cuda_context_check(
				c,
				c->api.cuMemcpyHtoDAsync_v2(to + at, from + at, n - at, l->stream),
				err, "copying %llu bytes to the device",
				(unsigned long long)(n - at));
		st = up_piece(l, s, to + at, from + at, piece, err);
		slot_give(&c->up, s);
		at += piece;
	}
	return st;
}

/* A piece on its way from the device. */
struct down_piece {
	struct cuda_ring_slot *slot;
	uint64_t at, n;
};

static enum status down_begin(struct cuda *c, struct down_piece *p, CUdeviceptr from,
			      struct err *err)
{
	CUresult rc = c->api.cuMemcpyDtoHAsync_v2(p->slot->mem, from + p->at, p->n, c->down.stream);

	if (rc == CUDA_SUCCESS)
		rc = c->api.cuEventRecord(p->slot->done, c->down.stream);
	return cuda_context_check(c, rc, err, "copying %llu bytes from the device",
				  (unsigned long long)p->n);
}

static enum status down_end(struct cuda *c, struct down_piece *p, char *to, struct err *err)
{
	enum status st =
		cuda_context_check(c, c->api.cuEventSynchronize(p->slot->done), err,
				   "copying %llu bytes from the device", (unsigned long long)p->n);

	if (st == OK)
		memcpy(to + p->at, p->slot->mem, p->n);
	slot_give(&c->down, p->slot);
	p->slot = NULL;
	return st;
}

enum status cuda_ring_down(struct cuda_lane *l, char *to, CUdeviceptr from, uint64_t n,
			   struct err *err)
{
	struct cuda *c = l->c;
	struct down_piece flying = {0}, next = {0};
	uint64_t at = 0;
	enum status st = cuda_context_check(c, c->api.cuStreamSynchronize(l->stream), err,
					    "waiting before a copy");

	while (st == OK && (at < n || flying.slot)) {
		/* Two lanes that waited for a second buffer would wait for each other. */
		next = (struct down_piece){.at = at, .n = piece_of(at, n)};
		if (at < n)
			next.slot = slot_take(c, &c->down, flying.slot == NULL);
		if (!next.slot && !flying.slot)
			return cuda_context_check(
				c,
				c->api.cuMemcpyDtoHAsync_v2(to + at, from + at, n - at, l->stream),
				err, "copying %llu bytes from the device",
				(unsigned long long)(n - at));
		if (next.slot) {
			at += next.n;
			st = down_begin(c, &next, from, err);
		}
		if (flying.slot) {
			enum status ended = down_end(c, &flying, to, err);

			st = st == OK ? ended : st;
		}
		flying = next;
	}
	if (flying.slot)
		slot_give(&c->down, flying.slot);
	return st;
}
