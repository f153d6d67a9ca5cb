/* SPDX-License-Identifier: Apache-2.0 */
/* call/chosen.c - see chosen.h. */
#include "chosen.h"

#include "base/textbuf.h"
#include "loops/kernel_abi.h"

#define CHOSEN_PER_US 1000.0 /* elements of a mask, one core */

void chosen_of(struct compact_mask *mask, struct compact_ranks *ranks, const struct plan_call *c)
{
	*mask = (struct compact_mask){.n = c->extent[CHOSEN_LOOP_MASK],
				      .step = c->operand[CHOSEN_MASK].stride[CHOSEN_LOOP_MASK]};
	*ranks = (struct compact_ranks){
		.blocks = c->extent[CHOSEN_LOOP_BLOCKS],
		.step = c->operand[CHOSEN_RANKS].stride[CHOSEN_LOOP_BLOCKS],
	};
}

unsigned chosen_tree(unsigned *dtype, unsigned op, unsigned of)
{
	op = op - OP_CHOSEN_SUM + OP_SUM;

	/* float16 is reduced as float32; booleans add by `or` and multiply by `and`. */
	*dtype = of == DT_FLOAT16 ? DT_FLOAT32 : of;
	if (of == DT_BOOL && op <= OP_PROD)
		op = op == OP_SUM ? OP_ANY : OP_ALL;
	return op;
}

/* Do the types follow from the source's? */
static bool has_types(const struct plan_call *c)
{
	const struct op_arg source = {(uint8_t)c->operand[CHOSEN_SOURCE].dtype, false};
	struct op_sig sig;
	struct err err;

	return !op_infer(&sig, (enum op)c->op, &source, c->dtype, &err) && sig.in[0] == c->dtype &&
	       sig.out == c->operand[CHOSEN_RESULT].dtype &&
	       c->operand[CHOSEN_MASK].dtype == DT_BOOL &&
	       c->operand[CHOSEN_RANKS].dtype == DT_INT64;
}

enum status chosen_check(const struct plan_call *c, struct err *err)
{
	const struct op_row *row = op_row(c->op);
	int64_t n = c->nloop == CHOSEN_LOOPS ? c->extent[CHOSEN_LOOP_MASK] : 0;

	if (!row || row->kind != KIND_CHOSEN || n < 1 || n > INT64_MAX - RANK_BLOCK ||
	    c->extent[CHOSEN_LOOP_BLOCKS] != compact_blocks(n))
		return err_set(err, E_INTERNAL, "chosen: %s of %u loops", op_text(c->op), c->nloop);
	if (!has_types(c))
		return err_set(err, E_INTERNAL, "chosen: %s of type %u", op_text(c->op), c->dtype);
	return OK;
}

uint64_t chosen_work(const struct plan_call *c)
{
	return (uint64_t)c->extent[CHOSEN_LOOP_MASK];
}

double chosen_us(const struct plan_call *c)
{
	return (double)chosen_work(c) / CHOSEN_PER_US;
}

void chosen_units(struct call_units *out, const struct plan_call *c, bool device)
{
	int64_t n = c->extent[CHOSEN_LOOP_MASK];

	if (device) {
		/* All of it: how many chunks there are it alone knows. */
		*out = (struct call_units){.total = 1, .work = (uint64_t)n, .grain = 1};
		return;
	}
	*out = (struct call_units){.total = n / TREE_CHUNK + (n % TREE_CHUNK != 0),
				   .work = TREE_CHUNK,
				   .grain = 1,
				   .kept = true};
}

void chosen_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s of %lld elements of %s by a mask", op_text(c->op),
		    (long long)chosen_work(c), dtype_row(c->dtype)->name);
}

void chosen_print(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s %s %lldx%lld\n", op_text(c->op), dtype_row(c->dtype)->name,
		    (long long)c->extent[0], (long long)c->extent[1]);
	for (unsigned x = 0; x <= CHOSEN_RESULT; x++)
		textbuf_put(t, "%s s%u +%lld by %lld %lld\n", call_writes(c, x) ? "out" : "in",
			    c->operand[x].slot, (long long)c->operand[x].offset,
			    (long long)c->operand[x].stride[0], (long long)c->operand[x].stride[1]);
}
