/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sparse.cuh - products of sparse matrices, after call.cuh.
 *
 * Each element is the sum of its row's terms in their order, as the processor makes it
 * (loops/sparse.h).  Of one column a block of threads makes the terms of BZ_THREADS rows together,
 * tile by tile, and each thread adds up those of its own row from shared memory.  Of more columns a
 * thread has an element of the result, so that neighbours read the same entry and elements side by
 * side.  Numbers of the structure are read once, and compared before they are used. */

#define BZ_TERMS 1024 /* of a tile */

/* Operands and loops, as in call/sparse.h. */
enum { BZ_ENTRIES, BZ_STRUCTURE, BZ_FACTOR, BZ_SUMS };

/* Read once, whatever the compiler would like, but by the cache: neighbours read the same. */
template <class I> BZ_FN bz_i64 bz_number_of(bz_address at, bz_i64 k)
{
	const size_t p = __cvta_generic_to_global(at + k * (bz_i64)sizeof(I));

	if constexpr (sizeof(I) == 4) {
		bz_i32 x;

		asm volatile("ld.global.s32 %0, [%1];" : "=r"(x) : "l"(p));
		return x;
	} else {
		bz_i64 x;

		asm volatile("ld.global.s64 %0, [%1];" : "=l"(x) : "l"(p));
		return x;
	}
}

/* What the structure says is not there. */
BZ_FN void bz_no_matrix(const bz_call_args &A)
{
	*(volatile bz_u64 *)A.error = 1;
}

/* A matrix as A tells it. */
template <class T, class I> struct bz_matrix {
	bz_address structure, columns, entries, from;
	bz_i64 rows, count, inner, step;

	__device__ __forceinline__ bz_matrix(const bz_call_args &A)
	{
		rows = A.extent[0];
		count = A.extent[2];
		inner = A.extent[4];
		structure = A.operand[BZ_STRUCTURE].base;
		columns = structure + (rows + 1) * (bz_i64)sizeof(I);
		entries = A.operand[BZ_ENTRIES].base;
		from = A.operand[BZ_FACTOR].base;
		step = A.operand[BZ_FACTOR].stride[4];
	}
	__device__ __forceinline__ bz_i64 begin(bz_i64 row) const
	{
		return bz_number_of<I>(structure, row);
	}
	/* Can row r begin and end so?  The first one begins with the first entry, and the last one
	 * ends with the last. */
	__device__ __forceinline__ bool holds(bz_i64 r, bz_i64 lo, bz_i64 hi) const
	{
		return 0 <= lo && lo <= hi && hi <= count && (r || !lo) &&
		       (r + 1 < rows || hi == count);
	}
	/* Of entry k, `shift` bytes behind the first column; false: there is none. */
	__device__ __forceinline__ bool term(T *out, bz_i64 k, bz_i64 shift) const
	{
		const bz_i64 c = bz_number_of<I>(columns, k);

		*out = bz_number<T>(0);
		if ((bz_u64)c >= (bz_u64)inner)
			return false;
		*out = bz_mul<T>(bz_ld<T>(entries + k * (bz_i64)sizeof(T)),
				 bz_ld<T>(from + c * step + shift));
		return true;
	}
};

/* Of n entries from `at` on, those before entry k. */
BZ_FN int bz_before_entry(bz_i64 k, bz_i64 at, int n)
{
	return k <= at ? 0 : k - at < n ? (int)(k - at) : n;
}

/* The terms of n entries, by all threads; false: cancelled. */
template <class T, class I>
BZ_FN bool bz_sparse_tile(const bz_call_args &A, const bz_matrix<T, I> &m, T *tile, bz_i64 at, int n)
{
	bool inside = true;

	if (bz_all_cancelled(A)) /* and all are back from the tile before */
		return false;
	for (int i = threadIdx.x; i < n; i += BZ_THREADS)
		inside &= m.term(&tile[i], at + i, 0);
	if (!inside)
		bz_no_matrix(A);
	__syncthreads();
	return true;
}

/* The sums of the rows from `first` on, a row a thread; false: cancelled. */
template <class T, class I>
BZ_FN bool bz_sparse_block(const bz_call_args &A, const bz_matrix<T, I> &m, T *tile, bz_i64 *range,
			   bz_i64 first)
{
	const bz_i64 r = first + threadIdx.x;
	const bz_i64 lo = r < m.rows ? m.begin(r) : 0, hi = r < m.rows ? m.begin(r + 1) : 0;
	bool sound = r >= m.rows || m.holds(r, lo, hi);
	T sum = bz_number<T>(0);

	if (!threadIdx.x) { /* all must go the same way, whoever writes the structure meanwhile */
		range[0] = lo;
		range[1] = m.begin(m.rows - first < BZ_THREADS ? m.rows : first + BZ_THREADS);
		sound = sound && lo <= range[1] && range[1] <= m.count;
	}
	if (!__syncthreads_and(sound)) {
		bz_no_matrix(A);
		return true;
	}
	const bz_i64 end = range[1];

	for (bz_i64 at = range[0]; at < end; at += BZ_TERMS) {
		const int n = end - at < BZ_TERMS ? (int)(end - at) : BZ_TERMS;

		if (!bz_sparse_tile<T, I>(A, m, tile, at, n))
			return false;
		for (int i = bz_before_entry(lo, at, n); i < bz_before_entry(hi, at, n); i++)
			sum = bz_add<T>(sum, tile[i]);
	}
	if (r < m.rows)
		bz_st<T>(A.operand[BZ_SUMS].base + r * A.operand[BZ_SUMS].stride[0], sum);
	return true;
}

template <class T, class I> BZ_FN void bz_sparse_rows(const bz_call_args &A)
{
	__shared__ T tile[BZ_TERMS];
	__shared__ bz_i64 range[2];
	const bz_matrix<T, I> m(A);

	for (bz_i64 first = (bz_i64)blockIdx.x * BZ_THREADS; first < m.rows;
	     first += (bz_i64)gridDim.x * BZ_THREADS)
		if (bz_all_cancelled(A) || !bz_sparse_block<T, I>(A, m, tile, range, first))
			return;
}

template <class T, class I> BZ_FN void bz_sparse_columns(const bz_call_args &A)
{
	const bz_matrix<T, I> m(A);
	const bz_i64 wide = A.extent[1], all = m.rows * wide;

	for (bz_i64 i = (bz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < all;
	     i += (bz_i64)gridDim.x * blockDim.x) {
		const bz_i64 r = bz_over(i, wide), c = i - r * wide, lo = m.begin(r), hi = m.begin(r + 1);
		const bz_i64 shift = c * A.operand[BZ_FACTOR].stride[1];
		bool sound = m.holds(r, lo, hi);
		T sum = bz_number<T>(0), next;

		if (bz_cancelled(A))
			return;
		for (bz_i64 k = lo; sound && k < hi; k++) {
			sound = m.term(&next, k, shift);
			sum = bz_add<T>(sum, next);
			if (!(k & 4095) && bz_cancelled(A))
				return;
		}
		if (!sound)
			bz_no_matrix(A);
		bz_st<T>(A.operand[BZ_SUMS].base + r * A.operand[BZ_SUMS].stride[0] +
				 c * (bz_i64)sizeof(T),
			 sum);
	}
}

template <class T, class I> BZ_FN void bz_sparse_all(const bz_call_args &A)
{
	if (A.extent[1] == 1)
		bz_sparse_rows<T, I>(A);
	else
		bz_sparse_columns<T, I>(A);
}

/* ---- A copy for a library, which believes it ----
 *
 * In the memory at A.part: a word, not 0 where the copy is of no matrix; from 256 bytes on where
 * rows begin; from the next multiple of 256 on the columns.  Launched three times: numbers are
 * copied, those that cannot be as 0; then it is seen whether rows follow each other, of the copy,
 * which nobody else writes; then a copy of no matrix is made one, with all entries in its last row. */

enum { BZ_COPY_ALIGNED = 256 };

template <class I> struct bz_sparse_copy {
	bz_address word, starts, names;

	__device__ __forceinline__ bz_sparse_copy(const bz_call_args &A)
	{
		const bz_i64 bytes = (A.extent[0] + 1) * (bz_i64)sizeof(I);

		word = (bz_address)A.part;
		starts = word + BZ_COPY_ALIGNED;
		names = starts + (bytes + BZ_COPY_ALIGNED - 1) / BZ_COPY_ALIGNED * BZ_COPY_ALIGNED;
	}
	/* Number k of the structure. */
	__device__ __forceinline__ void number(const bz_call_args &A, bz_i64 k) const
	{
		const bz_i64 rows = A.extent[0], x = bz_number_of<I>(A.operand[BZ_STRUCTURE].base, k);
		const bool is_start = k <= rows;
		const bool sound = 0 <= x && (is_start ? x <= A.extent[2] : x < A.extent[4]);

		bz_st<I>(is_start ? starts + k * (bz_i64)sizeof(I)
				  : names + (k - rows - 1) * (bz_i64)sizeof(I),
			 (I)(sound ? x : 0));
		if (!sound)
			bz_no_matrix(A);
	}
	/* Does row r follow the one before it? */
	__device__ __forceinline__ void follows(const bz_call_args &A, bz_i64 r) const
	{
		const bz_i64 lo = bz_number_of<I>(starts, r), rows = A.extent[0];
		const bz_i64 hi = r < rows ? bz_number_of<I>(starts, r + 1) : lo;

		if (lo <= hi && (r || !lo) && (r < rows || lo == A.extent[2]))
			return;
		*(volatile bz_u64 *)word = 1;
		bz_no_matrix(A);
	}
};

template <class I> BZ_FN void bz_sparse_copied(const bz_call_args &A)
{
	const bz_sparse_copy<I> c(A);
	const bz_i64 rows = A.extent[0], all = A.piece ? rows + 1 : A.extent[3];
	const bz_i64 begin = (bz_i64)blockIdx.x * blockDim.x + threadIdx.x;

	if (A.piece == 2 && !*(const volatile bz_u64 *)c.word)
		return;
	if (!A.piece && !begin)
		bz_st<bz_u64>(c.word, 0);
	for (bz_i64 k = begin; k < all; k += (bz_i64)gridDim.x * blockDim.x) {
		if (!A.piece)
			c.number(A, k);
		else if (A.piece == 1)
			c.follows(A, k);
		else
			bz_st<I>(c.starts + k * (bz_i64)sizeof(I), (I)(k < rows ? 0 : A.extent[2]));
	}
}

#define BZ_SPARSE(T, I)                                                                            \
	BZ_ENTRY(bz_call, BZ_THREADS, (bz_sparse_all<T, I>(A)))                                    \
	BZ_ENTRY(bz_call_join, BZ_THREADS, bz_sparse_copied<I>(A))
