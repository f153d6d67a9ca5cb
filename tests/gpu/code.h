/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/code.h - text of CUDA C++ to code, by the NVRTC that the daemon uses.
 *
 * NVRTC runs in a child: it limits its process and brings threads.  One thread. */
#ifndef GPU_CODE_H
#define GPU_CODE_H

#include "host.h"

/* Code for this architecture in a memfd that the caller closes. */
enum status code_compile(int *out, uint64_t *bytes, const char *source, unsigned arch,
			 struct err *err) MUST_USE;
/* The same, as a NUL-ended image that the caller frees. */
enum status code_image(char **out, const char *source, unsigned arch, struct err *err) MUST_USE;
/* Put the code of `source` into a cache folder in the place of the kernel with this key,
 * so that a daemon that starts on the folder runs it for that kernel. */
enum status code_replace(const char *folder, const char *key, const char *source, unsigned arch,
			 struct err *err) MUST_USE;

#endif
