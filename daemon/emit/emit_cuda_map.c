/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_map.c - a nest without reductions as CUDA C++.
 *
 *   bz_point           one point
 *   bz_points          points [lo, hi), threads next to each other
 *   bz_group           points of a thread next to each other, their accesses whole
 *   bz_vector_points   groups of them; what is not a whole group, point by point
 *   bz_strip           points of a thread BZ_LANES apart: a warp's are next to each other
 *   bz_row_points      strips along the last loop, any alignment
 *   bz_tile_points     blocks of BZ_TILE x BZ_TILE points: what is strided along the
 *                      last loop and dense along another goes through shared memory
 *
 * Groups and strips load everything, compute, then store: all loads are in flight at once,
 * and what is the same for all their points is read once. */
#include "emit_cuda.h"

#include "contract/cuda_abi.h"

/* A thread looks at the cancel word once in this many of its turns. */
#define POLL "if (!(++turn & 63) && bz_cancelled(A.h)) return;\n"

/* This thread among all. */
#define THREADS                                                                                    \
	"const I me = (I)blockIdx.x * (I)blockDim.x + (I)threadIdx.x;\n"                           \
	"const I all = (I)gridDim.x * (I)blockDim.x;\nbz_u32 turn = 0;\n"

/* The point that is `by` further on, without a division; neither lies beyond the loops. */
static void put_next(struct cuda_gen *g)
{
	text_add(g->o, "template <class I> BZ_FN void bz_next(const bz_params &A, bz_place<I> &at, "
		       "const bz_place<I> &by, I last)\n{\nbool over = false;\n");
	for (unsigned l = g->n->npar; l-- > 0;) {
		text_put(g->o, "at.x%u += by.x%u + over;\n", l, l);
		if (l)
			text_put(g->o,
				 l == g->innermost ? "{\nconst I n = last;\n"
						   : "{\nconst I n = (I)A.extent[%u];\n",
				 l);
		if (l)
			text_put(g->o, "over = at.x%u >= n;\nat.x%u -= over ? n : 0;\n}\n", l, l);
	}
	text_add(g->o, "}\n");
}

/* Text with $L for the last loop. */
static void put_last(struct cuda_gen *g, const char *s)
{
	for (; *s; s++) {
		char plain[2] = {*s, 0};

		if (*s != '$')
			text_add(g->o, plain);
		else
			text_put(g->o, "%u", g->innermost);
		s += *s == '$';
	}
}

static void put_points(struct cuda_gen *g)
{
	text_add(g->o,
		 "template <class I> BZ_FN void bz_point(const bz_params &A, bz_place<I> at)\n{\n");
	emit_cuda_place(g);
	emit_cuda_instrs(g, SECTION_BODY);
	text_add(g->o, "}\ntemplate <class I> BZ_FN void bz_points(const bz_params &A)\n{\n"
		       "const I lo = (I)A.h.lo, hi = (I)A.h.hi;\n" THREADS);
	if (g->n->npar)
		put_last(g, "const I last = (I)A.extent[$L];\n");
	else
		text_add(g->o, "const I last = 1;\n");
	text_add(g->o, "bz_place<I> at = bz_decode<I>(A, lo + me);\n"
		       "const bz_place<I> by = bz_decode<I>(A, all);\n"
		       "for (I p = lo + me; p < hi; p += all) {\n" POLL "bz_point<I>(A, at);\n"
		       "bz_next<I>(A, at, by, last);\n}\n}\n");
	emit_cuda_entry(g, ENTRY_bz_map, "bz_points<bz_i64>(A);");
	emit_cuda_entry(g, ENTRY_bz_map_narrow, "bz_points<bz_i32>(A);");
}

/* ---- points of a thread together ------------------------------------------------------ */

static bool has_either(const struct cuda_gen *g, unsigned wide, unsigned narrow)
{
	return emit_cuda_has(g->n, wide) || emit_cuda_has(g->n, narrow);
}

/* Of a group of points: the struct's head, its members' template, and what its functions take
 * besides the place: where it moves memory, what its members are told then, and where it
 * computes. */
struct grouping {
	const char *head, *member, *moves, *tells, *computes;
	const char *skip; /* statement that leaves a point k out */
};

/* Load or store the accesses that are one member of the struct. */
static void put_moves(struct cuda_gen *g, const struct grouping *how, bool write)
{
	const char *name = write ? "store" : "load";

	text_put(g->o,
		 "__device__ __forceinline__ void %s(const bz_params &A, const bz_place<I> &at, "
		 "%s)\n{\n",
		 name, how->moves);
	emit_cuda_place(g);
	for (unsigned a = 0; a < g->n->naccess; a++) {
		if (!emit_cuda_whole(g, a) || write != !!g->n->access[a].write)
			continue;
		text_put(g->o, "a%u.%s(", a, name);
		emit_cuda_address(g, a);
		text_put(g->o, ", %s);\n", how->tells);
	}
	text_add(g->o, "}\n");
}

static void put_group(struct cuda_gen *g, const struct grouping *how)
{
	text_put(g->o, "%s {\n", how->head);
	for (unsigned a = 0; a < g->n->naccess; a++)
		if (emit_cuda_whole(g, a))
			text_put(g->o, "%s<bz_%s, %u> a%u;\n", how->member,
				 emit_cuda_type(g->n->access[a].dtype), g->vector, a);
	put_moves(g, how, false);
	text_put(g->o,
		 "__device__ __forceinline__ void compute(const bz_params &A, const bz_place<I> &at"
		 "%s)\n{\n",
		 how->computes);
	emit_cuda_place(g);
	text_put(g->o, "#pragma unroll\nfor (int k = 0; k < %u; k++) {\n%s", g->vector, how->skip);
	emit_cuda_instrs(g, SECTION_BODY);
	text_add(g->o, "}\n}\n");
	put_moves(g, how, true);
	text_add(g->o, "};\n");
}

/* Along one loop: `flight` vectors, BZ_LANES vectors apart, so that a warp has a stretch of
 * memory of its own. */
static void put_long_vectors(struct cuda_gen *g, unsigned flight)
{
	text_put(g->o,
		 "enum { each = %u, flight = %u, size = BZ_LANES * each * flight };\n"
		 "const I first = (lo + size - 1) / size * size, end = hi / size * size;\n"
		 "const I head = first < hi ? first : hi, tail = end > head ? end : head;\n"
		 "for (I p = first + me / BZ_LANES * size + me %% BZ_LANES * each; p < end; "
		 "p += all * (each * flight)) {\n" POLL "bz_group<I> part[flight];\n",
		 g->vector, flight);
	for (unsigned i = 0; i < 3; i++)
		text_put(g->o, "#pragma unroll\nfor (int i = 0; i < flight; i++)\npart[i].%s);\n",
			 i == 0	  ? "load(A, {p}, i * BZ_LANES"
			 : i == 1 ? "compute(A, {p + i * (BZ_LANES * each)}"
				  : "store(A, {p}, i * BZ_LANES");
	text_add(g->o, "}\n");
}

static void put_short_vectors(struct cuda_gen *g)
{
	text_put(g->o,
		 "enum { each = %u };\n"
		 "const I head = (lo + each - 1) / each * each, tail = hi / each * each;\n",
		 g->vector);
	put_last(g, "const I last = (I)A.extent[$L];\n"
		    "bz_place<I> at = bz_decode<I>(A, head + me * each);\n"
		    "const bz_place<I> by = bz_decode<I>(A, all * each);\n"
		    "for (I p = head + me * each; p < tail; p += all * each) {\n" POLL
		    "bz_group<I> part;\npart.load(A, at, 0);\npart.compute(A, at);\n"
		    "part.store(A, at, 0);\nbz_next<I>(A, at, by, last);\n}\n");
}

static void put_vectors(struct cuda_gen *g)
{
	g->vector = emit_cuda_vector(g->n);
	g->apart = 1;
	if (!g->vector || !has_either(g, ENTRY_bz_map_vector, ENTRY_bz_map_vector_narrow))
		return;
	put_group(g, &(struct grouping){.head = "template <class I> struct bz_group",
					.member = "bz_vector",
					.moves = "int by",
					.tells = "by",
					.computes = "",
					.skip = ""});
	text_add(g->o, "template <class I> BZ_FN void bz_vector_points(const bz_params &A)\n{\n"
		       "const I lo = (I)A.h.lo, hi = (I)A.h.hi;\n" THREADS);
	if (g->n->npar == 1)
		put_long_vectors(g, emit_cuda_flight(g->n));
	else
		put_short_vectors(g);
	text_add(g->o, "const I heads = head - lo, alone = heads + hi - tail;\n"
		       "for (I q = me; q < alone; q += all)\n"
		       "bz_point<I>(A, bz_decode<I>(A, q < heads ? lo + q : tail + q - heads));\n"
		       "}\n");
	emit_cuda_entry(g, ENTRY_bz_map_vector, "bz_vector_points<bz_i64>(A);");
	emit_cuda_entry(g, ENTRY_bz_map_vector_narrow, "bz_vector_points<bz_i32>(A);");
}

/* ---- rows ------------------------------------------------------------------------------ */

/* A row is cut into strips; points [low, room) of `size` are there, from a thread's first
 * on.  Bounds that the compiler knows cost nothing. */
static void put_rows(struct cuda_gen *g)
{
	g->vector = emit_cuda_row(g->n);
	g->apart = CUDA_LANES;
	if (!g->vector)
		return;
	put_group(g,
		  &(struct grouping){
			  .head = "template <class I> struct bz_strip",
			  .member = "bz_lanes",
			  .moves = "int low, int room",
			  .tells = "low, room",
			  .computes = ", int low, int room",
			  .skip = "if (k * BZ_LANES < low || k * BZ_LANES >= room) continue;\n"});
	put_last(
		g,
		"template <class I> BZ_FN void bz_strip_points(const bz_params &A, bz_place<I> at, "
		"I lane, int low, int room)\n{\nbz_strip<I> part;\nat.x$L += lane;\n"
		"part.load(A, at, low, room);\npart.compute(A, at, low, room);\n"
		"part.store(A, at, low, room);\n}\n"
		"template <class I> BZ_FN void bz_row_points(const bz_params &A)\n{\n"
		"const I lo = (I)A.h.lo, hi = (I)A.h.hi, lane = (I)(threadIdx.x % "
		"BZ_LANES);\n" THREADS "const I n = (I)A.extent[$L], warps = all / BZ_LANES;\n");
	text_put(g->o,
		 "enum { size = BZ_LANES * %u };\n"
		 "const I last = (n + size - 1) / size;\n"
		 "const I top = bz_over(lo, n), bottom = bz_over(hi - 1, n);\n"
		 "I u = top * last + me / BZ_LANES;\n"
		 "bz_place<I> at = bz_decode<I>(A, u, last);\n"
		 "const bz_place<I> by = bz_decode<I>(A, warps, last);\n"
		 "for (; u < (bottom + 1) * last; u += warps) {\n" POLL "bz_place<I> p = at;\n",
		 g->vector);
	put_last(g, "p.x$L = at.x$L * size;\n"
		    "const I low = u < (top + 1) * last ? lo - top * n - p.x$L : 0;\n"
		    "const I room = (u >= bottom * last ? hi - bottom * n : n) - p.x$L;\n"
		    "if (low <= 0 && room >= size)\n"
		    "bz_strip_points<I>(A, p, lane, 0, size);\n"
		    "else\n"
		    "bz_strip_points<I>(A, p, lane, (int)(low < size ? low - lane : size), "
		    "(int)((room < size ? room : size) - lane));\n"
		    "bz_next<I>(A, at, by, last);\n}\n}\n");
	emit_cuda_entry(g, ENTRY_bz_map_row, "bz_row_points<bz_i64>(A);");
	emit_cuda_entry(g, ENTRY_bz_map_row_narrow, "bz_row_points<bz_i32>(A);");
}

/* ---- tiles ------------------------------------------------------------------------- */

/* Tile b of two loops.  Their order does not matter to memory: all that run together have
 * stretches of it, whichever way they go. */
static void put_tile_of_two(struct cuda_gen *g)
{
	text_add(g->o, "const I j = bz_over(b, n1);\n"
		       "from.x0 = j * BZ_TILE;\nfrom.x1 = (b - j * n1) * BZ_TILE;\n");
}

/* Tile b of more loops: numbered like points. */
static void put_tile_of_more(struct cuda_gen *g)
{
	text_add(g->o, "I q = b;\n");
	for (unsigned l = g->n->npar; l-- > 0;) {
		if (l)
			text_put(g->o,
				 "{\nconst I rest = bz_over(q, n%u);\n"
				 "from.x%u = (q - rest * n%u) * (t%u ? BZ_TILE : 1);\nq = "
				 "rest;\n}\n",
				 l, l, l, l);
		else
			text_add(g->o, "from.x0 = q * (t0 ? BZ_TILE : 1);\n");
	}
}

/* With BZ_TILE steps of loop `tile` and of the last as one, those tiles that have points of
 * [lo, hi) lie between the first and last of the outer loop. */
static void put_tile_numbers(struct cuda_gen *g)
{
	unsigned last = g->innermost;

	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o, "const I n%u = t%u ? (E%u + BZ_TILE - 1) / BZ_TILE : E%u;\n", l, l,
			 l, l);
	text_add(g->o, "const I points = E1");
	for (unsigned l = 2; l < g->n->npar; l++)
		text_put(g->o, " * E%u", l);
	text_add(g->o, ", tiles = n1");
	for (unsigned l = 2; l < g->n->npar; l++)
		text_put(g->o, " * n%u", l);
	text_add(g->o, ";\nconst I lo = (I)A.h.lo, hi = (I)A.h.hi;\n"
		       "const I top = bz_over(lo, points), bottom = bz_over(hi - 1, points);\n"
		       "const I first = t0 ? top / BZ_TILE : top;\n"
		       "const I end = (t0 ? bottom / BZ_TILE : bottom) + 1;\n"
		       "const bool all = lo <= first * (t0 ? BZ_TILE : 1) * points && "
		       "hi >= E0 * points;\n"
		       "int since = 0;\n"
		       "for (I b = first * tiles + (I)blockIdx.x; b < end * tiles; b += "
		       "(I)gridDim.x) {\n"
		       "if (bz_stopped(A.h, &since, BZ_TILE * BZ_TILE)) return;\n"
		       "bz_place<I> from;\nbool whole = all;\n");
	if (g->n->npar == 2)
		put_tile_of_two(g);
	else
		put_tile_of_more(g);
	for (unsigned l = 0; l < g->n->npar; l++)
		if (l == last || g->n->npar == 2)
			text_put(g->o, "whole &= from.x%u + BZ_TILE <= E%u;\n", l, l);
		else
			text_put(g->o, "whole &= !t%u || from.x%u + BZ_TILE <= E%u;\n", l, l, l);
}

/* What both functions of a tile know of the loops; of two, both are tiled. */
static void put_tile_loops(struct cuda_gen *g)
{
	for (unsigned l = 0; l < g->n->npar; l++) {
		text_put(g->o, "const I E%u = (I)A.extent[%u];\nconst bool t%u = ", l, l, l);
		if (l == g->innermost || g->n->npar == 2)
			text_add(g->o, "true;\n");
		else
			text_put(g->o, "A.h.tile == %u;\n", l);
	}
}

/* A point of the tile: `along` steps of the last loop from its first, `across` of loop
 * `tile`; there: is it one of the loops' points?  Of a whole tile all are. */
static void put_tile_point(struct cuda_gen *g, const char *across, const char *along)
{
	text_add(g->o, "const int k = row + i * BZ_WARPS;\nbz_place<I> at;\nbool there = true;\n");
	for (unsigned l = 0; l < g->n->npar; l++) {
		if (l == g->innermost)
			text_put(g->o, "at.x%u = from.x%u + %s;\n", l, l, along);
		else
			text_put(g->o, "at.x%u = from.x%u + (t%u ? %s : 0);\n", l, l, l, across);
		text_put(g->o, "there &= WHOLE || at.x%u < E%u;\n", l, l);
	}
}

/* Each thread's rows of the tile, whose block has BZ_THREADS threads. */
#define TILE_ROW "#pragma unroll\nfor (int i = 0; i < BZ_TILE_ROWS; i++) {\n"

/* Bring what is dense along loop `tile` into shared memory, a warp along it: first all that
 * a thread reads, so that it is in flight together. */
static void put_tile_loads(struct cuda_gen *g)
{
	for (unsigned a = 0; a < g->n->naccess; a++) {
		const char *t = emit_cuda_type(g->n->access[a].dtype);

		if (!(g->staged >> a & 1))
			continue;
		text_put(g->o, "if (A.h.clo >> %u & 1) {\nbz_%s v[BZ_TILE_ROWS];\n" TILE_ROW, a, t);
		put_tile_point(g, "lane", "k");
		emit_cuda_place(g);
		text_put(g->o, "if (there) v[i] = bz_ld<bz_%s>(", t);
		emit_cuda_address(g, a);
		text_put(g->o,
			 ");\n}\n" TILE_ROW "tile%u[row + i * BZ_WARPS][lane] = v[i];\n}\n}\n", a);
	}
	text_add(g->o, "__syncthreads();\n");
}

/* The tiles in shared memory: declared, as parameters, or handed on. */
static void put_staged(struct cuda_gen *g, const char *before, const char *between,
		       const char *behind)
{
	for (unsigned a = 0; a < g->n->naccess; a++)
		if (g->staged >> a & 1 && *between)
			text_put(g->o, "%s%s%s%u%s", before, emit_cuda_type(g->n->access[a].dtype),
				 between, a, behind);
		else if (g->staged >> a & 1)
			text_put(g->o, "%s%u%s", before, a, behind);
}

/* One tile, whose points are all among [lo, hi) if it is whole. */
static void put_tile(struct cuda_gen *g)
{
	text_add(g->o, "template <class I, bool WHOLE> BZ_FN void bz_one_tile(const bz_params &A, "
		       "const bz_place<I> &from, bool all");
	put_staged(g, ", bz_tile<bz_", "> &tile", "");
	text_add(g->o, ")\n{\n"
		       "const int lane = threadIdx.x % BZ_LANES, row = threadIdx.x / BZ_LANES;\n");
	put_tile_loops(g);
	if (g->staged)
		put_tile_loads(g);
	text_add(g->o, TILE_ROW);
	put_tile_point(g, "k", "lane");
	text_add(g->o, "I p = at.x0;\n");
	for (unsigned l = 1; l < g->n->npar; l++)
		text_put(g->o, "p = p * E%u + at.x%u;\n", l, l);
	text_add(g->o, "if (!there || !(WHOLE || all || (p >= (I)A.h.lo && p < (I)A.h.hi))) "
		       "continue;\n");
	emit_cuda_place(g);
	emit_cuda_instrs(g, SECTION_BODY);
	text_add(g->o, "}\n}\n");
}

static void put_tiles(struct cuda_gen *g)
{
	g->staged = emit_cuda_staged(g->n);
	put_tile(g);
	text_add(g->o, "template <class I> BZ_FN void bz_tile_points(const bz_params &A)\n{\n");
	put_staged(g, "__shared__ bz_tile<bz_", "> tile", ";\n");
	put_tile_loops(g);
	put_tile_numbers(g);
	text_add(g->o, "if (whole) bz_one_tile<I, true>(A, from, all");
	put_staged(g, ", tile", "", "");
	text_add(g->o, ");\nelse bz_one_tile<I, false>(A, from, all");
	put_staged(g, ", tile", "", "");
	/* The next tile's values take the place of these. */
	text_add(g->o, g->staged ? ");\n__syncthreads();\n}\n}\n" : ");\n}\n}\n");
	g->staged = 0;
	emit_cuda_entry(g, ENTRY_bz_map_tile, "bz_tile_points<bz_i64>(A);");
	emit_cuda_entry(g, ENTRY_bz_map_tile_narrow, "bz_tile_points<bz_i32>(A);");
}

void emit_cuda_map(struct cuda_gen *g)
{
	put_next(g);
	put_points(g);
	put_vectors(g);
	put_rows(g);
	g->vector = 0;
	if (emit_cuda_tile(g->n) && has_either(g, ENTRY_bz_map_tile, ENTRY_bz_map_tile_narrow))
		put_tiles(g);
}
