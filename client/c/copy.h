/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/copy.h - strided elements to a C-contiguous row of them. */
#ifndef BRAZE_COPY_H
#define BRAZE_COPY_H

#include "client.h"

/* Copy shape's elements in C order; src addresses element [0,...,0], stride is in
 * bytes, NULL for C-contiguous. */
void copy_gather(void *dst, const struct shape *shape, const int64_t *stride, const void *src,
		 unsigned itemsize);

#endif
