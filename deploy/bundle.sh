#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deploy/bundle.sh OUT [BUILD] - a tree that runs braze on a machine without its packages.
#
# In:  a build (BUILD, default build/), with tests for braze-gpucheck.
# Out: OUT/bin (brazed, brazectl, braze-gpucheck), OUT/lib (every library that these
#      need but glibc's), OUT/python (the package, gpubench.py, gpuforeign.py, gpuusers.py).  Programs find lib/ by
#      their own place, so the tree may be moved.  OUT.tar.xz is the same, packed.
#
# The tree is checked before this ends well: with an empty environment every library
# comes from the tree or from glibc, no symbol is newer than glibc 2.36, programs start
# from another folder, and packed it is at most BRAZE_BUNDLE_MIB.  Most of it is the TLS
# that libmicrohttpd is linked with.  The driver, NVRTC and cuBLAS are the machine's:
# bin/braze-gpucheck --section device tells which are found.
set -euo pipefail

[ $# -ge 1 ] || { echo "usage: deploy/bundle.sh OUT [BUILD]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
build=${2:-$root/build}
limit=${BRAZE_BUNDLE_MIB:-8}
glibc_most=2.36
glibc='^(linux-vdso|ld-linux-x86-64|libc|libm|libmvec|libdl|libpthread|librt|libresolv)\.so'

die() { echo "bundle: $*" >&2; exit 1; }

for tool in cmake readelf objdump strip ldd tar xz; do
	command -v $tool >/dev/null || die "$tool is not installed"
done
case $out in /|"$root"|"$build") die "$out cannot be the bundle's folder" ;; esac
if [ -e "$out" ] && [ ! -e "$out/.braze-bundle" ]; then
	die "$out is there and is no bundle; remove it first"
fi
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/python"
: >"$out/.braze-bundle"
out=$(cd "$out" && pwd)

# needed FILE: names of the libraries that it needs and glibc does not give.
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev "$glibc" || true; }

# carry FILE: the libraries it needs, and theirs, into lib/.
carry() {
	local name path
	for name in $(needed "$1"); do
		[ -e "$out/lib/$name" ] && continue
		path=$(ldd "$1" | awk -v n="$name" '$1 == n { print $3 }')
		[ -n "$path" ] && [ -e "$path" ] || die "$1 needs $name, which is not installed"
		install -m 644 "$(readlink -f "$path")" "$out/lib/$name"
		carry "$path"
	done
}

# The build's own programs look for libraries in ../lib first (CMake's BUILD_RPATH).
for program in brazed brazectl braze-gpucheck; do
	[ -x "$build/bin/$program" ] || die "$build/bin/$program is not built"
	install -m 755 "$build/bin/$program" "$out/bin/$program"
	carry "$build/bin/$program"
done
cp -RL "$build/python/braze" "$out/python/braze"
find "$out/python" -name __pycache__ -prune -exec rm -rf {} +
install -m 644 "$root"/tests/gpu/gpu{bench,foreign,users}.py "$out/python/"
carry "$build/python/braze/_core.abi3.so"
# The loops of small operations, one file for each instruction set.
install -m 644 "$build"/lib/libbraze-near-*.so "$out/lib/"
strip --strip-unneeded "$out"/bin/* "$out"/lib/* "$out/python/braze/_core.abi3.so"

# ---- Is it whole? ----

bad=0
complain() { echo "bundle: $*" >&2; bad=1; }

# The libraries that the loader finds with nothing but the tree and glibc.
for file in "$out"/bin/* "$out/python/braze/_core.abi3.so"; do
	while read -r name path; do
		[[ $name =~ $glibc ]] && continue
		case $(readlink -f "$path" 2>/dev/null) in
		"$out"/*) ;;
		*) complain "$(basename "$file") takes $name from $path" ;;
		esac
	done < <(env -i /lib64/ld-linux-x86-64.so.2 --inhibit-cache --list "$file" 2>&1 |
		sed -n 's/^[[:space:]]*\([^ ]*\) => \(.*\) (0x.*/\1 \2/p; s/^.*error.*: \([^ :]*\): cannot open.*/\1 nowhere/p')
done
for file in "$out"/bin/* "$out"/lib/* "$out/python/braze/_core.abi3.so"; do
	newest=$(objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
	most=$(printf '%s\nGLIBC_%s\n' "$newest" "$glibc_most" | sort -V | tail -1)
	[ "$most" = "GLIBC_$glibc_most" ] || complain "$(basename "$file") wants $newest"
done
(cd / && env -i "$out/bin/brazed" --version >/dev/null) || complain "brazed does not start"
(cd / && env -i "$out/bin/brazectl" --version >/dev/null) || complain "brazectl does not start"
(cd / && env -i "$out/bin/braze-gpucheck" --help >/dev/null) || complain "braze-gpucheck does not start"

tar -C "$out" -cJf "$out.tar.xz" .
kib=$(($(stat -c %s "$out.tar.xz") / 1024))
[ "$kib" -le $((limit * 1024)) ] || complain "$out.tar.xz: $kib KiB, more than $limit MiB"
[ $bad = 0 ] || exit 1
printf 'bundle: %s: %d libraries; packed %s: %d.%d MiB\n' "$out" \
	"$(find "$out/lib" -name '*.so*' | wc -l)" "$out.tar.xz" $((kib / 1024)) \
	$((kib % 1024 * 10 / 1024))
