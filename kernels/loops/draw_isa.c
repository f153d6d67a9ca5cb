/* SPDX-License-Identifier: Apache-2.0 */
/* loops/draw_isa.c - the inner loops of draws, once per instruction set.
 *
 * In:  DRAW_ISA, the name of the table to define. */
#include "draw.h"

#include <immintrin.h>

#define ALWAYS static inline __attribute__((always_inline))
#define RUN    256 /* words that are made at a time */

/* ---- PCG64 ---- */

/* The words that follow the state *at, which moves on.  Each state waits for the one before it, so
 * four are under way, each four steps from its last. */
ALWAYS void pcg_words(uint64_t *to, draw_wide *at, draw_wide step, int64_t n)
{
	draw_wide factor, sum, x[4];
	int64_t i = 0;

	if (n >= 4) {
		draw_pcg_jump(&factor, &sum, step, 4);
		x[0] = *at * DRAW_PCG_FACTOR + step;
		for (int k = 1; k < 4; k++)
			x[k] = x[k - 1] * DRAW_PCG_FACTOR + step;
		for (;;) {
			for (int k = 0; k < 4; k++)
				to[i + k] = draw_pcg_word(x[k]);
			i += 4;
			if (i + 4 > n)
				break;
			for (int k = 0; k < 4; k++)
				x[k] = x[k] * factor + sum;
		}
		*at = x[3];
	}
	for (; i < n; i++) {
		*at = *at * DRAW_PCG_FACTOR + step;
		to[i] = draw_pcg_word(*at);
	}
}

ALWAYS draw_wide pcg_place(const uint64_t *state, uint64_t words)
{
	draw_wide factor, sum;

	if (!words)
		return draw_wide_of(state + DRAW_STATE);
	draw_pcg_jump(&factor, &sum, draw_wide_of(state + DRAW_STEP), words);
	return draw_wide_of(state + DRAW_STATE) * factor + sum;
}

ALWAYS double real_of(const uint64_t *state, int word)
{
	double x;

	memcpy(&x, &state[word], sizeof x);
	return x;
}

static void pcg_f64(void *data, const uint64_t *state, uint64_t first, int64_t n)
{
	draw_wide at = pcg_place(state, first), step = draw_wide_of(state + DRAW_STEP);
	const double low = real_of(state, DRAW_LOW), span = real_of(state, DRAW_SPAN);
	uint64_t word[RUN];
	double *to = data;

	for (; n > 0; n -= RUN, to += RUN) {
		int64_t m = n < RUN ? n : RUN;

		pcg_words(word, &at, step, m);
		for (int64_t i = 0; i < m; i++)
			to[i] = low + span * ((double)(int64_t)(word[i] >> 11) * 0x1p-53);
	}
}

ALWAYS float pcg_half(uint32_t half)
{
	return (float)(int32_t)(half >> 8) * 0x1p-24f;
}

/* Words are used in halves, the low one first; before them what is left of an earlier one. */
static void pcg_f32(void *data, const uint64_t *state, uint64_t first, int64_t n)
{
	const draw_wide step = draw_wide_of(state + DRAW_STEP);
	uint64_t word[RUN], left = state[DRAW_HALF] >> 32 & 1;
	float *to = data;
	draw_wide at;

	if (n > 0 && left && !first) {
		*to++ = pcg_half((uint32_t)state[DRAW_HALF]);
		n--;
	} else {
		first -= left;
	}
	at = pcg_place(state, first / 2);
	if (n > 0 && first % 2) {
		pcg_words(word, &at, step, 1);
		*to++ = pcg_half((uint32_t)(word[0] >> 32));
		n--;
	}
	for (; n > 0; n -= 2 * RUN, to += 2 * RUN) {
		int64_t m = n < 2 * RUN ? n : 2 * RUN;

		pcg_words(word, &at, step, m / 2 + m % 2);
		for (int64_t i = 0; i < m / 2; i++) {
			to[2 * i] = pcg_half((uint32_t)word[i]);
			to[2 * i + 1] = pcg_half((uint32_t)(word[i] >> 32));
		}
		if (m % 2)
			to[m - 1] = pcg_half((uint32_t)word[m / 2]);
	}
}

/* ---- Vectors ---- */

#if defined(__AVX512F__)
#define W	    8
#define MUL32(a, b) (u64s) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#define SQRT(x)	    (f64s) _mm512_sqrt_pd((__m512d)(x))
#elif defined(__AVX2__)
#define W	    4
#define MUL32(a, b) (u64s) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#define SQRT(x)	    (f64s) _mm256_sqrt_pd((__m256d)(x))
#else
#define W	    2
#define MUL32(a, b) (u64s) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#define SQRT(x)	    (f64s) _mm_sqrt_pd((__m128d)(x))
#endif
#define HALF (DRAW_GROUP / 2)
#define PART (HALF / W) /* vectors of a word each of a group's blocks */

typedef uint64_t u64s __attribute__((vector_size(8 * W)));
typedef int64_t i64s __attribute__((vector_size(8 * W)));
typedef double f64s __attribute__((vector_size(8 * W)));
typedef float f32s __attribute__((vector_size(4 * W)));

ALWAYS u64s all(uint64_t x)
{
	return (u64s){0} + x;
}

/* x < 2^53 as a double: both halves added to what has their place in a double's last bits. */
ALWAYS f64s real(u64s x)
{
	u64s high = (x >> 32) | 0x4530000000000000, low = (x & 0xffffffff) | 0x4330000000000000;

	return ((f64s)high - 0x1.00000001p84) + (f64s)low;
}

/* What all blocks of a draw share: the keys of the rounds, the counter's upper words. */
struct philox {
	u64s key[10][2];
	u64s above[2];
};

ALWAYS void philox_begin(struct philox *p, const uint64_t *state)
{
	uint32_t k0 = (uint32_t)state[DRAW_KEY], k1 = (uint32_t)(state[DRAW_KEY] >> 32);

	for (uint32_t r = 0; r < 10; r++) {
		p->key[r][0] = all(k0 + r * 0x9e3779b9u);
		p->key[r][1] = all(k1 + r * 0xbb67ae85u);
	}
	p->above[0] = all(state[DRAW_NUMBER]);
	p->above[1] = p->above[0] >> 32;
}

/* Both words of the blocks [8 * group, 8 * group + 8).  Each half of a counter lies in 64 bits,
 * whose upper ones are anything meanwhile. */
ALWAYS void blocks(u64s word[PART][2], const struct philox *p, uint64_t group)
{
	static const uint64_t place[HALF] = {0, 1, 2, 3, 4, 5, 6, 7};
	u64s c[PART][4];

	for (int v = 0; v < PART; v++) {
		memcpy(&c[v][0], place + v * W, sizeof c[v][0]);
		c[v][0] += group * HALF;
		c[v][1] = c[v][0] >> 32;
		c[v][2] = p->above[0];
		c[v][3] = p->above[1];
	}
#pragma GCC unroll 10
	for (int r = 0; r < 10; r++)
#pragma GCC unroll 4
		for (int v = 0; v < PART; v++) {
			u64s a = MUL32(c[v][0], all(0xd2511f53)),
			     b = MUL32(c[v][2], all(0xcd9e8d57));

			c[v][0] = (b >> 32) ^ c[v][1] ^ p->key[r][0];
			c[v][1] = b;
			c[v][2] = (a >> 32) ^ c[v][3] ^ p->key[r][1];
			c[v][3] = a;
		}
	for (int v = 0; v < PART; v++) {
		word[v][0] = (c[v][0] & 0xffffffff) | c[v][1] << 32;
		word[v][1] = (c[v][2] & 0xffffffff) | c[v][3] << 32;
	}
}

/* ---- Functions, by series ---- */

/* log(x) of 0 < x <= 1, not subnormal: x = 2^e (1 + f) / (1 - f), |f| < 0.172. */
ALWAYS f64s log_of(f64s x)
{
	const u64s root = all(0x3fe6a09e667f3bcd); /* of a half */
	u64s e = ((u64s)x - root) >> 52;	   /* modulo 2^12 */
	f64s m = (f64s)((u64s)x - (e << 52));
	f64s f = (m - 1.0) / (m + 1.0), z = f * f, p;
	/* e is -53 to 0: a small number below 2^12. */
	f64s k = real((e + 2048) & 4095) - 2048.0;

	p = z * (1.0 / 21) + 1.0 / 19;
	p = p * z + 1.0 / 17;
	p = p * z + 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z + 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z + 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z + 1.0 / 3;
	p = p * z;
	/* log 2, of which the first part times k is exact. */
	return k * 0x1.62e42fefap-1 + (f + f + ((f + f) * p + k * 0x1.cf79abc9e3b3ap-40));
}

/* sin and cos of |x| <= pi / 4. */
ALWAYS f64s sin_of(f64s x, f64s z)
{
	f64s p = z * (-1.0 / 1307674368000) + 1.0 / 6227020800;

	p = p * z - 1.0 / 39916800;
	p = p * z + 1.0 / 362880;
	p = p * z - 1.0 / 5040;
	p = p * z + 1.0 / 120;
	p = p * z - 1.0 / 6;
	return x + x * z * p;
}

ALWAYS f64s cos_of(f64s z)
{
	f64s p = z * (1.0 / 20922789888000) - 1.0 / 87178291200;

	p = p * z + 1.0 / 479001600;
	p = p * z - 1.0 / 3628800;
	p = p * z + 1.0 / 40320;
	p = p * z - 1.0 / 720;
	p = p * z + 1.0 / 24;
	return 1.0 - (z * 0.5 - z * z * p);
}

/* ---- Distributions: both words of blocks as the two elements that they give ---- */

ALWAYS void uniform(f64s x[2], const u64s word[2])
{
	x[0] = real(word[0] >> 11) * 0x1p-53;
	x[1] = real(word[1] >> 11) * 0x1p-53;
}

/* Of float32 the first 24 bits. */
ALWAYS void uniform_short(f64s x[2], const u64s word[2])
{
	x[0] = real(word[0] >> 40) * 0x1p-24;
	x[1] = real(word[1] >> 40) * 0x1p-24;
}

/* Not 0. */
ALWAYS f64s positive(u64s word)
{
	return (real(word >> 11) + 1.0) * 0x1p-53;
}

ALWAYS void exponential(f64s x[2], const u64s word[2])
{
	x[0] = 0.0 - log_of(positive(word[0]));
	x[1] = 0.0 - log_of(positive(word[1]));
}

/* A point of the plane by its distance and its angle (Box, Muller): two bits are the quadrant, the
 * others the angle in it, counted from its middle. */
ALWAYS void normal(f64s x[2], const u64s word[2])
{
	f64s far = SQRT(log_of(positive(word[0])) * -2.0);
	f64s angle = (real(word[1] << 2 >> 11) * 0x1p-53 - 0.5) * 0x1.921fb54442d18p+0;
	f64s z = angle * angle, s = sin_of(angle, z) * far, c = cos_of(z) * far;
	u64s swap = -(word[1] >> 62 & 1), below = word[1] >> 63 << 63;

	x[0] = (f64s)(((swap & (u64s)s) | (~swap & (u64s)c)) ^ below ^ (swap << 63));
	x[1] = (f64s)(((swap & (u64s)c) | (~swap & (u64s)s)) ^ below);
}

/* ---- Arrays ---- */

/* A group's elements, from the words of its blocks, at `to`. */
#define REAL_GROUP(name, t, ts, short)                                                             \
	ALWAYS void name##_##t##_group(void *to, const struct philox *ph, const uint64_t *state,   \
				       uint64_t group)                                             \
	{                                                                                          \
		const t low = (t)real_of(state, DRAW_LOW), span = (t)real_of(state, DRAW_SPAN);    \
		u64s word[PART][2];                                                                \
		t *at = to;                                                                        \
                                                                                                   \
		blocks(word, ph, group);                                                           \
		for (int p = 0; p < PART; p++) {                                                   \
			f64s x[2];                                                                 \
                                                                                                   \
			name##short(x, word[p]);                                                   \
			for (int h = 0; h < 2; h++) {                                              \
				ts y = low + span * __builtin_convertvector(x[h], ts);             \
                                                                                                   \
				memcpy(at + h * HALF + p * W, &y, sizeof y);                       \
			}                                                                          \
		}                                                                                  \
	}

/* Whole groups, and the last one as far as it is asked for. */
#define FILL(name, t)                                                                              \
	static void name##_##t(void *to, const uint64_t *state, uint64_t first, int64_t n)         \
	{                                                                                          \
		uint64_t group = first / DRAW_GROUP;                                               \
		t last[DRAW_GROUP], *at = to;                                                      \
		struct philox ph;                                                                  \
                                                                                                   \
		philox_begin(&ph, state);                                                          \
		for (; n >= DRAW_GROUP; n -= DRAW_GROUP, at += DRAW_GROUP)                         \
			name##_##t##_group(at, &ph, state, group++);                               \
		if (n > 0) {                                                                       \
			name##_##t##_group(last, &ph, state, group);                               \
			memcpy(at, last, (size_t)n * sizeof *at);                                  \
		}                                                                                  \
	}

#define REALS(name, short)                                                                         \
	REAL_GROUP(name, double, f64s, )                                                           \
	FILL(name, double)                                                                         \
	REAL_GROUP(name, float, f32s, short)                                                       \
	FILL(name, float)
REALS(uniform, _short)
REALS(normal, )
REALS(exponential, )

ALWAYS void words_uint64_t_group(void *to, const struct philox *ph, const uint64_t *state,
				 uint64_t group)
{
	u64s word[PART][2];
	char *at = to;

	(void)state;
	blocks(word, ph, group);
	for (int p = 0; p < PART; p++)
		for (int h = 0; h < 2; h++)
			memcpy(at + (h * HALF + p * W) * 8, &word[p][h], sizeof word[p][h]);
}
FILL(words, uint64_t)

/* The upper half of word * span, span below 2^32: what is below span, each equally often but for
 * one part in 2^32. */
ALWAYS void below_uint64_t_group(void *to, const struct philox *ph, const uint64_t *state,
				 uint64_t group)
{
	const u64s span = all(state[DRAW_SPAN]), low = all(state[DRAW_LOW]);
	u64s word[PART][2];
	char *at = to;

	blocks(word, ph, group);
	for (int p = 0; p < PART; p++)
		for (int h = 0; h < 2; h++) {
			u64s y = word[p][h], x = MUL32(y >> 32, span) + (MUL32(y, span) >> 32);

			x = low + (x >> 32);
			memcpy(at + (h * HALF + p * W) * 8, &x, sizeof x);
		}
}
FILL(below, uint64_t)

/* Of any span, 0 for 2^64: the upper half of 128 bits times span. */
ALWAYS void far_uint64_t_group(void *to, const struct philox *ph, const uint64_t *state,
			       uint64_t group)
{
	const uint64_t span = state[DRAW_SPAN];
	uint64_t *at = to, word[PART][2][W];

	for (int half = 0; half < 2; half++, at += HALF) {
		u64s made[PART][2];

		blocks(made, ph, 2 * group + (uint64_t)half);
		memcpy(word, made, sizeof word);
		for (int l = 0; l < HALF; l++) {
			uint64_t above = word[l / W][1][l % W];
			uint64_t low = (uint64_t)((draw_wide)word[l / W][0][l % W] * span >> 64);
			draw_wide x = (draw_wide)above * span + low;

			at[l] = state[DRAW_LOW] + (span ? (uint64_t)(x >> 64) : above);
		}
	}
}
FILL(far, uint64_t)

static void integers(void *to, const uint64_t *state, uint64_t first, int64_t n)
{
	if (state[DRAW_SPAN] && state[DRAW_SPAN] <= UINT32_MAX)
		below_uint64_t(to, state, first, n);
	else
		far_uint64_t(to, state, first, n);
}

#define AT(op) [OP_##op - OP_PCG64]
const struct draw_isa DRAW_ISA = {
	.fill = {
		AT(PCG64) = {[DT_FLOAT32] = pcg_f32, [DT_FLOAT64] = pcg_f64},
		AT(DRAW_UNIFORM) = {[DT_FLOAT32] = uniform_float, [DT_FLOAT64] = uniform_double},
		AT(DRAW_NORMAL) = {[DT_FLOAT32] = normal_float, [DT_FLOAT64] = normal_double},
		AT(DRAW_EXPONENTIAL) =
			{[DT_FLOAT32] = exponential_float, [DT_FLOAT64] = exponential_double},
		AT(DRAW_INTEGERS) = {[DT_INT64] = integers, [DT_UINT64] = integers},
		AT(DRAW_WORDS) = {[DT_UINT64] = words_uint64_t},
	}};
