/* SPDX-License-Identifier: Apache-2.0 */
/* byname.h - rows of a table, found by their names. */
#ifndef BRAZE_BYNAME_H
#define BRAZE_BYNAME_H

#include <stdint.h>

#define BYNAME_ROOM 1024 /* twice as many as rows, or more; a power of two */

/* Zeroed at first. */
struct byname {
	const char *name[BYNAME_ROOM]; /* borrowed; NULL: free */
	uint16_t row[BYNAME_ROOM];
};

/* The first row of a name is the one that is found. */
void byname_add(struct byname *t, const char *name, unsigned row);
/* -1: none */
int byname_find(const struct byname *t, const char *name);

#endif
