#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# simulated.sh demo|rig ARG...: runs scripts/demo.py or scripts/rig.py with what OUT has built, behind the fence: a simulated
# fabric with a real OpenSM; no adapter is needed or touched.
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
fence "$@"
out=$(realpath -m "${OUT:-build/release}")
export IBQOS_BIN=$out/ibqos IBQOS_OVERLAY=$out/tests/overlay.so
exec /usr/bin/python3 "scripts/${1:?demo or rig}.py" "${@:2}"
