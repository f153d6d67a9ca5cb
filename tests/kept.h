/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - the variable that names the NVRTC of tests that use one and are not about it.
 *
 * tests/run.py sets BRAZE_TEST_NVRTC to one that keeps what it made (standin/nvrtc_kept.h). */
#ifndef BRAZE_TESTS_KEPT_H
#define BRAZE_TESTS_KEPT_H

#include <stdlib.h>

static inline const char *kept_nvrtc(void)
{
	return getenv("BRAZE_TEST_NVRTC") ? "BRAZE_TEST_NVRTC" : "BRAZE_NVRTC";
}

#endif
