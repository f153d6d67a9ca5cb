/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_claim.h - what the checker of statements does for reduction(...) of a loop. */
#ifndef BRAZE_LANG_CLAIM_H
#define BRAZE_LANG_CLAIM_H

#include "lang_check.h"

/* A variable whose floats are added up by the tree. */
struct claimed {
	struct symbol *symbol;
	uint32_t reg, part; /* registers: its own, and that of a turn */
	uint32_t number;    /* of CODE_SUM */
	uint16_t op;	    /* OP_ADD, OP_MULTIPLY */
};

struct claims {
	unsigned n;
	struct claimed claimed[LANG_CLAIMED];
};

/* Before the loop; as a turn begins, whose statements see its own number; as it ends, wherever it
 * was gone on from; behind the loop. */
bool lang_claims_open(struct lang_checker *c, node *loop, struct claims *out);
bool lang_claims_turn(struct lang_checker *c, node *loop, struct claims *claims);
bool lang_claims_add(struct lang_checker *c, node *loop, struct claims *claims);
bool lang_claims_close(struct lang_checker *c, node *loop, struct claims *claims);

#endif
