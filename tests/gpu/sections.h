/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sections.h - the sections of braze-gpucheck; each prints its own results. */
#ifndef GPU_SECTIONS_H
#define GPU_SECTIONS_H

#include "both.h"

struct options {
	bool quick;
	uint64_t seed;
	unsigned programs;    /* random ones; 0: as many as the section likes */
	double minutes;	      /* of soak */
	unsigned part, parts; /* of ops, fourier and random: both.h */
	const char *device;
	const char *cache; /* folder of compiled kernels; NULL: one for this run */
};

/* On the daemon that all sections but faults share. */
void check_device(const struct host *h);
void check_ops(struct both *b); /* elementwise operations, casts */
/* How equal an operation's results on operands of this type must be. */
double check_ops_rule(unsigned op, unsigned dtype);
void check_shapes(struct both *b);  /* layouts, reductions, writing, products */
void check_library(struct both *b); /* scans, masks, searches, random numbers */
void check_fourier(struct both *b);
void check_solver(struct both *b);
void check_sparse(struct both *b);
void check_random(struct both *b, unsigned programs);
void check_large(struct both *b);
void check_soak(struct both *b, double minutes);

/* A program that a seed decides. */
struct random_program {
	uint64_t seed;
	unsigned statements;
};
struct random_program check_random_next(struct sample_rng *rng);
/* Record it: *n results in out[BOTH_OUTPUTS], owned by the caller, those that nothing uses first,
 * *ends of them.  On failure those before *n are set. */
int check_random_make(const struct random_program *p, braze_session *s, braze_array **out, int *n,
		      int *ends, braze_error *err);
/* On daemons of its own. */
void check_faults(const struct options *o);
void bench_trace(struct both *b);
void bench_products(struct both *b);
void bench_sparse(struct both *b);
/* By the driver alone. */
void check_probes(const struct options *o);
void bench_driver(const struct options *o);
void bench_kernels(const struct options *o);

#endif
