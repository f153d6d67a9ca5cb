/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_prologue.c - the prologue of generated C: the headers of kernels/,
 * joined in the order that kernels/tree.h names. */
#include "emit.h"

#include <pthread.h>

#include "text.h"

extern const char kernel_text_pre_h[], kernel_text_ew_h[], kernel_text_cx_h[], kernel_text_tree_h[];

/* Made once, on any thread, never changed after. */
static struct text prologue;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
	text_add(&prologue, kernel_text_pre_h);
	text_add(&prologue, kernel_text_ew_h);
	text_add(&prologue, kernel_text_cx_h);
	text_add(&prologue, kernel_text_tree_h);
}

const char *emit_c_prologue(void)
{
	pthread_once(&once, make);
	return prologue.s;
}
