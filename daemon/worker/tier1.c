/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier1.c - compiled kernels as functions of this process (see tier1.h). */
#define _GNU_SOURCE
#include "tier1.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "present.h"

/* Generated code spells these structs itself (kernels/); the layouts agree. */
_Static_assert(sizeof(struct bz_args) == 64, "struct bz_args has changed");
_Static_assert(offsetof(struct bz_args, base) == 0 && offsetof(struct bz_args, extent) == 8 &&
		       offsetof(struct bz_args, stride) == 16 &&
		       offsetof(struct bz_args, scalar) == 24 &&
		       offsetof(struct bz_args, cancel) == 32 &&
		       offsetof(struct bz_args, stream) == 40 &&
		       offsetof(struct bz_args, gather) == 48 &&
		       offsetof(struct bz_args, error) == 56,
	       "struct bz_args has changed");
_Static_assert(sizeof(struct bz_acc) == 24 && offsetof(struct bz_acc, v) == 0 &&
		       offsetof(struct bz_acc, index) == 16,
	       "struct bz_acc has changed");
_Static_assert(LIMIT_NDIM == 8, "bz_args.stride has rows of 8");

static enum status entry(void *out, void *object, const char *name, struct err *err)
{
	void *p = dlsym(object, name);

	if (!p)
		return err_set(err, E_COMPILE, "compiled kernel lacks %s", name);
	memcpy(out, &p, sizeof p);
	return OK;
}

/* A path of the descriptor that names this object and no other: the loader takes a
 * name that it knows for the object it knows, but descriptors' numbers come again.
 * The inode's number, unique while the object is mapped, is spelled in dots that
 * mean nothing to the file system. */
static enum status object_path(char *path, size_t n, int fd, struct err *err)
{
	int at = snprintf(path, n, "/proc/self/fd");
	struct stat st;

	if (fstat(fd, &st))
		return err_set(err, E_SYSTEM, "compiled kernel: bad descriptor %d", fd);
	for (unsigned bit = 0; bit < 64; bit++)
		at += snprintf(path + at, n - (size_t)at, "%s",
			       (uint64_t)st.st_ino >> bit & 1 ? "/." : "/");
	snprintf(path + at, n - (size_t)at, "/%d", fd);
	return OK;
}

enum status tier1_load(struct tier1 *out, int fd, const struct nest *spec, struct err *err)
{
	struct tier1 t = {NULL, NULL, NULL, NULL};
	char path[256];
	enum status st = object_path(path, sizeof path, fd, err);

	if (st)
		return st;
	/* Vector math comes from the process, objects name no library. */
	dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL);
	t.object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!t.object) {
		st = err_set(err, E_COMPILE, "compiled kernel does not load: %s", dlerror());
		goto out;
	}
	if (!spec->nred) {
		st = entry(&t.map, t.object, "bz_map", err);
	} else {
		st = entry(&t.reduce, t.object, "bz_reduce", err);
		if (!st)
			st = entry(&t.finish, t.object, "bz_finish", err);
	}
	if (st)
		goto out;
	present_object(t.map ? (void *)t.map : (void *)t.reduce);
	*out = t;
	t.object = NULL;
out:
	if (t.object)
		dlclose(t.object);
	return st;
}

void tier1_unload(struct tier1 *t)
{
	if (t->object)
		dlclose(t->object);
	memset(t, 0, sizeof *t);
}
