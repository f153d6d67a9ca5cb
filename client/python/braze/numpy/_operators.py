# SPDX-License-Identifier: Apache-2.0
"""Python's operators, by the symbols under which the extension leaves them to NumPy.

An operator is not the function of its operation: numpy.matrix multiplies otherwise,
powers have short cuts, and what cannot be compared is unequal.
"""

import operator

import numpy

from braze import _core

ndarray = _core.ndarray

_ARITHMETIC = (
    "+ add add, - subtract sub, * multiply mul, / divide truediv, // floor_divide floordiv, "
    "% remainder mod, ** power pow, << left_shift lshift, >> right_shift rshift, "
    "& bitwise_and and_, | bitwise_or or_, ^ bitwise_xor xor, @ matmul matmul"
)
_COMPARISONS = (
    "< less lt gt, <= less_equal le ge, == equal eq eq, != not_equal ne ne, "
    "> greater gt lt, >= greater_equal ge le"
)

# symbol: (name under which the call is counted, function)
BINARY = {"divmod": ("divmod", divmod)}
IN_PLACE = {}
# "r" and the symbol, of an object that outranks the array before it: (symbol, its method)
REFLECTED = {"rdivmod": ("divmod", "__rdivmod__")}
# "?" and the symbol, of an operation in place whose types are to be looked at: its name
TYPES = {}

for _entry in _ARITHMETIC.split(", "):
    _symbol, _name, _short = _entry.split()
    BINARY[_symbol] = _name, getattr(operator, _short)
    IN_PLACE[_symbol + "="] = _name, getattr(operator, "i" + _short.rstrip("_"))
    TYPES["?" + _symbol] = _name
    REFLECTED["r" + _symbol] = _symbol, f"__r{_short.rstrip('_')}__"
for _entry in _COMPARISONS.split(", "):
    _symbol, _name, _short, _mirrored = _entry.split()
    BINARY[_symbol] = _name, getattr(operator, _short)
    REFLECTED["r" + _symbol] = _symbol, f"__{_mirrored}__"


def ask(method, array, other):
    """The answer of an object that outranks an array of ours, or NotImplemented where it
    knows no such array."""
    asked = getattr(type(other), method, None)
    if asked is None or array._is_scalar:
        return NotImplemented
    try:
        return asked(other, array)
    except Exception:  # NumPy's array decides, and its error is the one that is raised
        return NotImplemented


def check_types(function, *args):
    """NumPy's error of operands and an output of wrong types, which comes before that of
    wrong shapes."""
    kinds = (int, float, complex)
    types = (type(x) if type(x) in kinds else numpy.asarray(x).dtype if isinstance(
        x, (bool, list, tuple)) else x.dtype for x in args)
    function.resolve_dtypes(tuple(types))


_ZEROS = bytes(16)  # an element of any type


def _stand_in(x):
    """What has an array's type and shape, and hardly any memory."""
    if type(x) is not ndarray:
        return x
    if x._is_scalar:
        return x.dtype.type()
    return numpy.ndarray(x.shape, x.dtype, _ZEROS, 0, (0,) * x.ndim)


def refuse(function, *args):
    """NumPy's error of operands that braze refuses, whose values play no part in it."""
    if function is not None:
        function(*map(_stand_in, args))


def tell(name, *args):
    """The error of an operation: of "$" and its name, or in place, of "?" and the symbol."""
    if name in TYPES:
        check_types(getattr(numpy, TYPES[name]), *args, args[0])
    else:
        refuse(getattr(numpy, name[1:], None), *args)
