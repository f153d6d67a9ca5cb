/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_sparse.c - a slice of a sparse matrix's product on the pool.
 *
 * Threads take stretches of rows in any order.  Where the structure names what is not there the run
 * fails: its client has told something wrong, or written a value that it gave away. */
#include "call/sparse.h"

#include <stdatomic.h>

#include "worker.h"

#define SERIAL_NS  50000 /* a slice predicted below this is not worth waking threads */
#define UNIT_TERMS 32768 /* that a thread takes at a time */

/* What the pool's threads see of the step. */
struct sparse_step {
	const struct worker_call *x;
	sparse_fn *loop;
	int64_t grain; /* units that a thread takes at a time */
	atomic_bool wrong;
};

static void some_units(void *data, int thread, int64_t part)
{
	struct sparse_step *s = data;
	const struct worker_call *x = s->x;
	int64_t lo = x->lo + part * s->grain;
	int64_t hi = x->hi - lo < s->grain ? x->hi : lo + s->grain;
	struct sparse_patch p;

	if (bz_cancelled(&x->w->cancel) || atomic_load(&s->wrong))
		return;
	worker_unit_begin(x->w, x->cmd, thread);
	sparse_of(&p, &x->call, lo, hi);
	p.entries = x->base[SPARSE_ENTRIES];
	p.structure = x->base[SPARSE_STRUCTURE];
	p.from = x->base[SPARSE_FROM];
	p.to = x->base[SPARSE_RESULT];
	if (!s->loop(&p))
		atomic_store(&s->wrong, true);
	worker_unit_end(x->w, thread);
}

enum status worker_sparse(const struct worker_call *x, struct err *err)
{
	static const struct sparse_isa *const isa[ISA_END] = {&sparse_isa_v2, &sparse_isa_v3,
							      &sparse_isa_v4};
	enum isa_level level = isa_best();
	struct sparse_step s = {.x = x};
	struct sparse_patch p;
	struct call_units u;
	int64_t parts = 0;

	call_row(CALL_SPARSE)->units(&u, &x->call, false);
	sparse_of(&p, &x->call, x->lo, x->hi);
	s.loop = sparse_loop(isa[level < 0 ? 0 : level], x->call.operand[SPARSE_STRUCTURE].dtype,
			     x->call.dtype);
	s.grain = UNIT_TERMS / (int64_t)(u.work < UNIT_TERMS ? u.work : UNIT_TERMS);
	parts = (x->hi - x->lo + s.grain - 1) / s.grain;
	region_back(&x->w->regions, &x->place[SPARSE_RESULT], p.lo * p.to_row, p.hi * p.to_row);
	if (call_row(CALL_SPARSE)->work_ns * (double)u.work * (double)(x->hi - x->lo) >=
	    SERIAL_NS) {
		pool_run(x->w->pool, some_units, &s, parts, worker_poll, x->w);
	} else {
		for (int64_t k = 0; k < parts; k++)
			some_units(&s, 0, k);
	}
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	if (atomic_load(&s.wrong))
		return err_set(err, E_INVALID,
			       "a sparse matrix's structure names columns beyond its %lld, or rows "
			       "that do not follow each other",
			       (long long)p.inner);
	return OK;
}
