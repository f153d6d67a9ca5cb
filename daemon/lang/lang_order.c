/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_order.c - see lang_order.h.
 *
 * What a store depends on is found backwards over registers, without a look at which of several
 * values a register has: more than it depends on, never less.  Conditions and bounds are always
 * part of it.  Written order is the order of a turn, but in a loop inside it, where what stands
 * before may be done behind. */
#include "lang_order.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"

#define DEEPEST		8 /* of indices that are compared, instructions one of another */
#define NEED_EACH_OTHER "its stores to several arrays need each other"

struct order {
	struct lang_order *out;
	const struct lang_grid *g;
	const struct lang_program *p;
	const uint8_t *memory;
	const uint32_t *sum;
	unsigned nsum, narray; /* of those in out->array */
	uint8_t *seen;	       /* [instruction]: turns come to it */
	uint8_t *array;	       /* [register]: of an address the array that it lies in */
	bool *need;	       /* [register]: what is stored depends on it */
	/* Of each a bit for each other one of which it needs what that stores, or what is there
	 * before that does. */
	uint8_t behind[LANG_ORDER_MOST], before[LANG_ORDER_MOST];
	/* The arrays through which one reads, of another one, what is there before. */
	uint64_t through[LANG_ORDER_MOST][LANG_ORDER_MOST];
	uint64_t old[LANG_ORDER_MOST];
	/* Those whose stores one does as well, and keeps. */
	uint8_t kept[LANG_ORDER_MOST];
	bool turned; /* a loop in a turn was why */
};

static bool refuse(struct order *o, const char *why)
{
	o->out->why = why;
	return false;
}

/* ---- What is stored, and where ---- */

static bool find_written(struct order *o, uint64_t written)
{
	for (unsigned a = 0; a < o->p->narray; a++) {
		if (!(written >> a & 1))
			continue;
		if (o->out->n == LANG_ORDER_ARRAYS)
			return refuse(o, "it writes too many arrays");
		for (unsigned k = 0; k < o->out->n; k++)
			if (o->memory[o->out->array[k]] == o->memory[a])
				return refuse(o, "arrays that it writes share memory");
		o->out->array[o->out->n++] = (uint8_t)a;
	}
	o->narray = o->out->n;
	if (o->narray + o->nsum > LANG_ORDER_MOST)
		return refuse(o, "it adds up too many scalars");
	for (unsigned k = 0; k < o->nsum; k++)
		o->out->array[o->out->n++] = (uint8_t)(o->p->narray + k);
	return true;
}

/* Which of the written arrays has the memory at the address; LANG_ORDER_MOST: none. */
static unsigned written_at(const struct order *o, uint32_t address)
{
	unsigned k = 0;

	while (k < o->narray && (o->array[address] == LANG_NO_ARRAY ||
				 o->memory[o->out->array[k]] != o->memory[o->array[address]]))
		k++;
	return k < o->narray ? k : LANG_ORDER_MOST;
}

/* ---- What a store depends on ---- */

/* Also where an element lies: which one it is may have been read. */
static void want(struct order *o, const struct lang_ins *i)
{
	unsigned type;
	uint32_t reg;

	if (i->code == CODE_LOAD || i->code == CODE_STORE)
		o->need[i->code == CODE_LOAD ? i->a : i->d] = true;
	for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
		o->need[reg] = true;
}

static bool is_wanted(const struct order *o, const struct lang_ins *i)
{
	unsigned type;
	uint32_t reg;

	for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
		if (o->need[reg])
			return true;
	return false;
}

static unsigned wanted(const struct order *o)
{
	unsigned n = 0;

	for (uint32_t r = 0; r < o->p->nreg; r++)
		n += o->need[r];
	return n;
}

static bool stores_for(const struct order *o, unsigned k, unsigned written)
{
	return written == k || (written < LANG_ORDER_MOST && o->kept[k] >> written & 1);
}

/* Of all stores to written array k and to those that are kept for it, or all that is added to a
 * scalar.  Functions of the text are gone through as well. */
static void depend(struct order *o, unsigned k)
{
	unsigned before;

	memset(o->need, 0, o->p->nreg);
	if (k >= o->narray)
		o->need[o->sum[k - o->narray]] = true;
	for (uint32_t at = 0; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];

		if (!o->seen[at])
			continue;
		if ((i->code == CODE_STORE && stores_for(o, k, written_at(o, i->d))) ||
		    (lang_jumps(i) && i->code != CODE_NEXT) || i->code == CODE_RANGE)
			want(o, i);
	}
	do {
		before = wanted(o);
		for (uint32_t at = 0; at < o->p->ncode; at++)
			if (o->seen[at] && is_wanted(o, &o->p->code[at]))
				want(o, &o->p->code[at]);
	} while (wanted(o) > before);
}

/* ---- Before or behind ---- */

/* Are both in a loop of a turn, so that neither is always the first? */
static bool may_turn(const struct order *o, uint32_t a, uint32_t b)
{
	/* The innermost loop that is shared out begins each turn. */
	uint32_t turn = o->g->level[o->g->levels - 1] + 2;
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	for (uint32_t at = high; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];

		if (o->seen[at] && lang_jumps(i) && i->d >= turn && i->d <= low)
			return true;
	}
	return false;
}

/* ---- One element ---- */

static bool is_number(const struct order *o, uint32_t reg)
{
	for (unsigned k = 0; k < o->g->levels; k++)
		if (reg == o->p->code[o->g->level[k]].d)
			return true;
	return false;
}

/* The one instruction of a turn that sets the register; ncode: none does, as it is a loop's number
 * or comes in.  false: several do, or a function's. */
static bool set_by(const struct order *o, uint32_t reg, uint32_t *by)
{
	uint32_t made;
	unsigned type;

	*by = o->p->ncode;
	for (uint32_t at = is_number(o, reg) ? o->p->ncode : 0; at < o->p->ncode; at++)
		for (unsigned k = 0; o->seen[at] && lang_makes(&made, &type, &o->p->code[at], k);
		     k++) {
			if (made != reg)
				continue;
			if (*by != o->p->ncode || at < o->p->entry)
				return false;
			*by = at;
		}
	return true;
}

/* The same, moves passed over. */
static bool comes_of(const struct order *o, uint32_t *reg, uint32_t *by)
{
	for (unsigned moves = 0; moves < DEEPEST; moves++) {
		if (!set_by(o, *reg, by))
			return false;
		if (*by == o->p->ncode || o->p->code[*by].code != CODE_MOVE)
			return true;
		*reg = o->p->code[*by].a;
	}
	return false;
}

static const union lang_reg *constant(const struct order *o, uint32_t reg)
{
	for (uint32_t k = 0; k < o->p->nconst; k++)
		if (o->p->constant[k].reg == reg)
			return &o->p->constant[k].value;
	return NULL;
}

static bool same_register(const struct order *o, uint32_t a, uint32_t b)
{
	const union lang_reg *x = constant(o, a), *y = constant(o, b);

	return a == b || (x && y && !memcmp(x, y, sizeof *x));
}

static bool same_value(const struct order *o, uint32_t a, uint32_t b, unsigned depth);

static bool same_operation(const struct order *o, const struct lang_ins *x,
			   const struct lang_ins *y, unsigned depth)
{
	uint32_t use[2];
	unsigned type[2];
	bool same = (x->code == CODE_OP || x->code == CODE_CAST) && x->code == y->code &&
		    x->op == y->op && x->type == y->type && x->to == y->to;

	for (unsigned k = 0; same && lang_uses(&use[0], &type[0], x, k); k++)
		same = lang_uses(&use[1], &type[1], y, k) &&
		       same_value(o, use[0], use[1], depth + 1);
	return same;
}

/* Have they the same value, wherever in a turn they are read? */
static bool same_value(const struct order *o, uint32_t a, uint32_t b, unsigned depth)
{
	const uint32_t none = o->p->ncode;
	uint32_t by[2];

	if (depth == DEEPEST || !comes_of(o, &a, &by[0]) || !comes_of(o, &b, &by[1]))
		return false;
	if (by[0] == none || by[1] == none)
		return by[0] == by[1] && same_register(o, a, b);
	if (a == b && o->p->code[by[0]].code != CODE_RANGE && !may_turn(o, by[0], by[0]))
		return true;
	return same_operation(o, &o->p->code[by[0]], &o->p->code[by[1]], depth);
}

/* Do the instructions name one element, the same all through a turn? */
static bool same_place(const struct order *o, uint32_t a, uint32_t b)
{
	const struct lang_ins *x, *y;

	if (a == o->p->ncode || b == o->p->ncode)
		return false;
	x = &o->p->code[a];
	y = &o->p->code[b];
	if (x->code != CODE_PLACE || y->code != CODE_PLACE || x->a != y->a)
		return false;
	for (uint32_t k = 0; k < x->c; k++)
		if (!same_value(o, x->b + k, y->b + k, 0))
			return false;
	return true;
}

/* Which instruction makes the address; ncode: none or several do, or it is a function's. */
static uint32_t place_of(const struct order *o, uint32_t address)
{
	uint32_t by = o->p->ncode;

	for (uint32_t at = 0; at < o->p->ncode; at++) {
		if (!o->seen[at] || o->p->code[at].code != CODE_PLACE ||
		    o->p->code[at].d != address)
			continue;
		if (by != o->p->ncode || at < o->p->entry)
			return o->p->ncode;
		by = at;
	}
	return by;
}

/* Can the loop for array k keep what turns store to written array r: one element of each, which is
 * read as that array's only? */
static bool may_keep(const struct order *o, unsigned k, unsigned r)
{
	uint32_t first = o->p->ncode;

	if (o->out->array[r] >= LIMIT_GRID_ARRAYS)
		return false;
	for (uint32_t at = 0; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];
		bool store = i->code == CODE_STORE;
		uint32_t address = store ? i->d : i->a;

		if (!o->seen[at] || (!store && (i->code != CODE_LOAD || !o->need[i->d])) ||
		    written_at(o, address) != r)
			continue;
		if (o->array[address] != o->out->array[r])
			return false;
		if (store && first == o->p->ncode)
			first = place_of(o, address);
		if (store && !same_place(o, first, place_of(o, address)))
			return false;
	}
	return true;
}

/* ---- Which comes first ---- */

/* The read at `load`, which the loop for array k needs, and every store to what it reads. */
static void compare(struct order *o, unsigned k, uint32_t load, unsigned read)
{
	for (uint32_t at = 0; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];
		bool turns;

		if (!o->seen[at] || i->code != CODE_STORE || written_at(o, i->d) != read)
			continue;
		turns = may_turn(o, load, at);
		o->turned |= turns;
		if (turns || at < load)
			o->behind[k] |= (uint8_t)(1u << read);
		if (turns || at > load) {
			o->before[k] |= (uint8_t)(1u << read);
			o->through[k][read] |= 1ull << o->array[o->p->code[load].a];
		}
	}
}

static void compare_all(struct order *o, unsigned k)
{
	o->behind[k] = o->before[k] = 0;
	memset(o->through[k], 0, sizeof o->through[k]);
	depend(o, k);
	for (uint32_t at = 0; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];
		unsigned read = i->code == CODE_LOAD ? written_at(o, i->a) : LANG_ORDER_MOST;

		if (o->seen[at] && read != LANG_ORDER_MOST && read != k && o->need[i->d])
			compare(o, k, at, read);
	}
}

/* What array k needs of others; what it needs both ways, it keeps, which may need more.  all: what
 * it needs from behind a store in any case. */
static bool find_needs(struct order *o, unsigned k, bool all)
{
	unsigned more;

	do {
		o->turned = false;
		compare_all(o, k);
		more = o->behind[k] & (all ? UINT8_MAX : o->before[k]) & ~(unsigned)o->kept[k];
		for (unsigned r = 0; r < o->narray; r++)
			if (more >> r & 1 && !may_keep(o, k, r))
				return refuse(o, o->turned ? "a loop in its turns reads and writes "
							     "one of several arrays that it writes"
							   : NEED_EACH_OTHER);
		o->kept[k] |= (uint8_t)more;
	} while (more);
	for (unsigned r = 0; r < o->narray; r++)
		if (o->kept[k] >> r & 1)
			o->through[k][r] = 1ull << o->out->array[r];
	o->behind[k] &= (uint8_t)~o->kept[k];
	o->before[k] |= o->kept[k];
	return true;
}

/* Of those not done which need array k as it is before it is stored: a bit for each. */
static unsigned needed_by(const struct order *o, unsigned k, unsigned done)
{
	unsigned by = 0;

	for (unsigned n = 0; n < o->out->n; n++)
		if (!(done >> n & 1) && o->before[n] >> k & 1)
			by |= 1u << n;
	return by;
}

/* One that needs nobody who is not done, nor is needed before; out->n: there is none. */
static unsigned next(const struct order *o, unsigned done)
{
	unsigned k = 0;

	while (k < o->out->n && (done >> k & 1 || o->behind[k] & ~done || needed_by(o, k, done)))
		k++;
	return k;
}

/* All by whom array k is needed before it is stored read its old values from now on.  false: one
 * of them needs the new ones as well. */
static bool take_old(struct order *o, unsigned k, unsigned by)
{
	for (unsigned n = 0; n < o->out->n; n++)
		if (by >> n & 1 && o->behind[n] >> k & 1)
			return false;
	for (unsigned n = 0; n < o->out->n; n++) {
		if (!(by >> n & 1))
			continue;
		o->before[n] &= (uint8_t) ~(1u << k);
		o->old[n] |= o->through[n][k];
	}
	return true;
}

/* The same, but for those that can read old values. */
static unsigned next_of_old(struct order *o, unsigned done)
{
	unsigned k = 0;

	while (k < o->out->n &&
	       (done >> k & 1 || o->behind[k] & ~done || !take_old(o, k, needed_by(o, k, done))))
		k++;
	return k;
}

static bool line_up(struct order *o)
{
	uint8_t array[LANG_ORDER_MOST];
	unsigned done = 0, n = 0;

	while (n < o->out->n) {
		unsigned k = next(o, done);

		if (k == o->out->n)
			k = next_of_old(o, done);
		if (k == o->out->n)
			return refuse(o, NEED_EACH_OTHER);
		o->out->old[n] = o->old[k];
		o->out->keeps[n] = 0;
		for (unsigned r = 0; r < o->narray; r++)
			if (o->kept[k] >> r & 1)
				o->out->keeps[n] |= 1u << o->out->array[r];
		array[n++] = o->out->array[k];
		done |= 1u << k;
	}
	memcpy(o->out->array, array, sizeof array);
	return true;
}

static bool try_order(struct order *o, bool all)
{
	bool fine = true;

	o->out->why = NULL;
	memset(o->old, 0, sizeof o->old);
	memset(o->kept, 0, sizeof o->kept);
	for (unsigned k = 0; fine && o->out->n > 1 && k < o->out->n; k++)
		fine = find_needs(o, k, all);
	return fine && line_up(o);
}

static bool find_order(struct order *o)
{
	return try_order(o, false) || try_order(o, true);
}

bool lang_order_of(struct lang_order *out, const struct lang_grid *g, uint64_t written,
		   const uint32_t *sum, unsigned nsum, const uint8_t *memory)
{
	const struct lang_program *p = g->program;
	struct order o = {.out = out, .g = g, .p = p, .memory = memory, .sum = sum, .nsum = nsum};
	bool fine;

	*out = (struct lang_order){0};
	o.seen = lang_grid_code(g);
	o.array = o.seen ? lang_grid_places(g, o.seen) : NULL;
	o.need = calloc(p->nreg + 1, sizeof *o.need);
	fine = o.seen && o.array && o.need;
	if (fine)
		(void)(find_written(&o, written) && find_order(&o));
	free(o.seen);
	free(o.array);
	free(o.need);
	return fine;
}
