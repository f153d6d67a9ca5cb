/* SPDX-License-Identifier: Apache-2.0 */
/* call/fourier.c - see fourier.h. */
#include "fourier.h"

#include "base/textbuf.h"

static unsigned batch_loops(const struct plan_call *c)
{
	return c->nloop - FOURIER_AXES;
}

/* The loop of the axis as operand x has it. */
static unsigned axis_loop(const struct plan_call *c, unsigned x)
{
	return batch_loops(c) + (x == 1);
}

void fourier_of(struct fourier *out, const struct plan_call *c)
{
	*out = (struct fourier){.op = (enum op)c->op,
				.wide = c->dtype == DT_FLOAT64 || c->dtype == DT_COMPLEX128,
				.nloop = batch_loops(c),
				.together = batch_loops(c),
				.call = c};
	for (unsigned x = 0; x < 2; x++) {
		out->extent[x] = c->extent[axis_loop(c, x)];
		out->step[x] = c->operand[x].stride[axis_loop(c, x)];
	}
	out->n = out->extent[c->op == OP_IRFFT];
	for (unsigned l = 0; l < out->nloop; l++)
		if (out->together == out->nloop || c->extent[l] > c->extent[out->together])
			out->together = l;
}

int64_t fourier_batch(const struct fourier *f, int64_t distance[2])
{
	for (unsigned x = 0; x < 2; x++)
		distance[x] = f->together < f->nloop ? f->call->operand[x].stride[f->together] : 0;
	return f->together < f->nloop ? f->call->extent[f->together] : 1;
}

void fourier_unit(int64_t at[2], const struct fourier *f, int64_t unit, bool device)
{
	at[0] = at[1] = 0;
	for (unsigned l = f->nloop; l-- > 0;) {
		if (device && l == f->together)
			continue;
		for (unsigned x = 0; x < 2; x++)
			at[x] += unit % f->call->extent[l] * f->call->operand[x].stride[l];
		unit /= f->call->extent[l];
	}
}

unsigned fourier_bytes(const struct fourier *f, unsigned x)
{
	return dtype_row(f->call->operand[x].dtype)->bytes;
}

/* Do transforms lie apart: each before the next, or their elements in turns? */
static bool lies_apart(const struct fourier *f, unsigned x)
{
	int64_t distance[2], batch = fourier_batch(f, distance), n = f->extent[x];
	int64_t bytes = fourier_bytes(f, x), reach = 0;

	if (n > 1 && f->step[x] < bytes)
		return false;
	if (batch <= 1)
		return true;
	if (distance[x] < bytes)
		return false;
	return !__builtin_mul_overflow(f->step[x], n, &reach) &&
	       (distance[x] >= (n > 1 ? reach : bytes) ||
		(!__builtin_mul_overflow(distance[x], batch, &reach) && f->step[x] >= reach));
}

/* Whole elements, and where each unit begins a whole complex one: real ones are taken in pairs. */
static bool is_whole(const struct fourier *f, unsigned x)
{
	const struct call_operand *o = &f->call->operand[x];
	int64_t bytes = fourier_bytes(f, x), pair = f->wide ? 16 : 8;
	int64_t distance[2];

	fourier_batch(f, distance);
	if (f->step[x] % bytes || distance[x] % bytes || o->offset % pair || o->move % pair)
		return false;
	for (unsigned l = 0; l < f->nloop; l++)
		if (l != f->together && o->stride[l] % pair)
			return false;
	return true;
}

bool fourier_fits(const struct plan_call *c)
{
	struct fourier f;

	fourier_of(&f, c);
	return is_whole(&f, 0) && is_whole(&f, 1) && lies_apart(&f, 0) && lies_apart(&f, 1);
}

/* The third operand is the first. */
static bool is_spoilt(const struct plan_call *c)
{
	const struct call_operand *a = &c->operand[0], *b = &c->operand[2];

	for (unsigned l = 0; l < c->nloop; l++)
		if (a->stride[l] != b->stride[l])
			return false;
	return a->slot == b->slot && a->dtype == b->dtype && a->offset == b->offset &&
	       a->move == b->move;
}

/* Can transforms be counted, and their bytes? */
static bool countable(const struct plan_call *c)
{
	int64_t n = 64 * 16;

	for (unsigned l = 0; l < c->nloop; l++)
		if (!c->extent[l] || __builtin_mul_overflow(n, c->extent[l], &n))
			return false;
	return true;
}

static enum status check(const struct plan_call *c, enum op first, enum op last, struct err *err)
{
	struct op_arg arg = {.dtype = c->dtype};
	struct op_sig sig;
	struct fourier f;

	if (c->op < first || c->op > last || c->nloop < FOURIER_AXES)
		return err_set(err, E_INTERNAL, "fft: no %s of type %u", op_text(c->op), c->dtype);
	if (op_infer(&sig, (enum op)c->op, &arg, DTYPE_END, err))
		return err->code;
	if (c->operand[0].dtype != sig.in[0] || c->operand[1].dtype != sig.out)
		return err_set(err, E_INTERNAL, "fft: types");
	if (!countable(c))
		return err_set(err, E_INTERNAL, "fft: extents overflow");
	fourier_of(&f, c);
	if (f.extent[1] != op_transformed(f.op, f.extent[0], f.n))
		return err_set(err, E_INTERNAL, "fft: %lld elements give %lld",
			       (long long)f.extent[0], (long long)f.extent[1]);
	for (unsigned x = 0; x < 2; x++)
		if (c->operand[x].stride[axis_loop(c, !x)])
			return err_set(err, E_INTERNAL, "fft: operand %u has two axes", x);
	return fourier_fits(c) ? OK : err_set(err, E_INTERNAL, "fft: how operands lie");
}

enum status fourier_check(const struct plan_call *c, struct err *err)
{
	return check(c, OP_FFT, OP_RFFT, err);
}

static int64_t transforms(const struct plan_call *c)
{
	int64_t n = 1;

	for (unsigned l = 0; l < batch_loops(c); l++)
		n *= c->extent[l];
	return n;
}

/* Of elements at each of its levels. */
static uint64_t work_of_one(const struct plan_call *c)
{
	struct fourier f;
	uint64_t levels = 1;

	fourier_of(&f, c);
	while (f.n >> levels)
		levels++;
	return (uint64_t)f.n * levels;
}

uint64_t fourier_work(const struct plan_call *c)
{
	return (uint64_t)transforms(c) * work_of_one(c);
}

double fourier_us(const struct plan_call *c)
{
	return (double)fourier_work(c) * call_row(c->call)->work_ns / 1000;
}

void fourier_units(struct call_units *out, const struct plan_call *c, bool device)
{
	int64_t all = transforms(c), batch = 1, distance[2];
	struct fourier f;

	fourier_of(&f, c);
	if (device)
		batch = fourier_batch(&f, distance);
	*out = (struct call_units){
		.total = all / batch, .work = (uint64_t)batch * work_of_one(c), .grain = 1};
}

void fourier_name(struct textbuf *t, const struct plan_call *c)
{
	struct fourier f;

	fourier_of(&f, c);
	textbuf_put(t, "%s of %s, %lld of length %lld", op_text(c->op), dtype_row(c->dtype)->name,
		    (long long)transforms(c), (long long)f.n);
}

void fourier_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"in", "out", "spoilt"};

	textbuf_put(t, "%s %s", op_text(c->op), dtype_row(c->dtype)->name);
	call_print_layout(t, c, what);
}

enum status fourier_real_check(const struct plan_call *c, struct err *err)
{
	enum status st = check(c, OP_IRFFT, OP_IRFFT, err);

	return st || is_spoilt(c) ? st : err_set(err, E_INTERNAL, "irfft: what may be spoilt");
}

uint64_t fourier_real_work(const struct plan_call *c)
{
	return fourier_work(c);
}

double fourier_real_us(const struct plan_call *c)
{
	return fourier_us(c);
}

void fourier_real_units(struct call_units *out, const struct plan_call *c, bool device)
{
	fourier_units(out, c, device);
}

void fourier_real_name(struct textbuf *t, const struct plan_call *c)
{
	fourier_name(t, c);
}

void fourier_real_print(struct textbuf *t, const struct plan_call *c)
{
	fourier_print(t, c);
}
