/* SPDX-License-Identifier: Apache-2.0 */
/* proto/ops.h - the op, dtype and error tables as C, and the rules that client
 * and daemon must agree on: result types, broadcasting, view bounds.
 *
 * Pure functions over constant tables: any thread.  Linked, hidden, into both
 * the daemon and libbraze.  Fallible functions return enum status and fill
 * *err, the last argument, once. */
#ifndef BRAZE_OPS_H
#define BRAZE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

#define MUST_USE	  __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

enum status {
	OK = 0,
#define ERROR(code, id, py, text) E_##id = code,
#include "errors.def"
#undef ERROR
	STATUS_END
};

/* One failure: the code, and one line that says what, where and what to do. */
struct err {
	enum status code;
	char text[LIMIT_ERROR_TEXT];
};

/* Fill *e (if not NULL) and return code, for `return err_set(err, E_X, ...)`. */
enum status err_set(struct err *e, enum status code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Put "context: " before the message that is there; returns its code. */
enum status err_context(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
const char *status_name(enum status s);	  /* "E_SHAPE" */
const char *status_python(enum status s); /* "ValueError" */
const char *status_text(enum status s);	  /* what it means */

enum dtype_class { CLASS_BOOL, CLASS_INT, CLASS_UINT, CLASS_FLOAT, CLASS_COMPLEX };

enum dtype {
#define DTYPE(wire, id, name, bytes, cls, ctype, sfx, chr) DT_##id = wire,
#include "dtypes.def"
#undef DTYPE
	DTYPE_END
};
/* Of tables that calls look into: a row's place is sooner found where it is a power of two. */
#define DTYPE_ROOM 16
_Static_assert(DTYPE_END <= DTYPE_ROOM, "each type has a place");

struct dtype_row {
	const char *name;   /* "float64" */
	const char *ctype;  /* "double"; of one component for complex types */
	const char *suffix; /* "f64" */
	uint8_t bytes;
	uint8_t cls; /* enum dtype_class */
	char chr;    /* NumPy's type character */
};
/* Row of a dtype; NULL when d is none. */
extern const struct dtype_row dtype_rows[DTYPE_END];
static inline const struct dtype_row *dtype_row(unsigned d)
{
	return d < DTYPE_END ? &dtype_rows[d] : NULL;
}
static inline bool dtype_native(unsigned d) /* is d an element type? */
{
	return d < DTYPE_END;
}

/* Are there loops of it?  bfloat16 has casts only: the loops of float32 are its (op_infer). */
static inline bool dtype_computes(unsigned d)
{
	return dtype_native(d) && d != DT_BFLOAT16;
}

enum op_kind {
	KIND_CTL,
	KIND_MOVE,
	KIND_WRITE,
	KIND_CREATE,
	KIND_EW,
	KIND_RED,
	KIND_ARGRED,
	KIND_SCAN,
	KIND_LIB,
	KIND_GATHER,
	KIND_SORT,
	KIND_JOIN,
	KIND_DRAW,
	KIND_SEARCH,
	KIND_CHOSEN,
	KIND_FOURIER,
	KIND_LANE, /* along one axis, as long as that: a library step of its own */
	KIND_SOLVER,
	KIND_GRID
};

/* How the loop types and the result type follow from the operands' types. */
enum op_rule {
	RULE_NONE,	 /* no computation */
	RULE_HEAD,	 /* result is the dtype named in the op's head */
	RULE_ASSIGN,	 /* operand 1 is cast to operand 0's type, whatever that loses */
	RULE_PROMOTE,	 /* common type in and out */
	RULE_NUMERIC,	 /* the same; bool is refused (TypeError) */
	RULE_ARITH,	 /* the same; bool becomes int8 */
	RULE_REAL_ARITH, /* as ARITH; complex is refused */
	RULE_DIVIDE,	 /* integers become float64 */
	RULE_FLOAT,	 /* integers become the float that holds them (8 bit: float16) */
	RULE_FLOAT_REAL, /* the same; complex is refused */
	RULE_ROUND,	 /* integers and bool unchanged; complex refused */
	RULE_ABS,	 /* complex gives its component type; else unchanged */
	RULE_TEST,	 /* any type in, bool out */
	RULE_TEST_REAL,	 /* real types in (integers as floats), bool out */
	RULE_COMPARE,	 /* common type in, bool out */
	RULE_LOGICAL,	 /* every operand to bool (x != 0), bool out */
	RULE_BITWISE,	 /* integers and bool */
	RULE_SHIFT,	 /* integers; bool becomes int8 */
	RULE_PART,	 /* complex gives its component type; real unchanged */
	RULE_WHERE,	 /* operand 0 to bool; common type of the others */
	RULE_SUM,	 /* bool and small integers become int64 / uint64 */
	RULE_KEEP,	 /* unchanged */
	RULE_ARG,	 /* any ordered type in (sorts: complex, too), int64 out */
	RULE_MATMUL,	 /* common type */
	RULE_INDEX,	 /* integers as int64, int64 out */
	RULE_TAKE,	 /* the first operand's; the second one's are integers */
	RULE_FOURIER,	 /* complex to complex, to real or from real, of one precision */
	RULE_SOLVER	 /* single or double precision, unchanged */
};

#define ALG_COMM 1u /* operands may be swapped */

/* Arity of an operation on a list: 1 to LIMIT_OPERANDS.  Others have OP_OPERANDS at most. */
#define OP_LIST	    15
#define OP_OPERANDS 3

enum op {
#define OP(wire, id, np, kind, arity, rule, alg, stem, cost) OP_##id = wire,
#include "ops.def"
#undef OP
	OP_END = 257
};

struct op_row {
	const char *id;	   /* "ADD"; NULL in a row that is no op */
	const char *numpy; /* "add"; "" when NumPy has no such function */
	const char *stem;  /* "add": bz_add_f64 */
	uint8_t kind;	   /* enum op_kind */
	uint8_t arity;
	uint8_t rule; /* enum op_rule */
	uint8_t algebra;
	uint8_t cost;
};
/* By wire number; rows of what is no op are 0. */
extern const struct op_row op_rows[OP_END];
/* Row of a wire number; NULL when it is no op. */
static inline const struct op_row *op_row(unsigned wire)
{
	return wire < OP_END && op_rows[wire].id ? &op_rows[wire] : NULL;
}

/* Its name for people: NumPy's, else ours. */
const char *op_text(unsigned wire);
/* FNV-1a over every row's text: client and daemon compare it at hello. */
uint64_t op_table_hash(void);

/* An operand as the type rules see it.  weak: a Python number, whose class
 * counts but whose size gives way to any array's of the same class (NEP 50). */
struct op_arg {
	uint8_t dtype;
	bool weak;
};

/* What a kernel loop computes: operand k is cast to in[k], result is out. */
struct op_sig {
	uint8_t in[3];
	uint8_t out;
};

/* Common type of two, by NumPy's lattice (NEP 50; weak as above). */
enum dtype dtype_promote(struct op_arg a, struct op_arg b);
/* The same of n, in NumPy's order of looking at them. */
enum dtype dtype_common(const struct op_arg *arg, int n);
/* May `from` be cast to `to` under casting="same_kind"? */
bool dtype_same_kind(enum dtype from, enum dtype to);
/* Does the integer type hold x?  True for types that are no integers. */
bool dtype_holds(enum dtype d, int64_t x);
#define DRAW_LENGTH 8 /* words of a state that random numbers are drawn from */
/* Are there random numbers of that type? */
bool op_draws(enum op op, unsigned dtype);
/* Loop signature of an op on operands of these types; head: the dtype in the
 * op's head (for RULE_HEAD; for RULE_SUM a wanted accumulator, DTYPE_END for
 * none).  E_DTYPE where NumPy raises TypeError; E_UNSUPPORTED where NumPy works
 * but braze has no loop (complex order, int64 against uint64). */
enum status op_infer(struct op_sig *out, enum op op, const struct op_arg *arg, unsigned head,
		     struct err *err) MUST_USE;

/* Elements of the axis along which an operand has n, once it is transformed; 0: it has no transform
 * of `length`.  Those of real numbers have half as many, and the first, on the other side. */
int64_t op_transformed(enum op op, int64_t n, int64_t length);

/* How exact products of float32 and complex64 have to be, which is said in the dtype's place of a
 * MATMUL's head: at full precision (of an earlier client, always), or by the tensor cores of a GPU
 * that has them, from operands rounded to TF32 (eight bits of exponent, ten of mantissa). */
enum precision { PRECISION_TF32 = 1, PRECISION_FULL = 255 };

/* Shape of at most LIMIT_NDIM axes, in elements. */
struct shape {
	uint8_t ndim;
	int64_t dim[LIMIT_NDIM];
};

static inline bool shape_equal(const struct shape *a, const struct shape *b)
{
	if (a->ndim != b->ndim)
		return false;
	for (unsigned i = 0; i < a->ndim; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}
/* Broadcast b into *io (NumPy's rules); E_SHAPE when they do not fit. */
enum status shape_broadcast(struct shape *io, const struct shape *b, struct err *err) MUST_USE;
/* Elements; E_LIMIT when they pass LIMIT_ARRAY_BYTES at `bytes` an element, or, of an
 * empty array, when its strides would pass 64 bits. */
enum status shape_count(int64_t *out, const struct shape *s, unsigned bytes,
			struct err *err) MUST_USE;
/* Result shape of reducing the axes in the bit mask; E_AXIS for unknown bits. */
enum status shape_reduce(struct shape *out, const struct shape *s, uint32_t axes, bool keepdims,
			 struct err *err) MUST_USE;
/* Result shape of NumPy's matmul. */
enum status shape_matmul(struct shape *out, const struct shape *a, const struct shape *b,
			 struct err *err) MUST_USE;
/* The distinct extents of several arrays, as the loops of a library step that has all of them
 * (OP_GRID). */
struct shape_loops {
	unsigned n;
	int64_t extent[LIMIT_NDIM];
};
/* One array more: each axis takes the first loop of its extent that the array has not taken, else a
 * new one.  *at: of axis k the loop, in the four bits from 4 k on.  false: there are too many. */
bool shape_loops_add(struct shape_loops *l, uint32_t *at, const struct shape *s) MUST_USE;
/* "(3,4)" into buf, for messages; returns buf. */
const char *shape_text(const struct shape *s, char *buf, size_t n);

/* A view: element type, shape, byte strides (any sign) and byte offset of
 * element [0,...,0] from the start of its buffer. */
struct view {
	uint8_t dtype;
	struct shape shape;
	int64_t stride[LIMIT_NDIM]; /* bytes */
	int64_t offset;		    /* bytes */
	int64_t move;		    /* bytes that offset grows by from turn to turn of a loop;
				       in the daemon's plans only */
};

/* C-contiguous view of a whole buffer.  Here as everywhere, what lies behind the
 * last axis is unspecified. */
void view_init(struct view *v, enum dtype d, const struct shape *s);
/* As an assignment, but moves only the axes in use. */
static inline void view_copy(struct view *out, const struct view *v)
{
	out->dtype = v->dtype;
	out->offset = v->offset;
	out->shape.ndim = v->shape.ndim;
	for (unsigned i = 0; i < v->shape.ndim; i++) {
		out->shape.dim[i] = v->shape.dim[i];
		out->stride[i] = v->stride[i];
	}
}
/* Lowest byte touched and one past the highest; lo == hi for an empty view. */
enum status view_range(int64_t *lo, int64_t *hi, const struct view *v, struct err *err) MUST_USE;
/* Prove that every element lies inside [0, bytes). */
enum status view_check(const struct view *v, uint64_t bytes, struct err *err) MUST_USE;
/* May v lie on an array of type have?  Bytes may be read as any type, and where the
 * type differs each component lies on a multiple of its size from the buffer's start. */
enum status view_retype(const struct view *v, enum dtype have, struct err *err) MUST_USE;
/* C-contiguous? (axes of extent 1 do not count) */
bool view_contiguous(const struct view *v);
/* Stretch v to shape s with stride 0 on the stretched axes. */
enum status view_broadcast(struct view *out, const struct view *v, const struct shape *s,
			   struct err *err) MUST_USE;

#endif
