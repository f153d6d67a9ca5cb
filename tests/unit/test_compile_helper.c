/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_helper.c: requests over a socket, good ones and bad ones. */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/cache.h"
#include "compile/compile.h"
#include "contract/backend.h"

struct fixture {
	int sock;
	pid_t pid;
	char compiler[COMPILE_PATH_BYTES];
};

static struct fixture start(void)
{
	struct fixture f;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	f.pid = fork();
	cr_assert_geq(f.pid, 0);
	if (!f.pid) {
		close(pair[0]);
		_exit(compile_helper_main(pair[1]));
	}
	close(pair[1]);
	f.sock = pair[0];
	cr_assert(compile_target_find(f.compiler, NULL), "no compiler");
	return f;
}

static int stop(struct fixture *f)
{
	int status = 0;

	close(f->sock);
	cr_assert_eq(waitpid(f->pid, &status, 0), f->pid);
	return status;
}

static uint32_t urgent; /* what the next requests are */

static void ask(struct fixture *f, const char *source, uint32_t timeout_ms)
{
	struct compile_request q = {.magic = COMPILE_MAGIC,
				    .isa = (uint32_t)isa_best(),
				    .ticket = 42,
				    .source_bytes = strlen(source),
				    .timeout_ms = timeout_ms,
				    .urgent = urgent};
	struct err err = {OK, ""};
	int fd = -1;

	strcpy(q.compiler, f->compiler);
	cr_assert_eq(compile_wire_memfd(&fd, "source", source, strlen(source), &err), OK);
	cr_assert_eq(compile_wire_send(f->sock, &q, sizeof q, fd), 0);
	close(fd);
}

static int answer(struct fixture *f, struct compile_reply *r)
{
	int fd = -1;

	cr_assert_eq(compile_wire_recv(f->sock, r, sizeof *r, &fd, 0), 1);
	cr_assert_eq(r->magic, COMPILE_MAGIC);
	cr_assert_eq(r->ticket, 42);
	return fd;
}

/* Folders of helpers that we could see. */
static int folders(void)
{
	DIR *dir = opendir("/dev/shm");
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += !strncmp(e->d_name, "braze-cc-", 9);
	if (dir)
		closedir(dir);
	return n;
}

TestSuite(compile_helper, .timeout = 60);

Test(compile_helper, text_goes_in_and_an_object_that_runs_comes_out)
{
	struct fixture f = start();
	struct compile_reply r;
	char path[64];
	int fd, (*twice)(int);
	void *so;

	for (int i = 0; i < 2; i++) {
		ask(&f, "int twice(int x) { return 2 * x; }\n", 20000);
		fd = answer(&f, &r);
		cr_assert_eq(r.status, OK, "%s", r.log);
		cr_assert_geq(fd, 0);
		cr_assert_gt(r.compile_ns, 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		so = dlopen(path, RTLD_NOW);
		cr_assert(so, "%s", dlerror());
		*(void **)&twice = dlsym(so, "twice");
		cr_assert_eq(twice(21), 42);
		dlclose(so);
		close(fd);
	}
	cr_assert_eq(stop(&f), 0);
}

Test(compile_helper, a_compile_error_comes_back_in_the_compilers_words)
{
	struct fixture f = start();
	struct compile_reply r;

	ask(&f, "int f(void) { return undeclared_name; }\n", 20000);
	cr_assert_eq(answer(&f, &r), -1);
	cr_assert_eq(r.status, E_COMPILE);
	cr_assert(strstr(r.log, "undeclared_name"), "%s", r.log);
	/* And the helper still serves. */
	ask(&f, "int x;\n", 20000);
	close(answer(&f, &r));
	cr_assert_eq(r.status, OK);
	cr_assert_eq(stop(&f), 0);
}

Test(compile_helper, a_compiler_that_does_not_exist_is_named)
{
	struct fixture f = start();
	struct compile_reply r;

	strcpy(f.compiler, "/nonexistent/cc");
	ask(&f, "int x;\n", 20000);
	cr_assert_eq(answer(&f, &r), -1);
	cr_assert_eq(r.status, E_SYSTEM);
	cr_assert(strstr(r.log, "/nonexistent/cc"), "%s", r.log);
	cr_assert_eq(stop(&f), 0);
}

/* A script in the compiler's place. */
static void script_compiler(struct fixture *f, char path[64], const char *text)
{
	FILE *script;
	int fd;

	strcpy(path, "/tmp/braze-script-XXXXXX");
	fd = mkstemp(path);
	script = fdopen(fd, "w");
	fprintf(script, "#!/bin/sh\n%s\n", text);
	fchmod(fd, 0700);
	fclose(script);
	strcpy(f->compiler, path);
}

static void slow_compiler(struct fixture *f, char path[64])
{
	script_compiler(f, path, "sleep 600 & wait");
}

/* Beside jobs on all cores a compiler must not take one from them, whatever the broker's priority.
 */
Test(compile_helper, compilers_run_below_the_workers)
{
	int old = getpriority(PRIO_PROCESS, 0), least = 0;
	struct compile_reply r;
	struct fixture f;
	char path[64];

	if (setpriority(PRIO_PROCESS, 0,
			-5)) /* we may not, nor come back from one that is higher */
		least = old;
	f = start();
	/* Its own priority, a moment after it was started; then it fails, as its words come back
	 * so. */
	script_compiler(&f, path, "sleep 0.3; cut -d' ' -f19 /proc/self/stat >&2; exit 1");
	for (urgent = 0; urgent < 2; urgent++) {
		int want = urgent ? COMPILE_NICE_URGENT : COMPILE_NICE;

		ask(&f, "int x;\n", 20000);
		cr_assert_eq(answer(&f, &r), -1);
		cr_assert_eq(r.status, E_COMPILE);
		cr_expect_eq(atoi(r.log), least > want ? least : want, "%s", r.log);
		cr_expect_geq(getpriority(PRIO_PROCESS, (id_t)f.pid), 0);
	}
	urgent = 0;
	unlink(path);
	cr_assert_eq(stop(&f), 0);
	setpriority(PRIO_PROCESS, 0, old);
}

Test(compile_helper, a_compiler_that_never_ends_is_stopped)
{
	struct fixture f = start();
	struct compile_reply r;
	char path[64];

	slow_compiler(&f, path);
	ask(&f, "int x;\n", 300);
	cr_assert_eq(answer(&f, &r), -1);
	cr_assert_eq(r.status, E_TIMEOUT, "%s", r.log);
	unlink(path);
	cr_assert_eq(stop(&f), 0);
}

Test(compile_helper, it_ends_with_its_compiler_when_the_socket_closes)
{
	struct fixture f = start();
	char path[64];

	slow_compiler(&f, path);
	ask(&f, "int x;\n", 30000);
	usleep(200000);
	stop(&f); /* the suite's time limit is the test: it waits for the helper */
	unlink(path);
}

Test(compile_helper, malformed_requests_are_answered_or_end_it_but_do_no_harm)
{
	struct fixture f = start();
	struct compile_request q = {.magic = COMPILE_MAGIC, .ticket = 42, .timeout_ms = 1000};
	struct compile_reply r;
	int status;

	memset(q.compiler, 'x', sizeof q.compiler); /* no 0 */
	cr_assert_eq(compile_wire_send(f.sock, &q, sizeof q, -1), 0);
	cr_assert_eq(answer(&f, &r), -1);
	cr_assert_eq(r.status, E_PROTOCOL);
	strcpy(q.compiler, "/bin/true");
	q.arch = BACKEND_CODE(BACKEND_END, 0); /* code of no backend */
	cr_assert_eq(compile_wire_send(f.sock, &q, sizeof q, -1), 0);
	cr_assert_eq(answer(&f, &r), -1);
	cr_assert_eq(r.status, E_PROTOCOL);
	cr_assert_eq(compile_wire_send(f.sock, "short", 5, -1), 0);
	status = stop(&f);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

Test(compile_helper, its_folder_goes_with_it_and_a_dead_ones_is_swept)
{
	struct fixture f;
	struct compile_reply r;
	char left[] = "/dev/shm/braze-cc-leftXX";
	struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	int before;

	if (access("/dev/shm", W_OK))
		return; /* another folder is used there */
	cr_assert(mkdir(left, 0700) == 0);
	utimensat(AT_FDCWD, left, old, 0);
	f = start();
	ask(&f, "int x;\n", 20000);
	close(answer(&f, &r));
	cr_assert_eq(access(left, F_OK), -1, "left folder is still there");
	before = folders();
	cr_assert_eq(stop(&f), 0);
	cr_assert_lt(folders(), before);
}
