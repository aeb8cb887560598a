# SPDX-License-Identifier: MIT
# What `make bench` runs: the recording path in a game, the drain by itself, and the example game in the variants of
# the table.

BENCH_GAME = $(COMPILE) -std=c11 -o $@ examples/game.c

benches: $(addprefix $(B)/tests/bench/,bench_zone bench_rate bench_drain bench_check bench_read bench_vprof bench_switch game_zones game_off)

$(B)/tests/bench/bench_zone $(B)/tests/bench/bench_rate: $(B)/tests/bench/%: tests/bench/%.c $(B)/libfprof.so
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(COMPILE) -o $@ $< -L$(B) -lfprof -Wl,-rpath,$(abspath $(B)) $(LDFLAGS) -lpthread -lm

$(B)/tests/bench/bench_drain $(B)/tests/bench/bench_check $(B)/tests/bench/bench_read $(B)/tests/bench/bench_vprof: $(B)/tests/bench/%: tests/bench/%.c $(B)/libfprofd.a
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(COMPILE) -o $@ $< $(B)/libfprofd.a $(LDFLAGS) $(DAEMON_LIBS)

# A game that is its own daemon's helper's reader: it finds the helper beside itself.
$(B)/tests/bench/bench_switch: tests/bench/bench_switch.c $(B)/libfprofd.a $(B)/libfprof.a $(B)/fprof-probe
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(COMPILE) -o $@ $< $(B)/libfprofd.a $(B)/libfprof.a $(LDFLAGS) $(DAEMON_LIBS) -ldl
	@ln -sf $(abspath $(B))/fprof-probe $(@D)/fprof-probe

$(B)/tests/bench/game_zones: examples/game.c tests/bench/zones_only.h $(B)/libfprof.so
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(BENCH_GAME) -include tests/bench/zones_only.h -L$(B) -lfprof -Wl,-rpath,$(abspath $(B)) $(LDFLAGS) -lm -lpthread

$(B)/tests/bench/game_off: examples/game.c $(wildcard client/*.h shm/*.h)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(BENCH_GAME) -DFPROF_DISABLED $(LDFLAGS) -lm -lpthread
