/* SPDX-License-Identifier: Apache-2.0 */
/* contract/backend.h - the rows of backends.def by number.
 *
 * Code has a number, which a worker's hello says (command_hello.arch) and by which kernels are told
 * apart: 0 is the processor's; others have their row in the upper half, and below what the row
 * makes of it, CUDA a compute capability, 90 for 9.0. */
#ifndef BRAZE_BACKEND_H
#define BRAZE_BACKEND_H

#include <stdint.h>

enum {
#define X(name, ...) BACKEND_##name,
#include "backends.def"
#undef X
	BACKEND_END
};

#define BACKEND_CODE(row, number) ((uint32_t)(row) << 16 | (number))

/* Of code that is not the processor's: its row, BACKEND_END and more: none; and the rest. */
static inline uint32_t backend_row(uint32_t arch)
{
	return arch >> 16;
}

static inline uint32_t backend_number(uint32_t arch)
{
	return arch & 0xffff;
}

#endif
