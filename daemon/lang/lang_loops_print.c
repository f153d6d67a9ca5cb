/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_loops_print.c - the form of loops as lines for people and tests. */
#include <stdio.h>
#include <stdlib.h>

#include "lang_loops.h"

#define DEPTH 8 /* of operations inside each other that are shown */

static void put_form(FILE *f, const struct lang_loops *l, uint32_t form, int depth);

static void put_atom(FILE *f, const struct lang_loops *l, uint32_t atom, int depth)
{
	const struct lang_atom *a = &l->atom[atom];

	if (a->kind == ATOM_NUMBER)
		fprintf(f, "i%u", a->loop);
	else if (a->kind == ATOM_LENGTH)
		fprintf(f, "n%u.%u", a->array, a->axis);
	else if (a->reg == LANG_NONE)
		fprintf(f, "?@%u", a->from);
	else if (a->kind == ATOM_OTHER || !depth)
		fprintf(f, "r%u@%u", a->reg, a->from);
	else {
		fprintf(f, "%s.%s(", op_text(a->op), dtype_row(a->type)->name);
		for (unsigned k = 0; k < 3 && a->operand[k] != LANG_NONE; k++) {
			fputs(k ? ", " : "", f);
			put_form(f, l, a->operand[k], depth - 1);
		}
		fputc(')', f);
	}
}

static void put_form(FILE *f, const struct lang_loops *l, uint32_t form, int depth)
{
	const struct lang_form *x;

	if (form == LANG_NONE) {
		fputc('?', f);
		return;
	}
	x = &l->form[form];
	for (unsigned k = 0; k < x->n; k++) {
		const struct lang_term *t = &x->term[k];

		fputs(k ? " + " : "", f);
		if (t->factor != 1)
			fprintf(f, "%lld*", (long long)t->factor);
		put_atom(f, l, t->atom, depth);
		if (t->by != LANG_NONE) {
			fputc('*', f);
			put_atom(f, l, t->by, depth);
		}
	}
	if (x->constant || !x->n)
		fprintf(f, "%s%lld", x->n ? " + " : "", (long long)x->constant);
}

static void put_scalar(FILE *f, const struct lang_scalar *s)
{
	static const char *const kind[] = {"private", "accumulated", "carried"};

	fprintf(f, "  scalar r%u %s: %s", s->reg,
		s->type == DTYPE_END ? "address" : dtype_row(s->type)->name, kind[s->kind]);
	if (s->kind == SCALAR_ACCUMULATED)
		fprintf(f, " by %s", op_text(s->op));
	fprintf(f, "%s%s\n", s->always ? ", always" : "", s->after ? ", read after" : "");
}

static void put_loop(FILE *f, const struct lang_loops *l, uint32_t k)
{
	const struct lang_loop *x = &l->loop[k];

	fprintf(f, "loop %u at %u..%u", k, x->range, x->end);
	if (x->parent != LANG_NONE)
		fprintf(f, " in %u", x->parent);
	fputs(": from ", f);
	put_form(f, l, x->start, DEPTH);
	fputs(" to ", f);
	put_form(f, l, x->stop, DEPTH);
	fputs(" by ", f);
	put_form(f, l, x->step, DEPTH);
	fprintf(f, "%s%s%s%s%s%s\n", x->inner ? ", inner" : "", x->leaves ? ", leaves" : "",
		x->calls ? ", calls" : "", x->steps ? ", steps" : "", x->repeats ? ", repeats" : "",
		x->ranges ? ", ranges" : "");
	for (uint32_t n = 0; n < x->nscalar; n++)
		put_scalar(f, &l->scalar[x->first_scalar + n]);
}

static void put_place(FILE *f, const struct lang_loops *l, const struct lang_place *x)
{
	fprintf(f, "place %u", x->at);
	if (x->loop != LANG_NONE)
		fprintf(f, " in %u", x->loop);
	fprintf(f, ":%s%s%s %s a%u[", x->loads ? " load" : "", x->stores ? " store" : "",
		x->repeated ? " repeated" : "", dtype_row(x->type)->name, x->array);
	for (unsigned k = 0; k < x->rank; k++) {
		fputs(k ? ", " : "", f);
		put_form(f, l, l->index[x->index + k], DEPTH);
	}
	fputc(']', f);
	if (x->loop != LANG_NONE) {
		uint32_t outer = LANG_NONE;

		for (uint32_t o = x->loop; o != LANG_NONE; o = l->loop[o].parent) {
			bool known = true;

			for (unsigned k = 0; k < x->rank; k++)
				known = known && lang_form_known(l, l->index[x->index + k], o);
			outer = known ? o : outer;
		}
		if (outer == LANG_NONE)
			fputs(", not known", f);
		else
			fprintf(f, ", known in %u", outer);
	}
	fputc('\n', f);
}

char *lang_loops_print(const struct lang_loops *l)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	for (uint32_t k = 0; k < l->nloop; k++)
		put_loop(f, l, k);
	for (uint32_t k = 0; k < l->nplace; k++)
		put_place(f, l, &l->place[k]);
	for (uint32_t k = 0; k < l->nguard; k++) {
		const struct lang_guard *g = &l->guard[k];

		fprintf(f, "from %u to %u: %s", g->from, g->to, g->holds ? "" : "not ");
		put_atom(f, l, g->atom, DEPTH);
		fputc('\n', f);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
