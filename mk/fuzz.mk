# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make fuzz        every tests/fuzz/fuzz_*.c for FUZZ_SECONDS (5) each, from its corpus in the repository
# make fuzz-long   the same for FUZZ_SECONDS (3600) each; inputs found are kept in $(OUT)/fuzz/corpus
#                  and used again, FUZZ_KEEP=1 adds those that reach something new to tests/fuzz/corpus
#
# FUZZ=name chooses one. Inputs that fail are saved in $(OUT)/fuzz/found. Always clang: libFuzzer, with
# address, leak and undefined behaviour sanitizers. With MODE=san, whose objects have the same flags, those are linked and none is
# compiled twice. Included by the Makefile.

FUZZ_OUT := $(OUT)/fuzz
FUZZ_FLAGS := $(FLAGS_san)
FUZZ_OBJ := $(if $(filter san,$(MODE)),$(OUT),$(FUZZ_OUT)/obj)
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_OUT)/%)
FUZZ_HELP := $(patsubst %.c,$(FUZZ_OUT)/obj/%.o,$(sort $(filter-out $(FUZZ_SRC),$(wildcard tests/fuzz/*.c))))
FUZZ_CC = clang $(ALL_CPPFLAGS) -Isrc $(filter-out -O%,$(ALL_CFLAGS)) $(FUZZ_FLAGS)

.PHONY: fuzz fuzz-build fuzz-long
fuzz-build: $(FUZZ_BIN)

$(FUZZ_OUT)/obj/%.o: %.c Makefile mk/fuzz.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -MMD -MP -c -o $@ $<

$(FUZZ_OUT)/obj/src/report/html_page.o: $(PAGE_PARTS)

# An archive, so that a target may bring its own copy of one file and look inside it.
$(FUZZ_OUT)/libibqos.a: $(LIB_SRC:%.c=$(FUZZ_OBJ)/%.o) $(FUZZ_HELP)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(FUZZ_OUT)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_OUT)/libibqos.a
	$(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $(LDFLAGS) -MMD -MP -o $@ $< $(FUZZ_OUT)/libibqos.a $(LDLIBS)

fuzz: fuzz-build
	$(Q)scripts/fuzz.sh $(FUZZ_OUT) $(or $(FUZZ_SECONDS),5) $(FUZZ)

fuzz-long: fuzz-build
	$(Q)FUZZ_CORPUS=$(FUZZ_OUT)/corpus FUZZ_KEEP=$(FUZZ_KEEP) \
		scripts/fuzz.sh $(FUZZ_OUT) $(or $(FUZZ_SECONDS),3600) $(FUZZ)
