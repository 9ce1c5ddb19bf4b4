# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""netgen.py SHAPE [NAME=VALUE ...]: every shape on the command line, with planted faults if wanted."""
import argparse
import inspect
import sys

from tools import netgen, netgen_director, netgen_fault, netgen_grid, netgen_hosts, netgen_tree

SHAPES = {
    "fat-tree": netgen.fat_tree,
    "tree2": netgen_tree.tree2,
    "tree3": netgen_tree.tree3,
    "rail": netgen_tree.rail,
    "torus": netgen_grid.torus,
    "ring": netgen_grid.ring,
    "dragonfly": netgen_grid.dragonfly,
    "dragonfly-plus": netgen_grid.dragonfly_plus,
    "director": netgen_director.director,
}


def value(text):
    """24, 4x4x2 and 2:1 as numbers, yes and no, else text."""
    if text in ("yes", "no"):
        return text == "yes"
    for mark in "x:":
        parts = text.split(mark)
        if len(parts) > 1 and all(p.isdigit() for p in parts):
            return tuple(map(int, parts))
    return int(text) if text.isdigit() else text


def shapes():
    """Each shape with its arguments, as text."""
    out = []
    for name, make in SHAPES.items():
        out.append(f"{name} {' '.join(str(p) for p in inspect.signature(make).parameters.values())}")
        out.append("    " + inspect.getdoc(make).replace("\n", "\n    ") if make.__doc__ else "")
    return "\n".join(out) + "\n"


def main(argv):
    p = argparse.ArgumentParser(prog="netgen.py", description="Writes a fabric as a net file for ibsim.")
    p.add_argument("shape", choices=["list", *SHAPES], help="list tells each shape's arguments")
    p.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help="dims=4x4, ratio=2:1, storage=2, ...")
    p.add_argument("--sharp", action="store_true", help="an aggregation node in every switch")
    p.add_argument("--plant", nargs="+", default=[], metavar="KIND", help=", ".join(netgen_fault.KINDS))
    p.add_argument("--seed", type=int, default=1, help="of the faults (default 1); they are told on standard error")
    p.add_argument("--rules", metavar="FILE", help="for the overlay: capabilities, then the faults' rules")
    p.add_argument("--output", metavar="FILE", help="default: standard output")
    a = p.parse_args(argv)
    if a.shape == "list":
        sys.stdout.write(shapes())
        return 0
    try:
        net = SHAPES[a.shape](**{k: value(v) for k, _, v in (x.partition("=") for x in a.arguments)})
        if a.sharp:
            netgen_hosts.add_sharp(net)
        faults = netgen_fault.plant(net, a.seed, a.plant)
    except (TypeError, ValueError) as e:
        p.error(str(e))
    for f in faults:
        print(f, file=sys.stderr)
    if a.rules:
        with open(a.rules, "w", encoding="ascii") as out:
            out.writelines(r + "\n" for r in net.capabilities() + netgen_fault.rules(faults))
    if a.output:
        net.write(a.output)
    else:
        sys.stdout.write(net.text())
    return 0
