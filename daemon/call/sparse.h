/* SPDX-License-Identifier: Apache-2.0 */
/* call/sparse.h - a sparse matrix's product as a library step.
 *
 * Loops: the matrix's rows, the result's columns, the entries, the structure's numbers, the
 * matrix's columns; operands: entries, structure (kernels/loops/sparse.h), what is multiplied, the
 * result.  Entries, structure and a row of the result lie side by side.  Units are stretches of
 * rows; another device's has all of them. */
#ifndef BRAZE_SPARSE_H
#define BRAZE_SPARSE_H

#include "call.h"
#include "loops/sparse.h"

enum { SPARSE_ENTRIES, SPARSE_STRUCTURE, SPARSE_FROM, SPARSE_RESULT };
enum {
	SPARSE_LOOP_ROWS,
	SPARSE_LOOP_COLUMNS,
	SPARSE_LOOP_ENTRIES,
	SPARSE_LOOP_STRUCTURE,
	SPARSE_LOOP_INNER,
	SPARSE_LOOPS
};

/* The rows of the units [lo, hi) of a call that was checked, without addresses. */
void sparse_of(struct sparse_patch *out, const struct plan_call *c, int64_t lo, int64_t hi);

#endif
