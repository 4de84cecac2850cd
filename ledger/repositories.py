"""Repositories and what they are recognised by.

An id is random; keys lead to it: the realpath of the git common directory, then its device and
inode (a renamed directory), for plain directories the realpath. A clone shares only the digest of
root commits and remote: it is offered, never joined by itself, so that a hostile clone with the
same remote does not get to read history.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ledger import ids
from ledger.errors import UnavailableError
from ledger.model import Repository, RepositoryKeys, RepositoryKind

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store

_PATHS: Final = ("common_dir", "directory")


def get(store: Store, repository: str) -> Repository:
    """Return a repository by id. Raises UnavailableError."""
    row = store.one("SELECT * FROM repository WHERE id = ?", repository)
    if row is None:
        raise UnavailableError(f"there is no repository {repository} in the ledger")
    return _repository(row)


def list_all(store: Store) -> list[Repository]:
    """Return all repositories by name."""
    return [_repository(row) for row in store.all("SELECT * FROM repository ORDER BY name, id")]


def find(store: Store, keys: RepositoryKeys) -> Repository | None:
    """Return the repository that the keys surely mean, or None.

    An inode alone counts only while nothing contradicts it: root commits that differ, or the
    directory it was registered for still being there with another inode.
    """
    for kind, value in (("common_dir", keys.common_dir), ("directory", keys.directory)):
        found = _by_key(store, kind, value)
        if found:
            return found[0]
    for repository in _by_key(store, "inode", keys.inode):
        roots = _values(store, repository.id, "roots")
        if keys.roots is not None and roots and keys.roots not in roots:
            continue
        if any(Path(path).exists() for path in _values(store, repository.id, "common_dir")):
            continue
        return repository
    return None


def candidates(store: Store, keys: RepositoryKeys) -> list[Repository]:
    """Return repositories that this one may be a clone of: same root commits, same remote."""
    known = find(store, keys)
    return [
        repository
        for repository in _by_key(store, "roots", keys.roots)
        if known is None or repository.id != known.id
    ]


def create(store: Store, keys: RepositoryKeys, name: str | None = None) -> Repository:
    """Register a repository under the keys, or return the one that has them by now."""
    with store.transaction() as db:
        found = find(store, keys)
        if found is not None:
            return found
        repository = ids.random_id("repo_")
        db.execute(
            "INSERT INTO repository (id, name, kind, created_at) VALUES (?,?,?,?)",
            (repository, name or keys.name, str(keys.kind), store.clock.now_ms()),
        )
        _put(store, repository, keys)
    return get(store, repository)


def refresh_keys(store: Store, repository: Repository, keys: RepositoryKeys) -> None:
    """Note keys that a repository has by now: a new place, new root commits. Mostly a read."""
    known = {
        (row["kind"], row["value"])
        for row in store.all(
            "SELECT kind, value FROM repository_key WHERE repository = ?", repository.id
        )
    }
    if set(_pairs(keys)) <= known:
        return
    with store.transaction():
        _follow(store, repository.id, keys)
        _put(store, repository.id, keys)


def relink(store: Store, repository: Repository, keys: RepositoryKeys) -> None:
    """Say that the checkout with these keys belongs to the repository, whatever it was before.

    Places of the repository that do not exist any more are forgotten.
    """
    with store.transaction() as db:
        _follow(store, repository.id, keys)
        for kind, value in _pairs(keys):
            if kind != "roots":
                db.execute("DELETE FROM repository_key WHERE kind = ? AND value = ?", (kind, value))
        for kind in _PATHS:
            for value in _values(store, repository.id, kind):
                if not Path(value).exists():
                    db.execute(
                        "DELETE FROM repository_key"
                        " WHERE repository = ? AND kind = ? AND value = ?",
                        (repository.id, kind, value),
                    )
        _put(store, repository.id, keys)


def has_workstreams(store: Store, repository: Repository) -> bool:
    """Return whether any workstream belongs to the repository."""
    sql = "SELECT 1 FROM workstream WHERE repository = ? LIMIT 1"
    return store.one(sql, repository.id) is not None


def directories(store: Store, repository: Repository) -> list[str]:
    """Return the places a repository was known at: git common directories, plain directories."""
    return [value for kind in _PATHS for value in _values(store, repository.id, kind)]


def _put(store: Store, repository: str, keys: RepositoryKeys) -> None:
    now = store.clock.now_ms()
    store.db.executemany(
        "INSERT INTO repository_key (repository, kind, value, updated_at) VALUES (?,?,?,?)"
        " ON CONFLICT (kind, value, repository) DO UPDATE SET updated_at = excluded.updated_at",
        [(repository, kind, value, now) for kind, value in _pairs(keys)],
    )


def _follow(store: Store, repository: str, keys: RepositoryKeys) -> None:
    """Let what was last run in a work tree that was moved with its repository count where it is."""
    place = keys.common_dir or keys.directory
    if place is None:
        return
    for old in (value for kind in _PATHS for value in _values(store, repository, kind)):
        if old == place or Path(old).exists():
            continue
        before, now = old.removesuffix("/.git"), place.removesuffix("/.git")
        store.db.execute(
            "UPDATE OR IGNORE worktree_choice SET worktree = ?1 || substr(worktree, length(?2) + 1)"
            " WHERE repository = ?3 AND (worktree = ?2"
            " OR substr(worktree, 1, length(?2) + 1) = ?2 || '/')",
            (now, before, repository),
        )


def _pairs(keys: RepositoryKeys) -> list[tuple[str, str]]:
    given = (
        ("common_dir", keys.common_dir),
        ("inode", keys.inode),
        ("roots", keys.roots),
        ("directory", keys.directory),
    )
    return [(kind, value) for kind, value in given if value is not None]


def _by_key(store: Store, kind: str, value: str | None) -> list[Repository]:
    if value is None:
        return []
    rows = store.all(
        "SELECT repository.* FROM repository_key JOIN repository"
        " ON repository.id = repository_key.repository"
        " WHERE repository_key.kind = ? AND value = ? ORDER BY updated_at DESC, repository.id",
        kind,
        value,
    )
    return [_repository(row) for row in rows]


def _values(store: Store, repository: str, kind: str) -> list[str]:
    rows = store.all(
        "SELECT value FROM repository_key WHERE repository = ? AND kind = ?", repository, kind
    )
    return [row["value"] for row in rows]


def _repository(row: sqlite3.Row) -> Repository:
    return Repository(
        id=row["id"],
        name=row["name"],
        kind=RepositoryKind(row["kind"]),
        created_at=row["created_at"],
    )
