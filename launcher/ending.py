"""After the child: store its status, finish in a fresh process, hand the lease back.

The finish is a process of the installed program, so that the launcher stays lean and an upgrade
during the run is harmless. When it cannot run, nothing is lost: the next run recovers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from launcher import child
from launcher.launching import Job
from leases import lease as leases
from leases.errors import LeaseLost
from leases.holder import LeaseView
from ledger import host, runs
from ledger.errors import UnavailableError, WorkstreamError
from ledger.host import Life
from ledger.model import RunRow, Step


def finish(
    job: Job, held: leases.Lease, run: RunRow, status: child.ExitStatus
) -> dict[str, Any] | None:
    """Store the status, run the finish, release the lease. None when it could not be done now.

    Never raises: the child's exit status is the answer whatever happens here. Ctrl-C reaches the
    finish, which stops at a batch boundary; the caller has the launcher's own handlers shielded.
    """
    store = job.store
    try:
        with store.transaction():
            runs.advance(
                store,
                run,
                Step.ENDED,
                ended_at=store.clock.now_ms(),
                exit_code=status.exit_code,
                signal=status.signal,
            )
        document = _in_fresh_process(store.home, run)
    except WorkstreamError as error:
        document = {"failed": str(error)}
    try:
        leases.release(store, job.choice.workstream.id, held.token)
    except (WorkstreamError, LeaseLost) as error:
        document = {**document, "release": str(error)}
    return document


def _in_fresh_process(home: Path, run: RunRow) -> dict[str, Any]:
    entry = Path(__file__).resolve().parent.parent / "workstream_entry.py"
    argv = [sys.executable, "-I", str(entry), "_finish", run.id]
    env = {**os.environ, "WORKSTREAM_HOME": str(home)}
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env, check=False
        )
    except OSError as error:
        return {"failed": f"the finish could not be started: {error.strerror}"}
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return {"failed": f"the finish ended with {done.returncode} and no report"}
    return document if isinstance(document, dict) else {"failed": "the report is damaged"}


def ask_to_stop(view: LeaseView) -> str:
    """Ask the harness of a live run to end; its launcher finishes the run. Returns what was done.

    Raises UnavailableError when there is nobody on this machine to ask.
    """
    pid, start = view.child_pid, view.child_start
    if pid is None or host.life(pid, start) in (Life.DEAD, Life.UNKNOWN):
        holder = view.holder
        if holder is not None and host.life(holder.pid, holder.pid_start) is Life.RUNNING:
            os.kill(holder.pid, signal.SIGTERM)
            return f"asked the launcher {holder.pid} to end"
        raise UnavailableError(
            "its harness does not run on this machine any more",
            next_step="The next run takes over: workstream run",
        )
    os.kill(pid, signal.SIGTERM)
    if host.life(pid, start) is Life.STOPPED:
        os.kill(pid, signal.SIGCONT)
    return f"asked the harness {pid} to end"
