/* SPDX-License-Identifier: Apache-2.0 */
/* trace/cursor.h - between record.c, which decodes operations, and record_library.c, which does
 * those that become library steps.  E_INVALID or E_LIMIT where a client's words say too much. */
#ifndef BRAZE_CURSOR_H
#define BRAZE_CURSOR_H

#include "record.h"

/* Where the decoder stands in the four columns. */
struct cursor {
	struct trace *t;
	const struct record_columns *c;
	size_t i, in, imm; /* next op, operand, immediate */
	const struct op_row *row;
	uint16_t op;
	uint8_t dtype, nin;
	uint32_t out;
	struct err *err;
};

/* An operand as it came: an array's, or an immediate of some dtype. */
struct source {
	struct array *array;
	struct op_arg arg;
	uint64_t imm[2];
};

/* The next words of a column: an immediate, a shape, an operand, how many are in a list. */
enum status record_imm(struct cursor *k, uint64_t *out) MUST_USE;
enum status record_shape(struct cursor *k, struct shape *s) MUST_USE;
enum status record_operand(struct cursor *k, struct source *s) MUST_USE;
enum status record_count(struct cursor *k, unsigned *n) MUST_USE;
/* Fills an operand of a node: an array, of which *v is taken over, or, where v is NULL, a number,
 * as one of `loop`. */
void record_set_operand(struct operand *o, const struct source *s, struct version *v,
			enum dtype loop);
/* The buffer's value is from now on what the node makes of it. */
void record_new_version(struct cursor *k, struct node *n, struct buffer *b);
/* A node of these operands, and its result. */
enum status record_result(struct cursor *k, const struct source *src, const struct op_sig *sig,
			  int nin, const struct shape *shape) MUST_USE;

/* Kind GRID. */
enum status record_grid(struct cursor *k) MUST_USE;
/* Kinds DRAW, JOIN, SEARCH, CHOSEN, FOURIER, SOLVER and LIB. */
enum status record_draw(struct cursor *k) MUST_USE;
enum status record_join(struct cursor *k) MUST_USE;
enum status record_search(struct cursor *k) MUST_USE;
enum status record_chosen(struct cursor *k) MUST_USE;
enum status record_fourier(struct cursor *k) MUST_USE;
enum status record_solver(struct cursor *k) MUST_USE;
enum status record_library(struct cursor *k) MUST_USE;

#endif
