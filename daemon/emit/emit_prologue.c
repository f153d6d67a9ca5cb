/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_prologue.c - the prologues of generated C and CUDA: the headers of
 * kernels/, joined in the order that kernels/tree.h and kernels/pre.cuh name. */
#include "emit.h"

#include <pthread.h>

#include "emit_c.h"
#include "loops/isa.h"

extern const char kernel_text_pre_h[], kernel_text_ew_h[], kernel_text_over_h[],
	kernel_text_half_h[], kernel_text_f16_h[], kernel_text_gather_h[], kernel_text_cx_h[],
	kernel_text_tree_h[];
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
	text_add(&prologue, kernel_text_pre_h);
	text_add(&prologue, kernel_text_ew_h);
	text_add(&prologue, kernel_text_over_h);
	text_add(&prologue, kernel_text_half_h);
	text_add(&prologue, kernel_text_f16_h);
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
