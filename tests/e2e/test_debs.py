# SPDX-License-Identifier: Apache-2.0
"""Debian packages of this tree, installed in a root of their own, used, and purged."""

import os
import shutil
import subprocess

import pytest
from harness import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.getuid() != 0 or not shutil.which("debootstrap"),
                       reason="a root of Debian is made by root, with debootstrap"),
]
NAMES = ("brazed", "libbraze1", "libbraze-dev", "python3-braze")
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
         "HOME": "/root", "XDG_RUNTIME_DIR": "/run/user"}


@pytest.fixture(scope="module")
def debs(tmp_path_factory):
    """lintian has looked at them, too: deploy/deb.sh."""
    out = tmp_path_factory.mktemp("debs")
    done = subprocess.run([ROOT / "deploy/deb.sh", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {path.name.split("_")[0]: path for path in out.glob("*.deb")}
    assert sorted(found) == sorted(NAMES)
    return found


class Root:
    def __init__(self, folder):
        self.folder = folder
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", folder], check=True,
                       capture_output=True)
        for name in ("resolv.conf", "apt/apt.conf.d", "ssl/certs"):
            source, target = f"/etc/{name}", folder / "etc" / name
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
            elif os.path.exists(source):
                shutil.copy(source, target)
        (folder / "run/user").mkdir(mode=0o700)

    def run(self, *command, check=True):
        """In the root, in its own tree of processes, which ends with the command."""
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc",
                               f"--root={self.folder}", *command],
                              env={**QUIET, **{k: v for k, v in os.environ.items()
                                               if "proxy" in k.lower() or k.startswith("PIP_")}},
                              capture_output=True, text=True, timeout=900)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def braze(self):
        """Files that have to do with braze, but for what apt and dpkg keep of every package."""
        return sorted(str(p.relative_to(self.folder)) for top in ("etc", "usr", "lib", "var", "run", "opt")
                      for p in (self.folder / top).rglob("*braze*")
                      if not str(p.relative_to(self.folder)).startswith(("var/cache/apt", "var/log")))


@pytest.fixture(scope="module")
def root(debs, tmp_path_factory):
    made = Root(tmp_path_factory.mktemp("bookworm"))
    made.run("apt-get", "update")
    for path in debs.values():
        shutil.copy(path, made.folder / "tmp")
    made.run("apt-get", "install", "-y", "--no-install-recommends", "gcc", "libc6-dev", "pkg-config",
             "python3-numpy", "systemd-standalone-sysusers", *(f"/tmp/{path.name}" for path in debs.values()))
    return made


def test_every_file_has_its_place(root):
    for path in ("usr/bin/brazed", "usr/bin/brazectl", "etc/braze/brazed.conf",
                 "lib/systemd/system/brazed.socket", "usr/lib/systemd/user/brazed.service",
                 "usr/lib/x86_64-linux-gnu/libbraze.so.1", "usr/include/braze.h",
                 "usr/lib/python3/dist-packages/braze/__init__.py",
                 "usr/share/bash-completion/completions/brazectl",
                 "usr/share/man/man1/brazectl.1.gz", "usr/share/man/man1/brazed.1.gz"):
        if "/man/" not in path:  # a small root leaves man pages out
            assert (root.folder / path).exists(), path
    assert "/usr/bin/brazed -f /etc/braze/brazed.conf" in (
        root.folder / "lib/systemd/system/brazed.service").read_text()
    assert root.run("getent", "passwd", "braze").stdout.startswith("braze:")


def test_a_program_in_c(root):
    shutil.copy(ROOT / "client/c/examples/pythagoras.c", root.folder / "tmp/p.c")
    done = root.run("sh", "-ec", "cc /tmp/p.c -o /tmp/p $(pkg-config --cflags --libs braze) -lm; /tmp/p;"
                    "brazectl ping; brazectl doctor")
    assert "1000000.0" in done.stdout and "brazed 0" in done.stdout


def test_an_older_numpy_is_refused_by_name(root):
    done = root.run("python3", "-c", "import braze", check=False)
    assert done.returncode == 1
    assert "ImportError: braze needs NumPy 2.0 or newer, and this Python has 1.24" in done.stderr


def test_purge_leaves_nothing(root):
    root.run("apt-get", "purge", "-y", *NAMES)
    assert [p for p in root.braze() if not p.startswith("run/user")] == []
    assert root.run("getent", "passwd", "braze", check=False).returncode
    assert root.run("getent", "group", "braze", check=False).returncode
