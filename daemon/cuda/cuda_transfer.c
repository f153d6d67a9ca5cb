/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_transfer.c - STEP_COPY: bytes between arenas and the device.
 *
 *   within the device      on the lane's stream
 *   registered chunks      on the lane's stream, directly
 *   up to 32 KiB           to the device by the driver's own staging, or, where the device
 *                          reads ordinary memory by itself, through the run's bounce
 *                          buffer; from it through that, whose bytes reach the arena when
 *                          the run is complete
 *   everything else        through the rings, while the issuer waits
 *
 * An arena's bytes that were written by an earlier copy, still under way, may only
 * be read by the processor when that copy has come to its end: cuda_issue_settle. */
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

static enum status plain_down(struct cuda_run *run, CUdeviceptr from, const struct cuda_spot *to,
			      uint64_t n, struct err *err)
{
	struct cuda_lane *l = run->lane;
	uint32_t at = 8 * LIMIT_INLINE_BYTES + run->bounced;

	if (at + n > CUDA_BOUNCE_BYTES)
		return cuda_ring_down(l, to->host->addr + to->offset, from, n, err);
	run->copyout = xrealloc(run->copyout, run->ncopyout + 1, sizeof *run->copyout);
	run->copyout[run->ncopyout++] = (struct cuda_copyout){
		.host = to->host, .offset = to->offset, .bytes = (uint32_t)n, .at = at};
	run->bounced += (uint32_t)((n + 15) / 16 * 16);
	run->writes = true;
	return cuda_context_check(
		l->c,
		l->c->api.cuMemcpyDtoHAsync_v2(l->slot[run->slot].bounce + at, from, n, l->stream),
		err, "copying %llu bytes from the device", (unsigned long long)n);
}

static enum status up(struct cuda_run *run, struct cuda_spot from, CUdeviceptr to, uint64_t n,
		      struct err *err)
{
	struct cuda_lane *l = run->lane;
	enum status st = OK;

	cuda_pin_note(from.host, from.offset, n);
	if (writes_pending(run))
		st = cuda_issue_settle(run, err);
	while (n > 0 && st == OK) {
		uint64_t plain = 0;
		uint64_t step = cuda_pin_take(run, from.host, from.offset, n, &plain);

		if (step)
			st = cuda_context_check(
				l->c,
				l->c->api.cuMemcpyHtoDAsync_v2(to, from.host->addr + from.offset,
							       step, l->stream),
				err, "copying %llu bytes to the device", (unsigned long long)step);
		else
			st = plain_up(run, &from, to, step = plain, err);
		from.offset += step;
		to += step;
		n -= step;
	}
	return st;
}

static enum status down(struct cuda_run *run, CUdeviceptr from, struct cuda_spot to, uint64_t n,
			struct err *err)
{
	struct cuda_lane *l = run->lane;
	enum status st = OK;

	cuda_pin_note(to.host, to.offset, n);
	while (n > 0 && st == OK) {
		uint64_t plain = 0;
		uint64_t step = cuda_pin_take(run, to.host, to.offset, n, &plain);

		if (step) {
			run->writes = true;
			st = cuda_context_check(
				l->c,
				l->c->api.cuMemcpyDtoHAsync_v2(to.host->addr + to.offset, from,
							       step, l->stream),
				err, "copying %llu bytes from the device",
				(unsigned long long)step);
		} else {
			st = plain_down(run, from, &to, step = plain, err);
		}
		to.offset += step;
		from += step;
		n -= step;
	}
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
		return up(run, from, to.addr, n, err);
	if (to.host)
		return down(run, from.addr, to, n, err);
	return cuda_context_check(l->c,
				  l->c->api.cuMemcpyDtoDAsync_v2(to.addr, from.addr, n, l->stream),
				  err, "copying %llu bytes on the device", (unsigned long long)n);
}
