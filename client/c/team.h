/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/team.h - threads of this process that do parts of kernels' loops, and of near ones.
 *
 * There is one team, which begins at the first loop that is worth it: as many threads as cores that
 * the process may use, or BRAZE_THREADS.  They sleep soon where nothing is done, take no signals,
 * and a process that is forked begins with none. */
#ifndef BRAZE_TEAM_H
#define BRAZE_TEAM_H

#include "lang/lang.h"

extern const struct lang_team client_team;

/* With the calling one. */
unsigned team_threads(void);
/* Is sharing a loop of so many instructions, of the calling thread, worth it?  Threads that sleep
 * are woken by one that is worth that alone, or by several that follow each other closely. */
bool team_worth(uint64_t instructions);

#endif
