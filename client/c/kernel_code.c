/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_code.c - machine code of a kernel's text, from the daemon's cache or compiler.
 *
 * In:  a kernel, a session.  Out: code that the kernel's runs use from then on.  It is run in this
 * process, so it is taken only of a daemon of this user or of root. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel_place.h"
#include "lang/lang_native.h"
#include "lock.h"
#include "present.h"
#include "session.h"
#include "ticket.h"
#include "wire.h"

#define TRIES 3 /* of daemons that end meanwhile */

int kernel_code_open(struct braze_kernel *k, const char *text, size_t length)
{
	k->text = malloc(length + 1);
	if (!k->text)
		return -1;
	memcpy(k->text, text, length);
	k->text[length] = 0;
	k->length = length;
	return 0;
}

static void forget(struct braze_kernel *k)
{
	if (k->asked) {
		struct braze_session *s = k->asked->session;

		lock_take(s);
		ticket_destroy(k->asked);
		k->asked = NULL;
		session_unlock(s);
	}
}

void kernel_code_close(struct braze_kernel *k)
{
	forget(k);
	if (k->object)
		dlclose(k->object);
	free(k->text);
}

static bool is_interpreted(void)
{
	const char *wanted = getenv("BRAZE_KERNEL_CODE");

	return wanted && !strcmp(wanted, "0");
}

void kernel_code_quicken(struct braze_kernel *k)
{
	k->quickened = !is_interpreted() && lang_quicken(k->linked);
}

int braze_kernel_wants(const braze_kernel *k)
{
	if (lang_attached(k->linked) || atomic_load_explicit(&k->hopeless, memory_order_relaxed))
		return 0;
	if (!k->quickened)
		return braze_kernel_longest(k) >= KERNEL_WAIT_US ? 2 : 0;
	return braze_kernel_longest(k) >= KERNEL_WORTH_US ||
	       atomic_load_explicit(&k->spent_us, memory_order_relaxed) >= KERNEL_SPENT_US;
}

void kernel_code_ran(struct braze_kernel *k, int64_t us)
{
	atomic_fetch_add_explicit(&k->spent_us, us, memory_order_relaxed);
	kernel_place_ran(k, us);
	if (us > atomic_load_explicit(&k->longest_us, memory_order_relaxed))
		atomic_store_explicit(&k->longest_us, us, memory_order_relaxed);
}

int64_t braze_kernel_longest(const braze_kernel *k)
{
	return atomic_load_explicit(&k->longest_us, memory_order_relaxed);
}

int braze_kernel_compiled(const braze_kernel *k)
{
	return lang_attached(k->linked);
}

/* ---- Loading ---- */

/* dlopen knows objects by their path, and descriptors' numbers come again: each load spells its
 * path in a way of its own. */
static void object_path(char *path, size_t n, int fd)
{
	static _Atomic uint32_t loads;
	uint32_t number = atomic_fetch_add(&loads, 1);
	int at = snprintf(path, n, "/proc/self/fd");

	for (unsigned bit = 0; bit < 32; bit++)
		at += snprintf(path + at, n - (size_t)at, number >> bit & 1 ? "/." : "/");
	snprintf(path + at, n - (size_t)at, "/%d", fd);
}

void *kernel_code_object(int fd, struct err *err)
{
	char path[160];
	void *object;

	object_path(path, sizeof path, fd);
	/* Objects name no library: what they call of this one comes from the process. */
	dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object)
		err_set(err, E_COMPILE, "the kernel's code does not load: %.160s", dlerror());
	return object;
}

/* Are its vectors, if it has any, as wide as those of this machine's loops? */
static bool is_as_wide(void *object)
{
	static const uint32_t bytes[ISA_END] = {16, 32, 64};
	const uint32_t *width = dlsym(object, "bz_width");

	return !width || (isa_best() != ISA_NONE && *width == bytes[isa_best()]);
}

/* The object is the kernel's from now on. */
static enum status attach(struct braze_kernel *k, void *object, struct err *err)
{
	lang_code_fn *unit = (lang_code_fn *)dlsym(object, "bz_unit");
	lang_code_fn *any = (lang_code_fn *)dlsym(object, "bz_any");
	const uint64_t *mark = dlsym(object, "bz_mark");

	k->object = object;
	if (!unit || !any)
		return err_set(err, E_COMPILE, "the kernel's code does not load: %.160s",
			       dlerror());
	if (!mark || *mark != lang_mark(k->program))
		return err_set(err, E_UNSUPPORTED,
			       "the daemon is of another version: its code is of other steps");
	if (!is_as_wide(object))
		return err_set(err, E_UNSUPPORTED,
			       "the daemon's code is for other processors than this one");
	present_object(mark);
	lang_attach(k->linked, unit, any);
	return OK;
}

/* ---- Asking ---- */

/* May its daemon's code be run here? */
static bool is_trusted(struct braze_session *s)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t n = sizeof peer;
	bool fine = false;

	pthread_mutex_lock(&s->sock);
	fine = s->fd >= 0 && !getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	pthread_mutex_unlock(&s->sock);
	return fine && (peer.uid == geteuid() || peer.uid == 0);
}

static enum status may_ask(struct braze_session *s, const struct braze_kernel *k, struct err *err)
{
	if (is_interpreted())
		return err_set(err, E_UNSUPPORTED, "kernels are interpreted: BRAZE_KERNEL_CODE=0");
	if (s->minor < MINOR_CODE)
		return err_set(err, E_UNSUPPORTED, "the daemon is too old to compile kernels");
	if (k->length >= LIMIT_COMPILE_TEXT)
		return err_set(err, E_LIMIT, "a text of %zu bytes is too long to be compiled",
			       k->length);
	if (!is_trusted(s))
		return err_set(err, E_UNSUPPORTED,
			       "the daemon is another user's: its code is not run here");
	return OK;
}

static enum status ask(struct braze_kernel *k, struct braze_session *s, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Compile c = BRAZE__WIRE__COMPILE__INIT;
	enum status st = may_ask(s, k, err);

	if (st)
		return st;
	/* What is recorded has its own packet: the text may need nearly all of one. */
	st = wire_flush(s, err);
	if (st)
		return st;
	k->asked = ticket_create(s, TICKET_COMPILE, 0, err);
	if (!k->asked)
		return E_NOMEM;
	ticket_open(k->asked, 1);
	c.ticket = k->asked->first;
	c.text = k->text;
	r.compile = &c;
	return wire_send(s, &r, err);
}

/* Recorder lock held. */
static int try(struct braze_kernel *k, struct braze_session *s, bool wait, braze_check_fn *check,
	       void *data, struct err *err)
{
	int rc = k->never.code ? (int)err_set(err, k->never.code, "%s", k->never.text) : 0;

	if (!rc && !k->asked)
		rc = (int)ask(k, s, err);
	if (!rc)
		rc = wire_wait(k->asked, wait ? -1 : 0, check, data, err);
	if (!rc) {
		rc = (int)attach(k, k->asked->object, err);
		k->asked->object = NULL;
	}
	if (rc == E_TIMEOUT || rc == BRAZE_E_INTERRUPTED)
		return rc;
	if (rc && (rc != E_DAEMON_GONE || ++k->tries == TRIES) && !k->never.code)
		k->never = *err;
	atomic_store_explicit(&k->hopeless, k->never.code != OK, memory_order_relaxed);
	ticket_destroy(k->asked);
	k->asked = NULL;
	return rc;
}

int braze_kernel_code(braze_kernel *k, braze_session *session, int wait, braze_check_fn *check,
		      void *data, braze_error *error)
{
	struct err own = {0}, *err = error ? err_of(error) : &own;
	struct braze_session *s = session;
	int rc = 0;

	if (lang_attached(k->linked))
		return 0;
	if (atomic_exchange_explicit(&k->busy, 1, memory_order_acquire))
		return (int)err_set(err, E_TIMEOUT, "another thread asks for the kernel's code");
	if (k->asked)
		s = k->asked->session;
	lock_take(s);
	rc = s->forked ? (int)wire_dead(s, err) : try(k, s, wait, check, data, err);
	session_unlock(s);
	atomic_store_explicit(&k->busy, 0, memory_order_release);
	return rc;
}
