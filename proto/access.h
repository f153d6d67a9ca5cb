/* SPDX-License-Identifier: Apache-2.0 */
/* proto/access.h - who may open a published array; numbers are part of the protocol.
 *
 * Whoever published it, as a user, may always. */
#ifndef BRAZE_ACCESS_H
#define BRAZE_ACCESS_H

enum access {
	ACCESS_SAME,  /* as the name's last version; of a new name: ACCESS_OWN */
	ACCESS_OWN,   /* nobody else */
	ACCESS_USER,  /* the user with this number, too */
	ACCESS_GROUP, /* members of the group with this number */
	ACCESS_KEY    /* who has the key */
};

#define ACCESS_KEY_BYTES 16
#define ACCESS_KEY_TEXT	 (2 * ACCESS_KEY_BYTES + 1) /* in hexadecimal digits, with the 0 */

#endif
