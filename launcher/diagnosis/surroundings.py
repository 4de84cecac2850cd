"""Where `doctor` was called, found out also when the configuration or the directory is broken."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from launcher.config import Config, load
from launcher.diagnosis.finding import Finding, Level
from launcher.place import Place, here
from ledger import git
from ledger.errors import ConfigError, UnavailableError
from ledger.store import state_home


def look(env: Mapping[str, str] | None = None) -> tuple[Place, list[Finding]]:
    """Return the place, with defaults for what cannot be read, and what is wrong with it."""
    variables = dict(os.environ if env is None else env)
    try:
        place = here(variables)
    except ConfigError as error:
        wrong = Finding(
            code="config",
            level=Level.PROBLEM,
            sentence=error.message + (f" ({error.detail})" if error.detail else ""),
            fix=error.next_step or "Correct the file; workstream config --path names it.",
        )
        return _fallback(variables, Path.cwd()), [wrong]
    except UnavailableError as error:
        wrong = Finding(
            code="directory", level=Level.PROBLEM, sentence=error.message, fix=error.next_step
        )
        return _fallback(variables, Path("/")), [wrong]
    warnings = [
        Finding(code="config", level=Level.WARNING, sentence=text) for text in place.config.warnings
    ]
    return place, warnings


def _fallback(env: dict[str, str], cwd: Path) -> Place:
    return Place(
        env=env,
        cwd=cwd,
        checkout=git.describe(cwd, env),
        config=_defaults(),
        home=state_home(env),
        terminal=sys.stdin.isatty() and sys.stderr.isatty(),
    )


def _defaults() -> Config:
    return load({"XDG_CONFIG_HOME": os.devnull}, None)
