# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Random faults against ibqos: chaos.py is the program."""
