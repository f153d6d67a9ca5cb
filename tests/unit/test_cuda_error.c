/* SPDX-License-Identifier: Apache-2.0 */
/* Driver errors by class, and their texts. */
#include <criterion/criterion.h>
#include <string.h>

#include "cuda/cuda_error.h"

static CUresult name_of(CUresult rc, const char **out)
{
	*out = rc == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult text_of(CUresult rc, const char **out)
{
	*out = rc == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : NULL;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const struct cuda_api api = {.cuGetErrorName = name_of, .cuGetErrorString = text_of};

Test(cuda_error, classes)
{
	static const int fatal[] = {4,	 214, 220, 226, 700, 702, 709, 710, 714,
				    715, 716, 717, 718, 719, 721, 806, 810, 911};
	static const int unusable[] = {3,   34,	 36,  46,  100, 101, 102,
				       802, 803, 804, 805, 807, 808, 809};
	static const int doubt[] = {201, 401, 999};
	static const int passing[] = {2,   3,	46,  100, 101, 102, 802,
				      805, 806, 807, 808, 809, 810, 999};
	static const int staying[] = {0, 1, 34, 36, 200, 700, 803, 804, 12345};
	static const int code[] = {200, 209, 218, 221, 222, 223, 701};
	static const int call[] = {1, 400, 500, 708, 712, 713, 800, 801, 900, 12345};

	cr_assert_eq(cuda_error_class(CUDA_SUCCESS), CUDA_FINE);
	cr_assert_eq(cuda_error_class(CUDA_ERROR_NOT_READY), CUDA_LATER);
	cr_assert_eq(cuda_error_class(CUDA_ERROR_OUT_OF_MEMORY), CUDA_MEMORY);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		cr_assert_eq(cuda_error_class((CUresult)fatal[i]), CUDA_FATAL, "%d", fatal[i]);
	for (size_t i = 0; i < sizeof unusable / sizeof *unusable; i++)
		cr_assert_eq(cuda_error_class((CUresult)unusable[i]), CUDA_UNUSABLE, "%d",
			     unusable[i]);
	for (size_t i = 0; i < sizeof doubt / sizeof *doubt; i++)
		cr_assert_eq(cuda_error_class((CUresult)doubt[i]), CUDA_DOUBT, "%d", doubt[i]);
	for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
		cr_assert(cuda_error_passes((CUresult)passing[i]), "%d", passing[i]);
	for (size_t i = 0; i < sizeof staying / sizeof *staying; i++)
		cr_assert_not(cuda_error_passes((CUresult)staying[i]), "%d", staying[i]);
	for (size_t i = 0; i < sizeof code / sizeof *code; i++)
		cr_assert_eq(cuda_error_class((CUresult)code[i]), CUDA_CODE, "%d", code[i]);
	for (size_t i = 0; i < sizeof call / sizeof *call; i++)
		cr_assert_eq(cuda_error_class((CUresult)call[i]), CUDA_CALL, "%d", call[i]);
}

Test(cuda_error, texts_say_what_where_and_what_to_do)
{
	struct err err = {0};

	cr_assert_eq(cuda_error_set(&err, &api, CUDA_ERROR_OUT_OF_MEMORY, "taking %d bytes", 12),
		     E_NOMEM);
	cr_assert_str_eq(err.text, "taking 12 bytes: CUDA_ERROR_OUT_OF_MEMORY (2, out of memory); "
				   "free arrays or work on smaller ones");
	/* A code that the driver does not know. */
	cr_assert_eq(cuda_error_set(&err, &api, (CUresult)4711, "x"), E_INTERNAL);
	cr_assert(strstr(err.text, "4711"), "%s", err.text);
	cr_assert_eq(cuda_error_set(&err, &api, CUDA_ERROR_STUB_LIBRARY, "x"), E_DEVICE);
	cr_assert(strstr(err.text, "stub"), "%s", err.text);
	cr_assert_eq(cuda_error_set(&err, &api, CUDA_ERROR_INVALID_PTX, "x"), E_COMPILE);
	cr_assert_eq(cuda_error_set(&err, &api, CUDA_ERROR_ILLEGAL_ADDRESS, "x"), E_DEVICE);
}
