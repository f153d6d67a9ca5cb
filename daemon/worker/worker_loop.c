/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_loop.c - steps turned over and over, each turn with places and immediates of its
 * own.  Every step is checked again in every turn, as if it had come by itself. */
#include <stdlib.h>
#include <string.h>

#include "steps.h"
#include "worker.h"

/* Address of patch p in a turn. */
static struct command_place place_in(const struct steps_loop *l, uint32_t turn,
				     const struct command_patch *p)
{
	const struct command_loop *c = l->loop;
	struct command_place at = l->place[(size_t)(turn % c->nplace) * c->nslot + p->slot];
	int64_t far = 0;

	/* What overflows lies outside of every region. */
	if (__builtin_mul_overflow((int64_t)turn, p->move, &far) ||
	    __builtin_add_overflow(far, p->offset, &far) ||
	    __builtin_add_overflow(at.offset, far, &at.offset))
		at.region = 0;
	return at;
}

/* The extents of step i in a turn. */
static void patch_sizes(char *step, const struct steps_loop *l, uint32_t turn, uint32_t i)
{
	const int64_t *size = l->size + (size_t)turn * l->loop->nsize;
	struct command_step *s = (struct command_step *)step;
	char *extent = step + ((const char *)steps_operands(s).extent - step);

	if (s->kind == STEP_CALL)
		extent += offsetof(struct plan_call, extent);
	for (unsigned k = 0; k < LIMIT_NDIM; k++)
		if (l->loops[i * LIMIT_NDIM + k])
			memcpy(extent + k * sizeof *size, &size[l->loops[i * LIMIT_NDIM + k] - 1],
			       sizeof *size);
	s->whole = 1;
}

/* Steps as they are in a turn. */
static void patch_turn(char *step, const struct steps_loop *l, uint32_t turn)
{
	const uint64_t *imm = l->imm + (size_t)(turn % l->loop->nrow) * l->loop->nimm * 2;
	const struct command_patch *p = l->patch;
	const uint32_t *scalar = l->scalar;

	for (uint32_t i = 0; i < l->loop->nstep; i++) {
		struct command_step *s = (struct command_step *)step;
		struct command_place *place = (struct command_place *)(s + 1);
		const struct steps_operands o = steps_operands(s);
		char *to = step + ((const char *)o.scalar - step);

		s->turn += turn != 0;
		for (uint32_t a = 0; a < s->naccess; a++)
			place[a] = place_in(l, turn, p++);
		for (uint32_t k = 0; s->kind == STEP_KERNEL && k < s->nscalar; k++)
			memcpy(to + 16 * k, imm + 2 * (size_t)*scalar++, 16);
		if (l->loops)
			patch_sizes(step, l, turn, i);
		step += s->bytes;
	}
}

static enum status run_turn(struct worker *w, const char *step, uint32_t nstep, struct err *err)
{
	for (uint32_t i = 0; i < nstep; i++) {
		const struct command_step *s = (const struct command_step *)step;
		enum status st = OK;

		if (bz_cancelled(&w->cancel))
			return err_set(err, E_CANCELLED, "cancelled before step %u", s->index);
		w->progress->thread[0].step = s->index;
		w->progress->thread[0].kernel = s->kernel;
		st = worker_step(w, s, err);
		if (st != OK)
			return st;
		step += s->bytes;
		worker_poll_step(w);
	}
	return OK;
}

enum status worker_loop(struct worker *w, const char *at, const char *end, struct err *err)
{
	struct steps_loop l;
	enum status st = steps_loop(&l, at, end, err);
	size_t bytes = 0;
	char *step = NULL;

	if (st != OK)
		return st;
	bytes = (size_t)(at + l.loop->bytes - l.step);
	step = malloc(bytes + 1);
	if (!step)
		return err_set(err, E_NOMEM, "no memory for the steps of a loop");
	memcpy(step, l.step, bytes);
	for (uint32_t turn = 0; turn < l.loop->turns && st == OK; turn++) {
		patch_turn(step, &l, turn);
		st = run_turn(w, step, l.loop->nstep, err);
	}
	free(step);
	return st;
}
