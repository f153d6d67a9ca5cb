/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/record_life.h - a client under test and what the model holds of it; operations
 * put together word by word, for fuzz_record.c. */
#ifndef BRAZE_RECORD_LIFE_H
#define BRAZE_RECORD_LIFE_H

#include "model.h"
#include "model_run.h"
#include "run/job.h"
#include "trace/record.h"

#define ARENA	(1u << 20)
#define FLIGHT	3   /* jobs bound and not yet run */
#define TURNS	120 /* operations of a program */
#define SPACE	512 /* elements of an array */
#define NO_TYPE 255 /* in an op's head */

struct life {
	struct fuzz_input in;
	struct arena *arena;
	char *memory;
	struct trace trace;
	struct model model;
	struct job *flight[FLIGHT];
	unsigned nflight;
	/* The op under construction. */
	uint32_t head, out, operand[LIMIT_OPERANDS + 1];
	uint64_t imm[32];
	unsigned nin, nimm;
};

static inline void begin(struct life *l)
{
	l->nin = l->nimm = 0;
}

static inline void word(struct life *l, uint64_t w)
{
	l->imm[l->nimm++] = w;
}

static inline void words_of_shape(struct life *l, const struct shape *s)
{
	word(l, s->ndim);
	for (unsigned k = 0; k < s->ndim; k++)
		word(l, (uint64_t)s->dim[k]);
}

static inline bool commit(struct life *l, unsigned op, unsigned dtype, unsigned id)
{
	unsigned arity = op_row(op)->arity == OP_LIST ? OP_LIST : l->nin;
	uint32_t head = op | dtype << 16 | arity << 24 | (l->nimm > 15 ? 15 : l->nimm) << 28;
	uint32_t out = id;
	struct record_columns c = {1,	 1,	     l->nin, l->nimm, &head,
				   &out, l->operand, l->imm, 0,	      false};
	struct err err = {0};
	enum status st = record_ops(&l->trace, &c, &err);

	FUZZ_CHECK(st == err.code || !st);
	FUZZ_CHECK(st != E_PROTOCOL && st != E_INTERNAL); /* we speak it well */
	return !st;
}

/* A free id, or 0. */
static inline unsigned free_id(const struct life *l)
{
	for (unsigned k = 1; k < MODEL_IDS; k++)
		if (!l->model.array[k].buffer)
			return k;
	return 0;
}

static inline unsigned some_id(struct life *l)
{
	unsigned from = fuzz_below(&l->in, MODEL_IDS);

	for (unsigned k = 0; k < MODEL_IDS; k++)
		if (l->model.array[(from + k) % MODEL_IDS].buffer)
			return (from + k) % MODEL_IDS;
	return 0;
}

static inline void array_operand(struct life *l, struct model_operand *o, unsigned id)
{
	l->operand[l->nin++] = id;
	*o = (struct model_operand){&l->model.array[id], 0};
}

static inline void number_operand(struct life *l, struct model_operand *o, unsigned dtype,
				  bool weak)
{
	int64_t v = (int8_t)fuzz_byte(&l->in);

	v = dtype == DT_BOOL ? v & 1 : v;
	l->operand[l->nin++] = 1u << 31 | (uint32_t)weak << 8 | dtype;
	word(l, (uint64_t)v);
	*o = (struct model_operand){NULL, v};
}

static inline unsigned some_dtype(struct life *l)
{
	static const uint8_t types[] = {DT_INT64, DT_INT32, DT_INT8, DT_BOOL};

	return types[fuzz_below(&l->in, sizeof types)];
}

static inline void some_shape(struct life *l, struct shape *s)
{
	static const struct shape shapes[] = {{1, {24}},   {2, {4, 6}}, {2, {6, 4}}, {3, {2, 3, 4}},
					      {1, {6}},	   {1, {4}},	{2, {3, 4}}, {2, {4, 4}},
					      {2, {4, 1}}, {0, {0}},	{1, {1}},    {1, {0}},
					      {2, {3, 0}}, {1, {520}},	{2, {2, 17}}};

	*s = shapes[fuzz_below(&l->in, sizeof shapes / sizeof shapes[0])];
}

#endif
