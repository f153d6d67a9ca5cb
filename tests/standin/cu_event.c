/* SPDX-License-Identifier: Apache-2.0 */
/* cu_event.c - events: a record is a number, reached when its stream comes to it. */
#include "cu.h"
#include <stdlib.h>
#include <time.h>

void cu_event_reach(struct CUevent_st *e, uint64_t sequence, double ms, const struct cu_past *past)
{
	pthread_mutex_lock(&e->lock);
	if (sequence > e->done) {
		e->done = sequence;
		e->ms = ms;
		cu_race_join(&e->past, past);
	}
	pthread_cond_broadcast(&e->done_changed);
	pthread_mutex_unlock(&e->lock);
}

double cu_event_ms(struct CUevent_st *e)
{
	pthread_mutex_lock(&e->lock);
	double ms = e->ms;
	pthread_mutex_unlock(&e->lock);
	return ms;
}

/* cancel is looked at from time to time: the stream of the record may be gone. */
void cu_event_wait(struct CUevent_st *e, uint64_t sequence, const volatile int *cancel)
{
	pthread_mutex_lock(&e->lock);
	while (e->done < sequence && !*cancel) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&e->done_changed, &e->lock, &until);
	}
	pthread_mutex_unlock(&e->lock);
}

void cu_event_release(struct CUevent_st *e)
{
	if (__atomic_sub_fetch(&e->refs, 1, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->done_changed);
	free(e);
}

static void unlink_event(struct CUevent_st *e)
{
	struct CUevent_st **at = &e->context->events;

	pthread_mutex_lock(&cu_lock);
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_remove(e);
	cu_event_release(e);
}

void cu_event_free_all(struct CUctx_st *c)
{
	while (c->events)
		unlink_event(c->events);
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	struct CUevent_st *e = cu_alloc(sizeof(*e));
	*e = (struct CUevent_st){.context = c, .flags = flags, .refs = 1};
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->done_changed, NULL);
	pthread_mutex_lock(&cu_lock);
	e->next = c->events;
	c->events = e;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_add(CU_EVENT, e);
	*out = e;
	return CUDA_SUCCESS;
}

static CUresult enter_event(const char *function, CUevent e, struct CUctx_st **c)
{
	CUresult error = cu_enter_context(function, c);

	if (error)
		return error;
	return cu_handle_ok(CU_EVENT, e) && e->context == *c ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_HANDLE;
}

/* What is queued keeps the event until it is executed. */
CUresult cuEventDestroy_v2(CUevent event)
{
	struct CUctx_st *c;
	CUresult error = enter_event(__func__, event, &c);

	if (!error)
		unlink_event(event);
	return error;
}

static void push(struct CUstream_st *s, enum cu_op_kind kind, CUevent event, uint64_t sequence)
{
	struct cu_op *op = cu_op_new(kind);

	op->event = event;
	op->sequence = sequence;
	__atomic_add_fetch(&event->refs, 1, __ATOMIC_SEQ_CST);
	cu_stream_push(s, op);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	CUresult error = enter_event(__func__, event, &c);

	if (!error)
		error = cu_stream_find(c, stream, &s);
	if (error)
		return error;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&event->lock);
	uint64_t sequence = ++event->recorded;
	pthread_mutex_unlock(&event->lock);
	push(s, OP_RECORD, event, sequence);
	return CUDA_SUCCESS;
}

/* Waits for the record that is newest now; an event without one holds nobody up. */
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (!cu_handle_ok(CU_EVENT, event))
		return CUDA_ERROR_INVALID_HANDLE;
	error = cu_stream_find(c, stream, &s);
	if (error)
		return error;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&event->lock);
	uint64_t sequence = event->recorded;
	pthread_mutex_unlock(&event->lock);
	push(s, OP_WAIT_EVENT, event, sequence);
	return CUDA_SUCCESS;
}

static bool reached(CUevent event)
{
	pthread_mutex_lock(&event->lock);
	bool all = event->done == event->recorded;
	pthread_mutex_unlock(&event->lock);
	return all;
}

CUresult cuEventQuery(CUevent event)
{
	struct CUctx_st *c;
	CUresult error = enter_event(__func__, event, &c);

	if (error)
		return error;
	if (!reached(event))
		return CUDA_ERROR_NOT_READY;
	cu_race_waited(&event->past);
	return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
	struct CUctx_st *c;
	CUresult error = enter_event(__func__, event, &c);

	if (error)
		return error;
	pthread_mutex_lock(&event->lock);
	uint64_t sequence = event->recorded;
	pthread_mutex_unlock(&event->lock);
	cu_event_wait(event, sequence, &c->cancel);
	cu_clock_waited(cu_event_ms(event));
	cu_race_waited(&event->past);
	cu_pool_synchronized(c->device);
	return (CUresult)__atomic_load_n(&c->fault, __ATOMIC_SEQ_CST);
}

static bool timed(CUevent e)
{
	return !(e->flags & CU_EVENT_DISABLE_TIMING) && e->recorded;
}

static CUresult elapsed(const char *function, float *ms, CUevent start, CUevent end)
{
	struct CUctx_st *c;
	CUresult error = enter_event(function, start, &c);

	if (error)
		return error;
	if (!cu_handle_ok(CU_EVENT, end) || !timed(start) || !timed(end))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!reached(start) || !reached(end))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)(cu_event_ms(end) - cu_event_ms(start));
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return elapsed(__func__, ms, start, end);
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return elapsed(__func__, ms, start, end);
}
