/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_grid_run.c - see lang_grid_run.h.
 *
 * In:  a program that was linked.  Its steps are this grid's own, so that those which do otherwise
 * here are others: behind the loop the run ends, loops in a row are as they are written, nothing is
 * claimed, stores to other arrays are none or kept aside, and what turns add to a scalar goes to an
 * array. */
#include "lang_grid_run.h"

#include <stdlib.h>
#include <string.h>

#include "lang_steps.h"

struct lang_grid_run {
	struct lang_kernel *kernel;
	struct lang_grid grid;
};

/* The last element of an array that a turn has stored to; NULL: none. */
struct kept {
	const char *at;
	union lang_reg value;
};

/* Some turns; of what each adds the next element. */
struct stretch {
	struct run run; /* first: the run of a step is one of these */
	char *sum, *end;
	int64_t stride;
	struct kept kept[LIMIT_GRID_ARRAYS];
};

static const struct step *step_sum(struct run *r, const struct step *s)
{
	struct stretch *x = (struct stretch *)r;

	if (x->sum != x->end) {
		memcpy(x->sum, &r->reg[s->a], s->bytes);
		x->sum += x->stride;
	}
	return s + 1;
}

/* Of array c, as it is kept. */
static const struct step *step_keep(struct run *r, const struct step *s)
{
	struct stretch *x = (struct stretch *)r;

	x->kept[s->c] = (struct kept){r->reg[s->d].at, r->reg[s->a]};
	return s + 1;
}

static const struct step *step_load_kept(struct run *r, const struct step *s)
{
	const struct kept *k = &((struct stretch *)r)->kept[s->c];

	if (k->at == r->reg[s->a].at)
		memcpy(&r->reg[s->d], &k->value, s->bytes);
	else
		memcpy(&r->reg[s->d], r->reg[s->a].at, s->bytes);
	return s + 1;
}

/* A stored bool is any byte. */
static const struct step *step_load_kept_bool(struct run *r, const struct step *s)
{
	const struct kept *k = &((struct stretch *)r)->kept[s->c];

	r->reg[s->d].byte[0] = (k->at == r->reg[s->a].at ? k->value.byte : r->reg[s->a].at)[0] != 0;
	return s + 1;
}

static const struct step *step_end(struct run *r, const struct step *s)
{
	return NULL;
}

static const struct step *step_pass(struct run *r, const struct step *s)
{
	return s + 1;
}

/* To where the CODE_UNLESS behind goes. */
static const struct step *step_apart(struct run *r, const struct step *s)
{
	return s[1].to;
}

/* A load or a store, of an array that is neither written nor kept as one that does nothing else. */
static void change_access(struct step *s, const struct lang_ins *i, const struct lang_grid *g,
			  unsigned array)
{
	bool keeps = array < LIMIT_GRID_ARRAYS && g->keeps >> array & 1;

	if (keeps)
		s->c = array;
	if (i->code == CODE_STORE && array != g->only)
		s->fn = keeps ? step_keep : step_pass;
	else if (i->code == CODE_LOAD && keeps)
		s->fn = i->type == DT_BOOL ? step_load_kept_bool : step_load_kept;
}

static void change_steps(struct lang_grid_run *r, const uint8_t *seen, const uint8_t *array)
{
	const struct lang_program *p = r->grid.program;

	for (uint32_t at = 0; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];
		step_fn **fn = &r->kernel->step[at].fn;

		if (!seen[at])
			*fn = step_end;
		else if (i->code == CODE_ADDEND)
			*fn = r->grid.sums && i->a == r->grid.sum.reg ? step_sum : step_pass;
		else if (i->code == CODE_CLAIM)
			*fn = step_pass;
		else if (i->code == CODE_FUSES && !i->op)
			*fn = step_apart;
		else if (i->code == CODE_STORE || i->code == CODE_LOAD)
			change_access(&r->kernel->step[at], i, &r->grid,
				      array[i->code == CODE_STORE ? i->d : i->a]);
	}
}

enum status lang_grid_link(struct lang_grid_run **out, struct lang_program *p,
			   const struct lang_grid *g, const struct tier0_isa *isa,
			   const struct tier0_isa *wide, struct err *err)
{
	struct lang_grid_run *r = calloc(1, sizeof *r);
	uint8_t *seen = lang_grid_code(g), *array = seen ? lang_grid_places(g, seen) : NULL;
	enum status st = OK;

	if (!r || !seen || !array) {
		lang_free(p);
		st = err_set(err, E_NOMEM, "no memory for a kernel");
	} else {
		r->grid = *g;
		st = lang_link(&r->kernel, p, isa, wide, err);
	}
	if (!st) {
		change_steps(r, seen, array);
		*out = r;
	} else {
		free(r);
	}
	free(seen);
	free(array);
	return st;
}

void lang_grid_unlink(struct lang_grid_run *r)
{
	if (r)
		lang_unlink(r->kernel);
	free(r);
}

const struct lang_grid *lang_grid_linked(const struct lang_grid_run *r)
{
	return &r->grid;
}

const struct lang_program *lang_grid_program(const struct lang_grid_run *r)
{
	return r->grid.program;
}

/* The registers as the loop begins; the caller frees them. */
static enum status begin(struct run *run, const struct lang_grid_run *r,
			 const union lang_reg *scalar, struct err *err)
{
	const struct lang_program *p = r->grid.program;

	*run = (struct run){.kernel = r->kernel, .program = p, .turns = LANG_TURNS, .err = err};
	run->reg = calloc(p->nreg + 1, sizeof *run->reg);
	if (!run->reg)
		return err_set(err, E_NOMEM, "no memory to run a kernel");
	lang_registers(run->reg, p, NULL);
	for (unsigned i = 0; i < r->grid.nlive; i++)
		run->reg[r->grid.live[i]] = scalar[i];
	(void)r->kernel->step[r->grid.range].fn(run, &r->kernel->step[r->grid.range]);
	return run->status;
}

enum status lang_grid_count(uint64_t *turns, const struct lang_grid_run *r,
			    const struct lang_array *array, const union lang_reg *scalar,
			    struct err *err)
{
	struct run run;
	enum status st = begin(&run, r, scalar, err);

	if (!st)
		*turns = run.reg[r->grid.program->code[r->grid.range].d + 2].bits[0];
	if (!st && r->grid.sums)
		*turns = (uint64_t)array[r->grid.only].shape.dim[0];
	free(run.reg);
	return st;
}

/* ---- Sums ---- */

/* Turns of elements [lo, hi), which are told so far as those of all of them: in order, and of a
 * claimed sum one turn each. */
static void turns_of(uint64_t *lo, uint64_t *hi, const struct lang_grid *g, uint64_t elements,
		     uint64_t turns)
{
	if (g->sum.claimed || !elements)
		return;
	*lo = (uint64_t)((unsigned __int128)turns * *lo / elements);
	*hi = (uint64_t)((unsigned __int128)turns * *hi / elements);
}

/* Elements [lo, hi) before the turns: none of them adds anything.  What all of them add is the
 * first one's then. */
static void begin_sum(struct stretch *x, const struct lang_grid *g, const struct lang_array *to,
		      uint64_t lo, uint64_t hi)
{
	union lang_reg nothing = {0};

	x->stride = to->stride[0];
	x->sum = to->at + (int64_t)lo * x->stride;
	x->end = to->at + (int64_t)hi * x->stride;
	if (!g->sum.claimed)
		nothing.bits[0] = lang_added_nothing(&g->sum.by);
	for (uint64_t k = lo; k < hi; k++)
		memcpy(to->at + (int64_t)k * x->stride, &nothing, dtype_row(g->sum.type)->bytes);
	if (!g->sum.claimed)
		x->run.reg[g->sum.reg] = nothing;
}

static void end_sum(const struct stretch *x, const struct lang_grid *g)
{
	if (!g->sum.claimed && x->sum != x->end)
		memcpy(x->sum, &x->run.reg[g->sum.reg], dtype_row(g->sum.type)->bytes);
}

/* ---- A stretch ---- */

enum status lang_grid_turns(const struct lang_grid_run *r, const struct lang_array *array,
			    const union lang_reg *scalar, uint64_t lo, uint64_t hi,
			    lang_poll_fn *poll, void *data, struct err *err)
{
	const struct lang_grid *g = &r->grid;
	const struct step *s = &r->kernel->step[g->range + 1];
	union lang_reg *number = NULL;
	struct stretch x = {0};
	enum status st = begin(&x.run, r, scalar, err);

	x.run.array = array;
	x.run.poll = poll;
	x.run.data = data;
	if (!st) {
		number = &x.run.reg[g->program->code[g->range].d];
		if (g->sums) {
			uint64_t elements = (uint64_t)array[g->only].shape.dim[0];

			hi = hi < elements ? hi : elements;
			lo = lo < hi ? lo : hi;
			begin_sum(&x, g, &array[g->only], lo, hi);
			turns_of(&lo, &hi, g, elements, number[2].bits[0]);
		}
		hi = hi < number[2].bits[0] ? hi : number[2].bits[0];
		lo = lo < hi ? lo : hi;
		number[1].bits[0] += lo * number[3].bits[0];
		number[2].bits[0] = hi - lo;
	}
	while (!st && s)
		s = s->fn(&x.run, s);
	if (!st && g->sums)
		end_sum(&x, g);
	free(x.run.reg);
	lang_view_end(&x.run);
	return st ? st : x.run.status;
}
