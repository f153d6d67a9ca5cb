# SPDX-License-Identifier: Apache-2.0
"""Every function of the standard takes what the standard lets a caller give.

Where NumPy itself does not (sort has no descending=), nothing is asked of braze.
"""

import inspect
import pathlib

import braze.numpy as np
import numpy
import pytest


def standard():
    """(section, name, its signature) of each line of standard.txt."""
    section = ""
    for line in (pathlib.Path(__file__).parent / "standard.txt").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, rest = line.partition("(")
            space = {}
            exec(f"def f({rest}: pass", space)  # noqa: S102 our own table
            yield section, name, inspect.signature(space["f"])


def found(namespace, array, section, name):
    if section == "array":
        return getattr(array, name)
    return getattr(getattr(namespace, section) if section != "main" else namespace, name)


def refusals(function, wanted, positional):
    """What of the wanted parameters the function's own signature does not take."""
    own = inspect.signature(function)
    kinds = inspect.Parameter
    given = [p for p in own.parameters.values()
             if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    anything = any(p.kind is kinds.VAR_POSITIONAL for p in own.parameters.values())
    if len(given) < positional and not anything:
        yield f"{positional} positional arguments"
    for p in wanted.parameters.values():
        mine = own.parameters.get(p.name)
        if p.kind is kinds.KEYWORD_ONLY and (
                mine is None or mine.kind not in (p.kind, kinds.POSITIONAL_OR_KEYWORD)):
            yield f"{p.name}="


@pytest.mark.parametrize(("section", "name", "wanted"),
                         [pytest.param(*row, id=f"{row[0]}.{row[1]}") for row in standard()])
def test_the_signature_is_the_standards(section, name, wanted):
    theirs = found(numpy, numpy.ndarray, section, name)
    mine = found(np, np.ndarray, section, name)
    positional = sum(p.kind is inspect.Parameter.POSITIONAL_ONLY
                     for p in wanted.parameters.values())
    if isinstance(mine, np.ufunc):
        assert mine.nin == positional
        return
    try:
        lacking = set(refusals(theirs, wanted, positional))
    except (TypeError, ValueError):
        lacking = set()  # written in C, without a signature: ours has to be right
        if isinstance(theirs, type) or section == "array":
            lacking = None
    try:
        refused = set(refusals(mine, wanted, positional))
    except (TypeError, ValueError):
        assert lacking is None or callable(mine)  # a slot of the type has none either
        return
    assert refused - (lacking or set()) == set()


def test_the_namespace_says_what_it_is():
    assert np.__array_api_version__ == "2023.12"
    assert np.zeros(1).__array_namespace__() is np
    assert np.zeros(1).__array_namespace__(api_version="2023.12") is np
    info = np.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert set(info.capabilities()) >= {"boolean indexing", "data-dependent shapes"}
    for kind, dtype in info.default_dtypes().items():
        made = {"real floating": np.zeros(1), "complex floating": np.asarray([1j]),
                "integral": np.arange(1), "indexing": np.argmax(np.zeros(2))}[kind]
        assert made.dtype == dtype
    assert np.zeros(1, dtype=info.dtypes()["float32"]).dtype == np.float32


def test_arrays_have_the_standards_attributes():
    a = np.zeros((2, 3, 4))
    assert (a.dtype, a.ndim, a.shape, a.size, a.device) == (np.float64, 3, (2, 3, 4), 24, "cpu")
    assert a.mT.shape == (2, 4, 3)
    assert a[0].T.shape == (4, 3)
    assert a.to_device("cpu") is a
    assert a.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match="device"):
        a.to_device("abacus")


@pytest.mark.parametrize(("kind", "x"), [(bool, True), (int, 3), (float, 2.5), (complex, 1 + 2j)])
def test_arrays_without_axes_are_python_numbers(kind, x):
    assert kind(np.asarray(x)) == x
    assert type(kind(np.asarray(x))) is kind


def test_constants():
    assert np.newaxis is None
    assert np.isnan(np.nan)
    assert (np.e, np.pi, np.inf) == (numpy.e, numpy.pi, float("inf"))
