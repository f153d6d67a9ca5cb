/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_target.c - which compiler there is. */
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static bool find_in_path(char path[COMPILE_PATH_BYTES], const char *name)
{
	const char *dirs = getenv("PATH");

	if (!dirs || !*dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	for (const char *at = dirs; *at;) {
		size_t n = strcspn(at, ":");
		int len = snprintf(path, COMPILE_PATH_BYTES, "%.*s/%s", (int)n, at, name);

		/* A relative entry would let the working folder choose the compiler. */
		if (*at == '/' && len < COMPILE_PATH_BYTES && executable(path))
			return true;
		at += n;
		at += *at == ':';
	}
	return false;
}

bool compile_target_find(char path[COMPILE_PATH_BYTES], const char *name)
{
	if (!name)
		return find_in_path(path, "gcc") || find_in_path(path, "clang");
	if (!strchr(name, '/'))
		return find_in_path(path, name);
	if (*name != '/' || strlen(name) >= COMPILE_PATH_BYTES || !executable(name))
		return false;
	strcpy(path, name);
	return true;
}

void compile_target_identity(char *buf, size_t n, const char *path)
{
	struct stat st;
	char *real = realpath(path, NULL);

	if (real && !stat(real, &st))
		snprintf(buf, n, "%s %lld %lld.%09ld", real, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	else
		snprintf(buf, n, "%s unknown", path);
	free(real);
}
