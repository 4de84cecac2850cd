"""Writers that commit at the same moment: real processes, forked from one that is ready.

    python racing.py ROOT HOME WORKSTREAM SECONDS [JOB …]

A job is `PREPARED_ID` (a lease of its own for each try), `PREPARED_ID@TOKEN` (under a run's token)
or `+` (a run takes the lease over). Writers without a token try again while a live run holds the
lease, for SECONDS at most, and leave a file `waiting-N` in HOME when they have to. One line for
each job: its answer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 100


def race(home: Path, workstream: int, jobs: Sequence[str], *, patience: float = 0) -> list[str]:
    """Let all jobs go at once and return their answers, sorted: states and codes of errors."""
    done = subprocess.run(
        [sys.executable, __file__, str(ROOT), str(home), str(workstream), str(patience), *jobs],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    answers = sorted(done.stdout.split())
    assert len(answers) == len(jobs), done.stdout
    return answers


def main(home: Path, number: int, patience: float, jobs: Sequence[str]) -> None:
    """Fork a writer for each job, let them all go at once, wait for them."""
    gate, opener = os.pipe()
    ready, told = os.pipe()
    children = []
    for index, job in enumerate(jobs):
        child = os.fork()
        if child == 0:
            os.close(opener)
            os.write(told, b".")
            os.read(gate, 1)  # returns when the last writing end is closed
            answer = write(home, number, patience, job, index)
            os.write(1, f"{answer}\n".encode())
            os._exit(0)
        children.append(child)
    waiting = 0
    while waiting < len(jobs):
        waiting += len(os.read(ready, len(jobs)))
    os.close(opener)
    for child in children:
        os.waitpid(child, 0)


def write(home: Path, number: int, patience: float, job: str, index: int) -> str:
    """Do one job and return how it ended."""
    from handoffs.facts import KnownFacts
    from handoffs.models import ActorKind, Author
    from handoffs.store import committing
    from leases import lease as leases
    from leases.errors import LeaseHeld
    from leases.holder import holder_here
    from ledger import workstreams
    from ledger.errors import WorkstreamError
    from ledger.store import open_store

    until = time.monotonic() + patience
    name, _, token = job.partition("@")
    with open_store(home, "rw") as store:
        where = workstreams.get(store, number)
        holder = holder_here(store, run=f"hand-{index}", env={}, purpose="handoff")
        by = Author(kind=ActorKind.HUMAN)
        while True:
            try:
                if job == "+":
                    leases.take_over(store, number, holder)
                    return "taken_over"
                how = {"token": int(token)} if token else {"holder": holder}
                return str(committing.commit(store, where, name, KnownFacts(), by, **how).state)
            except LeaseHeld as held:
                (home / f"waiting-{index}").touch()
                if time.monotonic() > until:
                    return held.code
                time.sleep(0.01)
            except WorkstreamError as error:
                return error.code


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import handoffs.store.committing
    import handoffs.text_rules  # noqa: F401  (imported once, before the fork)

    main(Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])
