/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - samples of what history.def names. */
#include "history.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <time.h>

#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "plan/plancache.h"
#include "run/executor.h"

enum {
#define HISTORY(name, text) AT_##name,
#include "ctl/history.def"
#undef HISTORY
	FIELDS
};

static const char *const field[] = {
#define HISTORY(name, text) #name,
#include "ctl/history.def"
#undef HISTORY
};

struct history {
	uint64_t n;
	double sample[HISTORY_KEPT][FIELDS];
};

struct history *history_create(void)
{
	return xcalloc(1, sizeof(struct history));
}

void history_destroy(struct history *h)
{
	free(h);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add_sessions(double *v, const struct brazed *d)
{
	for (const struct session *s = d->sessions; s; s = s->next) {
		struct arena_stats a = {0};

		if (s->arena)
			arena_get_stats(s->arena, &a);
		v[AT_client_bytes] +=
			(double)(a.live_bytes - a.leased_bytes + trace_charge(&s->trace));
		v[AT_arena_bytes] += (double)(a.live_bytes + a.warm_bytes);
		v[AT_queue] += s->jobs;
	}
}

static void add_devices(double *v, const struct brazed *d)
{
	for (uint32_t i = 0; i < d->ndevice; i++) {
		struct executor_stats x;

		isolate_stats(&d->device[i], &x);
		v[i ? AT_device_busy_seconds : AT_cpu_busy_seconds] += (double)x.busy_ns * 1e-9;
		v[AT_runs] += (double)x.runs;
		v[AT_worker_deaths] += (double)x.deaths;
		v[AT_device_used_bytes] += (double)(d->device[i].used + d->device[i].used_own);
	}
}

void history_sample(struct history *h, const struct brazed *d)
{
	double *v = h->sample[h->n++ % HISTORY_KEPT];
	struct plancache_stats p;
	struct cache_stats k;

	for (int i = 0; i < FIELDS; i++)
		v[i] = 0;
	plancache_get_stats(d->plans, &p);
	cache_get_stats(d->cache, &k);
	v[AT_time] = seconds(CLOCK_REALTIME);
	v[AT_loop_seconds] = seconds(CLOCK_THREAD_CPUTIME_ID);
	v[AT_clients] = d->nsession;
	add_sessions(v, d);
	add_devices(v, d);
	v[AT_plan_hits] = (double)p.hits;
	v[AT_plan_misses] = (double)p.misses;
	v[AT_kernels] = (double)k.kernels;
	v[AT_compiles] = (double)k.compiles;
	v[AT_compile_seconds] = (double)k.compile_ns * 1e-9;
}

void history_put(cJSON *out, const struct history *h, uint32_t after)
{
	cJSON *list;
	uint64_t from = h->n > HISTORY_KEPT ? h->n - HISTORY_KEPT : 0;

	cJSON_AddNumberToObject(out, "every_seconds", HISTORY_EVERY_MS / 1000);
	cJSON_AddNumberToObject(out, "kept", HISTORY_KEPT);
	cJSON_AddItemToObject(out, "fields", cJSON_CreateStringArray(field, FIELDS));
	list = cJSON_AddArrayToObject(out, "samples");
	for (; from < h->n; from++) {
		const double *v = h->sample[from % HISTORY_KEPT];

		if (v[AT_time] > after)
			cJSON_AddItemToArray(list, cJSON_CreateDoubleArray(v, FIELDS));
	}
}
