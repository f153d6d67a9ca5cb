/* SPDX-License-Identifier: Apache-2.0 */
/* worker/matmul.h - matrix products, unit by unit (call/product.h).
 *
 * float and complex types go to OpenBLAS on one thread where it can be loaded; short
 * products, integers, bool, and everything where it cannot, to our own loops
 * (kernels/loops/product.h).
 * float16 is packed as float32, computed and added up like that, and rounded once.
 *
 * A tile's chunks may be computed in one go, in several, or apart from each other and
 * added afterwards: the bits are the same. */
#ifndef BRAZE_MATMUL_H
#define BRAZE_MATMUL_H

#include "call/product.h"

typedef void matmul_gemm_real(int order, int ta, int tb, int m, int n, int k, double alpha,
			      const double *a, int lda, const double *b, int ldb, double beta,
			      double *c, int ldc);
typedef void matmul_gemm_single(int order, int ta, int tb, int m, int n, int k, float alpha,
				const float *a, int lda, const float *b, int ldb, float beta,
				float *c, int ldc);
typedef void matmul_gemm_complex(int order, int ta, int tb, int m, int n, int k, const void *alpha,
				 const void *a, int lda, const void *b, int ldb, const void *beta,
				 void *c, int ldc);

typedef void matmul_gemv_real(int order, int ta, int m, int n, double alpha, const double *a,
			      int lda, const double *x, int incx, double beta, double *y, int incy);
typedef void matmul_gemv_single(int order, int ta, int m, int n, float alpha, const float *a,
				int lda, const float *x, int incx, float beta, float *y, int incy);
typedef void matmul_gemv_complex(int order, int ta, int m, int n, const void *alpha, const void *a,
				 int lda, const void *x, int incx, const void *beta, void *y,
				 int incy);

/* The library; all NULL without one.  Read-only after matmul_open. */
struct matmul {
	void *handle;
	matmul_gemm_single *sgemm;
	matmul_gemm_real *dgemm;
	matmul_gemm_complex *cgemm, *zgemm;
	matmul_gemv_single *sgemv;
	matmul_gemv_real *dgemv;
	matmul_gemv_complex *cgemv, *zgemv;
	const char *(*core)(void); /* whose loops it has chosen; NULL: it does not tell */
};

/* Memory of one thread, for packed blocks. */
struct matmul_scratch {
	char *mem;
	size_t bytes;
};

/* What every call needs. */
struct matmul_run {
	const struct matmul *library;
	const struct product *p;
	const struct product_cut *cut;
	char *base[3];			 /* of A, B, C */
	const volatile uint32_t *cancel; /* once not 0, calls stop early with C undefined */
};

/* The caller's thread. */
struct matmul_thread {
	struct matmul_scratch *scratch;
	void (*poll)(void *data); /* called every few milliseconds; NULL: not */
	void *data;
};

/* float16: a tile's float32 sums between two runs of its chunks, PRODUCT_TILE of
 * them at most.  NULL where the run begins with the first chunk (from), or ends
 * with the last (to).  Other types are added up in C itself. */
struct matmul_carry {
	const float *from;
	float *to;
};

/* Load OpenBLAS; without it *m works too. */
void matmul_open(struct matmul *m);
void matmul_close(struct matmul *m);
void matmul_scratch_finish(struct matmul_scratch *s);

/* Rows of C over all batches. */
int64_t matmul_rows(const struct product *p);
/* Do the float32 sums of a tile that is not finished have to be kept (struct matmul_carry)? */
bool matmul_carries(const struct product *p);

/* Chunks [lo, hi) of a tile, added to what its chunks before have left. */
enum status matmul_tile(const struct matmul_run *r, int64_t tile, int64_t lo, int64_t hi,
			const struct matmul_carry *carry, const struct matmul_thread *t,
			struct err *err) MUST_USE;
/* Is each product of the stack a tile of one chunk that our own loops do at once? */
bool matmul_stacked(const struct matmul_run *r);
/* Such tiles [lo, hi), a few milliseconds of them at most. */
enum status matmul_stack(const struct matmul_run *r, int64_t lo, int64_t hi,
			 const struct matmul_thread *t, struct err *err) MUST_USE;
/* Bytes of a chunk's product by itself, of any tile. */
size_t matmul_part_bytes(const struct product *p, const struct product_cut *cut);
/* That product: packed, in the type that is computed in. */
enum status matmul_part(const struct matmul_run *r, int64_t tile, int64_t chunk, void *part,
			const struct matmul_thread *t, struct err *err) MUST_USE;
/* The products of chunks [lo, hi), one after the other in `part`, added likewise. */
enum status matmul_fold(const struct matmul_run *r, int64_t tile, int64_t lo, int64_t hi,
			const void *part, const struct matmul_carry *carry,
			const struct matmul_thread *t, struct err *err) MUST_USE;

/* matmul_plain.c: c[i] += part[i], n elements; no float16. */
void matmul_add(unsigned dtype, void *c, const void *part, int64_t n);
/* Copy rows x cols elements between strided and packed storage. */
void matmul_pack(void *packed, const char *from, unsigned bytes, int64_t rows, int64_t cols,
		 int64_t row, int64_t col);
void matmul_unpack(char *to, const void *packed, unsigned bytes, int64_t rows, int64_t cols,
		   int64_t row, int64_t col);

#endif
