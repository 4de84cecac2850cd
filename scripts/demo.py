"""`make demo`: one workstream through Codex and Claude Code and back, for real, in a temp folder.

Real programs from the local harness folder when they are there, scripted stand-ins otherwise. The
models are scripted servers on 127.0.0.1: no account, no network, nothing outside the clone and its
temporary folder is touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.install_harnesses import DEFAULT_PREFIX, Wanted, native_program  # noqa: E402
from tests.fakes.messages_api import MessagesApi  # noqa: E402
from tests.fakes.responses_api import ResponsesApi  # noqa: E402
from tests.fakes.scripting import Rule, Scenario  # noqa: E402
from tests.fakes.standins.program import save_scenario  # noqa: E402
from tests.lab.homes import claude_home, codex_home  # noqa: E402

STANDINS = ROOT / "tests" / "fakes" / "standins"

ASK_CODEX = "The greeting must be polite: fix greet.py, and run check.py before and after."
ASK_CLAUDE = "Go on where the other one stopped."
ASK_AGAIN = "What did the other one do meanwhile?"
FIXED = "check.py failed before and passes now. Open: README.md still says hi."
DONE = "README.md says good morning as well; nothing is open."
CODEX_MODEL = Scenario(
    rules=(
        Rule(
            match=re.compile("must be polite"),
            script="say: I look at the check first.\n"
            "run: python3 check.py\n"
            'write: greet.py => def greet():\\n    return "good morning"\\n\n'
            "run: python3 check.py\n"
            f"say: {FIXED}",
        ),
        Rule(
            match=re.compile("meanwhile"),
            script="say-found: (README.md says good morning as well; nothing is open)",
        ),
    )
)
CLAUDE_MODEL = Scenario(
    rules=(
        Rule(
            match=re.compile("Go on"),
            script="say-found: (Open: README.md still says hi)\n"
            "write: README.md => The program says good morning.\\n\n"
            f"say: {DONE}",
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The stage: a repository, an environment, a program to call."""

    repository: Path
    env: dict[str, str]
    state: Path

    def workstream(self, *args: str, shown: bool = True) -> subprocess.CompletedProcess[str]:
        """Call our own command as a person would, and show it."""
        argv = [sys.executable, "-I", str(ROOT / "workstream_entry.py"), *args]
        if shown:
            words = [a if "\n" not in a and " " not in a else repr(a.split("\n")[0]) for a in args]
            print(
                f"\n\033[1m$ workstream {' '.join(words)}\033[0m"
                if sys.stdout.isatty()
                else f"\n$ workstream {' '.join(words)}",
                flush=True,
            )
        return subprocess.run(
            argv,
            cwd=self.repository,
            env=self.env,
            stdin=subprocess.DEVNULL,
            text=True,
            capture_output=True,
            check=False,
            timeout=120,
        )


def main() -> int:
    """Run the demo; 0 when every delivery was proven."""
    began = time.monotonic()
    programs, kind = find_programs()
    print(f"workstream demo: {kind}")
    with tempfile.TemporaryDirectory(prefix="workstream-demo-") as folder:
        root = Path(folder).resolve()
        codex_model, claude_model = (
            ResponsesApi(scenario=CODEX_MODEL),
            MessagesApi(scenario=CLAUDE_MODEL),
        )
        with codex_model as codex_api, claude_model as claude_api:
            demo = stage(root, programs, codex_api.port, claude_api.port)
            ok = play(demo)
    print(
        f"\n{'every step proven' if ok else 'NOT everything was proven'}"
        f" in {time.monotonic() - began:.0f} s; nothing was left behind"
    )
    return 0 if ok else 1


def find_programs() -> tuple[list[Path], str]:
    """Return the folders to put on PATH, and what they hold."""
    found = {}
    for name in ("codex", "claude"):
        wanted = Wanted.parse(name)
        native = native_program(
            wanted, Path(os.environ.get("WORKSTREAM_TEST_HARNESSES") or DEFAULT_PREFIX)
        )
        if native is not None:
            found[name] = (native, wanted.version)
    if len(found) == 2:
        versions = ", ".join(f"{name} {version}" for name, (_, version) in found.items())
        return [path.parent for path, _ in found.values()], f"the real programs ({versions})"
    return [STANDINS, Path(sys.executable).parent], (
        "npm or the real programs are missing, so scripted stand-ins play codex and claude"
    )


def stage(root: Path, programs: list[Path], codex_port: int, claude_port: int) -> Demo:
    """Make the repository and the two isolated homes."""
    repository = root / "greeter"
    repository.mkdir()
    codex = codex_home(root / "codex-home", codex_port, trusted=[repository])
    claude = claude_home(root / "claude-home", claude_port, trusted=[repository])
    (repository / "greet.py").write_text('def greet():\n    return "hi"\n', encoding="utf-8")
    (repository / "check.py").write_text(
        "import greet, sys\n"
        'ok = greet.greet() == "good morning"\n'
        'print("1 passed" if ok else "1 failed: greet() is not polite")\n'
        "sys.exit(not ok)\n",
        encoding="utf-8",
    )
    git_env = {**codex.env, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for args in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm", "A greeter"],
    ):
        subprocess.run(["git", *args], cwd=repository, env=git_env, check=True)
    env = {**claude.env, **codex.env, "HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    env["PATH"] = os.pathsep.join([*map(str, programs), os.environ.get("PATH", os.defpath)])
    env["WORKSTREAM_HOME"] = str(root / "state")
    if STANDINS in programs:  # they ask no model: they read themselves what it would say
        env["STANDIN_SCENARIOS"] = str(root)
        for name, model in (("codex", CODEX_MODEL), ("claude", CLAUDE_MODEL)):
            save_scenario(root / f"{name}.json", model.rules)
    return Demo(repository=repository, env=env, state=root / "state")


def play(demo: Demo) -> bool:
    """Codex, Claude, Codex; then look around."""
    yolo = ["--yolo", "--report"]
    first = run(demo, [*yolo, "one.json"], ["codex", "exec", ASK_CODEX])
    second = run(demo, [*yolo, "two.json"], ["claude", "-p", ASK_CLAUDE])
    third = run(demo, [*yolo, "three.json"], ["codex", "exec", ASK_AGAIN])
    proofs = [
        ("Codex worked: edit, failing and passing check imported", first is not None),
        ("Claude received what Codex did, proven in its own store", seen(second)),
        ("Claude's model read it back", logged(demo, "claude", "Open: README.md still says hi")),
        ("Codex resumed its own session", resumed(first, third)),
        ("Codex received what Claude did, proven in its own store", seen(third)),
        ("Codex's model read it back", logged(demo, "codex", "as well; nothing is open")),
    ]
    for args in (["status"], ["log", "--oneline"], ["search", "polite"]):
        print(demo.workstream(*args).stdout.rstrip())
    print()
    for text, held in proofs:
        print(f"  {'ok ' if held else 'NO '} {text}")
    return all(held for _, held in proofs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A run that was played, and its report."""

    answer: str
    report: dict[str, object]


def run(demo: Demo, options: list[str], native: list[str]) -> Played | None:
    """Play one run; None (and the reason printed) when it failed."""
    *options, name = options
    path = demo.state.parent / name
    done = demo.workstream("run", *options, str(path), *native)
    answer = done.stdout.strip()
    print("\n".join(f"  {line}" for line in answer.splitlines()))
    if done.returncode or not path.exists():
        print(done.stderr[-2000:])
        return None
    report = json.loads(path.read_text(encoding="utf-8"))
    delivery = report["delivery"]
    total = sum(report["imported"].values())
    print(
        f"  -> exit {report['exit_code']}, {total} events imported,"
        f" briefing {delivery['state']}"
        + (
            f" ({delivery['included']} events in {delivery['bytes']} bytes)"
            if delivery["id"]
            else ""
        )
    )
    return Played(answer=answer, report=report)


def seen(played: Played | None) -> bool:
    """Return whether the run's briefing was proven."""
    delivery = played.report["delivery"] if played is not None else None
    return isinstance(delivery, dict) and delivery["state"] == "seen"


def logged(demo: Demo, harness: str, words: str) -> bool:
    """Return whether an answer of that harness in the ledger holds the words."""
    done = demo.workstream("log", "-n", "0", "--json", shown=False)
    events = json.loads(done.stdout)["data"]["events"]
    return any(
        event["harness"] == harness
        and event["kind"] == "assistant_message"
        and words in event["text"]
        for event in events
    )


def resumed(first: Played | None, third: Played | None) -> bool:
    """Return whether both runs were in one native session."""
    return (
        first is not None
        and third is not None
        and first.report["sessions"] == third.report["sessions"] != []
    )


if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("the demo needs git on PATH")
    sys.exit(main())
