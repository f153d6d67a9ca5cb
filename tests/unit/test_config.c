/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

extern char **environ;

/* Nothing from the tester's own environment or home. */
static void clean(void)
{
	clearenv();
	setenv("HOME", "/nonexistent", 1);
}

#define LOAD(c, err, ...)                                                                          \
	load(c, err, (char *[]){"brazed", __VA_ARGS__},                                            \
	     (int)(sizeof((char *[]){"brazed", __VA_ARGS__}) / sizeof(char *)))

static enum status load(struct config *c, struct err *err, char **argv, int argc)
{
	char *copy[32] = {0};

	memcpy(copy, argv, (size_t)argc * sizeof(char *));
	return config_load(c, argc, copy, err);
}

static char *file_with(const char *text)
{
	static char path[] = "/tmp/braze-conf-XXXXXX";
	int fd = 0;

	strcpy(path, "/tmp/braze-conf-XXXXXX");
	fd = mkstemp(path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

Test(config, system_daemon_has_system_places, .init = clean)
{
	struct config c;
	struct err err = {0};

	cr_assert_eq(LOAD(&c, &err, "-f", file_with("")), OK, "%s", err.text);
	cr_assert_str_eq(c.socket, "/run/braze/braze-1.sock");
	cr_assert_str_eq(c.status_socket, "/run/braze/braze-1.status.sock");
	cr_assert_str_eq(c.cache_dir, "/var/cache/braze");
	cr_assert_eq(c.idle_exit_seconds, 0);
	cr_assert_eq(c.cache_disk_bytes, 1ull << 30);
	cr_assert_eq(c.tier, -1);
	cr_assert_eq(c.private_fd, -1);
	cr_assert_gt(c.quota_bytes, 1ull << 20);
	config_finish(&c);
}

Test(config, user_daemon_has_the_users_places_and_ends_when_idle, .init = clean)
{
	struct config c;
	struct err err = {0};
	char want[64];

	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	setenv("XDG_CACHE_HOME", "/c", 1);
	cr_assert_eq(LOAD(&c, &err, "--user", "--detach"), OK, "%s", err.text);
	cr_assert_str_eq(c.socket, "/run/user/7/braze/braze-1.sock");
	cr_assert_str_eq(c.cache_dir, "/c/braze");
	cr_assert_eq(c.idle_exit_seconds, 600);
	cr_assert(c.user && c.detach);
	config_finish(&c);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("XDG_CACHE_HOME");
	cr_assert_eq(LOAD(&c, &err, "--user"), OK);
	snprintf(want, sizeof(want), "/tmp/braze-%lu/braze-1.sock", (unsigned long)getuid());
	cr_assert_str_eq(c.socket, want);
	cr_assert_str_eq(c.cache_dir, "/nonexistent/.cache/braze");
	config_finish(&c);
}

Test(config, later_sources_win_and_origins_are_told, .init = clean)
{
	char *path = file_with("# comment\n\n threads =  3 \ntier = 0\nlog = warn\ndevice=cpu\n");
	struct config c;
	struct err err = {0};
	char text[8192] = "", want[128];
	FILE *out = fmemopen(text, sizeof(text), "w");

	setenv("BRAZE_TIER", "1", 1);
	setenv("BRAZE_LOG", "error", 1);
	setenv("BRAZE_DUMP", "", 1);
	cr_assert_eq(LOAD(&c, &err, "-f", path, "-o", "log=debug", "-S", "/x.sock"), OK, "%s",
		     err.text);
	cr_assert_eq(c.threads, 3);
	cr_assert_eq(c.tier, 1);
	cr_assert_str_eq(c.log, "debug");
	cr_assert_str_eq(c.socket, "/x.sock");
	cr_assert_str_eq(c.status_socket, "/x.status.sock");
	config_print(&c, out);
	fclose(out);
	snprintf(want, sizeof(want), "(%s:3)\nthreads = 3\n", path);
	cr_assert(strstr(text, want), "%s", text);
	cr_assert(strstr(text, "($BRAZE_TIER)\ntier = 1\n"));
	cr_assert(strstr(text, "(-o)\nlog = debug\n"));
	cr_assert(strstr(text, "(-S)\nsocket = /x.sock\n"));
	cr_assert(strstr(text, "(default)\ndump = \n"));
	config_finish(&c);
	unlink(path);
}

Test(config, printed_settings_read_back_the_same, .init = clean)
{
	struct config a, b;
	struct err err = {0};
	char text[8192] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	char *path = NULL;

	cr_assert_eq(LOAD(&a, &err, "-f", "/dev/null", "-o", "cache_dir=none", "-o",
			  "cache_memory_bytes=3G"),
		     OK, "%s", err.text);
	cr_assert_str_eq(a.cache_dir, "");
	config_print(&a, out);
	fclose(out);
	path = file_with(text);
	cr_assert_eq(LOAD(&b, &err, "-f", path), OK, "%s", err.text);
	cr_assert_str_eq(b.cache_dir, "");
	cr_assert_eq(b.cache_memory_bytes, 3ull << 30);
	cr_assert_eq(b.quota_bytes, a.quota_bytes);
	cr_assert_str_eq(b.socket, a.socket);
	config_finish(&a);
	config_finish(&b);
	unlink(path);
}

Test(config, sizes_take_units, .init = clean)
{
	static const struct {
		const char *text;
		uint64_t want;
	} good[] = {
		{"0", 0},	    {"17", 17},		{"1K", 1024},	     {"512M", 512 << 20},
		{"2g", 2ull << 30}, {"1T", 1ull << 40}, {"4GiB", 4ull << 30}};
	static const char *const bad[] = {"",	  "-1",	 "1.5G",      "12X",
					  "0x10", "1KK", "16777216T", "99999999999999999999999"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct config c;
		struct err err = {0};
		char pair[64];

		snprintf(pair, sizeof(pair), "cache_disk_bytes=%s", good[i].text);
		cr_assert_eq(LOAD(&c, &err, "-f", "/dev/null", "-o", pair), OK, "%s", err.text);
		cr_assert_eq(c.cache_disk_bytes, good[i].want, "%s", pair);
		config_finish(&c);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct config c;
		struct err err = {0};
		char pair[64];

		snprintf(pair, sizeof(pair), "cache_disk_bytes=%s", bad[i]);
		cr_assert_eq(LOAD(&c, &err, "-f", "/dev/null", "-o", pair), E_INVALID, "%s", pair);
		cr_assert(strstr(err.text, "cache_disk_bytes"));
		config_finish(&c);
	}
}

Test(config, mistakes_are_named, .init = clean)
{
	char *path = file_with("threads = 1\nthread = 2\n");
	struct config c;
	struct err err = {0};
	char want[64];

	cr_assert_eq(LOAD(&c, &err, "-f", path), E_INVALID);
	snprintf(want, sizeof(want), "%s:2", path);
	cr_assert(strstr(err.text, want) && strstr(err.text, "thread"), "%s", err.text);
	config_finish(&c);
	unlink(path);
	cr_assert_eq(LOAD(&c, &err, "-f", "/nonexistent"), E_INVALID);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "--frob"), E_INVALID);
	cr_assert(strstr(err.text, "--frob"));
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f"), E_INVALID);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", "/dev/null", "extra"), E_INVALID);
	cr_assert(strstr(err.text, "extra"));
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "--private", "x"), E_INVALID);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", "/dev/null", "-o", "tier=2"), E_INVALID);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", "/dev/null", "-o", "tier"), E_INVALID);
	config_finish(&c);
}

Test(config, private_daemon_has_no_sockets_unless_asked, .init = clean)
{
	struct config c;
	struct err err = {0};

	cr_assert_eq(LOAD(&c, &err, "--private", "3"), OK);
	cr_assert_eq(c.private_fd, 3);
	cr_assert_str_eq(c.socket, "");
	cr_assert_str_eq(c.status_socket, "");
	config_finish(&c);
	setenv("BRAZE_STATUS_SOCKET", "/t/s.sock", 1);
	cr_assert_eq(LOAD(&c, &err, "--private", "3"), OK);
	cr_assert_str_eq(c.status_socket, "/t/s.sock");
	config_finish(&c);
}

Test(config, actions_need_no_valid_file, .init = clean)
{
	struct config c;
	struct err err = {0};
	char text[8192] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	cr_assert_eq(LOAD(&c, &err, "-f", "/nonexistent", "--version"), OK);
	cr_assert_eq(c.action, CONFIG_VERSION);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-h"), OK);
	cr_assert_eq(c.action, CONFIG_HELP);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "--user", "--check-config"), OK);
	cr_assert_eq(c.action, CONFIG_CHECK);
	config_finish(&c);
	config_usage(out);
	fclose(out);
#define SETTING(name, type, value, when, help) cr_assert(strstr(text, #name) && strstr(text, help));
#include "config.def"
#undef SETTING
}

/* Else what follows the blanks would be read as a line of its own. */
Test(config, long_line_is_refused_wherever_its_blanks_are, .init = clean)
{
	char text[8192];
	struct config c;
	struct err err = {0};

	memset(text, ' ', sizeof text);
	memcpy(text, "threads = 1", 11);
	strcpy(text + 5000, "2\n");
	cr_assert_eq(LOAD(&c, &err, "-f", file_with(text)), E_INVALID);
	cr_assert(strstr(err.text, "too long"), "%s", err.text);
	config_finish(&c);
}

Test(config, value_of_two_lines_is_refused, .init = clean)
{
	struct config c;
	struct err err = {0};

	cr_assert_eq(LOAD(&c, &err, "-f", file_with(""), "-o", "dump=nest\ntier = 0"), E_INVALID);
	cr_assert(strstr(err.text, "one line"), "%s", err.text);
	config_finish(&c);
}

Test(config, unknown_device_is_refused_with_its_origin, .init = clean)
{
	struct config c;
	struct err err = {0};

	cr_assert_eq(LOAD(&c, &err, "-f", file_with("device = tpu:0\n")), E_INVALID);
	cr_assert(strstr(err.text, ":1: device = tpu:0"), "%s", err.text);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", file_with("device = cuda:0,\n")), E_INVALID);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", file_with("device = cuda:0,cuda:1,cuda:2,cuda:3\n")),
		     E_INVALID, "the CPU is a device, too");
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", file_with("device = cpu,cuda:1\n")), OK, "%s", err.text);
	config_finish(&c);
	config_finish(&c);
	cr_assert_eq(LOAD(&c, &err, "-f", file_with("device = cpu\n")), OK, "%s", err.text);
	config_finish(&c);
}

Test(config, sections_are_rules_and_are_printed_as_they_are_read, .init = clean)
{
	static const char text[] = "threads = 3\n[user 1000]\nweight = 3\n# a comment\n"
				   "bytes = 3M\n[session train-*]\nqueue = 5\n[group 7]\n";
	char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);
	struct config c;
	struct err err = {0};

	cr_assert_eq(LOAD(&c, &err, "-f", file_with(text)), OK, "%s", err.text);
	cr_assert_eq(c.threads, 3);
	config_print(&c, f);
	fclose(f);
	cr_assert(
		strstr(out, "[user 1000]\nweight = 3\nbytes = 3M\n[session train-*]\nqueue = 5\n"),
		"%s", out);
	cr_assert_null(strstr(out, "[group 7]"), "it bounds nobody");
	free(out);
	config_finish(&c);
}

Test(config, sections_with_mistakes_name_their_line, .init = clean)
{
	static const struct {
		const char *text, *line;
	} wrong[] = {{"[user alice\n", ":1: wants [user NAME]"},
		     {"[robot r2]\n", ":1: wants [user NAME]"},
		     {"[]\n", ":1: wants [user NAME]"},
		     {"[\n", ":1: wants [user NAME]"},
		     {"[user]\n", ":1: user \"\": wants a name"},
		     {"[user 5]\nthreads = 3\n", ":2: no limit is called threads"},
		     {"[user 5]\nweight\n", ":2: wants name = value"},
		     {"[user 5]\nweight = heavy\n", ":2: weight = heavy: wants 1 to 1000"},
		     {"[session a]\n\npending = 5\n", ":3: pending = 5: wants 4096 to"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct config c;
		struct err err = {0};

		cr_assert_eq(LOAD(&c, &err, "-f", file_with(wrong[i].text)), E_INVALID, "%s",
			     wrong[i].text);
		cr_assert(strstr(err.text, wrong[i].line), "%s", err.text);
		config_finish(&c);
	}
}
