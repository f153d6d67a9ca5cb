/* SPDX-License-Identifier: Apache-2.0 */
/* loops/product.c - which way round a product is computed, and in which strips.
 *
 * One operand's elements are repeated over the lanes of a vector (S), the other's (V) lie
 * side by side in it: either a and b, or the transposed b and a of the transposed
 * product, whichever takes less. */
#include "product_strip.h"

#include <string.h>

#include "isa.h"

struct way {
	struct product_matrix s, v, c;
	int64_t rows, cols, depth; /* of c, as it is computed */
	int64_t after;
};

static struct product_matrix turned(struct product_matrix m)
{
	return (struct product_matrix){m.at, m.col, m.row};
}

/* Vector operations, and elements to be moved one by one. */
static int64_t cost(const struct way *w, const struct product_loops *l)
{
	int shift = __builtin_ctz((unsigned)l->wide_lanes);
	int64_t vectors = (w->cols + l->wide_lanes - 1) >> shift;
	int64_t moved = 0;

	if (w->v.col != l->bytes && w->cols > 1)
		moved += w->cols * w->depth;
	if (w->c.col != l->bytes && w->cols > 1)
		moved += w->cols * w->rows;
	return w->rows * vectors * w->depth + 2 * moved;
}

static struct way choose(const struct product_call *p, const struct product_loops *l)
{
	struct way plain = {p->a, p->b, p->c, p->m, p->n, p->k, p->after};
	struct way across = {turned(p->b), turned(p->a), turned(p->c), p->n, p->m, p->k, p->after};

	if (p->m == 1 || (p->b.col == l->bytes && p->c.col == l->bytes && p->m <= 2 * p->n))
		return plain;
	return cost(&across, l) < cost(&plain, l) ? across : plain;
}

#define COPY(bytes)                                                                                \
	for (int64_t k = 0; k < depth; k++, to += step, from += m->row)                            \
		for (int64_t j = 0; j < cols; j++)                                                 \
			memcpy(to + j * (bytes), from + j * m->col, bytes);                        \
	break

/* depth rows of `cols` elements from column j0 on, each to a multiple of `step` bytes. */
static void pack(char *to, int step, const struct product_matrix *m, int64_t depth, int64_t cols,
		 int bytes)
{
	const char *from = m->at;

	if (cols * bytes < step)
		memset(to, 0, (size_t)(depth * step));
	switch (bytes) {
	case 1:
		COPY(1);
	case 2:
		COPY(2);
	case 4:
		COPY(4);
	case 8:
		COPY(8);
	default:
		COPY(16);
	}
}

/* Elements of a strip's results to where they belong, or from there. */
static void move(char *strip, int64_t step, const struct product_matrix *c, int64_t rows,
		 int64_t cols, int bytes, bool out)
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) {
			char *x = strip + i * step + j * bytes,
			     *y = c->at + i * c->row + j * c->col;

			memcpy(out ? y : x, out ? x : y, (size_t)bytes);
		}
}

/* C's columns do not lie side by side: a few rows at a time, by a copy. */
static void by_copy(struct product_strip s, product_strip_fn *fn, const struct product_matrix *c,
		    int64_t rows, int64_t cols, int bytes)
{
	char strip[PRODUCT_ROWS_AT_ONCE * PRODUCT_STRIP] __attribute__((aligned(64)));
	struct product_matrix to = *c;

	s.c = strip;
	s.crow = PRODUCT_STRIP;
	s.limit = strip + sizeof(strip);
	for (int64_t i = 0; i < rows; i += PRODUCT_ROWS_AT_ONCE) {
		s.rows = rows - i < PRODUCT_ROWS_AT_ONCE ? rows - i : PRODUCT_ROWS_AT_ONCE;
		if (s.add)
			move(strip, PRODUCT_STRIP, &to, s.rows, cols, bytes, false);
		fn(&s);
		move(strip, PRODUCT_STRIP, &to, s.rows, cols, bytes, true);
		s.s += PRODUCT_ROWS_AT_ONCE * s.srow;
		to.at += PRODUCT_ROWS_AT_ONCE * to.row;
	}
}

/* A strip of columns from column j on: one vector or two, or half a vector. */
struct columns {
	int64_t from, count;
	int lanes, vectors;
	product_strip_fn *fn;
};

static struct columns columns_at(const struct product_loops *l, int64_t j, int64_t all)
{
	struct columns c = {.from = j, .lanes = l->wide_lanes, .vectors = 1, .fn = l->wide};
	int64_t left = all - j;

	/* Half a vector behind one takes less than a second one, where that takes two turns. */
	bool halves = left <= l->wide_lanes + l->half_lanes && l->wide_lanes * l->bytes == 64 &&
		      isa_halves();

	if (left > l->wide_lanes && !halves) {
		c.vectors = 2;
	} else if (left <= l->half_lanes) {
		c.lanes = l->half_lanes;
		c.fn = l->half;
	}
	c.count = left < c.vectors * c.lanes ? left : c.vectors * c.lanes;
	return c;
}

/* The operand whose columns lie side by side as the loops read them, packed where they
 * do not. */
static void take_side(struct product_strip *s, const struct product_loops *l,
		      struct product_matrix v, const struct columns *c, char *scratch)
{
	int bytes = l->bytes, step = c->vectors * c->lanes * bytes;

	s->vectors = c->vectors;
	s->last = (int)(c->count - (c->vectors - 1) * c->lanes) * bytes;
	v.at += c->from * v.col;
	s->v = v.at;
	s->vrow = v.row;
	if ((v.col != bytes && c->count > 1) || (s->last != c->lanes * bytes && !l->masked)) {
		pack(scratch, step, &v, s->depth, c->count, bytes);
		s->packed = true;
		s->v = scratch;
		s->vrow = step;
	}
}

/* `depth` steps of the inner axis for all of c. */
static void run(const struct way *w, const struct product_loops *l, int64_t depth, bool add,
		bool fused, char *scratch)
{
	int bytes = l->bytes;
	/* A strip that is all of c may write a row's end before the next row is there. */
	bool alone = !add && w->cols <= l->wide_lanes && w->c.col == bytes &&
		     w->c.row == w->cols * bytes;
	struct columns strip;

	for (int64_t j = 0; j < w->cols; j += strip.count) {
		struct product_matrix c = w->c;
		struct product_strip s = {.s = w->s.at,
					  .srow = w->s.row,
					  .scol = w->s.col,
					  .crow = c.row,
					  .rows = w->rows,
					  .depth = depth,
					  .add = add,
					  .fused = fused};

		strip = columns_at(l, j, w->cols);
		take_side(&s, l, w->v, &strip, scratch);
		c.at += j * c.col;
		if (c.col != bytes && strip.count > 1) {
			by_copy(s, strip.fn, &c, w->rows, strip.count, bytes);
			continue;
		}
		s.c = c.at;
		s.limit = alone ? c.at + w->rows * c.row + w->after : NULL;
		strip.fn(&s);
	}
}

void product_multiply(const struct product_loops *l, const struct product_call *p, bool add,
		      char *scratch)
{
	struct way w = choose(p, l);
	int64_t most = PRODUCT_RUN, k = 0;

	/* Few rows read V once: along memory, not down a strip of it. */
	if (w.rows <= 4 * PRODUCT_ROWS_AT_ONCE && w.cols * l->bytes >= PRODUCT_LONG_ROW)
		most = PRODUCT_SHORT_RUN;
	do {
		int64_t depth = p->k - k < most ? p->k - k : most;

		run(&w, l, depth, add || k > 0, p->fused, scratch);
		w.s.at += depth * w.s.col;
		w.v.at += depth * w.v.row;
		k += depth;
	} while (k < p->k);
}

/* Do the results lie one after another? */
static bool in_a_row(const struct product_stack *s, int bytes)
{
	int64_t next = s->first.m * s->first.n * bytes;

	if (s->first.c.col != bytes || s->first.c.row != s->first.n * bytes)
		return false;
	for (int i = s->axes - 1; i >= 0; next *= s->extent[i--])
		if (s->step[2][i] != next)
			return false;
	return true;
}

void product_many(const struct product_loops *l, const struct product_stack *s, int64_t lo,
		  int64_t hi, char *scratch)
{
	int64_t index[LIMIT_NDIM], bytes = s->first.m * s->first.n * l->bytes;
	bool row = in_a_row(s, l->bytes);
	struct product_call p = s->first;
	char **at[3] = {&p.a.at, &p.b.at, &p.c.at};

	for (int64_t i = s->axes - 1, left = lo; i >= 0; left /= s->extent[i--]) {
		index[i] = left % s->extent[i];
		for (int x = 0; x < 3; x++)
			*at[x] += index[i] * s->step[x][i];
	}
	for (int64_t k = lo; k < hi; k++) {
		p.after = row ? (hi - 1 - k) * bytes : 0;
		product_multiply(l, &p, false, scratch);
		for (int i = s->axes - 1; i >= 0; i--) {
			bool over = ++index[i] == s->extent[i];

			for (int x = 0; x < 3; x++)
				*at[x] += over ? s->step[x][i] * (1 - s->extent[i]) : s->step[x][i];
			if (!over)
				break;
			index[i] = 0;
		}
	}
}
