/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_trace.c - /trace: the last moments in the form of the Trace Event Format, which Perfetto
 * and Chrome show.
 *
 * In: a copy of the ring, the objects of /clients and /status for names.  Out: text, on the HTTP
 * thread.  Processes of the picture are "brazed", "devices" and "sessions", its threads lanes.  A
 * flow goes from the packet that asked for a value through the runs that it caused to its answer,
 * and is told only where both ends are still there. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/moments.h"
#include "base/xalloc.h"
#include "ctl_http.h"

#define BRAZED	 1
#define DEVICES	 2
#define SESSIONS 3
#define SEEN	 (4 * MOMENTS_KEPT) /* slots of the table of flows */

static const struct row {
	enum moment_lane lane;
	const char *name, *number;
} rows[] = {
#define MOMENT(id, lane, name, number, text) {LANE_##lane, name, number},
#include "base/moments.def"
#undef MOMENT
};

/* Which ends of a flow are there. */
struct seen {
	uint64_t flow;
	bool asked, answered;
};

static struct seen *seen_at(struct seen *table, uint64_t flow)
{
	size_t at = (size_t)((flow * 0x9E3779B97F4A7C15u) >> 32) % SEEN;

	while (table[at].flow && table[at].flow != flow)
		at = (at + 1) % SEEN;
	return &table[at];
}

static struct seen *look_for_flows(const struct moments *m)
{
	struct seen *table = xcalloc(SEEN, sizeof *table);

	for (uint32_t i = 0; i < m->n; i++) {
		const struct moment *e = &m->of[i];
		struct seen *s = e->flow ? seen_at(table, e->flow) : NULL;

		if (!s)
			continue;
		s->flow = e->flow;
		s->asked |= e->kind == MOMENT_PACKET;
		s->answered |= e->kind == MOMENT_ANSWER;
	}
	return table;
}

/* By their beginnings; what holds others comes before them. */
static int compare(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->began != y->began)
		return x->began < y->began ? -1 : 1;
	if (x->ended != y->ended)
		return x->ended > y->ended ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static void lane(const struct moment *e, unsigned *process, unsigned *thread)
{
	enum moment_lane l = rows[e->kind].lane;

	*process = l == LANE_SESSION ? SESSIONS : l == LANE_DEVICE ? DEVICES : BRAZED;
	*thread = l == LANE_SESSION  ? e->session
		  : l == LANE_DEVICE ? e->place + 1u
				     : (unsigned)l + 1 + (l == LANE_COMPILER ? e->place : 0u);
}

static void put_text(FILE *f, const char *text)
{
	cJSON *s = cJSON_CreateString(text);
	char *quoted = cJSON_PrintUnformatted(s);

	fputs(quoted ? quoted : "\"\"", f);
	free(quoted);
	cJSON_Delete(s);
}

static void put_name(FILE *f, const char *what, unsigned process, unsigned thread, const char *name)
{
	fprintf(f,
		"{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0,\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
		what, process, thread);
	put_text(f, name);
	fputs("}},\n", f);
}

static void put_names(FILE *f, const cJSON *clients, const cJSON *status)
{
	const cJSON *row = NULL;
	unsigned at = 0;

	put_name(f, "process_name", BRAZED, 0, "brazed");
	put_name(f, "process_name", DEVICES, 0, "devices");
	put_name(f, "process_name", SESSIONS, 0, "sessions");
	put_name(f, "thread_name", BRAZED, LANE_LOOP + 1, "loop");
	put_name(f, "thread_name", BRAZED, LANE_PLANNER + 1, "planner");
	put_name(f, "thread_name", BRAZED, LANE_COMPILER + 1, "compile helper");
	put_name(f, "thread_name", BRAZED, LANE_COMPILER + 2, "compile helper of GPUs");
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(status, "devices"))
	{
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "name");

		put_name(f, "thread_name", DEVICES, ++at,
			 cJSON_IsString(name) ? name->valuestring : "?");
	}
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(clients, "clients"))
	{
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "name");
		const cJSON *id = cJSON_GetObjectItemCaseSensitive(row, "session");
		char text[256];

		if (!cJSON_IsString(name) || !cJSON_IsNumber(id))
			continue;
		snprintf(text, sizeof text, "%.0f %s", id->valuedouble, name->valuestring);
		put_name(f, "thread_name", SESSIONS, (unsigned)id->valuedouble, text);
	}
}

static void put_flow(FILE *f, const struct moment *e, unsigned process, unsigned thread)
{
	const char *way = e->kind == MOMENT_PACKET   ? "s"
			  : e->kind == MOMENT_ANSWER ? "f\",\"bp\":\"e"
						     : "t";

	fprintf(f,
		"{\"ph\":\"%s\",\"name\":\"read\",\"cat\":\"read\",\"id\":\"%#llx\",\"ts\":%.3f,"
		"\"pid\":%u,\"tid\":%u},\n",
		way, (unsigned long long)e->flow, (double)e->began * 1e-3, process, thread);
}

char *ctl_trace(struct moments *m, const cJSON *clients, const cJSON *status)
{
	struct seen *table = look_for_flows(m);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f) {
		free(table);
		return xstrdup("{}");
	}
	qsort(m->of, m->n, sizeof m->of[0], compare);
	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", f);
	put_names(f, clients, status);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct moment *e = &m->of[i];
		const struct seen *s = e->flow ? seen_at(table, e->flow) : NULL;
		unsigned process, thread;

		lane(e, &process, &thread);
		fprintf(f,
			"{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"brazed\",\"ts\":%.3f,\"dur\":%.3f,"
			"\"pid\":%u,\"tid\":%u,\"args\":{\"%s\":%u,\"session\":%u}},\n",
			rows[e->kind].name, (double)e->began * 1e-3,
			(double)(e->ended - e->began) * 1e-3, process, thread, rows[e->kind].number,
			e->number, e->session);
		if (s && s->asked && s->answered)
			put_flow(f, e, process, thread);
	}
	/* Lists end without a comma: the last event is a mark of the end. */
	fprintf(f,
		"{\"ph\":\"I\",\"name\":\"asked\",\"cat\":\"brazed\",\"s\":\"g\",\"ts\":%.3f,"
		"\"pid\":%u,\"tid\":%u}\n]}\n",
		(double)uv_hrtime() * 1e-3, BRAZED, LANE_LOOP + 1);
	fclose(f);
	free(table);
	return text;
}
