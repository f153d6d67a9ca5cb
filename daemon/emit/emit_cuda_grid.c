/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_grid.c - a loop of a user's kernel as CUDA C++, its turns shared out among
 * threads.
 *
 * In:  what lang_grid_of says of it.  Out: the prologue, kernels/grid.cuh, and
 *
 *   bz_params   the words of struct cuda_grid_args, each under its name
 *   bz_text     registers of functions of the text, which their callers set and read
 *   bz_fn<at>   such a function; true: this thread does no more
 *   bz_grid     the entry
 *
 * As in emit_lang.c each register is a variable of its type, each instruction a statement, each
 * jump a goto.  Of the loops that are shared out each has a width, the threads along it; thread o
 * does turns o, o + width, ... of it.  A width is that of the first and last turns of the loops
 * around: whatever it is, no turn is left out.  Of a text only numbers and types get into the
 * source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "contract/cuda_abi.h"
#include "emit_c.h"
#include "emit_cuda.h"
#include "form/instr.h"
#include "lang/lang_grid.h"
#include "lang/lang_uses.h"

_Static_assert(LANG_GRID_WORDS == CUDA_GRID_WORDS, "what a loop may be told");

extern const char kernel_text_grid_cuh[];

#define NO_TYPE 255

struct grid {
	struct text o;
	const struct lang_grid *g;
	const struct lang_program *p;
	uint8_t *seen;	       /* [instruction]: it is written, */
	bool *target, *start;  /* somebody goes to it; it begins a function */
	uint8_t *type, *array; /* [register]: NO_TYPE; of lang_grid_places */
	bool *shared;	       /* [register]: functions name it */
	const union lang_reg **constant;
	uint32_t end[LANG_LEVELS]; /* CODE_LOOP of each level */
	const char *leave;	   /* the statement that ends this thread's work */
	uint32_t types;		   /* a bit for each that there is */
};

/* ---- Registers ---- */

static const char *suffix(unsigned type)
{
	return emit_cuda_type(type);
}

static const char *reg(const struct grid *e, uint32_t r)
{
	static _Thread_local char text[8][96];
	static _Thread_local unsigned turn;
	char *t = text[turn++ % 8];
	const union lang_reg *c = e->constant[r];
	bool pair = e->type[r] == DT_COMPLEX64;

	if (c && e->type[r] == DT_INT64)
		snprintf(t, sizeof text[0], "(bz_i64)0x%llxull", (unsigned long long)c->bits[0]);
	else if (c)
		snprintf(t, sizeof text[0], "bz_imm<bz_%s>(0x%llxull, 0x%llxull)",
			 suffix(e->type[r]),
			 (unsigned long long)(pair ? (uint32_t)c->bits[0] : c->bits[0]),
			 (unsigned long long)(pair ? c->bits[0] >> 32 : c->bits[1]));
	else
		snprintf(t, sizeof text[0], "%sr%u", e->shared[r] ? "s." : "", r);
	return t;
}

static void name(struct grid *e, uint32_t at, uint32_t r, unsigned type)
{
	e->type[r] = (uint8_t)type;
	e->shared[r] |= at < e->p->entry;
	if (type < DTYPE_END)
		e->types |= 1u << type;
}

static void look(struct grid *e)
{
	unsigned type;
	uint32_t r;

	for (uint32_t at = 0; at < e->p->ncode; at++) {
		const struct lang_ins *i = &e->p->code[at];

		if (!e->seen[at] || i->code == CODE_CLAIM || i->code == CODE_FUSES) {
			if (e->seen[at] && i->code == CODE_FUSES && !i->op)
				e->target[i[1].d] = true;
			continue;
		}
		for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
			name(e, at, r, type);
		for (unsigned k = 0; lang_makes(&r, &type, i, k); k++)
			name(e, at, r, type);
		if (i->code == CODE_CALL)
			e->start[i->d] = true;
		if (lang_jumps(i))
			e->target[i->d] = true;
	}
	for (uint32_t k = 0; k < e->p->nconst; k++)
		e->constant[e->p->constant[k].reg] = &e->p->constant[k].value;
}

static bool keeps(const struct grid *e, uint32_t address)
{
	unsigned array = e->array[address];

	return array < LIMIT_GRID_ARRAYS && e->g->keeps >> array & 1;
}

/* The last element of each kept array that a turn has stored to, and its value. */
static void put_kept(struct grid *e)
{
	const struct lang_program *p = e->p;

	for (unsigned k = 0, a = 0; k < p->nparam; k++) {
		if (!p->param[k].rank)
			continue;
		if (e->g->keeps >> a & 1) {
			text_put(&e->o, "bz_address at%u;\nbz_%s kept%u;\n", a,
				 suffix(p->param[k].type), a);
			e->types |= 1u << p->param[k].type;
		}
		a++;
	}
}

/* Variables of the functions, or of the kernel alone. */
static void put_variables(struct grid *e, bool shared)
{
	for (uint32_t r = 0; r < e->p->nreg; r++) {
		if (e->type[r] == NO_TYPE || e->constant[r] || e->shared[r] != shared)
			continue;
		if (e->type[r] == DTYPE_END)
			text_put(&e->o, "bz_address r%u%s;\n", r, shared ? "" : " = 0");
		else
			text_put(&e->o, "bz_%s r%u%s;\n", suffix(e->type[r]), r,
				 shared ? "" : " = {}");
	}
}

/* ---- Statements ---- */

static void put_operation(struct grid *e, const struct lang_ins *i)
{
	unsigned type;
	uint32_t r;

	text_put(&e->o, "%s = bz_%s<bz_%s>(", reg(e, i->d), instr_row(i->op)->name,
		 suffix(i->type));
	for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
		text_put(&e->o, "%s%s", k ? ", " : "", reg(e, r));
	text_add(&e->o, ");\n");
}

/* The address of an element, if it is one. */
static void put_place(struct grid *e, const struct lang_ins *i)
{
	text_put(&e->o, "{\nbz_address p = A.a%u;\nbz_i64 i;\n", i->a);
	for (uint32_t k = 0; k < i->c; k++)
		text_put(&e->o,
			 "i = %s;\nif (!bz_grid_index<%d>(i, A.n%u_%u)) { "
			 "bz_grid_outside(A.error); %s; }\np += i * A.s%u_%u;\n",
			 reg(e, i->b + k), (int)e->p->base, i->a, k, e->leave, i->a, k);
	text_put(&e->o, "%s = p;\n}\n", reg(e, i->d));
}

static void put_step_check(struct grid *e, const struct lang_ins *i)
{
	if (!e->constant[i->c] || !e->constant[i->c]->i)
		text_put(&e->o, "if (!%s) { bz_grid_no_step(A.error); %s; }\n", reg(e, i->c),
			 e->leave);
}

/* Which of the levels has its CODE_RANGE, CODE_NEXT or CODE_LOOP at the instruction; LANG_LEVELS:
 * none. */
static unsigned level_of(const struct grid *e, uint32_t at)
{
	for (unsigned k = 0; k < e->g->levels; k++)
		if (at == e->g->level[k] || at == e->g->level[k] + 1 || at == e->end[k])
			return k;
	return LANG_LEVELS;
}

/* The bounds of a loop that is shared out, as they are now. */
static void put_bounds(struct grid *e, unsigned k)
{
	const struct lang_ins *i = &e->p->code[e->g->level[k]];

	text_put(&e->o, "first%u = %s;\n", k, reg(e, i->a));
	text_put(&e->o, "step%u = %s;\n", k, reg(e, i->c));
	text_put(&e->o, "turns%u = bz_grid_turns(first%u, %s, step%u);\n", k, k, reg(e, i->b), k);
}

/* Those of the outermost loop were there before the first turn. */
static void put_range(struct grid *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	unsigned k = level_of(e, at);

	if (k < LANG_LEVELS && k) {
		put_step_check(e, i);
		put_bounds(e, k);
	}
	if (k < LANG_LEVELS) {
		text_put(&e->o, "i%u = own%u;\n", k, k);
		return;
	}
	put_step_check(e, i);
	text_put(&e->o, "%s = (bz_i64)bz_grid_turns(%s, %s, %s);\n", reg(e, i->d + 2), reg(e, i->a),
		 reg(e, i->b), reg(e, i->c));
	text_put(&e->o, "%s = %s;\n", reg(e, i->d + 1), reg(e, i->a));
	text_put(&e->o, "%s = %s;\n", reg(e, i->d + 3), reg(e, i->c));
}

static void put_next(struct grid *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	unsigned k = level_of(e, at);

	if (k < LANG_LEVELS) {
		text_put(&e->o, "if (i%u >= turns%u) goto L%u;\n", k, k, i->d);
		text_put(&e->o, "%s = bz_grid_number(first%u, i%u, step%u);\n", reg(e, i->a), k, k,
			 k);
		return;
	}
	text_put(&e->o, "if (!%s) goto L%u;\n", reg(e, i->a + 2), i->d);
	text_put(&e->o, "%s = %s;\n", reg(e, i->a), reg(e, i->a + 1));
	text_put(&e->o, "%s = bz_grid_number(%s, 1, %s);\n", reg(e, i->a + 1), reg(e, i->a + 1),
		 reg(e, i->a + 3));
	text_put(&e->o, "%s -= 1;\n", reg(e, i->a + 2));
}

static void put_loop(struct grid *e, uint32_t at)
{
	unsigned k = level_of(e, at);

	text_put(&e->o, "if (bz_grid_stopped(A.cancel, s.turn)) %s;\n", e->leave);
	if (k < LANG_LEVELS)
		text_put(&e->o, "if (turns%u - i%u <= wide%u) goto L%u;\ni%u += wide%u;\n", k, k, k,
			 at + 1, k, k);
	text_put(&e->o, "goto L%u;\n", e->p->code[at].d);
}

/* What goes elsewhere. */
static void put_way(struct grid *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];

	switch ((enum lang_code)i->code) {
	case CODE_JUMP:
		text_put(&e->o, "goto L%u;\n", i->d);
		break;
	case CODE_FUSES:
		if (!i->op)
			text_put(&e->o, "goto L%u;\n", i[1].d);
		break;
	case CODE_UNLESS:
	case CODE_WHEN:
		text_put(&e->o, "if (%s%s) goto L%u;\n", i->code == CODE_WHEN ? "" : "!",
			 reg(e, i->a), i->d);
		break;
	case CODE_RANGE:
		put_range(e, at);
		break;
	case CODE_NEXT:
		put_next(e, at);
		break;
	case CODE_LOOP:
		put_loop(e, at);
		break;
	case CODE_CALL:
		text_put(&e->o, "if (bz_fn%u(A, s)) %s;\n", i->d, e->leave);
		break;
	case CODE_RETURN:
		text_add(&e->o, "return false;\n");
		break;
	default: /* CODE_CLAIM, CODE_SEAM: said for those who look at loops */
		break;
	}
}

static void put_load(struct grid *e, const struct lang_ins *i)
{
	if (keeps(e, i->a))
		text_put(&e->o, "if (s.at%u == %s) %s = s.kept%u; else ", e->array[i->a],
			 reg(e, i->a), reg(e, i->d), e->array[i->a]);
	text_put(&e->o, "%s = bz_ld<bz_%s>(%s);\n", reg(e, i->d), suffix(i->type), reg(e, i->a));
}

static void put_store(struct grid *e, const struct lang_ins *i)
{
	unsigned a = e->array[i->d];

	if (a == e->g->only)
		text_put(&e->o, "bz_st<bz_%s>(%s, %s);\n", suffix(i->type), reg(e, i->d),
			 reg(e, i->a));
	else if (keeps(e, i->d))
		text_put(&e->o, "s.at%u = %s;\ns.kept%u = %s;\n", a, reg(e, i->d), a, reg(e, i->a));
}

static void put_one(struct grid *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];

	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
		text_put(&e->o, "%s = %s;\n", reg(e, i->d), reg(e, i->a));
		break;
	case CODE_OP:
		put_operation(e, i);
		break;
	case CODE_CAST:
		text_put(&e->o, "%s = bz_cast<bz_%s, bz_%s>(%s);\n", reg(e, i->d), suffix(i->type),
			 suffix(i->to), reg(e, i->a));
		break;
	case CODE_PLACE:
		put_place(e, i);
		break;
	case CODE_LOAD:
		put_load(e, i);
		break;
	case CODE_STORE:
		put_store(e, i);
		break;
	case CODE_ADDEND:
		if (e->g->sums && i->a == e->g->sum.reg)
			text_put(&e->o, "sum = %s;\n", reg(e, i->a));
		break;
	case CODE_LENGTH:
		text_put(&e->o, "%s = A.n%u_%u;\n", reg(e, i->d), i->a, i->b);
		break;
	default:
		put_way(e, at);
	}
}

/* Instructions [first, last) that turns come to. */
static void put_some(struct grid *e, uint32_t first, uint32_t last)
{
	for (uint32_t at = first; at < last; at++) {
		if (!e->seen[at])
			continue;
		if (e->target[at])
			text_put(&e->o, "L%u:;\n", at);
		put_one(e, at);
	}
}

/* ---- The parts of the text ---- */

static void put_array(struct grid *e, unsigned array, unsigned rank)
{
	text_put(&e->o, "bz_address a%u;\nbz_i64", array);
	for (unsigned x = 0; x < 2 * rank; x++)
		text_put(&e->o, "%s%c%u_%u", x ? ", " : " ", x < rank ? 'n' : 's', array, x % rank);
	text_add(&e->o, ";\n");
}

/* The one that is written, or all others. */
static void put_arrays(struct grid *e, bool written)
{
	const struct lang_program *p = e->p;

	for (unsigned k = 0, a = 0; k < p->nparam; k++) {
		if (!p->param[k].rank)
			continue;
		if ((a == e->g->only) == written)
			put_array(e, a, p->param[k].rank);
		a++;
	}
	if (written && e->g->sums)
		put_array(e, e->g->only, 1);
}

static void put_params(struct grid *e)
{
	text_add(&e->o, "struct bz_params {\nbz_u64 lo, hi, total, cancel, error;\n");
	put_arrays(e, true);
	put_arrays(e, false);
	for (unsigned k = 0; k < e->g->nlive; k++)
		text_put(&e->o, "bz_u64 w%u[2];\n", k);
	text_add(&e->o, "};\nstruct bz_text {\nbz_u32 turn;\n");
	put_variables(e, true);
	put_kept(e);
	text_add(&e->o, "};\n");
}

static void put_functions(struct grid *e)
{
	e->leave = "return true";
	for (uint32_t at = 0; at < e->p->entry; at++) {
		uint32_t last = at + 1;

		if (!e->start[at])
			continue;
		while (last < e->p->entry && !e->start[last])
			last++;
		text_put(&e->o, "BZ_FN bool bz_fn%u(const bz_params &A, bz_text &s)\n{\n", at);
		put_some(e, at, last);
		/* Behind what nobody reaches. */
		text_add(&e->o, "return true;\n}\n");
	}
	e->leave = "return";
}

static void put_live(struct grid *e)
{
	for (unsigned k = 0; k < e->g->nlive; k++)
		text_put(&e->o, "%s = bz_imm<bz_%s>(A.w%u[0], A.w%u[%s);\n", reg(e, e->g->live[k]),
			 suffix(e->g->type[k]), k, k,
			 e->g->type[k] == DT_COMPLEX64 ? "0] >> 32" : "1]");
}

/* As many threads along the loops inside as their turns are in the first and last turns of those
 * around, which nothing but loops and numbers depends on: so what stands between may be computed
 * once more. */
static void put_widths(struct grid *e)
{
	const struct lang_grid *g = e->g;
	static const char *const most[LANG_LEVELS] = {"1ull << 62", "1ull << 31", "1ull << 20"};

	put_step_check(e, &e->p->code[g->level[0]]);
	put_bounds(e, 0);
	text_put(&e->o, "wide0 = bz_grid_wide(1, turns0, %s);\n", most[g->levels - 1]);
	if (g->levels == 1)
		return;
	text_put(&e->o, "for (int corner = 0; corner < %d; corner++) {\n", 1 << (g->levels - 1));
	for (unsigned k = 1; k < g->levels; k++) {
		text_put(&e->o,
			 "%s = bz_grid_number(first%u, corner >> %u & 1 && turns%u ? turns%u - 1 : "
			 "0, step%u);\n",
			 reg(e, e->p->code[g->level[k - 1]].d), k - 1, k - 1, k - 1, k - 1, k - 1);
		for (uint32_t at = g->level[k - 1] + 2; at < g->level[k]; at++)
			if (e->seen[at] && e->p->code[at].code != CODE_FUSES)
				put_one(e, at);
		put_bounds(e, k);
		text_put(&e->o, "wide%u = bz_grid_wide(wide%u, turns%u, %s);\n", k, k, k,
			 most[g->levels - 1]);
	}
	text_add(&e->o, "}\n");
}

/* Which turn of each loop the thread of this number begins with: neighbours lie along the fast one.
 */
static void put_own(struct grid *e, const char *from)
{
	const struct lang_grid *g = e->g;
	unsigned order[LANG_LEVELS] = {g->fast}, n = 1;

	for (unsigned k = g->levels; k-- > 0;)
		if (k != g->fast)
			order[n++] = k;
	text_put(&e->o, "bz_u64 q = %s;\n", from);
	for (unsigned k = 0; k + 1 < n; k++)
		text_put(&e->o, "own%u = bz_grid_split(q, wide%u);\n", order[k], order[k]);
	text_put(&e->o, "own%u = q;\n", order[n - 1]);
}

/* What each thread begins with, of the turns or of the elements that they leave. */
static void put_stretch(struct grid *e, const char *all)
{
	text_put(&e->o,
		 "const bz_u64 lo = bz_grid_part(%s, A.lo, A.total), hi = bz_grid_part(%s, A.hi, "
		 "A.total), threads = (bz_u64)gridDim.x * blockDim.x;\n"
		 "for (bz_u64 f = lo + (bz_u64)blockIdx.x * blockDim.x + threadIdx.x; f < hi; "
		 "f += threads) {\n",
		 all, all);
}

static void put_turns(struct grid *e)
{
	put_stretch(e, "all");
	text_add(&e->o, "{\n");
	put_own(e, "f");
	text_add(&e->o, "}\n");
	put_some(e, e->g->range, e->end[0] + 1);
	text_put(&e->o, "L%u:;\n}\n", e->end[0] + 1);
}

/* Element f is of turns f, f + the number of elements, ...: of one where elements are as many as
 * turns. */
static void put_sums(struct grid *e)
{
	const struct lang_grid_sum *s = &e->g->sum;
	uint64_t nothing = s->claimed ? 0 : lang_added_nothing(&s->by);
	const char *type = suffix(s->type);

	text_put(&e->o, "const bz_u64 slots = (bz_u64)A.n%u_0;\n", e->g->only);
	put_stretch(e, "slots");
	text_put(&e->o, "%s = bz_imm<bz_%s>(0x%llxull, 0x0ull);\n",
		 s->claimed ? "sum" : reg(e, s->reg), type, (unsigned long long)nothing);
	text_add(&e->o, "for (bz_u64 t = f; t < all; t += slots) {\n{\n");
	put_own(e, "t");
	text_add(&e->o, "}\n");
	put_some(e, e->g->range, e->end[0] + 1);
	text_put(&e->o, "L%u:;\n}\n", e->end[0] + 1);
	text_put(&e->o, "bz_st<bz_%s>(A.a%u + (bz_i64)f * A.s%u_0, %s);\n}\n", type, e->g->only,
		 e->g->only, s->claimed ? "sum" : reg(e, s->reg));
}

static void put_kernel(struct grid *e)
{
	const struct lang_grid *g = e->g;

	text_put(&e->o,
		 "extern \"C\" __global__ void __launch_bounds__(BZ_THREADS, 1)\n"
		 "%s(const bz_params A)\n{\nbz_text s = {};\n",
		 cuda_entry_name(ENTRY_bz_grid));
	put_variables(e, false);
	if (g->sums && g->sum.claimed)
		text_put(&e->o, "bz_%s sum = {};\n", suffix(g->sum.type));
	for (unsigned k = 0; k < g->levels; k++)
		text_put(&e->o,
			 "bz_i64 first%u, step%u;\nbz_u64 turns%u, wide%u = 1, own%u, i%u;\n", k, k,
			 k, k, k, k);
	put_live(e);
	put_widths(e);
	text_put(&e->o, "const bz_u64 all = %swide0", g->sums ? "!turns0 ? 0 : " : "");
	for (unsigned k = 1; k < g->levels; k++)
		text_put(&e->o, " * wide%u", k);
	text_add(&e->o, ";\n");
	if (!g->sums)
		text_add(&e->o, "if (!turns0) return;\n");
	if (g->sums)
		put_sums(e);
	else
		put_turns(e);
	text_add(&e->o, "}\n");
}

/* ---- The whole ---- */

/* What the program's own checks have said already, if it has come from them. */
static enum status check(const struct grid *e, struct err *err)
{
	for (uint32_t at = 0; at < e->p->ncode; at++) {
		const struct lang_ins *i = &e->p->code[at];

		if (e->seen[at] && i->code == CODE_OP &&
		    (!op_row(i->op) || op_row(i->op)->kind != KIND_EW || i->op == OP_INDEX ||
		     i->op == OP_CAST || !dtype_computes(i->type)))
			return err_set(err, E_UNSUPPORTED, "line %u: %s in a loop on a GPU",
				       i->line, op_text(i->op));
	}
	return OK;
}

static void open(struct grid *e)
{
	const struct lang_program *p = e->p;

	e->target = xcalloc(p->ncode + 1, sizeof *e->target);
	e->start = xcalloc(p->ncode, sizeof *e->start);
	e->type = xmalloc(p->nreg);
	e->shared = xcalloc(p->nreg, sizeof *e->shared);
	e->constant = xcalloc(p->nreg, sizeof *e->constant);
	memset(e->type, NO_TYPE, p->nreg);
	for (unsigned k = 0; k < e->g->levels; k++)
		e->end[k] = lang_nest_end(p, e->g->level[k]);
}

static void close(struct grid *e)
{
	free(e->seen);
	free(e->target);
	free(e->start);
	free(e->type);
	free(e->array);
	free(e->shared);
	free(e->constant);
	free(e->o.s);
}

static char *whole(struct grid *e)
{
	struct text t = {NULL, 0, 0};

	look(e);
	put_params(e);
	put_functions(e);
	put_kernel(e);
	emit_omit_types_but(&t, e->types);
	text_add(&t, emit_cuda_prologue());
	text_add(&t, kernel_text_grid_cuh);
	text_add(&t, "\n" EMIT_KERNEL_MARK "\n");
	text_indented(&t, e->o.s);
	return t.s;
}

enum status emit_cuda_grid(char **out, const struct lang_grid *g, struct err *err)
{
	struct grid e = {.g = g, .p = g->program, .seen = lang_grid_code(g)};
	enum status st = OK;

	e.array = e.seen ? lang_grid_places(g, e.seen) : NULL;
	if (!e.array)
		st = err_set(err, E_NOMEM, "no memory for a loop");
	open(&e);
	if (!st)
		st = check(&e, err);
	if (!st)
		*out = whole(&e);
	close(&e);
	return st;
}
