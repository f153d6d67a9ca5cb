/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - kernels from text for braze._kernel, which has checked the arguments.
 *
 * In:  arrays of ours, NumPy's arrays, and scalars as the bytes of their type.  The addresses are
 * taken with the interpreter lock held, and the kernel runs without it; meanwhile recording on what
 * it writes is refused, and what it only reads is lent. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

static void kernel_drop(PyObject *capsule)
{
	braze_kernel_free(PyCapsule_GetPointer(capsule, KERNEL_CAPSULE));
}

/* kernel_create(text) */
static PyObject *kernel_create(PyObject *mod, PyObject *text)
{
	Py_ssize_t n = 0;
	const char *s = PyUnicode_AsUTF8AndSize(text, &n);
	braze_kernel *k = NULL;
	braze_error err = {0};
	PyObject *capsule = NULL;

	if (!s)
		return NULL;
	err.code = braze_kernel_create(&k, s, (size_t)n, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	capsule = PyCapsule_New(k, KERNEL_CAPSULE, kernel_drop);
	if (!capsule)
		braze_kernel_free(k);
	return capsule;
}

/* kernel_describe(kernel): its name and (name, dtype, ndim, written, result) of each parameter */
static PyObject *kernel_describe(PyObject *mod, PyObject *capsule)
{
	const braze_kernel *k = PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);
	PyObject *list = k ? PyList_New(0) : NULL;
	braze_parameter p;

	for (int i = 0; list && braze_kernel_parameter(&p, k, i); i++) {
		PyObject *row = Py_BuildValue("(sOiii)", p.name, core.dtypes[p.dtype], p.ndim,
					      p.written, p.result);

		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	return list ? Py_BuildValue("(sN)", braze_kernel_name(k), list) : NULL;
}

int kernel_take_array(struct held *x, PyObject *o, const braze_parameter *p)
{
	braze_array *h = type_handle(o);

	if (!h || wait_check_locked(h))
		return -1;
	braze_retain(h);
	x->h = h;
	x->arg.shape = x->shape;
	x->arg.strides = x->strides;
	x->arg.dtype = p->dtype;
	x->arg.ndim = braze_ndim(x->h);
	memcpy(x->shape, braze_shape(x->h), (size_t)x->arg.ndim * sizeof x->shape[0]);
	memcpy(x->strides, braze_strides(x->h), (size_t)x->arg.ndim * sizeof x->shape[0]);
	return 0;
}

/* Its value is there, and may be written if it is going to be. */
static int wait_array(struct held *x, const braze_parameter *p)
{
	if (p->written)
		x->arg.data = wait_fence(x->h);
	else
		x->arg.data = (void *)(uintptr_t)wait_data(x->h);
	return x->arg.data ? 0 : -1;
}

/* After all fences: they may move what other arguments share. */
static int keep_array(struct held *x, const braze_parameter *p)
{
	if (p->written) {
		x->hold = braze_hold(x->h);
		x->arg.data = (void *)(uintptr_t)wait_data(x->h);
	} else if (braze_lend(&x->loan, x->h)) {
		x->arg.data = (void *)(uintptr_t)x->loan.data;
	} else {
		x->hold = braze_hold(x->h);
		x->arg.data = (void *)(uintptr_t)wait_data(x->h);
	}
	return x->arg.data ? 0 : -1;
}

static int take_buffer(struct held *x, PyObject *o, const braze_parameter *p)
{
	if (PyObject_GetBuffer(o, &x->buffer, PyBUF_STRIDES | (p->written ? PyBUF_WRITABLE : 0)))
		return -1;
	x->open = true;
	x->arg.data = x->buffer.buf ? x->buffer.buf : (void *)x->shape;
	x->arg.dtype = p->dtype;
	x->arg.ndim = x->buffer.ndim;
	for (int i = 0; i < x->buffer.ndim && i < BRAZE_MAX_NDIM; i++) {
		x->shape[i] = x->buffer.shape[i];
		x->strides[i] = x->buffer.strides[i];
	}
	return 0;
}

static int take(struct held *x, PyObject *o, const braze_parameter *p)
{
	const char *bytes = NULL;

	x->arg.shape = x->shape;
	x->arg.strides = x->strides;
	if (selection_check(o) && selection_settle(o))
		return -1;
	if (p->ndim)
		return nd_check(o) ? kernel_take_array(x, o, p) : take_buffer(x, o, p);
	bytes = PyBytes_AsString(o);
	if (!bytes)
		return -1;
	x->arg.scalar.dtype = p->dtype;
	convert_load(p->dtype, bytes, x->arg.scalar.bits);
	return 0;
}

static PyObject *give(const braze_kernel *k, const braze_scalar *result, int nargs)
{
	PyObject *list = PyList_New(0), *tuple = NULL;
	braze_parameter p;

	for (int i = 0; list && braze_kernel_parameter(&p, k, nargs + i); i++) {
		PyObject *v = convert_npscalar(p.dtype, result[i].bits);

		if (!v || PyList_Append(list, v))
			Py_CLEAR(list);
		Py_XDECREF(v);
	}
	tuple = list ? PyList_AsTuple(list) : NULL;
	Py_XDECREF(list);
	return tuple;
}

void kernel_let_go(struct held *x)
{
	if (x->locked)
		host_unlock(&x->lock);
	if (x->loan.data)
		braze_end_loan(braze_session_of(x->h), &x->loan);
	if (x->hold)
		braze_unhold(x->hold);
	if (x->open)
		PyBuffer_Release(&x->buffer);
	braze_release(x->h);
}

/* Asks for code where a run is worth it, and looks for signals. */
static int check(void *kernel)
{
	PyGILState_STATE st = PyGILState_Ensure();
	braze_session *s = braze_kernel_compiled(kernel) ? NULL : wait_session();
	int stop = 0;

	if (s)
		braze_kernel_code(kernel, s, 0, NULL, NULL, NULL);
	else
		PyErr_Clear(); /* there is no daemon */
	stop = PyErr_CheckSignals();
	PyGILState_Release(st);
	return stop;
}

/* Code for what took long before; -1 with an exception if a wait for it was interrupted. */
static int ask_code(braze_kernel *k)
{
	int wants = braze_kernel_wants(k);
	braze_session *s = NULL;
	braze_error err = {0};

	if (!wants)
		return 0;
	s = wait_session();
	if (!s)
		PyErr_Clear();
	else
		err.code = braze_kernel_code(k, s, wants == 2, wait_check_signals, NULL, &err);
	return err.code == BRAZE_E_INTERRUPTED ? wait_raise(&err) : 0;
}

/* All arrays of ours are here, and stay where they are. */
static int bring(const braze_kernel *k, struct held *x, int n)
{
	braze_parameter p;
	int rc = 0;

	for (int i = 0; i < n && !rc; i++)
		if (x[i].h && braze_kernel_parameter(&p, k, i))
			rc = wait_array(&x[i], &p);
	for (int i = 0; i < n && !rc; i++)
		if (x[i].h && braze_kernel_parameter(&p, k, i))
			rc = keep_array(&x[i], &p);
	return rc;
}

/* 1: its loops are operations by now. */
static int send(braze_scalar *result, braze_kernel *k, const struct held *x, int n)
{
	braze_kernel_arg arg[KERNEL_ARGS];
	braze_error err = {0};
	int sent = 0;

	for (int i = 0; i < n; i++) {
		arg[i] = x[i].arg;
		arg[i].array = x[i].h;
	}
	err.code = braze_kernel_send(&sent, result, k, n, arg, &err);
	return err.code ? wait_raise(&err) : sent;
}

int kernel_run(braze_scalar *result, braze_kernel *k, struct held *x, int n)
{
	braze_kernel_arg arg[KERNEL_ARGS];
	braze_error err = {0};
	braze_parameter p;
	int ours = 0, sent;

	while (ours < n && !x[ours].h)
		ours++;
	sent = ours < n ? send(result, k, x, n) : 0;
	if (sent)
		return sent < 0 ? -1 : 0;
	if (ask_code(k))
		return -1;
	if (ours < n && bring(k, x, n))
		return -1;
	for (int i = 0; i < n; i++) {
		arg[i] = x[i].arg;
		if (!x[i].h || !braze_kernel_parameter(&p, k, i) || !p.written)
			continue;
		host_lock(&x[i].lock, x[i].h, x[i].arg.data);
		x[i].locked = true;
	}
	Py_BEGIN_ALLOW_THREADS;
	err.code = braze_kernel_call(result, k, n, arg, check, k, &err);
	Py_END_ALLOW_THREADS;
	return err.code ? wait_raise(&err) : 0;
}

/* kernel_call(kernel, args): the results as a tuple */
static PyObject *kernel_call(PyObject *mod, PyObject *args)
{
	PyObject *capsule = NULL, *given = NULL, *out = NULL;
	braze_scalar result[KERNEL_ARGS];
	braze_kernel *k = NULL;
	struct held *x = NULL;
	braze_parameter p;
	int n = 0, most;

	if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyTuple_Type, &given))
		return NULL;
	k = PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);
	most = (int)PyTuple_Size(given) < KERNEL_ARGS ? (int)PyTuple_Size(given) : KERNEL_ARGS;
	x = k ? PyMem_Calloc((size_t)most + 1, sizeof *x) : NULL;
	if (!x)
		return k ? PyErr_NoMemory() : NULL;
	while (n < most && braze_kernel_parameter(&p, k, n) &&
	       !take(&x[n], PyTuple_GetItem(given, n), &p))
		n++;
	if (n == PyTuple_Size(given) && !kernel_run(result, k, x, n))
		out = give(k, result, n);
	for (int i = 0; i < most; i++)
		kernel_let_go(&x[i]);
	PyMem_Free(x);
	return out;
}

/* kernel_compile(kernel): None, or why there is no code */
static PyObject *kernel_compile(PyObject *mod, PyObject *capsule)
{
	braze_kernel *k = PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);
	braze_session *s = k ? wait_session() : NULL;
	braze_error err = {0};

	if (!s)
		return NULL;
	err.code = braze_kernel_code(k, s, 1, wait_check_signals, NULL, &err);
	if (err.code == BRAZE_E_INTERRUPTED)
		return wait_raise(&err), NULL;
	return err.code ? PyUnicode_FromString(err.text) : Py_NewRef(Py_None);
}

/* kernel_compiled(kernel) */
static PyObject *kernel_compiled(PyObject *mod, PyObject *capsule)
{
	const braze_kernel *k = PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);

	return k ? PyBool_FromLong(braze_kernel_compiled(k)) : NULL;
}

/* kernel_explain(on): calls keep what they know of loops */
static PyObject *kernel_explain(PyObject *mod, PyObject *on)
{
	braze_kernel_explain(PyObject_IsTrue(on) > 0);
	return Py_NewRef(Py_None);
}

/* kernel_loops(kernel): what the last call has kept; None */
static PyObject *kernel_loops(PyObject *mod, PyObject *capsule)
{
	braze_kernel *k = PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);
	char *text = k ? braze_kernel_loops(k) : NULL;
	PyObject *out = text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);

	free(text);
	if (k)
		return out;
	Py_XDECREF(out);
	return NULL;
}

/* kernel_rows(kernel): how many rows of loops of its text may be one loop each */
static PyObject *kernel_rows(PyObject *mod, PyObject *capsule)
{
	braze_kernel *k = PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);

	return k ? PyLong_FromLong(braze_kernel_rows(k)) : NULL;
}

PyMethodDef kernel_methods[] = {
	{"kernel_explain", kernel_explain, METH_O, NULL},
	{"kernel_loops", kernel_loops, METH_O, NULL},
	{"kernel_rows", kernel_rows, METH_O, NULL},
	{"kernel_compile", kernel_compile, METH_O, NULL},
	{"kernel_compiled", kernel_compiled, METH_O, NULL},
	{"kernel_create", kernel_create, METH_O, NULL},
	{"kernel_describe", kernel_describe, METH_O, NULL},
	{"kernel_call", kernel_call, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
