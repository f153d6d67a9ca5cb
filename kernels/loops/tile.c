/* SPDX-License-Identifier: Apache-2.0 */
#include "tile.h"

#include <string.h>

static char *level_of(const struct tile *t, int level)
{
	return t->memory + (size_t)TILE * 512 + (size_t)level * TILE * 16;
}

static int lanes_of(unsigned dtype)
{
	const struct dtype_row *d = dtype_row(dtype);

	return d->bytes / (d->cls == CLASS_COMPLEX ? 2 : 1) <= 4 ? 64 : 32;
}

/* Lanes that `rows` rows of a block use: bz_used_<t> of tree.h. */
static int lanes_used(unsigned dtype, int64_t rows)
{
	int lanes = lanes_of(dtype);

	return rows < lanes ? (int)rows : lanes;
}

/* Of the loops that are preferred, where those have columns. */
static const struct tier0_red *columns_of(const struct tier0_isa *isa, const struct tier0_isa *wide,
					  const struct tier0_red *red)
{
	const struct tier0_red *preferred = &wide->red[0][0] + (red - &isa->red[0][0]);

	return preferred->columns ? preferred : red;
}

void tile_init(struct tile *t, const struct tier0_isa *isa, const struct tier0_isa *wide,
	       const struct tier0_red *red, unsigned dtype, int64_t n, char *memory)
{
	*t = (struct tile){.red = red,
			   .by = columns_of(isa, wide, red),
			   .combine = red->side ? NULL : tier0_op(isa, wide, red->combine, dtype),
			   .memory = memory,
			   .dtype = dtype,
			   .n = n,
			   .row = (size_t)((n + TIER0_LANES - 1) / TIER0_LANES * TIER0_LANES) *
				  dtype_row(dtype)->bytes};
}

/* Begin a block of so many rows: identities in the lanes that it uses. */
static void clear(const struct tile *t, int64_t rows)
{
	for (int j = lanes_used(t->dtype, rows) - 1; j >= 0; j--)
		t->red->identity(t->memory + (size_t)j * t->row, t->n);
}

/* Columns that are combined: a row's last vector may begin anywhere (tile_take_all). */
static int64_t combined(const struct tile *t)
{
	return t->moved ? (int64_t)t->row / dtype_row(t->dtype)->bytes : t->n;
}

/* A block of rows is complete: fold the lanes, push the columns on the counter. */
static void push(struct tile *t, int64_t rows)
{
	char *acc = t->memory;

	for (int w = lanes_of(t->dtype) / 2; w >= 1; w /= 2)
		for (int j = 0; j < w && j + w < lanes_used(t->dtype, rows); j++) {
			char *to = acc + (size_t)j * t->row;
			t->combine(to, to, acc + (size_t)(j + w) * t->row, acc, combined(t));
		}
	t->pushed++;
	for (uint64_t m = t->pushed; !(m & 1); m >>= 1)
		t->combine(acc, level_of(t, --t->sp), acc, acc, combined(t));
	memcpy(level_of(t, t->sp++), acc, t->row);
}

static int64_t *index_of(const struct tile *t)
{
	return (int64_t *)level_of(t, 0);
}

/* n columns of rows e, e + 1 ... to the best ones. */
static void take_places(struct tile *t, const char *values, int64_t step, int64_t rows, int64_t n,
			int64_t e)
{
	if (!t->pushed++)
		memset(index_of(t), 0xff, TILE * sizeof(int64_t));
	t->red->side(t->memory, index_of(t), values, step, rows, n, e);
}

void tile_take(struct tile *t, const char *values, int64_t e, int64_t total)
{
	if (t->red->side) {
		/* A register: whole vectors. */
		take_places(t, values, 0, 1, (t->n + TIER0_LANES - 1) & -TIER0_LANES, e);
		return;
	}
	int64_t row = e % TREE_BLOCK, left = total - (e - row);
	int64_t rows = left < TREE_BLOCK ? left : TREE_BLOCK;
	char *lane = t->memory + (size_t)(row % lanes_of(t->dtype)) * t->row;

	if (row == 0)
		clear(t, rows);
	t->combine(lane, lane, values, lane, t->n);
	if (row + 1 == rows)
		push(t, rows);
}

/* Rows of a lane that are taken at once: so many parts of memory are read side by side. */
#define AT_ONCE 8

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A block of so many rows to its lanes, which are fresh. */
static void take_block(const struct tile *t, const char *values, int64_t step, int64_t rows)
{
	const int64_t lanes = lanes_of(t->dtype);

	for (int64_t from = 0; from < rows; from += AT_ONCE * lanes)
		for (int64_t j = 0; j < least(lanes, rows - from); j++) {
			int64_t left = least(AT_ONCE * lanes, rows - from) - j;

			t->by->columns(t->memory + (size_t)j * t->row, values + (from + j) * step,
				       lanes * step, (left + lanes - 1) / lanes, t->n, !from);
		}
}

bool tile_take_all(struct tile *t, const char *values, int64_t step, int64_t total)
{
	if (!t->by->columns && !t->red->side)
		return false;
	t->moved = t->n > t->by->vector && t->n % t->by->vector;
	for (int64_t e = 0; e < total && t->red->side; e += AT_ONCE)
		take_places(t, values + e * step, step, least(AT_ONCE, total - e), t->n, e);
	if (t->red->side)
		return true;
	for (int64_t e = 0; e < total; e += TREE_BLOCK) {
		int64_t rows = least(TREE_BLOCK, total - e);

		take_block(t, values + e * step, step, rows);
		push(t, rows);
	}
	return true;
}

/* The last columns to behind the others. */
static void close_up(const struct tile *t, char *columns, int64_t bytes)
{
	int64_t vector = t->by->vector;

	if (t->moved)
		memmove(columns + (t->n - vector) * bytes, columns + t->n / vector * vector * bytes,
			(size_t)(vector * bytes));
}

char *tile_end(struct tile *t)
{
	char *top = t->memory;

	if (t->red->side) {
		close_up(t, (char *)index_of(t), sizeof(int64_t));
		return (char *)index_of(t);
	}
	t->red->nothing(top, t->n);
	if (t->sp)
		memcpy(top, level_of(t, t->sp - 1), t->row);
	for (int level = t->sp - 2; level >= 0; level--)
		t->combine(top, level_of(t, level), top, top, combined(t));
	close_up(t, top, dtype_row(t->dtype)->bytes);
	return top;
}
