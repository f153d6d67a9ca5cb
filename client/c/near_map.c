/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_map.c - elementwise operations on what is at hand.
 *
 * In:  operands where they lie, the domain.  Out: the result's elements, in C order.
 * What is contiguous and of the loop's type is handed to the loop as it lies; all else
 * goes block by block through registers, as in the interpreter.  Loops take whole
 * vectors: an operand that may not be read beyond its end is copied at its tail. */
#include "near_walk.h"

#include <string.h>

#include "near.h"

/* ---- Strided elements ---- */

/* n elements of T, `from` and `to` bytes after the last. */
#define COPY(T)                                                                                    \
	do {                                                                                       \
		typedef struct {                                                                   \
			T v;                                                                       \
		} __attribute__((packed, may_alias)) elem;                                         \
		for (int64_t i = 0; i < n; i++)                                                    \
			*(elem *)(dst + i * to) = *(const elem *)(src + i * from);                 \
	} while (0)
typedef struct {
	uint64_t part[2];
} pair;

static void copy(char *dst, int64_t to, const char *src, int64_t from, unsigned bytes, int64_t n)
{
	if (from == bytes && to == bytes) {
		memcpy(dst, src, (size_t)n * bytes);
		return;
	}
	switch (bytes) {
	case 1:
		COPY(uint8_t);
		break;
	case 2:
		COPY(uint16_t);
		break;
	case 4:
		COPY(uint32_t);
		break;
	case 8:
		COPY(uint64_t);
		break;
	default:
		COPY(pair);
	}
}

void near_walk_init(struct near_walk *w, const struct shape *shape, uint32_t axes, int n,
		    const int64_t *const *stride)
{
	w->n = 0;
	for (int k = 0; k < shape->ndim; k++) {
		int64_t extent = shape->dim[k];
		bool join = w->n > 0;

		if (extent == 1 || !(axes >> k & 1))
			continue;
		for (int x = 0; x < n && join; x++)
			join = w->step[x][w->n - 1] == stride[x][k] * extent;
		if (join)
			w->extent[w->n - 1] *= extent;
		else
			w->extent[w->n++] = extent;
		for (int x = 0; x < n; x++)
			w->step[x][w->n - 1] = stride[x][k];
	}
	if (!w->n) {
		w->extent[w->n++] = 1;
		for (int x = 0; x < n; x++)
			w->step[x][0] = 0;
	}
}

void near_walk_seek(const struct near_walk *w, int64_t p, int64_t *at)
{
	for (int l = w->n - 1; l > 0; l--) {
		at[l] = p % w->extent[l];
		p /= w->extent[l];
	}
	at[0] = p;
}

int64_t near_walk_offset(const struct near_walk *w, int x, const int64_t *at)
{
	int64_t offset = 0;

	for (int l = 0; l < w->n; l++)
		offset += at[l] * w->step[x][l];
	return offset;
}

/* From the end of a row to the start of the next. */
static void next_row(const struct near_walk *w, int64_t *at)
{
	at[w->n - 1] = 0;
	for (int l = w->n - 2; l >= 0; l--) {
		if (++at[l] < w->extent[l] || l == 0)
			return;
		at[l] = 0;
	}
}

void near_walk_load(const struct near_walk *w, int x, int64_t p, const char *base, unsigned bytes,
		    int64_t n, char *dst)
{
	int64_t at[LIMIT_NDIM], last = w->n - 1;

	near_walk_seek(w, p, at);
	while (n > 0) {
		int64_t row = w->extent[last] - at[last], take = row < n ? row : n;

		copy(dst, bytes, base + near_walk_offset(w, x, at), w->step[x][last], bytes, take);
		dst += take * bytes;
		n -= take;
		next_row(w, at);
	}
}

static void store(const struct near_walk *w, int x, int64_t p, char *base, unsigned bytes,
		  int64_t n, const char *src)
{
	int64_t at[LIMIT_NDIM], last = w->n - 1;

	near_walk_seek(w, p, at);
	while (n > 0) {
		int64_t row = w->extent[last] - at[last], take = row < n ? row : n;

		copy(base + near_walk_offset(w, x, at), w->step[x][last], src, bytes, bytes, take);
		src += take * bytes;
		n -= take;
		next_row(w, at);
	}
}

/* ---- Operands, block by block ---- */

/* The loops expect the processor as it is after a program's start: a program may have
 * changed rounding, made exceptions traps, or subnormal numbers zero. */
static inline unsigned float_mode(void)
{
	unsigned mode = __builtin_ia32_stmxcsr();

	if (unlikely((mode & 0xffc0u) != 0x1f80u))
		__builtin_ia32_ldmxcsr(0x1f80u);
	return mode;
}

static inline void float_restore(unsigned mode)
{
	if (unlikely(__builtin_ia32_stmxcsr() != mode))
		__builtin_ia32_ldmxcsr(mode);
}

unsigned near_enter(void)
{
	return float_mode();
}

void near_leave(unsigned mode)
{
	float_restore(mode);
}

static int64_t whole(int64_t n)
{
	return (n + TIER0_LANES - 1) & ~(int64_t)(TIER0_LANES - 1);
}

static void fill(char *dst, const char *element, unsigned bytes, int64_t n)
{
	char value[16];

	memcpy(value, element, bytes);
	copy(dst, bytes, value, 0, bytes, n);
}

/* Elements [p, p + n) of operand k as a register of its loop's type; `walk` has the
 * strides of those that are not contiguous. */
static const char *operand(const struct near *n, int k, const struct near_in *in,
			   const struct near_walk *walk, int64_t p, int64_t count)
{
	unsigned bytes = dtype_row(in->dtype)->bytes;
	char *raw = n->scratch->raw[k], *cast = n->scratch->cast[k];
	const char *from = raw;

	if (in->fixed) {
		if (p)
			return in->dtype == in->loop ? raw : cast; /* as in the first block */
		fill(raw, in->at, bytes, whole(count));
	} else if (in->stride) {
		near_walk_load(walk, k, p, in->at, bytes, count, raw);
	} else if (p + whole(count) <= in->reach) {
		from = in->at + p * bytes;
	} else {
		memcpy(raw, in->at + p * bytes, (size_t)count * bytes);
	}
	if (in->dtype == in->loop)
		return from;
	n->lib->isa->cast[in->dtype][in->loop](cast, from, from, from, count);
	return cast;
}

const char *near_operand(const struct near *n, const struct near_in *in,
			 const struct near_walk *walk, int64_t p, int64_t count)
{
	return operand(n, 0, in, walk, p, count);
}

static tier0_fn *loop_of(const struct near *n, enum op op, unsigned loop, unsigned dtype)
{
	if (op == OP_CAST)
		return n->lib->isa->cast[loop][dtype];
	return n->lib->wide->op[op][loop] ? n->lib->wide->op[op][loop] : n->lib->isa->op[op][loop];
}

/* All operands as they lie, but for a tail that must be copied. */
static int64_t direct(tier0_fn *fn, char *out, int64_t total, int count, const struct near_in *in)
{
	int64_t n = total;

	for (int k = 0; k < count; k++) {
		if (in[k].fixed || in[k].stride || in[k].dtype != in[k].loop)
			return 0;
		if (in[k].reach < whole(total))
			n = total & ~(int64_t)(TIER0_LANES - 1);
	}
	fn(out, in[0].at, in[count > 1 ? 1 : 0].at, in[count > 2 ? 2 : 0].at, n);
	return n;
}

static void strides_of(struct near_walk *w, const struct shape *shape, int count,
		       const struct near_in *in)
{
	static const int64_t none[LIMIT_NDIM];
	const int64_t *stride[3];
	bool any = false;

	for (int k = 0; k < count; k++) {
		stride[k] = in[k].stride ? in[k].stride : none;
		any |= in[k].stride != NULL;
	}
	if (any)
		near_walk_init(w, shape, UINT32_MAX, count, stride);
}

static int64_t elements(const struct shape *shape)
{
	int64_t n = 1;

	for (int k = 0; k < shape->ndim; k++)
		n *= shape->dim[k];
	return n;
}

void near_map(const struct near *n, enum op op, char *out, unsigned dtype,
	      const struct shape *shape, int count, const struct near_in *in)
{
	tier0_fn *fn = loop_of(n, op, in[op == OP_WHERE].loop, dtype);
	int64_t total = elements(shape), bytes = dtype_row(dtype)->bytes;
	unsigned mode = float_mode();
	struct near_walk walk;
	int64_t p = direct(fn, out, total, count, in);

	if (p < total)
		strides_of(&walk, shape, count, in);
	for (int64_t take; p < total; p += take) {
		const char *x[3] = {NULL};

		take = total - p < NEAR_BLOCK ? total - p : NEAR_BLOCK;
		for (int k = 0; k < count; k++)
			x[k] = operand(n, k, &in[k], &walk, p, take);
		fn(out + p * bytes, x[0], x[count > 1 ? 1 : 0], x[count > 2 ? 2 : 0], take);
	}
	float_restore(mode);
}

void near_store(const struct near *n, char *to, const struct view *v, int64_t count,
		const struct near_in *in)
{
	unsigned bytes = dtype_row(v->dtype)->bytes;
	bool row = view_contiguous(v), clean = v->dtype == DT_BOOL && in->dtype == DT_BOOL;
	const int64_t *stride[2] = {in->stride ? in->stride : v->stride, v->stride};
	unsigned mode = float_mode();
	struct near_walk walk;

	near_walk_init(&walk, &v->shape, UINT32_MAX, 2, stride);
	for (int64_t p = 0, take; p < count; p += take) {
		take = count - p < NEAR_BLOCK ? count - p : NEAR_BLOCK;
		const char *from = operand(n, 0, in, &walk, p, take);
		/* A stored bool is any byte. */
		if (clean) {
			n->lib->isa->cast[DT_BOOL][DT_BOOL](n->scratch->out, from, from, from,
							    take);
			from = n->scratch->out;
		}
		if (row)
			memcpy(to + p * bytes, from, (size_t)take * bytes);
		else
			store(&walk, 1, p, to, bytes, take, from);
	}
	float_restore(mode);
}
