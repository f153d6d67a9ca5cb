/* SPDX-License-Identifier: Apache-2.0 */
/* index.cc - x(i, j) and x(i, j) = y.
 *
 * Scalars, ranges and colons are views; other places are gathered.  A value that shares its
 * elements with others has a copy of its own before it is written.  What grows or deletes, other
 * classes of element, and every error are Octave's, on the elements. */
#include "value.hh"

/* One place after the other along an axis. */
struct along {
	octave::idx_vector places;
	int64_t count, start, step;
	bool even; /* start, start + step, ... */
};

static along along_of(const octave::idx_vector &places, octave_idx_type extent)
{
	along a = {places, places.length(extent), 0, 1, false};

	a.even = places.is_colon() || places.is_scalar() || places.is_range();
	if (a.even && a.count)
		a.start = places(0);
	if (places.is_range())
		a.step = places.increment();
	return a;
}

/* False: an index that is none, or beyond the extent: Octave's error. */
static bool parse(std::vector<along> &out, const octave_value_list &idx, const dim_vector &dims)
{
	for (octave_idx_type i = 0; i < idx.length(); i++) {
		try {
			octave::idx_vector places = plain(idx(i)).index_vector();
			if (places.extent(dims(i)) != dims(i))
				return false;
			out.push_back(along_of(places, dims(i)));
		} catch (octave::index_exception &) {
			return false;
		}
	}
	return true;
}

static handle as_form(const handle &h, const dim_vector &dims)
{
	int64_t shape[BRAZE_MAX_NDIM];
	int n = dims.ndims();
	braze_array *made = nullptr;
	braze_error err;

	for (int i = 0; i < n; i++)
		shape[i] = dims(n - 1 - i);
	check(braze_reshape(&made, h.get(), n, shape, &err), err);
	return take(made);
}

/* The dimensions for so many indices: the last one counts what is left.  One index: as a row of
 * two, of which only the last is of interest. */
static dim_vector form_for(const dim_vector &dims, octave_idx_type n)
{
	return n == 1 ? dim_vector(dims.numel(), 1) : dims.redim((int)n);
}

static handle places_of(const octave::idx_vector &places, octave_idx_type extent)
{
	std::vector<int64_t> at(places.length(extent));
	int64_t n = (int64_t)at.size();
	braze_array *made = nullptr;
	braze_error err;

	for (octave_idx_type i = 0; i < n; i++)
		at[i] = places(i);
	check(braze_from_data(&made, session(), BRAZE_INT64, 1, &n, nullptr, at.data(), &err), err);
	return take(made);
}

/* The part that even steps lead to, as a view. */
static handle slice(const handle &h, const dim_vector &form, const std::vector<along> &axes)
{
	int n = form.ndims();
	int64_t start[BRAZE_MAX_NDIM], count[BRAZE_MAX_NDIM], step[BRAZE_MAX_NDIM];
	braze_array *made = nullptr;
	braze_error err;

	for (int i = 0; i < n; i++) {
		bool given = i < (int)axes.size() && axes[i].even;
		int at = n - 1 - i;
		start[at] = given ? axes[i].start : 0;
		count[at] = given ? axes[i].count : form(i);
		step[at] = given ? axes[i].step : 1;
	}
	check(braze_slice(&made, h.get(), start, count, step, &err), err);
	return take(made);
}

static handle gather(handle h, const dim_vector &form, const std::vector<along> &axes)
{
	for (size_t i = 0; i < axes.size(); i++) {
		braze_array *made = nullptr;
		braze_error err;
		if (axes[i].even)
			continue;
		handle at = places_of(axes[i].places, form((int)i));
		check(braze_take(&made, h.get(), at.get(), form.ndims() - 1 - (int)i, BRAZE_KNOWN,
				 &err),
		      err);
		h = take(made);
	}
	return h;
}

/* The dimensions of x(i) with one index. */
static dim_vector shape_of_one(const dim_vector &dims, const octave::idx_vector &places)
{
	octave_idx_type count = places.length(dims.numel());
	dim_vector out = places.orig_dimensions();

	if (places.is_colon())
		return dim_vector(count, 1);
	if (dims.numel() != 1 && dims.is_nd_vector() && count != 1 && out.is_nd_vector())
		return dims.make_nd_vector(count);
	return out;
}

octave_value octave_braze::index_op(const octave_value_list &idx, bool resize_ok)
{
	std::vector<along> axes;
	octave_idx_type n = idx.length();
	bool fits = n > 0 && n <= BRAZE_MAX_NDIM && !iscomplex() && numel() && !resize_ok;

	if (n == 0)
		return octave_value(clone());
	dim_vector form = fits ? form_for(m_dims, n) : m_dims;
	if (!fits || !parse(axes, idx, form)) {
		leave("index");
		return put(elements().index_op(plain(idx), resize_ok));
	}
	dim_vector dims = form;
	for (octave_idx_type i = 0; i < n; i++)
		dims(i) = axes[i].count;
	if (n == 1)
		dims = shape_of_one(m_dims, axes[0].places);
	handle part = slice(as_form(m_array, form), form, axes);
	bool view = true;
	for (const along &a : axes)
		view = view && a.even;
	octave_value made = value_of(view ? part : gather(part, form, axes), dims, m_nonnegative);
	if (!view)
		return made;
	const octave_braze *b = braze_of(made);
	return octave_value(new octave_braze(*this, b->m_array, b->m_dims));
}

octave_value octave_braze::subsref(const std::string &type, const std::list<octave_value_list> &idx)
{
	octave_value made;

	if (type[0] != '(') {
		octave_value v = elements();
		return v.subsref(type, idx);
	}
	made = index_op(idx.front());
	return made.next_subsref(type, idx);
}

octave_value_list octave_braze::subsref(const std::string &type,
					const std::list<octave_value_list> &idx, int nargout)
{
	return subsref(type, idx);
}

/* ---- Writing ---- */

/* The elements are this value's alone, and lie closely. */
void octave_braze::own()
{
	int64_t closely = braze_itemsize(m_array.get());
	bool close = true;

	for (int i = braze_ndim(m_array.get()) - 1; i >= 0; i--) {
		close = close && braze_strides(m_array.get())[i] == closely;
		closely *= braze_shape(m_array.get())[i];
	}
	if (close && m_buffer.use_count() == 1 && m_array.use_count() == 1)
		return;
	braze_array *made = nullptr;
	braze_error err;
	check(braze_copy(&made, m_array.get(), &err), err);
	m_array = take(made);
	m_buffer.reset(new char);
}

/* Do the dimensions but those of 1 agree? */
static bool agree(const dim_vector &a, const dim_vector &b)
{
	int i = 0, j = 0;

	for (;;) {
		while (i < a.ndims() && a(i) == 1)
			i++;
		while (j < b.ndims() && b(j) == 1)
			j++;
		if (i == a.ndims() || j == b.ndims())
			return i == a.ndims() && j == b.ndims();
		if (a(i++) != b(j++))
			return false;
	}
}

/* May elements of y's class be stored in x without making another class of it? */
static bool keeps_class(const octave_braze &x, const octave_value &y)
{
	const octave_braze *b = braze_of(y);
	std::string mine = x.element_class(), theirs = b ? b->element_class() : y.class_name();

	if (!y.isreal() || y.issparse() || y.is_string() || y.numel() == 0)
		return false;
	return mine == theirs || (mine == "single" && theirs == "double") ||
	       (x.is_floating() && theirs == "logical");
}

bool octave_braze::store(handle part, const octave_value &rhs)
{
	const octave_braze *b = braze_of(rhs);
	braze_error err;
	braze_arg from = {nullptr, {}};
	handle given;

	if (!b && rhs.numel() == 1 && is_floating()) {
		from.scalar = number_of(rhs.double_value(), dtype()).number;
	} else {
		given = b ? b->m_array : upload(rhs);
		if (!given)
			return false;
		given = cast(given, dtype());
		if (rhs.numel() > 1) {
			braze_array *made = nullptr;
			check(braze_reshape(&made, given.get(), braze_ndim(part.get()),
					    braze_shape(part.get()), &err),
			      err);
			given = take(made);
		}
		from.array = given.get();
	}
	check(braze_assign(part.get(), from, &err), err);
	return true;
}

/* False: nothing was written. */
bool octave_braze::assign(const octave_value_list &idx, const octave_value &rhs)
{
	std::vector<along> axes;
	octave_idx_type n = idx.length();
	dim_vector form, part;

	if (n == 0 || n > BRAZE_MAX_NDIM || iscomplex() || !numel() || !keeps_class(*this, rhs))
		return false;
	form = part = form_for(m_dims, n);
	if (!parse(axes, idx, form))
		return false;
	for (octave_idx_type i = 0; i < n; i++)
		part(i) = axes[i].count;
	if (!part.numel() || (rhs.numel() != 1 && !agree(part, rhs.dims())))
		return false;
	for (const along &a : axes)
		if (!a.even)
			return false;
	octave_value kept = rhs; /* may be a part of this very value, which is copied then */
	own();
	bool stored = store(slice(as_form(m_array, form), form, axes), kept);
	const octave_braze *b = braze_of(kept);
	m_nonnegative = m_nonnegative && (b ? b->m_nonnegative : false);
	return stored;
}

octave_value octave_braze::subsasgn(const std::string &type,
				    const std::list<octave_value_list> &idx,
				    const octave_value &rhs)
{
	if (type == "(" && assign(idx.front(), rhs)) {
		count++;
		return octave_value(this);
	}
	leave("assign");
	octave_value v = elements();
	std::list<octave_value_list> places;
	for (const octave_value_list &list : idx)
		places.push_back(plain(list));
	v.assign(octave_value::op_asn_eq, type, places, plain(rhs));
	return put(v);
}
