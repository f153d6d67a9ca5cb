/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule of limits counts for whom, and what is no rule. */
#include <criterion/criterion.h>
#include <string.h>

#include "rules.h"

static void rule(struct rules *l, enum limit_scope scope, const char *name, const char *limit,
		 const char *value)
{
	struct rule *r = NULL;
	struct err err = {0};

	cr_assert_eq(rules_get(&r, l, scope, name, &err), OK, "%s", err.text);
	cr_assert_eq(rules_set(r, limit, value, &err), OK, "%s", err.text);
}

static const uint32_t groups[] = {100, 4711};
static const struct rules_who who = {.session = 7,
				     .name = "train-3",
				     .program = "python3.11",
				     .uid = 1000,
				     .gid = groups,
				     .ngid = 2};

static uint64_t user_has(const struct rules *live, const struct rules *file, enum limit_id id)
{
	uint64_t value[LIMITS_COUNT];

	rules_of_user(value, live, file, &who);
	return value[id];
}

static uint64_t session_has(const struct rules *file, enum limit_id id)
{
	uint64_t value[LIMITS_COUNT];

	rules_of_session(value, &(struct rules){0}, file, &who);
	return value[id];
}

Test(rules, the_closest_counts_limit_by_limit)
{
	struct rules file = {0}, live = {0};

	cr_assert_eq(user_has(&live, &file, LIMITS_weight), 1);
	cr_assert_eq(user_has(&live, &file, LIMITS_bytes), 0);
	rule(&file, SCOPE_USER, "*", "weight", "2");
	rule(&file, SCOPE_USER, "*", "queue", "5");
	cr_assert_eq(user_has(&live, &file, LIMITS_weight), 2);
	rule(&file, SCOPE_GROUP, "4711", "weight", "3");
	rule(&file, SCOPE_GROUP, "100", "weight", "4");
	rule(&file, SCOPE_GROUP, "101", "weight", "9");
	cr_assert_eq(user_has(&live, &file, LIMITS_weight), 3, "the first of two groups");
	rule(&file, SCOPE_USER, "1001", "weight", "8");
	rule(&file, SCOPE_USER, "1000", "weight", "5");
	cr_assert_eq(user_has(&live, &file, LIMITS_weight), 5);
	cr_assert_eq(user_has(&live, &file, LIMITS_queue), 5, "which only * has");
	rule(&live, SCOPE_USER, "*", "weight", "6");
	cr_assert_eq(user_has(&live, &file, LIMITS_weight), 6, "what operators say goes first");
	rule(&live, SCOPE_USER, "*", "weight", "default");
	cr_assert_eq(user_has(&live, &file, LIMITS_weight), 5);
	cr_assert_eq(session_has(&file, LIMITS_weight), 1, "a user's is no session's");
	rules_clear(&file);
	rules_clear(&live);
	cr_assert(!file.first && !live.first);
}

Test(rules, sessions_go_by_number_name_and_program)
{
	struct rules file = {0};

	rule(&file, SCOPE_SESSION, "*", "queue", "1");
	cr_assert_eq(session_has(&file, LIMITS_queue), 1);
	rule(&file, SCOPE_SESSION, "train", "queue", "2");
	cr_assert_eq(session_has(&file, LIMITS_queue), 1, "not the whole name");
	rule(&file, SCOPE_SESSION, "python*", "queue", "3");
	cr_assert_eq(session_has(&file, LIMITS_queue), 3);
	rule(&file, SCOPE_SESSION, "train-?", "queue", "4");
	cr_assert_eq(session_has(&file, LIMITS_queue), 3, "the first of two");
	rule(&file, SCOPE_SESSION, "8", "queue", "5");
	rule(&file, SCOPE_SESSION, "7", "queue", "6");
	cr_assert_eq(session_has(&file, LIMITS_queue), 6);
	rules_clear(&file);
}

Test(rules, what_is_none_is_refused)
{
	static const char *const pairs[][2] = {{"weight", "0"},
					       {"weight", "1001"},
					       {"weight", "-1"},
					       {"weight", ""},
					       {"weight", "1.5"},
					       {"queue", "many"},
					       {"bytes", "4095"},
					       {"bytes", "4X"},
					       {"bytes", "99999999999999999999"},
					       {"compile_seconds", "1h"},
					       {"pending", "100"},
					       {"speed", "3"},
					       {"", "3"}};
	char longest[LIMIT_SESSION_NAME + 1];
	const char *const names[] = {"", "a]b", "[", "a\nb", longest};
	struct rules l = {0};
	struct rule *r = NULL;
	struct err err = {0};

	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_assert_eq(rules_get(&r, &l, SCOPE_USER, names[i], &err), E_INVALID, "%s",
			     names[i]);
	cr_assert_eq(rules_get(&r, &l, SCOPE_USER, "1000", &err), OK);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		cr_assert_eq(rules_set(r, pairs[i][0], pairs[i][1], &err), E_INVALID, "%s = %s",
			     pairs[i][0], pairs[i][1]);
	cr_assert_eq(r->set, 0);
	rules_sweep(&l);
	cr_assert_null(l.first);
}

Test(rules, names_that_the_system_does_not_know_bound_nobody)
{
	struct rules file = {0};

	rule(&file, SCOPE_USER, "nobody-of-that-name", "weight", "9");
	rule(&file, SCOPE_GROUP, "nor-such-a-group", "weight", "9");
	cr_assert(!file.first->known && !file.first->next->known);
	cr_assert_eq(user_has(&(struct rules){0}, &file, LIMITS_weight), 1);
	rule(&file, SCOPE_USER, "root", "weight", "7");
	cr_assert(file.first->next->next->known && file.first->next->next->id == 0);
	rules_clear(&file);
}
