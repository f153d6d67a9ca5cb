/* SPDX-License-Identifier: Apache-2.0 */
/* A worker process by its packets, with the real interpreter behind them. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "form/plan.h"
#include "run/executor.h"
#include "worker_main.h"

#define REGION_BYTES (256ll << 20)

struct bench {
	pid_t pid;
	int fd, region;
	char *mem;
	struct progress *page;
	char packet[COMMAND_BYTES];
	size_t used;
	uint32_t nstep;
};

static struct bench *bench_open(const char *threads)
{
	struct bench *b = calloc(1, sizeof *b);
	int pair[2], page = memfd_create("page", MFD_CLOEXEC);
	struct command_hello hello = {0};

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	cr_assert_eq(ftruncate(page, sizeof *b->page), 0);
	b->page = mmap(NULL, sizeof *b->page, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
	b->pid = fork();
	if (b->pid == 0) {
		close(pair[0]);
		setenv("BRAZE_WORKER_THREADS", threads, 1);
		setenv("BRAZE_LOG", "worker:error", 1);
		dup2(pair[1], 100);
		dup2(page, 101);
		_exit(worker_main(100));
	}
	close(pair[1]);
	close(page);
	b->fd = pair[0];
	cr_assert_eq(recv(b->fd, &hello, sizeof hello, 0), (ssize_t)sizeof hello);
	cr_assert_eq(hello.head.kind, DONE_HELLO);
	cr_assert_eq(hello.status, OK);
	cr_assert_eq(hello.arch, 0);
	cr_assert_eq(hello.units, (uint32_t)atoi(threads));
	b->region = memfd_create("region", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(b->region, REGION_BYTES), 0);
	b->mem = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->region, 0);
	cr_assert_neq(b->mem, MAP_FAILED);
	return b;
}

/* The worker ends by itself when its socket closes. */
static void bench_close(struct bench *b)
{
	int status = -1;

	close(b->fd);
	cr_assert_eq(waitpid(b->pid, &status, 0), b->pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	munmap(b->mem, REGION_BYTES);
	munmap(b->page, sizeof *b->page);
	close(b->region);
	free(b);
}

static void send_packet(struct bench *b, const void *data, size_t bytes, int fd)
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

static void send_simple(struct bench *b, uint32_t kind, uint32_t id, uint64_t ticket, uint64_t arg,
			int fd)
{
	struct command c = {kind, sizeof c, ticket, id, 0, arg};

	send_packet(b, &c, sizeof c, fd);
}

static void send_kernel(struct bench *b, uint32_t id, const struct nest *n)
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

struct reply {
	struct command_done done;
	char fetched[8 * LIMIT_INLINE_BYTES];
};

static struct reply receive(struct bench *b)
{
	struct reply r = {0};
	struct pollfd p = {b->fd, POLLIN, 0};

	cr_assert_eq(poll(&p, 1, 20000), 1, "no answer");
	cr_assert_geq(recv(b->fd, &r, sizeof r, 0), (ssize_t)sizeof r.done.head);
	return r;
}

static void add(struct bench *b, const void *data, size_t bytes)
{
	memcpy(b->packet + b->used, data, bytes);
	b->used += bytes;
}

static void run_begin(struct bench *b)
{
	b->used = sizeof(struct command_run);
	b->nstep = 0;
}

/* One step over two accesses. */
static void run_step(struct bench *b, const struct nest *n, uint32_t kernel, uint64_t in,
		     uint64_t out, int64_t lo, int64_t hi, uint8_t split)
{
	size_t at = b->used;
	struct command_step s = {.split = split,
				 .index = (uint16_t)b->nstep,
				 .kernel = kernel,
				 .naccess = n->naccess,
				 .nscalar = n->nscalar,
				 .npar = n->npar,
				 .nred = n->nred,
				 .lo = lo,
				 .hi = hi};
	struct command_place place[2] = {{1, 0, in}, {1, 0, out}};
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

static void run_send(struct bench *b, uint64_t ticket, uint64_t fetch_at, uint32_t fetch_bytes)
{
	struct command_run run = {.head = {.kind = CMD_RUN, .ticket = ticket}, .nstep = b->nstep};
	struct command_fetch f = {.place = {1, 0, fetch_at}, .bytes = fetch_bytes};

	if (fetch_bytes) {
		add(b, &f, sizeof f);
		run.nfetch = 1;
	}
	run.head.bytes = (uint32_t)b->used;
	memcpy(b->packet, &run, sizeof run);
	send_packet(b, b->packet, b->used, -1);
}

static struct reply run_ok(struct bench *b, uint64_t ticket, uint64_t fetch_at, uint32_t bytes)
{
	struct reply r;

	run_send(b, ticket, fetch_at, bytes);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_RUN);
	cr_assert_eq(r.done.head.ticket, ticket);
	cr_assert_eq(r.done.status, OK, "%s", r.done.text);
	return r;
}

static void instr(struct nest *n, unsigned op, unsigned a, unsigned c, unsigned b)
{
	n->instr[n->ninstr++] = (struct nest_instr){(uint16_t)op, DT_FLOAT64,  DT_FLOAT64,
						    (uint16_t)a,  (uint16_t)b, (uint16_t)c};
}

/* out[i] = in[i] * 0.5 */
static struct nest nest_half(int64_t n)
{
	struct nest x = {.npar = 1, .width = 8, .naccess = 2, .nscalar = 1};

	x.extent[0] = n;
	for (int a = 0; a < 2; a++) {
		x.access[a] = (struct nest_access){.slot = (uint32_t)a,
						   .dtype = DT_FLOAT64,
						   .write = (uint8_t)a,
						   .walk = WALK_UNIT,
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
static struct nest nest_sum(int64_t rows, int64_t n)
{
	struct nest x = {.npar = 1, .nred = 1, .vec = 1, .width = 8, .naccess = 2};

	x.extent[0] = rows;
	x.extent[1] = n;
	x.access[0] =
		(struct nest_access){.dtype = DT_FLOAT64, .walk = WALK_UNIT, .stride = {n * 8, 8}};
	x.access[1] = (struct nest_access){
		.slot = 1, .dtype = DT_FLOAT64, .write = 1, .walk = WALK_SAME, .stride = {8, 0}};
	instr(&x, NI_LOAD, 0, 0, 0);
	instr(&x, NI_REDUCE, 0, OP_SUM, 0);
	x.post = 2;
	instr(&x, NI_STORE, 1, 0, 1);
	return x;
}

static double *doubles(struct bench *b, uint64_t at)
{
	return (double *)(b->mem + at);
}

static struct bench *bench_with_region(const char *threads)
{
	struct bench *b = bench_open(threads);

	send_simple(b, CMD_REGION, 1, 0, REGION_BYTES, b->region);
	return b;
}

Test(worker, maps_on_all_threads_and_fetches, .timeout = 60)
{
	static const int64_t sizes[] = {0, 1, 7, 1000, 4096, 100003, 5000000};

	for (int threads = 1; threads <= 3; threads += 2) {
		struct bench *b = bench_with_region(threads == 1 ? "1" : "3");
		uint64_t out = 100ull << 20;

		for (int64_t i = 0; i < 5000000; i++)
			doubles(b, 0)[i] = (double)i;
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			struct nest n = nest_half(sizes[k]);
			struct reply r;

			send_kernel(b, 5, &n);
			memset(b->mem + out, 0xee, (size_t)(sizes[k] + 1) * 8);
			run_begin(b);
			run_step(b, &n, 5, 0, out, 0, sizes[k], 0);
			r = run_ok(b, 7, out, 8);
			for (int64_t i = 0; i < sizes[k]; i++)
				cr_assert_eq(doubles(b, out)[i], (double)i * 0.5, "%ld", (long)i);
			cr_assert_eq(((uint64_t *)(b->mem + out))[sizes[k]], 0xeeeeeeeeeeeeeeee);
			cr_assert_eq(memcmp(r.fetched, b->mem + out, 8), 0);
			cr_assert_eq(r.done.nfetch, 1);
			/* Cleared soon after the answer. */
			for (int i = 0; i < 1000 && b->page->thread[0].ticket; i++)
				usleep(1000);
			cr_assert_eq(b->page->thread[0].ticket, 0);
		}
		bench_close(b);
	}
}

Test(worker, steps_of_one_packet_follow_each_other, .timeout = 30)
{
	struct bench *b = bench_with_region("3");
	struct nest n = nest_half(100000);

	send_kernel(b, 1, &n);
	for (int64_t i = 0; i < 100000; i++)
		doubles(b, 0)[i] = 1024;
	run_begin(b);
	for (int i = 0; i < 10; i++)
		run_step(b, &n, 1, i % 2 ? 1 << 20 : 0, i % 2 ? 0 : 1 << 20, 0, 100000, 0);
	run_ok(b, 1, 0, 8);
	for (int64_t i = 0; i < 100000; i++)
		cr_assert_eq(doubles(b, 0)[i], 1);
	bench_close(b);
}

enum { SUMS = 200 << 20 }; /* where the sums of a test lie in its region */

/* Sums rows of so many chunks: whole (ways 0 and 1), one chunk a packet with another job's slices
 * in between (2), or by points in two packets (3). */
static void sum_in_way(struct bench *b, const struct nest *n, int way, int64_t rows, int64_t chunks)
{
	if (way < 2) {
		run_begin(b);
		run_step(b, n, 1, 0, SUMS, 0, rows, 0);
		run_ok(b, 3ull << TICKET_SHIFT, 0, 0);
	}
	for (int64_t c = 0; way == 2 && c < chunks; c++) {
		uint8_t split = (uint8_t)((c == 0) | (c == chunks - 1) << 1);

		for (uint64_t job = 3; job < 5; job++) {
			run_begin(b);
			run_step(b, n, 1, 0, job == 3 ? SUMS : SUMS + 8192, c, c + 1,
				 split ? split : 4);
			run_ok(b, (job << TICKET_SHIFT) + (uint64_t)c, 0, 0);
		}
	}
	for (int64_t lo = 0; way == 3 && lo < 2; lo++) {
		run_begin(b);
		run_step(b, n, 1, 0, SUMS, lo ? rows / 2 : 0, lo ? rows : rows / 2, 0);
		run_ok(b, 9, 0, 0);
	}
}

Test(worker, reductions_do_not_depend_on_the_cut, .timeout = 60)
{
	static const int64_t shape[][2] = {{1, 5000001}, {3, 400000}, {40, 70000}, {300, 1000},
					   {2, 65536},	 {1, 0},      {0, 5}};

	for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
		int64_t rows = shape[k][0], len = shape[k][1];
		struct nest n = nest_sum(rows, len);
		double want[300], *got = NULL;

		for (int way = 0; way < 4; way++) {
			struct bench *b = bench_with_region(way == 1 ? "1" : "3");

			got = doubles(b, SUMS);
			send_kernel(b, 1, &n);
			for (int64_t i = 0; i < rows * len; i++)
				doubles(b, 0)[i] = 1.0 / (double)(i % 1000003 + 1);
			memset(got, 0xee, sizeof want);
			if (way == 2 && len == 0)
				memcpy(got, want, sizeof want);
			sum_in_way(b, &n, way, rows, (len + TREE_CHUNK - 1) / TREE_CHUNK);
			if (way == 0)
				memcpy(want, got, sizeof want);
			cr_assert_eq(memcmp(want, got, (size_t)rows * 8), 0,
				     "%ld x %ld, way %d: %.17g, want %.17g", (long)rows, (long)len,
				     way, got[0], want[0]);
			bench_close(b);
		}
		for (int64_t p = 0; p < rows; p++) {
			double exact = 0;

			for (int64_t i = p * len; i < (p + 1) * len; i++)
				exact += 1.0 / (double)(i % 1000003 + 1);
			cr_assert_float_eq(want[p], exact, 1e-9);
		}
	}
}

/* Makes mistake i in the step that is about to be sent; the first two stand in its arguments. */
static void spoil(struct bench *b, int i)
{
	struct command_step *s = (struct command_step *)(b->packet + sizeof(struct command_run));

	if (i == 2)
		s->naccess = 1;
	else if (i == 3)
		s->bytes = 8;
	else if (i == 4)
		s->hi = 1001;
	else if (i == 5)
		s->lo = -1;
	else if (i == 6)
		b->nstep = 2;
	else if (i == 7)
		s->split = 3;
	else if (i == 8)
		s->kind = STEP_CALL;
}

Test(worker, mistakes_fail_the_run_and_not_the_process, .timeout = 30)
{
	struct bench *b = bench_with_region("2");
	struct nest n = nest_half(1000), bad = n;
	struct reply r;

	send_kernel(b, 1, &n);
	for (int i = 0; i < 9; i++) {
		run_begin(b);
		run_step(b, &n, i == 0 ? 77 : 1, 0, i == 1 ? REGION_BYTES - 7992 : 8192, 0, 1000,
			 0);
		spoil(b, i);
		run_send(b, 11, 0, 0);
		r = receive(b);
		cr_assert_eq(r.done.status, E_INTERNAL, "mistake %d: %u", i, r.done.status);
		cr_assert_gt(strlen(r.done.text), 0);
	}
	/* A middle slice without its first. */
	bad = nest_sum(1, 200000);
	send_kernel(b, 2, &bad);
	run_begin(b);
	run_step(b, &bad, 2, 0, 8 << 20, 1, 2, 4);
	run_send(b, 12, 0, 0);
	r = receive(b);
	cr_assert_eq(r.done.status, E_INTERNAL);
	/* A nest that the interpreter refuses: the run names it as missing. */
	bad = n;
	bad.instr[2].op = OP_MATMUL;
	send_kernel(b, 3, &bad);
	run_begin(b);
	run_step(b, &n, 3, 0, 8192, 0, 1000, 0);
	run_send(b, 13, 0, 0);
	r = receive(b);
	cr_assert_eq(r.done.status, E_INTERNAL);
	/* An object that is none. */
	send_simple(b, CMD_CODE, 1, 0, 0, b->region);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_CODE);
	cr_assert_neq(r.done.status, OK);
	/* It still serves. */
	run_begin(b);
	run_step(b, &n, 1, 0, 8192, 0, 1000, 0);
	run_ok(b, 14, 0, 0);
	send_simple(b, CMD_KERNEL_DROP, 1, 0, 0, -1);
	run_send(b, 15, 0, 0);
	cr_assert_eq(receive(b).done.status, E_INTERNAL);
	send_kernel(b, 1, &n);
	send_simple(b, CMD_REGION_DROP, 1, 0, 0, -1);
	run_send(b, 16, 0, 0);
	cr_assert_eq(receive(b).done.status, E_INTERNAL);
	bench_close(b);
}

Test(worker, ping_and_cancel_are_seen_during_a_run, .timeout = 60)
{
	struct bench *b = bench_with_region("2");
	enum { N = 10000000 };
	struct nest n = nest_half(N);
	struct reply r;
	int done = 0;

	/* A chain of divisions: about a second of work in one run. */
	n.ninstr = 3;
	for (int i = 0; i < 60; i++)
		instr(&n, OP_DIVIDE, (unsigned)n.ninstr - 1, 0, 1);
	instr(&n, NI_STORE, 1, 0, (unsigned)n.ninstr - 1);
	n.post = n.ninstr;
	send_kernel(b, 1, &n);
	run_begin(b);
	run_step(b, &n, 1, 0, 100 << 20, 0, N, 0);
	run_send(b, (5ull << TICKET_SHIFT) + 1, 0, 0);
	run_send(b, (6ull << TICKET_SHIFT) + 1, 0, 0);
	run_send(b, (7ull << TICKET_SHIFT) + 1, 0, 0);
	usleep(20000);
	send_simple(b, CMD_PING, 0, 42, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_PONG, "the ping waited for the run");
	cr_assert_eq(r.done.head.ticket, 42);
	cr_assert_eq(TICKET_JOB(b->page->thread[0].ticket), 5);
	/* The second waits in the worker's queue, the first runs. */
	send_simple(b, CMD_CANCEL, 0, 6ull << TICKET_SHIFT, 0, -1);
	send_simple(b, CMD_CANCEL, 0, 5ull << TICKET_SHIFT, 0, -1);
	for (uint64_t job = 5; job < 7; job++) {
		r = receive(b);
		cr_assert_eq(TICKET_JOB(r.done.head.ticket), job);
		cr_assert_eq(r.done.status, E_CANCELLED, "job %lu: %u", (long)job, r.done.status);
		done++;
	}
	send_simple(b, CMD_CANCEL, 0, 7ull << TICKET_SHIFT, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.status, E_CANCELLED);
	/* Nothing of the cancel stays behind. */
	n = nest_half(10);
	send_kernel(b, 2, &n);
	run_begin(b);
	run_step(b, &n, 2, 0, 1 << 20, 0, 10, 0);
	run_ok(b, (7ull << TICKET_SHIFT) + 2, 0, 0);
	bench_close(b);
}

Test(worker, ends_when_the_broker_goes_during_a_run, .timeout = 30)
{
	struct bench *b = bench_with_region("2");
	struct nest n = nest_half(10000000);

	n.ninstr = 3;
	for (int i = 0; i < 200; i++)
		instr(&n, OP_DIVIDE, (unsigned)n.ninstr - 1, 0, 1);
	instr(&n, NI_STORE, 1, 0, (unsigned)n.ninstr - 1);
	n.post = n.ninstr;
	send_kernel(b, 1, &n);
	run_begin(b);
	for (int i = 0; i < 20; i++)
		run_step(b, &n, 1, 0, 100 << 20, 0, 10000000, 0);
	run_send(b, 1, 0, 0);
	usleep(20000);
	bench_close(b); /* waits for it: minutes if it ran to its end */
}

/* A run of no steps. */
static void run_empty(struct bench *b, uint64_t job, uint64_t client, enum run_rank rank)
{
	struct command_run run = {
		.head = {.kind = CMD_RUN, .bytes = sizeof run, .ticket = job << TICKET_SHIFT},
		.client = client,
		.rank = rank};

	send_packet(b, &run, sizeof run, -1);
}

/* Jobs in the order in which they are answered, after `send` while the worker stood still. */
static void check_order(struct bench *b, void (*send)(struct bench *b), const uint64_t *job, int n)
{
	int status = 0;

	kill(b->pid, SIGSTOP);
	cr_assert_eq(waitpid(b->pid, &status, WUNTRACED), b->pid);
	cr_assert(WIFSTOPPED(status));
	send(b);
	kill(b->pid, SIGCONT);
	for (int i = 0; i < n; i++) {
		struct reply r = receive(b);

		cr_assert_eq(r.done.status, OK, "%s", r.done.text);
		cr_assert_eq(TICKET_JOB(r.done.head.ticket), job[i], "answer %d is job %llu's", i,
			     (unsigned long long)TICKET_JOB(r.done.head.ticket));
	}
}

static void others_that_wait(struct bench *b)
{
	run_empty(b, 11, 1, RANK_WAITS);
	run_empty(b, 12, 2, RANK_WAITS);
	run_empty(b, 13, 3, RANK_FIRST);
}

static void its_own(struct bench *b)
{
	run_empty(b, 11, 1, RANK_WAITS);
	run_empty(b, 12, 2, RANK_WAITS);
	run_empty(b, 13, 1, RANK_FIRST);
}

/* What the kernel is for must not come behind what drops it. */
static void what_is_no_run(struct bench *b)
{
	run_empty(b, 11, 1, RANK_WAITS);
	send_simple(b, CMD_KERNEL_DROP, 77, 0, 0, -1);
	run_empty(b, 12, 2, RANK_WAITS);
	run_empty(b, 13, 3, RANK_FIRST);
}

static void one_that_goes_first(struct bench *b)
{
	run_empty(b, 11, 1, RANK_WAITS);
	run_empty(b, 12, 2, RANK_FIRST);
	run_empty(b, 13, 3, RANK_FIRST);
}

static void nothing(struct bench *b)
{
	run_empty(b, 11, 1, RANK_WAITS);
	run_empty(b, 12, 2, RANK_WAITS);
	run_empty(b, 13, 3, RANK_WAITS);
}

Test(worker, what_goes_first_goes_before_other_clients_runs_that_wait, .timeout = 30)
{
	struct bench *b = bench_open("2");

	check_order(b, others_that_wait, (uint64_t[]){13, 11, 12}, 3);
	check_order(b, its_own, (uint64_t[]){11, 13, 12}, 3);
	check_order(b, what_is_no_run, (uint64_t[]){11, 13, 12}, 3);
	check_order(b, one_that_goes_first, (uint64_t[]){12, 13, 11}, 3);
	check_order(b, nothing, (uint64_t[]){11, 12, 13}, 3);
	bench_close(b);
}
