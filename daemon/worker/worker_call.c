/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_call.c - a slice of a library step: checked, its operands found, done. */
#include "steps.h"
#include "worker.h"

typedef enum status call_fn(const struct worker_call *x, struct err *err);

static call_fn *const run[CALL_END] = {
#define CALL(ID, stem, ...) [CALL_##ID] = worker_##stem,
#include "call/calls.def"
#undef CALL
};

/* Address of every operand, with the proof that all of it lies in the region. */
static enum status resolve(struct worker_call *x, struct err *err)
{
	enum status st = OK;

	for (uint32_t i = 0; i < x->cmd->naccess && st == OK; i++) {
		int64_t lo = 0, hi = 0;

		call_range(&lo, &hi, &x->call, i);
		st = region_resolve(&x->base[i], &x->w->regions, &x->place[i], lo, hi, err);
	}
	return st;
}

enum status worker_call(struct worker *w, const struct command_step *cmd, struct err *err)
{
	struct worker_call x = {.w = w,
				.cmd = cmd,
				.place = (const struct command_place *)(cmd + 1),
				.lo = cmd->lo,
				.hi = cmd->hi};
	enum status st = steps_call(&x.call, cmd, err);
	struct call_units u;

	if (st == OK)
		st = resolve(&x, err);
	if (st != OK)
		return st;
	call_row(x.call.call)->units(&u, &x.call, false);
	if (cmd->whole)
		x.hi = u.total;
	if (x.lo < 0 || x.lo > x.hi || x.hi > u.total)
		return err_set(err, E_INTERNAL, "units [%lld, %lld) of a %s of %lld",
			       (long long)x.lo, (long long)x.hi, call_row(x.call.call)->name,
			       (long long)u.total);
	return x.lo < x.hi ? run[x.call.call](&x, err) : OK;
}
