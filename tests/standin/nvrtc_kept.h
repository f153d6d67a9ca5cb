/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_kept.h - what NVRTC made of a text, kept between runs of the tests.
 *
 * In the folder that BRAZE_STANDIN_KEPT names; without it nothing is kept.  A file is named by a
 * hash of the text, the options and NVRTC itself, appears whole, and has all that a user of NVRTC
 * may ask for after a good compilation.  Any thread. */
#ifndef STANDIN_NVRTC_KEPT_H
#define STANDIN_NVRTC_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kept_part { KEPT_LOG, KEPT_PTX, KEPT_CUBIN, KEPT_PARTS };

/* Sizes as NVRTC tells them; 0: there is none. */
struct kept_answer {
	size_t bytes[KEPT_PARTS];
	char *data[KEPT_PARTS];
};

/* A program was created of this text, which has this name and, since it has no headers, is all. */
void kept_created(uintptr_t program, const char *text, const char *name);
/* What was asked for of it a file does not have. */
void kept_never(uintptr_t program);
/* It is compiled with these options by `nvrtc`, text that changes when NVRTC does.  True: it was
 * once, and from now on has that answer. */
bool kept_compiled_once(uintptr_t program, const char *nvrtc, size_t n, const char *const *option);
/* It was compiled now, with this result; the answer's data are still the caller's. */
void kept_store(uintptr_t program, const struct kept_answer *answer);
/* The answer that was kept, until it is destroyed; NULL: the real program has one. */
const struct kept_answer *kept_answer(uintptr_t program);
void kept_destroyed(uintptr_t program);

#endif
