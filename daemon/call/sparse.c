/* SPDX-License-Identifier: Apache-2.0 */
/* call/sparse.c - see sparse.h. */
#include "sparse.h"

#include "base/textbuf.h"

#define UNIT_TERMS 8192 /* of rows as long as they are on average */
#define UNIT_ROWS  4	/* its rows are a multiple of those under way at a time */

static int64_t terms(const struct plan_call *c)
{
	return sparse_terms(c->extent[SPARSE_LOOP_ROWS], c->extent[SPARSE_LOOP_ENTRIES],
			    c->extent[SPARSE_LOOP_COLUMNS]);
}

/* Rows of a unit. */
static int64_t unit_rows(const struct plan_call *c)
{
	int64_t rows = c->extent[SPARSE_LOOP_ROWS], n = UNIT_TERMS / (terms(c) / rows + 1);

	return (n / UNIT_ROWS + 1) * UNIT_ROWS;
}

void sparse_of(struct sparse_patch *out, const struct plan_call *c, int64_t lo, int64_t hi)
{
	const struct call_operand *from = &c->operand[SPARSE_FROM];
	int64_t rows = c->extent[SPARSE_LOOP_ROWS], each = unit_rows(c);

	*out = (struct sparse_patch){.rows = rows,
				     .count = c->extent[SPARSE_LOOP_ENTRIES],
				     .inner = c->extent[SPARSE_LOOP_INNER],
				     .from_row = from->stride[SPARSE_LOOP_INNER],
				     .from_column = from->stride[SPARSE_LOOP_COLUMNS],
				     .to_row = c->operand[SPARSE_RESULT].stride[SPARSE_LOOP_ROWS],
				     .columns = c->extent[SPARSE_LOOP_COLUMNS],
				     .lo = lo * each,
				     .hi = hi > rows / each ? rows : hi * each};
}

static bool has_types(const struct plan_call *c)
{
	return c->op == OP_SPARSE && sparse_type(c->dtype) &&
	       c->operand[SPARSE_ENTRIES].dtype == c->dtype &&
	       c->operand[SPARSE_FROM].dtype == c->dtype &&
	       c->operand[SPARSE_RESULT].dtype == c->dtype &&
	       sparse_index(c->operand[SPARSE_STRUCTURE].dtype);
}

/* Each operand moves along its own loops alone. */
static bool has_layout(const struct plan_call *c)
{
	static const unsigned own[] = {1u << SPARSE_LOOP_ENTRIES, 1u << SPARSE_LOOP_STRUCTURE,
				       1u << SPARSE_LOOP_INNER | 1u << SPARSE_LOOP_COLUMNS,
				       1u << SPARSE_LOOP_ROWS | 1u << SPARSE_LOOP_COLUMNS};
	int64_t bytes = dtype_row(c->dtype)->bytes;

	for (unsigned x = 0; x <= SPARSE_RESULT; x++)
		for (unsigned l = 0; l < SPARSE_LOOPS; l++)
			if (c->operand[x].run || (c->operand[x].stride[l] && !(own[x] >> l & 1)))
				return false;
	return c->operand[SPARSE_ENTRIES].stride[SPARSE_LOOP_ENTRIES] == bytes &&
	       c->operand[SPARSE_STRUCTURE].stride[SPARSE_LOOP_STRUCTURE] ==
		       dtype_row(c->operand[SPARSE_STRUCTURE].dtype)->bytes &&
	       c->operand[SPARSE_RESULT].stride[SPARSE_LOOP_COLUMNS] == bytes;
}

enum status sparse_check(const struct plan_call *c, struct err *err)
{
	int64_t rows = c->extent[SPARSE_LOOP_ROWS], count = c->extent[SPARSE_LOOP_ENTRIES];

	if (c->nloop != SPARSE_LOOPS || !has_types(c) || !has_layout(c))
		return err_set(err, E_INTERNAL, "sparse: operands");
	for (unsigned l = 0; l < SPARSE_LOOPS; l++)
		if (!c->extent[l])
			return err_set(err, E_INTERNAL, "sparse: loop %u of no turns", l);
	if (terms(c) == SPARSE_MOST || c->extent[SPARSE_LOOP_STRUCTURE] != rows + 1 + count)
		return err_set(err, E_INTERNAL, "sparse: extents");
	return OK;
}

uint64_t sparse_work(const struct plan_call *c)
{
	return (uint64_t)terms(c);
}

double sparse_us(const struct plan_call *c)
{
	return (double)sparse_work(c) * call_row(CALL_SPARSE)->work_ns / 1000;
}

void sparse_units(struct call_units *out, const struct plan_call *c, bool device)
{
	int64_t rows = c->extent[SPARSE_LOOP_ROWS], each = unit_rows(c);

	*out = (struct call_units){.total = device ? 1 : (rows - 1) / each + 1, .grain = 1};
	out->work = sparse_work(c) / (uint64_t)out->total + 1;
}

void sparse_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "sparse matmul of %s, %lld x %lld with %lld entries",
		    dtype_row(c->dtype)->name, (long long)c->extent[SPARSE_LOOP_ROWS],
		    (long long)c->extent[SPARSE_LOOP_INNER],
		    (long long)c->extent[SPARSE_LOOP_ENTRIES]);
	if (c->extent[SPARSE_LOOP_COLUMNS] > 1)
		textbuf_put(t, ", by %lld columns", (long long)c->extent[SPARSE_LOOP_COLUMNS]);
}

void sparse_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"entries", "structure", "in", "out"};

	textbuf_put(t, "%s %s", op_text(c->op), dtype_row(c->dtype)->name);
	call_print_layout(t, c, what);
}
