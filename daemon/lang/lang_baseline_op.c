/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_baseline_op.c - operations and casts of code that is made at once.
 *
 * With the bits of the machine's loops, as kernels/lang.h has them; integers are computed on 64
 * bits and cut.  What is not here is the machine's. */
#include "lang_baseline.h"
#include "lang_native.h"

static bool is_signed(unsigned type)
{
	return type == DTYPE_END || dtype_row(type)->cls == CLASS_INT;
}

static bool is_real(unsigned type)
{
	return type == DT_FLOAT32 || type == DT_FLOAT64;
}

/* ---- Truths ---- */

/* Is the next instruction a jump on what this one makes, which nobody else reads? */
static bool jumps_next(const struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at], *next = i + 1;

	return at + 1 < w->p->ncode && (next->code == CODE_UNLESS || next->code == CODE_WHEN) &&
	       next->a == i->d && !w->a->target[at + 1] && w->a->to[i->d] == 2 * (at + 1) &&
	       w->a->type[i->d] == DT_BOOL;
}

void lang_base_told(struct baseline *w, uint32_t at, unsigned condition)
{
	const struct lang_ins *next = &w->p->code[at + 1];
	uint32_t d = w->p->code[at].d;

	if (jumps_next(w, at)) {
		lang_base_way(w, lang_x86_if(&w->b, condition ^ (next->code == CODE_UNLESS)),
			      next->d);
		w->after = at + 2;
		return;
	}
	lang_x86_rr(&w->b, X86_SET | condition, 0, RAX);
	lang_x86_rr(&w->b, X86_ZERO8, RAX, RAX);
	lang_base_put_whole(w, d, RAX);
}

/* Are two floats, compared, equal, which they are not where one is no number? */
static void told_equal(struct baseline *w, uint32_t at, bool equal)
{
	const struct lang_ins *next = &w->p->code[at + 1];

	if (!jumps_next(w, at)) {
		lang_x86_rr(&w->b, X86_SET | (equal ? IF_EQUAL : IF_NOT_EQUAL), 0, RAX);
		lang_x86_rr(&w->b, X86_SET | (equal ? IF_NO_PARITY : IF_PARITY), 0, RCX);
		lang_x86_rr(&w->b, equal ? X86_AND : X86_OR, RAX, RCX);
		lang_x86_rr(&w->b, X86_ZERO8, RAX, RAX);
		lang_base_put_whole(w, w->p->code[at].d, RAX);
		return;
	}
	w->after = at + 2;
	if (equal == (next->code == CODE_UNLESS)) {
		lang_base_way(w, lang_x86_if(&w->b, IF_NOT_EQUAL), next->d);
		lang_base_way(w, lang_x86_if(&w->b, IF_PARITY), next->d);
	} else {
		size_t past = lang_x86_if(&w->b, IF_PARITY);

		lang_base_way(w, lang_x86_if(&w->b, IF_EQUAL), next->d);
		lang_x86_patch(&w->b, past, w->b.n);
	}
}

static void compare_real(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	bool turned = i->op == OP_LESS || i->op == OP_LESS_EQUAL;
	unsigned a = lang_base_real(w, turned ? i->b : i->a, i->type, 0);
	unsigned b = lang_base_real(w, turned ? i->a : i->b, i->type, 1);

	lang_x86_rr(&w->b, X86_UCOM | (i->type == DT_FLOAT64 ? X86_66 : 0), a, b);
	if (i->op == OP_EQUAL || i->op == OP_NOT_EQUAL)
		told_equal(w, at, i->op == OP_EQUAL);
	else
		lang_base_told(w, at,
			       i->op == OP_LESS || i->op == OP_GREATER ? IF_ABOVE : IF_ABOVE_EQUAL);
}

static unsigned condition_of(unsigned op, bool sign)
{
	switch (op) {
	case OP_EQUAL:
		return IF_EQUAL;
	case OP_NOT_EQUAL:
		return IF_NOT_EQUAL;
	case OP_LESS:
		return sign ? IF_LESS : IF_BELOW;
	case OP_LESS_EQUAL:
		return sign ? IF_LESS_EQUAL : IF_BELOW_EQUAL;
	case OP_GREATER:
		return sign ? IF_GREATER : IF_ABOVE;
	default:
		return sign ? IF_GREATER_EQUAL : IF_ABOVE_EQUAL;
	}
}

static void compare_whole(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_whole(w, i->a, i->type, RAX);

	lang_base_with(w, X86_CMP, 7, a, i->b, i->type, RCX);
	lang_base_told(w, at, condition_of(i->op, is_signed(i->type)));
}

/* ---- Integers ---- */

/* d = a op b; group: of the instruction with a number in itself. */
static void two_wholes(struct baseline *w, uint32_t at, uint32_t op, unsigned group)
{
	const struct lang_ins *i = &w->p->code[at];
	uint32_t b = w->a->same[i->b];
	unsigned to = lang_base_target(w, i->d, w->a->where[b], RAX);

	lang_base_move(w, to, lang_base_whole(w, i->a, i->type, to));
	lang_base_with(w, op, group, to, i->b, i->type, RCX);
	lang_base_extend(w, to, i->type);
	lang_base_put_whole(w, i->d, to);
}

static void one_whole(struct baseline *w, uint32_t at, unsigned group)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned to = lang_base_target(w, i->d, ALLOC_MEMORY, RAX);

	lang_base_move(w, to, lang_base_whole(w, i->a, i->type, to));
	lang_x86_rr(&w->b, X86_GROUP3, group, to);
	lang_base_extend(w, to, i->type);
	lang_base_put_whole(w, i->d, to);
}

static void not_bool(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	lang_base_move(w, RAX, lang_base_whole(w, i->a, DT_BOOL, RAX));
	lang_x86_rr(&w->b, X86_GROUP1_8, 6, RAX);
	lang_x86_u8(&w->b, 1);
	lang_base_put_whole(w, i->d, RAX);
}

/* The less, or the greater one. */
static void extreme_whole(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned b = lang_base_whole(w, i->b, i->type, RCX);

	lang_base_move(w, RAX, lang_base_whole(w, i->a, i->type, RAX));
	lang_x86_rr(&w->b, X86_CMP, RAX, b);
	lang_x86_rr(&w->b,
		    X86_CMOV | condition_of(i->op == OP_MINIMUM ? OP_GREATER_EQUAL : OP_LESS_EQUAL,
					    is_signed(i->type)),
		    RAX, b);
	lang_base_put_whole(w, i->d, RAX);
}

static void absolute_whole(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_whole(w, i->a, i->type, RCX);

	lang_base_move(w, RAX, a);
	if (is_signed(i->type)) {
		lang_x86_rr(&w->b, X86_GROUP3, 3, RAX);
		lang_x86_rr(&w->b, X86_CMOV | IF_LESS, RAX, a);
		/* Of the least one its bits again. */
		lang_base_extend(w, RAX, i->type);
	}
	lang_base_put_whole(w, i->d, RAX);
}

static void square_whole(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	lang_base_move(w, RAX, lang_base_whole(w, i->a, i->type, RAX));
	lang_x86_rr(&w->b, X86_IMUL, RAX, RAX);
	lang_base_extend(w, RAX, i->type);
	lang_base_put_whole(w, i->d, RAX);
}

/* By a count within the type; else the machine's. */
static void shift(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned group = i->op == OP_LEFT_SHIFT ? 4 : is_signed(i->type) ? 7 : 5;
	int32_t by, bits = 8 * dtype_row(i->type)->bytes;
	bool number = lang_base_number(w, i->b, i->type, &by) && by >= 0 && by < bits;

	if (!number) {
		lang_base_move(w, RCX, lang_base_whole(w, i->b, i->type, RCX));
		lang_x86_rr(&w->b, X86_GROUP1_8, 7, RCX);
		lang_x86_u8(&w->b, (unsigned)bits);
		lang_base_rare(w, lang_x86_if(&w->b, IF_ABOVE_EQUAL), at);
	}
	lang_base_move(w, RAX, lang_base_whole(w, i->a, i->type, RAX));
	lang_x86_rr(&w->b, number ? X86_SHIFT : X86_SHIFT_CL, group, RAX);
	if (number)
		lang_x86_u8(&w->b, (unsigned)by);
	lang_base_extend(w, RAX, i->type);
	lang_base_put_whole(w, i->d, RAX);
	lang_base_back(w, at);
}

/* By 2 ** n: what stands above, or below. */
static bool by_power(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	int32_t by;

	if (!lang_base_number(w, i->b, i->type, &by) || by < 1 || by & (by - 1))
		return false;
	lang_base_move(w, RAX, lang_base_whole(w, i->a, i->type, RAX));
	if (i->op == OP_REMAINDER) {
		lang_x86_rr(&w->b, X86_GROUP1, 4, RAX);
		lang_x86_u32(&w->b, (uint32_t)by - 1);
	} else {
		lang_x86_rr(&w->b, X86_SHIFT, is_signed(i->type) ? 7 : 5, RAX);
		lang_x86_u8(&w->b, (unsigned)__builtin_ctz((unsigned)by));
	}
	lang_base_put_whole(w, i->d, RAX);
	return true;
}

/* Quotient or remainder, towards less, by what is at least 1; else the machine's. */
static void divide(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	bool rest = i->op == OP_REMAINDER;
	unsigned b, out = rest ? RDX : RAX;
	size_t less = 0;

	if (by_power(w, at))
		return;
	b = lang_base_whole(w, i->b, i->type, RCX);
	lang_base_move(w, RAX, lang_base_whole(w, i->a, i->type, RAX));
	lang_x86_rr(&w->b, X86_TEST, b, b);
	lang_base_rare(w, lang_x86_if(&w->b, IF_LESS_EQUAL), at);
	if (rest) {
		/* Most are inside already, as places of a torus are, and division is slow. */
		lang_x86_rr(&w->b, X86_MOV, RDX, RAX);
		lang_x86_rr(&w->b, X86_CMP, RAX, b);
		less = lang_x86_if(&w->b, IF_BELOW);
	}
	lang_x86_u8(&w->b, 0x48); /* cqo */
	lang_x86_u8(&w->b, 0x99);
	lang_x86_rr(&w->b, X86_GROUP3, 7, b);
	/* What is left below 0 is of a quotient that is too large by 1. */
	if (rest)
		lang_x86_rr(&w->b, X86_MOV, RAX, RDX);
	lang_x86_rr(&w->b, X86_SHIFT, 7, rest ? RAX : RDX);
	lang_x86_u8(&w->b, 63);
	if (rest)
		lang_x86_rr(&w->b, X86_AND, RAX, b);
	lang_x86_rr(&w->b, X86_ADD, out, rest ? RAX : RDX);
	if (rest)
		lang_x86_patch(&w->b, less, w->b.n);
	lang_base_put_whole(w, i->d, out);
	lang_base_back(w, at);
}

/* ---- Floats ---- */

static void two_reals(struct baseline *w, uint32_t at, uint32_t op)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned to = lang_base_target(w, i->d, w->a->where[w->a->same[i->b]], 0);

	lang_base_move_real(w, to, lang_base_real(w, i->a, i->type, to));
	lang_x86_rr(&w->b, lang_base_of(op, i->type), to, lang_base_real(w, i->b, i->type, 1));
	lang_base_put_real(w, i->d, i->type, to);
}

/* a < b or a is no number ? a : b */
static void extreme_real(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned b = lang_base_real(w, i->b, i->type, 1);
	uint32_t op = i->op == OP_MINIMUM ? X86_MIN_XMM : X86_MAX_XMM;
	size_t none;

	lang_base_move_real(w, 0, lang_base_real(w, i->a, i->type, 0));
	lang_x86_rr(&w->b, X86_UCOM | (i->type == DT_FLOAT64 ? X86_66 : 0), 0, 0);
	none = lang_x86_if(&w->b, IF_PARITY);
	lang_x86_rr(&w->b, lang_base_of(op, i->type), 0, b);
	lang_x86_patch(&w->b, none, w->b.n);
	lang_base_put_real(w, i->d, i->type, 0);
}

/* Without its sign, or with the other. */
static void sign_real(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	bool wide = i->type == DT_FLOAT64, turn = i->op == OP_NEGATIVE;

	lang_x86_rr(&w->b, X86_ONES, 1, 1);
	lang_x86_rr(&w->b, wide ? X86_SHIFT64_XMM : X86_SHIFT32_XMM, turn ? 6 : 2, 1);
	lang_x86_u8(&w->b, !turn ? 1 : wide ? 63 : 31);
	lang_base_move_real(w, 0, lang_base_real(w, i->a, i->type, 0));
	lang_x86_rr(&w->b, turn ? X86_XOR_XMM : X86_AND_XMM, 0, 1);
	lang_base_put_real(w, i->d, i->type, 0);
}

static void square_real(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	lang_base_move_real(w, 0, lang_base_real(w, i->a, i->type, 0));
	lang_x86_rr(&w->b, lang_base_of(X86_MUL_XMM, i->type), 0, 0);
	lang_base_put_real(w, i->d, i->type, 0);
}

static void root(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_real(w, i->a, i->type, 1);

	lang_x86_rr(&w->b, lang_base_of(X86_SQRT_XMM, i->type), 0, a);
	lang_base_put_real(w, i->d, i->type, 0);
}

static void rounded(struct baseline *w, uint32_t at, unsigned how)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_real(w, i->a, i->type, 1);

	lang_x86_rr(&w->b, X86_ROUND + (i->type == DT_FLOAT64), 0, a);
	lang_x86_u8(&w->b, how);
	lang_base_put_real(w, i->d, i->type, 0);
}

static void is_none(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_real(w, i->a, i->type, 0);

	lang_x86_rr(&w->b, X86_UCOM | (i->type == DT_FLOAT64 ? X86_66 : 0), a, a);
	lang_base_told(w, at, IF_PARITY);
}

/* ---- Each of its kind ---- */

static void where(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned c = lang_base_whole(w, i->a, DT_BOOL, RDX);
	size_t done;

	if (!is_real(i->type)) {
		unsigned b = lang_base_whole(w, i->b, i->type, RCX);

		lang_base_move(w, RAX, lang_base_whole(w, i->c, i->type, RAX));
		lang_x86_rr(&w->b, X86_TEST, c, c);
		lang_x86_rr(&w->b, X86_CMOV | IF_NOT_EQUAL, RAX, b);
		lang_base_put_whole(w, i->d, RAX);
		return;
	}
	lang_base_move_real(w, 0, lang_base_real(w, i->b, i->type, 0));
	lang_x86_rr(&w->b, X86_TEST, c, c);
	done = lang_x86_if(&w->b, IF_NOT_EQUAL);
	lang_base_move_real(w, 0, lang_base_real(w, i->c, i->type, 0));
	lang_x86_patch(&w->b, done, w->b.n);
	lang_base_put_real(w, i->d, i->type, 0);
}

static bool rounding(struct baseline *w, uint32_t at)
{
	switch ((enum op)w->p->code[at].op) {
	case OP_FLOOR:
		return rounded(w, at, 9), true;
	case OP_CEIL:
		return rounded(w, at, 10), true;
	case OP_TRUNC:
		return rounded(w, at, 11), true;
	case OP_RINT:
		return rounded(w, at, 12), true;
	default:
		return false;
	}
}

static bool real_operation(struct baseline *w, uint32_t at)
{
	switch ((enum op)w->p->code[at].op) {
	case OP_ADD:
		return two_reals(w, at, X86_ADD_XMM), true;
	case OP_SUBTRACT:
		return two_reals(w, at, X86_SUB_XMM), true;
	case OP_MULTIPLY:
		return two_reals(w, at, X86_MUL_XMM), true;
	case OP_DIVIDE:
		return two_reals(w, at, X86_DIV_XMM), true;
	case OP_MINIMUM:
	case OP_MAXIMUM:
		return extreme_real(w, at), true;
	case OP_NEGATIVE:
	case OP_ABSOLUTE:
		return sign_real(w, at), true;
	case OP_SQUARE:
		return square_real(w, at), true;
	case OP_SQRT:
		return root(w, at), true;
	case OP_ISNAN:
		return is_none(w, at), true;
	default:
		return rounding(w, at);
	}
}

static bool bits_operation(struct baseline *w, uint32_t at)
{
	bool truth = w->p->code[at].type == DT_BOOL;

	switch ((enum op)w->p->code[at].op) {
	case OP_BITWISE_AND:
	case OP_LOGICAL_AND:
		return two_wholes(w, at, X86_AND, 4), true;
	case OP_BITWISE_OR:
	case OP_LOGICAL_OR:
		return two_wholes(w, at, X86_OR, 1), true;
	case OP_BITWISE_XOR:
	case OP_LOGICAL_XOR:
		return two_wholes(w, at, X86_XOR, 6), true;
	case OP_LOGICAL_NOT:
		return not_bool(w, at), true;
	case OP_INVERT:
		return truth ? not_bool(w, at) : one_whole(w, at, 2), true;
	default:
		return false;
	}
}

static bool whole_operation(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	switch ((enum op)i->op) {
	case OP_ADD:
		return two_wholes(w, at, X86_ADD, 0), true;
	case OP_SUBTRACT:
		return two_wholes(w, at, X86_SUB, 5), true;
	case OP_MULTIPLY:
		return two_wholes(w, at, X86_IMUL, 0), true;
	case OP_MINIMUM:
	case OP_MAXIMUM:
		return extreme_whole(w, at), true;
	case OP_NEGATIVE:
		return one_whole(w, at, 3), true;
	case OP_ABSOLUTE:
		return absolute_whole(w, at), true;
	case OP_SQUARE:
		return square_whole(w, at), true;
	case OP_LEFT_SHIFT:
	case OP_RIGHT_SHIFT:
		return shift(w, at), true;
	case OP_FLOOR_DIVIDE:
	case OP_REMAINDER:
		/* Of 64 unsigned bits half are negative to the division. */
		return i->type == DT_UINT64 ? false : (divide(w, at), true);
	default:
		return false;
	}
}

static bool is_comparison(unsigned op)
{
	return op == OP_EQUAL || op == OP_NOT_EQUAL || op == OP_LESS || op == OP_LESS_EQUAL ||
	       op == OP_GREATER || op == OP_GREATER_EQUAL;
}

static bool operation(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	if (!lang_native_op(i->op, i->type) || lang_native_vector(i->op, i->type))
		return false;
	if (is_comparison(i->op))
		return is_real(i->type) ? compare_real(w, at) : compare_whole(w, at), true;
	if (i->op == OP_WHERE)
		return where(w, at), true;
	if (is_real(i->type))
		return real_operation(w, at);
	return bits_operation(w, at) || (i->type != DT_BOOL && whole_operation(w, at));
}

void lang_base_operation(struct baseline *w, uint32_t at)
{
	if (!operation(w, at))
		lang_base_step(w, at, false);
}

/* ---- Casts ---- */

/* Shorter types are cut from int32, uint32 from int64. */
static void real_to_whole(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	bool wide = i->to == DT_INT64 || i->to == DT_UINT32;
	unsigned a = lang_base_real(w, i->a, i->type, 0);

	if (i->type == DT_FLOAT32) {
		lang_x86_rr(&w->b, X86_CONVERT | X86_F3, 0, a);
		a = 0;
	}
	lang_x86_rr(&w->b, X86_TO_INT | (wide ? X86_W : 0), RAX, a);
	lang_base_extend(w, RAX, i->to);
	lang_base_put_whole(w, i->d, RAX);
}

static void whole_to_real(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_whole(w, i->a, i->type, RAX);

	/* What it had before is not waited for. */
	lang_x86_rr(&w->b, X86_XOR_XMM, 0, 0);
	lang_x86_rr(&w->b, lang_base_of(X86_FROM_INT, i->to), 0, a);
	lang_base_put_real(w, i->d, i->to, 0);
}

static void whole_to_whole(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_whole(w, i->a, i->type, RAX);

	if (i->to == DT_BOOL) {
		lang_x86_rr(&w->b, X86_TEST, a, a);
		lang_base_told(w, at, IF_NOT_EQUAL);
		return;
	}
	lang_base_move(w, RAX, a);
	lang_base_extend(w, RAX, i->to);
	lang_base_put_whole(w, i->d, RAX);
}

static void real_to_real(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_real(w, i->a, i->type, 0);

	if (i->type != i->to)
		lang_x86_rr(&w->b, lang_base_of(X86_CONVERT, i->type), 0, a);
	else
		lang_base_move_real(w, 0, a);
	lang_base_put_real(w, i->d, i->to, 0);
}

void lang_base_cast(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	bool from = is_real(i->type), to = is_real(i->to);

	if (!lang_native_cast(i->type, i->to) || (from && i->to == DT_BOOL) ||
	    (to && i->type == DT_UINT64))
		lang_base_step(w, at, false);
	else if (from && to)
		real_to_real(w, at);
	else if (from)
		real_to_whole(w, at);
	else if (to)
		whole_to_real(w, at);
	else
		whole_to_whole(w, at);
}
