/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_fourier.c - a slice of Fourier transforms by cuFFT: one call for each unit.
 *
 * The work area is the lane's from before the first call to behind the last, in the order of its
 * stream, and counts as its memory. */
#include "call/fourier.h"
#include "cuda_fft.h"
#include "cuda_worker.h"

#define LAUNCHES 8 /* of a call of the library, about */

static enum cuda_fft_kind kind_of(const struct fourier *f)
{
	switch (f->op) {
	case OP_RFFT:
		return f->wide ? FFT_D2Z : FFT_R2C;
	case OP_IRFFT:
		return f->wide ? FFT_Z2D : FFT_C2R;
	default:
		return f->wide ? FFT_Z2Z : FFT_C2C;
	}
}

/* An axis of one element has a stride that is none, and so has a batch of one. */
static struct cuda_fft_shape shape_of(const struct fourier *f)
{
	int64_t distance[2];
	struct cuda_fft_shape s = {.kind = kind_of(f), .n = f->n};

	s.batch = fourier_batch(f, distance);
	for (unsigned x = 0; x < 2; x++) {
		int64_t bytes = fourier_bytes(f, x);

		s.extent[x] = f->extent[x];
		s.stride[x] = f->extent[x] > 1 ? f->step[x] / bytes : 1;
		s.distance[x] = s.batch > 1 ? distance[x] / bytes : s.stride[x] * s.extent[x];
	}
	return s;
}

static enum status transform(struct cuda_run *run, uint32_t step, const struct cuda_called *c,
			     struct err *err)
{
	struct fourier f;
	struct cuda_lane *l = run->lane;
	struct cuda_fft_shape shape;
	struct cuda_fft_plan *plan = NULL;
	CUdeviceptr area = 0;
	uint64_t work = 0, free_bytes = 0;
	enum status st = OK;

	fourier_of(&f, &c->call);
	shape = shape_of(&f);
	st = cuda_fft_plan(&plan, &work, l, &shape, err);
	if (st == OK && work)
		st = cuda_memory_take(l, &area, work, &free_bytes, err);
	if (st != OK)
		return err_context(err, "step %u", run->step[step]->index);
	for (int64_t unit = c->lo; unit < c->hi && st == OK && !run->cancelled; unit++) {
		int64_t at[2];

		fourier_unit(at, &f, unit, true);
		st = cuda_issue_room(l, LAUNCHES, err);
		if (st == OK)
			st = cuda_fft_run(l, plan, area, c->base[0] + (CUdeviceptr)at[0],
					  c->base[1] + (CUdeviceptr)at[1],
					  f.op == OP_IFFT || f.op == OP_IRFFT, err);
	}
	if (work)
		cuda_memory_give(l, area, work);
	return st;
}

enum status cuda_fourier_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			      struct err *err)
{
	/* The library's launches are on the lane's stream, by themselves. */
	enum status st = cuda_step_fire(run, err);

	if (st == OK)
		st = cuda_issue_mark(run, i, false, err);
	return st == OK ? transform(run, i, c, err) : st;
}
