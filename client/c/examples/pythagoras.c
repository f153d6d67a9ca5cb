/* SPDX-License-Identifier: Apache-2.0 */
/* sin(x)**2 + cos(x)**2 == 1, for a million angles in one kernel. */
#include <braze.h>
#include <stdio.h>

enum { N = 1000000 };

int main(void)
{
	braze_session *session = NULL;
	braze_array *x = NULL, *sine = NULL, *cosine = NULL, *sine2 = NULL, *cosine2 = NULL;
	braze_array *one = NULL, *mean = NULL;
	braze_error err = {0};
	braze_arg arg[2];
	double sum = 0;

	if (braze_connect(&session, NULL, &err))
		goto out;
	if (braze_arange(&x, session, BRAZE_FLOAT64, N, braze_double(0), braze_double(1e-3), &err))
		goto out;
	arg[0] = braze_arg_array(x);
	if (braze_apply(&sine, session, braze_op_find("sin"), 1, arg, &err) ||
	    braze_apply(&cosine, session, braze_op_find("cos"), 1, arg, &err))
		goto out;
	arg[0] = braze_arg_array(sine);
	if (braze_apply(&sine2, session, braze_op_find("square"), 1, arg, &err))
		goto out;
	arg[0] = braze_arg_array(cosine);
	if (braze_apply(&cosine2, session, braze_op_find("square"), 1, arg, &err))
		goto out;
	arg[0] = braze_arg_array(sine2);
	arg[1] = braze_arg_array(cosine2);
	if (braze_apply(&one, session, braze_op_find("add"), 2, arg, &err) ||
	    braze_reduce(&mean, braze_op_find("sum"), one, 1, 0, -1, &err))
		goto out;

	/* What nobody holds when a value is asked for need not be kept. */
	braze_release(sine);
	braze_release(cosine);
	braze_release(sine2);
	braze_release(cosine2);
	braze_release(one);
	sine = cosine = sine2 = cosine2 = one = NULL;
	if (braze_read(&sum, mean, &err))
		goto out;
	printf("sum of sin^2 + cos^2 over %d angles: %.6f\n", N, sum);
out:
	if (err.code)
		fprintf(stderr, "%s: %s\n", braze_error_name(err.code), err.text);
	braze_release(x);
	braze_release(sine);
	braze_release(cosine);
	braze_release(sine2);
	braze_release(cosine2);
	braze_release(one);
	braze_release(mean);
	braze_close(session);
	return err.code != 0;
}
