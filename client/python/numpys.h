/* SPDX-License-Identifier: Apache-2.0 */
/* numpys.h - functions of NumPy's, called from C on arrays that lend it their memory. */
#ifndef BRAZE_NUMPYS_H
#define BRAZE_NUMPYS_H

#include "native.h"

#define LENT_MOST  16 /* arrays in one call */
#define LENT_DEPTH 3  /* of sequences in each other */

/* What one call was lent. */
struct lent {
	int n;
	bool open; /* the callee copies what may not be written, but writes nothing */
	bool any;  /* it takes what the interpreter's types are, and may call the program */
	struct host_block lock; /* of the array that is written */
	struct lent_one {
		PyObject *view, *of; /* NumPy's array, owned; ours, borrowed */
		braze_loan loan;
		braze_session *session;
	} one[LENT_MOST];
};

static inline void lent_begin(struct lent *l)
{
	l->n = 0;
	l->open = l->any = false;
	l->lock.locks = 0;
}
/* o as NumPy is to see it; NULL without an exception: it is not plain. */
PyObject *lent_view(struct lent *l, PyObject *o, int depth);
/* The same, to be written: nobody records anything on it until it is back. */
PyObject *lent_writable(struct lent *l, PyObject *o);
/* Are all of a list or tuple numbers of Python's? */
bool lent_numbers(PyObject *o);
/* Memory of a new array of ours, for NumPy to write; give it back by lent_written, which lets go of
 * it, with the array's object. */
PyObject *lent_fresh(braze_array *h, void *data);
void lent_written(PyObject *view, PyObject *of);
/* The call is over: what has a view still, but for us, keeps it. */
void lent_back(struct lent *l);
/* The results are taken over. */
void lent_end(struct lent *l);
/* What NumPy made as ours: a new reference. */
PyObject *lent_taken(PyObject *made);
int lent_init(void);

/* numpys.c */
/* Is it an array of ours, no scalar? */
static inline bool numpys_array(PyObject *o)
{
	return nd_check(o) && nd(o)->h && !(nd(o)->flags & ND_SCALAR);
}
/* Is it there, if it is ours, and so what it holds? */
bool numpys_at_hand(PyObject *o);
extern uint64_t keys_read, keys_written; /* a[key] by arrays, left to NumPy */

/* keys.c: of few elements, counted: true when out is set, or rc; false: others know. */
static inline bool keys_are(PyObject *key)
{
	return nd_check(key) || PyList_CheckExact(key);
}
bool keys_get(PyObject **out, PyObject *self, PyObject *key);
bool keys_set(int *rc, PyObject *self, PyObject *key, PyObject *value);

/* masks.c: the same by a mask, of any size. */
bool masks_get(PyObject **out, PyObject *self, PyObject *key);
bool masks_set(PyObject *self, PyObject *key, PyObject *value);
/* putmask of values of self's shape and type, all of them at hand. */
bool masks_lay(PyObject *self, PyObject *key, PyObject *value);
/* The bytes of a number that becomes an element of the type without a word of NumPy's. */
bool masks_number(char element[16], PyObject *value, int dtype);
/* What a mask chooses of many, as an operation of braze's; NULL with an exception set. */
#define MASKS_FEW                                                                                  \
	(1 << 17) /* elements: fewer are this process's own work where they are at hand            \
		   */
bool masks_select(PyObject **out, PyObject *self, PyObject *key);

/* scatter.c: a[key] = value, places in arrays among the key; false: others know, unless an
 * exception is set. */
bool scatter_set(PyObject *self, PyObject *key, PyObject *value);

/* targets.c: a[key], places in arrays or lists among the key, of what is at hand: true, with out
 * set, or NULL with an exception; false: others know. */
bool target_get(PyObject **out, PyObject *self, PyObject *key);
/* The same of a.take(places, along). */
bool target_take(PyObject **out, PyObject *self, PyObject *places, PyObject *along);
int target_init(void);

/* numpys_keys.c: a[key] and a[key] = value by NumPy, where all are at hand: true, with out or rc
 * set. */
bool numpys_getitem(PyObject **out, PyObject *self, PyObject *key);
bool numpys_setitem(int *rc, PyObject *self, PyObject *key, PyObject *value);

/* a[mask] of one mask, counted: true when out is set, or NULL with an exception. */
bool numpys_mask(PyObject **out, PyObject *self, PyObject *key);

#endif
