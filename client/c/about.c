/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/about.c - where the parts are that a process uses, and what its daemon has to say. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>

#include "connect.h"
#include "near.h"
#include "session.h"

const char *braze_notice(const braze_session *s)
{
	return s->notice;
}

int braze_daemon_path(char *path, size_t n, braze_error *error)
{
	return (int)connect_daemon(path, n, err_of(error));
}

void braze_prepare(void)
{
	session_prepare();
	near_begin();
}

int braze_loops_path(char *path, size_t n)
{
	const struct loops_library *loops = near_library();
	Dl_info info;

	if (!loops || !dladdr(loops, &info) || !info.dli_fname)
		return 0;
	return snprintf(path, n, "%s", info.dli_fname) < (int)n;
}
