# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fixtures of all tests that start processes (tests/cli, tests/sim). The kit is in tests/kit."""
import contextlib
import itertools
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from kit import run, sim  # noqa: E402
from tools import netgen  # noqa: E402


def pytest_sessionstart(session):
    reason = run.fence()
    if reason:
        pytest.exit(reason, returncode=3)
    # ibqos leaves ignored what is so already, as a shell without job control has it in what it starts beside itself
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def fabric(tmp_path):
    """Factory: fabric() starts ibsim on the default fat tree (4 leaves, 2 spines, 6 hosts a leaf);
    fabric(leaves=2, ...) on another, fabric(net=Net or text of a net file) on any; console=True keeps
    ibsim's console; capabilities=False leaves ports supporting what ibsim says. All ends with the test: OpenSMs first, then ibsim."""
    running = contextlib.ExitStack()
    number = itertools.count(1)

    def start(net=None, console=False, capabilities=True, **shape):
        folder = tmp_path / f"fabric-{next(number)}"
        folder.mkdir()
        f = sim.Fabric(folder, net if net is not None else netgen.fat_tree(**shape), console, capabilities)
        running.callback(f.stop)
        return f

    with running:
        yield start


@pytest.fixture
def up(fabric):
    """Factory: a fabric with OpenSM, up. up(options={...}, rules=[...], **shape) -> (fabric, opensm); sm={...} has
    more arguments of kit.opensm.OpenSM."""

    def start(net=None, console=False, options=None, rules=(), host=None, args=(), sm=None, **shape):
        f = fabric(net=net, console=console, **shape)
        return f, f.opensm(options=options, rules=rules, host=host, args=args, **(sm or {}))

    return start


@pytest.fixture
def ibqos(tmp_path):
    """Runs ibqos with no fabric at all: ibqos(*args, cwd=, stdin=) -> result."""

    def call(*args, cwd=None, **kwargs):
        if not os.path.exists(run.binary()):
            raise run.KitError(f"{run.binary()} is not built: make")
        return run.run([run.binary(), *args], cwd=cwd or tmp_path, **kwargs)

    return call
