/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang.c - a kernel of the language as C for one lane.
 *
 * In:  a checked program (lang/lang.h).  Out: kernels/lang.h, two functions and a number:
 *
 *   bz_unit   the whole program, of arrays whose last axis lies closely
 *   bz_any    of any arrays, from the start or from the end of an outermost loop on
 *   bz_mark   of which instructions: lang_mark
 *
 * Each register is a variable of its type, each instruction a statement, each jump a goto.  What
 * the functions of a text and their callers both name lies in a struct of its own, which vanishes
 * where they are inlined.  Of a text only numbers and types get into the source. */
#include "emit_lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lang/lang_native.h"
#include "lang/lang_nest.h"
#include "lang/lang_uses.h"
#include "text.h"

extern const char kernel_text_lang_h[];

#define NOBODY	   UINT32_MAX
#define SOURCE_MAX (1u << 20) /* longer ones take compilers too long */

struct lane {
	struct text o;
	const struct lang_program *p;
	uint8_t *type;			 /* [register]; DTYPE_END: an address */
	const union lang_reg **constant; /* [register]; NULL: it is none */
	uint32_t *owner;		 /* [register]: the function that names it, by its start */
	bool *shared;			 /* [register]: several name it */
	bool *start, *target;		 /* [instruction]: a function's first; is jumped to */
	bool *outer;			 /* [instruction]: lang_outermost */
	bool *share;			 /* [instruction]: a loop that several threads may do */
	bool unit;			 /* bz_unit is being written */
};

static const char *suffix(unsigned type)
{
	return dtype_row(type)->suffix;
}

/* ---- Registers ---- */

static void name(struct lane *e, uint32_t reg, unsigned type, uint32_t function)
{
	e->type[reg] = (uint8_t)type;
	if (e->owner[reg] != NOBODY && e->owner[reg] != function)
		e->shared[reg] = true;
	e->owner[reg] = function;
}

static void registers(struct lane *e)
{
	const struct lang_program *p = e->p;
	uint32_t function = 0, reg;
	unsigned type;

	for (uint32_t at = 0; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		function = e->start[at] ? at : function;
		for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
			name(e, reg, type, function);
		for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
			name(e, reg, type, function);
	}
	for (unsigned k = 0; k < p->nparam + p->nresult; k++)
		if (!p->param[k].rank)
			name(e, p->param[k].reg, p->param[k].type, p->entry);
	for (uint32_t k = 0; k < p->nconst; k++)
		e->constant[p->constant[k].reg] = &p->constant[k].value;
}

static void places(struct lane *e)
{
	const struct lang_program *p = e->p;

	e->start[0] = e->start[p->entry] = true;
	for (uint32_t at = 0; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (lang_jumps(i))
			e->target[i->d] = true;
		if (i->code == CODE_CALL)
			e->start[i->d] = true;
	}
}

/* ---- Statements ---- */

/* A register's name, in one of a few buffers in turn. */
static const char *reg(const struct lane *e, uint32_t r)
{
	static _Thread_local char text[8][96];
	static _Thread_local unsigned turn;
	char *t = text[turn++ % 8];
	const union lang_reg *c = e->constant[r];

	if (c && e->type[r] == DT_INT64)
		snprintf(t, sizeof text[0], "((bz_i64)0x%llxul)", (unsigned long long)c->bits[0]);
	else if (c)
		snprintf(t, sizeof text[0], "BZ_BITS(%s, 0x%llxul, 0x%llxul)", suffix(e->type[r]),
			 (unsigned long long)c->bits[0], (unsigned long long)c->bits[1]);
	else
		snprintf(t, sizeof text[0], "%sr%u", e->shared[r] ? "s->" : "", r);
	return t;
}

/* By the caller's loops, which want operands that have an address. */
static void put_apply(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	static const char *const local[3] = {"a_", "b_", "c_"};
	uint32_t r;
	unsigned type, n = 0;

	text_put(&e->o, "{ ");
	for (; lang_uses(&r, &type, i, n); n++)
		text_put(&e->o, "bz_%s %s = %s; ", suffix(type), local[n], reg(e, r));
	text_put(&e->o, "BZ_APPLY(%u, %s, a_, %s, %s); }\n", at, reg(e, i->d), local[n > 1 ? 1 : 0],
		 local[n > 2 ? 2 : 0]);
}

static void put_operation(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	uint32_t r;
	unsigned type;

	if (!lang_native_op(i->op, i->type)) {
		put_apply(e, i, at);
		return;
	}
	text_put(&e->o, "%s = bz_%s_%s(", reg(e, i->d), op_row(i->op)->stem, suffix(i->type));
	for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
		text_put(&e->o, "%s%s", k ? ", " : "", reg(e, r));
	text_put(&e->o, ");\n");
}

static void put_cast(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	unsigned from = dtype_row(i->type)->cls, to = dtype_row(i->to)->cls;

	if (!lang_native_cast(i->type, i->to))
		put_apply(e, i, at);
	else if (i->to == DT_BOOL)
		text_put(&e->o, "%s = %s != 0;\n", reg(e, i->d), reg(e, i->a));
	else if (from == CLASS_FLOAT && to != CLASS_FLOAT)
		text_put(&e->o, "%s = bz_cast_f64_%s(%s);\n", reg(e, i->d), suffix(i->to),
			 reg(e, i->a));
	else
		text_put(&e->o, "%s = (bz_%s)%s;\n", reg(e, i->d), suffix(i->to), reg(e, i->a));
}

/* The address of an element. */
static void put_place(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	text_put(&e->o, "{ bz_i64 i_; char *p_ = A%u;", i->a);
	for (uint32_t k = 0; k < i->c; k++)
		text_put(&e->o, " BZ_INDEX%d(i_, %s, N%u_%u, %u, %u); p_ += i_ * S%u_%u;",
			 (int)e->p->base, reg(e, i->b + k), i->a, k, at, k, i->a, k);
	text_put(&e->o, " %s = p_; }\n", reg(e, i->d));
}

/* Does the range go by steps of 1?  Then d + 2 is its bound instead of the turns that are left, so
 * that the compiler sees between what and what its number lies. */
static bool by_one(const struct lane *e, const struct lang_ins *range)
{
	const union lang_reg *c = e->constant[range->c];

	return c && c->i == 1;
}

static void put_range(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	if (!by_one(e, i))
		text_put(&e->o, "if (BZ_RARE(!%s)) BZ_END(%u);\n", reg(e, i->c), at);
	text_put(&e->o, "%s = %s; ", reg(e, i->d + 1), reg(e, i->a));
	if (by_one(e, i))
		text_put(&e->o, "%s = %s;\n", reg(e, i->d + 2), reg(e, i->b));
	else
		text_put(&e->o, "%s = bz_turns(%s, %s, %s); %s = %s;\n", reg(e, i->d + 2),
			 reg(e, i->a), reg(e, i->b), reg(e, i->c), reg(e, i->d + 3), reg(e, i->c));
}

/* The range is the instruction before. */
static void put_next(struct lane *e, const struct lang_ins *i)
{
	const char *number = reg(e, i->a), *next = reg(e, i->a + 1), *left = reg(e, i->a + 2);

	if (by_one(e, i - 1))
		text_put(&e->o, "if (%s >= %s) goto L%u; %s = %s; %s += 1;\n", next, left, i->d,
			 number, next, next);
	else
		text_put(&e->o,
			 "if (!%s) goto L%u; %s -= 1; %s = %s; %s = (bz_u64)%s + (bz_u64)%s;\n",
			 left, i->d, left, number, next, next, next, reg(e, i->a + 3));
}

/* ---- Loops by several threads ---- */

#define SHARED_DEPTH 2 /* loops inside these are parts of them */

static void find_shared(struct lane *e)
{
	const struct lang_program *p = e->p;
	unsigned depth = 0;

	for (uint32_t at = p->entry; at < p->ncode; at++) {
		if (p->code[at].code == CODE_RANGE && depth++ < SHARED_DEPTH)
			e->share[at] = lang_nest_may(p, at);
		depth -= p->code[at].code == CODE_LOOP && p->code[p->code[at].d].code == CODE_NEXT;
	}
}

/* Registers of the loop in the machine's memory, or from there: what it reads, what it makes. */
static void put_moved(struct lane *e, uint32_t range, const char *how, bool made)
{
	uint32_t end = lang_nest_end(e->p, range), r;
	bool *seen = xcalloc(e->p->nreg + 1, sizeof *seen);
	unsigned type;

	for (uint32_t at = range; at < end; at++) {
		const struct lang_ins *i = &e->p->code[at];

		for (unsigned k = 0;
		     made ? lang_makes(&r, &type, i, k) : lang_uses(&r, &type, i, k); k++) {
			if (!seen[r] && !e->constant[r] && !e->shared[r])
				text_put(&e->o, "BZ_%s(%u, %s); ", how, r, reg(e, r));
			seen[r] = true;
		}
	}
	free(seen);
}

/* Before a loop whose number and bound are set: it may be done by others. */
static void put_share(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	uint32_t end = lang_nest_end(e->p, at);
	bool inner = false;

	for (uint32_t k = at + 1; k < end; k++)
		inner |= e->p->code[k].code == CODE_RANGE;
	text_put(&e->o, "if (BZ_RARE(f->share && BZ_MANY(%s, %s, f->least / %u))) {\n",
		 reg(e, i->a), reg(e, i->b), inner ? UINT32_MAX : end - at);
	put_moved(e, at, "SET", false);
	put_moved(e, at, "SET", true);
	text_put(&e->o, "\nswitch (f->share(f, %u)) {\ncase 1: return 1;\ncase 2: ", at);
	put_moved(e, at, "GET", true);
	text_put(&e->o, "goto L%u;\n}\n}\n", e->p->code[at + 1].d);
}

static void put_end(struct lane *e)
{
	const struct lang_param *result = &e->p->param[e->p->nparam];

	for (unsigned k = 0; k < e->p->nresult; k++)
		text_put(&e->o, "BZ_SET(%u, %s); ", result[k].reg, reg(e, result[k].reg));
	text_put(&e->o, "return 0;\n");
}

/* What the machine does on its own registers. */
static void put_step(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	uint32_t r;
	unsigned type;

	for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
		if (!e->constant[r])
			text_put(&e->o, "BZ_SET(%u, %s); ", r, reg(e, r));
	text_put(&e->o, "BZ_STEP(%u);", at);
	for (unsigned k = 0; lang_makes(&r, &type, i, k); k++)
		text_put(&e->o, " BZ_GET(%u, %s);", r, reg(e, r));
	text_put(&e->o, "\n");
}

/* The machine looks at the registers of the loop that follows. */
static void put_claim(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	put_moved(e, i->d, "SET", false);
	put_moved(e, i->d, "SET", true);
	text_put(&e->o, "BZ_STEP(%u);\n", at);
}

static void put_slice(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	if (i->code == CODE_SPOT)
		text_put(&e->o, "%s = %s + %s * %s;\n", reg(e, i->d), reg(e, i->a), reg(e, i->b),
			 reg(e, i->c));
	else if (i->code == CODE_TAKE)
		text_put(&e->o, "{ bz_%s a_ = %s; BZ_TAKE(%u, %u, a_); }\n", suffix(i->type),
			 reg(e, i->a), at, i->a);
	else
		put_step(e, i, at);
}

static void put_load(struct lane *e, const struct lang_ins *i)
{
	text_put(&e->o, "BZ_LOAD%s(%s, %s);\n", i->type == DT_BOOL ? "_B1" : "", reg(e, i->d),
		 reg(e, i->a));
}

/* What goes elsewhere. */
static void put_way(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	struct text *o = &e->o;

	switch ((enum lang_code)i->code) {
	case CODE_JUMP:
		text_put(o, "goto L%u;\n", i->d);
		break;
	case CODE_LOOP:
		text_put(o, "BZ_LOOP(%u, L%u);\n", at, i->d);
		break;
	case CODE_CLAIM:
		put_claim(e, i, at);
		break;
	case CODE_RANGE:
		put_range(e, i, at);
		if (e->unit && e->share[at])
			put_share(e, i, at);
		break;
	case CODE_NEXT:
		put_next(e, i);
		break;
	case CODE_CALL:
		text_put(o, "if (bz_fn%u(f, s)) return 1;\n", i->d);
		break;
	case CODE_RETURN:
		text_put(o, "return 0;\n");
		break;
	case CODE_END:
		put_end(e);
		break;
	default:
		text_put(o, "if (%s%s) goto L%u;\n", i->code == CODE_WHEN ? "" : "!", reg(e, i->a),
			 i->d);
	}
}

static void put_one(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	struct text *o = &e->o;

	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
		text_put(o, "%s = %s;\n", reg(e, i->d), reg(e, i->a));
		break;
	case CODE_OP:
		put_operation(e, i, at);
		break;
	case CODE_CAST:
		put_cast(e, i, at);
		break;
	case CODE_PLACE:
		put_place(e, i, at);
		break;
	case CODE_LOAD:
		put_load(e, i);
		break;
	case CODE_STORE:
		text_put(o, "{ bz_%s a_ = %s; BZ_STORE(%s, a_); }\n", suffix(i->type), reg(e, i->a),
			 reg(e, i->d));
		break;
	case CODE_LENGTH:
		text_put(o, "%s = N%u_%u;\n", reg(e, i->d), i->a, i->b);
		break;
	default:
		if (lang_on_slices(i))
			put_slice(e, i, at);
		else
			put_way(e, i, at);
	}
}

/* ---- Functions ---- */

static const char *c_type(const struct lane *e, uint32_t r)
{
	static _Thread_local char text[16];

	if (e->type[r] == DTYPE_END)
		return "char *";
	snprintf(text, sizeof text, "bz_%s ", suffix(e->type[r]));
	return text;
}

/* Variables of the one function, or those that several share. */
static void put_variables(struct lane *e, uint32_t function, bool shared)
{
	for (uint32_t r = 0; r < e->p->nreg; r++) {
		bool mine = shared ? e->shared[r] : e->owner[r] == function && !e->shared[r];

		if (mine && !e->constant[r])
			text_put(&e->o, "%sr%u%s;\n", c_type(e, r), r,
				 shared							? ""
				 : e->type[r] >= DT_COMPLEX64 && e->type[r] < DTYPE_END ? " = {0}"
											: " = 0");
	}
}

static void put_code(struct lane *e, uint32_t first)
{
	for (uint32_t at = first; at < e->p->ncode && (at == first || !e->start[at]); at++) {
		if (e->target[at])
			text_put(&e->o, "L%u:;\n", at);
		put_one(e, &e->p->code[at], at);
	}
	/* Behind what nobody reaches. */
	text_put(&e->o, "return 0;\n}\n");
}

static void put_arrays(struct lane *e)
{
	const struct lang_program *p = e->p;
	unsigned at = 0;

	for (unsigned k = 0, a = 0; k < p->nparam; k++) {
		unsigned rank = p->param[k].rank;

		if (!rank)
			continue;
		text_put(&e->o, "char *const A%u = (char *)f->array[%u];\n", a, at);
		for (unsigned x = 0; x < rank; x++) {
			text_put(&e->o, "const bz_i64 N%u_%u = f->array[%u], S%u_%u = ", a, x,
				 at + 1 + x, a, x);
			if (e->unit && x + 1 == rank)
				text_put(&e->o, "%u;\n", dtype_row(p->param[k].type)->bytes);
			else
				text_put(&e->o, "f->array[%u];\n", at + 1 + rank + x);
		}
		at += 1 + 2 * rank;
		a++;
	}
}

/* Parameters, or all that the machine has computed before it goes over. */
static void put_start(struct lane *e)
{
	const struct lang_program *p = e->p;

	for (unsigned k = 0; k < p->nparam; k++)
		if (!p->param[k].rank)
			text_put(&e->o, "BZ_GET(%u, %s);\n", p->param[k].reg,
				 reg(e, p->param[k].reg));
	if (e->unit) {
		for (uint32_t at = p->entry; at < p->ncode; at++)
			if (e->share[at])
				text_put(&e->o, "if (f->at == %u) return bz_part%u(f);\n", at + 1,
					 at);
		return;
	}
	text_put(&e->o, "if (f->at) {\n");
	for (uint32_t r = 0; r < p->nreg; r++)
		if (e->owner[r] == p->entry && !e->constant[r])
			text_put(&e->o, "BZ_GET(%u, %s);\n", r, reg(e, r));
	text_put(&e->o, "switch (f->at) {\n");
	for (uint32_t at = p->entry; at < p->ncode; at++) {
		const struct lang_ins *next = &p->code[p->code[at].d];

		if (!e->outer[at])
			continue;
		text_put(&e->o, "case %u: ", at);
		/* The machine counts turns where this has a bound. */
		if (next->code == CODE_NEXT && by_one(e, next - 1))
			text_put(&e->o, "%s += %s; ", reg(e, next->a + 2), reg(e, next->a + 1));
		text_put(&e->o, "goto L%u;\n", p->code[at].d);
	}
	text_put(&e->o, "}\n}\n");
}

/* Turns of one loop, of arrays whose last axis lies closely, from registers to registers. */
static void put_part(struct lane *e, uint32_t range)
{
	const struct lang_ins *i = &e->p->code[range];
	uint32_t end = lang_nest_end(e->p, range), exit = e->p->code[range + 1].d;

	text_put(&e->o, "static int bz_part%u(struct bz_frame *f)\n{\n", range);
	text_put(&e->o, "struct bz_shared s_, *const s = &s_;\n");
	put_variables(e, e->p->entry, false);
	e->unit = true;
	put_arrays(e);
	e->unit = false;
	text_put(&e->o, "s->turns = BZ_TURNS;\n");
	put_moved(e, range, "GET", false);
	put_moved(e, range, "GET", true);
	if (by_one(e, i))
		text_put(&e->o, "%s += %s;\n", reg(e, i->d + 2), reg(e, i->d + 1));
	for (uint32_t at = range + 1; at <= end; at++) {
		if (e->target[at])
			text_put(&e->o, "L%u:;\n", at);
		put_one(e, &e->p->code[at], at);
	}
	text_put(&e->o, "L%u:;\n", exit);
	put_moved(e, range, "SET", true);
	text_put(&e->o, "return 0;\n}\n");
}

static void put_parts(struct lane *e)
{
	for (uint32_t at = e->p->entry; at < e->p->ncode; at++)
		if (e->share[at])
			put_part(e, at);
}

static void put_kernel(struct lane *e, bool unit)
{
	e->unit = unit;
	text_put(&e->o, "int bz_%s(struct bz_frame *f)\n{\nstruct bz_shared s_, *const s = &s_;\n",
		 unit ? "unit" : "any");
	put_variables(e, e->p->entry, false);
	put_arrays(e);
	text_put(&e->o, "s->turns = BZ_TURNS;\n");
	put_start(e);
	put_code(e, e->p->entry);
}

static void put_source(struct lane *e)
{
	text_add(&e->o, kernel_text_lang_h);
	text_put(&e->o, "const bz_u64 bz_mark = 0x%llxul;\n", (unsigned long long)lang_mark(e->p));
	text_put(&e->o, "struct bz_shared {\nbz_u32 turns;\n");
	put_variables(e, 0, true);
	text_put(&e->o, "};\n");
	for (uint32_t at = 0; at < e->p->entry; at++) {
		if (!e->start[at])
			continue;
		text_put(&e->o, "static int bz_fn%u(struct bz_frame *f, struct bz_shared *s)\n{\n",
			 at);
		put_variables(e, at, false);
		put_code(e, at);
	}
	put_parts(e);
	put_kernel(e, true);
	put_kernel(e, false);
}

/* ---- The whole ---- */

const char *emit_lang_prologue(void)
{
	return kernel_text_lang_h;
}

static enum status parse(struct lang_program **out, const char *text, size_t bytes, struct err *err)
{
	struct lang_tree *tree = NULL;
	enum status st = lang_parse(&tree, text, bytes, err);

	if (!st)
		st = lang_check(out, tree, err);
	free(tree);
	return st;
}

enum status emit_lang_source(char **out, const char *text, size_t bytes, struct err *err)
{
	struct lang_program *p = NULL;
	enum status st = parse(&p, text, bytes, err);
	struct lane e = {{NULL, 0, 0}};

	if (st)
		return st;
	e.p = p;
	e.type = xcalloc(p->nreg + 1, 1);
	e.constant = xcalloc(p->nreg + 1, sizeof *e.constant);
	e.owner = xmalloc((p->nreg + 1) * sizeof *e.owner);
	memset(e.owner, 0xff, (p->nreg + 1) * sizeof *e.owner);
	e.shared = xcalloc(p->nreg + 1, 1);
	e.start = xcalloc(p->ncode + 1, 1);
	e.target = xcalloc(p->ncode + 1, 1);
	e.outer = lang_outermost(p);
	e.share = xcalloc(p->ncode + 1, sizeof *e.share);
	find_shared(&e);
	places(&e);
	registers(&e);
	put_source(&e);
	if (e.o.n > SOURCE_MAX)
		st = err_set(err, E_LIMIT, "kernel '%s' is too long to be compiled", p->name);
	if (st)
		free(e.o.s);
	else
		*out = e.o.s;
	free(e.type);
	free(e.constant);
	free(e.owner);
	free(e.shared);
	free(e.start);
	free(e.target);
	free(e.outer);
	free(e.share);
	lang_free(p);
	return st;
}
