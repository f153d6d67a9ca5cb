/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - np.errstate: what is asked for where an operation is recorded, and what is
 * done about an error when it is read.
 *
 * braze/numpy/_errstate.py keeps the states, one for each context, and acts; here is what
 * the library calls.  Nothing of Python's runs between an operation and its checks but
 * C functions of its own. */
#include "core.h"

#include <stdlib.h>

/* core.reports of them. */
static braze_report *reports;
static unsigned room;

static void tell(void *data, const braze_report *r)
{
	unsigned want = room ? 2 * room : 64;
	braze_report *grown = core.reports < room ? reports : realloc(reports, want * sizeof *r);

	if (!grown)
		return; /* it is told nobody: memory is out */
	room = core.reports < room ? room : want;
	reports = grown;
	reports[core.reports++] = *r;
}

PyObject *watch_place(void)
{
	PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame()), *text = NULL;

	while (core.package && frame && frame != Py_None && !text && !PyErr_Occurred()) {
		PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
		PyObject *file = PyObject_GetAttrString(code, "co_filename"), *back = NULL;

		Py_DECREF(code);
		if (file && PyUnicode_Tailmatch(file, core.package, 0, PY_SSIZE_T_MAX, -1) == 0)
			text = PyUnicode_FromFormat("%U:%d", file,
						    PyFrame_GetLineNumber((PyFrameObject *)frame));
		Py_XDECREF(file);
		if (!text)
			back = PyObject_GetAttrString(frame, "f_back");
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	if (!text)
		PyErr_Clear();
	return text;
}

/* Asked for each operation.  What fails here leaves the operation unchecked only if
 * memory is out. */
static void ask(void *data, braze_watch *now)
{
	PyObject *state = PyObject_CallNoArgs(core.errstate), *masks = NULL, *text = NULL;
	unsigned report = 0, raise = 0, tag = 0;

	*now = (braze_watch){0};
	if (state && state != Py_None)
		masks = PyObject_GetAttrString(state, "masks");
	if (masks && PyArg_ParseTuple(masks, "III", &raise, &report, &tag) && (raise | report)) {
		text = watch_place();
		*now = (braze_watch){.raise = raise, .report = report, .tag = tag};
		now->site = text ? (uint32_t)gather_site(text) : 0;
	}
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(masks);
	Py_XDECREF(state);
}

void watch_session(braze_session *s)
{
	braze_set_watcher(s, core.watching ? ask : NULL, tell, NULL);
}

static int act(const braze_report *r)
{
	bool known = r->site && core.sites && r->site <= PyList_Size(core.sites);
	PyObject *at = known ? PyList_GetItem(core.sites, r->site - 1) : Py_None;
	PyObject *done = PyObject_CallFunction(core.told, "IIssOI", r->error, r->all, r->text,
					       r->op, at, r->tag);

	Py_XDECREF(done);
	return done ? 0 : -1;
}

int watch_act(void)
{
	braze_report *now = reports;
	unsigned n = core.reports;
	int rc = 0;

	/* What is done may read, and be told of more. */
	reports = NULL;
	core.reports = room = 0;
	for (unsigned i = 0; i < n && !rc; i++)
		rc = act(&now[i]);
	free(now);
	return rc;
}

/* watch_setup(errstate, told) */
static PyObject *setup(PyObject *mod, PyObject *args)
{
	if (!PyArg_ParseTuple(args, "OO", &core.errstate, &core.told))
		return NULL;
	Py_INCREF(core.errstate);
	Py_INCREF(core.told);
	Py_RETURN_NONE;
}

/* watching(bool): does any context ask for anything? */
static PyObject *watching(PyObject *mod, PyObject *on)
{
	core.watching = PyObject_IsTrue(on);
	if (core.session)
		watch_session(core.session);
	Py_RETURN_NONE;
}

static PyObject *is_watching(PyObject *mod, PyObject *ignored)
{
	return PyBool_FromLong(core.watching);
}

PyMethodDef watch_methods[] = {
	{"watch_setup", setup, METH_VARARGS, NULL},
	{"watching", watching, METH_O, NULL},
	{"is_watching", is_watching, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};
