from __future__ import annotations

from pathlib import Path

import pytest

from ledger import repositories
from ledger.errors import UnavailableError
from ledger.model import RepositoryKeys, RepositoryKind
from ledger.store import Store


def test_a_repository_is_found_by_its_common_dir(store: Store, keys: RepositoryKeys) -> None:
    made = repositories.create(store, keys)
    assert repositories.find(store, keys._replace(inode=None, roots=None)) == made
    assert repositories.get(store, made.id) == made
    assert (made.name, made.kind) == ("project", RepositoryKind.GIT)


def test_creating_it_twice_gives_the_same(store: Store, keys: RepositoryKeys) -> None:
    assert repositories.create(store, keys) == repositories.create(store, keys, "other")


def test_a_renamed_directory_is_found_by_its_inode(store: Store, keys: RepositoryKeys) -> None:
    made = repositories.create(store, keys)
    moved = keys._replace(common_dir="/moved/.git", worktree="/moved")
    assert repositories.find(store, moved) == made
    repositories.refresh_keys(store, made, moved)
    assert repositories.find(store, moved._replace(inode=None, roots=None)) == made


def test_an_inode_does_not_count_while_its_directory_is_still_there(
    store: Store, keys: RepositoryKeys
) -> None:
    assert keys.common_dir is not None
    repositories.create(store, keys)
    Path(keys.common_dir).mkdir(parents=True)
    assert repositories.find(store, keys._replace(common_dir="/moved/.git")) is None


def test_an_inode_does_not_count_when_the_root_commits_differ(
    store: Store, keys: RepositoryKeys
) -> None:
    repositories.create(store, keys)
    other = keys._replace(common_dir="/other/.git", roots="roots-of-another")
    assert repositories.find(store, other) is None


def test_a_clone_is_offered_and_never_joined(store: Store, keys: RepositoryKeys) -> None:
    made = repositories.create(store, keys)
    clone = keys._replace(common_dir="/clone/.git", inode="1:200", worktree="/clone")
    assert repositories.find(store, clone) is None
    assert repositories.candidates(store, clone) == [made]
    assert repositories.candidates(store, keys) == []
    assert repositories.create(store, clone).id != made.id


def test_relinking_moves_a_checkout_and_forgets_places_that_are_gone(
    store: Store, keys: RepositoryKeys
) -> None:
    made = repositories.create(store, keys)
    clone = keys._replace(common_dir="/clone/.git", inode="1:200", worktree="/clone")
    own = repositories.create(store, clone)
    repositories.relink(store, made, clone)
    assert repositories.find(store, clone) == made
    assert repositories.find(store, keys._replace(inode=None)) is None
    assert [r.id for r in repositories.list_all(store)] == sorted([made.id, own.id])


def test_refreshing_known_keys_writes_nothing(store: Store, keys: RepositoryKeys) -> None:
    made = repositories.create(store, keys)
    before = store.db.total_changes
    repositories.refresh_keys(store, made, keys)
    assert store.db.total_changes == before


def test_a_plain_directory_is_found_by_its_path_alone(store: Store) -> None:
    keys = RepositoryKeys(
        kind=RepositoryKind.DIRECTORY, name="notes", worktree="/notes", directory="/notes"
    )
    made = repositories.create(store, keys)
    assert repositories.find(store, keys) == made
    assert repositories.find(store, keys._replace(directory="/notes/sub")) is None


def test_an_unknown_repository_is_an_error(store: Store) -> None:
    with pytest.raises(UnavailableError):
        repositories.get(store, "repo_none")
