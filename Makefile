# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make            build/release/ibqos
# make demo       a simulated fabric with real OpenSM: discover, plan, apply, verify, audit
# make rig        the same fabric and OpenSM, kept running to try things by hand until Ctrl-C; NET=FILE: another
# make check      all tests;  make check-extra: lint, layers, other compilers and sanitizers
# make fuzz       hostile input for FUZZ_SECONDS a target; make fuzz-long: for hours (mk/fuzz.mk)
# make chaos      random faults, SEED= (one, several, or 1-20) and SECONDS= each; check-long takes many seeds
# make bench      ratios against the raw MAD floor and infiniband-diags
# make mutations  plants faults in the program and says which tests see them
# make install    DESTDIR= PREFIX=/usr/local, and a variable for each folder (mk/install.mk); make uninstall
# make deb, rpm   packages (docs/packaging.md)
#
# MODE=release|debug|san picks flags and folder; CC=clang and OUT=folder go with any of them.
# V=1 shows commands. W=-Werror makes warnings fatal (CI does). CPPFLAGS, CFLAGS and LDFLAGS of the environment or the
# command line come after the project's own flags.

VERSION := 0.1.0
MODE ?= release
OUT ?= build/$(MODE)
# One spelling, or the dependencies that one call noted mean nothing to the next one.
override OUT := $(abspath $(OUT))
PYTHON ?= /usr/bin/python3
PKG_CONFIG ?= pkg-config
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# The sanitizer build needs its runtime linked in, since tests preload the simulator before it.
ifeq ($(MODE),san)
CC := clang
endif
# Not where a packager's flags choose another one, or none for want of -O.
FORTIFY := $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS))$(filter -O0,$(CFLAGS)),,-D_FORTIFY_SOURCE=2)
# No path of the build in the program, so that two builds in two places are the same.
FLAGS_release := -O2 $(FORTIFY) -ffile-prefix-map=$(CURDIR)=.
FLAGS_debug := -O0 -g3
# What fuzzers need is in there too (mk/fuzz.mk).
FLAGS_san := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined,local-bounds -fno-sanitize-recover=all

PKGS := libibnetdisc libibmad libibumad yaml-0.1 json-c smartcols zlib libmd libzstd libcap
ALL_CPPFLAGS := -Iinclude -D_GNU_SOURCE -DIBQOS_VERSION='"$(VERSION)"' $(CPPFLAGS)
ALL_CFLAGS := -std=c17 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla -g $(W) $(FLAGS_$(MODE)) $(CFLAGS)
LDLIBS += $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null) -lm

LIB_SRC := $(sort $(filter-out src/cmd/%,$(wildcard src/*/*.c)))
CMD_SRC := $(sort src/main.c $(wildcard src/cmd/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(OUT)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(OUT)/%.o)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(OUT)/tests/%)
UNIT_HELP := $(patsubst %.c,$(OUT)/%.o,$(sort $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))))
OVERLAY := $(OUT)/tests/overlay.so
PAGE := $(OUT)/tests/page
FLOOR := $(OUT)/tests/floor $(OUT)/tests/floor_walk
# A second ibqos for the tests, which can be made to fail at each step (include/ibqos/faultpoint.h).
FAULT := $(OUT)/tests/ibqos-fault
FAULT_OBJ := $(patsubst %.c,$(OUT)/fault/%.o,$(sort $(shell grep -l 'ibqos/faultpoint.h' $(LIB_SRC))))

.PHONY: all lib unit tools completion demo rig check check-extra check-long chaos check-layers bench mutations deps man policy-docs clean format
.DELETE_ON_ERROR:

all: $(OUT)/ibqos
lib: $(OUT)/libibqos.a
unit: $(UNIT_BIN)
tools: $(OVERLAY) $(FLOOR) $(FAULT) $(PAGE)

$(OUT)/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# It holds the page's style and script (.incbin).
PAGE_PARTS := $(sort $(wildcard src/report/*.css src/report/*.js))
$(OUT)/src/report/html_page.o: $(PAGE_PARTS)

$(OUT)/libibqos.a: $(LIB_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(OUT)/ibqos: $(CMD_OBJ) $(OUT)/libibqos.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(OUT)/tests/%: tests/unit/%.c $(UNIT_HELP) $(OUT)/libibqos.a
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Itests/unit $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(UNIT_HELP) $(OUT)/libibqos.a -lcmocka $(LDLIBS)

$(OVERLAY): $(wildcard tests/tools/overlay/*.c tests/tools/overlay/*.h) Makefile
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -g -O2 -fPIC -shared -o $@ $(filter %.c,$^) -libmad -ldl -lpthread

$(FLOOR): $(OUT)/tests/%: tests/bench/%.c Makefile
	$(call say,TOOL,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -o $@ $< $(LDLIBS)

$(PAGE): tests/tools/page.c tests/tools/page_fabric.c tests/unit/images.c $(OUT)/libibqos.a
	$(call say,TOOL,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -Itests/unit -o $@ $(filter %.c %.a,$^) -lcmocka $(LDLIBS)

$(OUT)/fault/%.o: %.c Makefile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) -DIBQOS_FAULT_POINTS $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The objects named here take the place of those in the archive.
$(FAULT): $(CMD_OBJ) $(FAULT_OBJ) $(OUT)/libibqos.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

deps:
	$(Q)scripts/deps.sh

demo:
	$(Q)scripts/deps.sh --for-tests
	$(Q)$(MAKE) --no-print-directory all tools
	$(Q)OUT=$(OUT) scripts/simulated.sh demo

rig:
	$(Q)scripts/deps.sh --for-tests
	$(Q)$(MAKE) --no-print-directory all tools
	$(Q)OUT=$(OUT) scripts/simulated.sh rig $(NET)

check:
	$(Q)scripts/deps.sh --for-tests
	$(Q)OUT=$(OUT) MODE=$(MODE) scripts/check.sh

check-extra:
	$(Q)scripts/deps.sh --for-tests
	$(Q)scripts/check-extra.sh

chaos:
	$(Q)scripts/deps.sh --for-tests
	$(Q)$(MAKE) --no-print-directory all tools
	$(Q)OUT=$(OUT) scripts/chaos.sh "$(SEED)" "$(or $(SECONDS),60)"

check-long:
	$(Q)scripts/deps.sh --for-tests
	$(Q)OUT=$(OUT) MODE=$(MODE) SEED="$(SEED)" SECONDS_EACH="$(SECONDS)" FUZZ_SECONDS="$(FUZZ_SECONDS)" scripts/check-long.sh

check-layers:
	$(Q)scripts/check-layers.sh

bench:
	$(Q)scripts/deps.sh --for-tests
	$(Q)$(MAKE) --no-print-directory all tools
	$(Q)IBQOS_BIN=$(OUT)/ibqos IBQOS_OVERLAY=$(OUT)/tests/overlay.so BENCH_HOSTS="$(BENCH_HOSTS)" $(PYTHON) tests/bench/bench.py $(BENCH_ARGS)
	$(Q)IBQOS_BIN=$(OUT)/ibqos IBQOS_OVERLAY=$(OUT)/tests/overlay.so $(PYTHON) tests/bench/rails.py
	$(Q)IBQOS_BIN=$(OUT)/ibqos IBQOS_OVERLAY=$(OUT)/tests/overlay.so $(PYTHON) tests/bench/rails_files.py --hosts 650
	$(Q)IBQOS_BIN=$(OUT)/ibqos $(PYTHON) tests/bench/job_log.py $(or $(BENCH_LOG_MB),1000) $(OUT)/ibqos

# Faults planted in the program, each of which a unit test must see.
mutations:
	$(Q)scripts/deps.sh --for-tests
	$(Q)$(PYTHON) tests/mutations/mutations.py $(MUTATIONS)

MAN_PAGES := $(patsubst docs/man/%.rst,$(OUT)/man/%,$(sort $(wildcard docs/man/*.rst))) $(OUT)/man/ibqos-findings.7
man: $(MAN_PAGES)
$(OUT)/man/%: docs/man/%.rst $(wildcard docs/man/shared/*.rst)
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)rst2man --halt=warning $< $@

# Of the table of codes in include/ibqos/finding_codes.def.
$(OUT)/man/ibqos-findings.7: $(OUT)/ibqos
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$(OUT)/ibqos lint --findings >$@.rst
	$(Q)rst2man --halt=warning $@.rst $@

# For shells, of the tables of commands and options.
completion: $(OUT)/completion/ibqos.bash $(OUT)/completion/_ibqos
$(OUT)/completion/ibqos.bash $(OUT)/completion/_ibqos: $(OUT)/ibqos
	$(call say,SHELL,$@)
	@mkdir -p $(@D)
	$(Q)$(OUT)/ibqos --completion=$(if $(filter %.bash,$@),bash,zsh) >$@

# The manual pages and schemas of policy and site file are made of the tables that read them; tests/cli holds them up to date.
policy-docs: $(OUT)/ibqos
	$(OUT)/ibqos lint --manual >docs/man/ibqos-policy.5.rst
	$(OUT)/ibqos lint --schema >docs/policy.schema.json
	$(OUT)/ibqos lint --site-manual >docs/man/ibqos-site.5.rst
	$(OUT)/ibqos lint --site-schema >docs/site.schema.json
	$(OUT)/ibqos lint --change-schema >docs/changes.schema.json

clean:
	rm -rf build

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

include mk/fuzz.mk mk/coverage.mk mk/plugin.mk mk/install.mk mk/packages.mk

-include $(shell find $(OUT) -path $(OUT)/packages -prune -o -name '*.d' -type f -print 2>/dev/null)
