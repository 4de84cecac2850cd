from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses.base import Form, Launch, LaunchRequest, Readiness, Select
from launcher.harnesses.copilot import ADAPTER
from tests.launcher.harnesses.support import request

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"


def wanted(tmp_path: Path, *args: str, **more: Any) -> LaunchRequest:
    return request(ADAPTER, args, root=tmp_path, **more)


def launch(request: LaunchRequest) -> Launch:
    return ADAPTER.plan(request, ADAPTER.channel(request))


def test_a_new_session_gets_an_id_and_the_plugin_of_the_run(tmp_path: Path) -> None:
    asked = wanted(tmp_path, "-p", "words")
    made = launch(asked)
    folder = str(asked.run_dir / "copilot")
    assert made.argv[1] == "--session-id"
    assert made.argv[2] == made.native_id
    assert made.argv[3:] == ("--plugin-dir", folder, "-p", "words")
    hooks = json.loads(made.files["copilot/hooks.json"])["hooks"]
    assert list(hooks) == ["sessionStart", "userPromptSubmitted", "sessionEnd"]
    command = [*asked.hook_command, "--event", "userPromptSubmitted"]
    assert shlex.split(hooks["userPromptSubmitted"][0]["bash"]) == command
    assert json.loads(made.files["copilot/plugin.json"])["hooks"] == "hooks.json"
    assert (made.channel.name, made.channel.proof) == ("hook", True)


def test_a_session_is_resumed_by_its_id(tmp_path: Path) -> None:
    assert launch(wanted(tmp_path, resume=ID)).argv[1] == f"--resume={ID}"


@pytest.mark.parametrize(
    ("args", "added"),
    [
        ([], True),
        (["--allow-all-tools"], False),
        (["--assisted-approval"], False),
        (["--allow-tool", "--yolo"], False),
        (["--deny-tool", "shell", "-p", "--yolo"], True),
    ],
)
def test_approvals_are_the_persons_choice(tmp_path: Path, args: list[str], *, added: bool) -> None:
    ours = launch(wanted(tmp_path, *args, yolo=True)).argv[1 : -len(args) or None]
    assert ("--yolo" in ours) is added


@pytest.mark.parametrize(
    ("args", "form", "select", "native_id"),
    [
        ([], Form.INTERACTIVE, Select.NONE, None),
        (["-i", "--continue"], Form.INTERACTIVE, Select.NONE, None),
        (["-p", "--resume"], Form.ONE_SHOT, Select.NONE, None),
        (["--available-tools", "-p", "x"], Form.ONE_SHOT, Select.NONE, None),
        (["--acp"], Form.ONE_SHOT, Select.NONE, None),
        (["--session-id", ID], Form.INTERACTIVE, Select.NAMED, ID),
        ([f"--resume={ID}", "-p", "x"], Form.ONE_SHOT, Select.RESUME, ID),
        (["-r", ID], Form.INTERACTIVE, Select.RESUME, ID),
        (["--resume"], Form.INTERACTIVE, Select.PICK, None),
        (["--resume=my feature"], Form.INTERACTIVE, Select.PICK, None),
        (["--resume", ID[:8]], Form.INTERACTIVE, Select.PICK, None),
        (["--continue"], Form.INTERACTIVE, Select.PICK, None),
        (["--connect", ID], Form.INTERACTIVE, Select.DETACHED, None),
        (["sessions", "list"], Form.UTILITY, Select.NONE, None),
        (["--model", "login"], Form.INTERACTIVE, Select.NONE, None),
    ],
)
def test_arguments_say_what_is_asked_for(
    args: list[str], form: Form, select: Select, native_id: str | None
) -> None:
    found = ADAPTER.classify(args)
    assert (found.form, found.select, found.native_id) == (form, select, native_id)


def test_an_open_session_is_busy_while_its_process_lives(tmp_path: Path) -> None:
    folder = tmp_path / "session-state" / ID
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("{}\n")
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", "copilot"]
    ) as child:
        (folder / f"inuse.{child.pid}.lock").write_text(str(child.pid))
        found = ADAPTER.preflight(tmp_path, ID, None, tmp_path)
        child.kill()
    assert (found.readiness, found.pid) == (Readiness.BUSY, child.pid)
    assert ADAPTER.preflight(tmp_path, ID, None, tmp_path).readiness is Readiness.READY


def test_npms_script_gives_way_to_the_program_behind_it(tmp_path: Path) -> None:
    from launcher.harnesses.programs import npm_platform

    modules = tmp_path / "node_modules" / "@github"
    script = modules / "copilot" / "npm-loader.js"
    program = modules / f"copilot-{npm_platform()}" / "copilot"
    for path, text in ((script, "#!/usr/bin/env node\n"), (program, "\x7fELF")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    assert ADAPTER.native(script) == program  # type: ignore[attr-defined]
    program.unlink()
    assert ADAPTER.native(script) == script  # type: ignore[attr-defined]
