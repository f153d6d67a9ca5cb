/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_baseline_step.c - registers and memory of code that is made at once, and the machine's
 * steps in it. */
#include <stdlib.h>

#include "lang_baseline.h"
#include "lang_loops.h"
#include "lang_uses.h"

int32_t lang_base_word(const struct baseline *w, uint32_t word)
{
	return (int32_t)(HOME * (w->p->nreg + 1 + ALLOC_ROWS) + 8 * word);
}

void lang_base_run(struct baseline *w, unsigned to)
{
	lang_x86_rm(&w->b, X86_MOV, to, RBX, lang_base_word(w, w->words));
}

static int32_t home(uint32_t reg)
{
	return (int32_t)(HOME * reg);
}

static bool is_kept(const struct baseline *w, uint32_t reg)
{
	return w->a->where[reg] != ALLOC_MEMORY;
}

/* ---- Values ---- */

static unsigned class_of(unsigned type)
{
	return type == DTYPE_END ? CLASS_INT : dtype_row(type)->cls;
}

static unsigned bytes_of(unsigned type)
{
	return type == DTYPE_END ? 8 : dtype_row(type)->bytes;
}

static uint32_t extension(unsigned type)
{
	bool sign = class_of(type) == CLASS_INT;

	switch (bytes_of(type)) {
	case 1:
		return sign ? X86_SIGN8 : X86_ZERO8;
	case 2:
		return sign ? X86_SIGN16 : X86_ZERO16;
	case 4:
		return sign ? X86_SIGN32 : X86_MOV32;
	default:
		return X86_MOV;
	}
}

void lang_base_extend(struct baseline *w, unsigned reg, unsigned type)
{
	if (bytes_of(type) < 8)
		lang_x86_rr(&w->b, extension(type), reg, reg);
}

void lang_base_load(struct baseline *w, unsigned to, unsigned type, unsigned base, int32_t at)
{
	lang_x86_rm(&w->b, extension(type), to, base, at);
}

void lang_base_store(struct baseline *w, unsigned from, unsigned type, unsigned base, int32_t at)
{
	static const uint32_t op[] = {
		[1] = X86_STORE8, [2] = X86_STORE16, [4] = X86_STORE32, [8] = X86_STORE};

	lang_x86_rm(&w->b, op[bytes_of(type)], from, base, at);
}

uint32_t lang_base_of(uint32_t op, unsigned type)
{
	return op | (type == DT_FLOAT32 ? X86_F3 : X86_F2);
}

void lang_base_load_real(struct baseline *w, unsigned to, unsigned type, unsigned base, int32_t at)
{
	lang_x86_rm(&w->b, lang_base_of(X86_LOAD_XMM, type), to, base, at);
}

static uint64_t number_of(const union lang_reg *c, unsigned type)
{
	unsigned drop = 64 - 8 * bytes_of(type);

	return class_of(type) == CLASS_INT ? (uint64_t)((int64_t)(c->bits[0] << drop) >> drop)
					   : c->bits[0] << drop >> drop;
}

bool lang_base_number(const struct baseline *w, uint32_t reg, unsigned type, int32_t *out)
{
	const union lang_reg *c = w->a->constant[w->a->same[reg]];
	int64_t v = c ? (int64_t)number_of(c, type) : INT64_MAX;

	*out = (int32_t)v;
	return v >= INT32_MIN && v <= INT32_MAX;
}

unsigned lang_base_whole(struct baseline *w, uint32_t reg, unsigned type, unsigned spare)
{
	uint32_t same = w->a->same[reg];
	const union lang_reg *c = w->a->constant[same];

	if (is_kept(w, same))
		return w->a->where[same];
	if (c)
		lang_x86_set(&w->b, spare, number_of(c, type));
	else
		lang_base_load(w, spare, type, RBX, home(same));
	return spare;
}

unsigned lang_base_real(struct baseline *w, uint32_t reg, unsigned type, unsigned spare)
{
	uint32_t same = w->a->same[reg];

	if (is_kept(w, same))
		return w->a->where[same];
	lang_base_load_real(w, spare, type, RBX, home(same));
	return spare;
}

unsigned lang_base_target(const struct baseline *w, uint32_t reg, unsigned other, unsigned spare)
{
	return is_kept(w, reg) && w->a->where[reg] != other ? w->a->where[reg] : spare;
}

void lang_base_move(struct baseline *w, unsigned to, unsigned from)
{
	if (to != from)
		lang_x86_rr(&w->b, X86_MOV, to, from);
}

void lang_base_move_real(struct baseline *w, unsigned to, unsigned from)
{
	if (to != from)
		lang_x86_rr(&w->b, X86_MOVE_XMM, to, from);
}

void lang_base_put_whole(struct baseline *w, uint32_t reg, unsigned from)
{
	if (is_kept(w, reg))
		lang_base_move(w, w->a->where[reg], from);
	else
		lang_x86_rm(&w->b, X86_STORE, from, RBX, home(reg));
}

void lang_base_put_real(struct baseline *w, uint32_t reg, unsigned type, unsigned from)
{
	if (is_kept(w, reg))
		lang_base_move_real(w, w->a->where[reg], from);
	else
		lang_x86_rm(&w->b, lang_base_of(X86_STORE_XMM, type), from, RBX, home(reg));
}

void lang_base_with(struct baseline *w, uint32_t op, unsigned group, unsigned to, uint32_t reg,
		    unsigned type, unsigned spare)
{
	int32_t v;

	if (!lang_base_number(w, reg, type, &v)) {
		lang_x86_rr(&w->b, op, to, lang_base_whole(w, reg, type, spare));
	} else if (op == X86_IMUL) {
		lang_x86_rr(&w->b, 0x69 | X86_W, to, to);
		lang_x86_u32(&w->b, (uint32_t)v);
	} else if (v >= -128 && v < 128) {
		lang_x86_rr(&w->b, X86_GROUP1_8, group, to);
		lang_x86_u8(&w->b, (unsigned)v & 255);
	} else {
		lang_x86_rr(&w->b, X86_GROUP1, group, to);
		lang_x86_u32(&w->b, (uint32_t)v);
	}
}

/* ---- To memory and back ---- */

static void save(struct baseline *w, uint32_t reg)
{
	if (lang_alloc_floats(w->a, reg))
		lang_x86_rm(&w->b, lang_base_of(X86_STORE_XMM, w->a->type[reg]), w->a->where[reg],
			    RBX, home(reg));
	else
		lang_x86_rm(&w->b, X86_STORE, w->a->where[reg], RBX, home(reg));
}

static void restore(struct baseline *w, uint32_t reg)
{
	unsigned type = w->a->type[reg];

	if (lang_alloc_floats(w->a, reg))
		lang_base_load_real(w, w->a->where[reg], type, RBX, home(reg));
	else
		lang_base_load(w, w->a->where[reg], type, RBX, home(reg));
}

/* A copy that nobody made, for who looks at its memory. */
static void save_copy(struct baseline *w, uint32_t reg)
{
	uint32_t same = w->a->same[reg];

	if (same == reg)
		return;
	if (!is_kept(w, same)) {
		lang_x86_rm(&w->b, X86_LOAD_XMM, 0, RBX, home(same));
		lang_x86_rm(&w->b, X86_STORE_XMM, 0, RBX, home(reg));
	} else if (lang_alloc_floats(w->a, same)) {
		lang_x86_rm(&w->b, lang_base_of(X86_STORE_XMM, w->a->type[same]), w->a->where[same],
			    RBX, home(reg));
	} else {
		lang_x86_rm(&w->b, X86_STORE, w->a->where[same], RBX, home(reg));
	}
}

void lang_base_keep(struct baseline *w, uint32_t reg)
{
	if (is_kept(w, reg))
		save(w, reg);
	else
		save_copy(w, reg);
}

/* Has the atom's register a value from before loop l on?  ALLOC_NONE; the register. */
static uint32_t shown_by(const struct lang_loops *loops, const struct lang_atom *a, uint32_t l)
{
	if (a->kind == ATOM_NUMBER)
		return l != a->loop && lang_loop_inside(loops, l, a->loop)
			       ? loops->loop[a->loop].number
			       : ALLOC_NONE;
	return a->reg != LANG_NONE && a->from <= loops->loop[l].range &&
			       loops->loop[l].range <= a->last
		       ? a->reg
		       : ALLOC_NONE;
}

bool lang_base_find_shown(struct baseline *w)
{
	struct lang_loops *loops = lang_loops_of(w->p);

	w->shown = calloc(w->p->nreg + 1, sizeof *w->shown);
	for (uint32_t k = 0; w->shown && loops && k < loops->natom; k++)
		for (uint32_t l = 0; l < loops->nloop; l++) {
			uint32_t reg = shown_by(loops, &loops->atom[k], l);

			if (reg != ALLOC_NONE && w->a->type[reg] == DT_INT64)
				w->shown[reg] = true;
		}
	lang_loops_free(loops);
	return w->shown && loops;
}

void lang_base_save(struct baseline *w, uint32_t at)
{
	for (uint32_t k = 0; k < w->a->nlive; k++)
		if (lang_alloc_before(w->a, w->a->live[k], at))
			save(w, w->a->live[k]);
}

void lang_base_restore(struct baseline *w, uint32_t at)
{
	for (uint32_t k = 0; k < w->a->nlive; k++)
		if (lang_alloc_behind(w->a, w->a->live[k], at))
			restore(w, w->a->live[k]);
}

void lang_base_begin(struct baseline *w, uint32_t at)
{
	for (uint32_t k = 0; k < w->a->nlive; k++) {
		uint32_t reg = w->a->live[k];

		if (w->a->to[reg] >= 2 * at && w->a->from[reg] <= (at ? 2 * at - 1 : 0))
			restore(w, reg);
	}
}

/* ---- The machine's steps ---- */

/* Does a call of C leave it as it is? */
static bool outlives_calls(const struct baseline *w, uint32_t reg)
{
	unsigned at = w->a->where[reg];

	return !lang_alloc_floats(w->a, reg) && (at == RBP || at >= R12);
}

static bool reads(const struct baseline *w, uint32_t reg, uint32_t at)
{
	uint32_t x;
	unsigned type;

	for (unsigned k = 0; lang_alloc_uses(&x, &type, w->a, at, k); k++)
		if (x == reg)
			return true;
	return false;
}

static bool makes(const struct baseline *w, uint32_t reg, uint32_t at)
{
	uint32_t x;
	unsigned type;

	for (unsigned k = 0; lang_alloc_makes(&x, &type, w->a, at, k); k++)
		if (x == reg)
			return true;
	return false;
}

static void before_step(struct baseline *w, uint32_t at, bool all)
{
	const struct lang_ins *i = &w->p->code[at];
	uint32_t reg;
	unsigned type;

	for (uint32_t k = 0; k < w->a->nlive; k++) {
		reg = w->a->live[k];
		if (lang_alloc_before(w->a, reg, at) &&
		    (all || reads(w, reg, at) ||
		     (lang_alloc_behind(w->a, reg, at) && !outlives_calls(w, reg))))
			save(w, reg);
	}
	for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
		save_copy(w, reg);
	if (i->code == CODE_LOAD || i->code == CODE_STORE)
		save_copy(w, i->code == CODE_LOAD ? i->a : i->d);
}

static void behind_step(struct baseline *w, uint32_t at)
{
	for (uint32_t k = 0; k < w->a->nlive; k++) {
		uint32_t reg = w->a->live[k];

		if (lang_alloc_behind(w->a, reg, at) &&
		    (makes(w, reg, at) || !outlives_calls(w, reg)))
			restore(w, reg);
	}
}

/* May it end the run? */
static bool may_end(const struct lang_ins *i)
{
	return i->code != CODE_OP && i->code != CODE_CAST && i->code != CODE_SPOT;
}

void lang_base_step(struct baseline *w, uint32_t at, bool all)
{
	const struct step *s = &w->k->step[at];

	before_step(w, at, all);
	lang_base_run(w, RDI);
	lang_x86_set(&w->b, RSI, (uint64_t)(uintptr_t)s);
	lang_x86_set(&w->b, RAX, (uint64_t)(uintptr_t)s->fn);
	lang_x86_rr(&w->b, X86_GROUP5, 2, RAX);
	if (may_end(&w->p->code[at])) {
		lang_x86_rr(&w->b, X86_TEST, RAX, RAX);
		lang_base_way(w, lang_x86_if(&w->b, IF_EQUAL), w->p->ncode);
	}
	behind_step(w, at);
}

/* ---- Ways ---- */

/* Room for one more at the end of the table; NULL: there is no memory. */
static void *more(struct baseline *w, void *table, uint32_t n, size_t bytes)
{
	void *larger = n & (n - 1) ? table : realloc(table, (n ? 2 * n : 1) * bytes);

	w->failed |= !larger;
	return larger ? larger : table;
}

void lang_base_way(struct baseline *w, size_t jump, uint32_t to)
{
	w->way = more(w, w->way, w->nway, sizeof *w->way);
	if (!w->failed)
		w->way[w->nway++] = (struct way){jump, to};
}

void lang_base_rare(struct baseline *w, size_t jump, uint32_t at)
{
	w->rare = more(w, w->rare, w->nrare, sizeof *w->rare);
	if (!w->failed)
		w->rare[w->nrare++] = (struct rare){jump, 0, at};
}

void lang_base_back(struct baseline *w, uint32_t at)
{
	for (uint32_t k = w->nrare; k-- > 0 && w->rare[k].at == at;)
		w->rare[k].back = w->b.n;
}
