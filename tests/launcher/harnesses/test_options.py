from __future__ import annotations

from pathlib import Path

import pytest

from launcher.harnesses import programs
from launcher.harnesses.argv import syntax
from launcher.harnesses.base import Form, Select
from launcher.harnesses.options import Options

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"
OPTIONS = Options(
    table=syntax(
        """
-p --print NOTHING
-m --model ONE
-r --resume MAYBE
-c --continue NOTHING
--session-id ONE
--fork-session NOTHING
--fork ONE
--nothing-kept NOTHING
-h --help NOTHING
""",
        short_equals=False,
    ),
    conversations={"run": syntax("-s --session ONE\n--json NOTHING", short_equals=True)},
    utilities=frozenset({"login"}),
    one_shot=frozenset({"--print", "run"}),
    create="--session-id",
    resume=frozenset({"--resume", "--session"}),
    pick=frozenset({"--continue"}),
    fork=frozenset({"--fork"}),
    forking=frozenset({"--fork-session"}),
    detached={"--nothing-kept": "asked for"},
)


@pytest.mark.parametrize(
    ("args", "form"),
    [
        ([], Form.INTERACTIVE),
        (["-p", "words"], Form.ONE_SHOT),
        (["run", "words"], Form.ONE_SHOT),
        (["login", "-p"], Form.UTILITY),
        (["-m", "login"], Form.INTERACTIVE),
        (["words", "login"], Form.INTERACTIVE),
        (["--", "login"], Form.INTERACTIVE),
        (["-m", "x", "login"], Form.UTILITY),
        (["--help"], Form.UTILITY),
        (["--", "--help"], Form.INTERACTIVE),
    ],
)
def test_the_form_of_a_call(args: list[str], form: Form) -> None:
    assert OPTIONS.classify(args).form is form


@pytest.mark.parametrize(
    ("args", "select", "native_id"),
    [
        ([], Select.NONE, None),
        (["-r", ID], Select.RESUME, ID),
        ([f"--resume={ID}"], Select.RESUME, ID),
        (["-r"], Select.PICK, None),
        (["-r", "my title"], Select.PICK, None),
        (["-c"], Select.PICK, None),
        (["-c", "-r", ID], Select.PICK, None),
        (["--session-id", ID], Select.CREATE, ID),
        (["--fork", ID], Select.FORK, ID),
        (["--fork", "a/path.jsonl"], Select.PICK, None),
        (["-r", ID, "--fork-session"], Select.FORK, ID),
        (["--nothing-kept", "-r", ID], Select.DETACHED, None),
        (["run", "-s", ID, "words"], Select.RESUME, ID),
        (["run", f"-s={ID}"], Select.RESUME, ID),
        (["--", "-r", ID], Select.NONE, None),
    ],
)
def test_how_a_call_chooses_its_session(
    args: list[str], select: Select, native_id: str | None
) -> None:
    found = OPTIONS.classify(args)
    assert (found.select, found.native_id) == (select, native_id)


def test_a_fork_may_have_a_chosen_id() -> None:
    found = OPTIONS.classify(["-r", ID, "--fork-session", "--session-id", "new"])
    assert (found.select, found.native_id, found.facts["fork"]) == (Select.FORK, ID, "new")


def test_ours_belong_behind_the_subcommand() -> None:
    assert OPTIONS.take_apart(["-m", "x", "run", "words"]).at == 3
    assert OPTIONS.take_apart(["-m", "x", "words"]).at == 0


def test_a_named_session_is_resumed_or_created() -> None:
    options = Options(table=syntax("--session-id ONE", short_equals=False), named="--session-id")
    found = options.classify(["--session-id", "any.word"])
    assert (found.select, found.native_id) == (Select.NAMED, "any.word")


def test_where_equals_is_not_understood_it_is_not_read() -> None:
    table = syntax("--session-id ONE", short_equals=False, long_equals=False)
    options = Options(table=table, named="--session-id")
    assert options.classify([f"--session-id={ID}"]).select is Select.NONE


# --- node ----------------------------------------------------------------------------------------


def package(root: Path, engines: str) -> Path:
    folder = root / "node_modules" / "@scope" / "agent"
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text(
        f'{{"name":"@scope/agent","version":"1.2.3","engines":{{"node":"{engines}"}}}}'
    )
    script = folder / "dist" / "cli.js"
    script.write_text("#!/usr/bin/env node\n")
    link = root / "bin" / "agent"
    link.parent.mkdir()
    link.symlink_to(script)
    return link


def node(root: Path, version: str) -> dict[str, str]:
    path = root / "node" / "node"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\necho v{version}\n")
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:/bin:/usr/bin"}


@pytest.mark.parametrize(
    ("wanted", "there", "told"),
    [(">=22.19.0", "20.20.2", True), (">=22.19.0", "22.19.0", False), (">=20", "24.1.0", False)],
)
def test_a_node_that_is_too_old_is_told(
    tmp_path: Path, wanted: str, there: str, told: bool
) -> None:
    link = package(tmp_path, wanted)
    problems = programs.node_problems(link, "@scope/agent", node(tmp_path, there))
    assert [("20.20.2" in text and wanted in text) for text in problems] == ([True] if told else [])


def test_without_node_that_is_told(tmp_path: Path) -> None:
    link = package(tmp_path, ">=20")
    (problem,) = programs.node_problems(link, "@scope/agent", {"PATH": str(tmp_path)})
    assert "none on PATH" in problem


def test_another_package_says_nothing(tmp_path: Path) -> None:
    assert programs.node_problems(package(tmp_path, ">=99"), "other", node(tmp_path, "1.0.0")) == []
