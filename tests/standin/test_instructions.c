/* SPDX-License-Identifier: Apache-2.0 */
/* Each instruction class, from PTX text: one lane computes one value.
 *
 * The kernel has a, b, c in registers of every kind: %rdA.. 64 bits, %rA.. their low
 * 32, %hA.. their low 16, %fA.. and %dA.. as floats, %pA.. whether the low bit is set.
 * A row's text computes %rd0, or %r0, %h0, %f0, %d0, %p0, named by its first letter. */
#include "harness.h"
#include <math.h>
#include <stdio.h>

static const char head[] = PTX_HEAD
	".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
	".reg .b64 %rd<9>; .reg .b64 %rdA, %rdB, %rdC, %in, %out; .reg .f64 %d<9>, %dA, %dB, %dC;\n"
	".reg .b32 %r<9>, %rA, %rB, %rC; .reg .f32 %f<9>, %fA, %fB, %fC;\n"
	".reg .b16 %h<9>, %hA, %hB, %hC; .reg .pred %p<9>, %pA, %pB, %pC;\n"
	"ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];\n"
	"ld.global.u64 %rdA, [%in]; ld.global.u64 %rdB, [%in+8]; ld.global.u64 %rdC, [%in+16];\n"
	"mov.b64 %dA, %rdA; mov.b64 %dB, %rdB; mov.b64 %dC, %rdC;\n"
	"cvt.u32.u64 %rA, %rdA; cvt.u32.u64 %rB, %rdB; cvt.u32.u64 %rC, %rdC;\n"
	"mov.b32 %fA, %rA; mov.b32 %fB, %rB; mov.b32 %fC, %rC;\n"
	"cvt.u16.u32 %hA, %rA; cvt.u16.u32 %hB, %rB; cvt.u16.u32 %hC, %rC;\n"
	"and.b32 %r1, %rA, 1; setp.ne.u32 %pA, %r1, 0; and.b32 %r1, %rB, 1;\n"
	"setp.ne.u32 %pB, %r1, 0; and.b32 %r1, %rC, 1; setp.ne.u32 %pC, %r1, 0;\n";

static const char *tail(char kind)
{
	switch (kind) {
	case 'r':
		return "cvt.u64.u32 %rd0, %r0;";
	case 'h':
		return "cvt.u64.u16 %rd0, %h0;";
	case 'f':
		return "mov.b32 %r0, %f0; cvt.u64.u32 %rd0, %r0;";
	case 'd':
		return "mov.b64 %rd0, %d0;";
	case 'p':
		return "selp.b64 %rd0, 1, 0, %p0;";
	default:
		return "";
	}
}

struct row {
	const char *text; /* "r: add.s32 %r0, %rA, %rB;" */
	uint64_t a, b, c, want;
};

static uint64_t computed(const struct row *row)
{
	static char text[8192];
	uint64_t in[3] = {row->a, row->b, row->c}, out = 0;

	snprintf(text, sizeof(text), "%s%s\n%s\nst.global.u64 [%%out], %%rd0; ret; }\n", head,
		 strchr(row->text, ':') + 1, tail(row->text[0]));
	CUmodule m = module_of(text);
	CUdeviceptr from = memory(24), to = memory(8);
	void *params[] = {&from, &to};
	GOOD(cuMemcpyHtoD_v2(from, in, 24));
	CUresult error = run(function_of(m, "k"), 1, 1, 0, params);
	cr_assert_eq(error, CUDA_SUCCESS, "%s: %d", row->text, (int)error);
	GOOD(cuMemcpyDtoH_v2(&out, to, 8));
	GOOD(cuMemFree_v2(from));
	GOOD(cuMemFree_v2(to));
	GOOD(cuModuleUnload(m));
	return out;
}

static void check(const struct row *rows, size_t n)
{
	device();
	for (size_t k = 0; k < n; k++) {
		uint64_t got = computed(&rows[k]);

		cr_expect_eq(got, rows[k].want, "%s with 0x%llx 0x%llx 0x%llx: 0x%llx, want 0x%llx",
			     rows[k].text, (unsigned long long)rows[k].a,
			     (unsigned long long)rows[k].b, (unsigned long long)rows[k].c,
			     (unsigned long long)got, (unsigned long long)rows[k].want);
	}
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof(rows[0]))
#define M32(x)	    ((uint32_t)(x))
#define M64(x)	    ((uint64_t)(x))

Test(instructions, integer)
{
	static const struct row rows[] = {
		{"r:add.s32 %r0, %rA, %rB;", M32(INT32_MAX), 1, 0, 0x80000000},
		{"h:add.s16 %h0, %hA, %hB;", 0xffff, 2, 0, 1},
		{":add.u64 %rd0, %rdA, %rdB;", UINT64_MAX, 2, 0, 1},
		{"r:sub.u32 %r0, %rA, %rB;", 1, 2, 0, 0xffffffff},
		{"r:mul.lo.s32 %r0, %rA, %rB;", 0x10001, 0x10001, 0, 0x20001},
		{"r:mul.hi.u32 %r0, %rA, %rB;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
		{"r:mul.hi.s32 %r0, %rA, %rB;", 0xffffffff, 7, 0, 0xffffffff},
		{":mul.wide.s32 %rd0, %rA, %rB;", 0xffffffff, 7, 0, M64(-7)},
		{":mul.wide.u32 %rd0, %rA, %rB;", 0xffffffff, 7, 0, 0x6fffffff9},
		{"r:mul.wide.u16 %r0, %hA, %hB;", 0xffff, 0xffff, 0, 0xfffe0001},
		{":mul.hi.u64 %rd0, %rdA, %rdB;", UINT64_MAX, 3, 0, 2},
		{":mul.hi.s64 %rd0, %rdA, %rdB;", M64(-1), 3, 0, M64(-1)},
		{"r:mad.lo.s32 %r0, %rA, %rB, %rC;", 5, 6, 7, 37},
		{"r:mad.hi.u32 %r0, %rA, %rB, %rC;", 0x80000000, 4, 1, 3},
		{":mad.wide.s32 %rd0, %rA, %rB, %rdC;", M32(-2), 3, 10, 4},
		{"r:mul24.lo.u32 %r0, %rA, %rB;", 0xff000003, 0x5, 0, 15},
		{"r:mad24.lo.s32 %r0, %rA, %rB, %rC;", 0x00ffffff, 3, 10, 7},
		{"r:div.s32 %r0, %rA, %rB;", M32(-7), 2, 0, M32(-3)},
		{"r:rem.s32 %r0, %rA, %rB;", M32(-7), 2, 0, M32(-1)},
		{"r:div.s32 %r0, %rA, %rB;", 0x80000000, M32(-1), 0, 0x80000000},
		{"r:rem.s32 %r0, %rA, %rB;", 0x80000000, M32(-1), 0, 0},
		{":div.u64 %rd0, %rdA, %rdB;", UINT64_MAX, 10, 0, UINT64_MAX / 10},
		{":rem.s64 %rd0, %rdA, %rdB;", M64(-17), 5, 0, M64(-2)},
		{"h:div.s16 %h0, %hA, %hB;", 0xfff9, 2, 0, 0xfffd},
		{"r:abs.s32 %r0, %rA;", M32(-9), 0, 0, 9},
		{"r:neg.s32 %r0, %rA;", 9, 0, 0, M32(-9)},
		{"r:min.s32 %r0, %rA, %rB;", M32(-1), 1, 0, M32(-1)},
		{"r:min.u32 %r0, %rA, %rB;", M32(-1), 1, 0, 1},
		{":max.s64 %rd0, %rdA, %rdB;", M64(-1), 1, 0, 1},
		{"r:sad.s32 %r0, %rA, %rB, %rC;", M32(-3), 4, 10, 17},
		{"r:max.s16x2 %r0, %rA, %rB;", 0x0005ffff, 0x00040001, 0, 0x00050001},
		{"r:dp4a.s32.s32 %r0, %rA, %rB, %rC;", 0xff020304, 0x01010101, 10, 18},
		{"r:dp4a.u32.u32 %r0, %rA, %rB, %rC;", 0xff020304, 0x01010101, 10, 274},
		{"r:dp2a.lo.s32.s32 %r0, %rA, %rB, %rC;", 0xffff0002, 0x00000305, 1, 8},
		{"r:vabsdiff4.u32.u32.u32 %r0, %rA, %rB, %rC;", 0x05010200, 0x01050001, 0,
		 0x04040201},
	};

	CHECK(rows);
}

Test(instructions, carry)
{
	static const struct row rows[] = {
		{"r:add.cc.u32 %r1, %rA, %rB; addc.u32 %r0, %rC, 0;", 0xffffffff, 1, 5, 6},
		{"r:add.cc.u32 %r1, %rA, %rB; addc.u32 %r0, %rC, 0;", 0xfffffffe, 1, 5, 5},
		{"r:sub.cc.u32 %r1, %rA, %rB; subc.u32 %r0, %rC, 0;", 0, 1, 5, 4},
		{":add.cc.s64 %rd1, %rdA, %rdB; addc.s64 %rd0, %rdC, 0;", UINT64_MAX, 1, 5, 6},
		{"r:mad.lo.cc.u32 %r1, %rA, %rB, %rC; madc.hi.u32 %r0, %rA, %rB, 0;", 0xffffffff,
		 0xffffffff, 0xffffffff, 0xffffffff},
		{"r:add.cc.u32 %r1, %rA, %rB; addc.cc.u32 %r2, %rA, 0; addc.u32 %r0, %rC, 0;",
		 0xffffffff, 1, 5, 6},
	};

	CHECK(rows);
}

Test(instructions, bits)
{
	static const struct row rows[] = {
		{"r:and.b32 %r0, %rA, %rB;", 0xff0f, 0x0ff0, 0, 0x0f00},
		{":or.b64 %rd0, %rdA, %rdB;", 1ull << 40, 1, 0, (1ull << 40) + 1},
		{"h:xor.b16 %h0, %hA, %hB;", 0xffff, 0x00ff, 0, 0xff00},
		{"r:not.b32 %r0, %rA;", 0, 0, 0, 0xffffffff},
		{"r:cnot.b32 %r0, %rA;", 0, 0, 0, 1},
		{"p:and.pred %p0, %pA, %pB;", 1, 0, 0, 0},
		{"p:xor.pred %p0, %pA, %pB;", 1, 0, 0, 1},
		{"p:not.pred %p0, %pA;", 1, 0, 0, 0},
		{"r:shl.b32 %r0, %rA, %rB;", 1, 32, 0, 0},
		{":shl.b64 %rd0, %rdA, %rB;", 1, 63, 0, 1ull << 63},
		{"r:shr.s32 %r0, %rA, %rB;", 0x80000000, 40, 0, 0xffffffff},
		{"r:shr.u32 %r0, %rA, %rB;", 0x80000000, 31, 0, 1},
		{"r:bfe.u32 %r0, %rA, %rB, %rC;", 0xabcd1234, 8, 8, 0x12},
		{"r:bfe.s32 %r0, %rA, %rB, %rC;", 0x0000f000, 12, 4, 0xffffffff},
		{"r:bfe.s32 %r0, %rA, %rB, %rC;", 0x80000000, 28, 8, 0xfffffff8},
		{":bfe.u64 %rd0, %rdA, %rB, %rC;", 0xab00000000ull, 32, 8, 0xab},
		{"r:bfi.b32 %r0, %rA, %rB, 8, %rC;", 0xff, 0, 4, 0xf00},
		{":bfi.b64 %rd0, %rdA, %rdB, 32, 32;", 7, 5, 0, (7ull << 32) + 5},
		{"r:popc.b64 %r0, %rdA;", UINT64_MAX, 0, 0, 64},
		{"r:clz.b32 %r0, %rA;", 0, 0, 0, 32},
		{"r:clz.b64 %r0, %rdA;", 1, 0, 0, 63},
		{"r:brev.b32 %r0, %rA;", 1, 0, 0, 0x80000000},
		{":brev.b64 %rd0, %rdA;", 6, 0, 0, 0x6000000000000000ull},
		{"r:bfind.u32 %r0, %rA;", 0x10, 0, 0, 4},
		{"r:bfind.s32 %r0, %rA;", M32(-1), 0, 0, M32(-1)},
		{"r:bfind.shiftamt.u32 %r0, %rA;", 0x10, 0, 0, 27},
		{"r:prmt.b32 %r0, %rA, %rB, 0x5410;", 0x33221100, 0x77665544, 0, 0x55441100},
		{"r:prmt.b32 %r0, %rA, %rB, 0x9999;", 0x00008000, 0, 0, 0xffffffff},
		{"r:prmt.b32.rc8 %r0, %rA, %rB, 2;", 0x33221100, 0, 0, 0x22222222},
		{"r:shf.l.wrap.b32 %r0, %rA, %rB, %rC;", 0x80000000, 1, 1, 3},
		{"r:shf.r.clamp.b32 %r0, %rA, %rB, %rC;", 5, 7, 40, 7},
		{"r:lop3.b32 %r0, %rA, %rB, %rC, 0x96;", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc,
		 0xc33cc33c},
		{"r:bmsk.clamp.b32 %r0, %rA, %rB;", 4, 8, 0, 0xff0},
		{"r:szext.wrap.s32 %r0, %rA, %rB;", 0x80, 8, 0, 0xffffff80},
		{"r:selp.b32 %r0, %rA, %rB, %pC;", 5, 6, 1, 5},
		{"r:slct.s32.s32 %r0, %rA, %rB, %rC;", 5, 6, M32(-1), 6},
		{":mov.b64 %rd0, {%rA, %rB};", 5, 6, 0, (6ull << 32) + 5},
		{"r:mov.b64 {%r1, %r0}, %rdA;", 9ull << 32, 0, 0, 9},
		{"r:mov.b32 %r0, {%hA, %hB};", 5, 6, 0, 0x60005},
		{"h:mov.b64 {%h1, %h2, %h0, _}, %rdA;", 9ull << 32, 0, 0, 9},
		{"r:mov.u32 %r0, WARP_SZ;", 0, 0, 0, 32},
		{"r:mov.u32 %r0, %ntid.x;", 0, 0, 0, 1},
		{"p:mov.u64 %rd1, %clock64; setp.ne.u64 %p0, %rd1, 0;", 0, 0, 0, 1},
		{"p:mov.u64 %rd1, %globaltimer; setp.gt.u64 %p0, %rd1, 1000000000000;", 0, 0, 0, 1},
	};

	CHECK(rows);
}

static uint64_t f32(float v)
{
	uint32_t b;

	memcpy(&b, &v, 4);
	return b;
}

static uint64_t f64(double v)
{
	uint64_t b;

	memcpy(&b, &v, 8);
	return b;
}

#define NAN32 0x7fffffffull

Test(instructions, floating)
{
	const struct row rows[] = {
		{"f:add.f32 %f0, %fA, %fB;", f32(1), f32(2), 0, f32(3)},
		{"f:add.rz.f32 %f0, %fA, %fB;", f32(1), f32(0x1p-24f + 0x1p-30f), 0, f32(1)},
		{"f:add.rp.f32 %f0, %fA, %fB;", f32(1), f32(0x1p-40f), 0, 0x3f800001},
		{"d:add.rm.f64 %d0, %dA, %dB;", f64(1), f64(-0x1p-80), 0,
		 f64(0x1.fffffffffffffp-1)},
		{"f:sub.f32 %f0, %fA, %fB;", f32(INFINITY), f32(INFINITY), 0, NAN32},
		{"f:mul.f32 %f0, %fA, %fB;", f32(0x1p-126f), f32(0.5f), 0, f32(0x1p-127f)},
		{"f:mul.ftz.f32 %f0, %fA, %fB;", f32(0x1p-126f), f32(-0.5f), 0, f32(-0.0f)},
		{"f:add.ftz.f32 %f0, %fA, %fB;", f32(0x1p-127f), f32(1), 0, f32(1)},
		{"f:add.sat.f32 %f0, %fA, %fB;", f32(3), f32(1), 0, f32(1)},
		{"f:add.sat.f32 %f0, %fA, %fB;", f32(NAN), f32(1), 0, 0},
		{"f:fma.rn.f32 %f0, %fA, %fB, %fC;", f32(1 + 0x1p-12f), f32(1 + 0x1p-12f),
		 f32(-1 - 0x1p-11f), f32(0x1p-24f)},
		{"d:fma.rn.f64 %d0, %dA, %dB, %dC;", f64(1 + 0x1p-30), f64(1 + 0x1p-30),
		 f64(-1 - 0x1p-29), f64(0x1p-60)},
		{"d:fma.rz.f64 %d0, %dA, %dB, %dC;", f64(1), f64(1), f64(-0x1p-80),
		 f64(0x1.fffffffffffffp-1)},
		{"f:mad.rn.f32 %f0, %fA, %fB, %fC;", f32(2), f32(3), f32(4), f32(10)},
		{"f:div.rn.f32 %f0, %fA, %fB;", f32(1), f32(3), 0, f32(1.0f / 3)},
		{"f:div.rz.f32 %f0, %fA, %fB;", f32(1), f32(3), 0, f32(1.0f / 3) - 1},
		{"f:div.full.f32 %f0, %fA, %fB;", f32(1), f32(4), 0, f32(0.25f)},
		{"d:div.rn.f64 %d0, %dA, %dB;", f64(1), f64(0), 0, f64(INFINITY)},
		{"f:sqrt.rn.f32 %f0, %fA;", f32(2), 0, 0, f32(sqrtf(2))},
		{"f:sqrt.rn.f32 %f0, %fA;", f32(-2), 0, 0, NAN32},
		{"f:sqrt.rp.f32 %f0, %fA;", f32(3), 0, 0, f32(sqrtf(3)) + (sqrtf(3) < sqrt(3))},
		{"d:rcp.rn.f64 %d0, %dA;", f64(3), 0, 0, f64(1.0 / 3)},
		{"d:rcp.approx.ftz.f64 %d0, %dA;", f64(3), 0, 0,
		 f64(1.0 / 3) & 0xffffffff00000000ull},
		{"f:rsqrt.approx.f32 %f0, %fA;", f32(4), 0, 0, f32(0.5f)},
		{"f:ex2.approx.f32 %f0, %fA;", f32(3), 0, 0, f32(8)},
		{"f:ex2.approx.ftz.f32 %f0, %fA;", f32(-127), 0, 0, 0},
		{"f:lg2.approx.f32 %f0, %fA;", f32(8), 0, 0, f32(3)},
		{"f:lg2.approx.f32 %f0, %fA;", f32(-1), 0, 0, NAN32},
		{"f:sin.approx.f32 %f0, %fA;", f32(0), 0, 0, 0},
		{"f:cos.approx.f32 %f0, %fA;", f32(0), 0, 0, f32(1)},
		{"f:tanh.approx.f32 %f0, %fA;", f32(100), 0, 0, f32(1)},
		{"f:min.f32 %f0, %fA, %fB;", f32(NAN), f32(2), 0, f32(2)},
		{"f:min.NaN.f32 %f0, %fA, %fB;", f32(NAN), f32(2), 0, NAN32},
		{"f:min.f32 %f0, %fA, %fB;", 0, f32(-0.0f), 0, f32(-0.0f)},
		{"d:max.f64 %d0, %dA, %dB;", f64(-0.0), 0, 0, 0},
		{"f:max.f32 %f0, %fA, %fB, %fC;", f32(1), f32(5), f32(3), f32(5)},
		{"f:abs.f32 %f0, %fA;", f32(-2), 0, 0, f32(2)},
		{"d:neg.f64 %d0, %dA;", f64(2), 0, 0, f64(-2)},
		{"f:copysign.f32 %f0, %fA, %fB;", f32(-1), f32(7), 0, f32(-7)},
		{"p:testp.infinite.f32 %p0, %fA;", f32(INFINITY), 0, 0, 1},
		{"p:testp.subnormal.f64 %p0, %dA;", f64(0x1p-1040), 0, 0, 1},
		{"f:mov.f32 %f0, 0f3F800000;", 0, 0, 0, f32(1)},
		{"d:mov.f64 %d0, 0d4000000000000000;", 0, 0, 0, f64(2)},
	};

	CHECK(rows);
}

Test(instructions, halves)
{
	static const struct row rows[] = {
		{"h:add.f16 %h0, %hA, %hB;", 0x3c00, 0x3c00, 0, 0x4000},
		{"h:mul.f16 %h0, %hA, %hB;", 0x7bff, 0x4000, 0, 0x7c00},
		{"h:fma.rn.f16 %h0, %hA, %hB, %hC;", 0x3c01, 0x3c01, 0xbc02, 0x0010},
		{"h:fma.rn.bf16 %h0, %hA, %hB, %hC;", 0x3f80, 0x4000, 0x3f80, 0x4040},
		{"r:add.f16x2 %r0, %rA, %rB;", 0x3c004000, 0x3c003c00, 0, 0x40004200},
		{"r:fma.rn.bf16x2 %r0, %rA, %rB, %rC;", 0x3f804000, 0x40003f80, 0, 0x40004000},
		{"h:neg.f16 %h0, %hA;", 0x3c00, 0, 0, 0xbc00},
		{"h:max.NaN.f16 %h0, %hA, %hB;", 0x3c00, 0x7e00, 0, 0x7fff},
		{"h:ex2.approx.f16 %h0, %hA;", 0x4000, 0, 0, 0x4400},
		{"p:setp.lt.f16 %p0, %hA, %hB;", 0x3c00, 0x4000, 0, 1},
		{"p:setp.gt.bf16 %p0, %hA, %hB;", 0x3f80, 0xbf80, 0, 1},
		{"h:set.eq.f16.f16 %h0, %hA, %hB;", 0x3c00, 0x3c00, 0, 0x3c00},
		{"f:cvt.f32.f16 %f0, %hA;", 0x0001, 0, 0, 0x33800000},
		{"h:cvt.rn.f16.f32 %h0, %fA;", 0x33000000, 0, 0, 0x0000},
		{"h:cvt.rn.f16.f32 %h0, %fA;", 0x33000001, 0, 0, 0x0001},
		{"h:cvt.rz.f16.f32 %h0, %fA;", 0x477fffff, 0, 0, 0x7bff},
		{"h:cvt.rn.f16.f32 %h0, %fA;", 0x477fffff, 0, 0, 0x7c00},
		{"h:cvt.rn.bf16.f32 %h0, %fA;", 0x3f808000, 0, 0, 0x3f80},
		{"h:cvt.rn.bf16.f32 %h0, %fA;", 0x3f818000, 0, 0, 0x3f82},
		{"h:cvt.rz.bf16.f32 %h0, %fA;", 0x3f81ffff, 0, 0, 0x3f81},
		{"r:cvt.rn.f16x2.f32 %r0, %fA, %fB;", 0x3f800000, 0x40000000, 0, 0x3c004000},
		{"h:cvt.rn.f16.s32 %h0, %rA;", 2049, 0, 0, 0x6800},
		{"h:cvt.rni.f16.f16 %h0, %hA;", 0x3e00, 0, 0, 0x4000},
	};

	CHECK(rows);
}

Test(instructions, compare)
{
	const struct row rows[] = {
		{"p:setp.lt.s32 %p0, %rA, %rB;", M32(-1), 1, 0, 1},
		{"p:setp.lt.u32 %p0, %rA, %rB;", M32(-1), 1, 0, 0},
		{"p:setp.lo.u32 %p0, %rA, %rB;", 1, 2, 0, 1},
		{"p:setp.ne.f32 %p0, %fA, %fB;", f32(NAN), f32(1), 0, 0},
		{"p:setp.neu.f32 %p0, %fA, %fB;", f32(NAN), f32(1), 0, 1},
		{"p:setp.geu.f64 %p0, %dA, %dB;", f64(1), f64(2), 0, 0},
		{"p:setp.equ.f64 %p0, %dA, %dB;", f64(NAN), f64(2), 0, 1},
		{"p:setp.num.f32 %p0, %fA, %fB;", f32(1), f32(2), 0, 1},
		{"p:setp.nan.f32 %p0, %fA, %fB;", f32(1), f32(NAN), 0, 1},
		{"p:setp.eq.ftz.f32 %p0, %fA, %fB;", f32(0x1p-130f), f32(0), 0, 1},
		{"p:setp.eq.and.s32 %p0, %rA, %rB, %pC;", 1, 1, 0, 0},
		{"p:setp.eq.and.s32 %p0, %rA, %rB, !%pC;", 1, 1, 0, 1},
		{"p:setp.eq.xor.s32 %p0|%p1, %rA, %rB, %pC;", 1, 1, 1, 0},
		{"p:setp.eq.or.s32 %p1|%p0, %rA, %rB, %pC;", 1, 1, 0, 0},
		{"p:setp.eq.s32 %p1|%p0, %rA, %rB;", 1, 2, 0, 1},
		{"r:set.lt.u32.s32 %r0, %rA, %rB;", 1, 2, 0, 0xffffffff},
		{"f:set.lt.f32.f32 %f0, %fA, %fB;", f32(1), f32(2), 0, f32(1)},
		{"r:mov.u32 %r0, 1; @%pA mov.u32 %r0, 2;", 1, 0, 0, 2},
		{"r:mov.u32 %r0, 1; @!%pA mov.u32 %r0, 2;", 1, 0, 0, 1},
	};

	CHECK(rows);
}

Test(instructions, convert)
{
	const struct row rows[] = {
		{":cvt.s64.s8 %rd0, %rdA;", 0x1ff, 0, 0, M64(-1)},
		{":cvt.s64.s32 %rd0, %rA;", M32(-5), 0, 0, M64(-5)},
		{"r:cvt.s32.s16 %r0, %hA;", 0x8000, 0, 0, 0xffff8000},
		{"r:cvt.u32.u8 %r0, %rA;", 0x1ff, 0, 0, 0xff},
		{"h:cvt.u16.u8 %h0, %hA;", 0x1ff, 0, 0, 0xff},
		{"r:cvt.sat.u8.s32 %r0, %rA;", 300, 0, 0, 255},
		{"r:cvt.sat.s8.s32 %r0, %rA;", M32(-300), 0, 0, M32(-128)},
		{"r:cvt.sat.s32.u32 %r0, %rA;", 0xf0000000, 0, 0, 0x7fffffff},
		{"r:cvt.sat.u32.s64 %r0, %rdA;", M64(-3), 0, 0, 0},
		{"r:cvt.rzi.s32.f32 %r0, %fA;", f32(-2.9f), 0, 0, M32(-2)},
		{"r:cvt.rni.s32.f32 %r0, %fA;", f32(2.5f), 0, 0, 2},
		{"r:cvt.rmi.s32.f32 %r0, %fA;", f32(-2.1f), 0, 0, M32(-3)},
		{"r:cvt.rpi.s32.f32 %r0, %fA;", f32(2.1f), 0, 0, 3},
		{"r:cvt.rzi.u32.f32 %r0, %fA;", f32(-2.1f), 0, 0, 0},
		{"r:cvt.rzi.s32.f32 %r0, %fA;", f32(1e20f), 0, 0, 0x7fffffff},
		{"r:cvt.rzi.s32.f32 %r0, %fA;", f32(NAN), 0, 0, 0},
		{":cvt.rzi.s64.f64 %rd0, %dA;", f64(NAN), 0, 0, 1ull << 63},
		{":cvt.rzi.u64.f64 %rd0, %dA;", f64(1.8e19), 0, 0, 18000000000000000000ull},
		{"f:cvt.rn.f32.u64 %f0, %rdA;", UINT64_MAX, 0, 0, f32(0x1p64f)},
		{"f:cvt.rz.f32.u64 %f0, %rdA;", UINT64_MAX, 0, 0, 0x5f7fffff},
		{"f:cvt.rm.f32.s32 %f0, %rA;", 16777217, 0, 0, f32(16777216)},
		{"f:cvt.rp.f32.s32 %f0, %rA;", 16777217, 0, 0, f32(16777218)},
		{"d:cvt.rn.f64.s64 %d0, %rdA;", M64(-3), 0, 0, f64(-3)},
		{"d:cvt.f64.f32 %d0, %fA;", f32(0.1f), 0, 0, f64(0.1f)},
		{"f:cvt.rn.f32.f64 %f0, %dA;", f64(0.1), 0, 0, f32(0.1f)},
		{"f:cvt.rp.f32.f64 %f0, %dA;", f64(1 + 0x1p-40), 0, 0, 0x3f800001},
		{"f:cvt.rni.f32.f32 %f0, %fA;", f32(2.5f), 0, 0, f32(2)},
		{"f:cvt.rzi.f32.f32 %f0, %fA;", f32(-0.5f), 0, 0, f32(-0.0f)},
		{"d:cvt.rpi.f64.f64 %d0, %dA;", f64(2.1), 0, 0, f64(3)},
		{"f:cvt.sat.f32.f32 %f0, %fA;", f32(1.5f), 0, 0, f32(1)},
		{"f:cvt.ftz.f32.f32 %f0, %fA;", f32(0x1p-130f), 0, 0, 0},
	};

	CHECK(rows);
}
