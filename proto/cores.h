/* SPDX-License-Identifier: Apache-2.0 */
/* proto/cores.h - how many cores a process has, for its threads and for looking.
 *
 * Its affinity says which cores it may run on, its control group for how much time: a container of
 * two cores' time on a machine of 64 that starts 64 threads has all of them stopped for most of
 * each period. */
#ifndef BRAZE_CORES_H
#define BRAZE_CORES_H

/* Cores that this process has: of its affinity, and no more than its control group has time for,
 * rounded up; at least 1. */
int cores_own(void);
/* The same of so many usable cores, and of a group's cores' worth of time; 0: it has no bound. */
int cores_within(int usable, double quota);
/* Cores' worth of time that a control group may have: the least of what it and those around it
 * allow, by cpu.max in their folders below `root`.  0: there is no bound. */
double cores_quota(const char *root, const char *group);
/* The same of the group that a process is in, by its file of groups (/proc/PID/cgroup). */
double cores_quota_of(const char *root, const char *groups);

#endif
