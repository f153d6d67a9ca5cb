/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_reduce.c - a nest with reductions as CUDA C++.
 *
 * Writes struct bz_kernel, the parameter K of the templates in kernels/tree.cuh: what
 * the reductions are, one reduced point, and the instructions behind them. */
#include "emit_cuda.h"

#include <stdio.h>
#include <string.h>

#include "contract/cuda_abi.h"

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

/* A complex product knows lanes that no element went to: one with 1 + 0i can turn an infinity
 * into NaN. */
static bool skips(unsigned op, unsigned dtype)
{
	return op == OP_PROD && dtype_row(dtype)->cls == CLASS_COMPLEX;
}

const char *emit_cuda_join(unsigned op, unsigned dtype)
{
	return skips(op, dtype) ? "cprod" : op_row(op)->stem;
}

const char *emit_cuda_step(unsigned op, unsigned dtype)
{
	return skips(op, dtype) ? "cprod_next" : op_row(op)->stem;
}

unsigned emit_cuda_lanes(unsigned dtype)
{
	const struct dtype_row *row = dtype_row(dtype);

	return (row->cls == CLASS_COMPLEX ? row->bytes / 2u : row->bytes) <= 4 ? 2 : 1;
}

static const char *red_op(const struct cuda_gen *g, unsigned k)
{
	return emit_cuda_join(red(g, k)->c, red(g, k)->ltype);
}

static const char *red_step(const struct cuda_gen *g, unsigned k)
{
	return emit_cuda_step(red(g, k)->c, red(g, k)->ltype);
}

static unsigned red_lanes(const struct cuda_gen *g, unsigned k)
{
	return is_arg(g, k) ? 1 : emit_cuda_lanes(red(g, k)->ltype);
}

/* For each reduction the text for its kind, with $O its operation, $T its type, $K its
 * number and $1 the index of the accumulator for the second half of the lanes. */
static void each_red(struct cuda_gen *g, const char *tree, const char *arg)
{
	for (unsigned k = g->first; k < g->last; k++)
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

/* Of the struct that a section at every point and the one behind it become. */
static const char *name(const struct cuda_gen *g)
{
	static const char *const phase[LIMIT_NEST_SECTIONS / 2] = {"bz_phase0", "bz_phase1",
								   "bz_phase2", "bz_phase3"};

	return g->n->nmore ? phase[g->section / 2] : "bz_kernel";
}

/* What a parallel point is, with what phases hand on. */
static const char *place(const struct cuda_gen *g)
{
	return g->n->nmore ? "bz_spot" : "bz_place";
}

/* Does the section load access a? */
static bool reads(const struct cuda_gen *g, unsigned a)
{
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		if (g->n->instr[i].op == NI_LOAD && g->n->instr[i].a == a)
			return true;
	return false;
}

/* Bytes that the section reads at each of its points. */
static unsigned read_bytes(const struct cuda_gen *g)
{
	unsigned sum = 0;

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		if (g->n->instr[i].op == NI_LOAD)
			sum += dtype_row(g->n->access[g->n->instr[i].a].dtype)->bytes;
	return sum;
}

/* Accesses of a section that stores, too, which may be loaded at several points before any of these
 * is computed: its points are each other's neighbours, nothing more, and of one point no element is
 * loaded that it has stored before.  By itself the compiler must keep the written order. */
static uint32_t early_loads(const struct cuda_gen *g)
{
	uint32_t early = 0;
	bool stored = false;

	if (g->loops != g->n->npar + 1u || g->n->ninstr > EMIT_CUDA_BIG)
		return 0;
	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++) {
		const struct nest_instr *in = &g->n->instr[i];
		const struct nest_access *x = &g->n->access[in->a];

		stored |= instr_writes(in->op);
		if (in->op != NI_LOAD || x->gather || x->walk == WALK_SAME)
			continue;
		if (stored && !x->alone)
			return 0;
		early |= 1u << in->a;
	}
	return stored ? early : 0;
}

/* leaf_unroll: turns of eight points each that go along columns at once; unroll: likewise, along
 * rows.  64 bytes under way for a thread are enough where many threads are, and more only takes
 * registers; columns of 8 bytes, which would spill with so many threads, have 128. */
static void put_types(struct cuda_gen *g)
{
	bool big = g->n->ninstr > EMIT_CUDA_BIG;

	text_put(g->o,
		 "struct %s {\ntypedef bz_params params;\n"
		 "template <class I> using place = %s<I>;\n"
		 "enum { big = %s, leaf_bits = %u, unroll = %u, leaf_unroll = %u, count = %u, "
		 "vector = %u, ahead = %s };\n",
		 name(g), place(g), big ? "true" : "false", big ? 5 : 3, read_bytes(g) > 4 ? 1 : 2,
		 read_bytes(g) > 8 ? 1 : 2, g->last - g->first, emit_cuda_reduce_vector(g->n),
		 early_loads(g) ? "true" : "false");
	text_add(g->o, "struct lanes {\n");
	for (unsigned k = g->first; k < g->last; k++)
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
	for (unsigned k = g->first; k < g->last; k++)
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

/* Does the section use value v of one before? */
static bool uses(const struct cuda_gen *g, unsigned v)
{
	uint16_t value[3];

	for (unsigned i = nest_begin(g->n, g->section); i < nest_end(g->n, g->section); i++)
		for (unsigned k = instr_values(value, &g->n->instr[i]); k-- > 0;)
			if (value[k] == v)
				return true;
	return false;
}

static void put_kept(struct cuda_gen *g, unsigned before)
{
	for (unsigned i = 0; i < before; i++)
		if (uses(g, i))
			text_put(g->o, "const bz_%s v%u = at.kept.v%u;\n",
				 emit_cuda_type(g->n->instr[i].dtype), i, i);
}

/* Number q of the reduced points becomes x<l>. */
static void put_reduced(struct cuda_gen *g)
{
	unsigned npar = g->n->npar;

	for (unsigned l = g->loops; --l > npar;)
		text_put(g->o,
			 "const I q%u = bz_over(q, (I)A.extent[%u]);\n"
			 "const I x%u = q - q%u * (I)A.extent[%u];\nq = q%u;\n",
			 l, l, l, l, l, l);
	text_put(g->o, "const I x%u = q;\n", npar);
	put_kept(g, nest_begin(g->n, g->section));
}

/* The instructions at a reduced point, and what they give to the lanes. */
static void put_steps(struct cuda_gen *g)
{
	emit_cuda_instrs(g, g->section);
	for (unsigned k = g->first; k < g->last; k++)
		if (is_arg(g, k))
			text_put(g->o, "bz_%s_step<bz_%s>(acc.r%u[0], v%u, r);\n", red_op(g, k),
				 red_type(g, k), k, red(g, k)->a);
		else
			text_put(g->o, "acc.r%u[%s] = bz_%s<bz_%s>(acc.r%u[%s], v%u);\n", k,
				 red_lanes(g, k) == 2 ? "ODD" : "0", red_step(g, k), red_type(g, k),
				 k, red_lanes(g, k) == 2 ? "ODD" : "0", red(g, k)->a);
}

/* So many reduced points in a row, whose operands come at once. */
static void put_vector_points(struct cuda_gen *g)
{
	unsigned last = g->loops - 1, innermost = g->innermost, each = g->vector;

	g->vector = emit_cuda_reduce_vector(g->n);
	if (g->vector) {
		text_put(g->o,
			 "template <class I, int ODD>\n"
			 "BZ_FN void points(const params &A, %s<I> at, I first, lanes *all)\n{\n",
			 place(g));
		emit_cuda_place(g);
		text_add(g->o, "I q = first;\n");
		put_reduced(g);
		for (unsigned a = 0; a < g->n->naccess; a++) {
			const struct nest_access *x = &g->n->access[a];

			if (x->write || x->walk != WALK_UNIT || !reads(g, a))
				continue;
			text_put(g->o,
				 "bz_vector<bz_%s, %u> a%u;\na%u.word = *(const decltype(a%u.word) "
				 "*)(",
				 emit_cuda_type(x->dtype), g->vector, a, a, a);
			emit_cuda_address(g, a);
			text_add(g->o, ");\n");
		}
		text_put(g->o,
			 "const I begin = x%u;\n#pragma unroll\nfor (int k = 0; k < %u; k++) {\n"
			 "const I x%u = begin + k, r = first + k;\nlanes &acc = all[k];\n",
			 last, g->vector, last);
		g->innermost = g->loops; /* no loop: k is in its index already */
		put_steps(g);
		text_add(g->o, "}\n}\n");
	}
	g->innermost = innermost;
	g->vector = each;
}

/* COUNT reduced points, 32 apart, of which all is loaded before anything is computed. */
static void put_points_ahead(struct cuda_gen *g)
{
	unsigned last = g->loops - 1;

	g->loaded = early_loads(g);
	if (!g->loaded)
		return;
	text_put(g->o,
		 "template <class I, int COUNT>\n"
		 "BZ_FN void points_ahead(const params &A, %s<I> at, I first, lanes &acc)\n{\n",
		 place(g));
	emit_cuda_place(g);
	text_add(g->o, "I q = first;\n");
	put_reduced(g);
	text_put(g->o, "const I begin = x%u;\n", last);
	for (unsigned a = 0; a < g->n->naccess; a++) {
		const char *t = emit_cuda_type(g->n->access[a].dtype);

		if (!(g->loaded >> a & 1))
			continue;
		text_put(g->o,
			 "bz_%s a%u[COUNT];\n#pragma unroll\nfor (int k = 0; k < COUNT; k++) {\n"
			 "const I x%u = begin + 32 * k;\na%u[k] = bz_ld<bz_%s>(",
			 t, a, last, a, t);
		emit_cuda_address(g, a);
		text_add(g->o, ");\n}\n");
	}
	text_put(g->o,
		 "#pragma unroll\nfor (int k = 0; k < COUNT; k++) {\n"
		 "const I x%u = begin + 32 * k, r = first + 32 * k;\nconst int ODD = k & 1;\n",
		 last);
	put_steps(g);
	text_add(g->o, "}\n}\n");
	g->loaded = 0;
}

/* One reduced point, number r of parallel point `at`, for the lanes ODD. */
static void put_point(struct cuda_gen *g)
{
	unsigned npar = g->n->npar;

	text_put(g->o,
		 "template <class I> BZ_FN %s<I> decode(const params &A, I p)\n{\n"
		 "return %s<I>(A, p);\n}\n"
		 "BZ_FN bz_i64 reduced(const params &A)\n{\nreturn 1",
		 place(g), g->n->nmore ? "bz_decode_spot" : "bz_decode");
	for (unsigned l = npar; l < g->loops; l++)
		text_put(g->o, " * A.extent[%u]", l);
	text_put(g->o,
		 ";\n}\ntemplate <class I, int ODD>\n"
		 "BZ_FN void point(const params &A, %s<I> at, I r, lanes &acc)\n{\n",
		 place(g));
	emit_cuda_place(g);
	text_add(g->o, "I q = r;\n");
	put_reduced(g);
	put_steps(g);
	text_add(g->o, "}\n");
	put_vector_points(g);
	put_points_ahead(g);
}

/* What sections behind use of the reductions and of what follows on them. */
static void put_keeping(struct cuda_gen *g)
{
	for (unsigned i = 0; i < nest_end(g->n, g->section); i++)
		if (i >= nest_begin(g->n, g->section - 1) &&
		    (g->n->instr[i].op == NI_REDUCE || i >= nest_begin(g->n, g->section)) &&
		    nest_kept(g->n, i))
			text_put(g->o, "at.kept.v%u = v%u;\n", i, i);
}

static void put_post(struct cuda_gen *g)
{
	unsigned body = nest_begin(g->n, g->section);

	g->section++;
	text_put(g->o,
		 "template <class I>\n"
		 "BZ_FN void post(const params &A, %s<I> %sat, const reds &red)\n{\n",
		 place(g), g->n->nmore ? "&" : "");
	emit_cuda_place(g);
	put_kept(g, body);
	for (unsigned k = g->first; k < g->last; k++) {
		const char *from = is_arg(g, k) ? "i64" : red_type(g, k);
		const char *to = emit_cuda_type(red(g, k)->dtype);

		text_put(g->o, "const bz_%s v%u = bz_cast<bz_%s, bz_%s>(red.r%u%s);\n", to,
			 g->red[k], from, to, k, is_arg(g, k) ? ".index" : "");
	}
	g->reach = g->n->npar;
	emit_cuda_instrs(g, g->section);
	if (g->n->nmore)
		put_keeping(g);
	g->reach = g->loops;
	text_add(g->o, "}\n};\n");
}

/* What sections hand on, and a parallel point with it. */
static void put_spot(struct cuda_gen *g)
{
	text_add(g->o, "struct bz_kept {\n");
	for (unsigned i = 0; i < g->n->ninstr; i++)
		if ((g->n->instr[i].op == NI_REDUCE || !nest_everywhere(nest_section(g->n, i))) &&
		    nest_kept(g->n, i))
			text_put(g->o, "bz_%s v%u;\n", emit_cuda_type(g->n->instr[i].dtype), i);
	text_add(g->o,
		 "};\ntemplate <class I> struct bz_spot : bz_place<I> {\nbz_kept kept;\n};\n"
		 "template <class I> BZ_FN bz_spot<I> bz_decode_spot(const bz_params &A, I p)\n{\n"
		 "bz_spot<I> at;\n(bz_place<I> &)at = bz_decode<I>(A, p);\nreturn at;\n}\n");
}

/* A few threads a block: with layout bz_<layout>, and indices of type `index`. */
static void put_groups(struct cuda_gen *g, unsigned entry, const char *layout, const char *index)
{
	char body[128];

	snprintf(body, sizeof body, "bz_reduce_groups<bz_kernel, bz_%s, bz_%s<bz_kernel>>(A);",
		 index, layout);
	emit_cuda_entry(g, entry, body);
}

/* The entry over phases of one kind, `way`. */
static void put_entry(struct cuda_gen *g, unsigned entry, const char *way, const char *index)
{
	char body[256];
	size_t at;

	if (!g->n->nmore) {
		snprintf(body, sizeof body, "bz_reduce_%ss<bz_kernel, bz_%s>(A);", way, index);
		emit_cuda_entry(g, entry, body);
		return;
	}
	at = (size_t)snprintf(body, sizeof body, "bz_phase_%ss<bz_%s", way, index);
	for (g->section = 0; g->section < nest_sections(g->n); g->section += 2)
		at += (size_t)snprintf(body + at, sizeof body - at, ", %s", name(g));
	snprintf(body + at, sizeof body - at, ">(A);");
	emit_cuda_entry(g, entry, body);
}

/* All entries with indices of 32 bits, or of 64. */
static void put_entries(struct cuda_gen *g, bool narrow)
{
	const char *index = narrow ? "i32" : "i64";
	unsigned by = narrow ? 1 : 0; /* each narrow entry stands behind its wide one */

	put_entry(g, ENTRY_bz_reduce_warp + by, "warp", index);
	if (emit_cuda_reduce_thin(g->n))
		put_groups(g, ENTRY_bz_reduce_thin + by, "thin", index);
	if (emit_cuda_reduce_vector(g->n))
		put_groups(g, ENTRY_bz_reduce_vector + by, "wide", index);
	put_entry(g, ENTRY_bz_reduce_column + by, "column", index);
}

/* One section at every point, and the one behind it. */
static void put_kernel(struct cuda_gen *g, unsigned section)
{
	g->section = section;
	g->first = g->last;
	while (g->last < g->nreduce && g->red[g->last] < nest_end(g->n, section))
		g->last++;
	put_types(g);
	put_combining(g);
	put_point(g);
	put_post(g);
}

bool emit_cuda_reduce_thin(const struct nest *spec)
{
	return spec->nred && !spec->nmore && spec->ninstr <= EMIT_CUDA_BIG / 2;
}

unsigned emit_cuda_reduce_vector(const struct nest *spec)
{
	unsigned widest = 1, most = CUDA_VECTOR_BYTES / 2; /* a group has four threads at least */

	if (!emit_cuda_reduce_thin(spec) || spec->vec + 1u != spec->npar + (unsigned)spec->nred)
		return 0;
	for (unsigned i = 0; i < spec->post; i++) {
		const struct nest_instr *in = &spec->instr[i];

		if (instr_writes(in->op) || in->op == NI_GATHER || in->op == OP_INDEX)
			return 0;
		if (in->op != NI_LOAD || spec->access[in->a].walk == WALK_SAME)
			continue;
		if (spec->access[in->a].walk != WALK_UNIT || spec->access[in->a].gather)
			return 0;
		widest = dtype_row(spec->access[in->a].dtype)->bytes > widest
				 ? dtype_row(spec->access[in->a].dtype)->bytes
				 : widest;
	}
	return CUDA_VECTOR_BYTES / widest < most ? CUDA_VECTOR_BYTES / widest : most;
}

void emit_cuda_reduce(struct cuda_gen *g)
{
	if (g->n->nmore)
		put_spot(g);
	for (unsigned s = 0; s < nest_sections(g->n); s += 2)
		put_kernel(g, s);
	put_entries(g, false);
	emit_cuda_entry(g, ENTRY_bz_finish, g->n->nmore ? "" : "bz_finish_points<bz_kernel>(A);");
	if (emit_cuda_narrow(g->n))
		put_entries(g, true);
}
