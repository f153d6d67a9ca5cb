/* SPDX-License-Identifier: Apache-2.0 */
/* Great-circle distances from one city to others by the haversine formula
 * (R. W. Sinnott, Sky and Telescope 68, 1984). */
#include <braze.h>
#include <math.h>
#include <stdio.h>

#define RADIUS_KM 6371.0
#define RADIANS	  0.017453292519943295
enum { N = 4 };

/* The first failure stays in err; later calls do nothing. */
struct calc {
	braze_session *session;
	braze_error err;
};

/* The operation's result; its array operands are released. */
static braze_array *op(struct calc *c, const char *name, int n, braze_arg a, braze_arg b)
{
	braze_arg arg[2] = {a, b};
	braze_array *r = NULL;

	if (!c->err.code)
		braze_apply(&r, c->session, braze_op_find(name), n, arg, &c->err);
	braze_release(a.array);
	if (n == 2 && b.array != a.array)
		braze_release(b.array);
	return r;
}

static braze_array *unary(struct calc *c, const char *name, braze_array *a)
{
	return op(c, name, 1, braze_arg_array(a), braze_arg_double(0));
}

static braze_array *with(struct calc *c, const char *name, braze_array *a, double v)
{
	return op(c, name, 2, braze_arg_array(a), braze_arg_double(v));
}

static braze_array *input(struct calc *c, const double *data)
{
	int64_t n = N;
	braze_array *a = NULL;

	if (!c->err.code)
		braze_from_data(&a, c->session, BRAZE_FLOAT64, 1, &n, NULL, data, &c->err);
	return a;
}

/* sin((a - from) / 2)**2 */
static braze_array *half_sine(struct calc *c, braze_array *a, double from)
{
	return unary(c, "square",
		     unary(c, "sin", with(c, "multiply", with(c, "subtract", a, from), 0.5)));
}

int main(void)
{
	static const char *const city[N] = {"Paris", "New York", "Tokyo", "Sydney"};
	static const double lat[N] = {48.8566, 40.7128, 35.6762, -33.8688};
	static const double lon[N] = {2.3522, -74.0060, 139.6503, 151.2093};
	const double lat0 = 52.52 * RADIANS, lon0 = 13.405 * RADIANS;
	struct calc c = {0};
	double km[N];

	braze_connect(&c.session, NULL, &c.err);
	braze_array *phi = with(&c, "multiply", input(&c, lat), RADIANS);
	braze_array *lambda = with(&c, "multiply", input(&c, lon), RADIANS);
	if (phi)
		braze_retain(phi);
	braze_array *east = half_sine(&c, lambda, lon0);
	braze_array *scale = with(&c, "multiply", unary(&c, "cos", phi), cos(lat0));
	braze_array *h = op(&c, "add", 2, braze_arg_array(half_sine(&c, phi, lat0)),
			    braze_arg_array(op(&c, "multiply", 2, braze_arg_array(scale),
					       braze_arg_array(east))));
	braze_array *d =
		with(&c, "multiply", unary(&c, "arcsin", unary(&c, "sqrt", h)), 2 * RADIUS_KM);
	if (!c.err.code && !braze_read(km, d, &c.err))
		for (int i = 0; i < N; i++)
			printf("Berlin to %-9s %8.1f km\n", city[i], km[i]);
	if (c.err.code)
		fprintf(stderr, "%s: %s\n", braze_error_name(c.err.code), c.err.text);
	braze_release(d);
	braze_close(c.session);
	return c.err.code != 0;
}
