/* SPDX-License-Identifier: Apache-2.0 */
/* value.hh - a value of Octave's whose elements are braze's.
 *
 * Octave's first axis is the closest one in memory: an array of dimensions (r, c, p) is one of
 * braze's of shape (p, c, r), so that a column vector of it, linear indices and broadcasting mean
 * the same on both sides.  What braze does not compute as Octave does, Octave computes on the
 * elements, and the result becomes a value of braze's again ("left", counted by name). */
#ifndef BRAZE_OCTAVE_VALUE_H
#define BRAZE_OCTAVE_VALUE_H

#include <memory>
#include <string>

#include <octave/oct.h>
#include <octave/ov-typeinfo.h>
#include <octave/parse.h>
#include <octave/quit.h>

#include "braze.h"

typedef std::shared_ptr<braze_array> handle; /* released with the last of its owners */

/* The handle that a call of libbraze gave, or its error as Octave's. */
handle take(braze_array *made);
void check(int rc, const braze_error &err);
braze_session *session();
braze_check_fn interrupted; /* Ctrl-C ends a wait */

class octave_braze : public octave_base_value
{
      public:
	octave_braze();
	octave_braze(const handle &h, const dim_vector &dims, bool nonnegative = false);

	octave_base_value *clone() const override
	{
		return new octave_braze(*this);
	}
	octave_base_value *empty_clone() const override
	{
		return new octave_braze();
	}
	type_conv_info numeric_conversion_function() const override;

	/* What is known without waiting. */
	const handle &array() const
	{
		return m_array;
	}
	int dtype() const
	{
		return braze_dtype_of(m_array.get());
	}
	bool nonnegative() const
	{
		return m_nonnegative;
	}
	bool is_floating() const
	{
		return dtype() == BRAZE_FLOAT64 || dtype() == BRAZE_FLOAT32;
	}
	std::string element_class() const;
	dim_vector dims() const override
	{
		return m_dims;
	}
	bool is_defined() const override
	{
		return true;
	}
	bool is_constant() const override
	{
		return true;
	}
	bool isobject() const override
	{
		return true;
	} /* its functions are found by its class */
	bool isnumeric() const override
	{
		return dtype() != BRAZE_BOOL;
	}
	bool islogical() const override
	{
		return dtype() == BRAZE_BOOL;
	}
	bool isfloat() const override
	{
		return is_floating() || iscomplex();
	}
	bool isinteger() const override
	{
		return isnumeric() && !isfloat();
	}
	bool isreal() const override
	{
		return !iscomplex();
	}
	bool iscomplex() const override
	{
		return dtype() >= BRAZE_COMPLEX64;
	}
	bool is_double_type() const override
	{
		return element_class() == "double";
	}
	bool is_single_type() const override
	{
		return element_class() == "single";
	}
	bool is_scalar_type() const override
	{
		return m_dims.numel() == 1;
	}
	bool is_matrix_type() const override
	{
		return m_dims.numel() != 1;
	}
	std::size_t byte_size() const override
	{
		return numel() * braze_itemsize(m_array.get());
	}

	/* The elements, as a value of Octave's own: waits. */
	octave_value elements() const;

	/* x++ of a variable's own value. */
	void become(const octave_braze &other)
	{
		m_array = other.m_array;
		m_dims = other.m_dims;
		m_buffer = other.m_buffer;
		m_nonnegative = other.m_nonnegative;
	}

	/* Parts and forms. */
	using octave_base_value::subsref;
	octave_value subsref(const std::string &type,
			     const std::list<octave_value_list> &idx) override;
	octave_value_list subsref(const std::string &type, const std::list<octave_value_list> &idx,
				  int nargout) override;
	octave_value index_op(const octave_value_list &idx, bool resize_ok = false);
	octave_value do_index_op(const octave_value_list &idx, bool resize_ok = false) override
	{
		return index_op(idx, resize_ok);
	}
	octave_value subsasgn(const std::string &type, const std::list<octave_value_list> &idx,
			      const octave_value &rhs) override;
	octave::idx_vector index_vector(bool require_integers = false) const override
	{
		return elements().index_vector(require_integers);
	}
	octave_value reshape(const dim_vector &dims) const override;
	octave_value permute(const Array<int> &order, bool inverse = false) const override;
	octave_value squeeze() const override;
	octave_value full_value() const override
	{
		return octave_value(clone());
	}
	octave_value resize(const dim_vector &dims, bool fill = false) const override;

	/* Functions that Octave asks the value itself for. */
	octave_value map(unary_mapper_t mapper) const override;
	octave_value all(int dim = 0) const override
	{
		return truth("all", dim);
	}
	octave_value any(int dim = 0) const override
	{
		return truth("any", dim);
	}
	octave_value sort(octave_idx_type dim = 0, sortmode mode = ASCENDING) const override;
	octave_value sort(Array<octave_idx_type> &places, octave_idx_type dim = 0,
			  sortmode mode = ASCENDING) const override;
	octave_value diag(octave_idx_type k = 0) const override;
	octave_value diag(octave_idx_type m, octave_idx_type n) const override;
	octave_idx_type nnz() const override
	{
		return elements().nnz();
	}
	bool is_true() const override
	{
		return elements().is_true();
	}
	octave_value as_double() const override
	{
		return as(BRAZE_FLOAT64);
	}
	octave_value as_single() const override
	{
		return as(BRAZE_FLOAT32);
	}
#define AS(name) octave_value as_##name() const override
	AS(int8);
	AS(int16);
	AS(int32);
	AS(int64);
	AS(uint8);
	AS(uint16);
	AS(uint32);
	AS(uint64);
#undef AS

	/* For functions in C++ that take numbers. */
#define VALUE(type, name)                                                                          \
	type name(bool force = false) const override                                               \
	{                                                                                          \
		return elements().name(force);                                                     \
	}
	VALUE(double, double_value);
	VALUE(float, float_value);
	VALUE(Complex, complex_value);
	VALUE(Matrix, matrix_value);
	VALUE(FloatMatrix, float_matrix_value);
	VALUE(NDArray, array_value);
	VALUE(FloatNDArray, float_array_value);
	VALUE(ComplexMatrix, complex_matrix_value);
	VALUE(ComplexNDArray, complex_array_value);
	VALUE(bool, bool_value);
	VALUE(boolNDArray, bool_array_value);
#undef VALUE
#define VALUE(type, name)                                                                          \
	type name(bool required = false, bool force = false) const override                        \
	{                                                                                          \
		return elements().name(required, force);                                           \
	}
	VALUE(int, int_value);
	VALUE(unsigned, uint_value);
	VALUE(long, long_value);
	VALUE(int64_t, int64_value);
	VALUE(uint64_t, uint64_value);
#undef VALUE

	void print(std::ostream &os, bool as_read = false) override;
	void print_raw(std::ostream &os, bool as_read = false) const override;
	bool print_name_tag(std::ostream &os, const std::string &name) const override;
	bool print_as_scalar() const override
	{
		return elements().print_as_scalar();
	}
	void short_disp(std::ostream &os) const override
	{
		elements().short_disp(os);
	}

      private:
	octave_value truth(const char *op, int dim) const;
	octave_value as(int dtype) const;
	bool assign(const octave_value_list &idx, const octave_value &rhs);
	bool store(handle part, const octave_value &rhs);
	void own();

	handle m_array;
	dim_vector m_dims;
	/* Values whose elements lie in one buffer share this: who writes has it alone. */
	std::shared_ptr<char> m_buffer;
	bool m_nonnegative; /* known: no number in it has a sign, not even a zero */

	octave_braze(const octave_braze &whole, const handle &h, const dim_vector &dims);

	DECLARE_OV_TYPEID_FUNCTIONS_AND_DATA
};

/* ---- Values ---- */

/* v as braze's, NULL where it is none. */
const octave_braze *braze_of(const octave_value &v);
/* A value with the array, whose shape is made to be that of the dimensions. */
octave_value value_of(handle h, dim_vector dims, bool nonnegative = false);
/* An array of Octave's as braze's; an undefined handle for what braze has no type for. */
handle upload(const octave_value &v);
/* A result of Octave's as a value of braze's where braze has its type. */
octave_value put(const octave_value &v);
octave_value_list put(const octave_value_list &list);
/* Arguments with the elements of braze's values in place of them. */
octave_value plain(const octave_value &v);
octave_value_list plain(const octave_value_list &list);
/* Octave computes this, whatever it is: it is counted. */
void leave(const std::string &name);
std::map<std::string, long> &left();

/* ---- Operations ---- */

/* An operand: an array with its dimensions, or a number. */
struct operand {
	handle array;
	dim_vector dims;
	braze_scalar number;
	bool nonnegative;
	int dtype;
};
/* False: braze does not compute with such a value as Octave does. */
bool operand_of(operand &o, const octave_value &v);
handle apply(const char *name, const operand &a);
handle apply(const char *name, const operand &a, const operand &b);
handle apply(const char *name, const operand &a, const operand &b, const operand &c);
operand number_of(double v, int dtype);
operand operand_of(const handle &h, const dim_vector &dims);
operand cast(const operand &o, int dtype);
handle cast(const handle &h, int dtype);
/* The dimensions of two that broadcast; false: they do not. */
bool broadcast(dim_vector &out, const dim_vector &a, const dim_vector &b);
/* Waits for whether any element is negative, where it is not known. */
bool any_negative(const operand &o);

/* The first axis that is longer than 1, from 0, as for Octave's functions without one. */
int first_axis(const dim_vector &dims);
/* braze's number of an axis of Octave's, from 0. */
inline int axis_of(const dim_vector &dims, int axis)
{
	return dims.ndims() - 1 - axis;
}
handle reduce(const char *name, const handle &h, int axis, int dtype);

void install_operators(octave::type_info &types);

/* A function that braze computes, by name: undefined where the arguments do not fit. */
octave_value_list call_native(const std::string &name, const octave_value_list &args, int nargout);

#endif
