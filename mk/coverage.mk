# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make coverage   which lines of src/ the tests run: gcc --coverage, unit, cli and sim tests, a table by
#                 folder and the largest blocks that nothing ran. COVERAGE_TESTS=unit: those alone.
#
# Each process adds its counters to the .gcda files beside the objects when it ends, under a lock, so
# tests may run side by side. Included by the Makefile.

COVERAGE_OUT := $(OUT)/coverage

.PHONY: coverage
coverage:
	$(Q)scripts/deps.sh --for-tests
	$(Q)$(MAKE) --no-print-directory MODE=debug OUT=$(COVERAGE_OUT) CC=gcc W='--coverage -fprofile-abs-path' \
		LDFLAGS=--coverage all unit tools
	$(Q)scripts/coverage.sh $(COVERAGE_OUT) $(or $(COVERAGE_TESTS),unit cli sim)
