from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from importers import registry as importers
from launcher.harnesses.base import Form, Readiness, Select
from launcher.harnesses.extension import EXTENSION
from launcher.harnesses.pi import ADAPTER
from tests.launcher.harnesses.support import request

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"


def plan(
    tmp_path: Path, *args: str, resume: Path | None = None, cwd: str | None = None
) -> list[str]:
    wanted = request(
        ADAPTER,
        args,
        root=tmp_path,
        resume=None if resume is None else ID,
        resume_path=resume,
    )
    if cwd is not None:
        wanted = wanted._replace(resume_cwd=cwd)
    launch = ADAPTER.plan(wanted, ADAPTER.channel(wanted))
    return [*launch.argv[1:], *launch.notices]


def test_a_new_session_gets_an_id_and_the_extension(tmp_path: Path) -> None:
    flag, native_id, extend, path, *rest = plan(tmp_path, "-p", "words")
    assert (flag, extend, rest) == ("--session-id", "--extension", ["-p", "words"])
    assert len(native_id) == 36
    assert path == str(tmp_path / "state" / "run" / EXTENSION)


def test_a_session_is_resumed_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    assert plan(tmp_path, resume=file)[:2] == ["--session", str(file)]


def test_another_directory_of_the_session_is_told(tmp_path: Path) -> None:
    told = plan(tmp_path, resume=tmp_path / "x.jsonl", cwd=str(tmp_path))
    assert told[-1] == f"pi works in {tmp_path}, the directory of this session"


@pytest.mark.parametrize("args", [["--mode", "json"], ["--mode", "rpc"], ["-p"], ["--print", "x"]])
def test_these_run_without_a_terminal(args: list[str]) -> None:
    assert ADAPTER.classify(args).form is Form.ONE_SHOT


@pytest.mark.parametrize(
    ("args", "select"),
    [
        (["--session", ID], Select.RESUME),
        (["--session", "0b5e"], Select.PICK),
        (["--session-id", "my.word_1"], Select.NAMED),
        ([f"--session-id={ID}"], Select.NONE),
        (["--fork", ID], Select.FORK),
        (["-c"], Select.PICK),
        (["--no-session"], Select.DETACHED),
        (["-n", "--no-session"], Select.NONE),
    ],
)
def test_sessions_that_the_person_chooses(args: list[str], select: Select) -> None:
    assert ADAPTER.classify(args).select is select


def test_a_session_folder_in_the_arguments_is_the_store(tmp_path: Path) -> None:
    env = dict(ADAPTER.store_environment(["--session-dir", str(tmp_path)]))
    assert importers.get("pi").home({"HOME": "/nowhere", **env}) == tmp_path


def session(home: Path, directory: Path) -> Path:
    folder = home / "sessions" / "--x--"
    folder.mkdir(parents=True, exist_ok=True)
    header = {"type": "session", "version": 3, "id": ID, "cwd": str(directory)}
    path = folder / f"2026-01-02T03-04-05-678Z_{ID}.jsonl"
    path.write_text(json.dumps(header) + "\n")
    return path


def test_a_session_of_another_work_tree_is_refused(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for tree in (here, there):
        (tree / ".git").mkdir(parents=True)
        (tree / "below").mkdir()
    path = session(tmp_path / "home", there)
    found = ADAPTER.preflight(tmp_path / "home", ID, path, here)
    assert (found.readiness, str(there) in (found.detail or "")) == (Readiness.REFUSED, True)
    below = ADAPTER.preflight(tmp_path / "home", ID, path, there / "below")
    assert below.readiness is Readiness.READY
    shutil.rmtree(there)
    gone = ADAPTER.preflight(tmp_path / "home", ID, path, here)
    assert (gone.readiness, "gone" in (gone.detail or "")) == (Readiness.REFUSED, True)


# --- the extension -------------------------------------------------------------------------------

DRIVER = """
const handlers = {};
const out = [];
const harness = {
  on: (name, handler) => { handlers[name] = handler; },
  sendMessage: (message) => out.push(message.content),
};
const ctx = (id) => ({
  cwd: "/w",
  sessionManager: { getSessionFile: () => id && `/s/${id}`, getSessionId: () => id },
});
const { default: load } = await import(process.argv[2]);
load(harness);
for (const [name, event, id] of JSON.parse(process.argv[3])) {
  const result = await handlers[name](event, ctx(id));
  if (result) out.push("late:" + result.message.content);
}
console.log(JSON.stringify(out));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
def test_the_extension_asks_the_hook_when_a_session_is_due(tmp_path: Path) -> None:
    log = tmp_path / "asked"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntee -a {log}\necho >> {log}\n")
    hook.chmod(0o755)
    wanted = request(ADAPTER, [], root=tmp_path)._replace(hook_command=(str(hook),))
    launch = ADAPTER.plan(wanted, ADAPTER.channel(wanted))
    module = tmp_path / "workstream.mjs"
    module.write_bytes(launch.files[EXTENSION])
    driver = tmp_path / "driver.mjs"
    driver.write_text(DRIVER)
    steps = [
        ["session_start", {"reason": "startup"}, "a"],
        ["input", {"source": "interactive", "streamingBehavior": "steer"}, "a"],
        ["input", {"source": "interactive"}, "a"],
        ["before_agent_start", {}, "a"],
        ["input", {"source": "interactive"}, "a"],
        ["session_start", {"reason": "reload"}, "a"],
        ["input", {"source": "interactive"}, "a"],
        ["session_compact", {}, "a"],
        ["before_agent_start", {}, "a"],
        ["session_shutdown", {"reason": "new"}, "a"],
        ["session_start", {"reason": "new"}, "b"],
        ["session_start", {"reason": "startup"}, None],
        ["before_agent_start", {}, None],
    ]
    done = subprocess.run(
        ["node", str(driver), str(module), json.dumps(steps)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(a["hook_event_name"], a.get("source"), a["session_id"]) for a in asked] == [
        ("SessionStart", "startup", "a"),
        ("Prompt", "startup", "a"),
        ("Prompt", "compact", "a"),
        ("SessionEnd", None, "a"),
        ("SessionStart", "new", "b"),
    ]
    told = json.loads(done.stdout)
    assert [text.startswith("late:") for text in told] == [False, True]
    assert asked[0]["transcript_path"] == "/s/a"
