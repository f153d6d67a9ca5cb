/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_one.c - an operation on numbers that have no array.
 *
 * By the loop that arrays of their type take, so to the bit as an array of one element
 * would.  Nothing is counted or recorded: no array has been computed, so it is done where
 * arrays are not near, too. */
#include <string.h>

#include "lock.h"
#include "near.h"
#include "near_walk.h"

#define ONE_OPERANDS 2
#define ONE_BYTES    (TIER0_LANES * 8)

/* The loop's type, of operands of type d, and the result's; false: there is no loop of
 * 64 bits, or of float32. */
static bool types_of(unsigned *loop, unsigned *type, const struct braze_session *s, unsigned op,
		     int n, unsigned d)
{
	if (op >= OP_END || d >= DTYPE_END || !s->near_made)
		return false;
	*type = n == 1 ? s->unary[op][d] : s->binary[op][d];
	*loop = s->loop[op][d];
	return *type != DTYPE_NONE &&
	       (*loop == DT_FLOAT64 || *loop == DT_FLOAT32 || *loop == DT_INT64) &&
	       s->near_made->cost[op][*loop];
}

/* All lanes: a loop then does in none of them what it would not do in the first. */
static void fill(char *lanes, const braze_scalar *v, unsigned loop)
{
	uint64_t raw[2], both;
	struct near_in in;

	near_set_number(&in, raw, v, loop);
	both = loop == DT_FLOAT32 ? (raw[0] & 0xffffffffu) | raw[0] << 32 : raw[0];
	for (int k = 0; k < ONE_BYTES; k += 8)
		memcpy(lanes + k, &both, 8);
}

static bool one(braze_scalar *out, const struct braze_session *s, unsigned op, int n,
		const braze_scalar *x)
{
	char in[ONE_OPERANDS][ONE_BYTES] __attribute__((aligned(64)));
	char made[ONE_BYTES] __attribute__((aligned(64)));
	unsigned loop = 0, type = 0, mode;

	for (int k = 0; k < n; k++)
		if (x[k].dtype != x[0].dtype || x[k].dtype < 0)
			return false;
	if (!types_of(&loop, &type, s, op, n, (unsigned)x[0].dtype))
		return false;
	tier0_fn *fn = near_loop(s->near_made, (enum op)op, loop, type);
	for (int k = 0; k < n; k++)
		fill(in[k], &x[k], loop);
	mode = near_enter();
	fn(made, in[0], in[n - 1], in[n - 1], 1);
	near_leave(mode);
	*out = (braze_scalar){.dtype = (int)type};
	if (dtype_row(type)->bytes == 8)
		memcpy(out->bits, made, 8);
	else if (dtype_row(type)->bytes == 4)
		memcpy(out->bits, made, 4);
	else
		memcpy(out->bits, made, 1);
	return true;
}

int braze_near_one(braze_scalar *out, braze_session *s, int op, int n, const braze_scalar *x)
{
	if (op < 0 || n < 1 || n > ONE_OPERANDS)
		return 0;
	lock_take(s);
	int done = one(out, s, (unsigned)op, n, x);
	lock_give(s);
	return done;
}
