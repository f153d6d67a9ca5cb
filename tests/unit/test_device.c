/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and mirrors on a device whose worker is this file: it counts the regions
 * that exist.  The cells of device.h's table, and room. */
#include "trace_fixture.h"

#include "nest/compilepart.h"
#include "run/job.h"

static struct device cpu = {.name = "cpu"};
static struct device gpu, gpu2;
static int regions, cleared;

void executor_device_region(struct executor *x, uint32_t region, uint64_t bytes, uint64_t client)
{
	(void)x;
	(void)client;
	cr_assert_geq(region, 0x80000000u, "arenas have the lower numbers");
	cr_assert_gt(bytes, 0);
	regions++;
}

void executor_device_clear(struct executor *x, uint32_t region)
{
	(void)x;
	(void)region;
	cleared++;
}

void executor_region_drop(struct executor *x, uint32_t region)
{
	(void)x;
	(void)region;
	regions--;
}

static void setup(void)
{
	fixture_setup();
	trace.drop_mirror = mirror_drop;
	setenv("BRAZE_PEER_KIB", "0", 1);
	gpu = (struct device){.name = "cuda:0",
			      .index = 1,
			      .state = DEVICE_USABLE,
			      .exports = true,
			      .capacity = 1 << 20};
	gpu2 = gpu;
	snprintf(gpu2.name, sizeof gpu2.name, "cuda:1");
	gpu2.index = 2;
	gpu2.peers = 1;
	regions = cleared = 0;
}

/* No region outlives the arrays. */
static void teardown(void)
{
	fixture_teardown();
	cr_assert_eq(regions, 0);
	cr_assert_eq(gpu.used, 0);
	cr_assert_eq(gpu2.used, 0);
}

TestSuite(device, .init = setup, .fini = teardown);

static struct version *value_of(uint32_t id)
{
	return trace_current(trace_array(&trace, id));
}

static struct storage *storage_of(uint32_t id)
{
	return value_of(id)->storage;
}

static struct job *job_for(uint32_t id, struct device *d)
{
	struct version *v = value_of(id);
	struct job *j = calloc(1, sizeof *j);

	demand_partition(&j->partition, &trace, &v, 1, false);
	cr_assert_not_null(j->partition);
	cr_assert_eq(compilepart_run(&j->run.plan, &j->partition->part, NULL, NULL, NULL, &err), OK,
		     "%s", err.text);
	j->device = d;
	return j;
}

static enum job_state ready(struct job *j, struct storage **fetch)
{
	struct storage *other = NULL;

	return job_ready(j, &trace, fetch ? fetch : &other, &err);
}

static struct job *bound(uint32_t id, struct device *d)
{
	struct job *j = job_for(id, d);

	cr_assert_eq(ready(j, NULL), JOB_GO, "%s", err.text);
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK, "%s", err.text);
	return j;
}

static void settle(struct job *j, enum job_end end)
{
	struct plan *plan = j->run.plan;

	if (end == JOB_DONE)
		cr_assert_eq(job_inputs(j, &err), OK, "%s", err.text);
	job_settle(j, &trace, end, &err);
	job_free(j, &trace);
	plan_free(plan);
}

static void run(uint32_t id, struct device *d)
{
	settle(bound(id, d), JOB_DONE);
}

/* What dispatch.c's transfer does. */
static void fetch(struct storage *s)
{
	cr_assert_eq(storage_place(&trace, s, &err), OK);
	s->host = 1;
}

Test(device, inputs_are_carried_there_once)
{
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	j = bound(2, &gpu);
	cr_assert_eq(j->run.nbefore, 1);
	cr_assert_eq(j->run.copy[0].from.region, 7);
	cr_assert_eq(j->run.copy[0].bytes, 800);
	cr_assert_eq(j->run.copy[0].to.region, storage_of(1)->mirror->region);
	cr_assert_eq(j->run.nafter, 0, "nobody waits for it");
	settle(j, JOB_DONE);
	unary(OP_SIN, 3, 1);
	j = bound(3, &gpu);
	cr_assert_eq(j->run.nbefore, 0);
	settle(j, JOB_DONE);
	cr_assert(storage_of(1)->host && storage_of(1)->mirror->valid);
	cr_assert(!storage_of(3)->host && storage_of(3)->mirror->valid);
	cr_assert_not(storage_of(3)->placed, "results take no room in the arena");
}

/* Its memory may have been another client's. */
Test(device, bytes_that_nobody_wrote_are_cleared)
{
	put(OP_EMPTY, DT_FLOAT64, 0, 2, 1);
	word(1);
	word(100);
	slice(2, 1, 0, 10);
	import(3, 10);
	assign(2, 3);
	run(1, &gpu);
	cr_assert_eq(cleared, 1);
	unary(OP_SQRT, 4, 1);
	run(4, &gpu);
	cr_assert_eq(cleared, 1, "what a step writes as a whole is not");
}

Test(device, what_is_waited_for_comes_back_with_the_job)
{
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	value_of(2)->asked = 1;
	j = bound(2, &gpu);
	cr_assert_eq(j->run.nafter, 1);
	cr_assert_eq(j->run.copy[1].to.offset, storage_of(2)->extent.offset);
	settle(j, JOB_DONE);
	value_of(2)->asked = 0;
	cr_assert(storage_of(2)->host);
}

Test(device, the_cpu_waits_for_what_lies_on_a_device_only)
{
	struct storage *want = NULL;
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	unary(OP_SIN, 3, 2);
	j = job_for(3, &cpu);
	cr_assert_eq(ready(j, &want), JOB_FETCH_FIRST);
	cr_assert_eq(want, storage_of(2));
	fetch(want);
	cr_assert_eq(ready(j, &want), JOB_GO);
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK);
	settle(j, JOB_DONE);
	cr_assert(storage_of(3)->host && !storage_of(3)->mirror);
}

Test(device, a_value_in_the_making_is_read_where_it_is_made)
{
	struct job *first, *second;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	first = bound(2, &gpu);
	unary(OP_SIN, 3, 2);
	second = job_for(3, &cpu);
	cr_assert_eq(ready(second, NULL), JOB_WAIT);
	second->device = &gpu;
	cr_assert_eq(ready(second, NULL), JOB_GO);
	cr_assert_eq(job_bind(second, &trace, 7, &err), OK);
	cr_assert_eq(second->run.nbefore, 0);
	settle(first, JOB_DONE);
	settle(second, JOB_DONE);
}

Test(device, write_in_place_leaves_the_arena_behind)
{
	import(1, 100);
	unary(OP_SQRT, 9, 1);
	run(9, &gpu);
	slice(2, 1, 10, 5);
	import(3, 5);
	assign(2, 3);
	run(1, &gpu);
	cr_assert_not(storage_of(1)->host);
	cr_assert(storage_of(1)->placed, "its place is kept for the way back");
	fetch(storage_of(1));
	slice(4, 1, 20, 5);
	assign(4, 3);
	run(1, &cpu);
	cr_assert(storage_of(1)->host && !storage_of(1)->mirror->valid);
}

Test(device, a_job_that_comes_back_is_bound_again)
{
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	j = bound(2, &gpu);
	device_lost(&gpu);
	cr_assert_eq(regions, 0);
	job_unbind(j, &trace);
	cr_assert_eq(value_of(2)->state, VERSION_RUNNING);
	cr_assert_eq(ready(j, NULL), JOB_GO, "its input is on the host");
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK);
	cr_assert_eq(j->run.nbefore, 1);
	settle(j, JOB_DONE);
}

static void sum(uint32_t result, uint32_t of)
{
	put(OP_SUM, 255, 1, 1, result);
	operand(of);
	word(1);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

Test(device, what_a_few_operations_make_again_is_not_lost)
{
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	unary(OP_SIN, 3, 2);
	drop(2);
	run(3, &gpu);
	cr_assert_eq(trace.npending, 0, "kept nodes do not wait to be run");
	device_lost(&gpu);
	sum(4, 3);
	j = job_for(4, &gpu);
	cr_assert_eq(ready(j, NULL), JOB_STOP);
	cr_assert_eq(err.code, E_CANCELLED);
	cr_assert_eq(value_of(3)->state, VERSION_PENDING);
	settle(j, JOB_CANCELLED);
	j = bound(4, &gpu);
	cr_assert_eq(j->partition->part.nop, 3, "root, sine and sum");
	settle(j, JOB_DONE);
	cr_assert_eq(value_of(4)->state, VERSION_STORED);
}

Test(device, kept_operations_keep_no_array_alive)
{
	struct arena_stats stats;

	import(1, 1000);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	drop(1);
	arena_get_stats(arena, &stats);
	cr_assert_eq(stats.live_bytes, stats.leased_bytes);
	device_lost(&gpu);
	cr_assert_not(version_revive(&trace, value_of(2)));
}

Test(device, kept_operations_do_not_hinder_writing_in_place)
{
	struct storage *s;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	s = storage_of(1);
	slice(3, 1, 10, 5);
	import(4, 5);
	assign(3, 4);
	run(1, &gpu);
	cr_assert_eq(storage_of(1), s);
}

/* As the pipeline does: what an input has to be made of again is cut out anew. */
static void run_again(uint32_t id)
{
	struct job *j = job_for(id, &gpu);

	while (ready(j, NULL) == JOB_STOP) {
		cr_assert_eq(err.code, E_CANCELLED, "%s", err.text);
		settle(j, JOB_CANCELLED);
		j = job_for(id, &gpu);
	}
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK);
	settle(j, JOB_DONE);
}

Test(device, results_that_share_a_step_are_made_again_one_by_one)
{
	import(1, 10000); /* small ones would come along */
	unary(OP_SQRT, 2, 1);
	unary(OP_SIN, 3, 2);
	unary(OP_COS, 4, 2);
	run(4, &gpu);
	run(3, &gpu);
	device_lost(&gpu);
	cr_assert(version_revive(&trace, value_of(4)));
	run_again(4);
	cr_assert(version_revive(&trace, value_of(3)));
	run_again(3);
	drop(2);
	drop(1);
	cr_assert_eq(trace.nremote, 0);
}

/* Value 2 has no name, and is kept apart from what is to be run to make 3 again; 4 reads it. */
Test(device, what_goes_along_is_looked_for_behind_what_is_in_the_list)
{
	struct node *n;

	import(1, LIMIT_RECIPE_BYTES / 8 + 1);
	unary(OP_NEGATIVE, 2, 1);
	unary(OP_SQRT, 3, 2);
	unary(OP_SIN, 4, 2);
	unary(OP_COS, 5, 1);
	unary(OP_SIN, 6, 1);
	drop(2);
	run(3, &gpu);
	n = value_of(4)->node->in[0].version->node;
	cr_assert(n && n->apart);
	n->newer = (struct node *)1; /* of a list that it is not in */
	run(4, &gpu);
	run(5, &gpu);
	run(6, &gpu);
	cr_assert_eq(value_of(4)->state, VERSION_STORED);
}

Test(device, what_was_only_there_is_lost_by_name)
{
	struct partition *none = NULL;
	struct version *v;
	struct job *j;

	import(1, 100);
	sum(2, 1);
	run(2, &gpu);
	device_lost(&gpu);
	cr_assert_eq(gpu.lost, 1);
	cr_assert(storage_lost(storage_of(2)));
	cr_assert_not(storage_lost(storage_of(1)));
	unary(OP_SIN, 3, 2);
	j = job_for(3, &gpu);
	cr_assert_eq(ready(j, NULL), JOB_STOP);
	cr_assert_eq(err.code, E_CANCELLED, "what does not depend on it can be had");
	cr_assert_eq(value_of(2)->state, VERSION_FAILED);
	cr_assert(strstr(value_of(2)->error->text, "cuda:0"), "%s", value_of(2)->error->text);
	settle(j, JOB_CANCELLED);
	v = value_of(3);
	demand_partition(&none, &trace, &v, 1, false);
	cr_assert_null(none);
	cr_assert_eq(v->state, VERSION_FAILED);
	cr_assert_eq(v->error->code, E_LOST);
}

Test(device, an_input_that_did_not_arrive_makes_the_reader_pending_again)
{
	struct job *first, *second;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	first = bound(2, &gpu);
	unary(OP_SIN, 3, 1);
	second = bound(3, &gpu);
	cr_assert_eq(second->run.nbefore, 0, "the first carries it");
	settle(first, JOB_CANCELLED);
	cr_assert_eq(job_inputs(second, &err), E_CANCELLED);
	settle(second, JOB_CANCELLED);
	second = bound(3, &gpu);
	cr_assert_eq(second->run.nbefore, 1);
	settle(second, JOB_DONE);
}

Test(device, half_written_value_is_nobodys)
{
	struct storage *s;
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	s = storage_of(2);
	slice(3, 2, 10, 5);
	import(4, 5);
	assign(3, 4);
	j = bound(2, &gpu);
	cr_assert_eq(storage_ref(storage_of(2)), s, "in place");
	err_set(&err, E_LOST, "the run failed");
	settle(j, JOB_FAILED);
	cr_assert(storage_lost(s));
	storage_unref(&trace, s);
}

Test(device, room_is_made_of_what_the_host_has_as_well)
{
	struct mirror *victim;

	import(1, 60000);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	cr_assert_eq(gpu.used, 960000);
	cr_assert_eq(device_make_room(&gpu, 1 << 20, &victim), ROOM_LATER);
	cr_assert_eq(victim, storage_of(2)->mirror);
	cr_assert_null(storage_of(1)->mirror, "the input is on the host");
	fetch(storage_of(2));
	cr_assert_eq(device_make_room(&gpu, 1 << 20, &victim), ROOM_YES);
	cr_assert_eq(gpu.used, 0);
	cr_assert_eq(device_make_room(&gpu, (1 << 20) + 1, &victim), ROOM_NEVER);
	cr_assert_eq(gpu.spills, 2);
}

Test(device, what_is_stuck_is_passed_over)
{
	struct mirror *victim;

	import(1, 40000);
	unary(OP_SQRT, 2, 1);
	unary(OP_SQUARE, 3, 1);
	run(2, &gpu);
	run(3, &gpu);
	cr_assert_eq(device_make_room(&gpu, 1 << 20, &victim), ROOM_LATER);
	cr_assert_eq(victim, storage_of(2)->mirror);
	victim->stuck = 1;
	cr_assert_eq(device_make_room(&gpu, 1 << 20, &victim), ROOM_LATER);
	cr_assert_eq(victim, storage_of(3)->mirror);
	victim->stuck = 1;
	cr_assert_eq(device_make_room(&gpu, 1 << 20, &victim), ROOM_LATER);
	cr_assert_null(victim);
	cr_assert_eq(device_make_room(&gpu, 400000, &victim), ROOM_YES, "beside them");
	cr_assert_eq(gpu.used, 640000);
}

Test(device, room_that_jobs_use_is_waited_for)
{
	struct mirror *victim;
	struct job *j;

	import(1, 60000);
	unary(OP_SQRT, 2, 1);
	j = bound(2, &gpu);
	cr_assert_eq(device_make_room(&gpu, 500000, &victim), ROOM_LATER);
	cr_assert_null(victim);
	settle(j, JOB_DONE);
}

Test(device, array_without_content_needs_no_copy)
{
	struct job *j;

	import(1, 0);
	unary(OP_SQRT, 2, 1);
	value_of(2)->asked = 1;
	j = bound(2, &gpu);
	cr_assert_eq(j->run.nbefore + j->run.nafter, 0);
	settle(j, JOB_DONE);
	value_of(2)->asked = 0;
	cr_assert(storage_of(2)->host);
}

/* ---- Two GPUs ---- */

/* What carry.c does when all goes well. */
static void carry(struct storage *s, struct device *to)
{
	struct mirror *m = mirror_use(to, &trace, s, 1);

	cr_assert_not_null(m);
	m->valid = 1;
	mirror_release(m);
}

/* Array 2 lies on the first one only, 3 is to be computed from it on the second. */
static struct job *wanted_there(void)
{
	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	unary(OP_SIN, 3, 2);
	return job_for(3, &gpu2);
}

static void give_up(struct job *j)
{
	settle(j, JOB_CANCELLED);
}

Test(device, a_value_goes_to_another_device_past_the_host)
{
	struct job *j = wanted_there();
	struct storage *want = NULL;

	cr_assert_eq(ready(j, &want), JOB_CARRY_FIRST);
	cr_assert_eq(want, storage_of(2));
	want->carrying = CARRYING_VALUE;
	cr_assert_eq(ready(j, &want), JOB_WAIT);
	want->carrying = CARRYING_NOTHING;
	carry(want, &gpu2);
	cr_assert_eq(ready(j, &want), JOB_GO);
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK);
	cr_assert_eq(j->run.nbefore, 0);
	settle(j, JOB_DONE);
	cr_assert(mirror_on(storage_of(2), &gpu)->valid && mirror_on(storage_of(2), &gpu2)->valid);
	cr_assert(mirror_on(storage_of(3), &gpu2)->valid && !mirror_on(storage_of(3), &gpu));
}

Test(device, by_the_host_where_the_other_is_not_reached)
{
	struct job *j = wanted_there();
	struct storage *want = NULL;

	gpu2.peers = 2;
	cr_assert_eq(ready(j, &want), JOB_FETCH_FIRST);
	gpu2.peers = 1;
	gpu.exports = false;
	cr_assert_eq(ready(j, &want), JOB_FETCH_FIRST);
	gpu.exports = true;
	gpu2.peer[1].refused = 3;
	cr_assert_eq(ready(j, &want), JOB_FETCH_FIRST);
	gpu2.peer[1].refused = 2;
	cr_assert_eq(ready(j, &want), JOB_CARRY_FIRST);
	want->by_host = 1;
	cr_assert_eq(ready(j, &want), JOB_FETCH_FIRST);
	gpu.state = DEVICE_STARTING;
	want->by_host = 0;
	cr_assert_eq(ready(j, &want), JOB_FETCH_FIRST);
	cr_assert_not(device_reaches(&gpu, &gpu));
	give_up(j);
}

Test(device, a_device_that_dies_takes_its_own_copies_only)
{
	struct job *j = wanted_there();

	carry(storage_of(2), &gpu2);
	device_lost(&gpu);
	cr_assert_eq(gpu.lost, 0, "the other one has it");
	cr_assert_not(storage_lost(storage_of(2)));
	cr_assert_eq(ready(j, NULL), JOB_GO);
	give_up(j);
	device_lost(&gpu2);
	cr_assert_eq(gpu2.lost, 1);
	cr_assert(storage_lost(storage_of(2)));
}

Test(device, who_writes_in_place_waits_for_readers_elsewhere_and_outdates_them)
{
	struct job *reader, *writer;
	struct storage *s;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	s = storage_of(2);
	carry(s, &gpu2);
	unary(OP_SIN, 3, 2);
	reader = bound(3, &gpu2);
	mirror_on(s, &gpu2)->users++; /* another one */
	settle(reader, JOB_DONE);
	slice(4, 2, 10, 5);
	import(5, 5);
	assign(4, 5);
	writer = job_for(2, &gpu);
	cr_assert_eq(ready(writer, NULL), JOB_WAIT);
	mirror_release(mirror_on(s, &gpu2));
	cr_assert_eq(ready(writer, NULL), JOB_GO);
	cr_assert_eq(job_bind(writer, &trace, 7, &err), OK);
	settle(writer, JOB_DONE);
	cr_assert_eq(storage_of(2), s, "it was written in place");
	cr_assert(mirror_on(s, &gpu)->valid);
	cr_assert_null(mirror_on(s, &gpu2));
}

Test(device, what_another_device_has_goes_without_a_fetch)
{
	struct mirror *victim = NULL;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	cr_assert_eq(device_make_room(&gpu, gpu.capacity, &victim), ROOM_LATER);
	cr_assert_eq(victim, mirror_on(storage_of(2), &gpu));
	carry(storage_of(2), &gpu2);
	cr_assert_eq(device_make_room(&gpu, gpu.capacity, &victim), ROOM_YES);
	cr_assert_null(victim);
	cr_assert(mirror_source(storage_of(2))->device == &gpu2);
}

Test(device, inputs_that_are_there_stay_while_room_is_made)
{
	struct job *j = wanted_there();
	struct mirror *victim = NULL;

	carry(storage_of(2), &gpu2);
	job_keep_inputs(j, 1);
	cr_assert_eq(device_make_room(&gpu2, gpu2.capacity, &victim), ROOM_LATER);
	job_keep_inputs(j, -1);
	cr_assert_not_null(mirror_on(storage_of(2), &gpu2));
	cr_assert_eq(device_make_room(&gpu2, gpu2.capacity, &victim), ROOM_YES);
	cr_assert_null(mirror_on(storage_of(2), &gpu2));
	give_up(j);
}

Test(device, what_the_client_writes_itself_is_nowhere_else)
{
	struct storage *s;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	s = storage_of(2);
	carry(s, &gpu2);
	fetch(s);
	s->carrying = CARRYING_VALUE;
	mirror_outdate(s, NULL);
	cr_assert_eq(s->carrying, CARRYING_OLD);
	cr_assert_null(mirror_source(s));
	s->carrying = CARRYING_NOTHING;
}

Test(device, memory_that_others_may_have_counts_as_it_is)
{
	struct mirror *victim = NULL, *m;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	run(2, &gpu);
	m = mirror_on(storage_of(2), &gpu);
	mirror_resize(m, 2 << 20);
	cr_assert_gt(gpu.used, gpu.capacity);
	m->users++;
	cr_assert_eq(device_make_room(&gpu, 8, &victim), ROOM_LATER);
	m->users--;
	drop(2);
	cr_assert_leq(gpu.used, 1600);
}
