/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_alloc.c - see lang_alloc.h. */
#include "lang_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"
#include "lang_x86.h"

#define CODE_MAX  8192		  /* instructions of programs that this is done for */
#define WORDS_MAX (1u << 20)	  /* of the sets of what lives */
#define DEPTH_MAX 6		  /* of loops that count */
#define SHARED	  (DTYPE_END + 1) /* several functions name it */

/* What is left of the processor's for registers: scratch are RAX, RCX, RDX and the first three of
 * the floats', RBX is the memory's, R15 counts turns. */
static const uint8_t whole[] = {RBP, R12, R13, R14, RSI, RDI, R8, R9, R10, R11};
static const uint8_t real[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

bool lang_alloc_floats(const struct lang_alloc *a, uint32_t reg)
{
	return a->type[reg] == DT_FLOAT32 || a->type[reg] == DT_FLOAT64;
}

bool lang_alloc_before(const struct lang_alloc *a, uint32_t reg, uint32_t at)
{
	return a->where[reg] != ALLOC_MEMORY && a->from[reg] < 2 * at && a->to[reg] >= 2 * at;
}

bool lang_alloc_behind(const struct lang_alloc *a, uint32_t reg, uint32_t at)
{
	return a->where[reg] != ALLOC_MEMORY && a->from[reg] <= 2 * at + 1 &&
	       a->to[reg] > 2 * at + 1;
}

/* ---- Operands ---- */

int32_t lang_alloc_step(const struct lang_alloc *a, uint32_t range)
{
	const union lang_reg *c = a->constant[a->p->code[range].c];

	return c && c->i > 0 && c->i <= INT32_MAX ? (int32_t)c->i : 0;
}

bool lang_alloc_uses(uint32_t *reg, unsigned *type, const struct lang_alloc *a, uint32_t at,
		     unsigned k)
{
	const struct lang_ins *i = &a->p->code[at];
	bool more;

	*type = DT_INT64;
	if (i->code == CODE_NEXT) {
		*reg = i->a + 1 + k;
		return k < (lang_alloc_step(a, at - 1) ? 2 : 3);
	}
	if (i->code == CODE_LOAD || (i->code == CODE_STORE && k)) {
		*reg = a->same[i->code == CODE_LOAD ? i->a : i->d];
		*type = DTYPE_END;
		return k < (i->code == CODE_LOAD ? 1 : 2);
	}
	if (i->code == CODE_CLAIM) {
		*reg = i->d;
		return k < 1;
	}
	if (i->code == CODE_END) {
		if (k >= a->p->nresult)
			return false;
		*reg = a->same[a->p->param[a->p->nparam + k].reg];
		*type = a->p->param[a->p->nparam + k].type;
		return true;
	}
	more = lang_uses(reg, type, i, k);
	if (i->code == CODE_TAKE && !k)
		*type = i->type;
	if (more)
		*reg = a->same[*reg];
	return more;
}

bool lang_alloc_makes(uint32_t *reg, unsigned *type, const struct lang_alloc *a, uint32_t at,
		      unsigned k)
{
	const struct lang_ins *i = &a->p->code[at];

	if (i->code != CODE_NEXT)
		return lang_makes(reg, type, i, k);
	*reg = i->a + k;
	*type = DT_INT64;
	return k < 3;
}

/* ---- Types and places ---- */

static void find_places(struct lang_alloc *a)
{
	const struct lang_program *p = a->p;

	a->start[0] = a->start[p->entry] = true;
	for (uint32_t at = 0; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (lang_jumps(i))
			a->target[i->d] = true;
		if (i->code == CODE_CALL)
			a->start[i->d] = true;
		if (i->code != CODE_LOOP)
			continue;
		for (uint32_t k = i->d; k <= at; k++)
			a->depth[k] = (uint8_t)(a->depth[k] + (a->depth[k] < DEPTH_MAX));
	}
}

/* A register of two types, or of two functions, stays in memory. */
static void name(struct lang_alloc *a, uint32_t *owner, uint32_t reg, unsigned type,
		 uint32_t function)
{
	bool other = owner[reg] != ALLOC_NONE && (owner[reg] != function || a->type[reg] != type);

	a->type[reg] = other ? SHARED : (uint8_t)type;
	owner[reg] = function;
}

static bool find_types(struct lang_alloc *a)
{
	const struct lang_program *p = a->p;
	uint32_t *owner = malloc((p->nreg + 1) * sizeof *owner), function = 0, reg;
	unsigned type;

	if (!owner)
		return false;
	memset(owner, 0xff, (p->nreg + 1) * sizeof *owner);
	memset(a->type, SHARED, p->nreg + 1 + ALLOC_ROWS);
	for (uint32_t at = 0; at < p->ncode; at++) {
		function = a->start[at] ? at : function;
		for (unsigned k = 0; lang_alloc_uses(&reg, &type, a, at, k); k++)
			name(a, owner, reg, type, function);
		for (unsigned k = 0; lang_alloc_makes(&reg, &type, a, at, k); k++)
			name(a, owner, reg, type, function);
	}
	for (unsigned k = 0; k < p->nparam; k++)
		if (!p->param[k].rank)
			name(a, owner, p->param[k].reg, p->param[k].type, p->entry);
	free(owner);
	return true;
}

/* ---- Copies ---- */

/* How often the value that instruction `at` makes, being that of register `same`, is read on the
 * way from there, before somebody jumps there, or either of them changes. */
static unsigned reads_of_copy(const struct lang_alloc *a, uint32_t at, uint32_t same)
{
	uint32_t reg, d = a->p->code[at].d;
	unsigned reads = 0, type;

	for (uint32_t k = at + 1; k < a->p->ncode && !a->target[k] && !a->start[k]; k++) {
		for (unsigned u = 0; lang_alloc_uses(&reg, &type, a, k, u); u++)
			reads += reg == d;
		for (unsigned m = 0; lang_alloc_makes(&reg, &type, a, k, m); m++)
			if (reg == same || reg == d)
				return reads;
		if (a->p->code[k].code == CODE_JUMP || a->p->code[k].code == CODE_LOOP)
			return reads;
	}
	return reads;
}

/* Is what is made here made here only, and read only where nothing has changed yet? */
static bool is_copy(const struct lang_alloc *a, const uint32_t *count, uint32_t at, uint32_t same)
{
	uint32_t d = a->p->code[at].d;

	return a->type[d] != SHARED && count[d] >> 16 == 1 &&
	       count[d] - (1u << 16) == reads_of_copy(a, at, same);
}

/* What was moved for nothing but to be an index.  count: [register], how often it is read, and made
 * in the upper half. */
static void find_copies(struct lang_alloc *a, uint32_t *count)
{
	uint32_t reg;
	unsigned type;

	for (uint32_t at = 0; at < a->p->ncode; at++) {
		for (unsigned k = 0; lang_alloc_uses(&reg, &type, a, at, k); k++)
			count[reg]++;
		for (unsigned k = 0; lang_alloc_makes(&reg, &type, a, at, k); k++)
			count[reg] += 1u << 16;
	}
	for (unsigned k = 0; k < a->p->nparam; k++)
		count[a->p->param[k].reg] += a->p->param[k].rank ? 0 : 1u << 16;
	for (uint32_t at = 0; at < a->p->ncode; at++) {
		const struct lang_ins *i = &a->p->code[at];

		if (i->code == CODE_MOVE && a->type[i->a] != SHARED &&
		    is_copy(a, count, at, a->same[i->a]))
			a->same[i->d] = a->same[i->a];
	}
}

static bool same_place(const struct lang_alloc *a, const struct lang_ins *x,
		       const struct lang_ins *y)
{
	bool same = y->code == CODE_PLACE && x->a == y->a && x->c == y->c;

	for (uint32_t k = 0; same && k < x->c; k++)
		same = a->same[x->b + k] == a->same[y->b + k];
	return same;
}

static bool makes_index_of(const struct lang_alloc *a, uint32_t at, const struct lang_ins *place)
{
	uint32_t reg;
	unsigned type;

	for (unsigned m = 0; lang_alloc_makes(&reg, &type, a, at, m); m++)
		for (uint32_t k = 0; k < place->c; k++)
			if (reg == a->same[place->b + k] || reg == place->d)
				return true;
	return false;
}

/* The same place again, on the way from here: it is inside, and has its address. */
static void find_places_again(struct lang_alloc *a, const uint32_t *count)
{
	for (uint32_t at = 0; at < a->p->ncode; at++) {
		const struct lang_ins *i = &a->p->code[at];

		if (i->code != CODE_PLACE || a->same[i->d] != i->d || a->type[i->d] == SHARED)
			continue;
		for (uint32_t k = at + 1; k < a->p->ncode && !a->target[k] && !a->start[k]; k++) {
			const struct lang_ins *x = &a->p->code[k];

			if (x->code == CODE_JUMP || x->code == CODE_LOOP || makes_index_of(a, k, i))
				break;
			if (same_place(a, i, x) && a->same[x->d] == x->d &&
			    is_copy(a, count, k, i->d))
				a->same[x->d] = i->d;
		}
	}
}

/* ---- Rows ---- */

uint32_t lang_alloc_row(const struct lang_alloc *a, uint32_t row)
{
	return a->p->nreg + 1 + row;
}

/* The jump back of a loop that counts and has no other inside, nor calls; 0: it is no such. */
static uint32_t end_of_innermost(const struct lang_alloc *a, uint32_t range)
{
	const struct lang_program *p = a->p;
	uint32_t end = p->code[range].code == CODE_RANGE ? p->code[range + 1].d - 1 : 0;

	for (uint32_t k = range + 2; k < end; k++)
		if (p->code[k].code == CODE_LOOP || p->code[k].code == CODE_CALL)
			return 0;
	return end;
}

static bool changes(const struct lang_alloc *a, const struct alloc_row *row, uint32_t reg)
{
	uint32_t made;
	unsigned type;

	for (uint32_t k = row->range + 1; k <= row->end; k++)
		for (unsigned m = 0; lang_alloc_makes(&made, &type, a, k, m); m++)
			if (made == reg)
				return true;
	return false;
}

/* Is there a row of the same array and indices? */
static uint32_t row_like(const struct lang_alloc *a, const struct alloc_row *row)
{
	const struct lang_ins *x = &a->p->code[row->place];
	uint32_t k = 0;

	for (; k < a->nrow; k++) {
		const struct lang_ins *y = &a->p->code[a->row[k].place];
		bool same = a->row[k].range == row->range && a->row[k].axes == row->axes &&
			    x->a == y->a;

		for (uint32_t c = 0; same && c < x->c; c++)
			same = !(row->axes >> c & 1) || a->same[x->b + c] == a->same[y->b + c];
		if (same)
			break;
	}
	return k;
}

static void find_row(struct lang_alloc *a, struct alloc_row row, bool unit)
{
	const struct lang_ins *i = &a->p->code[row.place];
	uint32_t at;

	if (i->code != CODE_PLACE || a->same[i->d] != i->d)
		return;
	for (uint32_t k = 0; k < i->c; k++) {
		uint32_t reg = a->same[i->b + k];

		if (a->type[reg] != SHARED && !changes(a, &row, reg))
			row.axes |= 1u << k;
	}
	/* The last one alone is no multiplication. */
	if (!(row.axes & ~(unit ? 1u << (i->c - 1) : 0u)))
		return;
	at = row_like(a, &row);
	if (at == ALLOC_ROWS)
		return;
	a->row[at] = row;
	a->row_of[row.place] = (uint8_t)(at + 1);
	a->nrow += at == a->nrow;
}

static void find_rows(struct lang_alloc *a, bool unit)
{
	for (uint32_t at = 0; at + 1 < a->p->ncode; at++) {
		uint32_t end = end_of_innermost(a, at);

		for (uint32_t k = at + 2; k < end; k++)
			find_row(a, (struct alloc_row){at, end, k, 0}, unit);
	}
	for (uint32_t k = 0; k < a->nrow; k++) {
		uint32_t reg = lang_alloc_row(a, k);

		a->type[reg] = DTYPE_END;
		a->from[reg] = 2 * a->row[k].range + 1;
		a->to[reg] = 2 * a->row[k].end + 2;
	}
}

/* ---- What lives ---- */

struct blocks {
	uint32_t n, words;
	uint32_t *first, *number; /* [block]; [instruction] */
	uint64_t *in, *uses, *makes;
};

static void mark(uint64_t *set, uint32_t reg)
{
	set[reg / 64] |= 1ull << reg % 64;
}

static bool has(const uint64_t *set, uint32_t reg)
{
	return set[reg / 64] >> reg % 64 & 1;
}

static bool find_blocks(struct blocks *b, const struct lang_alloc *a)
{
	const struct lang_program *p = a->p;

	b->words = p->nreg / 64 + 1;
	b->first = malloc((p->ncode + 1) * sizeof *b->first);
	b->number = malloc((p->ncode + 1) * sizeof *b->number);
	if (!b->first || !b->number)
		return false;
	for (uint32_t at = 0; at < p->ncode; at++) {
		if (!at || a->start[at] || a->target[at] || lang_jumps(&p->code[at - 1]))
			b->first[b->n++] = at;
		b->number[at] = b->n - 1;
	}
	b->first[b->n] = p->ncode;
	if ((uint64_t)b->n * b->words > WORDS_MAX)
		return false;
	b->in = calloc((size_t)b->n * b->words * 3, sizeof *b->in);
	b->uses = b->in + (size_t)b->n * b->words;
	b->makes = b->uses + (size_t)b->n * b->words;
	return b->in != NULL;
}

static void find_names(struct blocks *b, const struct lang_alloc *a)
{
	uint32_t reg;
	unsigned type;

	for (uint32_t at = 0; at < a->p->ncode; at++) {
		uint64_t *uses = b->uses + (size_t)b->number[at] * b->words;
		uint64_t *makes = b->makes + (size_t)b->number[at] * b->words;

		for (unsigned k = 0; lang_alloc_uses(&reg, &type, a, at, k); k++)
			if (!has(makes, reg))
				mark(uses, reg);
		for (unsigned k = 0; lang_alloc_makes(&reg, &type, a, at, k); k++)
			mark(makes, reg);
	}
}

/* The blocks that may follow; how many. */
static unsigned next_of(uint32_t out[2], const struct blocks *b, const struct lang_alloc *a,
			uint32_t block)
{
	uint32_t last = b->first[block + 1] - 1;
	const struct lang_ins *i = &a->p->code[last];
	unsigned n = 0;

	if (lang_jumps(i))
		out[n++] = b->number[i->d];
	if (i->code != CODE_JUMP && i->code != CODE_LOOP && i->code != CODE_END &&
	    i->code != CODE_RETURN && block + 1 < b->n)
		out[n++] = block + 1;
	return n;
}

/* Is anything new? */
static bool flow(struct blocks *b, const struct lang_alloc *a, uint32_t block)
{
	uint64_t *in = b->in + (size_t)block * b->words, now;
	const uint64_t *uses = b->uses + (size_t)block * b->words;
	const uint64_t *makes = b->makes + (size_t)block * b->words;
	uint32_t next[2];
	unsigned n = next_of(next, b, a, block);
	bool more = false;

	for (uint32_t w = 0; w < b->words; w++) {
		uint64_t out = 0;

		for (unsigned k = 0; k < n; k++)
			out |= b->in[(size_t)next[k] * b->words + w];
		now = uses[w] | (out & ~makes[w]);
		more |= now != in[w];
		in[w] = now;
	}
	return more;
}

static void extend(struct lang_alloc *a, uint32_t reg, uint32_t from, uint32_t to)
{
	a->from[reg] = from < a->from[reg] ? from : a->from[reg];
	a->to[reg] = to > a->to[reg] || a->to[reg] == ALLOC_NONE ? to : a->to[reg];
}

/* What comes into a block lives from its begin on, and to the end of those before it. */
static void extend_through(struct lang_alloc *a, const struct blocks *b, uint32_t block)
{
	uint32_t next[2], first = b->first[block], last = b->first[block + 1] - 1;
	unsigned n = next_of(next, b, a, block);

	for (uint32_t reg = 0; reg < a->p->nreg; reg++) {
		if (has(b->in + (size_t)block * b->words, reg))
			extend(a, reg, first ? 2 * first - 1 : 0, 2 * first);
		for (unsigned k = 0; k < n; k++)
			if (has(b->in + (size_t)next[k] * b->words, reg))
				extend(a, reg, 2 * last + 1, 2 * last + 2);
	}
}

static bool find_lives(struct lang_alloc *a)
{
	struct blocks b = {0};
	bool fine = find_blocks(&b, a), more = fine;
	uint32_t reg;
	unsigned type;

	if (fine)
		find_names(&b, a);
	while (more) {
		more = false;
		for (uint32_t k = b.n; k-- > 0;)
			more |= flow(&b, a, k);
	}
	for (uint32_t k = 0; fine && k < b.n; k++)
		extend_through(a, &b, k);
	for (uint32_t at = 0; fine && at < a->p->ncode; at++) {
		for (unsigned k = 0; lang_alloc_uses(&reg, &type, a, at, k); k++)
			extend(a, reg, 2 * at, 2 * at);
		for (unsigned k = 0; lang_alloc_makes(&reg, &type, a, at, k); k++)
			extend(a, reg, 2 * at + 1, 2 * at + 1);
	}
	free(b.first);
	free(b.number);
	free(b.in);
	return fine;
}

/* ---- Giving them out ---- */

struct wish {
	uint32_t reg;
	uint64_t weight;
};

static int by_weight(const void *x, const void *y)
{
	const struct wish *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return a->reg < b->reg ? -1 : 1;
}

static void weigh(const struct lang_alloc *a, struct wish *wish)
{
	uint32_t reg;
	unsigned type;

	for (uint32_t r = 0; r <= a->p->nreg + ALLOC_ROWS; r++)
		wish[r] = (struct wish){r, 0};
	for (uint32_t at = 0; at < a->p->ncode; at++) {
		uint64_t weight = 1ull << 3 * a->depth[at];

		for (unsigned k = 0; lang_alloc_uses(&reg, &type, a, at, k); k++)
			wish[reg].weight += weight;
		for (unsigned k = 0; lang_alloc_makes(&reg, &type, a, at, k); k++)
			wish[reg].weight += weight;
		if (a->row_of[at])
			wish[lang_alloc_row(a, a->row_of[at] - 1u)].weight += weight;
	}
}

static bool may_have(const struct lang_alloc *a, uint32_t reg)
{
	/* What nobody reads stays in memory. */
	return a->from[reg] < a->to[reg] && a->to[reg] != ALLOC_NONE && !a->constant[reg] &&
	       a->type[reg] != SHARED && a->type[reg] != DT_FLOAT16 &&
	       a->type[reg] != DT_COMPLEX64 && a->type[reg] != DT_COMPLEX128 && a->same[reg] == reg;
}

/* Is this one of the processor's free while reg lives? */
static bool is_free(const struct lang_alloc *a, uint32_t reg, uint8_t machine)
{
	for (uint32_t k = 0; k < a->nlive; k++) {
		uint32_t x = a->live[k];

		if (a->where[x] == machine &&
		    lang_alloc_floats(a, x) == lang_alloc_floats(a, reg) &&
		    a->from[x] <= a->to[reg] && a->from[reg] <= a->to[x])
			return false;
	}
	return true;
}

static void give(struct lang_alloc *a, uint32_t reg)
{
	const uint8_t *these = lang_alloc_floats(a, reg) ? real : whole;
	size_t n = lang_alloc_floats(a, reg) ? sizeof real : sizeof whole;

	for (size_t k = 0; k < n; k++)
		if (is_free(a, reg, these[k])) {
			a->where[reg] = these[k];
			a->live[a->nlive++] = reg;
			return;
		}
}

static bool give_out(struct lang_alloc *a)
{
	uint32_t n = a->p->nreg + 1 + ALLOC_ROWS;
	struct wish *wish = calloc(n, sizeof *wish);

	if (!wish)
		return false;
	weigh(a, wish);
	qsort(wish, n, sizeof *wish, by_weight);
	for (uint32_t k = 0; k < n && wish[k].weight; k++)
		if (may_have(a, wish[k].reg))
			give(a, wish[k].reg);
	free(wish);
	return true;
}

/* ---- The whole ---- */

/* false: no memory. */
static bool make_room(struct lang_alloc *a, uint32_t nreg, uint32_t ncode)
{
	a->type = malloc(nreg);
	a->where = malloc(nreg);
	a->from = malloc(nreg * sizeof *a->from);
	a->to = malloc(nreg * sizeof *a->to);
	a->same = malloc(nreg * sizeof *a->same);
	a->constant = calloc(nreg, sizeof *a->constant);
	a->live = malloc(nreg * sizeof *a->live);
	if (!a->type || !a->where || !a->from || !a->to || !a->same || !a->constant || !a->live)
		return false;
	a->depth = calloc(ncode, 1);
	a->start = calloc(ncode, 1);
	a->target = calloc(ncode, 1);
	a->row_of = calloc(ncode, 1);
	return a->depth && a->start && a->target && a->row_of;
}

static bool find_same(struct lang_alloc *a, bool unit)
{
	uint32_t *count = calloc(a->p->nreg + 1, sizeof *count);

	if (!count)
		return false;
	find_copies(a, count);
	find_places_again(a, count);
	find_rows(a, unit);
	free(count);
	return true;
}

static bool make(struct lang_alloc *a, bool unit)
{
	uint32_t nreg = a->p->nreg + 1 + ALLOC_ROWS;

	if (!make_room(a, nreg, a->p->ncode + 1))
		return false;
	memset(a->where, ALLOC_MEMORY, nreg);
	memset(a->from, 0xff, nreg * sizeof *a->from);
	memset(a->to, 0xff, nreg * sizeof *a->to);
	for (uint32_t k = 0; k < nreg; k++)
		a->same[k] = k;
	for (uint32_t k = 0; k < a->p->nconst; k++)
		a->constant[a->p->constant[k].reg] = &a->p->constant[k].value;
	find_places(a);
	return find_types(a) && find_same(a, unit) && find_lives(a) && give_out(a);
}

struct lang_alloc *lang_alloc_of(const struct lang_program *p, bool unit)
{
	struct lang_alloc *a = p->ncode > CODE_MAX ? NULL : calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->p = p;
	if (make(a, unit))
		return a;
	lang_alloc_free(a);
	return NULL;
}

void lang_alloc_free(struct lang_alloc *a)
{
	if (!a)
		return;
	free(a->type);
	free(a->where);
	free(a->from);
	free(a->to);
	free(a->same);
	free(a->constant);
	free(a->depth);
	free(a->start);
	free(a->target);
	free(a->row_of);
	free(a->live);
	free(a);
}
