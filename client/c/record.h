/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/record.h - append an op to the columns of the next packet.
 *
 * Order of use: record_use each operand, record_room, record_op, then the `in`
 * and `imm` words by record_in and record_imm.  Between record_room and the last
 * word nothing else may be recorded. */
#ifndef BRAZE_RECORD_H
#define BRAZE_RECORD_H

#include "client.h"
#include "wire.h"

/* Words of a 64-bit immediate of this type. */
static inline unsigned record_words(unsigned dtype)
{
	return dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128 ? 2 : 1;
}

static inline enum status record_room(struct braze_session *s, unsigned nin, unsigned nimm,
				      struct err *err)
{
	size_t bytes = (size_t)(s->nops + 1) * 8 + (s->nin + nin) * 4u + (s->nimm + nimm) * 8u;

	if (likely(s->nops < LIMIT_OPS_PER_PACKET && bytes <= RECORD_BYTES))
		return OK;
	return wire_flush(s, err);
}

static inline void record_op(struct braze_session *s, unsigned op, unsigned dtype, uint32_t out,
			     unsigned nin, unsigned nimm)
{
	s->head[s->nops] = op | dtype << 16 | nin << 24 | (nimm < 15 ? nimm : 15) << 28;
	s->out[s->nops++] = out;
}

static inline void record_in(struct braze_session *s, uint32_t word)
{
	s->in[s->nin++] = word;
}

static inline void record_imm(struct braze_session *s, uint64_t word)
{
	s->imm[s->nimm++] = word;
}

/* A number as an operand: its word now, its value among the immediates. */
static inline void record_scalar(struct braze_session *s, const braze_scalar *v)
{
	record_in(s, IMM_OPERAND | (v->weak ? IMM_WEAK : 0) | (uint32_t)v->dtype);
	record_imm(s, v->bits[0]);
	if (record_words((unsigned)v->dtype) == 2)
		record_imm(s, v->bits[1]);
}

/* An op writes a, or may through a view of it: a demand may ask what became of it. */
static inline void record_written(struct braze_session *s, struct braze_array *a)
{
	s->written[s->nwritten++ % WRITTEN] = a;
}

/* An op that was not computed near makes a's value. */
static inline void record_far(struct braze_session *s, struct braze_array *a)
{
	a->buf->why = s->why;
	s->why = s->why_none;
	record_written(s, a);
}

static inline void record_shape(struct braze_session *s, const struct shape *shape)
{
	record_imm(s, shape->ndim);
	for (int i = 0; i < shape->ndim; i++)
		record_imm(s, (uint64_t)shape->dim[i]);
}

/* VIEW: r becomes this view of the array with id `of` */
static inline void record_view(struct braze_session *s, const struct view *v, uint32_t r,
			       uint32_t of)
{
	record_op(s, OP_VIEW, v->dtype, r, 1, 2 + 2u * v->shape.ndim);
	record_in(s, of);
	record_imm(s, v->shape.ndim);
	record_imm(s, (uint64_t)v->offset);
	for (int i = 0; i < v->shape.ndim; i++)
		record_imm(s, (uint64_t)v->shape.dim[i]);
	for (int i = 0; i < v->shape.ndim; i++)
		record_imm(s, (uint64_t)v->stride[i]);
}

/* An op is about to read or write the arrays' buffers: what the host wrote directly
 * becomes a version of its own (DIRTY), and direct writes end; what an earlier
 * connection left is shipped.  All operands of an op at once, since shipping may let
 * go of the recorder lock. */
enum status record_used(int n, struct braze_array *const *a, struct err *err) MUST_USE;

static inline enum status record_use(struct braze_array *a, struct err *err)
{
	if (likely(!(a->buf->flags & BUF_WATCH)))
		return OK;
	return record_used(1, &a, err);
}

static inline enum status record_use_two(struct braze_array *a, struct braze_array *b,
					 struct err *err)
{
	struct braze_array *both[] = {a, b};

	if (likely(!((a->buf->flags | b->buf->flags) & BUF_WATCH)))
		return OK;
	return record_used(2, both, err);
}

#endif
