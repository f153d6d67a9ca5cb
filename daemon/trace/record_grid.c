/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of kernels: definitions, and the operations that name them. */
#include "cursor.h"

#include "imm.h"

enum status record_define(struct trace *t, struct grids *table, uint32_t number,
			  const struct grid_words *w, struct err *err)
{
	struct grid *g = NULL;
	enum status st = grid_names_check(&t->grids, number, err);

	if (!st)
		st = grids_take(&g, table, w, err);
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

/* The operands of a grid as it wants them; the distinct extents of its arrays. */
static enum status check_operands(struct cursor *k, const struct grid *g, const struct source *src,
				  unsigned n)
{
	struct shape_loops loops = {0};
	uint32_t at = 0;

	if (n != (unsigned)g->narray + g->nlive)
		return err_set(k->err, E_PROTOCOL, "%s %u of %u operands", k->row->id, g->number,
			       n);
	for (unsigned j = 0; j < n; j++) {
		const struct array *a = src[j].array;

		if (src[j].arg.weak || !grid_fits(g, j, a != NULL, src[j].arg.dtype,
						  a ? a->view.shape.ndim : 0))
			return err_set(k->err, E_PROTOCOL, "%s %u: operand %u", k->row->id,
				       g->number, j);
		if (a && !shape_loops_add(&loops, &at, &a->view.shape))
			return err_set(k->err, E_UNSUPPORTED,
				       "%s: its arrays have more than %d different extents",
				       k->row->id, LIMIT_NDIM);
	}
	return OK;
}

/* What operand j reads.  A snapshot of what is about to be written is none of that: its reader gets
 * a copy. */
static struct version *read_by(struct cursor *k, const struct source *src, const struct version *old)
{
	struct version *v = trace_current(src->array);

	return src->array->frozen && v == old ? record_copy(k->t, v) : version_ref(v);
}

static void set_operand(struct operand *o, const struct source *src, struct version *v)
{
	o->version = v;
	if (v) {
		view_copy(&o->view, &src->array->view);
		return;
	}
	o->view.dtype = src->arg.dtype;
	o->view.shape.ndim = 0;
	imm_cast(o->imm, (enum dtype)src->arg.dtype, src->imm, (enum dtype)src->arg.dtype);
}

/* The written array's buffer gets a new version, of whatever the loop leaves there. */
static void write_array(struct cursor *k, const struct grid *g, const struct source *src,
			unsigned nin)
{
	struct buffer *b = src[0].array->buffer;
	struct version *read[LIMIT_OPERANDS] = {NULL}, *v = NULL;
	struct node *n = NULL;

	for (unsigned j = 0; j < g->narray; j++) /* copies come before the loop */
		read[j] = read_by(k, &src[j], b->current);
	n = trace_node(k->t, (int)nin);
	n->op = OP_GRID;
	n->dtype = k->dtype;
	n->axes = g->number;
	for (unsigned j = 0; j < nin; j++)
		set_operand(&n->in[j], &src[j], read[j]);
	n->view = src[0].array->view;
	n->prev = version_ref(b->current);
	k->t->stats.ops++;
	v = version_create(k->t, b->bytes, VERSION_PENDING);
	v->home = k->t->home;
	v->node = n;
	n->out = v;
	trace_supersede(k->t, b, v);
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
	if (!g || k->dtype > GRID_HINT_MOST)
		return err_set(k->err, E_PROTOCOL, "%s: no loop %llu", k->row->id,
			       (unsigned long long)number);
	st = check_operands(k, g, src, n);
	if (!st && src[0].array->frozen)
		st = err_set(k->err, E_READONLY, "a loop's destination is read-only");
	if (!st)
		write_array(k, g, src, n);
	return st;
}
