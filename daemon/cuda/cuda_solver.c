/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_solver.c - see cuda_solver.h.
 *
 * The library is asked by its functions of 64 bits, which are told types, but for Q, which has one
 * function for each type. */
#define _GNU_SOURCE
#include "cuda_solver.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_library.h"

#define ALIGNED 256 /* bytes that the library's work area begins at */

enum { SOLVER_OK = 0, NO_MEMORY = 2 };
enum { NO_VECTORS = 0, VECTORS = 1, LOWER = 0, NOT_TURNED = 0, DETERMINISTIC = 1 };
/* cudaDataType. */
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_C_32F = 4, CUDA_C_64F = 5 };

static const struct solver_status {
	int code;
	const char *text;
} statuses[] = {{1, "not initialised"},
		{NO_MEMORY, "out of memory"},
		{3, "an argument is not taken"},
		{4, "not for this GPU"},
		{5, "memory is not accessible"},
		{6, "the launch failed"},
		{7, "internal error"},
		{8, "a type of matrix is not taken"},
		{9, "not supported"},
		{31, "the work area is too small"},
		{-1, "unknown"}};

typedef int orgqr_size_fn(void *handle, int m, int n, int k, const void *a, int lda,
			  const void *tau, int *work);
typedef int orgqr_fn(void *handle, int m, int n, int k, void *a, int lda, const void *tau,
		     void *work, int nwork, int *info);

struct cuda_solver {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, CUstream stream);
	int (*create_params)(void **params);
	int (*destroy_params)(void *params);
	int (*set_deterministic)(void *handle, int mode); /* NULL: it always is */
	int (*getrf_size)(void *handle, void *params, int64_t m, int64_t n, int type, const void *a,
			  int64_t lda, int compute, size_t *work, size_t *host);
	int (*getrf)(void *handle, void *params, int64_t m, int64_t n, int type, void *a,
		     int64_t lda, int64_t *pivot, int compute, void *work, size_t nwork, void *host,
		     size_t nhost, int *info);
	int (*getrs)(void *handle, void *params, int trans, int64_t n, int64_t count, int type,
		     const void *a, int64_t lda, const int64_t *pivot, int type_b, void *b,
		     int64_t ldb, int *info);
	int (*potrf_size)(void *handle, void *params, int uplo, int64_t n, int type, const void *a,
			  int64_t lda, int compute, size_t *work, size_t *host);
	int (*potrf)(void *handle, void *params, int uplo, int64_t n, int type, void *a,
		     int64_t lda, int compute, void *work, size_t nwork, void *host, size_t nhost,
		     int *info);
	int (*geqrf_size)(void *handle, void *params, int64_t m, int64_t n, int type, const void *a,
			  int64_t lda, int type_tau, const void *tau, int compute, size_t *work,
			  size_t *host);
	int (*geqrf)(void *handle, void *params, int64_t m, int64_t n, int type, void *a,
		     int64_t lda, int type_tau, void *tau, int compute, void *work, size_t nwork,
		     void *host, size_t nhost, int *info);
	int (*syevd_size)(void *handle, void *params, int vectors, int uplo, int64_t n, int type,
			  const void *a, int64_t lda, int type_w, const void *w, int compute,
			  size_t *work, size_t *host);
	int (*syevd)(void *handle, void *params, int vectors, int uplo, int64_t n, int type,
		     void *a, int64_t lda, int type_w, void *w, int compute, void *work,
		     size_t nwork, void *host, size_t nhost, int *info);
	int (*gesvd_size)(void *handle, void *params, signed char u, signed char vt, int64_t m,
			  int64_t n, int type, const void *a, int64_t lda, int type_s,
			  const void *s, int type_u, const void *at_u, int64_t ldu, int type_vt,
			  const void *at_vt, int64_t ldvt, int compute, size_t *work, size_t *host);
	int (*gesvd)(void *handle, void *params, signed char u, signed char vt, int64_t m,
		     int64_t n, int type, void *a, int64_t lda, int type_s, void *s, int type_u,
		     void *at_u, int64_t ldu, int type_vt, void *at_vt, int64_t ldvt, int compute,
		     void *work, size_t nwork, void *host, size_t nhost, int *info);
	orgqr_size_fn *orgqr_size[4]; /* by type_at */
	orgqr_fn *orgqr[4];
};

/* What a lane has of it. */
struct cuda_solver_handle {
	void *handle, *params;
	char *host;
	uint64_t nhost;
};

/* A matrix and what belongs to it, as the library is told of them. */
struct spots {
	void *a, *result, *pivot, *tau, *work, *host;
	int *info, *other; /* other: of a second call, whose info says nothing */
};

static const char *text_of(int rc)
{
	const struct solver_status *s = statuses;

	while (s->code >= 0 && s->code != rc)
		s++;
	return s->text;
}

static unsigned type_at(unsigned dtype)
{
	return (solver_real_bytes(dtype) == 8 ? 1u : 0u) + (dtype >= DT_COMPLEX64 ? 2u : 0u);
}

static int type_of(unsigned dtype)
{
	static const int types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};

	return types[type_at(dtype)];
}

static int real_of(unsigned dtype)
{
	return solver_real_bytes(dtype) == 8 ? CUDA_R_64F : CUDA_R_32F;
}

/* ---- the library ---- */

bool cuda_solver_open(struct cuda *c)
{
	static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
	static const struct cuda_library wanted = {.topic = "cuda_solver",
						   .called = "cuSOLVER",
						   .variable = "BRAZE_LIBCUSOLVER",
						   .names = names};
	struct cuda_solver s = {0};
	const struct cuda_symbol symbols[] = {{"cusolverDnCreate", &s.create},
					      {"cusolverDnDestroy", &s.destroy},
					      {"cusolverDnSetStream", &s.set_stream},
					      {"cusolverDnCreateParams", &s.create_params},
					      {"cusolverDnDestroyParams", &s.destroy_params},
					      {"cusolverDnXgetrf_bufferSize", &s.getrf_size},
					      {"cusolverDnXgetrf", &s.getrf},
					      {"cusolverDnXgetrs", &s.getrs},
					      {"cusolverDnXpotrf_bufferSize", &s.potrf_size},
					      {"cusolverDnXpotrf", &s.potrf},
					      {"cusolverDnXgeqrf_bufferSize", &s.geqrf_size},
					      {"cusolverDnXgeqrf", &s.geqrf},
					      {"cusolverDnXsyevd_bufferSize", &s.syevd_size},
					      {"cusolverDnXsyevd", &s.syevd},
					      {"cusolverDnXgesvd_bufferSize", &s.gesvd_size},
					      {"cusolverDnXgesvd", &s.gesvd},
					      {"cusolverDnSorgqr_bufferSize", &s.orgqr_size[0]},
					      {"cusolverDnDorgqr_bufferSize", &s.orgqr_size[1]},
					      {"cusolverDnCungqr_bufferSize", &s.orgqr_size[2]},
					      {"cusolverDnZungqr_bufferSize", &s.orgqr_size[3]},
					      {"cusolverDnSorgqr", &s.orgqr[0]},
					      {"cusolverDnDorgqr", &s.orgqr[1]},
					      {"cusolverDnCungqr", &s.orgqr[2]},
					      {"cusolverDnZungqr", &s.orgqr[3]}};
	void *library = cuda_library_load(&wanted, symbols, sizeof symbols / sizeof *symbols);

	if (library) {
		*(void **)&s.set_deterministic = dlsym(library, "cusolverDnSetDeterministicMode");
		c->solver = xmalloc(sizeof *c->solver);
		*c->solver = s;
	}
	log_debug("cuda_solver", "%s", c->solver ? "cuSOLVER" : "no factors of matrices");
	return c->solver != NULL;
}

void cuda_solver_finish(struct cuda *c)
{
	free(c->solver); /* the library stays, as the driver does */
	c->solver = NULL;
}

/* ---- a lane's handle ---- */

static int handle_make(struct cuda_solver_handle *h, const struct cuda_solver *s)
{
	int rc = s->create(&h->handle);

	if (rc != SOLVER_OK)
		return rc;
	rc = s->create_params(&h->params);
	if (rc == SOLVER_OK && s->set_deterministic)
		rc = s->set_deterministic(h->handle, DETERMINISTIC);
	if (rc == SOLVER_OK)
		return rc;
	if (h->params)
		s->destroy_params(h->params);
	s->destroy(h->handle);
	h->handle = h->params = NULL;
	return rc;
}

/* The lane has one then, on its stream; or a status. */
static int handle_ready(struct cuda_lane *l)
{
	const struct cuda_solver *s = l->c->solver;
	struct cuda_solver_handle h = {0};
	int rc = SOLVER_OK;

	if (!l->solver) {
		rc = handle_make(&h, s);
		if (rc == NO_MEMORY) {
			cuda_memory_gather(l);
			l->patient = true;
			rc = handle_make(&h, s);
		}
		if (rc != SOLVER_OK)
			return rc;
		l->solver = xmalloc(sizeof *l->solver);
		*l->solver = h;
	}
	return s->set_stream(l->solver->handle, l->stream);
}

void cuda_solver_close(struct cuda_lane *l)
{
	const struct cuda_solver *s = l->c->solver;

	if (!l->solver)
		return;
	if (s->destroy_params(l->solver->params) != SOLVER_OK ||
	    s->destroy(l->solver->handle) != SOLVER_OK)
		log_debug("cuda_solver", "a handle could not be destroyed");
	free(l->solver->host);
	free(l->solver);
	l->solver = NULL;
}

/* A call failed.  A context that is broken ends the worker here. */
static enum status failed(struct cuda_lane *l, const struct cuda_solver_task *t, int rc,
			  struct err *err)
{
	cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream), "factors by cuSOLVER");
	return err_set(err, rc == NO_MEMORY ? E_NOMEM : E_DEVICE,
		       "%s: cuSOLVER status %d (%s) for %s of %lld x %lld numbers", l->c->name, rc,
		       text_of(rc), solver_name(t->kind), (long long)t->lay.rows,
		       (long long)t->lay.columns);
}

/* ---- sizes ---- */

static uint64_t up(uint64_t bytes)
{
	return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static void *at(CUdeviceptr p, uint64_t offset)
{
	return (void *)(uintptr_t)(p + offset);
}

static int64_t least_of(const struct solver_layout *y)
{
	return y->rows < y->columns ? y->rows : y->columns;
}

static char mode_of(const struct cuda_solver_task *t)
{
	return t->kind == SOLVER_SVDVALS ? 'N' : t->kind == SOLVER_SVD ? 'S' : 'A';
}

/* Of reflectors, then of Q, which have one work area. */
static int measure_qr(struct cuda_solver_task *t, const struct cuda_solver *s,
		      const struct cuda_solver_handle *h, const struct spots *p)
{
	const struct solver_layout *y = &t->lay;
	unsigned k = type_at(t->dtype);
	int type = type_of(t->dtype), elements = 0;
	int rc = s->geqrf_size(h->handle, h->params, y->rows, y->columns, type, p->a, y->rows, type,
			       p->tau, type, &t->work, &t->host);

	if (rc != SOLVER_OK || !y->right)
		return rc;
	rc = s->orgqr_size[k](h->handle, (int)y->rows, (int)y->right, (int)least_of(y), p->a,
			      (int)y->rows, p->tau, &elements);
	if (t->work < (uint64_t)elements * dtype_row(t->dtype)->bytes)
		t->work = (uint64_t)elements * dtype_row(t->dtype)->bytes;
	return rc;
}

static int measure(struct cuda_solver_task *t, const struct cuda_solver *s,
		   const struct cuda_solver_handle *h, const struct spots *p)
{
	const struct solver_layout *y = &t->lay;
	int type = type_of(t->dtype), real = real_of(t->dtype);
	char *to = p->result;

	switch (t->kind) {
	case SOLVER_LU:
	case SOLVER_SOLVE:
		return s->getrf_size(h->handle, h->params, y->rows, y->columns, type, p->a, y->rows,
				     type, &t->work, &t->host);
	case SOLVER_CHOLESKY:
		return s->potrf_size(h->handle, h->params, LOWER, y->rows, type, p->a, y->rows,
				     type, &t->work, &t->host);
	case SOLVER_EIGVALSH:
	case SOLVER_EIGH:
		return s->syevd_size(h->handle, h->params,
				     t->kind == SOLVER_EIGH ? VECTORS : NO_VECTORS, LOWER, y->rows,
				     type, p->a, y->rows, real, to + y->part[1].at, type, &t->work,
				     &t->host);
	case SOLVER_SVDVALS:
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		return s->gesvd_size(h->handle, h->params, mode_of(t), mode_of(t), y->rows,
				     y->columns, type, p->a, y->rows, real, to + y->part[2].at,
				     type, to, y->rows, type, to + y->part[1].at, y->columns, type,
				     &t->work, &t->host);
	default:
		return measure_qr(t, s, h, p);
	}
}

/* What the library works with on the host may be in use while its calls are in the stream. */
static void host_ready(struct cuda_lane *l, uint64_t bytes)
{
	struct cuda_solver_handle *h = l->solver;

	if (bytes <= h->nhost)
		return;
	l->patient = true;
	if (h->host)
		cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream),
				    "waiting for factors");
	l->patient = false;
	free(h->host);
	h->host = xmalloc(bytes);
	h->nhost = bytes;
}

enum status cuda_solver_measure(struct cuda_solver_task *t, struct cuda_lane *l, CUdeviceptr matrix,
				CUdeviceptr result, struct err *err)
{
	uint64_t each = dtype_row(t->dtype)->bytes;
	struct spots p = {.a = at(matrix, 0), .result = at(result, 0), .tau = at(matrix, 0)};
	int rc = SOLVER_OK;

	if (!l->c->solver)
		return err_set(err, E_DEVICE, "%s: there is no cuSOLVER", l->c->name);
	each = each < sizeof(int64_t) ? sizeof(int64_t)
				      : each; /* pivots, or factors of reflectors */
	t->extra = ALIGNED + up(each * (uint64_t)t->lay.columns);
	t->work = t->host = 0;
	l->patient = true; /* the first one loads code */
	rc = handle_ready(l);
	if (rc == SOLVER_OK)
		rc = measure(t, l->c->solver, l->solver, &p);
	l->patient = false;
	if (rc != SOLVER_OK)
		return failed(l, t, rc, err);
	host_ready(l, t->host);
	return OK;
}

/* ---- calls ---- */

static int copy(struct cuda_lane *l, CUresult *copied, void *to, const void *from, int64_t bytes)
{
	if (*copied == CUDA_SUCCESS && bytes)
		*copied = l->c->api.cuMemcpyDtoDAsync_v2((CUdeviceptr)(uintptr_t)to,
							 (CUdeviceptr)(uintptr_t)from,
							 (size_t)bytes, l->stream);
	return SOLVER_OK;
}

/* The square's factors; then B, behind it, becomes X. */
static int run_lu(const struct cuda_solver_task *t, struct cuda_lane *l, const struct spots *p,
		  CUresult *copied)
{
	const struct cuda_solver *s = l->c->solver;
	const struct cuda_solver_handle *h = l->solver;
	const struct solver_layout *y = &t->lay;
	int64_t n = y->rows, each = dtype_row(t->dtype)->bytes;
	int type = type_of(t->dtype);
	char *to = p->result, *b = (char *)p->a + n * n * each;
	int rc = s->getrf(h->handle, h->params, n, n, type, p->a, n,
			  t->kind == SOLVER_LU ? (int64_t *)(void *)(to + y->part[1].at) : p->pivot,
			  type, p->work, t->work, p->host, t->host, p->info);

	if (rc != SOLVER_OK)
		return rc;
	if (t->kind == SOLVER_LU)
		return copy(l, copied, to, p->a, n * n * each);
	rc = s->getrs(h->handle, h->params, NOT_TURNED, n, y->right, type, p->a, n, p->pivot, type,
		      b, n, p->other);
	return rc == SOLVER_OK ? copy(l, copied, to, b, n * y->right * each) : rc;
}

static int run_qr(const struct cuda_solver_task *t, struct cuda_lane *l, const struct spots *p,
		  CUresult *copied)
{
	const struct cuda_solver *s = l->c->solver;
	const struct cuda_solver_handle *h = l->solver;
	const struct solver_layout *y = &t->lay;
	int64_t each = dtype_row(t->dtype)->bytes;
	int type = type_of(t->dtype);
	char *to = p->result, *q = to + y->part[1].at;
	int rc = s->geqrf(h->handle, h->params, y->rows, y->columns, type, p->a, y->rows, type,
			  p->tau, type, p->work, t->work, p->host, t->host, p->info);

	if (rc != SOLVER_OK)
		return rc;
	copy(l, copied, to, p->a, y->rows * y->columns * each);
	if (!y->right || *copied != CUDA_SUCCESS)
		return rc;
	copy(l, copied, q, p->a, y->rows * least_of(y) * each);
	return s->orgqr[type_at(t->dtype)](h->handle, (int)y->rows, (int)y->right, (int)least_of(y),
					   q, (int)y->rows, p->tau, p->work,
					   (int)(t->work / (uint64_t)each), p->other);
}

/* What is found in the matrix's place goes to the result. */
static int run_square(const struct cuda_solver_task *t, struct cuda_lane *l, const struct spots *p,
		      CUresult *copied)
{
	const struct cuda_solver *s = l->c->solver;
	const struct cuda_solver_handle *h = l->solver;
	const struct solver_layout *y = &t->lay;
	int64_t n = y->rows, each = dtype_row(t->dtype)->bytes;
	int type = type_of(t->dtype), rc = SOLVER_OK;
	char *to = p->result;

	if (t->kind == SOLVER_CHOLESKY)
		rc = s->potrf(h->handle, h->params, LOWER, n, type, p->a, n, type, p->work, t->work,
			      p->host, t->host, p->info);
	else
		rc = s->syevd(h->handle, h->params, t->kind == SOLVER_EIGH ? VECTORS : NO_VECTORS,
			      LOWER, n, type, p->a, n, real_of(t->dtype), to + y->part[1].at, type,
			      p->work, t->work, p->host, t->host, p->info);
	if (rc != SOLVER_OK || t->kind == SOLVER_EIGVALSH)
		return rc;
	return copy(l, copied, to, p->a, n * n * each);
}

static int run_svd(const struct cuda_solver_task *t, struct cuda_lane *l, const struct spots *p)
{
	const struct cuda_solver_handle *h = l->solver;
	const struct solver_layout *y = &t->lay;
	signed char mode = (signed char)mode_of(t);
	int type = type_of(t->dtype);
	char *to = p->result;

	return l->c->solver->gesvd(h->handle, h->params, mode, mode, y->rows, y->columns, type,
				   p->a, y->rows, real_of(t->dtype), to + y->part[2].at, type, to,
				   y->rows, type, to + y->part[1].at, y->columns, type, p->work,
				   t->work, p->host, t->host, p->info);
}

static int run(const struct cuda_solver_task *t, struct cuda_lane *l, const struct spots *p,
	       CUresult *copied)
{
	switch (t->kind) {
	case SOLVER_LU:
	case SOLVER_SOLVE:
		return run_lu(t, l, p, copied);
	case SOLVER_QR_R:
	case SOLVER_QR:
	case SOLVER_QR_ALL:
		return run_qr(t, l, p, copied);
	case SOLVER_SVDVALS:
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		return run_svd(t, l, p);
	default:
		return run_square(t, l, p, copied);
	}
}

enum status cuda_solver_run(const struct cuda_solver_task *t, struct cuda_lane *l,
			    CUdeviceptr matrix, CUdeviceptr result, CUdeviceptr area,
			    struct err *err)
{
	struct spots p = {.a = at(matrix, 0),
			  .result = at(result, 0),
			  .other = at(area, 0),
			  .pivot = at(area, ALIGNED),
			  .tau = at(area, ALIGNED),
			  .work = t->work ? at(area, t->extra) : NULL,
			  .host = t->host ? l->solver->host : NULL,
			  .info = at(result, (uint64_t)t->lay.part[SOLVER_INFO].at)};
	CUresult copied = CUDA_SUCCESS;
	int rc = SOLVER_OK;

	l->patient = true; /* it may load code, and wait by itself */
	rc = l->c->solver->set_stream(l->solver->handle, l->stream);
	if (rc == SOLVER_OK)
		rc = run(t, l, &p, &copied);
	l->patient = false;
	if (rc != SOLVER_OK)
		return failed(l, t, rc, err);
	return cuda_context_check(l->c, copied, err, "copying factors");
}
