/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/mask.cuh - what a mask chooses, after call.cuh: ranks, elements, places, and reductions
 * that store nothing.
 *
 * A block of BZ_THREADS threads has a block of the mask (loops/compact.h): each of them looks at 16
 * bytes once, and all of them make a list of the places that are chosen, so that what is written
 * lies side by side.  Places are believed only where the ranks leave just as much room for them. */

#define BZ_RANK	       4096 /* elements of a block of the mask */
#define BZ_RANK_PART   (BZ_RANK / BZ_THREADS)
#define BZ_RANKS_EACH  8   /* of a thread of bz_call_join, at a time */
#define BZ_ROW_PIECE   256 /* elements of a row that a unit has */

struct bz_mask {
	bz_address at, ranks;
	bz_i64 n, step, rank_step, blocks, count; /* count: what the ranks must end with */

	/* Operand x is the mask along loop l, operand r the ranks along loop b. */
	__device__ __forceinline__ bz_mask(const bz_call_args &A, int x, int l, int r, int b)
	{
		at = A.operand[x].base;
		step = A.operand[x].stride[l];
		n = A.extent[l];
		ranks = A.operand[r].base;
		rank_step = A.operand[r].stride[b];
		blocks = A.extent[b];
		count = 0;
	}
	__device__ __forceinline__ bz_i64 rank(bz_i64 block) const
	{
		return block < 0 ? 0 : bz_ld<bz_i64>(ranks + block * rank_step);
	}
	/* Where the results of a block begin that chooses so many; -1: the ranks tell another
	 * number, or more than there is room for. */
	__device__ __forceinline__ bz_i64 begin(bz_i64 block, int chosen) const
	{
		const bz_i64 from = rank(block - 1), end = rank(block);

		if (from < 0 || end > count || from > end || end - from != chosen)
			return -1;
		return block == blocks - 1 && end != count ? -1 : from;
	}
	/* This thread's part of a block: bit i for its element i. */
	__device__ __forceinline__ bz_u32 bits(bz_i64 block) const
	{
		const bz_i64 first = block * BZ_RANK + threadIdx.x * BZ_RANK_PART;
		const bz_address p = at + first * step;
		bz_u32 out = 0;

		if (step == 1 && first + BZ_RANK_PART <= n && !((bz_u64)p & 15)) {
			const uint4 w = *(const uint4 *)p;
			const bz_u32 word[4] = {w.x, w.y, w.z, w.w};

#pragma unroll
			for (int i = 0; i < 4; i++) {
				/* The upper bit of each byte that is not 0, gathered to four. */
				const bz_u32 x = ((word[i] & 0x7f7f7f7fu) + 0x7f7f7f7fu | word[i]) &
						 0x80808080u;

				out |= ((x >> 7) * 0x10204080u >> 28) << 4 * i;
			}
			return out;
		}
		for (int i = 0; i < BZ_RANK_PART && first + i < n; i++)
			out |= (bz_u32)(*(const bz_u8 *)(p + i * step) != 0) << i;
		return out;
	}
	/* The places that a block chooses, in order; how many. */
	__device__ __forceinline__ int list(bz_u16 *places, int *room, bz_i64 block) const
	{
		bz_u32 left = bits(block);
		int all, at = bz_sum_before(__popc(left), room, &all);

		for (; left; left &= left - 1)
			places[at++] = (bz_u16)(threadIdx.x * BZ_RANK_PART + __ffs(left) - 1);
		__syncthreads();
		return all;
	}
};

/* ---- Ranks ---- */

BZ_FN void bz_ranks_count(const bz_call_args &A)
{
	__shared__ int room[BZ_WARPS];
	const bz_mask m(A, 0, 0, 1, 1);

	for (bz_i64 b = A.lo + blockIdx.x; b < A.hi; b += gridDim.x) {
		int all;

		if (bz_all_cancelled(A))
			return;
		bz_sum_before(__popc(m.bits(b)), room, &all);
		if (!threadIdx.x)
			bz_st<bz_i64>(m.ranks + b * m.rank_step, all);
	}
}

/* By one block, from the last rank of the slice before on. */
BZ_FN void bz_ranks_join(const bz_call_args &A)
{
	__shared__ bz_i64 room[BZ_WARPS];
	const bz_mask m(A, 0, 0, 1, 1);
	bz_i64 carry = m.rank(A.lo - 1);

	for (bz_i64 at = A.lo; at < A.hi; at += BZ_THREADS * BZ_RANKS_EACH) {
		const bz_i64 mine = at + threadIdx.x * BZ_RANKS_EACH;
		bz_i64 count[BZ_RANKS_EACH], sum = 0, all;

		if (bz_all_cancelled(A))
			return;
#pragma unroll
		for (int i = 0; i < BZ_RANKS_EACH; i++) {
			count[i] = mine + i < A.hi ? m.rank(mine + i) : 0;
			sum += count[i];
		}
		sum = carry + bz_sum_before(sum, room, &all);
#pragma unroll
		for (int i = 0; i < BZ_RANKS_EACH; i++) {
			sum += count[i];
			if (mine + i < A.hi)
				bz_st<bz_i64>(m.ranks + (mine + i) * m.rank_step, sum);
		}
		carry += all;
	}
}

/* ---- Elements ---- */

/* Loops: the mask, a row, the result's rows, the mask's blocks. */
template <class T> BZ_FN void bz_compact_all(const bz_call_args &A)
{
	enum { SOURCE, MASK, RANKS, RESULT };
	__shared__ bz_u16 places[BZ_RANK];
	__shared__ int room[BZ_WARPS];
	bz_mask m(A, MASK, 0, RANKS, 3);
	const bz_i64 inner = A.extent[1], pieces = (inner + BZ_ROW_PIECE - 1) / BZ_ROW_PIECE;

	m.count = A.extent[2];
	for (bz_i64 u = A.lo + blockIdx.x; u < A.hi; u += gridDim.x) {
		const bz_i64 block = bz_over(u, pieces), lo = (u - block * pieces) * BZ_ROW_PIECE;
		const int wide = inner - lo < BZ_ROW_PIECE ? (int)(inner - lo) : BZ_ROW_PIECE;
		const bz_address from = A.operand[SOURCE].base + lo * A.operand[SOURCE].stride[1];
		const bz_address to = A.operand[RESULT].base + lo * A.operand[RESULT].stride[1];

		if (bz_all_cancelled(A))
			return;
		const int all = m.list(places, room, block) * wide;
		const bz_i64 first = m.begin(block, all / wide);

		if (first < 0) {
			bz_wrong(A);
			continue;
		}
		for (int e = threadIdx.x; e < all; e += BZ_THREADS) {
			const int j = bz_over(e, wide), c = e - j * wide;

			bz_st<T>(to + (first + j) * A.operand[RESULT].stride[2] +
					 c * A.operand[RESULT].stride[1],
				 bz_ld<T>(from +
					  (block * BZ_RANK + places[j]) * A.operand[SOURCE].stride[0] +
					  c * A.operand[SOURCE].stride[1]));
		}
	}
}

/* ---- Places ---- */

/* Loops: the mask's axes, the result's rows, the mask's blocks, coordinates. */
BZ_FN void bz_places_all(const bz_call_args &A)
{
	enum { MASK, RANKS, RESULT };
	__shared__ bz_u16 places[BZ_RANK];
	__shared__ int room[BZ_WARPS];
	const int axes = (int)A.nloop - 3;
	bz_mask m(A, MASK, axes - 1, RANKS, axes + 1);

	for (int a = 0; a < axes - 1; a++)
		m.n *= A.extent[a];
	m.count = A.extent[axes];
	for (bz_i64 b = A.lo + blockIdx.x; b < A.hi; b += gridDim.x) {
		if (bz_all_cancelled(A))
			return;
		const int all = m.list(places, room, b);
		const bz_i64 first = m.begin(b, all);

		if (first < 0) {
			bz_wrong(A);
			continue;
		}
		for (int j = threadIdx.x; j < all; j += BZ_THREADS) {
			const bz_address to =
				A.operand[RESULT].base + (first + j) * A.operand[RESULT].stride[axes];
			bz_i64 rest = b * BZ_RANK + places[j];

			for (int a = axes - 1; a >= 0; a--) {
				const bz_i64 q = a ? bz_over(rest, A.extent[a]) : 0;

				bz_st<bz_i64>(to + a * A.operand[RESULT].stride[axes + 2],
					      rest - q * A.extent[a]);
				rest = q;
			}
		}
	}
}

/* ---- Reductions of what is chosen ---- */

/* K: types S of the source, L of the operation, T of the tree, R of the result; lanes, and what the
 * tree does.  A block of threads takes blocks of the tree, of which 2^piece make a partial result;
 * 2^piece is at most BZ_WARPS. */
template <class K> struct bz_chosen {
	typedef typename K::T T;
	enum { SOURCE, MASK, RANKS, RESULT };

	/* The tree's block that begins with chosen element `first`, of m elements, to `stage`. */
	BZ_FN bool gather(const bz_call_args &A, const bz_mask &mask, T *stage,
						      bz_u16 *places, int *room, bz_i64 first, int m)
	{
		bz_i64 block = 0;
		int have = 0;

		for (bz_i64 end = mask.blocks - 1; block < end;) {
			const bz_i64 mid = (block + end) / 2;

			if (mask.rank(mid) > first)
				end = mid;
			else
				block = mid + 1;
		}
		for (; have < m; block++) {
			if (block >= mask.blocks || bz_all_cancelled(A))
				return false;
			const int all = mask.list(places, room, block);
			const bz_i64 begin = mask.begin(block, all), skip = first + have - begin;

			if (begin < 0 || skip < 0 || skip > all)
				return false;
			const int take = all - (int)skip < m - have ? all - (int)skip : m - have;

			for (int j = threadIdx.x; j < take; j += BZ_THREADS)
				stage[have + j] = bz_cast<typename K::L, T>(bz_cast<typename K::S, typename K::L>(
					bz_ld<typename K::S>(A.operand[SOURCE].base +
							     (block * BZ_RANK + places[(int)skip + j]) *
								     A.operand[SOURCE].stride[0])));
			have += take;
		}
		__syncthreads();
		return true;
	}
	/* m elements of `stage` by a warp; the value is thread 0's. */
	BZ_FN T reduce(const T *stage, int m)
	{
		T acc[2] = {K::identity(), K::identity()}, v;

		for (int e = threadIdx.x & 31; e < m; e += 64) {
			acc[0] = K::next(acc[0], stage[e]);
			if (e + 32 < m)
				acc[K::lanes - 1] = K::next(acc[K::lanes - 1], stage[e + 32]);
		}
		v = K::lanes == 2 ? K::join(acc[0], acc[1]) : acc[0];
		for (int w = 16; w; w >>= 1)
			v = K::join(v, bz_down(v, w));
		return v;
	}
	BZ_FN bz_mask mask_of(const bz_call_args &A)
	{
		bz_mask m(A, MASK, 0, RANKS, 1);

		m.count = m.rank(m.blocks - 1);
		return m;
	}
	BZ_FN bz_i64 pieces(const bz_call_args &A, const bz_mask &m)
	{
		return (m.count + ((bz_i64)BZ_BLOCK << A.piece) - 1) / ((bz_i64)BZ_BLOCK << A.piece);
	}

	BZ_FN void blocks(const bz_call_args &A)
	{
		__shared__ bz_u16 places[BZ_RANK];
		__shared__ T stage[BZ_BLOCK], made[BZ_WARPS];
		__shared__ int room[BZ_WARPS];
		const bz_mask m = mask_of(A);

		if (m.count < 0 || m.count > m.n) {
			bz_wrong(A);
			return;
		}
		for (bz_i64 p = blockIdx.x; p < pieces(A, m); p += gridDim.x) {
			const bz_i64 at = p * BZ_BLOCK << A.piece;
			int n = 0;

			for (; n < 1 << A.piece && at + n * BZ_BLOCK < m.count; n++) {
				const bz_i64 first = at + n * BZ_BLOCK, left = m.count - first;
				const int size = left < BZ_BLOCK ? (int)left : BZ_BLOCK;

				if (!gather(A, m, stage, places, room, first, size)) {
					bz_wrong(A);
					return;
				}
				if (threadIdx.x < 32) {
					const T v = reduce(stage, size);

					if (!threadIdx.x)
						made[n] = v;
				}
				__syncthreads();
			}
			if (threadIdx.x)
				continue;
			for (int w = 1; w < n; w *= 2)
				for (int i = 0; i + w < n; i += 2 * w)
					made[i] = K::join(made[i], made[i + w]);
			bz_acc_put((bz_acc *)A.part + p, made[0]);
		}
	}
	/* By one block: values in pairs, pairs in pairs. */
	BZ_FN void join(const bz_call_args &A)
	{
		const bz_mask m = mask_of(A);
		const bz_i64 n = m.count < 0 || m.count > m.n ? 0 : pieces(A, m);
		bz_acc *part = (bz_acc *)A.part;

		for (bz_i64 w = 1; w < n; w *= 2) {
			for (bz_i64 i = 2 * w * threadIdx.x; i + w < n; i += 2 * w * BZ_THREADS)
				bz_acc_put(part + i, K::join(bz_acc_get<T>(part + i),
							     bz_acc_get<T>(part + i + w)));
			__syncthreads();
		}
		if (!threadIdx.x)
			bz_st<typename K::R>(A.operand[RESULT].base,
					     bz_cast<T, typename K::R>(n ? bz_acc_get<T>(part)
									 : K::nothing()));
	}
};

#define BZ_RANKS()                                                                                 \
	BZ_ENTRY(bz_call, BZ_THREADS, bz_ranks_count(A))                                           \
	BZ_ENTRY(bz_call_join, BZ_THREADS, bz_ranks_join(A))
#define BZ_COMPACT(T) BZ_ENTRY(bz_call, BZ_THREADS, bz_compact_all<T>(A))
#define BZ_PLACES()   BZ_ENTRY(bz_call, BZ_THREADS, bz_places_all(A))
#define BZ_CHOSEN(stem, step, lanes_, S_, L_, T_, R_)                                              \
	struct bz_reduction {                                                                      \
		typedef S_ S;                                                                      \
		typedef L_ L;                                                                      \
		typedef T_ T;                                                                      \
		typedef R_ R;                                                                      \
		enum { lanes = lanes_ };                                                           \
		BZ_FN T identity()                                                                 \
		{                                                                                  \
			return bz_identity_##stem<T>();                                            \
		}                                                                                  \
		BZ_FN T nothing()                                                                  \
		{                                                                                  \
			return bz_nothing_##stem<T>();                                             \
		}                                                                                  \
		BZ_FN T next(T a, T b)                                                             \
		{                                                                                  \
			return bz_##step<T>(a, b);                                                 \
		}                                                                                  \
		BZ_FN T join(T a, T b)                                                             \
		{                                                                                  \
			return bz_##stem<T>(a, b);                                                 \
		}                                                                                  \
	};                                                                                         \
	BZ_ENTRY(bz_call, BZ_THREADS, bz_chosen<bz_reduction>::blocks(A))                          \
	BZ_ENTRY(bz_call_join, BZ_THREADS, bz_chosen<bz_reduction>::join(A))
