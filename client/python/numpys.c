/* SPDX-License-Identifier: Apache-2.0 */
/* numpys.c - functions of NumPy's without a Python frame before them.
 *
 * numpys.def names those whose answer is their result.  Their arguments, where these are plain,
 * lend NumPy their memory (lent.c); every other call, and what NumPy refuses because it may
 * not write what was lent, is the function in Python's (braze/numpy/_fallback.py, or braze's
 * own).  Each call of those that braze does not compute itself counts as left to NumPy. */
#include "numpys.h"

#include <stdlib.h>
#include <string.h>

#include "byname.h"

#define CALL_ARGS 12 /* by place and by name */

enum how {
	PURE,
	TYPES,
	SINGLES,
	FOURIER,
	FACTORS,
	AT_HAND,
	COPIES,
	LISTS,
	REPEATS,
	SEARCHES,
	FINDS,
	LINES,
	NORMS,
	PICKS,
	TERMS,
	GIVEN,
	DRAWS,
	SHUFFLES,
	WRITES,
	PUTS
};
#define OPEN	    32 /* besides */
#define SEARCH_COST 16 /* copies of an element that a search takes as long as */

_Static_assert((int)PUTS < OPEN, "a bit besides");

struct numpys {
	struct fast fast; /* first: native.c knows this part */
	int most;
	enum how how;
	bool open;
	const char *method_name;
	PyObject *theirs, *inner, *method; /* inner: without the question below */
	uint64_t calls;
};

static fast_fn call_numpy;

#define NUMPYS(name, most, way, method)                                                            \
	{{name, call_numpy, NULL, NULL, -1, 0, 0, {NULL}, NULL},                                   \
	 most,                                                                                     \
	 (enum how)((way) & ~OPEN),                                                                \
	 ((way)&OPEN) != 0,                                                                        \
	 method,                                                                                   \
	 NULL,                                                                                     \
	 NULL,                                                                                     \
	 NULL,                                                                                     \
	 0},
static struct numpys table[] = {
#include "numpys.def"
};
#undef NUMPYS

#define ROWS (sizeof table / sizeof *table)

static struct byname rows;
_Static_assert(2 * ROWS <= BYNAME_ROOM, "rows of numpys.def");

static PyObject *numpy, *out_name, *inner_name;

/* ---- One call ---- */

/* What NumPy is called with. */
struct request {
	struct lent lent;
	PyObject *room[1 + CALL_ARGS]; /* the first is lent to the callee */
	Py_ssize_t n, all;
};

static void forget(struct request *r)
{
	for (Py_ssize_t k = 0; k < r->all; k++)
		Py_CLEAR(r->room[1 + k]);
}

bool numpys_at_hand(PyObject *o)
{
	if (nd_check(o))
		return !nd(o)->h || (!(nd(o)->flags & ND_SCALAR) && braze_is_near(nd(o)->h));
	if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
		bool tuple = PyTuple_CheckExact(o);
		Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);

		for (Py_ssize_t k = 0; k < n; k++) {
			PyObject *x = tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k);

			if (nd_check(x) && !numpys_at_hand(x))
				return false;
		}
	}
	return true;
}

static bool searches(const struct numpys *f)
{
	return f->how >= SEARCHES && f->how <= LINES;
}

/* Is there an array of ours, and are all where NumPy is as good?  Of searches no argument need be
 * one. */
static bool all_at_hand(const struct numpys *f, const struct call *c)
{
	Py_ssize_t all = c->n + (c->names ? PyTuple_Size(c->names) : 0);

	if (!c->n || !(searches(f) || numpys_array(c->args[0]) || PyTuple_CheckExact(c->args[0]) ||
		       PyList_CheckExact(c->args[0])))
		return false;
	for (Py_ssize_t k = 0; k < all; k++)
		if (!numpys_at_hand(c->args[k]))
			return false;
	return true;
}

static bool has_native(const struct numpys *f)
{
	return f->how >= AT_HAND && f->how <= TERMS;
}

/* The arrays' elements, added up, and the first one's handle. */
static int64_t elements(braze_array **first, PyObject *o)
{
	bool tuple = PyTuple_CheckExact(o);
	Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_CheckExact(o) ? PyList_Size(o) : 0;
	int64_t sum = 0;

	if (numpys_array(o)) {
		*first = *first ? *first : nd(o)->h;
		return braze_size(nd(o)->h);
	}
	for (Py_ssize_t k = 0; k < n; k++) {
		PyObject *x = tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k);

		sum += numpys_array(x) ? elements(first, x) : 0;
	}
	return sum;
}

/* How many times an int, or ints in a tuple or list, repeat something; -1: they are others. */
static int64_t times(PyObject *o)
{
	int64_t by[BRAZE_MAX_NDIM], all = 1;
	int n = fast_dims(by, o);

	for (int k = 0; k < n; k++)
		if (by[k] > 1 && __builtin_mul_overflow(all, by[k], &all))
			return INT64_MAX;
	return n < 0 ? -1 : all;
}

/* norm(x, ord, axis): is there an axis? */
static bool has_axis(const struct call *c)
{
	Py_ssize_t names = c->names ? PyTuple_Size(c->names) : 0;

	for (Py_ssize_t k = 0; k < names; k++)
		if (!PyUnicode_CompareWithASCIIString(PyTuple_GetItem(c->names, k), "axis"))
			return true;
	return c->n > 2;
}

/* Is its result small enough to be computed at once?  Else it stays lazy, as braze's own
 * operations do. */
static bool is_small(const struct numpys *f, const struct call *c)
{
	braze_array *first = NULL;
	int64_t n = 0, by = 1;

	if (f->how == AT_HAND || f->how == LINES)
		return true;
	if (f->how == NORMS)
		return !has_axis(c);
	if (c->n <= (f->how == FINDS))
		return false;
	n = elements(&first, c->args[f->how == FINDS]);
	if (searches(f))
		by = SEARCH_COST;
	if (f->how == REPEATS && c->n > 1)
		by = times(c->args[1]);
	if (f->how == PICKS)
		return n < MASKS_FEW;
	if (!first || by < 0) /* braze has no operation for it */
		return true;
	if (__builtin_mul_overflow(n, by, &n))
		n = INT64_MAX;
	return braze_copies_near(braze_session_of(first), braze_dtype_of(first), n);
}

/* Of an array of ours, on a device with a library? */
static bool is_done_there(const struct numpys *f, const struct call *c)
{
	Py_ssize_t all = c->n + (c->names ? PyTuple_Size(c->names) : 0);
	int there = 0;

	if (all && numpys_array(c->args[0]))
		there = f->how == FOURIER ? fourier_there() : factors_there();

	if (there < 0)
		PyErr_Clear(); /* whoever waits for the array is told */
	return there > 0;
}

/* One sample of each variable, or none. */
static bool is_single(PyObject *o)
{
	int n = numpys_array(o) ? braze_ndim(nd(o)->h) : 0;

	return n && braze_shape(nd(o)->h)[n - 1] <= 1;
}

/* Of a number or a text, and of nothing of ours that is an array: NumPy's answer is all there is.
 */
static bool is_of_numbers(const struct numpys *f, const struct call *c)
{
	Py_ssize_t all = c->n + (c->names ? PyTuple_Size(c->names) : 0);

	if (!has_native(f) || f->how == REPEATS || f->how == TERMS || !call_of_number(c))
		return false;
	for (Py_ssize_t k = 1; k < all; k++)
		if (nd_check(c->args[k]) && nd(c->args[k])->h)
			return false;
	return true;
}

#define TERMS_MOST 256 /* elements of each */

/* einsum(text, arrays): few terms, all of them at hand. */
static bool are_few_terms(const struct call *c)
{
	if (c->n < 2 || c->names || !PyUnicode_CheckExact(c->args[0]))
		return false;
	for (Py_ssize_t k = 1; k < c->n; k++)
		if (!numpys_array(c->args[k]) || braze_size(nd(c->args[k])->h) > TERMS_MOST ||
		    !braze_is_near(nd(c->args[k])->h))
			return false;
	return c->n <= 3;
}

/* Is the call NumPy's, or has braze an operation that does better? */
static bool is_numpys(const struct numpys *f, const struct call *c)
{
	if (f->how == FOURIER || f->how == FACTORS)
		return !is_done_there(f, c);
	if (f->how == PUTS)
		return all_at_hand(f, c) && numpys_array(c->args[0]) &&
		       braze_is_ours(nd(c->args[0])->h) &&
		       braze_size(nd(c->args[0])->h) < MASKS_FEW;
	if (is_of_numbers(f, c))
		return true;
	if (f->how == LISTS && !call_of_list(c))
		return false;
	if (f->how == TERMS)
		return are_few_terms(c);
	if (f->how == SINGLES)
		return all_at_hand(f, c) && is_single(c->args[0]);
	return !has_native(f) || (all_at_hand(f, c) && is_small(f, c));
}

/* The argument at place k as NumPy's function gets it. */
static PyObject *argument(struct request *r, const struct numpys *f, PyObject *o, Py_ssize_t k)
{
	if (!k && (f->how == DRAWS || f->how == SHUFFLES))
		return PyObject_GetAttr(o, inner_name);
	if (f->how == TYPES && nd_check(o))
		return Py_NewRef(core.dtypes[type_dtype(o)]);
	if (f->how >= SHUFFLES && k == (f->how == SHUFFLES))
		return lent_writable(&r->lent, o);
	return lent_view(&r->lent, o, 0);
}

static bool is_out(PyObject *names, Py_ssize_t k, PyObject *value)
{
	PyObject *name = PyTuple_GetItem(names, k);

	return value != Py_None && (name == out_name || !PyUnicode_Compare(name, out_name));
}

/* False: the call is not plain, or an exception is set. */
static bool prepare(struct request *r, const struct numpys *f, const struct call *c)
{
	Py_ssize_t all = c->n + (c->names ? PyTuple_Size(c->names) : 0);

	if (core.locked || c->n > f->most || all > CALL_ARGS || (!c->n && f->how >= DRAWS) ||
	    !is_numpys(f, c))
		return false;
	lent_begin(&r->lent);
	r->lent.open = f->open;
	r->lent.any = f->how == GIVEN;
	r->n = c->n;
	for (r->all = 0; r->all < all; r->all++) {
		PyObject *o = c->args[r->all], *given = NULL;

		if (r->all < c->n || !is_out(c->names, r->all - c->n, o))
			given = argument(r, f, o, r->all);
		if (!given) {
			forget(r);
			lent_back(&r->lent);
			lent_end(&r->lent);
			return false;
		}
		r->room[1 + r->all] = given;
	}
	return true;
}

/* Would it do with arrays that may be written, or that are no more than data?  That is asked
 * in Python (_fallback.call). */
static bool is_repeated(const struct numpys *f)
{
	static const char *const words[] = {"read-only", "not writeable", "writable", "WRITEABLE",
					    "__array__ method not producing an array"};
	PyObject *type = NULL, *value = NULL, *trace = NULL, *text = NULL;
	const char *said = NULL;
	bool found = false;

	if ((f->how <= FACTORS && PyErr_ExceptionMatches(PyExc_TypeError)) ||
	    (has_native(f) && PyErr_ExceptionMatches(PyExc_Exception)))
		return true; /* told in the words of the function as it was called */
	if (f->how >= SHUFFLES || !PyErr_ExceptionMatches(PyExc_ValueError))
		return false;
	PyErr_Fetch(&type, &value, &trace);
	text = value ? PyObject_Str(value) : NULL;
	said = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
	for (size_t k = 0; said && k < sizeof words / sizeof *words; k++)
		found |= strstr(said, words[k]) != NULL;
	Py_XDECREF(text);
	PyErr_Restore(type, value, trace);
	return found;
}

static PyObject *callee(const struct numpys *f, const struct call *c)
{
	PyObject *o = c->n ? c->args[0] : Py_None;

	if (f->method && numpys_array(o))
		return f->method;
	return (numpys_array(o) && braze_ndim(nd(o)->h)) || PyTuple_CheckExact(o) ||
			       PyList_CheckExact(o)
		       ? f->inner
		       : f->theirs;
}

static bool call_numpy(PyObject **out, const struct fast *fast, const struct call *c)
{
	struct numpys *f = (struct numpys *)(void *)(uintptr_t)fast;
	struct request r;
	PyObject *made = NULL;

	if (!prepare(&r, f, c)) {
		if (PyErr_Occurred() && has_native(f))
			PyErr_Clear();
		return false;
	}
	if (core.profiling)
		profile_mark(1);
	made = PyObject_Vectorcall(callee(f, c), r.room + 1,
				   (size_t)r.n | PY_VECTORCALL_ARGUMENTS_OFFSET, c->names);
	if (core.profiling)
		profile_mark(0);
	forget(&r);
	lent_back(&r.lent);
	if (!made && is_repeated(f)) {
		PyErr_Clear();
		lent_end(&r.lent);
		return false;
	}
	if (has_native(f) && core.session) /* none yet where all is lists */
		braze_count_near(core.session);
	else
		f->calls += f->how != TYPES;
	/* A list that NumPy gives back as it is stays the caller's own. */
	if (made && c->n && made == c->args[0] && PyList_CheckExact(made))
		*out = Py_NewRef(made);
	else
		*out = made ? lent_taken(made) : NULL;
	Py_XDECREF(made);
	lent_end(&r.lent);
	return true;
}

/* ---- Any function, called once ---- */

/* What a function of NumPy's gets for an argument that is an array, or holds none; NULL else. */
static PyObject *shown(struct lent *l, PyObject *o)
{
	if (nd_check(o))
		return lent_view(l, o, 0);
	if (PyList_CheckExact(o) || PyTuple_CheckExact(o))
		return lent_numbers(o) ? Py_NewRef(o) : NULL;
	return selection_check(o) || PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o)
		       ? NULL
		       : Py_NewRef(o);
}

static bool show_all(struct request *r, PyObject *args)
{
	lent_begin(&r->lent);
	r->n = PyTuple_Size(args);
	for (r->all = 0; r->all < r->n; r->all++)
		if (!(r->room[1 + r->all] = shown(&r->lent, PyTuple_GetItem(args, r->all))))
			return false;
	return true;
}

/* Is it an error of what was lent, which is told, or answered, by a call in another way? */
static bool is_of_lending(void)
{
	static const struct numpys any = {.how = FOURIER};

	return PyErr_ExceptionMatches(PyExc_ValueError) && is_repeated(&any);
}

/* lent_call(function, args): its result as ours; NotImplemented: it is to be called in another way.
 */
static PyObject *call_lent(PyObject *mod, PyObject *const *args, Py_ssize_t n)
{
	struct request r = {.all = 0};
	PyObject *made = NULL, *out = NULL;
	bool ready = false;

	if (n != 2 || !PyTuple_CheckExact(args[1])) {
		PyErr_SetString(PyExc_TypeError, "a function and its arguments are expected");
		return NULL;
	}
	if (core.locked || PyTuple_Size(args[1]) > CALL_ARGS)
		return Py_NewRef(Py_NotImplemented);
	ready = show_all(&r, args[1]);
	if (ready) {
		if (core.profiling)
			profile_mark(1);
		made = PyObject_Vectorcall(args[0], r.room + 1,
					   (size_t)r.n | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
		if (core.profiling)
			profile_mark(0);
	}
	forget(&r);
	lent_back(&r.lent);
	if (made) {
		out = lent_taken(made);
	} else if (!PyErr_Occurred() || is_of_lending()) {
		PyErr_Clear();
		out = Py_NewRef(Py_NotImplemented);
	}
	Py_XDECREF(made);
	lent_end(&r.lent);
	return out;
}

/* ---- The table ---- */

/* "linalg.inv" of numpy; a generator's methods are those of its class. */
static PyObject *find_theirs(const char *name)
{
	PyObject *at = Py_NewRef(numpy);

	while (at && *name) {
		size_t n = strcspn(name, ".");
		PyObject *part = PyUnicode_FromStringAndSize(name, (Py_ssize_t)n), *next = NULL;

		if (part)
			next = PyObject_GetAttr(at, part);
		Py_XDECREF(part);
		Py_DECREF(at);
		at = next;
		name += n + (name[n] == '.');
	}
	return at;
}

/* What NumPy's function does once it knows that no argument is for another library. */
static PyObject *implementation(PyObject *theirs)
{
	PyObject *inner = theirs ? PyObject_GetAttrString(theirs, "_implementation") : NULL;

	if (!inner)
		PyErr_Clear();
	return inner ? inner : Py_XNewRef(theirs);
}

static bool find_functions(struct numpys *f)
{
	PyObject *theirs = find_theirs(f->fast.name), *item = NULL;

	if (theirs && !PyCallable_Check(theirs)) { /* np.r_[...] */
		item = PyObject_GetAttrString(theirs, "__getitem__");
		Py_DECREF(theirs);
		theirs = item;
	}
	f->inner = implementation(theirs);
	f->theirs = theirs;
	if (f->theirs && f->method_name)
		f->method = find_theirs(f->method_name);
	return f->theirs && (f->method || !f->method_name);
}

const struct fast *numpys_find(const char *name)
{
	int k = byname_find(&rows, name);

	return k >= 0 && (table[k].theirs || find_functions(&table[k])) ? &table[k].fast : NULL;
}

PyObject *numpys_theirs(const struct fast *f)
{
	if (f->fn != call_numpy)
		return NULL;
	return ((const struct numpys *)(const void *)f)->theirs;
}

PyObject *numpys_numbers(PyObject *list)
{
	PyObject *array = list ? PyObject_GetAttrString(numpy, "array") : NULL;
	PyObject *made = array ? PyObject_CallFunctionObjArgs(array, list, NULL) : NULL;

	Py_XDECREF(array);
	Py_XDECREF(list);
	return made;
}

void numpys_left(const struct fast *f)
{
	if (f)
		((struct numpys *)(void *)(uintptr_t)f)->calls++;
}

const struct fast *numpys_of(PyObject *theirs)
{
	PyObject *name = PyObject_GetAttrString(theirs, "__name__");
	const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	const struct fast *found = text ? numpys_find(text) : NULL;

	Py_XDECREF(name);
	PyErr_Clear();
	return found && ((const struct numpys *)(const void *)found)->theirs == theirs ? found
										       : NULL;
}

static int add_count(PyObject *d, const char *name, uint64_t n)
{
	PyObject *number = PyLong_FromUnsignedLongLong(n), *sum = NULL;
	PyObject *before = number ? PyDict_GetItemString(d, name) : NULL;
	int rc = 0;

	if (before)
		sum = PyNumber_Add(number, before);
	if (number)
		rc = PyDict_SetItemString(d, name, sum ? sum : number);
	Py_XDECREF(number);
	Py_XDECREF(sum);
	return rc || PyErr_Occurred() ? -1 : 0;
}

/* Of a generator's method "random.normal", whichever its class is. */
static int add_row(PyObject *d, const struct numpys *f)
{
	char name[64];

	if (f->how != DRAWS && f->how != SHUFFLES)
		return add_count(d, f->fast.name, f->calls);
	PyOS_snprintf(name, sizeof name, "random%s", strrchr(f->fast.name, '.'));
	return add_count(d, name, f->calls);
}

/* numpys_counts(): how often each of the table was left to NumPy, by name */
static PyObject *counts(PyObject *mod, PyObject *ignored)
{
	PyObject *d = PyDict_New();
	int rc = d ? 0 : -1;

	for (size_t k = 0; k < ROWS && !rc; k++)
		rc = add_row(d, &table[k]);
	if (!rc)
		rc = add_count(d, "getitem", keys_read);
	if (!rc)
		rc = add_count(d, "setitem", keys_written);
	if (rc)
		Py_CLEAR(d);
	return d;
}

static PyMethodDef functions[] = {
	{"lent_call", (PyCFunction)(void (*)(void))call_lent, METH_FASTCALL, NULL},
	{"numpys_counts", counts, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

int numpys_init(PyObject *module)
{
	for (unsigned k = 0; k < ROWS; k++)
		byname_add(&rows, table[k].fast.name, k);
	numpy = PyImport_ImportModule("numpy");
	out_name = PyUnicode_InternFromString("out");
	inner_name = PyUnicode_InternFromString("_numpy");
	if (!numpy || !out_name || !inner_name || lent_init() || target_init())
		return -1;
	return PyModule_AddFunctions(module, functions);
}
