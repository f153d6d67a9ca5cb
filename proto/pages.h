/* SPDX-License-Identifier: Apache-2.0 */
/* proto/pages.h - memory for an arena, by large pages.
 *
 * An arena is a sparse file in memory, and the first write to each of its pages is a
 * fault: 160 MB take 150 ms so, and 17 by huge pages (2 MiB), which are also freed and mapped
 * at once and looked up more quickly for ever after.  The kernel makes them for such files only
 * where an administrator allowed it (shmem_enabled), but on request everywhere from Linux
 * 6.1 on (MADV_COLLAPSE).  Who is about to write a large range asks; where the kernel
 * cannot do it, or has no huge page left, faults find the memory as ever. */
#ifndef BRAZE_PAGES_H
#define BRAZE_PAGES_H

#include <stdint.h>

/* A huge page costs as much as the faults of so many bytes: of less nobody need ask. */
#define PAGES_LEAST (256u << 10)

/* Map so many bytes of a file, shared, to be read and written, at an address that huge pages
 * can have; to be read only where the file is sealed (F_SEAL_FUTURE_WRITE).  What nobody touches
 * costs nothing.  MAP_FAILED, errno tells why.  Undone by munmap. */
void *pages_map(int fd, uint64_t bytes);
/* The same to be read only. */
void *pages_map_read(int fd, uint64_t bytes);
/* Bytes [from, to) of a mapping by pages_map are going to be written, all of them, by
 * this process: make memory where there is none.  Pages that are there stay as and where they
 * are, with the others of their block.  Memory may be made for neighbours, too, by less
 * than a huge page at either end.  Any thread. */
void pages_back(void *map, uint64_t bytes, uint64_t from, uint64_t to);

#endif
