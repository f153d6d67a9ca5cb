/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/grid.cuh - what loops of users' kernels (emit/emit_cuda_grid.c) are made of, after the
 * CUDA prologue.
 *
 * A thread does turns of the loops that are shared out; whatever index it computes is looked at
 * before it is used, as somebody else's arrays lie in the same memory. */

/* enum cuda_fault of contract/cuda_abi.h: the run fails, and this thread does no more. */
BZ_FN void bz_grid_outside(bz_u64 error)
{
	*(volatile bz_u64 *)error = 2;
}
BZ_FN void bz_grid_no_step(bz_u64 error)
{
	*(volatile bz_u64 *)error = 3;
}

/* Asked at the end of each turn of a loop. */
BZ_FN bool bz_grid_stopped(bz_u64 cancel, bz_u32 &turn)
{
	return !(++turn & 4095) && *(const volatile bz_u32 *)cancel != 0;
}

/* An index as the number from the first element on; false: there is no such (lang_index). */
template <int BASE> BZ_FN bool bz_grid_index(bz_i64 &i, bz_i64 extent)
{
	i = (bz_i64)((bz_u64)i + (bz_u64)(i < 0 ? extent : -(bz_i64)BASE));
	return (bz_u64)i < (bz_u64)extent;
}

/* Turns of a loop from a to b by step; 0 where that is 0. */
BZ_FN bz_u64 bz_grid_turns(bz_i64 a, bz_i64 b, bz_i64 step)
{
	if (step == 1)
		return a < b ? (bz_u64)b - (bz_u64)a : 0;
	if (step > 0 && a < b)
		return ((bz_u64)b - (bz_u64)a - 1) / (bz_u64)step + 1;
	if (step < 0 && a > b)
		return ((bz_u64)a - (bz_u64)b - 1) / (0 - (bz_u64)step) + 1;
	return 0;
}

/* The number of turn i. */
BZ_FN bz_i64 bz_grid_number(bz_i64 start, bz_u64 i, bz_i64 step)
{
	return (bz_i64)((bz_u64)start + i * (bz_u64)step);
}

/* Threads along a loop of so many turns at least, and at most. */
BZ_FN bz_u64 bz_grid_wide(bz_u64 now, bz_u64 turns, bz_u64 most)
{
	turns = turns < most ? turns : most;
	return turns > now ? turns : now;
}

/* What is left of q by n; q becomes the rest of it. */
BZ_FN bz_u64 bz_grid_split(bz_u64 &q, bz_u64 n)
{
	const bz_u64 all = q;

	q = (all | n) >> 32 ? all / n : (bz_u64)((bz_u32)all / (bz_u32)n);
	return all - q * n;
}

/* Where part k of so many begins; part `total`: where all end. */
BZ_FN bz_u64 bz_grid_part(bz_u64 all, bz_u64 k, bz_u64 total)
{
	const bz_u64 each = total > 1 ? (all - 1) / total + 1 : all;

	return k < total && k * each < all ? k * each : all;
}
