#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/libraries.sh - make build/venv-libraries: an environment with the large packages
# of deploy/requirements-libraries.txt, which only tests of other libraries need.
#
# Made when it is asked for and again when the packages or Python change; else silent.
set -eu
cd "$(dirname "$0")/.."

VENV=build/venv-libraries
STAMP=$VENV/.braze-requirements
REQUIREMENTS=deploy/requirements-libraries.txt

say() { printf 'libraries: %s\n' "$*"; }
die() {
	printf 'libraries: %s\n' "$*" >&2
	exit 1
}

python=build/venv/bin/python
[ -x $python ] || die "build/venv is missing: run make setup"
wanted=$($python -c 'import sys; print(sys.version)' | cat - $REQUIREMENTS | cksum)
if [ ! -x $VENV/bin/python ] || [ "$(cat $STAMP 2>/dev/null)" != "$wanted" ]; then
	say "making $VENV"
	rm -rf $VENV
	$python -m venv $VENV || die "$python cannot make $VENV"
	say "installing $(grep -c '==' $REQUIREMENTS) Python packages"
	$VENV/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
		-r $REQUIREMENTS </dev/null || die "pip could not install $REQUIREMENTS into $VENV"
	printf '%s\n' "$wanted" >$STAMP
	say "done"
fi
# The built package is importable from the environment without installing it.
site=$($VENV/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
if [ "$(cat "$site/braze-build.pth" 2>/dev/null)" != "$PWD/build/python" ]; then
	printf '%s\n' "$PWD/build/python" >"$site/braze-build.pth"
fi
