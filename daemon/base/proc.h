/* SPDX-License-Identifier: Apache-2.0 */
/* base/proc.h - what the system says that threads and processes have been doing.
 *
 * For whoever must tell one that hangs from one that gets no time: on a loaded machine,
 * after a stop or a suspend, the clock tells nothing. */
#ifndef BRAZE_PROC_H
#define BRAZE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_task {
	char state; /* R running or able to, S asleep, D paging, T stopped, ... */
	int64_t cpu_ns;
};
/* Of one thread; false: there is none any more. */
bool proc_task(struct proc_task *out, pid_t pid, uint32_t tid);

/* Of all threads of a process and its descendants. */
struct proc_use {
	int64_t cpu_ns;
	bool asleep; /* each of them */
};
void proc_tree(struct proc_use *out, pid_t pid);

/* The same from tick to tick; begins as zeros. */
struct proc_watch {
	int64_t ticked_ns, cpu_ns;
	int64_t used_ns;   /* of a core, since the first tick */
	int64_t asleep_ns; /* for so long all of them have slept and used nothing */
};
/* At the clock's now_ns; at most most_ns count as passed since the tick before, so that
 * neither a stop of this process nor its own starvation passes for the other's. */
void proc_watch_tick(struct proc_watch *w, pid_t pid, int64_t now_ns, int64_t most_ns);

#endif
