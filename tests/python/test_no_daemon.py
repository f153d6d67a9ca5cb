# SPDX-License-Identifier: Apache-2.0
"""What must work where no daemon can be reached: importing, types, errors."""

import os
import subprocess
import sys
import textwrap

import numpy

import braze
import braze.numpy as np


def run_without_daemon(code):
    env = dict(os.environ, BRAZE_SOCKET="/nonexistent/brazed.sock")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_starts_nothing():
    code = """
        import braze.numpy as np
        from braze import _core
        print(_core.connected(), np.pi, np.float64(2) * 3, np.sqrt(2.0) > 1.4)
    """
    assert run_without_daemon(code).split() == ["False", str(numpy.pi), "6.0", "True"]


def test_first_use_says_what_is_wrong():
    code = """
        import braze, braze.numpy as np
        try:
            np.zeros(3)
        except braze.DaemonGone as error:
            print("gone" if str(error) else "silent")
        try:
            np.zeros(3)
        except braze.DaemonGone:
            print("again")
    """
    assert run_without_daemon(code).split() == ["gone", "again"]


def test_every_public_name_of_numpy_exists():
    missing = [
        name for name in dir(numpy) if not name.startswith("_") and not hasattr(np, name)
    ]
    assert missing == []
    assert np.float64 is numpy.float64 and np.newaxis is None and np.inf == numpy.inf
    assert np.ndarray is not numpy.ndarray


def test_unknown_names_are_errors():
    try:
        np.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError("no error")


def test_error_classes():
    assert issubclass(braze.AxisError, numpy.exceptions.AxisError)
    assert issubclass(braze.AxisError, (ValueError, IndexError))
    assert issubclass(braze.UFuncTypeError, TypeError)
    assert str(braze.UFuncTypeError("no")) == "no"
    assert issubclass(braze.DaemonGone, braze.BrazeError)


def test_pure_functions():
    assert np.result_type("int8", "float32") == numpy.float32
    assert np.can_cast("int8", "int16") and not np.can_cast("int16", "int8")
    assert np.broadcast_shapes((3, 1), (4,)) == (3, 4)
    assert np.finfo(np.float32).bits == 32
    assert np.s_[1:2] == slice(1, 2)


def test_ufunc_attributes():
    assert np.add.nin == 2 and np.add.nout == 1 and np.add.identity == 0
    assert repr(np.add) == "<ufunc 'add'>" and np.add.__name__ == "add"
    import pickle

    assert pickle.loads(pickle.dumps(np.add)) is np.add
