/* SPDX-License-Identifier: Apache-2.0 */
/* What sessions share, as a message and back.  Memory is made before the sessions, whose storages
 * name it; who made it and who keeps which name is told once they are there.  Until then all of it
 * has one reference of the reader's own: what nothing else refers to goes with that, or is spare.
 */
#include <string.h>

#include "brazed.h"
#include "handover/handover.h"
#include "takeover.h"

/* ---- There ---- */

static Braze__Handover__Share *put_share(struct handover_pile *pile, const struct share *h)
{
	Braze__Handover__Share *m = handover_pile_take(pile, sizeof *m);

	braze__handover__share__init(m);
	m->fd = h->writer;
	m->region = h->region;
	m->bytes = h->bytes;
	m->uid = h->uid;
	m->maker = h->maker ? session_of(h->maker)->id : 0;
	return m;
}

static Braze__Handover__Publication *put_publication(struct handover_pile *pile,
						     struct publication *p)
{
	Braze__Handover__Publication *m = handover_pile_take(pile, sizeof *m);

	braze__handover__publication__init(m);
	m->label = p->label;
	m->uid = p->uid;
	m->access = p->access;
	m->number = p->number;
	m->key = (ProtobufCBinaryData){sizeof p->key, p->key};
	m->version = p->version;
	m->opened = p->opened;
	m->bytes = p->bytes;
	m->region = p->share ? p->share->region : 0;
	m->holder = p->holder ? p->holder->id : 0;
	m->view = handover_save_view(pile, &p->view);
	return m;
}

Braze__Handover__Shared *takeover_put_shared(struct handover_pile *pile, const struct brazed *d,
					     struct takeover_fds *keep)
{
	Braze__Handover__Shared *m = handover_pile_take(pile, sizeof *m);
	const struct published *all = &d->published;
	size_t n = 0;

	braze__handover__shared__init(m);
	m->number = d->shares.number;
	m->published = all->stats.published;
	m->opened = all->stats.opened;
	m->refused = all->stats.refused;
	m->copied_bytes = all->stats.copied_bytes;
	m->share = handover_pile_take(pile, d->shares.count * sizeof *m->share);
	for (const struct share *h = d->shares.first; h; h = h->next) {
		m->share[m->n_share++] = put_share(pile, h);
		takeover_keep(keep, h->writer);
	}
	for (const struct publication *p = all->first; p; p = p->next)
		n++;
	m->publication = handover_pile_take(pile, n * sizeof *m->publication);
	for (struct publication *p = all->first; p; p = p->next)
		m->publication[m->n_publication++] = put_publication(pile, p);
	return m;
}

/* ---- Here ---- */

static enum status bad(struct err *err, const char *what, size_t i)
{
	return err_set(err, E_INVALID, "the state is damaged: %s %zu", what, i + 1);
}

static enum status read_publication(struct brazed *d, const Braze__Handover__Publication *m,
				    size_t i, struct err *err)
{
	struct publication p = {.uid = m->uid,
				.access = m->access,
				.number = m->number,
				.version = m->version,
				.opened = m->opened,
				.bytes = m->bytes};

	if (strlen(m->label) >= sizeof p.label || m->key.len != sizeof p.key ||
	    !handover_load_view(&p.view, m->view, m->bytes))
		return bad(err, "publication", i);
	memcpy(p.label, m->label, strlen(m->label) + 1);
	memcpy(p.key, m->key.data, sizeof p.key);
	p.share = m->region ? share_find(&d->shares, m->region) : NULL;
	return !m->region == !p.share && publish_restore(d, &p) ? OK : bad(err, "publication", i);
}

/* The reader's own references go. */
static void let_go(struct brazed *d)
{
	struct share *next = NULL;

	for (struct share *h = d->shares.first; h; h = next) {
		next = h->next;
		share_unref(&d->shares, h);
	}
}

/* Lists are written from their first on, and each is put in front of the others. */
enum status takeover_read_shared(struct brazed *d, const Braze__Handover__Shared *m,
				 struct err *err)
{
	enum status st = OK;

	if (!m)
		return OK;
	d->shares.number = m->number % SHARE_REGION;
	d->published.stats.published = m->published;
	d->published.stats.opened = m->opened;
	d->published.stats.refused = m->refused;
	d->published.stats.copied_bytes = m->copied_bytes;
	for (size_t i = m->n_share; i-- > 0 && !st;) {
		struct share_state s = {.fd = m->share[i]->fd,
					.region = m->share[i]->region,
					.uid = m->share[i]->uid,
					.bytes = m->share[i]->bytes};

		st = share_restore(&d->shares, &s, err);
	}
	for (size_t i = m->n_publication; i-- > 0 && !st;)
		st = read_publication(d, m->publication[i], i, err);
	if (st)
		let_go(d);
	return st;
}

/* NULL: no such session, or another user's. */
static struct session *find_session(const struct brazed *d, uint64_t id, uint32_t uid)
{
	struct session *s = session_find(d, id);

	return s && s->arena && s->uid == uid ? s : NULL;
}

static enum status settle_share(struct brazed *d, const Braze__Handover__Share *m, size_t i,
				struct err *err)
{
	struct session *s = find_session(d, m->maker, m->uid);

	if (!m->maker)
		return OK;
	if (!s)
		return bad(err, "memory", i);
	share_belongs(share_find(&d->shares, m->region), &s->trace);
	return OK;
}

static enum status settle_publication(struct brazed *d, const Braze__Handover__Publication *m,
				      size_t i, struct err *err)
{
	struct session *s = find_session(d, m->holder, m->uid);

	if (m->holder ? !s : !m->region)
		return bad(err, "publication", i);
	if (m->holder)
		publish_hold(s, m->label);
	return OK;
}

enum status takeover_settle_shared(struct brazed *d, const Braze__Handover__Shared *m,
				   struct err *err)
{
	enum status st = OK;

	for (size_t i = 0; m && i < m->n_share && !st; i++)
		st = settle_share(d, m->share[i], i, err);
	for (size_t i = 0; m && i < m->n_publication && !st; i++)
		st = settle_publication(d, m->publication[i], i, err);
	let_go(d);
	return st;
}
