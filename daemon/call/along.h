/* SPDX-License-Identifier: Apache-2.0 */
/* call/along.h - what calls along one axis share: the last loop is that axis, the others count
 * lanes; operand 0 is read, operand 1 is the result. */
#ifndef BRAZE_ALONG_H
#define BRAZE_ALONG_H

#include "call.h"
#include "loops/lanes.h"

int64_t along_lanes(const struct plan_call *c);
int64_t along_elements(const struct plan_call *c); /* of all lanes */
/* The lanes of a call that was checked. */
void along_of(struct lanes *out, const struct plan_call *c);
/* Can its elements be counted, and is it of an operation of this kind? */
enum status along_check(const struct plan_call *c, unsigned kind, struct err *err) MUST_USE;
/* The same, and are both operands of the call's own type? */
enum status along_check_same(const struct plan_call *c, unsigned kind, struct err *err) MUST_USE;
void along_name(struct textbuf *t, const struct plan_call *c);
/* With a word for each operand. */
void along_print(struct textbuf *t, const struct plan_call *c, const char *const *what);

#endif
