/* SPDX-License-Identifier: Apache-2.0 */
/* base/files.c - asks the process' limit (see files.h). */
#include "files.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum status files_none(struct err *err, const char *what, int error)
{
	struct rlimit files = {RLIM_INFINITY, RLIM_INFINITY};

	getrlimit(RLIMIT_NOFILE, &files);
	if (error == EMFILE && files.rlim_cur != RLIM_INFINITY)
		return err_set(err, E_SYSTEM,
			       "the daemon has used its %llu descriptors (RLIMIT_NOFILE, ulimit "
			       "-n), and %s is one: raise the limit",
			       (unsigned long long)files.rlim_cur, what);
	return err_set(err, E_SYSTEM, "no descriptor for %s: %s", what, strerror(error));
}
