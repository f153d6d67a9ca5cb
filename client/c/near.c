/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near.c - when to compute near, and where near values lie.
 *
 * Blocks are ordinary memory of this process, in size classes of powers of two, with
 * room for whole vectors.  Not of the lease: a loop of small operations then costs the
 * daemon nothing, values outlive the connection, and shipping one is a copy of a few
 * hundred KiB into pages that are warm.  They are cut from chunks of huge pages while those last.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "near.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "near_block.h"

/* ---- When ---- */

static bool on_cpu(const struct braze_session *s)
{
	const char *name = s->device >= 2 ? s->device_name[s->device - 2] : "auto";

	if (s->device == 0)
		name = s->asked[0] ? s->asked : "auto";
	return !strcmp(name, "auto") || !strcmp(name, "cpu");
}

void near_switch(struct braze_session *s)
{
	enum why why = WHY_PENDING;

	s->on_gpu = !on_cpu(s);
	if (s->near_off)
		why = WHY_OFF;
	else if (s->loops != loops_identity()) /* or another libm: the bits may differ */
		why = WHY_LOOPS;
	else if (s->careful & ~(uint32_t)CAREFUL_PROFILE ||
		 s->flags & (BRAZE_EAGER | BRAZE_UNFUSED))
		why = WHY_MODE;
	else if (s->on_gpu)
		why = WHY_DEVICE;
	else if (s->shared)
		why = WHY_OWN;
	else if (!s->near_made)
		why = WHY_MEMORY;
	s->near = why == WHY_PENDING ? s->near_made : NULL;
	s->why = s->why_none = (uint8_t)why;
}

/* Tenths of a nanosecond an element, from the cost of ops.def, which is that of a
 * float64 at its best.  Functions take all of that at most, and of float32 half as much; of some
 * arguments (large ones, those outside the domain) up to ten times as much, but so NumPy's do.
 * Here of floats; moved: of an element that is only moved. */
static uint32_t cost_of_float(unsigned op, unsigned d, unsigned moved)
{
	unsigned cost = op_row(op)->cost;

	if (d == DT_FLOAT16)
		return 20 + cost * 2;
	if (cost < 10)
		return moved + cost;
	return d == DT_FLOAT32 ? cost / 2 : cost;
}

/* Of any type. */
static uint32_t cost_of(unsigned op, unsigned d)
{
	unsigned cost = op_row(op)->cost;
	unsigned moved = op_row(op)->kind == KIND_RED ? NEAR_READ : NEAR_MOVED;
	bool function = cost >= 10;

	if (op_row(op)->kind == KIND_SORT)
		return cost * 2;
	if (op == OP_SPARSE) /* a term */
		return cost * (dtype_row(d)->cls == CLASS_COMPLEX ? 2 : 1);
	if (op_row(op)->kind == KIND_SEARCH) /* a step of one */
		return dtype_row(d)->cls == CLASS_COMPLEX || d == DT_FLOAT16 ? cost * 3 : cost;

	switch ((enum dtype_class)dtype_row(d)->cls) {
	case CLASS_COMPLEX:
		if (op == OP_CAST)
			return 12;
		return function ? cost * 30 : op == OP_SQRT ? 200 : 10 + cost * 6;
	case CLASS_FLOAT:
		return cost_of_float(op, d, moved);
	default:
		return function ? (op == OP_POWER ? 80 : 10) : moved + cost;
	}
}

static void fill_costs(struct near *n)
{
	if (!n->lib)
		return;
	for (unsigned op = 0; op < OP_END; op++)
		for (unsigned d = 0; op_row(op) && d < DTYPE_END; d++) {
			unsigned kind = op_row(op)->kind;
			bool have = op == OP_CAST || kind == KIND_SORT || kind == KIND_SEARCH;

			if (kind == KIND_SCAN)
				have = scan_loops(n->lib->scan, op, d)->bytes != 0;
			else if (op == OP_SPARSE)
				have = sparse_loop(n->lib->sparse, DT_INT64, d) != NULL;
			else if (kind == KIND_DRAW)
				have = draw_loop(n->lib->draw, op, d) != NULL;
			else if (!have)
				have = n->lib->isa->op[op][d] || near_tree(n, (enum op)op, d)->init;
			n->cost[op][d] = have ? cost_of(op, d) : 0;
		}
}

static struct near fresh; /* as a session begins */
static pthread_once_t fresh_once = PTHREAD_ONCE_INIT;

static void fill_fresh(void)
{
	fresh.lib = near_library();
	fill_costs(&fresh);
}

static bool wished(void)
{
	const char *wish = getenv("BRAZE_NEAR");

	return !wish || strcmp(wish, "0");
}

/* ---- The bound ---- */

static void fall(struct near_stretch *t)
{
	t->risen = false;
	t->most = NEAR_WIDE;
	t->calm = 0;
	t->need = 2 * t->need < NEAR_WARY ? 2 * t->need : NEAR_WARY;
}

/* Of a stretch's work, of which one operation's is `largest`: what a trip would save. */
static uint64_t saved(uint64_t work, uint64_t largest)
{
	return work - largest / 2;
}

bool near_stretches(struct near_stretch *t, uint64_t work, uint64_t bytes)
{
	uint64_t largest = work > t->largest ? work : t->largest;

	if (t->risen && bytes <= t->most && saved(t->work + work, largest) <= NEAR_TRIP) {
		t->work += work;
		t->largest = largest;
		t->used = true;
		return true;
	}
	if (near_was_told(t))
		return false;
	near_tell(t, work);
	/* Once it has proved right, a stretch in which nothing is near for its sake costs nothing.
	 */
	if (t->risen && (t->used || t->most < NEAR_WIDE))
		fall(t);
	else if (work >= t->passed)
		t->passed = work ? work : 1; /* memory alone: what is done with it tells its own */
	return false;
}

void near_stretch_end(struct near_stretch *t)
{
	if (t->risen && t->used && t->far) {
		fall(t);
	} else if (t->risen) {
		if (t->used)
			t->most = NEAR_WIDE;
		if (t->used && ++t->calm >= NEAR_STEADY)
			t->need = NEAR_CALM;
	} else if (t->passed) {
		/* Of whose work nothing is known counts as the largest. */
		uint64_t others = t->far > t->ntold ? t->far - t->ntold : 0;
		bool short_one =
			t->passed < NEAR_LONG && others <= NEAR_TRIP &&
			saved(t->work + t->told + t->passed * others, t->passed) <= NEAR_TRIP;
		t->calm = short_one ? t->calm + 1 : 0;
		t->risen = t->calm >= t->need;
		if (t->risen)
			t->calm = 0;
	}
	t->work = t->largest = t->passed = t->told = t->far = t->lost = 0;
	t->ntold = t->parts = t->hurried = 0;
	t->used = false;
}

void near_sent(struct near_stretch *t, const uint32_t *head, unsigned nops)
{
	unsigned far = 0;

	/* Those before are about names and memory, as EMPTY is. */
	for (unsigned i = 0; i < nops; i++)
		far += (head[i] & 0xffff) >= OP_ASSIGN && (head[i] & 0xffff) != OP_EMPTY;
	t->ahead += far;
	if (t->asking)
		return;
	t->far += t->ahead;
	t->ahead = 0;
}

/* ---- Where ---- */

static struct near_chunk map_chunk(void)
{
	void *map = mmap(NULL, NEAR_CHUNK + NEAR_HUGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return (struct near_chunk){NULL, NULL};
	char *at = (char *)map + (NEAR_HUGE - (uintptr_t)map % NEAR_HUGE) % NEAR_HUGE;
	(void)madvise(at, NEAR_CHUNK, MADV_HUGEPAGE); /* else ordinary pages serve */
	return (struct near_chunk){map, at};
}

static bool add_chunk(struct near *n, struct near_chunk chunk)
{
	if (!chunk.at)
		return false;
	n->chunk[n->nchunk++] = chunk;
	n->used = 0;
	return true;
}

static bool another_chunk(struct near *n)
{
	return n->nchunk < NEAR_CHUNKS && add_chunk(n, map_chunk());
}

/* A page that is touched for the first time costs a microsecond, a huge one, of 512, thirty to two
 * hundred: what a program computes first would take longer to be stored than to be computed. */
static char *cut_bytes(struct near *n, size_t bytes, size_t align)
{
	size_t from = (n->used + align - 1) / align * align;

	if (bytes > NEAR_CHUNK / 2)
		return NULL;
	if (!n->nchunk || from + bytes > NEAR_CHUNK) {
		if (!another_chunk(n))
			return NULL;
		from = 0;
	}
	n->used = from + bytes;
	return n->chunk[n->nchunk - 1].at + from;
}

/* One by itself: a large one of huge pages. */
static char *whole_block(size_t align, size_t bytes)
{
	bool huge = bytes >= NEAR_HUGE;
	void *at = NULL;

	if (posix_memalign(&at, huge ? NEAR_HUGE : align, bytes))
		return NULL;
	if (huge)
		(void)madvise(at, bytes / NEAR_PAGE * NEAR_PAGE, MADV_HUGEPAGE);
	return at;
}

struct near_block *near_new_block(struct near *n, unsigned size)
{
	size_t room = near_class_bytes(size), head = near_head(room);
	size_t bytes = head + room + (room < NEAR_PAGE || head == NEAR_PAGE ? 0 : NEAR_APART);
	size_t align = head == NEAR_PAGE ? NEAR_PAGE : 64;
	char *at = cut_bytes(n, bytes, align);
	bool cut = at != NULL;

	if (!at)
		at = whole_block(align, bytes);
	struct near_block *block = at ? (void *)(at + head - sizeof(struct near_block)) : NULL;
	if (block) {
		block->size = size;
		block->room = room;
		block->cut = cut;
	}
	return block;
}

/* False: they do not make enough room. */
static bool make_room(struct near *n, uint64_t room)
{
	for (int k = NEAR_CLASSES - 1; k >= 0; k--) {
		struct near_block **at = &n->free[k], *block;

		while (near_class_bytes((unsigned)k) != room && n->kept + room > NEAR_POOL &&
		       (block = *at)) {
			if (block->cut) {
				at = &block->next;
				continue;
			}
			*at = block->next;
			n->kept -= block->room;
			near_free_block(block);
		}
	}
	return n->kept + room <= NEAR_POOL;
}

bool near_dropped(struct near *n, struct near_block *block)
{
	if (block->cut || make_room(n, block->room))
		return false;
	near_free_block(block);
	return true;
}

bool near_own(struct braze_session *s, struct buffer *b)
{
	struct near_block *old = b->block;

	if (likely(old->refs == 1))
		return true;
	if (unlikely(old->size == NEAR_GIVEN))
		return loan_copy_given(b);
	if (!near_take_block(s->near_made, b, old->size))
		return false;
	memcpy(b->at, old + 1, b->bytes);
	near_drop_block(s->near_made, old);
	return true;
}

struct braze_array *near_array(struct braze_session *s, enum dtype d, const struct shape *shape,
			       int64_t count)
{
	return near_make(s, d, shape, count, (uint64_t)count * dtype_row(d)->bytes);
}

/* ---- A session's ---- */

/* One whose pages are there, for the process's first session. */
static struct near_chunk ready;
static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;

static void fill_ready(void)
{
	ready = map_chunk();
#ifdef MADV_POPULATE_WRITE
	if (ready.at)
		(void)madvise(ready.at, NEAR_CHUNK, MADV_POPULATE_WRITE);
#endif
}

void near_begin(void)
{
	static pthread_once_t begun = PTHREAD_ONCE_INIT;

	if (!wished())
		return;
	pthread_once(&fresh_once, fill_fresh);
	if (fresh.lib)
		pthread_once(&begun, fill_ready);
}

static void take_ready(struct near *n)
{
	pthread_mutex_lock(&ready_lock);
	(void)add_chunk(n, ready);
	ready = (struct near_chunk){NULL, NULL};
	pthread_mutex_unlock(&ready_lock);
}

void near_open(struct braze_session *s)
{
	s->near_off = !wished();
	near_begin();
	if (!s->near_made)
		pthread_once(&fresh_once, fill_fresh);

	if (!s->near_made && fresh.lib) {
		struct near *n = malloc(sizeof(*n));
		struct near_scratch *scratch = aligned_alloc(64, sizeof(*scratch));
		if (n && scratch) {
			*n = fresh;
			n->scratch = scratch;
			s->near_made = n;
			take_ready(n);
		} else {
			free(n);
			free(scratch);
		}
	}
	if (s->near_made) {
		/* Nobody knows yet: its first stretch may be all that the program does. */
		s->near_made->stretch = (struct near_stretch){
			.need = NEAR_CALM / 2, .risen = true, .most = NEAR_GRANT};
		s->near_made->spare = 0;
	}
	near_switch(s);
}

void near_close(struct braze_session *s)
{
	struct near *n = s->near_made;

	for (int k = 0; n && k < NEAR_CLASSES; k++)
		while (n->free[k]) {
			struct near_block *block = n->free[k];
			n->free[k] = block->next;
			if (!block->cut)
				near_free_block(block);
		}
	for (unsigned i = 0; n && i < n->nchunk; i++)
		munmap(n->chunk[i].map, NEAR_CHUNK + NEAR_HUGE);
	if (n)
		free(n->scratch);
	free(n);
	s->near = s->near_made = NULL;
}
