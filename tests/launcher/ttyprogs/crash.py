"""Switch on everything a full-screen program does, then die: crash.py kill|exit|group."""

from __future__ import annotations

import os
import signal
import sys
import tty

if sys.argv[1] == "group":
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
tty.setraw(0)
os.write(1, b"\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[>1u")
os.write(1, b"crashing\r\n")
if sys.argv[1] == "exit":
    sys.exit(3)
os.kill(os.getpid(), signal.SIGKILL)
