# SPDX-License-Identifier: Apache-2.0
"""Compilations that are kept between test runs (tests/kept_cc.sh): the same text gets the same object,
and nothing else gets it."""

import os
import shutil
import subprocess
import time

import pytest
from harness import Daemon, forget, kept_compiler, wait_until

TEXT = "int f(int x) { return x + 1; }\n"
OPTIONS = ("-O1", "-fPIC", "-w", "-x", "c", "-c", "-", "-o")


class Kept:
    """A compiler that counts its calls, and the one that keeps what it made."""

    def __init__(self, folder):
        self.folder, self.kept, self.calls = folder, folder / "kept", folder / "calls"
        self.kept.mkdir()
        self.calls.write_text("")
        self.real = folder / "gcc"
        self.set_real("")

    def set_real(self, line):
        self.real.write_text(f"#!/bin/sh\ncase $1 in -print*) ;; *) echo >>{self.calls} ;; esac\n"
                             f"{line}\nexec {shutil.which('gcc')} \"$@\"\n")
        self.real.chmod(0o755)
        self.path = kept_compiler(str(self.real), self.kept, self.folder / "made/gcc")

    def compile(self, text=TEXT, options=OPTIONS, path=None):
        """(status, its words, the object's bytes or None); the object lies elsewhere each time."""
        source, target = self.folder / "text", self.folder / f"{time.monotonic_ns()}.o"
        source.write_text(text)
        with open(source) as f:
            done = subprocess.run([path or self.path, *options, target], stdin=f, text=True,
                                  capture_output=True)
        return done.returncode, done.stderr, target.read_bytes() if target.exists() else None

    def called(self):
        return len(self.calls.read_text())


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path)


def test_the_same_text_is_compiled_once(kept):
    first, again = kept.compile(), kept.compile()
    assert first == again and first[0] == 0 and kept.called() == 1
    assert first[2] == kept.compile(path=shutil.which("gcc"))[2]


@pytest.mark.parametrize("text, options", [
    (TEXT + "\n", OPTIONS), (TEXT.replace("1", "2"), OPTIONS), (TEXT, ("-O2", *OPTIONS[1:])),
    (TEXT, ("-g", *OPTIONS))])
def test_another_text_or_option_is_compiled(kept, text, options):
    kept.compile()
    assert kept.compile(text, options)[0] == 0 and kept.called() == 2
    assert kept.compile(text, options)[2] == kept.compile(text, options, shutil.which("gcc"))[2]


def test_another_compiler_does_not_get_it(kept):
    kept.compile()
    kept.set_real("# a new version")
    assert kept.compile()[0] == 0 and kept.called() == 2


def test_what_is_refused_is_refused_again_in_the_same_words(kept):
    first, again = kept.compile("int f( {\n"), kept.compile("int f( {\n")
    assert first == again and first[0] == 1 and "error" in first[1] and kept.called() == 2
    assert not list(kept.kept.iterdir())


def test_a_compiler_that_dies_leaves_nothing(kept):
    kept.set_real("kill -9 $$")
    assert kept.compile()[0] != 0 and not list(kept.kept.iterdir())


@pytest.mark.parametrize("options", [("-O1", "-x", "c", "-S", "-", "-o"),
                                     ("-O1", "-fPIC", "-x", "c", "-shared", "-", "-o")])
def test_any_other_call_is_the_compilers_own(kept, options):
    assert kept.compile(options=options)[0] == kept.compile(options=options)[0] == 0
    assert kept.called() == 2 and not list(kept.kept.iterdir())


def test_without_the_folder_all_is_compiled(kept):
    kept.kept.rmdir()
    assert kept.compile()[0] == kept.compile()[0] == 0 and kept.called() == 2


def test_what_is_old_or_too_much_is_forgotten(tmp_path):
    for i in range(4):
        (tmp_path / str(i)).write_bytes(bytes(10))
        os.utime(tmp_path / str(i), (0, time.time() - 86400 * (4 - i) + 3600))
    forget(tmp_path, days=3, most=100)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["1", "2", "3"]
    forget(tmp_path, days=30, most=20)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["2", "3"]


def test_a_daemon_computes_with_it(kept):
    """Twice, from nothing: the second one's kernels are those that the first one's compiler made."""
    program = ("import braze.numpy as np, numpy\na = np.arange(5.0)\nb = numpy.arange(5.0)\n"
               "print(all((numpy.asarray(a * k + 1 / (a + k)) == b * k + 1 / (b + k)).all() for k in range(1, 4)))")
    calls = []
    for _ in range(2):
        with Daemon(compiler=kept.path, tier=1) as daemon:
            assert daemon.run(program) == "True\n"
            wait_until(lambda: daemon.kernels() and all(k["state"] == "ready" for k in daemon.kernels()),
                       30, "the end of compiling")
            calls.append(kept.called())
    assert calls[0] == calls[1] == len(list(kept.kept.iterdir())) >= 1
