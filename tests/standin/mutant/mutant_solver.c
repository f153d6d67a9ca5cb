/* SPDX-License-Identifier: Apache-2.0 */
/* mutant_solver.c - libcusolver.so.12 with a mistake: the stand-in behind it, one call altered as
 * BRAZE_MUTANT says (mutants.def).
 *
 * It has only the functions that a mutant alters; whoever looks for others in it finds the
 * stand-in's, which it is linked with. */
#include <dlfcn.h>

#include "../solver.h"
#include "mutant.h"

#define PROTOTYPE(name, arguments) typedef cusolverStatus_t type_##name arguments;
SOLVER_CALLS(PROTOTYPE)
#undef PROTOTYPE

#define REAL(name) ((type_##name *)dlsym(RTLD_NEXT, #name))

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, CUstream stream)
{
	if (is(MUTANT_solver_no_stream))
		return CUSOLVER_STATUS_SUCCESS;
	return REAL(cusolverDnSetStream)(handle, is(MUTANT_solver_stream) ? NULL : stream);
}

cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle, int mode)
{
	return REAL(cusolverDnSetDeterministicMode)(handle, is(MUTANT_solver_varies) ? 2 : mode);
}

cusolverStatus_t cusolverDnXgetrf(SOLVER_START, int64_t m, int64_t n, SOLVER_MATRIX, int64_t *pivot,
				  int compute, SOLVER_WORK)
{
	char *area = work;

	if (is(MUTANT_solver_leading))
		lda++;
	if (is(MUTANT_solver_area_short))
		nwork /= 2;
	if (is(MUTANT_solver_area))
		area += 128;
	if (is(MUTANT_solver_info))
		info = NULL;
	if (is(MUTANT_solver_type))
		type = CUDA_R_32F;
	return REAL(cusolverDnXgetrf)(handle, params, m, n, type, a, lda,
				      pivot + is(MUTANT_solver_pivots), compute, area, nwork, host,
				      nhost, info);
}

cusolverStatus_t cusolverDnXgetrs(SOLVER_START, int turned, int64_t n, int64_t count, SOLVER_LOOKED,
				  const int64_t *pivot, int type_b, void *b, int64_t ldb, int *info)
{
	if (is(MUTANT_solver_count) && count > 1)
		count--;
	return REAL(cusolverDnXgetrs)(handle, params, turned | is(MUTANT_solver_turned), n, count,
				      type, a, lda, pivot, type_b, b, ldb, info);
}

cusolverStatus_t cusolverDnXpotrf(SOLVER_START, int triangle, int64_t n, SOLVER_MATRIX, int compute,
				  SOLVER_WORK)
{
	cusolverStatus_t status =
		REAL(cusolverDnXpotrf)(handle, params, triangle | is(MUTANT_solver_triangle), n,
				       type, a, lda, compute, work, nwork, host, nhost, info);

	if (is(MUTANT_solver_twice) && !status)
		status = REAL(cusolverDnXpotrf)(handle, params, triangle, n, type, a, lda, compute,
						work, nwork, host, nhost, info);
	if (is(MUTANT_solver_destroyed) && !status)
		(void)REAL(cusolverDnDestroy)(handle);
	return status;
}

cusolverStatus_t cusolverDnXsyevd(SOLVER_START, int vectors, int triangle, int64_t n, SOLVER_MATRIX,
				  int type_w, void *w, int compute, SOLVER_WORK)
{
	return REAL(cusolverDnXsyevd)(handle, params, vectors && !is(MUTANT_solver_no_vectors),
				      triangle, n, type, a, lda, type_w, w, compute, work, nwork,
				      host, is(MUTANT_solver_host_short) ? nhost / 2 : nhost, info);
}

cusolverStatus_t cusolverDnXgesvd(SOLVER_SVD_ARGUMENTS)
{
	int swapped = is(MUTANT_solver_swapped);

	if (is(MUTANT_solver_all))
		job_u = job_vt = 'A';
	return REAL(cusolverDnXgesvd)(handle, params, job_u, job_vt, m, n, type, a, lda, type_s, s,
				      type_u, swapped ? vt : u, ldu, type_vt, swapped ? u : vt,
				      ldvt, compute, work, nwork, host, nhost, info);
}

cusolverStatus_t cusolverDnDorgqr(SOLVER_Q_ARGUMENTS)
{
	return REAL(cusolverDnDorgqr)(handle, m, n, k - (is(MUTANT_solver_reflectors) && k > 1), a,
				      lda, tau, work, nwork, info);
}
