/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of kernels: definitions, and the operations that name them. */
#include "cursor.h"

#include <string.h>

enum status record_define(struct trace *t, struct grids *table, uint32_t number,
			  const struct grid_words *w, uint32_t grid, struct err *err)
{
	struct grid *g = NULL;
	enum status st = grid_names_check(&t->grids, number, err);

	if (!st)
		st = grid_table_take(&g, table, w, grid, err);
	if (st)
		return st;
	st = trace_charge_more(t, sizeof *g + g->bytes, err);
	if (st) {
		grid_unref(g);
		return st;
	}
	grid_names_add(&t->grids, number, g);
	return OK;
}

/* Operand j of a grid, as record_operand or somebody else has it; loops: the distinct extents so
 * far. */
static enum status check_operand(const struct grid *g, unsigned j, const struct view *array,
				 unsigned dtype, struct shape_loops *loops, struct err *err)
{
	uint32_t at = 0;

	if (!grid_fits(g, j, array != NULL, dtype, array ? array->shape.ndim : 0))
		return err_set(err, E_PROTOCOL, "loop %u: operand %u", g->number, j);
	if (array && !shape_loops_add(loops, &at, &array->shape))
		return err_set(err, E_UNSUPPORTED,
			       "a loop's arrays have more than %d different extents", LIMIT_NDIM);
	return OK;
}

static enum status check_operands(const struct cursor *k, const struct grid *g,
				  const struct source *src, unsigned n)
{
	struct shape_loops loops = {0};
	enum status st = OK;

	if (n != (unsigned)g->narray + g->nlive)
		return err_set(k->err, E_PROTOCOL, "loop %u of %u operands", g->number, n);
	for (unsigned j = 0; j < n && !st; j++)
		st = src[j].arg.weak
			     ? err_set(k->err, E_PROTOCOL, "loop %u: a weak number", g->number)
			     : check_operand(g, j, src[j].array ? &src[j].array->view : NULL,
					     src[j].arg.dtype, &loops, k->err);
	return st;
}

static bool same_view(const struct view *a, const struct view *b)
{
	return a->dtype == b->dtype && a->offset == b->offset &&
	       shape_equal(&a->shape, &b->shape) &&
	       !memcmp(a->stride, b->stride, a->shape.ndim * sizeof a->stride[0]);
}

bool record_is_grid(const struct trace *t, const struct node *n)
{
	const struct grid *g = grid_names_of(&t->grids, n->axes);
	struct shape_loops loops = {0};

	if (!g || !n->prev || n->dtype > LIMIT_GRID_HINT || n->nin != g->narray + g->nlive ||
	    n->in[0].version != n->prev || !same_view(&n->in[0].view, &n->view))
		return false;
	for (unsigned j = 0; j < n->nin; j++)
		if (check_operand(g, j, n->in[j].version ? &n->in[j].view : NULL,
				  n->in[j].view.dtype, &loops, NULL))
			return false;
	return true;
}

/* What operand j reads.  A snapshot of what is about to be written is none of that: its reader gets
 * a copy. */
static struct version *read_by(struct cursor *k, const struct source *src,
			       const struct version *old)
{
	struct version *v = trace_current(src->array);

	return src->array->frozen && v == old ? record_copy(k->t, v) : version_ref(v);
}

/* The written array's buffer gets a new version, of whatever the loop leaves there. */
static void write_array(struct cursor *k, const struct grid *g, const struct source *src,
			unsigned nin)
{
	struct buffer *b = src[0].array->buffer;
	struct version *read[LIMIT_OPERANDS] = {NULL};
	struct node *n = NULL;

	for (unsigned j = 0; j < g->narray; j++) /* copies come before the loop */
		read[j] = read_by(k, &src[j], b->current);
	n = trace_node(k->t, (int)nin);
	n->op = OP_GRID;
	n->dtype = k->dtype;
	n->axes = g->number;
	for (unsigned j = 0; j < nin; j++)
		record_set_operand(&n->in[j], &src[j], read[j], (enum dtype)src[j].arg.dtype);
	n->view = src[0].array->view;
	n->prev = version_ref(b->current);
	k->t->stats.ops++;
	record_new_version(k, n, b);
}

enum status record_grid(struct cursor *k)
{
	struct source src[LIMIT_OPERANDS];
	const struct grid *g = NULL;
	uint64_t number = 0;
	unsigned n = 0;
	enum status st = record_count(k, &n);

	for (unsigned j = 0; j < n && !st; j++)
		st = record_operand(k, &src[j]);
	if (!st)
		st = record_imm(k, &number);
	if (st)
		return st;
	g = grid_names_find(&k->t->grids, number);
	if (!g || k->dtype > LIMIT_GRID_HINT)
		return err_set(k->err, E_PROTOCOL, "%s: no loop %llu", k->row->id,
			       (unsigned long long)number);
	st = check_operands(k, g, src, n);
	if (!st && src[0].array->frozen)
		st = err_set(k->err, E_READONLY, "a loop's destination is read-only");
	if (!st)
		write_array(k, g, src, n);
	return st;
}
