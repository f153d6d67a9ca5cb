/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.h - the PTX that belongs to a cubin.
 *
 * A cubin cannot be interpreted.  The stand-in's libnvrtc.so stores the PTX of the
 * same compilation in a folder, under a name made from the cubin's bytes; the
 * stand-in's libcuda.so.1 reads it when it is given the cubin.  The folder is named
 * by BRAZE_STANDIN_PTX. */
#ifndef STANDIN_CUBIN_H
#define STANDIN_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

bool cubin_is(const void *image);
/* Bytes of the ELF image, from its own headers. */
size_t cubin_bytes(const void *image);
/* Path of its PTX; false: BRAZE_STANDIN_PTX is not set, or the path is too long. */
bool cubin_path(const void *image, char *path, size_t cap);

#endif
