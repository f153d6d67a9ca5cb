/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/explain.c - how an array's value was made, in lines for the person who asks.
 *
 * In:  an array.  Out: what this process knows, where its value was made and why there; and of
 * what the daemon made, the daemon's answer (daemon/explain.c). */
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "future.h"
#include "lock.h"
#include "ticket.h"
#include "wire.h"

static const char *const why_text[] = {
#define X(id, text) text,
	WHY_TEXTS(X)
#undef X
};

static void put_kind(FILE *f, const struct braze_array *a)
{
	fprintf(f, "%s array of shape (", dtype_row(a->view.dtype)->name);
	for (int i = 0; i < a->view.shape.ndim; i++)
		fprintf(f, "%s%lld", i ? ", " : "", (long long)a->view.shape.dim[i]);
	fprintf(f, "%s)", a->view.shape.ndim == 1 ? "," : "");
	if ((uint64_t)a->count * dtype_row(a->view.dtype)->bytes != a->buf->bytes)
		fprintf(f, ", a view of %llu bytes", (unsigned long long)a->buf->bytes);
	fprintf(f, "\n");
}

static bool is_ours(const struct buffer *b)
{
	return b->why == WHY_HOST || b->flags & BUF_HOST;
}

static void put_place(FILE *f, const struct buffer *b, bool pending)
{
	unsigned why = is_ours(b) ? WHY_HOST : b->why;

	fprintf(f, "%s%s\n", why < WHY_PENDING ? "" : "far: left to the daemon, since ",
		why_text[why]);
	if (pending)
		fprintf(f, "it was pending until now\n");
}

/* The daemon's lines. */
static int put_answer(FILE *f, struct braze_array *a, braze_check_fn *check, void *data,
		      struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Explain ask = BRAZE__WIRE__EXPLAIN__INIT;
	struct braze_session *s = a->session;
	struct braze_future *t = ticket_create(s, TICKET_EXPLAIN, 0, err);

	if (!t)
		return E_NOMEM;
	ticket_open(t, 1);
	ask.ticket = t->first;
	ask.id = array_root(a);
	r.explain = &ask;
	int st = (int)wire_send(s, &r, err);
	if (!st)
		st = wire_wait(t, -1, check, data, err);
	if (!st)
		fputs(t->text ? t->text : "no memory for what the daemon said\n", f);
	ticket_destroy(t);
	return st;
}

static int explain(FILE *f, struct braze_array *a, braze_check_fn *check, void *data,
		   struct err *err)
{
	bool pending = !future_stored(a);
	int st = a->session->forked ? (int)wire_dead(a->session, err)
				    : future_value(a, check, data, err);

	if (st)
		return st;
	put_kind(f, a);
	put_place(f, a->buf, pending);
	/* What the daemon did not make, or an earlier one did, this one does not know. */
	if (is_ours(a->buf) || a->buf->flags & BUF_APART || a->session->minor < MINOR_TELLS)
		return OK;
	return put_answer(f, a, check, data, err);
}

int braze_explain(char **text, braze_array *a, braze_check_fn *check, void *cdata,
		  braze_error *error)
{
	struct err *err = err_of(error);
	size_t bytes;
	FILE *f = open_memstream(text, &bytes);

	if (!f)
		return (int)err_set(err, E_NOMEM, "no memory for an explanation");
	lock_take(a->session);
	int st = explain(f, a, check, cdata, err);
	lock_give(a->session);
	if (fclose(f) && !st)
		st = (int)err_set(err, E_NOMEM, "no memory for an explanation");
	if (st) {
		free(*text);
		*text = NULL;
	}
	return st;
}
