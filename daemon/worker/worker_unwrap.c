/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_unwrap.c - a slice of an unwrapping of angles on the pool.
 *
 * Threads take lanes, short ones many at a time.  What NumPy does in passes over the whole array
 * is done here element by element, with the same operations in the same order: the same bits. */
#include <math.h>
#include <string.h>

#include "call/unwrap.h"
#include "worker.h"

#define SERIAL_NS     50000	/* a slice predicted below this is not worth waking threads */
#define UNIT_ELEMENTS (1 << 15) /* that a thread takes at a time, where lanes are short */

/* Of a lane until now: what its turns come to, and its last element.  A double holds a float. */
struct so_far {
	double sum, last;
};

/* What the pool's threads see of the step. */
struct unwrap_step {
	const struct worker_call *x;
	struct lanes lanes;
	int64_t blocks;	     /* of a lane */
	int64_t grain;	     /* lanes that a thread takes */
	struct so_far begun; /* the first lane before the slice */
	struct so_far left;  /* the last lane behind it */
};

/* Elements [at, end) of a lane, whose result may lie where it lies. */
#define UNWRAP(T, name, mod, size)                                                                 \
	static T turn_##name(T d)                                                                  \
	{                                                                                          \
		const T half = (T)M_PI, whole = (T)(2 * M_PI);                                     \
		T m = mod(d + half, whole);                                                        \
                                                                                                   \
		m = m < 0 ? m + whole : m == 0 ? 0 : m;                                            \
		m -= half;                                                                         \
		return (m == -half && d > 0 ? half : m) - d;                                       \
	}                                                                                          \
	static void lane_##name(const struct lanes *l, const char *from, char *to, int64_t at,     \
				int64_t end, struct so_far *s)                                     \
	{                                                                                          \
		T last = (T)s->last, sum = (T)s->sum, x = 0;                                       \
                                                                                                   \
		for (int64_t i = at; i < end; i++) {                                               \
			memcpy(&x, from + i * l->from_step, sizeof x);                             \
			T d = x - last, y = x;                                                     \
                                                                                                   \
			if (i) {                                                                   \
				sum += size(d) < (T)M_PI ? 0 : turn_##name(d);                     \
				y += sum;                                                          \
			}                                                                          \
			memcpy(to + i * l->to_step, &y, sizeof y);                                 \
			last = x;                                                                  \
		}                                                                                  \
		*s = (struct so_far){(double)sum, (double)last};                                   \
	}
UNWRAP(float, f32, fmodf, fabsf)
UNWRAP(double, f64, fmod, fabs)

static void lane_of(const struct lanes *l, int64_t lane, const char **from, char **to)
{
	for (int k = l->axes; k-- > 0; lane /= l->extent[k]) {
		*from += lane % l->extent[k] * l->from_lane[k];
		*to += lane % l->extent[k] * l->to_lane[k];
	}
}

/* The slice's blocks of a lane. */
static void one_lane(struct unwrap_step *s, int thread, int64_t lane)
{
	const struct worker_call *x = s->x;
	int64_t first = lane * s->blocks, lo = x->lo > first ? x->lo - first : 0;
	int64_t hi = x->hi - first < s->blocks ? x->hi - first : s->blocks;
	struct so_far state = {.sum = -0.0}; /* which changes nothing it is added to */
	const char *from = x->base[0];
	char *to = x->base[1];

	if (lo)
		state = s->begun;
	lane_of(&s->lanes, lane, &from, &to);
	for (int64_t b = lo; b < hi && !bz_cancelled(&x->w->cancel); b++) {
		int64_t at = b * UNWRAP_BLOCK, end = at + UNWRAP_BLOCK;

		end = end < s->lanes.n ? end : s->lanes.n;
		if (x->call.dtype == DT_FLOAT32)
			lane_f32(&s->lanes, from, to, at, end, &state);
		else
			lane_f64(&s->lanes, from, to, at, end, &state);
		if (thread == 0 && b + 1 < hi)
			worker_poll(x->w);
	}
	if (hi < s->blocks)
		s->left = state;
}

static void unit(void *data, int thread, int64_t number)
{
	struct unwrap_step *s = data;
	int64_t begin = s->x->lo / s->blocks + number * s->grain;
	int64_t last = (s->x->hi - 1) / s->blocks, end = begin + s->grain;

	worker_unit_begin(s->x->w, s->x->cmd, thread);
	for (int64_t lane = begin; lane < end && lane <= last; lane++)
		one_lane(s, thread, lane);
	worker_unit_end(s->x->w, thread);
}

static void run(struct unwrap_step *s)
{
	const struct worker_call *x = s->x;
	int64_t lanes = (x->hi - 1) / s->blocks - x->lo / s->blocks + 1, units = 0;
	int64_t each = s->lanes.n < UNWRAP_BLOCK ? s->lanes.n : UNWRAP_BLOCK;
	double ns = call_row(CALL_UNWRAP)->work_ns * (double)each * (double)(x->hi - x->lo);

	s->grain = UNIT_ELEMENTS / s->lanes.n + 1;
	units = (lanes + s->grain - 1) / s->grain;
	if (ns >= SERIAL_NS && units > 1) {
		pool_run(x->w->pool, unit, s, units, worker_poll, x->w);
	} else {
		for (int64_t u = 0; u < units; u++)
			unit(s, 0, u);
	}
}

/* What comes before the slice, of a lane that it goes on with. */
static enum status take_begun(struct unwrap_step *s, const struct worker_part *part,
			      struct err *err)
{
	if (s->x->lo % s->blocks == 0)
		return OK;
	if (!part)
		return err_set(err, E_INTERNAL, "a slice of step %u came without the one before it",
			       s->x->cmd->index);
	memcpy(&s->begun, part->acc, sizeof s->begun);
	return OK;
}

/* What the next slice goes on with. */
static enum status keep_left(struct unwrap_step *s, struct worker_part *part, struct err *err)
{
	if (!part)
		part = worker_part_create(s->x->w, s->x->cmd->index, 1);
	if (!part)
		return err_set(err, E_NOMEM, "no memory for a partial result");
	memcpy(part->acc, &s->left, sizeof s->left);
	return OK;
}

enum status worker_unwrap(const struct worker_call *x, struct err *err)
{
	struct worker_part *part = worker_part_find(x->w, x->cmd->index);
	struct unwrap_step s = {.x = x, .blocks = unwrap_blocks(&x->call)};
	bool more = x->hi % s.blocks != 0;
	enum status st = take_begun(&s, part, err);

	along_of(&s.lanes, &x->call);
	if (!st)
		run(&s);
	if (!st && bz_cancelled(&x->w->cancel))
		st = err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	if (!st && more)
		return keep_left(&s, part, err);
	if (part)
		worker_part_free(x->w, part);
	return st;
}
