/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - what the files of braze._core share.
 *
 * The extension puts a Python type on the public C API (braze.h).  Recording an
 * operation stays in C; everything that takes keywords is Python on top of it.
 * All state, the session too, is guarded by the interpreter lock, which the
 * library gives up while it waits (wait.c).  Invariant: an ndarray has a handle or is an immediate
 * scalar. */
#ifndef BRAZE_CORE_H
#define BRAZE_CORE_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdbool.h>
#include <stdint.h>

#include "braze.h"
#include "braze_fast.h"

#define N_DTYPES       14
#define FREELIST_LIMIT 1024
/* Element writes recorded as operations before the buffer is fenced. */
#define RECORDED_WRITES 16

#define ND_SCALAR   1  /* a NumPy scalar's behaviour: immutable, hashable */
#define ND_READONLY 2  /* may not be written; views of it neither */
#define ND_WARN	    4  /* stretched: a write warns, since it may show at many places */
#define ND_OVERLAP  8  /* elements share memory: NumPy writes them, in its order */
#define ND_COUNTED  16 /* without elements, but not made so: its strides are counted */
#define ND_OF_VIEWS (ND_READONLY | ND_WARN | ND_OVERLAP) /* what views of it have, too */

struct ndarray {
	PyObject_HEAD braze_array *h; /* NULL: immediate, the value is in now */
	PyObject *base;		      /* the array that this is a view of, or NULL */
	PyObject *weak;
	braze_scalar now;
	uint16_t writes; /* element writes recorded since the last fence */
	uint8_t flags;
	bool peeked; /* an element was read while the array was not stored */
};

/* A converted operand; own is released by operand_finish. */
struct operand {
	braze_arg arg;
	braze_array *own;
};

/* Operations that the number protocol names. */
enum number_op {
	N_ADD,
	N_SUBTRACT,
	N_MULTIPLY,
	N_DIVIDE,
	N_FLOOR_DIVIDE,
	N_REMAINDER,
	N_POWER,
	N_LEFT_SHIFT,
	N_RIGHT_SHIFT,
	N_AND,
	N_OR,
	N_XOR,
	N_LESS,
	N_LESS_EQUAL,
	N_EQUAL,
	N_NOT_EQUAL,
	N_GREATER,
	N_GREATER_EQUAL,
	N_NEGATIVE,
	N_POSITIVE,
	N_ABSOLUTE,
	N_INVERT,
	N_SQUARE,
	N_SQRT,
	N_RECIPROCAL,
	N_MATMUL,
	N_OPS
};

struct core {
	braze_session *session;
	unsigned flags;	   /* of the session to come: BRAZE_EAGER and the like */
	char device[16];   /* asked for by braze.device(); "": none */
	char precision[8]; /* by braze.precision(); "": none */
	bool brains;	   /* arrays of bfloat16 were made */
	/* That operators see; "": the library's choice. */
	char name[64], file[256], environment[256];
	PyTypeObject *type, *selection;
	PyTypeObject *host_type;
	int op[N_OPS];
	PyObject *dtypes[N_DTYPES]; /* numpy.dtype objects */
	PyObject *types[N_DTYPES];  /* numpy scalar types */
	PyObject *np_ndarray, *np_generic, *np_ufunc, *np_array, *np_empty;
	/* Given by the package: exception classes by name, and what Python does. */
	PyObject *errors;
	PyObject *fallback; /* (ufunc name, *operands) */
	PyObject *getitem, *setitem;
	PyObject *result;  /* (x): what NumPy made of arrays of ours, as ours */
	PyObject *cast;	   /* (value, dtype): NumPy's same-kind cast of a foreign type */
	PyObject *package; /* prefix of the file names that are no user's */
	PyObject *sites;   /* places in the program that take, in the order of their numbers */
	PyObject *site_of; /* and their numbers */
	/* Floating-point errors (watch.c). */
	PyObject *errstate; /* what is asked for here: () -> (raise, report, tag) or None */
	PyObject *told;	    /* (error, all, text, op, place or None, tag): act on it */
	int watching;	    /* somebody asks for something */
	unsigned reports;   /* not acted on yet */
	int profiling;	    /* a braze.profile() is open */
	int numpy;	    /* NumPy's version: 205 is 2.5 */
	int shared;	    /* braze.shared(): results get memory of their own */
	int locked;	    /* arrays inside braze.host(): recording on them is refused */
	struct host_block *blocks;
};
extern struct core core; /* one per process; see module.c */

/* Memory in the arena that NumPy writes: braze.empty, braze.shared_arrays, host. */
struct host_block {
	struct host_block *next;
	braze_array *h;
	char *data;
	size_t bytes;
	int locks;  /* users inside braze.host() */
	void *hold; /* keeps data mapped when the daemon is gone */
};

static inline bool nd_check(PyObject *o)
{
	return Py_TYPE(o) == core.type;
}
static inline struct ndarray *nd(PyObject *o)
{
	return (struct ndarray *)o;
}

/* flat.c */
int flat_init(PyObject *module);

/* selection.c */
int selection_init(PyObject *module);
/* a[mask] put off: true when out is set, or NULL with an exception; false: it is to be counted. */
bool selection_make(PyObject **out, PyObject *self, PyObject *key);
static inline bool selection_check(PyObject *o)
{
	return Py_TYPE(o) == core.selection;
}
/* It becomes an array; -1 with an exception: it could not be counted, and is as before. */
int selection_settle(PyObject *o);
/* The same of a key, or of what a tuple has; and of arguments: 1, if some were selections. */
int selection_settle_key(PyObject *key);
int selection_settle_args(PyObject *const *args, Py_ssize_t n);

/* type.c */
void type_dealloc(PyObject *o);
int type_init(PyObject *module);
/* Steals h, also on failure. */
PyObject *type_new(braze_array *h, int flags);
PyObject *type_view(braze_array *h, PyObject *base);
/* The same of base in another shape. */
PyObject *type_reshaped(braze_array *h, PyObject *base);
PyObject *type_immediate(int dtype, const uint64_t bits[2]);
/* A bool: one object for each, while nobody has made an array of it. */
PyObject *type_truth(bool v);
PyObject *type_int_tuple(int n, const int64_t *v);
/* The handle, made now for an immediate; NULL with an exception set. */
braze_array *type_handle(PyObject *o);
int type_ndim(PyObject *o);
int type_dtype(PyObject *o);

/* iterate.c */
PyObject *iterate_over(PyObject *array);
int iterate_init(void);

/* meta.c */
/* Makes isinstance and issubclass take NumPy's arrays for ours; after type_init. */
int meta_init(void);
/* The same for ufuncs; after convert_init. */
int meta_ufunc(PyTypeObject *type);

/* wait.c */
/* Set the exception of *err; always -1. */
int wait_raise(const braze_error *err);
/* The check callback of waits: non-zero when a signal handler raised. */
int wait_check_signals(void *data);
/* Address of element [0,..,0]; waits without the interpreter lock. */
const void *wait_data(braze_array *h);
/* Until those of n arrays that are pending are there, asked for in one demand; -1 with an
 * exception set. */
int wait_for(braze_array *const *h, int n);
/* The same until they are computed, wherever that is. */
int wait_computed(braze_array *const *h, int n);
/* How its value was made: braze_explain's lines. */
PyObject *wait_explain(braze_array *h);
/* The same as wait_data for an export, whose exception the caller may drop: NumPy does, and asks
 * for the bytes in another way.  What a signal handler raised is then raised again. */
const void *wait_export(braze_array *h);
/* The same where nothing has to be waited for or told; NULL: elsewhere. */
const void *wait_at_hand(braze_array *h);
void *wait_fence(braze_array *h);
/* The session, connected now if need be; NULL with an exception set. */
braze_session *wait_session(void);
/* -1 with BrazeError set when h's buffer is open for writing by braze.host(). */
int wait_check_locked(braze_array *h);

/* convert.c */
int convert_init(void);
/* The number of a numpy dtype-like object; -1 unknown (no exception). */
int convert_dtype(PyObject *o);
/* The number of an object's dtype; -1 for types that braze does not compute with. */
int convert_dtype_of(PyObject *o);
void convert_load(int dtype, const void *src, uint64_t bits[2]);
void convert_store(int dtype, const uint64_t bits[2], void *dst);
PyObject *convert_number(int dtype, const uint64_t bits[2]);
PyObject *convert_npscalar(int dtype, const uint64_t bits[2]);
/* The type of a scalar of NumPy's, of that very class; -1: it is none, or of a type that braze
 * lacks. Such a one as a scalar of ours without an array; others as they are. */
int convert_given_type(PyObject *o);
PyObject *convert_given(PyObject *o);
/* 1: converted; 0: not something braze computes with (a subclass of numpy.ndarray is
 * not); -1: exception. */
int convert_operand(struct operand *out, PyObject *o);
void operand_finish(struct operand *x);
/* As an array (numbers become 0-d): 1, 0 or -1 as above. */
int convert_array(braze_array **out, PyObject *o);
/* A Python or NumPy scalar as a value of dtype, by NumPy's casting: 1, 0, -1. */
int convert_scalar_as(braze_scalar *out, PyObject *o, int dtype);
/* The bits of a number that needs no cast of NumPy's and no word; false: it may. */
bool convert_plain(braze_scalar *out, PyObject *o, int dtype);
/* As NumPy writes one element, with its exceptions and warnings: 1 or -1. */
int convert_element(braze_scalar *out, PyObject *o, int dtype);
/* What has a type that braze lacks, cast by NumPy's same-kind rule; 1, or -1 with
 * NumPy's exception set. */
int convert_cast(struct operand *out, PyObject *o, int dtype);
/* The element of a one-element array. */
int convert_value(PyObject *self, int *dtype, uint64_t bits[2]);
int convert_getbuffer(PyObject *self, Py_buffer *view, int flags);
void convert_releasebuffer(PyObject *self, Py_buffer *view);
const char *convert_format(int dtype);
int convert_itemsize(int dtype);

/* lists.c */
/* A new array of a number, or of numbers in lists or tuples, of the type, or of theirs if that is
 * -1.  False: others know. */
bool lists_array(braze_array **out, PyObject *data, int dtype);
/* One of arrays of ours of one type and shape, which have axes, in a list or tuple. */
bool lists_stack(braze_array **out, PyObject *data);

/* number.c */
extern PyType_Slot number_slots[];
PyObject *number_apply(int op, PyObject *const *args, Py_ssize_t nargs);
/* ufunc.c: array.__array_ufunc__ */
PyObject *ufunc_asked(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *number_compare(PyObject *a, PyObject *b, int how);
PyObject *number_matmul(PyObject *a, PyObject *b);
PyObject *number_fallback(const char *name, PyObject *const *args, Py_ssize_t nargs);

/* arith.c */
/* An operator of values without arrays and Python's numbers: true, and the result or NULL
 * with an exception set; false: an operand is something else. */
bool arith_binary(PyObject **out, int k, PyObject *a, PyObject *b);
/* A comparison of two such values of one kind: floats, or integers; false: it is another. */
bool arith_compare(PyObject **out, PyObject *a, PyObject *b, int how);
bool arith_unary(PyObject **out, int k, PyObject *a);
/* Is none of the exponents in an array of signed integers negative, which is an error for integers?
 * wait: they are waited for, as NumPy would; else false where they are not at hand. */
bool arith_none_negative(PyObject *b, bool wait);
/* An order of two scalars one of which is complex, waited for: NumPy's operators of scalars
 * look for NaNs in other places than its function does.  False: they are something else. */
bool arith_ordered(PyObject **out, PyObject *a, PyObject *b, int how);
/* The function of an operation, of n numbers without arrays: false where NumPy is to be
 * asked. */
bool arith_function(PyObject **out, int op, int n, PyObject *const *args);
/* NumPy's clip of three numbers, and round of one to so many decimals; false as above. */
bool arith_clip(PyObject **out, PyObject *const *args);
bool arith_round(PyObject **out, PyObject *x, int64_t decimals);
/* A value of ours without an array as NumPy's scalar; others as they are. */
PyObject *number_given(PyObject *o);
/* What NumPy's scalars gave, as a value of ours where braze has the type. */
PyObject *number_taken(PyObject *made);

/* layout.c */
extern PyMethodDef layout_methods[];
/* -1 with the exception set when an array with flags may not be written. */
int layout_refuse(PyObject *self, const char *what);
/* The orders in which the elements follow each other. */
enum { LAYOUT_C = 1, LAYOUT_F = 2 };
unsigned layout_orders(braze_array *h);
/* Of a stride. */
static inline int64_t layout_magnitude(int64_t v)
{
	return v < 0 ? -v : v;
}
/* The axes by their strides, the outermost first; false: C order. */
bool layout_of(int *axes, int ndim, const int64_t *strides);
/* A new C-contiguous array whose axes are those of a layout, in their own order
 * again; steals it.  NULL with *err set. */
braze_array *layout_permuted(braze_array *made, const int *axes, int ndim, braze_error *err);
/* braze_apply whose result has the operands' order of axes, as NumPy's functions of
 * elements give it. */
int layout_apply(braze_array **out, braze_session *s, int op, int n, const braze_arg *arg,
		 braze_error *err);
/* The same of braze_copy and braze_cast, braze_reduce, braze_concatenate or braze_stack,
 * braze_gather, braze_take_along and braze_select. */
/* dtype: -1 for a copy. */
int layout_copy(braze_array **out, braze_array *of, int dtype, braze_error *err);
int layout_reduce(braze_array **out, int op, braze_array *of, unsigned mask, int keep, int dtype,
		  braze_error *err);
int layout_join(braze_array **out, int n, braze_array *const *part, int axis, int dtype,
		bool stacks, braze_error *err);
int layout_gather(braze_array **out, braze_array *of, int n, const int *axis, const int *name,
		  const braze_arg *index, int mode, braze_error *err);
int layout_take_along(braze_array **out, braze_array *of, braze_array *places, int axis, int mode,
		      braze_error *err);
int layout_select(braze_array **out, braze_array *of, braze_array *mask, int (*check)(void *),
		  void *arg, braze_error *err);
/* Might operands so laid out give a result that is not C-contiguous? */
static inline bool layout_matters(braze_array *h)
{
	return !braze_is_contiguous(h) && braze_ndim(h) > 1;
}
/* self takes a new view's handle over; the view is of no use afterwards. */
void layout_become(PyObject *self, PyObject *view);
/* Have two of the elements a byte in common?  True also where that is not known. */
bool layout_overlap(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize);
/* Raise that an output has not the shape of the result. */
void layout_tell_shapes(braze_array *out, braze_array *made);
/* self[...] = value by NumPy, for arrays with ND_OVERLAP. */
int layout_write_overlapping(PyObject *self, PyObject *value);
/* Every writer asks before: what, as NumPy's message names it. */
static inline int layout_check_write(PyObject *self, const char *what)
{
	return nd(self)->flags ? layout_refuse(self, what) : 0;
}
/* foreign.c */
extern PyMethodDef foreign_methods[];
int foreign_init(PyObject *numpy);
/* An array of NumPy's that is data and nothing else: no subclass with a meaning of its own. */
bool foreign_plain(PyObject *o);
/* Neither a number nor data of braze's, NumPy's or Python's own. */
bool foreign_is(PyObject *o);
/* Does NumPy leave `self op o` to o?  self is an array of ours. */
bool foreign_outranks(PyObject *o, PyObject *self, bool inplace);
/* Operands of wrong types or shapes: NumPy's error, which tells of them in its words.  False: it
 * has none. */
bool foreign_refuse(int op, PyObject *const *args, Py_ssize_t n);
/* kernel.c */
extern PyMethodDef kernel_methods[];
/* about.c */
extern PyMethodDef about_methods[];
/* Warn of what the daemon has to say; -1: the warning is an error. */
int about_notice(braze_session *s);
/* sparse.c */
extern PyMethodDef sparse_methods[];

/* fourier.c */
extern PyMethodDef fourier_methods[];
/* Has the device of what is recorded now a library of Fourier transforms?  -1: an exception. */
int fourier_there(void);
/* factors.c */
extern PyMethodDef factors_methods[];
/* The same of factors of matrices. */
int factors_there(void);
/* dlpack.c */
extern PyMethodDef dlpack_methods[];
/* publish.c */
extern PyMethodDef publish_methods[];
/* arrow.c */
extern PyMethodDef arrow_methods[];
/* profile.c */
extern PyMethodDef profile_methods[];
extern PyMethodDef brain_methods[];

/* brain.c: what an array of bfloat16 keeps its elements in, borrowed; another object itself. */
PyObject *brain_elements(PyObject *o);

/* What follows is NumPy's time, or no more; to be asked where core.profiling. */
void profile_mark(int on);
/* In a child of fork: nobody asks. */
void profile_forked(void);
/* adapted.c */
extern PyMethodDef adapted_methods[];
int adapted_init(void);

/* scalar.c */
extern PyMethodDef scalar_methods[];
/* self.__class__: what isinstance() sees besides the type. */
PyObject *scalar_class(PyObject *self, void *closure);
/* Is a * b a list or string, repeated? */
bool scalar_repeats(PyObject *a, PyObject *b);
PyObject *scalar_index(PyObject *self);
/* int(x) of a float64 without an array, for which no float is made; false: it is another. */
bool scalar_whole(PyObject **out, PyObject *a);
Py_hash_t scalar_hash(PyObject *self);
PyObject *scalar_format(PyObject *self, PyObject *text);
PyObject *scalar_repr(PyObject *self);
PyObject *scalar_str(PyObject *self);
/* parts.c */
extern PyMethodDef parts_methods[];
/* a.real, and a.imag where which is not NULL. */
PyObject *parts_get(PyObject *a, void *which);
int parts_set(PyObject *a, PyObject *value, void *which);
/* watch.c */
extern PyMethodDef watch_methods[];
/* A new session: it asks us. */
void watch_session(braze_session *s);
/* Act on the reports that reads brought; -1 with an exception set. */
int watch_act(void);
/* The innermost frame that is not the package's: "file:line"; NULL: none. */
PyObject *watch_place(void);
static inline int watch_reports(void)
{
	return __builtin_expect(core.reports != 0, 0) ? watch_act() : 0;
}

/* gather.c */
/* The number of a place "file:line" in the program; 0: there are too many. */
long gather_site(PyObject *text);
extern PyMethodDef gather_methods[];
/* "...: file:line" for the message of a wrong place; NULL: it names no known site. */
PyObject *gather_message(const char *text);

/* index.c */
PyObject *index_get(PyObject *self, PyObject *key);
int index_set(PyObject *self, PyObject *key, PyObject *value);
PyObject *index_item(PyObject *self, Py_ssize_t i);
/* A Python integer as a place among `extent`, the last of them -1: adds its distance from the
 * first.  False: it is something else, or there is no such place. */
bool index_step(int64_t *delta, PyObject *o, int64_t extent, int64_t stride);
/* The view that n items without arrays make of an array; false: none, maybe with an exception. */
bool index_view(braze_array **out, braze_array *h, PyObject *const *item, Py_ssize_t n);
Py_ssize_t index_length(PyObject *self);
/* self[...] = value with unsafe casting, as setitem does. */
int index_assign(braze_array *dst, PyObject *value);

/* host.c */
int host_init(PyObject *module);
/* A sequence of at most BRAZE_MAX_NDIM integers; their number or -1. */
int host_dims(PyObject *seq, int64_t *dims);
PyObject *host_empty(PyObject *mod, PyObject *args);
PyObject *host_open(PyObject *mod, PyObject *a);
/* The memory that host_open opened. */
void *host_data(PyObject *memory);
PyObject *host_close(PyObject *mod, PyObject *a);
/* From here on recording on h's buffer is refused, until unlocked; lock is the caller's. */
void host_lock(struct host_block *lock, braze_array *h, void *data);
void host_unlock(struct host_block *lock);
/* NumPy's table of functions; NULL with an exception set. */
void **host_numpy(void);
/* A view of arena memory that contains [data, data + ...], or NULL. */
struct host_block *host_find(const void *data);
PyObject *host_install(PyObject *mod, PyObject *ignored);
PyObject *host_restore(PyObject *mod, PyObject *old);

#endif
