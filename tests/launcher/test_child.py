from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect  # type: ignore[import-untyped]
import pytest

from launcher.child import Child, spawn
from launcher.terminal import RESET
from ledger import host
from ledger.errors import NotExecutableError, NotFoundError

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "ttyprogs"
PYTHON = sys.executable


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


class Lab:
    """Starts the little launcher around a program and reads what it reported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.result = folder / "result"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "PS1": "PROMPT> ",
            "INPUTRC": os.devnull,
            "HISTFILE": "",
        }
        self.terminals: list[Any] = []

    def command(self, *program: str, **options: object) -> list[str]:
        words = [f"{name}={value}" for name, value in options.items()]
        launch = str(PROGRAMS / "launch.py")
        return [PYTHON, "-S", launch, str(self.result), *words, "--", *program]

    def program(self, name: str, *arguments: object) -> list[str]:
        return [PYTHON, "-S", str(PROGRAMS / f"{name}.py"), *map(str, arguments)]

    def terminal(self, command: list[str], size: tuple[int, int] = (24, 80)) -> Any:
        """Start a command as the leader of a session on a terminal of its own."""
        child = pexpect.spawn(
            command[0],
            command[1:],
            env=self.env,
            cwd=str(self.folder),
            dimensions=size,
            echo=True,
            timeout=20,
        )
        child.delaybeforesend = None
        self.terminals.append(child)
        return child

    def shell(self) -> Any:
        """Start an interactive shell with job control."""
        child = self.terminal(["/bin/bash", "--norc", "--noprofile", "-i"])
        child.expect_exact("PROMPT> ")
        return child

    def told(self, what: str) -> list[dict[str, Any]]:
        if not self.result.exists():
            return []
        lines = self.result.read_text(encoding="utf-8").splitlines()
        return [fact for fact in map(json.loads, lines) if fact["what"] == what]

    def wait_for(self, what: str, count: int = 1) -> dict[str, Any]:
        until(lambda: len(self.told(what)) >= count)
        return self.told(what)[-1]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    for terminal in made.terminals:
        terminal.close(force=True)
    for fact in made.told("spawned"):
        if host.life(fact["pid"], fact["start"]) is not host.Life.DEAD:
            os.kill(fact["pid"], signal.SIGKILL)


def start(*argv: str, cwd: Path = Path("/")) -> Child:
    return spawn(argv, {"PATH": "/bin:/usr/bin"}, cwd, on_spawned=lambda _pid, _start: None)


def hang_up(terminal: Any) -> None:
    """Close the terminal under the program, as a closed window does."""
    terminal.ptyproc.fileobj.close()
    terminal.ptyproc.closed = terminal.closed = True


def line(words: list[str]) -> str:
    return shlex.join(words)


# starting and exit status, without a terminal


@pytest.mark.parametrize(
    ("script", "code", "number", "exit_code"),
    [
        ("exit 0", 0, None, 0),
        ("exit 7", 7, None, 7),
        ("kill -TERM $$", None, signal.SIGTERM, 143),
        ("kill -KILL $$", None, signal.SIGKILL, 137),
        ("kill -INT $$", None, signal.SIGINT, 130),
        ("exit 255", 255, None, 255),
    ],
)
def test_the_exit_status_is_the_childs(
    script: str, code: int | None, number: int | None, exit_code: int
) -> None:
    status = start("/bin/sh", "-c", script).wait()
    assert (status.code, status.signal, status.exit_code) == (code, number, exit_code)
    assert not status.hung_up


def test_a_missing_program_is_not_found_and_leaves_nothing() -> None:
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    descriptors = os.listdir("/proc/self/fd")  # noqa: PTH208
    pids: list[int] = []
    with pytest.raises(NotFoundError) as caught:
        spawn(["/nowhere/codex"], {}, Path("/"), on_spawned=lambda pid, _: pids.append(pid))
    assert caught.value.exit_code == 127
    assert "/nowhere/codex" in str(caught.value)
    with pytest.raises(ChildProcessError):
        os.waitpid(pids[0], os.WNOHANG)
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before
    assert os.listdir("/proc/self/fd") == descriptors  # noqa: PTH208
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def test_a_missing_interpreter_is_not_found_either(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/nowhere/interpreter\n", encoding="ascii")
    script.chmod(0o755)
    with pytest.raises(NotFoundError, match="interpreter"):
        start(str(script))


def test_what_cannot_be_executed_is_126(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program", encoding="ascii")
    for mode in (0o644, 0o755):  # not executable; executable without a format
        text.chmod(mode)
        with pytest.raises(NotExecutableError) as caught:
            start(str(text))
        assert caught.value.exit_code == 126
    with pytest.raises(NotExecutableError, match="cannot enter"):
        start("/bin/true", cwd=tmp_path / "gone")
    with pytest.raises(NotExecutableError, match="larger than the system allows"):
        start("/bin/true", "x" * 3_000_000)
    with pytest.raises(NotExecutableError):
        start("/bin/true", "a\0b")


def test_nothing_is_executed_when_the_commit_fails(tmp_path: Path) -> None:
    pids: list[int] = []

    def refuse(pid: int, start_time: int) -> None:
        assert host.process_start(pid) == start_time
        pids.append(pid)
        raise RuntimeError("lease lost")

    with pytest.raises(RuntimeError, match="lease lost"):
        spawn(["/usr/bin/touch", str(tmp_path / "ran")], {}, Path("/"), on_spawned=refuse)
    assert host.life(pids[0], None) is host.Life.DEAD
    assert not (tmp_path / "ran").exists()


def test_files_opened_while_committing_stay_open(tmp_path: Path) -> None:
    opened: list[int] = []

    def commit(_pid: int, _start: int) -> None:
        opened.extend(os.open(tmp_path, os.O_RDONLY) for _ in range(8))

    child = spawn(["/bin/true"], {}, Path("/"), on_spawned=commit)
    child.wait()
    for fd in opened:
        os.close(fd)  # raises when somebody else has closed it


def test_a_launcher_killed_before_the_go_leaves_no_harness(lab: Lab) -> None:
    ran = lab.folder / "ran"
    process = subprocess.Popen(
        lab.command("/usr/bin/touch", str(ran), linger=60), env=lab.env, stdin=subprocess.DEVNULL
    )
    fact = lab.wait_for("spawned")
    assert host.life(fact["pid"], fact["start"]) is host.Life.RUNNING
    process.kill()
    process.wait()
    until(lambda: host.life(fact["pid"], fact["start"]) is host.Life.DEAD)
    assert not ran.exists()


def test_handlers_and_descriptors_are_as_before_after_a_run() -> None:
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    descriptors = os.listdir("/proc/self/fd")  # noqa: PTH208
    for _ in range(3):
        start("/bin/sh", "-c", "exit 0").wait()
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before
    assert os.listdir("/proc/self/fd") == descriptors  # noqa: PTH208


# what the child sees


def facts_of(lab: Lab, command: list[str], **options: Any) -> dict[str, Any]:
    subprocess.run(command, env=lab.env, check=True, stdout=subprocess.DEVNULL, **options)
    found: dict[str, Any] = json.loads((lab.folder / "facts").read_text(encoding="utf-8"))
    return found


def test_the_child_sees_what_it_sees_without_us(lab: Lab) -> None:
    program = lab.program("facts", lab.folder / "facts", "a b", "$(x)", "`y`\n", "--yolo")
    with (lab.folder / "extra").open("w", encoding="ascii") as extra:
        os.set_inheritable(extra.fileno(), True)
        options = {"stdin": subprocess.DEVNULL, "pass_fds": [extra.fileno()], "cwd": lab.folder}
        bare = facts_of(lab, program, **options)
        ours = facts_of(lab, lab.command(*program), **options)
    for name in ("ignored", "blocked", "fds", "tty", "cwd", "args"):
        assert ours[name] == bare[name], name
    assert ours["args"] == ["a b", "$(x)", "`y`\n", "--yolo"]


def test_signals_that_python_ignores_for_itself_are_not_ignored_in_the_child(lab: Lab) -> None:
    # not a Python program: that would ignore them itself
    program = ["/bin/grep", "-E", "^Sig(Ign|Blk|Cgt)", "/proc/self/status"]
    bare = subprocess.run(program, capture_output=True, check=True).stdout
    ours = subprocess.run(lab.command(*program), env=lab.env, capture_output=True, check=True)
    assert ours.stdout.removesuffix(b"launcher says goodbye\n") == bare


def test_what_the_caller_ignores_stays_ignored_in_the_child(lab: Lab) -> None:
    program = lab.program("facts", lab.folder / "facts")
    ignoring = ["/bin/sh", "-c", 'trap "" HUP INT QUIT; exec "$@"', "sh"]
    bare = facts_of(lab, [*ignoring, *program])
    ours = facts_of(lab, [*ignoring, *lab.command(*program)])
    assert {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT} <= set(ours["ignored"])
    assert ours["ignored"] == bare["ignored"]


def test_stdin_and_stdout_of_a_pipeline_reach_the_child_unchanged(lab: Lab) -> None:
    data = bytes(range(256)) * 4000
    done = subprocess.run(
        lab.command("/bin/cat"), input=data, env=lab.env, capture_output=True, check=False
    )
    assert done.stdout == data + b"launcher says goodbye\n"
    assert done.stderr == b""
    assert done.returncode == 0


# signals, without a terminal


def run_keys(lab: Lab, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        lab.command(*lab.program("keys", *arguments), **options),
        env=lab.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\r\n"
    return process


def test_a_term_is_forwarded_and_the_childs_status_is_kept(lab: Lab) -> None:
    process = run_keys(lab)
    process.terminate()
    out, _ = process.communicate(timeout=20)
    assert out.startswith(b"got SIGTERM\r\n")
    assert process.returncode == 5
    assert host.life(lab.wait_for("spawned")["pid"], None) is host.Life.DEAD


def test_a_child_deaf_to_term_is_killed_after_the_grace(lab: Lab) -> None:
    process = run_keys(lab, "deaf", term=0.3)
    began = time.monotonic()
    process.terminate()
    process.communicate(timeout=20)
    assert time.monotonic() - began >= 0.3
    assert process.returncode == 137


def test_a_suspended_child_is_woken_to_be_ended(lab: Lab) -> None:
    process = run_keys(lab)
    pid = lab.wait_for("spawned")["pid"]
    os.kill(pid, signal.SIGSTOP)
    until(lambda: host.life(process.pid, None) is host.Life.STOPPED)
    process.terminate()
    os.kill(process.pid, signal.SIGCONT)
    process.communicate(timeout=20)
    assert process.returncode == 5


def test_an_interrupt_sent_by_a_program_is_passed_on_where_no_key_did_it(lab: Lab) -> None:
    process = run_keys(lab)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"got SIGINT\r\n"
    process.terminate()
    process.communicate(timeout=20)


def test_the_launcher_outlives_every_signal_it_can_be_sent(lab: Lab) -> None:
    process = run_keys(lab, "deaf")
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT):
        for _ in range(5):
            process.send_signal(number)
    assert process.stdout is not None
    while b"got SIGQUIT" not in process.stdout.readline():
        pass
    assert process.poll() is None
    os.kill(lab.wait_for("spawned")["pid"], signal.SIGKILL)
    process.communicate(timeout=20)
    assert process.returncode == 137


# on a terminal


@pytest.mark.terminal
def test_the_child_has_the_same_terminal_group_and_session(lab: Lab) -> None:
    terminal = lab.terminal(lab.command(*lab.program("facts", "facts")), size=(31, 97))
    terminal.expect(pexpect.EOF)
    facts = json.loads((lab.folder / "facts").read_text(encoding="utf-8"))
    assert facts["tty"][0] is not None
    assert facts["tty"] == [facts["tty"][0]] * 3
    assert facts["size"] == [97, 31]
    assert facts["group"] == facts["foreground"] == facts["session"] == facts["parent"]


@pytest.mark.terminal
def test_a_resize_reaches_the_child(lab: Lab) -> None:
    terminal = lab.terminal(lab.command(*lab.program("window")))
    terminal.expect_exact("size 80x24")
    terminal.setwinsize(40, 120)
    terminal.expect_exact("size 120x40")
    terminal.sendline("")
    terminal.expect(pexpect.EOF)


@pytest.mark.terminal
def test_ctrl_c_reaches_the_child_once_and_does_not_end_the_launcher(lab: Lab) -> None:
    terminal = lab.terminal(lab.command(*lab.program("keys")))
    terminal.expect_exact("ready")
    fact = lab.wait_for("spawned")
    # held back, so that a second interrupt could not melt into the first
    os.kill(fact["launcher"], signal.SIGSTOP)
    until(lambda: host.life(fact["launcher"], None) is host.Life.STOPPED)
    terminal.send("\x03")
    terminal.expect_exact("got SIGINT")
    os.kill(fact["launcher"], signal.SIGCONT)
    lab.wait_for("resumed")
    terminal.sendline("again")
    terminal.expect_exact("heard again")
    assert b"got" not in terminal.before
    terminal.send("\x1c")
    terminal.expect_exact("got SIGQUIT")
    terminal.sendline("quit")
    terminal.expect_exact("launcher says goodbye")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


@pytest.mark.terminal
def test_raw_keys_and_a_paste_of_six_kilobytes_arrive_byte_for_byte(lab: Lab) -> None:
    body = ("line one — 漢字 — `$(id)`\n" * 220).encode()[:6144]
    paste = b"\x03\x1a\x1d\x00\x11\x13\x1b[200~" + body + b"\x1b[201~"
    terminal = lab.terminal(lab.command(*lab.program("raw", "got", len(paste))))
    terminal.expect_exact("ready")
    for at in range(0, len(paste), 1024):
        terminal.send(paste[at : at + 1024])
    terminal.expect_exact("stored")
    terminal.expect(pexpect.EOF)
    assert (lab.folder / "got").read_bytes() == paste


@pytest.mark.terminal
def test_after_a_crash_modes_and_screen_are_as_before(lab: Lab) -> None:
    shell = lab.shell()
    before = termios.tcgetattr(shell.child_fd)
    shell.sendline(line(lab.command(*lab.program("crash", "kill"))) + "; stty -a; echo code $?")
    shell.expect_exact("crashing")
    shell.expect_exact("launcher says goodbye")
    assert RESET in shell.before
    shell.expect(r"code (\d+)\r\n")
    assert b" icanon" in shell.before
    assert b" echo " in shell.before
    shell.expect_exact("PROMPT> ")
    assert lab.told("ended")[-1]["signal"] == signal.SIGKILL
    until(lambda: termios.tcgetattr(shell.child_fd) == before)


@pytest.mark.terminal
def test_a_failed_exit_restores_modes_and_writes_no_sequences(lab: Lab) -> None:
    shell = lab.shell()
    shell.sendline(line(lab.command(*lab.program("crash", "exit"))) + "; echo code $?; stty -a")
    shell.expect_exact("crashing")
    shell.expect_exact("code 3")
    assert RESET not in shell.before
    shell.expect_exact("PROMPT> ")
    assert b" icanon" in shell.before


@pytest.mark.terminal
def test_no_sequences_are_written_into_a_file(lab: Lab) -> None:
    shell = lab.shell()
    shell.sendline(line(lab.command("/bin/sh", "-c", "kill -9 $$")) + " > out; echo code $?")
    shell.expect_exact("code 137")
    assert (lab.folder / "out").read_bytes() == b"launcher says goodbye\n"


@pytest.mark.terminal
def test_the_foreground_is_taken_back_from_a_child_that_had_taken_it(lab: Lab) -> None:
    shell = lab.shell()
    inner = line(lab.command(*lab.program("crash", "group")))
    check = f"{line([PYTHON, '-S', '-c', 'import os; print(os.tcgetpgrp(0) == os.getpgrp())'])}"
    shell.sendline(f"/bin/sh -c {shlex.quote(f'{inner}; {check}')}")
    shell.expect_exact("launcher says goodbye")
    shell.expect(r"(True|False)\r\n")
    assert shell.match.group(1) == b"True"


@pytest.mark.terminal
@pytest.mark.parametrize("way", ["key", "itself"])
def test_suspend_returns_the_prompt_and_fg_brings_both_back(lab: Lab, way: str) -> None:
    shell = lab.shell()
    shell.sendline(line(lab.command(*lab.program("keys"))))
    shell.expect_exact("ready")
    for round_number in (1, 2):
        shell.send("\x1a" if way == "key" else "stop\n")
        shell.expect_exact("Stopped")
        shell.expect_exact("PROMPT> ")
        fact = lab.wait_for("spawned")
        assert host.life(fact["pid"], fact["start"]) is host.Life.STOPPED
        assert host.life(fact["launcher"], None) is host.Life.STOPPED
        assert len(lab.told("resumed")) == round_number - 1
        shell.sendline("fg")
        shell.expect_exact("got SIGCONT")
        lab.wait_for("resumed", round_number)
    shell.sendline("quit")
    shell.expect_exact("launcher says goodbye")
    shell.expect_exact("PROMPT> ")
    shell.sendline("echo code $?")
    shell.expect_exact("code 0")


@pytest.mark.terminal
def test_a_job_in_the_background_leaves_the_shells_terminal_alone(lab: Lab) -> None:
    shell = lab.shell()
    script = "kill -STOP $$; kill -9 $$"
    shell.sendline(line(lab.command("/bin/sh", "-c", script)))
    shell.expect_exact("Stopped")
    shell.expect_exact("PROMPT> ")
    shell.sendline("bg")
    lab.wait_for("ended")
    shell.sendline("echo still $((40 + 2))")
    shell.expect_exact("still 42")
    assert RESET not in shell.before


@pytest.mark.terminal
def test_a_directed_stop_and_continue_of_the_launcher_is_a_resume(lab: Lab) -> None:
    terminal = lab.terminal(lab.command(*lab.program("keys")))
    terminal.expect_exact("ready")
    fact = lab.wait_for("spawned")
    os.kill(fact["launcher"], signal.SIGSTOP)
    until(lambda: host.life(fact["launcher"], None) is host.Life.STOPPED)
    os.kill(fact["launcher"], signal.SIGCONT)
    lab.wait_for("resumed")
    terminal.sendline("quit")
    terminal.expect(pexpect.EOF)


@pytest.mark.terminal
def test_a_closed_terminal_ends_the_child_and_the_launcher_goes_on(lab: Lab) -> None:
    log = lab.folder / "log"
    command = lab.command(*lab.program("keys"), hangup=0.2, log=log)
    terminal = lab.terminal(command)
    terminal.expect_exact("ready")
    fact = lab.wait_for("spawned")
    hang_up(terminal)
    ended = lab.wait_for("ended")
    assert ended["hung_up"]
    assert ended["code"] == 5  # HUP was not enough for it: the TERM that follows was
    until(lambda: host.life(fact["launcher"], None) is host.Life.DEAD)
    assert host.life(fact["pid"], fact["start"]) is host.Life.DEAD
    assert log.read_text(encoding="ascii") == "launcher says goodbye\n"
    until(lambda: not terminal.isalive())
    assert terminal.exitstatus == 5


@pytest.mark.terminal
def test_a_deaf_child_of_a_closed_terminal_is_killed(lab: Lab) -> None:
    command = lab.command(*lab.program("keys", "deaf"), hangup=0.1, term=0.2)
    terminal = lab.terminal(command)
    terminal.expect_exact("ready")
    fact = lab.wait_for("spawned")
    hang_up(terminal)
    assert lab.wait_for("ended")["signal"] == signal.SIGKILL
    until(lambda: host.life(fact["pid"], fact["start"]) is host.Life.DEAD)
    until(lambda: not terminal.isalive())
