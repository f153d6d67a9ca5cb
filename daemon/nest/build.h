/* SPDX-License-Identifier: Apache-2.0 */
/* nest/build.h - append to a nest; how lower.c and the matmul lowering write. */
#ifndef BRAZE_BUILD_H
#define BRAZE_BUILD_H

#include "prog.h"

/* The loops of a nest under construction: axis[l] is the axis of the domain's
 * shape that loop l walks. */
struct build {
	struct prog *prog;
	struct prog_unit *unit;
	struct nest *nest;
	struct shape domain;
	uint8_t axis[LIMIT_NDIM];
};

/* Begin a nest over a domain whose axes in the mask are reduced (`reduces` when
 * there is a reduction at all).  Axes of extent 1 become no loop.  Returns false
 * when no parallel point exists: there is nothing to do. */
bool build_begin(struct build *b, struct prog *p, const struct shape *domain, uint32_t reduced,
		 bool reduces);
uint16_t build_instr(struct build *b, unsigned op, unsigned dtype, unsigned ltype, unsigned x,
		     unsigned y, unsigned z);
/* The value of a view of slot s, broadcast to the domain already. */
uint16_t build_load(struct build *b, uint32_t slot, const struct view *v);
/* The same, `place` times `stride` bytes from there; 0 <= place < extent. */
uint16_t build_gather(struct build *b, uint32_t slot, const struct view *v, int64_t extent,
		      int64_t stride, uint16_t place);
uint16_t build_scalar(struct build *b, uint32_t imm, unsigned dtype);
/* x as type `to`; x itself when it has it. */
uint16_t build_cast(struct build *b, uint16_t x, unsigned to);
/* Store x through a view with the domain's axes; after build_post its strides
 * along reduced axes are 0. */
void build_store(struct build *b, uint32_t slot, const struct view *v, uint16_t x);
/* What follows runs once per parallel point. */
void build_post(struct build *b);
void build_end(struct build *b);

#endif
