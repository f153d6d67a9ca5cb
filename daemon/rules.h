/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - who may have how much: the rules, from brazed.conf and from brazectl.
 *
 * A section of brazed.conf, [user NAME], [group NAME] or [session NAME], is a rule; its lines are
 * rows of limits.def.  A user's rule bounds all sessions of that user together, a group's is
 * the rule of each member that has none, a session's bounds each session of that name,
 * program or number.  Names of users and groups are looked up when a rule is read.
 * Loop thread only, but that main fills the first ones before. */
#ifndef BRAZE_RULES_H
#define BRAZE_RULES_H

#include <stdio.h>
#include "ops.h"

enum limit_id {
#define LIMIT(name, type, least, most, value, help) LIMITS_##name,
#include "limits.def"
#undef LIMIT
	LIMITS_COUNT
};

enum limit_scope { SCOPE_USER, SCOPE_GROUP, SCOPE_SESSION, SCOPE_COUNT };

struct rule {
	struct rule *next;
	enum limit_scope scope;
	char name[LIMIT_SESSION_NAME]; /* "*": of all */
	bool known;		       /* the system has such a user or group; of sessions true */
	uint32_t id;		       /* uid or gid */
	uint32_t set;		       /* bits: of these limits */
	uint64_t value[LIMITS_COUNT];
};

/* Rules in the order in which they were made. */
struct rules {
	struct rule *first;
};

/* Of whom rules are asked. */
struct rules_who {
	uint64_t session;
	const char *name, *program;
	uint32_t uid;
	const uint32_t *gid;
	uint32_t ngid;
};

const char *rules_name(enum limit_id id);
const char *rules_scope(enum limit_scope scope);
bool rules_is_bytes(enum limit_id id);
/* "user", "group" or "session". */
bool rules_find_scope(enum limit_scope *scope, const char *text, size_t n);
/* A value as it is written: "3", "4G". */
void rules_text(char *buf, size_t n, enum limit_id id, uint64_t value);

/* The rule of that name, made where there is none; E_INVALID: it can be none. */
enum status rules_get(struct rule **out, struct rules *l, enum limit_scope scope, const char *name,
		      struct err *err) MUST_USE;
/* "default" takes the limit out of the rule. */
enum status rules_set(struct rule *r, const char *name, const char *value,
		      struct err *err) MUST_USE;
/* All of "weight=3 bytes=4G", or nothing. */
enum status rules_set_words(struct rule *r, const char *words, struct err *err) MUST_USE;
/* The opposite. */
void rules_words(char *buf, size_t n, const struct rule *r);
/* Rules that bound nothing go. */
void rules_sweep(struct rules *l);
void rules_clear(struct rules *l);
/* The same rules with the same values? */
bool rules_same(const struct rules *a, const struct rules *b);
/* As sections of brazed.conf. */
void rules_print(const struct rules *l, FILE *out);

/* What bounds a user, or a session by itself: of each limit what `live` says, else `file`, else
 * the default. */
void rules_of_user(uint64_t value[LIMITS_COUNT], const struct rules *live, const struct rules *file,
		   const struct rules_who *who);
void rules_of_session(uint64_t value[LIMITS_COUNT], const struct rules *live,
		      const struct rules *file, const struct rules_who *who);

#endif
