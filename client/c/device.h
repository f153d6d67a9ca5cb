/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/device.h - memory of a device that the daemon lends to this process. */
#ifndef BRAZE_DEVICE_H
#define BRAZE_DEVICE_H

#include "braze.pb-c.h"
#include "client.h"

/* What an Exported said, until it is mapped. */
struct lent {
	uint64_t bytes; /* 0: none */
	int fd;		/* -1: none */
	char uuid[48];
	char device[LIMIT_DEVICE_NAME]; /* "": on none */
};

/* The answer, which takes the packet's descriptor; NULL: it is malformed. */
struct lent *device_lent(const Braze__Wire__Exported *r, struct packet *p, struct err *err);
void device_forget(struct lent *l);

#endif
