/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_call.c - library steps as CUDA C++: the prologue, a file of kernels/ and the line
 * that says for which types. */
#include <stdlib.h>

#include "call/chosen.h"
#include "call/sparse.h"
#include "contract/cuda_abi.h"
#include "emit_c.h"
#include "emit_cuda.h"

extern const char kernel_text_matmul_cuh[], kernel_text_call_cuh[], kernel_text_scan_cuh[],
	kernel_text_mask_cuh[], kernel_text_draw_cuh[], kernel_text_search_cuh[],
	kernel_text_sort_cuh[], kernel_text_sparse_cuh[], kernel_text_grid_cuh[];

static const char *type(unsigned dtype)
{
	return emit_cuda_type(dtype);
}

static enum status put_scan(struct text *t, const struct call_kind *c, struct err *err)
{
	if (!op_row(c->op) || op_row(c->op)->kind != KIND_SCAN || c->dtype == DT_FLOAT16)
		return err_set(err, E_INTERNAL, "no scan %s of type %u", op_text(c->op), c->dtype);
	text_put(t, "BZ_SCAN(%s, bz_%s)\n", op_row(c->op)->stem, type(c->dtype));
	return OK;
}

static enum status put_draw(struct text *t, const struct call_kind *c, struct err *err)
{
	if (!op_draws((enum op)c->op, c->dtype))
		return err_set(err, E_INTERNAL, "no %s of type %u", op_text(c->op), c->dtype);
	switch (c->op) {
	case OP_PCG64:
		text_put(t, "BZ_DRAW_PCG64(bz_%s)\n", type(c->dtype));
		break;
	case OP_DRAW_INTEGERS:
		text_add(t, "BZ_DRAW_INTEGERS()\n");
		break;
	case OP_DRAW_WORDS:
		text_add(t, "BZ_DRAW_WORDS()\n");
		break;
	default:
		text_put(t, "BZ_DRAW(%s, bz_%s)\n",
			 c->op == OP_DRAW_UNIFORM  ? "uniform"
			 : c->op == OP_DRAW_NORMAL ? "normal"
						   : "exponential",
			 type(c->dtype));
	}
	return OK;
}

static enum status put_chosen(struct text *t, const struct call_kind *c, struct err *err)
{
	unsigned tree = 0, op = 0;

	if (!op_row(c->op) || op_row(c->op)->kind != KIND_CHOSEN)
		return err_set(err, E_INTERNAL, "no reduction %s", op_text(c->op));
	op = chosen_tree(&tree, c->op, c->dtype);
	text_put(t, "BZ_CHOSEN(%s, %s, %u, bz_%s, bz_%s, bz_%s, bz_%s)\n", emit_cuda_join(op, tree),
		 emit_cuda_step(op, tree), emit_cuda_lanes(tree), type(c->operand[CHOSEN_SOURCE]),
		 type(c->dtype), type(tree), type(c->operand[CHOSEN_RESULT]));
	return OK;
}

static enum status put_step(struct text *t, const struct call_kind *c, struct err *err)
{
	switch (c->call) {
	case CALL_SCAN:
		return put_scan(t, c, err);
	case CALL_DRAW:
		return put_draw(t, c, err);
	case CALL_SORT:
		text_put(t, "BZ_SORT(bz_%s, %s)\n", type(c->dtype),
			 c->op == OP_ARGSORT ? "true" : "false");
		return OK;
	case CALL_RANKS:
		text_add(t, "BZ_RANKS()\n");
		return OK;
	case CALL_COMPACT:
		text_put(t, "BZ_COMPACT(bz_%s)\n", type(c->dtype));
		return OK;
	case CALL_PLACES:
		text_add(t, "BZ_PLACES()\n");
		return OK;
	case CALL_CHOSEN:
		return put_chosen(t, c, err);
	case CALL_SEARCH:
		text_put(t, "BZ_SEARCH(bz_%s, %s)\n", type(c->dtype),
			 c->op == OP_SEARCH_RIGHT ? "true" : "false");
		return OK;
	case CALL_INTERP:
		text_add(t, "BZ_INTERP()\n");
		return OK;
	case CALL_SPARSE:
		text_put(t, "BZ_SPARSE(bz_%s, bz_%s)\n", type(c->dtype),
			 type(c->operand[SPARSE_STRUCTURE]));
		return OK;
	default:
		return err_set(err, E_INTERNAL, "no CUDA of library step %u", c->call);
	}
}

/* The file of kernels/ that a step's line is for. */
static const char *text_of(unsigned call)
{
	switch (call) {
	case CALL_SCAN:
		return kernel_text_scan_cuh;
	case CALL_DRAW:
		return kernel_text_draw_cuh;
	case CALL_SEARCH:
	case CALL_INTERP:
		return kernel_text_search_cuh;
	case CALL_SORT:
		return kernel_text_sort_cuh;
	case CALL_SPARSE:
		return kernel_text_sparse_cuh;
	default:
		return kernel_text_mask_cuh;
	}
}

enum status emit_cuda_matmul(char **out, unsigned dtype, struct err *err)
{
	struct text t = {NULL, 0, 0};

	if (!dtype_native(dtype))
		return err_set(err, E_INTERNAL, "no product of type %u", dtype);
	emit_omit_call_types(&t, &(struct call_kind){.dtype = (uint8_t)dtype});
	text_add(&t, emit_cuda_prologue());
	text_add(&t, kernel_text_matmul_cuh);
	text_put(&t, "\n" EMIT_KERNEL_MARK "\nBZ_MATMUL(bz_%s)\n", type(dtype));
	if (dtype == DT_INT8 || dtype == DT_UINT8)
		text_put(&t, "BZ_MATMUL_PACK(bz_%s)\nBZ_MATMUL_STORE(bz_%s, bz_i32)\n", type(dtype),
			 type(dtype));
	if (dtype == DT_FLOAT16)
		text_put(&t, "BZ_MATMUL_STORE(bz_f16, bz_f32)\n");
	*out = t.s;
	return OK;
}

enum status emit_cuda_call(char **out, const struct call_kind *c, struct err *err)
{
	struct text t = {NULL, 0, 0};
	enum status st = OK;

	if (c->call == CALL_PRODUCT)
		return emit_cuda_matmul(out, c->dtype, err);
	if (!dtype_native(c->dtype))
		return err_set(err, E_INTERNAL, "no library step of type %u", c->dtype);
	emit_omit_call_types(&t, c);
	text_add(&t, emit_cuda_prologue());
	text_add(&t, kernel_text_call_cuh);
	text_add(&t, text_of(c->call));
	text_add(&t, "\n" EMIT_KERNEL_MARK "\n");
	st = put_step(&t, c, err);
	if (st)
		free(t.s);
	else
		*out = t.s;
	return st;
}

char *emit_cuda_shared(void)
{
	struct text t = {NULL, 0, 0};

	text_add(&t, emit_cuda_prologue());
	text_add(&t, kernel_text_matmul_cuh);
	text_add(&t, kernel_text_call_cuh);
	text_add(&t, kernel_text_scan_cuh);
	text_add(&t, kernel_text_mask_cuh);
	text_add(&t, kernel_text_draw_cuh);
	text_add(&t, kernel_text_search_cuh);
	text_add(&t, kernel_text_sort_cuh);
	text_add(&t, kernel_text_sparse_cuh);
	text_add(&t, kernel_text_grid_cuh);
	return t.s;
}
