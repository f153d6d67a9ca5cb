/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_check.h - what the checkers of expressions and of statements share. */
#ifndef BRAZE_LANG_CHECK_H
#define BRAZE_LANG_CHECK_H

#include "lang.h"

#define NO_PLACE UINT32_MAX /* the last link of a chain of jumps */

enum symbol_kind { SYMBOL_VARIABLE, SYMBOL_NUMBER, SYMBOL_ARRAY };

struct symbol {
	uint32_t name, bytes; /* in the text */
	uint8_t kind, type, rank, access;
	uint32_t reg; /* of an array its number */
};

struct function {
	uint32_t node, entry, reg[LANG_PARAMS], value;
	unsigned nparam;
};

/* A value of an expression: in a register, or a literal that takes the type it is wanted in. */
struct value {
	uint8_t type;
	bool weak, literal;
	uint32_t reg, made; /* made: 1 + the one instruction that made it, or 0 */
	uint64_t bits[2];
};

/* Of an expression that is computed for each element: a view that is read, or a scalar that was
 * computed before. */
struct part {
	uint32_t id;
	struct value value;
	unsigned axes;	     /* of a view, else 0 */
	uint8_t type;	     /* of its elements */
	uint32_t view, spot; /* registers: the view, the address of the element */
	/* Of what a product reads, `view` has the axes of the product's elements; in itself it
	 * is: */
	unsigned whole_axes; /* else 0 */
	uint32_t whole;
	uint32_t along; /* register: bytes between the factors of one element's sum */
};

/* v @ w, a sum for each element. */
struct product {
	uint32_t id;
	unsigned from, to; /* parts that it reads */
	uint32_t terms;	   /* register: how many each sum has */
};

/* Loops, one for each axis. */
struct nest {
	unsigned axes;
	uint32_t extent[LIMIT_NDIM]; /* registers */
	uint32_t start[LIMIT_NDIM];  /* CODE_NEXT of each */
};

struct lang_checker {
	const struct lang_tree *tree;
	struct lang_program *program;
	struct err *err;
	struct symbol symbol[LANG_SYMBOLS];
	unsigned nsymbol, nfunction,
		results; /* results: symbols of the kernel's results end here */
	struct function function[LANG_FUNCTIONS];
	const struct function *inside; /* NULL: in the kernel */
	uint8_t inside_type;
	uint32_t breaks, continues; /* chains of jumps, of the innermost loop */
	bool in_loop;
	int chain;
	struct part part[LANG_VIEWS]; /* from here on of the innermost such expression */
	unsigned parts_from, nparts;
	struct product product[LANG_PRODUCTS];
	unsigned products_from, nproducts; /* likewise */
	unsigned nclaimed;		   /* sums that loops claim */
	bool whole;			   /* a name of an array is all of it */
	bool in_product;
	uint32_t zero, one; /* 1 + registers of these numbers; 0: none yet */
	bool apart;	    /* loops stay as they are written */
};

typedef const struct lang_node node;

static inline node *lang_node_at(const struct lang_checker *c, uint32_t id)
{
	return &c->tree->node[id];
}

bool lang_emit(struct lang_checker *c, node *n, struct lang_ins ins);
bool lang_register(struct lang_checker *c, node *n, uint32_t count, uint32_t *out);
struct symbol *lang_symbol(struct lang_checker *c, node *n);
bool lang_expression(struct lang_checker *c, uint32_t id, struct value *v);
/* The operation op of v[0] and what follows. */
bool lang_operation(struct lang_checker *c, node *n, unsigned op, int count, struct value *v,
		    struct value *out);
/* The same value as an element of the type in a register. */
bool lang_cast(struct lang_checker *c, node *n, struct value *v, unsigned type);
/* The same for what is assigned: refused if it is no cast of the same kind. */
bool lang_fit(struct lang_checker *c, node *n, struct value *v, unsigned type);
/* reg = v. */
bool lang_move(struct lang_checker *c, node *n, struct value *v, unsigned type, uint32_t reg);
/* As a truth value in a register. */
bool lang_truth(struct lang_checker *c, uint32_t id, uint32_t *reg);
/* The function of the text that a call names; NULL. */
const struct function *lang_function(const struct lang_checker *c, node *n);
/* An index or bound in register reg. */
bool lang_index_value(struct lang_checker *c, uint32_t id, uint32_t reg);
/* How many subscripts of an index are slices; is it one that has any? */
unsigned lang_slices(const struct lang_checker *c, node *n);
bool lang_is_slice(const struct lang_checker *c, node *n);
/* target = value, target += value, of slices. */
bool lang_slice(struct lang_checker *c, node *n, node *target);
/* The reduction that a call is; OP_END: it is none.  dot is OP_MATMUL. */
unsigned lang_reduction_named(const struct lang_checker *c, node *n);
bool lang_reduction(struct lang_checker *c, node *n, unsigned op, struct value *out);
/* ---- Slices, element by element (lang_slice.c, lang_product.c) ---- */

/* Has the expression a value for each element? */
bool lang_spreads(struct lang_checker *c, uint32_t id);
/* Is a call one value whatever it takes: a reduction, len? */
bool lang_is_one_value(const struct lang_checker *c, node *n);
/* What the expression has that is the same for all elements: parts. */
bool lang_prepare(struct lang_checker *c, uint32_t id);
/* The extents of the parts from k on together. */
bool lang_broadcast(struct lang_checker *c, node *n, unsigned k, struct nest *out);
/* d: what extent a and b are together; how: 1: b goes with a, which stays; 2: they are equal. */
bool lang_join(struct lang_checker *c, node *n, uint32_t d, uint32_t a, uint32_t b, unsigned how);
/* A register of the number. */
bool lang_small(struct lang_checker *c, node *n, int64_t number, uint32_t *reg);
/* The next address of what lies at *spot, `stride` bytes for each turn. */
bool lang_advance(struct lang_checker *c, node *n, uint32_t *spot, uint32_t number,
		  uint32_t stride);
/* The element that a reduction by op takes, of dot the product of two. */
bool lang_taken(struct lang_checker *c, node *n, unsigned op, struct op_sig *sig,
		struct value *out);
/* The instruction that takes a value of the type. */
struct lang_ins lang_take(unsigned op, const struct value *v);
/* A product: the axes of its result, its parts, the value of one element. */
bool lang_is_product(node *n);
unsigned lang_product_axes(struct lang_checker *c, node *n);
bool lang_product_prepare(struct lang_checker *c, node *n, uint32_t id);
bool lang_product(struct lang_checker *c, node *n, uint32_t id, struct value *out);
/* ---- Statements (lang_check.c, lang_fuse.c) ---- */

/* A name that is known from here on; NULL: there is one already. */
struct symbol *lang_declare(struct lang_checker *c, node *n, enum symbol_kind kind, unsigned type);
bool lang_statement(struct lang_checker *c, node *n);
bool lang_loop(struct lang_checker *c, node *n);
/* A bound of a loop, or 1 where there is none. */
bool lang_bound(struct lang_checker *c, uint32_t id, uint32_t *reg);
/* Loops in a row, of which *id is the first, as one and as they are: *id is the last of them, or 0
 * after an error.  false: they are not joined, and nothing is done. */
bool lang_fuse(struct lang_checker *c, uint32_t id, uint32_t *last);
/* The address of the element that an index names. */
bool lang_place(struct lang_checker *c, node *n, const struct symbol *s, uint32_t *reg);

#endif
