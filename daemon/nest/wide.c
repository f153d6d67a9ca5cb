/* SPDX-License-Identifier: Apache-2.0 */
#include "wide.h"

#include <string.h>

/* What a section computes again rather than have it stored by one before: instructions,
 * and tenths of a nanosecond. */
#define AGAIN_INSTRS 8
#define AGAIN_COST   8

void wide_begin(struct wide *w, const struct nest *loops, bool forward)
{
	w->npar = loops->npar;
	w->nred = loops->nred;
	w->naccess = w->ninstr = w->nscalar = 0;
	w->ngone = w->nnew = w->nagain = w->ncut = 0;
	w->forward = forward;
	memcpy(w->extent, loops->extent, sizeof w->extent);
	memset(w->dead, 0, sizeof w->dead);
}

static bool same_place(const struct wide *w, const struct nest_access *a,
		       const struct nest_access *b)
{
	return a->slot == b->slot && a->dtype == b->dtype && a->offset == b->offset &&
	       a->move == b->move && a->gather == b->gather && a->gextent == b->gextent &&
	       a->gstride == b->gstride &&
	       !memcmp(a->stride, b->stride, (w->npar + w->nred) * sizeof a->stride[0]);
}

/* May both be the same bytes, read as different types? */
static bool other_type(const struct nest_access *a, const struct nest_access *b)
{
	return a->slot == b->slot && a->dtype != b->dtype;
}

static unsigned add_access(struct wide *w, const struct nest_access *a)
{
	unsigned k;

	for (k = 0; k < w->naccess; k++)
		if (w->access[k].write == a->write && same_place(w, &w->access[k], a))
			return k;
	w->access[k] = *a;
	w->naccess++;
	return k;
}

static unsigned add_scalar(struct wide *w, uint32_t imm, uint8_t dtype)
{
	unsigned k;

	for (k = 0; k < w->nscalar; k++)
		if (w->scalar[k] == imm && w->scalar_dtype[k] == dtype)
			return k;
	w->scalar[k] = imm;
	w->scalar_dtype[k] = dtype;
	w->nscalar++;
	return k;
}

static uint16_t push(struct wide *w, struct nest_instr i)
{
	w->instr[w->ninstr] = i;
	return w->ninstr++;
}

/* Is value v, of a section before the one that is being written, handed on to it? */
static bool handed(const struct wide *w, unsigned v)
{
	return instr_row(w->instr[v].op)->result == RESULT_LATER ||
	       !nest_everywhere(wide_section(w, v));
}

/* Does no instruction so far write to the slot of access a? */
static bool unwritten(const struct wide *w, const struct nest_access *a)
{
	for (unsigned k = 0; k < w->naccess; k++)
		if (w->access[k].write && w->access[k].slot == a->slot)
			return false;
	return true;
}

struct effort {
	unsigned cost, ninstr; /* so far */
};

/* Is it little work to compute value v, of a section before, once more? */
static bool cheap(const struct wide *w, unsigned v, struct effort *e)
{
	const struct nest_instr *i = &w->instr[v];
	uint16_t value[3];
	bool good = true;

	if (handed(w, v))
		return true;
	if (i->op == NI_LOAD)
		good = unwritten(w, &w->access[i->a]);
	else if (instr_computes(i->op))
		e->cost += op_row(i->op)->cost;
	else
		good = i->op == NI_SCALAR || i->op == NI_INDEX;
	good = good && instr_row(i->op)->effect != EFFECT_FAULTS && ++e->ninstr <= AGAIN_INSTRS &&
	       e->cost <= AGAIN_COST;
	for (unsigned k = instr_values(value, i); k-- > 0 && good;)
		good = cheap(w, value[k], e);
	return good;
}

static uint16_t append_load(struct wide *w, struct nest_instr i, const struct nest_access *a);

/* Computes it, in the section that is being written. */
static uint16_t again(struct wide *w, unsigned v)
{
	uint16_t renamed[WIDE_INSTRS], value[3];
	struct nest_instr i = w->instr[v];

	if (handed(w, v))
		return (uint16_t)v;
	w->nagain++;
	if (i.op == NI_LOAD) {
		w->fresh[w->nnew++] = w->access[i.a].slot;
		return append_load(w, i, &w->access[i.a]);
	}
	for (unsigned k = 0, n = instr_values(value, &i); k < n; k++)
		renamed[value[k]] = again(w, value[k]);
	instr_rename(&i, renamed);
	return push(w, i);
}

/* Value v, which a section before stored where the one that is being written loads;
 * UINT16_MAX where it must. */
static uint16_t carry(struct wide *w, unsigned v)
{
	struct effort e = {0, 0};

	if (handed(w, v))
		return (uint16_t)v;
	if (!nest_everywhere(w->ncut) || w->nagain + AGAIN_INSTRS > LIMIT_NEST_INSTRS ||
	    !cheap(w, v, &e))
		return UINT16_MAX;
	return again(w, v);
}

/* The value that lies at a's place now: what was last stored there or loaded from there,
 * if the section that is being written may have it.  UINT16_MAX when it must be loaded. */
static uint16_t known_value(struct wide *w, const struct nest_access *a)
{
	unsigned first = wide_first(w, w->ninstr);

	for (unsigned k = w->ninstr; k-- > 0;) {
		const struct nest_instr *i = &w->instr[k];
		bool load = i->op == NI_LOAD;

		if (!instr_ordered(i->op))
			continue;
		if (same_place(w, &w->access[i->a], a)) {
			if (k >= first || (load && handed(w, k)))
				return load ? (uint16_t)k : i->b;
			if (!load)
				return carry(w, i->b);
		}
		if (!load && other_type(&w->access[i->a], a))
			break;
	}
	return UINT16_MAX;
}

static uint16_t append_load(struct wide *w, struct nest_instr i, const struct nest_access *a)
{
	uint16_t v = w->forward ? known_value(w, a) : UINT16_MAX;

	if (v != UINT16_MAX) {
		w->gone[w->ngone++] = a->slot;
		return v;
	}
	i.a = (uint16_t)add_access(w, a);
	return push(w, i);
}

static uint16_t append_access(struct wide *w, struct nest_instr i, const struct wide_source *s)
{
	struct nest_access a = s->nest->access[i.a];

	memcpy(a.stride, s->stride[i.a], sizeof a.stride);
	if (i.op == NI_LOAD)
		return append_load(w, i, &a);
	i.a = (uint16_t)add_access(w, &a);
	return push(w, i);
}

void wide_append(struct wide *w, const struct wide_source *s, unsigned section)
{
	const struct nest *n = s->nest;

	for (unsigned k = nest_begin(n, section); k < nest_end(n, section); k++) {
		struct nest_instr i = n->instr[k];

		instr_rename(&i, s->value);
		switch ((enum instr_arg)instr_row(i.op)->arg[0]) {
		case ARG_ACCESS:
			s->value[k] = append_access(w, i, s);
			continue;
		case ARG_SCALAR:
			i.a = (uint16_t)add_scalar(w, n->scalar[i.a], n->scalar_dtype[i.a]);
			break;
		case ARG_LOOP:
			i.a = s->loop[i.a];
			break;
		default:
			break;
		}
		s->value[k] = push(w, i);
	}
}

void wide_cut(struct wide *w)
{
	w->cut[w->ncut++] = w->ninstr;
}

void wide_copy(struct wide *w, const struct nest *n, bool forward)
{
	static const uint8_t loop[LIMIT_NDIM] = {0, 1, 2, 3, 4, 5, 6, 7};
	int64_t stride[LIMIT_NEST_ACCESSES][LIMIT_NDIM];
	uint16_t value[LIMIT_NEST_INSTRS];
	struct wide_source s = {n, loop, stride, value};

	for (unsigned k = 0; k < n->naccess; k++)
		memcpy(stride[k], n->access[k].stride, sizeof stride[k]);
	wide_begin(w, n, forward);
	for (unsigned part = 0; part < nest_sections(n); part++) {
		if (part)
			wide_cut(w);
		wide_append(w, &s, part);
	}
}

static uint32_t reads_left(const struct wide *w, const struct prog *p, uint32_t slot)
{
	uint32_t n = p->slot[slot].nread;

	for (unsigned k = 0; k < w->ngone; k++)
		n -= w->gone[k] == slot;
	for (unsigned k = 0; k < w->nnew; k++)
		n += w->fresh[k] == slot;
	return n;
}

/* Is the place stored again in the same section before anything loads it? */
static bool overwritten(const struct wide *w, unsigned k)
{
	unsigned end = wide_end(w, k);

	for (unsigned j = k + 1; j < end; j++) {
		const struct nest_instr *i = &w->instr[j];

		if (!instr_ordered(i->op))
			continue;
		if (same_place(w, &w->access[i->a], &w->access[w->instr[k].a]))
			return i->op == NI_STORE;
		if (i->op == NI_LOAD && other_type(&w->access[i->a], &w->access[w->instr[k].a]))
			return false;
	}
	return false;
}

void wide_drop_stores(struct wide *w, const struct prog *p)
{
	for (unsigned k = 0; k < w->ninstr; k++) {
		const struct nest_instr *i = &w->instr[k];
		uint32_t slot;

		if (!instr_writes(i->op))
			continue;
		slot = w->access[i->a].slot;
		if ((!p->slot[slot].keep && !reads_left(w, p, slot)) || overwritten(w, k))
			w->dead[k] = true;
	}
}

static unsigned find_live(const struct wide *w, bool *live)
{
	unsigned n = 0;
	uint16_t value[3];

	for (unsigned k = w->ninstr; k-- > 0;) {
		if (instr_writes(w->instr[k].op))
			live[k] = !w->dead[k];
		n += live[k];
		for (unsigned j = live[k] ? instr_values(value, &w->instr[k]) : 0; j-- > 0;)
			live[value[j]] = true;
	}
	return n;
}

struct packing {
	const struct wide *w;
	struct nest *out;
	uint16_t ncheck; /* error words given out */
	uint16_t value[WIDE_INSTRS];
	uint16_t access[WIDE_ACCESSES], scalar[WIDE_SCALARS]; /* new number + 1 */
};

static enum fuse_reason pack_access(struct packing *k, struct nest_instr *i)
{
	if (!k->access[i->a]) {
		if (k->out->naccess == LIMIT_NEST_ACCESSES)
			return FUSE_PARAMS;
		k->out->access[k->out->naccess] = k->w->access[i->a];
		k->access[i->a] = ++k->out->naccess;
	}
	i->a = k->access[i->a] - 1;
	return FUSE_OK;
}

static enum fuse_reason pack_scalar(struct packing *k, struct nest_instr *i)
{
	if (!k->scalar[i->a]) {
		if (k->out->nscalar == LIMIT_NEST_SCALARS)
			return FUSE_PARAMS;
		k->out->scalar[k->out->nscalar] = k->w->scalar[i->a];
		k->out->scalar_dtype[k->out->nscalar] = k->w->scalar_dtype[i->a];
		k->scalar[i->a] = ++k->out->nscalar;
	}
	i->a = k->scalar[i->a] - 1;
	return FUSE_OK;
}

static enum fuse_reason pack_instr(struct packing *k, struct nest_instr *i)
{
	const struct instr_row *row = instr_row(i->op);

	instr_rename(i, k->value);
	if (row->arg[0] == ARG_ACCESS)
		return pack_access(k, i);
	if (row->arg[0] == ARG_SCALAR)
		return pack_scalar(k, i);
	if (row->arg[2] == ARG_CHECK)
		i->c = k->ncheck++;
	return k->ncheck > LIMIT_NEST_CHECKS ? FUSE_PARAMS : FUSE_OK;
}

/* What is packed from here on is section s. */
static void begin_section(struct nest *out, unsigned s)
{
	if (s == SECTION_POST)
		out->post = out->ninstr;
	else
		out->more[out->nmore++] = out->ninstr;
}

/* There is nothing in sections s and behind; only phases have to be counted. */
static void end_sections(struct nest *out, unsigned s)
{
	for (; s < LIMIT_NEST_SECTIONS; s++)
		begin_section(out, s);
	while (out->nmore && out->more[out->nmore - 1] == out->ninstr)
		out->nmore--;
}

static void pack_walks(struct nest *out)
{
	for (unsigned j = 0; j < out->naccess; j++) {
		struct nest_access *a = &out->access[j];
		int64_t s = out->npar + out->nred ? a->stride[out->vec] : 0;

		a->walk = s == dtype_row(a->dtype)->bytes ? WALK_UNIT
			  : s				  ? WALK_STRIDED
							  : WALK_SAME;
	}
}

/* A reduction nest whose last reduction died would be no reduction: keep none. */
enum fuse_reason wide_pack(struct nest *out, struct wide *w)
{
	bool live[WIDE_INSTRS] = {false};
	struct packing k = {.w = w, .out = out};
	enum fuse_reason r = FUSE_OK;
	unsigned n = find_live(w, live), nreduce = 0, ncut = 0;

	if (n > LIMIT_NEST_INSTRS)
		return FUSE_SIZE;
	memset(out, 0, offsetof(struct nest, access));
	out->npar = w->npar;
	out->nred = w->nred;
	out->width = 8;
	out->vec = (uint8_t)(w->npar + w->nred ? w->npar + w->nred - 1 : 0);
	memcpy(out->extent, w->extent, sizeof out->extent);
	for (unsigned j = 0; j < w->ninstr && !r; j++) {
		struct nest_instr i = w->instr[j];

		for (; ncut < w->ncut && w->cut[ncut] == j; ncut++)
			begin_section(out, ncut + 1);
		if (!live[j])
			continue;
		r = pack_instr(&k, &i);
		nreduce += i.op == NI_REDUCE;
		k.value[j] = out->ninstr;
		out->instr[out->ninstr++] = i;
	}
	end_sections(out, ncut + 1);
	pack_walks(out);
	return r ? r : nreduce > LIMIT_NEST_REDUCES ? FUSE_REDUCES : FUSE_OK;
}

void wide_commit(const struct wide *w, struct prog *p)
{
	for (unsigned k = 0; k < w->nnew; k++)
		p->slot[w->fresh[k]].nread++;
	for (unsigned k = 0; k < w->ngone; k++)
		p->slot[w->gone[k]].nread--;
}
