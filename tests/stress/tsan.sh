#!/bin/bash
# SPDX-License-Identifier: MIT
# The ring and the marker table under ThreadSanitizer.
cd "$(dirname "$0")/../.." || exit 1
export TSAN_OPTIONS=exitcode=66:halt_on_error=0
exec "${B:-build}/tests/stress/tsan_ring"
