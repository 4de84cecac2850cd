"""Isolated homes for the eleven harnesses beside Codex and Claude Code, and one turn of each.

`family_home(name, root, port)` makes a home whose program talks to the scripted model on `port`, an
`api_for(name)`; `one_shot(home, prompt)` runs one turn without a terminal. What is configured is
what a person's earlier use would have left: a provider, a chosen model, answered first-run
questions. Nothing asks the network.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.fakes.chat_api import ChatApi
from tests.fakes.gemini_api import GeminiApi
from tests.fakes.messages_api import MessagesApi
from tests.lab.homes import DUMMY_KEY, Home, scrubbed_env
from tests.lab.programs import harness_path, harness_program
from tests.lab.terminal import KEYS, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.fakes.server import ScriptedServer

MODEL: Final = "scripted"
_START: Final = 120
"""Seconds that a terminal interface may take for anything; most of them need five on a quiet
machine."""
WINDOW: Final = 200_000
"""Context window of the scripted model, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyHome(Home):
    """A home of one of the eleven."""

    name: str
    """The harness, as `harness_program` knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """How one turn without a terminal ended."""

    code: int
    out: str
    err: str
    session: str | None
    """The native session id: the chosen one, the one that the program printed, or, for those that
    print none, the one of the only store file that is new or changed."""
    files: tuple[Path, ...]
    """The store files that are new or changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """How one harness is set up and called."""

    store: str
    """Its store below HOME."""
    sessions: str
    configure: Callable[[Path, str, tuple[Path, ...]], dict[str, str]]
    """Write the configuration for (HOME, base URL, trusted folders); return its environment."""
    create: Callable[[str, str], list[str]]
    """Arguments for a new session: (prompt, session id to choose)."""
    resume: Callable[[str, str], list[str]]
    """Arguments to go on: (prompt, session id)."""
    chosen: bool
    """Whether a new session's id can be chosen."""
    api: type[ScriptedServer] = ChatApi
    by_stdin: bool = False
    """Whether the prompt goes in on standard input; the arguments are without it."""
    printed: str | None = None
    """Pattern of the session id in the output."""
    named: Callable[[Path], str] = field(default=lambda path: path.stem)
    """The session id of a store file."""
    terminal: _Interactive | None = None
    """Its terminal interface, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interactive:
    """How a terminal interface is started and left."""

    arguments: tuple[str, ...] = ()
    resume: tuple[str, ...]
    """Further arguments to go on with session `{}`."""
    ready: str
    """What it shows once it takes a prompt."""
    leave: tuple[str, ...]
    """What ends it, key after key while nothing runs; a text is typed."""
    resuming: str = ""
    """What it shows while it loads a session, after it has shown that it is ready."""
    settle: float = 0
    """Seconds that it needs between a paste and Enter."""


def api_for(name: str) -> type[ScriptedServer]:
    """Return the scripted model API that a harness is configured for."""
    return _SETUPS[name].api


def family_home(name: str, root: Path, port: int, *, trusted: Iterable[Path] = ()) -> FamilyHome:
    """Make a home whose program `name` talks to the scripted model on `port`."""
    setup = _SETUPS[name]
    store, work = root / setup.store, root / "work"
    for folder in (store, work):
        folder.mkdir(parents=True, exist_ok=True)
    env = setup.configure(root, f"http://127.0.0.1:{port}", (work, *trusted))
    whole = scrubbed_env(root, **{"PATH": harness_path(name), **env})
    return FamilyHome(
        root=root, store=store, work=work, env=whole, sessions=setup.sessions, name=name
    )


def choosable(name: str) -> bool:
    """Say whether a new session's id can be chosen."""
    return _SETUPS[name].chosen


def one_shot_argv(
    home: FamilyHome, prompt: str, *, resume: str | None = None, session: str | None = None
) -> list[str]:
    """Return the arguments of one turn, without the program."""
    setup = _SETUPS[home.name]
    if resume is not None:
        return setup.resume(prompt, resume)
    return setup.create(prompt, session or str(uuid.uuid4()))


def one_shot(
    home: FamilyHome,
    prompt: str,
    *,
    resume: str | None = None,
    session: str | None = None,
    more: Iterable[str] = (),
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 90,
) -> Shot:
    """Run one turn: of a new session (with the id `session` where one can be chosen), or `resume`.

    `more` are further arguments of the program, before the others.
    """
    setup = _SETUPS[home.name]
    if session is None:
        session = str(uuid.uuid4())
    before = _states(home)
    done = subprocess.run(
        [
            harness_program(home.name),
            *more,
            *one_shot_argv(home, prompt, resume=resume, session=session),
        ],
        env={**home.env, **(env or {})},
        cwd=cwd or home.work,
        input=prompt if setup.by_stdin else "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    after = _states(home)
    files = tuple(path for path in home.session_files() if before.get(path) != after.get(path))
    found = resume or (session if setup.chosen else None)
    if found is None and setup.printed:
        printed = re.search(setup.printed, done.stdout) or re.search(setup.printed, done.stderr)
        found = printed[1] if printed else None
    elif found is None and len(files) == 1:
        found = setup.named(files[0])
    return Shot(code=done.returncode, out=done.stdout, err=done.stderr, session=found, files=files)


def in_terminal(
    home: FamilyHome, *arguments: str, resume: str | None = None, cwd: Path | None = None
) -> Terminal:
    """Start the terminal interface, and return once it takes a prompt (`with` ends it)."""
    look = _terminal(home)
    again = [] if resume is None else [part.format(resume) for part in look.resume]
    terminal = Terminal(
        [harness_program(home.name), *look.arguments, *again, *arguments],
        env=home.env,
        cwd=cwd or home.work,
    )
    try:
        terminal.wait_text(look.ready, _START)
        if resume is not None and look.resuming:
            terminal.wait_text(look.resuming, _START)
        terminal.wait_quiet(1, _START)
    except TimeoutError:
        terminal.close()
        raise
    return terminal


def type_prompt(terminal: Terminal, home: FamilyHome, text: str) -> None:
    """Paste a prompt and send it."""
    terminal.submit(text, timeout=_START, settle=_terminal(home).settle)


def leave(terminal: Terminal, home: FamilyHome) -> int:
    """End an idle terminal interface as a person does, and return its exit status."""
    terminal.wait_quiet(2, _START)
    for key in _terminal(home).leave:
        terminal.press(*([key] if key in KEYS else key))
        time.sleep(0.4)  # pressed at once they count as one
    return terminal.wait_exit(_START)


def _terminal(home: FamilyHome) -> _Interactive:
    look = _SETUPS[home.name].terminal
    if look is None:
        message = f"{home.name} has no terminal interface"
        raise ValueError(message)
    return look


def _states(home: Home) -> dict[Path, tuple[int, int, int]]:
    states = ((path, path.stat()) for path in home.session_files())
    return {path: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in states}


def _write(path: Path, content: str | dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


# -- one harness after the other -------------------------------------------------------------


def _pi(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    agent = home / ".pi/agent"
    _write(agent / "models.json", {"providers": {"scripted": _pi_provider(url)}})
    settings = {"defaultProvider": "scripted", "defaultModel": MODEL}
    _write(agent / "settings.json", settings)
    return {"PI_OFFLINE": "1"}


def _pi_provider(url: str) -> dict[str, Any]:
    model = {
        "id": MODEL,
        "name": MODEL,
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": WINDOW,
        "maxTokens": 8192,
    }
    return {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": DUMMY_KEY,
        "models": [model],
    }


def _copilot(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    folders = [str(folder) for folder in trusted]
    _write(home / ".copilot/config.json", {"trusted_folders": folders, "banner": "never"})
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": DUMMY_KEY,
        "COPILOT_MODEL": MODEL,
        "COPILOT_AUTO_UPDATE": "false",
    }


def _qwen(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    _write(
        home / ".qwen/settings.json",
        {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
        },
    )
    return {
        "OPENAI_API_KEY": DUMMY_KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_MODEL": MODEL,
    }


def _opencode(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": DUMMY_KEY},
        "models": {
            MODEL: {"name": MODEL, "limit": {"context": WINDOW, "output": 8192}, "tool_call": True}
        },
    }
    _write(
        home / ".config/opencode/opencode.json",
        {
            "provider": {"scripted": provider},
            "model": f"scripted/{MODEL}",
            "small_model": f"scripted/{MODEL}",
            "autoupdate": False,
            "share": "disabled",
            "permission": "allow",
        },
    )
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _kimi(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    for folder in trusted:
        digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        trust = home / ".kimi-code/workspace-trust" / f"wd_{folder.name}_{digest}"
        _write(trust, {"root": str(folder), "trustedAt": 1})
    _write(
        home / ".kimi-code/config.toml",
        f"""default_model = "{MODEL}"
[providers.scripted]
type = "openai"
base_url = "{url}/v1"
api_key = "{DUMMY_KEY}"
[models.{MODEL}]
provider = "scripted"
model = "{MODEL}"
max_context_size = {WINDOW}""",
    )
    return {"KIMI_CODE_NO_AUTO_UPDATE": "1"}


def _grok(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    _write(
        home / ".grok/config.toml",
        f"""[models]
default = "{MODEL}"
[model.{MODEL}]
model = "{MODEL}"
base_url = "{url}/v1"
env_key = "XAI_API_KEY"
context_window = {WINDOW}""",
    )
    return {"XAI_API_KEY": DUMMY_KEY, "GROK_DISABLE_AUTOUPDATER": "1"}


def _gemini(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    folders = {str(folder): "TRUST_FOLDER" for folder in trusted}
    _write(home / ".gemini/trustedFolders.json", folders)
    _write(
        home / ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
        },
    )
    return {"GEMINI_API_KEY": DUMMY_KEY, "GOOGLE_GEMINI_BASE_URL": url}


def _dsh(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    _write(
        home / "scripted.yml",
        f"""- id: llm-deepseek
  config:
    baseURL: {url}
- id: session-telemetry-otel
  disabled: true""",
    )
    return {
        "DSH_HOME": str(home / ".dsh"),
        "DEEPSEEK_API_KEY": DUMMY_KEY,
        "DSH_PERMISSION_MODE": "danger-full-access",
    }


def _omp(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    agent = home / ".omp/agent"
    # JSON is YAML.
    _write(agent / "models.yml", {"providers": {"scripted": _pi_provider(url)}})
    # Without the version the terminal interface begins with five steps of setting up.
    config = {"modelRoles": {"default": f"scripted/{MODEL}"}, "setupVersion": 2}
    _write(agent / "config.yml", config)
    return {}


def _command_code(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    provider = {
        "name": "scripted",
        "api": "openai-completions",
        "baseURL": f"{url}/v1",
        "apiKey": "$COMMAND_CODE_API_KEY",
        "models": {MODEL: {"name": MODEL, "contextWindow": WINDOW}},
    }
    _write(home / ".commandcode/providers.json", {"provider": {"scripted": provider}})
    return {"CMD_LOCAL_ONLY": "1", "COMMAND_CODE_API_KEY": DUMMY_KEY}


def _aider(home: Path, url: str, trusted: tuple[Path, ...]) -> dict[str, str]:
    del trusted
    # Of a model that it does not know, aider asks a list on the network.
    known = {
        "max_input_tokens": WINDOW,
        "max_output_tokens": 8192,
        "input_cost_per_token": 0,
        "output_cost_per_token": 0,
        "litellm_provider": "openai",
        "mode": "chat",
    }
    _write(home / ".aider.model.metadata.json", {f"openai/{MODEL}": known})
    return {
        "OPENAI_API_KEY": DUMMY_KEY,
        "OPENAI_API_BASE": f"{url}/v1",
        "AIDER_MODEL": f"openai/{MODEL}",
        "AIDER_EDIT_FORMAT": "diff",
        "AIDER_ANALYTICS_DISABLE": "true",
        "AIDER_CHECK_UPDATE": "false",
        "AIDER_SHOW_RELEASE_NOTES": "false",
        "AIDER_SHOW_MODEL_WARNINGS": "false",
        "AIDER_GITIGNORE": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


_GEMINI: Final = ["-y", "-m", "gemini-2.5-pro"]
_QWEN: Final = ["--auth-type", "openai", "-y"]
_DSH: Final = ["--patch", "../scripted.yml", "--profile", "headless", "--json"]
_COPILOT: Final = ["--allow-all-tools", "-s"]
_COMMAND_CODE: Final = [
    "-m",
    f"scripted/{MODEL}",
    "--yolo",
    "-t",
    "--skip-onboarding",
    "--no-auto-update",
]

_SETUPS: Final = {
    "pi": _Setup(
        store=".pi/agent",
        sessions="sessions/*/*.jsonl",
        configure=_pi,
        create=lambda prompt, chosen: ["-p", "--session-id", chosen, prompt],
        resume=lambda prompt, native: ["-p", "--session-id", native, prompt],
        chosen=True,
        terminal=_Interactive(resume=("--session-id", "{}"), ready="(auto)", leave=("ctrl-d",)),
    ),
    "copilot": _Setup(
        store=".copilot",
        sessions="session-state/*/events.jsonl",
        configure=_copilot,
        create=lambda prompt, chosen: ["-p", prompt, *_COPILOT, "--session-id", chosen],
        resume=lambda prompt, native: ["-p", prompt, *_COPILOT, "--session-id", native],
        chosen=True,
        terminal=_Interactive(
            arguments=("--allow-all-tools",),
            resume=("--session-id", "{}"),
            ready="scripted",
            leave=("/exit", "enter"),
        ),
    ),
    "qwen": _Setup(
        store=".qwen",
        sessions="projects/*/chats/*.jsonl",
        configure=_qwen,
        create=lambda prompt, chosen: [*_QWEN, "--session-id", chosen, prompt],
        resume=lambda prompt, native: [*_QWEN, "-r", native, prompt],
        chosen=True,
        terminal=_Interactive(
            arguments=tuple(_QWEN),
            resume=("-r", "{}"),
            ready="Type your message",
            leave=("ctrl-c", "ctrl-c"),
        ),
    ),
    "opencode": _Setup(
        store=".local/share/opencode",
        sessions="opencode.db",
        configure=_opencode,
        create=lambda _, __: ["run", "--format", "json"],
        resume=lambda _, native: ["run", "--format", "json", "-s", native],
        chosen=False,
        by_stdin=True,
        printed=r'"sessionID":"(ses_\w+)"',
        terminal=_Interactive(resume=("-s", "{}"), ready="scripted", leave=("ctrl-c",)),
    ),
    "kimi": _Setup(
        store=".kimi-code",
        sessions="sessions/*/*/agents/*/wire.jsonl",
        configure=_kimi,
        create=lambda prompt, _: ["-p", prompt, "--output-format", "stream-json"],
        resume=lambda prompt, id_: ["-S", id_, "-p", prompt, "--output-format", "stream-json"],
        chosen=False,
        printed=r'"session_id":"(session_[\w-]+)"',
        terminal=_Interactive(resume=("-S", "{}"), ready="scripted", leave=("ctrl-c", "ctrl-c")),
    ),
    "grok": _Setup(
        store=".grok",
        sessions="sessions/*/*/updates.jsonl",
        configure=_grok,
        create=lambda prompt, chosen: ["-s", chosen, "--always-approve", "-p", prompt],
        resume=lambda prompt, native: ["-r", native, "--always-approve", "-p", prompt],
        chosen=True,
        terminal=_Interactive(
            arguments=("--always-approve",),
            resume=("-r", "{}"),
            ready="scripted",
            leave=("ctrl-c", "ctrl-c"),
        ),
    ),
    "gemini": _Setup(
        store=".gemini",
        sessions="tmp/*/chats/session-*.jsonl",
        configure=_gemini,
        create=lambda prompt, chosen: [*_GEMINI, "--session-id", chosen, "-p", prompt],
        resume=lambda prompt, native: [*_GEMINI, "-r", native, "-p", prompt],
        chosen=True,
        api=GeminiApi,
        terminal=_Interactive(
            arguments=tuple(_GEMINI),
            resume=("-r", "{}"),
            ready="Type your message",
            leave=("ctrl-c", "ctrl-c"),
            resuming="Resuming session",
            settle=1.5,
        ),
    ),
    "dsh": _Setup(
        store=".dsh",
        sessions="sessions/*/*/session.v4.jsonl.zstd",
        configure=_dsh,
        create=lambda _, __: [*_DSH, "-"],
        resume=lambda _, native: [*_DSH, "--session-id", native, "-"],
        chosen=False,
        api=MessagesApi,
        by_stdin=True,
        printed=r'"sessionId":"(session-[\w-]+)"',
    ),
    "omp": _Setup(
        store=".omp/agent",
        sessions="sessions/*/*.jsonl",
        configure=_omp,
        create=lambda prompt, _: ["-p", "--auto-approve", prompt],
        resume=lambda prompt, native: ["-p", "--auto-approve", "-r", native, prompt],
        chosen=False,
        named=lambda path: path.stem.partition("_")[2],
        terminal=_Interactive(
            arguments=("--auto-approve",), resume=("-r", "{}"), ready="200K", leave=("ctrl-d",)
        ),
    ),
    "command-code": _Setup(
        store=".commandcode",
        sessions="projects/*/[0-9a-f]*-[0-9a-f]*[0-9a-f].jsonl",
        configure=_command_code,
        create=lambda prompt, _: ["-p", prompt, *_COMMAND_CODE],
        resume=lambda prompt, native: ["-p", prompt, "-r", native, *_COMMAND_CODE],
        chosen=False,
        terminal=_Interactive(
            arguments=tuple(_COMMAND_CODE),
            resume=("-r", "{}"),
            ready="scripted",
            leave=("ctrl-c", "ctrl-c"),
        ),
    ),
    "aider": _Setup(
        store="work",
        sessions=".aider.chat.history.md",
        configure=_aider,
        create=lambda prompt, _: ["--yes-always", "--message", prompt],
        resume=lambda prompt, _: ["--yes-always", "--restore-chat-history", "--message", prompt],
        chosen=False,
        named=lambda path: path.name,
        terminal=_Interactive(
            arguments=("--yes-always",),
            resume=("--restore-chat-history",),
            ready="diff>",
            leave=("ctrl-d",),
        ),
    ),
}
FAMILY: Final = tuple(_SETUPS)
"""The eleven, by the names that `harness_program` knows."""
