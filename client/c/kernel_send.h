/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_send.h - what is shared by those who record a kernel's loops. */
#ifndef BRAZE_KERNEL_SEND_H
#define BRAZE_KERNEL_SEND_H

#include "form/place.h"
#include "kernel.h"

/* A call whose loops become operations. */
struct sending {
	struct braze_kernel *kernel;
	struct braze_session *session;
	const struct gpu_rates *rates; /* NULL: the session names a device */
	unsigned narray;
	struct braze_array *of[LANG_PARAMS]; /* by the program's numbers of arrays */
	/* As they were before the present loop; NULL: nobody needs it. */
	struct braze_array *old[LANG_PARAMS];
	struct lang_array array[LANG_PARAMS];
	union lang_reg scalar[LANG_PARAMS];
};

/* The next of its arrays. */
void kernel_send_array(struct sending *x, struct braze_array *a);
/* One launch of the list; to: the array that gets what is added up, NULL: one of the kernel's. */
enum status kernel_send_launch(struct sending *x, const struct lang_afar *a, unsigned launch,
			       struct braze_array *to, struct err *err) MUST_USE;

/* kernel_sums.c: what launches of the list add up, one array for each sum. */
struct kernel_sums {
	unsigned n, cap;
	struct braze_array **value;
};

/* A launch of the list that tells of a sum, and what makes few elements of what it tells.  Recorder
 * lock held. */
enum status kernel_sums_record(struct kernel_sums *sums, struct sending *x,
			       const struct lang_afar *a, unsigned launch,
			       struct err *err) MUST_USE;
/* Waits for all of them, and tells them to the run. */
int kernel_sums_tell(struct kernel_sums *sums, struct lang_afar *a, struct braze_session *s,
		     braze_check_fn *check, void *data, struct err *err);
/* They are not needed any more. */
void kernel_sums_drop(struct kernel_sums *sums);
void kernel_folds_free(struct kernel_fold *folds); /* NULL is fine */

#endif
