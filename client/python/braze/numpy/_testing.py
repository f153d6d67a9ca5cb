# SPDX-License-Identifier: Apache-2.0
"""numpy.testing: assertions that compare see NumPy's arrays in place of braze's.

The others (assert_raises, assert_warns, ...) call what they are given, so their arguments
stay as they are.
"""

import functools

import numpy

from braze.numpy import _fallback

_COMPARE = (
    "assert_ assert_equal print_assert_equal assert_almost_equal assert_approx_equal "
    "assert_array_equal assert_array_less assert_array_almost_equal assert_array_compare "
    "assert_array_almost_equal_nulp assert_array_max_ulp assert_allclose build_err_msg"
).split()


def _comparing(inner):
    @functools.wraps(inner)
    def compare(*args, **kwargs):
        __tracebackhide__ = True
        return _fallback.from_numpy(
            inner(*_fallback.to_numpy(args), **_fallback.to_numpy(kwargs))
        )

    compare.__module__ = "braze.numpy.testing"
    return compare


OWN = {
    f"testing.{name}": _comparing(getattr(numpy.testing, name))
    for name in _COMPARE
    if hasattr(numpy.testing, name)
}
