/* SPDX-License-Identifier: Apache-2.0 */
/* cu_op.c - one operation of a stream: made by a call, executed by the stream's thread. */
#include "cu.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Thread_local struct cu_op *cu_op_library;

struct cu_op *cu_op_new(enum cu_op_kind kind)
{
	struct cu_op *op = cu_alloc(sizeof(*op));

	op->kind = kind;
	return op;
}

static size_t owned_bytes(const struct cu_op *op)
{
	return op->kind == OP_KERNEL ? ptx_param_bytes(op->function->kernel) : op->bytes;
}

struct cu_op *cu_op_clone(const struct cu_op *op)
{
	struct cu_op *copy = cu_op_new(op->kind);

	*copy = *op;
	copy->next = NULL;
	if (op->owned) {
		copy->owned = cu_alloc(owned_bytes(op));
		memcpy(copy->owned, op->owned, owned_bytes(op));
	}
	if (op->kind == OP_KERNEL)
		copy->launch.params = copy->owned;
	else if (op->kind == OP_LIBRARY)
		copy->data = copy->owned;
	else if (op->owned)
		copy->from_host = copy->owned;
	copy->touch = NULL;
	copy->ntouch = copy->touch_cap = 0;
	copy->launched = NULL;
	if (op->event)
		__atomic_add_fetch(&op->event->refs, 1, __ATOMIC_SEQ_CST);
	return copy;
}

void cu_op_delete(struct cu_op *op)
{
	if (op->event)
		cu_event_release(op->event);
	if (op->other)
		cu_stream_release(op->other);
	if (op->launched)
		cu_launched_release(op->launched);
	free(op->touch);
	free(op->owned);
	free(op);
}

const char *cu_op_name(const struct cu_op *op)
{
	static const char *const names[] = {[OP_COPY_MEMORY] = "a copy",
					    [OP_FILL] = "a fill",
					    [OP_LIBRARY] = "a library's call",
					    [OP_BIRTH] = "an allocation in a stream",
					    [OP_RELEASE] = "a free in a stream"};

	return op->kind == OP_KERNEL ? cu_launch_name(op) : names[op->kind];
}

/* ---- races ---- */

static void touch(struct CUstream_st *s, const struct cu_op *op, const struct cu_touch *t)
{
	char text[512];

	if (!cu_race_touch(s, op, t, text, sizeof(text)))
		cu_set_fault(s->context, CUDA_ERROR_LAUNCH_FAILED, text);
}

/* n = 0: all of the allocation that begins there. */
static void touch_bytes(struct CUstream_st *s, const struct cu_op *op, uint64_t at, size_t n,
			bool write)
{
	struct ptx_range r;

	if (cu_memory_translate(NULL, at, n ? n : 1, &r))
		touch(s, op, &(struct cu_touch){r.lo, at, n ? at + n : r.hi, write});
}

/* What the operation has touched.  Words that a stream writes are what programs wait
 * with and look at: they are not watched. */
static void watch(struct CUstream_st *s, const struct cu_op *op)
{
	if (op->kind == OP_COPY_MEMORY && !op->from_host)
		touch_bytes(s, op, op->from, op->bytes, false);
	if ((op->kind == OP_COPY_MEMORY && !op->to_host) ||
	    (op->kind == OP_FILL && op->bytes > sizeof(uint32_t)))
		touch_bytes(s, op, op->to, op->bytes, true);
	if (op->kind == OP_BIRTH || op->kind == OP_RELEASE)
		touch_bytes(s, op, op->to, 0, true);
	for (unsigned k = 0; k < op->ntouch; k++)
		touch(s, op, &op->touch[k]);
}

/* ---- what they do ---- */

static void lost(struct CUctx_st *c, const char *what, uint64_t address, size_t bytes)
{
	char near[160], text[320];

	cu_memory_describe(NULL, address, near, sizeof(near));
	snprintf(text, sizeof(text), "%s of %zu bytes at 0x%llx: %s", what, bytes,
		 (unsigned long long)address, near);
	cu_set_fault(c, CUDA_ERROR_ILLEGAL_ADDRESS, text);
}

/* Memory of another device that was not mapped for this one.  (Of ordinary memory in two contexts
 * of one process a driver makes two copies by way of the host, which braze never asks for.) */
static bool strange(struct CUctx_st *c, const struct cu_op *op)
{
	uint64_t at = 0;
	char text[160];

	if (!op->to_host && cu_memory_foreign(c->device, op->to))
		at = op->to;
	else if (op->kind == OP_COPY_MEMORY && !op->from_host &&
		 cu_memory_foreign(c->device, op->from))
		at = op->from;
	if (!at)
		return false;
	snprintf(text, sizeof(text),
		 "%s at 0x%llx: memory of device %d, which device %d may not use", cu_op_name(op),
		 (unsigned long long)at, cu_memory_device(at), c->device);
	cu_set_fault(c, CUDA_ERROR_ILLEGAL_ADDRESS, text);
	return true;
}

/* Is it a copy between two devices?  Known when its stream has come to it. */
static void note_peer(struct cu_op *op)
{
	int to = op->to_host ? -1 : cu_memory_device(op->to);
	int from = op->from_host ? -1 : cu_memory_device(op->from);

	op->peer = to >= 0 && from >= 0 && to != from;
	if (op->peer)
		cu_count("bytes peer", op->bytes);
}

static void copy(struct CUctx_st *c, const struct cu_op *op)
{
	char *to = op->to_host ? op->to_host : cu_memory_target(op->to, op->bytes);
	const char *from = op->from_host ? op->from_host : cu_memory_host(op->from, op->bytes);
	const char *unfit =
		op->pinned ? cu_memory_unfit(op->to_host ? op->to_host : op->from_host, op->bytes)
			   : NULL;
	char text[256];

	if (unfit) {
		snprintf(text, sizeof(text), "copy of %zu bytes through pinned memory %s",
			 op->bytes, unfit);
		cu_set_fault(c, CUDA_ERROR_ILLEGAL_ADDRESS, text);
	} else if (!to)
		lost(c, "copy to device memory", op->to, op->bytes);
	else if (!from)
		lost(c, "copy from device memory", op->from, op->bytes);
	else
		memmove(to, from, op->bytes);
}

static void fill(struct CUctx_st *c, const struct cu_op *op)
{
	char *to = cu_memory_target(op->to, op->bytes);

	if (!to) {
		lost(c, "fill", op->to, op->bytes);
		return;
	}
	if (op->width == 1)
		memset(to, (int)op->value, op->bytes);
	else if (op->width == 4) /* words of pinned memory are read by the host meanwhile */
		for (size_t k = 0; k < op->bytes; k += 4)
			__atomic_store_n((uint32_t *)(void *)(to + k), op->value, __ATOMIC_RELEASE);
	else
		for (size_t k = 0; k < op->bytes; k += op->width)
			memcpy(to + k, &op->value, op->width);
}

static void kernel(struct CUctx_st *c, struct cu_op *op)
{
	struct ptx_host host = cu_launch_host(c, op);
	struct ptx_report report;

	ptx_run(op->function->kernel, &host, &op->launch, &report);
	op->accessed = report.bytes;
	if (report.fault && !c->cancel)
		cu_set_fault(c, (int)report.fault, report.text);
}

static void hang(struct CUctx_st *c)
{
	cu_log("injected: an operation hangs until its context goes away");
	while (!c->cancel)
		usleep(500);
}

static void library(struct cu_op *op)
{
	cu_op_library = op;
	op->call(op->data);
	cu_op_library = NULL;
}

static void compute(struct CUstream_st *s, struct cu_op *op)
{
	struct CUctx_st *c = s->context;

	cu_memory_hold();
	if (op->kind == OP_COPY_MEMORY)
		note_peer(op);
	if ((op->kind == OP_COPY_MEMORY || op->kind == OP_FILL) && strange(c, op))
		;
	else if (op->kind == OP_COPY_MEMORY)
		copy(c, op);
	else if (op->kind == OP_FILL)
		fill(c, op);
	else if (op->kind == OP_KERNEL)
		kernel(c, op);
	else if (op->kind == OP_LIBRARY)
		library(op);
	watch(s, op);
	cu_memory_release();
	if (op->kind == OP_HOST_CALL)
		op->call(op->data);
}

static bool works(const struct CUctx_st *c)
{
	return !__atomic_load_n(&c->fault, __ATOMIC_SEQ_CST) && !c->cancel;
}

static void disturb(struct CUctx_st *c, const struct cu_op *op)
{
	if (cu_config.delay_us)
		usleep((useconds_t)cu_config.delay_us);
	if (op->injected.hang)
		hang(c);
	if (op->injected.fault)
		cu_set_fault(c, op->injected.fault, "injected");
}

static void wait_event(struct CUstream_st *s, const struct cu_op *op)
{
	if (op->injected.skip)
		return;
	cu_event_wait(op->event, op->sequence, &s->context->cancel);
	cu_race_join(&s->past, &op->event->past);
}

static void release(struct CUstream_st *s, const struct cu_op *op)
{
	if (works(s->context))
		watch(s, op);
	pthread_mutex_lock(&cu_lock);
	cu_memory_free(op->to);
	pthread_mutex_unlock(&cu_lock);
}

static void carry_out(struct CUstream_st *s, struct cu_op *op)
{
	if (works(s->context) && !op->injected.skip)
		compute(s, op);
}

/* After a fault, and while the context goes away, nothing is computed any more; what
 * others wait for still happens. */
void cu_op_execute(struct CUstream_st *s, struct cu_op *op)
{
	struct CUctx_st *c = s->context;

	if (works(c))
		disturb(c, op);
	cu_race_begins(s, op);
	switch (op->kind) {
	case OP_COPY_MEMORY:
	case OP_FILL:
	case OP_KERNEL:
	case OP_HOST_CALL:
	case OP_LIBRARY:
		carry_out(s, op);
		break;
	case OP_RECORD:
		cu_event_reach(op->event, op->sequence, cu_clock_pass(s, op), &s->past);
		return;
	case OP_WAIT_EVENT:
		wait_event(s, op);
		break;
	case OP_WAIT_STREAM:
		cu_stream_drain(op->other, op->sequence);
		cu_race_join(&s->past, &op->other->past);
		break;
	case OP_BIRTH:
		cu_memory_birth(op->to);
		watch(s, op);
		break;
	case OP_RELEASE:
		release(s, op);
		break;
	case OP_END:
		break;
	}
	if (!op->injected.skip)
		cu_clock_pass(s, op);
}
