# SPDX-License-Identifier: MIT
# Programs of the stress tests: a game that misbehaves as it is told, and the library under ThreadSanitizer.

TSAN_SRC := tests/stress/tsan_ring.c $(SHM_SRC) $(CLIENT_SRC)

stress: $(B)/tests/stress/misbehave $(B)/tests/stress/tsan_ring

$(B)/tests/stress/misbehave: tests/stress/misbehave.c $(B)/libfprof.so
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(COMPILE) -MMD -MP -o $@ $< -L$(B) -lfprof -Wl,-rpath,$(abspath $(B)) $(LDFLAGS) -lpthread

# -Wno-tsan: it does not model fences, which it says for each; spin does (tests/model).
$(B)/tests/stress/tsan_ring: $(TSAN_SRC) $(wildcard shm/*.h client/*.h)
	@mkdir -p $(@D)
	$(call say,TSAN,$@)
	$(Q)$(COMPILE) -O1 -fsanitize=thread -Wno-tsan -Wno-unused-function -o $@ $(TSAN_SRC) -lpthread -ldl -lm
