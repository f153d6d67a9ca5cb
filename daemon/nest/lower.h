/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower.h - what lower.c shares with the files beside it, one for each library step. */
#ifndef BRAZE_LOWER_H
#define BRAZE_LOWER_H

#include "build.h"

/* The value of an operand as type `to`, over the nest's domain. */
enum status lower_operand(uint16_t *out, struct build *b, const struct part_ref *r, unsigned to,
			  struct err *err) MUST_USE;
enum status lower_sig(struct op_sig *out, const struct part_op *o, struct err *err) MUST_USE;
/* What sums and other loops over many elements of a type are computed in: float32 for
 * float16, which is rounded once, at the end, as NumPy does, and for bfloat16. */
unsigned lower_wide(unsigned dtype);
/* An operand of a library step, an array, as type `to`: as it lies, or cast into a temporary. */
enum status lower_array(uint32_t *slot, struct view *v, struct prog *p, const struct part_ref *r,
			unsigned to, struct err *err) MUST_USE;
/* Operand x of a library step, an array that it takes as it lies; *v says how. */
void lower_as_it_lies(struct plan_call *c, unsigned x, struct view *v, const struct prog *p,
		      const struct part_ref *r);
/* How a product of operands that need no cast is computed; 0: it has no points, or they need one.
 * Where sizes are not known, part_op.axes says it. */
enum { MATMUL_NEST = 1, MATMUL_STEP };
unsigned lower_matmul_way(const struct part *part, const struct part_op *o);
/* Append the units of one operation. */
enum status lower_matmul(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_along(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_join(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_draw(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_search(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_fourier(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_solver(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_sparse(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
enum status lower_compact(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
/* Copies the old version first where prog.copy says so. */
enum status lower_grid(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;
/* A whole buffer into a new slot. */
void lower_copy(struct prog *p, uint32_t from, uint32_t to, uint64_t bytes);
enum status lower_chosen(struct prog *p, const struct part_op *o, struct err *err) MUST_USE;

#endif
