/* SPDX-License-Identifier: Apache-2.0 */
/* form/instr.h - one instruction of a nest, and what everybody may know of it.
 *
 * The table says what the operands of an instruction are, whether it has a result, what
 * it does to memory and where it may stand: structural instructions by their rows in
 * instr.def, elementwise operations by theirs in proto/ops.def.  What an instruction
 * computes is known where it is done: the emitters, the interpreter, the passes that
 * rewrite it. */
#ifndef BRAZE_INSTR_H
#define BRAZE_INSTR_H

#include "ops.h"

/* Structural instructions; computing ones carry their OP_* number (< OP_END). */
enum nest_ins {
	NI_FIRST = OP_END - 1,
#define INSTR(id, name, a, b, c, result, effect, place) NI_##id,
#include "instr.def"
#undef INSTR
	NI_END
};

struct nest_instr {
	uint16_t op;	  /* OP_* of kind EW, or NI_* */
	uint8_t dtype;	  /* of the result; of the stored value for NI_STORE */
	uint8_t ltype;	  /* loop type: names the function, bz_<stem>_<ltype>; the source
			     type of OP_CAST; the input type of NI_REDUCE */
	uint16_t a, b, c; /* operands: what each is, its row says */
};

enum instr_arg {
	ARG_NONE,
	ARG_VALUE,  /* the result of an earlier instruction */
	ARG_ACCESS, /* an access of the nest */
	ARG_SCALAR, /* a scalar parameter of the nest */
	ARG_LOOP,   /* a loop that runs there */
	ARG_OP,	    /* a reduction, as ops.def numbers them */
	ARG_CHECK   /* its number among the checks of the nest, in their order: the word
		       that it reports to */
};

enum instr_result {
	RESULT_NONE,
	RESULT_HERE, /* for instructions behind it, in its own section */
	RESULT_LATER /* for those of later sections */
};

enum instr_effect {
	EFFECT_NONE,
	EFFECT_READS,	/* memory that the nest may write: stays in order with the writes */
	EFFECT_FETCHES, /* memory that the nest writes nowhere */
	EFFECT_WRITES,	/* memory: wanted though nothing uses it */
	EFFECT_FAULTS	/* reports operands that are wrong, if its result is used */
};

enum instr_place {
	PLACE_ANY,
	PLACE_REDUCED /* where the reduced loops of a nest run */
};

struct instr_row {
	const char *name; /* as printed; of an elementwise operation its stem; NULL in a
			     row that is no instruction */
	uint8_t arg[3];	  /* enum instr_arg of a, b, c */
	uint8_t result;	  /* enum instr_result */
	uint8_t effect;	  /* enum instr_effect */
	uint8_t place;	  /* enum instr_place */
};

/* Row of an instruction; one without a name or operands when there is none. */
extern const struct instr_row instr_rows[NI_END];
static inline const struct instr_row *instr_row(unsigned op)
{
	return &instr_rows[op < NI_END ? op : 0];
}

static inline bool instr_known(unsigned op)
{
	return instr_row(op)->name != NULL;
}

/* Is it an elementwise operation of ops.def? */
static inline bool instr_computes(unsigned op)
{
	return op < OP_END;
}

/* Does it name an access, a scalar or a loop (`what`)?  That is its operand a. */
static inline bool instr_names(unsigned op, enum instr_arg what)
{
	return instr_row(op)->arg[0] == what;
}

static inline bool instr_writes(unsigned op)
{
	return instr_row(op)->effect == EFFECT_WRITES;
}

/* Does it read memory, whoever writes that? */
static inline bool instr_reads(unsigned op)
{
	unsigned e = instr_row(op)->effect;

	return e == EFFECT_READS || e == EFFECT_FETCHES;
}

/* Does its place among the others count, beyond its operands? */
static inline bool instr_ordered(unsigned op)
{
	unsigned e = instr_row(op)->effect;

	return e == EFFECT_READS || e == EFFECT_WRITES;
}

/* The values that *i uses, in the order of its operands; returns how many. */
static inline unsigned instr_values(uint16_t value[3], const struct nest_instr *i)
{
	const struct instr_row *row = instr_row(i->op);
	unsigned n = 0;

	if (row->arg[0] == ARG_VALUE)
		value[n++] = i->a;
	if (row->arg[1] == ARG_VALUE)
		value[n++] = i->b;
	if (row->arg[2] == ARG_VALUE)
		value[n++] = i->c;
	return n;
}

/* Let *i use value[v] wherever it uses v. */
static inline void instr_rename(struct nest_instr *i, const uint16_t *value)
{
	const struct instr_row *row = instr_row(i->op);

	if (row->arg[0] == ARG_VALUE)
		i->a = value[i->a];
	if (row->arg[1] == ARG_VALUE)
		i->b = value[i->b];
	if (row->arg[2] == ARG_VALUE)
		i->c = value[i->c];
}

/* The operation of ops.def that *i does, an elementwise one or its reduction; OP_END when
 * it computes nothing. */
static inline unsigned instr_operation(const struct nest_instr *i)
{
	if (instr_computes(i->op))
		return i->op;
	return instr_row(i->op)->arg[2] == ARG_OP ? i->c : OP_END;
}

#endif
