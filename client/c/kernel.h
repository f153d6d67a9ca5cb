/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel.h - kernels from text: run by code that is made here at once, or interpreted, and
 * by code that the daemon has compiled.
 *
 * A compiler is asked when a run has taken KERNEL_WORTH_US, or all together KERNEL_SPENT_US.  Its
 * code comes while the run goes on, and does the rest from the next turn of an outermost loop on.
 */
#ifndef BRAZE_KERNEL_H
#define BRAZE_KERNEL_H

#include "client.h"
#include "lang/lang_afar.h"

#define KERNEL_WORTH_US 2000  /* below that a compiler is not worth asking */
#define KERNEL_SPENT_US 20000 /* of short runs together */
#define KERNEL_WAIT_US	10000 /* what was interpreted for so long waits for code */

struct braze_kernel {
	struct lang_kernel *linked;
	const struct lang_program *program;
	char *text;
	size_t length;
	_Atomic uint32_t busy;	    /* somebody is asking, or looks for the answer */
	struct braze_future *asked; /* by who is busy; NULL: no question is open */
	void *object;		    /* loaded; lives as long as the kernel */
	unsigned tries;
	struct err never;	    /* why there will be no code; OK: there may be */
	_Atomic bool hopeless;	    /* never.code is set */
	bool quickened;		    /* its first runs are by code, too */
	_Atomic int64_t longest_us; /* of its runs, */
	_Atomic int64_t spent_us;   /* and all of them together, */
	_Atomic int64_t last_us;    /* and the last one */
	_Atomic int64_t looking_us; /* at calls that might have been a GPU's, and stayed */
	_Atomic double work;	    /* instructions of the run that is measured; 0: none is */
	_Atomic double work_us;	    /* that one takes on all threads; 0: not measured */
	_Atomic(char *) loops;	    /* what the last call knew of them; NULL: nothing */
	_Atomic bool sending;	    /* somebody looks whether its loops can be a GPU's; */
	struct lang_looks looks;    /* who does has these, */
	struct kernel_told *told;   /* and loops that daemons were told of, */
	unsigned ntold;
	struct kernel_fold *folds; /* kernels that put together what its loops add up, */
	char afar[224];		   /* and says so in a line, where explanations are wanted */
};

/* A number as the parameter's type takes it. */
int kernel_scalar(union lang_reg *out, const struct lang_param *p, const braze_kernel_arg *x,
		  braze_error *error);
/* A register as braze.h has numbers. */
braze_scalar kernel_number(const union lang_reg *r, unsigned type);
/* offer.c: the GPU that a choice by cost is about, asked for once a second; NULL: there is none, or
 * what was sent there lately came astray.  Recorder lock held, but not meanwhile.
 * BRAZE_E_INTERRUPTED is the only error. */
int offer_rates(const struct gpu_rates **out, struct braze_session *s, struct err *err);
/* braze_kernel_send, with what is asked while it waits; NULL: the session's owner. */
int kernel_send(int *sent, braze_scalar *results, struct braze_kernel *k, int nargs,
		const braze_kernel_arg *args, braze_check_fn *check, void *data,
		braze_error *error);
/* What is left of a run whose first loops were operations. */
int kernel_rest(struct lang_afar *a, union lang_reg *result, struct braze_kernel *k,
		const braze_kernel_arg *args, braze_check_fn *check, void *data,
		braze_error *error);
/* Are explanations wanted?  Then this keeps one. */
bool kernel_explains(void);
void kernel_explain(struct braze_kernel *k, const struct lang_array *array,
		    const union lang_reg *scalar);

/* Machine code from its first run on, unless the environment wants it interpreted. */
void kernel_code_quicken(struct braze_kernel *k);
/* 0: it has what it needs to ask; -1: no memory. */
int kernel_code_open(struct braze_kernel *k, const char *text, size_t length);
void kernel_code_close(struct braze_kernel *k);
/* Of a descriptor that the daemon sent; NULL with err set: it is none. */
void *kernel_code_object(int fd, struct err *err);
/* A run has ended that took so long. */
void kernel_code_ran(struct braze_kernel *k, int64_t us);

#endif
