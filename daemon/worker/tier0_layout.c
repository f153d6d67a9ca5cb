/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_layout.c - phases by what needs a value, registers by liveness; see
 * tier0_layout.h. */
#include "tier0_layout.h"

#include <string.h>

static int operands(const struct nest_instr *in, uint16_t out[3])
{
	int n = 0;

	if (in->op == NI_STORE || in->op == NI_GATHER) {
		out[0] = in->b;
		return 1;
	}
	if (in->op == NI_REDUCE)
		n = 1;
	else if (in->op < OP_END)
		n = op_row(in->op) ? op_row(in->op)->arity : 0;
	out[0] = in->a;
	out[1] = in->b;
	out[2] = in->c;
	return n;
}

/* Mark what each phase needs, backwards from stores and reductions. */
static void mark_phases(struct tier0_layout *lay, const struct nest *s)
{
	uint16_t arg[3];

	memset(lay->phase, 0, sizeof lay->phase);
	for (int i = s->ninstr - 1; i >= 0; i--) {
		const struct nest_instr *in = &s->instr[i];
		int need;

		if (in->op == NI_STORE)
			lay->phase[i] = s->nred && i >= s->post ? POST : PRE;
		else if (in->op == NI_REDUCE)
			lay->phase[i] = POST;
		if (in->op == NI_INDEX && lay->phase[i])
			lay->indexed |= 1u << in->a;
		need = in->op == NI_REDUCE ? PRE : lay->phase[i];
		for (int k = operands(in, arg) - 1; k >= 0; k--)
			lay->phase[arg[k]] |= (uint8_t)need;
	}
}

/* Give the values of one phase registers from `first` on; returns the number used.
 * An operand's register is free again after its last reader, not before. */
static int assign(struct tier0_layout *lay, const struct nest *s, int phase, int first)
{
	uint16_t last[LIMIT_NEST_INSTRS] = {0}, spare[LIMIT_NEST_INSTRS], arg[3];
	int nspare = 0, used = first;

	for (int i = 0; i < s->ninstr; i++) {
		bool reads = s->instr[i].op == NI_REDUCE ? phase == PRE : lay->phase[i] & phase;

		for (int k = operands(&s->instr[i], arg) - 1; reads && k >= 0; k--)
			/* What a reduction takes is read when the block is complete,
			 * whoever else reads it after the reduction's place. */
			if (last[arg[k]] != s->ninstr)
				last[arg[k]] =
					s->instr[i].op == NI_REDUCE ? s->ninstr : (uint16_t)i;
	}
	for (int i = 0; i < s->ninstr; i++) {
		if (!(lay->phase[i] & phase) || tier0_permanent(&s->instr[i]))
			continue;
		if (s->instr[i].op != NI_STORE)
			lay->reg[phase - 1][i] = nspare ? spare[--nspare] : (uint16_t)used++;
		for (int k = operands(&s->instr[i], arg) - 1; k >= 0; k--) {
			if (last[arg[k]] != i || tier0_permanent(&s->instr[arg[k]]))
				continue;
			spare[nspare++] = lay->reg[phase - 1][arg[k]];
			last[arg[k]] = s->ninstr; /* the same operand twice frees once */
		}
	}
	return used;
}

/* Does an instruction that reads value i look at it twice, or is not a loop? */
static bool wants_own(const struct nest *s, int reader)
{
	unsigned op = s->instr[reader].op;

	/* A client can scribble on its arena between a check and what is checked. */
	return op == NI_GATHER || op == OP_INDEX;
}

/* Loads whose last reader comes before anything is stored, or stores it. */
static void mark_lent(struct tier0_layout *lay, const struct nest *s, int phase)
{
	int first = s->ninstr, last[LIMIT_NEST_INSTRS] = {0};
	bool own[LIMIT_NEST_INSTRS] = {false};
	uint16_t arg[3];

	for (int i = s->ninstr - 1; i >= 0; i--) {
		bool reads = s->instr[i].op == NI_REDUCE ? phase == PRE : lay->phase[i] & phase;

		if (s->instr[i].op == NI_STORE && lay->phase[i] & phase)
			first = i;
		for (int k = operands(&s->instr[i], arg) - 1; reads && k >= 0; k--) {
			/* Reductions take their values when the block is complete. */
			int at = s->instr[i].op == NI_REDUCE ? s->ninstr : i;

			last[arg[k]] = last[arg[k]] > at ? last[arg[k]] : at;
			own[arg[k]] |= wants_own(s, i);
		}
	}
	for (int i = 0; i < s->ninstr; i++)
		if (lay->phase[i] & phase && s->instr[i].op == NI_LOAD &&
		    s->instr[i].dtype != DT_BOOL && !own[i] && last[i] <= first)
			lay->lend[i] |= (uint8_t)phase;
}

/* Is value i read by store `to` alone, with nothing that looks at memory in between? */
static bool goes_straight(const struct tier0_layout *lay, const struct nest *s, int phase, int i,
			  int to)
{
	uint16_t arg[3];

	for (int k = i + 1; k < s->ninstr; k++) {
		const struct nest_instr *in = &s->instr[k];
		bool memory = in->op == NI_LOAD || in->op == NI_GATHER || in->op == NI_STORE;

		if (in->op == NI_REDUCE ? phase != PRE : !(lay->phase[k] & phase))
			continue;
		if (k < to && memory)
			return false;
		for (int n = operands(in, arg) - 1; n >= 0; n--)
			if ((k != to && arg[n] == i) || (k <= to && lay->lend[arg[n]] & phase))
				return false;
	}
	return true;
}

static void mark_straight(struct tier0_layout *lay, const struct nest *s, int phase)
{
	for (int to = 0; to < s->ninstr; to++) {
		int i = s->instr[to].b;

		if (s->instr[to].op == NI_STORE && lay->phase[to] & phase &&
		    s->instr[i].op < OP_END && s->instr[i].op != OP_INDEX &&
		    goes_straight(lay, s, phase, i, to))
			lay->into[phase - 1][i] = (uint16_t)(to + 1);
	}
}

void tier0_layout_init(struct tier0_layout *lay, const struct nest *s)
{
	int keep = 0, pre, post;
	size_t widest = 1;

	memset(lay, 0, sizeof *lay);
	mark_phases(lay, s);
	for (int i = 0; i < s->ninstr; i++) {
		const struct nest_instr *in = &s->instr[i];
		const struct dtype_row *d = dtype_row(in->dtype);

		if (d && d->bytes > widest)
			widest = d->bytes;
		if (tier0_permanent(in)) {
			lay->reg[0][i] = lay->reg[1][i] = (uint16_t)keep++;
			if (in->op == NI_REDUCE && lay->nreduce < LIMIT_NEST_REDUCES)
				lay->reduce[lay->nreduce++] = (uint16_t)i;
		}
	}
	pre = assign(lay, s, PRE, keep);
	post = assign(lay, s, POST, keep);
	lay->nreg = (uint16_t)(pre > post ? pre : post);
	for (int phase = PRE; phase <= POST; phase++) {
		mark_lent(lay, s, phase);
		mark_straight(lay, s, phase);
	}
	lay->block = widest <= 4 ? 1024 : 512;
	lay->reg_bytes = (size_t)lay->block * widest;
}
