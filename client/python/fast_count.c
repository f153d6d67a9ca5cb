/* SPDX-License-Identifier: Apache-2.0 */
/* fast_count.c - bincount and histogram, by this process.  What is wrong, or of no use to it, is
 * NumPy's.
 *
 * A histogram of bins of one width finds each number's bin by a division and looks at both edges,
 * with NumPy's roundings; of edges that were given it looks for the last that is not larger. */
#include "numpys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A vector with elements. */
static braze_array *vector(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;

	return h && braze_ndim(h) == 1 && braze_size(h) ? h : NULL;
}

/* An error that came up in a wait stays; what is a mistake NumPy tells. */
static bool made(PyObject **out, braze_array *h, const braze_error *err)
{
	if (!err->code) {
		braze_count_near(braze_session_of(h));
		if (watch_reports())
			braze_release(h);
		else
			*out = type_new(h, 0);
		return true;
	}
	if (PyErr_Occurred() || err->code == BRAZE_E_INTERRUPTED)
		wait_raise(err);
	return false;
}

bool fast_bincount(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *x = NULL, *weights = NULL, *h = NULL;
	int64_t least = 0;
	braze_error err = {0};
	bool weighted = false;

	if (core.locked || !fast_bind(slot, f, c) || !(x = vector(slot[0])) ||
	    (slot[2] && !fast_int(&least, slot[2])))
		return fast_numpys(out, f, c);
	weighted = !fast_absent(slot[1]);
	weights = weighted ? vector(slot[1]) : NULL;
	if (weighted && !weights)
		return fast_numpys(out, f, c);
	err.code = braze_bincount(&h, x, weights, least, wait_check_signals, NULL, &err);
	if (made(out, h, &err))
		return true;
	return !PyErr_Occurred() && fast_numpys(out, f, c);
}

/* ---- Histograms ---- */

#define BLOCK	512
#define MOST	(1 << 24)	   /* bins */
#define INTEGER 9007199254740992.0 /* all up to it are doubles */

/* Numbers side by side, and bins. */
struct histogram {
	braze_array *h;
	const char *at;
	int64_t n, bins;
	const double *edge; /* bins + 1, owned */
	double first, last; /* of bins of one width */
	bool wide;	    /* they have different ones */
	int64_t *count;
};

#define LOAD(type)                                                                                 \
	for (int64_t k = 0; k < n; k++) {                                                          \
		type v;                                                                            \
                                                                                                   \
		memcpy(&v, from + k * (int64_t)sizeof v, sizeof v);                                \
		to[k] = (double)v;                                                                 \
	}                                                                                          \
	break

static int64_t load(double *to, const struct histogram *g, int64_t done)
{
	int64_t n = g->n - done < BLOCK ? g->n - done : BLOCK;
	const char *from = g->at + done * braze_itemsize(g->h);

	switch (braze_dtype_of(g->h)) {
	case BRAZE_INT8:
		LOAD(int8_t);
	case BRAZE_INT16:
		LOAD(int16_t);
	case BRAZE_INT32:
		LOAD(int32_t);
	case BRAZE_INT64:
		LOAD(int64_t);
	case BRAZE_UINT8:
		LOAD(uint8_t);
	case BRAZE_UINT16:
		LOAD(uint16_t);
	case BRAZE_UINT32:
		LOAD(uint32_t);
	default:
		LOAD(double);
	}
	return n;
}

static bool is_counted(const braze_array *h)
{
	int d = braze_dtype_of(h);

	return d == BRAZE_FLOAT64 || (d >= BRAZE_INT8 && d < BRAZE_UINT64);
}

/* The least and the largest number; false: one is no number, or not to be told from others. */
static bool find_range(double range[2], const struct histogram *g)
{
	double x[BLOCK], low[4], high[4], wrong = 0;

	for (int i = 0; i < 4; i++) {
		low[i] = HUGE_VAL;
		high[i] = -HUGE_VAL;
	}
	for (int64_t done = 0, n = 0; done < g->n; done += n) {
		n = load(x, g, done);
		for (int64_t k = n; k & 3; k++)
			x[k] = x[0];
		for (int64_t k = 0; k < n; k += 4)
			for (int i = 0; i < 4; i++) {
				low[i] = x[k + i] < low[i] ? x[k + i] : low[i];
				high[i] = x[k + i] > high[i] ? x[k + i] : high[i];
				wrong += x[k + i] - x[k + i]; /* of NaNs and infinities a NaN */
			}
	}
	range[0] = low[0];
	range[1] = high[0];
	for (int i = 1; i < 4; i++) {
		range[0] = low[i] < range[0] ? low[i] : range[0];
		range[1] = high[i] > range[1] ? high[i] : range[1];
	}
	return wrong == 0 && (braze_dtype_of(g->h) == BRAZE_FLOAT64 ||
			      (range[0] > -INTEGER && range[1] < INTEGER));
}

/* Bins of one width. */
static void count_even(const struct histogram *g)
{
	double x[BLOCK], f[BLOCK], width = g->last - g->first, bins = (double)g->bins;
	int64_t last = g->bins - 1;

	for (int64_t done = 0, n = 0; done < g->n; done += n) {
		n = load(x, g, done);
		for (int64_t k = 0; k < n; k++)
			f[k] = (x[k] - g->first) / width * bins;
		for (int64_t k = 0; k < n; k++) {
			int64_t i = 0;

			if (!(x[k] >= g->first && x[k] <= g->last))
				continue;
			i = (int64_t)f[k];
			i -= i > last;
			i -= (i > 0) & (x[k] < g->edge[i]);
			i += (i != last) & (x[k] >= g->edge[i + 1]);
			g->count[i]++;
		}
	}
}

/* Bins of any width: the last edge, but for the very last, that is not larger. */
static void count_any(const struct histogram *g)
{
	double x[BLOCK];

	for (int64_t done = 0, n = 0; done < g->n; done += n) {
		n = load(x, g, done);
		for (int64_t k = 0; k < n; k++) {
			const double *at = g->edge;

			if (!(x[k] >= at[0] && x[k] <= at[g->bins]))
				continue;
			for (int64_t left = g->bins; left > 1; left -= left / 2)
				at += at[left / 2] <= x[k] ? left / 2 : 0;
			g->count[at - g->edge]++;
		}
	}
}

/* A number of Python's that a double is. */
static bool read_number(double *out, PyObject *o)
{
	int64_t i = 0;

	if (PyFloat_CheckExact(o)) {
		*out = PyFloat_AsDouble(o);
		return isfinite(*out);
	}
	if (!fast_int(&i, o) || (double)i >= INTEGER || (double)i <= -INTEGER)
		return false;
	*out = (double)i;
	return true;
}

/* What the bins cover; false: NumPy knows. */
static bool read_range(struct histogram *g, PyObject *range)
{
	double of[2], found[2];
	bool given = !fast_absent(range), integers = braze_dtype_of(g->h) != BRAZE_FLOAT64;

	if (given && (!PyTuple_CheckExact(range) || PyTuple_Size(range) != 2 ||
		      !read_number(&of[0], PyTuple_GetItem(range, 0)) ||
		      !read_number(&of[1], PyTuple_GetItem(range, 1)) || of[0] > of[1]))
		return false;
	if ((!given || integers) && !find_range(found, g))
		return false;
	g->first = given ? of[0] : found[0];
	g->last = given ? of[1] : found[1];
	return true;
}

/* NumPy's edges of so many bins over the range, as its array. */
static PyObject *even_edges(struct histogram *g, PyObject *bins)
{
	bool integers = braze_dtype_of(g->h) != BRAZE_FLOAT64;
	const struct fast *f = numpys_find("histogram_bin_edges");
	PyObject *few = NULL, *made = NULL;

	if (!f)
		return NULL;
	few = numpys_numbers(
		integers ? Py_BuildValue("[LL]", (long long)g->first, (long long)g->last)
			 : Py_BuildValue("[dd]", g->first, g->last));
	if (few)
		made = PyObject_CallFunction(numpys_theirs(f), "OO(dd)", few, bins, g->first,
					     g->last);
	Py_XDECREF(few);
	if (g->first == g->last) { /* as NumPy widens them */
		g->first -= 0.5;
		g->last += 0.5;
	}
	return made;
}

/* The bins' edges, of doubles or of integers that are such, in rising order. */
static bool read_edges(struct histogram *g, const void *at, int64_t n, bool integers)
{
	double *edge = n < 2 || n > MOST ? NULL : PyMem_Malloc((size_t)n * sizeof *edge);

	g->edge = edge;
	g->bins = n - 1;
	if (!edge)
		return false;
	for (int64_t k = 0; k < n; k++) {
		int64_t whole = 0;

		memcpy(integers ? (void *)&whole : (void *)&edge[k], (const char *)at + k * 8, 8);
		if (integers)
			edge[k] = (double)whole;
		if (isnan(edge[k]) || (integers && fabs(edge[k]) >= INTEGER) ||
		    (k && edge[k] < edge[k - 1]))
			return false;
	}
	return true;
}

/* Those of an array of NumPy's. */
static bool read_numpys(struct histogram *g, PyObject *edges)
{
	bool done = false;
	Py_buffer b;

	if (PyObject_GetBuffer(edges, &b, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT))
		return false;
	if (b.ndim == 1 && (!strcmp(b.format, "d") || !strcmp(b.format, "l")))
		done = read_edges(g, b.buf, b.shape[0], *b.format == 'l');
	PyBuffer_Release(&b);
	return done;
}

/* Edges in a list, or an array of ours: what the caller gets back, or NULL. */
static PyObject *given_edges(struct histogram *g, PyObject *bins)
{
	braze_array *h = nd_check(bins) && !(nd(bins)->flags & ND_SCALAR) ? nd(bins)->h : NULL;
	PyObject *made = NULL, *r = NULL;
	int d = h ? braze_dtype_of(h) : -1;
	const void *at = NULL;

	if (h && braze_ndim(h) == 1 && braze_is_contiguous(h) &&
	    (d == BRAZE_FLOAT64 || d == BRAZE_INT64) && (at = wait_data(h)))
		return read_edges(g, at, braze_size(h), d == BRAZE_INT64) ? Py_NewRef(bins) : NULL;
	if (!PyList_CheckExact(bins) && !PyTuple_CheckExact(bins))
		return NULL;
	made = PyObject_CallFunctionObjArgs(core.np_array, bins, NULL);
	if (made && read_numpys(g, made))
		r = lent_taken(made);
	Py_XDECREF(made);
	return r;
}

static PyObject *count_bins(struct histogram *g)
{
	braze_array *made = NULL;
	braze_error err;
	PyObject *r = NULL;

	g->count = PyMem_Calloc((size_t)g->bins, sizeof *g->count);
	if (!g->count)
		return PyErr_NoMemory();
	if (g->wide)
		count_any(g);
	else
		count_even(g);
	err.code = braze_from_data(&made, braze_session_of(g->h), BRAZE_INT64, 1, &g->bins, NULL,
				   g->count, &err);
	if (!err.code)
		r = type_new(made, 0);
	PyMem_Free(g->count);
	return r;
}

/* The numbers, waited for; false: they are NumPy's, or an exception is set. */
static bool read_numbers(struct histogram *g, PyObject *a)
{
	g->h = nd_check(a) && !(nd(a)->flags & ND_SCALAR) ? nd(a)->h : NULL;
	if (!g->h || !braze_size(g->h) || !braze_is_contiguous(g->h) || !is_counted(g->h)) {
		g->h = NULL;
		return false;
	}
	braze_retain(g->h); /* others may let go of it while this waits */
	g->n = braze_size(g->h);
	g->at = wait_data(g->h);
	return g->at != NULL;
}

/* The bins' edges, as the caller gets them. */
static PyObject *find_edges(struct histogram *g, PyObject *bins, PyObject *range)
{
	PyObject *edges = NULL, *r = NULL;
	double found[2];

	g->wide = !PyLong_CheckExact(bins);
	if (g->wide) /* integers must be doubles */
		return fast_absent(range) && (braze_dtype_of(g->h) == BRAZE_FLOAT64 ||
					      find_range(found, g))
			       ? given_edges(g, bins)
			       : NULL;
	if (!fast_int(&g->bins, bins) || g->bins < 1 || g->bins >= MOST || !read_range(g, range))
		return NULL;
	edges = even_edges(g, bins);
	if (edges && isfinite(g->last - g->first) && read_numpys(g, edges))
		r = lent_taken(edges);
	Py_XDECREF(edges);
	return r;
}

static PyObject *histogram(PyObject *a, PyObject *bins, PyObject *range)
{
	struct histogram g = {.bins = 0};
	PyObject *counts = NULL, *edges = NULL, *r = NULL;

	if (read_numbers(&g, a))
		edges = find_edges(&g, bins, range);
	/* Making the edges may have let others in between, who wrote the numbers. */
	if (edges && (g.at = wait_at_hand(g.h)))
		counts = count_bins(&g);
	if (counts)
		r = PyTuple_Pack(2, counts, edges);
	PyMem_Free((void *)(uintptr_t)g.edge);
	braze_release(g.h);
	Py_XDECREF(edges);
	Py_XDECREF(counts);
	return r;
}

bool fast_histogram(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS], *bins = NULL;

	if (!core.locked && fast_bind(slot, f, c) && fast_absent(slot[3]) && fast_absent(slot[4]))
		bins = slot[1] ? Py_NewRef(slot[1]) : PyLong_FromLong(10);
	if (bins)
		*out = histogram(slot[0], bins, slot[2]);
	Py_XDECREF(bins);
	if (*out) {
		braze_count_near(core.session);
		return true;
	}
	if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
		return false; /* Ctrl-C */
	PyErr_Clear();
	return fast_numpys(out, f, c);
}
