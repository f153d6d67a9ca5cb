/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - the functions of braze._core.
 *
 * Thin: each takes positional arguments, calls one library function and wraps
 * the result.  Keywords and NumPy's signatures are the Python package's job. */
#include "native.h"

#include <string.h>

struct core core;

/* By address: out is set by the very call whose code is rc. */
static PyObject *wrap(int rc, braze_array **out, braze_error *err, PyObject *base)
{
	if (rc) {
		err->code = rc;
		wait_raise(err);
		return NULL;
	}
	return base ? type_view(*out, base) : type_new(*out, 0);
}

/* A view of which elements may share memory. */
static PyObject *marked(PyObject *r)
{
	braze_array *h = r ? nd(r)->h : NULL;

	if (h && layout_overlap(braze_ndim(h), braze_shape(h), braze_strides(h), braze_itemsize(h)))
		nd(r)->flags |= ND_OVERLAP;
	return r;
}

static int parse_dtype(PyObject *o)
{
	int d = convert_dtype(o);

	if (d < 0 && !PyErr_Occurred())
		PyErr_SetString(PyExc_TypeError, "braze has no such dtype");
	return d;
}

static braze_array *handle_of(PyObject *o)
{
	braze_array *h = NULL;

	if (selection_check(o) && selection_settle(o))
		return NULL;
	if (!nd_check(o)) {
		PyErr_SetString(PyExc_TypeError, "a braze array is expected");
		return NULL;
	}
	h = type_handle(o);
	if (h && core.locked && wait_check_locked(h))
		return NULL;
	return h;
}

/* apply(op, *operands) */
static PyObject *apply(PyObject *mod, PyObject *const *args, Py_ssize_t n)
{
	long op = n ? PyLong_AsLong(args[0]) : -1;

	if (op == -1 && PyErr_Occurred())
		return NULL;
	return number_apply((int)op, args + 1, n - 1);
}

/* op_find(name): (number, arity, kind) or None */
static PyObject *op_find(PyObject *mod, PyObject *args)
{
	const char *name = NULL;
	int op = -1;

	if (!PyArg_ParseTuple(args, "s", &name))
		return NULL;
	op = braze_op_find(name);
	if (op < 0)
		Py_RETURN_NONE;
	return Py_BuildValue("iiC", op, braze_op_arity(op), braze_op_kind(op));
}

/* reduce(op, a, mask, keepdims, dtype or None) */
static PyObject *reduce(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *dt = NULL, *r = NULL;
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};
	unsigned mask = 0;
	int op = -1, keep = 0, dtype = -1;

	if (!PyArg_ParseTuple(args, "iOIpO", &op, &a, &mask, &keep, &dt))
		return NULL;
	h = handle_of(a);
	if (!h || (dt != Py_None && (dtype = parse_dtype(dt)) < 0))
		return NULL;
	r = wrap(layout_reduce(&out, op, h, mask, keep, dtype, &err), &out, &err, NULL);
	if (r && !type_ndim(r))
		nd(r)->flags |= ND_SCALAR;
	return r;
}

static PyObject *cast(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *dt = NULL, *r = NULL;
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};
	int dtype = -1;

	if (!PyArg_ParseTuple(args, "OO", &a, &dt))
		return NULL;
	h = handle_of(a);
	if (!h || (dtype = parse_dtype(dt)) < 0)
		return NULL;
	r = wrap(layout_copy(&out, h, dtype, &err), &out, &err, NULL);
	if (r)
		nd(r)->flags = nd(a)->flags & ND_SCALAR;
	return r;
}

static PyObject *copy(PyObject *mod, PyObject *a)
{
	braze_array *h = handle_of(a), *out = NULL;
	braze_error err = {0};

	return h ? wrap(braze_copy(&out, h, &err), &out, &err, NULL) : NULL;
}

static int assign_overlapping(PyObject *dst, PyObject *value, bool same_kind)
{
	PyObject *shown = PyObject_CallFunctionObjArgs(core.np_array, value, NULL), *cast = NULL;
	int rc = -1;

	if (shown && same_kind)
		cast = PyObject_CallFunctionObjArgs(core.cast, shown, core.dtypes[type_dtype(dst)],
						    NULL);
	if (shown && (cast || !same_kind))
		rc = layout_write_overlapping(dst, cast ? cast : shown);
	Py_XDECREF(cast);
	Py_XDECREF(shown);
	return rc;
}

/* assign(dst, value, same_kind): dst[...] = value */
static PyObject *assign(PyObject *mod, PyObject *args)
{
	PyObject *dst = NULL, *value = NULL;
	braze_array *h = NULL;
	struct operand x = {0};
	braze_error err = {0};
	int same_kind = 0, rc = 0;

	if (!PyArg_ParseTuple(args, "OOp", &dst, &value, &same_kind))
		return NULL;
	h = handle_of(dst);
	if (!h || layout_check_write(dst, same_kind ? "output array" : "assignment destination"))
		return NULL;
	if (nd(dst)->flags & ND_OVERLAP)
		return assign_overlapping(dst, value, same_kind) ? NULL : Py_NewRef(Py_None);
	if (!same_kind)
		return index_assign(h, value) ? NULL : Py_NewRef(Py_None);
	rc = convert_operand(&x, value);
	if (rc == 0)
		rc = convert_cast(&x, value, braze_dtype_of(h));
	if (rc == 1) {
		err.code = braze_assign(h, x.arg, &err);
		operand_finish(&x);
		if (!err.code)
			return watch_reports() ? NULL : Py_NewRef(Py_None);
		wait_raise(&err);
	}
	return NULL;
}

static PyObject *empty(PyObject *mod, PyObject *args)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *seq = NULL, *dt = NULL;
	braze_array *out = NULL;
	braze_session *s = NULL;
	braze_error err = {0};
	int n = 0, dtype = -1;

	if (!PyArg_ParseTuple(args, "OO", &seq, &dt))
		return NULL;
	n = host_dims(seq, shape);
	if (n < 0 || (dtype = parse_dtype(dt)) < 0 || !(s = wait_session()))
		return NULL;
	return wrap(braze_empty(&out, s, dtype, n, shape, &err), &out, &err, NULL);
}

/* full(shape, dtype, value) */
static PyObject *full(PyObject *mod, PyObject *args)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *seq = NULL, *dt = NULL, *value = NULL;
	braze_array *out = NULL;
	braze_session *s = NULL;
	braze_scalar v;
	braze_error err = {0};
	int n = 0, dtype = -1, rc = 0;

	if (!PyArg_ParseTuple(args, "OOO", &seq, &dt, &value))
		return NULL;
	n = host_dims(seq, shape);
	if (n < 0 || (dtype = parse_dtype(dt)) < 0)
		return NULL;
	rc = convert_scalar_as(&v, value, dtype);
	if (rc == 0)
		PyErr_SetString(PyExc_TypeError, "a number is expected");
	if (rc != 1 || !(s = wait_session()))
		return NULL;
	return wrap(braze_full(&out, s, dtype, n, shape, v, &err), &out, &err, NULL);
}

/* arange(n, dtype, start, step); a float16's step may have a double's digits. */
static PyObject *arange(PyObject *mod, PyObject *args)
{
	PyObject *dt = NULL, *start = NULL, *step = NULL;
	braze_array *out = NULL;
	braze_session *s = NULL;
	braze_scalar a, b;
	braze_error err = {0};
	long long n = 0;
	int dtype = -1;

	if (!PyArg_ParseTuple(args, "LOOO", &n, &dt, &start, &step))
		return NULL;
	if ((dtype = parse_dtype(dt)) < 0 || convert_scalar_as(&a, start, dtype) != 1 ||
	    convert_scalar_as(&b, step, dtype == BRAZE_FLOAT16 ? BRAZE_FLOAT64 : dtype) != 1 ||
	    !(s = wait_session()))
		return NULL;
	return wrap(braze_arange(&out, s, dtype, n, a, b, &err), &out, &err, NULL);
}

/* from_any(o): new array with o's data; None when braze has no such type. */
static PyObject *from_any(PyObject *mod, PyObject *o)
{
	braze_array *out = NULL;
	int rc = convert_array(&out, o);

	if (rc == 0)
		Py_RETURN_NONE;
	return rc == 1 ? type_new(out, 0) : NULL;
}

/* adopt(n): zero-copy array on a NumPy array in the arena; None if it is not. */
static PyObject *adopt(PyObject *mod, PyObject *o)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	struct host_block *block = NULL;
	braze_array *out = NULL;
	braze_error err = {0};
	PyObject *dt = NULL;
	Py_buffer b;
	int dtype = -1;

	if (!core.blocks)
		Py_RETURN_NONE;
	dt = PyObject_GetAttrString(o, "dtype");
	if (!dt)
		return NULL;
	dtype = convert_dtype(dt);
	Py_DECREF(dt);
	if (dtype < 0 || PyObject_GetBuffer(o, &b, PyBUF_STRIDED_RO)) {
		PyErr_Clear();
		Py_RETURN_NONE;
	}
	block = b.ndim <= BRAZE_MAX_NDIM && b.len ? host_find(b.buf) : NULL;
	if (!block || block->locks) {
		PyBuffer_Release(&b);
		Py_RETURN_NONE;
	}
	for (int i = 0; i < b.ndim; i++) {
		shape[i] = b.shape[i];
		strides[i] = b.strides[i];
	}
	err.code = braze_view(&out, block->h, dtype, b.ndim, shape, strides,
			      (char *)b.buf - block->data + braze_offset(block->h), &err);
	PyBuffer_Release(&b);
	/* Memory of another type (shared_arrays gives complex) is copied. */
	if (err.code)
		Py_RETURN_NONE;
	return type_new(out, 0);
}

static PyObject *transpose(PyObject *mod, PyObject *args)
{
	int64_t dims[BRAZE_MAX_NDIM];
	int axes[BRAZE_MAX_NDIM], n = 0;
	PyObject *a = NULL, *seq = NULL;
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "OO", &a, &seq))
		return NULL;
	h = handle_of(a);
	n = h ? host_dims(seq, dims) : -1;
	if (n < 0)
		return NULL;
	for (int i = 0; i < n; i++)
		axes[i] = (int)dims[i];
	return wrap(braze_transpose(&out, h, axes, &err), &out, &err, a);
}

/* reshape(a, shape): a view where one exists, else a copy. */
static PyObject *reshape(PyObject *mod, PyObject *args)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *a = NULL, *seq = NULL;
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};
	int n = 0, rc = 0;

	if (!PyArg_ParseTuple(args, "OO", &a, &seq))
		return NULL;
	h = handle_of(a);
	n = h ? host_dims(seq, shape) : -1;
	if (n < 0)
		return NULL;
	rc = braze_reshape(&out, h, n, shape, &err);
	return !rc && braze_same_buffer(out, h) ? type_reshaped(out, a)
						: wrap(rc, &out, &err, NULL);
}

/* join(list of arrays, axis, dtype or None, along a new axis) */
static PyObject *join(PyObject *mod, PyObject *args)
{
	PyObject *list = NULL, *dtype = NULL;
	braze_array *out = NULL, **part = NULL;
	braze_error err = {0};
	int axis = 0, stacks = 0, type = -1, n = 0, rc = 0;

	if (!PyArg_ParseTuple(args, "O!iOp", &PyList_Type, &list, &axis, &dtype, &stacks))
		return NULL;
	type = dtype == Py_None ? -1 : parse_dtype(dtype);
	if (type < 0 && dtype != Py_None)
		return NULL;
	part = PyMem_Malloc(((size_t)PyList_Size(list) + 1) * sizeof *part);
	if (!part)
		return PyErr_NoMemory();
	for (; n < PyList_Size(list); n++)
		if (!(part[n] = handle_of(PyList_GetItem(list, n))))
			break;
	if (!PyErr_Occurred())
		rc = layout_join(&out, n, part, axis, type, stacks, &err);
	PyMem_Free(part);
	return PyErr_Occurred() ? NULL : wrap(rc, &out, &err, NULL);
}

static PyObject *broadcast_to(PyObject *mod, PyObject *args)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *a = NULL, *seq = NULL;
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};
	int n = 0;

	if (!PyArg_ParseTuple(args, "OO", &a, &seq))
		return NULL;
	h = handle_of(a);
	n = h ? host_dims(seq, shape) : -1;
	if (n < 0)
		return NULL;
	return marked(wrap(braze_broadcast_to(&out, h, n, shape, &err), &out, &err, a));
}

/* Strides that were given are told, of elements or none. */
static PyObject *counted(PyObject *r, int n, const int64_t *strides)
{
	bool any = false;

	for (int k = 0; k < n; k++)
		any |= strides[k] != 0;
	if (r && any && nd(r)->h && !braze_size(nd(r)->h))
		nd(r)->flags |= ND_COUNTED;
	return r;
}

/* view(a, dtype, shape, strides, delta): delta in bytes from a's first element. */
static PyObject *view(PyObject *mod, PyObject *args)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	PyObject *a = NULL, *dt = NULL, *sh = NULL, *st = NULL;
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};
	long long delta = 0;
	int n = 0, dtype = -1;

	if (!PyArg_ParseTuple(args, "OOOOL", &a, &dt, &sh, &st, &delta))
		return NULL;
	h = handle_of(a);
	if (!h || (dtype = parse_dtype(dt)) < 0)
		return NULL;
	n = host_dims(sh, shape);
	if (n < 0 || host_dims(st, strides) != n) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "shape and strides differ in length");
		return NULL;
	}
	return counted(marked(wrap(braze_view(&out, h, dtype, n, shape, strides,
					      braze_offset(h) + delta, &err),
				   &out, &err, a)),
		       n, strides);
}

static PyObject *value(PyObject *mod, PyObject *a)
{
	uint64_t bits[2];
	int dtype = -1;

	if (selection_check(a) && selection_settle(a))
		return NULL;
	if (!nd_check(a)) {
		PyErr_SetString(PyExc_TypeError, "a braze array is expected");
		return NULL;
	}
	return convert_value(a, &dtype, bits) ? NULL : convert_npscalar(dtype, bits);
}

/* scalar(x): a NumPy scalar as an array that behaves as that scalar. */
static PyObject *scalar(PyObject *mod, PyObject *o)
{
	struct operand x = {0};
	int rc = convert_operand(&x, o);

	if (rc < 0)
		return NULL;
	if (rc == 0 || x.arg.array) {
		operand_finish(&x);
		return Py_NewRef(o);
	}
	return type_immediate(x.arg.scalar.dtype, x.arg.scalar.bits);
}

static PyObject *is_stored(PyObject *mod, PyObject *a)
{
	if (!nd_check(a))
		return PyBool_FromLong(!selection_check(a));
	return PyBool_FromLong(!nd(a)->h || braze_is_stored(nd(a)->h));
}

static PyObject *explain(PyObject *mod, PyObject *a)
{
	if (selection_check(a) && selection_settle(a))
		return NULL;
	if (!nd_check(a)) {
		PyErr_Format(PyExc_TypeError, "explain() takes an array of braze, not %R", a);
		return NULL;
	}
	if (!nd(a)->h)
		return PyUnicode_FromString("a number of this process\n");
	return wait_explain(nd(a)->h);
}

static PyObject *same_buffer(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *b = NULL;

	if (!PyArg_ParseTuple(args, "OO", &a, &b))
		return NULL;
	return PyBool_FromLong(nd_check(a) && nd_check(b) && nd(a)->h && nd(b)->h &&
			       braze_same_buffer(nd(a)->h, nd(b)->h));
}

/* Those that cannot be read yet; NumPy's arrays and numbers are there.  -1: another object. */
static int pending(braze_array **h, PyObject *const *args, Py_ssize_t n)
{
	int count = 0;

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *x = args[i];

		if (selection_check(x) && selection_settle(x))
			return -1;
		x = brain_elements(x);
		if (nd_check(x)) {
			if (nd(x)->h && !braze_is_stored(nd(x)->h))
				h[count++] = nd(x)->h;
		} else if (!PyFloat_Check(x) && !PyLong_Check(x) && !PyComplex_Check(x) &&
			   PyObject_IsInstance(x, core.np_ndarray) != 1 &&
			   PyObject_IsInstance(x, core.np_generic) != 1) {
			if (!PyErr_Occurred())
				PyErr_SetString(PyExc_TypeError, "arrays are expected, one by one");
			return -1;
		}
	}
	return count;
}

/* wait(*arrays): compute all of them in one demand. */
static PyObject *wait_all(PyObject *mod, PyObject *const *args, Py_ssize_t n)
{
	braze_array *few[16], **h = n <= 16 ? few : PyMem_Malloc((size_t)n * sizeof *h);
	int count = 0;

	if (n == 1 && nd_check(args[0]) && nd(args[0])->h && braze_is_stored(nd(args[0])->h))
		Py_RETURN_NONE;
	count = h ? pending(h, args, n) : -1;
	if (!h)
		PyErr_NoMemory();
	if (count > 0 && wait_computed(h, count))
		count = -1;
	if (h != few)
		PyMem_Free(h);
	return count < 0 ? NULL : Py_NewRef(Py_None);
}

static int find_arrays(PyObject *found, PyObject *o)
{
	bool list = PyList_CheckExact(o);
	int rc = 0;

	if (nd_check(o))
		return PyList_Append(found, o);
	if (!list && !PyTuple_CheckExact(o))
		return 0;
	if (Py_EnterRecursiveCall(" while looking for arrays in a list"))
		return -1;
	for (Py_ssize_t k = 0; !rc && k < (list ? PyList_Size(o) : PyTuple_Size(o)); k++)
		rc = find_arrays(found, list ? PyList_GetItem(o, k) : PyTuple_GetItem(o, k));
	Py_LeaveRecursiveCall();
	return rc;
}

/* arrays_in(x): a list of the arrays in lists and tuples, and those inside them. */
static PyObject *arrays_in(PyObject *mod, PyObject *x)
{
	PyObject *found = PyList_New(0);

	if (found && find_arrays(found, x))
		Py_CLEAR(found);
	return found;
}

static PyObject *flush(PyObject *mod, PyObject *ignored)
{
	braze_error err = {0};

	if (core.session && !braze_session_error(core.session, NULL) &&
	    (err.code = braze_flush(core.session, &err))) {
		wait_raise(&err);
		return NULL;
	}
	Py_RETURN_NONE;
}

/* set_flags(flags): returns the old ones; also of the session to come. */
static PyObject *set_flags(PyObject *mod, PyObject *v)
{
	unsigned old = core.flags;
	long flags = PyLong_AsLong(v);

	if (flags == -1 && PyErr_Occurred())
		return NULL;
	core.flags = (unsigned)flags;
	braze_kernel_unfused((core.flags & BRAZE_UNFUSED) != 0);
	if (core.session)
		braze_set_flags(core.session, core.flags);
	return PyLong_FromUnsignedLong(old);
}

/* set_package(prefix): of the names of files that are not the program's */
static PyObject *set_package(PyObject *mod, PyObject *prefix)
{
	if (!PyUnicode_Check(prefix)) {
		PyErr_SetString(PyExc_TypeError, "the prefix of file names is a str");
		return NULL;
	}
	Py_XDECREF(core.package);
	core.package = Py_NewRef(prefix);
	Py_RETURN_NONE;
}

/* How a session is told, and what the sections of the program say of it; "": nothing. */
typedef int name_setter(braze_session *s, const char *name, braze_error *err);

static PyObject *set_name(char *kept, size_t size, name_setter *set, PyObject *v)
{
	PyObject *old = *kept ? PyUnicode_FromString(kept) : Py_NewRef(Py_None);
	PyObject *bytes = v == Py_None ? NULL : PyUnicode_AsASCIIString(v);
	const char *name = bytes ? PyBytes_AsString(bytes) : NULL;
	braze_session *s = PyErr_Occurred() ? NULL : wait_session();
	braze_error err = {0};
	int rc = 0;

	if (!old || !s)
		goto fail;
	rc = set(s, name, &err);
	if (rc) {
		err.code = rc;
		wait_raise(&err);
		goto fail;
	}
	PyOS_snprintf(kept, size, "%s", name ? name : "");
	Py_XDECREF(bytes);
	return old;
fail:
	Py_XDECREF(bytes);
	Py_XDECREF(old);
	return NULL;
}

/* set_device(name or None): returns the old one; connects. */
static PyObject *set_device(PyObject *mod, PyObject *v)
{
	return set_name(core.device, sizeof core.device, braze_set_device, v);
}

/* set_precision(name or None): the same. */
static PyObject *set_precision(PyObject *mod, PyObject *v)
{
	return set_name(core.precision, sizeof core.precision, braze_set_precision, v);
}

/* devices(): their names, the daemon's order. */
static PyObject *devices(PyObject *mod, PyObject *ignored)
{
	braze_session *s = wait_session();
	PyObject *list = s ? PyList_New(0) : NULL;

	for (int i = 0; list && braze_device_name(s, i); i++) {
		PyObject *name = PyUnicode_FromString(braze_device_name(s, i));

		if (!name || PyList_Append(list, name))
			Py_CLEAR(list);
		Py_XDECREF(name);
	}
	return list;
}

static PyObject *counters(PyObject *mod, PyObject *ignored)
{
	struct braze_counters c = {0};

	if (core.session)
		braze_get_counters(core.session, &c);
	return Py_BuildValue("{sK,sK,sK,sK,sK,sK,sK,sK,sK,sK,sK,sK}", "ops", c.ops, "packets",
			     c.packets, "demands", c.demands, "round_trips", c.round_trips,
			     "bytes_leased", c.bytes_leased, "near", c.near, "published",
			     c.published, "opened", c.opened, "copied", c.copied, "exported",
			     c.exported, "brought", c.brought, "carried", c.carried);
}

/* In a forked child: its copy of the session is dead, the next use connects. */
static PyObject *forked(PyObject *mod, PyObject *ignored)
{
	core.session = NULL;
	profile_forked();
	Py_RETURN_NONE;
}

static PyObject *close_session(PyObject *mod, PyObject *ignored)
{
	if (core.session)
		braze_disconnect(core.session);
	Py_RETURN_NONE;
}

static PyObject *connected(PyObject *mod, PyObject *ignored)
{
	return PyBool_FromLong(core.session && !braze_session_error(core.session, NULL));
}

/* setup(errors, fallback, getitem, setitem, cast, result): the package's half. */
static PyObject *setup(PyObject *mod, PyObject *args)
{
	Py_CLEAR(core.errors); /* wait_raise may have needed it before */
	if (!PyArg_ParseTuple(args, "OOOOOO", &core.errors, &core.fallback, &core.getitem,
			      &core.setitem, &core.cast, &core.result))
		return NULL;
	Py_INCREF(core.errors);
	Py_INCREF(core.fallback);
	Py_INCREF(core.getitem);
	Py_INCREF(core.setitem);
	Py_INCREF(core.cast);
	Py_INCREF(core.result);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"apply", (PyCFunction)(void (*)(void))apply, METH_FASTCALL, NULL},
	{"op_find", op_find, METH_VARARGS, NULL},
	{"reduce", reduce, METH_VARARGS, NULL},
	{"cast", cast, METH_VARARGS, NULL},
	{"copy", copy, METH_O, NULL},
	{"assign", assign, METH_VARARGS, NULL},
	{"empty", empty, METH_VARARGS, NULL},
	{"full", full, METH_VARARGS, NULL},
	{"arange", arange, METH_VARARGS, NULL},
	{"from_any", from_any, METH_O, NULL},
	{"adopt", adopt, METH_O, NULL},
	{"transpose", transpose, METH_VARARGS, NULL},
	{"reshape", reshape, METH_VARARGS, NULL},
	{"join", join, METH_VARARGS, NULL},
	{"broadcast_to", broadcast_to, METH_VARARGS, NULL},
	{"view", view, METH_VARARGS, NULL},
	{"value", value, METH_O, NULL},
	{"scalar", scalar, METH_O, NULL},
	{"is_stored", is_stored, METH_O, NULL},
	{"explain", explain, METH_O, NULL},
	{"same_buffer", same_buffer, METH_VARARGS, NULL},
	{"wait", (PyCFunction)(void (*)(void))wait_all, METH_FASTCALL,
	 "wait($module, /, *arrays)\n--\n\n"
	 "Compute the arrays, all in one request, and return when they are stored."},
	{"arrays_in", arrays_in, METH_O, NULL},
	{"flush", flush, METH_NOARGS, NULL},
	{"set_flags", set_flags, METH_O, NULL},
	{"set_device", set_device, METH_O, NULL},
	{"set_precision", set_precision, METH_O, NULL},
	{"set_package", set_package, METH_O, NULL},
	{"devices", devices, METH_NOARGS, NULL},
	{"counters", counters, METH_NOARGS, NULL},
	{"forked", forked, METH_NOARGS, NULL},
	{"close", close_session, METH_NOARGS, NULL},
	{"connected", connected, METH_NOARGS, NULL},
	{"setup", setup, METH_VARARGS, NULL},
	{"host_empty", host_empty, METH_VARARGS, NULL},
	{"host_open", host_open, METH_O, NULL},
	{"host_close", host_close, METH_O, NULL},
	{"host_install", host_install, METH_NOARGS, NULL},
	{"host_restore", host_restore, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "braze._core",
	.m_doc = "The C half of braze: the array type over libbraze.",
	.m_size = -1,
	.m_methods = methods,
};

static void find_ops(void)
{
	static const char *const name[N_OPS] = {
		"add",	      "subtract",    "multiply",      "divide",	     "floor_divide",
		"remainder",  "power",	     "left_shift",    "right_shift", "bitwise_and",
		"bitwise_or", "bitwise_xor", "less",	      "less_equal",  "equal",
		"not_equal",  "greater",     "greater_equal", "negative",    "positive",
		"absolute",   "invert",	     "square",	      "sqrt",	     "reciprocal",
		"matmul"};

	for (int k = 0; k < N_OPS; k++)
		core.op[k] = braze_op_find(name[k]);
}

/* The functions of each file. */
static int add_functions(PyObject *m)
{
	PyMethodDef *const table[] = {
		adapted_methods, gather_methods,  layout_methods, foreign_methods, scalar_methods,
		parts_methods,	 watch_methods,	  ufunc_methods,  kernel_methods,  about_methods,
		publish_methods, profile_methods, arrow_methods,  dlpack_methods,  fourier_methods,
		factors_methods, brain_methods,	  sparse_methods,
	};

	for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
		if (PyModule_AddFunctions(m, table[k]))
			return -1;
	return 0;
}

/* NumPy's as a number, 205 for 2.5; once it is known. */
static int add_versions(PyObject *m)
{
	return PyModule_AddStringConstant(m, "version", braze_version()) ||
	       PyModule_AddIntConstant(m, "numpy_version", core.numpy);
}

/* Of arrays, and of what stands for them. */
static int add_types(PyObject *m)
{
	return type_init(m) || selection_init(m) || flat_init(m);
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
	PyObject *m = PyModule_Create(&definition);

	if (!m)
		return NULL;
	find_ops();
	if (add_functions(m) || adapted_init() || convert_init() || add_types(m) || meta_init() ||
	    numpys_init(m) || native_init(m) || ufunc_init(m) || site_init(m) ||
	    fast_draw_init(m) || host_init(m) || add_versions(m)) {
		Py_DECREF(m);
		return NULL;
	}
	braze_prepare(); /* an import takes much longer, and who computes first is in a hurry */
	return m;
}
