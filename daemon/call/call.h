/* SPDX-License-Identifier: Apache-2.0 */
/* call/call.h - library steps: what is no loop nest, but code of its own.
 *
 * A call has loops, and operands with a stride along each of them, as a nest has; what is
 * done inside is the call's own.  calls.def lists them.  What broker and workers must agree
 * on, above all how a step is cut, stands in call/<stem>.h.
 * Plain data: the packet to a worker carries it as it is. */
#ifndef BRAZE_CALL_H
#define BRAZE_CALL_H

#include <stddef.h>

#include "ops.h"

struct textbuf;

enum call_id {
#define CALL(ID, ...) CALL_##ID,
#include "calls.def"
#undef CALL
	CALL_END
};

/* What GPUs have for a call.  Where a device has nothing a plan with it runs on the processor. */
enum call_devices {
	GPU_NONE,    /* lists are joined by nests there */
	GPU_CODE,    /* a library, or code of ours, which is compiled for each type */
	GPU_FOURIER, /* a library of Fourier transforms only */
	GPU_SOLVER   /* a library of factors only */
};

#define CALL_OPERANDS 32 /* of any call, at most; of those without a list 4 */
#define CALL_LIST     0	 /* operands of a row: as many as the call says */
#define CALL_SCALARS  40 /* numbers of any call, at most */

struct call_operand {
	uint32_t slot; /* of the plan */
	uint32_t dtype;
	int64_t offset;		    /* bytes from the slot's start to the first element */
	int64_t move;		    /* bytes it is further on with each turn (part.move) */
	int64_t run;		    /* elements side by side at each point; 0: one */
	int64_t at;		    /* what it is for is the call's own */
	int64_t stride[LIMIT_NDIM]; /* bytes per step of each loop; 0 where constant */
};

struct plan_call {
	uint8_t call;  /* enum call_id */
	uint8_t dtype; /* that it computes in */
	uint8_t nloop;
	uint8_t noperand; /* CALL_LIST */
	uint8_t counted;  /* bit mask of loops whose extents were counted: each run's are its own */
	uint8_t tf32;	  /* of a product: operands may be rounded so */
	uint16_t op;	  /* OP_*, where the call serves several */
	uint8_t hint;	  /* of a grid: the logarithm of how many instructions it does */
	uint8_t nscalar;
	uint32_t grid;		       /* number of the loop that it does (form/grid.h); 0: none */
	uint32_t scalar[CALL_SCALARS]; /* which of the partition's immediates */
	int64_t extent[LIMIT_NDIM];
	struct call_operand operand[CALL_OPERANDS]; /* call_operands() of them */
};

/* What the code of a GPU for a call follows from: all but its sizes and layout. */
#define CALL_KIND_OPERANDS 4
struct call_kind {
	uint8_t call; /* CALL_END: of none */
	uint8_t dtype;
	uint16_t op;
	uint8_t operand[CALL_KIND_OPERANDS]; /* types; of a list the first ones */
};

/* How a step is cut.  Units are numbered from 0; a slice is a range of them. */
struct call_units {
	int64_t total;
	uint64_t work; /* of each */
	int64_t grain; /* a slice should be a multiple of so many, but for the last */
	bool kept;     /* what is begun lies in the worker's memory */
};

struct call_row {
	const char *name;
	uint8_t noperand; /* or CALL_LIST */
	uint32_t written; /* bit mask of operands */
	uint8_t devices;  /* enum call_devices */
	double work_ns;
	/* Of a call whose loops and types are sound: are they what it can do? */
	enum status (*check)(const struct plan_call *c, struct err *err);
	/* What its time grows with, at most UINT64_MAX / 2. */
	uint64_t (*work)(const struct plan_call *c);
	/* Predicted microseconds, without what any step costs. */
	double (*us)(const struct plan_call *c);
	/* On the processor, or on another device. */
	void (*units)(struct call_units *out, const struct plan_call *c, bool device);
	/* For people, in a few words with the sizes. */
	void (*put_name)(struct textbuf *t, const struct plan_call *c);
	/* As golden tests have it: sizes, then a line for each operand. */
	void (*print)(struct textbuf *t, const struct plan_call *c);
};

/* NULL: there is none of this number. */
const struct call_row *call_row(unsigned call);

/* The call that an operation becomes; CALL_END: none, or a loop nest. */
enum call_id call_of_op(unsigned op);

static inline unsigned call_operands(const struct plan_call *c)
{
	unsigned n = call_row(c->call)->noperand;

	return n == CALL_LIST ? c->noperand : n;
}

void call_kind(struct call_kind *out, const struct plan_call *c);

/* Bytes of a call with so many operands, of those that follow no more is carried. */
static inline size_t call_bytes(unsigned operands)
{
	return offsetof(struct plan_call, operand) + operands * sizeof(struct call_operand);
}

/* Does operand x move along loop l?  All but those of a grid move along each, if only by 0 bytes.
 */
bool call_has_loop(const struct plan_call *c, unsigned x, unsigned l);

static inline bool call_writes(const struct plan_call *c, unsigned operand)
{
	return call_row(c->call)->written >> operand & 1;
}

/* Bytes that operand x touches around its first element: [*lo, *hi), nothing where a loop has no
 * turn.  For calls that were checked. */
void call_range(int64_t *lo, int64_t *hi, const struct plan_call *c, unsigned x);
/* Is there such a call, for loops, types and a reach as these are?  Comes before every other use.
 */
enum status call_check(const struct plan_call *c, struct err *err) MUST_USE;
/* Extents, then a line for each operand with its strides; what: names of the operands, or NULL:
 * "in" and "out". */
void call_print_layout(struct textbuf *t, const struct plan_call *c, const char *const *what);
/* What the time of a call depends on, as a text: its name, sizes and layout. */
void call_key(struct textbuf *t, const struct plan_call *c);
_Static_assert(LIMIT_NDIM <= 8, "a bit of `counted` for each loop");

/* What each row of calls.def names, as struct call_row has it. */
#define CALL(ID, stem, ...)                                                                        \
	enum status stem##_check(const struct plan_call *c, struct err *err) MUST_USE;             \
	uint64_t stem##_work(const struct plan_call *c);                                           \
	double stem##_us(const struct plan_call *c);                                               \
	void stem##_units(struct call_units *out, const struct plan_call *c, bool device);         \
	void stem##_name(struct textbuf *t, const struct plan_call *c);                            \
	void stem##_print(struct textbuf *t, const struct plan_call *c);
#include "calls.def"
#undef CALL

#endif
