/* SPDX-License-Identifier: Apache-2.0 */
/* run/release.c - memory of an arena that is going to be given back: the worker lets go
 * of its pages first.
 *
 * An answer comes for every question, at the latest from the worker's end: a process
 * that is over holds nothing.  One that lives and does not answer is ended by the
 * watchdog (watch.c). */
#include <stdlib.h>

#include "base/xalloc.h"
#include "executor_impl.h"

/* A copy that is the reason for a registration is complete before its storage can be
 * freed, and has raised the page's number before that: what is 0 now stays 0 for
 * these bytes. */
static bool may_hold(const struct executor *x)
{
	return x->target && x->pid >= 0 && atomic_load(&x->progress->registered_bytes) > 0;
}

bool release_ask(struct executor *x, uint32_t region, const struct command_range *r,
		 void (*done)(void *data), void *data)
{
	struct release **at = &x->release, *e = NULL;

	if (!may_hold(x))
		return false;
	e = xcalloc(1, sizeof *e);
	*e = (struct release){.region = region, .range = *r, .done = done, .data = data};
	while (*at)
		at = &(*at)->next;
	*at = e;
	spawn_send_simple(x, CMD_RELEASE, region, r->offset, r->bytes, -1);
	watch_update(x);
	return true;
}

void release_answered(struct executor *x, const struct command *answer)
{
	struct release **at = &x->release, *e = NULL;

	while (*at && ((*at)->region != answer->id || (*at)->range.offset != answer->ticket ||
		       (*at)->range.bytes != answer->arg))
		at = &(*at)->next;
	e = *at;
	if (!e)
		return; /* it was not asked for */
	*at = e->next;
	e->done(e->data);
	free(e);
}

void release_all(struct executor *x)
{
	while (x->release) {
		struct release *e = x->release;

		x->release = e->next;
		e->done(e->data);
		free(e);
	}
}
