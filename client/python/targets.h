/* SPDX-License-Identifier: Apache-2.0 */
/* targets.h - keys in which arrays of ours, or lists, name places. */
#ifndef BRAZE_TARGETS_H
#define BRAZE_TARGETS_H

#include "numpys.h"

/* A key sorted out: what slices leave of the array, and its axes that have places. */
struct target {
	braze_array *view;
	int n, axis[BRAZE_MAX_NDIM];
	braze_arg index[BRAZE_MAX_NDIM];
	bool own[BRAZE_MAX_NDIM]; /* made of a list */
	bool any;		  /* array */
};

/* Is it an array of places?  writes: in whose order NumPy writes; in others it writes in these. */
bool target_places(PyObject *o, bool writes);
/* Sort out a key of h's; false: it is another kind, with an exception or without.  Drop it in any
 * case.  writes: only places in whose order NumPy writes, and no lists. */
bool target_read(struct target *t, PyObject *key, braze_array *h, bool writes);
void target_drop(struct target *t);

#endif
