#!/bin/bash
# SPDX-License-Identifier: MIT
# shm/, client/ and the hook compile for arm64, whose inline path reads the thread pointer anew at each event.
. "$(dirname "$0")/lib.sh"

cross=aarch64-linux-gnu-gcc
command -v $cross >/dev/null || skip "$cross is not installed"
for source in shm/*.c client/*.c; do
	# shellcheck disable=SC2086
	$cross -std=gnu11 -D_GNU_SOURCE -O2 $WARNINGS -Wstrict-prototypes -Wmissing-prototypes -fPIC \
		-fvisibility=hidden -Iclient -I. -c "$source" -o "$OUT/$(basename "$source" .c).o" ||
		fail "$source does not compile"
done
for source in client/preload/*.c client/alloc/*.c; do
	# shellcheck disable=SC2086
	$cross -std=gnu11 -D_GNU_SOURCE '-DFPROF_VERSION="0"' '-DFPROF_LIBDIR="/"' -O2 $WARNINGS -fPIC -Iclient -I. \
		-c "$source" -o "$OUT/hook" || fail "$source does not compile"
done
$cross -shared -Wl,--version-script=client/libfprof.map -Wl,-z,defs -o "$OUT/libfprof.so" \
	"$OUT"/*.o -lpthread ||
	fail "it does not link"
if aarch64-linux-gnu-objdump -T "$OUT/libfprof.so" | grep -E 'GLIBC_2\.(29|[3-9][0-9])'; then
	fail "it needs a glibc newer than 2.28"
fi
# A scope that calls something in between reads the thread pointer twice.
cat >"$OUT/migrate.c" <<'END'
#include <fprof.h>
void elsewhere(void);
void migrate(void);
void migrate(void)
{
	FPROF_ZONE("z");
	elsewhere();
}
END
$cross -std=c11 -O2 -Iclient -I. -S "$OUT/migrate.c" -o "$OUT/migrate.s" || fail "migrate.c"
[ "$(grep -c tpidr_el0 "$OUT/migrate.s")" -ge 2 ] || fail "the thread pointer is kept across a call"
