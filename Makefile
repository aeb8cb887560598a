# SPDX-License-Identifier: MIT
# fprof: `make help` lists the targets. V=1 shows commands; DESTDIR and every directory can be overridden.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/fprof
SYSCONFDIR ?= /etc
UNITDIR    ?= $(PREFIX)/lib/systemd

VERSION := 0.1.0
B       := build
CC      ?= gcc
CXX     ?= g++
NODE    ?= node

CFLAGS   ?= -O2 -g
CXXFLAGS ?= -O2 -g
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CPPFLAGS += -I. -Iclient -D_GNU_SOURCE -DFPROF_VERSION='"$(VERSION)"'
SAN      ?=

ifneq ($(V),1)
Q := @
say = @printf '  %-8s %s\n' $(1) $(2);
endif

DAEMON_PKGS := sqlite3 libmicrohttpd liburing liblz4
TOOL_PKGS   := libcurl jansson
DAEMON_LIBS  = $(shell pkg-config --libs $(DAEMON_PKGS)) -lm -lpthread
TOOL_LIBS    = $(shell pkg-config --libs $(TOOL_PKGS)) -lm

# Modules: every .c in a directory belongs to it.
SHM_SRC     := $(wildcard shm/*.c)
CLIENT_SRC  := $(wildcard client/*.c)
HOOK_SRC    := $(wildcard client/preload/*.c)
TOOL_SRC    := $(wildcard client/tool/*.c)
DAEMON_SRC  := $(wildcard daemon/*.c)
WEB_SRC     := $(wildcard web/*.html web/*.js web/*.css web/*.svg)
UNIT_SRC    := $(wildcard tests/unit/*.c)

# What goes into a game must compile anywhere: C11, no GNU extension beyond builtins, hidden symbols.
CLIENT_OBJ  := $(SHM_SRC:%.c=$(B)/pic/%.o) $(CLIENT_SRC:%.c=$(B)/pic/%.o)
HOOK_OBJ    := $(HOOK_SRC:%.c=$(B)/pic/%.o)
SHM_OBJ     := $(SHM_SRC:%.c=$(B)/%.o)
TOOL_OBJ    := $(TOOL_SRC:%.c=$(B)/%.o)
DAEMON_OBJ  := $(DAEMON_SRC:%.c=$(B)/%.o) $(B)/daemon/assets.o
UNIT_BIN    := $(UNIT_SRC:%.c=$(B)/%)

all: $(B)/fprofd $(B)/fprof $(B)/libfprof.so $(B)/libfprof.a $(B)/libfprof-preload.so $(B)/game

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(SAN) -MMD -MP -c -o $@ $<

$(B)/pic/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(SAN) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/fprofd: $(DAEMON_OBJ) $(SHM_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDFLAGS) $(DAEMON_LIBS)

$(B)/fprof: $(TOOL_OBJ) $(SHM_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDFLAGS) $(TOOL_LIBS)

$(B)/libfprof.so: $(CLIENT_OBJ) client/libfprof.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,libfprof.so.0 -Wl,--version-script=client/libfprof.map -o $@ $(CLIENT_OBJ) $(LDFLAGS) -lpthread
	@ln -sf libfprof.so $(B)/libfprof.so.0

$(B)/libfprof.a: $(CLIENT_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/libfprof-preload.so: $(CLIENT_OBJ) $(HOOK_OBJ) client/preload/preload.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,libfprof-preload.so -Wl,--version-script=client/preload/preload.map -o $@ $(CLIENT_OBJ) $(HOOK_OBJ) $(LDFLAGS) -ldl -lpthread

$(B)/game: examples/game.c $(B)/libfprof.so
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(SAN) -o $@ $< -L$(B) -lfprof -Wl,-rpath,'$$ORIGIN' -lm -lpthread

# The web page and the API description travel inside the daemon.
$(B)/daemon/assets.o: $(WEB_SRC) docs/openapi.yaml schema.sql tools/embed.sh Makefile
	@mkdir -p $(@D)
	$(call say,EMBED,web)
	$(Q)sh tools/embed.sh $(B)/daemon/assets.c $(WEB_SRC) docs/openapi.yaml schema.sql
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) -c -o $@ $(B)/daemon/assets.c

# Unit tests: one program per file, linked with everything but the mains.
$(B)/tests/unit/%: tests/unit/%.c $(filter-out $(B)/daemon/main.o,$(DAEMON_OBJ)) $(B)/libfprof.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(SAN) -MMD -MP -o $@ $< $(filter-out $(B)/daemon/main.o,$(DAEMON_OBJ)) $(B)/libfprof.a $(LDFLAGS) -lcmocka $(DAEMON_LIBS) -ldl

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: all clean
.DELETE_ON_ERROR:
