"""React to signals by name: keys.py, prints `got NAME`; a TERM or the line `quit` ends it.

keys.py deaf: ignores TERM and HUP instead. keys.py suspend: stops itself on the line `stop`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

deaf = "deaf" in sys.argv


def _note(number: int, _frame: object) -> None:
    with contextlib.suppress(OSError):  # the terminal may be closed
        os.write(1, f"got {signal.Signals(number).name}\r\n".encode())
    if number == signal.SIGTERM and not deaf:
        os._exit(5)


for name in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
    signal.signal(name, _note)
os.write(1, b"ready\r\n")
while True:
    try:
        line = sys.stdin.readline()
    except OSError:
        line = "gone"
    if line == "stop\n":
        os.kill(os.getpid(), signal.SIGTSTP)
    elif line == "again\n":
        os.write(1, b"heard again\r\n")
    elif line == "quit\n":
        sys.exit(0)
    elif line in ("", "gone"):  # the terminal is closed
        while deaf:
            signal.pause()
        signal.pause()
