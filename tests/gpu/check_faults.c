/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_faults.c - kernels that fault, kernels that do not end, and memory that is
 * not there: what happens to the client whose work it was, and to everybody else.
 *
 * braze makes no such kernels, and has no door for them.  But a cache folder belongs to
 * whoever owns it: here the code of a kernel that the daemon has just compiled is
 * replaced, in the cache's own form, by code that faults.  The daemon that starts next on the
 * folder runs that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "code.h"
#include "hog.h"
#include "sections.h"
#include "tap.h"

#define COUNT	    4096
#define HANG_MS	    "2000"
#define WAIT_MS	    120000
#define SOON	    15.0 /* seconds until everything is as before: drivers take their time */
#define SMALL_BYTES (2ull << 30) /* a device with less can be filled from the host */
#define HOG_LEAVES  (1ull << 30)

/* Every entry that a nest without reductions has, with the same body. */
static const char poison[] =
	"struct args { long long lo, hi, clo, chi; unsigned long long cancel, part, error;\n"
	"              unsigned team, tile; };\n"
	"#define ENTRY(name) extern \"C\" __global__ void __launch_bounds__(256) name(args a) { "
	"BODY }\n"
	"ENTRY(bz_map) ENTRY(bz_map_narrow) ENTRY(bz_map_vector) ENTRY(bz_map_vector_narrow)\n"
	"ENTRY(bz_map_row) ENTRY(bz_map_row_narrow) ENTRY(bz_map_tile)\n"
	"ENTRY(bz_map_tile_narrow)\n";

static const struct fault {
	const char *name, *body;
	bool kills; /* the worker ends; otherwise the run can be stopped */
} faults[] = {
	{"an illegal access", "if (threadIdx.x == 0) *(volatile int *)16 = 1;", true},
	/* Of a loop without effects a compiler may take the end for granted. */
	{"a runaway loop", "while (*(volatile unsigned *)a.cancel != 0xdeadbeef) ;", true},
	{"a loop that ends when it is cancelled", "while (*(volatile unsigned *)a.cancel == 0) ;",
	 false},
};

/* x * factor + term on the device, for x[i] = i / 2; - term if `other`, which is another
 * kernel: numbers are a kernel's parameters. */
struct work {
	braze_session *s;
	braze_array *x, *y;
	braze_future *future;
	double factor, term;
	bool other;
	braze_error err;
};

static int work_begin(struct work *w, braze_session *s, const char *device, bool other,
		      double factor, double term)
{
	const int64_t n = COUNT;
	double *data = xmalloc(COUNT * sizeof *data);
	braze_array *scaled = NULL;
	braze_arg arg[2];
	int rc;

	*w = (struct work){.s = s, .factor = factor, .term = term, .other = other};
	for (int i = 0; i < COUNT; i++)
		data[i] = i * 0.5;
	rc = braze_set_device(s, device, &w->err);
	if (!rc)
		rc = braze_from_data(&w->x, s, BRAZE_FLOAT64, 1, &n, NULL, data, &w->err);
	free(data);
	if (!rc) {
		arg[0] = braze_arg_array(w->x);
		arg[1] = braze_arg_double(factor);
		rc = braze_apply(&scaled, s, OP_MULTIPLY, 2, arg, &w->err);
	}
	if (!rc) {
		arg[0] = braze_arg_array(scaled);
		arg[1] = braze_arg_double(term);
		rc = braze_apply(&w->y, s, other ? OP_SUBTRACT : OP_ADD, 2, arg, &w->err);
	}
	braze_release(scaled);
	if (!rc)
		rc = braze_demand(&w->future, 1, &w->y, &w->err);
	return w->err.code = rc;
}

/* 0 and right values, -1 for wrong ones, or the error. */
static int work_wait(struct work *w)
{
	double *y = xmalloc(COUNT * sizeof *y);
	int rc = w->err.code;

	if (!rc)
		rc = braze_wait(w->future, WAIT_MS, NULL, NULL, &w->err);
	if (!rc)
		rc = braze_read(y, w->y, &w->err);
	for (int i = 0; i < COUNT && !rc; i++)
		rc = y[i] == i * 0.5 * w->factor + (w->other ? -w->term : w->term) ? 0 : -1;
	free(y);
	return rc;
}

static void work_end(struct work *w)
{
	braze_future_release(w->future);
	braze_release(w->x);
	braze_release(w->y);
}

static int work_do(braze_session *s, const char *device, bool other, double factor, double term)
{
	struct work w;
	int rc;

	work_begin(&w, s, device, other, factor, term);
	rc = work_wait(&w);
	if (rc)
		tap_note("  %s", rc < 0 ? "wrong values" : w.err.text);
	work_end(&w);
	return rc;
}

/* ---- The kernel in the cache ---- */

/* Key of the one kernel for a GPU that there is; to be freed. */
static char *gpu_key(const struct host *h)
{
	cJSON *page = host_ask(h, "/kernels");
	const cJSON *row;
	char *found = NULL;

	cJSON_ArrayForEach(row, cJSON_GetObjectItem(page, "kernels"))
	{
		const char *key = cJSON_GetStringValue(cJSON_GetObjectItem(row, "key"));

		if (key && !strncmp(key, "cuda ", 5) && !found)
			found = xstrdup(key);
	}
	cJSON_Delete(page);
	return found;
}

/* A daemon has compiled the victim's kernel and kept it in the folder; it ends. */
static char *make_entry(struct host *h, unsigned *arch, struct err *err)
{
	braze_session *s = NULL;
	char *key = NULL;

	if (host_start(h, err) || host_connect(h, &s, "first", err))
		return NULL;
	*arch = host_device(h, h->device).arch;
	if (work_do(s, h->device, false, 3, 1.25)) {
		err_set(err, E_DEVICE, "the kernel does not run as it should before the fault");
	} else {
		for (int i = 0; i < 1000 && host_figure(h, "kernels", "disk_writes") < 1; i++)
			usleep(10000);
		key = gpu_key(h);
		if (!key)
			err_set(err, E_DEVICE, "the device has compiled no kernel");
	}
	braze_close(s);
	host_stop(h);
	return key;
}

static enum status poison_cache(struct host *h, const struct fault *f, struct err *err)
{
	unsigned arch = 0;
	char *key = make_entry(h, &arch, err), *source;
	enum status st;

	if (!key)
		return err->code ? err->code : E_INTERNAL;
	source = xasprintf("#define BODY %s\n%s", f->body, poison);
	st = code_replace(h->cache, key, source, arch, err);
	free(source);
	free(key);
	return st;
}

/* ---- The fault ---- */

struct scene {
	struct host *host;
	braze_session *victim, *innocent;
	struct work before; /* the innocent's, done before the fault */
	struct host_device then;
};

/* Did it fail by one of the names that the documentation gives? */
static bool named(int code)
{
	return code == E_LOST || code == E_QUARANTINED || code == E_DEVICE || code == E_TIMEOUT ||
	       code == E_NOMEM;
}

static bool scene_open(struct scene *c, struct host *h, struct err *err)
{
	*c = (struct scene){.host = h};
	if (host_start(h, err) || host_connect(h, &c->victim, "victim", err) ||
	    host_connect(h, &c->innocent, "innocent", err))
		return false;
	work_begin(&c->before, c->innocent, h->device, true, 1, 2);
	if (work_wait(&c->before)) {
		err_set(err, E_DEVICE, "the innocent's work fails before the fault: %.150s",
			c->before.err.text);
		return false;
	}
	c->then = host_device(h, h->device);
	return true;
}

static void scene_close(struct scene *c)
{
	work_end(&c->before);
	braze_close(c->victim);
	braze_close(c->innocent);
}

/* After the fault: the sessions live, data is there, work is done soon. */
static void check_after(struct scene *c, const char *what)
{
	double start = host_seconds(), spent, runs;
	struct host_device now;
	int rc;

	tap_result(!braze_session_error(c->innocent, NULL) && !braze_session_error(c->victim, NULL),
		   "%s: both sessions keep their connections", what);
	c->before.err.code = 0;
	tap_result(!work_wait(&c->before), "%s: the innocent's result is what it was", what);
	runs = host_device(c->host, c->host->device).runs;
	rc = work_do(c->innocent, c->host->device, true, 1, 7.5);
	spent = host_seconds() - start;
	now = host_device(c->host, c->host->device);
	tap_result(!rc && spent < SOON && now.runs > runs && !strcmp(now.state, "usable"),
		   "%s: new work succeeds on the device within %.0f s", what, SOON);
	tap_note("new work after %.3f s; worker deaths %.0f", spent, now.deaths - c->then.deaths);
	tap_figure("faults", what, spent, "seconds until new work is done");
	tap_result(!work_do(c->victim, c->host->device, true, 2, 0.5),
		   "%s: the victim's session can go on", what);
}

static void check_fault(struct host *h, const struct fault *f)
{
	struct scene c;
	struct err err = {0};
	struct work bad, beside;
	struct host_device now;
	double start;
	int rc, other;

	if (poison_cache(h, f, &err) || !scene_open(&c, h, &err)) {
		tap_result(false, "%s can be provoked: %s", f->name, err.text);
		host_tell_log(h, 12);
		return;
	}
	start = host_seconds();
	work_begin(&bad, c.victim, h->device, false, 3, 1.25);
	work_begin(&beside, c.innocent, h->device, true, 1, 3);
	rc = work_wait(&bad);
	tap_note("%s: the client was told after %.3f s: %s", f->name, host_seconds() - start,
		 rc ? bad.err.text : "the right values");
	tap_result(rc == 0 || named(rc), "%s: the result fails by name or is right", f->name);
	check_after(&c, f->name);
	other = work_wait(&beside);
	tap_result(!other, "%s: work of another client at the same time is done", f->name);
	if (other)
		tap_note("%s", other < 0 ? "wrong values" : beside.err.text);
	now = host_device(h, h->device);
	if (f->kills)
		tap_result(now.deaths > c.then.deaths && now.worker > 0 &&
				   now.worker != c.then.worker,
			   "%s: the worker was started again", f->name);
	else
		tap_result(now.deaths == c.then.deaths && rc != 0,
			   "%s: it was stopped, and the worker lives", f->name);
	work_end(&bad);
	work_end(&beside);
	scene_close(&c);
}

/* ---- Memory ---- */

/* One array of so many bytes, all of one value, computed on the device. */
static int fill(braze_session *s, const char *device, uint64_t bytes, braze_error *err)
{
	const int64_t n = (int64_t)(bytes / 8);
	braze_array *x = NULL, *y = NULL;
	braze_future *f = NULL;
	double first = 0;
	const void *data;
	int rc = braze_set_device(s, device, err);

	if (!rc)
		rc = braze_full(&x, s, BRAZE_FLOAT64, 1, &n, braze_double(2.5), err);
	if (!rc) {
		braze_arg arg[2] = {braze_arg_array(x), braze_arg_double(2)};

		rc = braze_apply(&y, s, OP_MULTIPLY, 2, arg, err);
	}
	if (!rc)
		rc = braze_demand(&f, 1, &y, err);
	if (!rc)
		rc = braze_wait(f, WAIT_MS, NULL, NULL, err);
	if (!rc)
		rc = braze_data(&data, y, NULL, NULL, err);
	if (!rc) {
		memcpy(&first, (const char *)data + bytes / 16 * 8, sizeof first);
		rc = first == 5 ? 0 : -1;
	}
	braze_future_release(f);
	braze_release(x);
	braze_release(y);
	return rc;
}

static void check_memory(struct host *h)
{
	static struct hog hog;
	struct scene c;
	struct err err = {0};
	braze_error why = {0};
	uint64_t bytes;
	bool hogged = false;
	int rc;

	if (!scene_open(&c, h, &err)) {
		tap_result(false, "out of memory can be provoked: %s", err.text);
		return;
	}
	bytes = (uint64_t)c.then.memory / 4 * 5;
	if (c.then.memory > SMALL_BYTES && strstr(c.then.model, "stand-in")) {
		tap_skip("out of memory", "a stand-in's memory is its own process's; give it "
					  "less with BRAZE_STANDIN=vram=256M");
		scene_close(&c);
		return;
	}
	if (c.then.memory > SMALL_BYTES) {
		hogged = true;
		bytes = 2 * HOG_LEAVES;
		if (hog_take(&hog, HOG_LEAVES, &err))
			tap_note("%s", err.text);
	}
	rc = fill(c.victim, h->device, bytes, &why);
	tap_note("out of memory: %.0f MiB of %.0f: %s", (double)bytes / 1048576,
		 c.then.memory / 1048576, rc ? why.text : "the right values");
	tap_result(rc == 0 || named(rc), "out of memory: the result fails by name or is right");
	check_after(&c, "out of memory");
	tap_result(host_device(h, h->device).deaths == c.then.deaths,
		   "out of memory: the worker lives");
	if (hogged)
		hog_give_back(&hog);
	scene_close(&c);
}

static void with_host(const struct options *o, const struct fault *f)
{
	struct host h;
	struct err err = {0};

	if (host_create(&h, o->device, NULL, &err)) {
		tap_result(false, "a daemon for faults: %s", err.text);
		return;
	}
	if (f)
		check_fault(&h, f);
	else
		check_memory(&h);
	host_finish(&h);
}

void check_faults(const struct options *o)
{
	const char *set = getenv("BRAZE_WORKER_HANG_MS");
	char *before = set ? xstrdup(set) : NULL;

	tap_note("faults, each on a daemon of its own");
	/* However patient it is otherwise: here some are to be found to hang. */
	setenv("BRAZE_WORKER_HANG_MS", HANG_MS, 1);
	for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
		with_host(o, &faults[i]);
	with_host(o, NULL);
	if (before)
		setenv("BRAZE_WORKER_HANG_MS", before, 1);
	else
		unsetenv("BRAZE_WORKER_HANG_MS");
	free(before);
}
