/* SPDX-License-Identifier: Apache-2.0 */
/* fast_search.c - where plain arrays' elements belong among others in order. */
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
	if (!among || !needles || side < 0 || braze_ndim(among) != 1)
		return fast_numpys(out, f, c);
	return fast_new(out, braze_search(&made, side, among, needles, &err), &made,
			braze_ndim(needles) ? 0 : ND_SCALAR) ||
	       fast_numpys(out, f, c);
}
