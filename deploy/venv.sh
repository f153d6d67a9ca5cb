#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/venv.sh NAME REQUIREMENTS - make the Python environment build/NAME of a file of
# pinned packages, with the built braze in it; nothing is done when it is there as the
# file wants it. Needs build/venv, whose Python it takes.
set -eu
cd "$(dirname "$0")/.."
venv=build/$1
requirements=$2
stamp=$venv/.braze-requirements
python=build/venv/bin/python

wanted=$("$python" -c 'import sys; print(sys.version)' | cat - "$requirements" | cksum)
if [ ! -x "$venv/bin/python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
	printf 'venv: making %s of %s\n' "$venv" "$requirements"
	rm -rf "$venv"
	"$("$python" -c 'import sys; print(sys._base_executable)')" -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
		-r "$requirements" </dev/null || {
		printf 'venv: pip could not install %s into %s\n' "$requirements" "$venv" >&2
		exit 1
	}
	printf '%s\n' "$wanted" >"$stamp"
fi
# The built package is importable from the environment without installing it.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
if [ "$(cat "$site/braze-build.pth" 2>/dev/null)" != "$PWD/build/python" ]; then
	printf '%s\n' "$PWD/build/python" >"$site/braze-build.pth"
fi
