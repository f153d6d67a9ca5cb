/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/call.cuh - what library steps on a GPU share, after the CUDA prologue; one of scan.cuh,
 * mask.cuh, draw.cuh, search.cuh, sort.cuh and sparse.cuh follows.
 *
 * A step has up to three entries, which are launched one behind the other:
 *
 *   bz_call         its units [lo, hi), by themselves
 *   bz_call_join    what units hand on, one after the other or, launched again and again, two by two
 *   bz_call_spread  what was handed on to each unit's elements
 *
 * Bits are those of the processor's loops (kernels/loops/), whose definitions are repeated here. */

/* contract/cuda_abi.h's struct cuda_call_args. */
struct bz_call_args {
	bz_i64 lo, hi;
	bz_u64 cancel, error, part;
	bz_u32 nloop, piece;
	bz_i64 extent[8];
	struct {
		bz_address base;
		bz_i64 stride[8];
	} operand[4];
};

#define BZ_ENTRY(name, threads, body)                                                              \
	extern "C" __global__ void __launch_bounds__(threads) name(const bz_call_args A)          \
	{                                                                                          \
		body;                                                                              \
	}

BZ_FN bool bz_cancelled(const bz_call_args &A)
{
	return *(const volatile bz_u32 *)A.cancel != 0;
}
/* The same, asked by all threads of a block. */
BZ_FN bool bz_all_cancelled(const bz_call_args &A)
{
	return __syncthreads_or(!threadIdx.x && bz_cancelled(A));
}
/* What was told of the operands is wrong: the run fails. */
BZ_FN void bz_wrong(const bz_call_args &A)
{
	*(volatile bz_u64 *)A.error = 0;
}

/* x before thread's own of a block of BZ_THREADS threads, summed; *all: of the whole block.  `room`
 * has a place for each warp, and is free again when every thread is back. */
template <class T> BZ_FN T bz_sum_before(T x, T *room, T *all)
{
	const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	T sum = x, before = 0, total = 0;

	for (int w = 1; w < 32; w *= 2) {
		const T other = __shfl_up_sync(0xffffffffu, sum, w);

		if (lane >= w)
			sum += other;
	}
	if (lane == 31)
		room[warp] = sum;
	__syncthreads();
	for (int w = 0; w < BZ_WARPS; w++) {
		if (w < warp)
			before += room[w];
		total += room[w];
	}
	__syncthreads();
	*all = total;
	return before + sum - x;
}

/* Does x come before y?  nans come last, complex numbers go by their real part first. */
template <class T> BZ_FN bool bz_before(T x, T y)
{
	if constexpr (bz_type<T>::is_complex) {
		const int cx = (x.re != x.re) * 2 + (x.im != x.im);
		const int cy = (y.re != y.re) * 2 + (y.im != y.im);
		const bool less = bz_before(x.re, y.re), more = bz_before(y.re, x.re);

		return cx < cy || (cx == cy && (less || (!more && bz_before(x.im, y.im))));
	} else if constexpr (bz_same<T, bz_f16>::yes) {
		return bz_before(bz_widen(x), bz_widen(y));
	} else if constexpr (bz_type<T>::is_float) {
		return x < y || (y != y && x == x);
	} else {
		return x < y;
	}
}

/* ---- Lanes: the last loop is their axis, the others count them ---- */

/* Where a lane of operand x begins. */
BZ_FN bz_address bz_lane(const bz_call_args &A, bz_i64 lane, int x)
{
	bz_address p = A.operand[x].base;

	for (int l = (int)A.nloop - 2; l >= 0; l--) {
		const bz_i64 q = bz_over(lane, A.extent[l]);

		p += (lane - q * A.extent[l]) * A.operand[x].stride[l];
		lane = q;
	}
	return p;
}
BZ_FN bz_i64 bz_lanes_of(const bz_call_args &A)
{
	bz_i64 n = 1;

	for (int l = 0; l + 1 < (int)A.nloop; l++)
		n *= A.extent[l];
	return n;
}
