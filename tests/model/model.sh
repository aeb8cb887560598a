#!/bin/bash
# SPDX-License-Identifier: MIT
# model.sh: spin must find the ring sound, and must find the torn read in each mutant of it (TAP).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# verify NAME EXPECTED [-DMUTANT]: runs spin over every interleaving; EXPECTED is sound or torn. In a mutant it looks for
# the first torn read, to which it comes sooner from the other end.
verify() {
	local name=$1 expected=$2 found
	shift 2
	mkdir "$work/$name"
	cd "$work/$name"
	spin "$@" -a "$here/ring.pml" >spin.log
	gcc -O1 -w -DSAFETY -DMEMLIM=3000 ${1:+-O0 -DREVERSE -DT_REVERSE} -o pan pan.c
	./pan -m10000 >pan.log 2>&1 || true
	if grep -q 'max search depth too small\|out of memory' pan.log; then
		found=incomplete
	elif grep -q 'errors: 0$' pan.log; then
		found=sound
	elif grep -q 'assertion violated ((r_probe<r_first)' pan.log; then
		found=torn
	else
		found=other
	fi
	sed -n 's/^ *\([0-9.e+]*\) states, stored.*/# \1 states/p; s/^pan:1: /# /p' pan.log
	if [ "$found" = "$expected" ]; then
		echo "ok - ring model: $name is $expected"
	else
		echo "not ok - ring model: $name is $found, expected $expected"
		sed 's/^/# /' pan.log
		failed=1
	fi
}

verify ring sound
verify no_fence torn -DNO_FENCE
verify no_margin torn -DNO_MARGIN
verify no_reread torn -DNO_REREAD
verify no_release torn -DNO_RELEASE
exit "$failed"
