/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c - the device of a planned job: the one that was asked for, or the cheaper.
 *
 * In:  a job with its plan; where its inputs lie; what is known of devices and kernels.
 * Out: struct device, with job->placed where the choice learns from the run; kernels
 *      that a later run will need are asked for.
 * What a choice weighs is in form/place.h. */
#include <string.h>

#include "brazed.h"
#include "cache/cache.h"
#include "cuda/cuda_launch.h"
#include "nest/compilepart.h"
#include "run/job.h"

#define RESIDENT_BYTES 4096 /* smaller inputs do not say where a plan belongs */

static struct device *cpu(struct brazed *d)
{
	return &d->device[0];
}

/* ---- What a run would move and compute ---- */

/* Bytes of inputs that count, by where they lie. */
struct lie {
	uint64_t fresh, again; /* on the host only: read for the first time, or not */
	uint64_t both, there;  /* on the device: on the host, too, or not */
};

/* Has the device the value, or will it when what is in flight is done? */
static bool is_mirrored(const struct storage *st, const struct device *dev)
{
	const struct mirror *m = st ? mirror_on(st, dev) : NULL;

	if (!m)
		return false;
	return m->valid || m->arriving || (st->writing && st->writer == dev->index + 1);
}

static void input_lies(struct lie *lie, struct place_facts *f, const struct version *v,
		       const struct device *dev)
{
	struct storage *st = v->storage;
	bool mirrored = is_mirrored(st, dev);
	bool host = !st || st->host, read = st && st->reads;
	uint64_t *kind = NULL;

	if (mirrored)
		kind = host ? &lie->both : &lie->there;
	else
		kind = read ? &lie->again : &lie->fresh;
	if (v->bytes >= RESIDENT_BYTES)
		*kind += v->bytes;
	f->upload_bytes += mirrored ? 0 : v->bytes;
	f->copies += !mirrored;
	f->fetch_bytes += host ? 0 : v->bytes;
	if (st)
		st->reads = 1;
}

/* Facts about values; each job is asked once, as its inputs count as read then. */
static void values(struct place_facts *f, const struct job *j, const struct device *dev)
{
	const struct part *p = &j->partition->part;
	struct lie lie = {0};

	for (uint32_t i = 0; i < p->nvalue; i++) {
		const struct version *v = j->partition->value[i];

		if (p->value[i].role == PART_INPUT) {
			input_lies(&lie, f, v, dev);
		} else if (p->value[i].role == PART_OUTPUT && v->asked) {
			f->download_bytes += v->bytes;
			f->copies++;
		}
	}
	if (!lie.both && !lie.there)
		f->where = lie.again && !lie.fresh ? PLACE_AGAIN : PLACE_HOST;
	else if (lie.fresh || lie.again)
		f->where = PLACE_MIXED;
	else
		f->where = lie.there ? PLACE_DEVICE : PLACE_BOTH;
}

static uint64_t access_bytes(const struct nest *n, const struct nest_access *a)
{
	uint64_t bytes = dtype_row(a->dtype)->bytes;

	for (int l = 0; l < n->npar + n->nred; l++)
		bytes *= a->stride[l] || a->gather ? (uint64_t)n->extent[l] : 1;
	return bytes;
}

static bool is_double(unsigned dtype)
{
	return dtype == DT_FLOAT64 || dtype == DT_COMPLEX128;
}

static void step_facts(struct place_facts *f, const struct plan_step *st, const struct device *dev,
		       const struct place_device *d)
{
	struct place_step s = {.launches = 1, .math_us = (double)st->math_us};
	uint32_t launches = 1;

	f->cpu_us += (double)executor_step_cost(dev->brazed->device[0].executor, st);
	if (st->kind == STEP_CALL) {
		s.product = st->call->call == CALL_PRODUCT;
		s.doubles = is_double(st->call->dtype);
		for (unsigned x = 0; x < call_operands(st->call) && !s.product; x++) {
			int64_t lo = 0, hi = 0;

			call_range(&lo, &hi, st->call, x);
			s.touched_bytes += (uint64_t)(hi - lo);
		}
	} else {
		launches += st->nest->nred > 0;
		for (int a = 0; a < st->nest->naccess; a++) {
			s.touched_bytes += access_bytes(st->nest, &st->nest->access[a]);
			s.doubles |= is_double(st->nest->access[a].dtype);
		}
	}
	s.launches = launches;
	f->launches += launches;
	if (executor_step_known(dev->executor, st))
		f->steps_us += (double)executor_step_cost(dev->executor, st);
	else
		f->steps_us += place_step_us(&s, d);
}

static struct place_device describe(const struct device *dev)
{
	struct place_device d = {.number = dev->index + 1, .name = dev->name};
	struct executor_stats x;

	executor_get_stats(dev->executor, &x);
	place_describe(&d, (double)dev->memory_rate, dev->units, dev->double_ratio, x.up_bytes_us,
		       x.down_bytes_us);
	return d;
}

/* Of everything that the plan reads and writes. */
static uint64_t whole_bytes(const struct plan *plan)
{
	uint64_t bytes = 0;

	for (uint32_t s = 0; s < plan->nslot; s++)
		bytes += plan->slot[s].bytes;
	return bytes;
}

/* ---- Kernels ---- */

static struct kernel *kernel_of(struct plan_step *st, const struct device *dev, uint64_t session)
{
	struct kernel **k = &st->kernel[dev->index];
	struct cache *cache = dev->brazed->cache;
	struct nest spec;

	if (!*k && st->kind == STEP_CALL) {
		*k = cache_get_call(cache, st->call, dev->arch, session);
	} else if (!*k) {
		compilepart_spec(&spec, st->nest);
		spec.way = cuda_launch_way(st->nest, dev->units);
		*k = cache_get(cache, &spec, dev->arch, session);
		if (!*(*k)->origin && st->kernel[0])
			memcpy((*k)->origin, st->kernel[0]->origin, sizeof(*k)->origin);
	}
	return *k;
}

bool choose_kernels_there(const struct job *j, const struct device *dev)
{
	struct brazed *d = dev->brazed;
	bool all = true;

	for (uint32_t i = 0; dev->index && i < j->run.plan->nstep; i++) {
		struct kernel *k = kernel_of(&j->run.plan->step[i], dev, j->session->id);
		enum kernel_state state;
		bool loaded;

		if (!cache_has_code(k))
			continue;
		account_pay(j->session, k);
		state = cache_want(d->cache, k);
		/* Its nest goes ahead of its code, which follows when it is there. */
		loaded = executor_kernel_loaded(dev->executor, k);
		all &= state == KERNEL_READY ? loaded : state == KERNEL_FAILED;
	}
	return all;
}

const struct kernel *choose_refused(const struct plan *plan, const struct device *dev)
{
	for (uint32_t i = 0; dev->index && i < plan->nstep; i++) {
		const struct kernel *k = plan->step[i].kernel[dev->index];

		if (k && (k->state == KERNEL_FAILED || k->strikes >= KERNEL_STRIKES))
			return k;
	}
	return NULL;
}

static void refuse(struct place *p, const struct kernel *k, const struct device *dev)
{
	if (k->strikes >= KERNEL_STRIKES)
		place_refuse(p, true, "kernel %u is quarantined on %s: %s", k->id, dev->name,
			     k->blame);
	else
		place_refuse(p, false, "kernel %u cannot be had for %s: %.*s", k->id, dev->name,
			     (int)strcspn(k->error, "\n"), k->error);
}

/* ---- The choice ---- */

static void plan_facts(struct place_facts *f, const struct job *j, const struct device *dev,
		       const struct place_device *d)
{
	const struct plan *plan = j->run.plan;

	f->compiled = true;
	for (uint32_t i = 0; i < plan->nstep; i++) {
		const struct kernel *k = plan->step[i].kernel[dev->index];

		step_facts(f, &plan->step[i], dev, d);
		f->compiled &= k && (k->state == KERNEL_READY || !cache_has_code(k));
	}
}

/* Is there a step that the device has neither code nor a library for?  While it starts nobody
 * knows. */
static bool lacks(const struct device *dev, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nstep && dev->index && dev->state != DEVICE_STARTING; i++) {
		const struct plan_step *s = &plan->step[i];
		unsigned has = s->kind == STEP_CALL ? call_row(s->call->call)->devices : GPU_CODE;

		if (has == GPU_NONE || (has == GPU_LIBRARY && !dev->fourier) ||
		    (has == GPU_SOLVER && !dev->factors))
			return true;
	}
	return false;
}

/* Nothing is decided while nobody knows what the device is. */
static bool could(const struct device *dev, const struct plan *plan)
{
	return dev->state == DEVICE_USABLE && whole_bytes(plan) <= dev->capacity &&
	       !lacks(dev, plan);
}

/* By cost, between the CPU and the first other device. */
static struct device *by_cost(struct job *j)
{
	struct brazed *d = j->session->d;
	struct device *other = d->ndevice > 1 ? &d->device[1] : NULL;
	struct place_facts f = {.where = PLACE_HOST};
	const struct kernel *bad = NULL;
	struct place_device like;
	struct place *p = NULL;
	uint8_t chosen = PLACE_CPU;

	if (!other || !could(other, j->run.plan))
		return cpu(d);
	values(&f, j, other);
	p = &j->run.plan->place[f.where];
	if (p->state == PLACE_FINAL && p->device == PLACE_CPU)
		return cpu(d);
	bad = choose_refused(j->run.plan, other);
	/* Another try may be due. */
	if (bad && bad->state == KERNEL_FAILED && !choose_kernels_there(j, other))
		bad = choose_refused(j->run.plan, other);
	if (bad) {
		refuse(p, bad, other);
		return cpu(d);
	}
	j->placed = p;
	if (p->state == PLACE_FINAL)
		return &d->device[p->device - 1];
	like = describe(other);
	plan_facts(&f, j, other, &like);
	chosen = place_choose(p, &f, &like);
	/* Another plan may have had them compiled. */
	if (p->wants && choose_kernels_there(j, other) && !choose_refused(j->run.plan, other)) {
		f.compiled = true;
		chosen = place_choose(p, &f, &like);
	}
	return &d->device[chosen - 1];
}

struct device *choose_for(struct job *j)
{
	const struct session *s = j->session;
	uint8_t here = j->partition->part.device;
	uint8_t asked = s->device ? s->device : s->d->preferred;

	if (here)
		asked = here - 1;
	if (asked && lacks(&s->d->device[asked - 1], j->run.plan))
		return cpu(s->d);
	return asked ? &s->d->device[asked - 1] : by_cost(j);
}

void choose_cpu(struct job *j)
{
	struct brazed *d = j->session->d;
	const struct kernel *bad = choose_refused(j->run.plan, j->device);

	if (bad && j->placed)
		refuse(j->placed, bad, j->device);
	j->device = cpu(d);
	j->placed = NULL;
}
