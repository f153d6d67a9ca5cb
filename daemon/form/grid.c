/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"

#define BUCKETS 1024

_Static_assert(LANG_LIVE <= CALL_SCALARS, "a step has room for what comes in");

struct grids {
	struct grid *by_words[BUCKETS], *by_number[BUCKETS];
	uint32_t count, last;
};

struct grids *grid_table_create(void)
{
	return xcalloc(1, sizeof(struct grids));
}

void grid_table_destroy(struct grids *g)
{
	free(g);
}

static uint64_t hash_of(const struct grid_words *w, size_t bytes)
{
	const uint32_t rest[] = {w->range, w->levels, w->fast, w->only, w->sum, w->keeps};

	return hash_bytes(rest, sizeof rest, hash_bytes(w->text, bytes, 0));
}

static bool same(const struct grid_words *a, const struct grid_words *b)
{
	return a->range == b->range && a->levels == b->levels && a->fast == b->fast &&
	       a->only == b->only && a->sum == b->sum && a->keeps == b->keeps &&
	       !strcmp(a->text, b->text);
}

enum status grid_program(struct lang_program **p, struct lang_grid *out, const struct grid_words *w,
			 struct err *err)
{
	enum status st;

	*p = NULL;
	st = lang_program_of_text(p, w->text, strlen(w->text), err);
	if (!st && w->sum && w->only != (*p)->narray)
		st = err_set(err, E_INVALID, "what turns add has array %u", w->only);
	if (!st)
		st = w->sum ? lang_grid_sum(out, *p, w->range, w->levels, w->fast, w->sum - 1, err)
			    : lang_grid_of(out, *p, w->range, w->levels, w->fast, w->only, err);
	if (!st && w->keeps)
		st = lang_grid_keep(out, w->keeps, err);
	if (st) {
		lang_free(*p);
		*p = NULL;
	}
	return st;
}

/* What operations are checked by. */
static void describe(struct grid *g, const struct lang_program *p, const struct lang_grid *l)
{
	for (unsigned i = 0; i < p->nparam; i++)
		if (p->param[i].rank) {
			g->dtype[g->narray] = p->param[i].type;
			g->rank[g->narray++] = p->param[i].rank;
		}
	if (l->sums) {
		g->dtype[g->narray] = l->sum.type;
		g->rank[g->narray++] = 1;
	}
	g->nlive = (uint8_t)l->nlive;
	memcpy(g->live, l->type, l->nlive);
}

static enum status make(struct grid **out, const struct grid_words *w, size_t bytes,
			struct err *err)
{
	struct lang_program *p = NULL;
	struct lang_grid l;
	struct grid *g = NULL;
	unsigned narray = 0;
	enum status st = grid_program(&p, &l, w, err);

	if (st)
		return st;
	narray = lang_grid_arrays(&l);
	if (!narray || narray > LIMIT_GRID_ARRAYS || narray + l.nlive > LIMIT_OPERANDS) {
		st = err_set(err, E_LIMIT, "a loop of %u arrays and %u numbers", narray, l.nlive);
		lang_free(p);
		return st;
	}
	g = xcalloc(1, sizeof *g + bytes + 1);
	memcpy(g->text, w->text, bytes);
	g->bytes = (uint32_t)bytes;
	g->is = *w;
	g->is.text = g->text;
	describe(g, p, &l);
	lang_free(p);
	*out = g;
	return OK;
}

static void put_in(struct grids *t, struct grid *g, uint64_t hash, uint32_t number)
{
	struct grid **words = &t->by_words[hash % BUCKETS],
		    **numbers = &t->by_number[number % BUCKETS];

	g->table = t;
	g->hash = hash;
	g->number = number;
	g->refs = 1;
	g->by_words = *words;
	g->by_number = *numbers;
	*words = *numbers = g;
	t->count++;
}

static struct grid *find(const struct grids *t, const struct grid_words *w, uint64_t hash)
{
	struct grid *g = t->by_words[hash % BUCKETS];

	while (g && (g->hash != hash || !same(&g->is, w)))
		g = g->by_words;
	return g;
}

enum status grid_table_take(struct grid **out, struct grids *t, const struct grid_words *w,
			    uint32_t number, struct err *err)
{
	size_t bytes = strlen(w->text);
	uint64_t hash = hash_of(w, bytes);
	struct grid *g = find(t, w, hash);
	enum status st = OK;

	if (g && (!number || g->number == number)) {
		*out = grid_ref(g);
		return OK;
	}
	if (bytes >= LIMIT_GRID_TEXT)
		return err_set(err, E_LIMIT, "a loop's text of %zu bytes, %u are possible", bytes,
			       LIMIT_GRID_TEXT - 1);
	if (t->last == UINT32_MAX)
		return err_set(err, E_LIMIT, "too many loops of kernels were defined");
	if (number && (g || grid_table_find(t, number)))
		return err_set(err, E_PROTOCOL, "loop %u of a kernel is another one", number);
	st = make(&g, w, bytes, err);
	if (st)
		return st;
	if (!number)
		number = ++t->last;
	else if (number > t->last)
		t->last = number;
	put_in(t, g, hash, number);
	*out = g;
	return OK;
}

struct grid *grid_table_find(const struct grids *t, uint32_t number)
{
	struct grid *g = t->by_number[number % BUCKETS];

	while (g && g->number != number)
		g = g->by_number;
	return g;
}

uint32_t grid_table_count(const struct grids *t)
{
	return t->count;
}

struct grid *grid_ref(struct grid *g)
{
	g->refs++;
	return g;
}

void grid_unref(struct grid *g)
{
	struct grid **at = NULL;

	if (!g || --g->refs)
		return;
	for (at = &g->table->by_words[g->hash % BUCKETS]; *at != g;)
		at = &(*at)->by_words;
	*at = g->by_words;
	for (at = &g->table->by_number[g->number % BUCKETS]; *at != g;)
		at = &(*at)->by_number;
	*at = g->by_number;
	g->table->count--;
	free(g);
}

bool grid_fits(const struct grid *g, unsigned i, bool array, unsigned dtype, unsigned rank)
{
	unsigned x = grid_array(i, g->is.only);

	if (i < g->narray)
		return array && dtype == g->dtype[x] && rank == g->rank[x];
	return !array && i - g->narray < g->nlive && dtype == g->live[i - g->narray];
}

/* ---- A session's ---- */

enum status grid_names_check(const struct grid_names *x, uint32_t number, struct err *err)
{
	if (!number || number > LIMIT_GRIDS)
		return err_set(err, E_PROTOCOL, "a loop of number %u, 1 to %d are possible", number,
			       LIMIT_GRIDS);
	if (grid_names_find(x, number))
		return err_set(err, E_PROTOCOL, "loop %u is defined again", number);
	return OK;
}

void grid_names_add(struct grid_names *x, uint32_t number, struct grid *g)
{
	if (number > x->n) {
		uint32_t n = number < 2 * x->n ? 2 * x->n : number < 8 ? 8 : number;

		x->grid = xrealloc(x->grid, n, sizeof(struct grid *));
		memset(x->grid + x->n, 0, (n - x->n) * sizeof(struct grid *));
		x->n = n;
	}
	x->grid[number - 1] = g;
}

struct grid *grid_names_find(const struct grid_names *x, uint64_t number)
{
	return number && number <= x->n ? x->grid[number - 1] : NULL;
}

struct grid *grid_names_of(const struct grid_names *x, uint32_t grid)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->grid[i] && x->grid[i]->number == grid)
			return x->grid[i];
	return NULL;
}

void grid_names_clear(struct grid_names *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		grid_unref(x->grid[i]);
	free(x->grid);
	*x = (struct grid_names){0};
}
