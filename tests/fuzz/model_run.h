/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/model_run.h - run a plan on memory: by the interpreter of nests, or in the
 * two ways of golden/plan_exec.h that show wrong fusion. */
#ifndef BRAZE_FUZZ_MODEL_RUN_H
#define BRAZE_FUZZ_MODEL_RUN_H

#include "../golden/plan_exec.h"
#include "fuzz.h"
#include "call/chosen.h"
#include "call/compact.h"
#include "call/draw.h"
#include "call/scan.h"
#include "call/search.h"
#include "call/sort.h"
#include "worker/matmul.h"
#include "worker/tier0.h"

enum model_way { MODEL_REVERSE, MODEL_WIDE, MODEL_TIER0, MODEL_WAYS };

static inline void model_tier0(const struct nest *n, char **slot, const uint64_t *imm)
{
	char *base[LIMIT_NEST_ACCESSES];
	int64_t stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM];
	uint64_t scalar[LIMIT_NEST_SCALARS * 2];
	int64_t par = nest_parallel(n), red = nest_reduced(n);
	int64_t gather[LIMIT_NEST_ACCESSES * 2];
	volatile uint32_t cancel = 0;
	struct bz_args a = {base, n->extent, stride, scalar, &cancel, 0, gather, NULL};
	void *scratch = aligned_alloc(64, (tier0_scratch(n) + 63) / 64 * 64);
	struct err err;

	FUZZ_CHECK(!tier0_check(n, &err));
	for (unsigned k = 0; k < n->naccess; k++) {
		base[k] = slot[n->access[k].slot] + n->access[k].offset;
		memcpy(stride + k * LIMIT_NDIM, n->access[k].stride, sizeof n->access[k].stride);
		gather[2 * nest_gather(n, k)] = n->access[k].gextent;
		gather[2 * nest_gather(n, k) + 1] = n->access[k].gstride;
	}
	for (unsigned k = 0; k < n->nscalar; k++)
		memcpy(scalar + 2 * k, imm + 2 * (size_t)n->scalar[k], 2 * sizeof *imm);
	if (n->nred)
		tier0_reduce_at(isa_best(), n, &a, 0, par, 0, (red + TREE_CHUNK - 1) / TREE_CHUNK,
				NULL, scratch);
	else
		tier0_map_at(isa_best(), n, &a, 0, par, scratch);
	free(scratch);
}

/* A product that is a step of its own, by the worker's loops. */
static inline void model_product(const struct plan_call *c, char **slot)
{
	struct product of;
	const struct product *p = &of;
	struct matmul_scratch scratch = {0};
	const struct matmul_thread thread = {.scratch = &scratch};
	struct product_cut cut;
	struct matmul_run r = {.p = p, .cut = &cut};
	int64_t count = 1;
	struct err err;

	FUZZ_CHECK(!call_check(c, &err) && c->call == CALL_PRODUCT);
	product_of(&of, c);
	FUZZ_CHECK(product_cut(&cut, p));
	FUZZ_CHECK(dtype_row(p->dtype)->cls < CLASS_FLOAT); /* others may be a library's */
	for (int x = 0; x < 3; x++)
		r.base[x] = slot[c->operand[x].slot] + c->operand[x].offset;
	for (int i = 0; i < p->nbatch; i++)
		count *= p->batch[i];
	FUZZ_CHECK(!matmul_stack(&r, 0, count, &thread, &err));
	matmul_scratch_finish(&scratch);
}

static inline void model_scan(const struct plan_call *c, char **slot)
{
	struct scan_call s;
	struct scan_cut cut;
	struct err err;

	FUZZ_CHECK(!call_check(c, &err));
	scan_of(&s, &cut, c);
	s.loops = scan_loops(&scan_isa_v2, c->op, c->dtype);
	s.from = slot[c->operand[0].slot] + c->operand[0].offset;
	s.to = slot[c->operand[1].slot] + c->operand[1].offset;
	scan_whole(&s, 0, cut.lanes, 0, cut.blocks);
}

/* What a mask chooses, block by block from the last. */
static inline void model_chosen(const struct plan_call *c, char **slot)
{
	char *at[CALL_OPERANDS] = {NULL};
	struct compact_mask mask;
	struct compact_ranks ranks = {0};
	struct compact_rows rows;
	struct compact_places places;
	struct compact_bits b;
	int64_t sum = 0, begin = 0;
	struct err err;

	FUZZ_CHECK(!call_check(c, &err));
	for (unsigned x = 0; x < call_row(c->call)->noperand; x++)
		at[x] = slot[c->operand[x].slot] + c->operand[x].offset;
	if (c->call == CALL_RANKS)
		compact_ranks_of(&mask, c);
	else if (c->call == CALL_COMPACT)
		compact_of(&mask, &ranks, &rows, c);
	else
		compact_places_of(&mask, &ranks, &places, c);
	mask.at = at[c->call == CALL_COMPACT ? COMPACT_MASK : 0];
	ranks.at = at[c->call == CALL_COMPACT ? COMPACT_RANKS : PLACES_RANKS];
	rows.from = at[COMPACT_SOURCE];
	rows.to = at[COMPACT_RESULT];
	places.to = at[PLACES_RESULT];
	for (int64_t k = 0, n = compact_blocks(mask.n); k < n; k++) {
		int64_t block = c->call == CALL_RANKS ? k : n - 1 - k;

		compact_bits(&b, &mask, block);
		sum += b.count;
		if (c->call == CALL_RANKS) {
			memcpy(at[RANKS_RESULT] + k * 8, &sum, sizeof sum);
			continue;
		}
		begin = compact_begin(&ranks, block, b.count);
		FUZZ_CHECK(begin >= 0);
		if (c->call == CALL_COMPACT)
			compact_rows(&rows, &b, block, begin);
		else
			compact_places(&places, &b, block, begin);
	}
}

/* What a mask chooses reduced, integers and bools, from the last one on. */
static inline void model_reduced(const struct plan_call *c, char **slot)
{
	const struct call_operand *source = &c->operand[CHOSEN_SOURCE];
	int64_t made = c->op == OP_CHOSEN_ALL, count = 0, told = 0;
	char *at[CHOSEN_RESULT + 1];
	struct compact_mask mask;
	struct compact_ranks ranks;
	struct err err;

	FUZZ_CHECK(!call_check(c, &err));
	FUZZ_CHECK(c->op == OP_CHOSEN_SUM || c->op == OP_CHOSEN_ANY || c->op == OP_CHOSEN_ALL);
	chosen_of(&mask, &ranks, c);
	for (unsigned x = 0; x <= CHOSEN_RESULT; x++)
		at[x] = slot[c->operand[x].slot] + c->operand[x].offset;
	for (int64_t k = mask.n; k-- > 0;) {
		int64_t v = exec_get(at[CHOSEN_SOURCE] + k * source->stride[CHOSEN_LOOP_MASK],
				     source->dtype);

		if (!at[CHOSEN_MASK][k * mask.step])
			continue;
		count++;
		if (c->op == OP_CHOSEN_SUM)
			made = (int64_t)((uint64_t)made + (uint64_t)v);
		else
			made = c->op == OP_CHOSEN_ALL ? made && v : made || v;
	}
	memcpy(&told, at[CHOSEN_RANKS] + (ranks.blocks - 1) * ranks.step, sizeof told);
	FUZZ_CHECK(told == count);
	exec_put(at[CHOSEN_RESULT], c->operand[CHOSEN_RESULT].dtype, made);
}

/* Random numbers, all at once. */
static inline void model_draw(const struct plan_call *c, char **slot)
{
	uint64_t state[DRAW_LENGTH];
	struct err err;

	FUZZ_CHECK(!call_check(c, &err));
	for (int k = 0; k < DRAW_LENGTH; k++)
		memcpy(&state[k],
		       slot[c->operand[0].slot] + c->operand[0].offset +
			       k * c->operand[0].stride[1],
		       sizeof state[k]);
	draw_loop(&draw_isa_v2, c->op, c->dtype)(slot[c->operand[1].slot] + c->operand[1].offset,
						 state, 0, c->extent[0]);
}

static inline void model_sort(const struct plan_call *c, char **slot)
{
	struct sort_call s;
	struct sort_cut cut;
	struct err err;
	void *work = NULL;

	FUZZ_CHECK(!call_check(c, &err));
	sort_of(&s, &cut, c);
	s.isa = &sort_isa_v2;
	s.from = slot[c->operand[0].slot] + c->operand[0].offset;
	s.to = slot[c->operand[1].slot] + c->operand[1].offset;
	s.scratch = slot[c->operand[2].slot] + c->operand[2].offset;
	FUZZ_CHECK(!posix_memalign(&work, 64, (size_t)cut.work));
	for (int64_t u = 0; u < cut.units; u++)
		sort_unit(&s, &cut, u, work);
	free(work);
}

/* Needles one by one, from the last. */
static inline void model_search(const struct plan_call *c, char **slot)
{
	struct search_patch p;
	struct err err;

	FUZZ_CHECK(!call_check(c, &err));
	for (int64_t i = c->extent[SEARCH_LOOP_NEEDLES]; i-- > 0;) {
		search_of(&p, c, 0, 1);
		p.m = 1;
		p.among = slot[c->operand[SEARCH_AMONG].slot] + c->operand[SEARCH_AMONG].offset;
		p.from = slot[c->operand[SEARCH_NEEDLES].slot] + c->operand[SEARCH_NEEDLES].offset +
			 i * p.from_step;
		p.to = (int64_t *)(void *)(slot[c->operand[SEARCH_RESULT].slot] +
					   c->operand[SEARCH_RESULT].offset + i * 8);
		p.made = (double *)(void *)p.to;
		if (c->call == CALL_INTERP)
			p.values = slot[c->operand[SEARCH_VALUES].slot] +
				   c->operand[SEARCH_VALUES].offset;
		search_loop(&search_isa_v2, c->op, c->dtype)(&p);
	}
}

/* A library step. */
static inline void model_call(const struct plan_call *c, char **slot)
{
	if (c->call == CALL_SCAN)
		model_scan(c, slot);
	else if (c->call == CALL_PRODUCT)
		model_product(c, slot);
	else if (c->call == CALL_JOIN)
		exec_join(c, slot);
	else if (c->call == CALL_SORT)
		model_sort(c, slot);
	else if (c->call == CALL_SEARCH || c->call == CALL_INTERP)
		model_search(c, slot);
	else if (c->call == CALL_DRAW)
		model_draw(c, slot);
	else if (c->call == CALL_CHOSEN)
		model_reduced(c, slot);
	else
		model_chosen(c, slot);
}

static inline void model_run(const struct plan *plan, const struct part *part, char **slot,
			     enum model_way way)
{
	for (uint32_t k = 0; k < plan->nstep; k++) {
		const struct nest *n = plan->step[k].nest;
		struct plan one = {.nstep = 1, .step = &plan->step[k]};

		/* plan_exec has no sums over nothing. */
		if (plan->step[k].kind == STEP_CALL)
			model_call(plan->step[k].call, slot);
		else if (way == MODEL_TIER0 || !nest_parallel(n) || !nest_reduced(n))
			model_tier0(n, slot, part->imm);
		else
			exec_plan(&one, part, slot, way == MODEL_WIDE ? EXEC_WIDE : EXEC_REVERSE);
	}
}

#endif
