/* SPDX-License-Identifier: Apache-2.0 */
/* run/watch.c - is the worker alive that has not answered for a while?
 *
 * A hang is no progress, not time passed: on a loaded machine, after a stop or a suspend,
 * seconds go by in which a healthy worker does nothing.  So each tick compares what the
 * threads of the CPU's worker show in the progress page with the last tick, and of one
 * that shows nothing new asks the system what it has been doing:
 *
 *   it used HANG_CPU_NS of a core          a hang: killed, its kernel gets a strike
 *   it sleeps and used nothing, so often   killed, nobody is to blame: runs again
 *     that ASLEEP_NS have passed
 *   it is starved, pages, or was stopped   waited for, and said in the log
 *
 * A GPU's worker watches its runs itself (cuda/cuda_watch.c), and a thread in the driver
 * shows no progress: that one is killed, and nobody blamed, when it has answered nothing
 * for the patience that its packet deserves.  Ticks are counted, not the clock, so that
 * neither a stop of this process nor its own starvation passes for the worker's. */
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "executor_impl.h"

#define HANG_CPU_NS	 2000000000ll
#define ASLEEP_NS	 10000000000ll
#define SAY_TICKS	 30 /* so many ticks of waiting before it is said, once */
#define RELEASE_PATIENCE 3  /* times the watchdog's, for an answer to CMD_RELEASE */

void watch_init(struct watch *w)
{
	*w = (struct watch){
		.hang_cpu_ns = HANG_CPU_NS, .asleep_ns = ASLEEP_NS, .tick_ms = WATCH_TICK_MS};
}

/* A thread that shows what it showed at the last tick. */
static enum watch_verdict judge_task(const struct watch *w, struct watch_thread *t,
				     const struct proc_task *now, int64_t passed_ns)
{
	bool flat = now->cpu_ns == t->cpu_ns;

	t->cpu_ns = now->cpu_ns;
	if (now->cpu_ns - t->begin_ns >= w->hang_cpu_ns)
		return WATCH_HANGS;
	t->asleep_ns = flat && now->state == 'S' ? t->asleep_ns + passed_ns : 0;
	return t->asleep_ns >= w->asleep_ns ? WATCH_SLEEPS : WATCH_WAITS;
}

enum watch_verdict watch_look(struct watch *w, const struct progress *page, bool busy,
			      int64_t passed_ns, watch_read_fn *read, pid_t pid)
{
	enum watch_verdict worst = WATCH_MOVES;

	for (int i = 0; i < PROGRESS_THREADS; i++) {
		struct watch_thread *t = &w->thread[i], seen = {0};
		struct proc_task now = {0};
		enum watch_verdict v = WATCH_MOVES;

		seen.ticket = page->thread[i].ticket;
		seen.turns = page->thread[i].turns;
		seen.tid = page->thread[i].tid;
		/* The command thread is at work while packets are with it, whatever it shows. */
		if (!seen.tid || (!seen.ticket && (i > 0 || !busy))) {
			*t = (struct watch_thread){0};
			continue;
		}
		if (!read(&now, pid, seen.tid))
			continue; /* it ends: the socket will tell */
		if (seen.tid != t->tid || seen.ticket != t->ticket || seen.turns != t->turns) {
			*t = seen;
			t->begin_ns = t->cpu_ns = now.cpu_ns;
			continue;
		}
		v = judge_task(w, t, &now, passed_ns);
		if (v > worst) {
			worst = v;
			w->worst = t->tid;
			w->state = now.state;
		}
	}
	w->waits = worst == WATCH_WAITS ? w->waits + 1 : 0;
	return worst;
}

/* Time since the last tick, as far as it counts: this process may have been stopped. */
static int64_t passed(struct watch *w, int64_t now)
{
	int64_t most = 2 * w->tick_ms * 1000000, ns = w->ticked_ns ? now - w->ticked_ns : 0;

	w->ticked_ns = now;
	return ns < most ? ns : most;
}

static void look_at_cpu(struct executor *x, int64_t passed_ns)
{
	enum watch_verdict v =
		watch_look(&x->watched, x->progress, x->nflight > 0, passed_ns, proc_task, x->pid);

	if (x->watched.waits == SAY_TICKS)
		log_warn("watch",
			 "%s worker %d: thread %u has made no progress for %lld s (state "
			 "%c): the machine is loaded, or it was stopped; it is waited for",
			 x->device, (int)x->pid, x->watched.worst,
			 (long long)(SAY_TICKS * x->watched.tick_ms / 1000), x->watched.state);
	if (v < WATCH_SLEEPS)
		return;
	x->hung = v == WATCH_HANGS;
	x->stuck = v == WATCH_SLEEPS;
	kill(x->pid, SIGKILL); /* on_socket sees the end */
}

/* Has a GPU's worker kept the broker waiting beyond all measure? */
static bool overdue(struct executor *x, int64_t passed_ns)
{
	struct flight *f = x->nflight ? &x->flight[0] : NULL;
	bool over = false;

	if (f) {
		f->waited_ns += passed_ns;
		over = f->waited_ns > x->patience_ns + 20000 * (int64_t)f->cost_us;
	}
	if (x->release) { /* it may wait for copies that are under way */
		x->release->waited_ns += passed_ns;
		over = over || x->release->waited_ns > RELEASE_PATIENCE * x->patience_ns;
	}
	x->watched.ping_ns = x->pinged ? x->watched.ping_ns + passed_ns : 0;
	return over || x->watched.ping_ns > x->patience_ns;
}

/* What of the time since the last tick a process had for answering: all of it where its
 * threads had nothing to do, else what the system gave them; stopped, paging or starved
 * it can answer nothing. */
static int64_t given(struct watch *w, pid_t pid, int64_t passed_ns)
{
	int64_t before_ns = w->cpu_ns, used_ns = 0;
	struct proc_use u = {0};

	proc_tree(&u, pid);
	w->cpu_ns = u.cpu_ns;
	used_ns = u.cpu_ns > before_ns ? u.cpu_ns - before_ns : 0;
	return u.asleep || used_ns > passed_ns ? passed_ns : used_ns;
}

static void look_at_gpu(struct executor *x, int64_t passed_ns)
{
	if (overdue(x, given(&x->watched, x->pid, passed_ns))) {
		x->stuck = true;
		kill(x->pid, SIGKILL);
	} else if (!x->pinged) {
		x->pinged = true;
		spawn_send_simple(x, CMD_PING, 0, 0, 0, -1);
	}
}

static void on_tick(uv_timer_t *t)
{
	struct executor *x = t->data;
	int64_t ns = passed(&x->watched, executor_clock());

	if (x->pid < 0 || x->hung || x->stuck || (x->nflight == 0 && !x->release))
		return;
	if (x->target)
		look_at_gpu(x, ns);
	else
		look_at_cpu(x, ns);
}

void watch_update(struct executor *x)
{
	bool wanted = (x->nflight > 0 || x->release) && x->pid >= 0;
	uint64_t ms = (uint64_t)x->watched.tick_ms;

	if (wanted && !uv_is_active((uv_handle_t *)x->watch)) {
		x->watched.ticked_ns = executor_clock();
		uv_timer_start(x->watch, on_tick, ms, ms);
	} else if (!wanted) {
		uv_timer_stop(x->watch);
	}
}

void watch_forget(struct executor *x)
{
	struct watch *w = &x->watched;

	memset(w->thread, 0, sizeof w->thread);
	w->ping_ns = w->cpu_ns = 0;
	w->waits = 0;
}
