/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_compact.c - slices of what a mask chooses, on the pool.
 *
 * Each block is looked at by itself; of ranks the sums are made when all counts of the slice are
 * there, from the last one of the slice before.  A block whose ranks do not say what its mask
 * says writes nothing: the run fails, since its client has told something wrong, or written a
 * value that it gave away. */
#include "call/compact.h"

#include <stdatomic.h>
#include <string.h>

#include "worker.h"

#define SERIAL_NS     50000	/* a slice predicted below this is not worth waking threads */
#define UNIT_ELEMENTS (1 << 16) /* that a thread takes at a time */

/* What the pool's threads see of the step. */
struct compact_step {
	const struct worker_call *x;
	struct compact_mask mask;
	struct compact_ranks ranks;
	struct compact_rows rows;
	struct compact_places places;
	void (*block)(struct compact_step *s, int64_t unit);
	int64_t grain; /* units that a thread takes at a time */
	atomic_bool wrong;
};

static void some_units(void *data, int thread, int64_t part)
{
	struct compact_step *s = data;
	int64_t lo = s->x->lo + part * s->grain;
	int64_t hi = s->x->hi - lo < s->grain ? s->x->hi : lo + s->grain;

	worker_unit_begin(s->x->w, s->x->cmd, thread);
	for (int64_t u = lo; u < hi && !bz_cancelled(&s->x->w->cancel); u++)
		s->block(s, u);
	worker_unit_end(s->x->w, thread);
}

static enum status run(struct compact_step *s, struct err *err)
{
	const struct worker_call *x = s->x;
	const struct call_row *row = call_row(x->call.call);
	int64_t parts = 0;
	struct call_units u;

	row->units(&u, &x->call, false);
	s->grain = UNIT_ELEMENTS / (int64_t)(u.work + 1) + 1;
	parts = (x->hi - x->lo + s->grain - 1) / s->grain;
	if (row->work_ns * (double)u.work * (double)(x->hi - x->lo) >= SERIAL_NS) {
		pool_run(x->w->pool, some_units, s, parts, worker_poll, x->w);
	} else {
		for (int64_t k = 0; k < parts; k++)
			some_units(s, 0, k);
	}
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	if (atomic_load(&s->wrong))
		return err_set(err, E_INVALID,
			       "a mask does not choose the %lld elements that its client said",
			       (long long)s->ranks.count);
	return OK;
}

/* ---- Ranks ---- */

static int64_t *rank_at(const struct compact_step *s, int64_t block)
{
	const struct worker_call *x = s->x;

	return (int64_t *)(void *)(x->base[RANKS_RESULT] +
				   block * x->call.operand[RANKS_RESULT].stride[1]);
}

static void count_block(struct compact_step *s, int64_t block)
{
	struct compact_bits b;

	compact_bits(&b, &s->mask, block);
	*rank_at(s, block) = b.count;
}

enum status worker_compact_ranks(const struct worker_call *x, struct err *err)
{
	struct compact_step s = {.x = x, .block = count_block};
	uint64_t sum = 0;
	enum status st = OK;

	compact_ranks_of(&s.mask, &x->call);
	s.mask.at = x->base[RANKS_MASK];
	st = run(&s, err);
	if (x->lo)
		sum = (uint64_t)*rank_at(&s, x->lo - 1);
	for (int64_t b = x->lo; b < x->hi && st == OK; b++) {
		sum += (uint64_t)*rank_at(&s, b);
		*rank_at(&s, b) = (int64_t)sum;
	}
	return st;
}

/* ---- Elements and places ---- */

/* Where the block's results begin; -1: nowhere. */
static int64_t begin(struct compact_step *s, struct compact_bits *b, int64_t block)
{
	int64_t at = 0;

	compact_bits(b, &s->mask, block);
	at = compact_begin(&s->ranks, block, b->count);
	if (at < 0)
		atomic_store(&s->wrong, true);
	return at;
}

static void choose_rows(struct compact_step *s, int64_t unit)
{
	struct compact_rows r = s->rows;
	int64_t lo = 0, hi = 0, block = compact_unit(&lo, &hi, &s->x->call, unit), at = 0;
	struct compact_bits b;

	at = begin(s, &b, block);
	r.inner = hi - lo;
	r.to += lo * r.to_inner;
	r.from += lo * r.from_inner;
	if (at >= 0)
		compact_rows(&r, &b, block, at);
}

/* Memory for the part of the result that the slice writes, by and large: what ranks say of it is
 * not believed for that. */
static void back_result(const struct compact_step *s, unsigned operand)
{
	const struct worker_call *x = s->x;
	struct call_units u;
	int64_t lo = 0, hi = 0;
	double each = 0;

	call_row(x->call.call)->units(&u, &x->call, false);
	call_range(&lo, &hi, &x->call, operand);
	each = (double)(hi - lo) / (double)u.total;
	hi = lo + (int64_t)(each * (double)x->hi);
	lo += (int64_t)(each * (double)x->lo);
	region_back(&x->w->regions, &x->place[operand], lo, hi);
}

enum status worker_compact(const struct worker_call *x, struct err *err)
{
	struct compact_step s = {.x = x, .block = choose_rows};

	compact_of(&s.mask, &s.ranks, &s.rows, &x->call);
	s.mask.at = x->base[COMPACT_MASK];
	s.ranks.at = x->base[COMPACT_RANKS];
	s.rows.from = x->base[COMPACT_SOURCE];
	s.rows.to = x->base[COMPACT_RESULT];
	back_result(&s, COMPACT_RESULT);
	return run(&s, err);
}

static void choose_places(struct compact_step *s, int64_t block)
{
	struct compact_bits b;
	int64_t at = begin(s, &b, block);

	if (at >= 0)
		compact_places(&s->places, &b, block, at);
}

enum status worker_compact_places(const struct worker_call *x, struct err *err)
{
	struct compact_step s = {.x = x, .block = choose_places};

	compact_places_of(&s.mask, &s.ranks, &s.places, &x->call);
	s.mask.at = x->base[PLACES_MASK];
	s.ranks.at = x->base[PLACES_RANKS];
	s.places.to = x->base[PLACES_RESULT];
	back_result(&s, PLACES_RESULT);
	return run(&s, err);
}
