/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lock.c - the slow halves of the recorder lock. */
#define _GNU_SOURCE /* syscall */
#include "lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void lock_contended(_Atomic uint32_t *word)
{
	/* A lock taken here is marked 2: whether others still sleep is not known. */
	while (atomic_exchange_explicit(word, 2, memory_order_acquire) != 0)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void lock_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
