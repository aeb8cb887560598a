#!/bin/bash
# SPDX-License-Identifier: MIT
# The suite again under the address and undefined behaviour sanitizers. sanitized.sh PART...: units, api, stress,
# scripts (of the client library, the example game and the fprof command). Names of tests get "(sanitized)".
# The hook stays as it is: no program from Debian has the sanitizers that it would need.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}/asan
SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
export CMOCKA_MESSAGE_OUTPUT=TAP
# The hook comes before the sanitizer where a program has it.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99:verify_asan_link_order=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export FPROF_SANITIZED=1
FPROF_PRELOAD=$(realpath -m "$B/../libfprof-preload.so")
export FPROF_PRELOAD
failed=0

# The parts run side by side; one of them builds.
build() {
	mkdir -p "$B"
	flock "$B/lock" make --no-print-directory -j"${JOBS:-2}" B="$B" SAN="$SAN" CFLAGS='-O1 -g' CXXFLAGS='-O1 -g' \
		all units "$B/tests/stress/misbehave"
}

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

node_test() { # file
	FPROF_BUILD=$(realpath "$B") run "$(basename "$1")" node --test --test-reporter=./tests/reporter.mjs "$1"
}

units() {
	local program
	for program in "$B"/tests/unit/test_*; do
		case $program in *.d | *.o) continue ;; esac
		run "$(basename "$program")" "$program"
	done
}

api() {
	local file
	for file in tests/api/*.test.mjs; do
		node_test "$file"
	done
}

stress() {
	node_test tests/stress/stress.test.mjs
}

scripts() {
	local what
	for what in client examples tool; do
		run "$what" env B="$B" SAN="$SAN" bash "tests/$what/run.sh"
	done
}

if ! build; then
	echo "not ok the sanitized build"
	exit 1
fi
for part in "${@:-units}"; do
	"$part"
done
exit "$failed"
