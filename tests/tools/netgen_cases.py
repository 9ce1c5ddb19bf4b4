# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fabrics of each shape, small enough to run, with what each must consist of: told here by arithmetic on the shape's
numbers, not asked of the generator. Used by tests/cli/test_netgen_shapes.py and tests/sim/test_netgen.py."""
from dataclasses import dataclass
from typing import Callable

from tools.netgen_director import director
from tools.netgen_grid import dragonfly, dragonfly_plus, ring, torus
from tools.netgen_hosts import add_router, add_sharp
from tools.netgen_tree import rail, tree2, tree3


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable
    cas: int
    switches: int
    cables: int
    routing: str  # OpenSM's routing_engine: one that such a fabric is run with
    routers: int = 0

    def __str__(self):
        return self.name


def _tree_with_guests():
    net = add_sharp(tree2(radix=8, leaves=4, hosts_per_leaf=2, speed="HDR"), speed="HDR")
    add_router(net, "rt-01", ["leaf-01", "leaf-02"], speed="HDR")
    return net


CASES = (
    # leaves * hosts + leaves * uplinks
    Case("tree2-full", lambda: tree2(radix=8), 8 * 4, 8 + 4, 8 * 4 + 8 * 4, "minhop"),
    Case("tree2-2to1", lambda: tree2(radix=12, ratio=(2, 1), leaves=4, spines=2, hosts_per_leaf=3, adapters=2, storage=3,
                                     logins=2), 4 * 3 * 2 + 3 + 2, 4 + 2, 29 + 4 * 4, "updn"),
    Case("tree2-two-port", lambda: tree2(radix=8, leaves=4, ca_ports=2, speed="FDR", isl_speed="EDR"),
         2 * 4, 4 + 4, 2 * 8 + 4 * 4, "updn"),
    Case("tree2-hdr100", lambda: tree2(radix=8, leaves=3, spines=2, hosts_per_leaf=2, speed="HDR", width=2, isl_width=4),
         3 * 2, 3 + 2, 6 + 3 * 4, "minhop"),
    Case("tree2-ndr", lambda: tree2(radix=8, leaves=3, hosts_per_leaf=2, speed="HDR", isl_speed="NDR"),
         3 * 2, 3 + 4, 6 + 3 * 4, "minhop"),
    Case("tree2-12x", lambda: tree2(radix=8, leaves=3, hosts_per_leaf=2, speed="QDR", isl_speed="HDR", width=12,
                                    isl_width=8), 3 * 2, 3 + 4, 6 + 3 * 4, "minhop"),
    Case("tree2-guests", _tree_with_guests, 4 * 2 + 8, 4 + 4, 8 + 8 + 2 + 4 * 4, "updn", routers=1),
    # k^3/4 hosts, 5k^2/4 switches, 3 k^3/4 cables
    Case("tree3-full", lambda: tree3(radix=4), 16, 20, 48, "ftree"),
    Case("tree3-2to1", lambda: tree3(radix=12, ratio=(2, 1), pods=3, leaves_per_pod=3, spines_per_pod=2, cores=6,
                                     hosts_per_leaf=2), 9 * 2, 9 + 6 + 6, 18 + 9 * 4 + 6 * 6, "updn"),
    Case("rail8", lambda: rail(units=2, hosts_per_unit=2, rails=8, spines=2), 2 * 2 * 8, 16 + 2, 32 + 16 * 2, "minhop"),
    Case("rail4-cores", lambda: rail(units=2, hosts_per_unit=2, rails=4, spines=2, bundle=2, cores=2, storage=2),
         2 * 2 * 4 + 2, 8 + 8 + 2, 18 + 8 * 2 * 2 + 8 * 2 * 2, "updn"),
    # one link a switch and dimension; half where the dimension is 2
    Case("torus-4x4", lambda: torus((4, 4)), 16, 16, 16 + 16 * 2, "dor"),
    Case("torus-3x3x2", lambda: torus((3, 3, 2), storage=2), 18 + 2, 18, 20 + 18 * 2 + 9, "dor"),
    Case("torus-3x3-bundles", lambda: torus((3, 3), hosts_per_switch=2, bundle=2), 18, 9, 18 + 9 * 2 * 2, "updn"),
    Case("mesh-3x4", lambda: torus((3, 4), wrap=False), 12, 12, 12 + 2 * 4 + 3 * 3, "dor"),
    Case("ring-6", lambda: ring(6, hosts_per_switch=2), 12, 6, 12 + 6, "updn"),
    # hosts + groups * s (s - 1) / 2 + groups * s * h / 2
    Case("dragonfly-4-1", lambda: dragonfly(switches=4, global_links=1), 5 * 4 * 2, 5 * 4, 40 + 5 * 6 + 10, "updn"),
    Case("dragonfly-3-groups", lambda: dragonfly(groups=3, switches=4, global_links=2, hosts_per_switch=1),
         12, 12, 12 + 3 * 6 + 3 * 4, "updn"),
    Case("dragonfly-plus", dragonfly_plus, 3 * 2 * 2, 3 * 4, 12 + 3 * 4 + 3, "updn"),
    Case("director", lambda: director(lines=4, spines=2, chip_ports=12), 4 * 4, 4 + 2, 16 + 4 * 6, "minhop"),
    Case("directors-leaves", lambda: director(chassis=2, lines=2, spines=3, chip_ports=12, leaves=3, hosts=3),
         3 * 3, 2 * 5 + 3, 9 + 2 * 2 * 6 + 3 * 2 * 2, "updn"),
)
