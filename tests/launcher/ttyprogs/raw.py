"""A raw-mode program: raw.py FILE COUNT, stores exactly the bytes that it receives."""

from __future__ import annotations

import os
import sys
import termios
import tty
from pathlib import Path

before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"\x1b[?2004hready\r\n")
got = b""
while len(got) < int(sys.argv[2]):
    got += os.read(0, 65536)
Path(sys.argv[1]).write_bytes(got)
termios.tcsetattr(0, termios.TCSANOW, before)
os.write(1, b"\x1b[?2004lstored\r\n")
