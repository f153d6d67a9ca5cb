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

/* Of all stores to written array k, or all that is added to a scalar.  Functions of the text are
 * gone through as well. */
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
		if ((i->code == CODE_STORE && written_at(o, i->d) == k) ||
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

/* The read at `load`, which the loop for array k needs, and every store to what it reads. */
static bool compare(struct order *o, unsigned k, uint32_t load, unsigned read)
{
	for (uint32_t at = 0; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];

		if (!o->seen[at] || i->code != CODE_STORE || written_at(o, i->d) != read)
			continue;
		if (may_turn(o, load, at))
			return refuse(o, "a loop in its turns reads and writes one of several "
					 "arrays that it writes");
		if (at < load) {
			o->behind[k] |= (uint8_t)(1u << read);
		} else {
			o->before[k] |= (uint8_t)(1u << read);
			o->through[k][read] |= 1ull << o->array[o->p->code[load].a];
		}
	}
	return true;
}

static bool compare_all(struct order *o, unsigned k)
{
	depend(o, k);
	for (uint32_t at = 0; at < o->p->ncode; at++) {
		const struct lang_ins *i = &o->p->code[at];
		unsigned read = i->code == CODE_LOAD ? written_at(o, i->a) : LANG_ORDER_MOST;

		if (!o->seen[at] || read == LANG_ORDER_MOST || read == k || !o->need[i->d])
			continue;
		if (!compare(o, k, at, read))
			return false;
	}
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
			return refuse(o, "its stores to several arrays need each other");
		o->out->old[n] = o->old[k];
		array[n++] = o->out->array[k];
		done |= 1u << k;
	}
	memcpy(o->out->array, array, sizeof array);
	return true;
}

static bool find_order(struct order *o)
{
	bool fine = true;

	for (unsigned k = 0; fine && o->out->n > 1 && k < o->out->n; k++)
		fine = compare_all(o, k);
	return fine && line_up(o);
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
