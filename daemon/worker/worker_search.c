/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_search.c - a slice of a search on the pool.
 *
 * Threads take stretches of needles in any order.  What is searched may be written by its client
 * meanwhile: places are then wrong, but inside (kernels/loops/search.h). */
#include "call/search.h"
#include "worker.h"

#define SERIAL_NS  50000 /* a slice predicted below this is not worth waking threads */
#define UNIT_STEPS 60000 /* that a thread takes at a time */

/* What the pool's threads see of the step. */
struct search_step {
	const struct worker_call *x;
	search_fn *loop;
	int64_t grain; /* units that a thread takes at a time */
};

static void some_units(void *data, int thread, int64_t part)
{
	const struct search_step *s = data;
	const struct worker_call *x = s->x;
	int64_t lo = x->lo + part * s->grain, first = 0;
	int64_t hi = x->hi - lo < s->grain ? x->hi : lo + s->grain;
	struct search_patch p;

	if (bz_cancelled(&x->w->cancel))
		return;
	worker_unit_begin(x->w, x->cmd, thread);
	first = search_of(&p, &x->call, lo, hi);
	p.among = x->base[SEARCH_AMONG];
	p.from = x->base[SEARCH_NEEDLES] + first * p.from_step;
	p.to = (int64_t *)(void *)x->base[SEARCH_RESULT] + first;
	p.made = (double *)(void *)x->base[SEARCH_RESULT] + first;
	p.values = x->call.call == CALL_INTERP ? x->base[SEARCH_VALUES] : NULL;
	s->loop(&p);
	worker_unit_end(x->w, thread);
}

enum status worker_search(const struct worker_call *x, struct err *err)
{
	static const struct search_isa *const isa[ISA_END] = {&search_isa_v2, &search_isa_v3,
							      &search_isa_v4};
	enum isa_level level = isa_best();
	struct search_step s = {.x = x};
	struct search_patch p;
	struct call_units u;
	int64_t first = search_of(&p, &x->call, x->lo, x->hi), parts = 0;

	call_row(x->call.call)->units(&u, &x->call, false);
	s.loop = search_loop(isa[level < 0 ? 0 : level], x->call.op, x->call.dtype);
	s.grain = UNIT_STEPS / (int64_t)u.work + 1;
	parts = (x->hi - x->lo + s.grain - 1) / s.grain;
	region_back(&x->w->regions, &x->place[SEARCH_RESULT], first * 8, (first + p.m) * 8);
	if (call_row(CALL_SEARCH)->work_ns * (double)u.work * (double)(x->hi - x->lo) >=
	    SERIAL_NS) {
		pool_run(x->w->pool, some_units, &s, parts, worker_poll, x->w);
	} else {
		for (int64_t k = 0; k < parts; k++)
			some_units(&s, 0, k);
	}
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	return OK;
}

/* Values on lines are found by the same threads in the same stretches. */
enum status worker_search_lines(const struct worker_call *x, struct err *err)
{
	return worker_search(x, err);
}
