/* SPDX-License-Identifier: Apache-2.0 */
/* braze.cc - the functions that Octave's programs call. */
#include <octave/interpreter.h>
#include <octave/ov-struct.h>

#include <map>

#include "value.hh"

/* Types and operators live as long as Octave: the library is never unloaded. */
static void prepare(octave::interpreter &interp)
{
	static bool ready;

	if (ready)
		return;
	interp.mlock();
	octave_braze::register_type(interp.get_type_info());
	install_operators(interp.get_type_info());
	ready = true;
}

// PKG_ADD: autoload ("gather", "braze.oct");
// PKG_ADD: autoload ("braze_left", "braze.oct");
// PKG_ADD: autoload ("__braze_call__", "braze.oct");
// PKG_DEL: autoload ("gather", "braze.oct", "remove");
// PKG_DEL: autoload ("braze_left", "braze.oct", "remove");
// PKG_DEL: autoload ("__braze_call__", "braze.oct", "remove");

DEFMETHOD_DLD(braze, interp, args, nargout, "-*- texinfo -*-\n\
@deftypefn {} {@var{y} =} braze (@var{x})\n\
An array with the elements of @var{x} whose operations the daemon brazed computes.\n\n\
@var{x} is a full numeric or logical array.  Operators, indexing and functions of @var{y} give\n\
what those of @var{x} give, as arrays of the same kind; they are recorded, and computed when an\n\
element is asked for.  What braze does not compute, Octave does: see @code{braze_left}.\n\
@seealso{gather, braze_left}\n\
@end deftypefn")
{
	prepare(interp);
	if (args.length() != 1)
		print_usage();
	if (braze_of(args(0)))
		return ovl(args(0));
	octave_value made = put(args(0).is_range() ? octave_value(args(0).array_value()) : args(0));
	if (!braze_of(made))
		error("braze: an array of numbers or truth values is wanted, not one of class %s",
		      args(0).class_name().c_str());
	return ovl(made);
}

DEFMETHOD_DLD(gather, interp, args, nargout, "-*- texinfo -*-\n\
@deftypefn {} {@var{x} =} gather (@var{y})\n\
The elements of an array of braze's as an array of Octave's: waits for them.\n\
Any other value is given back as it is.\n\
@seealso{braze}\n\
@end deftypefn")
{
	prepare(interp);
	if (args.length() != 1)
		print_usage();
	return ovl(plain(args(0)));
}

DEFMETHOD_DLD(braze_left, interp, args, nargout, "-*- texinfo -*-\n\
@deftypefn {} {@var{s} =} braze_left ()\n\
How often each operation was left to Octave, which computed it on the elements: a structure with\n\
a row for each, the fields @code{name} and @code{count}.\n\
@seealso{braze}\n\
@end deftypefn")
{
	prepare(interp);
	if (args.length() != 0)
		print_usage();
	octave_map rows(dim_vector((octave_idx_type)left().size(), 1));
	Cell names(rows.dims()), counts(rows.dims());
	octave_idx_type i = 0;
	for (const auto &row : left()) {
		names(i) = row.first;
		counts(i++) = (double)row.second;
	}
	rows.setfield("name", names);
	rows.setfield("count", counts);
	return ovl(rows);
}

DEFMETHOD_DLD(__braze_call__, interp, args, nargout, "-*- texinfo -*-\n\
@deftypefn {} {@var{results} =} __braze_call__ (@var{name}, @var{nargout}, @dots{})\n\
Undocumented internal function.\n\
@end deftypefn")
{
	prepare(interp);
	if (args.length() < 2 || !args(0).is_string())
		print_usage();
	std::string name = args(0).string_value();
	int wanted = args(1).int_value();
	octave_value_list given = args.slice(2, args.length() - 2),
			  made = call_native(name, given, wanted);
	if (!made.length() || !made(0).is_defined()) {
		leave(name);
		made = put(octave::feval(name, plain(given), wanted));
	}
	return ovl(made.cell_value());
}
