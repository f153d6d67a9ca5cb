/* SPDX-License-Identifier: Apache-2.0 */
/* solver_handle.c - handles, their settings, and what all calls have in common; see solver.h.
 *
 * The driver is the libcuda.so.1 that this process has loaded already; one that is no stand-in has
 * no table for us, and there is no handle. */
#include "cu_found.h"
#include "solver.h"
#include <pthread.h>
#include <string.h>

#define HANDLES	     256
#define HANDLE_BYTES (1u << 20) /* that a handle takes of the device */
#define ALIGNED	     256
#define SPOILT	     0xdd

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct solver_handle handles[HANDLES];
static struct solver_params params_of[HANDLES];

static cusolverStatus_t refuse(const struct solver_handle *h, const char *function,
			       const char *what)
{
	h->driver->log("fault: %s: %s", function, what);
	return CUSOLVER_STATUS_INVALID_VALUE;
}

static bool is_ours(const struct solver_handle *h)
{
	return h >= handles && h < handles + HANDLES && h->live;
}

/* Begin a call on a handle: its status, injected or found. */
static cusolverStatus_t enter(const char *function, struct solver_handle *h)
{
	CUcontext current = NULL;
	int injected = 0;

	if (!is_ours(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	current = h->driver->context();
	injected = h->driver->enter(function);
	if (injected)
		return (cusolverStatus_t)injected;
	if (!current)
		return CUSOLVER_STATUS_EXECUTION_FAILED;
	return current == h->context ? CUSOLVER_STATUS_SUCCESS
				     : refuse(h, function, "the handle is another context's");
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *out)
{
	const struct cu_private *driver = driver_table();
	CUcontext context = driver ? driver->context() : NULL;
	int injected = driver ? driver->enter(__func__) : 0, at = 0;
	struct solver_handle h = {.driver = driver, .context = context, .live = true};
	alloc_fn *alloc = NULL;

	if (injected)
		return (cusolverStatus_t)injected;
	if (!out || !driver || !context)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	*(void **)&alloc = driver_function("cuMemAlloc_v2");
	if (alloc(&h.own, HANDLE_BYTES) != CUDA_SUCCESS)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	pthread_mutex_lock(&lock);
	while (at < HANDLES && handles[at].live)
		at++;
	if (at < HANDLES) {
		handles[at] = h;
		*out = &handles[at];
	}
	pthread_mutex_unlock(&lock);
	return at < HANDLES ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
	cusolverStatus_t status = enter(__func__, handle);
	free_fn *free_memory = NULL;

	if (status)
		return status;
	if (atomic_load(&handle->pending))
		return refuse(handle, __func__, "the handle is in use");
	*(void **)&free_memory = driver_function("cuMemFree_v2");
	if (free_memory(handle->own) != CUDA_SUCCESS)
		status = CUSOLVER_STATUS_INTERNAL_ERROR;
	pthread_mutex_lock(&lock);
	handle->live = false;
	pthread_mutex_unlock(&lock);
	return status;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, CUstream stream)
{
	cusolverStatus_t status = enter(__func__, handle);

	if (status)
		return status;
	if (!stream || !handle->driver->stream_ok(handle->context, stream))
		return refuse(handle, __func__, "no stream of this context's own");
	handle->stream = stream;
	handle->stream_set = true;
	return status;
}

cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle, int mode)
{
	cusolverStatus_t status = enter(__func__, handle);

	if (status)
		return status;
	if (mode != SOLVER_DETERMINISTIC)
		return refuse(handle, __func__, "results that are not always the same");
	handle->deterministic = true;
	return status;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *out)
{
	const struct cu_private *driver = driver_table();
	int injected = driver ? driver->enter(__func__) : 0, at = 0;

	if (injected)
		return (cusolverStatus_t)injected;
	pthread_mutex_lock(&lock);
	while (at < HANDLES && params_of[at].live)
		at++;
	if (at < HANDLES) {
		params_of[at].live = true;
		*out = &params_of[at];
	}
	pthread_mutex_unlock(&lock);
	return at < HANDLES ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
	if (params < params_of || params >= params_of + HANDLES || !params->live)
		return CUSOLVER_STATUS_INVALID_VALUE;
	params->live = false;
	return CUSOLVER_STATUS_SUCCESS;
}

static bool is_known(const struct solver_params *p)
{
	return p >= params_of && p < params_of + HANDLES && p->live;
}

/* ---- sizes ---- */

/* The first part of every call: its sizes. */
static cusolverStatus_t sizes(const struct solver_call *c, bool known, SOLVER_SIZES)
{
	cusolverStatus_t status = enter(c->name, c->handle);
	const char *what = NULL;

	if (status)
		return status;
	what = !known ? "no parameters" : solver_wrong(c);
	if (what || !work || !host)
		return refuse(c->handle, c->name, what ? what : "nowhere to say the sizes");
	*work = solver_work(c);
	*host = solver_host(c);
	return status;
}

static CUdeviceptr at(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

/* Columns side by side and one type are all that braze ever asks for. */
static int64_t rows_if(bool right, int64_t rows)
{
	return right ? rows : 0;
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(SOLVER_START, int64_t m, int64_t n, SOLVER_LOOKED,
					     int compute, SOLVER_SIZES)
{
	struct solver_call c = {.handle = handle,
				.function = FN_LU,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(lda == m && compute == type, m),
				.n = n,
				.a = at(a)};

	return sizes(&c, is_known(params), work, host);
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(SOLVER_START, int triangle, int64_t n, SOLVER_LOOKED,
					     int compute, SOLVER_SIZES)
{
	bool right = lda == n && compute == type && triangle == SOLVER_LOWER;
	struct solver_call c = {.handle = handle,
				.function = FN_CHOLESKY,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(right, n),
				.n = n,
				.a = at(a)};

	return sizes(&c, is_known(params), work, host);
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(SOLVER_START, int64_t m, int64_t n, SOLVER_LOOKED,
					     int type_tau, const void *tau, int compute,
					     SOLVER_SIZES)
{
	bool right = lda == m && compute == type && type_tau == type;
	struct solver_call c = {.handle = handle,
				.function = FN_QR,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(right, m),
				.n = n,
				.a = at(a)};

	(void)tau;
	return sizes(&c, is_known(params), work, host);
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(SOLVER_START, int vectors, int triangle, int64_t n,
					     SOLVER_LOOKED, int type_w, const void *w, int compute,
					     SOLVER_SIZES)
{
	bool right = lda == n && compute == type && triangle == SOLVER_LOWER;
	struct solver_call c = {.handle = handle,
				.function = FN_EIGH,
				.name = __func__,
				.type = type,
				.real = type_w,
				.m = rows_if(right, n),
				.n = n,
				.vectors = vectors,
				.a = at(a)};

	(void)w;
	return sizes(&c, is_known(params), work, host);
}

static struct solver_call svd_call(const char *name, SOLVER_START, signed char job_u,
				   signed char job_vt, int64_t m, int64_t n, SOLVER_LOOKED,
				   int type_s, int type_u, int64_t ldu, int type_vt, int64_t ldvt,
				   int compute)
{
	bool right = lda == m && ldu == m && ldvt == n && job_u == job_vt && m >= n &&
		     (job_u == 'N' || job_u == 'S' || job_u == 'A') && type_u == type &&
		     type_vt == type && compute == type;

	(void)params;
	return (struct solver_call){.handle = handle,
				    .function = FN_SVD,
				    .name = name,
				    .type = type,
				    .real = type_s,
				    .m = rows_if(right, m),
				    .n = n,
				    .k = job_u == 'N'	? 0
					 : job_u == 'S' ? n
							: m,
				    .vectors = job_u != 'N',
				    .a = at(a)};
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(SOLVER_SVD_SIZE_ARGUMENTS)
{
	struct solver_call c = svd_call(__func__, handle, params, job_u, job_vt, m, n, type, a, lda,
					type_s, type_u, ldu, type_vt, ldvt, compute);

	(void)s;
	(void)u;
	(void)vt;
	return sizes(&c, is_known(params), work, host);
}

/* ---- calls ---- */

/* Work areas are as large as they must be, and nothing of what the host lends is left in them. */
static const char *wrong_areas(const struct solver_call *c, const void *host, size_t nhost)
{
	size_t bytes = (size_t)(c->m * c->n) * solver_bytes(c->type);

	if (c->nwork < solver_work(c) || nhost < solver_host(c))
		return "a work area that is too small";
	if (solver_work(c) && (!c->work || c->work % ALIGNED))
		return "a work area that is not aligned to 256 bytes";
	if (solver_host(c) && !host)
		return "no work area on the host";
	if (c->work < c->a + bytes && c->a < c->work + c->nwork)
		return "the work area overlaps the matrix";
	return NULL;
}

static cusolverStatus_t push(const struct solver_call *c, bool known, void *host, size_t nhost)
{
	cusolverStatus_t status = enter(c->name, c->handle);
	const char *what = NULL;

	if (status)
		return status;
	what = !known ? "no parameters" : solver_wrong(c);
	if (!what && !c->handle->stream_set)
		what = "no stream was set";
	if (!what && !c->handle->deterministic)
		what = "results that are not always the same";
	if (!what && (!c->a || !c->info || c->info % sizeof(int)))
		what = "no matrix or no info";
	if (!what)
		what = wrong_areas(c, host, nhost);
	if (what)
		return refuse(c->handle, c->name, what);
	if (host)
		memset(host, SPOILT, nhost);
	solver_push(c);
	return status;
}

cusolverStatus_t cusolverDnXgetrf(SOLVER_START, int64_t m, int64_t n, SOLVER_MATRIX, int64_t *pivot,
				  int compute, SOLVER_WORK)
{
	struct solver_call c = {.handle = handle,
				.function = FN_LU,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(lda == m && compute == type && pivot, m),
				.n = n,
				.a = at(a),
				.line = at(pivot),
				.work = at(work),
				.nwork = nwork,
				.info = at(info)};

	return push(&c, is_known(params), host, nhost);
}

cusolverStatus_t cusolverDnXgetrs(SOLVER_START, int turned, int64_t n, int64_t count, SOLVER_LOOKED,
				  const int64_t *pivot, int type_b, void *b, int64_t ldb, int *info)
{
	bool right = lda == n && ldb == n && type_b == type && turned == SOLVER_NOT_TURNED &&
		     count > 0 && pivot && b;
	struct solver_call c = {.handle = handle,
				.function = FN_LU_SOLVE,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(right, n),
				.n = n,
				.k = count,
				.a = at(a),
				.b = at(b),
				.line = at(pivot),
				.info = at(info)};

	return push(&c, is_known(params), NULL, 0);
}

cusolverStatus_t cusolverDnXpotrf(SOLVER_START, int triangle, int64_t n, SOLVER_MATRIX, int compute,
				  SOLVER_WORK)
{
	bool right = lda == n && compute == type && triangle == SOLVER_LOWER;
	struct solver_call c = {.handle = handle,
				.function = FN_CHOLESKY,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(right, n),
				.n = n,
				.a = at(a),
				.work = at(work),
				.nwork = nwork,
				.info = at(info)};

	return push(&c, is_known(params), host, nhost);
}

cusolverStatus_t cusolverDnXgeqrf(SOLVER_START, int64_t m, int64_t n, SOLVER_MATRIX, int type_tau,
				  void *tau, int compute, SOLVER_WORK)
{
	bool right = lda == m && compute == type && type_tau == type && tau;
	struct solver_call c = {.handle = handle,
				.function = FN_QR,
				.name = __func__,
				.type = type,
				.real = type,
				.m = rows_if(right, m),
				.n = n,
				.a = at(a),
				.line = at(tau),
				.work = at(work),
				.nwork = nwork,
				.info = at(info)};

	return push(&c, is_known(params), host, nhost);
}

cusolverStatus_t cusolverDnXsyevd(SOLVER_START, int vectors, int triangle, int64_t n, SOLVER_MATRIX,
				  int type_w, void *w, int compute, SOLVER_WORK)
{
	bool right = lda == n && compute == type && triangle == SOLVER_LOWER && w;
	struct solver_call c = {.handle = handle,
				.function = FN_EIGH,
				.name = __func__,
				.type = type,
				.real = type_w,
				.m = rows_if(right, n),
				.n = n,
				.vectors = vectors,
				.a = at(a),
				.line = at(w),
				.work = at(work),
				.nwork = nwork,
				.info = at(info)};

	return push(&c, is_known(params), host, nhost);
}

cusolverStatus_t cusolverDnXgesvd(SOLVER_SVD_ARGUMENTS)
{
	struct solver_call c = svd_call(__func__, handle, params, job_u, job_vt, m, n, type, a, lda,
					type_s, type_u, ldu, type_vt, ldvt, compute);

	c.line = at(s);
	c.b = at(u);
	c.c = at(vt);
	c.work = at(work);
	c.nwork = nwork;
	c.info = at(info);
	return push(&c, is_known(params), host, nhost);
}

static cusolverStatus_t q_size(const char *name, int type, SOLVER_Q_SIZE_ARGUMENTS)
{
	struct solver_call c = {.handle = handle,
				.function = FN_Q,
				.name = name,
				.type = type,
				.real = type,
				.m = rows_if(lda == m && k > 0 && k <= n && n <= m, m),
				.n = n,
				.k = k,
				.a = at(a)};
	size_t bytes = 0, host = 0;
	cusolverStatus_t status = sizes(&c, true, &bytes, &host);

	(void)tau;
	*nwork = (int)(bytes / (solver_bytes(type) ? solver_bytes(type) : 1));
	return status;
}

static cusolverStatus_t q_call(const char *name, int type, SOLVER_Q_ARGUMENTS)
{
	struct solver_call c = {.handle = handle,
				.function = FN_Q,
				.name = name,
				.type = type,
				.real = type,
				.m = rows_if(lda == m && k > 0 && k <= n && n <= m && tau, m),
				.n = n,
				.k = k,
				.a = at(a),
				.line = at(tau),
				.work = at(work),
				.nwork = (size_t)nwork * solver_bytes(type),
				.info = at(info)};

	return push(&c, true, NULL, 0);
}

#define Q(name, type)                                                                              \
	cusolverStatus_t name##_bufferSize(SOLVER_Q_SIZE_ARGUMENTS)                                \
	{                                                                                          \
		return q_size(#name "_bufferSize", type, handle, m, n, k, a, lda, tau, nwork);     \
	}                                                                                          \
	cusolverStatus_t name(SOLVER_Q_ARGUMENTS)                                                  \
	{                                                                                          \
		return q_call(#name, type, handle, m, n, k, a, lda, tau, work, nwork, info);       \
	}
SOLVER_Q(Q)
