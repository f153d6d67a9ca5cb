/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h - time that passes, whatever the day's is set to; its begin means nothing. */
#ifndef BRAZE_CLOCK_H
#define BRAZE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int64_t clock_us(void)
{
	return (int64_t)(clock_ns() / 1000);
}

static inline int64_t clock_ms(void)
{
	return (int64_t)(clock_ns() / 1000000);
}

#endif
