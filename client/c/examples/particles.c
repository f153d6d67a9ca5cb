/* SPDX-License-Identifier: Apache-2.0 */
/* Particles that pull at one another, moved by a kernel of text: the inner loop over pairs needs
 * what it has just written, and slices and sums say the rest.  The positions are memory of this
 * program's, the velocities an array of braze's; the same is done in C next to it. */
#include <braze.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 20, STEPS = 200 };

static const char text[] =
	"kernel move(inout x: float64[:,:], inout v: float64[:,:], dt: float64)\n"
	"    -> (energy: float64) {\n"
	"  for i in 0..len(x) {\n"
	"    for j in 0..i {\n"
	"      let near = dot(x[i, :] - x[j, :], x[i, :] - x[j, :]) + 0.01\n"
	"      let pull = dt / (near * sqrt(near))\n"
	"      v[i, :] += pull * (x[j, :] - x[i, :])\n"
	"      v[j, :] -= pull * (x[j, :] - x[i, :])\n"
	"    }\n"
	"  }\n"
	"  x[:, :] += dt * v[:, :]\n"
	"  energy = 0.5 * sum(v ** 2)\n"
	"  for i in 1..len(x) {\n"
	"    for j in 0..i { energy -= 1 / sqrt(sum((x[i, :] - x[j, :]) ** 2) + 0.01) }\n"
	"  }\n"
	"}\n";

/* The same step in C. */
static double move(double x[N][2], double v[N][2], double dt)
{
	double energy = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < i; j++) {
			double a = x[i][0] - x[j][0], b = x[i][1] - x[j][1];
			double near = a * a + b * b + 0.01, pull = dt / (near * sqrt(near));

			for (int k = 0; k < 2; k++) {
				v[i][k] += pull * (x[j][k] - x[i][k]);
				v[j][k] -= pull * (x[j][k] - x[i][k]);
			}
		}
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 2; k++) {
			x[i][k] += dt * v[i][k];
			energy += 0.5 * v[i][k] * v[i][k];
		}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < i; j++)
			energy -= 1 / sqrt(pow(x[i][0] - x[j][0], 2) + pow(x[i][1] - x[j][1], 2) +
					   0.01);
	return energy;
}

/* Where they are after all steps, and with what energy, by the kernel. */
static int simulate(double x[N][2], double *energy, braze_session *s, braze_kernel *k,
		    braze_error *err)
{
	int64_t shape[2] = {N, 2}, strides[2] = {2 * sizeof(double), sizeof(double)};
	braze_kernel_arg args[3] = {
		{.data = x, .dtype = BRAZE_FLOAT64, .ndim = 2, .shape = shape, .strides = strides}};
	braze_scalar result;
	int st = braze_full(&args[1].array, s, BRAZE_FLOAT64, 2, shape, braze_double(0), err);

	args[2].scalar = braze_double(0.001);
	for (int step = 0; !st && step < STEPS; step++)
		st = braze_kernel_call(&result, k, 3, args, NULL, NULL, err);
	if (!st)
		memcpy(energy, result.bits, sizeof *energy);
	braze_release(args[1].array);
	return st;
}

/* A wrong place in the text is named, and so is a wrong index when it runs. */
static void show_error(void)
{
	static const char wrong[] = "kernel f(x: float64[:]) {\n  x[1:] = 0\n}\n";
	braze_kernel *k = NULL;
	braze_error err = {0};

	braze_kernel_create(&k, wrong, strlen(wrong), &err);
	printf("as expected, %s: %s\n", braze_error_name(err.code), err.text);
	braze_kernel_free(k);
}

int main(void)
{
	static double x[N][2], y[N][2], v[N][2];
	double energy = 0, wanted = 0, most = 0;
	braze_session *s = NULL;
	braze_kernel *k = NULL;
	braze_error err = {0};

	for (int i = 0; i < N; i++)
		for (int j = 0; j < 2; j++)
			x[i][j] = y[i][j] = (i * 7 + j * 5) % 11 + 0.1 * i;
	if (braze_connect(&s, NULL, &err) || braze_kernel_create(&k, text, strlen(text), &err) ||
	    simulate(x, &energy, s, k, &err)) {
		fprintf(stderr, "%s: %s\n", braze_error_name(err.code), err.text);
	} else {
		for (int step = 0; step < STEPS; step++)
			wanted = move(y, v, 0.001);
		for (int i = 0; i < N; i++)
			most = fmax(most, fmax(fabs(x[i][0] - y[i][0]), fabs(x[i][1] - y[i][1])));
		printf("energy %.9f, in C %.9f; the farthest apart %.1e\n", energy, wanted, most);
		show_error();
	}
	braze_kernel_free(k);
	braze_close(s);
	return err.code || most > 1e-9 || fabs(energy - wanted) > 1e-9;
}
