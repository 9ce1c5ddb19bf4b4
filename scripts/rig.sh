#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make rig: a simulated fabric with a real OpenSM, to try things by hand; no adapter is needed or touched.
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
fence "$@"
out=$(realpath -m "${OUT:-build/release}")
export IBQOS_BIN=$out/ibqos IBQOS_OVERLAY=$out/tests/overlay.so
exec /usr/bin/python3 scripts/rig.py "$@"
