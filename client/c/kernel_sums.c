/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_sums.c - scalars that a kernel's loops add up on a GPU.
 *
 * In:  a launch that tells what turns add (lang/lang_grid.h).  Out: that, in a new array, and few
 * elements of it: of a claimed sum one, by the reduction whose tree such sums have; of all others
 * FEW, of FOLD neighbours each, by a kernel of the language, so that what is put together is so in
 * the order of the turns and by the language's own rules of zeros and NaNs.  The rest is done here,
 * when somebody asks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "future.h"
#include "kernel_send.h"
#include "near.h"
#include "ticket.h"

#define FOLD 64
#define FEW  1024

/* A kernel that puts neighbours together. */
struct kernel_fold {
	struct kernel_fold *next;
	struct lang_addition by;
	struct braze_kernel *kernel;
};

/* ---- The kernels ---- */

/* r and the next one together. */
static const char *together(const struct lang_addition *by)
{
	switch (by->op) {
	case OP_ADD:
	case OP_SUBTRACT: /* what is subtracted was subtracted from 0 */
		return "r = r + t[k]";
	case OP_MULTIPLY:
		return "r = r * t[k]";
	case OP_BITWISE_AND:
		return "r = r & t[k]";
	case OP_BITWISE_OR:
		return "r = r | t[k]";
	case OP_BITWISE_XOR:
		return "r = r ^ t[k]";
	case OP_MINIMUM:
		return by->back ? "r = min(t[k], r)" : "r = min(r, t[k])";
	case OP_MAXIMUM:
		return by->back ? "r = max(t[k], r)" : "r = max(r, t[k])";
	case OP_LESS:
		return "if t[k] < r { r = t[k] }";
	case OP_LESS_EQUAL:
		return "if t[k] <= r { r = t[k] }";
	case OP_GREATER:
		return "if t[k] > r { r = t[k] }";
	default:
		return "if t[k] >= r { r = t[k] }";
	}
}

static bool same(const struct lang_addition *a, const struct lang_addition *b)
{
	return a->op == b->op && a->type == b->type && a->back == b->back;
}

static enum status fold_of(struct braze_kernel **out, struct braze_kernel *k,
			   const struct lang_addition *by, struct err *err)
{
	struct kernel_fold *f = k->folds;
	const char *type = dtype_row(by->type)->name;
	char text[512];
	braze_error failed = {0};

	while (f && !same(&f->by, by))
		f = f->next;
	if (!f) {
		int n = snprintf(text, sizeof text,
				 "kernel fold(t: %s[:], out u: %s[:]) {\n"
				 "for i in 0..len(u) {\n"
				 "let r = t[i * %d]\n"
				 "for k in i * %d + 1..min(i * %d + %d, len(t)) { %s }\n"
				 "u[i] = r\n}\n}\n",
				 type, type, FOLD, FOLD, FOLD, FOLD, together(by));

		f = calloc(1, sizeof *f);
		if (!f)
			return err_set(err, E_NOMEM, "no memory for a kernel");
		f->by = *by;
		if (braze_kernel_create(&f->kernel, text, (size_t)n, &failed)) {
			free(f);
			return err_set(err, E_INTERNAL, "sums of a loop: %.200s", failed.text);
		}
		f->next = k->folds;
		k->folds = f;
	}
	*out = f->kernel;
	return OK;
}

void kernel_folds_free(struct kernel_fold *f)
{
	while (f) {
		struct kernel_fold *next = f->next;

		braze_kernel_free(f->kernel);
		free(f);
		f = next;
	}
}

/* ---- Operations ---- */

/* An array of elements that nobody has set. */
static enum status empty(struct braze_array **out, struct braze_session *s, unsigned type,
			 uint64_t n, struct err *err)
{
	const struct shape shape = {1, {(int64_t)n}};
	enum status st = record_room(s, 0, 2, err);

	if (!st)
		st = array_create(out, s, (enum dtype)type, &shape, err);
	if (st)
		return st;
	record_op(s, OP_EMPTY, type, (*out)->id, 0, 2);
	record_shape(s, &shape);
	return OK;
}

/* The tree of all elements. */
static enum status reduce(struct braze_array **out, struct braze_array *t, unsigned op,
			  struct err *err)
{
	struct braze_session *s = t->session;
	const struct shape none = {0};
	enum status st = record_room(s, 1, 1, err);

	if (!st)
		st = array_create(out, s, (enum dtype)t->view.dtype, &none, err);
	if (st)
		return st;
	record_op(s, op, t->view.dtype, (*out)->id, 1, 1);
	record_in(s, t->id);
	record_imm(s, 1);
	return OK;
}

/* Neighbours together. */
static enum status fold(struct braze_array **out, struct braze_kernel *k, struct braze_array *t,
			const struct lang_addition *by, struct err *err)
{
	struct sending x = {.session = t->session};
	struct lang_afar a = {0};
	enum status st = fold_of(&x.kernel, k, by, err);

	if (!st)
		st = empty(out, t->session, t->view.dtype, ((uint64_t)t->count + FOLD - 1) / FOLD,
			   err);
	if (st)
		return st;
	kernel_send_array(&x, t);
	kernel_send_array(&x, *out);
	if (!lang_afar_of(&a, &x.kernel->looks, x.kernel->linked, x.array, x.scalar, NULL))
		st = err_set(err, E_NOMEM, "no memory to look at a kernel's loops");
	else if (*a.why || a.n != 1)
		st = err_set(err, E_INTERNAL, "sums of a loop: %s", a.why);
	if (!st)
		st = kernel_send_launch(&x, &a, 0, NULL, err);
	lang_afar_free(&a);
	if (st) {
		array_unref(*out);
		*out = NULL;
	}
	return st;
}

/* Takes t over. */
static enum status make_few(struct braze_array **out, struct braze_array *t, struct sending *x,
			    const struct lang_afar_sum *sum, struct err *err)
{
	bool claimed = sum->of->claimed, more = claimed || t->count > FEW;
	enum status st = OK;

	while (more && !st) {
		struct braze_array *less = NULL;

		st = claimed ? reduce(&less, t, sum->op, err)
			     : fold(&less, x->kernel, t, &sum->of->by, err);
		array_unref(t);
		t = less;
		more = !st && !claimed && t->count > FEW;
	}
	*out = t;
	return st;
}

enum status kernel_sums_record(struct kernel_sums *sums, struct sending *x,
			       const struct lang_afar *a, unsigned launch, struct err *err)
{
	const struct lang_launch *l = &a->launch[launch];
	const struct lang_afar_sum *sum = &a->sum[l->sum];
	struct braze_array *t = NULL;
	enum status st = OK;

	if (sums->n == sums->cap) {
		unsigned cap = sums->cap ? 2 * sums->cap : 4;
		struct braze_array **more =
			realloc(sums->value, cap * sizeof(struct braze_array *));

		if (!more)
			return err_set(err, E_NOMEM, "no memory for a kernel's sums");
		sums->value = more;
		sums->cap = cap;
	}
	st = empty(&t, x->session, sum->of->type, l->elements, err);
	if (st)
		return st;
	st = kernel_send_launch(x, a, launch, t, err);
	if (st)
		array_unref(t);
	else
		st = make_few(&sums->value[sums->n], t, x, sum, err);
	sums->n += !st;
	return st;
}

/* ---- Values ---- */

static int wait_for(const struct kernel_sums *sums, braze_check_fn *check, void *data,
		    struct err *err)
{
	struct braze_future *f = NULL;
	int rc = 0;

	for (unsigned at = 0; at < sums->n && !rc; at += LIMIT_DEMAND_IDS) {
		unsigned n = sums->n - at < LIMIT_DEMAND_IDS ? sums->n - at : LIMIT_DEMAND_IDS;

		f = NULL;
		rc = (int)future_demand(&f, (int)n, sums->value + at, err);
		if (!rc)
			rc = future_wait(f, -1, check, data, err);
		if (f)
			ticket_destroy(f);
	}
	for (unsigned k = 0; k < sums->n && !rc; k++)
		if (!future_stored(sums->value[k]))
			rc = future_value(sums->value[k], check, data, err);
	return rc;
}

int kernel_sums_tell(struct kernel_sums *sums, struct lang_afar *a, struct braze_session *s,
		     braze_check_fn *check, void *data, struct err *err)
{
	int rc = sums->n ? wait_for(sums, check, data, err) : 0;

	near_read(s->near);
	for (unsigned k = 0; k < sums->n && !rc; k++)
		lang_afar_told(a, k, array_address(sums->value[k]),
			       (uint64_t)sums->value[k]->count);
	kernel_sums_drop(sums);
	return rc;
}

void kernel_sums_drop(struct kernel_sums *sums)
{
	for (unsigned k = 0; k < sums->n; k++)
		array_unref(sums->value[k]);
	free(sums->value);
	*sums = (struct kernel_sums){0};
}
