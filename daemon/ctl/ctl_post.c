/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_post.c - what operators may do by the status socket.
 *
 * Runs on the HTTP library's thread.  In: POST /cache/clear, /drain?binary=PATH,
 * /sessions/ID/WORD (orders.def) or /limits?scope=user&name=alice&weight=3.  Out: an order for the
 * loop, with who gave it by the kernel's word, and the answer.  Only the daemon's user and root are
 * obeyed. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/textbuf.h"
#include "base/xalloc.h"
#include "ctl_http.h"

/* Who has opened the connection; false: the kernel does not tell. */
static bool learn_actor(struct ctl_actor *who, struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct ucred cred = {0};
	socklen_t size = sizeof(cred);
	struct passwd user, *found = NULL;
	char room[4096];

	if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &cred, &size))
		return false;
	who->uid = cred.uid;
	who->pid = (uint32_t)cred.pid;
	if (!getpwuid_r(cred.uid, &user, room, sizeof(room), &found) && found)
		snprintf(who->name, sizeof(who->name), "%s", user.pw_name);
	return true;
}

static bool find_act(struct ctl_order *o, const char *url)
{
	static const char *const word[] = {
#define ORDER(id, word, done) "/" word,
#include "orders.def"
#undef ORDER
	};

	o->act = CTL_CLEAR_CACHE;
	if (!strcmp(url, "/cache/clear"))
		return true;
	o->act = CTL_DRAIN;
	if (!strcmp(url, "/drain"))
		return true;
	o->act = CTL_LIMIT;
	if (!strcmp(url, "/limits"))
		return true;
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		o->act = (enum ctl_act)(CTL_LIMIT + 1 + i);
		if (!strncmp(url, "/sessions/", 10) && ctl_http_number(&o->id, url + 10, word[i]))
			return true;
	}
	return false;
}

bool ctl_post_knows(const char *url)
{
	struct ctl_order o = {0};

	return find_act(&o, url);
}

struct arguments {
	struct ctl_order *order;
	struct textbuf limits;
	bool bad;
};

static enum MHD_Result take_argument(void *cls, enum MHD_ValueKind kind, const char *key,
				     const char *value)
{
	struct arguments *a = cls;
	struct ctl_order *o = a->order;
	bool scope = !strcmp(key, "scope");
	char *to = scope ? o->scope : o->name;
	size_t room = scope ? sizeof(o->scope) : sizeof(o->name);

	(void)kind;
	if (!value) {
		a->bad = true;
	} else if (o->act == CTL_DRAIN) {
		a->bad |= strcmp(key, "binary") || strlen(value) >= sizeof(o->binary);
		snprintf(o->binary, sizeof(o->binary), "%s", value);
	} else if (scope || !strcmp(key, "name")) {
		a->bad |= strlen(value) >= room;
		snprintf(to, room, "%s", value);
	} else {
		a->bad |= strpbrk(key, " =") || strpbrk(value, " =");
		textbuf_put(&a->limits, "%s%s=%s", a->limits.len ? " " : "", key, value);
	}
	return MHD_YES;
}

/* The order in the words of the address. */
static bool take_arguments(struct ctl_order *o, struct MHD_Connection *conn)
{
	struct arguments a = {.order = o, .limits = {.buf = o->limits, .cap = sizeof(o->limits)}};

	MHD_get_connection_values(conn, MHD_GET_ARGUMENT_KIND, take_argument, &a);
	return !a.bad && a.limits.len < sizeof(o->limits);
}

/* The status of an answer to an order that names nothing, or makes no sense. */
static unsigned wrong_as(enum ctl_act act)
{
	if (act == CTL_DRAIN)
		return MHD_HTTP_CONFLICT;
	return act == CTL_LIMIT ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_NOT_FOUND;
}

enum MHD_Result ctl_post(struct ctl *c, struct MHD_Connection *conn, const char *url)
{
	struct ctl_order o = {0};
	struct err err = {0};
	cJSON *out = NULL;
	enum status st;
	char *text;

	find_act(&o, url);
	if (!take_arguments(&o, conn))
		return ctl_http_error(conn, MHD_HTTP_BAD_REQUEST, "the address says too much");
	/* Only who could as well delete the cache's files, and end the daemon. */
	o.refused = !learn_actor(&o.who, conn) || (o.who.uid != 0 && o.who.uid != geteuid());
	st = ctl_ask_order(&out, c, &o, &err);
	if (o.refused) {
		cJSON_Delete(out);
		return ctl_http_error(conn, MHD_HTTP_FORBIDDEN,
				      "only the daemon's user may do this");
	}
	if (st == E_INVALID)
		return ctl_http_error(conn, wrong_as(o.act), err.text);
	if (st)
		return ctl_http_failure(conn, &err);
	text = cJSON_PrintUnformatted(out);
	cJSON_Delete(out);
	return text ? ctl_http_json(conn, MHD_HTTP_OK, text) : MHD_NO;
}
