/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/matmul.cuh, cuda_launch_matmul: products run by a CUDA driver against the CPU's own
 * loops. */
#include "cuda_fixture.h"

#include "worker/matmul.h"

TestSuite(emit_cuda_product, .timeout = 1200);

static struct cuda_fixture cuda;

#define M	 70
#define N	 65
#define K	 33
#define FEW	 7 /* of a short product, which is not contracted */
#define PRODUCTS 2 /* all use the same B */

/* A lies by columns, C with gaps between its rows. */
static void make_product(struct product *p, unsigned dtype, int64_t k)
{
	int64_t b = dtype_row(dtype)->bytes;

	*p = (struct product){.dtype = (uint8_t)dtype, .nbatch = 1, .m = M, .n = N, .k = k};
	p->batch[0] = PRODUCTS;
	p->row[0] = b;
	p->col[0] = M * b;
	p->step[0][0] = M * K * b;
	p->row[1] = N * b;
	p->col[1] = b;
	p->row[2] = (N + 3) * b;
	p->col[2] = b;
	p->step[2][0] = M * (N + 3) * b;
}

static void product_on_device(const struct product *p, char *const host[3], const size_t bytes[3])
{
	struct compile_nvrtc job = {.arch = cuda.arch};
	char *source = NULL, *code;
	struct cuda_matmul_args args;
	void *module, *function, *params[] = {&args};
	uint64_t base[3], cancel;
	uint32_t grid, zero = 0;
	struct err err;

	cr_assert_eq(emit_cuda_matmul(&source, p->dtype, &err), OK);
	code = cuda_fixture_compile(source, &job, "matmul");
	cr_assert_eq(cuda.load(&module, code, 0, NULL, NULL), 0);
	cr_assert_eq(cuda.function(&function, module, "bz_matmul"), 0);
	cr_assert_eq(cuda.alloc(&cancel, 4), 0);
	cr_assert_eq(cuda.upload(cancel, &zero, 4, NULL), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(cuda.alloc(&base[i], bytes[i]), 0);
		cr_assert_eq(cuda.upload(base[i], host[i], bytes[i], NULL), 0);
	}
	for (int part = 0; part < 2; part++) {
		cuda_launch_matmul(&args, &grid, p, base, part ? 50 : 0, part ? PRODUCTS * M : 50,
				   cancel);
		cr_assert_gt(grid, 0);
		cr_assert_eq(cuda.launch(function, grid, 1, 1, CUDA_THREADS, 1, 1, 0, NULL, params,
					 NULL),
			     0);
		cr_assert_eq(cuda.synchronize(NULL), 0);
	}
	cr_assert_eq(cuda.download(host[2], base[2], bytes[2], NULL), 0);
	cr_assert_eq(cuda.synchronize(NULL), 0);
	for (int i = 0; i < 3; i++)
		cuda.release(base[i]);
	cuda.release(cancel);
	cuda.unload(module);
	free(code);
	free(source);
}

/* Against the CPU's own loops, whose order it keeps. */
static void check_product(unsigned dtype, int64_t k)
{
	static const struct matmul plain; /* no library */
	const size_t b = dtype_row(dtype)->bytes;
	const size_t bytes[3] = {PRODUCTS * M * K * b, K * N * b, PRODUCTS * M * (N + 3) * b};
	struct matmul_scratch scratch = {NULL, 0};
	char *host[3], *base[3], *c = malloc(bytes[2]);
	struct product p;
	struct product_cut cut;
	uint64_t seed = 7;
	uint32_t cancel = 0;
	struct matmul_run run = {.library = &plain, .p = &p, .cut = &cut, .cancel = &cancel};
	struct matmul_thread thread = {.scratch = &scratch};

	make_product(&p, dtype, k);
	for (int i = 0; i < 3; i++) {
		host[i] = malloc(bytes[i]);
		fill(host[i], dtype, bytes[i] / b, &seed);
	}
	memcpy(c, host[2], bytes[2]); /* between the rows nothing changes */
	memcpy(base, host, sizeof base);
	base[2] = c;
	cr_assert(product_cut(&cut, &p));
	memcpy(run.base, base, sizeof base);
	for (int64_t tile = 0; tile < cut.tiles; tile++)
		cr_assert_eq(matmul_tile(&run, tile, 0, cut.chunks, NULL, &thread, NULL), OK);
	product_on_device(&p, host, bytes);
	for (size_t i = 0; i < bytes[2] / b; i++)
		cr_assert(same_element(c + i * b, host[2] + i * b, dtype), "%s, element %zu",
			  dtype_row(dtype)->name, i);
	matmul_scratch_finish(&scratch);
	for (int i = 0; i < 3; i++)
		free(host[i]);
	free(c);
}

Test(emit_cuda_product, matrix_products_of_every_type)
{
	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (dtype_computes(d)) {
			check_product(d, K);
			check_product(d, FEW);
		}
}

/* ---- For a library ---- */

enum { COUNT = 2, ROWS = 70, COLS = 67, HIGH = 80, WIDTH = 80 };

/* Entry `name` of a type's text, with operands of these bytes at `dense` and `loose`. */
static void move(unsigned dtype, const char *name, const struct cuda_move_args *how,
		 char *const host[2], const size_t bytes[2])
{
	struct compile_nvrtc job = {.arch = cuda.arch};
	struct cuda_move_args args = *how;
	char *source = NULL, *code;
	void *module, *function, *params[] = {&args};
	uint64_t base[2];
	struct err err;

	cr_assert_eq(emit_cuda_matmul(&source, dtype, &err), OK);
	code = cuda_fixture_compile(source, &job, name);
	cr_assert_eq(cuda.load(&module, code, 0, NULL, NULL), 0);
	cr_assert_eq(cuda.function(&function, module, name), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(cuda.alloc(&base[i], bytes[i]), 0);
		cr_assert_eq(cuda.upload(base[i], host[i], bytes[i], NULL), 0);
	}
	args.dense = base[0];
	args.loose += base[1];
	/* Fewer blocks than tiles. */
	cr_assert_eq(cuda.launch(function, 3, 1, 1, CUDA_THREADS, 1, 1, 0, NULL, params, NULL), 0);
	cr_assert_eq(cuda.synchronize(NULL), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(cuda.download(host[i], base[i], bytes[i], NULL), 0);
		cr_assert_eq(cuda.synchronize(NULL), 0);
		cuda.release(base[i]);
	}
	cuda.unload(module);
	free(code);
	free(source);
}

/* Rows backwards, columns three apart; or turned. */
static void check_pack(unsigned dtype, bool turned)
{
	static char dense[COUNT * HIGH * WIDTH], loose[COUNT * ROWS * COLS * 3];
	struct cuda_move_args how = {.count = COUNT,
				     .rows = ROWS,
				     .cols = COLS,
				     .high = HIGH,
				     .width = WIDTH,
				     .loose = turned ? 0 : (ROWS - 1) * COLS * 3,
				     .row = turned ? 1 : -COLS * 3,
				     .col = turned ? ROWS : 3,
				     .step = ROWS * COLS * 3};
	uint64_t seed = 3;

	fill(loose, DT_INT8, sizeof loose, &seed);
	memset(dense, 0x55, sizeof dense);
	move(dtype, "bz_matmul_pack", &how, (char *[]){dense, loose},
	     (size_t[]){sizeof dense, sizeof loose});
	for (int64_t i = 0; i < COUNT * HIGH * WIDTH; i++) {
		int64_t y = i % WIDTH, x = i / WIDTH % HIGH, at = i / WIDTH / HIGH;
		bool in = x < ROWS && y < COLS;
		int64_t from = (int64_t)how.loose + at * how.step + x * how.row + y * how.col;

		cr_assert_eq(dense[i], in ? loose[from] : 0, "%lld", (long long)i);
	}
}

Test(emit_cuda_product, operands_are_packed)
{
	if (!cuda_fixture_open(&cuda))
		return;
	for (int turned = 0; turned < 2; turned++) {
		check_pack(DT_INT8, turned);
		check_pack(DT_UINT8, turned);
	}
}

Test(emit_cuda_product, sums_are_stored)
{
	static int32_t sums[COUNT * HIGH * WIDTH];
	static float singles[COUNT * HIGH * WIDTH];
	static uint8_t bytes[COUNT * ROWS * COLS];
	static uint16_t halves[COUNT * ROWS * COLS];
	struct cuda_move_args how = {.count = COUNT,
				     .rows = ROWS,
				     .cols = COLS,
				     .high = HIGH,
				     .width = WIDTH,
				     .row = 1,
				     .col = ROWS,
				     .step = ROWS * COLS};

	if (!cuda_fixture_open(&cuda))
		return;
	for (int i = 0; i < COUNT * HIGH * WIDTH; i++) {
		sums[i] = (int32_t)((uint32_t)i * 2654435761u);
		singles[i] = (float)(i % 2000) + 0x1p-13F;
	}
	move(DT_UINT8, "bz_matmul_store", &how, (char *[]){(char *)sums, (char *)bytes},
	     (size_t[]){sizeof sums, sizeof bytes});
	how.row *= 2;
	how.col *= 2;
	how.step *= 2;
	move(DT_FLOAT16, "bz_matmul_store", &how, (char *[]){(char *)singles, (char *)halves},
	     (size_t[]){sizeof singles, sizeof halves});
	for (int64_t i = 0; i < COUNT * ROWS * COLS; i++) {
		int64_t x = i % ROWS, y = i / ROWS % COLS, at = i / ROWS / COLS;
		int64_t from = (at * HIGH + x) * WIDTH + y;
		_Float16 want = (_Float16)singles[from];

		cr_assert_eq(bytes[i], (uint8_t)sums[from], "%lld", (long long)i);
		cr_assert(!memcmp(&halves[i], &want, 2), "%lld", (long long)i);
	}
}
