# SPDX-License-Identifier: Apache-2.0
"""Where NVIDIA's Python packages (NVRTC, cuBLAS) lie, for a daemon that is started from here."""

import os
import sys


def name_packages():
    folders = [f for f in sys.path if f and os.path.isdir(os.path.join(f, "nvidia"))]
    if folders:
        os.environ.setdefault("BRAZE_CUDA_PATHS", os.pathsep.join(folders))
