/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_place.c - where a kernel's loops go in a session that names no device.
 *
 * In:  a kernel whose runs took so long, its loops as launches, the arrays of the call, what the
 * daemon says of the GPU.  Out: to the GPU or not, and why.
 *
 * A kernel stays here until its runs have taken PLACE_LOOPS_US together, so that nobody waits for a
 * compiler of GPUs who is done sooner; then what a call takes here, by the runs that were measured,
 * is compared with what it would take there (form/place.h).  Looking is bounded by the runs: where
 * calls stay here, it takes a LOOK_SHARE-th of their time.
 *
 * The daemon knows where arrays lie, and this process only what it has sent: `there` of a buffer is
 * the version that was on the GPU behind the last loop there.  Arrays that come again and again are
 * expected to be used as often as they were so far, and one copy of them counts for all. */
#include "kernel_place.h"

#include <stdio.h>
#include <string.h>

#include "array.h"
#include "future.h"
#include "team.h"

#define LOOK_SHARE 64
/* Shorter calls are not looked at: a device takes half of it to begin and to end. */
#define SHORT_US 70
#define USES	 16 /* that one copy counts for, at most */

/* Does who records now leave the device to the daemon? */
static bool is_by_cost(const struct braze_session *s)
{
	return s->device == 1 || (!s->device && (!s->asked[0] || !strcmp(s->asked, "auto")));
}

static int64_t get(const _Atomic int64_t *x)
{
	return atomic_load_explicit(x, memory_order_relaxed);
}

static bool may_look(const struct braze_kernel *k)
{
	return get(&k->spent_us) >= (int64_t)PLACE_LOOPS_US && get(&k->last_us) >= SHORT_US &&
	       get(&k->looking_us) <= get(&k->spent_us) / LOOK_SHARE;
}

bool kernel_place_asks(const struct braze_kernel *k, const struct braze_session *s)
{
	return s->ndevice > 1 && is_by_cost(s) && (kernel_explains() || may_look(k));
}

/* ---- What was measured ---- */

void kernel_place_stays(struct braze_kernel *k, double work)
{
	/* What is compiled meanwhile tells nothing. */
	if (lang_attached(k->linked) || atomic_load_explicit(&k->hopeless, memory_order_relaxed))
		atomic_store_explicit(&k->work, work, memory_order_relaxed);
}

void kernel_place_ran(struct braze_kernel *k, int64_t us)
{
	double work = atomic_exchange_explicit(&k->work, 0, memory_order_relaxed);
	double before = atomic_load_explicit(&k->work_us, memory_order_relaxed), now;

	atomic_store_explicit(&k->last_us, us, memory_order_relaxed);
	if (work <= 0)
		return;
	now = (double)us / work;
	if (before > 0 && now > before)
		now = (now + before) / 2; /* others may have had the cores */
	atomic_store_explicit(&k->work_us, now, memory_order_relaxed);
}

/* ---- A call ---- */

/* Bytes that move on behalf of array n, the first of its buffer. */
static void moves(struct place_call *c, const struct braze_array *a, bool written)
{
	struct buffer *b = a->buf;

	array_begin_loops(b);
	bool apart = b->flags & BUF_APART, host = apart || future_stored(a);
	bool there = !apart && b->there && (b->there == b->version || !host);
	double bytes = (double)b->bytes, again = b->there || !b->uses ? 1 : b->uses;

	c->whole_bytes += bytes;
	if (!there)
		c->up_bytes += bytes / again;
	/* Who has fetched what the last loop there wrote will do so again. */
	if (written && (host || !there))
		c->down_bytes += bytes / again;
	if (there && !host)
		c->fetch_bytes += bytes;
	if (b->uses < USES)
		b->uses++;
}

static void weigh_arrays(struct place_call *c, const struct lang_afar *a,
			 struct braze_array *const *of, unsigned narray)
{
	uint64_t used = 0, written = 0;

	for (unsigned k = 0; k < a->n; k++) {
		used |= a->launch[k].arrays;
		written |= (uint64_t)!a->launch[k].grid->sums << a->launch[k].grid->only;
	}
	for (unsigned n = 0; n < narray; n++) {
		bool uses = false, writes = false, first = true;

		for (unsigned k = 0; k < narray; k++) {
			if (of[k]->buf != of[n]->buf)
				continue;
			first &= k >= n;
			uses |= used >> k & 1;
			writes |= written >> k & 1;
		}
		if (first && uses)
			moves(c, of[n], writes);
	}
}

static bool is_double(unsigned type)
{
	return type == DT_FLOAT64 || type == DT_COMPLEX128;
}

/* One launch as a step of the device. */
static struct place_loop loop_of(const struct lang_launch *l, struct braze_array *const *of,
				 unsigned narray)
{
	struct place_loop x = {.work = (double)l->work, .turns = l->turns ? (double)l->turns : 1};

	/* What turns add is written, and read to put it together. */
	if (l->grid->sums) {
		x.doubles |= is_double(l->grid->sum.type);
		x.touched_bytes += 2 * (double)l->elements * dtype_row(l->grid->sum.type)->bytes;
	}
	for (unsigned k = 0; k < l->grid->nlive; k++)
		x.doubles |= is_double(l->grid->type[k]);
	for (unsigned n = 0; n < narray; n++) {
		if (!(l->arrays >> n & 1))
			continue;
		x.doubles |= is_double(of[n]->view.dtype);
		x.touched_bytes += (double)of[n]->count * dtype_row(of[n]->view.dtype)->bytes;
	}
	return x;
}

static void weigh_loops(struct place_call *c, const struct lang_afar *a,
			struct braze_array *const *of, unsigned narray,
			const struct place_device *d)
{
	double us = place_work_us(c);

	for (unsigned k = 0; k < a->n; k++) {
		const struct place_loop l = loop_of(&a->launch[k], of, narray);
		double turn = l.work / l.turns;

		c->loops_us += place_loop_us(&l, d, us);
		c->turn_work = turn > c->turn_work ? turn : c->turn_work;
	}
}

double kernel_place_work(const struct lang_afar *a)
{
	double work = 0;

	for (unsigned k = 0; k < a->n; k++)
		work += a->launch[k].first ? (double)a->launch[k].work : 0;
	return work;
}

static void say(struct braze_kernel *k, enum place_verdict v, const char *name, unsigned loops,
		double here, double there)
{
	char *text = k->afar;
	size_t n = sizeof k->afar;

	if (v == PLACE_LOOPS_THERE)
		snprintf(text, n,
			 "on the GPU: %u loops, whose turns are threads: about %.0f us there, "
			 "%.0f us here\n",
			 loops, there, here);
	else if (v == PLACE_LOOPS_SOON)
		snprintf(text, n,
			 "not on the GPU: no device is named, and its runs have taken %.0f ms of "
			 "%.0f so far\n",
			 (double)get(&k->spent_us) * 1e-3, PLACE_LOOPS_US * 1e-3);
	else if (v == PLACE_LOOPS_ROOM)
		snprintf(text, n, "not on the GPU: %s has no room for its arrays\n", name);
	else if (v == PLACE_LOOPS_LONG)
		snprintf(text, n, "not on the GPU: a turn would take long for one thread\n");
	else
		snprintf(text, n, "not on the GPU: about %.0f us there, %.0f us here\n", there,
			 here);
}

bool kernel_place(struct braze_kernel *k, const struct gpu_rates *gpu, const struct lang_afar *a,
		  struct braze_array *const *of, unsigned narray)
{
	struct place_call c = {.work = kernel_place_work(a),
			       .work_us = atomic_load_explicit(&k->work_us, memory_order_relaxed),
			       .last_us = (double)get(&k->last_us),
			       .spent_us = (double)get(&k->spent_us),
			       .threads = team_threads(),
			       .capacity = (double)gpu->capacity};
	struct place_device d = {.name = gpu->name};
	enum place_verdict v = PLACE_LOOPS_HERE;
	double here = 0, there = 0;

	if (!a->proven) {
		if (kernel_explains())
			snprintf(k->afar, sizeof k->afar,
				 "not on the GPU: no device is named, and a wrong index would be "
				 "told late there\n");
		return false;
	}
	place_describe(&d, (double)gpu->memory_rate, gpu->units, gpu->double_ratio,
		       (double)gpu->upload_rate * 1e-6, (double)gpu->download_rate * 1e-6);
	weigh_arrays(&c, a, of, narray);
	weigh_loops(&c, a, of, narray, &d);
	v = place_loops(&here, &there, &c, &d);
	if (kernel_explains())
		say(k, v, gpu->name, a->n, here, there);
	return v == PLACE_LOOPS_THERE;
}

void kernel_place_looked(struct braze_kernel *k, int64_t us)
{
	atomic_fetch_add_explicit(&k->looking_us, us, memory_order_relaxed);
}
