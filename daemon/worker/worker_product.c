/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_product.c - a slice of a matrix product on the pool.
 *
 * With tiles enough each thread takes whole ones.  Of few tiles the chunks are computed
 * apart from each other, as many at once as PARTS_BYTES holds, and then added to their
 * tiles in order.  Either way gives the same bits (call/product.h). */
#include "worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_BYTES (8u << 20)
#define STACK_WORK  200000 /* multiplications of a unit of a stack of small products */
#define STACK_ITEM  100	   /* what each product costs besides, in the same measure */
#define READ_ONCE   2	   /* a vector with a matrix waits for memory at each element */
#define PER_THREAD  4	   /* tiles that a thread should find, and pieces of them */

/* What the pool's threads see of the step. */
struct product_step {
	struct worker *w;
	const struct command_step *cmd;
	struct product p;
	struct product_cut cut;
	struct matmul_run run;
	int64_t lo, hi; /* units */
	double ns;	/* predicted */
	float *kept;	/* float16: sums of the first tile, of what came before */
	float *keep;	/* likewise of the last tile, for what comes after */
	float *left;	/* where the next slice looks for them */
	float *spare;
	size_t left_bytes;
	char *parts; /* products of the units [at, end) */
	size_t part_bytes;
	int64_t at, end;
	int64_t grain; /* units a thread takes at a time */
	pthread_mutex_t lock;
	struct err err; /* first failure of any thread */
};

static struct matmul_thread thread_of(struct product_step *s, int thread)
{
	struct matmul_thread t = {.scratch = &s->w->thread[thread].matmul};

	if (thread == 0) {
		t.poll = worker_poll;
		t.data = s->w;
	}
	return t;
}

static void failed(struct product_step *s, const struct err *err)
{
	pthread_mutex_lock(&s->lock);
	if (s->err.code == OK)
		s->err = *err;
	pthread_mutex_unlock(&s->lock);
}

/* The chunks of a tile that are among units [lo, hi), and where its sums are kept. */
static struct matmul_carry tile_chunks(const struct product_step *s, int64_t tile, int64_t lo,
				       int64_t hi, int64_t *clo, int64_t *chi)
{
	int64_t first = tile * s->cut.chunks;

	*clo = lo > first ? lo - first : 0;
	*chi = hi - first < s->cut.chunks ? hi - first : s->cut.chunks;
	return (struct matmul_carry){.from = s->kept, .to = s->keep};
}

static void tile_unit(void *data, int thread, int64_t unit)
{
	struct product_step *s = data;
	int64_t tile = s->lo / s->cut.chunks + unit, lo = 0, hi = 0;
	struct matmul_carry carry = tile_chunks(s, tile, s->lo, s->hi, &lo, &hi);
	struct matmul_thread t = thread_of(s, thread);
	struct err err = {0};

	if (bz_cancelled(&s->w->cancel))
		return;
	worker_unit_begin(s->w, s->cmd, thread);
	if (matmul_tile(&s->run, tile, lo, hi, &carry, &t, &err) != OK)
		failed(s, &err);
	worker_unit_end(s->w, thread);
}

/* Tiles of a stack of small products, many at a time. */
static void stack_unit(void *data, int thread, int64_t unit)
{
	struct product_step *s = data;
	int64_t lo = s->lo + unit * s->grain;
	int64_t hi = s->hi - lo < s->grain ? s->hi : lo + s->grain;
	struct matmul_thread t = thread_of(s, thread);
	struct err err = {0};

	if (bz_cancelled(&s->w->cancel))
		return;
	worker_unit_begin(s->w, s->cmd, thread);
	if (matmul_stack(&s->run, lo, hi, &t, &err) != OK)
		failed(s, &err);
	worker_unit_end(s->w, thread);
}

static void part_unit(void *data, int thread, int64_t unit)
{
	struct product_step *s = data;
	int64_t lo = s->at + unit * s->grain;
	int64_t hi = s->end - lo < s->grain ? s->end : lo + s->grain;
	struct matmul_thread t = thread_of(s, thread);
	struct err err = {0};

	worker_unit_begin(s->w, s->cmd, thread);
	for (int64_t u = lo; u < hi && !bz_cancelled(&s->w->cancel); u++) {
		if (matmul_part(&s->run, u / s->cut.chunks, u % s->cut.chunks,
				s->parts + (size_t)(u - s->at) * s->part_bytes, &t, &err) != OK) {
			failed(s, &err);
			break;
		}
	}
	worker_unit_end(s->w, thread);
}

/* Add what a round computed to its tiles. */
static void fold_unit(void *data, int thread, int64_t unit)
{
	struct product_step *s = data;
	int64_t tile = s->at / s->cut.chunks + unit, lo = 0, hi = 0;
	struct matmul_carry carry = tile_chunks(s, tile, s->at, s->end, &lo, &hi);
	struct matmul_thread t = thread_of(s, thread);
	struct err err = {0};

	if (bz_cancelled(&s->w->cancel))
		return;
	worker_unit_begin(s->w, s->cmd, thread);
	if (matmul_fold(&s->run, tile, lo, hi,
			s->parts + (size_t)(tile * s->cut.chunks + lo - s->at) * s->part_bytes,
			&carry, &t, &err) != OK)
		failed(s, &err);
	worker_unit_end(s->w, thread);
}

static enum status outcome(struct product_step *s, struct err *err)
{
	if (bz_cancelled(&s->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", s->cmd->index);
	if (s->err.code != OK)
		*err = s->err;
	return s->err.code;
}

/* On all threads, or here alone where that is quicker. */
static enum status spread(struct product_step *s, pool_fn *fn, int64_t units, struct err *err)
{
	if (pool_worth(s->w->pool, s->ns)) {
		pool_run(s->w->pool, fn, s, units, worker_poll, s->w);
	} else {
		for (int64_t u = 0; u < units; u++) {
			fn(s, 0, u);
			worker_poll(s->w);
		}
	}
	return outcome(s, err);
}

static int64_t tiles_of(const struct product_step *s, int64_t lo, int64_t hi)
{
	return (hi - 1) / s->cut.chunks - lo / s->cut.chunks + 1;
}

static enum status by_parts(struct product_step *s, struct err *err)
{
	int64_t most = (int64_t)(PARTS_BYTES / s->part_bytes), threads = pool_threads(s->w->pool);
	int64_t round = 0, from = s->lo;
	enum status st = OK;

	most = most > 2 * threads ? most : 2 * threads;
	round = s->hi - s->lo < most ? s->hi - s->lo : most;
	s->parts = aligned_alloc(64, (size_t)round * s->part_bytes);
	if (!s->parts)
		return err_set(err, E_NOMEM, "no memory for %lld partial products",
			       (long long)round);
	for (; from < s->hi && st == OK; from = s->end) {
		int64_t left = s->hi - from;

		s->at = from;
		s->end = left < round ? s->hi : from + round;
		s->grain = (s->end - s->at) / (PER_THREAD * threads) + 1;
		st = spread(s, part_unit, (s->end - s->at + s->grain - 1) / s->grain, err);
		if (st == OK)
			st = spread(s, fold_unit, tiles_of(s, s->at, s->end), err);
		if (s->keep) { /* for the next round */
			float *old = s->kept;

			s->kept = s->keep;
			s->keep = old ? old : s->spare;
		}
	}
	if (s->keep && s->kept != s->left)
		memcpy(s->left, s->kept, s->left_bytes);
	free(s->parts);
	return st;
}

/* float16: the sums that a slice leaves to the next. */
static enum status carry_open(struct product_step *s, struct worker_part **part, struct err *err)
{
	struct worker_part *p = worker_part_find(s->w, s->cmd->index);
	size_t count = matmul_part_bytes(&s->p, &s->cut) / sizeof p->acc[0] + 1;

	*part = p;
	if (!matmul_carries(&s->p) || s->cut.chunks == 1)
		return OK;
	if (s->lo % s->cut.chunks != 0) {
		if (!p || p->count != count)
			return err_set(err, E_INTERNAL, "a slice of step %u came without its first",
				       s->cmd->index);
		s->kept = (float *)p->acc;
	}
	p = worker_part_create(s->w, s->cmd->index, (int64_t)count);
	s->left_bytes = count * sizeof p->acc[0];
	s->spare = malloc(s->left_bytes);
	if (!p || !s->spare) {
		free(s->spare);
		return err_set(err, E_NOMEM, "no memory for %zu partial sums", count);
	}
	s->keep = s->left = (float *)p->acc;
	return OK;
}

static void carry_close(struct product_step *s, struct worker_part *before, bool last)
{
	if (before)
		worker_part_free(s->w, before);
	if (s->left && last)
		worker_part_free(s->w, worker_part_find(s->w, s->cmd->index));
	free(s->spare);
}

/* Memory for the part of C that the slice writes: its units are tiles in C's order. */
static void back_result(const struct product_step *s, const struct worker_call *x)
{
	double each = 0;
	int64_t lo = 0, hi = 0, whole = s->p.m * s->p.n * dtype_row(s->p.dtype)->bytes;

	for (int i = 0; i < s->p.nbatch; i++)
		whole *= s->p.batch[i];
	call_range(&lo, &hi, &x->call, 2);
	if (hi - lo != whole)
		return; /* C is a view with gaps */
	each = (double)whole / (double)s->cut.units;
	hi = lo + (int64_t)(each * (double)s->hi);
	lo += (int64_t)(each * (double)s->lo);
	region_back(&s->w->regions, &x->place[2], lo, hi);
}

static enum status by_stack(struct product_step *s, struct err *err)
{
	int64_t each = s->p.m * s->p.n * s->p.k;

	s->grain = STACK_WORK / (each + STACK_ITEM) + 1;
	return spread(s, stack_unit, (s->hi - s->lo + s->grain - 1) / s->grain, err);
}

enum status worker_product(const struct worker_call *x, struct err *err)
{
	struct product_step s = {.w = x->w,
				 .cmd = x->cmd,
				 .lo = x->lo,
				 .hi = x->hi,
				 .lock = PTHREAD_MUTEX_INITIALIZER};
	const int threads = pool_threads(x->w->pool);
	struct worker_part *before = NULL;
	enum status st = OK;
	int64_t tiles = 0;

	product_of(&s.p, &x->call);
	if (!product_cut(&s.cut, &s.p))
		return E_INTERNAL; /* was checked */
	back_result(&s, x);
	memcpy(s.run.base, x->base, sizeof s.run.base);
	s.run.library = &x->w->matmul;
	s.run.p = &s.p;
	s.run.cut = &s.cut;
	s.run.cancel = &x->w->cancel;
	s.part_bytes = matmul_part_bytes(&s.p, &s.cut);
	s.ns = call_row(CALL_PRODUCT)->work_ns * (double)product_multiplications(&s.p) *
	       (double)(s.hi - s.lo) / (double)s.cut.units;
	if (s.p.m == 1 || s.p.n == 1)
		s.ns *= READ_ONCE;
	st = carry_open(&s, &before, err);
	if (st != OK)
		return st;
	tiles = tiles_of(&s, s.lo, s.hi);
	if (matmul_stacked(&s.run))
		st = by_stack(&s, err);
	else if (s.cut.chunks == 1 || threads == 1 || tiles >= PER_THREAD * threads)
		st = spread(&s, tile_unit, tiles, err);
	else
		st = by_parts(&s, err);
	carry_close(&s, before, st != OK || s.hi % s.cut.chunks == 0);
	return st;
}
