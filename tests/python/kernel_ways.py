# SPDX-License-Identifier: Apache-2.0
"""Kernels of text in both ways: a module that imports `way` has every test twice."""

import pytest

import braze


@pytest.fixture(autouse=True, params=["interpreted", "compiled"])
def way(request):
    """Its kernels' code comes before their first call, or, since they are short, not at all."""
    kernel.compiled = request.param == "compiled"
    yield request.param


def kernel(text):
    k = braze.kernel_from_text(text)
    if kernel.compiled:
        k.compile()
    assert k.compiled == kernel.compiled
    return k
