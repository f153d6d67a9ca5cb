/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "slab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xalloc.h"

/* gcc says it with macros, clang with features. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SANITIZED)
#define OWN_ALLOCATIONS 1
#else
#define OWN_ALLOCATIONS 0
#endif
#define CHUNK_BYTES 16384
/* From LARGE_FROM bytes on a slab takes pages of its own, which can be given back whatever
 * else lies in the heap. */
#define LARGE_FROM  (1 << 20)
#define LARGE_BYTES (1 << 20)
#define AT_ONCE	    (16 << 20) /* bytes given back by slab_finish_some */

struct slab_chunk {
	struct slab_chunk *next;
	size_t bytes;
	bool mapped;
	_Alignas(16) char objects[];
};

void slab_init(struct slab *s, size_t size, size_t *total)
{
	size = size < sizeof(void *) ? sizeof(void *) : size;
	*s = (struct slab){.size = (size + 15) & ~(size_t)15, .total = total};
}

bool slab_full(const struct slab *s)
{
	return OWN_ALLOCATIONS || (!s->free && !s->left);
}

static void grow(struct slab *s)
{
	bool large = s->bytes >= LARGE_FROM;
	size_t bytes = large ? LARGE_BYTES : CHUNK_BYTES + sizeof(struct slab_chunk);
	struct slab_chunk *c = MAP_FAILED;

	if (bytes < sizeof *c + s->size)
		bytes = sizeof *c + s->size;
	if (large)
		c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	large = c != MAP_FAILED;
	if (!large)
		c = xmalloc(bytes);
	c->next = s->chunks;
	c->bytes = bytes;
	c->mapped = large;
	s->chunks = c;
	s->left = (bytes - sizeof *c) / s->size;
	s->bytes += bytes;
	*s->total += bytes;
}

void *slab_take(struct slab *s)
{
	void *object = s->free;

	if (OWN_ALLOCATIONS) {
		*s->total += s->size;
		return xmalloc(s->size);
	}
	if (object) {
		memcpy(&s->free, object, sizeof s->free);
	} else {
		if (!s->left)
			grow(s);
		object = s->chunks->objects + --s->left * s->size;
	}
	return object;
}

void slab_give(struct slab *s, void *object)
{
	if (OWN_ALLOCATIONS) {
		*s->total -= s->size;
		free(object);
		return;
	}
	memcpy(object, &s->free, sizeof s->free);
	s->free = object;
}

bool slab_finish_some(struct slab *s)
{
	size_t given = 0;

	while (s->chunks && given < AT_ONCE) {
		struct slab_chunk *c = s->chunks;

		s->chunks = c->next;
		given += c->bytes;
		*s->total -= c->bytes;
		if (c->mapped)
			munmap(c, c->bytes);
		else
			free(c);
	}
	s->free = NULL;
	s->left = 0;
	if (s->chunks)
		return false;
	s->bytes = 0;
	return true;
}

void slab_finish(struct slab *s)
{
	while (!slab_finish_some(s))
		;
}
