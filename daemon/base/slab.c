/* SPDX-License-Identifier: Apache-2.0 */
#include "slab.h"

#include <stdlib.h>
#include <string.h>

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

struct slab_chunk {
	struct slab_chunk *next;
	_Alignas(16) char objects[];
};

void slab_init(struct slab *s, size_t size)
{
	size = size < sizeof(void *) ? sizeof(void *) : size;
	*s = (struct slab){.size = (size + 15) & ~(size_t)15};
}

void *slab_take(struct slab *s)
{
	void *object = s->free;

	if (OWN_ALLOCATIONS)
		return xmalloc(s->size);
	if (object) {
		memcpy(&s->free, object, sizeof s->free);
	} else {
		size_t n = CHUNK_BYTES / s->size ? CHUNK_BYTES / s->size : 1;

		if (!s->left) {
			struct slab_chunk *c = xmalloc(sizeof *c + n * s->size);

			c->next = s->chunks;
			s->chunks = c;
			s->left = n;
		}
		object = s->chunks->objects + --s->left * s->size;
	}
	return object;
}

void slab_give(struct slab *s, void *object)
{
	if (OWN_ALLOCATIONS) {
		free(object);
		return;
	}
	memcpy(object, &s->free, sizeof s->free);
	s->free = object;
}

void slab_finish(struct slab *s)
{
	while (s->chunks) {
		struct slab_chunk *c = s->chunks;

		s->chunks = c->next;
		free(c);
	}
	slab_init(s, s->size);
}
