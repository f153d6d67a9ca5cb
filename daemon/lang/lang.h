/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang.h - kernels as text: the forms on the way from a text to a run.
 *
 *   text --lang_lex, lang_parse--> struct lang_tree: what is written, nothing checked
 *        --lang_check-->           struct lang_program: types, registers, instructions
 *        --lang_link-->            struct lang_kernel: each instruction with its function
 *        --lang_run-->             arrays and results
 *
 * Texts are untrusted: what they may ask for is bounded below, and nothing recurses deeper than
 * these bounds.  A function may call only those that stand before it, so each has its registers
 * once and no stack but that of return addresses.  Elementwise operations are done by the loops
 * that arrays are computed by, or, for those below them in lang_quick.c, by the same machine
 * operation: to the bit as arrays of one element.  docs/language.md tells what texts mean. */
#ifndef BRAZE_LANG_H
#define BRAZE_LANG_H

#include "loops/tier0_ops.h"
#include "ops.h"

#define LANG_TEXT      (64u << 10) /* bytes of a text */
#define LANG_DEPTH     64	   /* of brackets, blocks and signs inside each other */
#define LANG_CHAIN     1024	   /* of operators in a row, and of elif */
#define LANG_NAME      64	   /* bytes of a name, with the 0 */
#define LANG_PARAMS    64	   /* of a kernel, with its results, or of a function */
#define LANG_FUNCTIONS 64
#define LANG_SYMBOLS   4096 /* visible at one place */
#define LANG_REGISTERS (1u << 17)
#define LANG_CODE      (1u << 18)
#define LANG_VIEWS     256	    /* slices, and scalars between them, of one expression */
#define LANG_PRODUCTS  32	    /* products in one expression */
#define LANG_CLAIMED   64	    /* sums of floats that loops of a text claim */
#define LANG_TURNS     4096	    /* of loops between two looks at whether to stop */
#define LANG_ASIDE     (4ull << 30) /* bytes of values that wait until all are computed */

/* ---- Tokens ---- */

enum lang_token_kind { TOKEN_END, TOKEN_LINE, TOKEN_NAME, TOKEN_INT, TOKEN_FLOAT, TOKEN_MARK };

/* Up to three characters of a mark as one number. */
#define LANG_MARK(a, b, c) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16)

struct lang_token {
	enum lang_token_kind kind;
	uint32_t at, bytes, line, column;
	uint32_t mark;
	bool imaginary; /* TOKEN_FLOAT */
	int64_t integer;
	double number;
};

struct lang_lexer {
	const char *text;
	uint32_t bytes, at, line, start; /* start: of the line */
	int open;			 /* brackets and parentheses: lines do not end in them */
};

enum status lang_lex(struct lang_token *out, struct lang_lexer *l, struct err *err) MUST_USE;
/* "line 3, column 7: ..." */
enum status lang_error(struct err *err, enum status code, uint32_t line, uint32_t column,
		       const char *fmt, ...) PRINTF_LIKE(5, 6);

/* ---- The tree ---- */

enum lang_kind {
	NODE_NONE,
	/* Expressions.  Lists of arguments and indices are chained by next. */
	NODE_INT,
	NODE_FLOAT,
	NODE_IMAGINARY,
	NODE_BOOL,
	NODE_NAME,
	NODE_UNARY,  /* op, a */
	NODE_BINARY, /* op, a, b */
	NODE_AND,
	NODE_OR,
	NODE_NOT,
	NODE_CALL,  /* name, a: arguments */
	NODE_INDEX, /* name, a: indices and slices */
	NODE_SLICE, /* a : b : c, each of which may be missing; only among indices */
	/* Statements, chained by next. */
	NODE_LET,    /* name, type or DTYPE_END, a: value */
	NODE_ASSIGN, /* a: target, b: value, op or OP_END */
	NODE_FOR,    /* name, a .. b step c, body; access: lang_claim; integer: names of sums */
	NODE_WHILE,  /* a, body */
	NODE_IF,     /* a, body, b: the next elif, or (access 1) what else does */
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_RETURN, /* a */
	/* Headings. */
	NODE_PARAM, /* name, type, rank, access */
	NODE_FN,    /* name, a: parameters, type, body */
	NODE_KERNEL /* name, a: parameters, b: results, base, body */
};

enum lang_access { ACCESS_IN = 1, ACCESS_OUT = 2, ACCESS_INOUT = 3 };

/* What a text says of a loop. */
enum lang_claim {
	CLAIM_NONE,
	CLAIM_PARALLEL,
	CLAIM_SIMD,
	CLAIM_SEQUENTIAL,
	/* None has said so: each turn does one strip of a loop in all turns of the one around it
	 * (lang_fuse.h). */
	CLAIM_STRIPS
};

struct lang_node {
	uint8_t kind, type, rank, access;
	uint16_t op;
	uint32_t line, column;
	uint32_t name, name_bytes;    /* in the text */
	uint32_t a, b, c, body, next; /* nodes; 0: none */
	int64_t integer;	      /* and a kernel's base */
	double number;
};

struct lang_tree {
	char *text;
	uint32_t bytes, n, cap;
	uint32_t functions, kernel; /* the functions are chained by next */
	struct lang_node node[];
};

enum status lang_parse(struct lang_tree **out, const char *text, size_t bytes,
		       struct err *err) MUST_USE;

/* ---- The program ---- */

enum lang_code {
	CODE_END,
	CODE_MOVE,   /* d = a */
	CODE_OP,     /* d = op(a, b, c) by the loop of type `type` */
	CODE_CAST,   /* d = a, of type `type`, as `to` */
	CODE_JUMP,   /* to d */
	CODE_LOOP,   /* to d, backwards */
	CODE_UNLESS, /* to d, if a is false */
	CODE_WHEN,   /* to d, if a is true */
	CODE_CLAIM,  /* the loop at a is as op says (lang_claim), or the run ends; d counts */
	CODE_RANGE, /* op: lang_claim; d: number, next number, turns left, step; from a to b by c */
	CODE_NEXT,  /* of the range in registers a; to d when there is none */
	CODE_PLACE, /* d: address of the element of array a at registers b ... */
	CODE_LOAD,  /* d = the element at a, of type `type` */
	CODE_STORE, /* the element at d = a, of type `type` */
	CODE_LENGTH, /* d = extent of array a along axis b */
	CODE_VIEW,   /* d: a view (below) of c axes of array a: those of the bits `to` are cut from
		      * start by step to stop, in three of the registers b ..., whose start and
		      * stop are left out by the bits 2 axis and 2 axis + 1 of op; the others have
		      * their index in one register */
	CODE_JOIN,   /* d = what extents a and b are together; op 1: b goes with a, which stays;
		      * 2: they are equal */
	CODE_MEETS,  /* d = may a store to view a change what view b, of elements `to`, has to be
		      * read from, but in the turn that reads it, op 2: in any turn; op 1: or d; c:
		      * their axes, of b << 4 */
	CODE_ASIDE,  /* d: address and strides, of view a of c axes, or of memory aside where b */
	CODE_BACK,   /* what lies aside goes to view a of c axes where b */
	CODE_SPOT,   /* d = address a + b * c bytes */
	CODE_BEGIN,  /* a reduction by op of elements of `type` begins */
	CODE_TAKE,   /* of it the next element, a */
	CODE_SWEEP,  /* of it all elements of view a of c axes */
	CODE_GIVE,   /* d = its value, of type `to` */
	CODE_SUM,    /* the sum c by op of a value of `type` from each turn of a loop begins */
	CODE_ADDEND, /* of it this turn's, a */
	CODE_SUMMED, /* d = it */
	CODE_FUSES,  /* d = may the loop at a do what c loops in a row do, whose starts and stops
		      * are in registers b ...?  op 1: the one around it says so */
	CODE_SEAM,   /* what follows is of the next of those, in op loops around here */
	CODE_CALL,   /* the function at d */
	CODE_RETURN
};

/* A view is 1 + 2 axes registers: the address of its first element, and of each axis its extent and
 * the bytes between neighbours, 0 where it has but one element. */

struct lang_ins {
	uint8_t code, type, to;
	uint16_t op;
	uint32_t d, a, b, c, line;
};

union lang_reg {
	uint64_t bits[2]; /* an element as it is stored, from the first byte on */
	int64_t i;
	double f;
	char *at;
	char byte[16];
};

struct lang_param {
	char name[LANG_NAME];
	uint8_t type, rank, access; /* rank 0: a scalar */
	uint32_t reg;		    /* of a scalar; of an array its number among them */
};

struct lang_const {
	uint32_t reg;
	union lang_reg value;
};

struct lang_program {
	char name[LANG_NAME];
	struct lang_param param[LANG_PARAMS];
	unsigned nparam, nresult; /* the results follow the parameters */
	unsigned narray;
	int64_t base; /* the first index: 0 or 1 */
	struct lang_ins *code;
	struct lang_const *constant;
	uint32_t ncode, nconst, nreg, entry;
	uint32_t cap_code, cap_const;
};

enum status lang_check(struct lang_program **out, const struct lang_tree *tree,
		       struct err *err) MUST_USE;
/* Both, of a text. */
enum status lang_program_of_text(struct lang_program **out, const char *text, size_t bytes,
				 struct err *err) MUST_USE;
void lang_free(struct lang_program *p); /* NULL is fine */
/* The program as lines for people, to be freed with free(); NULL: no memory. */
char *lang_print(const struct lang_program *p);

/* ---- The run ---- */

struct lang_array {
	char *at; /* of element [0,...,0] */
	struct shape shape;
	int64_t stride[LIMIT_NDIM]; /* bytes */
};

/* The first and the last address of the elements' bytes, `bytes` each; of none: of the place of
 * one. */
static inline void lang_array_ends(const char **first, const char **last,
				   const struct lang_array *x, unsigned bytes)
{
	*first = *last = x->at;
	for (unsigned k = 0; k < x->shape.ndim; k++) {
		int64_t far = x->shape.dim[k] ? (x->shape.dim[k] - 1) * x->stride[k] : 0;

		*(far < 0 ? first : last) += far;
	}
	*last += bytes - 1;
}

struct lang_kernel;
/* Not 0: end the run with E_CANCELLED. */
typedef int lang_poll_fn(void *data);

/* Takes the program over, also on failure. */
enum status lang_link(struct lang_kernel **out, struct lang_program *p, const struct tier0_isa *isa,
		      const struct tier0_isa *wide, struct err *err) MUST_USE;
const struct lang_program *lang_program_of(const struct lang_kernel *k);
/* array: of each parameter that is one, in their order; scalar: of each that is none; result: each
 * as it is stored.  What was written before an error stays.  Any number of threads at once. */
enum status lang_run(const struct lang_kernel *k, const struct lang_array *array,
		     const union lang_reg *scalar, union lang_reg *result, lang_poll_fn *poll,
		     void *data, struct err *err) MUST_USE;
void lang_unlink(struct lang_kernel *k); /* NULL is fine */

/* From now on its runs are by machine code that is made at once, before the first, where this
 * processor and the program allow: the same bits and errors.  false: they do not. */
bool lang_quicken(struct lang_kernel *k);

/* ---- Generated code ---- */

/* Elements of a reduction that wait for 1024 of them. */
struct lang_block {
	char *at;
	uint64_t n;
};

#define LANG_FRAME 5 /* changes with what follows, and with what code does with it */

/* What generated code (emit/emit_lang.c) is called with; kernels/lang.h has the same as bz_frame.
 */
struct lang_frame {
	union lang_reg *reg;
	const int64_t *array; /* of each its address, then extents, then strides in bytes */
	/* d = the operation of instruction `at` on a, b, c, each a register. */
	void (*apply)(struct lang_frame *f, uint32_t at, void *d, const void *a, const void *b,
		      const void *c);
	int (*poll)(struct lang_frame *f);
	uint32_t at, axis; /* where it begins (0: at the start), or ended before its end; the
			      axis of a wrong index, */
	int64_t index;	   /* and the index */
	/* Instruction `at` on `reg`; not 0: the run has ended. */
	int (*step)(struct lang_frame *f, uint32_t at);
	struct lang_block *block; /* of the reduction under way, */
	struct lang_block *sum;	  /* and of the sums that loops claim, by their numbers */
	/* The loop of CODE_RANGE `at`, whose registers are set, by several threads: 0: not so, 1:
	 * the run has ended, 2: it is done, and `reg` is as behind it.  NULL: never.  Code that
	 * begins at the CODE_NEXT behind it does the turns that the registers say, and comes back.
	 */
	int (*share)(struct lang_frame *f, uint32_t at);
	uint64_t least;		 /* instructions that are worth asking */
	struct lang_block *left; /* in a part: of each sum whose order has bits what it keeps */
};
/* 0: it came to its end. */
typedef int lang_code_fn(struct lang_frame *f);

/* From now on, runs under way included (at the next turn of their outermost loop), these do the
 * work: `unit` where every array's last axis lies closely.  They must live as long as the kernel.
 */
void lang_attach(struct lang_kernel *k, lang_code_fn *unit, lang_code_fn *any);
bool lang_attached(const struct lang_kernel *k);

/* Threads that do parts of a loop. */
typedef void lang_part_fn(void *data, unsigned part, bool here);
struct lang_team {
	/* How many, with the calling one; least: instructions of a loop that are worth it where
	 * they are awake; now: as they are now. */
	unsigned (*threads)(uint64_t *least, uint64_t *now);
	/* fn for each part, some in other threads; back when all are done.  here: in the calling
	 * thread, which calls idle now and then while it waits. */
	void (*run)(lang_part_fn *fn, void *data, unsigned parts, void (*idle)(void *data));
};
/* Which of its loops may run at once with these arguments, and why the others may not: a line each,
 * to be freed with free(); NULL: no memory. */
char *lang_explain(const struct lang_kernel *k, const struct lang_array *array,
		   const union lang_reg *scalar);
/* From now on loops in a row are run as they are written, in all kernels, or as one where that is
 * the same (lang_fuse.h), as they are at first. */
void lang_keep_apart(bool apart);
/* How many rows of loops of the program may be one loop each. */
unsigned lang_fusions_in(const struct lang_program *p);
/* From now on code of the kernel runs loops by the team, where that changes no bit. */
void lang_join_team(struct lang_kernel *k, const struct lang_team *team);

#endif
