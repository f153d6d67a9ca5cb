/* SPDX-License-Identifier: Apache-2.0 */
/* proto/spin.h - looking for a message for a moment before sleeping.
 *
 * To wake a thread that sleeps takes longer than most of what a small read asks for: some 5 us,
 * in a virtual machine up to 20, and a read wakes four.  Who looks instead keeps a core busy
 * meanwhile, so it is done for SPIN_AUTO_US behind the last message, and by itself only where the
 * process has SPIN_CORES cores (cores.h: a container of one core's time on a machine of many would
 * spend that on looking).
 *
 * What a GPU takes longer for is looked for as long as such waits took lately, a half more, and at
 * most SPIN_LONG_US: the cores have nothing else to do meanwhile.  Not so where processors compute,
 * whose cores the looking would take. */
#ifndef BRAZE_SPIN_H
#define BRAZE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define SPIN_AUTO_US 100
#define SPIN_MOST_US 10000
#define SPIN_CORES   4
#define SPIN_LONG_US 2000

/* What waits of one kind took lately: 0, before the first one.  One thread at a time. */
struct spin_pace {
	int64_t usual_ns;
};

/* Between two looks at a word that another core writes. */
static inline void spin_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#else
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}
/* Nanoseconds to look, from a setting: microseconds, or "auto", "" or NULL, which decide by the
 * cores that this process may use.  false: it is none of these; *ns is then auto's. */
bool spin_time(int64_t *ns, const char *setting);
/* A wait took so long.  One of more than SPIN_LONG_US is no measure for others, it only makes the
 * usual less: a run that takes so long, or somebody who thinks. */
void spin_pace_note(struct spin_pace *p, int64_t ns);
/* How long to look where `ns` is what is looked by itself; 0 stays 0. */
int64_t spin_pace_time(const struct spin_pace *p, int64_t ns);
/* Nanoseconds of a clock that only goes on. */
int64_t spin_clock(void);
/* Look at a socket for at most so long; true: a read would not wait. */
bool spin_readable(int fd, int64_t ns);

#endif
