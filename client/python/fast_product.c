/* SPDX-License-Identifier: Apache-2.0 */
/* fast_product.c - sums of products that are a product of vectors and matrices as they lie (every
 * other one is put together in Python: _composed.py). */
#include <string.h>

#include "native.h"

/* Both of one type whose sums NumPy makes in it.  Errors are not reported: where they are watched,
 * Python knows how. */
static bool are_factors(braze_array **a, braze_array **b, PyObject *x, PyObject *y)
{
	if (core.watching || !(*a = fast_array(x)) || !(*b = fast_array(y)))
		return false;
	return braze_dtype_of(*a) == braze_dtype_of(*b) && braze_ndim(*a) && braze_ndim(*b) &&
	       braze_dtype_of(*a) != BRAZE_BOOL && braze_dtype_of(*a) != BRAZE_FLOAT16;
}

/* ---- einsum ---- */

static bool are_labels(const char *text, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if ((text[k] | 32) < 'a' || (text[k] | 32) > 'z')
			return false;
	return true;
}

/* Two terms of so many labels, and perhaps what they make? */
static bool are_terms(const char *text, size_t of_a, size_t of_b)
{
	const char *b = text + of_a + 1;

	return strlen(text) >= of_a + of_b + 1 && text[of_a] == ',' &&
	       (!b[of_b] || !memcmp(b + of_b, "->", 2)) && are_labels(text, of_a) &&
	       are_labels(b, of_b);
}

/* Without "->" each label that comes once is an axis, in the alphabet's order. */
static const char *to_of(char room[3], const char *text, size_t of_a, size_t of_b)
{
	const char *a = text, *b = a + of_a + 1;
	size_t n = 0;

	if (strchr(text, '>') || strlen(text) != of_a + of_b + 1)
		return strchr(text, '>') ? strchr(text, '>') + 1 : NULL;
	if (of_a == 2)
		room[n++] = a[0];
	if (of_b == 2)
		room[n++] = b[1];
	room[n] = 0;
	return n == 2 && room[0] >= room[1] ? NULL : room;
}

/* Does "rs,sc->rc" name matmul of so many axes: at most one row and one column? */
static bool is_matmul(const char *text, size_t of_a, size_t of_b)
{
	const char *a = text, *b = a + of_a + 1, *to = NULL;
	char made[3] = {0}, *at = made, room[3];

	if (of_a > 2 || of_b > 2 || !are_terms(text, of_a, of_b))
		return false;
	to = to_of(room, text, of_a, of_b);
	if (of_a == 2)
		*at++ = a[0];
	if (of_b == 2)
		*at++ = b[1];
	/* Different labels all, but for the one that is summed over. */
	return a[of_a - 1] == b[0] && !strchr(made, b[0]) && !(made[0] && made[0] == made[1]) &&
	       to && !strcmp(to, made);
}

/* Is it "i,j->ij", of two vectors? */
static bool is_outer(const char *text)
{
	return strlen(text) == 7 && text[1] == ',' && !memcmp(text + 3, "->", 2) &&
	       are_labels(text, 1) && are_labels(text + 2, 1) && text[0] != text[2] &&
	       text[5] == text[0] && text[6] == text[2];
}

static bool einsum(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *a = NULL, *b = NULL;
	const char *text = NULL;

	if (c->n != 3 || c->names || !PyUnicode_CheckExact(c->args[0]) ||
	    !are_factors(&a, &b, c->args[1], c->args[2]))
		return false;
	text = PyUnicode_AsUTF8AndSize(c->args[0], NULL);
	if (!text)
		PyErr_Clear();
	if (text && braze_ndim(a) == 1 && braze_ndim(b) == 1 && is_outer(text))
		return fast_outer(out, f, &(struct call){c->args + 1, 2, NULL});
	if (!text || braze_shape(a)[braze_ndim(a) - 1] != braze_shape(b)[0] ||
	    !is_matmul(text, (size_t)braze_ndim(a), (size_t)braze_ndim(b)))
		return false;
	*out = number_matmul(c->args[1], c->args[2]);
	return true;
}

bool fast_einsum(PyObject **out, const struct fast *f, const struct call *c)
{
	return einsum(out, f, c) || fast_numpys(out, f, c);
}

/* ---- tensordot ---- */

static int64_t product_of(const int64_t *shape, int n)
{
	int64_t all = 1;

	for (int k = 0; k < n; k++)
		all *= shape[k];
	return all;
}

/* a in two axes of such extents. */
static braze_array *as_matrix(braze_array *a, int64_t rows, int64_t columns, braze_error *err)
{
	const int64_t shape[2] = {rows, columns};
	braze_array *made = NULL;

	return braze_reshape(&made, a, 2, shape, err) ? NULL : made;
}

/* Of the last n axes of one and the first n of the other. */
static braze_array *dotted(braze_array *a, braze_array *b, int n, braze_error *err)
{
	int64_t shape[2 * BRAZE_MAX_NDIM], inside = product_of(braze_shape(b), n);
	int of_a = braze_ndim(a) - n, of_b = braze_ndim(b) - n;
	braze_array *x = NULL, *y = NULL, *made = NULL, *out = NULL;

	memcpy(shape, braze_shape(a), (size_t)of_a * sizeof *shape);
	memcpy(shape + of_a, braze_shape(b) + n, (size_t)of_b * sizeof *shape);
	x = as_matrix(a, product_of(shape, of_a), inside, err);
	y = x ? as_matrix(b, inside, product_of(shape + of_a, of_b), err) : NULL;
	if (y && !braze_matmul(&made, x, y, err) &&
	    braze_reshape(&out, made, of_a + of_b, shape, err))
		out = NULL;
	braze_release(x);
	braze_release(y);
	braze_release(made);
	return out;
}

/* (a, b, axes): an int */
bool fast_tensordot(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *a = NULL, *b = NULL, *made = NULL;
	int64_t n = 2;
	braze_error err;

	if (!fast_bind(slot, f, c) || !slot[1] || !are_factors(&a, &b, slot[0], slot[1]) ||
	    (slot[2] && !fast_int(&n, slot[2])) || n < 0 || n > braze_ndim(a) ||
	    n > braze_ndim(b) || braze_ndim(a) + braze_ndim(b) - 2 * n > BRAZE_MAX_NDIM ||
	    memcmp(braze_shape(a) + braze_ndim(a) - n, braze_shape(b), (size_t)n * sizeof n))
		return false;
	made = dotted(a, b, (int)n, &err);
	if (made)
		*out = type_new(made, 0);
	return made != NULL;
}
