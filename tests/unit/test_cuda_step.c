/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on a CUDA worker: whole, in slices by points and by chunks. */
#define _GNU_SOURCE
#define PTX_BYTES "128"
#include "cuda_bench.h"

/* One thread adds up a chunk of a point; sums of whole numbers have no order.  rd21
 * points, rd22 chunks of each; tasks [0, (hi - lo) * (chi - clo)) in rd9. */
#define PTX_SUM_REDUCE                                                                             \
	PTX_BEGIN                                                                                  \
	"ld.param.u64 %rd20, [args+16];\nld.param.u64 %rd21, [args+24];\n" /* clo, chi */          \
	"ld.param.u64 %rd22, [args+40];\n"				   /* part */              \
	"ld.param.u64 %rd23, [args+88];\n"				   /* reduced */           \
	"ld.param.u64 %rd24, [args+96];\nld.param.u64 %rd25, [args+104];\n"                        \
	"ld.param.u64 %rd26, [args+112];\n"                                                        \
	"add.u64 %rd27, %rd23, 65535;\nshr.u64 %rd27, %rd27, 16;\n" /* chunks */                   \
	"sub.u64 %rd28, %rd21, %rd20;\nmov.u64 %rd9, %rd7;\n"                                      \
	"sub.u64 %rd29, %rd2, %rd1;\nmul.lo.u64 %rd2, %rd29, %rd28;\n"                             \
	"NEXT:\nsetp.ge.s64 %p1, %rd9, %rd2;\n@%p1 bra DONE;\n"                                    \
	"div.u64 %rd30, %rd9, %rd28;\nmul.lo.u64 %rd31, %rd30, %rd28;\n"                           \
	"sub.u64 %rd31, %rd9, %rd31;\nadd.u64 %rd31, %rd31, %rd20;\n" /* chunk */                  \
	"add.u64 %rd30, %rd30, %rd1;\n"				      /* point */                  \
	"shl.b64 %rd32, %rd31, 16;\nadd.u64 %rd33, %rd32, 65536;\n"                                \
	"min.u64 %rd33, %rd33, %rd23;\n"                                                           \
	"mul.lo.u64 %rd34, %rd30, %rd24;\nadd.u64 %rd34, %rd34, %rd3;\nmov.f64 %fd1, "             \
	"0d0000000000000000;\n"                                                                    \
	"ADD:\nsetp.ge.u64 %p2, %rd32, %rd33;\n@%p2 bra SUM;\n"                                    \
	"mul.lo.u64 %rd35, %rd32, %rd25;\nadd.u64 %rd35, %rd35, %rd34;\n"                          \
	"ld.global.f64 %fd2, [%rd35];\nadd.f64 %fd1, %fd1, %fd2;\n"                                \
	"add.u64 %rd32, %rd32, 1;\nbra ADD;\n"                                                     \
	"SUM:\nsetp.ne.u64 %p3, %rd22, 0;\n@%p3 bra PART;\n"                                       \
	"mul.lo.u64 %rd36, %rd30, %rd26;\nadd.u64 %rd36, %rd36, %rd4;\n"                           \
	"st.global.f64 [%rd36], %fd1;\nbra STEP;\n"                                                \
	"PART:\nmul.lo.u64 %rd36, %rd30, %rd27;\nadd.u64 %rd36, %rd36, %rd31;\n"                   \
	"mul.lo.u64 %rd36, %rd36, 24;\nadd.u64 %rd36, %rd36, %rd22;\n"                             \
	"st.global.f64 [%rd36], %fd1;\n"                                                           \
	"STEP:\nadd.u64 %rd9, %rd9, %rd8;\nbra NEXT;\nDONE:\nret;\n}\n"
#define PTX_SUM_FINISH                                                                             \
	PTX_BEGIN                                                                                  \
	"ld.param.u64 %rd22, [args+40];\nld.param.u64 %rd23, [args+88];\n"                         \
	"ld.param.u64 %rd26, [args+112];\n"                                                        \
	"add.u64 %rd27, %rd23, 65535;\nshr.u64 %rd27, %rd27, 16;\n"                                \
	"NEXT:\nsetp.ge.s64 %p1, %rd9, %rd2;\n@%p1 bra DONE;\n"                                    \
	"mul.lo.u64 %rd30, %rd9, %rd27;\nmul.lo.u64 %rd30, %rd30, 24;\n"                           \
	"add.u64 %rd30, %rd30, %rd22;\nmov.u64 %rd31, 0;\nmov.f64 %fd1, 0d0000000000000000;\n"     \
	"ADD:\nsetp.ge.u64 %p2, %rd31, %rd27;\n@%p2 bra SUM;\n"                                    \
	"ld.global.f64 %fd2, [%rd30];\nadd.f64 %fd1, %fd1, %fd2;\nadd.u64 %rd30, %rd30, 24;\n"     \
	"add.u64 %rd31, %rd31, 1;\nbra ADD;\n"                                                     \
	"SUM:\nmul.lo.u64 %rd36, %rd9, %rd26;\nadd.u64 %rd36, %rd36, %rd4;\n"                      \
	"st.global.f64 [%rd36], %fd1;\nadd.u64 %rd9, %rd9, %rd8;\nbra NEXT;\nDONE:\nret;\n}\n"
#define PTX_SUM                                                                                    \
	PTX_HEAD PTX_ENTRY("bz_reduce_warp") PTX_SUM_REDUCE PTX_ENTRY("bz_reduce_warp_narrow")     \
		PTX_SUM_REDUCE PTX_ENTRY("bz_finish") PTX_SUM_FINISH

enum { OUT = 64 << 20 };

static void upload(struct bench *b, int64_t bytes)
{
	device_region(b, 2, (uint64_t)bytes + 8);
	device_region(b, 3, 65536);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, bytes);
	run_end(b, 1, OK);
}

static void check(struct bench *b, const double *want, int64_t rows, int way)
{
	run_begin(b);
	run_copy(b, 3, 0, ARENA, OUT, 0, rows * 8);
	run_end(b, 2, OK);
	for (int64_t p = 0; p < rows; p++)
		cr_assert_eq(((double *)(b->mem + OUT))[p], want[p], "point %ld, way %d: %g, %g",
			     (long)p, way, ((double *)(b->mem + OUT))[p], want[p]);
}

/* One chunk a packet; another job's slices in between. */
static void by_chunks(struct bench *b, const struct nest *n, int64_t chunks)
{
	for (int64_t c = 0; c < chunks; c++) {
		uint8_t split = (uint8_t)((c == 0) | (c == chunks - 1) << 1);

		for (uint64_t job = 3; job < 5; job++) {
			run_begin(b);
			run_kernel(b, n, 5, PLACE(2, 0), PLACE(3, job == 3 ? 0 : 32768), c, c + 1,
				   split ? split : 4);
			run_end(b, (job << TICKET_SHIFT) + (uint64_t)c, OK);
		}
	}
}

Test(cuda_step, reductions_do_not_depend_on_the_cut, .timeout = 120)
{
	static const int64_t shape[][2] = {{1, 150001}, {3, 70000}, {20, 1000}, {2, 65536}};

	for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
		int64_t rows = shape[k][0], len = shape[k][1];
		int64_t chunks = (len + TREE_CHUNK - 1) / TREE_CHUNK;
		struct nest n = nest_sum(rows, len);
		struct bench *b = bench_open();
		double want[20] = {0};

		for (int64_t i = 0; i < rows * len; i++) {
			((double *)b->mem)[i] = (double)(i % 1013);
			want[i / len] += (double)(i % 1013);
		}
		kernel(b, 5, &n, PTX_SUM);
		upload(b, rows * len * 8);
		run_begin(b);
		run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 0, rows, 0);
		run_end(b, 3ull << TICKET_SHIFT, OK);
		check(b, want, rows, 0);
		if (rows > 1) {
			run_begin(b);
			run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 0, rows / 2, 0);
			run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), rows / 2, rows, 0);
			run_end(b, 4ull << TICKET_SHIFT, OK);
			check(b, want, rows, 1);
		}
		by_chunks(b, &n, chunks);
		check(b, want, rows, 2);
		bench_close(b);
	}
}

Test(cuda_step, slices_without_their_first_are_refused, .timeout = 60)
{
	struct nest n = nest_sum(1, 200000);
	struct bench *b = bench_open();

	kernel(b, 5, &n, PTX_SUM);
	upload(b, 200000 * 8);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 1, 2, 4);
	run_end(b, 3ull << TICKET_SHIFT, E_INTERNAL);
	/* A cancel forgets what a job has gathered. */
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 0, 1, 1);
	run_end(b, 4ull << TICKET_SHIFT, OK);
	send_simple(b, CMD_CANCEL, 0, 4ull << TICKET_SHIFT, 0, -1);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 1, 2, 4);
	run_end(b, (4ull << TICKET_SHIFT) + 1, E_INTERNAL);
	bench_close(b);
}
