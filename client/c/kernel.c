/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel.c - kernels from text, run in this process.
 *
 * In:  a text; arrays, memory and numbers.  Out: what the kernel writes, and its results.  Arrays
 * are demanded first, then those that are written are fenced, and only then addresses are taken:
 * a fence may give an array memory of its own. */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "imm.h"
#include "kernel.h"
#include "kernel_send.h"
#include "near.h"
#include "near_walk.h"
#include "team.h"

int braze_kernel_create(braze_kernel **out, const char *text, size_t length, braze_error *error)
{
	const struct loops_library *loops = near_library();
	struct braze_kernel *k = calloc(1, sizeof *k);
	struct err *err = err_of(error);
	struct lang_program *program = NULL;
	enum status st = OK;

	if (!k || kernel_code_open(k, text, length))
		st = err_set(err, E_NOMEM, "no memory for a kernel");
	else if (!loops)
		st = err_set(err, E_UNSUPPORTED,
			     "libbraze-near-*.so, whose loops kernels use, is not there");
	if (!st)
		st = lang_program_of_text(&program, text, length, err);
	if (!st)
		st = lang_link(&k->linked, program, loops->isa, loops->wide, err);
	if (st) {
		braze_kernel_free(k);
		return (int)st;
	}
	lang_join_team(k->linked, &client_team);
	kernel_code_quicken(k);
	k->program = lang_program_of(k->linked);
	*out = k;
	return 0;
}

void braze_kernel_unfused(int on)
{
	lang_keep_apart(on != 0);
}

int braze_kernel_rows(const braze_kernel *k)
{
	return (int)lang_fusions_in(k->program);
}

void braze_kernel_free(braze_kernel *k)
{
	if (!k)
		return;
	lang_unlink(k->linked);
	lang_looks_free(&k->looks);
	kernel_folds_free(k->folds);
	free(k->told);
	free(atomic_load(&k->loops));
	kernel_code_close(k);
	free(k);
}

const char *braze_kernel_name(const braze_kernel *k)
{
	return k->program->name;
}

int braze_kernel_parameter(braze_parameter *out, const braze_kernel *k, int i)
{
	const struct lang_program *p = k->program;

	if (i < 0 || i >= (int)(p->nparam + p->nresult))
		return 0;
	*out = (braze_parameter){.name = p->param[i].name,
				 .dtype = p->param[i].type,
				 .ndim = p->param[i].rank,
				 .written = (p->param[i].access & ACCESS_OUT) != 0,
				 .result = i >= (int)p->nparam};
	return 1;
}

/* ---- One call ---- */

struct call {
	struct braze_kernel *kernel;
	struct lang_array array[LANG_PARAMS];
	union lang_reg scalar[LANG_PARAMS], result[LANG_PARAMS];
	braze_loan loan[LANG_PARAMS];
	void *hold[LANG_PARAMS];
	braze_check_fn *check;
	void *data;
	braze_session *session; /* of the first array; NULL */
	struct timespec begun, last;
	bool stopped;
};

static int64_t since_us(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - then->tv_sec) * 1000000 + (now.tv_nsec - then->tv_nsec) / 1000;
}

static bool writes(const struct lang_param *p)
{
	return p->access & ACCESS_OUT;
}

static int refuse(braze_error *error, enum status st, const struct lang_param *p, const char *what)
{
	return (int)err_set(err_of(error), st, "parameter '%s' is %s%s of %s", p->name, what,
			    p->rank ? "array" : "scalar", dtype_row(p->type)->name);
}

int kernel_scalar(union lang_reg *out, const struct lang_param *p, const braze_kernel_arg *x,
		  braze_error *error)
{
	const braze_scalar *v = &x->scalar;

	if (x->array || x->data)
		return refuse(error, E_DTYPE, p, "a ");
	if (v->dtype < 0 || !dtype_native((unsigned)v->dtype))
		return refuse(error, E_INVALID, p, "a ");
	if (!dtype_same_kind((enum dtype)v->dtype, (enum dtype)p->type) &&
	    !(v->weak && v->dtype == DT_INT64 && dtype_row(p->type)->cls == CLASS_UINT))
		return refuse(error, E_DTYPE, p, "a ");
	if (v->weak && v->dtype == DT_INT64 && dtype_row(p->type)->cls <= CLASS_UINT &&
	    p->type != DT_BOOL && !dtype_holds((enum dtype)p->type, (int64_t)v->bits[0]))
		return refuse(error, E_OVERFLOW, p, "too small for the number: a ");
	imm_cast(out->bits, (enum dtype)p->type, v->bits, (enum dtype)v->dtype);
	if (p->type == DT_COMPLEX64)
		out->bits[0] = (out->bits[0] & 0xffffffffu) | out->bits[1] << 32;
	return 0;
}

braze_scalar kernel_number(const union lang_reg *r, unsigned type)
{
	const struct dtype_row *row = dtype_row(type);
	braze_scalar v = {.dtype = (int)type};
	unsigned drop = 64 - 8u * (row->bytes < 8 ? row->bytes : 8);

	v.bits[0] = r->bits[0] << drop >> drop;
	if (row->cls == CLASS_INT)
		v.bits[0] = (uint64_t)((int64_t)(r->bits[0] << drop) >> drop);
	else if (type == DT_COMPLEX128)
		v.bits[1] = r->bits[1];
	if (type == DT_COMPLEX64) {
		v.bits[1] = r->bits[0] >> 32;
		v.bits[0] = r->bits[0] & 0xffffffffu;
	}
	return v;
}

/* Extents and strides; without these, rows have no gaps. */
static int set_shape(struct lang_array *out, const struct lang_param *p, const braze_kernel_arg *x,
		     braze_error *error)
{
	int64_t packed = dtype_row(p->type)->bytes;

	out->shape.ndim = p->rank;
	for (int i = x->ndim; i-- > 0;) {
		int64_t n = x->shape ? x->shape[i] : -1;

		if (n < 0 || (!x->strides && n && packed > INT64_MAX / n))
			return (int)err_set(err_of(error), E_SHAPE,
					    "parameter '%s' has no shape that memory can have",
					    p->name);
		out->shape.dim[i] = n;
		out->stride[i] = x->strides ? x->strides[i] : packed;
		packed *= x->strides ? 1 : n;
	}
	return 0;
}

static int set_memory(struct lang_array *out, const struct lang_param *p, const braze_kernel_arg *x,
		      braze_error *error)
{
	if (x->dtype != p->type)
		return refuse(error, E_DTYPE, p, "an ");
	if (x->ndim != p->rank)
		return (int)err_set(err_of(error), E_SHAPE,
				    "parameter '%s' has %u axes, the array %d", p->name, p->rank,
				    x->ndim);
	if (writes(p) && x->readonly)
		return (int)err_set(err_of(error), E_READONLY,
				    "parameter '%s' is written, and the array may not be", p->name);
	out->at = x->data;
	return set_shape(out, p, x, error);
}

/* Of an array its value; nothing is written yet. */
static int demand(struct call *c, const struct lang_param *p, const braze_kernel_arg *x,
		  braze_error *error)
{
	const void *data;

	if (!x->array)
		return 0;
	if (braze_dtype_of(x->array) != p->type)
		return refuse(error, E_DTYPE, p, "an ");
	if (braze_ndim(x->array) != p->rank)
		return (int)err_set(err_of(error), E_SHAPE,
				    "parameter '%s' has %u axes, the array %d", p->name, p->rank,
				    braze_ndim(x->array));
	return braze_data(&data, x->array, c->check, c->data, error);
}

/* Where it lies, and that it stays there. */
static int set_array(struct call *c, unsigned i, struct lang_array *out, const struct lang_param *p,
		     const braze_kernel_arg *x, braze_error *error)
{
	const void *data = NULL;
	braze_kernel_arg memory = {.dtype = p->type,
				   .ndim = p->rank,
				   .shape = braze_shape(x->array),
				   .strides = braze_strides(x->array)};
	int rc = 0;

	if (!writes(p) && braze_lend(&c->loan[i], x->array)) {
		data = c->loan[i].data;
	} else {
		c->hold[i] = braze_hold(x->array);
		rc = braze_data(&data, x->array, c->check, c->data, error);
	}
	memory.data = (char *)(uintptr_t)data;
	return rc ? rc : set_memory(out, p, &memory, error);
}

static int poll(void *data)
{
	struct call *c = data;

	if (c->session && !c->session->owned && since_us(&c->begun) > KERNEL_WORTH_US)
		braze_kernel_code(c->kernel, c->session, 0, NULL, NULL, NULL);
	/* Once early, since who owns the session asks for code in the check. */
	if (!c->check ||
	    since_us(&c->last) <
		    (c->last.tv_nsec == c->begun.tv_nsec ? KERNEL_WORTH_US : WAIT_SLICE * 1000))
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &c->last);
	c->stopped = c->check(c->data) != 0;
	return c->stopped;
}

static int acquire(struct call *c, const braze_kernel_arg *args, braze_error *error)
{
	const struct lang_program *p = c->kernel->program;
	unsigned narray = 0, nscalar = 0;
	void *data;
	int rc = 0;

	for (unsigned i = 0; !rc && i < p->nparam; i++)
		rc = p->param[i].rank ? demand(c, &p->param[i], &args[i], error) : 0;
	for (unsigned i = 0; !rc && i < p->nparam; i++)
		if (p->param[i].rank && args[i].array && writes(&p->param[i]))
			rc = braze_fence(&data, args[i].array, c->check, c->data, error);
	for (unsigned i = 0; !rc && i < p->nparam; i++) {
		const struct lang_param *x = &p->param[i];

		if (!x->rank)
			rc = kernel_scalar(&c->scalar[nscalar++], x, &args[i], error);
		else if (args[i].array)
			rc = set_array(c, i, &c->array[narray++], x, &args[i], error);
		else
			rc = set_memory(&c->array[narray++], x, &args[i], error);
	}
	return rc;
}

static void release(struct call *c, const braze_kernel_arg *args)
{
	for (unsigned i = 0; i < c->kernel->program->nparam; i++) {
		if (c->loan[i].data)
			braze_end_loan(braze_session_of(args[i].array), &c->loan[i]);
		if (c->hold[i])
			braze_unhold(c->hold[i]);
	}
}

/* Of arrays of a session that nobody owns: code for what took long before. */
static int ask_code(struct call *c, int nargs, const braze_kernel_arg *args, braze_error *error)
{
	int wants = braze_kernel_wants(c->kernel);
	braze_error own = {0};

	for (int i = 0; i < nargs && !c->session; i++)
		c->session = args[i].array ? braze_session_of(args[i].array) : NULL;
	if (!c->session || c->session->owned || !wants ||
	    braze_kernel_code(c->kernel, c->session, wants == 2, c->check, c->data, &own) !=
		    BRAZE_E_INTERRUPTED)
		return 0;
	if (error)
		*error = own;
	return BRAZE_E_INTERRUPTED;
}

/* ---- Explanations ---- */

static _Atomic int explained;

void braze_kernel_explain(int on)
{
	atomic_store(&explained, on);
}

char *braze_kernel_loops(braze_kernel *k)
{
	return atomic_exchange(&k->loops, NULL);
}

bool kernel_explains(void)
{
	return atomic_load_explicit(&explained, memory_order_relaxed);
}

void kernel_explain(struct braze_kernel *k, const struct lang_array *array,
		    const union lang_reg *scalar)
{
	char *text = lang_explain(k->linked, array, scalar), *whole = NULL;

	if (text && *k->afar && asprintf(&whole, "%s%s", text, k->afar) < 0)
		whole = NULL;
	*k->afar = 0;
	if (whole)
		free(text);
	free(atomic_exchange(&k->loops, whole ? whole : text));
}

/* rest: what is left of a run whose first loops were operations; NULL: all of it. */
static int run(struct call *c, struct lang_afar *rest, braze_error *error)
{
	unsigned mode = near_enter();
	int rc = 0;

	if (kernel_explains() && !rest)
		kernel_explain(c->kernel, c->array, c->scalar);

	clock_gettime(CLOCK_MONOTONIC, &c->begun);
	c->last = c->begun;
	rc = rest ? (int)lang_afar_rest(rest, c->array, c->result, poll, c, err_of(error))
		  : (int)lang_run(c->kernel->linked, c->array, c->scalar, c->result, poll, c,
				  err_of(error));
	near_leave(mode);
	kernel_code_ran(c->kernel, since_us(&c->begun));
	if (c->stopped) {
		rc = BRAZE_E_INTERRUPTED;
		if (error)
			error->code = rc;
	}
	return rc;
}

/* All else of it is set before it is looked at: there is much, and calls may be short. */
static void begin(struct call *c, struct braze_kernel *k, braze_check_fn *check, void *data)
{
	c->kernel = k;
	c->check = check;
	c->data = data;
	c->session = NULL;
	c->stopped = false;
	memset(c->loan, 0, k->program->nparam * sizeof c->loan[0]);
	memset(c->hold, 0, k->program->nparam * sizeof c->hold[0]);
}

int kernel_rest(struct lang_afar *a, union lang_reg *result, struct braze_kernel *k,
		const braze_kernel_arg *args, braze_check_fn *check, void *data, braze_error *error)
{
	struct call call, *c = &call;
	int rc = 0;

	begin(c, k, check, data);
	rc = acquire(c, args, error);
	if (!rc)
		rc = run(c, a, error);
	if (!rc)
		memcpy(result, c->result, k->program->nresult * sizeof *result);
	release(c, args);
	return rc;
}

int braze_kernel_call(braze_scalar *results, braze_kernel *k, int nargs,
		      const braze_kernel_arg *args, braze_check_fn *check, void *data,
		      braze_error *error)
{
	const struct lang_program *p = k->program;
	struct call call, *c = &call;
	int sent = 0, rc = 0;

	if (nargs != (int)p->nparam)
		return (int)err_set(err_of(error), E_INVALID,
				    "kernel '%s' takes %u arguments, not %d", p->name, p->nparam,
				    nargs);
	rc = kernel_send(&sent, results, k, nargs, args, check, data, error);
	if (rc || sent)
		return rc;
	begin(c, k, check, data);
	rc = ask_code(c, nargs, args, error);
	if (!rc)
		rc = acquire(c, args, error);
	if (!rc)
		rc = run(c, NULL, error);
	for (unsigned i = 0; !rc && i < p->nresult; i++)
		results[i] = kernel_number(&c->result[i], p->param[p->nparam + i].type);
	release(c, args);
	return rc;
}
