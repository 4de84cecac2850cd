"""Row of the lease: acquiring and renewing with the disk's own flush."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bench import stores
from bench.measure import Row, environment, ms, share, timed
from leases import lease
from leases.holder import Holder, place_here
from ledger import git, host, repositories, workstreams
from ledger.store import open_store


def row(folder: Path, repeats: int) -> Row:
    """Acquire and renew; the floor is one fsync of one changed page."""
    state = folder / "lease-state"
    shutil.rmtree(state, ignore_errors=True)
    project = stores.repository(folder / "project")
    with open_store(state) as store:
        keys = git.describe(project, environment(folder / "home")).keys
        repository = repositories.create(store, keys)
        target = workstreams.create(store, repository.id, "main")
        holder = Holder(
            run="bench",
            purpose="run",
            place=place_here(store),
            pid=os.getpid(),
            pid_start=host.process_start(os.getpid()),
            user="bench",
            terminal=None,
            harness="claude",
        )
        token = 0

        def acquire() -> None:
            nonlocal token
            token = lease.acquire(store, target.id, holder).token

        acquired: list[float] = []
        for _ in range(repeats):
            acquired += timed(acquire, 1)
            lease.release(store, target.id, token)
        acquire()
        renewed = timed(lambda: lease.renew(store, target.id, token), repeats)
    flush = _fsync(folder / "fsync", repeats)
    worst = max(share(sorted(acquired), 0.5), share(renewed, 0.5))
    return Row(
        name="lease acquire / renew, p50 with fsync",
        figure=f"{ms(share(sorted(acquired), 0.5))} / {ms(share(renewed, 0.5))}",
        target="<= 1 ms",
        floor=f"{ms(share(flush, 0.5))} (write + fsync of 4 KiB)",
        ok=worst <= 0.001,
    )


def _fsync(path: Path, repeats: int) -> list[float]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:

        def flush() -> None:
            os.pwrite(descriptor, os.urandom(4096), 0)
            os.fsync(descriptor)

        return timed(flush, repeats)
    finally:
        os.close(descriptor)
