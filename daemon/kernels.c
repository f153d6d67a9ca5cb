/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - kernels in braze's language, compiled for clients that run them themselves.
 *
 * In:  a text, checked here as any other of a client's.  Out: an answer with the object, or why
 * there is none; at once if the cache has it, else when `kernels_ready` is called.  Who runs it and
 * on what is the client's own affair: the daemon never loads it. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "future/reply.h"
#include "lang/lang.h"

/* One wait for one kernel. */
struct asked {
	struct asked *next;
	struct session *session;
	uint64_t ticket;
	struct kernel *kernel; /* counted as used */
};

static enum status check(const char *text, struct err *err)
{
	struct lang_program *p = NULL;
	enum status st = lang_program_of_text(&p, text, strlen(text), err);

	lang_free(p);
	return st;
}

/* Of a kernel that is not being compiled. */
static void answer(const struct session *s, uint64_t ticket, const struct kernel *k)
{
	struct err err;

	if (k->state == KERNEL_READY) {
		reply_compiled(s->conn, ticket, k->id, k->code_fd);
		return;
	}
	if (k->state == KERNEL_FAILED)
		err_set(&err, E_COMPILE, "kernel %u: %.200s", k->id, k->error);
	else
		err_set(&err, E_UNSUPPORTED, "this daemon compiles nothing (tier 0)");
	reply_failure(s->conn, ticket, &err);
}

unsigned kernels_asked(const struct session *s)
{
	unsigned n = 0;

	for (const struct asked *a = s->d->asked; a; a = a->next)
		n += a->session == s;
	return n;
}

void kernels_compile(struct session *s, uint64_t ticket, const char *text)
{
	struct cache *cache = s->d->cache;
	struct asked *a = NULL;
	struct kernel *k = NULL;
	struct err err = {0};
	enum status st = OK;

	if (strlen(text) >= LIMIT_COMPILE_TEXT)
		st = err_set(&err, E_LIMIT, "a text of %zu bytes is too long to be compiled",
			     strlen(text));
	if (!st)
		st = check(text, &err);
	if (!st && kernels_asked(s) >= LIMIT_COMPILES)
		st = err_set(&err, E_LIMIT, "%d kernels are being compiled for this client",
			     LIMIT_COMPILES);
	if (!st)
		st = account_check(s, LIMITS_queue, 1, &err);
	if (st) {
		reply_failure(s->conn, ticket, &err);
		return;
	}
	k = cache_get_text(cache, text, s->id);
	account_pay(s, k);
	if (k->state != KERNEL_READY && account_check_compile(s, &err)) {
		reply_failure(s->conn, ticket, &err);
		cache_unref(cache, k);
		return;
	}
	if (cache_want(cache, k) != KERNEL_COMPILING) {
		answer(s, ticket, k);
		cache_unref(cache, k);
		return;
	}
	a = xcalloc(1, sizeof *a);
	*a = (struct asked){s->d->asked, s, ticket, k};
	s->d->asked = a;
}

void kernels_ready(struct brazed *d, const struct kernel *k)
{
	struct asked **at = &d->asked, *a = NULL;

	while ((a = *at)) {
		if (a->kernel != k) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		answer(a->session, a->ticket, k);
		cache_unref(d->cache, a->kernel);
		free(a);
	}
}

void kernels_each(const struct session *s,
		  void (*fn)(void *data, uint64_t ticket, const char *text), void *data)
{
	for (const struct asked *a = s->d->asked; a; a = a->next)
		if (a->session == s)
			fn(data, a->ticket, a->kernel->text);
}

void kernels_forget(struct session *s, const struct err *why)
{
	struct asked **at = &s->d->asked, *a = NULL;

	while ((a = *at)) {
		if (a->session != s) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (why)
			reply_failure(s->conn, a->ticket, why);
		cache_unref(s->d->cache, a->kernel);
		free(a);
	}
}
