/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scan.cuh - running sums, products and extremes, after call.cuh.
 *
 * As loops/scan.h defines them: a lane's blocks of BZ_BLOCK elements by themselves, one element
 * after the other; then each block's last result is added to that of the block before, and this
 * to the block's other elements.  A thread has a block of a lane.  Where elements of a lane lie
 * side by side a warp's 32 blocks go through shared memory, 32 elements of each at a time, so that
 * they are moved whole lines at a time. */

#define BZ_SCAN_THREADS 64 /* of bz_call: two warps, whose tiles of 16 byte elements have room */

template <class T> struct bz_scan_lane {
	bz_address from, to;
	bz_i64 from_step, to_step, n;

	/* Block `block` of a lane; nothing of it where the lane is none. */
	__device__ __forceinline__ bz_scan_lane(const bz_call_args &A, bz_i64 lane, bz_i64 lanes,
						bz_i64 block)
	{
		const int axis = (int)A.nloop - 1;
		const bz_i64 left = A.extent[axis] - block * BZ_BLOCK;

		from_step = A.operand[0].stride[axis];
		to_step = A.operand[1].stride[axis];
		n = lane >= lanes || left < 0 ? 0 : left < BZ_BLOCK ? left : BZ_BLOCK;
		if (!n)
			lane = block = 0;
		from = bz_lane(A, lane, 0) + block * BZ_BLOCK * from_step;
		to = bz_lane(A, lane, 1) + block * BZ_BLOCK * to_step;
	}
};

#define BZ_SCAN_AHEAD 8 /* elements that a thread has under way */

/* 32 elements of each of a warp's blocks, from `at` on, into its tile; behind an end whatever is there. */
template <class T> BZ_FN void bz_scan_fill(const bz_scan_lane<T> &mine, T (*tile)[33], bz_i64 at)
{
	const int lane = threadIdx.x & 31;

#pragma unroll 1
	for (int first = 0; first < 32; first += BZ_SCAN_AHEAD) {
		T v[BZ_SCAN_AHEAD];

#pragma unroll
		for (int k = 0; k < BZ_SCAN_AHEAD; k++) {
			const bz_i64 n = __shfl_sync(0xffffffffu, mine.n, first + k);
			const bz_address from =
				(bz_address)__shfl_sync(0xffffffffu, (bz_u64)mine.from, first + k);

			v[k] = T{};
			if (at + lane < n)
				v[k] = bz_ld<T>(from + (at + lane) * (bz_i64)sizeof(T));
		}
#pragma unroll
		for (int k = 0; k < BZ_SCAN_AHEAD; k++)
			tile[first + k][lane] = v[k];
	}
}

/* A warp's blocks, whose elements lie side by side, by way of its tile. */
template <class T, T (*OP)(T, T)>
BZ_FN void bz_scan_rows(const bz_scan_lane<T> &mine, T (*tile)[33], bz_i64 longest)
{
	const int lane = threadIdx.x & 31;
	T sum = {};

	for (bz_i64 at = 0; at < longest; at += 32) {
		bz_scan_fill<T>(mine, tile, at);
		__syncwarp();
#pragma unroll BZ_SCAN_AHEAD
		for (int i = 0; i < 32; i++) {
			const T x = tile[lane][i];

			sum = at + i ? OP(sum, x) : x;
			tile[lane][i] = sum;
		}
		__syncwarp();
#pragma unroll BZ_SCAN_AHEAD
		for (int r = 0; r < 32; r++) {
			const bz_i64 n = __shfl_sync(0xffffffffu, mine.n, r);
			const bz_address to = (bz_address)__shfl_sync(0xffffffffu, (bz_u64)mine.to, r);

			if (at + lane < n)
				bz_st<T>(to + (at + lane) * (bz_i64)sizeof(T), tile[r][lane]);
		}
		__syncwarp();
	}
}

/* A block whose elements are apart; neighbouring threads have neighbouring lanes. */
template <class T, T (*OP)(T, T)> BZ_FN void bz_scan_apart(const bz_scan_lane<T> &mine)
{
	bz_i64 i = 0;
	T sum = {};

#pragma unroll 1
	for (; i + BZ_SCAN_AHEAD <= mine.n; i += BZ_SCAN_AHEAD) {
		T v[BZ_SCAN_AHEAD];

#pragma unroll
		for (int k = 0; k < BZ_SCAN_AHEAD; k++)
			v[k] = bz_ld<T>(mine.from + (i + k) * mine.from_step);
#pragma unroll
		for (int k = 0; k < BZ_SCAN_AHEAD; k++) {
			sum = i + k ? OP(sum, v[k]) : v[k];
			bz_st<T>(mine.to + (i + k) * mine.to_step, sum);
		}
	}
#pragma unroll 1
	for (; i < mine.n; i++) {
		const T x = bz_ld<T>(mine.from + i * mine.from_step);

		sum = i ? OP(sum, x) : x;
		bz_st<T>(mine.to + i * mine.to_step, sum);
	}
}

template <class T, T (*OP)(T, T)> BZ_FN void bz_scan_blocks(const bz_call_args &A)
{
	__shared__ T tile[BZ_SCAN_THREADS / 32][32][33];
	const int axis = (int)A.nloop - 1;
	const bz_i64 lanes = bz_lanes_of(A), blocks = (A.extent[axis] + BZ_BLOCK - 1) / BZ_BLOCK;
	const bool rows = A.operand[0].stride[axis] == sizeof(T) &&
			  A.operand[1].stride[axis] == sizeof(T);
	const bz_i64 all = lanes * blocks, longest = A.extent[axis] < BZ_BLOCK ? A.extent[axis] : BZ_BLOCK;

	for (bz_i64 at = (bz_i64)blockIdx.x * blockDim.x; at < all; at += (bz_i64)gridDim.x * blockDim.x) {
		if (bz_all_cancelled(A))
			return;
		/* Neighbours are blocks of a lane where its elements lie side by side, else lanes. */
		const bz_i64 item = at + threadIdx.x, q = bz_over(item, rows ? blocks : lanes);
		const bz_i64 r = item - q * (rows ? blocks : lanes);
		const bz_scan_lane<T> mine(A, rows ? q : r, lanes, rows ? r : q);

		if (rows)
			bz_scan_rows<T, OP>(mine, tile[threadIdx.x / 32], longest);
		else
			bz_scan_apart<T, OP>(mine);
	}
}

template <class T> BZ_FN T bz_from_lane(T v, int lane)
{
	if constexpr (bz_type<T>::is_complex)
		return {bz_from_lane(v.re, lane), bz_from_lane(v.im, lane)};
	else if constexpr (sizeof(T) < 4)
		return (T)__shfl_sync(0xffffffffu, (bz_i32)v, lane);
	else
		return __shfl_sync(0xffffffffu, v, lane);
}

/* The last results of a lane's blocks in turn, by a warp: 32 of them at a time. */
template <class T, T (*OP)(T, T)> BZ_FN void bz_scan_join(const bz_call_args &A)
{
	const int axis = (int)A.nloop - 1, thread = threadIdx.x & 31;
	const bz_i64 n = A.extent[axis], step = A.operand[1].stride[axis];
	const bz_i64 lanes = bz_lanes_of(A), blocks = (n + BZ_BLOCK - 1) / BZ_BLOCK;
	const bz_i64 warps = (bz_i64)gridDim.x * (blockDim.x / 32);

	for (bz_i64 lane = (bz_i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; lane < lanes;
	     lane += warps) {
		const bz_address to = bz_lane(A, lane, 1);
		T sum = {};

		for (bz_i64 at = 0; at < blocks; at += 32) {
			const bz_i64 b = at + thread;
			const bz_i64 last = b == blocks - 1 ? n - 1 : b * BZ_BLOCK + BZ_BLOCK - 1;
			const T own = bz_ld<T>(to + (b < blocks ? last : 0) * step);
			T made = own;

			if (bz_cancelled(A))
				return;
			for (int k = 0; k < 32 && at + k < blocks; k++) {
				const T x = bz_from_lane(own, k);

				sum = at + k ? OP(sum, x) : x;
				if (k == thread)
					made = sum;
			}
			if (b && b < blocks)
				bz_st<T>(to + last * step, made);
		}
	}
}

/* Elements of blocks but for the first block and each one's last element. */
template <class T, T (*OP)(T, T)> BZ_FN void bz_scan_spread(const bz_call_args &A)
{
	const int axis = (int)A.nloop - 1;
	const bz_i64 n = A.extent[axis], step = A.operand[1].stride[axis], lanes = bz_lanes_of(A);
	const bool rows = step == sizeof(T);
	const bz_i64 rest = n - BZ_BLOCK, all = lanes * rest, turn = (bz_i64)gridDim.x * blockDim.x;

	for (bz_i64 i = (bz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += turn) {
		const bz_i64 q = bz_over(i, rows ? rest : lanes), r = i - q * (rows ? rest : lanes);
		const bz_i64 at = BZ_BLOCK + (rows ? r : q);
		const bz_address to = bz_lane(A, rows ? q : r, 1);

		if (bz_cancelled(A))
			return;
		if (at == n - 1 || at % BZ_BLOCK == BZ_BLOCK - 1)
			continue;
		bz_st<T>(to + at * step, OP(bz_ld<T>(to + (at / BZ_BLOCK * BZ_BLOCK - 1) * step),
					    bz_ld<T>(to + at * step)));
	}
}

#define BZ_SCAN(op, T)                                                                             \
	BZ_ENTRY(bz_call, BZ_SCAN_THREADS, (bz_scan_blocks<T, bz_##op<T>>(A)))                \
	BZ_ENTRY(bz_call_join, BZ_THREADS, (bz_scan_join<T, bz_##op<T>>(A)))                  \
	BZ_ENTRY(bz_call_spread, BZ_THREADS, (bz_scan_spread<T, bz_##op<T>>(A)))
