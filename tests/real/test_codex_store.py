"""When the linked Codex session is gone, packed away, busy, or belongs to another provider."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lab.programs import harness_program, harness_wrapper
from tests.real.stage import told

if TYPE_CHECKING:
    from tests.real.stage import Stage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.real


def test_a_deleted_session_is_replaced_and_told_everything(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one")
    (path,) = stage.codex.session_files()
    path.unlink()
    two = stage.run("codex", "exec", "say: two")
    assert two.session != one.session
    assert f"session {one.session} is gone from its store; a new one is created" in two.err
    assert "say: one" in told(stage.responses.turns[-1])
    assert two.delivery["state"] == "seen"
    assert stage.session(one.session)["state"] == "missing"
    assert stage.session(two.session)["current"]
    assert stage.texts("user_message") == ["say: one", "say: two"]


def test_an_archived_session_is_named_and_a_new_one_starts(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    subprocess.run(
        [harness_program("codex"), "archive", one],
        env=stage.env,
        cwd=stage.repository,
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=30,
    )
    two = stage.run("codex", "exec", "say: two")
    assert two.session != one
    assert f"codex unarchive {one}" in two.err
    assert "say: one" in told(stage.responses.turns[-1])
    assert stage.texts("user_message") == ["say: one", "say: two"]


def test_a_compressed_session_is_resumed_in_place(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    (path,) = stage.codex.session_files()
    path.with_name(f"{path.name}.zst").write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    assert stage.texts("user_message") == ["say: one"]
    two = stage.run("codex", "exec", "say: two")
    assert two.session == one
    assert stage.texts("user_message") == ["say: one", "say: two"]
    assert stage.workstream("verify", "--json").data["findings"] == []


def test_a_session_that_is_open_elsewhere_is_busy_and_the_holder_named(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    other = subprocess.Popen(
        [harness_program("codex"), "exec", "resume", one, "hold: on ;; say: two"],
        env=stage.env,
        cwd=stage.repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        stage.responses.wait_held("on")
        refused = stage.run("codex", "exec", "say: three", code=75)
        assert one in refused.err
        assert f"pid {other.pid}" in refused.err
        assert refused.report["started"] is False
        fresh = stage.run("--fresh", "codex", "exec", "say: three")
        assert fresh.session != one
    finally:
        stage.responses.release("on")
        other.wait(20)
    again = stage.run("codex", "exec", "resume", one, "say: four")
    assert again.session == one
    outside = {e["text"]: e["origin"] for e in stage.log() if e["session"] == one}
    assert outside["hold: on ;; say: two"] == "outside"
    assert outside["say: four"] == "run"


def test_another_provider_gets_a_new_session_and_the_reason(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    config = stage.codex.store / "config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(
        text.replace("[model_providers.scripted]", "[model_providers.elsewhere]").replace(
            'model_provider = "scripted"', 'model_provider = "elsewhere"'
        ),
        encoding="utf-8",
    )
    two = stage.run("codex", "exec", "say: two")
    assert two.session != one
    assert "model provider scripted" in two.err
    assert "say: one" in told(stage.responses.turns[-1])


def test_the_npm_wrapper_is_resolved_to_the_program_itself(stage: Stage) -> None:
    wrapper = harness_wrapper("codex")
    native = harness_program("codex")
    process = stage.start("--executable", str(wrapper), "codex", "exec", "hold: on ;; say: one")
    stage.responses.wait_held("on")
    try:
        lease = stage.status()["lease"]
        program = Path(f"/proc/{lease['child_pid']}/exe").readlink()
    finally:
        stage.responses.release("on")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "one\n"), err
    assert program == native


def test_no_background_server_is_started(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "codex").symlink_to(harness_wrapper("codex"))
    stage.env["PATH"] = f"{folder}{os.pathsep}{stage.env['PATH']}"
    stage.run("codex", "exec", "say: one")
    left = [process for process in _processes() if str(stage.root) in process]
    assert left == []
    assert {p.name for p in stage.codex.store.iterdir()}.isdisjoint(
        {"packages", "app-server-daemon", "app-server-control"}
    )


def _processes() -> list[str]:
    """Return the environments of all processes that were started from a stage."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "CODEX_HOME=" in text:
            found.append(text)
    return found
