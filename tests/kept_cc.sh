#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kept_cc.sh - a compiler for tests, which keeps what it made of each text.
#
# In:  as the daemon calls a compiler (compile/compile_run.c): options, "-x c -c - -o OBJECT",
#      the text as a file on standard input. Any other call is the compiler's own.
#      COMPILER, its path; IDENTITY, whose change makes all that is kept another compiler's;
#      KEPT, the folder: harness.kept_compiler() puts these lines before the script.
# Out: OBJECT, with the bytes that the compiler gives, or gave once, to the same options and text.
case "$*" in
*" -x c -c - -o "*) ;;
*) exec "$COMPILER" "$@" ;;
esac
[ -f /dev/stdin ] || exec "$COMPILER" "$@"

for object; do :; done
all=$*
# Opened by its name, a file is read from its beginning: the compiler still finds it unread.
hash=$({ printf '%s\n%s\n' "$IDENTITY" "${all%"$object"}"; cat /dev/stdin; } | sha256sum) || hash=
kept=$KEPT/${hash%% *}.o
if [ -n "$hash" ] && cp "$kept" "$object" 2>/dev/null; then
	touch -c "$kept"
	exit 0
fi
"$COMPILER" "$@" || exit
# It appears whole or not at all: others read the folder meanwhile.
if [ -n "$hash" ] && new=$(mktemp "$KEPT/new.XXXXXX" 2>/dev/null); then
	{ cp "$object" "$new" && mv -f "$new" "$kept"; } 2>/dev/null || rm -f "$new"
fi
exit 0
