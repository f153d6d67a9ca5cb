/* SPDX-License-Identifier: Apache-2.0 */
/* cu_stream.c - streams: a queue and a thread each; copies and fills into them.
 *
 * Nothing is executed by the calling thread, so that a wait that is missing shows.
 * The legacy stream waits for the blocking streams and they for it.  Copies between
 * the device and pageable host memory behave as documented: the source is taken
 * before the call returns, a destination is written before it returns. */
#include "cu.h"
#include <stdlib.h>
#include <string.h>

static void hold(struct CUstream_st *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_SEQ_CST);
}

void cu_stream_release(struct CUstream_st *s)
{
	if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->progress);
	free(s);
}

static void *execute(void *data)
{
	struct CUstream_st *s = data;
	bool ended = false;

	pthread_mutex_lock(&s->lock);
	while (!ended) {
		while (!s->head)
			pthread_cond_wait(&s->work, &s->lock);
		struct cu_op *op = s->head;
		pthread_mutex_unlock(&s->lock);
		ended = op->kind == OP_END;
		cu_op_execute(s, op);
		pthread_mutex_lock(&s->lock);
		s->head = op->next;
		if (!s->head)
			s->tail = NULL;
		s->done++;
		pthread_cond_broadcast(&s->progress);
		pthread_mutex_unlock(&s->lock);
		cu_op_delete(op);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	cu_race_stream_ends(s->slot);
	cu_stream_release(s);
	return NULL;
}

static struct CUstream_st *make(struct CUctx_st *c, unsigned flags, int priority)
{
	struct CUstream_st *s = cu_alloc(sizeof(*s));

	*s = (struct CUstream_st){.context = c, .flags = flags, .priority = priority, .refs = 2};
	s->slot = cu_race_stream();
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->progress, NULL);
	if (pthread_create(&s->thread, NULL, execute, s)) {
		s->refs = 1;
		cu_race_stream_ends(s->slot);
		cu_stream_release(s);
		return NULL;
	}
	s->next = c->streams;
	c->streams = s;
	return s;
}

struct CUstream_st *cu_stream_of(struct CUctx_st *c, CUstream handle)
{
	if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
		return cu_handle_ok(CU_STREAM, handle) && handle->context == c ? handle : NULL;
	pthread_mutex_lock(&cu_lock);
	if (!c->legacy)
		c->legacy = make(c, CU_STREAM_DEFAULT, 0);
	pthread_mutex_unlock(&cu_lock);
	return c->legacy;
}

CUresult cu_stream_find(struct CUctx_st *c, CUstream handle, struct CUstream_st **out)
{
	*out = cu_stream_of(c, handle);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void append(struct CUstream_st *s, struct cu_op *op)
{
	op->asked_ms = cu_clock_host();
	pthread_mutex_lock(&s->lock);
	s->submitted++;
	if (s->tail)
		s->tail->next = op;
	else
		s->head = op;
	s->tail = op;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

static void wait_for(struct CUstream_st *s, struct CUstream_st *other)
{
	pthread_mutex_lock(&other->lock);
	uint64_t sequence = other->submitted;
	bool idle = other->done == sequence;
	pthread_mutex_unlock(&other->lock);
	if (idle)
		return;
	struct cu_op *op = cu_op_new(OP_WAIT_STREAM);
	op->other = other;
	op->sequence = sequence;
	hold(other);
	append(s, op);
}

/* Order between the legacy stream and the blocking ones. */
static void order_legacy(struct CUstream_st *s)
{
	struct CUctx_st *c = s->context;

	pthread_mutex_lock(&cu_lock);
	if (s == c->legacy) {
		for (struct CUstream_st *o = c->streams; o; o = o->next)
			if (o != s && !(o->flags & CU_STREAM_NON_BLOCKING))
				wait_for(s, o);
	} else if (c->legacy && !(s->flags & CU_STREAM_NON_BLOCKING)) {
		wait_for(s, c->legacy);
	}
	pthread_mutex_unlock(&cu_lock);
}

void cu_stream_push(struct CUstream_st *s, struct cu_op *op)
{
	if (s->capture) {
		cu_graph_record(s->capture, op);
		return;
	}
	op->injected = cu_take_injected();
	cu_race_queued(op);
	order_legacy(s);
	append(s, op);
}

void cu_stream_drain(struct CUstream_st *s, uint64_t sequence)
{
	pthread_mutex_lock(&s->lock);
	while (s->done < sequence)
		pthread_cond_wait(&s->progress, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void cu_stream_drain_all(struct CUctx_st *c)
{
	struct CUstream_st *list[256];
	size_t n = 0;

	pthread_mutex_lock(&cu_lock);
	for (struct CUstream_st *s = c->streams; s && n < 256; s = s->next) {
		hold(s);
		list[n++] = s;
	}
	pthread_mutex_unlock(&cu_lock);
	while (n--) {
		pthread_mutex_lock(&list[n]->lock);
		uint64_t sequence = list[n]->submitted;
		pthread_mutex_unlock(&list[n]->lock);
		cu_stream_drain(list[n], sequence);
		cu_race_waited(&list[n]->past);
		cu_stream_release(list[n]);
	}
}

static void unlink_stream(struct CUstream_st *s)
{
	struct CUstream_st **at = &s->context->streams;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

/* The context goes away: its streams end, executing nothing more. */
void cu_stream_end_all(struct CUctx_st *c)
{
	for (;;) {
		pthread_mutex_lock(&cu_lock);
		struct CUstream_st *s = c->streams;
		if (s)
			c->streams = s->next;
		c->legacy = NULL;
		pthread_mutex_unlock(&cu_lock);
		if (!s)
			return;
		cu_handle_remove(s);
		append(s, cu_op_new(OP_END));
		pthread_join(s->thread, NULL);
		cu_stream_release(s);
	}
}

/* ---- calls ---- */

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&cu_lock);
	struct CUstream_st *s = make(c, flags, priority);
	pthread_mutex_unlock(&cu_lock);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	cu_handle_add(CU_STREAM, s);
	*out = s;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	CUresult error = cu_enter(__func__);

	return error ? error : cuStreamCreateWithPriority(out, flags, 0);
}

/* Returns at once; what is queued is still executed. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (!cu_handle_ok(CU_STREAM, stream) || stream->context != c)
		return CUDA_ERROR_INVALID_HANDLE;
	cu_handle_remove(stream);
	pthread_mutex_lock(&cu_lock);
	unlink_stream(stream);
	pthread_mutex_unlock(&cu_lock);
	pthread_detach(stream->thread);
	append(stream, cu_op_new(OP_END));
	cu_stream_release(stream);
	return CUDA_SUCCESS;
}

static CUresult enter_stream(const char *function, CUstream stream, struct CUstream_st **s)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(function, &c);

	return error ? error : cu_stream_find(c, stream, s);
}

static CUresult fault_of(const struct CUctx_st *c)
{
	return (CUresult)__atomic_load_n(&c->fault, __ATOMIC_SEQ_CST);
}

CUresult cuStreamQuery(CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, stream, &s);

	if (error)
		return error;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&s->lock);
	bool idle = s->done == s->submitted;
	pthread_mutex_unlock(&s->lock);
	if (fault_of(s->context))
		return fault_of(s->context);
	if (!idle)
		return CUDA_ERROR_NOT_READY;
	cu_race_waited(&s->past);
	return CUDA_SUCCESS;
}

static CUresult synchronize(struct CUstream_st *s)
{
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&s->lock);
	uint64_t sequence = s->submitted;
	pthread_mutex_unlock(&s->lock);
	cu_stream_drain(s, sequence);
	cu_clock_waited(cu_clock_of(s));
	cu_race_waited(&s->past);
	cu_pool_synchronized(s->context->device);
	return fault_of(s->context);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, stream, &s);

	return error ? error : synchronize(s);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, stream, &s);

	if (error)
		return error;
	struct cu_op *op = cu_op_new(OP_HOST_CALL);
	op->call = fn;
	op->data = data;
	cu_stream_push(s, op);
	return CUDA_SUCCESS;
}

/* ---- copies ---- */

static CUresult push_copy(struct CUstream_st *s, struct cu_op *op)
{
	if (!op->bytes) {
		cu_op_delete(op);
		return CUDA_SUCCESS;
	}
	cu_stream_push(s, op);
	return CUDA_SUCCESS;
}

static CUresult copy_in(struct CUstream_st *s, CUdeviceptr to, const void *from, size_t bytes)
{
	struct cu_op *op = cu_op_new(OP_COPY_MEMORY);

	op->to = to;
	op->bytes = bytes;
	op->from_host = from;
	cu_count("bytes up", bytes);
	op->pinned = cu_memory_pinned(from, bytes);
	if (!op->pinned && !s->capture) {
		op->owned = cu_alloc(bytes);
		memcpy(op->owned, from, bytes);
		op->from_host = op->owned;
	}
	return push_copy(s, op);
}

static CUresult copy_out(struct CUstream_st *s, void *to, CUdeviceptr from, size_t bytes)
{
	bool pageable = !cu_memory_pinned(to, bytes) && !s->capture;
	struct cu_op *op = cu_op_new(OP_COPY_MEMORY);

	op->to_host = to;
	cu_count("bytes down", bytes);
	op->pinned = cu_memory_pinned(to, bytes);
	op->from = from;
	op->bytes = bytes;
	CUresult error = push_copy(s, op);
	return error || !pageable ? error : synchronize(s);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, stream, &s);

	/* It may be read at any later time, which nobody here would notice. */
	if (!error && cu_config.pageable && !cu_memory_pinned(from, bytes))
		error = CUDA_ERROR_INVALID_VALUE;
	return error ? error : copy_in(s, to, from, bytes);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, stream, &s);

	return error ? error : copy_out(s, to, from, bytes);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, stream, &s);

	if (error)
		return error;
	struct cu_op *op = cu_op_new(OP_COPY_MEMORY);
	op->to = to;
	op->from = from;
	op->bytes = bytes;
	return push_copy(s, op);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, NULL, &s);

	if (!error)
		error = copy_in(s, to, from, bytes);
	return error ? error : synchronize(s);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(__func__, NULL, &s);

	if (!error)
		error = copy_out(s, to, from, bytes);
	return error ? error : synchronize(s);
}

static CUresult fill(const char *function, CUdeviceptr to, uint32_t value, unsigned width,
		     size_t count, CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = enter_stream(function, stream, &s);

	if (error)
		return error;
	if (to % width)
		return CUDA_ERROR_INVALID_VALUE;
	struct cu_op *op = cu_op_new(OP_FILL);
	op->to = to;
	op->value = value;
	op->width = width;
	op->bytes = count * width;
	return push_copy(s, op);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	return fill(__func__, to, value, 1, count, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
	return fill(__func__, to, value, 2, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
	return fill(__func__, to, value, 4, count, stream);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, uint32_t value, unsigned flags)
{
	/* An H200 with driver 580 says this. */
	if (cu_memory_pooled(to))
		return CUDA_ERROR_INVALID_VALUE;
	return fill(__func__, to, value, 4, 1, stream);
}
