/* SPDX-License-Identifier: Apache-2.0 */
/* proto/spin.h - looking for a message for a moment before sleeping.
 *
 * To wake a thread that sleeps takes longer than most of what a small read asks for: some 5 us,
 * in a virtual machine up to 20, and a read wakes four.  Who looks instead keeps a core busy
 * meanwhile, so it is done for SPIN_AUTO_US behind the last message, and by itself only where the
 * process has SPIN_CORES cores (cores.h: a container of one core's time on a machine of many would
 * spend that on looking). */
#ifndef BRAZE_SPIN_H
#define BRAZE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define SPIN_AUTO_US 100
#define SPIN_MOST_US 10000
#define SPIN_CORES   4

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
/* Look at a socket for at most so long; true: a read would not wait. */
bool spin_readable(int fd, int64_t ns);

#endif
