/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_launch.c: which entries a step becomes, with what grid and parts. */
#include "emit_fixture.h"

#include "cuda/cuda_geometry.h"

#define UNITS 132

static struct nest n;
static struct run *run;
static uint64_t base[LIMIT_NEST_ACCESSES];
static struct cuda_step step;
static struct cuda_launches l;

/* The launch as a worker makes it, on a GPU whose registers permit so many threads. */
static void shaped(struct cuda_launch *x)
{
	const struct cuda_facts facts = {
		.units = UNITS, .most_threads = CUDA_THREADS, .resident = {12, 6, 3}};
	struct cuda_shape shape;

	cuda_geometry_model(&shape, x, &facts);
	cuda_geometry_apply(x, &shape, &facts);
}

/* A sum of a by a, or the sum over the last loop, over these extents. */
static void make(unsigned dtype, bool reduce, unsigned loops, const int64_t *extent)
{
	unsigned v;

	memset(&n, 0, sizeof n);
	n.width = 8;
	n.npar = (uint8_t)(loops - reduce);
	n.nred = reduce;
	memcpy(n.extent, extent, loops * sizeof *extent);
	v = nest_load(&n, dtype, loops, 1, (1u << loops) - 1);
	v = reduce ? nest_put(&n, NI_REDUCE, dtype, dtype, v, 0, OP_SUM)
		   : nest_put(&n, OP_ADD, dtype, dtype, v, v, 0);
	if (reduce)
		n.post = n.ninstr;
	nest_store(&n, v, n.npar, 1, (1u << n.npar) - 1);
	nest_finish(&n, loops - 1);
	run = calloc(1, sizeof *run);
	for (unsigned a = 0; a < n.naccess; a++) {
		base[a] = 0x1000;
		for (unsigned k = 0; k < loops; k++)
			run->stride[a * LIMIT_NDIM + k] = n.access[a].stride[k];
	}
	memcpy(run->extent, extent, loops * sizeof *extent);
	step = (struct cuda_step){.spec = &n,
				  .extent = run->extent,
				  .stride = run->stride,
				  .base = base,
				  .scalar = run->scalar,
				  .hi = nest_parallel(&n)};
}

static void plan(const char *entries)
{
	struct err err = {OK, ""};
	char seen[128] = "";

	cr_assert_eq(cuda_launch_plan(&l, &step, UNITS, &err), OK, "%s", err.text);
	for (unsigned i = 0; i < l.n; i++) {
		strcat(seen, i ? " " : "");
		strcat(seen, cuda_entry_name(l.item[i].entry));
		cr_assert_geq(l.item[i].grid, 1);
		cr_assert_leq(l.item[i].grid, UNITS * 8);
	}
	cr_assert_str_eq(seen, entries);
}

Test(cuda_launch, dense_arrays_go_by_vectors_where_they_are_aligned)
{
	make(DT_FLOAT32, false, 1, (int64_t[]){1000003});
	plan("bz_map_vector_narrow");
	cr_assert_eq(l.item[0].grid, 1000003 / (2 * 4) / 256 + 1);
	base[1] += 4;
	plan("bz_map_row_narrow");
	base[1] -= 4;
	step.lo = 999;
	step.hi = 1001;
	plan("bz_map_row_narrow"); /* less than one vector */
	step.hi = step.lo;
	plan("");
	free(run);
}

Test(cuda_launch, large_grids_are_what_the_gpu_holds_at_once)
{
	make(DT_FLOAT64, false, 1, (int64_t[]){1000000000});
	plan("bz_map_vector");
	cr_assert_eq(l.item[0].grid, UNITS * 8);
	free(run);
}

Test(cuda_launch, offsets_beyond_32_bits_take_wide_indices)
{
	make(DT_FLOAT64, false, 2, (int64_t[]){10, 33});
	run->stride[0] =
		33 * 16; /* rows with a gap do not flatten, nor do odd ones go by vectors */
	plan("bz_map_narrow");
	run->stride[0] = (int64_t)1 << 40;
	plan("bz_map");
	free(run);
}

/* A kernel may have the one entry that its nest asked for and the general one. */
Test(cuda_launch, what_a_kernel_lacks_is_done_by_its_general_entry)
{
	make(DT_FLOAT32, false, 1, (int64_t[]){1000003});
	cr_assert_eq(cuda_launch_way(&n, UNITS), 1 + ENTRY_bz_map_vector_narrow);
	n.way = cuda_launch_way(&n, UNITS);
	plan("bz_map_vector_narrow");
	base[1] += 4; /* rows would do, which it does not have */
	plan("bz_map");
	n.way = 1 + ENTRY_bz_map_row_narrow;
	plan("bz_map_row_narrow");
	n.way = 0;
	n.access[0].offset = 4;
	cr_assert_eq(cuda_launch_way(&n, UNITS), 1 + ENTRY_bz_map_row_narrow);
	n.access[0].offset = 0;
	n.access[0].move = 12; /* the next turn's is not aligned */
	cr_assert_eq(cuda_launch_way(&n, UNITS), 1 + ENTRY_bz_map_row_narrow);
	n.extent[0] = (int64_t)1 << 40;
	n.access[0].move = 0;
	cr_assert_eq(cuda_launch_way(&n, UNITS), 1 + ENTRY_bz_map_vector);
	n.extent[0] = 0;
	cr_assert_eq(cuda_launch_way(&n, UNITS), 0, "nothing to compute asks for nothing");
	free(run);
}

/* A reduction's too: of what it lacks a warp takes each piece. */
Test(cuda_launch, a_reduction_has_the_entry_that_its_nest_asks_for)
{
	make(DT_FLOAT32, true, 2, (int64_t[]){100000, 500});
	cr_assert_eq(cuda_launch_way(&n, UNITS), 1 + ENTRY_bz_reduce_vector);
	n.way = cuda_launch_way(&n, UNITS);
	plan("bz_reduce_vector");
	cr_assert_eq(l.item[0].work, 25000);
	base[0] += 4; /* thin would do */
	plan("bz_reduce_warp");
	cr_assert_eq(l.item[0].work, 100000, "a row a warp");
	free(run);
	make(DT_FLOAT32, true, 2, (int64_t[]){4096, 4096});
	run->stride[0] = 4;
	run->stride[1] = 4096 * 4;
	n.access[0].walk = WALK_STRIDED;
	n.access[0].stride[0] = 4;
	n.access[0].stride[1] = 4096 * 4;
	cr_assert_eq(cuda_launch_way(&n, UNITS), 1 + ENTRY_bz_reduce_column);
	n.way = 1 + ENTRY_bz_reduce_column;
	plan("bz_reduce_column bz_finish");
	n.way = 1 + ENTRY_bz_reduce_thin;
	plan("bz_reduce_warp"); /* along the columns, whole: there are many */
	cr_assert_eq(l.item[0].work, 4096);
	cr_assert_eq(l.part_bytes, 0);
	free(run);
	/* A GPU of more multiprocessors wants more warps. */
	make(DT_FLOAT32, true, 2, (int64_t[]){1000, 5000});
	cr_assert_eq(cuda_launch_way(&n, 4), 1 + ENTRY_bz_reduce_vector);
	cr_assert_eq(cuda_launch_way(&n, 1000), 1 + ENTRY_bz_reduce_warp);
	free(run);
}

Test(cuda_launch, transposed_operands_go_by_tiles_along_their_dense_loop)
{
	make(DT_FLOAT32, false, 3, (int64_t[]){64, 5, 100});
	n.access[0].walk = WALK_STRIDED;
	run->stride[0] = 4;
	run->stride[1] = 64 * 4 * 100;
	run->stride[2] = 64 * 4;
	plan("bz_map_tile_narrow");
	cr_assert_eq(l.item[0].tile, 0);
	cr_assert_eq(l.item[0].clo, 1); /* the first operand comes through shared memory */
	run->extent[0] = 8;
	step.hi = 8 * 5 * 100;
	plan("bz_map_narrow");
	free(run);
}

Test(cuda_launch, rows_go_by_warps_and_few_long_ones_by_whole_blocks)
{
	make(DT_FLOAT32, true, 2, (int64_t[]){100000, 500});
	plan("bz_reduce_vector");
	cr_assert_eq(l.item[0].team, 1);
	cr_assert_eq(l.item[0].work, 25000, "four rows a warp");
	cr_assert_eq(l.part_bytes, 0);
	base[0] += 4; /* not 16 bytes at once */
	plan("bz_reduce_thin");
	cr_assert_eq(l.item[0].work, 25000);
	free(run);
	make(DT_FLOAT32, true, 2, (int64_t[]){100000, 501});
	plan("bz_reduce_thin"); /* nor do rows begin there */
	run->stride[0] = 512 * 4;
	plan("bz_reduce_vector");
	free(run);
	make(DT_FLOAT32, true, 2, (int64_t[]){100000, 701});
	plan("bz_reduce_warp");
	cr_assert_eq(l.item[0].work, 100000);
	free(run);
	make(DT_FLOAT32, true, 2, (int64_t[]){1000, 500});
	plan("bz_reduce_warp"); /* a warp each: there are few */
	free(run);
	make(DT_FLOAT32, true, 2, (int64_t[]){10, 60000});
	plan("bz_reduce_warp bz_finish");
	cr_assert_eq(l.item[0].team, 4);
	cr_assert_eq(l.item[0].piece, 12);
	cr_assert_eq(l.item[0].chi, 15);
	free(run);
	/* Soon done: one launch, and no accumulators. */
	make(DT_FLOAT32, true, 2, (int64_t[]){10, 30000});
	plan("bz_reduce_warp");
	cr_assert_eq(l.item[0].team, 8);
	cr_assert_eq(l.item[0].piece, 15);
	cr_assert_eq(l.part_bytes, 0);
	free(run);
}

Test(cuda_launch, one_long_row_is_cut_into_pieces_that_are_combined)
{
	make(DT_FLOAT64, true, 1, (int64_t[]){1000000});
	plan("bz_reduce_warp bz_finish");
	cr_assert_eq(l.item[0].piece, 12);
	cr_assert_eq(l.item[0].chi, 245); /* of 4 blocks, which the last one is not whole of */
	cr_assert_eq(l.item[0].team, 4);
	cr_assert_eq(l.part_bytes, 245 * sizeof(struct bz_acc));
	cr_assert(l.item[0].part && l.item[1].part);
	cr_assert_eq(l.item[1].kind, LAUNCH_ROWS);
	cr_assert_eq(l.item[1].most, 8, "a warp for each 32 pieces");
	free(run);
	/* What has chunks enough is not cut further. */
	make(DT_FLOAT64, true, 1, (int64_t[]){1 << 25});
	plan("bz_reduce_vector bz_finish");
	cr_assert_eq(l.item[0].piece, 16);
	cr_assert_eq(l.item[0].least, 4, "each warp has room for 8 turns of two blocks");
	cr_assert_eq(l.item[0].chi, 512);
	free(run);
}

/* Whatever its shape, what is large enough reaches each multiprocessor, by enough warps, and none
 * more than once: a golden table of launches.  columns: the first axis is reduced. */
Test(cuda_launch, every_multiprocessor_has_its_share)
{
	static const struct {
		int64_t points, reduced;
		bool columns;
		unsigned launches;
		int64_t blocks, warps;
	} table[] = {
		{1, 20000, false, 1, 1, 8},   /* soon done */
		{1, 50000, false, 2, 25, 50}, /* 49 blocks of the tree */
		{1, 65536, false, 2, 32, 64},	     {1, 65537, false, 2, 33, 66},
		{1, 1000000, false, 2, 245, 980},    {1, 16777216, false, 2, 396, 3168},
		{100, 10000, false, 1, 100, 800},    {4096, 4096, false, 1, 396, 3168},
		{1000000, 128, false, 1, 396, 3168}, {4096, 4096, true, 2, 396, 3168},
		{1024, 1024, true, 1, 32, 256},	     {1000, 100000, true, 2, 396, 3168},
		{64, 1000000, true, 2, 396, 3168},   {100000, 16, true, 1, 391, 3128},
		{1000000, 128, true, 1, 396, 3168},
	};

	for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
		bool one = table[i].points == 1;
		int warps;

		make(DT_FLOAT32, true, 2 - one,
		     one ? (int64_t[]){table[i].reduced, 0}
			 : (int64_t[]){table[i].points, table[i].reduced});
		if (table[i].columns) {
			run->stride[0] = 4;
			run->stride[1] = table[i].points * 4;
			n.access[0].walk = WALK_STRIDED;
		}
		cr_assert_eq(cuda_launch_plan(&l, &step, UNITS, &(struct err){OK, ""}), OK);
		shaped(&l.item[0]);
		warps = (int)(l.item[0].grid * l.item[0].threads / 32);
		cr_expect_eq(l.n, table[i].launches, "%u: %u launches", i, l.n);
		cr_expect_eq(l.item[0].grid, table[i].blocks, "%u: %u blocks", i, l.item[0].grid);
		cr_expect_eq(warps, table[i].warps, "%u: %d warps", i, warps);
		free(run);
	}
}

Test(cuda_launch, slices_by_chunks_keep_their_parts_until_the_last)
{
	make(DT_FLOAT64, true, 1, (int64_t[]){1000000});
	step.split = 1;
	step.hi = 7;
	plan("bz_reduce_warp");
	cr_assert_eq(l.item[0].clo, 0);
	cr_assert_eq(l.item[0].chi, 7 * 16); /* a chunk has 16 of its pieces */
	cr_assert_eq(l.part_bytes, 245 * sizeof(struct bz_acc));
	step.split = 2;
	step.lo = 7;
	step.hi = 16;
	plan("bz_reduce_warp bz_finish");
	cr_assert_eq(l.item[0].clo, 7 * 16);
	cr_assert_eq(l.item[0].chi, 245);
	cr_assert_eq(l.part_bytes, 245 * sizeof(struct bz_acc));
	cr_assert_eq(l.item[1].lo, 0);
	cr_assert_eq(l.item[1].hi, 1);
	free(run);
}

Test(cuda_launch, slices_by_points_have_parts_of_their_own)
{
	char block[CUDA_ARGS_BYTES];
	struct cuda_args a;

	make(DT_FLOAT64, true, 2, (int64_t[]){10, 100000});
	step.lo = 4;
	step.hi = 7;
	plan("bz_reduce_warp bz_finish");
	cr_assert_eq(l.item[0].piece, 11);
	cr_assert_eq(l.part_bytes, 3 * 49 * sizeof(struct bz_acc));
	cuda_launch_args(block, &step);
	cuda_launch_set(block, &l, &l.item[0], 0x50, 0x90000, 0);
	memcpy(&a, block, sizeof a);
	cr_assert_eq(a.part, 0x90000 - 4 * 49 * sizeof(struct bz_acc));
	cr_assert_eq(a.piece, 11);
	cr_assert_eq(a.cancel, 0x50);
	cr_assert_eq(a.lo, 4);
	cr_assert_eq(a.hi, 7);
	free(run);
}

Test(cuda_launch, columns_go_by_threads)
{
	make(DT_FLOAT32, true, 2, (int64_t[]){5000, 300});
	run->stride[0] = 4;
	run->stride[1] = 5000 * 4;
	n.access[0].walk = WALK_STRIDED;
	plan("bz_reduce_column");
	free(run);
}

Test(cuda_launch, the_parameter_is_packed_by_what_the_nest_has)
{
	char block[CUDA_ARGS_BYTES];
	int64_t word;

	make(DT_FLOAT64, false, 2, (int64_t[]){3, 5});
	cr_assert_eq(cuda_launch_args(block, &step), sizeof(struct cuda_args) + 8 * (2 + 2 + 4));
	memcpy(&word, block + sizeof(struct cuda_args), 8);
	cr_assert_eq(word, 0x1000);
	memcpy(&word, block + sizeof(struct cuda_args) + 8 * 3, 8);
	cr_assert_eq(word, 5);
	memcpy(&word, block + sizeof(struct cuda_args) + 8 * 4, 8);
	cr_assert_eq(word, 40);
	free(run);
}

Test(cuda_launch, what_a_gpu_cannot_address_is_refused)
{
	struct err err = {OK, ""};

	make(DT_FLOAT64, false, 1, (int64_t[]){100});
	base[0] += 4;
	cr_assert_eq(cuda_launch_plan(&l, &step, UNITS, &err), E_UNSUPPORTED);
	cr_assert(strstr(err.text, "operand 0 of type float64"), "%s", err.text);
	cr_assert_eq(l.n, 0);
	free(run);
	make(DT_COMPLEX128, false, 1, (int64_t[]){100});
	base[0] += 8; /* components are what counts */
	plan("bz_map_narrow");
	free(run);
}

Test(cuda_launch, products_are_cut_by_rows_of_tiles)
{
	static struct product p = {.dtype = DT_FLOAT32, .m = 130, .n = 70, .k = 9, .nbatch = 1};
	const uint64_t at[3] = {1, 2, 3};
	struct cuda_matmul_args a;
	uint32_t grid;

	p.batch[0] = 2;
	cuda_launch_matmul(&a, &grid, &p, at, 0, 260, 7);
	cr_assert_eq(grid, 2 * 3 * 2);
	cuda_launch_matmul(&a, &grid, &p, at, 0, 64, 7);
	cr_assert_eq(grid, 2);
	cuda_launch_matmul(&a, &grid, &p, at, 1, 64, 7);
	cr_assert_eq(grid, 0); /* the tile's first row was done by the slice before */
	cuda_launch_matmul(&a, &grid, &p, at, 64, 200, 7);
	cr_assert_eq(a.lo, 2);
	cr_assert_eq(a.hi, 10);
	cr_assert_eq(a.base[2], 3);
}
