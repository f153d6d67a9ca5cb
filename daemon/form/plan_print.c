/* SPDX-License-Identifier: Apache-2.0 */
/* form/plan_print.c - a plan as text, the output format of golden tests. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "base/textbuf.h"
#include "plan.h"

static void put_slot(struct textbuf *t, const struct plan *p, uint32_t k)
{
	const struct plan_slot *s = &p->slot[k];

	textbuf_put(t, "slot %u %llu", k, (unsigned long long)s->bytes);
	if (s->value == PART_NONE)
		textbuf_put(t, " temp");
	else
		textbuf_put(t, " v%u", s->value);
	if (s->input != PART_NONE)
		textbuf_put(t, " input v%u", s->input);
	textbuf_put(t, "%s\n", s->empty ? " empty" : "");
}

static void put_step(struct textbuf *t, const struct plan *p, uint32_t k)
{
	const struct plan_step *s = &p->step[k];
	size_t n;
	char *text;

	textbuf_put(t, "step %u cost %llu%s\n", k, (unsigned long long)s->cost_us,
		    s->tears ? " tears" : "");
	if (s->kind == STEP_CALL) {
		call_row(s->call->call)->print(t, s->call);
		return;
	}
	n = nest_print(NULL, 0, s->nest, false);
	text = xmalloc(n + 1);
	nest_print(text, n + 1, s->nest, false);
	textbuf_put(t, "%s", text);
	free(text);
}

/* Slots, steps, then why nests stayed apart. */
size_t plan_print(char *buf, size_t cap, const struct plan *p)
{
	struct textbuf t = {buf, cap, 0};

	if (cap)
		buf[0] = 0;
	for (uint32_t k = 0; k < p->nslot; k++)
		put_slot(&t, p, k);
	for (uint32_t k = 0; k < p->nstep; k++)
		put_step(&t, p, k);
	for (uint32_t k = 0; k < p->nnote; k++)
		textbuf_put(&t, "apart %u %u: %s\n", p->note[k].other, p->note[k].step,
			    fuse_reason_text(p->note[k].reason));
	return t.len;
}
