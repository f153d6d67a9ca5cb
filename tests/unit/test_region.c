/* SPDX-License-Identifier: Apache-2.0 */
/* Regions map shared memory, and no place outside one resolves. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include "worker/region.h"

static int memory(off_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, bytes), 0);
	return fd;
}

Test(region, shares_memory_by_id)
{
	struct regions r = {0};
	struct err err = {0};
	static const uint32_t ids[] = {7, 1, 9, 3, 4000000000u, 2};
	int fd[6];

	for (int i = 0; i < 6; i++) {
		uint32_t word = 100 + (uint32_t)i;

		fd[i] = memory(8192);
		cr_assert_eq(pwrite(fd[i], &word, 4, 4096), 4);
		cr_assert_eq(region_map(&r, ids[i], fd[i], 8192, &err), OK, "%s", err.text);
	}
	for (int i = 0; i < 6; i++) {
		struct command_place p = {.region = ids[i], .offset = 4096};
		char *at = NULL;
		uint32_t word = 0;

		cr_assert_eq(region_resolve(&at, &r, &p, 0, 4, &err), OK);
		cr_assert_eq(*(uint32_t *)at, 100 + (uint32_t)i);
		*(uint32_t *)at = 55;
		cr_assert_eq(pread(fd[i], &word, 4, 4096), 4);
		cr_assert_eq(word, 55);
		close(fd[i]);
	}
	region_finish(&r);
}

Test(region, refuses_places_outside)
{
	struct regions r = {0};
	struct err err = {0};
	int fd = memory(4096);
	char *at = NULL;
	struct command_place p = {.region = 5, .offset = 100};

	cr_assert_eq(region_resolve(&at, &r, &p, 0, 1, &err), E_INTERNAL);
	cr_assert_eq(region_map(&r, 5, fd, 4096, &err), OK);
	cr_assert_eq(region_resolve(&at, &r, &p, -100, 3996, &err), OK);
	cr_assert_eq(region_resolve(&at, &r, &p, -101, 0, &err), E_INTERNAL);
	cr_assert_eq(region_resolve(&at, &r, &p, 0, 3997, &err), E_INTERNAL);
	cr_assert_eq(region_resolve(&at, &r, &p, 0, INT64_MAX, &err), E_INTERNAL);
	cr_assert_eq(region_resolve(&at, &r, &p, INT64_MIN, 0, &err), E_INTERNAL);
	p.offset = UINT64_MAX - 3;
	cr_assert_eq(region_resolve(&at, &r, &p, 0, 4, &err), E_INTERNAL);
	p.offset = 4096;
	cr_assert_eq(region_resolve(&at, &r, &p, 0, 0, &err), OK, "an empty array at the end");
	region_unmap(&r, 5);
	p.offset = 0;
	cr_assert_eq(region_resolve(&at, &r, &p, 0, 1, &err), E_INTERNAL);
	cr_assert_eq(region_map(&r, 5, fd, 0, &err), E_INVALID);
	cr_assert_eq(region_map(&r, 5, -1, 4096, &err), E_SYSTEM);
	region_unmap(&r, 6);
	region_finish(&r);
	close(fd);
}

Test(region, a_second_map_of_an_id_replaces_the_first)
{
	struct regions r = {0};
	int a = memory(4096), b = memory(8192);
	struct command_place p = {.region = 1, .offset = 4096};
	char *at = NULL;

	cr_assert_eq(region_map(&r, 1, a, 4096, NULL), OK);
	cr_assert_eq(region_map(&r, 1, b, 8192, NULL), OK);
	cr_assert_eq(r.count, 1);
	cr_assert_eq(region_resolve(&at, &r, &p, 0, 4096, NULL), OK);
	region_finish(&r);
	close(a);
	close(b);
}
