/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a step goes into a packet. */
#define _GNU_SOURCE
#include "executor_fixture.h"

/* A second client comes: from now on the first one's packets are short, and none waits
 * behind the one that runs. */
Test(slices, are_small_and_one_at_a_time_while_clients_share_the_cpu, .timeout = 120)
{
	struct bench b;
	struct work *big = work_create(1), *small = work_create(2);
	enum { N = 2000000 };
	uint32_t seen = 0;

	bench_open(&b);
	cr_assert_not(schedule_shared(b.x));
	work_step(big, &b.kernel[SLOW], N, 0, N * 8, 1, 2000000);
	executor_submit(b.x, &big->job);
	while (stats(&b).slices < 4)
		uv_run(&b.loop, UV_RUN_ONCE);
	cr_assert_not(schedule_shared(b.x), "alone");
	work_step(small, &b.kernel[ADD], 100, N * 16, N * 16 + 800, 3, 1);
	executor_submit(b.x, &small->job);
	cr_assert(schedule_shared(b.x));
	wait_end(&b, small);
	while (!big->ended && seen < 5) {
		uint64_t slices = stats(&b).slices;
		bool shared = schedule_shared(b.x) && b.x->nflight <= 1;

		uv_run(&b.loop, UV_RUN_ONCE);
		if (!shared || !schedule_shared(b.x) || stats(&b).slices == slices)
			continue;
		cr_assert_eq(b.x->nflight, 1);
		cr_assert_leq(b.x->flight[0].cost_us, SHARED_SLICE_US);
		seen++;
	}
	executor_cancel(b.x, &big->job);
	wait_end(&b, big);
	free(big);
	free(small);
	bench_close(&b);
}
