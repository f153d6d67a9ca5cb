/* SPDX-License-Identifier: Apache-2.0 */
/* A reduction's kernel as PTX, of nest_sum's form. */
#ifndef CUDA_SUMS_H
#define CUDA_SUMS_H

#define PTX_BYTES "128"
#include "cuda_bench.h"

/* 2^r9 = rd37 elements are a piece; rd27 pieces of rd23 elements. */
#define PTX_SUM_PIECES                                                                             \
	"ld.param.u32 %r9, [args+56];\nshr.u32 %r9, %r9, 16;\n"                                    \
	"mov.u64 %rd37, 1;\nshl.b64 %rd37, %rd37, %r9;\n"                                          \
	"add.u64 %rd27, %rd23, %rd37;\nsub.u64 %rd27, %rd27, 1;\nshr.u64 %rd27, %rd27, %r9;\n"
/* One thread adds up a piece of a point; sums of whole numbers have no order.  rd21
 * points, rd22 pieces of each; tasks [0, (hi - lo) * (chi - clo)) in rd9. */
#define PTX_SUM_REDUCE                                                                             \
	PTX_BEGIN                                                                                  \
	"ld.param.u64 %rd20, [args+16];\nld.param.u64 %rd21, [args+24];\n" /* clo, chi */          \
	"ld.param.u64 %rd22, [args+40];\n"				   /* part */              \
	"ld.param.u64 %rd23, [args+88];\n"				   /* reduced */           \
	"ld.param.u64 %rd24, [args+96];\nld.param.u64 %rd25, [args+104];\n"                        \
	"ld.param.u64 %rd26, [args+112];\n" PTX_SUM_PIECES                                         \
	"sub.u64 %rd28, %rd21, %rd20;\nmov.u64 %rd9, %rd7;\n"                                      \
	"sub.u64 %rd29, %rd2, %rd1;\nmul.lo.u64 %rd2, %rd29, %rd28;\n"                             \
	"NEXT:\nsetp.ge.s64 %p1, %rd9, %rd2;\n@%p1 bra DONE;\n"                                    \
	"div.u64 %rd30, %rd9, %rd28;\nmul.lo.u64 %rd31, %rd30, %rd28;\n"                           \
	"sub.u64 %rd31, %rd9, %rd31;\nadd.u64 %rd31, %rd31, %rd20;\n" /* piece */                  \
	"add.u64 %rd30, %rd30, %rd1;\n"				      /* point */                  \
	"shl.b64 %rd32, %rd31, %r9;\nadd.u64 %rd33, %rd32, %rd37;\n"                               \
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
	"ld.param.u64 %rd26, [args+112];\n" PTX_SUM_PIECES                                         \
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
/* Reductions that wait until they are cancelled; that store outside every allocation. */
#define PTX_SUM_SPIN_BODY                                                                          \
	PTX_BEGIN                                                                                  \
	"ld.param.u64 %rd20, [args+32];\nWAIT:\nld.volatile.global.u32 %r8, [%rd20];\n"            \
	"setp.eq.u32 %p2, %r8, 0;\n@%p2 bra WAIT;\nret;\n}\n"
#define PTX_SUM_STRAY_BODY PTX_BEGIN "mov.u64 %rd10, 4096;\nst.global.u64 [%rd10], %rd9;\nret;\n}\n"
#define PTX_SUM_OF(body)                                                                           \
	PTX_HEAD PTX_ENTRY("bz_reduce_warp") body PTX_ENTRY("bz_reduce_warp_narrow") body

#endif
