/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_run.c - one compilation: text to shared object.
 *
 * In:  source in a memfd, compiler, instruction set, a private folder.  Out: the
 * object in a sealed memfd, or the compiler's words.  The compiler reads the
 * text from standard input, runs in a process group of its own under limits of
 * CPU time and memory, is ended when it does nothing for too long, and leaves no file
 * behind.  How long it waits for a core is no concern: the machine may be loaded. */
#define _GNU_SOURCE
#include "compile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/xalloc.h"

#define MAX_ARGS 40
#define LOOK_MS	 100 /* between two looks at what the compiler does */

struct step {
	char *argv[MAX_ARGS];
	int argc;
};

static void arg(struct step *s, const char *text)
{
	if (s->argc < MAX_ARGS - 1)
		s->argv[s->argc++] = xstrdup(text);
}

static void step_free(struct step *s)
{
	for (int i = 0; i < s->argc; i++)
		free(s->argv[i]);
	memset(s, 0, sizeof *s);
}

static bool is_clang(const char *compiler)
{
	const char *base = strrchr(compiler, '/');

	return strstr(base ? base : compiler, "clang") != NULL;
}

static void compile_args(struct step *s, const struct compile_job *job, const char *object)
{
	char march[32];

	snprintf(march, sizeof march, "-march=%s", isa_name(job->isa));
	arg(s, job->compiler);
	arg(s, "-pipe");
	if (is_clang(job->compiler)) {
		/* -O1 of clang does not vectorise what the emitter leaves scalar. */
		arg(s, "-O2");
	} else {
		arg(s, "-O1");
		arg(s, "-ftree-loop-vectorize");
		arg(s, "-fvect-cost-model=dynamic");
		/* A stencil of two arrays has a dozen of places that could meet. */
		arg(s, "--param=vect-max-version-for-alias-checks=64");
		/* Clears the upper halves before what was compiled for SSE is called. */
		arg(s, "-fexpensive-optimizations");
		/* Accumulators that are registers have no copies in memory. */
		arg(s, "-ftree-vrp");
	}
	arg(s, march);
	arg(s, "-mprefer-vector-width=512");
	/* Never a part of -ffast-math: + - * / sqrt are bit-equal to NumPy's. */
	arg(s, "-fno-math-errno");
	arg(s, "-fno-trapping-math");
	arg(s, "-ffp-contract=off");
	arg(s, "-fPIC");
	arg(s, "-w");
	arg(s, "-x");
	arg(s, "c");
	arg(s, "-c");
	arg(s, "-");
	arg(s, "-o");
	arg(s, object);
}

/* ld itself takes 3 ms, through the driver 13. */
static void link_args(struct step *s, const struct compile_job *job, const char *object,
		      const char *shared)
{
	char ld[COMPILE_PATH_BYTES];

	if (compile_target_find(ld, "ld")) {
		arg(s, ld);
		arg(s, "-shared");
		arg(s, "--no-dynamic-linker");
	} else {
		arg(s, job->compiler);
		arg(s, "-shared");
		arg(s, "-nostdlib");
	}
	arg(s, object);
	arg(s, "-o");
	arg(s, shared);
}

/* Only what a compiler needs: the folder, and how to find itself. */
static char **environment(const char *folder)
{
	static const char *const keep[] = {"PATH", "LD_LIBRARY_PATH"};
	char **env = xcalloc(5, sizeof *env);
	int n = 0;

	env[n++] = xasprintf("TMPDIR=%s", folder);
	env[n++] = xstrdup("LC_ALL=C");
	for (unsigned i = 0; i < 2; i++)
		if (getenv(keep[i]))
			env[n++] = xasprintf("%s=%s", keep[i], getenv(keep[i]));
	return env;
}

static void environment_free(char **env)
{
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
}

static enum status spawn(pid_t *pid, const struct step *s, const struct compile_job *job, int in,
			 int out, struct err *err)
{
	const struct rlimit cpu = {COMPILE_CPU_SECONDS, COMPILE_CPU_SECONDS + 1};
	const struct rlimit memory = {COMPILE_MEMORY_BYTES, COMPILE_MEMORY_BYTES};
	const struct rlimit core = {0, 0};
	char **env = environment(job->folder);
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	int e;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in, 0);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, out, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	e = posix_spawn(pid, s->argv[0], &fa, &attr, s->argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	environment_free(env);
	if (e)
		return err_set(err, E_SYSTEM, "cannot run %s: %s", s->argv[0], strerror(e));
	/* Inherited by what the driver starts, milliseconds from now. */
	prlimit(*pid, RLIMIT_CPU, &cpu, NULL);
	prlimit(*pid, RLIMIT_AS, &memory, NULL);
	prlimit(*pid, RLIMIT_CORE, &core, NULL);
	setpriority(PRIO_PGRP, (id_t)*pid, job->urgent ? COMPILE_NICE_URGENT : COMPILE_NICE);
	return OK;
}

/* Keep the first bytes of the compiler's output; 0 at the end of it. */
static ssize_t take_output(int fd, char log[COMPILE_LOG_BYTES])
{
	size_t have = strlen(log);
	char buf[1024];
	ssize_t r;

	do
		r = read(fd, buf, sizeof buf);
	while (r < 0 && errno == EINTR);
	for (ssize_t i = 0; i < r && have < COMPILE_LOG_BYTES - 1; i++)
		log[have++] = buf[i] ? buf[i] : '?';
	log[have] = 0;
	return r;
}

/* Look at the compiler now and then: has it done nothing for so long? */
static bool sleeps(struct proc_watch *w, pid_t pid, int64_t now_ns, uint32_t timeout_ms)
{
	if (now_ns - w->ticked_ns >= LOOK_MS * 1000000)
		proc_watch_tick(w, pid, now_ns, 2 * LOOK_MS * 1000000);
	return w->asleep_ns >= timeout_ms * 1000000ll;
}

/* Wait for the child as long as it does something.  It is dead and reaped on return. */
static enum status wait_child(int *wstatus, pid_t pid, int out, const struct compile_job *job,
			      char log[COMPILE_LOG_BYTES], struct err *err)
{
	struct proc_watch w = {0};
	enum status st = OK;
	bool open = true;
	pid_t r = 0;

	for (;;) {
		struct pollfd p[2] = {{open ? out : -1, POLLIN, 0}, {job->watch, POLLRDHUP, 0}};
		int64_t now = clock_ms();

		if (sleeps(&w, pid, now * 1000000, job->timeout_ms)) {
			st = err_set(err, E_TIMEOUT, "%s did nothing for %u ms", job->compiler,
				     job->timeout_ms);
			break;
		}
		if (poll(p, 2, open ? LOOK_MS : 1) < 0 && errno != EINTR) {
			st = err_set(err, E_SYSTEM, "poll: %s", strerror(errno));
			break;
		}
		if (p[1].revents) {
			st = err_set(err, E_CANCELLED, "the daemon went away");
			break;
		}
		if (open && p[0].revents)
			open = take_output(out, log) > 0;
		/* A closed pipe alone does not tell that the process ended. */
		if (!open && (r = waitpid(pid, wstatus, WNOHANG)) != 0)
			break;
	}
	if (st) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	while (r == 0 || (r < 0 && errno == EINTR))
		r = waitpid(pid, wstatus, 0);
	return st;
}

static enum status run_step(const struct step *s, const struct compile_job *job, int in,
			    char log[COMPILE_LOG_BYTES], struct err *err)
{
	int pipefd[2] = {-1, -1}, wstatus = 0;
	enum status st = OK;
	pid_t pid;

	if (pipe2(pipefd, O_CLOEXEC))
		return err_set(err, E_SYSTEM, "pipe2: %s", strerror(errno));
	st = spawn(&pid, s, job, in, pipefd[1], err);
	close(pipefd[1]);
	if (st)
		goto out;
	st = wait_child(&wstatus, pid, pipefd[0], job, log, err);
	if (st)
		goto out;
	if (WIFSIGNALED(wstatus))
		st = err_set(err, E_COMPILE, "%s was killed by signal %d (limits: %d s, %llu MiB)",
			     s->argv[0], WTERMSIG(wstatus), COMPILE_CPU_SECONDS,
			     COMPILE_MEMORY_BYTES >> 20);
	else if (WEXITSTATUS(wstatus) == 127 && !*log)
		st = err_set(err, E_SYSTEM, "cannot run %s", s->argv[0]);
	else if (WEXITSTATUS(wstatus))
		st = err_set(err, E_COMPILE, "%s: %.160s", s->argv[0], *log ? log : "failed");
out:
	close(pipefd[0]);
	return st;
}

static enum status load_object(int *out, uint64_t *bytes, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	enum status st = OK;
	char *data = NULL;
	struct stat info;
	size_t have = 0;

	if (fd < 0 || fstat(fd, &info)) {
		st = err_set(err, E_SYSTEM, "open %s: %s", path, strerror(errno));
		goto out;
	}
	if (info.st_size <= 0 || (uint64_t)info.st_size > COMPILE_OBJECT_BYTES) {
		st = err_set(err, E_COMPILE, "object of %lld bytes", (long long)info.st_size);
		goto out;
	}
	data = xmalloc((size_t)info.st_size);
	while (have < (size_t)info.st_size) {
		ssize_t r = read(fd, data + have, (size_t)info.st_size - have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0) {
			st = err_set(err, E_SYSTEM, "read %s: %s", path, strerror(errno));
			goto out;
		}
		have += (size_t)r;
	}
	st = compile_wire_memfd(out, "braze-kernel", data, have, err);
	*bytes = have;
out:
	if (fd >= 0)
		close(fd);
	free(data);
	return st;
}

enum status compile_run(int *out, uint64_t *bytes, const struct compile_job *job, int source,
			char log[COMPILE_LOG_BYTES], struct err *err)
{
	char *object = xasprintf("%s/k.o", job->folder);
	char *shared = xasprintf("%s/k.so", job->folder);
	struct step cc = {{NULL}, 0}, ld = {{NULL}, 0};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	enum status st = OK;

	log[0] = 0;
	/* A first attempt may have moved the position, which all descriptors share. */
	lseek(source, 0, SEEK_SET);
	compile_args(&cc, job, object);
	link_args(&ld, job, object, shared);
	st = run_step(&cc, job, source, log, err);
	if (!st)
		st = run_step(&ld, job, null, log, err);
	if (!st)
		st = load_object(out, bytes, shared, err);
	unlink(object);
	unlink(shared);
	step_free(&cc);
	step_free(&ld);
	if (null >= 0)
		close(null);
	free(object);
	free(shared);
	return st;
}
