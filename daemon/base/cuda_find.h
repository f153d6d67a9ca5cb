/* SPDX-License-Identifier: Apache-2.0 */
/* base/cuda_find.h - where a shared library of CUDA lies.
 *
 * In:  the variable that names the library itself, and its file names, the best
 * first.  Out: the path of the first that is there, and in words what was found
 * or which places were tried.  Reads the environment and the file system only:
 * nothing is loaded.  Any thread that does not change the environment meanwhile.
 *
 * Places, in this order: the file in `variable`; below each folder of
 * BRAZE_CUDA_PATHS (a list with colons: toolkits, or site-packages of Python), then
 * $CUDA_HOME, $CUDA_PATH; the folders of LD_LIBRARY_PATH; the system's library
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

/* names: ends with NULL. */
bool cuda_find(struct cuda_find *f, const char *variable, const char *const *names);

#endif
