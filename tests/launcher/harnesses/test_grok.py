from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses.base import Form, Launch, LaunchRequest, Select
from launcher.harnesses.grok import ADAPTER, TEXT
from tests.launcher.harnesses.support import request

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"
NEWS = "what happened"


def wanted(tmp_path: Path, *args: str, **more: Any) -> LaunchRequest:
    more.setdefault("env", {"HOME": str(tmp_path), "GROK_HOME": str(tmp_path / "store")})
    return request(ADAPTER, args, root=tmp_path, **more)._replace(text=NEWS)


def launch(request: LaunchRequest) -> Launch:
    return ADAPTER.plan(request, ADAPTER.channel(request))


@pytest.mark.parametrize("resume", [None, ID])
def test_the_prompt_of_a_one_shot_call_is_replaced_by_a_file_with_ours_before_it(
    tmp_path: Path, resume: str | None
) -> None:
    made = launch(wanted(tmp_path, "-m", "x", "-p", "grüße", "--verbatim", resume=resume))
    assert made.argv[1] == ("--session-id" if resume is None else "--resume")
    file = str(tmp_path / "state" / "run" / TEXT)
    assert made.argv[3:] == ("-m", "x", "--prompt-file", file, "--verbatim")
    assert made.files == {TEXT: f"{NEWS}\n\ngrüße".encode()}
    assert (made.channel.name, made.channel.proof) == ("prompt", True)


def test_a_prompt_in_a_file_is_read_from_there(tmp_path: Path) -> None:
    asked = wanted(tmp_path, "--prompt-file=p.md")
    asked.cwd.mkdir(parents=True, exist_ok=True)
    (asked.cwd / "p.md").write_text("words")
    made = launch(asked)
    assert made.files == {TEXT: f"{NEWS}\n\nwords".encode()}
    assert "--prompt-file=p.md" not in made.argv


@pytest.mark.parametrize(
    "args",
    [("-p", "/compact"), ("--prompt-file", "missing"), ("--prompt-json", "[]"), ("-cp", "words")],
)
def test_what_the_prompt_cannot_carry_stays_as_it_is(tmp_path: Path, args: tuple[str, ...]) -> None:
    made = launch(wanted(tmp_path, *args))
    assert made.files == {}
    assert made.argv[-len(args) :] == args
    assert made.channel.name != "prompt"


def test_an_interactive_start_has_it_behind_the_persons_rules(tmp_path: Path) -> None:
    made = launch(wanted(tmp_path, "--rules", "mine", "first words"))
    assert made.argv[1] == "--session-id"
    assert made.argv[3:] == (f"--rules=mine\n\n{NEWS}", "first words")
    assert (made.channel.name, made.channel.proof) == ("system_prompt", False)


def test_an_interactive_resume_is_told_nothing_and_says_why(tmp_path: Path) -> None:
    made = launch(wanted(tmp_path, resume=ID))
    assert made.argv[1:] == ("--resume", ID)
    assert made.channel.name == "none"
    assert "keeps the rules of its start" in str(made.channel.why)


def test_a_replaced_system_prompt_takes_no_rules(tmp_path: Path) -> None:
    made = launch(wanted(tmp_path, "--system-prompt", "all"))
    assert made.channel.name == "none"


def test_approvals_are_left_out_unless_the_person_chose(tmp_path: Path) -> None:
    assert "--always-approve" in launch(wanted(tmp_path, "-p", "x", yolo=True)).argv
    chosen = launch(wanted(tmp_path, "--permission-mode", "plan", yolo=True))
    assert "--always-approve" not in chosen.argv


@pytest.mark.parametrize(
    ("args", "form", "select"),
    [
        (["words"], Form.INTERACTIVE, Select.NONE),
        (["-p", "words"], Form.ONE_SHOT, Select.NONE),
        (["-r", ID, "-p", "x"], Form.ONE_SHOT, Select.RESUME),
        (["-r", ID, "--fork-session"], Form.INTERACTIVE, Select.FORK),
        (["-r", "a title"], Form.INTERACTIVE, Select.PICK),
        (["-r"], Form.INTERACTIVE, Select.PICK),
        (["-c"], Form.INTERACTIVE, Select.PICK),
        (["-s", ID], Form.INTERACTIVE, Select.CREATE),
        (["-m", "models"], Form.INTERACTIVE, Select.NONE),
        (["models"], Form.UTILITY, Select.NONE),
        (["-v"], Form.UTILITY, Select.NONE),
    ],
)
def test_arguments_are_understood(args: list[str], form: Form, select: Select) -> None:
    invocation = ADAPTER.classify(args)
    assert (invocation.form, invocation.select) == (form, select)
