/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_over.c - runs by generated code, from the start or from where the machine was; and the
 * words for what ends a run, whoever found it. */
#include <string.h>

#include "lang_steps.h"

/* ---- What ends a run ---- */

static const char *array_name(const struct lang_program *p, uint32_t array)
{
	unsigned k = 0;

	while (k < p->nparam && !(p->param[k].rank && p->param[k].reg == array))
		k++;
	return p->param[k].name;
}

void lang_wrong_place(struct run *r, uint32_t line, uint32_t array, unsigned axis, int64_t index)
{
	r->status = err_set(
		r->err, E_INDEX,
		"kernel '%s', line %u: index %lld is out of bounds for axis %u of '%s' with size "
		"%lld",
		r->program->name, line, (long long)index, axis, array_name(r->program, array),
		(long long)r->array[array].shape.dim[axis]);
}

void lang_wrong_step(struct run *r, uint32_t line)
{
	r->status = err_set(r->err, E_INVALID, "kernel '%s', line %u: the step is 0",
			    r->program->name, line);
}

void lang_stopped(struct run *r, uint32_t line)
{
	r->status = err_set(r->err, E_CANCELLED, "kernel '%s', line %u: it was stopped",
			    r->program->name, line);
}

/* ---- Code ---- */

void lang_attach(struct lang_kernel *k, lang_code_fn *unit, lang_code_fn *any)
{
	atomic_store_explicit(&k->unit, unit, memory_order_release);
	atomic_store_explicit(&k->any, any, memory_order_release);
}

bool lang_attached(const struct lang_kernel *k)
{
	return atomic_load_explicit(&k->any, memory_order_acquire) != NULL;
}

bool lang_closely(const struct run *r)
{
	const struct lang_param *p = r->program->param;
	unsigned a = 0;

	for (unsigned k = 0; k < r->program->nparam; k++)
		if (p[k].rank && r->array[a++].stride[p[k].rank - 1] != dtype_row(p[k].type)->bytes)
			return false;
	return true;
}

lang_code_fn *lang_code_for(const struct run *r)
{
	return atomic_load_explicit(lang_closely(r) ? &r->kernel->unit : &r->kernel->any,
				    memory_order_acquire);
}

static void apply(struct lang_frame *f, uint32_t at, void *d, const void *a, const void *b,
		  const void *c)
{
	struct lang_frame_of *x = (struct lang_frame_of *)f;
	union lang_reg *reg = x->reg;
	struct step s = x->run->kernel->step[at];

	memcpy(&reg[1], a, sizeof *reg);
	memcpy(&reg[2], b, sizeof *reg);
	memcpy(&reg[3], c, sizeof *reg);
	s.d = 0;
	s.a = 1;
	s.b = 2;
	s.c = 3;
	s.fn(&x->one, &s);
	memcpy(d, &reg[0], sizeof *reg);
}

static int poll(struct lang_frame *f)
{
	const struct run *r = ((struct lang_frame_of *)f)->run;

	return r->poll && r->poll(r->data);
}

static int step(struct lang_frame *f, uint32_t at)
{
	struct run *r = ((struct lang_frame_of *)f)->run;
	const struct step *s = &r->kernel->step[at];
	int ended = !s->fn(r, s);

	f->block = r->sum ? &r->sum->block : NULL;
	f->sum = r->totals ? r->totals->block : NULL;
	return ended;
}

unsigned lang_flat_words(const struct lang_program *p)
{
	unsigned n = 0;

	for (unsigned k = 0; k < p->nparam; k++)
		n += p->param[k].rank ? 1 + 2u * p->param[k].rank : 0;
	return n;
}

void lang_flatten(int64_t *out, const struct run *r)
{
	for (unsigned k = 0, a = 0; k < r->program->nparam; k++) {
		unsigned rank = r->program->param[k].rank;

		if (!rank)
			continue;
		*out++ = (int64_t)(uintptr_t)r->array[a].at;
		memcpy(out, r->array[a].shape.dim, rank * sizeof *out);
		memcpy(out + rank, r->array[a].stride, rank * sizeof *out);
		out += 2 * (size_t)rank;
		a++;
	}
}

static void explain(struct run *r, const struct lang_frame *f)
{
	const struct lang_ins *i = &r->program->code[f->at];

	if (i->code == CODE_PLACE || i->code == CODE_VIEW)
		lang_wrong_place(r, i->line, i->a, f->axis, f->index);
	else if (i->code == CODE_RANGE)
		lang_wrong_step(r, i->line);
	else
		lang_stopped(r, i->line);
}

void lang_frame_set(struct lang_frame_of *x, struct run *r, const int64_t *array,
		    lang_code_fn *code)
{
	memset(x, 0, sizeof *x);
	x->f = (struct lang_frame){.reg = r->reg,
				   .array = array,
				   .apply = apply,
				   .poll = poll,
				   .step = step,
				   .block = r->sum ? &r->sum->block : NULL,
				   .sum = r->totals ? r->totals->block : NULL};
	x->run = r;
	x->code = code;
	x->one.reg = x->reg;
}

void lang_go_over(struct run *r, lang_code_fn *code)
{
	int64_t array[LANG_PARAMS * (1 + 2 * LIMIT_NDIM)]; /* of which few are set, and read */
	struct lang_frame_of x;

	lang_flatten(array, r);
	lang_frame_set(&x, r, array, code);
	if (r->over)
		x.f.at = (uint32_t)(r->over - r->kernel->step);
	else if (r->kernel->team)
		lang_share_begin(&x);
	if (code(&x.f) && !r->status)
		explain(r, &x.f);
}

void lang_join_team(struct lang_kernel *k, const struct lang_team *team)
{
	k->plans = lang_plans_new();
	if (k->plans)
		k->team = team;
}
