/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_join.c - a slice of a join on the pool: pieces of the parts' rows go to the result.
 *
 * A unit goes over its part of the result in order, so that short pieces of many parts meet in the
 * cache.  A result that does not fit the caches with what it is made of is written past them: an
 * ordinary store reads the line that it overwrites. */
#include <emmintrin.h>
#include <string.h>

#include "call/join.h"
#include "loops/copy_bytes.h"
#include "worker.h"

#define SERIAL_NS 50000 /* a slice predicted below this is not worth waking threads */

/* Rows that all parts are gone over for at a time: short pieces of a row then meet in the first
 * cache, which a column of many rows does not fit. */
#define BATCH_BYTES (16 << 10)
#define BATCH_ROWS  8

struct join_step {
	const struct worker_call *x;
	struct join_cut cut;
	bool past;
};

/* n pieces of the size of one element: without a call each. */
#define COPY_ELEMENTS(size)                                                                        \
	for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)                          \
	memcpy(to, from, size)

/* n pieces of so many bytes, by these steps. */
static void copy_pieces(char *restrict to, int64_t to_step, const char *restrict from,
			int64_t from_step, int64_t n, size_t bytes, bool past)
{
	if (bytes == 8)
		COPY_ELEMENTS(8);
	else if (bytes == 4)
		COPY_ELEMENTS(4);
	else if (bytes == 16)
		COPY_ELEMENTS(16);
	else if (bytes == 1)
		COPY_ELEMENTS(1);
	else if (bytes == 2)
		COPY_ELEMENTS(2);
	else if (past && bytes >= COPY_LEAST)
		for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
			copy_past(to, from, bytes);
	else if (bytes >= COPY_LEAST)
		for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
			copy_lines(to, from, bytes, false);
	else
		COPY_ELEMENTS(bytes);
}

/* Bytes [lo, hi) of the rows [row, end) that part x has. */
static void copy_part(const struct join_step *s, unsigned x, int64_t row, int64_t end, int64_t lo,
		      int64_t hi)
{
	const struct plan_call *c = &s->x->call;
	const struct call_operand *o = &c->operand[x], *r = &c->operand[0];
	unsigned inner = c->nloop ? c->nloop - 1u : 0;

	while (row < end) {
		char *to = s->x->base[0] + lo;
		const char *from = s->x->base[x] + (lo - o->at);
		int64_t extent = c->nloop ? c->extent[inner] : 1, left = row, n = 0;

		for (unsigned l = c->nloop; l-- > 0;) {
			int64_t i = left % c->extent[l];

			to += i * r->stride[l];
			from += i * o->stride[l];
			left /= c->extent[l];
		}
		n = extent - row % extent;
		n = n < end - row ? n : end - row;
		copy_pieces(to, r->stride[inner], from, o->stride[inner], n, (size_t)(hi - lo),
			    s->past);
		row += n;
	}
}

/* Bytes [lo, hi) of rows [row, end) of the result, which all parts have pieces of. */
static void join_rows(const struct join_step *s, int64_t row, int64_t end, int64_t lo, int64_t hi)
{
	const struct plan_call *c = &s->x->call;

	for (unsigned x = 1; x < c->noperand; x++) {
		int64_t begin = c->operand[x].at;
		int64_t past = begin + c->operand[x].run * dtype_row(c->dtype)->bytes;

		begin = begin > lo ? begin : lo;
		past = past < hi ? past : hi;
		if (begin < past)
			copy_part(s, x, row, end, begin, past);
	}
}

static void join_unit(void *data, int thread, int64_t unit)
{
	const struct join_step *s = data;
	const struct join_cut *cut = &s->cut;
	int64_t at = s->x->lo + unit, row = at / cut->row_units * cut->unit_rows;
	int64_t end = row + cut->unit_rows < cut->rows ? row + cut->unit_rows : cut->rows;
	int64_t lo = at % cut->row_units * cut->unit_bytes, hi = lo + cut->unit_bytes;
	int64_t batch = BATCH_BYTES / cut->row_bytes > BATCH_ROWS ? BATCH_BYTES / cut->row_bytes
								  : BATCH_ROWS;

	if (bz_cancelled(&s->x->w->cancel))
		return;
	worker_unit_begin(s->x->w, s->x->cmd, thread);
	for (; row < end; row += batch)
		join_rows(s, row, row + batch < end ? row + batch : end, lo, hi);
	if (s->past)
		_mm_sfence();
	worker_unit_end(s->x->w, thread);
}

/* Memory for the part of the result that the slice writes; its rows lie side by side. */
static void back_result(const struct join_step *s)
{
	const struct join_cut *cut = &s->cut;
	int64_t each = cut->row_units > 1 ? cut->unit_bytes : cut->unit_rows * cut->row_bytes;
	int64_t lo = 0, hi = 0, whole = 0;

	call_range(&lo, &whole, &s->x->call, 0);
	if (lo || whole != cut->rows * cut->row_bytes || (cut->row_units > 1 && cut->rows > 1))
		return;
	lo = s->x->lo * each;
	hi = s->x->hi * each < whole ? s->x->hi * each : whole;
	region_back(&s->x->w->regions, &s->x->place[0], lo, hi);
}

enum status worker_join(const struct worker_call *x, struct err *err)
{
	struct join_step s = {.x = x};
	int64_t n = x->hi - x->lo, bytes = 0;

	join_cut(&s.cut, &x->call);
	bytes = s.cut.rows * s.cut.row_bytes;
	s.past = 2 * bytes > x->w->stream_bytes;
	back_result(&s);
	if (call_row(CALL_JOIN)->work_ns * ((double)bytes / (double)s.cut.total * (double)n) <
	    SERIAL_NS)
		for (int64_t u = 0; u < n; u++)
			join_unit(&s, 0, u);
	else
		pool_run(x->w->pool, join_unit, &s, n, worker_poll, x->w);
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	return OK;
}
