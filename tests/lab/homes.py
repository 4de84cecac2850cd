"""Isolated homes for the real harness programs: no account, no real home, no network.

The first-run screens that would stand in the way of a test are answered in the home's own
configuration, the way a person's earlier use of the program would have left it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DUMMY_KEY: Final = "dummy-key-for-a-scripted-model-00000"
CODEX_MODEL: Final = "gpt-5.5"
"""With this model codex offers plain tools (exec_command, apply_patch)."""
CODEX_CODE_MODE_MODEL: Final = "gpt-6.2-sol"
"""With this model codex offers one tool that takes JavaScript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A person's home with one configured harness."""

    root: Path
    """HOME; everything else is inside."""
    store: Path
    """CODEX_HOME or CLAUDE_CONFIG_DIR."""
    work: Path
    """A trusted directory to work in."""
    env: dict[str, str]
    """The whole environment for the harness; nothing else may be passed on."""
    sessions: str = "projects/**/*.jsonl"
    """Pattern of the session files, below the store."""

    def session_files(self) -> list[Path]:
        """Return the session files of the store, oldest first."""
        return sorted(self.store.glob(self.sessions), key=lambda p: p.stat().st_mtime_ns)

    def records(self, path: Path) -> list[dict[str, object]]:
        """Return the records of one session file."""
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def scrubbed_env(home: Path, **more: str) -> dict[str, str]:
    """Return an environment with nothing of this process in it but PATH."""
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        **more,
    }


def codex_home(
    root: Path, port: int, *, model: str = CODEX_MODEL, trusted: Iterable[Path] = ()
) -> Home:
    """Make a home whose codex talks to the scripted Responses API on `port`."""
    store, work = root / ".codex", root / "work"
    for folder in (store, work):
        folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f'model = "{model}"',
        'model_provider = "scripted"',
        "check_for_update_on_startup = false",
        "[tui]",
        "screen_reader_detection_done = true",
        "[model_providers.scripted]",
        'name = "scripted"',
        f'base_url = "http://127.0.0.1:{port}/v1"',
        'wire_api = "responses"',
        'env_key = "SCRIPTED_KEY"',
        "[notice.model_migrations]",
        '"gpt-5.5" = "gpt-6-sol"',
    ]
    for folder in (work, *trusted):
        lines += [f'[projects."{folder}"]', 'trust_level = "trusted"']
    (store / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    env = scrubbed_env(
        root,
        CODEX_HOME=str(store),
        SCRIPTED_KEY=DUMMY_KEY,
        # Old versions (0.98.0) ask the built-in provider for its models whatever is configured.
        OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1",
    )
    return Home(root=root, store=store, work=work, env=env, sessions="sessions/**/*.jsonl")


def claude_home(root: Path, port: int, *, trusted: Iterable[Path] = ()) -> Home:
    """Make a home whose Claude Code talks to the scripted Messages API on `port`."""
    store, work = root / ".claude", root / "work"
    for folder in (store, work):
        folder.mkdir(parents=True, exist_ok=True)
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [DUMMY_KEY[-20:]], "rejected": []},
        "projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in (work, *trusted)},
    }
    (store / ".claude.json").write_text(json.dumps(state), encoding="utf-8")
    settings = {"skipDangerousModePermissionPrompt": True}
    (store / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    env = scrubbed_env(
        root,
        CLAUDE_CONFIG_DIR=str(store),
        ANTHROPIC_API_KEY=DUMMY_KEY,
        ANTHROPIC_BASE_URL=f"http://127.0.0.1:{port}",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_TELEMETRY="1",
        DISABLE_ERROR_REPORTING="1",
        # Without it the program refuses to skip permissions when it runs as root.
        IS_SANDBOX="1",
    )
    return Home(root=root, store=store, work=work, env=env)
