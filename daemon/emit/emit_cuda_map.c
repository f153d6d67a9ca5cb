/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_map.c - a nest without reductions as CUDA C++.
 *
 *   bz_point           one point
 *   bz_points          points [lo, hi), threads next to each other
 *   bz_vector_point    `vector` points along the last loop, their accesses whole
 *   bz_vector_points   groups of them, a point alone where a group is not whole
 *   bz_map_tile        blocks of BZ_TILE x BZ_TILE points: what is strided along the
 *                      last loop and dense along another comes from the cache */
#include "emit_cuda.h"

/* A thread looks at the cancel word once in this many of its turns. */
#define POLL "if (!(++turn & 63) && bz_cancelled(A.h)) return;\n"

static void put_points(struct cuda_gen *g)
{
	text_add(g->o,
		 "template <class I> BZ_FN void bz_point(const bz_params &A, bz_place<I> at)\n{\n");
	emit_cuda_place(g);
	emit_cuda_instrs(g, SECTION_BODY);
	text_add(g->o, "}\ntemplate <class I> BZ_FN void bz_points(const bz_params &A)\n{\n"
		       "const I hi = (I)A.h.hi, n = (I)blockDim.x, step = (I)gridDim.x * "
		       "n;\nbz_u32 turn = 0;\n"
		       "for (I p = (I)A.h.lo + (I)blockIdx.x * n + (I)threadIdx.x; p < hi; "
		       "p += step) {\n" POLL "bz_point<I>(A, bz_decode<I>(A, p));\n}\n}\n");
	emit_cuda_entry(g, "bz_map", "bz_points<bz_i64>(A);");
	if (emit_cuda_narrow(g->n))
		emit_cuda_entry(g, "bz_map_narrow", "bz_points<bz_i32>(A);");
}

/* ---- vectors --------------------------------------------------------------------- */

/* Declare, load or store the vector of each access that moves along the last loop. */
static void put_vectors(struct cuda_gen *g, bool before)
{
	for (unsigned a = 0; a < g->n->naccess; a++) {
		const struct nest_access *x = &g->n->access[a];

		if (x->walk != WALK_UNIT || x->gather)
			continue;
		if (before)
			text_put(g->o, "bz_vector<bz_%s, %u> a%u;\n", emit_cuda_type(x->dtype),
				 g->vector, a);
		if (before == !!x->write)
			continue;
		text_put(g->o, "a%u.%s(", a, before ? "load" : "store");
		emit_cuda_address(g, a);
		text_add(g->o, ");\n");
	}
}

static void put_vector_points(struct cuda_gen *g)
{
	unsigned v = g->vector;

	text_add(g->o, "template <class I> BZ_FN void bz_vector_point(const bz_params &A, "
		       "bz_place<I> at)\n{\n");
	emit_cuda_place(g);
	put_vectors(g, true);
	text_put(g->o, "#pragma unroll\nfor (int k = 0; k < %u; k++) {\n", v);
	emit_cuda_instrs(g, SECTION_BODY);
	text_add(g->o, "}\n");
	put_vectors(g, false);
	text_put(g->o,
		 "}\ntemplate <class I> BZ_FN void bz_vector_points(const bz_params &A)\n{\n"
		 "const I lo = (I)A.h.lo, hi = (I)A.h.hi, n = (I)blockDim.x;\n"
		 "const I step = (I)gridDim.x * n * %u;\n"
		 "bz_u32 turn = 0;\n"
		 "for (I p = lo - lo %% %u + ((I)blockIdx.x * n + (I)threadIdx.x) * %u; "
		 "p < hi; p += step) {\n" POLL "if (p >= lo && p + %u <= hi) {\n"
		 "bz_vector_point<I>(A, bz_decode<I>(A, p));\ncontinue;\n}\n"
		 "for (I q = p < lo ? lo : p; q < hi && q < p + %u; q++)\n"
		 "bz_point<I>(A, bz_decode<I>(A, q));\n}\n}\n",
		 v, v, v, v, v);
	emit_cuda_entry(g, "bz_map_vector", "bz_vector_points<bz_i64>(A);");
	if (emit_cuda_narrow(g->n))
		emit_cuda_entry(g, "bz_map_vector_narrow", "bz_vector_points<bz_i32>(A);");
}

/* ---- tiles ------------------------------------------------------------------------- */

/* Tiles are numbered like points, with BZ_TILE steps of loop `tile` and of the last as
 * one; those with points of [lo, hi) lie between the first and last of the outer loop. */
static void put_tiles(struct cuda_gen *g)
{
	unsigned last = g->innermost;

	text_add(g->o, "BZ_FN bz_i64 bz_tiles(bz_i64 n, bool cut)\n{\n"
		       "return cut ? (n + BZ_TILE - 1) / BZ_TILE : n;\n}\n"
		       "BZ_FN void bz_tile_points(const bz_params &A)\n{\ntypedef bz_i64 I;\n"
		       "const int lane = threadIdx.x % 32, row = threadIdx.x / 32, "
		       "rows = blockDim.x / 32;\n");
	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o,
			 "const I E%u = A.extent[%u];\nconst bool t%u = A.h.tile == %u%s;\n"
			 "const I n%u = bz_tiles(E%u, t%u);\n",
			 l, l, l, l, l == last ? " || true" : "", l, l, l);
	text_add(g->o, "const I points = E1");
	for (unsigned l = 2; l < g->n->npar; l++)
		text_put(g->o, " * E%u", l);
	text_add(g->o, ", tiles = n1");
	for (unsigned l = 2; l < g->n->npar; l++)
		text_put(g->o, " * n%u", l);
	text_add(g->o, ";\nconst I top = A.h.lo / points, bottom = (A.h.hi - 1) / points;\n"
		       "const I first = t0 ? top / BZ_TILE : top;\n"
		       "const I end = (t0 ? bottom / BZ_TILE : bottom) + 1;\n"
		       "for (I b = first * tiles + blockIdx.x; b < end * tiles; b += gridDim.x) {\n"
		       "if (bz_cancelled(A.h)) return;\nI q = b;\n");
	for (unsigned l = g->n->npar; l-- > 0;) {
		text_put(g->o, "const I c%u = (q %% n%u) * (t%u ? BZ_TILE : 1)%s;\n", l, l, l,
			 l == last ? " + lane" : "");
		if (l)
			text_put(g->o, "q /= n%u;\n", l);
	}
	text_put(g->o,
		 "if (c%u >= E%u) continue;\n#pragma unroll 4\n"
		 "for (int k = row; k < BZ_TILE; k += rows) {\n"
		 "bz_place<I> at;\n",
		 last, last);
	for (unsigned l = 0; l < last; l++)
		text_put(g->o, "at.x%u = c%u + (t%u ? k : 0);\n", l, l, l);
	text_put(g->o, "at.x%u = c%u;\n", last, last);
	text_add(g->o, "if (");
	for (unsigned l = 0; l < last; l++)
		text_put(g->o, "%sat.x%u >= E%u", l ? " || " : "", l, l);
	text_add(g->o, ") break;\nI p = at.x0;\n");
	for (unsigned l = 1; l < g->n->npar; l++)
		text_put(g->o, "p = p * E%u + at.x%u;\n", l, l);
	text_add(g->o, "if (p >= A.h.lo && p < A.h.hi) bz_point<I>(A, at);\n}\n}\n}\n");
	emit_cuda_entry(g, "bz_map_tile", "bz_tile_points(A);");
}

void emit_cuda_map(struct cuda_gen *g)
{
	put_points(g);
	g->vector = emit_cuda_vector(g->n);
	if (g->vector)
		put_vector_points(g);
	g->vector = 1;
	if (emit_cuda_tile(g->n))
		put_tiles(g);
}
