#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh install|uninstall: called by the Makefile, which passes every directory in the environment.
set -eu

action=$1
cd "$(dirname "$0")/.."

# One file: how install(1) is to make it, from where, to where.
put() { # mode source target
	if [ "$action" = install ]; then
		install -D -m "$1" "$2" "$DESTDIR$3"
	else
		rm -f "$DESTDIR$3"
	fi
}

link() { # target link
	if [ "$action" = install ]; then
		ln -sf "$1" "$DESTDIR$2"
	else
		rm -f "$DESTDIR$2"
	fi
}

# A file with @NAMES@ of the directories in it.
fill() { # source target
	made=$B/install.tmp
	if [ "$action" = install ]; then
		sed -e "s|@PREFIX@|$PREFIX|g; s|@BINDIR@|$BINDIR|g; s|@LIBDIR@|$LIBDIR|g" \
			-e "s|@INCLUDEDIR@|$INCLUDEDIR|g; s|@VERSION@|$VERSION|g; s|@ABI@|$ABI|g" "$1" >"$made"
	fi
	put 644 "$made" "$2"
	rm -f "$made"
}

put 755 "$B/fprofd" "$BINDIR/fprofd"
put 755 "$B/fprof" "$BINDIR/fprof"
put 755 "$B/fprof-probe" "$LIBDIR/fprof-probe"
put 755 "$B/fprof-vulkan" "$LIBDIR/fprof-vulkan"
put 755 "$B/fprof-symbols" "$LIBDIR/fprof-symbols"
put 755 "$B/libfprof-preload.so" "$LIBDIR/libfprof-preload.so"
put 755 "$B/libfprof-alloc.so" "$LIBDIR/libfprof-alloc.so"
put 755 "$B/fprof_sqlite.so" "$LIBDIR/fprof/fprof_sqlite.so"
put 755 "$B/libfprof.so" "$LIBDIR/libfprof.so.$VERSION"
link "libfprof.so.$VERSION" "$LIBDIR/libfprof.so.$ABI"
link "libfprof.so.$ABI" "$LIBDIR/libfprof.so"
put 644 "$B/libfprof.a" "$LIBDIR/libfprof.a"
for header in client/fprof.h client/fprof.hpp client/fprof_*.h; do
	[ ! -f "$header" ] || put 644 "$header" "$INCLUDEDIR/$(basename "$header")"
done
for header in shm/atomic.h shm/clock.h shm/layout.h shm/word.h shm/writer.h; do
	put 644 "$header" "$INCLUDEDIR/fprof/$(basename "$header")"
done
fill tools/pkg/fprof.pc.in "$LIBDIR/pkgconfig/fprof.pc"
fill tools/pkg/fprofConfig.cmake.in "$LIBDIR/cmake/fprof/fprofConfig.cmake"
fill tools/pkg/fprofConfigVersion.cmake.in "$LIBDIR/cmake/fprof/fprofConfigVersion.cmake"
for page in docs/man/*.[1-8]; do
	[ ! -f "$page" ] || put 644 "$page" "$MANDIR/man${page##*.}/$(basename "$page")"
done
for unit in systemd/user/*; do
	[ ! -f "$unit" ] || fill "$unit" "$UNITDIR/user/$(basename "$unit")"
done
for unit in systemd/system/*; do
	[ ! -f "$unit" ] || fill "$unit" "$UNITDIR/system/$(basename "$unit")"
done
for kind in sysusers.d tmpfiles.d; do
	put 644 "systemd/$kind/fprofd.conf" "$PREFIX/lib/$kind/fprofd.conf"
done
for page in README.md LICENSE docs/design.md docs/openapi.yaml schema.sql docs/guide/*.md; do
	[ ! -f "$page" ] || put 644 "$page" "$DOCDIR/$(basename "$page")"
done
# A configuration that the administrator has is theirs.
if [ "$action" = install ] && [ -e "$DESTDIR$SYSCONFDIR/fprofd/fprofd.conf" ]; then
	echo "install: $SYSCONFDIR/fprofd/fprofd.conf is there and stays as it is"
elif [ "$action" = install ]; then
	put 644 docs/fprofd.conf "$SYSCONFDIR/fprofd/fprofd.conf"
	[ "$SYSCONFDIR" = /etc ] ||
		echo "install: fprofd reads ~/.config/fprofd/fprofd.conf or /etc/fprofd/fprofd.conf;" \
			"$SYSCONFDIR/fprofd/fprofd.conf is one to copy"
fi
if [ "$action" = uninstall ]; then
	for dir in "$INCLUDEDIR/fprof" "$LIBDIR/fprof" "$LIBDIR/cmake/fprof" "$DOCDIR"; do
		rmdir "$DESTDIR$dir" 2>/dev/null || true
	done
fi
