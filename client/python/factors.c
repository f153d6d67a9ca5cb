/* SPDX-License-Identifier: Apache-2.0 */
/* factors.c - factors of matrices on a device that has a library for them; all others are NumPy's.
 */
#include "core.h"

/* Is it such a device that operations are recorded for now?  -1: an exception is set. */
int factors_there(void)
{
	braze_session *s = wait_session();
	braze_error err = {0};
	int has = 0;

	if (!s)
		return -1;
	err.code = braze_has_factors(&has, s, wait_check_signals, NULL, &err);
	if (!err.code)
		return has;
	wait_raise(&err);
	return -1;
}

static PyObject *has_factors(PyObject *mod, PyObject *ignored)
{
	int has = factors_there();

	return has < 0 ? NULL : PyBool_FromLong(has);
}

/* factors(what, array): a tuple of three parts, None where there is none, and of what LAPACK's info
 * is. */
static PyObject *factors(PyObject *mod, PyObject *args)
{
	braze_array *h = NULL, *made[4] = {NULL};
	const char *what = NULL;
	PyObject *a = NULL, *all = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "sO", &what, &a))
		return NULL;
	h = type_handle(a);
	if (!h)
		return NULL;
	err.code = braze_factors(made, what, h, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	all = PyTuple_New(4);
	for (int k = 0; k < 4; k++) {
		PyObject *one = NULL;

		if (all)
			one = made[k] ? type_new(made[k], 0) : Py_NewRef(Py_None);
		else if (made[k])
			braze_release(made[k]);
		if (one)
			PyTuple_SetItem(all, k, one);
		else
			Py_CLEAR(all);
	}
	return all;
}

PyMethodDef factors_methods[] = {
	{"has_factors", has_factors, METH_NOARGS, NULL},
	{"factors", factors, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
