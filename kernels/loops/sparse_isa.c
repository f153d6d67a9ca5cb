/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sparse_isa.c - the inner loops of sparse matrices' products, once per instruction set.
 *
 * In:  SPARSE_ISA, the name of the table to define. */
#include "sparse.h"

#define ALWAYS static inline __attribute__((always_inline))
#define GROUP  4  /* rows under way, ... */
#define LONG   32 /* ... of so many entries at least */
#ifdef __AVX2__
#define BLOCK 256 /* bytes of a result's row that are summed in registers */
#else
#define BLOCK 128
#endif

typedef int32_t i32;
typedef int64_t i64;
typedef uint64_t u64; /* int64: sums wrap */
typedef float f32;
typedef double f64;
typedef struct {
	float re, im;
} c64;
typedef struct {
	double re, im;
} c128;

/* ---- One term ---- */

#define REAL(t)                                                                                    \
	ALWAYS t next_##t(t sum, t a, t x)                                                         \
	{                                                                                          \
		return sum + a * x;                                                                \
	}
REAL(u64)
REAL(f32)
REAL(f64)

/* Rounded before it is added to anything: gcc's vectoriser makes one multiplication and addition of
 * the two parts of a complex product (VEC_FMADDSUB) whatever -ffp-contract says. */
#if !defined(__clang__) && __GNUC__ >= 12
#define ROUNDED(x) __builtin_assoc_barrier(x)
#else
#define ROUNDED(x) (x)
#endif
#define COMPLEX(t)                                                                                 \
	ALWAYS t next_##t(t sum, t a, t x)                                                         \
	{                                                                                          \
		sum.re += ROUNDED(a.re * x.re) - ROUNDED(a.im * x.im);                             \
		sum.im += ROUNDED(a.re * x.im) + ROUNDED(a.im * x.re);                             \
		return sum;                                                                        \
	}
COMPLEX(c64)
COMPLEX(c128)

/* ---- Several sums side by side, of n terms at a time: of complex numbers the parts apart ---- */

#define REAL_SUMS(t)                                                                               \
	struct sums_##t {                                                                          \
		t at[BLOCK / sizeof(t)];                                                           \
	};                                                                                         \
	ALWAYS void begin_##t(struct sums_##t *s, int n)                                           \
	{                                                                                          \
		for (int j = 0; j < n; j++)                                                        \
			s->at[j] = 0;                                                              \
	}                                                                                          \
	ALWAYS void add_##t(struct sums_##t *s, t a, const t *x, int n)                            \
	{                                                                                          \
		for (int j = 0; j < n; j++)                                                        \
			s->at[j] += a * x[j];                                                      \
	}                                                                                          \
	ALWAYS void end_##t(const struct sums_##t *s, t *to, int n)                                \
	{                                                                                          \
		for (int j = 0; j < n; j++)                                                        \
			to[j] = s->at[j];                                                          \
	}
REAL_SUMS(u64)
REAL_SUMS(f32)
REAL_SUMS(f64)

#define COMPLEX_SUMS(t, part)                                                                      \
	struct sums_##t {                                                                          \
		part re[BLOCK / sizeof(t)], im[BLOCK / sizeof(t)];                                 \
	};                                                                                         \
	ALWAYS void begin_##t(struct sums_##t *s, int n)                                           \
	{                                                                                          \
		for (int j = 0; j < n; j++)                                                        \
			s->re[j] = s->im[j] = 0;                                                   \
	}                                                                                          \
	ALWAYS void add_##t(struct sums_##t *s, t a, const t *x, int n)                            \
	{                                                                                          \
		for (int j = 0; j < n; j++)                                                        \
			s->re[j] += ROUNDED(a.re * x[j].re) - ROUNDED(a.im * x[j].im);             \
		for (int j = 0; j < n; j++)                                                        \
			s->im[j] += ROUNDED(a.re * x[j].im) + ROUNDED(a.im * x[j].re);             \
	}                                                                                          \
	ALWAYS void end_##t(const struct sums_##t *s, t *to, int n)                                \
	{                                                                                          \
		for (int j = 0; j < n; j++)                                                        \
			to[j] = (t){s->re[j], s->im[j]};                                           \
	}
COMPLEX_SUMS(c64, f32)
COMPLEX_SUMS(c128, f64)

/* ---- What the structure says ---- */

/* Entries of one row. */
struct row {
	i64 at, n;
};

/* Each number is read once: another look may see another. */
#define STRUCTURE(index)                                                                           \
	ALWAYS i64 number_##index(const char *structure, i64 k)                                    \
	{                                                                                          \
		return __atomic_load_n((const index *)(const void *)structure + k,                 \
				       __ATOMIC_RELAXED);                                          \
	}                                                                                          \
	ALWAYS bool row_##index(struct row *out, const struct sparse_patch *p, i64 r)              \
	{                                                                                          \
		const i64 at = number_##index(p->structure, r);                                    \
		const i64 end = number_##index(p->structure, r + 1);                               \
                                                                                                   \
		*out = (struct row){at, end - at};                                                 \
		return at >= 0 && at <= end && end <= p->count;                                    \
	}                                                                                          \
	/* The first row begins with the first entry, and the last one ends with the last. */      \
	ALWAYS bool ends_##index(const struct sparse_patch *p)                                     \
	{                                                                                          \
		return (p->lo || !number_##index(p->structure, 0)) &&                              \
		       (p->hi < p->rows || number_##index(p->structure, p->rows) == p->count);     \
	}
STRUCTURE(i32)
STRUCTURE(i64)

/* ---- One column ---- */

/* One column of the result, at `from` and `to`, what is multiplied `step` apart.  Short rows the
 * processor overlaps by itself; of long ones GROUP are under way as long as all of them have
 * entries. */
#define COLUMN(t, index)                                                                           \
	ALWAYS t at_##t##_##index(const char *from, i64 c, i64 step)                               \
	{                                                                                          \
		return *(const t *)(const void *)(from + c * step);                                \
	}                                                                                          \
	/* Go on with a row at its entry k. */                                                     \
	ALWAYS bool rest_##t##_##index(t *sum, const struct sparse_patch *p, struct row row,       \
				       i64 k, const char *from, i64 step)                          \
	{                                                                                          \
		const char *columns = p->structure + (p->rows + 1 + row.at) * (i64)sizeof(index);  \
		const t *entry = (const t *)(const void *)p->entries + row.at;                     \
		const u64 inner = (u64)p->inner;                                                   \
		t made = *sum;                                                                     \
                                                                                                   \
		for (; k < row.n; k++) {                                                           \
			const i64 c = number_##index(columns, k);                                  \
                                                                                                   \
			if ((u64)c >= inner)                                                       \
				return false;                                                      \
			made = next_##t(made, entry[k], at_##t##_##index(from, c, step));          \
		}                                                                                  \
		*sum = made;                                                                       \
		return true;                                                                       \
	}                                                                                          \
	/* The first n entries of GROUP rows. */                                                   \
	ALWAYS bool group_##t##_##index(t *sum, const struct sparse_patch *p,                      \
					const struct row *row, i64 n, const char *from, i64 step)  \
	{                                                                                          \
		const char *columns = p->structure + (p->rows + 1) * (i64)sizeof(index);           \
		const char *c0 = columns + row[0].at * (i64)sizeof(index);                         \
		const char *c1 = columns + row[1].at * (i64)sizeof(index);                         \
		const char *c2 = columns + row[2].at * (i64)sizeof(index);                         \
		const char *c3 = columns + row[3].at * (i64)sizeof(index);                         \
		const t *entries = (const t *)(const void *)p->entries;                            \
		const t *e0 = entries + row[0].at, *e1 = entries + row[1].at;                      \
		const t *e2 = entries + row[2].at, *e3 = entries + row[3].at;                      \
		const u64 inner = (u64)p->inner;                                                   \
		t s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                          \
                                                                                                   \
		for (i64 k = 0; k < n; k++) {                                                      \
			const i64 a = number_##index(c0, k), b = number_##index(c1, k);            \
			const i64 c = number_##index(c2, k), d = number_##index(c3, k);            \
                                                                                                   \
			if ((u64)a >= inner || (u64)b >= inner || (u64)c >= inner ||               \
			    (u64)d >= inner)                                                       \
				return false;                                                      \
			s0 = next_##t(s0, e0[k], at_##t##_##index(from, a, step));                 \
			s1 = next_##t(s1, e1[k], at_##t##_##index(from, b, step));                 \
			s2 = next_##t(s2, e2[k], at_##t##_##index(from, c, step));                 \
			s3 = next_##t(s3, e3[k], at_##t##_##index(from, d, step));                 \
		}                                                                                  \
		sum[0] = s0;                                                                       \
		sum[1] = s1;                                                                       \
		sum[2] = s2;                                                                       \
		sum[3] = s3;                                                                       \
		return true;                                                                       \
	}                                                                                          \
	/* Rows r to r + GROUP that are as long as that; *n: how long, 0: they are not. */         \
	ALWAYS bool long_##t##_##index(i64 *n, const struct sparse_patch *p, i64 r,                \
				       const char *from, i64 step, char *to)                       \
	{                                                                                          \
		struct row row[GROUP];                                                             \
		t sum[GROUP];                                                                      \
                                                                                                   \
		*n = INT64_MAX;                                                                    \
		for (int i = 0; i < GROUP; i++) {                                                  \
			if (!row_##index(&row[i], p, r + i))                                       \
				return false;                                                      \
			*n = row[i].n < *n ? row[i].n : *n;                                        \
		}                                                                                  \
		*n = *n < LONG ? 0 : *n;                                                           \
		if (!*n)                                                                           \
			return true;                                                               \
		if (!group_##t##_##index(sum, p, row, *n, from, step))                             \
			return false;                                                              \
		for (int i = 0; i < GROUP; i++) {                                                  \
			if (!rest_##t##_##index(&sum[i], p, row[i], *n, from, step))               \
				return false;                                                      \
			*(t *)(void *)(to + (r + i) * p->to_row) = sum[i];                         \
		}                                                                                  \
		return true;                                                                       \
	}                                                                                          \
	/* Each row begins where the one before it ends. */                                        \
	ALWAYS bool short_##t##_##index(const struct sparse_patch *p, i64 lo, i64 hi,              \
					const char *from, i64 step, char *to)                      \
	{                                                                                          \
		const char *columns = p->structure + (p->rows + 1) * (i64)sizeof(index);           \
		const t *entries = (const t *)(const void *)p->entries;                            \
		const u64 inner = (u64)p->inner, count = (u64)p->count;                            \
		const i64 to_row = p->to_row;                                                      \
		const char *structure = p->structure;                                              \
		i64 k = number_##index(structure, lo);                                             \
                                                                                                   \
		if (k < 0)                                                                         \
			return false;                                                              \
		for (i64 r = lo; r < hi; r++) {                                                    \
			const i64 end = number_##index(structure, r + 1);                          \
			t sum = {0};                                                               \
                                                                                                   \
			if (end < k || (u64)end > count)                                           \
				return false;                                                      \
			for (; k < end; k++) {                                                     \
				const i64 c = number_##index(columns, k);                          \
                                                                                                   \
				if ((u64)c >= inner)                                               \
					return false;                                              \
				sum = next_##t(sum, entries[k], at_##t##_##index(from, c, step));  \
			}                                                                          \
			*(t *)(void *)(to + r * to_row) = sum;                                     \
		}                                                                                  \
		return true;                                                                       \
	}                                                                                          \
	ALWAYS bool rows_##t##_##index(const struct sparse_patch *p, const char *from, i64 step,   \
				       char *to)                                                   \
	{                                                                                          \
		bool sound = true;                                                                 \
		i64 r = p->lo;                                                                     \
                                                                                                   \
		if (p->count / p->rows < LONG)                                                     \
			return short_##t##_##index(p, p->lo, p->hi, from, step, to);               \
		for (; sound && r + GROUP <= p->hi; r += GROUP) {                                  \
			i64 n = 0;                                                                 \
                                                                                                   \
			sound = long_##t##_##index(&n, p, r, from, step, to);                      \
			if (sound && !n)                                                           \
				sound = short_##t##_##index(p, r, r + GROUP, from, step, to);      \
		}                                                                                  \
		return sound && short_##t##_##index(p, r, p->hi, from, step, to);                  \
	}                                                                                          \
	static bool column_##t##_##index(const struct sparse_patch *p, i64 c)                      \
	{                                                                                          \
		const char *from = p->from + c * p->from_column;                                   \
		char *to = p->to + c * (i64)sizeof(t);                                             \
                                                                                                   \
		return p->from_row == (i64)sizeof(t)                                               \
			       ? rows_##t##_##index(p, from, (i64)sizeof(t), to)                   \
			       : rows_##t##_##index(p, from, p->from_row, to);                     \
	}

/* ---- Columns that lie side by side ---- */

/* n of them, from column c on. */
#define COLUMNS(t, index)                                                                          \
	ALWAYS bool some_##t##_##index(const struct sparse_patch *p, i64 c, const int n)           \
	{                                                                                          \
		const char *from = p->from + c * (i64)sizeof(t);                                   \
		char *to = p->to + c * (i64)sizeof(t);                                             \
		const i64 from_row = p->from_row, inner = p->inner;                                \
                                                                                                   \
		for (i64 r = p->lo; r < p->hi; r++) {                                              \
			struct sums_##t sums;                                                      \
			struct row row;                                                            \
                                                                                                   \
			if (!row_##index(&row, p, r))                                              \
				return false;                                                      \
			begin_##t(&sums, n);                                                       \
			const t *entry = (const t *)(const void *)p->entries + row.at;             \
			const char *columns =                                                      \
				p->structure + (p->rows + 1 + row.at) * (i64)sizeof(index);        \
			for (i64 k = 0; k < row.n; k++) {                                          \
				const i64 at = number_##index(columns, k);                         \
                                                                                                   \
				if ((u64)at >= (u64)inner)                                         \
					return false;                                              \
				add_##t(&sums, entry[k],                                           \
					(const t *)(const void *)(from + at * from_row), n);       \
			}                                                                          \
			end_##t(&sums, (t *)(void *)(to + r * p->to_row), n);                      \
		}                                                                                  \
		return true;                                                                       \
	}                                                                                          \
	static bool product_##t##_##index(const struct sparse_patch *p)                            \
	{                                                                                          \
		enum { all = BLOCK / sizeof(t) };                                                  \
		bool sound = ends_##index(p);                                                      \
		i64 c = 0;                                                                         \
                                                                                                   \
		if (p->from_column == (i64)sizeof(t)) {                                            \
			for (; sound && c + all <= p->columns; c += all)                           \
				sound = some_##t##_##index(p, c, all);                             \
			for (; sound && c + all / 4 <= p->columns; c += all / 4)                   \
				sound = some_##t##_##index(p, c, all / 4);                         \
			for (; sound && c + all / 8 <= p->columns; c += all / 8)                   \
				sound = some_##t##_##index(p, c, all / 8);                         \
		}                                                                                  \
		for (; sound && c < p->columns; c++)                                               \
			sound = column_##t##_##index(p, c);                                        \
		return sound;                                                                      \
	}

#define EACH(X, index)                                                                             \
	X(u64, index, DT_INT64)                                                                    \
	X(f32, index, DT_FLOAT32)                                                                  \
	X(f64, index, DT_FLOAT64)                                                                  \
	X(c64, index, DT_COMPLEX64)                                                                \
	X(c128, index, DT_COMPLEX128)
#define DEFINE(t, index, d)                                                                        \
	COLUMN(t, index)                                                                           \
	COLUMNS(t, index)
#define ROW(t, index, d) [d] = product_##t##_##index,
EACH(DEFINE, i32)
EACH(DEFINE, i64)

const struct sparse_isa SPARSE_ISA = {.narrow = {EACH(ROW, i32)}, .wide = {EACH(ROW, i64)}};
