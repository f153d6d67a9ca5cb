/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_reduce_outer.c - outer mode: a tile of parallel points goes through a block of rows.
 *
 * Every row has an accumulator of its own lane for each point, BZ_L in all, which the nearest cache
 * cannot keep for a tile.  So where a point is little work the rows of one lane are taken eight at
 * a time (emit_by_lanes): a vector of accumulators is a register meanwhile, and eight streams of
 * memory are read side by side.  Elsewhere they are taken one by one. */
#include "emit_c.h"

#include <string.h>

/* Rows of a lane at once: so many, and what is left of them by halves. */
#define AT_ONCE 8

/* ---- row by row --------------------------------------------------------------- */

/* From a row of vectors to what is loaded two rows later, of each access that goes along them: rows
 * lie far apart, and the processor's own prefetching sees no line in them.  Behind the last rows
 * of a tile come the first ones of the next. */
static void put_ahead_rows(struct gen *g)
{
	unsigned last = g->loops - 1;

	for (unsigned a = 0; a < g->n->naccess; a++) {
		unsigned step = a * LIMIT_NDIM + last;

		if (g->walk[a] != WALK_UNIT || g->n->access[a].write)
			continue;
		text_put(g->o, "const i64 ahead%u = ", a);
		if (g->n->nred == 1)
			text_put(g->o,
				 "r + m + 2 >= N && N > 1 ? (2 - N) * A->stride[%u] + len * %u : ",
				 step, dtype_row(g->n->access[a].dtype)->bytes);
		text_put(g->o, "2 * A->stride[%u];\n", step);
	}
}

static void put_next_rows(struct gen *g, enum lanes lanes)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};

	for (unsigned i = nest_begin(g->n, g->section);
	     i < nest_end(g->n, g->section) && lanes == LANES_ALL; i++) {
		const struct nest_instr *in = &g->n->instr[i];

		if (in->op != NI_LOAD || g->walk[in->a] != WALK_UNIT || seen[in->a])
			continue;
		seen[in->a] = true;
		text_put(g->o, "__builtin_prefetch(P%u + i * %u + ahead%u);\n", in->a,
			 dtype_row(g->n->access[in->a].dtype)->bytes, in->a);
	}
}

static void tail_outer(struct gen *g, enum lanes lanes)
{
	put_next_rows(g, lanes);
	for (unsigned k = g->first; k < g->last; k++) {
		const char *t = emit_red_type(g, k), *op = emit_red_op(g, k);
		unsigned v = emit_red(g, k)->a;

		if (emit_red_arg(g, k))
			text_put(g->o,
				 "bz_%s_step_%s(&f->a%u[U(i) / BZ_W], v%u, bz_all_i64(r + m));\n",
				 op, t, k, v);
		else
			text_put(g->o,
				 "bz_%s *const q%u = BZ_AT(w%u, i), u%u = bz_id_%s_%s();\n"
				 "if (!fresh%u) u%u = *q%u;\n*q%u = bz_%s_%s(u%u, v%u);\n",
				 t, k, k, k, op, t, k, k, k, k, op, t, k, v);
	}
}

/* Rows come to fresh accumulators first; those that no row comes to are not looked at. */
static void put_row_by_row(struct gen *g)
{
	text_add(g->o, "for (i64 m = 0; m < bn; m++) {\n{\n");
	emit_each_red(g,
		      "bz_$T *const w$K = c$K + U(m) % BZ_L_$T * $V;\n"
		      "const int fresh$K = m < BZ_L_$T;\n",
		      "");
	put_ahead_rows(g);
	emit_c_addresses(g);
	emit_c_row(g, tail_outer);
	text_put(g->o, "}\nx%u++;\n", g->loops - 1);
	emit_c_carry(g, g->n->npar, g->loops);
	text_add(g->o, "}\n");
}

/* ---- lane by lane -------------------------------------------------------------- */

/* May vectors of values of such a type be read at any place, as those of memory are? */
static bool is_plain(unsigned dtype)
{
	return dtype_row(dtype)->cls != CLASS_COMPLEX && dtype != DT_FLOAT16 &&
	       dtype != DT_BFLOAT16;
}

/* Is all that the section uses of those before it so? */
static bool uses_plain(const struct gen *g)
{
	uint16_t value[3];

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		for (unsigned k = instr_values(value, &g->n->instr[i]); k-- > 0;)
			if (!is_plain(g->n->instr[value[k]].dtype))
				return false;
	return true;
}

bool emit_all_by_lanes(struct gen *g)
{
	if (g->nreduce != 1)
		return false;
	g->section = nest_section(g->n, g->red[0]);
	g->first = 0;
	g->last = 1;
	return emit_by_lanes(g);
}

bool emit_by_lanes(const struct gen *g)
{
	if (emit_inner(g) || g->n->nred != 1 || !nest_everywhere(g->section) ||
	    g->first == g->last || !emit_light(g) || !uses_plain(g))
		return false;
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		if (instr_writes(g->n->instr[i].op) || g->n->instr[i].op == OP_INDEX)
			return false;
	for (unsigned k = g->first; k < g->last; k++)
		if (emit_narrow(g, k) != emit_narrow(g, g->first))
			return false;
	return true;
}

/* P<a> where row k of a turn lies, which has moved on from Q<a>; each access once. */
static void put_each_access(struct gen *g, bool move)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		unsigned a = g->n->instr[i].a;

		if (!nest_touches(g->n->instr[i].op) || seen[a])
			continue;
		seen[a] = true;
		if (move)
			text_put(g->o, "const char *const P%u = Q%u + k * z%u;\n", a, a, a);
		else
			text_put(g->o,
				 "const char *const Q%u = P%u;\nconst i64 z%u = L * "
				 "A->stride[%u];\n",
				 a, a, a, a * LIMIT_NDIM + g->loops - 1);
	}
}

/* What a row of a lane does: all of its instructions, as those that are the same along it may be
 * others in the next. */
static void put_row_instrs(struct gen *g, enum lanes lanes)
{
	emit_c_instrs(g, true, lanes);
	emit_c_instrs(g, false, lanes);
}

static void open_take(struct gen *g, const char *name, unsigned rows)
{
	text_put(g->o,
		 "BZ_FN void %s%s%u%s%s(const struct bz_args *A, const i64 *X, i64 len, i64 row, "
		 "int fresh, const struct %sfin *f",
		 g->prefix, name, rows, g->section ? "_" : "", emit_phase(g), g->prefix);
	emit_each_red(g, ", bz_$T *w$K", "");
	text_add(g->o, ")\n{\n");
	text_put(g->o, "enum { L = BZ_L_%s };\n", emit_red_type(g, g->first));
	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o, "const i64 x%u = X[%u];\n", l, l);
	text_put(g->o, "const i64 r%u = row;\n{\nconst i64 x%u = row;\n", g->loops - 1,
		 g->loops - 1);
	emit_c_addresses(g);
	put_each_access(g, false);
}

/* take<rows>(): rows row, row + L ... of a tile of whole vectors, of which the last ends with the
 * tile. */
static void put_take(struct gen *g, unsigned rows)
{
	unsigned last = g->loops - 1;

	open_take(g, "take", rows);
	text_add(g->o, "for (i64 p = 0; p < len; p += BZ_W) {\n"
		       "const i64 i = p + BZ_W <= len ? p : len - BZ_W;\n");
	emit_each_red(g,
		      "bz_$T *const q$K = BZ_AT(w$K, p), d$K = bz_id_$O_$T();\n"
		      "if (!fresh) d$K = *q$K;\n",
		      "");
	text_put(g->o, "BZ_%u_TIMES(\nconst i64 x%u = r%u + k * L;\n", rows, last, last);
	put_each_access(g, true);
	put_row_instrs(g, LANES_ALL);
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "d%u = bz_%s_%s(d%u, v%u);\n", k, emit_red_op(g, k),
			 emit_red_type(g, k), k, emit_red(g, k)->a);
	text_add(g->o, ")\n");
	emit_each_red(g, "*q$K = d$K;\n", "");
	text_add(g->o, "}\n}\n}\n");
}

/* few(): the same of one row of fewer points than a vector has. */
static void put_few(struct gen *g)
{
	open_take(g, "few", 1);
	text_put(g->o, "enum { k = 0, i = 0 };\nconst int n = (int)len;\n{\n");
	put_each_access(g, true);
	put_row_instrs(g, LANES_N);
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "*w%u = bz_%s_%s(fresh ? bz_id_%s_%s() : *w%u, v%u);\n", k,
			 emit_red_op(g, k), emit_red_type(g, k), emit_red_op(g, k),
			 emit_red_type(g, k), k, emit_red(g, k)->a);
	text_add(g->o, "}\n}\n}\n");
}

void emit_outer_functions(struct gen *g)
{
	if (!emit_by_lanes(g))
		return;
	for (unsigned rows = AT_ONCE; rows > 0; rows /= 2)
		put_take(g, rows);
	put_few(g);
}

static void put_call(struct gen *g, const char *name, unsigned rows)
{
	text_put(g->o, "%s%s%u%s%s(A, X, len, row, fresh, f", g->prefix, name, rows,
		 g->section ? "_" : "", emit_phase(g));
	emit_each_red(g, ", w$K", "");
	text_add(g->o, ");\n");
}

/* Turns of AT_ONCE rows of each lane. */
static void put_by_lanes(struct gen *g)
{
	text_put(g->o,
		 "enum { L = BZ_L_%s, turn = %u * L };\n"
		 "for (i64 at = 0; at < bn; at += turn) {\nif (*A->cancel) return;\n"
		 "for (i64 j = 0; j < L && at + j < bn; j++) {\n"
		 "i64 rows = ((bn - at < turn ? bn - at : turn) - j + L - 1) / L;\n"
		 "i64 row = r + at + j;\nint fresh = !at;\n",
		 emit_red_type(g, g->first), AT_ONCE);
	emit_each_red(g, "bz_$T *const w$K = c$K + j * $V;\n", "");
	text_add(g->o, "if (len < BZ_W) {\nfor (; rows > 0; rows--, row += L, fresh = 0)\n");
	put_call(g, "few", 1);
	text_add(g->o, "continue;\n}\n");
	for (unsigned rows = AT_ONCE; rows > 0; rows /= 2) {
		text_put(g->o, "if (rows & %u) {\n", rows);
		put_call(g, "take", rows);
		text_put(g->o, "row += %u * L;\nfresh = 0;\n}\n", rows);
	}
	text_add(g->o, "}\n}\n");
}

/* ---- a block, and the end of a chunk --------------------------------------------- */

void emit_outer_block(struct gen *g)
{
	if (emit_by_lanes(g))
		put_by_lanes(g);
	else
		put_row_by_row(g);
	emit_each_red(g,
		      "bz_vfold_$O_$T(c$K, $V, bz_used_$T(bn), nv);\n"
		      "for (int j = 0; j < nv; j++)\nif (one) f->f$K[j] = c$K[j];\n"
		      "else bz_vpush_$O_$T(t$K + j, c$K[j]);\n",
		      "");
}

/* The points of the last vector, which ended with the tile, to behind the others. */
void emit_outer_end(struct gen *g)
{
	if (emit_by_lanes(g))
		emit_each_red(
			g,
			"if (len > BZ_W && len % BZ_W) {\n"
			"bz_s_$T s[2 * BZ_W] = {0};\n"
			"bz_st_$T((char *)s, f->f$K[nv - 1]);\n"
			"f->f$K[nv - 1] = bz_ld_$T((const char *)(s + BZ_W - U(len) % BZ_W));\n"
			"}\n",
			"");
}
