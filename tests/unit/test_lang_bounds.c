/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose places are not checked where a test before them says so: random nests, by the machine
 * and by code, on arrays of all sizes and layouts, to the last bit and the last word of an error.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include "base/textbuf.h"
#include "lang_code.h"

#define PROGRAMS 40
#define CALLS	 300
#define MEMORY	 4096 /* bytes, the middle of which arrays lie in */

TestSuite(lang_bounds, .timeout = 240);

static uint64_t state;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 20) % n;
}

static const char *any(const char *const *list, unsigned n)
{
	return list[below(n)];
}

#define ANY(...)                                                                                   \
	any((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / 8)

static const char *index_of(void)
{
	return ANY("i", "j", "i + 1", "j - 1", "i - j", "j - i", "i + j", "2 * i - j", "n - 1 - i",
		   "m - j", "t", "i * n + j", "min(i, n - 1)", "max(j - 1, 0)", "(i + j) % m",
		   "(j - i) // 2", "int64(c[t])", "i + z", "z - j", "z * i + t", "i - j + t", "w",
		   "int32(1) + w", "-1 - i", "t % n", "i + n // 2 - t", "u", "3", "0");
}

static void put_element(struct textbuf *o)
{
	if (below(2))
		textbuf_put(o, "a[%s, %s]", index_of(), index_of());
	else
		textbuf_put(o, "b[%s]", index_of());
}

static void put_statement(struct textbuf *o)
{
	unsigned kind = below(8);

	if (kind == 0) {
		const char *at = index_of();

		textbuf_put(o, "if %s%s >= 0 and %s < %s { b[%s] += a[0, %s] }\n",
			    below(2) ? "i > j or " : "", at, at, ANY("n", "m", "len(b)"), at, at);
		return;
	}
	if (kind == 1) {
		textbuf_put(o, "u = %s\nif u < 1 or not u < %s { continue }\n", index_of(),
			    ANY("n", "len(b) + 1"));
		return;
	}
	if (kind == 2)
		textbuf_put(o, "if j > 0 and j - 1 < len(b) { b[j - 1] -= 1 }\n");
	if (kind == 3)
		textbuf_put(o, "if s > 90.0 { %s }\n", ANY("break", "u = i", "s = 0.0"));
	put_element(o);
	textbuf_put(o, " = ");
	put_element(o);
	textbuf_put(o, " * 0.5 + ");
	put_element(o);
	textbuf_put(o, "\ns += ");
	put_element(o);
	textbuf_put(o, "\n");
}

static void put_program(struct textbuf *o)
{
	textbuf_put(o,
		    "kernel f(inout a: float64[:, :], inout b: float64[:], c: int32[:],"
		    " n: int64, m: int64, z: int64, w: int32) -> (s: float64, u: int64)%s {\n",
		    below(4) ? "" : " base 1");
	textbuf_put(o, "for i in %s..%s%s {\n", ANY("0", "1", "-1", "n"),
		    ANY("n", "len(b)", "m + 1", "len(a)", "5"),
		    ANY("", "", "", " step 2", " step -1", " step m"));
	textbuf_put(o, "let t = i\nlet j = i\n");
	if (below(3))
		put_statement(o);
	textbuf_put(o, "for x in %s..%s%s {\nj = x\n", ANY("0", "i", "i + 1", "max(0, i - 1)", "n"),
		    ANY("m", "n", "i", "len(a, 1)", "min(m, i + 3)"),
		    ANY("", "", "", " step -1", " step 2"));
	if (below(2))
		put_statement(o);
	if (below(2)) {
		textbuf_put(o, "for y in %s..%s {\nt = y\n", ANY("0", "x", "i - x"),
			    ANY("n", "x + 2", "3", "len(c)"));
		put_statement(o);
		textbuf_put(o, "}\n");
	}
	put_statement(o);
	textbuf_put(o, "}\n}\n}\n");
}

/* An array somewhere in the middle of the memory: closely, across, backwards, each element the
 * same. */
static struct lang_array lay(char *memory, int rank, int64_t bytes, bool closely)
{
	struct lang_array x = {.at = memory + MEMORY / 2 + 8 * (int64_t)below(16),
			       .shape = {.ndim = (uint8_t)rank}};
	int64_t next = bytes;

	for (int k = rank; k-- > 0;) {
		x.shape.dim[k] = below(9);
		x.stride[k] = next;
		next *= x.shape.dim[k] ? x.shape.dim[k] : 1;
		if (!closely)
			x.stride[k] = bytes * ((int64_t)below(7) - 3);
	}
	return x;
}

static void fill(char *memory)
{
	for (unsigned k = 0; k < MEMORY / 8; k++) {
		double v = below(40) / 8.0;

		memcpy(memory + 8 * (size_t)k, &v, 8);
	}
}

static bool differ(const struct lang_kernel *k, const struct lang_kernel *code, char *text)
{
	static char one[MEMORY], two[MEMORY];
	static int32_t places[8];
	static const int64_t edges[] = {INT64_MAX, INT64_MIN,	  INT64_MAX / 2 + 1, -1, 0,
					1,	   INT64_MAX - 3, (int64_t)1 << 62,  2};
	bool closely = below(3);
	struct lang_array x[3] = {lay(one, 2, 8, closely), lay(one, 1, 8, closely)}, y[3];
	union lang_reg scalar[4] = {{.i = (int64_t)below(11) - 2},
				    {.i = (int64_t)below(11) - 2},
				    {.i = edges[below(9)]},
				    {.i = below(9) ? (int64_t)below(3) : INT32_MAX}};
	union lang_reg r1[2], r2[2];
	struct err e1 = {0}, e2 = {0};

	for (unsigned i = 0; i < 8; i++)
		places[i] = (int32_t)below(9) - 1;
	x[2] = (struct lang_array){
		.at = (char *)places, .shape = {.ndim = 1, .dim = {below(9)}}, .stride = {4}};
	memcpy(y, x, sizeof x);
	y[0].at = two + (x[0].at - one);
	y[1].at = two + (x[1].at - one);
	fill(one);
	memcpy(two, one, MEMORY);
	enum status st = lang_run(k, x, scalar, r1, NULL, NULL, &e1);
	enum status code_st = lang_run(code, y, scalar, r2, NULL, NULL, &e2);

	if (st != code_st || strcmp(e1.text, e2.text) || memcmp(one, two, MEMORY) ||
	    (!st && (r1[0].i != r2[0].i || r1[1].i != r2[1].i))) {
		cr_expect(false, "%s\n%s\nnot %s", text, e2.text, e1.text);
		return true;
	}
	return false;
}

Test(lang_bounds, random_nests_go_the_machines_way)
{
	for (unsigned n = 0; n < PROGRAMS; n++) {
		char text[8192];
		struct textbuf o = {text, sizeof text, 0};
		struct lang_kernel *k, *code;

		state = 0x9e3779b97f4a7c15u * (n + 1);
		put_program(&o);
		k = machine(text);
		code = machine(text);
		attach(code, compile(text));
		for (unsigned call = 0; call < CALLS && !differ(k, code, text); call++)
			;
		lang_unlink(k);
		lang_unlink(code);
	}
}
