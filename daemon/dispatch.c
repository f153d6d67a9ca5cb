/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - a planned job to a device and back.
 *
 * A session's jobs start in the order in which they were cut from its trace.  The
 * first of them waits, and with it all others, until its device is up, its kernels
 * are compiled for that device, its inputs lie where the device can have them, and
 * the device has room; then it is bound and submitted.  Values move by transfers,
 * jobs without a plan that belong to the session like the others. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/cuda_find.h"
#include "base/log.h"
#include "base/textbuf.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "config.h"
#include "contract/backend.h"
#include "plan/plancache.h"
#include "run/job.h"

#define READ_US	 100 /* interpreted, at least, of what waits for its code from the disk */
#define SQUEEZES 2   /* times a job may find less memory than was promised */
/* Of a device's memory: the rest is the driver's, the libraries' and others'. */
#define DEVICE_SHARE(bytes) ((bytes) / 10 * 9)

/* ---- Devices ---- */

/* Another name for the same GPU: two workers would each take all of its memory for theirs. */
static const struct device *twin_of(const struct device *dev)
{
	for (uint32_t i = 1; i < dev->brazed->ndevice && *dev->uuid; i++) {
		const struct device *other = &dev->brazed->device[i];

		if (other->index != dev->index && other->state == DEVICE_USABLE &&
		    !strcmp(other->uuid, dev->uuid))
			return other;
	}
	return NULL;
}

static void on_hello(void *data, const struct command_hello *h)
{
	struct device *dev = data;

	dev->arch = h->arch;
	dev->units = h->units;
	dev->double_ratio = h->double_ratio;
	dev->exports = h->exports != 0;
	dev->peers = h->peers;
	dev->fourier = h->fourier != 0;
	dev->factors = h->factors != 0;
	dev->memory_rate = h->memory_rate;
	if (h->driver)
		cuda_find_driver((int)h->driver);
	dev->capacity = DEVICE_SHARE(h->memory_bytes);
	snprintf(dev->model, sizeof dev->model, "%.*s", (int)sizeof h->name - 1, h->name);
	snprintf(dev->uuid, sizeof dev->uuid, "%.*s", (int)sizeof h->uuid - 1, h->uuid);
	snprintf(dev->text, sizeof dev->text, "%.*s", (int)sizeof h->text - 1, h->text);
	dev->state = h->status == OK && !twin_of(dev) ? DEVICE_USABLE : DEVICE_UNUSABLE;
	if (h->status == OK && twin_of(dev))
		snprintf(dev->text, sizeof dev->text, "it is the same GPU as %s",
			 twin_of(dev)->name);
	if (dev->state == DEVICE_USABLE)
		log_info("dispatch", "%s: %s, code for %u, %llu MiB", dev->name, dev->model,
			 backend_number(h->arch), (unsigned long long)(h->memory_bytes >> 20));
	else
		log_warn("dispatch", "%s cannot be used%s: %s", dev->name,
			 h->again ? " for now, and is tried again" : "", dev->text);
	dispatch_all(dev->brazed);
}

static void on_loaded(void *data)
{
	const struct device *dev = data;

	dispatch_all(dev->brazed);
}

static void on_lost(void *data)
{
	device_lost(data);
}

static void name_device(struct brazed *d, const char *name)
{
	struct device *dev = &d->device[d->ndevice];

	dev->brazed = d;
	dev->index = (uint8_t)d->ndevice;
	dev->state = dev->index ? DEVICE_STARTING : DEVICE_USABLE;
	snprintf(dev->name, sizeof dev->name, "%s", name);
	d->ndevice++;
}

enum status dispatch_start_device(struct device *dev, struct err *err)
{
	const struct config *c = dev->brazed->config;
	struct executor_events events = {
		.hello = on_hello, .loaded = on_loaded, .lost = on_lost, .data = dev};
	struct executor_config x = {.self = dev->brazed->self,
				    .threads = (int)c->threads,
				    .device = dev->name,
				    .target = dev->index,
				    .events = dev->index ? &events : NULL,
				    .env = c->worker_env,
				    .spin = c->spin_us};

	return executor_create(&dev->executor, dev->brazed->loop, &x, dev->brazed->cache, err);
}

/* Is there a driver, or what stands for one, to ask for devices at all? */
static bool may_have_gpu(void)
{
	return getenv("BRAZE_LIBCUDA") || access("/dev/nvidiactl", F_OK) == 0 ||
	       access("/dev/dxg", F_OK) == 0;
}

void dispatch_name_devices(struct brazed *d, const struct config *config)
{
	bool automatic = !strcmp(config->device, "auto");
	char list[64], *at = list, *name;

	name_device(d, "cpu");
	snprintf(list, sizeof list, "%s", automatic ? "cuda:0" : config->device);
	if (automatic && !may_have_gpu())
		return;
	while ((name = strsep(&at, ","))) {
		if (!dispatch_device(d, name))
			name_device(d, name);
		/* The only one that is named is for everybody who asks for none. */
		if (!automatic && !strchr(config->device, ','))
			d->preferred = dispatch_device(d, name);
	}
}

enum status dispatch_open(struct brazed *d, const char *self, const struct config *config,
			  struct err *err)
{
	enum status st = OK;

	d->patience = xcalloc(1, sizeof *d->patience);
	uv_timer_init(d->loop, d->patience);
	d->patience->data = d;
	d->self = self;
	d->config = config;
	d->isolated = !strcmp(config->isolation, "user");
	isolate_open(d);
	dispatch_name_devices(d, config);
	for (uint32_t i = 0; i < d->ndevice && !st; i++)
		st = dispatch_start_device(&d->device[i], err);
	return st;
}

void dispatch_close(struct brazed *d)
{
	isolate_close(d);
	for (uint32_t i = 0; i < d->ndevice; i++) {
		executor_destroy(d->device[i].executor);
		d->device[i].executor = NULL;
	}
	if (d->patience)
		uv_close((uv_handle_t *)d->patience, (uv_close_cb)free);
	d->patience = NULL;
}

uint8_t dispatch_device(const struct brazed *d, const char *name)
{
	for (uint32_t i = 0; i < d->ndevice; i++)
		if (!strcmp(d->device[i].name, name))
			return (uint8_t)(i + 1);
	return 0;
}

void dispatch_kernel_ready(void *data, struct kernel *k)
{
	struct brazed *d = data;

	if (k->text) {
		kernels_ready(d, k);
		return;
	}
	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev))
		if (dev->arch == k->arch && dev->executor)
			executor_kernel_ready(dev->executor, k);
	if (k->arch || d->reading)
		dispatch_all(d);
}

void dispatch_kernel_dropped(void *data, uint32_t id)
{
	struct brazed *d = data;

	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev))
		if (dev->executor)
			executor_kernel_drop(dev->executor, id);
}

/* ---- The end of a job ---- */

/* Somebody may wait for the memory that this one used. */
static void wake_crowded(struct brazed *d)
{
	if (!d->crowded)
		return;
	d->crowded = false;
	dispatch_all(d);
}

/* A job or transfer of the session has ended: what it made may be what others wait
 * for, and it may have been the last. */
static void go_on(struct session *s)
{
	session_jobs(s, -1);
	dispatch_waiting(s);
	if (s->conn)
		pipeline_pump(s);
	else if (!s->jobs)
		session_later(s);
}

void dispatch_end(struct job *j, enum job_end end, const struct err *err)
{
	struct session *s = j->session;
	struct brazed *d = s->d;
	struct plan *plan = j->run.plan;

	/* It was the job that wanted more than there is: a work area, say. */
	if (end != JOB_DONE && j->device)
		j->device->capacity += j->squeezed_bytes;
	job_settle(j, &s->trace, end, err);
	job_let_go(j, &s->trace); /* who reads what is told to the client */
	if (s->conn)
		pipeline_answer(s, end == JOB_DONE ? j : NULL);
	job_free(j, &s->trace);
	if (plan)
		plancache_unref(d->plans, plan);
	go_on(s);
}

/* Back to the others that wait, in the session's order. */
static void put_waiting(struct job *j)
{
	struct job **at = &j->session->waiting;

	while (*at && (*at)->number < j->number)
		at = &(*at)->next;
	j->next = *at;
	*at = j;
}

static void take_running(struct job *j)
{
	struct job **at = &j->session->running;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
}

/* It did not run, or could not, for a reason that another try may not meet. */
static bool try_again(struct job *j, enum job_end end, const struct err *why)
{
	struct device *dev = j->device;
	uint64_t bytes;

	if (end == JOB_RETURNED)
		return true;
	if (end != JOB_FAILED || !dev->index || (j->run.torn && !job_host_whole(j)))
		return false;
	/* Nobody asked for a device that it fails on. */
	if (j->placed && (why->code == E_LOST || why->code == E_QUARANTINED)) {
		choose_cpu(j);
		return true;
	}
	if (why->code != E_NOMEM || j->squeezed++ >= SQUEEZES)
		return false;
	/* There is less memory than the device had said: others use it, too. */
	bytes = dev->capacity / 8;
	dev->capacity -= bytes;
	j->squeezed_bytes += bytes;
	log_warn("dispatch", "%s has less memory than it said: %llu MiB from now on", dev->name,
		 (unsigned long long)(dev->capacity >> 20));
	return true;
}

static void job_done(struct executor_job *run, enum job_end end, const struct err *why)
{
	struct job *j = run->data;
	struct session *s = j->session;
	struct brazed *d = s->d;
	struct err err = {0};
	uint64_t spent = uv_hrtime() - j->since_ns;

	d->turn.jobs++;
	take_running(j);
	if (why)
		err = *why;
	s->stats.busy_ns += run->busy_ns;
	s->stats.queue_wait_ns += spent > run->busy_ns ? spent - run->busy_ns : 0;
	if (try_again(j, end, &err)) {
		job_unbind(j, &s->trace);
		put_waiting(j);
		dispatch_waiting(s);
		wake_crowded(d);
		return;
	}
	/* What it read may have failed or been cancelled after it was submitted. */
	if (end == JOB_DONE) {
		end = job_inputs(j, &err) ? JOB_CANCELLED : JOB_DONE;
		run->torn = end == JOB_CANCELLED && plan_tears(run->plan);
	}
	if (end == JOB_DONE)
		s->stats.ran += (uint64_t)j->partition->part.nop * run->turns;
	if (end == JOB_DONE && j->placed)
		place_measured(j->placed, (double)run->busy_ns * 1e-3, j->device->index + 1,
			       j->rival->name);
	if (end == JOB_CANCELLED && run->torn) {
		end = JOB_FAILED;
		err_set(&err, E_LOST, "lost: cancelled while the array was being overwritten");
	}
	dispatch_end(j, end, &err);
	wake_crowded(d);
}

/* ---- Transfers ---- */

struct transfer {
	struct executor_job run;
	struct plan nothing; /* a plan without steps */
	struct executor_copy copy;
	struct session *session;
	struct storage *storage;
	struct device *device;
	struct mirror *mirror; /* it has one user more, while the device's worker lives */
};

void dispatch_transferred(struct session *s)
{
	struct brazed *d = s->d;

	if (s->conn)
		pipeline_answer(s, NULL);
	go_on(s);
	wake_crowded(d);
}

static void fetched(struct executor_job *run, enum job_end end, const struct err *why)
{
	struct transfer *t = run->data;
	struct session *s = t->session;
	struct storage *st = t->storage;
	/* A worker that died took its mirrors along; none comes while it is `fetching`. */
	struct mirror *m = mirror_on(st, t->device) == t->mirror ? t->mirror : NULL;

	st->fetching = 0;
	if (end == JOB_DONE) {
		st->host = 1;
	} else if (end == JOB_FAILED && m) {
		log_error("dispatch", "a transfer to the host failed: %s", why ? why->text : "?");
		m->valid = 0;
	}
	if (m)
		mirror_release(m);
	storage_unref(&s->trace, st);
	free(t);
	dispatch_transferred(s);
}

enum status dispatch_fetch(struct session *s, struct storage *st, struct err *err)
{
	struct mirror *m = mirror_source(st);
	struct transfer *t;
	enum status status;

	if (!m)
		return err_set(err, E_LOST, "lost: the array was only on a device that failed");
	session_quota(s);
	status = storage_place(&s->trace, st, err);
	if (status)
		return status;
	t = xcalloc(1, sizeof *t);
	t->session = s;
	t->storage = storage_ref(st);
	t->device = m->device;
	t->mirror = m;
	t->copy = (struct executor_copy){
		.from = mirror_place(m), .to = job_host_place(st, s->region), .bytes = st->bytes};
	t->run = (struct executor_job){.plan = &t->nothing,
				       .client = s->id,
				       .name = s->name,
				       .pid = s->pid,
				       .nbefore = 1,
				       .copy = &t->copy,
				       .done = fetched,
				       .data = t};
	st->fetching = 1;
	m->users++;
	m->device->fetches++;
	session_jobs(s, 1);
	executor_submit(m->device->executor, &t->run);
	return OK;
}

/* ---- The beginning of a job ---- */

enum start { STARTED, ENDED, WAITS, MOVED /* to another device: from the beginning */ };

static enum start give_up(struct job *j, enum status st, const struct err *err)
{
	struct session *s = j->session;

	s->waiting = j->next;
	if (st == E_NOMEM && s->conn)
		pipeline_no_room(s, err);
	dispatch_end(j, st == E_CANCELLED || st == E_NOMEM ? JOB_CANCELLED : JOB_FAILED, err);
	return ENDED;
}

static uint64_t held_by(const struct session *s, const struct device *dev)
{
	uint64_t bytes = 0;

	for (const struct mirror *m = dev->newest; m; m = m->older)
		bytes += m->client == s->id ? m->bytes : 0;
	return bytes;
}

/* Names of the user's sessions that hold the most of a device's memory, the greatest first, and
 * what others hold. */
static void name_holders(char *buf, size_t n, const struct device *dev, const struct session *asks)
{
	struct textbuf t = {.buf = buf, .cap = n};
	const struct session *last = NULL;
	uint64_t below = UINT64_MAX, others = 0;

	buf[0] = 0;
	for (const struct session *s = asks->d->sessions; s; s = s->next)
		others += s->uid == asks->uid ? 0 : held_by(s, dev);
	while (t.len < n) {
		const struct session *most = NULL;
		uint64_t bytes = 0;
		bool behind = false; /* `last`, among those that hold as much */

		for (const struct session *s = asks->d->sessions; s; s = s->next) {
			uint64_t held = s->uid == asks->uid ? held_by(s, dev) : 0;

			if (held > bytes && (held < below || (held == below && behind))) {
				most = s;
				bytes = held;
			}
			behind |= s == last;
		}
		if (!most)
			break;
		textbuf_put(&t, "%s%.24s (pid %u) %llu MiB", t.len ? ", " : "", most->name,
			    most->pid, (unsigned long long)(bytes >> 20));
		last = most;
		below = bytes;
	}
	if (others)
		textbuf_put(&t, "%sother users %llu MiB", t.len ? ", " : "",
			    (unsigned long long)(others >> 20));
}

static enum start no_room(struct job *j, uint64_t bytes)
{
	const struct device *dev = j->device;
	char holders[128];
	struct err err;

	if (j->placed) { /* nobody asked for this device */
		choose_cpu(j);
		return MOVED;
	}
	name_holders(holders, sizeof holders, dev, j->session);
	err_set(&err, E_NOMEM, "%s has no room for %llu MiB of its %llu MiB; held by: %s",
		dev->name, (unsigned long long)(bytes >> 20),
		(unsigned long long)(dev->capacity >> 20), *holders ? holders : "nobody");
	return give_up(j, E_NOMEM, &err);
}

/* Who asked for the device is told; what went there for its speed goes to the CPU. */
static enum start over_limit(struct job *j, const struct err *err)
{
	if (j->placed) {
		choose_cpu(j);
		return MOVED;
	}
	return give_up(j, E_NOMEM, err);
}

/* Ask for room; where it takes an array that is only on the device, have it fetched.
 * One whose arena has no room for it stays, and the next coldest goes. */
static enum device_room ask_room(struct device *dev, uint64_t bytes, struct mirror **victim)
{
	enum device_room room = device_make_room(dev, bytes, victim);
	bool stuck = false;
	struct err err = {0};

	while (*victim && !(*victim)->storage->fetching &&
	       dispatch_fetch(session_of((*victim)->trace), (*victim)->storage, &err)) {
		stuck = true;
		(*victim)->stuck = 1;
		room = device_make_room(dev, bytes, victim);
	}
	for (struct device *o = isolate_next(dev->brazed, NULL); o && stuck;
	     o = isolate_next(dev->brazed, o))
		for (struct mirror *m = o->newest; m; m = m->older)
			m->stuck = 0;
	return room;
}

/* STARTED: there is room. */
static enum start make_room(struct job *j)
{
	struct device *dev = j->device;
	uint64_t bytes = job_mirror_bytes(j);
	struct executor_stats stats;
	struct mirror *victim = NULL;
	enum device_room room;
	struct err err = {0};
	enum status st;

	if (!bytes)
		return STARTED;
	st = account_check(j->session, LIMITS_device_bytes, bytes, &err);
	/* Its older copies go first. */
	if (st && device_drop_copies(dev, j->session->id)) {
		bytes = job_mirror_bytes(j);
		st = account_check(j->session, LIMITS_device_bytes, bytes, &err);
	}
	if (st)
		return over_limit(j, &err);
	job_keep_inputs(j, 1);
	room = ask_room(dev, bytes, &victim);
	job_keep_inputs(j, -1);
	if (room == ROOM_YES)
		return STARTED;
	if (room == ROOM_NEVER)
		return no_room(j, bytes);
	executor_get_stats(dev->executor, &stats);
	if (!victim && stats.queued == stats.held && !stats.in_flight)
		return no_room(j, bytes);
	j->session->d->crowded = true;
	return WAITS;
}

static void out_of_patience(uv_timer_t *t)
{
	struct brazed *d = t->data;

	d->reading = false;
	dispatch_all(d);
}

/* Is code of a plan worth waiting for on its way from the disk?  That takes less than to
 * interpret it, but nobody knows how long a disk takes. */
static bool code_comes(const struct job *j)
{
	const struct plan *plan = j->run.plan;
	struct brazed *d = j->session->d;
	bool comes = false;
	uint64_t us = 0;

	for (uint32_t i = 0; i < plan->nstep; i++) {
		struct kernel *k = plan->step[i].kernel[0];

		if (k && k->state == KERNEL_COMPILING)
			comes |= cache_comes(d->cache, k);
	}
	for (uint32_t i = 0; i < plan->nstep && comes; i++)
		us += executor_step_cost(j->device->executor, &plan->step[i]);
	if (us * j->run.turns < READ_US)
		return false;
	if (!d->reading)
		uv_timer_start(d->patience, out_of_patience, CACHE_COMES_MS, 0);
	d->reading = true;
	return true;
}

/* STARTED: there is a worker, of the device or else of the CPU. */
static enum start worker_there(struct job *j)
{
	const struct device *dev = j->device;
	struct err err;
	enum status st = OK;

	if (!session_sees(j->session, dev)) {
		st = session_blind(j->session, dev, &err);
		return give_up(j, st, &err);
	}
	if (dev->state == DEVICE_USABLE)
		return STARTED;
	/* Nobody asked for a user's own that starts: the next job finds it there. */
	if (dev->state == DEVICE_STARTING && !(dev->root && j->placed))
		return WAITS;
	if (j->placed) {
		choose_cpu(j);
		return STARTED;
	}
	err_set(&err, E_DEVICE, "%s cannot be used: %s", dev->name, dev->text);
	return give_up(j, E_DEVICE, &err);
}

/* STARTED: the device can run it; otherwise it goes elsewhere, or waits. */
static enum start device_there(struct job *j)
{
	enum start way = worker_there(j);
	const struct device *dev = NULL;
	const struct kernel *bad = NULL;

	if (way != STARTED)
		return way;
	dev = j->device;
	if (!choose_kernels_there(j, dev) || (!dev->index && code_comes(j)))
		return WAITS;
	bad = choose_refused(j->run.plan, dev);
	/* Where the device was asked for, the executor refuses what is quarantined. */
	if (!bad || (bad->state != KERNEL_FAILED && !j->placed))
		return STARTED;
	if (bad->state == KERNEL_FAILED)
		log_warn("dispatch",
			 "kernel %u cannot be had for %s, its plan runs on the CPU: %.*s", bad->id,
			 dev->name, (int)strcspn(bad->error, "\n"), bad->error);
	choose_cpu(j);
	return STARTED;
}

/* An input from another device; by way of the host where it cannot come at once. */
static enum start bring(struct job *j, struct storage *input)
{
	struct session *s = j->session;
	struct mirror *victim = NULL;
	bool room = mirror_on(input, j->device) != NULL;
	struct err err = {0};
	enum status st;

	job_keep_inputs(j, 1);
	room = room || device_make_room(j->device, input->bytes, &victim) == ROOM_YES;
	job_keep_inputs(j, -1);
	if (room && !carry_value(s, input, j->device, &err))
		return WAITS;
	st = dispatch_fetch(s, input, &err);
	return st ? give_up(j, st, &err) : WAITS;
}

/* STARTED: its inputs lie where they can be used. */
static enum start inputs_there(struct job *j)
{
	struct session *s = j->session;
	struct storage *fetch = NULL;
	struct err err = {0};
	enum status st;

	switch (job_ready(j, &s->trace, &fetch, &err)) {
	case JOB_GO:
		return STARTED;
	case JOB_WAIT:
		return WAITS;
	case JOB_CARRY_FIRST:
		return bring(j, fetch);
	case JOB_FETCH_FIRST:
		st = dispatch_fetch(s, fetch, &err);
		return st ? give_up(j, st, &err) : WAITS;
	case JOB_STOP:
		break;
	}
	return give_up(j, err.code, &err);
}

/* Of its kernels those whose compiler nobody paid for, if there are any. */
static void pay(const struct job *j)
{
	const struct plan *plan = j->run.plan;

	for (uint32_t i = 0; j->session->d->unpaid && i < plan->nstep; i++)
		if (plan->step[i].kernel[0])
			account_pay(j->session, plan->step[i].kernel[0]);
}

static enum start start(struct job *j)
{
	struct session *s = j->session;
	struct err err = {0};
	enum start way;
	enum status st;

	if (!j->device && isolate_choose(j, &err))
		return give_up(j, err.code, &err);
	pay(j);
	way = device_there(j);
	if (way == STARTED)
		way = inputs_there(j);
	if (way == STARTED)
		way = make_room(j);
	if (way != STARTED)
		return way;
	session_quota(s);
	st = job_bind(j, &s->trace, s->region, &err);
	if (st)
		return give_up(j, st, &err);
	s->waiting = j->next;
	s->stats.steps += j->run.plan->nstep;
	/* Arrays without content need storage only. */
	if (!j->run.plan->nstep && !j->run.nbefore && !j->run.nafter) {
		j->next = NULL;
		dispatch_end(j, JOB_DONE, NULL);
		return ENDED;
	}
	j->next = s->running;
	s->running = j;
	executor_submit(j->device->executor, &j->run);
	return STARTED;
}

void dispatch_waiting(struct session *s)
{
	if (s->dispatching || s->d->resting)
		return; /* the one who is at it goes on */
	s->dispatching = true;
	while (s->waiting && start(s->waiting) != WAITS)
		;
	s->dispatching = false;
}

void dispatch_all(struct brazed *d)
{
	for (struct session *s = d->sessions; s; s = s->next)
		dispatch_waiting(s);
}

void dispatch_job(struct job *j, struct plan *plan)
{
	struct session *s = j->session;

	j->run.plan = plan;
	j->run.client = s->id;
	j->run.name = s->name;
	j->run.pid = s->pid;
	j->run.done = job_done;
	j->run.data = j;
	j->number = ++s->next_job;
	put_waiting(j);
	dispatch_waiting(s);
}

/* End the jobs up to this number that have not been started. */
static void withdraw(struct session *s, uint64_t last)
{
	while (s->waiting && s->waiting->number <= last && !s->dispatching) {
		struct err err = {0};

		err_set(&err, E_CANCELLED, "cancelled before it began");
		give_up(s->waiting, E_CANCELLED, &err);
	}
}

void dispatch_cancel(struct session *s)
{
	uint64_t last = s->next_job; /* their ends may make new ones */
	struct job *next;

	for (struct job *j = s->running; j; j = next) {
		next = j->next;
		executor_cancel(j->device->executor, &j->run);
		job_withdraw(j);
	}
	withdraw(s, last);
}

void dispatch_withdraw(struct session *s)
{
	withdraw(s, s->next_job);
}

uint32_t dispatch_bring_home(struct brazed *d, struct err *err)
{
	uint32_t away = 0;

	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev))
		for (struct mirror *m = dev->newest; m; m = m->older) {
			if (!m->valid || m->storage->host)
				continue;
			away++;
			if (!m->storage->fetching && !m->users &&
			    dispatch_fetch(session_of(m->trace), m->storage, err))
				return away;
		}
	return away;
}
