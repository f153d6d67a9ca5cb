/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr */
#include "beside.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool beside_folder(char folder[PATH_BYTES])
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)&beside_folder, &info) || !info.dli_fname)
		return false;
	/* Of a program it is what the program was called by, maybe a bare name. */
	if (!(strchr(info.dli_fname, '/') && realpath(info.dli_fname, folder)) &&
	    !realpath("/proc/self/exe", folder))
		return false;
	*strrchr(folder, '/') = '\0';
	return true;
}
