/* SPDX-License-Identifier: Apache-2.0 */
/* contract/cuda_abi.h - how a worker launches a CUDA kernel.
 *
 * Every entry point takes one parameter by value: struct cuda_args, then, packed
 * and sized exactly for the nest,
 *
 *   uint64_t base[naccess]            device address of point [0,...,0]
 *   int64_t  extent[nloop]
 *   int64_t  stride[naccess][nloop]   bytes
 *   uint64_t scalar[nscalar][2]       raw bits, low word first
 *   int64_t  gather[ngather][2]       steps that a gather's places may have, their bytes
 *
 * which is less than CUDA_ARGS_BYTES for every nest within proto/limits.h.  The
 * entry points (which one, and with what grid, is cuda_launch.h's decision):
 *
 *   nred == 0   bz_map, bz_map_narrow   points [lo, hi) of the flattened loops
 *               bz_map_vector, bz_map_vector_narrow
 *                                       the same, several points of the last loop at
 *                                       once, aligned up to CUDA_VECTOR_BYTES
 *               bz_map_row, bz_map_row_narrow
 *                                       the same, several points of the last loop a thread,
 *                                       as far apart as a warp has threads: any alignment
 *               bz_map_tile, bz_map_tile_narrow
 *                                       the same, in tiles along `tile` and the last loop;
 *                                       bit a of clo: access a is dense along `tile` and
 *                                       comes through shared memory
 *   nred  > 0   bz_reduce_warp, bz_reduce_warp_narrow
 *               bz_reduce_thin, bz_reduce_thin_narrow
 *               bz_reduce_vector, bz_reduce_vector_narrow
 *               bz_reduce_column, bz_reduce_column_narrow
 *                                       parallel points [lo, hi), pieces [clo, chi) of
 *                                       each; a warp's threads lie along the reduced
 *                                       loops, or along the parallel ones; of thin and
 *                                       vector some do along each.  part == 0:
 *                                       one piece, the post instructions follow it.
 *                                       Otherwise accumulators go to part[(p * pieces +
 *                                       c) * nreduce + r], struct bz_acc of kernel_abi.h
 *               bz_finish               combines the parts of points [lo, hi), which it
 *                                       overwrites, then post
 *
 * _narrow: indices and byte offsets of 32 bits, of maps and of reductions with several
 * loops to divide by.  Without it they have 64.
 *
 * Lanes, blocks and chunks are those of kernels/tree.h, and a piece is a subtree of a chunk, so the
 * bits of a result do not depend on the entry, the grid, the threads of a block, the team, the
 * pieces or the slices.  Kernels look at *cancel now and then; after a cancel their output is
 * undefined. */
#ifndef BRAZE_CUDA_ABI_H
#define BRAZE_CUDA_ABI_H

#include <stdint.h>

#define CUDA_THREADS	  256	/* of a block at most; of a matrix product's always */
#define CUDA_WARPS	  8	/* of such a block */
#define CUDA_VECTOR_BYTES 16	/* of the widest operand of bz_map_vector */
#define CUDA_TILE	  32	/* points of a tile along each of its loops */
#define CUDA_LANES	  32	/* threads of a warp */
#define CUDA_SHARED_BYTES 20480 /* of the tiles that bz_map_tile keeps, at most */
#define CUDA_ARGS_BYTES	  4096	/* what the driver passes at most */

struct cuda_args {
	int64_t lo, hi, clo, chi;
	uint64_t cancel; /* device address of a uint32_t; not 0 ends the kernel */
	uint64_t part;	 /* device address of point 0, chunk 0; 0: none */
	uint64_t error;	 /* device address of a word for each check of the nest, as in struct
			    bz_args; 0: it has none */
	uint16_t team;	 /* warps that share a task: 1, 2, 4, 8 */
	uint16_t piece;	 /* a reduction's pieces have 2^piece elements: a block, or 2, 4 .. 64 */
	uint32_t tile;	 /* loop that tiles run along, beside the last */
};

/* The entries; a kernel has some of them.  Their numbers lie on disk: who changes the
 * order raises EMIT_CUDA_GENERATION. */
#define CUDA_ENTRIES(X)                                                                            \
	X(bz_map)                                                                                  \
	X(bz_map_narrow)                                                                           \
	X(bz_map_vector)                                                                           \
	X(bz_map_vector_narrow)                                                                    \
	X(bz_map_row)                                                                              \
	X(bz_map_row_narrow)                                                                       \
	X(bz_map_tile)                                                                             \
	X(bz_map_tile_narrow)                                                                      \
	X(bz_reduce_warp)                                                                          \
	X(bz_reduce_warp_narrow)                                                                   \
	X(bz_reduce_thin)                                                                          \
	X(bz_reduce_thin_narrow)                                                                   \
	X(bz_reduce_vector)                                                                        \
	X(bz_reduce_vector_narrow)                                                                 \
	X(bz_reduce_column)                                                                        \
	X(bz_reduce_column_narrow)                                                                 \
	X(bz_finish)                                                                               \
	X(bz_matmul)                                                                               \
	X(bz_call)                                                                                 \
	X(bz_call_join)                                                                            \
	X(bz_call_spread)                                                                          \
	X(bz_matmul_pack)                                                                          \
	X(bz_matmul_store)                                                                         \
	X(bz_grid)
enum cuda_entry {
#define X(name) ENTRY_##name,
	CUDA_ENTRIES(X)
#undef X
		ENTRY_END
};

static inline const char *cuda_entry_name(unsigned entry)
{
	static const char *const name[ENTRY_END] = {
#define X(row) #row,
		CUDA_ENTRIES(X)
#undef X
	};

	return name[entry];
}

/* How a launch is laid over the device.  Whatever stands here is brought within what
 * the entry permits before it is used. */
struct cuda_shape {
	uint16_t threads; /* of a block; 0: none */
	uint16_t team;	  /* of a reduction: warps that share a task; 0: of a map */
	uint32_t blocks;  /* for each multiprocessor, at most */
};

enum cuda_geometry_state {
	GEOMETRY_MODEL, /* the model's, not tried */
	GEOMETRY_KEPT,	/* tried: nothing was better than the model's by the margin */
	GEOMETRY_TUNED, /* the best of the trials */
	GEOMETRY_END
};

/* The geometry of a kernel's entry for launches of one size on one kind of GPU. */
struct cuda_geometry {
	uint32_t units;		       /* multiprocessors of the GPU */
	uint16_t size;		       /* cuda_geometry_class() */
	uint8_t entry;		       /* enum cuda_entry */
	uint8_t state;		       /* enum cuda_geometry_state */
	struct cuda_shape model, best; /* best: what is used */
	uint64_t model_ns, best_ns;    /* of one launch; 0: not tried */
};
#define CUDA_GEOMETRIES 8 /* of a kernel at most */

/* Matrix products: entry bz_matmul, one parameter by value, struct cuda_matmul_args.  A
 * block computes CUDA_MATMUL_TILE x CUDA_MATMUL_TILE of C; tiles are numbered batch by
 * batch, row by row.  Each element is summed in rising k from 0, a multiply and an add
 * at a time, contracted if `fused`, as the processor's loops do. */
#define CUDA_MATMUL_TILE 64

struct cuda_matmul_args {
	int64_t m, n, k;
	int64_t lo, hi; /* tiles */
	uint64_t cancel;
	uint64_t base[3]; /* A, B, C */
	int64_t row[3], col[3];
	int64_t nbatch;
	int64_t batch[8];
	int64_t step[3][8];
	int64_t fused; /* product_fused() of the shape */
};

/* What a library multiplies, where it cannot take the operands as they lie, or must not round yet:
 * entries bz_matmul_pack and bz_matmul_store, as far as a type has them, with one parameter by
 * value.  `count` matrices of rows x cols elements at `loose` (strides in bytes) are copied to
 * `dense`, one behind the other, high x width elements each, 0 where there are none; or sums that
 * lie there are rounded, or wrapped, to elements at `loose`. */
#define CUDA_PACK_TILE 64

struct cuda_move_args {
	int64_t count, rows, cols, high, width;
	uint64_t dense, loose;
	int64_t row, col, step;
};

/* Other library steps (kernels/call.cuh): entries bz_call, bz_call_join and bz_call_spread, as far
 * as a step has them, with one parameter by value.  Extents and strides are those of struct
 * plan_call, units those of the slice; scans, sorts and reductions of what a mask chooses come
 * whole. */
#define CUDA_CALL_OPERANDS 4
#define CUDA_SCAN_THREADS  64	/* of a block of a scan's bz_call */
#define CUDA_SORT_TILE	   1024 /* elements */

struct cuda_call_args {
	int64_t lo, hi; /* units */
	uint64_t cancel;
	uint64_t error; /* device address of a word, which becomes an enum cuda_fault */
	uint64_t part;	/* device address of partial results, struct bz_acc each */
	uint32_t nloop;
	uint32_t piece; /* 2^piece blocks of the tree make a partial result; of a sort, 2^piece
			   tiles a run that is merged with another */
	int64_t extent[8];
	struct {
		uint64_t base;
		int64_t stride[8];
	} operand[CUDA_CALL_OPERANDS];
};

/* What a library step writes to its word where it goes wrong. */
enum cuda_fault {
	CUDA_FAULT_MASK,      /* a mask does not choose what its ranks say */
	CUDA_FAULT_STRUCTURE, /* a sparse matrix's structure does not fit it */
	CUDA_FAULT_INDEX,     /* an index of a kernel's loop lies outside of its array */
	CUDA_FAULT_STEP,      /* the step of a loop inside is 0 */
	CUDA_FAULT_END
};

/* Loops of users' kernels, whose turns are shared out among threads: entry bz_grid, one parameter
 * by value, of which the kernel knows as many words as it has.  They are, of each array, the
 * written one before the program's others in their order, the address of element [0,...,0], its
 * extents, its strides in bytes; then the registers that come in, two words each, as union lang_reg
 * has them. */
#define CUDA_GRID_WORDS 480

struct cuda_grid_args {
	uint64_t lo, hi, total; /* parts [lo, hi) of so many of its turns */
	uint64_t cancel;	/* as in struct cuda_args */
	uint64_t error;		/* device address of a word, which becomes one of the above */
	uint64_t word[CUDA_GRID_WORDS];
};

#endif
