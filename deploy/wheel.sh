#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deploy/wheel.sh [OUT] - a wheel of the built tree that runs on a bare machine.
#
# In:  build/, and build/venv-wheel (deploy/requirements-wheel.txt).
# Out: OUT/braze-VERSION-cp311-abi3-manylinux_2_N_x86_64.whl (OUT: build/dist): the
#      package with daemon, brazectl, extension and loops in it, and in braze.libs/ every
#      library that they need but glibc's, with its licence's text.
#
# N is the newest glibc that any of them needs: auditwheel reads it from the symbols.
# deploy/wheel/check.py then looks at the result by itself. OpenBLAS is not inside: it is
# twice as large as all the rest, packed, and matrix products run without it; where the
# machine has libopenblas.so.0, it is used.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/dist}
tools=$PWD/build/venv-wheel/bin
licenses=$PWD/build/wheel-licenses
work=$PWD/build/wheel-raw

die() { echo "wheel: $*" >&2; exit 1; }

[ -x build/bin/brazed ] || die "run make first"
[ -x "$tools/auditwheel" ] || die "run make wheel, which makes build/venv-wheel"
rm -rf "$licenses" "$work"
mkdir -p "$licenses" "$work" "$out"

# Each library's package says what its licence is.
libraries() {
	ldd build/bin/brazed build/bin/brazectl build/python/braze/_core.abi3.so |
		awk '/=> \// { print $3 }' | sort -u
}
for library in $(libraries); do
	package=$(dpkg-query -S "$(readlink -f "$library")" 2>/dev/null ||
		dpkg-query -S "*/$(basename "$(readlink -f "$library")")" 2>/dev/null) ||
		die "no package owns $library: its licence is not known"
	package=${package%%:*}
	[ "$package" != libc6 ] || continue
	cp "/usr/share/doc/$package/copyright" "$licenses/$package.txt" ||
		die "$package has no text of its licence"
done

version=$(sed -n 's/^project(braze VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
grep -qx "version = \"$version\"" pyproject.toml ||
	die "CMakeLists.txt says version $version, pyproject.toml another"
PATH=$tools:$PATH "$tools/python" -m build --wheel --no-isolation --outdir "$work" \
	-Ccmake.source-dir=deploy/wheel -Cbuild-dir=build/wheel-pack \
	-Ccmake.define.BRAZE_BUILD="$PWD/build" -Ccmake.define.BRAZE_LICENSES="$licenses" . \
	>build/wheel.log 2>&1 || { tail -n 30 build/wheel.log >&2; die "see build/wheel.log"; }
rm -f "$out"/braze-*.whl
PATH=$tools:$PATH "$tools/auditwheel" repair --plat auto --only-plat -w "$out" \
	"$work"/braze-*.whl >>build/wheel.log 2>&1 ||
	{ tail -n 30 build/wheel.log >&2; die "see build/wheel.log"; }
"$tools/python" deploy/wheel/check.py "$out"/braze-*.whl
