/* SPDX-License-Identifier: Apache-2.0 */
/* nest/prog.h - the working form between partition and plan.
 *
 * A list of units (one nest or one library call each) over storage slots, in an
 * order that keeps every dependence.  Owned by compilepart_run, used by one
 * thread; every pass changes it in place and leaves it valid. */
#ifndef BRAZE_PROG_H
#define BRAZE_PROG_H

#include "form/plan.h"
#include "form/depend.h"

struct prog_slot {
	uint64_t bytes;
	uint32_t input;	 /* the input value that lies here at the start, or PART_NONE */
	uint32_t value;	 /* the last value that lies here, or PART_NONE */
	uint32_t nread;	 /* load instructions and library operands that read it */
	uint32_t writer; /* id of the unit lowered last that writes it, or PART_NONE */
	uint8_t keep;	 /* an input or an output lies here: its stores must stay */
	uint8_t empty;	 /* bytes that nobody wrote may be read: of EMPTY */
};

/* Bit sets over the accesses of a nest. */
typedef uint32_t access_set;
_Static_assert(LIMIT_NEST_ACCESSES <= 32, "access_set has a bit for each access");
_Static_assert(CALL_OPERANDS <= LIMIT_NEST_ACCESSES, "a unit has a range for each operand");

struct prog_unit {
	struct nest *nest;		    /* or: */
	struct plan_call *call;		    /* a library step */
	uint32_t id;			    /* in lowering order; survives as the unit grows */
	uint32_t pos;			    /* index in prog.unit */
	uint64_t reads, writes;		    /* one bit per slot number modulo 64: a filter */
	access_set in[LIMIT_NEST_SECTIONS]; /* accesses that a section's instructions use */
	uint16_t naccess;
	uint32_t slot[LIMIT_NEST_ACCESSES];
	uint8_t write[LIMIT_NEST_ACCESSES];
	int64_t lo[LIMIT_NEST_ACCESSES], hi[LIMIT_NEST_ACCESSES]; /* byte range */
	int64_t move[LIMIT_NEST_ACCESSES];			  /* of it with each turn */
};

struct prog_note {
	uint32_t later, earlier; /* unit ids */
	uint8_t reason;		 /* enum fuse_reason */
};

#define PROG_NOTES 512 /* refusals kept; further ones are dropped */

struct prog {
	const struct part *part;
	struct prog_slot *slot;
	uint32_t nslot, slot_cap;
	uint32_t *value_slot; /* [value] */
	uint8_t *copy;	      /* [op]: an ASSIGN that must copy the old version first */
	struct prog_unit **unit;
	uint32_t nunit, unit_cap, next_id;
	uint32_t *owner; /* [unit id]: id of the unit that holds its code now */
	uint32_t owner_cap;
	struct prog_note note[PROG_NOTES];
	uint32_t nnote;
	int64_t budget;	   /* fusion steps left */
	bool contracting;  /* fusion may forward and drop temporaries */
	struct plan *plan; /* made by the last pass */
};

struct prog *prog_create(const struct part *part);
void prog_destroy(struct prog *p);
/* A new slot for a temporary; its number. */
uint32_t prog_slot(struct prog *p, uint64_t bytes);
/* A new unit at the end of the list, with an empty nest, or for a library step. */
struct prog_unit *prog_unit(struct prog *p, bool call);
/* What is lowered now reads and writes these: before prog_summarise. */
void prog_count_call(struct prog *p, const struct prog_unit *u);
/* Free a unit that has left the list. */
void prog_unit_free(struct prog_unit *u);
/* Derive the unit's summary (ranges, filters, sets) after a change. */
void prog_summarise(struct prog_unit *u);
/* May the bytes of access i of a and j of b meet, in this turn or in a later one?  By ranges. */
bool prog_meet(const struct prog_unit *a, unsigned i, const struct prog_unit *b, unsigned j);
/* depend_test for two accesses, one of which writes, in any turn. */
struct depend prog_depend(const struct prog *p, const struct depend_access *a,
			  const struct depend_access *b, const int64_t *extent, unsigned nloop,
			  unsigned nsame);
/* Must a and b keep their order?  Decided on byte ranges: may say yes too often. */
bool prog_conflict(const struct prog_unit *a, const struct prog_unit *b);
/* The unit whose code holds what was lowered as `id`. */
uint32_t prog_owner(struct prog *p, uint32_t id);
void prog_note_add(struct prog *p, uint32_t later, uint32_t earlier, enum fuse_reason reason);
/* Text of every unit, on the heap. */
char *prog_text(const struct prog *p);

/* The passes, in this order; compilepart.c lists them. */
enum status storage_run(struct prog *p, struct err *err) MUST_USE;
enum status lower_run(struct prog *p, struct err *err) MUST_USE;
enum status fuse_run(struct prog *p, struct err *err) MUST_USE;
enum status split_run(struct prog *p, struct err *err) MUST_USE;
enum status contract_run(struct prog *p, struct err *err) MUST_USE;
enum status simplify_run(struct prog *p, struct err *err) MUST_USE;
enum status share_run(struct prog *p, struct err *err) MUST_USE;
enum status collapse_run(struct prog *p, struct err *err) MUST_USE;
enum status finish_run(struct prog *p, struct err *err) MUST_USE;

#endif
