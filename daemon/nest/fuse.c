/* SPDX-License-Identifier: Apache-2.0 */
/* nest/fuse.c - merge the units of a partition into fewer nests.
 *
 * Greedy by bytes saved over the list in program order, within a window.  Legal:
 * one nest's loops fit the other's (fit.c), every two accesses to overlapping
 * bytes with a write touch them at the same point only (depend.c), in an order
 * that stays, and no unit in between orders the two the other way.  What needs the
 * results of reductions at all points that were reduced becomes a section of its own
 * behind them (nest.h).  Legality
 * never looks at profit.  Every refusal leaves a note. */
#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "fit.h"
#include "wide.h"

/* Legality checks a partition may spend; on excess the rest stays unfused. */
#define BUDGET_BASE 4096
#define BUDGET_UNIT 256

/* Reduced points that one thread goes through several times whatever the others have to
 * do; beyond, there must be so many parallel points. */
#define PHASE_ALONE 8192
#define PHASE_MANY  128

struct fuse {
	struct prog *p;
	struct fit fit;
	struct wide wide;
	struct nest result;
	uint32_t nunit; /* units placed so far: p->unit[0..nunit-1] */
	unsigned at;	/* section of the earlier nest with which the later one's first runs */
};

struct candidate {
	int64_t saved;
	uint32_t pos;
};

static const char *const reason_text[FUSE_REASON_END] = {[FUSE_OK] = "fused",
#define X(id, text) [FUSE_##id] = text,
							 FUSE_REASONS(X)
#undef X
};

/* What to tell a person about *r; never NULL. */
const char *fuse_reason_text(enum fuse_reason r)
{
	return (unsigned)r < FUSE_REASON_END ? reason_text[r] : "?";
}

/* Bytes both touch: what one pass over memory saves. */
static int64_t saved_bytes(const struct prog_unit *a, const struct prog_unit *b)
{
	int64_t n = 0;

	for (unsigned j = 0; j < b->naccess; j++) {
		for (unsigned i = 0; i < a->naccess; i++) {
			int64_t lo = a->lo[i] > b->lo[j] ? a->lo[i] : b->lo[j];
			int64_t hi = a->hi[i] < b->hi[j] ? a->hi[i] : b->hi[j];

			if (a->slot[i] == b->slot[j] && lo < hi) {
				n += hi - lo;
				break;
			}
		}
	}
	return n;
}

static struct depend compare(const struct fuse *f, const struct prog_unit *e, unsigned i,
			     const struct prog_unit *l, unsigned j, bool whole)
{
	const struct nest *host = f->fit.guest_later ? e->nest : l->nest;
	const struct nest_access *x = &e->nest->access[i], *y = &l->nest->access[j];
	struct depend_access a = {x->offset, f->fit.guest_later ? x->stride : f->fit.stride[i],
				  dtype_row(x->dtype)->bytes, x->move};
	struct depend_access b = {y->offset, f->fit.guest_later ? f->fit.stride[j] : y->stride,
				  dtype_row(y->dtype)->bytes, y->move};
	unsigned n = (unsigned)host->npar + host->nred;
	int64_t extent[LIMIT_NDIM];

	nest_touched(extent, host);
	return prog_depend(f->p, &a, &b, extent, n, whole ? n : host->npar);
}

/* The last section of the merged nest in which access a of the earlier unit stands, the
 * first in which one of the later does. */
static unsigned last_section(const struct prog_unit *u, unsigned a)
{
	unsigned s = nest_sections(u->nest) - 1;

	while (s && !(u->in[s] >> a & 1))
		s--;
	return s;
}

static unsigned first_section(const struct prog_unit *u, unsigned a)
{
	unsigned s = 0;

	while (s + 1 < nest_sections(u->nest) && !(u->in[s] >> a & 1))
		s++;
	return s;
}

/* Do both accesses stand in one section that runs at every point? */
static bool side_by_side(const struct fuse *f, const struct prog_unit *e, unsigned i,
			 const struct prog_unit *l, unsigned j)
{
	for (unsigned s = f->at; s < nest_sections(e->nest); s++)
		if (nest_everywhere(s) && e->in[s] >> i & 1 && l->in[s - f->at] >> j & 1)
			return true;
	return false;
}

/* May accesses i of the earlier and j of the later nest meet in one nest? */
static enum fuse_reason check_pair(const struct fuse *f, const struct prog_unit *e, unsigned i,
				   const struct prog_unit *l, unsigned j)
{
	struct depend d;

	/* Their ranges meet, and which point reads what depends on data. */
	if (e->nest->access[i].gather | l->nest->access[j].gather)
		return FUSE_DEPENDENCE;
	/* Sections run one after the other at a parallel point. */
	d = compare(f, e, i, l, j, side_by_side(f, e, i, l, j));
	if (d.kind == DEPEND_NONE)
		return FUSE_OK;
	if (last_section(e, i) > f->at + first_section(l, j))
		return FUSE_REDUCED;
	if (d.kind == DEPEND_UNKNOWN)
		return FUSE_UNKNOWN;
	return d.kind == DEPEND_SAME ? FUSE_OK : FUSE_DEPENDENCE;
}

static enum fuse_reason check_accesses(struct fuse *f, const struct prog_unit *e,
				       const struct prog_unit *l)
{
	enum fuse_reason r = FUSE_OK;

	for (unsigned i = 0; i < e->naccess && !r; i++) {
		for (unsigned j = 0; j < l->naccess && !r; j++) {
			if (!(e->write[i] | l->write[j]) || !prog_meet(e, i, l, j))
				continue;
			f->p->budget--;
			r = check_pair(f, e, i, l, j);
		}
	}
	return r;
}

/* Of the merged nest, at most. */
static unsigned sections(const struct fuse *f, const struct prog_unit *e, const struct prog_unit *l)
{
	unsigned ne = nest_sections(e->nest);
	/* What reduces nothing is one section, which may come to stand anywhere. */
	unsigned nl = f->at + (l->nest->nred ? nest_sections(l->nest) : 1);

	return ne > nl ? ne : nl;
}

/* Write the merged nest to f->result; FUSE_OK or the limit it breaks. */
static enum fuse_reason merge(struct fuse *f, const struct prog_unit *e, const struct prog_unit *l)
{
	static const uint8_t same[LIMIT_NDIM] = {0, 1, 2, 3, 4, 5, 6, 7};
	int64_t own[LIMIT_NEST_ACCESSES][LIMIT_NDIM];
	uint16_t evalue[LIMIT_NEST_INSTRS], lvalue[LIMIT_NEST_INSTRS];
	const struct nest *host = f->fit.guest_later ? e->nest : l->nest;
	struct wide_source se = {e->nest, same, own, evalue};
	struct wide_source sl = {l->nest, same, own, lvalue};
	struct wide_source *guest = f->fit.guest_later ? &sl : &se;
	struct wide *w = &f->wide;

	for (unsigned k = 0; k < host->naccess; k++)
		memcpy(own[k], host->access[k].stride, sizeof own[k]);
	guest->loop = f->fit.loop;
	guest->stride = f->fit.stride;
	wide_begin(w, host, f->p->contracting);
	for (unsigned s = 0; s < sections(f, e, l); s++) {
		if (s)
			wide_cut(w);
		if (s < nest_sections(e->nest))
			wide_append(w, &se, s);
		if (s >= f->at && s - f->at < nest_sections(l->nest))
			wide_append(w, &sl, s - f->at);
	}
	if (f->p->contracting)
		wide_drop_stores(w, f->p);
	return wide_pack(&f->result, w);
}

/* Do units between the two have to run between them?  On success the units that
 * depend on the earlier one are in after[]. */
static enum fuse_reason check_order(struct fuse *f, uint32_t pe, uint32_t pl, bool *after)
{
	struct prog *p = f->p;

	for (uint32_t k = pe + 1; k < pl; k++) {
		bool dep = prog_conflict(p->unit[pe], p->unit[k]);

		for (uint32_t j = pe + 1; j < k && !dep; j++) {
			dep = after[j - pe] && prog_conflict(p->unit[j], p->unit[k]);
			p->budget -= after[j - pe];
		}
		after[k - pe] = dep;
		if (dep && prog_conflict(p->unit[k], p->unit[pl]))
			return FUSE_ORDER;
	}
	return FUSE_OK;
}

static unsigned count_op(const struct nest *n, unsigned op)
{
	unsigned count = 0;

	for (unsigned k = 0; k < n->ninstr; k++)
		count += n->instr[k].op == op;
	return count;
}

/* Is the merged nest too long even when every load and scalar of the later and
 * every store of the earlier can be saved?  Spares building it. */
static bool surely_too_long(const struct prog_unit *e, const struct prog_unit *l)
{
	unsigned most = e->nest->ninstr + l->nest->ninstr;

	return most > LIMIT_NEST_INSTRS && most - count_op(e->nest, NI_STORE) -
							   count_op(l->nest, NI_LOAD) -
							   count_op(l->nest, NI_SCALAR) >
						   LIMIT_NEST_INSTRS;
}

/* May code follow on the results of the reductions of e, in a nest with its loops?  One
 * thread then has all of a parallel point: they must fit a chunk of the tree, and where
 * there are few of them must not be so many that other threads stand idle. */
static bool phases_pay(const struct prog_unit *e)
{
	int64_t reduced = nest_reduced(e->nest);

	return e->nest->nred && reduced > 0 && reduced <= TREE_CHUNK &&
	       (reduced <= PHASE_ALONE || nest_parallel(e->nest) >= PHASE_MANY);
}

/* Does it move along a loop that the host reduces? */
static bool moves(const int64_t *stride, const struct nest *host)
{
	for (unsigned l = host->npar; l < (unsigned)host->npar + host->nred; l++)
		if (stride[l])
			return true;
	return false;
}

/* The loop of the host along which most of a nest's accesses go element by element, if they are
 * not the same at all reduced points; -1: none does.  By these strides, NULL: by its own. */
static int along(const struct nest *n, const int64_t (*stride)[LIMIT_NDIM], const struct nest *host)
{
	unsigned most = 0;
	int best = -1;

	for (unsigned l = 0; l < (unsigned)host->npar + host->nred; l++) {
		unsigned votes = 0;

		for (unsigned k = 0; k < n->naccess; k++) {
			const int64_t *by = stride ? stride[k] : n->access[k].stride;

			votes += moves(by, host) && by[l] == dtype_row(n->access[k].dtype)->bytes;
		}
		if (votes > most) {
			most = votes;
			best = (int)l;
		}
	}
	return best;
}

/* Does memory run the same way in both?  Else a phase would go across what the one before it
 * went along, as where a square is divided by its rows' sums column by column. */
static bool same_way(const struct fuse *f, const struct prog_unit *e, const struct prog_unit *l)
{
	int here = -1, there = -1;

	if (f->fit.post)
		return true;
	here = along(e->nest, NULL, e->nest);
	there = along(l->nest, f->fit.stride, e->nest);
	return here < 0 || there < 0 || here == there;
}

/* The later nest's code as early as it may stand. */
static enum fuse_reason try_sections(struct fuse *f, const struct prog_unit *e,
				     const struct prog_unit *l)
{
	bool more = f->fit.guest_later && phases_pay(e) && same_way(f, e, l);
	enum fuse_reason r = FUSE_OK;

	for (f->at = f->fit.post ? SECTION_POST : SECTION_BODY;; f->at += 2) {
		if (sections(f, e, l) > LIMIT_NEST_SECTIONS)
			return FUSE_SIZE;
		r = check_accesses(f, e, l);
		if (r != FUSE_REDUCED || !more)
			return r ? r : merge(f, e, l);
	}
}

/* The first legal way to run both in one nest; leaves the merged nest. */
static enum fuse_reason try_ways(struct fuse *f, const struct prog_unit *e,
				 const struct prog_unit *l)
{
	enum fuse_reason r = FUSE_DOMAIN;

	for (int way = 0; way < FIT_WAYS; way++) {
		enum fuse_reason why;

		if (!fit_try(&f->fit, (enum fit_way)way, e, l))
			continue;
		why = try_sections(f, e, l);
		if (!why)
			return FUSE_OK;
		r = why;
	}
	return r;
}

/* Replace the two by the merged unit, behind everything that needs neither. */
static uint32_t install(struct fuse *f, uint32_t pe, uint32_t pl, const bool *after)
{
	struct prog *p = f->p;
	struct prog_unit *e = p->unit[pe], *l = p->unit[pl];
	struct prog_unit *behind[LIMIT_FUSE_WINDOW + 1];
	uint32_t at = pe, nbehind = 0, pos;

	for (uint32_t k = pe + 1; k < pl; k++) {
		if (after[k - pe])
			behind[nbehind++] = p->unit[k];
		else
			p->unit[at++] = p->unit[k];
	}
	pos = at;
	p->unit[at++] = l;
	for (uint32_t k = 0; k < nbehind; k++)
		p->unit[at++] = behind[k];
	memmove(p->unit + pl, p->unit + pl + 1, (f->nunit - pl - 1) * sizeof p->unit[0]);
	f->nunit--;
	for (uint32_t k = pe; k < f->nunit; k++)
		p->unit[k]->pos = k;
	*l->nest = f->result;
	p->owner[e->id] = l->id;
	wide_commit(&f->wide, p);
	prog_unit_free(e);
	prog_summarise(l);
	return pos;
}

static enum fuse_reason fuse_pair(struct fuse *f, uint32_t pe, uint32_t *pl)
{
	struct prog *p = f->p;
	bool after[LIMIT_FUSE_WINDOW + 1] = {false};
	enum fuse_reason r;

	if (!p->unit[pe]->nest || !p->unit[*pl]->nest)
		return FUSE_LIBRARY;
	if (p->budget <= 0)
		return FUSE_BUDGET;
	p->budget--;
	if (surely_too_long(p->unit[pe], p->unit[*pl]))
		return FUSE_SIZE;
	r = check_order(f, pe, *pl, after);
	if (!r)
		r = try_ways(f, p->unit[pe], p->unit[*pl]);
	if (!r)
		*pl = install(f, pe, *pl, after);
	return r;
}

static int by_saving(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->saved != b->saved)
		return a->saved < b->saved ? 1 : -1;
	return a->pos < b->pos ? 1 : -1;
}

static unsigned candidates(const struct fuse *f, uint32_t pos, struct candidate *c)
{
	const struct prog *p = f->p;
	const struct prog_unit *u = p->unit[pos];
	uint32_t first = pos > LIMIT_FUSE_WINDOW ? pos - LIMIT_FUSE_WINDOW : 0;
	unsigned n = 0;

	for (uint32_t k = first; k < pos; k++) {
		const struct prog_unit *o = p->unit[k];

		if (!((o->reads | o->writes) & (u->reads | u->writes)))
			continue;
		c[n].saved = saved_bytes(o, u);
		c[n].pos = k;
		n += c[n].saved > 0;
	}
	qsort(c, n, sizeof *c, by_saving);
	return n;
}

/* Merge the unit at pos with earlier ones until none fits. */
static void fuse_unit(struct fuse *f, uint32_t pos)
{
	struct candidate c[LIMIT_FUSE_WINDOW];
	struct prog *p = f->p;
	bool merged = true;

	while (merged) {
		unsigned n = candidates(f, pos, c);

		merged = false;
		for (unsigned k = 0; k < n && !merged; k++) {
			uint32_t later = p->unit[pos]->id, earlier = p->unit[c[k].pos]->id;
			enum fuse_reason r = fuse_pair(f, c[k].pos, &pos);

			if (r)
				prog_note_add(p, later, earlier, r);
			merged = !r;
		}
	}
}

/* Note what was written too far back to look at, or for an unfused partition
 * what could have been merged. */
static void note_sources(struct fuse *f, uint32_t pos, enum fuse_reason reason, uint32_t distance)
{
	struct prog *p = f->p;
	const struct prog_unit *u = p->unit[pos];

	for (unsigned k = 0; k < u->naccess; k++) {
		uint32_t w = p->slot[u->slot[k]].writer;

		if (u->write[k] || w == PART_NONE || w >= u->id)
			continue;
		w = prog_owner(p, w);
		for (uint32_t j = pos; j-- > 0;) {
			if (p->unit[j]->id != w)
				continue;
			if (pos - j >= distance)
				prog_note_add(p, u->id, w, reason);
			break;
		}
	}
}

enum status fuse_run(struct prog *p, struct err *err)
{
	struct fuse *f = xmalloc(sizeof *f);
	uint32_t n = p->nunit;

	f->p = p;
	f->fit.part = p->part;
	f->nunit = 0;
	p->budget = BUDGET_BASE + (int64_t)BUDGET_UNIT * n;
	for (uint32_t k = 0; k < n; k++) {
		struct prog_unit *u = p->unit[k];

		p->unit[f->nunit] = u;
		u->pos = f->nunit++;
		if (p->part->unfused) {
			note_sources(f, u->pos, FUSE_DISABLED, 1);
			continue;
		}
		note_sources(f, u->pos, FUSE_WINDOW, LIMIT_FUSE_WINDOW + 1);
		fuse_unit(f, u->pos);
	}
	p->nunit = f->nunit;
	free(f);
	return OK;
}
