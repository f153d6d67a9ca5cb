/* SPDX-License-Identifier: Apache-2.0 */
/* fast_count.c - bincount, by this process.  What is wrong, or of no use to it, is NumPy's. */
#include "native.h"

/* A vector with elements. */
static braze_array *vector(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;

	return h && braze_ndim(h) == 1 && braze_size(h) ? h : NULL;
}

/* An error that came up in a wait stays; what is a mistake NumPy tells. */
static bool made(PyObject **out, braze_array *h, const braze_error *err)
{
	if (!err->code) {
		braze_count_near(braze_session_of(h));
		if (watch_reports())
			braze_release(h);
		else
			*out = type_new(h, 0);
		return true;
	}
	if (PyErr_Occurred() || err->code == BRAZE_E_INTERRUPTED)
		wait_raise(err);
	return false;
}

bool fast_bincount(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *x = NULL, *weights = NULL, *h = NULL;
	int64_t least = 0;
	braze_error err = {0};
	bool weighted = false;

	if (core.locked || !fast_bind(slot, f, c) || !(x = vector(slot[0])) ||
	    (slot[2] && !fast_int(&least, slot[2])))
		return fast_numpys(out, f, c);
	weighted = !fast_absent(slot[1]);
	weights = weighted ? vector(slot[1]) : NULL;
	if (weighted && !weights)
		return fast_numpys(out, f, c);
	err.code = braze_bincount(&h, x, weights, least, wait_check_signals, NULL, &err);
	if (made(out, h, &err))
		return true;
	return !PyErr_Occurred() && fast_numpys(out, f, c);
}
