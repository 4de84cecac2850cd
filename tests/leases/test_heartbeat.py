from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leases import lease as leases
from leases.errors import LeaseHeld
from leases.heartbeat import Heartbeat
from leases.lease import HEARTBEAT_MS, TTL_MS
from ledger.store import DATABASE, open_store
from tests.leases.setting import Setting

ROOT = Path(__file__).parents[2]


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_it_renews_three_times_within_the_life_of_a_lease() -> None:
    assert HEARTBEAT_MS * 3 == TTL_MS


def test_it_renews_until_it_is_stopped(setting: Setting) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    setting.clock.pass_ms(1000)
    with Heartbeat(setting.store, lease, interval_ms=10) as heartbeat:
        until(lambda: heartbeat.renewals >= 3)
    view = leases.inspect(setting.store, 1)
    assert view is not None
    assert view.expires_at == setting.clock.now + TTL_MS
    assert heartbeat.problem is None
    assert heartbeat.lost is None
    done = heartbeat.renewals
    time.sleep(0.05)
    assert heartbeat.renewals == done


def test_stop_is_prompt_and_may_come_before_start_and_twice(setting: Setting) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    never = Heartbeat(setting.store, lease)
    never.stop()
    heartbeat = Heartbeat(setting.store, lease)
    heartbeat.start()
    began = time.monotonic()
    heartbeat.stop()
    heartbeat.stop()
    assert time.monotonic() - began < 5


def test_a_lost_lease_is_recorded_and_nothing_is_printed(
    setting: Setting, capfd: pytest.CaptureFixture[str]
) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    leases.take_over(setting.store, 1, setting.holder())
    with Heartbeat(setting.store, lease, interval_ms=10) as heartbeat:
        until(lambda: heartbeat.lost is not None)
    assert heartbeat.lost is not None
    assert heartbeat.lost.code == "lease_lost"
    assert heartbeat.renewals == 0
    assert capfd.readouterr() == ("", "")


def test_poke_renews_at_once(setting: Setting) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    with Heartbeat(setting.store, lease) as heartbeat:
        heartbeat.poke()
        until(lambda: heartbeat.renewals == 1)


def test_it_survives_the_database_being_away_and_renews_when_it_is_back(
    setting: Setting, capfd: pytest.CaptureFixture[str]
) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    away = setting.home.with_name("away")
    with Heartbeat(setting.store, lease, interval_ms=10, retry_ms=10) as heartbeat:
        until(lambda: heartbeat.renewals >= 1)
        setting.home.rename(away)
        until(lambda: heartbeat.failures >= 3)
        assert heartbeat.problem is not None
        setting.clock.pass_ms(2 * TTL_MS)
        away.rename(setting.home)
        until(lambda: heartbeat.problem is None)
    view = leases.inspect(setting.store, 1)
    assert view is not None
    assert view.expires_at == setting.clock.now + TTL_MS
    assert heartbeat.lost is None
    assert capfd.readouterr() == ("", "")


def test_it_survives_a_locked_database(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leases.heartbeat.BUSY_MS", 20)
    lease = leases.acquire(setting.store, 1, setting.holder())
    with Heartbeat(setting.store, lease, interval_ms=10, retry_ms=10) as heartbeat:
        with setting.store.transaction():
            until(lambda: heartbeat.failures >= 2)
        until(lambda: heartbeat.problem is None and heartbeat.renewals > 0)


def test_a_database_put_in_place_of_ours_is_the_one_that_counts(
    setting: Setting, tmp_path: Path
) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    copy = tmp_path / DATABASE
    target = sqlite3.connect(copy)
    setting.store.db.backup(target)
    target.close()
    with Heartbeat(setting.store, lease, interval_ms=10, retry_ms=10) as heartbeat:
        until(lambda: heartbeat.renewals >= 1)
        setting.store.close()
        for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
            (setting.home / name).rename(tmp_path / f"old-{name}")
        setting.clock.pass_ms(5000)
        copy.rename(setting.home / DATABASE)
        with open_store(setting.home, "rw", clock=setting.clock) as restored:

            def renewed() -> bool:
                view = leases.inspect(restored, 1)
                return view is not None and view.renewed_at == setting.clock.now

            until(renewed)
        assert heartbeat.lost is None


def test_the_shared_memory_file_stays_for_readers_while_it_lives(setting: Setting) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    shared = setting.home / f"{DATABASE}-shm"
    heartbeat = Heartbeat(setting.store, lease)
    setting.store.close()
    assert shared.exists()
    heartbeat.stop()
    assert not shared.exists()


HOLDER = """
import sys, time
from pathlib import Path
from leases import lease as leases
from leases.errors import LeaseHeld
from leases.heartbeat import Heartbeat
from leases.holder import holder_here
from ledger.store import open_store
store = open_store(Path(sys.argv[1]), "rw")
lease = leases.acquire(store, 1, holder_here(store, run="run_h", env={}), ttl_ms=600)
heartbeat = Heartbeat(store, lease, interval_ms=100, ttl_ms=600)
heartbeat.start()
print(lease.token, flush=True)
while heartbeat.lost is None:
    time.sleep(0.01)
print("lost", flush=True)
"""


def test_a_holder_suspended_past_the_expiry_finds_its_lease_taken_when_it_wakes(
    tmp_path: Path, setting: Setting
) -> None:
    with open_store(setting.home, "rw") as store:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(setting.home)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        )
        try:
            assert process.stdout is not None
            token = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGSTOP)
            ours = None

            def taken() -> bool:
                nonlocal ours
                try:
                    ours = leases.acquire(store, 1, setting.holder("run_b"))
                except LeaseHeld:
                    return False
                return True

            until(taken)
            os.kill(process.pid, signal.SIGCONT)
            assert process.stdout.readline() == "lost\n"
            assert ours is not None
            assert ours.token > token
            leases.check(store, 1, ours.token)
        finally:
            process.kill()
            process.communicate()
