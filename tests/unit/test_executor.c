/* SPDX-License-Identifier: Apache-2.0 */
/* The executor with a real worker process, whose kernels are C functions of this
 * program: the program starts itself with --worker, as the daemon does. */
#define _GNU_SOURCE
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
 * scalar, as int64, over one parallel loop. */
enum { ADD, SLOW, FAULT, FAULT_ONCE, HANG, SLEEP_ONCE, SLEEP, SUM };

static void spin_ns(int64_t ns)
{
	int64_t end = worker_clock() + ns;

	while (worker_clock() < end)
		;
}

static void t_map(const struct nest *n, const struct bz_args *a, int64_t lo, int64_t hi, void *s)
{
	uint16_t kind = n->instr[0].c;
	volatile int64_t *first = (volatile int64_t *)a->base[0];

	(void)s;
	if (kind == FAULT || (kind == FAULT_ONCE && *first == 0)) {
		*first = 1;
		raise(SIGSEGV);
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

static void t_finish(const struct nest *n, const struct bz_args *a, int64_t lo, int64_t hi,
		     const struct bz_acc *part, void *s)
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

static void t_reduce(const struct nest *n, const struct bz_args *a, int64_t lo, int64_t hi,
		     int64_t clo, int64_t chi, struct bz_acc *part, void *s)
{
	int64_t chunks = (a->extent[1] + TREE_CHUNK - 1) / TREE_CHUNK;
	_Atomic int64_t *calls = (_Atomic int64_t *)(a->base[1] + CALLS_AT);

	atomic_fetch_add(calls, 1);
	for (int64_t p = lo; p < hi; p++) {
		double total = 0, x;

		for (int64_t c = part ? clo : 0; c < (part ? chi : chunks); c++) {
			x = chunk_sum(a, p, c);
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
	struct kernel kernel[SUM + 1];
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
	n->nred = kind == SUM;
	n->vec = n->nred;
	n->width = 8;
	n->naccess = 2;
	n->nscalar = kind != SUM;
	n->ninstr = 1;
	n->post = 1;
	n->instr[0] = (struct nest_instr){.op = kind == SUM ? NI_REDUCE : NI_LOAD, .c = kind};
	n->access[0].dtype = n->access[1].dtype = kind == SUM ? DT_FLOAT64 : DT_INT64;
	n->access[1].slot = 1;
	n->access[1].write = 1;
	*k = (struct kernel){.id = id, .spec = n, .product = DTYPE_END, .code_fd = -1};
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
	for (uint16_t i = 0; i <= SUM; i++)
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
	for (int i = 0; i <= SUM; i++)
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
static void work_sum(struct work *w, struct kernel *k, int64_t rows, int64_t n, uint64_t from,
		     uint64_t to, uint32_t cost_us)
{
	struct nest *nest = work_step(w, k, rows, from, to, 0, cost_us)->nest;

	nest->extent[1] = n;
	nest->access[0].stride[0] = n * 8;
	nest->access[0].stride[1] = 8;
}

static bool wait_for(struct bench *b, const struct work *w, int64_t ms)
{
	int64_t end = executor_clock() + ms * 1000000;

	while (!w->ended && executor_clock() < end)
		uv_run(&b->loop, UV_RUN_ONCE);
	return w->ended;
}

/* However loaded the machine is: a job that never ends meets the test's limit. */
static void wait_end(struct bench *b, const struct work *w)
{
	while (!w->ended)
		uv_run(&b->loop, UV_RUN_ONCE);
}

static void pass(struct bench *b, int64_t ms)
{
	int64_t end = executor_clock() + ms * 1000000;

	while (executor_clock() < end)
		uv_run(&b->loop, UV_RUN_ONCE);
}

static void expect_values(const struct bench *b, uint64_t at, int64_t n, int64_t want)
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

/* Stop the worker; is a packet of this job begun and not answered?  The worker sends the
 * answer before it clears its row, and whoever is woken by that may run first, so what it
 * has sent is read before the row is believed. */
static bool stop_inside(struct bench *b, const struct work *w)
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

Test(executor, runs_steps_in_order_and_fetches, .timeout = 20)
{
	struct bench b;
	struct work *w = work_create(1);
	int64_t got = 0;

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 1000, 0, 8000, 5, 1);
	work_step(w, &b.kernel[ADD], 1000, 8000, 16000, 7, 1);
	w->fetch[0] = (struct command_fetch){.place = {.region = 1, .offset = 16008}, .bytes = 8};
	w->job.fetch = w->fetch;
	w->job.nfetch = 1;
	executor_submit(b.x, &w->job);
	cr_assert_not(w->ended, "done was called from inside submit");
	cr_assert(wait_for(&b, w, 5000));
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 16000, 1000, 12);
	memcpy(&got, w->job.fetched[0], 8);
	cr_assert_eq(got, 12);
	cr_assert_eq(stats(&b).slices, 1, "a small plan is one packet");
	cr_assert_eq(stats(&b).steps, 2);
	cr_assert_eq(stats(&b).runs, 1);
	free(w);
	bench_close(&b);
}

Test(executor, plans_of_one_client_run_in_order, .timeout = 30)
{
	enum { N = 500 };
	struct bench b;
	struct work *w[N];

	bench_open(&b);
	for (int i = 0; i < N; i++) {
		/* x = x + 1 and y = x: any other order gives other values. */
		w[i] = work_create(1 + i % 2);
		work_step(w[i], &b.kernel[ADD], 100, i % 2 ? 8192 : 0, i % 2 ? 8192 : 0, i / 2, 1);
		executor_submit(b.x, &w[i]->job);
	}
	for (int i = 0; i < N; i++) {
		cr_assert(wait_for(&b, w[i], 10000), "job %d", i);
		cr_assert_eq(w[i]->end, JOB_DONE, "%s", w[i]->err.text);
		cr_assert(i < 2 || w[i]->ended_ns >= w[i - 2]->ended_ns);
	}
	expect_values(&b, 0, 100, 249 * 250 / 2);
	expect_values(&b, 8192, 100, 249 * 250 / 2);
	for (int i = 0; i < N; i++)
		free(w[i]);
	bench_close(&b);
}

Test(executor, long_job_does_not_hold_up_a_short_one, .timeout = 30)
{
	struct bench b;
	struct work *big = work_create(1), *small = work_create(2);
	enum { N = 2000000 };

	bench_open(&b);
	work_step(big, &b.kernel[SLOW], N, 0, N * 8, 1, 2000000);
	executor_submit(b.x, &big->job);
	pass(&b, 100);
	work_step(small, &b.kernel[ADD], 1000, N * 16, N * 16 + 8000, 3, 1000);
	executor_submit(b.x, &small->job);
	int64_t begin = executor_clock();
	cr_assert(wait_for(&b, small, 5000));
	cr_assert_lt(small->ended_ns - begin, 400000000ll, "waited %ld us",
		     (long)(small->ended_ns - begin) / 1000);
	cr_assert_not(big->ended);
	cr_assert(wait_for(&b, big, 20000));
	cr_assert_eq(big->end, JOB_DONE, "%s", big->err.text);
	expect_values(&b, N * 8, N, 1);
	cr_assert_gt(stats(&b).slices, 20);
	free(big);
	free(small);
	bench_close(&b);
}

Test(executor, killed_worker_loses_only_what_it_was_overwriting, .timeout = 30)
{
	struct bench b;
	struct work *torn = work_create(1), *innocent = work_create(2), *next = work_create(3);
	enum { N = 300000 };

	bench_open(&b);
	work_step(torn, &b.kernel[SLOW], N, 0, 0, 1, 300000);
	work_step(innocent, &b.kernel[SLOW], N, N * 8, N * 16, 2, 300000);
	executor_submit(b.x, &torn->job);
	executor_submit(b.x, &innocent->job);
	pass(&b, 100);
	cr_assert(!torn->ended && !innocent->ended);
	/* Stopped inside one of its packets: between two it would lose nothing. */
	while (!stop_inside(&b, torn)) {
		kill(stats(&b).pid, SIGCONT);
		pass(&b, 5);
	}
	kill(stats(&b).pid, SIGKILL);
	wait_end(&b, torn);
	cr_assert_eq(torn->end, JOB_FAILED);
	cr_assert_eq(torn->err.code, E_LOST, "%s", torn->err.text);
	cr_assert(torn->job.torn);
	cr_assert_eq(torn->job.step_torn, 0);
	work_step(next, &b.kernel[ADD], 10, N * 24, N * 24 + 80, 4, 1);
	executor_submit(b.x, &next->job);
	wait_end(&b, next);
	cr_assert_eq(next->end, JOB_DONE, "%s", next->err.text);
	wait_end(&b, innocent);
	cr_assert_eq(innocent->end, JOB_DONE, "%s", innocent->err.text);
	expect_values(&b, N * 16, N, 2);
	cr_assert_eq(stats(&b).deaths, 1);
	cr_assert_eq(b.kernel[SLOW].strikes, 0, "nobody is to blame for a kill from outside");
	free(torn);
	free(innocent);
	free(next);
	bench_close(&b);
}

Test(executor, finished_in_place_step_is_not_run_twice, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 200000 };

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 100, 0, 0, 1, 30000); /* a packet of its own */
	work_step(w, &b.kernel[SLOW], N, 8192, 8192 + N * 8, 1, 200000);
	executor_submit(b.x, &w->job);
	pass(&b, 60);
	while (b.x->nflight == 0)
		uv_run(&b.loop, UV_RUN_NOWAIT);
	kill(stats(&b).pid, SIGKILL);
	cr_assert(wait_for(&b, w, 5000));
	cr_assert_eq(w->end, JOB_FAILED);
	cr_assert_eq(w->err.code, E_LOST);
	cr_assert(w->job.torn);
	expect_values(&b, 0, 100, 1);
	free(w);
	bench_close(&b);
}

Test(executor, kernel_that_faults_twice_is_quarantined, .timeout = 30)
{
	struct bench b;
	struct work *bad = work_create(1), *again = work_create(1), *good = work_create(2);

	bench_open(&b);
	work_step(bad, &b.kernel[FAULT], 100, 0, 800, 1, 1);
	bad->job.name = "culprit";
	bad->job.pid = 4711;
	work_step(good, &b.kernel[ADD], 100, 8000, 16000, 6, 1);
	executor_submit(b.x, &bad->job);
	executor_submit(b.x, &good->job);
	cr_assert(wait_for(&b, bad, 5000));
	cr_assert_eq(bad->end, JOB_FAILED);
	cr_assert_eq(bad->err.code, E_QUARANTINED, "%s", bad->err.text);
	cr_assert_not(bad->job.torn);
	cr_assert_eq(b.kernel[FAULT].strikes, 2);
	cr_assert(strstr(b.kernel[FAULT].blame, "step 0 of plan 0, run by culprit (client 1, pid "
						"4711), killed the worker of cpu at 2"),
		  "%s", b.kernel[FAULT].blame);
	cr_assert_eq(stats(&b).deaths, 2);
	cr_assert(wait_for(&b, good, 5000));
	cr_assert_eq(good->end, JOB_DONE, "%s", good->err.text);
	expect_values(&b, 16000, 100, 6);
	work_step(again, &b.kernel[FAULT], 100, 0, 800, 1, 1);
	executor_submit(b.x, &again->job);
	cr_assert_not(again->ended, "done was called from inside submit");
	cr_assert(wait_for(&b, again, 5000));
	cr_assert_eq(again->err.code, E_QUARANTINED);
	cr_assert_eq(stats(&b).deaths, 2, "it ran again");
	free(bad);
	free(again);
	free(good);
	bench_close(&b);
}

/* One that faulted beside a trial of geometries is not to blame: the trials end. */
Test(executor, job_whose_kernel_faulted_once_is_run_again, .timeout = 30)
{
	for (int trial = 0; trial < 2; trial++) {
		struct work *w = work_create(1);
		struct bench b;

		bench_open(&b);
		tried = &b.kernel[ADD];
		b.x->progress->trial = trial ? tried->id : 0;
		work_step(w, &b.kernel[FAULT_ONCE], 100, 0, 800, 1, 1);
		executor_submit(b.x, &w->job);
		cr_assert(wait_for(&b, w, 5000));
		cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
		cr_assert_eq(((int64_t *)(b.mem + 800))[0], 2);
		cr_assert_eq(b.kernel[FAULT_ONCE].strikes, !trial);
		cr_assert_eq(w->job.attempts, !trial);
		cr_assert_eq(w->job.suspect, trial);
		cr_assert_eq(tried->untried, trial);
		cr_assert_eq(stats(&b).deaths, 1);
		free(w);
		bench_close(&b);
	}
}

Test(executor, hung_worker_is_killed_and_its_kernel_blamed, .timeout = 30)
{
	struct bench b;
	struct work *bad = work_create(1), *good = work_create(2);

	bench_open(&b);
	b.x->watched.hang_cpu_ns = 200000000;
	b.x->watched.tick_ms = 50;
	work_step(bad, &b.kernel[HANG], 100, 0, 800, 1, 1);
	work_step(good, &b.kernel[ADD], 100, 8000, 16000, 6, 1);
	executor_submit(b.x, &bad->job);
	executor_submit(b.x, &good->job);
	cr_assert(wait_for(&b, bad, 5000));
	cr_assert_eq(bad->err.code, E_QUARANTINED, "%s", bad->err.text);
	cr_assert(wait_for(&b, good, 5000));
	cr_assert_eq(good->end, JOB_DONE, "%s", good->err.text);
	free(bad);
	free(good);
	bench_close(&b);
}

/* A healthy worker that gets no time: watched closely, it is waited for. */
Test(executor, stopped_worker_is_waited_for, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 200000 };

	bench_open(&b);
	b.x->watched.asleep_ns = b.x->watched.hang_cpu_ns = 100000000;
	b.x->watched.tick_ms = 10;
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 200000);
	executor_submit(b.x, &w->job);
	while (!stop_inside(&b, w))
		kill(stats(&b).pid, SIGCONT);
	pass(&b, 1000);
	cr_assert_eq(stats(&b).deaths, 0);
	cr_assert_gt(b.x->watched.waits, 5, "it was not watched");
	cr_assert_eq(b.x->watched.state, 'T', "%c", b.x->watched.state);
	kill(stats(&b).pid, SIGCONT);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 0, N, 1);
	cr_assert_eq(stats(&b).deaths, 0);
	cr_assert_eq(b.kernel[SLOW].strikes, 0);
	free(w);
	bench_close(&b);
}

/* The loop stood still, by a stop or a suspend: what waits to be read was no silence. */
Test(executor, stopped_broker_blames_nobody, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 400000 };

	bench_open(&b);
	b.x->watched.asleep_ns = b.x->watched.hang_cpu_ns = 300000000;
	b.x->watched.tick_ms = 10;
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 400000);
	executor_submit(b.x, &w->job);
	for (int i = 0; i < 3; i++) {
		pass(&b, 50);
		usleep(1000000);
	}
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 0, N, 1);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	bench_close(&b);
}

/* Something went to sleep for ever: nobody can tell why, so nobody gets a strike. */
Test(executor, sleeping_worker_is_killed_and_nobody_blamed, .timeout = 30)
{
	struct bench b;
	struct work *once = work_create(1), *always = work_create(1);

	bench_open(&b);
	b.x->watched.asleep_ns = 200000000;
	b.x->watched.tick_ms = 50;
	work_step(once, &b.kernel[SLEEP_ONCE], 100, 0, 800, 1, 1);
	executor_submit(b.x, &once->job);
	wait_end(&b, once);
	cr_assert_eq(once->end, JOB_DONE, "%s", once->err.text);
	cr_assert_eq(stats(&b).deaths, 1);
	cr_assert_eq(b.kernel[SLEEP_ONCE].strikes, 0);
	work_step(always, &b.kernel[SLEEP], 100, 0, 800, 1, 1);
	executor_submit(b.x, &always->job);
	wait_end(&b, always);
	cr_assert_eq(always->end, JOB_FAILED);
	cr_assert_eq(always->err.code, E_LOST, "%s", always->err.text);
	cr_assert_eq(b.kernel[SLEEP].strikes, 0);
	free(once);
	free(always);
	bench_close(&b);
}

/* All of it in one packet: nothing but the progress page tells that it had begun. */
Test(executor, in_place_step_torn_in_its_first_packet_is_not_run_again, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 100000 };

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 1000);
	executor_submit(b.x, &w->job);
	while (!stop_inside(&b, w))
		kill(stats(&b).pid, SIGCONT);
	cr_assert_eq(stats(&b).slices, 1);
	cr_assert_not(w->job.torn, "known before it began");
	kill(stats(&b).pid, SIGKILL);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_FAILED);
	cr_assert_eq(w->err.code, E_LOST, "%s", w->err.text);
	cr_assert(w->job.torn);
	cr_assert_eq(w->job.step_torn, 0);
	cr_assert_eq(stats(&b).slices, 1, "it was run again");
	free(w);
	bench_close(&b);
}

Test(executor, cancel_acts_inside_a_step, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *next = work_create(1);
	enum { N = 3000000 };
	int64_t begin = 0;

	bench_open(&b);
	/* Predicted as nothing: it goes as one slice, only its cancel word stops it. */
	work_step(w, &b.kernel[SLOW], N, 0, N * 8, 1, 1);
	executor_submit(b.x, &w->job);
	pass(&b, 100);
	begin = executor_clock();
	executor_cancel(b.x, &w->job);
	executor_cancel(b.x, &w->job);
	cr_assert_not(w->ended, "done was called from inside cancel");
	cr_assert(wait_for(&b, w, 5000));
	cr_assert_lt(executor_clock() - begin, 1000000000ll);
	cr_assert_eq(w->end, JOB_CANCELLED);
	cr_assert_not(w->job.torn);
	cr_assert_eq(w->calls, 1);
	work_step(next, &b.kernel[ADD], 10, 0, 800, 4, 1);
	executor_submit(b.x, &next->job);
	cr_assert(wait_for(&b, next, 5000));
	cr_assert_eq(next->end, JOB_DONE, "%s", next->err.text);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	free(next);
	bench_close(&b);
}

Test(executor, cancel_acts_between_slices_and_in_the_queue, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *waiting = work_create(1);
	enum { N = 1000000 };
	int64_t last = 0;

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, N * 8, 1, 1000000);
	work_step(waiting, &b.kernel[ADD], 10, 0, N * 16, 1, 1);
	executor_submit(b.x, &w->job);
	executor_submit(b.x, &waiting->job);
	pass(&b, 50);
	executor_cancel(b.x, &waiting->job);
	cr_assert(wait_for(&b, waiting, 1000));
	cr_assert_eq(waiting->end, JOB_CANCELLED);
	executor_cancel(b.x, &w->job);
	cr_assert(wait_for(&b, w, 600));
	cr_assert_eq(w->end, JOB_CANCELLED);
	memcpy(&last, b.mem + N * 16 - 8, 8);
	cr_assert_eq(last, 0, "it ran to its end");
	expect_values(&b, N * 16, 10, 0);
	free(w);
	free(waiting);
	bench_close(&b);
}

Test(executor, cancel_does_not_tear_an_in_place_step, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 200000 };

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 200000);
	executor_submit(b.x, &w->job);
	pass(&b, 40);
	executor_cancel(b.x, &w->job);
	cr_assert(wait_for(&b, w, 10000));
	cr_assert_eq(w->end, JOB_DONE, "it may only end as a whole");
	expect_values(&b, 0, N, 1);
	free(w);
	bench_close(&b);
}

Test(executor, sliced_reduction_has_the_bits_of_the_whole, .timeout = 30)
{
	struct bench b;
	/* Prediction 0: one packet.  3 s: dozens of slices, cut by chunks. */
	static const uint32_t cost[] = {0, 3000000, 100000};
	enum { N = 2500000, ROWS = 2 };
	uint64_t bits[3][ROWS];

	learning = false;
	bench_open(&b);
	for (int64_t i = 0; i < ROWS * N; i++)
		((double *)b.mem)[i] = 1.0 / (double)(i + 3);
	for (int i = 0; i < 3; i++) {
		struct work *w = work_create(1);
		uint64_t slices = stats(&b).slices;

		work_sum(w, &b.kernel[SUM], ROWS, N, 0, ROWS * N * 8, cost[i]);
		executor_submit(b.x, &w->job);
		cr_assert(wait_for(&b, w, 10000));
		cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
		memcpy(bits[i], b.mem + ROWS * N * 8, sizeof bits[i]);
		slices = stats(&b).slices - slices;
		cr_assert(i == 0 ? slices == 1 : slices >= 5, "%lu slices", (long)slices);
		free(w);
	}
	cr_assert_eq(memcmp(bits[0], bits[1], sizeof bits[0]), 0);
	cr_assert_eq(memcmp(bits[0], bits[2], sizeof bits[0]), 0);
	bench_close(&b);
}

/* Sums over the rows of a narrow array: chunks of all columns at once, not of one. */
Test(executor, narrow_columns_are_reduced_side_by_side, .timeout = 30)
{
	enum { COLUMNS = 10, ROWS = 100000 };
	struct bench b;
	struct work *w = work_create(1);
	uint64_t to = COLUMNS * ROWS * 8;

	bench_open(&b);
	for (int64_t i = 0; i < COLUMNS * ROWS; i++)
		((double *)b.mem)[i] = (double)(i % COLUMNS);
	work_sum(w, &b.kernel[SUM], COLUMNS, ROWS, 0, to, 1000);
	b.kernel[SUM].spec->vec = w->nest[0].vec = 0;
	w->nest[0].access[0].stride[0] = 8;
	w->nest[0].access[0].stride[1] = 8 * COLUMNS;
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	for (int64_t i = 0; i < COLUMNS; i++)
		cr_assert_eq(((double *)(b.mem + to))[i], (double)(i * ROWS));
	cr_assert_eq(*(int64_t *)(b.mem + to + CALLS_AT), 2, "%ld calls for two chunks",
		     (long)*(int64_t *)(b.mem + to + CALLS_AT));
	free(w);
	bench_close(&b);
}

/* What one client's shape takes tells nothing of another's: it is cut as if alone. */
Test(executor, slow_shape_does_not_cut_up_another, .timeout = 30)
{
	enum { N = 20000 };
	struct bench b;
	struct work *slow = work_create(1), *other = work_create(2), *again = work_create(1);
	uint64_t slices = 0;

	bench_open(&b);
	work_step(slow, &b.kernel[SLOW], N, 0, N * 8, 1, 1000)->shape = 1;
	executor_submit(b.x, &slow->job);
	wait_end(&b, slow);
	cr_assert_not_null(cache_rate(&b.kernel[SLOW], 1));
	/* In the interpreter's time of a slow element it would be many slices. */
	work_step(other, &b.kernel[SLOW], 10 * N, N * 16, N * 16 + 80 * N, 1, 1000)->shape = 2;
	slices = stats(&b).slices;
	executor_submit(b.x, &other->job);
	wait_end(&b, other);
	cr_assert_eq(stats(&b).slices - slices, 1);
	work_step(again, &b.kernel[SLOW], 10 * N, N * 16, N * 16 + 80 * N, 1, 1000)->shape = 1;
	b.kernel[SLOW].rate[0] = (struct kernel_rate){1, 1, N, N * 1000};
	slices = stats(&b).slices;
	executor_submit(b.x, &again->job);
	wait_end(&b, again);
	cr_assert_gt(stats(&b).slices - slices, 5, "of its own shape it is believed");
	free(slow);
	free(other);
	free(again);
	bench_close(&b);
}

Test(executor, split_reduction_survives_a_kill, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 6000000 };
	double want = 0, got = 0;

	learning = false;
	bench_open(&b);
	for (int64_t i = 0; i < N; i++)
		((double *)b.mem)[i] = 1.0 / (double)(i + 3);
	work_sum(w, &b.kernel[SUM], 1, N, 0, N * 8, 4000000);
	executor_submit(b.x, &w->job);
	while (w->job.at > -20 && !w->ended)
		uv_run(&b.loop, UV_RUN_ONCE);
	kill(stats(&b).pid, SIGKILL);
	cr_assert(wait_for(&b, w, 10000));
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	for (int64_t c = 0; c * TREE_CHUNK < N; c++) {
		double sum = 0;

		for (int64_t i = c * TREE_CHUNK; i < (c + 1) * TREE_CHUNK && i < N; i++)
			sum += ((double *)b.mem)[i];
		want += sum;
	}
	memcpy(&got, b.mem + N * 8, 8);
	cr_assert_eq(memcmp(&got, &want, 8), 0, "%.17g, want %.17g", got, want);
	cr_assert_eq(stats(&b).deaths, 1);
	free(w);
	bench_close(&b);
}

Test(executor, matrix_product_in_slices, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { M = 700 };
	struct plan_matmul m = {.dtype = DT_INT64,
				.m = M,
				.n = 3,
				.k = 2,
				.slot = {0, 1, 2},
				.row = {16, 24, 24},
				.col = {8, 8, 8}};

	bench_open(&b);
	for (int64_t i = 0; i < M * 2; i++)
		((int64_t *)b.mem)[i] = i;
	for (int64_t i = 0; i < 6; i++)
		((int64_t *)(b.mem + 65536))[i] = 1;
	for (int i = 0; i < 3; i++)
		w->place[i] = (struct command_place){.region = 1, .offset = 65536 * (uint64_t)i};
	w->step[0] = (struct plan_step){.kind = STEP_MATMUL, .cost_us = 100000, .matmul = &m};
	w->plan.nstep = 1;
	executor_submit(b.x, &w->job);
	cr_assert(wait_for(&b, w, 5000));
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_gt(stats(&b).slices, 2);
	for (int64_t i = 0; i < M * 3; i++)
		cr_assert_eq(((int64_t *)(b.mem + 131072))[i], 4 * (i / 3) + 1);
	free(w);
	bench_close(&b);
}

Test(executor, place_outside_its_region_fails_the_job_only, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *v = work_create(1);

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 100, 0, REGION_BYTES - 792, 1, 1);
	work_step(v, &b.kernel[ADD], 100, 0, REGION_BYTES - 800, 1, 1);
	executor_submit(b.x, &w->job);
	executor_submit(b.x, &v->job);
	cr_assert(wait_for(&b, v, 5000));
	cr_assert_eq(w->end, JOB_FAILED);
	cr_assert_eq(w->err.code, E_INTERNAL, "%s", w->err.text);
	cr_assert_eq(v->end, JOB_DONE, "%s", v->err.text);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	free(v);
	bench_close(&b);
}

Test(executor, regions_come_back_with_the_worker_and_can_be_dropped, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *v = work_create(1);
	struct err err = {0};

	bench_open(&b);
	cr_assert_eq(executor_region_add(b.x, 0, b.fd, 4096, &err), E_INVALID);
	cr_assert_eq(executor_region_add(b.x, 9, b.fd, REGION_BYTES, &err), OK);
	kill(stats(&b).pid, SIGKILL);
	pass(&b, 100);
	work_step(w, &b.kernel[ADD], 10, 0, 800, 1, 1);
	w->place[1].region = 9;
	executor_submit(b.x, &w->job);
	cr_assert(wait_for(&b, w, 5000));
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	executor_region_drop(b.x, 9);
	work_step(v, &b.kernel[ADD], 10, 0, 800, 1, 1);
	v->place[1].region = 9;
	executor_submit(b.x, &v->job);
	cr_assert(wait_for(&b, v, 5000));
	cr_assert_eq(v->end, JOB_FAILED, "the region was still mapped");
	free(w);
	free(v);
	bench_close(&b);
}

Test(executor, program_that_is_not_there_is_an_error, .timeout = 10)
{
	struct executor_config config = {.self = "/nonexistent/brazed", .device = "cpu"};
	struct executor *x = NULL;
	struct err err = {0};
	uv_loop_t loop;
	int fds = count_fds();

	uv_loop_init(&loop);
	cr_assert_eq(executor_create(&x, &loop, &config, NULL, &err), E_SYSTEM);
	cr_assert(strstr(err.text, "/nonexistent/brazed"), "%s", err.text);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
	cr_assert_leq(count_fds(), fds);
	executor_destroy(NULL);
}
