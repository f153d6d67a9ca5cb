/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_native.c - what generated code does itself, and where it may be entered. */
#include "lang_native.h"

bool lang_native_vector(unsigned op, unsigned type)
{
	static const bool vector[OP_END] = {
#define NATIVE(op, classes)
#define VECTOR(op) [OP_##op] = true,
#include "lang_native.def"
#undef VECTOR
#undef NATIVE
	};

	return (type == DT_FLOAT32 || type == DT_FLOAT64) && op < OP_END && vector[op];
}

bool lang_native_op(unsigned op, unsigned type)
{
	static const uint8_t classes[OP_END] = {
#define NATIVE(op, classes) [OP_##op] = (uint8_t)(classes),
#define VECTOR(op)
#include "lang_native.def"
#undef VECTOR
#undef NATIVE
	};

	return lang_native_vector(op, type) ||
	       (type != DT_FLOAT16 && op < OP_END && classes[op] >> dtype_row(type)->cls & 1);
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

static uint64_t mixed(uint64_t mark, uint64_t v)
{
	return (mark ^ v) * 0x100000001b3u;
}

uint64_t lang_mark(const struct lang_program *p)
{
	uint64_t mark = mixed(mixed(0xcbf29ce484222325u, p->nreg), LANG_FRAME);

	for (uint32_t k = 0; k < p->ncode; k++) {
		const struct lang_ins *i = &p->code[k];

		mark = mixed(mark, i->code | (uint64_t)i->type << 8 | (uint64_t)i->to << 16 |
					   (uint64_t)i->op << 32);
		mark = mixed(mixed(mark, i->d), i->a);
		mark = mixed(mixed(mark, i->b), i->c);
	}
	return mark;
}
