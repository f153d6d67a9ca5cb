/* SPDX-License-Identifier: Apache-2.0 */
/* worker/take_nest.c - elements at places, row by row (see take_nest.h). */
#include "take_nest.h"

#include <string.h>

#include "loops/take.h"
#include "tier0.h"

#define BLOCK	    1024  /* rows whose offsets are known at a time */
#define LINE	    64	  /* bytes */
#define POLL_POINTS 65536 /* between looks at the cancel word, at most */
#define ROW_LEAST   2	  /* points of a row that is worth it */

/* ---- Which nests ---- */

/* The load behind value v, if that is of places as they lie or after one check. */
static bool find_places(struct take_nest *t, const struct nest *n, unsigned v)
{
	const struct nest_instr *in = &n->instr[v];

	if (in->op == OP_INDEX) {
		const struct nest_instr *size = &n->instr[in->b];
		if (size->op != NI_SCALAR || n->scalar_dtype[size->a] != DT_INT64)
			return false;
		t->checks = true;
		t->size = (uint8_t)size->a;
		t->check = (uint8_t)in->c;
		in = &n->instr[in->a];
	}
	t->place = (uint8_t)in->a;
	return in->op == NI_LOAD && n->access[in->a].dtype == DT_INT64;
}

void take_nest_find(struct take_nest *t, const struct nest *n)
{
	const struct nest_instr *store, *gather;

	memset(t, 0, sizeof *t);
	if (n->nred || !n->npar || n->post != n->ninstr || n->ninstr < 3)
		return;
	store = &n->instr[n->ninstr - 1];
	if (store->op != NI_STORE || n->naccess != 3)
		return;
	gather = &n->instr[store->b];
	if (gather->op != NI_GATHER || !find_places(t, n, gather->b))
		return;
	t->source = (uint8_t)gather->a;
	t->result = (uint8_t)store->a;
	/* A load or two instructions of places, the gather and the store: nothing else. */
	t->is = n->ninstr == 3u + (t->checks ? 2 : 0) && n->access[t->result].alone &&
		n->access[t->source].dtype == n->access[t->result].dtype;
}

static int64_t stride_of(const struct bz_args *a, unsigned access, unsigned loop)
{
	return a->stride[access * LIMIT_NDIM + loop];
}

static int64_t bytes_of(const struct take_nest *t, const struct nest *n)
{
	return dtype_row(n->access[t->result].dtype)->bytes;
}

bool take_nest_fits(const struct take_nest *t, const struct nest *n, const struct bz_args *a)
{
	unsigned last = n->npar - 1u;

	return t->is && a->extent[last] >= ROW_LEAST && !stride_of(a, t->place, last) &&
	       stride_of(a, t->result, last) == bytes_of(t, n);
}

int64_t take_nest_line(const struct take_nest *t, const struct nest *n)
{
	return LINE / bytes_of(t, n);
}

bool take_nest_strips(const struct take_nest *t, const struct nest *n, const struct bz_args *a)
{
	unsigned last = n->npar - 1u;

	return take_nest_fits(t, n, a) && stride_of(a, t->source, last) != bytes_of(t, n) &&
	       a->extent[last] >= 2 * take_nest_line(t, n);
}

/* ---- Places ---- */

/* Counted from the front; the least wrong one is told. */
static void check(const struct take_nest *t, const struct bz_args *a, int64_t *place, int64_t n)
{
	int64_t size = (int64_t)a->scalar[2 * t->size];

	tier0_check_places(a->error + t->check, place, size, n);
	for (int64_t k = 0; k < n; k++)
		place[k] = (int64_t)((uint64_t)place[k] + (place[k] < 0 ? (uint64_t)size : 0));
}

/* The offsets of n rows in the source, `next` bytes and a place each; a client may write to the
 * places meanwhile, so each is fetched once, and limited after that. */
static void read_offsets(const struct take_nest *t, const struct bz_args *a, const char *at,
			 int64_t step, int64_t next, int64_t *offset, int64_t n)
{
	int64_t last = a->gather[0] - 1, by = a->gather[1];

	for (int64_t k = 0; k < n; k++)
		memcpy(&offset[k], at + k * step, sizeof offset[k]);
	__asm__ volatile("" : : "r"(offset) : "memory");
	if (t->checks)
		check(t, a, offset, n);
	for (int64_t k = 0; k < n; k++) {
		int64_t place = offset[k] > last ? last : offset[k];

		offset[k] = (place < 0 ? 0 : place) * by + k * next;
	}
}

/* ---- Rows ---- */

/* Points [from, to) of n rows from the one at `index` on, all of which the loop before the
 * last has. */
static void take_block(const struct take_nest *t, const struct nest *n, const struct bz_args *a,
		       const int64_t *index, int64_t rows, int64_t from, int64_t to)
{
	unsigned last = n->npar - 1u;
	int64_t offset[BLOCK], at[3], next[3];
	const unsigned access[3] = {t->place, t->source, t->result};

	for (int x = 0; x < 3; x++) {
		at[x] = 0;
		for (unsigned l = 0; l < last; l++)
			at[x] += index[l] * stride_of(a, access[x], l);
		next[x] = last ? stride_of(a, access[x], last - 1) : 0;
	}
	read_offsets(t, a, a->base[t->place] + at[0], next[0], next[1], offset, rows);
	struct take take = {.to = a->base[t->result] + at[2],
			    .from = a->base[t->source] + at[1],
			    .bytes = (unsigned)bytes_of(t, n),
			    .to_step = next[2],
			    .n = a->extent[last],
			    .step = stride_of(a, t->source, last),
			    .rest = {1, {1}},
			    .past = a->stream & KERNEL_PAST};
	take.strip = take_strips(&take) ? take_strip(&take, offset, rows) : 0;
	take_some(&take, offset, rows, 0, 1, from, to);
	take_end(&take);
	for (int64_t k = 0; k < rows && n->access[t->result].dtype == DT_BOOL; k++)
		take_truths(take.to + k * next[2] + from, to - from);
}

/* The rows from number p on that one block may have, of `most`, and p's indices. */
static int64_t find_block(const struct nest *n, const struct bz_args *a, int64_t *index, int64_t p,
			  int64_t most)
{
	unsigned last = n->npar - 1u;
	int64_t left = 1;

	for (unsigned l = last; l-- > 0;) {
		index[l] = p % a->extent[l];
		p /= a->extent[l];
	}
	if (last)
		left = a->extent[last - 1] - index[last - 1];
	most = most < BLOCK ? most : BLOCK;
	return left < most ? left : most;
}

void take_nest_rows(const struct take_nest *t, const struct nest *n, const struct bz_args *a,
		    int64_t lo, int64_t hi, int64_t from, int64_t to)
{
	int64_t index[LIMIT_NDIM], most = POLL_POINTS / (to - from);

	for (int64_t rows; lo < hi && !bz_cancelled(a->cancel); lo += rows) {
		rows = find_block(n, a, index, lo, hi - lo);
		rows = most < 1 ? 1 : rows < most ? rows : most;
		/* A row longer than that is gone through in pieces. */
		for (int64_t i = from, now; i < to && !bz_cancelled(a->cancel); i += now) {
			now = to - i < POLL_POINTS ? to - i : POLL_POINTS;
			take_block(t, n, a, index, rows, i, i + now);
		}
	}
}

void take_nest_map(const struct take_nest *t, const struct nest *n, const struct bz_args *a,
		   int64_t lo, int64_t hi)
{
	int64_t row = a->extent[n->npar - 1], first = lo % row;

	if (lo < hi && first) {
		int64_t end = hi - lo < row - first ? first + (hi - lo) : row;
		take_nest_rows(t, n, a, lo / row, lo / row + 1, first, end);
		lo += end - first;
	}
	if (hi - lo >= row)
		take_nest_rows(t, n, a, lo / row, hi / row, 0, row);
	if (lo < hi && hi % row)
		take_nest_rows(t, n, a, hi / row, hi / row + 1, 0, hi % row);
}
