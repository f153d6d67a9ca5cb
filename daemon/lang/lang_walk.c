/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_walk.c - what registers have in the turns of a loop, and what its conditions say.
 *
 * In:  a walk that has come to an instruction.  Out: sums over loop numbers. */
#include "lang_walk.h"

#include <string.h>

/* ---- What a register has ---- */

static void used(struct lang_nest *out, uint32_t reg, int64_t value)
{
	for (unsigned k = 0; k < out->nused && k < LANG_USED; k++)
		if (out->used[k] == reg)
			return;
	if (out->nused < LANG_USED) {
		out->used[out->nused] = reg;
		out->value[out->nused] = value;
	}
	out->nused += out->nused <= LANG_USED;
}

bool lang_walk_value(struct walk *w, uint32_t reg, struct lang_affine *out)
{
	uint32_t slot = w->slot[reg];

	if (slot == FUNCTIONS)
		return false;
	if (!w->reg) {
		*out = (struct lang_affine){0};
		return slot == NOT_WRITTEN || w->w[slot].known;
	}
	if (slot == NOT_WRITTEN) {
		*out = (struct lang_affine){.constant = w->reg[reg].i};
		used(w->out, reg, w->reg[reg].i);
		return true;
	}
	*out = w->w[slot].value;
	return w->w[slot].known;
}

bool lang_affine_constant(const struct lang_affine *f)
{
	for (unsigned k = 0; k < LANG_PATH; k++)
		if (f->factor[k])
			return false;
	return true;
}

bool lang_affine_scaled(struct lang_affine *out, const struct lang_affine *a, int64_t by)
{
	bool over = __builtin_mul_overflow(a->constant, by, &out->constant);

	for (unsigned k = 0; k < LANG_PATH; k++)
		over |= __builtin_mul_overflow(a->factor[k], by, &out->factor[k]);
	return !over;
}

bool lang_affine_added(struct lang_affine *out, const struct lang_affine *a,
		       const struct lang_affine *b)
{
	bool over = __builtin_add_overflow(a->constant, b->constant, &out->constant);

	for (unsigned k = 0; k < LANG_PATH; k++)
		over |= __builtin_add_overflow(a->factor[k], b->factor[k], &out->factor[k]);
	return !over;
}

static bool quotient(struct lang_affine *out, const struct lang_affine *a,
		     const struct lang_affine *b)
{
	if (!lang_affine_constant(a) || !lang_affine_constant(b) || b->constant < 1)
		return false;
	*out = (struct lang_affine){.constant = a->constant / b->constant -
						(a->constant % b->constant < 0)};
	return true;
}

static bool computed(struct lang_affine *out, unsigned op, const struct lang_affine *a,
		     const struct lang_affine *b)
{
	struct lang_affine minus;

	switch (op) {
	case OP_ADD:
		return lang_affine_added(out, a, b);
	case OP_SUBTRACT:
		return lang_affine_scaled(&minus, b, -1) && lang_affine_added(out, a, &minus);
	case OP_MULTIPLY:
		return lang_affine_constant(a)	 ? lang_affine_scaled(out, b, a->constant)
		       : lang_affine_constant(b) ? lang_affine_scaled(out, a, b->constant)
						 : false;
	case OP_NEGATIVE:
		return lang_affine_scaled(out, a, -1);
	case OP_FLOOR_DIVIDE:
		return quotient(out, a, b);
	case OP_MINIMUM:
	case OP_MAXIMUM:
		*out = (a->constant < b->constant) == (op == OP_MINIMUM) ? *a : *b;
		return lang_affine_constant(a) && lang_affine_constant(b);
	default:
		return false;
	}
}

/* Are there values of which `computed` makes a sum? */
static bool may_compute(unsigned op)
{
	return op == OP_ADD || op == OP_SUBTRACT || op == OP_MULTIPLY || op == OP_NEGATIVE ||
	       op == OP_FLOOR_DIVIDE || op == OP_MINIMUM || op == OP_MAXIMUM;
}

bool lang_walk_made(struct walk *w, const struct lang_ins *i, struct lang_affine *out)
{
	struct lang_affine a, b = {0};

	*out = (struct lang_affine){0};
	switch ((enum lang_code)i->code) {
	case CODE_LENGTH:
		if (w->reg)
			out->constant = w->array[i->a].shape.dim[i->b];
		return true;
	case CODE_MOVE:
		return i->type == DT_INT64 && lang_walk_value(w, i->a, out);
	case CODE_OP:
		return i->type == DT_INT64 && lang_walk_value(w, i->a, &a) &&
		       (op_row(i->op)->arity < 2 || lang_walk_value(w, i->b, &b)) &&
		       (w->reg ? computed(out, i->op, &a, &b) : may_compute(i->op));
	default:
		return false;
	}
}

bool lang_walk_limit(struct walk *w, uint32_t reg, unsigned side, struct lang_affine *out)
{
	uint32_t slot = w->slot[reg];

	if (lang_walk_value(w, reg, out))
		return true;
	if (slot >= w->nw || !w->w[slot].limited[side])
		return false;
	*out = w->w[slot].limit[side];
	w->widened = true;
	return true;
}

/* A maximum is at least either of what it is of: of the one that is a number places are proven. */
void lang_walk_limits(struct walk *w, const struct lang_ins *i, struct written *x)
{
	unsigned side = i->op == OP_MINIMUM;
	struct lang_affine a, b;

	x->limited[0] = x->limited[1] = false;
	if (!w->reg || i->type != DT_INT64)
		return;
	if (i->code == CODE_MOVE && w->slot[i->a] < w->nw) {
		memcpy(x->limited, w->w[w->slot[i->a]].limited, sizeof x->limited);
		memcpy(x->limit, w->w[w->slot[i->a]].limit, sizeof x->limit);
	}
	if (i->code != CODE_OP || (i->op != OP_MINIMUM && i->op != OP_MAXIMUM))
		return;
	x->limited[side] = lang_walk_limit(w, i->a, side, &a);
	if (lang_walk_limit(w, i->b, side, &b) && (!x->limited[side] || lang_affine_constant(&b))) {
		x->limited[side] = true;
		a = b;
	}
	x->limit[side] = a;
}

bool lang_walk_unbounded(const struct walk *w, unsigned k)
{
	return w->unbounded >> w->path[k] & 1;
}

static struct lang_stretch here(const struct walk *w)
{
	return (struct lang_stretch){.turns = w->turns, .path = w->path, .depth = w->depth};
}

bool lang_walk_small(struct walk *w, const struct lang_affine *f)
{
	const int64_t far = (int64_t)1 << 60;
	struct lang_stretch s = here(w);

	return lang_depend_within(&s, f, -far, far);
}

/* ---- Conditions ---- */

static bool form_value(struct walk *w, uint32_t form, struct lang_affine *out, unsigned depth);

static bool number_value(struct walk *w, const struct lang_loop *loop, struct lang_affine *out)
{
	*out = (struct lang_affine){0};
	for (unsigned k = 0; k < w->depth; k++)
		if (w->path_range[k] == loop->range) {
			out->factor[k] = 1;
			return !lang_walk_unbounded(w, k);
		}
	return lang_walk_value(w, loop->number, out);
}

static bool atom_value(struct walk *w, uint32_t number, struct lang_affine *out, unsigned depth)
{
	const struct lang_atom *atom = &w->loops->atom[number];
	struct lang_affine a, b = {0};

	if (atom->kind == ATOM_NUMBER)
		return number_value(w, &w->loops->loop[atom->loop], out);
	*out = (struct lang_affine){0};
	if (atom->kind == ATOM_LENGTH) {
		out->constant = w->array[atom->array].shape.dim[atom->axis];
		return true;
	}
	if (atom->type == DT_INT64 && atom->reg != LANG_NONE && w->slot[atom->reg] == NOT_WRITTEN &&
	    atom->from <= w->range && w->range <= atom->last)
		return lang_walk_value(w, atom->reg, out);
	return atom->kind == ATOM_OP && atom->type == DT_INT64 && atom->operand[2] == LANG_NONE &&
	       form_value(w, atom->operand[0], &a, depth + 1) &&
	       (atom->operand[1] == LANG_NONE || form_value(w, atom->operand[1], &b, depth + 1)) &&
	       computed(out, atom->op, &a, &b);
}

static bool form_value(struct walk *w, uint32_t form, struct lang_affine *out, unsigned depth)
{
	const struct lang_form *f;
	struct lang_affine a, b, sum;

	if (form == LANG_NONE || depth > LANG_PATH)
		return false;
	f = &w->loops->form[form];
	*out = (struct lang_affine){.constant = f->constant};
	for (unsigned k = 0; k < f->n; k++) {
		const struct lang_term *t = &f->term[k];

		if (!atom_value(w, t->atom, &a, depth))
			return false;
		if (t->by != LANG_NONE) {
			sum = a;
			if (!atom_value(w, t->by, &b, depth) ||
			    !computed(&a, OP_MULTIPLY, &sum, &b))
				return false;
		}
		if (!lang_affine_scaled(&b, &a, t->factor) || !lang_affine_added(&sum, out, &b))
			return false;
		*out = sum;
	}
	return true;
}

/* a - b - least, which is at least 0. */
static void condition(struct lang_affine *out, unsigned *n, const struct lang_affine *a,
		      const struct lang_affine *b, int64_t least)
{
	struct lang_affine minus;

	if (*n < LANG_CONDITIONS && lang_affine_scaled(&minus, b, -1) &&
	    lang_affine_added(&out[*n], a, &minus) &&
	    !__builtin_sub_overflow(out[*n].constant, least, &out[*n].constant))
		++*n;
}

/* Of two integers, that op is so. */
static void compared(struct lang_affine *out, unsigned *n, unsigned op, const struct lang_affine *a,
		     const struct lang_affine *b)
{
	if (op == OP_LESS || op == OP_LESS_EQUAL)
		condition(out, n, b, a, op == OP_LESS);
	else if (op == OP_GREATER || op == OP_GREATER_EQUAL)
		condition(out, n, a, b, op == OP_GREATER);
	if (op == OP_EQUAL) {
		condition(out, n, a, b, 0);
		condition(out, n, b, a, 0);
	}
}

static unsigned opposite(unsigned op)
{
	static const uint16_t pairs[][2] = {
		{OP_LESS, OP_GREATER_EQUAL}, {OP_LESS_EQUAL, OP_GREATER}, {OP_EQUAL, OP_NOT_EQUAL}};

	for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++)
		for (unsigned side = 0; side < 2; side++)
			if (op == pairs[k][side])
				return pairs[k][!side];
	return OP_END;
}

static void truth(struct walk *w, uint32_t form, bool holds, struct lang_affine *out, unsigned *n,
		  unsigned depth);

/* The atom is true, or, where it does not hold, false. */
static void truth_of(struct walk *w, const struct lang_atom *atom, bool holds,
		     struct lang_affine *out, unsigned *n, unsigned depth)
{
	struct lang_affine a, b;

	if (atom->kind != ATOM_OP)
		return;
	if (atom->op == OP_LOGICAL_NOT) {
		truth(w, atom->operand[0], !holds, out, n, depth + 1);
	} else if (atom->op == (holds ? OP_LOGICAL_AND : OP_LOGICAL_OR)) {
		truth(w, atom->operand[0], holds, out, n, depth + 1);
		truth(w, atom->operand[1], holds, out, n, depth + 1);
	} else if (atom->type == DT_INT64 && atom->operand[1] != LANG_NONE &&
		   form_value(w, atom->operand[0], &a, 0) &&
		   form_value(w, atom->operand[1], &b, 0) && lang_walk_small(w, &a) &&
		   lang_walk_small(w, &b)) {
		compared(out, n, holds ? atom->op : opposite(atom->op), &a, &b);
	}
}

static void truth(struct walk *w, uint32_t form, bool holds, struct lang_affine *out, unsigned *n,
		  unsigned depth)
{
	const struct lang_form *f = form == LANG_NONE ? NULL : &w->loops->form[form];

	if (f && depth < LANG_PATH && f->n == 1 && !f->constant && f->term[0].factor == 1 &&
	    f->term[0].by == LANG_NONE)
		truth_of(w, &w->loops->atom[f->term[0].atom], holds, out, n, depth);
}

/* What holds where instruction `at` is done. */
unsigned lang_walk_conditions(struct walk *w, uint32_t at, struct lang_affine *out)
{
	unsigned n = 0;

	for (uint32_t k = 0; w->loops && k < w->loops->nguard; k++) {
		const struct lang_guard *g = &w->loops->guard[k];

		if (g->from > w->range && g->from <= at && at < g->to)
			truth_of(w, &w->loops->atom[g->atom], g->holds, out, &n, 0);
	}
	return n;
}
