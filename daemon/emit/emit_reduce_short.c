/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_reduce_short.c - phases of rows that have no more elements than a block has lanes.
 *
 * Each accumulator gets one vector, so none is added to: short() keeps the vectors of a row as they
 * come and folds them.  The last vector ends with the row: it holds some elements of the one before
 * as well, the rest is moved to its own lanes (bz_last_ of kernels/tree.h).  A row of less than
 * a vector has as many lanes as elements. */
#include "emit_c.h"

bool emit_ended(const struct gen *g)
{
	const struct nest *n = g->n;

	for (unsigned k = g->first; k < g->last; k++)
		if (emit_red_arg(g, k))
			return false;
	/* What is stored must not be fetched by the next vector. */
	for (unsigned i = nest_begin(n, g->section); i < nest_end(n, g->section); i++)
		if (instr_writes(n->instr[i].op) &&
		    (n->instr[i].op != NI_STORE || g->walk[n->instr[i].a] == WALK_SAME ||
		     emit_c_fetched(g, i, nest_begin(n, g->section))))
			return false;
	return true;
}

bool emit_shorts(const struct gen *g)
{
	return g->n->nmore && emit_abreast(g) && g->first < g->last && emit_ended(g);
}

/* Lanes of a block, the fewest of the section's reductions. */
static const char *lanes(const struct gen *g)
{
	for (unsigned k = g->first; k < g->last; k++)
		if (!emit_narrow(g, k))
			return "32";
	return "64";
}

/* z<k>: of the vector that ends with the row, what reduction k has not had.  It comes first, since
 * it takes the longest. */
static void put_last(struct gen *g)
{
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "bz_%s z%u;\n", emit_red_type(g, k), k);
	text_add(g->o, "{\nconst i64 i = N - n;\n");
	emit_c_instrs(g, false, LANES_ANY);
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "z%u = rest == BZ_W ? v%u : bz_last_%s(v%u, &q%u, bz_id_%s_%s());\n",
			 k, emit_red(g, k)->a, emit_red_type(g, k), emit_red(g, k)->a, k,
			 emit_red_op(g, k), emit_red_type(g, k));
	text_add(g->o, "}\n");
}

/* The accumulator that is known by a number under the condition gets it. */
static void put_times(struct gen *g, const char *condition)
{
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "BZ_%s_TIMES(if (%s) d%u[k] = z%u;)\n",
			 emit_narrow(g, k) ? "NARROW" : "WIDE", condition, k, k);
}

/* Vectors by number, so that they are registers: `count`, a constant, is how many there may be. */
static void put_unrolled(struct gen *g)
{
	bool narrow = false;

	for (unsigned k = g->first; k < g->last; k++)
		narrow = narrow || emit_narrow(g, k);
	text_put(g->o,
		 "BZ_%s_TIMES(if (k + 1 < count && (k < 2 || k + 1 < vectors)) {\n"
		 "const i64 i = k * BZ_W;\n",
		 narrow ? "NARROW" : "WIDE");
	emit_c_instrs(g, false, LANES_ALL);
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "d%u[k] = v%u;\n", k, emit_red(g, k)->a);
	text_add(g->o, "})\n");
}

static void put_loop(struct gen *g)
{
	text_add(g->o, "for (i64 i = 0; i < (vectors - 1) * BZ_W; i += BZ_W) {\n");
	emit_c_instrs(g, false, LANES_ALL);
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "c%u[U(i) / BZ_W] = v%u;\n", k, emit_red(g, k)->a);
	text_add(g->o, "}\n");
	for (unsigned k = g->first; k < g->last; k++)
		text_put(g->o, "c%u[vectors - 1] = z%u;\n", k, k);
}

void emit_places(struct gen *g)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const struct nest_instr *in = &g->n->instr[i];
		unsigned a = in->a;

		if (!nest_touches(in->op) || seen[a])
			continue;
		seen[a] = true;
		text_put(g->o, "char *const Q%u = A->base[%u]", a, a);
		for (unsigned l = 0; l < g->n->npar; l++)
			text_put(g->o, " + X[%u] * A->stride[%u]", l, a * LIMIT_NDIM + l);
		text_put(g->o, ";\nconst i64 w%u = A->stride[%u], t%u = A->stride[%u];\n", a,
			 a * LIMIT_NDIM + g->n->npar - 1, a, a * LIMIT_NDIM + g->n->npar);
	}
}

void emit_places_row(struct gen *g)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};

	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o, "const i64 x%u = X[%u]%s;\n", l, l,
			 l + 1 < g->n->npar ? "" : " + l");
	text_put(g->o, "const i64 x%u = 0;\n", g->n->npar);
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		unsigned a = g->n->instr[i].a;

		if (!nest_touches(g->n->instr[i].op) || seen[a])
			continue;
		seen[a] = true;
		text_put(g->o, "char *%sP%u = Q%u + l * w%u;\n",
			 g->n->access[a].alone ? "restrict " : "", a, a, a);
	}
}

void emit_short_function(struct gen *g)
{
	const bool light = emit_light(g);

	text_put(g->o,
		 "BZ_FN void %sshort%s(const struct bz_args *A, const i64 *X, i64 N, i64 points, "
		 "const int count, struct %sfin *f",
		 g->prefix, emit_phase(g), g->prefix);
	emit_each_red(g, ", bz_$T *e$K", "");
	text_put(g->o,
		 ")\n{\nconst int n = %sN < BZ_W ? (int)N : BZ_W;\n"
		 "const i64 len = N, vectors = count == 1 ? 1 : BZ_VECTORS(N);\n"
		 "const int rest = (int)(N - (vectors - 1) * BZ_W);\n",
		 light ? "count == 1 && " : "");
	emit_each_red(g, "const struct bz_rest_$T q$K = bz_rest_$T(rest, n - rest);\n", "");
	if (!light) {
		emit_each_red(g, "bz_$T c$K[BZ_R_$T];\n", "");
		emit_each_lane(g, "c$K[k] = bz_id_$O_$T();");
	}
	emit_places(g);
	text_add(g->o, "for (int l = 0; l < points; l++) {\n");
	emit_places_row(g);
	emit_kept(g);
	emit_c_instrs(g, true, LANES_ALL);
	put_last(g);
	emit_each_red(g, "bz_$T d$K[BZ_R_$T];\n", "");
	if (light) {
		emit_each_lane(g, "d$K[k] = bz_id_$O_$T();");
		put_unrolled(g);
		put_times(g, "count <= 2 ? k + 1 == count : k >= 2 && k + 1 == vectors");
	} else {
		put_loop(g);
		/* Folded elsewhere, or a row would wait for the fold of the one before. */
		emit_each_lane(g, "d$K[k] = c$K[k];");
	}
	emit_each_red(g, "e$K[l] = $Xnarrow_$O_$T(d$K, bz_used_$T(N), count);\n", "");
	text_add(g->o, "}\n}\n");
}

static void put_call(struct gen *g, const char *count)
{
	text_put(g->o, "%sshort%s(A, X, N, points, %s, f", g->prefix, emit_phase(g), count);
	emit_each_red(g, ", e$K", "");
	text_add(g->o, ");\n");
}

void emit_short_call(struct gen *g)
{
	if (emit_light(g)) {
		text_add(g->o, "if (N <= BZ_W) {\n");
		put_call(g, "1");
		text_add(g->o, "} else if (N <= 2 * BZ_W) {\n");
		put_call(g, "2");
		text_add(g->o, "} else ");
	}
	text_put(g->o, "if (N <= %s) {\n", lanes(g));
	put_call(g, lanes(g)[0] == '3' ? "32 / BZ_W" : "64 / BZ_W");
	text_add(g->o, "} else {\n");
}

void emit_far_piece(struct gen *g)
{
	text_put(g->o,
		 "static __attribute__((noinline)) void %sfar%s(const struct bz_args *A, const i64 "
		 "*X, i64 N, int l, i64 r, i64 at, i64 len, int fresh, struct %sfin *f",
		 g->prefix, emit_phase(g), g->prefix);
	emit_each_red(g, ", bz_$T *c$K", "");
	text_put(g->o, ")\n{\n%spiece%s(A, X, N, l, r, at, len, fresh, f", g->prefix,
		 emit_phase(g));
	emit_each_red(g, ", c$K", "");
	text_add(g->o, ");\n}\n");
}
