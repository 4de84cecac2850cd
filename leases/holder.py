"""Who holds a lease: the row as values, and this process as a holder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from ledger import host
from ledger.store import Store


class Place(NamedTuple):
    """Where process ids mean the same thing: host, boot and pid namespace."""

    host_id: str
    boot_id: str
    """"" where the platform has none: then nothing is known about boots."""
    pid_ns: int


class Holder(NamedTuple):
    """A process that holds, or wants to hold, a lease."""

    run: str
    """Run id, or an id of the maintenance that needs the lease."""
    purpose: str
    """run, handoff or maintenance"""
    place: Place
    pid: int
    pid_start: int | None
    """None where it cannot be seen: then any process with that pid counts as the holder."""
    user: str
    terminal: str | None
    harness: str | None


class LeaseView(NamedTuple):
    """A lease as it stood when it was read."""

    workstream: int
    token: int
    holder: Holder | None
    """None: free."""
    child_pid: int | None
    child_start: int | None
    acquired_at: int
    renewed_at: int
    renewed_boot: int
    """CLOCK_BOOTTIME ms, comparable only within `holder.place.boot_id`."""
    expires_at: int


def place_here(store: Store) -> Place:
    """Return where this process runs.

    The host id is the store's plus a tag of the machine: two machines that see one directory must
    not take each other's holder for one of an earlier boot.
    """
    return Place(
        host_id=f"{store.host_id}-{host.machine_tag()}",
        boot_id=host.boot_id(),
        pid_ns=host.pid_namespace(),
    )


def holder_here(
    store: Store,
    *,
    run: str,
    env: Mapping[str, str],
    harness: str | None = None,
    purpose: str = "run",
) -> Holder:
    """Return this process as a holder."""
    pid = os.getpid()
    return Holder(
        run=run,
        purpose=purpose,
        place=place_here(store),
        pid=pid,
        pid_start=host.process_start(pid),
        user=host.user_name(),
        terminal=host.terminal_name(env),
        harness=harness,
    )
