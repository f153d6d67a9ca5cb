/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_send.c - a kernel's loops as operations on arrays of a GPU.
 *
 * In:  a call whose arrays are all one session's, which computes on a GPU.  Out: one operation for
 * each loop and array that it writes, recorded like any other, and the kernel's results; or
 * nothing, where the run needs an element itself or a loop's turns need each other
 * (lang/lang_afar.h): such a kernel is run in this process.  The daemon is told of each loop once
 * (braze.proto: Grid). */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "base/clock.h"
#include "kernel_place.h"
#include "lang/lang_order.h"
#include "lock.h"

/* That a daemon was told of. */
struct kernel_told {
	uint64_t connection;
	uint32_t number, range;
	uint8_t levels, fast, only;
};

/* ---- May it be? ---- */

/* 0: loops stay in the process. */
static bool is_wanted(void)
{
	const char *wanted = getenv("BRAZE_KERNEL_GPU");

	return !wanted || strcmp(wanted, "0");
}

static bool is_fit(const struct lang_param *p, const struct braze_array *a,
		   const struct braze_session *s)
{
	return a && a->session == s && a->view.dtype == p->type && a->view.shape.ndim == p->rank &&
	       (!(p->access & ACCESS_OUT) || !(a->buf->flags & BUF_READONLY));
}

/* May the session's loops go to a GPU: to the one that it names, or by cost? */
static bool may_go(const struct braze_session *s, const struct braze_kernel *k)
{
	return (s->on_gpu || kernel_place_asks(k, s)) && s->minor >= MINOR_GRID && !s->forked &&
	       is_wanted() && k->length < LIMIT_GRID_TEXT &&
	       !(s->careful & ~(uint32_t)CAREFUL_PROFILE);
}

/* The session that all arrays are of, if loops may go to a device of it; else NULL. */
static struct braze_session *session_for(const struct braze_kernel *k, const braze_kernel_arg *args)
{
	const struct lang_program *p = k->program;
	struct braze_session *s = NULL;

	for (unsigned i = 0; i < p->nparam && !s; i++)
		s = p->param[i].rank && args[i].array ? args[i].array->session : NULL;
	if (!s || !may_go(s, k))
		return NULL;
	for (unsigned i = 0; i < p->nparam; i++)
		if (p->param[i].rank && !is_fit(&p->param[i], args[i].array, s))
			return NULL;
	return s;
}

/* ---- Arguments ---- */

struct sending {
	struct braze_kernel *kernel;
	struct braze_session *session;
	const struct gpu_rates *rates; /* NULL: the session names a device */
	unsigned narray;
	struct braze_array *of[LANG_PARAMS]; /* by the program's numbers of arrays */
	struct lang_array array[LANG_PARAMS];
	union lang_reg scalar[LANG_PARAMS];
};

/* Addresses that no memory has: what lies in one buffer shares the upper half, so that views of it
 * are compared as they lie. */
static void place(struct sending *x, unsigned n)
{
	const struct braze_array *a = x->of[n];
	unsigned first = 0;

	while (x->of[first]->buf != a->buf)
		first++;
	x->array[n].at = (char *)((uintptr_t)(first + 1) << LANG_AFAR_APART) + a->view.offset;
	x->array[n].shape = a->view.shape;
	memcpy(x->array[n].stride, a->view.stride, sizeof a->view.stride);
}

static int take(struct sending *x, const braze_kernel_arg *args, braze_error *error)
{
	const struct lang_program *p = x->kernel->program;
	unsigned nscalar = 0;
	int rc = 0;

	for (unsigned i = 0; i < p->nparam && !rc; i++) {
		if (p->param[i].rank) {
			x->of[x->narray] = args[i].array;
			place(x, x->narray++);
		} else {
			rc = kernel_scalar(&x->scalar[nscalar++], &p->param[i], &args[i], error);
		}
	}
	return rc;
}

/* ---- Telling of loops ---- */

/* NULL: it was not. */
static const struct kernel_told *told_of(const struct sending *x, const struct lang_grid *g)
{
	for (unsigned k = 0; k < x->kernel->ntold; k++) {
		const struct kernel_told *t = &x->kernel->told[k];

		if (t->connection == x->session->connection && t->range == g->range &&
		    t->levels == g->levels && t->fast == g->fast && t->only == g->only)
			return t;
	}
	return NULL;
}

/* A place behind those that were; NULL: no memory. */
static struct kernel_told *next_told(struct braze_kernel *k)
{
	unsigned n = k->ntold;
	struct kernel_told *more = k->told;

	if (!(n & (n - 1))) /* it has room up to a power of two */
		more = realloc(k->told, (n ? 2 * n : 1) * sizeof *more);
	if (more)
		k->told = more;
	return more ? &more[k->ntold] : NULL;
}

/* The session's number of the grid, which the daemon knows from then on. */
static enum status tell(uint32_t *number, struct sending *x, const struct lang_grid *g,
			struct err *err)
{
	const struct kernel_told *before = told_of(x, g);
	struct kernel_told *now = before ? NULL : next_told(x->kernel);
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Grid m = BRAZE__WIRE__GRID__INIT;
	enum status st = OK;

	if (before) {
		*number = before->number;
		return OK;
	}
	if (!now)
		return err_set(err, E_NOMEM, "no memory to tell of a kernel's loop");
	/* The text may need nearly all of a packet. */
	st = wire_flush(x->session, err);
	if (st)
		return st;
	m.number = *number = ++x->session->ngrid;
	m.text = x->kernel->text;
	m.range = g->range;
	m.levels = g->levels;
	m.fast = g->fast;
	m.only = g->only;
	r.grid = &m;
	*now = (struct kernel_told){.connection = x->session->connection,
				    .number = *number,
				    .range = g->range,
				    .levels = (uint8_t)g->levels,
				    .fast = (uint8_t)g->fast,
				    .only = (uint8_t)g->only};
	x->kernel->ntold++;
	return wire_send(x->session, &r, err);
}

/* ---- Recording ---- */

static unsigned log2_of(uint64_t work)
{
	unsigned n = work ? 63u - (unsigned)__builtin_clzll(work) : 0;

	return n < LIMIT_GRID_HINT ? n : LIMIT_GRID_HINT;
}

static void record_value(struct braze_session *s, unsigned type, const union lang_reg *v)
{
	braze_scalar x = kernel_number(v, type);

	record_scalar(s, &x);
}

static enum status record(struct sending *x, const struct lang_afar *a, const struct lang_launch *l,
			  struct err *err)
{
	struct braze_session *s = x->session;
	const struct lang_grid *g = l->grid;
	struct braze_array *to = x->of[g->only];
	unsigned words = 1;
	uint32_t number = 0;
	enum status st = tell(&number, x, g, err);

	for (unsigned k = 0; k < g->nlive; k++)
		words += record_words(g->type[k]);
	if (!st)
		st = record_used((int)x->narray, x->of, err);
	if (!st)
		st = record_room(s, x->narray + g->nlive + 1, words, err);
	if (st)
		return st;
	record_op(s, OP_GRID, log2_of(l->work), 0, OP_LIST, words);
	record_in(s, x->narray + g->nlive);
	record_in(s, to->id);
	for (unsigned k = 0; k < x->narray; k++)
		if (k != g->only)
			record_in(s, x->of[k]->id);
	for (unsigned k = 0; k < g->nlive; k++)
		record_value(s, g->type[k], &a->value[l->value + k]);
	record_imm(s, number);
	to->buf->version++;
	record_far(s, to);
	return OK;
}

/* ---- The call ---- */

/* Are all loops of a form that the daemon takes, and not too many for it in any case? */
static bool is_takeable(const struct sending *x, const struct lang_afar *a)
{
	uint32_t most = x->session->ngrid + LANG_AFAR_LOOPS * LANG_ORDER_MOST;
	struct shape_loops loops = {0};
	bool fine = x->narray <= LIMIT_GRID_ARRAYS && most <= LIMIT_GRIDS;
	uint32_t at = 0;

	for (unsigned k = 0; k < a->n && fine; k++)
		fine = x->narray + a->launch[k].grid->nlive <= LIMIT_OPERANDS;
	for (unsigned k = 0; k < x->narray && fine; k++)
		fine = shape_loops_add(&loops, &at, &x->array[k].shape);
	return fine;
}

static void explain(const struct sending *x, const struct lang_afar *a, bool may, bool sent)
{
	struct braze_kernel *k = x->kernel;

	if (!may)
		snprintf(k->afar, sizeof k->afar, "not on the GPU: line %u: %s\n", a->line,
			 *a->why ? a->why
				 : "the daemon does not take so many arrays, lengths or loops");
	else if (!x->rates)
		snprintf(k->afar, sizeof k->afar, "on the GPU: %u loops, whose turns are threads\n",
			 a->n);
	/* Else the run here tells, with this line. */
	if (sent)
		kernel_explain(k, x->array, x->scalar);
}

/* All of the list.  What the loops have read and left is there from then on. */
static enum status record_all(struct sending *x, const struct lang_afar *a, struct err *err)
{
	enum status st = OK;

	for (unsigned k = 0; k < a->n && !st; k++)
		st = record(x, a, &a->launch[k], err);
	for (unsigned n = 0; n < x->narray; n++) {
		array_begin_loops(x->of[n]->buf);
		x->of[n]->buf->there = x->of[n]->buf->version;
	}
	return st;
}

static bool is_sent(const struct sending *x, const struct lang_afar *a)
{
	if (!x->rates || kernel_place(x->kernel, x->rates, a, x->of, x->narray))
		return true;
	kernel_place_stays(x->kernel, kernel_place_work(a));
	return false;
}

static int send(int *sent, braze_scalar *results, struct sending *x, braze_error *error)
{
	const struct lang_program *p = x->kernel->program;
	union lang_reg made[LANG_PARAMS];
	struct lang_afar a;
	enum status st = OK;
	bool may = false;

	if (!lang_afar_of(&a, &x->kernel->looks, x->kernel->linked, x->array, x->scalar, made))
		st = err_set(err_of(error), E_NOMEM, "no memory to look at a kernel's loops");
	may = !st && !*a.why && is_takeable(x, &a);
	*sent = may && is_sent(x, &a);
	if (kernel_explains() && !st)
		explain(x, &a, may, *sent);
	if (*sent)
		st = record_all(x, &a, err_of(error));
	for (unsigned i = 0; i < p->nresult && *sent; i++)
		results[i] = kernel_number(&made[i], p->param[p->nparam + i].type);
	lang_afar_free(&a);
	return (int)st;
}

static int go(int *sent, braze_scalar *results, struct sending *x, const braze_kernel_arg *args,
	      braze_error *error)
{
	int rc = take(x, args, error);

	return rc ? rc : send(sent, results, x, error);
}

/* A look at a call whose device nobody has named, unless there is no GPU. */
static int weigh(int *sent, braze_scalar *results, struct sending *x, const braze_kernel_arg *args,
		 braze_error *error)
{
	int64_t begun = clock_us();
	int rc = offer_rates(&x->rates, x->session, err_of(error));

	if (x->rates)
		rc = go(sent, results, x, args, error);
	if (!*sent)
		kernel_place_looked(x->kernel, clock_us() - begun);
	return rc;
}

int braze_kernel_send(int *sent, braze_scalar *results, braze_kernel *k, int nargs,
		      const braze_kernel_arg *args, braze_error *error)
{
	struct braze_session *s = nargs == (int)k->program->nparam ? session_for(k, args) : NULL;
	struct sending x = {.kernel = k, .session = s};
	int rc = 0;

	*sent = 0;
	if (!s || atomic_exchange_explicit(&k->sending, true, memory_order_acquire))
		return 0;
	lock_take(s);
	rc = (int)array_usable(s, err_of(error));
	if (!rc)
		rc = s->on_gpu ? go(sent, results, &x, args, error)
			       : weigh(sent, results, &x, args, error);
	lock_give(s);
	atomic_store_explicit(&k->sending, false, memory_order_release);
	return rc;
}
