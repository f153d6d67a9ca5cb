/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps follow which, and the streams they are given. */
#include "cuda/cuda_order.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 32 };

static struct cuda_order o;

static void add(uint64_t in, uint64_t out, uint32_t blocks, uint64_t turns)
{
	struct cuda_order_range r[2] = {{in, in + 10, false}, {out, out + 10, true}};

	cuda_order_add(&o, r, 2, blocks, turns);
}

static bool after(uint32_t i, uint32_t k)
{
	return cuda_order_has(&o.step[i].after, k);
}

static void finish(void)
{
	cuda_order_finish(&o);
}

TestSuite(cuda_order, .fini = finish);

Test(cuda_order, true_anti_and_output_dependences)
{
	add(100, 200, 1, 1);
	add(200, 300, 1, 1); /* reads what 0 writes */
	add(400, 100, 1, 1); /* writes what 0 reads */
	add(500, 205, 1, 1); /* writes what 0 writes and 1 reads */
	add(100, 600, 1, 1); /* reads what 2 writes */
	add(210, 700, 1, 1); /* a neighbour of 200..210; of 205..215 it is none */
	cr_assert(after(1, 0));
	cr_assert(after(2, 0) && !after(2, 1));
	cr_assert(after(3, 1) && !after(3, 0), "0 comes before 1 anyway");
	cr_assert(cuda_order_has(&o.step[3].behind, 0));
	cr_assert(after(4, 2) && !after(4, 0) && !after(4, 3));
	cr_assert(after(5, 3) && !after(5, 0));
}

Test(cuda_order, readers_do_not_wait_for_each_other)
{
	add(100, 200, 1, 1);
	add(100, 300, 1, 1);
	cr_assert(!after(1, 0));
}

/* Every pair that meets is ordered, directly or by others: random steps. */
Test(cuda_order, closure_has_every_conflict)
{
	srand(7);
	for (int turn = 0; turn < 50; turn++) {
		uint64_t in[CUDA_ORDER_STEPS], out[CUDA_ORDER_STEPS];

		cuda_order_clear(&o);
		for (uint32_t i = 0; i < CUDA_ORDER_STEPS; i++) {
			in[i] = (uint64_t)(rand() % 600);
			out[i] = (uint64_t)(rand() % 600);
			add(in[i], out[i], 1, 1 + (uint64_t)(rand() % 200));
		}
		cuda_order_spread(&o, BLOCKS);
		for (uint32_t i = 0; i < CUDA_ORDER_STEPS; i++) {
			cr_assert_lt(o.step[i].stream, CUDA_ORDER_STREAMS);
			for (uint32_t k = 0; k < i; k++) {
				bool meet = (out[k] < out[i] + 10 && out[i] < out[k] + 10) ||
					    (out[k] < in[i] + 10 && in[i] < out[k] + 10) ||
					    (in[k] < out[i] + 10 && out[i] < in[k] + 10);

				cr_assert(!meet || cuda_order_has(&o.step[i].behind, k));
				cr_assert(!after(i, k) || meet);
			}
		}
	}
}

Test(cuda_order, independent_long_steps_get_streams)
{
	for (uint64_t i = 0; i < 6; i++)
		add(1000 + 100 * i, 2000 + 100 * i, 2, 1000);
	cr_assert_eq(cuda_order_spread(&o, BLOCKS), CUDA_ORDER_STREAMS);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(o.step[i].stream, i);
}

/* A chain stays on its stream: it needs no event. */
Test(cuda_order, chains_stay_together)
{
	for (uint64_t i = 0; i < 6; i++)
		add(1000 + i % 2 * 5000 + 100 * (i / 2), 1100 + i % 2 * 5000 + 100 * (i / 2), 2,
		    1000);
	cr_assert_eq(cuda_order_spread(&o, BLOCKS), 2);
	for (uint32_t i = 0; i < 6; i++)
		cr_assert_eq(o.step[i].stream, i % 2);
}

Test(cuda_order, what_does_not_pay_stays_on_one_stream)
{
	add(100, 200, BLOCKS, 1000); /* fills the device */
	add(300, 400, BLOCKS / 2 + 1, 1000);
	add(500, 600, 1, CUDA_ORDER_TURNS - 1); /* is over at once */
	add(700, 800, 1, 1000);
	cr_assert_eq(cuda_order_spread(&o, BLOCKS), 1);
	/* One more of the right kind, but it follows the only other one. */
	add(800, 900, 1, 1000);
	cr_assert_eq(cuda_order_spread(&o, BLOCKS), 1);
	add(1000, 1100, BLOCKS / 2, CUDA_ORDER_TURNS);
	cr_assert_gt(cuda_order_spread(&o, BLOCKS), 1);
	cr_assert_eq(o.step[0].stream, 0);
	cr_assert_eq(o.step[3].stream, o.step[4].stream);
	cr_assert_neq(o.step[4].stream, o.step[5].stream);
}
