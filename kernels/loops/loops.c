/* SPDX-License-Identifier: Apache-2.0 */
#include "loops.h"

#include <gnu/libc-version.h>

#include "loops_build.h"

uint64_t loops_build(void)
{
	return LOOPS_BUILD;
}

uint64_t loops_identity(void)
{
	uint64_t h = LOOPS_BUILD;

	for (const char *p = gnu_get_libc_version(); *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	return h ? h : 1;
}
