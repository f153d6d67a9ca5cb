/* SPDX-License-Identifier: Apache-2.0 */
#include "spoilt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"

/* A wrong place that the job met: the operation that makes it, NULL: none is known, and the
 * client's name of where that stands in its program. */
struct wrong {
	const struct part_op *op;
	uint32_t site;
};

/* Why a value of a turn cannot be had; of several reasons, what comes first in the program. */
struct spoilt {
	const struct err *input; /* one had failed before */
	uint32_t fault;		 /* + 1 */
};

struct spoilt_values {
	const struct job *job;
	struct wrong *wrong;
	struct spoilt *why; /* [turns that were done][values] */
};

/* The operation that makes the places which a check of the plan looks at: the size is
 * an immediate that no other has. */
static const struct part_op *checked_op(const struct job *j, const struct command_fault *f)
{
	const struct part *p = &j->partition->part;
	const struct nest *n = f->step < j->run.plan->nstep && f->turn < j->partition->turns
				       ? j->run.plan->step[f->step].nest
				       : NULL;

	for (unsigned i = 0; n && i < n->ninstr; i++) {
		const struct nest_instr *in = &n->instr[i];

		if (in->op != OP_INDEX || in->c != f->check)
			continue;
		for (uint32_t k = 0; k < p->nop; k++)
			if (p->op[k].op == OP_INDEX &&
			    p->op[k].in[1].value == (PART_IMM | n->scalar[n->instr[in->b].a]))
				return &p->op[k];
	}
	return NULL;
}

/* All of them, while the nodes that made them are still there. */
static struct wrong *find_wrong(const struct job *j)
{
	struct wrong *w = xcalloc(j->run.nfault, sizeof *w);

	for (uint32_t i = 0; i < j->run.nfault; i++) {
		const struct command_fault *f = &j->run.fault[i];
		const struct part_op *op = checked_op(j, f);
		const struct version *v = NULL;

		if (!op)
			continue;
		v = partition_value(j->partition, f->turn, op->out.value);
		w[i] = (struct wrong){.op = op, .site = v->node ? v->node->axes : 0};
	}
	return w;
}

/* NumPy's words. */
static void index_error(struct err *err, const struct job *j, const struct command_fault *f,
			const struct wrong *w)
{
	const struct partition *p = j->partition;
	uint64_t size = (uint64_t)f->turn * p->part.nimm + (w->op->in[1].value & ~PART_IMM);
	char at[24] = "";

	if (w->site)
		snprintf(at, sizeof at, " at site %u", w->site);
	err_set(err, E_INDEX, "index %lld is out of bounds for axis %u with size %lld%s",
		(long long)(f->key + 1), w->op->dtype, (long long)j->run.imm[2 * size], at);
}

static bool is_spoilt(const struct spoilt *s)
{
	return s->input || s->fault;
}

/* Does what spoils a come before what spoils b?  Inputs were made before all of the job. */
static bool is_earlier(const struct job *j, const struct wrong *w, const struct spoilt *a,
		       const struct spoilt *b)
{
	const struct command_fault *f = j->run.fault;

	if (!is_spoilt(a) || !is_spoilt(b) || a->input || b->input)
		return is_spoilt(a) && (!is_spoilt(b) || (a->input && !b->input));
	if (f[a->fault - 1].turn != f[b->fault - 1].turn)
		return f[a->fault - 1].turn < f[b->fault - 1].turn;
	return w[a->fault - 1].op < w[b->fault - 1].op;
}

/* What a turn begins with: inputs, from outside or from turns before, and wrong places of its own,
 * those from *fault on. */
static void begin_spoilt(const struct job *j, const struct wrong *w, struct spoilt *why,
			 uint32_t turn, uint32_t *fault)
{
	const struct partition *p = j->partition;
	struct spoilt *now = why + (size_t)turn * p->part.nvalue;

	for (uint32_t i = 0; i < p->part.nvalue; i++) {
		const struct version *v = partition_value(p, turn, i);

		if (p->part.value[i].role != PART_INPUT)
			continue;
		if (!partition_foreign(p, turn, i))
			now[i] = now[p->carry[i].value - (int64_t)p->carry[i].lag * p->part.nvalue];
		else if (v->state == VERSION_FAILED)
			now[i].input = v->error;
	}
	for (; *fault < j->run.nfault && j->run.fault[*fault].turn == turn; ++*fault)
		if (w[*fault].op)
			now[w[*fault].op->out.value].fault = *fault + 1;
}

/* Why each value of a turn, and of those before it, cannot be had. */
static void find_spoilt(const struct job *j, const struct wrong *w, struct spoilt *why,
			uint32_t turn, uint32_t *fault)
{
	const struct part *p = &j->partition->part;
	struct spoilt *now = why + (size_t)turn * p->nvalue;

	begin_spoilt(j, w, why, turn, fault);
	for (uint32_t k = 0; k < p->nop; k++) {
		const struct part_op *o = &p->op[k];
		const struct part_ref *in = part_in(p, o);
		uint32_t prev = p->value[o->out.value].prev;
		struct spoilt *out = &now[o->out.value];

		for (unsigned i = 0; i < o->nin; i++)
			if (!(in[i].value & PART_IMM) && is_earlier(j, w, &now[in[i].value], out))
				*out = now[in[i].value];
		if (prev != PART_NONE && is_earlier(j, w, &now[prev], out))
			*out = now[prev];
	}
}

static bool failed_input(const struct job *j)
{
	const struct partition *p = j->partition;
	bool failed = false;

	for (uint32_t turn = 0; turn < p->turns && !failed; turn++)
		for (uint32_t i = 0; i < p->part.nvalue && !failed; i++)
			failed = partition_foreign(p, turn, i) &&
				 partition_value(p, turn, i)->state == VERSION_FAILED;
	return failed;
}

struct spoilt_values *spoilt_find(const struct job *j)
{
	struct spoilt_values *s = NULL;
	uint32_t fault = 0;

	if (!j->run.nfault && !failed_input(j))
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->job = j;
	s->wrong = find_wrong(j);
	s->why = xcalloc((size_t)j->run.turns * j->partition->part.nvalue, sizeof *s->why);
	for (uint32_t turn = 0; turn < j->run.turns; turn++)
		find_spoilt(j, s->wrong, s->why, turn, &fault);
	return s;
}

void spoilt_free(struct spoilt_values *s)
{
	if (!s)
		return;
	free(s->wrong);
	free(s->why);
	free(s);
}

bool spoilt_why(struct err *out, const struct spoilt_values *s, uint32_t turn, uint32_t value)
{
	const struct part *p = &s->job->partition->part;
	const struct spoilt *why = &s->why[(size_t)turn * p->nvalue + value];

	if (!is_spoilt(why) || p->value[value].role == PART_INPUT)
		return false;
	*out = (struct err){0};
	if (why->input)
		*out = *why->input;
	else
		index_error(out, s->job, &s->job->run.fault[why->fault - 1],
			    &s->wrong[why->fault - 1]);
	return true;
}
