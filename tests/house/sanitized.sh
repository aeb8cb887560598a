#!/bin/bash
# SPDX-License-Identifier: MIT
# The whole suite again under the address and undefined behaviour sanitizers: unit tests, then the API tests
# against a sanitized daemon and games. Names of tests get "(sanitized)".
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}/asan
export CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
failed=0

if ! make --no-print-directory B="$B" SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined' CFLAGS='-O1 -g' \
	CXXFLAGS='-O1 -g' all units; then
	echo "not ok the sanitized build"
	exit 1
fi

# The lines of one program; its exit status counts where it printed no failure.
run() { # name, command...
	local name=$1 out status=0
	shift
	out=$("$@" 2>&1) || status=$?
	printf '%s\n' "$out" | sed -E 's/^(ok|not ok|skip) (.*)/\1 (sanitized) \2/'
	if [ "$status" != 0 ]; then
		failed=1
		printf '%s\n' "$out" | grep -q '^not ok ' || echo "not ok (sanitized) $name ended with status $status"
	fi
}

for program in "$B"/tests/unit/test_*; do
	case $program in *.d | *.o) continue ;; esac
	run "$(basename "$program")" "$program"
done
for file in tests/api/*.test.mjs; do
	[ ! -e "$file" ] || FPROF_BUILD=$(realpath "$B") FPROF_SANITIZED=1 run "$(basename "$file")" \
		node --test --test-reporter=./tests/reporter.mjs "$file"
done
exit "$failed"
