/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/watch.c - watches, their sets, and telling what they found. */
#include "watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "future.h"
#include "lock.h"
#include "near.h"
#include "ticket.h"
#include "wire.h"

static const char *const class_text[WATCH_CLASSES] = {"divide by zero", "overflow", "underflow",
						      "invalid value"};

void watch_set_careful(struct braze_session *s)
{
	const struct watching *w = &s->watching;
	bool eager = (s->flags & BRAZE_EAGER) || (s->flags & ~s->hello_flags & BRAZE_UNFUSED);
	bool checked = w->ask || w->now.raise || w->now.report;

	s->careful = (eager ? CAREFUL_EAGER : 0) | (checked ? CAREFUL_CHECK : 0) |
		     (w->carriers ? CAREFUL_WATCHED : 0) | (s->profile ? CAREFUL_PROFILE : 0);
	near_switch(s);
}

/* ---- A watch ---- */

static bool has_flags(const struct watch *w)
{
	for (int k = 0; k < WATCH_CLASSES; k++)
		if (w->flag[k])
			return true;
	return false;
}

static bool fails(const struct watch *w)
{
	return w->unknown || (w->found & w->raise);
}

/* Nothing to come any more? */
static bool is_clean(const struct watch *w)
{
	return !w->found && !w->unknown && !has_flags(w);
}

static void unlist(struct braze_session *s, struct watch *w)
{
	struct watching *all = &s->watching;

	if (!w->slot)
		return;
	struct watch *last = all->open[--all->nopen];
	all->open[w->slot - 1] = last;
	last->slot = w->slot;
	w->slot = 0;
}

static void drop_flags(struct braze_session *s, struct braze_array *flag[WATCH_CLASSES])
{
	for (int k = 0; k < WATCH_CLASSES; k++) {
		if (flag[k])
			array_unref(flag[k]);
		flag[k] = NULL;
	}
}

static void watch_free(struct braze_session *s, struct watch *w)
{
	unlist(s, w);
	drop_flags(s, w->flag);
	free(w);
}

/* Take in those flags that are stored.  True when none is left. */
static bool collect(struct braze_session *s, struct watch *w)
{
	bool left = false;

	for (int k = 0; k < WATCH_CLASSES; k++) {
		struct braze_array *f = w->flag[k];
		if (!f)
			continue;
		if (!future_stored(f)) {
			left = true;
			continue;
		}
		if (s->arena[atomic_load(&f->buf->offset) + (uint64_t)f->view.offset])
			w->found |= (uint8_t)(1u << k);
		w->flag[k] = NULL;
		array_unref(f);
	}
	w->all |= w->found;
	if (!left)
		unlist(s, w);
	return !left;
}

/* What is never read must not pile up: ask for all flags, and wait for those that were
 * asked for a batch earlier. */
static int ask_for_flags(struct braze_session *s, struct err *err)
{
	struct watching *all = &s->watching;
	struct braze_future *f = all->asked;
	braze_check_fn *check = s->owned ? s->owner.check : NULL;
	int n = 0, st;

	/* Ours alone: other threads may come here while we wait. */
	all->asked = NULL;
	all->fresh = 0;
	st = f ? wire_wait(f, -1, check, s->owner.data, err) : 0;
	ticket_destroy(f);
	/* Another failure is the value's as well, and told where that is read. */
	if (st == BRAZE_E_INTERRUPTED)
		return st;
	for (unsigned i = all->nopen; i-- > 0;)
		(void)collect(s, all->open[i]);
	struct braze_array **flag =
		malloc((all->nopen + 1) * WATCH_CLASSES * sizeof(struct braze_array *));
	for (unsigned i = 0; flag && i < all->nopen; i++)
		for (int k = 0; k < WATCH_CLASSES; k++)
			if (all->open[i]->flag[k])
				flag[n++] = all->open[i]->flag[k];
	if (n && !all->asked && future_demand(&all->asked, n, flag, NULL))
		all->asked = NULL;
	free(flag);
	return 0;
}

static enum status batch(struct braze_session *s, struct err *err)
{
	return ++s->watching.fresh < WATCH_BATCH ? OK : (enum status)ask_for_flags(s, err);
}

static struct watch *new_watch(struct braze_session *s, enum op op, const struct braze_watch *now)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (w)
		*w = (struct watch){.site = now->site,
				    .tag = now->tag,
				    .serial = ++s->watching.serial,
				    .op = (uint16_t)op,
				    .raise = (uint8_t)now->raise,
				    .report = (uint8_t)now->report};
	return w;
}

/* Room for one more open watch. */
static enum status list_room(struct watching *all, struct err *err)
{
	unsigned cap = all->cap ? 2 * all->cap : WATCH_BATCH;

	if (all->nopen < all->cap)
		return OK;
	struct watch **grown = realloc(all->open, cap * sizeof(struct watch *));
	if (!grown)
		return err_set(err, E_NOMEM, "no memory to watch an operation");
	all->open = grown;
	all->cap = cap;
	return OK;
}

static enum status watch_new(struct watch **out, struct braze_array *a, const struct recorded *r,
			     const struct braze_watch *now, struct err *err)
{
	struct braze_session *s = a->session;
	struct watching *all = &s->watching;
	struct braze_array *flag[WATCH_CLASSES] = {0};

	*out = NULL;
	enum status st = flags_record(flag, a, r, now->raise | now->report, err);
	if (!st)
		st = list_room(all, err);
	struct watch *w = st ? NULL : new_watch(s, r->op, now);
	if (!w) {
		drop_flags(s, flag);
		return st ? st : err_set(err, E_NOMEM, "no memory to watch an operation");
	}
	for (int k = 0; k < WATCH_CLASSES; k++)
		w->flag[k] = flag[k];
	if (!has_flags(w)) {
		free(w);
		return OK;
	}
	all->open[all->nopen++] = w;
	w->slot = all->nopen;
	*out = w;
	return OK;
}

/* ---- Sets ---- */

void watch_forget(struct braze_session *s, struct watch_set *set)
{
	if (!set || --set->refs)
		return;
	for (uint32_t i = 0; i < set->n; i++)
		if (!--set->of[i]->refs)
			watch_free(s, set->of[i]);
	free(set);
}

void watch_put(struct braze_session *s, struct buffer *b, struct watch_set *set)
{
	struct watch_set *old = b->watch;

	if (old == set) {
		watch_forget(s, set);
		return;
	}
	b->watch = set;
	s->watching.carriers += (set != NULL) - (uint64_t)(old != NULL);
	watch_set_careful(s);
	watch_forget(s, old);
}

void watch_share(struct braze_session *s, struct buffer *b, const struct buffer *a)
{
	if (a->watch)
		a->watch->refs++;
	watch_put(s, b, a->watch);
}

/* Is w the same news as the last one?  A loop that nobody reads must not keep all. */
static bool repeats(const struct watch_set *set, const struct watch *w)
{
	const struct watch *last = set->n ? set->of[set->n - 1] : NULL;

	return last && !has_flags(w) && !has_flags(last) && w->site == last->site &&
	       w->tag == last->tag && w->op == last->op && w->found == last->found;
}

static void add(struct watch_set *set, struct watch *w)
{
	if (is_clean(w) || repeats(set, w))
		return;
	set->of[set->n++] = w;
}

/* Both sets' watches in the order of their operations, each once. */
static void merge(struct watch_set *out, const struct watch_set *a, const struct watch_set *b)
{
	uint32_t na = a ? a->n : 0, i = 0, k = 0;

	while (i < na || k < b->n) {
		struct watch *x = i < na ? a->of[i] : NULL, *y = k < b->n ? b->of[k] : NULL;
		bool first = x && (!y || x->serial <= y->serial);
		struct watch *w = first ? x : y;
		i += w == x;
		k += w == y;
		add(out, w);
		/* Nobody gets to see what follows a failure. */
		if (fails(w))
			break;
	}
	for (i = 0; i < out->n; i++)
		out->of[i]->refs++;
}

enum status watch_unite(struct braze_session *s, struct watch_set **set,
			const struct watch_set *with, struct err *err)
{
	struct watch_set *a = *set, *r;

	if (!with || a == with)
		return OK;
	r = malloc(sizeof(*r) + ((a ? a->n : 0) + with->n) * sizeof(r->of[0]));
	if (!r)
		return err_set(err, E_NOMEM, "no memory to watch an operation");
	r->refs = 1;
	r->n = 0;
	merge(r, a, with);
	if (!r->n) {
		free(r);
		r = NULL;
	}
	watch_forget(s, a);
	*set = r;
	return OK;
}

bool watch_known(struct braze_session *s, const struct watch_set *set)
{
	bool known = true;

	for (uint32_t i = 0; i < set->n; i++) {
		known &= collect(s, set->of[i]);
		if (fails(set->of[i]))
			break;
	}
	return known;
}

enum status watch_tell(struct braze_session *s, const struct watch_set *set, struct err *err)
{
	for (uint32_t i = 0; i < set->n; i++) {
		struct watch *w = set->of[i];
		for (unsigned k = 0; k < WATCH_CLASSES; k++) {
			unsigned bit = 1u << k;
			char at[24] = "";
			if (!(w->found & bit))
				continue;
			struct braze_report r = {.error = bit,
						 .all = w->all,
						 .text = class_text[k],
						 .op = op_row(w->op)->numpy,
						 .site = w->site,
						 .tag = w->tag};
			if (w->op == OP_CAST)
				r.op = "cast";
			else if (op_row(w->op)->kind == KIND_RED)
				r.op = "reduce";
			else if (op_row(w->op)->kind == KIND_SCAN)
				r.op = "accumulate";
			if (w->site)
				snprintf(at, sizeof at, " at site %u", w->site);
			if (w->raise & bit)
				return err_set(err, E_FLOATING, "%s encountered in %s%s", r.text,
					       r.op, at);
			w->found &= (uint8_t)~bit;
			if (s->watching.tell)
				s->watching.tell(s->watching.data, &r);
		}
		if (w->unknown)
			return err_set(err, E_LOST,
				       "the connection was lost before %s could be checked for "
				       "floating-point errors",
				       op_row(w->op)->numpy);
	}
	return OK;
}

/* ---- Recording ---- */

/* *set gets w as well, which is nobody's yet and is freed on failure. */
static enum status add_watch(struct braze_session *s, struct watch_set **set, struct watch *w,
			     struct err *err)
{
	struct watch_set *one = malloc(sizeof(*one) + sizeof(one->of[0]));

	if (!one) {
		watch_free(s, w);
		return err_set(err, E_NOMEM, "no memory to watch an operation");
	}
	w->refs = 1;
	*one = (struct watch_set){.refs = 1, .n = 1};
	one->of[0] = w;
	enum status st = watch_unite(s, set, one, err);
	watch_forget(s, one);
	return st;
}

/* Does a number that gives way to the arrays' type become infinite in it? */
static bool number_overflows(const struct recorded *r)
{
	struct op_arg arg[3];
	struct op_sig sig;
	double v = 0;
	unsigned at = r->n;

	for (unsigned k = 0; k < r->n; k++) {
		const braze_scalar *x = &r->arg[k].scalar;
		const struct braze_array *a = r->arg[k].array;
		arg[k] = (struct op_arg){a ? a->view.dtype : (uint8_t)x->dtype, !a && x->weak};
		if (!a && x->weak && x->dtype == DT_FLOAT64) {
			memcpy(&v, x->bits, sizeof v);
			at = isfinite(v) && fabs(v) >= 65520 ? k : at;
		}
	}
	if (at == r->n || op_infer(&sig, r->op, arg, DTYPE_NONE, NULL))
		return false;
	memcpy(&v, r->arg[at].scalar.bits, sizeof v);
	return sig.in[at] == DT_FLOAT16 ||
	       ((sig.in[at] == DT_FLOAT32 || sig.in[at] == DT_COMPLEX64) && isinf((float)v));
}

/* What the operation itself is to be watched for, beside its operands. */
static enum status own(struct watch_set **set, struct braze_array *out, const struct recorded *r,
		       struct err *err)
{
	struct braze_session *s = out->session;
	struct braze_watch now = s->watching.now;
	struct watch *w = NULL;
	bool infinite = number_overflows(r);

	if (!flags_possible(r->op) && !infinite)
		return OK;
	if (s->watching.ask)
		s->watching.ask(s->watching.data, &now);
	if (!(now.raise | now.report))
		return OK;
	if (infinite && ((now.raise | now.report) & BRAZE_OVERFLOW)) {
		if (!(w = new_watch(s, OP_CAST, &now)))
			return err_set(err, E_NOMEM, "no memory to watch an operation");
		w->found = w->all = BRAZE_OVERFLOW;
		enum status st = add_watch(s, set, w, err);
		if (st)
			return st;
	}
	if (!flags_possible(r->op))
		return OK;
	enum status st = watch_new(&w, out, r, &now, err);
	if (st || !w)
		return st;
	st = add_watch(s, set, w, err);
	return st ? st : batch(s, err);
}

enum status watch_recorded(struct braze_array *out, const struct recorded *r, struct err *err)
{
	struct braze_session *s = out->session;
	struct watch_set *set = NULL;
	enum status st = OK;

	for (unsigned k = 0; k < r->n && !st; k++)
		if (r->arg[k].array && r->arg[k].array->buf->watch)
			st = watch_unite(s, &set, r->arg[k].array->buf->watch, err);
	if (!st && (s->careful & CAREFUL_CHECK))
		st = own(&set, out, r, err);
	watch_put(s, out->buf, set);
	return st;
}

/* The cast that an assignment is; its result serves the check alone. */
static enum status check_cast(struct watch_set **set, const struct braze_array *dst,
			      struct braze_array *src, struct err *err)
{
	const braze_arg arg = {.array = src};
	const struct recorded r = {.op = OP_CAST, .n = 1, .arg = &arg};
	struct braze_array *cast = NULL;

	enum status st = record_cast(&cast, src, dst->view.dtype, err);
	if (st)
		return st;
	st = own(set, cast, &r, err);
	array_release(cast);
	return st;
}

enum status watch_assigned(struct braze_array *dst, const braze_arg *src, struct err *err)
{
	struct braze_session *s = dst->session;
	struct buffer *b = dst->buf;
	bool whole = dst->contiguous &&
		     (uint64_t)dst->count * dtype_row(dst->view.dtype)->bytes == b->bytes;
	struct watch_set *set = whole ? NULL : b->watch;
	enum status st = OK;

	if (set)
		set->refs++;
	if (src->array)
		st = watch_unite(s, &set, src->array->buf->watch, err);
	if (!st && src->array && (s->careful & CAREFUL_CHECK) &&
	    src->array->view.dtype != dst->view.dtype && src->array->buf != b)
		st = check_cast(&set, dst, src->array, err);
	watch_put(s, b, set);
	return st;
}

void watch_lose(struct braze_session *s)
{
	struct watching *all = &s->watching;

	watch_close(s);
	while (all->nopen) {
		struct watch *w = all->open[all->nopen - 1];
		if (collect(s, w))
			continue;
		drop_flags(s, w->flag);
		unlist(s, w);
		w->unknown = w->raise != 0;
	}
}

void watch_close(struct braze_session *s)
{
	ticket_destroy(s->watching.asked);
	s->watching.asked = NULL;
}

void watch_end(struct braze_session *s)
{
	free(s->watching.open);
}

/* ---- The public half ---- */

void braze_watch_errors(braze_session *s, unsigned raise, unsigned report, braze_report_fn *tell,
			void *data)
{
	lock_take(s);
	s->watching.now = (struct braze_watch){.raise = raise & 15u, .report = report & 15u};
	s->watching.ask = NULL;
	s->watching.tell = tell;
	s->watching.data = data;
	watch_set_careful(s);
	lock_give(s);
}

void braze_set_watcher(braze_session *s, braze_watcher_fn *ask, braze_report_fn *tell, void *data)
{
	lock_take(s);
	s->watching.now = (struct braze_watch){0};
	s->watching.ask = ask;
	s->watching.tell = tell;
	s->watching.data = data;
	watch_set_careful(s);
	lock_give(s);
}
