/* SPDX-License-Identifier: Apache-2.0 */
/* masks.c - a[mask] and a[mask] = value by a mask of a's first axes.
 *
 * Many elements are read by an operation of the daemon's.  Here: arrays in C order, at hand but for
 * the one that is written: that is asked for.  Nothing branches on the mask where elements are
 * single: true and false come in no order.  Everything else is NumPy's (numpys.c). */
#include <string.h>

#include "numpys.h"

__extension__ typedef unsigned __int128 sixteen;

/* An array and a mask of its first axes: of `n` rows, of so many bytes each. */
struct masked {
	braze_array *a, *mask;
	int64_t n, bytes;
	int rest; /* axes of a row */
};

static braze_array *in_order(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;

	return h && braze_ndim(h) && braze_is_contiguous(h) ? h : NULL;
}

static bool read_both(struct masked *m, PyObject *self, PyObject *key)
{
	m->a = in_order(self);
	m->mask = in_order(key);
	if (!m->a || !m->mask || braze_dtype_of(m->mask) != BRAZE_BOOL)
		return false;
	m->rest = braze_ndim(m->a) - braze_ndim(m->mask);
	if (m->rest < 0 || memcmp(braze_shape(m->a), braze_shape(m->mask),
				  (size_t)braze_ndim(m->mask) * sizeof(int64_t)))
		return false;
	m->n = braze_size(m->mask);
	m->bytes = braze_itemsize(m->a);
	for (int k = braze_ndim(m->mask); k < braze_ndim(m->a); k++)
		m->bytes *= braze_shape(m->a)[k];
	return true;
}

/* Masks are often false, or true, for long: eight of them are looked at together. */
#define EIGHT	    8
#define ALL_OF_THEM 0x0101010101010101u

static uint64_t eight(const uint8_t *mask)
{
	uint64_t w;

	memcpy(&w, mask, sizeof w);
	return w;
}

/* ---- Reading ---- */

/* The chosen elements; one more may be written behind them. */
#define PICK(size)                                                                                 \
	while (k < n) {                                                                            \
		int64_t end = n;                                                                   \
                                                                                                   \
		if (k + EIGHT <= n) {                                                              \
			uint64_t w = eight(mask + k);                                              \
                                                                                                   \
			end = k + EIGHT;                                                           \
			if (w == ALL_OF_THEM) {                                                    \
				memcpy(to, from + k * (size), EIGHT * (size));                     \
				to += EIGHT * (size);                                              \
			}                                                                          \
			if (!w || w == ALL_OF_THEM) {                                              \
				k = end;                                                           \
				continue;                                                          \
			}                                                                          \
		}                                                                                  \
		for (; k < end; k++) {                                                             \
			memcpy(to, from + k * (size), size);                                       \
			to += mask[k] ? (size) : 0;                                                \
		}                                                                                  \
	}                                                                                          \
	break

static void pick(char *to, const char *from, const uint8_t *mask, int64_t n, int64_t bytes)
{
	int64_t k = 0;

	switch (bytes) {
	case 1:
		PICK(1);
	case 2:
		PICK(2);
	case 4:
		PICK(4);
	case 8:
		PICK(8);
	case 16:
		PICK(16);
	default:
		for (; k < n; k++)
			if (mask[k]) {
				memcpy(to, from + k * bytes, (size_t)bytes);
				to += bytes;
			}
	}
}

bool masks_get(PyObject **out, PyObject *self, PyObject *key)
{
	int64_t shape[BRAZE_MAX_NDIM];
	braze_array *made = NULL;
	const void *from = NULL, *mask = NULL;
	struct masked m;
	void *to = NULL;

	if (!read_both(&m, self, key) || braze_size(m.a) >= MASKS_FEW)
		return false;
	from = wait_at_hand(m.a);
	mask = from ? wait_at_hand(m.mask) : NULL;
	if (!mask)
		return false;
	shape[0] = braze_count_true(mask, m.n);
	memcpy(shape + 1, braze_shape(m.a) + braze_ndim(m.mask), (size_t)m.rest * sizeof *shape);
	if (!braze_near_made(&made, &to, braze_session_of(m.a), braze_dtype_of(m.a), 1 + m.rest,
			     shape))
		return false;
	if (shape[0])
		pick(to, from, mask, m.n, m.bytes);
	*out = type_new(made, 0);
	return true;
}

/* ---- Places ---- */

/* The places of what is true; one more may be written behind them. */
static void places(int64_t *to, const uint8_t *mask, int64_t n)
{
	int64_t k = 0;

	for (; k + EIGHT <= n; k += EIGHT) {
		if (!eight(mask + k))
			continue;
		for (int i = 0; i < EIGHT; i++) {
			*to = k + i;
			to += mask[k + i] != 0;
		}
	}
	for (; k < n; k++) {
		*to = k;
		to += mask[k] != 0;
	}
}

/* Of numbers of 64 bits; false: not of this type. */
static bool number_places(PyObject **out, braze_array *h, const char *from)
{
	int64_t n = 0, size = braze_size(h);
	int dtype = braze_dtype_of(h);
	/* Only a zero has no bit but its sign. */
	uint64_t bits = dtype == BRAZE_FLOAT64 ? ~(UINT64_C(1) << 63) : ~UINT64_C(0), v = 0;
	braze_array *made = NULL;
	void *room = NULL;
	int64_t *to = NULL;

	if (dtype != BRAZE_FLOAT64 && dtype != BRAZE_INT64 && dtype != BRAZE_UINT64)
		return false;
	for (int64_t k = 0; k < size; k++) {
		memcpy(&v, from + 8 * k, sizeof v);
		n += (v & bits) != 0;
	}
	if (!braze_near_made(&made, &room, braze_session_of(h), BRAZE_INT64, 1, &n))
		return false;
	to = room;
	for (int64_t k = 0; n && k < size; k++) {
		memcpy(&v, from + 8 * k, sizeof v);
		*to = k; /* there is room for one more */
		to += (v & bits) != 0;
	}
	*out = type_new(made, n ? 0 : ND_COUNTED);
	return true;
}

/* Of few elements at hand: an array of them, alone or in a tuple. */
static PyObject *few_places(PyObject *mask)
{
	braze_array *h = in_order(mask), *made = NULL;
	const uint8_t *from = NULL;
	PyObject *out = NULL;
	void *to = NULL;
	int64_t n = 0;

	if (!h || braze_ndim(h) != 1 || braze_size(h) >= MASKS_FEW || !(from = wait_at_hand(h)))
		return NULL;
	if (number_places(&out, h, (const char *)from))
		return out;
	if (braze_dtype_of(h) != BRAZE_BOOL)
		return NULL;
	n = braze_count_true(from, braze_size(h));
	if (!braze_near_made(&made, &to, braze_session_of(h), BRAZE_INT64, 1, &n))
		return NULL;
	places(to, from, n ? braze_size(h) : 0);
	return type_new(made, n ? 0 : ND_COUNTED);
}

bool fast_nonzero(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *made = NULL;

	if (!core.locked && c->n == 1 && !c->names)
		made = few_places(c->args[0]);
	if (!made)
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	*out = PyTuple_Pack(1, made);
	Py_DECREF(made);
	return true;
}

bool fast_flatnonzero(PyObject **out, const struct fast *f, const struct call *c)
{
	if (!core.locked && c->n == 1 && !c->names)
		*out = few_places(c->args[0]);
	if (!*out)
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	return true;
}

bool masks_select(PyObject **out, PyObject *self, PyObject *key)
{
	braze_array *a = nd(self)->h, *mask = nd(key)->h, *made = NULL;
	size_t axes = (size_t)braze_ndim(mask);
	bool few = braze_size(a) < MASKS_FEW;
	braze_error err;

	/* One that does not fit is told in NumPy's words. */
	if (braze_ndim(mask) > braze_ndim(a) ||
	    memcmp(braze_shape(a), braze_shape(mask), axes * sizeof(int64_t)))
		return false;
	/* Without near arrays nothing is this process's own work. */
	if (few && braze_copies_near(braze_session_of(a), braze_dtype_of(a), 1))
		return false;
	err.code = layout_select(&made, a, mask, wait_check_signals, NULL, &err);
	if (err.code)
		wait_raise(&err);
	else if (watch_reports())
		braze_release(made);
	else
		*out = type_new(made, 0);
	return true;
}

/* ---- Writing ---- */

/* What is written: rows one after the other, or one number (step 0). */
struct rows {
	const char *from;
	int64_t step;
};

/* Where some of eight are chosen all eight are written, the others with what they are: up to the
 * last one that is chosen, so that nothing is read behind the values. */
#define PUT(type)                                                                                  \
	while (k < n) {                                                                            \
		int64_t end = k + EIGHT <= n ? k + EIGHT : n;                                      \
		uint64_t w = k + EIGHT <= n ? eight(mask + k) : 1;                                 \
                                                                                                   \
		if (w == ALL_OF_THEM)                                                              \
			for (int i = 0; i < EIGHT; i++, from += v->step)                           \
				memcpy(to + (k + i) * (int64_t)sizeof(type), from, sizeof(type));  \
		if (!w || w == ALL_OF_THEM) {                                                      \
			k = end;                                                                   \
			continue;                                                                  \
		}                                                                                  \
		for (; k < end; k++) {                                                             \
			char *at = to + k * (int64_t)sizeof(type);                                 \
			type chosen = (type)(0 - (type)(mask[k] != 0)), now, then;                 \
                                                                                                   \
			memcpy(&now, at, sizeof now);                                              \
			memcpy(&then, from, sizeof then);                                          \
			now = (type)((now & ~chosen) | (then & chosen));                           \
			memcpy(at, &now, sizeof now);                                              \
			from += v->step & -(int64_t)(mask[k] != 0);                                \
		}                                                                                  \
	}                                                                                          \
	break

static void put(char *to, const struct rows *v, const uint8_t *mask, int64_t n, int64_t bytes)
{
	const char *from = v->from;
	int64_t k = 0;

	while (n && !mask[n - 1])
		n--;
	switch (bytes) {
	case 1:
		PUT(uint8_t);
	case 2:
		PUT(uint16_t);
	case 4:
		PUT(uint32_t);
	case 8:
		PUT(uint64_t);
	case 16:
		PUT(sixteen);
	default:
		for (; k < n; k++)
			if (mask[k]) {
				memcpy(to + k * bytes, from, (size_t)bytes);
				from += v->step;
			}
	}
}

/* Are v's elements rows of a? */
static bool fits(const struct masked *m, braze_array *v)
{
	const int64_t *rest = braze_shape(m->a) + braze_ndim(m->mask);

	return v && braze_dtype_of(v) == braze_dtype_of(m->a) && !braze_same_buffer(v, m->a) &&
	       braze_ndim(v) == 1 + m->rest &&
	       !memcmp(braze_shape(v) + 1, rest, (size_t)m->rest * sizeof *rest);
}

/* A number that becomes an element of the type without a word of NumPy's. */
static bool is_easy(PyObject *value, int dtype)
{
	bool wide = dtype == BRAZE_FLOAT64 || dtype == BRAZE_COMPLEX128;
	bool single = dtype == BRAZE_FLOAT32 || dtype == BRAZE_COMPLEX64;
	double x = 0;
	int64_t i = 0;

	if (PyBool_Check(value))
		return dtype == BRAZE_BOOL;
	if (PyFloat_CheckExact(value)) {
		x = PyFloat_AsDouble(value);
		return wide || (single && x >= -1e38 && x <= 1e38);
	}
	if (!fast_int(&i, value) || dtype == BRAZE_BOOL)
		return false;
	return wide || dtype == BRAZE_INT64 || (i >= 0 && i <= INT8_MAX);
}

bool masks_number(char element[16], PyObject *value, int dtype)
{
	braze_scalar number;

	if (!is_easy(value, dtype) || convert_scalar_as(&number, value, dtype) != 1)
		return false;
	convert_store(dtype, number.bits, element);
	return true;
}

/* A number where a may be written now: elsewhere that is a lazy operation. */
static bool put_number(const struct masked *m, PyObject *value)
{
	const uint8_t *mask = NULL;
	char element[16], *to = NULL;

	if (!braze_is_ours(m->a) || !braze_is_near(m->mask) || m->rest ||
	    !masks_number(element, value, braze_dtype_of(m->a)) || !(to = wait_fence(m->a)) ||
	    !(mask = wait_at_hand(m->mask)))
		return false;
	put(to, &(struct rows){element, 0}, mask, m->n, m->bytes);
	return true;
}

/* The rows of v, once a has been asked for: where they lie may have changed meanwhile, and what
 * is there. */
static bool put_rows(const struct masked *m, braze_array *v)
{
	char *to = wait_fence(m->a);
	const uint8_t *mask = to ? wait_at_hand(m->mask) : NULL;
	const void *from = mask ? wait_at_hand(v) : NULL;

	if (!from || braze_shape(v)[0] != braze_count_true(mask, m->n))
		return false;
	put(to, &(struct rows){from, m->bytes}, mask, m->n, m->bytes);
	return true;
}

bool masks_set(PyObject *self, PyObject *key, PyObject *value)
{
	braze_array *v = in_order(value);
	struct masked m;
	bool done = false;

	if (!read_both(&m, self, key) || braze_same_buffer(m.a, m.mask))
		return false;
	if (!nd_check(value))
		return put_number(&m, value);
	if (!fits(&m, v))
		return false;
	/* Another thread may put others in their places while this one waits. */
	braze_retain(m.a);
	braze_retain(m.mask);
	braze_retain(v);
	done = put_rows(&m, v);
	braze_release(m.a);
	braze_release(m.mask);
	braze_release(v);
	return done;
}

/* ---- putmask ---- */

#define LAY(type)                                                                                  \
	for (int64_t k = 0; k < n; k++) {                                                          \
		type chosen = (type)(0 - (type)(mask[k] != 0)), now, then;                         \
                                                                                                   \
		memcpy(&now, to + k * (int64_t)sizeof(type), sizeof now);                          \
		memcpy(&then, from + k * (int64_t)sizeof(type), sizeof then);                      \
		now = (type)((now & ~chosen) | (then & chosen));                                   \
		memcpy(to + k * (int64_t)sizeof(type), &now, sizeof now);                          \
	}                                                                                          \
	break

/* Elements become those at the same place. */
static void lay(char *to, const char *from, const uint8_t *mask, int64_t n, int64_t bytes)
{
	switch (bytes) {
	case 1:
		LAY(uint8_t);
	case 2:
		LAY(uint16_t);
	case 4:
		LAY(uint32_t);
	case 8:
		LAY(uint64_t);
	default:
		LAY(sixteen);
	}
}

bool masks_lay(PyObject *self, PyObject *key, PyObject *value)
{
	braze_array *v = in_order(value);
	const void *mask = NULL, *from = NULL;
	struct masked m;
	void *to = NULL;

	if (!v || !read_both(&m, self, key) || m.rest || braze_same_buffer(m.a, m.mask) ||
	    braze_same_buffer(m.a, v) || braze_dtype_of(v) != braze_dtype_of(m.a) ||
	    braze_ndim(v) != braze_ndim(m.a) ||
	    memcmp(braze_shape(v), braze_shape(m.a), (size_t)braze_ndim(v) * sizeof(int64_t)))
		return false;
	mask = wait_at_hand(m.mask);
	from = mask ? wait_at_hand(v) : NULL;
	to = from ? wait_fence(m.a) : NULL;
	if (to)
		lay(to, from, mask, m.n, m.bytes);
	return to != NULL;
}
