/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_target.c - which compiler, for which instruction set. */
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum compile_isa compile_target_isa(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
		return ISA_V4;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return ISA_V3;
#endif
	return ISA_V2;
}

const char *compile_target_march(enum compile_isa isa)
{
	static const char *const march[ISA_END] = {
		[ISA_V2] = "x86-64-v2", [ISA_V3] = "x86-64-v3", [ISA_V4] = "x86-64-v4"};

	return isa < ISA_END ? march[isa] : march[ISA_V2];
}

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
