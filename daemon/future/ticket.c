/* SPDX-License-Identifier: Apache-2.0 */
#include "ticket.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"

struct ticket *ticket_add(struct ticket_list *l, enum ticket_kind kind, uint64_t id,
			  struct version *const *version, uint32_t n, uint32_t nanswer,
			  uint32_t nalso, uint64_t now_ns)
{
	uint32_t all = n + nalso;
	struct ticket *t = xcalloc(1, sizeof *t + all * sizeof t->version[0]);
	struct ticket **at = &l->first;

	t->kind = (uint8_t)kind;
	t->id = id;
	t->since_ns = now_ns;
	t->n = n;
	t->nanswer = nanswer;
	t->nalso = nalso;
	memcpy(t->version, version, all * sizeof *version);
	for (uint32_t i = 0; i < nanswer; i++)
		version[i]->asked += ticket_brings(t, version[i]);
	while (*at)
		at = &(*at)->next;
	*at = t;
	l->load += 1 + all;
	return t;
}

void ticket_replace(struct ticket *t, uint32_t i, struct version *v, struct trace *trace)
{
	t->version[i]->asked--;
	version_unref(trace, t->version[i]);
	t->version[i] = v;
	v->asked++;
}

struct ticket *ticket_find(struct ticket_list *l, uint64_t id)
{
	for (struct ticket *t = l->first; t; t = t->next)
		if (t->kind != TICKET_CUT && t->id == id)
			return t;
	return NULL;
}

bool ticket_settled(const struct ticket *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->version[i]->state != VERSION_STORED &&
		    t->version[i]->state != VERSION_FAILED)
			return false;
	return true;
}

void ticket_remove(struct ticket_list *l, struct ticket *t, struct trace *trace)
{
	struct ticket **at = &l->first;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	l->load -= 1 + t->n + t->nalso;
	for (uint32_t i = 0; i < t->n + t->nalso; i++) {
		t->version[i]->asked -= i < t->nanswer && ticket_brings(t, t->version[i]);
		version_unref(trace, t->version[i]);
	}
	free(t->publishing);
	free(t);
}
