/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a text, compared: what code does is what the machine does, to the bit. */
#ifndef BRAZE_TEST_LANG_SAME_H
#define BRAZE_TEST_LANG_SAME_H

#include "lang_code.h"

#define N 64 /* pairs of operands */

/* Numbers at the edges and in the middle, as each type has them. */
static inline void fill(char *at, unsigned type, unsigned salt)
{
	static const double some[] = {0,      -0.0, 1,	     -1,    2,	  3,	  7,
				      0.5,    -2.5, 1e9,     -1e9,  3e38, 1e300,  -1e-300,
				      5e-324, 1e18, -9.3e18, 127.5, 255,  65535.9};
	const struct dtype_row *row = dtype_row(type);
	uint64_t seed = salt * 0x9e3779b97f4a7c15u + 1;

	for (unsigned i = 0; i < N; i++) {
		double v = some[(i * (salt ? 7 : 1) + salt) % (sizeof some / sizeof *some)];
		uint64_t bits[2]; /* of a complex128 the second is its imaginary part */
		float f = (float)v;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		bits[0] = i % 3 ? seed : (i & 64 ? 0 : i % 5 - 2ull);
		memcpy(&bits[1], &v, 8);
		if (row->cls == CLASS_BOOL)
			at[i] = (char)(seed >> 9 & 1);
		else if (type == DT_FLOAT32)
			memcpy(at + 4 * i, &f, 4);
		else if (type == DT_FLOAT64)
			memcpy(at + 8 * i, i % 17 == 5 ? &(double){__builtin_nan("")} : &v, 8);
		else
			memcpy(at + row->bytes * i, bits, row->bytes);
	}
}

struct run {
	struct lang_array array[LANG_PARAMS];
	union lang_reg result[LANG_PARAMS];
	char *memory;
	size_t bytes;
};

/* Arrays of N elements of each parameter, `gap` elements apart. */
static inline struct run prepare(const struct lang_kernel *k, int gap)
{
	const struct lang_program *p = lang_program_of(k);
	struct run r = {.bytes = (size_t)p->nparam * N * 16 * (size_t)gap};

	r.memory = calloc(1, r.bytes + 16);
	for (unsigned i = 0, a = 0; i < p->nparam; i++) {
		unsigned bytes = dtype_row(p->param[i].type)->bytes;
		char *at = r.memory + (size_t)i * N * 16 * (size_t)gap;
		char packed[N * 16];

		if (!p->param[i].rank)
			continue;
		fill(packed, p->param[i].type, a);
		for (unsigned e = 0; e < N; e++)
			memcpy(at + (size_t)e * bytes * (size_t)gap, packed + e * bytes, bytes);
		r.array[a++] = (struct lang_array){
			.at = at,
			.shape = {.ndim = 1, .dim = {N}},
			.stride = {(int64_t)bytes * gap},
		};
	}
	return r;
}

/* What the kernel does is what the machine has done: words, memory and results. */
static inline void as_machine(struct lang_kernel *k, const char *text, int gap, const char *way,
			      const struct run *one, const struct err *e1)
{
	struct run two = prepare(k, gap);
	struct err e2 = {0};
	union lang_reg scalar[LANG_PARAMS] = {{.i = 5}, {.i = -3}};

	cr_expect_eq(lang_run(k, two.array, scalar, two.result, NULL, NULL, &e2), e1->code,
		     "%s: %s\n%s", way, e2.text, text);
	cr_expect_str_eq(e1->text, e2.text);
	for (size_t i = 0; i < one->bytes; i++)
		if (one->memory[i] != two.memory[i]) {
			size_t parameter = i / (N * 16 * (size_t)gap);

			cr_expect(false,
				  "%s: parameter '%s' differs at byte %zu: %02x, not %02x\n%s", way,
				  lang_program_of(k)->param[parameter].name,
				  i % (N * 16 * (size_t)gap), (unsigned char)two.memory[i],
				  (unsigned char)one->memory[i], text);
			break;
		}
	for (unsigned i = 0; !e1->code && i < lang_program_of(k)->nresult; i++) {
		unsigned type = lang_program_of(k)->param[lang_program_of(k)->nparam + i].type;

		cr_expect(!memcmp(&one->result[i], &two.result[i], dtype_row(type)->bytes),
			  "%s: result %u\n%s", way, i, text);
	}
	free(two.memory);
	lang_unlink(k);
}

/* By the machine, by code that is made at once, and by a compiler's. */
static inline void same_by(void *object, const char *text, int gap)
{
	struct lang_kernel *k = machine(text), *compiled = machine(text);
	struct run one = prepare(k, gap);
	struct err err = {0};
	union lang_reg scalar[LANG_PARAMS] = {{.i = 5}, {.i = -3}};

	cr_expect_eq(lang_run(k, one.array, scalar, one.result, NULL, NULL, &err), err.code);
	attach(compiled, object);
	as_machine(compiled, text, gap, "compiler", &one, &err);
	as_machine(quickened(text), text, gap, "at once", &one, &err);
	free(one.memory);
	lang_unlink(k);
}

static inline void same(const char *text, int gap)
{
	same_by(compile(text), text, gap);
}

/* Of elements that lie closely and of others. */
static inline void same_at(const char *text, int gap)
{
	void *object = compile(text);

	same_by(object, text, 1);
	same_by(object, text, gap);
}

#endif
