/* SPDX-License-Identifier: Apache-2.0 */
/* nest/split.c - what reads an array that was put together reads its pieces.
 *
 * np.roll, a concatenation, a padded border make a temporary out of pieces of other arrays,
 * each copied to a box of it.  A nest over the whole is no nest over one of the pieces, so fusion
 * leaves the copies and the temporary.  Here such a nest is cut where the pieces meet: over
 * each box it reads the piece from where it lay, by the same code with other offsets.  Where
 * nothing reads the temporary any more its copies go (contract.c), and with it the memory.
 *
 * Boxes are of the temporary's own axes, which are found from the strides that its writers
 * and readers step through it by.  Whatever does not fit that picture leaves it as it is. */
#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "prog.h"

#define SPLIT_BYTES  (64 << 10) /* below, a copy is less than the steps that it spares */
#define SPLIT_PIECES 8
#define SPLIT_VISITS (1 << 16) /* to units, in a partition */
#define SPLIT_UNITS  64	       /* that readers of one temporary become */
/* Boxes whose rows are shorter than this are thin: at most this part of what is read. */
#define SPLIT_ROW  64
#define SPLIT_THIN 8
#define AXES	   (LIMIT_NDIM + 1) /* a call's operand has a run behind its loops */

/* Steps through a slot; bytes. */
struct path {
	uint32_t slot;
	unsigned nloop;
	int64_t offset, move;
	int64_t extent[AXES], stride[AXES];
};

/* Copied from one place to another, loop by loop. */
struct piece {
	struct path to, from;
};

/* Where a path goes, by axes: elements [first, first + count) of each. */
struct box {
	int64_t first[AXES], count[AXES];
	int loop[AXES]; /* of the path that steps along it; -1: none */
};

struct split {
	struct prog *p;
	uint32_t slot;	/* the temporary */
	unsigned dtype; /* of what it was put together from */
	unsigned npiece, naxis;
	struct piece piece[SPLIT_PIECES];
	struct box place[SPLIT_PIECES]; /* of each piece in the temporary */
	int64_t axis[AXES];		/* bytes per step, largest first */
	uint32_t first, last;		/* units that write it */
};

static void nest_path(struct path *out, const struct nest *n, unsigned access)
{
	const struct nest_access *a = &n->access[access];

	*out = (struct path){.slot = a->slot, .offset = a->offset, .move = a->move};
	for (unsigned l = 0; l < (unsigned)n->npar + n->nred; l++) {
		if (n->extent[l] == 1)
			continue;
		out->extent[out->nloop] = n->extent[l];
		out->stride[out->nloop++] = a->stride[l];
	}
}

static void call_path(struct path *out, const struct plan_call *c, unsigned x, int64_t run,
		      int64_t at)
{
	const struct call_operand *o = &c->operand[x];

	*out = (struct path){.slot = o->slot, .offset = o->offset + at, .move = o->move};
	for (unsigned l = 0; l < c->nloop; l++) {
		if (c->extent[l] == 1)
			continue;
		out->extent[out->nloop] = c->extent[l];
		out->stride[out->nloop++] = o->stride[l];
	}
	if (run == 1)
		return;
	out->extent[out->nloop] = run;
	out->stride[out->nloop++] = dtype_row(c->dtype)->bytes;
}

/* Is it computed point by point, alike at all of them? */
static bool is_plain(const struct nest *n)
{
	if (n->nred || n->post != n->ninstr || nest_checks(n) || nest_gathers(n))
		return false;
	for (unsigned k = 0; k < n->ninstr; k++)
		if (instr_names(n->instr[k].op, ARG_LOOP))
			return false;
	return nest_parallel(n) > 0;
}

static bool add_piece(struct split *s, const struct piece *x, unsigned dtype)
{
	if (s->npiece == SPLIT_PIECES || (s->npiece && s->dtype != dtype) || x->to.move)
		return false;
	s->dtype = dtype;
	s->piece[s->npiece++] = *x;
	return true;
}

/* A nest that only carries what it loads. */
static bool copied_by_nest(struct split *s, const struct nest *n)
{
	if (!is_plain(n))
		return false;
	for (unsigned k = 0; k < n->ninstr; k++) {
		const struct nest_instr *i = &n->instr[k], *load = &n->instr[i->b];
		struct piece x;

		if (i->op == NI_LOAD)
			continue;
		if (i->op != NI_STORE || load->op != NI_LOAD)
			return false;
		if (n->access[i->a].slot != s->slot)
			continue;
		nest_path(&x.to, n, i->a);
		nest_path(&x.from, n, load->a);
		if (n->access[load->a].dtype != n->access[i->a].dtype ||
		    !add_piece(s, &x, n->access[i->a].dtype))
			return false;
	}
	return true;
}

static bool copied_by_call(struct split *s, const struct plan_call *c)
{
	if (c->call != CALL_JOIN || c->operand[0].slot != s->slot)
		return false;
	for (unsigned x = 1; x < c->noperand; x++) {
		struct piece y;

		call_path(&y.to, c, 0, c->operand[x].run, c->operand[x].at);
		call_path(&y.from, c, x, c->operand[x].run, 0);
		if (!add_piece(s, &y, c->dtype))
			return false;
	}
	return true;
}

/* What it is put together from.  False: otherwise than by copies. */
static bool find_pieces(struct split *s)
{
	s->first = PART_NONE;
	for (uint32_t k = 0; k < s->p->nunit; k++) {
		const struct prog_unit *u = s->p->unit[k];
		bool writes = false;

		for (unsigned i = 0; i < u->naccess; i++)
			writes |= u->write[i] && u->slot[i] == s->slot;
		if (!writes)
			continue;
		if (u->nest ? !copied_by_nest(s, u->nest) : !copied_by_call(s, u->call))
			return false;
		s->first = s->first == PART_NONE ? k : s->first;
		s->last = k;
	}
	return s->npiece > 0;
}

static bool add_axes(struct split *s, const struct path *x)
{
	for (unsigned l = 0; l < x->nloop; l++) {
		unsigned k = 0;

		if (!x->stride[l])
			continue;
		while (k < s->naxis && s->axis[k] > x->stride[l])
			k++;
		if (k < s->naxis && s->axis[k] == x->stride[l])
			continue;
		if (s->naxis == AXES || x->stride[l] < 0)
			return false;
		memmove(s->axis + k + 1, s->axis + k, (s->naxis - k) * sizeof s->axis[0]);
		s->axis[k] = x->stride[l];
		s->naxis++;
	}
	return true;
}

/* What runs over whole rows of an axis in one loop gets a loop for each of the two. */
static bool unfold(const struct split *s, struct piece *x)
{
	for (unsigned a = s->naxis; a-- > 1;) {
		int64_t row = s->axis[a - 1] / s->axis[a];

		for (unsigned l = 0; l < x->to.nloop; l++) {
			unsigned k = x->to.nloop;

			if (x->to.stride[l] != s->axis[a] || x->to.extent[l] <= row ||
			    x->to.extent[l] % row)
				continue;
			if (k == AXES)
				return false;
			x->to.stride[k] = s->axis[a - 1];
			x->from.stride[k] = x->from.stride[l] * row;
			x->to.extent[k] = x->from.extent[k] = x->to.extent[l] / row;
			x->to.extent[l] = x->from.extent[l] = row;
			x->to.nloop = x->from.nloop = k + 1;
			break;
		}
	}
	return true;
}

/* False: it goes round the end of an axis, or steps along one twice. */
static bool find_box(struct box *out, const struct split *s, const struct path *x)
{
	int64_t rest = x->offset;

	for (unsigned a = 0; a < s->naxis; a++) {
		out->first[a] = rest / s->axis[a];
		out->count[a] = 1;
		out->loop[a] = -1;
		rest %= s->axis[a];
		for (unsigned l = 0; l < x->nloop; l++) {
			if (x->stride[l] != s->axis[a])
				continue;
			if (out->loop[a] >= 0)
				return false;
			out->loop[a] = (int)l;
			out->count[a] = x->extent[l];
		}
		if (a && (s->axis[a - 1] % s->axis[a] ||
			  out->first[a] + out->count[a] > s->axis[a - 1] / s->axis[a]))
			return false;
	}
	return !rest;
}

/* What both hold; false: nothing. */
static bool intersect(struct box *out, const struct split *s, const struct box *x,
		      const struct box *y)
{
	*out = *x;
	for (unsigned a = 0; a < s->naxis; a++) {
		int64_t xe = x->first[a] + x->count[a], ye = y->first[a] + y->count[a];

		out->first[a] = x->first[a] > y->first[a] ? x->first[a] : y->first[a];
		out->count[a] = (xe < ye ? xe : ye) - out->first[a];
		if (out->count[a] <= 0)
			return false;
	}
	return true;
}

static int64_t points(const struct split *s, const struct box *x)
{
	int64_t n = 1;

	for (unsigned a = 0; a < s->naxis; a++)
		n *= x->count[a];
	return n;
}

/* The first access that reads the temporary; -1: none does. */
static int reading(const struct split *s, const struct prog_unit *u)
{
	for (unsigned i = 0; i < u->naccess; i++)
		if (!u->write[i] && u->slot[i] == s->slot)
			return (int)i;
	return -1;
}

/* May an access of the unit write what the piece is copied from? */
static bool spoils(const struct prog_unit *u, const struct path *from, unsigned bytes)
{
	int64_t lo = from->offset, hi = from->offset + bytes;

	for (unsigned l = 0; l < from->nloop; l++)
		*(from->stride[l] < 0 ? &lo : &hi) += from->stride[l] * (from->extent[l] - 1);
	for (unsigned i = 0; i < u->naccess; i++)
		if (u->write[i] && u->slot[i] == from->slot &&
		    (from->move || u->move[i] || (u->lo[i] < hi && lo < u->hi[i])))
			return true;
	return false;
}

/* Does what lies in the pieces' places stay there until the last unit has run? */
static bool stays(const struct split *s, uint32_t last)
{
	for (uint32_t k = s->first; k <= last; k++)
		for (unsigned x = 0; x < s->npiece; x++)
			if (spoils(s->p->unit[k], &s->piece[x].from, dtype_row(s->dtype)->bytes))
				return false;
	return true;
}

/* Into how many boxes it falls; 0: not everything is there, or they are too thin. */
static unsigned count_boxes(const struct split *s, const struct box *x)
{
	int64_t whole = points(s, x), held = 0;
	unsigned n = 0;

	for (unsigned k = 0; k < s->npiece; k++) {
		struct box both;
		int64_t here;

		if (!intersect(&both, s, x, &s->place[k]))
			continue;
		here = points(s, &both);
		held += here;
		n++;
		if (s->naxis && both.count[s->naxis - 1] < SPLIT_ROW &&
		    both.count[s->naxis - 1] < x->count[s->naxis - 1] && here > whole / SPLIT_THIN)
			return 0;
	}
	return held == whole ? n : 0;
}

static bool check_reader(struct split *s, const struct prog_unit *u, unsigned *units)
{
	unsigned boxes = 1;

	for (unsigned i = 0; i < u->naccess; i++) {
		struct path x;
		struct box b;
		unsigned n;

		if (u->slot[i] != s->slot)
			continue;
		nest_path(&x, u->nest, i);
		if (u->nest->access[i].dtype != s->dtype || x.move || !find_box(&b, s, &x))
			return false;
		n = count_boxes(s, &b);
		if (!n)
			return false;
		boxes *= n;
		if (boxes > SPLIT_UNITS)
			return false;
	}
	*units += boxes;
	return *units <= SPLIT_UNITS;
}

/* Axes and the pieces' places on them. */
static bool find_places(struct split *s)
{
	for (unsigned k = 0; k < s->npiece; k++)
		if (!unfold(s, &s->piece[k]) || !find_box(&s->place[k], s, &s->piece[k].to))
			return false;
	for (unsigned k = 0; k < s->npiece; k++)
		for (unsigned j = 0; j < k; j++) {
			struct box both;

			if (intersect(&both, s, &s->place[j], &s->place[k]))
				return false;
		}
	return true;
}

/* Adds the axes of one that reads it; false: it is not elementwise, or comes too early. */
static bool add_reader(struct split *s, const struct prog_unit *u, uint32_t pos)
{
	if (!u->nest || pos <= s->last || !is_plain(u->nest))
		return false;
	for (unsigned i = 0; i < u->naccess; i++) {
		struct path x;

		if (u->slot[i] != s->slot)
			continue;
		nest_path(&x, u->nest, i);
		if (!add_axes(s, &x))
			return false;
	}
	return true;
}

/* Who reads it, and the axes of all; the last one's place, or PART_NONE. */
static uint32_t find_readers(struct split *s)
{
	uint32_t last = PART_NONE;

	for (unsigned k = 0; k < s->npiece; k++)
		if (!add_axes(s, &s->piece[k].to))
			return PART_NONE;
	for (uint32_t k = 0; k < s->p->nunit; k++) {
		if (reading(s, s->p->unit[k]) < 0)
			continue;
		if (!add_reader(s, s->p->unit[k], k))
			return PART_NONE;
		last = k;
	}
	return last;
}

/* Can all that read the temporary read its pieces? */
static bool check(struct split *s)
{
	unsigned units = 0;
	uint32_t last;

	if (!find_pieces(s))
		return false;
	last = find_readers(s);
	if (last == PART_NONE || !find_places(s) || !stays(s, last))
		return false;
	for (uint32_t k = s->last + 1; k <= last; k++)
		if (reading(s, s->p->unit[k]) >= 0 && !check_reader(s, s->p->unit[k], &units))
			return false;
	return true;
}

/* The nest's loop behind loop l of an access's path, which leaves out those of one turn. */
static unsigned loop_of(const struct nest *n, int l)
{
	unsigned k = 0;

	while (n->extent[k] == 1 || l-- > 0)
		k++;
	return k;
}

/* The nest over one box, with the piece in the place of the temporary. */
static void narrow(const struct split *s, struct nest *n, unsigned access, const struct box *whole,
		   const struct box *both, unsigned piece)
{
	const struct box *place = &s->place[piece];
	const struct path *from = &s->piece[piece].from;
	struct nest_access *a = &n->access[access];
	unsigned loop[AXES];
	int64_t step;

	for (unsigned x = 0; x < s->naxis; x++)
		loop[x] = whole->loop[x] < 0 ? LIMIT_NDIM : loop_of(n, whole->loop[x]);
	a->slot = from->slot;
	a->offset = from->offset;
	a->move = from->move;
	memset(a->stride, 0, sizeof a->stride);
	for (unsigned x = 0; x < s->naxis; x++) {
		step = place->loop[x] < 0 ? 0 : from->stride[place->loop[x]];
		a->offset += step * (both->first[x] - place->first[x]);
		if (loop[x] == LIMIT_NDIM)
			continue;
		a->stride[loop[x]] = step;
		n->extent[loop[x]] = both->count[x];
		for (unsigned k = 0; k < n->naccess; k++)
			if (k != access)
				n->access[k].offset += n->access[k].stride[loop[x]] *
						       (both->first[x] - whole->first[x]);
	}
	step = n->npar ? a->stride[n->vec] : 0;
	a->walk = step == dtype_row(a->dtype)->bytes ? WALK_UNIT : step ? WALK_STRIDED : WALK_SAME;
}

/* The unit at pos, over each of its boxes. */
static void cut(const struct split *s, uint32_t pos, unsigned access)
{
	struct prog *p = s->p;
	struct prog_unit *old = p->unit[pos];
	uint32_t before = p->nunit, made;
	struct path x;
	struct box whole, both;

	nest_path(&x, old->nest, access);
	find_box(&whole, s, &x);
	for (unsigned k = 0; k < s->npiece; k++) {
		struct prog_unit *u;

		if (!intersect(&both, s, &whole, &s->place[k]))
			continue;
		u = prog_unit(p, false);
		memcpy(u->nest, old->nest, nest_bytes(old->nest));
		narrow(s, u->nest, access, &whole, &both, k);
		prog_summarise(u);
	}
	/* They come last in the list: into the place of the old one. */
	made = p->nunit - before;
	for (uint32_t k = 0; k < made; k++) {
		struct prog_unit *u = p->unit[before + k];

		memmove(p->unit + pos + k + 1, p->unit + pos + k,
			(before - pos) * sizeof p->unit[0]);
		p->unit[pos + k] = u;
	}
	p->owner[old->id] = p->unit[pos]->id;
	memmove(p->unit + pos + made, p->unit + pos + made + 1,
		(before - pos - 1) * sizeof p->unit[0]);
	p->nunit--;
	prog_unit_free(old);
}

/* Calls that put the temporary together; nests without a reader go by themselves. */
static void drop_calls(const struct split *s)
{
	struct prog *p = s->p;
	uint32_t kept = 0;

	for (uint32_t k = 0; k < p->nunit; k++) {
		struct prog_unit *u = p->unit[k];

		if (u->call && u->call->call == CALL_JOIN && u->call->operand[0].slot == s->slot) {
			prog_unit_free(u);
			continue;
		}
		u->pos = kept;
		p->unit[kept++] = u;
	}
	p->nunit = kept;
}

static void split_slot(struct prog *p, uint32_t slot)
{
	struct split *s = xcalloc(1, sizeof *s);

	s->p = p;
	s->slot = slot;
	if (check(s)) {
		for (uint32_t k = s->last + 1; k < p->nunit;) {
			int access = reading(s, p->unit[k]);

			if (access < 0)
				k++;
			else
				cut(s, k, (unsigned)access);
		}
		drop_calls(s);
	}
	free(s);
}

/* Mark the temporaries that such units write as only carry what they read. */
static void mark_copied(uint8_t *copied, const struct prog *p)
{
	for (uint32_t k = 0; k < p->nunit; k++) {
		const struct prog_unit *u = p->unit[k];
		bool carries = u->nest || u->call->call == CALL_JOIN;

		for (unsigned i = 0; u->nest && i < u->nest->ninstr && carries; i++)
			carries =
				u->nest->instr[i].op == NI_LOAD || u->nest->instr[i].op == NI_STORE;
		for (unsigned i = 0; i < u->naccess && carries; i++)
			if (u->write[i])
				copied[u->slot[i]] = !p->slot[u->slot[i]].keep &&
						     p->slot[u->slot[i]].bytes >= SPLIT_BYTES;
	}
}

/* See prog.h. */
enum status split_run(struct prog *p, struct err *err)
{
	int64_t budget = SPLIT_VISITS;
	uint8_t *copied;

	(void)err;
	if (p->part->unfused || p->part->nsize || p->part->anywhere || !p->contracting)
		return OK;
	copied = xcalloc(p->nslot, 1);
	mark_copied(copied, p);
	/* The last ones first: their pieces may lie in earlier ones. */
	for (uint32_t slot = p->nslot; slot-- > 0 && budget > 0;) {
		if (!copied[slot])
			continue;
		budget -= p->nunit;
		split_slot(p, slot);
	}
	free(copied);
	return OK;
}
