# SPDX-License-Identifier: MIT
# Fuzzers: clang's libFuzzer with the address and undefined sanitizers. Every fuzz_*.c is one input; it is
# linked with the whole daemon but its main, in objects of its own.

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(B)/%)
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_CC  := clang -std=gnu11 $(CPPFLAGS) -O1 -g $(FUZZ_SAN)
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/%.o,$(SHM_SRC) $(filter-out daemon/main.c,$(DAEMON_SRC))) \
	$(B)/daemon/assets.o

fuzzers: $(FUZZ_BIN)

$(B)/fuzz/%.o: %.c Makefile | packages
	@mkdir -p $(@D)
	$(call say,FUZZCC,$<)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(B)/tests/fuzz/%: tests/fuzz/%.c $(FUZZ_OBJ)
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer -MMD -MP -o $@ $< $(FUZZ_OBJ) $(LDFLAGS) $(DAEMON_LIBS)
