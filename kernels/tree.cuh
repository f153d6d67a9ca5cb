/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/tree.cuh - reductions; with groups.cuh last in every CUDA prologue.
 *
 * The one tree of tree.h, by threads.  A pair of accumulators stands for lanes j and
 * j + 32 of a type with 64 lanes, one for lane j of a type with 32: elements j, j + 64,
 * ... of a block go to the first, j + 32, j + 96, ... to the second (or to the same).
 * What is left of a block are 32 values that fold in halves.
 *
 *   bz_reduce_warps     a warp takes a block, thread j the lanes j: coalesced where
 *                       the reduced loop is
 *   bz_reduce_groups    (groups.cuh) a few threads take a block, so a warp several of them
 *   bz_reduce_columns   a thread takes a parallel point, or a leaf of it: lanes of a
 *                       block that fold in registers.  Leaves stand in the order of
 *                       their reversed numbers, in which folding in halves is a binary
 *                       counter: coalesced where the parallel loop is
 *   bz_finish_points    combines the pieces
 *   bz_phase_warps, bz_phase_columns   a nest with phases, likewise
 *
 * A counter's result is also what pairwise combining gives, level by level, where a
 * value without a partner goes up as it is; so blocks and chunks combine in parallel.
 * Work is given out by pieces: a power of two of a chunk's blocks, so a subtree; a launch
 * says how many, few where there are too few chunks to fill a GPU.
 *
 * K, the kernel, is generated: K::params; K::place<I>, a parallel point; K::lanes and
 * K::reds, accumulators and results of all reductions; and the functions begin, pair,
 * join, down (from w lanes up), nothing (over no element), put, get, point, post.  Where
 * K::vector is not 0, points does what point does to so many of them. */

#define BZ_BLOCK  1024
#define BZ_CHUNK  65536
#define BZ_PAIRS  32 /* of lanes, or lanes alone */

/* ---- identities, argmin and argmax ---------------------------------------------- */

/* The smallest and the greatest number of a type. */
template <class T> BZ_FN T bz_least()
{
	if constexpr (bz_type<T>::is_complex)
		return {-bz_infinity<typename bz_type<T>::part>(),
			-bz_infinity<typename bz_type<T>::part>()};
	else if constexpr (bz_type<T>::is_float)
		return -bz_infinity<T>();
	else
		return bz_type<T>::is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}
template <class T> BZ_FN T bz_most()
{
	if constexpr (bz_type<T>::is_complex)
		return {bz_infinity<typename bz_type<T>::part>(),
			bz_infinity<typename bz_type<T>::part>()};
	else if constexpr (bz_type<T>::is_float)
		return bz_infinity<T>();
	else if constexpr (bz_type<T>::is_bool)
		return true;
	else
		return (T)~bz_least<T>();
}
/* identity: of the tree's missing elements; -0.0 changes no number it is added to.
 * nothing: the result over no element. */
#define BZ_REDUCTION(stem, identity, nothing)                                                      \
	template <class T> BZ_FN T bz_identity_##stem()                                            \
	{                                                                                          \
		return identity;                                                                   \
	}                                                                                          \
	template <class T> BZ_FN T bz_nothing_##stem()                                             \
	{                                                                                          \
		return nothing;                                                                    \
	}
template <class T> BZ_FN T bz_number(double x)
{
	return bz_cast<bz_f64, T>(x);
}
template <class T> BZ_FN T bz_minus_zero()
{
	if constexpr (bz_type<T>::is_complex)
		return {(typename bz_type<T>::part)-0.0, (typename bz_type<T>::part)-0.0};
	else
		return (T)-0.0;
}
BZ_REDUCTION(add, bz_minus_zero<T>(), bz_number<T>(0))
BZ_REDUCTION(mul, bz_number<T>(1), bz_number<T>(1))
BZ_REDUCTION(min, bz_most<T>(), bz_most<T>())
BZ_REDUCTION(max, bz_least<T>(), bz_least<T>())
BZ_REDUCTION(lor, false, false)
BZ_REDUCTION(land, true, true)

/* Of a complex product lanes that no element went to take no part, since one with 1 + 0i makes NaN
 * of an infinity: they hold a signaling NaN, which no arithmetic gives. */
template <class F> BZ_FN bool bz_is_absent(F x)
{
	if constexpr (sizeof(F) == 4)
		return __float_as_int(x) == 0x7fa00001;
	else
		return __double_as_longlong(x) == 0x7ff4000000000001ll;
}
template <class F> BZ_FN F bz_absent()
{
	if constexpr (sizeof(F) == 4)
		return __int_as_float(0x7fa00001);
	else
		return __longlong_as_double(0x7ff4000000000001ll);
}
template <class T> BZ_FN T bz_absent_number()
{
	return {bz_absent<typename bz_type<T>::part>(), 0};
}
BZ_REDUCTION(cprod, bz_absent_number<T>(), bz_number<T>(1))
template <class T> BZ_FN T bz_cprod(T a, T b)
{
	return bz_is_absent(b.re) ? a : bz_complex_mul<T>(a, b);
}
template <class T> BZ_FN T bz_cprod_next(T lane, T element)
{
	return bz_complex_mul<T>(bz_is_absent(lane.re) ? bz_number<T>(1) : lane, element);
}

/* The best value so far and its reduced index, -1 for none.  The result needs no tree:
 * the first NaN, else the first of the extreme values. */
template <class T> struct bz_best {
	T v;
	bz_i64 index;
};
#define BZ_ARG(stem, rel)                                                                          \
	/* A candidate of a greater index. */                                                      \
	template <class T> BZ_FN void bz_##stem##_step(bz_best<T> &a, T v, bz_i64 index)           \
	{                                                                                          \
		if (a.index < 0 || (!bz_isnan(a.v) && (bz_isnan(v) || bz_##rel<T>(v, a.v))))       \
			a = {v, index};                                                            \
	}                                                                                          \
	/* The better of two, whatever their order. */                                             \
	template <class T> BZ_FN bz_best<T> bz_##stem##_join(bz_best<T> a, bz_best<T> b)           \
	{                                                                                          \
		const bool x = bz_isnan(a.v), y = bz_isnan(b.v), first = b.index < a.index;        \
		bool take;                                                                         \
                                                                                                   \
		if (b.index < 0 || a.index < 0)                                                    \
			return b.index < 0 ? a : b;                                                \
		if (x || y)                                                                        \
			take = y && (!x || first);                                                 \
		else                                                                               \
			take = bz_##rel<T>(b.v, a.v) || (bz_eq<T>(a.v, b.v) && first);             \
		return take ? b : a;                                                               \
	}
BZ_ARG(argmin, lt)
BZ_ARG(argmax, gt)

/* ---- between threads, between kernels ------------------------------------------------ */

/* The value of the thread w above in the warp. */
template <class T> BZ_FN T bz_down(T v, int w)
{
	if constexpr (bz_type<T>::is_complex)
		return {bz_down(v.re, w), bz_down(v.im, w)};
	else if constexpr (sizeof(T) < 4)
		return (T)__shfl_down_sync(0xffffffffu, (bz_i32)v, w);
	else
		return __shfl_down_sync(0xffffffffu, v, w);
}
template <class T> BZ_FN bz_best<T> bz_down_best(bz_best<T> a, int w)
{
	return {bz_down(a.v, w), bz_down(a.index, w)};
}
/* An element as the raw bits of an accumulator. */
template <class T> BZ_FN void bz_acc_put(bz_acc *a, T v)
{
	a->v[0] = a->v[1] = 0;
	if constexpr (bz_type<T>::is_complex) {
		bz_st((bz_address)&a->v[0], v.re);
		bz_st((bz_address)&a->v[1], v.im);
	} else {
		bz_st((bz_address)&a->v[0], v);
	}
	a->index = 0;
}
template <class T> BZ_FN T bz_acc_get(const bz_acc *a)
{
	if constexpr (bz_type<T>::is_complex) {
		typedef typename bz_type<T>::part F;
		return {bz_ld<F>((bz_address)&a->v[0]), bz_ld<F>((bz_address)&a->v[1])};
	} else {
		return bz_ld<T>((bz_address)&a->v[0]);
	}
}
template <class T> BZ_FN void bz_acc_put_best(bz_acc *a, bz_best<T> v)
{
	bz_acc_put(a, v.v);
	a->index = v.index;
}
template <class T> BZ_FN bz_best<T> bz_acc_get_best(const bz_acc *a)
{
	return {bz_acc_get<T>(a), a->index};
}

/* ---- tasks ---------------------------------------------------------------------------- */

/* The pieces of a point, and the elements of piece c. */
BZ_FN bz_i64 bz_pieces(const bz_head &h, bz_i64 n)
{
	return (n + (1 << h.piece) - 1) >> h.piece;
}
BZ_FN int bz_piece_size(const bz_head &h, bz_i64 n, bz_i64 c)
{
	const bz_i64 left = n - (c << h.piece);
	return left < 1 << h.piece ? (int)left : 1 << h.piece;
}
/* Elements of a point's first piece, its greatest. */
BZ_FN bz_i64 bz_most_of_piece(const bz_head &h, bz_i64 n)
{
	return n < 1 << h.piece ? n : 1 << h.piece;
}
/* A piece of a point is done. */
template <class K, class I>
BZ_FN void bz_deliver(const typename K::params &A, bz_i64 p, bz_i64 c, bz_i64 n,
		      typename K::reds v)
{
	if (!n)
		v = K::nothing();
	if (A.h.part)
		K::put((bz_acc *)A.h.part + (p * bz_pieces(A.h, n) + c) * K::count, v);
	else
		K::template post<I>(A, K::template decode<I>(A, (I)p), v);
}
/* Task t as a unit and a piece of it, of `per`.  A division of 64 bits takes as long as a short
 * row. */
BZ_FN bz_i64 bz_task(bz_i64 t, bz_i64 per, bz_i64 *piece)
{
	bz_i64 unit = t;

	if (per != 1)
		unit = (t | per) >> 32 ? t / per : (bz_i64)((bz_u32)t / (bz_u32)per);
	*piece = t - unit * per;
	return unit;
}

/* Asked by all threads of a block together before each of their turns: none may leave alone.
 * Looks at the word once in about as many elements as a chunk has. */
BZ_FN bool bz_stopped(const bz_head &h, int *since, bz_i64 elements)
{
	if (*since < BZ_CHUNK) {
		*since += elements < BZ_CHUNK ? (int)elements : BZ_CHUNK;
		return false;
	}
	*since = 0;
	return __syncthreads_or(!threadIdx.x && bz_cancelled(h));
}
/* Warps that share a room in shared memory, or one that has it alone. */
BZ_FN void bz_meet(int team)
{
	if (team > 1)
		__syncthreads();
	else
		__syncwarp();
}

/* Whole turns of 64 elements, of n from e on: TURNS at once, whose loads go before what waits for
 * them, and the last ones by quarters.  A row of 1000 is not much slower than one of 1024. */
template <int TURNS, class K, class I>
BZ_FN int bz_warp_turns(const typename K::params &A, const typename K::template place<I> &at, I first,
			int e, int n, typename K::lanes &acc)
{
#pragma unroll 1
	for (; e + 64 * TURNS <= n; e += 64 * TURNS) {
		if constexpr (K::ahead) {
			K::template points_ahead<I, 2 * TURNS>(A, at, first + e, acc);
		} else {
#pragma unroll
			for (int t = 0; t < 64 * TURNS; t += 64) {
				K::template point<I, 0>(A, at, first + e + t, acc);
				K::template point<I, 1>(A, at, first + e + t + 32, acc);
			}
		}
	}
	if constexpr (TURNS >= 4)
		e = bz_warp_turns<TURNS / 4, K, I>(A, at, first, e, n, acc);
	return e;
}

/* Elements [first, first + n) of a block by a warp; the value is thread 0's. */
template <class K, class I>
BZ_FN typename K::reds bz_warp_block(const typename K::params &A, typename K::template place<I> at,
				     I first, int n)
{
	const int lane = threadIdx.x & 31;
	typename K::lanes acc;
	typename K::reds v;
	int e = 0;

	K::begin(acc);
	first += lane;
	if constexpr (!K::big)
		e = bz_warp_turns<4 * K::unroll, K, I>(A, at, first, e, n, acc);
#pragma unroll 1
	for (; e < n - lane; e += 64) {
		K::template point<I, 0>(A, at, first + e, acc);
		if (e + 32 < n - lane)
			K::template point<I, 1>(A, at, first + e + 32, acc);
	}
	v = K::pair(acc);
	for (int w = 16; w; w >>= 1)
		v = K::join(v, K::down(v, w));
	return v;
}

/* Values 0 .. n - 1 at `room`, at most 64, combined; the result is thread 0's. */
template <class K>
BZ_FN typename K::reds bz_warp_combine(const typename K::reds *room, int n)
{
	const int i = 2 * (threadIdx.x & 31);
	typename K::reds v = room[i < n ? i : 0];

	if (i + 1 < n)
		v = K::join(v, room[i + 1]);
	for (int w = 1; w < 32; w *= 2) {
		const typename K::reds other = K::down(v, w);

		if (i + 2 * w < n)
			v = K::join(v, other);
	}
	return v;
}

/* Tasks are pieces of points; `team` warps share one, each taking every team-th block.
 * A piece has at most 8 * team blocks. */
template <class K, class I> BZ_FN void bz_reduce_warps(const typename K::params &A)
{
	__shared__ typename K::reds room[64];
	const int warp = threadIdx.x / 32, team = A.h.team;
	const int teams = (int)blockDim.x / 32 / team;
	const int seat = warp % team, table = warp / team;
	const bz_i64 n = K::reduced(A), per = A.h.chi - A.h.clo;
	const bz_i64 tasks = (A.h.hi - A.h.lo) * per, turn = bz_most_of_piece(A.h, n);
	typename K::reds *mine = room + table * 8 * team;
	int since = 0;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h, &since, turn))
			return;
		const bool busy = t + table < tasks;
		bz_i64 c;
		const bz_i64 p = A.h.lo + bz_task(busy ? t + table : t, per, &c);
		const bz_i64 piece = A.h.clo + c;
		const int size = busy ? bz_piece_size(A.h, n, piece) : 0;
		const int blocks = (size + BZ_BLOCK - 1) / BZ_BLOCK;
		const typename K::template place<I> at = K::template decode<I>(A, (I)p);
		typename K::reds v;

		for (int b = seat; b < blocks; b += team) {
			const int left = size - b * BZ_BLOCK;

			v = bz_warp_block<K, I>(A, at, (I)((piece << A.h.piece) + b * BZ_BLOCK),
						left < BZ_BLOCK ? left : BZ_BLOCK);
			if (!(threadIdx.x & 31))
				mine[b] = v;
		}
		bz_meet(team);
		if (busy && !seat) {
			if (blocks > 1)
				v = bz_warp_combine<K>(mine, blocks);
			if (!(threadIdx.x & 31))
				bz_deliver<K, I>(A, p, piece, n, v);
		}
		bz_meet(team);
	}
}

/* ---- a thread a point ------------------------------------------------------------------ */

/* A binary counter in registers: the value of 2^l units stands in slot l.  Levels are those of
 * a block's leaves, 3 of the 8 blocks that a thread has at most, and 1 for the whole. */
template <class K> struct bz_counter {
	enum { levels = K::leaf_bits + 4 };
	bz_u32 n;
	typename K::reds slot[levels];

	__device__ __forceinline__ void push(typename K::reds v)
	{
		bool carry = true;

#pragma unroll
		for (int l = 0; l < levels; l++) {
			if (!carry)
				continue;
			carry = n >> l & 1;
			if (carry)
				v = K::join(slot[l], v);
			else
				slot[l] = v;
		}
		n++;
	}
	/* From the youngest up; n > 0. */
	__device__ __forceinline__ typename K::reds end() const
	{
		typename K::reds v;
		bool any = false;

#pragma unroll
		for (int l = 0; l < levels; l++) {
			if (!(n >> l & 1))
				continue;
			v = any ? K::join(slot[l], v) : slot[l];
			any = true;
		}
		return v;
	}
};

/* The leaves of a block that n elements in all have to do with, as a power of two: of fewer
 * elements than lanes the other lanes change nothing. */
template <class K> BZ_FN int bz_leaf_bits(bz_i64 n)
{
	int bits = 0;

	while (bits < K::leaf_bits && 1 << bits < n)
		bits++;
	return bits;
}

/* K::leaf_unroll turns of leaf c of a block, which begins at `first`; a turn's places are 64 rows. */
template <class K, class I>
BZ_FN void bz_leaf_turns(const typename K::params &A, const typename K::template place<I> &at, I first,
			 typename K::lanes *acc)
{
	enum { leaves = 1 << K::leaf_bits, lanes = BZ_PAIRS / leaves };

#pragma unroll
	for (int e = 0; e < 64 * K::leaf_unroll; e += 64) {
#pragma unroll
		for (int m = 0; m < lanes; m++) {
			K::template point<I, 0>(A, at, first + e + m * leaves, acc[m]);
			K::template point<I, 1>(A, at, first + e + m * leaves + 32, acc[m]);
		}
	}
}

/* Leaf c of a block of n elements from `first` on: every K::leaves-th lane from lane c on.  A whole
 * block has a loop of its own: that of a number which nobody knows takes a register more. */
template <class K, class I>
BZ_FN typename K::reds bz_leaf(const typename K::params &A, typename K::template place<I> at,
			       I first, int n, int c)
{
	enum { leaves = 1 << K::leaf_bits, lanes = BZ_PAIRS / leaves, turn = 64 * K::leaf_unroll };
	typename K::lanes acc[lanes];
	typename K::reds v[lanes];

#pragma unroll
	for (int m = 0; m < lanes; m++)
		K::begin(acc[m]);
	first += c;
	if (!K::big && n == BZ_BLOCK) {
#pragma unroll 1
		for (int e = 0; e < BZ_BLOCK; e += turn)
			bz_leaf_turns<K, I>(A, at, first + e, acc);
	} else {
		int e = 0;

#pragma unroll 1
		for (; !K::big && e + turn <= n; e += turn)
			bz_leaf_turns<K, I>(A, at, first + e, acc);
#pragma unroll 1
		for (; e < n - c; e += 64) {
#pragma unroll
			for (int m = 0; m < lanes; m++) {
				const int at_m = e + m * leaves;

				if (at_m < n - c)
					K::template point<I, 0>(A, at, first + at_m, acc[m]);
				if (at_m + 32 < n - c)
					K::template point<I, 1>(A, at, first + at_m + 32, acc[m]);
			}
		}
	}
#pragma unroll
	for (int m = 0; m < lanes; m++)
		v[m] = K::pair(acc[m]);
#pragma unroll
	for (int w = lanes / 2; w; w /= 2)
#pragma unroll
		for (int m = 0; m < w; m++)
			v[m] = K::join(v[m], v[m + w]);
	return v[0];
}

/* What one of `team` takes of a piece: so many leaves one behind the other, in the order in
 * which a counter combines them.  A point of n elements in all has 2^bits in a block. */
template <class K> struct bz_share {
	int bits, each;

	__device__ __forceinline__ bz_share(const bz_head &h, bz_i64 n, int team)
	{
		bits = bz_leaf_bits<K>(n);
		each = (1 << h.piece) / BZ_BLOCK << bits;
		each = each > team ? each / team : 1;
	}
	/* Of a piece of so many elements. */
	__device__ __forceinline__ int leaves(int size) const
	{
		return (size + BZ_BLOCK - 1) / BZ_BLOCK << bits;
	}
};

/* The share of this seat in a piece of `size` elements from `first` on; there is one. */
template <class K, class I>
BZ_FN typename K::reds bz_column(const typename K::params &A, typename K::template place<I> at,
				 I first, int size, const bz_share<K> &share, int seat)
{
	const int all = share.leaves(size), from = seat * share.each;
	const int to = from + share.each < all ? from + share.each : all;
	bz_counter<K> counter;

	counter.n = 0;
#pragma unroll 1
	for (int j = from; j < to; j++) {
		const int block = (j >> share.bits) * BZ_BLOCK;
		const int left = size - block < BZ_BLOCK ? size - block : BZ_BLOCK;
		const int c = share.bits ? (int)(__brev((bz_u32)j) >> (32 - share.bits)) : 0;

		counter.push(bz_leaf<K, I>(A, at, first + block, left, c));
	}
	return counter.end();
}

/* Values of seats, `apart` from each other, combined in place: the result is the first one. */
template <class R, class K> BZ_FN void bz_seats_combine(R *v, int apart, int seats, const K *)
{
	for (int w = 1; w < seats; w *= 2)
		for (int i = 0; i + w < seats; i += 2 * w)
			v[i * apart] = K::join(v[i * apart], v[(i + w) * apart]);
}

/* Tasks are pieces of 32 points, which `team` warps share: at most 8 * team blocks. */
template <class K, class I> BZ_FN void bz_reduce_columns(const typename K::params &A)
{
	__shared__ typename K::reds room[BZ_WARPS * 32];
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	const int team = A.h.team, teams = (int)blockDim.x / 32 / team;
	const int seat = warp % team, table = warp / team;
	const bz_i64 n = K::reduced(A), across = (A.h.hi - A.h.lo + 31) / 32;
	const bz_i64 tasks = across * (A.h.chi - A.h.clo);
	const bz_share<K> share(A.h, n, team);
	int since = 0;

	/* Neighbours are next to each other in the same rows: what runs at once reads long stretches. */
	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		bz_i64 at;

		if (bz_stopped(A.h, &since, (bz_i64)share.each * (32 * BZ_BLOCK) >> share.bits))
			return;
		const bz_i64 piece = A.h.clo + bz_task(t + table, across, &at);
		const bz_i64 p = A.h.lo + at * 32 + lane;
		const bool busy = t + table < tasks && p < A.h.hi;
		const int size = busy ? bz_piece_size(A.h, n, piece) : 0, all = share.leaves(size);
		typename K::reds v;

		if (busy && seat * share.each < all)
			v = bz_column<K, I>(A, K::template decode<I>(A, (I)p),
					    (I)(piece << A.h.piece), size, share, seat);
		if (team > 1) {
			room[threadIdx.x] = v;
			__syncthreads();
			if (!seat) {
				bz_seats_combine(room + threadIdx.x, 32,
						 (all + share.each - 1) / share.each, (K *)0);
				v = room[threadIdx.x];
			}
		}
		if (busy && !seat)
			bz_deliver<K, I>(A, p, piece, n, v);
		if (team > 1)
			__syncthreads();
	}
}

/* ---- phases -------------------------------------------------------------------------------- */

/* A nest whose code goes on behind its reductions, at all reduced points once more: F, K...
 * are its phases in turn, each with what follows once per parallel point.  All reduced points are
 * one chunk.  The places of a point are those of a place and what phases keep for later ones;
 * what a thread stores in one phase it loads itself in another. */
template <class... K> struct bz_widest {
	enum { bytes = 16 };
};
template <class F, class... K> struct bz_widest<F, K...> {
	enum {
		rest = bz_widest<K...>::bytes,
		own = sizeof(typename F::reds),
		bytes = own > rest ? own : rest
	};
};
/* `room` and `kept` are the team's own, the same ones in every phase: a team of one warp waits for
 * no other. */
template <class K, class I, class S>
BZ_FN void bz_warp_phase(const typename K::params &A, typename K::template place<I> &at, bool busy,
			 int size, char *room, S *kept)
{
	typename K::reds *const mine = (typename K::reds *)room;
	const int team = A.h.team, seat = threadIdx.x / 32 % team;
	const int blocks = busy ? (size + BZ_BLOCK - 1) / BZ_BLOCK : 0;

	for (int b = seat; b < blocks; b += team) {
		const int left = size - b * BZ_BLOCK;
		const typename K::reds v = bz_warp_block<K, I>(A, at, (I)(b * BZ_BLOCK),
							       left < BZ_BLOCK ? left : BZ_BLOCK);

		if (!(threadIdx.x & 31))
			mine[b] = v;
	}
	bz_meet(team);
	if (busy && !seat) {
		typename K::reds v = K::nothing();

		if (blocks)
			v = bz_warp_combine<K>(mine, blocks);
		if (!(threadIdx.x & 31)) {
			K::template post<I>(A, at, v);
			*kept = at.kept;
		}
	}
	bz_meet(team);
	if (busy)
		at.kept = *kept;
}
template <class I, class F, class... K> BZ_FN void bz_phase_warps(const typename F::params &A)
{
	typedef typename F::template place<I> spot;
	enum { each = 8 * bz_widest<F, K...>::bytes }; /* of a warp */
	__shared__ __align__(16) char rooms[BZ_WARPS * each];
	__shared__ decltype(spot::kept) all[BZ_WARPS];
	const int warp = threadIdx.x / 32, team = A.h.team;
	const int teams = (int)blockDim.x / 32 / team, table = warp / team;
	char *const room = rooms + table * team * each;
	decltype(spot::kept) *const kept = all + table;
	const bz_i64 n = F::reduced(A), tasks = A.h.hi - A.h.lo;
	int since = 0;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h, &since, n))
			return;
		const bool busy = t + table < tasks;
		spot at = F::template decode<I>(A, (I)(A.h.lo + (busy ? t + table : t)));

		bz_warp_phase<F, I>(A, at, busy, (int)n, room, kept);
		(bz_warp_phase<K, I>(A, at, busy, (int)n, room, kept), ...);
	}
}

template <class K, class I, class S>
BZ_FN void bz_column_phase(const typename K::params &A, typename K::template place<I> &at,
			   bool busy, int size, char *shared, S *kept)
{
	const int warp = threadIdx.x / 32, team = A.h.team, seat = warp % team;
	const bz_share<K> share(A.h, size, team);
	const int all = share.leaves(size);
	typename K::reds *const mine = (typename K::reds *)shared + threadIdx.x;
	typename K::reds v = K::nothing();

	if (busy && seat * share.each < all)
		v = bz_column<K, I>(A, at, 0, size, share, seat);
	if (team > 1) {
		*mine = v;
		__syncthreads();
		if (!seat) {
			bz_seats_combine(mine, 32, (all + share.each - 1) / share.each, (K *)0);
			v = *mine;
		}
	}
	if (busy && !seat)
		K::template post<I>(A, at, v);
	if (team > 1) {
		kept[threadIdx.x] = at.kept;
		__syncthreads();
		at.kept = kept[threadIdx.x - seat * 32];
		__syncthreads();
	}
}
template <class I, class F, class... K> BZ_FN void bz_phase_columns(const typename F::params &A)
{
	typedef typename F::template place<I> spot;
	__shared__ __align__(16) char room[BZ_WARPS * 32 * bz_widest<F, K...>::bytes];
	__shared__ decltype(spot::kept) kept[BZ_WARPS * 32];
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, team = A.h.team;
	const int teams = (int)blockDim.x / 32 / team, table = warp / team;
	const bz_i64 n = F::reduced(A), tasks = (A.h.hi - A.h.lo + 31) / 32;
	int since = 0;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h, &since, 32 * n / team))
			return;
		const bz_i64 p = A.h.lo + (t + table) * 32 + lane;
		const bool busy = t + table < tasks && p < A.h.hi;
		spot at = F::template decode<I>(A, (I)(busy ? p : A.h.lo));

		bz_column_phase<F, I>(A, at, busy, (int)n, room, kept);
		(bz_column_phase<K, I>(A, at, busy, (int)n, room, kept), ...);
	}
}

/* ---- pieces combined --------------------------------------------------------------------- */

/* Of a point that has at most 32 pieces: several points a warp, a thread a piece. */
template <class K> BZ_FN void bz_finish_few(const typename K::params &A, int pieces)
{
	int wide = 1;

	while (wide < pieces)
		wide *= 2;
	const int lane = threadIdx.x & 31, i = lane & (wide - 1);
	const bz_i64 warp = ((bz_i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
	const bz_i64 step = (bz_i64)gridDim.x * blockDim.x / wide;

	for (bz_i64 first = A.h.lo + warp * (32 / wide); first < A.h.hi; first += step) {
		const bz_i64 p = first + lane / wide;
		const bool busy = p < A.h.hi && i < pieces;
		typename K::reds v =
			K::get((const bz_acc *)A.h.part +
			       (busy ? p * pieces + i : first * pieces) * K::count);

		for (int w = 1; w < wide; w *= 2) {
			const typename K::reds other = K::down(v, w);

			if (i + w < pieces)
				v = K::join(v, other);
		}
		if (busy && !i)
			K::template post<bz_i64>(A, K::template decode<bz_i64>(A, p), v);
	}
}
/* Of one with more: points [lo, hi), a block each; 32 neighbours become one, again and
 * again, in place. */
template <class K> BZ_FN void bz_finish_many(const typename K::params &A, bz_i64 pieces)
{
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, warps = blockDim.x / 32;

	for (bz_i64 p = A.h.lo + blockIdx.x; p < A.h.hi; p += gridDim.x) {
		bz_acc *row = (bz_acc *)A.h.part + p * pieces * K::count;

		for (bz_i64 step = 1; step < pieces; step *= 32) {
			const bz_i64 n = (pieces + step - 1) / step;

			for (bz_i64 first = warp * 32; first < n; first += 32 * warps) {
				const bz_i64 i = first + lane;
				typename K::reds v = K::get(row + (i < n ? i : first) * step * K::count);

				for (int w = 1; w < 32; w *= 2) {
					const typename K::reds other = K::down(v, w);

					if (i + w < n)
						v = K::join(v, other);
				}
				if (!lane)
					K::put(row + first * step * K::count, v);
			}
			__syncthreads();
		}
		if (!threadIdx.x)
			K::template post<bz_i64>(A, K::template decode<bz_i64>(A, p), K::get(row));
		__syncthreads();
	}
}
template <class K> BZ_FN void bz_finish_points(const typename K::params &A)
{
	const bz_i64 pieces = bz_pieces(A.h, K::reduced(A));

	if (pieces <= 32)
		bz_finish_few<K>(A, (int)pieces);
	else
		bz_finish_many<K>(A, pieces);
}
