"""The exit codes that a person or a script can meet; ours and the shell's.

`run` ends with the harness's own once it was started: `--report` says `started`, so that the two
can be told apart. The classes in `ledger/errors.py` and the README's table agree with this one.
"""

from __future__ import annotations

from typing import Final

OK: Final = 0
FINDINGS: Final = 65
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

TABLE: Final[dict[int, str]] = {
    OK: "done; a search without a hit is done as well",
    64: "usage: the words of the command are off",
    FINDINGS: "bad data, or findings of `verify` and `doctor`",
    69: "unavailable: a workstream, session, event, file or harness that is not there",
    70: "internal error",
    73: "our state cannot be created, written or used",
    75: "busy: somebody else holds it; try again later",
    77: "permission",
    78: "configuration",
    126: "a program was found and is not executable",
    127: "a program that was named is not there",
    INTERRUPTED: "interrupted by Ctrl-C",
    PIPE_CLOSED: "the reader of our output went away",
}
"""Code -> meaning."""
