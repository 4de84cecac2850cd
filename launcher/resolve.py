"""Which repository, which workstream: the choice, and the reason for it.

A clone is offered to the person and never joined silently: a hostile clone with the same remote
must not read history. `$HOME` and `/` never get a workstream without a name.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from launcher.place import Place
from ledger import git, repositories, workstreams
from ledger.errors import UnavailableError, UsageError
from ledger.model import Repository, RepositoryKeys, RepositoryKind, Workstream
from ledger.store import Store

MAX_NAME = 100


class Choice(NamedTuple):
    """The workstream a command is about."""

    repository: Repository
    workstream: Workstream
    reason: str
    """Why this one, for the line before the start: "last run here", "--workstream", …"""
    created: bool = False


def find_repository(store: Store, place: Place) -> Repository | None:
    """Return the registered repository of this place, or None. Refreshes what it is known by."""
    keys = place.checkout.keys
    found = repositories.find(store, keys)
    if found is None and keys.kind is RepositoryKind.DIRECTORY:
        for ancestor in _ancestors(keys, place):
            found = repositories.find(store, keys._replace(directory=ancestor, worktree=ancestor))
            if found is not None:
                return found
    if found is not None and store.writable:
        repositories.refresh_keys(store, found, keys)
    return found


def choose(store: Store, place: Place, *, name: str | None = None) -> Choice:
    """Return the existing workstream meant here. Raises UnavailableError when there is none."""
    inside = _of_run(store, place) if name is None else None
    if inside is not None:
        return inside
    repository = find_repository(store, place)
    if repository is None:
        raise UnavailableError(
            f"there is no workstream in {place.checkout.keys.worktree} yet",
            next_step="Start one with: workstream run HARNESS",
        )
    wanted, reason = _wanted(place, name)
    if wanted is not None:
        return Choice(
            repository=repository, workstream=_named(store, repository, wanted), reason=reason
        )
    last = workstreams.choice(store, repository.id, place.checkout.keys.worktree)
    if last is not None:
        return Choice(repository=repository, workstream=last, reason="last run here")
    default = workstreams.by_name(store, repository.id, default_name(place))
    if default is not None:
        return Choice(repository=repository, workstream=default, reason="named after the branch")
    known = workstreams.list_all(store, repository=repository.id)
    if len(known) == 1:
        return Choice(repository=repository, workstream=known[0], reason="the only one here")
    raise UnavailableError(
        "no workstream was run in this work tree yet",
        next_step="Name one: --workstream NAME. Known here: " + _names(known),
    )


def choose_or_create(
    store: Store,
    place: Place,
    *,
    name: str | None,
    new: str | None,
    ask: Callable[[str], bool] | None,
) -> Choice:
    """Return the workstream for a run; create repository and workstream when they are new.

    `ask` puts a yes-or-no question to the person; None where nobody can be asked.
    Raises UsageError and UnavailableError.
    """
    if name is not None and new is not None:
        raise UsageError("--workstream and --new exclude each other")
    wanted, reason = (new, "--new") if new is not None else _wanted(place, name)
    repository = find_repository(store, place)
    if repository is None:
        _refuse_unnamed_home(place, wanted)
        repository = _register(store, place, ask)
    if new is not None:
        return _create(store, place, repository, check_name(new), reason)
    if wanted is not None:
        found = workstreams.by_name(store, repository.id, wanted)
        if found is None and reason != "--workstream":
            return _create(store, place, repository, check_name(wanted), reason)
        workstream = found or _named(store, repository, wanted)
        return Choice(repository=repository, workstream=workstream, reason=reason)
    last = workstreams.choice(store, repository.id, place.checkout.keys.worktree)
    if last is not None and last.archived_at is None:
        return Choice(repository=repository, workstream=last, reason="last run here")
    base = default_name(place)
    found = workstreams.by_name(store, repository.id, base)
    fits = found is not None and found.archived_at is None and last is None
    if (
        found is not None
        and fits
        and not workstreams.run_in_other_worktree(store, found, place.checkout.keys.worktree)
    ):
        return Choice(repository=repository, workstream=found, reason="named after the branch")
    return _create(store, place, repository, _free(store, repository, base), "new here")


def default_name(place: Place) -> str:
    """Return the name a new workstream gets here: after the branch, else the directory."""
    branch = place.checkout.branch
    raw = branch or place.checkout.keys.name or "work"
    cleaned = "".join(c if c.isprintable() and not c.isspace() else "-" for c in raw)
    return cleaned.strip("-")[:MAX_NAME] or "work"


def check_name(name: str) -> str:
    """Return a name that may be given to a workstream. Raises UsageError."""
    trimmed = name.strip()
    if not trimmed or len(trimmed) > MAX_NAME:
        raise UsageError(f"a workstream's name has 1 to {MAX_NAME} characters")
    if not trimmed.isprintable() or trimmed.startswith("-"):
        raise UsageError(
            "a workstream's name holds printable characters only and does not start with '-'"
        )
    return trimmed


def _wanted(place: Place, name: str | None) -> tuple[str | None, str]:
    if name is not None:
        return name, "--workstream"
    configured = place.config.workstream
    if configured is not None:
        origin = place.config.origins["workstream"]
        return configured, "$WORKSTREAM" if origin.startswith("$") else f"set in {origin}"
    return None, ""


def _of_run(store: Store, place: Place) -> Choice | None:
    """Inside a managed run, the run's own workstream."""
    uid = place.env.get("WORKSTREAM_ID", "").strip()
    if not uid or place.env.get("WORKSTREAM", "").strip():
        return None
    workstream = workstreams.by_uid(store, uid)
    if workstream is None:
        return None
    repository = repositories.get(store, workstream.repository)
    return Choice(repository=repository, workstream=workstream, reason="of this run")


def _named(store: Store, repository: Repository, name: str) -> Workstream:
    found = workstreams.by_name(store, repository.id, name)
    if found is not None:
        return found
    known = workstreams.list_all(store, repository=repository.id, archived=True)
    near = difflib.get_close_matches(name, [w.name for w in known], n=3, cutoff=0.5)
    hint = f"Did you mean: {', '.join(near)}?" if near else f"Known here: {_names(known)}"
    raise UnavailableError(
        f"there is no workstream {name!r} in {repository.name}",
        next_step=f"{hint}  Create it with: workstream run --new {name} HARNESS",
    )


def _names(known: list[Workstream]) -> str:
    shown = ", ".join(w.name for w in known[:8])
    return shown + (f" and {len(known) - 8} more" if len(known) > 8 else "") if shown else "none"


def _register(store: Store, place: Place, ask: Callable[[str], bool] | None) -> Repository:
    keys = place.checkout.keys
    if keys.kind is RepositoryKind.GIT:
        keys = git.with_roots(place.checkout)
        for candidate in repositories.candidates(store, keys):
            question = (
                f"This looks like a clone of {candidate.name}, which has workstreams already."
                " Use them here, with their history?"
            )
            if ask is not None and ask(question):
                repositories.relink(store, candidate, keys)
                return candidate
    return repositories.create(store, keys, keys.name)


def _create(store: Store, place: Place, repository: Repository, name: str, reason: str) -> Choice:
    if workstreams.by_name(store, repository.id, name) is not None:
        raise UsageError(
            f"there is a workstream {name!r} already",
            next_step=f"Go on with it: workstream run --workstream {name}",
        )
    workstream = workstreams.create(store, repository.id, name)
    if place.config.objective:
        workstreams.set_objective(
            store, workstream, place.config.objective, by=place.config.origins["objective"]
        )
        workstream = workstreams.get(store, workstream.id)
    return Choice(repository=repository, workstream=workstream, reason=reason, created=True)


def _free(store: Store, repository: Repository, base: str) -> str:
    name, number = base, 2
    while workstreams.by_name(store, repository.id, name) is not None:
        name, number = f"{base}-{number}", number + 1
    return name


def _ancestors(keys: RepositoryKeys, place: Place) -> list[str]:
    home = os.path.realpath(place.env.get("HOME", "") or "/")
    found = []
    for parent in Path(keys.directory or keys.worktree).parents:
        if str(parent) in (home, "/"):
            break
        found.append(str(parent))
    return found


def _refuse_unnamed_home(place: Place, wanted: str | None) -> None:
    directory = place.checkout.keys.worktree
    home = os.path.realpath(place.env.get("HOME", "") or "/")
    if wanted is None and directory in (home, "/"):
        raise UsageError(
            f"{directory} is no place for a workstream without a name",
            next_step="Change to a project's directory, or name one: workstream run --new NAME",
        )
