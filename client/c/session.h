/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/session.h - the life of a session. */
#ifndef BRAZE_SESSION_H
#define BRAZE_SESSION_H

#include "client.h"

/* Let go of the recorder lock; the last reference to a session ends it here. */
void session_unlock(struct braze_session *s);

#endif
