/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_run.c - the machine: one lane, one step after the other.
 *
 * In:  a program whose every register, jump and array number was checked when it was made.  Out:
 * elements and results, or the first error; what was written before it stays.  Every address that
 * is read or written was made by CODE_PLACE or CODE_VIEW, which know the extents. */
#include <stdlib.h>
#include <string.h>

#include "lang_native.h"
#include "lang_nest.h"
#include "lang_steps.h"
#include "lang_uses.h"

/* ---- Steps ---- */

static const struct step *step_end(struct run *r, const struct step *s)
{
	return NULL;
}

static const struct step *step_move(struct run *r, const struct step *s)
{
	r->reg[s->d] = r->reg[s->a];
	return s + 1;
}

/* All lanes alike: a loop then does in none of them what it would not do in the first. */
static void fill(char *lanes, const union lang_reg *v, unsigned bytes)
{
	for (unsigned k = 0; k < TIER0_LANES; k++)
		switch (bytes) {
		case 1:
			lanes[k] = v->byte[0];
			break;
		case 2:
			memcpy(lanes + 2 * k, v, 2);
			break;
		case 4:
			memcpy(lanes + 4 * k, v, 4);
			break;
		case 8:
			memcpy(lanes + 8 * k, v, 8);
			break;
		default:
			memcpy(lanes + 16 * k, v, 16);
		}
}

#define REGISTERS   256 /* of a run that asks for no memory */
#define LANES_BYTES (TIER0_LANES * 16)

static void store(char *to, const union lang_reg *v, unsigned bytes)
{
	if (bytes == 8)
		memcpy(to, v, 8);
	else if (bytes == 4)
		memcpy(to, v, 4);
	else if (bytes == 1)
		*to = v->byte[0];
	else if (bytes == 2)
		memcpy(to, v, 2);
	else
		memcpy(to, v, 16);
}

static const struct step *step_two(struct run *r, const struct step *s)
{
	char in[2][LANES_BYTES] __attribute__((aligned(64)));
	char made[LANES_BYTES] __attribute__((aligned(64)));

	fill(in[0], &r->reg[s->a], s->bytes);
	fill(in[1], &r->reg[s->b], s->bytes);
	s->loop(made, in[0], in[1], in[1], 1);
	memcpy(&r->reg[s->d], made, 16);
	return s + 1;
}

static const struct step *step_one(struct run *r, const struct step *s)
{
	char in[LANES_BYTES] __attribute__((aligned(64)));
	char made[LANES_BYTES] __attribute__((aligned(64)));

	fill(in, &r->reg[s->a], s->bytes);
	s->loop(made, in, in, in, 1);
	memcpy(&r->reg[s->d], made, 16);
	return s + 1;
}

static const struct step *step_three(struct run *r, const struct step *s)
{
	char in[3][LANES_BYTES] __attribute__((aligned(64)));
	char made[LANES_BYTES] __attribute__((aligned(64)));

	/* out_bytes: of the first operand, which is bool in where. */
	fill(in[0], &r->reg[s->a], s->out_bytes);
	fill(in[1], &r->reg[s->b], s->bytes);
	fill(in[2], &r->reg[s->c], s->bytes);
	s->loop(made, in[0], in[1], in[2], 1);
	memcpy(&r->reg[s->d], made, 16);
	return s + 1;
}

/* Integers that become float64, the cast that programs write most. */
static const struct step *step_float(struct run *r, const struct step *s)
{
	r->reg[s->d].f = (double)r->reg[s->a].i;
	return s + 1;
}

/* Of what is said for those who look at loops. */
static const struct step *step_pass(struct run *r, const struct step *s)
{
	return s + 1;
}

static const struct step *step_jump(struct run *r, const struct step *s)
{
	return s->to;
}

static const struct step *step_loop(struct run *r, const struct step *s)
{
	if (--r->turns)
		return s->to;
	r->turns = LANG_TURNS;
	if (!r->poll || !r->poll(r->data))
		return s->to;
	lang_stopped(r, s->line);
	return NULL;
}

/* Of a loop that is in no other: code that has come meanwhile goes on from here. */
static const struct step *step_outermost(struct run *r, const struct step *s)
{
	const struct step *next = step_loop(r, s);

	if (!next || !atomic_load_explicit(&r->kernel->any, memory_order_acquire))
		return next;
	r->over = s;
	return NULL;
}

static const struct step *step_unless(struct run *r, const struct step *s)
{
	return r->reg[s->a].byte[0] ? s + 1 : s->to;
}

static const struct step *step_when(struct run *r, const struct step *s)
{
	return r->reg[s->a].byte[0] ? s->to : s + 1;
}

static const struct step *step_range(struct run *r, const struct step *s)
{
	uint64_t a = r->reg[s->a].bits[0], b = r->reg[s->b].bits[0], c = r->reg[s->c].bits[0];
	union lang_reg *reg = &r->reg[s->d];
	int64_t step = (int64_t)c;
	uint64_t turns = 0;

	if (!step) {
		lang_wrong_step(r, s->line);
		return NULL;
	}
	if (step > 0 && (int64_t)a < (int64_t)b)
		turns = (b - a - 1) / c + 1;
	else if (step < 0 && (int64_t)a > (int64_t)b)
		turns = (a - b - 1) / (0 - c) + 1;
	reg[1].bits[0] = a;
	reg[2].bits[0] = turns;
	reg[3].bits[0] = c;
	return s + 1;
}

static const struct step *step_next(struct run *r, const struct step *s)
{
	union lang_reg *reg = &r->reg[s->a];

	if (!reg[2].bits[0])
		return s->to;
	reg[2].bits[0]--;
	reg[0].bits[0] = reg[1].bits[0];
	reg[1].bits[0] += reg[3].bits[0];
	return s + 1;
}

static const struct step *wrong_place(struct run *r, const struct step *s, unsigned axis)
{
	lang_wrong_place(r, s->line, s->a, axis, r->reg[s->b + axis].i);
	return NULL;
}

static const struct step *step_place(struct run *r, const struct step *s)
{
	const struct lang_array *x = &r->array[s->a];
	int64_t base = r->program->base;
	char *at = x->at;

	for (uint32_t k = 0; k < s->c; k++) {
		int64_t i = r->reg[s->b + k].i;

		if (!lang_index(&i, x->shape.dim[k], base))
			return wrong_place(r, s, k);
		at += i * x->stride[k];
	}
	r->reg[s->d].at = at;
	return s + 1;
}

static const struct step *step_load8(struct run *r, const struct step *s)
{
	memcpy(&r->reg[s->d], r->reg[s->a].at, 8);
	return s + 1;
}

static const struct step *step_load(struct run *r, const struct step *s)
{
	memcpy(&r->reg[s->d], r->reg[s->a].at, s->bytes);
	return s + 1;
}

/* A stored bool is any byte. */
static const struct step *step_load_bool(struct run *r, const struct step *s)
{
	r->reg[s->d].byte[0] = *r->reg[s->a].at != 0;
	return s + 1;
}

static const struct step *step_store(struct run *r, const struct step *s)
{
	store(r->reg[s->d].at, &r->reg[s->a], s->bytes);
	return s + 1;
}

static const struct step *step_length(struct run *r, const struct step *s)
{
	r->reg[s->d].i = r->array[s->a].shape.dim[s->b];
	return s + 1;
}

static const struct step *step_call(struct run *r, const struct step *s)
{
	/* No function calls a later one, so there are no more calls open than functions. */
	r->back[r->nback++] = s + 1;
	return s->to;
}

static const struct step *step_return(struct run *r, const struct step *s)
{
	return r->back[--r->nback];
}

/* ---- Linking ---- */

static step_fn *of_load(unsigned type)
{
	if (type == DT_BOOL)
		return step_load_bool;
	return dtype_row(type)->bytes == 8 ? step_load8 : step_load;
}

static enum status link_operation(struct step *s, const struct lang_ins *i,
				  const struct tier0_isa *isa, const struct tier0_isa *wide,
				  struct err *err)
{
	unsigned arity = i->code == CODE_CAST ? 1 : op_row(i->op)->arity;

	s->loop = i->code == CODE_CAST ? tier0_cast(isa, wide, i->type, i->to)
				       : tier0_op(isa, wide, i->op, i->type);
	if (!s->loop)
		return err_set(err, E_UNSUPPORTED, "line %u: %s of %s", i->line,
			       i->code == CODE_CAST ? "a cast" : op_text(i->op),
			       dtype_row(i->type)->name);
	s->fn = arity == 1 ? step_one : arity == 2 ? step_two : step_three;
	s->out_bytes = i->op == OP_WHERE ? 1 : s->bytes;
	if (i->code == CODE_OP && arity == 2 && lang_quick(i->op, i->type))
		s->fn = lang_quick(i->op, i->type);
	if (i->code == CODE_CAST && i->type == DT_INT64 && i->to == DT_FLOAT64)
		s->fn = step_float;
	return OK;
}

static bool reduces(const struct lang_ins *i)
{
	return (i->code >= CODE_BEGIN && i->code <= CODE_GIVE) ||
	       (i->code >= CODE_SUM && i->code <= CODE_SUMMED);
}

/* A claim that no call refutes; a question that the loop around has answered. */
static bool says_nothing(const struct lang_program *p, const struct lang_ins *i)
{
	return (i->code == CODE_CLAIM && !lang_nest_may(p, i->a)) ||
	       (i->code == CODE_FUSES && i->op);
}

static enum status link_one(struct lang_kernel *k, uint32_t at, const struct tier0_isa *isa,
			    const struct tier0_isa *wide, struct err *err)
{
	static step_fn *const fn[] = {
		[CODE_END] = step_end,
		[CODE_MOVE] = step_move,
		[CODE_JUMP] = step_jump,
		[CODE_CLAIM] = lang_step_claim,
		[CODE_LOOP] = step_loop,
		[CODE_UNLESS] = step_unless,
		[CODE_WHEN] = step_when,
		[CODE_RANGE] = step_range,
		[CODE_NEXT] = step_next,
		[CODE_PLACE] = step_place,
		[CODE_STORE] = step_store,
		[CODE_LENGTH] = step_length,
		[CODE_CALL] = step_call,
		[CODE_RETURN] = step_return,
		[CODE_VIEW] = lang_step_view,
		[CODE_JOIN] = lang_step_join,
		[CODE_MEETS] = lang_step_meets,
		[CODE_ASIDE] = lang_step_aside,
		[CODE_BACK] = lang_step_back,
		[CODE_SPOT] = lang_step_spot,
		[CODE_BEGIN] = lang_step_begin,
		[CODE_TAKE] = lang_step_take,
		[CODE_GIVE] = lang_step_give,
		[CODE_SWEEP] = lang_step_sweep,
		[CODE_SUM] = lang_step_sum,
		[CODE_ADDEND] = lang_step_addend,
		[CODE_SUMMED] = lang_step_summed,
		[CODE_FUSES] = lang_step_fuses,
		[CODE_SEAM] = step_pass,
	};
	const struct lang_ins *i = &k->program->code[at];
	struct step *s = &k->step[at];

	*s = (struct step){.d = i->d,
			   .a = i->a,
			   .b = i->b,
			   .c = i->c,
			   .op = i->op,
			   .to_type = i->to,
			   .bytes = dtype_row(i->type)->bytes,
			   .line = i->line};
	if (i->code == CODE_OP || i->code == CODE_CAST)
		return link_operation(s, i, isa, wide, err);
	if (reduces(i)) {
		s->red = &isa->red[i->op][i->type];
		if (!s->red->identity)
			return err_set(err, E_UNSUPPORTED, "line %u: %s of %s", i->line,
				       op_text(i->op), dtype_row(i->type)->name);
	}
	s->fn = i->code == CODE_LOAD ? of_load(i->type) : fn[i->code];
	if (says_nothing(k->program, i))
		s->fn = step_pass;
	if (lang_jumps(i) || i->code == CODE_CALL)
		s->to = &k->step[i->d];
	return OK;
}

enum status lang_link(struct lang_kernel **out, struct lang_program *p, const struct tier0_isa *isa,
		      const struct tier0_isa *wide, struct err *err)
{
	struct lang_kernel *k = calloc(1, sizeof *k);
	enum status st = OK;
	bool *outer = NULL;

	if (!k) {
		lang_free(p);
		return err_set(err, E_NOMEM, "no memory for a kernel");
	}
	k->program = p;
	k->step = calloc(p->ncode, sizeof *k->step);
	k->spare = calloc(1, sizeof *k->spare);
	k->image = calloc(p->nreg + 1, sizeof *k->image);
	outer = lang_outermost(p);
	if (k->image)
		lang_registers(k->image, p, NULL);
	if (!k->step || !k->spare || !k->image || !outer)
		st = err_set(err, E_NOMEM, "no memory for a kernel");
	for (uint32_t i = 0; !st && i < p->ncode; i++)
		st = link_one(k, i, isa, wide, err);
	for (uint32_t i = 0; !st && i < p->ncode; i++)
		if (outer[i])
			k->step[i].fn = step_outermost;
	k->fusions = st ? NULL : lang_fusions_new(p);
	free(outer);
	if (st)
		lang_unlink(k);
	else
		*out = k;
	return st;
}

void lang_unlink(struct lang_kernel *k)
{
	if (k) {
		lang_free(k->program);
		if (k->spare)
			free(atomic_load(k->spare));
		free((void *)k->spare);
		lang_plans_free(k->plans);
		lang_fusions_free(k->fusions);
		lang_early_free(k->early);
		free(k->image);
		free(k->step);
	}
	free(k);
}

const struct lang_program *lang_program_of(const struct lang_kernel *k)
{
	return k->program;
}

/* ---- Running ---- */

static void set_parameters(union lang_reg *reg, const struct lang_program *p,
			   const union lang_reg *scalar)
{
	for (unsigned i = 0; scalar && i < p->nparam; i++)
		if (!p->param[i].rank)
			reg[p->param[i].reg] = *scalar++;
}

void lang_registers(union lang_reg *reg, const struct lang_program *p, const union lang_reg *scalar)
{
	for (uint32_t i = 0; i < p->nconst; i++)
		reg[p->constant[i].reg] = p->constant[i].value;
	set_parameters(reg, p, scalar);
}

/* Registers of a run: in `room` of so many, or the caller's to free; NULL: no memory. */
static union lang_reg *begin_registers(union lang_reg *room, const struct lang_kernel *k,
				       uint32_t more, const union lang_reg *scalar)
{
	const struct lang_program *p = k->program;
	size_t own = p->nreg + 1, n = own + more;
	union lang_reg *reg = n <= REGISTERS ? room : malloc(n * sizeof *reg);

	if (!reg)
		return NULL;
	memcpy(reg, k->image, own * sizeof *reg);
	if (more)
		memset(reg + own, 0, more * sizeof *reg);
	set_parameters(reg, p, scalar);
	return reg;
}

enum status lang_run(const struct lang_kernel *k, const struct lang_array *array,
		     const union lang_reg *scalar, union lang_reg *result, lang_poll_fn *poll,
		     void *data, struct err *err)
{
	const struct lang_program *p = k->program;
	struct run r = {.kernel = k,
			.array = array,
			.program = p,
			.turns = LANG_TURNS,
			.poll = poll,
			.data = data,
			.err = err};
	const struct step *s = &k->step[p->entry];
	lang_code_fn *code = lang_code_for(&r);
	union lang_reg room[REGISTERS];

	r.reg = begin_registers(room, k, code ? 0 : lang_early_room(k), scalar);
	if (!r.reg)
		return err_set(err, E_NOMEM, "no memory to run a kernel");
	if (!code && lang_run_early(&r, lang_closely(&r)))
		s = NULL;
	while (!code && s)
		s = s->fn(&r, s);
	if (r.over)
		code = atomic_load_explicit(&k->any, memory_order_acquire);
	if (code)
		lang_go_over(&r, code);
	for (unsigned i = 0; !r.status && i < p->nresult; i++)
		result[i] = r.reg[p->param[p->nparam + i].reg];
	if (r.reg != room)
		free(r.reg);
	lang_view_end(&r);
	return r.status;
}
