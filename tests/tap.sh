# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# For test scripts: goes to the tree's root, gives $tmp, and `check`. End the script with `exit "$failed"`.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
B=${B:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# One test: a command that must succeed. What it printed is shown when it does not.
check() { # name, command...
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name"
		printf '%s\n' "$out" | sed 's/^/# /'
		failed=1
	fi
}

skip() { # name, reason
	echo "skip $1: $2"
}
