/* SPDX-License-Identifier: Apache-2.0 */
/* about.c - where the parts are that this process uses, and what the daemon has to say. */
#include "core.h"

#define PATH_MOST 4096

/* daemon_path(): of the program that would be started */
static PyObject *daemon_path(PyObject *mod, PyObject *unused)
{
	char path[PATH_MOST];
	braze_error err = {0};

	if ((err.code = braze_daemon_path(path, sizeof path, &err))) {
		wait_raise(&err);
		return NULL;
	}
	return PyUnicode_DecodeFSDefault(path);
}

/* loops_path(): of the library of small operations; None: there is none that fits */
static PyObject *loops_path(PyObject *mod, PyObject *unused)
{
	char path[PATH_MOST];

	if (!braze_loops_path(path, sizeof path))
		Py_RETURN_NONE;
	return PyUnicode_DecodeFSDefault(path);
}

int about_notice(braze_session *s)
{
	const char *notice = braze_notice(s);

	return *notice ? PyErr_WarnEx(PyExc_RuntimeWarning, notice, 1) : 0;
}

PyMethodDef about_methods[] = {
	{"daemon_path", daemon_path, METH_NOARGS, NULL},
	{"loops_path", loops_path, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};
