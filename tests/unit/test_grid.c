/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of kernels as operations: defined, recorded, in a partition, as a step, and what the
 * processor's worker makes of it. */
#include "../golden/part_text.h"
#include "cache/cache.h"
#include "form/plan.h"
#include "grid_fixture.h"
#include "lang/lang_grid_run.h"
#include "nest/compilepart.h"
#include "plan/demand.h"
#include "trace_fixture.h"
#include "worker/steps.h"

static struct grids *grids;

static void setup(void)
{
	fixture_setup();
	grids = grid_table_create();
}

static void teardown(void)
{
	fixture_teardown();
	cr_assert_eq(grid_table_count(grids), 0);
	grid_table_destroy(grids);
}

TestSuite(grid, .init = setup, .fini = teardown);

/* ---- Definitions ---- */

Test(grid, the_same_words_are_one)
{
	struct grid_words w = words_of(axpy, 1), v = words_of(axpy, 2);
	struct grid *a = NULL, *b = NULL, *c = NULL;
	char copy[sizeof axpy];

	memcpy(copy, axpy, sizeof axpy);
	cr_assert_eq(grid_table_take(&a, grids, &w, 0, &err), OK, "%s", err.text);
	w.text = copy;
	cr_assert_eq(grid_table_take(&b, grids, &w, 0, &err), OK);
	cr_assert_eq(grid_table_take(&c, grids, &v, 0, &err), OK, "%s", err.text);
	cr_assert(a == b && a != c && a->number != c->number && grid_table_count(grids) == 2);
	cr_assert(grid_table_find(grids, a->number) == a && grid_table_find(grids, c->number) == c);
	cr_assert_null(grid_table_find(grids, 77));
	cr_assert(a->narray == 3 && a->nlive == 2 && a->bytes == sizeof axpy - 1);
	grid_unref(a);
	cr_assert_eq(grid_table_find(grids, b->number), b);
	grid_unref(b);
	grid_unref(c);
	grid_unref(NULL);
}

Test(grid, a_number_is_never_another_ones)
{
	struct grid_words w = words_of(axpy, 1), v = words_of(axpy, 2);
	struct grid *g = NULL, *h = NULL;
	uint32_t number = 0;

	for (int k = 0; k < 3; k++) {
		cr_assert_eq(grid_table_take(&g, grids, &w, 0, &err), OK);
		cr_assert_gt(g->number, number);
		number = g->number;
		grid_unref(g);
	}
	/* Of another daemon: the next ones are higher, and nobody else may have it. */
	cr_assert_eq(grid_table_take(&g, grids, &w, 50, &err), OK);
	cr_assert_eq(g->number, 50);
	cr_assert_eq(grid_table_take(&h, grids, &w, 50, &err), OK);
	cr_assert_eq(g, h);
	grid_unref(h);
	cr_assert_eq(grid_table_take(&h, grids, &v, 50, &err), E_PROTOCOL);
	cr_assert_eq(grid_table_take(&h, grids, &w, 51, &err), E_PROTOCOL);
	cr_assert_eq(grid_table_take(&h, grids, &v, 0, &err), OK);
	cr_assert_eq(h->number, 51);
	grid_unref(g);
	grid_unref(h);
}

Test(grid, what_turns_add_has_an_array_behind_the_others)
{
	struct grid_words w = words_of(adding, 2), bad;
	struct grid *g = NULL, *h = NULL;

	w.sum = sum_of(adding) + 1;
	cr_assert_eq(grid_table_take(&g, grids, &w, 0, &err), OK, "%s", err.text);
	cr_assert(g->narray == 3 && g->dtype[2] == DT_INT64 && g->rank[2] == 1);
	cr_expect(grid_fits(g, 0, true, DT_INT64, 1) && grid_fits(g, 1, true, DT_FLOAT64, 1) &&
		  grid_fits(g, 2, true, DT_INT32, 1));
	cr_expect_not(grid_fits(g, 0, true, DT_INT64, 2));
	cr_expect_not(grid_fits(g, 0, true, DT_FLOAT64, 1));
	bad = w;
	bad.only = 1;
	cr_expect_eq(grid_table_take(&h, grids, &bad, 0, &err), E_INVALID, "not behind them");
	for (bad = w; bad.sum < 100; bad.sum++)
		cr_expect(bad.sum == w.sum ||
				  grid_table_take(&h, grids, &bad, 0, &err) == E_INVALID,
			  "register %u", bad.sum - 1);
	bad.sum = UINT32_MAX;
	cr_expect_eq(grid_table_take(&h, grids, &bad, 0, &err), E_INVALID);
	bad = w;
	bad.sum = 0;
	cr_expect_eq(grid_table_take(&h, grids, &bad, 0, &err), E_INVALID, "an array of none");
	grid_unref(g);
}

Test(grid, what_is_none_is_refused)
{
	struct grid_words w = words_of(axpy, 1), bad;
	struct grid *g = NULL;
	char *large = malloc(LIMIT_GRID_TEXT + 1);
	static const char many[] =
		"kernel f(inout y: float64[:], %s) { for i in 0..len(y) { y[i] = 1 } }";
	char arrays[2048] = "", text[4096];

	bad = w;
	bad.range++;
	cr_assert_eq(grid_table_take(&g, grids, &bad, 0, &err), E_INVALID);
	bad = w;
	bad.only = 0; /* it is read only */
	cr_assert_eq(grid_table_take(&g, grids, &bad, 0, &err), E_INVALID);
	bad = w;
	bad.text = "kernel";
	cr_assert_neq(grid_table_take(&g, grids, &bad, 0, &err), OK);
	memset(large, ' ', LIMIT_GRID_TEXT);
	memcpy(large, axpy, strlen(axpy));
	large[LIMIT_GRID_TEXT] = 0;
	bad = w;
	bad.text = large;
	cr_assert_eq(grid_table_take(&g, grids, &bad, 0, &err), E_LIMIT);
	large[LIMIT_GRID_TEXT - 1] = 0;
	cr_assert_eq(grid_table_take(&g, grids, &bad, 0, &err), OK, "%s", err.text);
	grid_unref(g);
	for (int k = 0; k < LIMIT_GRID_ARRAYS; k++)
		sprintf(arrays + strlen(arrays), "%sin x%d: float64[:]", k ? ", " : "", k);
	snprintf(text, sizeof text, many, arrays);
	bad = words_of(text, 0);
	cr_assert_eq(grid_table_take(&g, grids, &bad, 0, &err), E_LIMIT, "31 arrays");
	free(large);
}

Test(grid, a_session_names_each_once)
{
	struct grid_words w = words_of(axpy, 1);

	cr_assert_eq(record_define(&trace, grids, 0, &w, 0, &err), E_PROTOCOL);
	cr_assert_eq(record_define(&trace, grids, LIMIT_GRIDS + 1, &w, 0, &err), E_PROTOCOL);
	cr_assert_eq(record_define(&trace, grids, LIMIT_GRIDS, &w, 0, &err), OK, "%s", err.text);
	cr_assert_eq(record_define(&trace, grids, LIMIT_GRIDS, &w, 0, &err), E_PROTOCOL);
	cr_assert_eq(record_define(&trace, grids, 3, &w, 0, &err), OK);
	cr_assert_eq(grid_table_count(grids), 1);
	cr_assert_not_null(grid_names_find(&trace.grids, 3));
	cr_assert_null(grid_names_find(&trace.grids, 0));
	cr_assert_null(grid_names_find(&trace.grids, 2));
	cr_assert_null(grid_names_find(&trace.grids, UINT64_MAX));
}

Test(grid, texts_count_for_the_quota)
{
	struct grid_words w = words_of(axpy, 1);
	size_t before = trace.memory;

	cr_assert_eq(record_define(&trace, grids, 1, &w, 0, &err), OK);
	cr_assert_geq(trace.memory, before + sizeof axpy);
	trace.quota_bytes = 1;
	trace.memory += 4 << 20;
	cr_assert_eq(record_define(&trace, grids, 2, &w, 0, &err), E_NOMEM);
	cr_assert_null(grid_names_find(&trace.grids, 2));
	trace.memory -= 4 << 20;
	trace.quota_bytes = 0;
	cr_assert_eq(record_define(&trace, grids, 2, &w, 0, &err), OK);
}

/* ---- Recorded ---- */

static void define(void)
{
	struct grid_words w = words_of(axpy, 1);

	cr_assert_eq(record_define(&trace, grids, 1, &w, 0, &err), OK, "%s", err.text);
	import(1, 10);
	import(2, 10);
	vector(3, DT_INT32, 10);
}

Test(grid, it_makes_a_new_version_of_what_it_writes)
{
	struct version *x, *y, *v;
	struct node *n;

	define();
	x = trace_current(trace_array(&trace, 1));
	y = trace_current(trace_array(&trace, 2));
	slice(4, 2, 0, 5);
	cr_assert_eq(record_axpy(1, 2, 3, 40), OK, "%s", err.text);
	v = trace_current(trace_array(&trace, 2));
	n = v->node;
	cr_assert(v != y && v == trace_current(trace_array(&trace, 4)));
	cr_assert(n->op == OP_GRID && n->nin == 5 && n->dtype == 40 && n->prev == y);
	cr_assert_eq(n->axes, grid_names_find(&trace.grids, 1)->number);
	cr_assert(n->in[0].version == y && n->in[1].version == x && !n->in[3].version);
	cr_assert(n->in[3].view.dtype == DT_FLOAT64 && n->in[4].imm[0] == 10);
	cr_assert(record_is_grid(&trace, n));
	n->dtype = LIMIT_GRID_HINT + 1;
	cr_assert(!record_is_grid(&trace, n));
	n->dtype = 40;
	n->axes++;
	cr_assert(!record_is_grid(&trace, n));
	n->axes--;
	n->view.offset += 8;
	cr_assert(!record_is_grid(&trace, n));
	n->view.offset -= 8;
	n->in[4].view.dtype = DT_INT32;
	cr_assert(!record_is_grid(&trace, n));
	n->in[4].view.dtype = DT_INT64;
	cr_assert(record_is_grid(&trace, n));
}

Test(grid, a_snapshot_of_what_is_written_is_copied)
{
	struct version *y;
	struct node *n;

	define();
	put(OP_PIN, 255, 1, 0, 5);
	operand(2);
	cr_assert_eq(flush(), OK);
	y = trace_current(trace_array(&trace, 5));
	cr_assert_eq(record_axpy(5, 2, 3, 1), OK, "%s", err.text);
	n = trace_current(trace_array(&trace, 2))->node;
	cr_assert(n->prev == y && n->in[1].version != y);
	cr_assert_eq(n->in[1].version->node->in[0].version, y);
	/* Of another value it is read as it is; so is another array of the same buffer. */
	cr_assert_eq(record_axpy(5, 2, 3, 1), OK);
	cr_assert_eq(trace_current(trace_array(&trace, 2))->node->in[1].version, y);
	slice(6, 2, 0, 10);
	cr_assert_eq(record_axpy(6, 2, 3, 1), OK);
	n = trace_current(trace_array(&trace, 2))->node;
	cr_assert_eq(n->in[1].version, n->prev);
}

Test(grid, what_an_operation_may_not_be)
{
	define();
	vector(4, DT_FLOAT32, 10);
	cr_assert_eq(record_axpy(4, 2, 3, 1), E_PROTOCOL, "another type");
	cr_assert_eq(record_axpy(1, 2, 3, LIMIT_GRID_HINT + 1), E_PROTOCOL);
	cr_assert_eq(record_axpy(1, 3, 2, 1), E_PROTOCOL, "in another order");
	cr_assert_eq(record_axpy(1, 9, 3, 1), E_UNKNOWN_ARRAY);
	put(OP_PIN, 255, 1, 0, 5);
	operand(2);
	cr_assert_eq(flush(), OK);
	cr_assert_eq(record_axpy(1, 5, 3, 1), E_READONLY);
	for (unsigned mistake = 0; mistake < 7; mistake++) {
		put(OP_GRID, 0, OP_LIST, mistake == 3 ? 2 : mistake == 4 ? 4 : 3, 0);
		operand(mistake == 0 ? 0 : mistake == 1 ? 4 : mistake == 4 ? 6 : 5);
		operand(2);
		operand(1);
		if (mistake != 6)
			operand(3);
		else
			put_number(DT_INT32, 0);
		if (mistake == 2)
			put_number(DT_INT64, 0);
		else
			put_number(DT_FLOAT64, 0);
		if (mistake != 3 && mistake != 6)
			put_number(DT_INT64, 10);
		if (mistake == 4)
			put_number(DT_INT64, 10);
		word(mistake == 5 ? 2 : 1);
		cr_assert_neq(flush(), OK, "mistake %u", mistake);
	}
	cr_assert_eq(record_axpy(1, 2, 3, 1), OK, "%s", err.text);
}

/* ---- In a partition ---- */

static const char part_axpy[] =
	"value 0 input 80\nvalue 1 input 80\nvalue 2 input 40\nvalue 3 output 80 prev 0 take\n"
	"imm 0 4000000000000000 0\nimm 1 a 0\n"
	"op GRID hint 40 axes 7 v0:float64+0[10:8] v1:float64+0[10:8] v2:int32+0[10:4] i0:float64 "
	"i1:int64 -> v3:float64+0[10:8]\n";

Test(grid, a_partition_round_trips)
{
	struct part p = part_text_read(part_axpy);
	char text[1024];

	cr_assert_eq(part_check(&p, &err), OK, "%s", err.text);
	cr_assert_eq(part_print(text, sizeof text, &p), strlen(part_axpy));
	cr_assert_str_eq(text, part_axpy);
	part_text_free(&p);
}

Test(grid, what_a_partition_may_not_have)
{
	static const char *const bad[] = {
		/* of no number, of too much work */
		"op GRID hint 40 axes 0 v0:float64[10] v1:float64[10] -> v3:float64[10]\n",
		"op GRID hint 63 axes 7 v0:float64[10] v1:float64[10] -> v3:float64[10]\n",
		/* what is written is not first, or seen otherwise */
		"op GRID hint 40 axes 7 v1:float64[10] v0:float64[10] -> v3:float64[10]\n",
		"op GRID hint 40 axes 7 v0:float64[9] -> v3:float64[10]\n",
		"op GRID hint 40 axes 7 v0:float64[9] -> v3:float64+8[9]\n",
		"op GRID hint 40 axes 7 v0:int64[10] -> v3:float64[10]\n",
		/* numbers before arrays, or alone; an array without axes */
		"op GRID hint 40 axes 7 v0:float64[10] i0:float64 v1:float64[10] -> "
		"v3:float64[10]\n",
		"op GRID hint 40 axes 7 i0:float64 -> v3:float64[10]\n",
		"op GRID hint 40 axes 7 v0:float64[10] v1:float64[] -> v3:float64[10]\n",
		/* too many extents */
		"op GRID hint 40 axes 7 v0:float64[10] v1:float64[1,2,3,1,1,1,1,1] "
		"v2:int32[4] v2:int32[5] v2:int32[6] v2:int32[7] v2:int32[8] v2:int32[9] -> "
		"v3:float64[10]\n",
	};

	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		char text[1024];
		struct part p;

		snprintf(text, sizeof text, "%.*s%s", (int)(strstr(part_axpy, "op") - part_axpy),
			 part_axpy, bad[k]);
		p = part_text_read(text);
		cr_assert_eq(part_check(&p, &err), E_INTERNAL, "%s", bad[k]);
		part_text_free(&p);
	}
}

Test(grid, a_fresh_result_is_none)
{
	struct part p = part_text_read(part_axpy);

	p.value[3].prev = PART_NONE;
	cr_assert_eq(part_check(&p, &err), E_INTERNAL);
	part_text_free(&p);
}

static struct plan *plan_of(const char *text)
{
	struct part p = part_text_read(text);
	struct plan *plan = NULL;

	cr_assert_eq(part_check(&p, &err), OK, "%s", err.text);
	cr_assert_eq(compilepart_run(&plan, &p, NULL, NULL, NULL, &err), OK, "%s", err.text);
	cr_assert_eq(plan_check(plan, &p, &err), OK, "%s", err.text);
	part_text_free(&p);
	return plan;
}

Test(grid, it_takes_the_old_ones_place)
{
	struct plan *plan = plan_of(part_axpy);
	const struct plan_call *c = plan->step[0].call;

	cr_assert(plan->nstep == 1 && plan->step[0].kind == STEP_CALL && plan->step[0].tears);
	cr_assert(c->call == CALL_GRID && c->grid == 7 && c->hint == 40 && c->dtype == DT_FLOAT64);
	cr_assert(c->noperand == 4 && c->nscalar == 2 && c->scalar[0] == 0 && c->scalar[1] == 1);
	cr_assert(c->nloop == 1 && c->extent[0] == 10);
	cr_assert(c->operand[0].slot == c->operand[3].slot && plan->nslot == 3);
	cr_assert(call_writes(c, 0) && !call_writes(c, 3));
	plan_free(plan);
}

Test(grid, what_must_stay_is_copied_first)
{
	char text[sizeof part_axpy];
	struct plan *plan = NULL;

	/* The old value is somebody's. */
	memcpy(text, part_axpy, sizeof text);
	memcpy(strstr(text, " take"), "     ", 5);
	plan = plan_of(text);
	cr_assert(plan->nstep == 2 && plan->step[0].kind == STEP_KERNEL && !plan->step[1].tears);
	cr_assert_eq(plan->step[1].call->operand[0].slot,
		     plan->step[0].nest->access[plan->step[0].nest->naccess - 1].slot);
	plan_free(plan);
	/* So are bytes that nobody wrote, of which a loop may leave some. */
	plan = plan_of(
		"value 0 temp 80 undefined\nvalue 1 output 80 prev 0\nvalue 2 output 80 prev 0\n"
		"op EMPTY as float64 -> v0:float64[10]\n"
		"op GRID hint 3 axes 7 v0:float64[10] -> v1:float64[10]\n"
		"op GRID hint 3 axes 7 v0:float64[10] -> v2:float64[10]\n");
	cr_assert_geq(plan->nstep, 3);
	plan_free(plan);
}

Test(grid, the_written_buffer_is_read_where_it_is_written)
{
	struct plan *plan =
		plan_of("value 0 input 80\nvalue 1 input 80\nvalue 2 output 80 prev 0\n"
			"op GRID hint 40 axes 7 v0:float64[5] v0:float64+40[5] v1:float64[10] -> "
			"v2:float64[5]\n");
	const struct plan_call *c = plan->step[1].call;

	cr_assert(plan->nstep == 2 && c->call == CALL_GRID);
	cr_assert(c->operand[1].slot == c->operand[0].slot && c->operand[1].offset == 40);
	cr_assert_neq(c->operand[2].slot, c->operand[0].slot);
	plan_free(plan);
}

Test(grid, loops_are_the_distinct_extents)
{
	struct plan *plan =
		plan_of("value 0 input 96\nvalue 1 input 72\nvalue 2 input 8\nvalue 3 output 96 "
			"prev 0 take\n"
			"op GRID hint 4 axes 7 v0:float64[3,4] v1:float64[3,3] v2:float64[0] -> "
			"v3:float64[3,4]\n");
	const struct plan_call *c = plan->step[0].call;
	int64_t lo = 0, hi = 0;

	cr_assert(c->nloop == 4 && c->extent[0] == 3 && c->extent[1] == 4);
	cr_assert(c->extent[2] == 3 && c->extent[3] == 0);
	cr_assert(grid_axes(&c->operand[0]) == 2 && grid_loop(&c->operand[0], 1) == 1);
	cr_assert(grid_loop(&c->operand[1], 0) == 0 && grid_loop(&c->operand[1], 1) == 2);
	cr_assert(c->operand[1].stride[0] == 24 && c->operand[1].stride[2] == 8);
	/* An array without elements takes nothing from the others. */
	call_range(&lo, &hi, c, 0);
	cr_assert(lo == 0 && hi == 96);
	call_range(&lo, &hi, c, 2);
	cr_assert(lo == 0 && hi == 0);
	plan_free(plan);
}

Test(grid, turns_of_a_program_are_not_rolled)
{
	struct version *want = NULL;
	struct partition *p = NULL;

	define();
	for (int k = 0; k < 1200; k++)
		cr_assert_eq(record_axpy(1, 2, 3, 10), OK, "%s", err.text);
	want = trace_current(trace_array(&trace, 2));
	demand_partition(&p, &trace, &want, 1, false);
	cr_assert(p->turns == 1 && p->part.nop > 100 && p->part.nop <= LIMIT_PARTITION_OPS);
	cr_assert_eq(part_check(&p->part, &err), OK, "%s", err.text);
	for (uint32_t i = 0; i < p->part.nvalue; i++)
		if (partition_value(p, 0, i)->state == VERSION_RUNNING)
			version_wait(&trace, partition_value(p, 0, i));
	partition_free(&trace, p);
}

/* ---- The step ---- */

static struct plan_call call_of(void)
{
	struct plan *plan = plan_of(part_axpy);
	struct plan_call c = *plan->step[0].call;

	plan_free(plan);
	return c;
}

Test(grid, what_a_step_may_not_be)
{
	struct plan_call good = call_of();

	cr_assert_eq(call_check(&good, &err), OK, "%s", err.text);
	for (unsigned mistake = 0; mistake < 14; mistake++) {
		struct plan_call c = good;

		switch (mistake) {
		case 0:
			c.grid = 0;
			break;
		case 1:
			c.hint = LIMIT_GRID_HINT + 1;
			break;
		case 2:
			c.nscalar = CALL_SCALARS + 1;
			break;
		case 3:
			c.operand[3].slot++;
			break;
		case 4:
			c.noperand = 1;
			break;
		case 5:
			c.dtype = DT_INT32;
			break;
		case 6:
			c.operand[1].at = grid_at(1, 1); /* no such loop */
			break;
		case 7:
			c.operand[1].at = grid_at(0, 0);
			break;
		case 8:
			c.operand[1].at = grid_at(0, 2); /* one loop for two axes */
			break;
		case 9:
			c.operand[1].at = grid_at(0x10, 1);
			break;
		case 10:
			c.operand[1].stride[1] = 8;
			break;
		case 11:
			c.operand[1].run = 2;
			break;
		case 12:
			c.op = OP_ADD;
			break;
		default:
			c.operand[1].at = grid_at(0, LIMIT_NDIM + 1);
		}
		cr_assert_eq(call_check(&c, &err), E_INTERNAL, "mistake %u", mistake);
	}
	good.call = CALL_JOIN;
	cr_assert_eq(call_check(&good, &err), E_INTERNAL, "others have no numbers");
}

Test(grid, what_lies_behind_a_step)
{
	struct {
		struct command_step s;
		struct command_place place[4];
		char rest[offsetof(struct plan_call, operand) + 4 * sizeof(struct call_operand) +
			  2 * 16 + sizeof(struct command_grid) + sizeof axpy + 8];
	} o = {.s = {.kind = STEP_CALL, .naccess = 4}};
	struct plan_call c = call_of(), got;
	const uint64_t scalar[4] = {1, 2, 3, 4};
	struct command_grid g = {5, 1, 0, 1, sizeof axpy, 0};
	size_t at = call_bytes(4), text = at + sizeof scalar + sizeof g;
	const struct command_step *s = NULL;
	struct grid_words w;

	memcpy(o.rest, &c, at);
	memcpy(o.rest + at, scalar, sizeof scalar);
	memcpy(o.rest + at + sizeof scalar, &g, sizeof g);
	memcpy(o.rest + text, axpy, sizeof axpy);
	o.s.bytes = (uint32_t)((offsetof(typeof(o), rest) + text + sizeof axpy + 7) / 8 * 8);
	cr_assert_eq(steps_next(&s, (char *)&o, (char *)(&o + 1), 0, &err), OK, "%s", err.text);
	cr_assert_eq(steps_call(&got, s, &err), OK, "%s", err.text);
	cr_assert_eq(memcmp(steps_scalars(s), scalar, sizeof scalar), 0);
	cr_assert_eq(steps_grid(&w, s, &got, &err), OK, "%s", err.text);
	cr_assert(!strcmp(w.text, axpy) && w.range == 5 && w.only == 1 && w.levels == 1);
	/* The text does not end, or lies beyond the step. */
	o.rest[text + sizeof axpy - 1] = 'x';
	cr_assert_eq(steps_grid(&w, s, &got, &err), E_INTERNAL);
	o.rest[text + sizeof axpy - 1] = 0;
	((struct command_grid *)(void *)(o.rest + at + sizeof scalar))->bytes = sizeof axpy + 64;
	cr_assert_eq(steps_grid(&w, s, &got, &err), E_INTERNAL);
	((struct command_grid *)(void *)(o.rest + at + sizeof scalar))->bytes = 0;
	cr_assert_eq(steps_grid(&w, s, &got, &err), E_INTERNAL);
	o.s.bytes = (uint32_t)(offsetof(typeof(o), rest) + at + sizeof scalar);
	cr_assert_eq(steps_call(&got, s, &err), OK);
	cr_assert_eq(steps_grid(&w, s, &got, &err), E_INTERNAL);
	o.s.bytes -= 8;
	cr_assert_eq(steps_call(&got, s, &err), E_INTERNAL, "a number is missing");
}

static void ready(void *data, struct kernel *k)
{
}

/* A GPU's kernel: its text and what of it is to be done; a plan's sizes are not. */
Test(grid, a_kernel_is_its_words)
{
	struct plan_call call = call_of();
	struct grid_words w = words_of(axpy, 1), v = words_of(axpy, 2);
	struct grid *g = NULL, *h = NULL;
	struct cache *cache = NULL;
	struct kernel *k = NULL;

	cr_assert_eq(
		cache_create(&cache, &loop, &(struct cache_config){.tier = 0}, ready, NULL, &err),
		OK, "%s", err.text);
	cr_assert_eq(grid_table_take(&g, grids, &w, 0, &err), OK, "%s", err.text);
	cr_assert_eq(grid_table_take(&h, grids, &v, 0, &err), OK, "%s", err.text);
	k = cache_get_grid(cache, &call, g, 90, 1);
	call.extent[0]++;
	call.grid++;
	cr_assert_eq(cache_get_grid(cache, &call, g, 90, 1), k);
	cr_assert_neq(cache_get_grid(cache, &call, g, 80, 1), k);
	cr_assert_neq(cache_get_grid(cache, &call, h, 90, 1), k);
	cr_assert(cache_has_code(k) && k->call.call == CALL_GRID && !k->text);
	cr_assert_str_eq(k->grid.text, axpy);
	cr_assert(k->grid.range == w.range && k->grid.only == 1);
	grid_unref(g);
	grid_unref(h);
	cache_destroy(cache);
}

/* ---- By the machine ---- */

#define N 1000

static struct lang_grid_run *linked(const char *text, uint32_t only)
{
	struct grid_words w = words_of(text, only);
	enum isa_level level = isa_best();
	struct lang_grid_run *r = NULL;
	struct lang_program *p = NULL;
	struct lang_grid g;

	cr_assert_eq(grid_program(&p, &g, &w, &err), OK, "%s", err.text);
	cr_assert_eq(lang_grid_link(&r, p, &g, tier0_table(level), tier0_wide_table(level), &err),
		     OK, "%s", err.text);
	return r;
}

static struct lang_array as_array(void *at, int64_t n, int64_t stride)
{
	return (struct lang_array){at, {1, {n}}, {stride}};
}

Test(grid, turns_in_any_stretches_and_order)
{
	static double x[N], y[N];
	static int32_t other[N];
	struct lang_grid_run *r = linked(axpy, 1);
	struct lang_array array[] = {as_array(x, N, 8), as_array(y, N, 8), as_array(other, N, 4)};
	union lang_reg scalar[2] = {{.f = 3}, {.i = N}};
	uint64_t turns = 0;

	for (int i = 0; i < N; i++) {
		x[i] = i;
		y[i] = 1;
	}
	cr_assert_eq(lang_grid_count(&turns, r, array, scalar, &err), OK, "%s", err.text);
	cr_assert_eq(turns, N);
	for (uint64_t lo = 993; lo < N; lo -= 331) /* 993, 662, 331, 0 */
		cr_assert_eq(lang_grid_turns(r, array, scalar, lo, lo + 331, NULL, NULL, &err), OK,
			     "%s", err.text);
	for (int i = 0; i < N; i++)
		cr_assert(y[i] == 1 + 3.0 * i && !other[i], "%d", i);
	lang_grid_unlink(r);
}

Test(grid, the_other_array_alone)
{
	static double x[N], y[N];
	static int32_t other[N];
	struct lang_grid_run *r = linked(axpy, 2);
	struct lang_array array[] = {as_array(x, N, 8), as_array(y, N, 8), as_array(other, N, 4)};
	union lang_reg scalar[2] = {{.f = 3}, {.i = N}};

	cr_assert_eq(lang_grid_turns(r, array, scalar, 0, UINT64_MAX, NULL, NULL, &err), OK);
	for (int i = 0; i < N; i++)
		cr_assert(other[i] == 1 && y[i] == 0);
	lang_grid_unlink(r);
}

Test(grid, steps_of_any_size_and_a_wrong_index)
{
	static const char text[] = "kernel f(inout y: float64[:], first: int64, by: int64) {\n"
				   "  for i in first..-1 step by { y[i] = y[i] + i }\n}\n";
	static double y[N];
	struct lang_grid_run *r = linked(text, 0);
	struct lang_array array[] = {as_array(y, N, 8)};
	union lang_reg scalar[2] = {{.i = N - 1}, {.i = -3}};
	uint64_t turns = 0;

	cr_assert_eq(lang_grid_count(&turns, r, array, scalar, &err), OK);
	cr_assert_eq(turns, N / 3 + 1);
	cr_assert_eq(lang_grid_turns(r, array, scalar, 100, turns, NULL, NULL, &err), OK);
	cr_assert_eq(lang_grid_turns(r, array, scalar, 0, 100, NULL, NULL, &err), OK);
	for (int i = 0; i < N; i++)
		cr_assert_eq(y[i], i % 3 ? 0 : i);
	scalar[0].i = N;
	cr_assert_eq(lang_grid_turns(r, array, scalar, 0, 1, NULL, NULL, &err), E_INDEX);
	cr_assert_eq(lang_grid_turns(r, array, scalar, 1, 2, NULL, NULL, &err), OK);
	scalar[1].i = 0;
	cr_assert_eq(lang_grid_count(&turns, r, array, scalar, &err), E_INVALID);
	lang_grid_unlink(r);
}

/* Any stretches, in any order: elements are of their own turns, and all that there are are set. */
Test(grid, what_turns_add_in_stretches)
{
	static double x[N];
	static int32_t y[N];
	static int64_t t[N + 8];
	struct grid_words w = words_of(adding, 2);
	enum isa_level level = isa_best();
	struct lang_array array[] = {as_array(x, N, 8), as_array(y, N, 4), as_array(t, 0, 8)};
	union lang_reg scalar[1] = {{.i = N}};
	static const int64_t many[] = {1, 2, 7, 100, N, N + 5};
	struct lang_grid_run *r = NULL;
	struct lang_program *p = NULL;
	int64_t want = 0, have = 0;
	uint64_t n = 0;
	struct lang_grid g;

	w.sum = sum_of(adding) + 1;
	cr_assert_eq(grid_program(&p, &g, &w, &err), OK, "%s", err.text);
	cr_assert_eq(lang_grid_link(&r, p, &g, tier0_table(level), tier0_wide_table(level), &err),
		     OK, "%s", err.text);
	for (int i = 0; i < N; i++)
		want += (int64_t)(x[i] = i * 3 % 101) + (y[i] = i - 7);
	for (unsigned k = 0; k < sizeof many / sizeof *many; k++) {
		have = 0;
		memset(t, 0x33, sizeof t);
		array[2].shape.dim[0] = many[k];
		cr_assert_eq(lang_grid_count(&n, r, array, scalar, &err), OK);
		cr_assert_eq(n, many[k]);
		for (uint64_t part = 3; part-- > 0;)
			cr_assert_eq(lang_grid_turns(r, array, scalar, n * part / 3,
						     n * (part + 1) / 3, NULL, NULL, &err),
				     OK, "%s", err.text);
		for (uint64_t i = 0; i < n; i++)
			have += t[i];
		cr_expect_eq(have, want, "%ld elements", (long)many[k]);
		cr_expect_eq(t[many[k]], 0x3333333333333333, "behind the last");
	}
	lang_grid_unlink(r);
}

static int enough(void *data)
{
	return ++*(int *)data == 3;
}

Test(grid, who_asks_stops_it)
{
	static const char text[] = "kernel f(inout y: float64[:]) {\n"
				   "  for i in 0..len(y) { while true { y[i] += 1 } }\n}\n";
	static double y[N];
	struct lang_grid_run *r = linked(text, 0);
	struct lang_array array[] = {as_array(y, N, 8)};
	union lang_reg scalar[1] = {{.i = N}};
	int asked = 0;

	cr_assert_eq(lang_grid_turns(r, array, scalar, 7, 8, enough, &asked, &err), E_CANCELLED);
	cr_assert(asked == 3 && y[7] > 2 * LANG_TURNS && y[6] == 0);
	lang_grid_unlink(r);
}

Test(grid, functions_and_loops_in_a_row_inside)
{
	static const char text[] = "fn twice(v: float64) -> float64 { return v + v }\n"
				   "kernel f(inout t: float64[:,:]) {\n"
				   "  for i in 0..len(t, 0) {\n"
				   "    for j in 0..len(t, 1) { t[i, j] = twice(t[i, j]) }\n"
				   "    for j in 0..len(t, 1) { t[i, j] += 1 }\n"
				   "  }\n}\n";
	static double t[20][50];
	struct lang_grid_run *r = linked(text, 0);
	struct lang_array array[] = {{(char *)t, {2, {20, 50}}, {400, 8}}};
	union lang_reg scalar[2] = {{.i = 20}, {.i = 50}};

	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 50; j++)
			t[i][j] = i * j;
	cr_assert_eq(lang_grid_linked(r)->nlive, 1);
	cr_assert_eq(lang_grid_turns(r, array, scalar, 0, 20, NULL, NULL, &err), OK, "%s",
		     err.text);
	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 50; j++)
			cr_assert_eq(t[i][j], 2 * i * j + 1);
	lang_grid_unlink(r);
}
