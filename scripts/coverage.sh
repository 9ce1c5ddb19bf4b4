#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make coverage: runs tests on a build with counters and prints what they ran.
#
#   coverage.sh FOLDER SUITE...   SUITE: unit, cli, sim
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
[ $# -ge 2 ] || { echo "usage: coverage.sh FOLDER SUITE..." >&2; exit 1; }
fence "$@"
dir=$(realpath "$1")
shift
export IBQOS_BIN=$dir/ibqos IBQOS_OVERLAY=$dir/tests/overlay.so
find "$dir" -name '*.gcda' -delete
for suite in "$@"; do
	case $suite in
	unit) unit_tests "$dir/tests" ;;
	cli) pytest_suite "command line (tests/cli)" tests/cli ;;
	sim) pytest_suite "simulated fabrics (tests/sim)" tests/sim --ignore tests/sim/test_kit.py ;;
	*) echo "coverage.sh: no suite '$suite': unit, cli, sim" >&2; exit 1 ;;
	esac
done
/usr/bin/python3 scripts/coverage.py "$dir" || failed=$((failed + 1))
total
