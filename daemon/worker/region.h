/* SPDX-License-Identifier: Apache-2.0 */
/* worker/region.h - the shared memory that runs read and write.
 *
 * A table of mapped regions by id.  Command thread only; the addresses it hands
 * out stay valid for all threads until the region is dropped, which the broker
 * orders after the last run that uses it. */
#ifndef BRAZE_REGION_H
#define BRAZE_REGION_H

#include "contract/command.h"

struct region {
	uint32_t id;
	int error; /* errno of a mapping that failed, addr is NULL then: those who name it
		      are told */
	char *addr;
	uint64_t bytes;
};

struct regions {
	struct region *item; /* by rising id */
	uint32_t count, cap;
};

void region_finish(struct regions *r); /* unmaps all */
/* Map fd (which stays the caller's) as region `id`; an old one is replaced. */
enum status region_map(struct regions *r, uint32_t id, int fd, uint64_t bytes,
		       struct err *err) MUST_USE;
void region_unmap(struct regions *r, uint32_t id);
/* Address of a place when [place + lo, place + hi) lies inside its region. */
enum status region_resolve(char **out, const struct regions *r, const struct command_place *place,
			   int64_t lo, int64_t hi, struct err *err) MUST_USE;
/* [place + lo, place + hi), resolved before, is going to be written whole: see pages.h. */
void region_back(const struct regions *r, const struct command_place *place, int64_t lo,
		 int64_t hi);

#endif
