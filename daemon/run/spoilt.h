/* SPDX-License-Identifier: Apache-2.0 */
/* run/spoilt.h - values of a job that cannot be had.
 *
 * In: a job that has run, what its checks found (run.fault), and inputs that have failed.
 * Out: for each value of each turn that was done, why it cannot be had.  What depends on several
 * reasons has the one that comes first in the program, as Python would have met it. */
#ifndef BRAZE_SPOILT_H
#define BRAZE_SPOILT_H

#include "job.h"

struct spoilt_values;

/* NULL: all of them can be had.  Before any value of the job has been settled: where a wrong place
 * stands in the client's program its pending operation tells. */
struct spoilt_values *spoilt_find(const struct job *j);
void spoilt_free(struct spoilt_values *s);
/* May it not be had, and is no input?  *out tells why. */
bool spoilt_why(struct err *out, const struct spoilt_values *s, uint32_t turn, uint32_t value);

#endif
