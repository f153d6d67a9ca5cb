/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/tree.cuh - reductions, last in every CUDA prologue.
 *
 * The one tree of tree.h, by threads.  A pair of accumulators stands for lanes j and
 * j + 32 of a type with 64 lanes, one for lane j of a type with 32: elements j, j + 64,
 * ... of a block go to the first, j + 32, j + 96, ... to the second (or to the same).
 * What is left of a block are 32 values that fold in halves.
 *
 *   bz_reduce_warps     a warp takes a block, thread j the lanes j: coalesced where
 *                       the reduced loop is
 *   bz_reduce_columns   a thread takes a parallel point and goes through the lanes in
 *                       the order of their reversed numbers, in which folding in
 *                       halves is a binary counter: coalesced where the parallel
 *                       loop is
 *   bz_finish_points    combines the chunks
 *   bz_phase_warps, bz_phase_columns   a nest with phases, likewise
 *
 * A counter's result is also what pairwise combining gives, level by level, where a
 * value without a partner goes up as it is; so blocks and chunks combine in parallel.
 *
 * K, the kernel, is generated: K::params; K::place<I>, a parallel point; K::lanes and
 * K::reds, accumulators and results of all reductions; and the functions begin, pair,
 * join, down (from w lanes up), nothing (over no element), put, get, point, post. */

#define BZ_BLOCK  1024
#define BZ_CHUNK  65536
#define BZ_LEVELS 12 /* of a chunk: 5 of lanes, 6 of blocks, 1 for the whole */

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

/* The chunks of a point, and the elements of chunk c. */
BZ_FN bz_i64 bz_chunks(bz_i64 n)
{
	return (n + BZ_CHUNK - 1) / BZ_CHUNK;
}
BZ_FN int bz_chunk_size(bz_i64 n, bz_i64 c)
{
	const bz_i64 left = n - c * BZ_CHUNK;
	return left < BZ_CHUNK ? (int)left : BZ_CHUNK;
}
/* A chunk of a point is done. */
template <class K, class I>
BZ_FN void bz_deliver(const typename K::params &A, bz_i64 p, bz_i64 c, bz_i64 n,
		      typename K::reds v)
{
	if (!n)
		v = K::nothing();
	if (A.h.part)
		K::put((bz_acc *)A.h.part + (p * bz_chunks(n) + c) * K::count, v);
	else
		K::template post<I>(A, K::template decode<I>(A, (I)p), v);
}

/* Asked by all threads of a block together, before a barrier of theirs: none may leave
 * alone. */
BZ_FN bool bz_stopped(const bz_head &h)
{
	__shared__ bool stop;

	if (!threadIdx.x)
		stop = bz_cancelled(h);
	__syncthreads();
	return stop;
}

/* Elements [first, first + n) of a block by a warp; the value is thread 0's. */
template <class K, class I>
BZ_FN typename K::reds bz_warp_block(const typename K::params &A, typename K::template place<I> at,
				     I first, int n)
{
	const int lane = threadIdx.x & 31;
	typename K::lanes acc;
	typename K::reds v;

	K::begin(acc);
	first += lane;
	if (!K::big && n == BZ_BLOCK) {
#pragma unroll 4
		for (int e = 0; e < BZ_BLOCK; e += 64) {
			K::template point<I, 0>(A, at, first + e, acc);
			K::template point<I, 1>(A, at, first + e + 32, acc);
		}
	} else {
#pragma unroll 1
		for (int e = 0; e < n - lane; e += 64) {
			K::template point<I, 0>(A, at, first + e, acc);
			if (e + 32 < n - lane)
				K::template point<I, 1>(A, at, first + e + 32, acc);
		}
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

/* Tasks are chunks of points; `team` warps share one, each taking every team-th block.
 * A chunk has at most 8 * team blocks. */
template <class K, class I> BZ_FN void bz_reduce_warps(const typename K::params &A)
{
	__shared__ typename K::reds room[64];
	const int warp = threadIdx.x / 32, team = (int)A.h.team;
	const int teams = (int)blockDim.x / 32 / team;
	const int seat = warp % team, table = warp / team;
	const bz_i64 n = K::reduced(A), per = A.h.chi - A.h.clo;
	const bz_i64 tasks = (A.h.hi - A.h.lo) * per;
	typename K::reds *mine = room + table * 8 * team;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h))
			return;
		const bool busy = t + table < tasks;
		const bz_i64 task = busy ? t + table : t;
		const bz_i64 p = A.h.lo + task / per, c = A.h.clo + task % per;
		const int size = busy ? bz_chunk_size(n, c) : 0;
		const int blocks = (size + BZ_BLOCK - 1) / BZ_BLOCK;

		for (int b = seat; b < blocks; b += team) {
			const int left = size - b * BZ_BLOCK;
			const typename K::reds v = bz_warp_block<K, I>(
				A, K::template decode<I>(A, (I)p), (I)(c * BZ_CHUNK + b * BZ_BLOCK),
				left < BZ_BLOCK ? left : BZ_BLOCK);

			if (!(threadIdx.x & 31))
				mine[b] = v;
		}
		__syncthreads();
		if (busy && !seat) {
			const typename K::reds v = bz_warp_combine<K>(mine, blocks);

			if (!(threadIdx.x & 31))
				bz_deliver<K, I>(A, p, c, n, v);
		}
	}
}

/* ---- a thread a point ------------------------------------------------------------------ */

/* A binary counter in registers: the value of 2^l units stands in slot l. */
template <class K> struct bz_counter {
	bz_u32 n;
	typename K::reds slot[BZ_LEVELS];

	__device__ __forceinline__ void push(typename K::reds v)
	{
		bool carry = true;

#pragma unroll
		for (int l = 0; l < BZ_LEVELS; l++) {
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
		for (int l = 0; l < BZ_LEVELS; l++) {
			if (!(n >> l & 1))
				continue;
			v = any ? K::join(slot[l], v) : slot[l];
			any = true;
		}
		return v;
	}
};

/* n > 0 elements from `first`, the beginning of a block, by this thread. */
template <class K, class I>
BZ_FN typename K::reds bz_column(const typename K::params &A, typename K::template place<I> at,
				 I first, int n)
{
	bz_counter<K> counter;

	counter.n = 0;
	for (int r = 0; r < n; r += BZ_BLOCK) {
		const int left = n - r < BZ_BLOCK ? n - r : BZ_BLOCK;
		int bits = 5;

		/* Lanes without elements change nothing, unless another block stands beside. */
		if (n <= 16)
			bits = n > 8 ? 4 : n > 4 ? 3 : n > 2 ? 2 : n > 1;
#pragma unroll 1
		for (int j = 0; j < 1 << bits; j++) {
			const int lane = bits ? (int)(__brev((bz_u32)j) >> (32 - bits)) : 0;
			typename K::lanes acc;

			K::begin(acc);
#pragma unroll K::unroll
			for (int e = lane; e < left; e += 64) {
				K::template point<I, 0>(A, at, first + r + e, acc);
				if (e + 32 < left)
					K::template point<I, 1>(A, at, first + r + e + 32, acc);
			}
			counter.push(K::pair(acc));
		}
	}
	return counter.end();
}

/* Tasks are chunks of 32 points; each of `team` warps takes 64 / team blocks. */
template <class K, class I> BZ_FN void bz_reduce_columns(const typename K::params &A)
{
	__shared__ typename K::reds room[BZ_WARPS][32];
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	const int team = (int)A.h.team, teams = (int)blockDim.x / 32 / team;
	const int seat = warp % team, table = warp / team, run = BZ_CHUNK / team;
	const bz_i64 n = K::reduced(A), per = A.h.chi - A.h.clo;
	const bz_i64 tasks = (A.h.hi - A.h.lo + 31) / 32 * per;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h))
			return;
		const bz_i64 p = A.h.lo + (t + table) / per * 32 + lane;
		const bz_i64 c = A.h.clo + (t + table) % per;
		const bool busy = t + table < tasks && p < A.h.hi;
		const int size = bz_chunk_size(n, c), left = size - seat * run;
		typename K::reds v;

		if (busy && left > 0)
			v = bz_column<K, I>(A, K::template decode<I>(A, (I)p),
					    (I)(c * BZ_CHUNK + seat * run), left < run ? left : run);
		if (team > 1) {
			room[warp][lane] = v;
			__syncthreads();
			const int seats = (size + run - 1) / run;
			if (!seat) {
				for (int w = 1; w < seats; w *= 2)
					for (int i = 0; i + w < seats; i += 2 * w)
						room[warp + i][lane] =
							K::join(room[warp + i][lane],
								room[warp + i + w][lane]);
				v = room[warp][lane];
			}
		}
		if (busy && !seat)
			bz_deliver<K, I>(A, p, c, n, v);
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
template <class K, class I, class S>
BZ_FN void bz_warp_phase(const typename K::params &A, typename K::template place<I> &at, bool busy,
			 int size, char *shared, S *kept)
{
	typename K::reds *const room = (typename K::reds *)shared;
	const int warp = threadIdx.x / 32, team = (int)A.h.team;
	const int seat = warp % team, table = warp / team;
	const int blocks = busy ? (size + BZ_BLOCK - 1) / BZ_BLOCK : 0;
	typename K::reds *mine = room + table * 8 * team;

	for (int b = seat; b < blocks; b += team) {
		const int left = size - b * BZ_BLOCK;
		const typename K::reds v = bz_warp_block<K, I>(A, at, (I)(b * BZ_BLOCK),
							       left < BZ_BLOCK ? left : BZ_BLOCK);

		if (!(threadIdx.x & 31))
			mine[b] = v;
	}
	__syncthreads();
	if (busy && !seat) {
		typename K::reds v = K::nothing();

		if (blocks)
			v = bz_warp_combine<K>(mine, blocks);
		if (!(threadIdx.x & 31)) {
			K::template post<I>(A, at, v);
			kept[table] = at.kept;
		}
	}
	__syncthreads();
	if (busy)
		at.kept = kept[table];
}
template <class I, class F, class... K> BZ_FN void bz_phase_warps(const typename F::params &A)
{
	typedef typename F::template place<I> spot;
	__shared__ __align__(16) char room[64 * bz_widest<F, K...>::bytes];
	__shared__ decltype(spot::kept) kept[BZ_WARPS];
	const int warp = threadIdx.x / 32, team = (int)A.h.team;
	const int teams = (int)blockDim.x / 32 / team, table = warp / team;
	const bz_i64 n = F::reduced(A), tasks = A.h.hi - A.h.lo;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h))
			return;
		const bool busy = t + table < tasks;
		spot at = F::template decode<I>(A, (I)(A.h.lo + (busy ? t + table : t)));

		bz_warp_phase<F, I>(A, at, busy, (int)n, room, kept);
		(bz_warp_phase<K, I>(A, at, busy, (int)n, room, kept), ...);
	}
}

/* The part of a point's n elements that this warp of its team takes, from `first` on. */
template <class K, class I>
BZ_FN typename K::reds bz_column_part(const typename K::params &A,
				      typename K::template place<I> at, I first, int n)
{
	typename K::lanes acc;

	if constexpr (K::count != 0) {
		return bz_column<K, I>(A, at, first, n);
	} else {
#pragma unroll K::unroll
		for (int e = 0; e < n; e++)
			K::template point<I, 0>(A, at, first + e, acc);
		return K::nothing();
	}
}
template <class K, class I, class S>
BZ_FN void bz_column_phase(const typename K::params &A, typename K::template place<I> &at,
			   bool busy, int size, char *shared, S *kept)
{
	const int warp = threadIdx.x / 32, team = (int)A.h.team;
	const int seat = warp % team, run = BZ_CHUNK / team, left = size - seat * run;
	typename K::reds *const mine = (typename K::reds *)shared + threadIdx.x;
	typename K::reds v = K::nothing();

	if (busy && left > 0)
		v = bz_column_part<K, I>(A, at, (I)(seat * run), left < run ? left : run);
	if (team > 1) {
		const int seats = (size + run - 1) / run;

		*mine = v;
		__syncthreads();
		for (int w = 1; !seat && w < seats; w *= 2)
			for (int i = 0; i + w < seats; i += 2 * w)
				mine[i * 32] = K::join(mine[i * 32], mine[(i + w) * 32]);
		v = *mine;
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
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, team = (int)A.h.team;
	const int teams = (int)blockDim.x / 32 / team, table = warp / team;
	const bz_i64 n = F::reduced(A), tasks = (A.h.hi - A.h.lo + 31) / 32;

	for (bz_i64 t = (bz_i64)blockIdx.x * teams; t < tasks; t += (bz_i64)gridDim.x * teams) {
		if (bz_stopped(A.h))
			return;
		const bz_i64 p = A.h.lo + (t + table) * 32 + lane;
		const bool busy = t + table < tasks && p < A.h.hi;
		spot at = F::template decode<I>(A, (I)(busy ? p : A.h.lo));

		bz_column_phase<F, I>(A, at, busy, (int)n, room, kept);
		(bz_column_phase<K, I>(A, at, busy, (int)n, room, kept), ...);
	}
}

/* ---- chunks combined --------------------------------------------------------------------- */

/* Points [lo, hi), a block each: 32 neighbours become one, again and again, in place. */
template <class K> BZ_FN void bz_finish_points(const typename K::params &A)
{
	const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, warps = blockDim.x / 32;
	const bz_i64 chunks = bz_chunks(K::reduced(A));

	for (bz_i64 p = A.h.lo + blockIdx.x; p < A.h.hi; p += gridDim.x) {
		bz_acc *row = (bz_acc *)A.h.part + p * chunks * K::count;

		for (bz_i64 step = 1; step < chunks; step *= 32) {
			const bz_i64 n = (chunks + step - 1) / step;

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
