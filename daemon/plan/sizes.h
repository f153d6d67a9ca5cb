/* SPDX-License-Identifier: Apache-2.0 */
/* plan/sizes.h - extents that are others in each turn of a loop, as those of triangular loops.
 *
 * Extents that always change together are one *size*.  A partition names its sizes instead of
 * numbers (part.mark), so one plan serves all turns; what each turn's sizes are goes with the
 * job.  Which extents are sizes follows from the first two turns; every later one has to agree.
 * An extent of 0 or 1 is never a size: nests have no loop there. */
#ifndef BRAZE_SIZES_H
#define BRAZE_SIZES_H

#include "form/part.h"

#define SIZES_MOST 32 /* of a partition */

/* What is learnt while turns are compared.  Begins as zeros; sizes_free gives it back. */
struct sizes {
	struct part *part; /* the first turn */
	uint32_t turns, turn;
	uint32_t n;	 /* sizes */
	int64_t *of;	 /* [turns][SIZES_MOST] */
	int64_t *now;	 /* [part.ndim]: the turn that is compared, as part.dim */
	uint8_t *mark;	 /* [part.ndim], as part.mark */
	uint32_t *maker; /* [value]: the operation that makes it */
	uint8_t *way;	 /* [op]: how products are computed */
};

void sizes_begin(struct sizes *z, struct part *first, uint32_t turns);
void sizes_turn(struct sizes *z, uint32_t turn);
/* Is the shape of a view of this turn, with its strides, what the first turn's was but for sizes?
 */
bool sizes_view(struct sizes *z, const struct part_ref *ref, const struct view *v);
/* May a value have another number of bytes than in the first turn? */
bool sizes_bytes(struct sizes *z, uint32_t value, uint64_t bytes);
/* Behind all views of a turn: can what is so sized have one plan with the turns before? */
bool sizes_agree(struct sizes *z);
/* Behind the last turn, with all storage decided: can it be planned? */
bool sizes_may_plan(const struct sizes *z);
/* Name the sizes in the partition, which takes part.mark and part.most over; returns the table
 * [turns][part.nsize], the caller's, or NULL where there are none. */
int64_t *sizes_name(struct sizes *z, uint32_t turns);
void sizes_free(struct sizes *z);

#endif
