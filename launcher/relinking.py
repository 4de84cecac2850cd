"""Joining a directory to a repository that is known already, because the person says so."""

from __future__ import annotations

import os
from pathlib import Path

from launcher import prompts
from launcher.place import Place, here
from ledger import git, repositories
from ledger.errors import UnavailableError, UsageError
from ledger.model import Repository, RepositoryKeys
from ledger.store import Store, open_store


def relink(directory: Path, wanted: str | None, *, yes: bool, dry_run: bool) -> str:
    """Join `directory` to a repository; return what was done.

    Raises UsageError and UnavailableError.
    """
    place = here()
    keys = git.describe(directory.absolute(), place.env).keys
    with open_store(place.home, "rw") as store:
        present = repositories.find(store, keys)
        repository = _wanted(store, wanted) if wanted is not None else _lost(store)
        if present is not None and present.id == repository.id:
            return f"{directory} is {repository.name} already"
        if present is not None and repositories.has_workstreams(store, present):
            raise UsageError(
                f"{directory} has workstreams of its own ({present.name})",
                next_step="Archive or rename those first; two histories are never mixed.",
            )
        _confirm(place, repository, keys, yes=yes or dry_run)
        if not dry_run:
            repositories.relink(store, repository, keys._replace(roots=_roots(directory, place)))
    would = "would be used" if dry_run else "is used"
    return f"{directory} {would} with the workstreams of {repository.name} from now on"


def _roots(directory: Path, place: Place) -> str | None:
    return git.with_roots(git.describe(directory.absolute(), place.env)).roots


def _wanted(store: Store, word: str) -> Repository:
    found = [r for r in repositories.list_all(store) if word in (r.id, r.name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{r.name} ({r.id})" for r in found or repositories.list_all(store))
    what = "there is no repository" if not found else "several repositories are named"
    raise UnavailableError(f"{what} {word!r}", next_step=f"Name one by its id: {known or 'none'}")


def _lost(store: Store) -> Repository:
    lost = [
        repository
        for repository in repositories.list_all(store)
        if not any(os.path.isdir(path) for path in repositories.directories(store, repository))  # noqa: PTH112
    ]
    if len(lost) == 1:
        return lost[0]
    if not lost:
        raise UsageError(
            "every known repository is where it was", next_step="Name one: --from NAME"
        )
    names = ", ".join(f"{r.name} ({r.id})" for r in lost)
    raise UsageError("several repositories are gone", next_step=f"Name one: --from {names}")


def _confirm(place: Place, repository: Repository, keys: RepositoryKeys, *, yes: bool) -> None:
    if yes:
        return
    if not place.terminal:
        raise UsageError("relink needs --yes where nobody can be asked")
    if not prompts.confirm(f"Use the history of {repository.name} in {keys.worktree}?"):
        raise UsageError("nothing was changed")
