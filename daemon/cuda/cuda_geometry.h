/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_geometry.h - blocks, threads and teams of one launch.
 *
 * Pure: no driver, no memory, any thread.  In: what a launch has to do (from
 * cuda_launch_plan), what its entry takes of a multiprocessor.  Out: the model's
 * shape, and the other shapes that are worth a trial.  No shape changes a bit of a
 * result: maps compute each point by itself, and a reduction's tree is one of
 * elements, whichever threads go along it (kernels/tree.h). */
#ifndef BRAZE_CUDA_GEOMETRY_H
#define BRAZE_CUDA_GEOMETRY_H

#include "cuda_launch.h"

#define CUDA_BLOCK_SIZES 3  /* 64, 128 and 256 threads */
#define CUDA_CANDIDATES	 20 /* at most */

/* What one multiprocessor has; 0: not known. */
struct cuda_limits {
	uint32_t threads, registers, shared, blocks;
};

/* One entry on one GPU. */
struct cuda_facts {
	uint32_t units;			     /* multiprocessors */
	uint32_t registers, shared;	     /* of a thread, bytes of a block; 0: not known */
	uint32_t most_threads;		     /* of a block */
	uint16_t resident[CUDA_BLOCK_SIZES]; /* blocks of each size that a multiprocessor
						holds; 0: none can be launched */
};

/* Threads of the blocks of size number i. */
unsigned cuda_geometry_threads(unsigned i);
/* Fill f->resident by calculation, where the driver cannot be asked. */
void cuda_geometry_resident(struct cuda_facts *f, const struct cuda_limits *l);
/* Launches of one class have one geometry: those whose bytes (and tasks, of a
 * reduction) are within a factor of about four of each other. */
uint16_t cuda_geometry_class(const struct cuda_launch *l);
/* The least and most bytes of a class. */
void cuda_geometry_bytes(uint16_t size, uint64_t *least, uint64_t *most);
void cuda_geometry_model(struct cuda_shape *out, const struct cuda_launch *l,
			 const struct cuda_facts *f);
/* Give the launch this shape, brought within what its entry and its work permit:
 * threads a power of two, at least a warp, at most the entry's; a team that the chunks
 * permit; a grid of at least one block and of no more than there is work for. */
void cuda_geometry_apply(struct cuda_launch *l, const struct cuda_shape *s,
			 const struct cuda_facts *f);
/* Shapes that differ once they are applied, the model's first; their number. */
unsigned cuda_geometry_candidates(struct cuda_shape out[CUDA_CANDIDATES],
				  const struct cuda_launch *l, const struct cuda_facts *f);

#endif
