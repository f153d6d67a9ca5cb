/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.h - the PTX that belongs to a cubin.
 *
 * A cubin cannot be interpreted.  The stand-in's libnvrtc.so stores the PTX of the
 * same compilation in a folder, under a name made from the PTX, and puts a tag with that
 * name behind the cubin; the stand-in's libcuda.so.1 reads it when it is given the cubin.
 * The cubin's own bytes would not do: a cast of loaded int64 to int16 and a load of
 * int16 become the same one, but only the processor's code reads no more than it needs.
 * The folder is named by BRAZE_STANDIN_PTX. */
#ifndef STANDIN_CUBIN_H
#define STANDIN_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin_tag {
	char magic[8];
	uint64_t hash[2];
};

bool cubin_is(const void *image);
/* Bytes of the ELF image, from its own headers. */
size_t cubin_bytes(const void *image);
/* The tag of the cubin that belongs to this PTX. */
struct cubin_tag cubin_tag(const char *ptx);
/* That of an image; false: it has none.  Reads as many bytes behind the image. */
bool cubin_tagged(struct cubin_tag *out, const void *image);
/* Path of the PTX; false: BRAZE_STANDIN_PTX is not set, or the path is too long. */
bool cubin_path(const struct cubin_tag *tag, char *path, size_t cap);

#endif
