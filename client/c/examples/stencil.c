/* SPDX-License-Identifier: Apache-2.0 */
/* Heat on a rod: shared memory filled in place, views, assignment to a slice, a
 * future, and what an error looks like. */
#include <braze.h>
#include <stdio.h>

enum { N = 12, STEPS = 100 };

static int slice(braze_array **out, braze_array *a, int64_t first, int64_t count, braze_error *err)
{
	int64_t step = 1;

	return braze_slice(out, a, &first, &count, &step, err);
}

/* rod[1..n-2] += 0.25 * (left - 2 * rod + right) */
static int step(braze_session *s, braze_array *rod, braze_error *err)
{
	braze_array *left = NULL, *mid = NULL, *right = NULL, *sum = NULL, *twice = NULL;
	braze_array *bend = NULL, *flow = NULL, *next = NULL;
	int add = braze_op_find("add"), multiply = braze_op_find("multiply");
	int st = slice(&left, rod, 0, N - 2, err);

	if (!st)
		st = slice(&mid, rod, 1, N - 2, err);
	if (!st)
		st = slice(&right, rod, 2, N - 2, err);
	if (!st)
		st = braze_apply(&sum, s, add, 2,
				 (braze_arg[]){braze_arg_array(left), braze_arg_array(right)}, err);
	if (!st)
		st = braze_apply(&twice, s, multiply, 2,
				 (braze_arg[]){braze_arg_array(mid), braze_arg_double(-2)}, err);
	if (!st)
		st = braze_apply(&bend, s, add, 2,
				 (braze_arg[]){braze_arg_array(sum), braze_arg_array(twice)}, err);
	if (!st)
		st = braze_apply(&flow, s, multiply, 2,
				 (braze_arg[]){braze_arg_array(bend), braze_arg_double(0.25)}, err);
	if (!st)
		st = braze_apply(&next, s, add, 2,
				 (braze_arg[]){braze_arg_array(mid), braze_arg_array(flow)}, err);
	if (!st)
		st = braze_assign(mid, braze_arg_array(next), err);
	braze_release(left);
	braze_release(mid);
	braze_release(right);
	braze_release(sum);
	braze_release(twice);
	braze_release(bend);
	braze_release(flow);
	braze_release(next);
	return st;
}

/* Shapes that do not fit are refused where they are written, not when they run. */
static void show_error(braze_session *s, braze_array *rod)
{
	braze_array *half = NULL, *bad = NULL;
	braze_error err = {0};

	if (!slice(&half, rod, 0, N / 2, &err))
		braze_apply(&bad, s, braze_op_find("add"), 2,
			    (braze_arg[]){braze_arg_array(rod), braze_arg_array(half)}, &err);
	printf("as expected, %s: %s\n", braze_error_name(err.code), err.text);
	braze_release(half);
	braze_release(bad);
}

int main(void)
{
	braze_session *s = NULL;
	braze_array *rod = NULL;
	braze_future *future = NULL;
	braze_error err = {0};
	void *memory = NULL;
	const void *value = NULL;
	int64_t n = N;

	if (braze_connect(&s, NULL, &err) ||
	    braze_alloc(&rod, &memory, s, BRAZE_FLOAT64, 1, &n, &err))
		goto out;
	for (int i = 0; i < N; i++)
		((double *)memory)[i] = i == 0 ? 100.0 : 0.0;
	for (int t = 0; t < STEPS; t++)
		if (step(s, rod, &err))
			goto out;
	show_error(s, rod);
	if (braze_demand(&future, 1, &rod, &err) || braze_wait(future, 10000, NULL, NULL, &err) ||
	    braze_data(&value, rod, NULL, NULL, &err))
		goto out;
	for (int i = 0; i < N; i++)
		printf("%8.4f", ((const double *)value)[i]);
	printf("\n");
out:
	if (err.code)
		fprintf(stderr, "%s: %s\n", braze_error_name(err.code), err.text);
	braze_future_release(future);
	braze_release(rod);
	braze_close(s);
	return err.code != 0;
}
