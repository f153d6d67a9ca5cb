/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_x86.h - instructions of x86-64 as bytes.
 *
 * An instruction is its opcode with what goes before it (X86_...), a register, and a register or
 * a place in memory; what it has as a number follows by lang_x86_u8 or lang_x86_u32. */
#ifndef BRAZE_LANG_X86_H
#define BRAZE_LANG_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Opcodes: the last byte, and bits for what else there is. */
#define X86_W	 0x100u /* of 64 bits */
#define X86_0F	 0x200u
#define X86_0F3A 0x400u
#define X86_BYTE 0x800u /* of the lowest byte of a register */
#define X86_66	 0x10000u
#define X86_F2	 0x20000u
#define X86_F3	 0x40000u

#define X86_MOV		(0x8b | X86_W)
#define X86_MOV32	0x8b /* the upper half is 0 */
#define X86_STORE	(0x89 | X86_W)
#define X86_STORE32	0x89
#define X86_STORE16	(0x89 | X86_66)
#define X86_STORE8	(0x88 | X86_BYTE)
#define X86_SIGN8	(0xbe | X86_0F | X86_W | X86_BYTE)
#define X86_SIGN16	(0xbf | X86_0F | X86_W)
#define X86_SIGN32	(0x63 | X86_W)
#define X86_ZERO8	(0xb6 | X86_0F | X86_BYTE)
#define X86_ZERO16	(0xb7 | X86_0F)
#define X86_LEA		(0x8d | X86_W)
#define X86_ADD		(0x03 | X86_W)
#define X86_SUB		(0x2b | X86_W)
#define X86_AND		(0x23 | X86_W)
#define X86_OR		(0x0b | X86_W)
#define X86_XOR		(0x33 | X86_W)
#define X86_XOR32	0x33
#define X86_CMP		(0x3b | X86_W)
#define X86_IMUL	(0xaf | X86_0F | X86_W)
#define X86_TEST	(0x85 | X86_W)
#define X86_CMOV	(0x40 | X86_0F | X86_W) /* and the condition */
#define X86_SET		(0x90 | X86_0F | X86_BYTE)
#define X86_GROUP3	(0xf7 | X86_W) /* by the number in the register's place */
#define X86_GROUP1	(0x81 | X86_W)
#define X86_GROUP1_8	(0x83 | X86_W)
#define X86_GROUP5	0xff
#define X86_SHIFT	(0xc1 | X86_W)
#define X86_SHIFT_CL	(0xd3 | X86_W)
#define X86_MOVE_XMM	(0x28 | X86_0F)
#define X86_LOAD_XMM	(0x10 | X86_0F) /* 16 bytes; with X86_F2 a double, X86_F3 a float */
#define X86_STORE_XMM	(0x11 | X86_0F)
#define X86_UCOM	(0x2e | X86_0F) /* of floats; with X86_66 of doubles */
#define X86_ADD_XMM	(0x58 | X86_0F)
#define X86_MUL_XMM	(0x59 | X86_0F)
#define X86_SUB_XMM	(0x5c | X86_0F)
#define X86_MIN_XMM	(0x5d | X86_0F)
#define X86_DIV_XMM	(0x5e | X86_0F)
#define X86_MAX_XMM	(0x5f | X86_0F)
#define X86_SQRT_XMM	(0x51 | X86_0F)
#define X86_AND_XMM	(0x54 | X86_0F)
#define X86_XOR_XMM	(0x57 | X86_0F)
#define X86_CONVERT	(0x5a | X86_0F) /* with X86_F2 a double to a float, X86_F3 the other way */
#define X86_FROM_INT	(0x2a | X86_0F | X86_W)
#define X86_TO_INT	(0x2c | X86_0F | X86_F2)
#define X86_ONES	(0x76 | X86_0F | X86_66)
#define X86_SHIFT64_XMM (0x73 | X86_0F | X86_66)
#define X86_SHIFT32_XMM (0x72 | X86_0F | X86_66)
#define X86_ROUND	(0x0a | X86_0F3A | X86_66) /* of floats; and 1: of doubles */

/* Conditions as jumps, sets and moves have them. */
enum {
	IF_BELOW = 2,
	IF_ABOVE_EQUAL,
	IF_EQUAL,
	IF_NOT_EQUAL,
	IF_BELOW_EQUAL,
	IF_ABOVE,
	IF_PARITY = 10,
	IF_NO_PARITY,
	IF_LESS,
	IF_GREATER_EQUAL,
	IF_LESS_EQUAL,
	IF_GREATER
};

struct x86 {
	uint8_t *code;
	size_t n, cap;
	bool full; /* there is no memory: what is written is lost */
};

void lang_x86_u8(struct x86 *b, unsigned v);
void lang_x86_u32(struct x86 *b, uint32_t v);
/* op reg, rm */
void lang_x86_rr(struct x86 *b, uint32_t op, unsigned reg, unsigned rm);
/* op reg, [base + at] */
void lang_x86_rm(struct x86 *b, uint32_t op, unsigned reg, unsigned base, int32_t at);
/* op reg, [base + index * scale] */
void lang_x86_rx(struct x86 *b, uint32_t op, unsigned reg, unsigned base, unsigned index,
		 unsigned scale);
/* reg = v */
void lang_x86_set(struct x86 *b, unsigned reg, uint64_t v);
/* A jump, on a condition or always; to be patched at what is returned. */
size_t lang_x86_if(struct x86 *b, unsigned condition);
size_t lang_x86_jump(struct x86 *b);
size_t lang_x86_call(struct x86 *b);
/* The jump goes to `to`. */
void lang_x86_patch(struct x86 *b, size_t jump, size_t to);

#endif
