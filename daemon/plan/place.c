/* SPDX-License-Identifier: Apache-2.0 */
/* plan/place.c - which device a plan runs on (see place.h). */
#include "place.h"

#include <stdio.h>

/* A device is assumed to be like this until a run has been measured. */
#define LINK_BYTES_US	20000.0	  /* between host and device, staged or registered */
#define MEMORY_BYTES_US 1000000.0 /* of the device's own memory */
#define LAUNCH_US	6.0
#define RUN_US		30.0 /* its events, its completion */
#define COMPILE_US	100000.0
/* A measured run may take so much longer than the CPU before the choice changes. */
#define TOLERANCE 1.1

double place_device_us(const struct place_facts *f)
{
	return RUN_US + LAUNCH_US * f->launches + f->math_us +
	       (double)(f->upload_bytes + f->download_bytes) / LINK_BYTES_US +
	       (double)f->touched_bytes / MEMORY_BYTES_US;
}

static void explain(struct place *p, const struct place_facts *f, uint8_t device, const char *name,
		    const char *also)
{
	snprintf(p->text, sizeof p->text,
		 "%s: predicted %.0f us on %s (%.1f MB to move, %u launches), %.0f us on the "
		 "CPU%s",
		 p->device == device ? name : "cpu", p->predicted_us, name,
		 (double)(f->upload_bytes + f->download_bytes) * 1e-6, f->launches, p->cpu_us,
		 also);
}

uint8_t place_choose(struct place *p, const struct place_facts *f, uint8_t device, const char *name)
{
	p->runs++;
	if (p->final)
		return p->device;
	p->predicted_us = place_device_us(f);
	p->cpu_us = f->cpu_us + (double)f->fetch_bytes / LINK_BYTES_US;
	/* Waiting for the compiler must pay in this very run; from the second on it is
	 * assumed to pay in those that follow. */
	if (p->runs == 1 && !f->compiled &&
	    p->cpu_us < p->predicted_us + COMPILE_US * f->launches) {
		p->device = 1;
		explain(p, f, device, name, "; its first run does not wait for the compiler");
		return p->device;
	}
	p->device = p->predicted_us < p->cpu_us ? device : 1;
	p->final = 1;
	explain(p, f, device, name, "");
	return p->device;
}

void place_measured(struct place *p, double us, uint8_t device)
{
	size_t n = 0;

	/* Only a run on the device, and only once: the first is slower than the rest. */
	if (!p->final || p->corrected || device == 1 || p->device != device || p->runs < 3)
		return;
	p->corrected = 1;
	if (us <= TOLERANCE * p->cpu_us)
		return;
	p->device = 1;
	while (n < sizeof p->text && p->text[n])
		n++;
	snprintf(p->text + n, sizeof p->text - n, "; measured %.0f us: cpu", us);
}
