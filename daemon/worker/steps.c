/* SPDX-License-Identifier: Apache-2.0 */
/* worker/steps.c - the parts of a CMD_RUN packet, checked; see steps.h. */
#include "steps.h"

#include <string.h>

uint32_t steps_places(const struct command_step *s)
{
	return s->kind == STEP_COPY ? 2 : s->naccess;
}

/* Bytes that a step with these counts takes. */
static size_t step_bytes(const struct command_step *s)
{
	size_t bytes = sizeof *s + steps_places(s) * sizeof(struct command_place);

	if (s->kind == STEP_CALL)
		return bytes + call_bytes(s->naccess);
	if (s->kind == STEP_COPY)
		return bytes;
	return bytes + s->naccess * 8 * sizeof(int64_t) +
	       (size_t)(s->npar + s->nred) * sizeof(int64_t) + s->nscalar * 2 * sizeof(uint64_t) +
	       s->ngather * 2 * sizeof(int64_t);
}

enum status steps_next(const struct command_step **out, const char *at, const char *end, uint32_t i,
		       struct err *err)
{
	const struct command_step *s = (const struct command_step *)at;

	if ((size_t)(end - at) < sizeof *s || s->bytes > (size_t)(end - at) || s->bytes % 8 != 0 ||
	    s->npar + s->nred > LIMIT_NDIM || s->bytes < step_bytes(s))
		return err_set(err, E_INTERNAL, "step %u of a run is malformed", i);
	*out = s;
	return OK;
}

bool steps_is_loop(const char *at, const char *end)
{
	return (size_t)(end - at) >= sizeof(struct command_loop) &&
	       ((const struct command_loop *)at)->kind == STEP_LOOP;
}

/* Do the steps have the accesses and scalars that are patched, and nothing else? */
static enum status loop_steps(const struct steps_loop *o, const char *end, struct err *err)
{
	const char *at = o->step;
	uint64_t places = 0, scalars = 0;

	for (uint32_t i = 0; i < o->loop->nstep; i++) {
		const struct command_step *s = NULL;
		enum status st = steps_next(&s, at, end, i, err);

		if (st != OK)
			return st;
		if (s->kind != STEP_KERNEL && s->kind != STEP_CALL)
			return err_set(err, E_INTERNAL, "step %u of a loop is of kind %u", i,
				       s->kind);
		if (o->loops && s->split)
			return err_set(err, E_INTERNAL, "step %u of a loop with sizes is cut", i);
		places += s->naccess;
		scalars += s->kind == STEP_KERNEL ? s->nscalar : 0;
		at += s->bytes;
	}
	return places == o->loop->npatch && scalars == o->loop->nscalar && at == end
		       ? OK
		       : err_set(err, E_INTERNAL, "a loop's steps are not what it patches");
}

/* The extents of sizes, which lie at `at`, and whose they are; bytes. */
static uint64_t loop_sizes(struct steps_loop *o, const char *at)
{
	const struct command_loop *l = o->loop;

	if (!l->nsize)
		return 0;
	o->size = (const int64_t *)at;
	o->loops = (const uint8_t *)(o->size + (size_t)l->turns * l->nsize);
	return (uint64_t)l->turns * l->nsize * sizeof *o->size + (uint64_t)l->nstep * LIMIT_NDIM;
}

/* Are a loop's counts such that the bytes of its parts can be added up? */
static bool countable(const struct command_loop *l)
{
	return l->nplace && l->nrow && l->nslot <= COMMAND_BYTES && l->nimm <= COMMAND_BYTES &&
	       l->npatch <= COMMAND_BYTES && l->turns <= COMMAND_BYTES && l->nsize <= UINT8_MAX &&
	       l->nstep <= COMMAND_BYTES;
}

/* Do patches and loops name what there is? */
static enum status check_names(const struct steps_loop *o, struct err *err)
{
	const struct command_loop *l = o->loop;

	for (uint32_t i = 0; i < l->npatch; i++)
		if (o->patch[i].slot >= l->nslot)
			return err_set(err, E_INTERNAL, "a loop patches slot %u of %u",
				       o->patch[i].slot, l->nslot);
	for (uint32_t i = 0; i < l->nscalar; i++)
		if (o->scalar[i] >= l->nimm)
			return err_set(err, E_INTERNAL, "a loop patches immediate %u of %u",
				       o->scalar[i], l->nimm);
	for (uint32_t i = 0; o->loops && i < o->loop->nstep * LIMIT_NDIM; i++)
		if (o->loops[i] > o->loop->nsize)
			return err_set(err, E_INTERNAL, "a loop has no size %u", o->loops[i]);
	return OK;
}

enum status steps_loop(struct steps_loop *out, const char *at, const char *end, struct err *err)
{
	const struct command_loop *l = (const struct command_loop *)at;
	uint64_t bytes = sizeof *l + (uint64_t)l->nplace * l->nslot * sizeof *out->place;

	bytes += (uint64_t)l->nrow * l->nimm * 16 + (uint64_t)l->npatch * sizeof *out->patch;
	bytes += ((uint64_t)l->nscalar + (l->nscalar & 1)) * sizeof *out->scalar;
	if (l->bytes > (size_t)(end - at) || l->bytes % 8 || bytes > l->bytes || !countable(l))
		return err_set(err, E_INTERNAL, "a loop of a run is malformed");
	*out = (struct steps_loop){.loop = l};
	bytes += loop_sizes(out, at + bytes);
	if (bytes > l->bytes)
		return err_set(err, E_INTERNAL, "a loop of a run is malformed");
	out->place = (const struct command_place *)(l + 1);
	out->imm = (const uint64_t *)(out->place + (size_t)l->nplace * l->nslot);
	out->patch = (const struct command_patch *)(out->imm + (size_t)l->nrow * l->nimm * 2);
	out->scalar = (const uint32_t *)(out->patch + l->npatch);
	out->step = at + bytes;
	if (check_names(out, err) != OK)
		return E_INTERNAL;
	return loop_steps(out, at + l->bytes, err);
}

enum status steps_fetches(const struct command_fetch **out, const char *at, const char *end,
			  uint32_t nfetch, struct err *err)
{
	const struct command_fetch *f = (const struct command_fetch *)at;

	if (nfetch > 8 || (size_t)(end - at) != nfetch * sizeof *f)
		return err_set(err, E_INTERNAL, "%u fetches of a run are malformed", nfetch);
	for (uint32_t i = 0; i < nfetch; i++) {
		if (f[i].bytes > LIMIT_INLINE_BYTES)
			return err_set(err, E_INTERNAL, "fetch of %u bytes", f[i].bytes);
	}
	*out = f;
	return OK;
}

struct steps_operands steps_operands(const struct command_step *s)
{
	struct steps_operands o = {.place = (const struct command_place *)(s + 1)};

	o.extent = (const int64_t *)(o.place + s->naccess);
	o.stride = o.extent + s->npar + s->nred;
	o.scalar = (const uint64_t *)(o.stride + 8 * s->naccess);
	o.gather = (const int64_t *)(o.scalar + 2 * s->nscalar);
	return o;
}

/* May one thread have all reduced points of a parallel one, as phases need it? */
static bool fits_chunk(const struct command_step *s)
{
	const int64_t *extent = steps_operands(s).extent;
	int64_t n = 1;

	for (unsigned l = s->npar; l < (unsigned)s->npar + s->nred; l++) {
		if (extent[l] < 0 || (extent[l] && n > TREE_CHUNK / extent[l]))
			return false;
		n *= extent[l];
	}
	return !s->split;
}

bool steps_fit(const struct command_step *s, const struct nest *spec)
{
	return (!spec->nmore || fits_chunk(s)) && s->naccess == spec->naccess &&
	       s->nscalar == spec->nscalar && s->npar == spec->npar && s->nred == spec->nred &&
	       s->ngather == nest_gathers(spec);
}

unsigned steps_call_id(const struct command_step *s)
{
	const char *call = (const char *)((const struct command_place *)(s + 1) + s->naccess);

	return ((const struct plan_call *)(const void *)call)->call;
}

enum status steps_call(struct plan_call *out, const struct command_step *s, struct err *err)
{
	enum status st = OK;

	if (s->naccess > CALL_OPERANDS)
		return err_set(err, E_INTERNAL, "step %u: a call of %u operands", s->index,
			       s->naccess);
	memset(out, 0, sizeof *out);
	memcpy(out, (const struct command_place *)(s + 1) + s->naccess, call_bytes(s->naccess));
	st = call_check(out, err);
	if (st == OK && s->naccess != call_operands(out))
		st = err_set(err, E_INTERNAL, "step %u: %s of %u operands", s->index,
			     call_row(out->call)->name, s->naccess);
	if (st == OK && s->bytes < step_bytes(s) + out->nscalar * 2 * sizeof(uint64_t))
		st = err_set(err, E_INTERNAL, "step %u: %u numbers are not there", s->index,
			     out->nscalar);
	return st;
}

const uint64_t *steps_scalars(const struct command_step *s)
{
	return (const uint64_t *)(const void *)((const char *)s + step_bytes(s));
}

enum status steps_grid(struct grid_words *out, const struct command_step *s,
		       const struct plan_call *c, struct err *err)
{
	size_t at = step_bytes(s) + c->nscalar * 2 * sizeof(uint64_t);
	const struct command_grid *g = (const void *)((const char *)s + at);

	if (s->bytes < at + sizeof *g || !g->bytes || g->bytes > s->bytes - at - sizeof *g ||
	    g->text[g->bytes - 1])
		return err_set(err, E_INTERNAL, "step %u: a loop without a text", s->index);
	*out = (struct grid_words){g->text, g->range, g->levels, g->fast,
				   g->only, g->sum,   g->keeps};
	return OK;
}

static enum status count_of(int64_t *out, const int64_t *extent, int n, struct err *err)
{
	*out = 1;
	for (int i = 0; i < n; i++) {
		if (extent[i] < 0 || __builtin_mul_overflow(*out, extent[i], out))
			return err_set(err, E_INTERNAL, "extents of a step overflow");
	}
	return OK;
}

/* Chunks [lo, hi) of a group of points. */
static enum status group_slice(struct steps_slice *out, const struct command_step *s,
			       struct err *err)
{
	out->lo = s->plo;
	out->hi = s->phi ? s->phi : out->points;
	out->clo = s->lo;
	out->chi = s->hi;
	if (out->lo < 0 || out->lo > out->hi || out->hi > out->points)
		return err_set(err, E_INTERNAL, "chunks of points [%lld, %lld) of %lld",
			       (long long)out->lo, (long long)out->hi, (long long)out->points);
	return OK;
}

enum status steps_slice(struct steps_slice *out, const struct command_step *s, struct err *err)
{
	const int64_t *extent = steps_operands(s).extent;
	int64_t reduced = 0, limit = 0, hi = 0;
	enum status st = count_of(&out->points, extent, s->npar, err);

	if (st == OK)
		st = count_of(&out->reduced, extent + s->npar, s->nred, err);
	if (st != OK)
		return st;
	reduced = out->reduced;
	out->chunks = reduced / TREE_CHUNK + (reduced % TREE_CHUNK != 0);
	limit = s->split ? out->chunks : out->points;
	hi = s->whole ? limit : s->hi;
	if (s->lo < 0 || hi > limit || s->lo > hi || (s->split && (s->nred == 0 || s->whole)))
		return err_set(err, E_INTERNAL, "slice [%lld, %lld) of %lld", (long long)s->lo,
			       (long long)s->hi, (long long)limit);
	if (s->split) {
		st = group_slice(out, s, err);
		reduced = (s->hi - s->lo) * TREE_CHUNK;
	} else {
		out->lo = s->lo;
		out->hi = hi;
		out->clo = 0;
		out->chi = out->chunks;
	}
	if (st != OK)
		return st;
	if (__builtin_mul_overflow(out->hi - out->lo, reduced, &out->elements))
		return err_set(err, E_INTERNAL, "elements of a step overflow");
	return OK;
}

/* Bytes [*lo, *hi) grow by n steps of so many bytes, in either direction. */
static enum status extend(int64_t *lo, int64_t *hi, int64_t n, int64_t stride, uint32_t a,
			  struct err *err)
{
	int64_t reach = 0, *end = NULL;

	if (__builtin_mul_overflow(n, stride, &reach))
		return err_set(err, E_INTERNAL, "access %u overflows", a);
	end = reach < 0 ? lo : hi;
	if (__builtin_add_overflow(*end, reach, end))
		return err_set(err, E_INTERNAL, "access %u overflows", a);
	return OK;
}

/* Is the access touched once for each parallel point, whatever is reduced there? */
static bool touched_once(const struct nest *spec, uint32_t a)
{
	for (unsigned i = 0; i < spec->ninstr; i++)
		if (nest_touches(spec->instr[i].op) && spec->instr[i].a == a &&
		    !nest_everywhere(nest_section(spec, i)))
			return true;
	return false;
}

enum status steps_reach(int64_t *lo, int64_t *hi, const struct command_step *s,
			const struct nest *spec, uint32_t a, struct err *err)
{
	const struct steps_operands o = steps_operands(s);
	const int64_t *stride = o.stride + a * 8, *g = NULL;
	unsigned loops = (unsigned)s->npar + s->nred;
	bool no_point = false, no_term = false;
	enum status st = OK;

	*lo = *hi = 0;
	for (unsigned l = 0; l < loops; l++) {
		if (o.extent[l] < 0)
			return err_set(err, E_INTERNAL, "an extent of a step is negative");
		no_point |= l < s->npar && o.extent[l] == 0;
		no_term |= l >= s->npar && o.extent[l] == 0;
	}
	if (no_point || (no_term && !touched_once(spec, a)))
		return OK;
	if (no_term)
		loops = s->npar;
	*hi = dtype_row(spec->access[a].dtype)->bytes;
	for (unsigned l = 0; l < loops && st == OK; l++)
		st = extend(lo, hi, o.extent[l] - 1, stride[l], a, err);
	if (st != OK || !spec->access[a].gather)
		return st;
	g = o.gather + 2 * nest_gather(spec, a);
	if (g[0] < 1)
		return err_set(err, E_INTERNAL, "access %u gathers from nothing", a);
	return extend(lo, hi, g[0] - 1, g[1], a, err);
}
