#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/setup.sh [--long] - make a Debian 12, Debian 13 or Ubuntu 24.04 machine able to build
# braze; with --long also to run what only `make test-long` runs.
#
# Installs the system packages that are missing (none: silent), then makes
# build/venv with the Python packages of deploy/requirements.txt and, on a machine without
# a CUDA toolkit, NVRTC. Runs again only what changed. BRAZE_NO_INSTALL=1 forbids system
# packages: it names them and fails.
set -eu
cd "$(dirname "$0")/.."

VENV=build/venv
STAMP=$VENV/.braze-requirements
PACKAGES="gcc g++ cmake ninja-build pkg-config libc6-dev binutils libuv1-dev libprotobuf-c-dev
protobuf-c-compiler libcjson-dev libmicrohttpd-dev libopenblas-dev gfortran
libcriterion-dev help2man clang clang-format valgrind xz-utils"
# `deploy/setup.sh guests`: what tests of other programs' arrays need, and nothing else does.
[ "${1:-}" != guests ] || PACKAGES="$PACKAGES octave-dev openmpi-bin libopenmpi-dev"
# A browser for the status page; Debian's packages, and clean roots to install them into.
# Tests for which these are not there are skipped.
LONG_PACKAGES="chromium chromium-driver debhelper debootstrap dh-python lintian"

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# A Python of at least 3.11 that can make environments and has its C headers.
python_usable() {
	command -v "$1" >/dev/null 2>&1 && "$1" - <<'P' >/dev/null 2>&1
import sys, sysconfig, os, venv, ensurepip
assert sys.version_info >= (3, 11)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
P
}

python_find() {
	for candidate in ${PYTHON:-} python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
		if python_usable "$candidate"; then
			command -v "$candidate"
			return 0
		fi
	done
	return 1
}

# Of the packages that are named, those that are not installed.
not_installed() {
	for package in "$@"; do
		dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || printf '%s ' "$package"
	done
}

packages_missing() {
	not_installed $PACKAGES
	python_find >/dev/null || printf 'python3 python3-venv python3-dev '
}

# Sets root to what has apt-get run as root; false where nothing may be installed.
may_install() {
	root=
	if [ "$(id -u)" != 0 ]; then
		root="sudo -n"
		sudo -n true 2>/dev/null || return 1
	fi
	[ "${BRAZE_NO_INSTALL:-0}" != 1 ]
}

apt() { $root env DEBIAN_FRONTEND=noninteractive apt-get "$@" >>build/apt.log 2>&1 </dev/null; }

packages_install() {
	missing=$(packages_missing)
	[ -n "$missing" ] || return 0
	command="install -y --no-install-recommends $missing"
	may_install || die "these packages are missing: $missing
setup: install them as root, then run this again:
	apt-get $command"
	say "installing system packages: $missing"
	mkdir -p build
	: >build/apt.log
	apt update && apt $command || {
		tail -n 20 build/apt.log >&2
		die "apt-get failed, see build/apt.log; the command was:
	apt-get $command"
	}
}

# Nothing needs ccache, but with it a build of what was built before takes a tenth of the time
# (deploy/build.sh). Tried once, and without a word where nothing may be installed.
ccache_install() {
	command -v ccache >/dev/null 2>&1 || [ -e build/no-ccache ] && return 0
	may_install || return 0
	say "installing ccache"
	mkdir -p build
	: >build/apt.log
	apt install -y --no-install-recommends ccache ||
		{ apt update && apt install -y --no-install-recommends ccache; } ||
		{ say "ccache cannot be had (build/apt.log): builds do without"; : >build/no-ccache; }
}

# One by one, since not every system has them all.
long_packages_install() {
	missing=$(not_installed $LONG_PACKAGES)
	[ -n "$missing" ] || return 0
	may_install || {
		say "without these packages their tests are skipped: $missing"
		return 0
	}
	say "installing system packages for the long tests: $missing"
	: >build/apt.log
	apt update || true
	for package in $missing; do
		apt install -y --no-install-recommends "$package" ||
			say "$package cannot be had (build/apt.log): its tests are skipped"
	done
}

# Elsewhere the packages have other names: check what the build looks for instead.
tools_check() {
	missing=
	for tool in gcc cmake pkg-config protoc-c; do
		command -v $tool >/dev/null 2>&1 || missing="$missing $tool"
	done
	for module in libuv libprotobuf-c libcjson libmicrohttpd criterion openblas; do
		pkg-config --exists $module 2>/dev/null || missing="$missing $module(development files)"
	done
	[ -z "$missing" ] || die "this is not Debian or Ubuntu; install these first:$missing"
}

# An environment of the same Python is brought up to date where it is: what somebody
# else put there stays.
venv_fits() {
	version='import sys; print(sys.version_info[:2])'
	[ -x $VENV/bin/python ] &&
		[ "$($VENV/bin/python -c "$version" 2>/dev/null)" = "$("$1" -c "$version")" ] &&
		$VENV/bin/python -m pip --version >/dev/null 2>&1
}

# One of another Python, or a broken one, cannot: it is moved away, not removed.
venv_aside() {
	[ -e $VENV ] || return 0
	n=1
	while [ -e "$VENV.old$n" ]; do n=$((n + 1)); done
	mv $VENV "$VENV.old$n"
	say "the environment in $VENV is of another Python: it lies in $VENV.old$n now"
}

venv_make() {
	python=$(python_find) || die "no Python >= 3.11 with the venv module and its C headers was found;
setup: install python3 python3-venv python3-dev, or name one with PYTHON=/path/to/python3"
	wanted=$("$python" -c 'import sys; print(sys.version)' | cat - deploy/requirements.txt | cksum)
	if [ "$(cat $STAMP 2>/dev/null)" != "$wanted" ] || ! python_usable $VENV/bin/python; then
		venv_fits "$python" || venv_aside
		if [ ! -e $VENV ]; then
			say "making $VENV with $python ($("$python" -V 2>&1))"
			mkdir -p build
			"$python" -m venv $VENV || die "$python cannot make $VENV; install python3-venv"
		fi
		say "installing $(grep -c '==' deploy/requirements.txt) Python packages"
		$VENV/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
			-r deploy/requirements.txt </dev/null ||
			die "pip could not install deploy/requirements.txt into $VENV"
		printf '%s\n' "$wanted" >$STAMP
		say "done"
	fi
	# The built package is importable from the environment without installing it.
	site=$($VENV/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	if [ "$(cat "$site/braze-build.pth" 2>/dev/null)" != "$PWD/build/python" ]; then
		printf '%s\n' "$PWD/build/python" >"$site/braze-build.pth"
	fi
}

# NVRTC compiles kernels for GPUs and needs none itself. Where no CUDA toolkit has it,
# Python's package of it lets the tests run.
nvrtc_found() {
	for dir in ${BRAZE_NVRTC:+$(dirname "$BRAZE_NVRTC")} \
		$(printf '%s' "${BRAZE_CUDA_PATHS:-}:${CUDA_HOME:-}:${CUDA_PATH:-}" | tr ':' ' ') \
		$(printf '%s' "${LD_LIBRARY_PATH:-}" | tr ':' ' ') \
		/usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/lib /usr/local/cuda /usr/local/cuda-* \
		/opt/cuda $VENV/lib/python3*/site-packages/nvidia/cu13; do
		for below in . lib64 lib targets/x86_64-linux/lib nvidia/cu13/lib nvidia/cuda_nvrtc/lib; do
			for file in "$dir/$below"/libnvrtc.so.1[123]*; do
				[ ! -e "$file" ] || return 0
			done
		done
	done
	return 1
}

nvrtc_install() {
	nvrtc_found && return 0
	say "no CUDA toolkit has NVRTC: installing deploy/requirements-cuda.txt into $VENV"
	$VENV/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
		-r deploy/requirements-cuda.txt </dev/null ||
		say "pip could not install it: tests of CUDA kernels will be skipped. Install a CUDA
setup: toolkit, or set BRAZE_NVRTC to libnvrtc.so.13, to run them"
}

# What shows machine code, so that it can be counted.
disassembler_install() {
	$VENV/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
		-r deploy/requirements-cuda-tools.txt </dev/null ||
		say "pip could not install nvdisasm: the test that counts machine code will be skipped"
}

if command -v dpkg-query >/dev/null 2>&1; then
	packages_install
	ccache_install
else
	tools_check
fi
venv_make
nvrtc_install
disassembler_install
if [ "${1:-}" = --long ] && command -v dpkg-query >/dev/null 2>&1; then
	long_packages_install
fi
