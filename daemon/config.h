/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - settings: defaults, then the file, the environment, the command line.
 *
 * One row of config.def is one field here.  Later sources win; each setting
 * remembers where it came from.  Filled before threads start; afterwards only
 * config_adopt changes it, on the loop thread.  Owned by main. */
#ifndef BRAZE_CONFIG_H
#define BRAZE_CONFIG_H

#include <stdio.h>
#include "rules.h"

enum config_id {
#define SETTING(name, type, value, when, help) CONFIG_##name,
#include "config.def"
#undef SETTING
	CONFIG_COUNT
};

/* What the command line asks for. */
enum config_action {
	CONFIG_RUN,
	CONFIG_CHECK,	/* config_print, then end with 0 */
	CONFIG_VERSION, /* print the version, end with 0 */
	CONFIG_HELP	/* config_usage to stdout, end with 0 */
};

/* Texts are owned; a text setting without a value is "".  tier: -1 auto, 0, 1. */
struct config {
#define TEXT				       char *
#define BYTES				       uint64_t
#define COUNT				       uint64_t
#define TIER				       int
#define SETTING(name, type, value, when, help) type name;
#include "config.def"
#undef SETTING
#undef TEXT
#undef BYTES
#undef COUNT
#undef TIER
	struct rules rules;	    /* sections of the file */
	char *origin[CONFIG_COUNT]; /* "default", "/etc/...:12", "environment", ... */
	enum config_action action;
	bool user;	 /* --user: this user's own daemon */
	bool detach;	 /* --detach: into the background once it listens */
	bool verbose;	 /* -v: log at debug */
	int64_t spin_ns; /* what spin_us says */
	int private_fd;	 /* --private FD: serve this connection only; -1 */
	int take_over;	 /* --take-over FD, by main: go on from this state; -1 */
	int argc;	 /* to read it all again */
	char **argv;
	char *file; /* the absolute path of -f; NULL: none was named */
};

/* Fill *c, which config_finish frees whatever this returns.  E_INVALID: wrong
 * use; the message says what and where. */
enum status config_load(struct config *c, int argc, char **argv, struct err *err) MUST_USE;
void config_finish(struct config *c);
/* Read everything again; E_INVALID leaves *c as it is.  What may change while the
 * daemon runs is taken over, the rules among it; `tell` hears of every setting that differs, of the
 * rules as "limits". */
enum status config_reload(struct config *c,
			  void (*tell)(const char *name, const char *value, bool taken),
			  struct err *err) MUST_USE;
/* The effective settings in the file's own format, each with its origin. */
void config_print(const struct config *c, FILE *out);
void config_usage(FILE *out);
/* The status socket that belongs to a socket; malloc'ed. */
char *config_status_path(const char *socket_path);

#endif
