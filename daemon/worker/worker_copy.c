/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_copy.c - bytes from one place of a region to another, which do not meet. */
#include <string.h>

#include "pages.h"
#include "worker.h"

#define PIECE (1 << 20)

struct copy {
	struct worker *w;
	const struct command_step *cmd;
	char *from, *to;
};

static void copy_piece(void *data, int thread, int64_t unit)
{
	const struct copy *c = data;
	int64_t at = unit * PIECE, n = c->cmd->hi - at;

	if (bz_cancelled(&c->w->cancel))
		return;
	worker_unit_begin(c->w, c->cmd, thread);
	memcpy(c->to + at, c->from + at, (size_t)(n < PIECE ? n : PIECE));
	worker_unit_end(c->w, thread);
}

enum status worker_copy(struct worker *w, const struct command_step *cmd, struct err *err)
{
	const struct command_place *place = (const struct command_place *)(cmd + 1);
	struct copy c = {.w = w, .cmd = cmd};
	enum status st = OK;

	if (cmd->lo != 0 || cmd->hi < 0)
		return err_set(err, E_INTERNAL, "a copy of bytes [%lld, %lld)", (long long)cmd->lo,
			       (long long)cmd->hi);
	st = region_resolve(&c.from, &w->regions, &place[0], 0, cmd->hi, err);
	if (st == OK)
		st = region_resolve(&c.to, &w->regions, &place[1], 0, cmd->hi, err);
	if (st != OK)
		return st;
	if (cmd->hi >= PAGES_LEAST)
		region_back(&w->regions, &place[1], 0, cmd->hi);
	pool_run(w->pool, copy_piece, &c, (cmd->hi + PIECE - 1) / PIECE, worker_poll, w);
	if (bz_cancelled(&w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside a copy");
	return OK;
}
