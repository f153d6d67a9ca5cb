/* SPDX-License-Identifier: Apache-2.0 */
/* cache/disk.h - object code in a private folder, shared by every daemon of a user.
 *
 * One file per kernel, `<hash>.bzk`: header, identity, key, geometries, object.  A file
 * appears whole by rename; a damaged, foreign or outdated one is a miss, and is
 * removed when damaged.  Any thread; several processes. */
#ifndef BRAZE_DISK_H
#define BRAZE_DISK_H

#include "ops.h"
#include "contract/cuda_abi.h"

struct disk;

enum disk_found {
	DISK_HIT,
	DISK_MISS,   /* not there, or another kernel's */
	DISK_DAMAGED /* was there, could not be used, is removed */
};

struct disk_config {
	const char *dir;    /* made when missing, with its parents */
	uint64_t max_bytes; /* 0: no bound */
};

/* What made the code, one for each target. */
struct disk_kind {
	const char *identity; /* everything but the key that the code depends on */
	uint32_t isa;
	uint32_t generation; /* of the emitter */
};

struct disk_code {
	int fd;
	uint64_t bytes;
	/* Of CUDA code; else 0. */
	uint32_t registers, spill_bytes;
	uint32_t ngeometry;
	struct cuda_geometry geometry[CUDA_GEOMETRIES];
};

/* E_INVALID when the folder is not ours alone; E_SYSTEM. */
enum status disk_open(struct disk **out, const struct disk_config *c, struct err *err) MUST_USE;
/* Another bound from now on. */
void disk_bound(struct disk *d, uint64_t max_bytes);
void disk_close(struct disk *d);
/* Was there a file of this name when the folder was opened, or has one been written since?  Without
 * a look at the disk; it may say yes of others. */
bool disk_may_have(const struct disk *d, const struct disk_kind *kind, const char *key);
/* On DISK_HIT out->fd is a sealed memfd. */
enum disk_found disk_read(struct disk *d, const struct disk_kind *kind, const char *key,
			  struct disk_code *out);
/* The object behind code->fd (not consumed, its position not used). */
enum status disk_write(struct disk *d, const struct disk_kind *kind, const char *key,
		       const struct disk_code *code, struct err *err) MUST_USE;
/* Forget an entry whose code turned out not to load. */
void disk_remove(struct disk *d, const struct disk_kind *kind, const char *key);
enum status disk_clear(struct disk *d, struct err *err) MUST_USE;

#endif
