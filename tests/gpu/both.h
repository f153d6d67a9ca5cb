/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/both.h - one program on the device and on the CPU, and its results compared.
 *
 * A program records operations in a session; it is recorded twice, with the device
 * that operations ask for set to each in turn.  Whether the device really computed
 * is read from the daemon's count of runs: a run on the CPU meanwhile is a fallback,
 * which fails the check.  One thread. */
#ifndef GPU_BOTH_H
#define GPU_BOTH_H

#include "host.h"
#include "sample.h"

#define BOTH_OUTPUTS 48

struct both {
	struct host *host;
	braze_session *session;
	bool quick;
	uint64_t seed;
	unsigned part, parts; /* every parts'th program, from `part` on; parts 0: all */
	unsigned met;	      /* programs so far, other parts' too */
	unsigned checks, fallbacks, refused;
	double worst; /* ulps, in what may differ */
};

struct program {
	char name[160];
	/* Record into `s`; results, owned by the caller, in out[BOTH_OUTPUTS], *n of them.
	 * On failure those before *n are set. */
	int (*record)(const void *data, braze_session *s, braze_array **out, int *n,
		      braze_error *err);
	const void *data;
	double rule[BOTH_OUTPUTS];	  /* SAME_* of each result */
	const char *label[BOTH_OUTPUTS];  /* of each result; NULL: its number */
	const struct sample_judge *judge; /* of each result; NULL: there are none */
};

/* One result line, none for a program of another part; true: it passed. */
bool both_check(struct both *b, const struct program *p);
/* Fresh operands: C order, or as the strides (bytes) say. */
int both_operand(braze_array **out, braze_session *s, unsigned dtype, int ndim,
		 const int64_t *shape, enum sample_style style, uint64_t seed, braze_error *err);

#endif
