# SPDX-License-Identifier: MIT
# fprof: `make help` lists the targets. V=1 shows commands; DESTDIR and every directory can be overridden.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/fprof
# A prefix of one's own keeps its configuration below itself.
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX:/=)),,$(PREFIX))/etc
UNITDIR    ?= $(PREFIX)/lib/systemd

VERSION := 0.1.0
ABI     := 0
B       := build
OBJCOPY ?= objcopy
CLANG   ?= clang
SAN     ?=
ifeq ($(origin CC),default)
CC      := gcc
endif
ifeq ($(origin CXX),default)
CXX     := g++
endif

CFLAGS   ?= -O2 -g
CXXFLAGS ?= -O2 -g
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wvla
CWARN    := $(WARN) -Wstrict-prototypes -Wmissing-prototypes
CPPFLAGS += -I. -Iclient -D_GNU_SOURCE -DFPROF_VERSION='"$(VERSION)"' -DFPROF_LIBDIR='"$(LIBDIR)"'
COMPILE  = $(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(CWARN) $(SAN)

ifneq ($(V),1)
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

DAEMON_PKGS := sqlite3 libmicrohttpd liburing liblz4 libxxhash zlib jansson
TOOL_PKGS   := libcurl jansson
DAEMON_LIBS  = -Wl,--as-needed $(shell pkg-config --libs $(DAEMON_PKGS)) -lm -lpthread
TOOL_LIBS    = -Wl,--as-needed $(shell pkg-config --libs $(TOOL_PKGS)) -lm

# Modules: every .c in a directory belongs to it.
SHM_SRC    := $(wildcard shm/*.c)
CLIENT_SRC := $(wildcard client/*.c)
HOOK_SRC   := $(wildcard client/preload/*.c)
TOOL_SRC   := $(wildcard client/tool/*.c)
DAEMON_SRC := $(wildcard daemon/*.c)
PROBE_OBJ  := $(patsubst %.c,$(B)/%.o,$(filter-out %.bpf.c,$(wildcard daemon/probe/*.c)))
WEB_SRC    := $(wildcard web/*.html web/*.js web/*.css web/*.svg web/vendor/*.js web/vendor/*.css)
UNIT_SRC   := $(wildcard tests/unit/*.c)
UNIT_CXX   := $(wildcard tests/unit/*.cpp)

# What goes into a game has hidden symbols and is position independent.
CLIENT_OBJ := $(SHM_SRC:%.c=$(B)/pic/%.o) $(CLIENT_SRC:%.c=$(B)/pic/%.o)
HOOK_OBJ   := $(HOOK_SRC:%.c=$(B)/pic/%.o)
SHM_OBJ    := $(SHM_SRC:%.c=$(B)/%.o)
TOOL_OBJ   := $(TOOL_SRC:%.c=$(B)/%.o)
DAEMON_OBJ := $(DAEMON_SRC:%.c=$(B)/%.o) $(B)/daemon/assets.o
# The loadable extension: what decodes chunks, without the rest of the daemon.
SQLITE_SRC := $(wildcard daemon/vtab*.c daemon/extension/*.c) $(addprefix daemon/,chunk.c chunk_build.c json.c vec.c)
SQLITE_OBJ := $(SQLITE_SRC:%.c=$(B)/extension/%.o) $(SHM_SRC:%.c=$(B)/pic/%.o)
DAEMON_LIB := $(filter-out $(B)/daemon/main.o,$(DAEMON_OBJ))
UNIT_BIN   := $(UNIT_SRC:%.c=$(B)/%) $(UNIT_CXX:%.cpp=$(B)/%)

all: $(B)/fprofd $(B)/fprof $(B)/fprof-probe $(B)/fprof-vulkan $(B)/fprof-symbols $(B)/libfprof.so $(B)/libfprof.a $(B)/libfprof-preload.so $(B)/libfprof-alloc.so $(B)/fprof_sqlite.so $(B)/game

$(B)/%.o: %.c Makefile | packages
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(B)/pic/%.o: %.c Makefile | packages
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/fprofd: $(DAEMON_OBJ) $(SHM_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDFLAGS) $(DAEMON_LIBS)

# The self test records, so the library is in it.
$(B)/fprof: $(TOOL_OBJ) $(B)/libfprof.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDFLAGS) $(TOOL_LIBS)

$(B)/libfprof.so: $(CLIENT_OBJ) client/libfprof.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,libfprof.so.$(ABI) -Wl,-z,nodelete \
		-Wl,--version-script=client/libfprof.map -o $@ $(CLIENT_OBJ) $(LDFLAGS) -lpthread
	@ln -sf libfprof.so $(B)/libfprof.so.$(ABI)

# One object whose internal names are local: a game may have a memory_free of its own. What
# client/glibc.h pins to an old version goes by its plain name: a static link has no versions.
PINNED      := pthread_key_create pthread_key_delete pthread_setspecific
PINNED_TO    = $(if $(filter aarch64-%,$(shell $(CC) -dumpmachine)),GLIBC_2.17,GLIBC_2.2.5)
PLAIN_NAMES  = $(foreach f,$(PINNED),--redefine-sym $(f)@$(PINNED_TO)=$(f))

$(B)/libfprof.a: $(CLIENT_OBJ)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(B)/libfprof.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(PLAIN_NAMES) $(B)/libfprof.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/libfprof.o

$(B)/libfprof-preload.so: $(CLIENT_OBJ) $(HOOK_OBJ) client/preload/preload.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,libfprof-preload.so -Wl,-Bsymbolic -Wl,-z,nodelete \
		-Wl,--version-script=client/preload/preload.map -o $@ \
		$(CLIENT_OBJ) $(HOOK_OBJ) $(LDFLAGS) -ldl -lpthread

# -fno-builtin: a wrapper of calloc must not become a call of calloc. A sanitizer would call it from within.
$(B)/pic/client/alloc/alloc.o: COMPILE += -fno-builtin
$(B)/pic/client/alloc/alloc.o $(B)/pic/client/preload/elf.o: COMPILE += -fno-sanitize=all
$(B)/libfprof-alloc.so: $(B)/pic/client/alloc/alloc.o $(B)/pic/client/preload/elf.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libfprof-alloc.so -Wl,-z,nodelete -o $@ $^ $(LDFLAGS)

# The kernel programs, and the privileged helper that has them inside.
BPF_ARCH = $(patsubst aarch64-%,arm64,$(patsubst x86_64-%,x86,$(shell $(CC) -dumpmachine)))
BPF_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard daemon/probe/*.bpf.c))
$(B)/daemon/probe/%.bpf.o: daemon/probe/%.bpf.c daemon/probe/event.h Makefile | packages
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) -O2 -g -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -I/usr/include/$(shell $(CC) -print-multiarch) \
		-Wall -c -o $@ $<

$(B)/fprof-probe: $(PROBE_OBJ) $(BPF_OBJ)
	$(call say,LD,$@)
	$(Q)for f in $(BPF_OBJ); do n=$$(basename $$f .bpf.o)_object; \
		printf '.section .rodata\n.global %s, %s_end\n.balign 16\n%s: .incbin "%s"\n%s_end:\n' $$n $$n $$n $$f $$n; \
		done >$(B)/daemon/probe/object.S
	$(Q)printf '.section .note.GNU-stack,"",%%progbits\n' >>$(B)/daemon/probe/object.S
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $(PROBE_OBJ) $(B)/daemon/probe/object.S $(LDFLAGS) \
		$(shell pkg-config --libs libbpf libelf)

# Asks the Vulkan drivers of a game, as its user.
VULKAN_OBJ := $(B)/daemon/vulkan/main.o $(B)/daemon/probe/symbols.o
$(B)/fprof-vulkan: $(VULKAN_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDFLAGS) $(shell pkg-config --libs libelf) -ldl

# Reads the symbols of a game's files. Its one use of libstdc++ is the demangler.
SYMBOLS_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard daemon/symbols/*.c)) $(B)/daemon/query_sandbox.o
$(B)/fprof-symbols: $(SYMBOLS_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDFLAGS) $(shell pkg-config --libs libelf) -lstdc++

$(B)/game: examples/game.c $(B)/libfprof.so
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) $(CWARN) $(SAN) -o $@ $< \
		-L$(B) -lfprof -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) -lm -lpthread

# SQLite hands a loadable extension its functions: nothing is linked for them.
$(B)/extension/%.o: %.c Makefile | packages
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -DFPROF_EXTENSION -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/fprof_sqlite.so: $(SQLITE_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,fprof_sqlite.so -o $@ $^ $(LDFLAGS) \
		-Wl,--as-needed $(shell pkg-config --libs liblz4 libxxhash) -lm

# The web page, the API description and the schema travel inside the daemon.
$(B)/daemon/assets.o: $(WEB_SRC) docs/openapi.yaml schema.sql tools/embed.sh Makefile | packages
	@mkdir -p $(@D)
	$(call say,EMBED,$@)
	$(Q)sh tools/embed.sh $(B)/daemon/assets.c $(WEB_SRC) docs/openapi.yaml schema.sql
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) -c -o $@ $(B)/daemon/assets.c

# What tests, fuzzers and benches link: the daemon without its main.
$(B)/libfprofd.a: $(DAEMON_LIB) $(SHM_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Unit tests: one program a file; those of the client library see its inside instead. Sanitizers look at what is tested,
# and at addresses in the test.
units: $(UNIT_BIN)
$(UNIT_BIN): private COMPILE += $(if $(SAN),-O0 -fno-sanitize=undefined -lubsan)

$(B)/tests/unit/test_client_%: tests/unit/test_client_%.c $(CLIENT_OBJ)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(COMPILE) -MMD -MP -o $@ $< $(CLIENT_OBJ) $(LDFLAGS) -lcmocka -lpthread -ldl -lm

$(B)/tests/unit/%: tests/unit/%.c $(B)/libfprofd.a $(B)/libfprof.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(COMPILE) -MMD -MP -o $@ $< $(B)/libfprofd.a $(B)/libfprof.a $(LDFLAGS) -lcmocka $(DAEMON_LIBS) -ldl

$(B)/tests/unit/%: tests/unit/%.cpp $(B)/libfprof.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CXX) -std=c++17 $(CPPFLAGS) $(CXXFLAGS) $(WARN) $(SAN) -MMD -MP -o $@ $< \
		$(B)/libfprof.a $(LDFLAGS) -lcmocka -lpthread -ldl

include tests/fuzz/fuzz.mk
include tests/stress/stress.mk
include tests/bench/bench.mk

# What the tests run under the address and undefined behaviour sanitizers (tests/sanitized.sh). Three checks of pointers
# are left out: using what they would find is found by the address sanitizer, and they take a third of compiling.
sanitized:
	@$(MAKE) --no-print-directory B=$(B)/asan SAN='-fsanitize=address,undefined -fno-sanitize=null,object-size,pointer-overflow -fno-sanitize-recover=undefined' \
		CFLAGS='-O1 -g1' CXXFLAGS='-O1 -g1' all units replays $(B)/asan/tests/stress/misbehave

packages:
	@sh tools/need.sh --check build

run:
	@sh tools/need.sh build run
	@$(MAKE) --no-print-directory -j"$$(nproc)" all
	@B=$(B) bash tools/run.sh

check:
	@sh tools/need.sh build run check
	@MAKE="$(MAKE)" bash tests/run.sh

lint:
	@sh tools/need.sh build check
	@bash tests/lint/lint.sh

bench:
	@sh tools/need.sh build run bench
	@$(MAKE) --no-print-directory -j"$$(nproc)" all benches
	@B=$(B) bash tests/bench/run.sh

fuzz:
	@sh tools/need.sh build check
	@$(MAKE) --no-print-directory -j"$$(nproc)" fuzzers
	@B=$(B) bash tests/fuzz/fuzz.sh

screenshots:
	@sh tools/need.sh build run check
	@$(MAKE) --no-print-directory -j"$$(nproc)" all
	@npm ci --prefix tests --no-audit --no-fund >/dev/null
	@FPROF_SHOTS=docs/img FPROF_BUILD=$(B) node --test --test-reporter=./tests/reporter.mjs \
		tests/browser/panels.test.mjs

install: all
	@B=$(B) VERSION=$(VERSION) ABI=$(ABI) PREFIX=$(PREFIX) BINDIR=$(BINDIR) LIBDIR=$(LIBDIR) \
		INCLUDEDIR=$(INCLUDEDIR) MANDIR=$(MANDIR) DOCDIR=$(DOCDIR) SYSCONFDIR=$(SYSCONFDIR) \
		UNITDIR=$(UNITDIR) DESTDIR=$(DESTDIR) sh tools/install.sh install

uninstall:
	@B=$(B) VERSION=$(VERSION) ABI=$(ABI) PREFIX=$(PREFIX) BINDIR=$(BINDIR) LIBDIR=$(LIBDIR) \
		INCLUDEDIR=$(INCLUDEDIR) MANDIR=$(MANDIR) DOCDIR=$(DOCDIR) SYSCONFDIR=$(SYSCONFDIR) \
		UNITDIR=$(UNITDIR) DESTDIR=$(DESTDIR) sh tools/install.sh uninstall

clean:
	rm -rf $(B)

help:
	@echo 'make            build into $(B)/: fprofd, fprof, fprof-probe, fprof-symbols, libfprof.so, libfprof.a,'
	@echo '                libfprof-preload.so, libfprof-alloc.so, fprof_sqlite.so, game'
	@echo 'make run        install what is missing, build, record two games, print the addresses; Ctrl-C ends it'
	@echo '                (RUN_ONCE=1: end after printing)'
	@echo 'make check      install what the tests need, run all of them (TESTS=pattern: only those)'
	@echo 'make lint       format, static checks and rules of the tree (part of check)'
	@echo 'make bench      measure what recording costs'
	@echo 'make fuzz       fuzz each input (FUZZ_SECONDS=60 each)'
	@echo 'make screenshots write those of docs/img/ anew'
	@echo 'make install    DESTDIR, PREFIX, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR, SYSCONFDIR, UNITDIR'
	@echo 'make uninstall  the same'
	@echo 'make clean      remove $(B)/'
	@echo 'V=1 shows commands; B=DIR builds elsewhere; SAN=-fsanitize=address,undefined builds with sanitizers'

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: all units sanitized fuzzers replays stress benches packages run check lint bench fuzz screenshots install uninstall clean help
.DELETE_ON_ERROR:
