#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make check: builds without warnings, then layers, unit tests, command line tests, tests on simulated
# fabrics. One line a suite; the last line counts all tests. OUT and MODE as in the Makefile.
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
fence "$@"
MODE=${MODE:-release}
out=$(realpath -m "${OUT:-build/$MODE}")
export IBQOS_BIN=$out/ibqos IBQOS_OVERLAY=$out/tests/overlay.so

# A global function that has the name of one in a library that we use takes its place inside that library too
# (libyaml calls its own yaml_free by name).
symbols_are_ours() {
	local both
	both=$(comm -12 <(nm --defined-only --extern-only "$out/libibqos.a" | awk 'NF == 3 {print $3}' | sort -u) \
		<(ldd "$out/ibqos" | awk '$3 ~ /^\// {print $3}' | xargs nm -D --defined-only | awk 'NF == 3 {sub(/@.*/, "", $3); print $3}' | sort -u))
	[ -z "$both" ] || { echo "defined by ibqos and by a library it uses:" $both; return 1; }
}

step "build" make -j"$(nproc)" MODE="$MODE" OUT="$out" W=-Werror all unit tools
if [ $failed -ne 0 ]; then # nothing behind it would tell more
	total
	exit 1
fi
step "layers" scripts/check-layers.sh
step "symbols" symbols_are_ours
unit_tests "$out/tests"
pytest_suite "command line (tests/cli)" tests/cli
pytest_suite "simulated fabrics (tests/sim)" tests/sim
total
