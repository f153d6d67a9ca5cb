/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/bench_kernels.c - families of kernels against the bandwidth of a copy.
 *
 * A program is written as a partition; the daemon's passes make its nests, its emitter
 * their text, its rules the launches; only memory and timing are ours.  The share of
 * the bandwidth counts bytes that must move, once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaside.h"
#include "emit/emit.h"
#include "golden/part_text.h"
#include "nest/compilepart.h"
#include "sections.h"
#include "tap.h"
#include "cuda/cuda_facts.h"
#include "cuda/cuda_launch.h"

#define ROUNDS	   15
#define TEXT_BYTES 8192
#define COPY_BYTES (1ull << 30)
#define COPY_QUICK (4ull << 20)

struct family {
	const char *name;
	double traffic; /* bytes for each element of the input */
	void (*write)(char *text, size_t n, long long side);
};

/* Each writes a partition over a square of side x side elements. */

static void write_chain(char *t, size_t n, long long s)
{
	long long b = 4 * s * s, k = s * s;

	snprintf(t, n,
		 "immf 0 2.5\nvalue 0 input %lld\nvalue 1 input %lld\nvalue 2 temp %lld\n"
		 "value 3 temp %lld\nvalue 4 temp %lld\nvalue 5 temp %lld\nvalue 6 output %lld\n"
		 "op MULTIPLY v0:float32[%lld] i0:float64~ -> v2:float32[%lld]\n"
		 "op ADD v2:float32[%lld] v1:float32[%lld] -> v3:float32[%lld]\n"
		 "op MULTIPLY v3:float32[%lld] v0:float32[%lld] -> v4:float32[%lld]\n"
		 "op SUBTRACT v4:float32[%lld] v1:float32[%lld] -> v5:float32[%lld]\n"
		 "op MULTIPLY v5:float32[%lld] v3:float32[%lld] -> v6:float32[%lld]\n",
		 b, b, b, b, b, b, b, k, k, k, k, k, k, k, k, k, k, k, k, k, k);
}

static void write_math(char *t, size_t n, long long s)
{
	long long b = 8 * s * s, k = s * s;

	snprintf(t, n,
		 "value 0 input %lld\nvalue 1 temp %lld\nvalue 2 temp %lld\nvalue 3 temp %lld\n"
		 "value 4 temp %lld\nvalue 5 output %lld\n"
		 "op SIN v0:float64[%lld] -> v1:float64[%lld]\n"
		 "op SQUARE v1:float64[%lld] -> v2:float64[%lld]\n"
		 "op COS v0:float64[%lld] -> v3:float64[%lld]\n"
		 "op SQUARE v3:float64[%lld] -> v4:float64[%lld]\n"
		 "op ADD v2:float64[%lld] v4:float64[%lld] -> v5:float64[%lld]\n",
		 b, b, b, b, b, b, k, k, k, k, k, k, k, k, k, k, k);
}

/* Every second element of a row, a unit apart in the result. */
static void write_strided(char *t, size_t n, long long s)
{
	snprintf(t, n,
		 "value 0 input %lld\nvalue 1 output %lld\n"
		 "op NEGATIVE v0:float32+0[%lld:%lld,%lld:8] -> v1:float32[%lld,%lld]\n",
		 4 * s * s, 4 * s * (s / 2), s, 4 * s, s / 2, s, s / 2);
}

static void write_transposed(char *t, size_t n, long long s)
{
	snprintf(t, n,
		 "value 0 input %lld\nvalue 1 output %lld\n"
		 "op NEGATIVE v0:float32+0[%lld:4,%lld:%lld] -> v1:float32[%lld,%lld]\n",
		 4 * s * s, 4 * s * s, s, s, 4 * s, s, s);
}

static void write_stencil(char *t, size_t n, long long s)
{
	long long b = 8 * s * s, r = 8 * s, m = s - 2, c = 8 * m * m;
	int at = snprintf(t, n,
			  "immf 0 0.2\nvalue 0 input %lld\nvalue 1 temp %lld\nvalue 2 temp %lld\n"
			  "value 3 temp %lld\nvalue 4 temp %lld\nvalue 5 output %lld\n",
			  b, c, c, c, c, c);
	const long long offset[5] = {r + 8, r, r + 16, 8, 2 * r + 8};

	at += snprintf(t + at, n - (size_t)at,
		       "op ADD v0:float64+%lld[%lld:%lld,%lld:8] v0:float64+%lld[%lld:%lld,%lld:8]"
		       " -> v1:float64[%lld,%lld]\n",
		       offset[0], m, r, m, offset[1], m, r, m, m, m);
	for (int k = 2; k < 5; k++)
		at += snprintf(t + at, n - (size_t)at,
			       "op ADD v%d:float64[%lld,%lld] v0:float64+%lld[%lld:%lld,%lld:8] -> "
			       "v%d:float64[%lld,%lld]\n",
			       k - 1, m, m, offset[k], m, r, m, k, m, m);
	snprintf(t + at, n - (size_t)at,
		 "op MULTIPLY v4:float64[%lld,%lld] i0:float64~ -> v5:float64[%lld,%lld]\n", m, m,
		 m, m);
}

static void write_sum(char *t, size_t n, long long s, unsigned axes, long long left)
{
	char shape[32] = "[]";

	if (axes != 3)
		snprintf(shape, sizeof shape, "[%lld]", left);
	snprintf(t, n,
		 "value 0 input %lld\nvalue 1 output %lld\n"
		 "op SUM axes %u v0:float32[%lld,%lld] -> v1:float32%s\n",
		 4 * s * s, 4 * left, axes, s, s, shape);
}

static void write_rows(char *t, size_t n, long long s)
{
	write_sum(t, n, s, 2, s);
}

static void write_columns(char *t, size_t n, long long s)
{
	write_sum(t, n, s, 1, s);
}

static void write_all(char *t, size_t n, long long s)
{
	write_sum(t, n, s, 3, 1);
}

static void write_softmax(char *t, size_t n, long long s)
{
	long long b = 4 * s * s, r = 4 * s;

	snprintf(t, n,
		 "value 0 input %lld\nvalue 1 temp %lld\nvalue 2 temp %lld\nvalue 3 temp %lld\n"
		 "value 4 temp %lld\nvalue 5 output %lld\n"
		 "op MAX axes 2 v0:float32[%lld,%lld] -> v1:float32[%lld]\n"
		 "op SUBTRACT v0:float32[%lld,%lld] v1:float32+0[%lld:4,%lld:0] -> "
		 "v2:float32[%lld,%lld]\n"
		 "op EXP v2:float32[%lld,%lld] -> v3:float32[%lld,%lld]\n"
		 "op SUM axes 2 v3:float32[%lld,%lld] -> v4:float32[%lld]\n"
		 "op DIVIDE v3:float32[%lld,%lld] v4:float32+0[%lld:4,%lld:0] -> "
		 "v5:float32[%lld,%lld]\n",
		 b, r, b, b, r, b, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s,
		 s);
}

static const struct family families[] = {{"chain of 5, float32", 12, write_chain},
					 {"sin^2 + cos^2, float64", 16, write_math},
					 {"every second, float32", 6, write_strided},
					 {"transposed, float32", 8, write_transposed},
					 {"5-point stencil, float64", 16, write_stencil},
					 {"softmax of rows, float32", 8, write_softmax},
					 {"sums of rows, float32", 4, write_rows},
					 {"sums of columns, float32", 4, write_columns},
					 {"sum of all, float32", 4, write_all}};

/* ---- One program on the device ---- */

struct ready {
	struct cuda_launches launches;
	CUfunction entry[CUDA_LAUNCHES];
	char block[CUDA_LAUNCHES][CUDA_ARGS_BYTES];
	CUmodule module;
	CUdeviceptr slot[16], part, word;
	unsigned nslot;
};

static bool place(struct ready *r, struct cudaside *c, const struct nest *n, struct err *err)
{
	int64_t stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM] = {0};
	uint64_t base[LIMIT_NEST_ACCESSES], scalar[LIMIT_NEST_SCALARS * 2] = {0};
	struct nest *spec = xcalloc(1, sizeof *spec);
	struct cuda_step step = {.spec = spec,
				 .extent = n->extent,
				 .stride = stride,
				 .base = base,
				 .scalar = scalar,
				 .hi = nest_parallel(n)};
	bool good;

	compilepart_spec(spec, n);
	for (unsigned a = 0; a < n->naccess; a++) {
		base[a] = r->slot[n->access[a].slot] + (uint64_t)n->access[a].offset;
		memcpy(stride + a * LIMIT_NDIM, n->access[a].stride, sizeof n->access[a].stride);
	}
	good = !cuda_launch_plan(&r->launches, &step, c->units, err);
	if (good && r->launches.part_bytes)
		r->part = cudaside_alloc(c, r->launches.part_bytes);
	for (unsigned i = 0; good && i < r->launches.n; i++)
		cuda_launch_args(r->block[i], &step);
	free(spec);
	return good;
}

/* The geometry that the worker's model gives, before anything is tuned. */
static void shape(struct ready *r, struct cudaside *c)
{
	struct cuda_limits limits;

	cuda_facts_limits(&limits, &c->api, c->device);
	for (unsigned i = 0; i < r->launches.n; i++) {
		struct cuda_launch *item = &r->launches.item[i];
		struct cuda_shape model;
		struct cuda_facts facts;

		cuda_facts_entry(&facts, &c->api, r->entry[i], c->units, &limits);
		cuda_geometry_model(&model, item, &facts);
		cuda_geometry_apply(item, &model, &facts);
		cuda_launch_set(r->block[i], &r->launches, item, r->word, r->part, 0);
	}
}

static bool load(struct ready *r, struct cudaside *c, const struct nest *n, struct err *err)
{
	struct nest *spec = xcalloc(1, sizeof *spec);
	char *source = NULL;
	bool good;

	compilepart_spec(spec, n);
	good = !emit_cuda_source(&source, spec, err);
	for (unsigned i = 0; good && i < r->launches.n; i++) {
		const char *name = cuda_entry_name(r->launches.item[i].entry);

		if (!i)
			r->entry[i] = cudaside_function(c, &r->module, source, name);
		else
			cudaside_good(c, c->api.cuModuleGetFunction(&r->entry[i], r->module, name),
				      name);
		good = r->entry[i] != NULL;
	}
	free(source);
	free(spec);
	return good;
}

static double run(struct ready *r, struct cudaside *c)
{
	cudaside_start(c);
	for (unsigned i = 0; i < r->launches.n; i++) {
		void *params[] = {r->block[i]};

		cudaside_good(c,
			      c->api.cuLaunchKernel(r->entry[i], r->launches.item[i].grid, 1, 1,
						    r->launches.item[i].threads, 1, 1, 0, c->stream,
						    params, NULL),
			      "a launch");
	}
	return cudaside_stop(c);
}

static void let_go(struct ready *r, struct cudaside *c)
{
	for (unsigned i = 0; i < r->nslot; i++)
		if (r->slot[i])
			c->api.cuMemFree_v2(r->slot[i]);
	if (r->part)
		c->api.cuMemFree_v2(r->part);
	if (r->word)
		c->api.cuMemFree_v2(r->word);
	if (r->module)
		c->api.cuModuleUnload(r->module);
}

/* Median seconds of the program; 0: it cannot be measured, *err tells why. */
static double measure(struct cudaside *c, const char *text, unsigned rounds, struct err *err)
{
	struct part part = part_text_read(text);
	struct ready *r = xcalloc(1, sizeof *r);
	struct plan *plan = NULL;
	double t[ROUNDS], median = 0;

	if (compilepart_run(&plan, &part, NULL, NULL, NULL, err))
		plan = NULL;
	else if (plan->nstep != 1 || plan->nslot > 16)
		err_set(err, E_INTERNAL, "the program became %u kernels", plan->nstep);
	else {
		r->nslot = plan->nslot;
		r->word = cudaside_alloc(c, 4);
		for (unsigned i = 0; i < plan->nslot; i++)
			r->slot[i] = cudaside_alloc(c, plan->slot[i].bytes);
		if (!c->failed && place(r, c, plan->step[0].nest, err) &&
		    load(r, c, plan->step[0].nest, err)) {
			shape(r, c);
			run(r, c);
			for (unsigned i = 0; i < rounds; i++)
				t[i] = run(r, c);
			median = cudaside_median(t, rounds);
		}
	}
	let_go(r, c);
	free(r);
	plan_free(plan);
	part_text_free(&part);
	return c->failed ? 0 : median;
}

static void bench_family(struct cudaside *c, const struct family *f, const long long *sides,
			 unsigned nsides, double bandwidth, unsigned rounds)
{
	char text[TEXT_BYTES], line[256], name[64];
	int at = snprintf(line, sizeof line, "%-26s", f->name);

	for (unsigned i = 0; i < nsides; i++) {
		double bytes = f->traffic * (double)(sides[i] * sides[i]), s;
		struct err err = {0};

		f->write(text, sizeof text, sides[i]);
		s = measure(c, text, rounds, &err);
		if (s <= 0) {
			tap_result(false, "%s, side %lld, runs: %s", f->name, sides[i], err.text);
			return;
		}
		at += snprintf(line + at, sizeof line - (size_t)at, "%11.1f us %5.0f %%", s * 1e6,
			       100 * bytes / s / bandwidth);
		snprintf(name, sizeof name, "%s, %.0e elements", f->name,
			 (double)(sides[i] * sides[i]));
		tap_figure("kernels", name, s * 1e6, "us");
		snprintf(name, sizeof name, "%s, %.0e elements, share", f->name,
			 (double)(sides[i] * sides[i]));
		tap_figure("kernels", name, bytes / s / bandwidth, "of a copy's bandwidth");
	}
	tap_note("  %s", line);
}

void bench_kernels(const struct options *o)
{
	static const long long full[] = {1000, 3162, 10000}, quick[] = {64, 128};
	const long long *sides = o->quick ? quick : full;
	unsigned nsides = o->quick ? 2 : 3;
	struct cudaside c;
	struct err err = {0};
	double bandwidth;

	if (cudaside_open(&c, o->device, &err)) {
		tap_result(false, "kernels can be measured: %s", err.text);
		return;
	}
	bandwidth = cudaside_copy_rate(&c, o->quick ? COPY_QUICK : COPY_BYTES, ROUNDS);
	tap_note("kernels by size, and their share of a copy's %.0f GB/s", bandwidth * 1e-9);
	for (unsigned i = 0; i < sizeof families / sizeof *families && !c.failed; i++)
		bench_family(&c, &families[i], sides, nsides, bandwidth, o->quick ? 3 : ROUNDS);
	tap_result(!c.failed, "kernels were measured");
	cudaside_close(&c);
}
