/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/search.cuh - where needles belong among elements in order, and values on lines between
 * them, after call.cuh.  A thread has a needle; the steps of loops/search.h, so that the answers
 * are the same among elements in no order, too. */

#define BZ_NEEDLES 1024 /* of a unit */

/* Operands and loops, as in call/search.h. */
enum { BZ_AMONG, BZ_NEEDLE, BZ_PLACE, BZ_VALUES };

/* What comes before the answer: with RIGHT all that does not come after the needle. */
template <class T, bool RIGHT> BZ_FN bool bz_passes(T x, T key)
{
	return RIGHT ? !bz_before(key, x) : bz_before(x, key);
}

template <class T, bool RIGHT>
BZ_FN bz_i64 bz_find(bz_address among, bz_i64 step, bz_i64 n, T key)
{
	bz_i64 base = 0;

	for (bz_i64 left = n; left > 1;) {
		const bz_i64 half = left / 2;

		if (bz_passes<T, RIGHT>(bz_ld<T>(among + (base + half - 1) * step), key))
			base += half;
		left -= half;
	}
	return base + bz_passes<T, RIGHT>(bz_ld<T>(among + base * step), key);
}

/* What F makes of each needle of the units. */
template <class F> BZ_FN void bz_each_needle(const bz_call_args &A, F f)
{
	const bz_i64 most = A.extent[0], end = A.hi * BZ_NEEDLES < most ? A.hi * BZ_NEEDLES : most;

	for (bz_i64 i = A.lo * BZ_NEEDLES + (bz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < end;
	     i += (bz_i64)gridDim.x * blockDim.x) {
		if (bz_cancelled(A))
			return;
		f(i);
	}
}

template <class T, bool RIGHT> BZ_FN void bz_search_all(const bz_call_args &A)
{
	bz_each_needle(A, [&](bz_i64 i) {
		const T key = bz_ld<T>(A.operand[BZ_NEEDLE].base + i * A.operand[BZ_NEEDLE].stride[0]);

		bz_st<bz_i64>(A.operand[BZ_PLACE].base + i * 8,
			      bz_find<T, RIGHT>(A.operand[BZ_AMONG].base,
						A.operand[BZ_AMONG].stride[1], A.extent[1], key));
	});
}

/* NumPy's formula, from the point before the needle, or at it; where that is a nan, from the point
 * behind. */
BZ_FN bz_f64 bz_on_line(bz_f64 x, bz_f64 x0, bz_f64 x1, bz_f64 y0, bz_f64 y1)
{
	const bz_f64 slope = (y1 - y0) / (x1 - x0), made = slope * (x - x0) + y0;
	const bz_f64 other = slope * (x - x1) + y1;

	if (x0 == x)
		return y0;
	return made == made ? made : other != other && y0 == y1 ? y0 : other;
}

BZ_FN bz_f64 bz_number_at(const bz_call_args &A, int x, bz_i64 k)
{
	return bz_ld<bz_f64>(A.operand[x].base + k * A.operand[x].stride[1]);
}

BZ_FN void bz_interp_all(const bz_call_args &A)
{
	const bz_i64 n = A.extent[1], last = n - 2;

	bz_each_needle(A, [&](bz_i64 i) {
		const bz_f64 x =
			bz_ld<bz_f64>(A.operand[BZ_NEEDLE].base + i * A.operand[BZ_NEEDLE].stride[0]);
		const bz_i64 at = bz_find<bz_f64, true>(A.operand[BZ_AMONG].base,
							A.operand[BZ_AMONG].stride[1], n, x) - 1;
		bz_f64 y;

		if (x != x)
			y = x;
		else if (at < 0)
			y = bz_number_at(A, BZ_VALUES, 0);
		else if (at > last)
			y = bz_number_at(A, BZ_VALUES, n - 1);
		else
			y = bz_on_line(x, bz_number_at(A, BZ_AMONG, at),
				       bz_number_at(A, BZ_AMONG, at + 1),
				       bz_number_at(A, BZ_VALUES, at),
				       bz_number_at(A, BZ_VALUES, at + 1));
		bz_st<bz_f64>(A.operand[BZ_PLACE].base + i * 8, y);
	});
}

#define BZ_SEARCH(T, RIGHT) BZ_ENTRY(bz_call, BZ_THREADS, (bz_search_all<T, RIGHT>(A)))
#define BZ_INTERP()	    BZ_ENTRY(bz_call, BZ_THREADS, bz_interp_all(A))
