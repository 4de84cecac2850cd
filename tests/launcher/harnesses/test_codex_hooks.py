from __future__ import annotations

import datetime
import tomllib
from typing import Any

import pytest

from launcher.harnesses.codex_args import take_apart
from launcher.harnesses.codex_config import apply, overrides
from launcher.harnesses.codex_hooks import hook, merged, toml, trusted_hash

OURS = "python hook.py"
START = "/<session-flags>/config.toml:session_start"
THEIRS = '[{hooks=[{type="command",command="theirs"}]}]'


def effective(args: tuple[str, ...]) -> dict[str, Any]:
    """The `hooks` table that codex makes of the session flags."""
    table: dict[str, object] = {}
    for given in overrides(take_apart(args)):
        apply(table, given.path, given.value)
    found = table["hooks"]
    assert isinstance(found, dict)
    return found


def commands(hooks: dict[str, Any], event: str) -> list[str]:
    return [handler["command"] for group in hooks[event] for handler in group["hooks"]]


def with_ours(*args: str) -> dict[str, Any]:
    call = take_apart(args)
    added = hook(call, OURS, limit=True)
    assert added.problem is None
    return effective((*added.flags, *added.args))


def test_our_hooks_are_flags_when_the_user_has_none() -> None:
    hooks = with_ours("exec", "p")
    assert commands(hooks, "SessionStart") == commands(hooks, "SessionEnd") == [OURS]
    assert list(hooks["state"]) == [
        f"{START}:0:0",
        "/<session-flags>/config.toml:session_end:0:0",
    ]


@pytest.mark.parametrize(
    "args",
    [
        ("-c", f"hooks.SessionStart={THEIRS}"),
        (f"-chooks.SessionStart={THEIRS}",),
        (f"--config=hooks.SessionStart={THEIRS}", "exec", "p"),
        ("exec", "-c", f"hooks.SessionStart={THEIRS}", "p"),
        ("-c", f"hooks={{SessionStart={THEIRS}}}"),
        ("-c", "hooks.SessionStart=[]", "exec", "-c", f"hooks.SessionStart={THEIRS}"),
    ],
)
def test_theirs_come_first_and_ours_after(args: tuple[str, ...]) -> None:
    hooks = with_ours(*args)
    assert commands(hooks, "SessionStart") == ["theirs", OURS]
    assert f"{START}:1:0" in hooks["state"]
    assert f"{START}:0:0" not in hooks["state"]


def test_other_hooks_and_trust_of_the_user_stay() -> None:
    hooks = with_ours("-c", f"hooks.Stop={THEIRS}", "-c", 'hooks.state={"k"={trusted_hash="h"}}')
    assert commands(hooks, "Stop") == ["theirs"]
    assert hooks["state"]["k"] == {"trusted_hash": "h"}
    assert commands(hooks, "SessionStart") == [OURS]


def test_only_the_last_option_of_the_user_is_touched() -> None:
    args = ("-c", f"hooks.Stop={THEIRS}", "-m", "x", "-c", "hooks.PreCompact=[]", "prompt")
    added = hook(take_apart(args), OURS, limit=True)
    assert added.flags == ()
    assert added.args[:5] == args[:5]
    assert added.args[6] == "prompt"


@pytest.mark.parametrize(
    "value",
    ["hooks.SessionStart=[{", "hooks=nonsense", "hooks.SessionStart=7", "hooks.state=[]"],
)
def test_what_cannot_be_merged_is_left_alone(value: str) -> None:
    added = hook(take_apart(["-c", value]), OURS, limit=True)
    assert added.problem is not None
    assert added.args == ("-c", value)
    assert added.flags == ()


def test_the_hash_is_over_the_normalised_group() -> None:
    handler = {"type": "command", "command": "é", "timeout": 3}
    # sha256 of {"event_name":"session_end","hooks":[{"async":false,"command":"é","timeout":3,
    # "type":"command"}]} in UTF-8
    assert trusted_hash("session_end", [handler]) == (
        "sha256:6430af7d3a7ed875a560a21e8ec5c2bb251b4d812a602f2121aff8b88d517e19"
    )


def test_the_limit_is_left_out_where_it_is_not_known() -> None:
    groups = merged({}, OURS, limit=False)["SessionStart"]
    assert "additionalContextLimit" not in toml(groups)
    assert "additionalContextLimit" in toml(merged({}, OURS, limit=True)["SessionStart"])


@pytest.mark.parametrize(
    "value",
    [
        True,
        -7,
        1.5,
        float("inf"),
        'quote " backslash \\ newline \n tab \t del \x7f nul \x00 é 𝄞',
        [],
        [1, "a", [False]],
        {"a.b": {"c d": [1]}, "": {}},
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        datetime.date(2026, 1, 2),
    ],
)
def test_a_value_is_written_as_one_line_of_toml(value: object) -> None:
    line = toml(value)
    assert "\n" not in line
    assert tomllib.loads(f"x = {line}")["x"] == value
