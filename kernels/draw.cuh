/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/draw.cuh - random numbers, after call.cuh: those of loops/draw.h, bit for bit.
 *
 * A thread has a block of Philox, which two elements come from, or one integer of a great span; of
 * PCG64 every so manieth element, whose state is that many steps from the one before. */

#define BZ_DRAWN 8192 /* elements of a unit */

enum { BZ_KEY, BZ_NUMBER, BZ_STATE = 0, BZ_STEP = 2, BZ_HALF = 4, BZ_LOW = 5, BZ_SPAN = 6 };

BZ_FN bz_u64 bz_state_word(const bz_call_args &A, int word)
{
	return bz_ld<bz_u64>(A.operand[0].base + word * A.operand[0].stride[1]);
}
template <class T> BZ_FN T bz_state_real(const bz_call_args &A, int word)
{
	return (T)__longlong_as_double((bz_i64)bz_state_word(A, word));
}

/* ---- Philox 4x32 of ten rounds ---- */

struct bz_words {
	bz_u64 word[2];
};

BZ_FN bz_words bz_philox(bz_u64 key, bz_u64 number, bz_u64 block)
{
	bz_u32 k0 = (bz_u32)key, k1 = (bz_u32)(key >> 32);
	bz_u32 c0 = (bz_u32)block, c1 = (bz_u32)(block >> 32);
	bz_u32 c2 = (bz_u32)number, c3 = (bz_u32)(number >> 32);

#pragma unroll
	for (int r = 0; r < 10; r++) {
		const bz_u64 a = (bz_u64)c0 * 0xd2511f53u, b = (bz_u64)c2 * 0xcd9e8d57u;

		c0 = (bz_u32)(b >> 32) ^ c1 ^ k0;
		c1 = (bz_u32)b;
		c2 = (bz_u32)(a >> 32) ^ c3 ^ k1;
		c3 = (bz_u32)a;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	return {{c0 | (bz_u64)c1 << 32, c2 | (bz_u64)c3 << 32}};
}

/* ---- Functions, by series: the terms and their order are those of the processor's ---- */

/* log(x) of 0 < x <= 1, not subnormal. */
BZ_FN bz_f64 bz_log_of(bz_f64 x)
{
	const bz_u64 root = 0x3fe6a09e667f3bcdull, bits = (bz_u64)__double_as_longlong(x);
	const bz_i64 e = (bz_i64)(bits - root) >> 52;
	const bz_f64 m = __longlong_as_double((bz_i64)(bits - ((bz_u64)e << 52))), k = (bz_f64)e;
	const bz_f64 f = (m - 1.0) / (m + 1.0), z = f * f;
	bz_f64 p = z * (1.0 / 21) + 1.0 / 19;

	p = p * z + 1.0 / 17;
	p = p * z + 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z + 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z + 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z + 1.0 / 3;
	p = p * z;
	return k * 0x1.62e42fefap-1 + (f + f + ((f + f) * p + k * 0x1.cf79abc9e3b3ap-40));
}
/* sin and cos of |x| <= pi / 4, z its square. */
BZ_FN bz_f64 bz_sin_of(bz_f64 x, bz_f64 z)
{
	bz_f64 p = z * (-1.0 / 1307674368000) + 1.0 / 6227020800;

	p = p * z - 1.0 / 39916800;
	p = p * z + 1.0 / 362880;
	p = p * z - 1.0 / 5040;
	p = p * z + 1.0 / 120;
	p = p * z - 1.0 / 6;
	return x + x * z * p;
}
BZ_FN bz_f64 bz_cos_of(bz_f64 z)
{
	bz_f64 p = z * (1.0 / 20922789888000) - 1.0 / 87178291200;

	p = p * z + 1.0 / 479001600;
	p = p * z - 1.0 / 3628800;
	p = p * z + 1.0 / 40320;
	p = p * z - 1.0 / 720;
	p = p * z + 1.0 / 24;
	return 1.0 - (z * 0.5 - z * z * p);
}

/* Of the first bits of a word, below 1; not 0. */
BZ_FN bz_f64 bz_part(bz_u64 word, int bits, bz_f64 unit)
{
	return (bz_f64)(bz_i64)(word >> (64 - bits)) * unit;
}
BZ_FN bz_f64 bz_positive(bz_u64 word)
{
	return ((bz_f64)(bz_i64)(word >> 11) + 1.0) * 0x1p-53;
}

/* ---- Distributions: a block's words as its two elements ---- */

struct bz_two {
	bz_f64 x[2];
};

template <class T> BZ_FN bz_two bz_draw_uniform(bz_words w)
{
	if constexpr (sizeof(T) == 4)
		return {{bz_part(w.word[0], 24, 0x1p-24), bz_part(w.word[1], 24, 0x1p-24)}};
	else
		return {{bz_part(w.word[0], 53, 0x1p-53), bz_part(w.word[1], 53, 0x1p-53)}};
}
template <class T> BZ_FN bz_two bz_draw_exponential(bz_words w)
{
	return {{0.0 - bz_log_of(bz_positive(w.word[0])), 0.0 - bz_log_of(bz_positive(w.word[1]))}};
}
template <class T> BZ_FN bz_two bz_draw_normal(bz_words w)
{
	const bz_f64 far = sqrt(bz_log_of(bz_positive(w.word[0])) * -2.0);
	const bz_f64 angle =
		((bz_f64)(bz_i64)(w.word[1] << 2 >> 11) * 0x1p-53 - 0.5) * 0x1.921fb54442d18p+0;
	const bz_f64 z = angle * angle, s = bz_sin_of(angle, z) * far, c = bz_cos_of(z) * far;
	const bool swap = w.word[1] >> 62 & 1, below = w.word[1] >> 63;
	const bz_f64 x = swap ? s : c, y = swap ? c : s;

	return {{below != swap ? -x : x, below ? -y : y}};
}

/* ---- Arrays ---- */

/* Elements of the units, as far as there are any. */
BZ_FN bz_i64 bz_drawn_end(const bz_call_args &A)
{
	return A.hi * BZ_DRAWN < A.extent[0] ? A.hi * BZ_DRAWN : A.extent[0];
}

/* F(block) gives what both elements of the block are: 16 come from eight blocks. */
template <class T, class F> BZ_FN void bz_each_block(const bz_call_args &A, F f)
{
	const bz_i64 end = bz_drawn_end(A), turn = (bz_i64)gridDim.x * blockDim.x;

	for (bz_i64 b = A.lo * (BZ_DRAWN / 2) + (bz_i64)blockIdx.x * blockDim.x + threadIdx.x;
	     b < (end + 15) / 16 * 8; b += turn) {
		const bz_i64 at = b / 8 * 16 + b % 8;
		T made[2];

		if (bz_cancelled(A))
			return;
		f(made, b);
		if (at < end)
			bz_st<T>(A.operand[1].base + at * (bz_i64)sizeof(T), made[0]);
		if (at + 8 < end)
			bz_st<T>(A.operand[1].base + (at + 8) * (bz_i64)sizeof(T), made[1]);
	}
}

template <class T, bz_two (*OF)(bz_words)> BZ_FN void bz_draw_reals(const bz_call_args &A)
{
	const bz_u64 key = bz_state_word(A, BZ_KEY), number = bz_state_word(A, BZ_NUMBER);
	const T low = bz_state_real<T>(A, BZ_LOW), span = bz_state_real<T>(A, BZ_SPAN);

	bz_each_block<T>(A, [&](T *made, bz_i64 b) {
		const bz_two v = OF(bz_philox(key, number, (bz_u64)b));

		made[0] = low + span * (T)v.x[0];
		made[1] = low + span * (T)v.x[1];
	});
}

BZ_FN void bz_draw_words(const bz_call_args &A)
{
	const bz_u64 key = bz_state_word(A, BZ_KEY), number = bz_state_word(A, BZ_NUMBER);

	bz_each_block<bz_u64>(A, [&](bz_u64 *made, bz_i64 b) {
		const bz_words w = bz_philox(key, number, (bz_u64)b);

		made[0] = w.word[0];
		made[1] = w.word[1];
	});
}

/* Below a span of 32 bits, but for one part in 2^32 each equally often; of a greater one, 0 for
 * 2^64, a whole block is used. */
BZ_FN void bz_draw_integers(const bz_call_args &A)
{
	const bz_u64 key = bz_state_word(A, BZ_KEY), number = bz_state_word(A, BZ_NUMBER);
	const bz_u64 low = bz_state_word(A, BZ_LOW), span = bz_state_word(A, BZ_SPAN);
	const bz_i64 end = bz_drawn_end(A), turn = (bz_i64)gridDim.x * blockDim.x;

	if (span && span <= 0xffffffffull) {
		bz_each_block<bz_u64>(A, [&](bz_u64 *made, bz_i64 b) {
			const bz_words w = bz_philox(key, number, (bz_u64)b);

			for (int h = 0; h < 2; h++) {
				const bz_u64 y = w.word[h];

				made[h] = low + (((y >> 32) * span + ((y & 0xffffffffu) * span >> 32)) >> 32);
			}
		});
		return;
	}
	for (bz_i64 i = A.lo * BZ_DRAWN + (bz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < end;
	     i += turn) {
		const bz_words w = bz_philox(key, number, (bz_u64)i);
		const bz_u64 carry = __umul64hi(w.word[0], span), part = w.word[1] * span;
		const bz_u64 above = __umul64hi(w.word[1], span) + (part + carry < part);

		if (bz_cancelled(A))
			return;
		bz_st<bz_u64>(A.operand[1].base + i * 8, low + (span ? above : w.word[1]));
	}
}

/* ---- PCG64 ---- */

struct bz_u128 {
	bz_u64 lo, hi;
};

BZ_FN bz_u128 bz_u128_add(bz_u128 a, bz_u128 b)
{
	const bz_u64 lo = a.lo + b.lo;

	return {lo, a.hi + b.hi + (lo < a.lo)};
}
BZ_FN bz_u128 bz_u128_mul(bz_u128 a, bz_u128 b)
{
	return {a.lo * b.lo, __umul64hi(a.lo, b.lo) + a.lo * b.hi + a.hi * b.lo};
}

/* x -> factor * x + sum is so many steps. */
struct bz_jump {
	bz_u128 factor, sum;

	__device__ __forceinline__ bz_jump(bz_u128 step, bz_u64 steps)
	{
		bz_u128 f = {0x4385df649fccf645ull, 0x2360ed051fc65da4ull}, s = step;

		factor = {1, 0};
		sum = {0, 0};
		for (; steps; steps >>= 1) {
			if (steps & 1) {
				factor = bz_u128_mul(factor, f);
				sum = bz_u128_add(bz_u128_mul(sum, f), s);
			}
			s = bz_u128_add(bz_u128_mul(s, f), s);
			f = bz_u128_mul(f, f);
		}
	}
	__device__ __forceinline__ bz_u128 operator()(bz_u128 x) const
	{
		return bz_u128_add(bz_u128_mul(factor, x), sum);
	}
};

BZ_FN bz_u64 bz_pcg_word(bz_u128 x)
{
	const bz_u64 folded = x.hi ^ x.lo;
	const int turn = (int)(x.hi >> 58);

	return folded >> turn | folded << (-turn & 63);
}

/* F(element, word number k) for every word that elements [first, end) come from. */
template <class F>
BZ_FN void bz_each_word(const bz_call_args &A, bz_i64 first, bz_i64 end, F f)
{
	const bz_u128 step = {bz_state_word(A, BZ_STEP), bz_state_word(A, BZ_STEP + 1)};
	const bz_i64 turn = (bz_i64)gridDim.x * blockDim.x;
	const bz_jump far(step, (bz_u64)turn);
	bz_i64 k = first + (bz_i64)blockIdx.x * blockDim.x + threadIdx.x;
	bz_u128 x = {bz_state_word(A, BZ_STATE), bz_state_word(A, BZ_STATE + 1)};

	/* The state is one step on when it gives a word. */
	x = bz_jump(step, (bz_u64)k + 1)(x);
	for (; k < end; k += turn, x = far(x)) {
		if (bz_cancelled(A))
			return;
		f(k, bz_pcg_word(x));
	}
}

template <class T> BZ_FN void bz_draw_pcg64(const bz_call_args &A)
{
	const bz_i64 first = A.lo * BZ_DRAWN, end = bz_drawn_end(A);
	const bz_address to = A.operand[1].base;

	if constexpr (sizeof(T) == 8) {
		const bz_f64 low = bz_state_real<T>(A, BZ_LOW), span = bz_state_real<T>(A, BZ_SPAN);

		bz_each_word(A, first, end, [&](bz_i64 k, bz_u64 w) {
			bz_st<T>(to + k * 8, low + span * bz_part(w, 53, 0x1p-53));
		});
	} else {
		/* Words are used in halves, the low one first; before them what is left of one. */
		const bz_u64 half = bz_state_word(A, BZ_HALF);
		const bz_i64 left = (bz_i64)(half >> 32 & 1);
		const auto put = [&](bz_i64 at, bz_u32 x) {
			if (at >= first && at < end)
				bz_st<T>(to + at * 4, (T)(bz_i32)(x >> 8) * (T)0x1p-24);
		};

		if (left && !blockIdx.x && !threadIdx.x)
			put(0, (bz_u32)half);
		bz_each_word(A, (first - left) / 2, (end - left + 1) / 2, [&](bz_i64 k, bz_u64 w) {
			put(2 * k + left, (bz_u32)w);
			put(2 * k + left + 1, (bz_u32)(w >> 32));
		});
	}
}

#define BZ_DRAW(name, T)   BZ_ENTRY(bz_call, BZ_THREADS, (bz_draw_reals<T, bz_draw_##name<T>>(A)))
#define BZ_DRAW_PCG64(T)   BZ_ENTRY(bz_call, BZ_THREADS, bz_draw_pcg64<T>(A))
#define BZ_DRAW_INTEGERS() BZ_ENTRY(bz_call, BZ_THREADS, bz_draw_integers(A))
#define BZ_DRAW_WORDS()	   BZ_ENTRY(bz_call, BZ_THREADS, bz_draw_words(A))
