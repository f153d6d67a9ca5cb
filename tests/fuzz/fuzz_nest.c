/* SPDX-License-Identifier: Apache-2.0 */
/* Nests of any content: what nest_check accepts can be printed, keyed, emitted
 * as C and interpreted.
 *
 * In: the fields of a nest, one by one.  A nest that is accepted runs on buffers
 * of exactly the bytes that its accesses reach, whole and cut into pieces; both
 * ways give the same bytes, unless accesses overlap. */
#include "emit/emit_c.h"
#include "fuzz.h"
#include "nest/compilepart.h"
#include "form/depend.h"
#include "worker/tier0.h"

#define POINTS 4096
#define ROOM   (1 << 16)

static const uint8_t some_op[] = {
	OP_ADD,	       OP_MULTIPLY,    OP_DIVIDE,   OP_FLOOR_DIVIDE, OP_REMAINDER, OP_POWER,
	OP_MINIMUM,    OP_EQUAL,       OP_LESS,	    OP_WHERE,	     OP_CAST,	   OP_SQRT,
	OP_EXP,	       OP_NEGATIVE,    OP_ABSOLUTE, OP_SIGN,	     OP_CLIP,	   OP_RINT,
	OP_LEFT_SHIFT, OP_RIGHT_SHIFT, OP_ISNAN,    OP_CONJ,	     OP_REAL,	   OP_LOGICAL_NOT,
	OP_INVERT,     OP_SQUARE,      OP_FMOD,	    OP_HYPOT,	     OP_HEAVISIDE, OP_LOGADDEXP};

static void draw_access(struct nest *n, struct fuzz_input *in, unsigned k)
{
	struct nest_access *a = &n->access[k];
	unsigned size;
	int64_t s;

	a->slot = k;
	a->dtype = (uint8_t)fuzz_below(in, DTYPE_END);
	size = dtype_row(a->dtype)->bytes;
	a->write = (uint8_t)fuzz_below(in, 2);
	a->alone = (uint8_t)fuzz_below(in, 2);
	for (unsigned l = 0; l < LIMIT_NDIM; l++)
		a->stride[l] = l < (unsigned)n->npar + n->nred
				       ? (int8_t)fuzz_byte(in) % 9 * (int64_t)size
				       : 0;
	s = n->npar + n->nred ? a->stride[n->vec % LIMIT_NDIM] : 0;
	a->walk = s == size ? WALK_UNIT : s ? WALK_STRIDED : WALK_SAME;
	if (!fuzz_byte(in))
		a->walk ^= 1;
	a->gather = !a->write && fuzz_below(in, 4) == 1;
	if (a->gather) {
		a->gextent = fuzz_below(in, 20);
		a->gstride = (int8_t)fuzz_byte(in) % 9 * (int64_t)size;
	}
}

/* The latest value before instruction k of this type, from some place on. */
static unsigned value_of(const struct nest *n, struct fuzz_input *in, unsigned k, unsigned dtype)
{
	unsigned back = fuzz_below(in, 4);

	for (unsigned i = k; i-- > 0;)
		if (n->instr[i].dtype == dtype && instr_row(n->instr[i].op)->result && !back--)
			return i;
	for (unsigned i = k; i-- > 0;)
		if (n->instr[i].dtype == dtype && instr_row(n->instr[i].op)->result)
			return i;
	return fuzz_below(in, k + 1);
}

static void draw_compute(const struct nest *n, struct fuzz_input *in, unsigned k,
			 struct nest_instr *i)
{
	struct op_arg arg[3];
	struct op_sig sig = {{i->dtype, i->dtype, i->dtype}, i->dtype};

	i->op = some_op[fuzz_below(in, sizeof some_op)];
	for (unsigned j = 0; j < 3; j++)
		arg[j] = (struct op_arg){i->dtype, false};
	if (!fuzz_below(in, 16) ||
	    op_infer(&sig, (enum op)i->op, arg, fuzz_below(in, DTYPE_END), NULL))
		sig.out = i->dtype;
	i->ltype = sig.in[op_row(i->op)->arity - 1];
	i->dtype = sig.out;
	i->a = (uint16_t)value_of(n, in, k, sig.in[0]);
	i->b = (uint16_t)value_of(n, in, k, sig.in[1]);
	i->c = (uint16_t)value_of(n, in, k, sig.in[2]);
}

static void draw_memory(struct nest *n, struct fuzz_input *in, unsigned k, struct nest_instr *i)
{
	i->a = (uint16_t)fuzz_below(in, n->naccess);
	i->dtype = i->ltype = n->access[i->a].dtype;
	i->op = n->access[i->a].write ? NI_STORE : n->access[i->a].gather ? NI_GATHER : NI_LOAD;
	i->b = (uint16_t)value_of(n, in, k, n->access[i->a].gather ? DT_INT64 : i->dtype);
}

static void draw_index(struct nest *n, struct fuzz_input *in, unsigned k, struct nest_instr *i)
{
	i->op = OP_INDEX;
	i->dtype = i->ltype = DT_INT64;
	i->a = (uint16_t)value_of(n, in, k, DT_INT64);
	i->b = (uint16_t)value_of(n, in, k, DT_INT64);
	for (unsigned j = 0; j < k; j++)
		i->c += n->instr[j].op == OP_INDEX;
}

static void draw_instr(struct nest *n, struct fuzz_input *in, unsigned k)
{
	struct nest_instr *i = &n->instr[k];
	unsigned kind = fuzz_below(in, 16);

	i->dtype = i->ltype = (uint8_t)(k && kind > 3 ? n->instr[fuzz_below(in, k)].dtype
						      : fuzz_below(in, DTYPE_END));
	if (kind < 4 && n->naccess) {
		draw_memory(n, in, k, i);
	} else if (kind < 5) {
		i->op = NI_INDEX;
		i->dtype = DT_INT64;
		i->a = (uint16_t)fuzz_below(in, LIMIT_NDIM);
	} else if (kind < 6 && n->nscalar) {
		i->op = NI_SCALAR;
		i->a = (uint16_t)fuzz_below(in, n->nscalar);
		i->dtype = i->ltype = n->scalar_dtype[i->a];
	} else if (kind < 8 && n->nred) {
		struct op_arg arg = {i->dtype, false};
		struct op_sig sig = {{i->dtype}, i->dtype};

		i->op = NI_REDUCE;
		i->c = (uint16_t)(OP_SUM + fuzz_below(in, 8));
		if (op_infer(&sig, (enum op)i->c, &arg, DTYPE_END, NULL))
			i->c = OP_MAX;
		i->ltype = sig.in[0];
		i->dtype = sig.out;
		i->a = (uint16_t)value_of(n, in, k, sig.in[0]);
	} else if (kind < 9) {
		draw_index(n, in, k, i);
	} else {
		draw_compute(n, in, k, i);
	}
}

static void draw_loops(struct nest *n, struct fuzz_input *in)
{
	int64_t points = 1;

	n->npar = (uint8_t)fuzz_below(in, 4);
	n->nred = (uint8_t)fuzz_below(in, 3);
	n->vec = (uint8_t)(n->npar + n->nred ? n->npar + n->nred - 1 : 0);
	if (n->npar && fuzz_below(in, 2))
		n->vec = (uint8_t)(n->npar - 1);
	n->width = fuzz_below(in, 2) ? 16 : 8;
	for (unsigned l = 0; l < (unsigned)n->npar + n->nred; l++) {
		n->extent[l] = fuzz_below(in, 40);
		if (points * n->extent[l] > POINTS)
			n->extent[l] = 2;
		points *= n->extent[l] ? n->extent[l] : 1;
	}
}

static void draw_nest(struct nest *n, struct fuzz_input *in)
{
	memset(n, 0, sizeof *n);
	draw_loops(n, in);
	n->naccess = (uint16_t)fuzz_below(in, 6);
	for (unsigned k = 0; k < n->naccess; k++)
		draw_access(n, in, k);
	n->nscalar = (uint16_t)fuzz_below(in, 4);
	for (unsigned k = 0; k < n->nscalar; k++)
		n->scalar_dtype[k] = (uint8_t)fuzz_below(in, DTYPE_END);
	n->ninstr = (uint16_t)fuzz_below(in, 24);
	for (unsigned k = 0; k < n->ninstr; k++)
		draw_instr(n, in, k);
	n->post = n->nred ? (uint16_t)fuzz_below(in, n->ninstr + 1u) : n->ninstr;
	for (unsigned k = 0; k < n->ninstr && n->nred; k++)
		if (n->instr[k].op == NI_REDUCE && fuzz_below(in, 8))
			n->post = (uint16_t)(k + 1);
	if (!n->nred || fuzz_below(in, 2))
		return;
	n->nmore = (uint16_t)fuzz_below(in, LIMIT_NEST_SECTIONS);
	for (unsigned s = 2; s < nest_sections(n) && s < LIMIT_NEST_SECTIONS; s++)
		n->more[s - 2] =
			(uint16_t)(nest_begin(n, s - 1) + fuzz_below(in, n->ninstr / 2 + 1u));
}

/* ---- What an accepted nest is put through ---- */

static void print_and_emit(const struct nest *n)
{
	struct nest spec;
	struct err err = {0};
	char *source = NULL, *text;
	size_t bytes;

	compilepart_spec(&spec, n);
	bytes = nest_print(NULL, 0, &spec, true);
	text = malloc(bytes + 1);
	FUZZ_CHECK(nest_print(text, bytes + 1, &spec, true) == bytes && strlen(text) == bytes);
	free(text);
	if (!emit_c_source(&source, &spec, &err))
		FUZZ_CHECK(source && strlen(source) > bytes);
	free(source);
}

struct run {
	char *memory[LIMIT_NEST_ACCESSES], *base[LIMIT_NEST_ACCESSES];
	size_t bytes[LIMIT_NEST_ACCESSES];
	int64_t stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM];
	uint64_t scalar[LIMIT_NEST_SCALARS * 2];
	int64_t gather[LIMIT_NEST_ACCESSES * 2];
	uint64_t error[LIMIT_NEST_CHECKS];
	volatile uint32_t cancel;
	struct bz_args args;
};

/* Loops that the access runs in: the reduced ones do not count after them. */
static unsigned loops_of(const struct nest *n, unsigned access)
{
	for (unsigned k = 0; k < n->ninstr; k++)
		if (nest_touches(n->instr[k].op) && n->instr[k].a == access &&
		    !nest_everywhere(nest_section(n, k)))
			return n->npar;
	return (unsigned)n->npar + n->nred;
}

static bool prepare(struct run *r, const struct nest *n)
{
	memset(r, 0, sizeof *r);
	for (unsigned k = 0; k < n->naccess; k++) {
		const struct nest_access *a = &n->access[k];
		int64_t lo, hi, *g = r->gather + 2 * nest_gather(n, k);

		nest_range(&lo, &hi, n, k, loops_of(n, k));
		if (a->gather) {
			g[0] = a->gextent;
			g[1] = a->gstride;
		}
		if (hi - lo > ROOM)
			return false;
		r->bytes[k] = (size_t)(hi - lo);
		r->memory[k] = malloc(r->bytes[k] + 1);	 /* the last byte is nobody's */
		for (size_t b = 0; b < r->bytes[k]; b++) /* bool: 0 or 1 */
			r->memory[k][b] = (char)(a->dtype ? b * 37 + k : b % 3 == 0);
		r->base[k] = r->memory[k] - lo;
		memcpy(r->stride + k * LIMIT_NDIM, a->stride, sizeof a->stride);
	}
	for (unsigned k = 0; k < n->nscalar; k++)
		r->scalar[2 * k] = n->scalar_dtype[k] == DT_BOOL ? k & 1 : k * 3;
	for (unsigned k = 0; k < n->ninstr; k++)
		if (n->instr[k].op == OP_INDEX) /* record.c lets no axis be empty */
			r->scalar[2 * n->instr[n->instr[k].b].a] |= 1;
	r->args = (struct bz_args){r->base,    n->extent, r->stride, r->scalar,
				   &r->cancel, 0,	  r->gather, r->error};
	return true;
}

static void release(struct run *r)
{
	for (unsigned k = 0; k < LIMIT_NEST_ACCESSES; k++)
		free(r->memory[k]);
}

static void go(const struct nest *n, struct run *r, int64_t cut)
{
	int64_t par = nest_parallel(n), red = nest_reduced(n);
	int64_t chunks = (red + TREE_CHUNK - 1) / TREE_CHUNK;
	void *scratch = aligned_alloc(64, (tier0_scratch(n) + 63) / 64 * 64);

	cut = cut < par ? cut : par;
	if (n->nred) {
		tier0_reduce_at(isa_best(), n, &r->args, 0, cut, 0, chunks, NULL, scratch);
		tier0_reduce_at(isa_best(), n, &r->args, cut, par, 0, chunks, NULL, scratch);
	} else {
		tier0_map_at(isa_best(), n, &r->args, 0, cut, scratch);
		tier0_map_at(isa_best(), n, &r->args, cut, par, scratch);
	}
	free(scratch);
}

/* No two parallel points store to the same place, and nothing loads there. */
static bool orderless(const struct nest *n)
{
	for (unsigned k = 0; k < n->naccess; k++) {
		const struct nest_access *a = &n->access[k];
		struct depend_access d = {0, a->stride, dtype_row(a->dtype)->bytes};

		if (a->write &&
		    depend_test(&d, &d, n->extent, loops_of(n, k), n->npar).kind != DEPEND_SAME)
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct run whole = {0}, parts = {0};
	struct err err = {0};
	struct nest n;

	draw_nest(&n, &in);
	if (nest_check(&n, &err)) {
		FUZZ_CHECK(err.code == E_INTERNAL && *err.text);
		return 0;
	}
	print_and_emit(&n);
	if (tier0_check(&n, &err))
		return 0;
	if (prepare(&whole, &n) && prepare(&parts, &n)) {
		go(&n, &whole, 0);
		go(&n, &parts, 1 + fuzz_byte(&in));
		for (unsigned k = 0; k < n.naccess && orderless(&n); k++)
			FUZZ_CHECK(!memcmp(whole.memory[k], parts.memory[k], whole.bytes[k]));
	}
	release(&whole);
	release(&parts);
	return 0;
}
