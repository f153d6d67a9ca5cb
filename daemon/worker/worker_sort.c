/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_sort.c - a slice of a sort on the pool.
 *
 * Threads take the units of a stage, of all its lanes, in any order; the next stage, which reads
 * what they have made, begins when all are done. */
#include "call/sort.h"
#include "worker.h"

#define SERIAL_NS 50000 /* a stage predicted below this is not worth waking threads */

/* What the pool's threads see of the step. */
struct sort_step {
	const struct worker_call *x;
	struct sort_call c;
	struct sort_cut cut;
	int64_t at; /* the stage's first unit here */
};

static void one_unit(void *data, int thread, int64_t unit)
{
	struct sort_step *s = data;
	struct worker *w = s->x->w;

	if (bz_cancelled(&w->cancel))
		return;
	worker_unit_begin(w, s->x->cmd, thread);
	sort_unit(&s->c, &s->cut, s->at + unit, w->thread[thread].scratch);
	worker_unit_end(w, thread);
}

static void stage(struct sort_step *s, int64_t end, double unit_ns)
{
	struct worker *w = s->x->w;
	int64_t units = end - s->at;

	if ((double)units * unit_ns >= SERIAL_NS) {
		pool_run(w->pool, one_unit, s, units, worker_poll, w);
		return;
	}
	for (int64_t u = 0; u < units; u++)
		one_unit(s, 0, u);
}

/* Memory for what short lanes write, where their units are in the result's order; for all of longer
 * ones, in the first slice. */
static void back_results(const struct sort_step *s)
{
	const struct plan_call *c = &s->x->call;
	int64_t bytes = dtype_row(c->operand[1].dtype)->bytes, lo = 0, hi = 0;
	double each = 0;

	call_range(&lo, &hi, c, 1);
	if (hi - lo != s->cut.lanes * s->cut.n * bytes || s->c.lanes.to_step != bytes)
		return;
	each = (double)(hi - lo) / (double)s->cut.units;
	hi = lo + (int64_t)(each * (double)s->x->hi);
	lo += (int64_t)(each * (double)s->x->lo);
	region_back(&s->x->w->regions, &s->x->place[1], lo, hi);
}

enum status worker_sort(const struct worker_call *x, struct err *err)
{
	static const struct sort_isa *const isa[ISA_END] = {&sort_isa_v2, &sort_isa_v3,
							    &sort_isa_v4};
	struct sort_step s = {.x = x};
	enum isa_level level = isa_best();
	enum status st = OK;
	double ns = 0;

	sort_of(&s.c, &s.cut, &x->call);
	st = worker_scratch_grow(x->w, (size_t)s.cut.work, err);
	if (st != OK)
		return st;
	s.c.isa = isa[level < 0 ? 0 : level];
	s.c.from = x->base[0];
	s.c.to = x->base[1];
	s.c.scratch = x->base[2];
	back_results(&s);
	ns = call_row(CALL_SORT)->work_ns * (double)sort_work(&x->call) / (double)s.cut.units;
	for (s.at = x->lo; s.at < x->hi;) {
		int64_t end = sort_stage(&s.cut, s.at);

		end = end < x->hi ? end : x->hi;
		stage(&s, end, ns);
		s.at = end;
		if (bz_cancelled(&x->w->cancel))
			return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	}
	return OK;
}
