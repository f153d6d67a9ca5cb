#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/build.sh PRESET JOBS - configure (when needed) and build one preset of
# CMakePresets.json; quiet when nothing is to be done.
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=$2
case $preset in
release) dir=build ;;
*) dir=build/$preset ;;
esac

mkdir -p "$dir"
if [ ! -f "$dir/build.ninja" ] && [ ! -f "$dir/Makefile" ]; then
	generator="Unix Makefiles"
	if command -v ninja >/dev/null 2>&1; then
		generator=Ninja
	fi
	python=$PWD/build/venv/bin/python
	rm -f "$dir/CMakeCache.txt"
	printf 'build: configuring %s (%s)\n' "$preset" "$generator"
	cmake --preset "$preset" -G "$generator" -DPython3_EXECUTABLE="$python" \
		>"$dir/configure.log" 2>&1 || {
		cat "$dir/configure.log" >&2
		rm -f "$dir/CMakeCache.txt"
		exit 1
	}
fi
printf 'build: %s, %s jobs\n' "$preset" "$jobs"
cmake --build "$dir" -j "$jobs"
