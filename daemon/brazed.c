/* SPDX-License-Identifier: Apache-2.0 */
/* brazed.c - the daemon's life: make the parts, run the loop, take them down.
 *
 * Parts are made in the order of the data's way and go in the opposite order; a
 * part's handles close on the loop, which therefore runs once more at the end. */
#define _GNU_SOURCE
#include "brazed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/moments.h"
#include "base/xalloc.h"
#include "cache/cache.h"
#include "config.h"
#include "control.h"
#include "history.h"
#include "ctl/ctl.h"
#include "report.h"
#include "spin.h"
#include "plan/plancache.h"
#include "plan/planner.h"
#include "run/executor.h"
#include "takeover.h"
#include "wire/decode.h"
#include "wire/listen.h"

#define PLAN_CACHE_BYTES (64ull << 20)
#define STOP_MS		 5000 /* running jobs may take so long to let go at the end */
#define DRAIN_POLL_MS	 20
#define LOOP_NICE	 (-5)	 /* where the system allows it */
#define TURN_LONG_NS	 3000000 /* a turn that is logged, at debug level */
#define SD_FIRST_FD	 3	 /* socket activation passes descriptors from here on */

struct life {
	struct brazed d;
	struct report report;
	struct config *config;
	uv_loop_t loop;
	uv_signal_t term, interrupt, hangup, cpu;
	uv_prepare_t turn;
	uv_idle_t look; /* while it is active, the loop does not sleep ... */
	uv_timer_t idle, limit, drain, sample;
	uint64_t look_ns, look_until; /* ... for so long, until then, of uv_hrtime() ... */
	uint64_t flown_since;	      /* ... and longer while GPUs have work: since then; 0: none */
	struct spin_pace pace;	      /* how long they had some */
	uint64_t drain_until;	      /* ms of the loop's clock */
	struct listener *listener;
	struct ctl *ctl;
	uint64_t turn_ns, turn_idle_ns, turn_cpu_ns;
	struct rusage turn_usage; /* at its beginning, when turns are logged */
	uv_work_t first_work;
	bool retired, stopping;
	struct takeover *takeover; /* another program is to go on; NULL */
};

/* ---- Turns of the loop ---- */

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int64_t rusage_us(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

/* A turn has ended: if it was long, say what it did. */
static void log_turn(struct life *l, uint64_t work, uint64_t wall)
{
	struct turn_work t = l->d.turn;
	struct rusage was = l->turn_usage, *is = &l->turn_usage;

	if (t.packets > l->d.most_packets)
		l->d.most_packets = t.packets;
	if (t.operations > l->d.most_operations)
		l->d.most_operations = t.operations;
	l->d.turn = (struct turn_work){0};
	if (!log_enabled(LOG_DEBUG, "brazed"))
		return;
	getrusage(RUSAGE_THREAD, is);
	if (l->turn_ns && work >= TURN_LONG_NS)
		log_debug("brazed",
			  "a turn of the loop took %llu us, %llu by the clock: %u packets, "
			  "%llu operations, %u plans, %u jobs, %u chores; %lld us "
			  "in the kernel, %ld page faults, put aside %ld times",
			  (unsigned long long)work / 1000, (unsigned long long)wall / 1000,
			  t.packets, (unsigned long long)t.operations, t.plans, t.jobs, t.chores,
			  (long long)(rusage_us(&is->ru_stime) - rusage_us(&was.ru_stime)),
			  is->ru_minflt - was.ru_minflt, is->ru_nivcsw - was.ru_nivcsw);
}

/* Behind a message the loop looks for the next one (proto/spin.h). */
static void on_look(uv_idle_t *h)
{
	struct life *l = h->data;

	if (uv_hrtime() >= l->look_until)
		uv_idle_stop(h);
}

static bool gpus_work(const struct brazed *d)
{
	const struct device *cpu = &d->device[0];

	for (struct device *dev = isolate_next(d, cpu); dev; dev = isolate_next(d, dev))
		if (dev->executor && executor_works(dev->executor))
			return true;
	return false;
}

/* Returns how long to look. */
static uint64_t look_time(struct life *l, uint64_t now)
{
	if (gpus_work(&l->d)) {
		l->flown_since = l->flown_since ? l->flown_since : now;
		return (uint64_t)spin_pace_time(&l->pace, (int64_t)l->look_ns);
	}
	if (l->flown_since)
		spin_pace_note(&l->pace, (int64_t)(now - l->flown_since));
	l->flown_since = 0;
	return l->look_ns;
}

static void look_on(struct life *l, uint64_t now)
{
	if (!l->look_ns || l->stopping)
		return;
	l->look_until = now + look_time(l, now);
	uv_idle_start(&l->look, on_look);
}

/* Before it polls: what passed since the last time is one iteration.  By the clock,
 * less the waiting for events, it has the time in which the machine gave the core to
 * somebody else; the thread's own time has interrupts that came while it waited.  Its
 * work is at most the smaller of them. */
static void on_turn(uv_prepare_t *h)
{
	struct life *l = h->data;
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(&l->loop), cpu = thread_ns();
	uint64_t work = cpu - l->turn_cpu_ns, wall = now - l->turn_ns - (idle - l->turn_idle_ns);

	if (wall > now - l->turn_ns) /* the idle time was read a moment later */
		wall = 0;
	if (work > wall)
		work = wall;
	if (l->turn_ns && work > l->d.longest_iteration_ns)
		l->d.longest_iteration_ns = work;
	if (l->turn_ns && wall > l->d.longest_wall_ns)
		l->d.longest_wall_ns = wall;
	if (l->turn_ns &&
	    (l->d.turn.packets || l->d.turn.jobs || l->d.turn.plans || l->d.turn.chores)) {
		look_on(l, now);
		moments_add((struct moment){.began = now - wall,
					    .ended = now,
					    .number = l->d.turn.packets,
					    .kind = MOMENT_TURN});
	}
	log_turn(l, work, wall);
	l->turn_ns = now;
	l->turn_idle_ns = idle;
	l->turn_cpu_ns = cpu;
}

/* ---- Ending ---- */

static void on_limit(uv_timer_t *t)
{
	uv_stop(t->loop);
}

/* All goes on here. */
static void keep_on(struct life *l)
{
	if (l->takeover)
		takeover_abort(l->takeover);
	l->takeover = NULL;
}

static void stop(struct life *l)
{
	if (l->stopping)
		return;
	keep_on(l);
	l->stopping = true;
	uv_timer_stop(&l->drain);
	if (l->listener)
		listen_destroy(l->listener);
	l->listener = NULL;
	session_stop_all(&l->d);
	if (!l->d.nsession)
		uv_stop(&l->loop);
	else
		uv_timer_start(&l->limit, on_limit, STOP_MS, 0);
}

static void on_drain(uv_timer_t *t)
{
	struct life *l = t->data;
	uint32_t busy = session_stop_idle(&l->d);

	if (busy && uv_now(&l->loop) < l->drain_until)
		return;
	if (busy)
		log_warn("brazed", "%u clients still wait after %llu s (drain_seconds)", busy,
			 (unsigned long long)l->config->drain_seconds);
	stop(l);
}

/* SIGTERM: who waits gets his answer, others are told; a second one, or SIGINT, does not
 * wait.  A service manager's socket is left alone: who comes now is served by the next. */
static void on_signal(uv_signal_t *s, int number)
{
	struct life *l = s->data;

	log_info("brazed", "%s: stopping", strsignal(number));
	keep_on(l);
	if (number != SIGTERM || l->d.draining || !l->config->drain_seconds) {
		stop(l);
		return;
	}
	l->d.draining = true;
	if (l->listener)
		listen_drain(l->listener);
	l->drain_until = uv_now(&l->loop) + l->config->drain_seconds * 1000;
	uv_timer_start(&l->drain, on_drain, 0, DRAIN_POLL_MS);
}

/* ---- Another program goes on ---- */

/* What has threads and children ends here; the rest goes with this program. */
static void give_way(void *data)
{
	struct life *l = data;
	struct brazed *d = &l->d;

	log_listen(NULL, NULL);
	ctl_destroy(l->ctl);
	planner_destroy(d->planner);
	dispatch_close(d);
	cache_destroy(d->cache);
	takeover_exec(l->takeover);
}

static void takeover_refused(void *data)
{
	struct life *l = data;

	l->takeover = NULL;
}

static enum status hand_over(struct brazed *d, const char *binary, struct err *err)
{
	struct life *l = (struct life *)d;
	struct takeover_plan plan = {.d = d,
				     .config = l->config,
				     .listener = l->listener,
				     .ready = give_way,
				     .refused = takeover_refused,
				     .data = l};

	if (l->takeover)
		return err_set(err, E_INVALID, "another program is about to go on already");
	if (l->stopping || l->retired || d->draining)
		return err_set(err, E_INVALID, "the daemon is ending");
	return takeover_begin(&l->takeover, &plan, binary, err);
}

/* ---- The settings again ---- */

static void tell_setting(const char *name, const char *value, bool taken)
{
	if (taken)
		log_info("config", "%s = %s from now on", name, value);
	else
		log_warn("config", "%s = %s needs a restart, the old value stays", name, value);
}

static void apply_settings(struct life *l)
{
	const struct config *c = l->config;

	log_setup(c->log); /* checked before it was taken over */
	l->d.quota_bytes = c->quota_bytes;
	l->d.arena_bytes = c->arena_bytes;
	account_apply_all(&l->d);
	cache_bound(l->d.cache, c->cache_memory_bytes, c->cache_disk_bytes);
	uv_timer_stop(&l->idle);
	if (!l->d.nsession && !l->stopping && !l->retired && l->d.became_idle)
		l->d.became_idle(&l->d);
}

static void on_hangup(uv_signal_t *s, int number)
{
	struct life *l = s->data;
	struct err err = {0};

	(void)number;
	if (!log_reopen())
		log_error("brazed", "the log cannot be opened again: %s", strerror(errno));
	if (config_reload(l->config, tell_setting, &err)) {
		log_error("config", "the old settings stay: %s", err.text);
		return;
	}
	/* At the old level: the new one may hide it. */
	log_info("brazed", "read its settings again");
	apply_settings(l);
}

/* Nobody came for a while.  The path goes first, so that a client that comes now
 * starts a new daemon; whoever is in the queue already is served to the end. */
static void on_idle(uv_timer_t *t)
{
	struct life *l = t->data;

	if (l->listener)
		listen_retire(l->listener);
	l->retired = true;
	if (!l->d.nsession) {
		log_info("brazed", "no client for %llu s: ending",
			 (unsigned long long)l->config->idle_exit_seconds);
		stop(l);
	}
}

static void became_idle(struct brazed *d)
{
	struct life *l = (struct life *)d;

	if (l->stopping)
		uv_stop(&l->loop);
	else if (l->retired || l->config->private_fd >= 0)
		stop(l);
	else if (l->config->idle_exit_seconds)
		uv_timer_start(&l->idle, on_idle, l->config->idle_exit_seconds * 1000, 0);
}

/* ---- Starting ---- */

static void accepted(void *data, int fd, const struct peer *peer)
{
	struct life *l = data;

	if (l->config->idle_exit_seconds && !l->retired)
		uv_timer_stop(&l->idle);
	session_accept(&l->d, fd, peer->uid, (uint32_t)peer->pid);
	if (!l->d.nsession)
		became_idle(&l->d);
}

/* What another program left: its sockets. */
static enum status take_over(struct life *l, struct takeover_in *in, struct err *err)
{
	enum status st = takeover_open(in, l->config->take_over, err);

	if (!st && in->m->listener >= 0)
		l->listener = listen_resume(&l->loop, l->config->socket, in->m->listener,
					    in->m->lock, accepted, l);
	return st;
}

static const char *text_or_null(const char *s)
{
	return *s ? s : NULL;
}

static enum status make_parts(struct life *l, const char *self, struct err *err)
{
	const struct config *c = l->config;
	bool never = c->tier == 0 || !strcmp(c->compiler, "none");
	struct cache_config cache = {.dir = text_or_null(c->cache_dir),
				     .compiler = never ? NULL : text_or_null(c->compiler),
				     .memory_bytes = c->cache_memory_bytes,
				     .disk_bytes = c->cache_disk_bytes,
				     .tier = never ? 0 : c->tier,
				     .self = self};
	struct planner_config planner = {.passes = text_or_null(c->passes),
					 .dump = text_or_null(c->dump),
					 .check = c->check != 0};
	struct brazed *d = &l->d;
	enum status st = cache_create(&d->cache, &l->loop, &cache, dispatch_kernel_ready, d, err);

	if (st)
		return st;
	cache_on_drop(d->cache, dispatch_kernel_dropped);
	cache_on_compile(d->cache, account_may_compile, account_compiled);
	d->plans = plancache_create(PLAN_CACHE_BYTES, pipeline_release_plan, d);
	st = planner_create(&d->planner, &l->loop, &planner, err);
	if (!st)
		st = dispatch_open(d, self, c, err);
	d->decoder = decode_create();
	return st;
}

/* The descriptor that a service manager passed; -1: none. */
static int activated_fd(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

	if (!pid || !count || (pid_t)atol(pid) != getpid() || atoi(count) < 1)
		return -1;
	fcntl(SD_FIRST_FD, F_SETFD, FD_CLOEXEC);
	return SD_FIRST_FD;
}

static void on_message(void *data, const char *topic, const char *text)
{
	struct life *l = data;

	ctl_note(l->ctl, topic, "%s", text);
}

static void on_sample(uv_timer_t *t)
{
	struct life *l = t->data;

	history_sample(l->d.history, &l->d);
}

static enum status open_status(struct life *l, struct err *err)
{
	struct ctl_source source = {&l->report, report_snapshot, report_order};
	enum status st = OK;

	if (*l->config->status_socket)
		st = ctl_create(&l->ctl, &l->loop, l->config->status_socket, &source, err);
	log_listen(on_message, l);
	/* Nobody can ask for it otherwise. */
	if (!st && l->ctl) {
		uv_timer_start(&l->sample, on_sample, 0, HISTORY_EVERY_MS);
		moments_open();
	}
	uv_unref((uv_handle_t *)&l->sample);
	return st;
}

/* --private: one connection that this daemon was started with. */
static enum status serve_private(struct life *l, struct err *err)
{
	const struct config *c = l->config;
	struct ucred peer = {.uid = getuid()};
	socklen_t n = sizeof peer;

	if (getsockopt(c->private_fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return err_set(err, E_INVALID, "--private %d: not a connected socket: %s",
			       c->private_fd, strerror(errno));
	fcntl(c->private_fd, F_SETFD, FD_CLOEXEC);
	session_accept(&l->d, c->private_fd, peer.uid, (uint32_t)peer.pid);
	return OK;
}

/* One connection needs a handful of descriptors; take what the system allows. */
static void raise_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r))
		log_warn("brazed", "cannot raise the limit of descriptors: %s", strerror(errno));
}

static void make_handles(struct life *l)
{
	uv_loop_init(&l->loop);
	uv_loop_configure(&l->loop, UV_METRICS_IDLE_TIME);
	uv_signal_init(&l->loop, &l->term);
	uv_signal_init(&l->loop, &l->interrupt);
	uv_signal_init(&l->loop, &l->hangup);
	uv_signal_init(&l->loop, &l->cpu);
	uv_prepare_init(&l->loop, &l->turn);
	uv_idle_init(&l->loop, &l->look);
	uv_timer_init(&l->loop, &l->idle);
	uv_timer_init(&l->loop, &l->limit);
	uv_timer_init(&l->loop, &l->drain);
	uv_timer_init(&l->loop, &l->sample);
	l->hangup.data = l->drain.data = l->cpu.data = l;
	l->term.data = l->interrupt.data = l->turn.data = l->idle.data = l;
	l->sample.data = l->look.data = l;
	uv_signal_start(&l->term, on_signal, SIGTERM);
	uv_signal_start(&l->interrupt, on_signal, SIGINT);
	uv_signal_start(&l->hangup, on_hangup, SIGHUP);
	uv_signal_start(&l->cpu, on_signal, SIGXCPU); /* the limit's last warning */
	uv_prepare_start(&l->turn, on_turn);
}

static void take_down(struct life *l)
{
	struct brazed *d = &l->d;

	if (l->listener)
		listen_destroy(l->listener);
	log_listen(NULL, NULL);
	ctl_destroy(l->ctl);
	session_finish_all(d);
	publish_finish(d);
	planner_destroy(d->planner);
	dispatch_close(d);
	if (d->plans)
		plancache_destroy(d->plans);
	grid_table_destroy(d->grids);
	if (d->cache)
		cache_destroy(d->cache);
	decode_destroy(d->decoder);
	history_destroy(d->history);
	control_destroy(d->audit);
	account_finish_all(d);
	rules_clear(&d->ruled);
	moments_close();
	uv_close((uv_handle_t *)&l->term, NULL);
	uv_close((uv_handle_t *)&l->interrupt, NULL);
	uv_close((uv_handle_t *)&l->hangup, NULL);
	uv_close((uv_handle_t *)&l->drain, NULL);
	uv_close((uv_handle_t *)&l->cpu, NULL);
	uv_close((uv_handle_t *)&l->turn, NULL);
	uv_close((uv_handle_t *)&l->look, NULL);
	uv_close((uv_handle_t *)&l->idle, NULL);
	uv_close((uv_handle_t *)&l->limit, NULL);
	uv_close((uv_handle_t *)&l->sample, NULL);
	uv_run(&l->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&l->loop))
		log_error("brazed", "handles were left open");
}

/* The sessions that another program left. */
static enum status go_on(struct life *l, struct takeover_in *left, struct err *err)
{
	enum status st = OK;

	plancache_go_on(l->d.plans, left->m->plans);
	st = takeover_resume(left, &l->d, l->config, false, err);
	takeover_close(left);
	return st;
}

static void nothing(uv_work_t *work)
{
}

/* The threads of the loop's pool are there before the first call that needs one. */
static void start_threads(struct life *l)
{
	uv_queue_work(&l->loop, &l->first_work, nothing, NULL);
}

/* A log that is appended to is read days later; its lines have the time only. */
static const char *today(char date[16])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(date, 16, "%Y-%m-%d", gmtime_r(&now, &tm));
	return date;
}

/* What needs nothing of the system. */
static void make_state(struct life *l, struct config *config)
{
	l->config = config;
	l->d.loop = &l->loop;
	l->d.quota_bytes = config->quota_bytes;
	l->look_ns = (uint64_t)config->spin_ns;
	l->d.arena_bytes = config->arena_bytes;
	l->d.rules = &config->rules;
	l->d.audit = control_create();
	l->d.dump_source = strstr(config->dump, "source") != NULL;
	l->d.became_idle = became_idle;
	l->d.hand_over = hand_over;
	make_handles(l);
	session_start_all(&l->d);
	publish_start(&l->d);
	l->d.grids = grid_table_create();
	l->d.history = history_create();
	l->d.started_ns = uv_hrtime();
	report_init(&l->report, &l->d, config);
	report_notice(&l->report);
}

enum status brazed_run(struct config *config, void (*ready)(void), struct err *err)
{
	struct life *l = xcalloc(1, sizeof *l);
	char self[4096], date[16];
	struct takeover_in left = {0};
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	enum status st = OK;

	if (n <= 0) {
		free(l);
		return err_set(err, E_SYSTEM, "/proc/self/exe: %s", strerror(errno));
	}
	self[n] = 0;
	takeover_signals(false); /* no other thread is to take them */
	raise_limits();
	make_state(l, config);
	/* The socket first: its lock decides which of two daemons goes on. */
	if (config->take_over >= 0)
		st = take_over(l, &left, err);
	else if (config->private_fd < 0)
		st = listen_create(&l->listener, &l->loop, config->socket, activated_fd(), accepted,
				   l, err);
	if (!st)
		st = make_parts(l, self, err);
	if (!st)
		st = open_status(l, err);
	if (!st && config->take_over >= 0)
		st = go_on(l, &left, err);
	else if (!st && config->private_fd >= 0)
		st = serve_private(l, err);
	if (!st) {
		log_info("brazed", "version %s serves %s (pid %d, %s UTC)", BRAZE_DAEMON_VERSION,
			 *config->socket ? config->socket : "one connection", (int)getpid(),
			 today(date));
		ready();
		/* It wakes for microseconds; the children go back to 0 and below. */
		if (setpriority(PRIO_PROCESS, 0, LOOP_NICE))
			log_debug("brazed", "runs at everybody's priority");
		if (!l->d.nsession)
			became_idle(&l->d);
		start_threads(l);
		takeover_signals(true);
		uv_run(&l->loop, UV_RUN_DEFAULT);
	}
	take_down(l);
	free(l);
	return st;
}
