/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sections.h - the sections of braze-gpucheck; each prints its own results. */
#ifndef GPU_SECTIONS_H
#define GPU_SECTIONS_H

#include "both.h"

struct options {
	bool quick;
	uint64_t seed;
	unsigned programs; /* random ones; 0: as many as the section likes */
	const char *device;
	const char *cache; /* folder of compiled kernels; NULL: one for this run */
};

/* On the daemon that all sections but faults share. */
void check_device(const struct host *h);
void check_ops(struct both *b); /* elementwise operations, casts */
/* How equal an operation's results on operands of this type must be. */
double check_ops_rule(unsigned op, unsigned dtype);
void check_shapes(struct both *b); /* layouts, reductions, writing, products */
void check_random(struct both *b, unsigned programs);
void check_large(struct both *b);
/* On daemons of its own. */
void check_faults(const struct options *o);
void bench_trace(struct both *b);
void bench_products(struct both *b);
/* By the driver alone. */
void check_probes(const struct options *o);
void bench_driver(const struct options *o);
void bench_kernels(const struct options *o);

#endif
