/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_helper.c - the compile helper: requests in, objects out.
 *
 * The process owns one private folder, locked while it lives; folders whose
 * helper was killed are found by their free lock and removed at the next start.
 * Nothing of a request outlives it. */
#define _GNU_SOURCE
#include "compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "contract/backend.h"

#define FOLDER_PREFIX "braze-cc-"
#define HELPER_NICE   10 /* of NVRTC, which runs in this process; C compilers have their own */

static void remove_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(fd, e->d_name, 0);
	closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* A live helper holds the lock of its folder, so a free one is left over. */
static void sweep(const char *base)
{
	DIR *dir = opendir(base);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct stat st;
		int fd;

		if (strncmp(e->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)))
			continue;
		fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		/* The age leaves time between another helper's mkdtemp and its lock. */
		if (!fstat(fd, &st) && st.st_uid == geteuid() && time(NULL) - st.st_mtime > 5 &&
		    !flock(fd, LOCK_EX | LOCK_NB))
			remove_folder(dirfd(dir), e->d_name);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

static char *make_folder(int *lock, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	const char *bases[] = {"/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};

	for (unsigned i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		char *path = xasprintf("%s/" FOLDER_PREFIX "XXXXXX", bases[i]);

		sweep(bases[i]);
		if (mkdtemp(path)) {
			*lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (*lock >= 0 && !flock(*lock, LOCK_EX | LOCK_NB))
				return path;
			if (*lock >= 0)
				close(*lock);
			rmdir(path);
		}
		free(path);
	}
	err_set(err, E_SYSTEM, "no folder for temporary files in /dev/shm, $TMPDIR or /tmp: %s",
		strerror(errno));
	return NULL;
}

static enum status check_request(const struct compile_request *q, int source, struct err *err)
{
	struct stat st;

	if (q->magic != COMPILE_MAGIC || q->isa >= ISA_END || !q->timeout_ms ||
	    backend_row(q->arch) >= BACKEND_END || !memchr(q->compiler, 0, sizeof q->compiler) ||
	    source < 0 || fstat(source, &st))
		return err_set(err, E_PROTOCOL, "malformed compile request");
	if (q->source_bytes > COMPILE_SOURCE_BYTES || (uint64_t)st.st_size != q->source_bytes)
		return err_set(err, E_LIMIT, "source of %llu bytes, the limit is %u",
			       (unsigned long long)st.st_size, COMPILE_SOURCE_BYTES);
	return OK;
}

#define X(name, serve, target, compile) compile_code_fn compile;
#include "contract/backends.def"
#undef X

static compile_code_fn *const compilers[] = {
#define X(name, serve, target, compile) compile,
#include "contract/backends.def"
#undef X
};

static void serve(struct compile_reply *r, int *code, const struct compile_request *q, int source,
		  const char *folder, int sock)
{
	struct compile_job job = {.compiler = q->compiler,
				  .folder = folder,
				  .isa = (enum isa_level)q->isa,
				  .timeout_ms = q->timeout_ms,
				  .urgent = q->urgent,
				  .watch = sock};
	uint64_t begin = clock_ns();
	struct err err = {OK, ""};

	memset(r, 0, sizeof *r);
	r->magic = COMPILE_MAGIC;
	r->ticket = q->ticket;
	r->status = check_request(q, source, &err);
	if (!r->status && !q->arch)
		r->status = compile_run(code, &r->code_bytes, &job, source, r->log, &err);
	else if (!r->status && setpriority(PRIO_PROCESS, 0, HELPER_NICE) == 0)
		r->status = compilers[backend_row(q->arch)](code, r, q, source, &err);
	/* The compiler's own words say more than "failed"; ours go first otherwise. */
	if (r->status && r->status != E_COMPILE)
		snprintf(r->log, sizeof r->log, "%s", err.text);
	else if (r->status && !*r->log)
		snprintf(r->log, sizeof r->log, "%s", err.text);
	r->compile_ns = clock_ns() - begin;
}

/* Short of memory, the system shall end us or the compiler, never the daemon. */
static void be_the_first_victim(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "500", 3) != 3)
		log_debug("compile", "oom_score_adj: %s", strerror(errno));
	close(fd);
}

int compile_helper_main(int fd)
{
	struct compile_request q;
	struct compile_reply r;
	struct err err = {OK, ""};
	int lock = -1, rc = 0, source = -1, got;
	char *folder = NULL, *slash;

	prctl(PR_SET_NAME, "braze-compile");
	/* The broker's is its own: what is compiled must not push aside the jobs that it is for. */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	be_the_first_victim();
	folder = make_folder(&lock, &err);
	if (!folder) {
		log_error("compile", "%s", err.text);
		return 1;
	}
	while ((got = compile_wire_recv(fd, &q, sizeof q, &source, 0)) == 1) {
		int code = -1;

		serve(&r, &code, &q, source, folder, fd);
		if (source >= 0)
			close(source);
		if (compile_wire_send(fd, &r, sizeof r, code))
			rc = 1;
		if (code >= 0)
			close(code);
		if (rc)
			break;
	}
	if (got < 0)
		rc = 1;
	slash = strrchr(folder, '/');
	*slash = 0;
	source = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source >= 0) {
		remove_folder(source, slash + 1);
		close(source);
	}
	close(lock);
	free(folder);
	return rc;
}
