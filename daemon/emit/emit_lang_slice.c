/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_slice.c - instructions on slices.
 *
 * Most of them are the machine's steps, once a statement.  Written out are those that short slices
 * would wait for: views by steps of 1, extents that are equal, and sums of floats.  Their
 * loops (emit_lang_count.c) are of elements that lie closely wherever that is known here, so that
 * compilers make vectors of them. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "emit_lang_lane.h"
#include "lang/lang_uses.h"

#define NO_STRIDE 0

static const char *suffix(unsigned type)
{
	return dtype_row(type)->suffix;
}

/* ---- What is known of strides ---- */

/* e->one of registers that are 1 wherever anybody reads them: each is written by one instruction at
 * most, but for variables, which are moved to more than once. */
static void find_ones(struct lane *e)
{
	const struct lang_program *p = e->p;
	uint8_t *writers = xcalloc(p->nreg + 1, 1);
	uint32_t r;
	unsigned type;

	for (uint32_t at = 0; at < p->ncode; at++)
		for (unsigned k = 0; lang_makes(&r, &type, &p->code[at], k); k++)
			writers[r] = (uint8_t)(writers[r] ? 2 : 1);
	for (uint32_t at = 0; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code == CODE_MOVE && i->type == DT_INT64 && writers[i->d] == 1 &&
		    e->constant[i->a] && e->constant[i->a]->i == 1)
			e->one[i->d] = true;
	}
	free(writers);
}

/* Of a view's last axis, if that is the array's. */
static void find_view(struct lane *e, const struct lang_ins *i)
{
	uint32_t bound = i->b, stride = i->d;

	for (unsigned axis = 0; axis < i->c; axis++) {
		bool cut = i->to >> axis & 1;

		stride += cut ? 2 : 0;
		if (cut && axis + 1 == i->c && e->one[bound + 2])
			e->close[stride] = dtype_row(i->type)->bytes;
		bound += cut ? 3 : 1;
	}
}

void emit_lang_find_strides(struct lane *e)
{
	const struct lang_program *p = e->p;

	find_ones(e);
	for (uint32_t at = 0; at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code == CODE_VIEW)
			find_view(e, i);
		/* What is put aside lies closely. */
		else if (i->code == CODE_ASIDE && i->c)
			e->close[i->d + i->c] = e->close[i->a + 2 * i->c];
	}
}

/* Bytes between elements where a test has told; NO_STRIDE. */
static unsigned stride_of(const struct lane *e, const struct lang_ins *spot)
{
	return e->closely ? e->close[spot->c] : NO_STRIDE;
}

/* ---- Loops of elements ---- */

bool emit_lang_is_elements(const struct lane *e, uint32_t loop)
{
	const struct lang_loop *x = &e->loops->loop[loop];
	bool slices = false;

	for (uint32_t at = x->range + 2; at < x->end; at++) {
		const struct lang_ins *i = &e->p->code[at];

		slices |= i->code == CODE_SPOT;
		if (e->target[at] ||
		    (i->code != CODE_SPOT && i->code != CODE_LOAD && i->code != CODE_STORE &&
		     i->code != CODE_MOVE && i->code != CODE_OP && i->code != CODE_CAST &&
		     (i->code != CODE_TAKE || at + 1 != x->end)))
			return false;
	}
	return slices;
}

const struct lang_ins *emit_lang_taken(const struct lane *e, uint32_t loop)
{
	const struct lang_ins *i = &e->p->code[e->loops->loop[loop].end - 1];

	return emit_lang_is_elements(e, loop) && i->code == CODE_TAKE ? i : NULL;
}

/* May all its elements lie closely? */
static bool may_be_close(const struct lane *e, uint32_t loop)
{
	const struct lang_loop *x = &e->loops->loop[loop];

	for (uint32_t at = x->range + 2; at < x->end; at++)
		if (e->p->code[at].code == CODE_SPOT && !e->close[e->p->code[at].c])
			return false;
	return true;
}

/* Once for elements that lie closely: the stride of the single element that goes with all others
 * is 0. */
uint32_t emit_lang_elements(struct lane *e, uint32_t range)
{
	const struct lang_loop *x = &e->loops->loop[e->loop[range] - 1];

	if (!e->unit || !emit_lang_is_plain(e, range) ||
	    !emit_lang_is_elements(e, e->loop[range] - 1) || !may_be_close(e, e->loop[range] - 1) ||
	    e->nversion == EMIT_LANG_VERSIONS)
		return 0;
	text_put(&e->o, "if (1");
	for (uint32_t at = range + 2; at < x->end; at++)
		if (e->p->code[at].code == CODE_SPOT)
			text_put(&e->o, " && %s == %u", emit_lang_register(e, e->p->code[at].c),
				 e->close[e->p->code[at].c]);
	text_put(&e->o, ") {\n");
	e->version[e->nversion++] = (struct version){range + 1, x->end, e->versions++};
	e->closely = true;
	for (uint32_t at = range; at <= x->end; at++)
		emit_lang_one(e, at);
	e->closely = false;
	e->nversion--;
	text_put(&e->o, "} else {\n");
	for (uint32_t at = range; at <= x->end; at++)
		emit_lang_one(e, at);
	text_put(&e->o, "}\n");
	return x->end;
}

/* ---- Views ---- */

void emit_lang_step(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	uint32_t r;
	unsigned type;

	for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
		if (!e->constant[r])
			text_put(&e->o, "BZ_SET(%u, %s); ", r, emit_lang_register(e, r));
	text_put(&e->o, "BZ_STEP(%u);", at);
	for (unsigned k = 0; lang_makes(&r, &type, i, k); k++)
		text_put(&e->o, " BZ_GET(%u, %s);", r, emit_lang_register(e, r));
	text_put(&e->o, "\n");
}

/* Are all its slices by steps of 1? */
static bool is_simple(const struct lane *e, const struct lang_ins *i)
{
	uint32_t bound = i->b;

	for (unsigned axis = 0; axis < i->c; axis++) {
		bool cut = i->to >> axis & 1;

		if (cut && !e->one[bound + 2])
			return false;
		bound += cut ? 3 : 1;
	}
	return true;
}

/* As the machine's, lang_view.c. */
static void put_cut(struct lane *e, const struct lang_ins *i, unsigned axis, uint32_t bound,
		    uint32_t out)
{
	int base = (int)e->p->base;
	unsigned open = i->op >> 2 * axis & 3;

	text_put(&e->o, "i_ = ");
	if (open & 1)
		text_put(&e->o, "0");
	else
		text_put(&e->o, "bz_bound%d(%s, N%u_%u)", base, emit_lang_register(e, bound), i->a,
			 axis);
	text_put(&e->o, "; j_ = ");
	if (open & 2)
		text_put(&e->o, "N%u_%u", i->a, axis);
	else
		text_put(&e->o, "bz_bound%d(%s, N%u_%u)", base, emit_lang_register(e, bound + 1),
			 i->a, axis);
	text_put(&e->o, "; %s = j_ > i_ ? j_ - i_ : 0; p_ += j_ > i_ ? i_ * S%u_%u : 0; ",
		 emit_lang_register(e, out), i->a, axis);
	text_put(&e->o, "%s = %s > 1 ? S%u_%u : 0;\n", emit_lang_register(e, out + 1),
		 emit_lang_register(e, out), i->a, axis);
}

static void put_view(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	int base = (int)e->p->base;
	uint32_t bound = i->b, out = i->d + 1;

	if (!is_simple(e, i)) {
		emit_lang_step(e, i, at);
		return;
	}
	text_put(&e->o, "{ bz_i64 i_, j_; char *p_ = A%u;\n", i->a);
	for (unsigned axis = 0; axis < i->c; axis++) {
		if (i->to >> axis & 1) {
			put_cut(e, i, axis, bound, out);
			bound += 3;
			out += 2;
			continue;
		}
		text_put(&e->o, "BZ_INDEX%d(i_, %s, N%u_%u, %u, %u); p_ += i_ * S%u_%u;\n", base,
			 emit_lang_register(e, bound), i->a, axis, at, axis, i->a, axis);
		bound++;
	}
	text_put(&e->o, "%s = p_; }\n", emit_lang_register(e, i->d));
}

static void put_join(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	const char *a = emit_lang_register(e, i->a);

	text_put(&e->o, "if (%s == %s) %s = %s; else { ", a, emit_lang_register(e, i->b),
		 emit_lang_register(e, i->d), a);
	emit_lang_step(e, i, at);
	text_put(&e->o, "}\n");
}

/* ---- Reductions ----
 *
 * Sums of floats are done here (kernels/lang.h), but for those that began in the machine: `theirs`.
 * All others are the machine's. */

static bool is_float_sum(const struct lang_ins *i)
{
	return i->op == OP_SUM && (i->type == DT_FLOAT64 || i->type == DT_FLOAT32);
}

/* What is taken at once is the machine's. */
static void put_begin(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	if (is_float_sum(i) && i[1].code != CODE_SWEEP)
		text_put(&e->o, "BZ_BEGIN(%u);\n", at);
	else
		text_put(&e->o, "BZ_STEP(%u); theirs = 1;\n", at);
}

static void put_give(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	if (is_float_sum(i))
		text_put(&e->o, "if (!theirs) %s = bz_sum_%s(&sum, f->block);\nelse ",
			 emit_lang_register(e, i->d), suffix(i->type));
	text_put(&e->o, "{ ");
	emit_lang_step(e, i, at);
	text_put(&e->o, "}\n");
}

void emit_lang_taken_all(struct lane *e, const struct lang_ins *i)
{
	if (is_float_sum(i))
		text_put(&e->o, "if (!theirs) BZ_TAKEN_HERE(%s);\nelse ", suffix(i->type));
	text_put(&e->o, "BZ_TAKEN(%u, %u, %u);\n", (uint32_t)(i - e->p->code), i->a,
		 dtype_row(i->type)->bytes);
}

static void put_take(struct lane *e, const struct lang_ins *i, uint32_t at)
{
	const char *from = emit_lang_register(e, i->a);

	if (e->adding) {
		text_put(&e->o, "lane_[k_] += %s;\n", from);
		return;
	}
	if (e->taking) {
		text_put(&e->o, "BZ_STORE(%s, o_, %s); o_ += %u;\n", suffix(i->type), from,
			 dtype_row(i->type)->bytes);
		return;
	}
	text_put(&e->o, "{ bz_%s a_ = %s;\n", suffix(i->type), from);
	if (is_float_sum(i))
		text_put(&e->o, "if (!theirs) BZ_TAKE_HERE(%s, a_);\nelse ", suffix(i->type));
	text_put(&e->o, "BZ_TAKE(%u, %u, a_); }\n", at, i->a);
}

/* Is what the loop takes all that its sum gets? */
static bool takes_all(const struct lane *e, const struct lang_loop *x)
{
	uint32_t begin = x->range;

	while (begin && e->p->code[begin].code != CODE_BEGIN && e->p->code[begin].code != CODE_TAKE)
		begin--;
	return e->p->code[begin].code == CODE_BEGIN && e->p->code[x->end + 1].code == CODE_GIVE &&
	       (x->parent == LANG_NONE || e->loops->loop[x->parent].range < begin);
}

static void put_lanes(struct lane *e, const struct lang_loop *x, const char *type, bool rest)
{
	const struct lang_ins *i = &e->p->code[x->range];
	const char *next = emit_lang_register(e, i->d + 1);

	text_put(&e->o, "#pragma GCC ivdep\nfor (int k_ = 0; k_ < ");
	if (rest)
		text_put(&e->o, "(int)(c %% BZ_LANES_%s)", type);
	else
		text_put(&e->o, "BZ_LANES_%s", type);
	text_put(&e->o, "; k_++) {\n%s = %s + k_;\n", emit_lang_register(e, i->d), next);
	for (uint32_t at = x->range + 2; at < x->end; at++)
		emit_lang_one(e, at);
	text_put(&e->o, "}\n");
}

void emit_lang_blocks(struct lane *e, uint32_t range)
{
	const struct lang_loop *x = &e->loops->loop[e->loop[range] - 1];
	const struct lang_ins *i = &e->p->code[range], *take;
	const char *next = emit_lang_register(e, i->d + 1);
	const char *left = emit_lang_register(e, i->d + 2), *type;
	bool all;

	take = e->closely ? emit_lang_taken(e, e->loop[range] - 1) : NULL;
	if (!take || !is_float_sum(take))
		return;
	type = suffix(take->type);
	all = takes_all(e, x);
	text_put(&e->o,
		 "while (BZ_LANED(%s, %s, %s%s)) {\nBZ_LANES(%s, %s, %s);\nBZ_STRIP(%u, c);\n"
		 "for (const bz_i64 q = %s + (bz_i64)(c - c %% BZ_LANES_%s); %s < q; "
		 "%s += BZ_LANES_%s) {\n",
		 next, left, all ? "BZ_LANES_" : "BZ_BLOCK", all ? type : "", type, next, left,
		 x->end, next, type, next, next, type);
	e->adding = e->even = true;
	put_lanes(e, x, type, false);
	text_put(&e->o, "}\n");
	if (all) {
		put_lanes(e, x, type, true);
		text_put(&e->o, "%s += (bz_i64)(c %% BZ_LANES_%s);\n",
			 emit_lang_register(e, i->d + 1), type);
	}
	e->adding = e->even = false;
	text_put(&e->o, "BZ_ADDED(%s);\n}\n", type);
}

static void put_spot(struct lane *e, const struct lang_ins *i)
{
	unsigned stride = stride_of(e, i);

	text_put(&e->o, "%s = %s + %s * ", emit_lang_register(e, i->d), emit_lang_register(e, i->a),
		 emit_lang_register(e, i->b));
	if (stride == NO_STRIDE)
		text_put(&e->o, "%s;\n", emit_lang_register(e, i->c));
	else
		text_put(&e->o, "%u;\n", stride);
}

void emit_lang_slice(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];

	switch ((enum lang_code)i->code) {
	case CODE_SPOT:
		put_spot(e, i);
		break;
	case CODE_VIEW:
		put_view(e, i, at);
		break;
	case CODE_JOIN:
		put_join(e, i, at);
		break;
	case CODE_BEGIN:
		put_begin(e, i, at);
		break;
	case CODE_TAKE:
		put_take(e, i, at);
		break;
	case CODE_GIVE:
		put_give(e, i, at);
		break;
	default:
		emit_lang_step(e, i, at);
	}
}
