/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_native.c - what generated code does itself, and where it may be entered. */
#include "lang_native.h"

bool lang_native_op(unsigned op, unsigned type)
{
	static const uint8_t classes[OP_END] = {
#define NATIVE(op, classes) [OP_##op] = (uint8_t)(classes),
#include "lang_native.def"
#undef NATIVE
	};

	return type != DT_FLOAT16 && op < OP_END && classes[op] >> dtype_row(type)->cls & 1;
}

bool lang_native_cast(unsigned from, unsigned to)
{
	unsigned a = dtype_row(from)->cls, b = dtype_row(to)->cls;

	return from != DT_FLOAT16 && to != DT_FLOAT16 && a != CLASS_COMPLEX && b != CLASS_COMPLEX &&
	       !(a == CLASS_FLOAT && to == DT_UINT64);
}

/* Loops come one inside the other or one behind the other, and end at the jump back to where they
 * begin; the inner ones end first. */
bool *lang_outermost(const struct lang_program *p)
{
	bool *outer = calloc(p->ncode, sizeof *outer);
	uint32_t least = UINT32_MAX;

	for (uint32_t i = p->ncode; outer && i-- > p->entry;)
		if (p->code[i].code == CODE_LOOP && i < least) {
			outer[i] = true;
			least = p->code[i].d;
		}
	return outer;
}
