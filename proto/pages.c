/* SPDX-License-Identifier: Apache-2.0 */
/* proto/pages.c - huge pages on request; see pages.h. */
#define _GNU_SOURCE
#include "pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define PAGE	4096u
#define BLOCK	(2u << 20) /* a huge page */
#define PAGES	(BLOCK / PAGE)
#define LOOK	4	/* blocks that are looked at, and made, together */
#define SLOW_NS 1500000 /* of a block: by faults it takes 1.9 ms, usually 0.2 */
/* After one was slow or not to be had two are let go by, then twice as many, ... */
#define PAUSES 13

/* Of the process: blocks still to be let go by, and bad ones in a row: it begins in doubt. */
static _Atomic uint32_t pause_left, bad = 1;

/* Address space of so many bytes from a multiple of BLOCK on; NULL: there is none. */
static char *reserve(uint64_t bytes)
{
	uint64_t room = bytes + BLOCK;
	char *all = MAP_FAILED, *map = NULL;

	if (room > bytes)
		all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);
	if (all == MAP_FAILED)
		return NULL;
	map = all + -(uintptr_t)all % BLOCK;
	if (map > all)
		munmap(all, (size_t)(map - all));
	munmap(map + bytes, (size_t)(all + room - (map + bytes)));
	return map;
}

static void *map_as(int fd, uint64_t bytes, int protection)
{
	uint64_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
	char *at = bytes >= BLOCK ? reserve(whole) : NULL, *map = NULL;

	map = mmap(at, bytes, protection, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, 0);
	if (map == MAP_FAILED && at) {
		int error = errno;

		munmap(at, whole);
		errno = error;
	}
	if (map != MAP_FAILED)
		madvise(map, bytes, MADV_HUGEPAGE); /* where shmem_enabled=advise */
	return map;
}

void *pages_map(int fd, uint64_t bytes)
{
	void *map = map_as(fd, bytes, PROT_READ | PROT_WRITE);

	return map == MAP_FAILED && errno == EPERM ? pages_map_read(fd, bytes) : map;
}

void *pages_map_read(int fd, uint64_t bytes)
{
	return map_as(fd, bytes, PROT_READ);
}

/* Has nobody touched the block yet?  What is there stays where it is: others may have its
 * pages registered with a device. */
static bool is_empty(const unsigned char *present)
{
	for (unsigned i = 0; i < PAGES; i++)
		if (present[i] & 1)
			return false;
	return true;
}

/* Processor time of this thread: the time of others tells nothing. */
static int64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* One huge page for each of these blocks.  A kernel that must move others' pages for
 * it, or a virtual machine whose host must find the memory first, takes longer than the faults of
 * those pages that are at hand would.  One slow block says little of the next, since the host
 * finds each once: it takes many in a row until few are tried. */
static void make(char *at, uint64_t blocks)
{
	int64_t begin = thread_ns();
	uint32_t n = 0;

	/* The kernel wants a page table, which the first fault makes. */
	for (uint64_t b = 0; b < blocks; b++)
		(void)*(volatile char *)(at + b * BLOCK);
	if (madvise(at, blocks * BLOCK, MADV_COLLAPSE) == 0 &&
	    thread_ns() - begin < (int64_t)blocks * SLOW_NS) {
		atomic_store_explicit(&bad, 0, memory_order_relaxed);
		return;
	}
	n = atomic_fetch_add_explicit(&bad, 1, memory_order_relaxed);
	atomic_store_explicit(&pause_left, 1u << (n < PAUSES ? n : PAUSES), memory_order_relaxed);
}

/* How many of so many blocks to make now: after a bad one, when it is time, a single one. */
static uint64_t now_of(uint64_t blocks)
{
	uint32_t left = atomic_load_explicit(&pause_left, memory_order_relaxed);

	if (!left)
		return atomic_load_explicit(&bad, memory_order_relaxed) ? 1 : blocks;
	atomic_store_explicit(&pause_left, blocks < left ? left - (uint32_t)blocks : 0,
			      memory_order_relaxed);
	return 0;
}

void pages_back(void *map, uint64_t bytes, uint64_t from, uint64_t to)
{
	unsigned char present[LOOK * PAGES];
	uint64_t at = (from + PAGES_LEAST) / BLOCK, end = 0;

	bytes = bytes / BLOCK * BLOCK;
	to = to < bytes ? to : bytes;
	if ((uintptr_t)map % BLOCK || to < from || to - from < PAGES_LEAST)
		return;
	/* At either end a block of which less than PAGES_LEAST is meant is left out. */
	end = to / BLOCK + (to % BLOCK >= PAGES_LEAST);
	while (at < end) {
		uint64_t n = end - at < LOOK ? end - at : LOOK, full = 0, run = 0, now = 0;
		char *first = (char *)map + at * BLOCK;

		if (mincore(first, n * BLOCK, present))
			return;
		while (full < n && !is_empty(present + full * PAGES))
			full++;
		while (full + run < n && is_empty(present + (full + run) * PAGES))
			run++;
		now = run ? now_of(run) : 0;
		if (now)
			make(first + full * BLOCK, now);
		at += full + (now ? now : run);
	}
}
