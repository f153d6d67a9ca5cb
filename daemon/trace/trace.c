/* SPDX-License-Identifier: Apache-2.0 */
/* Reference counts among arrays, buffers, versions and nodes.  Releasing a version
 * may release a chain of nodes as long as the trace, so it is done with a list,
 * never by recursion. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"

/* Ids that share a leaf of the table.  A packet of ids that lie far apart costs a
 * leaf each and a page of pointers to leaves for every 512 leaves' ids: at this
 * size the two together are least. */
#define LEAF_IDS 32u
#define LEAVES	 (LIMIT_IDS / LEAF_IDS)

#define FREE_MEMORY (4u << 20) /* of a connection's records that no quota is charged with */

void trace_init(struct trace *t, struct arena *arena, uint64_t quota_bytes)
{
	memset(t, 0, sizeof *t);
	t->arena = arena;
	t->quota_bytes = quota_bytes;
	t->share_from = UINT64_MAX;
	for (size_t n = 0; n < TRACE_NODES; n++) {
		size_t operands = n <= OP_OPERANDS ? n : (size_t)8 << (n - OP_OPERANDS - 1);

		slab_init(&t->nodes[n], sizeof(struct node) + operands * sizeof(struct operand),
			  &t->memory);
	}
	slab_init(&t->versions, sizeof(struct version), &t->memory);
	slab_init(&t->buffers, sizeof(struct buffer), &t->memory);
	slab_init(&t->arrays, sizeof(struct array), &t->memory);
	slab_init(&t->storages, sizeof(struct storage), &t->memory);
	slab_init(&t->leaves, LEAF_IDS * sizeof(struct array *), &t->memory);
}

bool trace_clear_some(struct trace *t)
{
	struct err err;

	while (t->nleaf) {
		uint32_t i = t->nleaf - 1;
		bool used = t->leaf[i] != NULL;

		for (uint32_t id = i * LEAF_IDS; used && id < (i + 1) * LEAF_IDS; id++)
			if (trace_array(t, id) && trace_drop(t, id, &err))
				abort();
		if (used)
			slab_give(&t->leaves, t->leaf[i]);
		t->nleaf--;
		if (used && t->nleaf)
			return false;
	}
	free(t->leaf);
	free(t->has_leaf);
	t->leaf = NULL;
	t->has_leaf = NULL;
	return true;
}

void trace_clear(struct trace *t)
{
	while (!trace_clear_some(t))
		;
}

bool trace_finish_some(struct trace *t)
{
	struct slab *all[] = {&t->versions, &t->buffers, &t->arrays, &t->storages, &t->leaves};
	const size_t n = TRACE_NODES + sizeof all / sizeof all[0];

	grid_names_clear(&t->grids); /* no operation is left that could name one */
	for (size_t i = 0; i < n; i++) {
		struct slab *s = i < TRACE_NODES ? &t->nodes[i] : all[i - TRACE_NODES];
		bool large = s->chunks != NULL;

		if (!slab_finish_some(s))
			return false;
		if (large && i + 1 < n)
			return false;
	}
	return true;
}

void trace_finish(struct trace *t)
{
	trace_clear(t);
	while (!trace_finish_some(t))
		;
}

uint64_t trace_charge(const struct trace *t)
{
	return t->memory > FREE_MEMORY ? t->memory - FREE_MEMORY : 0;
}

uint64_t trace_live(const struct trace *t)
{
	struct arena_stats stats;

	arena_get_stats(t->arena, &stats);
	return stats.live_bytes + t->share_bytes - t->spare_bytes + t->export_bytes;
}

enum status trace_over(const struct trace *t, struct err *err)
{
	size_t at = strlen(err->text);

	if (t->bound && at + 3 < sizeof err->text) {
		memcpy(err->text + at, "; ", 3);
		t->bound(t, err->text + at + 2, sizeof err->text - at - 2);
	}
	return err->code;
}

/* Names cost the daemon memory, which their owner's quota pays. */
static enum status room(struct trace *t, struct err *err)
{
	if (t->memory < FREE_MEMORY || !t->quota_bytes ||
	    (!slab_full(&t->arrays) && !slab_full(&t->buffers) && !slab_full(&t->leaves)))
		return OK;
	if (trace_live(t) + trace_charge(t) <= t->quota_bytes)
		return OK;
	err_set(err, E_NOMEM,
		"%u arrays and views are named, whose %llu MiB of records with %llu MiB of data "
		"pass the quota's rest, %llu MiB (quota_bytes)",
		t->live_arrays, (unsigned long long)(t->memory >> 20),
		(unsigned long long)(trace_live(t) >> 20),
		(unsigned long long)(t->quota_bytes >> 20));
	return trace_over(t, err);
}

enum status trace_charge_more(struct trace *t, uint64_t bytes, struct err *err)
{
	t->memory += bytes;
	if (!t->quota_bytes || !trace_charge(t) ||
	    trace_live(t) + trace_charge(t) <= t->quota_bytes)
		return OK;
	t->memory -= bytes;
	err_set(err, E_NOMEM, "records of %llu MiB pass the quota's rest, %llu MiB (quota_bytes)",
		(unsigned long long)(t->memory >> 20), (unsigned long long)(t->quota_bytes >> 20));
	return trace_over(t, err);
}

struct array *trace_array(struct trace *t, uint32_t id)
{
	uint32_t i = id / LEAF_IDS;

	return i < t->nleaf && t->leaf[i] ? t->leaf[i][id % LEAF_IDS] : NULL;
}

struct version *trace_current(const struct array *a)
{
	return a->frozen ? a->frozen : a->buffer->current;
}

struct storage *storage_bare(struct trace *t, uint64_t bytes, enum home home)
{
	struct storage *s = slab_take(&t->storages);

	*s = (struct storage){.bytes = bytes, .refs = 1, .home = (uint8_t)home};
	return s;
}

/* Memory of its own, where it is to have that; what cannot be had lies in the arena. */
static bool place_apart(struct trace *t, struct storage *s)
{
	struct err ignored;
	bool wanted = s->home == HOME_SHARE;

	if (!t->shares || t->leaving || !s->bytes || s->home == HOME_ARENA ||
	    (!wanted && s->bytes < t->share_from))
		return false;
	/* Fresh pages cost more than most computations on them. */
	if (!wanted && !share_has_spare(t, s->bytes) && arena_has_warm(t->arena, s->bytes))
		return false;
	/* What is large anyway leaves room for what is to be published. */
	return share_take(&s->share, t, s->bytes, wanted ? LIMIT_SHARES : LIMIT_SHARES / 2,
			  &ignored) == OK;
}

enum status storage_place(struct trace *t, struct storage *s, struct err *err)
{
	uint64_t used = 0;

	if (s->placed)
		return OK;
	used = trace_live(t) + trace_charge(t);
	if (t->quota_bytes && used + s->bytes > t->quota_bytes) {
		err_set(err, E_NOMEM,
			"%llu bytes would pass what the quota leaves to the connection, %llu MiB "
			"(%llu MiB in use): delete arrays or raise quota_bytes",
			(unsigned long long)s->bytes, (unsigned long long)(t->quota_bytes >> 20),
			(unsigned long long)(used >> 20));
		return trace_over(t, err);
	}
	s->placed = place_apart(t, s) || arena_alloc(t->arena, &s->extent, s->bytes, err) == OK;
	return s->placed ? OK : err->code;
}

struct storage *storage_create(struct trace *t, uint64_t bytes, enum home home, struct err *err)
{
	struct storage *s = storage_bare(t, bytes, home);
	struct arena_stats before, after;

	arena_get_stats(t->arena, &before);
	if (storage_place(t, s, err)) {
		slab_give(&t->storages, s);
		return NULL;
	}
	arena_get_stats(t->arena, &after);
	s->fresh = s->share ? s->share->fresh : after.fresh_bytes != before.fresh_bytes;
	s->host = 1;
	return s;
}

struct storage *storage_open(struct trace *t, struct share *h)
{
	struct storage *s = storage_bare(t, h->bytes, HOME_SHARE);

	s->share = h;
	s->placed = s->host = 1;
	return s;
}

struct storage *storage_adopt(struct trace *t, const struct extent *e, uint64_t bytes)
{
	struct storage *s = storage_bare(t, bytes, HOME_ARENA);

	s->extent = *e;
	s->placed = s->host = 1;
	return s;
}

bool storage_lost(const struct storage *s)
{
	return !s->host && !s->mirror && !s->writing;
}

struct storage *storage_ref(struct storage *s)
{
	s->refs++;
	return s;
}

void storage_unref(struct trace *t, struct storage *s)
{
	if (!s || --s->refs)
		return;
	while (s->mirror)
		t->drop_mirror(s->mirror);
	if (s->share) {
		s->share->fresh &= s->fresh;
		share_unref(t->shares, s->share);
	} else if (s->placed && s->fresh) {
		arena_free_fresh(t->arena, &s->extent);
	} else if (s->placed) {
		arena_free(t->arena, &s->extent);
	}
	slab_give(&t->storages, s);
}

_Static_assert(LIMIT_OPERANDS == 8 << (TRACE_NODES - OP_OPERANDS - 2), "the largest node");

static struct slab *slab_of_nodes(struct trace *t, unsigned nin)
{
	unsigned more = 0;

	if (nin <= OP_OPERANDS)
		return &t->nodes[nin];
	while (nin > 8u << more)
		more++;
	return &t->nodes[OP_OPERANDS + 1 + more];
}

struct node *trace_node(struct trace *t, int nin)
{
	struct node *n = slab_take(slab_of_nodes(t, (unsigned)nin));

	memset(n, 0, offsetof(struct node, view));
	n->nin = (uint8_t)nin;
	n->seq = ++t->seq;
	n->device = t->device;
	n->older = t->newest;
	if (t->newest)
		t->newest->newer = n;
	else
		t->oldest = n;
	t->newest = n;
	t->npending++;
	return n;
}

/* Back to its place in the order of the trace. */
static void link_node(struct trace *t, struct node *n)
{
	n->older = t->newest;
	while (n->older && n->older->seq > n->seq)
		n->older = n->older->older;
	n->newer = n->older ? n->older->newer : t->oldest;
	*(n->older ? &n->older->newer : &t->oldest) = n;
	*(n->newer ? &n->newer->older : &t->newest) = n;
	t->npending++;
}

static void unlink_node(struct trace *t, struct node *n)
{
	if (n->older)
		n->older->newer = n->newer;
	else
		t->oldest = n->newer;
	if (n->newer)
		n->newer->older = n->older;
	else
		t->newest = n->older;
	t->npending--;
	t->nrunning -= n->running;
	n->running = 0;
}

void version_run(struct trace *t, struct version *v)
{
	v->state = VERSION_RUNNING;
	v->node->running = 1;
	t->nrunning++;
}

void version_wait(struct trace *t, struct version *v)
{
	v->state = VERSION_PENDING;
	t->nrunning -= v->node->running;
	v->node->running = 0;
}

struct version *version_create(struct trace *t, uint64_t bytes, enum version_state state)
{
	struct version *v = slab_take(&t->versions);

	*v = (struct version){.bytes = bytes, .refs = 1, .state = (uint8_t)state};
	return v;
}

struct version *version_ref(struct version *v)
{
	v->refs++;
	return v;
}

bool version_alone(const struct version *v)
{
	const struct storage *s = v->storage;

	return v->state == VERSION_STORED && v->refs == 2 && v->named == 1 && !v->pins &&
	       !v->holds && s->refs == 1 && s->host && !s->share && !s->mirror && !s->fetching;
}

/* Versions that lost their last reference and wait to be freed, linked through
 * v->error, which a dying version no longer needs. */
struct dying {
	struct version *head;
};

static void let_go(struct dying *d, struct version *v)
{
	if (--v->refs || v->holds)
		return;
	free(v->error);
	v->error = (struct err *)d->head;
	d->head = v;
}

static void release_node(struct trace *t, struct dying *d, struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i].version) {
			n->in[i].version->feeds -= n->apart;
			let_go(d, n->in[i].version);
		}
	if (n->prev)
		let_go(d, n->prev);
	if (!n->apart)
		unlink_node(t, n);
	slab_give(slab_of_nodes(t, n->nin), n);
}

static void forget_remote(struct trace *t, const struct version *v)
{
	for (uint32_t i = 0; i < t->nremote; i++)
		if (t->remote[i] == v)
			t->remote[i] = t->remote[--t->nremote];
}

static void drain(struct trace *t, struct dying *d)
{
	while (d->head) {
		struct version *v = d->head;

		d->head = (struct version *)v->error;
		if (v->node) {
			t->stats.dead_ops += v->state == VERSION_PENDING && !v->node->apart;
			if (v->state == VERSION_STORED)
				forget_remote(t, v);
			release_node(t, d, v->node);
		}
		if (v->storage && !v->named)
			t->held_bytes -= v->bytes;
		storage_unref(t, v->storage);
		slab_give(&t->versions, v);
	}
}

void version_unref(struct trace *t, struct version *v)
{
	struct dying d = {0};

	let_go(&d, v);
	drain(t, &d);
}

void version_hold(struct version *v)
{
	v->holds++;
}

void version_unhold(struct trace *t, struct version *v)
{
	struct dying d = {0};

	v->holds--;
	if (!v->refs && !v->holds) {
		v->refs = 1;
		let_go(&d, v);
		drain(t, &d);
	}
}

/* The version has its value, or never will: its node is no longer needed. */
static void settle(struct trace *t, struct version *v)
{
	struct dying d = {0};

	if (v->node)
		release_node(t, &d, v->node);
	v->node = NULL;
	drain(t, &d);
}

void version_attach(struct trace *t, struct version *v, struct storage *s)
{
	v->storage = s;
	if (!v->named)
		t->held_bytes += v->bytes;
}

void version_detach(struct trace *t, struct version *v)
{
	if (!v->storage)
		return;
	if (!v->named)
		t->held_bytes -= v->bytes;
	storage_unref(t, v->storage);
	v->storage = NULL;
}

void version_store(struct trace *t, struct version *v)
{
	v->state = VERSION_STORED;
	settle(t, v);
}

/* ---- Values that can be made again ---- */

/* Can the node's result be made from named arrays on the host in `left` operations? */
static bool is_recipe(const struct node *n, unsigned *left)
{
	unsigned kind = op_row(n->op)->kind;

	if (!*left || n->op == OP_EMPTY || (kind != KIND_EW && kind != KIND_CREATE))
		return false;
	--*left;
	for (int i = 0; i < n->nin; i++) {
		const struct version *v = n->in[i].version;

		if (v && v->state == VERSION_STORED && !v->named)
			return false;
		if (v && !(v->state == VERSION_STORED && v->storage->host) &&
		    !(v->node && is_recipe(v->node, left)))
			return false;
	}
	return true;
}

/* Take the chain out of the list of what is to be run, or put it back.  A value that
 * has a name stays in it: somebody may still ask for it. */
static void set_apart(struct trace *t, struct node *n, bool apart)
{
	if (n->apart == apart)
		return;
	n->apart = apart;
	if (apart)
		unlink_node(t, n);
	else
		link_node(t, n);
	for (int i = 0; i < n->nin; i++) {
		struct version *v = n->in[i].version;

		if (!v)
			continue;
		v->feeds += apart ? 1u : -1u;
		if (v->state == VERSION_PENDING && !v->named)
			set_apart(t, v->node, apart);
	}
}

static bool chain_uses(const struct node *n, const struct version *v)
{
	for (int i = 0; i < n->nin; i++) {
		const struct version *in = n->in[i].version;

		if (in == v ||
		    (in && in->state != VERSION_STORED && in->node && chain_uses(in->node, v)))
			return true;
	}
	return false;
}

/* The version's value cannot be made again any more. */
static void drop_recipe(struct trace *t, struct version *v)
{
	forget_remote(t, v);
	settle(t, v);
}

void version_store_remote(struct trace *t, struct version *v)
{
	unsigned left = LIMIT_RECIPE_OPS;

	v->state = VERSION_STORED;
	if (!is_recipe(v->node, &left)) {
		settle(t, v);
		return;
	}
	if (t->nremote == TRACE_RECIPES)
		drop_recipe(t, t->remote[0]);
	set_apart(t, v->node, true);
	t->remote[t->nremote++] = v;
}

bool version_revive(struct trace *t, struct version *v)
{
	if (v->state != VERSION_STORED || !v->node)
		return false;
	forget_remote(t, v);
	set_apart(t, v->node, false);
	version_detach(t, v);
	v->state = VERSION_PENDING;
	return true;
}

/* With one recipe others may go, of values that only it needed: after each the list is another. */
void version_forget_uses(struct trace *t, const struct version *v)
{
	for (uint32_t i = t->nremote; i-- > 0 && v->feeds;)
		if (chain_uses(t->remote[i]->node, v)) {
			drop_recipe(t, t->remote[i]);
			i = t->nremote;
		}
}

void version_fail(struct trace *t, struct version *v, const struct err *err)
{
	v->state = VERSION_FAILED;
	if (!v->error)
		v->error = xmalloc(sizeof *v->error);
	*v->error = *err;
	settle(t, v);
}

/* Stored values without a name are kept for pending nodes only: held_bytes. */
static void name_add(struct trace *t, struct version *v)
{
	if (!v->named++ && v->storage)
		t->held_bytes -= v->bytes;
}

static void name_drop(struct trace *t, struct version *v)
{
	if (--v->named)
		return;
	if (v->storage)
		t->held_bytes += v->bytes;
	if (v->feeds)
		version_forget_uses(t, v);
}

static void buffer_unref(struct trace *t, struct buffer *b)
{
	if (--b->refs)
		return;
	name_drop(t, b->current);
	version_unref(t, b->current);
	slab_give(&t->buffers, b);
}

void trace_supersede(struct trace *t, struct buffer *b, struct version *v)
{
	struct version *old = b->current;

	b->current = v;
	if (old) {
		name_drop(t, old);
		version_unref(t, old);
	}
	name_add(t, v);
}

static void make_leaf(struct trace *t, uint32_t i)
{
	if (!t->leaf) {
		t->leaf = xcalloc(LEAVES, sizeof *t->leaf);
		t->has_leaf = xcalloc(LEAVES / 64, sizeof *t->has_leaf);
	}
	t->leaf[i] = slab_take(&t->leaves);
	memset(t->leaf[i], 0, LEAF_IDS * sizeof **t->leaf);
	t->has_leaf[i / 64] |= 1ull << i % 64;
	if (i >= t->nleaf)
		t->nleaf = i + 1;
}

/* Room for `id` in the table, which must name nothing yet.  Where no leaf is, its
 * pointer is not read first: that would be a fault of its own on an untouched page. */
static enum status slot(struct trace *t, uint32_t id, struct err *err)
{
	uint32_t i = id / LEAF_IDS;
	enum status st;

	if (!id || id >= LIMIT_IDS)
		return err_set(err, E_PROTOCOL, "array id %u is out of range", id);
	st = room(t, err);
	if (st)
		return st;
	if (!t->leaf || !(t->has_leaf[i / 64] >> i % 64 & 1))
		make_leaf(t, i);
	else if (t->leaf[i][id % LEAF_IDS])
		return err_set(err, E_PROTOCOL, "array id %u is in use", id);
	return OK;
}

static struct array *put(struct trace *t, uint32_t id, const struct view *view)
{
	struct array *a = slab_take(&t->arrays);

	a->buffer = NULL;
	a->frozen = NULL;
	a->exported = NULL;
	view_copy(&a->view, view);
	t->leaf[id / LEAF_IDS][id % LEAF_IDS] = a;
	t->live_arrays++;
	t->stats.arrays++;
	return a;
}

enum status trace_define(struct trace *t, uint32_t id, const struct view *view, uint64_t bytes,
			 struct version *v, struct err *err)
{
	enum status st = slot(t, id, err);
	struct buffer *b;

	if (st) {
		version_unref(t, v);
		return st;
	}
	b = slab_take(&t->buffers);
	*b = (struct buffer){.bytes = bytes, .refs = 1};
	put(t, id, view)->buffer = b;
	trace_supersede(t, b, v);
	return OK;
}

enum status trace_define_view(struct trace *t, uint32_t id, struct array *a,
			      const struct view *view, struct err *err)
{
	enum status st = slot(t, id, err);
	struct array *n;

	if (st)
		return st;
	n = put(t, id, view);
	if (a->frozen) {
		n->frozen = version_ref(a->frozen);
		n->frozen->pins++;
		name_add(t, n->frozen);
	} else {
		n->buffer = a->buffer;
		n->buffer->refs++;
	}
	return OK;
}

enum status trace_define_frozen(struct trace *t, uint32_t id, struct array *a, struct err *err)
{
	enum status st = slot(t, id, err);
	struct array *n;

	if (st)
		return st;
	n = put(t, id, &a->view);
	n->frozen = version_ref(trace_current(a));
	n->frozen->pins++;
	name_add(t, n->frozen);
	return OK;
}

enum status trace_define_value(struct trace *t, uint32_t id, const struct view *view,
			       struct version *v, struct err *err)
{
	enum status st = slot(t, id, err);

	if (st) {
		version_unref(t, v);
		return st;
	}
	put(t, id, view)->frozen = v;
	v->pins++;
	name_add(t, v);
	return OK;
}

void trace_export(struct trace *t, struct array *a)
{
	if (a->exported)
		return;
	a->exported = storage_ref(a->frozen->storage);
	a->exported->exports++;
	t->nexport++;
	t->export_bytes += a->exported->bytes;
}

void trace_export_end(struct trace *t, struct array *a)
{
	struct storage *s = a->exported;

	if (!s)
		return;
	a->exported = NULL;
	s->exports--;
	t->nexport--;
	t->export_bytes -= s->bytes;
	storage_unref(t, s);
}

enum status trace_drop(struct trace *t, uint32_t id, struct err *err)
{
	struct array *a = trace_array(t, id);

	if (!a)
		return err_set(err, E_UNKNOWN_ARRAY, "drop of array %u, which does not exist", id);
	t->leaf[id / LEAF_IDS][id % LEAF_IDS] = NULL;
	t->live_arrays--;
	trace_export_end(t, a);
	if (a->frozen) {
		a->frozen->pins--;
		name_drop(t, a->frozen);
		version_unref(t, a->frozen);
	} else {
		buffer_unref(t, a->buffer);
	}
	slab_give(&t->arrays, a);
	return OK;
}
