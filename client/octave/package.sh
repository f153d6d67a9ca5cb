#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# client/octave/package.sh FOLDER - write FOLDER/braze-VERSION.tar.gz, for Octave's `pkg install`.
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
version=$(sed -n 's/^Version: //p' DESCRIPTION)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/braze-$version
mkdir -p "$top/src" "$top/inst"
cp DESCRIPTION INDEX "$top"
cp ../../LICENSE "$top/COPYING"
cp src/*.cc src/*.hh src/Makefile src/functions.list "$top/src"
tar -C "$work" -czf "$out/braze-$version.tar.gz" "braze-$version"
printf '%s\n' "$out/braze-$version.tar.gz"
