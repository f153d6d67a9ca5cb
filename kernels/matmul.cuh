/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/matmul.cuh - C = A B for every element type, after the CUDA prologue.
 *
 * A block of BZ_THREADS threads makes a tile of 64 x 64 elements of C from panels of
 * A and B in shared memory; a thread makes 4 x 4 of them.  Each element is summed in
 * rising k from 0, a multiply and an add at a time, contracted where `fused` says so, as the
 * processor's own loops do, so the bits are the same and do not depend on tiles.  bool is OR of ANDs; float16 is
 * summed in float32 and rounded once. */

#define BZ_SIDE	 64 /* of a tile */
#define BZ_PANEL 8  /* steps of k in shared memory at once */

/* contract/cuda_abi.h's struct cuda_matmul_args. */
struct bz_product {
	bz_i64 m, n, k, lo, hi;
	bz_u64 cancel;
	bz_address base[3];
	bz_i64 row[3], col[3], nbatch, batch[8], step[3][8], fused;
};

/* What elements of type T are multiplied and summed in. */
template <class T> struct bz_sum {
	typedef T type;
};
template <> struct bz_sum<bz_f16> {
	typedef bz_f32 type;
};

template <class S> BZ_FN S bz_fused(const S sum, const S x, const S y)
{
	return bz_add<S>(sum, bz_mul<S>(x, y));
}
BZ_FN bz_f32 bz_fused(const bz_f32 sum, const bz_f32 x, const bz_f32 y)
{
	return fmaf(x, y, sum);
}
BZ_FN bz_f64 bz_fused(const bz_f64 sum, const bz_f64 x, const bz_f64 y)
{
	return fma(x, y, sum);
}

/* A panel of 64 rows (or columns) by 8 steps of k; what lies outside is 0. */
template <class T, class S>
BZ_FN void bz_panel(S (*panel)[BZ_SIDE + 1], bz_address base, bz_i64 first, bz_i64 end, bz_i64 along,
		    bz_i64 k0, bz_i64 k, bz_i64 deep, bool k_fast)
{
	for (int i = threadIdx.x; i < BZ_SIDE * BZ_PANEL; i += BZ_THREADS) {
		/* Neighbours in memory go to neighbouring threads. */
		const int x = k_fast ? i / BZ_PANEL : i % BZ_SIDE;
		const int y = k_fast ? i % BZ_PANEL : i / BZ_SIDE;
		S v = bz_number<S>(0);

		if (first + x < end && k0 + y < k)
			v = bz_cast<T, S>(bz_ld<T>(base + (first + x) * along + (k0 + y) * deep));
		panel[y][x] = v;
	}
}

/* A thread's elements go on by so many steps of the panels. */
template <class S>
BZ_FN void bz_more(S (&c)[4][4], const S *x, const S *y, const int steps, const bool fused)
{
#pragma unroll 4
	for (int k = 0; k < steps; k++, x += BZ_SIDE + 1, y += BZ_SIDE + 1)
		if (fused)
#pragma unroll
			for (int i = 0; i < 16; i++)
				c[i / 4][i % 4] = bz_fused(c[i / 4][i % 4], x[16 * (i / 4)],
							   y[16 * (i % 4)]);
		else
#pragma unroll
			for (int i = 0; i < 16; i++)
				c[i / 4][i % 4] = bz_add<S>(
					c[i / 4][i % 4], bz_mul<S>(x[16 * (i / 4)], y[16 * (i % 4)]));
}

template <class T> BZ_FN void bz_matmul_tiles(const bz_product &P)
{
	typedef typename bz_sum<T>::type S;
	__shared__ S a[BZ_PANEL][BZ_SIDE + 1], b[BZ_PANEL][BZ_SIDE + 1];
	__shared__ bool stop;
	const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
	const bz_i64 wide = (P.n + BZ_SIDE - 1) / BZ_SIDE, high = (P.m + BZ_SIDE - 1) / BZ_SIDE;

	for (bz_i64 t = P.lo + blockIdx.x; t < P.hi; t += gridDim.x) {
		const bz_i64 j0 = t % wide * BZ_SIDE, i0 = t / wide % high * BZ_SIDE;
		bz_i64 q = t / wide / high;
		bz_address A = P.base[0], B = P.base[1], C = P.base[2];
		S c[4][4];

#pragma unroll
		for (int d = 7; d >= 0; d--) {
			if (d >= P.nbatch)
				continue;
			const bz_i64 x = q % P.batch[d];

			q /= P.batch[d];
			A += x * P.step[0][d];
			B += x * P.step[1][d];
			C += x * P.step[2][d];
		}
#pragma unroll
		for (int i = 0; i < 16; i++)
			c[i / 4][i % 4] = bz_number<S>(0);
		if (!threadIdx.x)
			stop = *(const volatile bz_u32 *)P.cancel != 0;
		for (bz_i64 k0 = 0; k0 < P.k; k0 += BZ_PANEL) {
			__syncthreads();
			if (stop)
				return;
			bz_panel<T, S>(a, A, i0, P.m, P.row[0], k0, P.k, P.col[0], P.col[0] < P.row[0]);
			bz_panel<T, S>(b, B, j0, P.n, P.col[1], k0, P.k, P.row[1], P.row[1] < P.col[1]);
			__syncthreads();
			/* Beyond the end a product may be NaN where 0 times infinity is. */
			const int steps = P.k - k0 < BZ_PANEL ? (int)(P.k - k0) : BZ_PANEL;
			bz_more(c, &a[0][ty], &b[0][tx], steps, P.fused);
		}
#pragma unroll
		for (int i = 0; i < 16; i++) {
			const bz_i64 x = i0 + ty + 16 * (i / 4), y = j0 + tx + 16 * (i % 4);

			if (x < P.m && y < P.n)
				bz_st<T>(C + x * P.row[2] + y * P.col[2],
					 bz_cast<S, T>(c[i / 4][i % 4]));
		}
		__syncthreads();
	}
}

#define BZ_MATMUL(T)                                                                               \
	extern "C" __global__ void __launch_bounds__(BZ_THREADS) bz_matmul(const bz_product P)    \
	{                                                                                          \
		bz_matmul_tiles<T>(P);                                                             \
	}

/* ---- For a library ---- */

/* contract/cuda_abi.h's struct cuda_move_args. */
struct bz_move {
	bz_i64 count, rows, cols, high, width;
	bz_address dense, loose;
	bz_i64 row, col, step;
};

/* Matrices as a library wants them.  Neighbours in memory are neighbouring threads' on both sides. */
template <class T> BZ_FN void bz_pack_tiles(const bz_move &P)
{
	__shared__ T tile[BZ_SIDE][BZ_SIDE + 4];
	const bz_i64 wide = (P.width + BZ_SIDE - 1) / BZ_SIDE, tall = (P.high + BZ_SIDE - 1) / BZ_SIDE;
	const bool along = P.col < P.row;

	for (bz_i64 t = blockIdx.x; t < P.count * tall * wide; t += gridDim.x) {
		const bz_i64 j0 = t % wide * BZ_SIDE, i0 = t / wide % tall * BZ_SIDE, at = t / wide / tall;

		for (int i = threadIdx.x; i < BZ_SIDE * BZ_SIDE; i += BZ_THREADS) {
			const int x = along ? i / BZ_SIDE : i % BZ_SIDE, y = along ? i % BZ_SIDE : i / BZ_SIDE;
			T v = bz_number<T>(0);

			if (i0 + x < P.rows && j0 + y < P.cols)
				v = bz_ld<T>(P.loose + at * P.step + (i0 + x) * P.row + (j0 + y) * P.col);
			tile[x][y] = v;
		}
		__syncthreads();
		for (int i = threadIdx.x; i < BZ_SIDE * BZ_SIDE; i += BZ_THREADS) {
			const bz_i64 x = i0 + i / BZ_SIDE, y = j0 + i % BZ_SIDE;

			if (x < P.high && y < P.width)
				bz_st<T>(P.dense + ((at * P.high + x) * P.width + y) * (bz_i64)sizeof(T),
					 tile[i / BZ_SIDE][i % BZ_SIDE]);
		}
		__syncthreads();
	}
}

/* Sums in S become elements. */
template <class T, class S> BZ_FN void bz_store_sums(const bz_move &P)
{
	const bz_i64 step = (bz_i64)gridDim.x * BZ_THREADS;

	for (bz_i64 i = (bz_i64)blockIdx.x * BZ_THREADS + threadIdx.x; i < P.count * P.rows * P.cols; i += step) {
		const bz_i64 y = i % P.cols, x = i / P.cols % P.rows, at = i / P.cols / P.rows;
		const S v = bz_ld<S>(P.dense + ((at * P.high + x) * P.width + y) * (bz_i64)sizeof(S));

		bz_st<T>(P.loose + at * P.step + x * P.row + y * P.col, bz_cast<S, T>(v));
	}
}

#define BZ_MATMUL_PACK(T)                                                                          \
	extern "C" __global__ void __launch_bounds__(BZ_THREADS) bz_matmul_pack(const bz_move P)   \
	{                                                                                          \
		bz_pack_tiles<T>(P);                                                               \
	}
#define BZ_MATMUL_STORE(T, S)                                                                      \
	extern "C" __global__ void __launch_bounds__(BZ_THREADS) bz_matmul_store(const bz_move P)  \
	{                                                                                          \
		bz_store_sums<T, S>(P);                                                            \
	}
