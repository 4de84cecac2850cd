"""What the person asked of `workstream run`, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ledger.errors import BadDataError, UsageError

MAX_ENV_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of `run`; `harness` None means "the one used last", "-" "the one before"."""

    harness: str | None = None
    args: tuple[str, ...] = ()
    """Native arguments, untouched."""
    workstream: str | None = None
    new: str | None = None
    fresh: bool = False
    rollover: bool | None = None
    """True: start a new native session from the handoff instead of resuming. False: resume even
    one that seems to be full. None: propose a new one when the last resume came to nothing."""
    source: str | None = None
    """`--from`: another workstream's handoff that a new one starts with."""
    adopt: str | None = None
    objective: str | None = None
    executable: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    budget: int | None = None
    briefing: bool | None = None
    take_over: bool = False
    wait: int | None = None
    yolo: bool = False
    quiet: bool = False
    dry_run: bool = False
    report: Path | None = None
    unmanaged: bool = False


def parse_env(pairs: tuple[str, ...], file: str | None) -> dict[str, str]:
    """Return variables from `--env K=V` and `--env-file F`; the options win over the file.

    Raises UsageError and BadDataError, which name variables and lines, never values.
    """
    variables = _env_file(Path(file)) if file is not None else {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not _is_name(name):
            raise UsageError("--env takes NAME=VALUE")
        variables[name] = value
    return variables


def _env_file(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_ENV_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot read --env-file {path}", detail=error.strerror) from error
    if len(raw) > MAX_ENV_FILE:
        raise BadDataError(f"{path} is larger than 1 MiB")
    variables = {}
    for number, line in enumerate(raw.decode("utf-8", "surrogateescape").splitlines(), 1):
        text = line.strip().removeprefix("export ").lstrip()
        if not text or text.startswith("#"):
            continue
        name, separator, value = text.partition("=")
        name = name.strip()
        if not separator or not _is_name(name) or "\0" in value:
            raise BadDataError(
                f"line {number} of {path} is not NAME=VALUE",
                next_step="One variable a line; quotes around a value are removed.",
            )
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        variables[name] = value
    return variables


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier()
