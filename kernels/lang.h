/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/lang.h - at the head of C that is generated of a kernel's text (emit/emit_lang.c).
 *
 * Operations of one number each, by the names that ew.h has for those of vectors, and with the same
 * bits; which there are, lang/lang_native.def lists.  All others are done by the caller's loops
 * (bz_frame.apply).  From elsewhere come libmvec's routines only, which whoever loads such an
 * object has loaded for all to see. */

typedef unsigned char bz_b1;
typedef signed char bz_i8;
typedef short bz_i16;
typedef int bz_i32;
typedef long bz_i64;
typedef unsigned char bz_u8;
typedef unsigned short bz_u16;
typedef unsigned int bz_u32;
typedef unsigned long bz_u64;
typedef unsigned short bz_f16;
typedef float bz_f32;
typedef double bz_f64;
typedef struct {
	float re, im;
} bz_c64;
typedef struct {
	double re, im;
} bz_c128;

/* As in lang/lang.h, where test_lang_native.c compares them. */
union bz_reg {
	bz_u64 bits[2];
};
struct bz_block {
	char *at;
	bz_u64 n;
};
struct bz_frame {
	union bz_reg *reg;
	const bz_i64 *array; /* of each its address, then extents, then strides in bytes */
	void (*apply)(struct bz_frame *f, bz_u32 at, void *d, const void *a, const void *b,
		      const void *c);
	int (*poll)(struct bz_frame *f);
	bz_u32 at, axis; /* where it began, or ended before its end; the axis of a wrong index, */
	bz_i64 index;	 /* and the index */
	int (*step)(struct bz_frame *f, bz_u32 at);  /* instruction `at` by the machine */
	struct bz_block *block;			     /* of the reduction under way, */
	struct bz_block *sum;			     /* and of the sums that loops claim */
	int (*share)(struct bz_frame *f, bz_u32 at); /* a loop by several threads; NULL: never */
	bz_u64 least;				     /* instructions of a loop that are worth it */
	struct bz_block *left; /* numbers that a part keeps, of each of the loop's sums */
};

#pragma GCC optimize("O2", "tree-loop-vectorize", "split-loops", "unswitch-loops")
#define BZ_TURNS   4096
#define BZ_FEW	   64 /* turns of a loop inside, which are not counted */
#define BZ_BLOCK   1024
#define BZ_RARE(x) __builtin_expect(!!(x), 0)
/* So likely that what the other way needs is kept in memory, and no register. */
#define BZ_OFTEN(x)  __builtin_expect_with_probability(!!(x), 1, 0.9995)
#define BZ_MOST	     0x7fffffffffffffffl
#define BZ_FN	     static inline __attribute__((always_inline))
#define BZ_FAR	     static __attribute__((noinline, unused))
#define BZ_GET(r, v) __builtin_memcpy(&(v), &f->reg[r], sizeof(v))
#define BZ_SET(r, v) __builtin_memcpy(&f->reg[r], &(v), sizeof(v))
/* Elements lie anywhere.  By their own type: of copied bytes the compiler keeps what it knows of an
 * element in registers of integers, and goes back and forth. */
#define BZ_ELEMENT(t)                                                                              \
	typedef bz_##t bz_at_##t __attribute__((may_alias, aligned(1)));                           \
	typedef bz_at_##t bz_in_##t[(BZ_MOST >> 4) / sizeof(bz_##t)] __attribute__((may_alias));
#define BZ_LOAD(t, v, p)  ((v) = *(const bz_at_##t *)(p))
#define BZ_STORE(t, p, v) (*(bz_at_##t *)(p) = (v))
#define BZ_LOAD_B1(v, p)  ((v) = *(const bz_b1 *)(p) != 0)
/* An element of the row at p, by its index: no sum, which compilers would keep as a pointer. */
#define BZ_IN(t, p, i) (&(*(bz_in_##t *)(p))[i])

BZ_ELEMENT(b1)
BZ_ELEMENT(i8)
BZ_ELEMENT(i16)
BZ_ELEMENT(i32)
BZ_ELEMENT(i64)
BZ_ELEMENT(u8)
BZ_ELEMENT(u16)
BZ_ELEMENT(u32)
BZ_ELEMENT(u64)
BZ_ELEMENT(f16)
BZ_ELEMENT(f32)
BZ_ELEMENT(f64)
BZ_ELEMENT(c64)
BZ_ELEMENT(c128)

/* An element of its bits. */
#define BZ_BITS(t, low, high)                                                                      \
	__extension__({                                                                            \
		bz_u64 bits_[2] = {low, high};                                                     \
		bz_##t v_;                                                                         \
		__builtin_memcpy(&v_, bits_, sizeof v_);                                           \
		v_;                                                                                \
	})
#define BZ_APPLY(where, d, a, b, c)                                                                \
	do {                                                                                       \
		union bz_reg x_[4] = {{{0}}};                                                      \
		__builtin_memcpy(&x_[1], &(a), sizeof(a));                                         \
		__builtin_memcpy(&x_[2], &(b), sizeof(b));                                         \
		__builtin_memcpy(&x_[3], &(c), sizeof(c));                                         \
		f->apply(f, where, &x_[0], &x_[1], &x_[2], &x_[3]);                                \
		__builtin_memcpy(&(d), &x_[0], sizeof(d));                                         \
	} while (0)
#define BZ_END(where)                                                                              \
	do {                                                                                       \
		f->at = (where);                                                                   \
		return 1;                                                                          \
	} while (0)
#define BZ_WRONG(where, which, value)                                                              \
	do {                                                                                       \
		f->axis = (which);                                                                 \
		f->index = (value);                                                                \
		BZ_END(where);                                                                     \
	} while (0)
/* The place along one axis of what is counted from 0, or from 1: in written order, so that the
 * compiler sees what a loop's bounds already say. */
#define BZ_INDEX0(out, i, n, where, which)                                                         \
	do {                                                                                       \
		out = (i);                                                                         \
		if (out < 0) {                                                                     \
			out += (n);                                                                \
			if (BZ_RARE(out < 0))                                                      \
				BZ_WRONG(where, which, i);                                         \
		} else if (BZ_RARE(out >= (n))) {                                                  \
			BZ_WRONG(where, which, i);                                                 \
		}                                                                                  \
	} while (0)
#define BZ_INDEX1(out, i, n, where, which)                                                         \
	do {                                                                                       \
		out = (i) > 0 ? (i)-1 : (i) + (n);                                                 \
		if (BZ_RARE((i) == 0 || out < 0 || out >= (n)))                                    \
			BZ_WRONG(where, which, i);                                                 \
	} while (0)
/* The machine's step, which takes and leaves its registers in its memory. */
#define BZ_STEP(where)                                                                             \
	do {                                                                                       \
		if (f->step(f, where))                                                             \
			return 1;                                                                  \
	} while (0)
/* A claim is looked at the first time, the second, the third, the fifth, the ninth and so on: what
 * it costs is next to nothing beside loops that come again and again. */
#define BZ_LOOKS(before) (!((bz_u64)(before) & ((bz_u64)(before)-1)))
/* The next element of a block; the machine's step folds a block that is full. */
#define BZ_GIVE(block, where, r, v)                                                                \
	do {                                                                                       \
		struct bz_block *b_ = (block);                                                     \
		if (BZ_RARE(b_->n == BZ_BLOCK - 1)) {                                              \
			BZ_SET(r, v);                                                              \
			BZ_STEP(where);                                                            \
		} else {                                                                           \
			__builtin_memcpy(b_->at + b_->n++ * sizeof(v), &(v), sizeof(v));           \
		}                                                                                  \
	} while (0)
/* Of a reduction that the machine does (theirs).  Other sums are done here, below. */
#define BZ_TAKE(where, r, v) BZ_GIVE(f->block, where, r, v)
/* What a turn adds to the sum `number`. */
#define BZ_ADDEND(where, number, r, v) BZ_GIVE(&f->sum[number], where, r, v)
/* What a turn of a part adds to the sum `number` of the loop's, in order. */
#define BZ_KEEP(number, v)                                                                         \
	do {                                                                                       \
		struct bz_block *b_ = &f->left[number];                                            \
		__builtin_memcpy(b_->at + b_->n++ * sizeof(v), &(v), sizeof(v));                   \
	} while (0)
/* Elements of a strip, which go to o_; then they are there. */
#define BZ_ROOM(bytes)                                                                             \
	char *o_ = f->block->at + f->block->n * (bytes);                                           \
	if (c > BZ_BLOCK - f->block->n)                                                            \
	c = BZ_BLOCK - f->block->n
#define BZ_TAKEN(where, r, bytes)                                                                  \
	do {                                                                                       \
		f->block->n += c;                                                                  \
		if (BZ_RARE(f->block->n == BZ_BLOCK)) {                                            \
			__builtin_memcpy(&f->reg[r], o_ - (bytes), bytes);                         \
			f->block->n--;                                                             \
			BZ_STEP(where);                                                            \
		}                                                                                  \
	} while (0)
#define BZ_LOOK(where)                                                                             \
	do {                                                                                       \
		s->turns = BZ_TURNS;                                                               \
		if (f->poll(f))                                                                    \
			BZ_END(where);                                                             \
	} while (0)
#define BZ_LOOP(where, label)                                                                      \
	do {                                                                                       \
		if (BZ_RARE(--s->turns == 0))                                                      \
			BZ_LOOK(where);                                                            \
		goto label;                                                                        \
	} while (0)

/* Is it so many turns from a to b, or more?  (By steps of 1 or so.) */
#define BZ_MANY(a, b, n)                                                                           \
	((a) < (b) ? (bz_u64)(b) - (bz_u64)(a) >= (n) : (bz_u64)(a) - (bz_u64)(b) >= (n))
/* A bound of a slice by steps of 1, as Python clips it. */
BZ_FN bz_i64 bz_bound0(bz_i64 i, bz_i64 n)
{
	i = i >= 0 ? i : i + n < 0 ? 0 : i + n;
	return i < n ? i : n;
}
BZ_FN bz_i64 bz_bound1(bz_i64 i, bz_i64 n)
{
	return i > 0 ? bz_bound0(i - 1, n) : i < 0 ? bz_bound0(i, n) : 0;
}
/* As BZ_INDEX0 and BZ_INDEX1 of what is known to be inside. */
#define BZ_INSIDE0(i) (bz_u64)(i)
#define BZ_INSIDE1(i) ((bz_u64)(i)-1)
/* So many turns, or a strip of them, are counted before they are made. */
#define BZ_STRIP(where, count)                                                                     \
	do {                                                                                       \
		if (BZ_RARE(s->turns <= (bz_u32)(count))) {                                        \
			s->turns = BZ_TURNS;                                                       \
			if (f->poll(f))                                                            \
				BZ_END(where);                                                     \
		} else {                                                                           \
			s->turns -= (bz_u32)(count);                                               \
		}                                                                                  \
	} while (0)

/* A strip whose turns all read `from` and whose first writes `to`, the next the element behind it:
 * the turn that writes `from` is no other's neighbour. */
#define BZ_APART(from, to, bytes)                                                                  \
	do {                                                                                       \
		const bz_u64 ahead_ = (bz_u64)((from) - (to)) / (bytes);                           \
		if (ahead_ < c)                                                                    \
			c = ahead_ ? ahead_ : 1;                                                   \
	} while (0)

/* A strip that is long, and whose first turn writes `to`, the next the element behind it; differ:
 * what is different in the addresses of all that is written. */
#define BZ_ALIGN(to, differ, bytes)                                                                \
	do {                                                                                       \
		const bz_u64 ahead_ = (0 - (bz_u64)(to)) % 64 / (bytes);                           \
		if (ahead_ && c >= 256 && !((differ) % 64))                                        \
			c = ahead_;                                                                \
	} while (0)

/* Between what an integer is; bad: an end is none of int64.  (emit_lang_bounds.c) */
struct bz_span {
	bz_i64 lo, hi;
};
BZ_FN struct bz_span bz_span_at(bz_i64 v)
{
	return (struct bz_span){v, v};
}
BZ_FN struct bz_span bz_span_add(struct bz_span a, struct bz_span b, int *bad)
{
	struct bz_span c;

	*bad |= __builtin_add_overflow(a.lo, b.lo, &c.lo) |
		__builtin_add_overflow(a.hi, b.hi, &c.hi);
	return c;
}
BZ_FN struct bz_span bz_span_sub(struct bz_span a, struct bz_span b, int *bad)
{
	struct bz_span c;

	*bad |= __builtin_sub_overflow(a.lo, b.hi, &c.lo) |
		__builtin_sub_overflow(a.hi, b.lo, &c.hi);
	return c;
}
BZ_FN bz_i64 bz_least(bz_i64 a, bz_i64 b)
{
	return a < b ? a : b;
}
BZ_FN bz_i64 bz_most(bz_i64 a, bz_i64 b)
{
	return a > b ? a : b;
}
BZ_FN struct bz_span bz_span_mul(struct bz_span a, struct bz_span b, int *bad)
{
	bz_i64 w, x, y, z;

	*bad |= __builtin_mul_overflow(a.lo, b.lo, &w) | __builtin_mul_overflow(a.lo, b.hi, &x) |
		__builtin_mul_overflow(a.hi, b.lo, &y) | __builtin_mul_overflow(a.hi, b.hi, &z);
	return (struct bz_span){bz_least(bz_least(w, x), bz_least(y, z)),
				bz_most(bz_most(w, x), bz_most(y, z))};
}
BZ_FN struct bz_span bz_span_min(struct bz_span a, struct bz_span b, int *bad)
{
	return (struct bz_span){bz_least(a.lo, b.lo), bz_least(a.hi, b.hi)};
}
BZ_FN struct bz_span bz_span_max(struct bz_span a, struct bz_span b, int *bad)
{
	return (struct bz_span){bz_most(a.lo, b.lo), bz_most(a.hi, b.hi)};
}
BZ_FN struct bz_span bz_span_rem(struct bz_span a, struct bz_span b, int *bad)
{
	*bad |= b.lo <= 0;
	return a.lo >= 0 && a.hi < b.lo ? a : (struct bz_span){0, b.hi - 1};
}
/* By what is at least 1 quotients become no larger. */
BZ_FN bz_i64 bz_floored(bz_i64 a, bz_i64 b)
{
	return b < 1 ? 0 : a / b - (a % b < 0);
}
BZ_FN struct bz_span bz_span_fdiv(struct bz_span a, struct bz_span b, int *bad)
{
	*bad |= b.lo <= 0;
	return (struct bz_span){bz_least(bz_floored(a.lo, b.lo), bz_floored(a.lo, b.hi)),
				bz_most(bz_floored(a.hi, b.lo), bz_floored(a.hi, b.hi))};
}
/* A loop's number in the turns that it has; of a step whose sign is not known, on either side. */
BZ_FN struct bz_span bz_span_range(struct bz_span start, struct bz_span stop, struct bz_span step,
				   int *bad)
{
	bz_i64 up, down;

	*bad |= __builtin_sub_overflow(stop.hi, 1, &up) | __builtin_add_overflow(stop.lo, 1, &down);
	return (struct bz_span){step.lo > 0 ? start.lo : bz_least(start.lo, down),
				step.lo > 0   ? up
				: step.hi < 0 ? start.hi
					      : bz_most(start.hi, up)};
}

/* Is it one of n places, from 0 on?  (emit_lang_bounds.c: a short way around a test.) */
#define BZ_QUICK(i, n) ((bz_u64)(i) < (bz_u64)(n))

/* Turns of a range. */
BZ_FN bz_u64 bz_turns(bz_i64 a, bz_i64 b, bz_i64 step)
{
	if (step > 0)
		return a < b ? ((bz_u64)b - (bz_u64)a - 1) / (bz_u64)step + 1 : 0;
	return a > b ? ((bz_u64)a - (bz_u64)b - 1) / (0 - (bz_u64)step) + 1 : 0;
}

#define BZ_UNARY(stem, t, expr)                                                                    \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		return (bz_##t)(expr);                                                             \
	}
#define BZ_BINARY(stem, t, expr)                                                                   \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a, bz_##t b)                                           \
	{                                                                                          \
		return (bz_##t)(expr);                                                             \
	}
#define BZ_COMPARE(stem, t, rel)                                                                   \
	BZ_FN bz_b1 bz_##stem##_##t(bz_##t a, bz_##t b)                                            \
	{                                                                                          \
		return a rel b;                                                                    \
	}
#define BZ_TEST(stem, t, expr)                                                                     \
	BZ_FN bz_b1 bz_##stem##_##t(bz_##t a)                                                      \
	{                                                                                          \
		return (expr) != 0;                                                                \
	}
#define BZ_ORDER(t)                                                                                \
	BZ_COMPARE(eq, t, ==)                                                                      \
	BZ_COMPARE(ne, t, !=)                                                                      \
	BZ_COMPARE(lt, t, <)                                                                       \
	BZ_COMPARE(le, t, <=)                                                                      \
	BZ_COMPARE(gt, t, >)                                                                       \
	BZ_COMPARE(ge, t, >=)                                                                      \
	BZ_UNARY(pos, t, a)                                                                        \
	BZ_FN bz_##t bz_where_##t(bz_b1 c, bz_##t a, bz_##t b)                                     \
	{                                                                                          \
		return c ? a : b;                                                                  \
	}

BZ_ORDER(b1)
BZ_BINARY(and, b1, a &b)
BZ_BINARY(or, b1, a | b)
BZ_BINARY(xor, b1, a ^ b)
BZ_BINARY(land, b1, a &b)
BZ_BINARY(lor, b1, a | b)
BZ_BINARY(lxor, b1, a ^ b)
BZ_UNARY(lnot, b1, a ^ 1)
BZ_UNARY(inv, b1, a ^ 1)

/* Sums wrap, so they are taken on unsigned bits; a divisor 0 gives 0. */
#define BZ_WHOLE(t, bits)                                                                          \
	BZ_ORDER(t)                                                                                \
	BZ_BINARY(add, t, (bz_u64)a + (bz_u64)b)                                                   \
	BZ_BINARY(sub, t, (bz_u64)a - (bz_u64)b)                                                   \
	BZ_BINARY(mul, t, (bz_u64)a *(bz_u64)b)                                                    \
	BZ_BINARY(and, t, a &b)                                                                    \
	BZ_BINARY(or, t, a | b)                                                                    \
	BZ_BINARY(xor, t, a ^ b)                                                                   \
	BZ_BINARY(min, t, a < b ? a : b)                                                           \
	BZ_BINARY(max, t, a > b ? a : b)                                                           \
	BZ_UNARY(neg, t, 0 - (bz_u64)a)                                                            \
	BZ_UNARY(inv, t, ~a)                                                                       \
	BZ_UNARY(square, t, (bz_u64)a *(bz_u64)a)                                                  \
	BZ_UNARY(abs, t, a < 0 ? 0 - (bz_u64)a : (bz_u64)a)                                        \
	BZ_BINARY(shl, t, b >= 0 && (bz_u64)b < bits ? (bz_u64)a << b : 0)                         \
	BZ_BINARY(shr, t, b >= 0 && (bz_u64)b < bits ? a >> b : (a < 0 ? -1 : 0))
#define BZ_SIGNED(t, bits)                                                                         \
	BZ_WHOLE(t, bits)                                                                          \
	BZ_UNARY(sign, t, (a > 0) - (a < 0))                                                       \
	/* Of -1, where the quotient may leave the type, apart. */                                 \
	BZ_BINARY(fdiv, t,                                                                         \
		  b == 0    ? 0                                                                    \
		  : b == -1 ? 0 - (bz_u64)a                                                        \
			    : (bz_u64)(a / b - (a % b != 0 && (a ^ b) < 0)))                       \
	BZ_BINARY(divided, t, b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a ^ b) < 0 ? b : 0)) \
	/* What is near, as indices that go around are, needs no division. */                      \
	BZ_BINARY(rem, t,                                                                          \
		  __builtin_constant_p(b)	 ? bz_divided_##t(a, b)                            \
		  : a >= 0 && a < b		 ? a                                               \
		  : a < 0 && b > 0 && a + b >= 0 ? a + b                                           \
						 : bz_divided_##t(a, b))
#define BZ_UNSIGNED(t, bits)                                                                       \
	BZ_WHOLE(t, bits)                                                                          \
	BZ_UNARY(sign, t, a > 0)                                                                   \
	BZ_BINARY(fdiv, t, b == 0 ? 0 : a / b)                                                     \
	BZ_BINARY(rem, t, b == 0 ? 0 : a % b)
BZ_SIGNED(i8, 8)
BZ_SIGNED(i16, 16)
BZ_SIGNED(i32, 32)
BZ_SIGNED(i64, 64)
BZ_UNSIGNED(u8, 8)
BZ_UNSIGNED(u16, 16)
BZ_UNSIGNED(u32, 32)
BZ_UNSIGNED(u64, 64)

#define BZ_REAL(t, s)                                                                              \
	BZ_ORDER(t)                                                                                \
	BZ_BINARY(add, t, a + b)                                                                   \
	BZ_BINARY(sub, t, a - b)                                                                   \
	BZ_BINARY(mul, t, a *b)                                                                    \
	BZ_BINARY(div, t, a / b)                                                                   \
	BZ_BINARY(min, t, a < b || a != a ? a : b)                                                 \
	BZ_BINARY(max, t, a > b || a != a ? a : b)                                                 \
	BZ_UNARY(neg, t, -a)                                                                       \
	BZ_UNARY(abs, t, __builtin_fabs##s(a))                                                     \
	BZ_UNARY(square, t, a *a)                                                                  \
	BZ_UNARY(recip, t, 1 / a)                                                                  \
	BZ_UNARY(sign, t, a != a ? a : (bz_##t)((a > 0) - (a < 0)))                                \
	BZ_BINARY(copysign, t, __builtin_copysign##s(a, b))                                        \
	BZ_UNARY(sqrt, t, __builtin_sqrt##s(a))                                                    \
	BZ_UNARY(floor, t, __builtin_floor##s(a))                                                  \
	BZ_UNARY(ceil, t, __builtin_ceil##s(a))                                                    \
	BZ_UNARY(trunc, t, __builtin_trunc##s(a))                                                  \
	BZ_UNARY(rint, t, __builtin_rint##s(a))                                                    \
	BZ_TEST(isnan, t, a != a)                                                                  \
	BZ_TEST(isinf, t, __builtin_fabs##s(a) == __builtin_inf##s())                              \
	BZ_TEST(isfinite, t, __builtin_fabs##s(a) < __builtin_inf##s())
BZ_REAL(f32, f)
BZ_REAL(f64, )

/* Of floats that the integer does not hold, what the processor makes of them: the most negative
 * number.  Shorter types are cut from int32, uint32 from int64.  The compiler, which knows the
 * instruction, would make 0 of those that it knows. */
BZ_FN bz_i64 bz_cast_f64_i64(bz_f64 a)
{
	__asm__("" : "+x"(a));
	return __builtin_ia32_cvttsd2si64((__attribute__((vector_size(16))) double){a, 0});
}
BZ_FN bz_i32 bz_cast_f64_i32(bz_f64 a)
{
	__asm__("" : "+x"(a));
	return __builtin_ia32_cvttsd2si((__attribute__((vector_size(16))) double){a, 0});
}
#define bz_cast_f64_u32(a) ((bz_u32)bz_cast_f64_i64(a))
#define bz_cast_f64_i16(a) ((bz_i16)bz_cast_f64_i32(a))
#define bz_cast_f64_u16(a) ((bz_u16)bz_cast_f64_i32(a))
#define bz_cast_f64_i8(a)  ((bz_i8)bz_cast_f64_i32(a))
#define bz_cast_f64_u8(a)  ((bz_u8)bz_cast_f64_i32(a))

/* By the function that ew.h has for a vector, of which each lane is the number. */
#define BZ_MATH1(stem, t)                                                                          \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		return bz_n_##stem##_##t(a - (bz_n_##t){0})[0];                                    \
	}
#define BZ_MATH2(stem, t)                                                                          \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a, bz_##t b)                                           \
	{                                                                                          \
		return bz_n_##stem##_##t(a - (bz_n_##t){0}, b - (bz_n_##t){0})[0];                 \
	}
#define BZ_MATH(t)                                                                                 \
	BZ_MATH1(cbrt, t)                                                                          \
	BZ_MATH1(exp, t)                                                                           \
	BZ_MATH1(expm1, t)                                                                         \
	BZ_MATH1(exp2, t)                                                                          \
	BZ_MATH1(log, t)                                                                           \
	BZ_MATH1(log2, t)                                                                          \
	BZ_MATH1(log10, t)                                                                         \
	BZ_MATH1(log1p, t)                                                                         \
	BZ_MATH1(sin, t)                                                                           \
	BZ_MATH1(cos, t)                                                                           \
	BZ_MATH1(tan, t)                                                                           \
	BZ_MATH1(asin, t)                                                                          \
	BZ_MATH1(acos, t)                                                                          \
	BZ_MATH1(atan, t)                                                                          \
	BZ_MATH1(sinh, t)                                                                          \
	BZ_MATH1(cosh, t)                                                                          \
	BZ_MATH1(tanh, t)                                                                          \
	BZ_MATH1(asinh, t)                                                                         \
	BZ_MATH1(acosh, t)                                                                         \
	BZ_MATH1(atanh, t)                                                                         \
	BZ_MATH2(pow, t)                                                                           \
	BZ_MATH2(atan2, t)                                                                         \
	BZ_MATH2(hypot, t)
BZ_MATH(f32)
BZ_MATH(f64)

/* ---- The same in loops of which compilers make vectors ----
 *
 * bz_each_<stem>_<t> is a function of one number that has clones for vectors of 16, 32 and 64
 * bytes.  Each of them is the routine of the whole vector above, so that bits do not depend on what
 * a compiler does. */
#ifdef __clang__
#define BZ_EACH1(stem, t)
#define BZ_EACH2(stem, t)
#define BZ_EACH(stem, t) bz_##stem##_##t
#else
#define BZ_EACH(stem, t) bz_each_##stem##_##t
typedef bz_f64 bz_16_f64 __attribute__((vector_size(16)));
typedef bz_f64 bz_32_f64 __attribute__((vector_size(32)));
typedef bz_f64 bz_64_f64 __attribute__((vector_size(64)));
typedef bz_f32 bz_16_f32 __attribute__((vector_size(16)));
typedef bz_f32 bz_32_f32 __attribute__((vector_size(32)));
typedef bz_f32 bz_64_f32 __attribute__((vector_size(64)));
#define BZ_COUNT_16_f64	 "2"
#define BZ_COUNT_32_f64	 "4"
#define BZ_COUNT_64_f64	 "8"
#define BZ_COUNT_16_f32	 "4"
#define BZ_COUNT_32_f32	 "8"
#define BZ_COUNT_64_f32	 "16"
#define BZ_HIDDEN	 __attribute__((used, visibility("hidden")))
/* The lanes that nobody asks for have the first one's number.  (Not by memory: a load of what two
 * stores wrote waits for both.) */
#define BZ_SOME_2	 0, 1
#define BZ_SOME_4	 BZ_SOME_2, 2, 3
#define BZ_SOME_8	 BZ_SOME_4, 4, 5, 6, 7
#define BZ_SOME_16	 BZ_SOME_8, 8, 9, 10, 11, 12, 13, 14, 15
#define BZ_FIRST_2	 0, 0
#define BZ_FIRST_4	 BZ_FIRST_2, BZ_FIRST_2
#define BZ_FIRST_8	 BZ_FIRST_4, BZ_FIRST_4
#define BZ_PICK(v, ...)                                                                            \
	__extension__({                                                                            \
		const __typeof__(v) v_ = (v);                                                      \
		__builtin_shufflevector(v_, v_, __VA_ARGS__);                                      \
	})
#if BZ_NATIVE == 64
#define BZ_WIDER_16_f64(v) BZ_PICK(v, BZ_SOME_2, BZ_FIRST_2, BZ_FIRST_4)
#define BZ_WIDER_32_f64(v) BZ_PICK(v, BZ_SOME_4, BZ_FIRST_4)
#define BZ_WIDER_64_f64(v) (v)
#define BZ_WIDER_16_f32(v) BZ_PICK(v, BZ_SOME_4, BZ_FIRST_4, BZ_FIRST_8)
#define BZ_WIDER_32_f32(v) BZ_PICK(v, BZ_SOME_8, BZ_FIRST_8)
#define BZ_WIDER_64_f32(v) (v)
#elif BZ_NATIVE == 32
#define BZ_WIDER_16_f64(v) BZ_PICK(v, BZ_SOME_2, BZ_FIRST_2)
#define BZ_WIDER_32_f64(v) (v)
#define BZ_WIDER_16_f32(v) BZ_PICK(v, BZ_SOME_4, BZ_FIRST_4)
#define BZ_WIDER_32_f32(v) (v)
#else
#define BZ_WIDER_16_f64(v) (v)
#define BZ_WIDER_16_f32(v) (v)
#endif
#define BZ_NARROWER_16_f64(v)	 BZ_PICK(v, BZ_SOME_2)
#define BZ_NARROWER_32_f64(v)	 BZ_PICK(v, BZ_SOME_4)
#define BZ_NARROWER_64_f64(v)	 BZ_PICK(v, BZ_SOME_8)
#define BZ_NARROWER_16_f32(v)	 BZ_PICK(v, BZ_SOME_4)
#define BZ_NARROWER_32_f32(v)	 BZ_PICK(v, BZ_SOME_8)
#define BZ_NARROWER_64_f32(v)	 BZ_PICK(v, BZ_SOME_16)
#define BZ_WIDER(t, bytes, v)	 BZ_WIDER_##bytes##_##t(v)
#define BZ_NARROWER(t, bytes, v) BZ_NARROWER_##bytes##_##t(v)
#define BZ_CLONE1(isa, bytes, stem, t)                                                             \
	BZ_HIDDEN bz_##bytes##_##t bz_##isa##_##stem##_##t(bz_##bytes##_##t a) __asm__(            \
		"_ZGV" #isa "N" BZ_COUNT_##bytes##_##t "v_bz_each_" #stem "_" #t);                 \
	bz_##bytes##_##t bz_##isa##_##stem##_##t(bz_##bytes##_##t a)                               \
	{                                                                                          \
		return BZ_NARROWER(t, bytes, bz_n_##stem##_##t(BZ_WIDER(t, bytes, a)));            \
	}
#define BZ_CLONE2(isa, bytes, stem, t)                                                             \
	BZ_HIDDEN bz_##bytes##_##t bz_##isa##_##stem##_##t(                                        \
		bz_##bytes##_##t a, bz_##bytes##_##t b) __asm__("_ZGV" #isa                        \
								"N" BZ_COUNT_##bytes##_##t         \
								"vv_bz_each_" #stem "_" #t);       \
	bz_##bytes##_##t bz_##isa##_##stem##_##t(bz_##bytes##_##t a, bz_##bytes##_##t b)           \
	{                                                                                          \
		return BZ_NARROWER(                                                                \
			t, bytes,                                                                  \
			bz_n_##stem##_##t(BZ_WIDER(t, bytes, a), BZ_WIDER(t, bytes, b)));          \
	}
#if BZ_NATIVE == 64
#define BZ_CLONES(n, stem, t)                                                                      \
	BZ_CLONE##n(b, 16, stem, t) BZ_CLONE##n(c, 32, stem, t) BZ_CLONE##n(d, 32, stem, t)        \
		BZ_CLONE##n(e, 64, stem, t)
#elif BZ_NATIVE == 32
#define BZ_CLONES(n, stem, t)                                                                      \
	BZ_CLONE##n(b, 16, stem, t) BZ_CLONE##n(c, 32, stem, t) BZ_CLONE##n(d, 32, stem, t)
#else
#define BZ_CLONES(n, stem, t) BZ_CLONE##n(b, 16, stem, t)
#endif
/* What is called has the name of what is defined by the assembler only: of a function that it sees
 * a compiler would make clones of its own. */
#define BZ_SAME(stem, t)                                                                           \
	__asm__(".set bz_each_" #stem "_" #t ", bz_one_" #stem "_" #t);                            \
	BZ_CLONES
#define BZ_EACH1(stem, t)                                                                          \
	extern bz_##t bz_each_##stem##_##t(bz_##t)                                                 \
		__attribute__((simd("notinbranch"), const, nothrow, visibility("hidden")));        \
	BZ_HIDDEN bz_##t bz_one_##stem##_##t(bz_##t a)                                             \
	{                                                                                          \
		return bz_##stem##_##t(a);                                                         \
	}                                                                                          \
	BZ_SAME(stem, t)(1, stem, t)
#define BZ_EACH2(stem, t)                                                                          \
	extern bz_##t bz_each_##stem##_##t(bz_##t, bz_##t)                                         \
		__attribute__((simd("notinbranch"), const, nothrow, visibility("hidden")));        \
	BZ_HIDDEN bz_##t bz_one_##stem##_##t(bz_##t a, bz_##t b)                                   \
	{                                                                                          \
		return bz_##stem##_##t(a, b);                                                      \
	}                                                                                          \
	BZ_SAME(stem, t)(2, stem, t)
#endif

/* ---- Sums of floats ----
 *
 * By the tree of tree.h: element e of a block goes to lane e % lanes, lanes that get none of the
 * last have -0.0, which changes no sum; the lanes are folded in halves, and blocks combined as a
 * binary counter carries.  The machine's block has room for as many lanes more. */
struct bz_sum {
	bz_u64 n;
	bz_u32 values;
	bz_f64 value[48]; /* more than the bits of any number of blocks */
};
#define BZ_BEGIN(where)                                                                            \
	do {                                                                                       \
		if (BZ_RARE(!f->block))                                                            \
			BZ_STEP(where);                                                            \
		f->block->n = 0;                                                                   \
		sum.n = sum.values = 0;                                                            \
		theirs = 0;                                                                        \
	} while (0)
#define BZ_TAKEN_HERE(t)                                                                           \
	do {                                                                                       \
		f->block->n += c;                                                                  \
		if (BZ_RARE(f->block->n == BZ_BLOCK))                                              \
			bz_fold_##t(&sum, f->block);                                               \
	} while (0)
#define BZ_TAKE_HERE(t, v)                                                                         \
	do {                                                                                       \
		BZ_STORE(t, f->block->at + f->block->n++ * sizeof(v), v);                          \
		if (BZ_RARE(f->block->n == BZ_BLOCK))                                              \
			bz_fold_##t(&sum, f->block);                                               \
	} while (0)

/* Elements of a block that nobody has begun are added where they are made, without going through
 * it: those of whole blocks, and where no others follow all that fill the lanes. */
#define BZ_LANED(next, left, least)                                                                \
	(!theirs && !f->block->n && (next) < (left) && (bz_u64)(left) - (bz_u64)(next) >= (least))
#define BZ_LANES(t, next, left)                                                                    \
	bz_u64 c = (bz_u64)(left) - (bz_u64)(next);                                                \
	bz_##t lane_[BZ_LANES_##t];                                                                \
	if (c > BZ_BLOCK)                                                                          \
		c = BZ_BLOCK;                                                                      \
	for (int k_ = 0; k_ < BZ_LANES_##t; k_++)                                                  \
	lane_[k_] = -0.0
#define BZ_ADDED(t)                                                                                \
	do {                                                                                       \
		__builtin_memcpy(f->block->at, lane_, sizeof lane_);                               \
		bz_added_##t(&sum, f->block);                                                      \
	} while (0)

typedef bz_f64 bz_2_f64 __attribute__((vector_size(16)));
typedef bz_f64 bz_4_f64 __attribute__((vector_size(32)));
typedef bz_f32 bz_4_f32 __attribute__((vector_size(16)));
typedef bz_f32 bz_8_f32 __attribute__((vector_size(32)));
BZ_FN bz_f64 bz_folded_f64(bz_n_f64 v)
{
#if BZ_NATIVE == 64
	bz_4_f64 a = __builtin_shufflevector(v, v, 0, 1, 2, 3) +
		     __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
#define a v
#endif
#if BZ_NATIVE >= 32
	bz_2_f64 b = __builtin_shufflevector(a, a, 0, 1) + __builtin_shufflevector(a, a, 2, 3);
#else
#define b v
#endif
	return b[0] + b[1];
#undef a
#undef b
}
BZ_FN bz_f32 bz_folded_f32(bz_n_f32 v)
{
#if BZ_NATIVE == 64
	bz_8_f32 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
		     __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#else
#define a v
#endif
#if BZ_NATIVE >= 32
	bz_4_f32 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) +
		     __builtin_shufflevector(a, a, 4, 5, 6, 7);
#else
#define b v
#endif
	return (b[0] + b[2]) + (b[1] + b[3]);
#undef a
#undef b
}
#define BZ_FLOAT_SUM(t, lanes)                                                                     \
	enum { BZ_LANES_##t = lanes, BZ_ROWS_##t = lanes * sizeof(bz_##t) / BZ_NATIVE };           \
	typedef bz_n_##t bz_row_##t __attribute__((may_alias, aligned(sizeof(bz_##t))));           \
	BZ_FN bz_##t bz_lanes_##t(bz_n_##t *lane)                                                  \
	{                                                                                          \
		_Pragma("GCC unroll 5") for (int w = BZ_ROWS_##t / 2; w >= 1; w /= 2)              \
			_Pragma("GCC unroll 16") for (int k = 0; k < w; k++) lane[k] +=            \
			lane[k + w];                                                               \
		return bz_folded_##t(lane[0]);                                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_block_##t(const struct bz_block *block)                                    \
	{                                                                                          \
		enum { WIDE = BZ_NATIVE / sizeof(bz_##t), COUNT = BZ_ROWS_##t };                   \
		bz_##t *at = (bz_##t *)block->at;                                                  \
		bz_n_##t lane[COUNT];                                                              \
                                                                                                   \
		_Pragma("GCC unroll 16") for (int k = 0; k < COUNT; k++)                           \
		{                                                                                  \
			lane[k] = -(bz_n_##t){0};                                                  \
			*(bz_row_##t *)(at + block->n + k * WIDE) = lane[k];                       \
		}                                                                                  \
		for (bz_u64 e = 0; e < block->n; e += (lanes))                                     \
			_Pragma("GCC unroll 16") for (int k = 0; k < COUNT; k++) lane[k] +=        \
				*(const bz_row_##t *)(at + e + k * WIDE);                          \
		return bz_lanes_##t(lane);                                                         \
	}                                                                                          \
	/* A block's value goes to the sum. */                                                     \
	BZ_FN void bz_carry_##t(struct bz_sum *sum, bz_##t v)                                      \
	{                                                                                          \
		for (bz_u64 m = ++sum->n; !(m & 1); m >>= 1)                                       \
			v = (bz_##t)sum->value[--sum->values] + v;                                 \
		sum->value[sum->values++] = v;                                                     \
	}                                                                                          \
	/* The block goes to the sum, and is empty. */                                             \
	BZ_FAR void bz_fold_##t(struct bz_sum *sum, struct bz_block *block)                        \
	{                                                                                          \
		bz_##t v = bz_block_##t(block);                                                    \
                                                                                                   \
		block->n = 0;                                                                      \
		bz_carry_##t(sum, v);                                                              \
	}                                                                                          \
	/* The same of a block whose elements were added to its lanes, which lie at its begin. */  \
	BZ_FAR void bz_added_##t(struct bz_sum *sum, const struct bz_block *block)                 \
	{                                                                                          \
		bz_n_##t lane[BZ_ROWS_##t];                                                        \
                                                                                                   \
		__builtin_memcpy(lane, block->at, sizeof lane);                                    \
		bz_carry_##t(sum, bz_lanes_##t(lane));                                             \
	}                                                                                          \
	BZ_FAR bz_##t bz_total_##t(struct bz_sum *sum, struct bz_block *block)                     \
	{                                                                                          \
		bz_##t v;                                                                          \
                                                                                                   \
		if (block->n)                                                                      \
			bz_fold_##t(sum, block);                                                   \
		v = (bz_##t)sum->value[--sum->values];                                             \
		while (sum->values)                                                                \
			v = (bz_##t)sum->value[--sum->values] + v;                                 \
		return v;                                                                          \
	}                                                                                          \
	BZ_FN bz_##t bz_sum_##t(struct bz_sum *sum, struct bz_block *block)                        \
	{                                                                                          \
		return sum->n ? bz_total_##t(sum, block) : block->n ? bz_block_##t(block) : 0;     \
	}
BZ_FLOAT_SUM(f64, 32)
BZ_FLOAT_SUM(f32, 64)
