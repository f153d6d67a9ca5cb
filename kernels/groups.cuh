/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/groups.cuh - reductions where a few threads, a group, take a block of the tree.
 *
 * Behind tree.cuh, whose K this is about too.  A thread has several lanes: next to each other
 * in memory, which one access moves, or apart.  A warp takes several blocks of a piece, or
 * several pieces of one block: short rows. */

/* How the lanes lie on a group's threads: K::vector next to each other, which one access
 * moves; or four apart, so that threads next to each other read next to each other. */
template <class K> struct bz_wide {
	enum { lanes = K::vector, threads = BZ_PAIRS / lanes, apart = 1, first = lanes, unroll = 2 };

	template <class I, int ODD>
	static __device__ __forceinline__ void points(const typename K::params &A,
						      typename K::template place<I> at, I r,
						      typename K::lanes *acc)
	{
		K::template points<I, ODD>(A, at, r, acc);
	}
};
template <class K> struct bz_thin {
	enum { lanes = 4, threads = BZ_PAIRS / lanes, apart = threads, first = 1, unroll = K::unroll };

	template <class I, int ODD>
	static __device__ __forceinline__ void points(const typename K::params &A,
						      typename K::template place<I> at, I r,
						      typename K::lanes *acc)
	{
#pragma unroll
		for (int m = 0; m < lanes; m++)
			K::template point<I, ODD>(A, at, r + m * apart, acc[m]);
	}
};

/* The lanes that a group's threads have, folded; the value is its first thread's. */
template <class K, class L> BZ_FN typename K::reds bz_group_fold(typename K::reds *v)
{
	/* Halves lie on other threads first where a thread's own lanes are neighbours. */
#pragma unroll
	for (int w = L::threads / 2; L::apart == 1 && w; w /= 2)
#pragma unroll
		for (int m = 0; m < L::lanes; m++)
			v[m] = K::join(v[m], K::down(v[m], w));
#pragma unroll
	for (int w = L::lanes / 2; w; w /= 2)
#pragma unroll
		for (int m = 0; m < w; m++)
			v[m] = K::join(v[m], v[m + w]);
#pragma unroll
	for (int w = L::threads / 2; L::apart != 1 && w; w /= 2)
		v[0] = K::join(v[0], K::down(v[0], w));
	return v[0];
}

/* The first n elements of a block by a group, whose lanes begin at `from`. */
template <class K, class I, class L>
BZ_FN typename K::reds bz_group_block(const typename K::params &A,
				      typename K::template place<I> at, I first, int n)
{
	const int from = (threadIdx.x & (L::threads - 1)) * L::first, whole = n & ~63;
	const int left = n - whole - from;
	typename K::lanes acc[L::lanes];
	typename K::reds v[L::lanes];

#pragma unroll
	for (int m = 0; m < L::lanes; m++)
		K::begin(acc[m]);
	first += from;
#pragma unroll L::unroll
	for (int e = 0; e < whole; e += 64) {
		L::template points<I, 0>(A, at, first + e, acc);
		L::template points<I, 1>(A, at, first + e + 32, acc);
	}
	if (whole < n) {
		first += whole;
#pragma unroll
		for (int m = 0; m < L::lanes; m++) {
			if (m * L::apart < left)
				K::template point<I, 0>(A, at, first + m * L::apart, acc[m]);
			if (m * L::apart + 32 < left)
				K::template point<I, 1>(A, at, first + m * L::apart + 32, acc[m]);
		}
	}
#pragma unroll
	for (int m = 0; m < L::lanes; m++)
		v[m] = K::pair(acc[m]);
	__syncwarp();
	return bz_group_fold<K, L>(v);
}

/* The elements that block b of a piece has; none where there is no such block. */
BZ_FN int bz_block_size(int size, int b)
{
	const int left = size - b * BZ_BLOCK;

	return left < 0 ? 0 : left < BZ_BLOCK ? left : BZ_BLOCK;
}

/* A piece of `size` elements.  team 0: of one block, by a group alone.  Else by so many warps,
 * each with a block for each of its groups, which combine; values go to `room`. */
template <class K, class I, class L>
BZ_FN typename K::reds bz_group_blocks(const typename K::params &A,
				       typename K::template place<I> at, I first, int size,
				       int team, int seat, typename K::reds *room)
{
	enum { groups = 32 / L::threads };
	const int lane = threadIdx.x & 31, group = team ? lane / L::threads : 0;
	const int blocks = team ? (size + BZ_BLOCK - 1) / BZ_BLOCK : 1;
	typename K::reds v;

	for (int b = seat * groups; b < blocks; b += team * groups) {
		v = bz_group_block<K, I, L>(A, at, first + (b + group) * BZ_BLOCK,
					    bz_block_size(size, b + group));
		if (!team)
			break;
		for (int w = 1; w < groups; w *= 2) {
			const typename K::reds other = K::down(v, w * L::threads);

			if (b + group + w < blocks)
				v = K::join(v, other);
		}
		if (!lane)
			room[b / groups] = v;
	}
	return v;
}

/* Tasks are pieces of points.  Of one block: a group takes each.  Of more: `team` warps share
 * one, each taking every team-th of its runs of blocks, at most 8 of them. */
template <class K, class I, class L> BZ_FN void bz_reduce_groups(const typename K::params &A)
{
	enum { groups = 32 / L::threads };
	__shared__ typename K::reds room[64];
	const bool single = 1 << A.h.piece == BZ_BLOCK;
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	const int team = single ? 1 : A.h.team, teams = (int)blockDim.x / 32 / team;
	const int seat = warp % team, table = warp / team, each = single ? groups : 1;
	const int own = table * each + (single ? lane / L::threads : 0);
	const int speaks = single ? lane & (L::threads - 1) : lane; /* 0: delivers */
	const bz_i64 n = K::reduced(A), per = A.h.chi - A.h.clo, step = (bz_i64)teams * each;
	const bz_i64 tasks = (A.h.hi - A.h.lo) * per, turn = each * bz_most_of_piece(A.h, n);
	typename K::reds *mine = room + table * 8 * team;
	int since = 0;

	for (bz_i64 t = blockIdx.x * step; t < tasks; t += gridDim.x * step) {
		if (bz_stopped(A.h, &since, turn))
			return;
		const bool busy = t + own < tasks;
		bz_i64 c;
		const bz_i64 p = A.h.lo + bz_task(busy ? t + own : t, per, &c);
		const int size = busy ? bz_piece_size(A.h, n, A.h.clo + c) : 0;
		typename K::reds v = bz_group_blocks<K, I, L>(
			A, K::template decode<I>(A, (I)p), (I)((A.h.clo + c) << A.h.piece), size,
			single ? 0 : team, seat, mine);

		bz_meet(team);
		if (!seat && size > groups * BZ_BLOCK)
			v = bz_warp_combine<K>(mine, (size + groups * BZ_BLOCK - 1) /
							     (groups * BZ_BLOCK));
		if (busy && !seat && !speaks)
			bz_deliver<K, I>(A, p, A.h.clo + c, n, v);
		bz_meet(team);
	}
}
