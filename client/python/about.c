/* SPDX-License-Identifier: Apache-2.0 */
/* about.c - where the parts are that this process uses, what the daemon has to say, and
 * what it is told of the process. */
#include "core.h"

#include <string.h>

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

/* A str's beginning, or its end; whole characters are the daemon's care. */
static bool copy_text(char *to, size_t n, PyObject *v, bool end)
{
	PyObject *bytes = PyUnicode_AsEncodedString(v, "utf-8", "replace");
	Py_ssize_t size = 0;
	char *s = NULL;

	if (!bytes || PyBytes_AsStringAndSize(bytes, &s, &size) < 0) {
		Py_XDECREF(bytes);
		return false;
	}
	PyOS_snprintf(to, n, "%s", end && (size_t)size >= n ? s + size - (Py_ssize_t)n + 1 : s);
	Py_DECREF(bytes);
	return true;
}

/* set_name(name): also of the connection that there is; returns the old one. */
static PyObject *set_name(PyObject *mod, PyObject *v)
{
	PyObject *old = PyUnicode_DecodeUTF8(core.name, (Py_ssize_t)strlen(core.name), "replace");
	braze_error err = {0};

	if (!old || !copy_text(core.name, sizeof core.name, v, false)) {
		Py_XDECREF(old);
		return NULL;
	}
	if (core.session && braze_is_connected(core.session))
		err.code = braze_session_name(core.session, core.name, &err);
	/* A connection that has just ended is no mistake of the caller's: the next one is told. */
	if (err.code && err.code != BRAZE_E_DAEMON_GONE) {
		wait_raise(&err);
		Py_CLEAR(old);
	}
	return old;
}

/* set_place(file, environment): of the program, for the connections to come */
static PyObject *set_place(PyObject *mod, PyObject *args)
{
	PyObject *file = NULL, *environment = NULL;

	if (!PyArg_ParseTuple(args, "UU", &file, &environment) ||
	    !copy_text(core.file, sizeof core.file, file, true) ||
	    !copy_text(core.environment, sizeof core.environment, environment, true))
		return NULL;
	Py_RETURN_NONE;
}

int about_notice(braze_session *s)
{
	const char *notice = braze_notice(s);

	return *notice ? PyErr_WarnEx(PyExc_RuntimeWarning, notice, 1) : 0;
}

PyMethodDef about_methods[] = {
	{"daemon_path", daemon_path, METH_NOARGS, NULL},
	{"loops_path", loops_path, METH_NOARGS, NULL},
	{"set_name", set_name, METH_O, NULL},
	{"set_place", set_place, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
