"""Launch requests for adapter tests, and carrying a launch out as the launcher would."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher import hook
from launcher.harnesses import registry
from launcher.harnesses.base import Adapter, Channel, Launch, LaunchRequest, Program
from ledger import ids

NONCE = "abcdefghij"


def request(
    adapter: Adapter,
    args: Sequence[str],
    *,
    root: Path,
    env: Mapping[str, str] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
    program: Program | None = None,
    features: frozenset[str] = frozenset({"hooks", "no_daemon", "context_limit"}),
    entry_args: Sequence[str] = (),
    resume: str | None = None,
    resume_path: Path | None = None,
    yolo: bool = False,
    briefing: bool = True,
    text: str | None = None,
    run: str = "run",
) -> LaunchRequest:
    """Return a request for a launch below `root`."""
    run_dir = root / "state" / run
    run_dir.mkdir(parents=True, exist_ok=True)
    store = home or root / "store"
    work = cwd or root / "work"
    work.mkdir(parents=True, exist_ok=True)
    return LaunchRequest(
        invocation=adapter.classify(args),
        program=program or Program(path=Path("/opt/agent"), version="9.9.9", features=features),
        entry_args=tuple(entry_args),
        env=env if env is not None else {"HOME": str(root), **adapter.home_environment(store)},
        cwd=work,
        home=store,
        run_dir=run_dir,
        hook_command=(sys.executable, "-I", "-S", str(run_dir / "hook.py")),
        resume=resume,
        resume_path=resume_path,
        resume_cwd=None,
        yolo=yolo,
        briefing=briefing,
        text=text,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A launch that was carried out."""

    channel: Channel
    launch: Launch
    status: int
    output: str
    errors: str
    events: list[dict[str, Any]]


def prepare(adapter: Adapter, wanted: LaunchRequest, text: str) -> tuple[Channel, Launch]:
    """Write the run's folder, deliver `text` to whoever starts, and plan the launch."""
    channel = adapter.channel(wanted)
    shutil.copy(hook.__file__, wanted.run_dir / "hook.py")
    entry = {"id": 1, "file": "briefing.txt"}
    by_hook = channel.name == "hook"
    briefings = (
        {"sessions": {}, "new": entry, "clear": entry, "compact_new": entry} if by_hook else {}
    )
    settings = {
        "version": 1,
        "run": "run",
        "nonce": NONCE,
        "dialect": adapter.dialect.document(),
        "events": str(wanted.run_dir / "events.jsonl"),
        "briefings": briefings,
    }
    (wanted.run_dir / "briefing.txt").write_text(text, encoding="utf-8")
    (wanted.run_dir / "hook.json").write_text(json.dumps(settings), encoding="utf-8")
    if not by_hook:
        stamped = text.replace(ids.DELIVERY_PLACEHOLDER, ids.delivery_id(NONCE, 1))
        wanted = wanted._replace(text=stamped)
    launch = adapter.plan(wanted, channel)
    for name, data in launch.files.items():
        path = wanted.run_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return channel, launch


def environment(wanted: LaunchRequest, launch: Launch) -> dict[str, str]:
    """Return the child's environment, as the launcher makes it."""
    joined = {**wanted.env, **launch.env_set}
    removed = {*launch.env_remove, *registry.parent_variables()}
    return {name: value for name, value in joined.items() if name not in removed}


def carry_out(adapter: Adapter, wanted: LaunchRequest, text: str, *, limit: float = 60) -> Done:
    """Start the harness without a terminal and wait for it."""
    channel, launch = prepare(adapter, wanted, text)
    done = subprocess.run(
        launch.argv,
        env=environment(wanted, launch),
        cwd=wanted.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    return Done(
        channel=channel,
        launch=launch,
        status=done.returncode,
        output=done.stdout,
        errors=done.stderr,
        events=events(wanted),
    )


def events(wanted: LaunchRequest) -> list[dict[str, Any]]:
    """Return what the hook wrote down in this run."""
    path = wanted.run_dir / "events.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]
