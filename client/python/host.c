/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - arena memory that NumPy writes.
 *
 * braze.empty: an array that lives in the arena from birth.  braze.host: a
 * writable window on an array, for one with block.  braze.shared_arrays: NumPy's
 * own allocations go to the arena (NEP 49).  Every such range is in core.blocks. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Index of PyDataMem_SetHandler in NumPy's C API table; append-only there. */
#define NUMPY_SET_HANDLER 304

/* The exporter of a host block's memory through the buffer protocol. */
struct host {
	PyObject_HEAD struct host_block *block;
	Py_ssize_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
};

static struct host_block *block_add(braze_array *h, void *data, size_t bytes)
{
	struct host_block *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	*b = (struct host_block){.next = core.blocks, .h = h, .data = data, .bytes = bytes};
	b->hold = braze_hold(h);
	core.blocks = b;
	return b;
}

static void block_unlink(const struct host_block *b)
{
	struct host_block **p = &core.blocks;

	while (*p && *p != b)
		p = &(*p)->next;
	if (*p)
		*p = b->next;
}

void host_lock(struct host_block *lock, braze_array *h, void *data)
{
	*lock = (struct host_block){.next = core.blocks, .h = h, .data = data, .locks = 1};
	core.blocks = lock;
	core.locked++;
}

void host_unlock(struct host_block *lock)
{
	block_unlink(lock);
	lock->locks = 0;
	core.locked--;
}

static void block_remove(struct host_block *b)
{
	block_unlink(b);
	if (b->locks)
		core.locked--;
	braze_release(b->h);
	braze_unhold(b->hold);
	free(b);
}

struct host_block *host_find(const void *data)
{
	struct host_block *b = core.blocks;

	while (b && ((const char *)data < b->data || (const char *)data >= b->data + b->bytes))
		b = b->next;
	return b;
}

static PyObject *host_object(struct host_block *b)
{
	int n = braze_ndim(b->h);
	struct host *self = PyObject_New(struct host, core.host_type);

	if (!self) {
		block_remove(b);
		return NULL;
	}
	self->block = b;
	for (int i = 0; i < n; i++) {
		self->shape[i] = braze_shape(b->h)[i];
		self->strides[i] = braze_strides(b->h)[i];
	}
	return (PyObject *)self;
}

int host_dims(PyObject *seq, int64_t *dims)
{
	Py_ssize_t n = PySequence_Size(seq);

	if (n < 0)
		return -1;
	if (n > BRAZE_MAX_NDIM) {
		PyErr_SetString(PyExc_ValueError, "braze arrays have at most 8 axes");
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *x = PySequence_GetItem(seq, i);

		dims[i] = x ? PyNumber_AsSsize_t(x, PyExc_OverflowError) : -1;
		Py_XDECREF(x);
		if (PyErr_Occurred())
			return -1;
	}
	return (int)n;
}

/* host_empty(shape, dtype): an exporter of new arena memory. */
PyObject *host_empty(PyObject *mod, PyObject *args)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *seq = NULL, *dt = NULL;
	struct host_block *b = NULL;
	braze_array *h = NULL;
	braze_session *s = NULL;
	braze_error err = {0};
	void *data = NULL;
	int n = 0, dtype = -1;

	if (!PyArg_ParseTuple(args, "OO", &seq, &dt))
		return NULL;
	n = host_dims(seq, shape);
	dtype = convert_dtype(dt);
	if (n < 0 || dtype < 0) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError, "braze has no such dtype");
		return NULL;
	}
	s = wait_session();
	if (!s)
		return NULL;
	err.code = braze_alloc(&h, &data, s, dtype, n, shape, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	b = block_add(h, data, (size_t)(braze_size(h) * braze_itemsize(h)));
	if (!b) {
		braze_release(h);
		return PyErr_NoMemory();
	}
	return host_object(b);
}

/* Fence a and open its memory; recording on the buffer is refused until close. */
PyObject *host_open(PyObject *mod, PyObject *a)
{
	struct host_block *b = NULL;
	braze_array *h = NULL;
	void *data = NULL;

	if (selection_check(a) && selection_settle(a))
		return NULL;
	if (!nd_check(a) || nd(a)->flags & ND_SCALAR) {
		PyErr_SetString(PyExc_TypeError, "braze.host needs a braze array");
		return NULL;
	}
	h = type_handle(a);
	if (!h || layout_check_write(a, "assignment destination") || wait_check_locked(h))
		return NULL;
	data = wait_fence(h);
	if (!data)
		return NULL;
	braze_retain(h);
	b = block_add(h, data, 0);
	if (!b) {
		braze_release(h);
		return PyErr_NoMemory();
	}
	b->locks = 1;
	core.locked++;
	return host_object(b);
}

void *host_data(PyObject *memory)
{
	return ((struct host *)memory)->block->data;
}

PyObject *host_close(PyObject *mod, PyObject *o)
{
	struct host *self = (struct host *)o;

	if (Py_TYPE(o) != core.host_type) {
		PyErr_SetString(PyExc_TypeError, "not opened by host_open");
		return NULL;
	}
	if (self->block->locks) {
		self->block->locks = 0;
		core.locked--;
	}
	Py_RETURN_NONE;
}

static void host_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	block_remove(((struct host *)o)->block);
	PyObject_Free(o);
	Py_DECREF(type);
}

static int host_getbuffer(PyObject *o, Py_buffer *view, int flags)
{
	struct host *self = (struct host *)o;
	braze_array *h = self->block->h;

	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
		view->obj = NULL;
		PyErr_SetString(PyExc_BufferError, "strides are needed");
		return -1;
	}
	*view = (Py_buffer){
		.buf = self->block->data,
		.obj = Py_NewRef(o),
		.len = braze_size(h) * braze_itemsize(h),
		.itemsize = braze_itemsize(h),
		.ndim = braze_ndim(h),
		.format = flags & PyBUF_FORMAT ? (char *)convert_format(braze_dtype_of(h)) : NULL,
		.shape = self->shape,
		.strides = self->strides,
	};
	return 0;
}

/* ---- NEP 49: NumPy's data allocations inside the arena ---- */

struct allocator { /* PyDataMemAllocator */
	void *ctx;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *, size_t);
};
struct handler { /* PyDataMem_Handler */
	char name[127];
	uint8_t version;
	struct allocator allocator;
};

/* NumPy does not say for which type it allocates.  A complex array can be viewed
 * as float64 too, so those two are taken over without a copy; others are copied. */
static void *arena_alloc(size_t bytes)
{
	PyGILState_STATE st = PyGILState_Ensure();
	int64_t n = (int64_t)(bytes / 16) + 1;
	braze_array *h = NULL;
	void *data = NULL;

	if (core.session && !braze_alloc(&h, &data, core.session, BRAZE_COMPLEX128, 1, &n, NULL) &&
	    !block_add(h, data, (size_t)n * 16)) {
		braze_release(h);
		data = NULL;
	}
	PyGILState_Release(st);
	return data;
}

static void *np_malloc(void *ctx, size_t bytes)
{
	return arena_alloc(bytes);
}

static void *np_calloc(void *ctx, size_t n, size_t bytes)
{
	void *p = NULL;

	if (bytes && n > SIZE_MAX / bytes)
		return NULL;
	p = arena_alloc(n * bytes);
	if (p)
		memset(p, 0, n * bytes);
	return p;
}

static void np_free(void *ctx, void *p, size_t bytes)
{
	PyGILState_STATE st = PyGILState_Ensure();
	struct host_block *b = host_find(p);

	if (b)
		block_remove(b);
	PyGILState_Release(st);
}

static void *np_realloc(void *ctx, void *p, size_t bytes)
{
	struct host_block *old = p ? host_find(p) : NULL;
	void *r = arena_alloc(bytes);

	if (r && old) {
		memcpy(r, p, old->bytes < bytes ? old->bytes : bytes);
		np_free(ctx, p, 0);
	}
	return r;
}

static struct handler handler = {"braze", 1, {NULL, np_malloc, np_calloc, np_realloc, np_free}};

void **host_numpy(void)
{
	PyObject *mod = PyImport_ImportModule("numpy._core._multiarray_umath"), *api = NULL;
	void **table = NULL;

	if (!mod)
		return NULL;
	api = PyObject_GetAttrString(mod, "_ARRAY_API");
	Py_DECREF(mod);
	if (api)
		table = PyCapsule_GetPointer(api, NULL);
	Py_XDECREF(api);
	return table;
}

static PyObject *set_handler(PyObject *capsule)
{
	void **table = host_numpy();

	return table ? ((PyObject * (*)(PyObject *)) table[NUMPY_SET_HANDLER])(capsule) : NULL;
}

/* Returns the handler that was there before. */
PyObject *host_install(PyObject *mod, PyObject *ignored)
{
	PyObject *capsule = NULL, *old = NULL;

	if (!wait_session())
		return NULL;
	capsule = PyCapsule_New(&handler, "mem_handler", NULL);
	if (capsule)
		old = set_handler(capsule);
	Py_XDECREF(capsule);
	return old;
}

PyObject *host_restore(PyObject *mod, PyObject *old)
{
	return set_handler(old);
}

int host_init(PyObject *module)
{
	PyType_Slot slots[] = {
		{Py_tp_dealloc, host_dealloc},
		{Py_bf_getbuffer, host_getbuffer},
		{0, NULL},
	};
	PyType_Spec spec = {.name = "braze._core.host_memory",
			    .basicsize = sizeof(struct host),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
			    .slots = slots};

	core.host_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return core.host_type ? 0 : -1;
}
