/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/session.h - the life of a session. */
#ifndef BRAZE_SESSION_H
#define BRAZE_SESSION_H

#include "client.h"

/* What every session of the process has alike; any thread. */
void session_prepare(void);
/* Let go of the recorder lock; the last reference to a session ends it here. */
void session_unlock(struct braze_session *s);
/* The session is dead: connect again when it may (BRAZE_RECONNECT), else say why it is.
 * The recorder lock is let go of meanwhile. */
enum status session_revive(struct braze_session *s, struct err *err) MUST_USE;

#endif
