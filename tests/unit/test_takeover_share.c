/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and names that sessions share, written and read again; and everything else. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uv.h>

#include "brazed.h"
#include "handover/handover.h"
#include "takeover.h"

#define UID    1000
#define BYTES  4800u /* of each array: 600 numbers, on two pages */
#define SHARES 3

static uv_loop_t loop;
static struct brazed there, here;
static struct session wrote, reads; /* the same one in either */
static struct err err;
static uint8_t *bytes;
static size_t nbytes;
static int fd[SHARES];
static size_t nfd;

static void begin(struct brazed *d, struct session *s)
{
	*d = (struct brazed){.loop = &loop, .sessions = s};
	publish_start(d);
	*s = (struct session){.d = d, .id = 3, .uid = UID};
	cr_assert_eq(arena_create(&s->arena, &loop, 1 << 24, &err), OK);
	trace_init(&s->trace, s->arena, 0);
	s->trace.shares = &d->shares;
	s->trace.uid = UID;
}

/* The session ends; nothing may be left of it, or of what was read in vain. */
static void end(struct brazed *d, struct session *s)
{
	publish_leave(s);
	cr_assert_eq(d->shares.count, 0);
	cr_assert_eq(d->shares.bytes, 0);
	publish_finish(d);
	trace_finish(&s->trace);
	arena_destroy(s->arena);
	uv_run(&loop, UV_RUN_DEFAULT);
}

static struct share *take(void)
{
	struct share *h = NULL;

	cr_assert_eq(share_take(&h, &wrote.trace, BYTES, 10, &err), OK, "%s", err.text);
	return h;
}

static void name(const char *label, struct share *h, enum access access)
{
	const struct shape shape = {.ndim = 1, .dim = {h ? BYTES / 8 : 0}};
	struct publication p = {.share = h,
				.uid = UID,
				.access = access,
				.number = 7,
				.bytes = h ? BYTES : 0,
				.version = 5,
				.opened = 6,
				.key = "0123456789abcde"};

	view_init(&p.view, DT_FLOAT64, &shape);
	snprintf(p.label, sizeof p.label, "%s", label);
	cr_assert(publish_restore(&there, &p));
	publish_hold(&wrote, label);
}

/* A name of an array and one of nothing, memory that is no one's now, and a session's own. */
static void setup(void)
{
	struct handover_pile pile = {0};
	struct takeover_fds keep = {0};
	struct share *published, *own, *spare;
	Braze__Handover__Shared *m;

	uv_loop_init(&loop);
	begin(&there, &wrote);
	published = take();
	own = take();
	spare = take();
	cr_assert_eq(share_fix(published, &err), OK, "%s", err.text);
	name("x", published, ACCESS_KEY);
	name("none", NULL, ACCESS_GROUP);
	share_unref(&there.shares, published); /* its name has it */
	share_unref(&there.shares, spare);
	there.published.stats.opened = 9;
	m = takeover_put_shared(&pile, &there, &keep);
	cr_assert_eq(keep.n, SHARES);
	free(keep.fd);
	nbytes = protobuf_c_message_get_packed_size(&m->base);
	bytes = malloc(nbytes);
	protobuf_c_message_pack(&m->base, bytes);
	handover_pile_free(&pile);
	share_unref(&there.shares, own); /* until the end it is spare, too */
}

static void teardown(void)
{
	end(&there, &wrote);
	cr_assert_eq(uv_loop_close(&loop), 0);
	free(bytes);
}

TestSuite(takeover_share, .init = setup, .fini = teardown);

/* The message with descriptors of its own; NULL: it does not decode. */
static Braze__Handover__Shared *unpack(void)
{
	Braze__Handover__Shared *m = braze__handover__shared__unpack(NULL, nbytes, bytes);
	struct share *h = there.shares.first;

	nfd = 0;
	for (size_t i = 0; m && i < m->n_share && h; i++, h = h->next)
		m->share[i]->fd = fd[nfd++] = fcntl(h->writer, F_DUPFD_CLOEXEC, 3);
	return m;
}

/* Whatever comes of it, nothing is left in the end. */
static enum status load(Braze__Handover__Shared *m, void (*check)(void))
{
	enum status st;

	begin(&here, &reads);
	st = takeover_read_shared(&here, m, &err);
	if (!st)
		st = takeover_settle_shared(&here, m, &err);
	if (!st && check)
		check();
	end(&here, &reads);
	for (size_t i = 0; i < nfd; i++)
		close(fd[i]); /* those that were not taken */
	braze__handover__shared__free_unpacked(m, NULL);
	return st;
}

static void same(void)
{
	const struct publication *p = here.published.first;
	const struct share *h = NULL;

	cr_assert_str_eq(p->label, "none");
	cr_assert_null(p->share);
	cr_assert_eq(p->holder, &reads);
	p = p->next;
	cr_assert_str_eq(p->label, "x");
	cr_assert_null(p->next);
	cr_assert_eq(p->holder, &reads);
	cr_assert_eq(p->access, ACCESS_KEY);
	cr_assert_eq(p->number, 7);
	cr_assert_eq(p->version, 5);
	cr_assert_eq(p->opened, 6);
	cr_assert_arr_eq(p->key, "0123456789abcde", 16);
	cr_assert_eq(p->view.shape.dim[0], BYTES / 8);
	h = p->share;
	cr_assert(h->fixed);
	cr_assert_eq(h->refs, 1);
	cr_assert_eq(h->maker, &reads.trace);
	cr_assert_eq(fcntl(h->reader, F_GETFL) & O_ACCMODE, O_RDONLY);
	/* What no storage and no name has is spare: here also the session's own. */
	cr_assert_eq(reads.trace.share_bytes, SHARES * BYTES);
	cr_assert_eq(reads.trace.spare_bytes, 2 * BYTES);
	cr_assert_eq(here.shares.count, SHARES);
	cr_assert_eq(here.shares.bytes, SHARES * BYTES);
	cr_assert_eq(here.shares.number, there.shares.number);
	cr_assert_eq(here.published.stats.opened, 9);
	for (h = there.shares.first; h; h = h->next)
		cr_assert_not_null(share_find(&here.shares, h->region));
}

Test(takeover_share, what_is_read_is_what_was_written)
{
	cr_assert_eq(load(unpack(), same), OK, "%s", err.text);
}

Test(takeover_share, damage_is_refused_or_harmless)
{
	unsigned refused = 0, undecoded = 0;

	for (size_t i = 0; i < nbytes; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			Braze__Handover__Shared *m;

			bytes[i] ^= (uint8_t)(1u << bit);
			m = unpack();
			bytes[i] ^= (uint8_t)(1u << bit);
			if (!m)
				undecoded++;
			else
				refused += load(m, NULL) != OK;
		}
	cr_assert_gt(refused, 200);
	cr_assert_gt(undecoded, 10);
}

/* ---- What is refused ---- */

static void replace_text(char **text, const char *by)
{
	free(*text);
	*text = strdup(by);
}

static int sealed(const char *path, off_t size, int seals)
{
	int f = path ? open(path, O_RDONLY | O_CLOEXEC)
		     : memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (!path) {
		cr_assert_eq(ftruncate(f, size), 0);
		cr_assert_eq(fchmod(f, 0400), 0);
		cr_assert_eq(fcntl(f, F_ADD_SEALS, seals), 0);
	}
	return f;
}

/* Another file instead of the first one's. */
static void instead(Braze__Handover__Shared *m, int f)
{
	close(fd[0]);
	m->share[0]->fd = fd[0] = f;
}

/* The published one, which was made first and so is the last. */
#define PUBLISHED (SHARES - 1)

static void wrong_file(Braze__Handover__Shared *m, int what)
{
	const int both = F_SEAL_SHRINK | F_SEAL_GROW;
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd[0]);
	switch (what) {
	case 0:
		instead(m, sealed("/dev/null", 0, 0));
		break;
	case 1:
		instead(m, sealed(path, 0, 0));
		break;
	case 2:
		instead(m, sealed(NULL, 8192, F_SEAL_GROW));
		break;
	case 3:
		instead(m, sealed(NULL, 4096, both));
		break;
	case 4:
		instead(m, sealed(NULL, 12288, both));
		break;
	case 5:
		instead(m, sealed(NULL, 8192, both | F_SEAL_SEAL));
		break;
	case 6:
		instead(m, fcntl(arena_fd(wrote.arena), F_DUPFD_CLOEXEC, 3));
		break;
	case 7:
		m->share[0]->fd = -1;
		break;
	}
}

static void wrong_memory(Braze__Handover__Shared *m, int what)
{
	switch (what) {
	case 8:
		m->share[0]->fd = m->share[1]->fd;
		break;
	case 9:
		m->share[0]->region = m->share[1]->region;
		break;
	case 10:
		m->share[0]->region = 3;
		break;
	case 11:
		m->share[0]->region = 2 * SHARE_REGION;
		break;
	case 12:
		m->share[0]->bytes = 0;
		break;
	case 13:
		m->share[0]->bytes = 8193;
		break;
	case 14:
		m->share[0]->maker = 4;
		break;
	case 15:
		m->share[0]->uid = UID + 1;
		break;
	}
}

static void wrong_name(Braze__Handover__Shared *m, int what)
{
	Braze__Handover__Publication *x = m->publication[1];

	switch (what) {
	case 16:
		replace_text(&x->label, "../x");
		break;
	case 17:
		replace_text(&x->label, "");
		break;
	case 18:
		replace_text(&x->label, "none");
		break;
	case 19:
		x->access = ACCESS_SAME;
		break;
	case 20:
		x->access = ACCESS_KEY + 1;
		break;
	case 21:
		x->key.len--;
		break;
	case 22:
		x->region = 0;
		break;
	case 23:
		x->region = m->share[0]->region;
		break; /* nobody has published it */
	}
}

static void wrong_array(Braze__Handover__Shared *m, int what)
{
	Braze__Handover__Publication *none = m->publication[0], *x = m->publication[1];

	switch (what) {
	case 24:
		none->region = m->share[PUBLISHED]->region;
		break;
	case 25:
		x->bytes = BYTES - 8;
		break;
	case 26:
		x->view->dim[0]--;
		break;
	case 27:
		x->view->stride[0] = 0;
		break;
	case 28:
		x->holder = 4;
		break;
	case 29:
		x->uid = UID + 1;
		break;
	case 30:
		none->holder = 0;
		break;
	case 31:
		x->view->n_dim = 0;
		break;
	}
}

Test(takeover_share, what_contradicts_itself_is_refused)
{
	static void (*const wrong[])(Braze__Handover__Shared *, int) = {wrong_file, wrong_memory,
									wrong_name, wrong_array};

	for (int what = 0; what < 32; what++) {
		Braze__Handover__Shared *m = unpack();

		wrong[what / 8](m, what);
		cr_assert_eq(load(m, NULL), E_INVALID, "%d", what);
	}
}
