"""Rows of a launch: process start to child spawned, the hook's call, a real one-shot turn."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from statistics import median
from typing import Final

from bench import stores
from bench.measure import OURS, ROOT, Row, Used, environment, interleaved, ms, run
from launcher.harnesses.base import Dialect

_STAND_IN: Final = """#!/bin/sh
case "$1" in --version) echo "2.1.332 (Claude Code)"; exit 0;; esac
read cpu rest < /proc/$PPID/schedstat
echo "$cpu" >> "{log}"
"""


def start(folder: Path, repeats: int) -> Row:
    """CPU of the launcher until its child runs, as the child finds it in /proc."""
    name = "process start to child spawned (CPU)"
    target = "<= 80 ms, <= 8x"
    if not Path("/proc/self/schedstat").exists():
        return Row(name=name, figure="skipped: no /proc/PID/schedstat here", target=target)
    project = stores.repository(folder / "project")
    log, program = folder / "spawned.log", folder / "stand-in" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(_STAND_IN.format(log=log), encoding="utf-8")
    program.chmod(0o755)
    state = folder / "start-state"
    shutil.rmtree(state, ignore_errors=True)
    env = environment(folder / "home", state)
    log.unlink(missing_ok=True)
    argv = [*OURS, "run", "--executable", str(program), "claude"]
    run(argv, env, project, log=folder / "start.log")
    log.unlink(missing_ok=True)
    bare = [sys.executable, "-c", "pass"]
    floor, _ = interleaved(
        repeats,
        lambda: run(bare, env, project),
        lambda: run(argv, env, project, log=folder / "start.log"),
    )
    spent = median(int(line) / 1e9 for line in log.read_text(encoding="utf-8").split())
    ratio = spent / floor.cpu
    return Row(
        name=name,
        figure=ms(spent),
        target=target,
        floor=f"{ms(floor.cpu)} (python -c pass)",
        ratio=f"{ratio:.1f}x",
        ok=spent <= 0.080 and ratio <= 8,
    )


def hook(folder: Path, repeats: int) -> Row:
    """One SessionStart call of the hook against an interpreter that does nothing."""
    run_folder = folder / "hook"
    shutil.rmtree(run_folder, ignore_errors=True)
    run_folder.mkdir()
    shutil.copy(ROOT / "launcher" / "hook.py", run_folder / "hook.py")
    placeholder = "dlv_@@@@@@@@@@_@@@@"
    text = f"BEGIN {placeholder}\n" + "history\n" * 1100 + f"END {placeholder}\n"
    (run_folder / "new.txt").write_text(text, encoding="utf-8")
    settings = {
        "version": 1,
        "run": "r",
        "nonce": "k3q7zz5m2a",
        "dialect": Dialect().document(),
        "events": str(run_folder / "events.jsonl"),
        "briefings": {"sessions": {}, "new": {"id": 1, "file": "new.txt"}},
    }
    (run_folder / "hook.json").write_text(json.dumps(settings), encoding="utf-8")
    payload = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
    env = environment(folder / "home")
    isolated = [sys.executable, "-I", "-S"]
    floor, used = interleaved(
        repeats,
        lambda: run([*isolated, "-c", "pass"], env, run_folder),
        lambda: run(
            [*isolated, str(run_folder / "hook.py")],
            env,
            run_folder,
            stdin=json.dumps(payload).encode(),
            log=run_folder / "out.log",
        ),
    )
    if placeholder[:4] not in (run_folder / "out.log").read_text(encoding="utf-8"):
        raise RuntimeError("the hook printed no briefing")
    ratio = used.cpu / floor.cpu
    return Row(
        name="hook call (CPU)",
        figure=ms(used.cpu),
        target="<= 3x",
        floor=f"{ms(floor.cpu)} (python -I -S -c pass)",
        ratio=f"{ratio:.1f}x",
        ok=ratio <= 3,
    )


def turns(folder: Path, repeats: int) -> list[Row]:
    """Wall time that we add to a real one-shot turn, finish included; paired with bare turns."""
    return [_turn(folder, harness, repeats) for harness in ("codex", "claude")]


def _turn(folder: Path, harness: str, repeats: int) -> Row:
    from tests.fakes.messages_api import MessagesApi
    from tests.fakes.responses_api import ResponsesApi
    from tests.lab.homes import claude_home, codex_home
    from tests.lab.programs import harness_program

    name, target = f"wall added to a real {harness} turn", "<= 300 ms"
    try:
        program = harness_program(harness)
    except BaseException as error:  # pytest's own skip is no Exception
        return Row(name=name, figure=f"skipped: {error}", target=target)
    home = folder / f"turn-{harness}"
    shutil.rmtree(home, ignore_errors=True)
    project = stores.repository(folder / "project")
    api_type = ResponsesApi if harness == "codex" else MessagesApi
    with api_type() as api:
        make = codex_home if harness == "codex" else claude_home
        made = make(home, api.port, trusted=[project])
        env = {
            **made.env,
            "WORKSTREAM_HOME": str(folder / f"turn-{harness}-state"),
            "PATH": f"{program.parent}{os.pathsep}{made.env['PATH']}",
        }
        shutil.rmtree(env["WORKSTREAM_HOME"], ignore_errors=True)
        args = ["exec", "say: hello"] if harness == "codex" else ["-p", "say: hello"]

        def bare() -> Used:
            return run([str(program), *args], env, project, log=home / "bare.log")

        def ours() -> Used:
            return run(
                [*OURS, "run", "-q", "--fresh", harness, *args],
                env,
                project,
                log=home / "ours.log",
            )

        bare()
        ours()
        floor, used = interleaved(repeats, bare, ours)
    added = used.wall - floor.wall
    return Row(
        name=name,
        figure=ms(added),
        target=target,
        floor=f"{ms(floor.wall)} (bare turn)",
        ratio=f"{used.wall / floor.wall:.2f}x",
        ok=added <= 0.3,
    )
