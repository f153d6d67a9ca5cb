/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/beside.h - what lies near the library's own file. */
#ifndef BRAZE_BESIDE_H
#define BRAZE_BESIDE_H

#include <stdbool.h>

#include "ops.h"

#define PATH_BYTES 4096

/* The folder of libbraze, or of the program or the Python extension that has it inside,
 * without links; false: it cannot be told. */
bool beside_folder(char folder[PATH_BYTES]) MUST_USE;

#endif
