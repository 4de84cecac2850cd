from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from leases import lease as leases
from leases.errors import LeaseHeld, LeaseLost
from leases.holder import Holder, Place
from leases.lease import TTL_MS, Lease
from leases.verdict import Why
from ledger import host
from ledger.store import Store, open_store
from tests.leases.setting import FakeClock, Setting, seed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def held_by(setting: Setting, pid: int, *, start: int | None = None) -> Holder:
    real = host.process_start(pid) if start is None else start
    return setting.holder()._replace(pid=pid, pid_start=real)


def test_a_lease_is_acquired_held_and_released(setting: Setting) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder("run_a"))
    assert lease.token >= setting.clock.now * 1000
    assert lease.expires_at == setting.clock.now + TTL_MS
    assert lease.previous is None
    leases.check(setting.store, 1, lease.token)
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, setting.holder())
    assert leases.release(setting.store, 1, lease.token)
    assert not leases.release(setting.store, 1, lease.token)
    with pytest.raises(LeaseLost):
        leases.check(setting.store, 1, lease.token)
    assert leases.acquire(setting.store, 1, setting.holder()).token > lease.token


def test_workstreams_have_their_own_leases(setting: Setting) -> None:
    leases.acquire(setting.store, 1, setting.holder())
    leases.acquire(setting.store, 2, setting.holder())
    assert leases.inspect(setting.store, 3) is None


def test_tokens_grow_within_one_microsecond_and_with_a_clock_set_back(setting: Setting) -> None:
    tokens = []
    for step in (0, 0, -86_400_000, 1):
        setting.clock.now += step
        lease = leases.acquire(setting.store, 1, setting.holder())
        leases.release(setting.store, 1, lease.token)
        tokens.append(lease.token)
    assert tokens == sorted(set(tokens))


def test_a_restored_backup_cannot_hand_out_a_token_again(setting: Setting, tmp_path: Path) -> None:
    first = leases.acquire(setting.store, 1, setting.holder())
    leases.release(setting.store, 1, first.token)
    backup = tmp_path / "backup"
    backup.mkdir()
    target = sqlite3.connect(backup / "workstream.db")
    setting.store.db.backup(target)
    target.close()
    setting.clock.pass_ms(1)
    later = leases.acquire(setting.store, 1, setting.holder())
    setting.clock.pass_ms(1)
    with open_store(backup, "rw", clock=setting.clock) as restored:
        fresh = leases.acquire(restored, 1, setting.holder()._replace())
        assert fresh.token > later.token
        with pytest.raises(LeaseLost):
            leases.check(restored, 1, later.token)


def test_held_says_who_where_since_when_and_what_to_do(setting: Setting) -> None:
    holder = setting.holder()._replace(terminal="tmux %3 (/dev/pts/4)", pid=os.getpid())
    leases.acquire(setting.store, 1, holder)
    setting.clock.pass_ms(61_000)
    with pytest.raises(LeaseHeld) as caught:
        leases.acquire(setting.store, 1, setting.holder())
    held = caught.value
    assert held.code == "busy"
    assert held.exit_code == 75
    assert held.next_step is not None
    for part in ("codex", "tmux %3 (/dev/pts/4)", f"pid {os.getpid()}", "for 1 min",
                 "lapses in 29 s"):  # fmt: skip
        assert part in held.description
    assert held.view.holder == holder
    assert held.verdict.why is Why.HOLDER_ALIVE


def test_renewing_moves_the_expiry_and_a_lapsed_lease_nobody_took_is_still_ours(
    setting: Setting,
) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    setting.clock.pass_ms(10 * TTL_MS)
    leases.check(setting.store, 1, lease.token)
    assert leases.renew(setting.store, 1, lease.token) == setting.clock.now + TTL_MS
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, setting.holder())


def test_a_taken_lease_is_lost_for_good(setting: Setting) -> None:
    first = leases.acquire(setting.store, 1, setting.holder("run_a"))
    setting.clock.pass_ms(TTL_MS)
    second = leases.acquire(setting.store, 1, setting.holder("run_b"))
    assert second.previous is not None
    assert second.previous.token == first.token
    assert second.verdict is not None
    assert second.verdict.why is Why.LAPSED
    for attempt in (
        lambda: leases.renew(setting.store, 1, first.token),
        lambda: leases.check(setting.store, 1, first.token),
        lambda: leases.record_child(setting.store, 1, first.token, 1, 1),
    ):
        with pytest.raises(LeaseLost) as caught:
            attempt()
        assert caught.value.code == "lease_lost"
    assert not leases.release(setting.store, 1, first.token)
    leases.release(setting.store, 1, second.token)
    with pytest.raises(LeaseLost):
        leases.renew(setting.store, 1, first.token)
    with pytest.raises(LeaseLost):
        leases.renew(setting.store, 1, second.token)


def test_a_new_holder_starts_without_the_child_of_the_old_one(setting: Setting) -> None:
    first = leases.acquire(setting.store, 1, setting.holder())
    leases.record_child(setting.store, 1, first.token, 2**22 + 5, 1)
    setting.clock.pass_ms(TTL_MS)
    leases.acquire(setting.store, 1, setting.holder())
    now = leases.inspect(setting.store, 1)
    assert now is not None
    assert (now.child_pid, now.child_start) == (None, None)


def test_take_over_replaces_a_living_holder_and_kills_nobody(
    setting: Setting, sleeper: subprocess.Popen[bytes]
) -> None:
    first = leases.acquire(setting.store, 1, held_by(setting, sleeper.pid))
    start = host.process_start(sleeper.pid)
    leases.record_child(setting.store, 1, first.token, sleeper.pid, start)
    with pytest.raises(LeaseHeld) as caught:
        leases.acquire(setting.store, 1, setting.holder())
    assert caught.value.verdict.why is Why.CHILD_RUNNING
    assert f"pid {sleeper.pid}" in caught.value.description
    second = leases.take_over(setting.store, 1, setting.holder(), seen_token=first.token)
    assert second.token > first.token
    assert second.verdict is not None
    assert second.verdict.child_may_live
    assert sleeper.poll() is None
    with pytest.raises(LeaseLost):
        leases.check(setting.store, 1, first.token)


def test_take_over_replaces_only_what_the_person_was_shown(setting: Setting) -> None:
    shown = leases.acquire(setting.store, 1, setting.holder())
    other = leases.take_over(setting.store, 1, setting.holder())
    with pytest.raises(LeaseHeld):
        leases.take_over(setting.store, 1, setting.holder(), seen_token=shown.token)
    leases.check(setting.store, 1, other.token)


def test_a_dead_holder_is_replaced_at_once(
    setting: Setting, sleeper: subprocess.Popen[bytes]
) -> None:
    leases.acquire(setting.store, 1, held_by(setting, sleeper.pid))
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, setting.holder())
    sleeper.kill()
    sleeper.wait()
    taken = leases.acquire(setting.store, 1, setting.holder())
    assert taken.verdict is not None
    assert taken.verdict.why is Why.HOLDER_DEAD


def test_a_reused_pid_is_not_the_holder(setting: Setting, sleeper: subprocess.Popen[bytes]) -> None:
    start = host.process_start(sleeper.pid)
    assert start is not None
    leases.acquire(setting.store, 1, held_by(setting, sleeper.pid, start=start - 100))
    assert leases.acquire(setting.store, 1, setting.holder()).previous is not None


def test_an_orphaned_child_keeps_the_lease_past_its_expiry(
    setting: Setting, sleeper: subprocess.Popen[bytes]
) -> None:
    first = leases.acquire(setting.store, 1, held_by(setting, 2**22 + 5, start=1))
    start = host.process_start(sleeper.pid)
    leases.record_child(setting.store, 1, first.token, sleeper.pid, start)
    setting.clock.pass_ms(100 * TTL_MS)
    with pytest.raises(LeaseHeld) as caught:
        leases.acquire(setting.store, 1, setting.holder())
    assert caught.value.verdict.why is Why.CHILD_RUNNING
    sleeper.kill()
    sleeper.wait()
    assert leases.acquire(setting.store, 1, setting.holder()).previous is not None


def test_a_suspended_holder_and_child_are_replaced_after_the_expiry_only(
    setting: Setting, sleeper: subprocess.Popen[bytes]
) -> None:
    first = leases.acquire(setting.store, 1, held_by(setting, sleeper.pid))
    start = host.process_start(sleeper.pid)
    leases.record_child(setting.store, 1, first.token, sleeper.pid, start)
    os.kill(sleeper.pid, signal.SIGSTOP)
    until(lambda: host.life(sleeper.pid, start) is host.Life.STOPPED)
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, setting.holder())
    setting.clock.pass_ms(TTL_MS)
    taken = leases.acquire(setting.store, 1, setting.holder())
    assert taken.verdict is not None
    assert taken.verdict.why is Why.STOPPED
    assert taken.verdict.child_may_live
    with pytest.raises(LeaseLost):
        leases.renew(setting.store, 1, first.token)  # it wakes up


def test_other_namespace_and_earlier_boot(setting: Setting) -> None:
    here = setting.holder()
    other = here._replace(place=here.place._replace(pid_ns=here.place.pid_ns + 1), pid=1)
    leases.acquire(setting.store, 1, other)
    with pytest.raises(LeaseHeld) as caught:
        leases.acquire(setting.store, 1, here)
    assert "in another container" in caught.value.description
    setting.clock.pass_ms(TTL_MS)
    leases.acquire(setting.store, 1, here)
    before = here._replace(place=here.place._replace(boot_id="an earlier one"))
    leases.acquire(setting.store, 2, before)
    taken = leases.acquire(setting.store, 2, here)
    assert taken.verdict is not None
    assert taken.verdict.why is Why.EARLIER_BOOT
    foreign = here._replace(place=Place(host_id="elsewhere", boot_id="b", pid_ns=1))
    leases.acquire(setting.store, 3, foreign)
    with pytest.raises(LeaseHeld) as caught:
        leases.acquire(setting.store, 3, here)
    assert "on another host" in caught.value.description


def test_wall_clock_jumps_do_not_decide_on_the_same_boot(setting: Setting) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    setting.clock.now += 365 * 86_400_000
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, setting.holder())
    leases.renew(setting.store, 1, lease.token)
    setting.clock.now -= 2 * 365 * 86_400_000
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, setting.holder())
    setting.clock.boot += TTL_MS
    assert leases.acquire(setting.store, 1, setting.holder()).token > lease.token


def test_two_machines_on_one_directory_are_not_boots_of_one(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = setting.holder()
    monkeypatch.setattr(host, "machine_tag", lambda: "ffffffff")
    monkeypatch.setattr(host, "boot_id", lambda: "boot of the other machine")
    theirs = setting.holder()
    leases.acquire(setting.store, 1, theirs)
    monkeypatch.undo()
    with pytest.raises(LeaseHeld):
        leases.acquire(setting.store, 1, mine)


def test_check_guards_the_transaction_it_is_called_in(
    setting: Setting, reopen: Callable[[], Store]
) -> None:
    lease = leases.acquire(setting.store, 1, setting.holder())
    other = open_store(setting.home, "rw", clock=setting.clock, busy_ms=50)
    try:
        with setting.store.transaction() as db:
            leases.check(setting.store, 1, lease.token)
            with pytest.raises(Exception, match="locked"):
                leases.take_over(other, 1, setting.holder())
            db.execute("UPDATE workstream SET objective = 'x' WHERE id = 1")
        leases.take_over(other, 1, setting.holder())
        with pytest.raises(LeaseLost):
            _move_under(setting.store, lease)
    finally:
        other.close()
    row = reopen().one("SELECT objective FROM workstream WHERE id = 1")
    assert row is not None
    assert row[0] == "x"


def _move_under(store: Store, lease: Lease) -> None:
    with store.transaction() as db:
        db.execute("UPDATE workstream SET objective = 'y' WHERE id = 1")
        leases.check(store, 1, lease.token)


def test_live_runs_in_the_same_worktree_are_named(setting: Setting) -> None:
    for number, worktree in ((1, "/w"), (2, "/w"), (3, "/elsewhere")):
        _run_row(setting.store, f"run_w{number}", number, worktree)
        leases.acquire(setting.store, number, setting.holder(f"run_w{number}"))
    found = leases.live_elsewhere(setting.store, "/w", workstream=1)
    assert [(live.workstream, live.name) for live in found] == [(2, "ws2")]
    assert "codex" in found[0].description
    assert len(leases.live_elsewhere(setting.store, "/w")) == 2
    setting.clock.pass_ms(TTL_MS)
    assert leases.live_elsewhere(setting.store, "/w", workstream=1) == []


def _run_row(store: Store, run: str, workstream: int, worktree: str) -> None:
    with store.transaction() as db:
        db.execute("INSERT OR IGNORE INTO native_store (id, harness, home) VALUES (1, 'c', '/h')")
        db.execute(
            "INSERT INTO run (id, workstream, entry, harness, store, token, nonce, step, one_shot,"
            " cwd, worktree, argv, host_id, boot_id, pid_ns, pid, pid_start, started_at)"
            " VALUES (?, ?, 'codex', 'codex', 1, 1, 'n', 'running', 0, '/', ?, '[]', 'h', 'b',"
            " 0, 1, 1, 1)",
            (run, workstream, worktree),
        )


CONTENDER = """
import sys
from pathlib import Path
from leases import lease as leases
from leases.errors import LeaseHeld
from leases.holder import holder_here
from ledger.store import open_store
store = open_store(Path(sys.argv[1]), "rw")
holder = holder_here(store, run=sys.argv[2], env={})
print("ready", flush=True)
sys.stdin.readline()
try:
    leases.acquire(store, 1, holder)
except LeaseHeld:
    print("held", flush=True)
else:
    print("got it", flush=True)
sys.stdin.readline()
"""


def test_of_twenty_processes_at_once_exactly_one_gets_it(setting: Setting) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", CONTENDER, str(setting.home), f"run_{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for number in range(20)
    ]
    try:
        for process in crowd:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in crowd:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        answers = [process.stdout.readline() for process in crowd if process.stdout is not None]
    finally:
        for process in crowd:
            process.kill()
            process.communicate()
    assert sorted(answers) == ["got it\n"] + ["held\n"] * 19


class Machine(RuleBasedStateMachine):
    """Several holders of one workstream, of which any may lapse, renew, release or take over."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(os.environ["LEASE_MACHINE_HOME"]) / os.urandom(8).hex()
        self.clock = FakeClock()
        self.store = open_store(self.home, clock=self.clock)
        self.store.db.execute("PRAGMA synchronous = OFF")
        seed(self.store)
        self.setting = Setting(store=self.store, clock=self.clock, home=self.home)
        self.held: list[Lease] = []
        self.current: Lease | None = None
        self.renewed = 0

    @rule()
    def acquire(self) -> None:
        free = self.current is None or self.clock.boot - self.renewed >= TTL_MS
        try:
            lease = leases.acquire(self.store, 1, self.setting.holder())
        except LeaseHeld:
            assert not free
        else:
            assert free
            self.took(lease)

    @rule()
    def take_over(self) -> None:
        self.took(leases.take_over(self.store, 1, self.setting.holder()))

    def took(self, lease: Lease) -> None:
        assert all(lease.token > other.token for other in self.held)
        self.held.append(lease)
        self.current, self.renewed = lease, self.clock.boot

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.held))
        try:
            leases.renew(self.store, 1, lease.token)
        except LeaseLost:
            assert lease is not self.current
        else:
            assert lease is self.current
            self.renewed = self.clock.boot

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.held))
        assert leases.release(self.store, 1, lease.token) == (lease is self.current)
        if lease is self.current:
            self.current = None

    @rule(step=st.sampled_from([1, 1000, TTL_MS // 3, TTL_MS, 10 * TTL_MS]))
    def wait(self, step: int) -> None:
        self.clock.pass_ms(step)

    @rule(step=st.sampled_from([-(10**10), -TTL_MS, TTL_MS, 10**10]))
    def set_wall_clock(self, step: int) -> None:
        self.clock.now += step

    @invariant()
    def only_the_current_token_passes(self) -> None:
        for lease in self.held:
            if lease is self.current:
                leases.check(self.store, 1, lease.token)
            else:
                with pytest.raises(LeaseLost):
                    leases.check(self.store, 1, lease.token)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.home)


def test_lease_state_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    monkeypatch.setenv("LEASE_MACHINE_HOME", str(tmp_path))
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
