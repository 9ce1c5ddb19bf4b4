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

step "build" make -j"$(nproc)" MODE="$MODE" OUT="$out" W=-Werror all unit tools
step "layers" scripts/check-layers.sh
unit_tests "$out/tests"
pytest_suite "command line (tests/cli)" tests/cli
pytest_suite "simulated fabrics (tests/sim)" tests/sim
total
