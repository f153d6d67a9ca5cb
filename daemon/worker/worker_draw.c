/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_draw.c - a slice of random numbers on the pool: each unit jumps to its place. */
#include "call/draw.h"
#include "worker.h"

#define SERIAL_NS 30000 /* a slice predicted below this is not worth waking threads */

/* What the pool's threads see of the step. */
struct draw_step {
	const struct worker_call *x;
	draw_fn *fill;
	uint64_t state[DRAW_LENGTH]; /* read once: a client can scribble in the arena */
};

static void draw_unit(void *data, int thread, int64_t unit)
{
	const struct draw_step *s = data;
	const struct plan_call *c = &s->x->call;
	int64_t first = (s->x->lo + unit) * DRAW_UNIT, left = c->extent[0] - first;

	if (bz_cancelled(&s->x->w->cancel))
		return;
	worker_unit_begin(s->x->w, s->x->cmd, thread);
	s->fill(s->x->base[1] + first * c->operand[1].stride[0], s->state, (uint64_t)first,
		left < DRAW_UNIT ? left : DRAW_UNIT);
	worker_unit_end(s->x->w, thread);
}

enum status worker_draw(const struct worker_call *x, struct err *err)
{
	static const struct draw_isa *const isa[ISA_END] = {&draw_isa_v2, &draw_isa_v3,
							    &draw_isa_v4};
	const struct plan_call *c = &x->call;
	struct draw_step s = {.x = x};
	enum isa_level level = isa_best();
	int64_t units = x->hi - x->lo, bytes = c->operand[1].stride[0] * DRAW_UNIT;

	s.fill = draw_loop(isa[level < 0 ? 0 : level], c->op, c->dtype);
	for (int k = 0; k < DRAW_LENGTH; k++)
		memcpy(&s.state[k], x->base[0] + k * c->operand[0].stride[1], sizeof s.state[k]);
	region_back(&x->w->regions, &x->place[1], x->lo * bytes,
		    x->hi * DRAW_UNIT < c->extent[0] ? x->hi * bytes
						     : c->extent[0] * c->operand[1].stride[0]);
	if ((double)(units * DRAW_UNIT) * call_row(CALL_DRAW)->work_ns < SERIAL_NS) {
		for (int64_t k = 0; k < units; k++)
			draw_unit(&s, 0, k);
	} else {
		pool_run(x->w->pool, draw_unit, &s, units, worker_poll, x->w);
	}
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	return OK;
}
