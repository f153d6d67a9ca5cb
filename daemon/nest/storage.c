/* SPDX-License-Identifier: Apache-2.0 */
/* nest/storage.c - a slot for every value.
 *
 * A value that replaces part of another takes over its slot when the partition
 * allows it (take) and nothing reads the older one afterwards; otherwise it gets
 * a slot of its own, and the op is marked to copy what it does not cover. */
#include <stdlib.h>

#include "prog.h"

/* Does the destination view touch every byte of its buffer?  Its elements are
 * distinct (lower.c refuses others), so counting them is enough. */
static bool covers(const struct part *part, const struct part_op *o)
{
	struct view v;
	uint64_t n;

	part_view(&v, part, &o->out);
	n = dtype_row(v.dtype)->bytes;
	for (unsigned k = 0; k < v.shape.ndim; k++)
		n *= (uint64_t)v.shape.dim[k];
	return n == part->value[o->out.value].bytes;
}

/* Are there bytes of the older value that the op reads, or leaves?  A loop may read all that it
 * writes, and nobody knows what it writes. */
static bool carries_over(const struct part *part, const struct part_op *o,
			 const struct part_value *prev)
{
	return o->op == OP_GRID || (!prev->undefined && !covers(part, o));
}

static void place(struct prog *p, uint32_t k, const uint32_t *last)
{
	const struct part *part = p->part;
	const struct part_op *o = &part->op[k];
	uint32_t id = o->out.value;
	const struct part_value *v = &part->value[id];
	const struct part_value *prev = v->prev == PART_NONE ? NULL : &part->value[v->prev];
	uint32_t s;

	if (prev && part_takes(part, k, last)) {
		s = p->value_slot[v->prev];
	} else {
		s = prog_slot(p, v->bytes);
		p->copy[k] = prev && carries_over(part, o, prev);
		p->slot[s].empty = v->undefined || (prev && !p->copy[k] && !covers(part, o));
	}
	p->slot[s].value = id;
	p->slot[s].keep |= v->role == PART_OUTPUT;
	p->value_slot[id] = s;
}

enum status storage_run(struct prog *p, struct err *err)
{
	const struct part *part = p->part;
	uint32_t *last = part_last_uses(part);

	for (uint32_t v = 0; v < part->nvalue; v++) {
		uint32_t s;

		if (part->value[v].role != PART_INPUT)
			continue;
		s = prog_slot(p, part->value[v].bytes);
		p->slot[s].input = p->slot[s].value = v;
		p->slot[s].keep = 1;
		p->value_slot[v] = s;
	}
	for (uint32_t k = 0; k < part->nop; k++)
		place(p, k, last);
	free(last);
	return OK;
}
