/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_forms.c - sums of products of atoms, modulo 2^64. */
#include "lang_forms.h"

#include <stdlib.h>
#include <string.h>

bool lang_grow(struct lang_loops *l, void *table, uint32_t *n, uint32_t *cap, size_t bytes)
{
	void **at = table;
	uint32_t more = *cap ? 2 * *cap : 16;
	void *grown = *at;

	if (*n == *cap) {
		grown = realloc(*at, more * bytes);
		if (!grown) {
			l->full = true;
			return false;
		}
		*at = grown;
		*cap = more;
	}
	++*n;
	return true;
}

uint32_t lang_atom_new(struct lang_loops *l, struct lang_atom atom)
{
	if (!lang_grow(l, &l->atom, &l->natom, &l->cap_atom, sizeof *l->atom))
		return LANG_NONE;
	l->atom[l->natom - 1] = atom;
	return l->natom - 1;
}

uint32_t lang_form_new(struct lang_loops *l, const struct lang_form *form)
{
	const struct lang_form f = *form; /* it may lie in the table */

	if (!lang_grow(l, &l->form, &l->nform, &l->cap_form, sizeof *l->form))
		return LANG_NONE;
	l->form[l->nform - 1] = f;
	return l->nform - 1;
}

uint32_t lang_form_constant(struct lang_loops *l, int64_t v)
{
	return lang_form_new(l, &(struct lang_form){.constant = v});
}

uint32_t lang_form_atom(struct lang_loops *l, uint32_t atom)
{
	return lang_form_new(
		l, &(struct lang_form){.n = 1,
				       .term = {{.factor = 1, .atom = atom, .by = LANG_NONE}}});
}

static int64_t product(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int order(const struct lang_term *a, const struct lang_term *b)
{
	if (a->atom != b->atom)
		return a->atom < b->atom ? -1 : 1;
	return a->by < b->by ? -1 : a->by > b->by;
}

static bool put(struct lang_form *f, struct lang_term t)
{
	unsigned k = 0;

	if (!t.factor)
		return true;
	while (k < f->n && order(&f->term[k], &t) < 0)
		k++;
	if (k < f->n && !order(&f->term[k], &t)) {
		f->term[k].factor = sum(f->term[k].factor, t.factor);
		if (!f->term[k].factor)
			memmove(&f->term[k], &f->term[k + 1], (--f->n - k) * sizeof t);
		return true;
	}
	if (f->n == LANG_TERMS)
		return false;
	memmove(&f->term[k + 1], &f->term[k], (f->n++ - k) * sizeof t);
	f->term[k] = t;
	return true;
}

bool lang_form_add(struct lang_form *out, const struct lang_form *a, const struct lang_form *b,
		   int64_t factor)
{
	struct lang_form f = *a;

	f.constant = sum(a->constant, product(b->constant, factor));
	for (unsigned k = 0; k < b->n; k++) {
		struct lang_term t = b->term[k];

		t.factor = product(t.factor, factor);
		if (!put(&f, t))
			return false;
	}
	*out = f;
	return true;
}

static bool fits(int64_t a, int64_t b, int64_t factor)
{
	__int128 v = (__int128)b * factor + a;

	return v >= INT64_MIN && v <= INT64_MAX;
}

bool lang_form_add_exactly(struct lang_form *out, const struct lang_form *a,
			   const struct lang_form *b, int64_t factor)
{
	if (!fits(a->constant, b->constant, factor))
		return false;
	for (unsigned k = 0; k < b->n; k++) {
		int64_t other = 0;

		for (unsigned n = 0; n < a->n; n++)
			other = order(&a->term[n], &b->term[k]) ? other : a->term[n].factor;
		if (!fits(other, b->term[k].factor, factor))
			return false;
	}
	return lang_form_add(out, a, b, factor);
}

static bool multiplied(struct lang_form *f, const struct lang_term *a, const struct lang_term *b)
{
	struct lang_term t = {.factor = product(a->factor, b->factor)};

	if (a->by != LANG_NONE || b->by != LANG_NONE)
		return !t.factor;
	t.atom = a->atom < b->atom ? a->atom : b->atom;
	t.by = a->atom < b->atom ? b->atom : a->atom;
	return put(f, t);
}

bool lang_form_multiply(struct lang_form *out, const struct lang_form *a, const struct lang_form *b)
{
	struct lang_form f = {0}, scaled;

	if (!lang_form_add(&scaled, &f, a, b->constant))
		return false;
	f = scaled;
	if (!lang_form_add(&scaled, &f, b, a->constant))
		return false;
	f = scaled;
	f.constant = product(a->constant, b->constant);
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned k = 0; k < b->n; k++)
			if (!multiplied(&f, &a->term[i], &b->term[k]))
				return false;
	*out = f;
	return true;
}

/* ---- Questions ---- */

bool lang_loop_inside(const struct lang_loops *l, uint32_t a, uint32_t b)
{
	while (a != b && a != LANG_NONE)
		a = l->loop[a].parent;
	return a == b;
}

bool lang_atom_before(const struct lang_loops *l, uint32_t atom, uint32_t loop)
{
	const struct lang_atom *a = &l->atom[atom];
	uint32_t at = l->loop[loop].range;

	if (a->kind == ATOM_LENGTH)
		return true;
	return a->reg != LANG_NONE && a->from <= at && at <= a->last;
}

static bool atom_known(const struct lang_loops *l, uint32_t atom, uint32_t loop)
{
	return atom == LANG_NONE || lang_atom_before(l, atom, loop);
}

static bool is_number(const struct lang_loops *l, uint32_t atom, uint32_t loop)
{
	return atom != LANG_NONE && l->atom[atom].kind == ATOM_NUMBER &&
	       lang_loop_inside(l, l->atom[atom].loop, loop);
}

bool lang_form_known(const struct lang_loops *l, uint32_t form, uint32_t loop)
{
	const struct lang_form *f = &l->form[form];

	for (unsigned k = 0; k < f->n; k++) {
		const struct lang_term *t = &f->term[k];

		if (!(is_number(l, t->atom, loop) ? atom_known(l, t->by, loop)
		      : atom_known(l, t->atom, loop)
			      ? atom_known(l, t->by, loop) || is_number(l, t->by, loop)
			      : false))
			return false;
	}
	return true;
}
