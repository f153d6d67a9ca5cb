# SPDX-License-Identifier: Apache-2.0
"""Kernels of text in all ways: a module that imports `way` has every test in each of them."""

import pytest

import braze

WAYS = ["interpreted", "at once", "compiled"]


@pytest.fixture(autouse=True, params=WAYS)
def way(request, monkeypatch):
    """A compiler's code comes before their first call, or, since they are short, not at all.  What
    arrays give beside them is the processor's, which runs kernels: a GPU's functions round their way."""
    kernel.way, kernel.environment = request.param, monkeypatch
    with braze.device("cpu"):
        yield request.param


def kernel(text):
    with kernel.environment.context() as now:
        if kernel.way == "interpreted":
            now.setenv("BRAZE_KERNEL_CODE", "0")
        k = braze.kernel_from_text(text)
    if kernel.way == "compiled":
        k.compile()
    assert k.compiled == (kernel.way == "compiled")
    return k
