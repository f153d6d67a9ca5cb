/* SPDX-License-Identifier: Apache-2.0 */
/* fast_search.c - where plain arrays' elements belong among others in order. */
#include <stdlib.h>
#include <string.h>

#include "native.h"

/* BRAZE_LEFT or BRAZE_RIGHT; -1: what NumPy has words about. */
static int read_side(PyObject *side)
{
	static const char *const names[] = {[BRAZE_LEFT] = "left", [BRAZE_RIGHT] = "right"};
	const char *text = NULL;

	if (!side)
		return BRAZE_LEFT;
	text = PyUnicode_CheckExact(side) ? PyUnicode_AsUTF8AndSize(side, NULL) : NULL;
	PyErr_Clear();
	for (int k = BRAZE_LEFT; text && k <= BRAZE_RIGHT; k++)
		if (!strcmp(text, names[k]))
			return k;
	return -1;
}

#define EXACT (INT64_C(1) << 53) /* integers up to it are the same as doubles */

/* Do the bits of x belong behind those at `at`?  NaNs come last. */
static bool is_behind(int side, bool real, uint64_t bits, const char *at)
{
	double x = 0, y = 0;
	int64_t i = 0, j = 0;

	if (!real) {
		memcpy(&i, &bits, sizeof i);
		memcpy(&j, at, sizeof j);
		return side == BRAZE_LEFT ? j < i : j <= i;
	}
	memcpy(&x, &bits, sizeof x);
	memcpy(&y, at, sizeof y);
	return side == BRAZE_LEFT ? y < x || (x != x && y == y) : !(x < y || (y != y && x == x));
}

/* By halves, as NumPy does it, whose way shows where the elements, of 8 bytes, are in no order. */
static uint64_t place_of(int side, bool real, uint64_t bits, const char *data, uint64_t n)
{
	uint64_t low = 0;

	while (low < n) {
		uint64_t middle = low + (n - low) / 2;

		if (is_behind(side, real, bits, data + 8 * middle))
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* A number of Python's among doubles, or an integer among integers, that are at hand. */
static bool search_number(PyObject **out, int side, braze_array *among, PyObject *needle)
{
	bool real = braze_dtype_of(among) == BRAZE_FLOAT64, whole = false;
	uint64_t bits[2] = {0}, x = 0;
	const char *data = NULL;
	double number = 0;
	int64_t i = 0;

	whole = !PyFloat_CheckExact(needle) && fast_int(&i, needle);
	if (!whole && !PyFloat_CheckExact(needle))
		return false;
	if (real ? whole && llabs(i) > EXACT : !whole || braze_dtype_of(among) != BRAZE_INT64)
		return false;
	if (braze_ndim(among) != 1 || !braze_is_contiguous(among) || !(data = wait_at_hand(among)))
		return false;
	number = whole ? (double)i : PyFloat_AsDouble(needle);
	memcpy(&x, real ? (const void *)&number : &i, sizeof x);
	bits[0] = place_of(side, real, x, data, (uint64_t)braze_size(among));
	*out = type_immediate(BRAZE_INT64, bits);
	return true;
}

bool fast_search(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *among = NULL, *needles = NULL, *made = NULL;
	braze_error err;
	int side = -1;

	if (!fast_bind(slot, f, c) || !slot[1] || !fast_absent(slot[3]))
		return fast_numpys(out, f, c);
	among = fast_array(slot[0]);
	needles = fast_array(slot[1]);
	side = read_side(slot[2]);
	if (among && side >= 0 && search_number(out, side, among, slot[1]))
		return true;
	if (!among || !needles || side < 0 || braze_ndim(among) != 1)
		return fast_numpys(out, f, c);
	return fast_new(out, braze_search(&made, side, among, needles, &err), &made,
			braze_ndim(needles) ? 0 : ND_SCALAR) ||
	       fast_numpys(out, f, c);
}

/* Is it of real numbers? */
static bool is_real(braze_array *h)
{
	int dtype = braze_dtype_of(h);

	return dtype != BRAZE_COMPLEX64 && dtype != BRAZE_COMPLEX128;
}

/* NumPy goes on from the needle before, which is quick where they are in order: what is at hand is
 * its own between these numbers of needles, where neither a call nor a core are most of the time.
 */
#define LINES_FEW  128
#define LINES_MANY (1 << 17)

/* Do some of the needles, at least two, rise? */
static bool seem_in_order(braze_array *needles)
{
	const double *at = braze_at_hand(needles);
	int64_t n = braze_size(needles), step = n / 16 + 1;

	if (!at || braze_dtype_of(needles) != BRAZE_FLOAT64 || !braze_is_contiguous(needles))
		return true;
	for (int64_t k = step; k < n; k += step)
		if (at[k] < at[k - step])
			return false;
	return true;
}

static bool is_numpys(braze_array *const *in)
{
	int64_t n = braze_size(in[0]);

	return n > LINES_FEW && n < LINES_MANY && braze_is_near(in[0]) && braze_is_near(in[1]) &&
	       braze_is_near(in[2]) && seem_in_order(in[0]);
}

/* As NumPy's, without ends of its own and a period. */
bool fast_interp(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *in[3] = {NULL}, *made = NULL;
	braze_error err;

	if (!fast_bind(slot, f, c) || !fast_absent(slot[3]) || !fast_absent(slot[4]) ||
	    !fast_absent(slot[5]))
		return fast_numpys(out, f, c);
	for (int k = 0; k < 3; k++) {
		in[k] = slot[k] ? fast_array(slot[k]) : NULL;
		if (!in[k] || !is_real(in[k]))
			return fast_numpys(out, f, c);
	}
	if (braze_ndim(in[1]) != 1 || braze_ndim(in[2]) != 1 || is_numpys(in))
		return fast_numpys(out, f, c);
	return fast_new(out, braze_interp(&made, in[0], in[1], in[2], &err), &made,
			braze_ndim(in[0]) ? 0 : ND_SCALAR) ||
	       fast_numpys(out, f, c);
}

#define EDGES_FEW 4096 /* that are looked at here */

/* Do the edges, which are at hand, rise, without nans? */
static bool rises(braze_array *edges)
{
	const double *at = braze_at_hand(edges);
	int64_t n = braze_size(edges);
	bool good = at && n && n <= EDGES_FEW && braze_dtype_of(edges) == BRAZE_FLOAT64 &&
		    braze_ndim(edges) == 1 && braze_is_contiguous(edges) && at[0] == at[0];

	for (int64_t k = 1; good && k < n; k++)
		good = at[k] >= at[k - 1];
	return good;
}

/* Rising bins that are known; which way others run is asked in Python. */
bool fast_digitize(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *x = NULL, *bins = NULL, *made = NULL;
	braze_error err;
	int side = BRAZE_RIGHT;

	if (!fast_bind(slot, f, c) || !slot[1])
		return fast_numpys(out, f, c);
	x = fast_array(slot[0]);
	bins = fast_array(slot[1]);
	if (slot[2] == Py_True)
		side = BRAZE_LEFT;
	if (!x || !bins || !is_real(x) || (slot[2] && !PyBool_Check(slot[2])) || !rises(bins))
		return fast_numpys(out, f, c);
	return fast_new(out, braze_search(&made, side, bins, x, &err), &made,
			braze_ndim(x) ? 0 : ND_SCALAR) ||
	       fast_numpys(out, f, c);
}
