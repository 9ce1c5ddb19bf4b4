#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make check-long: what takes hours. Each fuzzer for FUZZ_SECONDS (3600), from the inputs that earlier runs
# found; the property tests with IBQOS_CASES (30) times their cases; lost MADs with IBQOS_FAULT_SEEDS (200)
# seeds; chaos with the seeds SEED (1-30), SECONDS (120) each. With the defaults about seven hours on two cores.
# OUT and MODE as in the Makefile; what failed is named, and kept where a run of its own would keep it.
chaos_seconds=${SECONDS_EACH:-120} # not SECONDS, which the shell counts up
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
fence "$@"
MODE=${MODE:-release}
out=$(realpath -m "${OUT:-build/$MODE}")
export IBQOS_BIN=$out/ibqos IBQOS_OVERLAY=$out/tests/overlay.so

step "build" make -j"$(nproc)" MODE="$MODE" OUT="$out" all unit tools fuzz-build
if [ $failed -ne 0 ]; then
	total
	exit 1
fi
EXTRA_ALL=1 OUT=$out/extra counted scripts/check-extra.sh
step "Debian packages, with their tests" env -u IBQOS_BIN -u IBQOS_OVERLAY OUT="$out/long" scripts/package.sh deb
step "RPM packages, with their tests" env -u IBQOS_BIN -u IBQOS_OVERLAY OUT="$out/long" RPMBUILD_OPTIONS=--nodeps scripts/package.sh rpm
echo "property tests, ${IBQOS_CASES:=30} times their cases:"
export IBQOS_CASES
UNIT_TIMEOUT=7200 unit_tests "$out/tests"
pytest_suite "random policies on OpenSM" tests/sim/test_plan_random.py
pytest_suite "random fabrics, routes and tables by brute force" tests/sim/test_paths.py
export IBQOS_FAULT_SEEDS=${IBQOS_FAULT_SEEDS:-200}
pytest_suite "$IBQOS_FAULT_SEEDS seeds of lost MADs" tests/sim/test_faults_loss.py
IBQOS_FAULT_POINTS=all pytest_suite "every fault at every step of an apply" tests/sim/test_apply_faults.py
FUZZ_CORPUS=$out/fuzz/corpus counted scripts/fuzz.sh "$out/fuzz" "${FUZZ_SECONDS:-3600}"
step "mutations" /usr/bin/python3 tests/mutations/mutations.py
begin=$SECONDS
if scripts/chaos.sh "${SEED:-1-30}" "$chaos_seconds"; then
	summary "chaos" $((SECONDS - begin)) 1 0 0
else
	summary "chaos" $((SECONDS - begin)) 0 1 0
fi
total
