/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/peers.c - what braze is measured against: loops as a C programmer
 * writes them, on the same number of threads, and the machine's own bounds.
 *
 * A library that tables.py loads.  Every function returns seconds for one call on
 * arrays that the caller made; threads are OpenMP's.  Compiled with -O3 for the
 * machine at hand, with vector functions and reordered sums, and with no other
 * option that changes values: braze may not change any either. */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* By other names, or the compiler merges sine and cosine of one argument into a
 * scalar call. */
__attribute__((simd("notinbranch"), const, nothrow)) double peer_sin(double x) __asm__("sin");
__attribute__((simd("notinbranch"), const, nothrow)) double peer_cos(double x) __asm__("cos");

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

EXPORT void peer_threads(int n)
{
	omp_set_num_threads(n);
}

/* Pure arithmetic on registers: how much faster are two cores than one? */
EXPORT double peer_spin(int64_t n)
{
	double start = now(), total = 0;

#pragma omp parallel for schedule(static) reduction(+ : total)
	for (int64_t i = 0; i < n; i++)
		total += sin((double)i);
	return total == 12345 ? 0 : now() - start;
}

EXPORT double peer_triad(double *restrict a, const double *restrict b, const double *restrict c,
			 int64_t n)
{
	double start = now();

#pragma omp parallel for simd schedule(static)
	for (int64_t i = 0; i < n; i++)
		a[i] = b[i] + 3 * c[i];
	return now() - start;
}

/* Bytes as fast as they can be read; the sum only keeps the loads. */
EXPORT double peer_read(const double *restrict b, const double *restrict c, int64_t n)
{
	double start = now(), total = 0;

#pragma omp parallel for simd schedule(static) reduction(+ : total)
	for (int64_t i = 0; i < n; i++)
		total += b[i] + c[i];
	return total == 12345 ? 0 : now() - start;
}

EXPORT double peer_pythagoras(double *restrict a, const double *restrict x, int64_t n)
{
	double start = now();

#pragma omp parallel for simd schedule(static)
	for (int64_t i = 0; i < n; i++) {
		double s = peer_sin(x[i]), c = peer_cos(x[i]);

		a[i] = s * s + c * c;
	}
	return now() - start;
}

/* The twelve operations of tables.py's chain. */
EXPORT double peer_chain(double *restrict a, const double *restrict x, const double *restrict y,
			 int64_t n)
{
	double start = now();

#pragma omp parallel for simd schedule(static)
	for (int64_t i = 0; i < n; i++) {
		double t = x[i] * 2 + y[i];

		t = t * t - x[i];
		t = (t + 1) * y[i];
		t = t / (x[i] * x[i] + 1);
		a[i] = sqrt(fabs(t)) - y[i];
	}
	return now() - start;
}

EXPORT double peer_stencil(double *restrict out, const double *restrict in, int64_t rows,
			   int64_t cols)
{
	double start = now();

#pragma omp parallel for schedule(static)
	for (int64_t i = 1; i < rows - 1; i++) {
		const double *m = in + i * cols, *u = m - cols, *d = m + cols;
		double *o = out + i * cols;

#pragma omp simd
		for (int64_t j = 1; j < cols - 1; j++)
			o[j] = 0.2 * (m[j] + m[j - 1] + m[j + 1] + d[j] + u[j]);
	}
	return now() - start;
}

EXPORT double peer_distance(double *out, const double *restrict x, const double *restrict y,
			    int64_t n)
{
	double start = now(), total = 0;

#pragma omp parallel for simd schedule(static) reduction(+ : total)
	for (int64_t i = 0; i < n; i++)
		total += (x[i] - y[i]) * (x[i] - y[i]);
	*out = total;
	return now() - start;
}

/* Sums of columns, rows added one after another: no tree. */
EXPORT double peer_columns(double *restrict out, const double *restrict x, int64_t rows,
			   int64_t cols)
{
	double start = now();

#pragma omp parallel
	{
		int64_t part = (cols + omp_get_num_threads() - 1) / omp_get_num_threads();
		int64_t lo = part * omp_get_thread_num(), hi = lo + part;

		hi = hi < cols ? hi : cols;
		for (int64_t j = lo; j < hi; j++)
			out[j] = 0;
		for (int64_t i = 0; i < rows; i++)
#pragma omp simd
			for (int64_t j = lo; j < hi; j++)
				out[j] += x[i * cols + j];
	}
	return now() - start;
}

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)core, &set);
	sched_setaffinity(0, sizeof set, &set);
}

/* One message there and one back over a SOCK_SEQPACKET pair between two
 * processes, each pinned to a core (-1: not pinned); seconds for each of n. */
EXPORT int peer_socket(double *out, int n, int here, int there)
{
	char message[256] = {0};
	cpu_set_t old;
	int pair[2], status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		if (there >= 0)
			pin(there);
		while (recv(pair[1], message, sizeof message, 0) > 0)
			if (send(pair[1], message, sizeof message, MSG_NOSIGNAL) < 0)
				break;
		_exit(0);
	}
	close(pair[1]);
	if (pid < 0)
		return -1;
	sched_getaffinity(0, sizeof old, &old);
	if (here >= 0)
		pin(here);
	for (int i = 0; i < n; i++) {
		double start = now();

		if (send(pair[0], message, sizeof message, MSG_NOSIGNAL) < 0 ||
		    recv(pair[0], message, sizeof message, 0) <= 0)
			break;
		out[i] = now() - start;
	}
	sched_setaffinity(0, sizeof old, &old);
	close(pair[0]);
	waitpid(pid, &status, 0);
	return 0;
}
