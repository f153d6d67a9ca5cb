/* SPDX-License-Identifier: Apache-2.0 */
/* loops/scan_isa.c - the inner loops of scans, once per instruction set.
 *
 * In:  SCAN_ISA, the name of the table to define.  An element waits for the one before it, so what
 * is quick is to have several lanes under way: four where elements of a lane lie side by side,
 * whole vectors of them where lanes do. */
#include "scan.h"

#define ALWAYS static inline __attribute__((always_inline))
#ifdef __clang__
#define ANY
#else
#define ANY _Pragma("GCC ivdep")
#endif

/* NumPy's results: integers wrap, a nan stays, bool is any byte but 0 (a client can scribble). */
typedef uint8_t b1;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
typedef struct {
	float re, im;
} c64;
typedef struct {
	double re, im;
} c128;

#define SAME(t)                                                                                    \
	ALWAYS t value_##t(t x)                                                                    \
	{                                                                                          \
		return x;                                                                          \
	}
#define EACH_INT(X)                                                                                \
	X(i8, u8) X(i16, u16) X(i32, u32) X(i64, u64) X(u8, u8) X(u16, u16) X(u32, u32) X(u64, u64)
#define EACH_FLOAT(X) X(f32, f32) X(f64, f64)
#define EACH_REAL(X)  EACH_INT(X) EACH_FLOAT(X)
#define VALUE(t, u)   SAME(t)
EACH_REAL(VALUE)
SAME(c64)
SAME(c128)
ALWAYS b1 value_b1(b1 x)
{
	return x != 0;
}

#define BINARY(op, t, expr)                                                                        \
	ALWAYS t op##_##t(t a, t b)                                                                \
	{                                                                                          \
		return (t)(expr);                                                                  \
	}
#define INTEGERS(t, u)                                                                             \
	BINARY(sum, t, (u)((u64)a + (u64)b))                                                       \
	BINARY(prod, t, (u)((u64)a * (u64)b))                                                      \
	BINARY(min, t, a < b ? a : b)                                                              \
	BINARY(max, t, a > b ? a : b)
#define FLOATS(t, u)                                                                               \
	BINARY(sum, t, a + b)                                                                      \
	BINARY(prod, t, a *b)                                                                      \
	BINARY(min, t, a < b || a != a ? a : b)                                                    \
	BINARY(max, t, a > b || a != a ? a : b)
EACH_INT(INTEGERS)
EACH_FLOAT(FLOATS)
BINARY(sum, b1, a | b)
BINARY(prod, b1, a &b)
BINARY(min, b1, a &b)
BINARY(max, b1, a | b)
/* Rounded before it is added to anything: gcc's vectoriser makes one multiplication and addition of
 * the two parts of a complex product (VEC_FMADDSUB) whatever -ffp-contract says. */
#if !defined(__clang__) && __GNUC__ >= 12
#define ROUNDED(x) __builtin_assoc_barrier(x)
#else
#define ROUNDED(x) (x)
#endif
#define COMPLEX(t)                                                                                 \
	ALWAYS t sum_##t(t a, t b)                                                                 \
	{                                                                                          \
		return (t){a.re + b.re, a.im + b.im};                                              \
	}                                                                                          \
	ALWAYS t prod_##t(t a, t b)                                                                \
	{                                                                                          \
		return (t){ROUNDED(a.re * b.re) - ROUNDED(a.im * b.im),                            \
			   ROUNDED(a.re * b.im) + ROUNDED(a.im * b.re)};                           \
	}
COMPLEX(c64)
COMPLEX(c128)

/* Four lanes at a time, eight elements of each: so many additions wait for nothing but their own
 * lane's, while each line of the cache is gone through at once. */
#define CHAINS 4
#define RUN    8
#define LINE   64 /* bytes of lanes side by side from which on vectors of them are quicker */

#define SCAN(op, t)                                                                                \
	ALWAYS t run_##op##_##t(t *to, const t *from, t last, int64_t n)                           \
	{                                                                                          \
		for (int64_t i = 0; i < n; i++)                                                    \
			to[i] = last = op##_##t(last, value_##t(from[i]));                         \
		return last;                                                                       \
	}                                                                                          \
	/* Elements of a lane side by side: the lanes [0, k). */                                   \
	ALWAYS void along_##op##_##t(const struct scan_patch *p, char *to, const char *from,       \
				     int k)                                                        \
	{                                                                                          \
		t *d[CHAINS], last[CHAINS];                                                        \
		const t *s[CHAINS];                                                                \
		int64_t i = 1;                                                                     \
                                                                                                   \
		for (int c = 0; c < k; c++) {                                                      \
			d[c] = (t *)(to + c * p->to_lane);                                         \
			s[c] = (const t *)(from + c * p->from_lane);                               \
			d[c][0] = last[c] = value_##t(s[c][0]);                                    \
		}                                                                                  \
		for (; i + RUN <= p->n; i += RUN)                                                  \
			for (int c = 0; c < k; c++)                                                \
				last[c] = run_##op##_##t(d[c] + i, s[c] + i, last[c], RUN);        \
		for (int c = 0; c < k; c++)                                                        \
			run_##op##_##t(d[c] + i, s[c] + i, last[c], p->n - i);                     \
	}                                                                                          \
	/* Lanes side by side. */                                                                  \
	ALWAYS void across_##op##_##t(const struct scan_patch *p)                                  \
	{                                                                                          \
		t *d = (t *)p->to;                                                                 \
		const t *s = (const t *)p->from;                                                   \
                                                                                                   \
		ANY for (int64_t c = 0; c < p->lanes; c++) d[c] = value_##t(s[c]);                 \
		for (int64_t i = 1; i < p->n; i++) {                                               \
			const t *before = d;                                                       \
                                                                                                   \
			d = (t *)(p->to + i * p->to_step);                                         \
			s = (const t *)(p->from + i * p->from_step);                               \
			ANY for (int64_t c = 0; c < p->lanes; c++) d[c] =                          \
				op##_##t(before[c], value_##t(s[c]));                              \
		}                                                                                  \
	}                                                                                          \
	/* Any lanes, k of them, whose last results stay in registers. */                          \
	ALWAYS void strided_##op##_##t(const struct scan_patch *p, char *to, const char *from,     \
				       int k)                                                      \
	{                                                                                          \
		t last[CHAINS];                                                                    \
                                                                                                   \
		for (int c = 0; c < k; c++)                                                        \
			*(t *)(to + c * p->to_lane) = last[c] =                                    \
				value_##t(*(const t *)(from + c * p->from_lane));                  \
		for (int64_t i = 1; i < p->n; i++) {                                               \
			to += p->to_step;                                                          \
			from += p->from_step;                                                      \
			for (int c = 0; c < k; c++)                                                \
				*(t *)(to + c * p->to_lane) = last[c] = op##_##t(                  \
					last[c],                                                   \
					value_##t(*(const t *)(from + c * p->from_lane)));         \
		}                                                                                  \
	}                                                                                          \
	static void local_##op##_##t(const struct scan_patch *p)                                   \
	{                                                                                          \
		const int64_t size = (int64_t)sizeof(t);                                           \
		const bool along = p->to_step == size && p->from_step == size;                     \
		char *to = p->to;                                                                  \
		const char *from = p->from;                                                        \
		int64_t left = p->lanes;                                                           \
                                                                                                   \
		if (!along && p->to_lane == size && p->from_lane == size && left * size >= LINE) { \
			across_##op##_##t(p);                                                      \
			return;                                                                    \
		}                                                                                  \
		for (; left >= CHAINS; left -= CHAINS) {                                           \
			if (along)                                                                 \
				along_##op##_##t(p, to, from, CHAINS);                             \
			else                                                                       \
				strided_##op##_##t(p, to, from, CHAINS);                           \
			to += CHAINS * p->to_lane;                                                 \
			from += CHAINS * p->from_lane;                                             \
		}                                                                                  \
		if (left >= 2 && !along) {                                                         \
			strided_##op##_##t(p, to, from, 2);                                        \
			to += 2 * p->to_lane;                                                      \
			from += 2 * p->from_lane;                                                  \
			left -= 2;                                                                 \
		}                                                                                  \
		for (; left > 0; left--) {                                                         \
			if (along)                                                                 \
				along_##op##_##t(p, to, from, 1);                                  \
			else                                                                       \
				strided_##op##_##t(p, to, from, 1);                                \
			to += p->to_lane;                                                          \
			from += p->from_lane;                                                      \
		}                                                                                  \
	}                                                                                          \
	static void add_##op##_##t(const struct scan_patch *p, const char *offset, int64_t lane)   \
	{                                                                                          \
		const int64_t size = (int64_t)sizeof(t);                                           \
                                                                                                   \
		if (p->to_step == size) {                                                          \
			for (int64_t c = 0; c < p->lanes; c++) {                                   \
				t *d = (t *)(p->to + c * p->to_lane);                              \
				const t x = value_##t(*(const t *)(offset + c * lane));            \
                                                                                                   \
				ANY for (int64_t i = 0; i < p->n; i++) d[i] =                      \
					op##_##t(x, value_##t(d[i]));                              \
			}                                                                          \
			return;                                                                    \
		}                                                                                  \
		for (int64_t i = 0; i < p->n; i++) {                                               \
			char *d = p->to + i * p->to_step;                                          \
                                                                                                   \
			if (p->to_lane == size && lane == size) {                                  \
				t *row = (t *)d;                                                   \
				const t *x = (const t *)offset;                                    \
                                                                                                   \
				ANY for (int64_t c = 0; c < p->lanes; c++) row[c] =                \
					op##_##t(value_##t(x[c]), value_##t(row[c]));              \
				continue;                                                          \
			}                                                                          \
			for (int64_t c = 0; c < p->lanes; c++) {                                   \
				t *at = (t *)(d + c * p->to_lane);                                 \
                                                                                                   \
				*at = op##_##t(value_##t(*(const t *)(offset + c * lane)),         \
					       value_##t(*at));                                    \
			}                                                                          \
		}                                                                                  \
	}

#define ALL_OF(t, u) SCAN(sum, t) SCAN(prod, t) SCAN(min, t) SCAN(max, t)
EACH_REAL(ALL_OF)
ALL_OF(b1, b1)
SCAN(sum, c64)
SCAN(prod, c64)
SCAN(sum, c128)
SCAN(prod, c128)

#define ROW(op, t, d) [d] = {local_##op##_##t, add_##op##_##t, (int)sizeof(t)}
#define REALS(op)                                                                                  \
	ROW(op, b1, DT_BOOL), ROW(op, i8, DT_INT8), ROW(op, i16, DT_INT16),                        \
		ROW(op, i32, DT_INT32), ROW(op, i64, DT_INT64), ROW(op, u8, DT_UINT8),             \
		ROW(op, u16, DT_UINT16), ROW(op, u32, DT_UINT32), ROW(op, u64, DT_UINT64),         \
		ROW(op, f32, DT_FLOAT32), ROW(op, f64, DT_FLOAT64)
#define COMPLEXES(op) ROW(op, c64, DT_COMPLEX64), ROW(op, c128, DT_COMPLEX128)

const struct scan_isa SCAN_ISA = {.loops = {
					  [SCAN_SUM] = {REALS(sum), COMPLEXES(sum)},
					  [SCAN_PROD] = {REALS(prod), COMPLEXES(prod)},
					  [SCAN_MIN] = {REALS(min)},
					  [SCAN_MAX] = {REALS(max)},
				  }};
