/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda.c - a canonical nest as CUDA C++: parameter, points, instructions.
 *
 * One thread computes one point with scalar values v<i>; what is the same for all of
 * a loop's points is left to the compiler.  Index arithmetic is a template over the
 * index type.  The prologue (kernels/pre.cuh and so on) does the rest. */
#include "emit_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "emit_c.h"
#include "contract/cuda_abi.h"

const char *emit_cuda_type(unsigned dtype)
{
	return dtype_row(dtype)->suffix;
}

/* ---- the parameter, the point -------------------------------------------------- */

static void put_params(struct cuda_gen *g)
{
	const struct nest *n = g->n;

	text_add(g->o, "struct bz_params {\nbz_head h;\n");
	if (n->naccess)
		text_put(g->o, "bz_address base[%u];\n", n->naccess);
	if (g->loops)
		text_put(g->o, "bz_i64 extent[%u];\n", g->loops);
	if (n->naccess && g->loops)
		text_put(g->o, "bz_i64 stride[%u][%u];\n", n->naccess, g->loops);
	if (n->nscalar)
		text_put(g->o, "bz_u64 scalar[%u][2];\n", n->nscalar);
	if (nest_gathers(n))
		text_put(g->o, "bz_i64 gather[%u][2];\n", nest_gathers(n));
	text_add(g->o, "};\n");
}

/* The steps of loop l: of the last one as many as `last` says. */
static void put_extent(struct cuda_gen *g, unsigned l)
{
	if (l == g->innermost)
		text_add(g->o, "last");
	else
		text_put(g->o, "(I)A.extent[%u]", l);
}

/* A point of the parallel loops, and how its number becomes one. */
static void put_place(struct cuda_gen *g)
{
	unsigned npar = g->n->npar;

	text_add(g->o, "template <class I> struct bz_place {\n");
	for (unsigned l = 0; l < npar; l++)
		text_put(g->o, "I x%u;\n", l);
	text_add(g->o, "};\ntemplate <class I> BZ_FN bz_place<I> bz_decode(const bz_params &A, I "
		       "p, I last)\n"
		       "{\nbz_place<I> at;\n");
	for (unsigned l = npar; l-- > 0;) {
		if (!l) {
			text_add(g->o, "at.x0 = p;\n");
			continue;
		}
		text_add(g->o, "{\nconst I n = ");
		put_extent(g, l);
		text_put(g->o, ", q = bz_over(p, n);\nat.x%u = p - q * n;\np = q;\n}\n", l);
	}
	text_add(g->o,
		 "return at;\n}\n"
		 "template <class I> BZ_FN bz_place<I> bz_decode(const bz_params &A, I p)\n{\n"
		 "return bz_decode<I>(A, p, ");
	if (npar)
		text_put(g->o, "(I)A.extent[%u]);\n}\n", npar - 1u);
	else
		text_add(g->o, "1);\n}\n");
}

void emit_cuda_place(struct cuda_gen *g)
{
	for (unsigned l = 0; l < g->n->npar; l++)
		text_put(g->o, "const I x%u = at.x%u;\n", l, l);
}

bool emit_cuda_whole(const struct cuda_gen *g, unsigned a)
{
	const struct nest_access *x = &g->n->access[a];

	return g->vector && x->walk == WALK_UNIT && !x->gather;
}

void emit_cuda_address(struct cuda_gen *g, unsigned a)
{
	const struct nest_access *x = &g->n->access[a];
	bool any = false, lanes = g->vector && !emit_cuda_whole(g, a);

	text_put(g->o, "A.base[%u]", a);
	for (unsigned l = 0; l < g->reach; l++) {
		bool known = l == g->n->vec && x->walk != WALK_STRIDED;

		if (known && x->walk == WALK_SAME)
			continue;
		text_add(g->o, any ? " + " : " + (bz_i64)(");
		text_put(g->o, lanes && l == g->innermost ? "(x%u + k * %u) * " : "x%u * ", l,
			 g->apart);
		any = true;
		if (known)
			text_put(g->o, "%u", dtype_row(x->dtype)->bytes);
		else
			text_put(g->o, "(I)A.stride[%u][%u]", a, l);
	}
	if (any)
		text_add(g->o, ")");
}

/* ---- instructions ---------------------------------------------------------------- */

static void put_compute(struct cuda_gen *g, unsigned i)
{
	const struct nest_instr *in = &g->n->instr[i];
	uint16_t value[3];

	text_put(g->o, "const bz_%s v%u = bz_%s<bz_%s", emit_cuda_type(in->dtype), i,
		 instr_row(in->op)->name, emit_cuda_type(in->ltype));
	if (in->op == OP_CAST)
		text_put(g->o, ", bz_%s", emit_cuda_type(in->dtype));
	for (unsigned k = 0, n = instr_values(value, in); k < n; k++)
		text_put(g->o, k ? ", v%u" : ">(v%u", value[k]);
	text_add(g->o, ");\n");
}

static void put_memory(struct cuda_gen *g, unsigned i)
{
	const struct nest_instr *in = &g->n->instr[i];
	const struct nest_access *x = &g->n->access[in->a];
	const char *t = emit_cuda_type(x->dtype);
	bool lanes = emit_cuda_whole(g, in->a);

	if (in->op == NI_LOAD && g->loaded >> in->a & 1) {
		text_put(g->o, "const bz_%s v%u = a%u[k];\n", t, i, in->a);
	} else if (in->op == NI_LOAD && g->staged >> in->a & 1) {
		text_put(g->o,
			 "bz_%s v%u = tile%u[lane][k];\nif (!(A.h.clo >> %u & 1))\nv%u = "
			 "bz_ld<bz_%s>(",
			 t, i, in->a, in->a, i, t);
		emit_cuda_address(g, in->a);
		text_add(g->o, ");\n");
	} else if (in->op == NI_LOAD && lanes) {
		text_put(g->o, "const bz_%s v%u = a%u.get(k);\n", t, i, in->a);
	} else if (in->op == NI_LOAD) {
		text_put(g->o, "const bz_%s v%u = bz_ld<bz_%s>(", t, i, t);
		emit_cuda_address(g, in->a);
		text_add(g->o, ");\n");
	} else if (in->op == NI_GATHER) {
		text_put(g->o, "const bz_%s v%u = bz_ld<bz_%s>(", t, i, t);
		emit_cuda_address(g, in->a);
		text_put(g->o, " + bz_limit(v%u, A.gather[%u][0]) * A.gather[%u][1]);\n", in->b,
			 nest_gather(g->n, in->a), nest_gather(g->n, in->a));
	} else if (lanes) {
		text_put(g->o, "a%u.lane[k] = v%u;\n", in->a, in->b);
	} else {
		text_put(g->o, "bz_st<bz_%s>(", t);
		emit_cuda_address(g, in->a);
		text_put(g->o, ", v%u);\n", in->b);
	}
}

void emit_cuda_instrs(struct cuda_gen *g, unsigned section)
{
	for (unsigned i = nest_begin(g->n, section); i < nest_end(g->n, section); i++) {
		const struct nest_instr *in = &g->n->instr[i];
		const char *t = emit_cuda_type(in->dtype);

		switch (in->op) {
		case NI_LOAD:
		case NI_STORE:
		case NI_GATHER:
			put_memory(g, i);
			break;
		case NI_SCALAR:
			text_put(g->o,
				 "const bz_%s v%u = bz_imm<bz_%s>(A.scalar[%u][0], "
				 "A.scalar[%u][1]);\n",
				 t, i, t, in->a, in->a);
			break;
		case NI_INDEX:
			text_put(g->o, "const bz_i64 v%u = x%u", i, in->a);
			if (g->vector && in->a == g->innermost)
				text_put(g->o, " + k * %u", g->apart);
			text_add(g->o, ";\n");
			break;
		case NI_REDUCE: /* emit_cuda_reduce.c does these */
			break;
		default:
			put_compute(g, i);
			if (in->op == OP_INDEX)
				text_put(g->o, "bz_fault(A.h, %u, v%u, v%u);\n", in->c, in->a,
					 in->b);
		}
	}
}

/* ---- which entries ------------------------------------------------------------------ */

bool emit_cuda_narrow(const struct nest *spec)
{
	return !spec->nred || spec->npar > 1 || spec->nred > 1;
}

/* May all loads of a nest come before all its stores? */
static bool loads_first(const struct nest *n)
{
	bool stored = false;

	for (unsigned i = 0; i < n->ninstr; i++) {
		const struct nest_instr *in = &n->instr[i];

		if (in->op == NI_LOAD && stored && !n->access[in->a].alone)
			return false;
		stored |= instr_writes(in->op);
	}
	return true;
}

/* Points of a thread at once: what they cost in text, and their operands in registers. */
#define TEXT_MOST  128
#define WORDS_MOST 48
#define DIVISION   4 /* its cost, in additions */

/* What a point costs in text, roughly: additions. */
static unsigned weight(const struct nest *n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n->ninstr; i++)
		sum += n->instr[i].op < OP_END ? op_row(n->instr[i].op)->cost : 1;
	return sum ? sum : 1;
}

/* Words that a point's operands take. */
static unsigned words(const struct nest *n)
{
	unsigned sum = 0;

	for (unsigned a = 0; a < n->naccess; a++)
		sum += (dtype_row(n->access[a].dtype)->bytes + 3u) / 4;
	return sum;
}

/* Of them those that are read. */
static unsigned read_words(const struct nest *n)
{
	unsigned sum = words(n);

	for (unsigned a = 0; a < n->naccess; a++)
		sum -= n->access[a].write ? (dtype_row(n->access[a].dtype)->bytes + 3u) / 4 : 0;
	return sum;
}

/* Has it nothing but arithmetic of real numbers? */
static bool plain(const struct nest *n)
{
	for (unsigned i = 0; i < n->ninstr; i++)
		if (dtype_row(n->instr[i].dtype)->cls == CLASS_COMPLEX ||
		    (n->instr[i].op < OP_END && op_row(n->instr[i].op)->cost > DIVISION) ||
		    (n->instr[i].op == NI_REDUCE && op_row(n->instr[i].c)->kind == KIND_ARGRED))
			return false;
	return true;
}

/* Blocks of an entry for columns that a multiprocessor is to have room for; `blocks` do for
 * elements of 4 bytes. */
static unsigned column_blocks(const struct nest *n, unsigned blocks)
{
	if (n->nmore || nest_reductions(n) != 1 || weight(n) > 8 || !plain(n))
		return 1;
	return read_words(n) > 1 ? 2 : blocks; /* more of it is under way for each thread */
}

/* Blocks that a multiprocessor is to have room for, which bounds a thread's registers.  Measured
 * on an H100: rows of a five-point stencil have 113 registers by themselves and take 5 percent
 * longer than with 80, tiles 37 and 6 percent with 32, columns 110 and a third with 64.
 * Where a point is long, fewer would spill.  Columns of 8 bytes have twice as much under way for
 * each thread, and so as much with half of the threads. */
static unsigned blocks_wanted(const struct nest *n, unsigned entry)
{
	switch (entry) {
	case ENTRY_bz_map_row_narrow:
		return weight(n) <= 16 && words(n) <= 12 && plain(n) ? 3 : 1;
	case ENTRY_bz_map_tile_narrow:
		return weight(n) <= 4 && words(n) <= 3 ? 8 : 1;
	case ENTRY_bz_reduce_column: /* places of 64 bits take two registers */
		return column_blocks(n, 3);
	case ENTRY_bz_reduce_column_narrow:
		return column_blocks(n, 4);
	default:
		return 1;
	}
}

/* The second bound is always there: without it ptxas of CUDA 13 spills rather than have fewer
 * blocks. */
void emit_cuda_entry(struct cuda_gen *g, unsigned entry, const char *body)
{
	if (!emit_cuda_has(g->n, entry))
		return;
	text_put(g->o,
		 "extern \"C\" __global__ void __launch_bounds__(BZ_THREADS, %u)\n"
		 "%s(const bz_params A)\n{\n%s\n}\n",
		 blocks_wanted(g->n, entry), cuda_entry_name(entry), body);
}

unsigned emit_cuda_vector(const struct nest *spec)
{
	unsigned widest = 1;

	if (spec->nred || !spec->npar || !loads_first(spec))
		return 0;
	for (unsigned a = 0; a < spec->naccess; a++) {
		const struct nest_access *x = &spec->access[a];
		unsigned bytes = dtype_row(x->dtype)->bytes;

		if (x->gather)
			continue;
		if (x->walk == WALK_STRIDED || (x->write && x->walk != WALK_UNIT))
			return 0;
		if (x->walk == WALK_UNIT && bytes > widest)
			widest = bytes;
	}
	/* Written once for each point of the vector; long text gains nothing by wide accesses. */
	if (CUDA_VECTOR_BYTES / widest * spec->ninstr > 256 ||
	    (widest == CUDA_VECTOR_BYTES && weight(spec) > TEXT_MOST))
		return 0;
	return CUDA_VECTOR_BYTES / widest;
}

unsigned emit_cuda_flight(const struct nest *spec)
{
	unsigned vector = emit_cuda_vector(spec), flight = vector <= 2 ? 4 : 2, wide = 0;

	for (unsigned a = 0; a < spec->naccess; a++)
		wide += spec->access[a].walk == WALK_UNIT
				? (dtype_row(spec->access[a].dtype)->bytes * vector + 3) / 4
				: 0;
	while (flight > 1 &&
	       (flight * vector * weight(spec) > TEXT_MOST || flight * wide > WORDS_MOST))
		flight /= 2;
	return flight;
}

unsigned emit_cuda_row(const struct nest *spec)
{
	unsigned points = 8;

	if (spec->nred || !spec->npar || !loads_first(spec) || weight(spec) > TEXT_MOST)
		return 0;
	while (points > 2 &&
	       (points * words(spec) > WORDS_MOST || points * weight(spec) > TEXT_MOST))
		points /= 2;
	return points;
}

uint32_t emit_cuda_staged(const struct nest *spec)
{
	uint32_t staged = 0, bytes = 0;

	for (unsigned a = 0; a < spec->naccess; a++) {
		const struct nest_access *x = &spec->access[a];
		uint32_t tile = (uint32_t)dtype_row(x->dtype)->bytes * CUDA_TILE * (CUDA_TILE + 1);

		if (x->walk != WALK_STRIDED || x->write || x->gather || !loads_first(spec) ||
		    bytes + tile > CUDA_SHARED_BYTES)
			continue;
		bytes += tile;
		staged |= 1u << a;
	}
	return staged;
}

bool emit_cuda_tile(const struct nest *spec)
{
	if (spec->nred || spec->npar < 2)
		return false;
	for (unsigned a = 0; a < spec->naccess; a++)
		if (spec->access[a].walk == WALK_STRIDED && !spec->access[a].gather)
			return true;
	return false;
}

bool emit_cuda_has(const struct nest *spec, unsigned entry)
{
	unsigned general = spec->nred ? ENTRY_bz_reduce_warp : ENTRY_bz_map;

	return !spec->way || entry == general || entry == ENTRY_bz_finish ||
	       spec->way == entry + 1u;
}

/* ---- the whole text ------------------------------------------------------------------ */

/* A nest that breaks the rules of nest.h must not reach the compiler as nonsense. */
static enum status check_instr(const struct nest *n, unsigned i, struct err *err)
{
	const struct nest_instr *in = &n->instr[i];
	bool access = nest_touches(in->op);

	if (!instr_known(in->op) || !nest_fed(n, i) || !dtype_native(in->dtype) ||
	    !dtype_native(in->ltype))
		return err_set(err, E_INTERNAL, "instruction %u of a nest (%s) has no CUDA", i,
			       op_text(in->op));
	if (access && (in->a >= n->naccess || !dtype_native(n->access[in->a].dtype)))
		return err_set(err, E_INTERNAL, "instruction %u of a nest: access %u", i, in->a);
	if (in->op == NI_REDUCE &&
	    (!n->nred || !nest_everywhere(nest_section(n, i)) || !op_row(in->c)))
		return err_set(err, E_INTERNAL, "instruction %u of a nest: bad reduction", i);
	return OK;
}

static enum status find_reductions(struct cuda_gen *g, struct err *err)
{
	enum status st = OK;

	for (unsigned i = 0; i < g->n->ninstr && !st; i++) {
		st = check_instr(g->n, i, err);
		if (st || g->n->instr[i].op != NI_REDUCE)
			continue;
		if (g->nreduce == LIMIT_NEST_REDUCES)
			return err_set(err, E_INTERNAL, "a nest with more than %u reductions",
				       LIMIT_NEST_REDUCES);
		g->red[g->nreduce++] = i;
	}
	return st;
}

enum status emit_cuda_source(char **out, const struct nest *spec, struct err *err)
{
	struct text body = {NULL, 0, 0}, whole = {NULL, 0, 0};
	struct cuda_gen g = {.o = &body, .n = spec};
	enum status st = find_reductions(&g, err);

	if (st)
		return st;
	g.loops = g.reach = spec->npar + spec->nred;
	g.innermost = spec->npar ? spec->npar - 1 : 0;
	put_params(&g);
	put_place(&g);
	if (spec->nred)
		emit_cuda_reduce(&g);
	else
		emit_cuda_map(&g);
	emit_omit_types(&whole, spec);
	text_add(&whole, emit_cuda_prologue());
	text_add(&whole, "\n" EMIT_KERNEL_MARK "\n");
	text_indented(&whole, body.s);
	free(body.s);
	*out = whole.s;
	return OK;
}
