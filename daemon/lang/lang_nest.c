/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_nest.c - one walk over a loop's instructions, with the values of the call.
 *
 * In:  a checked program, whose loops stand inside each other and whose other jumps go forwards, so
 * that written order is an order of the flow.  Registers that the loop does not write have the
 * values of now; one that a single instruction writes, before it is read in each turn, may be a sum
 * over loop numbers; of all others nothing is known.  Every index must be such a sum and lie inside
 * its array in every turn: so no turn can end in an error, and addresses are sums, too. */
#include "lang_nest.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"

#define NOT_WRITTEN UINT32_MAX
#define FUNCTIONS   (UINT32_MAX - 1) /* functions of the text write it: it lives for a statement */
#define WRITTEN_MAX 1024
#define CODE_MAX    8192
#define GUESS	    32 /* turns of a loop that is not known yet */

/* A register that the loop writes. */
struct written {
	uint32_t reg, writes, reads, adds, add_at;
	uint16_t op;
	bool early; /* read by a turn that has not written it */
	bool known; /* value is what it has */
	int access; /* of an address; -1 */
	struct lang_affine value;
};

struct walk {
	const struct lang_program *p;
	const struct lang_loops *loops; /* NULL: there is none */
	const union lang_reg *reg;	/* NULL: only what holds in every call is asked */
	const struct lang_array *array;
	struct lang_nest *out;
	uint32_t range, end, words;
	uint32_t *slot; /* [register] */
	struct written *w;
	uint32_t nw;
	uint64_t *now; /* a bit for each written register: this turn has written it */
	uint64_t *
		*before; /* [instruction]: the same, of the jumps to it; NULL: there are none yet */
	bool gone;	 /* behind a jump: only other jumps come here */
	struct lang_turns turns[LANG_ACCESSES];
	struct lang_reach access[LANG_ACCESSES];
	uint32_t place[LANG_ACCESSES];
	bool maybe[LANG_ACCESSES]; /* not in every turn of its loops */
	unsigned nturns, naccess, depth;
	uint32_t path[LANG_PATH], path_end[LANG_PATH], path_range[LANG_PATH];
	uint64_t many[LANG_PATH + 1]; /* turns of the loops around, together */
	bool full;		      /* no memory */
};

static bool refuse(struct walk *w, enum lang_why why, uint32_t at)
{
	if (!w->out->why) {
		w->out->why = why;
		w->out->at = at;
	}
	return false;
}

uint32_t lang_nest_end(const struct lang_program *p, uint32_t range)
{
	uint32_t at = range + 1;

	while (p->code[at].code != CODE_LOOP || p->code[at].d != range + 1)
		at++;
	return at;
}

/* ---- Which registers are written ---- */

static bool has(const uint64_t *set, uint32_t k)
{
	return set[k / 64] >> k % 64 & 1;
}

static void count_write(struct walk *w, uint32_t reg)
{
	if (w->slot[reg] == FUNCTIONS)
		return;
	if (w->slot[reg] == NOT_WRITTEN) {
		if (w->nw == WRITTEN_MAX)
			return;
		w->slot[reg] = w->nw;
		w->w[w->nw++] = (struct written){.reg = reg, .access = -1};
	}
	w->w[w->slot[reg]].writes++;
}

static void find_written(struct walk *w)
{
	uint32_t reg;
	unsigned type;

	memset(w->slot, 0xff, w->p->nreg * sizeof *w->slot);
	for (uint32_t at = 0; at < w->p->entry; at++)
		for (unsigned k = 0; lang_makes(&reg, &type, &w->p->code[at], k); k++)
			w->slot[reg] = FUNCTIONS;
	for (uint32_t at = w->range + 1; at < w->end; at++) {
		const struct lang_ins *i = &w->p->code[at];

		if (i->code == CODE_NEXT)
			count_write(w, i->a);
		else if (i->code != CODE_RANGE)
			for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
				count_write(w, reg);
	}
}

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

static bool value_of(struct walk *w, uint32_t reg, struct lang_affine *out)
{
	uint32_t slot = w->slot[reg];

	if (slot == FUNCTIONS || !w->reg)
		return false;
	if (slot == NOT_WRITTEN) {
		*out = (struct lang_affine){.constant = w->reg[reg].i};
		used(w->out, reg, w->reg[reg].i);
		return true;
	}
	*out = w->w[slot].value;
	return w->w[slot].known;
}

static bool is_constant(const struct lang_affine *f)
{
	for (unsigned k = 0; k < LANG_PATH; k++)
		if (f->factor[k])
			return false;
	return true;
}

static bool scaled(struct lang_affine *out, const struct lang_affine *a, int64_t by)
{
	bool over = __builtin_mul_overflow(a->constant, by, &out->constant);

	for (unsigned k = 0; k < LANG_PATH; k++)
		over |= __builtin_mul_overflow(a->factor[k], by, &out->factor[k]);
	return !over;
}

static bool added(struct lang_affine *out, const struct lang_affine *a, const struct lang_affine *b)
{
	bool over = __builtin_add_overflow(a->constant, b->constant, &out->constant);

	for (unsigned k = 0; k < LANG_PATH; k++)
		over |= __builtin_add_overflow(a->factor[k], b->factor[k], &out->factor[k]);
	return !over;
}

static bool quotient(struct lang_affine *out, const struct lang_affine *a,
		     const struct lang_affine *b)
{
	if (!is_constant(a) || !is_constant(b) || b->constant < 1)
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
		return added(out, a, b);
	case OP_SUBTRACT:
		return scaled(&minus, b, -1) && added(out, a, &minus);
	case OP_MULTIPLY:
		return is_constant(a)	? scaled(out, b, a->constant)
		       : is_constant(b) ? scaled(out, a, b->constant)
					: false;
	case OP_NEGATIVE:
		return scaled(out, a, -1);
	case OP_FLOOR_DIVIDE:
		return quotient(out, a, b);
	case OP_MINIMUM:
	case OP_MAXIMUM:
		*out = (a->constant < b->constant) == (op == OP_MINIMUM) ? *a : *b;
		return is_constant(a) && is_constant(b);
	default:
		return false;
	}
}

/* The value of what an instruction makes, where it is a sum. */
static bool makes_sum(struct walk *w, const struct lang_ins *i, struct lang_affine *out)
{
	struct lang_affine a, b = {0};

	if (!w->reg)
		return false;
	switch ((enum lang_code)i->code) {
	case CODE_LENGTH:
		*out = (struct lang_affine){.constant = w->array[i->a].shape.dim[i->b]};
		return true;
	case CODE_MOVE:
		return i->type == DT_INT64 && value_of(w, i->a, out);
	case CODE_OP:
		return i->type == DT_INT64 && value_of(w, i->a, &a) &&
		       (op_row(i->op)->arity < 2 || value_of(w, i->b, &b)) &&
		       computed(out, i->op, &a, &b);
	default:
		return false;
	}
}

/* ---- Reads and writes ---- */

/* Is it r = r op x, for an op whose order does not matter? */
static bool adds(const struct lang_ins *i, uint32_t reg)
{
	unsigned cls = dtype_row(i->type)->cls;

	if (i->code != CODE_OP || i->d != reg || i->to != i->type || (i->a == reg) == (i->b == reg))
		return false;
	if (cls != CLASS_INT && cls != CLASS_UINT)
		return false;
	return i->op == OP_ADD || i->op == OP_MULTIPLY || i->op == OP_MINIMUM ||
	       i->op == OP_MAXIMUM || i->op == OP_BITWISE_AND || i->op == OP_BITWISE_OR ||
	       i->op == OP_BITWISE_XOR || (i->op == OP_SUBTRACT && i->a == reg);
}

static void read_one(struct walk *w, uint32_t at, uint32_t reg)
{
	const struct lang_ins *i = &w->p->code[at];
	struct written *x;

	if (w->slot[reg] >= w->nw)
		return;
	x = &w->w[w->slot[reg]];
	x->reads++;
	x->early |= !has(w->now, w->slot[reg]);
	if (adds(i, reg) && (!x->adds || x->op == i->op)) {
		x->adds++;
		x->op = i->op;
		x->add_at = at;
	}
}

static void write_one(struct walk *w, uint32_t at, uint32_t reg)
{
	struct written *x;

	if (w->slot[reg] >= w->nw)
		return;
	x = &w->w[w->slot[reg]];
	x->known = x->writes == 1 && makes_sum(w, &w->p->code[at], &x->value);
	w->now[w->slot[reg] / 64] |= (uint64_t)1 << w->slot[reg] % 64;
}

/* What a jump to an instruction has written. */
static void arrives(struct walk *w, uint32_t target)
{
	uint64_t **set = &w->before[target - w->range];

	if (!*set) {
		*set = malloc(w->words * sizeof **set);
		if (*set)
			memcpy(*set, w->now, w->words * sizeof **set);
		w->full |= !*set;
		return;
	}
	for (uint32_t k = 0; k < w->words; k++)
		(*set)[k] &= w->now[k];
}

static void landed(struct walk *w, uint32_t at)
{
	const uint64_t *set = w->before[at - w->range];

	if (set)
		for (uint32_t k = 0; k < w->words; k++)
			w->now[k] = w->gone ? set[k] : w->now[k] & set[k];
	w->gone = false;
}

/* ---- Loops, places ---- */

static struct lang_stretch here(const struct walk *w)
{
	return (struct lang_stretch){.turns = w->turns, .path = w->path, .depth = w->depth};
}

static bool in_int64(struct walk *w, const struct lang_affine *f)
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
			return true;
		}
	return value_of(w, loop->number, out);
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
		return value_of(w, atom->reg, out);
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
		if (!scaled(&b, &a, t->factor) || !added(&sum, out, &b))
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

	if (*n < LANG_CONDITIONS && scaled(&minus, b, -1) && added(&out[*n], a, &minus) &&
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
		   form_value(w, atom->operand[1], &b, 0) && in_int64(w, &a) && in_int64(w, &b)) {
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
static unsigned conditions(struct walk *w, uint32_t at, struct lang_affine *out)
{
	unsigned n = 0;

	for (uint32_t k = 0; w->loops && k < w->loops->nguard; k++) {
		const struct lang_guard *g = &w->loops->guard[k];

		if (g->from > w->range && g->from <= at && at < g->to)
			truth_of(w, &w->loops->atom[g->atom], g->holds, out, &n, 0);
	}
	return n;
}

/* ---- Places ---- */

/* The index from 0 on, where it lies inside in every turn that comes here. */
static bool inside(struct walk *w, const struct lang_reach *here, struct lang_affine *index,
		   int64_t n)
{
	struct lang_stretch s = {w->turns, w->path, w->depth, here->ncondition, here->condition};
	int64_t base = w->p->base;
	bool front = lang_depend_within(&s, index, base, base + n - 1);

	if (!front && !lang_depend_within(&s, index, -n, -1))
		return false;
	index->constant += front ? -base : n;
	return true;
}

/* Does the jump leave one of the loops inside, around here? */
static bool is_break(const struct walk *w, uint32_t jump)
{
	for (unsigned k = 1; k < w->depth; k++)
		if (w->path_range[k] < jump && jump < w->path_end[k] &&
		    w->p->code[jump].d > w->path_end[k])
			return true;
	return false;
}

/* Is it passed by in some turns of its loops? */
static bool is_conditional(const struct walk *w, uint32_t at)
{
	for (uint32_t k = w->range + 1; k < w->end; k++) {
		const struct lang_ins *i = &w->p->code[k];

		if (lang_jumps(i) && i->code != CODE_NEXT && i->code != CODE_LOOP &&
		    ((k < at && i->d > at) || is_break(w, k)))
			return true;
	}
	return false;
}

static bool enter(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	struct lang_affine step;
	struct lang_turns *t = &w->turns[w->nturns];

	if (w->depth == LANG_PATH || w->nturns == LANG_ACCESSES)
		return refuse(w, WHY_LARGE, at);
	memset(t, 0, sizeof *t);
	t->step = 1;
	if (w->reg && (!value_of(w, i->a, &t->start) || !value_of(w, i->b, &t->stop) ||
		       !value_of(w, i->c, &step) || !is_constant(&step) || !step.constant ||
		       !in_int64(w, &t->start) || !in_int64(w, &t->stop)))
		return refuse(w, WHY_BOUNDS, at);
	t->step = w->reg ? step.constant : 1;
	w->many[w->depth + 1] = GUESS;
	if (w->reg)
		w->many[w->depth + 1] = lang_depend_turns(w->turns, w->path, w->depth, t);
	if (__builtin_mul_overflow(w->many[w->depth], w->many[w->depth + 1],
				   &w->many[w->depth + 1]))
		w->many[w->depth + 1] = UINT64_MAX;
	w->path[w->depth] = w->nturns++;
	w->path_range[w->depth] = at;
	w->path_end[w->depth++] = lang_nest_end(w->p, at);
	return true;
}

static bool place(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	const struct lang_array *x = &w->array[i->a];
	struct lang_reach *access = &w->access[w->naccess];
	struct lang_affine index, part;

	if (!w->reg)
		return true;
	if (w->naccess == LANG_ACCESSES)
		return refuse(w, WHY_LARGE, at);
	*access = (struct lang_reach){.address = {.constant = (int64_t)(uintptr_t)x->at}};
	w->maybe[w->naccess] = is_conditional(w, at);
	if (w->maybe[w->naccess])
		access->ncondition = conditions(w, at, access->condition);
	for (uint32_t k = 0; k < i->c; k++) {
		if (!value_of(w, i->b + k, &index) || !inside(w, access, &index, x->shape.dim[k]))
			return refuse(w, WHY_INDEX, at);
		if (!scaled(&part, &index, x->stride[k]) ||
		    !added(&access->address, &access->address, &part))
			return refuse(w, WHY_LARGE, at);
	}
	access->nloop = w->depth;
	memcpy(access->loop, w->path, sizeof access->loop);
	w->place[w->naccess] = at;
	w->w[w->slot[i->d]].access = (int)w->naccess++;
	return true;
}

static bool touch(struct walk *w, uint32_t at, const struct lang_ins *i, uint32_t address)
{
	int a = w->slot[address] < w->nw ? w->w[w->slot[address]].access : -1;

	if (!w->reg)
		return true;
	if (a < 0)
		return refuse(w, WHY_INDEX, at);
	w->access[a].bytes = dtype_row(i->type)->bytes;
	w->access[a].writes |= i->code == CODE_STORE;
	return true;
}

/* ---- One instruction ---- */

static bool jump(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	if (i->d > w->end || (i->code != CODE_LOOP && i->d <= at))
		return refuse(w, WHY_LEAVES, at);
	if (i->code == CODE_LOOP) {
		if (w->depth && w->path_end[w->depth - 1] == at)
			w->depth--;
		w->gone = true;
		return true;
	}
	arrives(w, i->d);
	w->gone = i->code == CODE_JUMP;
	return true;
}

static bool next(struct walk *w, const struct lang_ins *i)
{
	struct written *x = &w->w[w->slot[i->a]];

	arrives(w, i->d);
	write_one(w, (uint32_t)(i - w->p->code), i->a);
	x->known = x->writes == 1 && w->reg;
	x->value = (struct lang_affine){0};
	x->value.factor[w->depth - 1] = 1;
	return true;
}

static bool one(struct walk *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	uint32_t reg;
	unsigned type;

	if (lang_on_slices(i))
		return refuse(w, WHY_SLICES, at);
	for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
		read_one(w, at, reg);
	if (i->code == CODE_RANGE)
		return enter(w, at, i);
	if (i->code == CODE_NEXT)
		return next(w, i);
	if (i->code == CODE_END || i->code == CODE_RETURN)
		return refuse(w, WHY_LEAVES, at);
	if (lang_jumps(i))
		return jump(w, at, i);
	for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
		write_one(w, at, reg);
	if (i->code == CODE_PLACE)
		return place(w, at, i);
	if (i->code == CODE_LOAD || i->code == CODE_STORE)
		return touch(w, at, i, i->code == CODE_LOAD ? i->a : i->d);
	return true;
}

/* ---- The whole ---- */

/* Is the register read by what is not in the loop? */
static bool outside(const struct walk *w, uint32_t reg)
{
	const struct lang_program *p = w->p;
	uint32_t other;
	unsigned type;

	for (unsigned k = 0; k < p->nresult; k++)
		if (p->param[p->nparam + k].reg == reg)
			return true;
	for (uint32_t at = p->entry; at < p->ncode; at++)
		for (unsigned k = 0;
		     (at <= w->range || at > w->end) && lang_uses(&other, &type, &p->code[at], k);
		     k++)
			if (other == reg)
				return true;
	return false;
}

/* Written by each turn before it is read, added up, or in the way. */
static void scalars(struct walk *w)
{
	for (uint32_t k = 0; k < w->nw && !w->out->why; k++) {
		const struct written *x = &w->w[k];
		const struct lang_ins *add = &w->p->code[x->add_at];

		if (x->early && x->adds && x->reads == x->adds && x->writes == x->adds &&
		    w->out->nsum < LANG_SUMS) {
			w->out->sum[w->out->nsum++] =
				(struct lang_sum_of){x->reg, x->add_at, add->type, x->op};
		} else if (x->early || (!has(w->now, k) && outside(w, x->reg))) {
			w->out->reg = x->reg;
			refuse(w, WHY_SCALAR, w->range);
		}
	}
}

static void depends(struct walk *w)
{
	struct lang_dependence *d = &w->out->depends;

	*d = lang_depend(w->turns, w->access, w->naccess, 0);
	if (d->answer == LANG_INDEPENDENT)
		return;
	refuse(w, d->answer == LANG_CARRIED ? WHY_DEPENDS : WHY_UNDECIDED, w->place[d->first]);
	w->out->other = w->place[d->second];
	w->out->certain = !w->maybe[d->first] && !w->maybe[d->second];
}

static void walk(struct walk *w)
{
	bool fine;

	w->many[0] = 1;
	if (w->p->code[w->range].op == CLAIM_SEQUENTIAL) {
		refuse(w, WHY_SAID, w->range);
		return;
	}
	fine = enter(w, w->range, &w->p->code[w->range]);
	w->out->turns = w->many[1];
	for (uint32_t at = w->range + 1; fine && at < w->end && !w->full; at++) {
		landed(w, at);
		w->out->work += w->many[w->depth];
		fine = one(w, at);
	}
	if (!fine || w->full)
		return;
	landed(w, w->end);
	scalars(w);
	if (!w->out->why && w->reg)
		depends(w);
}

bool lang_nest_of(struct lang_nest *out, const struct lang_program *p,
		  const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		  const struct lang_array *array)
{
	struct walk *w = calloc(1, sizeof *w);
	uint32_t end = lang_nest_end(p, range);
	bool fine = false;

	memset(out, 0, sizeof *out);
	out->end = end;
	if (!w)
		return false;
	w->p = p;
	w->reg = reg;
	w->loops = loops;
	w->array = array;
	w->out = out;
	w->range = range;
	w->end = end;
	if (end - range > CODE_MAX) {
		refuse(w, WHY_LARGE, range);
		free(w);
		return true;
	}
	w->slot = malloc(p->nreg * sizeof *w->slot);
	w->w = malloc(WRITTEN_MAX * sizeof *w->w);
	if (w->slot && w->w)
		find_written(w);
	w->words = w->nw / 64 + 1;
	w->now = calloc(w->words, sizeof *w->now);
	w->before = calloc(end - range + 2, sizeof *w->before);
	if (w->slot && w->w && w->now && w->before) {
		if (w->nw == WRITTEN_MAX)
			refuse(w, WHY_LARGE, range);
		else
			walk(w);
		fine = !w->full;
	}
	for (uint32_t k = 0; w->before && k < end - range + 2; k++)
		free(w->before[k]);
	free(w->before);
	free(w->now);
	free(w->w);
	free(w->slot);
	free(w);
	return fine;
}

bool lang_nest_may(const struct lang_program *p, uint32_t range)
{
	struct lang_nest nest;

	return lang_nest_of(&nest, p, NULL, range, NULL, NULL) && nest.why == WHY_NONE;
}
