/* SPDX-License-Identifier: Apache-2.0 */
/* base/cuda_find.c - see cuda_find.h. */
#define _GNU_SOURCE
#include "cuda_find.h"

#include <glob.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "textbuf.h"

struct search {
	struct cuda_find *f;
	const char *const *names;
	struct textbuf tried; /* folders, one behind the other */
};

/* Where below a toolkit, or below Python's site-packages, libraries lie. */
static const char *const below[] = {"lib64",
				    "lib",
				    "targets/x86_64-linux/lib",
				    "targets/sbsa-linux/lib",
				    "targets/aarch64-linux/lib",
				    "nvidia/cu13/lib",
				    "nvidia/cuda_nvrtc/lib",
				    "nvidia/cublas/lib",
				    "nvidia/cufft/lib",
				    "nvidia/cusolver/lib"};
static const char *const system_folders[] = {"/usr/lib/x86_64-linux-gnu",
					     "/lib/x86_64-linux-gnu",
					     "/usr/lib/aarch64-linux-gnu",
					     "/lib/aarch64-linux-gnu",
					     "/usr/lib64",
					     "/usr/lib",
					     "/usr/local/lib",
					     "/usr/local/nvidia/lib64",
					     "/usr/lib/wsl/lib"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static atomic_int driver_version;

void cuda_find_driver(int version)
{
	atomic_store(&driver_version, version);
}

/* Libraries whose numbers are CUDA's less one: libcufft.so.12 is of CUDA 13, and so is
 * libcusolver.so.12; its .11 is of CUDA 11 as well, whose drivers load no such library of CUDA 12
 * either. */
static const char *const behind[] = {"libcufft.so", "libcusolver.so"};

static int number_of_cuda(const char *path, int number)
{
	for (unsigned i = 0; i < COUNT(behind); i++)
		if (strstr(path, behind[i]))
			return number + 1;
	return number;
}

/* The number behind ".so.", of the file itself or of what it leads to; 0: none. */
static int number_of(const char *path)
{
	const char *at = strstr(path, ".so.");
	char *real = at ? NULL : realpath(path, NULL);
	int number = 0;

	at = real ? strstr(real, ".so.") : at;
	number = at ? number_of_cuda(path, atoi(at + 4)) : 0;
	free(real);
	return number;
}

static bool too_new(const char *path)
{
	int version = atomic_load(&driver_version);

	return version && number_of(path) > version / 1000;
}

/* The first of the names in this folder. */
static bool in_folder(struct search *s, const char *folder)
{
	/* A relative folder would let the working folder choose what is loaded. */
	if (*folder != '/')
		return false;
	textbuf_put(&s->tried, " %s", folder);
	for (unsigned i = 0; s->names[i]; i++) {
		int n = snprintf(s->f->path, sizeof s->f->path, "%s/%s", folder, s->names[i]);

		if (n >= (int)sizeof s->f->path || access(s->f->path, R_OK))
			continue;
		if (!too_new(s->f->path))
			return true;
		textbuf_put(&s->tried, " (%s is of a later CUDA than the driver)", s->names[i]);
	}
	return false;
}

static bool below_root(struct search *s, const char *root)
{
	char folder[CUDA_FIND_PATH + 64];

	if (*root != '/')
		return false;
	for (unsigned i = 0; i < COUNT(below); i++) {
		snprintf(folder, sizeof folder, "%s/%s", root, below[i]);
		/* Only folders that exist: the list of places shall be readable. */
		if (!access(folder, X_OK) && in_folder(s, folder))
			return true;
	}
	return in_folder(s, root);
}

/* Each folder of a list with colons. */
static bool in_list(struct search *s, const char *list, bool (*look)(struct search *, const char *))
{
	char folder[CUDA_FIND_PATH];

	for (const char *at = list; at && *at;) {
		size_t n = strcspn(at, ":");

		snprintf(folder, sizeof folder, "%.*s", (int)n, at);
		if (*folder && look(s, folder))
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

static bool in_toolkits(struct search *s)
{
	glob_t g;
	bool found = false;

	if (below_root(s, "/usr/local/cuda"))
		return true;
	if (!glob("/usr/local/cuda-*", 0, NULL, &g))
		for (size_t i = g.gl_pathc; i-- > 0 && !found;)
			found = below_root(s, g.gl_pathv[i]);
	globfree(&g);
	return found || below_root(s, "/opt/cuda");
}

static bool everywhere(struct search *s)
{
	if (in_list(s, getenv("BRAZE_CUDA_PATHS"), below_root) ||
	    in_list(s, getenv("CUDA_HOME"), below_root) ||
	    in_list(s, getenv("CUDA_PATH"), below_root) ||
	    in_list(s, getenv("CONDA_PREFIX"), below_root) ||
	    in_list(s, getenv("LD_LIBRARY_PATH"), in_folder))
		return true;
	for (unsigned i = 0; i < COUNT(system_folders); i++)
		if (in_folder(s, system_folders[i]))
			return true;
	return in_toolkits(s);
}

bool cuda_find(struct cuda_find *f, const char *variable, const char *const *names)
{
	char tried[CUDA_FIND_TEXT] = "";
	struct search s = {f, names, {tried, sizeof tried, 0}};
	const char *given = getenv(variable);
	bool found;

	if (given && *given) {
		/* Who names a file wants that file and no other. */
		found = *given == '/' && strlen(given) < sizeof f->path && !access(given, R_OK);
		snprintf(f->path, sizeof f->path, "%s", found ? given : "");
		snprintf(f->text, sizeof f->text, found ? "found %s" : "%s=%s is no readable file",
			 found ? given : variable, given);
		return found;
	}
	found = everywhere(&s);
	if (!found)
		*f->path = 0;
	if (found)
		snprintf(f->text, sizeof f->text, "found %s", f->path);
	else
		snprintf(f->text, sizeof f->text,
			 "no %s; install it, or set %s to the file or BRAZE_CUDA_PATHS to a folder "
			 "above it; looked in%.1700s",
			 names[0], variable, tried);
	return found;
}
