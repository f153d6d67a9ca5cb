/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/exact.h - functions of complex numbers in more digits than any array has, to say which
 * of two results is the wrong one.  Pure; any thread. */
#ifndef GPU_EXACT_H
#define GPU_EXACT_H

#include <stdbool.h>

/* f(z) by the C library's long double functions; false: it has none for this operation. */
bool exact_function(unsigned op, const long double z[2], long double f[2]);

#endif
