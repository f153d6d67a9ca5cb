/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_module.h - the form between parser and executor: instructions over registers.
 *
 * A register is named by its byte offset in one lane's share of the register file;
 * the file holds lane arrays, so register o of lane l of a block with n lanes lies at
 * file + o * n + l * size.  Immediates, special registers and addresses of variables
 * are registers too, filled before a kernel starts.  Offsets of a function are
 * relative to its base while it is parsed; ptx_load adds the base.
 *
 * What PTX packs into one instruction the parser takes apart: .ftz and .sat become
 * operations before and after, packed halves become two operations, a negated
 * predicate becomes a NOT. */
#ifndef STANDIN_PTX_MODULE_H
#define STANDIN_PTX_MODULE_H

#include "ptx.h"
#include <setjmp.h>

enum ptx_type {
	T_NONE,
	T_B8,
	T_B16,
	T_B32,
	T_B64,
	T_B128,
	T_U8,
	T_U16,
	T_U32,
	T_U64,
	T_S8,
	T_S16,
	T_S32,
	T_S64,
	T_F16,
	T_BF16,
	T_F32,
	T_F64,
	T_F16X2,
	T_BF16X2,
	T_U16X2,
	T_S16X2,
	T_PRED,
	T_COUNT
};

/* clang-format off */
enum ptx_op {
	OP_BAD, OP_MOV, OP_PACK, OP_UNPACK, OP_ADD, OP_SUB, OP_MUL, OP_MAD, OP_MUL24, OP_MAD24,
	OP_FMA, OP_DIV, OP_REM, OP_ABS, OP_NEG, OP_MIN, OP_MAX, OP_AND, OP_OR, OP_XOR, OP_NOT,
	OP_CNOT, OP_SHL, OP_SHR, OP_BFE, OP_BFI, OP_POPC, OP_CLZ, OP_BREV, OP_BFIND, OP_PRMT,
	OP_SHF, OP_LOP3, OP_SELP, OP_SLCT, OP_SETP, OP_SET, OP_CVT, OP_CVTA, OP_LD, OP_ST,
	OP_ATOM, OP_RED, OP_BRA, OP_BRX, OP_CALL, OP_RET, OP_EXIT, OP_BAR, OP_BARWARP, OP_FENCE,
	OP_SHFL, OP_VOTE, OP_MATCH, OP_ACTIVEMASK, OP_REDUX, OP_ELECT, OP_RCP, OP_SQRT, OP_RSQRT,
	OP_SIN, OP_COS, OP_LG2, OP_EX2, OP_TANH, OP_COPYSIGN, OP_TESTP, OP_ADDC, OP_SUBC,
	OP_MADC, OP_TRAP, OP_ASSERT, OP_NOP, OP_SAD, OP_ISSPACEP, OP_DP4A, OP_DP2A, OP_VABSDIFF4,
	OP_CLOCK, OP_FLUSH, OP_SATURATE, OP_BMSK, OP_SZEXT, OP_COUNT
};
/* clang-format on */

enum ptx_space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM, SPACE_CONST };
enum ptx_round { ROUND_NONE, ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP };
/* Comparisons: the first six are ordered, the next six true for NaN. */
/* clang-format off */
enum ptx_compare {
	CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE,
	CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN
};
enum ptx_atomic {
	ATOM_NONE, ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_EXCH, ATOM_CAS,
	ATOM_INC, ATOM_DEC
};
/* clang-format on */
enum ptx_part { PART_LO, PART_HI, PART_WIDE };

#define PTX_NONE      UINT32_MAX
#define PTX_VECTOR    8 /* widest ld, st: .v8.b32 */
#define PTX_MAX_LANES 1024

/* Windows of generic addresses; none is an address of host or device memory. */
#define PTX_SHARED_WINDOW 0x7e0000000000ull
#define PTX_LOCAL_WINDOW  0x7d0000000000ull
#define PTX_PARAM_WINDOW  0x7c0000000000ull
#define PTX_WINDOW_BYTES  0x10000000ull

struct run;
struct ptx_ins;
typedef void ptx_exec(struct run *r, const struct ptx_ins *i);

struct ptx_call {
	struct ptx_function *callee;
	uint32_t nargs;
	uint32_t arg[16], arg_bytes[16]; /* offsets in a lane's call space */
	uint32_t result, result_bytes;	 /* PTX_NONE: none is taken */
};

struct ptx_targets { /* of an indexed branch */
	uint32_t count;
	uint32_t at[]; /* symbol number until the function ends, then instruction */
};

struct ptx_ins {
	ptx_exec *run; /* NULL: control flow, run_block.c */
	uint8_t op, type, type2, space, part, mode;
	uint8_t round, integer_round; /* result; to an integral value */
	uint8_t compare, atomic;
	uint8_t reg_bytes;  /* ld, st: size of the registers; cvt: of the result's */
	uint8_t reg_bytes2; /* ld, st: of the base register; cvt: of the source's */
	uint8_t nd, ns;
	bool sat, ftz, approx, carry_in, carry_out, nan, exempt; /* exempt: .volatile, .relaxed */
	bool lane_param; /* ld, st: in the lane's call space, not in the entry's parameters */
	bool guard_not;
	uint32_t guard;		/* predicate, PTX_NONE: always */
	uint32_t d[PTX_VECTOR]; /* results */
	uint32_t s[PTX_VECTOR]; /* sources */
	uint32_t predicate;	/* second result of shfl, match; or PTX_NONE */
	uint32_t base;		/* address register or PTX_NONE */
	uint32_t target;	/* of a branch: instruction */
	uint32_t line;
	int64_t imm;
	union {
		struct ptx_call *call;
		struct ptx_targets *targets;
	};
};

/* A register that has a value before the kernel starts. */
enum ptx_preset {
	PRESET_VALUE,
	PRESET_DYNAMIC, /* value + where dynamic shared memory begins */
	PRESET_SPECIAL	/* value is an enum ptx_special */
};

/* clang-format off */
enum ptx_special {
	SPECIAL_TID_X, SPECIAL_TID_Y, SPECIAL_TID_Z, SPECIAL_NTID_X, SPECIAL_NTID_Y, SPECIAL_NTID_Z,
	SPECIAL_CTAID_X, SPECIAL_CTAID_Y, SPECIAL_CTAID_Z,
	SPECIAL_NCTAID_X, SPECIAL_NCTAID_Y, SPECIAL_NCTAID_Z,
	SPECIAL_LANEID, SPECIAL_WARPID, SPECIAL_NWARPID,
	SPECIAL_MASK_LT, SPECIAL_MASK_LE, SPECIAL_MASK_GT, SPECIAL_MASK_GE, SPECIAL_MASK_EQ,
	SPECIAL_SMID, SPECIAL_NSMID, SPECIAL_DYNAMIC_SIZE, SPECIAL_TOTAL_SIZE, SPECIAL_GRIDID,
	SPECIAL_CLOCK, SPECIAL_CLOCK_HI, SPECIAL_CLOCK64, /* from here: read when executed */
	SPECIAL_TIMER, SPECIAL_TIMER_LO, SPECIAL_TIMER_HI,
	SPECIAL_COUNT
};
/* clang-format on */

struct ptx_constant {
	uint32_t reg;
	uint8_t bytes;
	uint8_t preset;
	uint64_t value;
};

enum ptx_symbol_kind {
	SYMBOL_FREE,
	SYMBOL_REGISTER,
	SYMBOL_REGISTERS, /* %r<100>: the name is the prefix */
	SYMBOL_LABEL,
	SYMBOL_VARIABLE,
	SYMBOL_FUNCTION,
	SYMBOL_LANE_PARAM,  /* in a lane's call space */
	SYMBOL_ENTRY_PARAM, /* in the launch's parameter buffer */
	SYMBOL_TARGETS	    /* .branchtargets */
};

struct ptx_symbol {
	char *name;
	uint8_t kind, space;
	bool dynamic;	/* extern shared memory */
	uint8_t bytes;	/* of a register */
	uint32_t where; /* register offset, instruction, or offset in its space */
	uint32_t count; /* registers of a range */
	uint64_t address;
	size_t size;
	struct ptx_function *function;
	struct ptx_targets *targets;
};

struct ptx_table { /* open addressing over symbols; symbols never move in order */
	struct ptx_symbol *at;
	uint32_t *bucket; /* number of a symbol + 1 */
	uint32_t count, cap, nbuckets;
};

#define PTX_MAX_PARAMS 256

struct ptx_function {
	char *name;
	struct ptx_module *module;
	struct ptx_function *next;
	bool entry, defined;
	uint32_t start, end; /* instructions */
	struct ptx_table table;
	uint32_t base;	    /* of its registers in the file */
	uint32_t reg_bytes; /* of its registers */
	uint32_t nregs;
	struct ptx_constant *constants;
	uint32_t nconstants, constants_cap;
	uint32_t nparams; /* entry: of the launch; else of a call */
	uint32_t param_offset[PTX_MAX_PARAMS], param_size[PTX_MAX_PARAMS];
	size_t param_bytes;
	uint32_t result, result_bytes; /* PTX_NONE: returns nothing */
	uint32_t carry;		       /* predicate that holds CC.CF, or PTX_NONE */
	size_t shared, local;	       /* bytes, static */
	unsigned max_threads;
	unsigned number;
	struct run_space *spaces; /* run_launch.c: buffers kept for the next launch */
};

struct ptx_module {
	const struct ptx_host *host; /* while loading */
	struct ptx_ins *ins;
	uint32_t nins, ins_cap;
	struct ptx_table table;
	struct ptx_function *functions, *last;
	unsigned nfunctions;
	uint32_t call_bytes; /* of a lane's call space */
	uint32_t func_bytes; /* registers of all device functions */
	size_t shared;	     /* of variables outside functions */
	int target;
	void **owned; /* freed with the module */
	size_t nowned, owned_cap;
	/* while loading */
	struct ptx_lexer *lex;
	struct ptx_function *current;
	uint32_t guard;
	bool guard_not;
	uint32_t scratch[4][16]; /* temporary registers by log2 of their size */
	uint8_t nscratch[4], scratch_used[4];
	char mnemonic[256]; /* of the current instruction */
	char *log;
	size_t log_cap;
	jmp_buf refused;
};

extern const uint8_t ptx_type_bytes[T_COUNT];
extern const char *const ptx_type_name[T_COUNT];
enum ptx_type ptx_type_of(const char *name); /* T_NONE: not a type */
bool ptx_type_signed(enum ptx_type t);
bool ptx_type_float(enum ptx_type t);

/* Ends the load with a message that names the line. */
void ptx_refuse(struct ptx_module *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* Zeroed; freed with the module. */
void *ptx_own(struct ptx_module *m, size_t bytes);

struct ptx_symbol *ptx_table_find(const struct ptx_table *t, const char *name);
struct ptx_symbol *ptx_table_add(struct ptx_module *m, struct ptx_table *t, const char *name);
/* In the current function, then in the module; register ranges too (in *range). */
struct ptx_symbol *ptx_lookup(struct ptx_module *m, const char *name, struct ptx_symbol *range);

uint32_t ptx_new_register(struct ptx_module *m, uint32_t bytes);
uint32_t ptx_new_constant(struct ptx_module *m, enum ptx_preset preset, uint64_t value,
			  uint32_t bytes);
/* A register that lives to the end of the current instruction. */
uint32_t ptx_new_scratch(struct ptx_module *m, uint32_t bytes);
uint32_t ptx_new_lane_param(struct ptx_module *m, uint32_t bytes);
struct ptx_ins *ptx_emit(struct ptx_module *m, enum ptx_op op, enum ptx_type type);

/* A source or result of this type: its register.  *bytes, unless NULL, takes the
 * register's size; with NULL it must be the type's. */
uint32_t ptx_operand(struct ptx_module *m, enum ptx_type type, uint8_t *bytes);
/* {a, b} or a; returns how many. */
uint8_t ptx_operands(struct ptx_module *m, enum ptx_type type, uint32_t out[PTX_VECTOR],
		     uint8_t *bytes);
/* [base + offset] into i's base, imm, lane_param. */
void ptx_address(struct ptx_module *m, struct ptx_ins *i);
/* Appends a copy of *i under the current guard, bound to what executes it. */
void ptx_put(struct ptx_module *m, const struct ptx_ins *i);
/* The current token is a number: its bits as type (floats too); moves on. */
uint64_t ptx_number(struct ptx_module *m, bool negative, enum ptx_type type);
/* One instruction, after its guard; ends after the semicolon. */
void ptx_instruction(struct ptx_module *m);
/* The function that executes i, or NULL: refuse it. */
ptx_exec *ptx_bind(const struct ptx_ins *i);
/* Buffers kept for the next launch. */
void run_free_spaces(struct ptx_function *f);

#endif
