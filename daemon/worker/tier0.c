/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0.c - the interpreter of nests.
 *
 * In:  a checked nest and the arguments of a call.  Out: its stores.  Works on
 * blocks of points: each instruction is one precompiled loop over registers of
 * 512 elements (1024 when none is wider than 4 bytes), which stay in the L1 and
 * L2 caches because registers are given out by liveness.  What lies in memory as it would in a
 * register is read and written there.
 *
 * Reductions follow kernels/tree.h, either a parallel point at a time (inner) or
 * a tile of points at a time with one row of the reduced loops after another
 * (outer); the bits are the same, so the choice is one of speed. */
#include "tier0.h"

#include <string.h>

#include "loops/product.h"
#include "loops/tile.h"
#include "tier0_dots.h"
#include "tier0_layout.h"
#include "tier0_walk.h"

/* Elements of a row that is worth reading where it lies; tiles end with it. */
#define LONG_ROW 64

struct run {
	const struct nest *spec;
	const struct tier0_layout *lay;
	const struct bz_args *a;
	enum isa_level level;
	const struct tier0_isa *isa, *wide; /* wide: preferred where it has a loop */
	struct tier0_walk par, red;
	int64_t fixed[LIMIT_NEST_ACCESSES]; /* bytes, of the loops that stand still */
	int64_t still[LIMIT_NDIM];	    /* their indices */
	char *regs, *states, *outer;
	char *value[LIMIT_NEST_INSTRS]; /* where the block's values lie */
	unsigned section;		/* that is being run, of those at every point */
	int first, last;		/* its reductions: of lay->reduce, [first, last) */
};

size_t tier0_scratch(const struct nest *spec)
{
	struct tier0_layout lay;

	tier0_layout_init(&lay, spec);
	return lay.nreg * lay.reg_bytes +
	       lay.nreduce * (2 * (size_t)TIER0_STATE_BYTES + TILE_BYTES) + 64;
}

enum status tier0_check(const struct nest *spec, struct err *err)
{
	const struct tier0_isa *isa = &tier0_isa_v2;

	if (isa_best() == ISA_NONE)
		return err_set(err, E_UNSUPPORTED,
			       "this processor is below x86-64-v2; braze needs SSE 4.2");
	for (int i = 0; i < spec->ninstr; i++) {
		const struct nest_instr *in = &spec->instr[i];
		bool have = true;

		if (in->dtype >= DTYPE_END || in->ltype >= DTYPE_END)
			return err_set(err, E_INTERNAL, "instruction %d has no such type", i);
		if (in->op == OP_CAST)
			have = isa->cast[in->ltype][in->dtype];
		else if (in->op == NI_REDUCE)
			have = in->c < OP_END && isa->red[in->c][in->ltype].init;
		else if (instr_computes(in->op))
			have = isa->op[in->op][in->ltype];
		if (!have)
			return err_set(err, E_UNSUPPORTED,
				       "instruction %d: no loop of %s for type %s", i,
				       op_text(instr_operation(in)), dtype_row(in->ltype)->suffix);
		if (!nest_fed(spec, (unsigned)i))
			return err_set(err, E_INTERNAL, "instruction %d uses what is not there", i);
	}
	return OK;
}

static char *register_of(const struct run *r, int i)
{
	return r->regs + r->lay->reg[i] * r->lay->reg_bytes;
}

static char *value_of(const struct run *r, int i)
{
	return r->value[i];
}

static int bytes_of(unsigned dtype)
{
	return dtype_row(dtype)->bytes;
}

/* Numbers, as far as blocks of at most n points read them. */
static void fill_scalars(struct run *r, int64_t n)
{
	n = n < r->lay->block ? (n + TIER0_LANES - 1) / TIER0_LANES * TIER0_LANES : r->lay->block;
	for (int i = 0; i < r->spec->ninstr; i++) {
		const struct nest_instr *in = &r->spec->instr[i];
		uint64_t raw[2];

		if (in->op != NI_SCALAR)
			continue;
		memcpy(raw, &r->a->scalar[in->a * 2], sizeof raw);
		/* Components of 4 bytes lie in a word each. */
		if (in->dtype == DT_COMPLEX64)
			raw[0] = (raw[0] & 0xffffffffu) | raw[1] << 32;
		walk_fill(value_of(r, i), raw, (unsigned)bytes_of(in->dtype), n);
	}
}

const struct tier0_isa *tier0_table(enum isa_level level)
{
	static const struct tier0_isa *const table[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3,
							       &tier0_isa_v4};

	return table[level < 0 ? 0 : level];
}

const struct tier0_isa *tier0_wide_table(enum isa_level level)
{
	static const struct tier0_isa *const table[ISA_END] = {
		&tier0_isa_v2_wide, &tier0_isa_v3_wide, &tier0_isa_v4_wide};

	return table[level < 0 ? 0 : level];
}

static void run_init(struct run *r, enum isa_level level, const struct nest *spec,
		     const struct tier0_layout *lay, const struct bz_args *a, void *scratch)
{
	char *at = (char *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);

	r->spec = spec;
	r->a = a;
	r->level = level;
	r->isa = tier0_table(level);
	r->wide = tier0_wide_table(level);
	r->lay = lay;
	r->regs = at;
	r->states = r->regs + r->lay->nreg * r->lay->reg_bytes;
	r->outer = r->states + r->lay->nreduce * 2 * (size_t)TIER0_STATE_BYTES;
	for (int i = 0; i < spec->ninstr; i++)
		r->value[i] = register_of(r, i);
	memset(r->fixed, 0, sizeof r->fixed);
	memset(r->still, 0, sizeof r->still);
	tier0_walk_init(&r->par, spec, a, 0, spec->npar, r->lay->indexed);
	tier0_walk_init(&r->red, spec, a, spec->npar, spec->npar + spec->nred, r->lay->indexed);
}

/* Hold loops [from, to) at their flat point p. */
static void hold(struct run *r, int from, int to, int64_t p)
{
	memset(r->fixed, 0, sizeof r->fixed);
	memset(r->still, 0, sizeof r->still);
	for (int l = to - 1; l >= from; l--) {
		int64_t extent = r->a->extent[l];

		r->still[l] = extent ? p % extent : 0;
		p = extent ? p / extent : 0;
		for (int x = 0; x < r->spec->naccess; x++)
			r->fixed[x] += r->still[l] * r->a->stride[x * LIMIT_NDIM + l];
	}
}

/* Hold loops [from, to), and no others, at the next point. */
static void hold_next(struct run *r, int from, int to)
{
	for (int l = to - 1; l >= from; l--) {
		int64_t steps = ++r->still[l] < r->a->extent[l] ? 1 : 1 - r->a->extent[l];

		for (int x = 0; x < r->spec->naccess; x++)
			r->fixed[x] += steps * r->a->stride[x * LIMIT_NDIM + l];
		if (steps == 1)
			return;
		r->still[l] = 0;
	}
}

static void index_value(struct run *r, const struct tier0_walk *w, int loop, const int64_t *index,
			int64_t n, char *dst)
{
	int first = w == &r->par ? 0 : r->spec->npar;
	int count = w == &r->par ? r->spec->npar : r->spec->nred;

	if (loop >= first && loop < first + count)
		tier0_walk_index(w, loop, index, n, (int64_t *)dst);
	else
		walk_fill(dst, &r->still[loop], 8, n);
}

static uint64_t least_key(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void tier0_check_places(uint64_t *error, const int64_t *place, int64_t size, int64_t n)
{
	uint64_t worst = KERNEL_GOOD, old;

	for (int64_t i = 0; i < n; i++)
		if (place[i] < -size || place[i] >= size)
			worst = least_key(worst, bz_fault_key(place[i]));
	old = __atomic_load_n(error, __ATOMIC_RELAXED);
	while (worst < old && !__atomic_compare_exchange_n(error, &old, worst, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void gather(const struct run *r, const struct nest_instr *in, const struct tier0_walk *w,
		   const int64_t *index, int64_t n, const char *place, char *dst)
{
	const int64_t *g = r->a->gather + 2 * nest_gather(r->spec, in->a);

	tier0_walk_gather(w, in->a, index, r->a->base[in->a] + r->fixed[in->a], bytes_of(in->dtype),
			  n, dst, (const int64_t *)place, g[0], g[1]);
	if (in->dtype == DT_BOOL)
		r->isa->cast[DT_BOOL][DT_BOOL](dst, dst, dst, dst, n);
}

/* The end of what access x touches. */
static const char *end_of(const struct run *r, unsigned x, int64_t bytes)
{
	for (int l = 0; l < r->spec->npar + r->spec->nred; l++) {
		int64_t reach = (r->a->extent[l] - 1) * r->a->stride[x * LIMIT_NDIM + (unsigned)l];

		bytes += reach > 0 ? reach : 0;
	}
	return r->a->base[x] + bytes;
}

/* Where a load or store has the n elements from `index` on, if that is as a register would have
 * them; else NULL.  A loop takes whole vectors: it may read, but not write, what is behind the
 * elements, as far as that is the array's and nobody else is writing it, as maps in place may. */
static char *packed(const struct run *r, const struct tier0_walk *w, const struct nest_instr *in,
		    const int64_t *index, int64_t n)
{
	int64_t bytes = bytes_of(in->dtype), over = -n & (TIER0_LANES - 1);
	const int64_t *step = w->step[in->a];
	char *there = NULL;

	if (over && (in->op == NI_STORE || n < LONG_ROW || !r->spec->nred))
		return NULL;
	if (step[w->loops.n - 1] != bytes || walk_row(&w->loops, index, n) < n)
		return NULL;
	there = r->a->base[in->a] + r->fixed[in->a] + walk_offset(&w->loops, step, index);
	return over && there + (n + over) * bytes > end_of(r, in->a, bytes) ? NULL : there;
}

/* Rows of a reduction that lie far apart: what it will load two rows later. */
static void ask_ahead(const struct run *r, unsigned x, const char *row, int64_t bytes)
{
	const char *next =
		row + 2 * r->a->stride[x * LIMIT_NDIM + r->spec->npar + r->spec->nred - 1];

	for (int64_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(next + i);
}

static void load(struct run *r, unsigned section, const struct tier0_walk *w, const int64_t *index,
		 int64_t n, int i)
{
	const struct nest_instr *in = &r->spec->instr[i];
	char *dst = register_of(r, i);
	char *there = r->lay->lend[i] ? packed(r, w, in, index, n) : NULL;

	r->value[i] = there ? there : dst;
	if (there && w == &r->par && nest_everywhere(section) && r->spec->nred)
		ask_ahead(r, in->a, there, n * bytes_of(in->dtype));
	if (there)
		return;
	walk_load(&w->loops, w->step[in->a], index, r->a->base[in->a] + r->fixed[in->a],
		  (unsigned)bytes_of(in->dtype), n, dst);
	/* A client can scribble on its arena: a stored bool is any byte. */
	if (in->dtype == DT_BOOL)
		r->isa->cast[DT_BOOL][DT_BOOL](dst, dst, dst, dst, n);
}

static void compute(struct run *r, const struct tier0_walk *w, const int64_t *index, int64_t n,
		    int i)
{
	const struct nest_instr *in = &r->spec->instr[i];
	tier0_fn *fn = in->op == OP_CAST ? tier0_cast(r->isa, r->wide, in->ltype, in->dtype)
					 : tier0_op(r->isa, r->wide, in->op, in->ltype);
	int to = r->lay->into[i];
	uint16_t arg[3];
	const char *v[3];

	/* A loop looks at those that it has. */
	for (unsigned k = 0, have = instr_values(arg, in); k < 3; k++)
		v[k] = value_of(r, arg[k < have ? k : 0]);
	if (to) {
		char *there = packed(r, w, &r->spec->instr[to - 1], index, n);

		r->value[i] = there ? there : register_of(r, i);
	}
	fn(value_of(r, i), v[0], v[1], v[2], n);
	if (in->op == OP_INDEX)
		tier0_check_places(r->a->error + in->c, (const int64_t *)v[0],
				   *(const int64_t *)v[1], n);
}

/* One section on n points of the walk from its flat point p on. */
static void exec(struct run *r, unsigned section, const struct tier0_walk *w, int64_t p, int64_t n)
{
	const struct nest *s = r->spec;
	int64_t index[LIMIT_NDIM] = {0};
	int end = (int)nest_end(s, section);

	walk_seek(&w->loops, p, index);
	for (int i = (int)nest_begin(s, section); i < end; i++) {
		const struct nest_instr *in = &s->instr[i];

		if (!r->lay->runs[i] || in->op == NI_SCALAR || in->op == NI_REDUCE)
			continue;
		if (in->op == NI_LOAD) {
			load(r, section, w, index, n, i);
		} else if (in->op == NI_STORE) {
			/* Else it was computed there. */
			if (!r->lay->into[in->b] || value_of(r, in->b) == register_of(r, in->b))
				walk_store(&w->loops, w->step[in->a], index,
					   r->a->base[in->a] + r->fixed[in->a],
					   (unsigned)bytes_of(in->dtype), n, value_of(r, in->b));
		} else if (in->op == NI_GATHER) {
			gather(r, in, w, index, n, value_of(r, in->b), value_of(r, i));
		} else if (in->op == NI_INDEX) {
			index_value(r, w, in->a, index, n, value_of(r, i));
		} else {
			compute(r, w, index, n, i);
		}
	}
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t product(const int64_t *extent, int n)
{
	int64_t total = 1;

	for (int l = 0; l < n; l++)
		total *= extent[l];
	return total;
}

static void map_points(enum isa_level level, const struct nest *spec,
		       const struct tier0_layout *lay, const struct bz_args *a, int64_t lo,
		       int64_t hi, void *scratch)
{
	struct run r;

	run_init(&r, level, spec, lay, a, scratch);
	fill_scalars(&r, hi - lo);
	for (int64_t p = lo; p < hi && !bz_cancelled(a->cancel); p += r.lay->block)
		exec(&r, SECTION_BODY, &r.par, p, least(r.lay->block, hi - p));
}

/* ---- reductions -------------------------------------------------------------- */

static const struct tier0_red *red_of(const struct run *r, int k)
{
	const struct nest_instr *in = &r->spec->instr[r->lay->reduce[k]];

	return &r->isa->red[in->c][in->ltype];
}

static const struct nest_instr *red_instr(const struct run *r, int k)
{
	return &r->spec->instr[r->lay->reduce[k]];
}

/* From now on section s is run, with the reductions that stand in it. */
static void enter(struct run *r, unsigned s)
{
	const struct nest *n = r->spec;

	r->section = s;
	r->first = 0;
	while (r->first < r->lay->nreduce && r->lay->reduce[r->first] < nest_begin(n, s))
		r->first++;
	r->last = r->first;
	while (r->last < r->lay->nreduce && r->lay->reduce[r->last] < nest_end(n, s))
		r->last++;
}

/* State 0: the chunk's; state 1: of the chunks joined. */
static void *state_of(const struct run *r, int k, int which)
{
	return r->states + (size_t)(2 * k + which) * TIER0_STATE_BYTES;
}

/* Chunk c at the held parallel point, into acc[nreduce]. */
static void reduce_chunk(struct run *r, int64_t c, int64_t total, struct bz_acc *acc)
{
	int64_t lo = c * TREE_CHUNK, hi = least(lo + TREE_CHUNK, total);

	for (int k = r->first; k < r->last; k++)
		red_of(r, k)->init(state_of(r, k, 0));
	for (int64_t e = lo; e < hi && !bz_cancelled(r->a->cancel); e += r->lay->block) {
		int64_t n = least(r->lay->block, hi - e);
		bool full = (e + n) % TREE_BLOCK == 0 || e + n == hi;

		exec(r, r->section, &r->red, e, n);
		for (int k = r->first; k < r->last; k++) {
			red_of(r, k)->step(state_of(r, k, 0), value_of(r, red_instr(r, k)->a), n,
					   e);
			if (full)
				red_of(r, k)->block(state_of(r, k, 0));
		}
	}
	for (int k = r->first; k < r->last; k++)
		red_of(r, k)->end(state_of(r, k, 0), hi - lo, &acc[k]);
}

/* The n <= TILE parallel points from p on, reduced points [lo, total), where lo begins a
 * chunk: results to done[k]. */
static void reduce_tile(struct run *r, char **done, int64_t p, int64_t n, int64_t lo, int64_t total)
{
	struct tile t[LIMIT_NEST_REDUCES];
	int npar = r->spec->npar;

	for (int k = r->first; k < r->last; k++)
		tile_init(&t[k], r->isa, r->wide, red_of(r, k), red_instr(r, k)->ltype, n,
			  r->outer + (size_t)k * TILE_BYTES);
	hold(r, npar, npar + r->spec->nred, lo);
	for (int64_t e = lo; e < total && !bz_cancelled(r->a->cancel); e++) {
		exec(r, r->section, &r->par, p, n);
		for (int k = r->first; k < r->last; k++)
			tile_take(&t[k], value_of(r, red_instr(r, k)->a), e, total);
		hold_next(r, npar, npar + r->spec->nred);
	}
	for (int k = r->first; k < r->last; k++)
		done[k] = tile_end(&t[k]);
}

/* What reduce_tile has left, as the reductions' registers from element `at` on. */
static void tile_results(struct run *r, char *const *done, int64_t n, int64_t at)
{
	for (int k = r->first; k < r->last; k++) {
		const struct nest_instr *in = red_instr(r, k);
		int bytes = bytes_of(red_of(r, k)->side ? DT_INT64 : in->ltype);

		memcpy(value_of(r, r->lay->reduce[k]) + at * bytes, done[k], (size_t)(n * bytes));
	}
}

/* The same as accumulators of n points, `apart` from one to the next. */
static void tile_parts(struct run *r, char *const *done, int64_t n, struct bz_acc *part,
		       int64_t apart)
{
	for (int k = 0; k < r->lay->nreduce; k++) {
		const struct dtype_row *d = dtype_row(red_instr(r, k)->ltype);
		size_t word = d->cls == CLASS_COMPLEX ? d->bytes / 2u : d->bytes;
		const char *best = r->outer + (size_t)k * TILE_BYTES; /* of argmin and argmax */
		bool side = red_of(r, k)->side;

		for (int64_t i = 0; i < n; i++) {
			struct bz_acc *acc = &part[i * apart + k];
			const char *from = (side ? best : done[k]) + i * d->bytes;

			*acc = (struct bz_acc){.index = side ? ((int64_t *)done[k])[i] : 0};
			memcpy(&acc->v[0], from, word);
			if (d->cls == CLASS_COMPLEX)
				memcpy(&acc->v[1], from + word, word);
		}
	}
}

/* Are columns the better vectors?  Yes where the nest says that memory runs along
 * a parallel loop, and where rows are too short to fill a block. */
static bool want_tiles(const struct run *r, int64_t points, int64_t total)
{
	for (int k = 0; k < r->lay->nreduce; k++)
		if (!red_of(r, k)->identity && !red_of(r, k)->side)
			return false;
	return (r->spec->npar && r->spec->vec < r->spec->npar && points >= 8) ||
	       (total < 256 && points >= 64);
}

static const struct product_loops *product_of(enum isa_level level, unsigned dtype)
{
	static const struct product_isa *const table[ISA_END] = {&product_isa_v2, &product_isa_v3,
								 &product_isa_v4};

	return &table[level < 0 ? 0 : level]->type[dtype];
}

/* Are the points' sums dots of elements side by side? */
static bool are_dots(const struct run *r, int64_t total)
{
	const struct nest_instr *in = r->spec->instr;
	const uint16_t *pair = r->lay->pair;
	int64_t bytes = r->lay->dots ? bytes_of(in[pair[0]].dtype) : 0;

	return bytes && total > 0 && r->red.loops.n == 1 &&
	       r->red.step[in[pair[0]].a][0] == bytes && r->red.step[in[pair[1]].a][0] == bytes;
}

/* Where the elements of both factors of `n` points from p on begin; the factor that is the same of
 * all, -1: none is. */
static int dot_factors(struct run *r, int64_t p, int n, const char *at[2][PRODUCT_DOTS])
{
	const struct nest_instr *in = r->spec->instr;
	bool same[2] = {true, true};

	for (int k = 0; k < n; k++) {
		hold(r, 0, r->spec->npar, p + k);
		for (int f = 0; f < 2; f++) {
			unsigned access = in[r->lay->pair[f]].a;

			at[f][k] = r->a->base[access] + r->fixed[access];
			same[f] &= at[f][k] == at[f][0];
		}
	}
	return same[1] ? 1 : same[0] ? 0 : -1;
}

/* As reduce_points. */
static void dot_points(struct run *r, int64_t lo, int64_t hi, int64_t total)
{
	unsigned dtype = red_instr(r, 0)->dtype;
	const struct product_loops *loops = product_of(r->level, dtype);
	char *to = value_of(r, r->lay->reduce[0]);
	const char *at[2][PRODUCT_DOTS];

	for (int64_t p = lo, n; p < hi && !bz_cancelled(r->a->cancel); p += n) {
		n = least(hi - p, PRODUCT_DOTS);
		int same = dot_factors(r, p, (int)n, at);

		tier0_dots(&(struct tier0_dots){loops, red_of(r, 0), r->a->cancel,
						at[same >= 0 && !same], at[same < 0 || same],
						(int)n, same >= 0},
			   to, total);
		to += n * bytes_of(dtype);
	}
}

/* Parallel points [lo, hi), at most a block of them, one after another. */
static void reduce_points(struct run *r, int64_t lo, int64_t hi, int64_t total)
{
	int64_t chunks = (total + TREE_CHUNK - 1) / TREE_CHUNK;
	struct bz_acc acc[LIMIT_NEST_REDUCES];

	for (int64_t p = lo; p < hi; p++) {
		hold(r, 0, r->spec->npar, p);
		for (int k = 0; k < r->lay->nreduce; k++)
			red_of(r, k)->init(state_of(r, k, 1));
		for (int64_t c = 0; c < chunks && !bz_cancelled(r->a->cancel); c++) {
			reduce_chunk(r, c, total, acc);
			for (int k = 0; k < r->lay->nreduce; k++)
				red_of(r, k)->join(state_of(r, k, 1), &acc[k]);
		}
		for (int k = 0; k < r->lay->nreduce; k++) {
			int bytes = bytes_of(red_instr(r, k)->dtype);

			red_of(r, k)->end(state_of(r, k, 1), total, &acc[k]);
			red_of(r, k)->put(&acc[k],
					  value_of(r, r->lay->reduce[k]) + (p - lo) * bytes);
		}
	}
}

/* The post instructions on [lo, hi), at most a block, from the results. */
static void post_points(struct run *r, int64_t lo, int64_t hi)
{
	memset(r->fixed, 0, sizeof r->fixed);
	memset(r->still, 0, sizeof r->still);
	exec(r, SECTION_POST, &r->par, lo, hi - lo);
}

static int64_t reduced_points(const struct run *r)
{
	return product(r->a->extent + r->spec->npar, r->spec->nred);
}

/* Chunks [clo, chi) of points [lo, hi). */
struct range {
	int64_t lo, hi, clo, chi;
};

/* How many of the points from p on a tile takes: not of two rows, if they are long. */
static int64_t tile_points(const struct run *r, int64_t p, int64_t end)
{
	int64_t row = r->par.loops.extent[r->par.loops.n - 1], n = least(TILE, end - p);

	return row < LONG_ROW ? n : least(n, row - p % row);
}

static void reduce_parts(struct run *r, struct range at, int64_t total, struct bz_acc *part)
{
	char *done[LIMIT_NEST_REDUCES];
	int64_t chunks = (total + TREE_CHUNK - 1) / TREE_CHUNK, apart = chunks * r->lay->nreduce;
	bool tiles = want_tiles(r, at.hi - at.lo, total);

	for (int64_t p = at.lo, n = 1; p < at.hi; p += n) {
		n = tiles ? tile_points(r, p, at.hi) : 1;
		if (!tiles)
			hold(r, 0, r->spec->npar, p);
		for (int64_t c = at.clo; c < at.chi && !bz_cancelled(r->a->cancel); c++) {
			struct bz_acc *to = &part[p * apart + c * r->lay->nreduce];

			if (!tiles) {
				reduce_chunk(r, c, total, to);
				continue;
			}
			reduce_tile(r, done, p, n, c * TREE_CHUNK,
				    least((c + 1) * TREE_CHUNK, total));
			tile_parts(r, done, n, to, apart);
		}
	}
}

/* The values that sections behind s may use were computed for one point, as element 0 of
 * their registers: they are those of n of its reduced points, whole vectors of them. */
static void spread_kept(struct run *r, unsigned s, int64_t n)
{
	int end = (int)nest_end(r->spec, s);

	n = least((n + TIER0_LANES - 1) / TIER0_LANES * TIER0_LANES, r->lay->block);
	for (int i = 0; i < end; i++) {
		const struct nest_instr *in = &r->spec->instr[i];
		char raw[16];

		if (!r->lay->own[i] || in->op == NI_SCALAR ||
		    nest_section(r->spec, (unsigned)i) + 1 < s)
			continue;
		memcpy(raw, value_of(r, i), (size_t)bytes_of(in->dtype));
		walk_fill(value_of(r, i), raw, (unsigned)bytes_of(in->dtype), n);
	}
}

/* The held parallel point p: sections at its reduced points, and once, in turn. */
static void phases_of_point(struct run *r, int64_t p, int64_t total)
{
	struct bz_acc acc[LIMIT_NEST_REDUCES];

	for (unsigned s = 0; s < nest_sections(r->spec); s += 2) {
		hold(r, 0, r->spec->npar, p);
		enter(r, s);
		reduce_chunk(r, 0, total, acc);
		for (int k = r->first; k < r->last; k++)
			red_of(r, k)->put(&acc[k], value_of(r, r->lay->reduce[k]));
		hold(r, 0, 0, 0);
		exec(r, s + 1, &r->par, p, 1);
		spread_kept(r, s + 1, total);
	}
}

/* The n parallel points from p on, likewise. */
static void phases_of_tile(struct run *r, int64_t p, int64_t n, int64_t total)
{
	char *done[LIMIT_NEST_REDUCES];

	for (unsigned s = 0; s < nest_sections(r->spec); s += 2) {
		enter(r, s);
		reduce_tile(r, done, p, n, 0, total);
		tile_results(r, done, n, 0);
		hold(r, 0, 0, 0);
		exec(r, s + 1, &r->par, p, n);
	}
}

/* A nest with phases: each parallel point is done before the next, or a tile of them. */
static void phase_points(struct run *r, struct range at, int64_t total)
{
	bool tiles = want_tiles(r, at.hi - at.lo, total);

	for (int64_t p = at.lo, n = 1; p < at.hi && !bz_cancelled(r->a->cancel); p += n) {
		n = tiles ? tile_points(r, p, at.hi) : 1;
		if (tiles)
			phases_of_tile(r, p, n, total);
		else
			phases_of_point(r, p, total);
	}
}

static void reduce_range(enum isa_level level, const struct nest *spec,
			 const struct tier0_layout *lay, const struct bz_args *a, struct range at,
			 struct bz_acc *part, void *scratch)
{
	int64_t total, lo = at.lo, hi = at.hi;
	char *done[LIMIT_NEST_REDUCES];
	struct run r;

	run_init(&r, level, spec, lay, a, scratch);
	total = reduced_points(&r);
	fill_scalars(&r, total > hi - lo ? total : hi - lo);
	enter(&r, SECTION_BODY);
	if (spec->nmore) {
		phase_points(&r, at, total);
		return;
	}
	if (part) {
		reduce_parts(&r, at, total, part);
		return;
	}
	for (int64_t p = lo; p < hi && !bz_cancelled(a->cancel); p += r.lay->block) {
		int64_t end = least(p + r.lay->block, hi);

		if (want_tiles(&r, hi - lo, total))
			for (int64_t q = p, n; q < end; q += n) {
				n = tile_points(&r, q, end);
				reduce_tile(&r, done, q, n, 0, total);
				tile_results(&r, done, n, q - p);
			}
		else if (are_dots(&r, total))
			dot_points(&r, p, end, total);
		else
			reduce_points(&r, p, end, total);
		post_points(&r, p, end);
	}
}

static void finish_points(enum isa_level level, const struct nest *spec,
			  const struct tier0_layout *lay, const struct bz_args *a, int64_t lo,
			  int64_t hi, const struct bz_acc *part, void *scratch)
{
	int64_t total, chunks;
	struct bz_acc acc;
	struct run r;

	run_init(&r, level, spec, lay, a, scratch);
	fill_scalars(&r, hi - lo);
	total = reduced_points(&r);
	chunks = (total + TREE_CHUNK - 1) / TREE_CHUNK;
	for (int64_t p = lo; p < hi && !bz_cancelled(a->cancel); p += r.lay->block) {
		int64_t end = least(p + r.lay->block, hi);

		for (int64_t q = p; q < end; q++)
			for (int k = 0; k < r.lay->nreduce; k++) {
				const struct tier0_red *red = red_of(&r, k);
				void *state = state_of(&r, k, 1);

				red->init(state);
				for (int64_t c = 0; c < chunks; c++)
					red->join(state,
						  &part[(q * chunks + c) * r.lay->nreduce + k]);
				red->end(state, total, &acc);
				red->put(&acc, value_of(&r, r.lay->reduce[k]) +
						       (q - p) * bytes_of(red_instr(&r, k)->dtype));
			}
		post_points(&r, p, end);
	}
}

/* ---- entry points -------------------------------------------------------------- */

void tier0_map(const struct nest *spec, const void *lay, const struct bz_args *a, int64_t lo,
	       int64_t hi, void *scratch)
{
	map_points(isa_best(), spec, lay, a, lo, hi, scratch);
}

void tier0_reduce(const struct nest *spec, const void *lay, const struct bz_args *a, int64_t lo,
		  int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part, void *scratch)
{
	reduce_range(isa_best(), spec, lay, a, (struct range){lo, hi, clo, chi}, part, scratch);
}

void tier0_finish(const struct nest *spec, const void *lay, const struct bz_args *a, int64_t lo,
		  int64_t hi, const struct bz_acc *part, void *scratch)
{
	finish_points(isa_best(), spec, lay, a, lo, hi, part, scratch);
}

void tier0_map_at(enum isa_level level, const struct nest *spec, const struct bz_args *a,
		  int64_t lo, int64_t hi, void *scratch)
{
	struct tier0_layout lay;

	tier0_layout_init(&lay, spec);
	map_points(level, spec, &lay, a, lo, hi, scratch);
}

void tier0_reduce_at(enum isa_level level, const struct nest *spec, const struct bz_args *a,
		     int64_t lo, int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part,
		     void *scratch)
{
	struct tier0_layout lay;

	tier0_layout_init(&lay, spec);
	reduce_range(level, spec, &lay, a, (struct range){lo, hi, clo, chi}, part, scratch);
}

void tier0_finish_at(enum isa_level level, const struct nest *spec, const struct bz_args *a,
		     int64_t lo, int64_t hi, const struct bz_acc *part, void *scratch)
{
	struct tier0_layout lay;

	tier0_layout_init(&lay, spec);
	finish_points(level, spec, &lay, a, lo, hi, part, scratch);
}
