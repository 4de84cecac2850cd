"""Renewing a lease while a harness runs.

The invariant this module protects: while the child owns the terminal nothing is printed and nothing
is raised; what went wrong is there to be read afterwards. The connection stays open for the whole
run, which keeps the write-ahead log's shared memory file in place for readers in a sandbox.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final, Self

from leases.errors import LeaseLost
from leases.lease import HEARTBEAT_MS, TTL_MS, Lease, renew
from ledger.errors import WorkstreamError
from ledger.store import DATABASE, Store, open_store

BUSY_MS: Final = 2000
"""A renewal waits at most this long for another writer, so that `stop` is prompt."""
RETRY_MS: Final = 3000
"""Time between attempts while renewing fails."""


class Heartbeat:
    """A thread that renews one lease until it is stopped or the lease is lost.

    Create it before the child is forked (it opens a connection of its own), start it after: a fork
    must not copy a lock that this thread holds. Suspended with the process, it renews soon after
    the process goes on; call `poke` then to have it renew at once.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        *,
        interval_ms: int = HEARTBEAT_MS,
        retry_ms: int = RETRY_MS,
        ttl_ms: int = TTL_MS,
    ) -> None:
        self.lost: LeaseLost | None = None
        """Set once another holder has the lease; final."""
        self.problem: str | None = None
        """Why the last renewal failed; None when it succeeded."""
        self.failures = 0
        """Renewals that failed, in all."""
        self.renewals = 0
        """Renewals that succeeded, in all."""
        self._home, self._clock = store.home, store.clock
        self._lease, self._ttl_ms = lease, ttl_ms
        self._interval, self._retry = interval_ms / 1000, retry_ms / 1000
        self._store: Store | None = open_store(self._home, "rw", clock=self._clock, busy_ms=BUSY_MS)
        self._identity = self._file_identity()
        self._stopping = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start renewing; call it after the fork."""
        self._thread.start()

    def poke(self) -> None:
        """Renew now: after a suspend the lease may have lapsed, or have been taken."""
        self._wake.set()

    def stop(self) -> None:
        """Stop renewing and close the connection; returns once the thread has ended."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._close()

    def _run(self) -> None:
        pause = self._interval
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            if self._stopping:
                return
            self._beat()
            if self.lost is not None:
                return
            pause = self._interval if self.problem is None else min(self._retry, self._interval)

    def _beat(self) -> None:
        try:
            renew(
                self._current_store(),
                self._lease.workstream,
                self._lease.token,
                ttl_ms=self._ttl_ms,
            )
        except LeaseLost as lost:
            self.lost = lost
        except (WorkstreamError, OSError) as error:
            self.problem = str(error)
            self.failures += 1
        else:
            self.problem = None
            self.renewals += 1

    def _current_store(self) -> Store:
        """Return a connection to the file that is at the path now.

        A database that was moved away would otherwise be renewed where nobody looks. Its
        connection stays open meanwhile: it may come back. Raises StateError while there is none.
        """
        identity = self._file_identity()
        if self._store is None or identity != self._identity:
            fresh = open_store(self._home, "rw", clock=self._clock, busy_ms=BUSY_MS)
            self._close()
            self._store, self._identity = fresh, identity
        return self._store

    def _file_identity(self) -> tuple[int, int] | None:
        path = self._home / DATABASE
        try:
            info = path.stat()
        except OSError:
            return None
        return info.st_dev, info.st_ino

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
