/* SPDX-License-Identifier: Apache-2.0 */
/* plan/place.h - which device a plan runs on.
 *
 * The choice is made from what a run would move and compute, kept with the plan
 * and made anew at most twice: when the first run was made elsewhere because the
 * kernels had to be compiled, and when the first measured run on the device took
 * longer than the CPU.  So the same program goes the same way in each run of it, but
 * for its first turns.  Pure functions of what they are given. */
#ifndef BRAZE_PLACE_H
#define BRAZE_PLACE_H

#include "ops.h"

#define PLACE_TEXT 160

/* Where the inputs that count lie: three cases, because a plan whose inputs are on
 * the device already is worth more there. */
enum place_case { PLACE_HOST, PLACE_DEVICE, PLACE_MIXED, PLACE_CASES };

/* What a run on the device would take beside one on the CPU. */
struct place_facts {
	uint64_t upload_bytes, download_bytes;
	uint64_t touched_bytes; /* read and written by its steps, on the device */
	uint32_t launches;
	uint64_t fetch_bytes; /* that the CPU would have to fetch from the device */
	double cpu_us;	      /* of the steps on the CPU: measured, or predicted */
	double math_us;	      /* of the steps on the device, beside touching the bytes */
	bool compiled;	      /* every kernel for the device is there */
};

/* What is remembered with a plan, for each case. */
struct place {
	uint8_t device;	   /* from 1 on, as struct brazed counts; 0: not chosen yet */
	uint8_t final;	   /* nothing changes it any more */
	uint8_t corrected; /* measured times have changed it */
	uint32_t runs;
	double predicted_us, cpu_us; /* when it was chosen: the device's, the CPU's */
	char text[PLACE_TEXT];	     /* why */
};

/* Microseconds of a run on the device. */
double place_device_us(const struct place_facts *f);
/* Choose for this run: 1 the CPU, else `device`. */
uint8_t place_choose(struct place *p, const struct place_facts *f, uint8_t device,
		     const char *name);
/* The run that was chosen took this long. */
void place_measured(struct place *p, double us, uint8_t device);

#endif
