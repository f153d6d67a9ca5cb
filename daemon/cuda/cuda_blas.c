/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_blas.c - matrix products by cuBLAS; see cuda_blas.h.
 *
 * The library thinks in columns.  A matrix in C order is its transpose there, so
 * C = A B is computed as C' = B' A'. */
#define _GNU_SOURCE
#include "cuda_blas.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/cuda_find.h"
#include "base/log.h"
#include "base/xalloc.h"

#define WORKSPACE_BYTES (32u << 20)

/* Single precision is to be that of the operands whatever the library likes better, so it has
 * the pedantic way; of double precision that would spare the tensor cores, which round
 * alike and are twice as fast. */
enum {
	MATH_DEFAULT = 0,
	MATH_PEDANTIC = 2,
	ATOMICS_FORBIDDEN = 0,
	OP_PLAIN = 0,
	OP_TRANSPOSED = 1
};
enum { BLAS_OK = 0, NO_MEMORY = 3, NOT_SUPPORTED = 15 };

/* What a status means: for this call only, or for the handle as well. */
static const struct blas_status {
	int code;
	bool call_only;
	const char *text;
} statuses[] = {{1, false, "not initialised"},
		{NO_MEMORY, true, "out of memory"},
		{7, true, "an argument is not taken"},
		{8, false, "not for this GPU"},
		{11, false, "memory is not accessible"},
		{13, false, "the launch failed"},
		{14, false, "internal error"},
		{NOT_SUPPORTED, true, "not supported"},
		{16, false, "no licence"},
		{-1, false, "unknown"}};

typedef int gemm_fn(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		    const void *a, int lda, long long step_a, const void *b, int ldb,
		    long long step_b, const void *beta, void *c, int ldc, long long step_c,
		    int count);

struct cuda_blas {
	pthread_mutex_t lock;
	bool tried;
	void *library; /* NULL: there is none */
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, CUstream stream);
	int (*set_workspace)(void *handle, void *mem, size_t bytes);
	int (*set_math)(void *handle, int mode);
	int (*set_atomics)(void *handle, int mode);
	gemm_fn *sgemm, *dgemm, *cgemm, *zgemm;
};

/* The row of a status; of one that is not known, the last. */
static const struct blas_status *status_of(int rc)
{
	const struct blas_status *s = statuses;

	while (s->code >= 0 && s->code != rc)
		s++;
	return s;
}

static bool resolve(struct cuda_blas *b)
{
	const struct {
		const char *name;
		void *to;
	} want[] = {{"cublasCreate_v2", &b->create},
		    {"cublasDestroy_v2", &b->destroy},
		    {"cublasSetStream_v2", &b->set_stream},
		    {"cublasSetWorkspace_v2", &b->set_workspace},
		    {"cublasSetMathMode", &b->set_math},
		    {"cublasSetAtomicsMode", &b->set_atomics},
		    {"cublasSgemmStridedBatched", &b->sgemm},
		    {"cublasDgemmStridedBatched", &b->dgemm},
		    {"cublasCgemmStridedBatched", &b->cgemm},
		    {"cublasZgemmStridedBatched", &b->zgemm}};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		*(void **)want[i].to = dlsym(b->library, want[i].name);
		if (!*(void **)want[i].to) {
			log_warn("cuda_blas", "cuBLAS lacks %s and is not used", want[i].name);
			return false;
		}
	}
	return true;
}

/* The newest that the driver takes; where that one does not load, or lacks something, the
 * next.  Who names one, by the variable, has that one or none. */
static void library_open(struct cuda_blas *b)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					    NULL};
	const char *named = getenv("BRAZE_LIBCUBLAS");
	struct cuda_find found;

	for (unsigned i = 0; names[i] && !b->library; i++) {
		const char *const one[] = {names[i], NULL};

		if ((named && (!*named || i)) || !cuda_find(&found, "BRAZE_LIBCUBLAS", one))
			continue; /* it is not wanted, or not here */
		b->library = dlopen(found.path, RTLD_NOW | RTLD_LOCAL);
		if (!b->library)
			log_warn("cuda_blas", "cuBLAS does not load: %s", dlerror());
		else if (!resolve(b))
			b->library = NULL;
	}
}

void cuda_blas_init(struct cuda *c)
{
	c->blas = xcalloc(1, sizeof *c->blas);
	pthread_mutex_init(&c->blas->lock, NULL);
}

void cuda_blas_finish(struct cuda *c)
{
	free(c->blas); /* the library stays, as the driver does */
	c->blas = NULL;
}

static bool library_ready(struct cuda_blas *b)
{
	bool ready = false;

	pthread_mutex_lock(&b->lock);
	if (!b->tried) {
		b->tried = true;
		library_open(b);
		log_debug("cuda_blas", "%s", b->library ? "cuBLAS" : "own matrix product");
	}
	ready = b->library != NULL;
	pthread_mutex_unlock(&b->lock);
	return ready;
}

/* A handle on the lane's stream, set as cuda_blas.h says; or a status. */
static int handle_open(struct cuda_lane *l)
{
	struct cuda_blas *b = l->c->blas;
	void *space = (void *)(uintptr_t)l->blas_space;
	int rc = b->create(&l->blas);

	if (rc == NO_MEMORY) { /* the pools may keep what it needs */
		cuda_memory_gather(l);
		rc = b->create(&l->blas);
	}
	if (rc != BLAS_OK)
		l->blas = NULL;
	/* The stream first: setting it resets the workspace. */
	if (rc == BLAS_OK)
		rc = b->set_stream(l->blas, l->stream);
	if (rc == BLAS_OK)
		rc = b->set_workspace(l->blas, space, WORKSPACE_BYTES);
	if (rc == BLAS_OK)
		rc = b->set_math(l->blas, MATH_PEDANTIC);
	l->blas_math = MATH_PEDANTIC;
	return rc == BLAS_OK ? b->set_atomics(l->blas, ATOMICS_FORBIDDEN) : rc;
}

bool cuda_blas_ready(struct cuda_lane *l)
{
	uint64_t free_bytes = 0;
	struct err err = {0};
	int rc = BLAS_OK;

	if (l->blas_tried)
		return l->blas != NULL;
	l->blas_tried = true;
	/* Loading it may take longer than a step may: the watch waits. */
	l->patient = true;
	if (!library_ready(l->c->blas)) {
		l->patient = false;
		return false;
	}
	if (cuda_memory_take(l, &l->blas_space, WORKSPACE_BYTES, &free_bytes, &err) == OK) {
		l->patient = true;
		rc = handle_open(l);
	}
	l->patient = false;
	if (err.code == OK && rc == BLAS_OK)
		return true;
	log_warn("cuda_blas", "client %llu: no cuBLAS handle, own products: %s",
		 (unsigned long long)l->client, err.code == OK ? status_of(rc)->text : err.text);
	cuda_blas_close(l);
	return false;
}

void cuda_blas_close(struct cuda_lane *l)
{
	if (l->blas && l->c->blas->destroy(l->blas) != BLAS_OK)
		log_debug("cuda_blas", "a handle could not be destroyed");
	l->blas = NULL;
	if (l->blas_space)
		cuda_memory_give(l, l->blas_space, WORKSPACE_BYTES);
	l->blas_space = 0;
}

/* How a matrix in C order, rows x cols, is told to the library: transposed or not,
 * and by which leading dimension. */
static bool layout(int64_t rows, int64_t cols, int64_t row, int64_t col, int *op, int64_t *ld)
{
	if ((col == 1 || cols == 1) && (row >= cols || rows == 1)) {
		*op = OP_PLAIN;
		*ld = rows == 1 ? cols : row;
		return *ld <= INT32_MAX;
	}
	if ((row == 1 || rows == 1) && (col >= rows || cols == 1)) {
		*op = OP_TRANSPOSED;
		*ld = cols == 1 ? rows : col;
		return *ld <= INT32_MAX;
	}
	return false;
}

static bool layouts(const struct cuda_gemm *g, int op[3], int64_t ld[3])
{
	return layout(g->m, g->k, g->row[0], g->col[0], &op[0], &ld[0]) &&
	       layout(g->k, g->n, g->row[1], g->col[1], &op[1], &ld[1]) &&
	       layout(g->m, g->n, g->row[2], g->col[2], &op[2], &ld[2]) && op[2] == OP_PLAIN;
}

bool cuda_blas_fits(const struct cuda_gemm *g)
{
	int op[3];
	int64_t ld[3];

	return g->dtype >= DT_FLOAT32 && g->dtype <= DT_COMPLEX128 && g->m > 0 && g->n > 0 &&
	       g->k > 0 && g->m <= INT32_MAX && g->n <= INT32_MAX && g->k <= INT32_MAX &&
	       g->count <= INT32_MAX && layouts(g, op, ld);
}

/* A piece was refused.  A context that is broken ends the worker here; a handle that
 * is of no use any more is given up. */
static void refused(struct cuda_lane *l, const struct cuda_gemm *g, int rc)
{
	const struct blas_status *s = status_of(rc);

	cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream), "a product by cuBLAS");
	if (!s->call_only || !l->blas_refused)
		log_warn("cuda_blas",
			 "client %llu: cuBLAS status %d (%s) for %lld x %lld x %lld, %s by braze's "
			 "own kernel",
			 (unsigned long long)l->client, rc, s->text, (long long)g->m,
			 (long long)g->n, (long long)g->k,
			 s->call_only ? "done" : "from here on all done");
	l->blas_refused = true;
	if (!s->call_only)
		cuda_blas_close(l);
}

static int ask(struct cuda_lane *l, const struct cuda_gemm *g)
{
	static const float one_s[2] = {1, 0}, zero_s[2] = {0, 0};
	static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};
	struct cuda_blas *b = l->c->blas;
	bool wide = g->dtype == DT_FLOAT64 || g->dtype == DT_COMPLEX128;
	gemm_fn *fn = g->dtype == DT_FLOAT32   ? b->sgemm
		      : g->dtype == DT_FLOAT64 ? b->dgemm
		      : wide		       ? b->zgemm
					       : b->cgemm;
	const void *one = wide ? (const void *)one_d : one_s;
	const void *zero = wide ? (const void *)zero_d : zero_s;
	int64_t ld[3] = {0}, step[3] = {0};
	int op[3] = {0}, math = wide ? MATH_DEFAULT : MATH_PEDANTIC, rc = BLAS_OK;

	if (!layouts(g, op, ld))
		return NOT_SUPPORTED;
	if (math != l->blas_math)
		rc = b->set_math(l->blas, math);
	if (rc != BLAS_OK)
		return rc;
	l->blas_math = math;
	for (int i = 0; i < 3 && g->count > 1; i++)
		step[i] = g->step[i];
	l->patient = true; /* the first one loads code */
	return fn(l->blas, op[1], op[0], (int)g->n, (int)g->m, (int)g->k, one,
		  (const void *)(uintptr_t)g->base[1], (int)ld[1], step[1],
		  (const void *)(uintptr_t)g->base[0], (int)ld[0], step[0], g->add ? one : zero,
		  (void *)(uintptr_t)g->base[2], (int)ld[2], step[2], (int)g->count);
}

bool cuda_blas_run(struct cuda_lane *l, const struct cuda_gemm *g)
{
	int rc = ask(l, g);

	if (rc == NO_MEMORY) {
		cuda_memory_gather(l);
		rc = ask(l, g);
	}
	if (rc != BLAS_OK)
		refused(l, g, rc);
	l->patient = false;
	return rc == BLAS_OK;
}
