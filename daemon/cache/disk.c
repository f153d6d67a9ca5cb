/* SPDX-License-Identifier: Apache-2.0 */
/* cache/disk.c - object code in a private folder (see disk.h).
 *
 * Entries are written under another name, synced and renamed, so that a crash at
 * any moment leaves the old entry or none.  Whatever is read is checked in full
 * before a byte of it may be executed: form, length, checksum, identity, key. */
#define _GNU_SOURCE
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "compile/compile.h"

#define MAGIC	       "BZKERN3"
#define SUFFIX	       ".bzk"
#define TEMP_PREFIX    "tmp-"
#define TEMP_AGE       600 /* seconds after which a temporary file is left over */
#define MAX_NAME       64
#define MAX_KEY_BYTES  (4u << 20)
#define MAX_FILE_BYTES (COMPILE_OBJECT_BYTES + MAX_KEY_BYTES + 8192u)
#define MARKS	       65536 /* of names that are there, by their last bits */

struct header {
	char magic[8];
	uint32_t generation, isa;
	uint32_t registers, spill_bytes;
	uint64_t identity_bytes, key_bytes, geometry_bytes, code_bytes;
	uint64_t checksum; /* of what follows, seeded by the fields before */
};

struct disk {
	int dir;
	_Atomic uint64_t max_bytes;
	/* Guards used, which is a guess where other processes share the folder. */
	pthread_mutex_t lock;
	uint64_t used;
	uint64_t serial;
	_Atomic uint64_t mark[MARKS / 64];
};

struct file {
	char name[MAX_NAME];
	int64_t seconds, nanoseconds;
	uint64_t bytes;
};

static bool has_suffix(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(SUFFIX) && n < MAX_NAME && !strcmp(name + n - strlen(SUFFIX), SUFFIX);
}

static int older_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? -1 : 1;
	if (x->nanoseconds != y->nanoseconds)
		return x->nanoseconds < y->nanoseconds ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Every entry of the folder; leftover temporary files are removed on the way. */
static struct file *scan(const struct disk *d, size_t *count)
{
	int fd = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct file *list = NULL;
	size_t n = 0, room = 0;
	struct dirent *e;
	struct stat st;

	*count = 0;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	while ((e = readdir(dir))) {
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (!strncmp(e->d_name, TEMP_PREFIX, strlen(TEMP_PREFIX)) &&
		    time(NULL) - st.st_mtime > TEMP_AGE)
			unlinkat(fd, e->d_name, 0);
		if (!has_suffix(e->d_name))
			continue;
		if (n == room) {
			room = room ? 2 * room : 64;
			list = xrealloc(list, room, sizeof *list);
		}
		memcpy(list[n].name, e->d_name, strlen(e->d_name) + 1);
		list[n].seconds = st.st_mtim.tv_sec;
		list[n].nanoseconds = st.st_mtim.tv_nsec;
		list[n++].bytes = (uint64_t)st.st_size;
	}
	closedir(dir);
	*count = n;
	return list;
}

static enum status make_folders(const char *dir, struct err *err)
{
	char *path = xstrdup(dir);
	enum status st = OK;

	for (char *p = path + 1; *p && !st; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			st = err_set(err, E_SYSTEM, "cannot make the folder %s: %s", path,
				     strerror(errno));
		*p = '/';
	}
	if (!st && mkdir(path, 0700) && errno != EEXIST)
		st = err_set(err, E_SYSTEM, "cannot make the cache folder %s: %s", path,
			     strerror(errno));
	free(path);
	return st;
}

/* Code from this folder is executed: nobody else may be able to write there. */
static enum status open_private(int *out, const char *dir, struct err *err)
{
	enum status st = OK;
	struct stat info;
	int fd;

	if (*dir != '/')
		return err_set(err, E_INVALID, "cache folder %s: give an absolute path", dir);
	st = make_folders(dir, err);
	if (st)
		return st;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info))
		st = err_set(err, errno == ENOTDIR || errno == ELOOP ? E_INVALID : E_SYSTEM,
			     "cache folder %s: %s", dir, strerror(errno));
	else if (info.st_uid != geteuid())
		st = err_set(err, E_INVALID, "cache folder %s belongs to user %u, not to %u", dir,
			     (unsigned)info.st_uid, (unsigned)geteuid());
	else if (info.st_mode & 077)
		st = err_set(err, E_INVALID,
			     "cache folder %s is open to other users; run chmod 700 on it", dir);
	if (st) {
		if (fd >= 0)
			close(fd);
		return st;
	}
	*out = fd;
	return OK;
}

/* Files are named by this. */
static uint64_t entry_hash(const struct disk_kind *kind, const char *key)
{
	uint64_t seed = hash_bytes(kind->identity, strlen(kind->identity),
				   (uint64_t)kind->generation << 8 | kind->isa);

	return hash_bytes(key, strlen(key), seed);
}

static void mark(struct disk *d, uint64_t hash)
{
	d->mark[hash % MARKS / 64] |= 1ull << hash % 64;
}

bool disk_may_have(const struct disk *d, const struct disk_kind *kind, const char *key)
{
	uint64_t hash = entry_hash(kind, key);

	return d->mark[hash % MARKS / 64] >> hash % 64 & 1;
}

enum status disk_open(struct disk **out, const struct disk_config *c, struct err *err)
{
	struct disk *d = NULL;
	struct file *list = NULL;
	size_t n = 0;
	int fd = -1;
	enum status st = open_private(&fd, c->dir, err);

	if (st)
		return st;
	d = xcalloc(1, sizeof *d);
	d->dir = fd;
	d->max_bytes = c->max_bytes;
	pthread_mutex_init(&d->lock, NULL);
	list = scan(d, &n);
	for (size_t i = 0; i < n; i++) {
		d->used += list[i].bytes;
		mark(d, strtoull(list[i].name, NULL, 16));
	}
	free(list);
	*out = d;
	return OK;
}

void disk_bound(struct disk *d, uint64_t max_bytes)
{
	d->max_bytes = max_bytes;
}

void disk_close(struct disk *d)
{
	if (!d)
		return;
	close(d->dir);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static void entry_name(char name[MAX_NAME], const struct disk_kind *kind, const char *key)
{
	snprintf(name, MAX_NAME, "%016llx" SUFFIX, (unsigned long long)entry_hash(kind, key));
}

static uint64_t checksum(const struct header *h, const char *body, size_t n)
{
	uint64_t seed = hash_bytes(h, offsetof(struct header, checksum), 0);

	return hash_bytes(body, n, seed);
}

static bool read_all(int fd, char *buf, size_t n)
{
	for (size_t have = 0; have < n;) {
		ssize_t r = pread(fd, buf + have, n - have, (off_t)have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		have += (size_t)r;
	}
	return true;
}

static bool write_all(int fd, const char *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t w = write(fd, buf + done, n - done);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return false;
		done += (size_t)w;
	}
	return true;
}

/* Do the lengths make a file of n bytes? */
static bool fits(const struct header *h, size_t n)
{
	return h->identity_bytes <= n && h->key_bytes <= n && h->code_bytes <= n && h->code_bytes &&
	       h->geometry_bytes <= CUDA_GEOMETRIES * sizeof(struct cuda_geometry) &&
	       h->geometry_bytes % sizeof(struct cuda_geometry) == 0 &&
	       sizeof *h + h->identity_bytes + h->key_bytes + h->geometry_bytes + h->code_bytes ==
		       n;
}

/* Is this file of n bytes a sound entry?  Then its key is compared. */
static enum disk_found judge(const struct disk_kind *kind, const char *file, size_t n,
			     const char *key)
{
	const char *body = file + sizeof(struct header);
	struct header h;

	if (n < sizeof h)
		return DISK_DAMAGED;
	memcpy(&h, file, sizeof h);
	if (memcmp(h.magic, MAGIC, sizeof h.magic) || !fits(&h, n))
		return DISK_DAMAGED;
	if (h.checksum != checksum(&h, body, n - sizeof h))
		return DISK_DAMAGED;
	if (h.generation != kind->generation || h.isa != kind->isa ||
	    h.identity_bytes != strlen(kind->identity) || h.key_bytes != strlen(key) ||
	    memcmp(body, kind->identity, h.identity_bytes) ||
	    memcmp(body + h.identity_bytes, key, h.key_bytes))
		return DISK_MISS;
	return DISK_HIT;
}

static void account(struct disk *d, int64_t delta)
{
	pthread_mutex_lock(&d->lock);
	d->used = delta < 0 && d->used < (uint64_t)-delta ? 0 : d->used + (uint64_t)delta;
	pthread_mutex_unlock(&d->lock);
}

/* Remove the damaged file that fd is, but not a sound one that another process
 * has put in its place since. */
static void remove_same(struct disk *d, const char *name, int fd)
{
	struct stat a, b;

	if (!fstat(fd, &a) && !fstatat(d->dir, name, &b, AT_SYMLINK_NOFOLLOW) &&
	    a.st_ino == b.st_ino && a.st_dev == b.st_dev && !unlinkat(d->dir, name, 0))
		account(d, -(int64_t)a.st_size);
}

enum disk_found disk_read(struct disk *d, const struct disk_kind *kind, const char *key,
			  struct disk_code *out)
{
	enum disk_found found = DISK_MISS;
	char name[MAX_NAME], *file = NULL;
	struct header h;
	struct stat st;
	int in;

	entry_name(name, kind, key);
	in = openat(d->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0)
		return DISK_MISS;
	found = DISK_DAMAGED;
	if (fstat(in, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size < 0 ||
	    (uint64_t)st.st_size > MAX_FILE_BYTES)
		goto out;
	file = xmalloc((size_t)st.st_size);
	if (!read_all(in, file, (size_t)st.st_size))
		goto out;
	found = judge(kind, file, (size_t)st.st_size, key);
	if (found != DISK_HIT)
		goto out;
	memcpy(&h, file, sizeof h);
	if (compile_wire_memfd(&out->fd, "braze-kernel", file + st.st_size - h.code_bytes,
			       (size_t)h.code_bytes, NULL)) {
		found = DISK_MISS; /* the entry is sound, we are out of descriptors */
		goto out;
	}
	out->bytes = h.code_bytes;
	out->registers = h.registers;
	out->spill_bytes = h.spill_bytes;
	out->ngeometry = (uint32_t)(h.geometry_bytes / sizeof(struct cuda_geometry));
	memcpy(out->geometry, file + st.st_size - h.code_bytes - h.geometry_bytes,
	       (size_t)h.geometry_bytes);
	futimens(in, NULL); /* the oldest use is evicted first */
out:
	if (found == DISK_DAMAGED)
		remove_same(d, name, in);
	close(in);
	free(file);
	return found;
}

/* Bring the folder back to nine tenths of its bound. */
static void evict(struct disk *d)
{
	struct file *list;
	uint64_t total = 0;
	size_t n, i;
	bool over;

	pthread_mutex_lock(&d->lock);
	over = d->max_bytes && d->used > d->max_bytes;
	pthread_mutex_unlock(&d->lock);
	if (!over)
		return;
	list = scan(d, &n);
	if (list)
		qsort(list, n, sizeof *list, older_first);
	for (i = 0; i < n; i++)
		total += list[i].bytes;
	for (i = 0; i < n && total > d->max_bytes - d->max_bytes / 10; i++)
		if (!unlinkat(d->dir, list[i].name, 0) || errno == ENOENT)
			total -= list[i].bytes;
	free(list);
	pthread_mutex_lock(&d->lock);
	d->used = total;
	pthread_mutex_unlock(&d->lock);
}

/* The whole file as it will lie on disk; *n its bytes. */
static char *compose(const struct disk_kind *kind, const char *key, const struct disk_code *code,
		     size_t *n)
{
	struct header h = {.magic = MAGIC,
			   .generation = kind->generation,
			   .isa = kind->isa,
			   .registers = code->registers,
			   .spill_bytes = code->spill_bytes,
			   .identity_bytes = strlen(kind->identity),
			   .key_bytes = strlen(key),
			   .geometry_bytes = code->ngeometry * sizeof(struct cuda_geometry),
			   .code_bytes = code->bytes};
	char *file, *body, *at;

	*n = (size_t)(sizeof h + h.identity_bytes + h.key_bytes + h.geometry_bytes + h.code_bytes);
	file = xmalloc(*n);
	body = file + sizeof h;
	memcpy(body, kind->identity, h.identity_bytes);
	at = body + h.identity_bytes;
	memcpy(at, key, h.key_bytes);
	at += h.key_bytes;
	memcpy(at, code->geometry, h.geometry_bytes);
	at += h.geometry_bytes;
	if (!read_all(code->fd, at, (size_t)h.code_bytes)) {
		free(file);
		return NULL;
	}
	h.checksum = checksum(&h, body, *n - sizeof h);
	memcpy(file, &h, sizeof h);
	return file;
}

enum status disk_write(struct disk *d, const struct disk_kind *kind, const char *key,
		       const struct disk_code *code, struct err *err)
{
	char name[MAX_NAME], temp[MAX_NAME], *file = NULL;
	enum status st = OK;
	struct stat old;
	uint64_t serial;
	size_t n = 0;
	int out = -1;

	if (!code->bytes || code->bytes > COMPILE_OBJECT_BYTES || strlen(key) > MAX_KEY_BYTES ||
	    code->ngeometry > CUDA_GEOMETRIES)
		return err_set(err, E_LIMIT, "kernel of %llu bytes is not kept on disk",
			       (unsigned long long)code->bytes);
	pthread_mutex_lock(&d->lock);
	serial = d->serial++;
	pthread_mutex_unlock(&d->lock);
	entry_name(name, kind, key);
	snprintf(temp, sizeof temp, TEMP_PREFIX "%d-%p-%llu", (int)getpid(), (void *)d,
		 (unsigned long long)serial);
	file = compose(kind, key, code, &n);
	if (!file)
		return err_set(err, E_SYSTEM, "cannot read the object to be kept on disk");
	unlinkat(d->dir, temp, 0); /* of a dead process that had our number */
	out = openat(d->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0 || !write_all(out, file, n) || fsync(out)) {
		st = err_set(err, E_SYSTEM, "cannot write the cache entry %s: %s", temp,
			     strerror(errno));
		goto out;
	}
	if (!fstatat(d->dir, name, &old, AT_SYMLINK_NOFOLLOW))
		account(d, -(int64_t)old.st_size);
	if (renameat(d->dir, temp, d->dir, name)) {
		st = err_set(err, E_SYSTEM, "cannot rename the cache entry %s: %s", temp,
			     strerror(errno));
		goto out;
	}
	account(d, (int64_t)n);
	mark(d, entry_hash(kind, key));
	evict(d);
out:
	if (out >= 0)
		close(out);
	if (st)
		unlinkat(d->dir, temp, 0);
	free(file);
	return st;
}

void disk_remove(struct disk *d, const struct disk_kind *kind, const char *key)
{
	char name[MAX_NAME];
	struct stat st;

	entry_name(name, kind, key);
	if (!fstatat(d->dir, name, &st, AT_SYMLINK_NOFOLLOW) && !unlinkat(d->dir, name, 0))
		account(d, -(int64_t)st.st_size);
}

enum status disk_clear(struct disk *d, struct err *err)
{
	enum status st = OK;
	size_t n;
	struct file *list = scan(d, &n);

	for (size_t i = 0; i < n; i++)
		if (unlinkat(d->dir, list[i].name, 0) && errno != ENOENT && !st)
			st = err_set(err, E_SYSTEM, "cannot remove the cache entry %s: %s",
				     list[i].name, strerror(errno));
	free(list);
	for (size_t i = 0; i < MARKS / 64; i++)
		d->mark[i] = 0;
	pthread_mutex_lock(&d->lock);
	d->used = 0;
	pthread_mutex_unlock(&d->lock);
	return st;
}
