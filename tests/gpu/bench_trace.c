/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/bench_trace.c - what a client waits for: a warm trace of ten operations on the
 * device, beside its kernel's own time there and beside the CPU. */
#include <stdio.h>
#include <stdlib.h>

#include "cudaside.h"
#include "sections.h"
#include "tap.h"

#define ROUNDS 51
#define WARM   10

/* Ten operations on a and b; one kernel. */
static int ten(braze_session *s, braze_array *a, braze_array *b, braze_array **out,
	       braze_error *err)
{
	static const uint8_t ops[] = {OP_ADD, OP_MULTIPLY, OP_SUBTRACT, OP_MULTIPLY,
				      OP_ADD, OP_MULTIPLY, OP_SUBTRACT, OP_MULTIPLY,
				      OP_ADD, OP_MULTIPLY};
	braze_array *t = a, *next = NULL;
	int rc = 0;

	braze_retain(a);
	for (unsigned k = 0; k < sizeof ops && !rc; k++) {
		braze_arg arg[2] = {braze_arg_array(t), braze_arg_array(k % 2 ? a : b)};

		rc = braze_apply(&next, s, ops[k], 2, arg, err);
		if (!rc) {
			braze_release(t);
			t = next;
		}
	}
	if (rc)
		braze_release(t);
	else
		*out = t;
	return rc;
}

static int once(braze_session *s, braze_array *a, braze_array *b, double *spent, braze_error *err)
{
	double start = host_seconds();
	braze_array *out = NULL;
	const void *data;
	int rc = ten(s, a, b, &out, err);

	if (!rc)
		rc = braze_data(&data, out, NULL, NULL, err);
	*spent = host_seconds() - start;
	braze_release(out);
	return rc;
}

static void measure(struct both *b, const char *device, int64_t n)
{
	double t[WARM + ROUNDS], busy, runs;
	struct host_device before, after;
	braze_array *x = NULL, *y = NULL;
	braze_error err = {0};
	char name[64];
	int rc = braze_set_device(b->session, device, &err);

	if (!rc)
		rc = both_operand(&x, b->session, DT_FLOAT32, 1, &n, SAMPLE_WIDE, 1, &err);
	if (!rc)
		rc = both_operand(&y, b->session, DT_FLOAT32, 1, &n, SAMPLE_WIDE, 2, &err);
	for (unsigned i = 0; i < WARM && !rc; i++)
		rc = once(b->session, x, y, &t[i], &err);
	before = host_device(b->host, device);
	for (unsigned i = 0; i < ROUNDS && !rc; i++)
		rc = once(b->session, x, y, &t[i], &err);
	after = host_device(b->host, device);
	braze_release(x);
	braze_release(y);
	if (rc) {
		tap_result(false, "a trace of %lld elements on %s: %s", (long long)n, device,
			   err.text);
		return;
	}
	runs = after.runs - before.runs;
	busy = runs > 0 ? (after.busy - before.busy) / runs : 0;
	tap_note("  %-8s%10lld elements: %10.1f us from the first operation to the data, of which "
		 "%10.1f us on the device",
		 device, (long long)n, cudaside_median(t, ROUNDS) * 1e6, busy * 1e6);
	snprintf(name, sizeof name, "10 ops on %.0e float32, %s", (double)n, device);
	tap_figure("trace", name, cudaside_median(t, ROUNDS) * 1e6, "us");
}

void bench_trace(struct both *b)
{
	static const int64_t sizes[] = {1000, 1000000, 10000000};

	tap_note("a warm trace of 10 operations, operands on the device, the result read; medians");
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		if (b->quick && sizes[i] > 1000)
			continue;
		measure(b, b->host->device, sizes[i]);
		measure(b, "cpu", sizes[i]);
	}
}
