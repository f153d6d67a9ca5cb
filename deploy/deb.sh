#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deploy/deb.sh [OUT] - Debian packages of this tree: brazed, libbraze1, libbraze-dev, python3-braze.
#
# In:  the sources that git knows; deploy/debian.  Out: OUT/*.deb (OUT: build/deb), which
# lintian has looked at: what it may say is in deploy/debian/*.lintian-overrides. Compiles
# everything anew, with the options of Debian.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/deb}
packages="debhelper dh-python dpkg-dev help2man lintian ninja-build"

die() { echo "deb: $*" >&2; exit 1; }

for package in $packages; do
	dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
		die "install these first: apt-get install $packages"
done
version=$(sed -n 's/^project(braze VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ "$(dpkg-parsechangelog -l deploy/debian/changelog -S Version)" = "$version" ] ||
	die "CMakeLists.txt says version $version, deploy/debian/changelog another"
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -rf "$out"/*
source=$out/braze-$version
mkdir "$source"
git ls-files -co --exclude-standard -z | while IFS= read -r -d '' name; do
	[ ! -f "$name" ] || printf '%s\0' "$name"
done | tar --null -T - -c | tar -x -C "$source"
cp -R deploy/debian "$source/debian"
(cd "$source" && DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=${JOBS:-$(nproc)}" \
	dpkg-buildpackage -b -us -uc -d) >"$out/build.log" 2>&1 ||
	{ tail -n 40 "$out/build.log" >&2; die "see $out/build.log"; }
rm -rf "$source"
lintian --allow-root --fail-on error,warning --profile debian "$out"/*.changes || die "lintian found something"
ls -1 "$out"/*.deb
