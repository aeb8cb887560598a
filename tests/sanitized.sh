#!/bin/bash
# SPDX-License-Identifier: MIT
# sanitized.sh COMMAND...: a test of the build that `make sanitized` makes in B/asan. The hook is that of the other build:
# no program from Debian has the sanitizers that it would need.
FPROF_PRELOAD=$(realpath -m "${B:-build}/libfprof-preload.so")
export B=${B:-build}/asan
FPROF_BUILD=$(realpath -m "$B")
export FPROF_PRELOAD FPROF_BUILD FPROF_SANITIZED=1 SAN='-fsanitize=address,undefined'
# The hook comes before the sanitizer where a program has it.
export ASAN_OPTIONS=detect_leaks=${LEAKS:-1}:abort_on_error=0:exitcode=99:quarantine_size_mb=16:verify_asan_link_order=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
exec "$@"
