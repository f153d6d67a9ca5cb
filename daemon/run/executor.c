/* SPDX-License-Identifier: Apache-2.0 */
/* run/executor.c - the calls of executor.h and the worker's completions.
 *
 * Callbacks are made from the loop only: by the socket's callback after it has
 * read all it can, else by a timer of zero length.  Jobs that have not ended when
 * the executor is destroyed are forgotten: their owner frees them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/moments.h"
#include "base/xalloc.h"
#include "contract/backend.h"
#include "executor_impl.h"

#define PATIENCE_MS  10000
#define FEW_COPIES   16	      /* a packet's copies take so much less time than all of it */
#define TELLING_COPY 262144.0 /* bytes; smaller ones measure their overhead */

int64_t executor_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Call `done` for everything that has ended, also for what ends meanwhile. */
static void deliver_all(struct executor *x)
{
	while (x->ended) {
		struct ended *e = x->ended;

		x->ended = e->next;
		if (!x->ended)
			x->ended_tail = &x->ended;
		e->job->done(e->job, e->end, &e->err);
		free(e);
	}
}

static void on_deliver(uv_timer_t *t)
{
	deliver_all(t->data);
}

void executor_end(struct executor *x, struct executor_job *job, enum job_end end,
		  const struct err *err)
{
	struct ended *e = xcalloc(1, sizeof *e);

	e->job = job;
	e->end = end;
	if (err)
		e->err = *err;
	if (end != JOB_FAILED)
		job->torn = 0;
	if (end == JOB_DONE)
		x->stats.runs++;
	*x->ended_tail = e;
	x->ended_tail = &e->next;
	uv_timer_start(x->deliver, on_deliver, 0, 0);
}

void executor_end_later(struct executor *x, struct executor_job *job, const struct err *err)
{
	struct ended **at = &x->failing, *e = NULL;

	while (*at && (*at)->job != job)
		at = &(*at)->next;
	e = *at;
	if (job->in_flight > 0) {
		if (!e) {
			e = xcalloc(1, sizeof *e);
			e->job = job;
			e->err = *err;
			*at = e;
		}
		return;
	}
	if (e) {
		*at = e->next;
		executor_end(x, job, JOB_FAILED, &e->err);
		free(e);
	} else {
		executor_end(x, job, JOB_FAILED, err);
	}
}

static bool is_failing(const struct executor *x, const struct executor_job *job)
{
	const struct ended *e = x->failing;

	while (e && e->job != job)
		e = e->next;
	return e != NULL;
}

static void note_rate(double *rate, uint64_t bytes, double bytes_us)
{
	if (bytes)
		*rate = *rate > 0 ? *rate + (bytes_us - *rate) / 4 : bytes_us;
}

/* What a packet's copies tell of the way between host and device, if they were most of
 * its work; both ways count alike where it went both. */
static void note_copies(struct executor *x, const struct flight *f, uint64_t busy_ns)
{
	double steps = 0, bytes = (double)(f->up + f->down), us = (double)busy_ns * 1e-3;

	for (uint32_t i = 0; i < f->nstep; i++)
		steps += f->step[i].cost_us;
	if (bytes < TELLING_COPY || us < 2 * steps)
		return;
	note_rate(&x->stats.up_bytes_us, f->up, bytes / (us - steps));
	note_rate(&x->stats.down_bytes_us, f->down, bytes / (us - steps));
}

/* What its copies take of a packet's time, as far as one knows. */
static double copies_us(const struct executor *x, const struct flight *f)
{
	double up = x->stats.up_bytes_us > 0 ? x->stats.up_bytes_us : COPY_BYTES_US;
	double down = x->stats.down_bytes_us > 0 ? x->stats.down_bytes_us : COPY_BYTES_US;

	return (double)f->up / up + (double)f->down / down;
}

/* Share a packet's measured time between its steps as predicted. */
static void note_runs(struct executor *x, const struct flight *f, uint64_t busy_ns)
{
	bool steps_only = copies_us(x, f) * 1e3 * FEW_COPIES <= (double)busy_ns;

	for (uint32_t i = 0; i < f->nstep; i++) {
		const struct plan_step *s = &f->job->plan->step[f->step[i].step];
		double share = ((double)f->step[i].cost_us + 1) / ((double)f->cost_us + f->nstep);
		struct kernel *k = step_kernel(x, s);
		uint64_t ns = (uint64_t)(share * (double)busy_ns) + 1;

		if (!k)
			continue;
		cache_note_run(x->cache, k, f->step[i].elements, ns);
		/* Nobody can tell copies from kernels in one measured time. */
		if (steps_only)
			cache_note_rate(k, s->shape, f->step[i].elements, ns);
	}
}

/* A run ended badly: by its cancel, or by an error that fails the job. */
static void run_failed(struct executor *x, const struct flight *f, const struct command_done *done)
{
	struct executor_job *job = f->job;
	struct err err = {.code = (enum status)done->status};

	if (done->status == E_CANCELLED && job->cancelled)
		return;
	if (done->status >= STATUS_END)
		err.code = E_INTERNAL;
	memcpy(err.text, done->text, sizeof err.text);
	err.text[sizeof err.text - 1] = 0;
	recover_mark_torn(job, f, UINT32_MAX);
	schedule_remove(x, job);
	/* What was sent of it after this packet is of no use any more. */
	spawn_send_simple(x, CMD_CANCEL, 0, f->ticket, 0, -1);
	job->in_flight++; /* its end is decided below, with the packet's */
	executor_end_later(x, job, &err);
	job->in_flight--;
}

static void job_settle(struct executor *x, struct executor_job *job)
{
	if (job->in_flight > 0)
		return;
	if (is_failing(x, job))
		executor_end_later(x, job, NULL);
	else if (marshal_all_sent(job) && job->cancelled < 2)
		executor_end(x, job, JOB_DONE, NULL);
	else if (job->cancelled)
		executor_end(x, job, JOB_CANCELLED, NULL);
}

/* The packet in flight with this ticket; x->nflight: none. */
static uint32_t flight_find(const struct executor *x, uint64_t ticket)
{
	uint32_t i = 0;

	while (i < x->nflight && x->flight[i].ticket != ticket)
		i++;
	return i;
}

/* Take flight i out of the list; its array of steps stays where the list ends. */
static struct flight flight_land(struct executor *x, uint32_t i)
{
	struct flight f = x->flight[i];

	x->nflight--;
	memmove(&x->flight[i], &x->flight[i + 1], (x->nflight - i) * sizeof f);
	x->flight[x->nflight] = (struct flight){.step = f.step, .cap = f.cap};
	x->stats.in_flight = x->nflight;
	return f;
}

/* What a check of a turn has found so far; NULL: nothing.  Turns come in their order. */
static struct command_fault *fault_of(struct executor_job *job, const struct command_fault *f)
{
	for (uint32_t k = job->nfault; k-- > 0 && job->fault[k].turn == f->turn;)
		if (job->fault[k].step == f->step && job->fault[k].check == f->check)
			return &job->fault[k];
	return NULL;
}

/* Note what a packet's checks found; slices of a step may find the same. */
static void note_faults(struct executor_job *job, const struct command_fault *f, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct command_fault *before = fault_of(job, &f[i]);

		if (before) {
			before->key = f[i].key < before->key ? f[i].key : before->key;
			continue;
		}
		if (job->nfault == job->fault_cap) {
			job->fault_cap = job->fault_cap ? 2 * job->fault_cap : 8;
			job->fault = xrealloc(job->fault, job->fault_cap, sizeof *job->fault);
		}
		job->fault[job->nfault++] = f[i];
	}
}

/* It ended now, or a moment before. */
static void note_moment(const struct executor *x, const struct flight *f, uint64_t busy_ns)
{
	uint64_t now = (uint64_t)executor_clock();

	moments_add((struct moment){.began = now - busy_ns,
				    .ended = now,
				    .flow = f->job->flow,
				    .session = (uint32_t)f->job->client,
				    .number = f->nstep,
				    .kind = MOMENT_RUN,
				    .place = (uint8_t)x->target});
}

static void run_done(struct executor *x, const struct command_done *done, size_t bytes)
{
	uint32_t at = flight_find(x, done->head.ticket);
	uint64_t busy = done->busy_ns;
	const struct command_fault *faults = NULL;
	struct executor_job *job = NULL;
	struct flight f;

	faults = (const struct command_fault *)((const char *)(done + 1) +
						done->nfetch * LIMIT_INLINE_BYTES);
	if (at == x->nflight || done->nfetch > 8 || done->nfault > COMMAND_FAULTS ||
	    bytes != sizeof *done + done->nfetch * LIMIT_INLINE_BYTES +
			     done->nfault * sizeof *faults) {
		log_error("executor", "the worker answered a run that was not sent");
		x->broken = true;
		return;
	}
	f = flight_land(x, at);
	job = f.job;
	note_moment(x, &f, busy);
	x->stats.busy_ns += busy;
	x->stats.library_products += done->library_products;
	x->stats.own_products += done->own_products;
	job->busy_ns += busy;
	job->in_flight--;
	schedule_landed(x, &f, busy);
	if (done->status == OK) {
		x->deaths_in_row = x->kills_in_row = 0;
		note_runs(x, &f, busy);
		slice_note(job, &f, busy);
		slice_fresh_note(x, &f, busy);
		if (f.turns)
			job->plan->turn_ns = busy / f.turns + 1;
		note_copies(x, &f, busy);
		recover_mark_torn(job, &f, UINT32_MAX);
		memcpy(job->fetched, done + 1, done->nfetch * LIMIT_INLINE_BYTES);
		note_faults(job, faults, done->nfault);
	} else {
		if (done->status == E_CANCELLED && job->cancelled)
			job->cancelled = 2; /* it did not run to its end */
		run_failed(x, &f, done);
	}
	job_settle(x, job);
}

static void code_refused(struct executor *x, struct kernel *k, const struct command_done *done)
{
	char why[CACHE_ERROR_TEXT];

	log_warn("executor", "kernel %u %s: %.*s", done->head.id,
		 x->target ? "does not load" : "stays interpreted", (int)sizeof done->text - 1,
		 done->text);
	snprintf(why, sizeof why, "%.*s", (int)sizeof done->text - 1, done->text);
	if (k)
		cache_refuse(x->cache, k, why);
}

static void code_done(struct executor *x, const struct command_done *done)
{
	struct kernel *k = cache_find(x->cache, done->head.id);

	if (done->status != OK) {
		code_refused(x, k, done);
	} else if (k && k->id < x->known_cap) {
		cache_note_loaded(x->cache, k);
		x->known[k->id] |= KNOWN_LOADED;
	}
	if (x->events.loaded)
		x->events.loaded(x->events.data);
}

static void geometry_done(struct executor *x, const struct command_geometry *g)
{
	struct kernel *k = cache_find(x->cache, g->head.id);

	x->stats.trials += g->trials;
	x->stats.tuning_ns += g->tuning_ns;
	if (k && k->arch)
		cache_note_geometry(x->cache, k, &g->geometry);
}

static void hello(struct executor *x, const struct command_hello *h)
{
	x->again = h->again;
	x->tries = h->status != OK ? x->tries + 1 : 0;
	if (h->status != OK) {
		x->unusable = true;
		snprintf(x->why, sizeof x->why, "%.*s", (int)sizeof h->text - 1, h->text);
	}
	x->units = h->units;
	if (x->events.hello)
		x->events.hello(x->events.data, h);
}

/* What a device's worker says of it; false: that is something else. */
static bool of_device(struct executor *x, const struct command *head, size_t n)
{
	if (head->kind == DONE_HELLO && n == sizeof(struct command_hello) &&
	    backend_row(((const struct command_hello *)head)->arch) < BACKEND_END)
		hello(x, (const struct command_hello *)head);
	else if (head->kind == DONE_GEOMETRY && n == sizeof(struct command_geometry))
		geometry_done(x, (const struct command_geometry *)head);
	else if (head->kind == DONE_EXPORT && n == sizeof(struct command_export))
		export_answered(x, (const struct command_export *)head);
	else
		return false;
	return true;
}

static bool read_one(struct executor *x, char *buf, size_t size)
{
	ssize_t n = spawn_receive(x, buf, size);
	const struct command *head = (const struct command *)buf;
	const struct command_done *done = (const struct command_done *)buf;

	if (n < 0)
		x->broken = true;
	if (n <= 0)
		return false;
	if ((size_t)n < sizeof *head) {
		x->broken = true;
	} else if (head->kind == DONE_PONG) {
		x->pinged = false;
	} else if (head->kind == DONE_RELEASE) {
		release_answered(x, head);
	} else if (of_device(x, head, (size_t)n)) {
		;
	} else if ((size_t)n < sizeof *done) {
		x->broken = true;
	} else if (head->kind == DONE_RUN) {
		run_done(x, done, (size_t)n);
	} else if (head->kind == DONE_CODE) {
		code_done(x, done);
	}
	return !x->broken || (size_t)n >= sizeof *head;
}

void executor_on_socket(struct executor *x, int events)
{
	_Alignas(8) char buf[COMMAND_DONE_BYTES];

	if (events & UV_WRITABLE)
		spawn_flush(x);
	/* To the end, also when a send has failed: what the worker did complete
	 * before it died must not run again. */
	while (read_one(x, buf, sizeof buf))
		;
	if (x->broken)
		recover_death(x);
	schedule_send(x);
	deliver_all(x);
}

static uv_timer_t *timer_create_for(struct executor *x)
{
	uv_timer_t *t = xcalloc(1, sizeof *t);

	uv_timer_init(x->loop, t);
	t->data = x;
	return t;
}

/* For a packet beyond what is predicted.  A GPU's worker watches for hangs itself, and
 * knows more of them, so its watch must come first, however patient it was made. */
static int64_t patience_ns(const struct executor *x)
{
	const char *hang = x->target ? getenv("BRAZE_WORKER_HANG_MS") : NULL;
	int64_t watch = hang ? strtoll(hang, NULL, 10) : 0;

	if (hang && *hang && watch <= 0)
		return INT64_MAX / 4; /* its watch is off */
	return (watch > PATIENCE_MS / 2 && watch < INT32_MAX ? 2 * watch : PATIENCE_MS) * 1000000;
}

enum status executor_create(struct executor **out, struct uv_loop_s *loop,
			    const struct executor_config *config, struct cache *cache,
			    struct err *err)
{
	struct executor *x = xcalloc(1, sizeof *x);
	enum status st = OK;

	x->loop = loop;
	x->cache = cache;
	x->self = xstrdup(config->self);
	x->device = xstrdup(config->device);
	x->env = xstrdup(config->env ? config->env : "");
	x->spin = xstrdup(config->spin ? config->spin : "auto");
	x->threads = config->threads;
	x->target = config->target;
	x->flights = config->target ? FLIGHTS : CLIENT_FLIGHTS;
	x->fresh_most = SHARED_FRESH_BYTES;
	if (config->events)
		x->events = *config->events;
	x->pid = -1;
	x->fd = x->came = -1;
	x->ended_tail = &x->ended;
	x->unsent_tail = &x->unsent;
	x->packet = xmalloc(COMMAND_BYTES);
	x->patience_ns = patience_ns(x);
	watch_init(&x->watched);
	x->restart = timer_create_for(x);
	x->watch = timer_create_for(x);
	x->deliver = timer_create_for(x);
	x->progress = MAP_FAILED;
	x->progress_fd = memfd_create("braze-progress", MFD_CLOEXEC);
	if (x->progress_fd < 0 || ftruncate(x->progress_fd, sizeof *x->progress) != 0) {
		st = err_set(err, E_SYSTEM, "progress page: %s", strerror(errno));
		goto out;
	}
	x->progress = mmap(NULL, sizeof *x->progress, PROT_READ | PROT_WRITE, MAP_SHARED,
			   x->progress_fd, 0);
	if (x->progress == MAP_FAILED) {
		st = err_set(err, E_SYSTEM, "progress page: mmap: %s", strerror(errno));
		goto out;
	}
	st = spawn_worker(x, err);
	if (st != OK)
		goto out;
	*out = x;
	x = NULL;
out:
	executor_destroy(x);
	return st;
}

static void free_handle(uv_handle_t *h)
{
	free(h);
}

static void free_list(struct ended *e)
{
	while (e) {
		struct ended *next = e->next;

		free(e);
		e = next;
	}
}

void executor_destroy(struct executor *x)
{
	if (!x)
		return;
	spawn_reap(x);
	release_all(x);
	export_all(x);
	uv_close((uv_handle_t *)x->restart, free_handle);
	uv_close((uv_handle_t *)x->watch, free_handle);
	uv_close((uv_handle_t *)x->deliver, free_handle);
	schedule_free(x);
	free_list(x->ended);
	free_list(x->failing);
	for (uint32_t i = 0; i < x->nregion; i++)
		close(x->region[i].fd);
	for (int i = 0; i < FLIGHTS; i++)
		free(x->flight[i].step);
	if (x->progress != MAP_FAILED)
		munmap(x->progress, sizeof *x->progress);
	if (x->progress_fd >= 0)
		close(x->progress_fd);
	if (x->came >= 0)
		close(x->came);
	free(x->region);
	free(x->known);
	free(x->packet);
	free(x->self);
	free(x->device);
	free(x->env);
	free(x->spin);
	free(x);
}

enum status executor_region_add(struct executor *x, uint32_t region, int fd, uint64_t bytes,
				struct err *err)
{
	int copy = -1;

	if (region == 0)
		return err_set(err, E_INVALID, "region 0 is no region");
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return files_none(err, "the arena in the worker", errno);
	executor_region_drop(x, region);
	if (x->nregion == x->region_cap) {
		x->region_cap = x->region_cap ? x->region_cap * 2 : 16;
		x->region = xrealloc(x->region, x->region_cap, sizeof *x->region);
	}
	x->region[x->nregion++] = (struct kept_region){.id = region, .fd = copy, .bytes = bytes};
	spawn_send_simple(x, CMD_REGION, region, 0, bytes, copy);
	return OK;
}

void executor_region_drop(struct executor *x, uint32_t region)
{
	for (uint32_t i = 0; i < x->nregion; i++) {
		if (x->region[i].id != region)
			continue;
		close(x->region[i].fd);
		x->region[i] = x->region[--x->nregion];
		break;
	}
	spawn_send_simple(x, CMD_REGION_DROP, region, 0, 0, -1);
}

bool executor_release(struct executor *x, uint32_t region, const struct command_range *r,
		      void (*done)(void *data), void *data)
{
	return release_ask(x, region, r, done, data);
}

void executor_device_region(struct executor *x, uint32_t region, uint64_t bytes, uint64_t client)
{
	spawn_send_simple(x, CMD_DEVICE_REGION, region, client, bytes, -1);
}

void executor_device_clear(struct executor *x, uint32_t region)
{
	spawn_send_simple(x, CMD_DEVICE_CLEAR, region, 0, 0, -1);
}

void executor_device_import(struct executor *x, const struct executor_import *i)
{
	struct command c = {.kind = CMD_DEVICE_IMPORT,
			    .bytes = sizeof c,
			    .ticket = i->client,
			    .id = i->region,
			    .peer = (uint32_t)i->ordinal,
			    .arg = i->bytes};

	spawn_send(x, &c, sizeof c, i->fd);
}

void executor_device_import_end(struct executor *x, uint32_t region)
{
	struct command c = {.kind = CMD_REGION_DROP, .bytes = sizeof c, .id = region};

	spawn_send(x, &c, sizeof c, -1);
}

bool executor_device_export(struct executor *x, uint32_t region, executor_exported_fn *done,
			    void *data)
{
	return export_ask(x, region, done, data);
}

void executor_submit(struct executor *x, struct executor_job *job)
{
	job->busy_ns = 0;
	job->torn = 0;
	job->step_torn = 0;
	job->turn = job->looped = 0;
	job->step = 0;
	job->at = 0;
	job->copied = 0;
	job->copied_bytes = 0;
	job->nfault = 0;
	job->pace_elements = job->pace_ns = job->pace_most = 0;
	job->ticket = ++x->next_job << TICKET_SHIFT;
	job->in_flight = 0;
	job->cancelled = 0;
	job->ending = 0;
	schedule_add(x, job, false);
	schedule_send(x);
}

/* Is it a packet of the job, or of one behind it that may read what the job makes? */
static bool is_behind(const struct flight *f, const struct executor_job *job)
{
	return f->job == job ||
	       (f->job->client == job->client && TICKET_JOB(f->ticket) > TICKET_JOB(job->ticket));
}

/* May the job still stop without an input half overwritten, its own or that of one behind it? */
static bool is_whole(const struct executor *x, const struct executor_job *job)
{
	if (job->torn)
		return false;
	for (uint32_t i = 0; i < x->nflight; i++) {
		const struct flight *f = &x->flight[i];

		for (uint32_t s = 0; is_behind(f, job) && s < f->nstep; s++) {
			if (f->job->plan->step[f->step[s].step].tears)
				return false;
		}
	}
	return true;
}

/* No turns but those that have begun.  Where these have all been sent, nothing is left to be: it
 * leaves the queue, and ends with its last packet. */
static void stop_turning(struct executor *x, struct executor_job *job)
{
	uint32_t begun = job->turn + (job->step > 0 || job->at != 0);

	if (begun >= job->turns)
		return;
	job->turns = begun;
	job->nfetch = 0;
	if (marshal_all_sent(job) && schedule_remove(x, job))
		job_settle(x, job);
}

void executor_cancel(struct executor *x, struct executor_job *job)
{
	bool begun = job->turn > 0 || job->step > 0 || job->at != 0 || job->copied > 0 ||
		     job->copied_bytes > 0;
	bool queued = false;

	if (job->cancelled)
		return;
	/* Its old inputs are gone: only the end of a turn leaves something of use. */
	if (!is_whole(x, job)) {
		job->ending = 1;
		stop_turning(x, job);
		schedule_send(x); /* its client may be held */
		return;
	}
	queued = schedule_remove(x, job);
	if (!queued && job->in_flight == 0)
		return; /* it has ended already */
	job->cancelled = 1;
	if (begun)
		spawn_send_simple(x, CMD_CANCEL, 0, job->ticket, 0, -1);
	if (job->in_flight == 0)
		executor_end(x, job, JOB_CANCELLED, NULL);
}

void executor_kernel_ready(struct executor *x, struct kernel *k)
{
	if (k->id < x->known_cap && x->known[k->id] & KNOWN_NEST)
		marshal_kernel(x, k);
}

bool executor_kernel_loaded(struct executor *x, struct kernel *k)
{
	marshal_kernel(x, k);
	return x->known[k->id] & KNOWN_LOADED;
}

void executor_kernel_drop(struct executor *x, uint32_t id)
{
	if (id >= x->known_cap || !x->known[id])
		return;
	x->known[id] = 0;
	spawn_send_simple(x, CMD_KERNEL_DROP, id, 0, 0, -1);
}

bool executor_step_known(const struct executor *x, const struct plan_step *s)
{
	return slice_known(x, s);
}

uint64_t executor_step_cost(const struct executor *x, const struct plan_step *s)
{
	return slice_cost(x, s);
}

bool executor_works(const struct executor *x)
{
	return x->nflight > 0;
}

void executor_get_stats(const struct executor *x, struct executor_stats *out)
{
	*out = x->stats;
	out->held = schedule_held(x);
	if (x->pid < 0)
		return;
	out->registered_bytes = atomic_load(&x->progress->registered_bytes);
	out->beside_steps += atomic_load(&x->progress->beside_steps);
	out->packets += atomic_load(&x->progress->packets);
	out->wakes += atomic_load(&x->progress->wakes);
}

bool executor_quit(struct executor *x)
{
	int status = 0;

	uv_timer_stop(x->restart);
	uv_timer_stop(x->watch);
	return x->pid < 0 || spawn_collect(x, &status);
}

void executor_add_stats(struct executor_stats *sum, const struct executor_stats *x)
{
	sum->runs += x->runs;
	sum->steps += x->steps;
	sum->slices += x->slices;
	sum->busy_ns += x->busy_ns;
	sum->library_products += x->library_products;
	sum->own_products += x->own_products;
	sum->deaths += x->deaths;
	sum->queued += x->queued;
	sum->held += x->held;
	sum->in_flight += x->in_flight;
	sum->registered_bytes += x->registered_bytes;
	sum->beside_steps += x->beside_steps;
	sum->packets += x->packets;
	sum->wakes += x->wakes;
	sum->trials += x->trials;
	sum->tuning_ns += x->tuning_ns;
	sum->up_bytes_us = x->up_bytes_us > 0 ? x->up_bytes_us : sum->up_bytes_us;
	sum->down_bytes_us = x->down_bytes_us > 0 ? x->down_bytes_us : sum->down_bytes_us;
}

void executor_load(const struct executor *x, uint64_t client, struct executor_load *out)
{
	schedule_load(x, client, out);
}

uint32_t executor_clients(const struct executor *x, uint64_t *client, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < x->nflight && found < n; i++) {
		uint32_t k = 0;

		while (k < found && client[k] != x->flight[i].job->client)
			k++;
		if (k == found)
			client[found++] = x->flight[i].job->client;
	}
	return found;
}

void executor_client_set(struct executor *x, const struct executor_client *c)
{
	schedule_client_set(x, c);
	schedule_send(x);
}

void executor_client_drop(struct executor *x, uint64_t client)
{
	schedule_client_drop(x, client);
}

uint64_t executor_client_busy(const struct executor *x, uint64_t client)
{
	const struct share *s = schedule_client(x, client);

	return s ? s->busy_ns : 0;
}

uint64_t executor_user_busy(const struct executor *x, uint32_t uid)
{
	const struct share *s = schedule_user(x, uid);

	return s ? s->busy_ns : 0;
}
