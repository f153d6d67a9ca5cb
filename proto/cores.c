/* SPDX-License-Identifier: Apache-2.0 */
/* proto/cores.c - see cores.h. */
#define _GNU_SOURCE
#include "cores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096

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

double cores_quota(const char *root, const char *group)
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

/* "0::PATH" of the one hierarchy that there is now. */
double cores_quota_of(const char *root, const char *groups)
{
	char line[PATH_BYTES] = "";
	FILE *f = fopen(groups, "re");
	double least = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = 0;
			least = cores_quota(root, line + 3);
		}
	if (f)
		fclose(f);
	return least;
}

int cores_within(int usable, double quota)
{
	int whole = 0;

	if (usable <= 1)
		return 1;
	if (quota <= 0 || quota >= usable)
		return usable;
	whole = (int)quota;
	return whole < quota ? whole + 1 : whole;
}

int cores_own(void)
{
	cpu_set_t cores;
	int usable = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);

	if (usable <= 1) /* no group makes that less */
		return 1;
	return cores_within(usable, cores_quota_of("/sys/fs/cgroup", "/proc/self/cgroup"));
}
