/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_baseline.h - machine code of a program that is made at once, instruction by
 * instruction: what its writers share.
 *
 * Registers of the program lie in the processor's (lang_alloc.h) or in the machine's memory.  What
 * is not written out here is done by the machine's own step, between a store of what that reads
 * and a load of what it makes; so is what is rare, errors above all, behind the code. */
#ifndef BRAZE_LANG_BASELINE_H
#define BRAZE_LANG_BASELINE_H

#include "lang_alloc.h"
#include "lang_steps.h"
#include "lang_x86.h"

#define HOME 16 /* bytes of a register in memory */

/* A jump to an instruction's code. */
struct way {
	size_t jump;
	uint32_t to;
};

/* What is rare of instruction `at`: the machine's step, then back. */
struct rare {
	size_t jump, back;
	uint32_t at;
};

struct baseline {
	struct x86 b;
	const struct lang_kernel *k;
	const struct lang_program *p;
	struct lang_alloc *a;
	bool unit;	/* every array's last axis lies closely */
	bool failed;	/* no memory */
	uint32_t after; /* instructions below are written already, with one before */
	/* [register]: a look at a loop may ask for it, though nothing in the loop names it: what
	 * bounds, indices and conditions were made of.  Its memory has its value at all times. */
	bool *shown;
	size_t *place, *begin; /* [instruction]: its code; of a function, with the loads before */
	size_t exit;
	struct way *way;
	struct rare *rare;
	uint32_t nway, nrare;
	uint32_t array_at[LANG_PARAMS]; /* [array]: its first word behind the registers */
	uint32_t words;
};

/* lang_baseline_step.c: registers, memory, the machine's steps.
 *
 * The register of the processor that has this one's value, which is loaded into `spare` where it
 * lies in memory or is a constant.  Integers fill theirs as their type says. */
unsigned lang_base_whole(struct baseline *w, uint32_t reg, unsigned type, unsigned spare);
unsigned lang_base_real(struct baseline *w, uint32_t reg, unsigned type, unsigned spare);
/* Where what it makes may be computed: its own, unless that is `not`, or `spare`. */
unsigned lang_base_target(const struct baseline *w, uint32_t reg, unsigned other, unsigned spare);
/* It becomes what is in `from`. */
void lang_base_put_whole(struct baseline *w, uint32_t reg, unsigned from);
void lang_base_put_real(struct baseline *w, uint32_t reg, unsigned type, unsigned from);
void lang_base_move(struct baseline *w, unsigned to, unsigned from);
void lang_base_move_real(struct baseline *w, unsigned to, unsigned from);
/* An element at [base + at]. */
void lang_base_load(struct baseline *w, unsigned to, unsigned type, unsigned base, int32_t at);
void lang_base_store(struct baseline *w, unsigned from, unsigned type, unsigned base, int32_t at);
void lang_base_load_real(struct baseline *w, unsigned to, unsigned type, unsigned base, int32_t at);
/* A float's opcode with what its type puts before it. */
uint32_t lang_base_of(uint32_t op, unsigned type);
/* The register is again as its type says. */
void lang_base_extend(struct baseline *w, unsigned reg, unsigned type);
/* Is it an integer that an instruction may have in itself? */
bool lang_base_number(const struct baseline *w, uint32_t reg, unsigned type, int32_t *out);
/* op to, reg: by number `group` where reg is such a number. */
void lang_base_with(struct baseline *w, uint32_t op, unsigned group, unsigned to, uint32_t reg,
		    unsigned type, unsigned spare);
/* The machine's step; all: it sees every register. */
void lang_base_step(struct baseline *w, uint32_t at, bool all);
/* w->shown; false: no memory. */
bool lang_base_find_shown(struct baseline *w);
/* The register's value to its memory. */
void lang_base_keep(struct baseline *w, uint32_t reg);
/* Everything that lives before, or behind, instruction `at` to memory, or from there. */
void lang_base_save(struct baseline *w, uint32_t at);
void lang_base_restore(struct baseline *w, uint32_t at);
void lang_base_begin(struct baseline *w, uint32_t at);
/* The jump goes to the machine's step of `at`, which comes back to where the code is by
 * lang_base_back. */
void lang_base_rare(struct baseline *w, size_t jump, uint32_t at);
void lang_base_back(struct baseline *w, uint32_t at);
/* The jump goes to instruction `to`. */
void lang_base_way(struct baseline *w, size_t jump, uint32_t to);
void lang_base_run(struct baseline *w, unsigned to);
int32_t lang_base_word(const struct baseline *w, uint32_t word);

/* lang_baseline_op.c: CODE_OP and CODE_CAST. */
void lang_base_operation(struct baseline *w, uint32_t at);
void lang_base_cast(struct baseline *w, uint32_t at);
/* To where the next instruction goes, if the condition holds, and that is done with it; else the
 * condition becomes a bool. */
void lang_base_told(struct baseline *w, uint32_t at, unsigned condition);

#endif
