/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_grid.c - a loop of a user's kernel: one launch of its own code (emit/emit_cuda_grid.c).
 *
 * What the turns are only the code knows; how many threads are worth having is guessed from the
 * hint of the operation, and each goes on to the next turn that nobody has. */
#include <string.h>

#include "call/grid.h"
#include "cuda_worker.h"

#define WAVES	  2 /* of blocks, at most */
#define TURN_WORK 4 /* instructions of a turn, at least */

/* The words of an operand's array. */
static unsigned put_array(uint64_t *word, const struct cuda_called *c, unsigned x)
{
	const struct call_operand *o = &c->call.operand[x];
	unsigned n = grid_axes(o);

	word[0] = c->base[x];
	for (unsigned k = 0; k < n; k++) {
		word[1 + k] = (uint64_t)c->call.extent[grid_loop(o, k)];
		word[1 + n + k] = (uint64_t)o->stride[grid_loop(o, k)];
	}
	return 1 + 2 * n;
}

/* All that the kernel is told but for its error's word; *bytes of it. */
static enum status put_args(struct cuda_grid_args *a, size_t *bytes, const struct cuda_run *run,
			    uint32_t i, const struct cuda_called *c, struct err *err)
{
	const struct command_step *s = run->step[i];
	unsigned words = 2u * c->call.nscalar, n = 0;
	struct call_units u;

	call_row(CALL_GRID)->units(&u, &c->call, true);
	a->lo = (uint64_t)c->lo;
	a->hi = (uint64_t)c->hi;
	a->total = (uint64_t)u.total;
	a->cancel = run->lane->slot[run->slot].cancel;
	for (unsigned x = 0; x < grid_arrays(&c->call); x++)
		words += 1 + 2 * grid_axes(&c->call.operand[x]);
	if (words > CUDA_GRID_WORDS)
		return err_set(err, E_INTERNAL, "step %u: a loop of %u words", s->index, words);
	for (unsigned x = 0; x < grid_arrays(&c->call); x++) {
		enum status st = cuda_call_aligned(c, x, err);

		if (st != OK)
			return st;
		n += put_array(a->word + n, c, x);
	}
	memcpy(a->word + n, steps_scalars(s), 2 * c->call.nscalar * sizeof *a->word);
	*bytes = offsetof(struct cuda_grid_args, word) + words * sizeof *a->word;
	return OK;
}

enum status cuda_grid_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			   struct err *err)
{
	uint64_t most = (uint64_t)run->lane->c->units * CUDA_BLOCKS_PER_UNIT * WAVES;
	uint64_t blocks = c->elements / (TURN_WORK * CUDA_THREADS) + 1;
	struct cuda_grid_args args;
	struct cuda_shot_facts f = {
		.threads = CUDA_THREADS, .block = &args, .range = c->range, .nrange = c->noperand};
	enum status st = OK;

	if (!run->kernel[i])
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       run->step[i]->index, run->step[i]->kernel);
	st = put_args(&args, &f.bytes, run, i, c, err);
	if (st == OK)
		st = cuda_step_word(&args.error, run, i, err);
	if (st != OK)
		return st;
	st = cuda_step_entry(&f.function, run, i, ENTRY_bz_grid, err);
	if (st != OK)
		return st;
	f.grid = (uint32_t)(blocks < most ? blocks : most);
	f.turns = c->elements / ((uint64_t)f.grid * CUDA_THREADS);
	cuda_step_shoot(run, i, &f);
	return OK;
}
