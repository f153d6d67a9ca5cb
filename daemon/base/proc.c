/* SPDX-License-Identifier: Apache-2.0 */
/* base/proc.c - reads /proc (see proc.h). */
#include "proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 8 /* of descendants: a driver, its compiler, its assembler */

/* The text of a small file of /proc; false: it is gone. */
static bool read_text(char *text, size_t n, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	if (fd < 0)
		return false;
	got = read(fd, text, n - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	return got > 0;
}

bool proc_task(struct proc_task *out, pid_t pid, uint32_t tid)
{
	unsigned long long user = 0, system = 0, tick = 1000000000ull;
	char path[64], text[512], *at = NULL;

	snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)pid, tid);
	if (!read_text(text, sizeof text, path))
		return false;
	/* The name, in parentheses, may hold anything; the last one closes it. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
			  &out->state, &user, &system) != 3)
		return false;
	tick /= (unsigned long long)sysconf(_SC_CLK_TCK);
	out->cpu_ns = (int64_t)((user + system) * tick);
	return true;
}

static void add_process(struct proc_use *u, pid_t pid, int depth);

static void add_children(struct proc_use *u, pid_t pid, uint32_t tid, int depth)
{
	char path[64], text[1024], *at = text, *end = NULL;

	snprintf(path, sizeof path, "/proc/%d/task/%u/children", (int)pid, tid);
	if (depth == DEPTH || !read_text(text, sizeof text, path))
		return;
	for (long child = strtol(at, &end, 10); end != at; child = strtol(at, &end, 10)) {
		add_process(u, (pid_t)child, depth + 1);
		at = end;
	}
}

static void add_process(struct proc_use *u, pid_t pid, int depth)
{
	char path[64];
	DIR *dir = NULL;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	for (struct dirent *e = NULL; dir && (e = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		struct proc_task t = {0};

		if (!tid || !proc_task(&t, pid, tid))
			continue;
		u->cpu_ns += t.cpu_ns;
		u->asleep = u->asleep && t.state == 'S';
		add_children(u, pid, tid, depth);
	}
	if (dir)
		closedir(dir);
}

void proc_tree(struct proc_use *out, pid_t pid)
{
	*out = (struct proc_use){.asleep = true};
	add_process(out, pid, 0);
}

void proc_watch_tick(struct proc_watch *w, pid_t pid, int64_t now_ns, int64_t most_ns)
{
	int64_t passed = w->ticked_ns ? now_ns - w->ticked_ns : 0;
	struct proc_use u = {0};

	proc_tree(&u, pid);
	if (w->ticked_ns && u.cpu_ns > w->cpu_ns)
		w->used_ns += u.cpu_ns - w->cpu_ns;
	w->asleep_ns = u.asleep && u.cpu_ns == w->cpu_ns
			       ? w->asleep_ns + (passed < most_ns ? passed : most_ns)
			       : 0;
	w->cpu_ns = u.cpu_ns;
	w->ticked_ns = now_ns;
}
