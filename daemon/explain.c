/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - how an array's value was made, in lines for the person who asks.
 *
 * In:  a version, and the plan that wrote its storage last.
 * Out: the plan's steps with their kernels, then why nests of it stayed apart. */
#include "base/textbuf.h"
#include "brazed.h"
#include "cache/cache.h"
#include "call/product_way.h"
#include "plan/plancache.h"

#define STEPS_MAX	64 /* that are told of a plan */
#define NOTES_MAX	64
#define OPERATIONS_TEXT 120
#define ERROR_SHOWN	160

static void put_loops(struct textbuf *t, const struct nest *n)
{
	const char *before = " ";

	for (int k = 0; k < n->npar + n->nred; k++, before = " x ")
		textbuf_put(t, "%s%lld", k == n->npar ? " over " : before, (long long)n->extent[k]);
	if (!(n->npar + n->nred))
		textbuf_put(t, " of one point");
}

/* How the kernel's code is made, and how far that has come. */
static void put_code(struct textbuf *t, const struct kernel *k)
{
	if (k->strikes >= KERNEL_STRIKES)
		textbuf_put(t, "interpreted: it is quarantined, since it ended workers");
	else if (k->state == KERNEL_FAILED)
		textbuf_put(t, "interpreted: the compiler failed: %.*s", ERROR_SHOWN, k->error);
	else if (k->tier || (k->arch && k->state == KERNEL_READY))
		textbuf_put(t, "compiled");
	else if (k->state == KERNEL_COMPILING)
		textbuf_put(t, "interpreted while it is compiled");
	else
		textbuf_put(t, "interpreted");
	textbuf_put(t, "; runs: %llu", (unsigned long long)k->runs);
}

/* What a GPU's worker does a product by. */
static void put_way(struct textbuf *t, const struct plan_call *c)
{
	uint64_t base[3];
	struct product_choice choice;
	struct product p;

	for (unsigned x = 0; x < 3; x++)
		base[x] = (uint64_t)c->operand[x].offset | (uint64_t)c->operand[x].move;
	product_of(&p, c);
	choice = product_choose(&p, base);
	if (choice.way == PRODUCT_BY_KERNEL)
		textbuf_put(t, ", by braze's own kernel: %s", choice.why);
	else
		textbuf_put(t, ", by cuBLAS%s%s", p.tf32 ? " in TF32" : "",
			    choice.way == PRODUCT_PACKED ? ", operands packed" : "");
}

static void put_step(struct textbuf *t, uint32_t number, const struct plan_step *s, uint8_t device)
{
	const struct kernel *k = s->kernel[device];
	char text[OPERATIONS_TEXT];

	textbuf_put(t, "  step %u: ", number);
	if (s->kind == STEP_CALL) {
		call_row(s->call->call)->put_name(t, s->call);
		if (device && s->call->call == CALL_PRODUCT)
			put_way(t, s->call);
	} else {
		nest_operations(text, sizeof text, s->nest);
		textbuf_put(t, "kernel %u (%s), loops", k->id, text);
		put_loops(t, s->nest);
	}
	textbuf_put(t, ", %llu us predicted", (unsigned long long)s->cost_us);
	if (s->kind == STEP_KERNEL) {
		textbuf_put(t, ", ");
		put_code(t, k);
	}
	textbuf_put(t, "\n");
}

/* Why this GPU of several, if it was chosen. */
static void put_among(struct textbuf *t, const struct plan *p, uint8_t device)
{
	for (unsigned c = 0; device && c < PLACE_CASES; c++) {
		const struct place *at = choose_place(p, device, c);
		const char *among = choose_among(p, device, c);

		if (at && *among && at->device == device + 1) {
			textbuf_put(t, "  %s\n", among);
			return;
		}
	}
}

static void put_plan(struct textbuf *t, const struct plan *p, uint8_t device)
{
	uint32_t steps = p->nstep < STEPS_MAX ? p->nstep : STEPS_MAX;
	uint32_t notes = p->nnote < NOTES_MAX ? p->nnote : NOTES_MAX;

	for (uint32_t i = 0; i < steps; i++)
		put_step(t, i + 1, &p->step[i], device);
	if (p->nstep > steps)
		textbuf_put(t, "  and %u steps more\n", p->nstep - steps);
	for (uint32_t i = 0; i < notes; i++)
		textbuf_put(t, "  step %u is not fused with step %u: %s\n", p->note[i].step + 1,
			    p->note[i].other + 1,
			    fuse_reason_text((enum fuse_reason)p->note[i].reason));
	if (p->nnote > notes)
		textbuf_put(t, "  and %u such lines more\n", p->nnote - notes);
}

void explain_version(char *buf, size_t n, const struct brazed *d, const struct version *v)
{
	const struct storage *s = v->state == VERSION_STORED ? v->storage : NULL;
	const struct plan *p = s && s->plan ? plancache_numbered(d->plans, s->plan) : NULL;
	struct textbuf t = {buf, n, 0};

	if (v->state == VERSION_FAILED) {
		textbuf_put(&t, "failed: %s\n", v->error->text);
	} else if (!s) {
		textbuf_put(&t, "not computed yet\n");
	} else if (!s->plan) {
		textbuf_put(&t, "written by the program itself\n");
	} else if (!p) {
		textbuf_put(&t, "plan %llu, which is not kept any more\n",
			    (unsigned long long)s->plan);
	} else {
		textbuf_put(&t, "plan %llu, %u step%s, on %s, made in %llu us\n",
			    (unsigned long long)p->number, p->nstep, p->nstep == 1 ? "" : "s",
			    d->device[s->made_on - 1].name, (unsigned long long)p->planning_us);
		put_among(&t, p, (uint8_t)(s->made_on - 1));
		put_plan(&t, p, (uint8_t)(s->made_on - 1));
	}
}
