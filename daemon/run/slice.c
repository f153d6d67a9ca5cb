/* SPDX-License-Identifier: Apache-2.0 */
/* run/slice.c - what of a job's next step goes into a packet.
 *
 * A step of more than RUN_SLICE_US, or SHARED_SLICE_US, is cut: by points; by chunks of the
 * summation tree, of a group of points after the other, where a point by itself may be too long or
 * points should stay together; a library step by its units (call/call.h).
 * job->at tells how far the step job->step has been sent: > 0 units, < 0 units whose results so far
 * lie in the worker's memory.
 *
 * On the CPU nothing is believed of a step that has not been seen to run: its first
 * slice is so small that it ends in time even where the prediction is wrong by
 * CAUTION, and the next ones grow by what the slices before have taken. */
#include "executor_impl.h"
#include "loops/kernel_abi.h"

/* Below this many points a run measured little but its own overhead. */
#define TELLING_RUN 4096
#define SHORT_STEP  1024 /* elements, which take less than a slice whatever is done with each */
/* Predictions are made for a few cores; another device is assumed to be faster by
 * this factor until it has been measured. */
#define DEVICE_GAIN 16
#define CAUTION	    10
#define GROWTH	    8	      /* of a slice over the largest one before */
#define POINT_MAX   (1 << 22) /* elements of a point that need not be cut by chunks */
#define PARTS_MAX   (1 << 24) /* partial results that a worker keeps of one group */
#define UNITS_MAX   (1 << 30) /* of a slice */
#define FEW_CORES   4	      /* slices that a chunk for each thread may take */

static uint64_t times(uint64_t a, uint64_t b)
{
	return __builtin_mul_overflow(a, b, &a) ? UINT64_MAX / 2 : a;
}

uint64_t slice_elements(const struct plan_step *s)
{
	uint64_t n = 1;

	if (s->kind == STEP_CALL)
		return call_row(s->call->call)->work(s->call);
	for (int i = 0; i < s->nest->npar + s->nest->nred; i++)
		n = times(n, (uint64_t)s->nest->extent[i]);
	return n;
}

/* What runs of this shape took; NULL: nothing that tells. */
static const struct kernel_rate *rate_of(const struct executor *x, const struct plan_step *s)
{
	const struct kernel *k = step_kernel(x, s);
	const struct kernel_rate *r = k ? cache_rate(k, s->shape) : NULL;

	return r && r->elements / r->runs >= TELLING_RUN ? r : NULL;
}

bool slice_known(const struct executor *x, const struct plan_step *s)
{
	return rate_of(x, s) != NULL;
}

uint64_t slice_cost(const struct executor *x, const struct plan_step *s)
{
	const struct kernel_rate *r = rate_of(x, s);

	if (!r)
		return x->target ? s->cost_us / DEVICE_GAIN : s->cost_us;
	return (uint64_t)((double)slice_elements(s) * (double)r->ns / (double)r->elements / 1000.0);
}

void slice_note(struct executor_job *job, const struct flight *f, uint64_t busy_ns)
{
	/* A slice is alone in its packet; the last one may have company. */
	if (f->nstep != 1 || f->step[0].step != job->step || f->up || f->down)
		return;
	if (job->pace_step != job->step)
		job->pace_elements = job->pace_ns = job->pace_most = 0;
	job->pace_step = job->step;
	job->pace_elements += f->step[0].elements;
	job->pace_ns += busy_ns + 1;
	if (f->step[0].elements > job->pace_most)
		job->pace_most = f->step[0].elements;
}

/* Nanoseconds that an element of a step takes one core, by the table of operations. */
static double element_ns(const struct plan_step *s)
{
	const struct nest *n = s->nest;
	double ns = 0;

	if (s->kind == STEP_CALL)
		return call_row(s->call->call)->work_ns;
	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct op_row *row = op_row(instr_operation(&n->instr[i]));

		ns += row ? 0.1 * row->cost : 0.1;
	}
	for (unsigned a = 0; a < n->naccess; a++)
		ns += n->access[a].gather ? 2 : 0.3;
	return ns;
}

/* ---- Memory that nobody has touched ----
 *
 * Each page of it is a fault, which may take longer than all that is done with its elements, and
 * how long depends on what the system has at hand just then: a megabyte took 0.1 ms, by large
 * pages, 1 ms and, in a virtual machine whose host had to find it, 50.  So what was measured of a
 * kernel tells nothing of it, and a packet gets as much of it as lately took no longer than a
 * slice. */

#define PAGE	    4096
#define FRESH_LEAST 65536

static uint8_t *fresh_slots(const struct executor_job *job)
{
	return job->fresh + (size_t)job->turn * job->plan->nslot;
}

/* The slot of a step's access or operand. */
static uint32_t slot_of(const struct plan_step *s, uint32_t i)
{
	return s->kind == STEP_CALL ? s->call->operand[i].slot : s->nest->access[i].slot;
}

static uint32_t slots_of(const struct plan_step *s)
{
	return s->kind == STEP_CALL ? call_operands(s->call) : s->nest->naccess;
}

/* Bytes of it in what a step reads and writes, at most. */
static uint64_t fresh_bytes(const struct executor_job *job, const struct plan_step *s)
{
	uint64_t sum = 0, most = UINT64_MAX;

	if (!job->fresh)
		return 0;
	if (s->kind == STEP_KERNEL)
		most = times(slice_elements(s), PAGE);
	for (uint32_t i = 0; i < slots_of(s); i++) {
		uint64_t bytes = job->plan->slot[slot_of(s, i)].bytes;

		if (fresh_slots(job)[slot_of(s, i)])
			sum += bytes < most ? bytes : most;
	}
	return sum;
}

uint64_t slice_fresh_most(const struct executor *x)
{
	uint64_t most = schedule_shared(x) ? SHARED_FRESH_BYTES : RUN_FRESH_BYTES;

	return x->fresh_most < most ? x->fresh_most : most;
}

void slice_fresh_note(struct executor *x, const struct flight *f, uint64_t busy_ns)
{
	double slice_ns = (schedule_shared(x) ? SHARED_SLICE_US : RUN_SLICE_US) * 1e3;
	double most = (double)f->fresh * slice_ns / (double)(busy_ns + 1);

	if (f->fresh >= FRESH_LEAST && (double)busy_ns > slice_ns)
		x->fresh_most = most > FRESH_LEAST ? (uint64_t)most : FRESH_LEAST;
	else if (f->fresh >= x->fresh_most / 2 && x->fresh_most < RUN_FRESH_BYTES)
		x->fresh_most *= 2;
}

void slice_touched(struct executor_job *job)
{
	const struct plan_step *s = turn_step(job, job->step);

	for (uint32_t i = 0; i < slots_of(s); i++)
		fresh_slots(job)[slot_of(s, i)] = 0;
}

uint32_t slice_fresh_turns(const struct executor *x, const struct executor_job *job, uint32_t n)
{
	const uint8_t *fresh = job->fresh ? fresh_slots(job) : NULL;
	uint64_t sum = 0;

	for (uint32_t turn = 0; fresh && turn < n; turn++, fresh += job->plan->nslot) {
		for (uint32_t s = 0; s < job->plan->nslot; s++)
			sum += fresh[s] ? job->plan->slot[s].bytes : 0;
		if (sum > slice_fresh_most(x))
			return turn;
	}
	return n;
}

/* What is thought of the rest of a step. */
struct outlook {
	double us;     /* it takes */
	double fresh;  /* bytes of memory that it is the first to touch, at most */
	double slice;  /* microseconds that a packet may hold */
	uint64_t most; /* elements of the next slice, at most */
	uint64_t seen; /* elements of the largest slice that was measured; 0: none was */
};

static struct outlook look(const struct executor *x, const struct executor_job *job,
			   const struct plan_step *s, double left)
{
	uint64_t all = slice_elements(s);
	struct outlook o = {.us = (double)slice_cost(x, s) * left,
			    .fresh = (double)fresh_bytes(job, s) * left,
			    .slice = schedule_shared(x) ? SHARED_SLICE_US : RUN_SLICE_US,
			    .most = UINT64_MAX};

	if (x->target)
		return o;
	if (job->pace_step == job->step && job->pace_elements) {
		o.us = (double)all * left * (double)job->pace_ns / (double)job->pace_elements / 1e3;
		o.most = times(job->pace_most, GROWTH);
		o.seen = job->pace_most;
	} else if (!slice_known(x, s)) {
		o.most = (uint64_t)(o.slice * 1e3 / (CAUTION * element_ns(s)));
	} else if (o.us > o.slice || (o.us > 0 && schedule_shared(x))) {
		/* Memory that is touched for the first time makes it several times as long as it
		 * was before; the others wait that much longer. */
		o.most = (uint64_t)((double)all * left * o.slice / o.us / 4);
	}
	return o;
}

/* What a step can be cut into. */
struct units {
	int64_t total;
	uint64_t elements; /* of each */
	int64_t chunks;	   /* of each group of points; 0: not cut by chunks */
	int64_t grain;	   /* of a call: a slice has a multiple of so many */
	bool kept;	   /* what is begun lies in the worker's memory */
};

static struct units call_units(const struct executor *x, const struct plan_call *c)
{
	struct call_units u;

	call_row(c->call)->units(&u, c, x->target != 0);
	return (struct units){
		.total = u.total, .elements = u.work, .grain = u.grain, .kept = u.kept};
}

/* Points that should stay together while a slice has the time, so many microseconds for each:
 * of a reduction whose vectors hold points, not reduced ones, fewer take as long, for they
 * touch the same lines of each row. */
static int64_t least_points(const struct executor *x, const struct nest *n, double us)
{
	int64_t least = (int64_t)KERNEL_TILE_LEAST * n->width;

	if (x->target || !n->nred || n->vec >= n->npar || us > SHARED_SLICE_US)
		return 1;
	return (double)least * us > SHARED_SLICE_US ? (int64_t)(SHARED_SLICE_US / us) : least;
}

/* Points whose chunks go together: as many as `most` elements have room for, on a GPU all. */
static int64_t group_points(const struct executor *x, int64_t points, int64_t chunks, int64_t least,
			    uint64_t most)
{
	int64_t n = most / TREE_CHUNK < INT64_MAX ? (int64_t)(most / TREE_CHUNK) : INT64_MAX;
	int64_t room = PARTS_MAX / chunks;

	n = n > least ? n : least;
	n = n < room ? n : room;
	n = n > 1 ? n : 1;
	return x->target || n > points ? points : n;
}

static struct units step_units(const struct executor *x, struct executor_job *job,
			       const struct plan_step *s, double us, uint64_t most)
{
	int64_t points = 0, reduced = 0, chunks = 0, least = 1;
	const struct nest *n = s->nest;
	bool long_points = false;

	if (s->kind == STEP_CALL)
		return call_units(x, s->call);
	points = nest_parallel(n);
	reduced = nest_reduced(n);
	chunks = reduced / TREE_CHUNK + (reduced % TREE_CHUNK != 0);
	if (points > 0 && chunks > 0)
		least = least_points(x, n, us / (double)points / (double)chunks);
	long_points = (double)points < (us / RUN_SLICE_US + 1) * (double)least ||
		      (!x->target && (uint64_t)reduced > most && reduced > POINT_MAX);
	if (!n->nred || points == 0 ||
	    !(job->at < 0 || (job->at == 0 && chunks > 1 && long_points)))
		return (struct units){.total = points, .elements = (uint64_t)reduced};
	if (job->at == 0)
		job->group = group_points(x, points, chunks, least, most);
	return (struct units){.total = (points / job->group + (points % job->group != 0)) * chunks,
			      .elements = (uint64_t)job->group * TREE_CHUNK,
			      .chunks = chunks,
			      .kept = true};
}

/* Of `left` units that have so much of something, as many as have at most `most` of it. */
static int64_t part_within(int64_t left, double all, double most)
{
	return all > most ? (int64_t)((double)left * most / all) : left;
}

/* A thread does a chunk, or a unit of a call: one for each takes no longer than one of them, unless
 * it was seen that there are not as many cores.  Of units that take half a slice each there would
 * else be one in each, and one thread would do them all. */
static int64_t for_all_threads(const struct executor *x, const struct plan_step *s,
			       const struct units *u, const struct outlook *o, int64_t left,
			       int64_t take)
{
	bool apart = u->chunks || (s->kind == STEP_CALL && u->grain <= 1);
	int64_t threads = x->units && apart ? x->units : 1;
	bool seen = o->seen >= times(u->elements, (uint64_t)threads);

	if (seen && o->us / (double)left * (double)threads > FEW_CORES * o->slice)
		return take;
	return (take + threads - 1) / threads * threads;
}

static int64_t units_within(const struct executor *x, const struct plan_step *s,
			    const struct units *u, int64_t left, const struct outlook *o)
{
	int64_t take = part_within(left, o->us, o->slice);
	int64_t touch = part_within(left, o->fresh, (double)slice_fresh_most(x));

	take = touch < take ? touch : take;
	if (u->elements && o->most / u->elements < (uint64_t)take)
		take = (int64_t)(o->most / u->elements);
	if (u->grain > 1)
		take = (take + u->grain - 1) / u->grain * u->grain;
	if (s->kind == STEP_KERNEL && !u->chunks) {
		int64_t least = least_points(x, s->nest, o->us / (double)left);

		/* Whole ones, and at least one. */
		take = take > least ? take / least * least : least;
	}
	take = take < 1 ? 1 : take > UNITS_MAX && !x->target ? UNITS_MAX : take;
	if (!x->target)
		take = for_all_threads(x, s, u, o, left, take);
	return take > left ? left : take;
}

/* Units [at, at + take) as the command has them. */
static void place_slice(struct slice *out, const struct units *u, int64_t group, int64_t points,
			int64_t at, int64_t take)
{
	int64_t chunk = 0;

	out->lo = at;
	out->hi = at + take;
	if (!u->chunks)
		return;
	chunk = at % u->chunks;
	out->plo = at / u->chunks * group;
	out->phi = points - out->plo < group ? points : out->plo + group;
	out->lo = chunk;
	out->hi = chunk + take;
	out->split = (uint8_t)((out->lo == 0 ? 1 : 0) | (out->hi == u->chunks ? 2 : 0));
	out->split = out->split ? out->split : 4;
}

static int64_t point_count(const struct plan_step *s)
{
	return s->kind == STEP_KERNEL ? nest_parallel(s->nest) : 0;
}

/* Is the step too short to be cut, whatever it does with each element? */
static bool is_short(const struct executor *x, const struct executor_job *job,
		     const struct plan_step *s)
{
	return s->kind == STEP_KERNEL && !x->target && job->at == 0 &&
	       slice_elements(s) <= SHORT_STEP && nest_parallel(s->nest) <= SHORT_STEP;
}

/* The whole of a step that is too short to be cut, whatever was predicted of it. */
static bool choose_short(struct slice *out, const struct executor *x,
			 const struct executor_job *job, const struct plan_step *s,
			 const struct flight *f)
{
	int64_t points = nest_parallel(s->nest);
	uint64_t fresh = job->fresh ? fresh_bytes(job, s) : 0;

	if (f->nstep &&
	    f->cost_us + s->cost_us > (schedule_shared(x) ? SHARED_SLICE_US : RUN_SLICE_US))
		return false;
	if (f->nstep && fresh && f->fresh + fresh > slice_fresh_most(x))
		return false;
	*out = (struct slice){.hi = points,
			      .elements = slice_elements(s),
			      .cost = s->cost_us,
			      .fresh = fresh,
			      .last = true,
			      .next = points};
	return true;
}

/* Does all that is left of the step fit, in a packet that holds f already? */
static bool fits(const struct executor *x, const struct flight *f, const struct outlook *o,
		 uint64_t elements)
{
	if (o->fresh > 0 && (double)f->fresh + o->fresh > (double)slice_fresh_most(x))
		return false;
	return (double)f->cost_us + o->us <= o->slice && elements <= o->most;
}

/* See executor_impl.h. */
bool slice_choose(struct slice *out, const struct executor *x, struct executor_job *job,
		  const struct flight *f)
{
	const struct plan_step *s = turn_step(job, job->step);
	int64_t at = job->at < 0 ? -job->at : job->at, left = 0, take = 0;
	struct outlook o;
	struct units u;

	if (is_short(x, job, s))
		return choose_short(out, x, job, s, f);
	o = look(x, job, s, 1);
	u = step_units(x, job, s, o.us, o.most);
	left = take = u.total - at;
	if (at > 0 && u.total > 0)
		o = look(x, job, s, (double)left / (double)u.total);
	if (!fits(x, f, &o, times(u.elements, (uint64_t)left))) {
		if (f->nstep)
			return false;
		take = units_within(x, s, &u, left, &o);
	}
	/* A reduction that fits one slice needs no parts kept between packets. */
	if (u.chunks && job->at == 0 && take == u.total) {
		u = (struct units){.total = point_count(s),
				   .elements = slice_elements(s) / (uint64_t)point_count(s)};
		take = left = u.total;
	} else if (u.chunks && take > u.chunks - at % u.chunks) {
		take = u.chunks - at % u.chunks;
	}
	*out = (struct slice){.elements = times(u.elements, (uint64_t)take),
			      .cost = (uint64_t)(left ? o.us * (double)take / (double)left : 0),
			      .fresh = (uint64_t)(left ? o.fresh * (double)take / (double)left : 0),
			      .last = at + take == u.total,
			      .next = u.kept ? -(at + take) : at + take};
	place_slice(out, &u, job->group, point_count(s), at, take);
	return true;
}
