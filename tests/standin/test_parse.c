/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser takes, what it refuses, and that a refusal names the line. */
#include "harness.h"
#include <stdio.h>

static char log_text[600];

static CUresult load(const char *body)
{
	static char text[8192];
	CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log_text, (void *)sizeof(log_text)};
	CUmodule m;

	snprintf(text, sizeof(text), "%s%s", PTX_HEAD, body);
	return cuModuleLoadDataEx(&m, text, 2, names, values);
}

#define KERNEL(body)                                                                               \
	".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>; "                 \
	".reg .pred %p<3>; .reg .b16 %h<3>;\n" body "\nret;\n}\n"

Test(parse, refusals_name_the_line)
{
	static const struct {
		const char *body, *says;
	} bad[] = {
		{KERNEL("\nfrobnicate.b32 %r1, %r2;"), "line 8: unknown instruction"},
		{KERNEL("mma.sync.aligned.m16n8k8 %r1;"), "line 7: unknown instruction"},
		{KERNEL("add.s32.frob %r1, %r2, %r3;"), "unsupported '.frob'"},
		{KERNEL("add.f32 %r1, %rd2, %r3;"), "register of 8 bytes where 4"},
		{KERNEL("add.b128 %r1, %r2, %r3;"), "add.b128"},
		{KERNEL("add.sat.s32 %r1, %r2, %r3;"), "unsupported instruction"},
		{KERNEL("add.s32 %r1, %r2;"), "expected ','"},
		{KERNEL("add.s32 %r1, %r2, %r3, %r1;"), "expected ';'"},
		{KERNEL("add.s32 %r1, %r2, %q;"), "unknown symbol '%q'"},
		{KERNEL("add.s32 %r1, %r2, %r4;"), "unknown symbol '%r4'"},
		{KERNEL("bra NOWHERE;"), "label 'NOWHERE'"},
		{KERNEL("@%r1 add.s32 %r1, %r2, %r3;"), "no predicate"},
		{KERNEL("ld.global.v2.u32 %r1, [%rd1];"), "1 elements"},
		{KERNEL("ld.global.u32 %h1, [%rd1];"), "too narrow"},
		{KERNEL("call.uni nothing, ();"), "no function"},
		{KERNEL("bar.arrive 1, 64;"), "unsupported instruction"},
		{KERNEL("bra A; A: .branchtargets B;"), "label"},
		{".visible .entry k() { .reg .b32 %r<2>;", "ends inside"},
		{".visible .entry k() { ret; } .visible .entry k() { ret; }", "defined twice"},
		{".extern .func f; .visible .entry k() { call.uni f; ret; }", "does not define"},
		{".func f() { call.uni f; ret; }", "calls itself"},
		{".global .b8 a[2] = {1, 2, 3};", "more initial values"},
		{".texref t;", "unsupported directive"},
		{".extern .global .b32 x;", "external variables"},
	};

	device();
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		cr_expect_eq(load(bad[k].body), CUDA_ERROR_INVALID_PTX, "%s", bad[k].body);
		cr_expect(strstr(log_text, bad[k].says), "%s\nsays: %s\nwant: %s", bad[k].body,
			  log_text, bad[k].says);
	}
}

Test(parse, texts_that_are_no_ptx)
{
	CUmodule m;

	device();
	cr_expect_eq(cuModuleLoadDataEx(&m, "hello", 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
	cr_expect_eq(cuModuleLoadDataEx(&m, "", 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
	/* Cut anywhere, a kernel is refused or taken, never a crash. */
	const char *whole = PTX_HEAD KERNEL("{ .reg .b32 t; add.s32 t, %r1, 1; }\n"
					    "@%p1 bra L; ld.global.v2.u32 {%r1, %r2}, [%rd1+8];\n"
					    "L: st.global.u32 [%rd1], %r1;");
	char *cut = strdup(whole);
	for (size_t n = strlen(whole); n-- > 0;) {
		cut[n] = 0;
		if (cuModuleLoadDataEx(&m, cut, 0, NULL, NULL) == CUDA_SUCCESS)
			cuModuleUnload(m);
	}
	free(cut);
}

Test(parse, targets_and_devices)
{
	options("log=/dev/null,cc=8.0");
	CUmodule m;

	device();
	cr_expect_eq(cuModuleLoadDataEx(&m, ".version 8.0\n.target sm_80\n.address_size 64\n", 0,
					NULL, NULL),
		     CUDA_SUCCESS);
	cr_expect_eq(cuModuleLoadDataEx(&m, ".version 8.0\n.target sm_90\n.address_size 64\n", 0,
					NULL, NULL),
		     CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* Layout of parameters, variables with values and addresses, .branchtargets, calls. */
static const char program[] = PTX_HEAD
	".global .align 4 .b32 table[3] = {10, 20, 30};\n"
	".global .align 8 .u64 where = generic(table)+4;\n"
	".const .align 4 .f32 scale = 0f40000000;\n"
	".func (.param .b32 out) twice(.param .b32 in, .param .align 8 .b8 more[16])\n"
	"{ .reg .b32 %r<4>; ld.param.b32 %r1, [in]; ld.param.b32 %r2, [more+8];\n"
	"  add.s32 %r1, %r1, %r1; add.s32 %r1, %r1, %r2; st.param.b32 [out], %r1; ret; }\n"
	".visible .entry k(.param .u64 p, .param .u8 a, .param .u16 b, .param .align 8 .b8 s[24],\n"
	"                  .param .f64 d)\n"
	"{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<4>; .reg .f64 %fd<3>; .reg .f32 %f<3>;\n"
	"  ld.param.u64 %rd1, [p]; ld.param.u8 %h1, [a]; ld.param.s16 %r1, [b];\n"
	"  ld.param.u32 %r2, [s+20]; ld.param.f64 %fd1, [d];\n"
	"  cvt.u32.u16 %r3, %h1; st.global.u32 [%rd1], %r3; st.global.u32 [%rd1+4], %r1;\n"
	"  st.global.u32 [%rd1+8], %r2; cvt.rzi.s32.f64 %r4, %fd1; st.global.u32 [%rd1+12], %r4;\n"
	"  ld.global.u64 %rd2, [where]; ld.u32 %r5, [%rd2]; st.global.u32 [%rd1+16], %r5;\n"
	"  ld.const.f32 %f1, [scale]; cvt.rzi.s32.f32 %r6, %f1; st.global.u32 [%rd1+20], %r6;\n"
	"  { .param .b32 x; .param .align 8 .b8 y[16]; .param .b32 z;\n"
	"    st.param.b32 [x], %r5; st.param.b32 [y+8], 7;\n"
	"    call.uni (z), twice, (x, y); ld.param.b32 %r7, [z]; }\n"
	"  st.global.u32 [%rd1+24], %r7;\n"
	"  mov.u32 %r8, 1; brx.idx %r8, T;\n"
	"T: .branchtargets A, B;\n"
	"A: st.global.u32 [%rd1+28], 100; ret;\n"
	"B: st.global.u32 [%rd1+28], 200; ret; }\n";

Test(parse, parameters_variables_calls)
{
	struct {
		char bytes[24];
	} s;
	uint8_t a = 250;
	uint16_t b = 0xfffe;
	double d = 42.5;
	int32_t got[8], twenty_one = 21;
	size_t bytes;
	CUdeviceptr p, table;

	device();
	memcpy(s.bytes + 20, &twenty_one, 4);
	p = memory(sizeof(got));
	void *params[] = {&p, &a, &b, &s, &d};
	CUmodule m = module_of(program);
	GOOD(run(function_of(m, "k"), 1, 1, 0, params));
	GOOD(cuMemcpyDtoH_v2(got, p, sizeof(got)));
	static const int32_t want[8] = {250, -2, 21, 42, 20, 2, 47, 200};
	for (int k = 0; k < 8; k++)
		cr_expect_eq(got[k], want[k], "%d: %d", k, got[k]);
	GOOD(cuModuleGetGlobal_v2(&table, &bytes, m, "table"));
	cr_expect_eq(bytes, 12);
	GOOD(cuMemcpyDtoH_v2(got, table, 12));
	cr_expect_eq(got[2], 30);
	cr_expect_eq(cuModuleGetGlobal_v2(&table, &bytes, m, "none"), CUDA_ERROR_NOT_FOUND);
	CUfunction f;
	cr_expect_eq(cuModuleGetFunction(&f, m, "twice"), CUDA_ERROR_NOT_FOUND);
	/* The same parameters as one buffer. */
	struct {
		CUdeviceptr p;
		uint8_t a;
		uint16_t b;
		char s[24];
		double d;
	} packed = {.p = p, .a = 1, .b = 2, .d = 3};
	size_t size = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};
	GOOD(cuLaunchKernel(function_of(m, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	GOOD(cuMemcpyDtoH_v2(got, p, sizeof(got)));
	cr_expect_eq(got[0], 1);
	cr_expect_eq(got[3], 3);
}

Test(parse, a_block_s_register_ends_with_the_block)
{
	static const char nested[] =
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 out) {\n"
		".reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
		"ld.param.u64 %rd1, [out];\nmov.u32 %r1, 7;\nmov.u32 %r2, 1;\n"
		"{ .reg .u32 %r1; mov.u32 %r1, 9; add.u32 %r2, %r2, %r1; }\n"
		"{ .reg .u32 %r1; mov.u32 %r1, 100; add.u32 %r2, %r2, %r1; }\n"
		"st.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+4], %r2;\nret;\n}\n";
	int32_t got[2];
	CUdeviceptr p;

	device();
	p = memory(sizeof(got));
	void *params[] = {&p};
	GOOD(run(function_of(module_of(nested), "k"), 1, 1, 0, params));
	GOOD(cuMemcpyDtoH_v2(got, p, sizeof(got)));
	cr_expect_eq(got[0], 7);
	cr_expect_eq(got[1], 110);
}
