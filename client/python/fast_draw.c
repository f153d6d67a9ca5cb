/* SPDX-License-Identifier: Apache-2.0 */
/* fast_draw.c - uniform random numbers of NumPy's generators, and all of braze.random's, where the
 * arguments are plain.
 *
 * NumPy's bit generators tell where their state lies and give numbers by functions (numpy/random/
 * bitgen.h, which others may use).  Few numbers are asked for one by one.  Of PCG64, whose state
 * is known by its layout, arrays are draws of braze's: the state jumps over them in the call, so
 * they may be lazy. */
#include "native.h"

#include <math.h>
#include <string.h>

#include "numpys.h"

#define STATE	   8  /* words of a draw's state */
#define LOW	   5  /* that of what is added, */
#define SPAN	   6  /* and that of the factor */
#define ONE_BY_ONE 24 /* numbers: more are sooner drawn as an array */

/* As numpy/random/bitgen.h has it. */
struct bitgen {
	void *state;
	uint64_t (*next_uint64)(void *state);
	uint32_t (*next_uint32)(void *state);
	double (*next_double)(void *state);
	uint64_t (*next_raw)(void *state);
};

/* PCG64's state: who uses it has compared it with what NumPy says of it (pcg64_words). */
struct pcg64 {
	uint64_t *words; /* of state and increment, low ones first */
	int has_half;
	uint32_t half;
};

/* A bit generator as a Generator of ours has it. */
struct stream {
	PyObject_HEAD struct bitgen *bits;
	PyObject *owner, *acquire, *release; /* its lock's functions */
	struct pcg64 *pcg64;		     /* or NULL */
};

/* What braze.random.Generator is made of. */
struct counter {
	PyObject_HEAD unsigned long long key, draw;
};

static PyTypeObject *stream_type, *counter_type;
static PyObject *stream_name;

/* ---- Streams ---- */

static struct bitgen *bitgen_of(PyObject *bit_generator)
{
	PyObject *capsule = PyObject_GetAttrString(bit_generator, "capsule");
	struct bitgen *b = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;

	Py_XDECREF(capsule); /* the generator keeps it */
	return b;
}

/* The bytes of a class's objects; of the last one that was asked about they are known. */
static size_t bytes_of(PyTypeObject *type)
{
	static PyTypeObject *last;
	static size_t all;
	PyObject *size = NULL;

	if (type == last)
		return all;
	size = PyObject_GetAttrString((PyObject *)type, "__basicsize__");
	all = size ? PyLong_AsSize_t(size) : 0;
	Py_XDECREF(size);
	if (PyErr_Occurred()) {
		PyErr_Clear();
		return 0;
	}
	Py_XDECREF((PyObject *)last);
	last = (PyTypeObject *)Py_NewRef((PyObject *)type);
	return all;
}

/* Does the memory belong to the object? */
static bool is_inside(PyObject *o, const void *at, size_t bytes)
{
	size_t all = bytes_of(Py_TYPE(o)), place = (size_t)at - (size_t)o;

	return (uintptr_t)at > (uintptr_t)o && place <= all && bytes <= all - place;
}

static struct pcg64 *pcg64_of(PyObject *bit_generator, const struct bitgen *b)
{
	struct pcg64 *p = b->state;

	return is_inside(bit_generator, p, sizeof *p) &&
			       is_inside(bit_generator, p->words, 4 * sizeof *p->words)
		       ? p
		       : NULL;
}

static void read_state(uint64_t state[STATE], const struct pcg64 *p)
{
	memset(state, 0, STATE * sizeof *state);
	memcpy(state, p->words, 4 * sizeof *state);
	state[4] = (uint64_t)(p->has_half != 0) << 32 | p->half;
}

static void write_state(struct pcg64 *p, const uint64_t state[STATE])
{
	memcpy(p->words, state, 4 * sizeof *state);
	p->has_half = (int)(state[4] >> 32 & 1);
	p->half = (uint32_t)state[4];
}

/* pcg64_words(bit_generator): its state as it is read here, None if it cannot be. */
static PyObject *pcg64_words(PyObject *mod, PyObject *bit_generator)
{
	struct bitgen *b = bitgen_of(bit_generator);
	struct pcg64 *p = b ? pcg64_of(bit_generator, b) : NULL;
	uint64_t state[STATE];

	if (!b)
		return NULL;
	if (!p)
		return Py_NewRef(Py_None);
	read_state(state, p);
	return Py_BuildValue("KKKKK", (unsigned long long)state[0], (unsigned long long)state[1],
			     (unsigned long long)state[2], (unsigned long long)state[3],
			     (unsigned long long)state[4]);
}

static PyObject *stream_new(PyObject *of, int pcg64)
{
	struct bitgen *b = bitgen_of(of);
	struct stream *self = b ? PyObject_New(struct stream, stream_type) : NULL;
	PyObject *lock = NULL;

	if (!self)
		return NULL;
	self->bits = b;
	self->owner = Py_NewRef(of);
	self->pcg64 = pcg64 ? pcg64_of(of, b) : NULL;
	lock = PyObject_GetAttrString(of, "lock");
	self->acquire = lock ? PyObject_GetAttrString(lock, "acquire") : NULL;
	self->release = lock ? PyObject_GetAttrString(lock, "release") : NULL;
	Py_XDECREF(lock);
	if (!self->acquire || !self->release)
		Py_CLEAR(self);
	return (PyObject *)self;
}

/* stream(bit_generator, pcg64): pcg64 says that it is one whose state is known. */
static PyObject *stream_make(PyObject *mod, PyObject *args)
{
	PyObject *of = NULL;
	int pcg64 = 0;

	return PyArg_ParseTuple(args, "Op", &of, &pcg64) ? stream_new(of, pcg64) : NULL;
}

static void stream_dealloc(PyObject *o)
{
	struct stream *self = (struct stream *)o;
	PyTypeObject *type = Py_TYPE(o);

	Py_XDECREF(self->owner);
	Py_XDECREF(self->acquire);
	Py_XDECREF(self->release);
	PyObject_Free(o);
	Py_DECREF(type);
}

/* That of a generator, a new reference; NULL: it has none. */
static struct stream *stream_of(PyObject *generator)
{
	PyObject *o = PyObject_GetAttr(generator, stream_name);

	if (!o)
		PyErr_Clear();
	if (o && Py_TYPE(o) != stream_type)
		Py_CLEAR(o);
	return (struct stream *)o;
}

static bool stream_lock(struct stream *s)
{
	PyObject *done = PyObject_Vectorcall(s->acquire, NULL, 0, NULL);

	Py_XDECREF(done);
	return done != NULL;
}

/* What was raised stays so. */
static void stream_unlock(struct stream *s)
{
	PyObject *type = NULL, *value = NULL, *trace = NULL;

	PyErr_Fetch(&type, &value, &trace);
	Py_XDECREF(PyObject_Vectorcall(s->release, NULL, 0, NULL));
	PyErr_Restore(type, value, trace);
}

/* ---- What is asked for ---- */

struct request {
	int64_t shape[BRAZE_MAX_NDIM], count;
	int ndim, dtype;
	bool one; /* no array */
	union {
		double real[2];
		uint64_t word[2];
	} range; /* LOW, SPAN */
};

static bool read_size(struct request *r, PyObject *size)
{
	r->one = fast_absent(size);
	r->ndim = r->one ? 0 : fast_dims(r->shape, size);
	r->count = 1;
	for (int k = 0; k < r->ndim; k++)
		if (r->shape[k] < 0 || __builtin_mul_overflow(r->count, r->shape[k], &r->count))
			return false;
	return r->ndim >= 0;
}

static bool read_float_type(struct request *r, PyObject *dtype)
{
	r->dtype = fast_absent(dtype) ? BRAZE_FLOAT64 : fast_dtype(dtype);
	return r->dtype == BRAZE_FLOAT64 || r->dtype == BRAZE_FLOAT32;
}

/* A float or an int as a float, finite; absent: other. */
static bool read_real(double *out, PyObject *o, double other)
{
	int64_t whole = 0;

	*out = other;
	if (!o)
		return true;
	if (PyFloat_CheckExact(o))
		*out = PyFloat_AsDouble(o);
	else if (fast_int(&whole, o))
		*out = (double)whole;
	else
		return false;
	return isfinite(*out);
}

/* ---- NumPy's generators ---- */

/* Numbers in turn, as NumPy asks for them. */
static void one_by_one(double *to, struct bitgen *b, const struct request *r)
{
	for (int64_t k = 0; k < r->count; k++)
		to[k] = r->range.real[0] + r->range.real[1] * b->next_double(b->state);
}

static bool draw_few(PyObject **out, struct stream *s, const struct request *r)
{
	braze_session *session = NULL;
	braze_array *made = NULL;
	double one = 0;
	void *at = NULL;

	if (r->one) {
		one_by_one(&one, s->bits, r);
		*out = PyFloat_FromDouble(one);
		return true;
	}
	session = wait_session();
	if (!session || !braze_near_made(&made, &at, session, r->dtype, r->ndim, r->shape))
		return false;
	one_by_one(at, s->bits, r);
	*out = type_new(made, 0);
	return true;
}

static bool draw_pcg64(PyObject **out, const struct fast *f, struct stream *s,
		       const struct request *r)
{
	braze_session *session = wait_session();
	braze_array *made = NULL;
	uint64_t state[STATE];
	braze_error err;

	if (!session)
		return false;
	read_state(state, s->pcg64);
	memcpy(&state[LOW], r->range.word, sizeof r->range.word);
	if (braze_draw(&made, session, f->op, r->dtype, r->ndim, r->shape, state, &err))
		return false;
	braze_pcg64_skip(state, r->dtype, (uint64_t)r->count);
	write_state(s->pcg64, state);
	*out = type_new(made, 0);
	return true;
}

static bool draw_uniform(PyObject **out, const struct fast *f, PyObject *generator,
			 const struct request *r)
{
	bool few = r->dtype == BRAZE_FLOAT64 && r->count <= ONE_BY_ONE, done = false;
	struct stream *s = stream_of(generator);

	if (!s)
		return false;
	if (stream_lock(s)) {
		done = few && draw_few(out, s, r);
		if (!done && !r->one && s->pcg64 && !PyErr_Occurred())
			done = draw_pcg64(out, f, s, r);
		stream_unlock(s);
	}
	Py_DECREF(s);
	return done;
}

static bool by_numpy(PyObject **out, const struct fast *f, const struct call *c)
{
	return !PyErr_Occurred() && f->numpys && f->numpys->fn(out, f->numpys, c);
}

bool fast_random(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {.range.real = {0, 1}};

	if (!core.locked && fast_bind(slot, f, c) && fast_absent(slot[3]) &&
	    read_size(&r, slot[1]) && read_float_type(&r, slot[2]) &&
	    draw_uniform(out, f, slot[0], &r))
		return true;
	return by_numpy(out, f, c);
}

bool fast_uniform(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {.dtype = BRAZE_FLOAT64};
	double high = 0, *range = r.range.real;

	if (!core.locked && fast_bind(slot, f, c) && read_real(range, slot[1], 0) &&
	    read_real(&high, slot[2], 1) && read_size(&r, slot[3])) {
		range[1] = high - range[0];
		if (isfinite(range[1]) && range[1] >= 0 && draw_uniform(out, f, slot[0], &r))
			return true;
	}
	return by_numpy(out, f, c);
}

/* ---- The older functions, of one generator for the whole program ---- */

#define OLDER_MOST 4096 /* numbers: in more, NumPy lets other threads run */

static PyObject *older, *bits_name; /* NumPy's RandomState, and what names its bit generator */

/* Its stream, a new reference: np.random.set_bit_generator() gives it another. */
static struct stream *older_stream(void)
{
	static struct stream *last;
	PyObject *bits = older ? PyObject_GetAttr(older, bits_name) : NULL, *made = NULL;

	if (bits && (!last || last->owner != bits)) {
		made = stream_new(bits, 0);
		Py_XDECREF((PyObject *)last);
		last = (struct stream *)made;
	}
	PyErr_Clear();
	Py_XDECREF(bits);
	return bits ? (struct stream *)Py_XNewRef((PyObject *)last) : NULL;
}

static bool draw_older(PyObject **out, const struct request *r)
{
	struct stream *s = core.locked || r->count > OLDER_MOST ? NULL : older_stream();
	bool done = false;

	if (s && stream_lock(s)) {
		done = draw_few(out, s, r);
		stream_unlock(s);
	}
	Py_XDECREF((PyObject *)s);
	return done;
}

/* (size) */
bool fast_legacy_random(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS] = {NULL};
	struct request r = {.dtype = BRAZE_FLOAT64, .range.real = {0, 1}};
	bool all = (!c->n && !c->names) || fast_bind(slot, f, c);

	return (all && read_size(&r, slot[0]) && draw_older(out, &r)) || by_numpy(out, f, c);
}

/* (d0, d1, ...) */
bool fast_legacy_rand(PyObject **out, const struct fast *f, const struct call *c)
{
	struct request r = {.dtype = BRAZE_FLOAT64, .range.real = {0, 1}, .count = 1};
	bool plain = !c->names && c->n <= BRAZE_MAX_NDIM;

	r.one = !c->n;
	for (; plain && r.ndim < c->n; r.ndim++)
		plain = fast_int(&r.shape[r.ndim], c->args[r.ndim]) && r.shape[r.ndim] >= 0 &&
			!__builtin_mul_overflow(r.count, r.shape[r.ndim], &r.count);
	return (plain && draw_older(out, &r)) || by_numpy(out, f, c);
}

/* (low, high, size) */
bool fast_legacy_uniform(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {.dtype = BRAZE_FLOAT64};
	double high = 0, *range = r.range.real;

	if (fast_bind(slot, f, c) && read_real(range, slot[0], 0) && read_real(&high, slot[1], 1) &&
	    read_size(&r, slot[2])) {
		range[1] = high - range[0];
		if (isfinite(range[1]) && draw_older(out, &r))
			return true;
	}
	return by_numpy(out, f, c);
}

/* ---- What NumPy draws into memory of ours ---- */

/* The methods of NumPy's generators, of which ours are, and what names the only way that the second
 * one has with an output. */
static PyObject *into_normal, *into_exponential, *zig;

#define SCALED_MOST 4096 /* elements that are scaled behind it, while they are in the cache */

static bool fill(PyObject *generator, PyObject *method, PyObject *view, int dtype)
{
	PyObject *kind = core.dtypes[dtype], *done = NULL;
	PyObject *const args[] = {generator, Py_None, kind, view};
	PyObject *const more[] = {generator, Py_None, kind, zig, view};

	done = method == into_exponential ? PyObject_Vectorcall(method, more, 5, NULL)
					  : PyObject_Vectorcall(method, args, 4, NULL);
	Py_XDECREF(done);
	return done != NULL;
}

/* low + span * x, as NumPy has it; standard: x itself. */
static bool draw_into(PyObject **out, const struct fast *f, PyObject *generator, PyObject *method,
		      const struct request *r, bool standard)
{
	braze_session *session = wait_session();
	PyObject *view = NULL;
	braze_array *made = NULL;
	void *at = NULL;
	bool done = false;

	if (!session || !braze_near_made(&made, &at, session, r->dtype, r->ndim, r->shape))
		return false;
	view = lent_fresh(made, at);
	if (view) {
		double *x = at;

		done = fill(generator, method, view, r->dtype);
		for (int64_t k = 0; done && !standard && k < r->count; k++)
			x[k] = r->range.real[0] + r->range.real[1] * x[k];
		*out = done ? type_new(made, 0) : NULL;
		lent_written(view, *out);
		numpys_left(f->numpys);
	}
	if (!done)
		braze_release(made);
	return view != NULL; /* if it failed it raised */
}

/* One number, likewise. */
static bool draw_one(PyObject **out, const struct fast *f, PyObject *generator, PyObject *method,
		     const struct request *r)
{
	PyObject *x = PyObject_Vectorcall(method, &generator, 1, NULL);

	numpys_left(f->numpys);
	if (x)
		*out = PyFloat_FromDouble(r->range.real[0] +
					  r->range.real[1] * PyFloat_AsDouble(x));
	Py_XDECREF(x);
	return true;
}

static bool draw_scaled(PyObject **out, const struct fast *f, PyObject *generator, PyObject *method,
			const struct request *r)
{
	if (signbit(r->range.real[1]) || r->count > SCALED_MOST)
		return false;
	return r->one ? draw_one(out, f, generator, method, r)
		      : draw_into(out, f, generator, method, r, false);
}

/* A number without arguments, by NumPy as it is. */
static bool is_plain(const struct call *c)
{
	return !core.locked && c->n == 1 && !c->names;
}

/* (self, size, dtype, out) */
bool fast_standard_normal(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {0};

	if (is_plain(c)) {
		*out = PyObject_Vectorcall(into_normal, c->args, 1, NULL);
		numpys_left(f->numpys);
		return true;
	}
	if (!core.locked && fast_bind(slot, f, c) && fast_absent(slot[3]) &&
	    read_size(&r, slot[1]) && read_float_type(&r, slot[2]) && !r.one &&
	    draw_into(out, f, slot[0], into_normal, &r, true))
		return true;
	return by_numpy(out, f, c);
}

/* (self, size, dtype, method, out) */
bool fast_standard_exponential(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {0};

	if (is_plain(c)) {
		*out = PyObject_Vectorcall(into_exponential, c->args, 1, NULL);
		numpys_left(f->numpys);
		return true;
	}
	if (!core.locked && fast_bind(slot, f, c) && !slot[3] && fast_absent(slot[4]) &&
	    read_size(&r, slot[1]) && read_float_type(&r, slot[2]) && !r.one &&
	    draw_into(out, f, slot[0], into_exponential, &r, true))
		return true;
	return by_numpy(out, f, c);
}

/* (self, loc, scale, size) */
bool fast_normal(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {.dtype = BRAZE_FLOAT64};

	if (!core.locked && fast_bind(slot, f, c) && read_real(&r.range.real[0], slot[1], 0) &&
	    read_real(&r.range.real[1], slot[2], 1) && read_size(&r, slot[3]) &&
	    draw_scaled(out, f, slot[0], into_normal, &r))
		return true;
	return by_numpy(out, f, c);
}

/* (self, scale, size) */
bool fast_exponential(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {.dtype = BRAZE_FLOAT64};

	if (!core.locked && fast_bind(slot, f, c) && read_real(&r.range.real[1], slot[1], 1) &&
	    read_size(&r, slot[2]) && draw_scaled(out, f, slot[0], into_exponential, &r))
		return true;
	return by_numpy(out, f, c);
}

/* ---- braze.random ---- */

/* The value of an array without axes as Python's number. */
static PyObject *number_of(braze_array *made, int dtype)
{
	const void *at = wait_data(made);

	if (!at)
		return NULL;
	if (dtype == BRAZE_FLOAT64)
		return PyFloat_FromDouble(*(const double *)at);
	if (dtype == BRAZE_FLOAT32)
		return PyFloat_FromDouble((double)*(const float *)at);
	return dtype == BRAZE_INT64 ? PyLong_FromLongLong(*(const int64_t *)at)
				    : PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
}

/* An error's code; 0: *out is the result, or NULL with an exception set. */
static int draw_counted(PyObject **out, int op, struct counter *from, const struct request *r,
			braze_error *err)
{
	braze_session *session = wait_session();
	uint64_t state[STATE] = {from->key, from->draw};
	braze_array *made = NULL;
	int rc = 0;

	*out = NULL;
	if (!session)
		return 0;
	memcpy(&state[LOW], r->range.word, sizeof r->range.word);
	from->draw++; /* before another thread runs */
	rc = braze_draw(&made, session, op, r->dtype, r->ndim, r->shape, state, err);
	if (rc) {
		from->draw -= from->draw == state[1] + 1;
		return rc;
	}
	*out = r->one ? number_of(made, r->dtype) : type_new(made, 0);
	if (r->one)
		braze_release(made);
	return 0;
}

static bool draw_next(PyObject **out, const struct fast *f, PyObject *generator,
		      const struct request *r)
{
	braze_error err;

	return !core.locked && PyObject_TypeCheck(generator, counter_type) &&
	       !draw_counted(out, f->op, (struct counter *)generator, r, &err);
}

/* (self, size, dtype) */
bool fast_counter_random(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {.range.real = {0, 1}};

	return fast_bind(slot, f, c) && read_size(&r, slot[1]) && read_float_type(&r, slot[2]) &&
	       draw_next(out, f, slot[0], &r);
}

/* (self, low, high, size, dtype) */
bool fast_counter_uniform(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {0};
	double high = 0, *range = r.range.real;

	if (!fast_bind(slot, f, c) || !read_real(range, slot[1], 0) ||
	    !read_real(&high, slot[2], 1) || !read_size(&r, slot[3]) ||
	    !read_float_type(&r, slot[4]))
		return false;
	range[1] = high - range[0];
	return isfinite(range[1]) && range[1] >= 0 && draw_next(out, f, slot[0], &r);
}

/* (self, loc, scale, size, dtype) */
bool fast_counter_normal(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {0};

	return fast_bind(slot, f, c) && read_real(&r.range.real[0], slot[1], 0) &&
	       read_real(&r.range.real[1], slot[2], 1) && read_size(&r, slot[3]) &&
	       read_float_type(&r, slot[4]) && r.range.real[1] >= 0 &&
	       draw_next(out, f, slot[0], &r);
}

/* (self, size, dtype) */
bool fast_counter_standard_normal(PyObject **out, const struct fast *f, const struct call *c)
{
	return fast_counter_random(out, f, c);
}

/* (self, scale, size, dtype) */
bool fast_counter_exponential(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct request r = {0};

	return fast_bind(slot, f, c) && read_real(&r.range.real[1], slot[1], 1) &&
	       read_size(&r, slot[2]) && read_float_type(&r, slot[3]) && r.range.real[1] >= 0 &&
	       draw_next(out, f, slot[0], &r);
}

/* (self, low, high, size, dtype): below high, or below low from 0 on */
bool fast_counter_integers(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int64_t low = 0, high = 0;
	struct request r = {0};

	if (!fast_bind(slot, f, c) || !slot[1] || !fast_int(&low, slot[1]) ||
	    !read_size(&r, slot[3]) || !fast_absent(slot[4]))
		return false;
	if (fast_absent(slot[2])) {
		high = low;
		low = 0;
	} else if (!fast_int(&high, slot[2])) {
		return false;
	}
	r.dtype = BRAZE_INT64;
	r.range.word[0] = (uint64_t)low;
	r.range.word[1] = (uint64_t)high - (uint64_t)low;
	return low < high && draw_next(out, f, slot[0], &r);
}

static bool read_word(uint64_t *out, PyObject *o)
{
	double real = 0;

	if (PyFloat_Check(o)) {
		real = PyFloat_AsDouble(o);
		memcpy(out, &real, sizeof real);
	} else {
		*out = PyLong_AsUnsignedLongLongMask(o);
	}
	return !PyErr_Occurred();
}

/* _draw(operation, size, dtype, low, span): floats, or integers modulo 2^64 */
static PyObject *counter_draw(PyObject *self, PyObject *args)
{
	PyObject *size = NULL, *dtype = NULL, *low = NULL, *span = NULL, *out = NULL;
	const char *name = NULL;
	struct request r = {0};
	braze_error err;

	if (!PyArg_ParseTuple(args, "sOOOO", &name, &size, &dtype, &low, &span) ||
	    !read_word(&r.range.word[0], low) || !read_word(&r.range.word[1], span))
		return NULL;
	r.dtype = convert_dtype(dtype);
	if (!read_size(&r, size)) {
		PyErr_SetString(PyExc_ValueError, "negative dimensions are not allowed");
		return NULL;
	}
	if (draw_counted(&out, braze_op_find(name), (struct counter *)self, &r, &err))
		wait_raise(&err);
	return out;
}

/* philox(counter, counter, key): two words, a block of Philox 4x32-10 */
static PyObject *philox(PyObject *mod, PyObject *args)
{
	unsigned long long low = 0, high = 0, key = 0;
	uint32_t out[4];

	if (!PyArg_ParseTuple(args, "KKK", &low, &high, &key))
		return NULL;
	braze_philox(out,
		     (const uint32_t[4]){(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
					 (uint32_t)(high >> 32)},
		     (const uint32_t[2]){(uint32_t)key, (uint32_t)(key >> 32)});
	return Py_BuildValue("KK", (unsigned long long)out[1] << 32 | out[0],
			     (unsigned long long)out[3] << 32 | out[2]);
}

/* ---- The types ---- */

static PyMemberDef counter_members[] = {
	{"key", T_ULONGLONG, offsetof(struct counter, key), 0,
	 "the stream: generators of the same key give the same numbers"},
	{"draw", T_ULONGLONG, offsetof(struct counter, draw), 0,
	 "the number of the next draw: every call that draws counts one on"},
	{NULL, 0, 0, 0, NULL},
};
static PyMethodDef counter_methods[] = {
	{"_draw", counter_draw, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
/* draw_by(standard_normal, standard_exponential): the methods of NumPy's Generator, which is
 * imported when it is asked for. */
static PyObject *draw_by(PyObject *mod, PyObject *args)
{
	PyObject *normal = NULL, *exponential = NULL;

	if (!PyArg_ParseTuple(args, "OO", &normal, &exponential))
		return NULL;
	into_normal = Py_NewRef(normal);
	into_exponential = Py_NewRef(exponential);
	return Py_NewRef(Py_None);
}

/* draw_of(random_state): NumPy's, of the functions of numpy.random. */
static PyObject *draw_of(PyObject *mod, PyObject *state)
{
	older = Py_NewRef(state);
	return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
	{"draw_of", draw_of, METH_O, NULL},	    {"draw_by", draw_by, METH_VARARGS, NULL},
	{"pcg64_words", pcg64_words, METH_O, NULL}, {"stream", stream_make, METH_VARARGS, NULL},
	{"philox", philox, METH_VARARGS, NULL},	    {NULL, NULL, 0, NULL},
};

int fast_draw_init(PyObject *module)
{
	PyType_Slot of_stream[] = {{Py_tp_dealloc, stream_dealloc}, {0, NULL}};
	PyType_Slot of_counter[] = {
		{Py_tp_members, counter_members}, {Py_tp_methods, counter_methods}, {0, NULL}};
	PyType_Spec stream = {.name = "braze._core.stream_of_bits",
			      .basicsize = sizeof(struct stream),
			      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
			      .slots = of_stream};
	PyType_Spec counter = {.name = "braze._core.counter",
			       .basicsize = sizeof(struct counter),
			       .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
			       .slots = of_counter};

	stream_name = PyUnicode_InternFromString("_stream");
	stream_type = (PyTypeObject *)PyType_FromSpec(&stream);
	counter_type = (PyTypeObject *)PyType_FromSpec(&counter);
	zig = PyUnicode_InternFromString("zig");
	bits_name = PyUnicode_InternFromString("_bit_generator");
	if (!stream_name || !bits_name || !zig || !stream_type || !counter_type ||
	    PyModule_AddFunctions(module, functions))
		return -1;
	return PyModule_AddObjectRef(module, "counter", (PyObject *)counter_type);
}
