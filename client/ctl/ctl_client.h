/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/ctl_client.h - the parts of brazectl.
 *
 * fetch.c finds the status socket and gets a page, by http.c; cell.c makes text of values, show.c
 * prints objects for people; doctor.c judges a machine; top.c with screen.c watches sessions,
 * orders.c has the daemon do something; logs.c reads the log; serve.c hands the status page to a
 * browser; drain.c has another program go on; help.c tells what can be asked; brazectl.c is the
 * command line. */
#ifndef BRAZE_CTL_CLIENT_H
#define BRAZE_CTL_CLIENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct fetch {
	char socket[4096]; /* of the daemon that was found */
	char error[512];   /* one line, when a call failed */
};

/* Find the status socket: `path` when given, else where libbraze looks for the
 * daemon's own.  False, with an error, when nothing listens. */
bool fetch_find(struct fetch *f, const char *path);
/* GET, or POST, a page: its text, malloc'ed; NULL with an error. */
char *fetch_text(struct fetch *f, const char *url, bool post);
/* The same as JSON. */
cJSON *fetch_json(struct fetch *f, const char *url);

/* ---- cell.c: a value of a row as a cell of a table ---- */

struct column {
	const char *key, *title;
	/* PLACE: "name folder/file:line" without the folder; PATH: its last part; AGE: seconds
	 * in two units; HITS: of key_hits and key_misses the share of hits. */
	enum { WORD, PLACE, PATH, NUMBER, BYTES, SECONDS, AGE, HITS } kind;
	int width; /* bound of a WORD */
};

double show_number(const cJSON *o, const char *key);
bool show_true(const cJSON *o, const char *key);
const char *show_string(const cJSON *o, const char *key);
/* Is it a text, which stands at the left? */
bool cell_is_text(const struct column *c);
void cell_text(char *buf, size_t size, const struct column *c, const cJSON *row);
/* What it sorts by; text columns have none. */
double cell_value(const struct column *c, const cJSON *row);
/* Columns that a text takes on the terminal. */
int cell_width(const char *s);
/* The number of bytes of s that take at most `width` columns. */
size_t cell_fit(const char *s, int width);

/* ---- show.c ---- */

/* A text for a terminal: control characters become '?'.  Cut at `width` columns
 * (0: whole). */
void show_text(const char *s, int width);
void show_object(const cJSON *o, int indent);
void show_clients(const cJSON *o);
void show_sessions(const cJSON *o);
void show_published(const cJSON *o);
void show_kernels(const cJSON *o);
void show_kernel(const cJSON *o);
/* The same, with its nest and its source. */
void show_nest(const cJSON *o);
/* A kernel's key and why it was not fused with more. */
void show_reasons(const cJSON *o);

/* Of commands.def: the text of --help; is there such a command; the script for bash. */
void help_print(FILE *out);
bool help_knows(const char *command);
void help_completion(void);

/* ---- orders.c: what the daemon is told to do ---- */

/* Is it done to a session? */
bool orders_knows(const char *command);
int orders_session(struct fetch *f, const char *command, const char *id, bool json);
/* Without arguments the limits there are; else "user:NAME LIMIT=VALUE...". */
int orders_limit(struct fetch *f, int n, char **argument, bool json);

/* Until the user has seen enough; *signal: what ended it, or 0. */
int top_run(struct fetch *f, int *signal);
/* The last lines of the log of the daemon with this status socket; then those to come. */
int logs_run(const char *socket, long lines, bool follows);
/* Serve the status page to this user's browser, on a port of this machine alone (0: any that is
 * free), until a signal; not 0: it cannot. */
int serve_run(struct fetch *f, long port);
/* Have another program go on in the daemon's process, NULL: the installed one; told when it is
 * over. */
int drain_run(struct fetch *f, const char *binary, bool json);
/* Print each check's outcome; 1 when one failed. */
int doctor_run(struct fetch *f);

#endif
