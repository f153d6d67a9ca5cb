/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/both.c - see both.h. */
#include "both.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "tap.h"

#define WAIT_MS 300000

struct value {
	unsigned dtype;
	int ndim;
	int64_t shape[LIMIT_NDIM];
	uint64_t count;
	void *data;
};

struct outcome {
	int n;
	struct value value[BOTH_OUTPUTS];
	braze_error err; /* code 0: none */
};

static void outcome_free(struct outcome *o)
{
	for (int i = 0; i < o->n; i++)
		free(o->value[i].data);
	o->n = 0;
}

int both_operand(braze_array **out, braze_session *s, unsigned dtype, int ndim,
		 const int64_t *shape, enum sample_style style, uint64_t seed, braze_error *err)
{
	size_t n = 1;
	void *data;
	int rc;

	for (int i = 0; i < ndim; i++)
		n *= (size_t)shape[i];
	data = xmalloc(n * dtype_row(dtype)->bytes + 1);
	sample_fill(data, dtype, n, style, seed);
	rc = braze_from_data(out, s, (int)dtype, ndim, shape, NULL, data, err);
	free(data);
	return rc;
}

static int take(struct value *v, braze_array *a, braze_error *err)
{
	v->dtype = (unsigned)braze_dtype_of(a);
	v->ndim = braze_ndim(a);
	memcpy(v->shape, braze_shape(a), (size_t)v->ndim * sizeof *v->shape);
	v->count = (uint64_t)braze_size(a);
	v->data = xmalloc(v->count * dtype_row(v->dtype)->bytes + 1);
	return braze_read(v->data, a, err);
}

/* All results at once, so that they become one plan. */
static int wait_for(braze_array **out, int n, braze_error *err)
{
	braze_future *f = NULL;
	int rc = braze_demand(&f, n, out, err);

	if (!rc)
		rc = braze_wait(f, WAIT_MS, NULL, NULL, err);
	braze_future_release(f);
	return rc;
}

static void run_on(struct outcome *o, const struct both *b, const struct program *p,
		   const char *device)
{
	braze_array *out[BOTH_OUTPUTS] = {NULL};
	int n = 0, rc = braze_set_device(b->session, device, &o->err);

	o->n = 0;
	if (!rc)
		rc = p->record(p->data, b->session, out, &n, &o->err);
	if (!rc && n)
		rc = wait_for(out, n, &o->err);
	for (int i = 0; i < n && !rc; i++) {
		rc = take(&o->value[i], out[i], &o->err);
		o->n = i + 1;
	}
	for (int i = 0; i < n; i++)
		braze_release(out[i]);
	o->err.code = rc;
}

static bool same_form(const struct value *a, const struct value *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim && a->count == b->count &&
	       !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

static void tell_gap(const struct program *p, int i, const struct value *dev,
		     const struct value *cpu, const struct sample_gap *gap)
{
	unsigned bytes = dtype_row(dev->dtype)->bytes;
	char on_device[96], on_cpu[96], label[24];

	snprintf(label, sizeof label, "result %d", i);
	sample_text(on_device, sizeof on_device, (const char *)dev->data + gap->first * bytes,
		    dev->dtype);
	sample_text(on_cpu, sizeof on_cpu, (const char *)cpu->data + gap->first * bytes,
		    cpu->dtype);
	tap_note("  %s (%s): %llu of %llu elements differ, the worst finite by %g ulp; element "
		 "%llu is %s on the device, %s on the CPU",
		 p->label[i] ? p->label[i] : label, dtype_row(dev->dtype)->name,
		 (unsigned long long)gap->differ, (unsigned long long)dev->count, gap->worst,
		 (unsigned long long)gap->first, on_device, on_cpu);
}

static bool compare(struct both *b, const struct program *p, const struct outcome *dev,
		    const struct outcome *cpu)
{
	bool good = true;

	if (dev->err.code || cpu->err.code) {
		if (dev->err.code == cpu->err.code) {
			b->refused++;
			tap_note("refused on both: %s: %s", p->name, cpu->err.text);
			return true;
		}
		tap_note("  on the device: %s", dev->err.code ? dev->err.text : "a result");
		tap_note("  on the CPU: %s", cpu->err.code ? cpu->err.text : "a result");
		host_tell_log(b->host, 8);
		return false;
	}
	for (int i = 0; i < dev->n; i++) {
		const struct value *x = &dev->value[i], *y = &cpu->value[i];
		struct sample_gap gap;

		if (!same_form(x, y)) {
			tap_note("  result %d has another shape or type on the device", i);
			good = false;
			continue;
		}
		if (!sample_same(&gap, x->data, y->data, x->dtype, x->count, p->rule[i],
				 p->judge ? &p->judge[i] : NULL)) {
			tell_gap(p, i, x, y, &gap);
			good = false;
		}
		b->worst = fmax(b->worst, gap.worst);
	}
	return good && dev->n == cpu->n;
}

bool both_check(struct both *b, const struct program *p)
{
	struct outcome dev = {.n = 0}, cpu = {.n = 0};
	double runs, there, fell;
	bool good, idle;

	if (b->parts && b->met++ % b->parts != b->part)
		return true;
	runs = host_device(b->host, "cpu").runs;
	there = host_device(b->host, b->host->device).runs;
	run_on(&dev, b, p, b->host->device);
	fell = host_device(b->host, "cpu").runs - runs;
	idle = !dev.err.code && host_device(b->host, b->host->device).runs == there;
	run_on(&cpu, b, p, "cpu");
	b->checks++;
	good = compare(b, p, &dev, &cpu);
	if (fell > 0 || idle) {
		b->fallbacks++;
		tap_note("fallback: %s: %.0f runs on the CPU%s", p->name, fell,
			 idle ? ", none on the device" : "");
		good = false;
	}
	outcome_free(&dev);
	outcome_free(&cpu);
	return tap_result(good, "%s", p->name);
}
