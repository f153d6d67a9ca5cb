/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_send.c - a kernel's loops as operations on arrays of a GPU.
 *
 * In:  a call whose arrays are all one session's, which computes on a GPU.  Out: one operation for
 * each loop and array that it writes or scalar that it adds up, recorded like any other, and the
 * kernel's results; or nothing, where the run needs an element itself or a loop's turns need each
 * other (lang/lang_afar.h): such a kernel is run in this process.  Where a way, a loop or a result
 * depends on what was added up, it is waited for; what then turns out to need an element is done in
 * this process, from there on.  The daemon is told of each loop once (braze.proto: Grid). */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "base/clock.h"
#include "kernel_place.h"
#include "kernel_send.h"
#include "lang/lang_order.h"
#include "lock.h"

/* That a daemon was told of. */
struct kernel_told {
	uint64_t connection;
	uint32_t number, range, sum, keeps;
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

void kernel_send_array(struct sending *x, struct braze_array *a)
{
	x->of[x->narray] = a;
	place(x, x->narray++);
}

static int take(struct sending *x, const braze_kernel_arg *args, braze_error *error)
{
	const struct lang_program *p = x->kernel->program;
	unsigned nscalar = 0;
	int rc = 0;

	for (unsigned i = 0; i < p->nparam && !rc; i++) {
		if (p->param[i].rank) {
			kernel_send_array(x, args[i].array);
		} else {
			rc = kernel_scalar(&x->scalar[nscalar++], &p->param[i], &args[i], error);
		}
	}
	return rc;
}

/* ---- Telling of loops ---- */

/* Of Grid: one more than the register of what it adds up. */
static uint32_t sum_word(const struct lang_grid *g)
{
	return g->sums ? g->sum.reg + 1 : 0;
}

/* NULL: it was not. */
static const struct kernel_told *told_of(const struct sending *x, const struct lang_grid *g)
{
	for (unsigned k = 0; k < x->kernel->ntold; k++) {
		const struct kernel_told *t = &x->kernel->told[k];

		if (t->connection == x->session->connection && t->range == g->range &&
		    t->levels == g->levels && t->fast == g->fast && t->only == g->only &&
		    t->sum == sum_word(g) && t->keeps == g->keeps)
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
	m.sum = sum_word(g);
	m.keeps = g->keeps;
	r.grid = &m;
	*now = (struct kernel_told){.connection = x->session->connection,
				    .number = *number,
				    .range = g->range,
				    .sum = sum_word(g),
				    .keeps = g->keeps,
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

enum status kernel_send_launch(struct sending *x, const struct lang_afar *a, unsigned launch,
			       struct braze_array *sum, struct err *err)
{
	struct braze_session *s = x->session;
	const struct lang_launch *l = &a->launch[launch];
	const struct lang_grid *g = l->grid;
	struct braze_array *to = sum ? sum : x->of[g->only], *in[LANG_PARAMS];
	unsigned words = 1, narray = x->narray + (sum != NULL);
	uint32_t number = 0;
	enum status st = tell(&number, x, g, err);

	for (unsigned k = 0; k < x->narray; k++)
		in[k] = l->old >> k & 1 ? x->old[k] : x->of[k];
	for (unsigned k = 0; k < g->nlive; k++)
		words += record_words(g->type[k]);
	if (!st)
		st = record_used((int)x->narray, in, err);
	if (!st)
		st = record_room(s, narray + g->nlive + 1, words, err);
	if (st)
		return st;
	record_op(s, OP_GRID, log2_of(l->work), 0, OP_LIST, words);
	record_in(s, narray + g->nlive);
	record_in(s, to->id);
	for (unsigned k = 0; k < x->narray; k++)
		if (k != g->only)
			record_in(s, in[k]->id);
	for (unsigned k = 0; k < g->nlive; k++)
		record_value(s, g->type[k], &a->value[l->value + k]);
	record_imm(s, number);
	to->buf->version++;
	record_far(s, to);
	return OK;
}

/* What a loop's launches read as it was before the first of them: values that are pinned, as the
 * stores to come make new versions. */
static enum status keep_old(struct sending *x, const struct lang_afar *a, unsigned first,
			    struct err *err)
{
	uint64_t old = a->launch[first].old;
	enum status st = OK;

	for (unsigned k = first + 1; k < a->n && !a->launch[k].first; k++)
		old |= a->launch[k].old;
	for (unsigned n = 0; n < x->narray && !st; n++) {
		if (!(old >> n & 1))
			continue;
		st = record_used(1, &x->of[n], err);
		if (!st)
			st = array_snapshot(&x->old[n], x->of[n], err);
	}
	return st;
}

static void drop_old(struct sending *x)
{
	for (unsigned n = 0; n < x->narray; n++) {
		if (x->old[n])
			array_unref(x->old[n]);
		x->old[n] = NULL;
	}
}

/* ---- The call ---- */

/* Are all loops of a form that the daemon takes, and not too many for it in any case? */
static bool is_takeable(const struct sending *x, const struct lang_afar *a)
{
	/* Each of a sum may have a kernel besides. */
	uint32_t most = x->session->ngrid + 2 * LANG_AFAR_LOOPS * LANG_ORDER_MOST;
	struct shape_loops loops = {0};
	bool fine = x->narray <= LIMIT_GRID_ARRAYS && most <= LIMIT_GRIDS &&
		    (!a->nsum || x->session->minor >= MINOR_SUMS);
	uint32_t at = 0;

	for (unsigned k = 0; k < a->n && fine; k++)
		fine = !a->launch[k].grid->keeps || x->session->minor >= MINOR_KEEPS;
	for (unsigned k = 0; k < x->narray && fine; k++)
		fine = shape_loops_add(&loops, &at, &x->array[k].shape);
	return fine;
}

static void explain(const struct sending *x, const struct lang_afar *a, bool may, bool sent)
{
	struct braze_kernel *k = x->kernel;
	const char *waits = a->wants && !a->ends ? "; a sum is waited for between them" : "";

	if (!may)
		snprintf(k->afar, sizeof k->afar, "not on the GPU: line %u: %s\n", a->line,
			 *a->why ? a->why
				 : "the daemon does not take so many arrays, lengths or loops");
	else if (!x->rates)
		snprintf(k->afar, sizeof k->afar,
			 "on the GPU: %u loops, whose turns are threads%s\n", a->n, waits);
	/* Else the run here tells, with this line. */
	if (sent)
		kernel_explain(k, x->array, x->scalar);
}

/* All of the list.  What the loops have read and left is there from then on. */
static enum status record_all(struct kernel_sums *sums, struct sending *x,
			      const struct lang_afar *a, struct err *err)
{
	enum status st = OK;

	for (unsigned k = 0; k < a->n && !st; k++) {
		if (a->launch[k].first) {
			drop_old(x);
			st = keep_old(x, a, k, err);
		}
		if (!st)
			st = a->launch[k].grid->sums ? kernel_sums_record(sums, x, a, k, err)
						     : kernel_send_launch(x, a, k, NULL, err);
	}
	drop_old(x);
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
	/* Of a part of the run its time tells nothing. */
	if (!a->wants || a->ends)
		kernel_place_stays(x->kernel, kernel_place_work(a));
	return false;
}

/* One call. */
struct going {
	struct sending x;
	struct lang_afar list;
	union lang_reg made[LANG_PARAMS];
	const braze_kernel_arg *args;
	braze_check_fn *check;
	void *data;
	bool sent, rest; /* the first list was sent; what is behind the last one is done here */
};

/* From the first list on, which is sent: those behind it, as what they need is there. */
static int send_lists(struct going *g, braze_error *error)
{
	struct lang_afar *a = &g->list;
	struct kernel_sums sums = {0};
	int rc = 0;
	bool more = true;

	while (more && !rc) {
		rc = (int)record_all(&sums, &g->x, a, err_of(error));
		g->rest = *a->why != 0;
		more = a->wants;
		if (!rc && (more || g->rest))
			rc = kernel_sums_tell(&sums, a, g->x.session, g->check, g->data,
					      err_of(error));
		if (!rc && more)
			rc = lang_afar_on(a, g->made)
				     ? (int)array_usable(g->x.session, err_of(error))
				     : (int)err_set(err_of(error), E_NOMEM,
						    "no memory to look at a kernel's loops");
	}
	kernel_sums_drop(&sums);
	return rc;
}

static int send(struct going *g, braze_error *error)
{
	struct sending *x = &g->x;
	struct lang_afar *a = &g->list;
	bool may = false;

	if (!lang_afar_of(a, &x->kernel->looks, x->kernel->linked, x->array, x->scalar, g->made))
		return (int)err_set(err_of(error), E_NOMEM,
				    "no memory to look at a kernel's loops");
	may = !*a->why && is_takeable(x, a);
	g->sent = may && is_sent(x, a);
	if (kernel_explains())
		explain(x, a, may, g->sent);
	return g->sent ? send_lists(g, error) : 0;
}

static int go(struct going *g, braze_error *error)
{
	int rc = take(&g->x, g->args, error);

	return rc ? rc : send(g, error);
}

/* A look at a call whose device nobody has named, unless there is no GPU. */
static int weigh(struct going *g, braze_error *error)
{
	int64_t begun = clock_us();
	int rc = offer_rates(&g->x.rates, g->x.session, err_of(error));

	if (g->x.rates)
		rc = go(g, error);
	if (!g->sent)
		kernel_place_looked(g->x.kernel, clock_us() - begun);
	return rc;
}

int kernel_send(int *sent, braze_scalar *results, struct braze_kernel *k, int nargs,
		const braze_kernel_arg *args, braze_check_fn *check, void *data, braze_error *error)
{
	const struct lang_program *p = k->program;
	struct braze_session *s = nargs == (int)p->nparam ? session_for(k, args) : NULL;
	struct going g;
	int rc = 0;

	*sent = 0;
	if (!s || atomic_exchange_explicit(&k->sending, true, memory_order_acquire))
		return 0;
	g = (struct going){.x = {.kernel = k, .session = s},
			   .args = args,
			   .check = check      ? check
				    : s->owned ? s->owner.check
					       : NULL,
			   .data = check ? data : s->owner.data};
	lock_take(s);
	rc = (int)array_usable(s, err_of(error));
	if (!rc)
		rc = s->on_gpu ? go(&g, error) : weigh(&g, error);
	lock_give(s);
	if (!rc && g.rest)
		rc = kernel_rest(&g.list, g.made, k, args, g.check, g.data, error);
	*sent = g.sent;
	for (unsigned i = 0; i < p->nresult && *sent && !rc; i++)
		results[i] = kernel_number(&g.made[i], p->param[p->nparam + i].type);
	lang_afar_free(&g.list);
	atomic_store_explicit(&k->sending, false, memory_order_release);
	return rc;
}

int braze_kernel_send(int *sent, braze_scalar *results, braze_kernel *k, int nargs,
		      const braze_kernel_arg *args, braze_error *error)
{
	return kernel_send(sent, results, k, nargs, args, NULL, NULL, error);
}
