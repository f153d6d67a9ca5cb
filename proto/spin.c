/* SPDX-License-Identifier: Apache-2.0 */
/* proto/spin.c - see spin.h. */
#define _DEFAULT_SOURCE
#include "spin.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cores.h"

int64_t spin_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t by_cores(void)
{
	return cores_own() < SPIN_CORES ? 0 : SPIN_AUTO_US * 1000;
}

bool spin_time(int64_t *ns, const char *setting)
{
	bool decides = !setting || !*setting || !strcmp(setting, "auto");
	char *end = NULL;
	long long us = 0;

	errno = 0;
	if (!decides)
		us = strtoll(setting, &end, 10);
	if (decides || errno || *end || us < 0) {
		*ns = by_cores();
		return decides;
	}
	*ns = (us < SPIN_MOST_US ? us : SPIN_MOST_US) * 1000;
	return true;
}

void spin_pace_note(struct spin_pace *p, int64_t ns)
{
	if (ns > SPIN_LONG_US * 1000)
		p->usual_ns -= p->usual_ns / 8;
	else
		p->usual_ns = p->usual_ns ? (3 * p->usual_ns + ns) / 4 : ns;
}

int64_t spin_pace_time(const struct spin_pace *p, int64_t ns)
{
	int64_t most = SPIN_LONG_US * 1000, usual = p->usual_ns + p->usual_ns / 2;

	return ns <= 0 ? 0 : ns + (usual < most ? usual : most);
}

bool spin_readable(int fd, int64_t ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t until = ns > 0 ? spin_clock() + ns : 0;

	while (ns > 0) {
		if (poll(&p, 1, 0) > 0)
			return true;
		if (spin_clock() >= until)
			break;
		spin_pause();
	}
	return false;
}
