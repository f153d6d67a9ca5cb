/* SPDX-License-Identifier: Apache-2.0 */
/* fourier.c - Fourier transforms on a device that has a library for them; all others are NumPy's.
 */
#include "core.h"

/* Is it such a device that operations are recorded for now?  -1: an exception is set. */
int fourier_there(void)
{
	braze_session *s = wait_session();
	braze_error err = {0};
	int has = 0;

	if (!s)
		return -1;
	err.code = braze_has_fourier(&has, s, wait_check_signals, NULL, &err);
	if (!err.code)
		return has;
	wait_raise(&err);
	return -1;
}

static PyObject *has_fourier(PyObject *mod, PyObject *ignored)
{
	int has = fourier_there();

	return has < 0 ? NULL : PyBool_FromLong(has);
}

/* fourier(name, array, axis, length) */
static PyObject *fourier(PyObject *mod, PyObject *args)
{
	braze_array *h = NULL, *made = NULL;
	const char *name = NULL;
	PyObject *a = NULL;
	braze_error err = {0};
	long long length = 0;
	int axis = 0;

	if (!PyArg_ParseTuple(args, "sOiL", &name, &a, &axis, &length))
		return NULL;
	h = type_handle(a);
	if (!h)
		return NULL;
	err.code = braze_fourier(&made, braze_op_find(name), h, axis, length, &err);
	if (!err.code)
		return type_new(made, 0);
	wait_raise(&err);
	return NULL;
}

PyMethodDef fourier_methods[] = {
	{"has_fourier", has_fourier, METH_NOARGS, NULL},
	{"fourier", fourier, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
