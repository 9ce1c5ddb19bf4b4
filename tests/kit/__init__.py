# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The test kit: simulated fabrics (sim), OpenSM on them (opensm), programs run against them (run)."""
