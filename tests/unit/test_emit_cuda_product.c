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
		if (dtype_native(d)) {
			check_product(d, K);
			check_product(d, FEW);
		}
}
