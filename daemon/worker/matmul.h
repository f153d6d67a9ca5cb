/* SPDX-License-Identifier: Apache-2.0 */
/* worker/matmul.h - matrix products, tile by tile.
 *
 * C is cut into fixed tiles (MATMUL_ROWS by MATMUL_COLS) and k into fixed blocks;
 * a tile is one unit of the pool.  Tiles depend on the shape alone, so the bits of
 * a product do not depend on threads or slices.  float and complex types go to
 * OpenBLAS on one thread where it can be loaded; integers, bool, and everything
 * where it cannot, to our own loops (matmul_plain.c).  float16 is packed as float32,
 * computed like that and rounded once. */
#ifndef BRAZE_MATMUL_H
#define BRAZE_MATMUL_H

#include "plan/plan.h"

#define MATMUL_ROWS  128
#define MATMUL_COLS  1024
#define MATMUL_DEPTH 1024 /* of one block along k */

typedef void matmul_gemm_real(int order, int ta, int tb, int m, int n, int k, double alpha,
			      const double *a, int lda, const double *b, int ldb, double beta,
			      double *c, int ldc);
typedef void matmul_gemm_single(int order, int ta, int tb, int m, int n, int k, float alpha,
				const float *a, int lda, const float *b, int ldb, float beta,
				float *c, int ldc);
typedef void matmul_gemm_complex(int order, int ta, int tb, int m, int n, int k, const void *alpha,
				 const void *a, int lda, const void *b, int ldb, const void *beta,
				 void *c, int ldc);

/* The library; all NULL without one.  Read-only after matmul_open. */
struct matmul {
	void *handle;
	matmul_gemm_single *sgemm;
	matmul_gemm_real *dgemm;
	matmul_gemm_complex *cgemm, *zgemm;
};

/* Memory of one thread, for packed blocks. */
struct matmul_scratch {
	char *mem;
	size_t bytes;
};

/* Load OpenBLAS; without it *m works too. */
void matmul_open(struct matmul *m);
void matmul_close(struct matmul *m);
void matmul_scratch_finish(struct matmul_scratch *s);

/* Extents, type and batch count usable?  Comes before every other call. */
enum status matmul_check(const struct plan_matmul *p, struct err *err) MUST_USE;
/* Rows of C over all batches. */
int64_t matmul_rows(const struct plan_matmul *p);
/* Bytes that operand x (0 A, 1 B, 2 C) touches around its base: [*lo, *hi). */
void matmul_range(const struct plan_matmul *p, int x, int64_t *lo, int64_t *hi);
/* The tiles [*first, *end) whose first row is one of [lo, hi). */
void matmul_tiles(const struct plan_matmul *p, int64_t lo, int64_t hi, int64_t *first,
		  int64_t *end);
/* Compute one tile; stops early, with C undefined, once *cancel is not 0. */
enum status matmul_tile(const struct matmul *m, const struct plan_matmul *p, char *const base[3],
			int64_t tile, struct matmul_scratch *s, const volatile uint32_t *cancel,
			struct err *err) MUST_USE;

/* matmul_plain.c: c[rows][cols] += a[rows][depth] * b[depth][cols], all packed; no
 * float16. */
void matmul_plain(unsigned dtype, void *c, const void *a, const void *b, int64_t rows, int64_t cols,
		  int64_t depth);
/* Copy rows x cols elements between strided and packed storage. */
void matmul_pack(void *packed, const char *from, unsigned bytes, int64_t rows, int64_t cols,
		 int64_t row, int64_t col);
void matmul_unpack(char *to, const void *packed, unsigned bytes, int64_t rows, int64_t cols,
		   int64_t row, int64_t col);

#endif
