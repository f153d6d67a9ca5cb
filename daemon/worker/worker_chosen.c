/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_chosen.c - slices of a reduction of what a mask chooses, on the pool.
 *
 * A chunk of the tree takes its elements from as many blocks of the mask as it needs, into a
 * buffer, which the interpreter's tree goes over as if it were the compacted array.  The chunks'
 * values are kept until the last slice joins them.
 *
 * A client can write mask and ranks meanwhile: what they say is held against each other block by
 * block, and leads nowhere outside of the buffer. */
#include "call/chosen.h"

#include <stdatomic.h>
#include <string.h>

#include "loops/tier0_ops.h"
#include "worker.h"

#define SERIAL_NS 50000 /* a slice predicted below this is not worth waking threads */
#define PIECE	  512	/* elements of a register of the interpreter */
#define BREATH	  512	/* blocks of a mask that chooses little, between two looks around */
#define ROOM	  (TREE_BLOCK + RANK_BLOCK + 64)
#define WIDEST	  16 /* bytes of an element */

/* What the pool's threads see of the step. */
struct chosen_step {
	const struct worker_call *x;
	const struct tier0_isa *isa;
	const struct tier0_red *red;
	struct compact_mask mask;
	struct compact_ranks ranks;
	struct compact_rows rows; /* from the source */
	unsigned source, tree;	  /* types */
	struct bz_acc *part;	  /* of each chunk */
	atomic_bool wrong;
};

/* A thread's memory. */
struct chosen_scratch {
	char state[TIER0_STATE_BYTES] __attribute__((aligned(64)));
	char cast[2][PIECE * WIDEST] __attribute__((aligned(64)));
	char chosen[ROOM * WIDEST] __attribute__((aligned(64)));
};

/* A chunk under way. */
struct chunk {
	struct chosen_scratch *m;
	int64_t have;	     /* elements in the buffer */
	int64_t done, total; /* those before them in the chunk, and all of it */
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t rank_at(const struct chosen_step *s, int64_t block)
{
	int64_t v = 0;

	if (block >= 0)
		memcpy(&v, s->ranks.at + block * s->ranks.step, sizeof v);
	return v;
}

/* ---- Elements to the tree ---- */

/* n of them in the tree's type; a register at most. */
static const char *cast(const struct chosen_step *s, struct chosen_scratch *m, const char *x,
			int64_t n)
{
	unsigned loop = s->x->call.dtype;

	if (s->source != loop && s->source != s->tree) {
		s->isa->cast[s->source][loop](m->cast[0], x, x, x, n);
		x = m->cast[0];
	} else {
		loop = s->source;
	}
	if (loop != s->tree) {
		s->isa->cast[loop][s->tree](m->cast[1], x, x, x, n);
		x = m->cast[1];
	}
	return x;
}

/* Whole blocks of the tree, and the rest where the chunk ends by it. */
static void reduce_buffer(const struct chosen_step *s, struct chunk *c)
{
	int64_t bytes = dtype_row(s->source)->bytes, at = 0;

	while (c->have - at >= TREE_BLOCK || (c->done + c->have == c->total && c->have > at)) {
		int64_t n = least(c->have - at, TREE_BLOCK);

		for (int64_t e = 0; e < n; e += PIECE) {
			int64_t some = least(n - e, PIECE);

			s->red->step(c->m->state,
				     cast(s, c->m, c->m->chosen + (at + e) * bytes, some), some,
				     c->done + at + e);
		}
		s->red->block(c->m->state);
		at += n;
		if (n < TREE_BLOCK)
			break;
	}
	c->done += at;
	c->have -= at;
	memmove(c->m->chosen, c->m->chosen + at * bytes, (size_t)(c->have * bytes));
}

/* What the mask chooses in this block, of which so many are an earlier chunk's. */
static bool take_block(struct chosen_step *s, struct chunk *c, int64_t block, int64_t first)
{
	int64_t bytes = dtype_row(s->source)->bytes, begin = 0, skip = 0;
	struct compact_rows rows = s->rows;
	struct compact_bits b;
	char *to = c->m->chosen + c->have * bytes;

	compact_bits(&b, &s->mask, block);
	begin = compact_begin(&s->ranks, block, b.count);
	if (begin < 0)
		return false;
	rows.to = to;
	compact_rows(&rows, &b, block, 0);
	/* The bytes of bools are the client's: any that is not 0 is true. */
	for (int64_t k = 0; k < b.count && s->source == DT_BOOL; k++)
		to[k] = to[k] != 0;
	skip = begin < first ? least(first - begin, b.count) : 0;
	memmove(to, to + skip * bytes, (size_t)((b.count - skip) * bytes));
	c->have = least(c->have + b.count - skip, c->total - c->done);
	reduce_buffer(s, c);
	return true;
}

/* The block that element `first` of the result is chosen in. */
static int64_t find_block(const struct chosen_step *s, int64_t first)
{
	int64_t lo = 0, hi = s->ranks.blocks - 1;

	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;

		if (rank_at(s, mid) > first)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void look_around(const struct chosen_step *s, int thread)
{
	struct worker *w = s->x->w;

	worker_unit_end(w, thread);
	if (thread == 0) /* the command thread */
		worker_poll(w);
	worker_unit_begin(w, s->x->cmd, thread);
}

static void reduce_chunk(struct chosen_step *s, int thread, int64_t chunk)
{
	int64_t first = chunk * TREE_CHUNK, block = 0;
	struct chunk c = {.m = s->x->w->thread[thread].scratch,
			  .total = least(TREE_CHUNK, s->ranks.count - first)};

	if (c.total <= 0)
		return;
	s->red->init(c.m->state);
	block = find_block(s, first);
	for (int64_t k = 0; c.done < c.total && !bz_cancelled(&s->x->w->cancel); k++, block++) {
		if (block == s->ranks.blocks || !take_block(s, &c, block, first)) {
			atomic_store(&s->wrong, true);
			return;
		}
		if (k % BREATH == BREATH - 1)
			look_around(s, thread);
	}
	s->red->end(c.m->state, c.total, &s->part[chunk]);
}

/* ---- The step ---- */

static void one_unit(void *data, int thread, int64_t unit)
{
	struct chosen_step *s = data;
	struct worker *w = s->x->w;

	if (bz_cancelled(&w->cancel))
		return;
	worker_unit_begin(w, s->x->cmd, thread);
	reduce_chunk(s, thread, s->x->lo + unit);
	worker_unit_end(w, thread);
}

/* The chunks' values joined, as the result's element. */
static void finish(struct chosen_step *s)
{
	struct chosen_scratch *m = s->x->w->thread[0].scratch;
	unsigned made = s->x->call.operand[CHOSEN_RESULT].dtype;
	char *x = m->cast[0];
	struct bz_acc acc;

	s->red->init(m->state);
	for (int64_t k = 0; k * TREE_CHUNK < s->ranks.count; k++)
		s->red->join(m->state, &s->part[k]);
	s->red->end(m->state, s->ranks.count, &acc);
	s->red->put(&acc, x);
	if (made == DT_FLOAT16) {
		s->isa->cast[DT_FLOAT32][DT_FLOAT16](m->cast[1], x, x, x, 1);
		x = m->cast[1];
	}
	memcpy(s->x->base[CHOSEN_RESULT], x, dtype_row(made)->bytes);
}

static void prepare(struct chosen_step *s)
{
	const struct worker_call *x = s->x;
	const struct plan_call *c = &x->call;

	chosen_of(&s->mask, &s->ranks, c);
	s->mask.at = x->base[CHOSEN_MASK];
	s->ranks.at = x->base[CHOSEN_RANKS];
	s->ranks.count = rank_at(s, s->ranks.blocks - 1);
	s->source = c->operand[CHOSEN_SOURCE].dtype;
	s->rows = (struct compact_rows){
		.from = x->base[CHOSEN_SOURCE],
		.to_step = dtype_row(s->source)->bytes,
		.from_step = c->operand[CHOSEN_SOURCE].stride[CHOSEN_LOOP_MASK],
		.inner = 1,
		.bytes = dtype_row(s->source)->bytes,
	};
	s->isa = tier0_table(isa_best());
	s->red = &s->isa->red[chosen_tree(&s->tree, c->op, c->dtype)][s->tree];
}

/* The values of all chunks: made by the first slice, freed by the last. */
static enum status take_parts(struct chosen_step *s, struct worker_part **part, int64_t total,
			      struct err *err)
{
	const struct worker_call *x = s->x;

	*part = worker_part_find(x->w, x->cmd->index);
	if (!x->lo && *part)
		worker_part_free(x->w, *part);
	if (!x->lo)
		*part = worker_part_create(x->w, x->cmd->index, total);
	if (!*part && !x->lo)
		return err_set(err, E_NOMEM, "no memory for %lld partial results",
			       (long long)total);
	if (!*part || (*part)->count != (size_t)total)
		return err_set(err, E_INTERNAL, "a slice of step %u came without its first",
			       x->cmd->index);
	s->part = (*part)->acc;
	return OK;
}

static enum status run(struct chosen_step *s, struct err *err)
{
	const struct worker_call *x = s->x;
	const struct call_row *row = call_row(CALL_CHOSEN);
	int64_t units = x->hi - x->lo;

	if (row->work_ns * (double)(units * TREE_CHUNK) >= SERIAL_NS && units > 1) {
		pool_run(x->w->pool, one_unit, s, units, worker_poll, x->w);
	} else {
		for (int64_t u = 0; u < units; u++)
			one_unit(s, 0, u);
	}
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	if (atomic_load(&s->wrong))
		return err_set(err, E_INVALID,
			       "a mask does not choose the elements that its "
			       "ranks say");
	return OK;
}

enum status worker_chosen(const struct worker_call *x, struct err *err)
{
	struct chosen_step s = {.x = x};
	struct worker_part *part = NULL;
	struct call_units u;
	enum status st = worker_scratch_grow(x->w, sizeof(struct chosen_scratch), err);

	if (st)
		return st;
	call_row(CALL_CHOSEN)->units(&u, &x->call, false);
	prepare(&s);
	if (s.ranks.count < 0 || s.ranks.count > s.mask.n)
		return err_set(err, E_INVALID, "ranks that say %lld of %lld elements",
			       (long long)s.ranks.count, (long long)s.mask.n);
	st = take_parts(&s, &part, u.total, err);
	if (!st)
		st = run(&s, err);
	if (!st && x->hi == u.total)
		finish(&s);
	if (part && (st || x->hi == u.total))
		worker_part_free(x->w, part);
	return st;
}
