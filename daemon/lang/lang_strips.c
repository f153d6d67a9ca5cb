/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_strips.c - a loop of loops, by strips of those inside (lang_fuse.h).
 *
 * In:  the tree of a loop in which only such loops stand as may be one.  Out: the code that goes by
 * strips, behind the question whether it may. */
#include "lang_fuse_parts.h"

/* Turns of a strip: what three arrays have there stays in the nearest cache. */
#define STRIP	      1024
#define STRIP_OF_ROWS 8 /* of loops with others inside */

/* Turns by which strips lean, in so many turns of time as are done together. */
#define LEANS	      512
#define LEANS_OF_ROWS 32

/* A loop's heading: its CODE_NEXT is at *start. */
static bool heading(struct lang_checker *c, node *n, struct lang_ins *range, uint32_t *start)
{
	if (!lang_register(c, n, 4, &range->d) || !lang_emit(c, n, *range))
		return false;
	*start = c->program->ncode;
	return lang_emit(c, n, (struct lang_ins){.code = CODE_NEXT, .a = range->d});
}

static bool end_loop(struct lang_checker *c, node *n, uint32_t start)
{
	if (!lang_emit(c, n, (struct lang_ins){.code = CODE_LOOP, .d = start}))
		return false;
	c->program->code[start].d = c->program->ncode;
	return true;
}

/* d = op(a, b) of whole numbers */
static bool computed(struct lang_checker *c, node *n, unsigned op, uint32_t a, uint32_t b,
		     uint32_t *d)
{
	struct lang_ins made = {.code = CODE_OP,
				.op = (uint16_t)op,
				.type = DT_INT64,
				.to = DT_INT64,
				.a = a,
				.b = b};

	if (!lang_register(c, n, 1, &made.d))
		return false;
	*d = made.d;
	return lang_emit(c, n, made);
}

/* d = the lesser of a + b and c */
static bool end_of_strip(struct lang_checker *c, node *n, uint32_t a, uint32_t b, uint32_t least,
			 uint32_t *d)
{
	return computed(c, n, OP_ADD, a, b, d) && computed(c, n, OP_MINIMUM, *d, least, d);
}

static bool by_strips(struct lang_checker *c, node *around, const struct fuse_item *loop,
		      unsigned n, bool flat, uint32_t *fuses)
{
	struct lang_ins ask = {.code = CODE_FUSES, .to = flat, .c = n};
	struct lang_ins strip = {.code = CODE_RANGE, .op = CLAIM_STRIPS},
			outer = {.code = CODE_RANGE};
	uint32_t first[3], starts[2];
	unsigned names = c->nsymbol;

	if (!lang_fuse_bounds(c, loop, n, &ask.b, first) || !lang_bound(c, around->a, &outer.a) ||
	    !lang_bound(c, around->b, &outer.b) || !lang_bound(c, around->c, &outer.c) ||
	    !lang_small(c, around, flat ? STRIP : STRIP_OF_ROWS, &strip.c) ||
	    !lang_fuse_question(c, around, &ask, fuses))
		return false;
	strip.a = first[0];
	strip.b = first[1];
	if (!heading(c, around, &strip, &starts[0]) ||
	    !end_of_strip(c, around, strip.d, strip.c, first[1], &first[1]) ||
	    !heading(c, around, &outer, &starts[1]) || !lang_fuse_number(c, around, outer.d))
		return false;
	first[0] = strip.d;
	if (!lang_fuse_one(c, loop, n, ask.b, first, false))
		return false;
	c->nsymbol = names;
	return end_loop(c, around, starts[1]) && end_loop(c, around, starts[0]);
}

bool lang_fuse_strips(struct lang_checker *c, node *around, uint32_t *fuses)
{
	struct fuse_item loop[LANG_FUSED];
	struct fuse_before b = lang_fuse_remember(c);
	struct err unheard = {0};
	bool sets, flat, fine = false;
	unsigned n = lang_fuse_inside(c, around, loop, &sets);

	if (!n)
		return false;
	flat = lang_fuse_flat(c, loop, n);
	c->err = &unheard;
	c->apart = true;
	c->in_loop = true;
	if (by_strips(c, around, loop, n, flat, fuses) && c->program->ncode < LANG_COPIES_MAX)
		fine = lang_fusion_guess(c->program, *fuses, flat) != 0;
	c->in_loop = b.in_loop;
	c->err = b.err;
	c->apart = b.apart;
	if (!fine)
		lang_fuse_take_back(c, &b);
	return fine;
}

/* ---- Strips that lean ---- */

/* A time loop over loops, as they are taken apart. */
struct lean {
	node *around;
	struct fuse_item loop[LANG_FUSED];
	unsigned n, by; /* by: how far a loop's strip lies before that of the loop before it */
	bool flat;
	uint32_t pairs, outer[3], strip, step; /* registers; step: what a turn of time leans by */
};

/* What lies before all loops' starts, and behind their stops. */
static bool whole_of(struct lang_checker *c, const struct lean *x, uint32_t *low, uint32_t *high)
{
	*low = x->pairs;
	*high = x->pairs + 1;
	for (unsigned k = 1; k < x->n; k++)
		if (!computed(c, x->around, OP_MINIMUM, *low, x->pairs + 2 * k, low) ||
		    !computed(c, x->around, OP_MAXIMUM, *high, x->pairs + 2 * k + 1, high))
			return false;
	return true;
}

/* The loops of one turn of time, each for its strip, of which the first one's begins at `at`. */
static bool leaning_loops(struct lang_checker *c, const struct lean *x, uint32_t at)
{
	uint32_t by, end, first[3] = {0, 0, x->outer[2]};
	unsigned names = c->nsymbol;

	if (!lang_small(c, x->around, x->by, &by))
		return false;
	for (unsigned k = 0; k < x->n; k++) {
		uint32_t own = x->pairs + 2 * k;

		if ((k && !computed(c, x->around, OP_SUBTRACT, at, by, &at)) ||
		    !computed(c, x->around, OP_ADD, at, x->strip, &end) ||
		    !computed(c, x->around, OP_MAXIMUM, own, at, &first[0]) ||
		    !computed(c, x->around, OP_MINIMUM, own + 1, end, &first[1]) ||
		    !lang_fuse_one(c, &x->loop[k], 1, own, first, false))
			return false;
		c->nsymbol = names;
	}
	return true;
}

/* How far the strip of a turn of time lies before that of the first one: d. */
static bool leant(struct lang_checker *c, const struct lean *x, uint32_t from, uint32_t to,
		  uint32_t *d)
{
	return computed(c, x->around, OP_SUBTRACT, to, from, d) &&
	       computed(c, x->around, OP_MULTIPLY, *d, x->step, d);
}

/* Some turns of time: a strip of all loops in each of these, and then the next. */
static bool leaning_turns(struct lang_checker *c, const struct lean *x, const uint32_t turns[3])
{
	node *n = x->around;
	struct lang_ins strip = {.code = CODE_RANGE, .op = CLAIM_SEQUENTIAL, .c = x->strip};
	struct lang_ins time = {.code = CODE_RANGE,
				.op = CLAIM_SEQUENTIAL,
				.a = turns[0],
				.b = turns[1],
				.c = turns[2]};
	uint32_t starts[2], at;

	return whole_of(c, x, &strip.a, &strip.b) && leant(c, x, turns[0], turns[1], &at) &&
	       computed(c, n, OP_ADD, strip.b, at, &strip.b) && heading(c, n, &strip, &starts[0]) &&
	       heading(c, n, &time, &starts[1]) && lang_fuse_number(c, n, time.d) &&
	       leant(c, x, turns[0], time.d, &at) &&
	       computed(c, n, OP_SUBTRACT, strip.d, at, &at) && leaning_loops(c, x, at) &&
	       end_loop(c, n, starts[1]) && end_loop(c, n, starts[0]);
}

/* What is known before: registers of all loops' bounds, and of numbers. */
static bool before_leaning(struct lang_checker *c, struct lean *x)
{
	node *n = x->around;
	uint32_t first[3];

	return lang_fuse_bounds(c, x->loop, x->n, &x->pairs, first) &&
	       lang_bound(c, n->a, &x->outer[0]) && lang_bound(c, n->b, &x->outer[1]) &&
	       lang_bound(c, n->c, &x->outer[2]) &&
	       lang_small(c, n, x->flat ? STRIP : STRIP_OF_ROWS, &x->strip) &&
	       lang_small(c, n, x->n * x->by, &x->step);
}

/* The question, and all turns of time, some and some. */
static bool by_leaning(struct lang_checker *c, struct lean *x, uint32_t *fuses)
{
	node *n = x->around;
	struct lang_ins ask = {.code = CODE_FUSES, .to = (uint8_t)(1 + x->by), .c = x->n};
	struct lang_ins some = {.code = CODE_RANGE, .op = CLAIM_SEQUENTIAL};
	unsigned names = c->nsymbol, many = (x->flat ? LEANS : LEANS_OF_ROWS) / (x->n * x->by);
	uint32_t turns[3], start;

	if (!before_leaning(c, x) || !lang_small(c, n, many > 1 ? many : 1, &some.c))
		return false;
	ask.b = x->pairs;
	some.a = x->outer[0];
	some.b = x->outer[1];
	if (!lang_fuse_question(c, n, &ask, fuses) || !heading(c, n, &some, &start) ||
	    !end_of_strip(c, n, some.d, some.c, some.b, &turns[1]))
		return false;
	turns[0] = some.d;
	turns[2] = x->outer[2];
	if (!leaning_turns(c, x, turns) || !end_loop(c, n, start))
		return false;
	c->nsymbol = names;
	return true;
}

/* Both ways.  It is the loop as it is written that the question is about, whose bounds are known
 * there. */
static bool both_ways(struct lang_checker *c, uint32_t id, struct lean *x)
{
	struct fuse_item item = {id, 0, 0};
	bool apart_before = c->apart, in_loop = c->in_loop;
	struct lang_ins *range;
	uint32_t fuses;
	bool written;

	c->apart = c->in_loop = true;
	written = by_leaning(c, x, &fuses);
	x->by = 0;
	c->apart = apart_before;
	c->in_loop = in_loop;
	if (!written || !lang_fuse_apart(c, &item, 1, fuses) ||
	    c->program->ncode >= LANG_COPIES_MAX)
		return false;
	range = &c->program->code[c->program->code[fuses + 1].d];
	while (range->code != CODE_RANGE)
		range++;
	range->a = x->outer[0];
	range->b = x->outer[1];
	range->c = x->outer[2];
	c->program->code[fuses].a = (uint32_t)(range - c->program->code);
	x->by = lang_lean_guess(c->program, fuses);
	return true;
}

/* First as far as may be, which tells how far has to be. */
bool lang_fuse_leaning(struct lang_checker *c, uint32_t id)
{
	struct fuse_before b = lang_fuse_remember(c);
	struct err unheard = {0};
	struct lean x = {.around = lang_node_at(c, id), .by = LANG_LEAN};
	bool sets, fine = false;

	x.n = lang_fuse_inside(c, x.around, x.loop, &sets);
	if (!x.n || sets || lang_fuse_step(c, x.around) != 1)
		return false;
	x.flat = lang_fuse_flat(c, x.loop, x.n);
	c->err = &unheard;
	for (unsigned k = 0, by; k < 2 && x.by && !fine; k++) {
		by = k ? x.by : 0;
		fine = both_ways(c, id, &x) && x.by && x.by == by;
		if (!fine)
			lang_fuse_take_back(c, &b);
	}
	c->err = b.err;
	return fine;
}
