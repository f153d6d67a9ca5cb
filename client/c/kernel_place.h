/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_place.h - where a kernel's loops go in a session that names no device. */
#ifndef BRAZE_KERNEL_PLACE_H
#define BRAZE_KERNEL_PLACE_H

#include "form/place.h"
#include "kernel.h"

/* Is the device of the session's operations chosen by cost, and is the kernel worth a look? */
bool kernel_place_asks(const struct braze_kernel *k, const struct braze_session *s);
/* Go its loops to the GPU?  All arrays are of the session; recorder lock held. */
bool kernel_place(struct braze_kernel *k, const struct gpu_rates *gpu, const struct lang_afar *a,
		  struct braze_array *const *of, unsigned narray);
/* Instructions of the call's loops. */
double kernel_place_work(const struct lang_afar *a);
/* A call of so much work stays here: its run tells what an instruction takes. */
void kernel_place_stays(struct braze_kernel *k, double work);
void kernel_place_ran(struct braze_kernel *k, int64_t us);
/* So long was looked at a call that stays here. */
void kernel_place_looked(struct braze_kernel *k, int64_t us);

#endif
