/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_baseline.c - machine code of a program that is made at once.
 *
 * In:  a linked kernel.  Out: a function that does what the machine would, from the start, and
 * leaves to code of a compiler that has come meanwhile at the same places as the machine: at the
 * end of an outermost loop, with all registers in the machine's memory. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lang_baseline.h"
#include "lang_native.h"
#include "lang_nest.h"

/* What the code is called with: the run, and its registers, behind which are its arrays, the run
 * and the stack as it was. */
typedef void baseline_fn(struct run *r, union lang_reg *reg);

struct lang_baseline {
	baseline_fn *fn; /* NULL: it is being made, or cannot be */
	void *code;
	size_t bytes;
};

/* ---- Places ---- */

/* Jumps to the machine's step unless it is inside; its number is then in a register. */
static unsigned index_of(struct baseline *w, uint32_t at, uint32_t axis, unsigned spare)
{
	const struct lang_ins *i = &w->p->code[at];
	int32_t extent = lang_base_word(w, w->array_at[i->a] + 1 + axis);
	unsigned index = lang_base_whole(w, i->b + axis, DT_INT64, spare);

	if (w->p->base) {
		lang_base_move(w, spare, index);
		lang_x86_rr(&w->b, X86_GROUP1_8, 5, spare);
		lang_x86_u8(&w->b, (unsigned)w->p->base);
		index = spare;
	}
	/* Below 0 is far above as well: what counts from the end is rare. */
	lang_x86_rm(&w->b, X86_CMP, index, RBX, extent);
	lang_base_rare(w, lang_x86_if(&w->b, IF_ABOVE_EQUAL), at);
	return index;
}

static unsigned element_bytes(const struct lang_program *p, uint32_t array)
{
	unsigned k = 0;

	while (!p->param[k].rank || p->param[k].reg != array)
		k++;
	return dtype_row(p->param[k].type)->bytes;
}

/* What the axis adds to an address in `sum`; where it is then. */
static unsigned add_axis(struct baseline *w, const struct lang_ins *i, uint32_t axis,
			 unsigned index, unsigned sum, unsigned to)
{
	unsigned bytes = element_bytes(w->p, i->a);

	if (w->unit && axis + 1 == i->c && bytes <= 8) {
		lang_x86_rx(&w->b, X86_LEA, to, sum, index, bytes);
		return to;
	}
	lang_base_move(w, RCX, index);
	lang_x86_rm(&w->b, X86_IMUL, RCX, RBX,
		    lang_base_word(w, w->array_at[i->a] + 1 + i->c + axis));
	lang_x86_rx(&w->b, X86_LEA, RAX, sum, RCX, 1);
	return RAX;
}

static void put_place(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	uint32_t row = w->a->row_of[at], known = row ? w->a->row[row - 1].axes : 0;
	unsigned sum = RAX;

	if (w->a->same[i->d] != i->d)
		return;
	if (row)
		sum = lang_base_whole(w, lang_alloc_row(w->a, row - 1), DTYPE_END, RAX);
	else
		lang_x86_rm(&w->b, X86_MOV, RAX, RBX, lang_base_word(w, w->array_at[i->a]));
	for (uint32_t k = 0; k < i->c; k++) {
		unsigned index = index_of(w, at, k, RCX);

		if (!(known >> k & 1))
			sum = add_axis(w, i, k, index, sum,
				       lang_base_target(w, i->d, ALLOC_MEMORY, RAX));
	}
	lang_base_put_whole(w, i->d, sum);
	lang_base_back(w, at);
}

/* The rows of the loop that begins.  Whether indices are inside is asked at their places. */
static void put_rows(struct baseline *w, uint32_t range)
{
	for (uint32_t k = 0; k < w->a->nrow; k++) {
		const struct alloc_row *row = &w->a->row[k];
		const struct lang_ins *i = &w->p->code[row->place];
		unsigned sum = RAX;

		if (row->range != range)
			continue;
		lang_x86_rm(&w->b, X86_MOV, RAX, RBX, lang_base_word(w, w->array_at[i->a]));
		for (uint32_t axis = 0; axis < i->c; axis++) {
			unsigned index;

			if (!(row->axes >> axis & 1))
				continue;
			index = lang_base_whole(w, i->b + axis, DT_INT64, RCX);
			if (w->p->base) {
				lang_x86_rm(&w->b, X86_LEA, RCX, index, -(int32_t)w->p->base);
				index = RCX;
			}
			sum = add_axis(w, i, axis, index, sum, RAX);
		}
		lang_base_put_whole(w, lang_alloc_row(w->a, k), sum);
	}
}

/* ---- Elements ---- */

static bool is_real(unsigned type)
{
	return type == DT_FLOAT32 || type == DT_FLOAT64;
}

/* Types that no register of the processor has. */
static bool is_other(unsigned type)
{
	return type == DT_FLOAT16 || type == DT_COMPLEX64 || type == DT_COMPLEX128;
}

static void put_load(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned from = lang_base_whole(w, i->a, DTYPE_END, RAX);

	if (is_other(i->type)) {
		lang_base_step(w, at, false);
	} else if (is_real(i->type)) {
		unsigned to = lang_base_target(w, i->d, ALLOC_MEMORY, 0);

		lang_base_load_real(w, to, i->type, from, 0);
		lang_base_put_real(w, i->d, i->type, to);
	} else if (i->type == DT_BOOL) {
		/* A stored bool is any byte. */
		lang_base_load(w, RAX, DT_UINT8, from, 0);
		lang_x86_rr(&w->b, X86_TEST, RAX, RAX);
		lang_base_told(w, at, IF_NOT_EQUAL);
	} else {
		unsigned to = lang_base_target(w, i->d, ALLOC_MEMORY, RAX);

		lang_base_load(w, to, i->type, from, 0);
		lang_base_put_whole(w, i->d, to);
	}
}

static void put_store(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned to = lang_base_whole(w, i->d, DTYPE_END, RAX);

	if (is_other(i->type))
		lang_base_step(w, at, false);
	else if (is_real(i->type))
		lang_x86_rm(&w->b, lang_base_of(X86_STORE_XMM, i->type),
			    lang_base_real(w, i->a, i->type, 0), to, 0);
	else
		lang_base_store(w, lang_base_whole(w, i->a, i->type, RCX), i->type, to, 0);
}

static void put_move(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	if (w->a->same[i->d] != i->d)
		return;
	if (is_other(i->type))
		lang_base_step(w, at, false);
	else if (is_real(i->type))
		lang_base_put_real(w, i->d, i->type, lang_base_real(w, i->a, i->type, 0));
	else
		lang_base_put_whole(w, i->d, lang_base_whole(w, i->a, i->type, RAX));
}

/* d = a + b * c */
static void put_spot(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	lang_base_move(w, RAX, lang_base_whole(w, i->b, DT_INT64, RAX));
	lang_x86_rr(&w->b, X86_IMUL, RAX, lang_base_whole(w, i->c, DT_INT64, RCX));
	lang_x86_rr(&w->b, X86_ADD, RAX, lang_base_whole(w, i->a, DTYPE_END, RCX));
	lang_base_put_whole(w, i->d, RAX);
}

static void put_length(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	lang_x86_rm(&w->b, X86_MOV, RAX, RBX, lang_base_word(w, w->array_at[i->a] + 1 + i->b));
	lang_base_put_whole(w, i->d, RAX);
}

/* ---- Loops ---- */

/* As many turns as from a to b by steps of 1; all else the machine counts. */
static void put_range(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];

	if (lang_alloc_step(w->a, at) != 1) {
		lang_base_step(w, at, false);
		return;
	}
	lang_base_move(w, RAX, lang_base_whole(w, i->a, DT_INT64, RAX));
	lang_base_move(w, RCX, lang_base_whole(w, i->b, DT_INT64, RCX));
	lang_x86_rr(&w->b, X86_CMP, RCX, RAX);
	lang_x86_rr(&w->b, X86_CMOV | IF_LESS_EQUAL, RCX, RAX);
	lang_x86_rr(&w->b, X86_SUB, RCX, RAX);
	lang_base_put_whole(w, i->d + 1, RAX);
	lang_base_put_whole(w, i->d + 2, RCX);
	lang_x86_set(&w->b, RAX, 1);
	lang_base_put_whole(w, i->d + 3, RAX);
}

static void put_next(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned left = lang_base_whole(w, i->a + 2, DT_INT64, RAX), next;
	int32_t by = lang_alloc_step(w->a, at - 1);

	lang_x86_rr(&w->b, X86_GROUP1_8, 5, left); /* left - 1 */
	lang_x86_u8(&w->b, 1);
	lang_base_way(w, lang_x86_if(&w->b, IF_BELOW), i->d);
	lang_base_put_whole(w, i->a + 2, left);
	next = lang_base_whole(w, i->a + 1, DT_INT64, RAX);
	lang_base_put_whole(w, i->a, next);
	if (by) {
		lang_x86_rr(&w->b, X86_GROUP1, 0, next);
		lang_x86_u32(&w->b, (uint32_t)by);
	} else {
		lang_x86_rr(&w->b, X86_ADD, next, lang_base_whole(w, i->a + 3, DT_INT64, RCX));
	}
	lang_base_put_whole(w, i->a + 1, next);
}

/* Code of a compiler goes on from here, if it has come. */
static void put_over(struct baseline *w, uint32_t at)
{
	size_t stays;

	lang_x86_set(&w->b, RAX, (uint64_t)(uintptr_t)&w->k->any);
	lang_x86_rm(&w->b, X86_GROUP1_8 | X86_W, 7, RAX, 0);
	lang_x86_u8(&w->b, 0);
	stays = lang_x86_if(&w->b, IF_EQUAL);
	lang_base_save(w, at);
	lang_base_run(w, RDI);
	lang_x86_set(&w->b, RSI, (uint64_t)(uintptr_t)&w->k->step[at]);
	lang_x86_rm(&w->b, X86_STORE, RSI, RDI, (int32_t)offsetof(struct run, over));
	lang_base_way(w, lang_x86_jump(&w->b), w->p->ncode);
	lang_x86_patch(&w->b, stays, w->b.n);
}

static void put_loop(struct baseline *w, uint32_t at, bool outermost)
{
	if (outermost)
		put_over(w, at);
	lang_x86_rr(&w->b, X86_GROUP1_8, 5, R15);
	lang_x86_u8(&w->b, 1);
	lang_base_rare(w, lang_x86_if(&w->b, IF_EQUAL), at);
	lang_base_way(w, lang_x86_jump(&w->b), w->p->code[at].d);
}

/* The turns have been counted: the machine's step counts one, and asks whether to go on. */
static void rare_loop(struct baseline *w, uint32_t at)
{
	lang_base_run(w, RAX);
	lang_x86_rm(&w->b, 0xc7, 0, RAX, (int32_t)offsetof(struct run, turns));
	lang_x86_u32(&w->b, 1);
	lang_base_step(w, at, true);
	lang_x86_set(&w->b, R15, LANG_TURNS);
	lang_base_way(w, lang_x86_jump(&w->b), w->p->code[at].d);
}

/* ---- Ways ---- */

static void put_branch(struct baseline *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	unsigned a = lang_base_whole(w, i->a, DT_BOOL, RAX);

	lang_x86_rr(&w->b, X86_TEST, a, a);
	lang_base_way(w, lang_x86_if(&w->b, i->code == CODE_WHEN ? IF_NOT_EQUAL : IF_EQUAL), i->d);
}

/* Functions have the processor's registers for themselves. */
static void put_call(struct baseline *w, uint32_t at)
{
	lang_base_save(w, at);
	lang_x86_rr(&w->b, X86_GROUP1_8, 5, RSP);
	lang_x86_u8(&w->b, 8);
	/* To where its loads are, by a number that no instruction has. */
	lang_base_way(w, lang_x86_call(&w->b), w->p->ncode + 1 + w->p->code[at].d);
	lang_x86_rr(&w->b, X86_GROUP1_8, 0, RSP);
	lang_x86_u8(&w->b, 8);
	lang_base_restore(w, at);
}

static void put_end(struct baseline *w)
{
	const struct lang_param *result = &w->p->param[w->p->nparam];

	for (unsigned k = 0; k < w->p->nresult; k++)
		lang_base_keep(w, result[k].reg);
	lang_base_way(w, lang_x86_jump(&w->b), w->p->ncode);
}

static void put_way(struct baseline *w, uint32_t at, bool outermost)
{
	const struct lang_ins *i = &w->p->code[at];

	switch ((enum lang_code)i->code) {
	case CODE_JUMP:
		lang_base_way(w, lang_x86_jump(&w->b), i->d);
		break;
	case CODE_LOOP:
		put_loop(w, at, outermost);
		break;
	case CODE_RANGE:
		put_range(w, at);
		put_rows(w, at);
		break;
	case CODE_NEXT:
		put_next(w, at);
		break;
	case CODE_CALL:
		put_call(w, at);
		break;
	case CODE_RETURN:
		lang_x86_u8(&w->b, 0xc3);
		break;
	case CODE_END:
		put_end(w);
		break;
	default:
		put_branch(w, at);
	}
}

/* Does it go elsewhere? */
static bool is_way(unsigned code)
{
	return code == CODE_JUMP || code == CODE_LOOP || code == CODE_UNLESS || code == CODE_WHEN ||
	       code == CODE_RANGE || code == CODE_NEXT || code == CODE_CALL ||
	       code == CODE_RETURN || code == CODE_END;
}

static void put_one(struct baseline *w, uint32_t at, bool outermost)
{
	const struct lang_ins *i = &w->p->code[at];

	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
		put_move(w, at);
		break;
	case CODE_OP:
		lang_base_operation(w, at);
		break;
	case CODE_CAST:
		lang_base_cast(w, at);
		break;
	case CODE_PLACE:
		put_place(w, at);
		break;
	case CODE_LOAD:
		put_load(w, at);
		break;
	case CODE_STORE:
		put_store(w, at);
		break;
	case CODE_LENGTH:
		put_length(w, at);
		break;
	case CODE_SPOT:
		put_spot(w, at);
		break;
	case CODE_SEAM:
		break;
	case CODE_FUSES:
		if (!i->op)
			lang_base_step(w, at, true);
		break;
	case CODE_CLAIM:
		if (lang_nest_may(w->p, i->a))
			lang_base_step(w, at, true);
		break;
	default:
		if (is_way(i->code))
			put_way(w, at, outermost);
		else
			lang_base_step(w, at, false);
	}
}

/* ---- The function ---- */

static const uint8_t saved[] = {RBX, RBP, R12, R13, R14, R15};

static void push(struct baseline *w, unsigned reg)
{
	if (reg > 7)
		lang_x86_u8(&w->b, 0x41);
	lang_x86_u8(&w->b, 0x50 | (reg & 7));
}

static void pop(struct baseline *w, unsigned reg)
{
	if (reg > 7)
		lang_x86_u8(&w->b, 0x41);
	lang_x86_u8(&w->b, 0x58 | (reg & 7));
}

static void put_entry(struct baseline *w)
{
	for (size_t k = 0; k < sizeof saved; k++)
		push(w, saved[k]);
	lang_x86_rr(&w->b, X86_GROUP1_8, 5, RSP);
	lang_x86_u8(&w->b, 8);
	lang_x86_rr(&w->b, X86_MOV, RBX, RSI);
	lang_x86_rm(&w->b, X86_STORE, RDI, RBX, lang_base_word(w, w->words));
	lang_x86_rm(&w->b, X86_STORE, RSP, RBX, lang_base_word(w, w->words + 1));
	lang_x86_set(&w->b, R15, LANG_TURNS);
	lang_base_way(w, lang_x86_jump(&w->b), w->p->ncode + 1 + w->p->entry);
}

static void put_exit(struct baseline *w)
{
	w->exit = w->b.n;
	lang_x86_rm(&w->b, X86_MOV, RSP, RBX, lang_base_word(w, w->words + 1));
	lang_x86_rr(&w->b, X86_GROUP1_8, 0, RSP);
	lang_x86_u8(&w->b, 8);
	for (size_t k = sizeof saved; k-- > 0;)
		pop(w, saved[k]);
	lang_x86_u8(&w->b, 0xc3);
}

static void show(struct baseline *w, uint32_t at)
{
	uint32_t reg;
	unsigned type;

	for (unsigned k = 0; lang_alloc_makes(&reg, &type, w->a, at, k); k++)
		if (reg < w->p->nreg && w->shown[reg])
			lang_base_keep(w, reg);
}

static void put_code(struct baseline *w, const bool *outer)
{
	for (uint32_t at = 0; at < w->p->ncode && !w->failed; at++) {
		if (w->a->start[at]) {
			w->begin[at] = w->b.n;
			lang_base_begin(w, at);
		}
		w->place[at] = w->b.n;
		if (at >= w->after)
			put_one(w, at, outer[at]);
		show(w, at);
	}
}

/* Behind the code: one for all jumps of an instruction. */
static void put_rare(struct baseline *w)
{
	for (uint32_t k = 0; k < w->nrare && !w->failed; k++) {
		uint32_t at = w->rare[k].at;
		size_t here = w->b.n;

		lang_x86_patch(&w->b, w->rare[k].jump, here);
		while (k + 1 < w->nrare && w->rare[k + 1].at == at)
			lang_x86_patch(&w->b, w->rare[++k].jump, here);
		if (w->p->code[at].code == CODE_LOOP) {
			rare_loop(w, at);
		} else {
			lang_base_step(w, at, false);
			lang_x86_patch(&w->b, lang_x86_jump(&w->b), w->rare[k].back);
		}
	}
}

static void patch_ways(struct baseline *w)
{
	uint32_t n = w->p->ncode;

	for (uint32_t k = 0; k < w->nway && !w->failed; k++) {
		uint32_t to = w->way[k].to;

		lang_x86_patch(&w->b, w->way[k].jump,
			       to < n	 ? w->place[to]
			       : to == n ? w->exit
					 : w->begin[to - n - 1]);
	}
}

static void find_arrays(struct baseline *w)
{
	for (unsigned k = 0; k < w->p->nparam; k++) {
		if (!w->p->param[k].rank)
			continue;
		w->array_at[w->p->param[k].reg] = w->words;
		w->words += 1 + 2u * w->p->param[k].rank;
	}
}

/* false: no memory, or too long. */
static bool write_code(struct baseline *w)
{
	bool *outer = lang_outermost(w->p);

	w->a = lang_alloc_of(w->p, w->unit);
	w->place = calloc(w->p->ncode + 1, sizeof *w->place);
	w->begin = calloc(w->p->ncode + 1, sizeof *w->begin);
	if (outer && w->a && w->place && w->begin && lang_base_find_shown(w)) {
		find_arrays(w);
		put_entry(w);
		put_code(w, outer);
		put_rare(w);
		put_exit(w);
		patch_ways(w);
	} else {
		w->failed = true;
	}
	free(outer);
	lang_alloc_free(w->a);
	free(w->place);
	free(w->begin);
	free(w->shown);
	free(w->way);
	free(w->rare);
	return !w->failed && !w->b.full;
}

/* Memory that is run is written no more. */
static void publish(struct lang_baseline *out, const struct x86 *b)
{
	void *code = mmap(NULL, b->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return;
	memcpy(code, b->code, b->n);
	if (mprotect(code, b->n, PROT_READ | PROT_EXEC)) {
		munmap(code, b->n);
		return;
	}
	*out = (struct lang_baseline){.code = code, .bytes = b->n};
	memcpy(&out->fn, &code, sizeof code);
}

static struct lang_baseline *make(const struct lang_kernel *k, bool unit)
{
	struct baseline w = {.k = k, .p = k->program, .unit = unit};
	struct lang_baseline *out = calloc(1, sizeof *out);

	if (out && write_code(&w))
		publish(out, &w.b);
	free(w.b.code);
	return out;
}

/* ---- Of a kernel ---- */

bool lang_quicken(struct lang_kernel *k)
{
#if defined(__x86_64__)
	bool loops = false;

	for (uint32_t at = 0; at < k->program->ncode; at++)
		loops |= k->program->code[at].code == CODE_LOOP;
	if (loops && !k->early)
		k->early = calloc(1, sizeof *k->early);
#endif
	return k->early != NULL;
}

void lang_early_free(struct lang_early *early)
{
	for (unsigned u = 0; early && u < 2; u++) {
		struct lang_baseline *x = atomic_load(&early->code[u]);

		if (x && x->code)
			munmap(x->code, x->bytes);
		free(x);
	}
	free(early);
}

uint32_t lang_early_room(const struct lang_kernel *k)
{
	uint32_t words = 2;

	for (unsigned i = 0; k->early && i < k->program->nparam; i++)
		words += k->program->param[i].rank ? 1 + 2u * k->program->param[i].rank : 0;
	return k->early ? ALLOC_ROWS + words / 2 + 1 : 0;
}

/* What is there, or is made now; who comes while another thread makes it has none. */
static const struct lang_baseline *of(const struct lang_kernel *k, bool unit)
{
	struct lang_early *early = k->early;
	struct lang_baseline *x = atomic_load_explicit(&early->code[unit], memory_order_acquire);

	if (!x && !atomic_exchange(&early->making[unit], true)) {
		x = make(k, unit);
		atomic_store_explicit(&early->code[unit], x, memory_order_release);
	}
	return x;
}

bool lang_run_early(struct run *r, bool unit)
{
	const struct lang_baseline *x = r->kernel->early ? of(r->kernel, unit) : NULL;

	if (!x || !x->fn)
		return false;
	lang_flatten((int64_t *)&r->reg[r->program->nreg + 1 + ALLOC_ROWS], r);
	x->fn(r, r->reg);
	return true;
}
