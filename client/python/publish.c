/* SPDX-License-Identifier: Apache-2.0 */
/* publish.c - arrays that processes share: published here, opened there (braze/_publish.py). */
#include "core.h"

/* publish(array, name, to or None) -> (version, copied, key) */
static PyObject *publish(PyObject *mod, PyObject *args)
{
	const char *name = NULL, *to = NULL;
	braze_published p = {0};
	braze_array *h = NULL;
	PyObject *a = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "Osz", &a, &name, &to))
		return NULL;
	if (!nd_check(a))
		return PyErr_Format(PyExc_TypeError, "only arrays of braze are published");
	h = type_handle(a);
	if (!h || wait_check_locked(h))
		return NULL;
	braze_retain(h);
	err.code = braze_publish(&p, h, name, to, wait_check_signals, NULL, &err);
	braze_release(h);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	if (watch_reports())
		return NULL;
	return Py_BuildValue("(KKs)", (unsigned long long)p.version, (unsigned long long)p.copied,
			     p.key);
}

static PyObject *unpublish(PyObject *mod, PyObject *args)
{
	const char *name = NULL;
	braze_session *s = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "s", &name))
		return NULL;
	s = wait_session();
	if (!s)
		return NULL;
	err.code = braze_unpublish(s, name, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	Py_RETURN_NONE;
}

/* open(name) -> (array, version) */
static PyObject *open_published(PyObject *mod, PyObject *args)
{
	const char *name = NULL;
	braze_session *s = NULL;
	braze_array *h = NULL;
	uint64_t version = 0;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "s", &name))
		return NULL;
	s = wait_session();
	if (!s)
		return NULL;
	err.code = braze_open(&h, &version, s, name, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	if (braze_dtype_of(h) >= N_DTYPES) { /* a program in C published one of bfloat16 */
		braze_release(h);
		PyErr_SetString(PyExc_TypeError, "arrays of bfloat16 are not opened by name");
		return NULL;
	}
	return Py_BuildValue("(NK)", type_new(h, ND_READONLY), (unsigned long long)version);
}

/* set_shared(on): of the session, and of the next one. */
static PyObject *set_shared(PyObject *mod, PyObject *on)
{
	braze_error err = {0};
	int wanted = PyObject_IsTrue(on);

	if (wanted < 0)
		return NULL;
	core.shared = wanted;
	if (core.session)
		err.code = braze_set_shared(core.session, wanted, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	Py_RETURN_NONE;
}

PyMethodDef publish_methods[] = {
	{"publish", publish, METH_VARARGS, NULL},
	{"unpublish", unpublish, METH_VARARGS, NULL},
	{"open", open_published, METH_VARARGS, NULL},
	{"set_shared", set_shared, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};
