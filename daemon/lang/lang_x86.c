/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_x86.c - see lang_x86.h. */
#include "lang_x86.h"

#include <stdlib.h>
#include <string.h>

void lang_x86_u8(struct x86 *b, unsigned v)
{
	if (b->n == b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 4096;
		uint8_t *code = b->full ? NULL : realloc(b->code, cap);

		if (!code) {
			b->full = true;
			return;
		}
		b->code = code;
		b->cap = cap;
	}
	b->code[b->n++] = (uint8_t)v;
}

void lang_x86_u32(struct x86 *b, uint32_t v)
{
	for (unsigned k = 0; k < 4; k++)
		lang_x86_u8(b, v >> 8 * k & 255);
}

/* What goes before the opcode, and the opcode. */
static void head(struct x86 *b, uint32_t op, unsigned reg, unsigned index, unsigned rm,
		 bool registers)
{
	unsigned rex = (op & X86_W ? 8 : 0) | (reg >> 3) << 2 | (index >> 3) << 1 | rm >> 3;
	/* Without it 4 ... 7 are other bytes than the lowest of these registers. */
	bool byte = op & X86_BYTE && (reg > 3 || (registers && rm > 3));

	if (op & X86_66)
		lang_x86_u8(b, 0x66);
	if (op & X86_F2)
		lang_x86_u8(b, 0xf2);
	if (op & X86_F3)
		lang_x86_u8(b, 0xf3);
	if (rex || byte)
		lang_x86_u8(b, 0x40 | rex);
	if (op & (X86_0F | X86_0F3A))
		lang_x86_u8(b, 0x0f);
	if (op & X86_0F3A)
		lang_x86_u8(b, 0x3a);
	lang_x86_u8(b, op & 255);
}

void lang_x86_rr(struct x86 *b, uint32_t op, unsigned reg, unsigned rm)
{
	head(b, op, reg, 0, rm, true);
	lang_x86_u8(b, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

void lang_x86_rm(struct x86 *b, uint32_t op, unsigned reg, unsigned base, int32_t at)
{
	bool small = at >= -128 && at < 128;

	head(b, op, reg, 0, base, false);
	lang_x86_u8(b, (small ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		lang_x86_u8(b, 0x24);
	if (small)
		lang_x86_u8(b, (unsigned)at & 255);
	else
		lang_x86_u32(b, (uint32_t)at);
}

void lang_x86_rx(struct x86 *b, uint32_t op, unsigned reg, unsigned base, unsigned index,
		 unsigned scale)
{
	unsigned shift = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;

	head(b, op, reg, index, base, false);
	lang_x86_u8(b, 0x44 | (reg & 7) << 3);
	lang_x86_u8(b, shift << 6 | (index & 7) << 3 | (base & 7));
	lang_x86_u8(b, 0);
}

void lang_x86_set(struct x86 *b, unsigned reg, uint64_t v)
{
	if (v <= UINT32_MAX) {
		if (reg > 7)
			lang_x86_u8(b, 0x41);
		lang_x86_u8(b, 0xb8 | (reg & 7));
		lang_x86_u32(b, (uint32_t)v);
	} else if (v >= (uint64_t)INT32_MIN) {
		lang_x86_rr(b, 0xc7 | X86_W, 0, reg);
		lang_x86_u32(b, (uint32_t)v);
	} else {
		lang_x86_u8(b, reg > 7 ? 0x49 : 0x48);
		lang_x86_u8(b, 0xb8 | (reg & 7));
		lang_x86_u32(b, (uint32_t)v);
		lang_x86_u32(b, (uint32_t)(v >> 32));
	}
}

static size_t way(struct x86 *b)
{
	lang_x86_u32(b, 0);
	return b->n;
}

size_t lang_x86_if(struct x86 *b, unsigned condition)
{
	lang_x86_u8(b, 0x0f);
	lang_x86_u8(b, 0x80 | condition);
	return way(b);
}

size_t lang_x86_jump(struct x86 *b)
{
	lang_x86_u8(b, 0xe9);
	return way(b);
}

size_t lang_x86_call(struct x86 *b)
{
	lang_x86_u8(b, 0xe8);
	return way(b);
}

void lang_x86_patch(struct x86 *b, size_t jump, size_t to)
{
	int32_t far = (int32_t)((int64_t)to - (int64_t)jump);

	if (!b->full)
		memcpy(b->code + jump - 4, &far, sizeof far);
}
