/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_step.c - one step on the pool.
 *
 * Maps and reductions with many points are cut by points, reductions to few points
 * by chunks of the summation tree, whose accumulators are combined at the end.  How a
 * step is cut never shows in its bits. */
#define _GNU_SOURCE /* gettid */
#include "pages.h"
#include "steps.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_NS	     500 /* what a step takes besides its loops */
#define TELLING	     512 /* a run of fewer elements tells nothing of what one takes */
#define CHUNK_MIN    4096
#define CHUNK_MAX    65536
#define UNIT_NS	     5e6       /* a unit predicted longer than this is made smaller */
#define PER_THREAD   8	       /* units a thread should find */
#define JOINED_UNITS 4	       /* likewise, so that they are made of rows that go together */
#define COLUMN_UNITS 2	       /* likewise of tiles of columns */
#define TILE_UNIT_NS 2e7       /* likewise of a tile of columns, which costs by its rows */
#define STRIP_LINES  8	       /* of a row of a gather that a thread takes, at least */
#define STRIP_ROWS   1024      /* of a group, about, at least: those that share lines */
#define LONG_UNIT_NS 1e8       /* a point that is predicted longer is cut by chunks if it can be */
#define PARTS_MOST   (1 << 19) /* accumulators that a slice keeps for that */

/* What the pool's threads see of the step. */
struct step {
	struct worker *w;
	const struct command_step *cmd;
	const struct kernel_entry *entry;
	struct bz_args args;
	int64_t lo, hi;		 /* points */
	int64_t clo, chi;	 /* chunks of the reduced points, where cut by them */
	int64_t chunks;		 /* of each point */
	int64_t each;		 /* elements of each point */
	int64_t grain;		 /* points of a unit */
	int64_t across;		 /* units that have a row's points among them (strips_unit) */
	int64_t group;		 /* rows of such a unit */
	double point_ns;	 /* of one thread, as predicted */
	struct bz_acc *part;	 /* accumulators of point 0, chunk 0 */
	int64_t elements;	 /* points, reduced ones counted too */
	int64_t timed, timed_ns; /* elements that the command thread did, and their time */
	char *base[LIMIT_NEST_ACCESSES]; /* it and what follows: as far as the kernel has any */
	uint64_t error[LIMIT_NEST_CHECKS];
};

void worker_unit_begin(struct worker *w, const struct command_step *cmd, int thread)
{
	struct progress *p = w->progress;

	if (thread == 0)
		return; /* the command thread's row is kept by the run */
	if (!p->thread[thread].tid)
		p->thread[thread].tid = (uint32_t)gettid();
	p->thread[thread].step = cmd->index;
	p->thread[thread].kernel = cmd->kernel;
	p->thread[thread].ticket = w->ticket;
}

void worker_unit_end(struct worker *w, int thread)
{
	w->progress->thread[thread].turns++;
	if (thread != 0)
		w->progress->thread[thread].ticket = 0;
}

/* Only the command thread takes times, so nothing here needs a lock; of short steps it
 * takes none. */
static int64_t time_begin(const struct step *s, int thread)
{
	return thread == 0 && s->elements >= TELLING ? worker_clock() : 0;
}

static void time_end(struct step *s, int thread, int64_t begin, int64_t elements)
{
	if (!begin)
		return;
	s->timed += elements;
	s->timed_ns += worker_clock() - begin;
}

static void points_unit(void *data, int thread, int64_t unit)
{
	struct step *s = data;
	int64_t lo = s->lo + unit * s->grain;
	int64_t hi = s->hi - lo < s->grain ? s->hi : lo + s->grain;
	void *scratch = s->w->thread[thread].scratch;
	int64_t begin = time_begin(s, thread);

	if (bz_cancelled(&s->w->cancel))
		return;
	worker_unit_begin(s->w, s->cmd, thread);
	if (s->cmd->nred == 0)
		kernels_map(s->entry, &s->args, lo, hi, scratch);
	else
		kernels_reduce(s->entry, &s->args, lo, hi, 0, s->chi, NULL, scratch);
	worker_unit_end(s->w, thread);
	time_end(s, thread, begin, (hi - lo) * s->each);
}

static void chunk_unit(void *data, int thread, int64_t unit)
{
	struct step *s = data;
	int64_t chunks = s->chi - s->clo;
	int64_t p = s->lo + unit / chunks * s->grain, c = s->clo + unit % chunks;
	int64_t n = s->hi - p < s->grain ? s->hi - p : s->grain;
	int64_t rest = s->each - c * TREE_CHUNK, begin = time_begin(s, thread);

	if (bz_cancelled(&s->w->cancel))
		return;
	worker_unit_begin(s->w, s->cmd, thread);
	kernels_reduce(s->entry, &s->args, p, p + n, c, c + 1, s->part,
		       s->w->thread[thread].scratch);
	worker_unit_end(s->w, thread);
	time_end(s, thread, begin, n * (rest < TREE_CHUNK ? rest : TREE_CHUNK));
}

/* Run the units on all threads, or here alone where that is quicker. */
static enum status spread(struct step *s, pool_fn *fn, int64_t units, double ns, struct err *err)
{
	if (pool_worth(s->w->pool, ns)) {
		pool_run(s->w->pool, fn, s, units, worker_poll, s->w);
	} else {
		for (int64_t u = 0; u < units; u++) {
			fn(s, 0, u);
			if (units > 1)
				worker_poll(s->w);
		}
		s->w->unpolled_ns += ns + STEP_NS;
	}
	if (bz_cancelled(&s->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", s->cmd->index);
	return OK;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

/* Do vectors run along points of which each is reduced through rows?  Such a step goes
 * fast through tiles of points only, whether whole columns or chunks of them. */
static bool by_columns(const struct step *s)
{
	return s->entry->spec->nred > 0 && s->entry->spec->vec < s->entry->spec->npar;
}

/* Points of a unit that goes through `each` reduced points of every one: enough to be
 * worth a claim, few enough that a cancel is seen soon and no thread is left with a long
 * last one; `share`: what a thread should find at once. */
static int64_t grain_points(const struct step *s, int64_t share, int64_t each)
{
	int64_t width = s->entry->spec->width, least = KERNEL_TILE_LEAST * width;
	int64_t tile = KERNEL_TILE_VECTORS * width;
	double most = UNIT_NS / s->point_ns;
	int64_t max = most < CHUNK_MAX ? (int64_t)most : CHUNK_MAX;
	int64_t min = max < CHUNK_MIN ? max : CHUNK_MIN;

	each = each > 1 ? each : 1;
	if (!by_columns(s)) {
		share = clamp(share, min / each, max / each);
		return share > 1 ? share : 1;
	}
	if (share / tile > 1 && each * tile < max) /* of few rows, tiles side by side */
		return clamp(share / tile, 1, max / each / tile) * tile;
	/* A wide tile is worth more than an even end. */
	share = clamp((share * (PER_THREAD / COLUMN_UNITS) / least + 1) * least, least, tile);
	/* A row of a whole tile is short work: the time of a unit is that of its rows. */
	most = TILE_UNIT_NS / s->point_ns / (double)each;
	if (most < (double)share)
		share = clamp((int64_t)most / width * width, width, share);
	return share;
}

static enum status step_points(struct step *s, struct err *err)
{
	int64_t points = s->hi - s->lo, threads = pool_threads(s->w->pool);
	int64_t rows = s->cmd->nred ? kernels_together(s->entry, &s->args) : 1;

	s->grain = grain_points(s, points / (PER_THREAD * threads), s->each);
	if (rows > 1 && points >= JOINED_UNITS * threads * rows)
		s->grain = (s->grain + rows - 1) / rows * rows;
	return spread(s, points_unit, (points + s->grain - 1) / s->grain,
		      (double)s->elements * s->point_ns, err);
}

/* Points of the last loop, of all rows that the step has. */
static void strips_unit(void *data, int thread, int64_t unit)
{
	struct step *s = data;
	const struct kernel_entry *e = s->entry;
	int64_t row = s->args.extent[e->spec->npar - 1], from = unit % s->across * s->grain;
	int64_t to = row - from < s->grain ? row : from + s->grain;
	int64_t lo = s->lo / row + unit / s->across * s->group, hi = s->hi / row;
	int64_t begin = time_begin(s, thread);

	hi = hi - lo < s->group ? hi : lo + s->group;

	if (bz_cancelled(&s->w->cancel))
		return;
	worker_unit_begin(s->w, s->cmd, thread);
	take_nest_rows(&e->take, e->spec, &s->args, lo, hi, from, to);
	worker_unit_end(s->w, thread);
	time_end(s, thread, begin, (hi - lo) * (to - from));
}

static enum status step_part(struct step *s, int64_t lo, int64_t hi, struct err *err)
{
	s->lo = lo;
	s->hi = hi;
	s->elements = hi - lo;
	return lo < hi ? step_points(s, err) : OK;
}

/* A gather whose rows lie apart in the source: whole rows are shared so that each thread has a part
 * of all of them, and fetches a line for all places on it.  Where a slice cuts rows, these are
 * shared by points. */
static enum status step_strips(struct step *s, struct err *err)
{
	const struct kernel_entry *e = s->entry;
	int64_t row = s->args.extent[e->spec->npar - 1], lo = s->lo, hi = s->hi;
	int64_t first = (lo + row - 1) / row * row, end = hi / row * row, rows, line, share;
	int64_t threads = pool_threads(s->w->pool), groups;
	enum status st;

	if (first >= end)
		return step_points(s, err);
	st = step_part(s, lo, first, err);
	if (st == OK)
		st = step_part(s, end, hi, err);
	if (st != OK)
		return st;
	s->lo = first;
	s->hi = end;
	s->elements = end - first;
	line = take_nest_line(&e->take, e->spec);
	rows = s->elements / row;
	share = grain_points(s, s->elements / (PER_THREAD * threads), 1) / rows;
	s->grain = clamp(share / line, STRIP_LINES, row / line) * line;
	s->across = (row + s->grain - 1) / s->grain;
	/* Of short rows some at a time, so that every thread has something to do. */
	groups = clamp(COLUMN_UNITS * threads / s->across, 1, rows / STRIP_ROWS + 1);
	s->group = (rows + groups - 1) / groups;
	return spread(s, strips_unit, s->across * ((rows + s->group - 1) / s->group),
		      (double)s->elements * s->point_ns, err);
}

struct worker_part *worker_part_find(struct worker *w, uint32_t step)
{
	struct worker_part *p = w->parts;

	while (p && (p->job != TICKET_JOB(w->ticket) || p->step != step))
		p = p->next;
	return p;
}

struct worker_part *worker_part_create(struct worker *w, uint32_t step, int64_t count)
{
	size_t bytes = 0;
	struct worker_part *p = NULL;

	if (__builtin_mul_overflow((size_t)count, sizeof p->acc[0], &bytes))
		return NULL;
	p = malloc(sizeof *p + bytes);
	if (!p)
		return NULL;
	p->job = TICKET_JOB(w->ticket);
	p->step = step;
	p->count = (size_t)count;
	p->next = w->parts;
	w->parts = p;
	return p;
}

void worker_part_free(struct worker *w, struct worker_part *part)
{
	struct worker_part **at = &w->parts;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	free(part);
}

/* Chunks [clo, chi) of all points [lo, hi), and the end when `last`. */
static enum status step_chunks(struct step *s, bool first, bool last, struct err *err)
{
	struct worker *w = s->w;
	int64_t width = s->chunks * s->entry->nreduce;
	int64_t count = (s->hi - s->lo) * width;
	struct worker_part *part = worker_part_find(w, s->cmd->index);
	double ns = (double)s->elements * s->point_ns;
	int64_t points = s->hi - s->lo, each = clamp(s->each, 1, TREE_CHUNK);
	enum status st = OK;

	s->grain = grain_points(
		s, points * (s->chi - s->clo) / (PER_THREAD * pool_threads(w->pool)), each);
	if (!by_columns(s))
		s->grain = 1;
	if (first && part)
		worker_part_free(w, part);
	if (first)
		part = worker_part_create(w, s->cmd->index, count);
	if (!part && first)
		return err_set(err, E_NOMEM, "no memory for %lld partial results",
			       (long long)count);
	if (!part || part->count != (size_t)count)
		return err_set(err, E_INTERNAL, "a slice of step %u came without its first",
			       s->cmd->index);
	/* Kernels index by absolute point; the buffer begins with point lo. */
	s->part = (struct bz_acc *)((uintptr_t)part->acc -
				    (uintptr_t)(s->lo * width) * sizeof(struct bz_acc));
	st = spread(s, chunk_unit, (points + s->grain - 1) / s->grain * (s->chi - s->clo), ns, err);
	if (st == OK && last)
		kernels_combine(s->entry, &s->args, s->lo, s->hi, s->part, w->thread[0].scratch);
	if (st != OK || last)
		worker_part_free(w, part);
	return st;
}

/* Too few units of whole points to share out, or such long ones that nobody could tell
 * them from a hang. */
static bool chunks_pay(const struct step *s)
{
	int64_t points = s->hi - s->lo, share = PER_THREAD * pool_threads(s->w->pool);
	int64_t units =
		by_columns(s) ? points / (KERNEL_TILE_VECTORS * s->entry->spec->width) : points;

	if (s->chunks < 2 ||
	    (double)points * (double)s->chunks * s->entry->nreduce > (double)PARTS_MOST)
		return false;
	return units < share || (double)s->each * s->point_ns > LONG_UNIT_NS;
}

/* Address of every access, with the proof that all its points lie in the region. */
static enum status resolve(struct step *s, const struct command_place *place, struct err *err)
{
	const struct nest *n = s->entry->spec;

	for (uint32_t a = 0; a < n->naccess; a++) {
		int64_t lo = 0, hi = 0;
		enum status st = steps_reach(&lo, &hi, s->cmd, n, a, err);

		if (st == OK)
			st = region_resolve(&s->base[a], &s->w->regions, &place[a], lo, hi, err);
		if (st != OK)
			return st;
	}
	return OK;
}

/* Bytes that access a writes at each parallel point, reduced points and all, where these lie one
 * after the other in the points' order; else 0. */
static int64_t written_each(const struct step *s, const struct steps_operands *o, uint32_t a)
{
	const struct nest *n = s->entry->spec;
	const int64_t *stride = o->stride + a * 8;
	int64_t next = dtype_row(n->access[a].dtype)->bytes, each = next;

	if (n->access[a].gather)
		return 0;
	for (int l = s->cmd->npar + s->cmd->nred; l-- > 0;) {
		bool reduced = l >= s->cmd->npar;

		if (reduced && !stride[l])
			continue; /* written once for all of them */
		if (o->extent[l] != 1 && stride[l] != next)
			return 0;
		next *= o->extent[l];
		if (reduced)
			each = next;
	}
	return each;
}

/* Memory for what the slice writes. */
static void back_results(const struct step *s, const struct steps_operands *o)
{
	const struct nest *n = s->entry->spec;

	for (uint32_t a = 0; a < n->naccess; a++) {
		int64_t each = 0;

		/* Most steps are short, and no type has more than 16 bytes. */
		if (!n->access[a].write || (!s->cmd->nred && s->hi - s->lo < PAGES_LEAST / 16))
			continue;
		each = written_each(s, o, a);
		if ((s->hi - s->lo) * each >= PAGES_LEAST)
			region_back(&s->w->regions, &o->place[a], s->lo * each, s->hi * each);
	}
}

enum status worker_scratch_grow(struct worker *w, size_t bytes, struct err *err)
{
	if (bytes <= w->scratch_bytes)
		return OK;
	for (int i = 0; i < pool_threads(w->pool); i++) {
		void *mem = NULL;

		if (posix_memalign(&mem, 64, bytes) != 0)
			return err_set(err, E_NOMEM, "no memory for %zu bytes of scratch", bytes);
		free(w->thread[i].scratch);
		w->thread[i].scratch = mem;
	}
	w->scratch_bytes = bytes;
	return OK;
}

/* Learn what a point costs one thread. */
static void learn(struct kernel_entry *e, const struct step *s)
{
	if (s->timed >= TELLING)
		kernels_learn(e, s->cmd->shape, (double)s->timed_ns / (double)s->timed);
}

/* Does an access move along any of the loops [lo, hi)? */
static bool moves(const int64_t *stride, unsigned lo, unsigned hi)
{
	while (lo < hi && stride[lo] == 0)
		lo++;
	return lo < hi;
}

/* What a slice writes, or reads.  A map's stores move along all of its loops, a reduction's and its
 * phases' along the reduced ones or not; what is read by all parallel points alike counts once. */
static double slice_bytes(const struct nest *n, const struct steps_slice *cut,
			  const int64_t *stride, bool writes)
{
	double bytes = 0, points = (double)(cut->hi - cut->lo);

	for (uint32_t a = 0; a < n->naccess; a++) {
		const int64_t *own = stride + a * LIMIT_NDIM;
		double touched = moves(own, n->npar, (unsigned)n->npar + n->nred)
					 ? (double)cut->elements
					 : points;

		if (n->access[a].write != writes)
			continue;
		if (!writes && !moves(own, 0, n->npar))
			touched /= points;
		bytes += touched * dtype_row(n->access[a].dtype)->bytes;
	}
	return bytes;
}

/* What does not fit the caches. */
static uint64_t stream_of(const struct step *s, const struct steps_slice *cut,
			  const int64_t *stride)
{
	const struct nest *n = s->entry->spec;
	double most = (double)s->w->stream_bytes;
	/* Elements have at most 16 bytes: small slices are not looked at more closely. */
	if ((double)cut->elements * 16 * n->naccess <= most)
		return 0;

	bool past = slice_bytes(n, cut, stride, true) > most;
	bool far = n->nred > 0 && slice_bytes(n, cut, stride, false) > most;

	return (past ? KERNEL_PAST : 0) | (far ? s->w->far : 0);
}

/* What the checks of this slice found goes into the completion. */
static enum status keep_faults(const struct step *s, struct err *err)
{
	struct worker *w = s->w;

	for (unsigned c = 0; c < LIMIT_NEST_CHECKS; c++) {
		if (s->error[c] == KERNEL_GOOD)
			continue;
		if (w->nfault == COMMAND_FAULTS)
			return err_set(err, E_INTERNAL, "a run with more than %d faults",
				       COMMAND_FAULTS);
		w->fault[w->nfault++] = (struct command_fault){.step = s->cmd->index,
							       .check = (uint16_t)c,
							       .turn = s->cmd->turn,
							       .key = s->error[c]};
	}
	return OK;
}

static enum status run_kernel(struct step *s, struct kernel_entry *e, struct err *err)
{
	const struct command_step *c = s->cmd;
	const struct steps_operands o = steps_operands(c);
	struct steps_slice cut = {0};
	enum status st = steps_slice(&cut, c, err);

	if (st != OK || (st = resolve(s, o.place, err)) != OK ||
	    (st = worker_scratch_grow(s->w, e->scratch, err)) != OK)
		return st;
	s->args = (struct bz_args){.base = s->base,
				   .extent = o.extent,
				   .stride = o.stride,
				   .scalar = o.scalar,
				   .gather = o.gather,
				   .error = s->error,
				   .cancel = &s->w->cancel};
	if (e->checks)
		memset(s->error, 0xff, sizeof s->error);
	s->lo = cut.lo;
	s->hi = cut.hi;
	s->clo = cut.clo;
	s->chi = cut.chi;
	s->chunks = cut.chunks;
	s->each = cut.reduced;
	s->elements = cut.elements;
	s->point_ns = kernels_pace(e, c->shape);
	if (s->lo == s->hi)
		return OK;
	back_results(s, &o);
	s->args.stream = stream_of(s, &cut, o.stride);
	if (c->split)
		st = step_chunks(s, c->split & 1, c->split & 2, err);
	else if (chunks_pay(s))
		st = step_chunks(s, true, true, err);
	else if (take_nest_strips(&e->take, e->spec, &s->args))
		st = step_strips(s, err);
	else
		st = step_points(s, err);
	if (st == OK && e->checks)
		st = keep_faults(s, err);
	if (st == OK)
		learn(e, s);
	return st;
}

enum status worker_step(struct worker *w, const struct command_step *cmd, struct err *err)
{
	struct step s; /* its arrays are filled as far as the kernel uses them */
	struct kernel_entry *e = NULL;

	if (cmd->kind == STEP_CALL)
		return worker_call(w, cmd, err);
	if (cmd->kind == STEP_COPY)
		return worker_copy(w, cmd, err);
	if (cmd->kind != STEP_KERNEL)
		return err_set(err, E_INTERNAL, "step %u is of kind %u", cmd->index, cmd->kind);
	e = kernels_find(&w->kernels, cmd->kernel);
	if (!e)
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not loaded",
			       cmd->index, cmd->kernel);
	if (!steps_fit(cmd, e->spec))
		return err_set(err, E_INTERNAL, "step %u does not fit kernel %u", cmd->index,
			       cmd->kernel);
	memset(&s, 0, offsetof(struct step, base));
	s.w = w;
	s.cmd = cmd;
	s.entry = e;
	return run_kernel(&s, e, err);
}
