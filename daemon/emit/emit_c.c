/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_c.c - a canonical nest as C text: instructions and rows.
 *
 * Values are vectors v<i> of BZ_W lanes.  A row is a run of points along one loop;
 * instructions that are the same all along it stand before the loop over its
 * vectors.  The last vector of a row ends with the row where points may be computed
 * twice; elsewhere, and in rows shorter than a vector, it computes all lanes and
 * stores those it has.  So every element goes through the same routine wherever it
 * lies. */
#include "emit_c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWICE_BELOW 32 /* longer bodies are written once, with n lanes everywhere */

/* Vectors of a row from which on another one is worth stores that cross no line. */
#define ALIGN_FROM "64"

const char *emit_c_suffix(unsigned dtype)
{
	return dtype_row(dtype)->suffix;
}

static bool instr_fixed(const struct gen *g, unsigned i, bool stored)
{
	const struct nest_instr *in = &g->n->instr[i];
	const struct instr_row *row = instr_row(in->op);
	uint16_t value[3];

	/* What a section before has handed on is a number at all of a point's reduced points. */
	if (nest_section(g->n, i) < g->section && g->row != EMIT_NO_ROW)
		return g->row >= g->n->npar;
	if (row->result != RESULT_HERE || (row->arg[0] == ARG_LOOP && in->a == g->row))
		return false;
	if (row->arg[0] == ARG_ACCESS && g->walk[in->a] != WALK_SAME)
		return false;
	/* Behind a store that may overlap it, its place counts. */
	if (row->effect == EFFECT_READS && stored && !g->n->access[in->a].alone)
		return false;
	for (unsigned k = instr_values(value, in); k-- > 0;)
		if (!g->fixed[value[k]])
			return false;
	return true;
}

void emit_c_plan_row(struct gen *g, unsigned row)
{
	bool stored = false;

	g->row = row;
	for (unsigned a = 0; a < g->n->naccess; a++)
		g->walk[a] = row == EMIT_NO_ROW ? WALK_SAME
			     : row == g->n->vec ? g->n->access[a].walk
						: WALK_STRIDED;
	for (unsigned i = 0; i < g->n->ninstr; i++) {
		g->fixed[i] = instr_fixed(g, i, stored);
		stored |= instr_writes(g->n->instr[i].op);
	}
}

/* Address of access a at vector i of the row. */
static void address(char buf[64], const struct gen *g, unsigned a)
{
	if (g->walk[a] == WALK_SAME)
		snprintf(buf, 64, "P%u", a);
	else if (g->walk[a] == WALK_UNIT)
		snprintf(buf, 64, "P%u + i * %u", a, dtype_row(g->n->access[a].dtype)->bytes);
	else
		snprintf(buf, 64, "P%u + i * t%u", a, a);
}

static void put_load(struct gen *g, unsigned i, enum lanes lanes)
{
	unsigned a = g->n->instr[i].a;
	const char *s = emit_c_suffix(g->n->access[a].dtype);
	bool strided = g->walk[a] == WALK_STRIDED;
	char at[64], whole[128], part[128];

	address(at, g, a);
	if (g->walk[a] == WALK_SAME) {
		text_put(g->o, "bz_dup_%s(%s)", s, at);
		return;
	}
	if (strided) {
		snprintf(whole, sizeof whole, "bz_lds_%s(%s, t%u)", s, at, a);
		snprintf(part, sizeof part, "bz_ldsn_%s(%s, t%u, n)", s, at, a);
	} else {
		snprintf(whole, sizeof whole, "bz_ld%s_%s(%s)", g->far ? "f" : "", s, at);
		snprintf(part, sizeof part, "bz_ldn_%s(%s, n)", s, at);
	}
	if (lanes == LANES_ANY)
		text_put(g->o, "n == BZ_W ? %s : %s", whole, part);
	else
		text_add(g->o, lanes == LANES_ALL ? whole : part);
}

static const char *count_of(enum lanes lanes)
{
	return lanes == LANES_ALL ? "BZ_W" : "n";
}

static void put_gather(struct gen *g, unsigned i, enum lanes lanes)
{
	const struct nest_instr *in = &g->n->instr[i];
	unsigned a = in->a, place = 2 * nest_gather(g->n, a);
	const char *s = emit_c_suffix(g->n->access[a].dtype);
	char at[64], step[32] = "0";

	address(at, g, a);
	if (g->walk[a] == WALK_UNIT)
		snprintf(step, sizeof step, "%u", dtype_row(g->n->access[a].dtype)->bytes);
	else if (g->walk[a] == WALK_STRIDED)
		snprintf(step, sizeof step, "t%u", a);
	text_put(g->o, "bz_%s v%u = bz_ldg_%s(%s, %s, v%u, A->gather[%u], A->gather[%u], %s);\n", s,
		 i, s, at, step, in->b, place, place + 1, count_of(lanes));
}

static void put_store(struct gen *g, unsigned i, enum lanes lanes)
{
	const struct nest_instr *in = &g->n->instr[i];
	unsigned a = in->a;
	const char *s = emit_c_suffix(g->n->access[a].dtype);
	bool strided = g->walk[a] == WALK_STRIDED;
	char at[64];

	address(at, g, a);
	if (g->walk[a] == WALK_SAME) {
		text_put(g->o, "bz_stn_%s(%s, 1, v%u);\n", s, at, in->b);
		return;
	}
	if (lanes == LANES_ANY)
		text_add(g->o, "if (n == BZ_W) ");
	if (lanes != LANES_N && strided)
		text_put(g->o, "bz_sts_%s(%s, t%u, v%u);\n", s, at, a, in->b);
	else if (lanes != LANES_N && g->past[a])
		text_put(g->o, "bz_nt_%s(%s, v%u, keep);\n", s, at, in->b);
	else if (lanes != LANES_N)
		text_put(g->o, "bz_st_%s(%s, v%u);\n", s, at, in->b);
	if (lanes == LANES_ANY)
		text_add(g->o, "else ");
	if (lanes != LANES_ALL && strided)
		text_put(g->o, "bz_stsn_%s(%s, t%u, n, v%u);\n", s, at, a, in->b);
	else if (lanes != LANES_ALL)
		text_put(g->o, "bz_stn_%s(%s, n, v%u);\n", s, at, in->b);
}

/* Is operand b checked by the operation before it is used?  Then the value that was
 * checked must be the one that is used, whatever a client writes meanwhile. */
static bool guarded(const struct nest_instr *in)
{
	uint8_t cls = dtype_row(in->ltype)->cls;

	if (cls != CLASS_INT && cls != CLASS_UINT)
		return false;
	switch (in->op) {
	case OP_DIVIDE:
	case OP_FLOOR_DIVIDE:
	case OP_REMAINDER:
	case OP_FMOD:
	case OP_POWER:
	case OP_LEFT_SHIFT:
	case OP_RIGHT_SHIFT:
		return true;
	default:
		return false;
	}
}

/* Is it a quotient of floats whose divisor is one all along a row? */
static bool is_over(const struct gen *g, unsigned i)
{
	const struct nest_instr *in = &g->n->instr[i];

	return in->op == OP_DIVIDE && (in->ltype == DT_FLOAT32 || in->ltype == DT_FLOAT64) &&
	       g->row != EMIT_NO_ROW && g->fixed[in->b] && !g->fixed[i];
}

bool emit_c_over_kept(const struct gen *g, unsigned i)
{
	return instr_computes(g->n->instr[i].op) && is_over(g, i) &&
	       nest_section(g->n, g->n->instr[i].b) < g->section;
}

static void put_compute(struct gen *g, unsigned i)
{
	const struct nest_instr *in = &g->n->instr[i];
	const char *stem = instr_row(in->op)->name, *result = emit_c_suffix(in->dtype);
	uint16_t value[3];

	if (guarded(in)) {
		/* In memory of our own: the compiler cannot fetch it again. */
		text_put(g->o, "bz_%s g%u = v%u; __asm__(\"\" : \"+m\"(g%u));\n",
			 emit_c_suffix(in->ltype), i, in->b, i);
		text_put(g->o, "bz_%s v%u = bz_%s_%s(v%u, g%u);\n", result, i, stem,
			 emit_c_suffix(in->ltype), in->a, i);
		return;
	}
	if (is_over(g, i)) {
		text_put(g->o, "bz_%s v%u = bz_by_%s(v%u, &o%u);\n", result, i, result, in->a, i);
		return;
	}
	text_put(g->o, "bz_%s v%u = bz_%s_%s", result, i, stem, emit_c_suffix(in->ltype));
	if (in->op == OP_CAST)
		text_put(g->o, "_%s", result);
	for (unsigned k = 0, n = instr_values(value, in); k < n; k++)
		text_put(g->o, k ? ", v%u" : "(v%u", value[k]);
	text_add(g->o, ");\n");
}

static void put_instr(struct gen *g, unsigned i, enum lanes lanes)
{
	const struct nest_instr *in = &g->n->instr[i];
	const char *s = emit_c_suffix(in->dtype);

	switch (in->op) {
	case NI_LOAD:
		text_put(g->o, "bz_%s v%u = ", emit_c_suffix(g->n->access[in->a].dtype), i);
		put_load(g, i, lanes);
		text_add(g->o, ";\n");
		break;
	case NI_GATHER:
		put_gather(g, i, lanes);
		break;
	case NI_STORE:
		put_store(g, i, lanes);
		break;
	case NI_SCALAR:
		text_put(g->o, "bz_%s v%u = bz_imm_%s(A->scalar[%u], A->scalar[%u]);\n", s, i, s,
			 2 * in->a, 2 * in->a + 1);
		break;
	case NI_INDEX:
		if (in->a == g->row)
			text_put(g->o, "bz_i64 v%u = bz_iota_i64(x%u + i, 1);\n", i, in->a);
		else
			text_put(g->o, "bz_i64 v%u = bz_iota_i64(x%u, 0);\n", i, in->a);
		break;
	case NI_REDUCE:
		break; /* declared by emit_reduce.c */
	default:
		put_compute(g, i);
		if (in->op == OP_INDEX)
			text_put(g->o, "bz_fault(A->error + %u, v%u, v%u, %s);\n", in->c, in->a,
				 in->b, count_of(lanes));
	}
}

void emit_c_instrs(struct gen *g, bool fixed, enum lanes lanes)
{
	if (!fixed && g->before)
		g->before(g);
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const char *s = emit_c_suffix(g->n->instr[i].dtype);

		if (g->fixed[i] == fixed && !(g->hold && g->n->instr[i].op == NI_STORE))
			put_instr(g, i, lanes);
		else if (fixed && g->overs && emit_c_over_kept(g, i))
			text_put(g->o, "const struct bz_over_%s o%u = bz_over_of_%s(s%u, l);\n", s,
				 i, s, i);
		else if (fixed && is_over(g, i))
			text_put(g->o, "const struct bz_over_%s o%u = bz_over_%s(v%u, len);\n", s,
				 i, s, g->n->instr[i].b);
	}
}

void emit_c_stores(struct gen *g, enum lanes lanes)
{
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		if (g->n->instr[i].op == NI_STORE)
			put_store(g, i, lanes);
}

bool emit_c_fetched(const struct gen *g, unsigned i, unsigned from)
{
	const struct nest *n = g->n;

	for (unsigned k = from; k < nest_end(n, g->section); k++)
		if (nest_touches(n->instr[k].op) && n->instr[k].op != NI_STORE &&
		    n->access[n->instr[k].a].slot == n->access[n->instr[i].a].slot)
			return true;
	return false;
}

/* May the points of g->section's rows be computed twice, the second time before anything of the
 * row is stored? */
static bool is_twice(const struct gen *g)
{
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const struct nest_instr *in = &g->n->instr[i];

		if (instr_writes(in->op) && (in->op != NI_STORE || g->walk[in->a] == WALK_SAME ||
					     emit_c_fetched(g, i, i + 1)))
			return false;
	}
	return true;
}

/* Is the text of a vector of the body so short that it may stand there twice? */
static bool is_short(const struct gen *g)
{
	unsigned n = 0;

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		n += instr_computes(g->n->instr[i].op) && !g->fixed[i];
	return n < TWICE_BELOW;
}

static void put_body(struct gen *g, void (*tail)(struct gen *g, enum lanes lanes), enum lanes lanes)
{
	emit_c_instrs(g, false, lanes);
	if (tail)
		tail(g, lanes);
}

/* What a row of results past the caches will load soon: the processor's own
 * prefetching ends with each page. */
static void put_ahead(struct gen *g)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};

	text_add(g->o, "if (!keep) {\n");
	for (unsigned i = 0; i < nest_end(g->n, g->section); i++) {
		const struct nest_instr *in = &g->n->instr[i];
		char at[64];

		if (in->op != NI_LOAD || g->walk[in->a] != WALK_UNIT || seen[in->a])
			continue;
		seen[in->a] = true;
		address(at, g, in->a);
		text_put(g->o, "bz_ahead(%s);\n", at);
	}
	text_add(g->o, "}\n");
}

/* What of a row goes past the caches, [from, to): whole lines that no other vector touches, since a
 * line that is written in both ways has to be fetched back from memory.  Of a short row that is all
 * or nothing: where it is not made of lines, the rows beside it share some. */
static void put_lines(struct gen *g, const char *n)
{
	const char *t = emit_c_suffix(g->n->access[g->lead].dtype);

	text_put(g->o,
		 "enum { fit = BZ_LINE / sizeof(bz_s_%s), line = fit > BZ_W ? fit : BZ_W };\n"
		 "const int few = len < " ALIGN_FROM " * %s;\n"
		 "const i64 before = bz_head_%s(P%u), head = few ? 0 : before;\n"
		 "const i64 rest = (i64)(U(len - head) %% BZ_W), from = head ? head + line : 0;\n"
		 "const i64 to = from + ((len - from - (rest ? rest + BZ_W : 0)) & -(i64)line);\n"
		 "const int kept = near || to <= from || (few && (before || len %% line));\n",
		 t, n, t, g->lead);
}

/* Runs of whole vectors that may overlap: those up to where the leading result has its first
 * line, those from there on, and one that ends with the row. */
static void put_runs(struct gen *g, const char *n, enum lanes lanes)
{
	if (g->lead == EMIT_NO_LEAD) {
		text_put(g->o, "for (i64 i = 0;;) {\nfor (; i + %s <= len; i += %s) {\n", n, n);
		emit_c_instrs(g, false, lanes);
		text_put(g->o, "}\nif (i == len) break;\ni = len - %s;\n}\n", n);
		return;
	}
	put_lines(g, n);
	text_put(g->o,
		 "for (i64 i = 0;;) {\n"
		 "const bz_s_u64 keep = kept || i < from || i >= to;\n"
		 "const i64 stop = !keep ? to : head && !i ? head + %s - 1 : "
		 "kept || i >= to ? len : from;\n"
		 "for (; i + %s <= stop; i += %s) {\n",
		 n, n, n);
	put_ahead(g);
	emit_c_instrs(g, false, lanes);
	text_put(g->o,
		 "}\nif (stop < from) i = head;\n"
		 "else if (stop == len) {\nif (i == len) break;\ni = len - %s;\n}\n}\n",
		 n);
}

/* A row whose points may be computed twice, so that vectors are whole. */
static void put_row_again(struct gen *g)
{
	if (is_short(g)) {
		text_add(g->o, "if (len >= BZ_W) {\n");
		put_runs(g, "BZ_W", LANES_ALL);
		text_add(g->o, "} else {\nconst i64 i = 0;\nconst int n = (int)len;\n");
		emit_c_instrs(g, false, LANES_N);
		text_add(g->o, "}\n");
	} else {
		text_add(g->o, "const int n = len < BZ_W ? (int)len : BZ_W;\n");
		put_runs(g, "n", LANES_ANY);
	}
}

void emit_c_vectors(struct gen *g, void (*tail)(struct gen *g, enum lanes lanes))
{
	if (is_short(g)) {
		text_add(g->o, "for (; i + BZ_W <= len; i += BZ_W) {\n");
		put_body(g, tail, LANES_ALL);
		text_add(g->o, "}\nif (i < len) {\nint n = (int)(len - i);\n");
		put_body(g, tail, LANES_N);
	} else {
		text_add(g->o, "for (; i < len; i += BZ_W) {\n"
			       "int n = len - i < BZ_W ? (int)(len - i) : BZ_W;\n");
		put_body(g, tail, LANES_ANY);
	}
	text_add(g->o, "}\n");
}

/* A row whose last vector ends with it.  That is computed first, of what the row held, and stored
 * last, since the vector before it may have written some of the same elements. */
static void put_row_ended(struct gen *g)
{
	text_add(g->o, "if (len >= BZ_W) {\nconst i64 i = len - BZ_W;\n");
	g->hold = true;
	emit_c_instrs(g, false, LANES_ALL);
	g->hold = false;
	text_add(g->o, "for (i64 i = 0; i + BZ_W < len; i += BZ_W) {\n");
	emit_c_instrs(g, false, LANES_ALL);
	text_add(g->o, "}\n");
	emit_c_stores(g, LANES_ALL);
	text_add(g->o, "} else {\nconst i64 i = 0;\nconst int n = (int)len;\n");
	emit_c_instrs(g, false, LANES_N);
	text_add(g->o, "}\n");
}

void emit_c_row(struct gen *g, void (*tail)(struct gen *g, enum lanes lanes))
{
	emit_c_instrs(g, true, LANES_ALL);
	if (g->again) {
		put_row_again(g);
		return;
	}
	if (!tail && g->section && emit_inner(g) && is_short(g) && is_twice(g)) {
		put_row_ended(g);
		return;
	}
	text_add(g->o, "i64 i = 0;\n");
	emit_c_vectors(g, tail);
}

void emit_c_extents(struct gen *g)
{
	for (unsigned l = 0; l < g->loops; l++)
		text_put(g->o, "const i64 E%u = A->extent[%u];\n", l, l);
}

void emit_c_points(struct gen *g, const char *name, unsigned first, unsigned last)
{
	text_put(g->o, "const i64 %s = 1", name);
	for (unsigned l = first; l < last; l++)
		text_put(g->o, " * E%u", l);
	text_add(g->o, ";\n");
}

void emit_c_carry(struct gen *g, unsigned first, unsigned last)
{
	for (unsigned l = last - 1; l > first; l--)
		text_put(g->o, "if (x%u == E%u) { x%u = 0; x%u++;\n", l, l, l, l - 1);
	for (unsigned l = last - 1; l > first; l--)
		text_add(g->o, "}\n");
}

void emit_c_point(struct gen *g, unsigned first, unsigned last, const char *at)
{
	if (first == last)
		return;
	text_put(g->o, "{\ni64 q = %s;\n", at);
	for (unsigned l = last; l-- > first;)
		if (l > first)
			text_put(g->o, "x%u = q %% E%u; q /= E%u;\n", l, l, l);
		else
			text_put(g->o, "x%u = q;\n", l);
	text_add(g->o, "}\n");
}

void emit_c_addresses(struct gen *g)
{
	bool seen[LIMIT_NEST_ACCESSES] = {false};

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const struct nest_instr *in = &g->n->instr[i];
		unsigned a = in->a;

		if (!nest_touches(in->op) || seen[a])
			continue;
		seen[a] = true;
		text_put(g->o, "char *%sP%u = A->base[%u]",
			 g->n->access[a].alone ? "restrict " : "", a, a);
		for (unsigned l = 0; l < g->loops; l++)
			text_put(g->o, " + x%u * A->stride[%u]", l, a * LIMIT_NDIM + l);
		text_add(g->o, ";\n");
		if (g->walk[a] == WALK_STRIDED)
			text_put(g->o, "const i64 t%u = A->stride[%u];\n", a,
				 a * LIMIT_NDIM + g->row);
	}
}

/* A nest that breaks the rules of nest.h must not reach the compiler as nonsense. */
static enum status check(const struct nest *n, struct err *err)
{
	unsigned nreduce = 0;

	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct nest_instr *in = &n->instr[i];
		bool access = nest_touches(in->op);

		if (!instr_known(in->op) || !nest_fed(n, i) || !dtype_native(in->dtype) ||
		    (instr_computes(in->op) && !dtype_native(in->ltype)) ||
		    (access && in->a >= n->naccess) ||
		    (access && !dtype_native(n->access[in->a].dtype)))
			return err_set(err, E_INTERNAL, "instruction %u of a nest (%s) has no C", i,
				       op_text(in->op));
		if (in->op == NI_REDUCE && (!n->nred || ++nreduce > LIMIT_NEST_REDUCES))
			return err_set(err, E_INTERNAL, "instruction %u of a nest: bad reduction",
				       i);
	}
	return OK;
}

enum status emit_c_named(char **out, const struct nest *spec, const char *prefix, struct err *err)
{
	struct text o = {NULL, 0, 0};
	struct gen g = {.o = &o, .n = spec, .prefix = prefix, .lead = EMIT_NO_LEAD};
	enum status st = check(spec, err);

	if (st)
		return st;
	g.loops = spec->npar + spec->nred;
	for (unsigned i = 0; i < spec->ninstr; i++)
		if (spec->instr[i].op == NI_REDUCE)
			g.red[g.nreduce++] = i;
	/* Indices are never negative; the compiler divides unsigned ones for less. */
	text_add(&o, "typedef bz_s_i64 i64;\n#define U(i) ((bz_s_u64)(i))\n");
	if (spec->nred)
		emit_reduce(&g);
	else
		emit_map(&g);
	*out = o.s;
	return OK;
}

enum status emit_c(char **out, const struct nest *spec, struct err *err)
{
	return emit_c_named(out, spec, "bz_", err);
}

/* Does the nest compute `op`, or reduce by it? */
static bool has(const struct nest *n, unsigned op)
{
	for (unsigned i = 0; i < n->ninstr; i++)
		if (n->instr[i].op == op || (n->instr[i].op == NI_REDUCE && n->instr[i].c == op))
			return true;
	return false;
}

/* Does it compute functions that are libmvec's, or braze's own instead?  (Some beside them.) */
static bool has_math(const struct nest *n)
{
	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct nest_instr *in = &n->instr[i];
		unsigned rule = instr_computes(in->op) ? op_row(in->op)->rule : RULE_NONE;

		if (rule == RULE_FLOAT || rule == RULE_FLOAT_REAL || in->op == OP_POWER)
			return true;
	}
	return false;
}

static void omit_parts(struct text *o, const struct nest *n)
{
	const bool made = emit_omit_types(o, n); /* of those functions, among others */

	emit_omit(o, made || has_math(n), "MATH");
	emit_omit(o, has(n, OP_DIVIDE), "OVER");
	emit_omit(o, nest_checks(n) || nest_gathers(n), "GATHER");
	emit_omit(o, n->nred, "TREE");
	emit_omit(o, !n->nred || n->nmore, "STREAM");
	emit_omit(o, has(n, OP_ARGMIN) || has(n, OP_ARGMAX), "ARG");
}

enum status emit_c_source(char **out, const struct nest *spec, struct err *err)
{
	struct text o = {NULL, 0, 0};
	char *body = NULL;
	enum status st = emit_c(&body, spec, err);

	if (st)
		return st;
	text_put(&o, "#define BZ_WIDTH %u\n", spec->width);
	omit_parts(&o, spec);
	text_add(&o, emit_c_prologue());
	text_add(&o, "\n" EMIT_KERNEL_MARK "\n");
	text_indented(&o, body);
	free(body);
	*out = o.s;
	return OK;
}
