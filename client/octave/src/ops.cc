/* SPDX-License-Identifier: Apache-2.0 */
/* ops.cc - Octave's operators and element functions.
 *
 * Computed by braze: what has the same meaning for double, single and logical elements.
 * Integers (rounded and saturated), complex numbers (which narrow to real ones), sparse and
 * diagonal matrices, and what raises an error, are Octave's. */
#include "value.hh"

/* ---- Operands ---- */

operand operand_of(const handle &h, const dim_vector &dims)
{
	operand o = {h, dims, {}, false, braze_dtype_of(h.get())};

	return o;
}

operand number_of(double v, int dtype)
{
	operand o = {handle(), dim_vector(1, 1), braze_double(v), !std::signbit(v), dtype};
	float f = (float)v;

	o.number.weak = 0;
	o.number.dtype = dtype;
	if (dtype == BRAZE_FLOAT32) {
		o.number.bits[0] = 0;
		memcpy(o.number.bits, &f, sizeof f);
	} else if (dtype == BRAZE_BOOL) {
		o.number = braze_boolean(v != 0);
		o.number.weak = 0;
	}
	return o;
}

/* A full array of Octave's with real elements of the types that braze computes with here. */
static bool is_full(const octave_value &v)
{
	bool type = v.is_double_type() || v.is_single_type() || v.islogical();

	return type && v.isreal() && !v.issparse() && !v.is_diag_matrix() && !v.is_perm_matrix() &&
	       v.numel() > 0 && v.ndims() <= BRAZE_MAX_NDIM;
}

bool operand_of(operand &o, const octave_value &v)
{
	if (const octave_braze *b = braze_of(v)) {
		if (!b->is_floating() && b->dtype() != BRAZE_BOOL)
			return false;
		o = operand_of(b->array(), b->dims());
		o.nonnegative = b->nonnegative() || b->dtype() == BRAZE_BOOL;
		return b->numel() > 0;
	}
	if (!is_full(v))
		return false;
	int dtype = v.islogical() ? BRAZE_BOOL : v.is_single_type() ? BRAZE_FLOAT32 : BRAZE_FLOAT64;
	if (v.is_scalar_type()) {
		o = number_of(v.double_value(), dtype);
		return true;
	}
	o = operand_of(upload(v), v.dims());
	o.nonnegative = dtype == BRAZE_BOOL;
	return true;
}

static braze_arg arg_of(const operand &o)
{
	braze_arg a = {o.array.get(), o.number};

	return a;
}

static handle apply(const char *name, int n, const braze_arg *args)
{
	braze_array *made = nullptr;
	braze_error err;

	check(braze_apply(&made, session(), braze_op_find(name), n, args, &err), err);
	return take(made);
}

handle apply(const char *name, const operand &a)
{
	braze_arg args[] = {arg_of(a)};

	return apply(name, 1, args);
}

handle apply(const char *name, const operand &a, const operand &b)
{
	braze_arg args[] = {arg_of(a), arg_of(b)};

	return apply(name, 2, args);
}

handle apply(const char *name, const operand &a, const operand &b, const operand &c)
{
	braze_arg args[] = {arg_of(a), arg_of(b), arg_of(c)};

	return apply(name, 3, args);
}

handle cast(const handle &h, int dtype)
{
	braze_array *made = nullptr;
	braze_error err;

	if (braze_dtype_of(h.get()) == dtype)
		return h;
	check(braze_cast(&made, h.get(), dtype, &err), err);
	return take(made);
}

operand cast(const operand &o, int dtype)
{
	operand made = o;

	if (!o.array) {
		double v = 0;
		float f = 0;
		if (o.dtype == BRAZE_FLOAT32) {
			memcpy(&f, o.number.bits, sizeof f);
			v = f;
		} else if (o.dtype == BRAZE_FLOAT64) {
			memcpy(&v, o.number.bits, sizeof v);
		} else {
			v = (double)o.number.bits[0];
		}
		return number_of(v, dtype);
	}
	made.array = cast(o.array, dtype);
	made.dtype = dtype;
	return made;
}

bool broadcast(dim_vector &out, const dim_vector &a, const dim_vector &b)
{
	int n = std::max(a.ndims(), b.ndims());

	out = dim_vector::alloc(n);
	for (int i = 0; i < n; i++) {
		octave_idx_type x = i < a.ndims() ? a(i) : 1, y = i < b.ndims() ? b(i) : 1;
		if (x != y && x != 1 && y != 1)
			return false;
		out(i) = x == 1 ? y : x;
	}
	return true;
}

handle reduce(const char *name, const handle &h, int axis, int dtype)
{
	unsigned axes = axis < 0 ? (1u << braze_ndim(h.get())) - 1 : 1u << axis;
	braze_array *made = nullptr;
	braze_error err;

	check(braze_reduce(&made, braze_op_find(name), h.get(), axes, 1, dtype, &err), err);
	return take(made);
}

static bool read_truth(const handle &h)
{
	bool out = false;
	const void *data = nullptr;
	braze_error err;

	check(braze_data(&data, h.get(), interrupted, nullptr, &err), err);
	check(braze_read(&out, h.get(), &err), err);
	return out;
}

bool any_negative(const operand &o)
{
	if (o.nonnegative)
		return false;
	operand zero = number_of(0, o.dtype);
	if (!o.array)
		return !(cast(o, BRAZE_FLOAT64).nonnegative);
	return read_truth(reduce("any", apply("less", o, zero), -1, -1));
}

/* ---- Operators of two ---- */

/* The type of a result of floating-point arithmetic: single gives way to nothing. */
static int floating(const operand &a, const operand &b)
{
	return a.dtype == BRAZE_FLOAT32 || b.dtype == BRAZE_FLOAT32 ? BRAZE_FLOAT32 : BRAZE_FLOAT64;
}

static octave_value arithmetic(const char *name, const operand &a, const operand &b,
			       bool nonnegative)
{
	int dtype = floating(a, b);
	dim_vector dims;

	if (!broadcast(dims, a.dims, b.dims))
		return octave_value();
	return value_of(apply(name, cast(a, dtype), cast(b, dtype)), dims, nonnegative);
}

static octave_value compare(const char *name, const operand &a, const operand &b)
{
	dim_vector dims;

	if (!broadcast(dims, a.dims, b.dims))
		return octave_value();
	/* Types as they are: a single is compared with a double as a double. */
	int dtype = a.dtype == BRAZE_FLOAT64 || b.dtype == BRAZE_FLOAT64 ? BRAZE_FLOAT64
									 : floating(a, b);
	return value_of(apply(name, cast(a, dtype), cast(b, dtype)), dims);
}

static octave_value logical(const char *name, const operand &a, const operand &b)
{
	dim_vector dims;

	if (a.dtype != BRAZE_BOOL || b.dtype != BRAZE_BOOL || !broadcast(dims, a.dims, b.dims))
		return octave_value(); /* of a NaN there is no truth: Octave's error */
	return value_of(apply(name, a, b), dims);
}

static octave_value power(const operand &a, const operand &b)
{
	double e = 0;

	if (!b.array)
		memcpy(&e, cast(b, BRAZE_FLOAT64).number.bits, sizeof e);
	if (!b.array && e == 2)
		return arithmetic("multiply", a, a, true);
	bool whole = !b.array && e == std::floor(e) && std::fabs(e) < 1e9;
	if (!whole && any_negative(a))
		return octave_value(); /* complex */
	return arithmetic("power", a, b, a.nonnegative);
}

static octave_value product(const operand &a, const operand &b)
{
	braze_array *made = nullptr;
	braze_error err;
	int dtype = floating(a, b);

	if (!a.array || !b.array || a.dims.numel() == 1 || b.dims.numel() == 1)
		return arithmetic("multiply", a, b, a.nonnegative && b.nonnegative);
	if (a.dims.ndims() > 2 || b.dims.ndims() > 2 || a.dims(1) != b.dims(0))
		return octave_value();
	/* What lies here as (columns, rows) is the transposed matrix of Octave's. */
	check(braze_matmul(&made, cast(b, dtype).array.get(), cast(a, dtype).array.get(), &err),
	      err);
	return value_of(take(made), dim_vector(a.dims(0), b.dims(1)),
			a.nonnegative && b.nonnegative);
}

static octave_value quotient(const operand &a, const operand &b)
{
	return arithmetic("divide", a, b, a.nonnegative && b.nonnegative);
}

/* What an operator of two is made of. */
enum meaning { ARITHMETIC, TIMES, COMPARISON, LOGICAL, PRODUCT, QUOTIENT, POWER };

static const struct {
	octave_value::binary_op op;
	enum meaning meaning;
	const char *name;
	bool swapped; /* the operands: a \ b is b / a */
	bool one;     /* of matrices it is linear algebra: only a number on the right is braze's */
} operators[] = {
	{octave_value::op_add, ARITHMETIC, "add"},
	{octave_value::op_sub, ARITHMETIC, "subtract"},
	{octave_value::op_mul, PRODUCT, "multiply"},
	{octave_value::op_el_mul, TIMES, "multiply"},
	{octave_value::op_div, QUOTIENT, "divide", false, true},
	{octave_value::op_el_div, QUOTIENT, "divide"},
	{octave_value::op_ldiv, QUOTIENT, "divide", true, true},
	{octave_value::op_el_ldiv, QUOTIENT, "divide", true},
	{octave_value::op_pow, POWER, "power", false, true},
	{octave_value::op_el_pow, POWER, "power"},
	{octave_value::op_lt, COMPARISON, "less"},
	{octave_value::op_le, COMPARISON, "less_equal"},
	{octave_value::op_eq, COMPARISON, "equal"},
	{octave_value::op_ge, COMPARISON, "greater_equal"},
	{octave_value::op_gt, COMPARISON, "greater"},
	{octave_value::op_ne, COMPARISON, "not_equal"},
	{octave_value::op_el_and, LOGICAL, "logical_and"},
	{octave_value::op_el_or, LOGICAL, "logical_or"},
};

static octave_value meant(enum meaning meaning, const char *name, const operand &a,
			  const operand &b)
{
	bool both = a.nonnegative && b.nonnegative;

	switch (meaning) {
	case ARITHMETIC:
		return arithmetic(name, a, b, both && name[0] == 'a');
	case TIMES:
		return arithmetic(name, a, b, both || (a.array && a.array == b.array));
	case COMPARISON:
		return compare(name, a, b);
	case LOGICAL:
		return logical(name, a, b);
	case PRODUCT:
		return product(a, b);
	case QUOTIENT:
		return quotient(a, b);
	case POWER:
		return power(a, b);
	}
	return octave_value();
}

static octave_value compute(octave_value::binary_op op, const operand &a, const operand &b)
{
	for (const auto &row : operators) {
		const operand &x = row.swapped ? b : a, &y = row.swapped ? a : b;
		if (row.op != op)
			continue;
		bool fits = !row.one ||
			    (y.dims.numel() == 1 && (row.meaning != POWER || x.dims.numel() == 1));
		return fits ? meant(row.meaning, row.name, x, y) : octave_value();
	}
	return octave_value();
}

/* The very value that Octave's evaluator holds: counted once more. */
static octave_value value_at(const octave_base_value &v)
{
	return octave_value(const_cast<octave_base_value *>(&v), true);
}

template <int OP> static octave_value binary(const octave_base_value &a, const octave_base_value &b)
{
	octave_value::binary_op op = (octave_value::binary_op)OP;
	octave_value x = value_at(a), y = value_at(b), made;
	operand p, q;

	if (operand_of(p, x) && operand_of(q, y))
		made = compute(op, p, q);
	if (made.is_defined())
		return made;
	leave(octave_value::binary_op_as_string(op));
	return put(octave::binary_op(octave::interpreter::the_interpreter()->get_type_info(), op,
				     plain(x), plain(y)));
}

/* ---- Operators of one ---- */

static octave_value transposed(const octave_braze &b)
{
	Array<int> order(dim_vector(1, 2));

	order(0) = 1;
	order(1) = 0;
	return b.permute(order);
}

static octave_value compute(octave_value::unary_op op, const octave_braze &b)
{
	octave_value v = value_at(b);
	operand o;

	bool turn = op == octave_value::op_transpose ||
		    (op == octave_value::op_hermitian && !b.iscomplex());
	if (turn && b.ndims() == 2)
		return transposed(b);
	if (!operand_of(o, v))
		return octave_value();
	int dtype = o.dtype == BRAZE_BOOL ? BRAZE_FLOAT64 : o.dtype;
	if (op == octave_value::op_uminus)
		return value_of(apply("negative", cast(o, dtype)), o.dims);
	if (op == octave_value::op_uplus && dtype == o.dtype)
		return octave_value(b.clone());
	if (op == octave_value::op_uplus)
		return value_of(cast(o, dtype).array, o.dims, o.nonnegative);
	if (op == octave_value::op_not && o.dtype == BRAZE_BOOL)
		return value_of(apply("logical_not", o), o.dims);
	return octave_value();
}

template <int OP> static octave_value unary(const octave_base_value &a)
{
	octave_value::unary_op op = (octave_value::unary_op)OP;
	const octave_braze &b = dynamic_cast<const octave_braze &>(a);
	octave_value made = compute(op, b);

	if (made.is_defined())
		return made;
	leave(octave_value::unary_op_as_string(op));
	return put(octave::unary_op(octave::interpreter::the_interpreter()->get_type_info(), op,
				    b.elements()));
}

/* x++ and x--: the value itself is another one then. */
template <int SIGN> static void step(octave_base_value &a)
{
	octave_braze &b = dynamic_cast<octave_braze &>(a);
	octave_value one(1.0), made;

	made = SIGN > 0 ? binary<octave_value::op_add>(b, one.get_rep())
			: binary<octave_value::op_sub>(b, one.get_rep());
	b.become(*braze_of(made));
}

/* ---- Element functions ---- */

struct element_function {
	octave_base_value::unary_mapper_t mapper;
	const char *op;
	char domain;	  /* 'r': all real numbers; '+': negative ones give complex results */
	bool nonnegative; /* of the result */
	bool truth;	  /* the result is logical */
};

static const element_function functions[] = {
	{octave_base_value::umap_abs, "absolute", 'r', true, false},
	{octave_base_value::umap_sqrt, "sqrt", '+', false, false},
	{octave_base_value::umap_exp, "exp", 'r', true, false},
	{octave_base_value::umap_expm1, "expm1", 'r', false, false},
	{octave_base_value::umap_log, "log", '+', false, false},
	{octave_base_value::umap_log2, "log2", '+', false, false},
	{octave_base_value::umap_log10, "log10", '+', false, false},
	{octave_base_value::umap_sin, "sin", 'r', false, false},
	{octave_base_value::umap_cos, "cos", 'r', false, false},
	{octave_base_value::umap_tan, "tan", 'r', false, false},
	{octave_base_value::umap_atan, "arctan", 'r', false, false},
	{octave_base_value::umap_sinh, "sinh", 'r', false, false},
	{octave_base_value::umap_cosh, "cosh", 'r', true, false},
	{octave_base_value::umap_tanh, "tanh", 'r', false, false},
	{octave_base_value::umap_asinh, "arcsinh", 'r', false, false},
	{octave_base_value::umap_floor, "floor", 'r', false, false},
	{octave_base_value::umap_ceil, "ceil", 'r', false, false},
	{octave_base_value::umap_fix, "trunc", 'r', false, false},
	{octave_base_value::umap_isnan, "isnan", 'r', false, true},
	{octave_base_value::umap_isinf, "isinf", 'r', false, true},
	{octave_base_value::umap_isfinite, "isfinite", 'r', false, true},
};

octave_value octave_braze::map(unary_mapper_t mapper) const
{
	octave_value self(clone());
	operand o;

	for (const element_function &f : functions) {
		if (f.mapper != mapper || !is_floating() || !operand_of(o, self))
			continue;
		if (f.domain == '+' && any_negative(o))
			break;
		/* Of a negative zero the root is one. */
		bool root = mapper == umap_sqrt && m_nonnegative;
		return value_of(apply(f.op, o), m_dims, f.nonnegative || root);
	}
	leave(get_umap_name(mapper));
	return put(elements().map(mapper));
}

/* ---- What Octave's tables are told ---- */

template <int OP> static void install_binary(octave::type_info &types)
{
	octave_value::binary_op op = (octave_value::binary_op)OP;
	int mine = octave_braze::static_type_id();
	int others =
		(int)types.installed_type_names().numel(); /* they are numbered in this order */

	for (int id = 0; id < others; id++) {
		if (id == mine)
			continue;
		types.install_binary_op(op, mine, id, binary<OP>);
		types.install_binary_op(op, id, mine, binary<OP>);
	}
	types.install_binary_op(op, mine, mine, binary<OP>);
}

template <int... OPS>
static void install_all(octave::type_info &types, std::integer_sequence<int, OPS...>)
{
	(install_binary<OPS>(types), ...);
}

void install_operators(octave::type_info &types)
{
	int mine = octave_braze::static_type_id();

	install_all(types, std::make_integer_sequence<int, octave_value::op_el_or + 1>());
	types.install_unary_op(octave_value::op_not, mine, unary<octave_value::op_not>);
	types.install_unary_op(octave_value::op_uplus, mine, unary<octave_value::op_uplus>);
	types.install_unary_op(octave_value::op_uminus, mine, unary<octave_value::op_uminus>);
	types.install_unary_op(octave_value::op_transpose, mine, unary<octave_value::op_transpose>);
	types.install_unary_op(octave_value::op_hermitian, mine, unary<octave_value::op_hermitian>);
	types.install_non_const_unary_op(octave_value::op_incr, mine, step<1>);
	types.install_non_const_unary_op(octave_value::op_decr, mine, step<-1>);
}
