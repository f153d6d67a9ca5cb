/* SPDX-License-Identifier: Apache-2.0 */
/* worker/kernels.c - the table of kernels.h and the choice between the tiers. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "loops/product.h"

void kernels_init(struct kernels *k, const struct kernel_ops *ops)
{
	*k = (struct kernels){.ops = ops};
}

static uint32_t lower_bound(const struct kernels *k, uint32_t id)
{
	uint32_t lo = 0, hi = k->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (k->item[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void entry_free(struct kernel_entry *e)
{
	if (e->code.handle)
		e->ops->unload(&e->code);
	free(e->prepared);
	free(e->spec);
	free(e);
}

void kernels_finish(struct kernels *k)
{
	for (uint32_t i = 0; i < k->count; i++)
		entry_free(k->item[i]);
	free(k->item);
	k->item = NULL;
	k->count = k->cap = 0;
}

/* A first guess of the time of one point, from the op table's costs. */
static double guess_point_ns(const struct nest *n)
{
	double ns = 0.3 * n->naccess;

	for (uint32_t i = 0; i < n->ninstr; i++) {
		const struct op_row *row = op_row(instr_operation(&n->instr[i]));

		ns += row ? 0.1 * row->cost : 0.1;
	}
	return ns;
}

double kernels_pace(const struct kernel_entry *e, uint16_t shape)
{
	for (uint32_t i = 0; i < e->npace; i++)
		if (e->pace[i].shape == shape)
			return e->pace[i].point_ns;
	return e->guess_ns;
}

void kernels_learn(struct kernel_entry *e, uint16_t shape, double point_ns)
{
	struct kernel_pace p = {.shape = shape, .point_ns = kernels_pace(e, shape)};
	uint32_t at = 0;

	while (at < e->npace && e->pace[at].shape != shape)
		at++;
	if (at == KERNEL_PACES)
		at--; /* the one that was longest not run */
	else if (at == e->npace)
		e->npace++;
	memmove(&e->pace[1], &e->pace[0], at * sizeof p);
	p.point_ns += 0.25 * (point_ns - p.point_ns);
	e->pace[0] = p;
}

enum status kernels_spec(struct nest **out, uint32_t id, const void *nest, size_t bytes,
			 struct err *err)
{
	struct nest *n = NULL;

	if (bytes < offsetof(struct nest, instr) || bytes > sizeof *n)
		return err_set(err, E_INTERNAL, "kernel %u: a nest of %zu bytes", id, bytes);
	n = xcalloc(1, sizeof *n);
	memcpy(n, nest, bytes);
	if (n->ninstr > LIMIT_NEST_INSTRS || nest_bytes(n) != bytes ||
	    n->npar + n->nred > LIMIT_NDIM || n->naccess > LIMIT_NEST_ACCESSES ||
	    n->nscalar > LIMIT_NEST_SCALARS) {
		free(n);
		return err_set(err, E_INTERNAL, "kernel %u: its nest breaks a limit", id);
	}
	*out = n;
	return OK;
}

enum status kernels_add(struct kernels *k, uint32_t id, const void *nest, size_t bytes,
			struct err *err)
{
	struct kernel_entry *e = NULL;
	struct nest *n = NULL;
	uint32_t at = 0;
	enum status st = kernels_spec(&n, id, nest, bytes, err);

	if (st != OK)
		return st;
	if (k->ops->check && k->ops->check(n, err) != OK) {
		free(n);
		return err_context(err, "kernel %u", id);
	}
	kernels_drop(k, id);
	e = xcalloc(1, sizeof *e);
	e->id = id;
	e->ops = k->ops;
	e->spec = n;
	e->prepared = k->ops->prepare ? k->ops->prepare(n) : NULL;
	e->scratch = k->ops->scratch(n);
	e->guess_ns = guess_point_ns(n);
	e->checks = nest_checks(n);
	e->nreduce = nest_reductions(n);
	take_nest_find(&e->take, n);
	if (k->count == k->cap) {
		k->cap = k->cap ? k->cap * 2 : 64;
		k->item = xrealloc(k->item, k->cap, sizeof *k->item);
	}
	at = lower_bound(k, id);
	memmove(k->item + at + 1, k->item + at, (k->count - at) * sizeof *k->item);
	k->item[at] = e;
	k->count++;
	return OK;
}

enum status kernels_load(struct kernels *k, uint32_t id, int fd, struct err *err)
{
	struct kernel_entry *e = kernels_find(k, id);
	struct kernel_code code = {0};
	enum status st = OK;

	if (!e)
		return err_set(err, E_INTERNAL, "kernel %u: code for an unknown kernel", id);
	if (!k->ops->load)
		return err_set(err, E_UNSUPPORTED, "kernel %u: this worker loads no code", id);
	st = k->ops->load(&code, fd, e->spec, err);
	if (st != OK)
		return st;
	if (e->spec->nred ? !(code.reduce && code.finish) : !code.map) {
		k->ops->unload(&code);
		return err_set(err, E_COMPILE, "kernel %u: its object lacks an entry point", id);
	}
	if (e->code.handle)
		k->ops->unload(&e->code);
	e->code = code;
	e->npace = 0; /* what was measured is of other code */
	return OK;
}

void kernels_drop(struct kernels *k, uint32_t id)
{
	uint32_t at = lower_bound(k, id);

	if (at == k->count || k->item[at]->id != id)
		return;
	entry_free(k->item[at]);
	k->count--;
	memmove(k->item + at, k->item + at + 1, (k->count - at) * sizeof *k->item);
}

struct kernel_entry *kernels_find(const struct kernels *k, uint32_t id)
{
	uint32_t at = lower_bound(k, id);

	return at < k->count && k->item[at]->id == id ? k->item[at] : NULL;
}

void kernels_map(const struct kernel_entry *e, const struct bz_args *a, int64_t lo, int64_t hi,
		 void *scratch)
{
	if (take_nest_fits(&e->take, e->spec, a))
		take_nest_map(&e->take, e->spec, a, lo, hi);
	else if (e->code.handle)
		e->code.map(a, lo, hi);
	else
		e->ops->map(e->spec, e->prepared, a, lo, hi, scratch);
}

void kernels_reduce(const struct kernel_entry *e, const struct bz_args *a, int64_t lo, int64_t hi,
		    int64_t clo, int64_t chi, struct bz_acc *part, void *scratch)
{
	if (e->code.handle &&
	    (part || !e->ops->quicker || !e->ops->quicker(e->spec, e->prepared, a)))
		e->code.reduce(a, lo, hi, clo, chi, part);
	else
		e->ops->reduce(e->spec, e->prepared, a, lo, hi, clo, chi, part, scratch);
}

int64_t kernels_together(const struct kernel_entry *e, const struct bz_args *a)
{
	return e->ops->quicker && e->ops->quicker(e->spec, e->prepared, a) ? PRODUCT_DOTS : 1;
}

void kernels_combine(const struct kernel_entry *e, const struct bz_args *a, int64_t lo, int64_t hi,
		     const struct bz_acc *part, void *scratch)
{
	if (e->code.handle)
		e->code.finish(a, lo, hi, part);
	else
		e->ops->finish(e->spec, e->prepared, a, lo, hi, part, scratch);
}
