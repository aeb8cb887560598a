#!/bin/bash
# SPDX-License-Identifier: MIT
# A plugin with markers is unloaded while zones of it are open and threads that used it live: with
# the library shared, with it linked into the plugin, and with the library itself opened and
# closed.
. "$(dirname "$0")/lib.sh"

export FPROF_RUN=1
program dlclose
# shellcheck disable=SC2086
$CC -std=gnu11 -D_GNU_SOURCE -O2 -g $WARNINGS $SAN -fPIC -shared -Iclient -I. \
	-o "$OUT/plugin.so" tests/client/plugin.c -L"$B" -lfprof -Wl,-rpath,"$(realpath "$B")" || fail "plugin"
out=$("$OUT/dlclose" "$OUT/plugin.so" 200) || fail "shared: it ended with $?"
[ "$out" = "frames 200" ] || fail "shared: $out"
# shellcheck disable=SC2086
$CC -std=gnu11 -D_GNU_SOURCE -O2 -g $WARNINGS $SAN -fPIC -shared -fvisibility=hidden -Iclient -I. \
	-o "$OUT/static.so" -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -xc - -xnone \
	"$B/libfprof.a" -lpthread <<'END' || fail "static plugin"
#include "tests/client/plugin.c"
__attribute__((visibility("default"))) fprof_scope plugin_work(int keep_open);
END
out=$("$OUT/dlclose" "$OUT/static.so" 20) || fail "static: it ended with $?"
[ "$out" = "frames 20" ] || fail "static: $out"

# It stays resident (-z nodelete), so its threads and its count of frames do.
# shellcheck disable=SC2086
$CC -std=gnu11 -O2 $WARNINGS $SAN -Iclient -I. -o "$OUT/opened" tests/client/opened.c -ldl || fail opened
"$OUT/opened" "$(realpath "$B")/libfprof.so" || fail "opened: it ended with $?"
