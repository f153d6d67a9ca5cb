/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lease.h - arena space for host data. */
#ifndef BRAZE_LEASE_H
#define BRAZE_LEASE_H

#include "client.h"

/* Take bytes from the lease, asking the daemon for another when it is used up
 * (the recorder lock is let go of meanwhile).  Aligned to 64 bytes, to pages
 * above 64 KiB; the extent's end is rounded up the same way. */
enum status lease_take(uint64_t *offset, struct braze_session *s, uint64_t bytes,
		       struct err *err) MUST_USE;

/* Give back what lease_take gave and nobody imported. */
enum status lease_return(struct braze_session *s, uint64_t offset, uint64_t bytes,
			 struct err *err) MUST_USE;

#endif
