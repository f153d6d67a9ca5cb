/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_c.h - the parts of the C emitter, and what the cache needs of it. */
#ifndef BRAZE_EMIT_C_H
#define BRAZE_EMIT_C_H

#include "emit.h"
#include "text.h"

/* The line between prologue and kernel. */
#define EMIT_KERNEL_MARK "/* ---- the kernel ---- */"
/* Before a prologue, of C or CUDA: leaves out a part of it, BZ_NO_<part>, that is not used, and the
 * types that a nest or a library step has not.  A compiler reads them for longer than the kernel.
 * emit_omit_types: has it such a type? */
void emit_omit(struct text *o, bool used, const char *part);
bool emit_omit_types(struct text *o, const struct nest *n);
void emit_omit_call_types(struct text *o, const struct call_kind *c);
/* Of types: a bit for each that there is. */
void emit_omit_types_but(struct text *o, uint32_t types);
/* The whole text for the compiler: width, prologue, mark, kernel. */
enum status emit_c_source(char **out, const struct nest *spec, struct err *err) MUST_USE;
/* As emit_c, with entry points <prefix>map, <prefix>reduce, <prefix>finish, so
 * that several kernels of one width can share a compilation. */
enum status emit_c_named(char **out, const struct nest *spec, const char *prefix,
			 struct err *err) MUST_USE;

/* ---- between emit_c*.c ---- */

struct gen {
	struct text *o;
	const struct nest *n;
	const char *prefix;
	unsigned loops;			   /* npar + nred */
	bool fixed[LIMIT_NEST_INSTRS];	   /* the same for all lanes and vectors of a row */
	uint8_t walk[LIMIT_NEST_ACCESSES]; /* enum nest_walk along the row's loop */
	unsigned red[LIMIT_NEST_REDUCES];  /* the reductions: instructions */
	unsigned nreduce;
	unsigned row;			/* the loop a row runs along */
	unsigned section;		/* of the nest, that is being written */
	unsigned first, last;		/* its reductions: of red, [first, last) */
	bool by_lanes;			/* emit_all_by_lanes */
	void (*before)(struct gen *g);	/* what stands before a vector's instructions, or NULL */
	bool again;			/* points of a row may be computed twice */
	bool far;			/* what is loaded may come from memory */
	bool overs;			/* divisors' reciprocals are those of a tile */
	bool hold;			/* a vector's stores are left to emit_c_stores */
	bool past[LIMIT_NEST_ACCESSES]; /* its vectors may be written past the caches */
	unsigned lead;			/* the one of them that decides where vectors lie */
};

/* How many lanes a vector of the text being written has. */
enum lanes {
	LANES_ALL, /* BZ_W */
	LANES_N,   /* n, which is less */
	LANES_ANY  /* n, which may be BZ_W */
};

const char *emit_c_suffix(unsigned dtype);
/* The instructions of g->section (nest.h) at vector i of a row; `fixed`: those that are
 * so, or those that are not. */
void emit_c_instrs(struct gen *g, bool fixed, enum lanes lanes);
/* Is instruction i a quotient all of whose row's divisors are one that a section before has handed
 * on?  With g->overs s<i> has what of it is computed once, of all points of a tile. */
bool emit_c_over_kept(const struct gen *g, unsigned i);
/* The stores among them. */
void emit_c_stores(struct gen *g, enum lanes lanes);
/* Is anything of what instruction i stores fetched in g->section, by an instruction from `from` on?
 */
bool emit_c_fetched(const struct gen *g, unsigned i, unsigned from);
/* g->lead when nothing is written past the caches. */
#define EMIT_NO_LEAD LIMIT_NEST_ACCESSES
/* A loop over the row's vectors i = 0..len around the body, and behind that the text
 * that `tail` writes (may be NULL). */
void emit_c_row(struct gen *g, void (*tail)(struct gen *g, enum lanes lanes));
/* Likewise without the instructions that are fixed, from the row's vector at `i` on. */
void emit_c_vectors(struct gen *g, void (*tail)(struct gen *g, enum lanes lanes));
/* Find fixed instructions and walks for rows of g->section along loop `row`; EMIT_NO_ROW
 * for a single point. */
#define EMIT_NO_ROW LIMIT_NDIM
void emit_c_plan_row(struct gen *g, unsigned row);
/* Declares P<a>, the address of access a at point x<l> of the loops, and its step
 * t<a> along the row, for the accesses that g->section uses. */
void emit_c_addresses(struct gen *g);
/* Declares E<l>, the loops' extents. */
void emit_c_extents(struct gen *g);
/* The same expression over `first` .. `last` - 1 multiplied: their points. */
void emit_c_points(struct gen *g, const char *name, unsigned first, unsigned last);
/* x<last - 1> has grown: carry into loops down to `first`. */
void emit_c_carry(struct gen *g, unsigned first, unsigned last);
/* Sets x<l> of loops [first, last) to the point numbered `at`, C order. */
void emit_c_point(struct gen *g, unsigned first, unsigned last, const char *at);

/* ---- of nests with reductions: emit_reduce_types.c ---- */

/* Do vectors run along the reduced loop, and do several points go side by side there? */
bool emit_inner(const struct gen *g);
bool emit_abreast(const struct gen *g);
/* How many points that are, and how many registers a tile of the outer mode has: text. */
const char *emit_points_abreast(const struct gen *g);
const char *emit_tile(const struct gen *g);
/* Reduction k: its instruction, whether it is an argmin or its like, type and operation. */
const struct nest_instr *emit_red(const struct gen *g, unsigned k);
bool emit_red_arg(const struct gen *g, unsigned k);
const char *emit_red_type(const struct gen *g, unsigned k);
const char *emit_red_op(const struct gen *g, unsigned k);
/* Has a section reductions?  Is a point of g's section so little work that its accumulators should
 * stay in registers?  Has reduction k as many of those as a type of at most four bytes has? */
bool emit_reduces(const struct gen *g, unsigned section);
bool emit_light(const struct gen *g);
bool emit_narrow(const struct gen *g, unsigned k);
/* Bytes of an element of what the first section loads, at most. */
unsigned emit_widest(const struct gen *g);
/* Which of the two texts, for each reduction of g's section. */
void emit_each_red(struct gen *g, const char *tree, const char *arg);
/* The text for each accumulator of each of those reductions, k being its number there. */
void emit_each_lane(struct gen *g, const char *text);
/* struct fin and struct state; begin, push, spread and end. */
void emit_reduce_types(struct gen *g);
void emit_reduce_state(struct gen *g);

/* The number of a phase as its functions' names have it. */
const char *emit_phase(const struct gen *g);

/* ---- rows of few vectors: emit_reduce_short.c ---- */

/* May the last vector of a row of g's section end with it, and its reductions take of that what is
 * new to them? */
bool emit_ended(const struct gen *g);
/* Has g's section a function for rows that reach no accumulator twice?  What is that function, and
 * a call of it by rows(), which then has all other rows behind the `else`. */
bool emit_shorts(const struct gen *g);
void emit_short_function(struct gen *g);
void emit_short_call(struct gen *g);
/* Of the tile at X, in inner mode: Q<a>, where its first row begins, and steps; in a loop over l
 * the numbers x<l> and the addresses P<a> of row l. */
void emit_places(struct gen *g);
void emit_places_row(struct gen *g);
/* far(): piece() as a function, for rows of so many elements that a call is nothing.  A compiler
 * takes longer for each place that piece() stands in. */
void emit_far_piece(struct gen *g);
/* Declares what the section uses of sections before, at point l. */
void emit_kept(struct gen *g);

/* ---- outer mode: emit_reduce_outer.c ---- */

/* Is a point of g's section so little work that its rows are taken lane by lane? */
bool emit_by_lanes(const struct gen *g);
/* Has the nest one reduction, whose rows are?  Moves g to its section. */
bool emit_all_by_lanes(struct gen *g);
/* What emit_outer_block calls, which takes a block of bn rows from r on to f or to the trees, and
 * what stands behind the last block; nothing in inner mode. */
void emit_outer_functions(struct gen *g);
void emit_outer_block(struct gen *g);
void emit_outer_end(struct gen *g);

void emit_map(struct gen *g);
void emit_reduce(struct gen *g);

#endif
