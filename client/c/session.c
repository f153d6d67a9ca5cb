/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/session.c - connect, flags, close, and what fork does to sessions.
 *
 * A session's memory lives until its last array and future are released, so that
 * a handle that outlives braze_close fails with an error and not with a crash.  A
 * session also outlives its connection: another one can be put in its place. */
#define _GNU_SOURCE /* strdupa */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "array.h"
#include "connect.h"
#include "lock.h"
#include "lost.h"
#include "near.h"
#include "op_table.h"
#include "region.h"
#include "spin.h"
#include "ticket.h"
#include "watch.h"
#include "who.h"
#include "wire.h"

#define CONNECT_TRIES 3 /* a daemon that ends when idle may close on us */

/* Every session of the process, for the fork handler: it gets no argument. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct braze_session *registry;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&registry_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&registry_lock);
}

static void init_sock(struct braze_session *s)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&s->sock, NULL);
	pthread_cond_init(&s->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* The child shares the connection and the arena with its parent: it may use
 * neither.  Locks may be held by threads that the child does not have. */
static void after_fork_child(void)
{
	for (struct braze_session *s = registry; s; s = s->link) {
		s->forked = true;
		atomic_store(&s->state, (uint32_t)E_FORKED);
		atomic_store(&s->lock, 0);
		init_sock(s);
		s->open = NULL;
		s->reading = false;
		s->child = 0;
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
	}
	pthread_mutex_init(&registry_lock, NULL);
}

static void install_fork_handlers(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void enter_registry(struct braze_session *s)
{
	pthread_once(&registry_once, install_fork_handlers);
	pthread_mutex_lock(&registry_lock);
	s->link = registry;
	registry = s;
	pthread_mutex_unlock(&registry_lock);
}

static void leave_registry(struct braze_session *s)
{
	pthread_mutex_lock(&registry_lock);
	struct braze_session **p = &registry;
	while (*p && *p != s)
		p = &(*p)->link;
	if (*p)
		*p = s->link;
	pthread_mutex_unlock(&registry_lock);
}

/* Result types of the common cases, so that recording one looks up a byte. */
static struct {
	uint8_t unary[OP_END][DTYPE_ROOM], binary[OP_END][DTYPE_ROOM], loop[OP_END][DTYPE_ROOM];
} types;
static pthread_once_t types_once = PTHREAD_ONCE_INIT;

static void fill_types(void)
{
	memset(types.unary, DTYPE_NONE, sizeof(types.unary));
	memset(types.binary, DTYPE_NONE, sizeof(types.binary));
	for (unsigned op = 0; op < OP_END; op++) {
		const struct op_row *row = op_row(op);
		if (!row || row->kind != KIND_EW || row->rule == RULE_HEAD ||
		    row->rule == RULE_INDEX || row->arity > 2)
			continue;
		/* Of bfloat16 the result is another type than the loop's. */
		for (unsigned d = 0; d < DT_BFLOAT16; d++) {
			struct op_arg arg[2] = {{(uint8_t)d, false}, {(uint8_t)d, false}};
			struct op_sig sig;
			if (op_infer(&sig, (enum op)op, arg, DTYPE_NONE, NULL))
				continue;
			types.loop[op][d] = sig.in[0];
			if (row->arity == 1)
				types.unary[op][d] = sig.out;
			else
				types.binary[op][d] = sig.out;
		}
	}
}

void session_prepare(void)
{
	pthread_once(&types_once, fill_types);
}

static void destroy(struct braze_session *s)
{
	leave_registry(s);
	if (s->fd >= 0)
		close(s->fd);
	region_forget(s);
	mapping_drop(s->map);
	for (size_t i = 0; i < s->nslabs; i++) {
		free(s->slabs[i].arrays);
		free(s->slabs[i].buffers);
	}
	free(s->slabs);
	free(s->socket);
	free(s->name);
	free(s->want);
	free(s->file);
	free(s->environment);
	free(s->free_ids);
	free(s->profile);
	watch_end(s);
	near_close(s);
	pthread_mutex_destroy(&s->sock);
	pthread_cond_destroy(&s->wake);
	free(s);
}

void session_unlock(struct braze_session *s)
{
	bool last = s->refs == 0;

	lock_give(s);
	if (unlikely(last))
		destroy(s);
}

static const char *wanted_device(void)
{
	const char *name = getenv("BRAZE_DEVICE");

	return name ? name : "";
}

/* What CUDA leaves this program, for the daemon; of a list that is too long, its beginning. */
static void put_visible(char *to, size_t size)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	*to = 0;
	if (list && (size_t)snprintf(to, size, "=%s", list) >= size)
		*(strrchr(to, ',') ? strrchr(to, ',') : to + 1) = 0;
}

static enum status shake_hands(struct braze_session *s, const struct braze_options *opt,
			       struct err *err)
{
	Braze__Wire__Hello hello = BRAZE__WIRE__HELLO__INIT;
	char visible[LIMIT_VISIBLE];

	hello.major = BRAZE_PROTO_MAJOR;
	hello.minor = BRAZE_PROTO_MINOR;
	hello.op_table = op_table_hash();
	/* A daemon from before clients told it takes no such field. */
	if (op_table_length() > OP_TABLE_FIRST)
		hello.ops = op_table_length();
	hello.pid = (uint32_t)getpid();
	hello.name = (char *)who_name(opt->name);
	hello.device = (char *)(opt->device ? opt->device : wanted_device());
	hello.flags = opt->flags & (BRAZE_EAGER | BRAZE_UNFUSED);
	put_visible(visible, sizeof(visible));
	hello.visible = visible;
	snprintf(s->asked, sizeof(s->asked), "%s", hello.device);
	enum status st = wire_hello(s, &hello, err);
	return st ? st : who_tell(s, err);
}

static enum status find_precision(uint8_t *out, const char *name, struct err *err)
{
	bool tf32 = !strcmp(name, "tf32");

	if (!tf32 && strcmp(name, "full"))
		return err_set(err, E_INVALID,
			       "no precision \"%.32s\": products are \"full\" or \"tf32\"", name);
	*out = tf32 ? PRECISION_TF32 : PRECISION_FULL;
	return OK;
}

/* What the process asks for. */
static enum status first_precision(struct braze_session *s, struct err *err)
{
	const char *name = getenv("BRAZE_PRECISION");

	s->first_precision = PRECISION_FULL;
	enum status st = name && *name ? find_precision(&s->first_precision, name, err) : OK;
	s->precision = s->first_precision;
	return st ? err_context(err, "BRAZE_PRECISION") : OK;
}

static bool keep(char **copy, const char *text)
{
	*copy = text ? strdup(text) : NULL;
	return *copy || !text;
}

/* What it takes to connect again. */
static enum status keep_options(struct braze_session *s, const struct braze_options *opt,
				struct err *err)
{
	if (!keep(&s->socket, opt->socket) || !keep(&s->name, opt->name) ||
	    !keep(&s->want, opt->device) || !keep(&s->file, opt->file) ||
	    !keep(&s->environment, opt->environment))
		return err_set(err, E_NOMEM, "no memory for a session");
	s->open_flags = opt->flags;
	s->reconnect = opt->flags & BRAZE_RECONNECT;
	return OK;
}

static enum status try_connect(struct braze_session **out, const struct braze_options *opt,
			       struct err *err)
{
	struct braze_session *s = calloc(1, sizeof(*s));
	static _Atomic uint64_t connections;

	if (!s)
		return err_set(err, E_NOMEM, "no memory for a session");
	s->connection = atomic_fetch_add(&connections, 1) + 1;
	s->fd = -1;
	spin_time(&s->spin_ns, getenv("BRAZE_SPIN_US"));
	s->refs = 1;
	s->next_id = 1;
	s->profile_at = UINT64_MAX;
	s->flags = opt->flags & (BRAZE_EAGER | BRAZE_UNFUSED);
	s->hello_flags = s->flags;
	init_sock(s);
	session_prepare();
	memcpy(s->unary, types.unary, sizeof(types.unary));
	memcpy(s->binary, types.binary, sizeof(types.binary));
	memcpy(s->loop, types.loop, sizeof(types.loop));
	enter_registry(s);
	enum status st = keep_options(s, opt, err);
	if (!st)
		st = first_precision(s, err);
	if (!st)
		st = connect_open(&s->fd, &s->child, opt->socket, opt->flags, err);
	if (!st)
		st = shake_hands(s, opt, err);
	if (st) {
		pid_t child = s->child;
		destroy(s);
		connect_reap(child);
		return st;
	}
	watch_set_careful(s);
	near_open(s);
	*out = s;
	return OK;
}

static enum status connect_some(struct braze_session **out, const struct braze_options *opt,
				struct err *err)
{
	enum status st = OK;

	for (int i = 0; i < CONNECT_TRIES; i++) {
		st = try_connect(out, opt, err);
		if (st != E_CONNECT && st != E_DAEMON_GONE)
			return st;
	}
	return err_set(err, E_CONNECT, "%s", err->text[0] ? strdupa(err->text) : "no daemon");
}

int braze_connect(braze_session **out, const struct braze_options *opt, braze_error *error)
{
	struct braze_options o = {0};
	struct err e = {0}, *err = error ? err_of(error) : &e;

	/* A program built with an older header passes a shorter struct. */
	if (opt)
		memcpy(&o, opt, opt->size < sizeof(o) ? opt->size : sizeof(o));
	return (int)connect_some(out, &o, err);
}

/* End the connection, if there is one; its private daemon is the caller's to reap. */
static pid_t hang_up(struct braze_session *s)
{
	struct err e = {.code = E_DAEMON_GONE, .text = "the session was closed"};
	pid_t child = s->child;

	/* Arrays may have been asked for by others, so let no op get lost. */
	if (!atomic_load(&s->state) && wire_flush(s, NULL))
		s->nops = 0;
	wire_die(s, &e);
	wire_hang_up(s);
	s->child = 0;
	return child;
}

void braze_close(braze_session *s)
{
	pid_t child = 0;

	if (!s)
		return;
	lock_take(s);
	if (!s->forked && !s->closed)
		child = hang_up(s);
	if (!s->forked)
		watch_close(s);
	s->closed = true;
	s->refs--;
	session_unlock(s);
	connect_reap(child);
}

void braze_disconnect(braze_session *s)
{
	pid_t child = 0;

	lock_take(s);
	if (!s->forked && !s->closed) {
		child = hang_up(s);
		if (!s->marked)
			lost_mark(s);
		/* From here on who needs the arena holds it himself. */
		region_forget(s);
		mapping_drop(s->map);
		s->map = NULL;
		s->arena = NULL;
	}
	void *token = lock_pause(s);
	connect_reap(child);
	lock_resume(s, token);
	lock_give(s);
}

/* ---- Another connection for the same session ---- */

static enum status find_device(uint32_t *out, const struct braze_session *s, const char *name,
			       struct err *err);

/* Put the connection of `fresh` into s, whose own is over. */
static enum status graft(struct braze_session *s, struct braze_session *fresh, struct err *err)
{
	uint32_t device = s->device;
	enum status st = OK;

	if (device >= 2)
		st = find_device(&device, fresh, s->device_name[device - 2], err);
	if (st)
		return st;
	if (!s->marked)
		lost_mark(s);
	wire_graft(s, fresh);
	s->nops = s->nin = s->nimm = 0;
	s->seq = fresh->seq;
	s->lease = fresh->lease;
	memset(s->spare, 0, sizeof(s->spare));
	s->counters.bytes_leased += fresh->counters.bytes_leased;
	s->device = device;
	memcpy(s->asked, fresh->asked, sizeof(s->asked)); /* the environment may have changed */
	s->ndevice = fresh->ndevice;
	s->minor = fresh->minor;
	memset(s->offers, 0, sizeof(s->offers));
	s->rates_ms = 0;
	s->rates.astray = 0;
	s->connection = fresh->connection;
	s->ngrid = 0;
	memcpy(s->device_name, fresh->device_name, sizeof(s->device_name));
	s->hello_flags = fresh->hello_flags;
	s->loops = fresh->loops;
	watch_set_careful(s);
	near_open(s);
	s->child = fresh->child;
	fresh->child = 0;
	s->marked = false;
	return OK;
}

static enum status reconnect(struct braze_session *s, struct err *err)
{
	struct braze_options o = {.size = sizeof(o),
				  .socket = s->socket,
				  .name = s->name,
				  .device = s->want,
				  .file = s->file,
				  .environment = s->environment,
				  .flags = s->flags};
	struct braze_session *fresh = NULL;
	struct err e = {0};

	if (s->forked || s->closed)
		return wire_dead(s, err);
	o.flags |= s->open_flags & ~(BRAZE_EAGER | BRAZE_UNFUSED);
	pid_t child = hang_up(s);
	s->refs++; /* its arrays may be released meanwhile */
	void *token = lock_pause(s);
	connect_reap(child);
	enum status st = connect_some(&fresh, &o, &e);
	lock_resume(s, token);
	s->refs--;
	if (st)
		return err_set(err, st, "%s", e.text);
	/* Another thread may have been faster. */
	if (!s->closed && !s->forked && atomic_load(&s->state))
		st = graft(s, fresh, err);
	else if (s->closed || s->forked)
		st = wire_dead(s, err);
	child = fresh->child;
	destroy(fresh);
	connect_reap(child);
	return st;
}

enum status session_revive(struct braze_session *s, struct err *err)
{
	if (!s->reconnect)
		return wire_dead(s, err);
	return reconnect(s, err);
}

int braze_reconnect(braze_session *s, braze_error *error)
{
	lock_take(s);
	if (!atomic_load(&s->state))
		wire_drain(s);
	int st = atomic_load(&s->state) ? (int)reconnect(s, err_of(error)) : 0;
	session_unlock(s);
	return st;
}

int braze_is_connected(const braze_session *s)
{
	return !atomic_load(&s->state);
}

int braze_session_error(braze_session *s, braze_error *error)
{
	struct err *err = err_of(error);

	lock_take(s);
	if (!atomic_load(&s->state))
		wire_drain(s);
	int r = atomic_load(&s->state) ? (int)wire_dead(s, err) : 0;
	lock_give(s);
	return r;
}

unsigned braze_set_flags(braze_session *s, unsigned flags)
{
	lock_take(s);
	unsigned old = s->flags;
	s->flags = flags & (BRAZE_EAGER | BRAZE_UNFUSED);
	watch_set_careful(s);
	lock_give(s);
	return old;
}

static enum status find_device(uint32_t *out, const struct braze_session *s, const char *name,
			       struct err *err)
{
	*out = name != NULL;
	if (!name || !strcmp(name, "auto"))
		return OK;
	for (uint32_t i = 0; i < s->ndevice; i++)
		if (!strcmp(name, s->device_name[i])) {
			*out = 2 + i;
			return OK;
		}
	if (getenv("CUDA_VISIBLE_DEVICES") && !strncmp(name, "cuda", 4))
		return err_set(err, E_DEVICE,
			       "the daemon has no device \"%.32s\" that CUDA_VISIBLE_DEVICES "
			       "(\"%.200s\") leaves to this program",
			       name, getenv("CUDA_VISIBLE_DEVICES"));
	return err_set(err, E_DEVICE,
		       "the daemon has no device \"%.32s\": its device setting names those it has",
		       name);
}

int braze_set_device(braze_session *s, const char *name, braze_error *error)
{
	struct err *err = err_of(error);
	uint32_t device;

	lock_take(s);
	enum status st = atomic_load(&s->state) ? wire_dead(s, err) : OK;
	if (!st)
		st = find_device(&device, s, name, err);
	if (!st && device != s->device) {
		st = wire_flush(s, err); /* what is recorded was for the old one */
		s->device = device;
	}
	near_switch(s);
	lock_give(s);
	return (int)st;
}

int braze_set_precision(braze_session *s, const char *name, braze_error *error)
{
	lock_take(s);
	uint8_t precision = s->first_precision;
	enum status st = name ? find_precision(&precision, name, err_of(error)) : OK;
	if (!st)
		s->precision = precision;
	lock_give(s);
	return (int)st;
}

const char *braze_device_name(braze_session *s, int i)
{
	for (uint32_t k = 0; i >= 0 && k < s->ndevice; k++)
		if (*s->device_name[k] && i-- == 0)
			return s->device_name[k];
	return NULL;
}

int braze_flush(braze_session *s, braze_error *error)
{
	lock_take(s);
	int r = atomic_load(&s->state) ? (int)wire_dead(s, err_of(error))
				       : (int)wire_flush(s, err_of(error));
	lock_give(s);
	return r;
}

void braze_set_owner(braze_session *s, const struct braze_owner *owner)
{
	s->owned = owner != NULL;
	s->owner = owner ? *owner : (struct braze_owner){0};
}

void braze_get_counters(braze_session *s, struct braze_counters *out)
{
	lock_take(s);
	*out = s->counters;
	out->ops += s->nops;
	lock_give(s);
}
