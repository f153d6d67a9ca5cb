/* SPDX-License-Identifier: Apache-2.0 */
/* future/reply.h - answers as packets on a client's connection. */
#ifndef BRAZE_REPLY_H
#define BRAZE_REPLY_H

#include "ticket.h"

struct conn;

/* Small results computed just now, to travel inside the answer. */
struct reply_inline {
	const struct version *version;
	const uint8_t *bytes; /* version->bytes of them */
};

/* `notice`: a line for the client's user, or "". */
void reply_welcome(struct conn *c, uint64_t session, const struct arena *a,
		   const struct extent *lease, const char *const *device, size_t ndevice,
		   const char *notice);
/* `spent`: as Resolved says; NULL: it is not told. */
void reply_resolved(struct conn *c, const struct ticket *t, const struct reply_inline *small,
		    size_t nsmall, uint64_t *spent);
/* `key`: "" for none. */
void reply_published(struct conn *c, uint64_t ticket, uint64_t version, uint64_t copied,
		     const char *key);
/* A view of a buffer of so many bytes, which others have published. */
void reply_opened(struct conn *c, uint64_t ticket, uint64_t version, const struct view *v,
		  uint64_t bytes, int fd);
/* What has the device's worker? */
struct reply_offer {
	bool starting, usable; /* as Offered says */
	bool fourier, factors; /* what it has a library for */
	/* Of a GPU, as Offered says; units 0: of none. */
	uint32_t units, double_ratio;
	uint64_t memory_rate, upload_rate, download_rate, capacity, astray;
	const char *name;
};
void reply_offered(struct conn *c, uint64_t ticket, const struct reply_offer *o);
/* bytes 0: there is no descriptor; device "": the value lies on none. */
void reply_exported(struct conn *c, uint64_t ticket, uint64_t bytes, const char *device,
		    const char *uuid, int fd);
void reply_leased(struct conn *c, uint64_t ticket, const struct extent *e);
/* At most LIMIT_EXPLAIN_TEXT bytes with the 0. */
void reply_explained(struct conn *c, uint64_t ticket, const char *text);
/* A kernel's object; the descriptor stays the caller's. */
void reply_compiled(struct conn *c, uint64_t ticket, uint32_t kernel, int fd);
void reply_failure(struct conn *c, uint64_t ticket, const struct err *err);
/* Last words before the daemon closes the connection. */
void reply_goodbye(struct conn *c, const struct err *err);

#endif
