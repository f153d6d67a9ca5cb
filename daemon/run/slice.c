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

/* What is thought of the rest of a step. */
struct outlook {
	double us;     /* it takes */
	double slice;  /* microseconds that a packet may hold */
	uint64_t most; /* elements of the next slice, at most */
};

static struct outlook look(const struct executor *x, const struct executor_job *job,
			   const struct plan_step *s, double left)
{
	uint64_t all = slice_elements(s);
	struct outlook o = {.us = (double)slice_cost(x, s) * left,
			    .slice = schedule_shared(x) ? SHARED_SLICE_US : RUN_SLICE_US,
			    .most = UINT64_MAX};

	if (x->target)
		return o;
	if (job->pace_step == job->step && job->pace_elements) {
		o.us = (double)all * left * (double)job->pace_ns / (double)job->pace_elements / 1e3;
		o.most = times(job->pace_most, GROWTH);
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

static int64_t units_within(const struct executor *x, const struct plan_step *s,
			    const struct units *u, int64_t left, const struct outlook *o)
{
	int64_t take = left;

	if (o->us > o->slice)
		take = (int64_t)((double)left * o->slice / o->us);
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
static bool choose_short(struct slice *out, const struct executor *x, const struct plan_step *s,
			 uint64_t used, bool empty)
{
	int64_t points = nest_parallel(s->nest);

	if (!empty && used + s->cost_us > (schedule_shared(x) ? SHARED_SLICE_US : RUN_SLICE_US))
		return false;
	*out = (struct slice){.hi = points,
			      .elements = slice_elements(s),
			      .cost = s->cost_us,
			      .last = true,
			      .next = points};
	return true;
}

/* See executor_impl.h. */
bool slice_choose(struct slice *out, const struct executor *x, struct executor_job *job,
		  uint64_t used, bool empty)
{
	const struct plan_step *s = turn_step(job, job->step);
	int64_t at = job->at < 0 ? -job->at : job->at, left = 0, take = 0;
	struct outlook o;
	struct units u;

	if (is_short(x, job, s))
		return choose_short(out, x, s, used, empty);
	o = look(x, job, s, 1);
	u = step_units(x, job, s, o.us, o.most);
	left = take = u.total - at;
	if (at > 0 && u.total > 0)
		o = look(x, job, s, (double)left / (double)u.total);
	if ((double)used + o.us > o.slice || times(u.elements, (uint64_t)left) > o.most) {
		if (!empty)
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
			      .last = at + take == u.total,
			      .next = u.kept ? -(at + take) : at + take};
	place_slice(out, &u, job->group, point_count(s), at, take);
	return true;
}
