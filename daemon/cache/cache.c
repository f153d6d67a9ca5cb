/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache.c - kernels by what they compute (see cache.h).
 *
 * Every entry is in a hash table and in one list ordered by last use.  Files are
 * read and written by libuv's threads; an entry with such work under way, with a
 * user, or with a helper is never evicted. */
#define _GNU_SOURCE
#include "cache_code.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "disk.h"
#include "emit/emit.h"
#include "emit/emit_c.h"
#include "helper.h"

#define WORTH_NS   100000000u  /* tier-0 work that pays for compiling */
#define WORTH_USES 2	       /* uses that promise more */
#define RETRY_NS   60000000000 /* after a failure that was not the source's */

struct entry {
	struct kernel k; /* first: a kernel is its entry */
	struct entry *chain;
	struct entry *newer, *older;
	struct cache *cache;
	uint64_t bytes;	      /* without the code's */
	uint64_t element_dns; /* predicted tenths of a nanosecond a point */
	uint64_t gets, asked, predicted_ns;
	uint64_t retry_at; /* of a failure; 0: never */
	unsigned io;	   /* disk work under way */
	bool reading;
};

/* One piece of work on a libuv thread; the entry outlives it. */
struct work {
	uv_work_t uv;
	struct cache *cache;
	struct entry *e;
	enum disk_found found;
	int fd;
	uint64_t bytes;
	struct err err;
};

struct cache {
	uv_loop_t *loop;
	struct entry **bucket;
	size_t nbucket;
	struct entry *newest, *oldest;
	struct helper *helper; /* NULL: no compiler */
	struct disk *disk;     /* NULL: none */
	int tier;
	uint64_t memory_bytes, max_code, ncode, nwork;
	uint32_t last_id;
	bool dead; /* destroyed, waits for its work */
	struct cache_stats stats;
	cache_ready_fn *ready;
	void *data;
	void (*drop)(void *data, uint32_t id);
};

static struct entry *entry_of(struct kernel *k)
{
	return (struct entry *)k;
}

static void list_remove(struct cache *c, struct entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
	e->newer = e->older = NULL;
}

static void list_add(struct cache *c, struct entry *e)
{
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static void table_grow(struct cache *c)
{
	size_t n = c->nbucket ? 2 * c->nbucket : 256;
	struct entry **bucket = xcalloc(n, sizeof(*bucket));

	free(c->bucket);
	for (struct entry *e = c->newest; e; e = e->older) {
		e->chain = bucket[e->k.hash & (n - 1)];
		bucket[e->k.hash & (n - 1)] = e;
	}
	c->bucket = bucket;
	c->nbucket = n;
}

static void table_remove(struct cache *c, struct entry *e)
{
	struct entry **p = &c->bucket[e->k.hash & (c->nbucket - 1)];

	while (*p != e)
		p = &(*p)->chain;
	*p = e->chain;
}

static void entry_free(struct entry *e)
{
	if (e->k.code_fd >= 0)
		close(e->k.code_fd);
	free(e->k.key);
	free(e->k.spec);
	free(e);
}

static void forget_code(struct cache *c, struct entry *e)
{
	if (e->k.code_fd < 0)
		return;
	close(e->k.code_fd);
	e->k.code_fd = -1;
	c->stats.bytes -= e->k.code_bytes;
	e->k.code_bytes = 0;
	c->ncode--;
}

/* Evict, oldest first, what nobody uses until both bounds hold. */
static void trim(struct cache *c)
{
	for (struct entry *e = c->oldest, *next; e; e = next) {
		bool over_code = c->ncode > c->max_code;

		next = e->newer;
		if (c->stats.bytes <= c->memory_bytes && !over_code)
			return;
		if (e->k.refs || e->io || e->k.state == KERNEL_COMPILING ||
		    (c->stats.bytes <= c->memory_bytes && e->k.code_fd < 0))
			continue;
		forget_code(c, e);
		c->stats.bytes -= e->bytes;
		c->stats.evictions++;
		c->stats.kernels--;
		list_remove(c, e);
		table_remove(c, e);
		if (c->drop)
			c->drop(c->data, e->k.id);
		entry_free(e);
	}
}

static void destroy_now(struct cache *c)
{
	while (c->newest) {
		struct entry *e = c->newest;

		list_remove(c, e);
		entry_free(e);
	}
	disk_close(c->disk);
	free(c->bucket);
	free(c);
}

static void fail(struct entry *e, bool for_good, const char *why)
{
	e->k.state = KERNEL_FAILED;
	e->retry_at = for_good ? 0 : uv_hrtime() + RETRY_NS;
	snprintf(e->k.error, sizeof e->k.error, "%s", why);
	e->cache->stats.compile_failures++;
	log_warn("cache", "kernel %u: %s", e->k.id, e->k.error);
}

static void take_code(struct entry *e, int fd, uint64_t bytes)
{
	e->k.code_fd = fd;
	e->k.code_bytes = bytes;
	e->k.state = KERNEL_READY;
	e->cache->stats.bytes += bytes;
	e->cache->ncode++;
}

/* After work: was it the last that a destroyed cache waited for? */
static bool work_over(struct work *w)
{
	struct cache *c = w->cache;

	w->e->io--;
	c->nwork--;
	if (!c->dead)
		return false;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
	if (!c->nwork)
		destroy_now(c);
	return true;
}

static void start_work(struct entry *e, uv_work_cb run, uv_after_work_cb after)
{
	struct work *w = xcalloc(1, sizeof *w);

	w->cache = e->cache;
	w->e = e;
	w->fd = -1;
	w->uv.data = w;
	e->io++;
	e->cache->nwork++;
	/* Fails for bad arguments only. */
	uv_queue_work(e->cache->loop, &w->uv, run, after);
}

static void write_run(uv_work_t *uv)
{
	struct work *w = uv->data;

	w->err.code = disk_write(w->cache->disk, w->e->k.key, w->e->k.code_fd, w->e->k.code_bytes,
				 &w->err);
}

static void write_after(uv_work_t *uv, int status)
{
	struct work *w = uv->data;
	struct cache *c = w->cache;

	if (work_over(w))
		return;
	if (w->err.code) {
		c->stats.disk_errors++;
		log_warn("cache", "%s", w->err.text);
	} else {
		c->stats.disk_writes++;
	}
	if (w->e->k.state == KERNEL_FAILED) {
		/* It was refused while the write was under way. */
		disk_remove(c->disk, w->e->k.key);
		forget_code(c, w->e);
	}
	free(w);
	trim(c);
}

static void compiled(void *data, const struct helper_result *r)
{
	struct entry *e = data;
	struct cache *c = e->cache;

	e->k.compile_ns += r->compile_ns;
	c->stats.compile_ns += r->compile_ns;
	if (r->status) {
		fail(e, r->status == E_COMPILE, r->text);
	} else {
		c->stats.compiles++;
		take_code(e, r->fd, r->bytes);
		if (c->disk)
			start_work(e, write_run, write_after);
	}
	c->ready(c->data, &e->k);
	trim(c);
}

static void compile(struct entry *e)
{
	struct cache *c = e->cache;
	struct err err = {OK, ""};
	char *source = NULL;

	if (!c->helper) {
		fail(e, true, "there is no C compiler (gcc or clang); tier 0 runs this kernel");
		return;
	}
	if (emit_c_source(&source, e->k.spec, &err)) {
		fail(e, true, err.text);
		return;
	}
	if (helper_submit(c->helper, source, compiled, e, &err))
		fail(e, false, err.text);
	else
		e->k.state = KERNEL_COMPILING;
	free(source);
}

static bool worth(const struct entry *e)
{
	return e->cache->tier > 0 || e->gets >= WORTH_USES || e->asked >= WORTH_USES ||
	       e->k.runs >= WORTH_USES || e->predicted_ns >= WORTH_NS || e->k.busy_ns >= WORTH_NS;
}

static void consider(struct entry *e)
{
	bool again = e->k.state == KERNEL_FAILED && e->retry_at && uv_hrtime() >= e->retry_at;

	if (!e->cache->tier || e->reading || e->k.strikes >= 2)
		return;
	if ((e->k.state == KERNEL_ABSENT || again) && worth(e))
		compile(e);
}

static void read_run(uv_work_t *uv)
{
	struct work *w = uv->data;

	w->found = disk_read(w->cache->disk, w->e->k.key, &w->fd, &w->bytes);
}

static void read_after(uv_work_t *uv, int status)
{
	struct work *w = uv->data;
	struct entry *e = w->e;
	struct cache *c = w->cache;

	if (work_over(w))
		return;
	e->reading = false;
	e->k.state = KERNEL_ABSENT;
	if (w->found == DISK_HIT) {
		c->stats.disk_hits++;
		e->k.from_disk = 1;
		take_code(e, w->fd, w->bytes);
		c->ready(c->data, &e->k);
	} else {
		c->stats.disk_misses++;
		c->stats.disk_errors += w->found == DISK_DAMAGED;
		consider(e);
	}
	free(w);
	trim(c);
}

static uint64_t predict(const struct nest *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct op_row *row = op_row(n->instr[i].op);

		sum += row ? row->cost : 1;
	}
	return sum;
}

static struct entry *add(struct cache *c, const struct nest *spec, char *key, uint64_t hash,
			 uint64_t session)
{
	struct entry *e = xcalloc(1, sizeof *e);

	e->cache = c;
	e->k.id = ++c->last_id;
	e->k.hash = hash;
	e->k.key = key;
	/* Nests are read as whole structs, so the copy has room for all of one. */
	e->k.spec = xcalloc(1, sizeof *spec);
	memcpy(e->k.spec, spec, nest_bytes(spec));
	e->k.code_fd = -1;
	e->k.first_session = session;
	e->element_dns = predict(spec);
	e->bytes = sizeof *e + sizeof *spec + strlen(key) + 1;
	c->stats.bytes += e->bytes;
	c->stats.misses++;
	if (c->stats.kernels++ >= c->nbucket)
		table_grow(c);
	e->chain = c->bucket[hash & (c->nbucket - 1)];
	c->bucket[hash & (c->nbucket - 1)] = e;
	list_add(c, e);
	return e;
}

struct kernel *cache_get(struct cache *c, const struct nest *spec, uint64_t session)
{
	size_t n = nest_print(NULL, 0, spec, true);
	char *key = xmalloc(n + 1);
	struct entry *e = NULL;
	uint64_t hash;

	nest_print(key, n + 1, spec, true);
	hash = hash_bytes(key, n, 0);
	if (c->nbucket)
		e = c->bucket[hash & (c->nbucket - 1)];
	while (e && (e->k.hash != hash || strcmp(e->k.key, key)))
		e = e->chain;
	if (e) {
		free(key);
		c->stats.hits++;
		list_remove(c, e);
		list_add(c, e);
	} else {
		e = add(c, spec, key, hash, session);
		if (c->disk && c->tier) {
			e->reading = true;
			e->k.state = KERNEL_COMPILING;
			start_work(e, read_run, read_after);
		}
	}
	e->k.refs++;
	e->gets++;
	consider(e);
	trim(c);
	return &e->k;
}

void cache_unref(struct cache *c, struct kernel *k)
{
	if (!k)
		return;
	k->refs--;
	if (!k->refs)
		trim(c);
}

void cache_note_run(struct cache *c, struct kernel *k, uint64_t elements, uint64_t busy_ns)
{
	struct entry *e = entry_of(k);

	list_remove(c, e);
	list_add(c, e);
	if (busy_ns) {
		k->runs++;
		k->elements += elements;
		k->busy_ns += busy_ns;
	} else {
		uint64_t ns;

		e->asked++;
		if (__builtin_mul_overflow(elements, e->element_dns, &ns))
			ns = UINT64_MAX;
		if (ns / 10 > e->predicted_ns)
			e->predicted_ns = ns / 10;
	}
	consider(e);
}

void cache_get_stats(const struct cache *c, struct cache_stats *out)
{
	*out = c->stats;
	out->helper_deaths = c->helper ? helper_deaths(c->helper) : 0;
	out->codes = c->ncode;
	out->helper_fds = c->helper ? helper_fds(c->helper) : 0;
}

void cache_each(struct cache *c, void (*fn)(void *data, const struct kernel *k), void *data)
{
	for (const struct entry *e = c->newest; e; e = e->older)
		fn(data, &e->k);
}

struct kernel *cache_find(struct cache *c, uint32_t id)
{
	for (struct entry *e = c->newest; e; e = e->older)
		if (e->k.id == id)
			return &e->k;
	return NULL;
}

void cache_on_drop(struct cache *c, void (*fn)(void *data, uint32_t id))
{
	c->drop = fn;
}

enum status cache_clear_disk(struct cache *c, struct err *err)
{
	return c->disk ? disk_clear(c->disk, err) : OK;
}

char *cache_source(const struct kernel *k)
{
	char *source = NULL;

	return emit_c_source(&source, k->spec, NULL) ? NULL : source;
}

void cache_refuse(struct cache *c, struct kernel *k, const char *why)
{
	struct entry *e = entry_of(k);

	if (c->disk)
		disk_remove(c->disk, k->key);
	/* A write of the code still uses the descriptor. */
	if (!e->io)
		forget_code(c, e);
	k->tier = 0;
	fail(e, true, why);
}

/* Compiler and disk are helps, not needs: without them tier 0 serves, and the
 * log says so. */
static void open_compiler(struct cache *c, const struct cache_config *config, char *path)
{
	struct helper_config hc = {.self = config->self, .compiler = path, .isa = isa_best()};
	struct err err = {OK, ""};

	if (hc.isa == ISA_NONE) {
		log_warn("cache", "this processor is below x86-64-v2: kernels are interpreted");
	} else if (!compile_target_find(path, config->compiler)) {
		log_warn("cache", "no compiler %s: kernels are interpreted",
			 config->compiler ? config->compiler : "gcc or clang");
		*path = 0;
	} else if (config->self && helper_create(&c->helper, c->loop, &hc, &err)) {
		log_warn("cache", "%s: kernels are interpreted", err.text);
	}
}

static enum status open_disk(struct cache *c, const struct cache_config *config,
			     const char *compiler, struct err *err)
{
	char tool[1024] = "none", identity[1280];
	struct disk_config dc = {.dir = config->dir,
				 .max_bytes = config->disk_bytes,
				 .identity = identity,
				 .isa = isa_best(),
				 .generation = EMIT_GENERATION};
	const char *text = emit_c_prologue();

	if (*compiler)
		compile_target_identity(tool, sizeof tool, compiler);
	/* Names of vector math functions vary with the C library. */
	snprintf(identity, sizeof identity, "%s; glibc %s; prologue %016llx", tool,
		 gnu_get_libc_version(), (unsigned long long)hash_bytes(text, strlen(text), 0));
	return disk_open(&c->disk, &dc, err);
}

enum status cache_create(struct cache **out, struct uv_loop_s *loop,
			 const struct cache_config *config, cache_ready_fn *ready, void *data,
			 struct err *err)
{
	struct cache *c = xcalloc(1, sizeof *c);
	char compiler[COMPILE_PATH_BYTES] = "";
	struct rlimit files = {1024, 1024};
	enum status st = OK;

	c->loop = loop;
	c->tier = config->tier;
	c->memory_bytes = config->memory_bytes ? config->memory_bytes : UINT64_MAX;
	c->ready = ready;
	c->data = data;
	getrlimit(RLIMIT_NOFILE, &files);
	c->max_code = files.rlim_cur / 2; /* a descriptor each; connections need the rest */
	if (c->tier)
		open_compiler(c, config, compiler);
	if (config->dir && c->tier)
		st = open_disk(c, config, compiler, err);
	if (st) {
		helper_destroy(c->helper);
		destroy_now(c);
		return st;
	}
	*out = c;
	return OK;
}

void cache_destroy(struct cache *c)
{
	if (!c)
		return;
	helper_destroy(c->helper);
	c->helper = NULL;
	c->dead = true;
	if (!c->nwork)
		destroy_now(c);
}
