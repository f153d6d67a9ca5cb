/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_reduce_types.c - what the functions of a nest with reductions share: which way its
 * vectors run, its reductions by number, and the types of emit_reduce.c. */
#include "emit_c.h"
#include "loops/kernel_abi.h"

/* Vectors of a tile in outer mode: 2 KiB of each row, so that rows far apart cost
 * few misses of the address translation; fewer where the lanes of several
 * reductions would not stay in the cache.  Lane by lane accumulators are fetched once for
 * eight rows, and may lie in the second cache: 256 KiB of them. */
#define OUTER_TILE	 32
#define OUTER_TILE_MANY	 8
#define OUTER_TILE_LANES KERNEL_TILE_VECTORS
#define OUTER_TILE_HALF	 KERNEL_TILE_VECTORS / 2 /* of types of twice the lanes */

/* Points side by side in inner mode: at the end of a phase each waits for its sum, and many wait
 * together. */
#define INNER_POINTS "8"
#define SHORT_POINTS "16" /* of a nest with phases, where rows are short */

/* A point of more work than this, in tenths of a nanosecond, does not wait for its
 * accumulators in memory. */
#define LIGHT_COST 8

bool emit_inner(const struct gen *g)
{
	return g->n->vec >= g->n->npar;
}

bool emit_abreast(const struct gen *g)
{
	return emit_inner(g) && g->n->nred == 1 && g->n->npar;
}

const char *emit_points_abreast(const struct gen *g)
{
	if (!emit_abreast(g))
		return "1";
	return g->n->nmore ? SHORT_POINTS : INNER_POINTS;
}

/* Registers of a tile: of its points as lanes; in outer mode each of 64 bytes, which are so many of
 * the processor's own. */
#define NUMBER(n)   #n
#define OF_PARTS(n) "(" NUMBER(n) " * BZ_PARTS)"
const char *emit_tile(const struct gen *g)
{
	if (emit_inner(g))
		return !emit_abreast(g) ? "1"
		       : g->n->nmore	? "BZ_VECTORS(" SHORT_POINTS ")"
					: "BZ_VECTORS(" INNER_POINTS ")";
	if (g->by_lanes)
		return emit_narrow(g, 0) ? OF_PARTS(OUTER_TILE_HALF) : OF_PARTS(OUTER_TILE_LANES);
	return g->nreduce == 1 ? OF_PARTS(OUTER_TILE) : OF_PARTS(OUTER_TILE_MANY);
}

const char *emit_phase(const struct gen *g)
{
	static const char *const text[LIMIT_NEST_SECTIONS / 2] = {"", "1", "2", "3"};

	return text[g->section / 2];
}

const struct nest_instr *emit_red(const struct gen *g, unsigned k)
{
	return &g->n->instr[g->red[k]];
}

bool emit_red_arg(const struct gen *g, unsigned k)
{
	return op_row(emit_red(g, k)->c)->kind == KIND_ARGRED;
}

const char *emit_red_type(const struct gen *g, unsigned k)
{
	return emit_c_suffix(emit_red(g, k)->ltype);
}

const char *emit_red_op(const struct gen *g, unsigned k)
{
	return op_row(emit_red(g, k)->c)->stem;
}

bool emit_reduces(const struct gen *g, unsigned section)
{
	for (unsigned k = 0; k < g->nreduce; k++)
		if (nest_section(g->n, g->red[k]) == section)
			return true;
	return false;
}

bool emit_light(const struct gen *g)
{
	unsigned cost = 0;

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const struct nest_instr *in = &g->n->instr[i];

		if (in->op == NI_GATHER || in->dtype == DT_FLOAT16 || in->dtype == DT_BFLOAT16 ||
		    dtype_row(in->dtype)->cls == CLASS_COMPLEX)
			return false;
		if (instr_computes(in->op))
			cost += op_row(in->op)->cost;
	}
	for (unsigned k = g->first; k < g->last; k++)
		if (emit_red_arg(g, k))
			return false;
	return cost <= LIGHT_COST;
}

bool emit_narrow(const struct gen *g, unsigned k)
{
	const struct dtype_row *row = dtype_row(emit_red(g, k)->ltype);

	return row->bytes <= (row->cls == CLASS_COMPLEX ? 8 : 4);
}

unsigned emit_widest(const struct gen *g)
{
	unsigned bytes = 1;

	for (unsigned i = 0; i < nest_end(g->n, 0); i++) {
		const struct nest_instr *in = &g->n->instr[i];

		if (in->op == NI_LOAD && dtype_row(g->n->access[in->a].dtype)->bytes > bytes)
			bytes = dtype_row(g->n->access[in->a].dtype)->bytes;
	}
	return bytes;
}

/* Which of the two texts for reduction k; both take (op, type, number of k). */
void emit_each_red(struct gen *g, const char *tree, const char *arg)
{
	static const char marks[] = "OTKVPX";

	for (unsigned k = g->first; k < g->last; k++) {
		for (const char *s = emit_red_arg(g, k) ? arg : tree; *s; s++) {
			char plain[2] = {*s, 0};

			/* $O, $T, $K: operation, type, number; $V: vectors of a tile, outer
			 * mode; $P: points of one, inner mode; $X: the kernel's prefix. */
			if (*s != '$')
				text_add(g->o, plain);
			else if (*++s == marks[0])
				text_add(g->o, emit_red_op(g, k));
			else if (*s == marks[1])
				text_add(g->o, emit_red_type(g, k));
			else if (*s == marks[2])
				text_put(g->o, "%u", k);
			else if (*s == marks[3])
				text_add(g->o, emit_tile(g));
			else if (*s == marks[4])
				text_add(g->o, emit_points_abreast(g));
			else if (*s == marks[5])
				text_add(g->o, g->prefix);
		}
	}
}

/* What tree.h has of rows, for each kind of reduction once. */
static void put_rows(struct gen *g)
{
	for (unsigned k = 0; k < g->nreduce; k++) {
		unsigned same = 0;

		while (emit_red(g, same)->c != emit_red(g, k)->c ||
		       emit_red(g, same)->ltype != emit_red(g, k)->ltype)
			same++;
		if (same == k && !emit_red_arg(g, k))
			text_put(g->o, "BZ_ROWS(%s, %s, %s)\n", g->prefix, emit_red_op(g, k),
				 emit_red_type(g, k));
	}
}

void emit_reduce_types(struct gen *g)
{
	if (emit_inner(g))
		put_rows(g);
	text_put(g->o, "enum { %sTILE = %s, %sPOINTS = %s%s };\n", g->prefix, emit_tile(g),
		 g->prefix, emit_inner(g) ? emit_points_abreast(g) : emit_tile(g),
		 emit_inner(g) ? "" : " * BZ_W");
	text_put(g->o, "struct %sfin {\n", g->prefix);
	for (unsigned k = 0; k < g->nreduce; k++)
		if (emit_red_arg(g, k))
			text_put(g->o, "struct bz_arg_%s a%u[%s];\nbz_i64 f%u[%s];\n",
				 emit_red_type(g, k), k,
				 emit_inner(g) ? emit_points_abreast(g) : emit_tile(g), k,
				 emit_tile(g));
		else
			text_put(g->o, "bz_%s f%u[%s];\n", emit_red_type(g, k), k, emit_tile(g));
	for (unsigned s = SECTION_POST; s < nest_sections(g->n); s += 2)
		for (unsigned i = nest_begin(g->n, s); i < nest_end(g->n, s); i++)
			if (nest_kept(g->n, i))
				text_put(g->o, "bz_%s h%u[%s];\n",
					 emit_c_suffix(g->n->instr[i].dtype), i, emit_tile(g));
	text_put(g->o, "};\nstruct %sstate {\n", g->prefix);
	emit_each_red(g, "struct bz_tree_$T t$K;\n", "struct bz_acc t$K;\n");
	text_add(g->o, "};\n");
}

/* begin, push, end: chunks of one parallel point. */
void emit_reduce_state(struct gen *g)
{
	text_put(g->o, "static void %sbegin(struct %sstate *s)\n{\n", g->prefix, g->prefix);
	emit_each_red(g, "bz_tree_init_$T(&s->t$K);\n",
		      "s->t$K.v[0] = s->t$K.v[1] = 0; s->t$K.index = -1;\n");
	text_put(g->o, "}\nstatic void %spush(struct %sstate *s, const struct bz_acc *p)\n{\n",
		 g->prefix, g->prefix);
	emit_each_red(g, "bz_push_$O_$T(&s->t$K, bz_acc_get_$T(p + $K));\n",
		      "bz_$O_join_$T(&s->t$K, p + $K);\n");
	/* spread: point l of a tile as accumulators. */
	text_put(g->o,
		 "}\nstatic void %sspread(const struct %sfin *f, int l, struct bz_acc *p)\n{\n",
		 g->prefix, g->prefix);
	emit_each_red(g,
		      "{ bz_s_$T s[BZ_W]; bz_st_$T((char *)s, f->f$K[l / BZ_W]);\n"
		      "bz_acc_put_$T(p + $K, s[l % BZ_W]); }\n",
		      emit_inner(g) ? "bz_$O_end_$T(&f->a$K[l], p + $K);\n"
				    : "bz_$O_lane_$T(&f->a$K[l / BZ_W], l % BZ_W, p + $K);\n");
	/* end: the states of a tile's points become its results. */
	text_put(g->o,
		 "}\nstatic void %send(struct %sstate *s, int n, i64 N, struct %sfin *f)\n{\n",
		 g->prefix, g->prefix, g->prefix);
	for (unsigned k = 0; k < g->nreduce; k++) {
		const char *t = emit_red_arg(g, k) ? "i64" : emit_red_type(g, k);

		text_put(g->o, "{ bz_s_%s v[%sTILE * BZ_W] = {0};\nfor (int l = 0; l < n; l++)\n",
			 t, g->prefix);
		if (emit_red_arg(g, k))
			text_put(g->o, "v[l] = s[l].t%u.index;\n", k);
		else
			text_put(g->o, "v[l] = bz_end_%s_%s(&s[l].t%u, N);\n", emit_red_op(g, k), t,
				 k);
		text_put(g->o,
			 "for (int j = 0; j < %sTILE; j++) f->f%u[j] = "
			 "bz_ld_%s((const char *)(v + j * BZ_W)); }\n",
			 g->prefix, k, t);
	}
	text_add(g->o, "}\n");
}
