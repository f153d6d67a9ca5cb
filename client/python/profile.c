/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - a program's time by its lines: what braze.profile shows.
 *
 * In: libbraze's ticks (braze_fast.h), in the calls that the program makes.  Out: sums for each
 * line.  What the daemon ran in a wait is the lines' that recorded it since the wait before, by
 * their predicted work; all else is the line's that made the call. */
#include "core.h"
#include "native.h"

#include <stdlib.h>
#include <string.h>

#define LINES 4096 /* more go into one row */
#define SLOTS (2 * LINES)
#define SITES 1024 /* that are remembered: instructions, */
#define CODES 256  /* functions */

struct line {
	PyObject *code; /* NULL: of no known place */
	int number;
	uint64_t own, near, numpy, wait, planning, running, queued, code_wait, memory_wait, copy;
	uint64_t ops_near, ops_far, trips, copied;
};

/* Which line an instruction of a program belongs to: to find that takes many times as long as to
 * look here. */
struct site {
	PyObject *code; /* owned; NULL: free */
	long instruction;
	uint16_t line;
};

/* Whether a function is braze's own. */
struct whose {
	PyObject *code; /* owned; NULL: free */
	bool ours;
};

/* Operations that a line recorded one after the other. */
struct recorded {
	uint16_t line;
	uint64_t ops, work;
};

static struct {
	struct line *line; /* the first is of no known place; NULL: off */
	uint16_t *slot;	   /* hash table of indices; 0: free */
	unsigned n, nrecorded;
	struct recorded *recorded; /* and not run, as far as is known; oldest first */
	struct site site[SITES];
	struct whose whose[CODES];
	PyObject *file_name, *back_name;
	PyObject *at; /* f_lasti of frames, a descriptor: to look it up takes as long as all the
			 rest */
	descrgetfunc at_get;
} profile;

static size_t place_of(const PyObject *code)
{
	return (uintptr_t)code / 64 * 31;
}

/* Is it a function of the program's? */
static bool is_programs(PyObject *code)
{
	struct whose *w = &profile.whose[place_of(code) % CODES];
	PyObject *file = NULL;

	if (w->code == code)
		return !w->ours;
	file = PyObject_GetAttr(code, profile.file_name);
	Py_XDECREF(w->code);
	w->code = Py_NewRef(code);
	w->ours = !file || PyUnicode_Tailmatch(file, core.package, 0, PY_SSIZE_T_MAX, -1) != 0;
	Py_XDECREF(file);
	return !w->ours;
}

/* The innermost frame of the program's, as a new reference; NULL: none. */
static PyObject *program_frame(PyObject **code)
{
	PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());

	while (frame && frame != Py_None) {
		PyObject *back = NULL;

		*code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
		if (is_programs(*code))
			return frame;
		Py_CLEAR(*code);
		back = PyObject_GetAttr(frame, profile.back_name);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	*code = NULL;
	return NULL;
}

static struct line *find(PyObject *code, int number)
{
	size_t at = (place_of(code) + (unsigned)number) % SLOTS;

	for (; profile.slot[at]; at = (at + 1) % SLOTS) {
		struct line *l = &profile.line[profile.slot[at]];

		if (l->code == code && l->number == number)
			return l;
	}
	if (profile.n == LINES)
		return &profile.line[0];
	profile.slot[at] = (uint16_t)profile.n;
	profile.line[profile.n] = (struct line){.code = Py_NewRef(code), .number = number};
	return &profile.line[profile.n++];
}

/* The line of the frame, which runs this code. */
static struct line *line_of(PyObject *frame, PyObject *code)
{
	PyObject *at = profile.at_get(profile.at, frame, (PyObject *)Py_TYPE(frame));
	long instruction = at ? PyLong_AsLong(at) : -1;
	struct site *s = &profile.site[(place_of(code) + (size_t)instruction / 2) % SITES];

	Py_XDECREF(at);
	if (s->code != code || s->instruction != instruction) {
		struct line *l = find(code, PyFrame_GetLineNumber((PyFrameObject *)frame));

		Py_XDECREF(s->code);
		*s = (struct site){Py_NewRef(code), instruction, (uint16_t)(l - profile.line)};
	}
	return &profile.line[s->line];
}

/* The line that the program is in. */
static struct line *here(void)
{
	PyObject *code = NULL, *frame = program_frame(&code);
	struct line *l = &profile.line[0];

	if (frame)
		l = line_of(frame, code);
	Py_XDECREF(frame);
	Py_XDECREF(code);
	return l;
}

/* Takes the newest `ran` operations from the list, and puts their lines' work into `of`; the
 * sum. */
static uint64_t take_run(struct recorded *of, unsigned *n, uint64_t ran)
{
	uint64_t sum = 0;

	for (*n = 0; ran && profile.nrecorded; (*n)++) {
		struct recorded *r = &profile.recorded[profile.nrecorded - 1];
		uint64_t taken = r->ops < ran ? r->ops : ran;
		uint64_t work = (uint64_t)((double)r->work * (double)taken / (double)r->ops);

		of[*n] = (struct recorded){r->line, taken, work};
		sum += work;
		ran -= taken;
		r->ops -= taken;
		r->work -= work;
		profile.nrecorded -= !r->ops;
	}
	return sum;
}

/* What ran in a wait is theirs who recorded it: which operations it was is not told, but how many,
 * and what is read is mostly the newest. */
static void share(struct line *waits, uint64_t running, uint64_t ran)
{
	static struct recorded run[LINES];
	unsigned n = 0;
	uint64_t sum = take_run(run, &n, ran), left = running;

	for (unsigned i = 0; i < n && sum; i++) {
		uint64_t part = (uint64_t)((double)running * (double)run[i].work / (double)sum);

		part = part < left ? part : left;
		profile.line[run[i].line].running += part;
		left -= part;
	}
	waits->running += left;
}

static void add_wait(struct line *l, const struct braze_tick *t)
{
	uint64_t planning = t->spent.planning_ns, running = t->spent.running_ns,
		 queued = t->spent.queued_ns, all = planning + running + queued;

	l->trips += t->trips;
	if (t->kind != BRAZE_WAIT_VALUE) {
		*(t->kind == BRAZE_WAIT_CODE ? &l->code_wait : &l->memory_wait) += t->wait_ns;
		return;
	}
	/* Work may have run side by side, or before the wait. */
	if (all > t->wait_ns) {
		double scale = (double)t->wait_ns / (double)all;

		planning = (uint64_t)((double)planning * scale);
		running = (uint64_t)((double)running * scale);
		queued = (uint64_t)((double)queued * scale);
	}
	l->planning += planning;
	l->queued += queued;
	all = planning + running + queued;
	l->wait += t->wait_ns > all ? t->wait_ns - all : 0;
	share(l, running, t->spent.ran);
}

static void add_recorded(struct line *l, const struct braze_tick *t)
{
	uint16_t line = (uint16_t)(l - profile.line);
	struct recorded *last = &profile.recorded[profile.nrecorded - (profile.nrecorded > 0)];

	l->ops_far += t->far;
	if (profile.nrecorded && last->line == line) {
		last->ops += t->far;
		last->work += t->work;
		return;
	}
	/* The older half of what never ran will never run. */
	if (profile.nrecorded == LINES) {
		profile.nrecorded = LINES / 2;
		memmove(profile.recorded, profile.recorded + LINES / 2,
			LINES / 2 * sizeof *profile.recorded);
	}
	profile.recorded[profile.nrecorded++] = (struct recorded){line, t->far, t->work};
}

static void tick(void *data, const struct braze_tick *t)
{
	PyObject *type = NULL, *value = NULL, *trace = NULL;
	struct line *l = NULL;
	bool raised = false;

	if (!profile.line)
		return;
	raised = PyErr_Occurred() != NULL;
	if (raised)
		PyErr_Fetch(&type, &value, &trace);
	l = here();
	if (raised)
		PyErr_Restore(type, value, trace);
	else if (PyErr_Occurred())
		PyErr_Clear();
	l->own += t->own_ns;
	l->near += t->near_ns;
	l->numpy += t->numpy_ns;
	l->ops_near += t->near;
	l->copy += t->copy_ns;
	l->copied += t->copied;
	if (t->far)
		add_recorded(l, t);
	if (t->trips)
		add_wait(l, t);
	else
		l->wait += t->wait_ns;
}

static void clear(void)
{
	for (unsigned i = 1; i < profile.n; i++)
		Py_XDECREF(profile.line[i].code);
	for (unsigned i = 0; i < SITES; i++)
		Py_CLEAR(profile.site[i].code);
	for (unsigned i = 0; i < CODES; i++)
		Py_CLEAR(profile.whose[i].code);
	free(profile.line);
	free(profile.slot);
	free(profile.recorded);
	profile.line = NULL;
	profile.slot = NULL;
	profile.recorded = NULL;
	profile.n = profile.nrecorded = 0;
	core.profiling = 0;
}

/* What frames and code are asked for. */
static bool names_found(void)
{
	PyObject *frame = NULL;

	if (profile.at)
		return true;
	profile.file_name = PyUnicode_InternFromString("co_filename");
	profile.back_name = PyUnicode_InternFromString("f_back");
	frame = (PyObject *)PyEval_GetFrame();
	if (profile.file_name && profile.back_name && frame)
		profile.at = PyObject_GetAttrString((PyObject *)Py_TYPE(frame), "f_lasti");
	if (profile.at)
		profile.at_get = (descrgetfunc)PyType_GetSlot(Py_TYPE(profile.at), Py_tp_descr_get);
	if (!profile.at && !PyErr_Occurred())
		PyErr_SetString(PyExc_RuntimeError, "a profile is opened by a program of Python");
	return profile.at && profile.at_get;
}

/* profile_start(): connects */
static PyObject *profile_start(PyObject *mod, PyObject *ignored)
{
	braze_session *s = wait_session();
	braze_error err = {0};

	if (!s)
		return NULL;
	if (profile.line) {
		PyErr_SetString(PyExc_RuntimeError,
				"a braze.profile() is open already, and one is open at a time");
		return NULL;
	}
	if (!names_found())
		return NULL;
	profile.line = calloc(LINES, sizeof *profile.line);
	profile.slot = calloc(SLOTS, sizeof *profile.slot);
	profile.recorded = calloc(LINES, sizeof *profile.recorded);
	profile.n = 1;
	if (!profile.line || !profile.slot || !profile.recorded) {
		clear();
		return PyErr_NoMemory();
	}
	err.code = braze_set_profiler(s, tick, NULL, &err);
	if (err.code) {
		clear();
		wait_raise(&err);
		return NULL;
	}
	core.profiling = 1;
	Py_RETURN_NONE;
}

static PyObject *row(const struct line *l)
{
	PyObject *file =
		l->code ? PyObject_GetAttr(l->code, profile.file_name) : PyUnicode_FromString("");
	PyObject *out = NULL;

	if (file)
		out = Py_BuildValue("(OiKKKKKKKKKKKKKK)", file, l->number, l->own, l->near,
				    l->numpy, l->wait, l->planning, l->running, l->queued,
				    l->code_wait, l->memory_wait, l->copy, l->ops_near, l->ops_far,
				    l->trips, l->copied);
	Py_XDECREF(file);
	return out;
}

/* profile_stop(): a tuple for each line, as _profile.py names its items; [] where none is open */
static PyObject *profile_stop(PyObject *mod, PyObject *ignored)
{
	PyObject *list = PyList_New(0);

	if (core.session && profile.line)
		braze_set_profiler(core.session, NULL, NULL, NULL);
	for (unsigned i = 0; list && i < profile.n; i++) {
		PyObject *one = row(&profile.line[i]);

		if (!one || PyList_Append(list, one))
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	clear();
	return list;
}

/* profile_numpys(function, ...): what the function gives, whose time is NumPy's */
static PyObject *profile_numpys(PyObject *mod, PyObject *const *args, Py_ssize_t n)
{
	PyObject *made = NULL;

	if (n < 1) {
		PyErr_SetString(PyExc_TypeError, "profile_numpys() takes a function");
		return NULL;
	}
	profile_mark(1);
	made = PyObject_Vectorcall(args[0], args + 1, (size_t)(n - 1), NULL);
	profile_mark(0);
	return made;
}

void profile_mark(int on)
{
	if (core.profiling && core.session)
		braze_profile_numpys(core.session, on);
}

void profile_forked(void)
{
	clear();
}

PyMethodDef profile_methods[] = {
	{"profile_start", profile_start, METH_NOARGS, NULL},
	{"profile_stop", profile_stop, METH_NOARGS, NULL},
	{"profile_numpys", (PyCFunction)(void (*)(void))profile_numpys, METH_FASTCALL, NULL},
	{NULL, NULL, 0, NULL},
};
