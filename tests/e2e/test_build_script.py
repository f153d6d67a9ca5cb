# SPDX-License-Identifier: Apache-2.0
"""deploy/build.sh: what stands in front of the compilers."""

import os
import shutil
import subprocess

import pytest
from harness import ROOT

CMAKE = """#!/bin/sh
case "$*" in
*--preset*)
	echo "$@" >>calls
	mkdir -p build
	for a; do case $a in -DCMAKE_C_COMPILER_LAUNCHER=*) echo "CMAKE_C_COMPILER_LAUNCHER:STRING=${a#*=}" ;; esac; done \\
		>build/CMakeCache.txt
	: >build/build.ninja ;;
esac
"""
NOTHING = "#!/bin/sh\n"
WORKS = '#!/bin/sh\nexec "$@"\n'
FAILS = "#!/bin/sh\necho 'no folder for me' >&2\nexit 1\n"


class Tree:
    """A tree with the script, and programs that only say that they were called."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        (folder / "deploy").mkdir()
        self.bin.mkdir()
        shutil.copy(ROOT / "deploy/build.sh", folder / "deploy")
        self.program("cmake", CMAKE)
        for name in ("ninja", "gcc", "clang"):
            self.program(name, NOTHING)

    def program(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def build(self, **env):
        """What the script printed, and the launchers of all configurations up to now."""
        env = dict(os.environ, PATH=f"{self.bin}:/usr/bin:/bin", CC="gcc", **env)
        done = subprocess.run(["sh", self.folder / "deploy/build.sh", "release", "1"], env=env,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        calls = (self.folder / "calls").read_text().splitlines()
        return done.stdout, [line.rpartition("LAUNCHER=")[2] for line in calls]


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_it_stands_in_front_where_it_works(tree):
    tree.program("ccache", WORKS)
    said, launchers = tree.build()
    assert launchers == [str(tree.bin / "ccache")] and "without" not in said
    assert tree.build()[1] == launchers  # and nothing is configured again


def test_not_where_it_cannot_compile(tree):
    tree.program("ccache", FAILS)
    said, launchers = tree.build()
    assert launchers == [""] and "build: without ccache: no folder for me" in said


@pytest.mark.parametrize("later", ["fails", "is gone"])
def test_a_tree_configured_with_it_is_configured_anew(tree, later):
    tree.program("ccache", WORKS)
    tree.build()
    if later == "fails":
        tree.program("ccache", FAILS)
    else:
        (tree.bin / "ccache").rename(tree.bin / "moved")
    launchers = tree.build()[1]
    # Where it is gone, the machine's own stands in front, if there is one.
    assert len(launchers) == 2 and launchers[1] != launchers[0]


def test_not_in_front_of_one_that_is_it_already(tree):
    tree.program("ccache", WORKS)
    (tree.bin / "gcc").unlink()
    (tree.bin / "gcc").symlink_to(tree.bin / "ccache")
    assert tree.build()[1] == [""]
