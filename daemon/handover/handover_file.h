/* SPDX-License-Identifier: Apache-2.0 */
/* handover/handover_file.h - messages in a sealed memory file.
 *
 * A header with the format's number, the length and a checksum; then each message behind its
 * length.  Sealed, so that what was checked is what is read.  Loop thread. */
#ifndef BRAZE_HANDOVER_FILE_H
#define BRAZE_HANDOVER_FILE_H

#include "ops.h"

#define HANDOVER_FORMAT 2 /* what sessions share */

struct ProtobufCMessage;
struct handover_out;
struct handover_in;

/* NULL: there is no memory file to be had. */
struct handover_out *handover_file_begin(struct err *err);
enum status handover_file_put(struct handover_out *o, const struct ProtobufCMessage *m,
			      struct err *err) MUST_USE;
/* Frees o; the file, close-on-exec, or -1. */
int handover_file_seal(struct handover_out *o, struct err *err);
/* Without a file: nothing is left of it. */
void handover_file_drop(struct handover_out *o);

/* Takes the descriptor, also where it fails.  E_INVALID: it is no such file, not sealed, damaged,
 * or of a format that this program does not know. */
enum status handover_file_open(struct handover_in **out, int fd, struct err *err) MUST_USE;
/* The next message's bytes, which live as long as the file is open; NULL: there is none. */
const uint8_t *handover_file_next(struct handover_in *in, size_t *n);
void handover_file_close(struct handover_in *in);

#endif
