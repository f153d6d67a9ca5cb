# SPDX-License-Identifier: Apache-2.0
"""Prints the folder below a prefix where this Python looks for packages, or nothing.

Debian's python3 in /usr looks into /usr/local, too, and reports it first."""

import site
import sys

prefix = sys.argv[1].rstrip("/")
others = ["/usr/local"] if prefix == "/usr" else []
for folder in site.getsitepackages():
    if folder.startswith(prefix + "/") and not folder.startswith(tuple(o + "/" for o in others)):
        print(folder[len(prefix) + 1:])
        break
