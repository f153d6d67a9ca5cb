/* SPDX-License-Identifier: Apache-2.0 */
/* base/slab.h - many objects of one size, made and freed all the time.
 *
 * Freed objects are reused last in first out, so they are warm in the cache.
 * Memory goes back when the slab is finished: of a slab that has grown large, in pieces
 * of its own pages, to the system.  One thread.  Under a sanitizer each object is an
 * allocation of its own, so that its checks see it. */
#ifndef BRAZE_SLAB_H
#define BRAZE_SLAB_H

#include <stdbool.h>
#include <stddef.h>

struct slab_chunk;

struct slab {
	size_t size; /* of an object; at least a pointer's */
	void *free;  /* freed objects, each holding the next's address */
	struct slab_chunk *chunks;
	size_t left;   /* objects not yet used in the newest chunk */
	size_t bytes;  /* of all chunks */
	size_t *total; /* of this slab and others */
};

/* total: counts the bytes that are taken from the system; outlives the slab. */
void slab_init(struct slab *s, size_t size, size_t *total);
/* Would the next object need more memory? */
bool slab_full(const struct slab *s);
/* An object with unspecified contents. */
void *slab_take(struct slab *s);
void slab_give(struct slab *s, void *object);
/* Every object is gone; the slab is as after slab_init. */
void slab_finish(struct slab *s);
/* A part of that, not more than a few milliseconds' work; true: it is done. */
bool slab_finish_some(struct slab *s);

#endif
