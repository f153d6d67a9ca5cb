/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - one call of a kernel from Python: what kernel.c and site.c share.  With the
 * interpreter lock. */
#ifndef BRAZE_PYTHON_KERNEL_H
#define BRAZE_PYTHON_KERNEL_H

#include "core.h"

#define KERNEL_CAPSULE "braze.kernel"
#define KERNEL_ARGS    64 /* with results */

/* One argument, held until the call is over. */
struct held {
	braze_kernel_arg arg;
	Py_buffer buffer;
	bool open; /* the buffer */
	bool locked;
	struct host_block lock;
	braze_array *h;
	braze_loan loan;
	void *hold;
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
};

/* It holds nothing: as all zero, but what is set before it is read stays as it is. */
static inline void kernel_hold_nothing(struct held *x)
{
	x->arg = (braze_kernel_arg){0};
	x->open = x->locked = false;
	x->h = NULL;
	x->loan.data = NULL;
	x->hold = NULL;
}

/* An array of ours, of the parameter's type and axes, which is not waited for; -1 with an exception
 * set. */
int kernel_take_array(struct held *x, PyObject *o, const braze_parameter *p);
/* Runs without the interpreter lock; -1 with an exception set. */
int kernel_run(braze_scalar *result, braze_kernel *k, struct held *x, int n);
void kernel_let_go(struct held *x);

#endif
