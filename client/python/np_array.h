/* SPDX-License-Identifier: Apache-2.0 */
/* np_array.h - NumPy's array by its layout, which is the same since NumPy 1.7: this extension is
 * built without NumPy. */
#ifndef BRAZE_NP_ARRAY_H
#define BRAZE_NP_ARRAY_H

#include "core.h"

/* The beginning of PyArrayObject. */
struct np_array {
	PyObject_HEAD char *data;
	int nd;
	intptr_t *dims, *strides;
	PyObject *base, *descr;
	int flags;
	PyObject *weak;
};

#define NP_C_CONTIGUOUS 0x0001
#define NP_F_CONTIGUOUS 0x0002
#define NP_OWNDATA	0x0004
#define NP_ALIGNED	0x0100
#define NP_WRITEABLE	0x0400

static inline struct np_array *np(PyObject *o)
{
	return (struct np_array *)o;
}

#endif
