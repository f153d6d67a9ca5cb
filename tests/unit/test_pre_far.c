/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that may come from memory, by a load for each half: the same bits wherever they lie, and
 * nothing behind them is read.  Where the processor has x86-64-v4, built for it; else a whole load
 * is tested. */
#include <string.h>

#include "page_end.h"

#define BZ_WIDTH  8
#define BZ_HALVES /* whatever this machine is */
#define BZ_NO_HALF
#include "native.h"
#include "native_math.h"
#include "pre.h"
#include "ew.h"
#include "cx.h"
#include "tree.h"

static void fill_page(void)
{
	open_page();
	for (ptrdiff_t i = 0; i < end - page; i++)
		page[i] = (char)(i * 37 + i / 64);
}

#define FAR(t, ...)                                                                                \
	Test(pre_far, t, .init = fill_page)                                                        \
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
