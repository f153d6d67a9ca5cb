/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/scatter_loops.c - the loops of scattering, one for each type.
 *
 * Elements are read and written by memcpy: views of memory of other types have elements at any
 * address.  Equal offsets meet in the order in which they are written, so no loop here may
 * take two elements at once. */
#include "scatter.h"

#include <string.h>

/* ---- Elements ---- */

__extension__ typedef unsigned __int128 sixteen;

/* What is done to the element at x, for each of n that begin at `from`.  Places are read once, as
 * they are, and not made offsets before: that took as long as writing the elements. */
#define EACH(body)                                                                                 \
	const int64_t *place = at->place;                                                          \
	int64_t unit = at->unit, ahead = at->wide ? SCATTER_AHEAD : n, k = 0;                      \
                                                                                                   \
	for (; k + ahead < n; k++, from += step) {                                                 \
		char *x = to + place[k] * unit;                                                    \
                                                                                                   \
		__builtin_prefetch(to + place[k + ahead] * unit, 1);                               \
		body                                                                               \
	}                                                                                          \
	for (; k < n; k++, from += step) {                                                         \
		char *x = to + place[k] * unit;                                                    \
		body                                                                               \
	}

#define STORE(name, type)                                                                          \
	static void name(char *to, const struct scatter_at *at, const char *from, int64_t step,    \
			 int64_t n)                                                                \
	{                                                                                          \
		EACH(memcpy(x, from, sizeof(type));)                                               \
	}
STORE(store_1, uint8_t)
STORE(store_2, uint16_t)
STORE(store_4, uint32_t)
STORE(store_8, uint64_t)
STORE(store_16, sixteen)

scatter_fn *scatter_store(unsigned bytes)
{
	switch (bytes) {
	case 1:
		return store_1;
	case 2:
		return store_2;
	case 4:
		return store_4;
	case 8:
		return store_8;
	default:
		return store_16;
	}
}

/* a: what is there; b: what comes. */
#define COMBINE(name, type, expression)                                                            \
	static void name(char *to, const struct scatter_at *at, const char *from, int64_t step,    \
			 int64_t n)                                                                \
	{                                                                                          \
		type a, b;                                                                         \
                                                                                                   \
		EACH(memcpy(&a, x, sizeof a); memcpy(&b, from, sizeof b); a = (expression);        \
		     memcpy(x, &a, sizeof a);)                                                     \
	}

/* Integers wrap around: their low bits are those of what is computed without sign. */
#define WRAPS(type, operator) (type)((uint64_t)a operator(uint64_t) b)
#define INTEGERS(s, type)                                                                          \
	COMBINE(add_##s, type, WRAPS(type, +))                                                     \
	COMBINE(subtract_##s, type, WRAPS(type, -))                                                \
	COMBINE(multiply_##s, type, WRAPS(type, *))                                                \
	COMBINE(maximum_##s, type, a >= b ? a : b)                                                 \
	COMBINE(minimum_##s, type, a <= b ? a : b)                                                 \
	COMBINE(and_##s, type, WRAPS(type, &))                                                     \
	COMBINE(or_##s, type, WRAPS(type, |))                                                      \
	COMBINE(xor_##s, type, WRAPS(type, ^))
INTEGERS(i8, int8_t)
INTEGERS(i16, int16_t)
INTEGERS(i32, int32_t)
INTEGERS(i64, int64_t)
INTEGERS(u8, uint8_t)
INTEGERS(u16, uint16_t)
INTEGERS(u32, uint32_t)
INTEGERS(u64, uint64_t)

/* A bool may be any byte: all but 0 are true. */
COMBINE(or_b1, uint8_t, (a | b) != 0)
COMBINE(and_b1, uint8_t, a &&b)
COMBINE(xor_b1, uint8_t, !a != !b)

/* As NumPy has it on this processor: of zeros with two signs what comes, of two NaNs what is there.
 */
#define FLOATS(s, type)                                                                            \
	COMBINE(add_##s, type, a + b)                                                              \
	COMBINE(subtract_##s, type, a - b)                                                         \
	COMBINE(multiply_##s, type, a *b)                                                          \
	COMBINE(maximum_##s, type, a > b || a != a ? a : b)                                        \
	COMBINE(minimum_##s, type, a < b || a != a ? a : b)                                        \
	COMBINE(fmax_##s, type, a > b || b != b ? a : b)                                           \
	COMBINE(fmin_##s, type, a < b || b != b ? a : b)
FLOATS(f32, float)
FLOATS(f64, double)

typedef struct {
	float re, im;
} complex_64;
typedef struct {
	double re, im;
} complex_128;
#define COMPLEX(s, type)                                                                           \
	COMBINE(add_##s, type, ((type){a.re + b.re, a.im + b.im}))                                 \
	COMBINE(subtract_##s, type, ((type){a.re - b.re, a.im - b.im}))                            \
	COMBINE(multiply_##s, type, ((type){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}))
COMPLEX(c64, complex_64)
COMPLEX(c128, complex_128)

#define OF_INTEGERS(name)                                                                          \
	[DT_INT8] = name##_i8, [DT_INT16] = name##_i16, [DT_INT32] = name##_i32,                   \
	[DT_INT64] = name##_i64, [DT_UINT8] = name##_u8, [DT_UINT16] = name##_u16,                 \
	[DT_UINT32] = name##_u32, [DT_UINT64] = name##_u64
#define OF_FLOATS(name)	 [DT_FLOAT32] = name##_f32, [DT_FLOAT64] = name##_f64
#define OF_COMPLEX(name) [DT_COMPLEX64] = name##_c64, [DT_COMPLEX128] = name##_c128

static const struct {
	enum op op;
	scatter_fn *fn[DTYPE_END];
} table[] = {
	{OP_ADD, {[DT_BOOL] = or_b1, OF_INTEGERS(add), OF_FLOATS(add), OF_COMPLEX(add)}},
	{OP_SUBTRACT, {OF_INTEGERS(subtract), OF_FLOATS(subtract), OF_COMPLEX(subtract)}},
	{OP_MULTIPLY,
	 {[DT_BOOL] = and_b1, OF_INTEGERS(multiply), OF_FLOATS(multiply), OF_COMPLEX(multiply)}},
	{OP_MAXIMUM, {[DT_BOOL] = or_b1, OF_INTEGERS(maximum), OF_FLOATS(maximum)}},
	{OP_MINIMUM, {[DT_BOOL] = and_b1, OF_INTEGERS(minimum), OF_FLOATS(minimum)}},
	{OP_FMAX, {[DT_BOOL] = or_b1, OF_INTEGERS(maximum), OF_FLOATS(fmax)}},
	{OP_FMIN, {[DT_BOOL] = and_b1, OF_INTEGERS(minimum), OF_FLOATS(fmin)}},
	{OP_BITWISE_AND, {[DT_BOOL] = and_b1, OF_INTEGERS(and)}},
	{OP_BITWISE_OR, {[DT_BOOL] = or_b1, OF_INTEGERS(or)}},
	{OP_BITWISE_XOR, {[DT_BOOL] = xor_b1, OF_INTEGERS(xor)}},
};

scatter_fn *scatter_combine(enum op op, unsigned dtype)
{
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		if (table[k].op == op)
			return table[k].fn[dtype];
	return NULL;
}

/* ---- Places ---- */

#define BLOCK 512

/* Is one of them outside?  Told by signs, without a branch: what passes beyond the largest number
 * does not pass the other test. */
#define OUTSIDE(type)                                                                              \
	for (int64_t k = 0; k < n; k++, at += stride) {                                            \
		type i;                                                                            \
                                                                                                   \
		memcpy(&i, at, sizeof i);                                                          \
		bad |= ((uint64_t)i + extent) | (extent - 1 - (uint64_t)i);                        \
		signs |= (uint64_t)i;                                                              \
	}                                                                                          \
	break

#define READ(type, at)                                                                             \
	type i;                                                                                    \
	int64_t place;                                                                             \
                                                                                                   \
	memcpy(&i, at, sizeof i);                                                                  \
	place = (int64_t)i

/* Side by side, and of the usual steps, elements of 1, 2, 4, 8 and 16 bytes, the product is a
 * shift. */
#define OFFSETS(type)                                                                              \
	if (stride == (int64_t)sizeof(type) && shift >= 0 && !(x->reach >> 63)) {                  \
		for (int64_t k = 0; k < n; k++) {                                                  \
			READ(type, at + k * (int64_t)sizeof i);                                    \
			offset[k] = (int64_t)((uint64_t)place << shift);                           \
		}                                                                                  \
	} else {                                                                                   \
		for (int64_t k = 0; k < n; k++, at += stride) {                                    \
			READ(type, at);                                                            \
			place += x->extent & -(int64_t)((uint64_t)place >> 63);                    \
			offset[k] = place * x->step;                                               \
		}                                                                                  \
	}                                                                                          \
	break

#define EACH_TYPE(LOOP)                                                                            \
	switch (x->dtype) {                                                                        \
	case DT_INT8:                                                                              \
		LOOP(int8_t);                                                                      \
	case DT_INT16:                                                                             \
		LOOP(int16_t);                                                                     \
	case DT_INT32:                                                                             \
		LOOP(int32_t);                                                                     \
	case DT_UINT8:                                                                             \
		LOOP(uint8_t);                                                                     \
	case DT_UINT16:                                                                            \
		LOOP(uint16_t);                                                                    \
	case DT_UINT32:                                                                            \
		LOOP(uint32_t);                                                                    \
	default: /* NumPy reads uint64 so, too */                                                  \
		LOOP(int64_t);                                                                     \
	}

void scatter_offsets(int64_t *offset, const struct scatter_axis *x, int64_t stride, int64_t n)
{
	int shift =
		x->step > 0 && !(x->step & (x->step - 1)) ? __builtin_ctzll((uint64_t)x->step) : -1;
	const char *at = x->at;

	EACH_TYPE(OFFSETS)
}

static bool all_inside(struct scatter_axis *x, int64_t stride, int64_t n)
{
	uint64_t extent = (uint64_t)x->extent, bad = 0, signs = 0;
	const char *at = x->at;

	/* The usual ones several at a time. */
	if (stride == 8 && (x->dtype == DT_INT64 || x->dtype == DT_UINT64)) {
		for (int64_t k = 0; k < n; k++) {
			uint64_t i;

			memcpy(&i, at + k * 8, sizeof i);
			bad |= (i + extent) | (extent - 1 - i);
			signs |= i;
		}
	} else {
		EACH_TYPE(OUTSIDE)
	}
	x->reach |= signs;
	return !(bad >> 63);
}

int64_t scatter_place(unsigned dtype, const char *at)
{
	const struct scatter_axis one = {.at = at, .dtype = dtype, .extent = 0, .step = 1};
	int64_t place = 0;

	scatter_offsets(&place, &one, 0, 1);
	return place;
}

int64_t scatter_inside(struct scatter_axis *x, int64_t stride, int64_t n)
{
	const char *first = x->at;
	int64_t done = 0;

	while (done < n) {
		int64_t now = n - done < BLOCK ? n - done : BLOCK;

		x->at = first + done * stride;
		if (!all_inside(x, stride, now))
			break;
		done += now;
	}
	for (; done < n; done++) {
		x->at = first + done * stride;
		if (!all_inside(x, stride, 1))
			break;
	}
	x->at = first;
	return done;
}
