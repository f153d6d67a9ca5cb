/* SPDX-License-Identifier: Apache-2.0 */
/* proto/spin.c - see spin.h. */
#define _GNU_SOURCE
#include "spin.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t by_cores(void)
{
	cpu_set_t cores;

	if (sched_getaffinity(0, sizeof cores, &cores) || CPU_COUNT(&cores) < SPIN_CORES)
		return 0;
	return SPIN_AUTO_US * 1000;
}

bool spin_time(int64_t *ns, const char *setting)
{
	char *end = NULL;
	long long us = 0;

	*ns = by_cores();
	if (!setting || !*setting || !strcmp(setting, "auto"))
		return true;
	errno = 0;
	us = strtoll(setting, &end, 10);
	if (errno || *end || us < 0)
		return false;
	*ns = (us < SPIN_MOST_US ? us : SPIN_MOST_US) * 1000;
	return true;
}

bool spin_readable(int fd, int64_t ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t until = ns > 0 ? clock_ns() + ns : 0;

	while (ns > 0) {
		if (poll(&p, 1, 0) > 0)
			return true;
		if (clock_ns() >= until)
			break;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	return false;
}
