/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_blas.c - matrix products by cuBLAS; see cuda_blas.h.
 *
 * The library thinks in columns.  A matrix in C order is its transpose there, so
 * C = A B is computed as C' = B' A'. */
#define _GNU_SOURCE
#include "cuda_blas.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "call/product_way.h"
#include "cuda_library.h"

#define WORKSPACE_BYTES (32u << 20)

/* Single precision is to be that of the operands whatever the library likes better, so it has
 * the pedantic way; of double precision that would spare the tensor cores, which round
 * alike and are twice as fast.  Of half precision it would spare them, too, whose sums are of
 * single precision; but parts of a sum that the library puts together by itself must not be
 * rounded before. */
enum {
	MATH_DEFAULT = 0,
	MATH_PEDANTIC = 2,
	MATH_WHOLE_SUMS = 16,
	ATOMICS_FORBIDDEN = 0,
	OP_PLAIN = 0,
	OP_TRANSPOSED = 1
};
/* cudaDataType, cublasComputeType_t and cublasGemmAlgo_t. */
enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_C_32F = 4, CUDA_R_32I = 10 };
enum { COMPUTE_32F = 68, COMPUTE_32I = 72, COMPUTE_TF32 = 77, ALGO_DEFAULT = -1 };
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
typedef int gemm_ex_fn(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		       const void *a, int type_a, int lda, long long step_a, const void *b,
		       int type_b, int ldb, long long step_b, const void *beta, void *c, int type_c,
		       int ldc, long long step_c, int count, int compute, int algo);

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
	gemm_ex_fn *gemm_ex;
};

static const float one_s[2] = {1, 0}, zero_s[2] = {0, 0};
static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};
static const int32_t one_i = 1, zero_i = 0;

/* How a product is asked for: by the function of its type, or by the one that is told types. */
static const struct blas_way {
	uint8_t dtype, out;
	bool tf32;
	uint8_t math;
	size_t fn; /* in struct cuda_blas; 0: gemm_ex */
	const void *one, *zero;
	int read, written, compute;
} ways[] = {
	{DT_FLOAT32, DT_FLOAT32, false, MATH_PEDANTIC, offsetof(struct cuda_blas, sgemm), one_s,
	 zero_s, 0, 0, 0},
	{DT_FLOAT64, DT_FLOAT64, false, MATH_DEFAULT, offsetof(struct cuda_blas, dgemm), one_d,
	 zero_d, 0, 0, 0},
	{DT_COMPLEX64, DT_COMPLEX64, false, MATH_PEDANTIC, offsetof(struct cuda_blas, cgemm), one_s,
	 zero_s, 0, 0, 0},
	{DT_COMPLEX128, DT_COMPLEX128, false, MATH_DEFAULT, offsetof(struct cuda_blas, zgemm),
	 one_d, zero_d, 0, 0, 0},
	{DT_FLOAT16, DT_FLOAT16, false, MATH_WHOLE_SUMS, 0, one_s, zero_s, CUDA_R_16F, CUDA_R_16F,
	 COMPUTE_32F},
	{DT_FLOAT16, DT_FLOAT32, false, MATH_WHOLE_SUMS, 0, one_s, zero_s, CUDA_R_16F, CUDA_R_32F,
	 COMPUTE_32F},
	{DT_INT8, DT_INT32, false, MATH_DEFAULT, 0, &one_i, &zero_i, CUDA_R_8I, CUDA_R_32I,
	 COMPUTE_32I},
	/* The pedantic way would have no tensor cores. */
	{DT_FLOAT32, DT_FLOAT32, true, MATH_DEFAULT, 0, one_s, zero_s, CUDA_R_32F, CUDA_R_32F,
	 COMPUTE_TF32},
	{DT_COMPLEX64, DT_COMPLEX64, true, MATH_DEFAULT, 0, one_s, zero_s, CUDA_C_32F, CUDA_C_32F,
	 COMPUTE_TF32},
};

static const struct blas_way *way_of(const struct cuda_gemm *g)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (ways[i].dtype == g->dtype && ways[i].out == g->out && ways[i].tf32 == g->tf32)
			return &ways[i];
	return NULL;
}

/* The row of a status; of one that is not known, the last. */
static const struct blas_status *status_of(int rc)
{
	const struct blas_status *s = statuses;

	while (s->code >= 0 && s->code != rc)
		s++;
	return s;
}

static void library_open(struct cuda_blas *b)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					    NULL};
	static const struct cuda_library wanted = {.topic = "cuda_blas",
						   .called = "cuBLAS",
						   .variable = "BRAZE_LIBCUBLAS",
						   .names = names,
						   .whole = true};
	const struct cuda_symbol symbols[] = {{"cublasCreate_v2", &b->create},
					      {"cublasDestroy_v2", &b->destroy},
					      {"cublasSetStream_v2", &b->set_stream},
					      {"cublasSetWorkspace_v2", &b->set_workspace},
					      {"cublasSetMathMode", &b->set_math},
					      {"cublasSetAtomicsMode", &b->set_atomics},
					      {"cublasSgemmStridedBatched", &b->sgemm},
					      {"cublasDgemmStridedBatched", &b->dgemm},
					      {"cublasCgemmStridedBatched", &b->cgemm},
					      {"cublasZgemmStridedBatched", &b->zgemm},
					      {"cublasGemmStridedBatchedEx", &b->gemm_ex}};

	b->library = cuda_library_load(&wanted, symbols, sizeof symbols / sizeof *symbols);
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

static bool layouts(const struct cuda_gemm *g, int op[3], int64_t ld[3])
{
	const int64_t rows[3] = {g->m, g->k, g->m}, cols[3] = {g->k, g->n, g->n};
	bool turned = false;

	for (int i = 0; i < 3; i++) {
		if (!product_layout(&turned, &ld[i], rows[i], cols[i], g->row[i], g->col[i]))
			return false;
		op[i] = turned ? OP_TRANSPOSED : OP_PLAIN;
	}
	return op[2] == OP_PLAIN;
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

static int set_math(struct cuda_lane *l, int math)
{
	int rc = math == l->blas_math ? BLAS_OK : l->c->blas->set_math(l->blas, math);

	if (rc == BLAS_OK)
		l->blas_math = math;
	return rc;
}

static int ask(struct cuda_lane *l, const struct cuda_gemm *g)
{
	struct cuda_blas *b = l->c->blas;
	const struct blas_way *w = way_of(g);
	const void *at[3], *beta = NULL;
	int64_t ld[3] = {0}, step[3] = {0};
	int op[3] = {0}, rc = BLAS_OK;

	if (!w || !layouts(g, op, ld))
		return NOT_SUPPORTED;
	rc = set_math(l, w->math);
	if (rc != BLAS_OK)
		return rc;
	for (int i = 0; i < 3; i++) {
		at[i] = (const void *)(uintptr_t)g->base[i];
		step[i] = g->count > 1 ? g->step[i] : 0;
	}
	beta = g->add ? w->one : w->zero;
	l->patient = true; /* the first one loads code */
	if (!w->fn)
		return b->gemm_ex(l->blas, op[1], op[0], (int)g->n, (int)g->m, (int)g->k, w->one,
				  at[1], w->read, (int)ld[1], step[1], at[0], w->read, (int)ld[0],
				  step[0], beta, (void *)(uintptr_t)g->base[2], w->written,
				  (int)ld[2], step[2], (int)g->count, w->compute, ALGO_DEFAULT);
	return (*(gemm_fn **)((char *)b + w->fn))(
		l->blas, op[1], op[0], (int)g->n, (int)g->m, (int)g->k, w->one, at[1], (int)ld[1],
		step[1], at[0], (int)ld[0], step[0], beta, (void *)(uintptr_t)g->base[2],
		(int)ld[2], step[2], (int)g->count);
}

bool cuda_blas_run(struct cuda_lane *l, const struct cuda_gemm *g)
{
	struct cuda_gemm full = *g;
	int rc = ask(l, g);

	/* TF32 is what may be done: a GPU that has none is asked for what it has. */
	if (rc == NOT_SUPPORTED && g->tf32) {
		full.tf32 = false;
		g = &full;
		rc = ask(l, g);
	}
	if (rc == NO_MEMORY) {
		cuda_memory_gather(l);
		rc = ask(l, g);
	}
	if (rc != BLAS_OK)
		refused(l, g, rc);
	l->patient = false;
	return rc == BLAS_OK;
}
