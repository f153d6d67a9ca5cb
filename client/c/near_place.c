/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_place.c - argmin and argmax of a few elements side by side, in the usual types.
 *
 * The loops' tree takes as long to set up as NumPy for all of it.  Answers are numbers of elements,
 * so the same as the loops'. */
#include <string.h>

#include "array.h"
#include "near.h"

/* The first element that `holds` against none before it: of floats a NaN at the latest, which
 * nothing holds against. */
#define FIRST(name, T, holds)                                                                      \
	static int64_t name##_##T(const T *a, int64_t n)                                           \
	{                                                                                          \
		int64_t place = 0;                                                                 \
		T best = a[0];                                                                     \
		for (int64_t k = 1; k < n; k++)                                                    \
			if (!(best holds a[k])) {                                                  \
				if (best != best)                                                  \
					break;                                                     \
				best = a[k];                                                       \
				place = k;                                                         \
			}                                                                          \
		return place;                                                                      \
	}

#define PLACE(T)                                                                                   \
	FIRST(least, T, <=)                                                                        \
	FIRST(largest, T, >=)                                                                      \
	static int64_t place_##T(const void *at, int64_t n, bool largest)                          \
	{                                                                                          \
		return largest ? largest_##T(at, n) : least_##T(at, n);                            \
	}

PLACE(double)
PLACE(float)
PLACE(int64_t)
PLACE(int32_t)

/* Truth is any byte but 0. */
static int64_t place_bool(const char *at, int64_t n, bool largest)
{
	const char *found = largest ? NULL : memchr(at, 0, (size_t)n);
	uint64_t word = 0;
	int64_t k = 0;

	if (!largest)
		return found ? found - at : 0;
	for (; n - k >= 8 && !word; k += 8)
		memcpy(&word, at + k, 8);
	for (k -= word ? 8 : 0; k < n; k++)
		if (at[k])
			return k;
	return 0;
}

bool near_place(int64_t *place, enum op op, const struct braze_array *a)
{
	const char *at = array_address(a);
	bool largest = op == OP_ARGMAX;

	if (a->count > NEAR_PLACES || (uintptr_t)at % dtype_row(a->view.dtype)->bytes)
		return false;
	switch ((enum dtype)a->view.dtype) {
	case DT_FLOAT64:
		*place = place_double(at, a->count, largest);
		return true;
	case DT_FLOAT32:
		*place = place_float(at, a->count, largest);
		return true;
	case DT_INT64:
		*place = place_int64_t(at, a->count, largest);
		return true;
	case DT_INT32:
		*place = place_int32_t(at, a->count, largest);
		return true;
	case DT_BOOL:
		*place = place_bool(at, a->count, largest);
		return true;
	default:
		return false;
	}
}
