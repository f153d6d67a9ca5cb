/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - fill the pages of the status socket from the daemon's state.
 *
 * In:  struct brazed and the statistics of its parts.
 * Out: the objects that ctl.h describes. */
#include "report.h"

#include <sys/socket.h>
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "brazed.h"
#include "cache/cache.h"
#include "cache/cache_code.h"
#include "compile/compile.h"
#include "config.h"
#include "control.h"
#include "history.h"
#include "plan/plancache.h"
#include "run/executor.h"
#include "cuda/cuda_geometry.h"

#define REASONS_MAX	64 /* lines that explain one kernel */
#define OPERATIONS_TEXT 160
#define DOING_TEXT	256

static const char *const state_name[] = {"absent", "compiling", "ready", "failed"};

void report_init(struct report *r, struct brazed *d, const struct config *config)
{
	r->d = d;
	r->config = config;
	if (!strcmp(config->compiler, "none") || config->tier == 0 ||
	    !compile_target_find(r->compiler, *config->compiler ? config->compiler : NULL))
		snprintf(r->compiler, sizeof r->compiler, "none");
}

void report_notice(const struct report *r)
{
	const struct config *c = r->config;

	/* Who asked for none knows. */
	if (strcmp(r->compiler, "none") || !strcmp(c->compiler, "none") || c->tier == 0)
		return;
	snprintf(r->d->notice, sizeof r->d->notice,
		 "brazed found no C compiler (%.100s), so loops are interpreted, which is slower: "
		 "install gcc, and restart brazed",
		 *c->compiler ? c->compiler : "gcc or clang in its PATH");
}

/* No connection of the status socket: they are the only streams that do not listen.  Nor one
 * that another thread has closed since the folder was read. */
static bool is_lasting(int fd)
{
	int type = 0, listens = 0;
	socklen_t n = sizeof type, m = sizeof listens;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n))
		return errno != EBADF;
	return type != SOCK_STREAM ||
	       (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &m) == 0 && listens);
}

/* Descriptors of this process but those that belong to no client: the kernel cache's
 * code, the compile helpers' that come and go with what they compile, and connections of
 * who asks, of which the one before may not be closed yet. */
static double open_fds(const struct cache_stats *k)
{
	DIR *dir = opendir("/proc/self/fd");
	double n = -1; /* the folder's own */

	if (!dir)
		return -1;
	for (struct dirent *e = NULL; (e = readdir(dir));)
		n += e->d_name[0] != '.' && is_lasting(atoi(e->d_name));
	closedir(dir);
	return n - (double)k->codes - (double)k->helper_fds;
}

static void put_sessions(cJSON *out, const struct brazed *d)
{
	double arrays = 0, pending = 0, charged = 0, arena = (double)d->shares.bytes;

	for (const struct session *s = d->sessions; s; s = s->next) {
		struct arena_stats a = {0};

		if (s->arena)
			arena_get_stats(s->arena, &a);
		arrays += s->trace.live_arrays;
		pending += s->trace.npending;
		charged += (double)(session_bytes(s) - a.leased_bytes);
		arena += (double)(a.live_bytes + a.warm_bytes);
	}
	ctl_put(out, "clients_count", d->nsession);
	ctl_put(out, "arrays_count", arrays);
	ctl_put(out, "pending_ops_count", pending);
	ctl_put(out, "client_bytes", charged);
	ctl_put(out, "arena_bytes", arena);
}

static void put_caches(cJSON *out, const struct brazed *d, const struct cache_stats *k)
{
	struct plancache_stats p;

	plancache_get_stats(d->plans, &p);
	ctl_put(out, "plans.hits", (double)p.hits);
	ctl_put(out, "plans.misses", (double)p.misses);
	ctl_put(out, "plans.count", (double)p.count);
	ctl_put(out, "plans.bytes", (double)p.bytes);
	ctl_put(out, "kernels.hits", (double)k->hits);
	ctl_put(out, "kernels.misses", (double)k->misses);
	ctl_put(out, "kernels.evictions", (double)k->evictions);
	ctl_put(out, "kernels.bytes", (double)k->bytes);
	ctl_put(out, "kernels.count", (double)k->kernels);
	ctl_put(out, "kernels.compiles", (double)k->compiles);
	ctl_put(out, "kernels.compile_failures", (double)k->compile_failures);
	ctl_put(out, "kernels.disk_hits", (double)k->disk_hits);
	ctl_put(out, "kernels.disk_misses", (double)k->disk_misses);
	ctl_put(out, "kernels.disk_writes", (double)k->disk_writes);
	ctl_put(out, "kernels.disk_errors", (double)k->disk_errors);
	ctl_put(out, "kernels.disk_work", (double)k->disk_work);
	ctl_put(out, "kernels.quarantined", (double)k->quarantined);
	ctl_put(out, "kernels.helper_deaths", (double)k->helper_deaths);
	ctl_put(out, "compile_seconds.tier0", 0); /* interpreted from the nest as it is */
	ctl_put(out, "compile_seconds.tier1", (double)k->compile_ns * 1e-9);
}

static void put_refusals(cJSON *out, const struct brazed *d)
{
	cJSON *list = cJSON_AddObjectToObject(out, "fusion_refusals");

	for (int r = FUSE_OK + 1; r < FUSE_REASON_END; r++)
		if (d->refusals[r])
			cJSON_AddNumberToObject(list, fuse_reason_text((enum fuse_reason)r),
						(double)d->refusals[r]);
}

static const char *const device_state[] = {"starting", "usable", "unusable"};

/* Users' own workers of it. */
static void put_own(cJSON *out, const struct device *root)
{
	cJSON *list = cJSON_AddArrayToObject(out, "users");

	for (const struct device *dev = root->brazed->own; dev; dev = dev->next_own) {
		struct executor_stats x;
		cJSON *row = NULL;

		if (dev->root != root)
			continue;
		executor_get_stats(dev->executor, &x);
		row = cJSON_CreateObject();
		cJSON_AddNumberToObject(row, "uid", dev->uid);
		cJSON_AddNumberToObject(row, "worker_pid", x.pid);
		cJSON_AddNumberToObject(row, "used_bytes", (double)dev->used);
		cJSON_AddStringToObject(row, "state", device_state[dev->state]);
		cJSON_AddItemToArray(list, row);
	}
}

/* From which other GPUs values come without the host, and what that has shown. */
static void put_peers(cJSON *out, const struct device *dev)
{
	cJSON *list = cJSON_AddArrayToObject(out, "peers");

	for (uint32_t i = 1; i < dev->brazed->ndevice; i++) {
		const struct device *from = &dev->brazed->device[i];
		const struct device_peer *p = &dev->peer[i];
		cJSON *row = NULL;

		if (!dev->index || from == dev)
			continue;
		row = cJSON_CreateObject();
		cJSON_AddStringToObject(row, "from", from->name);
		cJSON_AddBoolToObject(row, "reached", device_reaches(dev, from));
		cJSON_AddNumberToObject(row, "rate", p->bytes_us * 1e6);
		cJSON_AddNumberToObject(row, "values", (double)p->carried);
		cJSON_AddNumberToObject(row, "bytes", (double)p->carried_bytes);
		cJSON_AddItemToArray(list, row);
	}
}

static void put_device(cJSON *list, const struct device *dev, const struct executor_stats *x)
{
	cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "name", dev->name);
	cJSON_AddStringToObject(row, "state", device_state[dev->state]);
	cJSON_AddStringToObject(row, "model", dev->model);
	cJSON_AddStringToObject(row, "uuid", dev->uuid);
	cJSON_AddNumberToObject(row, "arch", dev->arch);
	cJSON_AddNumberToObject(row, "units", dev->units);
	cJSON_AddNumberToObject(row, "worker_pid", x->pid);
	cJSON_AddNumberToObject(row, "worker_deaths", (double)x->deaths);
	cJSON_AddNumberToObject(row, "runs", (double)x->runs);
	cJSON_AddNumberToObject(row, "busy_seconds", (double)x->busy_ns * 1e-9);
	cJSON_AddNumberToObject(row, "memory_bytes", (double)dev->capacity);
	cJSON_AddNumberToObject(row, "used_bytes", (double)(dev->used + dev->used_own));
	cJSON_AddNumberToObject(row, "memory_rate", (double)dev->memory_rate);
	cJSON_AddNumberToObject(row, "upload_rate", x->up_bytes_us * 1e6);
	cJSON_AddNumberToObject(row, "download_rate", x->down_bytes_us * 1e6);
	put_peers(row, dev);
	put_own(row, dev);
	cJSON_AddNumberToObject(row, "registered_bytes", (double)x->registered_bytes);
	cJSON_AddNumberToObject(row, "beside_steps", (double)x->beside_steps);
	cJSON_AddNumberToObject(row, "packets", (double)x->packets);
	cJSON_AddNumberToObject(row, "wakes", (double)x->wakes);
	cJSON_AddStringToObject(row, "text", dev->text);
	cJSON_AddItemToArray(list, row);
}

/* Every device's row; *sum: of all of them. */
static void put_devices(cJSON *out, const struct brazed *d, struct executor_stats *sum)
{
	cJSON *list = cJSON_AddArrayToObject(out, "devices");
	uint64_t memory = 0, used = 0, spills = 0, fetches = 0, lost = 0;

	memset(sum, 0, sizeof *sum);
	for (uint32_t i = 0; i < d->ndevice; i++) {
		const struct device *dev = &d->device[i];
		struct executor_stats x;

		isolate_stats(dev, &x);
		put_device(list, dev, &x);
		sum->pid = i ? sum->pid : x.pid;
		sum->runs += x.runs;
		sum->steps += x.steps;
		sum->slices += x.slices;
		sum->busy_ns += x.busy_ns;
		sum->library_products += x.library_products;
		sum->own_products += x.own_products;
		sum->deaths += x.deaths;
		sum->queued += x.queued;
		sum->in_flight += x.in_flight;
		sum->registered_bytes += x.registered_bytes;
		sum->beside_steps += x.beside_steps;
		sum->trials += x.trials;
		sum->tuning_ns += x.tuning_ns;
		memory += dev->capacity;
		used += dev->used + dev->used_own;
	}
	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev)) {
		spills += dev->spills;
		fetches += dev->fetches;
		lost += dev->lost;
	}
	ctl_put(out, "tuning.trials", (double)sum->trials);
	ctl_put(out, "tuning.seconds", (double)sum->tuning_ns * 1e-9);
	ctl_put(out, "device_memory_bytes", (double)memory);
	ctl_put(out, "device_used_bytes", (double)used);
	ctl_put(out, "device_registered_bytes", (double)sum->registered_bytes);
	ctl_put(out, "device_beside_steps", (double)sum->beside_steps);
	ctl_put(out, "device_spills", (double)spills);
	ctl_put(out, "device_fetches", (double)fetches);
	ctl_put(out, "device_lost_arrays", (double)lost);
	ctl_put(out, "device_products.library", (double)sum->library_products);
	ctl_put(out, "device_products.own", (double)sum->own_products);
}

static void put_status(const struct report *r, cJSON *out)
{
	const struct brazed *d = r->d;
	struct executor_stats x;
	struct cache_stats k;

	cache_get_stats(d->cache, &k);
	cJSON_AddStringToObject(out, "version", BRAZE_DAEMON_VERSION);
	cJSON_AddNumberToObject(out, "pid", getpid());
	cJSON_AddStringToObject(out, "socket", r->config->socket);
	cJSON_AddStringToObject(out, "cache_dir", r->config->cache_dir);
	cJSON_AddStringToObject(out, "compiler", r->compiler);
	cJSON_AddStringToObject(out, "device", r->config->device);
	put_devices(out, d, &x);
	cJSON_AddNumberToObject(out, "worker_pid", x.pid);
	control_put(d, out);
	ctl_put(out, "uptime_seconds", (double)(uv_hrtime() - d->started_ns) * 1e-9);
	put_sessions(out, d);
	ctl_put(out, "takeovers.count", (double)d->takeover.count);
	ctl_put(out, "takeovers.refused", (double)d->takeover.refused);
	ctl_put(out, "takeovers.last_seconds", (double)d->takeover.pause_ns * 1e-9);
	cJSON_AddStringToObject(out, "takeover_refused", d->takeover.why);
	cJSON_AddBoolToObject(out, "takeover_under_way", d->resting);
	ctl_put(out, "jobs_in_flight_count", (double)(x.queued + x.in_flight));
	ctl_put(out, "fds_count", open_fds(&k));
	put_caches(out, d, &k);
	ctl_put(out, "planning.last_seconds", (double)d->planning_us * 1e-6);
	ctl_put(out, "planning.longest_seconds", (double)d->longest_planning_us * 1e-6);
	put_refusals(out, d);
	publish_numbers(out, d);
	ctl_put(out, "loop_longest_iteration_seconds", (double)d->longest_iteration_ns * 1e-9);
	ctl_put(out, "loop_longest_wall_seconds", (double)d->longest_wall_ns * 1e-9);
	ctl_put(out, "loop_most.packets", (double)d->most_packets);
	ctl_put(out, "loop_most.operations", (double)d->most_operations);
	ctl_put(out, "worker_deaths_count", (double)x.deaths);
	ctl_put(out, "runs", (double)x.runs);
	ctl_put(out, "steps", (double)x.steps);
	ctl_put(out, "slices", (double)x.slices);
	ctl_put(out, "device_busy_seconds", (double)x.busy_ns * 1e-9);
}

static void put_client(cJSON *list, const struct session *s)
{
	cJSON *row = cJSON_CreateObject();
	struct arena_stats a = {0};
	char doing[DOING_TEXT];
	if (s->arena)
		arena_get_stats(s->arena, &a);
	report_doing(doing, sizeof doing, s);
	cJSON_AddNumberToObject(row, "session", (double)s->id);
	cJSON_AddNumberToObject(row, "pid", s->pid);
	cJSON_AddNumberToObject(row, "uid", s->uid);
	cJSON_AddStringToObject(row, "name", s->name);
	cJSON_AddStringToObject(row, "program", s->program);
	cJSON_AddStringToObject(row, "file", s->file);
	cJSON_AddStringToObject(row, "job", s->job);
	cJSON_AddStringToObject(row, "environment", s->environment);
	cJSON_AddNumberToObject(row, "age_seconds", (double)(uv_hrtime() - s->since_ns) * 1e-9);
	cJSON_AddNumberToObject(row, "queue", s->jobs);
	cJSON_AddStringToObject(row, "doing", doing);
	cJSON_AddBoolToObject(row, "paused", s->held);
	cJSON_AddNumberToObject(row, "arrays", s->trace.live_arrays);
	cJSON_AddNumberToObject(row, "bytes", (double)(session_bytes(s) - a.leased_bytes));
	cJSON_AddNumberToObject(row, "peak_bytes", (double)a.peak_bytes);
	cJSON_AddNumberToObject(row, "pending", s->trace.npending);
	cJSON_AddNumberToObject(row, "ops", (double)s->trace.stats.ops);
	cJSON_AddNumberToObject(row, "dead_ops", (double)s->trace.stats.dead_ops);
	cJSON_AddNumberToObject(row, "near", (double)s->near);
	cJSON_AddNumberToObject(row, "demands", (double)s->stats.demands);
	cJSON_AddNumberToObject(row, "device_seconds", (double)session_worked(s) * 1e-9);
	cJSON_AddNumberToObject(row, "queue_wait_seconds", (double)s->stats.queue_wait_ns * 1e-9);
	cJSON_AddNumberToObject(row, "plan_hits", (double)s->stats.plan_hits);
	cJSON_AddNumberToObject(row, "plan_misses", (double)s->stats.plan_misses);
	cJSON_AddNumberToObject(row, "kernel_hits", (double)s->stats.kernel_hits);
	cJSON_AddNumberToObject(row, "kernel_misses", (double)s->stats.kernel_misses);
	cJSON_AddNumberToObject(row, "fusion_refusals", (double)s->stats.refusals);
	cJSON_AddItemToArray(list, row);
}

static const char *const entry_name[] = {
#define X(name) #name,
	CUDA_ENTRIES(X)
#undef X
};
static const char *const geometry_state[] = {"model", "model (tried)", "tuned"};

/* The furthest that any of its launches has come. */
static const char *tuning_of(const struct kernel *k)
{
	unsigned best = 0;

	for (uint32_t i = 0; i < k->ngeometry; i++)
		if (k->geometry[i].state > best)
			best = k->geometry[i].state;
	return k->arch && k->ngeometry ? geometry_state[best] : "";
}

static void put_geometries(cJSON *out, const struct kernel *k)
{
	cJSON *list = cJSON_AddArrayToObject(out, "geometries");

	for (uint32_t i = 0; i < k->ngeometry; i++) {
		const struct cuda_geometry *g = &k->geometry[i];
		cJSON *row = cJSON_CreateObject();
		uint64_t least, most;

		cuda_geometry_bytes(g->size, &least, &most);
		cJSON_AddStringToObject(row, "entry", entry_name[g->entry]);
		cJSON_AddStringToObject(row, "state", geometry_state[g->state]);
		cJSON_AddNumberToObject(row, "units", g->units);
		cJSON_AddNumberToObject(row, "least_bytes", (double)least);
		cJSON_AddNumberToObject(row, "most_bytes", (double)most);
		cJSON_AddNumberToObject(row, "threads", g->best.threads);
		cJSON_AddNumberToObject(row, "blocks", g->best.blocks);
		cJSON_AddNumberToObject(row, "team", g->best.team);
		cJSON_AddNumberToObject(row, "seconds", (double)g->best_ns * 1e-9);
		cJSON_AddNumberToObject(row, "model_threads", g->model.threads);
		cJSON_AddNumberToObject(row, "model_blocks", g->model.blocks);
		cJSON_AddNumberToObject(row, "model_team", g->model.team);
		cJSON_AddNumberToObject(row, "model_seconds", (double)g->model_ns * 1e-9);
		cJSON_AddNumberToObject(
			row, "gain_percent",
			g->model_ns ? 100 - 100 * (double)g->best_ns / (double)g->model_ns : 0);
		cJSON_AddItemToArray(list, row);
	}
}

static void operations(char *buf, size_t n, const struct kernel *k)
{
	if (k->text)
		snprintf(buf, n, "a client's kernel of text");
	else if (k->call.call == CALL_END)
		nest_operations(buf, n, k->spec);
	else
		snprintf(buf, n, "%s of %s", call_row(k->call.call)->name,
			 dtype_row(k->call.dtype)->name);
}

static void put_kernel(cJSON *row, const struct kernel *k)
{
	char text[OPERATIONS_TEXT];

	operations(text, sizeof text, k);
	cJSON_AddNumberToObject(row, "id", k->id);
	cJSON_AddStringToObject(
		row, "state", k->strikes >= KERNEL_STRIKES ? "quarantined" : state_name[k->state]);
	cJSON_AddNumberToObject(row, "strikes", k->strikes);
	cJSON_AddStringToObject(row, "blame", k->blame);
	cJSON_AddNumberToObject(row, "tier", k->tier);
	cJSON_AddNumberToObject(row, "arch", k->arch);
	cJSON_AddNumberToObject(row, "registers", k->registers);
	cJSON_AddNumberToObject(row, "spill_bytes", k->spill_bytes);
	cJSON_AddNumberToObject(row, "runs", (double)k->runs);
	cJSON_AddNumberToObject(row, "elements", (double)k->elements);
	cJSON_AddNumberToObject(row, "busy_seconds", (double)k->busy_ns * 1e-9);
	cJSON_AddNumberToObject(row, "compile_seconds", (double)k->compile_ns * 1e-9);
	cJSON_AddBoolToObject(row, "from_disk", k->from_disk);
	cJSON_AddStringToObject(row, "geometry", tuning_of(k));
	cJSON_AddNumberToObject(row, "origin_session", (double)k->first_session);
	cJSON_AddStringToObject(row, "operations", text);
	cJSON_AddStringToObject(row, "origin", k->origin);
}

struct listing {
	cJSON *list;
	int left;
	bool brief; /* without nests */
};

static void list_kernel(void *data, const struct kernel *k)
{
	struct listing *l = data;
	cJSON *row;

	if (l->left-- <= 0)
		return;
	row = cJSON_CreateObject();
	put_kernel(row, k);
	if (!l->brief)
		cJSON_AddStringToObject(row, "key", k->key);
	cJSON_AddItemToArray(l->list, row);
}

/* ---- Why a kernel stands alone ---- */

struct explanation {
	const struct brazed *d;
	const struct kernel *kernel;
	cJSON *lines;
};

static bool has_line(const cJSON *lines, const char *text)
{
	const cJSON *line;

	cJSON_ArrayForEach(line, lines)
	{
		if (!strcmp(line->valuestring, text))
			return true;
	}
	return false;
}

static void step_name(char *buf, size_t n, const struct plan_step *s)
{
	char text[48];

	if (s->kind != STEP_KERNEL) {
		snprintf(buf, n, "%s", call_row(s->call->call)->name);
		return;
	}
	operations(text, sizeof text, s->kernel[0]);
	snprintf(buf, n, "kernel %u (%s)", s->kernel[0]->id, text);
}

static bool runs(const struct plan_step *s, const struct kernel *k)
{
	for (int t = 0; t < LIMIT_DEVICES; t++)
		if (s->kernel[t] == k)
			return true;
	return false;
}

static void add_line(struct explanation *e, const char *text)
{
	if (cJSON_GetArraySize(e->lines) < REASONS_MAX && !has_line(e->lines, text))
		cJSON_AddItemToArray(e->lines, cJSON_CreateString(text));
}

/* Which device its plans run on, and why. */
static void explain_place(struct explanation *e, const struct plan *plan)
{
	static const char *const where[PLACE_CASES] = {
#define X(id, text) text,
		PLACE_CASE_TEXTS(X)
#undef X
	};
	bool uses = false;

	for (uint32_t i = 0; i < plan->nstep; i++)
		uses |= runs(&plan->step[i], e->kernel);
	for (unsigned i = 0; uses && i < PLACE_CASES * (e->d->ndevice - 1); i++) {
		unsigned gpu = i / PLACE_CASES + 1, c = i % PLACE_CASES;
		const struct place *p = choose_place(plan, gpu, c);
		const char *among = choose_among(plan, gpu, c);
		char text[PLACE_TEXT + PLACE_AMONG + 128];

		if (!p || !*p->text)
			continue;
		snprintf(text, sizeof text, "plan %llu, with inputs %s, runs on %s: %s%s%s",
			 (unsigned long long)plan->number, where[c],
			 e->d->device[p->device - 1].name, p->text, *among ? "; " : "", among);
		add_line(e, text);
	}
}

static void explain_plan(void *data, const struct plan *plan)
{
	struct explanation *e = data;

	explain_place(e, plan);

	for (uint32_t i = 0; i < plan->nnote; i++) {
		const struct plan_note *note = &plan->note[i];
		const struct plan_step *a = &plan->step[note->step], *b = &plan->step[note->other];
		char text[256], one[80], two[80];

		if (!runs(a, e->kernel) && !runs(b, e->kernel))
			continue;
		step_name(one, sizeof one, a);
		step_name(two, sizeof two, b);
		snprintf(text, sizeof text, "%s not fused with %s before it: %s", one, two,
			 fuse_reason_text(note->reason));
		add_line(e, text);
	}
}

static void put_one_kernel(const struct brazed *d, uint32_t id, cJSON *out)
{
	struct kernel *k = cache_find(d->cache, id);
	struct explanation e = {.d = d, .kernel = k};
	char *source;

	if (!k)
		return;
	put_kernel(out, k);
	cJSON_AddStringToObject(out, "key", k->key);
	put_geometries(out, k);
	source = cache_source(k);
	cJSON_AddStringToObject(out, "source", source ? source : "");
	free(source);
	e.lines = cJSON_AddArrayToObject(out, "reasons");
	plancache_each(d->plans, explain_plan, &e);
	cJSON_AddStringToObject(out, "error", k->error);
}

void report_snapshot(void *data, enum ctl_page page, uint32_t id, cJSON *out)
{
	const struct report *r = data;
	struct listing listing = {.left = CTL_LIST_MAX};

	switch (page) {
	case CTL_STATUS:
		put_status(r, out);
		break;
	case CTL_CLIENTS:
		listing.list = cJSON_AddArrayToObject(out, "clients");
		for (const struct session *s = r->d->sessions; s; s = s->next)
			put_client(listing.list, s);
		break;
	case CTL_KERNELS:
		listing.brief = id != 0;
		listing.list = cJSON_AddArrayToObject(out, "kernels");
		cache_each(r->d->cache, list_kernel, &listing);
		break;
	case CTL_KERNEL:
		put_one_kernel(r->d, id, out);
		break;
	case CTL_HISTORY:
		history_put(out, r->d->history, id);
		break;
	case CTL_PUBLISHED:
		publish_put(cJSON_AddArrayToObject(out, "published"), r->d);
		break;
	case CTL_LIMITS:
		account_put(r->d, out);
		break;
	case CTL_EVENTS:
		break;
	}
}

enum status report_order(void *data, const struct ctl_order *o, cJSON *out, struct err *err)
{
	const struct report *r = data;

	return control_order(r->d, o, out, err);
}
