#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# chaos.sh SEEDS SECONDS: random faults against ibqos (tests/chaos, docs/testing.md), for each seed of "1 5 7" or
# "1-20". Ends at the last seed; fails if one did. IBQOS_BIN and IBQOS_OVERLAY, else OUT, choose the build.
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
fence "$@"
out=$(realpath -m "${OUT:-build/release}")
export IBQOS_BIN=${IBQOS_BIN:-$out/ibqos} IBQOS_OVERLAY=${IBQOS_OVERLAY:-$out/tests/overlay.so}
seeds=()
for s in ${1:-$((RANDOM))}; do
	if [[ $s == *-* ]]; then
		mapfile -t -O ${#seeds[@]} seeds < <(seq "${s%-*}" "${s#*-}")
	else
		seeds+=("$s")
	fi
done
bad=()
for s in "${seeds[@]}"; do
	/usr/bin/python3 tests/chaos/chaos.py --seed "$s" --seconds "${2:-60}" || bad+=("$s")
done
echo "chaos: ${#seeds[@]} seeds, ${#bad[@]} failed${bad:+: ${bad[*]}}"
[ ${#bad[@]} -eq 0 ]
