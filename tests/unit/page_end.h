/* SPDX-License-Identifier: Apache-2.0 */
/* unit/page_end.h - a page behind which nothing may be touched: [page, end). */
#ifndef UNIT_PAGE_END_H
#define UNIT_PAGE_END_H

#include <criterion/criterion.h>

#include <sys/mman.h>
#include <unistd.h>

static char *page, *end;

static void open_page(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

	page = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(page != MAP_FAILED);
	end = page + bytes;
	cr_assert_eq(mprotect(end, bytes, PROT_NONE), 0);
}

#endif
