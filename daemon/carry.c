/* SPDX-License-Identifier: Apache-2.0 */
/* carry.c - a value from one GPU to another, past the host.
 *
 * In:  a stored value that lies on devices only, none of them the one that wants it.
 * Out: the same on that one too; or nothing, and the value goes by way of the host.
 *
 * The worker that has it gives its memory a descriptor (as lend.c asks for clients), the other one
 * maps that memory as a region of its own, copies within what it can address, and lets go.  Each
 * belongs to its session like any transfer, and ends exactly once, whichever worker dies: the
 * memory outlives the one that gave it, and a mirror that was not filled to its end never becomes
 * valid. */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "run/job.h"

#define TELLING_BYTES 262144 /* smaller copies measure their overhead */

struct carry {
	struct executor_job run;
	struct plan nothing; /* a plan without steps */
	struct executor_copy copy;
	struct session *session;
	struct storage *storage; /* held, and `carrying` */
	struct device *from, *to;
	struct mirror *source, *mirror; /* each has one user more, while its worker lives */
	uint32_t region;		/* the other device's memory, as `to` sees it */
};

/* It failed: the next one may not.  A worker's death says nothing of the way. */
static void note_refusal(struct carry *c, const struct err *why)
{
	struct device_peer *p = device_peer(c->to, c->from);

	if (why->code == E_LOST || why->code == E_NOMEM || why->code == E_CANCELLED)
		return;
	p->refused++;
	log_warn("carry", "%s cannot have memory of %s%s: %s", c->to->name, c->from->name,
		 device_reaches(c->to, c->from) ? "" : ", and is not asked again", why->text);
}

static void note_success(struct carry *c)
{
	struct device_peer *p = device_peer(c->to, c->from);
	double us = (double)c->run.busy_ns * 1e-3, rate = (double)c->storage->bytes / (us + 1e-3);

	p->refused = 0;
	p->carried++;
	p->carried_bytes += c->storage->bytes;
	if (c->storage->bytes >= TELLING_BYTES && us > 0)
		p->bytes_us += p->bytes_us > 0 ? (rate - p->bytes_us) / 4 : rate;
}

/* *why is NULL: the value is there. */
static void end(struct carry *c, const struct err *why)
{
	struct session *s = c->session;
	struct storage *st = c->storage;
	/* A worker that died took its mirrors along; none comes while it is `carrying`. */
	struct mirror *to = mirror_on(st, c->to) == c->mirror ? c->mirror : NULL;
	struct mirror *from = mirror_on(st, c->from) == c->source ? c->source : NULL;

	if (to && !why && st->carrying == CARRYING_VALUE)
		to->valid = 1;
	if (why) {
		st->by_host = 1;
		note_refusal(c, why);
	} else {
		note_success(c);
	}
	st->carrying = CARRYING_NOTHING;
	if (to) {
		to->arriving = 0;
		mirror_release(to);
	}
	if (from)
		mirror_release(from);
	storage_unref(&s->trace, st);
	free(c);
	dispatch_transferred(s);
}

static void copied(struct executor_job *run, enum job_end how, const struct err *why)
{
	struct carry *c = run->data;
	struct err err = {.code = E_LOST};

	executor_device_import_end(c->to->executor, c->region);
	if (how == JOB_FAILED && why)
		err = *why;
	end(c, how == JOB_DONE ? NULL : &err);
}

static void given(void *data, int fd, uint64_t bytes, const struct err *why)
{
	struct carry *c = data;
	struct err err = {0};

	if (fd < 0) {
		end(c, why);
		return;
	}
	if (mirror_on(c->storage, c->from) == c->source)
		mirror_resize(c->source, bytes);
	if (mirror_on(c->storage, c->to) != c->mirror) {
		err_set(&err, E_LOST, "lost: the worker of %s has died", c->to->name);
		close(fd);
		end(c, &err);
		return;
	}
	c->region = device_region_number(c->to);
	executor_device_import(c->to->executor,
			       &(struct executor_import){.region = c->region,
							 .client = c->session->id,
							 .fd = fd,
							 .bytes = bytes,
							 .ordinal = device_ordinal(c->from)});
	close(fd);
	c->copy = (struct executor_copy){.from = {.region = c->region},
					 .to = mirror_place(c->mirror),
					 .bytes = c->storage->bytes};
	c->run = (struct executor_job){.plan = &c->nothing,
				       .client = c->session->id,
				       .name = c->session->name,
				       .pid = c->session->pid,
				       .nbefore = 1,
				       .copy = &c->copy,
				       .done = copied,
				       .data = c};
	executor_submit(c->to->executor, &c->run);
}

enum status carry_value(struct session *s, struct storage *st, struct device *to, struct err *err)
{
	struct mirror *source = mirror_source(st), *m = NULL;
	struct carry *c = NULL;
	enum status status;

	status = account_check(s, LIMITS_device_bytes, st->bytes, err);
	if (status)
		return status;
	m = mirror_use(to, &s->trace, st, s->id);
	if (!m)
		return err_set(err, E_NOMEM, "%s has no room for the value now", to->name);
	c = xcalloc(1, sizeof *c);
	c->session = s;
	c->storage = storage_ref(st);
	c->from = source->device;
	c->to = to;
	c->source = source;
	c->mirror = m;
	m->arriving = 1;
	source->users++;
	st->carrying = CARRYING_VALUE;
	session_jobs(s, 1);
	if (executor_device_export(source->device->executor, source->region, given, c))
		return OK;
	m->arriving = 0;
	st->carrying = CARRYING_NOTHING;
	mirror_release(m);
	source->users--;
	storage_unref(&s->trace, st);
	session_jobs(s, -1);
	free(c);
	return err_set(err, E_LOST, "lost: the worker of %s has died", source->device->name);
}
