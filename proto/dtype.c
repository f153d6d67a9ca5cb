/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and their promotion: NumPy's lattice with the weak Python numbers
 * of NEP 50 (https://numpy.org/neps/nep-0050-scalar-promotion.html). */
#include "ops.h"

const struct dtype_row dtype_rows[DTYPE_END] = {
#define DTYPE(wire, id, name, bytes, cls, ctype, sfx, chr)                                         \
	[wire] = {name, #ctype, #sfx, bytes, CLASS_##cls, chr},
#include "dtypes.def"
#undef DTYPE
};

static enum dtype find(enum dtype_class cls, unsigned bytes)
{
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (dtype_rows[d].cls == cls && dtype_rows[d].bytes == bytes)
			return (enum dtype)d;
	return DT_FLOAT64; /* no such integer: the float that NumPy takes */
}

/* The float type that holds every value of an integer type as NumPy sees it. */
static enum dtype float_for(enum dtype d)
{
	switch (dtype_rows[d].bytes) {
	case 1:
		return DT_FLOAT16;
	case 2:
		return DT_FLOAT32;
	default:
		return DT_FLOAT64;
	}
}

static enum dtype integers(enum dtype a, enum dtype b)
{
	enum dtype i, u;

	if (dtype_rows[a].cls == dtype_rows[b].cls)
		return dtype_rows[a].bytes >= dtype_rows[b].bytes ? a : b;
	i = dtype_rows[a].cls == CLASS_INT ? a : b;
	u = dtype_rows[a].cls == CLASS_INT ? b : a;
	return dtype_rows[i].bytes > dtype_rows[u].bytes
		       ? i
		       : find(CLASS_INT, dtype_rows[u].bytes * 2u);
}

/* bfloat16 and another type, as ufuncs of ml_dtypes' take both: the small integers are in it, as
 * it takes them, and of other types the first that both are in. */
static enum dtype brain(enum dtype other)
{
	const struct dtype_row *row = &dtype_rows[other];

	if (row->cls >= CLASS_FLOAT)
		return other == DT_FLOAT16 ? DT_FLOAT32 : other;
	return row->bytes == 1 ? DT_BFLOAT16 : row->bytes == 2 ? DT_FLOAT32 : DT_FLOAT64;
}

static enum dtype component(enum dtype d)
{
	return d == DT_COMPLEX64 ? DT_FLOAT32 : d == DT_COMPLEX128 ? DT_FLOAT64 : d;
}

static enum dtype strong(enum dtype a, enum dtype b)
{
	enum dtype t;

	if (dtype_rows[a].cls > dtype_rows[b].cls) {
		t = a;
		a = b;
		b = t;
	}
	if (a == b || dtype_rows[a].cls == CLASS_BOOL)
		return b;
	if (a == DT_BFLOAT16 || b == DT_BFLOAT16)
		return brain(a == DT_BFLOAT16 ? b : a);
	switch (dtype_rows[b].cls) {
	case CLASS_COMPLEX:
		t = strong(component(a), component(b));
		return t == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
	case CLASS_FLOAT:
		if (dtype_rows[a].cls != CLASS_FLOAT)
			a = float_for(a);
		return dtype_rows[a].bytes >= dtype_rows[b].bytes ? a : b;
	default:
		return integers(a, b);
	}
}

/* The default type of a Python number of a class. */
static enum dtype weak_default(enum dtype d)
{
	static const uint8_t of[] = {[CLASS_BOOL] = DT_BOOL,
				     [CLASS_INT] = DT_INT64,
				     [CLASS_UINT] = DT_INT64,
				     [CLASS_FLOAT] = DT_FLOAT64,
				     [CLASS_COMPLEX] = DT_COMPLEX128};

	return (enum dtype)of[dtype_rows[d].cls];
}

/* To NumPy bfloat16 is no float: a Python float is one of float32's to it. */
static enum dtype with_float(enum dtype x)
{
	if (x == DT_BFLOAT16)
		return DT_FLOAT32;
	return dtype_rows[x].cls < CLASS_FLOAT ? DT_FLOAT64 : x;
}

enum dtype dtype_promote(struct op_arg a, struct op_arg b)
{
	enum dtype x = (enum dtype)a.dtype, y = (enum dtype)b.dtype;
	enum dtype_class weak;

	if (a.weak && b.weak)
		return strong(weak_default(x), weak_default(y));
	if (!a.weak && !b.weak)
		return strong(x, y);
	if (a.weak) {
		enum dtype t = x;

		x = y;
		y = t;
	}
	/* x is an array's type; y a Python number that only contributes its class. */
	weak = (enum dtype_class)dtype_rows[y].cls;
	if (weak == CLASS_BOOL)
		return x;
	if (weak == CLASS_INT || weak == CLASS_UINT)
		return dtype_rows[x].cls == CLASS_BOOL ? DT_INT64 : x;
	if (weak == CLASS_FLOAT)
		return with_float(x);
	if (dtype_rows[x].cls < CLASS_FLOAT)
		return DT_COMPLEX128;
	if (dtype_rows[x].cls == CLASS_FLOAT)
		return x == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
	return x;
}

bool dtype_same_kind(enum dtype from, enum dtype to)
{
	/* bool < unsigned < signed < float < complex, NumPy's order of kinds. */
	static const uint8_t rank[] = {[CLASS_BOOL] = 0,
				       [CLASS_UINT] = 1,
				       [CLASS_INT] = 2,
				       [CLASS_FLOAT] = 3,
				       [CLASS_COMPLEX] = 4};

	return rank[dtype_rows[from].cls] <= rank[dtype_rows[to].cls];
}

bool dtype_holds(enum dtype d, int64_t x)
{
	const struct dtype_row *row = dtype_row(d);
	unsigned bits = row->bytes * 8u;

	if (row->cls == CLASS_INT && bits < 64)
		return x >= -(1ll << (bits - 1)) && x < 1ll << (bits - 1);
	if (row->cls == CLASS_UINT)
		return x >= 0 && (bits == 64 || x < 1ll << bits);
	return true;
}
