from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses import claude_args, claude_settings, claude_store
from launcher.harnesses.claude import HOOK_CAPACITY, Claude
from tests.launcher.harnesses.support import environment, request

ID = "6c422773-b7eb-4f88-bfcb-6b7a818a4d47"
NEW = "0f0f0f0f-b7eb-4f88-bfcb-6b7a818a4d47"
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
OFF = '{"disableAllHooks": true}'


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(managed=tmp_path / "etc")


def planned(claude: Claude, args: list[str], root: Path, **more: Any) -> tuple[list[str], Any]:
    wanted = request(claude, args, root=root, **more)
    launch = claude.plan(wanted, claude.channel(wanted))
    ours = f"--settings={wanted.run_dir / 'settings.json'}"
    plugin = f"--plugin-dir={wanted.run_dir / 'plugin'}"
    rest = list(launch.argv[1:])
    rest.remove(ours if "settings.json" in launch.files else plugin)
    return rest, launch


def session(root: Path, folder: str, native_id: str = ID) -> Path:
    path = root / "store" / "projects" / folder / f"{native_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"type":"user","message":{"content":"hi"}}\n')
    return path


def test_a_new_session_gets_an_id_of_ours(claude: Claude, tmp_path: Path) -> None:
    args, launch = planned(claude, ["-p", "hello"], tmp_path)
    assert UUID4.fullmatch(launch.native_id)
    assert args == [f"--session-id={launch.native_id}", "-p", "hello"]
    assert planned(claude, [], tmp_path)[1].native_id != launch.native_id


def test_a_session_of_this_directory_is_resumed_by_its_id(claude: Claude, tmp_path: Path) -> None:
    session(tmp_path, claude_store.slug(tmp_path / "work"))
    args, launch = planned(claude, ["hi"], tmp_path, resume=ID)
    assert args == [f"--resume={ID}", "hi"]
    assert launch.native_id == ID


def test_a_session_of_another_directory_is_resumed_by_its_path(
    claude: Claude, tmp_path: Path
) -> None:
    path = session(tmp_path, "-elsewhere")
    assert planned(claude, [], tmp_path, resume=ID)[0] == [f"--resume={path}"]
    gone = tmp_path / "gone.jsonl"
    assert planned(claude, [], tmp_path, resume=ID, resume_path=gone)[0] == [f"--resume={path}"]


def test_a_worktree_session_is_resumed_by_its_path(claude: Claude, tmp_path: Path) -> None:
    path = session(tmp_path, claude_store.slug(tmp_path / "work"))
    assert planned(claude, ["-w"], tmp_path, resume=ID)[0] == [f"--resume={path}", "-w"]


@pytest.mark.parametrize(
    ("args", "native_id"),
    [
        (["--resume", ID], ID),
        (["--session-id", NEW], NEW),
        (["-r", ID, "--fork-session", "--session-id", NEW], NEW),
        (["--continue"], None),
        (["--resume"], None),
        (["-p", "--no-session-persistence", "x"], None),
    ],
)
def test_the_users_own_choice_stays(
    claude: Claude, tmp_path: Path, args: list[str], native_id: str | None
) -> None:
    planned_args, launch = planned(claude, args, tmp_path)
    assert planned_args == args
    assert launch.native_id == native_id


def test_a_fork_gets_an_id_that_is_known(claude: Claude, tmp_path: Path) -> None:
    args, launch = planned(claude, ["-r", ID, "--fork-session"], tmp_path)
    assert args == [f"--session-id={launch.native_id}", "-r", ID, "--fork-session"]


def test_default_arguments_of_the_entry_come_first(claude: Claude, tmp_path: Path) -> None:
    args, _ = planned(claude, ["--model", "b"], tmp_path, entry_args=["--model", "a"])
    assert args[1:] == ["--model", "a", "--model", "b"]


def test_both_hooks_come_from_settings_of_the_run(claude: Claude, tmp_path: Path) -> None:
    root = tmp_path / "it's a place"
    _, launch = planned(claude, [], root)
    assert list(launch.files) == ["settings.json"]
    hooks = json.loads(launch.files["settings.json"])["hooks"]
    assert sorted(hooks) == ["SessionEnd", "SessionStart"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    assert "'\"'\"'" in command


@pytest.mark.parametrize("own", [["--settings", "{}"], ["--settings=theirs.json"]])
def test_beside_settings_of_the_persons_own_the_hooks_come_from_a_plugin(
    claude: Claude, tmp_path: Path, own: list[str]
) -> None:
    args, launch = planned(claude, own, tmp_path)
    assert args[-len(own) :] == own
    manifest = json.loads(launch.files["plugin/.claude-plugin/plugin.json"])
    hooks = json.loads(launch.files["plugin/hooks/hooks.json"])["hooks"]
    assert manifest["name"] == "workstream"
    assert sorted(hooks) == ["SessionEnd", "SessionStart"]
    assert "settings.json" not in launch.files


def test_the_environment_forgets_an_outer_claude(claude: Claude, tmp_path: Path) -> None:
    wanted = request(claude, [], root=tmp_path, env={"CLAUDE_CODE_CHILD_SESSION": "1", "A": "b"})
    launch = claude.plan(wanted, claude.channel(wanted))
    assert launch.env_set["CLAUDE_CODE_DISABLE_AGENT_VIEW"] == "1"
    assert "CLAUDE_CODE_CHILD_SESSION" not in environment(wanted, launch)
    assert environment(wanted, launch)["A"] == "b"


def test_another_store_home_is_passed_on(claude: Claude, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": " "}
    _, launch = planned(claude, [], tmp_path, env=env)
    assert launch.env_set["CLAUDE_CONFIG_DIR"] == str(tmp_path / "store")
    _, launch = planned(claude, [], tmp_path, env=env, home=tmp_path / ".claude")
    assert "CLAUDE_CONFIG_DIR" not in launch.env_set
    assert "CLAUDE_CONFIG_DIR" in launch.env_remove


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ([], True),
        (["--dangerously-skip-permissions"], False),
        (["--permission-mode", "plan"], False),
    ],
)
def test_yolo_is_added_unless_the_user_said_otherwise(
    claude: Claude, tmp_path: Path, args: list[str], given: bool
) -> None:
    more, _ = planned(claude, args, tmp_path, yolo=True)
    assert (len(more) == len(args) + 2) is given


def test_the_hook_is_the_channel(claude: Claude, tmp_path: Path) -> None:
    channel = claude.channel(request(claude, [], root=tmp_path))
    assert (channel.name, channel.capacity, channel.proof) == ("hook", HOOK_CAPACITY, True)


@pytest.mark.parametrize(
    ("own", "left", "text"),
    [
        ([], [], "news"),
        (["--append-system-prompt", "mine"], ["FILE"], "mine\n\nnews"),
        (["--append-system-prompt=mine"], ["FILE"], "mine\n\nnews"),
        (["--append-system-prompt-file", "own.txt"], ["FILE"], "from file\n\nnews"),
        (
            ["--append-system-prompt", "a", "-p", "--append-system-prompt", "b"],
            ["-p", "FILE"],
            "b\n\nnews",
        ),
    ],
)
def test_without_hooks_the_system_prompt_carries_it(
    claude: Claude, tmp_path: Path, own: list[str], left: list[str], text: str
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "own.txt").write_text("from file")
    features = frozenset({"hooks", "prompt_snapshot"})
    args, launch = planned(claude, ["--bare", *own], tmp_path, text="news", features=features)
    flag = f"--append-system-prompt-file={tmp_path / 'state' / 'run' / 'system-prompt.txt'}"
    assert launch.channel.name == "system_prompt"
    assert launch.channel.proof is False
    assert launch.files["system-prompt.txt"] == text.encode()
    assert args[args.index("--bare") + 1 :] == [flag if a == "FILE" else a for a in left]
    assert args.count(flag) == 1
    assert "--system-prompt-snapshot=off" in args


def test_the_snapshot_is_not_touched_where_it_does_not_exist(
    claude: Claude, tmp_path: Path
) -> None:
    args, _ = planned(claude, ["--bare"], tmp_path, text="news")
    assert not any(arg.startswith("--system-prompt-snapshot") for arg in args)


@pytest.mark.parametrize(
    "own",
    [
        ["--append-system-prompt-file", "absent.txt"],
        ["--append-system-prompt", "a", "--append-system-prompt-file", "b"],
    ],
)
def test_a_prompt_that_cannot_be_merged_wins(
    claude: Claude, tmp_path: Path, own: list[str]
) -> None:
    args, launch = planned(claude, ["--bare", *own], tmp_path, text="news")
    assert launch.channel.name == "none"
    assert args[-len(own) :] == own


def test_a_run_without_briefing_keeps_the_event_hook(claude: Claude, tmp_path: Path) -> None:
    _, launch = planned(claude, ["--bare"], tmp_path, briefing=False, text="news")
    assert launch.channel.name == "none"
    assert "system-prompt.txt" not in launch.files
    assert "settings.json" in launch.files


def off(tmp_path: Path, *args: str, env: dict[str, str] | None = None) -> str | None:
    call = claude_args.take_apart(args)
    work = tmp_path / "repo" / "work"
    work.mkdir(parents=True, exist_ok=True)
    (tmp_path / "repo" / ".git").mkdir(exist_ok=True)
    return claude_settings.hooks_off(call, env or {}, tmp_path / "store", work, tmp_path / "etc")


@pytest.mark.parametrize(
    ("name", "text", "ignoring"),
    [
        ("store/settings.json", OFF, ["--setting-sources", "project,local"]),
        ("repo/work/.claude/settings.json", OFF, ["--setting-sources=user"]),
        ("repo/work/.claude/settings.local.json", OFF, ["--setting-sources", ""]),
        ("repo/.claude/settings.json", OFF, ["--restricted"]),
        ("etc/managed-settings.json", OFF, None),
        ("etc/managed-settings.json", '{"allowManagedHooksOnly": true}', None),
        ("etc/managed-settings.d/a.json", OFF, None),
        ("store/remote-settings.json", OFF, None),
    ],
)
def test_hooks_can_be_off_in_any_settings(
    tmp_path: Path, name: str, text: str, ignoring: list[str] | None
) -> None:
    assert off(tmp_path) is None
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert str(tmp_path / name) in (off(tmp_path) or "")
    if ignoring is not None:
        assert off(tmp_path, *ignoring) is None


def test_settings_of_the_command_line_count(tmp_path: Path) -> None:
    assert off(tmp_path, "--settings", OFF) == "hooks are switched off in --settings"
    (tmp_path / "repo" / "work" / "s.json").write_text(OFF)
    assert off(tmp_path, "--settings=s.json") == "hooks are switched off in s.json"
    assert off(tmp_path, "--settings", "{broken") is None


def test_only_an_administrator_can_allow_managed_hooks_only(tmp_path: Path) -> None:
    assert off(tmp_path, "--settings", '{"allowManagedHooksOnly": true}') is None


@pytest.mark.parametrize("option", ["--bare", "--safe-mode"])
def test_bare_modes_have_no_hooks(tmp_path: Path, option: str) -> None:
    assert off(tmp_path, option) == f"hooks are switched off by {option}"


@pytest.mark.parametrize("variable", ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"])
def test_the_variables_of_bare_modes_count(tmp_path: Path, variable: str) -> None:
    assert off(tmp_path, env={variable: "1"}) == f"hooks are switched off by {variable}"
    assert off(tmp_path, env={variable: "0"}) is None
