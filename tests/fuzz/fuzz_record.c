/* SPDX-License-Identifier: Apache-2.0 */
/* A client's whole way in one process: recorded operations, demands, plans, jobs.
 *
 * In: a program, one decision a byte: operations on arrays of bool and integers,
 * views, overlapping copies, snapshots, drops, demands, and jobs that end well,
 * fail or are cancelled.  Each operation is recorded as columns and done at once
 * by the model; every value that the daemon calls stored must be the model's,
 * whatever was fused, recomputed, moved or written in place. */
#include <sys/mman.h>
#include <uv.h>

#include "record_calls.h"
#include "nest/compilepart.h"
#include "run/job.h"
#include "trace/record.h"

static struct device cpu = {.name = "cpu"};

static uv_loop_t loop;

/* Operand k of a map, an array or (not the first) a number; widens the shape. */
static bool map_operand(struct life *l, unsigned k, struct model_operand *in, struct op_arg *arg,
			struct shape *shape)
{
	bool weak = fuzz_below(&l->in, 2), number = k && !fuzz_below(&l->in, 3);
	unsigned from;

	if (number) {
		*arg = (struct op_arg){(uint8_t)(weak ? DT_INT64 : some_dtype(l)), weak};
		number_operand(l, in, arg->dtype, weak);
		return true;
	}
	from = some_id(l);
	if (!from)
		return false;
	array_operand(l, in, from);
	*arg = (struct op_arg){in->array->view.dtype, false};
	if (k)
		return !shape_broadcast(shape, &in->array->view.shape, NULL);
	*shape = in->array->view.shape;
	return true;
}

static void do_map(struct life *l)
{
	static const uint8_t ops[] = {OP_ADD,	     OP_SUBTRACT,    OP_MULTIPLY, OP_MINIMUM,
				      OP_MAXIMUM,    OP_NEGATIVE,    OP_SQUARE,	  OP_LESS,
				      OP_LOGICAL_OR, OP_LOGICAL_AND, OP_WHERE,	  OP_CAST};
	unsigned op = ops[fuzz_below(&l->in, sizeof ops)], id = free_id(l);
	unsigned dtype = op == OP_CAST ? some_dtype(l) : NO_TYPE;
	struct model_operand in[3];
	struct op_arg arg[3];
	struct op_sig sig;
	struct shape shape;

	if (!id)
		return;
	begin(l);
	for (unsigned k = 0; k < op_row(op)->arity; k++)
		if (!map_operand(l, k, &in[k], &arg[k], &shape))
			return;
	if (model_count(&shape) > SPACE || op_infer(&sig, (enum op)op, arg, dtype, NULL))
		return;
	if (commit(l, op, dtype, id))
		model_map(&l->model, id, op, &sig, in, &shape);
}

static void do_reduction(struct life *l)
{
	static const uint8_t ops[] = {OP_SUM, OP_MAX, OP_MIN, OP_PROD, OP_ANY, OP_ALL};
	unsigned op = ops[fuzz_below(&l->in, sizeof ops)], id = free_id(l), from = some_id(l);
	const struct model_array *a = &l->model.array[from];
	bool keep = fuzz_below(&l->in, 2);
	struct model_operand in;
	struct op_sig sig;
	struct op_arg arg;
	uint32_t axes;

	if (!id || !from)
		return;
	axes = fuzz_byte(&l->in) & ((1u << a->view.shape.ndim) - 1);
	arg = (struct op_arg){a->view.dtype, false};
	begin(l);
	array_operand(l, &in, from);
	word(l, axes | (uint64_t)keep << 32);
	if (!op_infer(&sig, (enum op)op, &arg, DTYPE_END, NULL) && commit(l, op, NO_TYPE, id))
		model_reduce(&l->model, id, op, &sig, a, axes, keep);
}

/* FULL or ARANGE; EMPTY with what fills it at once. */
static void do_creation(struct life *l)
{
	static const uint8_t ops[] = {OP_FULL, OP_ARANGE, OP_EMPTY};
	unsigned op = ops[fuzz_below(&l->in, 3)], dtype = some_dtype(l), id = free_id(l);
	struct model_operand in[2] = {{NULL, 0}, {NULL, 0}}, fill;
	struct shape s;
	int64_t *x, n;

	if (!id)
		return;
	dtype = op == OP_ARANGE && dtype == DT_BOOL ? DT_INT8 : dtype;
	some_shape(l, &s);
	begin(l);
	for (unsigned k = 0; k < op_row(op)->arity; k++)
		number_operand(l, &in[k], dtype, false);
	if (op == OP_ARANGE) {
		n = fuzz_below(&l->in, 40);
		s = (struct shape){1, {n}};
		word(l, (uint64_t)n);
	} else {
		words_of_shape(l, &s);
	}
	if (!commit(l, op, dtype, id))
		return;
	n = model_count(&s);
	x = xcalloc((size_t)n + 1, sizeof *x);
	for (int64_t i = 0; i < n; i++)
		x[i] = in[0].number + i * in[1].number;
	model_write(model_new(&l->model, id, dtype, &s), x);
	free(x);
	if (op != OP_EMPTY)
		return;
	begin(l);
	array_operand(l, &fill, id);
	number_operand(l, &fill, DT_INT64, true);
	FUZZ_CHECK(commit(l, OP_ASSIGN, NO_TYPE, 0));
	model_assign(&l->model.array[id], &fill);
}

static void do_assign(struct life *l)
{
	unsigned to = some_id(l), from = some_id(l);
	struct model_array *a = &l->model.array[to];
	struct model_operand in;

	/* Elements that share memory are written in no order; a snapshot never is. */
	for (unsigned k = 0; to && k < a->view.shape.ndim; k++)
		if (!a->view.stride[k] && a->view.shape.dim[k] > 1)
			return;
	if (!to || a->frozen)
		return;
	begin(l);
	array_operand(l, &in, to);
	if (fuzz_below(&l->in, 4))
		array_operand(l, &in, from);
	else
		number_operand(l, &in, DT_INT64, true);
	if (commit(l, OP_ASSIGN, NO_TYPE, 0))
		model_assign(a, &in);
}

/* A slice, a transpose, a broadcast: whatever lies inside the view it is made of. */
static void do_view(struct life *l)
{
	unsigned id = free_id(l), from = some_id(l);
	struct model_array *a = &l->model.array[from], *b = &l->model.array[id];
	struct model_operand in;
	struct view v;

	if (!id || !from)
		return;
	v = a->view;
	for (unsigned k = 0; k < v.shape.ndim; k++) {
		int64_t n = v.shape.dim[k], first = n ? fuzz_below(&l->in, (unsigned)n) % n : 0;
		int64_t step = 1 + fuzz_below(&l->in, 3),
			count = n ? (n - first + step - 1) / step : 0;

		v.offset += first * v.stride[k];
		v.stride[k] *= step;
		v.shape.dim[k] = count;
		if (fuzz_below(&l->in, 3) == 2 && count) {
			v.offset += (count - 1) * v.stride[k];
			v.stride[k] = -v.stride[k];
		}
	}
	if (v.shape.ndim > 1 && fuzz_below(&l->in, 2)) {
		int64_t n = v.shape.dim[0], s = v.stride[0];

		v.shape.dim[0] = v.shape.dim[1];
		v.stride[0] = v.stride[1];
		v.shape.dim[1] = n;
		v.stride[1] = s;
	}
	begin(l);
	array_operand(l, &in, from);
	word(l, v.shape.ndim);
	word(l, (uint64_t)v.offset);
	for (unsigned k = 0; k < v.shape.ndim; k++)
		word(l, (uint64_t)v.shape.dim[k]);
	for (unsigned k = 0; k < v.shape.ndim; k++)
		word(l, (uint64_t)v.stride[k]);
	if (!commit(l, OP_VIEW, v.dtype, id))
		return;
	*b = (struct model_array){a->buffer, v, a->frozen};
	b->buffer->refs++;
}

static void do_pin(struct life *l)
{
	unsigned id = free_id(l), from = some_id(l);
	struct model_array *a = &l->model.array[from], *b = &l->model.array[id];
	struct model_operand in;

	if (!id || !from)
		return;
	begin(l);
	array_operand(l, &in, from);
	if (!commit(l, OP_PIN, NO_TYPE, id))
		return;
	*b = (struct model_array){model_buffer(a->buffer->bytes), a->view, true};
	memcpy(b->buffer->data, a->buffer->data, a->buffer->bytes);
}

static void do_drop(struct life *l)
{
	unsigned id = some_id(l);
	struct model_operand in;

	if (!id)
		return;
	begin(l);
	array_operand(l, &in, id);
	FUZZ_CHECK(commit(l, OP_DROP, NO_TYPE, 0));
	model_drop(&l->model.array[id]);
}

/* ---- Running ---- */

/* Every array whose value is stored has the model's elements. */
static void compare(struct life *l)
{
	for (unsigned id = 1; id < MODEL_IDS; id++) {
		const struct model_array *m = &l->model.array[id];
		const struct array *a = trace_array(&l->trace, id);
		const struct shape *s = &m->view.shape;
		int64_t index[LIMIT_NDIM] = {0};
		const struct version *v;

		FUZZ_CHECK(!a == !m->buffer);
		v = a ? trace_current(a) : NULL;
		if (!v || v->state != VERSION_STORED || !model_count(s))
			continue;
		do {
			char *got = l->memory + v->storage->extent.offset;
			int64_t x = exec_get(exec_at(got, &m->view, index), m->view.dtype);

			FUZZ_CHECK(x == exec_get(exec_at(m->buffer->data, &m->view, index),
						 m->view.dtype));
		} while (exec_next(index, s->dim, s->ndim));
	}
}

static enum job_end inputs(const struct job *j, struct err *err)
{
	const struct part *p = &j->partition->part;

	for (uint32_t k = 0; k < p->nvalue; k++) {
		const struct version *v = j->partition->value[k];

		if (p->value[k].role != PART_INPUT || v->state == VERSION_STORED)
			continue;
		if (v->state == VERSION_FAILED)
			*err = *v->error;
		return v->state == VERSION_FAILED ? JOB_FAILED : JOB_CANCELLED;
	}
	return JOB_DONE;
}

/* The oldest job runs, unless what it reads never came, or it is unlucky. */
static void finish_one(struct life *l, bool lucky)
{
	struct job *j = l->flight[0];
	struct plan *plan = j->run.plan;
	struct err err = {E_LOST, "unlucky"};
	enum job_end end = inputs(j, &err);
	unsigned luck = fuzz_byte(&l->in);
	char *slot[4096];

	memmove(l->flight, l->flight + 1, --l->nflight * sizeof l->flight[0]);
	if (end == JOB_DONE && !lucky && luck < 16)
		end = luck % 2 ? JOB_FAILED : JOB_CANCELLED;
	if (end == JOB_DONE) {
		FUZZ_CHECK(plan->nslot <= sizeof slot / sizeof slot[0]);
		for (uint32_t s = 0; s < plan->nslot; s++)
			slot[s] = l->memory + j->place[s].offset;
		model_run(plan, &j->partition->part, slot, (enum model_way)(luck % MODEL_WAYS));
	}
	job_settle(j, &l->trace, end, &err);
	job_free(j, &l->trace);
	plan_free(plan);
	compare(l);
}

static void ignore(void *data, const char *pass, const char *text)
{
	(void)data;
	(void)pass;
	(void)text;
}

/* False: nothing was pending. */
static bool launch(struct life *l, struct version *const *want, size_t n, bool unfused)
{
	struct job *j = xcalloc(1, sizeof *j);
	struct plan *plan = NULL;
	struct err err = {0};
	enum status st;

	demand_partition(&j->partition, &l->trace, want, n, unfused);
	if (!j->partition) {
		free(j);
		return false;
	}
	st = compilepart_run(&plan, &j->partition->part, NULL, ignore, NULL, &err);
	if (st == E_UNSUPPORTED) {
		job_settle(j, &l->trace, JOB_FAILED, &err);
		job_free(j, &l->trace);
		return true;
	}
	if (st)
		fprintf(stderr, "%s\n", err.text);
	FUZZ_CHECK(!st);
	/* As the pipeline does: an input that failed or was cancelled ends the job. */
	for (uint32_t k = 0; k < j->partition->part.nvalue && !st; k++)
		if (j->partition->part.value[k].role == PART_INPUT &&
		    !j->partition->value[k]->storage)
			st = E_CANCELLED;
	j->run.plan = plan;
	j->device = &cpu;
	if (!st)
		st = job_bind(j, &l->trace, 1, &err);
	if (st) {
		job_settle(j, &l->trace, JOB_CANCELLED, &err);
		job_free(j, &l->trace);
		plan_free(plan);
		return false;
	}
	if (l->nflight == FLIGHT)
		finish_one(l, false);
	l->flight[l->nflight++] = j;
	return true;
}

static void do_demand(struct life *l)
{
	unsigned how = fuzz_below(&l->in, 8), n = 1 + fuzz_below(&l->in, 3);
	struct version *want[3];

	for (unsigned k = 0; k < n; k++) {
		unsigned id = some_id(l);

		if (!id)
			return;
		want[k] = trace_current(trace_array(&l->trace, id));
	}
	launch(l, want, n, how & 1);
	if (how & 2)
		while (l->nflight)
			finish_one(l, false);
}

/* What a fence and a trace that grew too long ask for. */
static void do_cut(struct life *l)
{
	unsigned id = some_id(l), readers = fuzz_below(&l->in, 2);
	struct version **want;
	size_t n;

	if (!id)
		return;
	want = readers ? demand_readers(&l->trace, trace_current(trace_array(&l->trace, id)), &n)
		       : demand_cut(&l->trace, &n);
	launch(l, want, n, false);
	while (n--)
		version_unref(&l->trace, want[n]);
	free(want);
}

/* ---- A program ---- */

static void turn(struct life *l)
{
	unsigned kind = fuzz_below(&l->in, 32);

	if (kind < 10)
		do_map(l);
	else if (kind < 12)
		do_reduction(l);
	else if (kind < 15)
		do_call(l);
	else if (kind < 19)
		do_assign(l);
	else if (kind < 22)
		do_creation(l);
	else if (kind < 25)
		do_view(l);
	else if (kind < 26)
		do_pin(l);
	else if (kind < 28)
		do_drop(l);
	else if (kind < 31)
		do_demand(l);
	else
		do_cut(l);
}

/* In the end everything can be read, but for what failed. */
static void read_all(struct life *l)
{
	while (l->nflight)
		finish_one(l, true);
	for (unsigned id = 1; id < MODEL_IDS; id++) {
		struct version *v;

		if (!l->model.array[id].buffer)
			continue;
		v = trace_current(trace_array(&l->trace, id));
		while (launch(l, &v, 1, false) || l->nflight)
			while (l->nflight)
				finish_one(l, true);
		FUZZ_CHECK(v->state == VERSION_STORED || v->state == VERSION_FAILED);
	}
	compare(l);
}

static void close_life(struct life *l)
{
	struct arena_stats stats;

	for (unsigned id = 1; id < MODEL_IDS; id++)
		if (l->model.array[id].buffer)
			model_drop(&l->model.array[id]);
	trace_finish(&l->trace);
	FUZZ_CHECK(!l->trace.npending);
	FUZZ_CHECK(!l->trace.held_bytes);
	arena_get_stats(l->arena, &stats);
	FUZZ_CHECK(stats.live_bytes == stats.leased_bytes);
	munmap(l->memory, ARENA);
	arena_destroy(l->arena);
	uv_run(&loop, UV_RUN_DEFAULT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	struct life l = {.in = {data, size}};
	struct err err;

	if (!started)
		uv_loop_init(&loop);
	started = true;
	FUZZ_CHECK(!arena_create(&l.arena, &loop, ARENA, &err));
	l.memory = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd(l.arena), 0);
	FUZZ_CHECK(l.memory != MAP_FAILED && arena_bytes(l.arena) == ARENA);
	trace_init(&l.trace, l.arena, 0);
	for (int k = 0; k < TURNS && l.in.left; k++)
		turn(&l);
	read_all(&l);
	close_life(&l);
	return 0;
}
