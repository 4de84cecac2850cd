from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger.store import Store, open_store
from tests.leases.setting import FakeClock, Setting, seed


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    clock = FakeClock()
    with open_store(tmp_path / "state", clock=clock) as store:
        seed(store, 3)
        yield Setting(store=store, clock=clock, home=tmp_path / "state")


@pytest.fixture
def reopen(setting: Setting) -> Iterator[Callable[[], Store]]:
    """Open further connections to the same ledger, with the same clock."""
    opened: list[Store] = []

    def once() -> Store:
        opened.append(open_store(setting.home, "rw", clock=setting.clock))
        return opened[-1]

    yield once
    for store in opened:
        store.close()
