/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of any bytes, decoded and carried out as far as a plan.
 *
 * In: packets, each after its length in two bytes, as one connection might send
 * them.  What decodes goes onto a trace, as in pipeline.c; what is demanded is
 * planned and bound to storage, and settled as if it had run.  The first error
 * ends the connection; nothing may be left of it. */
#include <uv.h>

#include "fuzz.h"
#include "future/ticket.h"
#include "nest/compilepart.h"
#include "run/job.h"
#include "trace/record.h"
#include "wire/decode.h"

#define ARENA	(64u << 20)
#define LEASE	(16u << 20)
#define PACKETS 64

struct client {
	struct arena *arena;
	struct trace trace;
	struct err err;
};

static struct device cpu = {.name = "cpu"};

static uv_loop_t loop;
static struct decoder *decoder;
static struct grids *grids;

static void ignore(void *data, const char *pass, const char *text)
{
	(void)data;
	(void)pass;
	(void)text;
}

static void settle(struct client *c, struct job *j)
{
	struct plan *plan = NULL;
	struct err err = {0};
	enum job_end end = JOB_DONE;
	enum status st = compilepart_run(&plan, &j->partition->part, NULL, ignore, NULL, &err);

	/* The planner refuses some; it never finds the partition malformed. */
	if (st)
		fprintf(stderr, "%s\n", err.text);
	FUZZ_CHECK(st != E_INTERNAL);
	for (uint32_t k = 0; k < j->partition->part.nvalue && !st; k++)
		if (j->partition->part.value[k].role == PART_INPUT &&
		    !j->partition->value[k]->storage)
			st = err_set(&err, E_LOST, "an input was lost");
	j->run.plan = plan;
	j->device = &cpu;
	if (!st)
		st = job_bind(j, &c->trace, 1, &err);
	if (st)
		end = st == E_NOMEM ? JOB_CANCELLED : JOB_FAILED;
	job_settle(j, &c->trace, end, &err);
	job_free(j, &c->trace);
	plan_free(plan);
}

/* The values that the ids mean, each with a reference; false: one means nothing. */
static bool values_of(struct client *c, struct version **v, const uint32_t *id, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct array *a = trace_array(&c->trace, id[k]);

		if (!a) {
			err_set(&c->err, E_UNKNOWN_ARRAY, "no array %u", id[k]);
			while (k-- > 0)
				version_unref(&c->trace, v[k]);
			return false;
		}
		v[k] = version_ref(trace_current(a));
	}
	return true;
}

/* What is stored of the values behind the first n lies in the arena, where it can be told. */
static void check_also(const struct client *c, const struct ticket *t)
{
	for (uint32_t k = t->n; k < t->n + t->nalso; k++) {
		const struct version *v = t->version[k];
		const struct extent *e;

		if (v->state != VERSION_STORED || !v->storage->host)
			continue;
		e = &v->storage->extent;
		FUZZ_CHECK(e->offset % HOST_ALIGN == 0 && e->offset <= arena_bytes(c->arena) &&
			   v->bytes <= arena_bytes(c->arena) - e->offset);
	}
}

static void demand(struct client *c, const uint32_t *id, size_t n, const uint32_t *also,
		   size_t nalso)
{
	struct version *want[LIMIT_DEMAND_IDS + LIMIT_DEMAND_ALSO];
	struct ticket_list list = {0};
	struct ticket *t;
	struct job *j;

	if (!values_of(c, want, id, n))
		return;
	if (!values_of(c, want + n, also, nalso)) {
		while (n-- > 0)
			version_unref(&c->trace, want[n]);
		return;
	}
	t = ticket_add(&list, TICKET_DEMAND, 1, want, (uint32_t)n, (uint32_t)n, (uint32_t)nalso, 0);
	j = calloc(1, sizeof *j);
	demand_partition(&j->partition, &c->trace, want, n, false);
	if (j->partition)
		settle(c, j);
	else
		free(j);
	check_also(c, t);
	ticket_remove(&list, t, &c->trace);
}

static enum status record(struct client *c, const struct request *r)
{
	enum status st = OK;

	if (r->has_grid)
		st = record_define(&c->trace, grids, r->grid.number, &r->grid.words, 0, &c->err);
	if (!st && r->has_trace)
		st = record_ops(&c->trace, &r->trace, &c->err);
	return st;
}

static void handle(struct client *c, const struct request *r)
{
	struct extent e;
	enum status st = OK;

	if (r->has_hello)
		FUZZ_CHECK(r->hello.name && r->hello.device);
	if (r->has_unlease)
		st = arena_unlease(c->arena, r->unlease.offset, r->unlease.bytes, &c->err);
	if (!st)
		st = record(c, r);
	FUZZ_CHECK(st == c->err.code && (!st || *c->err.text));
	if (!st && r->has_demand)
		demand(c, r->demand.id, r->demand.n, r->demand.also, r->demand.nalso);
	if (!st && r->has_fence)
		demand(c, &r->fence.id, 1, NULL, 0);
	if (!st && r->has_lease && arena_lease(c->arena, &e, r->lease.bytes, &c->err))
		c->err.code = OK; /* the client is told, no more */
}

static void serve(struct client *c, struct fuzz_input *in)
{
	for (int k = 0; k < PACKETS && in->left > 2 && !c->err.code; k++) {
		size_t n = fuzz_byte(in);
		struct request r;

		n |= (size_t)fuzz_byte(in) << 8;
		n = n < in->left ? n : in->left;
		n = n < LIMIT_PACKET_BYTES ? n : LIMIT_PACKET_BYTES;
		if (!decode_request(&r, decoder, in->at, n, &c->err))
			handle(c, &r);
		in->at += n;
		in->left -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct client c = {0};
	struct arena_stats stats;
	struct extent lease;

	if (!decoder) {
		uv_loop_init(&loop);
		decoder = decode_create();
		grids = grid_table_create();
	}
	FUZZ_CHECK(!arena_create(&c.arena, &loop, ARENA, &c.err));
	FUZZ_CHECK(!arena_lease(c.arena, &lease, LEASE, &c.err));
	trace_init(&c.trace, c.arena, 0);
	serve(&c, &in);
	trace_finish(&c.trace);
	FUZZ_CHECK(!c.trace.npending && !c.trace.held_bytes && !c.trace.live_arrays);
	arena_get_stats(c.arena, &stats);
	FUZZ_CHECK(stats.live_bytes == stats.leased_bytes);
	arena_destroy(c.arena);
	uv_run(&loop, UV_RUN_DEFAULT);
	return 0;
}
