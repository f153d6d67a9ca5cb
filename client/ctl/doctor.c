/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/doctor.c - does this machine suit the daemon, and is it well?
 *
 * Each line is ok, warn (works, but worse than it could) or FAIL (what is named
 * does not work), with what to do about it. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ctl_client.h"

static void line(const char *outcome, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *outcome, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%-4s  ", outcome);
	show_text(text, 0);
	putchar('\n');
}

static void check_version(const cJSON *status)
{
	const char *version = show_string(status, "version");

	if (strcmp(version, BRAZE_VERSION_TEXT))
		line("warn", "daemon is version %s, brazectl is %s: restart the daemon", version,
		     BRAZE_VERSION_TEXT);
	else
		line("ok", "version %s, up %.0f s", version, show_number(status, "uptime_seconds"));
}

static int check_worker(const cJSON *status)
{
	double pid = show_number(status, "worker_pid");
	double deaths = show_number(status, "worker_deaths_count");
	double bad =
		show_number(cJSON_GetObjectItemCaseSensitive(status, "kernels"), "quarantined");
	int failed = 0;

	if (pid <= 0) {
		line("warn", "no worker runs now; one starts with the next demand");
	} else if (kill((pid_t)pid, 0) && errno == ESRCH) {
		line("FAIL", "worker %.0f is gone: see the daemon's log", pid);
		failed = 1;
	} else {
		line("ok", "worker runs, pid %.0f", pid);
	}
	if (deaths > 0)
		line("warn", "%.0f workers died since the start: brazectl events, and the log",
		     deaths);
	if (bad > 0)
		line("warn",
		     "%.0f kernel%s not run any more, each killed its worker twice: brazectl "
		     "kernels, and explain ID",
		     bad, bad > 1 ? "s are" : " is");
	return failed;
}

static int check_compiler(const cJSON *status)
{
	const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(status, "kernels");
	const char *compiler = show_string(status, "compiler");

	if (!*compiler || !strcmp(compiler, "none"))
		line("warn", "no C compiler: kernels are interpreted; install gcc");
	else
		line("ok", "compiler %s", compiler);
	if (show_number(kernels, "compile_failures") > 0)
		line("warn", "%.0f kernels did not compile: brazectl kernels",
		     show_number(kernels, "compile_failures"));
	return 0;
}

static int check_cache(const cJSON *status)
{
	const char *dir = show_string(status, "cache_dir");
	struct statvfs fs;
	struct stat s;

	if (!*dir) {
		line("warn", "no disk cache: every daemon compiles anew");
		return 0;
	}
	if (stat(dir, &s)) {
		/* The folder may lie behind one that only the daemon's user may enter. */
		line(errno == EACCES ? "warn" : "FAIL", "cache folder %s: %s", dir,
		     strerror(errno));
		return errno != EACCES;
	}
	if ((s.st_mode & 022) && !(s.st_mode & S_ISVTX)) {
		line("FAIL", "cache folder %s may be written by others: chmod 700 it", dir);
		return 1;
	}
	if (statvfs(dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize < 64e6)
		line("warn", "less than 64 MB free for the cache in %s", dir);
	else
		line("ok", "cache folder %s", dir);
	if (show_number(cJSON_GetObjectItemCaseSensitive(status, "kernels"), "disk_errors") > 0)
		line("warn", "the disk cache had errors: see the daemon's log");
	return 0;
}

static void check_machine(void)
{
	struct rlimit files;
	struct statvfs shm;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 1024)
		line("warn", "this shell allows %llu open files: ulimit -n 1024 or more",
		     (unsigned long long)files.rlim_cur);
	else
		line("ok", "open files are not short");
	if (statvfs("/dev/shm", &shm) == 0)
		line("ok", "shared memory comes from memfd, not from /dev/shm");
#if defined(__x86_64__)
	if (!__builtin_cpu_supports("avx2"))
		line("warn", "this processor has no AVX2: kernels run in narrow vectors");
	else
		line("ok", "processor has AVX2%s",
		     __builtin_cpu_supports("avx512f") ? " and AVX-512" : "");
#endif
}

static void put_rate(char *out, size_t n, const cJSON *dev, const char *name)
{
	double rate = show_number(dev, name);

	if (rate > 0)
		snprintf(out, n, "%.3g GB/s", rate / 1e9);
	else
		snprintf(out, n, "not known yet");
}

/* What decides where programs run that ask for no device. */
static void check_rates(const cJSON *dev)
{
	char memory[32], up[32], down[32];

	put_rate(memory, sizeof(memory), dev, "memory_rate");
	put_rate(up, sizeof(up), dev, "upload_rate");
	put_rate(down, sizeof(down), dev, "download_rate");
	line("ok", "%s: memory %s; copies to it %s, from it %s", show_string(dev, "name"), memory,
	     up, down);
}

/* How arrays come here from other GPUs. */
static void check_peers(const cJSON *dev)
{
	const cJSON *peer;

	cJSON_ArrayForEach(peer, cJSON_GetObjectItemCaseSensitive(dev, "peers"))
	{
		const char *name = show_string(dev, "name"), *from = show_string(peer, "from");
		char rate[32];

		put_rate(rate, sizeof(rate), peer, "rate");
		if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(peer, "reached")))
			line("ok", "%s: copies from %s go past the host, %s", name, from, rate);
		else
			line("ok", "%s: copies from %s go by way of the host", name, from);
	}
}

/* Devices beside the CPU: what they are, or why they cannot be used. */
static void check_devices(const cJSON *status)
{
	const cJSON *dev;

	cJSON_ArrayForEach(dev, cJSON_GetObjectItemCaseSensitive(status, "devices"))
	{
		const char *name = show_string(dev, "name"), *state = show_string(dev, "state");

		if (!strcmp(name, "cpu"))
			continue;
		if (!strcmp(state, "usable")) {
			line("ok", "%s: %s, compute capability %.1f, %.0f MiB for arrays; %s", name,
			     show_string(dev, "model"), show_number(dev, "arch") / 10,
			     show_number(dev, "memory_bytes") / 1048576, show_string(dev, "text"));
			check_rates(dev);
			check_peers(dev);
		} else {
			line("warn", "%s is %s: %s", name, state, show_string(dev, "text"));
		}
	}
	if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(status, "devices")) < 2)
		line("ok", "the CPU is the only device (setting device = %s)",
		     show_string(status, "device"));
}

static void check_loop(const cJSON *status)
{
	double us = show_number(status, "loop_longest_iteration_seconds") * 1e6;

	if (us > 50000)
		line("warn", "the event loop once took %.0f ms: clients waited for it", us / 1e3);
	else
		line("ok", "longest turn of the event loop %.1f ms", us / 1e3);
}

int doctor_run(struct fetch *f)
{
	cJSON *status = fetch_json(f, "/status");
	int failed = 0;

	check_machine();
	if (!status) {
		line("FAIL", "%s", f->error);
		return 1;
	}
	line("ok", "daemon answers at %s", f->socket);
	check_version(status);
	failed |= check_worker(status);
	failed |= check_compiler(status);
	failed |= check_cache(status);
	check_devices(status);
	check_loop(status);
	cJSON_Delete(status);
	return failed;
}
