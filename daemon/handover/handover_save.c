/* SPDX-License-Identifier: Apache-2.0 */
/* Versions are numbered in the order in which a walk from names and waits finds them; storages and
 * buffers by their addresses, for which they have no room of their own. */
#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "handover.h"

#define BLOCK_BYTES (256u << 10)
#define ALIGN	    16u

struct handover_block {
	struct handover_block *before;
	size_t used, size;
	_Alignas(ALIGN) uint8_t bytes[];
};

void *handover_pile_take(struct handover_pile *p, size_t n)
{
	struct handover_block *b = p->block;
	void *at = NULL;

	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || n > b->size - b->used) {
		size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;

		b = xcalloc(1, sizeof *b + size);
		b->before = p->block;
		b->size = size;
		p->block = b;
	}
	at = b->bytes + b->used;
	b->used += n;
	return at;
}

void handover_pile_free(struct handover_pile *p)
{
	while (p->block) {
		struct handover_block *b = p->block;

		p->block = b->before;
		free(b);
	}
}

/* Addresses, each once after `seal`, numbered from 1 on. */
struct numbers {
	void **at;
	size_t n, cap;
};

static void numbers_add(struct numbers *l, void *address)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->at = xrealloc(l->at, l->cap, sizeof *l->at);
	}
	l->at[l->n++] = address;
}

static int by_address(const void *x, const void *y)
{
	const char *a = *(char *const *)x, *b = *(char *const *)y;

	return a < b ? -1 : a > b;
}

static void numbers_seal(struct numbers *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->at, l->n, sizeof *l->at, by_address);
	for (size_t i = 0; i < l->n; i++)
		if (!n || l->at[n - 1] != l->at[i])
			l->at[n++] = l->at[i];
	l->n = n;
}

static uint32_t numbers_of(const struct numbers *l, const void *address)
{
	void **found = l->n ? bsearch(&address, l->at, l->n, sizeof *l->at, by_address) : NULL;

	return found ? (uint32_t)(found - l->at) + 1 : 0;
}

struct save {
	struct trace *t;
	struct handover_pile *pile;
	struct numbers array, version, storage,
		buffer; /* arrays and versions: in their own order */
};

/* ---- The walk ---- */

/* What went down with a device is made again, or has failed. */
static void settle_lost(struct trace *t, struct version *v)
{
	struct err lost = {0};

	if (v->state != VERSION_STORED || !storage_lost(v->storage) || version_revive(t, v))
		return;
	err_set(&lost, E_LOST, "lost: the array was only on a device that failed");
	version_fail(t, v, &lost);
}

static void visit(struct save *s, struct version *v)
{
	if (!v || v->mark == s->t->mark)
		return;
	v->mark = s->t->mark;
	settle_lost(s->t, v);
	numbers_add(&s->version, v);
	v->index = (uint32_t)s->version.n;
}

static void walk(struct save *s, const struct ticket_list *tickets, uint32_t **ids)
{
	struct trace *t = s->t;
	uint32_t n = t->live_arrays, found = 0;

	t->mark++;
	*ids = handover_pile_take(s->pile, n * sizeof **ids);
	for (uint32_t id = 1; id < LIMIT_IDS && found < n; id++) {
		struct array *a = trace_array(t, id);

		if (!a)
			continue;
		(*ids)[found++] = id;
		numbers_add(&s->array, a);
		if (!a->frozen)
			numbers_add(&s->buffer, a->buffer);
		visit(s, trace_current(a));
	}
	for (const struct ticket *k = tickets->first; k; k = k->next)
		for (uint32_t i = 0; i < k->n + k->nalso; i++)
			visit(s, k->version[i]);
	for (size_t i = 0; i < s->version.n; i++) {
		const struct version *v = s->version.at[i];

		if (v->state == VERSION_STORED)
			numbers_add(&s->storage, v->storage);
		if (v->state != VERSION_PENDING)
			continue;
		for (int j = 0; j < v->node->nin; j++)
			visit(s, v->node->in[j].version);
		visit(s, v->node->prev);
	}
	numbers_seal(&s->buffer);
	numbers_seal(&s->storage);
}

/* ---- The message ---- */

/* n messages of a type, with the list that protobuf-c wants of them. */
#define MAKE(s, type, n, init, list, items)                                                        \
	do {                                                                                       \
		items = handover_pile_take((s)->pile, (n) * sizeof(type));                         \
		list = handover_pile_take((s)->pile, (n) * sizeof(type *));                        \
		for (size_t made = 0; made < (n); made++) {                                        \
			init(&items[made]);                                                        \
			list[made] = &items[made];                                                 \
		}                                                                                  \
	} while (0)

Braze__Handover__View *handover_save_view(struct handover_pile *p, const struct view *v)
{
	Braze__Handover__View *m = handover_pile_take(p, sizeof *m);

	braze__handover__view__init(m);
	m->dtype = v->dtype;
	m->offset = v->offset;
	m->n_dim = m->n_stride = v->shape.ndim;
	m->dim = (int64_t *)v->shape.dim;
	m->stride = (int64_t *)v->stride;
	return m;
}

static Braze__Handover__View *save_view(struct save *s, const struct view *v)
{
	return handover_save_view(s->pile, v);
}

static uint32_t number_of(const struct version *v)
{
	return v ? v->index : 0;
}

static Braze__Handover__Node *save_node(struct save *s, struct node *n)
{
	Braze__Handover__Node *m = handover_pile_take(s->pile, sizeof *m);
	Braze__Handover__Operand *in = NULL;

	braze__handover__node__init(m);
	m->op = n->op;
	m->dtype = n->dtype;
	m->seq = n->seq;
	m->device = n->device;
	m->axes = n->axes;
	m->recipe = n->recipe;
	m->prev = number_of(n->prev);
	m->view = save_view(s, &n->view);
	m->n_in = n->nin;
	MAKE(s, Braze__Handover__Operand, m->n_in, braze__handover__operand__init, m->in, in);
	for (int j = 0; j < n->nin; j++) {
		struct operand *o = &n->in[j];
		struct view of_imm = {.dtype = o->view.dtype};

		in[j].version = number_of(o->version);
		in[j].view = save_view(s, o->version ? &o->view : &of_imm);
		in[j].n_imm = o->version ? 0 : 2;
		in[j].imm = o->imm;
	}
	return m;
}

static void save_versions(struct save *s, Braze__Handover__Trace *m)
{
	Braze__Handover__Version *out = NULL;

	m->n_version = s->version.n;
	MAKE(s, Braze__Handover__Version, m->n_version, braze__handover__version__init, m->version,
	     out);
	for (size_t i = 0; i < s->version.n; i++) {
		struct version *v = s->version.at[i];

		out[i].bytes = v->bytes;
		out[i].home = v->home;
		if (v->state == VERSION_STORED) {
			out[i].storage = numbers_of(&s->storage, v->storage);
		} else if (v->state == VERSION_FAILED) {
			out[i].error = v->error->code;
			out[i].text = v->error->text;
		} else {
			out[i].node = save_node(s, v->node);
		}
	}
}

static void save_storages(struct save *s, Braze__Handover__Trace *m)
{
	Braze__Handover__Storage *out = NULL;

	m->n_storage = s->storage.n;
	MAKE(s, Braze__Handover__Storage, m->n_storage, braze__handover__storage__init, m->storage,
	     out);
	for (size_t i = 0; i < s->storage.n; i++) {
		const struct storage *st = s->storage.at[i];

		out[i].placed = st->placed;
		out[i].offset = st->extent.offset;
		out[i].extent = st->extent.bytes;
		out[i].bytes = st->bytes;
		out[i].plan = st->plan;
		out[i].made_on = st->made_on;
		out[i].reads = st->reads;
		out[i].region = st->share ? st->share->region : 0;
		out[i].home = st->home;
	}
}

static void save_names(struct save *s, Braze__Handover__Trace *m, const uint32_t *ids)
{
	Braze__Handover__Buffer *buffer = NULL;
	Braze__Handover__Array *out = NULL;

	m->n_buffer = s->buffer.n;
	MAKE(s, Braze__Handover__Buffer, m->n_buffer, braze__handover__buffer__init, m->buffer,
	     buffer);
	for (size_t i = 0; i < s->buffer.n; i++) {
		const struct buffer *b = s->buffer.at[i];

		buffer[i].bytes = b->bytes;
		buffer[i].version = b->current->index;
	}
	m->n_array = s->array.n;
	MAKE(s, Braze__Handover__Array, m->n_array, braze__handover__array__init, m->array, out);
	for (size_t i = 0; i < s->array.n; i++) {
		const struct array *a = s->array.at[i];

		out[i].id = ids[i];
		out[i].buffer = a->frozen ? 0 : numbers_of(&s->buffer, a->buffer);
		out[i].frozen = number_of(a->frozen);
		out[i].view = save_view(s, &a->view);
	}
}

static void save_grids(struct save *s, Braze__Handover__Trace *m)
{
	const struct grid_names *names = &s->t->grids;
	Braze__Handover__Grid *out = NULL;

	for (uint32_t i = 0; i < names->n; i++)
		m->n_grid += names->grid[i] != NULL;
	MAKE(s, Braze__Handover__Grid, m->n_grid, braze__handover__grid__init, m->grid, out);
	for (uint32_t i = 0; i < names->n; i++) {
		struct grid *g = names->grid[i];

		if (!g)
			continue;
		out->number = i + 1;
		out->grid = g->number;
		out->text = g->text;
		out->range = g->is.range;
		out->levels = g->is.levels;
		out->fast = g->is.fast;
		out->only = g->is.only;
		out->sum = g->is.sum;
		out->keeps = g->is.keeps;
		out++;
	}
}

static void save_arena(struct save *s, Braze__Handover__Session *m)
{
	Braze__Handover__Arena *out = handover_pile_take(s->pile, sizeof *out);
	Braze__Handover__Piece *piece = NULL;
	struct arena_state state;

	arena_save(s->t->arena, &state);
	braze__handover__arena__init(out);
	out->fd = state.fd;
	out->top = state.top;
	out->merged_warm = state.merged_warm;
	out->peak_bytes = state.peak_bytes;
	out->busy_peak = state.busy_peak;
	out->allocs = state.allocs;
	out->frees = state.frees;
	out->n_piece = state.n;
	MAKE(s, Braze__Handover__Piece, state.n, braze__handover__piece__init, out->piece, piece);
	for (size_t i = 0; i < state.n; i++) {
		piece[i].use = state.piece[i].use;
		piece[i].offset = state.piece[i].extent.offset;
		piece[i].bytes = state.piece[i].extent.bytes;
		piece[i].freed = state.piece[i].freed;
	}
	free(state.piece);
	m->arena = out;
}

static Braze__Handover__Publishing *save_publishing(struct save *s, struct publishing *what)
{
	Braze__Handover__Publishing *m = handover_pile_take(s->pile, sizeof *m);

	braze__handover__publishing__init(m);
	m->view = save_view(s, &what->view);
	m->access = what->access;
	m->number = what->number;
	m->copied = what->copied;
	m->moved = what->moved;
	m->label = what->label;
	return m;
}

static void save_tickets(struct save *s, Braze__Handover__Session *m,
			 const struct ticket_list *tickets)
{
	Braze__Handover__Ticket *out = NULL;
	size_t n = 0;

	for (const struct ticket *t = tickets->first; t; t = t->next)
		n++;
	m->n_ticket = n;
	MAKE(s, Braze__Handover__Ticket, n, braze__handover__ticket__init, m->ticket, out);
	for (const struct ticket *t = tickets->first; t; t = t->next, out++) {
		out->id = t->id;
		out->kind = t->kind;
		out->cancelled = t->cancelled;
		out->since_ns = t->since_ns;
		out->answers = t->nanswer;
		out->waits = t->n;
		out->n_version = t->n + t->nalso;
		if (t->publishing)
			out->publishing = save_publishing(s, t->publishing);
		out->version = handover_pile_take(s->pile, out->n_version * sizeof *out->version);
		for (size_t i = 0; i < out->n_version; i++)
			out->version[i] = t->version[i]->index;
	}
}

void handover_save(Braze__Handover__Session *m, struct handover_pile *p, struct trace *t,
		   const struct ticket_list *tickets)
{
	struct save s = {.t = t, .pile = p};
	Braze__Handover__Trace *out = handover_pile_take(p, sizeof *out);
	uint32_t *ids = NULL;

	walk(&s, tickets, &ids);
	braze__handover__trace__init(out);
	out->seq = t->seq;
	out->ops = t->stats.ops;
	out->dead_ops = t->stats.dead_ops;
	out->arrays = t->stats.arrays;
	out->share_from = t->share_from == UINT64_MAX ? 0 : t->share_from;
	save_storages(&s, out);
	save_versions(&s, out);
	save_names(&s, out, ids);
	save_grids(&s, out);
	m->trace = out;
	save_arena(&s, m);
	save_tickets(&s, m, tickets);
	free(s.array.at);
	free(s.version.at);
	free(s.storage.at);
	free(s.buffer.at);
}
