/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of arenas: made where there is none, kept as it is where there is some. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pages.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define MIB   (1u << 20)
#define BLOCK (2u * MIB)
#define PAGE  4096u
#define BYTES (32u * MIB)

static int fd;
static unsigned char *map;

static void setup(void)
{
	fd = memfd_create("pages", MFD_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, BYTES), 0);
	map = pages_map(fd, BYTES);
	cr_assert_neq(map, MAP_FAILED);
}

static void finish(void)
{
	munmap(map, BYTES);
	close(fd);
}

TestSuite(pages, .init = setup, .fini = finish);

/* Pages of [from, to) that are there. */
static unsigned there(uint64_t from, uint64_t to)
{
	static unsigned char present[BYTES / PAGE];
	unsigned n = 0;

	cr_assert_eq(mincore(map + from, to - from, present), 0);
	for (uint64_t i = 0; i < (to - from) / PAGE; i++)
		n += present[i] & 1;
	return n;
}

/* Does this kernel give huge pages on request, and has it any? */
static bool can(void)
{
	unsigned char *last = map + BYTES - BLOCK;

	last[0] = 1;
	return madvise(last, BLOCK, MADV_COLLAPSE) == 0;
}

/* The first block that a process asks for is made, if it can be.  Others are made or let go by,
 * by how long that took, but whole. */
static void check_made(uint64_t from, uint64_t to, bool first)
{
	for (uint64_t at = from; at < to; at += BLOCK) {
		unsigned n = there(at, at + BLOCK);

		cr_assert(n == BLOCK / PAGE || (n == 0 && !(first && at == from && can())),
			  "block at %llu: %u pages", (unsigned long long)at, n);
	}
}

Test(pages, a_mapping_begins_where_a_huge_page_can)
{
	cr_assert_eq((uintptr_t)map % BLOCK, 0);
	map[0] = 1;
	map[BYTES - 1] = 2;
	unsigned char byte = 0;
	cr_assert_eq(pread(fd, &byte, 1, BYTES - 1), 1);
	cr_assert_eq(byte, 2);
}

Test(pages, a_short_mapping_is_an_ordinary_one)
{
	unsigned char *small = pages_map(fd, 3 * PAGE);

	cr_assert_neq(small, MAP_FAILED);
	small[3 * PAGE - 1] = 7;
	cr_assert_eq(map[3 * PAGE - 1], 7);
	cr_assert_eq(munmap(small, 3 * PAGE), 0);
}

Test(pages, what_cannot_be_mapped_says_why)
{
	errno = 0;
	cr_assert_eq(pages_map(-1, BYTES), MAP_FAILED);
	cr_assert_eq(errno, EBADF);
	cr_assert_eq(pages_map(fd, UINT64_MAX - PAGE), MAP_FAILED);
	cr_assert_neq(errno, 0);
}

Test(pages, memory_is_made_for_whole_blocks_and_large_parts_of_them)
{
	pages_back(map, BYTES, BLOCK - PAGE, 3 * BLOCK + PAGES_LEAST);
	cr_assert_eq(there(0, BLOCK), 0, "the last page of a block makes no block");
	check_made(BLOCK, 4 * BLOCK, true);
	cr_assert_eq(there(4 * BLOCK, 5 * BLOCK), 0);
	for (uint64_t i = BLOCK; i < 4 * BLOCK; i++)
		cr_assert_eq(map[i], 0);
}

Test(pages, little_is_left_to_faults)
{
	pages_back(map, BYTES, 0, PAGES_LEAST - 1);
	pages_back(map, BYTES, BLOCK - PAGES_LEAST + PAGE, BLOCK + PAGES_LEAST - PAGE);
	pages_back(map, BYTES, BLOCK, PAGE);
	cr_assert_eq(there(0, BYTES), 0);
}

Test(pages, nothing_beyond_the_mapping_is_touched)
{
	pages_back(map, 3 * MIB, 0, BYTES);
	cr_assert_eq(there(BLOCK, BYTES), 0);
	pages_back(map + PAGE, BYTES - PAGE, 0, BYTES - PAGE);
	cr_assert_eq(there(BLOCK, BYTES), 0);
}

Test(pages, a_block_of_which_something_is_there_is_left)
{
	map[5 * PAGE + 3] = 1;
	map[3 * BLOCK - 1] = 2;
	pages_back(map, BYTES, 0, 4 * BLOCK);
	cr_assert_eq(there(0, BLOCK), 1);
	check_made(BLOCK, 2 * BLOCK, true);
	cr_assert_eq(there(2 * BLOCK, 3 * BLOCK), 1);
	check_made(3 * BLOCK, 4 * BLOCK, false);
	cr_assert_eq(map[5 * PAGE + 3], 1);
	cr_assert_eq(map[3 * BLOCK - 1], 2);
	cr_assert_eq(map[5 * PAGE + 4], 0);
}

Test(pages, what_was_given_back_is_made_again)
{
	map[BLOCK - 1] = map[2 * BLOCK] = 5;
	memset(map + BLOCK, 5, BLOCK);
	cr_assert_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLOCK, BLOCK), 0);
	cr_assert_eq(there(BLOCK, 2 * BLOCK), 0);
	pages_back(map, BYTES, BLOCK, 2 * BLOCK);
	check_made(BLOCK, 2 * BLOCK, true);
	cr_assert_eq(map[BLOCK - 1], 5);
	cr_assert_eq(map[BLOCK], 0);
	cr_assert_eq(map[2 * BLOCK], 5);
}

Test(pages, many_blocks_are_made_or_let_go_by)
{
	pages_back(map, BYTES, 0, BYTES);
	check_made(0, BYTES, true);
	memset(map, 9, BYTES);
	pages_back(map, BYTES, 0, BYTES);
	for (uint64_t i = 0; i < BYTES; i++)
		cr_assert_eq(map[i], 9);
}
