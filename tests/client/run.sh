#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every script here; 0 when none failed.
cd "$(dirname "$0")" || exit 1
failed=0
for script in *.sh; do
	case $script in lib.sh | run.sh) continue ;; esac
	bash "$script"
	case $? in
	0) echo "ok client/${script%.sh}" ;;
	77) ;;
	*) echo "not ok client/${script%.sh}" && failed=1 ;;
	esac
done
exit $failed
