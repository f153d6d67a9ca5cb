/* SPDX-License-Identifier: Apache-2.0 */
/* isolate.c - a worker for each user and GPU (isolation = user).
 *
 * In:  a session that is to use a GPU.
 * Out: its user's own struct device for it, which differs from the named one in its worker, so in
 *      its context on the GPU: kernels of one user have no address of another one's memory.
 *
 * The named device keeps a worker that computes nothing: it tells what the GPU is, for choices and
 * for the status page.  A user's worker starts when he first uses the GPU and ends when his last
 * session has been gone for a while.  What differs is whose memory it is; what a kernel is, what it
 * takes and whether it is quarantined is everybody's, since that is the kernels' text. */
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "run/job.h"
#include "trace/arena.h"
#include "trace/share.h"

#define IDLE_MS 60000 /* after a user's last session */
#define LOOK_MS 20    /* between two looks at a worker that is ending */

struct device *isolate_next(const struct brazed *d, const struct device *after)
{
	if (!after)
		return (struct device *)(uintptr_t)&d->device[0];
	if (!after->root && after->index + 1u < d->ndevice)
		return (struct device *)(uintptr_t)(after + 1);
	return after->root ? after->next_own : d->own;
}

static struct device *find(const struct brazed *d, uint32_t index, uint32_t uid)
{
	struct device *dev = d->own;

	while (dev && (dev->index != index || dev->uid != uid || dev->ending))
		dev = dev->next_own;
	return dev;
}

struct device *isolate_own(const struct session *s, uint32_t index)
{
	if (!index || !s->d->isolated)
		return &s->d->device[index];
	return find(s->d, index, s->uid);
}

/* ---- The beginning ---- */

/* What its worker needs before the first job: everything that the user's sessions can name. */
static enum status introduce(struct device *dev, struct err *err)
{
	struct brazed *d = dev->brazed;
	enum status st = OK;

	for (struct session *s = d->sessions; s && !st; s = s->next) {
		if (s->uid != dev->uid || !s->arena)
			continue;
		st = executor_region_add(dev->executor, s->region, arena_fd(s->arena),
					 arena_bytes(s->arena), err);
		account_apply(s);
	}
	for (const struct share *h = d->shares.first; h && !st; h = h->next)
		st = executor_region_add(dev->executor, h->region, h->writer, h->bytes, err);
	return st;
}

static uint32_t count(const struct brazed *d, uint32_t index)
{
	uint32_t n = 0;

	for (const struct device *dev = d->own; dev; dev = dev->next_own)
		n += dev->index == index;
	return n;
}

static void take_out(struct device *dev)
{
	struct device **at = &dev->brazed->own;

	while (*at != dev)
		at = &(*at)->next_own;
	*at = dev->next_own;
}

enum status isolate_enter(struct device **out, struct session *s, struct device *root,
			  struct err *err)
{
	struct device *dev = isolate_own(s, root->index);
	struct brazed *d = s->d;
	enum status st = OK;

	*out = dev;
	if (dev)
		return OK;
	if (count(d, root->index) >= LIMIT_USER_WORKERS)
		return err_set(err, E_LIMIT,
			       "%s has workers of %d users, as many as are possible: one ends a "
			       "minute after its user's last session",
			       root->name, LIMIT_USER_WORKERS);
	dev = xcalloc(1, sizeof *dev);
	*dev = (struct device){.index = root->index,
			       .state = DEVICE_STARTING,
			       .brazed = d,
			       .root = root,
			       .owns = &d->own,
			       .uid = s->uid,
			       .next_own = d->own};
	memcpy(dev->name, root->name, sizeof dev->name);
	memcpy(dev->uuid, root->uuid, sizeof dev->uuid);
	d->own = dev;
	st = dispatch_start_device(dev, err);
	if (!st)
		st = introduce(dev, err);
	if (st) {
		take_out(dev);
		executor_destroy(dev->executor);
		free(dev);
		return st;
	}
	log_info("isolate", "%s: a worker for user %u", dev->name, dev->uid);
	*out = dev;
	return OK;
}

enum status isolate_choose(struct job *j, struct err *err)
{
	struct brazed *d = j->session->d;
	struct device *dev = choose_for(j);
	enum status st = OK;

	j->device = dev;
	if (!dev->index || !d->isolated)
		return OK;
	st = isolate_enter(&dev, j->session, &d->device[dev->index], err);
	if (st && j->placed) {
		choose_cpu(j);
		return OK;
	}
	j->device = st ? j->device : dev;
	return st;
}

/* ---- The end ---- */

static uint64_t idle_ms(void)
{
	const char *text = getenv("BRAZE_ISOLATION_IDLE_MS");

	return text && *text ? strtoull(text, NULL, 10) : IDLE_MS;
}

static bool is_here(const struct brazed *d, uint32_t uid)
{
	for (const struct session *s = d->sessions; s; s = s->next)
		if (s->uid == uid)
			return true;
	return false;
}

static void end(struct device *dev)
{
	log_info("isolate", "%s: the worker of user %u has ended", dev->name, dev->uid);
	take_out(dev);
	executor_destroy(dev->executor);
	free(dev);
}

/* End what is due; the next look is when the next one may be. */
static void look(uv_timer_t *t)
{
	struct brazed *d = t->data;
	uint64_t now = uv_now(d->loop), idle = idle_ms(), next = 0;
	struct device *other;

	for (struct device *dev = d->own; dev; dev = other) {
		other = dev->next_own;
		if (is_here(d, dev->uid) || dev->newest) {
			dev->left_ms = 0;
			continue;
		}
		dev->left_ms = dev->left_ms ? dev->left_ms : now + 1;
		dev->ending |= now + 1 >= dev->left_ms + idle;
		if (dev->ending && executor_quit(dev->executor))
			end(dev);
		else if (dev->ending)
			next = LOOK_MS;
		else if (!next || dev->left_ms + idle - now < next)
			next = dev->left_ms + idle - now;
	}
	if (next)
		uv_timer_start(t, look, next, 0);
}

void isolate_left(struct brazed *d)
{
	if (d->own)
		uv_timer_start(d->leaving, look, 0, 0);
}

void isolate_open(struct brazed *d)
{
	d->leaving = xcalloc(1, sizeof *d->leaving);
	uv_timer_init(d->loop, d->leaving);
	d->leaving->data = d;
}

void isolate_close(struct brazed *d)
{
	while (d->own) {
		struct device *dev = d->own;

		d->own = dev->next_own;
		executor_destroy(dev->executor);
		free(dev);
	}
	if (d->leaving)
		uv_close((uv_handle_t *)d->leaving, (uv_close_cb)free);
	d->leaving = NULL;
}

/* ---- What all workers of a GPU have done ---- */

void isolate_stats(const struct device *root, struct executor_stats *out)
{
	executor_get_stats(root->executor, out);
	for (const struct device *dev = root->brazed->own; dev; dev = dev->next_own) {
		struct executor_stats x;

		if (dev->root != root)
			continue;
		executor_get_stats(dev->executor, &x);
		executor_add_stats(out, &x);
	}
}

void isolate_load(const struct device *dev, uint64_t client, struct executor_load *out)
{
	executor_load(dev->executor, client, out);
	for (const struct device *o = dev->brazed->own; o; o = o->next_own) {
		struct executor_load more;

		if (o == dev || o->index != dev->index)
			continue;
		executor_load(o->executor, client, &more);
		out->clients += more.clients;
		out->sent_us += more.sent_us;
		out->queued_us += more.queued_us;
	}
}
