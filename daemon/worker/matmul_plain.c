/* SPDX-License-Identifier: Apache-2.0 */
/* worker/matmul_plain.c - our own product of packed blocks, for every type.
 *
 * Each element of C is summed in rising k, one multiply and one add at a time, so
 * the result does not depend on the blocking.  Integers wrap as NumPy's do:
 * computed unsigned, where wrapping is defined.  bool is OR of ANDs. */
#include <string.h>

#include "matmul.h"

#define BLOCK_K 32
#define BLOCK_J 256

/* Walk C in blocks whose part of B stays in the second-level cache. */
#define FOR_BLOCKS(BODY)                                                                           \
	for (int64_t k0 = 0; k0 < depth; k0 += BLOCK_K) {                                          \
		int64_t k1 = k0 + BLOCK_K < depth ? k0 + BLOCK_K : depth;                          \
		for (int64_t j0 = 0; j0 < cols; j0 += BLOCK_J) {                                   \
			int64_t j1 = j0 + BLOCK_J < cols ? j0 + BLOCK_J : cols;                    \
			for (int64_t i = 0; i < rows; i++)                                         \
				for (int64_t k = k0; k < k1; k++)                                  \
					BODY;                                                      \
		}                                                                                  \
	}

#define PLAIN(name, T, WIDE)                                                                       \
	static void plain_##name(T *restrict c, const T *restrict a, const T *restrict b,          \
				 int64_t rows, int64_t cols, int64_t depth, int64_t lda)           \
	{                                                                                          \
		FOR_BLOCKS({                                                                       \
			WIDE x = a[i * lda + k];                                                   \
			const T *restrict y = b + k * cols;                                        \
			T *restrict z = c + i * cols;                                              \
			for (int64_t j = j0; j < j1; j++)                                          \
				z[j] = (T)(z[j] + x * (WIDE)y[j]);                                 \
		})                                                                                 \
	}

#define PLAIN_COMPLEX(name, T)                                                                     \
	static void plain_##name(T *restrict c, const T *restrict a, const T *restrict b,          \
				 int64_t rows, int64_t cols, int64_t depth, int64_t lda)           \
	{                                                                                          \
		FOR_BLOCKS({                                                                       \
			T re = a[2 * (i * lda + k)];                                               \
			T im = a[2 * (i * lda + k) + 1];                                           \
			const T *restrict y = b + 2 * k * cols;                                    \
			T *restrict z = c + 2 * i * cols;                                          \
			for (int64_t j = j0; j < j1; j++) {                                        \
				z[2 * j] += re * y[2 * j] - im * y[2 * j + 1];                     \
				z[2 * j + 1] += re * y[2 * j + 1] + im * y[2 * j];                 \
			}                                                                          \
		})                                                                                 \
	}

PLAIN(u8, uint8_t, uint32_t)
PLAIN(u16, uint16_t, uint32_t)
PLAIN(u32, uint32_t, uint32_t)
PLAIN(u64, uint64_t, uint64_t)
PLAIN(f32, float, float)
PLAIN(f64, double, double)
PLAIN_COMPLEX(c64, float)
PLAIN_COMPLEX(c128, double)

static void plain_bool(uint8_t *restrict c, const uint8_t *restrict a, const uint8_t *restrict b,
		       int64_t rows, int64_t cols, int64_t depth, int64_t lda)
{
	FOR_BLOCKS({
		uint8_t x = a[i * lda + k] != 0;
		const uint8_t *restrict y = b + k * cols;
		uint8_t *restrict z = c + i * cols;
		for (int64_t j = j0; j < j1; j++)
			z[j] |= (uint8_t)(x & (y[j] != 0));
	})
}

void matmul_plain(unsigned dtype, void *c, const void *a, const void *b, int64_t rows, int64_t cols,
		  int64_t depth, int64_t lda)
{
	switch (dtype) {
	case DT_BOOL:
		plain_bool(c, a, b, rows, cols, depth, lda);
		break;
	case DT_INT8:
	case DT_UINT8:
		plain_u8(c, a, b, rows, cols, depth, lda);
		break;
	case DT_INT16:
	case DT_UINT16:
		plain_u16(c, a, b, rows, cols, depth, lda);
		break;
	case DT_INT32:
	case DT_UINT32:
		plain_u32(c, a, b, rows, cols, depth, lda);
		break;
	case DT_INT64:
	case DT_UINT64:
		plain_u64(c, a, b, rows, cols, depth, lda);
		break;
	case DT_FLOAT32:
		plain_f32(c, a, b, rows, cols, depth, lda);
		break;
	case DT_FLOAT64:
		plain_f64(c, a, b, rows, cols, depth, lda);
		break;
	case DT_COMPLEX64:
		plain_c64(c, a, b, rows, cols, depth, lda);
		break;
	case DT_COMPLEX128:
		plain_c128(c, a, b, rows, cols, depth, lda);
		break;
	default: /* matmul.c gives no other type */
		break;
	}
}

/* Integers wrap; bool is OR. */
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
