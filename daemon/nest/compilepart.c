/* SPDX-License-Identifier: Apache-2.0 */
/* nest/compilepart.c - run every pass in order, checking after each. */
#include "compilepart.h"

#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/xalloc.h"

#include "lower.h"

typedef enum status pass_fn(struct prog *p, struct err *err);

static const struct pass {
	const char *name;
	pass_fn *run;
	bool always; /* the plan cannot be made without it */
} pass_list[] = {
	{"storage", storage_run, true},	   {"lower", lower_run, true},
	{"fuse", fuse_run, false},	   {"split", split_run, false},
	{"contract", contract_run, false}, {"simplify", simplify_run, false},
	{"share", share_run, false},	   {"collapse", collapse_run, false},
	{"finish", finish_run, true},
};
#define NPASS (sizeof pass_list / sizeof pass_list[0])

static bool named(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (*list) {
		size_t len = strcspn(list, ",");

		if (len == n && !memcmp(list, name, n))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

enum status compilepart_names(const char *list, struct err *err)
{
	for (const char *s = list; *s;) {
		size_t len = strcspn(s, ",");
		bool known = !len;

		for (size_t k = 0; k < NPASS; k++)
			known |= strlen(pass_list[k].name) == len &&
				 !memcmp(pass_list[k].name, s, len);
		if (!known)
			return err_set(err, E_INVALID,
				       "no pass \"%.*s\"; there are storage, lower, fuse, "
				       "split, contract, simplify, share, collapse, finish",
				       (int)(len < 40 ? len : 40), s);
		s += len + (s[len] == ',');
	}
	return OK;
}

static enum status check_units(const struct prog *p, const char *pass, struct err *err)
{
	for (uint32_t k = 0; k < p->nunit; k++) {
		if (!p->unit[k]->nest || !nest_check(p->unit[k]->nest, err))
			continue;
		err_context(err, "after pass %s, nest %u", pass, k);
		return E_INTERNAL;
	}
	return OK;
}

static enum status run_pass(struct prog *p, const struct pass *x, pass_dump_fn *dump, void *data,
			    struct err *err)
{
	enum status st = x->run(p, err);

#ifdef BRAZE_CHECK
	bool check = true;
#else
	bool check = dump != NULL;
#endif

	if (!st && !p->plan && check)
		st = check_units(p, x->name, err);
	if (!st && dump && !p->plan) {
		char *text = prog_text(p);

		dump(data, x->name, text);
		free(text);
	}
	return st;
}

/* See compilepart.h. */
unsigned compilepart_way(const struct part *part, const struct part_op *o)
{
	return lower_matmul_way(part, o);
}

/* Which loops of a plan's steps have the extents of sizes: those with their numbers. */
static void find_sizes(struct plan *plan, const struct part *part)
{
	plan->nsize = part->nsize;
	plan->most = xcalloc(part->nsize, sizeof *plan->most);
	memcpy(plan->most, part->most, part->nsize * sizeof *plan->most);
	for (uint32_t k = 0; k < plan->nstep; k++) {
		struct plan_step *s = &plan->step[k];
		const int64_t *extent = s->nest ? s->nest->extent : s->call->extent;

		if (s->call && s->call->call != CALL_PRODUCT)
			continue; /* nothing else has sizes */
		for (unsigned l = 0; l < LIMIT_NDIM; l++) {
			uint32_t size = part_size_of(part, extent[l]);

			s->size[l] = size < part->nsize ? (uint8_t)(size + 1) : 0;
		}
	}
}

/* With numbers in the place of sizes. */
static enum status run_sized(struct plan **out, const struct part *part, const char *passes,
			     pass_dump_fn *dump, void *data, struct err *err)
{
	struct part *numbered = part_with_numbers(part);
	enum status st = compilepart_run(out, numbered, passes, dump, data, err);

	if (!st)
		find_sizes(*out, numbered);
	free(numbered);
	return st;
}

/* See compilepart.h. */
enum status compilepart_run(struct plan **out, const struct part *part, const char *passes,
			    pass_dump_fn *dump, void *data, struct err *err)
{
	struct prog *p = NULL;
	int64_t start = clock_us();
	enum status st = passes ? compilepart_names(passes, err) : OK;

	*out = NULL;
	if (!st && part->mark)
		return run_sized(out, part, passes, dump, data, err);
	if (!st)
		st = part_check(part, err);
	if (st)
		return st;
	p = prog_create(part);
	p->contracting = !passes || named(passes, "contract");
	for (size_t k = 0; k < NPASS && !st; k++)
		if (pass_list[k].always || !passes || named(passes, pass_list[k].name))
			st = run_pass(p, &pass_list[k], dump, data, err);
	if (!st)
		st = plan_check(p->plan, part, err);
	if (!st) {
		*out = p->plan;
		p->plan = NULL;
		(*out)->planning_us = (uint64_t)(clock_us() - start);
	}
	prog_destroy(p);
	return st;
}

/* See compilepart.h. */
void compilepart_spec(struct nest *spec, const struct nest *n)
{
	uint32_t seen[LIMIT_NEST_ACCESSES], nseen = 0;

	memset(spec, 0, sizeof *spec);
	memcpy(spec, n, nest_bytes(n));
	memset(spec->extent, 0, sizeof spec->extent);
	memset(spec->scalar, 0, sizeof spec->scalar);
	for (unsigned k = n->nscalar; k < LIMIT_NEST_SCALARS; k++)
		spec->scalar_dtype[k] = 0;
	for (unsigned k = n->naccess; k < LIMIT_NEST_ACCESSES; k++)
		memset(&spec->access[k], 0, sizeof spec->access[k]);
	for (unsigned k = 0; k < n->naccess; k++) {
		struct nest_access *a = &spec->access[k];
		uint32_t s = 0;

		while (s < nseen && seen[s] != a->slot)
			s++;
		if (s == nseen)
			seen[nseen++] = a->slot;
		a->slot = s;
		a->offset = a->move = a->gextent = a->gstride = 0;
		memset(a->stride, 0, sizeof a->stride);
	}
}
