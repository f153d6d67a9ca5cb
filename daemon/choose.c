/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c - the device of a planned job: the one that was asked for, or the cheaper.
 *
 * In:  a job with its plan; where its inputs lie; what is known of devices and kernels.
 * Out: struct device, with job->placed where the choice learns from the run; kernels
 *      that a later run will need are asked for.
 * What a choice weighs is in form/place.h; of several GPUs one is picked first, by where the
 * inputs lie and what other clients want of each. */
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
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

/* One GPU that could run a job. */
struct candidate {
	struct device *dev;
	struct place_device like;
	struct place_facts facts;
	uint64_t there; /* bytes of inputs that count and lie there */
	double us;	/* until its results would be there; of several candidates only */
	double wait_us; /* of that, for other clients' work */
};

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

/* From one GPU to another, past the host or by way of it. */
static double peer_us(uint64_t bytes, const struct device *from, struct device *to)
{
	struct executor_stats up, down;

	if (device_reaches(to, from) && bytes >= device_carried_from())
		return (double)bytes / place_rate(device_peer(to, from)->bytes_us);
	executor_get_stats(to->executor, &up);
	executor_get_stats(from->executor, &down);
	return (double)bytes / place_rate(down.down_bytes_us) +
	       (double)bytes / place_rate(up.up_bytes_us);
}

/* The GPU that has it, or will when what is in flight is done; NULL: none. */
static const struct device *holder(const struct brazed *d, const struct storage *st)
{
	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev))
		if (dev->index && is_mirrored(st, dev))
			return dev;
	return NULL;
}

static void input_lies(struct lie *lie, struct place_facts *f, const struct version *v,
		       struct device *dev)
{
	const struct storage *st = v->storage;
	const struct device *from = NULL;
	bool mirrored = is_mirrored(st, dev);
	bool host = !st || st->host, read = st && st->reads;
	uint64_t *kind = NULL;

	if (mirrored)
		kind = host ? &lie->both : &lie->there;
	else
		kind = read ? &lie->again : &lie->fresh;
	if (v->bytes >= RESIDENT_BYTES)
		*kind += v->bytes;
	if (!mirrored && !host)
		from = holder(dev->brazed, st);
	if (from)
		f->peer_us += peer_us(v->bytes, from, dev);
	*(from ? &f->peer_bytes : &f->upload_bytes) += mirrored ? 0 : v->bytes;
	f->copies += !mirrored;
	f->fetch_bytes += host ? 0 : v->bytes;
}

/* Facts about values. */
static void values(struct candidate *c, const struct job *j)
{
	const struct part *p = &j->partition->part;
	struct place_facts *f = &c->facts;
	struct lie lie = {0};

	for (uint32_t i = 0; i < p->nvalue; i++) {
		const struct version *v = j->partition->value[i];

		if (p->value[i].role == PART_INPUT) {
			input_lies(&lie, f, v, c->dev);
		} else if (p->value[i].role == PART_OUTPUT && v->asked) {
			f->download_bytes += v->bytes;
			f->copies++;
		}
	}
	c->there = lie.both + lie.there;
	if (!lie.both && !lie.there)
		f->where = lie.again && !lie.fresh ? PLACE_AGAIN : PLACE_HOST;
	else if (lie.fresh || lie.again)
		f->where = PLACE_MIXED;
	else
		f->where = lie.there ? PLACE_DEVICE : PLACE_BOTH;
}

/* Its inputs count as read from now on; once for each job. */
static void note_read(const struct job *j)
{
	const struct part *p = &j->partition->part;

	for (uint32_t i = 0; i < p->nvalue; i++) {
		struct storage *st = j->partition->value[i]->storage;

		if (p->value[i].role == PART_INPUT && st)
			st->reads = 1;
	}
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

	if (!*k && st->grid) {
		*k = cache_get_grid(cache, st->call, st->grid, dev->arch, session);
	} else if (!*k && st->kind == STEP_CALL) {
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

/* ---- What a run would take ---- */

static void plan_facts(struct place_facts *f, const struct job *j, const struct device *dev,
		       const struct place_device *d)
{
	const struct plan *plan = j->run.plan;

	f->launches = 0;
	f->cpu_us = f->steps_us = 0;
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

		if (has == GPU_NONE || (has == GPU_FOURIER && !dev->fourier) ||
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

const struct place *choose_place(const struct plan *plan, unsigned gpu, unsigned where)
{
	if (gpu > 1 && !plan->gpus)
		return NULL;
	return gpu == 1 ? &plan->place[where] : &plan->gpus->place[gpu - 2][where];
}

const char *choose_among(const struct plan *plan, unsigned gpu, unsigned where)
{
	return plan->gpus ? plan->gpus->among[gpu - 1][where] : "";
}

static struct plan_gpus *gpus_of(struct plan *plan)
{
	if (!plan->gpus)
		plan->gpus = xcalloc(1, sizeof *plan->gpus);
	return plan->gpus;
}

static struct place *place_of(struct plan *plan, const struct device *gpu, enum place_case where)
{
	return gpu->index == 1 ? &plan->place[where] : &gpus_of(plan)->place[gpu->index - 2][where];
}

/* ---- Which GPU of several ---- */

/* Another GPU than the client's must be better by so much and by such a part: what is made there
 * stays there. */
#define MOVE_US	  1000
#define MOVE_GAIN 0.2

/* Sessions whose work goes there, but for this one. */
static uint32_t settlers(const struct session *s, const struct device *dev)
{
	uint32_t n = 0;

	for (const struct session *o = s->d->sessions; o; o = o->next)
		n += o != s && o->gpu == dev->index + 1;
	return n;
}

/* Have others less to do with this one? */
static bool is_freer(const struct session *s, const struct candidate *a, const struct candidate *b)
{
	uint32_t here = settlers(s, a->dev), there = settlers(s, b->dev);

	if (here != there)
		return here < there;
	return a->wait_us < b->wait_us;
}

/* Where most of its inputs lie, else where its work goes, else where others have least to do. */
static struct candidate *at_home(const struct session *s, struct candidate *c, uint32_t n)
{
	struct candidate *home = c;

	for (uint32_t i = 1; i < n; i++)
		if (c[i].there > home->there)
			home = &c[i];
	for (uint32_t i = 0; i < n && !home->there; i++)
		if (s->gpu == c[i].dev->index + 1)
			return &c[i];
	for (uint32_t i = 1; i < n && !home->there; i++)
		if (is_freer(s, &c[i], home))
			home = &c[i];
	return home;
}

static bool is_alike(const struct device *a, const struct device *b)
{
	return a->arch == b->arch && a->units == b->units && a->memory_rate == b->memory_rate;
}

/* What its steps take there.  Of GPUs of one kind those that ran them know better than those that
 * did not. */
static double steps_us(const struct candidate *c, const struct candidate *all, uint32_t n)
{
	double us = c->facts.steps_us;

	for (uint32_t i = 0; i < n; i++)
		if (all[i].facts.steps_us > us && is_alike(all[i].dev, c->dev))
			us = all[i].facts.steps_us;
	return us;
}

/* Its share of a device goes down with the number of clients; longer than until they are all done
 * it does not wait. */
static void weigh(struct candidate *c, const struct session *s, double run)
{
	struct executor_load load;

	isolate_load(c->dev, s->id, &load);
	c->wait_us = run * load.clients;
	if (c->wait_us > (double)load.queued_us)
		c->wait_us = (double)load.queued_us;
	c->wait_us += (double)load.sent_us;
	c->us = place_move_us(&c->facts, &c->like) + run + c->wait_us;
}

static void say_why(char *among, const struct session *s, const struct candidate *best,
		    const struct candidate *home)
{
	const char *name = best->dev->name;

	if (best != home)
		snprintf(among, PLACE_AMONG,
			 "on %s of several, as %s has %.0f us of other clients' work", name,
			 home->dev->name, home->wait_us);
	else if (best->there)
		snprintf(among, PLACE_AMONG, "on %s of several, where %.1f MB of it lie", name,
			 (double)best->there * 1e-6);
	else if (s->gpu == best->dev->index + 1)
		snprintf(among, PLACE_AMONG, "on %s of several, as its client's other work", name);
	else
		snprintf(among, PLACE_AMONG,
			 "on %s of several, where other clients have least to do", name);
}

/* What a run there takes, with all that is known. */
static void consider(struct candidate *c, struct job *j, struct device *dev)
{
	*c = (struct candidate){.dev = dev, .like = describe(dev)};
	values(c, j);
}

/* The GPU that is compared with the CPU; false: there is none. */
static bool pick(struct candidate *out, struct job *j)
{
	const struct session *s = j->session;
	struct candidate c[LIMIT_DEVICES], *home = NULL, *best = NULL;
	uint32_t n = 0;

	for (uint32_t i = 1; i < s->d->ndevice; i++) {
		struct device *own = isolate_own(s, i), *dev = own ? own : &s->d->device[i];

		if (could(dev, j->run.plan) && session_sees(s, dev))
			consider(&c[n++], j, dev);
	}
	if (n)
		*out = c[0];
	if (n < 2)
		return n;
	for (uint32_t i = 0; i < n; i++)
		plan_facts(&c[i].facts, j, c[i].dev, &c[i].like);
	for (uint32_t i = 0; i < n; i++)
		weigh(&c[i], s, steps_us(&c[i], c, n));
	best = home = at_home(s, c, n);
	for (uint32_t i = 0; i < n; i++)
		if (c[i].us < best->us && c[i].us + MOVE_US < home->us &&
		    c[i].us < home->us * (1 - MOVE_GAIN))
			best = &c[i];
	*out = *best;
	say_why(gpus_of(j->run.plan)->among[best->dev->index - 1][best->facts.where], s, best,
		home);
	return true;
}

struct device *choose_gpu(const struct session *s)
{
	struct brazed *d = s->d;
	struct device *best = NULL;

	for (uint32_t i = 1; i < d->ndevice; i++) {
		struct device *dev = &d->device[i];

		if (dev->state != DEVICE_USABLE || !session_sees(s, dev))
			continue;
		if (s->gpu == i + 1)
			return dev;
		if (!best || settlers(s, dev) < settlers(s, best))
			best = dev;
	}
	return best;
}

/* ---- The choice ---- */

/* Who leaves the choice to the daemon does loops of kernels himself unless a GPU is much better
 * (kernel_place.c), since the processor's worker has no code for them. */
static struct device *gone_astray(struct job *j)
{
	j->session->astray += j->run.plan->grids;
	return cpu(j->session->d);
}

/* By cost, between the CPU and a GPU. */
static struct device *by_cost(struct job *j)
{
	struct brazed *d = j->session->d;
	const struct kernel *bad = NULL;
	struct device *other = NULL;
	struct candidate c;
	struct place *p = NULL;
	uint8_t chosen = PLACE_CPU;

	if (d->ndevice < 2 || !pick(&c, j))
		return gone_astray(j);
	other = c.dev;
	note_read(j);
	p = place_of(j->run.plan, other, c.facts.where);
	if (p->state == PLACE_FINAL && p->device == PLACE_CPU)
		return gone_astray(j);
	bad = choose_refused(j->run.plan, other);
	/* Another try may be due. */
	if (bad && bad->state == KERNEL_FAILED && !choose_kernels_there(j, other))
		bad = choose_refused(j->run.plan, other);
	if (bad) {
		refuse(p, bad, other);
		return gone_astray(j);
	}
	j->placed = p;
	j->rival = other;
	if (p->state == PLACE_FINAL)
		return other;
	plan_facts(&c.facts, j, other, &c.like);
	if (j->run.plan->grids) {
		place_send(p, &c.facts, &c.like);
		return other;
	}
	chosen = place_choose(p, &c.facts, &c.like);
	/* Another plan may have had them compiled. */
	if (p->wants && choose_kernels_there(j, other) && !choose_refused(j->run.plan, other)) {
		c.facts.compiled = true;
		chosen = place_choose(p, &c.facts, &c.like);
	}
	return chosen == PLACE_CPU ? cpu(d) : other;
}

struct device *choose_for(struct job *j)
{
	struct session *s = j->session;
	struct device *dev = NULL;
	uint8_t here = j->partition->part.device;
	uint8_t asked = s->device ? s->device : s->d->preferred;

	/* Who asks for nothing is not told that there is something he may not have. */
	if (asked && !s->device && !session_sees(s, &s->d->device[asked - 1]))
		asked = 1;
	if (here)
		asked = here - 1;
	if (asked && lacks(&s->d->device[asked - 1], j->run.plan))
		return cpu(s->d);
	if (asked)
		return &s->d->device[asked - 1];
	dev = by_cost(j);
	if (dev->index && s->d->ndevice > 2)
		s->gpu = dev->index + 1;
	return dev;
}

void choose_cpu(struct job *j)
{
	struct brazed *d = j->session->d;
	const struct kernel *bad = choose_refused(j->run.plan, j->device);

	if (bad && j->placed)
		refuse(j->placed, bad, j->device);
	if (j->placed)
		gone_astray(j);
	j->device = cpu(d);
	j->placed = NULL;
}
