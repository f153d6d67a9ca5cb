/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_sparse.c - see cuda_sparse.h. */
#define _GNU_SOURCE
#include "cuda_sparse.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_library.h"

/* cusparse.h's; tests/standin/sparse_declared.c holds them against it. */
enum { SPARSE_OK = 0, PLAIN = 0, FROM_ZERO = 0, INDEX_32 = 2, INDEX_64 = 3, BY_COLUMNS = 1 };
enum { BY_ROWS = 2, VECTOR_SAME_BITS = 3, MATRIX_SAME_BITS = 12 };
enum { REAL_SINGLE = 0, REAL_DOUBLE = 1, COMPLEX_SINGLE = 4, COMPLEX_DOUBLE = 5 };

typedef void *handle;

struct cuda_sparse {
	int (*create)(handle *h);
	int (*destroy)(handle h);
	int (*set_stream)(handle h, CUstream stream);
	int (*matrix)(void **d, int64_t rows, int64_t columns, int64_t count, void *starts,
		      void *names, void *entries, int start_type, int name_type, int base,
		      int type);
	int (*vector)(void **d, int64_t size, void *values, int type);
	int (*dense)(void **d, int64_t rows, int64_t columns, int64_t apart, void *values, int type,
		     int order);
	int (*end_matrix)(void *d);
	int (*end_vector)(void *d);
	int (*end_dense)(void *d);
	int (*vector_work)(handle h, int op, const void *alpha, void *a, void *x, const void *beta,
			   void *y, int type, int way, size_t *bytes);
	int (*vector_run)(handle h, int op, const void *alpha, void *a, void *x, const void *beta,
			  void *y, int type, int way, void *work);
	int (*dense_work)(handle h, int op_a, int op_b, const void *alpha, void *a, void *b,
			  const void *beta, void *c, int type, int way, size_t *bytes);
	int (*dense_run)(handle h, int op_a, int op_b, const void *alpha, void *a, void *b,
			 const void *beta, void *c, int type, int way, void *work);
};

bool cuda_sparse_open(struct cuda *c)
{
	static const char *const names[] = {"libcusparse.so.12", "libcusparse.so.11", NULL};
	static const struct cuda_library wanted = {.topic = "cuda_sparse",
						   .called = "cuSPARSE",
						   .variable = "BRAZE_LIBCUSPARSE",
						   .names = names};
	struct cuda_sparse s = {0};
	const struct cuda_symbol symbols[] = {{"cusparseCreate", &s.create},
					      {"cusparseDestroy", &s.destroy},
					      {"cusparseSetStream", &s.set_stream},
					      {"cusparseCreateCsr", &s.matrix},
					      {"cusparseCreateDnVec", &s.vector},
					      {"cusparseCreateDnMat", &s.dense},
					      {"cusparseDestroySpMat", &s.end_matrix},
					      {"cusparseDestroyDnVec", &s.end_vector},
					      {"cusparseDestroyDnMat", &s.end_dense},
					      {"cusparseSpMV_bufferSize", &s.vector_work},
					      {"cusparseSpMV", &s.vector_run},
					      {"cusparseSpMM_bufferSize", &s.dense_work},
					      {"cusparseSpMM", &s.dense_run}};

	if (getenv(wanted.variable) &&
	    cuda_library_load(&wanted, symbols, sizeof symbols / sizeof *symbols)) {
		c->sparse = xmalloc(sizeof *c->sparse);
		*c->sparse = s;
	}
	return c->sparse != NULL;
}

void cuda_sparse_finish(struct cuda *c)
{
	free(c->sparse); /* the library stays, as the driver does */
	c->sparse = NULL;
}

void cuda_sparse_close(struct cuda_lane *l)
{
	if (l->sparse && l->c->sparse->destroy(l->sparse) != SPARSE_OK)
		log_debug("cuda_sparse", "a handle could not be destroyed");
	l->sparse = NULL;
}

/* A call failed.  A context that is broken ends the worker here. */
static bool good(struct cuda_lane *l, int rc, const char *what)
{
	if (rc == SPARSE_OK)
		return true;
	cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream), "cuSPARSE");
	log_debug("cuda_sparse", "cuSPARSE refuses %s: status %d", what, rc);
	return false;
}

/* The lane's handle, on its stream. */
static bool equip(struct cuda_lane *l)
{
	const struct cuda_sparse *s = l->c->sparse;

	if (!l->sparse && !good(l, s->create(&l->sparse), "a handle")) {
		l->sparse = NULL;
		return false;
	}
	return good(l, s->set_stream(l->sparse, l->stream), "a stream");
}

static void *host_pointer(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

static int type_of(unsigned dtype)
{
	return dtype == DT_FLOAT32     ? REAL_SINGLE
	       : dtype == DT_FLOAT64   ? REAL_DOUBLE
	       : dtype == DT_COMPLEX64 ? COMPLEX_SINGLE
				       : COMPLEX_DOUBLE;
}

/* One and nought of each type. */
struct factors {
	float single[2];
	double twofold[2];
};
static const struct factors one = {{1, 0}, {1, 0}}, nought;

static const void *factor(const struct factors *f, unsigned dtype)
{
	return dtype == DT_FLOAT32 || dtype == DT_COMPLEX64 ? (const void *)f->single
							    : (const void *)f->twofold;
}

static int describe_dense(struct cuda_sparse_job *j, const struct cuda_sparse *s)
{
	const struct cuda_sparse_product *p = &j->p;
	int type = type_of(p->dtype), rc = SPARSE_OK;

	if (p->columns == 1) {
		rc = s->vector(&j->from, p->inner, host_pointer(p->from), type);
		return rc ? rc : s->vector(&j->to, p->rows, host_pointer(p->to), type);
	}
	rc = s->dense(&j->from, p->inner, p->columns, p->from_apart, host_pointer(p->from), type,
		      p->by_columns ? BY_COLUMNS : BY_ROWS);
	return rc ? rc
		  : s->dense(&j->to, p->rows, p->columns, p->columns, host_pointer(p->to), type,
			     BY_ROWS);
}

static int describe(struct cuda_sparse_job *j, const struct cuda_sparse *s)
{
	const struct cuda_sparse_product *p = &j->p;
	int index = p->index == DT_INT32 ? INDEX_32 : INDEX_64;
	int rc = s->matrix(&j->matrix, p->rows, p->inner, p->count, host_pointer(p->starts),
			   host_pointer(p->names), host_pointer(p->entries), index, index,
			   FROM_ZERO, type_of(p->dtype));

	return rc ? rc : describe_dense(j, s);
}

bool cuda_sparse_begin(struct cuda_sparse_job *j, struct cuda_lane *l,
		       const struct cuda_sparse_product *p)
{
	const struct cuda_sparse *s = l->c->sparse;
	const void *alpha = factor(&one, p->dtype), *beta = factor(&nought, p->dtype);
	size_t work = 0;
	int rc = SPARSE_OK;

	*j = (struct cuda_sparse_job){.p = *p};
	l->patient = true; /* code is loaded */
	rc = equip(l) ? describe(j, s) : -1;
	if (rc == SPARSE_OK && p->columns == 1)
		rc = s->vector_work(l->sparse, PLAIN, alpha, j->matrix, j->from, beta, j->to,
				    type_of(p->dtype), VECTOR_SAME_BITS, &work);
	else if (rc == SPARSE_OK)
		rc = s->dense_work(l->sparse, PLAIN, PLAIN, alpha, j->matrix, j->from, beta, j->to,
				   type_of(p->dtype), MATRIX_SAME_BITS, &work);
	l->patient = false;
	j->work = work;
	return good(l, rc, "a product's description");
}

bool cuda_sparse_run(const struct cuda_sparse_job *j, struct cuda_lane *l, CUdeviceptr work)
{
	const struct cuda_sparse *s = l->c->sparse;
	const struct cuda_sparse_product *p = &j->p;
	const void *alpha = factor(&one, p->dtype), *beta = factor(&nought, p->dtype);
	int rc = SPARSE_OK;

	l->patient = true;
	if (p->columns == 1)
		rc = s->vector_run(l->sparse, PLAIN, alpha, j->matrix, j->from, beta, j->to,
				   type_of(p->dtype), VECTOR_SAME_BITS, host_pointer(work));
	else
		rc = s->dense_run(l->sparse, PLAIN, PLAIN, alpha, j->matrix, j->from, beta, j->to,
				  type_of(p->dtype), MATRIX_SAME_BITS, host_pointer(work));
	l->patient = false;
	return good(l, rc, "a product");
}

void cuda_sparse_end(struct cuda_sparse_job *j, struct cuda_lane *l)
{
	const struct cuda_sparse *s = l->c->sparse;
	int (*end)(void *d) = j->p.columns == 1 ? s->end_vector : s->end_dense;

	if (j->from)
		end(j->from);
	if (j->to)
		end(j->to);
	if (j->matrix)
		s->end_matrix(j->matrix);
}
