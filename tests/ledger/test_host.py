from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger import host
from ledger.host import Life


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def test_own_start_time_is_stable_and_not_later_than_now() -> None:
    start = host.process_start(os.getpid())
    assert start is not None
    assert start == host.process_start(os.getpid())
    ticks = os.sysconf("SC_CLK_TCK")
    assert 0 < start / ticks <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_process_that_never_was_has_no_start_time() -> None:
    assert host.process_start(2**22 + 1) is None
    assert host.process_start(0) is None
    assert host.process_start(-1) is None
    assert host.life(2**22 + 1, 1) is Life.DEAD


def test_life_follows_a_process_through_stop_and_death(sleeper: subprocess.Popen[bytes]) -> None:
    pid, start = sleeper.pid, host.process_start(sleeper.pid)
    assert host.life(pid, start) is Life.RUNNING
    os.kill(pid, signal.SIGSTOP)
    until(lambda: host.life(pid, start) is Life.STOPPED)
    assert host.alive(pid, start)
    os.kill(pid, signal.SIGCONT)
    until(lambda: host.life(pid, start) is Life.RUNNING)
    os.kill(pid, signal.SIGKILL)
    until(lambda: host.life(pid, start) is Life.DEAD)  # a zombie until the fixture waits
    assert not host.alive(pid, start)


def test_a_reused_pid_is_not_the_old_process(sleeper: subprocess.Popen[bytes]) -> None:
    start = host.process_start(sleeper.pid)
    assert start is not None
    assert host.life(sleeper.pid, start - 1) is Life.DEAD
    assert host.life(sleeper.pid, None) is Life.RUNNING


@pytest.mark.parametrize("name", ["plain", "a b", "x) R 1 2 (y", ")))", "((", "tab\there"])
def test_command_names_with_spaces_and_parentheses_do_not_shift_the_fields(name: str) -> None:
    after = " ".join(["S", *(str(number) for number in range(4, 22)), "987654", "23", "24"])
    assert host.parse_stat(f"42 ({name}) {after}\n".encode()) == ("S", 987654)


def test_a_torn_stat_line_is_not_an_answer() -> None:
    assert host.parse_stat(b"42 (x) S 1 2 3") is None
    assert host.parse_stat(b"") is None


def test_a_real_process_with_parentheses_in_its_name(tmp_path: Path) -> None:
    program = tmp_path / "a) R (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "60"])
    try:
        until(lambda: b") R (" in Path(f"/proc/{process.pid}/stat").read_bytes())
        start = host.process_start(process.pid)
        assert start is not None
        own = host.process_start(os.getpid())
        assert own is not None
        assert start >= own
        assert host.life(process.pid, start) is Life.RUNNING
    finally:
        process.kill()
        process.wait()


def test_boot_and_namespace_are_those_of_other_processes_here() -> None:
    code = "from ledger import host; print(host.boot_id(), host.pid_namespace())"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.split() == [host.boot_id(), str(host.pid_namespace())]
    assert len(host.boot_id()) == 36


def test_machine_tag_does_not_show_the_machine_id() -> None:
    tag = host.machine_tag()
    assert len(tag) == 8
    machine_id = Path("/etc/machine-id")
    if machine_id.exists():
        assert tag not in machine_id.read_text(encoding="ascii")


def test_user_name_is_not_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "somebody-else")
    monkeypatch.setenv("LOGNAME", "somebody-else")
    assert host.user_name() not in ("", "somebody-else")


def test_terminal_is_named_with_its_tmux_pane() -> None:
    code = (
        "import os; from ledger import host\n"
        "name = host.terminal_name(os.environ)\n"
        "print(name, host.terminal_idle_ms(name) is not None, flush=True)"
    )
    primary, secondary = pty.openpty()
    tty = os.ttyname(secondary)
    try:
        for env, expected in (
            ({}, tty),
            ({"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%3"}, f"tmux %3 ({tty})"),
            ({"TMUX_PANE": "%3"}, tty),
        ):
            done = subprocess.run(
                [sys.executable, "-c", code],
                stdin=secondary,
                stdout=subprocess.PIPE,
                text=True,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), **env},  # noqa: PTH109
                check=True,
            )
            assert done.stdout.strip() == f"{expected} True"
    finally:
        os.close(primary)
        os.close(secondary)


def test_idle_time_of_nothing_is_not_known() -> None:
    assert host.terminal_idle_ms(None) is None
    assert host.terminal_idle_ms("tmux %1") is None
    assert host.terminal_idle_ms("/dev/pts/999999") is None
