/* SPDX-License-Identifier: Apache-2.0 */
/* call/factors.h - factors of matrices as a library step: how they are cut and described.
 *
 * Loops: matrices, the columns and rows of each as it is read, the elements of its row of the
 * result.  Operands: the matrices, one behind the other, columns behind columns; the result; the
 * first one once more, written, since what is read is spoilt.  operand[0].at says what is wanted
 * (enum solver_kind), and with the extents where it lies in a row.  A unit is a matrix, on any
 * device. */
#ifndef BRAZE_FACTORS_H
#define BRAZE_FACTORS_H

#include "call.h"
#include "solver.h"

enum factors_loop { FACTORS_MATRIX, FACTORS_COLUMN, FACTORS_ROW, FACTORS_RESULT, FACTORS_LOOPS };

/* Of a call that was checked. */
void factors_layout(struct solver_layout *out, const struct plan_call *c);
/* Bytes of a matrix as it is read. */
int64_t factors_bytes(const struct plan_call *c);

#endif
