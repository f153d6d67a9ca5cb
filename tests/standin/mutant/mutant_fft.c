/* SPDX-License-Identifier: Apache-2.0 */
/* mutant_fft.c - libcufft.so.12 with a mistake: the stand-in behind it, one call altered as
 * BRAZE_MUTANT says (mutants.def).
 *
 * It has only the functions that a mutant alters; whoever looks for others in it finds the
 * stand-in's, which it is linked with. */
#include <dlfcn.h>

#include "../fft.h"
#include "mutant.h"

#define PROTOTYPE(name, params) typedef cufftResult type_##name params;
FFT_CALLS(PROTOTYPE)
#undef PROTOTYPE

#define REAL(name) ((type_##name *)dlsym(RTLD_NEXT, #name))

cufftResult cufftSetAutoAllocation(cufftHandle plan, int allocate)
{
	return REAL(cufftSetAutoAllocation)(plan, is(MUTANT_fft_allocates) ? 1 : allocate);
}

cufftResult cufftSetWorkArea(cufftHandle plan, void *area)
{
	if (is(MUTANT_fft_no_area))
		return CUFFT_SUCCESS;
	return REAL(cufftSetWorkArea)(plan, (char *)area + (is(MUTANT_fft_area) ? 256 : 0));
}

cufftResult cufftSetStream(cufftHandle plan, CUstream stream)
{
	if (is(MUTANT_fft_no_stream))
		return CUFFT_SUCCESS;
	return REAL(cufftSetStream)(plan, is(MUTANT_fft_stream) ? NULL : stream);
}

cufftResult cufftMakePlanMany64(FFT_MAKE_ARGUMENTS)
{
	int lie = is(MUTANT_fft_batch) && batch > 1;

	if (is(MUTANT_fft_distance))
		out_distance++;
	if (is(MUTANT_fft_stride))
		in_stride++;
	cufftResult status = REAL(cufftMakePlanMany64)(
		plan, rank, n, is(MUTANT_fft_embed) ? NULL : in_embed, in_stride, in_distance,
		out_embed, out_stride, out_distance, type, batch - lie, work);
	if (is(MUTANT_fft_area_short) && !status)
		*work /= 2;
	return status;
}

cufftResult cufftExecZ2Z(cufftHandle plan, void *from, void *to, int direction)
{
	int swapped = is(MUTANT_fft_swapped);
	cufftResult status = REAL(cufftExecZ2Z)(plan, swapped ? to : from, swapped ? from : to,
						is(MUTANT_fft_direction) ? -direction : direction);

	if (is(MUTANT_fft_twice) && !status)
		status = REAL(cufftExecZ2Z)(plan, from, to, direction);
	if (is(MUTANT_fft_destroyed) && !status)
		(void)REAL(cufftDestroy)(plan);
	return status;
}

cufftResult cufftExecZ2D(cufftHandle plan, void *from, void *to)
{
	return REAL(cufftExecZ2D)(plan, from, is(MUTANT_fft_in_place) ? from : to);
}
