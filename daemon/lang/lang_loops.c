/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_loops.c - the tree of loops, and what each integer register is at each instruction.
 *
 * In:  a checked program, whose blocks lie inside or behind each other: all jumps but CODE_LOOP's
 * go forwards, and none goes into a block.  So one pass in written order sees each register's value
 * before it is read; where ways join, or a loop begins over, registers that something on the way
 * may have written become new atoms. */
#include "lang_loops.h"

#include <stdlib.h>
#include <string.h>

#include "lang_forms.h"
#include "lang_native.h"
#include "lang_scalars.h"
#include "lang_uses.h"

struct scan {
	struct lang_loops *l;
	const struct lang_program *p;
	uint32_t *value; /* [register]: form; LANG_NONE: not asked for yet */
	uint32_t *since; /* [register]: the instruction from which on it has its value */
	uint32_t *atom;	 /* [register]: the atom that is in it; LANG_NONE */
	uint32_t *place; /* [register]: 1 + the place whose address is in it */
	bool *foreign;	 /* [register]: a function writes it */
	const union lang_reg **constant; /* [register]; NULL: it is none */
	uint32_t *low;			 /* [instruction]: where ways that join here were one */
	uint32_t *back;			 /* [instruction]: CODE_LOOP that comes back here; 0 */
	uint32_t *truth;		 /* [instruction]: form of the condition that it asks */
	uint32_t length[LANG_PARAMS * LIMIT_NDIM]; /* [array, axis]: 1 + atom */
	uint32_t loop;
};

static bool integral(unsigned type)
{
	return type < DTYPE_END && dtype_row(type)->cls <= CLASS_UINT;
}

/* ---- Registers ---- */

static void leave(struct scan *s, uint32_t reg, uint32_t last)
{
	if (s->atom[reg] != LANG_NONE)
		s->l->atom[s->atom[reg]].last = last;
	s->atom[reg] = s->value[reg] = LANG_NONE;
}

/* Instruction `at` writes it. */
static void write(struct scan *s, uint32_t reg, uint32_t at, uint32_t form)
{
	leave(s, reg, at);
	s->value[reg] = form;
	s->since[reg] = at + 1;
}

static void write_atom(struct scan *s, uint32_t reg, uint32_t from, struct lang_atom atom)
{
	atom.reg = s->foreign[reg] ? LANG_NONE : reg;
	atom.from = from;
	atom.last = UINT32_MAX;
	s->atom[reg] = lang_atom_new(s->l, atom);
	s->value[reg] = s->l->full ? LANG_NONE : lang_form_atom(s->l, s->atom[reg]);
}

static int64_t constant_of(const union lang_reg *c, unsigned type)
{
	switch (dtype_row(type)->bytes) {
	case 1:
		return type == DT_INT8 ? (int8_t)c->bits[0] : (uint8_t)c->bits[0];
	case 2:
		return type == DT_INT16 ? (int16_t)c->bits[0] : (uint16_t)c->bits[0];
	case 4:
		return type == DT_INT32 ? (int32_t)c->bits[0] : (int64_t)(uint32_t)c->bits[0];
	default:
		return c->i;
	}
}

/* The form of what is read; LANG_NONE: it is no integer. */
static uint32_t value_of(struct scan *s, uint32_t reg, unsigned type)
{
	if (!integral(type) || type == DT_UINT64 || s->l->full)
		return LANG_NONE;
	if (s->constant[reg])
		return lang_form_constant(s->l, constant_of(s->constant[reg], type));
	if (s->value[reg] == LANG_NONE)
		write_atom(s, reg, s->since[reg],
			   (struct lang_atom){.kind = ATOM_OTHER,
					      .type = (uint8_t)type,
					      .operand = {LANG_NONE, LANG_NONE, LANG_NONE}});
	return s->value[reg];
}

/* ---- Instructions ---- */

/* Sums and products of int64 are forms again. */
static bool is_form(struct scan *s, const struct lang_ins *i, const uint32_t *operand,
		    uint32_t *out)
{
	const struct lang_form *a = &s->l->form[operand[0]];
	const struct lang_form *b = operand[1] == LANG_NONE ? a : &s->l->form[operand[1]];
	struct lang_form zero = {0}, f;
	bool fine = false;

	if (i->type != DT_INT64)
		return false;
	if (i->op == OP_ADD || i->op == OP_SUBTRACT)
		fine = lang_form_add(&f, a, b, i->op == OP_ADD ? 1 : -1);
	else if (i->op == OP_NEGATIVE)
		fine = lang_form_add(&f, &zero, a, -1);
	else if (i->op == OP_MULTIPLY || i->op == OP_SQUARE)
		fine = lang_form_multiply(&f, a, b);
	else if (i->op == OP_POSITIVE)
		fine = lang_form_add(&f, &zero, a, 1);
	if (fine)
		*out = lang_form_new(s->l, &f);
	return fine;
}

static void operation(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	struct lang_atom atom = {.kind = ATOM_OP,
				 .type = i->type,
				 .op = i->op,
				 .operand = {LANG_NONE, LANG_NONE, LANG_NONE}};
	uint32_t reg, form = LANG_NONE;
	unsigned type, k = 0;
	bool known = lang_native_op(i->op, i->type) && integral(i->to);

	for (; lang_uses(&reg, &type, i, k); k++) {
		atom.operand[k] = value_of(s, reg, type);
		known = known && atom.operand[k] != LANG_NONE;
	}
	if (!known) {
		write(s, i->d, at, LANG_NONE);
	} else if (is_form(s, i, atom.operand, &form)) {
		write(s, i->d, at, form);
	} else {
		write(s, i->d, at, LANG_NONE);
		write_atom(s, i->d, at + 1, atom);
	}
}

/* Does each integer of a type stay what it is? */
static bool widens(unsigned from, unsigned to)
{
	bool sign = dtype_row(from)->cls == CLASS_INT, wanted = dtype_row(to)->cls == CLASS_INT;

	if (!integral(from) || !integral(to) || to == DT_BOOL)
		return from == to;
	return from == to || from == DT_BOOL ||
	       (dtype_row(from)->bytes < dtype_row(to)->bytes && (wanted || !sign));
}

static void length(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	uint32_t *known = &s->length[i->a * LIMIT_NDIM + i->b];

	if (!*known)
		*known =
			1 + lang_atom_new(s->l, (struct lang_atom){.kind = ATOM_LENGTH,
								   .type = DT_INT64,
								   .reg = LANG_NONE,
								   .array = i->a,
								   .axis = i->b,
								   .operand = {LANG_NONE, LANG_NONE,
									       LANG_NONE}});
	write(s, i->d, at, s->l->full ? LANG_NONE : lang_form_atom(s->l, *known - 1));
}

static void place(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	struct lang_loops *l = s->l;
	struct lang_place *x;

	if (!lang_grow(l, &l->place, &l->nplace, &l->cap_place, sizeof *l->place))
		return;
	x = &l->place[l->nplace - 1];
	*x = (struct lang_place){.at = at,
				 .loop = s->loop,
				 .array = i->a,
				 .rank = (uint8_t)i->c,
				 .index = l->nindex};
	for (uint32_t k = 0; k < i->c; k++) {
		uint32_t form = value_of(s, i->b + k, DT_INT64);

		if (lang_grow(l, &l->index, &l->nindex, &l->cap_index, sizeof *l->index))
			l->index[l->nindex - 1] = form;
	}
	s->place[i->d] = l->nplace;
}

/* What else reads or writes the element. */
static void access(struct scan *s, const struct lang_ins *i)
{
	uint32_t known = s->place[i->code == CODE_LOAD ? i->a : i->d];

	if (!known)
		return;
	s->l->place[known - 1].type = i->type;
	if (i->code == CODE_LOAD)
		s->l->place[known - 1].loads = true;
	else
		s->l->place[known - 1].stores = true;
}

static void condition(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	struct lang_loops *l = s->l;
	uint32_t form = value_of(s, i->a, DT_BOOL);
	const struct lang_form *f;

	s->truth[at] = form;
	if (form == LANG_NONE)
		return;
	f = &l->form[form];
	if (f->n != 1 || f->constant || f->term[0].factor != 1 || f->term[0].by != LANG_NONE ||
	    !lang_grow(l, &l->guard, &l->nguard, &l->cap_guard, sizeof *l->guard))
		return;
	l->guard[l->nguard - 1] = (struct lang_guard){.from = at + 1,
						      .to = i->d,
						      .atom = f->term[0].atom,
						      .holds = i->code == CODE_UNLESS};
}

/* ---- Loops ---- */

static void begin(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	struct lang_loops *l = s->l;
	struct lang_loop *x;
	uint32_t start = value_of(s, i->a, DT_INT64), stop = value_of(s, i->b, DT_INT64),
		 step = value_of(s, i->c, DT_INT64);

	if (!lang_grow(l, &l->loop, &l->nloop, &l->cap_loop, sizeof *l->loop))
		return;
	x = &l->loop[l->nloop - 1];
	*x = (struct lang_loop){.parent = s->loop,
				.range = at,
				.exit = s->p->code[at + 1].d,
				.number = i->d,
				.start = start,
				.stop = stop,
				.step = step};
	x->end = x->exit - 1;
	for (uint32_t outer = s->loop; outer != LANG_NONE; outer = l->loop[outer].parent) {
		l->loop[outer].inner = true;
		l->loop[outer].ranges |= l->form[step].n || !l->form[step].constant;
		x->depth++;
	}
	s->loop = l->nloop - 1;
}

/* Of the loops around an instruction: what it has to do with them. */
static void remark(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	for (uint32_t k = s->loop; k != LANG_NONE; k = s->l->loop[k].parent) {
		struct lang_loop *x = &s->l->loop[k];

		x->calls |= i->code == CODE_CALL;
		x->steps |= lang_on_slices(i);
		x->repeats |= i->code == CODE_LOOP && s->p->code[i->d].code != CODE_NEXT;
		x->leaves |= lang_jumps(i) && i->d >= x->exit && at != x->range + 1;
	}
}

static void number(struct scan *s, const struct lang_ins *i, uint32_t at)
{
	write(s, i->a, at, LANG_NONE);
	write_atom(s, i->a, at + 1,
		   (struct lang_atom){.kind = ATOM_NUMBER,
				      .type = DT_INT64,
				      .loop = s->loop,
				      .operand = {LANG_NONE, LANG_NONE, LANG_NONE}});
}

static void instruction(struct scan *s, uint32_t at)
{
	const struct lang_ins *i = &s->p->code[at];
	uint32_t reg;
	unsigned type;

	remark(s, i, at);
	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
		write(s, i->d, at, value_of(s, i->a, i->type));
		break;
	case CODE_CAST:
		write(s, i->d, at, widens(i->type, i->to) ? value_of(s, i->a, i->type) : LANG_NONE);
		break;
	case CODE_OP:
		operation(s, i, at);
		break;
	case CODE_LENGTH:
		length(s, i, at);
		break;
	case CODE_UNLESS:
	case CODE_WHEN:
		condition(s, i, at);
		break;
	case CODE_RANGE:
		begin(s, i, at);
		break;
	case CODE_NEXT:
		number(s, i, at);
		break;
	case CODE_PLACE:
		place(s, i, at);
		break;
	case CODE_LOAD:
	case CODE_STORE:
		access(s, i);
		/* fall through */
	default:
		for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
			write(s, reg, at, LANG_NONE);
	}
}

/* ---- Ways that join ---- */

/* Registers that instructions first ... last write are new from `at` on. */
static void renew(struct scan *s, uint32_t first, uint32_t last, uint32_t at)
{
	uint32_t reg;
	unsigned type;

	for (uint32_t k = first; k <= last; k++) {
		const struct lang_ins *i = &s->p->code[k];

		for (unsigned n = 0; lang_makes(&reg, &type, i, n); n++) {
			leave(s, reg, at - 1);
			s->since[reg] = at;
		}
		if (i->code == CODE_NEXT) {
			leave(s, i->a, at - 1);
			s->since[i->a] = at;
		}
	}
}

/* Where only one way has left to come here, at the question whether a of "a and b" or "a or b"
 * tells already, the register has both parts. */
static void joined(struct scan *s, uint32_t from, uint32_t at)
{
	const struct lang_ins *ask = &s->p->code[from], *move = &s->p->code[at - 1];
	uint32_t first = s->truth[from], second = LANG_NONE;
	bool both = (ask->code == CODE_UNLESS || ask->code == CODE_WHEN) && ask->d == at &&
		    move->code == CODE_MOVE && move->d == ask->a && first != LANG_NONE;

	if (both)
		second = value_of(s, ask->a, DT_BOOL);
	renew(s, from, at - 1, at);
	if (both && second != LANG_NONE)
		write_atom(s, ask->a, at,
			   (struct lang_atom){.kind = ATOM_OP,
					      .type = DT_BOOL,
					      .op = ask->code == CODE_UNLESS ? OP_LOGICAL_AND
									     : OP_LOGICAL_OR,
					      .operand = {first, second, LANG_NONE}});
}

static void join(struct scan *s, uint32_t at)
{
	if (s->low[at] < at)
		joined(s, s->low[at], at);
	if (s->back[at])
		renew(s, at, s->back[at], at);
}

/* Of each instruction the earliest from which a way forwards leads here or over here, and comes
 * together here. */
static bool joins(struct scan *s)
{
	const struct lang_program *p = s->p;
	uint32_t *from = malloc(3 * (size_t)p->ncode * sizeof *from), *over = from + p->ncode;
	uint32_t *head = over + p->ncode;

	if (!from)
		return false;
	for (uint32_t at = 0; at < p->ncode; at++) {
		s->low[at] = over[at] = at;
		head[at] = LANG_NONE;
	}
	for (uint32_t at = p->entry; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code == CODE_LOOP) {
			s->back[i->d] = at;
		} else if (lang_jumps(i)) {
			from[at] = head[i->d];
			head[i->d] = at;
		}
	}
	for (uint32_t at = p->entry; at < p->ncode; at++) {
		for (uint32_t k = head[at]; k != LANG_NONE; k = from[k])
			if (over[k] < s->low[at])
				s->low[at] = over[k];
		for (uint32_t k = s->low[at] + 1; k < at; k++)
			if (s->low[at] < over[k])
				over[k] = s->low[at];
	}
	free(from);
	return true;
}

/* ---- The whole ---- */

static void prepare(struct scan *s)
{
	const struct lang_program *p = s->p;
	uint32_t reg;
	unsigned type;

	memset(s->value, 0xff, (p->nreg + 1) * sizeof *s->value);
	memset(s->atom, 0xff, (p->nreg + 1) * sizeof *s->atom);
	memset(s->truth, 0xff, p->ncode * sizeof *s->truth);
	for (uint32_t k = 0; k < p->nconst; k++)
		s->constant[p->constant[k].reg] = &p->constant[k].value;
	for (uint32_t at = 0; at < p->entry; at++)
		for (unsigned k = 0; lang_makes(&reg, &type, &p->code[at], k); k++)
			s->foreign[reg] = true;
	for (uint32_t k = 0; k < p->nreg; k++)
		s->since[k] = p->entry;
	s->loop = LANG_NONE;
}

/* A place is repeated where a while stands between it and its loop. */
static void repeats(struct scan *s)
{
	for (uint32_t at = s->p->entry; at < s->p->ncode; at++) {
		const struct lang_ins *i = &s->p->code[at];

		if (i->code != CODE_LOOP || s->p->code[i->d].code == CODE_NEXT)
			continue;
		for (uint32_t k = 0; k < s->l->nplace; k++) {
			struct lang_place *x = &s->l->place[k];

			if (x->at >= i->d && x->at < at &&
			    (x->loop == LANG_NONE || s->l->loop[x->loop].range < i->d))
				x->repeated = true;
		}
	}
}

static void scan(struct scan *s)
{
	const struct lang_program *p = s->p;

	prepare(s);
	s->l->full |= !joins(s);
	for (uint32_t at = p->entry; at < p->ncode && !s->l->full; at++) {
		while (s->loop != LANG_NONE && at == s->l->loop[s->loop].exit)
			s->loop = s->l->loop[s->loop].parent;
		join(s, at);
		/* What a function has written is new after each call. */
		if (p->code[at].code == CODE_MOVE && s->foreign[p->code[at].a])
			write(s, p->code[at].a, at, LANG_NONE);
		instruction(s, at);
	}
	repeats(s);
}

struct lang_loops *lang_loops_of(const struct lang_program *p)
{
	struct lang_loops *l = calloc(1, sizeof *l);
	struct scan *s = calloc(1, sizeof *s);
	uint32_t *words = calloc(4 * ((size_t)p->nreg + 1) + 3 * (size_t)p->ncode, sizeof *words);

	if (l && s && words) {
		*s = (struct scan){.l = l, .p = p, .value = words};
		s->since = s->value + p->nreg + 1;
		s->atom = s->since + p->nreg + 1;
		s->place = s->atom + p->nreg + 1;
		s->low = s->place + p->nreg + 1;
		s->back = s->low + p->ncode;
		s->truth = s->back + p->ncode;
		s->foreign = calloc(p->nreg + 1, 1);
		s->constant = calloc(p->nreg + 1, sizeof *s->constant);
		l->program = p;
		l->full = !s->foreign || !s->constant;
		if (!l->full && p->ncode <= LANG_LOOPS_CODE) {
			scan(s);
			lang_scalars(l, s->foreign);
		}
		free(s->foreign);
		free(s->constant);
	}
	if (!s || !words || (l && l->full)) {
		lang_loops_free(l);
		l = NULL;
	}
	free(words);
	free(s);
	return l;
}

void lang_loops_free(struct lang_loops *l)
{
	if (l) {
		free(l->loop);
		free(l->place);
		free(l->guard);
		free(l->scalar);
		free(l->form);
		free(l->atom);
		free(l->index);
	}
	free(l);
}
