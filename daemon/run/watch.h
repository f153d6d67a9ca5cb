/* SPDX-License-Identifier: Apache-2.0 */
/* run/watch.h - what the watchdog remembers of a worker between two looks (watch.c). */
#ifndef BRAZE_WATCH_H
#define BRAZE_WATCH_H

#include "base/proc.h"
#include "contract/command.h"

#define WATCH_TICK_MS 1000

struct executor;

/* proc_task, but for tests. */
typedef bool watch_read_fn(struct proc_task *out, pid_t pid, uint32_t tid);

/* A row of the progress page as it was seen, and what was used since it was new. */
struct watch_thread {
	uint64_t ticket;
	uint32_t turns, tid;
	int64_t begin_ns, cpu_ns; /* of its CPU time: when the row was new, at the last look */
	int64_t asleep_ns;
};

enum watch_verdict {
	WATCH_MOVES,
	WATCH_WAITS,  /* a thread shows nothing new, and may yet */
	WATCH_SLEEPS, /* one has slept for too long: nobody will wake it */
	WATCH_HANGS   /* one has computed for too long */
};

struct watch {
	int64_t hang_cpu_ns, asleep_ns, tick_ms; /* constants but for tests */
	int64_t ticked_ns;			 /* clock of the last tick */
	struct watch_thread thread[PROGRESS_THREADS];
	uint32_t waits, worst; /* ticks in which none moved; the thread to name */
	char state;	       /* its */
	/* Of a GPU's worker: for how long it owes a pong; what all its threads had used. */
	int64_t ping_ns, cpu_ns;
};

void watch_init(struct watch *w);
/* Compare the page with what was seen `passed_ns` ago; busy: the worker has packets. */
enum watch_verdict watch_look(struct watch *w, const struct progress *page, bool busy,
			      int64_t passed_ns, watch_read_fn *read, pid_t pid);

void watch_update(struct executor *x); /* start or stop the ticks */
void watch_forget(struct executor *x); /* there is another worker */

#endif
