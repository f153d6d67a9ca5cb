/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_order.h - which steps of a volley must follow which, and on which of a
 * lane's streams each of them is launched.
 *
 * Pure: no driver, no memory of the device, any thread.  In: for each step, in the order
 * of the plan, the bytes that it touches and the size of its launches.  Out: the steps
 * that it must follow directly, and its stream.
 *
 * Two steps keep their order when bytes of one overlap bytes that the other writes: read
 * after write, write after read, write after write.  Only addresses are compared, so
 * temporaries that share storage are ordered like everything else.
 *
 *   cuda_order_clear(&o);
 *   for each step: cuda_order_add(&o, range, nrange, blocks, turns);
 *   used = cuda_order_spread(&o, multiprocessors * CUDA_BLOCKS_PER_UNIT);
 *   o.step[i].after, o.step[i].stream ... */
#ifndef BRAZE_CUDA_ORDER_H
#define BRAZE_CUDA_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define CUDA_ORDER_STEPS   128 /* at most */
#define CUDA_ORDER_STREAMS 4
/* Elements one after the other that a thread works on: a step of fewer is over in less
 * time than an event and a wait take.  (A graph's edges cost nothing.) */
#define CUDA_ORDER_TURNS 64

/* Bytes [lo, hi) of the device. */
struct cuda_order_range {
	uint64_t lo, hi;
	bool write;
};

struct cuda_order_set {
	uint64_t word[CUDA_ORDER_STEPS / 64];
};

struct cuda_order_step {
	struct cuda_order_set after;  /* steps it must follow; not those they follow */
	struct cuda_order_set behind; /* all that come before it by these */
	uint32_t range, nrange;	      /* in `range` of the whole */
	uint32_t blocks;
	uint64_t turns;
	uint32_t stream; /* 0: the lane's own */
};

struct cuda_order {
	uint32_t n, nrange, cap;
	struct cuda_order_step step[CUDA_ORDER_STEPS];
	struct cuda_order_range *range; /* owned */
};

static inline bool cuda_order_has(const struct cuda_order_set *s, uint32_t i)
{
	return s->word[i / 64] >> (i % 64) & 1;
}

void cuda_order_clear(struct cuda_order *o);
void cuda_order_finish(struct cuda_order *o);
/* The next step; there is room. */
void cuda_order_add(struct cuda_order *o, const struct cuda_order_range *range, uint32_t n,
		    uint32_t blocks, uint64_t turns);
/* Choose the streams; how many are used.  1: nothing is won by more.  blocks: that the
 * device holds at once. */
uint32_t cuda_order_spread(struct cuda_order *o, uint64_t blocks);

#endif
