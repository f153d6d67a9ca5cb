/* SPDX-License-Identifier: Apache-2.0 */
/* executor_fixture.h - the executor with a real worker process, whose kernels are C
 * functions of this program: the program starts itself with --worker, as the daemon does.
 * For one test program. */
#ifndef EXECUTOR_FIXTURE_H
#define EXECUTOR_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_fake.h"
#include "run/executor_impl.h"
#include "worker/worker.h"

/* ---- The worker's side ---- */

/* What instr[0].c of a test's nest asks for.  All but SUM: access 1 = access 0 +
 * scalar, as int64, over one parallel loop.  The sums add rows of doubles. */
enum { ADD, SLOW, FAULT, FAULT_ONCE, FOREIGN_ONCE, HANG, SLEEP_ONCE, SLEEP, SUM, SLOW_SUM, KINDS };

static void spin_ns(int64_t ns)
{
	int64_t end = worker_clock() + ns;

	while (worker_clock() < end)
		;
}

static void t_map(const struct nest *n, const void *prepared, const struct bz_args *a, int64_t lo,
		  int64_t hi, void *s)
{
	uint16_t kind = n->instr[0].c;
	volatile int64_t *first = (volatile int64_t *)a->base[0];

	(void)s;
	if (kind == FAULT || (kind == FAULT_ONCE && *first == 0)) {
		*first = 1;
		raise(SIGSEGV);
	}
	if (kind == FOREIGN_ONCE && *first == 0) {
		*first = 1;
		raise(SIGILL);
	}
	while (kind == HANG)
		;
	while (kind == SLEEP || (kind == SLEEP_ONCE && *first == 0)) {
		*first = 1;
		pause();
	}
	for (int64_t i = lo; i < hi && !*a->cancel; i++) {
		int64_t *from = (int64_t *)(a->base[0] + i * a->stride[0]);
		int64_t *to = (int64_t *)(a->base[1] + i * a->stride[8]);

		*to = *from + (int64_t)a->scalar[0];
		if (kind == SLOW)
			spin_ns(1000);
	}
}

/* Calls of t_reduce are counted in the region, behind the results. */
#define CALLS_AT 4096

static double chunk_sum(const struct bz_args *a, int64_t p, int64_t c)
{
	int64_t end = (c + 1) * TREE_CHUNK < a->extent[1] ? (c + 1) * TREE_CHUNK : a->extent[1];
	double sum = 0;

	for (int64_t i = c * TREE_CHUNK; i < end; i++)
		sum += *(double *)(a->base[0] + p * a->stride[0] + i * a->stride[1]);
	return sum;
}

static void t_finish(const struct nest *n, const void *prepared, const struct bz_args *a,
		     int64_t lo, int64_t hi, const struct bz_acc *part, void *s)
{
	int64_t chunks = (a->extent[1] + TREE_CHUNK - 1) / TREE_CHUNK;

	for (int64_t p = lo; p < hi; p++) {
		double sum = 0, x;

		for (int64_t c = 0; c < chunks; c++) {
			memcpy(&x, &part[p * chunks + c].v[0], 8);
			sum += x;
		}
		*(double *)(a->base[1] + p * a->stride[8]) = sum;
	}
}

static void t_reduce(const struct nest *n, const void *prepared, const struct bz_args *a,
		     int64_t lo, int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part, void *s)
{
	int64_t chunks = (a->extent[1] + TREE_CHUNK - 1) / TREE_CHUNK;
	_Atomic int64_t *calls = (_Atomic int64_t *)(a->base[1] + CALLS_AT);

	atomic_fetch_add(calls, 1);
	for (int64_t p = lo; p < hi; p++) {
		double total = 0, x;

		for (int64_t c = part ? clo : 0; c < (part ? chi : chunks); c++) {
			x = chunk_sum(a, p, c);
			if (n->instr[0].c == SLOW_SUM)
				spin_ns(3000000);
			total += x;
			if (part)
				memcpy(&part[p * chunks + c].v[0], &x, 8);
		}
		if (!part)
			*(double *)(a->base[1] + p * a->stride[8]) = total;
	}
}

static size_t t_scratch(const struct nest *n)
{
	return 64;
}

static const struct kernel_ops test_ops = {
	.map = t_map, .reduce = t_reduce, .finish = t_finish, .scratch = t_scratch};

static int serve(int fd)
{
	struct progress *page =
		mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd + 1, 0);
	struct err err = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return page == MAP_FAILED || worker_serve(fd, page, &test_ops, 2, &err) != OK;
}

/* Criterion owns main(); a worker ends before that is reached. */
__attribute__((constructor)) static void maybe_worker(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--worker") == 0)
		exit(serve(atoi(argv[2])));
}

/* ---- The broker's side ---- */

#define REGION_BYTES (64ll << 20)

struct bench {
	uv_loop_t loop;
	uv_timer_t guard;
	struct executor *x;
	int fd;
	char *mem; /* region 1 */
	struct kernel kernel[KINDS];
	int fds; /* open before */
};

static int count_fds(void)
{
	uv_loop_t loop;
	DIR *d = NULL;
	int n = 0;

	/* The first loop of a process opens what the library keeps for good. */
	uv_loop_init(&loop);
	uv_loop_close(&loop);
	d = opendir("/proc/self/fd");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void kernel_fill(struct kernel *k, uint32_t id, uint16_t kind)
{
	struct nest *n = calloc(1, sizeof *n);

	n->npar = 1;
	n->nred = kind >= SUM;
	n->vec = n->nred;
	n->width = 8;
	n->naccess = 2;
	n->nscalar = kind < SUM;
	n->ninstr = 1;
	n->post = 1;
	n->instr[0] = (struct nest_instr){.op = kind >= SUM ? NI_REDUCE : NI_LOAD, .c = kind};
	n->access[0].dtype = n->access[1].dtype = kind >= SUM ? DT_FLOAT64 : DT_INT64;
	n->access[1].slot = 1;
	n->access[1].write = 1;
	*k = (struct kernel){.id = id, .spec = n, .call = {.call = CALL_END}, .code_fd = -1};
}

static void on_guard(uv_timer_t *t)
{
}

static void bench_open(struct bench *b)
{
	struct executor_config config = {.self = "/proc/self/exe", .threads = 2, .device = "cpu"};
	struct err err = {0};

	memset(b, 0, sizeof *b);
	b->fds = count_fds();
	uv_loop_init(&b->loop);
	uv_timer_init(&b->loop, &b->guard);
	uv_timer_start(&b->guard, on_guard, 5, 5); /* so that waits can look at the clock */
	b->fd = memfd_create("bench", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(b->fd, REGION_BYTES), 0);
	b->mem = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	cr_assert_neq(b->mem, MAP_FAILED);
	for (uint16_t i = 0; i < KINDS; i++)
		kernel_fill(&b->kernel[i], i + 1u, i);
	cr_assert_eq(executor_create(&b->x, &b->loop, &config, NULL, &err), OK, "%s", err.text);
	cr_assert_eq(executor_region_add(b->x, 1, b->fd, REGION_BYTES, &err), OK, "%s", err.text);
}

static void bench_close(struct bench *b)
{
	struct executor_stats st;

	executor_get_stats(b->x, &st);
	executor_destroy(b->x);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
	uv_close((uv_handle_t *)&b->guard, NULL);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&b->loop), 0, "a handle is left open");
	munmap(b->mem, REGION_BYTES);
	close(b->fd);
	for (int i = 0; i < KINDS; i++)
		free(b->kernel[i].spec);
	cr_assert_leq(count_fds(), b->fds, "descriptors are left open");
}

/* A job over int64 arrays at byte offsets of region 1, and what became of it. */
struct work {
	struct executor_job job;
	struct plan plan;
	struct plan_step step[4];
	struct nest nest[4];
	struct plan_slot slot[8];
	struct command_place place[8];
	struct command_fetch fetch[1];
	uint64_t imm[8];
	bool ended;
	enum job_end end;
	struct err err;
	int64_t ended_ns;
	int calls;
	void *owner; /* a test's own */
};

static void on_done(struct executor_job *job, enum job_end end, const struct err *err)
{
	struct work *w = job->data;

	w->ended = true;
	w->calls++;
	w->end = end;
	w->err = *err;
	w->ended_ns = executor_clock();
}

static struct work *work_create(uint64_t client)
{
	struct work *w = calloc(1, sizeof *w);

	w->plan.step = w->step;
	w->plan.slot = w->slot;
	w->plan.refs = 1;
	w->job = (struct executor_job){.plan = &w->plan,
				       .turns = 1,
				       .place = w->place,
				       .imm = w->imm,
				       .client = client,
				       .done = on_done,
				       .data = w};
	return w;
}

/* Add a step: `n` points from byte offset `from` to `to`, adding `add`. */
static struct plan_step *work_step(struct work *w, struct kernel *k, int64_t n, uint64_t from,
				   uint64_t to, int64_t add, uint32_t cost_us)
{
	uint32_t i = w->plan.nstep++;
	struct nest *nest = &w->nest[i];

	*nest = *k->spec;
	nest->extent[0] = n;
	nest->access[0].slot = 2 * i;
	nest->access[1].slot = 2 * i + 1;
	nest->access[0].stride[0] = nest->access[1].stride[0] = 8;
	nest->scalar[0] = i;
	w->imm[2 * i] = (uint64_t)add;
	w->place[2 * i] = (struct command_place){.region = 1, .offset = from};
	w->place[2 * i + 1] = (struct command_place){.region = 1, .offset = to};
	w->plan.nslot = 2 * i + 2;
	w->step[i] = (struct plan_step){.kind = STEP_KERNEL,
					.tears = from == to,
					.cost_us = cost_us,
					.nest = nest,
					.kernel = {k}};
	return &w->step[i];
}

/* Sum of `rows` rows of `n` doubles. */
static inline void work_sum(struct work *w, struct kernel *k, int64_t rows, int64_t n,
			    uint64_t from, uint64_t to, uint32_t cost_us)
{
	struct nest *nest = work_step(w, k, rows, from, to, 0, cost_us)->nest;

	nest->extent[1] = n;
	nest->access[0].stride[0] = n * 8;
	nest->access[0].stride[1] = 8;
}

/* However loaded the machine is: a job that never ends meets the test's limit. */
static void wait_end(struct bench *b, const struct work *w)
{
	while (!w->ended)
		uv_run(&b->loop, UV_RUN_ONCE);
}

__attribute__((unused)) static void pass(struct bench *b, int64_t ms)
{
	int64_t end = executor_clock() + ms * 1000000;

	while (executor_clock() < end)
		uv_run(&b->loop, UV_RUN_ONCE);
}

__attribute__((unused)) static void expect_values(const struct bench *b, uint64_t at, int64_t n,
						  int64_t want)
{
	for (int64_t i = 0; i < n; i++)
		cr_assert_eq(((int64_t *)(b->mem + at))[i], want, "[%ld] is %ld, not %ld", (long)i,
			     (long)((int64_t *)(b->mem + at))[i], (long)want);
}

static struct executor_stats stats(const struct bench *b)
{
	struct executor_stats s;

	executor_get_stats(b->x, &s);
	return s;
}

/* Until the worker is at one of its packets. */
static inline void wait_begun(struct bench *b, const struct work *w)
{
	while (TICKET_JOB(b->x->progress->thread[0].ticket) != TICKET_JOB(w->job.ticket))
		uv_run(&b->loop, UV_RUN_ONCE);
}

/* Stop the worker; is a packet of this job begun and not answered?  The worker sends the
 * answer before it clears its row, and whoever is woken by that may run first, so what it
 * has sent is read before the row is believed. */
static inline bool stop_inside(struct bench *b, const struct work *w)
{
	int status = 0;

	kill(stats(b).pid, SIGSTOP);
	cr_assert_eq(waitpid(stats(b).pid, &status, WUNTRACED), stats(b).pid);
	cr_assert(WIFSTOPPED(status));
	for (int i = 0; i < 3; i++)
		uv_run(&b->loop, UV_RUN_NOWAIT);
	for (uint32_t i = 0; i < b->x->nflight; i++)
		if (b->x->flight[i].job == &w->job &&
		    b->x->flight[i].ticket == b->x->progress->thread[0].ticket)
			return true;
	return false;
}

#endif
