/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_fourier.c - a slice of Fourier transforms on the pool: for who asks the processor
 * for them, by name or by cost.
 *
 * All is computed in double precision and rounded once.  A thread takes some transforms at a time,
 * any of them in any order. */
#include <stdlib.h>
#include <string.h>

#include "call/fourier.h"
#include "dft.h"
#include "worker.h"

#define SERIAL_NS 50000 /* a slice predicted below this is not worth waking threads */
#define UNIT_WORK 20000 /* that a thread takes at a time */

/* What the pool's threads see of the step. */
struct fourier_step {
	const struct worker_call *x;
	struct fourier f;
	struct dft *dft;
	double *memory; /* of each thread: a transform, and what it takes to make it */
	size_t each;	/* doubles of it */
	int64_t grain;	/* units that a thread takes at a time */
};

/* A real or complex number at `from`. */
static void load(double out[2], const char *from, unsigned dtype)
{
	float single[2] = {0, 0};

	out[1] = 0;
	if (dtype == DT_FLOAT64 || dtype == DT_COMPLEX128) {
		memcpy(out, from, dtype_row(dtype)->bytes);
		return;
	}
	memcpy(single, from, dtype_row(dtype)->bytes);
	out[0] = (double)single[0];
	out[1] = (double)single[1];
}

static void store(char *to, const double in[2], unsigned dtype)
{
	const float single[2] = {(float)in[0], (float)in[1]};
	bool wide = dtype == DT_FLOAT64 || dtype == DT_COMPLEX128;

	memcpy(to, wide ? (const void *)in : single, dtype_row(dtype)->bytes);
}

static void transform(const struct fourier_step *s, int64_t unit, double *t)
{
	const struct fourier *f = &s->f;
	const struct plan_call *c = &s->x->call;
	int64_t at[2];

	fourier_unit(at, f, unit, false);
	for (int64_t k = 0; k < f->extent[0]; k++)
		load(t + 2 * k, s->x->base[0] + at[0] + k * f->step[0], c->operand[0].dtype);
	if (f->op == OP_IRFFT)
		dft_complete(t, f->n);
	dft_run(s->dft, t, t + 2 * f->n, f->op == OP_IFFT || f->op == OP_IRFFT);
	if (f->op == OP_RFFT)
		dft_real_ends(t, f->n);
	for (int64_t k = 0; k < f->extent[1]; k++)
		store(s->x->base[1] + at[1] + k * f->step[1], t + 2 * k, c->operand[1].dtype);
}

static void some_units(void *data, int thread, int64_t part)
{
	const struct fourier_step *s = data;
	const struct worker_call *x = s->x;
	int64_t lo = x->lo + part * s->grain;
	int64_t hi = x->hi - lo < s->grain ? x->hi : lo + s->grain;

	worker_unit_begin(x->w, x->cmd, thread);
	for (int64_t unit = lo; unit < hi && !bz_cancelled(&x->w->cancel); unit++)
		transform(s, unit, s->memory + (size_t)thread * s->each);
	worker_unit_end(x->w, thread);
}

static void run(struct fourier_step *s)
{
	const struct worker_call *x = s->x;
	const struct call_row *row = call_row(x->call.call);
	int64_t parts = (x->hi - x->lo + s->grain - 1) / s->grain;
	struct call_units u;

	row->units(&u, &x->call, false);
	if (row->work_ns * (double)u.work * (double)(x->hi - x->lo) >= SERIAL_NS) {
		pool_run(x->w->pool, some_units, s, parts, worker_poll, x->w);
		return;
	}
	for (int64_t k = 0; k < parts; k++)
		some_units(s, 0, k);
}

enum status worker_fourier(const struct worker_call *x, struct err *err)
{
	struct fourier_step s = {.x = x};
	enum status st = OK;
	struct call_units u;

	call_row(x->call.call)->units(&u, &x->call, false);
	fourier_of(&s.f, &x->call);
	s.grain = UNIT_WORK / (int64_t)(u.work < UNIT_WORK ? u.work : UNIT_WORK);
	s.dft = dft_create(s.f.n);
	if (s.dft) {
		s.each = 2 * (size_t)s.f.n + dft_work(s.dft) + 8;
		s.memory = calloc((size_t)pool_threads(x->w->pool), s.each * sizeof *s.memory);
	}
	if (s.memory)
		run(&s);
	else
		st = err_set(err, E_NOMEM, "no memory for a transform of %lld numbers",
			     (long long)s.f.n);
	free(s.memory);
	dft_destroy(s.dft);
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	return st;
}

/* What may be spoilt is not. */
enum status worker_fourier_real(const struct worker_call *x, struct err *err)
{
	return worker_fourier(x, err);
}
