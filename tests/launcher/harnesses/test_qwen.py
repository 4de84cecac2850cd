from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from importers.base import StoreState
from importers.qwen import IMPORTER
from importers.qwen.store import folder_of
from launcher.harnesses.base import Form, Launch, LaunchRequest, Readiness, Select
from launcher.harnesses.qwen import ADAPTER
from launcher.harnesses.qwen.settings import COPY, ORIGIN, VARIABLE
from tests.launcher.harnesses.support import request

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"


def wanted(tmp_path: Path, *args: str, **more: Any) -> LaunchRequest:
    more.setdefault("env", {"HOME": str(tmp_path), "QWEN_HOME": str(tmp_path / "store")})
    system = {"QWEN_CODE_SYSTEM_SETTINGS_PATH": str(tmp_path / "etc" / "settings.json")}
    more["env"] = {**system, **more["env"]}
    return request(ADAPTER, args, root=tmp_path, **more)


def launch(request: LaunchRequest) -> Launch:
    return ADAPTER.plan(request, ADAPTER.channel(request))


def hooks(made: Launch) -> dict[str, list[dict[str, Any]]]:
    return dict(json.loads(made.files[COPY])["hooks"])


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_a_new_session_gets_an_id_and_the_hooks_of_the_run(tmp_path: Path) -> None:
    asked = wanted(tmp_path, "words")
    made = launch(asked)
    assert (made.argv[1], *made.argv[3:]) == ("--session-id", "words")
    assert made.native_id == made.argv[2]
    assert made.env_set == {VARIABLE: str(tmp_path / "state" / "run" / COPY)}
    assert list(hooks(made)) == ["SessionStart", "UserPromptSubmit", "SessionEnd"]
    (entry,) = hooks(made)["UserPromptSubmit"]
    assert shlex.split(entry["hooks"][0]["command"]) == list(asked.hook_command)
    assert json.loads(made.files[COPY])["$version"] == 4
    assert (made.channel.name, made.channel.proof) == ("hook", True)


def test_a_session_is_resumed_by_its_id(tmp_path: Path) -> None:
    assert launch(wanted(tmp_path, resume=ID)).argv[1:] == ("--resume", ID)


def test_what_the_system_configured_stays(tmp_path: Path) -> None:
    theirs = {"matcher": "x", "hooks": [{"type": "command", "command": "theirs"}]}
    document = {"model": {"name": "m"}, "hooks": {"UserPromptSubmit": [theirs], "Stop": [theirs]}}
    write(tmp_path / "etc" / "system-defaults.json", document)
    made = launch(wanted(tmp_path))
    assert json.loads(made.files[COPY])["model"] == {"name": "m"}
    assert hooks(made)["UserPromptSubmit"][0] == theirs
    assert len(hooks(made)["UserPromptSubmit"]) == 2
    assert hooks(made)["Stop"] == [theirs]


def test_the_persons_own_choice_of_defaults_is_copied(tmp_path: Path) -> None:
    own = write(tmp_path / "own.json", {"$version": 3, "ui": {"theme": "t"}})
    env = {"HOME": str(tmp_path), VARIABLE: str(own)}
    made = launch(wanted(tmp_path, env=env))
    copy = json.loads(made.files[COPY])
    assert (copy["ui"], copy["$version"]) == ({"theme": "t"}, 3)
    assert made.files[ORIGIN] == str(own).encode()


def test_a_run_inside_a_run_starts_from_the_original(tmp_path: Path) -> None:
    own = write(tmp_path / "own.json", {"ui": {"theme": "t"}})
    env = {"HOME": str(tmp_path), VARIABLE: str(own)}
    outer = launch(wanted(tmp_path, env=env))
    for name, data in outer.files.items():
        write(tmp_path / "state" / "run" / name, data.decode())
    inner = launch(wanted(tmp_path, env={**env, **outer.env_set}, run="inner"))
    assert len(hooks(inner)["UserPromptSubmit"]) == 1
    assert json.loads(inner.files[COPY])["ui"] == {"theme": "t"}
    assert inner.files[ORIGIN] == str(own).encode()


@pytest.mark.parametrize(
    ("args", "env", "files", "why"),
    [
        (["--bare"], {}, {}, "--bare"),
        (["--safe-mode"], {}, {}, "--safe-mode"),
        ([], {"QWEN_CODE_SIMPLE": "1"}, {}, "QWEN_CODE_SIMPLE"),
        ([], {}, {"work/.qwen/settings.json": {"disableAllHooks": True}}, "work/.qwen"),
        ([], {}, {".qwen/settings.json": {"disableAllHooks": True}}, ".qwen/settings.json"),
        ([], {}, {"etc/system-defaults.json": "// no JSON\n{}"}, "system-defaults.json"),
    ],
)
def test_without_hooks_the_text_goes_into_the_system_prompt(
    tmp_path: Path, args: list[str], env: dict[str, str], files: dict[str, object], why: str
) -> None:
    for name, value in files.items():
        write(tmp_path / name, value)
    asked = wanted(tmp_path, *args, env={"HOME": str(tmp_path), **env}, text="news")
    made = launch(asked)
    assert (made.channel.name, made.channel.proof) == ("system_prompt", False)
    assert why in str(made.channel.why)
    assert any(why in notice for notice in made.notices)
    assert "--append-system-prompt=news" in made.argv
    assert not made.files


@pytest.mark.parametrize(
    "own", [["--append-system-prompt", "mine"], ["--append-system-prompt=mine"]]
)
def test_the_persons_own_addition_to_the_prompt_stays(tmp_path: Path, own: list[str]) -> None:
    made = launch(wanted(tmp_path, "--bare", *own, "words", text="news"))
    assert made.argv[3:] == ("--append-system-prompt=mine\n\nnews", "--bare", "words")
    with_hooks = launch(wanted(tmp_path, *own, "words"))
    assert with_hooks.argv[3:] == (*own, "words")


@pytest.mark.parametrize(
    ("args", "added"),
    [([], True), (["-y"], False), (["--approval-mode", "plan"], False)],
)
def test_no_approvals_unless_the_person_chose(tmp_path: Path, args: list[str], added: bool) -> None:
    argv = launch(wanted(tmp_path, *args, yolo=True)).argv
    assert ("--yolo" in argv) == added


@pytest.mark.parametrize(
    ("args", "form"),
    [
        ([], Form.INTERACTIVE),
        (["-i", "words"], Form.INTERACTIVE),
        (["-m", "model", "-y"], Form.INTERACTIVE),
        (["words"], Form.ONE_SHOT),
        (["-p", "words"], Form.ONE_SHOT),
        (["--input-format", "stream-json"], Form.ONE_SHOT),
        (["--json-schema", "{}"], Form.ONE_SHOT),
        (["mcp", "list"], Form.UTILITY),
        (["sessions", "list"], Form.UTILITY),
        (["-l"], Form.UTILITY),
    ],
)
def test_forms(args: list[str], form: Form) -> None:
    assert ADAPTER.classify(args).form is form


@pytest.mark.parametrize(
    ("args", "select"),
    [
        (["--resume", ID], Select.RESUME),
        ([f"-r={ID}"], Select.RESUME),
        (["-r"], Select.PICK),
        (["-c", "words"], Select.PICK),
        (["--session-id", ID], Select.CREATE),
        (["--sessionId", ID], Select.CREATE),
        (["--resume", ID, "--fork-session"], Select.FORK),
        (["--allowed-tools", "a", "b", "-r", ID], Select.RESUME),
        (["--chat-recording=false"], Select.DETACHED),
        (["--no-chat-recording"], Select.DETACHED),
        (["--chat-recording"], Select.NONE),
    ],
)
def test_sessions_that_the_person_chooses(args: list[str], select: Select) -> None:
    assert ADAPTER.classify(args).select is select


def test_settings_that_keep_no_session_are_told(tmp_path: Path) -> None:
    write(tmp_path / ".qwen" / "settings.json", {"general": {"chatRecording": False}})
    asked = wanted(tmp_path, env={"HOME": str(tmp_path)})
    assert any("chatRecording" in notice for notice in launch(asked).notices)


def session(home: Path, directory: Path) -> Path:
    record = {"uuid": "u", "parentUuid": None, "sessionId": ID, "cwd": str(directory)}
    chats = home / "projects" / folder_of(directory) / "chats"
    return write(chats / f"{ID}.jsonl", json.dumps({**record, "type": "user"}) + "\n")


def test_a_session_of_another_directory_is_refused(tmp_path: Path) -> None:
    session(tmp_path, tmp_path / "there")
    found = ADAPTER.preflight(tmp_path, ID, None, tmp_path / "here")
    assert found.readiness is Readiness.REFUSED
    assert str(tmp_path / "there") in str(found.detail)
    assert ADAPTER.preflight(tmp_path, ID, None, tmp_path / "there").readiness is Readiness.READY


def test_an_archived_session_is_not_resumed(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path)
    archive = path.parent / "archive"
    archive.mkdir()
    path.rename(archive / path.name)
    assert IMPORTER.locate(tmp_path, ID).state is StoreState.ARCHIVED
    assert ADAPTER.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.ARCHIVED
    assert [s.state for s in IMPORTER.discover(tmp_path)] == [StoreState.ARCHIVED]


def test_an_open_terminal_has_its_session(tmp_path: Path) -> None:
    path = session(tmp_path, tmp_path)
    note = path.with_suffix(".runtime.json")
    code = "import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, "qwen"]) as child:
        write(note, {"pid": child.pid, "session_id": ID, "hostname": socket.gethostname()})
        found = ADAPTER.preflight(tmp_path, ID, None, tmp_path)
        child.kill()
    assert (found.readiness, found.pid) == (Readiness.BUSY, child.pid)
    assert ADAPTER.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY
    write(note, {"pid": os.getpid(), "session_id": ID, "hostname": "elsewhere"})
    assert ADAPTER.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY


def test_a_program_that_lost_its_starter_has_its_session(tmp_path: Path) -> None:
    session(tmp_path, tmp_path)
    code = "import time; time.sleep(60)"
    program = "/opt/node_modules/@qwen-code/qwen-code/cli.js"
    with subprocess.Popen([sys.executable, "-c", code, program, "-r", ID]) as child:
        found = ADAPTER.preflight(tmp_path, ID, None, tmp_path)
        child.kill()
    assert (found.readiness, found.pid) == (Readiness.BUSY, child.pid)
    with subprocess.Popen([sys.executable, "-c", code, "run", "qwen-code", "-r", ID]) as child:
        found = ADAPTER.preflight(tmp_path, ID, None, tmp_path)
        child.kill()
    assert found.readiness is Readiness.READY


def test_the_store_is_where_the_environment_says(tmp_path: Path) -> None:
    user = {"HOME": str(tmp_path)}
    assert IMPORTER.home(user) == tmp_path / ".qwen"
    assert IMPORTER.home({**user, "QWEN_HOME": " "}) == tmp_path / ".qwen"
    assert IMPORTER.home({**user, "QWEN_HOME": "/q"}) == Path("/q")
    assert IMPORTER.home({**user, "QWEN_HOME": "/q", "QWEN_RUNTIME_DIR": "/r"}) == Path("/r")
    write(tmp_path / ".qwen" / "settings.json", {"advanced": {"runtimeOutputDir": "~/out"}})
    assert IMPORTER.home(user) == tmp_path / "out"
