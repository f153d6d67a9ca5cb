/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "../base/files.h"
#include "../base/xalloc.h"
#include "arena.h"
#include "trace.h"

#define PAGE 4096u
/* What a file is sealed against from its begin, and from when it is published. */
#define SEALS	    (F_SEAL_SHRINK | F_SEAL_GROW)
#define SEALS_FIXED (F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define CALM_MS	    2000	 /* spare memory that is not taken again goes after so long */
#define SPARE_MIN   (256u << 20) /* and may be so much of a session, or what it has in use */

static void on_calm(uv_timer_t *timer);

void share_start(struct shares *all, uv_loop_t *loop, const struct share_events *events)
{
	*all = (struct shares){.loop = loop, .events = *events};
	all->calm = xcalloc(1, sizeof *all->calm);
	uv_timer_init(loop, all->calm);
	uv_unref((uv_handle_t *)all->calm);
	all->calm->data = all;
}

void share_finish(struct shares *all)
{
	if (all->calm)
		uv_close((uv_handle_t *)all->calm, (uv_close_cb)free);
	all->calm = NULL;
}

/* ---- Files ---- */

struct share *share_find(const struct shares *all, uint32_t region)
{
	struct share *h = all->first;

	while (h && h->region != region)
		h = h->next;
	return h;
}

/* Numbers come again only after all others, and never while somebody has one. */
static uint32_t next_region(struct shares *all)
{
	do
		all->number = (all->number + 1) % SHARE_REGION;
	while (share_find(all, SHARE_REGION + all->number));
	return SHARE_REGION + all->number;
}

static uint64_t file_bytes(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static enum status open_reader(struct share *h, struct err *err)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", h->writer);
	h->reader = open(path, O_RDONLY | O_CLOEXEC);
	return h->reader < 0 ? files_none(err, "readers of an array", errno) : OK;
}

/* The mode keeps other users from opening the file anew, for writing, by a descriptor that they
 * have; from those of the daemon's own user it is the seal that does, once there is one. */
static enum status make_files(struct share *h, struct err *err)
{
	uint64_t whole = file_bytes(h->bytes);

	h->writer = memfd_create("braze-array", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (h->writer < 0)
		return files_none(err, "an array's memory", errno);
	if (ftruncate(h->writer, (off_t)whole) || fchmod(h->writer, S_IRUSR) ||
	    fcntl(h->writer, F_ADD_SEALS, SEALS))
		return err_set(err, E_SYSTEM, "cannot make an array's memory of %llu bytes: %s",
			       (unsigned long long)whole, strerror(errno));
	return open_reader(h, err);
}

/* A client may keep what it has mapped, for the next value there (client/c/region.c), so the pages
 * go first; but not where one may read values beyond the end of its session, or others may. */
static void close_files(const struct shares *all, const struct share *h)
{
	bool only_its = h->maker && !h->maker->leaving && !h->fixed;

	if (h->reader >= 0)
		arena_close_apart(all->loop, h->reader, 0);
	if (h->writer >= 0)
		arena_close_apart(all->loop, h->writer, only_its ? h->bytes : 0);
}

static void destroy(struct shares *all, struct share *h)
{
	*h->back = h->next;
	if (h->next)
		h->next->back = h->back;
	all->count--;
	all->bytes -= h->bytes;
	if (h->maker)
		h->maker->share_bytes -= h->bytes;
	all->events.gone(all->events.data, h);
	close_files(all, h);
	free(h);
}

static uint32_t count_of(const struct shares *all, uint32_t uid)
{
	uint32_t n = 0;

	for (const struct share *h = all->first; h; h = h->next)
		n += h->uid == uid;
	return n;
}

/* Everybody gets to know it. */
static enum status enlist(struct shares *all, struct share *h, struct err *err)
{
	enum status st = all->events.made(all->events.data, h, err);

	if (st)
		return st;
	h->next = all->first;
	h->back = &all->first;
	if (h->next)
		h->next->back = &h->next;
	all->first = h;
	all->count++;
	all->bytes += h->bytes;
	return OK;
}

void share_belongs(struct share *h, struct trace *t)
{
	h->maker = t;
	t->share_bytes += h->bytes;
}

static enum status make(struct share **out, struct trace *t, uint64_t bytes, uint32_t most,
			struct err *err)
{
	struct shares *all = t->shares;
	struct share *h = NULL;
	enum status st = OK;

	if (count_of(all, t->uid) >= most)
		return err_set(err, E_LIMIT, "this user has %u arrays with memory of their own",
			       most);
	h = xcalloc(1, sizeof *h);
	*h = (struct share){.bytes = bytes,
			    .refs = 1,
			    .uid = t->uid,
			    .writer = -1,
			    .reader = -1,
			    .fresh = true};
	h->region = next_region(all);
	st = make_files(h, err);
	if (!st)
		st = enlist(all, h, err);
	if (st) {
		close_files(all, h);
		free(h);
		return st;
	}
	share_belongs(h, t);
	*out = h;
	return OK;
}

/* ---- Spare ones ----
 *
 * Fresh pages cost more than most computations on them, so a loop gets back what it freed. */

/* One of just this size, as what lies behind the value is shared with it; else the end. */
static struct share **find_spare(struct trace *t, uint64_t bytes)
{
	struct share **at = &t->spare;

	while (*at && (*at)->bytes != bytes)
		at = &(*at)->spare;
	return at;
}

bool share_has_spare(struct trace *t, uint64_t bytes)
{
	return *find_spare(t, bytes);
}

static struct share *take_spare(struct trace *t, uint64_t bytes)
{
	struct share **at = find_spare(t, bytes), *h = *at;

	if (!h)
		return NULL;
	*at = h->spare;
	t->spare_bytes -= bytes;
	h->refs = 1;
	return h;
}

static void drop_spare(struct trace *t)
{
	while (t->spare) {
		struct share *h = t->spare;

		t->spare = h->spare;
		t->spare_bytes -= h->bytes;
		destroy(t->shares, h);
	}
}

static void on_calm(uv_timer_t *timer)
{
	struct shares *all = timer->data;
	struct share *h = all->first;

	if (all->takes != all->takes_seen) {
		all->takes_seen = all->takes;
		return;
	}
	uv_timer_stop(timer);
	while (h) {
		struct trace *t = h->refs ? NULL : h->maker;

		if (t)
			drop_spare(t);
		h = t ? all->first : h->next;
	}
}

static bool keeps_spare(const struct trace *t, uint64_t bytes)
{
	uint64_t used = t->share_bytes - t->spare_bytes, most = used > SPARE_MIN ? used : SPARE_MIN;

	return t->spare_bytes + bytes <= most;
}

enum status share_take(struct share **out, struct trace *t, uint64_t bytes, uint32_t most,
		       struct err *err)
{
	t->shares->takes++;
	*out = take_spare(t, bytes);
	return *out ? OK : make(out, t, bytes, most, err);
}

struct share *share_ref(struct share *h)
{
	h->refs++;
	return h;
}

void share_unref(struct shares *all, struct share *h)
{
	struct trace *t = h->maker;

	if (--h->refs)
		return;
	if (h->fixed || !t || t->leaving || !keeps_spare(t, h->bytes)) {
		destroy(all, h);
		return;
	}
	h->spare = t->spare;
	t->spare = h;
	t->spare_bytes += h->bytes;
	if (!uv_is_active((uv_handle_t *)all->calm))
		uv_timer_start(all->calm, on_calm, CALM_MS, CALM_MS);
}

enum status share_fix(struct share *h, struct err *err)
{
	if (h->fixed)
		return OK;
	/* What workers have mapped stays theirs; the next ones map it to be read. */
	if (fcntl(h->writer, F_ADD_SEALS, SEALS_FIXED))
		return err_set(err, E_SYSTEM, "cannot seal an array's memory: %s", strerror(errno));
	h->fixed = true;
	return OK;
}

void share_leave(struct trace *t)
{
	t->leaving = true;
	if (!t->shares)
		return;
	drop_spare(t);
	for (struct share *h = t->shares->first; h; h = h->next)
		if (h->maker == t)
			h->maker = NULL;
	t->share_bytes = 0;
}

uint64_t share_bytes(const struct shares *all, uint32_t uid, const struct trace *but)
{
	uint64_t sum = 0;

	for (const struct share *h = all->first; h; h = h->next)
		sum += h->uid == uid && (!but || h->maker != but) ? h->bytes : 0;
	return sum;
}

/* ---- Handed over ---- */

/* A file as make_files leaves it, published or not. */
static bool is_share(const struct share_state *s, bool *fixed)
{
	int has = fcntl(s->fd, F_GET_SEALS), mode = fcntl(s->fd, F_GETFL);
	struct stat info;

	if (has < 0 || mode < 0 || (mode & O_ACCMODE) != O_RDWR || fstat(s->fd, &info))
		return false;
	has &= SEALS | SEALS_FIXED | F_SEAL_WRITE;
	*fixed = has == (SEALS | SEALS_FIXED);
	return (*fixed || has == SEALS) && (info.st_mode & ALLPERMS) == S_IRUSR && s->bytes &&
	       s->bytes <= (uint64_t)info.st_size && file_bytes(s->bytes) == (uint64_t)info.st_size;
}

static bool has_file(const struct shares *all, int fd)
{
	for (const struct share *h = all->first; h; h = h->next)
		if (h->writer == fd)
			return true;
	return false;
}

enum status share_restore(struct shares *all, const struct share_state *s, struct err *err)
{
	struct share *h = NULL;
	bool fixed = false;
	enum status st = OK;

	if (!is_share(s, &fixed) || has_file(all, s->fd) || s->region < SHARE_REGION ||
	    s->region - SHARE_REGION >= SHARE_REGION || share_find(all, s->region))
		return err_set(err, E_INVALID,
			       "the state is damaged: region %u is no array's memory", s->region);
	h = xcalloc(1, sizeof *h);
	*h = (struct share){.bytes = s->bytes,
			    .refs = 1,
			    .region = s->region,
			    .uid = s->uid,
			    .writer = s->fd,
			    .reader = -1,
			    .fixed = fixed};
	fcntl(s->fd, F_SETFD, FD_CLOEXEC);
	st = open_reader(h, err);
	if (!st)
		st = enlist(all, h, err);
	if (!st)
		return OK;
	if (h->reader >= 0)
		close(h->reader);
	free(h);
	return st;
}
