/* SPDX-License-Identifier: Apache-2.0 */
/* worker_main.c - the start of a worker process: `brazed --worker FD`.
 *
 * In: the command socket FD and, as FD + 1, the progress page.  Everything else is
 * closed, and nothing is opened later but OpenBLAS and the objects that are sent.
 * The variable BRAZE_WORKER_DEVICE says what it works on: cpu, or NAME:N of contract/backends.def.
 * The process ends with the broker: by the closed socket, or by a signal. */
#define _GNU_SOURCE
#include "worker_main.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "contract/command.h"
#include "present.h"
#include "worker/tier0.h"
#include "worker/tier1.h"
#include "worker/worker.h"

/* The broker must outlive its workers when memory runs out. */
static void offer_to_oom(void)
{
	static const char score[] = "500";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, score, sizeof score - 1) < 0)
		log_debug("worker", "oom_score_adj could not be raised");
	close(fd);
}

static void confine(int first_unused_fd)
{
	static const struct rlimit no_core = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "braze-worker");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* A crash would write out the arenas of every client. */
	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGPIPE, SIG_IGN);
#ifdef SYS_close_range
	syscall(SYS_close_range, first_unused_fd, ~0u, 0);
#else
	for (int fd = first_unused_fd; fd < 1024; fd++)
		close(fd);
#endif
	offer_to_oom();
}

static enum status load(struct kernel_code *out, int fd, const struct nest *spec, struct err *err)
{
	struct tier1 t = {0};
	enum status st = tier1_load(&t, fd, spec, err);

	if (st == OK)
		*out = (struct kernel_code){
			.map = t.map, .reduce = t.reduce, .finish = t.finish, .handle = t.object};
	return st;
}

static void unload(struct kernel_code *code)
{
	struct tier1 t = {.object = code->handle,
			  .map = code->map,
			  .reduce = code->reduce,
			  .finish = code->finish};

	tier1_unload(&t);
	*code = (struct kernel_code){0};
}

static const struct kernel_ops both_tiers = {.check = tier0_check,
					     .prepare = tier0_prepare,
					     .map = tier0_map,
					     .reduce = tier0_reduce,
					     .quicker = tier0_quicker,
					     .finish = tier0_finish,
					     .scratch = tier0_scratch,
					     .load = load,
					     .unload = unload};

static int thread_setting(void)
{
	const char *text = getenv("BRAZE_WORKER_THREADS");

	return text ? atoi(text) : 0;
}

/* What BRAZE_WORKER_DEVICE names as NAME:N, and N; NULL: the processor. */
typedef int serve_fn(int fd, struct progress *page, int number);
#define X(name, serve, ...) serve_fn serve;
#include "contract/backends.def"
#undef X

static serve_fn *device_setting(int *number)
{
	static const struct {
		const char *name;
		serve_fn *serve;
	} kind[] = {
#define X(name, serve, ...) {#name ":", serve},
#include "contract/backends.def"
#undef X
	};
	const char *text = getenv("BRAZE_WORKER_DEVICE");

	for (size_t i = 0; text && i < sizeof kind / sizeof *kind; i++) {
		size_t n = strlen(kind[i].name);

		if (strncmp(text, kind[i].name, n) != 0)
			continue;
		*number = atoi(text + n);
		return kind[i].serve;
	}
	return NULL;
}

int worker_main(int fd)
{
	int number = 0;
	serve_fn *serve = device_setting(&number);
	struct progress *page = NULL;
	struct err err = {0};
	enum status st = OK;

	log_setup(getenv("BRAZE_LOG"));
	setpriority(PRIO_PROCESS, 0, 0); /* the broker's is its own */
	confine(fd + 2);
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd + 1, 0);
	if (page == MAP_FAILED) {
		log_error("worker", "descriptor %d is no progress page", fd + 1);
		return 1;
	}
	if (serve) {
		int rc = serve(fd, page, number);

		munmap(page, sizeof *page);
		return rc;
	}
	present_object(&both_tiers);
	st = worker_serve(fd, page, &both_tiers, thread_setting(), &err);
	if (st != OK)
		log_error("worker", "%s", err.text);
	munmap(page, sizeof *page);
	return st == OK ? 0 : 1;
}
