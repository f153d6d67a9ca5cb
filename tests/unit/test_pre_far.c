/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that may come from memory, by a load for each half: the same bits wherever they lie, and
 * nothing behind them is read.  Where the processor has x86-64-v4, built for it; else a whole load
 * is tested. */
#include <criterion/criterion.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BZ_WIDTH  8
#define BZ_HALVES /* whatever this machine is */
#define BZ_NO_HALF
#include "pre.h"
#include "ew.h"
#include "cx.h"
#include "tree.h"

static char *page, *end;

static void open_page(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

	page = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(page != MAP_FAILED);
	end = page + bytes;
	cr_assert_eq(mprotect(end, bytes, PROT_NONE), 0);
	for (size_t i = 0; i < bytes; i++)
		page[i] = (char)(i * 37 + i / 64);
}

#define FAR(t, ...)                                                                                \
	Test(pre_far, t, .init = open_page)                                                        \
	{                                                                                          \
		for (int back = 0; back <= 130; back++) {                                          \
			const char *p = end - sizeof(bz_##t) - back;                               \
			bz_##t far = bz_ldf_##t(p), whole = bz_ld_##t(p);                          \
                                                                                                   \
			cr_assert_eq(memcmp(&far, &whole, sizeof far), 0, "%d before the end",     \
				     back);                                                        \
		}                                                                                  \
	}
BZ_EACH_SCALAR(FAR)
