from __future__ import annotations

from pathlib import Path

import pytest

from launcher.harnesses.base import Form, Select
from launcher.harnesses.extension import EXTENSION
from launcher.harnesses.omp import ADAPTER
from tests.launcher.harnesses.support import request

ID = "01a22dfd-7429-7351-adc4-62759c94cf9d"


def arguments(root: Path, *args: str, yolo: bool = False, resume: Path | None = None) -> list[str]:
    wanted = request(
        ADAPTER,
        args,
        root=root,
        resume=None if resume is None else ID,
        resume_path=resume,
    )._replace(yolo=yolo)
    return list(ADAPTER.plan(wanted, ADAPTER.channel(wanted)).argv[1:])


def test_a_new_session_gets_the_extension_and_its_id_from_the_program(tmp_path: Path) -> None:
    extension = str(tmp_path / "state" / "run" / EXTENSION)
    assert arguments(tmp_path, "-p", "words") == ["--extension", extension, "-p", "words"]


def test_a_session_is_resumed_by_its_file(tmp_path: Path) -> None:
    assert arguments(tmp_path, resume=tmp_path / "x.jsonl")[:2] == [
        "--resume",
        str(tmp_path / "x.jsonl"),
    ]


def test_yolo_approves_unless_the_person_chose(tmp_path: Path) -> None:
    assert "--auto-approve" in arguments(tmp_path, yolo=True)
    assert "--auto-approve" not in arguments(tmp_path, "--approval-mode", "write", yolo=True)
    assert arguments(tmp_path, "--auto-approve", yolo=True).count("--auto-approve") == 1


@pytest.mark.parametrize(
    ("args", "form", "select"),
    [
        ([], Form.INTERACTIVE, Select.NONE),
        (["-p", "words"], Form.ONE_SHOT, Select.NONE),
        (["--mode=json"], Form.ONE_SHOT, Select.NONE),
        (["--model", "commit"], Form.INTERACTIVE, Select.NONE),
        (["commit"], Form.UTILITY, Select.NONE),
        (["--version"], Form.UTILITY, Select.NONE),
        (["-r", ID], Form.INTERACTIVE, Select.RESUME),
        (["-r"], Form.INTERACTIVE, Select.PICK),
        (["--resume", "01a22"], Form.INTERACTIVE, Select.PICK),
        (["-c"], Form.INTERACTIVE, Select.PICK),
        (["--no-session", "x"], Form.INTERACTIVE, Select.DETACHED),
    ],
)
def test_arguments_are_understood(args: list[str], form: Form, select: Select) -> None:
    found = ADAPTER.classify(args)
    assert (found.form, found.select) == (form, select)


def test_a_profile_given_as_an_argument_moves_the_store() -> None:
    assert ADAPTER.store_environment(["--profile", "work"]) == {"OMP_PROFILE": "work"}
