from __future__ import annotations

import shlex

import pytest

from launcher.harnesses.base import Form, Select
from launcher.harnesses.codex_args import classify, take_apart

ID = "01a22cf5-d7ba-74e0-bdb5-5126d1b3e283"
TUI, EXEC, UTILITY = Form.INTERACTIVE, Form.ONE_SHOT, Form.UTILITY

ROWS = [
    # how a terminal session is started
    ("", TUI, Select.NONE, None),
    ("'fix the build'", TUI, Select.NONE, None),
    ("-m gpt-5.5", TUI, Select.NONE, None),
    ("-m resume", TUI, Select.NONE, None),
    ("-m exec 'go on'", TUI, Select.NONE, None),
    ("--model=resume hello", TUI, Select.NONE, None),
    ("-mresume hello", TUI, Select.NONE, None),
    ("-m=resume hello", TUI, Select.NONE, None),
    ("-c model=exec", TUI, Select.NONE, None),
    ("--config resume=1", TUI, Select.NONE, None),
    ("-C exec", TUI, Select.NONE, None),
    ("-p review", TUI, Select.NONE, None),
    ("-s read-only -a never --search x", TUI, Select.NONE, None),
    ("-i exec", TUI, Select.NONE, None),
    ("-i a.png exec resume", TUI, Select.NONE, None),
    ("--image a.png b.png resume", TUI, Select.NONE, None),
    ("--add-dir fork", TUI, Select.NONE, None),
    ("-- exec", TUI, Select.NONE, None),
    ("-- resume --last", TUI, Select.NONE, None),
    ("-- --help", TUI, Select.NONE, None),
    ("hello -- -h", TUI, Select.NONE, None),
    ("--yolo 'do it'", TUI, Select.NONE, None),
    ("--frobnicate", TUI, Select.NONE, None),
    ("--frobnicate=resume", TUI, Select.NONE, None),
    ("--frobnicate hello", TUI, Select.NONE, None),
    ("-Z hello", TUI, Select.NONE, None),
    ("-", TUI, Select.NONE, None),
    ("--enable resume", TUI, Select.NONE, None),
    ("--disable exec go", TUI, Select.NONE, None),
    # resuming and forking
    (f"resume {ID}", TUI, Select.RESUME, ID),
    (f"resume {ID.upper()}", TUI, Select.RESUME, ID),
    (f"resume {ID.replace('-', '')}", TUI, Select.RESUME, ID),
    (f"resume {ID} 'go on'", TUI, Select.RESUME, ID),
    (f"-m x resume {ID}", TUI, Select.RESUME, ID),
    (f"resume -m x {ID}", TUI, Select.RESUME, ID),
    (f"resume -C /tmp --all {ID} -- -odd", TUI, Select.RESUME, ID),
    (f"resume -- {ID}", TUI, Select.RESUME, ID),
    (f"-i=a.png resume {ID}", TUI, Select.RESUME, ID),
    (f"-i a.png -m x resume {ID}", TUI, Select.RESUME, ID),
    (f"-ia.png resume {ID}", TUI, Select.RESUME, ID),
    (f"hello resume {ID}", TUI, Select.RESUME, ID),
    ("resume", TUI, Select.PICK, None),
    ("resume --last", TUI, Select.PICK, None),
    (f"resume --last {ID}", TUI, Select.PICK, None),
    ("resume --last 'go on'", TUI, Select.PICK, None),
    ("resume my-name", TUI, Select.PICK, None),
    ("resume --all", TUI, Select.PICK, None),
    (f"resume -m {ID}", TUI, Select.PICK, None),
    (f"resume {ID[:-1]}", TUI, Select.PICK, None),
    (f"fork {ID}", TUI, Select.FORK, ID),
    (f"fork {ID} 'try it'", TUI, Select.FORK, ID),
    ("fork", TUI, Select.PICK, None),
    ("fork --last", TUI, Select.PICK, None),
    # without a terminal
    ("exec hello", EXEC, Select.NONE, None),
    ("e hello", EXEC, Select.NONE, None),
    ("exec", EXEC, Select.NONE, None),
    ("exec -", EXEC, Select.NONE, None),
    ("exec --json -o out.txt hello", EXEC, Select.NONE, None),
    ("exec -o resume hello", EXEC, Select.NONE, None),
    ("exec --output-schema fork hello", EXEC, Select.NONE, None),
    ("exec -- resume", EXEC, Select.NONE, None),
    ("exec -i resume", EXEC, Select.NONE, None),
    ("-c a=b exec hello", EXEC, Select.NONE, None),
    ("-a never exec hello", EXEC, Select.NONE, None),
    (f"exec resume {ID} hello", EXEC, Select.RESUME, ID),
    (f"exec -C /tmp resume {ID} --json -- -odd", EXEC, Select.RESUME, ID),
    (f"exec hello resume {ID}", EXEC, Select.RESUME, ID),
    (f"exec resume -i a.png {ID}", EXEC, Select.RESUME, ID),
    ("exec resume --last hello", EXEC, Select.PICK, None),
    ("exec resume name hello", EXEC, Select.PICK, None),
    (f"exec fork {ID} hello", EXEC, Select.FORK, ID),
    ("exec review --uncommitted", EXEC, Select.CREATE, None),
    ("review --base main", EXEC, Select.CREATE, None),
    ("review --base resume 'look at it'", EXEC, Select.CREATE, None),
    # sessions that leave nothing here
    ("exec --ephemeral hello", EXEC, Select.DETACHED, None),
    (f"exec resume --ephemeral {ID} hello", EXEC, Select.DETACHED, None),
    (f"exec fork {ID} --ephemeral hello", EXEC, Select.DETACHED, None),
    ("--remote unix://", TUI, Select.DETACHED, None),
    ("exec -- --ephemeral", EXEC, Select.NONE, None),
    # no conversation at all
    ("--help", UTILITY, Select.NONE, None),
    ("-h", UTILITY, Select.NONE, None),
    ("-V", UTILITY, Select.NONE, None),
    ("--version", UTILITY, Select.NONE, None),
    ("hello --help", UTILITY, Select.NONE, None),
    ("exec --help", UTILITY, Select.NONE, None),
    (f"exec resume {ID} -h", UTILITY, Select.NONE, None),
    ("resume --help", UTILITY, Select.NONE, None),
    ("-hV", UTILITY, Select.NONE, None),
    ("exec help resume", UTILITY, Select.NONE, None),
    ("help exec", UTILITY, Select.NONE, None),
    ("login", UTILITY, Select.NONE, None),
    ("login --with-api-key", UTILITY, Select.NONE, None),
    ("logout", UTILITY, Select.NONE, None),
    ("mcp add x -- exec resume", UTILITY, Select.NONE, None),
    ("mcp-server", UTILITY, Select.NONE, None),
    ("app-server daemon stop", UTILITY, Select.NONE, None),
    ("-c x=y mcp list", UTILITY, Select.NONE, None),
    ("-m x doctor", UTILITY, Select.NONE, None),
    ("sandbox -- codex exec", UTILITY, Select.NONE, None),
    ("debug models", UTILITY, Select.NONE, None),
    ("apply task", UTILITY, Select.NONE, None),
    ("a task", UTILITY, Select.NONE, None),
    (f"archive {ID}", UTILITY, Select.NONE, None),
    (f"unarchive {ID}", UTILITY, Select.NONE, None),
    (f"delete --force {ID}", UTILITY, Select.NONE, None),
    (f"queue --thread {ID} --message x", UTILITY, Select.NONE, None),
    ("features list", UTILITY, Select.NONE, None),
    ("cloud", UTILITY, Select.NONE, None),
    ("agents", UTILITY, Select.NONE, None),
    ("update", UTILITY, Select.NONE, None),
    ("completion bash", UTILITY, Select.NONE, None),
]


@pytest.mark.parametrize(("line", "form", "select", "native_id"), ROWS, ids=[r[0] for r in ROWS])
def test_arguments_are_understood(
    line: str, form: Form, select: Select, native_id: str | None
) -> None:
    args = shlex.split(line)
    found = classify(args)
    assert (found.form, found.select, found.native_id) == (form, select, native_id)
    assert found.args == tuple(args)


def test_a_selection_that_codex_makes_says_so() -> None:
    assert classify(["resume"]).facts == {"why": "the session is chosen by codex"}


@pytest.mark.parametrize("line", ["-m", "exec -o", "resume -C", "-i", "-c", "--"])
def test_a_missing_value_is_left_to_codex(line: str) -> None:
    assert classify(line.split()).form is not Form.UTILITY


def test_every_argument_belongs_to_one_item_or_command() -> None:
    args = shlex.split(f"-c a=b -i x y --json exec -mz --weird v resume {ID} -- -p -- q")
    call = take_apart(args)
    covered = [index for item in call.items for index in range(item.start, item.stop)]
    assert sorted([*covered, *call.command_at]) == list(range(len(args)))
