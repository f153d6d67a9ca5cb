/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - the session, errors as exceptions, and every wait.
 *
 * In: handles.  Out: addresses, or a Python exception.  The interpreter lock is
 * the session's lock; in waits the library gives it up (leave, enter) and looks
 * for Ctrl-C through the check callback. */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An exception's class; NULL: there is none of that name.  Kernels may run, and fail, before
 * braze.numpy is imported, which gives the table. */
static PyObject *class_named(const char *name)
{
	PyObject *errors = NULL;

	if (!core.errors) {
		errors = PyImport_ImportModule("braze.errors");
		core.errors = errors ? PyObject_GetAttrString(errors, "BY_NAME") : NULL;
		Py_XDECREF(errors);
		if (!core.errors)
			PyErr_Clear();
	}
	return core.errors ? PyDict_GetItemString(core.errors, name) : NULL;
}

int wait_raise(const braze_error *err)
{
	const char *name = NULL;
	PyObject *cls = NULL, *text = NULL;

	if (PyErr_Occurred())
		return -1; /* a signal handler raised while we waited */
	if (err->code == BRAZE_E_INTERRUPTED) {
		PyErr_SetNone(PyExc_KeyboardInterrupt);
		return -1;
	}
	name = braze_error_python(err->code);
	cls = class_named(name ? name : "braze.BrazeError");
	text = err->code == BRAZE_E_INDEX || err->code == BRAZE_E_FLOATING
		       ? gather_message(err->text)
		       : NULL;
	if (text)
		PyErr_SetObject(cls ? cls : PyExc_RuntimeError, text);
	else
		PyErr_SetString(cls ? cls : PyExc_RuntimeError, err->text);
	Py_XDECREF(text);
	return -1;
}

int wait_check_signals(void *data)
{
	PyGILState_STATE st = PyGILState_Ensure();
	int stop = PyErr_CheckSignals();

	PyGILState_Release(st);
	return stop;
}

/* The interpreter lock guards the session: the library gives it up in waits. */
static void *leave(void *data)
{
	return PyEval_SaveThread();
}

static void enter(void *data, void *token)
{
	PyEval_RestoreThread(token);
}

/* ---- A line that waits for every element ---- */

#define MANY_WAITS 1000 /* one after the other, each for a number, in one line */
#define FEW_OPS	   16	/* were recorded in between, at most */

static struct {
	char place[96]; /* where the last demand was made */
	unsigned times;
	uint64_t ops; /* the session had recorded then */
	bool fresh;   /* its value was not read yet */
	bool said;
} waits;

static void note_wait(const char *place)
{
	bool same = place && !strcmp(place, waits.place);

	waits.fresh = true;
	waits.times = same ? waits.times + 1 : 1;
	if (!same)
		PyOS_snprintf(waits.place, sizeof waits.place, "%s", place ? place : "");
}

/* The value of h has been read; -1: the warning is an error. */
static int warn_of_waits(const braze_array *h)
{
	PyObject *category = NULL;
	struct braze_counters c;
	uint64_t before = waits.ops;

	waits.fresh = false;
	if (waits.said)
		return 0;
	braze_get_counters(core.session, &c);
	waits.ops = c.ops;
	if (braze_size(h) != 1 || c.ops - before > FEW_OPS)
		waits.times = 0;
	if (waits.times < MANY_WAITS)
		return 0;
	waits.said = true;
	category = PyDict_GetItemString(core.errors, "braze.PerformanceWarning");
	return PyErr_WarnFormat(
		category ? category : PyExc_RuntimeWarning, 1,
		"%s has waited for the daemon %d times, for one number each: read elements of "
		"numpy.asarray(a), taken once before the loop, compute on whole arrays, or put the "
		"loop under @braze.jit; braze.profile() shows what it costs",
		waits.place, MANY_WAITS);
}

/* "file:line" of the program; asked for each demand, so without any of Python's code. */
static const char *where(void *data)
{
	static char text[96];
	PyObject *place = PyErr_Occurred() ? NULL : watch_place();
	Py_ssize_t n = 0;
	const char *s = place ? PyUnicode_AsUTF8AndSize(place, &n) : NULL;
	size_t size = (size_t)n;

	/* The end of a long path says more than its beginning. */
	if (s && size >= sizeof text) {
		s += size - sizeof text + 1;
		size = sizeof text - 1;
	}
	if (s)
		memcpy(text, s, size + 1);
	if (place && !s)
		PyErr_Clear();
	Py_XDECREF(place);
	note_wait(s ? text : NULL);
	return s ? text : NULL;
}

/* What a signal handler, or acting on a report, raised in the wait of an export:
 * numpy.asarray drops it and goes on with the next of its protocols, inside one and the
 * same instruction. */
static struct {
	PyObject *exception;   /* NULL: none */
	const PyObject *frame; /* that called; only compared, never used */
	long place;	       /* its instruction */
} dropped;

static void forget_dropped(void)
{
	Py_CLEAR(dropped.exception);
}

static long frame_place(PyObject *frame)
{
	PyObject *place = PyObject_GetAttrString(frame, "f_lasti");
	long at = place ? PyLong_AsLong(place) : -1;

	Py_XDECREF(place);
	PyErr_Clear();
	return at;
}

static void keep_dropped(void)
{
	PyObject *frame = (PyObject *)PyEval_GetFrame();
	PyObject *type = NULL, *value = NULL, *trace = NULL;

	forget_dropped();
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (frame) {
		dropped.exception = Py_XNewRef(value);
		dropped.frame = frame;
		dropped.place = frame_place(frame);
	}
	PyErr_Restore(type, value, trace);
}

/* Are we, at least `depth` calls of Python functions below it, still in the call that
 * dropped it? */
static bool still_there(int depth)
{
	enum { DEEPEST = 4 };
	PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
	bool there = false;

	for (int i = 0; frame && i < DEEPEST && !there; i++) {
		PyObject *back = PyObject_GetAttrString(frame, "f_back");

		there = i >= depth && frame == dropped.frame && frame_place(frame) == dropped.place;
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return there;
}

/* Raise it again?  Else it came through, or this is a new attempt. */
static bool raise_dropped(int depth)
{
	if (!still_there(depth)) {
		forget_dropped();
		return false;
	}
	PyErr_SetObject((PyObject *)Py_TYPE(dropped.exception), dropped.exception);
	return true;
}

const void *wait_data(braze_array *h)
{
	const void *data = NULL;
	braze_error err;
	int rc = 0;

	if (dropped.exception && raise_dropped(0))
		return NULL;
	rc = braze_data(&data, h, wait_check_signals, NULL, &err);
	if (rc) {
		err.code = rc;
		wait_raise(&err);
		return NULL;
	}
	if (watch_reports() || (waits.fresh && warn_of_waits(h)))
		return NULL;
	/* An array without elements may have no memory; NULL means failure. */
	return data ? data : (const void *)"";
}

PyObject *wait_explain(braze_array *h)
{
	char *text = NULL;
	braze_error err;
	PyObject *out = NULL;

	err.code = braze_explain(&text, h, wait_check_signals, NULL, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	if (!watch_reports())
		out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
	free(text);
	return out;
}

typedef int ask_fn(braze_future **out, int n, braze_array *const *arrays, braze_error *err);

static int wait_answer(ask_fn *ask_them, braze_array *const *h, int n)
{
	braze_array *few[16], **ask = n <= 16 ? few : PyMem_Malloc((size_t)n * sizeof *ask);
	braze_future *f = NULL;
	braze_error err = {0};
	int count = 0;

	if (!ask) {
		PyErr_NoMemory();
		return -1;
	}
	for (int k = 0; k < n; k++)
		if (!braze_is_stored(h[k]))
			ask[count++] = h[k];
	if (count)
		err.code = ask_them(&f, count, ask, &err);
	if (f && !err.code) {
		err.code = braze_wait(f, -1, wait_check_signals, NULL, &err);
		braze_future_release(f);
	}
	if (ask != few)
		PyMem_Free(ask);
	if (err.code)
		return wait_raise(&err);
	return watch_reports() ? -1 : 0;
}

int wait_for(braze_array *const *h, int n)
{
	return wait_answer(braze_demand, h, n);
}

int wait_computed(braze_array *const *h, int n)
{
	return wait_answer(braze_compute, h, n);
}

const void *wait_export(braze_array *h)
{
	const void *data = NULL;
	braze_error err;

	/* Asked from the same place, not from below it, it is asked anew. */
	if (dropped.exception && raise_dropped(1))
		return NULL;
	err.code = braze_data(&data, h, wait_check_signals, NULL, &err);
	if (!err.code && !watch_reports())
		return data ? data : (const void *)"";
	if (err.code)
		wait_raise(&err);
	/* What will not come a second time: a signal's, or what a report raised. */
	if (!err.code || err.code == BRAZE_E_INTERRUPTED)
		keep_dropped();
	return NULL;
}

const void *wait_at_hand(braze_array *h)
{
	return dropped.exception || core.reports ? NULL : braze_at_hand(h);
}

void *wait_fence(braze_array *h)
{
	void *data = NULL;
	braze_error err;
	int rc = 0;

	rc = braze_fence(&data, h, wait_check_signals, NULL, &err);
	if (rc) {
		err.code = rc;
		wait_raise(&err);
		return NULL;
	}
	if (watch_reports())
		return NULL;
	return data ? data : (void *)"";
}

/* Whether the daemon is alive is a question to its socket, dearer than most calls that
 * need a session: it is asked anew after this time.  What is recorded meanwhile for one that
 * has just ended fails as what was recorded a moment before does. */
#define ALIVE_NS 250000

static bool asked_lately(void)
{
	static int64_t last;
	static const braze_session *of;
	struct timespec t;
	int64_t now = 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (of == core.session && now - last < ALIVE_NS)
		return true;
	of = core.session;
	last = now;
	return false;
}

/* What the program is inside of; -1 with an exception. */
static int begin_session(braze_session *s)
{
	braze_error err = {0};

	/* Inside a with braze.device(): another daemon may not have it. */
	if (*core.device && braze_set_device(s, core.device, &err))
		return wait_raise(&err);
	if (*core.precision && braze_set_precision(s, core.precision, &err))
		return wait_raise(&err);
	if (core.shared && braze_set_shared(s, 1, &err))
		return wait_raise(&err);
	return about_notice(s);
}

braze_session *wait_session(void)
{
	struct braze_options opt = {.size = sizeof opt,
				    .name = *core.name ? core.name : NULL,
				    .file = *core.file ? core.file : NULL,
				    .environment = *core.environment ? core.environment : NULL,
				    .flags = core.flags | BRAZE_RECONNECT};
	const struct braze_owner owner = {
		.leave = leave, .enter = enter, .where = where, .check = wait_check_signals};
	braze_session *s = NULL;
	braze_error err = {0};
	int rc = 0;

	if (core.session && ((asked_lately() && braze_is_connected(core.session)) ||
			     !braze_session_error(core.session, NULL)))
		return core.session;
	if (core.session) {
		/* The daemon ended: what it had stored goes on with the next one. */
		err.code = braze_reconnect(core.session, &err);
		return err.code ? (wait_raise(&err), NULL) : core.session;
	}
	Py_BEGIN_ALLOW_THREADS;
	rc = braze_connect(&s, &opt, &err);
	Py_END_ALLOW_THREADS;
	if (rc) {
		err.code = rc;
		wait_raise(&err);
		return NULL;
	}
	if (core.session) {
		/* Another thread was faster while we connected. */
		braze_close(s);
	} else {
		braze_set_owner(s, &owner);
		watch_session(s);
		core.session = s;
		if (begin_session(s))
			return NULL;
	}
	return core.session;
}

int wait_check_locked(braze_array *h)
{
	struct host_block *b = NULL;
	PyObject *cls = NULL;

	for (b = core.blocks; b; b = b->next) {
		if (!b->locks || !braze_same_buffer(b->h, h))
			continue;
		cls = class_named("braze.BrazeError");
		PyErr_SetString(
			cls ? cls : PyExc_RuntimeError,
			"the array is open for writing in braze.host(), or through a buffer, "
			"a pointer or an iterator: leave the with block, or delete what "
			"writes it, before using it in an operation");
		return -1;
	}
	return 0;
}
