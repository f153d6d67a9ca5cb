/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - read settings from their four sources.
 *
 * In:  config.def's defaults, brazed.conf, BRAZE_* variables, the command line.
 * Out: struct config, every field valid.
 * Every source hands texts to config_set's one parser per type, so a value means
 * the same wherever it is written. */
#define _GNU_SOURCE
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "spin.h"

#define SYSTEM_CONF "/etc/braze/brazed.conf"
#define LINE_BYTES  4096

enum type { TEXT, BYTES, COUNT, TIER };
enum when { LIVE, RESTART };

static const struct row {
	const char *name, *value, *help;
	size_t offset;
	enum type type;
	enum when when;
} rows[CONFIG_COUNT] = {
#define SETTING(name, type, value, when, help)                                                     \
	{#name, value, help, offsetof(struct config, name), type, when},
#include "config.def"
#undef SETTING
};

static void *field(const struct config *c, const struct row *r)
{
	return (char *)c + r->offset;
}

static const struct row *find(const char *name)
{
	for (int i = 0; i < CONFIG_COUNT; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static bool parse_tier(int *out, const char *text)
{
	if (!strcmp(text, "auto"))
		*out = -1;
	else if (!strcmp(text, "0") || !strcmp(text, "1"))
		*out = *text - '0';
	else
		return false;
	return true;
}

static enum status set(struct config *c, const struct row *r, const char *text, const char *origin,
		       struct err *err)
{
	bool ok = true;

	switch (r->type) {
	case TEXT:
		ok = !strchr(text, '\n'); /* config_print's lines must stay lines */
		if (!ok)
			break;
		free(*(char **)field(c, r));
		*(char **)field(c, r) = xstrdup(text);
		break;
	case BYTES:
		ok = text_number(field(c, r), text, "KMGT");
		break;
	case COUNT:
		ok = text_number(field(c, r), text, "") && *(uint64_t *)field(c, r) <= 1000000000;
		break;
	case TIER:
		ok = parse_tier(field(c, r), text);
		break;
	}
	if (!ok) {
		static const char *const wants[] = {"one line", "bytes such as 512M or 4G",
						    "a whole number", "auto, 0 or 1"};

		return err_set(err, E_INVALID, "%s: %s = %s: wants %s", origin, r->name, text,
			       wants[r->type]);
	}
	free(c->origin[r - rows]);
	c->origin[r - rows] = xstrdup(origin);
	return OK;
}

/* Cut blanks off both ends, in place. */
static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = 0;
	return s;
}

/* "name = value" from a file or -o. */
static enum status set_pair(struct config *c, char *text, const char *origin, struct err *err)
{
	char *value = strchr(text, '=');
	const struct row *r = NULL;

	if (!value)
		return err_set(err, E_INVALID, "%s: wants name = value: %.60s", origin, text);
	*value++ = 0;
	r = find(trim(text));
	if (!r)
		return err_set(err, E_INVALID, "%s: no setting is called %.60s", origin,
			       trim(text));
	return set(c, r, trim(value), origin, err);
}

/* "[user NAME]": the rule that the lines below it belong to. */
static enum status begin_section(struct config *c, struct rule **rule, char *text,
				 const char *origin, struct err *err)
{
	size_t n = strlen(text), word = strcspn(text + 1, " \t]");
	enum limit_scope scope;
	struct err why = {0};
	char *name = NULL;

	if (text[n - 1] != ']' || !rules_find_scope(&scope, text + 1, word))
		return err_set(err, E_INVALID,
			       "%s: wants [user NAME], [group NAME] or [session NAME]: %.60s",
			       origin, text);
	text[n - 1] = 0;
	name = trim(text + 1 + word);
	if (rules_get(rule, &c->rules, scope, name, &why))
		return err_set(err, E_INVALID, "%s: %s", origin, why.text);
	return OK;
}

/* "name = value" in a section. */
static enum status set_limit(struct rule *rule, char *text, const char *origin, struct err *err)
{
	char *value = strchr(text, '=');
	struct err why = {0};

	if (!value)
		return err_set(err, E_INVALID, "%s: wants name = value: %.60s", origin, text);
	*value++ = 0;
	if (rules_set(rule, trim(text), trim(value), &why))
		return err_set(err, E_INVALID, "%s: %s", origin, why.text);
	return OK;
}

static enum status load_file(struct config *c, const char *path, bool must, struct err *err)
{
	char line[LINE_BYTES], origin[LINE_BYTES];
	FILE *f = fopen(path, "re");
	struct rule *rule = NULL; /* of the section that it is in */
	enum status st = OK;

	if (!f) {
		if (!must && (errno == ENOENT || errno == ENOTDIR))
			return OK;
		return err_set(err, E_INVALID, "%s: %s", path, strerror(errno));
	}
	for (int number = 1; !st && fgets(line, sizeof(line), f); number++) {
		bool whole = strlen(line) < sizeof(line) - 1; /* before blanks are cut off */
		char *text = trim(line);

		snprintf(origin, sizeof(origin), "%s:%d", path, number);
		if (!whole)
			st = err_set(err, E_INVALID, "%s: line too long", origin);
		else if (*text == '[')
			st = begin_section(c, &rule, text, origin, err);
		else if (*text && *text != '#')
			st = rule ? set_limit(rule, text, origin, err)
				  : set_pair(c, text, origin, err);
	}
	fclose(f);
	rules_sweep(&c->rules);
	return st;
}

static enum status load_environment(struct config *c, struct err *err)
{
	for (int i = 0; i < CONFIG_COUNT; i++) {
		char name[64] = "BRAZE_", origin[80];
		const char *value = NULL;
		size_t n = strlen(name);
		enum status st = OK;

		for (const char *s = rows[i].name; *s && n + 1 < sizeof(name); s++)
			name[n++] = (char)toupper((unsigned char)*s);
		name[n] = 0;
		value = getenv(name);
		if (!value || !*value)
			continue;
		snprintf(origin, sizeof(origin), "$%s", name);
		st = set(c, &rows[i], value, origin, err);
		if (st)
			return st;
	}
	return OK;
}

enum { OPT_USER = 256, OPT_DETACH, OPT_PRIVATE, OPT_DUMP, OPT_PASSES, OPT_CHECK, OPT_VERSION };

static const struct option options[] = {
	{"user", no_argument, NULL, OPT_USER},
	{"detach", no_argument, NULL, OPT_DETACH},
	{"private", required_argument, NULL, OPT_PRIVATE},
	{"dump", required_argument, NULL, OPT_DUMP},
	{"passes", required_argument, NULL, OPT_PASSES},
	{"check-config", no_argument, NULL, OPT_CHECK},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* Options that say what to do, and which file to read. */
static enum status take_option(struct config *c, int o, const char **file, struct err *err)
{
	uint64_t fd = 0;

	switch (o) {
	case 'f':
		*file = optarg;
		break;
	case 'v':
		c->verbose = true;
		break;
	case 'h':
		c->action = CONFIG_HELP;
		break;
	case OPT_USER:
		c->user = true;
		break;
	case OPT_DETACH:
		c->detach = true;
		break;
	case OPT_PRIVATE:
		if (!text_number(&fd, optarg, "") || fd > 1 << 20)
			return err_set(err, E_INVALID, "--private %s: wants a descriptor", optarg);
		c->private_fd = (int)fd;
		break;
	case OPT_CHECK:
		c->action = CONFIG_CHECK;
		break;
	case OPT_VERSION:
		c->action = CONFIG_VERSION;
		break;
	}
	return OK;
}

/* Options that are settings. */
static enum status take_setting(struct config *c, int o, struct err *err)
{
	enum status st = OK;
	char *pair = NULL;

	switch (o) {
	case 'S':
		return set(c, &rows[CONFIG_socket], optarg, "-S", err);
	case OPT_DUMP:
		return set(c, &rows[CONFIG_dump], optarg, "--dump", err);
	case OPT_PASSES:
		return set(c, &rows[CONFIG_passes], optarg, "--passes", err);
	case 'o':
		pair = xstrdup(optarg);
		st = set_pair(c, pair, "-o", err);
		free(pair);
		return st;
	}
	return OK;
}

/* One walk over the arguments: the first, `settings` false, comes before the file
 * is read; the second after it, so that its settings win. */
static enum status walk(struct config *c, int argc, char **argv, bool settings, const char **file,
			struct err *err)
{
	enum status st = OK;
	int o = 0;

	optind = 0; /* a fresh walk, also of glibc's hidden state */
	opterr = 0;
	while (!st && (o = getopt_long(argc, argv, ":f:S:o:vh", options, NULL)) != -1) {
		if (o == ':')
			st = err_set(err, E_INVALID, "%s wants a value", argv[optind - 1]);
		else if (o == '?')
			st = err_set(err, E_INVALID, "unknown option %s", argv[optind - 1]);
		else
			st = settings ? take_setting(c, o, err) : take_option(c, o, file, err);
	}
	if (!st && optind < argc)
		st = err_set(err, E_INVALID, "unexpected argument %s", argv[optind]);
	return st;
}

static const char *nonempty(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* A folder of this user: $VARIABLE/braze, else $HOME/<below>/braze. */
static char *user_folder(const char *variable, const char *below)
{
	const char *base = nonempty(variable), *home = nonempty("HOME");

	if (base && *base == '/')
		return xasprintf("%s/braze", base);
	return home ? xasprintf("%s/%s/braze", home, below) : NULL;
}

char *config_status_path(const char *path)
{
	size_t n = strlen(path);

	if (n > 5 && !strcmp(path + n - 5, ".sock"))
		return xasprintf("%.*s.status.sock", (int)(n - 5), path);
	return xasprintf("%s.status.sock", path);
}

/* The same places where libbraze looks for a daemon. */
static char *default_socket(const struct config *c)
{
	const char *run = nonempty("XDG_RUNTIME_DIR"), *tmp = nonempty("TMPDIR");

	if (!c->user)
		return xasprintf("/run/braze/braze-%d.sock", BRAZE_PROTO_MAJOR);
	if (run)
		return xasprintf("%s/braze/braze-%d.sock", run, BRAZE_PROTO_MAJOR);
	return xasprintf("%s/braze-%lu/braze-%d.sock", tmp ? tmp : "/tmp", (unsigned long)getuid(),
			 BRAZE_PROTO_MAJOR);
}

/* Of the tree that the program was installed in; /etc where that has none. */
static char *system_file(void)
{
	char exe[LINE_BYTES];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash = NULL, *path = NULL;

	exe[n > 0 ? n : 0] = 0;
	for (int i = 0; i < 2 && (slash = strrchr(exe, '/')); i++)
		*slash = 0;
	path = xasprintf("%s/etc/braze/brazed.conf", exe);
	if (*exe && strcmp(exe, "/usr") && !access(path, F_OK))
		return path;
	free(path);
	return xstrdup(SYSTEM_CONF);
}

static void replace(char **text, char *with)
{
	free(*text);
	*text = with;
}

static uint64_t half_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

/* "none" says that there shall be nothing: the rest of the daemon knows "" only. */
static void none_is_empty(char **text)
{
	if (!strcmp(*text, "none"))
		replace(text, xstrdup(""));
}

/* A private daemon shares its client's terminal. */
static const char *default_log(const struct config *c)
{
	return c->verbose ? "debug" : c->private_fd >= 0 ? "warn" : "info";
}

/* What depends on who runs it, or on another setting. */
static void work_out(struct config *c)
{
	bool own = c->user || c->private_fd >= 0;

	if (!*c->socket && c->private_fd < 0)
		replace(&c->socket, default_socket(c));
	if (!*c->status_socket && c->private_fd < 0)
		replace(&c->status_socket, config_status_path(c->socket));
	if (!*c->cache_dir) {
		char *folder =
			own ? user_folder("XDG_CACHE_HOME", ".cache") : xstrdup("/var/cache/braze");

		replace(&c->cache_dir, folder ? folder : xstrdup("none"));
	}
	if (c->user && !strcmp(c->origin[CONFIG_idle_exit_seconds], "default"))
		c->idle_exit_seconds = 600;
	if (!c->quota_bytes)
		c->quota_bytes = half_of_memory();
	if (!strcmp(c->origin[CONFIG_log], "default"))
		replace(&c->log, xstrdup(default_log(c)));
	none_is_empty(&c->status_socket);
	none_is_empty(&c->cache_dir);
}

/* "cpu", or NAME:N of contract/backends.def. */
static bool is_device(const char *name, size_t n)
{
	static const char *const kind[] = {
#define X(name, ...) #name ":",
#include "contract/backends.def"
#undef X
	};

	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
		if (n == strlen(kind[i]) + 1 && !memcmp(name, kind[i], n - 1) &&
		    name[n - 1] >= '0' && name[n - 1] <= '9')
			return true;
	return n == 3 && !memcmp(name, "cpu", 3);
}

static enum status check_device(const struct config *c, struct err *err)
{
	bool good = true;
	int gpus = 0;

	for (const char *at = c->device; good; at++) {
		size_t n = strcspn(at, ",");

		good = is_device(at, n);
		gpus += n > 3;
		at += n;
		if (!*at)
			break;
	}
	if (!strcmp(c->device, "auto") || (good && gpus < LIMIT_DEVICES))
		return OK;
	return err_set(err, E_INVALID,
		       "%s: device = %s: want auto, cpu"
#define X(name, ...) ", " #name ":N"
#include "contract/backends.def"
#undef X
		       ", or up to four of them with commas",
		       c->origin[CONFIG_device], c->device);
}

static enum status check_isolation(const struct config *c, struct err *err)
{
	if (!strcmp(c->isolation, "none") || !strcmp(c->isolation, "user"))
		return OK;
	return err_set(err, E_INVALID, "%s: isolation = %s: want none or user",
		       c->origin[CONFIG_isolation], c->isolation);
}

/* The file that -f names, else the one of this kind of daemon. */
static enum status load_files(struct config *c, const char *file, const char *again,
			      struct err *err)
{
	bool own = c->user || c->private_fd >= 0;
	char *folder = NULL, *path = NULL;
	enum status st = OK;

	if (file) {
		/* A detached daemon goes to another folder. */
		c->file = again ? xstrdup(again) : realpath(file, NULL);
		return load_file(c, c->file ? c->file : file, true, err);
	}
	folder = own ? user_folder("XDG_CONFIG_HOME", ".config") : NULL;
	if (!own)
		path = system_file();
	else if (folder)
		path = xasprintf("%s/brazed.conf", folder);
	st = path ? load_file(c, path, false, err) : OK;
	free(folder);
	free(path);
	return st;
}

/* again: the file of the last time, where -f names one. */
static enum status load(struct config *c, int argc, char **argv, const char *again, struct err *err)
{
	const char *file = NULL;
	enum status st = OK;

	memset(c, 0, sizeof(*c));
	c->private_fd = c->take_over = -1;
	c->argc = argc;
	c->argv = argv;
	for (int i = 0; !st && i < CONFIG_COUNT; i++)
		st = set(c, &rows[i], rows[i].value, "default", err);
	if (!st)
		st = walk(c, argc, argv, false, &file, err);
	if (st || c->action == CONFIG_HELP || c->action == CONFIG_VERSION)
		return st;
	st = load_files(c, file, again, err);
	if (!st)
		st = load_environment(c, err);
	if (!st)
		st = walk(c, argc, argv, true, &file, err);
	if (!st) {
		work_out(c);
		st = check_device(c, err);
	}
	if (!st)
		st = check_isolation(c, err);
	if (!st && !spin_time(&c->spin_ns, c->spin_us))
		st = err_set(err, E_INVALID, "%s: spin_us = %.80s: wants auto, or microseconds",
			     c->origin[CONFIG_spin_us], c->spin_us);
	if (!st && !log_check(c->log))
		st = err_set(err, E_INVALID,
			     "%s: log = %.80s: wants LEVEL or TOPIC:LEVEL,... with error, warn, "
			     "info or debug",
			     c->origin[CONFIG_log], c->log);
	return st;
}

enum status config_load(struct config *c, int argc, char **argv, struct err *err)
{
	return load(c, argc, argv, NULL, err);
}

static void value_text(char *buf, size_t n, const struct config *c, const struct row *r)
{
	if (r->type == TEXT)
		snprintf(buf, n, "%s", *(char **)field(c, r));
	else if (r->type == TIER)
		snprintf(buf, n, "%s", c->tier < 0 ? "auto" : c->tier ? "1" : "0");
	else
		snprintf(buf, n, "%llu", (unsigned long long)*(uint64_t *)field(c, r));
}

/* The two change places, so that both can be freed as ever. */
static void exchange(struct config *c, struct config *with, const struct row *r)
{
	size_t n = r->type == TEXT   ? sizeof(char *)
		   : r->type == TIER ? sizeof(int)
				     : sizeof(uint64_t);
	char *origin = c->origin[r - rows], keep[sizeof(uint64_t)];

	memcpy(keep, field(c, r), n);
	memcpy(field(c, r), field(with, r), n);
	memcpy(field(with, r), keep, n);
	c->origin[r - rows] = with->origin[r - rows];
	with->origin[r - rows] = origin;
}

enum status config_reload(struct config *c,
			  void (*tell)(const char *name, const char *value, bool taken),
			  struct err *err)
{
	struct config fresh;
	enum status st = load(&fresh, c->argc, c->argv, c->file, err);

	for (int i = 0; !st && i < CONFIG_COUNT; i++) {
		const struct row *r = &rows[i];
		char was[LINE_BYTES], is[LINE_BYTES];

		value_text(was, sizeof(was), c, r);
		value_text(is, sizeof(is), &fresh, r);
		if (!strcmp(was, is))
			continue;
		if (r->when == LIVE)
			exchange(c, &fresh, r);
		tell(r->name, is, r->when == LIVE);
	}
	if (!st && !rules_same(&c->rules, &fresh.rules)) {
		struct rules was = c->rules;

		c->rules = fresh.rules;
		fresh.rules = was;
		tell("limits", "as the file's sections say", true);
	}
	config_finish(&fresh);
	return st;
}

void config_finish(struct config *c)
{
	for (int i = 0; i < CONFIG_COUNT; i++) {
		if (rows[i].type == TEXT)
			free(*(char **)field(c, &rows[i]));
		free(c->origin[i]);
	}
	rules_clear(&c->rules);
	free(c->file);
	memset(c, 0, sizeof(*c));
}

void config_print(const struct config *c, FILE *out)
{
	for (int i = 0; i < CONFIG_COUNT; i++) {
		const struct row *r = &rows[i];
		char value[LINE_BYTES];

		value_text(value, sizeof(value), c, r);
		/* What "" means where it can be written. */
		if (!*value && (i == CONFIG_status_socket || i == CONFIG_cache_dir))
			strcpy(value, "none");
		fprintf(out, "# %s (%s)\n%s = %s\n", r->help, c->origin[i], r->name, value);
	}
	rules_print(&c->rules, out);
}

void config_usage(FILE *out)
{
	fputs("usage: brazed [-f FILE] [-S SOCKET] [-o NAME=VALUE]... [-v] [--user] [--detach]\n"
	      "              [--private FD] [--dump=LIST] [--passes=LIST]\n"
	      "              [--check-config] [--version] [-h]\n"
	      "\n"
	      "  -f FILE         settings; default PREFIX/etc/braze/brazed.conf of the program\n"
	      "                  or /etc/braze/brazed.conf, with --user\n"
	      "                  $XDG_CONFIG_HOME/braze/brazed.conf\n"
	      "  -S SOCKET       socket that clients connect to\n"
	      "  -o NAME=VALUE   any setting\n"
	      "  -v              log at debug level\n"
	      "  --user          this user's own daemon; ends after 10 minutes without clients\n"
	      "  --detach        go into the background once it listens\n"
	      "  --private FD    serve the one connection FD, then end\n"
	      "  --dump=LIST     print part,nest,plan,source of each request to stderr\n"
	      "  --passes=LIST   run only these passes, to find the one that is wrong\n"
	      "  --check-config  print the effective settings and end\n"
	      "\n"
	      "settings (in the file, as BRAZE_NAME, or with -o):\n",
	      out);
	for (int i = 0; i < CONFIG_COUNT; i++)
		fprintf(out, "  %-19s %s%s%s%s\n", rows[i].name, rows[i].help,
			*rows[i].value ? " [" : "", rows[i].value, *rows[i].value ? "]" : "");
}
