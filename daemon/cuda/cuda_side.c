/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_side.c - the streams that a lane has beside its own.
 *
 * They are made when they are first wanted and are empty between a join and the next
 * fork, so that whoever waits for the lane's own stream, or frees memory in its order,
 * need not know of them.  An event for each stream is enough: a wait is for what was
 * recorded last when it is asked for. */
#include <string.h>

#include "base/log.h"
#include "cuda_worker.h"

static enum status open_one(struct cuda_lane *l, uint32_t i, struct err *err)
{
	struct cuda *c = l->c;
	struct cuda_side *s = &l->side;
	enum status st = cuda_context_check(
		c,
		c->api.cuEventCreate(&s->turn[i], CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING),
		err, "an event of a client's stream");

	if (i == 0)
		s->stream[i] = l->stream;
	else if (st == OK)
		st = cuda_context_check(
			c, c->api.cuStreamCreate(&s->stream[i], CU_STREAM_NON_BLOCKING), err,
			"stream %u of a client", i);
	return st;
}

bool cuda_side_open(struct cuda_lane *l, uint32_t streams)
{
	struct cuda_side *s = &l->side;
	struct err err = {0};

	while (s->open < streams && !s->refused) {
		if (open_one(l, s->open, &err) == OK) {
			s->open++;
			continue;
		}
		log_warn("cuda_side", "steps run one after the other: %s", err.text);
		s->refused = true;
	}
	return s->open >= streams;
}

void cuda_side_close(struct cuda_lane *l)
{
	struct cuda *c = l->c;
	struct cuda_side *s = &l->side;

	for (uint32_t i = 0; i < CUDA_ORDER_STREAMS; i++) {
		if (i && s->stream[i])
			cuda_context_expect(c, c->api.cuStreamDestroy_v2(s->stream[i]),
					    "a client's stream");
		if (s->turn[i])
			cuda_context_expect(c, c->api.cuEventDestroy_v2(s->turn[i]),
					    "an event of a client's stream");
	}
	*s = (struct cuda_side){0};
}

/* What comes on stream `to` waits for all that is on stream `from`. */
static CUresult wait_for(struct cuda_lane *l, uint32_t to, uint32_t from)
{
	struct cuda_side *s = &l->side;
	CUresult rc = l->c->api.cuEventRecord(s->turn[from], s->stream[from]);

	return rc == CUDA_SUCCESS ? l->c->api.cuStreamWaitEvent(s->stream[to], s->turn[from], 0)
				  : rc;
}

enum status cuda_side_fork(struct cuda_lane *l, uint32_t streams, struct err *err)
{
	enum status st = OK;

	memset(l->side.known, 0, sizeof l->side.known);
	for (uint32_t i = 1; i < streams && st == OK; i++)
		st = cuda_context_check(l->c, wait_for(l, i, 0), err, "parting streams");
	return st;
}

enum status cuda_side_follow(struct cuda_lane *l, const struct cuda_order *o, uint32_t i,
			     struct err *err)
{
	uint32_t to = o->step[i].stream;
	enum status st = OK;

	for (uint32_t k = 0; k < i && st == OK; k++) {
		uint32_t from = o->step[k].stream;

		if (from == to || !cuda_order_has(&o->step[i].after, k) ||
		    l->side.known[to][from] > k)
			continue;
		st = cuda_context_check(l->c, wait_for(l, to, from), err, "ordering two steps");
		l->side.known[to][from] = i; /* all that were launched so far */
	}
	return st;
}

void cuda_side_join(struct cuda_lane *l, uint32_t streams)
{
	for (uint32_t i = 1; i < streams; i++) {
		CUresult rc = wait_for(l, 0, i);

		if (rc == CUDA_SUCCESS)
			continue;
		cuda_context_expect(l->c, rc, "joining streams");
		cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->side.stream[i]),
				    "joining streams");
	}
}
