/* SPDX-License-Identifier: Apache-2.0 */
/* Where the client looks for a daemon, whom it trusts, and how it starts one. */
#include "fake_daemon.h"

#include <sys/stat.h>

/* A folder to be XDG_RUNTIME_DIR, with braze/ in it. */
static void runtime_folder(char folder[64], char socket_path[96], mode_t mode)
{
	char braze[80];

	strcpy(folder, "/tmp/braze-run-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(braze, sizeof(braze), "%s/braze", folder);
	snprintf(socket_path, 96, "%s/braze-1.sock", braze);
	cr_assert_eq(mkdir(braze, 0700), 0);
	cr_assert_eq(chmod(braze, mode), 0);
	unsetenv("BRAZE_SOCKET");
	unsetenv("BRAZE_PRIVATE");
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

static void remove_folder(const char *folder)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

static int try_connect(unsigned flags, braze_error *err)
{
	struct braze_options o = {.size = sizeof(o), .flags = flags};
	braze_session *s = NULL;
	int st = braze_connect(&s, &o, err);

	braze_close(s);
	return st;
}

static void script(const char *folder, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/brazed", folder);
	FILE *f = fopen(path, "w");
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	chmod(path, 0700);
	setenv("BRAZE_DAEMON", path, 1);
}

Test(client_connect, the_users_daemon_is_found_by_its_socket)
{
	char folder[64], path[96];
	struct fake *f = fake_start();
	braze_error e = {0};

	runtime_folder(folder, path, 0700);
	cr_assert_eq(rename(f->path, path), 0);
	cr_assert_eq(try_connect(BRAZE_NO_START, &e), 0, "%s", e.text);
	fake_stop(f);
	remove_folder(folder);
}

Test(client_connect, a_folder_that_others_can_write_is_not_trusted)
{
	char folder[64], path[96];
	struct fake *f = fake_start();
	braze_error e = {0};

	runtime_folder(folder, path, 0777);
	cr_assert_eq(rename(f->path, path), 0);
	cr_assert_eq(try_connect(BRAZE_NO_START, &e), 16);
	cr_assert_not_null(strstr(e.text, "0700"), "%s", e.text);
	shutdown(f->listener, SHUT_RDWR);
	fake_stop(f);
	remove_folder(folder);
}

Test(client_connect, a_daemon_that_does_not_start_is_reported_with_its_status)
{
	char folder[64], path[96];
	braze_error e = {0};

	runtime_folder(folder, path, 0700);
	script(folder, "test \"$*\" = '--user --detach' && exit 7; exit 8");
	cr_assert_eq(try_connect(0, &e), 16);
	cr_assert_not_null(strstr(e.text, "status 7"), "%s", e.text);
	setenv("BRAZE_DAEMON", "/nonexistent/brazed", 1);
	cr_assert_eq(try_connect(0, &e), 16);
	cr_assert_not_null(strstr(e.text, "/nonexistent/brazed"), "%s", e.text);
	remove_folder(folder);
}

Test(client_connect, a_private_daemon_that_ends_before_the_welcome_is_no_hang, .timeout = 30)
{
	char folder[64], path[96];
	braze_error e = {0};

	runtime_folder(folder, path, 0700);
	script(folder, "test \"$*\" = '--private 3' && exit 0; sleep 60");
	setenv("BRAZE_PRIVATE", "1", 1);
	cr_assert_eq(try_connect(0, &e), 16, "%s", e.text);
	unsetenv("BRAZE_PRIVATE");
	remove_folder(folder);
}
