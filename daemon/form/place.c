/* SPDX-License-Identifier: Apache-2.0 */
/* form/place.c - which device a plan runs on (see place.h). */
#include "place.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A device is assumed to be like this where it does not say, and has not been
 * measured. */
#define LINK_BYTES_US	10000.0 /* copies go through pinned buffers that the host fills */
#define MEMORY_BYTES_US 500000.0
#define MEMORY_SHARE	0.8 /* of a memory's bandwidth, what kernels get */
#define UNITS		50
/* Of arithmetic, against one core: each multiprocessor; in products of matrices. */
#define UNIT_GAIN    2.0
#define PRODUCT_GAIN 4.0 /* times UNIT_GAIN */

#define LAUNCH_US  5.0
#define COPY_US	   10.0
#define RUN_US	   30.0 /* until it has begun, and until its end is known */
#define COMPILE_US 100000.0

/* Of loops of kernels: a thread beside a core; bytes that an instruction touches, at most and in
 * the mean; the part of a device's memory that one call may have. */
#define THREAD_LOSS 10.0
#define WORK_BYTES  4.0
#define LOOPS_SHARE 0.5
/* What is read for the second time is expected to be read so many times more, from the
 * device if it is there once. */
#define READ_AGAIN 16.0

/* Runs that are measured; the first is slower than the rest and does not count. */
#define MEASURED_RUNS 3
/* The CPU is tried when it is predicted to be better than what was measured.  Trying the
 * device leaves the inputs there, where later runs find them: it is tried sooner. */
#define TRY_CPU	   1.0
#define TRY_DEVICE 2.0

double place_rate(double measured)
{
	return measured > 0 ? measured : LINK_BYTES_US;
}

void place_describe(struct place_device *d, double memory_rate, uint32_t units, uint32_t ratio,
		    double up, double down)
{
	d->memory_bytes_us = memory_rate > 0 ? MEMORY_SHARE * memory_rate * 1e-6 : MEMORY_BYTES_US;
	d->math_gain = UNIT_GAIN * (units ? units : UNITS);
	/* The gain is that of a device with half the rate in double precision. */
	d->double_loss = ratio > 2 ? ratio / 2.0 : 1;
	d->up_bytes_us = place_rate(up);
	d->down_bytes_us = place_rate(down);
}

double place_step_us(const struct place_step *s, const struct place_device *d)
{
	double bytes = (double)s->touched_bytes / d->memory_bytes_us;
	double math = s->math_us / d->math_gain;

	if (s->product)
		math /= PRODUCT_GAIN;
	if (s->doubles)
		math *= d->double_loss;
	return LAUNCH_US * s->launches + (bytes > math ? bytes : math);
}

double place_move_us(const struct place_facts *f, const struct place_device *d)
{
	double up = (double)f->upload_bytes / d->up_bytes_us;
	double down = (double)f->download_bytes / d->down_bytes_us;

	if (f->where == PLACE_AGAIN)
		up /= READ_AGAIN;
	return COPY_US * f->copies + up + down + f->peer_us;
}

double place_device_us(const struct place_facts *f, const struct place_device *d)
{
	return RUN_US + f->steps_us + place_move_us(f, d);
}

static double fetch_us(const struct place_facts *f, const struct place_device *d)
{
	return f->fetch_bytes ? COPY_US + (double)f->fetch_bytes / d->down_bytes_us : 0;
}

double place_cpu_us(const struct place_facts *f, const struct place_device *d)
{
	return f->cpu_us + fetch_us(f, d);
}

/* ---- Loops of kernels ---- */

double place_work_us(const struct place_call *c)
{
	double us = c->work_us * c->threads;

	return us > PLACE_WORK_US ? us : PLACE_WORK_US;
}

double place_loop_us(const struct place_loop *l, const struct place_device *d, double work_us)
{
	double most = l->work * WORK_BYTES;
	double bytes = (l->touched_bytes < most ? l->touched_bytes : most) / d->memory_bytes_us;
	double gain = l->turns / THREAD_LOSS;
	double math = l->work * work_us;

	math /= gain < d->math_gain ? gain : d->math_gain;
	if (l->doubles)
		math *= d->double_loss;
	return LAUNCH_US + (bytes > math ? bytes : math);
}

/* Before a run was measured it is assumed to take no longer than the last one, whose arguments may
 * have been others: what is too little here is measured, what is too much never is. */
static double here_us(const struct place_call *c)
{
	double us = c->work * PLACE_WORK_US / c->threads;

	if (c->work_us > 0)
		return c->work * c->work_us;
	return c->last_us < us ? c->last_us : us;
}

enum place_verdict place_loops(double *here, double *there, const struct place_call *c,
			       const struct place_device *d)
{
	double turn_us = c->turn_work * place_work_us(c) * THREAD_LOSS;

	*here = here_us(c) + c->fetch_bytes / d->down_bytes_us;
	*there = RUN_US + c->up_bytes / d->up_bytes_us + c->down_bytes / d->down_bytes_us +
		 c->loops_us;
	if (c->spent_us < PLACE_LOOPS_US)
		return PLACE_LOOPS_SOON;
	if (c->whole_bytes > c->capacity * LOOPS_SHARE)
		return PLACE_LOOPS_ROOM;
	if (turn_us > PLACE_TURN_US)
		return PLACE_LOOPS_LONG;
	return *here >= PLACE_LOOPS_GAIN * *there ? PLACE_LOOPS_THERE : PLACE_LOOPS_HERE;
}

/* ---- The choice ---- */

static void say(struct place *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Append to the reason. */
static void say(struct place *p, const char *fmt, ...)
{
	size_t n = strnlen(p->text, sizeof p->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->text + n, sizeof p->text - n, fmt, ap);
	va_end(ap);
}

static void begin(struct place *p, enum place_state state, uint8_t device)
{
	p->state = (uint8_t)state;
	p->device = device;
	p->seen = 0;
}

/* From predictions; waiting for the compiler must pay in this very run. */
static void decide(struct place *p, const struct place_facts *f, const struct place_device *d)
{
	bool better = false, waits = false;

	p->device_us = place_device_us(f, d);
	p->cpu_us = place_cpu_us(f, d);
	p->fetch_us = fetch_us(f, d);
	better = p->device_us < p->cpu_us;
	waits = better && !f->compiled && p->cpu_us < p->device_us + COMPILE_US * f->launches;
	p->wants = better && !f->compiled;
	begin(p, waits ? PLACE_OPEN : PLACE_MEASURED, better && !waits ? d->number : PLACE_CPU);
	p->first = p->device;
	p->other = p->device == PLACE_CPU ? d->number : PLACE_CPU;
	p->text[0] = 0;
	say(p, "predicted %.0f us on %s (%.1f MB to move, %u launches), %.0f us on the CPU%s",
	    p->device_us, d->name,
	    (double)(f->upload_bytes + f->download_bytes + f->peer_bytes) * 1e-6, f->launches,
	    p->cpu_us, waits ? "; its kernels are compiled meanwhile" : "");
}

uint8_t place_send(struct place *p, const struct place_facts *f, const struct place_device *d)
{
	begin(p, PLACE_FINAL, d->number);
	p->first = d->number;
	p->other = PLACE_CPU;
	p->text[0] = 0;
	say(p, "loops that their client sent there (%.1f MB to move, %u launches)",
	    (double)(f->upload_bytes + f->download_bytes + f->peer_bytes) * 1e-6, f->launches);
	return p->device;
}

uint8_t place_choose(struct place *p, const struct place_facts *f, const struct place_device *d)
{
	if (p->state == PLACE_OPEN) {
		decide(p, f, d);
		return p->device;
	}
	p->wants = p->state == PLACE_TRIED && p->device == d->number && !f->compiled;
	return p->wants ? PLACE_CPU : p->device;
}

/* The other one may be better than what was measured. */
static bool worth_a_trial(const struct place *p)
{
	if (p->device == PLACE_CPU)
		return p->device_us < TRY_DEVICE * p->best_us;
	return p->cpu_us < TRY_CPU * p->best_us;
}

static const char *name_of(uint8_t device, const char *name)
{
	return device == PLACE_CPU ? "the CPU" : name;
}

static void end_trial(struct place *p, const char *name)
{
	bool back = p->first_us <= p->best_us;

	say(p, ": %.0f us", p->best_us);
	if (back)
		p->device = p->first;
	p->corrected = !back;
	p->state = PLACE_FINAL;
	say(p, back ? "; it stays on %s" : "; corrected to %s", name_of(p->device, name));
}

void place_measured(struct place *p, double us, uint8_t device, const char *name)
{
	bool trial = p->state == PLACE_TRIED;

	if ((p->state != PLACE_MEASURED && !trial) || device != p->device)
		return;
	us += device == PLACE_CPU ? p->fetch_us : RUN_US;
	if (p->seen++ == 0)
		return;
	p->best_us = p->seen == 2 || us < p->best_us ? us : p->best_us;
	if (p->seen < MEASURED_RUNS)
		return;
	if (trial) {
		end_trial(p, name);
		return;
	}
	say(p, "; measured %.0f us on %s", p->best_us, name_of(device, name));
	if (!worth_a_trial(p)) {
		p->state = PLACE_FINAL;
		return;
	}
	p->first_us = p->best_us;
	begin(p, PLACE_TRIED, p->other);
	say(p, "; tried on %s", name_of(p->device, name));
}

void place_refuse(struct place *p, bool for_good, const char *fmt, ...)
{
	va_list ap;

	p->state = for_good ? PLACE_FINAL : PLACE_OPEN;
	p->device = PLACE_CPU;
	p->wants = !for_good;
	va_start(ap, fmt);
	vsnprintf(p->text, sizeof p->text, fmt, ap);
	va_end(ap);
}
