/* SPDX-License-Identifier: Apache-2.0 */
/* calls.cc - functions of Octave's by name: braze's where the arguments fit, else Octave's.
 *
 * functions.list names the functions that come here: those that Octave's values are not asked
 * for themselves. */
#include "value.hh"

int first_axis(const dim_vector &dims)
{
	for (int i = 0; i < dims.ndims(); i++)
		if (dims(i) != 1)
			return i;
	return 0;
}

/* The axis that an argument names, from 0; the first one without it; -1: none of braze's. */
static int axis_from(const dim_vector &dims, const octave_value_list &args, int at)
{
	if (args.length() <= at)
		return first_axis(dims);
	if (args.length() > at + 1 || braze_of(args(at)) || !args(at).is_real_scalar())
		return -1;
	double d = args(at).double_value();
	return d == std::floor(d) && d >= 1 && d <= dims.ndims() ? (int)d - 1 : -1;
}

static octave_value along_axis(const char *op, const octave_braze &b, int axis)
{
	operand o;
	dim_vector dims = b.dims();

	if (axis < 0 || !operand_of(o, octave_value(b.clone())))
		return octave_value();
	int dtype = o.dtype == BRAZE_BOOL ? BRAZE_FLOAT64 : o.dtype;
	dims(axis) = 1;
	return value_of(reduce(op, cast(o.array, dtype), axis_of(b.dims(), axis), dtype), dims,
			o.nonnegative);
}

static octave_value_list do_sum(const octave_value_list &args, int nargout)
{
	const octave_braze *b = braze_of(args(0));

	return b ? along_axis("sum", *b, axis_from(b->dims(), args, 1)) : octave_value();
}

static octave_value_list do_prod(const octave_value_list &args, int nargout)
{
	const octave_braze *b = braze_of(args(0));

	return b ? along_axis("prod", *b, axis_from(b->dims(), args, 1)) : octave_value();
}

static octave_value_list do_sumsq(const octave_value_list &args, int nargout)
{
	const octave_braze *b = braze_of(args(0));
	operand o;

	if (!b || !b->is_floating() || !operand_of(o, args(0)))
		return octave_value();
	octave_value squares = value_of(apply("multiply", o, o), o.dims, true);
	return along_axis("sum", *braze_of(squares), axis_from(o.dims, args, 1));
}

octave_value octave_braze::truth(const char *op, int dim) const
{
	octave_value self(clone());
	operand o;
	dim_vector dims = m_dims;
	/* A matrix is asked by columns, a vector as a whole, and dim < 0 is no argument. */
	int axis = dim < 0 ? first_axis(m_dims) : dim;

	/* Whether a NaN is false to all() depends on how Octave walks: where it lies close, it is
	 * not. */
	bool close = true;
	for (int i = 0; i < axis && i < dims.ndims(); i++)
		close = close && dims(i) == 1;
	bool known = axis < dims.ndims() && operand_of(o, self) &&
		     (op[1] == 'n' || o.dtype == BRAZE_BOOL || close);
	if (!known) {
		leave(op);
		return put(op[1] == 'l' ? elements().all(dim) : elements().any(dim));
	}
	dims(axis) = 1;
	handle is = o.array;
	if (o.dtype != BRAZE_BOOL)
		is = apply("not_equal", o, number_of(0, o.dtype));
	if (o.dtype != BRAZE_BOOL && op[1] == 'n') /* a NaN is not true to any() */
		is = apply("logical_and", operand_of(is, m_dims),
			   operand_of(apply("equal", o, o), m_dims));
	return value_of(reduce(op, is, axis_of(m_dims, axis), -1), dims);
}

static octave_value_list do_cumsum(const octave_value_list &args, int nargout)
{
	const octave_braze *b = braze_of(args(0));
	int axis = b ? axis_from(b->dims(), args, 1) : -1;
	operand o;
	braze_array *made = nullptr;
	braze_error err;

	if (axis < 0 || !operand_of(o, args(0)) || o.dtype == BRAZE_BOOL)
		return octave_value();
	check(braze_scan(&made, braze_op_find("cumsum"), o.array.get(), axis_of(o.dims, axis), -1,
			 &err),
	      err);
	return octave_value(value_of(take(made), o.dims, o.nonnegative));
}

/* ---- Extremes: NaN is left out, but of NaNs alone ---- */

static octave_value extreme_along(bool largest, const octave_braze &b, int axis)
{
	double least = largest ? -octave::numeric_limits<double>::Inf()
			       : octave::numeric_limits<double>::Inf();
	operand o;

	if (axis < 0 || !b.is_floating() || !operand_of(o, octave_value(b.clone())))
		return octave_value();
	int at = axis_of(o.dims, axis);
	dim_vector dims = o.dims;
	dims(axis) = 1;
	handle nan = apply("isnan", o);
	handle known = apply("where", operand_of(nan, o.dims), number_of(least, o.dtype), o);
	handle found = reduce(largest ? "max" : "min", known, at, -1);
	handle none = reduce("all", nan, at, -1);
	double missing = octave::numeric_limits<double>::NaN();
	return value_of(apply("where", operand_of(none, dims), number_of(missing, o.dtype),
			      operand_of(found, dims)),
			dims, o.nonnegative);
}

static octave_value extreme_of_two(bool largest, const octave_value &x, const octave_value &y)
{
	operand a, b;
	dim_vector dims;

	if (!operand_of(a, x) || !operand_of(b, y) || !broadcast(dims, a.dims, b.dims))
		return octave_value();
	if (a.dtype == BRAZE_BOOL || b.dtype == BRAZE_BOOL)
		return octave_value();
	int dtype = a.dtype == BRAZE_FLOAT32 || b.dtype == BRAZE_FLOAT32 ? BRAZE_FLOAT32
									 : BRAZE_FLOAT64;
	return value_of(apply(largest ? "fmax" : "fmin", cast(a, dtype), cast(b, dtype)), dims,
			a.nonnegative && b.nonnegative);
}

static octave_value_list extreme(bool largest, const octave_value_list &args, int nargout)
{
	const octave_braze *b = braze_of(args(0));

	if (nargout > 1)
		return octave_value();
	if (args.length() == 2)
		return extreme_of_two(largest, args(0), args(1));
	if (!b || (args.length() == 3 && !(args(1).is_double_type() && args(1).numel() == 0)))
		return octave_value();
	return extreme_along(largest, *b,
			     args.length() == 3 ? axis_from(b->dims(), args, 2)
						: first_axis(b->dims()));
}

static octave_value_list do_max(const octave_value_list &args, int nargout)
{
	return extreme(true, args, nargout);
}

static octave_value_list do_min(const octave_value_list &args, int nargout)
{
	return extreme(false, args, nargout);
}

static octave_value_list do_atan2(const octave_value_list &args, int nargout)
{
	operand a, b;
	dim_vector dims;

	if (args.length() != 2 || !operand_of(a, args(0)) || !operand_of(b, args(1)) ||
	    a.dtype == BRAZE_BOOL || b.dtype == BRAZE_BOOL || !broadcast(dims, a.dims, b.dims))
		return octave_value();
	int dtype = a.dtype == BRAZE_FLOAT32 || b.dtype == BRAZE_FLOAT32 ? BRAZE_FLOAT32
									 : BRAZE_FLOAT64;
	return octave_value(value_of(apply("arctan2", cast(a, dtype), cast(b, dtype)), dims));
}

/* ---- Joining ---- */

/* What is joined, and the dimensions of all of it. */
struct joined {
	std::vector<handle> parts;
	dim_vector dims;
	int dtype = -1;
	bool nonnegative = true;
};

/* One more part; false: it does not fit, or Octave makes another class of such parts. */
static bool add_part(joined &j, int axis, const octave_value &v)
{
	operand o;

	if (!operand_of(o, v))
		return false;
	if (!o.array)
		o.array = upload(v);
	dim_vector d = o.dims;
	d.resize(std::max({(int)d.ndims(), axis + 1, (int)j.dims.ndims()}), 1);
	if (j.parts.empty()) {
		j.dims = d;
		j.dtype = o.dtype;
	} else {
		j.dims.resize(d.ndims(), 1);
		for (int k = 0; k < d.ndims(); k++)
			if (k != axis && d(k) != j.dims(k))
				return false;
		j.dims(axis) += d(axis);
	}
	j.nonnegative = j.nonnegative && o.nonnegative;
	j.parts.push_back(o.array);
	return j.dtype == o.dtype;
}

/* A part with as many axes as the whole. */
static handle shaped(const handle &part, const joined &j, int axis)
{
	int64_t shape[BRAZE_MAX_NDIM];
	int n = j.dims.ndims();
	braze_array *made = nullptr;
	braze_error err;

	for (int k = 0; k < n; k++)
		shape[n - 1 - k] = k == axis ? -1 : j.dims(k);
	check(braze_reshape(&made, part.get(), n, shape, &err), err);
	return take(made);
}

static octave_value join(int axis, const octave_value_list &args, octave_idx_type from)
{
	joined j;
	std::vector<braze_array *> arrays;
	braze_array *made = nullptr;
	braze_error err;

	for (octave_idx_type i = from; i < args.length(); i++)
		if (!add_part(j, axis, args(i)))
			return octave_value();
	if (j.parts.empty() || j.dims.ndims() > BRAZE_MAX_NDIM)
		return octave_value();
	for (handle &part : j.parts) {
		part = shaped(part, j, axis);
		arrays.push_back(part.get());
	}
	check(braze_concatenate(&made, (int)arrays.size(), arrays.data(), j.dims.ndims() - 1 - axis,
				-1, &err),
	      err);
	return value_of(take(made), j.dims, j.nonnegative);
}

static octave_value_list do_horzcat(const octave_value_list &args, int nargout)
{
	return join(1, args, 0);
}

static octave_value_list do_vertcat(const octave_value_list &args, int nargout)
{
	return join(0, args, 0);
}

static octave_value_list do_cat(const octave_value_list &args, int nargout)
{
	if (args.length() < 2 || braze_of(args(0)) || !args(0).is_real_scalar())
		return octave_value();
	double d = args(0).double_value();
	return d >= 1 && d == std::floor(d) && d <= BRAZE_MAX_NDIM ? join((int)d - 1, args, 1)
								   : octave_value();
}

/* Octave's question about the class of the elements, which needs no elements. */
static octave_value_list do_isa(const octave_value_list &args, int nargout)
{
	const octave_braze *b = braze_of(args(0));

	if (args.length() != 2 || !b || !args(1).is_string())
		return octave_value();
	if (args(1).string_value() == "braze")
		return octave_value(true);
	std::string of = b->element_class();
	octave_value none = of == "logical" ? octave_value(boolNDArray(dim_vector(0, 0)))
					    : octave_value(NDArray(dim_vector(0, 0)));
	if (of != "logical" && of != "double")
		none = octave::feval(of, octave_value_list(none), 1)(0);
	return octave::feval("isa", ovl(none, args(1)), 1);
}

/* Operators by name, as bsxfun and others call them. */
static octave_value by_operator(const std::string &name, const octave_value_list &args)
{
	static const struct {
		const char *name;
		octave_value::binary_op op;
	} operators[] = {
		{"plus", octave_value::op_add},	    {"minus", octave_value::op_sub},
		{"times", octave_value::op_el_mul}, {"rdivide", octave_value::op_el_div},
		{"power", octave_value::op_el_pow}, {"mtimes", octave_value::op_mul},
		{"mrdivide", octave_value::op_div}, {"mldivide", octave_value::op_ldiv},
		{"mpower", octave_value::op_pow},   {"ldivide", octave_value::op_el_ldiv},
		{"lt", octave_value::op_lt},	    {"le", octave_value::op_le},
		{"gt", octave_value::op_gt},	    {"ge", octave_value::op_ge},
		{"eq", octave_value::op_eq},	    {"ne", octave_value::op_ne},
		{"and", octave_value::op_el_and},   {"or", octave_value::op_el_or},
	};
	octave::interpreter *interp = octave::interpreter::the_interpreter();

	for (const auto &row : operators)
		if (args.length() == 2 && name == row.name)
			return octave::binary_op(interp->get_type_info(), row.op, args(0), args(1));
	return octave_value();
}

static octave_value_list do_bsxfun(const octave_value_list &args, int nargout)
{
	if (args.length() != 3 || !args(0).is_function_handle())
		return octave_value();
	return by_operator(args(0).fcn_handle_value()->fcn_name(), args.slice(1, 2));
}

static const struct {
	const char *name;
	octave_value_list (*call)(const octave_value_list &, int);
} natives[] = {
	{"sum", do_sum},	 {"prod", do_prod}, {"sumsq", do_sumsq},
	{"cumsum", do_cumsum},	 {"max", do_max},   {"min", do_min},
	{"atan2", do_atan2},	 {"cat", do_cat},   {"horzcat", do_horzcat},
	{"vertcat", do_vertcat}, {"isa", do_isa},   {"bsxfun", do_bsxfun},
};

octave_value_list call_native(const std::string &name, const octave_value_list &args, int nargout)
{
	for (const auto &row : natives)
		if (args.length() && name == row.name)
			return row.call(args, nargout);
	return by_operator(name, args);
}
