/* SPDX-License-Identifier: Apache-2.0 */
/* proto/op_table.h - what two programs know of each other's operations.
 *
 * Numbers of operations only grow, and a row never changes: who knows more of them still knows
 * those of an older table.  A client tells the daemon, and a daemon the one that goes on in its
 * place, how long its table is and the hash over that.  Any thread. */
#ifndef BRAZE_OP_TABLE_H
#define BRAZE_OP_TABLE_H

#include <stdint.h>

#define OP_TABLE_FIRST 246 /* length of the first table that clients may leave untold */

#define OP_TABLE_TYPES 14 /* that every version knows; of later ones its minor version tells */

/* FNV-1a over the text of every row whose number is below `ops`, and of those types. */
uint64_t op_table_prefix(unsigned ops);
/* One more than the highest number. */
unsigned op_table_length(void);

#endif
