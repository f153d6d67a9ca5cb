/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/bench_products.c - matrix products on the device: their rate by its own time, and
 * whether its vendor's library, braze's kernel or loops of the plan computed them. */
#include <stdio.h>

#include "cudaside.h"
#include "sections.h"
#include "tap.h"

#define ROUNDS 5
#define WARM   3 /* one compiles, one measures for the cutting */

/* Slices of products so far, by the library and by our kernel. */
struct counts {
	double library, own;
};

static struct counts counted(const struct host *h)
{
	cJSON *page = host_ask(h, "/status");
	const cJSON *row = cJSON_GetObjectItem(page, "device_products");
	struct counts c = {.library = cJSON_GetNumberValue(cJSON_GetObjectItem(row, "library")),
			   .own = cJSON_GetNumberValue(cJSON_GetObjectItem(row, "own"))};

	cJSON_Delete(page);
	return c;
}

/* One product, of which only the sum is read. */
static int once(braze_array *a, braze_array *b, braze_error *err)
{
	braze_array *product = NULL, *sum = NULL;
	const void *data;
	int rc = braze_matmul(&product, a, b, err);

	if (!rc)
		rc = braze_reduce(&sum, OP_SUM, product, 3, 0, -1, err);
	braze_release(product);
	if (!rc)
		rc = braze_data(&data, sum, NULL, NULL, err);
	braze_release(sum);
	return rc;
}

static void measure(struct both *b, unsigned dtype, const char *precision, int64_t n)
{
	const char *device = b->host->device, *type = dtype_row(dtype)->name;
	int64_t shape[2] = {n, n};
	double seconds[ROUNDS], rate;
	double work = (dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128 ? 8.0 : 2.0) * (double)n *
		      (double)n * (double)n;
	braze_array *x = NULL, *y = NULL;
	struct counts before, after;
	braze_error err = {0};
	char name[64];
	int rc = braze_set_device(b->session, device, &err);

	if (!rc)
		rc = braze_set_precision(b->session, precision, &err);
	if (!rc)
		rc = both_operand(&x, b->session, dtype, 2, shape, SAMPLE_WIDE, 1, &err);
	if (!rc)
		rc = both_operand(&y, b->session, dtype, 2, shape, SAMPLE_WIDE, 2, &err);
	for (unsigned i = 0; i < WARM && !rc; i++)
		rc = once(x, y, &err);
	before = counted(b->host);
	for (unsigned i = 0; i < ROUNDS && !rc; i++) {
		double start = host_device(b->host, device).busy;

		rc = once(x, y, &err);
		seconds[i] = host_device(b->host, device).busy - start;
	}
	after = counted(b->host);
	braze_release(x);
	braze_release(y);
	braze_set_precision(b->session, NULL, &err);
	if (rc) {
		tap_result(false, "%s products of %lld x %lld: %s", type, (long long)n,
			   (long long)n, err.text);
		return;
	}
	rate = work / cudaside_median(seconds, ROUNDS) * 1e-9;
	tap_note("  %-10s %-4s %5lld x %-5lld %12.1f GFLOP/s, by %s", type, precision, (long long)n,
		 (long long)n, rate,
		 after.own > before.own ? "braze's own kernel"
					: (after.library > before.library ? "cuBLAS" : "loops"));
	snprintf(name, sizeof name, "%s%s, %lld", type, *precision == 't' ? " tf32" : "",
		 (long long)n);
	tap_figure("products", name, rate, "GFLOP/s");
}

void bench_products(struct both *b)
{
	static const int64_t sizes[] = {64, 1024, 4096, 8192};
	static const struct {
		uint8_t dtype;
		const char *precision;
	} types[] = {{DT_FLOAT16, "full"},    {DT_FLOAT32, "full"},   {DT_FLOAT32, "tf32"},
		     {DT_FLOAT64, "full"},    {DT_COMPLEX64, "full"}, {DT_COMPLEX64, "tf32"},
		     {DT_COMPLEX128, "full"}, {DT_INT8, "full"},      {DT_INT32, "full"}};

	tap_note("matrix products and the sum of each, operands on the device; by its own time");
	for (unsigned k = 0; k < sizeof types / sizeof *types; k++) {
		for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			if ((b->quick && sizes[i] > 64) ||
			    (types[k].dtype == DT_INT32 && sizes[i] > 1024))
				continue;
			measure(b, types[k].dtype, types[k].precision, sizes[i]);
		}
	}
}
