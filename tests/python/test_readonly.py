# SPDX-License-Identifier: Apache-2.0
"""Read-only stays read-only, and flags tell what numpy.ndarray.flags tells."""

import warnings

import numpy
import pytest

import braze
import braze.numpy as np

WRITERS = {
    "element": lambda m, a: a.__setitem__((0, 0), 1),
    "row": lambda m, a: a.__setitem__(0, 1),
    "all": lambda m, a: a.__setitem__(..., 1),
    "mask": lambda m, a: a.__setitem__(a > 1, 1),
    "places": lambda m, a: a.__setitem__([0, 1], 1),
    "+=": lambda m, a: a.__iadd__(1),
    "**=": lambda m, a: a.__ipow__(2),
    "@=": lambda m, a: a.__imatmul__(a),
    "out": lambda m, a: m.add(a, 1, out=a),
    "positional out": lambda m, a: m.negative(a, a),
    "reduction out": lambda m, a: m.sum(m.ones((2, 2, 2)), axis=0, out=a),
    "fallback out": lambda m, a: m.cumsum(a, axis=0, out=a),
    "clip out": lambda m, a: m.clip(a, 0, 1, out=a),
    "copyto": lambda m, a: m.copyto(a, 1),
    "copyto where": lambda m, a: m.copyto(a, 1, where=a > 1),
    "fill": lambda m, a: a.fill(1),
    "sort": lambda m, a: a.sort(),
    "partition": lambda m, a: a.partition(1),
    "put": lambda m, a: m.put(a, [0], 1),
    "a.put": lambda m, a: a.put([0], 1),
    "putmask": lambda m, a: m.putmask(a, a > 0, 1),
    "place": lambda m, a: m.place(a, a > 0, [1]),
    "fill_diagonal": lambda m, a: m.fill_diagonal(a, 1),
    "at": lambda m, a: m.add.at(a, 0, 1),
    "shuffle": lambda m, a: m.random.shuffle(a),
    "flat": lambda m, a: setattr(a, "flat", 1),
    "flat[0]": lambda m, a: a.flat.__setitem__(0, 1),
    "real": lambda m, a: setattr(a, "real", 1),
    "byteswap": lambda m, a: a.byteswap(inplace=True),
    "nan_to_num": lambda m, a: m.nan_to_num(a, copy=False),
    "setfield": lambda m, a: a.setfield(1, "f8"),
}
FORBID = {
    "setflags": lambda m, a: a.setflags(write=False) or a,
    "writeable": lambda m, a: setattr(a.flags, "writeable", False) or a,
    "flags['W']": lambda m, a: a.flags.__setitem__("W", False) or a,
    "broadcast_to": lambda m, a: m.broadcast_to(a, a.shape),
    "view": lambda m, a: a.setflags(write=False) or a[:],
    "view of another type": lambda m, a: a.setflags(write=False) or a.view("i8").view("f8"),
    "transpose": lambda m, a: a.setflags(write=False) or a.T,
    "windows": lambda m, a: m.lib.stride_tricks.sliding_window_view(a, (1, 2))[0],
    "as_strided": lambda m, a: m.lib.stride_tricks.as_strided(a, writeable=False),
    "linalg.diagonal": lambda m, a: m.linalg.diagonal(m.ones((2, 2, 2))),
    "diagonal": lambda m, a: a.reshape(1, 1, 2, 2).diagonal(),
    "imag": lambda m, a: a.imag,
    "frombuffer": lambda m, a: m.frombuffer(bytes(32)).reshape(2, 2),
}


@pytest.mark.parametrize("forbid", FORBID)
def test_no_writer_writes_what_is_read_only(forbid):
    def same(m):
        return FORBID[forbid](m, m.arange(1.0, 5.0).reshape(2, 2))

    for name, write in WRITERS.items():
        for m in (numpy, np):
            a = same(m)
            if name in ("+=", "@=", "out", "reduction out", "fallback out", "row") and a.ndim != 2:
                continue
            before = a.tolist()
            assert not a.flags.writeable
            try:
                write(m, a)
            except (ValueError, RuntimeError, TypeError, IndexError):
                pass
            else:
                pytest.fail(f"{name} writes it")
            assert a.tolist() == before, name


@pytest.mark.parametrize("name", WRITERS)
def test_writers_say_that_it_is_read_only(name):
    a = np.arange(1.0, 5.0).reshape(2, 2)
    a.setflags(write=False)
    with pytest.raises(ValueError, match=r"read-only|not writeable|WRITEABLE|writable"):
        WRITERS[name](np, a)
    with pytest.raises(ValueError, match="read-only"), braze.host(a):
        pass
    a.setflags(write=True)
    WRITERS[name](np, a)


@pytest.mark.parametrize("code", [
    "b = a; b.setflags(write=True)",
    "a.setflags(write=False); b = a[:]; b.setflags(write=True)",
    "b = a[:]; b.setflags(write=False); b.setflags(write=True)",
    "b = np.broadcast_to(a, (2, 3)); b.setflags(write=True)",
    "a.setflags(write=False); b = np.broadcast_to(a, (2, 3)); b.flags.writeable = True",
    "b = a[:]; a.setflags(write=False)",
    "b = a.reshape(1, 3)[0][1:]; a.setflags(write=False); b.setflags(write=True)",
    "b = np.arange(4.).reshape(2, 2).diagonal(); b.setflags(write=True)",
    "b = a.imag; b.setflags(write=True)",
    "b = a; b.setflags(align=True)",
    "b = a; b.setflags(uic=True)",
    "b = a; b.flags['X'] = True",
    "b = a; b.flags['C'] = True",
    "b = a; b.flags['nothing'] = True",
    "b = a; b.flags.c_contiguous = True",
])
def test_who_may_allow_writing_again(code):
    results = []
    for m in (numpy, np):
        space = {"np": m, "a": m.arange(3.0)}
        try:
            exec(code, space)
        except (ValueError, KeyError, AttributeError) as error:
            results.append(type(error))
        else:
            results.append((space["b"].flags.writeable, space["a"].flags.writeable))
    assert results[0] == results[1]


@pytest.mark.parametrize("make", [
    "np.arange(3)", "np.zeros((2, 3))", "np.zeros((2, 3), order='F')", "np.zeros((2, 3)).T",
    "np.zeros((2, 4))[:, ::2]", "np.zeros((0, 3))", "np.array(5.0)", "np.zeros((1, 3)).T",
    "np.broadcast_to(np.arange(3), (2, 3))", "np.broadcast_arrays(np.arange(3), np.ones((2, 1)))[0]",
])
def test_flags_tell_what_numpys_tell(make):
    want, got = (eval(make, {"np": m}).flags for m in (numpy, np))
    names = [n for n in dir(numpy.arange(3).flags) if not n.startswith("__")]
    names.remove("_warn_on_write")  # can be set only
    assert {n: getattr(got, n) for n in names} == {n: getattr(want, n) for n in names}
    for key in ("C", "F", "W", "O", "A", "X", "B", "CA", "FA", "FNC", "FORC", "CONTIGUOUS",
                "C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "BEHAVED",
                "CARRAY", "FARRAY", "FORTRAN", "WRITEBACKIFCOPY"):
        assert got[key] == want[key], key
    for key in ("U", "c", "nothing", 0):
        with pytest.raises(KeyError):
            got[key]
    assert repr(got) == repr(want) and got == eval(make, {"np": np}).flags and got == want
    assert got != 5


def test_a_stretched_array_warns_once_when_written():
    results = []
    for m in (numpy, np):
        a, b = m.broadcast_arrays(m.zeros(3), m.zeros((2, 1)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            a[0] = 1
            a[1] = 2
        results.append(([w.category for w in told], a.tolist(), a.flags.writeable))
    assert results[0] == results[1]


@pytest.mark.parametrize("code", [
    "a[...] = np.arange(6.).reshape(2, 3)", "a += 1", "a[:, 1] = [5, 6]", "a[0] = 4",
    "np.add(a, 2, out=a)", "a[1, 2] = 3", "a *= np.arange(3.)",
])
def test_writes_into_elements_that_share_memory_are_numpys(code):
    for layout in ("(2, 3), (8, 8)", "(2, 3), (0, 8)"):
        results = []
        for m in (numpy, np):
            x = m.arange(6.0)
            space = {"np": m, "a": eval(f"np.lib.stride_tricks.as_strided(x, {layout})",
                                        {"np": m, "x": x})}
            exec(code, space)
            results.append(x.tolist())
        assert results[0] == results[1]
