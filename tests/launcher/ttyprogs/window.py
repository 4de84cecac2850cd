"""Print the window size now and on every SIGWINCH, until a line is typed."""

from __future__ import annotations

import os
import signal
import sys


def _say(_number: int = 0, _frame: object = None) -> None:
    size = os.get_terminal_size(0)
    os.write(1, f"size {size.columns}x{size.lines}\r\n".encode())


signal.signal(signal.SIGWINCH, _say)
_say()
sys.stdin.readline()
