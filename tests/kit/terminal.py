# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs on a terminal of their own (a pty), and what they left on it."""
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from kit import run


class Terminal:
    """Runs argv with all three descriptors (or those not named in kwargs) on a terminal of this size."""

    def __init__(self, argv, rows=24, columns=80, **kwargs):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.output = b""
        self.argv = [str(a) for a in argv]
        take = {name: slave for name in ("stdin", "stdout", "stderr") if name not in kwargs}
        try:
            self.process = run.start(self.argv, **take, **kwargs)
        finally:
            os.close(slave)

    def read(self, seconds=0.05):
        """Takes what has come so far, waiting up to `seconds` for the first of it; False once nobody is at the other end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.master, 65536)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            got = b""
        self.output += got
        return bool(got)

    def write(self, data):
        os.write(self.master, data)

    def wait_for(self, ready, what, seconds=60):
        """Reads until ready(), which looks at self.output or elsewhere."""
        end = time.monotonic() + seconds
        while not ready():
            if not self.read() and not ready():
                raise run.KitError(f"{what}: the program ended: {self.output!r}")
            if time.monotonic() > end:
                raise run.KitError(f"{what}: not within {seconds} s: {self.output!r}")

    def end(self, seconds=60):
        """Reads to the end; the exit code."""
        limit = time.monotonic() + seconds
        while self.read():
            if time.monotonic() > limit:
                self.process.kill()
                self.process.wait()
                raise run.KitError(f"did not end within {seconds} s: {self.argv}: {self.output!r}")
        return self.process.wait(30)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.master)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
