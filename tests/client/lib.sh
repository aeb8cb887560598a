# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the scripts here. $B: where the libraries were built. Sources are found from the top of
# the tree.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
B=${B:-build}
CC=${CC:-gcc}
CXX=${CXX:-g++}
SAN=${SAN:-}
WARNINGS="-Wall -Wextra -Wpedantic -Wshadow -Werror"
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT
export FPROF_SOCKET=/nonexistent/fprofd.sock

fail() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

skip() {
	echo "skip client/$(basename "$0" .sh): $*"
	exit 77
}

# program NAME FLAGS...: builds tests/client/NAME.c against libfprof.so
program() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	$CC -std=gnu11 -D_GNU_SOURCE -O2 -g $WARNINGS $SAN -Iclient -I. -o "$OUT/$name" \
		"tests/client/$name.c" "$@" -L"$B" -lfprof -Wl,-rpath,"$(realpath "$B")" -lpthread -ldl ||
		fail "$name does not compile"
}
