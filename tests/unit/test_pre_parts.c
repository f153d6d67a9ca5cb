/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of vectors at the end of a page: what lies behind them is neither read nor written.
 * Where the processor has x86-64-v3, built for it: test_pre.c has no instructions with masks. */
#include <string.h>

#include "page_end.h"

#define BZ_WIDTH 8
#define BZ_NO_COMPLEX
#define BZ_NO_HALF
#include "pre.h"

#define PARTS(t, ...)                                                                              \
	Test(pre_parts, t, .init = open_page)                                                      \
	{                                                                                          \
		for (int n = 1; n <= BZ_W; n++) {                                                  \
			bz_e_##t *p = (bz_e_##t *)(end - n * (int)sizeof(bz_s_##t));               \
                                                                                                   \
			for (int i = 0; i < n; i++)                                                \
				p[i] = (bz_e_##t)(i + 3);                                          \
			bz_##t v = bz_ldn_##t((const char *)p, n);                                 \
			for (int i = 0; i < BZ_W; i++)                                             \
				cr_assert_eq(v[i], (bz_s_##t)(i < n ? i + 3 : 1), "%d of %d", i,   \
					     n);                                                   \
			memset(page, 0xee, (size_t)(end - page));                                  \
			bz_stn_##t((char *)p, n, v);                                               \
			for (int i = 0; i < n; i++)                                                \
				cr_assert_eq(p[i], (bz_s_##t)(i + 3), "%d of %d", i, n);           \
			cr_assert_eq(((const unsigned char *)p)[-1], 0xee);                        \
		}                                                                                  \
	}
BZ_EACH_REAL(PARTS)
