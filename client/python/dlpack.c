/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.c - arrays on a device to and from other libraries: DLPack's capsules, and the memory that
 * __cuda_array_interface__ shows.  What is asked for, and how, braze/numpy/_device.py knows.
 *
 * Given: memory that the export's owner, a capsule or an object, lets go of.  Taken: what a capsule
 * says, as numbers, with an object that calls its deleter. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* As DLPack lays them down (dlpack.h, versions 0.8 and 1.0). */
typedef struct {
	int32_t device_type, device_id;
} DLDevice;
typedef struct {
	uint8_t code, bits;
	uint16_t lanes;
} DLDataType;
typedef struct {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape, *strides;
	uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
	DLTensor tensor;
	void *context;
	void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
	uint32_t major, minor;
	void *context;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	DLTensor tensor;
} DLManagedTensorVersioned;

#define DL_CUDA	     2
#define DL_READ_ONLY 1u
#define DL_COPIED    2u

#define OLD	  "dltensor"
#define VERSIONED "dltensor_versioned"

/* ---- Given ---- */

struct given {
	braze_exported *memory;
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	union {
		DLManagedTensor old;
		DLManagedTensorVersioned versioned;
	} managed;
};

/* By whichever thread lets go last. */
static void let_go(struct given *g)
{
	if (!Py_IsInitialized())
		return;
	PyGILState_STATE held = PyGILState_Ensure();

	braze_exported_release(g->memory);
	free(g);
	PyGILState_Release(held);
}

static void delete_old(DLManagedTensor *m)
{
	let_go(m->context);
}

static void delete_versioned(DLManagedTensorVersioned *m)
{
	let_go(m->context);
}

/* Nobody took what is in the capsule. */
static void end_capsule(PyObject *capsule)
{
	if (PyCapsule_IsValid(capsule, OLD))
		delete_old(PyCapsule_GetPointer(capsule, OLD));
	else if (PyCapsule_IsValid(capsule, VERSIONED))
		delete_versioned(PyCapsule_GetPointer(capsule, VERSIONED));
}

/* NULL with no exception: the array, whose handle is *out, lies on no device. */
static braze_exported *export_memory(braze_array **out, PyObject *a, int write)
{
	braze_array *h = *out = type_handle(a);
	braze_exported *x = NULL;
	braze_error err = {0};

	if (!h || (core.locked && wait_check_locked(h)))
		return NULL;
	braze_retain(h);
	err.code = braze_export(&x, h, write, wait_check_signals, NULL, &err);
	braze_release(h);
	if (err.code)
		wait_raise(&err);
	else if (watch_reports()) {
		braze_exported_release(x);
		return NULL;
	}
	return x;
}

static DLDataType type_of(int dtype, int itemsize)
{
	static const uint8_t code[] = {6, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 5, 5};

	return (DLDataType){code[dtype], (uint8_t)(8 * itemsize), 1};
}

static void fill_tensor(DLTensor *t, struct given *g, braze_array *h)
{
	int n = braze_ndim(h), itemsize = braze_itemsize(h);

	for (int i = 0; i < n; i++) {
		g->shape[i] = braze_shape(h)[i];
		g->strides[i] = braze_strides(h)[i] / itemsize;
	}
	*t = (DLTensor){.data = (void *)(uintptr_t)braze_exported_address(g->memory),
			.device = {DL_CUDA, braze_exported_device(g->memory)},
			.ndim = n,
			.dtype = type_of(braze_dtype_of(h), itemsize),
			.shape = g->shape,
			.strides = g->strides};
}

/* export_dlpack(array, versioned, write, flags) -> capsule, or None: it lies on no device */
static PyObject *export_dlpack(PyObject *mod, PyObject *args)
{
	int versioned = 0, write = 0;
	unsigned flags = 0;
	struct given *g = NULL;
	braze_exported *x = NULL;
	braze_array *h = NULL;
	PyObject *a = NULL, *capsule = NULL;

	if (!PyArg_ParseTuple(args, "OppI", &a, &versioned, &write, &flags))
		return NULL;
	x = export_memory(&h, a, write);
	if (!x)
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	g = calloc(1, sizeof *g);
	if (!g) {
		braze_exported_release(x);
		return PyErr_NoMemory();
	}
	g->memory = x;
	fill_tensor(versioned ? &g->managed.versioned.tensor : &g->managed.old.tensor, g, h);
	if (versioned) {
		g->managed.versioned.major = 1;
		g->managed.versioned.context = g;
		g->managed.versioned.deleter = delete_versioned;
		g->managed.versioned.flags = flags;
	} else {
		g->managed.old.context = g;
		g->managed.old.deleter = delete_old;
	}
	capsule = PyCapsule_New(&g->managed, versioned ? VERSIONED : OLD, end_capsule);
	if (!capsule)
		let_go(g);
	return capsule;
}

static void end_memory(PyObject *capsule)
{
	braze_exported_release(PyCapsule_GetPointer(capsule, "braze_exported"));
}

/* export_memory(array, write) -> (address, device, what keeps it), or None */
static PyObject *export_address(PyObject *mod, PyObject *args)
{
	int write = 0;
	braze_exported *x = NULL;
	braze_array *h = NULL;
	PyObject *a = NULL, *keeper = NULL;

	if (!PyArg_ParseTuple(args, "Op", &a, &write))
		return NULL;
	x = export_memory(&h, a, write);
	if (!x)
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	keeper = PyCapsule_New(x, "braze_exported", end_memory);
	if (!keeper) {
		braze_exported_release(x);
		return NULL;
	}
	return Py_BuildValue("(KiN)", (unsigned long long)braze_exported_address(x),
			     braze_exported_device(x), keeper);
}

/* device_of(array) -> (this process's number or -1, the daemon's name) */
static PyObject *device_of(PyObject *mod, PyObject *a)
{
	braze_array *h = type_handle(a);
	char name[16] = "";
	int device = -1;
	braze_error err = {0};

	if (!h || (core.locked && wait_check_locked(h)))
		return NULL;
	braze_retain(h);
	err.code = braze_device_of(&device, name, h, wait_check_signals, NULL, &err);
	braze_release(h);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	if (watch_reports())
		return NULL;
	return Py_BuildValue("(is)", device, name);
}

static PyObject *version_of(PyObject *mod, PyObject *a)
{
	braze_array *h = type_handle(a);

	return h ? PyLong_FromUnsignedLongLong(braze_version_of(h)) : NULL;
}

/* ---- Taken ---- */

static void end_old(PyObject *capsule)
{
	DLManagedTensor *m = PyCapsule_GetPointer(capsule, "used_" OLD);

	if (m && m->deleter)
		m->deleter(m);
}

static void end_versioned(PyObject *capsule)
{
	DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "used_" VERSIONED);

	if (m && m->deleter)
		m->deleter(m);
}

static PyObject *numbers(const int64_t *v, int n)
{
	PyObject *t = PyTuple_New(n);

	for (int i = 0; t && i < n; i++) {
		PyObject *one = PyLong_FromLongLong(v[i]);

		if (!one) {
			Py_DECREF(t);
			return NULL;
		}
		PyTuple_SetItem(t, i, one);
	}
	return t;
}

static PyObject *tell(const DLTensor *t, PyObject *keeper)
{
	PyObject *shape = numbers(t->shape, t->ndim);
	PyObject *strides = t->strides ? numbers(t->strides, t->ndim) : Py_NewRef(Py_None);

	if (!shape || !strides) {
		Py_XDECREF(shape);
		Py_XDECREF(strides);
		Py_DECREF(keeper);
		return NULL;
	}
	return Py_BuildValue("(iiKiiiNNN)", (int)t->device.device_type, (int)t->device.device_id,
			     (unsigned long long)((uintptr_t)t->data + t->byte_offset),
			     (int)t->dtype.code, (int)t->dtype.bits, (int)t->dtype.lanes, shape,
			     strides, keeper);
}

/* take_dlpack(capsule) -> (device type, device, address, code, bits, lanes, shape, strides in
 * elements or None, what keeps it); the capsule is used from then on */
static PyObject *take_dlpack(PyObject *mod, PyObject *capsule)
{
	bool versioned = PyCapsule_IsValid(capsule, VERSIONED);
	const DLTensor *t = NULL;
	PyObject *keeper = NULL;
	void *managed = NULL;

	if (!versioned && !PyCapsule_IsValid(capsule, OLD)) {
		PyErr_SetString(PyExc_TypeError,
				"this is no capsule of DLPack, or it was taken already");
		return NULL;
	}
	managed = PyCapsule_GetPointer(capsule, versioned ? VERSIONED : OLD);
	t = versioned ? &((DLManagedTensorVersioned *)managed)->tensor
		      : &((DLManagedTensor *)managed)->tensor;
	if (versioned && ((DLManagedTensorVersioned *)managed)->major > 1) {
		PyErr_SetString(PyExc_BufferError, "the capsule has a later version than 1");
		return NULL;
	}
	if (t->ndim < 0 || t->ndim > BRAZE_MAX_NDIM) {
		PyErr_Format(PyExc_BufferError, "%d axes; at most %d are possible", (int)t->ndim,
			     BRAZE_MAX_NDIM);
		return NULL;
	}
	keeper = PyCapsule_New(managed, versioned ? "used_" VERSIONED : "used_" OLD,
			       versioned ? end_versioned : end_old);
	if (!keeper)
		return NULL;
	if (PyCapsule_SetName(capsule, versioned ? "used_" VERSIONED : "used_" OLD) ||
	    PyCapsule_SetDestructor(capsule, NULL))
		PyErr_Clear();
	return tell(t, keeper);
}

static int read_numbers(int64_t *out, PyObject *t)
{
	Py_ssize_t n = PyTuple_Check(t) ? PyTuple_Size(t) : -1;

	if (n < 0 || n > BRAZE_MAX_NDIM) {
		PyErr_SetString(PyExc_ValueError, "no tuple of extents or strides");
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		out[i] = PyLong_AsLongLong(PyTuple_GetItem(t, i));
		if (out[i] == -1 && PyErr_Occurred())
			return -1;
	}
	return (int)n;
}

/* from_device(address, device, stream, dtype, shape, strides in bytes or None) -> array */
static PyObject *from_device(PyObject *mod, PyObject *args)
{
	unsigned long long address = 0, stream = 0;
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	PyObject *dtype = NULL, *s = NULL, *t = NULL;
	braze_foreign from = {0};
	braze_array *h = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "KiKOOO", &address, &from.device, &stream, &dtype, &s, &t))
		return NULL;
	from.dtype = convert_dtype(dtype);
	if (from.dtype < 0) {
		PyErr_SetString(PyExc_TypeError, "braze has no such element type");
		return NULL;
	}
	from.ndim = read_numbers(shape, s);
	if (from.ndim < 0)
		return NULL;
	if (t != Py_None && read_numbers(strides, t) != from.ndim) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "there is a stride for each axis");
		return NULL;
	}
	from.address = address;
	from.stream = stream;
	from.shape = shape;
	from.strides = t == Py_None ? NULL : strides;
	if (!wait_session())
		return NULL;
	err.code = braze_from_device(&h, core.session, &from, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return type_new(h, 0);
}

PyMethodDef dlpack_methods[] = {
	{"export_dlpack", export_dlpack, METH_VARARGS, NULL},
	{"export_memory", export_address, METH_VARARGS, NULL},
	{"device_of", device_of, METH_O, NULL},
	{"version_of", version_of, METH_O, NULL},
	{"take_dlpack", take_dlpack, METH_O, NULL},
	{"from_device", from_device, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
