/* SPDX-License-Identifier: Apache-2.0 */
/* proto/spin.c - see spin.h. */
#define _GNU_SOURCE
#include "spin.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH_BYTES 4096

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What one folder allows; 0: it says nothing, or "max". */
static double allowed(const char *folder)
{
	char path[PATH_BYTES + 16], text[64] = "";
	double most = 0, period = 0;
	FILE *f = NULL;

	snprintf(path, sizeof path, "%s/cpu.max", folder);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof text, f) || sscanf(text, "%lf %lf", &most, &period) != 2)
		most = 0;
	fclose(f);
	return most > 0 && period > 0 ? most / period : 0;
}

double spin_quota(const char *root, const char *group)
{
	char folder[PATH_BYTES];
	size_t base = strlen(root);
	double least = 0;

	if (snprintf(folder, sizeof folder, "%s%s", root, group) >= (int)sizeof folder)
		return 0;
	for (;;) {
		double here = allowed(folder);
		char *last = strrchr(folder + base, '/');

		if (here > 0 && (least <= 0 || here < least))
			least = here;
		if (!last)
			return least;
		*last = 0;
	}
}

/* Of the group that this process is in: "0::PATH" of the one hierarchy that there is now. */
static double own_quota(void)
{
	char line[PATH_BYTES] = "";
	FILE *f = fopen("/proc/self/cgroup", "re");
	double least = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = 0;
			least = spin_quota("/sys/fs/cgroup", line + 3);
		}
	if (f)
		fclose(f);
	return least;
}

static int64_t by_cores(void)
{
	cpu_set_t cores;
	double quota;

	if (sched_getaffinity(0, sizeof cores, &cores) || CPU_COUNT(&cores) < SPIN_CORES)
		return 0;
	quota = own_quota();
	return quota > 0 && quota < SPIN_CORES ? 0 : SPIN_AUTO_US * 1000;
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

bool spin_readable(int fd, int64_t ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t until = ns > 0 ? clock_ns() + ns : 0;

	while (ns > 0) {
		if (poll(&p, 1, 0) > 0)
			return true;
		if (clock_ns() >= until)
			break;
		spin_pause();
	}
	return false;
}
