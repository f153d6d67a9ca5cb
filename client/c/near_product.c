/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_product.c - products of what is at hand.
 *
 * As the daemon computes them (nest/lower_matmul.c): matrices by the loops of
 * kernels/loops/product.h, a vector with a matrix by the tree of a sum.  Integers wrap, so
 * their order shows nowhere and the loops take all.  float16 is multiplied and added up
 * as float32 and rounded once. */
#include <string.h>

#include "array.h"
#include "near.h"
#include "near_walk.h"

#define NEAR_ITEM 350 /* of each product of a stack, in tenths of a nanosecond */
#define NEAR_SUM  100 /* of each sum by itself */
#define NEAR_ROW  20  /* of each of a short row, among many */

struct product_near {
	struct braze_session *s;
	struct braze_array *in[2]; /* of the type that is computed in */
	enum dtype type;	   /* that one */
	int batches;
	struct shape domain; /* batch..., m, n, k */
	int64_t stride[2][LIMIT_NDIM];
	int64_t results;
};

/* Strides of operand x over the domain; its matrix axes are (m, k) or (k, n). */
static bool spread(struct product_near *p, int x)
{
	const struct view *v = &p->in[x]->view;
	int nd = v->shape.ndim, matrix = nd > 1 ? 2 : 1, at = p->batches;
	struct shape batch = {(uint8_t)p->batches, {0}};
	struct view own = *v, wide;

	memcpy(batch.dim, p->domain.dim, (size_t)at * sizeof batch.dim[0]);
	own.shape.ndim = (uint8_t)(nd - matrix);
	if (view_broadcast(&wide, &own, &batch, NULL))
		return false;
	memcpy(p->stride[x], wide.stride, (size_t)at * sizeof wide.stride[0]);
	p->stride[x][at + x] = nd > 1 ? v->stride[x == 0 ? nd - 2 : nd - 1] : 0;
	p->stride[x][at + 1 - x] = 0;
	p->stride[x][at + 2] = v->stride[x == 0 || nd == 1 ? nd - 1 : nd - 2];
	return true;
}

/* Extents, with those of 1-D operands as 1. */
static bool measure(struct product_near *p, const struct shape *a, const struct shape *b,
		    const struct shape *shape)
{
	int64_t m = a->ndim > 1 ? a->dim[a->ndim - 2] : 1;
	int64_t n = b->ndim > 1 ? b->dim[b->ndim - 1] : 1, k = a->dim[a->ndim - 1];

	p->batches = shape->ndim - (a->ndim > 1) - (b->ndim > 1);
	if (p->batches + 3 > LIMIT_NDIM)
		return false;
	p->domain.ndim = (uint8_t)(p->batches + 3);
	memcpy(p->domain.dim, shape->dim, (size_t)p->batches * sizeof shape->dim[0]);
	memcpy(p->domain.dim + p->batches, (int64_t[]){m, n, k}, 3 * sizeof k);
	p->results = 1;
	for (int i = 0; i < p->domain.ndim - 1; i++)
		if (__builtin_mul_overflow(p->results, p->domain.dim[i], &p->results))
			return false;
	return true;
}

/* A vector with a matrix, of a type whose order of additions shows? */
static bool is_tree(const struct product_near *p, const struct braze_array *a,
		    const struct braze_array *b)
{
	const int64_t *dim = p->domain.dim + p->batches;

	return dtype_row(p->type)->cls >= CLASS_FLOAT &&
	       (a->view.shape.ndim == 1 || b->view.shape.ndim == 1 ||
		product_vector(dim[0], dim[1], dim[2]));
}

/* Of so many multiplications with their additions: 50 ps of a double. */
static uint64_t cost_of(enum dtype type, int64_t count)
{
	const struct dtype_row *d = dtype_row(type);

	if (d->cls != CLASS_COMPLEX && d->cls != CLASS_FLOAT)
		return 4 * (uint64_t)count;
	return (uint64_t)count * d->bytes * (d->cls == CLASS_COMPLEX ? 3 : 1) / 16;
}

/* Is the first operand the vector? */
static bool is_row(const struct product_near *p, const struct view *a, const struct view *b)
{
	return a->shape.ndim == 1 || (b->shape.ndim > 1 && p->domain.dim[p->batches] == 1);
}

/* Of a vector with a matrix: does a library compute it in the daemon? */
static bool is_library(const struct product_near *p, const struct view *a, const struct view *b)
{
	const int64_t *dim = p->domain.dim + p->batches;
	bool row = is_row(p, a, b);
	const struct view *matrix = row ? b : a;
	int nd = matrix->shape.ndim;
	int64_t kept = dim[row ? 1 : 0];

	if (nd == 1 || !product_across(kept, dim[2], matrix->stride[nd - 2 + row],
				       matrix->stride[nd - 1 - row]))
		return false;
	/* What is cast may lie otherwise afterwards. */
	return matrix->dtype != p->type ||
	       !product_summed(p->type, 1, kept, dim[2], matrix->stride[nd - 2 + row]);
}

/* Steps of the inner axis that are added up in their order; those of several chunks are added then,
 * as a tile of the daemon's is (call/product.c). */
static int64_t chunk_of(const struct product_near *p)
{
	const int64_t *dim = p->domain.dim + p->batches;
	const struct dtype_row *d = dtype_row(p->type);

	if (d->cls < CLASS_FLOAT || product_small(dim[0], dim[1], dim[2]))
		return dim[2];
	return PRODUCT_CHUNK / (d->cls == CLASS_COMPLEX ? 4 : 1);
}

/* Are the daemon's additions in our order? */
static bool same_order(const struct product_near *p, bool tree, const struct view *a,
		       const struct view *b)
{
	const int64_t *dim = p->domain.dim + p->batches;

	if (tree)
		return !is_library(p, a, b);
	if (dtype_row(p->type)->cls < CLASS_FLOAT || product_small(dim[0], dim[1], dim[2]))
		return true;
	/* The other chunks of all results lie in the tile, whole vectors. */
	return product_short(dim[0], dim[1], dim[2]) &&
	       (dim[2] <= chunk_of(p) ||
		p->results <= (int64_t)TILE_BYTES / dtype_row(p->type)->bytes - TIER0_LANES);
}

/* How the tree's sums are made. */
enum sums {
	DOTS,	     /* of elements that lie side by side in both */
	ROWS,	     /* of short rows that do, with one vector */
	COLUMNS,     /* of a vector with columns side by side */
	PACKED_DOTS, /* dots of a vector that is packed first */
	PACKED_PAIR, /* the dot of two vectors that are */
	DRIVEN	     /* by the drivers, with memory between */
};

/* Of operands of which not both lie side by side: the one that stays does? */
static enum sums packed(const struct product_near *p, int64_t bytes, bool one_does)
{
	int64_t room = p->batches ? 0 : (int64_t)sizeof p->s->near->scratch->strip;

	if (one_does && bytes <= room)
		return PACKED_DOTS;
	return p->results == 1 && 2 * bytes <= room ? PACKED_PAIR : DRIVEN;
}

static enum sums sums_of(const struct product_near *p, const struct view *a, const struct view *b)
{
	const struct product_loops *loops = &p->s->near->lib->product->type[p->type];
	int64_t k = p->domain.dim[p->batches + 2], bytes = loops->bytes;
	bool row = is_row(p, a, b);
	int an = a->shape.ndim, bn = b->shape.ndim;
	int64_t step[2] = {a->stride[an - 1], b->stride[bn > 1 ? bn - 2 : 0]};
	int64_t kept = row ? (bn > 1 ? b->stride[bn - 1] : 0) : an > 1 ? a->stride[an - 2] : 0;

	if (!loops->dot)
		return DRIVEN;
	if (step[0] == bytes && step[1] == bytes)
		return k * bytes <= PRODUCT_ROW && kept ? ROWS : DOTS;
	if (k > TREE_CHUNK)
		return DRIVEN;
	if (kept == bytes)
		return COLUMNS;
	return packed(p, k * bytes, step[row] == bytes);
}

/* Multiplications that are ever near: one sum's are read, and no more. */
static int64_t most_terms(const struct product_near *p)
{
	return p->results == 1 ? NEAR_MOST : NEAR_TRIP;
}

/* Of one long sum: what reading its operands takes. */
static uint64_t dot_work(enum dtype type, int64_t k)
{
	return (uint64_t)k * dtype_row(type)->bytes / 4;
}

/* Predicted; `how` of sums by the tree. */
static uint64_t work_of(const struct product_near *p, bool tree, enum sums how)
{
	int64_t k = p->domain.dim[p->batches + 2], results = p->results, items = 1;
	int64_t bytes = dtype_row(p->type)->bytes;

	if (k > most_terms(p) / results)
		return NEAR_NEVER;
	for (int i = 0; i < p->batches; i++)
		items *= p->domain.dim[i];
	uint64_t work = cost_of(p->type, results * k) + 3 * (uint64_t)results;
	if (!tree)
		return work + NEAR_ITEM * (uint64_t)items;
	if (how == DRIVEN)
		return 2 * work + NEAR_POINT * (uint64_t)results;
	work = (how == ROWS ? NEAR_ROW : NEAR_SUM) * (uint64_t)results;
	if (how == DOTS && results == 1)
		work += dot_work(p->type, k);
	else
		work += (uint64_t)(results * k);
	/* As by_sums and long_dots share them. */
	return p->batches || results * k * bytes < NEAR_FETCHED ? work : near_shared(work);
}

static bool fits(const struct product_near *p, bool tree, const struct view *a,
		 const struct view *b)
{
	int64_t k = p->domain.dim[p->batches + 2], bytes = dtype_row(p->type)->bytes;
	int64_t results = p->results;

	if (!results || !k)
		return true;
	if (results > NEAR_WIDE / bytes || k > most_terms(p) / results ||
	    !same_order(p, tree, a, b)) {
		near_told(&p->s->near->stretch, work_of(p, tree, DOTS));
		return false;
	}
	enum sums how = tree ? sums_of(p, a, b) : DRIVEN;
	int64_t stored = tree && how == DRIVEN ? results * k : results;
	return near_fits(p->s->near, work_of(p, tree, how), (uint64_t)(stored * bytes));
}

/* Where an operand is pending, what the product would take counts, whatever its layout. */
static bool at_hand(const struct product_near *p, bool known, bool tree,
		    const struct braze_array *a, const struct braze_array *b)
{
	bool hand = near_hand(a) && near_hand(b);

	if (!hand && known && p->results && p->domain.dim[p->batches + 2])
		near_tell(&p->s->near->stretch, work_of(p, tree, DOTS));
	return hand;
}

/* Steps [from, to) of all products of the stack, into memory that has room for whole results. */
static void by_chunk(const struct product_near *p, int64_t from, int64_t to, char *out)
{
	const struct product_loops *loops = &p->s->near->lib->product->type[p->type];
	const int64_t *dim = p->domain.dim + p->batches;
	struct product_stack s = {.axes = p->batches};
	struct product_call *f = &s.first;
	int at = p->batches;

	*f = (struct product_call){.m = dim[0],
				   .n = dim[1],
				   .k = to - from,
				   .fused = product_fused(dim[0], dim[1], dim[2])};
	f->a = (struct product_matrix){(char *)array_address(p->in[0]) +
					       from * p->stride[0][at + 2],
				       p->stride[0][at], p->stride[0][at + 2]};
	f->b = (struct product_matrix){(char *)array_address(p->in[1]) +
					       from * p->stride[1][at + 2],
				       p->stride[1][at + 2], p->stride[1][at + 1]};
	f->c = (struct product_matrix){out, f->n * loops->bytes, loops->bytes};
	memcpy(s.extent, p->domain.dim, (size_t)at * sizeof s.extent[0]);
	for (int x = 0; x < 2; x++)
		memcpy(s.step[x], p->stride[x], (size_t)at * sizeof s.step[x][0]);
	int64_t step = f->m * f->n * loops->bytes, count = 1;
	for (int i = at - 1; i >= 0; i--) {
		s.step[2][i] = step * count;
		count *= s.extent[i];
	}
	product_many(loops, &s, 0, count, p->s->near->scratch->strip);
}

static void by_loops(const struct product_near *p, char *out)
{
	const struct near *n = p->s->near;
	int64_t k = p->domain.dim[p->batches + 2], chunk = chunk_of(p);
	unsigned mode = near_enter();

	for (int64_t from = 0; from < k; from += chunk) {
		char *part = from ? n->scratch->tile : out;

		by_chunk(p, from, from + chunk < k ? from + chunk : k, part);
		if (from)
			near_loop(n, OP_ADD, p->type, p->type)(out, out, part, part, p->results);
	}
	near_leave(mode);
}

/* Where both operands are. */
struct place {
	const char *at[2];
	int64_t index[LIMIT_NDIM];
};

/* To the next point of the domain's axes up to this one. */
static void next_place(struct place *at, const struct product_near *p, int last)
{
	for (int i = last; i >= 0; i--) {
		int64_t turn = ++at->index[i] == p->domain.dim[i] ? 1 - at->index[i] : 1;

		at->at[0] += turn * p->stride[0][i];
		at->at[1] += turn * p->stride[1][i];
		if (turn == 1 && at->index[i] < p->domain.dim[i])
			return;
		at->index[i] = 0;
	}
}

/* Sums of so many elements each, of several parts: of rows with one vector. */
struct long_sum {
	const struct product_loops *loops;
	const char *a[PRODUCT_DOTS], *b;
	int rows;
	int64_t n;
	int64_t from;			    /* the first part of some */
	struct bz_acc (*acc)[PRODUCT_DOTS]; /* of each of those */
};

/* An eighth of a chunk is eight blocks, which the tree joins before it joins them with others: so
 * it takes parts as it takes chunks. */
#define DOT_PART   (TREE_CHUNK / 8)
#define SOME_PARTS 128

/* Of those some, [lo, hi).  Fewer rows than loops of several have take the first again, which
 * memory need not answer again. */
static void sum_parts(void *data, int64_t lo, int64_t hi)
{
	const struct long_sum *s = data;
	int bytes = s->loops->bytes;

	for (int64_t c = lo; c < hi; c++) {
		int64_t at = (s->from + c) * DOT_PART, left = s->n - at;
		int64_t n = left < DOT_PART ? left : DOT_PART;
		_Alignas(8) char sum[PRODUCT_DOTS * 8];
		const char *row[PRODUCT_DOTS];

		for (int r = 0; r < PRODUCT_DOTS; r++)
			row[r] = s->a[r < s->rows ? r : 0] + at * bytes;
		if (s->rows == 1)
			s->loops->dot(sum, row[0], s->b + at * bytes, n);
		else
			s->loops->dots(sum, row, s->b + at * bytes, n);
		for (int r = 0; r < s->rows; r++) {
			s->acc[c][r] = (struct bz_acc){0};
			memcpy(s->acc[c][r].v, sum + r * bytes, (size_t)bytes);
		}
	}
}

/* Their parts are joined as the tree does, whoever sums them. */
static __attribute__((noinline)) void long_dots(const struct product_near *p, char *to,
						struct long_sum *s)
{
	const struct tier0_red *red = near_tree(p->s->near, OP_SUM, p->type);
	_Alignas(64) char state[PRODUCT_DOTS][TIER0_STATE_BYTES];
	int64_t parts = (s->n + DOT_PART - 1) / DOT_PART, all = s->n * s->rows;
	bool alone = all * s->loops->bytes < NEAR_FETCHED;
	struct bz_acc acc[SOME_PARTS][PRODUCT_DOTS];

	s->acc = acc;
	for (int r = 0; r < s->rows; r++)
		red->init(state[r]);
	for (s->from = 0; s->from < parts; s->from += SOME_PARTS) {
		int64_t some = parts - s->from < SOME_PARTS ? parts - s->from : SOME_PARTS;

		near_share(sum_parts, s, some, 1,
			   alone ? 0 : dot_work(p->type, some * DOT_PART * s->rows));
		for (int64_t c = 0; c < some; c++)
			for (int r = 0; r < s->rows; r++)
				red->join(state[r], &acc[c][r]);
	}
	for (int r = 0; r < s->rows; r++, to += s->loops->bytes) {
		red->end(state[r], s->n, acc[0]);
		red->put(acc[0], to);
	}
}

/* Result after result, of so many from `at` on. */
static void by_dots(const struct product_near *p, char *out, struct place at, int64_t results)
{
	const struct product_loops *loops = &p->s->near->lib->product->type[p->type];
	int last = p->batches + 1;
	int64_t k = p->domain.dim[last + 1];

	for (int64_t r = 0; r < results; r++, out += loops->bytes) {
		if (k > TREE_CHUNK)
			long_dots(
				p, out,
				&(struct long_sum){loops, {at.at[0]}, at.at[1], .rows = 1, .n = k});
		else
			loops->dot(out, at.at[0], at.at[1], k);
		next_place(&at, p, last);
	}
}

/* The first results of a matrix's rows with one vector, several at once: how many. */
static int64_t by_several(const struct product_near *p, char *out, const struct place *at, bool row,
			  int64_t results)
{
	const struct product_loops *loops = &p->s->near->lib->product->type[p->type];
	int64_t k = p->domain.dim[2], step = p->stride[row][row], r = 0;

	if (p->batches || !loops->dots)
		return 0;
	for (; r + PRODUCT_DOTS <= results; r += PRODUCT_DOTS) {
		const char *rows[PRODUCT_DOTS];

		for (int i = 0; i < PRODUCT_DOTS; i++)
			rows[i] = at->at[row] + (r + i) * step;
		loops->dots(out + r * loops->bytes, rows, at->at[!row], k);
	}
	return r;
}

/* The same of long sums: all. */
static void by_long(const struct product_near *p, char *out, const struct place *at, bool row,
		    int64_t results)
{
	const struct product_loops *loops = &p->s->near->lib->product->type[p->type];
	int64_t step = p->stride[row][row];

	for (int64_t r = 0; r < results; r += PRODUCT_DOTS) {
		int64_t left = results - r;
		struct long_sum s = {.loops = loops, .b = at->at[!row], .n = p->domain.dim[2]};

		s.rows = left < PRODUCT_DOTS ? (int)left : PRODUCT_DOTS;
		for (int i = 0; i < s.rows; i++)
			s.a[i] = at->at[row] + (r + i) * step;
		long_dots(p, out + r * loops->bytes, &s);
	}
}

/* Of a vector with a matrix, or of each of a stack, so many results at once, from `at` on. */
static void by_vector(const struct product_near *p, char *out, struct place at, bool rows, bool row,
		      int64_t kept)
{
	const struct product_loops *loops = &p->s->near->lib->product->type[p->type];
	int m = p->batches, k = m + 2;
	int64_t n = p->domain.dim[k], stack = p->results / p->domain.dim[m + row];

	struct product_rows side = {.step = p->stride[row][m + row], .n = n};
	struct product_across down = {
		.vstep = p->stride[!row][k], .row = p->stride[row][k], .n = n};

	for (int64_t r = 0; r < stack; r++, out += kept * loops->bytes) {
		side.v = down.v = at.at[!row];
		side.a = down.a = at.at[row];
		if (rows)
			loops->rows(out, &side, kept);
		else
			loops->across(out, &down, kept);
		next_place(&at, p, m - 1);
	}
}

/* The vector's elements side by side, in half of the strip or all of it. */
static void pack(struct product_near *p, struct place *at, int x, int half)
{
	int k = p->batches + 2, bytes = dtype_row(p->type)->bytes;
	char *to =
		p->s->near->scratch->strip + (size_t)half * sizeof p->s->near->scratch->strip / 2;
	int64_t step = bytes;
	struct walk line;

	line.n = 1;
	line.extent[0] = p->domain.dim[k];
	walk_copy(&line, &p->stride[x][k], &step, at->at[x], to, (unsigned)bytes);
	at->at[x] = to;
	p->stride[x][k] = bytes;
}

struct some_sums {
	const struct product_near *p;
	char *out;
	struct place at;
	enum sums how;
	bool row;
};

#define SUMS_GRAIN  16 /* results that a thread has beside each other, of rows that are not long */
#define FEW_COLUMNS 16 /* at once, about */

/* Results [lo, hi) of the matrix's rows or columns; of a stack all. */
static void sum_some(void *data, int64_t lo, int64_t hi)
{
	const struct some_sums *s = data;
	const struct product_near *p = s->p;
	char *out = s->out + lo * dtype_row(p->type)->bytes;
	int axis = p->batches + s->row;
	struct place at = s->at;
	int64_t done = 0;

	at.at[s->row] += lo * p->stride[s->row][axis];
	if (s->how == COLUMNS || s->how == ROWS) {
		by_vector(p, out, at, s->how == ROWS, s->row, hi - lo);
		return;
	}
	if (!p->batches && p->domain.dim[2] > TREE_CHUNK) {
		by_long(p, out, &at, s->row, hi - lo);
		return;
	}
	done = by_several(p, out, &at, s->row, hi - lo);
	at.at[s->row] += done * p->stride[s->row][axis];
	at.index[axis] = lo + done;
	by_dots(p, out + done * dtype_row(p->type)->bytes, at,
		(p->batches ? p->results : hi - lo) - done);
}

/* Is the vector packed first?  Columns are gone down some at a time, each time with all of it:
 * where its elements lie apart, with a line for each. */
static bool is_packed(const struct product_near *p, enum sums how, bool row)
{
	const int64_t *dim = p->domain.dim + p->batches, bytes = dtype_row(p->type)->bytes;

	if (how == COLUMNS)
		return !p->batches && p->stride[!row][2] != bytes && dim[row] > FEW_COLUMNS &&
		       dim[2] * bytes <= (int64_t)sizeof p->s->near->scratch->strip;
	return how == PACKED_DOTS || how == PACKED_PAIR;
}

static void by_sums(struct product_near *p, char *out, enum sums how, bool row)
{
	struct some_sums s = {p, out, .how = how, .row = row};
	int64_t kept = p->domain.dim[p->batches + row], k = p->domain.dim[p->batches + 2];
	unsigned mode = near_enter();

	s.at = (struct place){{array_address(p->in[0]), array_address(p->in[1])}, {0}};
	if (is_packed(p, how, row))
		pack(p, &s.at, !row, 0);
	if (how == PACKED_PAIR)
		pack(p, &s.at, row, 1);
	/* Of long sums parts are shared. */
	if (p->batches || kept == 1 || k > TREE_CHUNK ||
	    kept * k * dtype_row(p->type)->bytes < NEAR_FETCHED)
		sum_some(&s, 0, kept);
	else
		near_share(sum_some, &s, kept,
			   k * dtype_row(p->type)->bytes < PRODUCT_LONG_ROW ? SUMS_GRAIN
									    : PRODUCT_DOTS,
			   (uint64_t)kept * dot_work(p->type, k));
	near_leave(mode);
}

/* Each result is the tree's sum of the multiplied elements. */
static bool by_tree(struct product_near *p, char *out)
{
	const struct view *a = &p->in[0]->view, *b = &p->in[1]->view;
	enum sums how = sums_of(p, a, b);

	if (how != DRIVEN) {
		by_sums(p, out, how, is_row(p, a, b));
		return true;
	}
	int64_t count = p->results * p->domain.dim[p->batches + 2];
	struct braze_array *made = near_array(p->s, p->type, &p->domain, count);
	struct near_in in[2];

	if (!made)
		return false;
	for (int x = 0; x < 2; x++)
		in[x] = (struct near_in){.at = array_address(p->in[x]),
					 .stride = p->stride[x],
					 .dtype = (uint8_t)p->type,
					 .loop = (uint8_t)p->type};
	near_map(p->s->near, OP_MULTIPLY, (char *)made->buf->at, p->type, &p->domain, count, 2, in);
	in[0] = (struct near_in){.at = (const char *)made->buf->at,
				 .stride = made->view.stride,
				 .reach = count,
				 .dtype = (uint8_t)p->type,
				 .loop = (uint8_t)p->type};
	near_reduction(p->s->near, OP_SUM, out, p->type, &p->domain, 1u << (p->batches + 2), in);
	array_release(made);
	return true;
}

static bool compute(struct braze_array **out, struct product_near *p,
		    struct braze_array *const in[2], const struct shape *shape)
{
	struct braze_array *r = near_array(p->s, p->type, shape, p->results);
	bool done = r != NULL;

	if (done && p->results && !p->domain.dim[p->batches + 2])
		memset(r->buf->at, 0, r->buf->bytes);
	else if (done && p->results) {
		done = spread(p, 0) && spread(p, 1);
		if (done && is_tree(p, in[0], in[1]))
			done = by_tree(p, (char *)r->buf->at);
		else if (done)
			by_loops(p, (char *)r->buf->at);
	}
	if (done)
		*out = r;
	else if (r)
		array_release(r);
	return done;
}

enum status near_product_ready(struct braze_array *a, struct braze_array *b, enum dtype type,
			       const struct shape *shape, struct err *err)
{
	struct braze_session *s = a->session;
	struct product_near p = {.s = s, .type = type == DT_FLOAT16 ? DT_FLOAT32 : type};

	if (likely(!near_unsettled(s, a->buf->flags | b->buf->flags)) ||
	    !measure(&p, &a->view.shape, &b->view.shape, shape) || !p.results)
		return OK;
	uint64_t work = work_of(&p, is_tree(&p, a, b), DOTS);
	return near_settle_work(a, b, work, near_bytes(type, p.results), err);
}

bool near_product(struct braze_array **out, struct braze_array *a, struct braze_array *b,
		  enum dtype type, const struct shape *shape)
{
	struct braze_session *s = a->session;
	struct product_near p = {.s = s, .type = type == DT_FLOAT16 ? DT_FLOAT32 : type};
	struct braze_array *const in[2] = {a, b};
	struct braze_array *cast[3] = {NULL};
	uint64_t counted = s->counters.near;

	bool known = measure(&p, &a->view.shape, &b->view.shape, shape);
	bool tree = known && is_tree(&p, a, b);
	if (!at_hand(&p, known, tree, a, b))
		return false;
	if (!known || !fits(&p, tree, &a->view, &b->view))
		return near_not(s, WHY_LARGE);
	bool done = true;
	for (int x = 0; x < 2 && done; x++) {
		p.in[x] = in[x];
		if (in[x]->view.dtype != p.type) {
			done = near_cast(&cast[x], in[x], p.type);
			p.in[x] = cast[x];
		}
	}
	if (done && type == p.type) {
		done = compute(out, &p, in, shape);
	} else if (done && compute(&cast[2], &p, in, shape)) {
		done = near_cast(out, cast[2], type);
	} else {
		done = false;
	}
	for (int x = 0; x < 3; x++)
		if (cast[x])
			array_release(cast[x]);
	s->counters.near = counted + done;
	return done;
}
