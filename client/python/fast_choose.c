/* SPDX-License-Identifier: Apache-2.0 */
/* fast_choose.c - elements that a mask chooses, written, taken and counted by functions, where all
 * is small and at hand (every other call is NumPy's, or lazy). */
#include "native.h"

#include "numpys.h"

static bool is_here(PyObject *o)
{
	braze_array *h = o ? fast_array(o) : NULL;

	return h && !(nd(o)->flags & ND_SCALAR) && braze_size(h) < MASKS_FEW && braze_is_near(h);
}

/* May a be written at once, as a mask of its shape says? */
static bool is_written_here(PyObject *a, PyObject *mask)
{
	return is_here(a) && is_here(mask) && !nd(a)->flags && braze_is_ours(nd(a)->h) &&
	       braze_ndim(nd(a)->h) == braze_ndim(nd(mask)->h);
}

/* (arr, mask, vals): as many values as are wanted, or a number. */
bool fast_place(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !is_written_here(slot[0], slot[1]) || !slot[2] ||
	    (nd_check(slot[2]) && !is_here(slot[2])) || !masks_set(slot[0], slot[1], slot[2]))
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	*out = Py_NewRef(Py_None);
	return true;
}

/* (a, mask, values): values of a's shape, or a number. */
bool fast_putmask(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !is_written_here(slot[0], slot[1]) || !slot[2] ||
	    !(nd_check(slot[2]) ? is_here(slot[2]) && masks_lay(slot[0], slot[1], slot[2])
				: masks_set(slot[0], slot[1], slot[2])))
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	*out = Py_NewRef(Py_None);
	return true;
}

static bool taken(PyObject **out, PyObject *a, PyObject *mask)
{
	if (!is_here(a) || !is_here(mask) || braze_ndim(nd(a)->h) != braze_ndim(nd(mask)->h) ||
	    !masks_get(out, a, mask))
		return false;
	braze_count_near(core.session);
	return true;
}

/* (condition, arr): of the same shape. */
bool fast_extract(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	return (fast_bind(slot, f, c) && taken(out, slot[1], slot[0])) || fast_numpys(out, f, c);
}

/* a is the parameter of that place, the condition the other one of the first two, an axis the
 * third: of vectors. */
static bool compress(PyObject **out, const struct fast *f, const struct call *c, int a)
{
	PyObject *slot[FAST_ARGS];

	return (fast_bind(slot, f, c) && fast_absent(slot[2]) && is_here(slot[a]) &&
		braze_ndim(nd(slot[a])->h) == 1 && taken(out, slot[a], slot[1 - a])) ||
	       fast_numpys(out, f, c);
}

bool fast_compress(PyObject **out, const struct fast *f, const struct call *c)
{
	return compress(out, f, c, 1);
}

bool fast_compress_method(PyObject **out, const struct fast *f, const struct call *c)
{
	return compress(out, f, c, 0);
}

/* From NumPy 2.3 on the number is a scalar of NumPy's. */
bool fast_count_nonzero(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *o = c->n == 1 && !c->names && core.numpy < 203 ? c->args[0] : NULL;
	const void *mask = NULL;

	if (o && is_here(o) && braze_dtype_of(nd(o)->h) == BRAZE_BOOL &&
	    braze_is_contiguous(nd(o)->h))
		mask = wait_at_hand(nd(o)->h);
	if (!mask)
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	*out = PyLong_FromLongLong(braze_count_true(mask, braze_size(nd(o)->h)));
	return true;
}
