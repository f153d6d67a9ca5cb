/* SPDX-License-Identifier: Apache-2.0 */
#include "prog.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "../base/textbuf.h"
#include "spare.h"

struct prog *prog_create(const struct part *part)
{
	struct prog *p = xcalloc(1, sizeof *p);

	p->part = part;
	p->value_slot = xmalloc((part->nvalue + 1) * sizeof *p->value_slot);
	memset(p->value_slot, 0xff, (part->nvalue + 1) * sizeof *p->value_slot);
	p->copy = xcalloc(part->nop, 1);
	p->contracting = true;
	return p;
}

void prog_unit_free(struct prog_unit *u)
{
	if (!u)
		return;
	spare_give(SPARE_NEST, u->nest);
	free(u->call);
	spare_give(SPARE_UNIT, u);
}

void prog_destroy(struct prog *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; k < p->nunit; k++)
		prog_unit_free(p->unit[k]);
	plan_free(p->plan);
	free(p->unit);
	free(p->owner);
	free(p->slot);
	free(p->value_slot);
	free(p->copy);
	free(p);
}

uint32_t prog_slot(struct prog *p, uint64_t bytes)
{
	if (p->nslot == p->slot_cap) {
		p->slot_cap = p->slot_cap ? 2 * p->slot_cap : 32;
		p->slot = xrealloc(p->slot, p->slot_cap, sizeof *p->slot);
	}
	p->slot[p->nslot] = (struct prog_slot){
		.bytes = bytes, .input = PART_NONE, .value = PART_NONE, .writer = PART_NONE};
	return p->nslot++;
}

struct prog_unit *prog_unit(struct prog *p, bool call)
{
	struct prog_unit *u = spare_take(SPARE_UNIT);

	if (p->nunit == p->unit_cap) {
		p->unit_cap = p->unit_cap ? 2 * p->unit_cap : 32;
		p->unit = xrealloc(p->unit, p->unit_cap, sizeof(struct prog_unit *));
	}
	if (p->next_id == p->owner_cap) {
		p->owner_cap = p->owner_cap ? 2 * p->owner_cap : 32;
		p->owner = xrealloc(p->owner, p->owner_cap, sizeof *p->owner);
	}
	if (call)
		u->call = xcalloc(1, sizeof *u->call);
	else
		u->nest = spare_take(SPARE_NEST);
	u->pos = p->nunit;
	u->id = p->next_id++;
	p->owner[u->id] = u->id;
	p->unit[p->nunit++] = u;
	return u;
}

static void summarise_call(struct prog_unit *u)
{
	const struct plan_call *c = u->call;

	u->naccess = (uint16_t)call_operands(c);
	for (unsigned x = 0; x < u->naccess; x++) {
		call_range(&u->lo[x], &u->hi[x], c, x);
		u->lo[x] += c->operand[x].offset;
		u->hi[x] += c->operand[x].offset;
		u->slot[x] = c->operand[x].slot;
		u->write[x] = call_writes(c, x);
		u->move[x] = c->operand[x].move;
	}
}

static void summarise_nest(struct prog_unit *u)
{
	const struct nest *n = u->nest;

	u->naccess = n->naccess;
	memset(u->in, 0, sizeof u->in);
	for (unsigned k = 0; k < n->ninstr; k++) {
		const struct nest_instr *i = &n->instr[k];

		if (nest_touches(i->op))
			u->in[nest_section(n, k)] |= 1u << i->a;
	}
	for (unsigned k = 0; k < n->naccess; k++) {
		const struct nest_access *a = &n->access[k];
		/* After the reductions it is touched though they may be over nothing. */
		unsigned last = SECTION_BODY;

		for (unsigned s = SECTION_POST; s < nest_sections(n); s += 2)
			last = u->in[s] >> k & 1 ? SECTION_POST : last;
		nest_range(&u->lo[k], &u->hi[k], n, k, nest_loops(n, last));
		u->slot[k] = a->slot;
		u->write[k] = a->write;
		u->move[k] = a->move;
	}
}

void prog_summarise(struct prog_unit *u)
{
	if (u->nest)
		summarise_nest(u);
	else
		summarise_call(u);
	u->reads = u->writes = 0;
	for (unsigned k = 0; k < u->naccess; k++)
		*(u->write[k] ? &u->writes : &u->reads) |= 1ull << (u->slot[k] % 64);
}

void prog_count_call(struct prog *p, const struct prog_unit *u)
{
	const struct plan_call *c = u->call;

	for (unsigned x = 0; x < call_operands(c); x++) {
		if (call_writes(c, x))
			p->slot[c->operand[x].slot].writer = u->id;
		else
			p->slot[c->operand[x].slot].nread++;
	}
}

bool prog_meet(const struct prog_unit *a, unsigned i, const struct prog_unit *b, unsigned j)
{
	bool below = a->hi[i] <= b->lo[j], above = b->hi[j] <= a->lo[i];

	if (a->slot[i] != b->slot[j])
		return false;
	return !(below && a->move[i] <= b->move[j]) && !(above && b->move[j] <= a->move[i]);
}

/* The same places in the same order, another one at each point? */
static bool alike(const struct depend_access *a, const struct depend_access *b, unsigned nloop)
{
	bool same = a->offset == b->offset && a->bytes == b->bytes && a->move == b->move;

	for (unsigned l = 0; l < nloop && same; l++)
		same = a->stride[l] && a->stride[l] == b->stride[l];
	return same;
}

struct depend prog_depend(const struct prog *p, const struct depend_access *a,
			  const struct depend_access *b, const int64_t *extent, unsigned nloop,
			  unsigned nsame)
{
	int64_t most[LIMIT_NDIM];

	if (!p->part->nsize)
		return depend_test(a, b, extent, nloop, nsame);
	/* A store goes to each of its places once: of each turn's, plan/sizes.c has seen to that.
	 */
	if (alike(a, b, nloop))
		return (struct depend){.kind = DEPEND_SAME};
	memcpy(most, extent, nloop * sizeof *most);
	part_largest(p->part, most, nloop);
	return depend_test(a, b, most, nloop, nsame);
}

bool prog_conflict(const struct prog_unit *a, const struct prog_unit *b)
{
	if (!(a->writes & (b->reads | b->writes)) && !(a->reads & b->writes))
		return false;
	for (unsigned i = 0; i < a->naccess; i++)
		for (unsigned j = 0; j < b->naccess; j++)
			if ((a->write[i] | b->write[j]) && prog_meet(a, i, b, j))
				return true;
	return false;
}

uint32_t prog_owner(struct prog *p, uint32_t id)
{
	while (p->owner[id] != id) {
		p->owner[id] = p->owner[p->owner[id]];
		id = p->owner[id];
	}
	return id;
}

void prog_note_add(struct prog *p, uint32_t later, uint32_t earlier, enum fuse_reason reason)
{
	if (p->nnote < PROG_NOTES)
		p->note[p->nnote++] = (struct prog_note){later, earlier, (uint8_t)reason};
}

static void put_call(struct textbuf *t, const struct plan_call *c)
{
	const struct call_row *row = call_row(c->call);

	textbuf_put(t, "%s", row->name);
	for (int written = 0; written < 2; written++) {
		textbuf_put(t, "%s", written ? " ->" : "");
		for (unsigned x = 0; x < call_operands(c); x++)
			if (call_writes(c, x) == (bool)written)
				textbuf_put(t, " s%u", c->operand[x].slot);
	}
	textbuf_put(t, "\n");
}

static void put_unit(struct textbuf *t, const struct prog_unit *u)
{
	size_t room = t->len < t->cap ? t->cap - t->len : 0;

	if (u->nest)
		t->len += nest_print(room ? t->buf + t->len : NULL, room, u->nest, false);
	else
		put_call(t, u->call);
}

char *prog_text(const struct prog *p)
{
	struct textbuf t = {NULL, 0, 0};

	for (int round = 0; round < 2; round++) {
		if (round) {
			t.cap = t.len + 1;
			t.buf = xcalloc(t.cap, 1);
			t.len = 0;
		}
		for (uint32_t k = 0; k < p->nunit; k++) {
			textbuf_put(&t, "nest %u\n", k);
			put_unit(&t, p->unit[k]);
		}
	}
	return t.buf;
}
