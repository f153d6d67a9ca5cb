/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_geometry.c - see cuda_geometry.h.
 *
 * The model:
 *   1. the block size of which a multiprocessor holds most threads, the largest of
 *      equals; smaller where otherwise multiprocessors would have no block
 *   2. as many blocks as the GPU holds at once: one wave, whose blocks take turns
 *   3. of a map, up to WAVES_MODEL waves where each thread moves THREAD_BYTES all the same:
 *      blocks that are given out late even out what early ones take longer.  A
 *      reduction's tasks are long, and more blocks than there is room for only cost
 *
 * Measured on an H100 at 10^8 elements, against one wave: a chain of five operations takes 0.94
 * of the time, a stencil 0.95, every second element 0.93; sums of columns 1.06. */
#include "cuda_geometry.h"

#define WARP	     32
#define THREAD_BYTES 128 /* that pay for a thread's start */
#define WAVES_MODEL  64
#define REGISTERS    256  /* a warp is given this many at a time */
#define SHARED_OWN   1024 /* bytes that the driver keeps of each block */

unsigned cuda_geometry_threads(unsigned i)
{
	return 64u << i;
}

static unsigned size_of(unsigned threads)
{
	unsigned i = CUDA_BLOCK_SIZES - 1;

	while (i && cuda_geometry_threads(i) > threads)
		i--;
	return i;
}

static uint64_t up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The greatest power of two up to n, which is not 0. */
static uint32_t power(uint32_t n)
{
	return 1u << (31 - __builtin_clz(n));
}

void cuda_geometry_resident(struct cuda_facts *f, const struct cuda_limits *l)
{
	for (unsigned i = 0; i < CUDA_BLOCK_SIZES; i++) {
		unsigned threads = cuda_geometry_threads(i), warps = threads / WARP;
		/* What is not known is as on most GPUs. */
		uint64_t n = (l->threads ? l->threads : 2048) / threads;

		n = min64(n, l->blocks ? l->blocks : 16);
		if (f->registers && l->registers)
			n = min64(n, l->registers / (up(f->registers * WARP, REGISTERS) *
						     REGISTERS * warps));
		if (f->shared && l->shared)
			n = min64(n, l->shared / (f->shared + SHARED_OWN));
		f->resident[i] = (uint16_t)(threads <= f->most_threads ? n : 0);
	}
}

static unsigned quarter_log(uint64_t n)
{
	return n > 1 ? (63 - (unsigned)__builtin_clzll(n)) / 2 : 0;
}

uint16_t cuda_geometry_class(const struct cuda_launch *l)
{
	unsigned tasks = l->kind == LAUNCH_TASKS ? quarter_log((uint64_t)l->work) : 0;

	return (uint16_t)(quarter_log(l->bytes) | tasks << 8);
}

void cuda_geometry_bytes(uint16_t size, uint64_t *least, uint64_t *most)
{
	unsigned order = 2 * (size & 31u);

	*least = order ? 1ull << order : 0;
	*most = (1ull << (order < 60 ? order + 2 : 62)) - 1;
}

/* ---- a shape on a launch ----------------------------------------------------------- */

/* Blocks that have something to do. */
static uint64_t blocks_of(const struct cuda_launch *l)
{
	uint64_t work = (uint64_t)l->work;

	if (l->kind == LAUNCH_POINTS)
		return up(work, l->threads);
	if (l->kind == LAUNCH_TASKS)
		return up(work * l->team, l->threads / WARP);
	return work;
}

/* A team that its tasks permit. */
static uint32_t team_of(const struct cuda_launch *l, uint32_t wanted)
{
	uint32_t team = power(wanted ? wanted : l->team ? l->team : 1);

	team = team > l->most ? power(l->most) : team;
	team = team < l->least ? l->least : team;
	return team;
}

void cuda_geometry_apply(struct cuda_launch *l, const struct cuda_shape *s,
			 const struct cuda_facts *f)
{
	uint32_t most =
		f->most_threads && f->most_threads < CUDA_THREADS ? f->most_threads : CUDA_THREADS;
	uint32_t threads = s->threads < most ? s->threads : most;
	uint64_t cap = (uint64_t)(f->units ? f->units : 1) * (s->blocks ? s->blocks : 1), grid;

	/* The text of tiles is made for whole blocks. */
	threads = l->kind == LAUNCH_TILES ? CUDA_THREADS : power(threads < WARP ? WARP : threads);
	if (l->kind == LAUNCH_TASKS) {
		l->team = team_of(l, s->team);
		if (threads < l->team * WARP && l->team * WARP <= most)
			threads = l->team * WARP;
	}
	l->threads = threads;
	grid = min64(blocks_of(l), min64(cap, INT32_MAX));
	l->grid = (uint32_t)(grid ? grid : 1);
}

/* ---- the model ---------------------------------------------------------------------- */

static unsigned best_size(const struct cuda_facts *f)
{
	unsigned best = CUDA_BLOCK_SIZES - 1;

	for (unsigned i = CUDA_BLOCK_SIZES; i-- > 0;)
		if (f->resident[i] * cuda_geometry_threads(i) >
		    f->resident[best] * cuda_geometry_threads(best))
			best = i;
	return best;
}

/* Smaller blocks, while there are fewer than multiprocessors. */
static unsigned spread(const struct cuda_launch *l, const struct cuda_facts *f, unsigned size)
{
	struct cuda_launch try = *l;
	unsigned least = l->kind == LAUNCH_TASKS ? l->team * WARP : WARP;

	for (; size; size--) {
		try.threads = cuda_geometry_threads(size);
		if (blocks_of(&try) >= f->units || cuda_geometry_threads(size - 1) < least ||
		    !f->resident[size - 1])
			break;
	}
	return size;
}

void cuda_geometry_model(struct cuda_shape *out, const struct cuda_launch *l,
			 const struct cuda_facts *f)
{
	unsigned size = best_size(f), resident = 0;
	uint64_t waves = 0;

	/* A block combines the chunks of a point: threads for as many as there are. */
	if (l->kind == LAUNCH_ROWS)
		size = size_of(l->most * WARP < CUDA_THREADS ? l->most * WARP
							     : (unsigned)CUDA_THREADS);
	else
		size = l->kind == LAUNCH_TILES ? size_of(CUDA_THREADS) : spread(l, f, size);
	resident = f->resident[size] ? f->resident[size] : 1;
	waves = l->bytes / THREAD_BYTES /
		((uint64_t)(f->units ? f->units : 1) * resident * cuda_geometry_threads(size));
	waves = waves < 1 || l->kind == LAUNCH_TASKS ? 1 : min64(waves, WAVES_MODEL);
	*out = (struct cuda_shape){.threads = (uint16_t)cuda_geometry_threads(size),
				   .team = l->kind == LAUNCH_TASKS ? (uint16_t)l->team : 0,
				   .blocks = (uint32_t)(resident * waves)};
}

/* ---- what may be tried ---------------------------------------------------------------- */

struct choice {
	struct cuda_shape *shape;
	struct cuda_launch made[CUDA_CANDIDATES];
	unsigned n;
	const struct cuda_launch *l;
	const struct cuda_facts *f;
};

static void add(struct choice *c, struct cuda_shape s)
{
	struct cuda_launch made = *c->l;

	cuda_geometry_apply(&made, &s, c->f);
	for (unsigned i = 0; i < c->n; i++)
		if (c->made[i].threads == made.threads && c->made[i].grid == made.grid &&
		    c->made[i].team == made.team)
			return;
	if (c->n == CUDA_CANDIDATES)
		return;
	c->made[c->n] = made;
	c->shape[c->n++] = s;
}

unsigned cuda_geometry_candidates(struct cuda_shape out[CUDA_CANDIDATES],
				  const struct cuda_launch *l, const struct cuda_facts *f)
{
	static const uint8_t waves[] = {1, 2, 4, 16};
	struct choice c = {.shape = out, .l = l, .f = f};
	bool tasks = l->kind == LAUNCH_TASKS;
	struct cuda_shape model;

	cuda_geometry_model(&model, l, f);
	add(&c, model);
	if (l->kind == LAUNCH_ROWS)
		return c.n;
	for (unsigned i = CUDA_BLOCK_SIZES; i-- > 0;) {
		uint32_t threads = cuda_geometry_threads(i);

		/* A team needs its warps; one size fewer leaves room for teams. */
		if (!f->resident[i] || (tasks && (!i || l->least * WARP > threads)))
			continue;
		for (unsigned w = 0; w < sizeof waves; w += tasks ? 2 : 1) {
			struct cuda_shape s = {.threads = (uint16_t)threads,
					       .blocks = (uint32_t)f->resident[i] * waves[w]};

			s.team = tasks ? l->least : 0;
			do
				add(&c, s);
			while (s.team && (s.team = (uint16_t)(s.team * 2)) <= l->most &&
			       s.team * WARP <= (int)threads);
		}
	}
	return c.n;
}
