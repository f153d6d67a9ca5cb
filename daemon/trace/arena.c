/* SPDX-License-Identifier: Apache-2.0 */
/* Extents by size class: four classes per power of two, last in first out, so a
 * program that frees and makes arrays of one size reuses warm pages.  Space is cut
 * from the top of the sparse file when a class is empty; when the file is used up,
 * free neighbours are merged and cut first-fit. */
#define _GNU_SOURCE
#include "arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "../base/files.h"
#include "../base/xalloc.h"

#define GRAIN	   64u
#define PAGE	   4096u
#define PAGE_FROM  65536u /* extents of this size and above start on a page */
#define PUNCH_FROM 65536u /* smaller ones are not worth a system call */
#define WARM_MIN   (256ull << 20)
#define CALM_MS	   2000 /* so long without an allocation is calm */
#define NCLASS	   160
#define LOOK	   16 /* extents of the class below that are looked at */

struct list {
	struct extent *item;
	uint64_t *freed; /* when each was put there, as a count of frees; of warm lists */
	uint32_t n, cap;
};

struct arena {
	uv_loop_t *loop;
	int fd;
	uint64_t bytes, top;
	struct list warm[NCLASS]; /* free, backed */
	struct list cold[NCLASS]; /* free, punched */
	struct list merged;	  /* free, any size; after a merge only */
	uint64_t merged_warm;	  /* of merged, no more than so many bytes are backed */
	struct list lease;	  /* the client's, sorted by nothing: few */
	struct arena_stats stats;
	uv_timer_t *calm;
	uint64_t allocs, allocs_seen; /* so far; when `calm` looked last */
	uint64_t busy_peak;	      /* most live bytes since it was calm */
	uint64_t frees;
	uint32_t (*ask)(void *data, const struct extent *e, void *punch);
	void *ask_data;
	uint32_t punching;  /* asked for, or at it */
	_Atomic bool dying; /* read by the threads that punch */
	_Atomic bool left;  /* the client keeps what it maps: no byte changes any more */
};

struct punch {
	uv_work_t work;
	struct arena *arena;
	struct extent extent;
	uint32_t holders;
};

static void list_push(struct list *l, struct extent e)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 8;
		l->item = xrealloc(l->item, l->cap, sizeof *l->item);
		l->freed = xrealloc(l->freed, l->cap, sizeof *l->freed);
	}
	l->freed[l->n] = 0;
	l->item[l->n++] = e;
}

/* Take item i out; the others keep their order. */
static struct extent list_take(struct list *l, uint32_t i)
{
	struct extent e = l->item[i];
	size_t after = l->n - i - 1;

	memmove(&l->item[i], &l->item[i + 1], after * sizeof *l->item);
	memmove(&l->freed[i], &l->freed[i + 1], after * sizeof *l->freed);
	l->n--;
	return e;
}

static void list_finish(struct list *l)
{
	free(l->item);
	free(l->freed);
}

/* Smallest class whose size is at least n; its size in *size. */
static unsigned class_up(uint64_t n, uint64_t *size)
{
	unsigned shift, c;
	uint64_t unit;

	if (n <= 4 * GRAIN) {
		c = n ? (unsigned)((n + GRAIN - 1) / GRAIN) - 1 : 0;
		*size = (c + 1) * GRAIN;
		return c;
	}
	/* 2^shift < n <= 2^(shift+1), in quarters of 2^shift. */
	shift = 63 - (unsigned)__builtin_clzll(n - 1);
	unit = 1ull << (shift - 2);
	c = (unsigned)((n - (1ull << shift) + unit - 1) / unit);
	*size = (1ull << shift) + c * unit;
	return (shift - 8) * 4 + 3 + c;
}

/* Largest class whose size is at most n (n >= GRAIN). */
static unsigned class_down(uint64_t n)
{
	uint64_t size;
	unsigned c = class_up(n, &size);

	return size > n ? c - 1 : c;
}

/* The worker maps every arena: not all of a limited address space is for one. */
static uint64_t within_address_space(uint64_t bytes)
{
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY)
		return bytes;
	while (bytes > space.rlim_cur / 4 && bytes / 2 >= LIMIT_ARENA_LEAST_BYTES)
		bytes /= 2;
	return bytes;
}

static enum status too_small(int error, struct err *err)
{
	struct rlimit file = {RLIM_INFINITY, RLIM_INFINITY};

	getrlimit(RLIMIT_FSIZE, &file);
	if (error == EFBIG && file.rlim_cur != RLIM_INFINITY)
		return err_set(err, E_NOMEM,
			       "the daemon's files are limited to %llu bytes (RLIMIT_FSIZE, ulimit "
			       "-f); arrays need one of at least %llu MiB: raise the limit",
			       (unsigned long long)file.rlim_cur,
			       (unsigned long long)(LIMIT_ARENA_LEAST_BYTES >> 20));
	return err_set(err, E_NOMEM, "cannot make an arena of %llu MiB: %s",
		       (unsigned long long)(LIMIT_ARENA_LEAST_BYTES >> 20), strerror(error));
}

static struct arena *make(uv_loop_t *loop, int fd, uint64_t bytes)
{
	struct arena *a = xcalloc(1, sizeof *a);

	a->loop = loop;
	a->fd = fd;
	a->bytes = bytes;
	a->calm = xcalloc(1, sizeof *a->calm);
	uv_timer_init(loop, a->calm);
	uv_unref((uv_handle_t *)a->calm);
	a->calm->data = a;
	return a;
}

enum status arena_create(struct arena **out, uv_loop_t *loop, uint64_t bytes, struct err *err)
{
	int fd = memfd_create("braze-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return files_none(err, "an arena", errno);
	bytes = within_address_space(bytes) & ~(uint64_t)(PAGE - 1);
	while (ftruncate(fd, (off_t)bytes)) {
		if (bytes / 2 < LIMIT_ARENA_LEAST_BYTES) {
			enum status st = too_small(errno, err);

			close(fd);
			return st;
		}
		bytes = bytes / 2 & ~(uint64_t)(PAGE - 1);
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		enum status st =
			err_set(err, E_SYSTEM, "cannot seal an arena: %s", strerror(errno));

		close(fd);
		return st;
	}
	*out = make(loop, fd, bytes);
	return OK;
}

struct closing {
	uv_work_t work;
	int fd;
	uint64_t punch;
};

static void punch_out(int fd, uint64_t offset, uint64_t bytes)
{
	/* Failure only means that the pages stay. */
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes))
		return;
}

static void close_work(uv_work_t *w)
{
	const struct closing *c = (struct closing *)w;

	if (c->punch)
		punch_out(c->fd, 0, c->punch);
	close(c->fd);
}

static void close_done(uv_work_t *w, int status)
{
	free(w);
}

void arena_close_apart(uv_loop_t *loop, int fd, uint64_t punch)
{
	struct closing *c = xcalloc(1, sizeof *c);

	c->fd = fd;
	c->punch = punch;
	if (uv_queue_work(loop, &c->work, close_work, close_done)) {
		close(fd);
		free(c);
	}
}

static void destroy_now(struct arena *a)
{
	for (int i = 0; i < NCLASS; i++) {
		list_finish(&a->warm[i]);
		list_finish(&a->cold[i]);
	}
	list_finish(&a->merged);
	list_finish(&a->lease);
	uv_close((uv_handle_t *)a->calm, (uv_close_cb)free);
	arena_close_apart(a->loop, a->fd, 0);
	free(a);
}

void arena_leave(struct arena *a)
{
	a->left = true;
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	a->dying = true;
	uv_timer_stop(a->calm);
	if (!a->punching)
		destroy_now(a);
}

int arena_fd(const struct arena *a)
{
	return a->fd;
}

uint64_t arena_bytes(const struct arena *a)
{
	return a->bytes;
}

void arena_get_stats(const struct arena *a, struct arena_stats *out)
{
	*out = a->stats;
}

static void punch_work(uv_work_t *w)
{
	struct punch *p = (struct punch *)w;

	if (p->arena->dying || p->arena->left)
		return; /* the close that follows frees what nobody maps */
	punch_out(p->arena->fd, p->extent.offset, p->extent.bytes);
}

static void punch_done(uv_work_t *w, int status)
{
	struct punch *p = (struct punch *)w;
	struct arena *a = p->arena;

	a->punching--;
	if (a->dying) {
		if (!a->punching)
			destroy_now(a);
	} else {
		list_push(&a->cold[class_down(p->extent.bytes)], p->extent);
	}
	free(p);
}

void arena_on_punch(struct arena *a,
		    uint32_t (*ask)(void *data, const struct extent *e, void *punch), void *data)
{
	a->ask = ask;
	a->ask_data = data;
}

/* Nobody holds the pages any more. */
static void punch_start(struct punch *p)
{
	if (p->arena->dying || uv_queue_work(p->arena->loop, &p->work, punch_work, punch_done))
		punch_done(&p->work, 0);
}

void arena_released(void *punch)
{
	struct punch *p = punch;

	if (--p->holders == 0)
		punch_start(p);
}

/* e is in no list any more: punch it, once all have let go of it. */
static void give_back(struct arena *a, struct extent e)
{
	struct punch *p = xcalloc(1, sizeof *p);

	p->arena = a;
	p->extent = e;
	a->punching++;
	p->holders = a->ask ? a->ask(a->ask_data, &p->extent, p) : 0;
	if (!p->holders)
		punch_start(p);
}

/* Which parts of merged ranges are backed is not known: all are given back. */
static void trim_merged(struct arena *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->merged.n; i++) {
		struct extent e = a->merged.item[i];

		if (e.bytes < PUNCH_FROM)
			a->merged.item[n++] = e;
		else
			give_back(a, e);
	}
	a->merged.n = n;
	a->stats.warm_bytes -= a->merged_warm;
	a->merged_warm = 0;
}

/* The class whose oldest extent was freed first of all that are worth a punch; NCLASS:
 * there is none. */
static int longest_free(const struct arena *a)
{
	uint64_t least = UINT64_MAX;
	int oldest = NCLASS;

	for (int c = NCLASS - 1; c >= 0; c--) {
		const struct list *l = &a->warm[c];

		if (l->n && l->item[0].bytes >= PUNCH_FROM && l->freed[0] < least) {
			least = l->freed[0];
			oldest = c;
		}
	}
	return oldest;
}

/* Give memory back beyond `keep`: what was free for longest goes first.  A loop
 * wants what it has freed just now, whatever its size; what it leaves alone was another's. */
static void shrink(struct arena *a, uint64_t keep)
{
	if (a->left)
		return;
	if (a->merged_warm && a->stats.warm_bytes > keep)
		trim_merged(a);
	while (a->stats.warm_bytes > keep) {
		int c = longest_free(a);
		struct extent e;

		if (c == NCLASS)
			return;
		e = list_take(&a->warm[c], 0);
		a->stats.warm_bytes -= e.bytes;
		give_back(a, e);
	}
}

uint64_t arena_trim(struct arena *a)
{
	uint64_t before = a->stats.warm_bytes;

	shrink(a, 0);
	return before - a->stats.warm_bytes;
}

static void trim(struct arena *a, uint64_t keep)
{
	shrink(a, keep > WARM_MIN ? keep : WARM_MIN);
}

/* A while after memory was freed: a program that took nothing since is not in a
 * loop that wants it again. */
static void on_calm(uv_timer_t *t)
{
	struct arena *a = t->data;

	if (a->allocs != a->allocs_seen) {
		a->allocs_seen = a->allocs;
		return;
	}
	uv_timer_stop(t);
	a->busy_peak = a->stats.live_bytes;
	trim(a, a->stats.live_bytes / 4);
}

static int by_offset(const void *x, const void *y)
{
	const struct extent *a = x, *b = y;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Move every free extent to `merged`, joined with its neighbours. */
static void merge_free(struct arena *a)
{
	struct list all = a->merged;
	uint32_t n = 0;

	for (int c = 0; c < NCLASS; c++) {
		for (uint32_t i = 0; i < a->warm[c].n; i++)
			list_push(&all, a->warm[c].item[i]);
		for (uint32_t i = 0; i < a->cold[c].n; i++)
			list_push(&all, a->cold[c].item[i]);
		a->warm[c].n = a->cold[c].n = 0;
	}
	a->merged_warm = a->stats.warm_bytes;
	if (all.n)
		qsort(all.item, all.n, sizeof *all.item, by_offset);
	for (uint32_t i = 0; i < all.n; i++) {
		struct extent *last = n ? &all.item[n - 1] : NULL;

		if (last && last->offset + last->bytes == all.item[i].offset)
			last->bytes += all.item[i].bytes;
		else
			all.item[n++] = all.item[i];
	}
	if (n && all.item[n - 1].offset + all.item[n - 1].bytes == a->top)
		a->top = all.item[--n].offset;
	all.n = n;
	a->merged = all;
}

static bool first_fit(struct arena *a, struct extent *out, uint64_t size, uint64_t align)
{
	for (uint32_t i = 0; i < a->merged.n; i++) {
		struct extent *e = &a->merged.item[i];
		uint64_t start = (e->offset + align - 1) & ~(align - 1);
		uint64_t end = e->offset + e->bytes, warm;

		if (start + size > end)
			continue;
		*out = (struct extent){start, size};
		warm = a->merged_warm < size ? a->merged_warm : size;
		a->merged_warm -= warm;
		a->stats.warm_bytes -= warm;
		a->stats.fresh_bytes += size - warm;
		if (start > e->offset)
			list_push(&a->merged, (struct extent){e->offset, start - e->offset});
		e = &a->merged.item[i];
		e->offset = start + size;
		e->bytes = end - e->offset;
		if (!e->bytes)
			*e = a->merged.item[--a->merged.n];
		return true;
	}
	return false;
}

static bool take_top(struct arena *a, struct extent *out, uint64_t size, uint64_t align)
{
	uint64_t start = (a->top + align - 1) & ~(align - 1);

	if (size > a->bytes || start > a->bytes - size)
		return false;
	if (start > a->top && start - a->top >= GRAIN)
		list_push(&a->merged, (struct extent){a->top, start - a->top});
	*out = (struct extent){start, size};
	a->top = start + size;
	a->stats.fresh_bytes += size;
	return true;
}

/* Of the last `most` extents in a list one of at least so many bytes, counted from 1; 0: there is
 * none. */
static uint32_t look_for(const struct list *l, uint64_t bytes, uint64_t align, uint32_t most)
{
	for (uint32_t i = l->n; i > 0 && l->n - i < most; i--)
		if (!(l->item[i - 1].offset & (align - 1)) && l->item[i - 1].bytes >= bytes)
			return i;
	return 0;
}

/* How an extent for so many bytes is looked for. */
struct fit {
	unsigned c;
	uint64_t size, least; /* of what its class has; of what lies in the class below */
	uint64_t align;
};

static struct fit fit_of(uint64_t bytes)
{
	struct fit f = {.align = bytes >= PAGE_FROM ? PAGE : GRAIN};

	f.c = class_up(bytes ? bytes : 1, &f.size);
	if (f.align == PAGE)
		f.size = (f.size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	f.least = (bytes + f.align - 1) & ~(f.align - 1);
	return f;
}

/* A warm extent, as look_for, and its class.  What was imported has no more bytes than it needs, so
 * it is free in the class below. */
static uint32_t look_warm(const struct arena *a, const struct fit *f, unsigned *c)
{
	uint32_t i = look_for(&a->warm[f->c], f->size, f->align, UINT32_MAX);

	*c = f->c;
	if (i || !f->c)
		return i;
	*c = f->c - 1;
	return look_for(&a->warm[*c], f->least, f->align, LOOK);
}

bool arena_has_warm(const struct arena *a, uint64_t bytes)
{
	struct fit f = fit_of(bytes);
	unsigned c = 0;

	return look_warm(a, &f, &c) > 0;
}

static bool take_class(struct arena *a, struct extent *out, const struct fit *f)
{
	unsigned c = 0;
	uint32_t i = look_warm(a, f, &c);

	if (i) {
		*out = list_take(&a->warm[c], i - 1);
		a->stats.warm_bytes -= out->bytes;
		return true;
	}
	i = look_for(&a->cold[f->c], f->size, f->align, UINT32_MAX);
	if (!i)
		return false;
	*out = list_take(&a->cold[f->c], i - 1);
	a->stats.fresh_bytes += out->bytes;
	return true;
}

enum status arena_alloc(struct arena *a, struct extent *out, uint64_t bytes, struct err *err)
{
	struct fit f;

	if (bytes > a->bytes)
		goto full;
	f = fit_of(bytes);
	if (!take_class(a, out, &f) && !first_fit(a, out, f.size, f.align) &&
	    !take_top(a, out, f.size, f.align)) {
		merge_free(a);
		if (!first_fit(a, out, f.size, f.align) && !take_top(a, out, f.size, f.align))
			goto full;
	}
	a->allocs++;
	a->stats.live_bytes += out->bytes;
	if (a->stats.live_bytes > a->busy_peak)
		a->busy_peak = a->stats.live_bytes;
	if (a->stats.live_bytes > a->stats.peak_bytes)
		a->stats.peak_bytes = a->stats.live_bytes;
	return OK;
full:
	return err_set(err, E_NOMEM, "the arena of %llu MiB has no room for %llu bytes",
		       (unsigned long long)(a->bytes >> 20), (unsigned long long)bytes);
}

void arena_free(struct arena *a, const struct extent *e)
{
	struct list *l = NULL;

	if (e->bytes < GRAIN)
		return;
	a->stats.live_bytes -= e->bytes;
	a->stats.warm_bytes += e->bytes;
	l = &a->warm[class_down(e->bytes)];
	list_push(l, *e);
	l->freed[l->n - 1] = ++a->frees;
	/* A loop frees what it takes again at once.  Until it is calm, all together may
	 * be a third more than the program itself had at a time. */
	trim(a, a->busy_peak + a->busy_peak / 3 - a->stats.live_bytes);
	if (a->stats.warm_bytes > WARM_MIN && !uv_is_active((uv_handle_t *)a->calm))
		uv_timer_start(a->calm, on_calm, CALM_MS, CALM_MS);
}

void arena_free_fresh(struct arena *a, const struct extent *e)
{
	if (e->bytes < PUNCH_FROM) {
		arena_free(a, e);
		return;
	}
	a->stats.live_bytes -= e->bytes;
	give_back(a, *e); /* its client may have touched it */
}

enum status arena_lease(struct arena *a, struct extent *out, uint64_t bytes, struct err *err)
{
	enum status st = arena_alloc(a, out, bytes, err);

	if (!st) {
		list_push(&a->lease, *out);
		a->stats.leased_bytes += out->bytes;
	}
	return st;
}

/* Cut [offset, offset + bytes) out of the lease that contains it. */
static bool carve(struct arena *a, uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < a->lease.n; i++) {
		struct extent e = a->lease.item[i];

		if (offset < e.offset || bytes > e.bytes || offset - e.offset > e.bytes - bytes)
			continue;
		a->lease.item[i] = a->lease.item[--a->lease.n];
		if (offset > e.offset)
			list_push(&a->lease, (struct extent){e.offset, offset - e.offset});
		if (offset + bytes < e.offset + e.bytes)
			list_push(&a->lease, (struct extent){offset + bytes,
							     e.offset + e.bytes - offset - bytes});
		a->stats.leased_bytes -= bytes;
		return true;
	}
	return false;
}

/* Leased bytes right before offset. */
static uint64_t gap_before(const struct arena *a, uint64_t offset)
{
	for (uint32_t i = 0; i < a->lease.n; i++) {
		const struct extent *e = &a->lease.item[i];

		if (offset >= e->offset && offset - e->offset < e->bytes)
			return offset - e->offset;
	}
	return 0;
}

enum status arena_import(struct arena *a, struct extent *out, uint64_t offset, uint64_t bytes,
			 struct err *err)
{
	uint64_t align = host_align(bytes), whole, gap;

	if (bytes > a->bytes)
		goto bad;
	if (a->lease.n >= LIMIT_LEASES)
		return err_set(err, E_LIMIT,
			       "leased space is in %u pieces, at most %d are possible: import from "
			       "its front",
			       a->lease.n, LIMIT_LEASES);
	whole = (bytes + align - 1) & ~(align - 1);
	gap = align > GRAIN ? gap_before(a, offset) : 0;
	if (offset & (align - 1) || !carve(a, offset, whole ? whole : align))
		goto bad;
	*out = (struct extent){offset, whole ? whole : align};
	/* What the client skipped to align a large array is of no use to it. */
	if (gap && gap < PAGE && carve(a, offset - gap, gap))
		arena_free(a, &(struct extent){offset - gap, gap});
	return OK;
bad:
	return err_set(err, E_PROTOCOL, "import of bytes %llu+%llu that are not leased",
		       (unsigned long long)offset, (unsigned long long)bytes);
}

enum status arena_unlease(struct arena *a, uint64_t offset, uint64_t bytes, struct err *err)
{
	struct extent e = {offset, bytes & ~(uint64_t)(GRAIN - 1)};

	if (offset & (GRAIN - 1) || !e.bytes || bytes > a->bytes || !carve(a, offset, e.bytes))
		return err_set(err, E_PROTOCOL, "return of bytes %llu+%llu that are not leased",
			       (unsigned long long)offset, (unsigned long long)bytes);
	arena_free(a, &e);
	return OK;
}

/* ---- Handed over ---- */

bool arena_at_rest(const struct arena *a)
{
	return !a->punching;
}

static void save_list(struct arena_state *out, const struct list *l, enum arena_use use)
{
	for (uint32_t i = 0; i < l->n; i++)
		out->piece[out->n++] = (struct arena_piece){
			.extent = l->item[i], .freed = l->freed[i], .use = (uint8_t)use};
}

void arena_save(const struct arena *a, struct arena_state *out)
{
	size_t n = a->merged.n + a->lease.n;

	*out = (struct arena_state){.fd = a->fd,
				    .top = a->top,
				    .merged_warm = a->merged_warm,
				    .peak_bytes = a->stats.peak_bytes,
				    .busy_peak = a->busy_peak,
				    .allocs = a->allocs,
				    .frees = a->frees};
	for (int c = 0; c < NCLASS; c++)
		n += a->warm[c].n + a->cold[c].n;
	out->piece = xcalloc(n ? n : 1, sizeof *out->piece);
	for (int c = 0; c < NCLASS; c++) {
		save_list(out, &a->warm[c], ARENA_WARM);
		save_list(out, &a->cold[c], ARENA_COLD);
	}
	save_list(out, &a->merged, ARENA_MERGED);
	save_list(out, &a->lease, ARENA_LEASE);
}

/* A sealed memory file that the state fits into? */
static bool is_arena(const struct arena_state *s, uint64_t *bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int has = fcntl(s->fd, F_GET_SEALS);
	struct stat info;

	if (has < 0 || (has & seals) != seals || fstat(s->fd, &info) ||
	    s->top > (uint64_t)info.st_size)
		return false;
	*bytes = (uint64_t)info.st_size;
	for (size_t i = 0; i < s->n; i++) {
		const struct extent *e = &s->piece[i].extent;

		if (e->bytes < GRAIN || (e->offset | e->bytes) % GRAIN || e->bytes > s->top ||
		    e->offset > s->top - e->bytes || s->piece[i].use >= ARENA_USES)
			return false;
	}
	return true;
}

static void restore_piece(struct arena *a, const struct arena_piece *p)
{
	unsigned c = class_down(p->extent.bytes);
	struct list *l = p->use == ARENA_WARM	 ? &a->warm[c]
			 : p->use == ARENA_COLD	 ? &a->cold[c]
			 : p->use == ARENA_LEASE ? &a->lease
						 : &a->merged;

	list_push(l, p->extent);
	l->freed[l->n - 1] = p->freed;
	a->stats.warm_bytes += p->use == ARENA_WARM ? p->extent.bytes : 0;
	a->stats.leased_bytes += p->use == ARENA_LEASE ? p->extent.bytes : 0;
}

enum status arena_restore(struct arena **out, uv_loop_t *loop, const struct arena_state *s,
			  struct err *err)
{
	struct arena *a = NULL;
	uint64_t bytes = 0;

	if (!is_arena(s, &bytes)) {
		close(s->fd);
		return err_set(err, E_INVALID, "descriptor %d is no arena of that state", s->fd);
	}
	a = make(loop, s->fd, bytes);
	a->top = s->top;
	a->merged_warm = s->merged_warm;
	a->stats.warm_bytes = s->merged_warm;
	a->stats.peak_bytes = s->peak_bytes;
	a->busy_peak = s->busy_peak;
	a->allocs = s->allocs;
	a->frees = s->frees;
	for (size_t i = 0; i < s->n; i++)
		restore_piece(a, &s->piece[i]);
	a->stats.live_bytes = a->stats.leased_bytes;
	if (a->stats.warm_bytes > WARM_MIN)
		uv_timer_start(a->calm, on_calm, CALM_MS, CALM_MS);
	*out = a;
	return OK;
}

void arena_claim(struct arena *a, const struct extent *e)
{
	a->stats.live_bytes += e->bytes;
}
