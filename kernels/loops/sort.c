/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort.c - units of a sort: lanes or blocks of them, in through the items, out again. */
#include "sort.h"

#include <string.h>

#define GROUP (1 << 20) /* items of lanes that go level by level together */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t ceiling(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

static bool is_complex(unsigned dtype)
{
	return dtype_row(dtype)->cls == CLASS_COMPLEX;
}

enum sort_item sort_item_of(unsigned dtype, bool places)
{
	int bytes = dtype_row(dtype)->bytes;

	if (places || is_complex(dtype))
		return bytes > 8 ? SORT_128_PLACE : bytes == 8 ? SORT_64_PLACE : SORT_64;
	return bytes == 1 ? SORT_8 : bytes == 2 ? SORT_16 : bytes == 4 ? SORT_32 : SORT_64;
}

int64_t sort_longest(unsigned dtype, bool places)
{
	return places && sort_item_of(dtype, places) == SORT_64 ? UINT32_MAX : INT64_MAX;
}

/* ---- The cut ---- */

bool sort_cut(struct sort_cut *out, int64_t lanes, int64_t n, unsigned dtype, bool places)
{
	static const int64_t bytes[SORT_ITEMS] = {1, 2, 4, 8, 16, 32};
	int64_t stages = 0, items = 0;

	*out = (struct sort_cut){.lanes = lanes, .n = n};
	out->bytes = bytes[sort_item_of(dtype, places)];
	out->block = (out->bytes > 8 ? SORT_BLOCK : SORT_KEYS) / out->bytes;
	out->blocks = ceiling(n, out->block);
	if (!n || !lanes)
		return true;
	if (out->blocks == 1) {
		out->group = n < SORT_BLOCK / out->bytes ? SORT_BLOCK / out->bytes / n : 1;
		out->group = least(out->group, lanes);
		out->units = ceiling(lanes, out->group);
		items = out->group * n;
	} else {
		while (out->blocks > (int64_t)1 << out->levels)
			out->levels++;
		out->group = least(n < GROUP ? GROUP / n : 1, lanes);
		items = out->block;
		if (__builtin_mul_overflow(out->blocks, out->levels + 1, &stages) ||
		    __builtin_mul_overflow(stages, lanes, &out->units) ||
		    __builtin_mul_overflow(out->group * out->bytes * (out->levels > 1 ? 2 : 1), n,
					   &out->scratch))
			return false;
	}
	out->work = 2 * ((items * out->bytes + 127) / 64 * 64);
	return true;
}

/* Where a unit stands among those of its group. */
struct place {
	int64_t first, lanes; /* the group's */
	int64_t at, stage;    /* the unit's number in its stage, and the stage's units */
	int level;
};

static struct place place_of(const struct sort_cut *cut, int64_t unit)
{
	int64_t each = cut->group * cut->blocks * (cut->levels + 1), rest = unit % each;
	struct place p = {.first = unit / each * cut->group};

	p.lanes = least(cut->group, cut->lanes - p.first);
	p.stage = p.lanes * cut->blocks;
	p.level = (int)(rest / p.stage);
	p.at = rest % p.stage;
	return p;
}

int64_t sort_stage(const struct sort_cut *cut, int64_t unit)
{
	struct place p;

	if (!cut->levels)
		return cut->units;
	p = place_of(cut, unit);
	return unit - p.at + p.stage;
}

/* ---- Units ---- */

static const struct sort_type *type_of(const struct sort_call *c)
{
	return c->places ? &c->isa->places[c->dtype] : &c->isa->values[c->dtype];
}

/* Bytes from the first lane to this one, by steps of the axes. */
static int64_t lane_offset(const struct sort_call *c, const int64_t *step, int64_t lane)
{
	int64_t offset = 0;

	for (int a = c->lanes.axes; a-- > 0;) {
		offset += lane % c->lanes.extent[a] * step[a];
		lane /= c->lanes.extent[a];
	}
	return offset;
}

/* Lanes from `lane` on whose step is constant, at most `most`. */
static int64_t lane_run(const struct sort_call *c, int64_t lane, int64_t most)
{
	int64_t run = c->lanes.axes ? c->lanes.extent[c->lanes.axes - 1] : 1;

	return least(most, run - lane % run);
}

static struct sort_patch patch(const struct sort_call *c, bool result, int64_t lane, int64_t lanes,
			       int64_t at, int64_t n)
{
	const int64_t *step = result ? c->lanes.to_lane : c->lanes.from_lane;
	struct sort_patch p = {.n = n,
			       .step = result ? c->lanes.to_step : c->lanes.from_step,
			       .lanes = lanes,
			       .lane = c->lanes.axes ? step[c->lanes.axes - 1] : 0,
			       .first = at};

	p.at = (result ? c->to : (char *)(uintptr_t)c->from) + lane_offset(c, step, lane) +
	       at * p.step;
	return p;
}

static bool load(const struct sort_call *c, void *items, int64_t bytes, int64_t lane, int64_t lanes,
		 int64_t at, int64_t n)
{
	const struct sort_type *type = type_of(c);
	char *to = items;
	bool odd = false;

	for (int64_t k = 0, run = 0; k < lanes; k += run) {
		struct sort_patch p;

		run = lane_run(c, lane + k, lanes - k);
		p = patch(c, false, lane + k, run, at, n);
		odd |= type->load(to + k * n * bytes, &p);
	}
	return odd;
}

/* Elements of a lane by their places, which may be anything: all are read in the lane. */
static void fetch(const struct sort_patch *to, const struct sort_patch *from, const int64_t *place,
		  int64_t longest, size_t bytes)
{
	for (int64_t i = 0; i < to->n; i++) {
		int64_t k = place[i];

		k = k < 0 || k >= longest ? 0 : k;
		memcpy(to->at + i * to->step, from->at + k * from->step, bytes);
	}
}

/* Results [at, at + n) of some lanes; spare: room for as many items. */
static void store(const struct sort_call *c, const char *items, void *spare, int64_t bytes,
		  int64_t lane, int64_t lanes, int64_t at, int64_t n)
{
	const struct sort_type *type = type_of(c);

	for (int64_t k = 0, run = 0; k < lanes; k += run) {
		struct sort_patch p, from;

		run = type->store ? lane_run(c, lane + k, lanes - k) : 1;
		p = patch(c, true, lane + k, run, at, n);
		if (type->store) {
			type->store(&p, items + k * n * bytes);
			continue;
		}
		c->isa->loops[type->item].places(spare, items + k * n * bytes, n);
		from = patch(c, false, lane + k, 1, 0, n);
		fetch(&p, &from, spare, c->lanes.n, dtype_row(c->dtype)->bytes);
	}
}

/* Sort n elements each of some lanes from `at` on, which go by `items` into `sorted`. */
static void sort_blocks(const struct sort_call *c, char *sorted, char *items, int64_t lane,
			int64_t lanes, int64_t at, int64_t n)
{
	const struct sort_type *type = type_of(c);
	const struct sort_loops *loops = &c->isa->loops[type->item];
	int64_t each = n * loops->bytes;
	bool odd = load(c, n == 1 ? sorted : items, loops->bytes, lane, lanes, at, n);

	if (n == 1)
		return;
	for (int64_t k = 0; k < lanes; k++)
		loops->block(sorted + k * each, items + k * each, n, type->low);
	if (!odd)
		return;
	load(c, items, loops->bytes, lane, lanes, at, n);
	for (int64_t k = 0; k < lanes; k++)
		loops->settle(sorted + k * each, items + k * each, n);
}

/* Whole lanes, no longer than a block. */
static void short_lanes(const struct sort_call *c, const struct sort_cut *cut, int64_t unit,
			char *items, char *sorted)
{
	int64_t lane = unit * cut->group, lanes = least(cut->group, cut->lanes - lane);

	sort_blocks(c, sorted, items, lane, lanes, 0, cut->n);
	store(c, sorted, items, cut->bytes, lane, lanes, 0, cut->n);
}

/* The lane's items at a level but the last: levels take turns. */
static char *lane_items(const struct sort_call *c, const struct sort_cut *cut,
			const struct place *p, int level)
{
	int64_t lane = p->at / cut->blocks;

	return c->scratch + ((level & 1) * cut->group + lane) * cut->n * cut->bytes;
}

/* Results [at, at + n) of a level's merges, of whose runs no two lie in one. */
static void merge(const struct sort_call *c, const struct sort_cut *cut, const struct place *p,
		  char *to, int64_t at, int64_t n)
{
	const struct sort_type *type = type_of(c);
	const char *from = lane_items(c, cut, p, p->level - 1);
	int64_t run = cut->block << (p->level - 1), first = at / (2 * run) * (2 * run);
	int64_t na = least(run, cut->n - first), nb = least(run, cut->n - first - na);

	c->isa->loops[type->item].merge(to, from + first * cut->bytes, na,
					from + (first + na) * cut->bytes, nb, at - first, n,
					type->floating);
}

void sort_unit(const struct sort_call *c, const struct sort_cut *cut, int64_t unit, char *work)
{
	char *half = work + cut->work / 2;
	int64_t at = 0, n = 0;
	struct place p;

	if (!cut->levels) {
		short_lanes(c, cut, unit, work, half);
		return;
	}
	p = place_of(cut, unit);
	at = p.at % cut->blocks * cut->block;
	n = least(cut->block, cut->n - at);
	if (p.level == 0) {
		sort_blocks(c, half, work, p.first + p.at / cut->blocks, 1, at, n);
		memcpy(lane_items(c, cut, &p, 0) + at * cut->bytes, half, (size_t)(n * cut->bytes));
	} else if (p.level < cut->levels) {
		merge(c, cut, &p, lane_items(c, cut, &p, p.level) + at * cut->bytes, at, n);
	} else {
		merge(c, cut, &p, half, at, n);
		store(c, half, work, cut->bytes, p.first + p.at / cut->blocks, 1, at, n);
	}
}
