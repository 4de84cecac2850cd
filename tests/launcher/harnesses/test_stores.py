from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.harnesses import claude_store, processes
from launcher.harnesses.base import Readiness
from launcher.harnesses.claude import Claude
from launcher.harnesses.codex import Codex

ID = "01a22cf5-d7ba-74e0-bdb5-5126d1b3e283"
OTHER = "01a22cf5-d7ba-74e0-bdb5-5126d1b3e999"


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return Codex(system=tmp_path / "etc")


def rollout(home: Path, *, native_id: str = ID, archived: bool = False, **meta: object) -> Path:
    folder = home / "archived_sessions" if archived else home / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-01-02T03-04-05-{native_id}.jsonl"
    payload = {"id": native_id, "model_provider": "openai", **meta}
    path.write_text(json.dumps({"type": "session_meta", "payload": payload}) + "\n")
    return path


class TestCodex:
    """Preflight of codex."""

    def test_a_session_is_ready(self, codex: Codex, tmp_path: Path) -> None:
        path = rollout(tmp_path)
        assert codex.preflight(tmp_path, ID, path, tmp_path).readiness is Readiness.READY
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY

    def test_a_session_that_moved_is_found(self, codex: Codex, tmp_path: Path) -> None:
        rollout(tmp_path)
        gone = tmp_path / "gone.jsonl"
        assert codex.preflight(tmp_path, ID, gone, tmp_path).readiness is Readiness.READY

    def test_a_missing_session_is_missing(self, codex: Codex, tmp_path: Path) -> None:
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.MISSING

    @pytest.mark.parametrize("known", [True, False])
    def test_an_archived_session_tells_the_command(
        self, codex: Codex, tmp_path: Path, known: bool
    ) -> None:
        path = rollout(tmp_path, archived=True)
        found = codex.preflight(tmp_path, ID, path if known else None, tmp_path)
        assert found.readiness is Readiness.ARCHIVED
        assert f"codex unarchive {ID}" in (found.detail or "")

    def test_another_provider_is_refused(self, codex: Codex, tmp_path: Path) -> None:
        rollout(tmp_path, model_provider="corp")
        found = codex.preflight(tmp_path, ID, None, tmp_path)
        assert found.readiness is Readiness.REFUSED
        assert "corp" in (found.detail or "")
        args = ["exec", "-c", "model_provider=corp", "p"]
        again = codex.preflight(tmp_path, ID, None, tmp_path, args=args)
        assert again.readiness is Readiness.READY
        local = codex.preflight(tmp_path, ID, None, tmp_path, args=["--oss"])
        assert local.readiness is Readiness.READY

    def test_a_fork_without_its_parent_is_refused(self, codex: Codex, tmp_path: Path) -> None:
        rollout(tmp_path, history_base={"thread_id": OTHER})
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.REFUSED
        rollout(tmp_path, native_id=OTHER, archived=True)
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY

    @pytest.mark.parametrize("text", ["", "{", "[]\n", '{"payload": 7}\n', "\x00\n"])
    def test_a_broken_head_is_unreadable(self, codex: Codex, tmp_path: Path, text: str) -> None:
        rollout(tmp_path).write_text(text)
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.UNREADABLE

    def test_a_packed_session_is_read(self, codex: Codex, tmp_path: Path) -> None:
        zstd = pytest.importorskip("backports.zstd")
        path = rollout(tmp_path, model_provider="corp")
        path.with_name(path.name + ".zst").write_bytes(zstd.compress(path.read_bytes()))
        path.unlink()
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.REFUSED
        path.with_name(path.name + ".zst").write_bytes(b"not packed")
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.UNREADABLE

    def test_a_held_writer_lock_names_the_process(self, codex: Codex, tmp_path: Path) -> None:
        rollout(tmp_path)
        lock = tmp_path / "thread-writer-locks" / f"{ID}.lock"
        lock.parent.mkdir()
        lock.touch()
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY
        code = (
            "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX);"
            "print('held', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(lock), "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            found = codex.preflight(tmp_path, ID, None, tmp_path)
            holder.communicate()
        assert found.readiness is Readiness.BUSY
        assert found.pid == holder.pid
        assert f"(pid {holder.pid})" in (found.detail or "")
        assert "daemon stop" in (found.detail or "")
        assert codex.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY


def test_the_lock_is_found_without_opening_the_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        path.chmod(0)
        holder = processes.lock_holder(path)
    assert holder is not None
    assert holder.pid == os.getpid()
    assert processes.lock_holder(path) is None


def test_a_lock_from_outside_a_container_has_no_pid(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    status = path.stat()
    where = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    lines = f"1: -> FLOCK ADVISORY WRITE 7 {where} 0 EOF\n2: FLOCK ADVISORY WRITE 0 {where} 0 EOF\n"
    (tmp_path / "locks").write_text(lines)
    holder = processes.lock_holder(path, proc=tmp_path)
    assert holder is not None
    assert holder.pid is None


class TestClaude:
    """Preflight of claude."""

    def conversation(self, home: Path, text: str) -> Path:
        path = home / "projects" / "-x" / f"{ID}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def readiness(self, home: Path, path: Path | None = None) -> Readiness:
        return Claude().preflight(home, ID, path, home).readiness

    def test_a_session_with_a_conversation_is_ready(self, tmp_path: Path) -> None:
        path = self.conversation(tmp_path, '{"type":"mode"}\n{"parentUuid":1,"type": "user"}\n')
        assert self.readiness(tmp_path) is Readiness.READY
        assert self.readiness(tmp_path, path) is Readiness.READY
        assert self.readiness(tmp_path, tmp_path / "moved.jsonl") is Readiness.READY

    @pytest.mark.parametrize(
        "text",
        [
            "",
            '{"type":"mode"}\n{"type":"last-prompt","lastPrompt":"x"}\n',
            '{"type":"summary","x":"{\\"type\\":\\"user\\"}"}\n',
            '{"type":"summary","inner":{"type":"user"}}\n',
            '{"type":"user"\n',
        ],
    )
    def test_a_session_that_was_only_opened_is_missing(self, tmp_path: Path, text: str) -> None:
        self.conversation(tmp_path, text)
        assert self.readiness(tmp_path) is Readiness.MISSING

    def test_an_absent_session_is_missing(self, tmp_path: Path) -> None:
        assert self.readiness(tmp_path) is Readiness.MISSING

    def test_a_session_in_a_live_process_is_busy(self, tmp_path: Path) -> None:
        self.conversation(tmp_path, '{"type":"user"}\n')
        entry = {
            "pid": os.getpid(),
            "sessionId": ID,
            "procStart": processes.start_ticks(os.getpid()),
            "status": "idle",
            "cwd": "/somewhere",
        }
        (tmp_path / "sessions").mkdir()
        registry = tmp_path / "sessions" / f"{os.getpid()}.json"
        registry.write_text(json.dumps(entry))
        found = Claude().preflight(tmp_path, ID, None, tmp_path)
        assert (found.readiness, found.pid) == (Readiness.BUSY, os.getpid())
        assert found.detail is not None
        assert f"pid {os.getpid()}, idle, /somewhere" in found.detail
        registry.write_text(json.dumps({**entry, "procStart": "1"}))
        assert self.readiness(tmp_path) is Readiness.READY
        registry.write_text(json.dumps({**entry, "sessionId": OTHER}))
        assert self.readiness(tmp_path) is Readiness.READY
        registry.write_text("{torn")
        assert self.readiness(tmp_path) is Readiness.READY


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.b_c-d", "a-b-c-d"), ("é𝄞x", "---x"), ("A1 z", "A1-z")],
)
def test_a_directory_has_a_slug(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / name).mkdir()
    assert claude_store.slug(tmp_path / name) == claude_store.slug(tmp_path) + "-" + expected


def test_a_long_slug_is_cut_and_hashed(tmp_path: Path) -> None:
    one, other = (tmp_path / ("x" * 200) / end for end in "ab")
    slug = claude_store.slug(one)
    assert slug[200] == "-"
    assert slug != claude_store.slug(other)
    assert slug[:200] == claude_store.slug(other)[:200]


def test_a_link_has_the_slug_of_what_it_points_at(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert claude_store.slug(tmp_path / "link") == claude_store.slug(tmp_path / "real")


def test_a_dead_process_that_nobody_reaped_runs_no_more() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert processes.start_ticks(pid) is None
    finally:
        os.waitpid(pid, 0)
    assert processes.start_ticks(os.getpid()) is not None
