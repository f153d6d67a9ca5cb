# SPDX-License-Identifier: Apache-2.0
"""Arrays that are published here and opened in other processes.

Of each: value, type, shape, order of axes; that nobody can write it; what was copied.
"""

import subprocess
import sys

import numpy
import pytest
from harness import clean_environment

import braze
import braze.numpy as np

HEAD = "import braze, numpy, os\nimport braze.numpy as np\n"


def elsewhere(program, **env):
    """What another process of this user prints."""
    import os

    done = subprocess.run([sys.executable, "-c", HEAD + program], capture_output=True, text=True, timeout=120,
                          env=clean_environment(BRAZE_SOCKET=os.environ["BRAZE_SOCKET"], **env))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def names():
    """What a test publishes is gone after it."""
    made = []

    def publish(array, name, **to):
        made.append(name)
        return braze.publish(array, name, **to)

    yield publish
    for name in dict.fromkeys(made):
        try:
            braze.unpublish(name)
        except LookupError:
            pass


ARRAYS = {
    "line": lambda m: m.arange(1000.0) * 2,
    "table": lambda m: m.arange(12).reshape(3, 4) + 1,
    "fortran": lambda m: (m.arange(12.0).reshape(3, 4) + 1).T,
    "three axes": lambda m: (m.arange(24.0).reshape(2, 3, 4) * 2).transpose(1, 2, 0),
    "every second": lambda m: m.arange(20.0)[::2],
    "backwards": lambda m: m.arange(20)[::-1],
    "stretched": lambda m: m.broadcast_to(m.arange(3.0), (4, 3)),
    "middle": lambda m: m.arange(20.0)[5:10],
    "point": lambda m: m.arange(5.0).sum(),
    "none": lambda m: m.arange(0.0),
    "no rows": lambda m: m.ones((0, 3)),
    "one of several": lambda m: m.ones((1, 5, 1)) * 3,
    "bools": lambda m: m.arange(9) > 4,
    "bytes": lambda m: m.arange(9).astype("u1"),
    "complex": lambda m: m.arange(5.0) * (1 + 2j),
    "half": lambda m: m.arange(5).astype("f2"),
}


@pytest.mark.parametrize("shared", [False, True], ids=["copied", "shared"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_what_is_opened_is_what_was_published(names, kind, shared):
    want = ARRAYS[kind](numpy)
    if shared:
        with braze.shared():
            array = ARRAYS[kind](np)
            p = names(array, "of.test")
    else:
        array = ARRAYS[kind](np)
        braze.wait(array)  # it has its place before anybody knows that it is published
        p = names(array, "of.test")
    whole = kind in ("line", "table", "fortran", "three axes", "point", "one of several", "bools", "bytes",
                     "complex", "half")
    if shared or kind != "point":  # of a scalar a new array is made
        assert p.copied == (0 if shared and whole else want.nbytes)
    got = braze.open("of.test")
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    numpy.testing.assert_array_equal(numpy.asarray(got), want)
    numpy.testing.assert_array_equal(numpy.asarray(got + got), want + want)
    if shared and whole and want.ndim:
        assert got.strides == array.strides
    # Nothing of the array beside what is published.
    assert not got.size or memory_of(got) == want.nbytes


def memory_of(array):
    """Bytes of the memory that an array shows."""
    low, high = numpy.lib.array_utils.byte_bounds(numpy.asarray(array))
    return high - low


def test_another_process_reads_it_where_it_lies(names):
    with braze.shared():
        a = np.arange(1_000_000.0) + 1
    names(a, "far")
    said = elsewhere("a = braze.open('far')\n"
                     "print(a.sum(), a[:2], a.flags.writeable, (a * 2)[-1])\n"
                     "c = braze.counters(); print(c['opened'], c['copied'], np.asarray(a) is not None)\n"
                     "print(any('braze-array' in line and ' r--s ' in line for line in open('/proc/self/maps')))\n")
    assert said.split("\n")[:3] == ["500000500000.0 [1. 2.] False 2000000.0", "1 0 True", "True"]


def test_near_operations_read_it_where_it_lies(names):
    names(np.arange(100.0), "near")
    said = elsewhere("a = braze.open('near'); before = braze.counters()\n"
                     "print(float((a * 2).sum()), braze.counters()['demands'] == before['demands'])\n", BRAZE_NEAR="1")
    assert said == "9900.0 True\n"


WRITES = ["a[0] = 1", "a[:] = 1", "a += 1", "np.add(a, 1, out=a)", "a.fill(3)", "a.sort()", "a[::2][0] = 5",
          "a.T[0] = 5", "a[a > 1] = 0", "np.put(a, [0], [5])", "a.itemset if 0 else a.put([0], [1])",
          "with braze.host(a) as n: n[0] = 1", "a.flags.writeable = True",
          "memoryview(a)[0] = 1", "numpy.asarray(a)[0] = 1", "numpy.copyto(a, 1)",
          "numpy.asarray(a).setflags(write=True)"]


@pytest.mark.parametrize("write", WRITES)
def test_no_write_is_done(names, write):
    names(np.arange(100.0), "closed")
    a = braze.open("closed")
    with pytest.raises((ValueError, TypeError, BufferError, braze.BrazeError)) as e:
        exec(write, {"a": a, "np": np, "numpy": numpy, "braze": braze})
    assert "read-only" in str(e.value) or "write" in str(e.value).lower(), e.value
    assert (numpy.asarray(a) == numpy.arange(100.0)).all()
    assert (numpy.asarray(braze.open("closed")) == numpy.arange(100.0)).all()


def test_writing_goes_on_with_a_copy(names):
    """Whatever the publisher does with its array: in place, element by element, by NumPy."""
    with braze.shared():
        a = np.arange(100.0) + 0
    assert names(a, "kept").copied == 0
    kept = braze.open("kept")
    want = numpy.arange(100.0)
    a += 1
    assert a[0] == 1 and kept[0] == 0
    names(a, "kept")
    a[0] = 50
    a[1:3] = 7
    with braze.host(a) as n:
        n[5] = 70
    assert list(a[:6].tolist()) == [50, 7, 7, 4, 5, 70]
    assert (numpy.asarray(kept) == want).all()
    assert (numpy.asarray(braze.open("kept")) == want + 1).all()


def test_the_newest_version_is_opened(names):
    a = np.arange(10.0)
    assert names(a, "steps").version == 1
    first = braze.open("steps")
    a = a * 2
    assert names(a, "steps").version == 2
    assert names(a + 1, "steps").version == 3
    assert braze.open("steps")[1] == 3 and first[1] == 1
    assert elsewhere("print(braze.open('steps')[1])") == "3.0\n"


def test_large_results_have_memory_of_their_own(names):
    n = (64 << 20) // 8
    a = np.arange(n) * 2.0
    assert float(a[5]) == 10
    assert names(a, "large").copied == 0
    b = np.arange(n - 1) * 2.0
    braze.wait(b)
    assert names(b, "smaller").copied == (n - 1) * 8
    assert elsewhere("a = braze.open('large'); print(a[-1] == 2 * (a.size - 1))") == "True\n"
    a[3] = 1.5
    a[4] = 2.5
    assert a[:5].tolist() == [0, 2, 4, 1.5, 2.5] and braze.open("large")[3] == 6


def mapped():
    with open("/proc/self/maps") as f:
        return sum("braze-array" in line for line in f)


def test_a_loop_over_large_arrays_takes_back_what_it_freed():
    """Values in memory of their own are written in place and their memory is used again."""
    n, before = (64 << 20) // 8, mapped()
    x = np.zeros(n)
    for turn in range(1, 6):
        x = x + 1
        x[0] = 5.0
        assert float(x[1]) == turn and float(x[0]) == 5
        x[0] = turn
        x += 0
    kept = x[:3]
    y = numpy.asarray(x)
    x += 1
    assert y[1] == 5 and x[1] == 6 and kept.tolist() == [6, 6, 6]
    del x, y, kept
    braze.flush()
    assert mapped() <= before + 4  # what is kept for results to come


def test_names_that_are_none():
    a = np.arange(3)
    for name in ("", "a b", "a/b", "x" * 64, "\x1b[2J", "é", "a\nb"):
        with pytest.raises((ValueError, LookupError)):
            braze.publish(a, name)
        with pytest.raises((ValueError, LookupError)):
            braze.open(name)
    for name in ("nothing", "root/nothing", "0/nothing", "key:" + "0" * 32):
        with pytest.raises(LookupError):
            braze.open(name)
    for name in ("no such user at all/x", "key:123"):
        with pytest.raises(ValueError):
            braze.open(name)
    with pytest.raises(LookupError):
        braze.unpublish("nothing")
    with pytest.raises(TypeError, match=r"publish\(array, name\): a name is a str, not ndarray"):
        braze.publish("named", a)
    for to in ("everybody", "user:no such user", "group:no such group", ""):
        with pytest.raises(ValueError):
            braze.publish(a, "named", to=to)
    with pytest.raises(LookupError):
        braze.open("named")


def test_a_key_opens(names):
    p = names(np.arange(4.0), "secret", to="key")
    assert p.name == f"key:{p.key}" and len(p.key) == 32
    assert braze.open(p.name).tolist() == [0, 1, 2, 3]
    assert elsewhere(f"print(braze.open({p.name!r})[3])") == "3.0\n"
    wrong = p.name[:-1] + ("0" if p.name[-1] != "0" else "1")
    with pytest.raises(LookupError):
        braze.open(wrong)
    assert names(np.arange(4.0) + 1, "secret").key == p.key
    assert braze.open(p.name)[0] == 1
    names(np.arange(4.0), "secret", to="nobody")
    with pytest.raises(LookupError):
        braze.open(p.name)


def test_what_failed_is_not_published():
    a = np.take(np.arange(3.0), np.asarray([5]) + 0)
    with pytest.raises(IndexError):
        braze.publish(a, "failed")
    with pytest.raises(LookupError):
        braze.open("failed")


def test_an_opened_array_is_published_again_without_a_copy(names):
    names(np.arange(10.0), "one")
    a = braze.open("one")
    assert names(a, "two").copied == 0
    braze.unpublish("one")
    del a
    assert braze.open("two")[9] == 9


def test_it_outlives_the_connection(names):
    """Values that were opened are in memory of this process: they stay, whatever ends."""
    with braze.shared():
        a = np.arange(100_000.0) + 1
    names(a, "lasting")
    b = braze.open("lasting")
    braze.wait(a)
    view = numpy.asarray(b)
    braze.close()
    assert view[5] == 6 and b[7] == 8 and float(b.sum()) == 5000050000.0
    assert a[3] == 4
    with pytest.raises(LookupError):
        braze.open("lasting")


def test_counters_tell_what_was_copied(names):
    before = braze.counters()
    a = np.arange(100.0)
    braze.wait(a)
    names(a, "counted")
    braze.open("counted")
    after = braze.counters()
    assert [after[k] - before[k] for k in ("published", "opened", "copied")] == [1, 1, 800]
