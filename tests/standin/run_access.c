/* SPDX-License-Identifier: Apache-2.0 */
/* run_access.c - addresses of the active lanes into host pointers, checked.
 *
 * In: an instruction with a base register and an offset.  Out: space->pointer[lane]
 * for each active lane, or a fault: misaligned, outside of every allocation, outside
 * of shared or local memory, or a race in shared memory.
 *
 * The usual case is one allocation for all lanes: then the lowest and the highest
 * address are checked, and a difference makes the pointers. */
#include "run.h"
#include <stdio.h>

struct extent {
	u64 lowest, highest; /* of the addresses */
	u64 together;	     /* all of them or-ed: low bits show a misaligned one */
};

static struct extent addresses(struct run *r, const struct ptx_ins *i)
{
	u64 *address = r->space->address, imm = (u64)i->imm;
	u64 lowest = UINT64_MAX, highest = 0, together = 0;

	if (i->base == PTX_NONE)
		LANES(address[l] = imm;);
	else if (i->reg_bytes2 == 8)
		LANES(address[l] = REG(u64, i->base)[l] + imm;);
	else
		LANES(address[l] = (u64)(u32)(REG(u32, i->base)[l] + (u32)imm););
	LANES(u64 a = address[l]; lowest = a < lowest ? a : lowest;
	      highest = a > highest ? a : highest; together |= a;);
	return (struct extent){lowest, highest, together};
}

static bool misaligned(struct run *r, unsigned bytes)
{
	const u64 *address = r->space->address;

	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);

		if (address[l] & (bytes - 1)) {
			run_fault(r, PTX_MISALIGNED, l,
				  "misaligned access of %u bytes at address 0x%llx", bytes,
				  (unsigned long long)address[l]);
			return true;
		}
	}
	return false;
}

/* ---- device memory ---- */

static const struct ptx_range *known(const struct run *r, u64 lo, u64 hi)
{
	for (unsigned k = 0; k < RUN_RANGES && k < r->nranges; k++)
		if (lo >= r->range[k].lo && hi <= r->range[k].hi)
			return &r->range[k];
	return NULL;
}

static const struct ptx_range *range_of(struct run *r, u64 lo, u64 bytes)
{
	const struct ptx_range *found = known(r, lo, lo + bytes);
	struct ptx_range fresh;

	if (found)
		return found;
	if (lo + bytes < lo || !r->host->translate(r->host->data, lo, bytes, &fresh))
		return NULL;
	unsigned slot = r->nranges++ % RUN_RANGES;
	r->range[slot] = fresh;
	return &r->range[slot];
}

/* One that finds no room is not watched. */
static void touch(struct run *r, u64 allocation, u64 lo, u64 hi, bool write)
{
	for (u32 k = 0; k < 16; k++) {
		struct run_touched *t = &r->touched[(r->pc + k * 67) & (RUN_TOUCHED - 1)];

		if (!t->used)
			*t = (struct run_touched){allocation, lo, hi, r->pc, true, write};
		if (t->pc != r->pc || t->allocation != allocation || t->write != write)
			continue;
		t->lo = lo < t->lo ? lo : t->lo;
		t->hi = hi > t->hi ? hi : t->hi;
		return;
	}
}

static bool global_lane(struct run *r, unsigned lane, unsigned bytes, bool write)
{
	u64 a = r->space->address[lane];
	const struct ptx_range *range = range_of(r, a, bytes);
	char what[160] = "";

	if (!range) {
		r->host->describe(r->host->data, a, what, sizeof(what));
		run_fault(r, PTX_ILLEGAL_ADDRESS, lane, "%s of %u bytes at address 0x%llx: %s",
			  write ? "write" : "read", bytes, (unsigned long long)a, what);
		return false;
	}
	if (write && range->fixed) {
		run_fault(r, PTX_ILLEGAL_ADDRESS, lane,
			  "write of %u bytes at address 0x%llx: memory that is mapped to be read",
			  bytes, (unsigned long long)a);
		return false;
	}
	r->space->pointer[lane] = range->host + (a - range->lo);
	touch(r, range->lo, a, a + bytes, write);
	return true;
}

static bool global(struct run *r, struct extent e, unsigned bytes, bool write)
{
	const u64 *address = r->space->address;
	char **pointer = r->space->pointer;
	const struct ptx_range *range = range_of(r, e.lowest, e.highest - e.lowest + bytes);

	r->bytes += (u64)bytes * r->count;
	if (range && !(write && range->fixed)) {
		char *host = range->host;
		u64 lo = range->lo;

		touch(r, lo, e.lowest, e.highest + bytes, write);
		LANES(pointer[l] = host + (address[l] - lo););
		return true;
	}
	for (unsigned k = 0; k < r->count; k++)
		if (!global_lane(r, run_lane(r, k), bytes, write))
			return false;
	return true;
}

/* ---- shared memory ---- */

#define SHADOW_MANY   255u /* several warps */
#define SHADOW_ATOMIC 254u

static const char *shadow_name(u32 who, char text[32])
{
	if (who == SHADOW_ATOMIC)
		return "an atomic of another warp";
	if (who == SHADOW_MANY)
		return "several warps";
	snprintf(text, 32, "warp %u", who);
	return text;
}

static void race(struct run *r, unsigned lane, u64 at, bool write, u32 other, bool after_write)
{
	char text[32];

	run_fault(r, PTX_FAILED, lane,
		  "race in shared memory: byte %llu is %s by warp %u after it was %s by %s, with "
		  "no barrier between",
		  (unsigned long long)at, write ? "written" : "read", lane / 32,
		  after_write ? "written" : "read", shadow_name(other, text));
}

/* Epochs count barriers; a byte that two warps touched in one epoch, one of them
 * writing, has no order. */
static bool watch(struct run *r, unsigned lane, u64 at, unsigned bytes, bool write, bool atomic)
{
	u32 warp = atomic ? SHADOW_ATOMIC : lane / 32, epoch = r->space->epoch;
	u32 me = epoch << 8 | warp;
	u32 *written = r->space->written, *read = r->space->read;

	for (u64 b = at; b < at + bytes; b++) {
		u32 w = written[b], d = read[b];

		if (w >> 8 == epoch && w != me) {
			race(r, lane, b, write, w & 255, true);
			return false;
		}
		if (write && d >> 8 == epoch && d != me) {
			race(r, lane, b, write, d & 255, false);
			return false;
		}
		if (write)
			written[b] = me;
		else
			read[b] = d >> 8 == epoch && d != me ? epoch << 8 | SHADOW_MANY : me;
	}
	return true;
}

static bool shared_lane(struct run *r, unsigned lane, unsigned bytes)
{
	u64 a = r->space->address[lane];
	size_t have = r->space->shared_bytes;

	if (a + bytes > have || a + bytes < a) {
		run_fault(r, PTX_ILLEGAL_ADDRESS, lane,
			  "access of %u bytes at offset %llu of the block's %zu bytes of shared "
			  "memory",
			  bytes, (unsigned long long)a, have);
		return false;
	}
	r->space->pointer[lane] = r->space->shared + a;
	return true;
}

static bool shared(struct run *r, const struct ptx_ins *i, unsigned bytes, bool write, bool atomic)
{
	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);

		if (!shared_lane(r, l, bytes))
			return false;
		if (r->host->race && (atomic || !i->exempt) &&
		    !watch(r, l, r->space->address[l], bytes, write, atomic))
			return false;
	}
	return true;
}

/* ---- local memory, parameters, generic addresses ---- */

static bool local_lane(struct run *r, unsigned lane, u64 at, unsigned bytes)
{
	if (at + bytes > r->local_bytes || at + bytes < at) {
		run_fault(r, PTX_ILLEGAL_ADDRESS, lane,
			  "access of %u bytes at offset %llu of the lane's %zu bytes of local "
			  "memory",
			  bytes, (unsigned long long)at, r->local_bytes);
		return false;
	}
	r->space->pointer[lane] = r->space->local + (size_t)lane * r->local_bytes + at;
	return true;
}

static bool param_lane(struct run *r, unsigned lane, u64 at, unsigned bytes, bool write)
{
	size_t have = r->f->param_bytes;

	if (write || at + bytes > have || at + bytes < at) {
		run_fault(r, PTX_ILLEGAL_ADDRESS, lane,
			  "%s of %u bytes at offset %llu of %zu bytes of parameters",
			  write ? "write" : "read", bytes, (unsigned long long)at, have);
		return false;
	}
	r->space->pointer[lane] = (char *)(uintptr_t)r->launch->params + at;
	return true;
}

static bool generic_lane(struct run *r, const struct ptx_ins *i, unsigned lane, unsigned bytes,
			 bool write, bool atomic)
{
	u64 *a = &r->space->address[lane];

	if (*a - PTX_LOCAL_WINDOW < PTX_WINDOW_BYTES)
		return local_lane(r, lane, *a - PTX_LOCAL_WINDOW, bytes);
	if (*a - PTX_PARAM_WINDOW < PTX_WINDOW_BYTES)
		return param_lane(r, lane, *a - PTX_PARAM_WINDOW, bytes, write);
	if (*a - PTX_SHARED_WINDOW < PTX_WINDOW_BYTES) {
		*a -= PTX_SHARED_WINDOW;
		return shared_lane(r, lane, bytes) && (!r->host->race || (i->exempt && !atomic) ||
						       watch(r, lane, *a, bytes, write, atomic));
	}
	return global_lane(r, lane, bytes, write);
}

static bool each_lane(struct run *r, const struct ptx_ins *i, unsigned bytes, bool write,
		      bool atomic)
{
	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);
		u64 a = r->space->address[l];
		bool good = i->space == SPACE_LOCAL   ? local_lane(r, l, a, bytes)
			    : i->space == SPACE_PARAM ? param_lane(r, l, a, bytes, write)
						      : generic_lane(r, i, l, bytes, write, atomic);

		if (!good)
			return false;
	}
	return true;
}

bool run_access(struct run *r, const struct ptx_ins *i, unsigned bytes, bool write, bool atomic)
{
	struct extent e = addresses(r, i);

	if (e.together & (bytes - 1) && misaligned(r, bytes))
		return false;
	switch (i->space) {
	case SPACE_GLOBAL:
	case SPACE_CONST:
		return global(r, e, bytes, write);
	case SPACE_SHARED:
		return shared(r, i, bytes, write, atomic);
	case SPACE_GENERIC:
		if (e.lowest >= PTX_SHARED_WINDOW + PTX_WINDOW_BYTES ||
		    e.highest < PTX_PARAM_WINDOW)
			return global(r, e, bytes, write);
		return each_lane(r, i, bytes, write, atomic);
	default:
		return each_lane(r, i, bytes, write, atomic);
	}
}
