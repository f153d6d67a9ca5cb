/* SPDX-License-Identifier: Apache-2.0 */
/* base/slab.h - many objects of one size, made and freed all the time.
 *
 * Freed objects are reused last in first out, so they are warm in the cache.
 * Memory goes back when the slab is finished.  One thread.  Under a sanitizer
 * each object is an allocation of its own, so that its checks see it. */
#ifndef BRAZE_SLAB_H
#define BRAZE_SLAB_H

#include <stddef.h>

struct slab_chunk;

struct slab {
	size_t size; /* of an object; at least a pointer's */
	void *free;  /* freed objects, each holding the next's address */
	struct slab_chunk *chunks;
	size_t left; /* objects not yet used in the newest chunk */
};

void slab_init(struct slab *s, size_t size);
/* An object with unspecified contents. */
void *slab_take(struct slab *s);
void slab_give(struct slab *s, void *object);
/* Every object is gone; the slab is as after slab_init. */
void slab_finish(struct slab *s);

#endif
