/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_layout.c - what is needed, backwards; registers by liveness, each section
 * (nest.h) for itself; see tier0_layout.h. */
#include "tier0_layout.h"

#include <string.h>

#include "base/xalloc.h"
#include "tier0.h"

/* A section of a nest: instructions [from, to). */
struct stretch {
	const struct nest *n;
	int from, to;
};

static struct stretch stretch_of(const struct nest *n, unsigned section)
{
	return (struct stretch){n, (int)nest_begin(n, section), (int)nest_end(n, section)};
}

/* Reductions take their values when a block is complete: behind all instructions of their
 * section. */
static int reads_at(const struct stretch *p, int i)
{
	return p->n->instr[i].op == NI_REDUCE ? p->to : i;
}

/* Mark what is needed, from stores and reductions. */
static void mark_running(struct tier0_layout *lay, const struct nest *n)
{
	uint16_t arg[3];

	for (int i = n->ninstr - 1; i >= 0; i--) {
		const struct nest_instr *in = &n->instr[i];

		if (instr_writes(in->op) || in->op == NI_REDUCE)
			lay->runs[i] = true;
		if (!lay->runs[i])
			continue;
		if (instr_names(in->op, ARG_LOOP))
			lay->indexed |= 1u << in->a;
		for (unsigned k = instr_values(arg, in); k-- > 0;)
			lay->runs[arg[k]] = true;
	}
}

/* Give the values of a section registers from `first` on; returns the number used.  An
 * operand's register is free again after its last reader, not before. */
static int assign(struct tier0_layout *lay, const struct stretch *p, int first)
{
	int last[LIMIT_NEST_INSTRS] = {0}, nspare = 0, used = first;
	uint16_t spare[LIMIT_NEST_INSTRS], arg[3];

	for (int i = p->from; i < p->to; i++)
		for (unsigned k = lay->runs[i] ? instr_values(arg, &p->n->instr[i]) : 0; k-- > 0;)
			if (last[arg[k]] < reads_at(p, i))
				last[arg[k]] = reads_at(p, i);
	for (int i = p->from; i < p->to; i++) {
		const struct nest_instr *in = &p->n->instr[i];

		if (!lay->runs[i] || in->op == NI_SCALAR || in->op == NI_REDUCE)
			continue;
		if (instr_row(in->op)->result != RESULT_NONE && !lay->own[i])
			lay->reg[i] = nspare ? spare[--nspare] : (uint16_t)used++;
		for (unsigned k = instr_values(arg, in); k-- > 0;) {
			if (last[arg[k]] != i || lay->own[arg[k]])
				continue;
			spare[nspare++] = lay->reg[arg[k]];
			last[arg[k]] = p->to; /* the same operand twice frees once */
		}
	}
	return used;
}

/* Does an instruction look at its values twice, or is it no loop? */
static bool wants_own(const struct nest_instr *in)
{
	unsigned effect = instr_row(in->op)->effect;

	/* A client can scribble on its arena between a check and what is checked. */
	return effect == EFFECT_FETCHES || effect == EFFECT_FAULTS;
}

/* Loads whose last reader comes before anything is stored, or stores it. */
static void mark_lent(struct tier0_layout *lay, const struct stretch *p)
{
	int first = p->to, last[LIMIT_NEST_INSTRS] = {0};
	bool own[LIMIT_NEST_INSTRS] = {false};
	uint16_t arg[3];

	for (int i = p->to - 1; i >= p->from; i--) {
		const struct nest_instr *in = &p->n->instr[i];

		if (!lay->runs[i])
			continue;
		if (instr_writes(in->op))
			first = i;
		for (unsigned k = instr_values(arg, in); k-- > 0;) {
			if (last[arg[k]] < reads_at(p, i))
				last[arg[k]] = reads_at(p, i);
			own[arg[k]] |= wants_own(in);
		}
	}
	for (int i = p->from; i < p->to; i++)
		lay->lend[i] = lay->runs[i] && p->n->instr[i].op == NI_LOAD && !lay->own[i] &&
			       p->n->instr[i].dtype != DT_BOOL && !own[i] && last[i] <= first;
}

/* Is value i read by store `to` alone, with nothing that looks at memory in between? */
static bool goes_straight(const struct tier0_layout *lay, const struct stretch *p, int i, int to)
{
	uint16_t arg[3];

	for (int k = i + 1; k < p->to; k++) {
		const struct nest_instr *in = &p->n->instr[k];

		if (!lay->runs[k])
			continue;
		if (k < to && nest_touches(in->op))
			return false;
		for (unsigned n = instr_values(arg, in); n-- > 0;)
			if ((k != to && arg[n] == i) || (k <= to && lay->lend[arg[n]]))
				return false;
	}
	return true;
}

/* What an operation computes that is no check may go where it is stored. */
static void mark_straight(struct tier0_layout *lay, const struct stretch *p)
{
	for (int to = p->from; to < p->to; to++) {
		const struct nest_instr *in = &p->n->instr[to];
		unsigned from;

		if (in->op != NI_STORE)
			continue;
		from = p->n->instr[in->b].op;
		if (instr_computes(from) && instr_row(from)->effect == EFFECT_NONE &&
		    !lay->own[in->b] && goes_straight(lay, p, in->b, to))
			lay->into[in->b] = (uint16_t)(to + 1);
	}
}

static bool is_of(const struct nest_instr *in, unsigned op, unsigned dtype)
{
	return in->op == op && in->dtype == dtype && (op == NI_LOAD || in->ltype == dtype);
}

/* The two loads whose product the value at instruction k is; false: it is something else. */
static bool is_product(uint16_t pair[2], const struct nest *n, unsigned k, unsigned dtype)
{
	const struct nest_instr *in = &n->instr[k];
	bool square = is_of(in, OP_SQUARE, dtype);

	if (!square && !is_of(in, OP_MULTIPLY, dtype))
		return false;
	pair[0] = in->a;
	pair[1] = square ? in->a : in->b;
	return is_of(&n->instr[pair[0]], NI_LOAD, dtype) &&
	       is_of(&n->instr[pair[1]], NI_LOAD, dtype);
}

/* Loops of products (loops/product.h) make the same sums in a seventh of the time. */
static void mark_dots(struct tier0_layout *lay, const struct nest *n)
{
	const struct nest_instr *sum = &n->instr[lay->nreduce ? lay->reduce[0] : 0];
	int end = (int)nest_end(n, SECTION_BODY), runs = 0;

	if (lay->nreduce != 1 || n->nmore || sum->c != OP_SUM || sum->ltype != sum->dtype ||
	    (sum->dtype != DT_FLOAT64 && sum->dtype != DT_FLOAT32) ||
	    !is_product(lay->pair, n, sum->a, sum->dtype))
		return;
	for (int i = (int)nest_begin(n, SECTION_BODY); i < end; i++)
		runs += lay->runs[i] && n->instr[i].op != NI_SCALAR;
	lay->dots = runs == 3 + (lay->pair[0] != lay->pair[1]);
}

void tier0_layout_init(struct tier0_layout *lay, const struct nest *s)
{
	int keep = 0;
	size_t widest = 1;

	memset(lay, 0, sizeof *lay);
	mark_running(lay, s);
	for (int i = 0; i < s->ninstr; i++) {
		const struct nest_instr *in = &s->instr[i];
		const struct dtype_row *d = dtype_row(in->dtype);

		if (d && d->bytes > widest)
			widest = d->bytes;
		/* Numbers are there before the first block; others wait for later sections. */
		lay->own[i] = in->op == NI_SCALAR || instr_row(in->op)->result == RESULT_LATER ||
			      (s->nmore && nest_kept(s, (unsigned)i));
		if (lay->own[i]) {
			lay->reg[i] = (uint16_t)keep++;
			if (in->op == NI_REDUCE && lay->nreduce < LIMIT_NEST_REDUCES)
				lay->reduce[lay->nreduce++] = (uint16_t)i;
		}
	}
	for (unsigned section = 0; section < nest_sections(s); section++) {
		struct stretch p = stretch_of(s, section);
		int used = assign(lay, &p, keep);

		lay->nreg = (uint16_t)(used > lay->nreg ? used : lay->nreg);
		mark_lent(lay, &p);
		mark_straight(lay, &p);
	}
	mark_dots(lay, s);
	lay->block = widest <= 4 ? 1024 : 512;
	lay->reg_bytes = (size_t)lay->block * widest;
}

void *tier0_prepare(const struct nest *spec)
{
	struct tier0_layout *lay = xmalloc(sizeof *lay);

	tier0_layout_init(lay, spec);
	return lay;
}

/* Bytes of factors from which on loops of sums of products are worth what else the interpreter
 * takes. */
#define LONG_DOT 4096

bool tier0_quicker(const struct nest *spec, const void *prepared, const struct bz_args *a)
{
	const struct tier0_layout *lay = prepared;
	int64_t total = a->extent[spec->npar];

	if (!lay->dots || spec->nred != 1 || spec->vec < spec->npar)
		return false;
	const struct nest_instr *in = spec->instr, *x = &in[lay->pair[0]], *y = &in[lay->pair[1]];
	int64_t bytes = dtype_row(x->dtype)->bytes, last = spec->npar;

	return total * bytes >= LONG_DOT && a->stride[x->a * LIMIT_NDIM + last] == bytes &&
	       a->stride[y->a * LIMIT_NDIM + last] == bytes;
}
