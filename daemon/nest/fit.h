/* SPDX-License-Identifier: Apache-2.0 */
/* nest/fit.h - how one nest can run inside the loops of another.
 *
 * The guest's loops are matched with the host's so that a place both touch is
 * touched at the same point; views (transposes, reshapes of contiguous arrays)
 * are seen through because only strides count. */
#ifndef BRAZE_FIT_H
#define BRAZE_FIT_H

#include "prog.h"

struct fit {
	const struct part *part; /* whose units they are */
	bool guest_later;	 /* the guest comes later in program order */
	bool post;		 /* the guest's code runs once per parallel point of the host */
	uint8_t loop[LIMIT_NDIM];
	int64_t stride[LIMIT_NEST_ACCESSES][LIMIT_NDIM]; /* guest's accesses, host's loops */
};

/* Ways to try, in order; fit_try returns false when a way does not exist. */
enum fit_way { FIT_SHARED_POST, FIT_POST, FIT_SHARED, FIT_PLAIN, FIT_WAYS };

bool fit_try(struct fit *f, enum fit_way way, const struct prog_unit *earlier,
	     const struct prog_unit *later);

#endif
