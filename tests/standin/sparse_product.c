/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_product.c - checks a product's arguments and computes it; see sparse.h. */
#include "sparse.h"

#include <string.h>

#define SPOILT	     0xdd /* what is left in the work */
#define WORK_ALIGNED 256

struct product {
	cusparseHandle_t h;
	struct sparse_shape a, b, c; /* as they were told */
	CUdeviceptr work;
	size_t bytes;
};

/* ---- computing, in a stream's thread ---- */

struct number {
	long double re, im;
};

static bool is_complex(int type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F;
}

static struct number load(const char *at, int64_t k, int type)
{
	bool wide = type == CUDA_R_64F || type == CUDA_C_64F, complex = is_complex(type);
	double pair[2] = {0, 0};
	float single[2] = {0, 0};

	at += (size_t)k * sparse_bytes(type);
	memcpy(wide ? (void *)pair : single, at, sparse_bytes(type));
	return (struct number){wide ? pair[0] : single[0],
			       complex ? (wide ? pair[1] : single[1]) : 0};
}

static void store(char *at, int64_t k, int type, struct number x)
{
	const double pair[2] = {(double)x.re, (double)x.im};
	const float single[2] = {(float)x.re, (float)x.im};
	bool wide = type == CUDA_R_64F || type == CUDA_C_64F;

	memcpy(at + (size_t)k * sparse_bytes(type), wide ? (const void *)pair : single,
	       sparse_bytes(type));
}

static int64_t index_at(const char *at, int64_t k, int type)
{
	return type == CUSPARSE_INDEX_32I ? ((const int32_t *)(const void *)at)[k]
					  : ((const int64_t *)(const void *)at)[k];
}

static size_t reach(const struct sparse_shape *s)
{
	int64_t last = (s->rows - 1) * s->row + (s->columns - 1) * s->column;

	return s->kind == SPARSE_MATRIX ? (size_t)s->count * sparse_bytes(s->type)
					: (size_t)(last + 1) * sparse_bytes(s->type);
}

/* Host bytes; NULL: the context is broken now. */
static char *find(const struct product *t, CUdeviceptr at, size_t bytes, bool write,
		  const char *what)
{
	char *host = t->h->driver->host(at, bytes, write);

	if (!host)
		t->h->driver->fault(t->h->context, CUDA_ERROR_ILLEGAL_ADDRESS, what, at, bytes);
	return host;
}

/* Does it name only what is there? */
static bool is_matrix(const struct sparse_shape *a, const char *starts, const char *names)
{
	if (index_at(starts, 0, a->index) || index_at(starts, a->rows, a->index) != a->count)
		return false;
	for (int64_t r = 0; r < a->rows; r++)
		if (index_at(starts, r, a->index) > index_at(starts, r + 1, a->index))
			return false;
	for (int64_t k = 0; k < a->count; k++)
		if (index_at(names, k, a->index) < 0 || index_at(names, k, a->index) >= a->columns)
			return false;
	return true;
}

static void multiply(const struct product *t, const char *starts, const char *names,
		     const char *entries, const char *from, char *to)
{
	const struct sparse_shape *a = &t->a, *b = &t->b, *c = &t->c;

	for (int64_t r = 0; r < a->rows; r++)
		for (int64_t j = 0; j < c->columns; j++) {
			struct number sum = {0, 0};

			for (int64_t k = index_at(starts, r, a->index);
			     k < index_at(starts, r + 1, a->index); k++) {
				int64_t at = index_at(names, k, a->index);
				struct number p = load(entries, k, a->type);
				struct number q = load(from, at * b->row + j * b->column, a->type);

				sum.re += p.re * q.re - p.im * q.im;
				sum.im += p.re * q.im + p.im * q.re;
			}
			store(to, r * c->row + j * c->column, a->type, sum);
		}
}

static void compute(void *data)
{
	const struct product *t = data;
	size_t index = t->a.index == CUSPARSE_INDEX_32I ? 4 : 8;
	char *starts = find(t, t->a.starts, (size_t)(t->a.rows + 1) * index, false,
			    "cuSPARSE: where rows begin");
	char *names =
		starts ? find(t, t->a.names, (size_t)t->a.count * index, false, "cuSPARSE: columns")
		       : NULL;
	char *entries =
		names ? find(t, t->a.values, reach(&t->a), false, "cuSPARSE: entries") : NULL;
	char *from = entries ? find(t, t->b.values, reach(&t->b), false, "cuSPARSE: what is read")
			     : NULL;
	char *to = from ? find(t, t->c.values, reach(&t->c), true, "cuSPARSE: the result") : NULL;
	char *work = to && t->bytes ? find(t, t->work, t->bytes, true, "cuSPARSE: work") : NULL;

	if (to && (work || !t->bytes)) {
		if (is_matrix(&t->a, starts, names))
			multiply(t, starts, names, entries, from, to);
		else
			t->h->driver->fault(t->h->context, CUDA_ERROR_ILLEGAL_ADDRESS,
					    "cuSPARSE: a structure that is none", t->a.starts, 0);
		if (work)
			memset(work, SPOILT, t->bytes);
	}
	atomic_fetch_sub(&t->h->pending, 1);
}

/* ---- arguments ---- */

static bool meet(CUdeviceptr a, size_t bytes, CUdeviceptr b, size_t others)
{
	return bytes && others && a < b + others && b < a + bytes;
}

static bool is_factor(const void *p, int type, double want)
{
	struct number x = load(p, 0, type);

	return x.re == want && x.im == 0;
}

static const char *wrong(const struct sparse_shape *a, const struct sparse_shape *b,
			 const struct sparse_shape *c, const void *alpha, const void *beta,
			 int type)
{
	if (a->type != type || b->type != type || c->type != type)
		return "types that are not the same";
	if (a->columns != b->rows || a->rows != c->rows || b->columns != c->columns)
		return "sizes that do not fit";
	if (!is_factor(alpha, type, 1) || !is_factor(beta, type, 0))
		return "factors that braze has not";
	if (meet(b->values, reach(b), c->values, reach(c)) ||
	    meet(a->values, reach(a), c->values, reach(c)))
		return "the result meets an operand";
	return NULL;
}

static cusparseStatus_t check(const char *name, cusparseHandle_t h, int op_a, int op_b,
			      const void *alpha, cusparseDescr a, cusparseDescr b, const void *beta,
			      cusparseDescr c, int type, int way, bool vector)
{
	enum sparse_kind kind = vector ? SPARSE_VECTOR : SPARSE_DENSE;
	cusparseStatus_t status = sparse_enter(name, h);
	const char *what = NULL;

	if (status)
		return status;
	if (!sparse_is(a, SPARSE_MATRIX) || !sparse_is(b, kind) || !sparse_is(c, kind))
		return sparse_refuse(h->driver, name, "no such descriptor");
	if (op_a != CUSPARSE_OPERATION_NON_TRANSPOSE || op_b != CUSPARSE_OPERATION_NON_TRANSPOSE)
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	if (way != (vector ? CUSPARSE_SPMV_CSR_ALG2 : CUSPARSE_SPMM_CSR_ALG3))
		return sparse_refuse(h->driver, name, "a way of other bits each time");
	what = wrong(a, b, c, alpha, beta, type);
	return what ? sparse_refuse(h->driver, name, what) : status;
}

static cusparseStatus_t run(const char *name, cusparseHandle_t h, cusparseDescr a, cusparseDescr b,
			    cusparseDescr c, void *work)
{
	struct product t = {.h = h,
			    .a = *a,
			    .b = *b,
			    .c = *c,
			    .work = (CUdeviceptr)(uintptr_t)work,
			    .bytes = a->asked - 1};

	if (!a->asked)
		return sparse_refuse(h->driver, name, "work that nobody asked for");
	if (!h->stream_set)
		return sparse_refuse(h->driver, name, "no stream was set");
	if (t.bytes && (!work || t.work % WORK_ALIGNED))
		return sparse_refuse(h->driver, name, "work that is not aligned to 256 bytes");
	if (meet(t.work, t.bytes, c->values, reach(c)) ||
	    meet(t.work, t.bytes, b->values, reach(b)) ||
	    meet(t.work, t.bytes, a->values, reach(a)))
		return sparse_refuse(h->driver, name, "work that meets an operand");
	atomic_fetch_add(&h->pending, 1);
	h->driver->push(h->context, h->stream, compute, &t, sizeof t);
	return CUSPARSE_STATUS_SUCCESS;
}

/* Some take none. */
static void tell(cusparseDescr a, size_t *bytes)
{
	*bytes = a->rows % 2 ? 0 : (size_t)a->rows * 8;
	a->asked = *bytes + 1;
}

cusparseStatus_t cusparseSpMV_bufferSize(SPARSE_BY_VECTOR, size_t *bytes)
{
	cusparseStatus_t status =
		check(__func__, h, op_a, op_a, alpha, a, b, beta, c, type, way, true);

	if (!status)
		tell(a, bytes);
	return status;
}

cusparseStatus_t cusparseSpMV(SPARSE_BY_VECTOR, void *work)
{
	cusparseStatus_t status =
		check(__func__, h, op_a, op_a, alpha, a, b, beta, c, type, way, true);

	return status ? status : run(__func__, h, a, b, c, work);
}

cusparseStatus_t cusparseSpMM_bufferSize(SPARSE_BY_DENSE, size_t *bytes)
{
	cusparseStatus_t status =
		check(__func__, h, op_a, op_b, alpha, a, b, beta, c, type, way, false);

	if (!status)
		tell(a, bytes);
	return status;
}

cusparseStatus_t cusparseSpMM(SPARSE_BY_DENSE, void *work)
{
	cusparseStatus_t status =
		check(__func__, h, op_a, op_b, alpha, a, b, beta, c, type, way, false);

	return status ? status : run(__func__, h, a, b, c, work);
}
