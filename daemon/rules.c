/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the rules of rules.h: read, written, and asked what they say of somebody. */
#define _GNU_SOURCE
#include "rules.h"

#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/textbuf.h"
#include "base/xalloc.h"

#define RULES_MAX 4096

enum type { COUNT, BYTES };

static const struct row {
	const char *name;
	enum type type;
	uint64_t least, most, value;
} rows[LIMITS_COUNT] = {
#define LIMIT(name, type, least, most, value, help) {#name, type, least, most, value},
#include "limits.def"
#undef LIMIT
};

static const char *const scopes[SCOPE_COUNT] = {"user", "group", "session"};

const char *rules_name(enum limit_id id)
{
	return rows[id].name;
}

const char *rules_scope(enum limit_scope scope)
{
	return scopes[scope];
}

bool rules_is_bytes(enum limit_id id)
{
	return rows[id].type == BYTES;
}

bool rules_find_scope(enum limit_scope *scope, const char *text, size_t n)
{
	for (int i = 0; i < SCOPE_COUNT; i++)
		if (strlen(scopes[i]) == n && !memcmp(scopes[i], text, n)) {
			*scope = (enum limit_scope)i;
			return true;
		}
	return false;
}

void rules_text(char *buf, size_t n, enum limit_id id, uint64_t value)
{
	static const char units[] = "\0KMGT";
	int unit = 0;

	while (rows[id].type == BYTES && unit < 4 && value && value % 1024 == 0) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, n, "%llu%.1s", (unsigned long long)value, &units[unit]);
}

/* A number that the whole text is. */
static bool is_number(uint64_t *out, const char *text)
{
	return text_number(out, text, "") && *out < UINT32_MAX;
}

/* The system's number of a user or a group. */
static void look_up(struct rule *r)
{
	const struct passwd *user = NULL;
	const struct group *group = NULL;
	uint64_t id = 0;

	r->known = r->scope == SCOPE_SESSION || !strcmp(r->name, "*") || is_number(&id, r->name);
	r->id = (uint32_t)id;
	if (r->known)
		return;
	if (r->scope == SCOPE_USER && (user = getpwnam(r->name)))
		r->id = user->pw_uid;
	if (r->scope == SCOPE_GROUP && (group = getgrnam(r->name)))
		r->id = group->gr_gid;
	r->known = user || group;
}

enum status rules_get(struct rule **out, struct rules *l, enum limit_scope scope, const char *name,
		      struct err *err)
{
	struct rule **at = &l->first, *r = NULL;
	size_t n = strlen(name), rules = 0;

	for (; *at; at = &(*at)->next, rules++)
		if ((*at)->scope == scope && !strcmp((*at)->name, name)) {
			*out = *at;
			return OK;
		}
	if (!n || n >= sizeof r->name || strpbrk(name, "[]\n\r"))
		return err_set(err, E_INVALID, "%s \"%.60s\": wants a name of 1 to %zu characters",
			       scopes[scope], name, sizeof r->name - 1);
	if (rules >= RULES_MAX)
		return err_set(err, E_INVALID, "there are %zu rules of limits already", rules);
	r = xcalloc(1, sizeof *r);
	r->scope = scope;
	memcpy(r->name, name, n + 1);
	look_up(r);
	*at = *out = r;
	return OK;
}

enum status rules_set(struct rule *r, const char *name, const char *value, struct err *err)
{
	char least[32], most[32];
	uint64_t v = 0;
	int id = 0;

	while (id < LIMITS_COUNT && strcmp(rows[id].name, name) != 0)
		id++;
	if (id == LIMITS_COUNT)
		return err_set(err, E_INVALID, "no limit is called %.60s", name);
	if (!strcmp(value, "default")) {
		r->set &= ~(1u << id);
		return OK;
	}
	if (!text_number(&v, value, rows[id].type == BYTES ? "KMGT" : "") ||
	    ((v < rows[id].least || v > rows[id].most) && v != rows[id].value)) {
		rules_text(least, sizeof least, (enum limit_id)id, rows[id].least);
		rules_text(most, sizeof most, (enum limit_id)id, rows[id].most);
		return err_set(err, E_INVALID, "%s = %.40s: wants %s to %s%s, or default", name,
			       value, least, most, rows[id].value ? "" : ", 0 for none");
	}
	r->value[id] = v;
	r->set |= 1u << id;
	return OK;
}

void rules_sweep(struct rules *l)
{
	for (struct rule **at = &l->first, *r; (r = *at);) {
		if (r->set) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		free(r);
	}
}

void rules_clear(struct rules *l)
{
	for (struct rule *r = l->first; r; r = r->next)
		r->set = 0;
	rules_sweep(l);
}

static bool same_rule(const struct rule *a, const struct rule *b)
{
	if (a->scope != b->scope || strcmp(a->name, b->name) != 0 || a->set != b->set ||
	    a->known != b->known || a->id != b->id)
		return false;
	for (int i = 0; i < LIMITS_COUNT; i++)
		if (a->set >> i & 1 && a->value[i] != b->value[i])
			return false;
	return true;
}

bool rules_same(const struct rules *a, const struct rules *b)
{
	const struct rule *x = a->first, *y = b->first;

	while (x && y && same_rule(x, y)) {
		x = x->next;
		y = y->next;
	}
	return !x && !y;
}

enum status rules_set_words(struct rule *r, const char *words, struct err *err)
{
	char *text = xstrdup(words), *at = text, *pair;
	struct rule now = *r;
	enum status st = OK;

	while (!st && (pair = strsep(&at, " "))) {
		char *value = strchr(pair, '=');

		if (value)
			*value++ = 0;
		st = rules_set(&now, pair, value ? value : "", err);
	}
	if (!st)
		*r = now;
	free(text);
	return st;
}

void rules_words(char *buf, size_t n, const struct rule *r)
{
	struct textbuf t = {.buf = buf, .cap = n};

	buf[0] = 0;
	for (int i = 0; i < LIMITS_COUNT; i++) {
		char text[32];

		if (!(r->set >> i & 1))
			continue;
		rules_text(text, sizeof text, (enum limit_id)i, r->value[i]);
		textbuf_put(&t, "%s%s=%s", t.len ? " " : "", rows[i].name, text);
	}
}

void rules_print(const struct rules *l, FILE *out)
{
	for (const struct rule *r = l->first; r; r = r->next) {
		fprintf(out, "[%s %s]\n", scopes[r->scope], r->name);
		for (int i = 0; i < LIMITS_COUNT; i++) {
			char text[32];

			if (!(r->set >> i & 1))
				continue;
			rules_text(text, sizeof text, (enum limit_id)i, r->value[i]);
			fprintf(out, "%s = %s\n", rows[i].name, text);
		}
	}
}

/* ---- What they say ---- */

enum { NO_MATCH, MATCH_ALL, MATCH_GROUP, MATCH_NAME, MATCH_NUMBER };

static int match_session(const struct rule *r, const struct rules_who *who)
{
	uint64_t number = 0;

	if (text_number(&number, r->name, ""))
		return number == who->session ? MATCH_NUMBER : NO_MATCH;
	if (!strcmp(r->name, "*"))
		return MATCH_ALL;
	return !fnmatch(r->name, who->name, 0) || !fnmatch(r->name, who->program, 0) ? MATCH_NAME
										     : NO_MATCH;
}

static int match_user(const struct rule *r, const struct rules_who *who)
{
	if (!strcmp(r->name, "*"))
		return MATCH_ALL;
	if (!r->known)
		return NO_MATCH;
	if (r->scope == SCOPE_USER)
		return r->id == who->uid ? MATCH_NAME : NO_MATCH;
	for (uint32_t i = 0; i < who->ngid; i++)
		if (who->gid[i] == r->id)
			return MATCH_GROUP;
	return NO_MATCH;
}

/* The closest rule that has the limit: of a number before of a name, of a user before of a
 * group, of one before of all; of several the first.  False: none has. */
static bool ask(uint64_t *value, const struct rules *l, const struct rules_who *who, bool session,
		int id)
{
	int best = NO_MATCH;

	for (const struct rule *r = l->first; r; r = r->next) {
		int match = NO_MATCH;

		if (!(r->set >> id & 1) || (r->scope == SCOPE_SESSION) != session)
			continue;
		match = session ? match_session(r, who) : match_user(r, who);
		if (match > best) {
			best = match;
			*value = r->value[id];
		}
	}
	return best != NO_MATCH;
}

static void of(uint64_t value[LIMITS_COUNT], const struct rules *live, const struct rules *file,
	       const struct rules_who *who, bool session)
{
	for (int i = 0; i < LIMITS_COUNT; i++)
		if (!ask(&value[i], live, who, session, i) &&
		    !ask(&value[i], file, who, session, i))
			value[i] = rows[i].value;
}

void rules_of_user(uint64_t value[LIMITS_COUNT], const struct rules *live, const struct rules *file,
		   const struct rules_who *who)
{
	of(value, live, file, who, false);
}

void rules_of_session(uint64_t value[LIMITS_COUNT], const struct rules *live,
		      const struct rules *file, const struct rules_who *who)
{
	of(value, live, file, who, true);
}
