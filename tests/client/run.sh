#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh [NAME...]: runs every script here, or those, a line for each: ok, not ok, or skip with the reason. 0 when none
# failed.
cd "$(dirname "$0")" || exit 1
failed=0
[ $# -gt 0 ] || set -- *.sh
for script in "$@"; do
	name=${script%.sh}
	case $name in lib | run) continue ;; esac
	out=$(bash "$name.sh" 2>&1)
	case $? in
	0) echo "ok client/$name" ;;
	77) echo "${out##*$'\n'}" ;; # lib.sh's skip
	*)
		echo "$out"
		echo "not ok client/$name"
		failed=1
		;;
	esac
done
exit $failed
