/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0.h - run a nest without compiling it.
 *
 * The entry points of kernel_abi.h with the nest beside them: same points, same
 * parts, same bits as the compiled kernel.  Pure but for the nest's stores and
 * `scratch`, tier0_scratch() bytes at a multiple of 64, one per thread. */
#ifndef BRAZE_TIER0_H
#define BRAZE_TIER0_H

#include "loops/isa.h"
#include "loops/kernel_abi.h"
#include "form/nest.h"

/* Has every instruction of a nest that keeps nest.h's rules a loop here?
 * E_UNSUPPORTED names the first that has none. */
enum status tier0_check(const struct nest *spec, struct err *err) MUST_USE;
size_t tier0_scratch(const struct nest *spec);

/* What follows from the nest alone and every call below asks for (`lay`): free() it. */
void *tier0_prepare(const struct nest *spec) MUST_USE;
void tier0_map(const struct nest *spec, const void *lay, const struct bz_args *a, int64_t lo,
	       int64_t hi, void *scratch);
void tier0_reduce(const struct nest *spec, const void *lay, const struct bz_args *a, int64_t lo,
		  int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part, void *scratch);
void tier0_finish(const struct nest *spec, const void *lay, const struct bz_args *a, int64_t lo,
		  int64_t hi, const struct bz_acc *part, void *scratch);
/* Report, in a nest's word of error, the least of n places that an axis of that size has not. */
void tier0_check_places(uint64_t *error, const int64_t *place, int64_t size, int64_t n);
/* Are they long sums of products, which loops of several at once make sooner than code does? */
bool tier0_quicker(const struct nest *spec, const void *lay, const struct bz_args *a);

/* The same at a given level instead of isa_best(), with nothing prepared: for tests. */
void tier0_map_at(enum isa_level level, const struct nest *spec, const struct bz_args *a,
		  int64_t lo, int64_t hi, void *scratch);
void tier0_reduce_at(enum isa_level level, const struct nest *spec, const struct bz_args *a,
		     int64_t lo, int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part,
		     void *scratch);
void tier0_finish_at(enum isa_level level, const struct nest *spec, const struct bz_args *a,
		     int64_t lo, int64_t hi, const struct bz_acc *part, void *scratch);

#endif
