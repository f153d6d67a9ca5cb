/* SPDX-License-Identifier: Apache-2.0 */
/* The dependence test against enumeration of every pair of points.
 *
 * In: two accesses over at most four loops of at most six turns.  "Independent"
 * and "same point" must be true, "overlap" must not be invented, and a constant
 * distance must be the distance of every overlap. */
#include "fuzz.h"
#include "../golden/points.h"

#define LOOPS 4

struct pair {
	struct depend_access a, b;
	int64_t sa[LOOPS], sb[LOOPS], extent[LOOPS];
	unsigned nloop, nsame;
};

struct truth {
	bool overlap, cross;
	bool several;		 /* overlaps at more than one distance */
	int64_t distance[LOOPS]; /* the first one's */
};

static void meet(struct truth *t, const struct pair *p, const int64_t *i, const int64_t *j)
{
	int64_t x = place(&p->a, i, p->nloop), y = place(&p->b, j, p->nloop);

	if (x >= y + p->b.bytes || y >= x + p->a.bytes)
		return;
	for (unsigned k = 0; k < p->nloop; k++) {
		if (t->overlap && t->distance[k] != j[k] - i[k])
			t->several = true;
		if (!t->overlap)
			t->distance[k] = j[k] - i[k];
	}
	t->overlap = true;
	t->cross |= x != y || p->a.bytes != p->b.bytes || memcmp(i, j, p->nsame * sizeof i[0]);
}

static struct truth enumerate(const struct pair *p)
{
	int64_t i[LOOPS] = {0}, j[LOOPS];
	struct truth t = {0};

	for (unsigned k = 0; k < p->nloop; k++)
		if (!p->extent[k])
			return t;
	do {
		memset(j, 0, sizeof j);
		do
			meet(&t, p, i, j);
		while (step(j, p->extent, p->nloop));
	} while (step(i, p->extent, p->nloop));
	return t;
}

static void draw(struct pair *p, struct fuzz_input *in)
{
	static const uint8_t size[] = {1, 2, 4, 8, 16};
	int64_t points = 1;

	p->nloop = fuzz_below(in, LOOPS + 1);
	p->nsame = fuzz_below(in, p->nloop + 1);
	for (unsigned k = 0; k < LOOPS; k++) {
		p->extent[k] = fuzz_below(in, 7);
		points *= p->extent[k];
		if (points > 100) { /* pairs of points: the square */
			points /= p->extent[k];
			p->extent[k] = 1;
		}
		p->sa[k] = (int8_t)fuzz_byte(in);
		p->sb[k] = fuzz_below(in, 2) ? (int8_t)fuzz_byte(in) : p->sa[k];
	}
	p->a = (struct depend_access){(int8_t)fuzz_byte(in), p->sa, size[fuzz_below(in, 5)]};
	p->b = (struct depend_access){(int8_t)fuzz_byte(in), p->sb, size[fuzz_below(in, 5)]};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct pair p;
	struct truth t;
	struct depend d;

	draw(&p, &in);
	t = enumerate(&p);
	d = depend_test(&p.a, &p.b, p.extent, p.nloop, p.nsame);
	FUZZ_CHECK(d.kind != DEPEND_NONE || !t.overlap);
	FUZZ_CHECK(d.kind != DEPEND_SAME || !t.cross);
	FUZZ_CHECK(d.kind != DEPEND_CROSS || t.overlap);
	if (d.kind != DEPEND_CROSS || !d.constant)
		return 0;
	FUZZ_CHECK(!t.several);
	for (unsigned k = 0; k < p.nloop; k++)
		FUZZ_CHECK(p.extent[k] < 2 || d.distance[k] == t.distance[k]);
	return 0;
}
