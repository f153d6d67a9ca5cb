/* SPDX-License-Identifier: Apache-2.0 */
/* fast_sort.c - plain arrays in order (every other call is NumPy's). */
#include <string.h>

#include "native.h"

/* What one call asks for: along this axis of the array, or through all of it. */
struct sorting {
	braze_array *of;
	int axis;
	bool flat;
};

/* Ours is stable whichever is asked for; what NumPy has words about is its own. */
static bool is_kind(PyObject *kind, PyObject *stable)
{
	static const char *const names[] = {"quicksort", "stable", "mergesort", "heapsort"};
	const char *text = NULL;

	if (fast_absent(kind))
		return fast_absent(stable) || PyBool_Check(stable);
	if (!fast_absent(stable) || !PyUnicode_CheckExact(kind))
		return false;
	text = PyUnicode_AsUTF8AndSize(kind, NULL);
	if (!text)
		PyErr_Clear();
	for (size_t k = 0; text && k < sizeof names / sizeof *names; k++)
		if (!strcmp(text, names[k]))
			return true;
	return false;
}

static bool read_call(struct sorting *s, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !(s->of = fast_array(slot[0])) || !braze_ndim(s->of) ||
	    !fast_absent(slot[3]) || !is_kind(slot[2], slot[4]))
		return false;
	s->axis = braze_ndim(s->of) - 1;
	s->flat = slot[1] == Py_None;
	return !slot[1] || s->flat || fast_axis(&s->axis, slot[1], braze_ndim(s->of));
}

/* As NumPy's, the elements lie in the operand's order, the places in C's. */
static int sorted(braze_array **made, const struct fast *f, const struct sorting *s,
		  braze_error *err)
{
	int64_t all = braze_size(s->of);
	braze_array *flat = NULL;
	int rc = 0;

	if (s->flat) {
		rc = braze_reshape(&flat, s->of, 1, &all, err);
		if (!rc)
			rc = braze_sort(made, f->op, flat, 0, err);
		braze_release(flat);
		return rc;
	}
	if (!strcmp(f->op_name, "sort"))
		return fast_along(made, braze_sort, f->op, s->of, s->axis, err);
	return braze_sort(made, f->op, s->of, s->axis, err);
}

bool fast_sort(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *made = NULL;
	struct sorting s = {0};
	braze_error err;

	if (!read_call(&s, f, c))
		return fast_numpys(out, f, c);
	return fast_new(out, sorted(&made, f, &s, &err), &made, 0) || fast_numpys(out, f, c);
}

/* a.sort(): in place. */
bool fast_sort_method(PyObject **out, const struct fast *f, const struct call *c)
{
	struct sorting s = {0};
	braze_error err;

	if (!read_call(&s, f, c) || s.flat || nd(c->args[0])->flags)
		return fast_numpys(out, f, c);
	if (braze_shape(s.of)[s.axis] > 1 && braze_sort_self(s.of, f->op, s.axis, &err))
		return fast_numpys(out, f, c);
	*out = Py_NewRef(Py_None);
	return true;
}
