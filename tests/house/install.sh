#!/bin/bash
# SPDX-License-Identifier: MIT
# An installed fprof: programs build against it by pkg-config (shared, static) and by CMake, and uninstall leaves nothing.
set -uo pipefail

. "$(dirname "$0")/../tap.sh"
root=$tmp/root

here_make() {
	make --no-print-directory B="$B" PREFIX=/usr DESTDIR="$root" "$@"
}
check "make install into DESTDIR" here_make install

cat >"$tmp/use.c" <<'END'
#include <fprof.h>
#include <stdio.h>
int main(void)
{
	FPROF_ZONE("installed");
	fprof_frame_mark();
	return puts("drew") < 0;
}
END
sed 's/fprof\.h/fprof.hpp/' "$tmp/use.c" >"$tmp/use.cpp"

# The installed headers are found by what the .pc file says, not by where this tree is.
flags() {
	PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
		PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config "$@" fprof
}
shared_c() {
	# shellcheck disable=SC2046
	gcc -std=c11 -o "$tmp/shared" "$tmp/use.c" $(flags --cflags --libs) &&
		objdump -p "$tmp/shared" | grep -q 'NEEDED.*libfprof\.so\.0$' &&
		[ "$(cd "$tmp" && LD_LIBRARY_PATH=$root/usr/lib ./shared)" = drew ]
}
shared_cxx() {
	# shellcheck disable=SC2046
	g++ -std=c++17 -o "$tmp/sharedxx" "$tmp/use.cpp" $(flags --cflags --libs) &&
		[ "$(cd "$tmp" && LD_LIBRARY_PATH=$root/usr/lib ./sharedxx)" = drew ]
}
static_c() {
	# shellcheck disable=SC2046
	gcc -std=c11 -o "$tmp/static" "$tmp/use.c" $(flags --cflags) \
		-Wl,-Bstatic $(flags --static --libs | sed 's/-lpthread//') -Wl,-Bdynamic -lpthread &&
		! objdump -p "$tmp/static" | grep -q libfprof &&
		[ "$(cd "$tmp" && ./static)" = drew ]
}
check "a C program builds by pkg-config, shared" shared_c
check "a C++ program builds by pkg-config, shared" shared_cxx
check "a C program builds by pkg-config, static" static_c

static_all() {
	# shellcheck disable=SC2046
	gcc -std=c11 -static -o "$tmp/static_all" "$tmp/use.c" $(flags --cflags) $(flags --static --libs) &&
		[ "$(cd "$tmp" && ./static_all)" = drew ]
}
check "a C program builds without any shared library" static_all

mkdir "$tmp/cmake"
cat >"$tmp/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(use C)
find_package(fprof 0.1 REQUIRED)
add_executable(shared ../use.c)
target_link_libraries(shared fprof::fprof)
add_executable(static ../use.c)
target_link_libraries(static fprof::fprof_static)
END
by_cmake() {
	cmake -S "$tmp/cmake" -B "$tmp/cmake/out" -DCMAKE_PREFIX_PATH="$root/usr" &&
		cmake --build "$tmp/cmake/out" &&
		[ "$("$tmp/cmake/out/shared")" = drew ] && [ "$("$tmp/cmake/out/static")" = drew ]
}
check "programs build by CMake, shared and static" by_cmake

runs_installed() {
	[ "$("$root/usr/bin/fprofd" --version)" = "fprofd $(sed -n 's/^VERSION := //p' Makefile)" ] &&
		"$root/usr/bin/fprof" --help >/dev/null
}
check "the installed programs run" runs_installed
# The hook is found beside the library directory that the tool was built for, or beside the tool.
check "units and a configuration are installed" test -e "$root/etc/fprofd/fprofd.conf" -a \
	-e "$root/usr/lib/systemd/user/fprofd.service" -a -e "$root/usr/lib/systemd/system/fprofd.service"
check "the system-wide daemon's user and directories are installed" test -e "$root/usr/lib/sysusers.d/fprofd.conf" -a \
	-e "$root/usr/lib/tmpfiles.d/fprofd.conf"
check "man pages are installed" test -e "$root/usr/share/man/man1/fprof.1" -a -e "$root/usr/share/man/man8/fprofd.8"

check "make uninstall" here_make uninstall
left() {
	local files
	files=$(find "$root" ! -type d ! -path '*/etc/fprofd/fprofd.conf')
	printf '%s\n' "$files"
	[ -z "$files" ]
}
check "make uninstall leaves only the configuration" left

# Where the configuration goes with a prefix, by default.
etc_of() { # prefix
	# shellcheck disable=SC2016 # make expands it
	make --no-print-directory -s --eval 'show-etc: ; @echo $(SYSCONFDIR)' show-etc PREFIX="$1"
}
etc_is_of_the_prefix() {
	[ "$(etc_of /usr)" = /etc ] && [ "$(etc_of /usr/)" = /etc ] && [ "$(etc_of /usr/local)" = /etc ] &&
		[ "$(etc_of /opt/fprof)" = /opt/fprof/etc ]
}
check "a prefix of one's own has its own etc" etc_is_of_the_prefix

own=$tmp/home/.local
own_make() {
	make --no-print-directory B="$B" PREFIX="$own" "$@"
}
in_a_home() {
	local before after
	before=$(ls -la /etc/fprofd 2>&1)
	own_make install || return 1
	after=$(ls -la /etc/fprofd 2>&1)
	[ "$before" = "$after" ] && [ -e "$own/etc/fprofd/fprofd.conf" ] && "$own/bin/fprofd" --version
}
check "make install into a home touches nothing else" in_a_home
left_at_home() {
	own_make uninstall || return 1
	[ "$(find "$own" ! -type d)" = "$own/etc/fprofd/fprofd.conf" ]
}
check "make uninstall from a home leaves only the configuration" left_at_home
exit "$failed"
