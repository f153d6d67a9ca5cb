/* SPDX-License-Identifier: Apache-2.0 */
/* cache/helper.h - the compile helper process, seen from the loop.
 *
 * Loop thread only.  Started when the first job comes, restarted after a death.
 * Jobs run one at a time, in order, those that somebody waits for first.  A job whose helper dies
 * is tried once more; one whose helper does nothing for too long, or computes for too long, has it
 * killed. */
#ifndef BRAZE_HELPER_H
#define BRAZE_HELPER_H

#include "compile/compile.h"

struct uv_loop_s;
struct helper;

struct helper_config {
	const char *self;     /* executable to start as `SELF --compile-helper 3` */
	const char *compiler; /* absolute path, or of NVRTC */
	enum isa_level isa;   /* of objects for this processor */
	uint32_t timeout_ms;  /* that a compilation may sleep; 0: COMPILE_TIMEOUT_MS */
};

/* The text of a job whose turn has come, allocated, and whether somebody waits for it;
 * NULL: there is none, `err` tells why. */
typedef char *helper_source_fn(void *data, bool *urgent, struct err *err);
/* The end of a job.  status OK: fd (now the callee's) is the object.  E_COMPILE: the
 * compiler refused, or there is no text; `text` tells; another code: it could not be run. */
struct helper_result {
	enum status status;
	int fd;
	uint64_t bytes, compile_ns;
	uint32_t registers, spill_bytes;
	const char *text;
};
typedef void helper_done_fn(void *data, const struct helper_result *r);

enum status helper_create(struct helper **out, struct uv_loop_s *loop,
			  const struct helper_config *c, struct err *err) MUST_USE;
/* Ends the process; jobs not done are forgotten without a call.  Memory is freed
 * when the loop has run its close callbacks. */
void helper_destroy(struct helper *h);
/* Compile for `arch` (struct compile_request); both are called later, from the loop, source
 * not at all or as often as the job is tried. */
void helper_submit(struct helper *h, unsigned arch, helper_source_fn *source, helper_done_fn *done,
		   void *data);
/* Somebody waits for the job that was submitted with this data: unless it has begun, it comes
 * before all those that nobody waits for. */
void helper_hurry(struct helper *h, const void *data);
uint64_t helper_deaths(const struct helper *h);
/* Descriptors that it holds: the process' socket. */
uint64_t helper_fds(const struct helper *h);
/* Jobs that are not done. */
unsigned helper_waiting(const struct helper *h);
int helper_pid(const struct helper *h); /* 0: none runs */

#endif
