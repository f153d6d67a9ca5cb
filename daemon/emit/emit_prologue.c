/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_prologue.c - the prologues of generated C and CUDA: the headers of
 * kernels/, joined in the order that kernels/tree.h and kernels/pre.cuh name. */
#include "emit.h"

#include <pthread.h>

#include "emit_c.h"
#include "loops/isa.h"

extern const char kernel_text_native_h[], kernel_text_native_math_h[], kernel_text_pre_h[],
	kernel_text_ew_h[], kernel_text_over_h[], kernel_text_half_h[], kernel_text_f16_h[],
	kernel_text_bf16_h[], kernel_text_gather_h[], kernel_text_cx_h[], kernel_text_tree_h[];
extern const char kernel_text_pre_cuh[], kernel_text_ew_cuh[], kernel_text_f16_cuh[],
	kernel_text_gather_cuh[], kernel_text_cx_cuh[], kernel_text_tree_cuh[],
	kernel_text_groups_cuh[];

/* Made once, on any thread, never changed after. */
static struct text prologue, cuda;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
	if (isa_halves())
		text_add(&prologue, "#define BZ_HALVES\n");
	text_add(&prologue, kernel_text_native_h);
	text_add(&prologue, kernel_text_native_math_h);
	text_add(&prologue, kernel_text_pre_h);
	text_add(&prologue, kernel_text_ew_h);
	text_add(&prologue, kernel_text_over_h);
	text_add(&prologue, kernel_text_half_h);
	text_add(&prologue, kernel_text_f16_h);
	text_add(&prologue, kernel_text_bf16_h);
	text_add(&prologue, kernel_text_gather_h);
	text_add(&prologue, kernel_text_cx_h);
	text_add(&prologue, kernel_text_tree_h);
	text_add(&cuda, kernel_text_pre_cuh);
	text_add(&cuda, kernel_text_ew_cuh);
	text_add(&cuda, kernel_text_gather_cuh);
	text_add(&cuda, kernel_text_cx_cuh);
	text_add(&cuda, kernel_text_half_h);
	text_add(&cuda, kernel_text_f16_cuh);
	text_add(&cuda, kernel_text_tree_cuh);
	text_add(&cuda, kernel_text_groups_cuh);
}

const char *emit_c_prologue(void)
{
	pthread_once(&once, make);
	return prologue.s;
}

const char *emit_cuda_prologue(void)
{
	pthread_once(&once, make);
	return cuda.s;
}

void emit_omit(struct text *o, bool used, const char *part)
{
	if (!used)
		text_put(o, "#define BZ_NO_%s\n", part);
}

/* Of the types that most texts leave out, those that one has. */
struct rare {
	bool complex, half, brain;
};

static void omit_types(struct text *o, const struct rare *r)
{
	emit_omit(o, r->complex, "COMPLEX");
	emit_omit(o, r->half, "HALF");
	emit_omit(o, r->brain, "BRAIN");
}

static bool is_complex(unsigned dtype)
{
	return dtype_row(dtype)->cls == CLASS_COMPLEX;
}

static void note_type(struct rare *r, unsigned dtype)
{
	r->complex |= is_complex(dtype);
	r->half |= dtype == DT_FLOAT16;
	r->brain |= dtype == DT_BFLOAT16;
}

bool emit_omit_types(struct text *o, const struct nest *n)
{
	struct rare rare = {false};

	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct nest_instr *in = &n->instr[i];

		note_type(&rare, in->dtype);
		if (instr_computes(in->op))
			note_type(&rare, in->ltype);
	}
	omit_types(o, &rare);
	return rare.complex || rare.half || rare.brain;
}

void emit_omit_call_types(struct text *o, const struct call_kind *c)
{
	struct rare rare = {false};

	note_type(&rare, c->dtype);
	for (unsigned i = 0; i < CALL_KIND_OPERANDS; i++)
		note_type(&rare, c->operand[i]);
	omit_types(o, &rare);
}

void emit_omit_types_but(struct text *o, uint32_t types)
{
	struct rare rare = {false};

	for (unsigned d = 0; d < DTYPE_END; d++)
		if (types >> d & 1)
			note_type(&rare, d);
	omit_types(o, &rare);
}
