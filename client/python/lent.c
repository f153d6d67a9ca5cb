/* SPDX-License-Identifier: Apache-2.0 */
/* lent.c - arrays of ours as NumPy sees them for one call, and its results as ours.
 *
 * Out: arrays of NumPy's on the very memory, read-only (but for functions that would copy such,
 * and are known to write nothing), which nobody has after the call; one
 * that something keeps (a result that is a view of it, a frame of an exception) becomes what
 * numpy.asarray gives, an export.  In: small results are copied, and of large ones the array
 * itself is kept, as the memory of ours.
 *
 * NumPy's table of functions is used by its layout, as its array is. */
#include "native.h"

#include <string.h>

#include "np_array.h"
#include "numpys.h"

/* Of the table of functions. */
#define NP_SCALAR	   60
#define NP_NEW_FROM_DESCR  94
#define NP_SET_BASE_OBJECT 282

#define GIVEN_BYTES 16384 /* results from here on are kept rather than copied */

typedef PyObject *np_new_fn(PyTypeObject *, PyObject *, int, const intptr_t *, const intptr_t *,
			    void *, int, PyObject *);
typedef PyObject *np_scalar_fn(void *, PyObject *, PyObject *);
typedef int np_base_fn(PyObject *, PyObject *);

static np_new_fn *np_new;
static np_scalar_fn *np_scalar;
static np_base_fn *np_set_base;
static PyTypeObject *dtype_type, *text_type;
static PyObject *fields_name;

int lent_init(void)
{
	void **table = host_numpy();
	PyObject *text = NULL;

	if (!table)
		return -1;
	np_new = (np_new_fn *)table[NP_NEW_FROM_DESCR];
	np_scalar = (np_scalar_fn *)table[NP_SCALAR];
	np_set_base = (np_base_fn *)table[NP_SET_BASE_OBJECT];
	dtype_type = (PyTypeObject *)PyObject_GetAttrString((PyObject *)Py_TYPE(core.dtypes[0]),
							    "__base__");
	fields_name = PyUnicode_InternFromString("_fields");
	text = PyObject_CallFunction((PyObject *)dtype_type, "s", "U");
	if (text)
		text_type = Py_TYPE(text); /* NumPy keeps it */
	Py_XDECREF(text);
	return text && fields_name ? 0 : -1;
}

/* ---- Out ---- */

/* Views that nobody has: NumPy takes longer to make one and to drop it than most of its functions
 * do for a few elements.  By their axes, whose extents and strides lie in one piece. */
#define SPARE_NDIM 3
#define SPARES	   4
static PyObject *spare[SPARE_NDIM + 1][SPARES];
static int n_spare[SPARE_NDIM + 1];

/* The strides of elements in C order: NumPy's answers show them for axes of one element, too. */
static void strides_in_order(intptr_t *strides, int ndim, const int64_t *shape, int64_t step)
{
	for (int k = ndim - 1; k >= 0; k--) {
		strides[k] = step;
		step *= shape[k] ? shape[k] : 1;
	}
}

/* NumPy's flags of what lies so: the orders it is contiguous in, and whether it is aligned. */
static int flags_of(const struct np_array *a, int64_t itemsize, int64_t alignment)
{
	int64_t c = itemsize, f = itemsize;
	uintptr_t bits = (uintptr_t)a->data;
	int flags = NP_C_CONTIGUOUS | NP_F_CONTIGUOUS;

	for (int k = 0, r = a->nd - 1; k < a->nd; k++, r--) {
		if (!a->dims[k])
			return NP_C_CONTIGUOUS | NP_F_CONTIGUOUS | NP_ALIGNED;
		if (a->dims[k] > 1 && a->strides[k] != f)
			flags &= ~NP_F_CONTIGUOUS;
		if (a->dims[r] > 1 && a->strides[r] != c)
			flags &= ~NP_C_CONTIGUOUS;
		if (a->dims[k] > 1)
			bits |= (uintptr_t)a->strides[k];
		f *= a->dims[k];
		c *= a->dims[r];
	}
	return bits & (uintptr_t)(alignment - 1) ? flags : flags | NP_ALIGNED;
}

/* A spare one with so many axes, which shows h from now on; NULL: there is none. */
static PyObject *take_spare(braze_array *h, const void *data, bool writable)
{
	int n = braze_ndim(h), d = braze_dtype_of(h), size = convert_itemsize(d);
	struct np_array *a = NULL;

	if (n > SPARE_NDIM || !n_spare[n])
		return NULL;
	a = np(spare[n][--n_spare[n]]);
	a->data = (char *)(uintptr_t)data;
	if (a->descr != core.dtypes[d]) {
		Py_DECREF(a->descr);
		a->descr = Py_NewRef(core.dtypes[d]);
	}
	if (n == 1 && braze_is_contiguous(h) && !((uintptr_t)data % 16)) { /* the usual case */
		a->dims[0] = (intptr_t)braze_shape(h)[0];
		a->strides[0] = size;
		a->flags = NP_C_CONTIGUOUS | NP_F_CONTIGUOUS | NP_ALIGNED |
			   (writable ? NP_WRITEABLE : 0);
		return (PyObject *)a;
	}
	for (int k = 0; k < n; k++) {
		a->dims[k] = (intptr_t)braze_shape(h)[k];
		a->strides[k] = (intptr_t)braze_strides(h)[k];
	}
	if (braze_is_contiguous(h))
		strides_in_order(a->strides, n, braze_shape(h), size);
	a->flags = flags_of(a, size, d < BRAZE_COMPLEX64 ? size : size / 2) |
		   (writable ? NP_WRITEABLE : 0);
	return (PyObject *)a;
}

/* Nobody has it but the caller, who lets go of it. */
static void drop_view(PyObject *view)
{
	const struct np_array *a = np(view);
	bool as_made = Py_REFCNT(view) == 1 && !a->base && !a->weak && !(a->flags & NP_OWNDATA);

	if (as_made && a->nd && a->nd <= SPARE_NDIM && n_spare[a->nd] < SPARES)
		spare[a->nd][n_spare[a->nd]++] = view;
	else
		Py_DECREF(view);
}

static PyObject *new_view(braze_array *h, const void *data, bool writable)
{
	int d = braze_dtype_of(h), flags = NP_ALIGNED | (writable ? NP_WRITEABLE : 0);
	bool whole = braze_is_contiguous(h) && !((uintptr_t)data % 16);
	const intptr_t *strides = whole ? NULL : (const intptr_t *)braze_strides(h);
	PyObject *again = take_spare(h, data, writable);

	if (again)
		return again;
	return np_new((PyTypeObject *)core.np_ndarray, Py_NewRef(core.dtypes[d]), braze_ndim(h),
		      (const intptr_t *)braze_shape(h), strides, (void *)(uintptr_t)data,
		      whole ? flags | NP_C_CONTIGUOUS : flags, NULL);
}

static PyObject *lend(struct lent *l, PyObject *o, bool writable)
{
	struct lent_one *one = &l->one[l->n];
	braze_array *h = nd(o)->h;

	/* What is written itself would look otherwise to NumPy, since this cannot be written. */
	if (l->n == LENT_MOST || (l->lock.locks && braze_same_buffer(l->lock.h, h)))
		return NULL;
	if (!braze_lend(&one->loan, h) && (!wait_data(h) || !braze_lend(&one->loan, h)))
		return NULL;
	one->view = new_view(h, one->loan.data, writable);
	one->of = o;
	one->session = braze_session_of(h);
	if (!one->view) {
		braze_end_loan(one->session, &one->loan);
		return NULL;
	}
	l->n++;
	return Py_NewRef(one->view);
}

/* NumPy's scalar of a value of ours that acts as one. */
static PyObject *number(PyObject *o)
{
	char bytes[16];
	uint64_t bits[2];
	int dtype = -1;

	if (convert_value(o, &dtype, bits))
		return NULL;
	convert_store(dtype, bits, bytes);
	return np_scalar(bytes, core.dtypes[dtype], NULL);
}

/* Nothing of ours in it, and nothing of the program's own to be called. */
static bool is_plain(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	return o == Py_None || PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) ||
	       PyUnicode_CheckExact(o) || PyComplex_CheckExact(o) ||
	       (PyObject *)type == core.np_ndarray || PySlice_Check(o) || PyType_Check(o) ||
	       o == Py_Ellipsis || PyType_IsSubtype(type, dtype_type) ||
	       PyType_IsSubtype(type, (PyTypeObject *)core.np_generic);
}

bool lent_numbers(PyObject *o)
{
	bool tuple = PyTuple_CheckExact(o);
	Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);

	for (Py_ssize_t k = 0; k < n; k++) {
		PyObject *x = tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k);

		if (!PyLong_CheckExact(x) && !PyFloat_CheckExact(x))
			return false;
	}
	return true;
}

/* Of one of the interpreter's own types, which hold no array by another name: a function, a range,
 * an iterator? */
static bool is_builtin(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	return !(PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) && !PyDict_Check(o) &&
	       !PyList_Check(o) && !PyTuple_Check(o) && !nd_check(o);
}

/* Is there nothing in it that NumPy would see otherwise? */
static bool is_plain_row(PyObject *o)
{
	bool tuple = PyTuple_CheckExact(o);
	Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);

	for (Py_ssize_t k = 0; k < n; k++)
		if (!is_plain(tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k)))
			return false;
	return true;
}

/* A list or tuple; another one where it holds something of ours. */
static PyObject *sequence(struct lent *l, PyObject *o, int depth)
{
	bool tuple = PyTuple_CheckExact(o), same = true;
	Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);
	PyObject *made = NULL;

	if (is_plain_row(o))
		return Py_NewRef(o);
	made = tuple ? PyTuple_New(n) : PyList_New(n);
	for (Py_ssize_t k = 0; made && k < n; k++) {
		PyObject *x = tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k);
		PyObject *y = lent_view(l, x, depth + 1);

		if (!y) {
			Py_DECREF(made);
			return NULL;
		}
		same &= x == y;
		if (tuple)
			PyTuple_SetItem(made, k, y);
		else
			PyList_SetItem(made, k, y);
	}
	if (!made || !same)
		return made;
	Py_DECREF(made);
	return Py_NewRef(o);
}

PyObject *lent_view(struct lent *l, PyObject *o, int depth)
{
	if (nd_check(o))
		return !nd(o)->h || nd(o)->flags & ND_SCALAR ? number(o) : lend(l, o, l->open);
	if (PyTuple_CheckExact(o) || PyList_CheckExact(o))
		return depth < LENT_DEPTH ? sequence(l, o, depth) : NULL;
	if (is_plain(o) || (l->any && is_builtin(o)))
		return Py_NewRef(o);
	return l->any ? Py_XNewRef(native_numpys(o)) : NULL;
}

PyObject *lent_writable(struct lent *l, PyObject *o)
{
	braze_array *h = nd_check(o) ? nd(o)->h : NULL;
	PyObject *view = NULL;

	if (!h || nd(o)->flags || l->lock.locks || !wait_fence(h))
		return NULL;
	view = lend(l, o, true);
	if (view)
		host_lock(&l->lock, h, np(view)->data);
	return view;
}

PyObject *lent_fresh(braze_array *h, void *data)
{
	return new_view(h, data, true);
}

void lent_written(PyObject *view, PyObject *of)
{
	if (Py_REFCNT(view) > 1 && of) { /* nobody keeps it, but who would may go on reading */
		np(view)->flags &= ~NP_WRITEABLE;
		np_set_base(view, Py_NewRef(of));
	}
	drop_view(view);
}

static void end_kept_loan(PyObject *capsule)
{
	struct lent_one *one = PyCapsule_GetPointer(capsule, NULL);

	braze_end_loan(one->session, &one->loan);
	Py_DECREF(one->of);
	PyMem_Free(one);
}

/* Is the export of what was lent this memory still?  Not if it was written meanwhile. */
static PyObject *export_of(const struct lent_one *one)
{
	PyObject *memory = PyMemoryView_FromObject(one->of);
	Py_buffer b;

	if (!memory || PyObject_GetBuffer(memory, &b, PyBUF_STRIDED_RO)) {
		Py_XDECREF(memory);
		return NULL;
	}
	if (b.buf != one->loan.data)
		Py_CLEAR(memory);
	PyBuffer_Release(&b);
	return memory;
}

/* Something has the view: it holds the memory from now on. */
static void keep(struct lent_one *one)
{
	PyObject *type = NULL, *value = NULL, *trace = NULL, *base = NULL;
	struct lent_one *own = NULL;

	PyErr_Fetch(&type, &value, &trace);
	np(one->view)->flags &= ~NP_WRITEABLE;
	base = export_of(one);
	if (!base) {
		own = PyMem_Malloc(sizeof *own);
		if (own)
			*own = *one;
		base = own ? PyCapsule_New(own, NULL, end_kept_loan) : NULL;
		if (base) {
			Py_INCREF(one->of);
			one->loan.hold = NULL;
		}
	}
	PyErr_Clear();
	if (base)
		np_set_base(one->view, base);
	PyErr_Restore(type, value, trace);
}

void lent_back(struct lent *l)
{
	if (l->lock.locks)
		host_unlock(&l->lock);
	for (int k = 0; k < l->n; k++)
		if (Py_REFCNT(l->one[k].view) > 1)
			keep(&l->one[k]);
}

void lent_end(struct lent *l)
{
	for (int k = 0; k < l->n; k++) {
		drop_view(l->one[k].view);
		braze_end_loan(l->one[k].session, &l->one[k].loan);
	}
}

/* ---- In ---- */

/* Of strings, which braze has not? */
static bool is_text(PyObject *descr)
{
	return Py_TYPE(descr) == text_type;
}

static int dtype_of(PyObject *descr)
{
	if (is_text(descr))
		return -1;
	if (descr == core.dtypes[BRAZE_FLOAT64])
		return BRAZE_FLOAT64;
	for (int d = 0; d < N_DTYPES; d++)
		if (descr == core.dtypes[d])
			return d;
	return convert_dtype(descr);
}

/* A scalar of NumPy's: its value follows the object's head. */
static PyObject *scalar_taken(PyObject *made)
{
	PyObject *type = (PyObject *)Py_TYPE(made);
	uint64_t bits[2];

	for (int d = 0; d < N_DTYPES; d++)
		if (type == core.types[d]) {
			convert_load(d, (const char *)made + sizeof(PyObject), bits);
			return type_immediate(d, bits);
		}
	return number_taken(made);
}

/* Does it own its elements, or is it a view of an array of NumPy's that does? */
static bool owns(PyObject *o)
{
	if (!(np(o)->flags & NP_WRITEABLE))
		return false;
	while (np(o)->base && (PyObject *)Py_TYPE(np(o)->base) == core.np_ndarray)
		o = np(o)->base;
	return !np(o)->base && np(o)->flags & NP_OWNDATA;
}

/* Has nobody else the memory of an array that owns? */
static bool is_sole(PyObject *o)
{
	while (o && Py_REFCNT(o) == 1)
		o = np(o)->base;
	return !o;
}

static int64_t bytes_of(const struct np_array *a, int dtype)
{
	int64_t n = convert_itemsize(dtype);

	for (int k = 0; k < a->nd; k++)
		n *= a->dims[k];
	return n;
}

static void drop_array(void *of)
{
	Py_DECREF((PyObject *)of);
}

/* A small array of the type that is plainly ours to copy; NULL: it is not, and nothing was done, or
 * with an exception set. */
static PyObject *small_taken(const struct np_array *a, int d)
{
	const int usual = NP_WRITEABLE | NP_OWNDATA | NP_C_CONTIGUOUS;
	braze_session *s = core.session;
	braze_array *h = NULL;
	int64_t bytes = 0;
	void *at = NULL;

	if ((a->flags & usual) != usual || a->base || d < 0 || a->nd > BRAZE_MAX_NDIM || !s ||
	    !braze_is_connected(s))
		return NULL;
	bytes = bytes_of(a, d);
	if (bytes >= GIVEN_BYTES ||
	    !braze_near_made(&h, &at, s, d, a->nd, (const int64_t *)a->dims))
		return NULL;
	memcpy(at, a->data, (size_t)bytes);
	return type_new(h, 0);
}

/* Without elements it tells NumPy's strides of one axis, which are none of a new array. */
static PyObject *with_strides(PyObject *o, const struct np_array *a)
{
	if (o && nd_check(o) && a->nd == 1 && !a->dims[0] && a->strides[0])
		nd(o)->flags |= ND_COUNTED;
	return o;
}

static PyObject *array_taken(PyObject *made)
{
	const struct np_array *a = np(made);
	int d = dtype_of(a->descr);
	PyObject *small = small_taken(a, d);
	braze_session *s = core.session;
	braze_array *h = NULL;
	braze_error err = {0};

	if (small || PyErr_Occurred())
		return with_strides(small, a);
	if (is_text(a->descr)) /* NumPy's array it stays */
		return Py_NewRef(made);
	if (d < 0 || a->nd > BRAZE_MAX_NDIM || !owns(made))
		return PyObject_CallFunctionObjArgs(core.result, made, NULL);
	if (!(a->flags & NP_C_CONTIGUOUS))
		return convert_array(&h, made) == 1 ? type_new(h, 0) : NULL;
	if ((!s || !braze_is_connected(s)) && !(s = wait_session()))
		return NULL;
	if (is_sole(made) && bytes_of(a, d) >= GIVEN_BYTES &&
	    braze_give(&h, s, d, a->nd, (const int64_t *)a->dims, a->data, drop_array, made)) {
		Py_INCREF(made);
		return type_new(h, 0);
	}
	err.code = braze_from_data(&h, s, d, a->nd, (const int64_t *)a->dims, NULL, a->data, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return with_strides(type_new(h, 0), a);
}

static PyObject *sequence_taken(PyObject *made)
{
	bool tuple = PyTuple_CheckExact(made);
	Py_ssize_t n = tuple ? PyTuple_Size(made) : PyList_Size(made);
	PyObject *out = tuple ? PyTuple_New(n) : PyList_New(n);

	for (Py_ssize_t k = 0; out && k < n; k++) {
		PyObject *x =
			lent_taken(tuple ? PyTuple_GetItem(made, k) : PyList_GetItem(made, k));

		if (!x)
			Py_CLEAR(out);
		else if (tuple)
			PyTuple_SetItem(out, k, x);
		else
			PyList_SetItem(out, k, x);
	}
	return out;
}

/* A tuple with names, as several of numpy.linalg's functions give it. */
static PyObject *named_taken(PyObject *made)
{
	PyObject *plain = PyTuple_GetSlice(made, 0, PyTuple_Size(made)), *taken = NULL, *out = NULL;

	if (plain)
		taken = sequence_taken(plain);
	if (taken)
		out = PyObject_Call((PyObject *)Py_TYPE(made), taken, NULL);
	Py_XDECREF(plain);
	Py_XDECREF(taken);
	return out;
}

PyObject *lent_taken(PyObject *made)
{
	PyTypeObject *type = Py_TYPE(made);

	if ((PyObject *)type == core.np_ndarray)
		return array_taken(made);
	if (type == &PyTuple_Type || type == &PyList_Type)
		return sequence_taken(made);
	if (made == Py_None || type == &PyFloat_Type || type == &PyLong_Type ||
	    type == &PyBool_Type || type == &PyUnicode_Type || type == &PyBytes_Type ||
	    PyType_IsSubtype(type, dtype_type))
		return Py_NewRef(made);
	if (PyType_IsSubtype(type, (PyTypeObject *)core.np_generic))
		return scalar_taken(made);
	if (PyTuple_Check(made) && PyObject_HasAttr(made, fields_name))
		return named_taken(made);
	return PyObject_CallFunctionObjArgs(core.result, made, NULL);
}
