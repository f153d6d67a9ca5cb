/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang.c - a kernel of the language as C for one lane.
 *
 * In:  a checked program (lang/lang.h).  Out: kernels/lang.h, two functions and numbers:
 *
 *   bz_unit   the whole program, of arrays whose last axis lies closely
 *   bz_any    of any arrays, from the start or from the end of an outermost loop on
 *   bz_mark   of which instructions: lang_mark
 *   bz_width  the bytes of vectors, where it calls libmvec
 *
 * Each register is a variable of its type, each instruction a statement, each jump a goto.  What
 * the functions of a text and their callers both name lies in a struct of its own, which vanishes
 * where they are inlined.  Of a text only numbers and types get into the source. */
#include "emit_lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "emit_lang_lane.h"
#include "lang/lang_native.h"
#include "lang/lang_nest.h"
#include "lang/lang_uses.h"

extern const char kernel_text_native_h[], kernel_text_native_math_h[], kernel_text_lang_h[];

#define NOBODY	   UINT32_MAX
#define COPIES_MAX 6	      /* times the code of a kernel, of copies of its loops */
#define SIMPLE_MAX 80	      /* instructions of functions that are written where they are called */
#define SOURCE_MAX (1u << 20) /* longer ones take compilers too long */

static const char *suffix(unsigned type)
{
	return dtype_row(type)->suffix;
}

/* ---- Registers ---- */

static void name(struct lane *e, uint32_t reg, unsigned type, uint32_t function, uint32_t at)
{
	e->first[reg] = at < e->first[reg] ? at : e->first[reg];
	e->last[reg] = at > e->last[reg] ? at : e->last[reg];
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
			name(e, reg, type, function, at);
		for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
			name(e, reg, type, function, at);
	}
	/* Parameters have their values from elsewhere, results are read behind the last one. */
	for (unsigned k = 0; k < p->nparam + p->nresult; k++)
		if (!p->param[k].rank)
			name(e, p->param[k].reg, p->param[k].type, p->entry, p->ncode);
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
			e->target[i->d] =
				(uint8_t)(e->target[i->d] + (e->target[i->d] < UINT8_MAX));
		if (i->code == CODE_CALL)
			e->start[i->d] = true;
	}
}

/* ---- Statements ---- */

const char *emit_lang_register(const struct lane *e, uint32_t r)
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

const char *emit_lang_label(const struct lane *e, uint32_t to)
{
	static _Thread_local char text[4][32];
	static _Thread_local unsigned turn;
	char *t = text[turn++ % 4];

	for (unsigned k = e->nversion; k-- > 0;)
		if (to >= e->version[k].first && to <= e->version[k].last) {
			snprintf(t, sizeof text[0], "L%u_%u", to, e->version[k].number);
			return t;
		}
	snprintf(t, sizeof text[0], "L%u", to);
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
		text_put(&e->o, "bz_%s %s = %s; ", suffix(type), local[n],
			 emit_lang_register(e, r));
	text_put(&e->o, "BZ_APPLY(%u, %s, a_, %s, %s); }\n", at, emit_lang_register(e, i->d),
		 local[n > 1 ? 1 : 0], local[n > 2 ? 2 : 0]);
}

/* A third power, which is two products: no routine's. */
static bool is_cube(const struct lane *e, const struct lang_ins *i)
{
	const union lang_reg *c = i->op == OP_POWER ? e->constant[i->b] : NULL;
	float single = 0;

	if (c)
		memcpy(&single, c->byte, sizeof single);
	return c && (i->type == DT_FLOAT64 ? c->f == 3 : single == 3);
}

static void put_operation(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	uint32_t r;
	unsigned type;

	if (!lang_native_op(i->op, i->type)) {
		put_apply(e, i, at);
		return;
	}
	text_put(&e->o,
		 lang_native_vector(i->op, i->type) && e->even && !is_cube(e, i)
			 ? "%s = BZ_EACH(%s, %s)("
			 : "%s = bz_%s_%s(",
		 emit_lang_register(e, i->d), op_row(i->op)->stem, suffix(i->type));
	for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
		text_put(&e->o, "%s%s", k ? ", " : "", emit_lang_register(e, r));
	text_put(&e->o, ");\n");
}

static void put_cast(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	unsigned from = dtype_row(i->type)->cls, to = dtype_row(i->to)->cls;

	if (!lang_native_cast(i->type, i->to))
		put_apply(e, i, at);
	else if (i->to == DT_BOOL)
		text_put(&e->o, "%s = %s != 0;\n", emit_lang_register(e, i->d),
			 emit_lang_register(e, i->a));
	else if (from == CLASS_FLOAT && to != CLASS_FLOAT)
		text_put(&e->o, "%s = bz_cast_f64_%s(%s);\n", emit_lang_register(e, i->d),
			 suffix(i->to), emit_lang_register(e, i->a));
	else
		text_put(&e->o, "%s = (bz_%s)%s;\n", emit_lang_register(e, i->d), suffix(i->to),
			 emit_lang_register(e, i->a));
}

static void put_end(struct lane *e)
{
	const struct lang_param *result = &e->p->param[e->p->nparam];

	for (unsigned k = 0; k < e->p->nresult; k++)
		text_put(&e->o, "BZ_SET(%u, %s); ", result[k].reg,
			 emit_lang_register(e, result[k].reg));
	text_put(&e->o, "return 0;\n");
}

/* Nothing, of a loop that no call refutes; else the machine's step where that would look. */
static void put_claim(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	const char *count = emit_lang_register(e, i->d);

	if (!lang_nest_may(e->p, i->a))
		return;
	text_put(&e->o, "if (BZ_RARE(BZ_LOOKS(%s))) { BZ_SET(%u, %s); ", count, i->d, count);
	emit_lang_show(e, i->a);
	text_put(&e->o, "BZ_STEP(%u); }\n%s += 1;\n", at, emit_lang_register(e, i->d));
}

/* What goes elsewhere. */
static void put_way(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	struct text *o = &e->o;

	switch ((enum lang_code)i->code) {
	case CODE_JUMP:
		if (e->turn[i->d])
			emit_lang_way(e, i->d);
		else
			text_put(o, "goto %s;\n", emit_lang_label(e, i->d));
		break;
	case CODE_LOOP:
		if (e->turn[at])
			emit_lang_way_back(e, at);
		else if (!emit_lang_turns_end(e, at))
			text_put(o, "BZ_LOOP(%u, %s);\n", at, emit_lang_label(e, i->d));
		break;
	case CODE_CLAIM:
		put_claim(e, i, at);
		break;
	case CODE_RANGE:
		emit_lang_range(e, at);
		break;
	case CODE_NEXT:
		emit_lang_next(e, at);
		break;
	case CODE_CALL:
		text_put(o, e->even ? "bz_each%u(f, s);\n" : "if (bz_fn%u(f, s)) return 1;\n",
			 i->d);
		break;
	case CODE_RETURN:
		text_put(o, "return 0;\n");
		break;
	case CODE_END:
		put_end(e);
		break;
	default:
		text_put(o, "if (%s%s) goto %s;\n", i->code == CODE_WHEN ? "" : "!",
			 emit_lang_register(e, i->a), emit_lang_label(e, i->d));
	}
}

static void put_move(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	const char *to = emit_lang_register(e, i->d), *from = emit_lang_register(e, i->a);

	if (e->both[at])
		text_put(&e->o, "%s = (%s != 0) %s (%s != 0);\n", to, to,
			 e->both[at] == 1 ? "&" : "|", from);
	else
		text_put(&e->o, "%s = %s;\n", to, from);
	e->both[at] = 0;
}

void emit_lang_one(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	struct text *o = &e->o;

	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
		put_move(e, i, at);
		break;
	case CODE_OP:
		if (!emit_lang_keep(e, at))
			put_operation(e, i, at);
		break;
	case CODE_CAST:
		put_cast(e, i, at);
		break;
	case CODE_PLACE:
		emit_lang_place(e, at);
		break;
	case CODE_LOAD:
		emit_lang_load(e, at);
		break;
	case CODE_STORE:
		text_put(o, "BZ_STORE(%s, %s, %s);\n", suffix(i->type),
			 emit_lang_address(e, i->d, i->type), emit_lang_register(e, i->a));
		break;
	case CODE_ADDEND:
		text_put(o, "BZ_ADDEND(%u, %u, %u, %s);\n", at, i->c, i->a,
			 emit_lang_register(e, i->a));
		break;
	case CODE_SUM:
	case CODE_SUMMED:
		emit_lang_step(e, i, at);
		break;
	case CODE_SEAM:
		break;
	case CODE_FUSES:
		emit_lang_fuses(e, at);
		break;
	case CODE_LENGTH:
		text_put(o, "%s = N%u_%u;\n", emit_lang_register(e, i->d), i->a, i->b);
		break;
	default:
		if (lang_on_slices(i))
			emit_lang_slice(e, at);
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
		if (mine && e->unit && e->row[r])
			text_put(&e->o, "bz_i64 i%u = 0;\n", r);
	}
}

/* ---- Copies of loops ---- */

static void put_some(struct lane *e, uint32_t first, uint32_t last, bool checked);

/* A copy whose places are not checked, as far as a test before it says that they are inside; and,
 * if that does not hold, the loop as it was, of whose inner loops only the innermost have copies:
 * what is written grows by the depth at most.  False: no place of it can be tested. */
static bool put_copies(struct lane *e, uint32_t loop)
{
	const struct lang_loop *x = &e->loops->loop[loop];
	uint32_t number = e->versions, values = e->values, count = x->end - x->range + 1;
	size_t n = e->o.n;
	bool failed = e->failed;
	uint8_t *inside;

	if (e->left < count || e->nversion == EMIT_LANG_VERSIONS)
		return false;
	inside = xmalloc(count);
	memcpy(inside, e->inside + x->range, count);
	e->left -= count;
	e->version[e->nversion++] = (struct version){x->range + 1, x->end, e->versions++, false};
	text_put(&e->o, "{\n");
	if (!emit_lang_bounds(e, loop)) {
		e->o.n = n;
		e->values = values;
		e->left += count;
		e->versions--;
		e->nversion--;
		free(inside);
		return false;
	}
	text_put(&e->o, "if (BZ_RARE(bad)) goto K%u;\n}\n", number);
	emit_lang_one(e, x->range);
	put_some(e, x->range + 1, x->end, false);
	e->nversion--;
	memcpy(e->inside + x->range, inside, count);
	free(inside);
	text_put(&e->o, "K%u:;\n", number);
	e->failed = true;
	emit_lang_one(e, x->range);
	put_some(e, x->range + 1, x->end, true);
	e->failed = failed;
	return true;
}

/* What is written in one go: the last instruction of it; 0: it is none. */
static uint32_t put_together(struct lane *e, uint32_t at)
{
	uint32_t behind = e->loop[at] ? emit_lang_elements(e, at) : 0;

	if (!behind && e->nversion)
		behind = emit_lang_either(e, at);
	return behind ? behind : emit_lang_stretch(e, at);
}

/* Instructions first ... last; checked: of a loop whose test has failed. */
static void put_some(struct lane *e, uint32_t first, uint32_t last, bool checked)
{
	for (uint32_t at = first; at <= last; at++) {
		uint32_t loop = e->loop[at], behind;

		if (e->target[at] && !(at && emit_lang_is_plain(e, at - 1)))
			text_put(&e->o, "%s:;\n", emit_lang_label(e, at));
		if (loop)
			emit_lang_share(e, at);
		if (loop && !(checked && e->loops->loop[loop - 1].inner) && put_copies(e, loop - 1))
			at = e->loops->loop[loop - 1].end;
		else if ((behind = put_together(e, at)))
			at = behind;
		else if (e->nversion && emit_lang_both(e, at))
			e->both[emit_lang_both(e, at)] = e->p->code[at].code == CODE_UNLESS ? 1 : 2;
		else
			emit_lang_one(e, at);
	}
}

void emit_lang_some(struct lane *e, uint32_t first, uint32_t last)
{
	put_some(e, first, last, false);
}

static void put_code(struct lane *e, uint32_t first)
{
	uint32_t last = first;

	while (last + 1 < e->p->ncode && !e->start[last + 1])
		last++;
	put_some(e, first, last, false);
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
				 emit_lang_register(e, p->param[k].reg));
	if (e->unit) {
		emit_lang_begin_part(e);
		return;
	}
	text_put(&e->o, "if (f->at) {\n");
	for (uint32_t r = 0; r < p->nreg; r++)
		if (e->owner[r] == p->entry && !e->constant[r])
			text_put(&e->o, "BZ_GET(%u, %s);\n", r, emit_lang_register(e, r));
	text_put(&e->o, "switch (f->at) {\n");
	for (uint32_t at = p->entry; at < p->ncode; at++) {
		const struct lang_ins *next = &p->code[p->code[at].d];

		if (!e->outer[at])
			continue;
		text_put(&e->o, "case %u: ", at);
		/* The machine counts turns where this has a bound. */
		if (next->code == CODE_NEXT && emit_lang_by_one(e, next - 1))
			text_put(&e->o, "%s += %s; ", emit_lang_register(e, next->a + 2),
				 emit_lang_register(e, next->a + 1));
		text_put(&e->o, "goto L%u;\n", p->code[at].d);
	}
	text_put(&e->o, "}\n}\n");
}

void emit_lang_open(struct lane *e, bool unit)
{
	e->unit = unit;
	e->values = 0;
	e->left = e->whole ? 0 : COPIES_MAX * (e->p->ncode - e->p->entry);
	text_put(&e->o, "struct bz_shared s_, *const s = &s_;\n");
	put_variables(e, e->p->entry, false);
	put_arrays(e);
	e->opened = e->o.n;
	e->rooms = 0;
	text_put(&e->o, "s->turns = BZ_TURNS;\nbz_b1 theirs = 1;\nstruct bz_sum sum;\n");
}

static void put_kernel(struct lane *e, bool unit)
{
	text_put(&e->o, "int bz_%s(struct bz_frame *f)\n{\n", unit ? "unit" : "any");
	emit_lang_open(e, unit);
	put_start(e);
	put_code(e, e->p->entry);
}

/* Functions of whole vectors, each once; false: there is none. */
static bool put_vectors(struct lane *e)
{
	bool seen[OP_END][DTYPE_END] = {{false}}, any = false;

	for (uint32_t k = 0; k < e->p->ncode; k++) {
		const struct lang_ins *i = &e->p->code[k];

		if (i->code != CODE_OP || !lang_native_vector(i->op, i->type) ||
		    seen[i->op][i->type])
			continue;
		any = seen[i->op][i->type] = true;
		text_put(&e->o, "BZ_EACH%u(%s, %s)\n", op_row(i->op)->arity, op_row(i->op)->stem,
			 suffix(i->type));
	}
	return any;
}

/* ---- Functions of the text ---- */

static uint32_t end_of(const struct lane *e, uint32_t start)
{
	uint32_t end = start + 1;

	while (end < e->p->ncode && !e->start[end])
		end++;
	return end;
}

/* Does it go forward only, and cannot fail? */
static bool is_simple(const struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];

	switch ((enum lang_code)i->code) {
	case CODE_OP:
		return lang_native_op(i->op, i->type);
	case CODE_CAST:
		return lang_native_cast(i->type, i->to);
	case CODE_CALL:
		return e->simple[i->d] != 0;
	case CODE_MOVE:
	case CODE_RETURN:
		return true;
	default:
		return lang_jumps(i) && i->code != CODE_NEXT && i->d > at;
	}
}

/* So many instructions a function is that is simple, with those of the ones that it calls, which
 * come before it; 0: it is not, or is too long. */
static uint32_t simple(const struct lane *e, uint32_t start)
{
	uint32_t end = end_of(e, start), count = end - start;

	for (uint32_t at = start; at < end; at++) {
		if (!is_simple(e, at))
			return 0;
		if (e->p->code[at].code == CODE_CALL)
			count += e->simple[e->p->code[at].d];
	}
	return count <= SIMPLE_MAX ? count : 0;
}

/* Does no branch of a simple function call a vector's routine? */
static bool is_even(const struct lane *e, uint32_t start)
{
	uint32_t end = end_of(e, start), ahead = start;

	for (uint32_t at = start; at < end; at++) {
		const struct lang_ins *i = &e->p->code[at];
		bool calls = i->code == CODE_CALL, branch = at < ahead;

		if ((calls && (branch || !e->even_fn[i->d])) ||
		    (branch && i->code == CODE_OP && lang_native_vector(i->op, i->type)))
			return false;
		if (lang_jumps(i) && i->d > ahead)
			ahead = i->d;
		/* What is behind is in a branch, too. */
		if (i->code == CODE_RETURN)
			ahead = end;
	}
	return true;
}

static void put_function(struct lane *e, uint32_t at, const char *how, const char *name)
{
	text_put(&e->o, "%s int bz_%s%u(struct bz_frame *f, struct bz_shared *s)\n{\n", how, name,
		 at);
	put_variables(e, at, false);
	put_code(e, at);
}

/* What is short and simple becomes a part of whoever calls it, so that loops with calls can become
 * vectors. */
static void put_functions(struct lane *e)
{
	for (uint32_t at = 0; at < e->p->entry; at++) {
		if (!e->start[at])
			continue;
		e->simple[at] = simple(e, at);
		e->even_fn[at] = e->simple[at] && is_even(e, at);
		put_function(e, at, e->simple[at] ? "BZ_FN" : "static", "fn");
		if (!e->even_fn[at])
			continue;
		e->even = true;
		put_function(e, at, "BZ_FN", "each");
		e->even = false;
	}
}

static void put_source(struct lane *e)
{
	text_add(&e->o, kernel_text_native_h);
	text_add(&e->o, kernel_text_native_math_h);
	text_add(&e->o, kernel_text_lang_h);
	text_put(&e->o, "const bz_u64 bz_mark = 0x%llxul;\n", (unsigned long long)lang_mark(e->p));
	if (put_vectors(e))
		text_put(&e->o, "const bz_u32 bz_width = BZ_NATIVE;\n");
	text_put(&e->o, "struct bz_shared {\nbz_u32 turns;\n");
	put_variables(e, 0, true);
	text_put(&e->o, "};\n");
	put_functions(e);
	emit_lang_parts(e);
	put_kernel(e, true);
	put_kernel(e, false);
}

/* ---- The whole ---- */

const char *emit_lang_prologue(void)
{
	return kernel_text_lang_h;
}

/* False: no memory. */
static bool prepare(struct lane *e, struct lang_program *p)
{
	e->p = p;
	e->type = xcalloc(p->nreg + 1, 1);
	e->constant = xcalloc(p->nreg + 1, sizeof *e->constant);
	e->owner = xmalloc((p->nreg + 1) * sizeof *e->owner);
	memset(e->owner, 0xff, (p->nreg + 1) * sizeof *e->owner);
	e->shared = xcalloc(p->nreg + 1, 1);
	e->first = xmalloc((p->nreg + 1) * sizeof *e->first);
	memset(e->first, 0xff, (p->nreg + 1) * sizeof *e->first);
	e->last = xcalloc(p->nreg + 1, sizeof *e->last);
	e->start = xcalloc(p->ncode + 1, 1);
	e->simple = xcalloc(p->ncode + 1, sizeof *e->simple);
	e->even_fn = xcalloc(p->ncode + 1, sizeof *e->even_fn);
	e->target = xcalloc(p->ncode + 1, 1);
	e->inside = xcalloc(p->ncode + 1, 1);
	e->both = xcalloc(p->ncode + 1, 1);
	e->turn = xcalloc(p->ncode + 1, sizeof *e->turn);
	e->as = xcalloc(p->ncode + 1, sizeof *e->as);
	e->row = xcalloc(p->nreg + 1, sizeof *e->row);
	e->in = xcalloc(p->ncode + 1, 1);
	e->loop = xcalloc(p->ncode + 1, sizeof *e->loop);
	e->one = xcalloc(p->nreg + 1, sizeof *e->one);
	e->close = xcalloc(p->nreg + 1, 1);
	e->outer = lang_outermost(p);
	e->loops = lang_loops_of(p);
	if (!e->outer || !e->loops)
		return false;
	e->bounded = xcalloc(e->loops->nloop + 1, 1);
	for (uint32_t k = 0; k < e->loops->nloop; k++)
		e->loop[e->loops->loop[k].range] = k + 1;
	e->share = xcalloc(p->ncode + 1, sizeof *e->share);
	emit_lang_find_shared(e);
	places(e);
	registers(e);
	emit_lang_find_strides(e);
	emit_lang_find_rows(e);
	emit_lang_find_turns(e);
	return true;
}

static void finish(struct lane *e)
{
	free(e->type);
	free(e->constant);
	free(e->owner);
	free(e->shared);
	free(e->first);
	free(e->last);
	free(e->start);
	free(e->simple);
	free(e->even_fn);
	free(e->target);
	free(e->inside);
	free(e->both);
	free(e->turn);
	free(e->as);
	free(e->row);
	free(e->in);
	free(e->loop);
	free(e->one);
	free(e->close);
	free(e->outer);
	free(e->share);
	free(e->bounded);
	lang_loops_free(e->loops);
}

enum status emit_lang_source(char **out, const char *text, size_t bytes, struct err *err)
{
	struct lang_program *p = NULL;
	enum status st = lang_program_of_text(&p, text, bytes, err);
	struct lane e = {{NULL, 0, 0}};

	if (st)
		return st;
	if (!prepare(&e, p))
		st = err_set(err, E_NOMEM, "no memory to emit a kernel");
	else
		put_source(&e);
	if (e.o.n > SOURCE_MAX) {
		e.whole = true;
		e.o.n = 0;
		put_source(&e);
	}
	if (e.o.n > SOURCE_MAX)
		st = err_set(err, E_LIMIT, "kernel '%s' is too long to be compiled", p->name);
	if (st)
		free(e.o.s);
	else
		*out = e.o.s;
	finish(&e);
	lang_free(p);
	return st;
}
