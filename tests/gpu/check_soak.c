/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_soak.c - several clients at work on the device for minutes, and what is left behind
 * them.
 *
 * Programs that a seed decides are done once, by one client: those are the right bits.  Then
 * clients, each a process, do them again and again in an order of their own; some they drop, some
 * they do not wait for, and now and then one goes and comes back.  All answers must have the same
 * bits, no worker may die, and behind them daemon and worker must have as many descriptors as
 * before and the device as much free memory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sections.h"
#include "tap.h"

#define CLIENTS		4
#define PROGRAMS	24
#define PROGRAMS_QUICK	4
#define MINUTES		2.0
#define MINUTES_QUICK	(4.0 / 60)
#define WAIT_MS		300000
#define SETTLE_SECONDS	20
#define COMPILE_SECONDS 300 /* more, while kernels are compiled: what waits for them is held */
#define MIB		(1024.0 * 1024)

struct task {
	struct random_program program;
	uint64_t bits; /* a hash of all results */
};

struct soak {
	struct both *b;
	struct task task[PROGRAMS];
	unsigned n;
	double until;
};

/* What a client tells when it ends. */
struct report {
	unsigned done, dropped, sessions, wrong, at; /* at: the last wrong task */
	braze_error err;			     /* code 0: none */
};

/* What a process and the device hold. */
struct held {
	int daemon, worker; /* descriptors, of the daemon what it counts itself; -1: not known */
	double device;	    /* bytes */
};

static uint64_t hashed(uint64_t h, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h;
}

static int add_result(uint64_t *h, braze_array *a, braze_error *err)
{
	unsigned dtype = (unsigned)braze_dtype_of(a);
	size_t bytes = (size_t)braze_size(a) * dtype_row(dtype)->bytes;
	void *data = malloc(bytes + 1);
	int rc = data ? braze_read(data, a, err) : E_NOMEM;

	*h = hashed(hashed(*h, &dtype, sizeof dtype), data, rc ? 0 : bytes);
	free(data);
	return rc;
}

enum how { ANSWERED, DROPPED, NOT_WAITED };

/* Do it on the device; *bits of what came, if it was waited for. */
static int do_task(uint64_t *bits, const struct soak *s, const struct task *t,
		   braze_session *session, enum how how, braze_error *err)
{
	braze_array *out[BOTH_OUTPUTS] = {NULL};
	braze_future *f = NULL;
	int n = 0, ends, rc = braze_set_device(session, s->b->host->device, err);

	if (!rc)
		rc = check_random_make(&t->program, session, out, &n, &ends, err);
	if (!rc && n && how != DROPPED)
		rc = braze_demand(&f, n, out, err);
	if (!rc && f && how == ANSWERED)
		rc = braze_wait(f, WAIT_MS, NULL, NULL, err);
	braze_future_release(f);
	*bits = 0xcbf29ce484222325u;
	for (int i = 0; i < n && !rc && how == ANSWERED; i++)
		rc = add_result(bits, out[i], err);
	for (int i = 0; i < n; i++)
		braze_release(out[i]);
	return rc;
}

/* ---- Clients ---- */

static void work(struct report *r, const struct soak *s, unsigned number)
{
	struct sample_rng rng = {s->b->seed * CLIENTS + number + 1};
	braze_session *session = NULL;
	struct err err = {0};

	while (host_seconds() < s->until && !r->err.code) {
		unsigned at = sample_below(&rng, s->n), choice = sample_below(&rng, 16);
		enum how how = choice == 0 ? DROPPED : choice < 3 ? NOT_WAITED : ANSWERED;
		uint64_t bits;

		if (!session && host_connect(s->b->host, &session, "braze-gpucheck soak", &err)) {
			r->err.code = (int)err.code;
			snprintf(r->err.text, sizeof r->err.text, "%s", err.text);
			break;
		}
		r->err.code = do_task(&bits, s, &s->task[at], session, how, &r->err);
		r->dropped += how != ANSWERED;
		r->done += how == ANSWERED;
		if (!r->err.code && how == ANSWERED && bits != s->task[at].bits) {
			r->wrong++;
			r->at = at;
		}
		if (choice == 15) {
			braze_close(session);
			session = NULL;
			r->sessions++;
		}
	}
	braze_close(session);
}

/* The read end of its report; -1: no such. */
static int start(const struct soak *s, unsigned number, pid_t *pid)
{
	struct report r = {0};
	int fd[2];

	if (pipe(fd))
		return -1;
	fflush(NULL);
	*pid = fork();
	if (!*pid) {
		close(fd[0]);
		work(&r, s, number);
		_exit(write(fd[1], &r, sizeof r) != (ssize_t)sizeof r);
	}
	close(fd[1]);
	return fd[0];
}

/* ---- What is left ---- */

static int descriptors(pid_t pid)
{
	char path[64];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	d = pid > 0 ? opendir(path) : NULL;
	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Is a kernel being compiled?  The page lists the newest ones, among which it is. */
static bool compiles(const struct host *h)
{
	cJSON *page = host_ask(h, "/kernels"), *row;
	bool found = false;

	cJSON_ArrayForEach(row, cJSON_GetObjectItem(page, "kernels"))
	{
		const char *state = cJSON_GetStringValue(cJSON_GetObjectItem(row, "state"));

		found |= state && !strcmp(state, "compiling");
	}
	cJSON_Delete(page);
	return found;
}

/* The daemon's own count leaves out the code of kernels, each of which has a descriptor: which
 * there are depends on what was cut where, and the cache's bounds hold for them. */
static struct held held(const struct host *h)
{
	struct host_device d = host_device(h, h->device);

	return (struct held){(int)host_figure(h, NULL, "fds_count"), descriptors(d.worker), d.used};
}

static bool is_more(const struct held *now, const struct held *before)
{
	return now->daemon > before->daemon || now->worker > before->worker ||
	       now->device > before->device;
}

/* What goes with a connection goes soon, not at once. */
static void expect_as_before(const struct host *h, const struct held *before)
{
	double until = host_seconds() + SETTLE_SECONDS;
	struct held now = held(h);

	while (is_more(&now, before) &&
	       (host_seconds() < until ||
		(compiles(h) && host_seconds() < until + COMPILE_SECONDS))) {
		usleep(100000);
		now = held(h);
	}
	tap_result(now.daemon > 0 && !is_more(&now, before),
		   "nothing is left of them: descriptors of the daemon %d (before: %d), of the "
		   "worker %d (%d), %.1f MiB of the device (%.1f)",
		   now.daemon, before->daemon, now.worker, before->worker, now.device / MIB,
		   before->device / MIB);
}

/* ---- The section ---- */

/* The bits of each, by this client alone, twice: what is only done once is warm then. */
static bool prepare(struct soak *s)
{
	struct sample_rng rng = {s->b->seed ^ 0x5eed};
	braze_error err = {0};
	uint64_t again;

	for (unsigned i = 0; i < s->n; i++) {
		struct task *t = &s->task[i];

		t->program = check_random_next(&rng);
		if (do_task(&t->bits, s, t, s->b->session, ANSWERED, &err) ||
		    do_task(&again, s, t, s->b->session, ANSWERED, &err))
			return tap_result(false, "program %u of soak: %s", i, err.text);
		if (again != t->bits)
			return tap_result(false,
					  "program %u of soak (%#llx): other bits the "
					  "second time",
					  i, (unsigned long long)t->program.seed);
	}
	return true;
}

static void tell(const struct soak *s, unsigned number, const struct report *r)
{
	if (r->err.code)
		tap_note("  client %u: %s", number, r->err.text);
	if (r->wrong)
		tap_note("  client %u: %u answers had other bits, the last of program %u (%#llx)",
			 number, r->wrong, r->at, (unsigned long long)s->task[r->at].program.seed);
}

static void run(struct soak *s)
{
	struct report r, all = {0};
	pid_t pid[CLIENTS];
	int from[CLIENTS];
	bool good = true;

	for (unsigned k = 0; k < CLIENTS; k++)
		from[k] = start(s, k, &pid[k]);
	for (unsigned k = 0; k < CLIENTS; k++) {
		memset(&r, 0, sizeof r);
		if (from[k] < 0 || read(from[k], &r, sizeof r) != (ssize_t)sizeof r) {
			tap_note("  client %u did not say how it ended", k);
			good = false;
		}
		if (from[k] >= 0) {
			close(from[k]);
			waitpid(pid[k], NULL, 0);
		}
		tell(s, k, &r);
		all.done += r.done;
		all.dropped += r.dropped;
		all.sessions += r.sessions;
		good &= !r.err.code && !r.wrong;
	}
	tap_result(good && all.done,
		   "%u programs answered with their bits, %u left alone, %u times a client came "
		   "back",
		   all.done, all.dropped, all.sessions);
	tap_figure("soak", "answered", all.done, "programs");
}

void check_soak(struct both *b, double minutes)
{
	struct soak s = {.b = b, .n = b->quick ? PROGRAMS_QUICK : PROGRAMS};
	struct host_device before = host_device(b->host, b->host->device), now;
	double runs = host_device(b->host, "cpu").runs;
	struct held first;

	if (minutes <= 0)
		minutes = b->quick ? MINUTES_QUICK : MINUTES;
	tap_note("soak: %d clients, %u programs, %.1f minutes", CLIENTS, s.n, minutes);
	if (!prepare(&s))
		return;
	first = held(b->host);
	s.until = host_seconds() + 60 * minutes;
	run(&s);
	expect_as_before(b->host, &first);
	now = host_device(b->host, b->host->device);
	tap_result(now.deaths == before.deaths && host_device(b->host, "cpu").runs == runs,
		   "no worker died, and none of it ran on the CPU");
}
