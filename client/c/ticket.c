/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/ticket.c - open futures: a list per session, most recent first.
 *
 * Invariant: a future is in the list as long as answers are missing. */
#include "ticket.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "array.h"
#include "device.h"
#include "region.h"
#include "watch.h"

struct braze_future *ticket_create(struct braze_session *s, enum ticket_kind kind, unsigned n,
				   struct err *err)
{
	struct braze_future *f = calloc(1, sizeof(*f) + n * sizeof(f->item[0]));

	if (!f) {
		err_set(err, E_NOMEM, "no memory for a future of %u arrays", n);
		return NULL;
	}
	f->session = s;
	f->kind = kind;
	s->refs++;
	return f;
}

void ticket_open(struct braze_future *f, unsigned count)
{
	struct braze_session *s = f->session;

	f->first = s->tickets + 1;
	f->tickets = count;
	s->tickets += count;
	pthread_mutex_lock(&s->sock);
	f->missing = count;
	f->next = s->open;
	s->open = f;
	pthread_mutex_unlock(&s->sock);
}

static void unlink_open(struct braze_future *f)
{
	struct braze_future **p = &f->session->open;

	while (*p && *p != f)
		p = &(*p)->next;
	if (*p)
		*p = f->next;
	f->next = NULL;
}

void ticket_destroy(struct braze_future *f)
{
	if (!f)
		return;
	struct braze_session *s = f->session;
	pthread_mutex_lock(&s->sock);
	unlink_open(f);
	pthread_mutex_unlock(&s->sock);
	for (unsigned i = 0; i < f->n + f->nalso; i++)
		array_drop_buffer(s, f->item[i].buf);
	watch_forget(s, f->watch);
	for (unsigned i = 0; i < f->n; i++)
		if (f->item[i].file)
			close((int)f->item[i].file - 1);
	region_forget_opened(f->opened);
	device_forget(f->lent);
	free(f->text);
	if (f->object)
		dlclose(f->object);
	free(f);
	s->refs--;
}

struct braze_future *ticket_find(struct braze_session *s, uint64_t ticket)
{
	struct braze_future *f = s->open;

	while (f && !(ticket >= f->first && ticket - f->first < f->tickets))
		f = f->next;
	return f;
}

void ticket_answer(struct braze_future *f, const struct err *e)
{
	if (e && !f->err.code)
		f->err = *e;
	if (f->missing && --f->missing == 0)
		unlink_open(f);
}
