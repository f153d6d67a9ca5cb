# SPDX-License-Identifier: Apache-2.0
"""`braze.vectorize`: a function of numbers over the elements of arrays.

In:  a function, arrays and numbers.  Out: an array of the broadcast shape, by a kernel with one loop.
"""

import functools

import numpy as np

from braze._jit.kinds import Array, Kind, Refusal, of_value
from braze._jit.translate import array_kind, elementwise


class Elements:
    """What `braze.vectorize` makes of a function."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self._made = {}  # the arguments' types -> (kernel, type of the result), or why there is none

    def __repr__(self):
        return f"<braze.vectorize of {self.__name__}>"

    def __call__(self, *args):
        args = [np.asarray(a) if isinstance(a, (list, tuple)) else a for a in args]
        kinds = tuple(of_value(a) or array_kind(a) for a in args)
        made = self._made.get(kinds)
        if made is None:
            made = self._made[kinds] = self._make(kinds)
        if isinstance(made, Refusal):
            return self._plainly(args)
        return self._run(made, args, kinds)

    def _make(self, kinds):
        from braze._kernel import kernel_from_text

        if None in kinds:
            return Refusal("an argument that is neither a number nor an array of them")
        try:
            text, kind, free = elementwise(
                self.function, [Kind(k.dtype, False) if isinstance(k, Array) else k for k in kinds],
                [isinstance(k, Array) for k in kinds])
            return kernel_from_text(text), kind, free
        except Refusal as refusal:
            return refusal
        except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
            return Refusal(str(error))

    def _plainly(self, args):
        return np.vectorize(self.function)(*(np.asarray(a) for a in args))

    def _run(self, made, args, kinds):
        import braze.numpy

        kernel, kind, free = made
        arrays = [braze.numpy.asarray(a) for a in args]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        out = braze.numpy.empty(shape, kind.dtype)
        flat = [braze.numpy.broadcast_to(a, shape).reshape(-1) if isinstance(k, Array) else v
                for a, v, k in zip(arrays, args, kinds)]
        kernel(out.reshape(-1), *flat, *(read() for read in free))
        return out if shape or any(isinstance(k, Array) for k in kinds) else out[()]

    @property
    def __braze_jit__(self):
        return self

    def explain(self):
        lines = [f"{self!r}"]
        for kinds, made in self._made.items():
            lines.append("  " + ", ".join(map(str, kinds)) + ": "
                         + (f"numpy.vectorize: {made.reason}" if isinstance(made, Refusal)
                            else f"a kernel, gives {made[1].dtype}"))
        return "\n".join(lines) + "\n"
