/* SPDX-License-Identifier: Apache-2.0 */
/* value.cc - values: made of Octave's, read as Octave's, reshaped, shown. */
#include <octave/ov-cell.h>

#include <map>

#include "value.hh"

DEFINE_OV_TYPEID_FUNCTIONS_AND_DATA(octave_braze, "braze array", "braze");

/* ---- The session ---- */

void check(int rc, const braze_error &err)
{
	if (rc == BRAZE_E_INTERRUPTED)
		octave_quit();
	if (rc)
		error_with_id((std::string("braze:") + braze_error_name(rc)).c_str(), "%s",
			      err.text);
}

int interrupted(void *data)
{
	return octave_interrupt_state > 0;
}

braze_session *session()
{
	static braze_session *made;

	if (!made) {
		braze_options options = {};
		braze_error err;
		options.size = sizeof(options);
		options.flags = BRAZE_RECONNECT;
		check(braze_connect(&made, &options, &err), err);
	}
	return made;
}

handle take(braze_array *made)
{
	return handle(made, braze_release);
}

void leave(const std::string &name)
{
	left()[name]++;
}

std::map<std::string, long> &left()
{
	static std::map<std::string, long> counts;

	return counts;
}

/* ---- From Octave's values and to them ---- */

static std::vector<int64_t> shape_of(const dim_vector &dims)
{
	std::vector<int64_t> shape(dims.ndims());

	for (int i = 0; i < dims.ndims(); i++)
		shape[i] = dims(dims.ndims() - 1 - i);
	return shape;
}

template <class A> static handle upload_elements(const A &a, int dtype)
{
	std::vector<int64_t> shape = shape_of(a.dims());
	braze_array *made = nullptr;
	braze_error err;

	check(braze_from_data(&made, session(), dtype, (int)shape.size(), shape.data(), nullptr,
			      a.data(), &err),
	      err);
	return take(made);
}

handle upload(const octave_value &v)
{
	if (!(v.isnumeric() || v.islogical()) || v.issparse() || v.isobject() ||
	    v.ndims() > BRAZE_MAX_NDIM)
		return handle();
	if (v.islogical())
		return upload_elements(v.bool_array_value(), BRAZE_BOOL);
	if (v.is_double_type())
		return v.iscomplex() ? upload_elements(v.complex_array_value(), BRAZE_COMPLEX128)
				     : upload_elements(v.array_value(), BRAZE_FLOAT64);
	if (v.is_single_type())
		return v.iscomplex()
			       ? upload_elements(v.float_complex_array_value(), BRAZE_COMPLEX64)
			       : upload_elements(v.float_array_value(), BRAZE_FLOAT32);
#define UPLOAD(name, dtype)                                                                        \
	if (v.is_##name##_type())                                                                  \
		return upload_elements(v.name##_array_value(), dtype);
	UPLOAD(int8, BRAZE_INT8)
	UPLOAD(int16, BRAZE_INT16)
	UPLOAD(int32, BRAZE_INT32)
	UPLOAD(int64, BRAZE_INT64)
	UPLOAD(uint8, BRAZE_UINT8)
	UPLOAD(uint16, BRAZE_UINT16)
	UPLOAD(uint32, BRAZE_UINT32)
	UPLOAD(uint64, BRAZE_UINT64)
#undef UPLOAD
	return handle();
}

template <class A> static octave_value read_elements(const handle &h, const dim_vector &dims)
{
	A out(dims);
	const void *data = nullptr;
	braze_error err;

	if (dims.numel()) {
		check(braze_data(&data, h.get(), interrupted, nullptr, &err), err);
		check(braze_read(out.fortran_vec(), h.get(), &err), err);
	}
	return octave_value(out);
}

octave_value octave_braze::elements() const
{
	switch (dtype()) {
	case BRAZE_BOOL:
		return read_elements<boolNDArray>(m_array, m_dims);
	case BRAZE_INT8:
		return read_elements<int8NDArray>(m_array, m_dims);
	case BRAZE_INT16:
		return read_elements<int16NDArray>(m_array, m_dims);
	case BRAZE_INT32:
		return read_elements<int32NDArray>(m_array, m_dims);
	case BRAZE_INT64:
		return read_elements<int64NDArray>(m_array, m_dims);
	case BRAZE_UINT8:
		return read_elements<uint8NDArray>(m_array, m_dims);
	case BRAZE_UINT16:
		return read_elements<uint16NDArray>(m_array, m_dims);
	case BRAZE_UINT32:
		return read_elements<uint32NDArray>(m_array, m_dims);
	case BRAZE_UINT64:
		return read_elements<uint64NDArray>(m_array, m_dims);
	case BRAZE_FLOAT32:
		return read_elements<FloatNDArray>(m_array, m_dims);
	case BRAZE_FLOAT64:
		return read_elements<NDArray>(m_array, m_dims);
	case BRAZE_COMPLEX64:
		return read_elements<FloatComplexNDArray>(m_array, m_dims);
	case BRAZE_COMPLEX128:
		return read_elements<ComplexNDArray>(m_array, m_dims);
	default:
		error("braze: Octave has no such type of element");
	}
}

std::string octave_braze::element_class() const
{
	static const char *const names[] = {"logical", "int8",	 "int16",  "int32",  "int64",
					    "uint8",   "uint16", "uint32", "uint64", "half",
					    "single",  "double", "single", "double"};

	return names[dtype()];
}

const octave_braze *braze_of(const octave_value &v)
{
	return v.type_id() == octave_braze::static_type_id()
		       ? dynamic_cast<const octave_braze *>(&v.get_rep())
		       : nullptr;
}

octave_value value_of(handle h, dim_vector dims, bool nonnegative)
{
	dims.chop_trailing_singletons();
	std::vector<int64_t> shape = shape_of(dims);
	const int64_t *has = braze_shape(h.get());

	if (braze_ndim(h.get()) != (int)shape.size() ||
	    !std::equal(shape.begin(), shape.end(), has)) {
		braze_array *made = nullptr;
		braze_error err;
		check(braze_reshape(&made, h.get(), (int)shape.size(), shape.data(), &err), err);
		h = take(made);
	}
	return octave_value(new octave_braze(h, dims, nonnegative));
}

octave_value put(const octave_value &v)
{
	handle h = v.is_defined() ? upload(v) : handle();

	return h ? value_of(h, v.dims()) : v;
}

octave_value_list put(const octave_value_list &list)
{
	octave_value_list out(list);

	for (octave_idx_type i = 0; i < list.length(); i++)
		out(i) = put(list(i));
	return out;
}

octave_value plain(const octave_value &v)
{
	if (const octave_braze *b = braze_of(v))
		return b->elements();
	if (v.iscell()) {
		Cell made = v.cell_value();
		for (octave_idx_type i = 0; i < made.numel(); i++)
			made(i) = plain(made(i));
		return octave_value(made);
	}
	return v;
}

octave_value_list plain(const octave_value_list &list)
{
	octave_value_list out(list);

	for (octave_idx_type i = 0; i < list.length(); i++)
		out(i) = plain(list(i));
	return out;
}

/* ---- The class ---- */

octave_braze::octave_braze() : m_dims(0, 0), m_buffer(new char), m_nonnegative(true)
{
	m_array = upload(octave_value(NDArray(m_dims)));
}

octave_braze::octave_braze(const handle &h, const dim_vector &dims, bool nonnegative)
    : m_array(h), m_dims(dims), m_buffer(new char), m_nonnegative(nonnegative)
{
}

octave_braze::octave_braze(const octave_braze &whole, const handle &h, const dim_vector &dims)
    : m_array(h), m_dims(dims), m_buffer(whole.m_buffer), m_nonnegative(whole.m_nonnegative)
{
}

static octave_base_value *as_octaves(const octave_base_value &a)
{
	octave_value v = dynamic_cast<const octave_braze &>(a).elements();

	return v.get_rep().clone();
}

/* So that Octave's own arrays can be assigned our elements. */
octave_base_value::type_conv_info octave_braze::numeric_conversion_function() const
{
	return type_conv_info(as_octaves, elements().type_id());
}

octave_value octave_braze::reshape(const dim_vector &dims) const
{
	if (dims.numel() != numel() || dims.ndims() > BRAZE_MAX_NDIM || iscomplex())
		return put(elements().reshape(dims));
	octave_value made = value_of(m_array, dims, m_nonnegative);
	/* A view where the elements lie closely: who writes copies. */
	const octave_braze *b = braze_of(made);
	return octave_value(new octave_braze(*this, b->m_array, b->m_dims));
}

octave_value octave_braze::squeeze() const
{
	return reshape(m_dims.squeeze());
}

octave_value octave_braze::permute(const Array<int> &order, bool inverse) const
{
	int n = m_dims.ndims(), axes[BRAZE_MAX_NDIM], back[BRAZE_MAX_NDIM];
	bool seen[BRAZE_MAX_NDIM] = {false};
	dim_vector dims = m_dims;
	braze_array *made = nullptr;
	braze_error err;

	if (order.numel() != n)
		return put(elements().permute(order, inverse));
	for (int i = 0; i < n; i++) {
		int from = order(i);
		if (from < 0 || from >= n || seen[from])
			return put(elements().permute(order, inverse));
		seen[from] = true;
		back[inverse ? from : i] = inverse ? i : from;
	}
	for (int i = 0; i < n; i++) {
		dims(i) = m_dims(back[i]);
		axes[n - 1 - i] = n - 1 - back[i];
	}
	check(braze_transpose(&made, m_array.get(), axes, &err), err);
	octave_value v = value_of(take(made), dims);
	const octave_braze *b = braze_of(v);
	return octave_value(new octave_braze(*this, b->m_array, b->m_dims));
}

octave_value octave_braze::resize(const dim_vector &dims, bool fill) const
{
	leave("resize");
	return put(elements().resize(dims, fill));
}

octave_value octave_braze::sort(octave_idx_type dim, sortmode mode) const
{
	bool known = is_floating() && mode == ASCENDING && numel() && dim < m_dims.ndims();
	braze_array *made = nullptr;
	braze_error err;

	if (!known) {
		leave("sort");
		return put(elements().sort(dim, mode));
	}
	check(braze_sort(&made, braze_op_find("sort"), m_array.get(), axis_of(m_dims, (int)dim),
			 &err),
	      err);
	return value_of(take(made), m_dims, m_nonnegative);
}

octave_value octave_braze::sort(Array<octave_idx_type> &places, octave_idx_type dim,
				sortmode mode) const
{
	leave("sort");
	return put(elements().sort(places, dim, mode));
}

octave_value octave_braze::diag(octave_idx_type k) const
{
	leave("diag");
	return put(elements().diag(k));
}

octave_value octave_braze::diag(octave_idx_type m, octave_idx_type n) const
{
	leave("diag");
	return put(elements().diag(m, n));
}

octave_value octave_braze::as(int to) const
{
	if (dtype() == to)
		return octave_value(clone());
	bool fits = !iscomplex() && (is_floating() || dtype() == BRAZE_BOOL || isinteger());

	if (fits)
		return value_of(cast(m_array, to), m_dims, m_nonnegative);
	return put(to == BRAZE_FLOAT32 ? elements().as_single() : elements().as_double());
}

#define AS(name, type)                                                                             \
	octave_value octave_braze::as_##name() const                                               \
	{                                                                                          \
		if (dtype() == type)                                                               \
			return octave_value(clone());                                              \
		leave(#name);                                                                      \
		return put(elements().as_##name());                                                \
	}
AS(int8, BRAZE_INT8)
AS(int16, BRAZE_INT16)
AS(int32, BRAZE_INT32)
AS(int64, BRAZE_INT64)
AS(uint8, BRAZE_UINT8)
AS(uint16, BRAZE_UINT16)
AS(uint32, BRAZE_UINT32)
AS(uint64, BRAZE_UINT64)
#undef AS

/* ---- Display: as Octave's array, which it is read as ---- */

void octave_braze::print(std::ostream &os, bool as_read)
{
	octave_value v = elements();

	v.print(os, as_read);
}

void octave_braze::print_raw(std::ostream &os, bool as_read) const
{
	elements().print_raw(os, as_read);
}

bool octave_braze::print_name_tag(std::ostream &os, const std::string &name) const
{
	octave_value v = elements();

	return v.print_name_tag(os, name);
}
