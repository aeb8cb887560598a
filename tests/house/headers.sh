#!/bin/bash
# SPDX-License-Identifier: MIT
# The public headers compile without a warning in every language and compiler that games use; a game built with
# FPROF_DISABLED holds nothing of us.
set -uo pipefail

. "$(dirname "$0")/../tap.sh"
strict=(-Wall -Wextra -Wpedantic -Wshadow -Werror -Iclient -O2)

cat >"$tmp/use.c" <<'END'
#include <fprof.h>
int main(void)
{
	FPROF_ZONE("headers_test_zone");
	fprof_frame_mark();
	return 0;
}
END
sed 's/fprof\.h/fprof.hpp/' "$tmp/use.c" >"$tmp/use.cpp"
echo 'int main(void) { return 0; }' >"$tmp/empty.c"

for cc in gcc clang; do
	for std in c11 c17 gnu11; do
		check "fprof.h compiles as $std with $cc" \
			"$cc" -std=$std "${strict[@]}" -Wstrict-prototypes -c -o "$tmp/use.o" "$tmp/use.c"
	done
done
for cxx in g++ clang++; do
	for std in c++17 c++20; do
		check "the C++ header compiles as $std with $cxx" \
			"$cxx" -std=$std "${strict[@]}" -c -o "$tmp/use.o" "$tmp/use.cpp"
	done
done
# As engines build that warn about more; what the headers do with a value is in it.
cat >"$tmp/strict.cpp" <<'END'
#include <fprof.hpp>
int main()
{
	static fprof::marker m{"strict", __FILE__, __LINE__};
	fprof::zone z{m};
	FPROF_ZONE("headers_test_zone");
	FPROF_ZONE_V(v, "variable");
	FPROF_ZONE_TEXT(v, "text");
	FPROF_ZONE_VALUE_I64(v, 1);
	FPROF_ZONE_VALUE_F64(v, 1.5);
	FPROF_NEXT(v, "next");
	FPROF_INSTANT("instant");
	FPROF_COUNTER_SET_I64("counter", FPROF_UNIT_COUNT, 4);
	FPROF_COUNTER_ADD_F64("sum", FPROF_UNIT_MS, 0.5);
	FPROF_FRAME_MARK_NAMED("tick");
	z.value(sizeof(z));
	z.value(1u);
	z.value(1.5f);
	z.value(-1ll);
	fprof_frame_mark();
	return 0;
}
END
engine=(-Wold-style-cast -Wconversion -Wsign-conversion -Wdouble-promotion)
for cxx in g++ clang++; do
	check "the C++ header has no cast or conversion to warn about with $cxx" \
		"$cxx" -std=c++17 "${strict[@]}" "${engine[@]}" -c -o "$tmp/use.o" "$tmp/strict.cpp"
	check "nor has it when disabled with $cxx" \
		"$cxx" -std=c++17 "${strict[@]}" "${engine[@]}" -DFPROF_DISABLED -c -o "$tmp/use.o" "$tmp/strict.cpp"
done
for header in shm/*.h; do
	check "$header compiles by itself as C11" \
		gcc -std=c11 -D_GNU_SOURCE "${strict[@]}" -include "$header" -fsyntax-only "$tmp/empty.c"
done

# What the guides say in C: fragments; calls in the first column of tables, one after the other; calls in the text.
fragments() { # file
	cat <<'END'
#include <fprof.h>
#include <fprof_alloc.h>
void simulate(void), present(void);
static const char name[] = "name", path[] = "path";
static int64_t n, calls, bytes, objects;
static struct fprof_fiber fiber;
static double ns_per_tick;
static unsigned valid_bits;
END
	awk '
		function of(code) { return sprintf("#line %d \"%s\"\n%s\n", FNR, FILENAME, code) }
		/^```/ && inside { inside = 0; print top ? body : "void fragment" NR "(void)\n{\n" body "}"; next }
		/^```/ { inside = 1; keep = /^```c$/; body = ""; top = 0; next }
		inside { top = top || /^#include/; body = body (keep ? of($0) : "") ; next }
		/^\|/ {
			split($0, cells, "|")
			for (rest = cells[2]; match(rest, /`(FPROF_|fprof_[a-z_]+\()[^`]*`/); rest = substr(rest, RSTART + RLENGTH))
				table = table of(substr(rest, RSTART + 1, RLENGTH - 2))
		}
		{
			for (rest = $0; match(rest, /`fprof_[a-z_]+\([^`]*\)`/); rest = substr(rest, RSTART + RLENGTH))
				text = text of("(void)(" substr(rest, RSTART + 1, RLENGTH - 2) ");")
		}
		END { print "void table(void)\n{\n" table "}\nvoid text(void)\n{\n" text "}" }
	' "$1"
}
for guide in README.md docs/guide/*.md; do
	fragments "$guide" >"$tmp/guide.c"
	check "what $guide says in C compiles" gcc -std=c11 -Wall -Wextra -Werror -Wno-unused-variable \
		-Wno-unused-const-variable -Iclient -fsyntax-only "$tmp/guide.c"
done

# Nothing is left of a disabled zone: no string, no symbol, and the code of an empty main.
check "FPROF_DISABLED compiles as C" gcc -std=c11 "${strict[@]}" -DFPROF_DISABLED -c -o "$tmp/off.o" "$tmp/use.c"
check "FPROF_DISABLED compiles as C++" g++ -std=c++17 "${strict[@]}" -DFPROF_DISABLED -c -o "$tmp/offxx.o" "$tmp/use.cpp"
nothing_left() {
	! strings -a "$1" | grep -q headers_test_zone && ! nm "$1" | grep -qi fprof
}
check "FPROF_DISABLED leaves no string and no symbol (C)" nothing_left "$tmp/off.o"
check "FPROF_DISABLED leaves no string and no symbol (C++)" nothing_left "$tmp/offxx.o"
gcc -std=c11 -O2 -c -o "$tmp/empty.o" "$tmp/empty.c"
same_text() {
	[ "$(objdump -d --no-show-raw-insn "$1" | tail -n +4)" = "$(objdump -d --no-show-raw-insn "$2" | tail -n +4)" ]
}
check "FPROF_DISABLED leaves no instruction" same_text "$tmp/off.o" "$tmp/empty.o"
gcc -std=c11 -Iclient -O2 -c -o "$tmp/on.o" "$tmp/use.c"
on_is_seen() {
	! nothing_left "$1" && ! same_text "$1" "$tmp/empty.o"
}
check "without FPROF_DISABLED they are there" on_is_seen "$tmp/on.o"

# A preloaded library that needs a newer libc than the game's runtime has kills the game.
newest_glibc() {
	objdump -T "$1" | sed -n 's/.*GLIBC_\([0-9.]*\)[) ].*/\1/p' | sort -V | tail -n 1
}
old_enough() {
	local newest
	newest=$(newest_glibc "$1")
	echo "needs GLIBC_$newest"
	[ -n "$newest" ] && [ "$(printf '%s\n2.28\n' "$newest" | sort -V | tail -n 1)" = 2.28 ]
}
check "libfprof-preload.so needs nothing newer than GLIBC_2.28" old_enough "$B/libfprof-preload.so"
exit "$failed"
