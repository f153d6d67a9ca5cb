/* SPDX-License-Identifier: Apache-2.0 */
/* run/marshal.c - the next steps of a job as one CMD_RUN packet.
 *
 * Steps are packed while the packet's predicted work stays within RUN_SLICE_US; a step
 * above that is cut (slice.c). */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "executor_impl.h"
#include "form/grid.h"

_Static_assert(LIMIT_GRID_TEXT < COMMAND_BYTES / 2, "a packet has room for any step");

#define COPY_STEP_BYTES (sizeof(struct command_step) + 2 * sizeof(struct command_place))

static size_t put(char *at, const void *data, size_t bytes)
{
	memcpy(at, data, bytes);
	return bytes;
}

/* Where the turn under way has the plan's slots. */
static const struct command_place *turn_places(const struct executor_job *job)
{
	return job->place + (size_t)job->turn * job->plan->nslot;
}

static size_t put_kernel(char *at, const struct executor_job *job, const struct plan_step *s)
{
	const struct command_place *place = turn_places(job);
	const uint64_t *imm = job->imm + (size_t)job->turn * 2 * job->nimm;
	const struct nest *n = s->nest;
	char *begin = at;

	for (int a = 0; a < n->naccess; a++) {
		const struct nest_access *x = &n->access[a];
		struct command_place p = place[x->slot];

		p.offset += (uint64_t)(x->offset + job->turn * x->move);
		at += put(at, &p, sizeof p);
	}
	at += put(at, n->extent, (size_t)(n->npar + n->nred) * sizeof n->extent[0]);
	for (int a = 0; a < n->naccess; a++)
		at += put(at, n->access[a].stride, sizeof n->access[a].stride);
	for (int i = 0; i < n->nscalar; i++)
		at += put(at, imm + 2 * (size_t)n->scalar[i], 2 * sizeof(uint64_t));
	for (int a = 0; a < n->naccess; a++) {
		const struct nest_access *x = &n->access[a];
		const int64_t pair[2] = {x->gextent, x->gstride};

		if (x->gather)
			at += put(at, pair, sizeof pair);
	}
	return (size_t)(at - begin);
}

/* A number as a register has it: components of 4 bytes lie in one word. */
static size_t put_scalar(char *at, const uint64_t *imm, unsigned dtype)
{
	uint64_t reg[2] = {imm[0], imm[1]};

	if (dtype == DT_COMPLEX64) {
		reg[0] = (imm[0] & UINT32_MAX) | imm[1] << 32;
		reg[1] = 0;
	}
	return put(at, reg, sizeof reg);
}

/* What a loop of a kernel needs besides. */
static size_t put_grid(char *at, const struct executor *x, const struct executor_job *job,
		       const struct plan_step *s)
{
	const uint64_t *imm = job->imm + (size_t)job->turn * 2 * job->nimm;
	const struct grid *g = s->grid;
	struct command_grid words = {g->is.range,  g->is.levels, g->is.fast, g->is.only,
				     g->bytes + 1, g->is.sum,	 g->is.keeps};
	char *begin = at;

	for (unsigned k = 0; k < s->call->nscalar; k++)
		at += put_scalar(at, imm + 2 * (size_t)s->call->scalar[k], g->live[k]);
	if (x->target)
		return (size_t)(at - begin);
	at += put(at, &words, sizeof words);
	at += put(at, g->text, words.bytes);
	return (size_t)(at - begin);
}

/* Bytes that the job's next step takes at most. */
static size_t step_most(const struct executor_job *job)
{
	const struct plan_step *s =
		job->step < job->plan->nstep ? &job->plan->step[job->step] : NULL;

	if (!s || !s->grid)
		return STEP_BYTES_MAX;
	return STEP_BYTES_MAX + CALL_SCALARS * 2 * sizeof(uint64_t) + sizeof(struct command_grid) +
	       s->grid->bytes + 8;
}

static size_t put_call(char *at, const struct executor_job *job, const struct plan_call *c)
{
	char *begin = at;

	for (int x = 0; x < (int)call_operands(c); x++) {
		const struct call_operand *o = &c->operand[x];
		struct command_place p = turn_places(job)[o->slot];

		p.offset += (uint64_t)(o->offset + job->turn * o->move);
		at += put(at, &p, sizeof p);
	}
	at += put(at, c, call_bytes(call_operands(c)));
	return (size_t)(at - begin);
}

size_t marshal_step(char *at, const struct executor *x, const struct executor_job *job,
		    const struct slice *slice)
{
	const struct plan_step *s = turn_step(job, job->step);
	const struct kernel *k = step_kernel(x, s);
	struct command_step c = {
		.kind = s->kind, .split = slice->split, .index = (uint16_t)job->step};
	size_t bytes = sizeof c;

	c.lo = slice->lo;
	c.hi = slice->hi;
	c.plo = slice->plo;
	c.phi = slice->phi;
	c.turn = job->turn;
	c.kernel = k ? k->id : 0;
	c.shape = s->shape;
	if (s->kind == STEP_KERNEL) {
		c.naccess = s->nest->naccess;
		c.nscalar = s->nest->nscalar;
		c.npar = s->nest->npar;
		c.nred = s->nest->nred;
		c.ngather = (uint8_t)nest_gathers(s->nest);
		bytes += put_kernel(at + sizeof c, job, s);
	} else {
		c.naccess = (uint16_t)call_operands(s->call);
		bytes += put_call(at + sizeof c, job, s->call);
		if (s->grid)
			bytes += put_grid(at + bytes, x, job, s);
	}
	bytes = (bytes + 7) / 8 * 8;
	c.bytes = (uint32_t)bytes;
	memcpy(at, &c, sizeof c);
	return bytes;
}

void marshal_geometry(struct executor *x, const struct kernel *k)
{
	struct {
		struct command head;
		struct cuda_geometry geometry[CUDA_GEOMETRIES];
	} p = {.head = {.kind = CMD_GEOMETRY, .id = k->id, .arg = k->untried}};
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->ngeometry; i++)
		if (k->geometry[i].state != GEOMETRY_MODEL)
			p.geometry[n++] = k->geometry[i];
	p.head.bytes = (uint32_t)(sizeof p.head + n * sizeof p.geometry[0]);
	if (k->arch && (n || k->untried))
		spawn_send(x, &p, p.head.bytes, -1);
}

void marshal_kernel(struct executor *x, struct kernel *k)
{
	struct {
		struct command head;
		struct nest nest;
	} *p = NULL;

	if (k->id >= x->known_cap) {
		uint32_t cap = k->id + k->id / 2 + 64;

		x->known = xrealloc(x->known, cap, 1);
		memset(x->known + x->known_cap, 0, cap - x->known_cap);
		x->known_cap = cap;
	}
	if (!(x->known[k->id] & KNOWN_NEST) && k->call.call == CALL_END) {
		size_t bytes = sizeof p->head + nest_bytes(k->spec);

		p = xcalloc(1, sizeof *p);
		p->head =
			(struct command){.kind = CMD_KERNEL, .bytes = (uint32_t)bytes, .id = k->id};
		memcpy(&p->nest, k->spec, nest_bytes(k->spec));
		spawn_send(x, p, bytes, -1);
		free(p);
		x->known[k->id] |= KNOWN_NEST;
	}
	if (!(x->known[k->id] & KNOWN_CODE) && k->state == KERNEL_READY && k->code_fd >= 0) {
		spawn_send_simple(x, CMD_CODE, k->id, 0, k->code_bytes, k->code_fd);
		marshal_geometry(x, k);
		x->known[k->id] |= KNOWN_CODE;
	}
}

void marshal_note(struct flight *f, uint32_t step, uint64_t cost, uint64_t elements)
{
	if (f->nstep == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 16;
		f->step = xrealloc(f->step, f->cap, sizeof *f->step);
	}
	f->step[f->nstep++] =
		(struct flight_step){.step = step, .cost_us = (uint32_t)cost, .elements = elements};
	f->cost_us += cost;
}

static void next_step(struct executor_job *job)
{
	job->at = 0;
	if (++job->step < job->plan->nstep)
		return;
	job->step = 0;
	job->turn++;
}

uint32_t marshal_checks(const struct plan_step *s)
{
	return s->kind == STEP_KERNEL ? nest_checks(s->nest) : 0;
}

/* Of one turn a packet may make all checks that its plan has. */
static bool has_room_for_checks(const struct executor_job *job, struct flight *f)
{
	if (job->turns > 1)
		f->checks += marshal_checks(&job->plan->step[job->step]);
	return f->checks <= COMMAND_FAULTS;
}

/* Put the current step, or a slice of it; 0 when it must wait. */
static size_t put_slice(struct executor *x, struct executor_job *job, struct flight *f, char *at)
{
	const struct plan_step *s = turn_step(job, job->step);
	struct kernel *k = step_kernel(x, s);
	struct slice c = {0};
	size_t bytes = 0;

	turn_steps(job, job->turn);
	if (!has_room_for_checks(job, f) || !slice_choose(&c, x, job, f))
		return 0;
	if (k && job->at == 0)
		cache_note_run(x->cache, k, slice_elements(s), 0);
	/* In the middle of a step, too: the worker may be a new one. */
	if (k)
		marshal_kernel(x, k);
	bytes = marshal_step(at, x, job, &c);
	marshal_note(f, job->step, c.cost, c.elements);
	f->fresh += c.fresh;
	job->at = c.next;
	if (c.last) {
		if (job->fresh)
			slice_touched(job);
		next_step(job);
	}
	return bytes;
}

static bool steps_left(const struct executor_job *job)
{
	return job->plan->nstep && job->turn < job->turns;
}

bool marshal_all_sent(const struct executor_job *job)
{
	return !steps_left(job) && job->copied == job->nbefore + job->nafter;
}

/* Bytes of a copy that fit a packet.  The CPU's go to memory that was just taken; a GPU's are its
 * driver's, which does them beside its kernels. */
static uint64_t copy_most(const struct executor *x, const struct flight *f)
{
	uint64_t most = slice_fresh_most(x);

	if (x->target)
		return UINT64_MAX;
	return f->fresh < most ? most - f->fresh : 0;
}

/* The job's next copy, or a part of it, up to `end` of them; false: there is none. */
static bool put_copy(const struct executor *x, struct executor_job *job, struct flight *f,
		     uint32_t end, char *at)
{
	const struct executor_copy *copy = &job->copy[job->copied];
	struct command_step c = {
		.kind = STEP_COPY, .index = STEP_INDEX_COPY, .bytes = COPY_STEP_BYTES};
	struct command_place place[2];
	uint64_t bytes = copy_most(x, f);

	if (job->copied >= end || !bytes)
		return false;
	place[0] = copy->from;
	place[1] = copy->to;
	place[0].offset += job->copied_bytes;
	place[1].offset += job->copied_bytes;
	if (bytes > copy->bytes - job->copied_bytes)
		bytes = copy->bytes - job->copied_bytes;
	c.hi = (int64_t)bytes;
	memcpy(at, &c, sizeof c);
	memcpy(at + sizeof c, place, sizeof place);
	f->cost_us += bytes / COPY_BYTES_US;
	*(copy->from.region < DEVICE_REGION ? &f->up : &f->down) += bytes;
	f->fresh += x->target ? 0 : bytes;
	job->copied_bytes += bytes;
	if (job->copied_bytes == copy->bytes) {
		job->copied++;
		job->copied_bytes = 0;
	}
	return true;
}

/* Copies [job->copied, end), as many as the packet takes; bytes. */
static size_t put_copies(const struct executor *x, struct executor_job *job, struct flight *f,
			 uint32_t end, char *at, size_t room, uint32_t *nstep)
{
	size_t used = 0;

	while (used + COPY_STEP_BYTES <= room && put_copy(x, job, f, end, at + used)) {
		used += COPY_STEP_BYTES;
		++*nstep;
	}
	return used;
}

size_t marshal_packet(struct executor *x, struct executor_job *job, struct flight *f)
{
	struct command_run run = {.head.kind = CMD_RUN,
				  .client = job->client,
				  .alone = job->suspect,
				  .rank = f->rank};
	size_t fetches = job->nfetch * sizeof *job->fetch;
	size_t used = sizeof run, room = COMMAND_BYTES - fetches, limit = room - STEP_BYTES_MAX;

	f->nstep = 0;
	f->cost_us = 0;
	f->up = f->down = f->fresh = 0;
	f->turns = f->checks = 0;
	f->waited_ns = 0;
	used += put_copies(x, job, f, job->nbefore, x->packet + used, limit - used, &run.nstep);
	f->cost_us = 0; /* the device's own work is what is cut and shared out */
	while (job->copied >= job->nbefore && steps_left(job) && used + step_most(job) <= room) {
		size_t n = job->turns - job->turn < 2
				   ? 0
				   : marshal_loop(x, job, f, x->packet + used, limit - used);

		if (n == 0)
			n = put_slice(x, job, f, x->packet + used);
		if (n == 0)
			break;
		used += n;
		run.nstep++;
		if (job->at != 0 || f->turns)
			break;
	}
	if (!steps_left(job) && used <= limit)
		used += put_copies(x, job, f, job->nbefore + job->nafter, x->packet + used,
				   limit - used, &run.nstep);
	if (marshal_all_sent(job) && job->nfetch) {
		used += put(x->packet + used, job->fetch, fetches);
		run.nfetch = job->nfetch;
	}
	run.head.bytes = (uint32_t)used;
	run.head.ticket = ++job->ticket;
	memcpy(x->packet, &run, sizeof run);
	f->job = job;
	f->ticket = job->ticket;
	return used;
}
