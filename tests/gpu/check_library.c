/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_library.c - library steps on the device and on the CPU: scans, sorts, what a mask
 * chooses, random numbers, searches, products of sparse matrices.  All of them have the same bits.
 */
#include <stdio.h>
#include <string.h>

#include "sections.h"
#include "tap.h"

#define COUNT_QUICK 9001 /* some blocks of everything that is cut into blocks, and a rest */
#define COUNT	    300007

struct library {
	unsigned dtype, op;
	int64_t count;
	bool across; /* of a scan: lanes lie side by side */
	uint64_t seed;
};

static int given(braze_array **out, const struct library *t, braze_session *s, unsigned dtype,
		 uint64_t salt, braze_error *err)
{
	const int64_t across[2] = {t->count / 7, 7};

	return both_operand(out, s, dtype, t->across ? 2 : 1, t->across ? across : &t->count,
			    SAMPLE_SMALL, t->seed + salt, err);
}

static int record_scan(const void *data, braze_session *s, braze_array **out, int *n,
		       braze_error *err)
{
	const struct library *t = data;
	braze_array *in = NULL;
	int rc = given(&in, t, s, t->dtype, 0, err);

	if (!rc)
		rc = braze_scan(&out[0], (int)t->op, in, 0, -1, err);
	*n = !rc;
	braze_release(in);
	return rc;
}

/* Elements in order, and their places. */
static int record_sort(const void *data, braze_session *s, braze_array **out, int *n,
		       braze_error *err)
{
	static const char *const name[] = {"sort", "argsort"};
	const struct library *t = data;
	braze_array *in = NULL;
	int rc = given(&in, t, s, t->dtype, 0, err);

	for (int k = 0; k < 2 && !rc; k++) {
		rc = braze_sort(&out[k], braze_op_find(name[k]), in, t->across, err);
		*n += !rc;
	}
	braze_release(in);
	return rc;
}

/* What the mask chooses, its places, and reductions of it. */
static int record_mask(const void *data, braze_session *s, braze_array **out, int *n,
		       braze_error *err)
{
	static const char *const name[] = {"sum", "prod", "any", "all", "min", "max"};
	const struct library *t = data;
	bool complex = dtype_row(t->dtype)->cls == CLASS_COMPLEX;
	braze_array *in = NULL, *mask = NULL, *ranks = NULL;
	int rc = given(&in, t, s, t->dtype, 0, err);

	if (!rc)
		rc = given(&mask, t, s, DT_BOOL, 1, err);
	if (!rc)
		rc = braze_select(&out[0], in, mask, NULL, NULL, err);
	*n = !rc;
	if (!rc)
		rc = braze_nonzero(&out[1], mask, NULL, NULL, err);
	*n += !rc;
	for (unsigned k = 0; k < (complex ? 4u : 6u) && !rc; k++) {
		rc = braze_select_reduce(&out[2 + k], braze_op_find(name[k]), in, mask, &ranks, -1,
					 err);
		*n += !rc;
	}
	braze_release(in);
	braze_release(mask);
	braze_release(ranks);
	return rc;
}

static int record_search(const void *data, braze_session *s, braze_array **out, int *n,
			 braze_error *err)
{
	const struct library *t = data;
	braze_array *among = NULL, *needles = NULL;
	int rc = given(&among, t, s, t->dtype, 0, err);

	if (!rc)
		rc = given(&needles, t, s, t->dtype, 1, err);
	/* In no order: the places are some that they have, the same ones on both. */
	for (int side = BRAZE_LEFT; side <= BRAZE_RIGHT && !rc; side++) {
		rc = braze_search(&out[side], side, among, needles, err);
		*n += !rc;
	}
	if (!rc && t->dtype == DT_FLOAT64) {
		rc = braze_interp(&out[2], needles, among, needles, err);
		*n += !rc;
	}
	braze_release(among);
	braze_release(needles);
	return rc;
}

static int record_draws(const void *data, braze_session *s, braze_array **out, int *n,
			braze_error *err)
{
	static const int64_t span[] = {100, 1ll << 40, INT64_MAX};
	const struct library *t = data;
	braze_random r = {.key = t->seed};
	int rc = 0;

	for (int wide = 0; wide < 2 && !rc; wide++) {
		int type = wide ? BRAZE_FLOAT64 : BRAZE_FLOAT32;

		rc = braze_random_uniform(&out[*n], s, &r, type, 1, &t->count, -2, 5, err);
		*n += !rc;
		if (!rc)
			rc = braze_random_normal(&out[*n], s, &r, type, 1, &t->count, 3, 0.5, err);
		*n += !rc;
		if (!rc)
			rc = braze_random_exponential(&out[*n], s, &r, type, 1, &t->count, 2, err);
		*n += !rc;
	}
	for (int k = 0; k < 3 && !rc; k++) {
		rc = braze_random_integers(&out[*n], s, &r, 1, &t->count, -50, span[k], err);
		*n += !rc;
	}
	return rc;
}

static void check(struct both *b, const struct library *t,
		  int (*record)(const void *, braze_session *, braze_array **, int *,
				braze_error *),
		  const char *what)
{
	struct program p = {.record = record, .data = t};

	snprintf(p.name, sizeof p.name, "%s of %s", what, dtype_row(t->dtype)->name);
	both_check(b, &p);
}

static void check_scans(struct both *b, struct library t)
{
	bool ordered = dtype_row(t.dtype)->cls != CLASS_COMPLEX;

	if (t.dtype == DT_FLOAT16)
		return;
	for (unsigned op = OP_CUMSUM; op <= (ordered ? OP_CUMMAX : OP_CUMPROD); op++)
		for (int across = 0; across < 2; across++) {
			t.op = op;
			t.across = across;
			check(b, &t, record_scan, across ? "scan by columns" : op_text(op));
		}
}

void check_library(struct both *b)
{
	const char *quick = "?hefdF";

	tap_note("library steps: scans, sorts, masks, searches, random numbers");
	for (unsigned d = 0; d < DTYPE_END; d++) {
		struct library t = {.dtype = d,
				    .count = b->quick ? COUNT_QUICK : COUNT,
				    .seed = b->seed + 100 * d};

		if (!dtype_computes(d) || (b->quick && !strchr(quick, dtype_row(d)->chr)))
			continue;
		check_scans(b, t);
		check(b, &t, record_sort, "sort");
		t.across = true;
		check(b, &t, record_sort, "sort of short rows");
		t.across = false;
		check(b, &t, record_mask, "what a mask chooses");
		check(b, &t, record_search, "search");
		if (d == DT_FLOAT64)
			check(b, &t, record_draws, "random numbers");
	}
}
