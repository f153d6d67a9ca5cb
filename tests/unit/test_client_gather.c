/* SPDX-License-Identifier: Apache-2.0 */
/* Elements at places that are at hand: in the call, where every place is right. */
#include "fake_daemon.h"

#include "client.h"

#define ROWS	5
#define COLUMNS 7

static braze_array *made(braze_session *s, int dtype, int ndim, const int64_t *shape,
			 const void *data)
{
	braze_array *a = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_from_data(&a, s, dtype, ndim, shape, NULL, data, &e), 0, "%s", e.text);
	return a;
}

struct given {
	struct fake *f;
	braze_session *s;
	braze_array *a, *at;
};

static struct given begin(const int64_t places[3])
{
	const int64_t shape[2] = {ROWS, COLUMNS}, three = 3;
	struct given g = {.f = fake_start_near()};
	float data[ROWS * COLUMNS];

	for (int k = 0; k < ROWS * COLUMNS; k++)
		data[k] = (float)k;
	g.s = fake_connect(g.f, 0);
	g.a = made(g.s, BRAZE_FLOAT32, 2, shape, data);
	g.at = made(g.s, BRAZE_INT64, 1, &three, places);
	return g;
}

static void end(struct given g)
{
	braze_release(g.a);
	braze_release(g.at);
	braze_close(g.s);
	fake_stop(g.f);
}

static int gather(braze_array **out, const struct given *g, int axis, int mode)
{
	const braze_arg index = {.array = g->at};

	return braze_gather(out, g->a, 1, &axis, NULL, &index, mode, NULL);
}

static void is_near(braze_array *r, const float *want, int64_t n)
{
	cr_assert(r && r->buf->flags & BUF_NEAR);
	cr_assert_eq(braze_size(r), n);
	cr_assert(!memcmp(braze_at_hand(r), want, (size_t)n * sizeof *want));
	braze_release(r);
}

Test(client_gather, in_the_call_along_both_axes)
{
	struct given g = begin((const int64_t[]){2, -1, 0});
	float columns[ROWS * 3], rows[3 * COLUMNS];
	const int at[2][3] = {{2, 6, 0}, {2, 4, 0}};
	braze_array *r = NULL;

	for (int i = 0; i < ROWS; i++)
		for (int k = 0; k < 3; k++)
			columns[i * 3 + k] = (float)(i * COLUMNS + at[0][k]);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < COLUMNS; i++)
			rows[k * COLUMNS + i] = (float)(at[1][k] * COLUMNS + i);
	for (int m = 0; m < 2; m++) {
		int mode = m ? BRAZE_AT_HAND : BRAZE_RAISE;
		cr_assert_eq(gather(&r, &g, 1, mode), 0);
		is_near(r, columns, ROWS * 3);
		cr_assert_eq(gather(&r, &g, 0, mode), 0);
		is_near(r, rows, 3 * COLUMNS);
	}
	end(g);
}

/* What a negative place means is the mode's; one that means the end is left to the daemon. */
Test(client_gather, modes)
{
	static const struct {
		int mode;
		bool near;
	} cases[] = {
		{BRAZE_RAISE, true}, {BRAZE_WRAP, true}, {BRAZE_CLIP, false}, {BRAZE_KNOWN, false}};
	struct given g = begin((const int64_t[]){2, -1, 0});

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		braze_array *r = NULL;

		cr_assert_eq(gather(&r, &g, 1, cases[k].mode), 0);
		cr_assert_eq((r->buf->flags & BUF_NEAR) != 0, cases[k].near, "mode %d",
			     cases[k].mode);
		braze_release(r);
	}
	end(g);
}

Test(client_gather, a_wrong_place_is_recorded_or_nothing_is_done)
{
	struct given g = begin((const int64_t[]){2, COLUMNS, 0});
	braze_array *r = NULL;

	cr_assert_eq(gather(&r, &g, 1, BRAZE_RAISE), 0);
	cr_assert_not(r->buf->flags & BUF_NEAR);
	braze_release(r);
	cr_assert_eq(gather(&r, &g, 1, BRAZE_AT_HAND), 0);
	cr_assert_null(r);
	end(g);
}
