# SPDX-License-Identifier: Apache-2.0
"""python -m braze: where everything is that this Python uses, and whether it is well.

With arguments it is brazectl: python -m braze status."""

import os
import pathlib
import subprocess
import sys

import numpy

import braze
from braze import _core, _programs


def _facts():
    """(name, text) of what `import braze` brings along; nothing is started for it."""
    package = pathlib.Path(braze.__file__).parent
    yield "braze", f"{braze.__version__} in {package}"
    yield "python", f"{sys.version.split()[0]} ({sys.executable}), NumPy {numpy.__version__}"
    for name in ("brazed", "brazectl"):
        try:
            found = _programs.path(name)
            yield name, str(found) if os.access(found, os.X_OK) else f"{found} is not there"
        except (OSError, braze.BrazeError) as e:
            yield name, f"not found: {e}"
    yield "loops", _core.loops_path() or ("no libbraze-near-*.so beside the package: small "
                                          "operations go to the daemon, too")
    yield "cuda", os.environ.get("BRAZE_CUDA_PATHS") or ("no nvidia packages in this Python; "
                                                         "the machine's are looked for")
    for name in sorted(n for n in os.environ if n.startswith("BRAZE_") and n != "BRAZE_CUDA_PATHS"):
        yield "$" + name, os.environ[name]


def main():
    if sys.argv[1:]:
        _programs.brazectl()
    for name, text in _facts():
        print(f"{name:<9} {text}")
    print(flush=True)
    try:
        braze.devices()  # starts the user's daemon where none runs
    except braze.BrazeError as e:
        print(f"FAIL  no daemon: {e}")
        return 1
    return subprocess.run([_programs.path("brazectl"), "doctor"]).returncode


if __name__ == "__main__":
    sys.exit(main())
