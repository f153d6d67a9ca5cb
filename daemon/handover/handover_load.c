/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is made with one reference of the loader's own; at the end these go, and what nothing
 * else refers to goes with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/xalloc.h"
#include "../trace/record.h"
#include "handover.h"

struct load {
	struct trace *t;
	struct ticket_list *tickets;
	struct shares *shares;
	struct grids *grids;
	const Braze__Handover__Session *m;
	const Braze__Handover__Trace *in;
	struct storage **storage;
	struct version **version;
	struct array *buffer; /* one that names it, once there is one */
	unsigned ops;
	struct err *err;
};

static enum status bad(struct load *l, const char *what, size_t i)
{
	return err_set(l->err, E_INVALID, "the state of session %llu is damaged: %s %zu",
		       (unsigned long long)l->m->id, what, i + 1);
}

/* ---- The arena ---- */

static enum status load_arena(struct load *l, struct uv_loop_s *loop)
{
	const Braze__Handover__Arena *m = l->m->arena;
	struct arena_state s = {.fd = m->fd,
				.top = m->top,
				.merged_warm = m->merged_warm,
				.peak_bytes = m->peak_bytes,
				.busy_peak = m->busy_peak,
				.allocs = m->allocs,
				.frees = m->frees,
				.n = m->n_piece};
	struct arena *a = NULL;
	enum status st = OK;

	s.piece = xcalloc(s.n ? s.n : 1, sizeof *s.piece);
	for (size_t i = 0; i < s.n; i++)
		s.piece[i] = (struct arena_piece){
			.extent = {m->piece[i]->offset, m->piece[i]->bytes},
			.freed = m->piece[i]->freed,
			.use = m->piece[i]->use < ARENA_USES ? (uint8_t)m->piece[i]->use
							     : ARENA_USES};
	st = arena_restore(&a, loop, &s, l->err);
	free(s.piece);
	if (st)
		return st;
	trace_init(l->t, a, 0);
	l->t->shares = l->shares;
	if (l->in->share_from)
		l->t->share_from = l->in->share_from;
	return OK;
}

static int by_offset(const void *x, const void *y)
{
	const struct extent *a = x, *b = y;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* One owner for each range. */
static enum status check_extents(struct load *l)
{
	const Braze__Handover__Arena *a = l->m->arena;
	struct extent *e = xcalloc(a->n_piece + l->in->n_storage + 1, sizeof *e);
	enum status st = OK;
	size_t n = 0;

	for (size_t i = 0; i < a->n_piece; i++)
		e[n++] = (struct extent){a->piece[i]->offset, a->piece[i]->bytes};
	for (size_t i = 0; i < l->in->n_storage; i++) {
		const Braze__Handover__Storage *s = l->in->storage[i];

		if (s->placed && s->extent)
			e[n++] = (struct extent){s->offset, s->extent};
	}
	qsort(e, n, sizeof *e, by_offset);
	for (size_t i = 0; i < n && !st; i++)
		if (e[i].bytes > a->top || e[i].offset > a->top - e[i].bytes ||
		    (i && e[i - 1].offset + e[i - 1].bytes > e[i].offset))
			st = bad(l, "range", i);
	free(e);
	return st;
}

/* ---- Values ---- */

/* In the arena. */
static struct storage *load_placed(struct load *l, const Braze__Handover__Storage *m)
{
	struct extent e = {m->offset, m->extent};

	if (m->bytes > m->extent || (m->offset | m->extent) % HOST_ALIGN)
		return NULL;
	arena_claim(l->t->arena, &e);
	return storage_adopt(l->t, &e, m->bytes);
}

/* In memory of its own, which until it is published is one storage's: the loader of all of
 * it has the first reference. */
static struct storage *load_apart(struct load *l, const Braze__Handover__Storage *m)
{
	struct share *h = share_find(l->t->shares, m->region);

	if (!h || m->offset || m->extent || m->bytes != h->bytes || (!h->fixed && h->refs > 1))
		return NULL;
	return storage_open(l->t, share_ref(h));
}

static enum status load_storages(struct load *l)
{
	l->storage = xcalloc(l->in->n_storage + 1, sizeof(struct storage *));
	for (size_t i = 0; i < l->in->n_storage; i++) {
		const Braze__Handover__Storage *m = l->in->storage[i];
		struct storage *s = NULL;

		if (m->placed && m->home <= HOME_ARENA)
			s = m->region ? load_apart(l, m) : load_placed(l, m);
		if (!s)
			return bad(l, "storage", i);
		l->storage[i] = s;
		s->home = (uint8_t)m->home;
		s->plan = m->plan;
		s->made_on = m->made_on && m->made_on <= LIMIT_DEVICES ? (uint8_t)m->made_on : 1;
		s->reads = m->reads != 0;
	}
	return OK;
}

/* Stored or failed ones are done; the others wait for load_nodes. */
static enum status load_version(struct load *l, size_t i)
{
	const Braze__Handover__Version *m = l->in->version[i];
	struct version *v = version_create(l->t, m->bytes, VERSION_PENDING);
	struct err why = {.code = (enum status)m->error};

	l->version[i] = v;
	if (m->bytes > LIMIT_ARRAY_BYTES || m->storage > l->in->n_storage || m->home > HOME_ARENA ||
	    (m->storage != 0) + (m->error != 0) + (m->node != NULL) != 1 || m->error >= STATUS_END)
		return bad(l, "value", i);
	v->home = (uint8_t)m->home;
	if (m->storage) {
		struct storage *s = l->storage[m->storage - 1];

		if (s->bytes < m->bytes)
			return bad(l, "value", i);
		version_attach(l->t, v, storage_ref(s));
		version_store(l->t, v);
	} else if (m->error) {
		snprintf(why.text, sizeof why.text, "%s", m->text);
		version_fail(l->t, v, &why);
	}
	return OK;
}

static enum status load_versions(struct load *l)
{
	enum status st = OK;

	l->version = xcalloc(l->in->n_version + 1, sizeof(struct version *));
	for (size_t i = 0; i < l->in->n_version && !st; i++)
		st = load_version(l, i);
	return st;
}

/* ---- Pending operations ---- */

bool handover_load_view(struct view *v, const Braze__Handover__View *m, uint64_t bytes)
{
	memset(v, 0, sizeof *v);
	if (!m || m->n_dim > LIMIT_NDIM || m->n_stride != m->n_dim || !dtype_native(m->dtype))
		return false;
	v->dtype = (uint8_t)m->dtype;
	v->offset = m->offset;
	v->shape.ndim = (uint8_t)m->n_dim;
	for (size_t i = 0; i < m->n_dim; i++) {
		v->shape.dim[i] = m->dim[i];
		v->stride[i] = m->stride[i];
	}
	return view_check(v, bytes, NULL) == OK;
}

/* Of a value that was there before the operation `seq`; NULL: there is no such value. */
static struct version *older(struct load *l, uint32_t number, uint64_t seq)
{
	const Braze__Handover__Node *maker = NULL;

	if (!number || number > l->in->n_version)
		return NULL;
	maker = l->in->version[number - 1]->node;
	return maker && maker->seq >= seq ? NULL : l->version[number - 1];
}

static bool load_operand(struct load *l, struct operand *o, const Braze__Handover__Operand *m,
			 uint64_t seq)
{
	struct version *v = older(l, m->version, seq);

	if (!handover_load_view(&o->view, m->view, v ? v->bytes : LIMIT_ARRAY_BYTES) ||
	    !m->version == !!v)
		return false;
	if (v) {
		o->version = version_ref(v);
		return true;
	}
	if (m->n_imm != 2 || o->view.shape.ndim)
		return false;
	memcpy(o->imm, m->imm, sizeof o->imm);
	return true;
}

/* Is it one that computes, with so many operands? */
static bool is_operation(const struct load *l, const Braze__Handover__Node *m)
{
	const struct op_row *row = m->op < l->ops ? op_row(m->op) : NULL;

	if (!row || row->kind == KIND_CTL || row->kind == KIND_MOVE || m->n_in > LIMIT_OPERANDS)
		return false;
	if (row->arity == OP_LIST)
		return m->n_in > 0;
	return m->n_in == row->arity - (unsigned)(m->op == OP_ASSIGN);
}

/* The node's operands, all empty, so that it can be let go of at any moment. */
static struct node *new_node(struct load *l, const Braze__Handover__Node *m, struct version *out)
{
	struct node *n = NULL;

	l->t->seq = m->seq - 1;
	n = trace_node(l->t, (int)m->n_in);
	for (int j = 0; j < n->nin; j++)
		n->in[j].version = NULL;
	n->op = (uint16_t)m->op;
	n->dtype = (uint8_t)m->dtype;
	n->device = (uint8_t)m->device;
	n->axes = m->axes;
	n->recipe = m->recipe != 0;
	n->out = out;
	out->node = n;
	return n;
}

static enum status load_node(struct load *l, size_t i)
{
	const Braze__Handover__Node *m = l->in->version[i]->node;
	struct version *prev = older(l, m->prev, m->seq);
	struct node *n = NULL;
	bool good = true;

	if (!is_operation(l, m) || m->dtype > UINT8_MAX || !m->prev == !!prev ||
	    m->device > LIMIT_DEVICES + 1 || (prev && prev->bytes != l->version[i]->bytes) ||
	    !m->seq || m->seq > l->in->seq)
		return bad(l, "operation", i);
	n = new_node(l, m, l->version[i]);
	n->prev = prev ? version_ref(prev) : NULL;
	good = handover_load_view(&n->view, m->view, n->out->bytes);
	for (size_t j = 0; j < m->n_in && good; j++)
		good = load_operand(l, &n->in[j], m->in[j], m->seq);
	good = good && (n->op != OP_GRID || record_is_grid(l->t, n));
	return good ? OK : bad(l, "operation", i);
}

/* Loops of kernels, with the numbers that they had: other sessions may have them, too. */
static enum status load_grids(struct load *l)
{
	enum status st = OK;

	for (size_t i = 0; i < l->in->n_grid && !st; i++) {
		const Braze__Handover__Grid *m = l->in->grid[i];
		const struct grid_words w = {m->text, m->range, m->levels, m->fast,
					     m->only, m->sum,	m->keeps};

		if (!m->grid)
			return bad(l, "loop", i);
		st = record_define(l->t, l->grids, m->number, &w, m->grid, l->err);
		if (st)
			return bad(l, "loop", i);
	}
	return st;
}

struct place {
	uint64_t seq;
	size_t version;
};

static int by_seq(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* In the order in which they were recorded. */
static enum status load_nodes(struct load *l)
{
	struct place *p = xcalloc(l->in->n_version + 1, sizeof *p);
	enum status st = OK;
	size_t n = 0;

	for (size_t i = 0; i < l->in->n_version; i++)
		if (l->in->version[i]->node)
			p[n++] = (struct place){l->in->version[i]->node->seq, i};
	qsort(p, n, sizeof *p, by_seq);
	for (size_t i = 0; i < n && !st; i++)
		st = i && p[i - 1].seq == p[i].seq ? bad(l, "operation", p[i].version)
						   : load_node(l, p[i].version);
	free(p);
	return st;
}

/* ---- Names ---- */

/* The buffer that it names; NULL with a good *version: it is frozen on one. */
static const Braze__Handover__Buffer *buffer_of(struct load *l, const Braze__Handover__Array *m,
						uint32_t *version)
{
	const Braze__Handover__Buffer *b = NULL;

	*version = 0;
	if (!m->buffer == !m->frozen || m->buffer > l->in->n_buffer)
		return NULL;
	b = m->buffer ? l->in->buffer[m->buffer - 1] : NULL;
	*version = b ? b->version : m->frozen;
	if (*version > l->in->n_version ||
	    (*version && b && b->bytes != l->version[*version - 1]->bytes))
		*version = 0;
	return b;
}

static enum status load_array(struct load *l, size_t i)
{
	const Braze__Handover__Array *m = l->in->array[i];
	const Braze__Handover__Buffer *b = NULL;
	struct array *first = NULL, frozen = {0};
	struct version *v = NULL;
	uint32_t version = 0;
	struct view view;
	enum status st = OK;

	b = buffer_of(l, m, &version);
	v = version ? l->version[version - 1] : NULL;
	if (!v || !handover_load_view(&view, m->view, v->bytes))
		return bad(l, "array", i);
	frozen.frozen = v;
	first = b ? &l->buffer[m->buffer - 1] : &frozen;
	if (!b || first->buffer)
		return trace_define_view(l->t, m->id, first, &view, l->err);
	st = trace_define(l->t, m->id, &view, b->bytes, version_ref(v), l->err);
	if (!st)
		first->buffer = trace_array(l->t, m->id)->buffer;
	return st;
}

static enum status load_arrays(struct load *l)
{
	enum status st = OK;

	l->buffer = xcalloc(l->in->n_buffer + 1, sizeof *l->buffer);
	for (size_t i = 0; i < l->in->n_array && !st; i++)
		st = load_array(l, i);
	return st;
}

/* ---- Waits ---- */

/* It waits for one value, of which the view shows a part. */
static struct publishing *load_publishing(struct load *l, const Braze__Handover__Ticket *m)
{
	const Braze__Handover__Publishing *from = m->publishing;
	struct publishing *what = NULL;
	struct view view;

	if (!from || m->n_version != 1 || m->answers != 1 ||
	    strlen(from->label) >= LIMIT_PUBLISHED_NAME ||
	    !handover_load_view(&view, from->view, l->version[m->version[0] - 1]->bytes))
		return NULL;
	what = xcalloc(1, sizeof *what);
	what->view = view;
	what->access = from->access;
	what->number = from->number;
	what->copied = from->copied;
	what->moved = from->moved != 0;
	memcpy(what->label, from->label, strlen(from->label) + 1);
	return what;
}

static enum status load_ticket(struct load *l, size_t i)
{
	const Braze__Handover__Ticket *m = l->m->ticket[i];
	struct publishing *what = NULL;
	struct version **v = NULL;
	struct ticket *t = NULL;

	if (m->kind > TICKET_COMPUTE || m->waits > m->n_version || m->answers > m->waits ||
	    m->n_version > UINT32_MAX / 2 || (m->kind == TICKET_FENCE && !m->waits))
		return bad(l, "wait", i);
	for (size_t k = 0; k < m->n_version; k++)
		if (!m->version[k] || m->version[k] > l->in->n_version)
			return bad(l, "wait", i);
	if (m->kind == TICKET_PUBLISH) {
		what = load_publishing(l, m);
		if (!what)
			return bad(l, "wait", i);
	}
	v = xcalloc(m->n_version + 1, sizeof(struct version *));
	for (size_t k = 0; k < m->n_version; k++)
		v[k] = version_ref(l->version[m->version[k] - 1]);
	t = ticket_add(l->tickets, (enum ticket_kind)m->kind, m->id, v, m->waits, m->answers,
		       (uint32_t)(m->n_version - m->waits), m->since_ns);
	t->cancelled = m->cancelled != 0;
	t->publishing = what;
	free(v);
	return OK;
}

/* ---- All of it ---- */

static void let_go(struct load *l)
{
	for (size_t i = 0; l->version && i < l->in->n_version; i++)
		if (l->version[i])
			version_unref(l->t, l->version[i]);
	for (size_t i = 0; l->storage && i < l->in->n_storage; i++)
		if (l->storage[i])
			storage_unref(l->t, l->storage[i]);
	free(l->version);
	free(l->storage);
	free(l->buffer);
}

static enum status load_all(struct load *l)
{
	enum status st = check_extents(l);

	if (!st)
		st = load_grids(l);
	if (!st)
		st = load_storages(l);
	if (!st)
		st = load_versions(l);
	if (!st)
		st = load_nodes(l);
	if (!st)
		st = load_arrays(l);
	for (size_t i = 0; i < l->m->n_ticket && !st; i++)
		st = load_ticket(l, i);
	return st;
}

enum status handover_load(struct trace *t, struct ticket_list *tickets, struct uv_loop_s *loop,
			  struct shares *shares, struct grids *grids,
			  const Braze__Handover__Session *m, unsigned ops, struct err *err)
{
	struct load l = {.t = t,
			 .tickets = tickets,
			 .shares = shares,
			 .grids = grids,
			 .m = m,
			 .in = m->trace,
			 .ops = ops,
			 .err = err};
	struct arena *a = NULL;
	enum status st = OK;

	if (!m->trace || !m->arena) {
		if (m->arena)
			close(m->arena->fd);
		return bad(&l, "part", 0);
	}
	st = load_arena(&l, loop);
	if (st)
		return st;
	st = load_all(&l);
	let_go(&l);
	t->seq = m->trace->seq;
	t->stats = (struct trace_stats){m->trace->ops, m->trace->dead_ops, m->trace->arrays};
	if (!st)
		return OK;
	while (tickets->first)
		ticket_remove(tickets, tickets->first, t);
	a = t->arena;
	trace_finish(t);
	arena_destroy(a);
	return st;
}
