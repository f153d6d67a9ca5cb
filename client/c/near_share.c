/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_share.c - near loops on all of the process's cores.
 *
 * In:  a loop over elements that have nothing to do with each other, and its predicted work.  Out:
 * all are done, by this thread or by it and the team of kernels' loops (team.h). */
#include "near.h"
#include "near_walk.h"
#include "team.h"

#define PARTS		   4	 /* for each thread, so that one that comes late does less */
#define PART_WORK	   30000 /* of a part at least, in tenths of a nanosecond */
#define THREADS_MAX	   8	 /* that a prediction counts on: more want for memory */
#define INSTRUCTIONS(work) ((work)*4 / 5) /* what the team counts in: eight a nanosecond */

struct share {
	near_part_fn *fn;
	void *data;
	int64_t n, grain;
	unsigned parts;
};

static int64_t begin_of(const struct share *s, unsigned part)
{
	int64_t grains = (s->n + s->grain - 1) / s->grain;
	int64_t at = grains * part / s->parts * s->grain;

	return at < s->n ? at : s->n;
}

static void run_part(void *data, unsigned part, bool here)
{
	const struct share *s = data;
	unsigned mode = near_enter();

	(void)here;
	s->fn(s->data, begin_of(s, part), begin_of(s, part + 1));
	near_leave(mode);
}

static void no_news(void *data)
{
	(void)data;
}

void near_share(near_part_fn *fn, void *data, int64_t n, int64_t grain, uint64_t work)
{
	struct share s = {fn, data, n, grain, 1};

	if (work >= PART_WORK && team_worth(INSTRUCTIONS(work))) {
		uint64_t threads = team_threads(), most = work / PART_WORK;

		s.parts = most < threads * PARTS ? (unsigned)most : (unsigned)threads * PARTS;
		client_team.run(run_part, &s, s.parts, no_news);
	} else {
		run_part(&s, 0, true);
	}
}

uint64_t near_shared(uint64_t work)
{
	unsigned threads;

	if (work < NEAR_SHARE || work == NEAR_NEVER)
		return work;
	threads = team_threads();
	return work / (threads < THREADS_MAX ? threads : THREADS_MAX);
}
