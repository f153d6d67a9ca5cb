/* SPDX-License-Identifier: Apache-2.0 */
#include "wide.h"

#include <string.h>

void wide_begin(struct wide *w, const struct nest *loops, bool forward)
{
	w->npar = loops->npar;
	w->nred = loops->nred;
	w->naccess = w->ninstr = w->nscalar = w->ngone = 0;
	w->post = UINT16_MAX;
	w->forward = forward;
	memcpy(w->extent, loops->extent, sizeof w->extent);
	memset(w->dead, 0, sizeof w->dead);
}

static bool same_place(const struct wide *w, const struct nest_access *a,
		       const struct nest_access *b)
{
	return a->slot == b->slot && a->dtype == b->dtype && a->offset == b->offset &&
	       a->gather == b->gather && a->gextent == b->gextent && a->gstride == b->gstride &&
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

/* The value that lies at a's place now: what this section last stored there or
 * loaded from there.  UINT16_MAX when it must be loaded. */
static uint16_t known_value(const struct wide *w, const struct nest_access *a)
{
	unsigned first = w->post == UINT16_MAX ? 0 : w->post;

	for (unsigned k = w->ninstr; k-- > first;) {
		const struct nest_instr *i = &w->instr[k];

		if (i->op != NI_LOAD && i->op != NI_STORE)
			continue;
		if (same_place(w, &w->access[i->a], a))
			return i->op == NI_LOAD ? (uint16_t)k : i->b;
		if (i->op == NI_STORE && other_type(&w->access[i->a], a))
			break;
	}
	return UINT16_MAX;
}

static uint16_t push(struct wide *w, struct nest_instr i)
{
	w->instr[w->ninstr] = i;
	return w->ninstr++;
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

static uint16_t append_compute(struct wide *w, struct nest_instr i, const struct wide_source *s)
{
	const struct op_row *row = op_row(i.op);

	i.a = s->value[i.a];
	if (row->arity > 1)
		i.b = s->value[i.b];
	if (row->arity > 2)
		i.c = s->value[i.c];
	return push(w, i);
}

void wide_append(struct wide *w, const struct wide_source *s, unsigned first, unsigned last)
{
	for (unsigned k = first; k < last; k++) {
		struct nest_instr i = s->nest->instr[k];
		struct nest_access a;

		switch (i.op) {
		case NI_LOAD:
		case NI_STORE:
		case NI_GATHER:
			a = s->nest->access[i.a];
			memcpy(a.stride, s->stride[i.a], sizeof a.stride);
			if (i.op == NI_LOAD) {
				s->value[k] = append_load(w, i, &a);
				break;
			}
			i.a = (uint16_t)add_access(w, &a);
			i.b = s->value[i.b];
			s->value[k] = push(w, i);
			break;
		case NI_SCALAR:
			i.a = (uint16_t)add_scalar(w, s->nest->scalar[i.a],
						   s->nest->scalar_dtype[i.a]);
			s->value[k] = push(w, i);
			break;
		case NI_INDEX:
			i.a = s->loop[i.a];
			s->value[k] = push(w, i);
			break;
		case NI_REDUCE:
			i.a = s->value[i.a];
			s->value[k] = push(w, i);
			break;
		default:
			s->value[k] = append_compute(w, i, s);
		}
	}
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
	wide_append(w, &s, 0, n->post);
	w->post = w->ninstr;
	wide_append(w, &s, n->post, n->ninstr);
}

static uint32_t reads_left(const struct wide *w, const struct prog *p, uint32_t slot)
{
	uint32_t n = p->slot[slot].nread;

	for (unsigned k = 0; k < w->ngone; k++)
		n -= w->gone[k] == slot;
	return n;
}

/* Is the place stored again in the same section before anything loads it? */
static bool overwritten(const struct wide *w, unsigned k)
{
	unsigned end = k < w->post ? w->post : w->ninstr;

	for (unsigned j = k + 1; j < end; j++) {
		const struct nest_instr *i = &w->instr[j];

		if (i->op != NI_LOAD && i->op != NI_STORE)
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

		if (i->op != NI_STORE)
			continue;
		slot = w->access[i->a].slot;
		if ((!p->slot[slot].keep && !reads_left(w, p, slot)) || overwritten(w, k))
			w->dead[k] = true;
	}
}

static void use(bool *live, const struct nest_instr *i)
{
	const struct op_row *row = op_row(i->op);

	if (i->op == NI_STORE || i->op == NI_GATHER) {
		live[i->b] = true;
	} else if (i->op == NI_REDUCE) {
		live[i->a] = true;
	} else if (i->op < OP_END && row) {
		live[i->a] = true;
		if (row->arity > 1)
			live[i->b] = true;
		if (row->arity > 2)
			live[i->c] = true;
	}
}

static unsigned find_live(const struct wide *w, bool *live)
{
	unsigned n = 0;

	for (unsigned k = w->ninstr; k-- > 0;) {
		if (w->instr[k].op == NI_STORE)
			live[k] = !w->dead[k];
		n += live[k];
		if (live[k])
			use(live, &w->instr[k]);
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
	if (i->op != NI_LOAD)
		i->b = k->value[i->b];
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
	const struct op_row *row = op_row(i->op);

	switch (i->op) {
	case NI_LOAD:
	case NI_STORE:
	case NI_GATHER:
		return pack_access(k, i);
	case NI_SCALAR:
		return pack_scalar(k, i);
	case NI_INDEX:
		return FUSE_OK;
	default:
		i->a = k->value[i->a];
		if (i->op < OP_END && row->arity > 1)
			i->b = k->value[i->b];
		if (i->op < OP_END && row->arity > 2)
			i->c = k->value[i->c];
		if (i->op == OP_INDEX)
			i->c = k->ncheck++;
		return k->ncheck > LIMIT_NEST_CHECKS ? FUSE_PARAMS : FUSE_OK;
	}
}

/* A reduction nest whose last reduction died would be no reduction: keep none. */
enum fuse_reason wide_pack(struct nest *out, struct wide *w)
{
	bool live[WIDE_INSTRS] = {false};
	struct packing k = {.w = w, .out = out};
	enum fuse_reason r = FUSE_OK;
	unsigned n = find_live(w, live), nreduce = 0;

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

		if (j == w->post)
			out->post = out->ninstr;
		if (!live[j])
			continue;
		r = pack_instr(&k, &i);
		nreduce += i.op == NI_REDUCE;
		k.value[j] = out->ninstr;
		out->instr[out->ninstr++] = i;
	}
	if (w->post >= w->ninstr)
		out->post = out->ninstr;
	for (unsigned j = 0; j < out->naccess; j++) {
		struct nest_access *a = &out->access[j];
		int64_t s = out->npar + out->nred ? a->stride[out->vec] : 0;

		a->walk = s == dtype_row(a->dtype)->bytes ? WALK_UNIT
			  : s				  ? WALK_STRIDED
							  : WALK_SAME;
	}
	return r ? r : nreduce > LIMIT_NEST_REDUCES ? FUSE_REDUCES : FUSE_OK;
}

void wide_commit(const struct wide *w, struct prog *p)
{
	for (unsigned k = 0; k < w->ngone; k++)
		p->slot[w->gone[k]].nread--;
}
