/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "ctl_fake.h"

/* Output (both streams) and exit status of `brazectl ARGUMENTS`. */
static int brazectl(char out[65536], const struct fake *f, const char *arguments)
{
	char command[2048];
	size_t n = 0;
	int status = 0;
	FILE *p = NULL;

	if (f)
		snprintf(command, sizeof(command), "%s --socket %s %s 2>&1 </dev/null", BRAZECTL,
			 f->path, arguments);
	else
		snprintf(command, sizeof(command), "%s %s 2>&1 </dev/null", BRAZECTL, arguments);
	p = popen(command, "r");
	n = fread(out, 1, 65535, p);
	out[n] = 0;
	status = pclose(p);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define SHOWS(text)		  cr_assert(strstr(out, text), "%s", out)
#define EXITS(want, f, arguments) cr_assert_eq(brazectl(out, f, arguments), want, "%s", out)

Test(brazectl, every_command_prints_for_people)
{
	struct fake f = {.kernels = 2};
	char out[65536];

	fake_start(&f);
	EXITS(0, &f, "ping");
	SHOWS("brazed 0.1.0 answers at");
	EXITS(0, &f, "status");
	SHOWS("loop_longest_iteration_seconds  7");
	EXITS(0, &f, "clients");
	SHOWS("SESSION");
	SHOWS("4242");
	EXITS(0, &f, "kernels");
	SHOWS("250.0ms");
	SHOWS("sin, add");
	SHOWS("heat.py heat.py:12");
	cr_assert_not(strstr(out, "kkkk"), "the nest is shown on request only");
	EXITS(0, &f, "kernels 1");
	SHOWS("sum stays apart");
	SHOWS("heat.py /home/ada/heat.py:12");
	cr_assert_not(strstr(out, "void kernel(void)"));
	cr_assert_not(strstr(out, "kkkk"));
	EXITS(0, &f, "kernels 1 --nest");
	SHOWS("void kernel(void)");
	SHOWS("kkkk");
	EXITS(2, &f, "kernels --nest");
	EXITS(0, &f, "explain");
	SHOWS("sum stays apart");
	SHOWS("kernel 1: sin, add");
	SHOWS("first asked for by heat.py /home/ada/heat.py:12");
	cr_assert_not(strstr(out, "kkkk"));
	EXITS(0, &f, "events");
	SHOWS("started pid 77");
	EXITS(0, &f, "cache");
	SHOWS("disk_hits");
	fake_stop(&f);
}

Test(brazectl, json_is_the_daemons_own_text)
{
	static const char *const commands[] = {"status", "clients", "kernels", "kernels 1",
					       "events", "ping",    "cache"};
	struct fake f = {.kernels = 2};
	char out[65536], line[64];

	fake_start(&f);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		cJSON *o = NULL;

		snprintf(line, sizeof(line), "--json %s", commands[i]);
		EXITS(0, &f, line);
		o = cJSON_Parse(out);
		cr_assert(cJSON_IsObject(o), "%s: %s", line, out);
		cJSON_Delete(o);
	}
	fake_stop(&f);
}

Test(brazectl, control_characters_of_clients_do_not_reach_the_terminal)
{
	struct fake f = {0};
	char out[65536];

	fake_start(&f);
	EXITS(0, &f, "clients");
	SHOWS("note?[31mbook");
	cr_assert_null(strchr(out, '\x1b'));
	fake_stop(&f);
}

Test(brazectl, export_writes_the_source)
{
	struct fake f = {0};
	char out[65536], path[128], arguments[256];
	FILE *file = NULL;

	fake_start(&f);
	snprintf(path, sizeof(path), "%s/kernel.c", f.folder);
	snprintf(arguments, sizeof(arguments), "kernels 1 --export %s", path);
	EXITS(0, &f, arguments);
	file = fopen(path, "r");
	cr_assert(file);
	cr_assert(fgets(out, sizeof(out), file));
	cr_assert_str_eq(out, "void kernel(void) { }\n");
	fclose(file);
	unlink(path);
	EXITS(1, &f, "kernels 1 --export /nonexistent/x.c");
	SHOWS("/nonexistent/x.c");
	fake_stop(&f);
}

Test(brazectl, cache_clear_reaches_the_daemon)
{
	struct fake f = {0};
	char out[65536];

	fake_start(&f);
	EXITS(0, &f, "cache clear");
	cr_assert_eq(f.cleared, 1);
	EXITS(2, &f, "cache burn");
	cr_assert_eq(f.cleared, 1);
	fake_stop(&f);
}

Test(brazectl, doctor_judges)
{
	struct fake f = {0};
	char out[65536];

	fake_start(&f);
	EXITS(0, &f, "doctor");
	SHOWS("daemon answers at");
	SHOWS("worker runs");
	SHOWS("7 workers died");
	cr_assert_null(strstr(out, "FAIL"));
	fake_stop(&f);
}

Test(brazectl, misuse_ends_with_2)
{
	static const char *const wrong[] = {
		"",	     "dance",	    "status extra", "--frob ping",
		"kernels x", "kernels 1 2", "--socket",	    "ping --export f"};
	struct fake f = {0};
	char out[65536];

	fake_start(&f);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		EXITS(2, strcmp(wrong[i], "--socket") ? &f : NULL, wrong[i]);
	EXITS(0, NULL, "--help");
	SHOWS("usage: brazectl");
	fake_stop(&f);
}

Test(brazectl, no_daemon_and_no_kernel_end_with_1)
{
	struct fake f = {0};
	char out[65536];

	EXITS(1, NULL, "--socket /nonexistent/s.sock ping");
	SHOWS("no daemon answers at /nonexistent/s.sock");
	fake_start(&f);
	EXITS(1, &f, "kernels 9");
	SHOWS("no such kernel");
	fake_stop(&f);
	EXITS(1, &f, "status");
}

Test(brazectl, finds_the_socket_beside_the_daemons)
{
	struct fake f = {0};
	char out[65536], path[128];

	fake_start(&f);
	unsetenv("BRAZE_STATUS_SOCKET");
	snprintf(path, sizeof(path), "%s/s.sock", f.folder);
	setenv("BRAZE_SOCKET", path, 1);
	EXITS(0, NULL, "ping");
	unsetenv("BRAZE_SOCKET");
	setenv("BRAZE_STATUS_SOCKET", f.path, 1);
	EXITS(0, NULL, "ping");
	unsetenv("BRAZE_STATUS_SOCKET");
	/* The user's own place. */
	snprintf(path, sizeof(path), "%s/braze", f.folder);
	cr_assert_eq(symlink(f.folder, path), 0);
	setenv("XDG_RUNTIME_DIR", f.folder, 1);
	EXITS(1, NULL, "ping");
	SHOWS("no daemon runs");
	cr_assert_eq(unlink(path), 0);
	fake_stop(&f);
}
