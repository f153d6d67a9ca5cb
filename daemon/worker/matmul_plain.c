/* SPDX-License-Identifier: Apache-2.0 */
/* worker/matmul_plain.c - sums and copies of blocks, for every type.
 *
 * Integers wrap as NumPy's do: computed unsigned, where wrapping is defined.  bool is OR. */
#include <string.h>

#include "matmul.h"

#define ADD(T)                                                                                     \
	do {                                                                                       \
		T *restrict z = c;                                                                 \
		const T *restrict y = part;                                                        \
		for (int64_t i = 0; i < n; i++)                                                    \
			z[i] = (T)(z[i] + y[i]);                                                   \
	} while (0)

static void add_bool(uint8_t *restrict c, const uint8_t *restrict part, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		c[i] |= part[i];
}

static void add_integers(unsigned bytes, void *c, const void *part, int64_t n)
{
	switch (bytes) {
	case 1:
		ADD(uint8_t);
		break;
	case 2:
		ADD(uint16_t);
		break;
	case 4:
		ADD(uint32_t);
		break;
	default:
		ADD(uint64_t);
		break;
	}
}

void matmul_add(unsigned dtype, void *c, const void *part, int64_t n)
{
	const struct dtype_row *d = dtype_row(dtype);

	if (d->cls == CLASS_BOOL) {
		add_bool(c, part, n);
	} else if (d->cls < CLASS_FLOAT) {
		add_integers(d->bytes, c, part, n);
	} else {
		n *= d->cls == CLASS_COMPLEX ? 2 : 1;
		if (dtype == DT_FLOAT32 || dtype == DT_COMPLEX64)
			ADD(float);
		else
			ADD(double);
	}
}

/* One row; the constant size lets the compiler turn memcpy into a move. */
#define COPY_ROW(n)                                                                                \
	case n:                                                                                    \
		for (int64_t j = 0; j < cols; j++)                                                 \
			memcpy(to + j * to_step, from + j * from_step, n);                         \
		break

static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, unsigned bytes,
		     int64_t cols)
{
	if (to_step == bytes && from_step == bytes) {
		memcpy(to, from, (size_t)cols * bytes);
		return;
	}
	switch (bytes) {
		COPY_ROW(1);
		COPY_ROW(2);
		COPY_ROW(4);
		COPY_ROW(8);
		COPY_ROW(16);
	default:
		break;
	}
}

void matmul_pack(void *packed, const char *from, unsigned bytes, int64_t rows, int64_t cols,
		 int64_t row, int64_t col)
{
	for (int64_t i = 0; i < rows; i++)
		copy_row((char *)packed + i * cols * bytes, bytes, from + i * row, col, bytes,
			 cols);
}

void matmul_unpack(char *to, const void *packed, unsigned bytes, int64_t rows, int64_t cols,
		   int64_t row, int64_t col)
{
	for (int64_t i = 0; i < rows; i++)
		copy_row(to + i * row, col, (const char *)packed + i * cols * bytes, bytes, bytes,
			 cols);
}
