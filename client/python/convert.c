/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - between Python's and NumPy's values and braze's.
 *
 * In: any Python object.  Out: an operand (array or number), a value in a given
 * type, or "not ours" so that the caller lets NumPy decide.  Python numbers are
 * weak operands, NumPy's scalars strong ones. */
#include "native.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../proto/float16.h"

static const char *const names[N_DTYPES] = {
	"bool",	  "int8",   "int16",   "int32",	  "int64",   "uint8",	  "uint16",
	"uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"};
static const char *const formats[N_DTYPES] = {"?", "b", "h", "i", "l", "B",  "H",
					      "I", "L", "e", "f", "d", "Zf", "Zd"};
static const uint8_t sizes[N_DTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

const char *convert_format(int dtype)
{
	return formats[dtype];
}

int convert_itemsize(int dtype)
{
	return sizes[dtype];
}

/* Where versions differ in types or errors, answers are those of the one that is there. */
static int numpy_version(PyObject *np)
{
	PyObject *text = PyObject_GetAttrString(np, "__version__");
	const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
	int major = 2, minor = 0;

	if (s)
		sscanf(s, "%d.%d", &major, &minor);
	Py_XDECREF(text);
	return 100 * major + minor;
}

int convert_init(void)
{
	PyObject *np = PyImport_ImportModule("numpy"), *ctor = NULL;

	if (!np)
		return -1;
	core.numpy = numpy_version(np);
	core.np_ndarray = PyObject_GetAttrString(np, "ndarray");
	core.np_generic = PyObject_GetAttrString(np, "generic");
	core.np_ufunc = PyObject_GetAttrString(np, "ufunc");
	core.np_array = PyObject_GetAttrString(np, "array");
	core.np_empty = PyObject_GetAttrString(np, "empty");
	if (foreign_init(np))
		goto out;
	ctor = PyObject_GetAttrString(np, "dtype");
	for (int d = 0; ctor && d < N_DTYPES; d++) {
		core.dtypes[d] = PyObject_CallFunction(ctor, "s", names[d]);
		if (!core.dtypes[d])
			break;
		core.types[d] = PyObject_GetAttrString(core.dtypes[d], "type");
	}
	fast_make_init(np);
out:
	Py_XDECREF(ctor);
	Py_DECREF(np);
	return PyErr_Occurred() ? -1 : 0;
}

int convert_dtype(PyObject *o)
{
	int eq = 0;

	for (int d = 0; d < N_DTYPES; d++)
		if (o == core.dtypes[d] || o == core.types[d])
			return d;
	if (o == (PyObject *)&PyFloat_Type)
		return BRAZE_FLOAT64;
	if (Py_TYPE(o) != Py_TYPE(core.dtypes[0]) && !PyObject_HasAttrString(o, "isnative"))
		return -1;
	for (int d = 0; d < N_DTYPES; d++) {
		eq = PyObject_RichCompareBool(o, core.dtypes[d], Py_EQ);
		if (eq < 0)
			PyErr_Clear();
		else if (eq)
			return d;
	}
	return -1;
}

/* Integers widen to 64 bits, so that one reader serves every width. */
void convert_load(int dtype, const void *src, uint64_t bits[2])
{
	union {
		int8_t i1;
		int16_t i2;
		int32_t i4;
		uint16_t u2;
		uint32_t u4[2];
		uint64_t u8[2];
		uint8_t u1;
	} v;

	bits[1] = 0;
	switch (dtype) {
	case BRAZE_BOOL:
	case BRAZE_UINT8:
		memcpy(&v, src, 1);
		bits[0] = v.u1;
		break;
	case BRAZE_INT8:
		memcpy(&v, src, 1);
		bits[0] = (uint64_t)(int64_t)v.i1;
		break;
	case BRAZE_INT16:
		memcpy(&v, src, 2);
		bits[0] = (uint64_t)(int64_t)v.i2;
		break;
	case BRAZE_UINT16:
	case BRAZE_FLOAT16:
		memcpy(&v, src, 2);
		bits[0] = v.u2;
		break;
	case BRAZE_INT32:
		memcpy(&v, src, 4);
		bits[0] = (uint64_t)(int64_t)v.i4;
		break;
	case BRAZE_UINT32:
	case BRAZE_FLOAT32:
		memcpy(&v, src, 4);
		bits[0] = v.u4[0];
		break;
	case BRAZE_COMPLEX64:
		memcpy(&v, src, 8);
		bits[0] = v.u4[0];
		bits[1] = v.u4[1];
		break;
	case BRAZE_COMPLEX128:
		memcpy(bits, src, 16);
		break;
	default:
		memcpy(bits, src, 8);
	}
}

/* By cases, since a copy of any length costs more than all else here. */
void convert_store(int dtype, const uint64_t bits[2], void *dst)
{
	if (dtype == BRAZE_COMPLEX64) {
		memcpy(dst, &bits[0], 4);
		memcpy((char *)dst + 4, &bits[1], 4);
	} else if (sizes[dtype] == 8) {
		memcpy(dst, bits, 8);
	} else if (sizes[dtype] == 4) {
		memcpy(dst, bits, 4);
	} else {
		memcpy(dst, bits, sizes[dtype]);
	}
}

static double as_double(int dtype, uint64_t bits)
{
	double d = 0;
	float f = 0;

	if (dtype == BRAZE_FLOAT16)
		return float16_value((uint16_t)bits);
	if (dtype == BRAZE_FLOAT32 || dtype == BRAZE_COMPLEX64) {
		memcpy(&f, &bits, sizeof f);
		return f;
	}
	memcpy(&d, &bits, sizeof d);
	return d;
}

PyObject *convert_number(int dtype, const uint64_t bits[2])
{
	switch (dtype) {
	case BRAZE_BOOL:
		return PyBool_FromLong(bits[0] != 0);
	case BRAZE_INT8:
	case BRAZE_INT16:
	case BRAZE_INT32:
	case BRAZE_INT64:
		return PyLong_FromLongLong((int64_t)bits[0]);
	case BRAZE_UINT8:
	case BRAZE_UINT16:
	case BRAZE_UINT32:
	case BRAZE_UINT64:
		return PyLong_FromUnsignedLongLong(bits[0]);
	case BRAZE_COMPLEX64:
	case BRAZE_COMPLEX128:
		return PyComplex_FromDoubles(as_double(dtype, bits[0]), as_double(dtype, bits[1]));
	default:
		return PyFloat_FromDouble(as_double(dtype, bits[0]));
	}
}

PyObject *convert_npscalar(int dtype, const uint64_t bits[2])
{
	PyObject *v = convert_number(dtype, bits), *r = NULL;

	if (v)
		r = PyObject_CallFunctionObjArgs(core.types[dtype], v, NULL);
	Py_XDECREF(v);
	return r;
}

/* Bits of a 0-d object with the buffer protocol (NumPy scalars and arrays). */
static int load_buffer(PyObject *o, int dtype, uint64_t bits[2])
{
	Py_buffer b;

	if (PyObject_GetBuffer(o, &b, PyBUF_STRIDED_RO))
		return -1;
	if (b.len == sizes[dtype])
		convert_load(dtype, b.buf, bits);
	else
		PyErr_SetString(PyExc_SystemError, "a scalar of unexpected size");
	PyBuffer_Release(&b);
	return PyErr_Occurred() ? -1 : 0;
}

int convert_given_type(PyObject *o)
{
	PyObject *type = (PyObject *)Py_TYPE(o);

	for (int d = 0; d < N_DTYPES; d++)
		if (type == core.types[d])
			return d;
	return -1;
}

PyObject *convert_given(PyObject *o)
{
	int dtype = convert_given_type(o);
	uint64_t bits[2] = {0, 0};

	if (dtype < 0)
		return Py_NewRef(o);
	return load_buffer(o, dtype, bits) ? NULL : type_immediate(dtype, bits);
}

int convert_dtype_of(PyObject *o)
{
	PyObject *dt = PyObject_GetAttrString(o, "dtype");
	int d = -1;

	if (!dt) {
		PyErr_Clear();
		return -1;
	}
	d = convert_dtype(dt);
	Py_DECREF(dt);
	return d;
}

static int python_number(braze_scalar *out, PyObject *o)
{
	long long v = 0;
	int overflow = 0;

	if (PyFloat_CheckExact(o)) {
		*out = braze_double(PyFloat_AsDouble(o));
	} else if (PyBool_Check(o)) {
		*out = braze_boolean(o == Py_True);
	} else if (PyLong_CheckExact(o)) {
		v = PyLong_AsLongLongAndOverflow(o, &overflow);
		if (overflow)
			return 0; /* NumPy knows: uint64, a float, or OverflowError */
		*out = braze_int(v);
	} else if (PyComplex_CheckExact(o)) {
		*out = braze_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
	} else {
		return 0;
	}
	return 1;
}

/* An array of b's elements, whose axes lie in memory as b's do. */
static int from_buffer(braze_array **out, braze_session *s, int dtype, const Py_buffer *b,
		       braze_error *err)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	int axes[BRAZE_MAX_NDIM];
	bool permuted = b->ndim > 1 && !PyBuffer_IsContiguous(b, 'C') &&
			layout_of(axes, b->ndim, (const int64_t *)b->strides);

	for (int i = 0; i < b->ndim; i++) {
		int k = permuted ? axes[i] : i;

		shape[i] = b->shape[k];
		strides[i] = b->strides[k];
	}
	err->code = braze_from_data(out, s, dtype, b->ndim, shape, strides, b->buf, err);
	if (!err->code && permuted)
		*out = layout_permuted(*out, axes, b->ndim, err);
	return err->code;
}

static int from_numpy(braze_array **out, PyObject *o)
{
	int dtype = convert_dtype_of(o);
	braze_session *s = NULL;
	braze_error err = {0};
	Py_buffer b;

	if (dtype < 0)
		return 0;
	if (PyObject_GetBuffer(o, &b, PyBUF_STRIDED_RO)) {
		PyErr_Clear();
		return 0;
	}
	if (b.ndim > BRAZE_MAX_NDIM) {
		PyBuffer_Release(&b);
		return 0;
	}
	s = wait_session();
	if (s)
		from_buffer(out, s, dtype, &b, &err);
	PyBuffer_Release(&b);
	if (!s)
		return -1;
	return err.code ? wait_raise(&err) : 1;
}

static int from_list(braze_array **out, PyObject *list)
{
	PyObject *a = NULL;
	int rc = lists_array(out, list, -1) || lists_stack(out, list);

	if (rc || PyErr_Occurred())
		return rc ? rc : -1;
	a = PyObject_CallFunctionObjArgs(core.np_array, list, NULL);
	rc = a ? from_numpy(out, a) : -1;
	Py_XDECREF(a);
	return rc;
}

int convert_operand(struct operand *out, PyObject *o)
{
	int dtype = -1, rc = 0;

	out->own = NULL;
	out->arg.array = NULL;
	if (selection_check(o) && selection_settle(o))
		return -1;
	if (nd_check(o)) {
		out->arg.array = nd(o)->h;
		if (!out->arg.array)
			out->arg.scalar = nd(o)->now;
		return 1;
	}
	if (python_number(&out->arg.scalar, o))
		return 1;
	if (foreign_plain(o)) {
		rc = from_numpy(&out->own, o);
	} else if (PyObject_IsInstance(o, core.np_generic) == 1) {
		dtype = convert_dtype_of(o);
		if (dtype < 0)
			return 0;
		out->arg.scalar = (braze_scalar){.dtype = dtype};
		return load_buffer(o, dtype, out->arg.scalar.bits) ? -1 : 1;
	} else if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
		rc = from_list(&out->own, o);
	}
	out->arg.array = out->own;
	return rc;
}

void operand_finish(struct operand *x)
{
	if (x->own)
		braze_release(x->own);
	x->own = NULL;
}

int convert_array(braze_array **out, PyObject *o)
{
	struct operand x = {0};
	braze_session *s = NULL;
	braze_error err = {0};
	int rc = convert_operand(&x, o);

	if (rc <= 0)
		return rc;
	if (x.arg.array) {
		if (!x.own)
			braze_retain(x.arg.array);
		*out = x.arg.array;
		return 1;
	}
	s = wait_session();
	if (!s)
		return -1;
	err.code = braze_full(out, s, x.arg.scalar.dtype, 0, NULL, x.arg.scalar, &err);
	return err.code ? wait_raise(&err) : 1;
}

/* A Python float as a float of any size; 0 where NumPy may have an overflow or underflow of
 * the cast to tell, and does it. */
static int float_fast(braze_scalar *out, double d, int dtype)
{
	float f = (float)d;
	bool in_range = !isfinite(d) || d == 0;

	if (dtype == BRAZE_FLOAT64) {
		memcpy(out->bits, &d, sizeof d);
	} else if (dtype == BRAZE_FLOAT32) {
		memcpy(out->bits, &f, sizeof f);
		return in_range || (isfinite(f) && fabsf(f) >= FLT_MIN);
	} else {
		out->bits[0] = float16_bits(d);
		return in_range || (fabs(d) < 65504.0 && fabs(d) >= 0x1p-14);
	}
	return 1;
}

/* Both parts of a complex element; 0 where NumPy may have something to tell. */
static int complex_fast(braze_scalar *out, double re, double im, int dtype)
{
	int part = dtype == BRAZE_COMPLEX64 ? BRAZE_FLOAT32 : BRAZE_FLOAT64;
	braze_scalar x = {0}, y = {0};

	if (!float_fast(&x, re, part) || !float_fast(&y, im, part))
		return 0;
	out->bits[0] = x.bits[0];
	out->bits[1] = y.bits[0];
	return 1;
}

/* An integer as an element of any type; 0 where it does not fit. */
static int int_fast(braze_scalar *out, int64_t v, int dtype)
{
	int bits = 8 << (dtype - BRAZE_INT8) % 4;

	if (dtype >= BRAZE_COMPLEX64)
		return complex_fast(out, (double)v, 0, dtype);
	if (dtype >= BRAZE_FLOAT16) /* correctly rounded, as Python's float(v) */
		return float_fast(out, (double)v, dtype);
	if (dtype == BRAZE_BOOL) {
		out->bits[0] = v != 0;
		return 1;
	}
	out->bits[0] = (uint64_t)v;
	if (dtype >= BRAZE_UINT8)
		return v >= 0 && (bits == 64 || v >> bits == 0);
	return bits == 64 || (v >> (bits - 1) == 0 || v >> (bits - 1) == -1);
}

/* The common cases, without NumPy: 1 converted, 0 none of them. */
static int scalar_fast(braze_scalar *out, PyObject *o, int dtype)
{
	int overflow = 0;
	int64_t v = 0;

	if (nd_check(o) && !nd(o)->h && nd(o)->now.dtype == dtype) {
		*out = nd(o)->now;
		return 1;
	}
	if (PyFloat_Check(o) && dtype >= BRAZE_FLOAT16)
		return dtype <= BRAZE_FLOAT64 ? float_fast(out, PyFloat_AsDouble(o), dtype)
					      : complex_fast(out, PyFloat_AsDouble(o), 0, dtype);
	if (PyComplex_CheckExact(o) && dtype >= BRAZE_COMPLEX64)
		return complex_fast(out, PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o),
				    dtype);
	if (!PyLong_CheckExact(o) && !PyBool_Check(o))
		return 0;
	v = PyLong_AsLongLongAndOverflow(o, &overflow);
	return !overflow && int_fast(out, v, dtype);
}

bool convert_plain(braze_scalar *out, PyObject *o, int dtype)
{
	double d = 0;

	if (dtype == BRAZE_FLOAT64 && PyFloat_CheckExact(o)) {
		d = PyFloat_AsDouble(o);
		memcpy(out->bits, &d, sizeof d);
		return true;
	}
	return scalar_fast(out, o, dtype);
}

int convert_cast(struct operand *out, PyObject *o, int dtype)
{
	PyObject *a = PyObject_CallFunctionObjArgs(core.cast, o, core.dtypes[dtype], NULL);
	int rc = -1;

	*out = (struct operand){0};
	if (a)
		rc = from_numpy(&out->own, a);
	Py_XDECREF(a);
	out->arg.array = out->own;
	if (rc == 0) { /* more axes than braze has */
		PyErr_SetString(PyExc_ValueError, "non-broadcastable output operand: its shape is "
						  "not the broadcast shape of the operands");
		rc = -1;
	}
	return rc;
}

int convert_element(braze_scalar *out, PyObject *o, int dtype)
{
	PyObject *zero = PyLong_FromLong(0), *one = PyLong_FromLong(1), *cell = NULL;
	int rc = -1;

	if (zero && one)
		cell = PyObject_CallFunctionObjArgs(core.np_empty, one, core.dtypes[dtype], NULL);
	if (cell && !PyObject_SetItem(cell, zero, o) && !load_buffer(cell, dtype, out->bits))
		rc = 1;
	Py_XDECREF(zero);
	Py_XDECREF(one);
	Py_XDECREF(cell);
	return rc;
}

/* Can a number of type `from` be out of bounds for the integer type `to`? */
static bool may_overflow(int from, int to)
{
	bool unsigned_from = from >= BRAZE_UINT8, unsigned_to = to >= BRAZE_UINT8;
	int wide_from = (from - BRAZE_INT8) % 4, wide_to = (to - BRAZE_INT8) % 4;

	if (to < BRAZE_INT8 || to > BRAZE_UINT64 || from == BRAZE_BOOL)
		return false;
	if (from > BRAZE_UINT64)
		return true;
	if (unsigned_from == unsigned_to)
		return wide_from > wide_to;
	return unsigned_to || wide_from >= wide_to;
}

int convert_scalar_as(braze_scalar *out, PyObject *o, int dtype)
{
	int from = -1, rc = -1;
	uint64_t bits[2];

	*out = (braze_scalar){.dtype = dtype};
	if (scalar_fast(out, o, dtype))
		return 1;
	if (selection_check(o) && selection_settle(o))
		return -1;
	if (!PyNumber_Check(o) || PyObject_IsInstance(o, core.np_ndarray) == 1)
		return 0;
	if (nd_check(o)) {
		/* Lazy ones stay so, but for scalars that NumPy refuses where they do not
		 * fit: the value decides. */
		if (nd(o)->h &&
		    !(nd(o)->flags & ND_SCALAR && may_overflow(braze_dtype_of(nd(o)->h), dtype)))
			return 0;
		if (convert_value(o, &from, bits))
			return -1;
		o = convert_npscalar(from, bits);
		if (!o)
			return -1;
	} else {
		if (PyObject_Length(o) >= 0)
			return 0;
		PyErr_Clear();
		Py_INCREF(o);
	}
	rc = convert_element(out, o, dtype);
	Py_DECREF(o);
	return rc;
}

int convert_value(PyObject *self, int *dtype, uint64_t bits[2])
{
	struct ndarray *a = nd(self);
	braze_array *h = NULL;
	const void *data = NULL;

	if (!a->h) {
		*dtype = a->now.dtype;
		memcpy(bits, a->now.bits, sizeof a->now.bits);
		return 0;
	}
	if (braze_size(a->h) != 1) {
		PyErr_SetString(PyExc_TypeError,
				"only length-1 arrays can be converted to Python scalars");
		return -1;
	}
	/* Another thread may give a scalar's handle back while we wait. */
	h = a->h;
	braze_retain(h);
	data = wait_data(h);
	if (data) {
		*dtype = braze_dtype_of(h);
		convert_load(*dtype, data, bits);
		if (a->h == h && a->flags & ND_SCALAR && !a->base) {
			/* A scalar never changes: keep the value instead of the handle. */
			a->now = (braze_scalar){.dtype = *dtype, .bits = {bits[0], bits[1]}};
			a->h = NULL;
			braze_release(h);
		}
	}
	braze_release(h);
	return data ? 0 : -1;
}

/* What an export keeps alive: the version it shows, or the memory that may be written
 * through it, and its shape. */
struct export
{
	braze_array *snap;
	PyObject *open;	  /* host memory, or NULL */
	uint64_t cell[2]; /* of a value without an array: there is no snap */
	Py_ssize_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
};

static int check_order(braze_array *h, int flags)
{
	bool c = layout_orders(h) & LAYOUT_C, f = layout_orders(h) & LAYOUT_F;

	if (((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c) ||
	    ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f) ||
	    ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f) ||
	    ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c)) {
		PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
		return -1;
	}
	return 0;
}

static void free_export(struct export *e)
{
	if (e->snap)
		braze_release(e->snap);
	Py_XDECREF(e->open);
	PyMem_Free(e);
}

/* For who writes: the array's own memory, open until the buffer is released. */
static int open_export(struct export *e, PyObject *self, int flags, const void **data)
{
	if (nd(self)->flags & ND_SCALAR || layout_check_write(self, "buffer source array")) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_BufferError, "a scalar result may not be written");
		return -1;
	}
	if (check_order(nd(self)->h, flags))
		return -1;
	e->open = host_open(NULL, self);
	if (!e->open)
		return -1;
	*data = host_data(e->open);
	e->snap = nd(self)->h;
	braze_retain(e->snap);
	return 0;
}

static void fill_view(Py_buffer *view, struct export *e, PyObject *self, const void *data,
		      int flags)
{
	int n = braze_ndim(e->snap);

	for (int i = 0; i < n; i++) {
		e->shape[i] = braze_shape(e->snap)[i];
		e->strides[i] = braze_strides(e->snap)[i];
	}
	view->buf = (void *)data;
	view->obj = Py_NewRef(self);
	view->itemsize = braze_itemsize(e->snap);
	view->len = braze_size(e->snap) * view->itemsize;
	view->readonly = !e->open;
	view->ndim = n;
	view->format = flags & PyBUF_FORMAT ? (char *)formats[braze_dtype_of(e->snap)] : NULL;
	view->shape = flags & PyBUF_ND ? e->shape : NULL;
	view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL;
	view->suboffsets = NULL;
	view->internal = e;
}

/* Of a value without an array, to be read. */
static int export_value(PyObject *self, Py_buffer *view, int flags)
{
	int dtype = nd(self)->now.dtype;
	struct export *e = PyMem_Calloc(1, sizeof *e);

	if (!e) {
		PyErr_NoMemory();
		return -1;
	}
	convert_store(dtype, nd(self)->now.bits, e->cell);
	*view = (Py_buffer){.buf = e->cell,
			    .obj = Py_NewRef(self),
			    .len = convert_itemsize(dtype),
			    .itemsize = convert_itemsize(dtype),
			    .readonly = 1,
			    .format = flags & PyBUF_FORMAT ? (char *)formats[dtype] : NULL,
			    .shape = flags & PyBUF_ND ? e->shape : NULL,
			    .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL,
			    .internal = e};
	return 0;
}

int convert_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct export *e = NULL;
	braze_array *h = nd(self)->h;
	braze_error err = {0};
	const void *data = NULL;

	view->obj = NULL;
	if (!h && !(flags & PyBUF_WRITABLE))
		return export_value(self, view, flags);
	h = type_handle(self);
	if (!h)
		return -1;
	e = PyMem_Calloc(1, sizeof *e);
	if (!e) {
		PyErr_NoMemory();
		return -1;
	}
	if (flags & PyBUF_WRITABLE) {
		if (open_export(e, self, flags, &data))
			goto fail;
		fill_view(view, e, self, data, flags);
		return 0;
	}
	/* The array itself is asked for first: its next readers then know where it lies. */
	if ((core.locked && wait_check_locked(h)) || !wait_export(h))
		goto fail;
	err.code = braze_snapshot(&e->snap, h, &err);
	if (err.code) {
		wait_raise(&err);
		goto fail;
	}
	if (check_order(e->snap, flags))
		goto fail;
	data = wait_export(e->snap);
	if (!data)
		goto fail;
	fill_view(view, e, self, data, flags);
	return 0;
fail:
	free_export(e);
	return -1;
}

void convert_releasebuffer(PyObject *self, Py_buffer *view)
{
	if (view->internal)
		free_export(view->internal);
}
