/* SPDX-License-Identifier: Apache-2.0 */
/* base/cuda_find.h - where a shared library of CUDA lies.
 *
 * In:  the variable that names the library itself, and its file names, the best
 * first.  Out: the path of the first that is there, and in words what was found
 * or which places were tried.  Reads the environment and the file system only:
 * nothing is loaded.  Any thread that does not change the environment meanwhile.
 *
 * A library of a later CUDA than the driver's (its file name's number tells, or that of
 * the file that a link leads to) is passed over once cuda_find_driver has said what the driver
 * is: the driver would refuse the code that it makes, or it would not start.  Within one
 * number the driver takes what a later release made.
 *
 * Places, in this order: the file in `variable`; below each folder of
 * BRAZE_CUDA_PATHS (a list with colons: toolkits, or site-packages of Python), then
 * $CUDA_HOME, $CUDA_PATH, $CONDA_PREFIX; the folders of LD_LIBRARY_PATH; the system's library
 * folders; /usr/local/cuda, /usr/local/cuda-* (newest first), /opt/cuda. */
#ifndef BRAZE_CUDA_FIND_H
#define BRAZE_CUDA_FIND_H

#include <stdbool.h>

#define CUDA_FIND_PATH 512
#define CUDA_FIND_TEXT 2048

struct cuda_find {
	char path[CUDA_FIND_PATH]; /* "": it is nowhere */
	char text[CUDA_FIND_TEXT]; /* "found PATH", or what was looked for where */
};

/* What cuDriverGetVersion says, 12040 for 12.4; 0: not known, any library will do.  For the
 * process. */
void cuda_find_driver(int version);
/* names: ends with NULL. */
bool cuda_find(struct cuda_find *f, const char *variable, const char *const *names);

#endif
