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

# Objects that a build of the same text made before are taken from ccache, where it is installed,
# and whatever folder that tree lay in. One that stands in for the compilers already needs no
# second in front of it.
cc=${CC:-cc}
launcher=$(command -v ccache) || launcher=
for compiler in "$cc" gcc clang; do
	case $(readlink -f "$(command -v "${compiler%% *}")") in
	*ccache*) launcher= ;;
	esac
done
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"

mkdir -p "$dir"
# Where it may not write, in a home that is not there, it compiles nothing at all.
works() {
	printf 'int compiled;\n' >"$dir/launched.c" &&
		"$1" "${cc%% *}" -c "$dir/launched.c" -o "$dir/launched.o" >"$dir/launched.log" 2>&1
	status=$?
	rm -f "$dir/launched.c" "$dir/launched.o"
	return $status
}
if [ -n "$launcher" ] && ! works "$launcher"; then
	printf 'build: without ccache: %s\n' "$(head -n 1 "$dir/launched.log")"
	launcher=
fi
# Configured with one that is not there any more, or does not work now.
configured=$(sed -n 's/^CMAKE_C_COMPILER_LAUNCHER:[A-Z]*=//p' "$dir/CMakeCache.txt" 2>/dev/null) || true
[ -z "$configured" ] || { [ -x "$configured" ] && works "$configured"; } ||
	rm -f "$dir/build.ninja" "$dir/Makefile"
if [ ! -f "$dir/build.ninja" ] && [ ! -f "$dir/Makefile" ]; then
	generator="Unix Makefiles"
	if command -v ninja >/dev/null 2>&1; then
		generator=Ninja
	fi
	python=$PWD/build/venv/bin/python
	rm -f "$dir/CMakeCache.txt"
	printf 'build: configuring %s (%s)\n' "$preset" "$generator"
	cmake --preset "$preset" -G "$generator" -DPython3_EXECUTABLE="$python" \
		-DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
		>"$dir/configure.log" 2>&1 || {
		cat "$dir/configure.log" >&2
		rm -f "$dir/CMakeCache.txt"
		exit 1
	}
fi
printf 'build: %s, %s jobs\n' "$preset" "$jobs"
cmake --build "$dir" -j "$jobs"
