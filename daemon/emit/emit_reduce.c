/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_reduce.c - bz_reduce and bz_finish: a nest with reductions.
 *
 * The order of every combination is that of kernels/tree.h.  Two modes, by the
 * loop that vectors run along: inner, where a vector holds consecutive reduced
 * points (through a block's buffer when there are several reduced loops), and
 * outer, where it holds consecutive parallel points and a tile of TILE vectors
 * goes through the reduced points (emit_reduce_outer.c).  Inner mode with one reduced loop takes
 * a few points side by side, a segment of each in turn: memory answers several
 * streams sooner than one.  Per kernel:
 *
 *   struct fin     results of a tile of POINTS parallel points, a lane each
 *   piece()        inner mode: elements of a point, in a row, to its accumulators
 *   chunk()        one chunk of a tile: from elements to struct fin
 *   rows()         phases: the same of rows that are one block each, which need no tree
 *   far(), short() of emit_reduce_short.c: piece() as a call, rows() of rows of few vectors
 *   struct state, begin(), push(), end()   chunks of one point, combined
 *   post()         the instructions after the reductions, for a tile */
#include "emit_c.h"

#include <string.h>

/* Of points side by side, how many elements of one come before the next one's, where memory
 * has to be waited for: it answers many streams sooner than one.  BZ_BLOCK and all BZ_L are
 * multiples of it or divide it.  From the caches a block of one comes at once: what lies between
 * two segments is then all there is to save. */
#define SEGMENT "8 * BZ_WIDTH"
/* Phases are done with a point long before memory has answered for the next ones: those of
 * the tile after next are asked for, where rows of so many bytes leave room for them.  Then they
 * come whole, and no segment has to be waited for. */
#define AHEAD_POINTS "16"
#define AHEAD_BYTES  "2048"
/* Of longer rows so many are a tile: what was computed of them waits in the caches for the next
 * phase.  Processors that read ahead by themselves do so best for a tile of no more than a page. */
#define FAR_POINTS "4"
#define PAGE_ROW   512			     /* bytes of each of the most points that a tile has */
#define UNROLL	   "#pragma GCC unroll 16\n" /* no vector type has more accumulators */
#define EACH_LANE  UNROLL "for (int j = 0; j < BZ_R_$T; j++) "

/* ---- values of sections before ------------------------------------------------- */

/* The values that the section uses of sections before it. */
static void find_used(const struct gen *g, bool *used)
{
	uint16_t value[3];

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		for (unsigned k = instr_values(value, &g->n->instr[i]); k-- > 0;)
			used[value[k]] = value[k] < nest_begin(g->n, g->section);
}

/* A member of struct fin: of vector i's points, or of point l in all lanes. */
static void put_result(struct gen *g, bool lanes, const char *type, char name, unsigned k)
{
	if (lanes && emit_by_lanes(g))
		text_put(g->o, "bz_ld_%s((const char *)f->%c%u + i * (i64)sizeof(bz_s_%s))", type,
			 name, k, type);
	else if (lanes)
		text_put(g->o, "f->%c%u[U(i) / BZ_W]", name, k);
	else
		text_put(g->o, "bz_of_%s(f->%c%u, l)", type, name, k);
}

/* Declares what the section uses of sections before. */
static void put_results(struct gen *g, bool lanes)
{
	bool used[LIMIT_NEST_INSTRS] = {false};

	find_used(g, used);
	for (unsigned i = 0; i < nest_begin(g->n, g->section); i++) {
		const char *s = emit_c_suffix(g->n->instr[i].dtype);

		if (!used[i] || g->n->instr[i].op == NI_REDUCE)
			continue;
		text_put(g->o, "bz_%s v%u = ", s, i);
		put_result(g, lanes, s, 'h', i);
		text_add(g->o, ";\n");
	}
	for (unsigned k = 0; k < g->nreduce; k++) {
		const char *from = emit_red_arg(g, k) ? "i64" : emit_red_type(g, k);
		const char *to = emit_c_suffix(emit_red(g, k)->dtype);

		if (!used[g->red[k]])
			continue;
		text_put(g->o, "bz_%s v%u = ", to, g->red[k]);
		if (strcmp(from, to) != 0)
			text_put(g->o, "bz_cast_%s_%s", from, to);
		text_add(g->o, "(");
		put_result(g, lanes, from, 'f', k);
		text_add(g->o, ");\n");
	}
}

/* Lanes that are parallel points have a value each. */
static void put_lane_results(struct gen *g)
{
	put_results(g, true);
}

/* In inner mode they are the same all along a row of point l. */
void emit_kept(struct gen *g)
{
	if (g->section)
		put_results(g, false);
}

/* From here on the text is section s. */
static void enter(struct gen *g, unsigned s, unsigned row)
{
	g->section = s;
	g->first = 0;
	while (g->first < g->nreduce && g->red[g->first] < nest_begin(g->n, s))
		g->first++;
	g->last = g->first;
	while (g->last < g->nreduce && g->red[g->last] < nest_end(g->n, s))
		g->last++;
	g->before = s && !emit_inner(g) && nest_everywhere(s) ? put_lane_results : NULL;
	emit_c_plan_row(g, row);
}

/* ---- chunk ------------------------------------------------------------------- */

static void put_arg_step(struct gen *g, unsigned k, enum lanes lanes)
{
	text_put(g->o, "bz_%s_step_%s(&f->a%u[l], v%u, %s);\n", emit_red_op(g, k),
		 emit_red_type(g, k), k, emit_red(g, k)->a,
		 lanes == LANES_ALL ? "bz_iota_i64(r + at + i, 1)"
				    : "bz_where_i64(bz_first_lanes(n), "
				      "bz_iota_i64(r + at + i, 1), bz_all_i64(-1))");
}

/* One reduced loop: vectors go straight to the lanes. */
static void tail_direct(struct gen *g, enum lanes lanes)
{
	for (unsigned k = g->first; k < g->last; k++) {
		const char *t = emit_red_type(g, k), *op = emit_red_op(g, k);
		unsigned v = emit_red(g, k)->a;

		if (emit_red_arg(g, k)) {
			put_arg_step(g, k, lanes);
			continue;
		}
		text_put(g->o,
			 "c%u[U(i) / BZ_W %% BZ_R_%s] = bz_%s%s_%s(c%u[U(i) / BZ_W %% "
			 "BZ_R_%s], v%u%s);\n",
			 k, t, lanes == LANES_ALL ? "" : "some_", op, t, k, t, v,
			 lanes == LANES_ALL ? "" : ", n");
	}
}

/* Vector k of a turn that reaches each accumulator as often as the others.  Of the `first` turn
 * an accumulator takes what comes to it: with an identity that would be the same. */
static void tail_registers(struct gen *g, bool first)
{
	for (unsigned k = g->first; k < g->last; k++) {
		const char *t = emit_red_type(g, k);
		unsigned v = emit_red(g, k)->a;

		text_put(g->o, "d%u[k %% BZ_R_%s] = ", k, t);
		if (first)
			text_put(g->o, "k < BZ_R_%s ? v%u : ", t, v);
		text_put(g->o, "bz_%s_%s(d%u[k %% BZ_R_%s], v%u);\n", emit_red_op(g, k), t, k, t,
			 v);
	}
}

static void put_turn(struct gen *g, bool narrow, bool first)
{
	text_put(g->o, "BZ_%s_TIMES(\nconst i64 i = from + k * BZ_W;\n",
		 narrow ? "NARROW" : "WIDE");
	emit_c_instrs(g, false, LANES_ALL);
	tail_registers(g, first);
	text_add(g->o, ")\n");
}

/* Several reduced loops: rows are packed into a block's buffer. */
static void tail_buffer(struct gen *g, enum lanes lanes)
{
	for (unsigned k = g->first; k < g->last; k++) {
		const char *t = emit_red_type(g, k);
		unsigned v = emit_red(g, k)->a;

		if (emit_red_arg(g, k)) {
			put_arg_step(g, k, lanes);
		} else if (lanes == LANES_ALL) {
			text_put(g->o, "bz_st_%s((char *)(b%u + at + i), v%u);\n", t, k, v);
		} else {
			text_put(g->o, "bz_stn_%s((char *)(b%u + at + i), n, v%u);\n", t, k, v);
		}
	}
}

void emit_each_lane(struct gen *g, const char *text)
{
	const unsigned last = g->last, first = g->first;

	for (unsigned k = first; k < last; k++) {
		if (emit_red_arg(g, k))
			continue;
		text_put(g->o, "BZ_%s_TIMES(", emit_narrow(g, k) ? "NARROW" : "WIDE");
		g->first = k;
		g->last = k + 1;
		emit_each_red(g, text, "");
		text_add(g->o, ")\n");
	}
	g->first = first;
	g->last = last;
}

/* What is left of a piece behind its turns, where shorter rows have a function of their own: the
 * last vector ends with the piece, so that no accumulator has to be found by a number that is not
 * constant. */
static void put_ended(struct gen *g, bool narrow)
{
	text_put(g->o,
		 "const int rest = (int)(U(len) %% BZ_W);\n"
		 "const i64 last = U(len - turns) / BZ_W;\n"
		 "BZ_%s_TIMES(if (k < last) {\nconst i64 i = turns + k * BZ_W;\n",
		 narrow ? "NARROW" : "WIDE");
	emit_c_instrs(g, false, LANES_ALL);
	tail_registers(g, false);
	text_add(g->o, "})\nif (rest) {\nconst i64 i = len - BZ_W;\n");
	emit_c_instrs(g, false, LANES_ALL);
	for (unsigned k = g->first; k < g->last; k++) {
		const char *t = emit_red_type(g, k), *op = emit_red_op(g, k);

		text_put(g->o,
			 "const struct bz_rest_%s q%u = bz_rest_%s(rest, BZ_W - rest);\n"
			 "const bz_%s z%u = bz_last_%s(v%u, &q%u, bz_id_%s_%s());\n",
			 t, k, t, t, k, t, emit_red(g, k)->a, k, op, t);
		text_put(g->o, "BZ_%s_TIMES(if (k == last) d%u[k] = bz_%s_%s(d%u[k], z%u);)\n",
			 emit_narrow(g, k) ? "NARROW" : "WIDE", k, op, t, k, k);
	}
	text_add(g->o, "}\n");
}

/* A piece of a row in turns that reach every accumulator, each known by its number: so they are
 * registers.  What is left goes through memory. */
static void put_turns(struct gen *g)
{
	bool narrow = false;

	for (unsigned k = g->first; k < g->last; k++)
		narrow = narrow || emit_narrow(g, k);
	text_put(g->o, "enum { turn = %s };\nconst i64 turns = len & ~(i64)(turn * BZ_W - 1);\n",
		 narrow ? "64 / BZ_W" : "32 / BZ_W");
	emit_each_red(g, "bz_$T d$K[BZ_R_$T];\n", "");
	emit_each_lane(g, "d$K[k] = c$K[k];");
	g->far = !g->section;
	text_add(g->o, "i64 from = 0;\nif (fresh && turns) {\n");
	put_turn(g, narrow, true);
	text_add(g->o, "from = turn * BZ_W;\n}\nfor (; from < turns; from += turn * BZ_W) {\n");
	put_turn(g, narrow, false);
	g->far = false;
	text_add(g->o, "}\nif (turns < len) {\n");
	if (emit_shorts(g)) {
		put_ended(g, narrow);
	} else {
		text_add(g->o, "i64 i = turns;\n");
		emit_each_red(g, "bz_$T c$K[BZ_R_$T];\n", "");
		emit_each_lane(g, "c$K[k] = d$K[k];");
		emit_c_vectors(g, tail_direct);
		emit_each_lane(g, "d$K[k] = c$K[k];");
	}
	text_add(g->o, "}\n");
	emit_each_lane(g, "c$K[k] = d$K[k];");
}

/* Is this the last section that goes through rows? */
static bool is_last_walk(const struct gen *g)
{
	for (unsigned s = g->section + 2; s < nest_sections(g->n); s += 2)
		if (nest_begin(g->n, s) < nest_end(g->n, s))
			return false;
	return true;
}

/* At the start of a row in the last section: what the first will load of a point that is
 * AHEAD_POINTS further. */
static void put_ahead(struct gen *g)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};
	const struct nest *n = g->n;

	if (!n->nmore || !emit_abreast(g) || !is_last_walk(g))
		return;
	for (unsigned i = 0; i < nest_end(n, 0); i++) {
		unsigned a = n->instr[i].a, bytes;

		if (n->instr[i].op != NI_LOAD || g->walk[a] != WALK_UNIT || seen[a])
			continue;
		seen[a] = true;
		bytes = dtype_row(n->access[a].dtype)->bytes;
		text_put(g->o,
			 "if (A->stream & KERNEL_FAR && N * %u <= " AHEAD_BYTES
			 ") {\nconst char *q = A->base[%u] + " AHEAD_POINTS " * A->stride[%u]",
			 bytes, a, a * LIMIT_NDIM + n->npar - 1);
		for (unsigned l = 0; l < g->loops; l++)
			text_put(g->o, " + x%u * A->stride[%u]", l, a * LIMIT_NDIM + l);
		text_put(
			g->o,
			";\nfor (i64 k = 0; k < len * %u; k += 64) __builtin_prefetch(q + k);\n}\n",
			bytes);
	}
}

/* piece(): the elements [at, at + len) of block r of point l, to the accumulators of its block,
 * which may be `fresh`. */
static void put_piece(struct gen *g)
{
	text_put(g->o,
		 "BZ_FN void %spiece%s(const struct bz_args *A, const i64 *X, i64 N, int l, i64 r, "
		 "i64 at, i64 len, int fresh, struct %sfin *f",
		 g->prefix, emit_phase(g), g->prefix);
	emit_each_red(g, ", bz_$T *c$K", "");
	text_add(g->o, ")\n{\n");
	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o, "const i64 x%u = X[%u]%s;\n", l, l,
			 l + 1 < g->n->npar ? "" : " + l");
	text_put(g->o, "const i64 x%u = r + at;\n", g->n->npar);
	emit_kept(g);
	emit_c_addresses(g);
	put_ahead(g);
	emit_c_instrs(g, true, LANES_ALL);
	if (emit_light(g)) {
		put_turns(g);
	} else {
		text_add(g->o, "i64 i = 0;\n");
		emit_c_vectors(g, tail_direct);
	}
	text_add(g->o, "}\n");
}

static void put_call_of_piece(struct gen *g, const char *name, const char *arguments,
			      const char *accumulators)
{
	text_put(g->o, "%s%s%s(A, X, N, l, r, %s, f", g->prefix, name, emit_phase(g), arguments);
	emit_each_red(g, accumulators, "");
	text_add(g->o, ");\n");
}

/* e<k>: what reduction k comes to, by point.  Lanes of points that the tile lacks are looked at by
 * nobody, and are added up all the same. */
static void put_fresh(struct gen *g)
{
	if (g->n->nmore && emit_abreast(g))
		text_put(g->o, "const int tile = points > 8 ? %s : 8;\n", emit_points_abreast(g));
	else
		text_put(g->o, "enum { tile = %s };\n", emit_points_abreast(g));
	emit_each_red(g,
		      "bz_$T e$K[$P];\nfor (int l = (int)points; l < tile; l++) e$K[l] = "
		      "bz_id_$O_$T();\n",
		      "");
}

/* One point after the other, bn elements of each. */
static void put_points(struct gen *g, const char *name)
{
	text_add(g->o, "for (int l = 0; l < points; l++) {\n");
	emit_each_red(g, "bz_$T c$K[BZ_R_$T];\n", "");
	emit_each_lane(g, "c$K[k] = bz_id_$O_$T();");
	put_call_of_piece(g, name, "0, bn, 1", ", c$K");
	emit_each_red(g, "e$K[l] = $Xnarrow_$O_$T(c$K, bz_used_$T(bn), BZ_R_$T);\n", "");
	text_add(g->o, "}\n");
}

/* rows(): all points of a tile, whose rows are a block each. */
static void put_rows(struct gen *g)
{
	text_put(g->o,
		 "static void %srows%s(const struct bz_args *A, const i64 *X, i64 N, i64 points, "
		 "struct %sfin *f)\n{\nconst i64 r = 0, bn = N;\n",
		 g->prefix, emit_phase(g), g->prefix);
	put_fresh(g);
	emit_each_red(g, "", "for (int l = 0; l < points; l++) bz_$O_init_$T(f->a$K + l);\n");
	if (emit_shorts(g))
		emit_short_call(g);
	put_points(g, "piece");
	if (emit_shorts(g))
		text_add(g->o, "}\n");
	emit_each_red(g,
		      "if (tile != $P) $Xacross_$O_$T(f->f$K, e$K, 8, bz_used_$T(bn));\n"
		      "else $Xacross_$O_$T(f->f$K, e$K, $P, bz_used_$T(bn));\n",
		      "for (int l = 0; l < points; l++) {\n"
		      "struct bz_acc e;\nbz_$O_end_$T(f->a$K + l, &e);\n"
		      "bz_in_i64(f->f$K, l, e.index);\n}\n");
	text_add(g->o, "}\n");
}

/* The one reduced loop: block by block of each point, or a segment of each in turn. */
static void put_direct_block(struct gen *g)
{
	const char *name = g->n->nmore && emit_abreast(g) ? "far" : "piece";

	text_put(g->o, "if (points == 1 || !(A->stream & KERNEL_FAR) || bn <= " SEGMENT "%s) {\n",
		 g->n->nmore ? " || N * 8 <= " AHEAD_BYTES : "");
	put_points(g, name);
	text_add(g->o, "} else {\n");
	emit_each_red(g,
		      "bz_$T c$K[$P][BZ_R_$T];\nfor (int l = 0; l < points; l++)\n" EACH_LANE
		      "c$K[l][j] = bz_id_$O_$T();\n",
		      "");
	text_add(g->o, "for (i64 at = 0, len; at < bn; at += len) {\n"
		       "len = bn - at < " SEGMENT " ? bn - at : " SEGMENT ";\n"
		       "for (int l = 0; l < points; l++)\n");
	put_call_of_piece(g, name, "at, len, 0", ", c$K[l]");
	text_add(g->o, "}\n");
	emit_each_red(g,
		      "for (int l = 0; l < points; l++) e$K[l] = $Xnarrow_$O_$T(c$K[l], "
		      "bz_used_$T(bn), BZ_R_$T);\n",
		      "");
	text_add(g->o, "}\n");
}

/* Several reduced loops: through a buffer. */
static void put_packed_block(struct gen *g)
{
	unsigned last = g->loops - 1;

	text_put(g->o, "enum { l = 0 };\n");
	emit_each_red(g, "bz_$T c$K[BZ_R_$T];\n" EACH_LANE "c$K[j] = bz_id_$O_$T();\n", "");
	text_put(g->o,
		 "for (i64 at = 0; at < bn;) {\ni64 len = bn - at;\n"
		 "if (len > E%u - x%u) len = E%u - x%u;\n{\n",
		 last, last, last, last);
	emit_kept(g);
	emit_c_addresses(g);
	emit_c_row(g, tail_buffer);
	text_put(g->o, "}\nat += len;\nx%u += len;\n", last);
	emit_c_carry(g, g->n->npar, g->loops);
	text_add(g->o, "}\n");
	emit_each_red(g,
		      "for (i64 i = 0; i < bn; i += BZ_W) {\n"
		      "const char *const q = (const char *)(b$K + i);\n"
		      "bz_$T *const c = c$K + U(i) / BZ_W % BZ_R_$T;\n"
		      "if (i + BZ_W <= bn) *c = bz_$O_$T(*c, bz_ld_$T(q));\n"
		      "else *c = bz_some_$O_$T(*c, bz_ldn_$T(q, (int)(bn - i)), (int)(bn - i));\n"
		      "}\ne$K[0] = $Xnarrow_$O_$T(c$K, bz_used_$T(bn), BZ_R_$T);\n",
		      "");
}

static void put_inner_block(struct gen *g)
{
	put_fresh(g);
	if (g->n->nred == 1)
		put_direct_block(g);
	else
		put_packed_block(g);
	emit_each_red(g,
		      "if (one && tile != $P) $Xacross_$O_$T(f->f$K, e$K, 8, bz_used_$T(bn));\n"
		      "else if (one) $Xacross_$O_$T(f->f$K, e$K, $P, bz_used_$T(bn));\n"
		      "else for (int l = 0; l < points; l++)\n"
		      "bz_push_$O_$T(tree$K + l, bz_lanes_$O_$T(e$K[l], bz_used_$T(bn)));\n",
		      "");
}

static void put_point(struct gen *g)
{
	emit_c_extents(g);
	for (unsigned l = 0; l < g->loops; l++)
		text_put(g->o, "i64 x%u%s;\n", l, l < g->n->npar ? "" : " = 0");
	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o, "x%u = X[%u];\n", l, l);
}

static void open_chunk(struct gen *g)
{
	text_put(g->o,
		 "static void %schunk%s(const struct bz_args *A, const i64 *X, i64 %s, i64 chunk, "
		 "struct %sfin *f)\n{\n",
		 g->prefix, emit_phase(g), emit_inner(g) ? "points" : "len", g->prefix);
	put_point(g);
}

static void put_chunk(struct gen *g)
{
	if (emit_inner(g) && g->n->nred == 1)
		put_piece(g);
	if (g->n->nmore && emit_abreast(g)) {
		if (emit_shorts(g))
			emit_short_function(g);
		put_rows(g);
		emit_far_piece(g);
	}
	emit_outer_functions(g);
	open_chunk(g);
	emit_c_points(g, "N", g->n->npar, g->loops);
	text_add(g->o, "i64 r = chunk * BZ_CHUNK;\nconst i64 first = r;\n"
		       "const i64 stop = N - r < BZ_CHUNK ? N : r + BZ_CHUNK;\n");
	emit_c_point(g, g->n->npar, g->loops, "r");
	/* A block's value is the result where it is the only one. */
	text_add(g->o, "const int one = N > 0 && N <= BZ_BLOCK;\n");
	if (emit_inner(g)) {
		emit_each_red(g,
			      "struct bz_tree_$T tree$K[$P];\n"
			      "for (int l = 0; l < points; l++) bz_tree_init_$T(tree$K + l);\n",
			      "for (int l = 0; l < points; l++) bz_$O_init_$T(f->a$K + l);\n");
		if (g->n->nred > 1)
			emit_each_red(g, "bz_s_$T b$K[BZ_BLOCK];\n", "");
	} else {
		text_add(g->o, "const int nv = (int)((len + BZ_W - 1) / BZ_W);\n");
		emit_each_red(g,
			      "bz_$T c$K[BZ_L_$T * $V];\nstruct bz_vtree_$T t$K[$V];\n"
			      "for (int j = 0; j < nv && !one; j++) bz_vtree_init_$T(t$K + j);\n",
			      "for (int j = 0; j < nv; j++) bz_$O_init_$T(&f->a$K[j]);\n");
	}
	text_add(g->o, "while (r < stop) {\nif (*A->cancel) return;\n"
		       "const i64 bn = stop - r < BZ_BLOCK ? stop - r : BZ_BLOCK;\n");
	if (emit_inner(g))
		put_inner_block(g);
	else
		emit_outer_block(g);
	text_add(g->o, "r += bn;\n}\n");
	if (emit_inner(g))
		emit_each_red(g,
			      "for (int l = 0; l < points && !one; l++)\n"
			      "bz_in_$T(f->f$K, l, bz_end_$O_$T(tree$K + l, stop - first));\n",
			      "for (int l = 0; l < points; l++) {\n"
			      "struct bz_acc e;\nbz_$O_end_$T(f->a$K + l, &e);\n"
			      "bz_in_i64(f->f$K, l, e.index);\n}\n");
	else
		emit_each_red(g,
			      "for (int j = 0; j < nv && !one; j++)\n"
			      "f->f$K[j] = bz_vend_$O_$T(t$K + j, stop - first);\n",
			      "for (int j = 0; j < nv; j++) f->f$K[j] = f->a$K[j].index;\n");
	emit_outer_end(g);
	text_add(g->o, "}\n");
}

/* ---- post --------------------------------------------------------------------- */

/* What later sections use of this one. */
static void put_keeping(struct gen *g)
{
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		if (nest_kept(g->n, i))
			text_put(g->o, "f->h%u[U(i) / BZ_W] = v%u;\n", i, i);
}

static void put_post(struct gen *g)
{
	text_put(g->o,
		 "static void %spost%s(const struct bz_args *A, const i64 *X, i64 len, "
		 "%sstruct %sfin *f)\n{\n",
		 g->prefix, emit_phase(g), g->n->nmore ? "" : "const ", g->prefix);
	put_point(g);
	emit_c_addresses(g);
	emit_c_instrs(g, true, LANES_ALL);
	text_add(g->o, "for (i64 i = 0; i < len; i += BZ_W) {\n"
		       "int n = len - i < BZ_W ? (int)(len - i) : BZ_W;\n");
	put_lane_results(g);
	emit_c_instrs(g, false, LANES_ANY);
	put_keeping(g);
	text_add(g->o, "}\n}\n");
}

/* The results that a section's rows write once, and that nothing reads, may go past the
 * caches; rows that share lines with others do not. */
static void plan_past(struct gen *g)
{
	const struct nest *n = g->n;

	for (unsigned i = nest_begin(n, g->section); i < nest_end(n, g->section); i++) {
		unsigned a = n->instr[i].a;

		if (!emit_inner(g) || n->instr[i].op != NI_STORE)
			continue;
		g->past[a] = n->access[a].alone && g->walk[a] == WALK_UNIT &&
			     dtype_row(n->access[a].dtype)->bytes >= 4;
		if (g->past[a])
			text_put(g->o, "keep |= U(N) * %u %% 64;\n",
				 dtype_row(n->access[a].dtype)->bytes);
	}
}

/* Divisors of quotients that sections before have handed on: reciprocals of all of a tile at once.
 */
static void put_overs(struct gen *g)
{
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const char *t = emit_c_suffix(g->n->instr[i].dtype);

		if (!emit_c_over_kept(g, i))
			continue;
		text_put(g->o,
			 "struct bz_over_%s s%u[%sTILE];\nfor (i64 i = 0; i < %sTILE * BZ_W; i += "
			 "BZ_W) {\n",
			 t, i, g->prefix, g->prefix);
		put_results(g, true);
		text_put(g->o, "s%u[U(i) / BZ_W] = bz_overs_%s(v%u);\n}\n", i, t, g->n->instr[i].b);
	}
}

/* Rows of a tile, all in one way. */
static void put_walk_rows(struct gen *g)
{
	text_put(g->o, "const i64 len = N;\n");
	emit_places(g);
	put_overs(g);
	g->overs = true;
	text_add(g->o, "for (int l = 0; l < points; l++) {\n");
	emit_places_row(g);
	emit_kept(g);
	put_ahead(g);
	emit_c_row(g, NULL);
	text_add(g->o, "}\n}\n");
	g->overs = false;
}

/* A section without reductions, at all reduced points of a tile. */
static void put_walk(struct gen *g)
{
	unsigned npar = g->n->npar, last = g->loops - 1;

	open_chunk(g);
	emit_c_points(g, "N", npar, g->loops);
	text_add(g->o, "bz_s_u64 keep = !(A->stream & KERNEL_PAST);\n");
	plan_past(g);
	if (emit_abreast(g)) {
		put_walk_rows(g);
		return;
	}
	if (emit_inner(g)) {
		text_add(g->o, "for (int l = 0; l < points; l++) {\n");
		if (npar)
			text_put(g->o, "x%u = X[%u] + l;\n", npar - 1, npar - 1);
		for (unsigned l = npar; l <= last; l++)
			text_put(g->o, "x%u = 0;\n", l);
		text_put(g->o, "for (i64 r = 0, len = E%u; r < N; r += len) {\n{\n", last);
		emit_kept(g);
		put_ahead(g);
	} else {
		text_add(g->o, "for (i64 r = 0; r < N; r++) {\n"
			       "if (r % BZ_BLOCK == 0 && *A->cancel) return;\n{\n");
	}
	emit_c_addresses(g);
	emit_c_row(g, NULL);
	text_put(g->o, "}\nx%u += %s;\n", last, emit_inner(g) ? "len" : "1");
	emit_c_carry(g, npar, g->loops);
	text_add(g->o, emit_inner(g) ? "}\n}\n}\n" : "}\n}\n");
}

/* ---- entry points --------------------------------------------------------------- */

/* Opens a loop over tiles of parallel points p .. p + len at X. */
static void open_tiles(struct gen *g)
{
	unsigned npar = g->n->npar;

	emit_c_extents(g);
	emit_c_points(g, "N", npar, g->loops);
	text_add(g->o, "const i64 chunks = (N + BZ_CHUNK - 1) / BZ_CHUNK;\n"
		       "for (i64 p = lo, len; p < hi; p += len) {\n"
		       "i64 X[8] = {0};\nif (*A->cancel) return;\n");
	text_put(g->o, "struct %sfin f[1];\n", g->prefix);
	if (npar) {
		text_add(g->o, "{\n");
		for (unsigned l = 0; l < npar; l++)
			text_put(g->o, "i64 x%u;\n", l);
		emit_c_point(g, 0, npar, "p");
		for (unsigned l = 0; l < npar; l++)
			text_put(g->o, "X[%u] = x%u;\n", l, l);
		text_add(g->o, "}\n");
	}
	if (emit_inner(g) && !emit_abreast(g)) {
		text_add(g->o, "len = 1;\n");
		return;
	}
	text_put(g->o,
		 "len = hi - p;\nif (len > E%u - X[%u]) len = E%u - X[%u];\n"
		 "if (len > %sPOINTS) len = %sPOINTS;\n",
		 npar - 1, npar - 1, npar - 1, npar - 1, g->prefix, g->prefix);
	if (emit_abreast(g) && !g->n->nmore)
		text_add(g->o, "if (A->stream & KERNEL_WHOLE && N > BZ_BLOCK) len = 1;\n");
	else if (emit_abreast(g))
		text_put(g->o,
			 "if (len > 8 && N * 8 > 1024) len = 8;\nif (len > " FAR_POINTS
			 " && (N * 8 > " AHEAD_BYTES
			 " || (A->stream & KERNEL_WHOLE && N > %u))) len = " FAR_POINTS ";\n",
			 PAGE_ROW / emit_widest(g));
}

static void put_reduce(struct gen *g)
{
	const char *p = g->prefix;

	text_put(g->o,
		 "void %sreduce(const struct bz_args *A, i64 lo, i64 hi, i64 clo, i64 chi, "
		 "struct bz_acc *part)\n{\n",
		 p);
	open_tiles(g);
	/* Over no reduced point there is no accumulator, and an array must not be empty. */
	text_put(g->o,
		 "if (!part && chunks == 1) {\n%schunk(A, X, len, 0, f);\n"
		 "if (*A->cancel) return;\n%spost(A, X, len, f);\n"
		 "continue;\n}\nstruct %sstate s[%sPOINTS];\nstruct bz_acc e[%u];\n"
		 "if (!part) for (int l = 0; l < len; l++) %sbegin(s + l);\n"
		 "for (i64 c = part ? clo : 0; c < (part ? chi : chunks); c++) {\n"
		 "%schunk(A, X, len, c, f);\nif (*A->cancel) return;\n"
		 "for (int l = 0; l < len; l++) {\n"
		 "if (part) {\n%sspread(f, l, part + ((p + l) * chunks + c) * %u);\n"
		 "} else {\n%sspread(f, l, e);\n%spush(s + l, e);\n}\n}\n}\n"
		 "if (part) continue;\n"
		 "%send(s, (int)len, N, f);\n%spost(A, X, len, f);\n}\n}\n",
		 p, p, p, p, g->nreduce ? g->nreduce : 1, p, p, p, g->nreduce, p, p, p, p);
}

static void put_finish(struct gen *g)
{
	const char *p = g->prefix;

	text_put(g->o,
		 "void %sfinish(const struct bz_args *A, i64 lo, i64 hi, const struct bz_acc "
		 "*part)\n{\n",
		 p);
	open_tiles(g);
	text_put(g->o,
		 "struct %sstate s[%sPOINTS];\nfor (int l = 0; l < len; l++) {\n%sbegin(s + l);\n"
		 "for (i64 c = 0; c < chunks; c++) %spush(s + l, part + ((p + l) * chunks + c) * "
		 "%u);\n}\n%send(s, (int)len, N, f);\n%spost(A, X, len, f);\n}\n}\n",
		 p, p, p, p, g->nreduce, p, p);
}

/* A nest with phases: sections one after the other for each tile, all of whose reduced
 * points are one chunk. */
static void put_phases(struct gen *g)
{
	const char *p = g->prefix;

	text_put(g->o,
		 "void %sreduce(const struct bz_args *A, i64 lo, i64 hi, i64 clo, i64 chi, "
		 "struct bz_acc *part)\n{\n",
		 p);
	open_tiles(g);
	text_add(g->o, "if (part || chunks > 1) return;\n");
	if (emit_abreast(g))
		text_add(g->o, "const int block = N > 0 && N <= BZ_BLOCK && (!(A->stream & "
			       "KERNEL_FAR) || N * 8 <= " AHEAD_BYTES ");\n");
	for (unsigned s = 0; s < nest_sections(g->n); s += 2) {
		g->section = s;
		if (emit_abreast(g) && emit_reduces(g, s))
			text_put(g->o, "if (block) %srows%s(A, X, N, len, f);\nelse\n", p,
				 emit_phase(g));
		text_put(g->o, "%schunk%s(A, X, len, 0, f);\nif (*A->cancel) return;\n", p,
			 emit_phase(g));
		if (nest_begin(g->n, s + 1) < nest_end(g->n, s + 1))
			text_put(g->o, "%spost%s(A, X, len, f);\n", p, emit_phase(g));
	}
	text_put(g->o,
		 "}\nif (A->stream & KERNEL_PAST) bz_nt_end();\n}\n"
		 "void %sfinish(const struct bz_args *A, i64 lo, i64 hi, const struct bz_acc "
		 "*part)\n{\n}\n",
		 p);
}

static void put_sections(struct gen *g)
{
	for (unsigned s = 0; s < nest_sections(g->n); s++) {
		bool once = !nest_everywhere(s);
		unsigned points = emit_abreast(g) ? g->n->npar - 1 : EMIT_NO_ROW;

		enter(g, s, once && emit_inner(g) ? points : g->n->vec);
		if (once)
			put_post(g);
		else if (g->first < g->last || !g->n->nmore)
			put_chunk(g);
		else
			put_walk(g);
	}
}

void emit_reduce(struct gen *g)
{
	g->by_lanes = !emit_inner(g) && emit_all_by_lanes(g);
	g->section = 0;
	g->first = 0;
	g->last = g->nreduce;
	emit_reduce_types(g);
	if (!g->n->nmore)
		emit_reduce_state(g);
	put_sections(g);
	g->first = 0;
	g->last = g->nreduce;
	if (g->n->nmore) {
		put_phases(g);
		return;
	}
	put_reduce(g);
	put_finish(g);
}
