"""`workstream _finish RUN`: the end of a run, in a fresh process of the installed program.

Prints one JSON document on stdout. SIGINT and SIGTERM stop it at a batch boundary; a
closed terminal does not.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import click


@click.command("_finish", hidden=True)
@click.argument("run")
def command(run: str) -> int:
    """Finish a run whose harness has ended."""
    from launcher.finish import finish
    from ledger import runs
    from ledger.errors import StateError, UnavailableError, WorkstreamError
    from ledger.store import DATABASE, open_store, state_home

    interrupted = False

    def on_interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_interrupt)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    home = state_home(os.environ)
    try:
        if not (home / DATABASE).exists():  # it is away: a new one must not take its place
            raise StateError(f"there is no ledger at {home / DATABASE} any more")
        with open_store(home) as store:
            row = runs.find(store, run)
            if row is None:
                raise UnavailableError(f"there is no run {run}")
            document = finish(store, row, recovery=False, stop=lambda: interrupted).document()
    except WorkstreamError as error:
        document = {"failed": str(error)}
    if document.get("interrupted"):
        document["failed"] = "interrupted"
    json.dump(document, sys.stdout)
    return 0
