/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort.cuh - sorting along an axis, after call.cuh.
 *
 * Stable, nans last, zeros of either sign equal: so the result is a function of the elements alone,
 * and the processor's (loops/sort.h), whatever the way to it.
 *
 * bz_call puts tiles of BZ_SORTED elements of a lane, or as many short lanes as fit one, in order
 * in shared memory, by a bitonic network over elements and their places.  bz_call_join, once for
 * each doubling of the runs, merges them two by two: a block of threads has a tile of the result,
 * finds by halving which elements of both runs go there (the merge path of Green, McColl and
 * Bader), and each of them its place there.  Between the launches all lies in the step's partial
 * results: twice the elements, lane after lane, and twice their places where those are asked for. */

#define BZ_SORTED 1024 /* elements of a tile */

/* All lanes of the call. */
template <class T, bool PLACES> struct bz_sort {
	bz_i64 n, lanes, tiles; /* of a lane */
	const bz_call_args &A;

	__device__ __forceinline__ bz_sort(const bz_call_args &args)
		: n(args.extent[args.nloop - 1]), lanes(bz_lanes_of(args)),
		  tiles((n + BZ_SORTED - 1) / BZ_SORTED), A(args)
	{
	}
	__device__ __forceinline__ T *keys(int which) const
	{
		return (T *)A.part + which * n * lanes;
	}
	__device__ __forceinline__ bz_i64 *places(int which) const
	{
		return (bz_i64 *)(A.part + (2 * n * lanes * sizeof(T) + 15) / 16 * 16) +
		       which * n * lanes;
	}
	/* Number `at` of a lane's result. */
	__device__ __forceinline__ void result(bz_address lane, bz_i64 at, T key, bz_i64 place) const
	{
		const bz_address p = lane + at * A.operand[1].stride[A.nloop - 1];

		if constexpr (PLACES)
			bz_st<bz_i64>(p, place);
		else
			bz_st<T>(p, key);
	}

	/* ---- Tiles ---- */

	/* Elements of `size`, a power of two, which `count` at places below it have. */
	static __device__ __forceinline__ bool less(T x, int i, T y, int j, int count)
	{
		if (i >= count || j >= count)
			return i < j;
		return bz_before(x, y) || (!bz_before(y, x) && i < j);
	}
	/* Stretches of `size` elements of the tile, in order. */
	static __device__ __forceinline__ void network(T *key, bz_u16 *place, int size, int count)
	{
		for (int k = 2; k <= size; k *= 2)
			for (int j = k / 2; j; j /= 2) {
				for (int i = threadIdx.x; i < BZ_SORTED / 2; i += BZ_THREADS) {
					const int l = 2 * i - (i & (j - 1)), r = l + j;
					const bool up = !(l & (size - 1) & k);

					if (less(key[r], place[r], key[l], place[l], count) == up) {
						const T x = key[l];
						const bz_u16 p = place[l];

						key[l] = key[r];
						place[l] = place[r];
						key[r] = x;
						place[r] = p;
					}
				}
				__syncthreads();
			}
	}
	/* What a tile holds: stretches of `size` elements, of which `count` are a lane's, from number
	 * `at` on, of lane `first` and those behind it. */
	struct group {
		bz_i64 first, at;
		int size, count;
	};
	__device__ __forceinline__ group group_of(bz_i64 g, int size) const
	{
		const bz_i64 first = n > BZ_SORTED ? bz_over(g, tiles) : g * (BZ_SORTED / size);
		const bz_i64 at = n > BZ_SORTED ? (g - first * tiles) * BZ_SORTED : 0;

		return {first, at, size, n - at < BZ_SORTED ? (int)(n - at) : BZ_SORTED};
	}
	__device__ __forceinline__ bool holds(const group &g, int i) const
	{
		return i % g.size < g.count && g.first + i / g.size < lanes;
	}
	__device__ __forceinline__ void load(T *key, bz_u16 *place, const group &g) const
	{
		for (int i = threadIdx.x; i < BZ_SORTED; i += BZ_THREADS) {
			place[i] = (bz_u16)(i % g.size);
			if (holds(g, i))
				key[i] = bz_ld<T>(bz_lane(A, g.first + i / g.size, 0) +
						  (g.at + i % g.size) * A.operand[0].stride[A.nloop - 1]);
		}
	}
	__device__ __forceinline__ void store(const T *key, const bz_u16 *place, const group &g) const
	{
		for (int i = threadIdx.x; i < BZ_SORTED; i += BZ_THREADS) {
			const bz_i64 to = g.first * n + g.at + i;

			if (!holds(g, i))
				continue;
			if (n <= BZ_SORTED) {
				result(bz_lane(A, g.first + i / g.size, 1), i % g.size, key[i], place[i]);
				continue;
			}
			keys(0)[to] = key[i];
			if constexpr (PLACES)
				places(0)[to] = g.at + place[i];
		}
	}
	__device__ __forceinline__ void sort_tiles() const
	{
		__shared__ T key[BZ_SORTED];
		__shared__ bz_u16 place[BZ_SORTED];
		int size = 1;

		while (size < n && size < BZ_SORTED)
			size *= 2;
		const int rows = BZ_SORTED / size;
		const bz_i64 groups = n > BZ_SORTED ? lanes * tiles : (lanes + rows - 1) / rows;

		for (bz_i64 t = blockIdx.x; t < groups; t += gridDim.x) {
			const group g = group_of(t, size);

			if (bz_all_cancelled(A))
				return;
			load(key, place, g);
			__syncthreads();
			network(key, place, size, g.count);
			store(key, place, g);
			__syncthreads();
		}
	}

	/* ---- Merges ---- */

	/* How many of the first d elements of both runs merged are of the first one. */
	static __device__ __forceinline__ bz_i64 path(const T *a, bz_i64 na, const T *b, bz_i64 nb,
						      bz_i64 d)
	{
		bz_i64 lo = d > nb ? d - nb : 0, hi = d < na ? d : na;

		while (lo < hi) {
			const bz_i64 mid = (lo + hi) / 2;

			if (bz_before(b[d - 1 - mid], a[mid]))
				hi = mid;
			else
				lo = mid + 1;
		}
		return lo;
	}
	/* Of n elements in order those that come before x; with EQUAL those that do not come after. */
	template <bool EQUAL> static __device__ __forceinline__ int below(const T *key, int n, T x)
	{
		int lo = 0;

		for (int hi = n; lo < hi;) {
			const int mid = (lo + hi) / 2;

			if (EQUAL ? !bz_before(x, key[mid]) : bz_before(key[mid], x))
				lo = mid + 1;
			else
				hi = mid;
		}
		return lo;
	}
	/* A tile of the result of two runs: elements [d0, d1) of those that begin at `base`. */
	struct part {
		bz_i64 lane, base, na, nb, d0, d1;
	};
	__device__ __forceinline__ part part_of(bz_i64 t, bz_i64 run) const
	{
		part p;

		p.lane = bz_over(t, tiles);
		p.base = (t - p.lane * tiles) * BZ_SORTED & ~(2 * run - 1);
		p.d0 = (t - p.lane * tiles) * BZ_SORTED - p.base;
		p.na = n - p.base < run ? n - p.base : run;
		p.nb = n - p.base - p.na < run ? n - p.base - p.na : run;
		p.d1 = p.d0 + BZ_SORTED < p.na + p.nb ? p.d0 + BZ_SORTED : p.na + p.nb;
		return p;
	}
	/* The tile's elements, of_a of the first run and then the others, to where they belong. */
	__device__ __forceinline__ void put(const part &p, const T *key, int of_a, bz_i64 a0, bool last) const
	{
		const int size = (int)(p.d1 - p.d0), from = A.piece & 1;
		const bz_i64 begin = p.lane * n + p.base, b0 = p.na + p.d0 - a0 - of_a;
		const bz_address to = last ? bz_lane(A, p.lane, 1) : 0;

		for (int i = threadIdx.x; i < size; i += BZ_THREADS) {
			const bool is_a = i < of_a;
			const bz_i64 source = begin + i + (is_a ? a0 : b0);
			const bz_i64 place = PLACES ? places(from)[source] : 0;
			const bz_i64 rank = p.d0 + (is_a ? i + below<false>(key + of_a, size - of_a, key[i])
							 : i - of_a + below<true>(key, of_a, key[i]));

			if (last) {
				result(to, p.base + rank, key[i], place);
				continue;
			}
			keys(!from)[begin + rank] = key[i];
			if constexpr (PLACES)
				places(!from)[begin + rank] = place;
		}
	}
	/* Runs of BZ_SORTED << A.piece elements, two by two. */
	__device__ __forceinline__ void merge_tiles() const
	{
		__shared__ T key[BZ_SORTED];
		__shared__ bz_i64 cut[2];
		const bz_i64 run = (bz_i64)BZ_SORTED << A.piece;

		for (bz_i64 t = blockIdx.x; t < lanes * tiles; t += gridDim.x) {
			const part p = part_of(t, run);
			const T *a = keys(A.piece & 1) + p.lane * n + p.base, *b = a + p.na;

			if (bz_all_cancelled(A))
				return;
			if (!(threadIdx.x & 31) && threadIdx.x < 64)
				cut[threadIdx.x / 32] = path(a, p.na, b, p.nb, threadIdx.x ? p.d1 : p.d0);
			__syncthreads();
			const bz_i64 a0 = cut[0];
			const int size = (int)(p.d1 - p.d0), of_a = (int)(cut[1] - a0);

			for (int i = threadIdx.x; i < size; i += BZ_THREADS)
				key[i] = i < of_a ? a[a0 + i] : b[p.d0 - a0 + i - of_a];
			__syncthreads();
			put(p, key, of_a, a0, 2 * run >= n);
			__syncthreads();
		}
	}
};

#define BZ_SORT(T, PLACES)                                                                         \
	BZ_ENTRY(bz_call, BZ_THREADS, (bz_sort<T, PLACES>(A).sort_tiles()))                        \
	BZ_ENTRY(bz_call_join, BZ_THREADS, (bz_sort<T, PLACES>(A).merge_tiles()))
