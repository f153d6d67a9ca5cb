/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_bounds.c - the test before a loop by which its places need no checks.
 *
 * In:  the form of loops.  Out: statements that find between what numbers each index lies in all
 * turns, and compare that with the extent.  The numbers of the loop and of those inside are
 * replaced by the first and last that they may be, the innermost first, so that triangles have
 * their own bounds; what else changes in the loop must be an operation whose results lie between
 * two numbers. Conditions around a place bound its indices as well.  A test whose own arithmetic
 * leaves int64 fails: then each index is checked where it is used. */
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "emit_lang_lane.h"
#include "lang/lang_native.h"

#define DEPTH	   6	/* of operations inside each other */
#define VALUES_MAX 4000 /* variables of all tests of a function */
#define GROUPS_MAX 64	/* of places whose indices differ by a constant, in one test */
#define QUICK_MAX  3	/* comparisons that are worth it before a test */
#define QUICK_FAR  4096 /* between the indices of one */
#define NOTHING	   UINT32_MAX

/* What a test is about: along one axis of an array, indices form + least ... form + most. */
struct group {
	uint32_t array, axis, place, form;
	int64_t least, most;
	bool plain; /* no condition bounds it */
};

static uint32_t span_of_form(struct lane *e, uint32_t loop, const struct lang_form *f, int depth);

static uint32_t fresh(struct lane *e)
{
	text_put(&e->o, "const struct bz_span v%u = ", e->values);
	return e->values++;
}

/* ---- Numbers of loops ---- */

static bool inside(const struct lane *e, uint32_t atom, uint32_t loop)
{
	return e->loops->atom[atom].kind == ATOM_NUMBER &&
	       lang_loop_inside(e->loops, e->loops->atom[atom].loop, loop);
}

/* The term of the innermost of the loop's numbers that have a constant factor; NOTHING. */
static uint32_t innermost(const struct lane *e, const struct lang_form *f, uint32_t loop)
{
	uint32_t found = NOTHING, deepest = 0;

	for (unsigned k = 0; k < f->n; k++) {
		const struct lang_atom *a = &e->loops->atom[f->term[k].atom];

		if (f->term[k].by != LANG_NONE || !inside(e, f->term[k].atom, loop) ||
		    e->loops->loop[a->loop].depth < deepest)
			continue;
		deepest = e->loops->loop[a->loop].depth;
		found = k;
	}
	return found;
}

/* The form with each number at that end, where steps are known: the last where its factor is
 * positive and `high`, and so on. */
static bool extreme(const struct lane *e, uint32_t loop, struct lang_form *f, bool high)
{
	static const struct lang_form one = {.constant = 1};
	const struct lang_loops *l = e->loops;
	uint32_t k;

	while ((k = innermost(e, f, loop)) != NOTHING) {
		const struct lang_loop *x = &l->loop[l->atom[f->term[k].atom].loop];
		const struct lang_form *step = &l->form[x->step];
		int64_t factor = f->term[k].factor;
		struct lang_form self = {.n = 1, .term = {f->term[k]}}, end;
		bool last = (factor > 0) == high;

		if (step->n || !step->constant || !e->bounded[x - l->loop])
			return false;
		/* Downwards the last is the least. */
		if (last == (step->constant > 0)) {
			if (!lang_form_add_exactly(&end, &l->form[x->stop], &one,
						   step->constant > 0 ? -1 : 1))
				return false;
		} else {
			end = l->form[x->start];
		}
		if (!lang_form_add_exactly(f, f, &self, -1) ||
		    !lang_form_add_exactly(f, f, &end, factor))
			return false;
	}
	return true;
}

/* ---- Values ---- */

/* Of what is known before the loop, with the bits that the register will have; false: it is not. */
static bool is_point(const struct lane *e, uint32_t loop, uint32_t form, int depth)
{
	const struct lang_form *f = &e->loops->form[form];

	for (unsigned k = 0; k < f->n; k++)
		if (!lang_atom_before(e->loops, f->term[k].atom, loop) ||
		    (f->term[k].by != LANG_NONE &&
		     !lang_atom_before(e->loops, f->term[k].by, loop)))
			return false;
	return depth > 0;
}

/* A number of loop `strip` is its next one. */
static void put_atom(struct lane *e, uint32_t atom, uint32_t strip)
{
	const struct lang_atom *a = &e->loops->atom[atom];

	if (strip != LANG_NONE && a->kind == ATOM_NUMBER && a->loop == strip)
		text_put(&e->o, "(bz_i64)%s",
			 emit_lang_register(e, e->loops->loop[strip].number + 1));
	else if (a->kind == ATOM_LENGTH)
		text_put(&e->o, "N%u_%u", a->array, a->axis);
	else
		text_put(&e->o, "(bz_i64)%s", emit_lang_register(e, a->reg));
}

static void put_sum(struct lane *e, const struct lang_form *f, uint32_t strip)
{
	text_put(&e->o, "(bz_i64)(%lldul", (long long)f->constant);
	for (unsigned k = 0; k < f->n; k++) {
		text_put(&e->o, " + %lldul * (bz_u64)", (long long)f->term[k].factor);
		put_atom(e, f->term[k].atom, strip);
		if (f->term[k].by != LANG_NONE) {
			text_put(&e->o, " * (bz_u64)");
			put_atom(e, f->term[k].by, strip);
		}
	}
	text_put(&e->o, ")");
}

void emit_lang_sum(struct lane *e, uint32_t form, uint32_t strip)
{
	put_sum(e, &e->loops->form[form], strip);
}

/* The very operation on what is known before. */
static uint32_t span_of_point(struct lane *e, const struct lang_atom *a)
{
	uint32_t v = fresh(e);

	text_put(&e->o, "bz_span_at(bz_%s_%s(", op_row(a->op)->stem, dtype_row(a->type)->suffix);
	for (unsigned k = 0; k < 3 && a->operand[k] != LANG_NONE; k++) {
		text_put(&e->o, "%s", k ? ", " : "");
		emit_lang_sum(e, a->operand[k], LANG_NONE);
	}
	text_put(&e->o, "));\n");
	return v;
}

static const char *span_operation(const struct lang_atom *a)
{
	switch (a->op) {
	case OP_ADD:
		return "add";
	case OP_SUBTRACT:
		return "sub";
	case OP_MULTIPLY:
		return "mul";
	case OP_MINIMUM:
		return "min";
	case OP_MAXIMUM:
		return "max";
	case OP_REMAINDER:
		return "rem";
	case OP_FLOOR_DIVIDE:
		return "fdiv";
	default:
		return NULL;
	}
}

/* An operation between spans; its result must fit its type, which is all that may wrap. */
static uint32_t span_of_operation(struct lane *e, uint32_t loop, const struct lang_atom *a,
				  int depth)
{
	const char *name = span_operation(a);
	uint32_t in[2], v;
	bool point = lang_native_op(a->op, a->type);

	for (unsigned k = 0; k < 3 && a->operand[k] != LANG_NONE; k++)
		point = point && is_point(e, loop, a->operand[k], depth);
	if (point)
		return span_of_point(e, a);
	if (!name || !depth || a->type == DT_BOOL)
		return NOTHING;
	for (unsigned k = 0; k < 2; k++) {
		in[k] = span_of_form(e, loop, &e->loops->form[a->operand[k]], depth - 1);
		if (in[k] == NOTHING)
			return NOTHING;
	}
	v = fresh(e);
	text_put(&e->o, "bz_span_%s(v%u, v%u, &bad);\n", name, in[0], in[1]);
	if (a->type != DT_INT64)
		text_put(&e->o, "bad |= v%u.lo != (bz_%s)v%u.lo || v%u.hi != (bz_%s)v%u.hi;\n", v,
			 dtype_row(a->type)->suffix, v, v, dtype_row(a->type)->suffix, v);
	return v;
}

static uint32_t span_of_number(struct lane *e, uint32_t loop, const struct lang_loop *x, int depth)
{
	uint32_t start, stop, step, v;

	if (!depth)
		return NOTHING;
	start = span_of_form(e, loop, &e->loops->form[x->start], depth - 1);
	stop = start == NOTHING ? NOTHING
				: span_of_form(e, loop, &e->loops->form[x->stop], depth - 1);
	if (stop == NOTHING)
		return NOTHING;
	step = span_of_form(e, loop, &e->loops->form[x->step], depth - 1);
	if (step == NOTHING) {
		step = fresh(e);
		text_put(&e->o, "bz_span_at(0);\n");
	}
	v = fresh(e);
	text_put(&e->o, "bz_span_range(v%u, v%u, v%u, &bad);\n", start, stop, step);
	return v;
}

static uint32_t span_of_atom(struct lane *e, uint32_t loop, uint32_t atom, int depth)
{
	struct lang_atom a = e->loops->atom[atom];
	uint32_t v;

	if (lang_atom_before(e->loops, atom, loop)) {
		v = fresh(e);
		text_put(&e->o, "bz_span_at(");
		put_atom(e, atom, LANG_NONE);
		text_put(&e->o, ");\n");
		return v;
	}
	if (inside(e, atom, loop))
		return span_of_number(e, loop, &e->loops->loop[a.loop], depth);
	return a.kind == ATOM_OP ? span_of_operation(e, loop, &a, depth) : NOTHING;
}

static uint32_t span_of_form(struct lane *e, uint32_t loop, const struct lang_form *f, int depth)
{
	uint32_t sum = fresh(e);

	text_put(&e->o, "bz_span_at(%lldl%s);\n",
		 (long long)f->constant + (f->constant == INT64_MIN),
		 f->constant == INT64_MIN ? " - 1" : "");
	for (unsigned k = 0; k < f->n; k++) {
		const struct lang_term t = f->term[k];
		uint32_t v = span_of_atom(e, loop, t.atom, depth), by = NOTHING, next;

		if (v == NOTHING || e->values > VALUES_MAX || t.factor == INT64_MIN)
			return NOTHING;
		if (t.by != LANG_NONE) {
			by = span_of_atom(e, loop, t.by, depth);
			if (by == NOTHING)
				return NOTHING;
			next = fresh(e);
			text_put(&e->o, "bz_span_mul(v%u, v%u, &bad);\n", v, by);
			v = next;
		}
		next = fresh(e);
		text_put(&e->o,
			 "bz_span_add(v%u, bz_span_mul(v%u, bz_span_at(%lldl), &bad), &bad);\n",
			 sum, v, (long long)t.factor);
		sum = next;
	}
	return sum;
}

/* The span whose low, or high, end bounds the form in all turns; NOTHING. */
static uint32_t bound_of(struct lane *e, uint32_t loop, const struct lang_form *form, bool high)
{
	struct lang_form f = *form;

	return extreme(e, loop, &f, high) ? span_of_form(e, loop, &f, DEPTH)
					  : span_of_form(e, loop, form, DEPTH);
}

/* ---- Conditions ---- */

/* What bounds a form by a condition on it: that plus offset, from above or from below. */
struct limit {
	struct lang_form form;
	int64_t offset;
};

static bool is_order(const struct lang_atom *a)
{
	return a->type == DT_INT64 && (a->op == OP_LESS || a->op == OP_LESS_EQUAL ||
				       a->op == OP_GREATER || a->op == OP_GREATER_EQUAL);
}

static bool by_comparison(const struct lane *e, const struct lang_atom *a, bool holds,
			  const struct lang_form *form, bool high, struct limit *out)
{
	const struct lang_form *x = &e->loops->form[a->operand[0]];
	const struct lang_form *y = &e->loops->form[a->operand[1]];
	bool less = a->op == OP_LESS || a->op == OP_LESS_EQUAL,
	     strict = a->op == OP_LESS || a->op == OP_GREATER;
	struct lang_form far;

	if (!is_order(a))
		return false;
	/* x <= y, or x < y: not x < y is y <= x. */
	if (less != holds) {
		const struct lang_form *swap = x;

		x = y;
		y = swap;
	}
	strict = strict == holds;
	/* Of a sum that differs by a constant the bound holds if that does not wrap: x + d <= y + d
	 * where d >= 0 and y + d is in int64, and so from below. */
	if (!lang_form_add(&far, form, high ? x : y, -1) || far.n ||
	    (high ? far.constant < 0 : far.constant > 0) || far.constant == INT64_MIN)
		return false;
	out->form = high ? *y : *x;
	out->offset = far.constant + (strict ? (high ? -1 : 1) : 0);
	return true;
}

static bool by_condition(const struct lane *e, uint32_t atom, bool holds,
			 const struct lang_form *form, bool high, int depth, struct limit *out)
{
	const struct lang_atom *a = &e->loops->atom[atom];

	if (a->kind != ATOM_OP || !depth)
		return false;
	if (a->op != OP_LOGICAL_NOT && a->op != (holds ? OP_LOGICAL_AND : OP_LOGICAL_OR))
		return a->op != OP_LOGICAL_AND && a->op != OP_LOGICAL_OR &&
		       by_comparison(e, a, holds, form, high, out);
	for (unsigned k = 0; k < 2 && a->operand[k] != LANG_NONE; k++) {
		const struct lang_form *f = &e->loops->form[a->operand[k]];

		if (f->n == 1 && !f->constant && f->term[0].factor == 1 &&
		    f->term[0].by == LANG_NONE &&
		    by_condition(e, f->term[0].atom, holds != (a->op == OP_LOGICAL_NOT), form, high,
				 depth - 1, out))
			return true;
	}
	return false;
}

/* The bound of a form at an instruction by the conditions around that. */
static bool guarded(const struct lane *e, uint32_t at, const struct lang_form *form, bool high,
		    struct limit *out)
{
	for (uint32_t k = e->loops->nguard; k-- > 0;) {
		const struct lang_guard *g = &e->loops->guard[k];

		if (g->from <= at && at < g->to &&
		    by_condition(e, g->atom, g->holds, form, high, 2 * DEPTH, out))
			return true;
	}
	return false;
}

/* ---- The test ---- */

/* The span by a condition around the place; NOTHING. */
static uint32_t by_guard(struct lane *e, uint32_t loop, const struct group *g,
			 const struct lang_form *f, bool high)
{
	struct limit limit;
	uint32_t v, sum;

	if (g->plain || !guarded(e, e->loops->place[g->place].at, f, high, &limit))
		return NOTHING;
	v = bound_of(e, loop, &limit.form, high);
	/* It counts only if what bounds does not wrap at the other side. */
	if (v == NOTHING || bound_of(e, loop, &limit.form, !high) == NOTHING)
		return NOTHING;
	sum = fresh(e);
	text_put(&e->o, "bz_span_add(v%u, bz_span_at(%lldl), &bad);\n", v, (long long)limit.offset);
	return sum;
}

/* A place is only come to in turns of the loops around it, which are where a loop's start lies
 * before its stop: so an index that is a start of one inside of `loop`, but for a constant, is
 * below its stop, and one that is a stop above its start.  That loop, and the constant; LANG_NONE.
 */
static uint32_t turn_of(const struct lane *e, uint32_t loop, uint32_t at, const struct lang_form *f,
			bool high, int64_t *far)
{
	for (uint32_t k = 0; k < e->loops->nloop; k++) {
		const struct lang_loop *x = &e->loops->loop[k];
		struct lang_form away;

		if (k == loop || !lang_loop_inside(e->loops, k, loop) || at <= x->range ||
		    at > x->end || !e->bounded[k] || !emit_lang_by_one(e, &e->p->code[x->range]) ||
		    !lang_form_add_exactly(&away, f, &e->loops->form[high ? x->start : x->stop],
					   -1) ||
		    away.n || __builtin_add_overflow(away.constant, high ? -1 : 1, far))
			continue;
		return k;
	}
	return LANG_NONE;
}

/* The span v, or what turns say of that end, whichever is less wide. */
static uint32_t by_turn(struct lane *e, uint32_t loop, const struct group *g,
			const struct lang_form *f, bool high, uint32_t v)
{
	int64_t far = 0;
	uint32_t k = turn_of(e, loop, e->loops->place[g->place].at, f, high, &far), end, sum;

	if (k == LANG_NONE || far == INT64_MIN)
		return v;
	end = bound_of(e, loop,
		       &e->loops->form[high ? e->loops->loop[k].stop : e->loops->loop[k].start],
		       high);
	if (end == NOTHING)
		return v;
	sum = fresh(e);
	text_put(&e->o, "bz_span_add(v%u, bz_span_at(%lldl), &bad);\n", end, (long long)far);
	end = fresh(e);
	text_put(&e->o, "{bz_most(v%u.lo, v%u.lo), bz_least(v%u.hi, v%u.hi)};\n", v, sum, v, sum);
	return end;
}

/* One side: bad where it may be outside. */
static bool put_side(struct lane *e, uint32_t loop, const struct group *g, bool high)
{
	struct lang_form f = e->loops->form[g->form];
	uint32_t v;

	f.constant = high ? g->most : g->least;
	v = by_guard(e, loop, g, &f, high);
	if (v == NOTHING) {
		v = bound_of(e, loop, &f, high);
		/* It counts only if the index does not wrap at the other side. */
		if (v == NOTHING || (!g->plain && bound_of(e, loop, &f, !high) == NOTHING))
			return false;
		v = by_turn(e, loop, g, &f, high, v);
	}
	if (high)
		text_put(&e->o, "bad |= v%u.hi > N%u_%u - %d;\n", v, g->array, g->axis,
			 1 - (int)e->p->base);
	else
		text_put(&e->o, "bad |= v%u.lo < %d;\n", v, (int)e->p->base);
	return true;
}

static bool is_plain(const struct lane *e, uint32_t place)
{
	const struct lang_place *x = &e->loops->place[place];
	struct limit limit;

	for (uint32_t k = 0; k < x->rank; k++) {
		const struct lang_form *f = &e->loops->form[e->loops->index[x->index + k]];

		if (guarded(e, x->at, f, true, &limit) || guarded(e, x->at, f, false, &limit))
			return false;
	}
	return true;
}

/* Do turns say the same of the form at the place of the group and here? */
static bool same_turns(const struct lane *e, uint32_t loop, const struct group *g, uint32_t at)
{
	const struct lang_form *f = &e->loops->form[g->form];
	uint32_t there = e->loops->place[g->place].at;
	int64_t far;

	return turn_of(e, loop, there, f, true, &far) == turn_of(e, loop, at, f, true, &far) &&
	       turn_of(e, loop, there, f, false, &far) == turn_of(e, loop, at, f, false, &far);
}

/* Adds an axis of a place to the groups. */
static bool grouped(const struct lane *e, uint32_t loop, struct group *group, unsigned *n,
		    uint32_t place, uint32_t axis)
{
	const struct lang_place *x = &e->loops->place[place];
	uint32_t form = e->loops->index[x->index + axis];
	const struct lang_form *f = &e->loops->form[form];
	struct lang_form far;
	struct limit bound;
	bool plain = !guarded(e, x->at, f, true, &bound) && !guarded(e, x->at, f, false, &bound);

	for (unsigned k = 0; plain && k < *n; k++) {
		struct group *g = &group[k];

		if (!g->plain || g->array != x->array || g->axis != axis ||
		    !lang_form_add(&far, f, &e->loops->form[g->form], -1) || far.n ||
		    !same_turns(e, loop, g, x->at))
			continue;
		g->least = f->constant < g->least ? f->constant : g->least;
		g->most = f->constant > g->most ? f->constant : g->most;
		return true;
	}
	if (*n == GROUPS_MAX)
		return false;
	group[(*n)++] = (struct group){.array = x->array,
				       .axis = axis,
				       .place = place,
				       .form = form,
				       .least = f->constant,
				       .most = f->constant,
				       .plain = plain};
	return true;
}

static void take_back(struct lane *e, size_t n, uint32_t values)
{
	e->values = values;
	e->o.n = n;
	if (e->o.s)
		e->o.s[n] = 0;
}

/* Are the forms of a loop's bounds what the bounds are? */
static bool bounded(struct lane *e, uint32_t loop, const struct lang_loop *x)
{
	size_t n = e->o.n;
	uint32_t values = e->values;
	bool fine = span_of_form(e, loop, &e->loops->form[x->start], DEPTH) != NOTHING &&
		    span_of_form(e, loop, &e->loops->form[x->stop], DEPTH) != NOTHING;

	if (!fine)
		take_back(e, n, values);
	return fine;
}

/* Can it be told of this form at all?  What is written meanwhile is taken back. */
static bool tells(struct lane *e, uint32_t loop, uint32_t place, uint32_t axis)
{
	const struct lang_place *x = &e->loops->place[place];
	const struct lang_form *f = &e->loops->form[e->loops->index[x->index + axis]];
	struct group g = {.array = x->array,
			  .axis = axis,
			  .place = place,
			  .form = e->loops->index[x->index + axis],
			  .least = f->constant,
			  .most = f->constant};
	uint32_t values = e->values;
	size_t n = e->o.n;
	bool fine = put_side(e, loop, &g, false) && put_side(e, loop, &g, true);

	take_back(e, n, values);
	return fine;
}

static bool takes(struct lane *e, uint32_t loop, uint32_t place)
{
	const struct lang_place *x = &e->loops->place[place];

	if (x->loop == LANG_NONE || !lang_loop_inside(e->loops, x->loop, loop) || e->inside[x->at])
		return false;
	for (uint32_t k = 0; k < x->rank; k++)
		if (!tells(e, loop, place, k))
			return false;
	return true;
}

/* ---- A short way ----
 *
 * The test of a loop inside of another takes as long as two turns or three of a sparse matrix.  Of
 * one that has few turns it is enough that its first index lies so far before the end of each array
 * as any of them could: which is one comparison, as below 0 is far behind as an unsigned number.
 * Where that does not hold, at the end of an array at the latest, the test tells. */

/* One comparison: of the first index of some groups with what the shortest of their arrays has room
 * for. */
struct quick {
	struct lang_form first;
	uint32_t form, room;
};

/* Is the form the loop's number, or none of its numbers, and something that is known before? */
static bool is_quick(const struct lane *e, uint32_t loop, const struct lang_form *f, bool *moves)
{
	*moves = false;
	for (unsigned k = 0; k < f->n; k++) {
		const struct lang_term *t = &f->term[k];
		bool mine = inside(e, t->atom, loop);

		if (mine ? *moves || t->factor != 1 || t->by != LANG_NONE
			 : !lang_atom_before(e->loops, t->atom, loop) ||
				    (t->by != LANG_NONE &&
				     !lang_atom_before(e->loops, t->by, loop)))
			return false;
		*moves |= mine;
	}
	return true;
}

/* Do the two differ by a constant? */
static bool same_but(const struct lane *e, const struct group *a, const struct quick *b)
{
	struct lang_form far;

	return lang_form_add(&far, &e->loops->form[a->form], &e->loops->form[b->form], -1) &&
	       !far.n;
}

/* The groups that differ from `group[k]` by constants.  The room that they have is found where the
 * function begins: there it is once for all turns of the loops around this. */
static bool put_room(struct lane *e, struct text *top, uint32_t loop, const struct group *group,
		     unsigned n, unsigned k, struct quick *q)
{
	int64_t least = group[k].least, most = group[k].most;
	bool moves;

	q->form = group[k].form;
	q->first = e->loops->form[q->form];
	if (!group[k].plain || !is_quick(e, loop, &q->first, &moves))
		return false;
	for (unsigned j = k; j < n; j++)
		if (same_but(e, &group[j], q)) {
			least = group[j].least < least ? group[j].least : least;
			most = group[j].most > most ? group[j].most : most;
		}
	if (least < -QUICK_FAR || most > QUICK_FAR)
		return false;
	q->first.constant = least - (int)e->p->base;
	q->room = e->rooms++;
	text_put(top, "bz_i64 m%u = BZ_MOST;\n", q->room);
	for (unsigned j = k; j < n; j++)
		if (same_but(e, &group[j], q))
			text_put(top, "m%u = bz_least(m%u, N%u_%u - %d%s);\n", q->room, q->room,
				 group[j].array, group[j].axis, (int)(group[j].most - least),
				 moves ? " - (BZ_FEW - 1)" : "");
	text_put(top, "m%u = bz_most(m%u, 0);\n", q->room, q->room);
	return true;
}

/* What groups need; 0: it is not as simple as that. */
static unsigned put_rooms(struct lane *e, struct text *top, uint32_t loop,
			  const struct group *group, unsigned n, struct quick quick[QUICK_MAX])
{
	unsigned count = 0;

	for (unsigned k = 0; k < n; k++) {
		bool known = false;

		for (unsigned j = 0; j < count; j++)
			known |= same_but(e, &group[k], &quick[j]);
		if (known)
			continue;
		if (count == QUICK_MAX || !put_room(e, top, loop, group, n, k, &quick[count]))
			return 0;
		count++;
	}
	return count;
}

/* Before the test, which begins at `at`. */
static void put_short_way(struct lane *e, uint32_t loop, const struct group *group, unsigned n,
			  size_t at)
{
	struct version *copy = &e->version[e->nversion - 1];
	uint32_t range = e->loops->loop[loop].range;
	struct text top = {0}, test = {0}, all = e->o;
	struct quick quick[QUICK_MAX];
	unsigned count =
		n && emit_lang_has_few(e, range) ? put_rooms(e, &top, loop, group, n, quick) : 0;

	if (count) {
		e->o = test;
		emit_lang_begin_range(e, range);
		text_put(&e->o, "if (BZ_OFTEN(");
		for (unsigned k = 0; k < count; k++) {
			text_put(&e->o, "BZ_QUICK(");
			put_sum(e, &quick[k].first, loop);
			text_put(&e->o, ", m%u) && ", quick[k].room);
		}
		emit_lang_are_few(e, range);
		text_put(&e->o, ")) goto F%u;\n", copy->number);
		test = e->o;
		e->o = all;
		text_insert(&e->o, at, test.s);
		text_insert(&e->o, e->opened, top.s);
		copy->quick = true;
	}
	free(test.s);
	free(top.s);
}

unsigned emit_lang_bounds(struct lane *e, uint32_t loop)
{
	struct group group[GROUPS_MAX];
	unsigned n = 0, places = 0;
	size_t begin = e->o.n;

	text_put(&e->o, "int bad = 0;\n");
	for (uint32_t k = 0; k < e->loops->nloop; k++)
		if (lang_loop_inside(e->loops, k, loop))
			e->bounded[k] = bounded(e, loop, &e->loops->loop[k]);
	for (uint32_t k = 0; k < e->loops->nplace && e->values < VALUES_MAX / 2; k++) {
		const struct lang_place *x = &e->loops->place[k];
		bool fits = takes(e, loop, k);

		for (uint32_t axis = 0; fits && axis < x->rank; axis++)
			fits = grouped(e, loop, group, &n, k, axis);
		if (fits)
			e->inside[x->at] = is_plain(e, k) ? INSIDE_ALWAYS : INSIDE_HERE;
		places += fits;
	}
	put_short_way(e, loop, group, n, begin);
	for (unsigned k = 0; k < n; k++)
		if (!put_side(e, loop, &group[k], false) || !put_side(e, loop, &group[k], true))
			text_put(&e->o, "bad = 1;\n");
	return places;
}
