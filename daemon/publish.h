/* SPDX-License-Identifier: Apache-2.0 */
/* publish.h - the table of published arrays; see publish.c. */
#ifndef BRAZE_PUBLISH_H
#define BRAZE_PUBLISH_H

#include "access.h"
#include "trace/trace.h"

struct brazed;
struct decode_open;
struct decode_publish;
struct session;
struct ticket;

/* A name, with its newest version. */
struct publication {
	struct publication *next;
	struct share *share;	/* NULL: it has no elements */
	struct session *holder; /* who published it and has a reference to `share`; NULL: only
				   readers keep it */
	struct view view;
	uint64_t bytes, version, opened;
	uint32_t uid;
	uint32_t access, number; /* enum access; of the user or group */
	uint8_t key[ACCESS_KEY_BYTES];
	char label[LIMIT_PUBLISHED_NAME];
};

struct published {
	struct publication *first;
	struct {
		uint64_t published, opened, refused, copied_bytes;
	} stats;
};

struct cJSON;
/* For operators: rows of /published, numbers of /status. */
void publish_put(struct cJSON *list, const struct brazed *d);
void publish_numbers(struct cJSON *status, const struct brazed *d);

/* Before the first session, and after the last. */
void publish_start(struct brazed *d);
void publish_finish(struct brazed *d);
/* The session is over: it keeps nothing any more. */
void publish_leave(struct session *s);

/* A request to publish: answered now, or a ticket waits for the value.  An error ends the
 * connection. */
enum status publish_ask(struct session *s, const struct decode_publish *r,
			struct err *err) MUST_USE;
/* The ticket's value is settled.  Does it lie where it can be published?  false: it is copied
 * there, and the ticket waits for that. */
bool publish_ready(struct session *s, struct ticket *t);
void publish_answer(struct session *s, struct ticket *t);
/* Open a published array; answered at once.  An error ends the connection. */
enum status publish_open(struct session *s, const struct decode_open *r, struct err *err) MUST_USE;

/* ---- Handed over to the program that goes on in this process ---- */

/* A name as it was, which nobody keeps yet; copies what it is given.  false: there is none like
 * that. */
bool publish_restore(struct brazed *d, const struct publication *was);
/* The session keeps its user's name, which is there. */
void publish_hold(struct session *s, const char *label);
/* Is it a wait that publish_ask could have begun? */
bool publish_may_wait(const struct ticket *t);

#endif
