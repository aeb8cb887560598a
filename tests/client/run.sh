#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every script here, a line for each: ok, not ok, or skip with the reason. 0 when none failed.
cd "$(dirname "$0")" || exit 1
failed=0
for script in *.sh; do
	case $script in lib.sh | run.sh) continue ;; esac
	out=$(bash "$script" 2>&1)
	case $? in
	0) echo "ok client/${script%.sh}" ;;
	77) echo "skip client/${script%.sh}: ${out##*SKIP: }" ;;
	*)
		echo "$out"
		echo "not ok client/${script%.sh}"
		failed=1
		;;
	esac
done
exit $failed
