"""Every error this program raises on purpose, with its exit code.

    WorkstreamError (70)
    ├── UsageError (64)          the words of the command are off
    ├── BadDataError (65)        data that was read or given is wrong; findings
    ├── UnavailableError (69)    something needed is not there: a program, a session, a lease
    ├── StateError (73)          our state cannot be written or used
    │   ├── StateFullError       no space, quota, file size limit
    │   ├── StateCorruptError    the database is damaged
    │   └── StateNewerError      written by a newer version of this program
    ├── BusyError (75)           somebody else holds it; try again later
    ├── DeniedError (77)         permission
    ├── ConfigError (78)         configuration
    ├── NotExecutableError (126)
    └── NotFoundError (127)      a program that was named is not there

An error says what happened, to what, and what to do next. It never holds a value of the person's
environment.
"""

from __future__ import annotations

from typing import ClassVar


class WorkstreamError(Exception):
    """Root of all errors that are shown to a person: `message`, then what to do next."""

    exit_code: ClassVar[int] = 70
    code: ClassVar[str] = "internal"

    def __init__(
        self, message: str, *, next_step: str | None = None, detail: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        """What happened, to what; one sentence without the final stop."""
        self.next_step = next_step
        """What to do next, often a command."""
        self.detail = detail
        """Lower-level reason, shown after the message."""

    def __str__(self) -> str:
        text = self.message if self.detail is None else f"{self.message} ({self.detail})"
        return text if self.next_step is None else f"{text}\n  {self.next_step}"


class UsageError(WorkstreamError):
    """The words of the command are off."""

    exit_code = 64
    code = "usage"


class BadDataError(WorkstreamError):
    """Data that was read or given is wrong, or a check has findings."""

    exit_code = 65
    code = "bad_data"


class UnavailableError(WorkstreamError):
    """Something that is needed is not there."""

    exit_code = 69
    code = "unavailable"


class StateError(WorkstreamError):
    """Our own state cannot be created, written or used."""

    exit_code = 73
    code = "state"


class StateFullError(StateError):
    """No space left where the state lives."""

    code = "state_full"


class StateCorruptError(StateError):
    """The ledger's database is damaged."""

    code = "state_corrupt"


class StateNewerError(StateError):
    """The database was written by a newer version of this program."""

    code = "state_newer"


class BusyError(WorkstreamError):
    """Somebody else holds it."""

    exit_code = 75
    code = "busy"


class DeniedError(WorkstreamError):
    """The operating system refuses access."""

    exit_code = 77
    code = "denied"


class ConfigError(WorkstreamError):
    """Configuration cannot be read or holds a wrong value."""

    exit_code = 78
    code = "config"


class NotExecutableError(WorkstreamError):
    """A program was found and cannot be executed."""

    exit_code = 126
    code = "not_executable"


class NotFoundError(WorkstreamError):
    """A program that was named is not there."""

    exit_code = 127
    code = "not_found"
