/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuSPARSE: what it computes, what it refuses, what it breaks. */
#include "sparse.h"
#include "harness.h"
#include <dlfcn.h>

#define ROWS	3
#define INNER	4
#define COUNT	5
#define COLUMNS 2
#define WORK	4096

static const int32_t starts[ROWS + 1] = {0, 2, 2, COUNT}, names[COUNT] = {3, 0, 1, 1, 2};
static const double entries[COUNT] = {1, 2, 3, 4, 5};
static const double dense[INNER * COLUMNS] = {1, 10, 2, 20, 3, 30, 4, 40};
static const double want[ROWS * COLUMNS] = {6, 60, 0, 0, 29, 290};
static const double one = 1, nought = 0;

/* A matrix, what it is multiplied with, by rows, and the result. */
struct scene {
	cusparseHandle_t h;
	CUstream stream;
	CUdeviceptr starts, names, entries, from, to, work;
	cusparseDescr a, b, c;
};

static void *address(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

static CUdeviceptr put(const void *data, size_t bytes)
{
	CUdeviceptr p = memory(bytes);

	GOOD(cuMemcpyHtoD_v2(p, data, bytes));
	return p;
}

static struct scene scene(void)
{
	struct scene s = {0};

	device();
	GOOD(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
	GOOD(cusparseCreate(&s.h));
	GOOD(cusparseSetStream(s.h, s.stream));
	s.starts = put(starts, sizeof starts);
	s.names = put(names, sizeof names);
	s.entries = put(entries, sizeof entries);
	s.from = put(dense, sizeof dense);
	s.to = memory(sizeof want);
	s.work = memory(WORK);
	GOOD(cusparseCreateCsr(&s.a, ROWS, INNER, COUNT, address(s.starts), address(s.names),
			       address(s.entries), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
			       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
	GOOD(cusparseCreateDnMat(&s.b, INNER, COLUMNS, COLUMNS, address(s.from), CUDA_R_64F,
				 CUSPARSE_ORDER_ROW));
	GOOD(cusparseCreateDnMat(&s.c, ROWS, COLUMNS, COLUMNS, address(s.to), CUDA_R_64F,
				 CUSPARSE_ORDER_ROW));
	return s;
}

static cusparseStatus_t ask(const struct scene *s, size_t *bytes)
{
	return cusparseSpMM_bufferSize(s->h, 0, 0, &one, s->a, s->b, &nought, s->c, CUDA_R_64F,
				       CUSPARSE_SPMM_CSR_ALG3, bytes);
}

static cusparseStatus_t multiply(const struct scene *s, const double *alpha, int way,
				 CUdeviceptr work)
{
	return cusparseSpMM(s->h, 0, 0, alpha, s->a, s->b, &nought, s->c, CUDA_R_64F, way,
			    address(work));
}

static cusparseStatus_t plain(const struct scene *s)
{
	return multiply(s, &one, CUSPARSE_SPMM_CSR_ALG3, s->work);
}

static void expect(const struct scene *s, unsigned columns)
{
	double got[ROWS * COLUMNS];

	GOOD(cuStreamSynchronize(s->stream));
	GOOD(cuMemcpyDtoH_v2(got, s->to, sizeof got));
	for (unsigned r = 0; r < ROWS; r++)
		for (unsigned c = 0; c < columns; c++)
			cr_expect_eq(got[r * columns + c], want[r * COLUMNS + c]);
}

Test(sparse, products_with_columns_and_with_a_vector)
{
	struct scene s = scene();
	cusparseDescr x = NULL, y = NULL;
	size_t bytes = 0;

	GOOD(ask(&s, &bytes));
	cr_assert(bytes <= WORK);
	GOOD(plain(&s));
	expect(&s, COLUMNS);
	/* The first column, side by side. */
	const double column[INNER] = {1, 2, 3, 4};
	CUdeviceptr from = put(column, sizeof column);
	GOOD(cusparseCreateDnVec(&x, INNER, address(from), CUDA_R_64F));
	GOOD(cusparseCreateDnVec(&y, ROWS, address(s.to), CUDA_R_64F));
	GOOD(cusparseSpMV_bufferSize(s.h, 0, &one, s.a, x, &nought, y, CUDA_R_64F,
				     CUSPARSE_SPMV_CSR_ALG2, &bytes));
	GOOD(cusparseSpMV(s.h, 0, &one, s.a, x, &nought, y, CUDA_R_64F, CUSPARSE_SPMV_CSR_ALG2,
			  address(s.work)));
	expect(&s, 1);
	GOOD(cusparseDestroyDnVec(x));
	GOOD(cusparseDestroyDnVec(y));
	GOOD(cusparseDestroySpMat(s.a));
	GOOD(cusparseDestroyDnMat(s.b));
	GOOD(cusparseDestroyDnMat(s.c));
	GOOD(cusparseDestroy(s.h));
}

Test(sparse, what_is_refused)
{
	struct scene s = scene();
	cusparseDescr other = NULL;
	size_t bytes = 0;

	cr_expect_eq(plain(&s), CUSPARSE_STATUS_INVALID_VALUE, "work that nobody asked for");
	GOOD(ask(&s, &bytes));
	cr_expect_eq(multiply(&s, &one, 6, s.work), CUSPARSE_STATUS_INVALID_VALUE, "another way");
	cr_expect_eq(multiply(&s, &nought, CUSPARSE_SPMM_CSR_ALG3, s.work),
		     CUSPARSE_STATUS_INVALID_VALUE, "another factor");
	cr_expect_eq(cusparseCreateCsr(&other, ROWS, INNER, COUNT, address(s.starts + 4),
				       address(s.names), address(s.entries), CUSPARSE_INDEX_32I,
				       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
		     CUSPARSE_STATUS_INVALID_VALUE, "not aligned");
	cr_expect_eq(cusparseCreateDnMat(&other, INNER, COLUMNS, 1, address(s.from), CUDA_R_64F,
					 CUSPARSE_ORDER_ROW),
		     CUSPARSE_STATUS_INVALID_VALUE, "rows that overlap");
	cr_expect_eq(cusparseCreateDnVec(&other, INNER, address(s.from), 2),
		     CUSPARSE_STATUS_INVALID_VALUE, "a type that is none");
	cr_expect_eq(cusparseDestroyDnVec(s.b), CUSPARSE_STATUS_INVALID_VALUE, "another kind");
	GOOD(cusparseDestroySpMat(s.a));
	cr_expect_eq(plain(&s), CUSPARSE_STATUS_INVALID_VALUE, "a descriptor that is gone");
	cr_expect_eq(cusparseDestroySpMat(s.a), CUSPARSE_STATUS_INVALID_VALUE, "twice");
	GOOD(cusparseDestroy(s.h));
	cr_expect_eq(plain(&s), CUSPARSE_STATUS_NOT_INITIALIZED);
}

/* What a device would read beyond the end. */
Test(sparse, a_structure_that_lies_breaks_the_context)
{
	const int32_t lie = INNER;
	struct scene s = scene();
	size_t bytes = 0;

	GOOD(cuMemcpyHtoD_v2(s.names + 4, &lie, 4));
	GOOD(ask(&s, &bytes));
	GOOD(plain(&s));
	cr_expect_eq(cuStreamSynchronize(s.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static const char *const declared[] = {
#define NAME(name, ...) #name,
	SPARSE_CALLS(NAME)
#undef NAME
};

Test(sparse, exports_what_it_declares)
{
	void *library = dlopen(STANDIN_LIBCUSPARSE, RTLD_NOW | RTLD_LOCAL);

	cr_assert(library, "%s", dlerror());
	for (size_t k = 0; k < sizeof declared / sizeof *declared; k++)
		cr_expect(dlsym(library, declared[k]), "%s is not exported", declared[k]);
	cr_expect_null(dlsym(library, "sparse_enter"));
}

Test(sparse, names_are_those_of_the_real_one)
{
	void *library = dlopen("/usr/local/cuda/lib64/libcusparse.so", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		cr_skip_test("no toolkit");
	for (size_t k = 0; k < sizeof declared / sizeof *declared; k++)
		cr_expect(dlsym(library, declared[k]), "%s is none of its", declared[k]);
}
