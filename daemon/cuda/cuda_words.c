/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_words.c - the lanes' cancel words, CUDA_SLOTS of each.
 *
 * They lie in plain memory of the context: a driver may refuse to write words in a stream's
 * order to memory of a pool.  To free plain memory waits for all that runs, so the blocks stay
 * until the context ends.
 *
 * What must hold: a word that no run uses is 0. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "cuda_worker.h"

#define LANE_BYTES  (CUDA_SLOTS * sizeof(uint32_t))
#define BLOCK_LANES 256

struct words_block {
	struct words_block *next;
	CUdeviceptr at;
	bool taken[BLOCK_LANES];
};

static enum status block_open(struct cuda *c, struct words_block **out, struct err *err)
{
	CUdeviceptr at = 0;
	enum status st = cuda_context_check(c, c->api.cuMemAlloc_v2(&at, BLOCK_LANES * LANE_BYTES),
					    err, "cancel words");

	if (st == OK)
		st = cuda_context_check(
			c, c->api.cuMemsetD32Async(at, 0, BLOCK_LANES * CUDA_SLOTS, c->control),
			err, "clearing cancel words");
	if (st == OK)
		st = cuda_context_check(c, c->api.cuStreamSynchronize(c->control), err,
					"clearing cancel words");
	if (st != OK)
		return st; /* the memory, if any, ends with the context */
	*out = xcalloc(1, sizeof **out);
	(*out)->at = at;
	return OK;
}

enum status cuda_words_take(struct cuda *c, CUdeviceptr *out, struct err *err)
{
	struct words_block **b = &c->words.first;
	enum status st = OK;

	pthread_mutex_lock(&c->words.lock);
	for (*out = 0; st == OK && !*out; b = &(*b)->next) {
		if (!*b && (st = block_open(c, b, err)) != OK)
			break;
		for (unsigned i = 0; i < BLOCK_LANES && !*out; i++) {
			if ((*b)->taken[i])
				continue;
			(*b)->taken[i] = true;
			*out = (*b)->at + i * LANE_BYTES;
		}
	}
	pthread_mutex_unlock(&c->words.lock);
	return st;
}

void cuda_words_give(struct cuda *c, CUdeviceptr words)
{
	pthread_mutex_lock(&c->words.lock);
	for (struct words_block *b = c->words.first; b; b = b->next)
		if (words - b->at < BLOCK_LANES * LANE_BYTES)
			b->taken[(words - b->at) / LANE_BYTES] = false;
	pthread_mutex_unlock(&c->words.lock);
}

void cuda_words_finish(struct cuda *c)
{
	while (c->words.first) {
		struct words_block *b = c->words.first;

		cuda_context_expect(c, c->api.cuMemFree_v2(b->at), "cancel words");
		c->words.first = b->next;
		free(b);
	}
}
