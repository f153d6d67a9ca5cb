/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_special.h - instructions whose operands follow no common shape. */
#ifndef STANDIN_PTX_SPECIAL_H
#define STANDIN_PTX_SPECIAL_H

#include "ptx_module.h"

/* What a mnemonic says that struct ptx_ins does not keep. */
struct ptx_extra {
	enum ptx_type types[3];
	int ntypes;
	uint8_t vector;
	enum ptx_op combine; /* setp.lt.and */
	bool warp;	     /* bar.warp */
	bool refused;
};

/* The lexer is at the first operand; ends at the semicolon. */
typedef void ptx_special_parse(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x);

ptx_special_parse ptx_special_mov, ptx_special_setp, ptx_special_cvt, ptx_special_ld,
	ptx_special_st, ptx_special_atom, ptx_special_bra, ptx_special_call, ptx_special_bar,
	ptx_special_warp, ptx_special_nop;

/* Emits *i with .ftz and .sat as operations of their own; from, to: types of its
 * sources and its result. */
void ptx_put_flushed(struct ptx_module *m, struct ptx_ins *i, enum ptx_type from, enum ptx_type to);

#endif
