/* SPDX-License-Identifier: Apache-2.0 */
/* Code generated of kernels: the machine's results, errors and stops, to the bit; and runs that go
 * over to it in their middle. */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/textbuf.h"
#include "compile/compile.h"
#include "emit/emit_lang.h"
#include "lang/lang_native.h"
#include "lang_same.h"

TestSuite(lang_native, .timeout = 120);

/* ---- Operations ---- */

static bool takes(struct op_sig *sig, unsigned op, unsigned type)
{
	struct op_arg arg[3] = {
		{op == OP_WHERE ? DT_BOOL : (uint8_t)type}, {(uint8_t)type}, {(uint8_t)type}};

	return lang_native_op(op, type) && !op_infer(sig, (enum op)op, arg, DTYPE_END, NULL) &&
	       sig->in[op == OP_WHERE] == type;
}

/* One kernel of a type, with an output for each operation. */
static void put_operations(struct textbuf *head, struct textbuf *body, unsigned type)
{
	const char *name = dtype_row(type)->name;
	struct op_sig sig;

	textbuf_put(head, "kernel f(x: %s[:], y: %s[:], c: bool[:]", name, name);
	for (unsigned op = 0; op < OP_END; op++) {
		if (!takes(&sig, op, type))
			continue;
		textbuf_put(head, ", out o%u: %s[:]", op, dtype_row(sig.out)->name);
		textbuf_put(body, "o%u[i] = %s(%sx[i]%s)\n", op, op_row(op)->numpy,
			    op == OP_WHERE ? "c[i], " : "", op_row(op)->arity > 1 ? ", y[i]" : "");
	}
}

Test(lang_native, operations_have_the_machines_bits)
{
	for (unsigned type = 0; type < DTYPE_END; type++) {
		char heads[8192], bodies[8192], text[sizeof heads + sizeof bodies + 64];
		struct textbuf head = {heads, sizeof heads, 0}, body = {bodies, sizeof bodies, 0};

		if (!dtype_computes(type) || !lang_native_cast(type, DT_INT64))
			continue;
		put_operations(&head, &body, type);
		snprintf(text, sizeof text, "%s) {\nfor i in 0..len(x) {\n%s}\n}", heads, bodies);
		same_at(text, 2);
	}
}

Test(lang_native, casts_have_the_machines_bits)
{
	for (unsigned from = 0; from < DTYPE_END; from++) {
		char heads[2048], bodies[2048], text[8192];
		struct textbuf head = {heads, sizeof heads, 0}, body = {bodies, sizeof bodies, 0};

		if (!dtype_computes(from))
			continue;
		textbuf_put(&head, "kernel f(x: %s[:]", dtype_row(from)->name);
		textbuf_put(&body, "for i in 0..len(x) {\n");
		for (unsigned to = 0; to < DTYPE_END; to++) {
			if (!dtype_computes(to))
				continue;
			textbuf_put(&head, ", out o%u: %s[:]", to, dtype_row(to)->name);
			textbuf_put(&body, "o%u[i] = %s(x[i])\n", to, dtype_row(to)->name);
		}
		snprintf(text, sizeof text, "%s) {\n%s}\n}", heads, bodies);
		same(text, 1);
	}
}

Test(lang_native, what_code_leaves_to_loops_has_their_bits)
{
	same("kernel f(x: float64[:], out y: float64[:], out z: complex128[:], h: float16[:],\n"
	     "         out g: float16[:], out w: complex64[:]) {\n"
	     "for i in 0..len(x) {\n"
	     "y[i] = sin(x[i]) ** 2.5 + fmod(x[i], 3.0) + x[i] // 7.0\n"
	     "z[i] = complex128(x[i]) * 2j + sqrt(complex128(x[i]))\n"
	     "g[i] = h[i] * h[i] + h[0]\n"
	     "w[i] = complex64(x[i]) / (1 + 2j)\n"
	     "if abs(z[i]) > 3.0 and not isnan(x[i]) { y[i] -= 1 }\n"
	     "} }",
	     1);
}

/* ---- The way through a program ---- */

static const char *const programs[] = {
	/* Functions, one in the other; several results; while, break, continue. */
	"fn gcd(a: int64, b: int64) -> int64 {\n"
	"  let x = a; let y = b\n"
	"  while y != 0 { let r = x % y; x = y; y = r }\n"
	"  return x\n}\n"
	"fn both(a: int64) -> float64 { if a > 3 { return float64(gcd(a, 12)) }\n return -1.5 }\n"
	"fn never(a: int64) -> int64 { return gcd(a, a) }\n"
	"kernel f(inout x: int64[:], out y: float64[:], k: int64) -> (s: float64, n: int32) {\n"
	"  for i in 0..len(x) {\n"
	"    if x[i] == 0 { continue }\n"
	"    y[i] = both(x[i] % 40 + k)\n"
	"    for j in i..0 step -3 { s += y[j] * 0.5; if j == 9 { break } }\n"
	"    for j in 0..i step 2 { n += 1; x[-1 - j] += gcd(j, i) }\n"
	"    if n > 700 { break }\n"
	"  }\n"
	"  let t = k\n"
	"  while t > 0 and s < 1e9 { s += both(t); t -= 1 }\n"
	"}",
	/* Counted from 1, and steps that are computed. */
	"kernel f(inout x: float64[:], k: int64, m: int64) -> (s: float64) base 1 {\n"
	"  for i in 1..len(x) + 1 step k { s += x[i]; x[i] = s }\n"
	"  for i in len(x)..1 step m { x[i] -= x[-1] }\n"
	"  for i in 3..-3 step m { x[i + 7] *= 2 }\n"
	"}",
	/* An outer loop in which another begins over and over, and results that begin as 0. */
	"kernel f(inout x: float64[:], inout y: int32[:]) -> (a: int8, b: bool, c: float32) {\n"
	"  for t in 0..5 { for i in 1..len(x) - 1 { x[i] = (x[i - 1] + x[i + 1]) / 2\n"
	"    if y[i] > 100 and x[i] > 0 or b { a += 1; b = not b } }\n"
	"    c += float32(t) }\n"
	"}",
	/* Wrong places: of one axis, counted from the end, from 1; a step of 0. */
	"kernel f(inout x: float64[:]) { for i in 0..len(x) + 1 { x[i] = 1.0 } }",
	"kernel f(inout x: float64[:]) { for i in 0..len(x) + 1 { x[-1 - i] = 2.0 } }",
	"kernel f(inout x: float64[:]) base 1 { for i in 3..-1 step -1 { x[i] = 2.0 } }",
	"kernel f(inout x: float64[:]) base 1 { for i in 3..len(x) + 2 { x[i] = 2.0 } }",
	"kernel f(inout x: float64[:], k: int64) {\n"
	"  x[3] = 1.0\n  for i in 0..9 step k - 5 { x[i] = 7.0 }\n}",
	/* Slices: in step, across each other, of other types, and what all of them sum to. */
	"fn h(a: float64) -> float64 { return a * 0.5 + 1 }\n"
	"kernel f(inout x: float64[:], inout y: int32[:], k: int64, m: int64) -> (s: float64, n: "
	"int64, "
	"b: bool) {\n"
	"  x[:] = h(float64(y[:]))\n"
	"  for i in 0..4 { x[i + 1:] -= x[i] * x[:-1 - i]; x[::m] *= 0.5; x[k:0:-1] += 1 }\n"
	"  y[::-1] ^= y[:] // (y[k] % 7)\n"
	"  for i in 1..9 { s += sum(x[i:] * y[:-i]); n += dot(y[:i], y[-i:])\n"
	"    b = any(x[:i] > s) and not all(y == 0)\n"
	"    if max(y[i:]) < min(y[:i]) { break } }\n"
	"  s += sum(sqrt(abs(x))) + prod(x[:3])\n"
	"}",
	"kernel f(inout x: complex64[:], y: float16[:], inout z: bool[:]) -> (s: complex128, h: "
	"float16) {"
	"\n"
	"  z[:] = float32(y[:]) > 0 & 1\n x[2:] = where(z[2:], x[:-2], complex64(0.5))\n"
	"  x[3:1:-1] += 1\n s = sum(x[5:9]); h = sum(y[8:12]) }",
	/* Their ways to end. */
	"kernel f(inout x: float64[:], k: int64) {\n x[3] = 1.0\n x[k:] += x[k + 1:]\n}",
	"kernel f(inout x: float64[:], k: int64) {\n x[3] = 1.0\n x[::k - 5] = 2.0\n}",
	"kernel f(inout x: float64[:], k: int64) {\n x[3] = 1.0\n x[0] = dot(x[:k], x[k:])\n}",
	"kernel f(inout x: float64[:], k: int64) -> (s: float64) {\n x[3] = 1.0\n s = "
	"max(x[9:k])\n}",
	"fn g(a: int64) -> int64 { let s = 0\n for i in 0..9 step a { s += i }\n return s }\n"
	"kernel f(inout x: int64[:]) {\n x[0] = 3\n  for i in 0..5 { x[i] = g(2 - i) }\n}",
};

Test(lang_native, programs_go_the_machines_way)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		same_at(programs[i], 3);
	}
}

struct visit {
	struct lang_kernel *k;
	void *object;
	int looks, attach_at, stop_at;
};

static int look(void *data)
{
	struct visit *v = data;

	if (++v->looks == v->attach_at)
		attach(v->k, v->object);
	return v->looks == v->stop_at;
}

static const char sums[] =
	"kernel f(inout x: float64[:], k: int64) -> (s: float64, n: int64) {\n"
	"  let w = 1.5\n"
	"  for t in 0..k { for i in 0..len(x) { x[i] += 1 / (w + float64(t)); n += 1 }\n"
	"    w += 0.25 }\n"
	"  for t in k..0 step -2 { let i = 0\n while i < len(x) { s += x[i] * w; i += 1 }\n w -= "
	"x[0] }\n"
	"  while n > 0 { n -= 3; for i in 0..5 { s -= x[i] } }\n"
	"}";

Test(lang_native, a_run_goes_over_in_its_middle)
{
	void *object = compile(sums);
	union lang_reg scalar = {.i = 900};
	struct lang_kernel *k = machine(sums);
	struct run want = prepare(k, 1);
	struct visit whole = {0};

	cr_assert(!lang_run(k, want.array, &scalar, want.result, look, &whole, NULL));
	cr_assert_gt(whole.looks, 20);
	for (int at = 1; at <= 2 * whole.looks; at++) {
		struct visit v = {.k = at > whole.looks ? quickened(sums) : machine(sums),
				  .object = object,
				  .attach_at = (at - 1) % whole.looks + 1};
		struct run got = prepare(v.k, 1);

		cr_assert(!lang_attached(v.k));
		cr_assert(!lang_run(v.k, got.array, &scalar, got.result, look, &v, NULL));
		cr_assert(lang_attached(v.k));
		cr_expect(!memcmp(want.memory, got.memory, want.bytes), "over at look %d", at);
		cr_expect(!memcmp(want.result, got.result, 2 * sizeof *got.result),
			  "over at look %d: %g, not %g", at, got.result[0].f, want.result[0].f);
		free(got.memory);
		lang_unlink(v.k);
	}
	free(want.memory);
	lang_unlink(k);
}

Test(lang_native, code_is_stopped_and_says_where)
{
	static const char *const endless[] = {
		"kernel f() -> (n: int64) {\n while true {\n  n += 1\n }\n}",
		"fn g(a: int64) -> int64 { let n = a\n while true { n += 1 }\n return n }\n"
		"kernel f() -> (n: int64) {\n n = g(2)\n}",
	};

	for (int i = 0; i < 2; i++) {
		struct visit v = {.k = machine(endless[i]), .stop_at = 3};
		struct err e1 = {0}, e2 = {0};
		union lang_reg result;

		cr_assert_eq(lang_run(v.k, NULL, NULL, &result, look, &v, &e1), E_CANCELLED);
		lang_quicken(v.k);
		for (int way = 0; way < 2; way++) {
			v.looks = 0;
			cr_assert_eq(lang_run(v.k, NULL, NULL, &result, look, &v, &e2),
				     E_CANCELLED);
			cr_expect_eq(v.looks, 3);
			cr_expect_str_eq(e1.text, e2.text);
			attach(v.k, compile(endless[i]));
		}
		lang_unlink(v.k);
	}
}

/* The frame as generated code has it, field by field: a kernel tells where each lies. */
Test(lang_native, the_frame_is_the_generated_ones)
{
	extern const char kernel_text_native_h[], kernel_text_native_math_h[], kernel_text_lang_h[];
	char source[65536];
	char folder[] = "/tmp/braze-test-XXXXXX", command[256];
	FILE *f;

	cr_assert(mkdtemp(folder));
	snprintf(command, sizeof command, "%s/f.c", folder);
	f = fopen(command, "w");
	cr_assert(f);
	snprintf(source, sizeof source,
		 "_Static_assert(sizeof(struct bz_frame) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, array) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, apply) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, poll) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, at) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, axis) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, step) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, block) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, share) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, least) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_block, n) == %zu &&\n"
		 "  __builtin_offsetof(struct bz_frame, index) == %zu && BZ_TURNS == %d, \"\");\n",
		 sizeof(struct lang_frame), offsetof(struct lang_frame, array),
		 offsetof(struct lang_frame, apply), offsetof(struct lang_frame, poll),
		 offsetof(struct lang_frame, at), offsetof(struct lang_frame, axis),
		 offsetof(struct lang_frame, step), offsetof(struct lang_frame, block),
		 offsetof(struct lang_frame, share), offsetof(struct lang_frame, least),
		 offsetof(struct lang_block, n), offsetof(struct lang_frame, index), LANG_TURNS);
	fputs(kernel_text_native_h, f);
	fputs(kernel_text_native_math_h, f);
	fputs(kernel_text_lang_h, f);
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof command, "cc -w -msse4.2 -fsyntax-only %s/f.c", folder);
	cr_expect_eq(system(command), 0);
	snprintf(command, sizeof command, "rm -r %s", folder);
	cr_expect_eq(system(command), 0);
}
