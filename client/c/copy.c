/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/copy.c - strided elements to a C-contiguous row of them. */
#include "copy.h"

#include <string.h>

#include "loops/copy_bytes.h"

static void copy_row(uint8_t *dst, const uint8_t *src, int64_t n, int64_t stride, unsigned size)
{
	/* A constant size lets the compiler use one move per element. */
	for (int64_t i = 0; i < n; i++, src += stride)
		switch (size) {
		case 1:
			dst[i] = *src;
			break;
		case 4:
			memcpy(dst + i * 4, src, 4);
			break;
		case 8:
			memcpy(dst + i * 8, src, 8);
			break;
		default:
			memcpy(dst + i * size, src, size);
		}
}

void copy_gather(void *dst, const struct shape *shape, const int64_t *stride, const void *src,
		 unsigned itemsize)
{
	int64_t at[LIMIT_NDIM] = {0}, count = 1, row, step;
	int outer = shape->ndim - 1;
	const uint8_t *from = src;
	uint8_t *to = dst;

	for (int i = 0; i < shape->ndim; i++)
		count *= shape->dim[i];
	if (!count)
		return;
	if (!stride || !shape->ndim) {
		copy_bytes(dst, src, (size_t)count * itemsize);
		return;
	}
	row = shape->dim[outer];
	step = stride[outer];
	for (int64_t done = 0; done < count; done += row) {
		if (step == itemsize)
			copy_bytes(to, from, (size_t)row * itemsize);
		else
			copy_row(to, from, row, step, itemsize);
		to += row * itemsize;
		/* The next row, as an odometer counts. */
		for (int i = outer - 1; i >= 0; i--) {
			from += stride[i];
			if (++at[i] < shape->dim[i])
				break;
			from -= stride[i] * shape->dim[i];
			at[i] = 0;
		}
	}
}
