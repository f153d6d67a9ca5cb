/* SPDX-License-Identifier: Apache-2.0 */
/* cache/target.h - what makes code for one kind of device.
 *
 * Loop thread only.  The processor's code comes from gcc or clang, a GPU's from
 * NVRTC; each has a helper process of its own, so that neither waits for the other. */
#ifndef BRAZE_TARGET_H
#define BRAZE_TARGET_H

#include "base/cuda_find.h"
#include "cache.h"
#include "disk.h"
#include "helper.h"

struct target;
/* Who makes code for a kind of device: a row of contract/backends.def. */
struct target_maker {
	const char *key; /* what its kernels' keys begin with, before backend_number() */
	/* Find the compiler and get ready to start its helper; tried again while there is none. */
	void (*open)(struct target *t, struct uv_loop_s *loop, const struct cache_config *c);
	/* The text that the compiler gets for this kernel; malloc'ed. */
	enum status (*source)(char **out, const struct kernel *k, struct err *err);
};

struct target {
	struct helper *helper; /* NULL: there is no compiler, `missing` tells why */
	struct disk_kind kind; /* its identity is the text below */
	char identity[1536];
	char missing[CACHE_ERROR_TEXT];
};

/* Find the compiler of this code and get ready to start its helper; may be tried again while
 * there is no helper. */
void target_open(struct target *t, uint32_t arch, struct uv_loop_s *loop,
		 const struct cache_config *c);
/* The NVRTC of this machine: t's kind and identity are those of code made by it.
 * false: there is none, t->missing tells why.  Without effect but on *t; any thread. */
bool target_identify_cuda(struct target *t, struct cuda_find *found);
void target_close(struct target *t);
/* What kernels are told apart by: a device's target, and the nest's text, or that of a library step
 * of this kind; malloc'ed. */
char *target_key(const struct nest *spec, uint32_t arch);
char *target_call_key(const struct call_kind *call, uint32_t arch);
/* That of a loop of a kernel on a GPU: the text, behind two lines. */
char *target_grid_key(const struct grid_words *w, uint32_t arch);
/* The text that the target's compiler gets for this kernel; malloc'ed. */
enum status target_source(char **out, const struct kernel *k, struct err *err) MUST_USE;

#endif
