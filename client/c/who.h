/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/who.h - what operators are told of this program. */
#ifndef BRAZE_WHO_H
#define BRAZE_WHO_H

#include "client.h"

/* What the session is called: the name given, $BRAZE_NAME, or the program's. */
const char *who_name(const char *given);
/* Tells the daemon, if it wants to know.  The caller holds the recorder lock, or the only
 * pointer to s. */
enum status who_tell(struct braze_session *s, struct err *err) MUST_USE;

#endif
