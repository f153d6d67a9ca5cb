/* SPDX-License-Identifier: Apache-2.0 */
#include "demand.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "demand_impl.h"

#define NO_RECIPE 255

/* A large value that only pending operations read would be stored for them, in a loop one in
 * each turn. */
#define ALONG_LOOK  4096 /* nodes */
#define ALONG	    254	 /* node.chain, while they are looked for */
#define ALONG_SMALL 253	 /* the same, of what is small and reads what is computed anyway */
#define SMALL	    8192 /* elements that such an operation reads at most */

static void found_push(struct found *f, struct node *n)
{
	if (f->n == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 64;
		f->node = xrealloc(f->node, f->cap, sizeof *f->node);
	}
	f->node[f->n++] = n;
}

static void visit(struct found *f, struct trace *t, struct version *v)
{
	if (!v || v->state != VERSION_PENDING || v->node->mark == t->mark)
		return;
	v->node->mark = t->mark;
	found_push(f, v->node);
}

/* One digit of a radix sort: the nodes of `from` to `to`, by a byte of their numbers. */
static void sort_digit(struct node **to, struct node *const *from, size_t n, uint64_t least,
		       unsigned shift)
{
	size_t at[257] = {0};

	for (size_t i = 0; i < n; i++)
		at[((from[i]->seq - least) >> shift & 255) + 1]++;
	for (unsigned d = 0; d < 256; d++)
		at[d + 1] += at[d];
	for (size_t i = 0; i < n; i++)
		to[at[(from[i]->seq - least) >> shift & 255]++] = from[i];
}

/* Oldest first.  Linear: numbers lie close together, so one or two bytes tell them apart. */
static void sort_nodes(struct found *f)
{
	uint64_t least = UINT64_MAX, most = 0;
	struct node **spare = NULL;

	for (size_t i = 0; i < f->n; i++) {
		least = f->node[i]->seq < least ? f->node[i]->seq : least;
		most = f->node[i]->seq > most ? f->node[i]->seq : most;
	}
	if (f->n < 2)
		return;
	spare = xcalloc(f->cap, sizeof(struct node *));
	for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += 8) {
		struct node **sorted = spare;

		sort_digit(sorted, f->node, f->n, least, shift);
		spare = f->node;
		f->node = sorted;
	}
	free(spare);
}

/* Every pending node behind the wanted versions.  The list is its own work list:
 * no recursion, however long the chain. */
static void walk(struct found *f, struct trace *t, struct version *const *want, size_t n)
{
	t->mark++;
	for (size_t i = 0; i < n; i++)
		visit(f, t, want[i]);
	for (size_t i = 0; i < f->n; i++) {
		struct node *x = f->node[i];

		for (int j = 0; j < x->nin; j++)
			visit(f, t, x->in[j].version);
		visit(f, t, x->prev);
	}
	sort_nodes(f);
}

static bool in_partition(const struct version *v, const struct trace *t)
{
	return v->state == VERSION_PENDING && v->node->mark == t->mark;
}

/* Does n need nothing but what is stored or computed anyway, among it something large that nobody
 * can name? */
static bool goes_along(const struct node *n, const struct found *f, const struct trace *t)
{
	bool large = false;

	if (n->running || n->apart || n->prev || n->device != f->node[0]->device)
		return false;
	for (int j = 0; j < n->nin; j++) {
		const struct version *v = n->in[j].version;

		if (!v || v->state == VERSION_STORED)
			continue;
		if (v->state != VERSION_PENDING || v->node->seq < f->node[0]->seq)
			return false;
		if (v->node->mark != t->mark && v->node->chain != ALONG)
			return false;
		large |= v->node->mark != t->mark || (!v->named && v->bytes > LIMIT_RECIPE_BYTES);
	}
	return large;
}

static bool reads_little(const struct shape *s)
{
	int64_t count = 1;

	for (unsigned i = 0; i < s->ndim && count <= SMALL; i++)
		if (__builtin_mul_overflow(count, s->dim[i], &count))
			return false;
	return count <= SMALL;
}

/* Does n need nothing but what is stored or computed anyway, among it something computed, and is
 * all of it small? */
static bool small_along(const struct node *n, const struct found *f, const struct trace *t)
{
	bool computed = false;

	if (n->running || n->apart || n->prev || n->device != f->node[0]->device ||
	    n->out->bytes > LIMIT_RECIPE_BYTES)
		return false;
	for (int j = 0; j < n->nin; j++) {
		const struct version *v = n->in[j].version;

		if (!v)
			continue;
		if (!reads_little(&n->in[j].view.shape))
			return false;
		if (v->state == VERSION_STORED)
			continue;
		if (v->state != VERSION_PENDING || v->node->seq < f->node[0]->seq)
			return false;
		if (v->node->mark != t->mark && v->node->chain != ALONG_SMALL)
			return false;
		computed = true;
	}
	return computed;
}

/* Does it go along: a reduction of something large, or something small that has a name?  Notes of
 * anything else whether it would. */
static bool is_along(struct node *x, const struct found *f, const struct trace *t)
{
	unsigned kind = op_row(x->op)->kind;
	bool reduces = kind == KIND_RED || kind == KIND_ARGRED;

	x->chain = 0;
	if (!reduces && kind != KIND_EW)
		return false;
	if (goes_along(x, f, t))
		x->chain = ALONG;
	else if (small_along(x, f, t))
		x->chain = ALONG_SMALL;
	return x->chain == ALONG ? reduces && x->out->bytes <= LIMIT_RECIPE_BYTES
				 : x->chain && x->out->named;
}

/* Reductions that the program has asked for as well, of values that are computed anyway and would
 * have to be kept for them: they run along, with the elementwise operations between.  NumPy would
 * have done both by now.  So do small results that the program can name: the client is told of
 * them (Demand.also), and what it does with them next is at hand and not pending. */
static void take_along(struct found *f, struct trace *t)
{
	size_t first = f->n, looked = 0, from = 0;

	if (t->npending - t->nrunning == f->n)
		return;				    /* there is nothing else */
	while (from < f->n && f->node[from]->apart) /* which nothing comes behind */
		from++;
	if (from == f->n)
		return;
	for (struct node *x = f->node[from]; x && looked < ALONG_LOOK; x = x->newer, looked++)
		if (x->mark != t->mark && is_along(x, f, t))
			visit(f, t, x->out);
	for (size_t i = first; i < f->n; i++)
		for (int j = 0; j < f->node[i]->nin; j++)
			visit(f, t, f->node[i]->in[j].version);
	if (f->n > first)
		sort_nodes(f);
}

static const struct err *failed_input(const struct node *n)
{
	for (int j = 0; j < n->nin; j++)
		if (n->in[j].version && n->in[j].version->state == VERSION_FAILED)
			return n->in[j].version->error;
	return n->prev && n->prev->state == VERSION_FAILED ? n->prev->error : NULL;
}

static bool any_failed(const struct found *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (failed_input(f->node[i]))
			return true;
	return false;
}

/* Versions that read a failed one fail with the same origin; their nodes go, and
 * with them older nodes that only they needed. */
static void fail_dependents(struct found *f, struct trace *t)
{
	struct version **out;
	size_t n = 0;

	if (!any_failed(f))
		return;
	out = xcalloc(f->n, sizeof *out);
	for (size_t i = 0; i < f->n; i++)
		out[i] = version_ref(f->node[i]->out);
	for (size_t i = 0; i < f->n; i++) {
		const struct err *e = failed_input(out[i]->node);

		if (e) {
			struct err copy = *e;

			version_fail(t, out[i], &copy);
		}
	}
	/* Newest first: what lets go of others comes before them. */
	for (size_t i = f->n; i-- > 0;) {
		if (out[i]->state != VERSION_PENDING || out[i]->refs == 1)
			f->node[i] = NULL;
		version_unref(t, out[i]);
	}
	for (size_t i = 0; i < f->n; i++)
		if (f->node[i])
			f->node[n++] = f->node[i];
	f->n = n;
	free(out);
}

static void touch(struct trace *t, struct version *v)
{
	if (v->mark != t->mark) {
		v->mark = t->mark;
		v->inner = 0;
		v->index = PART_NONE;
	}
}

/* Count, per version, the references that come from the partition's own nodes. */
static void count_inner(struct found *f, struct trace *t)
{
	for (size_t i = 0; i < f->n; i++) {
		struct node *n = f->node[i];

		touch(t, n->out);
		n->kept = 0;
		for (int j = 0; j < n->nin; j++)
			if (n->in[j].version) {
				touch(t, n->in[j].version);
				n->in[j].version->inner++;
			}
		if (n->prev) {
			touch(t, n->prev);
			n->prev->inner++;
		}
	}
}

/* Elementwise operations from stored values to this node's result, if the result
 * is not stored; NO_RECIPE when it takes more than those. */
static uint8_t chain_length(const struct node *n, const struct trace *t)
{
	unsigned kind = op_row(n->op)->kind, sum = 1;

	if ((kind != KIND_EW && kind != KIND_CREATE) || n->op == OP_EMPTY)
		return NO_RECIPE;
	for (int j = 0; j < n->nin; j++) {
		const struct version *v = n->in[j].version;

		if (!v)
			continue;
		if (in_partition(v, t))
			sum += v->node->chain;
	}
	return sum > LIMIT_RECIPE_OPS ? NO_RECIPE : (uint8_t)sum;
}

/* Is a value that the program can still name stored, and not left as a recipe?  A factor of a
 * product is, and a small one always: the client is told where it lies (Demand.also) and goes on
 * with it itself. */
static bool stores(const struct node *n)
{
	const struct version *v = n->out;

	return n->chain == NO_RECIPE || n->recipe || v->pins ||
	       (v->named && v->bytes <= LIMIT_RECIPE_BYTES);
}

/* A matrix is multiplied more than once, where the program can still name it. */
static void store_factors(struct found *f, struct trace *t)
{
	for (size_t i = 0; i < f->n; i++)
		for (int j = 0; f->node[i]->op == OP_MATMUL && j < f->node[i]->nin; j++) {
			struct version *v = f->node[i]->in[j].version;

			if (v && in_partition(v, t))
				v->node->recipe = 1;
		}
}

/* kept: nodes that stay pending.  Outputs get chain 0: stored, they cost nothing. */
static void choose_recipes(struct found *f, struct trace *t, struct version *const *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (want[i]->state == VERSION_PENDING) {
			touch(t, want[i]);
			want[i]->index = 0; /* demanded: never a recipe */
		}
	store_factors(f, t);
	for (size_t i = 0; i < f->n; i++) {
		struct node *x = f->node[i];
		bool demanded = x->out->index == 0;
		bool live = x->out->refs > x->out->inner;

		x->chain = chain_length(x, t);
		/* A loop's value of the last turn, computed again: were this one's left so, too,
		 * the chain would be longer with each turn, and each turn a new plan. */
		if (x->recipe && !live)
			x->chain = NO_RECIPE;
		if (demanded || (live && stores(x))) {
			x->chain = 0;
			x->out->index = 0;
		} else if (live) {
			x->kept = 1;
			x->recipe = 1;
		}
	}
	/* What a recipe computes with stays pending too. */
	for (size_t i = f->n; i-- > 0;)
		for (int j = 0; f->node[i]->kept && j < f->node[i]->nin; j++) {
			struct version *v = f->node[i]->in[j].version;

			if (v && in_partition(v, t) && v->index != 0)
				v->node->kept = 1;
		}
	/* Their reads happen again later: not the partition's alone. */
	for (size_t i = 0; i < f->n; i++)
		for (int j = 0; f->node[i]->kept && j < f->node[i]->nin; j++)
			if (f->node[i]->in[j].version)
				f->node[i]->in[j].version->inner--;
}

static uint32_t add_value(struct builder *b, struct version *v, enum part_role role)
{
	struct part_value *pv = &b->p->part.value[b->nvalue];

	pv->bytes = v->bytes;
	pv->prev = PART_NONE;
	pv->role = (uint8_t)role;
	b->p->value[b->nvalue] = v;
	version_hold(v);
	v->index = b->nvalue;
	return b->nvalue++;
}

static void add_ref(struct builder *b, struct part_ref *r, uint32_t value, const struct view *v)
{
	int64_t *dim = b->p->part.dim + b->ndim;
	unsigned n = v->shape.ndim;

	r->value = value;
	r->dims = b->ndim;
	r->dtype = v->dtype;
	r->ndim = (uint8_t)n;
	dim[0] = v->offset;
	memcpy(dim + 1, v->shape.dim, n * sizeof *dim);
	memcpy(dim + 1 + n, v->stride, n * sizeof *dim);
	b->ndim += 1 + 2 * n;
}

static void add_operand(struct builder *b, struct part_ref *r, const struct operand *o)
{
	struct part *p = &b->p->part;

	if (o->version) {
		uint32_t i = o->version->index;

		if (i == PART_NONE)
			i = add_value(b, o->version, PART_INPUT);
		add_ref(b, r, i, &o->view);
		return;
	}
	p->imm[2 * b->nimm] = o->imm[0];
	p->imm[2 * b->nimm + 1] = o->imm[1];
	r->value = PART_IMM | b->nimm++;
	r->dtype = o->view.dtype;
}

bool demand_may_take(const struct version *prev)
{
	const struct storage *s = prev->storage;

	return prev->refs == prev->inner && !(s && (s->refs > 1 || (s->share && s->share->fixed)));
}

void demand_add(struct builder *b, struct node *n, bool output)
{
	struct part *p = &b->p->part;
	struct part_op *op = &p->op[p->nop];
	struct part_ref *in = op->in;
	uint32_t prev = PART_NONE, out;

	if (n->nin > OP_OPERANDS) {
		in = p->list + b->nlist;
		op->in[0].value = b->nlist;
		b->nlist += n->nin;
	}
	for (int j = 0; j < n->nin; j++)
		add_operand(b, &in[j], &n->in[j]);
	if (n->prev) {
		prev = n->prev->index;
		if (prev == PART_NONE)
			prev = add_value(b, n->prev, PART_INPUT);
	}
	out = add_value(b, n->out, output ? PART_OUTPUT : PART_TEMP);
	b->p->kept[out] = n->kept;
	p->value[out].prev = prev;
	p->value[out].take = prev != PART_NONE && demand_may_take(n->prev);
	p->value[out].undefined = n->op == OP_EMPTY;
	op->op = n->op;
	op->dtype = n->dtype;
	op->nin = n->nin;
	op->axes = demand_axes(n);
	add_ref(b, &op->out, out, &n->view);
	p->nop++;
}

struct partition *demand_allocate(const struct found *f)
{
	/* Per node: a value for each operand, for its predecessor and its result. */
	size_t nodes = f->n, values = 0, dims = 0, imms = 0, list = 0, zeroed = 0;
	struct partition *p = NULL;
	char *at = NULL;

	for (size_t i = 0; i < nodes; i++) {
		const struct node *n = f->node[i];

		dims += 1 + 2 * (size_t)n->view.shape.ndim;
		values += n->prev ? 2 : 1;
		list += n->nin > OP_OPERANDS ? n->nin : 0;
		for (int j = 0; j < n->nin; j++) {
			if (n->in[j].version) {
				values++;
				dims += 1 + 2 * (size_t)n->in[j].view.shape.ndim;
			} else {
				imms += 2;
			}
		}
	}
	zeroed = values * (sizeof(struct part_value) + 1) + nodes * sizeof(struct part_op) +
		 list * sizeof(struct part_ref);
	p = xmalloc(sizeof *p + (dims + imms) * 8 + values * sizeof *p->value + zeroed);
	*p = (struct partition){0};
	at = (char *)(p + 1);
	p->part.dim = (int64_t *)at;
	at += dims * 8;
	p->part.imm = (uint64_t *)at;
	at += imms * 8;
	p->value = (struct version **)at;
	at += values * sizeof *p->value;
	/* What was before is written in full; of this the rest and the gaps must be 0, since
	 * partitions are compared byte by byte. */
	memset(at, 0, zeroed);
	p->part.value = (struct part_value *)at;
	at += values * sizeof *p->part.value;
	p->part.op = (struct part_op *)at;
	at += nodes * sizeof *p->part.op;
	p->part.list = (struct part_ref *)at;
	at += list * sizeof *p->part.list;
	p->kept = (uint8_t *)at;
	return p;
}

void demand_end(struct builder *b, uint8_t device)
{
	b->p->part.nvalue = b->nvalue;
	b->p->part.nimm = b->nimm;
	b->p->part.ndim = b->ndim;
	b->p->part.nlist = b->nlist;
	b->p->part.device = device;
	b->p->part.anywhere = b->t->ndevice > 1;
	b->p->turns = 1;
}

static struct partition *build(struct found *f, struct trace *t, bool unfused)
{
	struct builder b = {.p = demand_allocate(f), .t = t};

	/* Until here index 0 meant "output"; from here on it is the value's number. */
	for (size_t i = 0; i < f->n; i++) {
		f->node[i]->chain = f->node[i]->out->index == 0;
		f->node[i]->out->index = PART_NONE;
	}
	for (size_t i = 0; i < f->n; i++)
		demand_add(&b, f->node[i], f->node[i]->chain);
	for (size_t i = 0; i < f->n; i++)
		if (!f->node[i]->kept)
			version_run(t, f->node[i]->out);
	demand_end(&b, f->node[0]->device);
	b.p->part.unfused = unfused;
	return b.p;
}

void demand_shorten(struct found *f, size_t n)
{
	for (size_t i = n; i < f->n; i++)
		f->node[i]->mark = 0;
	f->n = n;
}

/* The oldest, as many as are planned at once and on one device.  Each operand of a list
 * counts as an operation, since it becomes a nest of its own. */
static void shorten(struct found *f)
{
	size_t n = 0, checks = 0, weight = 0;

	for (; n < f->n; n++) {
		checks += f->node[n]->op == OP_INDEX;
		weight += f->node[n]->nin > OP_OPERANDS ? f->node[n]->nin : 1;
		if (n && weight > LIMIT_PARTITION_OPS)
			break;
		if (f->node[n]->device != f->node[0]->device || checks > LIMIT_PARTITION_CHECKS)
			break;
	}
	demand_shorten(f, n);
}

size_t demand_partition(struct partition **out, struct trace *t, struct version *const *want,
			size_t n, bool unfused)
{
	struct found f = {0};
	size_t seen;

	*out = NULL;
	walk(&f, t, want, n);
	take_along(&f, t);
	seen = f.n;
	fail_dependents(&f, t);
	if (!unfused)
		*out = roll_cut(&f, t);
	shorten(&f);
	if (f.n && !*out) {
		count_inner(&f, t);
		choose_recipes(&f, t, want, n);
		*out = build(&f, t, unfused);
	}
	free(f.node);
	return seen;
}

void partition_free(struct trace *t, struct partition *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < (size_t)p->turns * p->part.nvalue; i++)
		version_unhold(t, p->value[i]);
	roll_free(p);
	free(p);
}

static struct version **take_list(struct found *f, size_t *n)
{
	struct version **v = xcalloc(f->n, sizeof *v);

	for (size_t i = 0; i < f->n; i++)
		v[i] = version_ref(f->node[i]->out);
	*n = f->n;
	free(f->node);
	return v;
}

static bool reads(const struct node *x, const struct version *v)
{
	for (int j = 0; j < x->nin; j++)
		if (x->in[j].version == v)
			return true;
	return x->prev == v;
}

/* Of what a recipe takes, which is in no list: what is to be computed for others as well. */
static void readers_apart(struct found *f, const struct trace *t, const struct node *recipe,
			  const struct version *v)
{
	for (int j = 0; j < recipe->nin; j++) {
		const struct version *in = recipe->in[j].version;
		struct node *x = in && in->state == VERSION_PENDING ? in->node : NULL;

		if (!x || !x->apart || x->mark == t->mark)
			continue;
		x->mark = t->mark;
		if (in->refs > in->feeds && reads(x, v))
			found_push(f, x);
		readers_apart(f, t, x, v);
	}
}

struct version **demand_readers(struct trace *t, struct version *v, size_t *n)
{
	struct found f = {0};

	for (struct node *x = t->oldest; x; x = x->newer)
		if (reads(x, v))
			found_push(&f, x);
	t->mark++;
	for (uint32_t i = 0; i < t->nremote; i++)
		readers_apart(&f, t, t->remote[i]->node, v);
	return take_list(&f, n);
}

/* The next node from x on that is in no partition yet: what runs already has its cut. */
static struct node *waiting(struct node *x)
{
	while (x && x->running)
		x = x->newer;
	return x;
}

/* Note, in each version's index, the place of the last node that reads it. */
static size_t note_last_uses(struct trace *t)
{
	size_t place = 0;

	t->mark++;
	for (struct node *x = waiting(t->oldest); x; x = waiting(x->newer), place++) {
		for (int j = 0; j <= x->nin; j++) {
			struct version *v = j < x->nin ? x->in[j].version : x->prev;

			if (v) {
				touch(t, v);
				v->index = (uint32_t)place;
			}
		}
		touch(t, x->out);
	}
	return place;
}

static size_t last_use(const struct version *v, size_t places)
{
	return v->named ? places : v->index == PART_NONE ? 0 : v->index;
}

/* The place of the cut where what is pending repeats: behind a whole turn, so that the next cut,
 * and what it leaves, begin with the same operation. */
static size_t whole_turns(const struct trace *t, size_t places, size_t best)
{
	struct found f = {0};
	size_t n = 0;

	for (struct node *x = waiting(t->oldest); x; x = waiting(x->newer))
		found_push(&f, x);
	n = roll_whole(&f, t);
	free(f.node);
	return n > places / 2 ? n - 1 : best;
}

struct version **demand_cut(struct trace *t, size_t *n)
{
	size_t places = note_last_uses(t), place = 0, best = places;
	int64_t *delta = xcalloc(places + 2, sizeof *delta), live = 0, least = INT64_MAX;
	struct found f = {0};

	for (struct node *x = waiting(t->oldest); x; x = waiting(x->newer), place++) {
		size_t end = last_use(x->out, places);

		if (end > place) {
			delta[place] += (int64_t)x->out->bytes;
			delta[end] -= (int64_t)x->out->bytes;
		}
	}
	for (place = 0; place < places; place++) {
		live += delta[place];
		if (place + 1 >= places / 2 && live <= least) {
			least = live;
			best = place;
		}
	}
	best = whole_turns(t, places, best);
	place = 0;
	for (struct node *x = waiting(t->oldest); x && place <= best;
	     x = waiting(x->newer), place++)
		if (last_use(x->out, places) > best)
			found_push(&f, x);
	free(delta);
	return take_list(&f, n);
}
