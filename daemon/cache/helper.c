/* SPDX-License-Identifier: Apache-2.0 */
/* cache/helper.c - the compile helper process, seen from the loop (see helper.h). */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/proc.h"
#include "base/xalloc.h"

#define ATTEMPTS 2    /* of a job whose helper dies */
#define GRACE_MS 2000 /* for the helper to stop a compiler that sleeps */
#define LOOK_MS	 500  /* between two looks at what the helper does */
/* Of all that a job runs: each process has its own limit, NVRTC runs in the helper. */
#define CPU_NS	 (3 * COMPILE_CPU_SECONDS * 1000000000ll)
#define NVRTC_NS (COMPILE_CPU_SECONDS * 1000000000ll)

extern char **environ;

struct job {
	struct job *next;
	uint64_t ticket;
	unsigned arch, attempts;
	bool hurried;		  /* these come first */
	helper_source_fn *source; /* asked when its turn comes: many may wait */
	helper_done_fn *done;
	void *data;
};

struct helper {
	uv_loop_t *loop;
	char *self;
	struct compile_request request; /* the fields that all have in common */
	struct job *first, **last;	/* first is with the helper when `busy` */
	unsigned waiting;		/* jobs, the first included */
	bool busy;
	pid_t pid;
	int sock;
	uint64_t tickets, deaths;
	uv_poll_t *poll; /* of sock; its memory outlives it until closed */
	uv_timer_t timer;
	struct proc_watch watch; /* since the job was handed over */
	uv_idle_t kick;		 /* failures are reported from the loop, not from submit */
	unsigned closing;
};

static void start_next(struct helper *h);

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

/* End the process and forget its socket; the queue stays. */
static void stop_process(struct helper *h)
{
	if (h->poll) {
		uv_poll_stop(h->poll);
		h->poll->data = NULL;
		uv_close((uv_handle_t *)h->poll, free_handle);
		h->poll = NULL;
	}
	if (h->sock >= 0)
		close(h->sock);
	h->sock = -1;
	if (h->pid > 0) {
		kill(h->pid, SIGKILL);
		while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	h->pid = 0;
	h->busy = false;
	uv_timer_stop(&h->timer);
}

static void finish_first(struct helper *h, const struct helper_result *r)
{
	struct job *j = h->first;

	h->first = j->next;
	if (!h->first)
		h->last = &h->first;
	h->waiting--;
	h->busy = false;
	uv_timer_stop(&h->timer);
	j->done(j->data, r);
	free(j);
}

/* The helper died, or had to be killed, under the first job. */
static void died(struct helper *h, enum status why, const char *text)
{
	bool had = h->busy;
	struct helper_result r = {.status = why, .fd = -1, .text = text};

	stop_process(h);
	h->deaths++;
	log_warn("helper", "%s", text);
	if (had && h->first && (why == E_TIMEOUT || h->first->attempts >= ATTEMPTS))
		finish_first(h, &r);
	if (!h->closing)
		start_next(h);
}

static void on_reply(uv_poll_t *poll, int status, int events)
{
	struct helper *h = poll->data;
	struct compile_reply r;
	struct helper_result result;
	int fd = -1, got;

	if (!h)
		return;
	got = compile_wire_recv(h->sock, &r, sizeof r, &fd, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return;
	if (got != 1 || r.magic != COMPILE_MAGIC || !h->busy || r.ticket != h->first->ticket ||
	    r.status >= STATUS_END || (r.status == OK) != (fd >= 0)) {
		if (fd >= 0)
			close(fd);
		died(h, E_SYSTEM, "the compile helper died");
		return;
	}
	r.log[sizeof r.log - 1] = 0;
	result = (struct helper_result){.status = (enum status)r.status,
					.fd = fd,
					.bytes = r.code_bytes,
					.compile_ns = r.compile_ns,
					.registers = r.registers,
					.spill_bytes = r.spill_bytes,
					.text = r.log};
	finish_first(h, &result);
	if (!h->closing)
		start_next(h);
}

static void on_look(uv_timer_t *timer)
{
	struct helper *h = timer->data;
	int64_t sleep_ns = ((int64_t)h->request.timeout_ms + GRACE_MS) * 1000000;

	proc_watch_tick(&h->watch, h->pid, (int64_t)uv_hrtime(), 2 * LOOK_MS * 1000000);
	if (h->watch.asleep_ns >= sleep_ns)
		died(h, E_TIMEOUT, "a compilation did nothing for too long; the helper was killed");
	else if (h->watch.used_ns >= (h->request.arch ? NVRTC_NS : CPU_NS))
		died(h, E_TIMEOUT,
		     "a compilation took too much of the processor; the helper was "
		     "killed");
}

static enum status spawn(struct helper *h, struct err *err)
{
	char *argv[] = {h->self, "--compile-helper", "3", NULL};
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	int pair[2], e;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(err, E_SYSTEM, "socketpair: %s", strerror(errno));
	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, pair[1], 3);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	e = posix_spawn(&h->pid, h->self, &fa, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	close(pair[1]);
	if (e) {
		h->pid = 0;
		close(pair[0]);
		return err_set(err, E_SYSTEM, "cannot start the compile helper %s: %s", h->self,
			       strerror(e));
	}
	h->sock = pair[0];
	h->poll = xcalloc(1, sizeof *h->poll);
	e = uv_poll_init(h->loop, h->poll, h->sock);
	if (e) {
		free(h->poll);
		h->poll = NULL;
		stop_process(h);
		return err_set(err, E_SYSTEM, "uv_poll: %s", uv_strerror(e));
	}
	h->poll->data = h;
	uv_poll_start(h->poll, UV_READABLE | UV_DISCONNECT, on_reply);
	return OK;
}

/* The first job's text as a descriptor. */
static enum status open_source(int *fd, struct helper *h, struct err *err)
{
	struct job *j = h->first;
	bool urgent = false;
	char *text = j->source(j->data, &urgent, err);
	size_t n = text ? strlen(text) : 0;
	enum status st;

	if (!text || n > COMPILE_SOURCE_BYTES) {
		j->attempts = ATTEMPTS; /* another one ends alike */
		if (text)
			err_set(err, E_LIMIT, "source of %zu bytes, the limit is %u", n,
				COMPILE_SOURCE_BYTES);
		free(text);
		return E_COMPILE;
	}
	h->request.urgent = urgent;
	h->request.source_bytes = n;
	st = compile_wire_memfd(fd, "braze-source", text, n, err);
	free(text);
	return st;
}

/* Hand the first job over, starting the process when there is none. */
static enum status hand_over(struct helper *h, struct err *err)
{
	struct job *j = h->first;
	int fd = -1, sent;
	enum status st = OK;

	j->attempts++;
	if (!h->pid)
		st = spawn(h, err);
	if (!st)
		st = open_source(&fd, h, err);
	if (st)
		return st;
	h->request.ticket = j->ticket = ++h->tickets;
	h->request.arch = j->arch;
	sent = compile_wire_send(h->sock, &h->request, sizeof h->request, fd);
	close(fd);
	if (sent) {
		stop_process(h);
		h->deaths++;
		return err_set(err, E_SYSTEM, "the compile helper died");
	}
	h->busy = true;
	h->watch = (struct proc_watch){0};
	uv_timer_start(&h->timer, on_look, LOOK_MS, LOOK_MS);
	return OK;
}

static void start_next(struct helper *h)
{
	while (h->first && !h->busy && !h->closing) {
		struct err err = {OK, ""};
		enum status st = hand_over(h, &err);
		struct helper_result r = {.status = st, .fd = -1, .text = err.text};

		if (st && h->first->attempts >= ATTEMPTS)
			finish_first(h, &r);
	}
}

static void on_kick(uv_idle_t *kick)
{
	uv_idle_stop(kick);
	start_next(kick->data);
}

enum status helper_create(struct helper **out, struct uv_loop_s *loop,
			  const struct helper_config *c, struct err *err)
{
	struct helper *h;

	if (!c->self || !c->compiler || strlen(c->compiler) >= COMPILE_PATH_BYTES)
		return err_set(err, E_INVALID, "compile helper: no executable or compiler given");
	h = xcalloc(1, sizeof *h);
	h->loop = loop;
	h->self = xstrdup(c->self);
	h->sock = -1;
	h->last = &h->first;
	h->request.magic = COMPILE_MAGIC;
	h->request.isa = (uint32_t)c->isa;
	h->request.timeout_ms = c->timeout_ms ? c->timeout_ms : COMPILE_TIMEOUT_MS;
	strcpy(h->request.compiler, c->compiler);
	uv_timer_init(loop, &h->timer);
	uv_idle_init(loop, &h->kick);
	h->timer.data = h->kick.data = h;
	*out = h;
	return OK;
}

static void on_closed(uv_handle_t *handle)
{
	struct helper *h = handle->data;

	if (--h->closing)
		return;
	free(h->self);
	free(h);
}

void helper_destroy(struct helper *h)
{
	if (!h)
		return;
	stop_process(h);
	while (h->first) {
		struct job *j = h->first;

		h->first = j->next;
		free(j);
	}
	h->closing = 2;
	uv_close((uv_handle_t *)&h->timer, on_closed);
	uv_close((uv_handle_t *)&h->kick, on_closed);
}

void helper_submit(struct helper *h, unsigned arch, helper_source_fn *source, helper_done_fn *done,
		   void *data)
{
	struct job *j = xcalloc(1, sizeof *j);

	j->arch = arch;
	j->source = source;
	j->done = done;
	j->data = data;
	*h->last = j;
	h->last = &j->next;
	h->waiting++;
	if (!h->busy)
		uv_idle_start(&h->kick, on_kick);
}

void helper_hurry(struct helper *h, const void *data)
{
	/* Where it goes: behind what has begun, and all that was hurried before. */
	struct job **to = &h->first, **from, *j;

	if (*to && (*to)->attempts)
		to = &(*to)->next;
	while (*to && (*to)->hurried)
		to = &(*to)->next;
	for (from = to; (j = *from) && j->data != data;)
		from = &j->next;
	if (!j)
		return;
	j->hurried = true;
	*from = j->next;
	if (!j->next)
		h->last = from;
	j->next = *to;
	*to = j;
	if (!j->next)
		h->last = &j->next;
}

uint64_t helper_deaths(const struct helper *h)
{
	return h->deaths;
}

uint64_t helper_fds(const struct helper *h)
{
	return h->sock >= 0;
}

unsigned helper_waiting(const struct helper *h)
{
	return h->waiting;
}

int helper_pid(const struct helper *h)
{
	return (int)h->pid;
}
