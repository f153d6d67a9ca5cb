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

void tile_init(struct tile *t, const struct tier0_isa *isa, const struct tier0_isa *wide,
	       const struct tier0_red *red, unsigned dtype, int64_t n, char *memory)
{
	*t = (struct tile){.red = red,
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

/* A block of rows is complete: fold the lanes, push the columns on the counter. */
static void push(struct tile *t, int64_t rows)
{
	char *acc = t->memory;

	for (int w = lanes_of(t->dtype) / 2; w >= 1; w /= 2)
		for (int j = 0; j < w && j + w < lanes_used(t->dtype, rows); j++) {
			char *to = acc + (size_t)j * t->row;
			t->combine(to, to, acc + (size_t)(j + w) * t->row, acc, t->n);
		}
	t->pushed++;
	for (uint64_t m = t->pushed; !(m & 1); m >>= 1)
		t->combine(acc, level_of(t, --t->sp), acc, acc, t->n);
	memcpy(level_of(t, t->sp++), acc, t->row);
}

static int64_t *index_of(const struct tile *t)
{
	return (int64_t *)level_of(t, 0);
}

void tile_take(struct tile *t, const char *values, int64_t e, int64_t total)
{
	if (t->red->side) {
		if (!t->pushed++)
			memset(index_of(t), 0xff, TILE * sizeof(int64_t));
		t->red->side(t->memory, index_of(t), values, t->n, e);
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

char *tile_end(struct tile *t)
{
	char *top = t->memory;

	if (t->red->side)
		return (char *)index_of(t);
	t->red->nothing(top, t->n);
	if (t->sp)
		memcpy(top, level_of(t, t->sp - 1), t->row);
	for (int level = t->sp - 2; level >= 0; level--)
		t->combine(top, level_of(t, level), top, top, t->n);
	return top;
}
