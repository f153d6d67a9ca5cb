/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels from text: what they compute, and each way in which a text, an index or a loop is
 * wrong. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"

static enum status make(struct lang_kernel **out, const char *text, size_t n, struct err *err)
{
	const struct tier0_isa *isa = tier0_table(isa_best());
	struct lang_program *program = NULL;
	struct lang_tree *tree = NULL;
	enum status st = lang_parse(&tree, text, n, err);

	if (!st)
		st = lang_check(&program, tree, err);
	free(tree);
	/* No wide loops: those of the table do all types. */
	static const struct tier0_isa none;
	if (!st)
		st = lang_link(out, program, isa, &none, err);
	return st;
}

static struct lang_kernel *kernel(const char *text)
{
	struct lang_kernel *k = NULL;
	struct err err = {0};

	cr_assert(!make(&k, text, strlen(text), &err), "%s\n%s", err.text, text);
	return k;
}

static struct lang_array row(void *at, int64_t n, int64_t stride)
{
	return (struct lang_array){.at = at, .shape = {.ndim = 1, .dim = {n}}, .stride = {stride}};
}

Test(lang, sums_products_and_results)
{
	struct lang_kernel *k =
		kernel("kernel f(x: float64[:], a: float64) -> (s: float64, n: int64) "
		       "{\n for i in 0..len(x) { s += a * x[i]; n += 1 }\n}");
	double x[] = {1, 2, 3, 4};
	struct lang_array array = row(x, 4, 8), back = row(&x[3], 2, -16);
	union lang_reg scalar = {.f = 0.5}, result[2];

	cr_assert(!lang_run(k, &array, &scalar, result, NULL, NULL, NULL));
	cr_assert(result[0].f == 5 && result[1].i == 4);
	cr_assert(!lang_run(k, &back, &scalar, result, NULL, NULL, NULL));
	cr_assert(result[0].f == 3 && result[1].i == 2);
	lang_unlink(k);
}

Test(lang, integers_wrap_and_divide_as_numpys)
{
	struct lang_kernel *k = kernel(
		"kernel f(a: int8, b: int8) -> (s: int8, p: int8, q: int8, r: int8, w: uint64)\n"
		"{ s = a + b; p = a * b; q = a // b; r = a % b; w -= 1 }");
	static const int8_t cases[][6] = {
		{127, 1, -128, 127, 127, 0}, {-7, 2, -5, -14, -4, 1}, {5, 0, 5, 0, 0, 0}};

	for (size_t c = 0; c < 3; c++) {
		union lang_reg scalar[2] = {{.byte = {cases[c][0]}}, {.byte = {cases[c][1]}}};
		union lang_reg result[5];

		cr_assert(!lang_run(k, NULL, scalar, result, NULL, NULL, NULL));
		for (int i = 0; i < 4; i++)
			cr_assert((int8_t)result[i].byte[0] == cases[c][2 + i], "case %zu, %d: %d",
				  c, i, result[i].byte[0]);
		cr_assert(result[4].bits[0] == UINT64_MAX);
	}
	lang_unlink(k);
}

static int64_t number(const char *text)
{
	struct lang_kernel *k = kernel(text);
	union lang_reg result = {.i = -99};
	struct err err = {0};

	cr_assert(!lang_run(k, NULL, NULL, &result, NULL, NULL, &err), "%s", err.text);
	lang_unlink(k);
	return result.i;
}

Test(lang, statements)
{
	cr_assert(number("kernel f() -> (n: int64) { for i in 0..10 { if i == 7 { break }\n"
			 "if i % 2 == 1 { continue }\n n += i } }") == 12);
	cr_assert(
		number("kernel f() -> (n: int64) { let i = 9; while i > 0 { i -= 2; n += 1 } }") ==
		5);
	cr_assert(number("kernel f() -> (n: int64) {\nif false { n = 1 }\nelif not true { n = 2 }\n"
			 "elif 1 < 2 and 2 < 1 or true { n = 3 }\nelse { n = 4 }\n}") == 3);
	cr_assert(
		number("kernel f() -> (n: int64) { for i in 5..-5 step -3 { n = n * 10 + i } }") ==
		((5 * 10 + 2) * 10 - 1) * 10 - 4);
	cr_assert(number("kernel f() -> (n: int64) { n = -2 ** 2 + 2 ** 3 ** 2 // 1 }") == 508);
	cr_assert(number("kernel f() -> (n: int64) { n = 1 | 6 & 3 << 1 ^ 0x10 }") == 23);
	cr_assert(number("fn a(x: int64) -> int64 { if x > 3 { return x } else { return 3 } }\n"
			 "fn b(x: int64) -> int64 { return a(x) + a(x + 1) }\n"
			 "kernel f() -> (n: int64) { n = b(3) * 10 + b(b(5)) }") == 93);
}

Test(lang, indices_of_either_base)
{
	static const struct {
		int base;
		int64_t index;
		int at; /* -1: wrong */
	} cases[] = {{0, 0, 0},	  {0, 2, 2},   {0, 3, -1},	   {0, -1, 2},	      {0, -3, 0},
		     {0, -4, -1}, {1, 1, 0},   {1, 3, 2},	   {1, 0, -1},	      {1, 4, -1},
		     {1, -1, 2},  {1, -4, -1}, {0, INT64_MIN, -1}, {1, INT64_MAX, -1}};

	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct lang_kernel *k = kernel(
			cases[c].base ? "kernel f(out x: int16[:], i: int64) base 1 { x[i] = 5 }"
				      : "kernel f(out x: int16[:], i: int64) base 0 { x[i] = 5 }");
		int16_t x[3] = {0};
		struct lang_array array = row(x, 3, 2);
		union lang_reg i = {.i = cases[c].index};
		struct err err = {0};
		enum status st = lang_run(k, &array, &i, NULL, NULL, NULL, &err);

		cr_assert(st == (cases[c].at < 0 ? E_INDEX : OK), "case %zu: %s", c, err.text);
		for (int j = 0; j < 3; j++)
			cr_assert(x[j] == (j == cases[c].at ? 5 : 0), "case %zu", c);
		lang_unlink(k);
	}
}

Test(lang, a_wrong_index_is_named)
{
	struct lang_kernel *k = kernel("kernel fill(out x: float64[:]) {\n\nlet i = 0\n"
				       "while true { x[i] = 1; i += 1 }\n}");
	double x[3] = {0};
	struct lang_array array = row(x, 2, 8);
	struct err err = {0};

	cr_assert(lang_run(k, &array, NULL, NULL, NULL, NULL, &err) == E_INDEX);
	cr_assert_str_eq(err.text, "kernel 'fill', line 4: index 2 is out of bounds for axis 0 of "
				   "'x' with size 2");
	cr_assert(x[0] == 1 && x[1] == 1 && x[2] == 0);
	lang_unlink(k);
}

static int stop_at_third(void *count)
{
	return ++*(int *)count == 3;
}

Test(lang, an_endless_loop_is_stopped)
{
	static const char *const texts[] = {"kernel f() { while true { } }",
					    "kernel f() { for i in 0..1 << 62 { continue } }"};

	for (int t = 0; t < 2; t++) {
		struct lang_kernel *k = kernel(texts[t]);
		struct err err = {0};
		int count = 0;

		cr_assert(lang_run(k, NULL, NULL, NULL, stop_at_third, &count, &err) ==
			  E_CANCELLED);
		cr_assert(count == 3);
		lang_unlink(k);
	}
}

Test(lang, a_step_of_zero)
{
	struct lang_kernel *k = kernel("kernel f() { for i in 0..3 step 1 - 1 { } }");
	struct err err = {0};

	cr_assert(lang_run(k, NULL, NULL, NULL, NULL, NULL, &err) == E_INVALID);
	cr_assert(strstr(err.text, "step is 0"));
	lang_unlink(k);
}

static const struct {
	const char *text;
	enum status code;
	const char *message;
} refused[] = {
	{"", E_INVALID, "line 1, column 1: a kernel is wanted"},
	{"kernel f() {\n  let a = $\n}", E_INVALID, "line 2, column 11: '$' begins nothing"},
	{"kernel f() { let \xc3\xa9 = 1 }", E_INVALID, "column 18: byte 0xc3"},
	{"kernel f() { let a = 9223372036854775808 }", E_INVALID, "does not fit int64"},
	{"kernel f() { let a = 1x }", E_INVALID, "ends in letters"},
	{"kernel f() { let a = 0x }", E_INVALID, "digits are missing"},
	{"kernel f() { let a = }", E_INVALID, "an expression is wanted, not '}'"},
	{"kernel f() { let a = (1 }", E_INVALID, "a ')' is wanted"},
	{"kernel f() { let for = 1 }", E_INVALID, "name of a variable"},
	{"kernel f() { 1 = 2 }", E_INVALID, "an expression is wanted, not '1'"},
	{"kernel f() { sin(2) }", E_INVALID, "a call alone does nothing"},
	{"kernel f() { let a = 1 let b = 2 }", E_INVALID, "the end of the line"},
	{"kernel f() {", E_INVALID, "a '}' is wanted, but the text ends here"},
	{"kernel f() { } kernel g() { }", E_INVALID, "one kernel a text"},
	{"kernel f() base 2 { }", E_INVALID, "0 or 1"},
	{"kernel f(x: float) { }", E_INVALID, "a type as float64"},
	{"kernel f(x: int64[:,:,:,:,:,:,:,:,:]) { }", E_INVALID, "at most 8 axes"},
	{"kernel f(x: int64, x: int64) { }", E_INVALID, "there is a 'x' already"},
	{"kernel f(out x: int64) { }", E_INVALID, "is a result"},
	{"kernel f() -> (s: int64[:]) { }", E_INVALID, "a result is a scalar"},
	{"kernel f() { y = 1 }", E_INVALID, "there is no 'y' here"},
	{"kernel f() { let y = z }", E_INVALID, "there is no 'z' here"},
	{"kernel f() { if true { let a = 1 }\na = 2 }", E_INVALID, "line 2, column 1"},
	{"kernel f() { for i in 0..3 { i = 1 } }", E_INVALID, "counts the loop"},
	{"kernel f() { for i in 0..1.5 { } }", E_DTYPE, "a bound is an integer"},
	{"kernel f(n: uint64) { for i in 0..n { } }", E_DTYPE, "not uint64"},
	{"kernel f(x: int64[:], n: uint64) { let a = x[n] }", E_DTYPE, "not uint64"},
	{"kernel f() { let a = 2 ** -1 }", E_INVALID, "no negative powers"},
	{"kernel f() { break }", E_INVALID, "break stands in no loop"},
	{"kernel f() { return 1 }", E_INVALID, "a kernel returns nothing"},
	{"kernel f(x: int64[:]) { x[0] = 1 }", E_READONLY, "'x' is only read"},
	{"kernel f(x: int64[:]) { let a = x }", E_INVALID, "'x' is an array"},
	{"kernel f(out x: int64[:]) { x = 1 }", E_INVALID, "assign to its elements"},
	{"kernel f(x: int64[:]) { x[:] = 1 }", E_READONLY, "'x' is only read"},
	{"kernel f(out x: int64[:]) { x[0:, 1] = 1 }", E_INVALID, "1 axes, not 2 indices"},
	{"kernel f(out x: int64[:]) { x[0.5:] = 1 }", E_DTYPE, "an index is an integer"},
	{"kernel f(out x: int64[:], n: uint64) { x[:n] = 1 }", E_DTYPE, "not uint64"},
	{"kernel f(out x: int64[:]) { x[::1:] = 1 }", E_INVALID, "the ']' of an index"},
	{"kernel f(out x: int64[:]) { x[:] = 0.5 }", E_CAST, "write int64(...)"},
	{"kernel f(out x: int8[:]) { x[:] += 128 }", E_OVERFLOW, "128 does not fit"},
	{"kernel f(x: int64[:]) { let a = x[:] }", E_SHAPE, "many elements"},
	{"kernel f(x: int64[:]) { let a = sin(x[:]) }", E_SHAPE, "many elements"},
	{"kernel f(x: int64[:]) { let a = sum(x[:], 1) }", E_INVALID, "takes 1 arguments"},
	{"kernel f(x: int64[:]) { let a = sum(x[0]) }", E_SHAPE, "arrays or slices"},
	{"kernel f(x: int64[:,:]) { let a = dot(x, x) }", E_SHAPE, "one axis each"},
	{"kernel f(x: int64[:]) { let a = sum(x and x) }", E_SHAPE, "write logical_and"},
	{"kernel f(x: complex64[:]) { let a = min(x) }", E_UNSUPPORTED, "complex numbers"},
	{"kernel f(out x: int64[:], y: int64[:,:]) { x[:] += y[:,:] }", E_SHAPE,
	 "2 axes does not go into one of 1"},
	{"kernel f(x: int64[:]) { let a = x[0, 1] }", E_INVALID, "1 axes, not 2 indices"},
	{"kernel f(x: int64[:]) { let a = x[0.5] }", E_DTYPE, "an index is an integer"},
	{"kernel f(x: int64[:]) { let a = len(x, 1) }", E_INVALID, "len takes an array"},
	{"kernel f() { let a = len() }", E_INVALID, "len takes an array"},
	{"kernel f() { let a = sin() }", E_INVALID, "'sin' takes 1 arguments"},
	{"kernel f() { let a = sine(1) }", E_INVALID, "no function 'sine'"},
	{"kernel f() { let a = 1; a = 1.5 }", E_CAST, "write int64(...)"},
	{"kernel f(a: uint8) -> (b: uint8) { b = a + 256 }", E_OVERFLOW, "256 does not fit"},
	{"kernel f(a: float64) { let b = a & 1 }", E_DTYPE, "line 1, column 34"},
	{"kernel f(a: complex128) { let b = a // 1 }", E_DTYPE, "floor_divide"},
	{"kernel f() { let a = 1 < 2 < 3 }", E_INVALID, "one comparison at a time"},
	{"fn f(x: int64) -> int64 { return f(x) }\nkernel k() { }", E_INVALID, "no function"},
	{"fn f() -> int64 { if true { return 1 } }\nkernel k() { }", E_INVALID,
	 "may end without a return"},
	{"fn f(x: int64[:]) -> int64 { return 1 }\nkernel k() { }", E_INVALID,
	 "a function takes scalars"},
	{"fn f() -> int64 { return 1 }\nfn f() -> int64 { return 1 }\nkernel k() { }", E_INVALID,
	 "two functions"},
	{"fn f(x: int64) -> int64 { return x }\nkernel k() { let a = f() }", E_INVALID,
	 "'f' takes 1 arguments"},
	{"kernel f() -> (s: float64) { let s: int64 = 1 }", E_INVALID, "declared as float64"},
};

Test(lang, texts_that_are_refused)
{
	for (size_t c = 0; c < sizeof refused / sizeof refused[0]; c++) {
		struct lang_kernel *k = NULL;
		struct err err = {0};
		enum status st = make(&k, refused[c].text, strlen(refused[c].text), &err);

		cr_assert(st == refused[c].code, "%s: %d, %s", refused[c].text, st, err.text);
		cr_assert(strstr(err.text, refused[c].message), "%s: %s", refused[c].text,
			  err.text);
		cr_assert(!strncmp(err.text, "line ", 5), "%s", err.text);
	}
}

/* text = head, n times part, tail */
static char *repeated(const char *head, const char *part, size_t n, const char *tail)
{
	char *text = malloc(strlen(head) + n * strlen(part) + strlen(tail) + 1), *to = text;

	to = stpcpy(to, head);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, part);
	strcpy(to, tail);
	return text;
}

Test(lang, what_a_text_may_ask_for_is_bounded)
{
	static const struct {
		const char *head, *part, *tail;
		size_t n;
		enum status code;
	} cases[] = {
		{"kernel f() { let a = ", "(", "", 5000, E_LIMIT},
		{"kernel f() { let a = ", "-", "1 }", 5000, E_LIMIT},
		{"kernel f() { let a = ", "not ", "1 }", 5000, E_LIMIT},
		{"kernel f() { let a = ", "2 ** ", "1 }", 5000, E_LIMIT},
		{"kernel f() { let a = 0.5", " + 1", " }", 5000, E_LIMIT},
		{"kernel f() { let a = 0.5", " + 1", " }", 1000, OK},
		{"kernel f() { ", "while true {", "", 5000, E_LIMIT},
		{"kernel f(out x: int64[:]) { x[:] = x[:]", " + x[:]", " }", 200, OK},
		{"kernel f(out x: int64[:]) { x[:] = x[:]", " + x[:]", " }", 300, E_LIMIT},
		{"kernel f(out x: int64[:]) { x[:] = x[:]", " + x[0]", " }", 300, E_LIMIT},
		{"kernel f(out x: int64[:]) { x[:] = x[:]", " + 1", " }", 9000, E_LIMIT},
		{"kernel f(x: int64[:]) { let a = ", "sum(x * ", "", 5000, E_LIMIT},
		{"kernel f() { if true { }", " elif true { }", " }", 3000, OK},
		{"kernel f() { ", "#", "\n}", LANG_TEXT, E_LIMIT},
		{"kernel f() { let a", "a", " = 1 }", 64, E_INVALID},
		{"kernel f(", "x: int64, ", ") { }", 65, E_INVALID},
	};

	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		char *text = repeated(cases[c].head, cases[c].part, cases[c].n, cases[c].tail);
		struct lang_kernel *k = NULL;
		struct err err = {0};
		enum status st = make(&k, text, strlen(text), &err);

		cr_assert(st == cases[c].code, "case %zu: %d, %s", c, st, err.text);
		lang_unlink(k);
		free(text);
	}
}

/* What is read lies one element off what is written, as far as memory reaches. */
Test(lang, what_meets_is_computed_aside_within_bounds)
{
	struct lang_kernel *k = kernel("kernel f(out x: int8[:,:], y: int8[:,:]) {\n"
				       "x[:,:] = y[:,:] + 1 }");
	int8_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct lang_array array[2] = {
		{.at = (char *)x, .shape = {.ndim = 2, .dim = {2, 3}}, .stride = {3, 1}},
		{.at = (char *)x + 1, .shape = {.ndim = 2, .dim = {2, 3}}, .stride = {3, 1}}};
	struct err err = {0};

	cr_assert(!lang_run(k, array, NULL, NULL, NULL, NULL, &err), "%s", err.text);
	for (int i = 0; i < 8; i++)
		cr_expect(x[i] == (i < 6 ? i + 3 : i + 1), "%d: %d", i, x[i]);
	/* All elements at one place: an array of any size without its memory. */
	for (int i = 0; i < 2; i++) {
		array[i].shape.dim[0] = array[i].shape.dim[1] = INT64_C(1) << 62;
		array[i].stride[0] = array[i].stride[1] = 0;
	}
	array[1].at = array[0].at;
	array[0].stride[1] = array[1].stride[1] = 1;
	array[0].shape.dim[1] = array[1].shape.dim[1] = 2;
	array[1].at = array[0].at + 1;
	cr_assert_eq(lang_run(k, array, NULL, NULL, NULL, NULL, &err), E_LIMIT);
	cr_assert(strstr(err.text, "kernel 'f', line 2: no room for"), "%s", err.text);
	lang_unlink(k);
}

Test(lang, a_slice_is_stopped)
{
	struct lang_kernel *k = kernel("kernel f(x: int8[:]) -> (n: int64) { n = sum(x) }");
	int8_t x = 1;
	struct lang_array array = row(&x, INT64_C(1) << 62, 0);
	union lang_reg result;
	int count = 0;

	cr_assert(lang_run(k, &array, NULL, &result, stop_at_third, &count, NULL) == E_CANCELLED);
	lang_unlink(k);
}

Test(lang, a_program_is_printed)
{
	struct lang_kernel *k = kernel("kernel f(x: float32[:]) -> (s: float32) { s = sin(x[0]) }");
	char *text = lang_print(lang_program_of(k));

	cr_assert(strstr(text, "kernel f base 0"));
	cr_assert(strstr(text, "param x: float32 rank 1"));
	cr_assert(strstr(text, ": sin float32 "));
	free(text);
	lang_unlink(k);
}
