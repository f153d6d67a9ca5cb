/* SPDX-License-Identifier: Apache-2.0 */
/* trace/record.h - columns of ops from a client onto its trace.
 *
 * Nothing is believed: types, shapes and view bounds are derived again from the
 * op table.  Any error is a fault of the client's library or an attack, and ends
 * the connection; ops before it stay recorded until then. */
#ifndef BRAZE_RECORD_H
#define BRAZE_RECORD_H

#include "trace.h"

/* The wire's trace message, columns of 32- and 64-bit words. */
struct record_columns {
	size_t nhead, nout, nin, nimm;
	const uint32_t *head, *out, *in;
	const uint64_t *imm;
	uint32_t device; /* asked for all ops: see struct node */
	bool shared;	 /* their results get memory of their own */
};

enum status record_ops(struct trace *t, const struct record_columns *c, struct err *err) MUST_USE;

/* What the client calls loop `number` from now on (OP_GRID); grid: the number that it had in a
 * daemon before, or 0. */
enum status record_define(struct trace *t, struct grids *table, uint32_t number,
			  const struct grid_words *w, uint32_t grid, struct err *err) MUST_USE;
/* Is it an operation GRID as they are recorded, whoever made it? */
bool record_is_grid(const struct trace *t, const struct node *n);

/* A new version that is a byte-for-byte copy of v, recorded as a pending op. */
struct version *record_copy(struct trace *t, struct version *v);
/* The same of a view of v's elements, in C order and without gaps; *view becomes the copy's. */
struct version *record_packed(struct trace *t, struct version *v, struct view *view);

#endif
