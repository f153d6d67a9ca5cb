/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_grid.c: what the text of a loop has and has not. */
#include "lang_code.h"

#include "emit/emit_c.h"
#include "emit/emit_cuda.h"

/* The first loop as CUDA C++, which writes array 0 and keeps some; to be freed. */
static char *source_of(const char *text, uint32_t keeps)
{
	struct lang_program *p = NULL;
	struct lang_grid g;
	struct err err = {0};
	char *source = NULL;
	uint32_t range;

	cr_assert(!lang_program_of_text(&p, text, strlen(text), &err), "%s\n%s", err.text, text);
	range = p->entry;
	while (p->code[range].code != CODE_RANGE)
		cr_assert_neq(p->code[range++].code, CODE_END, "%s", text);
	cr_assert(!lang_grid_of(&g, p, range, 1, 0, 0, NULL));
	cr_assert(!lang_grid_keep(&g, keeps, NULL));
	cr_assert(!emit_cuda_grid(&source, &g, NULL));
	lang_free(p);
	return source;
}

/* Names of a text stay in the text: two that differ by them alone are one kernel. */
Test(emit_cuda_grid_text, only_numbers_and_types)
{
	char *a = source_of(
		"kernel f(out y: float64[:], k: int64) { for i in 0..k { y[i] = 1.0 } }", 0);
	char *b = source_of("kernel bad(out evil: float64[:], n: int64) {\n\n for q in 0..n { "
			    "evil[q] = 1.0 }\n}",
			    0);

	cr_expect_str_eq(a, b);
	cr_expect(!strstr(a, "evil"));
	free(a);
	free(b);
}

/* A store to an array that is kept, read again, beside one of those that go nowhere. */
Test(emit_cuda_grid_text, what_is_kept)
{
	char *source = source_of(
		"kernel f(inout y: float64[:], inout u: float32[:], inout v: float64[:]) {\n"
		"for i in 0..9 { u[i] = float32(1.0)\n v[i] = 2.0\n y[i] = float64(u[i]) + v[i] "
		"}\n}",
		2);
	char *kernel = strstr(source, EMIT_KERNEL_MARK);

	cr_expect(strstr(kernel, "bz_address at1;\n\tbz_f32 kept1;"), "%s", kernel);
	cr_expect(strstr(kernel, "s.kept1 = ") && strstr(kernel, "= s.kept1; else"), "%s", kernel);
	cr_expect(!strstr(kernel, "kept0") && !strstr(kernel, "kept2"), "%s", kernel);
	cr_expect(strstr(kernel, "bz_st<bz_f64>") && !strstr(kernel, "bz_st<bz_f32>"), "%s",
		  kernel);
	free(source);
}

/* Types that most kernels have not are left out of what a compiler reads, but for those that are
 * kept, whoever says so. */
Test(emit_cuda_grid_text, rare_types_are_left_out)
{
	static const struct {
		const char *text;
		uint32_t keeps;
		bool half, complex;
	} of[] = {
		{"kernel f(out y: float64[:]) { for i in 0..9 { y[i] = 1.0 } }", 0, false, false},
		{"kernel f(out y: float16[:]) { for i in 0..9 { y[i] = float16(i) } }", 0, true,
		 false},
		{"kernel f(out y: complex64[:]) { for i in 0..9 { y[i] = complex64(i) } }", 0,
		 false, true},
		{"kernel f(out y: float64[:], c: complex64[:]) { for i in 0..9 { y[i] = 1.0 } }", 2,
		 false, true},
	};

	for (unsigned k = 0; k < sizeof of / sizeof *of; k++) {
		char *source = source_of(of[k].text, of[k].keeps);

		cr_expect_eq(!strstr(source, "#define BZ_NO_HALF\n"), of[k].half);
		cr_expect_eq(!strstr(source, "#define BZ_NO_COMPLEX\n"), of[k].complex);
		free(source);
	}
}
