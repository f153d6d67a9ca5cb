/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA worker as a child process, driven by packets; its device is the stand-in.
 *
 * Region ids: 1 is the arena, mapped here too; others are the test's. */
#ifndef CUDA_BENCH_H
#define CUDA_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "form/plan.h"
#include "contract/command.h"
#include "worker_main.h"

#ifndef STANDIN
#define STANDIN "libcuda.so.1"
#endif
#define PLACE(region, offset) ((struct command_place){region, 0, offset})
#define ARENA		      1
#define ARENA_BYTES	      (96ull << 20)

struct bench {
	pid_t pid;
	int fd, arena;
	char *mem;
	struct progress *page;
	struct command_hello hello;
	uint64_t client;
	char packet[COMMAND_BYTES];
	size_t used;
	uint32_t nstep, nfetch;
	bool alone;			  /* runs are one step at a time */
	struct command_geometry geometry; /* the last that came */
};

struct reply {
	struct command_done done;
	char fetched[8 * LIMIT_INLINE_BYTES];
};

/* Settings of the stand-in in the worker that is started next. */
static inline void standin(const char *settings)
{
	setenv("BRAZE_STANDIN", settings, 1);
}

/* Start a worker with the environment as it is; its hello is read. */
static inline struct bench *bench_start(void)
{
	struct bench *b = calloc(1, sizeof *b);
	int pair[2], page = memfd_create("page", MFD_CLOEXEC);

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	cr_assert_eq(ftruncate(page, sizeof *b->page), 0);
	b->page = mmap(NULL, sizeof *b->page, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
	b->pid = fork();
	if (b->pid == 0) {
		close(pair[0]);
		dup2(pair[1], 100);
		dup2(page, 101);
		_exit(worker_main(100));
	}
	close(pair[1]);
	close(page);
	b->fd = pair[0];
	b->client = 1;
	cr_assert_eq(recv(b->fd, &b->hello, sizeof b->hello, 0), (ssize_t)sizeof b->hello);
	cr_assert_eq(b->hello.head.kind, DONE_HELLO);
	return b;
}

static inline void send_packet(struct bench *b, const void *data, size_t bytes, int fd)
{
	char control[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec iov = {(void *)data, bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c = NULL;

		msg.msg_control = control;
		msg.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	cr_assert_eq(sendmsg(b->fd, &msg, MSG_NOSIGNAL), (ssize_t)bytes);
}

static inline void send_simple(struct bench *b, uint32_t kind, uint32_t id, uint64_t ticket,
			       uint64_t arg, int fd)
{
	struct command c = {kind, sizeof c, ticket, id, 0, arg};

	send_packet(b, &c, sizeof c, fd);
}

/* A worker on the stand-in, with the arena mapped. */
static inline struct bench *bench_open(void)
{
	struct bench *b = NULL;

	setenv("BRAZE_LIBCUDA", STANDIN, 1);
	setenv("BRAZE_LIBCUBLAS", "", 1);
	setenv("BRAZE_LIBCUFFT", "", 1);
	setenv("BRAZE_LIBCUSOLVER", "", 1);
	setenv("BRAZE_WORKER_DEVICE", "cuda:0", 1);
	setenv("BRAZE_LOG", getenv("BRAZE_TEST_LOG") ? getenv("BRAZE_TEST_LOG") : "error", 1);
	b = bench_start();
	cr_assert_eq(b->hello.status, OK, "%s", b->hello.text);
	b->arena = memfd_create("arena", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(b->arena, (off_t)ARENA_BYTES), 0);
	b->mem = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->arena, 0);
	cr_assert_neq(b->mem, MAP_FAILED);
	send_simple(b, CMD_REGION, ARENA, 0, ARENA_BYTES, b->arena);
	return b;
}

/* Its exit status, once it has ended. */
static inline int bench_wait(struct bench *b)
{
	int status = -1;

	cr_assert_eq(waitpid(b->pid, &status, 0), b->pid);
	cr_assert(WIFEXITED(status), "status %x", status);
	return WEXITSTATUS(status);
}

static inline void bench_free(struct bench *b)
{
	close(b->fd);
	if (b->mem)
		munmap(b->mem, ARENA_BYTES);
	munmap(b->page, sizeof *b->page);
	close(b->arena);
	free(b);
}

/* The worker ends by itself when its socket closes. */
static inline void bench_close(struct bench *b)
{
	shutdown(b->fd, SHUT_RDWR);
	cr_assert_eq(bench_wait(b), 0);
	bench_free(b);
}

static inline struct reply receive(struct bench *b)
{
	struct reply r = {0};
	struct pollfd p = {b->fd, POLLIN, 0};

	do {
		cr_assert_eq(poll(&p, 1, 30000), 1, "no answer");
		cr_assert_geq(recv(b->fd, &r, sizeof r, 0), (ssize_t)sizeof r.done.head);
		if (r.done.head.kind == DONE_GEOMETRY)
			memcpy(&b->geometry, &r, sizeof b->geometry);
	} while (r.done.head.kind == DONE_GEOMETRY);
	return r;
}

static inline void add(struct bench *b, const void *data, size_t bytes)
{
	memcpy(b->packet + b->used, data, bytes);
	b->used += bytes;
}

/* ---- regions and kernels ------------------------------------------------------------ */

static inline void device_region(struct bench *b, uint32_t id, uint64_t bytes)
{
	send_simple(b, CMD_DEVICE_REGION, id, b->client, bytes, -1);
}

static inline void region_drop(struct bench *b, uint32_t id)
{
	send_simple(b, CMD_REGION_DROP, id, 0, 0, -1);
}

static inline void send_nest(struct bench *b, uint32_t id, const struct nest *n)
{
	struct {
		struct command head;
		struct nest nest;
	} *p = calloc(1, sizeof *p);

	p->head = (struct command){
		.kind = CMD_KERNEL, .bytes = (uint32_t)(sizeof p->head + nest_bytes(n)), .id = id};
	memcpy(&p->nest, n, nest_bytes(n));
	send_packet(b, p, p->head.bytes, -1);
	free(p);
}

static inline struct reply send_code(struct bench *b, uint32_t id, const char *ptx)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	struct reply r;

	cr_assert_eq(write(fd, ptx, strlen(ptx)), (ssize_t)strlen(ptx));
	send_simple(b, CMD_CODE, id, 0, strlen(ptx), fd);
	close(fd);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_CODE);
	cr_assert_eq(r.done.head.id, id);
	return r;
}

static inline void kernel(struct bench *b, uint32_t id, const struct nest *n, const char *ptx)
{
	struct reply r;

	send_nest(b, id, n);
	r = send_code(b, id, ptx);
	cr_assert_eq(r.done.status, OK, "%s", r.done.text);
}

/* ---- runs ------------------------------------------------------------------------------- */

static inline void run_begin(struct bench *b)
{
	b->used = sizeof(struct command_run);
	b->nstep = b->nfetch = 0;
}

static inline void run_copy(struct bench *b, uint32_t from, uint64_t from_at, uint32_t to,
			    uint64_t to_at, int64_t lo, int64_t hi)
{
	struct command_place place[2] = {{from, 0, from_at}, {to, 0, to_at}};
	struct command_step s = {.kind = STEP_COPY,
				 .index = (uint16_t)b->nstep,
				 .bytes = sizeof s + sizeof place,
				 .lo = lo,
				 .hi = hi};

	add(b, &s, sizeof s);
	add(b, place, sizeof place);
	b->nstep++;
}

/* One step over two accesses, in and out. */
static inline void run_kernel(struct bench *b, const struct nest *n, uint32_t id,
			      struct command_place in, struct command_place out, int64_t lo,
			      int64_t hi, uint8_t split)
{
	size_t at = b->used;
	struct command_step s = {.kind = STEP_KERNEL,
				 .split = split,
				 .index = (uint16_t)b->nstep,
				 .kernel = id,
				 .naccess = n->naccess,
				 .nscalar = n->nscalar,
				 .npar = n->npar,
				 .nred = n->nred,
				 .lo = lo,
				 .hi = hi};
	struct command_place place[2] = {in, out};
	uint64_t scalar[2] = {0};
	double half = 0.5;

	memcpy(scalar, &half, 8);
	b->used += sizeof s;
	add(b, place, sizeof place);
	add(b, n->extent, (size_t)(n->npar + n->nred) * 8);
	for (int a = 0; a < n->naccess; a++)
		add(b, n->access[a].stride, 64);
	for (int i = 0; i < n->nscalar; i++)
		add(b, scalar, 16);
	s.bytes = (uint32_t)(b->used - at);
	memcpy(b->packet + at, &s, sizeof s);
	b->nstep++;
}

static inline void run_fetch(struct bench *b, uint32_t region, uint64_t at, uint32_t bytes)
{
	struct command_fetch f = {.place = {region, 0, at}, .bytes = bytes};

	add(b, &f, sizeof f);
	b->nfetch++;
}

static inline void run_send(struct bench *b, uint64_t ticket)
{
	struct command_run run = {.head = {.kind = CMD_RUN, .ticket = ticket},
				  .client = b->client,
				  .nstep = b->nstep,
				  .nfetch = b->nfetch,
				  .alone = b->alone};

	run.head.bytes = (uint32_t)b->used;
	memcpy(b->packet, &run, sizeof run);
	send_packet(b, b->packet, b->used, -1);
}

static inline struct reply run_end(struct bench *b, uint64_t ticket, enum status want)
{
	struct reply r;

	run_send(b, ticket);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_RUN);
	cr_assert_eq(r.done.head.ticket, ticket);
	cr_assert_eq(r.done.status, want, "%s: %s", status_name(r.done.status), r.done.text);
	return r;
}

/* ---- nests, and their code as PTX -------------------------------------------------------- */

static inline void instr(struct nest *n, unsigned op, unsigned a, unsigned c, unsigned b)
{
	n->instr[n->ninstr++] = (struct nest_instr){(uint16_t)op, DT_FLOAT64,  DT_FLOAT64,
						    (uint16_t)a,  (uint16_t)b, (uint16_t)c};
}

/* out[i] = in[i] * 0.5 */
static inline struct nest nest_half(int64_t n)
{
	/* Its modules have the general entry only. */
	struct nest x = {
		.npar = 1, .width = 8, .naccess = 2, .nscalar = 1, .way = 1 + ENTRY_bz_map};

	x.extent[0] = n;
	for (int a = 0; a < 2; a++) {
		x.access[a] = (struct nest_access){.slot = (uint32_t)a,
						   .dtype = DT_FLOAT64,
						   .write = (uint8_t)a,
						   .walk = WALK_STRIDED,
						   .stride = {8}};
	}
	x.scalar_dtype[0] = DT_FLOAT64;
	instr(&x, NI_LOAD, 0, 0, 0);
	instr(&x, NI_SCALAR, 0, 0, 0);
	instr(&x, OP_MULTIPLY, 0, 0, 1);
	instr(&x, NI_STORE, 1, 0, 2);
	x.post = x.ninstr;
	return x;
}

/* out[i] = sum over j of in[i, j] */
static inline struct nest nest_sum(int64_t rows, int64_t n)
{
	struct nest x = {.npar = 1, .nred = 1, .vec = 1, .width = 8, .naccess = 2};

	x.extent[0] = rows;
	x.extent[1] = n;
	x.access[0] = (struct nest_access){
		.dtype = DT_FLOAT64, .walk = WALK_STRIDED, .stride = {n * 8, 8}};
	x.access[1] = (struct nest_access){
		.slot = 1, .dtype = DT_FLOAT64, .write = 1, .walk = WALK_SAME, .stride = {8, 0}};
	instr(&x, NI_LOAD, 0, 0, 0);
	instr(&x, NI_REDUCE, 0, OP_SUM, 0);
	x.post = 2;
	instr(&x, NI_STORE, 1, 0, 1);
	return x;
}

#define PTX_HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"
/* The parameter of a nest with one loop, two accesses and a scalar, or with two loops
 * and none: 120 or 128 bytes. */
#ifndef PTX_BYTES
#define PTX_BYTES "120"
#endif
#define PTX_ENTRY(name) ".visible .entry " name "(.param .align 8 .b8 args[" PTX_BYTES "])\n"

/* rd1 = lo, rd2 = hi, rd3 = &in, rd4 = &out, rd9 = lo + thread, rd8 = threads */
#define PTX_BEGIN                                                                                  \
	"{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<40>;\n.reg .f64 %fd<8>;\n"         \
	"ld.param.u64 %rd1, [args];\nld.param.u64 %rd2, [args+8];\n"                               \
	"ld.param.u64 %rd3, [args+64];\nld.param.u64 %rd4, [args+72];\n"                           \
	"mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"                    \
	"mov.u32 %r4, %nctaid.x;\nmad.lo.u32 %r5, %r1, %r2, %r3;\nmul.lo.u32 %r6, %r2, %r4;\n"     \
	"cvt.u64.u32 %rd7, %r5;\ncvt.u64.u32 %rd8, %r6;\nadd.u64 %rd9, %rd1, %rd7;\n"

/* Points until rd2; the body has the point in rd9. */
#define PTX_POINTS(body)                                                                           \
	"NEXT:\nsetp.ge.s64 %p1, %rd9, %rd2;\n@%p1 bra DONE;\n" body                               \
	"add.u64 %rd9, %rd9, %rd8;\nbra NEXT;\nDONE:\nret;\n}\n"

#define PTX_HALF_BODY                                                                              \
	"ld.param.u64 %rd5, [args+88];\nld.param.u64 %rd6, [args+96];\n"                           \
	"ld.param.f64 %fd1, [args+104];\n"                                                         \
	"mul.lo.u64 %rd10, %rd9, %rd5;\nadd.u64 %rd11, %rd3, %rd10;\n"                             \
	"ld.global.f64 %fd2, [%rd11];\nmul.f64 %fd3, %fd2, %fd1;\n"                                \
	"mul.lo.u64 %rd12, %rd9, %rd6;\nadd.u64 %rd13, %rd4, %rd12;\n"                             \
	"st.global.f64 [%rd13], %fd3;\n"

/* Kernels of nest_half's form. */
#define PTX_HALF PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN PTX_POINTS(PTX_HALF_BODY)
/* Waits until it is cancelled. */
#define PTX_SPIN                                                                                   \
	PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN                                                     \
		"ld.param.u64 %rd20, [args+32];\nWAIT:\nld.volatile.global.u32 %r8, [%rd20];\n"    \
		"setp.eq.u32 %p2, %r8, 0;\n@%p2 bra WAIT;\nret;\n}\n"
/* Ends only with the process. */
#define PTX_STUCK                                                                                  \
	PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN "WAIT:\nadd.u64 %rd9, %rd9, 1;\nbra WAIT;\n}\n"
/* Stores outside every allocation; at an odd address; not at all. */
#define PTX_STRAY                                                                                  \
	PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN                                                     \
		"mov.u64 %rd10, 4096;\nst.global.u64 [%rd10], %rd9;\nret;\n}\n"
#define PTX_ODD	 PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN "st.global.u64 [%rd4+1], %rd9;\nret;\n}\n"
#define PTX_TRAP PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN "trap;\nret;\n}\n"

#endif
