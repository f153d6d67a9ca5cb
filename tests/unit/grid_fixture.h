/* SPDX-License-Identifier: Apache-2.0 */
/* grid_fixture.h - a loop of a kernel, and operations that do it, on the trace of trace_fixture.h.
 */
#ifndef GRID_FIXTURE_H
#define GRID_FIXTURE_H

#include <stdlib.h>

#include "form/grid.h"
#include "trace_fixture.h"

/* y[i] += a * x[i]; other[i] is written besides. */
static const char axpy[] = "kernel f(in x: float64[:], inout y: float64[:], inout other: int32[:], "
			   "a: float64) {\n"
			   "  for i in 0..len(y) { y[i] += a * x[i]; other[i] = 1 }\n"
			   "}\n";

/* k is what turns add up. */
__attribute__((unused)) static const char adding[] =
	"kernel f(in x: float64[:], inout y: int32[:]) -> (k: int64) {\n"
	"  for i in 0..len(x) { k += int64(x[i]) + int64(y[i]) }\n"
	"}\n";

/* Where the first loop of a text begins. */
static uint32_t range_of(const char *text)
{
	struct lang_program *p = NULL;
	struct lang_tree *tree = NULL;
	uint32_t at = 0;

	cr_assert_eq(lang_parse(&tree, text, strlen(text), &err), OK, "%s", err.text);
	cr_assert_eq(lang_check(&p, tree, &err), OK, "%s", err.text);
	free(tree);
	while (p->code[at].code != CODE_RANGE)
		at++;
	lang_free(p);
	return at;
}

/* The register of its result. */
__attribute__((unused)) static uint32_t sum_of(const char *text)
{
	struct lang_program *p = NULL;
	uint32_t reg = 0;

	cr_assert_eq(lang_program_of_text(&p, text, strlen(text), &err), OK, "%s", err.text);
	reg = p->param[p->nparam].reg;
	lang_free(p);
	return reg;
}

__attribute__((unused)) static struct grid_words words_of(const char *text, uint32_t only)
{
	return (struct grid_words){text, range_of(text), 1, 0, only, 0, 0};
}

__attribute__((unused)) static void vector(uint32_t id, unsigned dtype, uint64_t n)
{
	put(OP_EMPTY, dtype, 0, 2, id);
	word(1);
	word(n);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

__attribute__((unused)) static void put_number(unsigned dtype, uint64_t bits)
{
	in[columns.nin++] = 1u << 31 | dtype;
	word(bits);
}

/* axpy as loop 1 on x, y, other. */
__attribute__((unused)) static enum status record_axpy(uint32_t x, uint32_t y, uint32_t other,
						       unsigned hint)
{
	put(OP_GRID, hint, OP_LIST, 3, 0);
	operand(5);
	operand(y);
	operand(x);
	operand(other);
	put_number(DT_FLOAT64, 0x4000000000000000u);
	put_number(DT_INT64, 10);
	word(1);
	return flush();
}

#endif
