/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_transfer.c - STEP_COPY: bytes between arenas and the device.
 *
 *   within the device      on the lane's stream
 *   registered chunks      on the lane's stream, directly, after all that goes otherwise: a
 *                          ring waits for what is on the stream
 *   up to 32 KiB           to the device by the driver's own staging, or, where the device
 *                          reads ordinary memory by itself, through the run's bounce
 *                          buffer
 *   from it, up to 1 MiB   of a run, which is what lies before and behind registered chunks:
 *                          through buffers of the run's slot, whose bytes reach the arena when
 *                          the run is complete, so that nobody waits before
 *   everything else        through the rings, while the issuer waits
 *
 * An arena's bytes that were written by an earlier copy, still under way, may only
 * be read by the processor when that copy has come to its end: cuda_issue_settle. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cuda_worker.h"

/* Do runs of this lane that are not complete, or this one so far, write to arenas? */
static bool writes_pending(struct cuda_run *run)
{
	struct cuda_lane *l = run->lane;
	bool pending = run->writes;

	pthread_mutex_lock(&l->lock);
	for (const struct cuda_run *r = l->issued; r && r != run; r = r->next)
		pending |= r->writes;
	pthread_mutex_unlock(&l->lock);
	return pending;
}

static enum status plain_up(struct cuda_run *run, const struct cuda_spot *from, CUdeviceptr to,
			    uint64_t n, struct err *err)
{
	struct cuda_lane *l = run->lane;
	const char *bytes = from->host->addr + from->offset;
	uint32_t at = 8 * LIMIT_INLINE_BYTES + run->bounced;

	if (n > CUDA_SMALL_BYTES || (l->c->late_reads && at + n > CUDA_BOUNCE_BYTES))
		return cuda_ring_up(l, to, bytes, n, err);
	if (l->c->late_reads) {
		bytes = memcpy(l->slot[run->slot].bounce + at, bytes, n);
		run->bounced += (uint32_t)((n + 15) / 16 * 16);
	}
	/* Ordinary memory has been read when this returns, but where the device reads it by
	 * itself; pinned memory is the run's until it is complete. */
	return cuda_context_check(l->c, l->c->api.cuMemcpyHtoDAsync_v2(to, bytes, n, l->stream),
				  err, "copying %llu bytes to the device", (unsigned long long)n);
}

/* Room for n bytes in the buffers of the run's slot; NULL: there is none. */
static char *room(struct cuda_run *run, uint64_t n)
{
	struct cuda_slot *s = &run->lane->slot[run->slot];
	uint32_t at = 8 * LIMIT_INLINE_BYTES + run->bounced, edge = run->edged;
	uint32_t whole = (uint32_t)((n + 15) / 16 * 16);

	if (n <= CUDA_BOUNCE_BYTES - at) {
		run->bounced += whole;
		return s->bounce + at;
	}
	if (n > CUDA_EDGE_BYTES - edge || !cuda_lane_edge(run->lane, s))
		return NULL;
	run->edged += whole;
	return s->edge + edge;
}

static enum status plain_down(struct cuda_run *run, CUdeviceptr from, const struct cuda_spot *to,
			      uint64_t n, struct err *err)
{
	struct cuda_lane *l = run->lane;
	char *by = n <= CUDA_EDGE_BYTES ? room(run, n) : NULL;

	if (!by)
		return cuda_ring_down(l, to->host->addr + to->offset, from, n, err);
	run->copyout = xrealloc(run->copyout, run->ncopyout + 1, sizeof *run->copyout);
	run->copyout[run->ncopyout++] = (struct cuda_copyout){
		.host = to->host, .offset = to->offset, .bytes = (uint32_t)n, .from = by};
	run->writes = true;
	return cuda_context_check(l->c, l->c->api.cuMemcpyDtoHAsync_v2(by, from, n, l->stream), err,
				  "copying %llu bytes from the device", (unsigned long long)n);
}

/* n bytes between a place of an arena and the device. */
struct passage {
	struct cuda_run *run;
	struct cuda_spot host;
	CUdeviceptr device;
	uint64_t n;
	bool down; /* to the arena */
};

/* A piece of it that lies in one registered chunk. */
struct direct {
	uint64_t at, n;
};

static enum status plain_piece(const struct passage *p, uint64_t at, uint64_t n, struct err *err)
{
	struct cuda_spot host = p->host;

	host.offset += at;
	return p->down ? plain_down(p->run, p->device + at, &host, n, err)
		       : plain_up(p->run, &host, p->device + at, n, err);
}

static enum status direct_piece(const struct passage *p, const struct direct *d, struct err *err)
{
	struct cuda_lane *l = p->run->lane;
	char *host = p->host.host->addr + p->host.offset + d->at;
	CUdeviceptr device = p->device + d->at;
	CUresult rc;

	if (p->down)
		rc = l->c->api.cuMemcpyDtoHAsync_v2(host, device, d->n, l->stream);
	else
		rc = l->c->api.cuMemcpyHtoDAsync_v2(device, host, d->n, l->stream);
	p->run->writes |= p->down;
	return cuda_context_check(l->c, rc, err, "copying %llu bytes %s the device",
				  (unsigned long long)d->n, p->down ? "from" : "to");
}

static enum status pass(const struct passage *p, struct err *err)
{
	struct direct *list = NULL;
	enum status st = OK;
	uint32_t n = 0, cap = 0;

	cuda_pin_note(p->host.host, p->host.offset, p->n);
	if (!p->down && writes_pending(p->run))
		st = cuda_issue_settle(p->run, err);
	for (uint64_t at = 0, step, plain; at < p->n && st == OK; at += step + plain) {
		plain = 0;
		step = cuda_pin_take(p->run, p->host.host, p->host.offset + at, p->n - at, &plain);
		if (step && n == cap) {
			cap = 2 * cap + 8;
			list = xrealloc(list, cap, sizeof *list);
		}
		if (step)
			list[n++] = (struct direct){at, step};
		else
			st = plain_piece(p, at, plain, err);
	}
	for (uint32_t i = 0; i < n && st == OK; i++)
		st = direct_piece(p, &list[i], err);
	free(list);
	return st;
}

/* Between two places of arenas. */
static enum status across(struct cuda_run *run, const struct cuda_spot *from,
			  const struct cuda_spot *to, uint64_t n, struct err *err)
{
	enum status st = cuda_issue_settle(run, err);

	if (st == OK)
		memmove(to->host->addr + to->offset, from->host->addr + from->offset, n);
	return st;
}

enum status cuda_transfer_step(struct cuda_run *run, const struct command_step *s, struct err *err)
{
	const struct command_place *place = (const struct command_place *)(s + 1);
	struct cuda_lane *l = run->lane;
	struct cuda_spot from = {0}, to = {0};
	uint64_t n = 0;
	enum status st = OK;

	if (s->lo < 0 || s->hi < s->lo)
		return err_set(err, E_INTERNAL, "a copy of bytes [%lld, %lld)", (long long)s->lo,
			       (long long)s->hi);
	n = (uint64_t)(s->hi - s->lo);
	if ((st = cuda_region_resolve(&from, run, &place[0], s->lo, s->hi, err)) != OK ||
	    (st = cuda_region_resolve(&to, run, &place[1], s->lo, s->hi, err)) != OK || n == 0)
		return st;
	from.offset += (uint64_t)s->lo;
	from.addr += (uint64_t)s->lo;
	to.offset += (uint64_t)s->lo;
	to.addr += (uint64_t)s->lo;
	if (from.host && to.host)
		return across(run, &from, &to, n, err);
	if (from.host)
		return pass(&(struct passage){run, from, to.addr, n, .down = false}, err);
	if (to.host)
		return pass(&(struct passage){run, to, from.addr, n, .down = true}, err);
	return cuda_context_check(l->c,
				  l->c->api.cuMemcpyDtoDAsync_v2(to.addr, from.addr, n, l->stream),
				  err, "copying %llu bytes on the device", (unsigned long long)n);
}
