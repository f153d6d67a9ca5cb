/* SPDX-License-Identifier: Apache-2.0 */
/* run_block.c - all lanes of one block from the kernel's entry to its exit.
 *
 * Lanes at the same instruction advance together.  When they part, those at the
 * lowest instruction go first, so that they meet again where the branches join; a
 * group that runs long while others wait makes place for them, so that lanes may
 * wait for each other.  At a barrier and at operations of a warp lanes wait until
 * all that belong to it have come; where nobody can go on, that is a fault. */
#include "run.h"
#include <stdio.h>
#include <string.h>

#define PATIENCE 65536 /* instructions of one group while others are ready */

bool run_stopped(const struct run *r)
{
	return r->report->fault != PTX_OK || __atomic_load_n(r->stop, __ATOMIC_RELAXED);
}

/* ---- which lanes ---- */

struct group {
	u16 *list;
	unsigned count;
	u32 pc;
	u32 next;	   /* lowest instruction of another ready lane */
	bool ready_others; /* some other lane is ready */
	u32 patience;
};

/* The index list, or a range when the lanes are consecutive. */
static void activate(struct run *r, const u16 *list, unsigned count)
{
	r->count = count;
	r->first = count ? list[0] : 0;
	r->index = count && list[count - 1] - list[0] == (int)count - 1 ? NULL : list;
}

static void park(struct run *r, struct group *g)
{
	for (unsigned k = 0; k < g->count; k++)
		r->space->pc[g->list[k]] = g->pc;
	g->count = 0;
}

/* Ready lanes at the lowest instruction, or, in turn, at the highest. */
static bool choose(struct run *r, struct group *g, bool highest)
{
	const u32 *pc = r->space->pc;
	const u8 *state = r->space->state;
	u32 best = highest ? 0 : UINT32_MAX, other = UINT32_MAX;
	bool any = false;

	for (unsigned l = 0; l < r->lanes; l++)
		if (state[l] == LANE_READY) {
			best = (highest ? pc[l] > best : pc[l] < best) ? pc[l] : best;
			any = true;
		}
	if (!any)
		return false;
	g->count = 0;
	g->ready_others = false;
	for (unsigned l = 0; l < r->lanes; l++) {
		if (state[l] != LANE_READY)
			continue;
		if (pc[l] == best) {
			g->list[g->count++] = (u16)l;
		} else {
			other = pc[l] > best && pc[l] < other ? pc[l] : other;
			g->ready_others = true;
		}
	}
	g->pc = best;
	g->next = other;
	g->patience = 0;
	return true;
}

/* ---- waiting ---- */

static bool warp_mask(const struct run *r, const struct ptx_ins *i, unsigned lane, u32 *mask)
{
	*mask = REG(u32, i->s[i->ns - 1])[lane];
	return *mask >> (lane & 31) & 1;
}

/* Every lane of the mask has exited or waits for the same: at this instruction, or,
 * for bar.warp.sync, at any. */
static bool warp_complete(const struct run *r, unsigned lane)
{
	const struct run_space *s = r->space;
	const struct ptx_ins *i = &r->m->ins[s->pc[lane]];
	unsigned warp = lane & ~31u;
	u32 mask;

	if (!warp_mask(r, i, lane, &mask))
		return true; /* executed again, that is its fault */
	for (unsigned k = 0; k < 32 && warp + k < r->lanes; k++) {
		unsigned l = warp + k;
		bool here = s->state[l] == LANE_WARP &&
			    (s->pc[l] == s->pc[lane] ||
			     (i->op == OP_BARWARP && r->m->ins[s->pc[l]].op == OP_BARWARP));

		if (mask >> k & 1 && s->state[l] != LANE_DONE && !here)
			return false;
	}
	return true;
}

static bool release_warps(struct run *r)
{
	u8 complete[PTX_MAX_LANES];
	bool any = false;

	for (unsigned l = 0; l < r->lanes; l++)
		complete[l] = r->space->state[l] == LANE_WARP && warp_complete(r, l);
	for (unsigned l = 0; l < r->lanes; l++)
		if (complete[l]) {
			bool sync = r->m->ins[r->space->pc[l]].op == OP_BARWARP;

			r->space->state[l] = LANE_READY;
			r->space->pc[l] += sync; /* done; others execute now */
			any = true;
		}
	return any;
}

/* All lanes of the masks are among the active ones. */
static bool warp_together(struct run *r, const struct ptx_ins *i)
{
	u32 active[PTX_MAX_LANES / 32] = {0};

	for (unsigned k = 0; k < r->count; k++)
		active[run_lane(r, k) / 32] |= 1u << (run_lane(r, k) & 31);
	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k), warp = l & ~31u;
		u32 mask;

		if (!warp_mask(r, i, l, &mask)) {
			run_fault(r, PTX_FAILED, l, "the lane is not in its own mask 0x%x", mask);
			return false;
		}
		for (u32 rest = mask & ~active[l / 32]; rest; rest &= rest - 1) {
			unsigned n = warp + (unsigned)__builtin_ctz(rest);

			if (n < r->lanes && r->space->state[n] != LANE_DONE)
				return false;
		}
	}
	return true;
}

/* ---- barriers ---- */

static u32 barrier_number(const struct run *r, unsigned lane)
{
	return REG(u32, r->m->ins[r->space->pc[lane]].s[0])[lane];
}

/* Threads that barrier n waits for; 0: all that have not exited. */
static u32 barrier_size(const struct run *r, unsigned lane)
{
	u32 count = r->m->ins[r->space->pc[lane]].s[1];

	return count == PTX_NONE ? 0 : REG(u32, count)[lane];
}

static void reduce(struct run *r, u32 number)
{
	const struct run_space *s = r->space;
	u32 yes = 0, all = 0;

	for (unsigned l = 0; l < r->lanes; l++) {
		const struct ptx_ins *i = &r->m->ins[s->pc[l]];

		if (s->state[l] != LANE_BARRIER || barrier_number(r, l) != number || i->mode != 2)
			continue;
		yes += REG(u8, i->s[2])[l] != 0;
		all++;
	}
	for (unsigned l = 0; l < r->lanes; l++) {
		const struct ptx_ins *i = &r->m->ins[s->pc[l]];

		if (s->state[l] != LANE_BARRIER || barrier_number(r, l) != number || i->mode != 2)
			continue;
		if (i->type == T_PRED)
			REG(u8, i->d[0])[l] = i->atomic == ATOM_AND ? yes == all : yes != 0;
		else
			REG(u32, i->d[0])[l] = yes;
	}
}

static void open_barrier(struct run *r, u32 number)
{
	reduce(r, number);
	for (unsigned l = 0; l < r->lanes; l++)
		if (r->space->state[l] == LANE_BARRIER && barrier_number(r, l) == number) {
			r->space->state[l] = LANE_READY;
			r->space->pc[l]++;
		}
	r->space->epoch++;
}

struct waiting {
	unsigned lanes, live;
	unsigned first;	  /* lane */
	unsigned differs; /* lane that waits at another instruction, or lanes */
	bool partial;
};

static struct waiting waiting_at(const struct run *r, u32 number)
{
	const struct run_space *s = r->space;
	struct waiting w = {.first = r->lanes, .differs = r->lanes};

	for (unsigned l = 0; l < r->lanes; l++) {
		w.live += s->state[l] != LANE_DONE;
		if (s->state[l] != LANE_BARRIER || barrier_number(r, l) != number)
			continue;
		w.partial |= barrier_size(r, l) != 0;
		if (!w.lanes++)
			w.first = l;
		else if (s->pc[l] != s->pc[w.first])
			w.differs = l;
	}
	return w;
}

static void divergence(struct run *r, u32 number, const struct waiting *w)
{
	r->pc = r->space->pc[w->first];
	if (w->differs != r->lanes)
		run_fault(r, PTX_FAILED, w->first,
			  "barrier divergence: lane %u waits here, lane %u at line %u", w->first,
			  w->differs, r->m->ins[r->space->pc[w->differs]].line);
	else
		run_fault(r, PTX_FAILED, w->first,
			  "barrier divergence: %u of %u lanes wait at barrier %u, the others never "
			  "come",
			  w->lanes, w->live, number);
}

/* No lane is ready.  Opens a barrier that is complete; else that is a fault. */
static bool release_barriers(struct run *r)
{
	bool opened = false;

	for (u32 number = 0; number < 16; number++) {
		struct waiting w = waiting_at(r, number);
		u32 size = w.lanes ? barrier_size(r, w.first) : 0;

		if (!w.lanes)
			continue;
		if (!w.partial && w.differs == r->lanes && w.lanes == w.live) {
			open_barrier(r, number);
			opened = true;
		} else if (w.partial && size && w.lanes >= size) {
			open_barrier(r, number);
			opened = true;
		} else if (!w.partial && w.differs != r->lanes) {
			divergence(r, number, &w);
			return false;
		}
	}
	return opened;
}

static void stuck(struct run *r)
{
	for (unsigned l = 0; l < r->lanes; l++)
		if (r->space->state[l] == LANE_WARP) {
			r->pc = r->space->pc[l];
			run_fault(r, PTX_FAILED, l,
				  "a lane of the mask never comes to this operation of the warp");
			return;
		}
	for (u32 number = 0; number < 16; number++) {
		struct waiting w = waiting_at(r, number);

		if (w.lanes) {
			divergence(r, number, &w);
			return;
		}
	}
}

/* The next group; false when the block has ended or failed. */
static bool next_group(struct run *r, struct group *g, bool highest)
{
	park(r, g);
	while (!choose(r, g, highest)) {
		bool left = false;

		for (unsigned l = 0; l < r->lanes && !left; l++)
			left = r->space->state[l] != LANE_DONE;
		if (!left)
			return false;
		if (!release_warps(r) && !release_barriers(r)) {
			if (!run_stopped(r))
				stuck(r);
			return false;
		}
	}
	return true;
}

/* ---- control flow: each returns whether the group stays together ---- */

static void set_state(struct run *r, enum lane_state state)
{
	for (unsigned k = 0; k < r->count; k++)
		r->space->state[run_lane(r, k)] = (u8)state;
}

/* The active lanes go to pc, the rest of the group behind the instruction. */
static bool split(struct run *r, struct group *g, u32 pc)
{
	for (unsigned k = 0; k < g->count; k++)
		r->space->pc[g->list[k]] = g->pc + 1;
	for (unsigned k = 0; k < r->count; k++)
		r->space->pc[run_lane(r, k)] = pc;
	g->count = 0;
	return false;
}

static bool branch(struct run *r, struct group *g, const struct ptx_ins *i)
{
	if (r->count == g->count) {
		g->pc = i->target;
		return true;
	}
	return split(r, g, i->target);
}

static bool indexed_branch(struct run *r, struct group *g, const struct ptx_ins *i)
{
	const u32 *index = REG(u32, i->s[0]);

	for (unsigned k = 0; k < g->count; k++)
		r->space->pc[g->list[k]] = g->pc + 1;
	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);

		if (index[l] >= i->targets->count) {
			run_fault(r, PTX_FAILED, l, "branch number %u of %u", index[l],
				  i->targets->count);
			return false;
		}
		r->space->pc[l] = i->targets->at[index[l]];
	}
	g->count = 0;
	return false;
}

static bool call(struct run *r, struct group *g, const struct ptx_ins *i)
{
	const struct ptx_call *c = i->call;
	u32 *ret = r->space->ret + (size_t)c->callee->number * r->lanes;

	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);
		char *space = r->space->call_space + (size_t)l * r->m->call_bytes;

		for (u32 n = 0; n < c->nargs; n++)
			memcpy(space + c->callee->param_offset[n], space + c->arg[n],
			       c->arg_bytes[n]);
		ret[l] = g->pc;
	}
	return split(r, g, c->callee->start);
}

static bool give_back(struct run *r, struct group *g)
{
	const struct ptx_function *f = r->m->functions;

	while (g->pc < f->start || g->pc >= f->end)
		f = f->next;
	if (f->entry) {
		set_state(r, LANE_DONE);
		return split(r, g, g->pc);
	}
	const u32 *ret = r->space->ret + (size_t)f->number * r->lanes;
	for (unsigned k = 0; k < g->count; k++)
		r->space->pc[g->list[k]] = g->pc + 1;
	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);
		const struct ptx_call *c = r->m->ins[ret[l]].call;
		char *space = r->space->call_space + (size_t)l * r->m->call_bytes;

		if (c->result != PTX_NONE)
			memcpy(space + c->result, space + f->result, c->result_bytes);
		r->space->pc[l] = ret[l] + 1;
	}
	g->count = 0;
	return false;
}

static bool barrier(struct run *r, struct group *g, const struct ptx_ins *i)
{
	for (unsigned k = 0; k < r->count; k++)
		if (REG(u32, i->s[0])[run_lane(r, k)] > 15) {
			run_fault(r, PTX_FAILED, run_lane(r, k), "barrier number above 15");
			return false;
		}
	set_state(r, LANE_BARRIER);
	return split(r, g, g->pc);
}

static bool warp_operation(struct run *r, struct group *g, const struct ptx_ins *i)
{
	if (!warp_together(r, i)) {
		set_state(r, LANE_WARP);
		return split(r, g, g->pc);
	}
	if (i->run)
		i->run(r, i);
	g->pc++;
	return true;
}

static bool ends(struct run *r, const struct ptx_ins *i)
{
	if (i->op == OP_ASSERT)
		run_fault(r, PTX_ASSERT, run_lane(r, 0), "assertion failed");
	else
		run_fault(r, PTX_FAILED, run_lane(r, 0), "trap");
	return false;
}

static bool flow(struct run *r, struct group *g, const struct ptx_ins *i)
{
	switch (i->op) {
	case OP_BRA:
		return branch(r, g, i);
	case OP_BRX:
		return indexed_branch(r, g, i);
	case OP_CALL:
		return call(r, g, i);
	case OP_RET:
		return give_back(r, g);
	case OP_EXIT:
		set_state(r, LANE_DONE);
		return split(r, g, g->pc);
	case OP_BAR:
		return barrier(r, g, i);
	case OP_BARWARP:
	case OP_SHFL:
	case OP_VOTE:
	case OP_MATCH:
	case OP_REDUX:
	case OP_ELECT:
		return warp_operation(r, g, i);
	case OP_TRAP:
	case OP_ASSERT:
		return ends(r, i);
	default:
		g->pc++;
		return true;
	}
}

static bool is_flow(const struct ptx_ins *i)
{
	return !i->run || (i->op >= OP_SHFL && i->op <= OP_ELECT && i->op != OP_ACTIVEMASK);
}

/* Of the group, those whose guard lets them execute. */
static void guarded(struct run *r, const struct group *g, const struct ptx_ins *i)
{
	const u8 *p = REG(u8, i->guard);
	u16 *list = r->space->guarded;
	unsigned n = 0;

	for (unsigned k = 0; k < g->count; k++) {
		list[n] = g->list[k];
		n += (p[g->list[k]] != 0) != i->guard_not;
	}
	activate(r, n == g->count ? g->list : list, n);
}

/* Every so often: is anybody asking us to end? */
static bool interrupted(struct run *r, const struct group *g)
{
	if (r->host->cancel && *r->host->cancel) {
		run_fault(r, PTX_TIMEOUT, g->list[0], "cancelled");
		return true;
	}
	if (r->host->max_instructions && r->instructions > r->host->max_instructions) {
		run_fault(r, PTX_TIMEOUT, g->list[0], "the block has executed %llu instructions",
			  (unsigned long long)r->instructions);
		return true;
	}
	return run_stopped(r);
}

static void begin(struct run *r, struct group *g)
{
	struct run_space *s = r->space;

	memset(s->state, LANE_READY, r->lanes);
	for (unsigned l = 0; l < r->lanes; l++) {
		s->pc[l] = r->f->start;
		s->active[l] = (u16)l;
	}
	*g = (struct group){
		.list = s->active, .count = r->lanes, .pc = r->f->start, .next = UINT32_MAX};
	r->nranges = 0;
	r->instructions = 0;
}

/* Executes the instruction at the group's place for the lanes whose guard says so. */
static void execute(struct run *r, struct group *g)
{
	const struct ptx_ins *i = &r->m->ins[g->pc];

	if (i->guard != PTX_NONE)
		guarded(r, g, i);
	else if (r->count != g->count)
		activate(r, g->list, g->count);
	if (r->count && is_flow(i)) {
		flow(r, g, i);
		return;
	}
	if (r->count)
		i->run(r, i);
	g->pc++;
}

void run_block(struct run *r)
{
	struct group g;
	bool turn = false;

	begin(r, &g);
	for (;;) {
		if (g.count == 0 || g.pc >= g.next || (g.ready_others && ++g.patience > PATIENCE)) {
			turn = g.patience > PATIENCE && !turn;
			if (run_stopped(r) || !next_group(r, &g, turn))
				break;
			activate(r, g.list, g.count);
		}
		r->pc = g.pc;
		if ((++r->instructions & 1023) == 0 && interrupted(r, &g))
			break;
		execute(r, &g);
		if (r->report->fault)
			break;
	}
	r->total += r->instructions;
}
