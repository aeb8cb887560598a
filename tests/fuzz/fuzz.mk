# SPDX-License-Identifier: MIT
# Fuzzers: clang's libFuzzer with the address and undefined sanitizers. Every fuzz_*.c is one input; it is
# linked with the daemon's modules, in objects of its own.

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(B)/%)
REPLAY   := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(B)/tests/fuzz/replay_%)
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_CC  := clang -std=gnu11 $(CPPFLAGS) -O1 -g $(FUZZ_SAN)
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/%.o,$(SHM_SRC) $(filter-out daemon/main.c,$(DAEMON_SRC))) \
	$(B)/daemon/assets.o

fuzzers: $(FUZZ_BIN)

$(B)/fuzz/%.o: %.c Makefile | packages
	@mkdir -p $(@D)
	$(call say,FUZZCC,$<)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(B)/fuzz/libfprofd.a: $(FUZZ_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/tests/fuzz/%: tests/fuzz/%.c $(B)/fuzz/libfprofd.a
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer -MMD -MP -o $@ $< $(B)/fuzz/libfprofd.a $(LDFLAGS) $(DAEMON_LIBS)

# What goes through the corpora in a test needs neither libFuzzer nor objects of its own.
replays: $(REPLAY)

.SECONDARY: $(B)/tests/fuzz/replay.o

$(B)/tests/fuzz/replay_%: tests/fuzz/fuzz_%.c $(B)/tests/fuzz/replay.o $(B)/libfprofd.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(COMPILE) -MMD -MP -o $@ $< $(B)/tests/fuzz/replay.o $(B)/libfprofd.a $(LDFLAGS) $(DAEMON_LIBS)
