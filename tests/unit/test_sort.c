/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts: every type against a plain insertion, in every layout and cut, at every instruction set.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "call/sort.h"

static const struct sort_isa *const isa[ISA_END] = {&sort_isa_v2, &sort_isa_v3, &sort_isa_v4};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 20;
}

/* Few values, zeros of both signs and nans of several kinds among them. */
static double number(uint64_t *seed)
{
	static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 1.0, 1e-300};
	uint64_t k = next(seed);

	return k % 4 == 0 ? odd[k / 4 % 8] : (double)(int64_t)(k % 2000) - 1000.25;
}

static bool less(double a, double b)
{
	return a < b || (!isnan(a) && isnan(b));
}

/* NumPy's order of complex numbers, as its documentation has it. */
static bool less_complex(const double *a, const double *b)
{
	int ka = isnan(a[0]) * 2 + isnan(a[1]), kb = isnan(b[0]) * 2 + isnan(b[1]);

	if (ka != kb)
		return ka < kb;
	return less(a[0], b[0]) || (!less(b[0], a[0]) && less(a[1], b[1]));
}

/* `lanes` lanes of n elements by rows, or side by side; gaps: every other element is another's. */
struct problem {
	int64_t lanes, n, gaps;
	bool across, complex;
	double *from, *to;
	int64_t *places, *want;
	struct sort_call c;
};

static int64_t element(const struct problem *p, int64_t lane, int64_t i)
{
	return p->across ? i * p->lanes + lane : lane * p->n + i;
}

static const double *value(const struct problem *p, int64_t lane, int64_t i)
{
	return p->from + element(p, lane, i) * p->gaps * (1 + p->complex);
}

static bool before(const struct problem *p, int64_t lane, int64_t i, int64_t j)
{
	const double *a = value(p, lane, i), *b = value(p, lane, j);

	return p->complex ? less_complex(a, b) : less(*a, *b);
}

/* Stable and plain: by halves. */
static void plain(const struct problem *p, int64_t lane, int64_t *place, int64_t *spare, int64_t n)
{
	int64_t h = n / 2, a = 0, b = h, k = 0;

	if (n < 2)
		return;
	plain(p, lane, place, spare, h);
	plain(p, lane, place + h, spare, n - h);
	while (k < n)
		spare[k++] = b == n || (a < h && !before(p, lane, place[b], place[a])) ? place[a++]
										       : place[b++];
	memcpy(place, spare, (size_t)n * sizeof *place);
}

static struct problem problem_create(int64_t lanes, int64_t n, bool across, int64_t gaps,
				     bool complex)
{
	struct problem p = {
		.lanes = lanes, .n = n, .gaps = gaps, .across = across, .complex = complex};
	int64_t count = lanes * n, parts = 1 + complex, *spare = malloc((size_t)n * 8);
	uint64_t seed = (uint64_t)count;

	p.from = malloc((size_t)(count * gaps * parts) * 8);
	p.to = malloc((size_t)(count * parts) * 8);
	p.places = malloc((size_t)count * 8);
	p.want = malloc((size_t)count * 8);
	for (int64_t i = 0; i < count * gaps * parts; i++)
		p.from[i] = number(&seed);
	for (int64_t l = 0; l < lanes; l++) {
		for (int64_t i = 0; i < n; i++)
			p.want[l * n + i] = i;
		plain(&p, l, p.want + l * n, spare, n);
	}
	free(spare);
	p.c = (struct sort_call){.dtype = complex ? DT_COMPLEX128 : DT_FLOAT64,
				 .from = (const char *)p.from,
				 .lanes = {.n = n,
					   .axes = 1,
					   .extent = {lanes},
					   .from_step = (across ? lanes : 1) * gaps * parts * 8,
					   .from_lane = {(across ? 1 : n) * gaps * parts * 8}}};
	return p;
}

static void problem_finish(struct problem *p)
{
	free(p->from);
	free(p->to);
	free(p->places);
	free(p->want);
}

static void run(struct problem *p, bool places, bool backwards)
{
	int64_t bytes = places ? 8 : dtype_row(p->c.dtype)->bytes;
	struct sort_cut cut;
	char *work, *scratch;

	p->c.places = places;
	p->c.to = places ? (char *)p->places : (char *)p->to;
	p->c.lanes.to_step = (p->across ? p->lanes : 1) * bytes;
	p->c.lanes.to_lane[0] = (p->across ? 1 : p->n) * bytes;
	memset(p->c.to, 0x55, (size_t)(p->lanes * p->n * bytes));
	cr_assert(sort_cut(&cut, p->lanes, p->n, p->c.dtype, places));
	cr_assert_leq(cut.work, SORT_WORK);
	work = aligned_alloc(64, (size_t)cut.work);
	p->c.scratch = scratch = aligned_alloc(64, (size_t)(cut.scratch + 63) / 64 * 64);
	for (int64_t at = 0, end = 0; at < cut.units; at = end) {
		end = sort_stage(&cut, at);
		cr_assert(end > at && end <= cut.units);
		for (int64_t k = at; k < end; k++)
			sort_unit(&p->c, &cut, backwards ? end - 1 - (k - at) : k, work);
	}
	free(work);
	free(scratch);
}

static void verify(const struct problem *p, bool places)
{
	size_t parts = 1 + p->complex;

	for (int64_t l = 0; l < p->lanes; l++)
		for (int64_t i = 0; i < p->n; i++) {
			int64_t want = p->want[l * p->n + i];

			if (places)
				cr_assert_eq(p->places[element(p, l, i)], want,
					     "%lld lanes of %lld: place %lld of lane %lld",
					     (long long)p->lanes, (long long)p->n, (long long)i,
					     (long long)l);
			else
				cr_assert_eq(memcmp(p->to + (size_t)element(p, l, i) * parts,
						    value(p, l, want), parts * 8),
					     0, "%lld lanes of %lld: element %lld of lane %lld",
					     (long long)p->lanes, (long long)p->n, (long long)i,
					     (long long)l);
		}
}

Test(sort, every_layout_at_every_level, .timeout = 120)
{
	static const int64_t shapes[][2] = {{1, 1},   {1, 9},	 {1, 64},    {1, 65},	 {1, 2049},
					    {3, 17},  {5, 1500}, {64, 8},    {1, 16384}, {1, 16385},
					    {300, 3}, {3, 9000}, {2, 40000}, {1, 130001}};

	for (int level = 0; level <= (int)isa_best(); level++)
		for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
			for (int way = 0; way < 16; way++) {
				struct problem p =
					problem_create(shapes[k][0], shapes[k][1], way & 1,
						       1 + (way >> 1 & 1), way >> 2 & 1);

				p.c.isa = isa[level];
				run(&p, way >> 3, way & 1);
				verify(&p, way >> 3);
				problem_finish(&p);
			}
}

/* Zeros and nans of one run alone: a merge keeps their order, too. */
Test(sort, what_is_equal_in_one_run_keeps_its_order, .timeout = 60)
{
	const int64_t block = SORT_KEYS / 8, n = 3 * block + 1000;

	for (int level = 0; level <= (int)isa_best(); level++)
		for (int64_t odd = 0; odd < 4; odd++) {
			struct problem p = problem_create(1, n, false, 1, false);
			int64_t *spare = malloc((size_t)n * 8);

			for (int64_t i = 0; i < n; i++) {
				if (i / block != odd)
					p.from[i] = (double)(i * 7919 % 2000) - 1000.25;
				p.want[i] = i;
			}
			plain(&p, 0, p.want, spare, n);
			free(spare);
			p.c.isa = isa[level];
			run(&p, false, false);
			verify(&p, false);
			problem_finish(&p);
		}
}

/* Each type's least and greatest, in order, through every kind of item. */
Test(sort, ends_of_types)
{
	for (unsigned d = 0; d < DTYPE_END && dtype_computes(d); d++) {
		const struct dtype_row *row = dtype_row(d);
		const struct sort_isa *s = isa[isa_best()];
		const struct sort_type *v = &s->values[d], *p = &s->places[d];

		cr_assert(v->load && p->load && p->store, "%s", row->name);
		cr_assert_eq(v->item, sort_item_of(d, false), "%s", row->name);
		cr_assert_eq(p->item, sort_item_of(d, true), "%s", row->name);
		cr_assert_eq(!v->store, row->cls == CLASS_COMPLEX, "%s", row->name);
		cr_assert_eq(v->floating, row->cls == CLASS_FLOAT, "%s", row->name);
		cr_assert(!v->floating || s->loops[v->item].settle);
		cr_assert(s->loops[p->item].places);
	}
}

/* Elements become keys and come back with all their bits. */
Test(sort, keys_there_and_back)
{
	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned d = 0; d < DTYPE_END; d++) {
			const struct sort_type *v = &isa[level]->values[d];
			int64_t bytes = dtype_row(d)->bytes, n = 1000;
			char from[8000], items[8000], to[8000];
			struct sort_patch p = {
				.at = from, .n = n, .step = bytes, .lanes = 1, .lane = 0};
			uint64_t seed = d;

			for (size_t i = 0; i < sizeof from; i++)
				from[i] = (char)(d == DT_BOOL ? next(&seed) & 1 : next(&seed));
			if (!v->store)
				continue;
			v->load(items, &p);
			p.at = to;
			v->store(&p, items);
			cr_assert_eq(memcmp(from, to, (size_t)(n * bytes)), 0, "%s",
				     dtype_row(d)->name);
		}
}

/* Scratch memory is a client's, too: whatever it becomes, nothing else is read or written. */
Test(sort, scribbles_are_harmless)
{
	for (int way = 0; way < 4; way++) {
		struct problem p = problem_create(1, 40000, false, 1, way >> 1);
		bool places = way & 1;
		struct sort_cut cut;
		uint64_t seed = (uint64_t)way;
		char *work, *scratch;

		p.c.isa = isa[isa_best()];
		p.c.places = places;
		p.c.to = places ? (char *)p.places : (char *)p.to;
		p.c.lanes.to_step = places ? 8 : dtype_row(p.c.dtype)->bytes;
		cr_assert(sort_cut(&cut, 1, p.n, p.c.dtype, places));
		work = aligned_alloc(64, (size_t)cut.work);
		p.c.scratch = scratch = aligned_alloc(64, (size_t)(cut.scratch + 63) / 64 * 64);
		for (int64_t u = 0; u < cut.units; u++) {
			for (int64_t i = 0; i + 8 <= cut.scratch; i += 8)
				*(uint64_t *)(void *)(scratch + i) =
					next(&seed) * 0x9e3779b97f4a7c15u;
			sort_unit(&p.c, &cut, u, work);
		}
		free(work);
		free(scratch);
		problem_finish(&p);
	}
}

static struct plan_call step(int64_t lanes, int64_t n, unsigned op)
{
	struct plan_call c = {.call = CALL_SORT,
			      .dtype = DT_FLOAT64,
			      .nloop = 2,
			      .op = (uint16_t)op,
			      .extent = {lanes, n},
			      .operand = {{.dtype = DT_FLOAT64, .stride = {n * 8, 8}},
					  {.dtype = DT_FLOAT64, .stride = {n * 8, 8}}}};

	if (op == OP_ARGSORT)
		c.operand[1].dtype = DT_INT64;
	sort_add_scratch(&c);
	return c;
}

static int order_32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int order_64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Wide keys, the same few, falling ones, the greatest and the least, and hills. */
static uint64_t key(uint64_t *seed, int kind, int64_t i, int64_t n)
{
	uint64_t k = next(seed) * 0x9e3779b97f4a7c15u;

	switch (kind) {
	case 0:
		return k;
	case 1:
		return k >> 61 << 40 | k >> 61 << 8;
	case 2:
		return (uint64_t)(n - i) << 36 | (uint64_t)(n - i) << 9;
	case 3:
		return k & 1 ? UINT64_MAX : k & 2 ? 0 : k;
	default:
		return (uint64_t)(i < n / 2 ? i : n - i) * 0x100000301u << 7;
	}
}

/* Keys alone, in one lane and all lengths up to some vectors, then longer ones. */
Test(sort, keys_alone)
{
	enum { MOST = 20000 };
	uint64_t *from = malloc(MOST * 8), *to = malloc(MOST * 8), *want = malloc(MOST * 8);
	char *work = aligned_alloc(64, SORT_WORK);
	uint64_t seed = 7;

	for (int64_t n = 1; n <= MOST; n = n < 600 ? n + 1 : n * 5 / 3)
		for (int kind = 0; kind < 5; kind++)
			for (int wide = 0; wide < 2; wide++) {
				struct sort_call c = {.dtype = wide ? DT_UINT64 : DT_UINT32,
						      .from = (const char *)from,
						      .to = (char *)to};
				int64_t bytes = wide ? 8 : 4;
				struct sort_cut cut;

				c.lanes = (struct lanes){
					.n = n, .from_step = bytes, .to_step = bytes};
				for (int64_t i = 0; i < n; i++) {
					uint64_t k = key(&seed, kind, i, n);

					from[i] = k;
					if (!wide)
						((uint32_t *)from)[i] = (uint32_t)k;
				}
				memcpy(want, from, (size_t)(n * bytes));
				qsort(want, (size_t)n, (size_t)bytes, wide ? order_64 : order_32);
				cr_assert(sort_cut(&cut, 1, n, c.dtype, false));
				if (cut.levels)
					continue;
				for (int level = 0; level <= isa_best(); level++) {
					c.isa = isa[level];
					memset(to, 0x55, (size_t)(n * bytes));
					sort_unit(&c, &cut, 0, work);
					cr_assert(!memcmp(to, want, (size_t)(n * bytes)),
						  "%lld keys of %lld bytes, kind %d, level %d",
						  (long long)n, (long long)bytes, kind, level);
				}
			}
	free(from);
	free(to);
	free(want);
	free(work);
}

Test(sort, scratch_memory_is_what_units_use)
{
	for (int64_t n = 1; n < 3000000; n = n * 3 + 1)
		for (int64_t lanes = 1; lanes < 100; lanes = lanes * 5 + 1) {
			struct plan_call c = step(lanes, n, OP_ARGSORT);
			struct sort_call s;
			struct sort_cut cut;
			int64_t lo = 0, hi = 0;

			cr_assert_eq(call_check(&c, NULL), OK);
			sort_of(&s, &cut, &c);
			call_range(&lo, &hi, &c, 2);
			cr_assert(lo == 0 && hi >= cut.scratch);
			cr_assert_eq((uint64_t)hi, sort_add_scratch(&c));
			cr_assert(!cut.levels || cut.scratch >= n * 16);
		}
}

Test(sort, as_a_step)
{
	struct plan_call c = step(10, 500000, OP_SORT);
	struct call_units u;

	cr_assert_eq(call_check(&c, NULL), OK);
	call_row(CALL_SORT)->units(&u, &c, false);
	cr_assert_gt(u.total, 1);
	cr_assert(!u.kept && u.grain == 1);
	cr_assert_gt(call_row(CALL_SORT)->work(&c), 5000000);
	for (int mistake = 0; mistake < 9; mistake++) {
		c = step(10, 500000, OP_SORT);
		if (mistake == 0)
			c.op = OP_CUMSUM;
		else if (mistake == 1)
			c.nloop = 0;
		else if (mistake == 2)
			c.operand[0].dtype = DT_INT64;
		else if (mistake == 3)
			c.operand[1].dtype = DT_INT64;
		else if (mistake == 4)
			c.op = OP_ARGSORT;
		else if (mistake == 5)
			c.operand[2].stride[1] = 1; /* less than it uses */
		else if (mistake == 6)
			c.operand[2].stride[0] = 8;
		else if (mistake == 7)
			c.operand[2].dtype = DT_INT64;
		else {
			c.extent[0] = c.extent[1] = INT64_MAX / 2;
			memset(c.operand[0].stride, 0, sizeof c.operand[0].stride);
			memset(c.operand[1].stride, 0, sizeof c.operand[1].stride);
		}
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}

/* Places of more elements than their bits count have no room beside a key. */
Test(sort, the_longest_lanes)
{
	struct plan_call c = step(1, (int64_t)UINT32_MAX + 1, OP_ARGSORT);

	cr_assert_eq(call_check(&c, NULL), OK);
	c.dtype = DT_FLOAT32;
	c.operand[0].dtype = DT_FLOAT32;
	c.operand[0].stride[1] = 4;
	sort_add_scratch(&c);
	cr_assert_eq(call_check(&c, NULL), E_INTERNAL);
	c.extent[1]--;
	sort_add_scratch(&c);
	cr_assert_eq(call_check(&c, NULL), OK);
}
