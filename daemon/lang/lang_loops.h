/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_loops.h - what a kernel's counted loops do, for those who change how they run.
 *
 * In:  a checked program.  Out: the tree of its counted loops; for each element that is named in
 * the kernel its indices as forms over loop numbers and other integers; conditions that hold in a
 * stretch of instructions; and which scalars pass from turn to turn.  Nothing here depends on a
 * call: whoever knows the arguments puts numbers in.  Functions of the text name no arrays and are
 * not looked into.
 *
 * A form is a sum of products of atoms.  An atom is an integer that a register gets at one
 * instruction; wherever that instruction is done again there is a new one.  Integers of 64 bits
 * wrap, so that a form has the register's value modulo 2^64: where the form itself, in numbers
 * without end, lies inside int64, it is the value. */
#ifndef BRAZE_LANG_LOOPS_H
#define BRAZE_LANG_LOOPS_H

#include "lang.h"

#define LANG_NONE	UINT32_MAX
#define LANG_TERMS	6	 /* of a form; what has more is an atom of its own */
#define LANG_LOOPS_CODE 0x10000u /* longer programs are taken to have no loops */
#define LANG_SCALARS_WORK                                                                          \
	(1u << 19) /* instructions looked at for scalars; then all are carried                     \
		    */

enum lang_atom_kind {
	ATOM_NUMBER, /* of loop `loop` */
	ATOM_LENGTH, /* extent of axis `axis` of array `array`: the same everywhere */
	ATOM_OP,     /* the operation op of `type` on `operand`, which cannot fail */
	ATOM_OTHER   /* what register reg has: a parameter, a loaded element, one of two values */
};

struct lang_atom {
	uint8_t kind, type; /* type: of ATOM_OP the operands', else its own */
	uint16_t op;
	uint32_t reg;
	/* Register reg has it from before instruction `from` to before instruction `last`, where
	 * that way is gone. */
	uint32_t from, last;
	uint32_t loop, array, axis;
	uint32_t operand[3]; /* forms; LANG_NONE behind the last */
};

struct lang_term {
	int64_t factor;	   /* not 0 */
	uint32_t atom, by; /* factor * atom, or, where by is not LANG_NONE, factor * atom * by */
};

struct lang_form {
	int64_t constant;
	unsigned n;
	struct lang_term term[LANG_TERMS]; /* by rising atoms */
};

enum lang_scalar_kind {
	SCALAR_PRIVATE,	    /* each turn writes it before it reads it */
	SCALAR_ACCUMULATED, /* each write is r = r op x, and nothing else reads it */
	SCALAR_CARRIED	    /* a turn reads what the turn before has left */
};

/* A register that a loop writes and that is written at several instructions, or comes in from
 * before the kernel; what one instruction alone makes is read where it was made. */
struct lang_scalar {
	uint32_t reg;
	uint8_t kind, type; /* type: DTYPE_END of an address */
	uint16_t op;	    /* of an accumulator; SUBTRACT: r = r - x */
	bool always;	    /* each whole turn writes it, before it reads it */
	bool after;	    /* is it read after the loop? */
};

struct lang_loop {
	uint32_t parent, depth;		/* LANG_NONE and 0: it is in no other */
	uint32_t range, end, exit;	/* CODE_RANGE, which CODE_NEXT follows; CODE_LOOP; behind */
	uint32_t number;		/* register */
	uint32_t start, stop, step;	/* forms, as of before the loop */
	uint32_t first_scalar, nscalar; /* among lang_loops.scalar; of the loops inside, too */
	bool inner;			/* there is a counted loop inside */
	/* Of all that is inside, at any depth. */
	bool leaves;  /* something goes on behind the loop or further before its end */
	bool calls;   /* of functions of the text */
	bool steps;   /* instructions on slices and reductions */
	bool repeats; /* while */
	bool ranges;  /* loops whose step may be 0, which is an error */
};

/* An element that is named. */
struct lang_place {
	uint32_t at;   /* CODE_PLACE */
	uint32_t loop; /* the innermost; LANG_NONE */
	uint32_t array;
	uint8_t type, rank;
	bool loads, stores, repeated; /* repeated: in a while of the loop */
	uint32_t index;		      /* rank forms, from this one on in lang_loops.index */
};

/* From instruction `from` to before instruction `to` the condition is true, or, where it is not
 * `holds`, false. */
struct lang_guard {
	uint32_t from, to, atom;
	bool holds;
};

struct lang_loops {
	const struct lang_program *program;
	struct lang_loop *loop; /* in written order: parents before what is inside */
	struct lang_place *place;
	struct lang_guard *guard;
	struct lang_scalar *scalar;
	struct lang_form *form;
	struct lang_atom *atom;
	uint32_t *index;
	uint32_t nloop, nplace, nguard, nscalar, nform, natom, nindex;
	uint32_t cap_loop, cap_place, cap_guard, cap_scalar, cap_form, cap_atom, cap_index;
	bool full; /* no memory */
};

/* NULL: no memory.  The program must live as long. */
struct lang_loops *lang_loops_of(const struct lang_program *p);
void lang_loops_free(struct lang_loops *l); /* NULL is fine */
/* For people and tests, to be freed with free(); NULL: no memory. */
char *lang_loops_print(const struct lang_loops *l);

/* Is loop a inside b, or b itself?  LANG_NONE is inside nothing, and all is inside LANG_NONE. */
bool lang_loop_inside(const struct lang_loops *l, uint32_t a, uint32_t b);
/* Has the register of the atom its value before the loop begins, and all through it?  (Numbers of
 * the loop and of those inside have none then; an ATOM_OP may be computed of its operands.) */
bool lang_atom_before(const struct lang_loops *l, uint32_t atom, uint32_t loop);
/* Is the form a sum of products of numbers with constants and of what is known before the loop,
 * where numbers are of that loop and of those inside?  Else there are other atoms in it. */
bool lang_form_known(const struct lang_loops *l, uint32_t form, uint32_t loop);
/* out = a + b * factor, modulo 2^64; false: it has too many terms. */
bool lang_form_add(struct lang_form *out, const struct lang_form *a, const struct lang_form *b,
		   int64_t factor);
/* The same in numbers without end: false, too, where one would leave int64. */
bool lang_form_add_exactly(struct lang_form *out, const struct lang_form *a,
			   const struct lang_form *b, int64_t factor);

#endif
