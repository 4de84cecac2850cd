from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A test run in the background ignores it, and every program that a test starts would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
