/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_reduce.c - a nest with reductions as CUDA C++.
 *
 * Writes struct bz_kernel, the parameter K of the templates in kernels/tree.cuh: what
 * the reductions are, one reduced point, and the instructions behind them. */
#include "emit_cuda.h"

#include <string.h>

static const struct nest_instr *red(const struct cuda_gen *g, unsigned k)
{
	return &g->n->instr[g->red[k]];
}

static bool is_arg(const struct cuda_gen *g, unsigned k)
{
	return op_row(red(g, k)->c)->kind == KIND_ARGRED;
}

static const char *red_type(const struct cuda_gen *g, unsigned k)
{
	return emit_cuda_type(red(g, k)->ltype);
}

static const char *red_op(const struct cuda_gen *g, unsigned k)
{
	return op_row(red(g, k)->c)->stem;
}

/* Accumulators of a thread: 2 for a tree of 64 lanes (kernels/tree.h). */
static unsigned red_lanes(const struct cuda_gen *g, unsigned k)
{
	const struct dtype_row *row = dtype_row(red(g, k)->ltype);
	unsigned part = row->cls == CLASS_COMPLEX ? row->bytes / 2u : row->bytes;

	return !is_arg(g, k) && part <= 4 ? 2 : 1;
}

/* For each reduction the text for its kind, with $O its operation, $T its type, $K its
 * number and $1 the index of the accumulator for the second half of the lanes. */
static void each_red(struct cuda_gen *g, const char *tree, const char *arg)
{
	for (unsigned k = 0; k < g->nreduce; k++)
		for (const char *s = is_arg(g, k) ? arg : tree; *s; s++) {
			char plain[2] = {*s, 0};

			if (*s != '$')
				text_add(g->o, plain);
			else if (*++s == 'O')
				text_add(g->o, red_op(g, k));
			else if (*s == 'T')
				text_add(g->o, red_type(g, k));
			else if (*s == 'K')
				text_put(g->o, "%u", k);
			else
				text_put(g->o, "%u", red_lanes(g, k) - 1);
		}
}

/* Does a lane without elements leave every reduction as it is?  A complex product
 * with 1 + 0i can turn an infinity into NaN. */
static bool neutral(const struct cuda_gen *g)
{
	for (unsigned k = 0; k < g->nreduce; k++)
		if (red(g, k)->c == OP_PROD && dtype_row(red(g, k)->ltype)->cls == CLASS_COMPLEX)
			return false;
	return true;
}

static void put_types(struct cuda_gen *g)
{
	bool big = g->n->ninstr > EMIT_CUDA_BIG;

	text_put(g->o,
		 "struct bz_kernel {\ntypedef bz_params params;\n"
		 "template <class I> using place = bz_place<I>;\n"
		 "enum { big = %s, neutral = %s, unroll = %u, count = %u };\n",
		 big ? "true" : "false", neutral(g) ? "true" : "false", big ? 1 : 4, g->nreduce);
	text_add(g->o, "struct lanes {\n");
	for (unsigned k = 0; k < g->nreduce; k++)
		text_put(g->o, is_arg(g, k) ? "bz_best<bz_%s> r%u[%u];\n" : "bz_%s r%u[%u];\n",
			 red_type(g, k), k, red_lanes(g, k));
	text_add(g->o, "};\nstruct reds {\n");
	each_red(g, "bz_$T r$K;\n", "bz_best<bz_$T> r$K;\n");
	text_add(g->o, "};\n");
}

static void put_combining(struct cuda_gen *g)
{
	text_add(g->o, "BZ_FN void begin(lanes &a)\n{\n");
	each_red(g, "a.r$K[0] = a.r$K[$1] = bz_identity_$O<bz_$T>();\n",
		 "a.r$K[0] = {bz_number<bz_$T>(0), -1};\n");
	text_add(g->o, "}\nBZ_FN reds pair(const lanes &a)\n{\nreds v;\n");
	for (unsigned k = 0; k < g->nreduce; k++)
		if (red_lanes(g, k) == 2)
			text_put(g->o, "v.r%u = bz_%s<bz_%s>(a.r%u[0], a.r%u[1]);\n", k,
				 red_op(g, k), red_type(g, k), k, k);
		else
			text_put(g->o, "v.r%u = a.r%u[0];\n", k, k);
	text_add(g->o, "return v;\n}\nBZ_FN reds join(const reds &a, const reds &b)\n{\nreds v;\n");
	each_red(g, "v.r$K = bz_$O<bz_$T>(a.r$K, b.r$K);\n",
		 "v.r$K = bz_$O_join<bz_$T>(a.r$K, b.r$K);\n");
	text_add(g->o, "return v;\n}\nBZ_FN reds down(const reds &a, int w)\n{\nreds v;\n");
	each_red(g, "v.r$K = bz_down(a.r$K, w);\n", "v.r$K = bz_down_best(a.r$K, w);\n");
	text_add(g->o, "return v;\n}\nBZ_FN reds nothing()\n{\nreds v;\n");
	each_red(g, "v.r$K = bz_nothing_$O<bz_$T>();\n", "v.r$K = {bz_number<bz_$T>(0), -1};\n");
	text_add(g->o, "return v;\n}\nBZ_FN void put(bz_acc *p, const reds &v)\n{\n");
	each_red(g, "bz_acc_put(p + $K, v.r$K);\n", "bz_acc_put_best(p + $K, v.r$K);\n");
	text_add(g->o, "}\nBZ_FN reds get(const bz_acc *p)\n{\nreds v;\n");
	each_red(g, "v.r$K = bz_acc_get<bz_$T>(p + $K);\n",
		 "v.r$K = bz_acc_get_best<bz_$T>(p + $K);\n");
	text_add(g->o, "return v;\n}\n");
}

/* One reduced point, number r of parallel point `at`, for the lanes ODD. */
static void put_point(struct cuda_gen *g)
{
	unsigned npar = g->n->npar;

	text_add(g->o, "template <class I> BZ_FN bz_place<I> decode(const params &A, I p)\n{\n"
		       "return bz_decode<I>(A, p);\n}\n"
		       "BZ_FN bz_i64 reduced(const params &A)\n{\nreturn 1");
	for (unsigned l = npar; l < g->loops; l++)
		text_put(g->o, " * A.extent[%u]", l);
	text_add(g->o, ";\n}\ntemplate <class I, int ODD>\n"
		       "BZ_FN void point(const params &A, bz_place<I> at, I r, lanes &acc)\n{\n");
	emit_cuda_place(g);
	text_add(g->o, "I q = r;\n");
	for (unsigned l = g->loops; --l > npar;)
		text_put(g->o,
			 "const I q%u = bz_over(q, (I)A.extent[%u]);\n"
			 "const I x%u = q - q%u * (I)A.extent[%u];\nq = q%u;\n",
			 l, l, l, l, l, l);
	text_put(g->o, "const I x%u = q;\n", npar);
	emit_cuda_instrs(g, SECTION_BODY);
	for (unsigned k = 0; k < g->nreduce; k++)
		if (is_arg(g, k))
			text_put(g->o, "bz_%s_step<bz_%s>(acc.r%u[0], v%u, r);\n", red_op(g, k),
				 red_type(g, k), k, red(g, k)->a);
		else
			text_put(g->o, "acc.r%u[%s] = bz_%s<bz_%s>(acc.r%u[%s], v%u);\n", k,
				 red_lanes(g, k) == 2 ? "ODD" : "0", red_op(g, k), red_type(g, k),
				 k, red_lanes(g, k) == 2 ? "ODD" : "0", red(g, k)->a);
	text_add(g->o, "}\n");
}

static void put_post(struct cuda_gen *g)
{
	text_add(g->o, "template <class I>\n"
		       "BZ_FN void post(const params &A, bz_place<I> at, const reds &red)\n{\n");
	emit_cuda_place(g);
	for (unsigned k = 0; k < g->nreduce; k++) {
		const char *from = is_arg(g, k) ? "i64" : red_type(g, k);
		const char *to = emit_cuda_type(red(g, k)->dtype);

		text_put(g->o, "const bz_%s v%u = bz_cast<bz_%s, bz_%s>(red.r%u%s);\n", to,
			 g->red[k], from, to, k, is_arg(g, k) ? ".index" : "");
	}
	g->reach = g->n->npar;
	emit_cuda_instrs(g, SECTION_POST);
	g->reach = g->loops;
	text_add(g->o, "}\n};\n");
}

void emit_cuda_reduce(struct cuda_gen *g)
{
	put_types(g);
	put_combining(g);
	put_point(g);
	put_post(g);
	emit_cuda_entry(g, "bz_reduce_warp", "bz_reduce_warps<bz_kernel, bz_i64>(A);");
	emit_cuda_entry(g, "bz_reduce_column", "bz_reduce_columns<bz_kernel, bz_i64>(A);");
	emit_cuda_entry(g, "bz_finish", "bz_finish_points<bz_kernel>(A);");
	if (!emit_cuda_narrow(g->n))
		return;
	emit_cuda_entry(g, "bz_reduce_warp_narrow", "bz_reduce_warps<bz_kernel, bz_i32>(A);");
	emit_cuda_entry(g, "bz_reduce_column_narrow", "bz_reduce_columns<bz_kernel, bz_i32>(A);");
}
