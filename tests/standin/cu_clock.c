/* SPDX-License-Identifier: Apache-2.0 */
/* cu_clock.c - what events take as the time: the machine's, or that of a modelled GPU.
 *
 * In: operations as their streams execute them.  Out: milliseconds.  With clock=model
 * an operation begins when the one before it in its stream has ended, but not before
 * the host knew to ask for it, and takes what its bytes, its launch and cu_config say;
 * what the interpreter took is in no time.  The host's own work takes none: its clock
 * is the latest moment that it has waited for. */
#include "cu.h"
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double host_ms; /* under lock */

static double wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double cu_clock_host(void)
{
	pthread_mutex_lock(&lock);
	double ms = host_ms;
	pthread_mutex_unlock(&lock);
	return ms;
}

void cu_clock_waited(double ms)
{
	pthread_mutex_lock(&lock);
	if (ms > host_ms)
		host_ms = ms;
	pthread_mutex_unlock(&lock);
}

double cu_clock_of(const struct CUstream_st *s)
{
	pthread_mutex_lock(&lock);
	double ms = s->ms;
	pthread_mutex_unlock(&lock);
	return ms;
}

/* A thousand million bytes a second are a million a millisecond. */
static double moved_ms(double bytes, double gbs)
{
	return bytes / (gbs * 1e6);
}

static double cost_ms(const struct cu_op *op)
{
	const struct cu_config *c = &cu_config;
	double launch = c->launch_us / 1e3;

	switch (op->kind) {
	case OP_COPY_MEMORY:
		if (op->to_host || op->from_host)
			return launch + moved_ms((double)op->bytes, c->link_gbs);
		if (op->peer)
			return launch + moved_ms((double)op->bytes, c->peer_gbs);
		return launch + moved_ms(2.0 * (double)op->bytes, c->memory_gbs);
	case OP_FILL:
		return moved_ms((double)op->bytes, c->memory_gbs);
	case OP_KERNEL:
		return c->slow * (launch + moved_ms((double)op->accessed, c->memory_gbs));
	default:
		return 0;
	}
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

double cu_clock_pass(struct CUstream_st *s, const struct cu_op *op)
{
	double from = op->asked_ms;

	if (!cu_config.modelled)
		return wall_ms();
	if (op->kind == OP_WAIT_EVENT)
		from = later(from, cu_event_ms(op->event));
	else if (op->kind == OP_WAIT_STREAM)
		from = later(from, cu_clock_of(op->other));
	pthread_mutex_lock(&lock);
	s->ms = later(s->ms, from) + cost_ms(op);
	double now = s->ms;
	pthread_mutex_unlock(&lock);
	return now;
}
