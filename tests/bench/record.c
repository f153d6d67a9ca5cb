/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/record.c - nanoseconds to record a + b from C.
 *
 * usage: record_ns ROUNDS.  Prints four medians: through the thread-safe call, and
 * from the one thread that owns the session; each in bursts that fit into one
 * packet, and in long ones, which the daemon takes in meanwhile.  $BRAZE_SOCKET
 * names the daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "braze.h"
#include "braze_fast.h"

#define SHORT 500 /* additions of a burst; with their drops fewer than a packet's */
#define LONG  20000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Wait until the daemon has taken in all that was recorded. */
static void settle(braze_array *a, braze_array *b, int op)
{
	braze_array *c = NULL;
	double value;
	braze_error err;

	if (braze_binary(&c, op, a, b, &err) || braze_read(&value, c, &err)) {
		fprintf(stderr, "record: %s\n", err.text);
		exit(1);
	}
	braze_release(c);
}

static double round_ns(braze_array *a, braze_array *b, int op, int ops)
{
	braze_error err;
	double start;

	settle(a, b, op);
	start = now();

	for (int i = 0; i < ops; i++) {
		braze_array *c = NULL;

		if (braze_binary(&c, op, a, b, &err)) {
			fprintf(stderr, "record: %s\n", err.text);
			exit(1);
		}
		braze_release(c);
	}
	return (now() - start) / ops;
}

static double median_ns(braze_array *a, braze_array *b, int op, int rounds, int ops)
{
	double *ns = malloc((size_t)rounds * sizeof *ns), middle;

	for (int i = 0; i < rounds; i++)
		ns[i] = round_ns(a, b, op, ops);
	qsort(ns, (size_t)rounds, sizeof *ns, by_value);
	middle = ns[rounds / 2];
	free(ns);
	return middle;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 51, op = braze_op_find("add");
	struct braze_owner alone = {NULL, NULL, NULL};
	braze_session *s = NULL;
	braze_array *a = NULL, *b = NULL;
	braze_error err = {0};
	int64_t shape[] = {1};

	if (braze_connect(&s, NULL, &err) ||
	    braze_full(&a, s, BRAZE_FLOAT64, 1, shape, braze_double(1), &err) ||
	    braze_full(&b, s, BRAZE_FLOAT64, 1, shape, braze_double(2), &err)) {
		fprintf(stderr, "record: %s\n", err.text);
		return 1;
	}
	printf("%.1f %.1f ", median_ns(a, b, op, rounds, SHORT),
	       median_ns(a, b, op, rounds / 10 + 1, LONG));
	braze_set_owner(s, &alone);
	printf("%.1f %.1f\n", median_ns(a, b, op, rounds, SHORT),
	       median_ns(a, b, op, rounds / 10 + 1, LONG));
	braze_set_owner(s, NULL);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	return 0;
}
