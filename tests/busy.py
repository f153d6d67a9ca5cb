# SPDX-License-Identifier: Apache-2.0
"""Busy loops beside what is tested: `busy.py N COMMAND...` runs it beside N of them.

They end with whoever started them, however that ends: each is killed by the kernel when
its parent dies, and when this is left in good order, by it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def _spin(parent):
    """A child's whole life."""
    # A session of its own: the scheduler may share the cores between sessions first.
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if os.getppid() != parent:  # it died before the call
        os._exit(0)
    while True:
        pass


@contextlib.contextmanager
def busy(count):
    """`count` processes that each want a core of their own, for as long as this lasts."""
    parent, spinners = os.getpid(), []
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                try:
                    _spin(parent)
                finally:
                    os._exit(1)
            spinners.append(pid)
        yield spinners
    finally:
        for pid in spinners:
            os.kill(pid, signal.SIGKILL)
        for pid in spinners:
            os.waitpid(pid, 0)


def main():
    def leave(signo, _):
        sys.exit(128 + signo)

    signal.signal(signal.SIGTERM, leave)
    with busy(int(sys.argv[1])):
        return subprocess.run(sys.argv[2:]).returncode


if __name__ == "__main__":
    sys.exit(main())
