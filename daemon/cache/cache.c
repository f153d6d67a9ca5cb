/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache.c - kernels by what they compute (see cache.h).
 *
 * Every entry is in a hash table and in one list ordered by last use.  Files are
 * read and written by libuv's threads; an entry with such work under way, with a
 * user, or with a helper is never evicted. */
#define _GNU_SOURCE
#include "cache_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/moments.h"
#include "base/textbuf.h"
#include "base/xalloc.h"
#include "form/plan.h"

#define WORTH_NS  100000000u /* tier-0 work that pays for compiling */
#define URGENT_NS 4000000u   /* tier-0 work that a program waits for, again and again */
/* Tier-0 work of a kernel for whose compiler a job need not end first. */
#define PATIENT_NS 30000000u
#define WORTH_USES 2	       /* uses that promise more */
#define RETRY_NS   60000000000 /* after a failure that was not the source's */
#define TEXT_HEAD  "text\n"    /* of a text's key */
#define BACKLOG	   256	       /* compilations that wait; of what nobody waits for, no more */

/* One piece of work on a libuv thread; the entry outlives it. */
struct work {
	uv_work_t uv;
	struct cache *cache;
	struct entry *e;
	enum disk_found found;
	struct disk_code code;
	struct err err;
};

static struct target *target_of(struct entry *e)
{
	return &e->cache->target[e->k.arch ? 1 + backend_row(e->k.arch) : 0];
}

/* Of a device: its compiler is looked for when it is needed. */
static void open_target(struct entry *e)
{
	struct target *t = target_of(e);

	if (e->k.arch && !t->helper)
		target_open(t, e->k.arch, e->cache->loop,
			    &(struct cache_config){.self = e->cache->self});
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

static void destroy_now(struct cache *c)
{
	while (c->newest) {
		struct entry *e = c->newest;

		cache_unlink(c, e);
		cache_free_entry(e);
	}
	disk_close(c->disk);
	free(c->self);
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

static void take_code(struct entry *e, const struct disk_code *code)
{
	e->k.code_fd = code->fd;
	e->k.code_bytes = code->bytes;
	e->k.registers = code->registers;
	e->k.spill_bytes = code->spill_bytes;
	e->k.ngeometry = code->ngeometry;
	memcpy(e->k.geometry, code->geometry, code->ngeometry * sizeof *code->geometry);
	e->k.state = KERNEL_READY;
	e->cache->stats.bytes += code->bytes;
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
	if (w->code.fd >= 0)
		close(w->code.fd);
	free(w);
	if (!c->nwork)
		destroy_now(c);
	return true;
}

/* code: for the work to use. */
static void start_work(struct entry *e, uv_work_cb run, uv_after_work_cb after,
		       const struct disk_code *code)
{
	struct work *w = xcalloc(1, sizeof *w);

	w->cache = e->cache;
	w->e = e;
	w->code = *code;
	w->uv.data = w;
	e->io++;
	e->cache->nwork++;
	/* Fails for bad arguments only. */
	uv_queue_work(e->cache->loop, &w->uv, run, after);
}

static void write_run(uv_work_t *uv)
{
	struct work *w = uv->data;

	w->err.code =
		disk_write(w->cache->disk, &target_of(w->e)->kind, w->e->k.key, &w->code, &w->err);
}

static void write_after(uv_work_t *uv, int status);

/* The entry's file, of what is known now.  Writes of one entry come one after the
 * other, so that the last one stays. */
static void write_entry(struct entry *e)
{
	const struct kernel *k = &e->k;
	struct disk_code code = {.fd = k->code_fd,
				 .bytes = k->code_bytes,
				 .registers = k->registers,
				 .spill_bytes = k->spill_bytes};

	if (!e->cache->disk || k->state != KERNEL_READY || k->code_fd < 0)
		return;
	e->stale = e->writing;
	if (e->writing)
		return;
	for (uint32_t i = 0; i < k->ngeometry; i++)
		if (k->geometry[i].state != GEOMETRY_MODEL)
			code.geometry[code.ngeometry++] = k->geometry[i];
	e->writing = true;
	start_work(e, write_run, write_after, &code);
}

static void write_after(uv_work_t *uv, int status)
{
	struct work *w = uv->data;
	struct cache *c = w->cache;

	w->code.fd = -1; /* the kernel's */
	if (work_over(w))
		return;
	w->e->writing = false;
	if (w->err.code) {
		c->stats.disk_errors++;
		log_warn("cache", "%s", w->err.text);
	} else {
		c->stats.disk_writes++;
	}
	if (w->e->k.state == KERNEL_FAILED) {
		/* It was refused while the write was under way. */
		disk_remove(c->disk, &target_of(w->e)->kind, w->e->k.key);
		cache_forget_code(c, w->e);
	} else if (w->e->stale) {
		write_entry(w->e);
	}
	free(w);
	cache_trim(c);
}

static void compiled(void *data, const struct helper_result *r)
{
	struct disk_code code = {.fd = r->fd,
				 .bytes = r->bytes,
				 .registers = r->registers,
				 .spill_bytes = r->spill_bytes};
	struct entry *e = data;
	struct cache *c = e->cache;

	uint64_t now = uv_hrtime();

	moments_add((struct moment){.began = now - r->compile_ns,
				    .ended = now,
				    .session = (uint32_t)e->k.first_session,
				    .number = e->k.id,
				    .kind = MOMENT_COMPILE,
				    .place = e->k.arch != 0});
	e->k.compile_ns += r->compile_ns;
	c->stats.compile_ns += r->compile_ns;
	if (c->spent)
		c->spent(c->data, &e->k, r->compile_ns);
	if (r->status) {
		fail(e, r->status == E_COMPILE, r->text);
	} else {
		c->stats.compiles++;
		take_code(e, &code);
		write_entry(e);
	}
	c->ready(c->data, &e->k);
	cache_trim(c);
}

/* Somebody asked for the code itself, or a program whose threads have the cores is slowed by
 * the interpreter instead of it: at the lowest priority its compiler would wait for it to
 * end.  What takes less than this leaves the cores to who uses them. */
static bool waited_for(const struct entry *e)
{
	return e->wanted || e->cache->tier > 0 || e->k.busy_ns >= URGENT_NS ||
	       e->predicted_ns >= URGENT_NS / 10;
}

static char *source_of(void *data, bool *urgent, struct err *err)
{
	const struct entry *e = data;
	char *text = NULL;

	*urgent = waited_for(e);
	return target_source(&text, &e->k, err) ? NULL : text;
}

/* Has its payer time of compilers left?  What can be interpreted is, until somebody pays. */
static bool may_compile(struct entry *e)
{
	const struct cache *c = e->cache;
	char why[LIMIT_ERROR_TEXT] = "";

	e->k.unpaid = c->may && !c->may(c->data, &e->k, why, sizeof why);
	if (e->k.unpaid && e->wanted)
		fail(e, false, why);
	else if (e->k.unpaid)
		snprintf(e->k.error, sizeof e->k.error, "not compiled: %s", why);
	return !e->k.unpaid;
}

static void compile(struct entry *e)
{
	struct target *t = target_of(e);

	/* Its next use asks again: programs come and go faster than what they made compiles. */
	if (t->helper && !e->wanted && helper_waiting(t->helper) >= BACKLOG)
		return;
	if (!t->helper) {
		/* A toolkit may be installed later; the processor's compiler is sought once. */
		fail(e, !e->k.arch, t->missing);
		return;
	}
	if (!may_compile(e))
		return;
	helper_submit(t->helper, e->k.arch, source_of, compiled, e);
	if (e->wanted)
		helper_hurry(t->helper, e);
	e->k.state = KERNEL_COMPILING;
}

/* Library steps are in the processor's worker, and some in a GPU's. */
bool cache_has_code(const struct kernel *k)
{
	return k->call.call == CALL_END || (k->arch && call_row(k->call.call)->devices == GPU_CODE);
}

static bool worth(const struct entry *e)
{
	return e->wanted || e->cache->tier > 0 || e->gets >= WORTH_USES || e->asked >= WORTH_USES ||
	       e->k.runs >= WORTH_USES || e->predicted_ns >= WORTH_NS || e->k.busy_ns >= WORTH_NS;
}

/* A compiler takes a core for longer than most jobs last, and would only slow the one that is the
 * first to use the kernel: it waits for that one's end.  Not where jobs come again, or last. */
static bool comes_late(const struct entry *e)
{
	const struct cache *c = e->cache;

	return c->held && c->period == e->born && !e->wanted && c->tier < 0 &&
	       e->predicted_ns < WORTH_NS && e->k.busy_ns < PATIENT_NS;
}

static void compile_late(struct entry *e)
{
	if (e->late)
		return;
	e->late = true;
	e->late_next = e->cache->late;
	e->cache->late = e;
}

static void consider(struct entry *e)
{
	bool again = e->k.state == KERNEL_FAILED && e->retry_at && uv_hrtime() >= e->retry_at;

	/* A GPU's kernel is of no use uncompiled, but only cache_want knows that it runs. */
	if (!(e->k.arch ? e->wanted : e->cache->tier) || e->reading ||
	    e->k.strikes >= KERNEL_STRIKES || !cache_has_code(&e->k))
		return;
	if ((e->k.state != KERNEL_ABSENT && !again) || !worth(e))
		return;
	if (comes_late(e)) {
		compile_late(e);
	} else {
		cache_late_remove(e->cache, e);
		compile(e);
	}
}

void cache_hold(struct cache *c, bool on)
{
	struct entry *e = c->late, *next;

	c->held += on ? 1 : -1u;
	if (on || c->held)
		return;
	c->period++;
	c->late = NULL;
	for (; e; e = next) {
		next = e->late_next;
		e->late = false;
		consider(e);
	}
}

static void read_run(uv_work_t *uv)
{
	struct work *w = uv->data;

	w->found = disk_read(w->cache->disk, &target_of(w->e)->kind, w->e->k.key, &w->code);
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
		take_code(e, &w->code);
		c->ready(c->data, &e->k);
	} else {
		c->stats.disk_misses++;
		c->stats.disk_errors += w->found == DISK_DAMAGED;
		consider(e);
		/* Who wants it was told that it is being compiled, or comes. */
		if (e->awaited || (e->wanted && e->k.state == KERNEL_FAILED))
			c->ready(c->data, &e->k);
	}
	e->awaited = false;
	free(w);
	cache_trim(c);
}

static uint64_t predict(const struct nest *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct op_row *row = op_row(instr_operation(&n->instr[i]));

		sum += row ? row->cost : 1;
	}
	return sum;
}

static struct entry *add(struct cache *c, const struct nest *spec, uint32_t arch, char *key,
			 uint64_t hash, uint64_t session)
{
	struct entry *e = xcalloc(1, sizeof *e);

	e->cache = c;
	e->born = c->period;
	e->k.id = ++c->last_id;
	e->k.hash = hash;
	e->k.arch = arch;
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

/* The kernel may be on disk, which is asked before a compiler is. */
static void look_on_disk(struct entry *e)
{
	struct cache *c = e->cache;

	open_target(e);
	/* Without a compiler nobody can tell what an entry on disk was made by. */
	if (!c->disk || (e->k.arch ? !target_of(e)->helper : !c->tier) || !cache_has_code(&e->k))
		return;
	e->reading = true;
	e->likely = disk_may_have(c->disk, &target_of(e)->kind, e->k.key);
	e->read_ns = uv_hrtime();
	e->k.state = KERNEL_COMPILING;
	start_work(e, read_run, read_after, &(struct disk_code){.fd = -1});
}

/* The entry with this key, which becomes the cache's, made if new. */
static struct kernel *get(struct cache *c, const struct nest *spec, const struct plan_call *call,
			  uint32_t arch, char *key, uint64_t session)
{
	uint64_t hash = hash_bytes(key, strlen(key), 0);
	struct entry *e = NULL;

	if (c->nbucket)
		e = c->bucket[hash & (c->nbucket - 1)];
	while (e && (e->k.hash != hash || strcmp(e->k.key, key)))
		e = e->chain;
	if (e) {
		free(key);
		c->stats.hits++;
		cache_unlink(c, e);
		list_add(c, e);
	} else {
		e = add(c, spec, arch, key, hash, session);
		e->k.call.call = CALL_END;
		if (call)
			call_kind(&e->k.call, call);
		look_on_disk(e);
	}
	e->k.refs++;
	e->gets++;
	consider(e);
	cache_trim(c);
	return &e->k;
}

struct kernel *cache_get(struct cache *c, const struct nest *spec, uint32_t arch, uint64_t session)
{
	return get(c, spec, NULL, arch, target_key(spec, arch), session);
}

struct kernel *cache_get_call(struct cache *c, const struct plan_call *call, uint32_t arch,
			      uint64_t session)
{
	static const struct nest none;
	char text[2048];
	struct textbuf b = {text, sizeof text, 0};
	struct call_kind kind;

	call_kind(&kind, call);
	if (arch && call_row(call->call)->devices == GPU_CODE)
		return get(c, &none, call, arch, target_call_key(&kind, arch), session);
	/* Without code it is its times that are kept, and whether it is to blame. */
	if (arch)
		textbuf_put(&b, "gpu %u\n", arch);
	call_key(&b, call);
	return get(c, &none, call, arch, xstrdup(text), session);
}

struct kernel *cache_get_grid(struct cache *c, const struct plan_call *call,
			      const struct grid *grid, uint32_t arch, uint64_t session)
{
	static const struct nest none;
	char *key = target_grid_key(&grid->is, arch);
	size_t before = strlen(key) - grid->bytes;
	struct kernel *k = get(c, &none, call, arch, key, session);

	k->grid = grid->is;
	k->grid.text = k->key + before;
	return k;
}

struct kernel *cache_get_text(struct cache *c, const char *text, uint64_t session)
{
	static const struct nest none;
	struct kernel *k = get(c, &none, NULL, 0, xasprintf("%s%s", TEXT_HEAD, text), session);

	k->text = k->key + strlen(TEXT_HEAD);
	return k;
}

enum kernel_state cache_want(struct cache *c, struct kernel *k)
{
	struct entry *e = entry_of(k);

	if (!e->wanted && k->state == KERNEL_COMPILING && target_of(e)->helper)
		helper_hurry(target_of(e)->helper, e);
	e->wanted = true;
	if (k->state != KERNEL_READY)
		open_target(e);
	consider(e);
	return (enum kernel_state)k->state;
}

bool cache_comes(const struct cache *c, struct kernel *k)
{
	struct entry *e = entry_of(k);
	bool comes =
		e->reading && e->likely && uv_hrtime() - e->read_ns < CACHE_COMES_MS * 1000000ull;

	e->awaited |= comes;
	return comes;
}

void cache_unref(struct cache *c, struct kernel *k)
{
	if (!k)
		return;
	k->refs--;
	if (!k->refs)
		cache_trim(c);
}

void cache_note_loaded(struct cache *c, struct kernel *k)
{
	cache_unlink(c, entry_of(k));
	list_add(c, entry_of(k));
	if (!k->tier)
		k->nrate = 0;
	k->tier = 1;
}

void cache_blame(struct cache *c, struct kernel *k, const char *what)
{
	if (k->strikes < UINT8_MAX)
		k->strikes++;
	c->stats.quarantined += k->strikes == KERNEL_STRIKES;
	snprintf(k->blame, sizeof k->blame, "%s", what);
}

void cache_note_run(struct cache *c, struct kernel *k, uint64_t elements, uint64_t busy_ns)
{
	struct entry *e = entry_of(k);

	cache_unlink(c, e);
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

/* The place of a geometry of the same launches on the same GPU, else a free one, else one
 * that is the model's; NULL: all are taken by what trials found. */
static struct cuda_geometry *geometry_place(struct kernel *k, const struct cuda_geometry *g)
{
	struct cuda_geometry *spare = NULL;

	for (uint32_t i = 0; i < k->ngeometry; i++) {
		struct cuda_geometry *old = &k->geometry[i];

		if (old->units == g->units && old->entry == g->entry && old->size == g->size)
			return old;
		if (old->state == GEOMETRY_MODEL)
			spare = old;
	}
	return k->ngeometry < CUDA_GEOMETRIES ? &k->geometry[k->ngeometry++] : spare;
}

void cache_note_geometry(struct cache *c, struct kernel *k, const struct cuda_geometry *g)
{
	struct cuda_geometry *place = NULL;

	if (g->entry >= ENTRY_END || g->state >= GEOMETRY_END || !g->best.threads)
		return;
	place = geometry_place(k, g);
	if (!place)
		return;
	*place = *g;
	if (g->state != GEOMETRY_MODEL)
		write_entry(entry_of(k));
}

void cache_get_stats(const struct cache *c, struct cache_stats *out)
{
	*out = c->stats;
	out->codes = c->ncode;
	out->disk_work = c->nwork;
	out->helper_deaths = 0;
	out->helper_fds = 0;
	for (const struct target *t = c->target; t <= c->target + BACKEND_END; t++) {
		out->helper_deaths += t->helper ? helper_deaths(t->helper) : 0;
		out->helper_fds += t->helper ? helper_fds(t->helper) : 0;
	}
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

void cache_on_compile(struct cache *c,
		      bool (*may)(void *data, const struct kernel *k, char *why, size_t n),
		      void (*spent)(void *data, const struct kernel *k, uint64_t ns))
{
	c->may = may;
	c->spent = spent;
}

void cache_paid(struct kernel *k)
{
	struct entry *e = entry_of(k);

	k->unpaid = false;
	k->error[0] = 0;
	if (k->state == KERNEL_FAILED)
		e->retry_at = 1; /* at its next use */
}

void cache_bound(struct cache *c, uint64_t memory_bytes, uint64_t disk_bytes)
{
	c->memory_bytes = memory_bytes ? memory_bytes : UINT64_MAX;
	if (c->disk)
		disk_bound(c->disk, disk_bytes);
}

enum status cache_clear_disk(struct cache *c, struct err *err)
{
	return c->disk ? disk_clear(c->disk, err) : OK;
}

char *cache_source(const struct kernel *k)
{
	char *source = NULL;

	return target_source(&source, k, NULL) ? NULL : source;
}

void cache_refuse(struct cache *c, struct kernel *k, const char *why)
{
	struct entry *e = entry_of(k);

	if (c->disk)
		disk_remove(c->disk, &target_of(e)->kind, k->key);
	/* A write of the code still uses the descriptor. */
	if (!e->io)
		cache_forget_code(c, e);
	k->tier = 0;
	fail(e, true, why);
}

enum status cache_create(struct cache **out, struct uv_loop_s *loop,
			 const struct cache_config *config, cache_ready_fn *ready, void *data,
			 struct err *err)
{
	struct cache *c = xcalloc(1, sizeof *c);
	struct disk_config dc = {.dir = config->dir, .max_bytes = config->disk_bytes};
	struct rlimit files = {1024, 1024};
	enum status st = OK;

	c->loop = loop;
	c->tier = config->tier;
	c->memory_bytes = config->memory_bytes ? config->memory_bytes : UINT64_MAX;
	c->ready = ready;
	c->data = data;
	getrlimit(RLIMIT_NOFILE, &files);
	c->max_code = files.rlim_cur / 2; /* a descriptor each; connections need the rest */
	c->self = config->self ? xstrdup(config->self) : NULL;
	if (c->tier)
		target_open(c->target, 0, c->loop, config);
	if (config->dir)
		st = disk_open(&c->disk, &dc, err);
	if (st) {
		target_close(c->target);
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
	for (struct target *t = c->target; t <= c->target + BACKEND_END; t++)
		target_close(t);
	c->dead = true;
	if (!c->nwork)
		destroy_now(c);
}
