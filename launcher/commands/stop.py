"""`workstream stop`: ask a running harness to end."""

from __future__ import annotations

import time

import click


@click.command("stop")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--wait", type=click.IntRange(0), default=30, show_default=True, metavar="SECONDS")
@click.option("--dry-run", is_flag=True, help="Say who would be asked.")
def command(*, workstream: str | None, wait: int, dry_run: bool) -> int:
    """Ask the harness that runs a workstream to end, and wait until its run is finished.

    Its own launcher imports the session and releases the lease; nothing is killed.
    """
    from launcher.ending import ask_to_stop
    from launcher.output import say
    from launcher.place import here
    from launcher.resolve import choose
    from leases import lease as leases
    from ledger.errors import BusyError, UnavailableError
    from ledger.store import open_store

    place = here()
    with open_store(place.home, "rw") as store:
        choice = choose(store, place, name=workstream)
        view = leases.inspect(store, choice.workstream.id)
        if view is None or view.holder is None:
            raise UnavailableError(f"workstream {choice.workstream.name} is not running")
        if dry_run:
            who = leases.describe(store, view, leases.verdict_on(store, view))
            say(f"would ask {who} to end")
            return 0
        say(ask_to_stop(view))
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            now = leases.inspect(store, choice.workstream.id)
            if now is None or now.holder is None or now.token != view.token:
                say(f"workstream {choice.workstream.name} is free")
                return 0
            time.sleep(0.1)
    raise BusyError(
        f"workstream {choice.workstream.name} is still running after {wait} s",
        next_step="End the harness in its own terminal, or take over: workstream run --take-over",
    )
