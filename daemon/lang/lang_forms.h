/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_forms.h - sums of products of atoms, as lang_loops.c makes them. */
#ifndef BRAZE_LANG_FORMS_H
#define BRAZE_LANG_FORMS_H

#include "lang_loops.h"

/* One more at the end of the table; false: no memory, and l->full. */
bool lang_grow(struct lang_loops *l, void *table, uint32_t *n, uint32_t *cap, size_t bytes);
/* Numbers of a new atom and a new form.  LANG_NONE: no memory. */
uint32_t lang_atom_new(struct lang_loops *l, struct lang_atom atom);
uint32_t lang_form_new(struct lang_loops *l, const struct lang_form *form);
uint32_t lang_form_constant(struct lang_loops *l, int64_t v);
uint32_t lang_form_atom(struct lang_loops *l, uint32_t atom);
/* out = a * b; false: it has too many terms, or terms of three atoms. */
bool lang_form_multiply(struct lang_form *out, const struct lang_form *a,
			const struct lang_form *b);

#endif
