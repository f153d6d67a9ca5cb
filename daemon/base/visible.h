/* SPDX-License-Identifier: Apache-2.0 */
/* base/visible.h - what a program's CUDA_VISIBLE_DEVICES leaves it.
 *
 * The list is CUDA's own: numbers, and UUIDs of GPUs or of slices, from whose beginning enough is
 * told, with commas; what is neither, as -1, ends it. */
#ifndef BRAZE_VISIBLE_H
#define BRAZE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

/* Is this GPU among them?  index: its number among all of the machine, -1: unknown; uuid: as the
 * driver's tools write it, "" where it has none, NULL while it is unknown: then it may be. */
bool visible_allows(const char *list, int index, const char *uuid);
/* The machine's number of the device that who has this list calls `ordinal`; -1: unknown.  NULL: it
 * has none, and sees all. */
int visible_index(const char *list, int ordinal);
/* Does the list name a slice of a GPU as its device `ordinal`?  Its word then, if there is room.  A
 * process sees one slice, the first that its list has, so who is to work on another one gets a list
 * of its own. */
bool visible_slice(char *out, size_t n, const char *list, int ordinal);

#endif
