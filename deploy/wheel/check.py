# SPDX-License-Identifier: Apache-2.0
"""deploy/wheel/check.py WHEEL - is the wheel what its name says?

Out: its size and what is inside, in a line; a line for each mistake, and exit 1. Looks
at the files themselves: every library that an ELF file needs is in the wheel or glibc's,
no symbol is newer than the tag's glibc, libraries are looked for in the wheel only, and
programs are executable."""

import io
import re
import sys
import zipfile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

GLIBC = re.compile(r"(ld-linux-x86-64|libc|libm|libmvec|libdl|libpthread|librt|libresolv)\.so\.\d+")
TAG = re.compile(r"-cp311-abi3-manylinux_2_(\d+)_x86_64\.whl$")
WANTED = ("braze/bin/brazed", "braze/bin/brazectl", "braze/_core.abi3.so", "braze/__main__.py",
          *(f"braze/libbraze-near-{level}.so" for level in ("v2", "v3", "v4")))


def facts(data):
    """(libraries it needs, where it looks for them, versions of GLIBC it needs)."""
    needed, paths, versions = [], [], set()
    for section in ELFFile(io.BytesIO(data)).iter_sections():
        if isinstance(section, DynamicSection):
            for tag in section.iter_tags():
                if tag.entry.d_tag == "DT_NEEDED":
                    needed.append(tag.needed)
                elif tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                    paths += (getattr(tag, "rpath", None) or tag.runpath).split(":")
        elif isinstance(section, GNUVerNeedSection):
            for _, aux in section.iter_versions():
                versions.update(re.findall(r"^GLIBC_(\d+)\.(\d+)", a.name)[0]
                                for a in aux if a.name.startswith("GLIBC_2"))
    return needed, paths, {(int(a), int(b)) for a, b in versions}


def misplaced(wheel, names):
    yield from (f"{name} is missing" for name in WANTED if name not in names)
    for name in names:
        if "__pycache__" in name or name.startswith(("bin/", "lib/")):
            yield f"{name} does not belong there"
        if name.startswith("braze/bin/") and not wheel.getinfo(name).external_attr >> 16 & 0o111:
            yield f"{name} is not executable"
    if any(n.startswith("braze.libs/") for n in names) and not any(
            "/licenses/bundled/" in n for n in names):
        yield "libraries without their licences"


def unlinked(name, data, inside, newest):
    needed, paths, versions = facts(data)
    yield from (f"{name} needs {n}, which is not inside" for n in needed
                if n not in inside and not GLIBC.fullmatch(n))
    yield from (f"{name} looks for libraries in {p}" for p in paths
                if not re.fullmatch(r"\$ORIGIN(/\.\.)*(/braze\.libs)?", p))
    yield from (f"{name} needs glibc 2.{v[1]}, the name says 2.{newest}" for v in versions
                if v > (2, newest))


def mistakes(wheel, newest):
    names = wheel.namelist()
    inside = {name.rpartition("/")[2] for name in names}
    yield from misplaced(wheel, names)
    for name in names:
        data = wheel.read(name)
        if data[:4] == b"\x7fELF":
            yield from unlinked(name, data, inside, newest)


def main():
    path = sys.argv[1]
    tag = TAG.search(path)
    if not tag:
        sys.exit(f"wheel: {path}: the name is not of an abi3 wheel for manylinux")
    with zipfile.ZipFile(path) as wheel:
        found = sorted(set(mistakes(wheel, int(tag[1]))))
        packed = sum(i.compress_size for i in wheel.infolist())
        whole = sum(i.file_size for i in wheel.infolist())
        libraries = sum(n.startswith("braze.libs/") for n in wheel.namelist())
    for line in found:
        print(f"wheel: {line}", file=sys.stderr)
    print(f"wheel: {path}: {packed / 2**20:.1f} MiB, unpacked {whole / 2**20:.1f} MiB, "
          f"{libraries} libraries of others inside")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
