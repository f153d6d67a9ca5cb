/* SPDX-License-Identifier: Apache-2.0 */
/* report_doing.c - what a session is doing, or what it waits for, in words.
 *
 * Looks only: nothing is asked for or begun on the way. */
#include <stdio.h>

#include "base/textbuf.h"
#include "brazed.h"
#include "cache/cache.h"
#include "report.h"
#include "run/executor.h"
#include "run/job.h"

#define NAMED 3 /* sessions that a device works for, at most */

/* The kernel of the plan whose code this device does not have yet; NULL: none. */
static const struct kernel *missing(const struct job *j, const struct device *dev)
{
	for (uint32_t i = 0; dev->index && i < j->run.plan->nstep; i++) {
		const struct kernel *k = j->run.plan->step[i].kernel[dev->index];

		if (k && k->state < KERNEL_READY)
			return k;
	}
	return NULL;
}

/* It is planned, and was not sent to its device. */
static void waiting(struct textbuf *t, const struct session *s)
{
	const struct job *j = s->waiting;
	const struct device *dev = j->device;
	const struct kernel *k = dev ? missing(j, dev) : NULL;

	if (dev && dev->state == DEVICE_STARTING)
		textbuf_put(t, "waits for %s to start", dev->name);
	else if (k)
		textbuf_put(t, "waits for code of kernel %u for %s", k->id, dev->name);
	else if (dev && s->d->crowded)
		textbuf_put(t, "waits for room in the memory of %s", dev->name);
	else
		textbuf_put(t, "waits for values in the making or on their way");
}

/* It was sent, which is not yet its turn. */
static void running(struct textbuf *t, const struct session *s)
{
	const struct device *dev = s->running->device;
	uint64_t client[NAMED];
	uint32_t n = executor_clients(dev->executor, client, NAMED);

	for (uint32_t i = 0; i < n; i++)
		if (client[i] == s->id) {
			textbuf_put(t, "runs on %s", dev->name);
			return;
		}
	textbuf_put(t, "waits for %s", dev->name);
	for (uint32_t i = 0; i < n; i++) {
		const struct session *other = session_find(s->d, client[i]);

		textbuf_put(t, "%s %llu (%s)", i ? "," : ", which works for",
			    (unsigned long long)client[i], other ? other->name : "ended");
	}
}

void report_doing(char *buf, size_t n, const struct session *s)
{
	struct textbuf t = {.buf = buf, .cap = n};

	buf[0] = 0;
	if (s->held)
		textbuf_put(&t, "paused by %s", s->paused_by);
	else if (s->running && s->running->device)
		running(&t, s);
	else if (s->planning)
		textbuf_put(&t, "is planned: %u operations", s->planning->partition->part.nop);
	else if (s->waiting)
		waiting(&t, s);
	else if (s->jobs)
		textbuf_put(&t, "waits for a copy from a device");
}
