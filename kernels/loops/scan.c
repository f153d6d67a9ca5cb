/* SPDX-License-Identifier: Apache-2.0 */
/* loops/scan.c - patches of scans: runs of lanes whose step is constant, block by block. */
#include "scan.h"

#define UNIT_ELEMENTS (1 << 18) /* of a tile's block: short work, and enough of it */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool scan_cut(struct scan_cut *out, int64_t lanes, int64_t n)
{
	int64_t units = 0;

	out->lanes = lanes;
	out->blocks = n / SCAN_BLOCK + (n % SCAN_BLOCK != 0);
	out->tile = UNIT_ELEMENTS / (n < 1 ? 1 : least(n, SCAN_BLOCK));
	out->tiles = lanes / out->tile + (lanes % out->tile != 0);
	return !__builtin_mul_overflow(out->tiles, out->blocks, &units);
}

/* Of the lanes [*first, last) as many as have one step: a patch of their n elements from `at` on,
 * and *first moves on. */
static struct scan_patch patch(const struct scan_call *c, int64_t *first, int64_t last, int64_t at,
			       int64_t n)
{
	struct scan_patch p = {.to = c->to + at * c->lanes.to_step,
			       .from = c->from + at * c->lanes.from_step,
			       .n = n,
			       .to_step = c->lanes.to_step,
			       .from_step = c->lanes.from_step,
			       .lanes = last - *first};
	int64_t rest = *first;

	for (int a = c->lanes.axes; a-- > 0;) {
		int64_t i = rest % c->lanes.extent[a];

		p.to += i * c->lanes.to_lane[a];
		p.from += i * c->lanes.from_lane[a];
		rest /= c->lanes.extent[a];
	}
	if (c->lanes.axes) {
		int64_t run = c->lanes.extent[c->lanes.axes - 1];

		p.to_lane = c->lanes.to_lane[c->lanes.axes - 1];
		p.from_lane = c->lanes.from_lane[c->lanes.axes - 1];
		p.lanes = least(p.lanes, run - *first % run);
	}
	*first += p.lanes;
	return p;
}

static int64_t block_elements(const struct scan_call *c, int64_t block)
{
	return least(SCAN_BLOCK, c->lanes.n - block * SCAN_BLOCK);
}

/* Whole blocks of one lane are lanes to the loops. */
static void local_of_one(const struct scan_call *c, int64_t lane, int64_t lo, int64_t hi)
{
	struct scan_patch p = patch(c, &lane, lane + 1, lo * SCAN_BLOCK, SCAN_BLOCK);
	int64_t whole = least(hi, c->lanes.n / SCAN_BLOCK);

	p.lanes = whole - lo;
	p.to_lane = SCAN_BLOCK * p.to_step;
	p.from_lane = SCAN_BLOCK * p.from_step;
	if (p.lanes)
		c->loops->local(&p);
	if (whole == hi)
		return;
	p.to += p.lanes * p.to_lane;
	p.from += p.lanes * p.from_lane;
	p.lanes = 1;
	p.n = c->lanes.n - whole * SCAN_BLOCK;
	c->loops->local(&p);
}

void scan_local(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi)
{
	if (last - first == 1) {
		local_of_one(c, first, lo, hi);
		return;
	}
	for (int64_t b = lo; b < hi; b++) {
		for (int64_t lane = first; lane < last;) {
			struct scan_patch p =
				patch(c, &lane, last, b * SCAN_BLOCK, block_elements(c, b));

			c->loops->local(&p);
		}
	}
}

/* Elements [at, at + n) of each block but a lane's first, added to the last one before the block.
 */
static void add(const struct scan_call *c, int64_t first, int64_t last, int64_t block, int64_t at,
		int64_t n)
{
	if (n <= 0 || block == 0)
		return;
	for (int64_t lane = first; lane < last;) {
		struct scan_patch p = patch(c, &lane, last, block * SCAN_BLOCK + at, n);

		c->loops->add(&p, p.to - (at + 1) * p.to_step, p.to_lane);
	}
}

void scan_join(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi)
{
	for (int64_t b = lo; b < hi; b++)
		add(c, first, last, b, block_elements(c, b) - 1, 1);
}

void scan_spread(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi)
{
	for (int64_t b = lo; b < hi; b++)
		add(c, first, last, b, 0, block_elements(c, b) - 1);
}

void scan_whole(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi)
{
	const int64_t step = 4; /* blocks that are still near when they are added to */

	for (int64_t b = lo; b < hi; b += step) {
		int64_t end = least(b + step, hi);

		scan_local(c, first, last, b, end);
		for (int64_t k = b; k < end; k++)
			add(c, first, last, k, 0, block_elements(c, k));
	}
}
